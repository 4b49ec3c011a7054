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

	"plimsoll/internal/fact"
	"plimsoll/internal/finding/prose"
	"plimsoll/internal/result"
	"plimsoll/internal/result/repeats"
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
	About    string     `json:"about"` // what it is advice on: of several runs that say so the newest counts
	Text     string     `json:"text"`
	Evidence Evidence   `json:"evidence"`
	Open     bool       `json:"open,omitempty"` // it says what is not known yet
	Papers   []Relation `json:"papers,omitempty"`
	Mind     []string   `json:"mind,omitempty"` // what limits it
}

// Evidence names a run that a guideline was drawn from.
type Evidence struct {
	Run        string    `json:"run"`
	Pooled     []string  `json:"pooled,omitempty"` // the runs that Run has the trials of, where they are several
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
	Runs       int         `json:"runs"`             // that guidelines follow from
	Silent     int         `json:"silent,omitempty"` // that none follows from
}

// Find draws guidelines from runs, in any order. Repeats of one experiment are pooled.
func Find(runs []*result.Run) (g Given) {
	g.Guidelines = []Guideline{} // in JSON, none is an empty list
	indexOf := map[string]int{}
	for _, run := range repeats.Groups(runs) {
		drawn := guidelinesOf(run)
		if len(drawn) == 0 {
			g.Silent += max(1, len(run.Pooled))
			continue
		}
		g.Runs += max(1, len(run.Pooled))
		for _, guideline := range drawn {
			key := string(guideline.Topic) + "\x00" + guideline.About
			i, met := indexOf[key]
			switch {
			case !met:
				indexOf[key] = len(g.Guidelines)
				g.Guidelines = append(g.Guidelines, guideline)
			case g.Guidelines[i].Open && !guideline.Open:
				guideline.Evidence.Older = append(guideline.Evidence.Older, g.Guidelines[i].Evidence.Run)
				g.Guidelines[i] = guideline
			default:
				g.Guidelines[i].Evidence.Older = append(g.Guidelines[i].Evidence.Older, guideline.Evidence.Run)
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
	for _, draw := range []func(){a.neighbours, a.number, a.limits, a.adviseLimits, a.levels, a.stacks, a.placed} {
		draw()
	}
	for i := range a.out {
		e := &a.out[i].Evidence
		e.Run, e.Experiment, e.Started = run.ID, run.Experiment.Name, run.Started
		for _, pooled := range run.Pooled {
			e.Pooled = append(e.Pooled, pooled.ID)
		}
		if from := prose.FromRuns(run); !strings.HasSuffix(a.out[i].Text, from) {
			a.out[i].Text += from
		}
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
	for _, guideline := range g.Guidelines {
		if guideline.Open {
			open++
		}
		for _, r := range guideline.Papers {
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
func (g Given) Sections() (sections []*section.Section) {
	for _, topic := range Topics() {
		s := &section.Section{Title: string(topic)}
		evidence, openly := evidenceTable(), evidenceTable()
		var open []string
		for _, guideline := range g.Guidelines {
			if guideline.Topic != topic {
				continue
			}
			text := guideline.Text
			for _, r := range guideline.Papers {
				text += " " + r.String()
			}
			for _, m := range guideline.Mind {
				text += " Mind: " + m + "."
			}
			if guideline.Open {
				open = append(open, guideline.About)
			} else {
				s.Remarks = append(s.Remarks, section.Remark{Text: text})
			}
			table := &evidence
			if guideline.Open {
				table = &openly
			}
			table.Rows = append(table.Rows, section.Row{Words: guideline.About + ", in " + guideline.Evidence.source()})
			for _, words := range guideline.Evidence.Words {
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
			sections = append(sections, s)
		}
	}
	return sections
}

// evidenceTable has a line for each guideline, and a row for each thing that was measured of it.
func evidenceTable() section.Table {
	return section.Table{Folded: true, Columns: []section.Column{
		{Head: "evidence", Text: true, Means: "medians over setups, and ratios with their 95% intervals"},
	}}
}

// source names the run, and what others say the same.
func (e Evidence) source() string {
	text := e.Run
	if len(e.Pooled) > 0 {
		text = plural.And(e.Pooled)
	}
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
