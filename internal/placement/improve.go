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

// exchange makes the first move of one container to another host, or swap of two, that makes the plan better.
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
	order := s.random.Perm(len(groups) * len(groups))
	for _, pair := range order {
		a, b := pair/len(groups), pair%len(groups)
		if a == b && groups[a].count < 2 || groups[a].f.total() == 0 {
			continue
		}
		from, to := groups[a], groups[b]
		better := func(x, y filling) bool {
			if s.spent() {
				return false
			}
			v, ok := s.worth(from.kind, x, g)
			if !ok {
				return false
			}
			w, ok := s.worth(to.kind, y, g)
			before := values[a] + values[b]
			if !ok || v+w <= before+1e-9*math.Abs(before) {
				return false
			}
			out.all[a].count--
			if b < len(out.all) {
				out.all[b].count--
			}
			out.all = merged(append(out.all, chosen{from.kind, 1, x}, chosen{to.kind, 1, y}))
			out.value += v + w - before
			return true
		}
		for i := range from.f {
			if from.f[i] == 0 {
				continue
			}
			d, _ := s.kinds[from.kind].of(i)
			less := from.f.with(i, -1)
			for drive := range s.kinds[to.kind].able {
				j := s.kinds[to.kind].slot(d, drive)
				if to.f[j] < mostOfOne && better(less, to.f.with(j, 1)) {
					return true
				}
			}
			if a >= b {
				continue
			}
			for j := range to.f {
				other, drive := s.kinds[to.kind].of(j)
				if to.f[j] == 0 || other == d {
					continue
				}
				back := s.kinds[from.kind].slot(other, min(drive, len(s.kinds[from.kind].able)-1))
				in := s.kinds[to.kind].slot(d, drive)
				if less[back] < mostOfOne && to.f[in] < mostOfOne && better(less.with(back, 1), to.f.with(j, -1).with(in, 1)) {
					return true
				}
			}
		}
	}
	return false
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
