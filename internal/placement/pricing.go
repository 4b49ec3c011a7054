package placement

import (
	"cmp"
	"container/heap"
	"math"
	"slices"
)

// candidate is the solution of a cell's linear program: of each slot, parts of containers.
type candidate struct {
	value float64
	parts []float64 // by slot of the cells
}

// open are cells to divide, the one with the greatest bound first.
type open []*cell

// Len implements heap.Interface.
func (o open) Len() int { return len(o) }

// Less implements heap.Interface.
func (o open) Less(a, b int) bool {
	return o[a].bound > o[b].bound || o[a].bound == o[b].bound && o[a].number < o[b].number
}

// Swap implements heap.Interface.
func (o open) Swap(a, b int) { o[a], o[b] = o[b], o[a] }

// Push implements heap.Interface.
func (o *open) Push(x any) { *o = append(*o, x.(*cell)) } //nolint:forcetypeassert // heap.Push has no other

// Pop implements heap.Interface.
func (o *open) Pop() any {
	last := len(*o) - 1
	c := (*o)[last]
	*o = (*o)[:last]
	return c
}

// roots are the times at which short cells are divided from the beginning, as logarithms.
var roots = [...]float64{math.Inf(-1), -9, -3, 0, 3, 6, 9, 16, math.Inf(1)}

// division is all environments of a kind of hosts, divided into cells. It bounds what a filling is worth: scale times
// its operations a second, less the price of each of its containers.
type division struct {
	cells  *kindCells
	prices []float64 // by demand
	scale  float64
	enough float64     // cells that are bounded by this are not divided
	stop   func() bool // reports whether no more cells are to be looked at

	open   open
	closed []*cell     // bounded by what is enough, or as small as numbers go
	looked int         // cells
	stuck  float64     // bound of cells that cannot be divided
	seen   []candidate // what programs on the way had
}

// divided begins to divide all environments.
func (c *kindCells) divided(prices []float64, scale, enough float64, stop func() bool) *division {
	out := &division{cells: c, stop: stop}
	out.reprice(prices, scale, enough)
	return out
}

// reprice computes the bounds of all cells at new prices. The first call makes the first cells, which together have all
// environments.
func (d *division) reprice(prices []float64, scale, enough float64) {
	d.prices, d.scale, d.enough, d.stuck, d.seen = prices, scale, enough, enough, nil
	if d.looked > 0 {
		cells := slices.Concat(d.open, d.closed)
		d.open, d.closed = d.open[:0], d.closed[:0]
		for _, cell := range cells {
			if d.stop() {
				d.stuck = math.Inf(1) // of the rest nothing is known
				return
			}
			d.bounded(cell, math.Inf(1))
		}
		return
	}
	c := d.cells
	root := func(short bool, from, to float64) {
		whole := &cell{short: short, from: from, to: to, low: make([]float64, c.stations), high: make([]float64, c.stations)}
		for j := range c.stations {
			whole.low[j], whole.high[j] = noneUsed, c.top
		}
		d.look(whole, math.Inf(1))
	}
	root(false, 0, 0)
	if c.memory > 0 {
		for i := range len(roots) - 1 {
			root(true, roots[i], roots[i+1])
		}
	}
}

// look bounds a cell that is part of one with the bound parent.
func (d *division) look(cell *cell, parent float64) {
	if !d.cells.tighten(cell) {
		return
	}
	d.bounded(cell, parent)
}

// bounded bounds a cell, and opens it if its bound is above enough.
func (d *division) bounded(cell *cell, parent float64) {
	d.looked++
	cell.number = d.looked
	parts := d.cells.program(cell, d.prices, d.scale, d.enough)
	cell.bound = min(cell.bound, parent)
	cell.parts = parts
	switch {
	case cell.bound > d.enough:
		heap.Push(&d.open, cell)
		d.seen = append(d.seen, candidate{cell.bound, parts})
	case !math.IsInf(cell.bound, -1):
		d.closed = append(d.closed, cell)
	}
}

// columns returns what the programs of the open cells with the greatest bounds hold, as columns.
func (d *division) columns(kind int, fixed float64) (out []column) {
	cells := slices.SortedFunc(slices.Values(d.open), func(a, b *cell) int {
		return cmp.Or(cmp.Compare(b.bound, a.bound), cmp.Compare(a.number, b.number))
	})
	for _, cell := range cells[:min(proofParts, len(cells))] {
		part := column{kind: kind, value: cell.bound - fixed, parts: make([]float64, d.cells.demands)}
		for i, count := range cell.parts {
			demand := d.cells.slots[i].demand
			part.parts[demand] += count
			part.value += d.prices[demand] * count
		}
		out = append(out, part)
	}
	return out
}

// until divides cells, the one with the greatest bound first, until it has looked at cells of them, or none is left.
func (d *division) until(cells int) {
	for len(d.open) > 0 && d.looked < cells && !d.stop() {
		next := heap.Pop(&d.open).(*cell) //nolint:forcetypeassert // it has no other
		if next.branch == nowhere {       // as far as numbers go
			d.stuck = max(d.stuck, next.bound)
			d.closed = append(d.closed, next)
			continue
		}
		lower, upper := next.halves()
		d.look(lower, next.bound)
		d.look(upper, next.bound)
	}
}

// bound returns an upper bound of what fillings are worth.
func (d *division) bound() float64 {
	if len(d.open) == 0 {
		return d.stuck
	}
	return max(d.stuck, d.open[0].bound)
}

// Branches of a cell that are no stations.
const (
	byTime  = -1
	nowhere = -2
)

// halves divides a cell at its branch, into the part below the middle and the part above.
func (c *cell) halves() (lower, upper *cell) {
	first, second := *c, *c
	first.low, first.high = slices.Clone(c.low), slices.Clone(c.high)
	second.low, second.high = slices.Clone(c.low), slices.Clone(c.high)
	first.capped, second.capped = slices.Clip(c.capped), slices.Clip(c.capped)
	if j := c.branch; j >= 0 {
		middle := (c.low[j] + c.high[j]) / 2
		if c.low[j] <= -30 {
			middle = min(-1, c.high[j]-2)
		}
		first.high[j], second.low[j] = middle, middle
		return &first, &second
	}
	middle := (c.from + c.to) / 2
	switch {
	case math.IsInf(c.from, -1):
		middle = c.to - 6
	case math.IsInf(c.to, 1):
		middle = c.from + 6
	}
	first.to, second.from = middle, middle
	return &first, &second
}

// program bounds a cell by its linear program, and sets its branch. It returns the parts of containers that the program
// has of each slot; nil if the bound is not above enough.
func (c *kindCells) program(cell *cell, prices []float64, scale, enough float64) (parts []float64) {
	c.corners(cell, prices, scale)
	cell.branch = nowhere
	for range 1 + c.demands {
		cell.bound = c.solve(cell, enough)
		if cell.bound <= enough {
			return nil
		}
		parts = make([]float64, len(c.slots))
		sums := make([]float64, c.demands)
		for q, x := range c.lp.x[:len(c.columns)] {
			s := c.columns[q].slot
			parts[s] += x
			sums[c.slots[s].demand] += x
		}
		capped := false
		for d, sum := range sums {
			if sum > c.mostOf[d]*(1+1e-6) && !slices.Contains(cell.capped, d) {
				cell.capped, capped = append(cell.capped, d), true
			}
		}
		if !capped {
			break
		}
	}
	cell.branch = c.divide(cell, scale)
	return parts
}

// solve solves the linear program of a cell's columns.
func (c *kindCells) solve(cell *cell, enough float64) float64 {
	memory := 0 // rows of it
	if c.memory > 0 {
		memory = 1
		if cell.short {
			memory = 4
		}
	}
	n, lp := c.stations, &c.lp
	rows := n + memory + len(cell.capped)
	lp.reset(rows, len(c.columns))
	clear(lp.a)
	for j := range n {
		lp.lo[j], lp.hi[j] = share(cell.low[j]), share(cell.high[j])
	}
	for i := n; i < rows; i++ {
		lp.lo[i], lp.hi[i] = 0, 1
	}
	for i, d := range cell.capped {
		lp.hi[n+memory+i] = c.mostOf[d]
	}
	if cell.short {
		lp.lo[n+1], lp.hi[n+1], lp.lo[n+2], lp.hi[n+2] = 1, 1, 1, 1
	}
	for q := range c.columns {
		corner := &c.columns[q]
		slot := &c.slots[corner.slot]
		entries := lp.a[q*rows : (q+1)*rows]
		lp.c[q] = corner.value
		lp.upper[q] = min(float64(mostOfOne), c.mostOf[slot.demand])
		for _, u := range slot.Uses {
			if u.Station >= 0 {
				entries[u.Station] += corner.rate * (1 + u.Others) * corner.busy(u)
			}
		}
		switch {
		case cell.short:
			entries[n], entries[n+1] = corner.least/c.memory, corner.greatest/c.memory
			entries[n+2], entries[n+3] = slot.wants/c.memory, slot.Fixed/c.memory
			lp.hi[n+1] += lp.upper[q] * entries[n+1] // no more is there of them
			lp.hi[n+2] += lp.upper[q] * entries[n+2]
		case memory > 0:
			entries[n] = slot.wants / c.memory
		}
		for i, d := range cell.capped {
			if d == slot.demand {
				entries[n+memory+i] = 1
			}
		}
	}
	lp.begin(c.basisOf(cell))
	bound := lp.solve(enough)
	c.keepBasis(cell)
	return bound
}

// basisOf returns the basis that a cell inherited: columns, and rows that are at a bound.
func (c *kindCells) basisOf(cell *cell) (columns, rows []int) {
	if cell.tight == nil {
		return nil, nil
	}
	c.numbers = resized(c.numbers, len(c.slots)*cornersMost)
	for i := range c.numbers {
		c.numbers[i] = -1
	}
	for q := range c.columns {
		c.numbers[c.columns[q].id] = q
	}
	for _, id := range cell.basic {
		if q := c.numbers[id]; q >= 0 {
			columns = append(columns, q)
		}
	}
	for _, i := range cell.tight {
		if i < c.lp.rows { // one that keeps a number of containers may be gone
			rows = append(rows, i)
		}
	}
	return columns, rows
}

// keepBasis keeps the last basis of a cell for its parts.
func (c *kindCells) keepBasis(cell *cell) {
	lp := &c.lp
	cell.basic, cell.tight = nil, []int{}
	for _, j := range lp.basis {
		if j < lp.columns {
			cell.basic = append(cell.basic, c.columns[j].id)
		}
	}
	for i := range lp.rows {
		if lp.position[lp.columns+i] < 0 {
			cell.tight = append(cell.tight, i)
		}
	}
}

// busy returns for how many seconds an operation of a column keeps a station busy.
func (v *corner) busy(u use) float64 { return u.Fixed + u.PerRead*v.reads + u.PerWrite*v.writes }

// divide returns the branch of a cell: the station, or the time, whose two ends differ most in the program's value.
func (c *kindCells) divide(cell *cell, scale float64) int {
	n, lp := c.stations, &c.lp
	scores := make([]float64, n)
	for j := range n {
		scores[j] = math.Abs(lp.worth[j]) * (lp.hi[j] - lp.lo[j])
	}
	inTime, far := 0.0, 0.0
	memory := 0.0
	if cell.short {
		far = min(3, cell.to-cell.from)
		memory = (math.Abs(lp.worth[n]) + math.Abs(lp.worth[n+1])) / c.memory
	}
	longer := make([]float64, n)
	for q, x := range lp.x[:len(c.columns)] {
		if x <= 1e-9 {
			continue
		}
		corner := &c.columns[q]
		slot := &c.slots[corner.slot]
		cycle := slot.Clients / corner.rate
		clear(longer)
		net, total, perRead := scale*slot.weight, 0.0, float64(slot.Alone[0].More)
		for i, use := range slot.Uses {
			if use.Station < 0 {
				continue
			}
			wait := &c.ends[slot.waits[i]]
			busy := corner.busy(use)
			net -= lp.worth[use.Station] * busy * (1 + use.Others)
			longer[use.Station] += busy * (wait.high - wait.low)
			total += busy * (wait.high - wait.low)
			perRead += use.PerRead * (wait.high + wait.low) / 2
		}
		net = math.Abs(net) * x * (c.fast[corner.slot] - c.slow[corner.slot])
		waiting, moved := 0.0, 0.0 // by time: a cycle, and what memory is worth
		if cell.short && slot.Cache > 0 {
			middle := (corner.least + corner.greatest) / 2
			left := max(1e-9, min(1, 1-(middle-slot.Fixed)/slot.Cache))
			bytes := -math.Log(left) * left // of the cache, by a time e times as long
			if slot.starve > slot.calm {
				step := slot.wants / 1000
				reads := (slot.Reads.At(max(1, middle-step)) - slot.Reads.At(middle+step)) / (2 * step) * slot.Cache * bytes
				waiting = min(cycle, max(0, perRead*reads)) * far
			}
			moved = memory * x * slot.Cache / math.E * min(1, max(bytes*math.E, (corner.greatest-corner.least)/slot.Cache))
		}
		total += waiting + 1e-300
		for j, w := range longer {
			if w > 0 {
				scores[j] += net*w/total + moved*min(3, math.Log1p(w/cycle))
			}
		}
		inTime += net*waiting/total + moved*far
	}
	station := nowhere
	greatest := 0.0
	for j, v := range scores {
		if v > greatest && cell.high[j]-cell.low[j] > 1e-6 {
			station, greatest = j, v
		}
	}
	if inTime > greatest && cell.to-cell.from > 1e-3 {
		station = byTime
	}
	return station
}
