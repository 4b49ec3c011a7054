package rules

import (
	_ "embed" // the sentences
	"fmt"
	"slices"

	"plimsoll/internal/finding/elasticity"
	"plimsoll/internal/finding/fact"
	"plimsoll/internal/finding/measured"
	"plimsoll/internal/finding/prose"
	"plimsoll/internal/stats"
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
	Beyond   *fact.ScalingPoint `json:"-"` // the fewest beyond the load line, if they miss its objective; nil otherwise
}

// Binding is at which numbers of instances one resource binds; none for "".
type Binding struct {
	Resource  fact.Resource
	Instances []string
	Use       *fact.Use // at the largest number; nil where it has no limit
}

// Latencies reports whether it is known how long operations took.
func (s Scaled) Latencies() bool { return s.Last.P99NS > 0 }

// TimesAlone is which share each instance of a point does of what one alone does.
func (s Scaled) TimesAlone(p fact.ScalingPoint) float64 {
	return p.Rate / float64(p.Instances) / s.Curve.Points[0].Rate
}

// Scaling says how much instances do together the more of them there are, and where
// more of them do less.
func Scaling(v *measured.View) []fact.Finding {
	var out []fact.Finding
	for _, s := range v.Scalings() {
		told := scaledOf(v, s)
		f := fact.Finding{
			ID: "scaling/" + s.Stack.Name + "/" + told.Curve.Workload, Case: "scaling", Kind: fact.KindScaling, Workload: s.Workload,
			Facts: told, Scaling: &told.Curve, Evidence: measured.Points(s.Cells...), Caveats: measured.MarksOf(s.Cells...),
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
		o, line := told.Curve.Line.Objective, told.Curve.Line.Instances
		if told.Beyond == nil && told.reached(i, line) && (o.TooSlow(p) || o.TooLittle(p)) {
			told.Beyond = &told.Curve.Points[i]
		}
		if p.Weakest > 0 && p.Weakest < measured.Unfair && (told.Unfair == nil || p.Weakest < told.Unfair.Weakest) {
			told.Unfair = &told.Curve.Points[i]
		}
	}
	return told
}

// reached reports whether a point is the first beyond so many instances.
func (s *Scaled) reached(point, instances int) bool {
	points := s.Curve.Points
	return points[point].Instances > instances && (point == 0 || points[point-1].Instances <= instances)
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
		ID: "recommendation", Case: "carries", Kind: fact.KindRecommendation, Facts: Verdict{Carries: first, Moves: elasticity.Moves(v, cells)},
		Evidence: measured.Points(cells...), Caveats: append(measured.MarksOf(cells...), doubts(v)...),
		Recommendation: &fact.Recommendation{Confidence: fact.Likely},
	}
	if name := all[0].Stack.Name; name != "" {
		f.Stacks = []string{name}
	}
	f.Recommendation.Confidence = first.confidence()
	return f, true
}

// confidence is how sure it is how many instances the host carries. Where they are to meet an
// objective, the curve of all need not be known.
func (s *Scaled) confidence() fact.Confidence {
	line, valley := s.Curve.Line, s.Curve.Valley
	switch {
	case line.Objective.Unknown(), !line.Objective.None() && line.BringUps < stats.FewestPairs:
		return fact.TooEarly
	case s.Beyond != nil && (line.Decided() || line.Instances == 0 && len(line.Odds) == 0):
		return fact.Sure
	case s.Beyond != nil:
		return fact.Likely
	case s.Curve.Open != "" && line.Objective.None():
		return fact.TooEarly
	case valley == nil && line.Full() && line.Decided(), valley != nil && valley.Cause != fact.CauseUnknown && line.Decided():
		return fact.Sure
	}
	return fact.Likely
}
