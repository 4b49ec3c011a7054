package placement

import (
	"math"

	"plimsoll/internal/stats"
)

// gradient returns what one more container of each slot, or one fewer, would add to what all on a host do, by slots of
// fillings: 0 where it may not stand. It is that of real numbers of containers, from the environment of a prediction.
// There slots depend on nothing but what is used of stations and, where memory is short, on the time for which caches
// keep what they read, so that a single linear system, the adjoint one, has the influence of all on all.
func (c *kindCells) gradient(fill filling, known *filled) []float64 {
	n := c.stations
	environment, _ := c.environment(fill, known)
	states := environment.states
	size := n
	if !math.IsNaN(environment.time) {
		size++
	}
	// Rows are unknowns and columns what has to be 0, the other way round than in Newton's method; the last column is
	// what the unknowns do to the rate.
	width := size + 1
	matrix := make([]float64, size*width)
	for j := range n {
		matrix[j*width+j] = -1
	}
	for s := range c.slots {
		instance := &states[s]
		slot := &c.slots[s]
		environment.settle(slot, instance)
		if instance.count == 0 {
			continue
		}
		for k := range size {
			matrix[k*width+size] += slot.weight * instance.count * instance.rates[k]
			for _, use := range slot.Uses {
				if use.Station < 0 {
					continue
				}
				column := corner{rate: instance.rate, reads: instance.reads, writes: instance.writes}
				influence := column.busy(use) + instance.rate*(use.PerRead*instance.readsByRate+use.PerWrite*instance.writesByRate)
				influence *= instance.rates[k]
				if k == n {
					influence += instance.rate * use.PerRead * instance.readsByTime
				}
				matrix[k*width+use.Station] += instance.count * (1 + use.Others) * influence
			}
			if size > n {
				influence := instance.memoryByRate * instance.rates[k]
				if k == n {
					influence += instance.memoryByTime
				}
				matrix[k*width+n] += instance.count * influence / c.memory
			}
		}
	}
	stats.Eliminate(matrix, size)
	prices, ok := make([]float64, size), true
	for k := range prices {
		prices[k] = matrix[k*width+size]
		ok = ok && !math.IsNaN(prices[k]) && !math.IsInf(prices[k], 0)
	}
	slopes := make([]float64, len(fill))
	for s := range c.slots {
		slot, instance := &c.slots[s], &states[s]
		worth := slot.weight * instance.rate
		if ok {
			column := corner{rate: instance.rate, reads: instance.reads, writes: instance.writes}
			for _, use := range slot.Uses {
				if use.Station >= 0 {
					worth -= prices[use.Station] * instance.rate * (1 + use.Others) * column.busy(use)
				}
			}
			if size > n {
				worth -= prices[n] * instance.memory / c.memory
			}
		}
		slopes[slot.index] = worth
	}
	return slopes
}

// environment is the state of a host with a filling, which all its containers have in common.
type environment struct {
	used   []float64 // of stations
	time   float64   // s for which caches keep what they read; NaN if memory is not short, or that is not known
	states []instance

	waits, steep []float64 // of each wait of the cells, and how they grow with what is used
}

// environment returns the environment of a filling, and whether its memory is short.
func (c *kindCells) environment(fill filling, known *filled) (out *environment, short bool) {
	tenants := make([]int, len(fill)) // by slot, from 1
	for i, slot := range known.slots {
		tenants[slot] = i + 1
	}
	out = &environment{used: make([]float64, c.stations), time: math.NaN(), states: make([]instance, len(c.slots))}
	wanted, surest := 0.0, 1e-9
	for s := range c.slots {
		slot := &c.slots[s]
		wanted += float64(fill[slot.index]) * slot.wants
		if tenants[slot.index] == 0 {
			continue
		}
		tenant, count := known.solved.Tenants[tenants[slot.index]-1], float64(fill[slot.index])
		instance := &out.states[s]
		instance.count, instance.rate, instance.memory = count, tenant.Rate/count, tenant.Memory
		left := 1 - (tenant.Memory-slot.Fixed)/slot.Cache
		if slot.Touched > 0 && slot.Cache > 0 && min(left, 1-left) > surest {
			surest = min(left, 1-left)
			out.time = -math.Log(left) * slot.Cache / slot.Touched / instance.rate
		}
		column := corner{rate: instance.rate, reads: slot.Reads.At(instance.memory), writes: slot.Writes.At(instance.rate)}
		for _, u := range slot.Uses {
			if u.Station >= 0 {
				out.used[u.Station] += instance.count * column.rate * (1 + u.Others) * column.busy(u)
			}
		}
	}
	out.waits, out.steep = make([]float64, len(c.waits)), make([]float64, len(c.waits))
	for i, w := range c.waits {
		if u := out.used[w.station]; u > 0 {
			out.waits[i] = waits(logit(u), w.sharp)
			out.steep[i] = out.waits[i] * (w.sharp/u + 1/(1-u))
		}
	}
	short = c.memory > 0 && wanted > c.memory
	if !short {
		out.time = math.NaN()
	}
	return out, short
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

// settle computes the rate of an instance of a slot that is not on the host. The rates of those on the host are known;
// of them settle computes how the rates change.
func (g *environment) settle(slot *slotCell, instance *instance) {
	if instance.count == 0 {
		instance.rate = slot.Clients / slot.cycle(slot.calm)
		for range 30 {
			late, slope := g.cycle(slot, instance)
			step := max(-1, min(1, (slot.Clients/instance.rate-late)/max(late+instance.rate*slope.byRate, late/20)))
			instance.rate *= math.Exp(step)
			if math.Abs(step) < 1e-6 {
				return
			}
		}
		return
	}
	late, slope := g.cycle(slot, instance)
	total := max(late+instance.rate*slope.byRate, late/20)
	instance.rates = make([]float64, len(g.used)+1)
	column := corner{reads: instance.reads, writes: instance.writes}
	for j, use := range slot.Uses {
		if use.Station >= 0 {
			instance.rates[use.Station] -= instance.rate * column.busy(use) * g.steep[slot.waits[j]] / total
		}
	}
	instance.rates[len(g.used)] = -instance.rate * slope.byTime / total
}

// slope is how a cycle of a client changes.
type slope struct{ byRate, byTime float64 }

// cycle returns how many seconds a cycle takes at an instance's rate, and how that grows.
func (g *environment) cycle(slot *slotCell, instance *instance) (seconds float64, growth slope) {
	if instance.count == 0 {
		instance.memory = slot.wants
		if !math.IsNaN(g.time) {
			instance.memory = slot.Memory(instance.rate, g.time)
		}
	}
	instance.memoryByRate, instance.memoryByTime = 0, 0
	instance.readsByRate, instance.readsByTime, instance.writesByRate = 0, 0, 0
	if !math.IsNaN(g.time) && slot.Cache > 0 {
		kept := slot.Touched * math.Exp(-slot.Touched*instance.rate*g.time/slot.Cache) * g.time
		instance.memoryByRate, instance.memoryByTime = kept, kept*instance.rate
		const step = 1e-5
		rise := slot.Reads.At(instance.memory*(1+step)) - slot.Reads.At(instance.memory*(1-step))
		steep := rise / (2 * step * instance.memory)
		instance.readsByRate, instance.readsByTime = steep*instance.memoryByRate, steep*instance.memoryByTime
	}
	instance.reads = slot.Reads.At(instance.memory)
	instance.writes = slot.Writes.At(instance.rate)
	if slot.Writes.Batch > 0 {
		instance.writesByRate = instance.writes * float64(slot.Writes.Batch) / instance.rate
	}
	const step = 1e-4
	perRead := (slot.cycle(instance.reads+step) - slot.cycle(instance.reads)) / step
	column := corner{reads: instance.reads, writes: instance.writes}
	for j, use := range slot.Uses {
		if use.Station >= 0 {
			wait := g.waits[slot.waits[j]]
			seconds += column.busy(use) * wait
			perRead += use.PerRead * wait
			growth.byRate += use.PerWrite * instance.writesByRate * wait
			continue
		}
		used := min(instance.rate*column.busy(use), 1-1e-9)
		if used > 0 {
			wait := math.Pow(used, use.Sharp) / (1 - used) / max(1, instance.count)
			seconds += column.busy(use) * wait
			perRead += use.PerRead * wait
			growth.byRate += column.busy(use)*wait*(use.Sharp/used+1/(1-used))*column.busy(use) +
				use.PerWrite*instance.writesByRate*wait
		}
	}
	growth.byRate += perRead * instance.readsByRate
	growth.byTime = perRead * instance.readsByTime
	return seconds + slot.cycle(instance.reads), growth
}

// cycle returns how many seconds a client's cycle takes without any waiting.
func (o *slotCell) cycle(reads float64) float64 {
	highest := math.Inf(-1)
	for _, l := range o.Alone {
		highest = max(highest, l.At(reads))
	}
	return highest
}

// widths are how far from a filling's environment, as logarithms, programs look for better fillings.
var widths = [...]float64{2, 1, 0.5, 0.2}

// around returns the solutions of the programs of cells around the environment of a filling.
func (c *kindCells) around(fill filling, known *filled, prices []float64, scale float64) (out []candidate) {
	environment, short := c.environment(fill, known)
	if short && math.IsNaN(environment.time) {
		return nil
	}
	var last cell
	for _, wide := range widths {
		near := &cell{short: short, basic: last.basic, tight: last.tight}
		for _, u := range environment.used {
			z := logit(u)
			near.low, near.high = append(near.low, max(noneUsed, z-wide)), append(near.high, max(-6, z)+wide)
		}
		if short {
			near.from, near.to = math.Log(environment.time)-wide, math.Log(environment.time)+wide
		}
		if !c.tighten(near) {
			continue
		}
		if parts := c.program(near, prices, scale, math.Inf(-1)); !math.IsInf(near.bound, -1) {
			out = append(out, candidate{near.bound, parts})
		}
		last = *near
	}
	return out
}
