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
	Differs    []string      `json:"differs,omitempty"` // beside parameters
	// what the paper had, and what the experiment has at the scale paper; of a set-up, what this host has
	Parameters []claims.Compared `json:"parameters,omitempty"`
	Results    []Listed          `json:"results,omitempty"` // published results that are read off it
}

// ListFigures returns all figures. results are the published results with the verdicts of runs. compare returns what a
// paper had next to what the figure's experiment, or this host, has.
func ListFigures(results []Listed, compare func(claims.Figure) ([]claims.Compared, error)) (figures []ListedFigure,
	err error) {
	for _, f := range claims.Figures() {
		parameters, err := compare(f)
		if err != nil {
			return nil, fmt.Errorf("figure %s: %w", f.ID, err)
		}
		figure := ListedFigure{ID: f.ID, Paper: f.Paper().String(), Figure: f.Name(), Where: f.Where, Shows: f.Shows,
			Repeats: f.Repeats(parameters), Experiment: f.Experiment, Only: f.Only, Differs: f.Differs, Parameters: parameters}
		if f.Experiment != "" {
			figure.Command = "plimsoll papers run " + f.ID
		}
		for _, l := range results {
			if slices.Contains(f.Claims, l.ID) {
				figure.Results = append(figure.Results, l)
			}
		}
		figures = append(figures, figure)
	}
	return figures, nil
}

// FigureSummary says in a sentence how many figures are repeated.
func FigureSummary(figures []ListedFigure) string {
	count := map[claims.Extent]int{}
	shown := 0
	for _, f := range figures {
		count[f.Repeats]++
		if f.Repeats != claims.Setup {
			shown++
		}
	}
	return fmt.Sprintf(
		"%s and tables: built-in experiments repeat %d as printed, at --scale paper on a host such as the paper's, "+
			"%d in part, and %d not at all. This host is compared with %s.",
		plural.Count(shown, "figure"),
		count[claims.Whole],
		count[claims.InPart],
		count[claims.None],
		plural.Count(count[claims.Setup], "set-up"),
	)
}

// FigureSections have a table for each paper.
func FigureSections(figures []ListedFigure) (sections []*section.Section) {
	extent := map[claims.Extent]string{claims.Whole: "as printed", claims.InPart: "in part", claims.None: "no", claims.Setup: "set-up"}
	for _, paper := range claims.Papers() {
		t := section.Table{
			Caption: "each figure, and what repeats it: plimsoll papers run ID, with --scale paper at the paper's own size",
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
	lines := []string{f.Shows}
	var verdicts, open []string
	for _, l := range f.Results {
		decided := l.Decided()
		if decided == nil {
			open = append(open, l.ID)
			continue
		}
		verdicts = append(verdicts, strings.TrimSpace(fmt.Sprintf("%s: %s %s", l.ID, decided.Verdict, decided.Measured)))
	}
	if len(open) > 0 {
		verdicts = append(verdicts, "no run here has decided "+plural.And(open))
	}
	if len(verdicts) > 0 {
		lines = append(lines, "here: "+strings.Join(verdicts, "; "))
	}
	if f.Repeats == claims.Setup {
		for _, p := range f.Parameters {
			here := "not known of this host"
			if len(p.Here) > 0 {
				here = "here " + strings.Join(p.Here, ", ")
			}
			lines = append(lines, fmt.Sprintf("%s: %s; %s", p.Name, p.Paper, here))
		}
		return lines
	}
	differs := slices.Clone(f.Differs)
	for _, p := range f.Parameters {
		if p.Differs {
			differs = append(differs, p.String())
		}
	}
	if len(differs) > 0 {
		what := "differs: "
		if f.Repeats == claims.None {
			what = "not repeated: "
		}
		lines = append(lines, what+strings.Join(differs, "; "))
	}
	return lines
}
