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

// overtaken is how often requests were overtaken in a phase, by powers of two.
type overtaken struct {
	counts [33]uint64
	n      uint64
}

func (o *overtaken) add(events uint32) bool {
	o.counts[bits.Len32(events)]++
	o.n++
	return o.n&(o.n-1) == 0 || o.n%64 == 0
}

// bound is a power of two that so many percent of requests are not above.
func (o *overtaken) bound(percent uint64) uint32 {
	sum := uint64(0)
	for i, n := range o.counts {
		sum += n
		if sum*100 >= o.n*percent {
			return 1 << min(i, 20)
		}
	}
	return 1 << 20
}

// limits are how often a request of each phase may be overtaken.
type limits [phases]uint32

// patience is what a device's requests are allowed.
type patience struct {
	seen    [phases]overtaken
	atQueue limits // beyond, a Q of the same sectors retires it
	atIssue limits // and a D or requeue
	again   limits // and up to here, a D without a Q issues it again
	hold    limits // beyond, its times are doubtful
	expire  limits // beyond, it is retired
}

const unlimited = math.MaxUint32

func (p *patience) settle(strict bool) {
	for i := range p.seen {
		half, most := p.seen[i].bound(50), p.seen[i].bound(90)
		if !strict {
			whole := max(1024, 16*most)
			p.atQueue[i], p.atIssue[i], p.again[i], p.hold[i], p.expire[i] = whole, whole, whole, whole, unlimited
			continue
		}
		p.atQueue[i], p.atIssue[i] = max(64, most), max(16, half)
		p.again[i] = max(256, 4*most)
		p.hold[i], p.expire[i] = max(64, most), max(4096, 64*most)
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

// sign notes what hardly occurs unless the capture lacks events, and then of all
// devices. A few are none.
func (f *follower) sign() {
	f.signs++
	const few = 4
	if f.strict || f.signs < few || f.signs<<14 < f.events {
		return
	}
	f.strict = true
	for _, d := range f.devices {
		d.lacks()
	}
}

// age is how many events of its device came after a bio's last one.
func (d *device) age(b *bio) uint32 { return d.ticks - b.tick }

// retire gives up the requests of an event's sectors, but for one, that were
// overtaken beyond a limit.
func (f *follower) retire(dev *device, at uint16, e *event, limit *limits, except uint32) {
	if e.op == iotrace.Flush {
		return // its sectors say nothing
	}
	for n := *f.table.bucket(at, e.key); n != 0; {
		b := &f.table.bios[n]
		next := b.hash
		if b.key == e.key && b.device == at && n != except && dev.age(b) > limit[b.phase()] {
			dev.again(b, e)
			f.stale(dev, n)
			f.sign()
		}
		n = next
	}
}

// stale gives up a request whose completion is lost.
func (f *follower) stale(dev *device, n uint32) {
	if f.leave(n) {
		dev.stats.Retired++
	}
}

// expire looks at one bio after the other, and retires those of devices that
// lack events that cannot be completed any more.
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
		f.stale(dev, n)
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

// maxHeld bounds what is held back of all devices.
const maxHeld = 1 << 16

// hold keeps back a bio whose times are doubtful.
func (f *follower) hold(b *told) {
	f.held = append(f.held, *b)
	if len(f.held) < maxHeld {
		return
	}
	// The shorter half is no more doubtful than what was not held back.
	slices.SortStableFunc(f.held, func(a, b told) int { return int(min(max(b.longest()-a.longest(), -1), 1)) })
	for i := maxHeld / 2; i < len(f.held); i++ {
		f.done(&f.held[i])
	}
	f.held = f.held[:maxHeld/2]
}

// waited is the time until a bio was issued, or, without D, completed.
func (b *told) waited() int64 {
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

// served is the time from issue to completion.
func (b *told) served() int64 {
	if b.d == never || b.c == never {
		return 0
	}
	return since(b.d, b.c)
}

func (b *told) longest() int64 { return max(b.waited(), b.served()) }

// times counts times in bins of a quarter of a power of two.
type times [256]uint32

func timeBin(ns int64) int {
	n := uint64(max(ns, 4))
	exponent := bits.Len64(n) - 1
	return exponent*4 + int(n>>(exponent-2)&3)
}

// again notes after which time the sectors of a retired request were asked for
// again by one like it: so long a false match would have taken.
func (d *device) again(b *bio, e *event) {
	from := b.q
	if b.state == issued {
		from = b.d
		if e.Bytes != b.bytes && e.Bytes != b.left {
			return
		}
	}
	if from != never && e.op == b.op {
		d.reused[b.phase()][timeBin(since(from, e.time))]++
	}
}

// doubt is of one kind of times of a device: how many of each length were found,
// and how many chance would make of requests whose begin was not seen and that met
// a stale one of the same sectors.
type doubt struct {
	found  times
	chance [len(times{})]float64
	cut    int // the bin from which on there are no more than chance would make
	seen   times
	slack  float64 // how many more of a length are believed to be by chance
}

// expect says that for each request that was retired by a begin that was seen
// there are share of those that met one whose begin was not.
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

// decide gives out what was held back, without the times that are false.
func (f *follower) decide() {
	of := make([][doubts]doubt, len(f.devices))
	for i := range f.held {
		b := &f.held[i]
		for kind := range doubts {
			if b.doubtful>>kind&1 != 0 && b.leads { // those that were merged stand or fall with it
				of[b.device][kind].found[timeBin(b.doubted(kind))]++
			}
		}
	}
	for i, d := range f.devices {
		if !d.strict {
			for kind := range of[i] {
				of[i][kind].cut = len(times{})
			}
			continue
		}
		queued, issued := float64(max(1, d.queued)), float64(max(1, d.issued))
		met := max(issued-float64(d.stats.Retired), issued/8) // of the unseen ones, those that met none were counted
		for kind, slack := range [doubts]float64{waitKind: 4, serviceKind: 1, againKind: 4} {
			of[i][kind].slack = slack // the driver's tail is long, and counts
		}
		of[i][waitKind].expect(&d.reused[inQueue], float64(d.unqueued+d.orphans)/queued)
		of[i][serviceKind].expect(&d.reused[inDriver], float64(d.orphans-d.unissued)/met)
		of[i][againKind].expect(&d.reused[inDriver], float64(d.unqueued)/queued)
	}
	for i := range f.held {
		f.settle(&f.held[i], &of[f.held[i].device])
	}
	f.held = nil
}

// doubted is the time that is doubtful.
func (b *told) doubted(kind int) int64 {
	if kind == serviceKind {
		return b.served()
	}
	return b.waited()
}

// settle gives out a bio that was held back.
func (f *follower) settle(b *told, of *[doubts]doubt) {
	dev := f.devices[b.device]
	drops := func(kind int) bool { return b.doubtful>>kind&1 != 0 && of[kind].drops(b.doubted(kind), b.leads) }
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
		completed.q2q, completed.owner, completed.merges, completed.again = never, nobody, 0, 0
		b.c, b.errno = never, 0
		f.done(b)
		f.done(&completed)
		return
	}
	f.done(b)
}
