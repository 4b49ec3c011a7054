package placement

import (
	"math"
	"slices"

	"plimsoll/internal/model"
)

// cell is a set of environments: of each station the logit of what is used of it lies between two numbers, and memory
// is roomy, or short and the logarithm of the time for which caches keep what they read lies between two numbers. What
// fillings whose environment is in it are worth at prices of their containers is bounded by a linear program.
//
// In an environment slots do not depend on each other. Of an instance of a slot, its operations and reads a second
// lie, as a point, between the rays of the least and the most reads of an operation, and between the lines at which its
// clients wait the least and the most: in the convex hull of four corners, each of which is a column of the program.
// What instances are worth, and what they use, is linear in their number, operations and reads, so that the sum over
// the columns of a slot stands for whatever they do in the cell.
type cell struct {
	low, high []float64 // by station
	short     bool
	from, to  float64 // of time, where memory is short

	bound  float64
	number int
	branch int   // station at which it is divided; -1 for time, -2 for nowhere
	capped []int // demands of which the program knows that there are no more than there are
}

// kindCells bound the fillings of a kind of hosts.
type kindCells struct {
	slots    []slotCell
	stations int
	memory   float64 // bytes; 0 where it has no bound
	demands  int
	mostOf   []float64 // containers of each demand on one host
	top      float64   // logit of what is used of a station at most
	least    [2][]float64
	most     [2][]float64 // ratio of what is used of one station and of another: by roomy and short, then by pair

	waits []wait

	// Of the cell that is looked at.
	ends    []waited // by wait
	lp      dual
	columns []corner
	fast    []float64 // of each slot in the cell: the most and the least it may do
	slow    []float64
}

// wait is how long operations of some slots wait at a station, beside their service.
type wait struct {
	station int
	sharp   float64
}

// waited is a wait at the low and at the high end of a cell.
type waited struct{ low, high float64 }

// slotCell is a slot, and its numbers in the cell that is looked at.
type slotCell struct {
	model.Slot
	at     int // in fillings
	demand int
	weight float64 // of an operation
	least  float64 // operations a second that it has to do
	waits  []int   // of its uses; -1 for those of its own
	wants  float64 // bytes
	calm   float64 // reads where nothing is short
	starve float64 // and where it has what no shortage takes
}

// corner is a column: an instance of a slot.
type corner struct {
	slot        int
	rate, reads float64
	writes      float64
	least, most float64 // memory, where it is short
	value       float64
}

// cellsOf returns the cells of a kind for a goal; nil where its model has parameters that they know no bound of.
func (s *search) cellsOf(at int, counts []int, least []float64) *kindCells {
	k := s.kinds[at]
	c := &kindCells{memory: float64(k.is.Host.MemoryBytes), demands: len(counts), mostOf: make([]float64, len(counts))}
	var placed []model.Placed
	for d, n := range counts {
		c.mostOf[d] = float64(min(n, mostOfOne*len(k.able)))
		if s.fleet.Containers[d].Apart {
			c.mostOf[d] = min(c.mostOf[d], 1)
		}
		if n == 0 {
			continue
		}
		for drive := range k.able {
			if k.refuses(d, k.able[drive]) != "" {
				continue
			}
			placed = append(placed, k.one(d, k.able[drive]))
			c.slots = append(c.slots, slotCell{at: k.slot(d, drive), demand: d, weight: s.fleet.Containers[d].weight(),
				least: least[d] * (1 - slack)})
		}
	}
	slots, stations, ok := k.model.Slots(k.is, placed)
	if !ok || len(slots) == 0 {
		return nil
	}
	c.stations = stations
	clients, sharpest, others := 0.0, 0.0, 0.0
	for i := range c.slots {
		o := &c.slots[i]
		o.Slot = slots[i]
		o.wants = o.Fixed + o.Cache
		o.calm, o.starve = o.Reads.At(o.wants), o.Reads.At(max(1, o.Fixed))
		if o.Cache == 0 && o.wants == 0 || len(o.Reads.Times) > 0 { // alone, it may have more than it wants
			o.calm = o.Reads.At(0)
		}
		o.starve = max(o.starve, o.calm)
		n := min(float64(mostOfOne), c.mostOf[o.demand])
		if c.memory > 0 && o.Fixed > 0 {
			n = min(n, c.memory/o.Fixed)
		}
		clients += n * o.Clients
		for _, u := range o.Uses {
			sharpest, others = max(sharpest, u.Sharp), max(others, u.Others)
			w := -1
			if u.Station >= 0 {
				w = slices.IndexFunc(c.waits, func(w wait) bool { return w.station == u.Station && w.sharp == u.Sharp })
				if w < 0 {
					w = len(c.waits)
					c.waits = append(c.waits, wait{station: u.Station, sharp: u.Sharp})
				}
			}
			o.waits = append(o.waits, w)
		}
	}
	// No more wait than there are clients: u * u^sharp/(1-u) is at most their number.
	c.top = math.Log(clients*(1+others) + sharpest + 1)
	c.fast, c.slow = make([]float64, len(c.slots)), make([]float64, len(c.slots))
	c.relate()
	return c
}

// relate finds between which numbers the ratio of what is used of two stations is.
func (c *kindCells) relate() {
	n := c.stations
	for short := range 2 {
		c.least[short], c.most[short] = make([]float64, n*n), make([]float64, n*n)
		for i := range c.least[short] {
			c.least[short][i] = math.Inf(1)
		}
		each := make([]float64, n)
		for s := range c.slots {
			o := &c.slots[s]
			for _, reads := range [2]float64{o.calm, o.starve} {
				if short == 0 && len(o.Reads.Times) == 0 {
					reads = o.calm
				}
				clear(each)
				unknown := make([]bool, n)
				for _, u := range o.Uses {
					if u.Station >= 0 {
						each[u.Station] += (1 + u.Others) * (u.Fixed + u.PerRead*reads + u.PerWrite*float64(o.Writes.At1))
						unknown[u.Station] = unknown[u.Station] || u.PerWrite > 0 && o.Writes.Batch > 0
					}
				}
				for i := range n {
					for j := range n {
						at := i*n + j
						switch {
						case unknown[i] || unknown[j]:
							c.least[short][at], c.most[short][at] = 0, math.Inf(1)
						case each[i] > 0:
							c.least[short][at] = min(c.least[short][at], each[j]/each[i])
							c.most[short][at] = max(c.most[short][at], each[j]/each[i])
						case each[j] > 0:
							c.most[short][at] = math.Inf(1)
						}
					}
				}
			}
		}
	}
}

// noneUsed is the logit of what is used of a station that nobody uses.
const noneUsed = -40

func share(logit float64) float64 {
	if logit <= noneUsed {
		return 0
	}
	return 1 / (1 + math.Exp(-logit))
}

func logit(share float64) float64 {
	switch {
	case share <= 0:
		return noneUsed
	case share >= 1:
		return math.Inf(1)
	}
	return max(noneUsed, math.Log(share/(1-share)))
}

// tighten makes a cell smaller by what the use of one station says of another's. It reports whether anything is left.
func (c *kindCells) tighten(of *cell) bool {
	n, short := c.stations, 0
	if of.short {
		short = 1
	}
	for range 2 {
		for i := range n {
			for j := range n {
				if i == j {
					continue
				}
				if most := c.most[short][i*n+j]; most > 0 && !math.IsInf(most, 1) {
					of.high[j] = min(of.high[j], logit(most*share(of.high[i])))
				}
				if least := c.least[short][i*n+j]; least > 0 && !math.IsInf(least, 1) && of.low[i] > noneUsed {
					of.low[j] = max(of.low[j], logit(min(1, least*share(of.low[i]))))
				}
				if of.low[j] > of.high[j]+1e-12 {
					return false
				}
			}
		}
	}
	return true
}

// Line and use are those of models.
type (
	Line = model.Line
	use  = model.SlotUse
)

// piecesMost is into how many parts the reads of a slot are divided, which keeps hot and cold instances apart.
const piecesMost = 12

// corners are the columns of a cell.
func (c *kindCells) corners(of *cell, prices []float64, scale float64) {
	c.ends = c.ends[:0]
	for _, w := range c.waits {
		c.ends = append(c.ends, waited{waits(of.low[w.station], w.sharp), waits(of.high[w.station], w.sharp)})
	}
	least, most := 0.0, 0.0 // s that caches keep
	if of.short {
		least, most = math.Exp(of.from), math.Exp(of.to)
	}
	c.columns = c.columns[:0]
	for i := range c.slots {
		o := &c.slots[i]
		b := box{slot: o, cells: c, short: of.short, least: least, most: most}
		b.reads = [2]float64{o.calm, o.calm}
		if of.short {
			b.reads[1] = o.starve
		} else if len(o.Reads.Times) > 0 {
			b.reads[1] = max(o.calm, o.Reads.At(o.wants))
		}
		b.rates = [2]float64{0, math.Inf(1)}
		if !b.shrink() {
			c.fast[i], c.slow[i] = 0, 0
			continue
		}
		c.fast[i], c.slow[i] = b.rates[1], b.rates[0]
		pieces := 1
		base := max(b.reads[0], b.reads[1]/100)
		if of.short && b.reads[1] > 1.15*base {
			pieces = min(piecesMost, int(math.Ceil(math.Log(b.reads[1]/base)/0.14)))
		}
		from := b.reads[0]
		for q := 1; q <= pieces; q++ {
			to := b.reads[1]
			if q < pieces {
				to = max(from, base*math.Pow(b.reads[1]/base, float64(q)/float64(pieces)))
			}
			p := b
			p.reads = [2]float64{from, to}
			from = to
			if pieces == 1 || p.shrink() {
				p.add(i, scale, prices[o.demand])
			}
		}
	}
}

// waits is how many times as long as its own service an operation waits at a station.
func waits(logit, sharp float64) float64 {
	if logit <= noneUsed {
		return 0
	}
	u := 1 / (1 + math.Exp(-logit))
	e := 0.0
	switch sharp {
	case 2:
		e = u * u
	case 3:
		e = u * u * u
	case 6:
		e = u * u * u
		e *= e
	default:
		e = math.Pow(u, sharp)
	}
	return e * (1 + math.Exp(logit))
}

// box bounds what a slot does in a cell: its operations a second, and the reads of each.
type box struct {
	slot         *slotCell
	cells        *kindCells
	short        bool
	least, most  float64 // s that caches keep what they read
	reads, rates [2]float64

	low, high Line // s of a cycle beside Alone
	writes    [2]float64
}

// waiting finds what operations wait, and how often they write, at the rates that the box has.
func (b *box) waiting() {
	o := b.slot
	w := float64(o.Writes.At1)
	b.writes = [2]float64{w, w}
	if batch := float64(o.Writes.Batch); batch > 0 && w > 0 {
		b.writes = [2]float64{w * math.Pow(b.rates[0], batch), w * math.Pow(b.rates[1], batch)}
	}
	b.low, b.high = Line{}, Line{}
	for i, u := range o.Uses {
		if o.waits[i] < 0 {
			continue
		}
		w := &b.cells.ends[o.waits[i]]
		write := func(writes float64) float64 {
			if u.PerWrite == 0 {
				return 0
			}
			return u.PerWrite * writes
		}
		b.low.Base += model.Number(w.low * (u.Fixed + write(b.writes[0])))
		b.low.More += model.Number(w.low * u.PerRead)
		if w.high > 0 {
			b.high.Base += model.Number(w.high * (u.Fixed + write(b.writes[1])))
			b.high.More += model.Number(w.high * u.PerRead)
		}
	}
}

// shrink makes the box smaller as long as that goes on: reads bound rates, and these reads. Each step is valid
// whatever rises or falls with what. It reports whether anything is left.
func (b *box) shrink() bool {
	o := b.slot
	for range 60 {
		before := b.rates
		b.waiting()
		b.rates[1] = min(b.rates[1], o.Clients/b.shortest(), b.cap())
		if slow := b.slowest(); slow > b.rates[0] {
			b.rates[0] = slow
		}
		b.rates[0] = max(b.rates[0], o.least)
		if b.rates[0] > b.rates[1]*(1+1e-9) {
			return false
		}
		b.rates[0] = min(b.rates[0], b.rates[1])
		if b.short && o.starve > o.calm {
			few, many := b.memories()
			least, most := o.Reads.At(max(many, 1)), o.Reads.At(max(few, 1))
			if least > b.reads[1]*(1+1e-9)+1e-12 || most < b.reads[0]*(1-1e-9)-1e-12 {
				return false
			}
			b.reads[0] = min(max(b.reads[0], least), b.reads[1])
			b.reads[1] = max(min(b.reads[1], most), b.reads[0])
		}
		if b.rates[1]-before[1] > -1e-6*b.rates[1] && b.rates[0]-before[0] < 1e-6*b.rates[0] {
			break
		}
	}
	b.waiting()
	return true
}

// memories are the least and the most bytes that an instance has at the rates of the box.
func (b *box) memories() (least, most float64) {
	o := b.slot
	if o.Touched == 0 {
		return o.Fixed, o.wants
	}
	least, most = o.Fixed, o.wants
	fewest, _ := o.Reads.Memory(b.reads[1])
	_, highest := o.Reads.Memory(b.reads[0])
	least, most = max(least, fewest), min(most, highest)
	if b.rates[0] > 0 && b.least > 0 {
		least = max(least, o.Memory(b.rates[0], b.least))
	}
	if !math.IsInf(b.most, 1) && !math.IsInf(b.rates[1], 1) {
		most = min(most, o.Memory(b.rates[1], b.most))
	}
	return least, most
}

// shortest is the least that a cycle takes in the box.
func (b *box) shortest() float64 {
	lines := b.slot.Alone
	at := func(r float64) float64 { return b.slot.cycle(r) + b.low.At(r) }
	least := min(at(b.reads[0]), at(b.reads[1]))
	for i, l := range lines {
		for _, k := range lines[:i] {
			if r := float64((l.Base - k.Base) / (k.More - l.More)); r > b.reads[0] && r < b.reads[1] {
				least = min(least, at(r))
			}
		}
	}
	return least
}

// cycle is how long a cycle takes at the high end of the cell.
func (b *box) cycle(reads float64) float64 { return b.slot.cycle(reads) + b.high.At(reads) }

// cap is the rate that limits of the slot's own allow.
func (b *box) cap() float64 {
	most := math.Inf(1)
	for i, u := range b.slot.Uses {
		if b.slot.waits[i] < 0 {
			if busy := u.Fixed + u.PerRead*b.reads[0] + u.PerWrite*b.writes[0]; busy > 0 {
				most = min(most, 1/busy)
			}
		}
	}
	return most
}

// slowest is the least rate in the box: where it has stations of its own, of an instance that is alone.
func (b *box) slowest() float64 {
	o := b.slot
	rest := max(b.cycle(b.reads[0]), b.cycle(b.reads[1]))
	if math.IsInf(rest, 1) || math.IsNaN(rest) {
		return 0
	}
	low, high := 0.0, min(o.Clients/rest, b.cap())
	if !slices.Contains(o.waits, -1) {
		return high
	}
	late := func(rate float64) bool {
		seconds := rest
		for i, u := range o.Uses {
			if o.waits[i] >= 0 {
				continue
			}
			busy := u.Fixed + u.PerRead*b.reads[1]
			if u.PerWrite > 0 {
				busy += u.PerWrite * b.writes[1]
			}
			used := rate * busy
			if used >= 1 || math.IsNaN(used) {
				return true
			}
			seconds += busy * math.Pow(used, u.Sharp) / (1 - used)
		}
		return rate*seconds > o.Clients
	}
	for range 40 {
		if middle := (low + high) / 2; late(middle) {
			high = middle
		} else {
			low = middle
		}
	}
	return low
}

// add adds the columns of the box.
func (b *box) add(slot int, scale, price float64) {
	o := b.slot
	least, most := o.wants, o.wants
	if b.short {
		least, most = b.memories()
	}
	// Below, the cycle is at least one of the lines: that which is highest in the middle.
	low, middle := o.Alone[0], (b.reads[0]+b.reads[1])/2
	for _, l := range o.Alone[1:] {
		if l.At(middle) > low.At(middle) {
			low = l
		}
	}
	own := slices.Contains(o.waits, -1)
	cap := math.Inf(1)
	if own {
		cap = b.cap()
	}
	var fast, slow [2]float64
	for i, r := range b.reads {
		fast[i] = o.Clients / (low.At(r) + b.low.At(r))
		slow[i] = o.Clients / b.cycle(r)
		if own {
			slow[i] = b.rates[0]
		}
	}
	if fast[0] > cap && fast[1] > cap { // else its line is no side of the hull
		fast = [2]float64{cap, cap}
	}
	if slow[0] < o.least && slow[1] < o.least {
		slow = [2]float64{o.least, o.least}
	}
	writes := b.writes[:1]
	if b.writes[1] > b.writes[0]*(1+1e-12) {
		writes = b.writes[:]
	}
	rays := b.reads[:1]
	if b.reads[1]-b.reads[0] > 1e-9 {
		rays = b.reads[:]
	}
	for i, r := range rays {
		for _, x := range [2]float64{fast[i], slow[i]} {
			for _, w := range writes {
				b.cells.columns = append(b.cells.columns, corner{slot, x, r, w, least, most, scale*o.weight*x - price})
			}
		}
	}
}
