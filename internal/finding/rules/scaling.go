package rules

import (
	_ "embed" // the sentences
	"fmt"
	"slices"

	"plimsoll/internal/finding/fact"
	"plimsoll/internal/finding/measured"
	"plimsoll/internal/finding/prose"
)

//go:embed scaling.tmpl
var scalingText string

// ScalingSentences are the sentences on what more instances do together.
var ScalingSentences = prose.NewSheet(scalingText)

// Scaled is what these sentences speak of.
type Scaled struct {
	Curve    fact.Scaling       `json:"curve"`
	From, To fact.ScalingPoint  `json:"-"` // of the valley
	Last     fact.ScalingPoint  `json:"-"`
	Unfair   *fact.ScalingPoint `json:"-"` // where the slowest instance gets least; nil where all get about the same
	Binding  []Binding          `json:"-"` // what keeps all together from doing more
}

// Binding is at which numbers of instances one resource binds; none for "".
type Binding struct {
	Resource  fact.Resource
	Instances []string
	Use       *fact.Use // at the largest number; nil where it has no limit
}

// Latencies reports whether it is known how long operations took.
func (s Scaled) Latencies() bool { return s.Last.P99NS > 0 }

// unfair is the share of an equal one below which the slowest instance is told of.
const unfair = 0.8

// Scaling says how much instances do together the more of them there are, and where
// more of them do less.
func Scaling(v *measured.View) []fact.Finding {
	var out []fact.Finding
	for _, s := range v.Scalings() {
		f := fact.Finding{
			ID: "scaling/" + s.Stack.Name + "/" + s.Workload, Case: "scaling", Kind: fact.KindScaling, Workload: s.Workload,
			Facts: scaledOf(v, s), Evidence: measured.Points(s.Cells...), Caveats: measured.MarksOf(s.Cells...),
		}
		if s.Stack.Name != "" {
			f.Stacks = []string{s.Stack.Name}
		}
		out = append(out, f)
	}
	return out
}

func scaledOf(v *measured.View, s measured.Scaling) *Scaled {
	told := &Scaled{Curve: v.Scaling(s)}
	valley := told.Curve.Valley
	for i, p := range told.Curve.Points {
		told.Last = p
		if valley != nil && p.Instances == valley.From {
			told.From = p
		}
		if valley != nil && p.Instances == valley.To {
			told.To = p
		}
		told.bind(p)
		if p.Weakest > 0 && p.Weakest < unfair && (told.Unfair == nil || p.Weakest < told.Unfair.Weakest) {
			told.Unfair = &told.Curve.Points[i]
		}
	}
	return told
}

// bind tells what binds at one number of instances more.
func (s *Scaled) bind(p fact.ScalingPoint) {
	at := slices.IndexFunc(s.Binding, func(b Binding) bool { return b.Resource == p.Binds })
	if at < 0 {
		at = len(s.Binding)
		s.Binding = append(s.Binding, Binding{Resource: p.Binds})
	}
	b := &s.Binding[at]
	b.Instances, b.Use = append(b.Instances, fmt.Sprint(p.Instances)), p.Use(p.Binds)
}

// carries draws the verdict of a run that asks how many instances a host carries: on
// one stack, of mixes that differ in their number. ok is false for any other run.
func carries(v *measured.View) (f fact.Finding, ok bool) {
	all := v.Scalings()
	if len(all) == 0 {
		return f, false
	}
	for _, c := range v.All() {
		if c.Stack != all[0].Stack || !v.Scaled(c.Workload.Name) {
			return f, false
		}
	}
	first := scaledOf(v, all[0])
	cells := all[0].Cells
	for _, s := range all {
		told := scaledOf(v, s)
		if told.Curve.Valley != nil {
			first, cells = told, s.Cells
			break
		}
	}
	f = fact.Finding{
		ID: "recommendation", Case: "carries", Kind: fact.KindRecommendation, Facts: Verdict{Carries: first},
		Evidence: measured.Points(cells...), Caveats: append(measured.MarksOf(cells...), doubts(v)...),
		Recommendation: &fact.Recommendation{Confidence: fact.Likely},
	}
	if name := all[0].Stack.Name; name != "" {
		f.Stacks = []string{name}
	}
	switch {
	case first.Curve.Open != "":
		f.Recommendation.Confidence = fact.TooEarly
	case first.Curve.Valley != nil && first.Curve.Valley.Cause != fact.CauseUnknown && first.Curve.Line.Decided():
		f.Recommendation.Confidence = fact.Sure
	}
	return f, true
}
