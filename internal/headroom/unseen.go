package headroom

import (
	"fmt"
	"slices"
	"time"

	"plimsoll/internal/recording"
	"plimsoll/internal/units"
	"plimsoll/internal/units/plural"
)

// unseen returns what the recording has not seen, and the answer does not guess.
func unseen(a *Answer, s *series) (missing []string) {
	r := s.recording
	var hours [24]bool
	days := map[time.Weekday]bool{}
	for _, t := range r.Times {
		hours[t.UTC().Hour()], days[t.UTC().Weekday()] = true, true
	}
	if n := countTrue(hours[:]); n < 24 {
		missing = append(missing, fmt.Sprintf("%s of the day", plural.Count(24-n, "hour")))
	}
	var missingDays []string
	for d := range time.Weekday(7) {
		if !days[d] {
			missingDays = append(missingDays, d.String())
		}
	}
	if len(missingDays) > 0 {
		missing = append(missing, "any "+plural.Or(missingDays))
	}
	if span := a.To.Sub(a.From); len(missingDays) == 0 && span < 28*24*time.Hour {
		missing = append(missing, "the end of a month, or any other peak that is rarer than the recording is long: "+
			units.Elapsed(span.Seconds()))
	}
	if a.IntervalSeconds > 1.5 {
		missing = append(missing, fmt.Sprintf("peaks shorter than an interval: %s", units.Elapsed(a.IntervalSeconds)))
	}
	if began := began(r); len(began) == 0 && len(s.services) > 0 {
		missing = append(missing, "a cold page cache: no container began while it was recorded")
	}
	if refaults, known := refaults(r); known && refaults == 0 {
		missing = append(missing, "a shortage of page cache: no page was read again soon after it was reclaimed")
	}
	if len(s.services) > 0 {
		missing = append(missing, "more data than now: reads that the page cache serves today may reach the drive")
	}
	for _, u := range a.Resources {
		if u.Capacity.Source == MostSeen && u.Resource == Operations {
			missing = append(missing, "what "+u.Drive+" can do: give --run of plimsoll run devices, or --drive with its data "+
				"sheet")
		}
		if u.AtCapacity >= 0.001 {
			missing = append(missing, fmt.Sprintf("what was wanted of %s in the %s of intervals at its capacity", u.Label(),
				units.SignificantPercent(u.AtCapacity)))
		}
	}
	return missing
}

func countTrue(flags []bool) (n int) {
	for _, b := range flags {
		if b {
			n++
		}
	}
	return n
}

// began returns the containers that began while they were recorded.
func began(r *recording.Recording) (names []string) {
	for _, c := range r.OfKind(recording.OfContainer) {
		values := c.Values(recording.CPU)
		for i := 1; i < len(values); i++ {
			if values[i] == values[i] && values[i-1] != values[i-1] {
				names = append(names, c.Thing.Label())
				break
			}
		}
	}
	return slices.Compact(names)
}

func refaults(r *recording.Recording) (sum float64, known bool) {
	for _, c := range r.OfKind(recording.OfContainer) {
		for _, v := range c.Values(recording.Refaults) {
			if v == v {
				sum, known = sum+float64(v), true
			}
		}
	}
	return sum, known
}
