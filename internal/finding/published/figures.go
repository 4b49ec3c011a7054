package published

import (
	"fmt"
	"slices"
	"strings"

	"plimsoll/internal/finding/published/claims"
	"plimsoll/internal/section"
	"plimsoll/internal/units/plural"
)

// ListedFigure is a figure of a paper, what repeats it, and what runs of this host said of what is read off it.
type ListedFigure struct {
	ID         string        `json:"id"`
	Paper      string        `json:"paper"`
	Figure     string        `json:"figure"` // as the paper numbers it: "figure 8c"
	Where      string        `json:"where"`  // section of the paper
	Shows      string        `json:"shows"`
	Repeats    claims.Extent `json:"repeats"`
	Experiment string        `json:"experiment,omitempty"`
	Only       []string      `json:"only,omitempty"`    // of the experiment; all of it where it is empty
	Command    string        `json:"command,omitempty"` // that runs it
	Differs    []string      `json:"differs,omitempty"`
	Had        []Had         `json:"had,omitempty"`
	Results    []Listed      `json:"results,omitempty"` // published results that are read off it
}

// Had is a parameter, and what the paper had.
type Had struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// ListFigures returns all figures; all are the published results with what runs said of them.
func ListFigures(all []Listed) (figures []ListedFigure) {
	for _, f := range claims.Figures() {
		one := ListedFigure{ID: f.ID, Paper: f.Paper().String(), Figure: f.Name(), Where: f.Where, Shows: f.Shows,
			Repeats: f.Repeats, Experiment: f.Experiment, Only: f.Only, Differs: f.Differs}
		if f.Experiment != "" {
			one.Command = "plimsoll run --figure " + f.ID
		}
		for _, h := range f.Had {
			one.Had = append(one.Had, Had(h))
		}
		for _, l := range all {
			if slices.Contains(f.Claims, l.ID) {
				one.Results = append(one.Results, l)
			}
		}
		figures = append(figures, one)
	}
	return figures
}

// FigureSummary says in a sentence how many figures are repeated.
func FigureSummary(figures []ListedFigure) string {
	count := map[claims.Extent]int{}
	for _, f := range figures {
		count[f.Repeats]++
	}
	return fmt.Sprintf(
		"%s and tables: built-in experiments repeat %d as printed, at --scale paper on a host such as the paper's, "+
			"%d in part, and %d not at all.",
		plural.Count(len(figures), "figure"),
		count[claims.Whole],
		count[claims.InPart],
		count[claims.None],
	)
}

// FigureSections have a table for each paper.
func FigureSections(figures []ListedFigure) (sections []*section.Section) {
	extent := map[claims.Extent]string{claims.Whole: "as printed", claims.InPart: "in part", claims.None: "no"}
	for _, paper := range claims.Papers() {
		t := section.Table{
			Caption: "each figure, and what repeats it: plimsoll run --figure ID, with --scale paper at the paper's own size",
			Columns: []section.Column{
				{Head: "figure", Text: true},
				{Head: "section", Text: true},
				{Head: "repeated", Text: true},
				{Head: "experiment", Text: true},
			},
		}
		for _, f := range figures {
			if f.Paper != paper.String() {
				continue
			}
			t.Rows = append(t.Rows, section.Row{Cells: []section.Cell{section.Text(f.ID), section.Text(f.Where),
				section.Text(extent[f.Repeats]), section.Text(f.Experiment)}})
			for _, words := range f.words() {
				t.Rows = append(t.Rows, section.Row{Words: "  " + words})
			}
		}
		sections = append(sections, &section.Section{Title: paper.String(), Tables: []section.Table{t}})
	}
	return sections
}

// words say what the figure shows, what runs here said, and what differs, a line each.
func (f ListedFigure) words() []string {
	all := []string{f.Shows}
	var said, open []string
	for _, l := range f.Results {
		decided := l.Decided()
		if decided == nil {
			open = append(open, l.ID)
			continue
		}
		said = append(said, strings.TrimSpace(fmt.Sprintf("%s: %s %s", l.ID, decided.Verdict, decided.Measured)))
	}
	if len(open) > 0 {
		said = append(said, "no run here has decided "+plural.And(open))
	}
	if len(said) > 0 {
		all = append(all, "here: "+strings.Join(said, "; "))
	}
	if len(f.Differs) > 0 {
		what := "differs: "
		if f.Repeats == claims.None {
			what = "not repeated: "
		}
		all = append(all, what+strings.Join(f.Differs, "; "))
	}
	return all
}
