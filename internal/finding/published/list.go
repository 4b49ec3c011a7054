package published

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"plimsoll/internal/fact"
	"plimsoll/internal/finding/published/claims"
	"plimsoll/internal/section"
	"plimsoll/internal/units/plural"
)

// Listed is a published result, how it is tested, and what runs of this host said of it.
type Listed struct {
	ID         string `json:"id"`
	Paper      string `json:"paper"`
	Where      string `json:"where"`
	Statement  string `json:"statement"`
	Published  string `json:"published,omitempty"` // the number; "" for an order
	Note       string `json:"note,omitempty"`
	Experiment string `json:"experiment,omitempty"` // built-in one that tests it
	Untested   string `json:"untested,omitempty"`   // why none does
	Said       []Said `json:"said,omitempty"`       // the newest run first
}

// Said is a run's verdict on a published result.
type Said struct {
	Run      string            `json:"run"`
	Started  time.Time         `json:"started,omitzero"`
	Verdict  fact.ClaimVerdict `json:"verdict"`
	Measured string            `json:"measured,omitempty"`
	About    string            `json:"about,omitempty"` // stacks and workload, where one run tests it of several
	Why      string            `json:"why,omitempty"`
}

// List returns every published result, in the order of the papers' sections.
func List() (results []Listed) {
	for _, c := range claims.All() {
		listed := Listed{ID: c.ID, Paper: c.Paper.String(), Where: c.Where, Untested: c.Untested,
			Statement: cmp.Or(Tested{Subject: c.Subject, Baseline: c.Baseline,
				Ordering: c.Kind == claims.Ordering}.statement(), c.ID),
			Note: c.Note}
		if c.Value != nil {
			listed.Published = valueOf(c).String()
		}
		if c.Test != nil {
			listed.Experiment = c.Test.Experiment
		}
		results = append(results, listed)
	}
	return results
}

// Decided returns what the newest run that decides it said; nil for none.
func (l Listed) Decided() *Said {
	for i := range l.Said {
		if l.Said[i].Verdict != fact.ClaimNotTestable {
			return &l.Said[i]
		}
	}
	return nil
}

// Summary says in a sentence what became of all.
func Summary(results []Listed) string {
	tested, decided := 0, 0
	held := map[fact.ClaimVerdict]int{}
	for _, l := range results {
		if l.Untested == "" {
			tested++
		}
		if said := l.Decided(); said != nil {
			decided++
			held[said.Verdict]++
		}
	}
	text := fmt.Sprintf("%s, of which experiments test %d", plural.Count(len(results), "published result"), tested)
	if decided == 0 {
		return text + "; no run here has decided any."
	}
	return text + fmt.Sprintf("; runs here have decided %d: %d confirmed, %d of the same shape, %d of another, %d "+
		"contradicted.",
		decided, held[fact.ClaimConfirmed], held[fact.ClaimSameShape], held[fact.ClaimOtherShape],
		held[fact.ClaimContradicted])
}

// ListSections have a table for each paper.
func ListSections(results []Listed) (sections []*section.Section) {
	for _, paper := range claims.Papers() {
		t := section.Table{Caption: "what it published, and what runs here said: the newest that decides",
			Columns: []section.Column{
				{Head: "id", Text: true}, {Head: "tested by", Text: true, Means: "plimsoll run with that name"},
				{Head: "here", Text: true}}}
		for _, l := range results {
			if l.Paper != paper.String() {
				continue
			}
			row := section.Row{Cells: []section.Cell{section.Text(l.ID), section.Text(l.Experiment), {}}}
			words := []string{strings.TrimSuffix(l.Statement+": "+l.Published, ": ") + " (" + l.Where + ")"}
			decided := l.Decided()
			if decided != nil {
				row.Warn = decided.Verdict == fact.ClaimContradicted
				row.Cells[2] = section.Text(string(decided.Verdict))
				words = append(words, strings.TrimPrefix(decided.Measured+", run "+decided.Run, ", "))
			}
			if l.Untested != "" {
				words = append(words, "not tested: "+l.Untested)
			}
			t.Rows = append(t.Rows, row)
			for _, text := range words {
				t.Rows = append(t.Rows, section.Row{Words: "  " + text})
			}
		}
		sections = append(sections, &section.Section{Title: paper.String(), Tables: []section.Table{t}})
	}
	return sections
}
