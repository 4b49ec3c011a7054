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
	parts  []float64 // of containers, by slot, that its program has; nil where its bound is near enough
	number int
	branch int   // station at which it is divided; -1 for time, -2 for nowhere
	capped []int // demands of which the program knows that there are no more than there are

	// Of the last basis of its program, or of that of the cell that it is a part of.
	basic []int // numbers of corners
	tight []int // rows that are at a bound; nil before
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
	greatest [2][]float64 // ratio of what is used of one station and of another: by roomy and short, then by pair

	waits []wait

	// Of the cell that is looked at.
	ends    []waited // by wait
	lp      dual
	columns []corner
	numbers []int     // of columns, by the number of a corner
	fast    []float64 // of each slot in the cell: the most and the least it may do
	slow    []float64
}

// wait is a station and the exponent of its waiting, which some slots have in common.
type wait struct {
	station int
	sharp   float64
}

// waited is a wait at the low and at the high end of a cell.
type waited struct{ low, high float64 }

// slotCell is a slot, and its numbers in the cell that is looked at.
type slotCell struct {
	model.Slot
	index  int // in fillings
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
	slot            int
	rate, reads     float64
	writes          float64
	least, greatest float64 // memory, where it is short
	value           float64
	id              int // the same in each cell
}

// cornersMost is how many corners a slot has at most.
const cornersMost = 8 * (piecesMost + 1)

// cellsOf returns the cells of a kind for a goal; nil if its model has parameters that cells cannot bound.
func (s *search) cellsOf(index int, counts []int, goal goal) *kindCells {
	kind := s.kinds[index]
	cells := &kindCells{memory: float64(kind.is.Host.MemoryBytes), demands: len(counts),
		mostOf: make([]float64, len(counts))}
	var placed []model.Placed
	for d, n := range counts {
		cells.mostOf[d] = float64(min(n, mostOfOne*len(kind.able)))
		if s.fleet.Containers[d].Apart {
			cells.mostOf[d] = min(cells.mostOf[d], 1)
		}
		if n == 0 {
			continue
		}
		for drive := range kind.able {
			if kind.refuses(d, kind.able[drive]) != "" {
				continue
			}
			placed = append(placed, kind.single(d, kind.able[drive]))
			cells.slots = append(cells.slots, slotCell{index: kind.slot(d, drive), demand: d,
				weight: s.fleet.Containers[d].weight(), least: s.leastRate(kind, d, kind.able[drive], goal) * (1 - slack)})
		}
	}
	slots, stations, ok := kind.model.Slots(kind.is, placed)
	if !ok || len(slots) == 0 {
		return nil
	}
	cells.stations = stations
	clients, sharpest, largestOthers := 0.0, 0.0, 0.0
	for i := range cells.slots {
		slot := &cells.slots[i]
		slot.Slot = slots[i]
		slot.wants = slot.Fixed + slot.Cache
		slot.calm, slot.starve = slot.Reads.At(slot.wants), slot.Reads.At(max(1, slot.Fixed))
		if slot.Cache == 0 && slot.wants == 0 || len(slot.Reads.Times) > 0 { // alone, it may have more than it wants
			slot.calm = slot.Reads.At(0)
		}
		slot.starve = max(slot.starve, slot.calm)
		count := min(float64(mostOfOne), cells.mostOf[slot.demand])
		if cells.memory > 0 && slot.Fixed > 0 {
			count = min(count, cells.memory/slot.Fixed)
		}
		clients += count * slot.Clients
		for _, use := range slot.Uses {
			sharpest, largestOthers = max(sharpest, use.Sharp), max(largestOthers, use.Others)
			number := -1
			if use.Station >= 0 {
				number = slices.Index(cells.waits, wait{station: use.Station, sharp: use.Sharp})
				if number < 0 {
					number = len(cells.waits)
					cells.waits = append(cells.waits, wait{station: use.Station, sharp: use.Sharp})
				}
			}
			slot.waits = append(slot.waits, number)
		}
	}
	// No more wait than there are clients: u * u^sharp/(1-u) is at most their number.
	cells.top = math.Log(clients*(1+largestOthers) + sharpest + 1)
	cells.fast, cells.slow = make([]float64, len(cells.slots)), make([]float64, len(cells.slots))
	cells.relate()
	return cells
}

// leastRate returns the operations a second that a container of a demand does at least if it keeps its limits and those
// of a goal: a limit of p99 limits the mean, and so the rate of its clients.
func (s *search) leastRate(kind *kind, demand, drive int, goal goal) float64 {
	containers := &s.fleet.Containers[demand]
	least := max(containers.LeastRate, goal.least*s.alone[demand])
	limit := containers.MostP99
	if goal.p99 > 0 && (limit == 0 || goal.p99 < limit) {
		limit = goal.p99
	}
	if limit == 0 {
		return least
	}
	placed := []model.Placed{kind.single(demand, drive)}
	solved, err := kind.model.Solve(kind.is, placed)
	if err != nil || !(solved.Tenants[0].Mean > 0) || !(solved.Rate > 0) {
		return least
	}
	slots, _, ok := kind.model.Slots(kind.is, placed)
	if !ok {
		return least
	}
	think := slots[0].Clients/solved.Rate - solved.Tenants[0].Mean
	mean := longestMean(limit*(1+slack), kind.model.Classes[placed[0].Class].Params.Tail)
	return max(least, slots[0].Clients/(mean+think))
}

// meanStep is the ratio of two means that longestMean tries one after the other.
const meanStep = 1.002

// longestMean returns a mean, in seconds, above which every p99 is above a limit.
func longestMean(p99 float64, tail model.Tail) float64 {
	mean := p99
	if math.IsNaN(tail.Least(mean)) {
		return math.Inf(1)
	}
	for range 5000 {
		lower := mean / meanStep
		if lower*tail.Least(lower) <= p99 {
			return mean
		}
		mean = lower
	}
	return mean
}

// relate computes the bounds of the ratio of what is used of two stations.
func (c *kindCells) relate() {
	n := c.stations
	for short := range 2 {
		c.least[short], c.greatest[short] = make([]float64, n*n), make([]float64, n*n)
		for i := range c.least[short] {
			c.least[short][i] = math.Inf(1)
		}
		usage := make([]float64, n)
		for s := range c.slots {
			slot := &c.slots[s]
			for _, reads := range [2]float64{slot.calm, slot.starve} {
				if short == 0 && len(slot.Reads.Times) == 0 {
					reads = slot.calm
				}
				clear(usage)
				unknown := make([]bool, n)
				for _, u := range slot.Uses {
					if u.Station >= 0 {
						usage[u.Station] += (1 + u.Others) * (u.Fixed + u.PerRead*reads + u.PerWrite*float64(slot.Writes.At1))
						unknown[u.Station] = unknown[u.Station] || u.PerWrite > 0 && slot.Writes.Batch > 0
					}
				}
				for i := range n {
					for j := range n {
						pair := i*n + j
						switch {
						case unknown[i] || unknown[j]:
							c.least[short][pair], c.greatest[short][pair] = 0, math.Inf(1)
						case usage[i] > 0:
							c.least[short][pair] = min(c.least[short][pair], usage[j]/usage[i])
							c.greatest[short][pair] = max(c.greatest[short][pair], usage[j]/usage[i])
						case usage[j] > 0:
							c.greatest[short][pair] = math.Inf(1)
						}
					}
				}
			}
		}
	}
}

// noneUsed is the logit of an idle station.
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

// tighten makes a cell smaller by the ratios of what stations use. It reports whether anything is left of the cell.
func (c *kindCells) tighten(cell *cell) bool {
	n, short := c.stations, 0
	if cell.short {
		short = 1
	}
	for range 2 {
		for i := range n {
			for j := range n {
				if i == j {
					continue
				}
				if most := c.greatest[short][i*n+j]; most > 0 && !math.IsInf(most, 1) {
					cell.high[j] = min(cell.high[j], logit(most*share(cell.high[i])))
				}
				if least := c.least[short][i*n+j]; least > 0 && !math.IsInf(least, 1) && cell.low[i] > noneUsed {
					cell.low[j] = max(cell.low[j], logit(min(1, least*share(cell.low[i]))))
				}
				if cell.low[j] > cell.high[j]+1e-12 {
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

// piecesMost is into how many parts the reads of a slot are divided at most, which keeps hot and cold instances apart.
const piecesMost = 12

// corners computes the columns of a cell.
func (c *kindCells) corners(cell *cell, prices []float64, scale float64) {
	c.ends = c.ends[:0]
	for _, w := range c.waits {
		c.ends = append(c.ends, waited{waits(cell.low[w.station], w.sharp), waits(cell.high[w.station], w.sharp)})
	}
	least, greatest := 0.0, 0.0 // s that caches keep
	if cell.short {
		least, greatest = math.Exp(cell.from), math.Exp(cell.to)
	}
	c.columns = c.columns[:0]
	for i := range c.slots {
		slot := &c.slots[i]
		bounds := box{slot: slot, cells: c, short: cell.short, least: least, greatest: greatest}
		bounds.reads = [2]float64{slot.calm, slot.calm}
		if cell.short {
			bounds.reads[1] = slot.starve
		} else if len(slot.Reads.Times) > 0 {
			bounds.reads[1] = max(slot.calm, slot.Reads.At(slot.wants))
		}
		bounds.rates = [2]float64{0, math.Inf(1)}
		if !bounds.shrink() {
			c.fast[i], c.slow[i] = 0, 0
			continue
		}
		c.fast[i], c.slow[i] = bounds.rates[1], bounds.rates[0]
		pieces := 1
		base := max(bounds.reads[0], bounds.reads[1]/100)
		if cell.short && bounds.reads[1] > 1.15*base {
			pieces = min(piecesMost, int(math.Ceil(math.Log(bounds.reads[1]/base)/0.14)))
		}
		from := bounds.reads[0]
		for q := 1; q <= pieces; q++ {
			to := bounds.reads[1]
			if q < pieces {
				to = max(from, base*math.Pow(bounds.reads[1]/base, float64(q)/float64(pieces)))
			}
			piece := bounds
			piece.reads = [2]float64{from, to}
			from = to
			if pieces == 1 || piece.shrink() {
				piece.add(i, q, scale, prices[slot.demand])
			}
		}
	}
}

// waits returns the ratio of an operation's wait at a station to its service: u^sharp/(1-u), where u is the share that
// is used.
func waits(logit, sharp float64) float64 {
	if logit <= noneUsed {
		return 0
	}
	u := 1 / (1 + math.Exp(-logit))
	power := 0.0
	switch sharp {
	case 2:
		power = u * u
	case 3:
		power = u * u * u
	case 6:
		power = u * u * u
		power *= power
	default:
		power = math.Pow(u, sharp)
	}
	return power * (1 + math.Exp(logit))
}

// box bounds what a slot does in a cell: its operations a second, and the reads of each.
type box struct {
	slot            *slotCell
	cells           *kindCells
	short           bool
	least, greatest float64 // s that caches keep what they read
	reads, rates    [2]float64

	low, high Line // s of a cycle beside Alone
	writes    [2]float64
	hasWaits  bool // these were computed
}

// waiting computes how long operations wait, and how often they write, at the rates of the box.
func (b *box) waiting() {
	slot := b.slot
	b.hasWaits = true
	writes := float64(slot.Writes.At1)
	b.writes = [2]float64{writes, writes}
	if batch := float64(slot.Writes.Batch); batch > 0 && writes > 0 {
		b.writes = [2]float64{writes * math.Pow(b.rates[0], batch), writes * math.Pow(b.rates[1], batch)}
	}
	b.low, b.high = Line{}, Line{}
	for i, use := range slot.Uses {
		if slot.waits[i] < 0 {
			continue
		}
		wait := &b.cells.ends[slot.waits[i]]
		write := func(writes float64) float64 {
			if use.PerWrite == 0 {
				return 0
			}
			return use.PerWrite * writes
		}
		b.low.Base += model.Number(wait.low * (use.Fixed + write(b.writes[0])))
		b.low.More += model.Number(wait.low * use.PerRead)
		if wait.high > 0 {
			b.high.Base += model.Number(wait.high * (use.Fixed + write(b.writes[1])))
			b.high.More += model.Number(wait.high * use.PerRead)
		}
	}
}

// shrink makes the box smaller as long as that goes on: reads bound rates, and rates bound reads. Each step is valid
// whatever the sign of their relation. It reports whether anything is left of the box.
func (b *box) shrink() bool {
	slot := b.slot
	for range 60 {
		before := b.rates
		if !b.hasWaits || slot.Writes.Batch > 0 { // else rates do not change it
			b.waiting()
		}
		b.rates[1] = min(b.rates[1], slot.Clients/b.shortest(), b.cap())
		if slow := b.slowest(); slow > b.rates[0] {
			b.rates[0] = slow
		}
		b.rates[0] = max(b.rates[0], slot.least)
		if b.rates[0] > b.rates[1]*(1+1e-9) {
			return false
		}
		b.rates[0] = min(b.rates[0], b.rates[1])
		if b.short && slot.starve > slot.calm {
			smallest, largest := b.memories()
			least, greatest := slot.Reads.At(max(largest, 1)), slot.Reads.At(max(smallest, 1))
			if least > b.reads[1]*(1+1e-9)+1e-12 || greatest < b.reads[0]*(1-1e-9)-1e-12 {
				return false
			}
			b.reads[0] = min(max(b.reads[0], least), b.reads[1])
			b.reads[1] = max(min(b.reads[1], greatest), b.reads[0])
		}
		if b.rates[1]-before[1] > -1e-6*b.rates[1] && b.rates[0]-before[0] < 1e-6*b.rates[0] {
			break
		}
	}
	if slot.Writes.Batch > 0 {
		b.waiting()
	}
	return true
}

// memories returns the least and the greatest bytes that an instance has at the rates of the box.
func (b *box) memories() (least, greatest float64) {
	slot := b.slot
	if slot.Touched == 0 {
		return slot.Fixed, slot.wants
	}
	least, greatest = slot.Fixed, slot.wants
	fewest, _ := slot.Reads.Memory(b.reads[1])
	_, highest := slot.Reads.Memory(b.reads[0])
	least, greatest = max(least, fewest), min(greatest, highest)
	if b.rates[0] > 0 && b.least > 0 {
		least = max(least, slot.Memory(b.rates[0], b.least))
	}
	if !math.IsInf(b.greatest, 1) && !math.IsInf(b.rates[1], 1) {
		greatest = min(greatest, slot.Memory(b.rates[1], b.greatest))
	}
	return least, greatest
}

// shortest returns the least seconds that a cycle takes in the box.
func (b *box) shortest() float64 {
	lines := b.slot.Alone
	cycleAt := func(r float64) float64 { return b.slot.cycle(r) + b.low.At(r) }
	least := min(cycleAt(b.reads[0]), cycleAt(b.reads[1]))
	for i, line := range lines {
		for _, other := range lines[:i] {
			if r := float64((line.Base - other.Base) / (other.More - line.More)); r > b.reads[0] && r < b.reads[1] {
				least = min(least, cycleAt(r))
			}
		}
	}
	return least
}

// cycle returns how many seconds a cycle takes at the high end of the cell.
func (b *box) cycle(reads float64) float64 { return b.slot.cycle(reads) + b.high.At(reads) }

// cap returns the rate that the slot's own limits allow.
func (b *box) cap() float64 {
	limit := math.Inf(1)
	for i, use := range b.slot.Uses {
		if b.slot.waits[i] < 0 {
			if busy := use.Fixed + use.PerRead*b.reads[0] + use.PerWrite*b.writes[0]; busy > 0 {
				limit = min(limit, 1/busy)
			}
		}
	}
	return limit
}

// slowest returns the least rate in the box: if the slot has stations of its own, the rate of an instance alone.
func (b *box) slowest() float64 {
	slot := b.slot
	rest := max(b.cycle(b.reads[0]), b.cycle(b.reads[1]))
	if math.IsInf(rest, 1) || math.IsNaN(rest) {
		return 0
	}
	low, high := 0.0, min(slot.Clients/rest, b.cap())
	if !slices.Contains(slot.waits, -1) {
		return high
	}
	late := func(rate float64) bool {
		seconds := rest
		for i, use := range slot.Uses {
			if slot.waits[i] >= 0 {
				continue
			}
			busy := use.Fixed + use.PerRead*b.reads[1]
			if use.PerWrite > 0 {
				busy += use.PerWrite * b.writes[1]
			}
			used := rate * busy
			if used >= 1 || math.IsNaN(used) {
				return true
			}
			seconds += busy * math.Pow(used, use.Sharp) / (1 - used)
		}
		return rate*seconds > slot.Clients
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

// add adds the columns of the box, which has a piece of a slot's reads.
func (b *box) add(number, piece int, scale, price float64) {
	slot := b.slot
	least, greatest := slot.wants, slot.wants
	if b.short {
		least, greatest = b.memories()
	}
	// The lower bound of the cycle is one of the lines: the one that is highest in the middle.
	low, middle := slot.Alone[0], (b.reads[0]+b.reads[1])/2
	for _, l := range slot.Alone[1:] {
		if l.At(middle) > low.At(middle) {
			low = l
		}
	}
	hasOwn := slices.Contains(slot.waits, -1)
	limit := math.Inf(1)
	if hasOwn {
		limit = b.cap()
	}
	var fast, slow [2]float64
	for i, reads := range b.reads {
		fast[i] = slot.Clients / (low.At(reads) + b.low.At(reads))
		slow[i] = slot.Clients / b.cycle(reads)
		if hasOwn {
			slow[i] = b.rates[0]
		}
	}
	if fast[0] > limit && fast[1] > limit { // else its line is no side of the hull
		fast = [2]float64{limit, limit}
	}
	if slow[0] < slot.least && slow[1] < slot.least {
		slow = [2]float64{slot.least, slot.least}
	}
	writes := b.writes[:1]
	if b.writes[1] > b.writes[0]*(1+1e-12) {
		writes = b.writes[:]
	}
	rays := b.reads[:1]
	if b.reads[1]-b.reads[0] > 1e-9 {
		rays = b.reads[:]
	}
	for i, reads := range rays {
		for j, rate := range [2]float64{fast[i], slow[i]} {
			for k, written := range writes {
				id := number*cornersMost + 8*piece + 4*i + 2*j + k
				b.cells.columns = append(b.cells.columns, corner{number, rate, reads, written, least, greatest,
					scale*slot.weight*rate - price, id})
			}
		}
	}
}
