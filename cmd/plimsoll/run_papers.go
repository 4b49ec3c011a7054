package main

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"plimsoll/internal/experiment"
	"plimsoll/internal/finding/published/claims"
	"plimsoll/internal/problem/suggest"
	"plimsoll/internal/result"
	"plimsoll/internal/stack"
	"plimsoll/internal/units"
	"plimsoll/internal/units/plural"
)

// figureExperiment returns the experiment that repeats the figure, and selects its mixes, workloads and stacks unless
// --only does.
func figureExperiment(o runOptions) (string, error) {
	f, known := claims.FindFigure(o.figure)
	switch {
	case !known:
		var ids []string
		for _, f := range claims.Figures() {
			ids = append(ids, f.ID)
		}
		meant := "plimsoll papers list names the figures"
		near := suggest.Closest(strings.ToLower(o.figure), ids)
		if near != "" {
			meant = fmt.Sprintf("did you mean %s? %s", near, meant)
		}
		return "", fmt.Errorf("no paper here has a figure %q: %s", o.figure, meant)
	case f.Setup:
		return "", fmt.Errorf("%s of %s is a set-up: plimsoll papers list compares this host with it", f.Name(), f.Paper())
	case f.Experiment == "":
		return "", fmt.Errorf("no experiment repeats %s of %s: %s", f.Name(), f.Paper(), strings.Join(f.Differs, "; "))
	}
	if o.text("only") == "" {
		e, err := loadExperiment(f.Experiment, o.text("scale"))
		if err != nil {
			return "", err
		}
		*o.texts["only"] = strings.Join(onlyOf(f, e), ",")
	}
	return f.Experiment, nil
}

// onlyOf returns what a figure takes of its experiment, at the scale that this was read at: a stack or workload may
// exist at one scale alone.
func onlyOf(f claims.Figure, e *experiment.Experiment) (only []string) {
	for _, pattern := range f.Only {
		if e.HasName(pattern) {
			only = append(only, pattern)
		}
	}
	return only
}

// compareFigure compares what a paper had for a figure with its experiment at the paper's scale, and the host of a
// set-up with this one.
func compareFigure(f claims.Figure, host func() result.Environment) ([]claims.Compared, error) {
	switch {
	case f.Setup:
		return f.Had.Compare(hostValues(host())), nil
	case f.Experiment == "":
		return f.Had.Compare(func(string) []string { return nil }), nil
	}
	e, err := loadExperiment(f.Experiment, claims.ScalePaper)
	if err != nil {
		return nil, err
	}
	e.Scaled.Only, e.Scaled.Catalog = onlyOf(f, e), stack.Catalog()
	_, err = e.Scaled.Apply(e)
	if err != nil {
		return nil, err
	}
	return f.Had.Compare(e.ParameterValues), nil
}

// hostValues returns what a host has for the parameters of a set-up; nothing for those that plimsoll does not know of
// a host.
func hostValues(host result.Environment) func(name string) []string {
	known := func(text string) []string {
		if text == "" {
			return nil
		}
		return []string{text}
	}
	return func(name string) (values []string) {
		switch name {
		case "processor":
			return known(host.CPUModel)
		case "cpus":
			return known(strconv.Itoa(host.CPUs))
		case "memory":
			return known(units.Bytes(host.MemoryBytes))
		case "kernel":
			return known(host.Kernel)
		case "os":
			return known(host.OS)
		case "docker":
			return known(host.DockerVersion)
		case "fio":
			return known(host.FioVersion)
		case "drives":
			for _, d := range host.Devices {
				if d.Model != "" || strings.HasPrefix(d.Name, "nvme") || strings.HasPrefix(d.Name, "sd") ||
					strings.HasPrefix(d.Name, "vd") {
					values = append(values, strings.TrimSpace(cmp.Or(d.Model, d.Name)+" "+units.Bytes(d.SizeBytes)))
				}
			}
		}
		return values
	}
}

// paperComparison compares a paper's set-up with a run's.
type paperComparison struct {
	Paper   string            `json:"paper"`
	Figures []string          `json:"figures"`           // that it holds for: "figure 6a"
	Shows   []string          `json:"shows"`             // what each of them shows
	Layouts []string          `json:"layouts,omitempty"` // whose defaults servers have: "Cassandra 2.1"
	Assumed []claims.Compared `json:"assumed,omitempty"` // that the paper does not state, at its scale
	Differs []string          `json:"differs,omitempty"`
	Rows    []claims.Compared `json:"parameters,omitempty"`
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
		comparison := paperComparison{Paper: f.Paper().String(), Differs: slices.Clone(f.Differs),
			Rows: f.Had.Compare(e.ParameterValues)}
		if e.AtScale == claims.ScalePaper {
			for _, name := range e.Assumed(plural.Words(f.Had, func(p claims.Parameter) string { return p.Name })) {
				comparison.Assumed = append(comparison.Assumed, claims.Compared{Name: name, Here: e.ParameterValues(name)})
			}
		}
		for _, l := range e.Layouts() {
			comparison.Layouts = append(comparison.Layouts, l.Server+" "+l.Version)
			for _, what := range l.Differs {
				comparison.Differs = append(comparison.Differs, l.Server+": "+what)
			}
		}
		i := slices.IndexFunc(all, func(b paperComparison) bool {
			return b.Paper == comparison.Paper && slices.EqualFunc(b.Rows, comparison.Rows, sameRow) &&
				slices.EqualFunc(b.Assumed, comparison.Assumed, sameRow) && slices.Equal(b.Differs, comparison.Differs)
		})
		if i < 0 {
			i, all = len(all), append(all, comparison)
		}
		all[i].Figures, all[i].Shows = append(all[i].Figures, f.Name()), append(all[i].Shows, f.Shows)
	}
	return all
}

// sameRow reports whether two papers had the same value for the same parameter. The values here are one experiment's.
func sameRow(a, b claims.Compared) bool { return a.Name == b.Name && a.Paper == b.Paper }

// printPapers prints comparisons for people; with --json they are part of the plan.
func (a *app) printPapers(all []paperComparison) {
	for i := 0; i < len(all) && !a.jsonOutput; i++ {
		fmt.Fprintf(a.stdout, "%s\n", all[i])
	}
}

// String is the comparison for people.
func (b paperComparison) String() string {
	var out strings.Builder
	fmt.Fprintf(&out, "%s of %s", plural.And(b.Figures), b.Paper)
	if len(b.Shows) == 1 {
		fmt.Fprintf(&out, ": %s", b.Shows[0])
	}
	out.WriteByte('\n')
	if len(b.Assumed) > 0 {
		var assumed []string
		for _, r := range b.Assumed {
			assumed = append(assumed, strings.TrimSpace(r.Name+" "+experiment.Spread(r.Here)))
		}
		fmt.Fprintf(&out, "    assumed, the paper does not state them: %s\n", strings.Join(assumed, "; "))
	}
	if len(b.Layouts) > 0 {
		fmt.Fprintf(&out, "    other parameters of servers: the defaults of %s\n", plural.And(b.Layouts))
	}
	name, paper := len("parameter"), len("the paper")
	for _, r := range b.Rows {
		name, paper = max(name, len(r.Name)), max(paper, len(r.Paper))
	}
	line := func(a, b, c string) { fmt.Fprintf(&out, "    %-*s  %-*s  %s\n", name, a, paper, b, c) }
	if len(b.Rows) > 0 {
		line("parameter", "the paper", "this run")
	}
	for _, r := range b.Rows {
		here := cmp.Or(experiment.Spread(r.Here), "-")
		if r.Differs {
			here += " (differs)"
		}
		line(r.Name, r.Paper, here)
	}
	for _, what := range b.Differs {
		fmt.Fprintf(&out, "    differs: %s\n", what)
	}
	return out.String()
}
