package placement

import (
	"fmt"
	"math"

	"plimsoll/internal/units"
)

// explain says of each group of containers why it stands where it does: what all would lose, were one of them on
// the host where that costs least.
func (s *search) explain(p *Plan, f found) {
	groups := append([]chosen{}, f.all...)
	for k, n := range free(s.hosts(), f.all) {
		if n > 0 {
			groups = append(groups, chosen{k, n, make(filling, s.kinds[k].slots())})
		}
	}
	g := s.usual()
	for i := range min(len(p.Hosts), mostIntervals) {
		c := f.all[i]
		kind := s.kinds[c.kind]
		for j := range p.Hosts[i].Stands {
			st := &p.Hosts[i].Stands[j]
			slot := 0
			for v, drive := range kind.able {
				if drive == st.drive {
					slot = kind.slot(st.demand, v)
				}
			}
			less := c.f.with(slot, -1)
			before, _ := s.worth(c.kind, c.f, g)
			gone, ok := s.worth(c.kind, less, g)
			if !ok {
				st.Why = "others here are to have one of them beside them"
				continue
			}
			best, where, why := math.Inf(-1), "", ""
			for b, other := range groups {
				to := s.kinds[other.kind]
				at, was := other.f, 0.0
				if b == i { // another drive of the same host
					at = less
				}
				if b != i {
					was, _ = s.worth(other.kind, other.f, g)
					was -= gone
				}
				for drive := range to.able {
					into := to.slot(st.demand, drive)
					if b == i && into == slot || at[into] == mostOfOne {
						continue
					}
					after := at.with(into, 1)
					v, ok := s.worth(other.kind, after, g)
					if !ok {
						if why == "" {
							why = to.fill(after, s.alone).clash
						}
						continue
					}
					if change := v - was - before; change > best {
						best, where = change, placeOf(to, other, drive, b == i)
					}
				}
			}
			st.Why = s.reason(best, where, why, p)
		}
	}
}

// placeOf names a place for a sentence.
func placeOf(k *kind, c chosen, drive int, same bool) string {
	where := "another " + k.Name
	if k.Count == 1 {
		where = k.Name
	}
	switch {
	case same:
		where = "the other drive"
	case c.f.total() == 0:
		where = "an empty " + k.Name
	}
	if d := k.able[drive]; d >= 0 && len(k.able) > 1 {
		where += ", drive " + k.Is.Drives[d].Name
	}
	return where
}

func (s *search) reason(best float64, where, why string, p *Plan) string {
	switch {
	case math.IsInf(best, -1) && why != "":
		return "no other host takes one more: " + why
	case math.IsInf(best, -1):
		return "there is no other place"
	case s.fleet.Objective == FewHosts && best < -s.cheap*float64(p.Rate.Value): // more than any change of rates is worth
		return "on another place it would take one more host:  " + where
	case s.fleet.Objective == FewHosts:
		best /= s.cheap
	}
	share := best / float64(p.Rate.Value)
	if math.Abs(share) < 1e-4 {
		return "as good as on " + where
	}
	word := "fewer"
	if best > 0 {
		word = "more"
	}
	return fmt.Sprintf("on %s, all would do %s %s operations a second (%s)", where, units.Rate(math.Abs(best)), word,
		units.Percent(math.Abs(share)))
}
