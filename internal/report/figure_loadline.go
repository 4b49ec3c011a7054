package report

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"plimsoll/internal/finding/fact"
	"plimsoll/internal/units"
)

// Classes of the load line's figure.
const (
	classCarries = "carries" // the load line, and where it may lie
	classAlone   = "alone"   // what instances would do that are not in each other's way
	classDisc    = "disc"    // on the load line, as on ships
	classLimit   = "limit"   // what an objective asks for
	classMissed  = "missed"  // a number that does not meet it
	classGone    = "gone"    // a number of which no trial was completed
)

// Heights in CSS pixels.
const (
	loadLineHeight = 300
	stripRoom      = 46 // of the strip and its words, below the labels of the axis
	labelRow       = 14 // of the load line's name, from the top of the plot
)

// headroom is how much higher than the highest rate the plot is: for the load line's name.
const headroom = 1.22

// loadLine draws what all do together over their number, where the host's load line is, and
// what binds.
func (s scaledFigures) loadLine(reach float64) figure {
	scale := linearScale(reach)
	f := figure{
		Kind: figureLines, Title: "Throughput of " + s.name(), Note: "all instances together", Wide: true,
		Height: loadLineHeight, Bottom: 40 + stripRoom, X: s.x,
		Y: axis{Label: "operations/s", High: drawable(reach) * headroom, Ticks: valueTicks(scale.steps(5), rateText)},
	}
	for _, p := range s.Points {
		f.Marks = append(f.Marks, s.rateMark(p))
	}
	for _, n := range s.Missing {
		f.Marks = append(f.Marks, mark{X: float64(n), Class: classGone,
			Text: fmt.Sprintf("%s: no trial was completed", counted(n, "instance"))})
	}
	f.Guides = s.guides()
	f.Strip = s.strip()
	s.addLine(&f)
	s.addShape(&f)
	return f
}

func (s scaledFigures) rateMark(p fact.ScalingPoint) mark {
	m := mark{X: float64(p.Instances), Y: p.Rate, Low: p.RateLow, High: p.RateHigh}
	m.Text = fmt.Sprintf("%s: median %s/s", counted(p.Instances, "instance"), units.Exact(p.Rate))
	if p.RateHigh > 0 {
		m.Text += fmt.Sprintf(", interval %s to %s", units.Exact(p.RateLow), units.Exact(p.RateHigh))
	}
	m.Text += ", " + counted(p.BringUps, "bring-up")
	first := s.Points[0]
	if p.Instances != first.Instances {
		m.Text += fmt.Sprintf("; each does %s of what each of %d does", s.timesFirst(p), first.Instances)
	}
	missed := s.missed(p)
	if missed != "" {
		m.Class = classMissed
		m.Text += "; misses the objective: " + missed
	}
	return m
}

// missed says what of the objective a number of instances does not meet; "" for nothing.
func (s scaledFigures) missed(p fact.ScalingPoint) string {
	o := s.Line.Objective
	var all []string
	if o.TooSlow(p) {
		all = append(all, "p99 is "+latencyText(p.P99NS))
	}
	if o.TooLittle(p) {
		all = append(all, "each does "+rateOf(p.Rate/float64(p.Instances)))
	}
	return strings.Join(all, ", ")
}

// guides are what instances would do together that are not in each other's way, and what an
// objective asks of each.
func (s scaledFigures) guides() []guide {
	first := s.Points[0]
	each := first.Rate / float64(first.Instances)
	alone := guide{Class: classAlone, Y: func(n float64) float64 { return n * each }, Word: "each as one alone",
		Text: fmt.Sprintf("if each did as much as one alone: %s/s", units.Exact(each))}
	if first.Instances > 1 {
		alone.Word = fmt.Sprintf("each as with %d", first.Instances)
		alone.Text = fmt.Sprintf("if each did as much as with %d: %s/s", first.Instances, units.Exact(each))
	}
	all := []guide{alone}
	if least := s.Line.Objective.EachRate; least > 0 {
		all = append(all, guide{Class: classLimit, Y: func(n float64) float64 { return n * least },
			Word: "objective: each at " + units.Percent(s.Line.Objective.Standalone), Below: true,
			Text: fmt.Sprintf("the objective: each does at least %s/s", units.Exact(least))})
	}
	return all
}

// addLine draws the load line, and where it may lie.
func (s scaledFigures) addLine(f *figure) {
	l := s.Line
	if l.Instances == 0 {
		f.Notes = append(f.Notes, note{Class: classCarries, X: f.X.Low, Top: labelRow, Behind: true,
			Word: "load line: none", Text: "no number of instances that was measured meets the objective"})
		return
	}
	at := float64(l.Instances)
	word, text := fmt.Sprintf("load line: %d", l.Instances), "the load line: "+counted(l.Instances, "instance")
	switch {
	case l.Decided():
		text += fmt.Sprintf(", however %s are drawn anew", counted(l.BringUps, "bring-up"))
	case l.Low > 0:
		word += fmt.Sprintf(" (%d to %d)", l.Low, l.High)
		text += fmt.Sprintf("; 95%% interval %d to %d, of %s", l.Low, l.High, counted(l.BringUps, "bring-up"))
		f.Bands = append(f.Bands, band{Class: classCarries, X: &[2]float64{float64(l.Low), float64(l.High)},
			Text: fmt.Sprintf("the load line may lie anywhere from %d to %d instances", l.Low, l.High)})
	default:
		text += fmt.Sprintf("; %s are too few to say how sure that is", counted(l.BringUps, "bring-up"))
	}
	f.Bands = append(f.Bands, band{Class: classCarries, X: &[2]float64{at, at}, Text: text})
	f.Marks = append(f.Marks, mark{X: at, Y: s.rateAt(at), Class: classDisc})
	right := f.scale(f.X).at(at) > 45
	f.Notes = append(f.Notes, note{Class: classCarries, X: at, Top: labelRow, Word: word, Before: right, Behind: !right})
}

// addShape names where the curve bends, and where it falls.
func (s scaledFigures) addShape(f *figure) {
	if s.Rate != nil && s.Rate.Knee != nil {
		knee := s.Rate.Knee
		f.Notes = append(f.Notes, note{Class: "shape", X: knee.At, Y: s.rateAt(knee.At), Down: 26, Word: "knee",
			Text: kneeText("knee: more instances add less", *knee)})
	}
	v := s.Valley
	if v == nil {
		return
	}
	down := 24
	low := s.rateAt(float64(v.To))
	if low < 0.12*f.Y.High {
		down = -16
	}
	f.Notes = append(f.Notes, note{Class: "shape", X: float64(v.To), Y: low, Down: down,
		Word: "valley " + timesText(v.Ratio),
		Text: fmt.Sprintf("valley: %d instances together do %s what %d do", v.To, timesText(v.Ratio), v.From)})
}

func kneeText(what string, k fact.Knee) string {
	text := fmt.Sprintf("%s from about %s on", what, units.Significant(k.At))
	if k.Low != k.High {
		text += fmt.Sprintf(" (%s to %s)", units.Significant(k.Low), units.Significant(k.High))
	}
	return text
}

// rateAt is the rate on the line between the points.
func (s scaledFigures) rateAt(instances float64) float64 {
	return between(s.Points, instances, func(p fact.ScalingPoint) float64 { return p.Rate })
}

// between interpolates a value of the points.
func between(points []fact.ScalingPoint, instances float64, of func(fact.ScalingPoint) float64) float64 {
	i := slices.IndexFunc(points, func(p fact.ScalingPoint) bool { return float64(p.Instances) >= instances })
	switch {
	case i < 0:
		return of(points[len(points)-1])
	case i == 0:
		return of(points[0])
	}
	from, to := float64(points[i-1].Instances), float64(points[i].Instances)
	share := (instances - from) / (to - from)
	return of(points[i-1])*(1-share) + of(points[i])*share
}

func bindingClass(of fact.Resource) string {
	if of == "" {
		return "binds-nothing"
	}
	return "binds-" + strings.ReplaceAll(string(of), " ", "-")
}

// strip is what binds at each number: from halfway to the number before to halfway to the next.
// Where no trial was completed, there is nothing.
func (s scaledFigures) strip() (all []segment) {
	for _, p := range s.Points {
		from, to := s.around(p.Instances)
		one := segment{From: from, To: to, Class: bindingClass(p.Binds), Word: p.Binds.Word()}
		one.Text = counted(p.Instances, "instance") + ": " + s.bindingText(p)
		if last := len(all) - 1; last >= 0 && all[last].Class == one.Class && all[last].To == one.From {
			all[last].To = one.To
			all[last].Text += "; " + one.Text
			continue
		}
		all = append(all, one)
	}
	return all
}

// around is the stretch of the axis that belongs to a number of instances.
func (s scaledFigures) around(instances int) (from, to float64) {
	counts := slices.Clone(s.Missing)
	for _, p := range s.Points {
		counts = append(counts, p.Instances)
	}
	slices.Sort(counts)
	halfway := func(a, b float64) float64 {
		if s.x.Log {
			return math.Sqrt(a * b)
		}
		return (a + b) / 2
	}
	i := slices.Index(counts, instances)
	n := float64(instances)
	from, to = s.x.Low, s.x.High
	if i > 0 {
		from = halfway(float64(counts[i-1]), n)
	}
	if i < len(counts)-1 {
		to = halfway(n, float64(counts[i+1]))
	}
	switch { // at the ends, as far as on the other side
	case i == 0:
		from = max(from, s.mirrored(n, to))
	case i == len(counts)-1:
		to = min(to, s.mirrored(n, from))
	}
	return from, to
}

// mirrored is as far from a place on the axis as another, on the other side.
func (s scaledFigures) mirrored(place, other float64) float64 {
	if s.x.Log {
		return place * place / other
	}
	return 2*place - other
}

// bindingText says what binds, and how much of all that has a limit is used.
func (s scaledFigures) bindingText(p fact.ScalingPoint) string {
	text := p.Binds.Word()
	if p.Binds == "" {
		text = "nothing binds"
	} else {
		text += " binds"
	}
	u := p.Use(p.Binds)
	if u != nil && u.Limit > 0 {
		text += fmt.Sprintf(", %s used", units.Percent(u.Share()))
	}
	return text
}

// keys explain the load line's figure.
func (s scaledFigures) keys(f figure) []legendKey {
	keys := []legendKey{{classCarries, "load line, and where it may lie"}}
	keys = append(keys, legendKey{classAlone, f.Guides[0].Word})
	if !s.Line.Objective.None() {
		keys = append(keys, legendKey{classLimit, "objective"}, legendKey{classMissed, "misses it"})
	}
	if len(s.Missing) > 0 {
		keys = append(keys, legendKey{classGone, "no trial was completed"})
	}
	seen := map[fact.Resource]bool{}
	for _, p := range s.Points {
		if seen[p.Binds] {
			continue
		}
		seen[p.Binds] = true
		keys = append(keys, legendKey{bindingClass(p.Binds), p.Binds.Means()})
	}
	return keys
}
