package follow

import (
	"plimsoll/internal/iotrace"
	"plimsoll/internal/iotrace/blktrace"
)

// follower follows bios through their events.
type follower struct {
	table   table
	devices []*device
	numbers map[uint32]uint16 // device number to index in devices
	recent  [64]struct {      // of devices
		*device
		index uint16
	}
	event   event // that is followed
	owners  owners
	start   int64
	last    int64
	events  uint64
	givenUp uint64
	strict  bool          // events of every device are missing
	signs   uint64        // that they are
	delayed []finishedBio // bios whose times are doubtful

	done   func(*finishedBio)               // called with each finished bio, which is valid until it returns
	nameOf func(major, minor uint32) string // may be nil
}

func newFollower(nameOf func(major, minor uint32) string) *follower {
	return &follower{table: newTable(), numbers: map[uint32]uint16{}, owners: newOwners(), nameOf: nameOf}
}

// emit passes on a bio that has completed.
func (f *follower) emit(b *bio, c int64, errno int32) {
	b.c, b.errno = c, uint16(errno)
	if b.doubtful != 0 {
		f.hold(&b.finishedBio)
		return
	}
	f.done(&b.finishedBio)
}

// maxDevices is more than any host has; a capture with more is damaged.
const maxDevices = 4096

// device returns the index of a device, adding it if it is new.
func (f *follower) device(number uint32) uint16 {
	if index, ok := f.numbers[number]; ok {
		return index
	}
	if len(f.devices) == maxDevices {
		return maxDevices - 1
	}
	index := uint16(len(f.devices))
	f.devices = append(f.devices, newDevice(number, f.strict, f.nameOf))
	f.numbers[number] = index
	return index
}

// follow handles a record, and does not retain it.
func (f *follower) follow(r *blktrace.Record) {
	e := &f.event
	action := r.Action.Event()
	if r.Action.IsNote() {
		f.note(r)
		return
	}
	if action == 0 || action >= blktrace.Remap && hasNoPayload(r) {
		return
	}
	e.Record, e.time, e.key, e.op = r, int64(r.Time), r.Sector, operation(r.Action, r.Bytes)
	if e.op == iotrace.Flush {
		e.key = flushKey
	}
	known := &f.recent[r.Device*0x9e3779b1>>26]
	if known.device == nil || known.device.number != r.Device {
		known.index = f.device(r.Device)
		known.device = f.devices[known.index]
	}
	dev, index := known.device, known.index
	if r.Sequence != 0 && !dev.follows(r) && dev.isDuplicate(r) {
		return
	}
	if f.events == 0 {
		f.start = e.time
	}
	f.events++
	if e.time > f.last {
		f.last = e.time
	}
	switch action {
	case blktrace.Queue:
		f.queue(dev, index, e)
	case blktrace.GetRequest:
		f.table.bios[f.find(index, e, 1<<queued)].set(held).g = e.time
	case blktrace.BackMerge, blktrace.FrontMerge:
		f.merge(dev, index, e)
	case blktrace.Insert:
		f.insert(index, e)
	case blktrace.Issue:
		f.issue(dev, index, e)
	case blktrace.DriverData:
		f.submit(index, e)
	case blktrace.Complete:
		f.complete(dev, index, e)
	case blktrace.Requeue:
		f.requeue(dev, index, e)
	case blktrace.Split:
		f.split(dev, index, e)
	case blktrace.Remap:
		f.remap(dev, index, e)
	case blktrace.Plug:
		dev.stats.Plugs++
	case blktrace.Unplug:
		dev.stats.Unplugs++
	case blktrace.UnplugTimer:
		dev.stats.UnpluggedByTimer++
	}
}

func (f *follower) note(r *blktrace.Record) {
	switch r.Action.Event() {
	case blktrace.NoteProcess:
		f.owners.name(r.PID, r.Text())
	case blktrace.NoteMessage:
		if name, ok := r.DeviceName(); ok {
			f.devices[f.device(r.Device)].name = name
		}
	}
}

func (b *bio) set(s state) *bio {
	b.state = s
	return b
}

// fresh makes a bio of which only this event is known.
func (f *follower) fresh(index uint16, e *event, s state) uint32 {
	if f.table.count >= maxInFlight {
		f.giveUp(f.table.oldest)
		f.givenUp++
	}
	dev := f.devices[index]
	if dev.strict {
		f.expire()
	}
	n := f.table.add()
	f.table.bios[n].begin(index, e, s)
	f.table.bios[n].tick = dev.ticks
	f.table.enter(n)
	return n
}

// find returns the newest bio that an event of a submission may belong to. A remap counts as the queueing of a bio of
// which only that remap is known. An unknown bio begins here.
func (f *follower) find(index uint16, e *event, s states) uint32 {
	if b := f.table.newestAt(index, e.key, e.Bytes, s); b != 0 {
		return b
	}
	if b := f.table.newestAt(index, e.key, e.Bytes, 1<<remapped); b != 0 {
		return b
	}
	b := f.fresh(index, e, queued)
	f.table.bios[b].owner = f.owners.indexOf(e)
	return b
}

func (f *follower) queue(dev *device, index uint16, e *event) {
	dev.queued++
	f.retire(dev, index, e, &dev.patience.atQueue, 0)
	owner := f.owners.indexOf(e)
	var n uint32
	if dev.stats.Remaps > 0 {
		n = f.table.newestAt(index, e.key, e.Bytes, 1<<remapped)
	}
	if n == 0 {
		n = f.fresh(index, e, queued)
	} else if above := f.table.bios[n].owner; above != 0 && f.owners.isKernel(owner) {
		owner = above // a kernel thread passes on what another one asked for
	}
	b := f.table.bios[n].set(queued)
	b.q, b.owner, b.cpu, b.op, b.tick = e.time, owner, e.CPU, e.op, dev.ticks
	if dev.lastQ != never {
		b.q2q = since(dev.lastQ, e.time)
	}
	dev.lastQ = e.time
}

// remap notes that a bio comes to this device from another one. Most such bios are queued here next. NVMe's multipath
// and md hand on the same bio: remap is its only event of arrival.
func (f *follower) remap(dev *device, index uint16, e *event) {
	dev.stats.Remaps++
	n := f.fresh(index, e, remapped)
	b := &f.table.bios[n]
	b.q, b.owner = e.time, f.owners.indexOf(e)
	from, sector, _ := e.RemappedFrom()
	if origin, ok := f.numbers[from]; ok {
		if above := f.table.newestAt(origin, sector, e.Bytes, 1<<queued|1<<held|1<<issued); above != 0 {
			b.owner = f.table.bios[above].owner
		}
	}
}

// split divides a bio in two. The record is of the first part and has the start of the rest. For dm it is of the
// rest, and the part split off is dm's own: the bio completes as one, where the last rest began.
func (f *follower) split(dev *device, index uint16, e *event) {
	dev.stats.Splits++
	rest, _ := e.Count()
	if rest == e.Sector {
		if n := f.passedOn(index, e); n != 0 {
			f.table.unlink(n)
			b := &f.table.bios[n]
			b.key, b.bytesLeft = e.Sector, uint32(b.sector+uint64(b.bytes>>9)-e.Sector)<<9
			f.table.link(n)
			return
		}
	}
	n := f.find(index, e, 1<<queued)
	if rest > e.Sector {
		f.cut(n, min((rest-e.Sector)<<9, 1<<32-512))
	}
}

// passedOn finds the bio whose rest a record describes. The bio was queued just before. blkparse's text lacks the
// length of the rest.
func (f *follower) passedOn(index uint16, e *event) uint32 {
	const scanLimit = 64
	n := f.table.newest
	for range scanLimit {
		if n == 0 {
			break
		}
		b := &f.table.bios[n]
		end := b.sector + uint64(b.bytes>>9)
		if b.device == index && b.state == queued && b.key < e.Sector &&
			(end == e.end() || e.Bytes == 0 && e.Sector < end) {
			return n
		}
		n = b.older
	}
	return 0
}

// cut splits a bio behind its first bytes, unless nothing is left behind them.
func (f *follower) cut(n uint32, first uint64) {
	if b := &f.table.bios[n]; first == 0 || first >= uint64(b.bytes) || b.nextInRequest != 0 || b.key != b.sector {
		return
	}
	restIndex := f.table.add()
	b, rest := &f.table.bios[n], &f.table.bios[restIndex]
	*rest = *b
	rest.sector += first >> 9
	rest.key = rest.sector
	rest.bytes -= uint32(first)
	rest.bytesLeft, rest.total, rest.q2q = rest.bytes, rest.bytes, never
	b.bytes = uint32(first)
	b.bytesLeft, b.total = b.bytes, b.bytes
	f.table.enter(restIndex)
}

func (f *follower) merge(dev *device, index uint16, e *event) {
	n := f.find(index, e, 1<<queued)
	b := &f.table.bios[n]
	if b.q == never && b.g == never { // no such bio is waiting: it is a request
		if whole := f.table.newestAt(index, e.key, e.Bytes, 1<<held); whole != 0 {
			f.table.unlink(n)
			f.table.remove(n)
			dev.stats.OtherMerges++
			f.table.bios[whole].set(merged).m = e.time
			return
		}
	}
	b.set(merged).m = e.time
	if e.Action.Event() == blktrace.FrontMerge {
		dev.stats.FrontMerges++
	} else {
		dev.stats.BackMerges++
	}
}

func (f *follower) insert(index uint16, e *event) {
	for _, s := range []states{1 << held, 1 << requeued, 1 << merged, 1<<queued | 1<<remapped} {
		if n := f.table.newestAt(index, e.key, e.Bytes, s); n != 0 {
			b := &f.table.bios[n]
			if b.state == queued || b.state == remapped {
				b.state = held
			}
			if b.i == never {
				b.i = e.time
			}
			return
		}
	}
	f.table.bios[f.find(index, e, 0)].set(held).i = e.time
}

func (f *follower) submit(at uint16, e *event) {
	for n := f.table.oldestAt(at, e.key, e.Bytes, e.op, 1<<issued); n != 0; n = f.table.bios[n].nextInRequest {
		f.table.bios[n].n = e.time
	}
}

func since(from, to int64) int64 { return max(0, to-from) }

// giveUp ends a bio, and the request that it begins, that was not completed.
func (f *follower) giveUp(n uint32) {
	dev := f.devices[f.table.bios[n].device]
	if f.dropBio(n) {
		dev.stats.Unfinished++
	}
}

// dropBio ends a bio, and the request that it begins, without a completion. It reports whether a request ended: a bio
// known by a remap alone is not counted.
func (f *follower) dropBio(n uint32) bool {
	f.table.unlink(n)
	b := &f.table.bios[n]
	dev := f.devices[b.device]
	if b.state == issued {
		dev.endRequest(f.start, f.last)
	}
	if b.state == remapped {
		f.table.remove(n)
		return false
	}
	for n != 0 {
		b := &f.table.bios[n]
		then := b.nextInRequest
		f.emit(b, never, 0)
		f.table.remove(n)
		n = then
	}
	return true
}

// dropAll ends all bios in flight without a completion.
func (f *follower) dropAll() {
	for f.table.oldest != 0 {
		b := &f.table.bios[f.table.oldest]
		dev := f.devices[b.device]
		if b.state == issued && dev.stats.Requests > 0 && dev.age(b) > dev.patience.atQueue[inDriver] {
			f.dropStale(dev, f.table.oldest)
			f.sign()
			continue
		}
		f.giveUp(f.table.oldest)
	}
	f.emitDelayed()
}
