package placement

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
)

// chosen is so many hosts of a kind with one filling.
type chosen struct {
	kind, count int
	f           filling
}

// found is the result of a search.
type found struct {
	all    []chosen
	left   []int   // of each demand, that stand nowhere
	value  float64 // of what stands
	proof  *proof  // that no plan is worth much more; nil for none
	mixed  float64 // no plan of the fillings that the search kept is worth more; NaN where it kept to few moves
	proven bool    // no filling was left out
}

func (f found) unplaced() (n int) {
	for _, l := range f.left {
		n += l
	}
	return n
}

// goal has the limits that the plans of a search keep, and the value of its hosts.
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
	seed    uint64
	random  *rand.Rand
	cheap   float64 // what an operation a second is worth beside prices
}

// usual is the goal of a search where no container is the one that counts.
func (s *search) usual() goal { return goal{price: s.fleet.Objective == FewHosts} }

// worth returns the value of a host's filling for a goal. ok is false where it breaks a limit.
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

// mostSpots is how many spots are tried of those that gradients say most of.
const mostSpots = 8

// spot is a slot of a group of hosts, and what one more there adds as the gradient has it, where that is known.
type spot struct {
	group, slot int
	hope        float64
	known       bool
}

// spots returns where one more of a demand may stand, the most promising first; all of which nothing is known come
// before.
func (s *search) spots(groups []chosen, demand int) (all []spot) {
	for i, c := range groups {
		k := s.kinds[c.kind]
		hopes := k.gradient(c.f, s.alone)
		for drive := range k.able {
			p := spot{group: i, slot: k.slot(demand, drive), hope: math.Inf(1)}
			if c.f[p.slot] == mostOfOne {
				continue
			}
			if p.known = hopes != nil && c.f.total() > 0; p.known {
				p.hope = hopes[p.slot]
			}
			all = append(all, p)
		}
	}
	slices.SortStableFunc(all, func(a, b spot) int { return cmp.Compare(b.hope, a.hope) })
	return all
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
			allowed := 0
			for _, p := range s.spots(groups, d) {
				c := groups[p.group]
				before, _ := s.worth(c.kind, c.f, g)
				to := c.f.with(p.slot, 1)
				v, ok := s.worth(c.kind, to, g)
				if ok {
					allowed++
				}
				if ok && v-before > gain {
					best, gain, becomes = p.group, v-before, to
				}
				if p.known && allowed == mostSpots {
					break
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
