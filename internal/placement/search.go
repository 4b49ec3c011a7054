package placement

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
)

// chosen is a number of hosts of a kind with one filling.
type chosen struct {
	kind, count int
	filling     filling
}

// found is the result of a search.
type found struct {
	groups []chosen
	left   []int     // of each demand, that stand nowhere
	value  float64   // of what stands
	proof  *proof    // that no plan is worth much more; nil for none
	mixed  float64   // upper bound of plans of the fillings that the search kept; NaN if moves were limited
	proven bool      // no filling was left out
	goals  []filling // by host, if moves are limited; nil if hosts are assigned later
	exact  bool      // no placement within the limit of moves is better
	free   *found    // the best plan without a limit of moves; nil if that is not known
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
	price bool    // the value is the price of hosts, and not their operations
	first bool    // the first plan in which all stand ends the search
}

// search looks for plans of a fleet.
type search struct {
	fleet       *Fleet
	kinds       []*kind
	alone       []float64 // operations a second that one of each demand does alone, on its best host
	quick       []float64 // s: the least p99 of each alone
	penalty     float64   // of a container that stands nowhere, in linear programs
	leftPenalty float64   // of a container that stands nowhere, in dynamic programs: more than any plan is worth
	effort      int       // predictions that may be made
	time        func() float64
	seed        uint64
	random      *rand.Rand
	cheap       float64 // the price of an operation a second: less than any difference of prices
	from        *found  // the plan that a search begins with, for the same goal; nil for none
}

// usual returns the goal of a search without limits of its own.
func (s *search) usual() goal { return goal{price: s.fleet.Objective == FewHosts} }

// worth returns the value of a host's filling for a goal. ok is false if the filling breaks a limit.
func (s *search) worth(k int, fill filling, goal goal) (value float64, ok bool) {
	if fill.total() == 0 {
		return 0, true
	}
	known := s.kinds[k].fill(fill, s.alone)
	switch {
	case known.clash != "" || known.unknown:
		return 0, false
	case goal.p99 > 0 && !(known.p99 <= goal.p99*(1+slack)):
		return 0, false
	case goal.least > 0 && known.least < goal.least*(1-slack):
		return 0, false
	case goal.price:
		return s.cheap*known.worth - s.kinds[k].price(), true
	}
	return known.worth, true
}

// asked returns how many predictions were made.
func (s *search) asked() (n int) {
	for _, kind := range s.kinds {
		n += kind.asked
	}
	return n
}

// enough reports whether a plan is as good as a goal asks for.
func (g goal) enough(f found) bool { return g.first && f.unplaced() == 0 }

// betterOf returns the better of two plans for one goal, the first of equal ones.
func betterOf(a, b found) found {
	if x, y := a.unplaced(), b.unplaced(); y < x || y == x && b.value > a.value {
		return b
	}
	return a
}

// spent reports whether the search is to end.
func (s *search) spent() bool { return s.asked() >= s.effort || s.stopped() }

// stopped reports whether the time that the search may take is over.
func (s *search) stopped() bool { return s.time != nil && s.time() >= searchShare }

// late reports whether the time that a plan may take is over.
func (s *search) late() bool { return s.time != nil && s.time() >= 1 }

// What is small enough for a search of all fillings.
const (
	smallFillings = 4096
	smallSteps    = 3e7
)

// best returns the best plan for a goal that a search finds.
func (s *search) best(counts []int, goal goal) found {
	if outcome, ok := s.exact(counts, goal); ok {
		return outcome
	}
	return s.generate(counts, goal)
}

// option is the best of the fillings that have the same counts of demands.
type option struct {
	filling filling
	counts  []int
	value   float64
}

// options returns every filling that is allowed, of those of the same counts only the best; ok is false if there are
// too many.
func (s *search) options(k int, counts []int, goal goal) (out []option, ok bool) {
	kind := s.kinds[k]
	size := 1.0
	for _, count := range counts {
		for v := range kind.able {
			size *= float64(count+v+1) / float64(v+1)
		}
		if count > mostOfOne {
			return nil, false
		}
	}
	if size > smallFillings {
		return nil, false
	}
	best := map[string]int{}
	fill := make(filling, kind.slots())
	var walk func(slot int, left []int)
	walk = func(slot int, left []int) {
		if slot == len(fill) {
			value, ok := s.worth(k, fill, goal)
			if !ok {
				return
			}
			placed := kind.counts(fill)
			identity := make(filling, len(placed))
			for i := range placed {
				identity[i] = uint8(placed[i])
			}
			candidate := option{slices.Clone(fill), placed, value}
			if i, has := best[identity.key()]; !has {
				best[identity.key()] = len(out)
				out = append(out, candidate)
			} else if value > out[i].value {
				out[i] = candidate
			}
			return
		}
		demand, _ := kind.split(slot)
		for count := 0; count <= left[demand]; count++ {
			fill[slot] = uint8(count)
			left[demand] -= count
			walk(slot+1, left)
			left[demand] += count
		}
		fill[slot] = 0
	}
	walk(0, slices.Clone(counts))
	return out, true
}

// exact finds the best plan by dynamic programming over what is left to place, host by host. ok is false if the fleet
// is too large for that.
func (s *search) exact(counts []int, goal goal) (out found, ok bool) {
	states, hosts := 1.0, 0
	for _, c := range counts {
		states *= float64(c + 1)
	}
	for _, kind := range s.kinds {
		hosts += kind.Count
	}
	if states*states*float64(hosts) > smallSteps {
		return out, false
	}
	options := make([][]option, len(s.kinds))
	for k := range s.kinds {
		if s.kinds[k].Count == 0 {
			continue
		}
		if options[k], ok = s.options(k, counts, goal); !ok {
			return out, false
		}
	}
	size := int(states)
	place := make([]int, len(counts)) // of each demand in the number of a state
	stride := 1
	for i, c := range counts {
		place[i] = stride
		stride *= c + 1
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
		for o, option := range options[k] {
			for i, n := range option.counts {
				takes[o] += n * place[i]
			}
		}
		for range s.kinds[k].Count {
			next, origins := make([]float64, size), make([]step, size)
			for i := range next {
				next[i] = math.Inf(-1)
			}
			for state, worth := range value {
				if math.IsInf(worth, -1) {
					continue
				}
			each:
				for o, option := range options[k] {
					for i, n := range option.counts {
						if n > 0 && has(state, i)+n > counts[i] {
							continue each
						}
					}
					if to := state + takes[o]; worth+option.value > next[to] {
						next[to], origins[to] = worth+option.value, step{int32(k), int32(o), int32(state)}
					}
				}
			}
			value = next
			steps = append(steps, origins)
		}
	}
	best, bestValue := 0, math.Inf(-1)
	for state, worth := range value {
		for i := range counts {
			worth += s.leftPenalty * float64(has(state, i))
		}
		if worth > bestValue {
			best, bestValue = state, worth
		}
	}
	out = found{left: slices.Clone(counts), value: value[best], mixed: value[best], proven: true}
	for h := len(steps) - 1; h >= 0; h-- {
		last := steps[h][best]
		option := options[last.kind][last.option]
		for i, n := range option.counts {
			out.left[i] -= n
		}
		out.groups = append(out.groups, chosen{int(last.kind), 1, option.filling})
		best = int(last.from)
	}
	out.groups = merged(out.groups)
	return out, true
}

// merged joins hosts of a kind that are filled alike, and orders them by kind, the fullest first.
func merged(groups []chosen) []chosen {
	slices.SortStableFunc(groups, func(a, b chosen) int {
		return cmp.Or(cmp.Compare(a.kind, b.kind), -slices.Compare(a.filling, b.filling))
	})
	out := make([]chosen, 0, len(groups))
	for _, group := range groups {
		if group.count == 0 || group.filling.total() == 0 {
			continue
		}
		if last := len(out) - 1; last >= 0 && out[last].kind == group.kind && slices.Equal(out[last].filling, group.filling) {
			out[last].count += group.count
			continue
		}
		out = append(out, group)
	}
	return out
}

// round makes whole hosts of the parts of hosts that a linear program has. Whole hosts stay, or else the largest part
// becomes one. Then the program is solved again for what is left.
func (s *search) round(columns []column, hosts, counts []int, goal goal) (out found) {
	hosts, left := slices.Clone(hosts), slices.Clone(counts)
	columns = slices.Clone(columns)
	have := map[string]bool{}
	for !s.stopped() {
		fit := make([]column, 0, len(columns))
		for _, c := range columns {
			if hosts[c.kind] > 0 && s.has(s.kinds[c.kind], c.filling, left) {
				fit = append(fit, c)
			}
		}
		if len(fit) == 0 {
			break
		}
		parts, _, _ := s.master(fit, hosts, left)
		var used []column
		for j := range parts {
			if parts[j] > 1e-6 {
				used = append(used, fit[j])
			}
		}
		take := func(j, count int) {
			count = min(count, hosts[fit[j].kind])
			for i, n := range fit[j].counts {
				if n > 0 {
					count = min(count, left[i]/n)
				}
			}
			hosts[fit[j].kind] -= count
			for i, n := range fit[j].counts {
				left[i] -= n * count
			}
			out.groups = append(out.groups, chosen{fit[j].kind, count, fit[j].filling})
		}
		largest, whole := -1, false
		for j := range parts {
			if n := int(parts[j] + 1e-6); n > 0 {
				whole = true
				take(j, n)
			}
			if largest < 0 || parts[j] > parts[largest] {
				largest = j
			}
		}
		if !whole {
			if parts[largest] < 1e-6 {
				break
			}
			take(largest, 1)
		}
		for _, c := range used {
			if next, ok := s.cut(c, left, goal); ok && !have[next.key()] {
				have[next.key()] = true
				columns = append(columns, next)
			}
		}
	}
	out.groups, out.left = merged(out.groups), left
	s.insert(&out, hosts, goal)
	out.value = s.value(out.groups, goal)
	return out
}

// cut returns a column without the containers that are more than are left. ok is false if the column fits as it is, or
// if the rest may not stand.
func (s *search) cut(oversized column, left []int, goal goal) (out column, ok bool) {
	kind := s.kinds[oversized.kind]
	if s.has(kind, oversized.filling, left) {
		return out, false
	}
	out = column{kind: oversized.kind, filling: slices.Clone(oversized.filling), counts: slices.Clone(oversized.counts)}
	for slot := range out.filling {
		d, _ := kind.split(slot)
		excess := min(max(0, out.counts[d]-left[d]), int(out.filling[slot]))
		out.filling[slot] -= uint8(excess)
		out.counts[d] -= excess
	}
	out.value, ok = s.worth(oversized.kind, out.filling, goal)
	return out, ok && out.filling.total() > 0
}

func (s *search) value(groups []chosen, goal goal) (sum float64) {
	for _, group := range groups {
		value, _ := s.worth(group.kind, group.filling, goal)
		sum += value * float64(group.count)
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

// spots returns where one more of a demand may stand, the most promising first. Spots without a gradient come before
// all others.
func (s *search) spots(groups []chosen, demand int) []spot {
	drives := 0
	for _, group := range groups {
		drives += len(s.kinds[group.kind].able)
	}
	out := make([]spot, 0, drives)
	for i, group := range groups {
		kind := s.kinds[group.kind]
		hopes := kind.gradient(group.filling, s.alone)
		for drive := range kind.able {
			candidate := spot{group: i, slot: kind.slot(demand, drive), hope: math.Inf(1)}
			if group.filling[candidate.slot] == mostOfOne {
				continue
			}
			if candidate.known = hopes != nil && group.filling.total() > 0; candidate.known {
				candidate.hope = hopes[candidate.slot]
			}
			out = append(out, candidate)
		}
	}
	slices.SortStableFunc(out, func(a, b spot) int { return cmp.Compare(b.hope, a.hope) })
	return out
}

// insert places what is left, one container after the other, where it adds most, as long as there is time. free is how
// many hosts of each kind are empty.
func (s *search) insert(out *found, free []int, goal goal) {
	for d := range out.left {
		for out.left[d] > 0 && !s.stopped() {
			best, gain, becomes := -1, math.Inf(-1), filling(nil)
			groups := slices.Clone(out.groups)
			for k := range s.kinds {
				if free[k] > 0 {
					groups = append(groups, chosen{k, free[k], make(filling, s.kinds[k].slots())})
				}
			}
			allowed := 0
			for _, spot := range s.spots(groups, d) {
				group := groups[spot.group]
				before, _ := s.worth(group.kind, group.filling, goal)
				to := group.filling.adjusted(spot.slot, 1)
				value, ok := s.worth(group.kind, to, goal)
				if ok {
					allowed++
				}
				if ok && value-before > gain {
					best, gain, becomes = spot.group, value-before, to
				}
				if spot.known && allowed == mostSpots {
					break
				}
			}
			if best < 0 {
				break
			}
			count := min(out.left[d], groups[best].count) // alike, as long as no other is better: few are left
			if best >= len(out.groups) {
				count = 1
			}
			kind := groups[best].kind
			if best < len(out.groups) {
				out.groups[best].count -= count
			} else {
				free[kind] -= count
			}
			out.left[d] -= count
			out.groups = merged(append(out.groups, chosen{kind, count, becomes}))
		}
	}
}
