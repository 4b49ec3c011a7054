// Package guidelines answers what an operator is to do, from all runs of a host: what to put beside what, how many
// instances to run, which limits to set, and when more memory, a faster drive or another host helps. Each sentence has
// its evidence, and what papers advise that it agrees or disagrees with.
//
// The package is pure.
package guidelines

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"plimsoll/internal/finding/fact"
	"plimsoll/internal/result"
	"plimsoll/internal/runview"
	"plimsoll/internal/section"
	"plimsoll/internal/units/plural"
)

// Topic is the subject of a guideline.
type Topic string

// The topics, in the order in which they are shown.
const (
	Neighbours Topic = "What to put beside what"
	Number     Topic = "How many to run"
	Limits     Topic = "Which limits to set"
	More       Topic = "What more of the host would buy"
	Drives     Topic = "Which drives and settings"
	Stacks     Topic = "Where to keep data"
)

// Topics are all of them.
func Topics() []Topic { return []Topic{Neighbours, Number, Limits, More, Drives, Stacks} }

// Guideline is a sentence of advice.
type Guideline struct {
	Topic    Topic      `json:"topic"`
	About    string     `json:"about"` // what it is advice on: of several runs that tell the newest counts
	Text     string     `json:"text"`
	Evidence Evidence   `json:"evidence"`
	Open     bool       `json:"open,omitempty"` // it says what cannot be told yet
	Papers   []Relation `json:"papers,omitempty"`
	Mind     []string   `json:"mind,omitempty"` // what limits it
}

// Evidence names a run that a guideline was drawn from.
type Evidence struct {
	Run        string    `json:"run"`
	Experiment string    `json:"experiment"`
	Started    time.Time `json:"started,omitzero"`
	Host       string    `json:"host,omitempty"` // the scaled-down host, for people; "" for the host itself
	Words      []string  `json:"words"`          // one for each thing that was measured
	Older      []string  `json:"older,omitempty"`
}

// Relation is a published guideline that a guideline agrees or disagrees with.
type Relation struct {
	Published
	Agrees bool   `json:"agrees"`
	By     string `json:"by,omitempty"` // which of the evidence says so; "" for all
}

// Given are the guidelines that runs of a host give.
type Given struct {
	Guidelines []Guideline `json:"guidelines"`
	Runs       int         `json:"runs"`             // that tell something
	Silent     int         `json:"silent,omitempty"` // that tell nothing
}

// Find draws guidelines from runs, in any order.
func Find(runs []*result.Run) (g Given) {
	g.Guidelines = []Guideline{} // in JSON, none is an empty list
	runs = slices.Clone(runs)
	slices.SortStableFunc(runs, func(a, b *result.Run) int { return b.Started.Compare(a.Started) })
	at := map[string]int{}
	for _, run := range runs {
		told := guidelinesOf(run)
		if len(told) == 0 {
			g.Silent++
			continue
		}
		g.Runs++
		for _, one := range told {
			key := string(one.Topic) + "\x00" + one.About
			i, met := at[key]
			switch {
			case !met:
				at[key] = len(g.Guidelines)
				g.Guidelines = append(g.Guidelines, one)
			case g.Guidelines[i].Open && !one.Open:
				one.Evidence.Older = append(one.Evidence.Older, g.Guidelines[i].Evidence.Run)
				g.Guidelines[i] = one
			default:
				g.Guidelines[i].Evidence.Older = append(g.Guidelines[i].Evidence.Older, one.Evidence.Run)
			}
		}
	}
	slices.SortStableFunc(g.Guidelines, func(a, b Guideline) int {
		order := Topics()
		return cmp.Compare(slices.Index(order, a.Topic), slices.Index(order, b.Topic))
	})
	return g
}

// adviser draws guidelines from one run.
type adviser struct {
	v   *runview.View
	out []Guideline
}

// guidelinesOf returns the guidelines of a run.
func guidelinesOf(run *result.Run) []Guideline {
	a := &adviser{v: runview.New(run)}
	for _, draw := range []func(){a.neighbours, a.number, a.limits, a.more, a.levels, a.stacks, a.placed} {
		draw()
	}
	for i := range a.out {
		e := &a.out[i].Evidence
		e.Run, e.Experiment, e.Started = run.ID, run.Experiment.Name, run.Started
	}
	return a.out
}

func (a *adviser) add(g Guideline) {
	if g.Open {
		g.Papers = nil // it says nothing that could agree
	}
	a.out = append(a.out, g)
}

// Summary says in a sentence how many guidelines there are, and what they say of the papers'.
func (g Given) Summary() string {
	if len(g.Guidelines) == 0 {
		return "No run here says what to do: plimsoll run heterogeneous, density and policies are made to, and plimsoll list has more."
	}
	agree, not, open := 0, 0, 0
	for _, one := range g.Guidelines {
		if one.Open {
			open++
		}
		for _, r := range one.Papers {
			if r.Agrees {
				agree++
			} else {
				not++
			}
		}
	}
	text := fmt.Sprintf("%s from %s", plural.Count(len(g.Guidelines), "guideline"), plural.Count(g.Runs, "run"))
	if agree+not > 0 {
		text += fmt.Sprintf("; this agrees with papers %s, and contradicts them %s", times(agree), times(not))
	}
	if open > 0 {
		text += fmt.Sprintf("; %d of them are not known yet", open)
	}
	return text + "."
}

func times(n int) string { return plural.Count(n, "time") }

// Sections show the guidelines by topic: a sentence each, its evidence and what papers say below.
func (g Given) Sections() (all []*section.Section) {
	for _, topic := range Topics() {
		s := &section.Section{Title: string(topic)}
		evidence, openly := evidenceTable(), evidenceTable()
		var open []string
		for _, one := range g.Guidelines {
			if one.Topic != topic {
				continue
			}
			text := one.Text
			for _, r := range one.Papers {
				text += " " + r.String()
			}
			for _, m := range one.Mind {
				text += " Mind: " + m + "."
			}
			if one.Open {
				open = append(open, one.About)
			} else {
				s.Remarks = append(s.Remarks, section.Remark{Text: text})
			}
			table := &evidence
			if one.Open {
				table = &openly
			}
			table.Rows = append(table.Rows, section.Row{Words: one.About + ", in " + one.Evidence.where()})
			for _, words := range one.Evidence.Words {
				table.Rows = append(table.Rows, section.Row{Cells: []section.Cell{section.Text(words)}})
			}
		}
		if len(open) > 0 {
			s.Remarks = append(s.Remarks, section.Remark{Warn: true,
				Text: "Not known yet, as setups are too few or differ too much: " + strings.Join(open, "; ")})
		}
		if len(evidence.Rows) > 0 {
			s.Tables = []section.Table{evidence}
		}
		if len(openly.Rows) > 0 {
			s.Parts = []*section.Section{{Title: "Not known yet: " + string(topic), Tables: []section.Table{openly}}}
		}
		if len(s.Remarks) > 0 {
			all = append(all, s)
		}
	}
	return all
}

// evidenceTable has a line for each guideline, and a row for each thing that was measured of it.
func evidenceTable() section.Table {
	return section.Table{Folded: true, Columns: []section.Column{
		{Head: "evidence", Text: true, Means: "medians over setups, and ratios with their 95% intervals"},
	}}
}

// where names the run, and what others say the same.
func (e Evidence) where() string {
	text := e.Run
	if e.Host != "" {
		text += ", in a scaled-down host of " + e.Host
	}
	if n := len(e.Older); n > 0 {
		text += fmt.Sprintf("; %s it too", plural.Count(n, "other run")+plural.Choose(n, " is about", " are about"))
	}
	return text
}

// String says what a paper advises, and whether that holds here.
func (r Relation) String() string {
	holds := "holds here"
	if !r.Agrees {
		holds = "does not hold here"
	}
	if r.By != "" {
		holds += " for " + r.By
	}
	return fmt.Sprintf("%s (%s) advises: %s; that %s.", r.Paper, r.Where, r.Text, holds)
}

// hasInterval reports whether an effect is known well enough to advise on it.
func hasInterval(e fact.Effect) bool { return e.Ratio > 0 && !e.TooFew && e.HasInterval() }
