package placement

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
)

// chosen is so many hosts of a kind with one filling.
type chosen struct {
	kind, count int
	f           filling
}

// found is what a search came to.
type found struct {
	all    []chosen
	left   []int   // of each demand, that stand nowhere
	value  float64 // of what stands
	mixed  float64 // no plan of the fillings that the search kept is worth more; NaN where it kept to few moves
	proven bool    // no filling was left out
}

func (f found) unplaced() (n int) {
	for _, l := range f.left {
		n += l
	}
	return n
}

// goal is what a search is for.
type goal struct {
	p99   float64 // no container may have more; 0 for any
	least float64 // share of what it would do alone that each is to keep
	price bool    // hosts are worth what they cost, and not what they do
}

// search looks for plans of a fleet.
type search struct {
	fleet   *Fleet
	kinds   []*kind
	alone   []float64 // operations a second that one of each demand does alone, on its best host
	quick   []float64 // s: the least p99 of each alone
	penalty float64   // of a container that stands nowhere, in linear programs
	all     float64   // more than all plans are apart: what it is to let one stand nowhere that has a place
	effort  int       // predictions that may be made
	stop    func() bool
	random  *rand.Rand
	cheap   float64 // what an operation a second is worth beside prices
}

// usual is the goal of a search where no container is the one that counts.
func (s *search) usual() goal { return goal{price: s.fleet.Objective == FewHosts} }

// worth is what a filling of a host is worth for a goal. ok is false where it breaks something.
func (s *search) worth(k int, f filling, g goal) (v float64, ok bool) {
	if f.total() == 0 {
		return 0, true
	}
	known := s.kinds[k].fill(f, s.alone)
	switch {
	case known.clash != "" || known.unknown:
		return 0, false
	case g.p99 > 0 && !(known.p99 <= g.p99*(1+slack)):
		return 0, false
	case g.least > 0 && known.least < g.least*(1-slack):
		return 0, false
	case g.price:
		return s.cheap*known.worth - s.kinds[k].price(), true
	}
	return known.worth, true
}

// asked is how many predictions were made.
func (s *search) asked() (n int) {
	for _, k := range s.kinds {
		n += k.asked
	}
	return n
}

// spent reports whether the search is to end.
func (s *search) spent() bool { return s.asked() >= s.effort || s.stop != nil && s.stop() }

// What is small enough to look at all of.
const (
	smallFillings = 4096
	smallSteps    = 3e7
)

// best returns the best plan for a goal that was found.
func (s *search) best(counts []int, g goal) found {
	if f, ok := s.exact(counts, g); ok {
		return f
	}
	return s.generate(counts, g)
}

// option is the best of the fillings that have the same counts of demands.
type option struct {
	f     filling
	n     []int
	value float64
}

// options returns every filling that is allowed, of those of the same counts only the best; ok is false
// where there are too many.
func (s *search) options(k int, counts []int, g goal) (all []option, ok bool) {
	kind := s.kinds[k]
	size := 1.0
	for _, c := range counts {
		for v := range kind.able {
			size *= float64(c+v+1) / float64(v+1)
		}
		if c > mostOfOne {
			return nil, false
		}
	}
	if size > smallFillings {
		return nil, false
	}
	best := map[string]int{}
	f := make(filling, kind.slots())
	var walk func(slot int, left []int)
	walk = func(slot int, left []int) {
		if slot == len(f) {
			v, ok := s.worth(k, f, g)
			if !ok {
				return
			}
			n := kind.counts(f)
			same := make(filling, len(n))
			for i := range n {
				same[i] = uint8(n[i])
			}
			one := option{slices.Clone(f), n, v}
			if at, has := best[same.key()]; !has {
				best[same.key()] = len(all)
				all = append(all, one)
			} else if v > all[at].value {
				all[at] = one
			}
			return
		}
		demand, _ := kind.of(slot)
		for c := 0; c <= left[demand]; c++ {
			f[slot] = uint8(c)
			left[demand] -= c
			walk(slot+1, left)
			left[demand] += c
		}
		f[slot] = 0
	}
	walk(0, slices.Clone(counts))
	return all, true
}

// exact finds the best plan by dynamic programming over what is left to place, host by host. ok is false
// where the fleet is too large for it.
func (s *search) exact(counts []int, g goal) (out found, ok bool) {
	states, hosts := 1.0, 0
	for _, c := range counts {
		states *= float64(c + 1)
	}
	for _, k := range s.kinds {
		hosts += k.Count
	}
	if states*states*float64(hosts) > smallSteps {
		return out, false
	}
	options := make([][]option, len(s.kinds))
	for k := range s.kinds {
		if s.kinds[k].Count == 0 {
			continue
		}
		if options[k], ok = s.options(k, counts, g); !ok {
			return out, false
		}
	}
	size := int(states)
	place := make([]int, len(counts)) // of each demand in the number of a state
	at := 1
	for i, c := range counts {
		place[i] = at
		at *= c + 1
	}
	has := func(state, demand int) int { return state / place[demand] % (counts[demand] + 1) }
	// value[state] is the most that hosts so far are worth with so many placed.
	value := make([]float64, size)
	for i := 1; i < size; i++ {
		value[i] = math.Inf(-1)
	}
	type step struct{ kind, option, from int32 }
	var steps [][]step
	for k := range s.kinds {
		takes := make([]int, len(options[k]))
		for o, one := range options[k] {
			for i, n := range one.n {
				takes[o] += n * place[i]
			}
		}
		for range s.kinds[k].Count {
			next, by := make([]float64, size), make([]step, size)
			for i := range next {
				next[i] = math.Inf(-1)
			}
			for state, v := range value {
				if math.IsInf(v, -1) {
					continue
				}
			each:
				for o, one := range options[k] {
					for i, n := range one.n {
						if n > 0 && has(state, i)+n > counts[i] {
							continue each
						}
					}
					if to := state + takes[o]; v+one.value > next[to] {
						next[to], by[to] = v+one.value, step{int32(k), int32(o), int32(state)}
					}
				}
			}
			value = next
			steps = append(steps, by)
		}
	}
	best, bestValue := 0, math.Inf(-1)
	for state, v := range value {
		for i := range counts {
			v += s.all * float64(has(state, i))
		}
		if v > bestValue {
			best, bestValue = state, v
		}
	}
	out = found{left: slices.Clone(counts), value: value[best], mixed: value[best], proven: true}
	for h := len(steps) - 1; h >= 0; h-- {
		by := steps[h][best]
		one := options[by.kind][by.option]
		for i, n := range one.n {
			out.left[i] -= n
		}
		out.all = append(out.all, chosen{int(by.kind), 1, one.f})
		best = int(by.from)
	}
	out.all = merged(out.all)
	return out, true
}

// merged joins hosts of a kind that are filled alike, and orders them by kind, the fullest first.
func merged(all []chosen) (out []chosen) {
	slices.SortStableFunc(all, func(a, b chosen) int {
		return cmp.Or(cmp.Compare(a.kind, b.kind), -slices.Compare(a.f, b.f))
	})
	for _, c := range all {
		if c.count == 0 || c.f.total() == 0 {
			continue
		}
		if last := len(out) - 1; last >= 0 && out[last].kind == c.kind && slices.Equal(out[last].f, c.f) {
			out[last].count += c.count
			continue
		}
		out = append(out, c)
	}
	return out
}

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

// generate finds a plan by column generation, and rounds it.
func (s *search) generate(counts []int, g goal) found {
	hosts := make([]int, len(s.kinds))
	var columns []column
	have := map[string]bool{}
	add := func(k int, f filling) {
		v, ok := s.worth(k, f, g)
		if key := string(rune(k)) + f.key(); ok && f.total() > 0 && !have[key] {
			have[key] = true
			columns = append(columns, column{k, f, s.kinds[k].counts(f), v})
		}
	}
	for k := range s.kinds {
		hosts[k] = s.kinds[k].Count
		for d, c := range counts { // as many of one demand as there are, or fit
			f := make(filling, s.kinds[k].slots())
			each := 0.0
			for n := 1; n <= min(c, mostOfOne); n++ {
				f = f.with(s.kinds[k].slot(d, n%len(s.kinds[k].able)), 1)
				v, ok := s.worth(k, f, g)
				if !ok && len(s.fleet.Containers[d].Beside) == 0 || ok && v/float64(n) < each/2 {
					break
				}
				each = max(each, v/float64(n))
				add(k, f)
			}
		}
	}
	for _, c := range s.deal(counts) {
		add(c.kind, c.f)
	}
	steps := fewSteps
	for !s.spent() {
		x, worth, value := s.master(columns, hosts, counts)
		rent, prices := worth[:len(hosts)], worth[len(hosts):]
		better := make([][]priced, len(s.kinds))
		var all sync.WaitGroup
		for k := range s.kinds {
			all.Go(func() { better[k] = s.price(k, columns, x, prices, counts, steps, g) })
		}
		all.Wait()
		before, most := len(columns), value
		for k, all := range better {
			gain := 0.0
			for _, p := range all {
				if gain = max(gain, p.gain-rent[k]); p.gain > rent[k]+1e-9*math.Abs(value)/float64(max(1, hosts[k])) {
					add(k, p.f)
				}
			}
			most += float64(hosts[k]) * gain
		}
		near := most-value <= converged*math.Abs(value-s.penalty*float64(s.fleet.total()))
		if near || len(columns) == before {
			if steps == mostSteps {
				break
			}
			steps = mostSteps
		}
	}
	_, _, mixed := s.master(columns, hosts, counts) // of all that was kept
	out := s.round(columns, hosts, counts, g)
	s.improve(&out, hosts, g)
	placed := 0
	for i, c := range counts {
		placed += c - out.left[i]
	}
	out.mixed = mixed - s.penalty*float64(placed)
	return out
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

// price climbs from fillings of a plan to such as are worth more at the prices that containers have.
func (s *search) price(k int, columns []column, x, prices []float64, counts []int, steps int, g goal) (all []priced) {
	kind := s.kinds[k]
	gain := func(f filling) float64 {
		v, ok := s.worth(k, f, g)
		if !ok {
			return math.Inf(-1)
		}
		for i, n := range kind.counts(f) {
			v += float64(n) * (s.penalty - prices[i])
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
	for _, f := range starts {
		at := gain(f)
		for range steps {
			next, to := s.climb(kind, f, at, counts, gain)
			if next == nil {
				break
			}
			f, at = next, to
		}
		all = append(all, priced{f, at})
	}
	return all
}

// converged is how near a plan of parts of hosts is to the best, as a share, when no better one is looked for.
const converged = 1e-3

// From how many fillings of a plan it climbs; and how far in one go, before prices are looked at again: a little as
// long as prices change much, and to the top where a bound is to follow.
const (
	mostStarts = 2
	fewSteps   = 4
	mostSteps  = 1000
)

// climb returns the best of the fillings that differ by a container: one more, one less, or, where neither is
// better, one in the place of another or on another drive, of those that what each alone gains or loses makes most
// likely. Those that stand only beside others come with one of them. It returns nil where none is better.
func (s *search) climb(k *kind, f filling, at float64, counts []int, gain func(filling) float64) (best filling,
	most float64) {
	most = at + 1e-9*math.Abs(at)
	try := func(to filling) float64 {
		v := gain(to)
		if v > most {
			best, most = to, v
		}
		return v
	}
	n := k.counts(f)
	more, less := make([]float64, len(f)), make([]float64, len(f))
	for slot := range f {
		d, _ := k.of(slot)
		more[slot], less[slot] = math.Inf(-1), math.Inf(-1)
		if f[slot] > 0 {
			less[slot] = try(f.with(slot, -1)) - at
		}
		if n[d] >= min(counts[d], mostOfOne) {
			continue
		}
		one := f.with(slot, 1)
		more[slot] = try(one) - at
		for _, other := range k.fleet.Containers[d].Beside {
			if n[other] == 0 && counts[other] > 0 {
				try(one.with(k.slot(other, 0), 1))
			}
		}
	}
	if best != nil {
		return best, most
	}
	type swap struct {
		from, to int
		hope     float64
	}
	var swaps []swap
	for from := range f {
		for to := range f {
			d, _ := k.of(to)
			same, _ := k.of(from)
			if from == to || f[from] == 0 || d != same && n[d] >= min(counts[d], mostOfOne) {
				continue
			}
			hope := less[from] + more[to]
			if math.IsInf(hope, -1) { // one more breaks a limit, where one less makes room
				hope = less[from]
			}
			swaps = append(swaps, swap{from, to, hope})
		}
	}
	slices.SortStableFunc(swaps, func(a, b swap) int { return cmp.Compare(b.hope, a.hope) })
	for _, o := range swaps[:min(len(swaps), mostSwaps)] {
		try(f.with(o.from, -1).with(o.to, 1))
	}
	return best, most
}

// mostSwaps is how many containers it puts in the place of others before it gives up.
const mostSwaps = 12

// round makes whole hosts of the parts of hosts that a linear program has: those that are whole stay, then
// the largest part becomes one, and what is left is planned anew.
func (s *search) round(columns []column, hosts, counts []int, g goal) (out found) {
	hosts, left := slices.Clone(hosts), slices.Clone(counts)
	for {
		fit := make([]column, 0, len(columns))
		for _, c := range columns {
			if hosts[c.kind] > 0 && s.has(s.kinds[c.kind], c.f, left) {
				fit = append(fit, c)
			}
		}
		if len(fit) == 0 {
			break
		}
		x, _, _ := s.master(fit, hosts, left)
		take := func(j, count int) {
			count = min(count, hosts[fit[j].kind])
			for i, n := range fit[j].n {
				if n > 0 {
					count = min(count, left[i]/n)
				}
			}
			hosts[fit[j].kind] -= count
			for i, n := range fit[j].n {
				left[i] -= n * count
			}
			out.all = append(out.all, chosen{fit[j].kind, count, fit[j].f})
		}
		most, whole := -1, false
		for j := range x {
			if n := int(x[j] + 1e-6); n > 0 {
				whole = true
				take(j, n)
			}
			if most < 0 || x[j] > x[most] {
				most = j
			}
		}
		if !whole {
			if x[most] < 1e-6 {
				break
			}
			take(most, 1)
		}
	}
	out.all, out.left = merged(out.all), left
	s.insert(&out, hosts, g)
	out.value = s.value(out.all, g)
	return out
}

func (s *search) value(all []chosen, g goal) (sum float64) {
	for _, c := range all {
		v, _ := s.worth(c.kind, c.f, g)
		sum += v * float64(c.count)
	}
	return sum
}

// insert puts what is left, one after the other, where it costs least or brings most. free are hosts of each
// kind that are empty.
func (s *search) insert(out *found, free []int, g goal) {
	for d := range out.left {
		for out.left[d] > 0 {
			best, gain, becomes := -1, math.Inf(-1), filling(nil)
			groups := slices.Clone(out.all)
			for k := range s.kinds {
				if free[k] > 0 {
					groups = append(groups, chosen{k, free[k], make(filling, s.kinds[k].slots())})
				}
			}
			for i, c := range groups {
				before, _ := s.worth(c.kind, c.f, g)
				for drive := range s.kinds[c.kind].able {
					slot := s.kinds[c.kind].slot(d, drive)
					if c.f[slot] == mostOfOne {
						continue
					}
					to := c.f.with(slot, 1)
					if v, ok := s.worth(c.kind, to, g); ok && v-before > gain {
						best, gain, becomes = i, v-before, to
					}
				}
			}
			if best < 0 {
				break
			}
			count := min(out.left[d], groups[best].count) // alike, as long as no other is better: few are left
			if best >= len(out.all) {
				count = 1
			}
			kind := groups[best].kind
			if best < len(out.all) {
				out.all[best].count -= count
			} else {
				free[kind] -= count
			}
			out.left[d] -= count
			out.all = merged(append(out.all, chosen{kind, count, becomes}))
		}
	}
}
