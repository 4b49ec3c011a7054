package placement

import (
	"math"
	"slices"
)

// improve moves and swaps containers between hosts as long as that makes a plan better, then takes hosts apart
// and puts what stood there elsewhere (Shaw, Using constraint programming and local search methods to solve
// vehicle routing problems, 1998), until the effort is spent.
func (s *search) improve(out *found, hosts []int, goal goal) {
	for !s.spent() && !goal.enough(*out) {
		if s.exchange(out, hosts, goal) {
			continue
		}
		better := false
		for range tries {
			if s.spent() || goal.enough(*out) || len(out.groups) < 2 {
				return
			}
			if s.rebuild(out, hosts, goal) {
				better = true
				break
			}
		}
		if !better {
			return
		}
	}
}

// tries is how often hosts are taken apart in vain before a search ends.
const tries = 60

// free returns how many hosts of each kind are empty.
func free(hosts []int, groups []chosen) []int {
	left := slices.Clone(hosts)
	for _, group := range groups {
		left[group.kind] -= group.count
	}
	return left
}

// trade is a move of a container from a slot of one group of hosts to a slot of another, or of the same, and of another
// container back.
type trade struct {
	from, to      int // groups
	out, in       int // slots
	back, instead int // slots that the other leaves and takes; -1 for none
}

// exchange makes the first trade that makes the plan better, of those that gradients say most of.
func (s *search) exchange(out *found, hosts []int, goal goal) bool {
	groups := slices.Clone(out.groups)
	for k, n := range free(hosts, out.groups) {
		if n > 0 {
			groups = append(groups, chosen{k, n, make(filling, s.kinds[k].slots())})
		}
	}
	values := make([]float64, len(groups))
	for i, group := range groups {
		values[i], _ = s.worth(group.kind, group.filling, goal)
	}
	for _, trade := range s.trades(groups, goal) {
		if s.spent() {
			return false
		}
		from, to := groups[trade.from], groups[trade.to]
		fromFill, toFill := from.filling.adjusted(trade.out, -1), to.filling
		if trade.from == trade.to { // of two hosts that are filled alike
			toFill = from.filling
		}
		toFill = toFill.adjusted(trade.in, 1)
		if trade.back >= 0 {
			fromFill, toFill = fromFill.adjusted(trade.instead, 1), toFill.adjusted(trade.back, -1)
		}
		fromWorth, ok := s.worth(from.kind, fromFill, goal)
		if !ok {
			continue
		}
		toWorth, ok := s.worth(to.kind, toFill, goal)
		before := values[trade.from] + values[trade.to]
		if !ok || fromWorth+toWorth <= before+1e-9*math.Abs(before) {
			continue
		}
		out.groups[trade.from].count--
		if trade.to < len(out.groups) {
			out.groups[trade.to].count--
		}
		out.groups = merged(append(out.groups, chosen{from.kind, 1, fromFill}, chosen{to.kind, 1, toFill}))
		out.value += fromWorth + toWorth - before
		return true
	}
	return false
}

// mostTrades is how many trades are tried before the search takes it that none makes a plan better.
const mostTrades = 200

// trades returns the trades that promise most, best first.
func (s *search) trades(groups []chosen, goal goal) []trade {
	best := newTop[trade](mostTrades)
	hopes := make([][]float64, len(groups))
	for i, c := range groups {
		hopes[i] = s.kinds[c.kind].gradient(c.filling, s.alone)
	}
	hope := func(group, slot int) float64 {
		if hopes[group] == nil {
			return s.random.Float64()
		}
		return hopes[group][slot]
	}
	for a, from := range groups {
		for b, to := range groups {
			if a == b && from.count < 2 {
				continue
			}
			fromKind, toKind := s.kinds[from.kind], s.kinds[to.kind]
			paid := 0.0
			if goal.price && from.filling.total() == 1 { // one host fewer
				paid += fromKind.price() / s.cheap
			}
			if goal.price && to.filling.total() == 0 {
				paid -= toKind.price() / s.cheap
			}
			for i, n := range from.filling {
				if n == 0 {
					continue
				}
				d, _ := fromKind.split(i)
				for drive := range toKind.able {
					j := toKind.slot(d, drive)
					if to.filling[j] == mostOfOne {
						continue
					}
					gain := hope(b, j) - hope(a, i)
					best.add(gain+paid, trade{from: a, to: b, out: i, in: j, back: -1})
					if a >= b {
						continue
					}
					for back, n := range to.filling {
						swapped, swapDrive := toKind.split(back)
						instead := fromKind.slot(swapped, min(swapDrive, len(fromKind.able)-1))
						if n > 0 && swapped != d && from.filling[instead] < mostOfOne {
							best.add(gain+hope(a, instead)-hope(b, back), trade{a, b, i, j, back, instead})
						}
					}
				}
			}
		}
	}
	return best.sorted()
}

// complete places what is left where it adds most, and takes hosts apart to make room for the rest.
func (s *search) complete(out *found, hosts []int, goal goal) {
	out.groups = merged(out.groups)
	s.insert(out, free(hosts, out.groups), goal)
	out.value = s.value(out.groups, goal)
	for range completeTries {
		if out.unplaced() == 0 || len(out.groups) < 2 || s.stopped() {
			break
		}
		s.rebuild(out, hosts, goal)
	}
}

// completeTries is how often hosts are taken apart to make room.
const completeTries = 20

// rebuild takes one to three hosts apart and places their containers where they are worth most now. It keeps the result
// and reports true if that is better.
func (s *search) rebuild(out *found, hosts []int, goal goal) bool {
	next := found{groups: slices.Clone(out.groups), left: slices.Clone(out.left)}
	for range 1 + s.random.IntN(3) {
		i := s.random.IntN(len(next.groups))
		group := next.groups[i]
		if group.count == 0 {
			continue
		}
		next.groups[i].count--
		for d, n := range s.kinds[group.kind].counts(group.filling) {
			next.left[d] += n
		}
	}
	next.groups = merged(next.groups)
	s.insert(&next, free(hosts, next.groups), goal)
	next.value = s.value(next.groups, goal)
	gained := out.unplaced() - next.unplaced() // that stand
	if gained < 0 || gained == 0 && next.value <= out.value+1e-9*math.Abs(out.value) {
		return false
	}
	next.mixed = out.mixed
	*out = next
	return true
}
