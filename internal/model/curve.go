package model

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"plimsoll/internal/section"
	"plimsoll/internal/units"
	"plimsoll/internal/units/plural"
)

// Curve is answers over a factor.
type Curve struct {
	Over    Over         `json:"over"`
	Answers []CurvePoint `json:"answers"`
	Line    *LoadLine    `json:"load_line,omitempty"`
	NoLine  string       `json:"no_load_line,omitempty"` // why nobody knows it
}

// CurvePoint is an answer at a value of the factor; why there is none otherwise.
type CurvePoint struct {
	Value  float64 `json:"value"`
	Answer *Answer `json:"answer,omitempty"`
	Why    string  `json:"why,omitempty"`
}

// PredictOver asks over a factor, and, over the number of instances, for the load line: within p99, in seconds, where
// that is above 0. The error is of a question that has no answer anywhere.
func (m *Model) PredictOver(ask Ask, over Over, p99 float64) (c Curve, err error) {
	c.Over = over
	answered := false
	for _, value := range over.Values {
		point := CurvePoint{Value: value}
		if point.Answer, err = m.Predict(over.At(ask, value)); err != nil {
			point.Why = err.Error()
		}
		answered = answered || err == nil
		c.Answers = append(c.Answers, point)
	}
	if !answered {
		return c, err
	}
	if over.Factor == "n" {
		line, err := m.LoadLine(ask, int(over.Values[len(over.Values)-1]), p99)
		var none *noLoadLine
		switch {
		case errors.As(err, &none):
			c.NoLine = none.why
		case err != nil:
			return c, err
		default:
			c.Line = &line
		}
	}
	return c, nil
}

// slowest is the tenant with the greatest p99.
func (a *Answer) slowest() TenantAnswer {
	worst := a.Tenants[0]
	for _, n := range a.Tenants {
		if n.P99.Value > worst.P99.Value {
			worst = n
		}
	}
	return worst
}

// Verdict says in a sentence what a curve over a limit comes to: the most, and with how little nine tenths of that
// are done.
func (c Curve) Verdict() string {
	var best, enough *CurvePoint
	for i := range c.Answers {
		if p := &c.Answers[i]; p.Answer != nil && (best == nil || p.Answer.Rate.Value > best.Answer.Rate.Value) {
			best = p
		}
	}
	for i := range c.Answers {
		if p := &c.Answers[i]; p.Answer != nil && float64(p.Answer.Rate.Value) >= asMuch*float64(best.Answer.Rate.Value) {
			enough = p
			break
		}
	}
	text := fmt.Sprintf("Most would be done with %s of %s: %s operations a second", c.Over.Text(best.Value), c.Over.Factor,
		units.Rate(float64(best.Answer.Rate.Value)))
	if enough != best {
		text += fmt.Sprintf("; nine tenths of that with %s", c.Over.Text(enough.Value))
	}
	return text + "."
}

// Interval is an estimate's as a table has it; "not known" where it is so wide that it says nothing, or is none.
func Interval(q section.Quantity, e Estimate, scale float64) section.Cell {
	low, high := scale*float64(e.Low), scale*float64(e.High)
	if !e.Told() {
		return section.Text(section.NotKnown)
	}
	return q.Between(low, high)
}

// Told reports whether the interval of an estimate says anything: it is known, and its ends are not worlds apart.
func (e Estimate) Told() bool {
	return float64(e.High) <= section.WidestKnown*float64(e.Low) && e.High > 0
}

// predicted is an estimate as a mark of a figure, with its interval where one is known.
func predicted(x float64, e Estimate, scale float64, text string) section.Mark {
	m := section.Mark{X: x, Y: scale * float64(e.Value), Text: text}
	if e.Told() {
		m.Low, m.High = scale*float64(e.Low), scale*float64(e.High)
	}
	return m
}

// Section shows the curve: a table and figures, with what was measured of the same beside it.
func (m *Model) Section(ask Ask, c Curve) *section.Section {
	head := c.Over.Factor
	x := section.Axis{Label: head, Of: section.Number, Log: true}
	switch {
	case head == "n":
		head = "instances"
		x = section.Axis{Label: head, Of: section.Count, Each: true}
	case c.Over.Unit == "B":
		x.Of = section.Bytes
	case c.Over.Unit == "B/s":
		x.Of = section.Bandwidth
	}
	t := section.Table{Caption: "predicted, not measured; intervals cover 90%", Columns: []section.Column{{Head: head},
		{Head: "ops/s"}, {Head: "90% interval", Text: true, Drop: 2}, {Head: "mean"}, {Head: "p99"},
		{Head: "interval of p99", Text: true, Drop: 1}, {Head: "binds", Text: true}, {Head: "mark", Text: true}}}
	rates, waits := section.Series{Name: "predicted"}, section.Series{Name: "predicted"}
	s := &section.Section{Title: "What they would do over " + head, Note: "On a host of " + ask.Kind().Describe() + "."}
	for i := range m.calibrations {
		s.Remarks = append(s.Remarks, section.Remark{Warn: true, Text: m.calibrations[i].Text()})
	}
	for i := range m.Classes {
		if f := &m.Classes[i]; f.Basis != nil && f.Name == ask.Tenants[0].Class {
			s.Remarks = append(s.Remarks, section.Remark{Warn: true, Text: f.Name + " is " + f.Basis.Text() + "."})
		}
	}
	for _, p := range c.Answers {
		a := p.Answer
		if a == nil {
			s.Remarks = append(s.Remarks, section.Remark{Warn: true, Text: c.Over.Text(p.Value) + ": " + p.Why})
			continue
		}
		worst, mark, binds := a.slowest(), "", string(a.Binds)
		if len(a.Outside) > 0 {
			mark = "extrapolated"
		}
		line := c.Line != nil && int(p.Value) == c.Line.Instances
		if line && mark != "" {
			mark = "load line, extrapolated"
		} else if line {
			mark = "load line"
		}
		if a.Chosen != nil {
			mark = strings.TrimPrefix(mark+", "+string(a.Chosen.Law), ", ")
		}
		if a.Binds == Clients {
			binds = section.None
		}
		t.Rows = append(t.Rows, section.Row{Strong: line, Cells: []section.Cell{section.Text(c.Over.Text(p.Value)),
			section.Text(units.Rate(float64(a.Rate.Value))), Interval(section.Count, a.Rate, 1),
			section.Latency.Positive(1e9 * float64(worst.Mean.Value)), section.Latency.Positive(1e9 * float64(worst.P99.Value)),
			Interval(section.Latency, worst.P99, 1e9), section.Text(binds), section.Text(mark)}})
		at := c.Over.Text(p.Value)
		rates.Marks = append(rates.Marks, predicted(p.Value, a.Rate, 1,
			fmt.Sprintf("%s %s: %s operations a second predicted", at,
				head, units.Rate(float64(a.Rate.Value)))))
		if worst.P99.Value > 0 {
			waits.Marks = append(waits.Marks, predicted(p.Value, worst.P99, 1e9,
				fmt.Sprintf("%s %s: p99 of %s predicted for %s", at,
					head, units.Latency(1e9*float64(worst.P99.Value)), worst.Class)))
		}
	}
	if c.NoLine != "" {
		s.Remarks = append(s.Remarks, section.Remark{Warn: true, Text: "no load line: " + c.NoLine})
	}
	seen, late := m.seenOver(ask, c)
	rate := section.Figure{Title: "Throughput", Note: "all together", X: x, Wide: true,
		Y:      section.Axis{Label: "operations/s", Of: section.Count},
		Series: withMarks(rates, seen)}
	wait := section.Figure{Title: "p99", Note: "of the class that waits longest, on a logarithmic scale", X: x, Wide: true,
		Y:      section.Axis{Label: "p99", Of: section.Latency, Log: true},
		Series: withMarks(waits, late)}
	if c.Line != nil && c.Line.Instances > 0 {
		rate.Bands = []section.Band{{Class: section.Carries, X: [2]float64{float64(c.Line.Low), float64(c.Line.High)},
			Text: fmt.Sprintf("the load line may lie from %d to %d", c.Line.Low, c.Line.High)},
			{Class: section.Carries, X: [2]float64{float64(c.Line.Instances), float64(c.Line.Instances)},
				Word: fmt.Sprintf("load line: %d", c.Line.Instances), Text: "the predicted load line"}}
		s.Keys = []section.Key{{Class: section.Carries, Text: "predicted load line, and where it may lie"}}
	}
	s.Figures, s.Tables = []section.Figure{rate, wait}, []section.Table{t}
	return s
}

func withMarks(all ...section.Series) (some []section.Series) {
	for _, s := range all {
		if len(s.Marks) > 0 {
			some = append(some, s)
		}
	}
	return some
}

// seenOver returns the measurements, over the factor, of a question's only class on the same host.
func (m *Model) seenOver(ask Ask, c Curve) (rates, waits section.Series) {
	rates.Name, waits.Name = "measured", "measured"
	if len(ask.Tenants) != 1 {
		return rates, waits
	}
	f, err := m.Find(ask.Tenants[0].Class)
	if err != nil {
		return rates, waits
	}
	for i := range f.Points {
		p := &f.Points[i]
		value := float64(p.Instances)
		asked := ask
		if c.Over.Factor != "n" {
			value, _ = limitOf(p.Host.limits(), c.Over.Factor)
		}
		asked = c.Over.At(asked, value)
		if asked.Host.limits() != p.Host.limits() || asked.Tenants[0].Count != p.Instances || asked.Tenants[0].Own != p.Own ||
			value < c.Over.Values[0] || value > c.Over.Values[len(c.Over.Values)-1] {
			continue
		}
		mean := func(of func(*Unit) Number) (sum float64) {
			for j := range p.Units {
				sum += float64(of(&p.Units[j])) / float64(len(p.Units))
			}
			return sum
		}
		rate, p99 := mean(func(u *Unit) Number { return u.Rate }), mean(func(u *Unit) Number { return u.P99 })
		at := c.Over.Text(value)
		rates.Marks = append(rates.Marks, section.Mark{X: value, Y: rate, Text: at + ": " + units.Rate(rate) +
			" operations a second measured"})
		if p99 > 0 {
			waits.Marks = append(waits.Marks, section.Mark{X: value, Y: 1e9 * p99, Text: at + ": p99 of " +
				units.Latency(1e9*p99) +
				" measured"})
		}
	}
	return rates, waits
}

// Held shows each point that was left out of a fit, and what the others said of it.
func (f *Fitted) Held() *section.Section {
	t := section.Table{Caption: "each left out, and what the others said of it",
		Columns: []section.Column{{Head: "instances"}, {Head: "clients", Means: "of each instance"},
			{Head: "memory each"}, {Head: "measured"}, {Head: "said"}, {Head: "90% interval", Text: true},
			{Head: "off"}, {Head: "line", Means: "what a straight line between the points beside it is off", Drop: 3},
			{Head: "Gunther", Means: "what Gunther's law, fitted to the others of the same host, is off", Drop: 2},
			{Head: "host", Text: true, Means: "what it had that most others had not", Drop: 1}}}
	off := func(said, seen Number) section.Cell {
		if math.IsNaN(float64(said)) {
			return section.Cell{}
		}
		return section.Text(fmt.Sprintf("%+.1f%%", 100*(float64(said/seen)-1)))
	}
	// Over what differs between the points: their instances, or else their memory.
	x, at := section.Axis{Label: "instances", Of: section.Count}, func(h Held) float64 { return float64(h.Instances) }
	if !slices.ContainsFunc(f.Check.Held, func(h Held) bool { return h.Instances != f.Check.Held[0].Instances }) {
		x = section.Axis{Label: "memory each", Of: section.Bytes, Log: true}
		at = func(h Held) float64 { return max(1, float64(h.Memory)) }
	}
	load, _ := f.load()
	levels := slices.ContainsFunc(f.Points, func(p Point) bool { return p.Clients != load })
	inner, outer := section.Series{Name: "between others"}, section.Series{Name: "beyond all others"}
	for i, h := range f.Check.Held {
		said := section.Cell{}
		if !math.IsNaN(float64(h.Said.Value)) {
			said = section.Text(units.Rate(float64(h.Said.Value)))
			m := predicted(at(h), h.Said, 1/float64(h.Seen),
				fmt.Sprintf("%s, %s of memory each: %s said, %s measured",
					plural.Count(h.Instances, "instance"), units.Bytes(uint64(h.Memory)), units.Rate(float64(h.Said.Value)),
					units.Rate(float64(h.Seen))))
			if h.Beyond {
				outer.Marks = append(outer.Marks, m)
			} else {
				inner.Marks = append(inner.Marks, m)
			}
		}
		clients := section.Cell{}
		if levels {
			clients = section.Count.Cell(float64(f.Points[i].Clients))
		}
		t.Rows = append(t.Rows, section.Row{Warn: h.Seen < h.Said.Low || h.Seen > h.Said.High, Cells: []section.Cell{
			section.Count.Cell(float64(h.Instances)), clients, section.Bytes.Cell(float64(h.Memory)),
			section.Text(units.Rate(float64(h.Seen))),
			said, Interval(section.Count, h.Said, 1), off(h.Said.Value, h.Seen), off(h.Linear, h.Seen), off(h.Gunther, h.Seen),
			section.Text(f.Points[i].Host.Beside(f.Measured()))}})
	}
	return &section.Section{Title: f.Name + ": what was said of points that were left out",
		Tables: []section.Table{t.Known()},
		Figures: []section.Figure{{Title: "Said over measured", Note: "1 is what was measured; intervals cover 90%",
			X: x, Y: section.Axis{Label: "said / measured",
				Of: section.Times, Log: true},
			Series: withMarks(inner, outer), Levels: []section.Level{{Class: section.Alone, Y: 1, Text: "what was measured"}},
			Wide: true}}}
}

// WorthSection shows how much more all would do for one percent more of each resource, and what is used of it.
func (a *Answer) WorthSection(title string) *section.Section {
	t := section.Table{Caption: "for one percent more of each, by how many percent all would do more",
		Columns: []section.Column{
			{Head: "of", Text: true}, {Head: "more"}, {Head: "90% interval", Text: true}, {Head: "used",
				Means: "share of what there is"}}}
	fill := section.Fill{Caption: title}
	most := 0.0
	for _, w := range a.Worth {
		most = max(most, float64(w.Power.Value))
	}
	for _, w := range a.Worth {
		name := string(w.Resource)
		if w.Name != "" {
			name += " of " + w.Name
		}
		used := section.Cell{}
		for _, u := range a.Used {
			if u.Name == w.Name && (u.Resource == w.Resource || w.Resource == Drives) {
				used = section.Share.Cell(float64(u.Share))
				break
			}
		}
		value := float64(w.Power.Value)
		said := fmt.Sprintf("%.2f%%", value)
		if value > 0 && most > 0 {
			fill.Rows = append(fill.Rows, section.FillRow{Name: name, Bars: []section.FillBar{{Of: "more by", Size: 1,
				Text:  said,
				Parts: []section.FillPart{{Share: value / most, Text: name + ": " + said}}}}})
		}
		t.Rows = append(t.Rows, section.Row{Cells: []section.Cell{section.Text(name), section.Text(said),
			section.Text(w.Between()), used}})
	}
	s := &section.Section{Title: title, Tables: []section.Table{t}}
	if len(fill.Rows) > 0 {
		s.Fill = []section.Fill{fill}
	}
	return s
}

// Between returns the interval of what one percent more buys, in words.
func (w Worth) Between() string {
	if math.IsNaN(float64(w.Power.Low)) {
		return section.NotKnown
	}
	return fmt.Sprintf("%.2f%% to %.2f%%", float64(w.Power.Low), float64(w.Power.High))
}

// Sections show an answer: what each class would do, and what would help.
func (a *Answer) Sections() []*section.Section {
	t := section.Table{Caption: "predicted, not measured; intervals cover 90%", Columns: []section.Column{
		{Head: "class", Text: true}, {Head: "instances"}, {Head: "memory each"}, {Head: "ops/s"},
		{Head: "90% interval", Text: true, Drop: 2}, {Head: "mean"}, {Head: "p99"}, {Head: "interval of p99", Text: true,
			Drop: 1}}}
	for i, n := range a.Tenants {
		t.Rows = append(t.Rows, section.Row{Cells: []section.Cell{section.Text(n.Class), section.Count.Cell(float64(n.Count)),
			section.Bytes.Positive(float64(a.Memories[i])), section.Text(units.Rate(float64(n.Rate.Value))),
			Interval(section.Count,
				n.Rate, 1),
			section.Latency.Positive(1e9 * float64(n.Mean.Value)), section.Latency.Positive(1e9 * float64(n.P99.Value)),
			Interval(section.Latency, n.P99, 1e9)}})
	}
	each := &section.Section{Title: "Each class", Tables: []section.Table{t}}
	for _, what := range a.Recorded {
		each.Remarks = append(each.Remarks, section.Remark{Warn: true, Text: what + "."})
	}
	for _, what := range a.Unknown {
		each.Remarks = append(each.Remarks, section.Remark{Warn: true, Text: "not known: " + what})
	}
	for _, why := range a.Outside {
		each.Remarks = append(each.Remarks, section.Remark{Warn: true, Text: "extrapolated: " + why})
	}
	if by := a.By(); by != "" {
		each.Remarks = append(each.Remarks, section.Remark{Warn: true, Text: by})
	}
	return []*section.Section{each, a.WorthSection("What would help")}
}
