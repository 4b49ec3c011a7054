// Package workloads shows what each stack did under each workload or mix: a table of all stacks, by which the others of
// a run are read.
package workloads

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"plimsoll/internal/fact"
	"plimsoll/internal/finding/prose"
	"plimsoll/internal/result"
	"plimsoll/internal/result/hist"
	"plimsoll/internal/runview"
	"plimsoll/internal/section"
	"plimsoll/internal/units"
	"plimsoll/internal/units/plural"
)

// Sections returns a section for each of the mixes, which their headings name, in that order. Run is as reports show
// it, on the stacks of its tenants and without controls; points are finding.Points of it. What columns mean is said of
// all points.
func Sections(run *result.Run, mixes []result.Workload, points []fact.Point, findings []fact.Finding) []*section.Section {
	run, grouped := cmp.Or(run, &result.Run{}), runview.Of(run)
	var sections []*section.Section
	for _, mix := range mixes {
		t := table{run: run, findings: findings, points: pointsOf(points, mix.Name)}
		columns := t.columns(points)
		s := &section.Section{Title: mix.Title(), Covers: []result.Point{{Mix: mix.Name}}}
		sections = append(sections, s)
		if len(t.points) == 0 {
			continue
		}
		if readsAndWrites(run, mix.Name) {
			s.Remarks = append(s.Remarks, section.Remark{Text: "reads and writes together; plimsoll export has them apart"})
		}
		shared := SharedMarks(t.points)
		for _, mark := range shared {
			s.Remarks = append(s.Remarks, section.Remark{Text: prose.EveryNumber(mark), Warn: true})
		}
		drawn := section.Table{Caption: "medians with intervals, percentiles of total latency"}
		if len(shared) > 0 {
			drawn.Caption += "; all stacks: " + strings.Join(shared, ", ")
		}
		for _, c := range columns {
			drawn.Columns = append(drawn.Columns, c.Column)
		}
		for _, g := range groups {
			for i, p := range g.filter(t.points) {
				if i == 0 && g.title != "" {
					drawn.Rows = append(drawn.Rows, section.Row{Words: g.title, Warn: g.warn})
				}
				r := row{Point: p, trials: grouped.Done(result.Point{Stack: p.Stack, Mix: mix.Name})}
				drawn.Rows = append(drawn.Rows, r.cells(columns, shared, g.warn))
			}
		}
		if missing := t.withoutPoint(mix.Name); len(missing) > 0 {
			drawn.Rows = append(drawn.Rows, section.Row{Words: "no result: " + strings.Join(missing, ", "), Warn: true})
		}
		for _, note := range []string{t.tooFew(), NoiseText(findings, mix.Name)} {
			if note != "" {
				drawn.Notes = append(drawn.Notes, note)
			}
		}
		s.Tables = []section.Table{drawn}
	}
	return sections
}

// table makes the table of one mix.
type table struct {
	run      *result.Run
	findings []fact.Finding
	points   []fact.Point // of the mix, the highest rate first
}

// row is a stack's point, with the trials that it summarises.
type row struct {
	fact.Point
	trials []*result.Trial
}

func (r row) cells(columns []column, shared []string, warn bool) section.Row {
	out := section.Row{Stack: r.Stack, Warn: warn}
	for _, c := range columns {
		out.Cells = append(out.Cells, c.cell(r))
	}
	for _, mark := range r.Marks {
		if !slices.Contains(shared, mark) {
			out.Tags = append(out.Tags, section.Tag{Letter: cmp.Or(result.Mark(mark).Letter(), hostLetter), Text: mark})
		}
	}
	return out
}

// hostLetter is the letter of the only mark of a point that no stack has: its scaled-down host.
const hostLetter = "H"

// group is rows whose numbers are worth the same.
type group struct {
	title string // "" for the first
	warn  bool
	has   func(result.Source) bool
}

func answered(s result.Source) bool { return s == result.SourceDevice || s.Operations() }

var groups = []group{
	{has: answered},
	{title: "source unknown: no device could be asked",
		has: func(s result.Source) bool { return !answered(s) && s != result.SourceMemory }},
	{title: "from memory: a cache answered, these are not the device's numbers", warn: true,
		has: func(s result.Source) bool { return s == result.SourceMemory }},
}

func (g group) filter(points []fact.Point) []fact.Point {
	return slices.DeleteFunc(slices.Clone(points), func(p fact.Point) bool { return !g.has(source(p)) })
}

// source is what answered a point: memory, too, where a stack is made of it.
func source(p fact.Point) result.Source {
	if p.FromMemory() {
		return result.SourceMemory
	}
	return result.Source(p.Source)
}

// pointsOf returns the points of a mix, the highest rate first.
func pointsOf(points []fact.Point, mix string) []fact.Point {
	own := slices.DeleteFunc(slices.Clone(points), func(p fact.Point) bool { return p.Workload != mix })
	slices.SortStableFunc(own, func(a, b fact.Point) int { return cmp.Compare(b.Median, a.Median) })
	return own
}

// SharedMarks returns the marks that all points have.
func SharedMarks(points []fact.Point) (shared []string) {
	for i, p := range points {
		if i == 0 {
			shared = slices.Clone(p.Marks)
		}
		shared = slices.DeleteFunc(shared, func(mark string) bool { return !slices.Contains(p.Marks, mark) })
	}
	return shared
}

// readsAndWrites reports whether the numbers of a mix are of reads and writes together.
func readsAndWrites(run *result.Run, mix string) bool {
	return slices.ContainsFunc(run.Trials, func(t result.Trial) bool {
		return t.Mix == mix && t.Counts() != nil && t.Counts().Operation(result.Read).Count > 0 &&
			t.Counts().Operation(result.Write).Count > 0
	})
}

// withoutPoint names the stacks that gave no result, each with the status of its first trial.
func (t table) withoutPoint(mix string) (names []string) {
	for _, s := range t.run.Stacks {
		if slices.ContainsFunc(t.points, func(p fact.Point) bool { return p.Stack == s.Name }) {
			continue
		}
		i := slices.IndexFunc(t.run.Trials, func(trial result.Trial) bool { return trial.Stack == s.Name && trial.Mix == mix })
		if i >= 0 {
			names = append(names, fmt.Sprintf("%s (%s)", s.Name, t.run.Trials[i].Status))
		}
	}
	return names
}

// tooFew says which percentiles are not known, as setups have too few operations for them; "" for none.
func (t table) tooFew() string {
	var takes []string
	for _, percent := range []float64{50, 99, 99.9} {
		if slices.ContainsFunc(t.points, func(p fact.Point) bool { return p.TooFewFor(percent) }) {
			least := units.Grouped(float64(hist.LeastFor(percent)))
			takes = append(takes, fmt.Sprintf("p%g takes %s in each setup", percent, least))
		}
	}
	if takes == nil {
		return ""
	}
	return section.None + ": too few I/Os: " + plural.And(takes)
}

// NoiseText says how far apart equal things came out under a workload; "" when
// the run does not tell.
func NoiseText(findings []fact.Finding, workload string) string {
	for _, f := range findings {
		for _, n := range f.Noise {
			if said := n.Line(); n.Workload == workload && said != "" {
				return said
			}
		}
	}
	return ""
}
