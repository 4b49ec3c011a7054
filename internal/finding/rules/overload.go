package rules

import (
	_ "embed" // the sentences
	"fmt"

	"plimsoll/internal/finding/fact"
	"plimsoll/internal/finding/measured"
	"plimsoll/internal/finding/prose"
	"plimsoll/internal/stats"
	"plimsoll/internal/units"
)

//go:embed overload.tmpl
var overloadText string

// OverloadSentences are the sentences on which rates a host keeps.
var OverloadSentences = prose.NewSheet(overloadText)

// Rated is what these sentences speak of.
type Rated struct {
	Overload fact.Overload `json:"overload"`
}

// At is what became of the highest rate that is kept; nil where none is.
func (r Rated) At() *fact.OverloadPoint { return r.Overload.Point(r.Overload.Kept) }

// Broken is what became of the lowest rate that is not kept; nil where all are.
func (r Rated) Broken() *fact.OverloadPoint { return r.Overload.Point(r.Overload.Breaks) }

// Last is what became of the highest rate.
func (r Rated) Last() fact.OverloadPoint { return r.Overload.Points[len(r.Overload.Points)-1] }

// Hidden is the highest rate that is not kept of which a closed loop would have shown far shorter
// latencies; nil for none.
func (r Rated) Hidden() *fact.OverloadPoint {
	last := r.Last()
	if last.Kept || !(last.ServiceNS > 0) || last.P99NS < hides*last.ServiceNS {
		return nil
	}
	return &last
}

// hides is how many times as long latencies from the intended time are, where those from when
// operations were sent hide the wait.
const hides = 2

// Hindered are the rates that are not kept at which the generator was itself the bottleneck.
func (r Rated) Hindered() []string { return r.late(false) }

// Lagged are the rates that are kept although the generator was late: their latencies hold that.
func (r Rated) Lagged() []string { return r.late(true) }

func (r Rated) late(kept bool) (rates []string) {
	for _, p := range r.Overload.Points {
		if p.Late() && p.Kept == kept {
			rates = append(rates, units.Rate(p.Offered))
		}
	}
	return rates
}

// Few reports whether too few bring-ups tell which rate is kept.
func (r Rated) Few() bool { return r.Overload.BringUps < stats.FewestPairs }

// Decided reports whether all bring-ups say the same.
func (r Rated) Decided() bool { return r.Overload.Low == r.Overload.High }

// Overloads says which rate of operations instances keep up with, and what becomes of more.
func Overloads(v *measured.View) (out []fact.Finding) {
	for _, of := range v.Offereds() {
		out = append(out, overloadFinding(v, of))
	}
	return out
}

func overloadFinding(v *measured.View, of measured.Offered) fact.Finding {
	told := &Rated{v.Overload(of)}
	f := fact.Finding{
		ID:   fmt.Sprintf("overload/%s/%s-%d", of.Stack.Name, told.Overload.Workload, of.Instances),
		Case: "overload", Kind: fact.KindScaling, Workload: told.Overload.Workload, Facts: told, Overload: &told.Overload,
		Evidence: measured.Points(of.Cells...), Caveats: measured.MarksOf(of.Cells...),
	}
	if of.Stack.Name != "" {
		f.Stacks = []string{of.Stack.Name}
	}
	return f
}

// keeps draws the verdict of a run that asks which rate is kept: on one stack, of mixes that differ
// in their rate. ok is false for any other run.
func keeps(v *measured.View) (f fact.Finding, ok bool) {
	all := v.Offereds()
	if len(all) == 0 {
		return f, false
	}
	for _, c := range v.All() {
		if c.Stack != all[0].Stack || !v.OfferedAt(c.Workload.Name) {
			return f, false
		}
	}
	told := &Rated{v.Overload(all[0])}
	f = overloadFinding(v, all[0])
	f.ID, f.Case, f.Kind, f.Workload, f.Overload = "recommendation", "rates kept", fact.KindRecommendation, "", nil
	f.Facts = Verdict{Offered: told}
	f.Caveats = append(f.Caveats, doubts(v)...)
	f.Recommendation = &fact.Recommendation{Confidence: told.confidence(v)}
	return f, true
}

// confidence is how sure it is which rate is kept.
func (r *Rated) confidence(v *measured.View) fact.Confidence {
	switch {
	case r.Few():
		return fact.TooEarly
	case !r.Decided() || len(r.Hindered()) > 0 || r.Overload.Breaks == 0 || neighboursOf(v) != nil:
		return fact.Likely
	}
	return fact.Sure
}
