package follow

import "plimsoll/internal/iotrace"

// issue handles the issue of a request to the driver: of its first bio and of those merged behind it.
func (f *follower) issue(dev *device, index uint16, e *event) {
	dev.issues(e)
	dev.ticks++
	if e.op == iotrace.Flush {
		dev.beginRequest(f.start, e.time)
		f.issueFlush(dev, index, e)
		return
	}
	n := f.table.oldestAt(index, e.key, e.Bytes, e.op, 1<<requeued|1<<held|1<<merged)
	if n == 0 {
		n = f.table.oldestAt(index, e.key, e.Bytes, e.op, 1<<queued|1<<remapped)
	}
	if dev.strict && n != 0 && f.table.bios[n].op != e.op {
		f.dropStale(dev, n)
		n = 0
	}
	if n == 0 && f.issueAgain(dev, index, e) {
		return
	}
	f.retire(dev, index, e, &dev.patience.atIssue, n)
	if n == 0 {
		n = f.fresh(index, e, held) // who issues it may work for anybody
		dev.unqueued++
	}
	dev.beginRequest(f.start, e.time)
	f.cut(n, uint64(e.Bytes))
	f.gather(n, index, e)
	if dev.issued%overtakeSample == 0 {
		dev.took(inQueue, dev.age(&f.table.bios[n]))
	}
	for m := n; m != 0; m = f.table.bios[m].nextInRequest {
		b := &f.table.bios[m]
		b.d, b.n, b.total = e.time, never, e.Bytes
		if dev.age(b) > dev.patience.hold[inQueue] {
			b.doubtful |= doubtfulWait
		}
		b.tick = dev.ticks
	}
	b := f.table.bios[n].set(issued)
	b.bytesLeft, b.leads = e.Bytes, true
}

// overtakeSample is the rate at which requests are sampled to count how often they are overtaken: one in so many.
const overtakeSample = 8

// issueAgain handles a second issue of a request without a requeue between, and reports whether there is such a
// request. The last issue counts. In a capture without any Q it may be another request: then a second completion comes,
// which gets the first issue.
func (f *follower) issueAgain(dev *device, index uint16, e *event) bool {
	if e.Bytes == 0 || e.op == iotrace.Other {
		return false
	}
	n := f.table.oldestAt(index, e.key, e.Bytes, e.op, 1<<issued)
	if n == 0 {
		return false
	}
	if b := &f.table.bios[n]; b.op != e.op || b.bytesLeft != e.Bytes || dev.age(b) > dev.patience.reissue[inDriver] {
		return false
	}
	dev.reissued++
	if dev.queued == 0 {
		dev.superseded.add(&f.table.bios[n])
		dev.beginRequest(f.start, e.time)
	}
	for ; n != 0; n = f.table.bios[n].nextInRequest {
		b := &f.table.bios[n]
		b.d, b.n, b.tick = e.time, never, dev.ticks
		b.requeues++
		if dev.strict {
			b.doubtful |= doubtfulAgain // the Q of another one may be lost
		}
	}
	return true
}

// gather puts the bios of a request behind the first one.
func (f *follower) gather(n uint32, index uint16, e *event) {
	last, covered := n, f.table.bios[n].bytesLeft
	for f.table.bios[last].nextInRequest != 0 {
		last = f.table.bios[last].nextInRequest
	}
	for covered < e.Bytes {
		next := f.following(n, index, e.Sector+uint64(covered>>9), e.op)
		if next == 0 {
			return
		}
		f.table.unlink(next)
		f.table.join(next)
		covered += min(f.table.bios[next].bytes, e.Bytes-covered)
		f.table.bios[last].nextInRequest = next
		f.table.bios[n].merges++
		last = next
	}
}

// following finds the next bio of a request, behind its known ones. The bio that the request was made for is held if
// others were merged in front of it.
func (f *follower) following(n uint32, index uint16, sector uint64, op iotrace.Op) uint32 {
	for _, s := range []states{1 << merged, 1 << held, 1 << queued} {
		if next := f.table.oldestAt(index, sector, 0, op, s); next != 0 && next != n {
			return next
		}
	}
	if op == iotrace.Discard {
		return f.scattered(n, index)
	}
	return 0
}

// scattered returns a discard that was merged into a request although it does not follow it on the device.
func (f *follower) scattered(n uint32, index uint16) uint32 {
	const scanLimit = 4096 // far above the ranges of one request
	next := f.table.oldest
	for range scanLimit {
		if next == 0 {
			break
		}
		b := &f.table.bios[next]
		if b.state == merged && b.op == iotrace.Discard && b.device == index && next != n {
			return next
		}
		next = b.newer
	}
	return 0
}

// issueFlush handles a flush that the kernel makes for all bios that wait for one: flushes alone, and writes with a
// flush before or after.
func (f *follower) issueFlush(dev *device, index uint16, e *event) {
	waiting := uint32(0)
	for n := *f.table.bucket(index, e.key); n != 0; {
		b := &f.table.bios[n]
		current := n
		n = b.hash
		if dev.strict && b.key == e.key && b.device == index && b.state == issued &&
			dev.age(b) > dev.patience.atIssue[inDriver] {
			f.dropStale(dev, current)
			continue
		}
		if b.key == e.key && b.device == index && b.op == iotrace.Flush && b.d == never &&
			states(1<<queued|1<<held).has(b.state) {
			b.d, b.tick = e.time, dev.ticks
			waiting++
		}
	}
	b := &f.table.bios[f.fresh(index, e, issued)]
	b.d, b.merges, b.leads = e.time, waiting, true
}

// requeue handles the return of a request from the driver.
func (f *follower) requeue(dev *device, index uint16, e *event) {
	dev.stats.Requeues++
	n := f.table.oldestAt(index, e.key, e.Bytes, e.op, 1<<issued)
	if dev.strict && n != 0 {
		n = f.table.newestAt(index, e.key, e.Bytes, 1<<issued)
		f.retire(dev, index, e, &dev.patience.atIssue, n)
	}
	if n == 0 {
		if n = f.table.oldestAt(index, e.key, e.Bytes, e.op, 1<<held|1<<merged); n != 0 {
			f.table.bios[n].requeues++
		}
		return
	}
	dev.endRequest(f.start, e.time)
	if e.op == iotrace.Flush { // the kernel makes a new flush
		f.table.unlink(n)
		f.table.remove(n)
		return
	}
	f.table.bios[n].state = requeued
	for ; n != 0; n = f.table.bios[n].nextInRequest {
		b := &f.table.bios[n]
		b.d, b.n = never, never
		b.requeues++
	}
}

// complete ends bios of a request, as far as the completion goes.
func (f *follower) complete(dev *device, index uint16, e *event) {
	if e.op == iotrace.Flush {
		f.completeFlush(dev, index, e)
		return
	}
	dev.ticks++
	n := f.table.oldestAt(index, e.key, e.Bytes, e.op, 1<<issued)
	if n == 0 || dev.strict && !dev.fits(&f.table.bios[n], e) {
		f.completeBio(dev, index, e)
		return
	}
	if dev.stats.Requests%overtakeSample == 0 {
		dev.took(inDriver, dev.age(&f.table.bios[n]))
	}
	late := uint8(0)
	if dev.age(&f.table.bios[n]) > dev.patience.hold[inDriver] {
		late = doubtfulService
	}
	dev.stats.Bytes += uint64(e.Bytes)
	request := f.table.bios[n].bytesLeft
	left := e.Bytes
	f.table.unlink(n)
	for n != 0 {
		b := &f.table.bios[n]
		ownBytes := b.bytes - min(b.bytes, uint32(b.key-b.sector)<<9)
		if left < ownBytes && e.Bytes < request {
			b.key += uint64(left >> 9)
			break
		}
		left -= min(left, ownBytes)
		b.doubtful |= late
		n = f.finish(n, e)
		if left == 0 && e.Bytes < request {
			break
		}
	}
	if n != 0 && e.Bytes < request { // the rest of it stays with the driver
		b := &f.table.bios[n]
		b.bytesLeft = request - e.Bytes
		if b.state == issued {
			f.table.link(n)
		} else {
			b.state = issued
			f.table.enter(n)
		}
		return
	}
	for n != 0 {
		f.table.bios[n].doubtful |= late
		n = f.finish(n, e)
	}
	dev.stats.Requests++
	dev.endRequest(f.start, e.time)
}

// fits reports whether a completion may be of a request of a device that lacks
// events: one of another operation, of more than was issued, or of a part of what
// should have ended long ago is of a request whose events are lost.
func (d *device) fits(b *bio, e *event) bool {
	return b.op == e.op && (e.Bytes == b.bytesLeft || e.Bytes < b.bytesLeft && d.age(b) <= d.patience.hold[inDriver])
}

// finish passes on a completed, unlinked bio, and returns the next bio of its request.
func (f *follower) finish(n uint32, e *event) uint32 {
	b := &f.table.bios[n]
	then := b.nextInRequest
	f.emit(b, e.time, e.Errno())
	f.table.remove(n)
	return then
}

// completeBio ends bios of a device without requests (dm, md, loop, multipath), or bios whose D was lost.
func (f *follower) completeBio(dev *device, index uint16, e *event) {
	const waiting = 1<<queued | 1<<remapped | 1<<held | 1<<merged | 1<<requeued
	n := f.table.oldestAt(index, e.key, e.Bytes, e.op, waiting)
	if n == 0 && e.Bytes == 0 {
		f.completeFlush(dev, index, e) // or the end of a write whose data were completed before
		return
	}
	dev.stats.Requests++
	if dev.strict && n != 0 && (dev.issued > 0 || f.table.bios[n].op != e.op) {
		f.dropStale(dev, n) // whether this completion is its own, only its D would tell
		dev.orphansQueued++
		n = 0
	}
	if n == 0 {
		issuedAt := dev.superseded.take(e)
		if issuedAt == never {
			f.noteOrphan(dev, e)
		} else {
			dev.reissued--
			dev.endRequest(f.start, e.time)
		}
		n = f.fresh(index, e, issued)
		f.table.bios[n].d = issuedAt
	} else if dev.stats.Requests%overtakeSample == 0 && dev.issued == 0 {
		dev.took(inQueue, dev.age(&f.table.bios[n]))
	}
	f.cut(n, uint64(e.Bytes))
	f.table.bios[n].leads = true
	for covered := uint32(0); n != 0; {
		f.table.unlink(n)
		b := &f.table.bios[n]
		covered += min(b.bytesLeft, e.Bytes-covered)
		for n != 0 {
			b := &f.table.bios[n]
			b.total = max(e.Bytes, b.bytes)
			if dev.age(b) > dev.patience.hold[inQueue] {
				b.doubtful |= doubtfulWait
			}
			dev.stats.Bytes += uint64(b.bytes)
			n = f.finish(n, e)
		}
		if covered < e.Bytes {
			n = f.table.oldestAt(index, e.Sector+uint64(covered>>9), 0, e.op, waiting)
		}
	}
}

// noteOrphan counts a completion whose start was not seen. At the beginning of a trace the request was under way
// already.
func (f *follower) noteOrphan(d *device, e *event) {
	d.orphans++
	if d.issued > 0 && e.Bytes > 0 && e.op <= iotrace.Write && d.ticks > d.patience.atQueue[inDriver]/4 {
		f.sign()
	}
}

// completeFlush ends the device's own flush, or one of the bios that waited for that flush. These are completed after
// the flush, as writes without data.
func (f *follower) completeFlush(dev *device, index uint16, e *event) {
	if e.op == iotrace.Flush {
		if n := f.table.oldestAt(index, flushKey, 0, e.op, 1<<issued); n != 0 {
			dev.stats.Requests++
			dev.endRequest(f.start, e.time)
			f.table.unlink(n)
			if b := &f.table.bios[n]; b.merges > 0 { // they tell its times
				f.table.remove(n)
			} else {
				f.finish(n, e)
			}
			return
		}
	}
	n := f.flushOf(index, e)
	if n == 0 {
		return
	}
	f.table.unlink(n)
	b := &f.table.bios[n]
	b.leads = true
	if b.d == never {
		dev.stats.Requests++
	}
	f.finish(n, e)
}

// flushOf finds the oldest waiting flush with a record's sector. Remaps on the way to the device set that sector.
func (f *follower) flushOf(index uint16, e *event) (found uint32) {
	for n := *f.table.bucket(index, flushKey); n != 0; n = f.table.bios[n].hash {
		b := &f.table.bios[n]
		if b.key == flushKey && b.device == index && b.sector == e.Sector && states(1<<queued|1<<held).has(b.state) {
			found = n
		}
	}
	return found
}
