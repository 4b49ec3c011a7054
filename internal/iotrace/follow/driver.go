package follow

import "plimsoll/internal/iotrace"

// issue begins what a driver does with a request: the bio that it begins with,
// and those that were merged and follow it on the device.
func (f *follower) issue(dev *device, at uint16, e *event) {
	dev.issues(e)
	dev.begins(f.start, e.time)
	if e.op == iotrace.Flush {
		f.issueFlush(at, e)
		return
	}
	n := f.table.oldestAt(at, e.key, e.Bytes, e.op, 1<<requeued|1<<held|1<<merged)
	if n == 0 {
		n = f.table.oldestAt(at, e.key, e.Bytes, e.op, 1<<queued|1<<remapped)
	}
	if n == 0 {
		n = f.fresh(at, e, held) // who issues it may work for anybody
	}
	f.cut(n, uint64(e.Bytes))
	f.gather(n, at, e)
	for m := n; m != 0; m = f.table.bios[m].then {
		b := &f.table.bios[m]
		b.d, b.n, b.total = e.time, never, e.Bytes
	}
	b := f.table.bios[n].set(issued)
	b.left, b.leads = e.Bytes, true
}

// gather puts the bios of a request behind the first one.
func (f *follower) gather(n uint32, at uint16, e *event) {
	last, covered := n, f.table.bios[n].left
	for f.table.bios[last].then != 0 {
		last = f.table.bios[last].then
	}
	for covered < e.Bytes {
		next := f.following(n, at, e.Sector+uint64(covered>>9), e.op)
		if next == 0 {
			return
		}
		f.table.unlink(next)
		f.table.join(next)
		covered += min(f.table.bios[next].bytes, e.Bytes-covered)
		f.table.bios[last].then = next
		f.table.bios[n].merges++
		last = next
	}
}

// following finds the bio of a request behind those that are known of it: the
// one that it was made for is held, where others were merged in front of it.
func (f *follower) following(n uint32, at uint16, sector uint64, op iotrace.Op) uint32 {
	for _, s := range []states{1 << merged, 1 << held, 1 << queued} {
		if next := f.table.oldestAt(at, sector, 0, op, s); next != 0 && next != n {
			return next
		}
	}
	if op == iotrace.Discard {
		return f.scattered(n, at)
	}
	return 0
}

// scattered finds a discard that was merged into a request although it does
// not follow it on the device.
func (f *follower) scattered(n uint32, at uint16) uint32 {
	const most = 4096 // far above the ranges of one request
	next := f.table.oldest
	for range most {
		if next == 0 {
			break
		}
		b := &f.table.bios[next]
		if b.state == merged && b.op == iotrace.Discard && b.device == at && next != n {
			return next
		}
		next = b.newer
	}
	return 0
}

// issueFlush begins a flush that the kernel makes for all who wait for one: for
// bios that only flush, and for writes that want one before or after them.
func (f *follower) issueFlush(at uint16, e *event) {
	waiting := uint32(0)
	for n := *f.table.bucket(at, e.key); n != 0; n = f.table.bios[n].hash {
		b := &f.table.bios[n]
		if b.key == e.key && b.device == at && b.op == iotrace.Flush && b.d == never && states(1<<queued|1<<held).has(b.state) {
			b.d = e.time
			waiting++
		}
	}
	b := &f.table.bios[f.fresh(at, e, issued)]
	b.d, b.merges, b.leads = e.time, waiting, true
}

// requeue takes a request back from the driver.
func (f *follower) requeue(dev *device, at uint16, e *event) {
	dev.stats.Requeues++
	n := f.table.oldestAt(at, e.key, e.Bytes, e.op, 1<<issued)
	if n == 0 {
		if n = f.table.oldestAt(at, e.key, e.Bytes, e.op, 1<<held|1<<merged); n != 0 {
			f.table.bios[n].again++
		}
		return
	}
	dev.ends(f.start, e.time)
	if e.op == iotrace.Flush { // it is made anew
		f.table.unlink(n)
		f.table.remove(n)
		return
	}
	f.table.bios[n].state = requeued
	for ; n != 0; n = f.table.bios[n].then {
		b := &f.table.bios[n]
		b.d, b.n = never, never
		b.again++
	}
}

// complete ends bios of a request, as far as the completion goes.
func (f *follower) complete(dev *device, at uint16, e *event) {
	if e.op == iotrace.Flush {
		f.completeFlush(dev, at, e)
		return
	}
	n := f.table.oldestAt(at, e.key, e.Bytes, e.op, 1<<issued)
	if n == 0 {
		f.completeBio(dev, at, e)
		return
	}
	dev.stats.Bytes += uint64(e.Bytes)
	request := f.table.bios[n].left
	left := e.Bytes
	f.table.unlink(n)
	for n != 0 {
		b := &f.table.bios[n]
		own := b.bytes - min(b.bytes, uint32(b.key-b.sector)<<9)
		if left < own && e.Bytes < request {
			b.key += uint64(left >> 9)
			break
		}
		left -= min(left, own)
		n = f.finish(n, e)
		if left == 0 && e.Bytes < request {
			break
		}
	}
	if n != 0 && e.Bytes < request { // the rest of it stays with the driver
		b := &f.table.bios[n]
		b.left = request - e.Bytes
		if b.state == issued {
			f.table.link(n)
		} else {
			b.state = issued
			f.table.enter(n)
		}
		return
	}
	for n != 0 {
		n = f.finish(n, e)
	}
	dev.stats.Requests++
	dev.ends(f.start, e.time)
}

// finish gives out a completed bio that is unlinked, and returns the one behind
// it.
func (f *follower) finish(n uint32, e *event) uint32 {
	b := &f.table.bios[n]
	then := b.then
	f.out(b, e.time, e.Errno())
	f.table.remove(n)
	return then
}

// completeBio ends bios of a device that has no requests: of dm, md, loop's
// or multipath's. Or their D was lost.
func (f *follower) completeBio(dev *device, at uint16, e *event) {
	const waiting = 1<<queued | 1<<remapped | 1<<held | 1<<merged | 1<<requeued
	n := f.table.oldestAt(at, e.key, e.Bytes, e.op, waiting)
	if n == 0 && e.Bytes == 0 {
		f.completeFlush(dev, at, e) // or the end of a write whose data were completed before
		return
	}
	dev.stats.Requests++
	if n == 0 {
		f.orphans++
		n = f.fresh(at, e, issued)
	}
	f.cut(n, uint64(e.Bytes))
	f.table.bios[n].leads = true
	for covered := uint32(0); n != 0; {
		f.table.unlink(n)
		b := &f.table.bios[n]
		covered += min(b.left, e.Bytes-covered)
		for n != 0 {
			b := &f.table.bios[n]
			b.total = max(e.Bytes, b.bytes)
			dev.stats.Bytes += uint64(b.bytes)
			n = f.finish(n, e)
		}
		if covered < e.Bytes {
			n = f.table.oldestAt(at, e.Sector+uint64(covered>>9), 0, e.op, waiting)
		}
	}
}

// completeFlush ends the device's own flush, or one of the bios that waited for
// it, which are completed after it, as writes without data.
func (f *follower) completeFlush(dev *device, at uint16, e *event) {
	if e.op == iotrace.Flush {
		if n := f.table.oldestAt(at, flushes, 0, e.op, 1<<issued); n != 0 {
			dev.stats.Requests++
			dev.ends(f.start, e.time)
			f.table.unlink(n)
			if b := &f.table.bios[n]; b.merges > 0 { // they tell its times
				f.table.remove(n)
			} else {
				f.finish(n, e)
			}
			return
		}
	}
	n := f.flushOf(at, e)
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

// flushOf finds the oldest flush that waits with a record's sector, which it
// has been given by remaps on its way to the device.
func (f *follower) flushOf(at uint16, e *event) (found uint32) {
	for n := *f.table.bucket(at, flushes); n != 0; n = f.table.bios[n].hash {
		b := &f.table.bios[n]
		if b.key == flushes && b.device == at && b.sector == e.Sector && states(1<<queued|1<<held).has(b.state) {
			found = n
		}
	}
	return found
}
