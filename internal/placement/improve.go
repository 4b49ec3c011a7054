package placement

import (
	"math"
	"slices"
)

// improve moves and swaps containers between hosts as long as that makes a plan better, then takes hosts apart
// and puts what stood there elsewhere (Shaw, Using constraint programming and local search methods to solve
// vehicle routing problems, 1998), until the effort is spent.
func (s *search) improve(out *found, hosts []int, g goal) {
	for !s.spent() {
		if s.exchange(out, hosts, g) {
			continue
		}
		better := false
		for range tries {
			if s.spent() || len(out.all) < 2 {
				return
			}
			if s.rebuild(out, hosts, g) {
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

// free are the hosts of each kind on which nothing stands.
func free(hosts []int, all []chosen) []int {
	left := slices.Clone(hosts)
	for _, c := range all {
		left[c.kind] -= c.count
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
func (s *search) exchange(out *found, hosts []int, g goal) bool {
	groups := slices.Clone(out.all)
	for k, n := range free(hosts, out.all) {
		if n > 0 {
			groups = append(groups, chosen{k, n, make(filling, s.kinds[k].slots())})
		}
	}
	values := make([]float64, len(groups))
	for i, c := range groups {
		values[i], _ = s.worth(c.kind, c.f, g)
	}
	for _, t := range s.trades(groups, g) {
		if s.spent() {
			return false
		}
		from, to := groups[t.from], groups[t.to]
		x, y := from.f.with(t.out, -1), to.f
		if t.from == t.to { // of two hosts that are filled alike
			y = from.f
		}
		y = y.with(t.in, 1)
		if t.back >= 0 {
			x, y = x.with(t.instead, 1), y.with(t.back, -1)
		}
		v, ok := s.worth(from.kind, x, g)
		if !ok {
			continue
		}
		w, ok := s.worth(to.kind, y, g)
		before := values[t.from] + values[t.to]
		if !ok || v+w <= before+1e-9*math.Abs(before) {
			continue
		}
		out.all[t.from].count--
		if t.to < len(out.all) {
			out.all[t.to].count--
		}
		out.all = merged(append(out.all, chosen{from.kind, 1, x}, chosen{to.kind, 1, y}))
		out.value += v + w - before
		return true
	}
	return false
}

// mostTrades is how many trades are tried before a plan counts as one that none makes better.
const mostTrades = 200

// trades returns those that promise most, best first.
func (s *search) trades(groups []chosen, g goal) []trade {
	best := newTop[trade](mostTrades)
	hopes := make([][]float64, len(groups))
	for i, c := range groups {
		hopes[i] = s.kinds[c.kind].gradient(c.f, s.alone)
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
			one, other := s.kinds[from.kind], s.kinds[to.kind]
			paid := 0.0
			if g.price && from.f.total() == 1 { // one host fewer
				paid += one.price() / s.cheap
			}
			if g.price && to.f.total() == 0 {
				paid -= other.price() / s.cheap
			}
			for i, n := range from.f {
				if n == 0 {
					continue
				}
				d, _ := one.of(i)
				for drive := range other.able {
					j := other.slot(d, drive)
					if to.f[j] == mostOfOne {
						continue
					}
					gain := hope(b, j) - hope(a, i)
					best.add(gain+paid, trade{from: a, to: b, out: i, in: j, back: -1})
					if a >= b {
						continue
					}
					for back, n := range to.f {
						e, at := other.of(back)
						instead := one.slot(e, min(at, len(one.able)-1))
						if n > 0 && e != d && from.f[instead] < mostOfOne {
							best.add(gain+hope(a, instead)-hope(b, back), trade{a, b, i, j, back, instead})
						}
					}
				}
			}
		}
	}
	return best.sorted()
}

// rebuild takes one to three hosts apart and puts what stood there where it is worth most now; it keeps the result
// where that is better.
func (s *search) rebuild(out *found, hosts []int, g goal) bool {
	next := found{all: slices.Clone(out.all), left: slices.Clone(out.left)}
	for range 1 + s.random.IntN(3) {
		i := s.random.IntN(len(next.all))
		c := next.all[i]
		if c.count == 0 {
			continue
		}
		next.all[i].count--
		for d, n := range s.kinds[c.kind].counts(c.f) {
			next.left[d] += n
		}
	}
	next.all = merged(next.all)
	s.insert(&next, free(hosts, next.all), g)
	next.value = s.value(next.all, g)
	more := out.unplaced() - next.unplaced() // that stand
	if more < 0 || more == 0 && next.value <= out.value+1e-9*math.Abs(out.value) {
		return false
	}
	next.mixed = out.mixed
	*out = next
	return true
}
