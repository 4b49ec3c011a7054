// Package levels answers what one thing that mixes differ in does to them: the drive, a buffer's size, how many clients
// there are.
package levels

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"plimsoll/internal/fact"
	"plimsoll/internal/finding/prose"
	"plimsoll/internal/result"
	"plimsoll/internal/runview"
	"plimsoll/internal/section"
	"plimsoll/internal/stats"
	"plimsoll/internal/units"
	"plimsoll/internal/units/plural"
)

// Facts are the findings on mixes that differ in one factor.
type Facts struct {
	Factor   string   `json:"factor"`
	Series   []Series `json:"series"`
	Imported bool     `json:"imported,omitempty"` // they were imported, and hosts are those hosts

	rate string // what throughput is counted in: "ops/s"
}

// Series is mixes that differ in nothing but the factor.
type Series struct {
	Name   string  `json:"name"` // of the mixes, without the factor's level
	Points []Point `json:"points"`
	Best   int     `json:"best"` // the point that does most, beside the others in the same rounds
	// MayBeBest are the points that may be the one with the most throughput, by multiple comparisons with the best: Best
	// among them, and alone where it is known to be the best. All points are where nothing is known.
	MayBeBest []int `json:"may_be_best"`
}

// Point has the measurements of a mix at one level. Values are medians of setups.
type Point struct {
	Level string `json:"level"`
	Stack string `json:"stack,omitempty"` // "" for mixes that name their own
	Host  string `json:"host,omitempty"`  // the scaled-down host, for people; "" for the host itself

	fact.Summary         // against the first level
	Low          float64 `json:"low"` // interval of Rate; both are 0 where setups are too few for one
	High         float64 `json:"high"`
	CPUs         float64 `json:"cpus"`    // at work, of all instances
	Waiting      float64 `json:"waiting"` // share of the time in which an instance waited for I/O
}

// Find returns a finding for each factor.
func Find(v *runview.View) (out []fact.Finding) {
	for _, of := range v.Levelled() {
		f, told := find(v, of)
		f.Section = told.section()
		out = append(out, f)
	}
	return out
}

func find(v *runview.View, levelled runview.Levelled) (fact.Finding, *Facts) {
	facts := &Facts{Factor: levelled.Factor, Imported: v.Run.Imported != nil}
	var cells []*runview.Cell
	var effects []*fact.Effect
	for _, s := range levelled.Series {
		series := Series{Name: s.Name}
		var first *runview.Cell
		for _, level := range s.Levels {
			p := pointOf(v, level, first)
			first = s.Levels[0].Cell
			effects = append(effects, p.Throughput, p.P99)
			series.Points = append(series.Points, p)
		}
		series.Best, series.MayBeBest = v.BestOf(s.Cells())
		cells = append(cells, s.Cells()...)
		facts.Series = append(facts.Series, series)
	}
	v.AdjustTogether(effects)
	facts.rate = runview.RateUnit(cells...)
	names := plural.Words(facts.Series, func(s Series) string { return s.Name })
	return fact.Finding{
		ID: "levels/" + facts.Factor + "/" + strings.Join(names, "+"), Case: "levels", Kind: fact.KindScaling, Facts: facts,
		Title: facts.summary(), Why: facts.why(), Evidence: runview.Points(cells...), Caveats: runview.MarksOf(cells...),
	}, facts
}

func pointOf(v *runview.View, level runview.Level, first *runview.Cell) Point {
	c := level.Cell
	host := v.HostOf(c.Workload.Name)
	used := v.PointOf(host, c)
	return Point{Level: level.Name, Stack: c.Stack.Name, Host: runview.HostText(host), Summary: v.Summary(c, first),
		Low: used.RateLow, High: used.RateHigh, CPUs: used.CPUs, Waiting: used.IOPressure}
}

// Verdict draws the verdict of a run that asks what one factor does: all of its mixes differ in it, on a host that was
// quiet or not. ok is false for any other run.
func Verdict(v *runview.View, quiet bool) (f fact.Finding, facts *Facts, ok bool) {
	levelled := v.Levelled()
	if len(levelled) != 1 {
		return f, nil, false
	}
	f, facts = find(v, levelled[0])
	for _, c := range v.All() {
		if !facts.has(c.Workload.Name) {
			return f, nil, false
		}
	}
	f.ID, f.Case, f.Kind = "recommendation", "levels", fact.KindRecommendation
	f.Recommendation = &fact.Recommendation{Confidence: facts.confidence(quiet)}
	f.Title = prose.Capital(string(f.Recommendation.Confidence)) + ": " + facts.summary()
	if f.Recommendation.Confidence == fact.TooEarly {
		f.Title = fmt.Sprintf("Too early to say what %s does: trials differ too much", facts.Factor)
		if facts.tooFew() {
			f.Title = fmt.Sprintf("Too early to say what %s does: it takes %d setups of each to separate effects from chance",
				facts.Factor,
				stats.FewestPairs)
		}
	}
	return f, facts, true
}

// Next returns what is open of what the factor does.
func (f *Facts) Next(_ *result.Run, c fact.Confidence) fact.Next { return fact.MoreSetups(c) }

func (f *Facts) has(mix string) bool {
	for _, s := range f.Series {
		for _, p := range s.Points {
			if p.Mix == mix {
				return true
			}
		}
	}
	return false
}

// confidence is how sure it is what the factor does.
func (f *Facts) confidence(quiet bool) fact.Confidence {
	open := f.withEffect(Open)
	switch {
	case f.tooFew(), len(open) == len(f.Series):
		return fact.TooEarly
	case len(open) > 0 || !quiet:
		return fact.Likely
	}
	return fact.Sure
}

// tooFew reports whether some level has too few setups to tell anything.
func (f *Facts) tooFew() bool {
	return slices.ContainsFunc(f.Series, func(s Series) bool {
		return slices.ContainsFunc(s.Points, func(p Point) bool { return p.Throughput != nil && p.Throughput.TooFew })
	})
}

// FactorEffect classifies the effect of a factor on a series.
type FactorEffect string

// The effects of a factor.
const (
	Changes FactorEffect = "changes" // it does more at some level than at another
	Level   FactorEffect = "level"   // a large change is ruled out
	Open    FactorEffect = "open"    // it may change much, and may change nothing
)

// Effect returns the effect of the factor on the series, as far as it is significant.
func (s Series) Effect() FactorEffect {
	does := Level
	for _, p := range s.Points {
		switch e := p.Throughput; {
		case e == nil:
		case e.TooFew:
			return Open
		case e.Differs && len(s.MayBeBest) < len(s.Points):
			return Changes
		case runview.MayBeLarge(*e):
			does = Open
		}
	}
	return does
}

// MayChange returns by how much its rate changes at most from the first level to another, as a share.
func (s Series) MayChange() (largest float64) {
	for _, p := range s.Points {
		if p.Throughput != nil {
			largest = max(largest, p.Throughput.MayChange())
		}
	}
	return largest
}

// withEffect returns the series that the factor has an effect on.
func (f *Facts) withEffect(effect FactorEffect) (all []Series) {
	return slices.DeleteFunc(slices.Clone(f.Series), func(s Series) bool { return s.Effect() != effect })
}

// bestLevels names the levels that may do most, with their factor: a range where they are next to each other.
func (s Series) bestLevels(factor string) string {
	levels := plural.Words(s.MayBeBest, func(i int) string { return s.Points[i].Level })
	first, last := s.MayBeBest[0], s.MayBeBest[len(levels)-1]
	if len(levels) > 1 && last-first == len(levels)-1 {
		return fmt.Sprintf("%s %s to %s", factor, levels[0], levels[len(levels)-1])
	}
	return factor + " " + plural.Or(levels)
}

// summary has the levels of each series that may be the best, and what the best is of the first one.
func (f *Facts) summary() string {
	var clauses []string
	for _, s := range f.withEffect(Changes) {
		first, best := s.Points[0], s.Points[s.Best]
		clause := fmt.Sprintf("%s does most at %s, %s a second", s.Name, s.bestLevels(f.Factor), units.Rate(best.Rate))
		if len(s.MayBeBest) > 1 {
			clause += " at " + best.Level
		}
		if s.Best > 0 && best.Throughput.Differs {
			clause += fmt.Sprintf(", %s times what it does at %s", units.Times(best.Throughput.Ratio), first.Level)
		}
		clauses = append(clauses, clause)
	}
	name := func(s Series) string { return s.Name }
	if level := f.withEffect(Level); len(level) > 0 {
		largest := 0.0
		for _, s := range level {
			largest = max(largest, s.MayChange())
		}
		clauses = append(clauses, fmt.Sprintf("%s %s by at most %s from %s %s to another", plural.List(level, name),
			plural.Choose(len(level), "changes", "change"), prose.AtMost(largest), f.Factor, level[0].Points[0].Level))
	}
	if open := f.withEffect(Open); len(open) > 0 {
		clauses = append(clauses, fmt.Sprintf("what %s does to %s is not known yet", f.Factor, plural.List(open, name)))
	}
	return strings.Join(clauses, "; ")
}

// why has a line for each series.
func (f *Facts) why() string {
	return strings.Join(plural.Words(f.Series, func(s Series) string {
		return s.Name + ": " + strings.Join(plural.Words(s.Points, func(p Point) string {
			text := fmt.Sprintf("%s a second at %s", units.Rate(p.Rate), p.Level)
			if p.Throughput != nil {
				text += fmt.Sprintf(" (%s)", p.Throughput.Written())
			}
			return text
		}), ", ") + "."
	}), "\n")
}

// section has a table of all mixes, and a figure: curves where levels are numbers, and ratios else.
func (f *Facts) section() *section.Section {
	s := &section.Section{Title: "What " + f.Factor + " does", Tables: []section.Table{f.table().Known()},
		Note: "Medians over setups; ratios are to the first level, in the same rounds, and ~ for no significant difference."}
	if host := f.host(); host != "" {
		s.Note += " " + prose.Inside(host, f.Imported)
	}
	var held []prose.Held
	numbers := true
	for _, series := range f.Series {
		for _, p := range series.Points {
			s.Covers = append(s.Covers, result.Point{Stack: p.Stack, Mix: p.Mix})
			if p.Throughput != nil {
				held = append(held, prose.Held{Name: series.Name + " at " + p.Level, Against: series.Points[0].Level,
					Text: p.Mix + " against " + series.Points[0].Mix, Summary: p.Summary})
			}
			_, err := strconv.ParseFloat(p.Level, 64)
			numbers = numbers && err == nil
		}
	}
	if s.Figures = prose.Ratios(held); numbers {
		s.Figures = []section.Figure{
			f.levelFigure("Throughput, "+f.rate, section.Axis{Of: section.Count}, func(p Point) section.Mark {
				return section.Mark{Y: p.Rate, Low: p.Low, High: p.High}
			}),
			f.levelFigure("p99", section.Axis{Of: section.Latency, Log: true}, func(p Point) section.Mark { return section.Mark{Y: p.P99NS} }),
			f.levelFigure("Disk bandwidth", section.Axis{Of: section.Bandwidth}, func(p Point) section.Mark {
				return section.Mark{Y: p.DeviceBytes}
			}),
		}
	}
	return s
}

// host is the scaled-down host that all mixes run in; "" where they run in several, or in none.
func (f *Facts) host() string {
	host := f.Series[0].Points[0].Host
	for _, s := range f.Series {
		if slices.ContainsFunc(s.Points, func(p Point) bool { return p.Host != host }) {
			return ""
		}
	}
	return host
}

// levelFigure draws a value over the levels, which are numbers: a line for each series.
func (f *Facts) levelFigure(title string, y section.Axis, mark func(Point) section.Mark) section.Figure {
	fig := section.Figure{Title: title, X: section.Axis{Label: f.Factor, Of: section.Count, Each: true}, Y: y}
	for _, series := range f.Series {
		line := section.Series{Name: series.Name}
		for _, p := range series.Points {
			m := mark(p)
			if !(m.Y > 0) {
				continue
			}
			m.X, _ = strconv.ParseFloat(p.Level, 64) // the section draws curves of numbers alone
			m.Text = fmt.Sprintf("%s at %s %s: %s", series.Name, f.Factor, p.Level, y.Of.Exact(m.Y))
			line.Marks = append(line.Marks, m)
		}
		fig.Series = append(fig.Series, line)
	}
	return fig
}

func (f *Facts) table() section.Table {
	t := section.Table{Columns: []section.Column{
		{Head: "mixes", Text: true}, {Head: f.Factor, Text: true},
		{Head: f.rate, Means: "of all together"}, {Head: "interval", Drop: 2},
		{Head: "against first", Means: "ratio to the first level, in the same rounds, and ~ where that is no significant difference"},
		{Head: "p99"}, {Head: "disk", Means: "what devices read and wrote a second"},
		{Head: "CPUs", Means: "at work", Drop: 4},
		{Head: "waiting", Means: "share of the time in which an instance waited for I/O", Drop: 3},
	}}
	hosts := f.host() == ""
	if hosts {
		means := "the scaled-down host"
		if f.Imported {
			means = "that it was measured on"
		}
		t.Columns = append(t.Columns, section.Column{Head: "host", Text: true, Means: means, Drop: 1})
	}
	for _, series := range f.Series {
		for i, p := range series.Points {
			ratio, _ := p.Throughput.Cells()
			t.Rows = append(t.Rows, section.Row{Stack: p.Stack, Strong: i == series.Best, Cells: []section.Cell{
				section.Text(series.Name), section.Text(p.Level), section.Count.Cell(p.Rate), section.Count.Between(p.Low, p.High),
				ratio,
				section.Latency.Positive(p.P99NS), section.Bandwidth.Positive(p.DeviceBytes), section.Number.Positive(p.CPUs),
				section.Share.Positive(p.Waiting),
			}})
			if hosts {
				last := &t.Rows[len(t.Rows)-1]
				last.Cells = append(last.Cells, section.Text(p.Host))
			}
		}
	}
	return t
}
