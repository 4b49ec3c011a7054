package follow

import (
	"math"
	"math/bits"
	"slices"

	"plimsoll/internal/iotrace"
)

// A capture that lacks events leaves requests open whose completions will never
// come. To give one of them the completion of a later request of the same sectors
// would make it minutes long, so they are found and retired. What tells them apart
// is not time, for a device may stall, but how often they were overtaken: how many
// later events of their device there were.
//
// Of a capture that seems whole, only what was overtaken far more often than
// others is stale: two requests for the same sectors at once are both right. Of a
// device that lacks events, the next request of the same sectors retires the one
// before; what remains doubtful is held back until the end, and decided by
// how many of such times chance would make.

// phase is where a bio waits: in the block layer, or with the driver.
type phase int

const (
	inQueue phase = iota
	inDriver
	phases
)

func (b *bio) phase() phase {
	if b.state == issued {
		return inDriver
	}
	return inQueue
}

// overtakes counts how often requests were overtaken in a phase, by powers of two.
type overtakes struct {
	counts [33]uint64
	n      uint64
}

func (o *overtakes) add(events uint32) bool {
	o.counts[bits.Len32(events)]++
	o.n++
	return o.n&(o.n-1) == 0 || o.n%64 == 0
}

// bound is a power of two that so many percent of requests are not above.
func (o *overtakes) bound(percent uint64) uint32 {
	sum := uint64(0)
	for i, n := range o.counts {
		sum += n
		if sum*100 >= o.n*percent {
			return 1 << min(i, 20)
		}
	}
	return 1 << 20
}

// limits bound how often a request of each phase may be overtaken.
type limits [phases]uint32

// patience holds the limits for a device's requests.
type patience struct {
	seen    [phases]overtakes
	atQueue limits // beyond, a Q of the same sectors retires it
	atIssue limits // and a D or requeue
	reissue limits // up to here, a D without a Q issues the request again
	hold    limits // beyond, its times are doubtful
	expire  limits // beyond, it is retired
}

const unlimited = math.MaxUint32

func (p *patience) settle(strict bool) {
	for i := range p.seen {
		p50, p90 := p.seen[i].bound(50), p.seen[i].bound(90)
		if !strict {
			whole := max(1024, 16*p90)
			p.atQueue[i], p.atIssue[i], p.reissue[i], p.hold[i], p.expire[i] = whole, whole, whole, whole, unlimited
			continue
		}
		p.atQueue[i], p.atIssue[i] = max(64, p90), max(16, p50)
		p.reissue[i] = max(256, 4*p90)
		p.hold[i], p.expire[i] = max(64, p90), max(4096, 64*p90)
	}
}

// took notes how often a request was overtaken that left a phase.
func (d *device) took(in phase, events uint32) {
	if d.patience.seen[in].add(events) {
		d.patience.settle(d.strict)
	}
}

// lacks notes that the capture lacks events of a device.
func (d *device) lacks() {
	if !d.strict {
		d.strict = true
		d.patience.settle(true)
	}
}

// sign counts a sign that the capture lacks events. Several signs make all devices strict; a few occur in complete
// captures, too.
func (f *follower) sign() {
	f.signs++
	const minSigns = 4
	if f.strict || f.signs < minSigns || f.signs<<14 < f.events {
		return
	}
	f.strict = true
	for _, d := range f.devices {
		d.lacks()
	}
}

// age returns the number of events of its device since a bio's last one.
func (d *device) age(b *bio) uint32 { return d.ticks - b.tick }

// retire ends the requests for an event's sectors, but for one, that were overtaken more often than a limit.
func (f *follower) retire(dev *device, index uint16, e *event, limit *limits, except uint32) {
	if e.op == iotrace.Flush {
		return // the sectors of a flush have no meaning
	}
	for n := *f.table.bucket(index, e.key); n != 0; {
		b := &f.table.bios[n]
		next := b.hash
		if b.key == e.key && b.device == index && n != except && dev.age(b) > limit[b.phase()] {
			dev.noteReuse(b, e)
			f.dropStale(dev, n)
			f.sign()
		}
		n = next
	}
}

// dropStale ends a request whose completion was lost.
func (f *follower) dropStale(dev *device, n uint32) {
	if f.dropBio(n) {
		dev.stats.Retired++
	}
}

// expire checks one bio after the other, and retires those that can no longer complete on devices that lack events.
func (f *follower) expire() {
	n := f.table.cursor
	if n == 0 {
		n = f.table.oldest
	}
	if n == 0 {
		return
	}
	b := &f.table.bios[n]
	f.table.cursor = b.newer
	if dev := f.devices[b.device]; dev.age(b) > dev.patience.expire[b.phase()] {
		f.dropStale(dev, n)
	}
}

// Which of a bio's times are doubtful.
const (
	waitKind    = iota // until it was issued
	serviceKind        // from then on
	againKind          // until it was issued, again: it may have been another one
	doubts

	doubtfulWait    = 1 << waitKind
	doubtfulService = 1 << serviceKind
	doubtfulAgain   = 1 << againKind
)

// maxDelayed bounds the number of delayed bios of all devices.
const maxDelayed = 1 << 16

// hold keeps back a bio whose times are doubtful.
func (f *follower) hold(b *finishedBio) {
	f.delayed = append(f.delayed, *b)
	if len(f.delayed) < maxDelayed {
		return
	}
	// The shorter half is no more doubtful than what was not held back.
	slices.SortStableFunc(f.delayed, func(a, b finishedBio) int { return int(min(max(b.longest()-a.longest(), -1), 1)) })
	for i := maxDelayed / 2; i < len(f.delayed); i++ {
		f.done(&f.delayed[i])
	}
	f.delayed = f.delayed[:maxDelayed/2]
}

// waitTime returns the time until a bio was issued or, without D, completed.
func (b *finishedBio) waitTime() int64 {
	from := max(b.q, b.g, b.i, b.m)
	for _, t := range []int64{b.q, b.g, b.i, b.m} {
		if t != never {
			from = min(from, t)
		}
	}
	to := b.d
	if to == never {
		to = b.c
	}
	if from == never || to == never {
		return 0
	}
	return since(from, to)
}

// serviceTime returns the time from issue to completion.
func (b *finishedBio) serviceTime() int64 {
	if b.d == never || b.c == never {
		return 0
	}
	return since(b.d, b.c)
}

func (b *finishedBio) longest() int64 { return max(b.waitTime(), b.serviceTime()) }

// times counts times in bins of a quarter of a power of two.
type times [256]uint32

func timeBin(ns int64) int {
	n := uint64(max(ns, 4))
	exponent := bits.Len64(n) - 1
	return exponent*4 + int(n>>(exponent-2)&3)
}

// noteReuse records after which time the sectors of a retired request were requested again by one like it: a false
// match would have taken as long.
func (d *device) noteReuse(b *bio, e *event) {
	from := b.q
	if b.state == issued {
		from = b.d
		if e.Bytes != b.bytes && e.Bytes != b.bytesLeft {
			return
		}
	}
	if from != never && e.op == b.op {
		d.reused[b.phase()][timeBin(since(from, e.time))]++
	}
}

// doubt decides on one kind of times of a device. It compares how many of each length were found with how many chance
// would make: requests whose start was not seen, matched to a stale one of the same sectors.
type doubt struct {
	found  times
	chance [len(times{})]float64
	cut    int // the bin from which on there are no more than chance would make
	seen   times
	slack  float64 // how many more of a length are believed to be by chance
}

// expect adds share false matches for each request that was retired by a later start.
func (d *doubt) expect(reused *times, share float64) {
	for i, n := range reused {
		d.chance[i] = share * float64(n)
	}
	d.search(share)
	for range 2 { // far beyond the cut all are by chance: so many are to be expected below, too
		const far, enough = 6, 20
		found, chance := 0.0, 0.0
		for i := min(d.cut+far, len(d.found)); i < len(d.found); i++ {
			found += float64(d.found[i])
			chance += d.chance[i]
		}
		if chance < enough {
			return
		}
		scale := min(found/chance, 2)
		for i := range d.chance {
			d.chance[i] *= scale
		}
		d.search(share)
	}
}

// search finds the cut.
func (d *doubt) search(share float64) {
	d.cut = len(d.found)
	found, chance := 0.0, 0.0
	for share > 0 && d.cut > 0 {
		n, expected := float64(d.found[d.cut-1]), d.chance[d.cut-1]
		if n > 1.5*expected+3*math.Sqrt(expected)+d.slack ||
			found+n > 2*(chance+expected)+4*math.Sqrt(chance+expected)+1+d.slack {
			return
		}
		found += n
		chance += expected
		d.cut--
	}
}

// drops reports whether a time is one of those that chance made, or is as good as
// one: of those in a bin, as many as chance makes.
func (d *doubt) drops(ns int64, leads bool) bool {
	bin := timeBin(ns)
	if bin >= d.cut {
		return true
	}
	if !leads || d.chance[bin] == 0 {
		return false
	}
	before := math.Floor(d.chance[bin] * float64(d.seen[bin]) / float64(d.found[bin]))
	d.seen[bin]++
	return math.Floor(d.chance[bin]*float64(d.seen[bin])/float64(d.found[bin])) > before
}

// emitDelayed passes on the delayed bios, without the times that are false.
func (f *follower) emitDelayed() {
	byDevice := make([][doubts]doubt, len(f.devices))
	for i := range f.delayed {
		b := &f.delayed[i]
		for kind := range doubts {
			if b.doubtful>>kind&1 != 0 && b.leads { // those that were merged stand or fall with it
				byDevice[b.device][kind].found[timeBin(b.doubtfulTime(kind))]++
			}
		}
	}
	for i, d := range f.devices {
		if !d.strict {
			for kind := range byDevice[i] {
				byDevice[i][kind].cut = len(times{})
			}
			continue
		}
		queued, issued := float64(max(1, d.queued)), float64(max(1, d.issued))
		met := max(issued-float64(d.stats.Retired), issued/8) // of the unseen ones, those that met none were counted
		for kind, slack := range [doubts]float64{waitKind: 4, serviceKind: 1, againKind: 4} {
			byDevice[i][kind].slack = slack // the driver's tail is long, and counts
		}
		byDevice[i][waitKind].expect(&d.reused[inQueue], float64(d.unqueued+d.orphans)/queued)
		byDevice[i][serviceKind].expect(&d.reused[inDriver], float64(d.orphans-d.orphansQueued)/met)
		byDevice[i][againKind].expect(&d.reused[inDriver], float64(d.unqueued)/queued)
	}
	for i := range f.delayed {
		f.emitChecked(&f.delayed[i], &byDevice[f.delayed[i].device])
	}
	f.delayed = nil
}

// doubtfulTime returns the time that is in doubt.
func (b *finishedBio) doubtfulTime(kind int) int64 {
	if kind == serviceKind {
		return b.serviceTime()
	}
	return b.waitTime()
}

// emitChecked passes on a delayed bio, without the times that are false.
func (f *follower) emitChecked(b *finishedBio, kinds *[doubts]doubt) {
	dev := f.devices[b.device]
	drops := func(kind int) bool {
		return b.doubtful>>kind&1 != 0 && kinds[kind].drops(b.doubtfulTime(kind), b.leads)
	}
	service := drops(serviceKind)
	if drops(waitKind) || drops(againKind) {
		dev.stats.Doubtful++
		b.q, b.g, b.i, b.m, b.q2q = never, never, never, never, never
	}
	if service {
		dev.stats.Doubtful++
		completed := *b // of which no more is known
		completed.q, completed.g, completed.i, completed.m, completed.d, completed.n = never, never, never, never,
			never, never
		completed.q2q, completed.owner, completed.merges, completed.requeues = never, nobody, 0, 0
		b.c, b.errno = never, 0
		f.done(b)
		f.done(&completed)
		return
	}
	f.done(b)
}
