package main

import (
	"fmt"
	"slices"
	"strings"

	"plimsoll/internal/experiment"
	"plimsoll/internal/finding/published/claims"
	"plimsoll/internal/problem/suggest"
	"plimsoll/internal/units/plural"
)

// figureAsked puts the experiment of --figure, and which of its mixes, workloads and stacks it takes, in the place of
// the command line's.
func figureAsked(args []string, o runOptions) ([]string, error) {
	if o.figure == "" {
		return args, nil
	}
	f, known := claims.FindFigure(o.figure)
	switch {
	case !known:
		var ids []string
		for _, f := range claims.Figures() {
			ids = append(ids, f.ID)
		}
		meant := "plimsoll list --paper names the figures"
		near := suggest.Closest(strings.ToLower(o.figure), ids)
		if near != "" {
			meant = fmt.Sprintf("did you mean %s? %s", near, meant)
		}
		return nil, fmt.Errorf("no paper here has a figure %q: %s", o.figure, meant)
	case f.Experiment == "":
		return nil, fmt.Errorf("nothing repeats %s of %s: %s", f.Name(), f.Paper(), strings.Join(f.Differs, "; "))
	case len(args) > 0 && args[0] != f.Experiment:
		return nil, fmt.Errorf("%s of %s is of %s, not of %s: name no experiment with --figure", f.Name(), f.Paper(),
			f.Experiment, args[0])
	}
	if o.text("only") == "" {
		*o.texts["only"] = strings.Join(f.Only, ",")
	}
	return []string{f.Experiment}, nil
}

// paperComparison compares a paper's set-up with a run's.
type paperComparison struct {
	Paper   string      `json:"paper"`
	Figures []string    `json:"figures"` // that it holds for: "figure 6a"
	Shows   []string    `json:"shows"`   // what each of them shows
	Differs []string    `json:"differs,omitempty"`
	Rows    []besideRow `json:"parameters,omitempty"`
}

// besideRow is a parameter: a key of experiment files, or containers, drives, limits, data.
type besideRow struct {
	Name  string `json:"name"`
	Paper string `json:"paper"`
	Here  string `json:"here,omitempty"` // "" where the experiment does not set it
}

// compareWithPapers returns the set-ups of papers whose figures an experiment repeats: all of them, or the one of
// that id. Figures with the same set-up are combined.
func compareWithPapers(e *experiment.Experiment, id string) (all []paperComparison) {
	if e.File != "" {
		return nil // it is a file of the user's, whatever its name
	}
	for _, f := range claims.Figures() {
		if f.Experiment != e.Name || id != "" && !strings.EqualFold(f.ID, id) {
			continue
		}
		one := paperComparison{Paper: f.Paper().String(), Differs: f.Differs}
		for _, h := range f.Had {
			one.Rows = append(one.Rows, besideRow{h.Name, h.Value, e.Parameter(h.Name)})
		}
		i := slices.IndexFunc(all, func(b paperComparison) bool {
			return b.Paper == one.Paper && slices.Equal(b.Rows, one.Rows) && slices.Equal(b.Differs, one.Differs)
		})
		if i < 0 {
			i, all = len(all), append(all, one)
		}
		all[i].Figures, all[i].Shows = append(all[i].Figures, f.Name()), append(all[i].Shows, f.Shows)
	}
	return all
}

// String is the comparison for people.
func (b paperComparison) String() string {
	var out strings.Builder
	fmt.Fprintf(&out, "%s of %s", plural.And(b.Figures), b.Paper)
	if len(b.Shows) == 1 {
		fmt.Fprintf(&out, ": %s", b.Shows[0])
	}
	out.WriteByte('\n')
	name, paper := len("parameter"), len("the paper")
	for _, r := range b.Rows {
		name, paper = max(name, len(r.Name)), max(paper, len(r.Paper))
	}
	line := func(a, b, c string) { fmt.Fprintf(&out, "    %-*s  %-*s  %s\n", name, a, paper, b, c) }
	if len(b.Rows) > 0 {
		line("parameter", "the paper", "this run")
	}
	for _, r := range b.Rows {
		here := r.Here
		if here == "" {
			here = "-"
		}
		line(r.Name, r.Paper, here)
	}
	for _, what := range b.Differs {
		fmt.Fprintf(&out, "    differs: %s\n", what)
	}
	return out.String()
}
