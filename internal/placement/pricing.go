package placement

import (
	"container/heap"
	"math"
	"slices"
)

// candidate is what a linear program of a cell has of each slot, in parts of containers.
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

// division is all environments of a kind of hosts, divided into cells as far as it was asked to. It bounds what a
// filling is worth: scale times its operations a second, less the price of each of its containers.
type division struct {
	of     *kindCells
	prices []float64 // by demand
	scale  float64
	enough float64 // cells that are bounded by this are not divided

	open   open
	looked int         // cells
	stuck  float64     // bound of cells that cannot be divided
	seen   []candidate // what programs on the way had
}

// divided begins to divide all environments.
func (c *kindCells) divided(prices []float64, scale, enough float64) *division {
	d := &division{of: c, prices: prices, scale: scale, enough: enough, stuck: enough}
	root := func(short bool, from, to float64) {
		of := &cell{short: short, from: from, to: to, low: make([]float64, c.stations), high: make([]float64, c.stations)}
		for j := range c.stations {
			of.low[j], of.high[j] = noneUsed, c.top
		}
		d.look(of, math.Inf(1))
	}
	root(false, 0, 0)
	if c.memory > 0 {
		for i := range len(roots) - 1 {
			root(true, roots[i], roots[i+1])
		}
	}
	return d
}

// look bounds a cell of one that was bounded.
func (d *division) look(of *cell, parent float64) {
	if !d.of.tighten(of) {
		return
	}
	d.looked++
	of.number = d.looked
	parts := d.of.program(of, d.prices, d.scale, d.enough)
	of.bound = min(of.bound, parent)
	if of.bound > d.enough {
		heap.Push(&d.open, of)
		d.seen = append(d.seen, candidate{of.bound, parts})
	}
}

// until divides cells, the one with the greatest bound first, until it looked at so many, or none is left.
func (d *division) until(cells int) {
	for len(d.open) > 0 && d.looked < cells {
		of := heap.Pop(&d.open).(*cell) //nolint:forcetypeassert // it has no other
		if of.branch == nowhere {       // as far as numbers go
			d.stuck = max(d.stuck, of.bound)
			continue
		}
		one, two := of.halves()
		d.look(one, of.bound)
		d.look(two, of.bound)
	}
}

// bound returns what no filling is worth more than.
func (d *division) bound() float64 {
	if len(d.open) == 0 {
		return d.stuck
	}
	return max(d.stuck, d.open[0].bound)
}

// Where a cell is divided, beside its stations.
const (
	byTime  = -1
	nowhere = -2
)

// halves divides a cell.
func (of *cell) halves() (one, two *cell) {
	a, b := *of, *of
	a.low, a.high, b.low, b.high = slices.Clone(of.low), slices.Clone(of.high), slices.Clone(of.low), slices.Clone(of.high)
	a.capped, b.capped = slices.Clip(of.capped), slices.Clip(of.capped)
	if j := of.branch; j >= 0 {
		middle := (of.low[j] + of.high[j]) / 2
		if of.low[j] <= -30 {
			middle = min(-1, of.high[j]-2)
		}
		a.high[j], b.low[j] = middle, middle
		return &a, &b
	}
	middle := (of.from + of.to) / 2
	switch {
	case math.IsInf(of.from, -1):
		middle = of.to - 6
	case math.IsInf(of.to, 1):
		middle = of.from + 6
	}
	a.to, b.from = middle, middle
	return &a, &b
}

// program bounds a cell by its linear program, and says where to divide it. It returns what the program has of each
// slot.
func (c *kindCells) program(of *cell, prices []float64, scale, enough float64) (parts []float64) {
	c.corners(of, prices, scale)
	of.branch = nowhere
	for range 1 + c.demands {
		of.bound = c.solve(of, enough)
		if of.bound <= enough {
			return nil
		}
		parts = make([]float64, len(c.slots))
		sums := make([]float64, c.demands)
		for q, x := range c.lp.x[:len(c.columns)] {
			s := c.columns[q].slot
			parts[s] += x
			sums[c.slots[s].demand] += x
		}
		more := false
		for d, sum := range sums {
			if sum > c.mostOf[d]*(1+1e-6) && !slices.Contains(of.capped, d) {
				of.capped, more = append(of.capped, d), true
			}
		}
		if !more {
			break
		}
	}
	of.branch = c.divide(of, scale)
	return parts
}

// solve solves the linear program of a cell's columns.
func (c *kindCells) solve(of *cell, enough float64) float64 {
	memory := 0 // rows of it
	if c.memory > 0 {
		memory = 1
		if of.short {
			memory = 4
		}
	}
	n, l := c.stations, &c.lp
	rows := n + memory + len(of.capped)
	l.reset(rows, len(c.columns))
	clear(l.a)
	for j := range n {
		l.lo[j], l.hi[j] = share(of.low[j]), share(of.high[j])
	}
	for i := n; i < rows; i++ {
		l.lo[i], l.hi[i] = 0, 1
	}
	for i, d := range of.capped {
		l.hi[n+memory+i] = c.mostOf[d]
	}
	if of.short {
		l.lo[n+1], l.hi[n+1], l.lo[n+2], l.hi[n+2] = 1, 1, 1, 1
	}
	for q := range c.columns {
		v := &c.columns[q]
		o := &c.slots[v.slot]
		a := l.a[q*rows : (q+1)*rows]
		l.c[q] = v.value
		l.most[q] = min(float64(mostOfOne), c.mostOf[o.demand])
		for _, u := range o.Uses {
			if u.Station >= 0 {
				a[u.Station] += v.rate * (1 + u.Others) * v.busy(u)
			}
		}
		switch {
		case of.short:
			a[n], a[n+1], a[n+2], a[n+3] = v.least/c.memory, v.most/c.memory, o.wants/c.memory, o.Fixed/c.memory
			l.hi[n+1] += l.most[q] * a[n+1] // no more is there of them
			l.hi[n+2] += l.most[q] * a[n+2]
		case memory > 0:
			a[n] = o.wants / c.memory
		}
		for i, d := range of.capped {
			if d == o.demand {
				a[n+memory+i] = 1
			}
		}
	}
	return l.solve(enough)
}

// busy is for how many seconds an operation of a column keeps a station busy.
func (v *corner) busy(u use) float64 { return u.Fixed + u.PerRead*v.reads + u.PerWrite*v.writes }

// divide returns where to divide a cell: where the two ends make most of a difference to the program's value.
func (c *kindCells) divide(of *cell, scale float64) int {
	n, l := c.stations, &c.lp
	scores := make([]float64, n)
	for j := range n {
		scores[j] = math.Abs(l.worth[j]) * (l.hi[j] - l.lo[j])
	}
	inTime, far := 0.0, 0.0
	memory := 0.0
	if of.short {
		far = min(3, of.to-of.from)
		memory = (math.Abs(l.worth[n]) + math.Abs(l.worth[n+1])) / c.memory
	}
	longer := make([]float64, n)
	for q, x := range l.x[:len(c.columns)] {
		if x <= 1e-9 {
			continue
		}
		v := &c.columns[q]
		o := &c.slots[v.slot]
		cycle := o.Clients / v.rate
		clear(longer)
		net, all, perRead := scale*o.weight, 0.0, float64(o.Alone[0].More)
		for i, u := range o.Uses {
			if u.Station < 0 {
				continue
			}
			w := &c.ends[o.waits[i]]
			busy := v.busy(u)
			net -= l.worth[u.Station] * busy * (1 + u.Others)
			longer[u.Station] += busy * (w.high - w.low)
			all += busy * (w.high - w.low)
			perRead += u.PerRead * (w.high + w.low) / 2
		}
		net = math.Abs(net) * x * (c.fast[v.slot] - c.slow[v.slot])
		waiting, moved := 0.0, 0.0 // by time: a cycle, and what memory is worth
		if of.short && o.Cache > 0 {
			middle := (v.least + v.most) / 2
			left := max(1e-9, min(1, 1-(middle-o.Fixed)/o.Cache))
			bytes := -math.Log(left) * left // of the cache, by a time e times as long
			if o.starve > o.calm {
				step := o.wants / 1000
				reads := (o.Reads.At(max(1, middle-step)) - o.Reads.At(middle+step)) / (2 * step) * o.Cache * bytes
				waiting = min(cycle, max(0, perRead*reads)) * far
			}
			moved = memory * x * o.Cache / math.E * min(1, max(bytes*math.E, (v.most-v.least)/o.Cache))
		}
		all += waiting + 1e-300
		for j, w := range longer {
			if w > 0 {
				scores[j] += net*w/all + moved*min(3, math.Log1p(w/cycle))
			}
		}
		inTime += net*waiting/all + moved*far
	}
	at := nowhere
	most := 0.0
	for j, v := range scores {
		if v > most && of.high[j]-of.low[j] > 1e-6 {
			at, most = j, v
		}
	}
	if inTime > most && of.to-of.from > 1e-3 {
		at = byTime
	}
	return at
}
