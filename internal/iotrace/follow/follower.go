package follow

import "plimsoll/internal/iotrace/blktrace"

// finished is a bio that nothing more will happen to.
type finished struct {
	bio
	c     int64 // never: it was not completed when the trace ended
	errno int32
}

// follower follows bios through their events.
type follower struct {
	table   *table
	devices []*device
	numbers map[uint32]uint16 // device number to index in devices
	recent  [8]struct {       // of numbers
		number uint32
		index  uint16
		known  bool
	}
	owners  owners
	start   int64
	last    int64
	begun   bool
	events  uint64
	givenUp uint64
	orphans uint64 // completions of what was not seen to begin

	done   []finished
	hand   func([]finished) []finished      // takes what is done when there is no more room, gives an empty one
	nameOf func(major, minor uint32) string // may be nil
}

func newFollower(nameOf func(major, minor uint32) string) *follower {
	return &follower{table: newTable(), numbers: map[uint32]uint16{}, owners: newOwners(), nameOf: nameOf}
}

// out gives out a bio.
func (f *follower) out(b *bio, c int64, errno int32) {
	f.done = append(f.done, finished{bio: *b, c: c, errno: errno})
	if len(f.done) == cap(f.done) {
		f.done = f.hand(f.done)
	}
}

// maxDevices is more than any host has; a capture with more is damaged.
const maxDevices = 4096

func (f *follower) device(number uint32) uint16 {
	r := &f.recent[number*0x9e3779b1>>29]
	if r.known && r.number == number {
		return r.index
	}
	index, ok := f.numbers[number]
	if !ok {
		if len(f.devices) == maxDevices {
			return maxDevices - 1
		}
		index = uint16(len(f.devices))
		f.devices = append(f.devices, newDevice(number, f.nameOf))
		f.numbers[number] = index
	}
	r.number, r.index, r.known = number, index, true
	return index
}

// follow takes the events of a batch.
func (f *follower) follow(b *batch) {
	for i := range b.events {
		e := &b.events[i]
		switch e.kind {
		case named:
			f.owners.name(e.pid, b.texts[e.text])
			continue
		case deviceName:
			f.devices[f.device(e.device)].name = b.texts[e.text]
			continue
		case ignored:
			continue
		}
		f.event(e)
	}
}

func (f *follower) event(e *event) {
	if !f.begun {
		f.begun, f.start = true, e.time
	}
	f.last = max(f.last, e.time)
	f.events++
	at := f.device(e.device)
	dev := f.devices[at]
	switch e.kind {
	case kind(blktrace.Queue):
		f.queue(dev, at, e)
	case kind(blktrace.GetRequest):
		f.table.bios[f.find(at, e, in(queued))].set(held).g = e.time
	case kind(blktrace.BackMerge), kind(blktrace.FrontMerge):
		f.merge(dev, at, e)
	case kind(blktrace.Insert):
		f.insert(at, e)
	case kind(blktrace.Issue):
		f.issue(dev, at, e)
	case submitted:
		f.submit(at, e)
	case kind(blktrace.Complete):
		f.complete(dev, at, e)
	case kind(blktrace.Requeue):
		f.requeue(dev, at, e)
	case kind(blktrace.Split):
		f.split(dev, at, e)
	case kind(blktrace.Remap):
		f.remap(dev, at, e)
	case kind(blktrace.Plug):
		dev.stats.Plugs++
	case kind(blktrace.Unplug):
		dev.stats.Unplugs++
	case kind(blktrace.UnplugTimer):
		dev.stats.UnpluggedByTimer++
	}
}

func (b *bio) set(s state) *bio {
	b.state = s
	return b
}

// fresh makes a bio of which nothing is known but this event.
func (f *follower) fresh(at uint16, e *event, s state) uint32 {
	if f.table.count >= maxInFlight {
		f.giveUp(f.table.oldest)
		f.givenUp++
	}
	n := f.table.add()
	f.table.bios[n] = bio{
		key: e.key, sector: e.sector, bytes: e.bytes, left: e.bytes, total: e.bytes, device: at, op: e.op, cpu: e.cpu, state: s,
		q: never, g: never, i: never, m: never, d: never, n: never, q2q: never,
	}
	f.table.enter(n)
	return n
}

// find is the newest bio that an event of its submission may be of; one that a
// remap alone is known of was queued by that; one that nothing is known of
// begins here.
func (f *follower) find(at uint16, e *event, s states) uint32 {
	if b := f.table.newestAt(at, e.key, e.bytes, s); b != 0 {
		return b
	}
	if b := f.table.newestAt(at, e.key, e.bytes, in(remapped)); b != 0 {
		return b
	}
	b := f.fresh(at, e, queued)
	f.table.bios[b].owner = f.owners.of(e)
	return b
}

func (f *follower) queue(dev *device, at uint16, e *event) {
	dev.queued++
	owner := f.owners.of(e)
	var n uint32
	if dev.stats.Remaps > 0 {
		n = f.table.newestAt(at, e.key, e.bytes, in(remapped))
	}
	if n == 0 {
		n = f.fresh(at, e, queued)
	} else if above := f.table.bios[n].owner; above != 0 && f.owners.kernel(owner) {
		owner = above // a kernel thread passes on what another one asked for
	}
	b := f.table.bios[n].set(queued)
	b.q, b.owner, b.cpu, b.op = e.time, owner, e.cpu, e.op
	if dev.lastQ != never {
		b.q2q = since(dev.lastQ, e.time)
	}
	dev.lastQ = e.time
}

// remap notes that a bio comes to this device from another one. Most are
// queued here next; NVMe's multipath and md hand on the same bio, whose only
// event of arrival is this one.
func (f *follower) remap(dev *device, at uint16, e *event) {
	dev.stats.Remaps++
	n := f.fresh(at, e, remapped)
	b := &f.table.bios[n]
	b.q, b.owner = e.time, f.owners.of(e)
	if origin, ok := f.numbers[e.origin]; ok {
		if above := f.table.newestAt(origin, e.from, e.bytes, in(queued, held, issued)); above != 0 {
			b.owner = f.table.bios[above].owner
		}
	}
}

// split makes two of a bio. The record is of the first part and says where the
// rest begins; but of dm, it is of the rest, and what was split off is dm's
// own: the bio is completed as one, where the last rest began.
func (f *follower) split(dev *device, at uint16, e *event) {
	dev.stats.Splits++
	if e.from == e.sector {
		if n := f.passedOn(at, e); n != 0 {
			f.table.unlink(n)
			b := &f.table.bios[n]
			b.key, b.left = e.sector, e.bytes
			f.table.link(n)
			return
		}
	}
	n := f.find(at, e, in(queued))
	if e.from > e.sector {
		f.cut(n, min((e.from-e.sector)<<9, 1<<32-512))
	}
}

// passedOn finds the bio that a record of its rest is of. It was queued just
// before.
func (f *follower) passedOn(at uint16, e *event) uint32 {
	const most = 64
	n := f.table.newest
	for range most {
		if n == 0 {
			break
		}
		b := &f.table.bios[n]
		if b.device == at && b.state == queued && b.key < e.sector && b.sector+uint64(b.bytes>>9) == e.end() {
			return n
		}
		n = b.older
	}
	return 0
}

// cut makes two of a bio: the first so many bytes, and the rest if any.
func (f *follower) cut(n uint32, first uint64) {
	if b := &f.table.bios[n]; first == 0 || first >= uint64(b.bytes) || b.then != 0 || b.key != b.sector {
		return
	}
	at := f.table.add()
	b, rest := &f.table.bios[n], &f.table.bios[at]
	*rest = *b
	rest.sector += first >> 9
	rest.key = rest.sector
	rest.bytes -= uint32(first)
	rest.left, rest.total, rest.q2q = rest.bytes, rest.bytes, never
	b.bytes = uint32(first)
	b.left, b.total = b.bytes, b.bytes
	f.table.enter(at)
}

func (f *follower) merge(dev *device, at uint16, e *event) {
	n := f.find(at, e, in(queued))
	b := &f.table.bios[n]
	if b.q == never && b.g == never { // no such bio is waiting: it is a request
		if whole := f.table.newestAt(at, e.key, e.bytes, in(held)); whole != 0 {
			f.table.unlink(n)
			f.table.remove(n)
			dev.stats.OtherMerges++
			f.table.bios[whole].set(merged).m = e.time
			return
		}
	}
	b.set(merged).m = e.time
	if e.kind == kind(blktrace.FrontMerge) {
		dev.stats.FrontMerges++
	} else {
		dev.stats.BackMerges++
	}
}

func (f *follower) insert(at uint16, e *event) {
	for _, s := range []states{in(held), in(requeued), in(merged), in(queued, remapped)} {
		if n := f.table.newestAt(at, e.key, e.bytes, s); n != 0 {
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
	f.table.bios[f.find(at, e, 0)].set(held).i = e.time
}

func (f *follower) submit(at uint16, e *event) {
	for n := f.table.oldestAt(at, e.key, e.bytes, e.op, in(issued)); n != 0; n = f.table.bios[n].then {
		f.table.bios[n].n = e.time
	}
}

func since(from, to int64) int64 { return max(0, to-from) }

// giveUp ends a bio, and the request that it begins, without a completion.
func (f *follower) giveUp(n uint32) {
	f.table.unlink(n)
	b := &f.table.bios[n]
	dev := f.devices[b.device]
	if b.state == issued {
		dev.depthChanges(f.start, f.last, -1)
	}
	if b.state == remapped {
		f.table.remove(n)
		return
	}
	dev.stats.Unfinished++
	for n != 0 {
		b := &f.table.bios[n]
		then := b.then
		f.out(b, never, 0)
		f.table.remove(n)
		n = then
	}
}

// end gives up all that is in flight.
func (f *follower) end() {
	for f.table.oldest != 0 {
		f.giveUp(f.table.oldest)
	}
	f.done = f.hand(f.done)
}
