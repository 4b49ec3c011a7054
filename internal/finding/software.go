package finding

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"plimsoll/internal/result"
	"plimsoll/internal/stats"
	"plimsoll/internal/units"
)

// software tells, for each workload, how much of what an I/O takes on each
// stack is software, and which part of it most.
func software(v *view) []Finding {
	var out []Finding
	for _, w := range v.workloads {
		for _, d := range directions {
			if spans := v.spans(w.Name, d); len(spans) > 0 {
				out = append(out, v.software(w, d, spans))
			}
		}
	}
	return out
}

func (v *view) software(w result.Workload, d direction, spans []*span) Finding {
	f := Finding{ID: "software/" + w.Name + "/" + d.noun, Kind: KindTime, Workload: w.Name, Caveats: partCaveats(spans...)}
	slices.SortStableFunc(spans, func(a, b *span) int { return cmp.Compare(a.share().median, b.share().median) })
	var whys []string
	var closed []*span
	for _, s := range spans {
		f.Stacks, f.Evidence = append(f.Stacks, s.stack.Name), append(f.Evidence, s.point)
		if !s.closes() {
			whys = append(whys, fmt.Sprintf("%s: no share, since the parts do not close: %s (%s)", s.stack.Name, units.Latency(s.median(totalLatency)), s.account()))
			continue
		}
		closed = append(closed, s)
		whys = append(whys, fmt.Sprintf("%s: %s of %s (%s); %s", s.stack.Name, s.share(), units.Latency(s.median(totalLatency)), s.account(), s.largest()))
	}
	switch len(closed) {
	case 0:
		f.Title = fmt.Sprintf("What of %s is software is not known: the parts of its latency do not close: %s", d.one, w.Name)
	case 1:
		s := closed[0]
		f.Title = fmt.Sprintf("Software takes %s of %s on %s: %s; %s", s.share(), d.one, s.stack.Name, w.Name, s.largest())
	default:
		least, most := closed[0], closed[len(closed)-1]
		there := "there"
		if e, ok := v.effect("time in software", most.stack.Name, least.stack.Name, most.sample(softwareTime), least.sample(softwareTime)); ok {
			f.Effect = &e
			if !e.Differs {
				there = "they cannot be told apart (~); on " + most.stack.Name
			}
			whys = append(whys, fmt.Sprintf("Software on %s takes %s of its time on %s", most.stack.Name, shortRatio(e), least.stack.Name))
		}
		f.Title = fmt.Sprintf("Software takes from %s of %s on %s to %s on %s: %s; %s, %s",
			least.share(), d.one, least.stack.Name, most.share(), most.stack.Name, w.Name, there, most.largest())
	}
	f.Why = strings.Join(whys, ". ") + ". Software is the mean total latency less the device's part and the fabric's, so that what no part explains counts as software. Medians over the trials, with their intervals."
	if slices.ContainsFunc(closed, func(s *span) bool { return s.share().interval.Coverage < stats.Confidence }) {
		f.Caveats = append(f.Caveats, "so few trials give no intervals of 95%: repeat 6 times or more")
	}
	return f
}

// share is software's share of the latency.
func (s *span) share() estimate {
	return newEstimate(s.values(func(b *result.Breakdown) float64 { return softwareTime(b) / b.TotalNS }), signedPercent)
}

// signedPercent writes a share that may be negative: a device can seem to take
// longer than the application waited when the parts do not close.
func signedPercent(share float64) string {
	if share < 0 {
		return "-" + units.Percent(-share)
	}
	return units.Percent(share)
}

// largest names the largest part of software.
func (s *span) largest() string {
	best, most := "", 0.0
	for _, p := range s.pieces(s.halved()) {
		if p.name == string(result.PartDevice) || p.name == string(result.PartFabric) || p.name == string(result.PartTarget) {
			continue
		}
		if ns := s.median(p.of); ns > most {
			best, most = p.noun, ns
		}
	}
	if s.residue() > most {
		return fmt.Sprintf("most of it, %s, no part explains", units.Latency(s.residue()))
	}
	if best == "" {
		return "no part of it was seen"
	}
	return fmt.Sprintf("the largest part of it is %s, %s", best, units.Latency(most))
}
