package traced

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"plimsoll/internal/result"
)

// The mean of several trials is that of all their I/Os, and still closes.
func TestTracedTrialsTogether(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var breakdowns []result.Breakdown
		var ios, total, device float64
		for range rapid.IntRange(1, 5).Draw(t, "trials") {
			b := result.Breakdown{IOs: rapid.Uint64Range(1, 1e7).Draw(t, "ios"),
				TotalNS: rapid.Float64Range(1, 1e9).Draw(t, "total"), PerIO: 1}
			b.ResidueNS = b.TotalNS
			for _, name := range partNames {
				if name == result.PartDevice || rapid.Bool().Draw(t, string(name)) {
					p := result.TracePart{Name: name, MeanNS: rapid.Float64Range(0, 1e9).Draw(t, "mean")}
					b.Parts = append([]result.TracePart{p}, b.Parts...) // in whatever order
					b.ResidueNS -= p.MeanNS
					if name == result.PartDevice {
						device += p.MeanNS * float64(b.IOs)
					}
				}
			}
			ios += float64(b.IOs)
			total += b.TotalNS * float64(b.IOs)
			breakdowns = append(breakdowns, b)
		}
		p := together(point{}, breakdowns)
		near := func(got, want float64) bool { return math.Abs(got-want) <= 1e-6*(1+math.Abs(want)) }
		if ns, _ := p.part(result.PartDevice); !near(p.TotalNS, total/ios) || !near(ns, device/ios) || !near(p.PerIO, 1) ||
			p.Trials != len(breakdowns) || p.IOs != uint64(ios) {
			t.Errorf("%+v of %+v", p, breakdowns)
		}
		sum := p.ResidueNS
		for i, part := range p.Parts {
			sum += part.MeanNS
			if i > 0 && slices.Index(partNames, part.Name) <= slices.Index(partNames, p.Parts[i-1].Name) {
				t.Errorf("%s stands behind %s", part.Name, p.Parts[i-1].Name)
			}
		}
		if math.Abs(sum-p.TotalNS) > 1e-6*(1e9+math.Abs(p.TotalNS)) {
			t.Errorf("parts and residue are %v, the total is %v", sum, p.TotalNS)
		}
	})
}

// What trials lack is told once, though its numbers differ.
func TestWhatTracesLackIsToldOnce(t *testing.T) {
	run := &result.Run{}
	for _, missing := range [][]string{{"write: 80% of its calls", "read: 80% of its calls"}, {"write: 90% of its calls"},
		nil} {
		run.Trials = append(run.Trials, result.Trial{Status: result.TrialDone, Trace: &result.Trace{Missing: missing}})
	}
	if got, want := lacks(run), []string{"not known: write: 80% of its calls (2 trials)",
		"not known: read: 80% of its calls (1 trial)"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
