// Package levels answers what one thing that mixes differ in does to them: the drive, a buffer's size, how many clients
// there are.
package levels

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	samples "plimsoll/internal/cell"
	"plimsoll/internal/finding/fact"
	"plimsoll/internal/finding/measured"
	"plimsoll/internal/finding/prose"
	"plimsoll/internal/plural"
	"plimsoll/internal/section"
	"plimsoll/internal/stats"
	"plimsoll/internal/units"
)

// Facts is what is found of mixes that differ in one factor.
type Facts struct {
	Factor string   `json:"factor"`
	Series []Series `json:"series"`

	rate string // what throughput is counted in: "ops/s"
}

// Series is mixes that differ in nothing but the factor.
type Series struct {
	Name   string  `json:"name"` // of the mixes, without the factor's level
	Points []Point `json:"points"`
	Best   int     `json:"best"` // the point with the most throughput
}

// Point is what a mix did at one level. Values are medians of bring-ups.
type Point struct {
	Level    string `json:"level"`
	Mix      string `json:"mix"`
	Stack    string `json:"stack,omitempty"` // "" for mixes that name their own
	Host     string `json:"host,omitempty"`  // the miniature, for people; "" for the host itself
	BringUps int    `json:"bring_ups"`

	Rate        float64 `json:"rate"` // of all together, per second
	Low         float64 `json:"low"`  // of its interval; both are 0 where bring-ups are too few for one
	High        float64 `json:"high"`
	P99NS       float64 `json:"p99_ns"`       // 0 where it is not known
	DeviceBytes float64 `json:"device_bytes"` // that devices moved, per second
	CPUs        float64 `json:"cpus"`         // at work, of all instances
	Waiting     float64 `json:"waiting"`      // share of the time in which an instance waited for I/O

	Throughput *fact.Effect `json:"throughput,omitempty"` // against the first level; nil for that itself
	P99        *fact.Effect `json:"p99,omitempty"`
}

// Find says what each factor does.
func Find(v *measured.View) (out []fact.Finding) {
	for _, of := range v.Levelled() {
		f, told := find(v, of)
		f.Section = told.section()
		out = append(out, f)
	}
	return out
}

func find(v *measured.View, of measured.Levelled) (fact.Finding, *Facts) {
	told := &Facts{Factor: of.Factor}
	var cells []*measured.Cell
	var effects []*fact.Effect
	for _, s := range of.Series {
		one := Series{Name: s.Name}
		for i, c := range s.Cells {
			p := pointOf(v, s.Names[i], c)
			if i > 0 {
				first := s.Cells[0]
				rate, _ := v.Effect(measured.IOPS, p.Mix, first.Workload.Name, c.Rates, first.Rates)
				p.Throughput = &rate
				effects = append(effects, p.Throughput)
				if e, ok := v.Effect("p99", p.Mix, first.Workload.Name, c.Sample(samples.P99), first.Sample(samples.P99)); ok {
					p.P99 = &e
					effects = append(effects, p.P99)
				}
			}
			if one.Points = append(one.Points, p); p.Rate > one.Points[one.Best].Rate {
				one.Best = i
			}
		}
		cells = append(cells, s.Cells...)
		told.Series = append(told.Series, one)
	}
	measured.AdjustTogether(effects)
	told.rate = measured.RateUnit(cells...)
	names := plural.Words(told.Series, func(s Series) string { return s.Name })
	return fact.Finding{
		ID: "levels/" + told.Factor + "/" + strings.Join(names, "+"), Case: "levels", Kind: fact.KindScaling, Facts: told,
		Title: told.says(), Why: told.why(), Evidence: measured.Points(cells...), Caveats: measured.MarksOf(cells...),
	}, told
}

func pointOf(v *measured.View, level string, c *measured.Cell) Point {
	of := measured.PointOf(c, 1)
	p := Point{Level: level, Mix: c.Workload.Name, Stack: c.Stack.Name, BringUps: c.Point.N, Rate: of.Rate, Low: of.RateLow,
		High: of.RateHigh, P99NS: of.P99NS, CPUs: of.CPUs, Waiting: of.IOPressure}
	if host := v.HostOf(p.Mix); host != nil {
		p.Host = host.String()
	}
	if moved := c.DeviceBandwidth(); len(moved) > 0 {
		p.DeviceBytes = stats.Median(moved.Means())
	}
	return p
}

// Verdict draws the verdict of a run that asks what one factor does: all of its mixes differ in it, on a host that was
// quiet or not. ok is false for any other run.
func Verdict(v *measured.View, quiet bool) (f fact.Finding, told *Facts, ok bool) {
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
	f.Title = prose.Capital(string(f.Recommendation.Confidence)) + ": " + told.says()
	if f.Recommendation.Confidence == fact.TooEarly {
		f.Title = fmt.Sprintf("Too early to say what %s does: trials differ too much", told.Factor)
		if told.tooFew() {
			f.Title = fmt.Sprintf("Too early to say what %s does: it takes %d bring-ups of each to tell chance from the rest", told.Factor,
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
	open := f.of(Open)
	switch {
	case f.tooFew(), len(open) == len(f.Series):
		return fact.TooEarly
	case len(open) > 0 || !quiet:
		return fact.Likely
	}
	return fact.Sure
}

// tooFew reports whether some level has too few bring-ups to tell anything.
func (f *Facts) tooFew() bool {
	return slices.ContainsFunc(f.Series, func(s Series) bool {
		return slices.ContainsFunc(s.Points, func(p Point) bool { return p.Throughput != nil && p.Throughput.TooFew })
	})
}

// Does is what a factor does to a series.
type Does string

// What it does.
const (
	Changes Does = "changes" // it does more at some level than at another
	Level   Does = "level"   // a large change is ruled out
	Open    Does = "open"    // it may change much, and may change nothing
)

// Does is what the factor does to the series, as far as can be told from chance.
func (s Series) Does() Does {
	does := Level
	for _, p := range s.Points {
		switch e := p.Throughput; {
		case e == nil:
		case e.TooFew:
			return Open
		case e.Differs && (s.Best == 0 || s.Points[s.Best].Throughput.Differs):
			return Changes
		case !e.HasInterval() || e.Low < 1-measured.MayMatter || e.High > 1+measured.MayMatter:
			does = Open
		}
	}
	return does
}

// of are the series to which the factor does something.
func (f *Facts) of(does Does) (all []Series) {
	return slices.DeleteFunc(slices.Clone(f.Series), func(s Series) bool { return s.Does() != does })
}

// says has the best level of each series, and what it is of the first one.
func (f *Facts) says() string {
	var clauses []string
	for _, s := range f.of(Changes) {
		first, best := s.Points[0], s.Points[s.Best]
		clause := fmt.Sprintf("%s does most at %s %s, %s a second", s.Name, f.Factor, best.Level, units.Rate(best.Rate))
		if s.Best > 0 {
			clause += fmt.Sprintf(", %s times what it does at %s", units.Times(best.Throughput.Ratio), first.Level)
		}
		clauses = append(clauses, clause)
	}
	name := func(s Series) string { return s.Name }
	if level := f.of(Level); len(level) > 0 {
		clauses = append(clauses, fmt.Sprintf("%s %s about as much at each level of %s", plural.List(level, name),
			plural.Choose(len(level), "does", "do"), f.Factor))
	}
	if open := f.of(Open); len(open) > 0 {
		clauses = append(clauses, fmt.Sprintf("what %s does to %s cannot be told yet", f.Factor, plural.List(open, name)))
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
		Note: "Medians over bring-ups; ratios are to the first level, in the same blocks, and ~ for no significant difference."}
	if host := f.host(); host != "" {
		s.Note += " All in a miniature of " + host + "."
	}
	var held []prose.Held
	numbers := true
	for _, one := range f.Series {
		for _, p := range one.Points {
			s.Covers = append(s.Covers, samples.Point{Stack: p.Stack, Mix: p.Mix})
			if p.Throughput != nil {
				held = append(held, prose.Held{Name: one.Name + " at " + p.Level, Against: one.Points[0].Level,
					Text: p.Mix + " against " + one.Points[0].Mix, Throughput: p.Throughput, P99: p.P99})
			}
			_, err := strconv.ParseFloat(p.Level, 64)
			numbers = numbers && err == nil
		}
	}
	if s.Figures = prose.Ratios(held); numbers {
		s.Figures = []section.Figure{
			f.over("Throughput, "+f.rate, section.Axis{Of: section.Count}, func(p Point) section.Mark {
				return section.Mark{Y: p.Rate, Low: p.Low, High: p.High}
			}),
			f.over("p99", section.Axis{Of: section.Latency, Log: true}, func(p Point) section.Mark { return section.Mark{Y: p.P99NS} }),
			f.over("Disk bandwidth", section.Axis{Of: section.Bandwidth}, func(p Point) section.Mark {
				return section.Mark{Y: p.DeviceBytes}
			}),
		}
	}
	return s
}

// host is the miniature that all mixes run in; "" where they run in several, or in none.
func (f *Facts) host() string {
	host := f.Series[0].Points[0].Host
	for _, s := range f.Series {
		if slices.ContainsFunc(s.Points, func(p Point) bool { return p.Host != host }) {
			return ""
		}
	}
	return host
}

// over draws a value over the levels, which are numbers: a line for each series.
func (f *Facts) over(title string, y section.Axis, mark func(Point) section.Mark) section.Figure {
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
		{Head: "against first", Means: "ratio to the first level, in the same blocks, and ~ where that is no significant difference"},
		{Head: "p99"}, {Head: "disk", Means: "what devices read and wrote a second"},
		{Head: "CPUs", Means: "at work", Drop: 4},
		{Head: "waiting", Means: "share of the time in which an instance waited for I/O", Drop: 3},
	}}
	hosts := f.host() == ""
	if hosts {
		t.Columns = append(t.Columns, section.Column{Head: "host", Text: true, Means: "the miniature", Drop: 1})
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
