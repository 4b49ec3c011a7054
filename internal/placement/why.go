package placement

import (
	"fmt"
	"math"

	"plimsoll/internal/units"
)

// explain sets the reason of each group of containers for its host: what the fleet would lose with one of them on the
// host where that costs least.
func (s *search) explain(plan *Plan, outcome found) {
	groups := append([]chosen{}, outcome.groups...)
	for k, n := range free(s.hosts(), outcome.groups) {
		if n > 0 {
			groups = append(groups, chosen{k, n, make(filling, s.kinds[k].slots())})
		}
	}
	goal := s.usual()
	rate := func(kind *kind, fill filling) float64 {
		if fill.total() == 0 {
			return 0
		}
		return kind.judged(fill, s.alone).rate
	}
	total := operations{}
	for _, group := range outcome.groups {
		known := s.kinds[group.kind].judged(group.filling, s.alone)
		total.weighted += known.value * float64(group.count)
		total.rate += known.rate * float64(group.count)
	}
	for i := range min(len(plan.Hosts), mostIntervals) {
		group := outcome.groups[i]
		kind := s.kinds[group.kind]
		for j := range plan.Hosts[i].Stands {
			st := &plan.Hosts[i].Stands[j]
			if known := plan.Hosts[i].judged; len(known.breaches) > 0 {
				st.Why = known.whyOf(st.demand)
				continue
			}
			slot := 0
			for v, drive := range kind.able {
				if drive == st.drive {
					slot = kind.slot(st.demand, v)
				}
			}
			less := group.filling.adjusted(slot, -1)
			before, _ := s.worth(group.kind, group.filling, goal)
			gone, ok := s.worth(group.kind, less, goal)
			if !ok {
				st.Why = "containers on this host must have one of them next to them"
				continue
			}
			best, place, why := operations{weighted: math.Inf(-1)}, "", ""
			allowed := 0
			for _, spot := range s.spots(groups, st.demand) {
				target, targetSlot := spot.group, spot.slot
				other := groups[target]
				to := s.kinds[other.kind]
				from, was := other.filling, 0.0
				if target == i { // another drive of the same host
					from = less
				} else {
					was, _ = s.worth(other.kind, other.filling, goal)
					was -= gone
				}
				if target == i && targetSlot == slot || from[targetSlot] == mostOfOne {
					continue
				}
				after := from.adjusted(targetSlot, 1)
				value, ok := s.worth(other.kind, after, goal)
				if !ok {
					if why == "" {
						why = to.fill(after, s.alone).clash
					}
					continue
				}
				if change := value - was - before; change > best.weighted {
					_, drive := to.split(targetSlot)
					best = operations{weighted: change, rate: rate(to, after) - rate(kind, group.filling)}
					place = placeOf(to, other, drive, target == i)
					if target != i {
						best.rate += rate(kind, less) - rate(to, from)
					}
				}
				if allowed++; spot.known && allowed >= mostSpots {
					break
				}
			}
			st.Why = s.reason(best, total, place, why)
		}
	}
}

// whyOf returns what containers of a demand break, or that others beside them break something.
func (f *filled) whyOf(demand int) string {
	for _, b := range f.breaches {
		if b.demand == demand {
			return b.why
		}
	}
	return "others here break a limit: " + f.breaches[0].why
}

// placeOf returns the words for a place in a sentence.
func placeOf(kind *kind, group chosen, drive int, sameHost bool) string {
	place := "another " + kind.Name
	if kind.Count == 1 {
		place = kind.Name
	}
	switch {
	case sameHost:
		place = "the other drive"
	case group.filling.total() == 0:
		place = "an empty " + kind.Name
	}
	if d := kind.able[drive]; d >= 0 && len(kind.able) > 1 {
		place += ", drive " + kind.Is.Drives[d].Name
	}
	return place
}

// operations are operations a second: as they are counted, and each with its weight, or, for FewHosts, as a search
// values them.
type operations struct{ rate, weighted float64 }

// reason returns what the fleet would lose with a container on its best other place.
func (s *search) reason(best, total operations, place, why string) string {
	switch {
	case math.IsInf(best.weighted, -1) && why != "":
		return "no other host takes one more: " + why
	case math.IsInf(best.weighted, -1):
		return "there is no other place"
	case s.fleet.Objective == FewHosts && best.weighted < -s.cheap*total.weighted: // beyond any change of rates
		return "on another place it would take one more host: " + place
	case s.fleet.Objective == FewHosts:
		best.weighted /= s.cheap
	}
	if math.Abs(best.weighted) < 1e-4*total.weighted {
		return "as good as on " + place
	}
	change, base, noun := best.rate, total.rate, "operations"
	if (best.rate > 0) != (best.weighted > 0) { // weights decide
		change, base, noun = best.weighted, total.weighted, "weighted operations"
	}
	word := "fewer"
	if change > 0 {
		word = "more"
	}
	return fmt.Sprintf("on %s, all would do %s %s %s a second (%s)", place, units.Rate(math.Abs(change)), word, noun,
		units.Percent(math.Abs(change/base)))
}
