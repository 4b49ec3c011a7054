// Package levels answers what one thing that mixes differ in does to them: the drive, a buffer's size, how many clients
// there are.
package levels

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"plimsoll/internal/finding/fact"
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
	Imported bool     `json:"imported,omitempty"` // they were measured elsewhere, and hosts are those hosts

	rate string // what throughput is counted in: "ops/s"
}

// Series is mixes that differ in nothing but the factor.
type Series struct {
	Name   string  `json:"name"` // of the mixes, without the factor's level
	Points []Point `json:"points"`
	Best   int     `json:"best"` // the point with the most throughput
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

func find(v *runview.View, of runview.Levelled) (fact.Finding, *Facts) {
	told := &Facts{Factor: of.Factor, Imported: v.Run.Imported != nil}
	var cells []*runview.Cell
	var effects []*fact.Effect
	for _, s := range of.Series {
		one := Series{Name: s.Name}
		var first *runview.Cell
		for i, level := range s.Levels {
			p := pointOf(v, level, first)
			first = s.Levels[0].Cell
			effects = append(effects, p.Throughput, p.P99)
			if one.Points = append(one.Points, p); p.Rate > one.Points[one.Best].Rate {
				one.Best = i
			}
		}
		cells = append(cells, s.Cells()...)
		told.Series = append(told.Series, one)
	}
	runview.AdjustTogether(effects)
	told.rate = runview.RateUnit(cells...)
	names := plural.Words(told.Series, func(s Series) string { return s.Name })
	return fact.Finding{
		ID: "levels/" + told.Factor + "/" + strings.Join(names, "+"), Case: "levels", Kind: fact.KindScaling, Facts: told,
		Title: told.summary(), Why: told.why(), Evidence: runview.Points(cells...), Caveats: runview.MarksOf(cells...),
	}, told
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
func Verdict(v *runview.View, quiet bool) (f fact.Finding, told *Facts, ok bool) {
	all := v.Levelled()
	if len(all) != 1 {
		return f, nil, false
	}
	f, told = find(v, all[0])
	for _, c := range v.All() {
		if !told.has(c.Workload.Name) {
			return f, nil, false
		}
	}
	f.ID, f.Case, f.Kind = "recommendation", "levels", fact.KindRecommendation
	f.Recommendation = &fact.Recommendation{Confidence: told.confidence(quiet)}
	f.Title = prose.Capital(string(f.Recommendation.Confidence)) + ": " + told.summary()
	if f.Recommendation.Confidence == fact.TooEarly {
		f.Title = fmt.Sprintf("Too early to say what %s does: trials differ too much", told.Factor)
		if told.tooFew() {
			f.Title = fmt.Sprintf("Too early to say what %s does: it takes %d setups of each to separate effects from chance", told.Factor,
				stats.FewestPairs)
		}
	}
	return f, told, true
}

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
		case e.Differs && (s.Best == 0 || s.Points[s.Best].Throughput.Differs):
			return Changes
		case runview.MayBeLarge(*e):
			does = Open
		}
	}
	return does
}

// withEffect returns the series that the factor has an effect on.
func (f *Facts) withEffect(effect FactorEffect) (all []Series) {
	return slices.DeleteFunc(slices.Clone(f.Series), func(s Series) bool { return s.Effect() != effect })
}

// summary has the best level of each series, and what it is of the first one.
func (f *Facts) summary() string {
	var clauses []string
	for _, s := range f.withEffect(Changes) {
		first, best := s.Points[0], s.Points[s.Best]
		clause := fmt.Sprintf("%s does most at %s %s, %s a second", s.Name, f.Factor, best.Level, units.Rate(best.Rate))
		if s.Best > 0 {
			clause += fmt.Sprintf(", %s times what it does at %s", units.Times(best.Throughput.Ratio), first.Level)
		}
		clauses = append(clauses, clause)
	}
	name := func(s Series) string { return s.Name }
	if level := f.withEffect(Level); len(level) > 0 {
		clauses = append(clauses, fmt.Sprintf("%s %s about as much at each level of %s", plural.List(level, name),
			plural.Choose(len(level), "does", "do"), f.Factor))
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
	for _, one := range f.Series {
		for _, p := range one.Points {
			s.Covers = append(s.Covers, result.Point{Stack: p.Stack, Mix: p.Mix})
			if p.Throughput != nil {
				held = append(held, prose.Held{Name: one.Name + " at " + p.Level, Against: one.Points[0].Level,
					Text: p.Mix + " against " + one.Points[0].Mix, Summary: p.Summary})
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
	for _, one := range f.Series {
		line := section.Series{Name: one.Name}
		for _, p := range one.Points {
			m := mark(p)
			if !(m.Y > 0) {
				continue
			}
			m.X, _ = strconv.ParseFloat(p.Level, 64) // the section draws curves of numbers alone
			m.Text = fmt.Sprintf("%s at %s %s: %s", one.Name, f.Factor, p.Level, y.Of.Exact(m.Y))
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
	for _, one := range f.Series {
		for i, p := range one.Points {
			ratio, _ := p.Throughput.Cells()
			t.Rows = append(t.Rows, section.Row{Stack: p.Stack, Strong: i == one.Best, Cells: []section.Cell{
				section.Text(one.Name), section.Text(p.Level), section.Count.Cell(p.Rate), section.Count.Between(p.Low, p.High), ratio,
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
