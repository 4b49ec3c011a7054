package placement

import (
	"math"

	"plimsoll/internal/stats"
)

// gradient returns what one more container of each slot, or one fewer, would add to what all on a host do, by slots of
// fillings: 0 where it may not stand. It is that of real numbers of containers, from the environment of a prediction.
// There slots depend on nothing but what is used of stations and, where memory is short, on the time for which caches
// keep what they read, so that a single linear system, the adjoint one, has the influence of all on all.
func (c *kindCells) gradient(f filling, known *filled) []float64 {
	n := c.stations
	g, _ := c.environment(f, known)
	states := g.states
	size := n
	if !math.IsNaN(g.time) {
		size++
	}
	// Rows are unknowns and columns what has to be 0, the other way round than in Newton's method; the last column is
	// what the unknowns do to the rate.
	w := size + 1
	m := make([]float64, size*w)
	for j := range n {
		m[j*w+j] = -1
	}
	for s := range c.slots {
		i := &states[s]
		o := &c.slots[s]
		g.settle(o, i)
		if i.count == 0 {
			continue
		}
		for k := range size {
			m[k*w+size] += o.weight * i.count * i.rates[k]
			for _, u := range o.Uses {
				if u.Station < 0 {
					continue
				}
				v := corner{rate: i.rate, reads: i.reads, writes: i.writes}
				more := (v.busy(u) + i.rate*(u.PerRead*i.readsByRate+u.PerWrite*i.writesByRate)) * i.rates[k]
				if k == n {
					more += i.rate * u.PerRead * i.readsByTime
				}
				m[k*w+u.Station] += i.count * (1 + u.Others) * more
			}
			if size > n {
				more := i.memoryByRate * i.rates[k]
				if k == n {
					more += i.memoryByTime
				}
				m[k*w+n] += i.count * more / c.memory
			}
		}
	}
	stats.Eliminate(m, size)
	prices, ok := make([]float64, size), true
	for k := range prices {
		prices[k] = m[k*w+size]
		ok = ok && !math.IsNaN(prices[k]) && !math.IsInf(prices[k], 0)
	}
	all := make([]float64, len(f))
	for s := range c.slots {
		o, i := &c.slots[s], &states[s]
		worth := o.weight * i.rate
		if ok {
			v := corner{rate: i.rate, reads: i.reads, writes: i.writes}
			for _, u := range o.Uses {
				if u.Station >= 0 {
					worth -= prices[u.Station] * i.rate * (1 + u.Others) * v.busy(u)
				}
			}
			if size > n {
				worth -= prices[n] * i.memory / c.memory
			}
		}
		all[o.at] = worth
	}
	return all
}

// environment is what a filling makes of a host for all that stands there.
type environment struct {
	used   []float64 // of stations
	time   float64   // s for which caches keep what they read; NaN where memory is not short, or nobody can say
	states []instance

	waits, steep []float64 // of each wait of the cells, and how they grow with what is used
}

// environment returns that of a filling, and whether its memory is short.
func (c *kindCells) environment(f filling, known *filled) (g *environment, short bool) {
	tenants := make([]int, len(f)) // by slot, from 1
	for i, at := range known.at {
		tenants[at] = i + 1
	}
	g = &environment{used: make([]float64, c.stations), time: math.NaN(), states: make([]instance, len(c.slots))}
	wanted, surest := 0.0, 1e-9
	for s := range c.slots {
		o := &c.slots[s]
		wanted += float64(f[o.at]) * o.wants
		if tenants[o.at] == 0 {
			continue
		}
		t, count := known.solved.Tenants[tenants[o.at]-1], float64(f[o.at])
		i := &g.states[s]
		i.count, i.rate, i.memory = count, t.Rate/count, t.Memory
		if left := 1 - (t.Memory-o.Fixed)/o.Cache; o.Touched > 0 && o.Cache > 0 && min(left, 1-left) > surest {
			surest = min(left, 1-left)
			g.time = -math.Log(left) * o.Cache / o.Touched / i.rate
		}
		v := corner{rate: i.rate, reads: o.Reads.At(i.memory), writes: o.Writes.At(i.rate)}
		for _, u := range o.Uses {
			if u.Station >= 0 {
				g.used[u.Station] += i.count * v.rate * (1 + u.Others) * v.busy(u)
			}
		}
	}
	g.waits, g.steep = make([]float64, len(c.waits)), make([]float64, len(c.waits))
	for i, w := range c.waits {
		if u := g.used[w.station]; u > 0 {
			g.waits[i] = waits(logit(u), w.sharp)
			g.steep[i] = g.waits[i] * (w.sharp/u + 1/(1-u))
		}
	}
	short = c.memory > 0 && wanted > c.memory
	if !short {
		g.time = math.NaN()
	}
	return g, short
}

// instance is what one of a slot does in an environment, and how that changes with it.
type instance struct {
	count                       float64
	rate, memory, reads, writes float64

	rates                      []float64 // by what is used of each station, and by the logarithm of time
	readsByRate, readsByTime   float64
	memoryByRate, memoryByTime float64
	writesByRate               float64
}

// settle finds what an instance of a slot does. Of those that stand on the host that is known, and what is to be found
// is how it changes.
func (g *environment) settle(o *slotCell, i *instance) {
	if i.count == 0 {
		i.rate = o.Clients / o.cycle(o.calm)
		for range 30 {
			late, slope := g.cycle(o, i)
			step := max(-1, min(1, (o.Clients/i.rate-late)/max(late+i.rate*slope.byRate, late/20)))
			i.rate *= math.Exp(step)
			if math.Abs(step) < 1e-6 {
				return
			}
		}
		return
	}
	late, slope := g.cycle(o, i)
	all := max(late+i.rate*slope.byRate, late/20)
	i.rates = make([]float64, len(g.used)+1)
	v := corner{reads: i.reads, writes: i.writes}
	for j, u := range o.Uses {
		if u.Station >= 0 {
			i.rates[u.Station] -= i.rate * v.busy(u) * g.steep[o.waits[j]] / all
		}
	}
	i.rates[len(g.used)] = -i.rate * slope.byTime / all
}

// slope is how a cycle of a client changes.
type slope struct{ byRate, byTime float64 }

// cycle returns how long a cycle takes at an instance's rate, which of one that stands follows from the rate.
func (g *environment) cycle(o *slotCell, i *instance) (seconds float64, by slope) {
	if i.count == 0 {
		i.memory = o.wants
		if !math.IsNaN(g.time) {
			i.memory = o.Memory(i.rate, g.time)
		}
	}
	i.memoryByRate, i.memoryByTime, i.readsByRate, i.readsByTime, i.writesByRate = 0, 0, 0, 0, 0
	if !math.IsNaN(g.time) && o.Cache > 0 {
		kept := o.Touched * math.Exp(-o.Touched*i.rate*g.time/o.Cache) * g.time
		i.memoryByRate, i.memoryByTime = kept, kept*i.rate
		const step = 1e-5
		steep := (o.Reads.At(i.memory*(1+step)) - o.Reads.At(i.memory*(1-step))) / (2 * step * i.memory)
		i.readsByRate, i.readsByTime = steep*i.memoryByRate, steep*i.memoryByTime
	}
	i.reads = o.Reads.At(i.memory)
	i.writes = o.Writes.At(i.rate)
	if o.Writes.Batch > 0 {
		i.writesByRate = i.writes * float64(o.Writes.Batch) / i.rate
	}
	const step = 1e-4
	perRead := (o.cycle(i.reads+step) - o.cycle(i.reads)) / step
	v := corner{reads: i.reads, writes: i.writes}
	for j, u := range o.Uses {
		if u.Station >= 0 {
			w := g.waits[o.waits[j]]
			seconds += v.busy(u) * w
			perRead += u.PerRead * w
			by.byRate += u.PerWrite * i.writesByRate * w
			continue
		}
		used := min(i.rate*v.busy(u), 1-1e-9)
		if used > 0 {
			w := math.Pow(used, u.Sharp) / (1 - used) / max(1, i.count)
			seconds += v.busy(u) * w
			perRead += u.PerRead * w
			by.byRate += v.busy(u)*w*(u.Sharp/used+1/(1-used))*v.busy(u) + u.PerWrite*i.writesByRate*w
		}
	}
	by.byRate += perRead * i.readsByRate
	by.byTime = perRead * i.readsByTime
	return seconds + o.cycle(i.reads), by
}

// cycle returns how long a client's cycle takes that waits for nobody.
func (o *slotCell) cycle(reads float64) float64 {
	highest := math.Inf(-1)
	for _, l := range o.Alone {
		highest = max(highest, l.At(reads))
	}
	return highest
}

// widths are how far from a filling's environment, as logarithms, programs look for better fillings.
var widths = [...]float64{2, 1, 0.5, 0.2}

// around returns what programs have of cells around the environment of a filling.
func (c *kindCells) around(f filling, known *filled, prices []float64, scale float64) (all []candidate) {
	g, short := c.environment(f, known)
	if short && math.IsNaN(g.time) {
		return nil
	}
	for _, wide := range widths {
		of := &cell{short: short}
		for _, u := range g.used {
			z := logit(u)
			of.low, of.high = append(of.low, max(noneUsed, z-wide)), append(of.high, max(-6, z)+wide)
		}
		if short {
			of.from, of.to = math.Log(g.time)-wide, math.Log(g.time)+wide
		}
		if !c.tighten(of) {
			continue
		}
		if parts := c.program(of, prices, scale, math.Inf(-1)); !math.IsInf(of.bound, -1) {
			all = append(all, candidate{of.bound, parts})
		}
	}
	return all
}
