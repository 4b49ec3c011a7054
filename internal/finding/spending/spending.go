// Package spending says what the time of a run was spent on: how much of it was measured, and what took the rest.
package spending

import (
	"fmt"
	"slices"
	"strings"

	"plimsoll/internal/fact"
	"plimsoll/internal/result"
	"plimsoll/internal/runview"
	"plimsoll/internal/section"
	"plimsoll/internal/units"
	"plimsoll/internal/units/plural"
)

// Facts are where the time of a run's trials went.
type Facts struct {
	Seconds  float64        `json:"seconds"` // of all trials whose phases are known, wall clock
	Trials   int            `json:"trials"`
	Measured float64        `json:"measured"` // the share in which something was measured, 0 to 1
	Phases   []result.Phase `json:"phases"`   // of all trials together, in the order of result.PhaseNames
	Mixes    []Mix          `json:"mixes"`    // in the order of the run
}

// Mix is where the time of the trials of one workload, or mix, went.
type Mix struct {
	Mix    string         `json:"mix"`
	Trials int            `json:"trials"`
	Phases []result.Phase `json:"phases"` // of all of them together
}

// Find adds up the phases of all trials that have them.
func Find(v *runview.View) []fact.Finding {
	spent := add(v.Run.Trials)
	if spent.Seconds == 0 {
		return nil
	}
	return []fact.Finding{{
		ID: "spending", Case: "spending", Kind: fact.KindSpending, Facts: spent,
		Title: spent.title(), Why: spent.why(), Section: spent.section(),
	}}
}

func add(trials []result.Trial) *Facts {
	f := &Facts{}
	for _, t := range trials {
		if len(t.Phases) == 0 {
			continue
		}
		i := slices.IndexFunc(f.Mixes, func(m Mix) bool { return m.Mix == t.Mix })
		if i < 0 {
			i = len(f.Mixes)
			f.Mixes = append(f.Mixes, Mix{Mix: t.Mix})
		}
		m := &f.Mixes[i]
		m.Trials, f.Trials = m.Trials+1, f.Trials+1
		m.Phases, f.Phases = sum(m.Phases, t.Phases), sum(f.Phases, t.Phases)
	}
	f.Seconds = seconds(f.Phases)
	if f.Seconds > 0 {
		f.Measured = result.SecondsOf(f.Phases, result.PhaseWindow) / f.Seconds
	}
	return f
}

// sum adds phases to those so far, in the order of result.PhaseNames.
func sum(phases, added []result.Phase) (out []result.Phase) {
	for _, name := range result.PhaseNames {
		spent := result.SecondsOf(phases, name) + result.SecondsOf(added, name)
		if spent > 0 {
			out = append(out, result.Phase{Name: name, Seconds: spent})
		}
	}
	return out
}

func seconds(phases []result.Phase) (all float64) {
	for _, p := range phases {
		all += p.Seconds
	}
	return all
}

// unmeasured returns the phases that were not measured, the longest first.
func (f *Facts) unmeasured() []result.Phase {
	others := slices.DeleteFunc(slices.Clone(f.Phases), func(p result.Phase) bool { return p.Name == result.PhaseWindow })
	slices.SortStableFunc(others, func(a, b result.Phase) int { return int(b.Seconds*1000) - int(a.Seconds*1000) })
	return others
}

func (f *Facts) title() string {
	text := fmt.Sprintf("%s of %s in %s was measured", units.Percent(f.Measured), units.Elapsed(f.Seconds),
		plural.Count(f.Trials, "trial"))
	unmeasured := f.unmeasured()
	var longest []string
	for _, p := range unmeasured[:min(2, len(unmeasured))] {
		longest = append(longest, fmt.Sprintf("%s took %s", p.Name, units.Percent(p.Seconds/f.Seconds)))
	}
	if len(longest) == 0 {
		return text
	}
	return text + "; " + plural.And(longest)
}

func (f *Facts) why() string {
	return strings.Join(plural.Words(f.Phases, func(p result.Phase) string {
		return fmt.Sprintf("%s: %s.", p.Name, units.Elapsed(p.Seconds))
	}), " ")
}

// means says what a phase is, below the tables.
var means = map[result.PhaseName]string{
	result.PhaseQuiet:    "until other processes used little",
	result.PhaseTeardown: "of the stack before, and of servers; writing back",
	result.PhaseSetUp:    "stacks, containers and limits",
	result.PhaseLoad:     "files laid out, data loaded or fetched, preconditioning",
	result.PhaseClone:    "a copy of the data for each server",
	result.PhaseCache:    "page caches emptied or filled",
	result.PhaseServers:  "servers started, until each answers",
	result.PhaseWarmUp:   "load runs and is not measured: ramp, start and end",
	result.PhaseWindow:   "measured",
}

// section shows the phases: of all trials as a bar and a table, and of each mix.
func (f *Facts) section() *section.Section {
	s := &section.Section{
		Title: "Where the time of the run went", Note: f.title() + ".", Late: true,
		Tables: []section.Table{f.table()},
	}
	bar := section.FillBar{Of: "time", Size: 1, Text: units.Elapsed(f.Seconds)}
	fill := section.Fill{}
	window := result.Phase{Name: result.PhaseWindow, Seconds: result.SecondsOf(f.Phases, result.PhaseWindow)}
	for i, p := range append([]result.Phase{window}, f.unmeasured()...) {
		fill.Series = append(fill.Series, string(p.Name))
		bar.Parts = append(bar.Parts, section.FillPart{Share: p.Seconds / f.Seconds, Series: i,
			Text: fmt.Sprintf("%s: %s, %s", p.Name, units.Elapsed(p.Seconds), units.Percent(p.Seconds/f.Seconds))})
	}
	fill.Rows = []section.FillRow{{Name: plural.Count(f.Trials, "trial"), Bars: []section.FillBar{bar}}}
	s.Fill = []section.Fill{fill}
	if len(f.Mixes) > 1 {
		s.Tables = append(s.Tables, f.mixes())
	}
	return s
}

func (f *Facts) table() section.Table {
	t := section.Table{Caption: "all trials together", Columns: []section.Column{
		{Head: "phase", Text: true}, {Head: "time"}, {Head: "share"}, {Head: "a trial"}, {Head: "what it is", Text: true, Drop: 1},
	}}
	for _, p := range f.Phases {
		t.Rows = append(t.Rows, section.Row{Strong: p.Name == result.PhaseWindow, Cells: []section.Cell{
			section.Text(string(p.Name)), section.Text(units.Elapsed(p.Seconds)), section.Share.Cell(p.Seconds / f.Seconds),
			section.Text(units.Elapsed(p.Seconds / float64(f.Trials))), section.Text(means[p.Name]),
		}})
	}
	return t
}

// mixes has a row for each workload or mix: how long a trial took on average, and each phase of it.
func (f *Facts) mixes() section.Table {
	t := section.Table{Caption: "seconds of a trial, on average", Folded: true, Columns: []section.Column{
		{Head: "of", Text: true}, {Head: "trials"}, {Head: "all"},
	}}
	for i, p := range f.Phases {
		t.Columns = append(t.Columns, section.Column{Head: string(p.Name), Drop: dropped(p.Name, len(f.Phases)-i)})
	}
	for _, m := range f.Mixes {
		perTrial := func(spent float64) section.Cell {
			return section.Text(fmt.Sprintf("%.1f", spent/float64(m.Trials)))
		}
		row := section.Row{Cells: []section.Cell{
			section.Text(m.Mix), section.Count.Cell(float64(m.Trials)), perTrial(seconds(m.Phases)),
		}}
		for _, p := range f.Phases {
			row.Cells = append(row.Cells, perTrial(result.SecondsOf(m.Phases, p.Name)))
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// dropped is when a terminal leaves a phase's column out: the window stays.
func dropped(name result.PhaseName, at int) int {
	if name == result.PhaseWindow {
		return 0
	}
	return at
}
