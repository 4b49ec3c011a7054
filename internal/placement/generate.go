package placement

import (
	"cmp"
	"math"
	"slices"
	"sync"
)

// column is a filling that a plan may be made of.
type column struct {
	kind  int
	f     filling
	n     []int
	value float64
}

// master is the linear program of columns: how many hosts have which filling.
func (s *search) master(columns []column, hosts, counts []int) (x, worth []float64, value float64) {
	b := make([]float64, 0, len(hosts)+len(counts))
	for _, h := range hosts {
		b = append(b, float64(h))
	}
	for _, c := range counts {
		b = append(b, float64(c))
	}
	c, a := make([]float64, len(columns)), make([][]float64, len(columns))
	for j, col := range columns {
		a[j] = make([]float64, len(b))
		a[j][col.kind] = 1
		c[j] = col.value
		for i, n := range col.n {
			a[j][len(hosts)+i] = float64(n)
			c[j] += s.penalty * float64(n)
		}
	}
	return maximize(c, a, b)
}

// pass is how hard a search looks for better fillings: how many cells of each kind of hosts it looks at, how far in
// one go it climbs from what it finds, how many fillings it predicts for a step, and within what share of a mean host
// bounds are near enough.
type pass struct {
	cells, steps, tries int
	within              float64
}

// passes follow each other where one finds little more.
var passes = [...]pass{{120, 3, 8, 0.02}, {40, 3, 12, 0.02}}

// The proof at the end: how many cells of all kinds it looks at, how many of each in one go, and within what share of a
// mean host a bound is near enough.
const (
	proofCells  = 12_000
	proofStep   = 500
	proofWithin = 0.004
)

// slow is by what share a plan of parts of hosts becomes better in a round where the next pass begins.
const slow = 5e-4

// prove bounds what hosts are worth at prices, as near to their rents as so many cells come.
func (s *search) prove(prices, rent []float64, mean float64, hosts []int, g goal) *proof {
	all := make([]*division, len(s.kinds))
	var some sync.WaitGroup
	for k, kind := range s.kinds {
		if kind.cells == nil {
			return nil
		}
		some.Go(func() {
			scale, fixed := g.scale(s, k)
			all[k] = kind.cells.divided(prices, scale, rent[k]+fixed+proofWithin*mean)
		})
	}
	some.Wait()
	for {
		looked, open := 0, 0
		for k, d := range all {
			looked += d.looked
			if hosts[k] > 0 && len(d.open) > 0 {
				open++
			}
		}
		if open == 0 || looked >= proofCells {
			break
		}
		for k, d := range all {
			if hosts[k] > 0 && len(d.open) > 0 {
				some.Go(func() { d.until(d.looked + proofStep) })
			}
		}
		some.Wait()
	}
	p := &proof{prices: prices}
	for k, d := range all {
		_, fixed := g.scale(s, k)
		p.hosts += float64(hosts[k]) * max(0, d.bound()-fixed)
	}
	return p
}

// scale returns what an operation a second on a host of a kind is worth, and what the host costs.
func (g goal) scale(s *search, k int) (scale, fixed float64) {
	if g.price {
		return s.cheap, s.kinds[k].price()
	}
	return 1, 0
}

// nearly is by what share of a mean host a filling may be worth less than its rent and still be kept: prices change.
const nearly = 0.005

// proof is prices of containers, by demand, and what all hosts together are worth at most beyond them: no plan that
// places so many is worth more than their sum (Farley, A note on bounding a class of linear programming problems,
// 1990).
type proof struct {
	prices []float64
	hosts  float64
}

// bound returns what no plan is beyond that places so many of each demand.
func (p proof) bound(placed []int) float64 {
	sum := p.hosts
	for d, n := range placed {
		sum += p.prices[d] * float64(n)
	}
	return sum
}

// generate finds a plan by column generation, and rounds it.
func (s *search) generate(counts []int, g goal) found {
	hosts := s.hosts()
	var columns []column
	have := map[string]bool{}
	add := func(k int, f filling) (ok bool) {
		v, ok := s.worth(k, f, g)
		if key := string(rune(k)) + f.key(); ok && f.total() > 0 && !have[key] {
			have[key] = true
			columns = append(columns, column{k, f, s.kinds[k].counts(f), v})
		}
		return ok
	}
	least := make([]float64, len(counts))
	for d := range counts {
		least[d] = max(s.fleet.Containers[d].LeastRate, g.least*s.alone[d])
	}
	for k := range s.kinds {
		s.kinds[k].cells, s.kinds[k].slopes = s.cellsOf(k, counts, least), map[string][]float64{}
		for d, c := range counts {
			s.fill(k, d, min(c, mostOfOne), add)
		}
	}
	for _, c := range s.deal(counts) {
		add(c.kind, c.f)
	}
	last := math.Inf(-1)
	var rent, prices, calm, calmRent []float64
	mean := 0.0
	for at := 0; ; {
		x, worth, value := s.master(columns, hosts, counts)
		rent, prices = worth[:len(hosts)], slices.Clone(worth[len(hosts):])
		for d := range prices {
			prices[d] -= s.penalty
		}
		value -= s.penalty * float64(sum(counts))
		mean = math.Abs(value) / float64(max(1, sum(hosts)))
		calm, calmRent = smoothed(calm, prices), smoothed(calmRent, rent)
		if at == len(passes) || s.spent() {
			break
		}
		found := make([][]priced, len(s.kinds))
		var all sync.WaitGroup
		for k := range s.kinds {
			all.Go(func() {
				found[k] = s.price(k, columns, x, prices, rent[k]+passes[at].within*mean, counts, passes[at], g)
			})
		}
		all.Wait()
		before := len(columns)
		for k, some := range found {
			for _, p := range some {
				if p.gain > rent[k]-nearly*mean {
					add(k, p.f)
				}
			}
		}
		if len(columns) == before || value-last < slow*math.Abs(value) {
			at, value = at+1, math.Inf(-1)
		}
		last = value
	}
	_, _, mixed := s.master(columns, hosts, counts) // of all that was kept
	var proven *proof
	var proving sync.WaitGroup
	proving.Go(func() { proven = s.prove(calm, calmRent, mean, hosts, g) }) // which asks the model nothing
	out := s.round(columns, hosts, counts, g)
	s.improve(&out, hosts, g)
	proving.Wait()
	placed := 0
	for i, c := range counts {
		placed += c - out.left[i]
	}
	out.mixed, out.proof = mixed-s.penalty*float64(placed), proven
	return out
}

// smoothing is how much the last round's prices count. Those of one round jump: many sets of prices
// are optimal, and their mean proves most (Wentges, Weighted Dantzig-Wolfe decomposition for linear mixed-integer
// programming, 1997).
const smoothing = 0.3

// smoothed returns the mean of prices so far, the last of which count most.
func smoothed(before, now []float64) []float64 {
	if before == nil {
		return slices.Clone(now)
	}
	for i, v := range now {
		before[i] += smoothing * (v - before[i])
	}
	return before
}

func sum(all []int) (n int) {
	for _, v := range all {
		n += v
	}
	return n
}

// fill adds hosts of one demand alone: one, two, four and so on, up to as many as may stand there, drive by drive.
func (s *search) fill(k, demand, most int, add func(int, filling) bool) {
	kind := s.kinds[k]
	try := func(n int) bool {
		f := make(filling, kind.slots())
		for i := range kind.able {
			f[kind.slot(demand, i)] = uint8((n + i) / len(kind.able))
		}
		return add(k, f)
	}
	low, high := 0, most+1
	for n := 1; n < high; n = min(2*n, max(n+1, most)) {
		if !try(n) {
			if len(s.fleet.Containers[demand].Beside) == 0 {
				high = n
			}
			break
		}
		low = n
	}
	for high-low > 1 && low > 0 {
		if n := (low + high) / 2; try(n) {
			low = n
		} else {
			high = n
		}
	}
}

// deal gives containers to hosts as cards are dealt, drive by drive, whatever they do there.
func (s *search) deal(counts []int) (all []chosen) {
	for k, kind := range s.kinds {
		for range kind.Count {
			all = append(all, chosen{k, 1, make(filling, kind.slots())})
		}
	}
	next, round := 0, 0
	for d, c := range counts {
		for range c {
			h := &all[next]
			k := s.kinds[h.kind]
			if slot := k.slot(d, round%len(k.able)); h.f[slot] < mostOfOne {
				h.f[slot]++
			}
			if next++; next == len(all) {
				next, round = 0, round+1
			}
		}
	}
	return merged(all)
}

// priced is a filling, and what a host that has it is worth beyond the prices of its containers.
type priced struct {
	f    filling
	gain float64
}

// price looks for the fillings of a kind of hosts that are worth most at the prices of containers: among whole
// containers near the parts that bounds of cells have, near what a plan has, and from there on step by step. The bound
// is at least enough, from which on it does not matter.
func (s *search) price(k int, columns []column, x, prices []float64, enough float64, counts []int,
	p pass, g goal,
) (out []priced) {
	kind := s.kinds[k]
	cells := kind.cells
	gain := func(f filling) float64 {
		v, ok := s.worth(k, f, g)
		if !ok {
			return math.Inf(-1)
		}
		for i, n := range kind.counts(f) {
			v -= float64(n) * prices[i]
		}
		return v
	}
	starts := []filling{make(filling, kind.slots())}
	var used []int
	for j, c := range columns {
		if c.kind == k && x[j] > 0 {
			used = append(used, j)
		}
	}
	slices.SortStableFunc(used, func(a, b int) int { return cmp.Compare(x[b], x[a]) })
	for _, j := range used[:min(len(used), mostStarts)] {
		starts = append(starts, columns[j].f)
	}
	if cells != nil {
		scale, fixed := g.scale(s, k)
		all := cells.divided(prices, scale, enough+fixed)
		all.until(p.cells)
		starts = append(starts, cells.whole(all.seen, kind.slots())...)
		var near []candidate
		for _, j := range used[:min(len(used), 2*mostStarts)] {
			near = append(near, cells.around(columns[j].f, kind.fill(columns[j].f, s.alone), prices, scale)...)
		}
		starts = append(starts, cells.whole(near, kind.slots())...)
	}
	var all []priced
	have := map[string]bool{}
	for _, f := range starts {
		if key := f.key(); !have[key] {
			have[key] = true
			all = append(all, priced{f, gain(f)})
		}
	}
	slices.SortStableFunc(all, func(a, b priced) int { return cmp.Compare(b.gain, a.gain) })
	out = slices.Clone(all)
	for _, one := range all[:min(len(all), mostClimbs)] {
		f, at := one.f, one.gain
		for range p.steps {
			next, to := s.climb(kind, f, at, counts, prices, p.tries, gain)
			if next == nil {
				break
			}
			f, at = next, to
		}
		out = append(out, priced{f, at})
	}
	return out
}

// From how many fillings of a plan, of programs of cells with the least and the greatest bounds, and of the best of
// all of these, a search goes on.
const (
	mostStarts = 2
	leastSeen  = 10
	mostSeen   = 14
	mostClimbs = 4
)

// climb returns the best of the fillings that differ by a container: one more, one less, or one, or as many as its
// memory holds, in the place of another, of those that are most likely by what containers are hoped to be worth. Those
// that stand only beside others come with one of them. It returns nil where none is better.
func (s *search) climb(k *kind, f filling, at float64, counts []int, prices []float64, tries int,
	gain func(filling) float64,
) (best filling, most float64) {
	type move struct {
		from, to, count int // -1 for none
		hope            float64
	}
	n, hopes := k.counts(f), k.gradient(f, s.alone)
	hope := func(slot int) float64 {
		if slot < 0 || hopes == nil {
			return 0
		}
		d, _ := k.of(slot)
		return hopes[slot] - prices[d]
	}
	var moves []move
	for to := -1; to < len(f); to++ {
		for from := -1; from < len(f); from++ {
			if from == to || from >= 0 && f[from] == 0 {
				continue
			}
			count := 1
			if to >= 0 {
				d, _ := k.of(to)
				room := min(counts[d], mostOfOne) - n[d]
				if from >= 0 {
					other, _ := k.of(from)
					if other == d {
						room++
					} else {
						count = max(1, int(k.fixed[other]/k.fixed[d]))
					}
				}
				count = min(count, room, mostOfOne-int(f[to]))
				if count < 1 {
					continue
				}
			}
			moves = append(moves, move{from, to, count, float64(count)*hope(to) - hope(from)})
		}
	}
	slices.SortStableFunc(moves, func(a, b move) int { return cmp.Compare(b.hope, a.hope) })
	most = at + 1e-9*math.Abs(at)
	allowed := 0
	for i, m := range moves {
		if allowed >= tries || i >= 4*tries && hopes != nil {
			break
		}
		next := f
		if m.from >= 0 {
			next = next.with(m.from, -1)
		}
		if m.to >= 0 {
			next = next.with(m.to, m.count)
		}
		for _, one := range s.beside(k, f, next, m.to, counts) {
			v := gain(one)
			if !math.IsInf(v, -1) {
				allowed++
			}
			if v > most {
				best, most = one, v
			}
		}
	}
	return best, most
}

// beside returns a filling to which containers of a slot were added, also with one of each that they may stand beside.
func (s *search) beside(k *kind, before, next filling, slot int, counts []int) (all []filling) {
	all = []filling{next}
	if slot < 0 {
		return all
	}
	n := k.counts(before)
	d, _ := k.of(slot)
	for _, other := range s.fleet.Containers[d].Beside {
		if n[other] == 0 && counts[other] > 0 {
			all = append(all, next.with(k.slot(other, 0), 1))
		}
	}
	return all
}

// whole returns fillings near the parts that programs had.
func (c *kindCells) whole(seen []candidate, slots int) (all []filling) {
	slices.SortStableFunc(seen, func(a, b candidate) int { return cmp.Compare(a.value, b.value) })
	if len(seen) > leastSeen+mostSeen {
		seen = slices.Concat(seen[:leastSeen], seen[len(seen)-mostSeen:])
	}
	for _, one := range seen {
		for _, up := range [2]float64{0.5, 1e-6} {
			f := make(filling, slots)
			fixed := 0.0
			sums := make([]float64, c.demands)
			for s, part := range one.parts {
				o := &c.slots[s]
				n := math.Floor(min(part, mostOfOne) + up)
				n = min(n, mostOfOne, c.mostOf[o.demand]-sums[o.demand])
				sums[o.demand] += n
				f[o.at] = uint8(n)
				fixed += n * o.Fixed
			}
			for c.memory > 0 && fixed > c.memory {
				most := &c.slots[0]
				for s := range c.slots {
					if o := &c.slots[s]; o.Fixed > 0 && (f[o.at] > f[most.at] || most.Fixed == 0) {
						most = o
					}
				}
				less := min(float64(f[most.at]), max(1, math.Floor((fixed-c.memory)/most.Fixed)))
				f[most.at] -= uint8(less)
				fixed -= less * most.Fixed
			}
			if f.total() > 0 {
				all = append(all, f)
			}
		}
	}
	return all
}
