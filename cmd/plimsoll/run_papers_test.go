package main

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"plimsoll/internal/experiment"
	"plimsoll/internal/finding/published/claims"
	"plimsoll/internal/result"
	"plimsoll/internal/stack"
)

// asPrinted are the figures that the listing calls so. A figure that leaves the list differs from its paper, and one
// that joins it has to be read again.
var asPrinted = []string{"msst17-3a", "msst17-3b", "msst17-3e", "msst17-3f", "msst17-3g", "msst17-3h", "ipccc16-7",
	"systor15-5a", "systor15-5b"}

// What is listed as printed has each parameter of the paper at the scale paper, and none of it is only said.
func TestFiguresAsPrinted(t *testing.T) {
	var printed []string
	for _, f := range claims.Figures() {
		has, err := compareFigure(f, func() result.Environment { return result.Environment{} })
		if err != nil {
			t.Fatalf("%s: %v", f.ID, err)
		}
		if f.Repeats(has) != claims.Whole {
			continue
		}
		printed = append(printed, f.ID)
		if len(f.Had) < 3 {
			t.Errorf("%s is as printed, and of the paper's parameters only %v are known", f.ID, f.Had)
		}
		for _, c := range has {
			if c.Differs || len(c.Here) == 0 && !strings.Contains(c.Paper, "without effect") {
				t.Errorf("%s is as printed, and has %s", f.ID, c)
			}
		}
	}
	if !slices.Equal(printed, asPrinted) {
		t.Errorf("as printed: %q, want %q", printed, asPrinted)
	}
}

// A parameter that is not the paper's is found, whichever it is.
func TestAChangedParameterDiffers(t *testing.T) {
	for from, to := range map[string]string{
		"jobs: 32": "jobs: 16", "iodepth: 32": "iodepth: 1", "bs: 4KiB": "bs: 8KiB", "size: 5GiB": "size: 6GiB",
		"runtime: 10m": "runtime: 5m", "precondition: snia\n": "\n",
	} {
		f, _ := claims.FindFigure("msst17-3a")
		asIs, err := loadExperiment(f.Experiment, claims.ScalePaper)
		if err != nil {
			t.Fatal(err)
		}
		text := strings.ReplaceAll(asIs.Source, from, to)
		if text == asIs.Source {
			t.Fatalf("%s is not in\n%s", from, text)
		}
		e, err := parseExperiment("changed.yaml", "", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		e.Scaled.Only, e.Scaled.Catalog = onlyOf(f, e), stack.Catalog()
		if _, err = e.Scaled.Apply(e); err != nil {
			t.Fatal(err)
		}
		name, _, _ := strings.Cut(from, ":")
		var differ []string
		for _, c := range f.Had.Compare(e.ParameterValues) {
			if c.Differs {
				differ = append(differ, c.Name)
			}
		}
		if !slices.Equal(differ, []string{name}) {
			t.Errorf("with %s in the place of %s, %q differ", to, from, differ)
		}
	}
}

// What a figure takes of its experiment is in it at each scale, each experiment has the paper's scale, and parameters
// are known by name.
func TestFiguresAreOfTheirExperiments(t *testing.T) {
	known := map[string]bool{"operations": true} // no built-in experiment ends by operations
	for _, f := range claims.Figures() {
		if f.Experiment == "" {
			continue
		}
		e, err := loadExperiment(f.Experiment, "")
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Contains(e.Scales, claims.ScalePaper) {
			t.Errorf("%s: %s has no scale %s", f.ID, f.Experiment, claims.ScalePaper)
		}
		used := map[string]bool{}
		for _, scale := range slices.Concat([]string{""}, e.Scales) {
			at, err := loadExperiment(f.Experiment, scale)
			if err != nil {
				t.Fatal(err)
			}
			all := slices.Clone(at.Mixes)
			at.Scaled.Only, at.Scaled.Catalog = onlyOf(f, at), stack.Catalog()
			for _, pattern := range at.Scaled.Only {
				used[pattern] = true
			}
			_, err = at.Scaled.Apply(at)
			if err != nil {
				t.Errorf("%s at scale %q: %v", f.ID, scale, err)
			}
			names := func(all []experiment.Mix) (names []string) {
				for _, m := range all {
					names = append(names, m.Name)
				}
				return names
			}
			if selects := slices.ContainsFunc(f.Only, mixNamed(all)); !selects && len(f.Only) > 0 && scale != "" {
				t.Errorf("%s at scale %q takes all of %q", f.ID, scale, names(all))
			}
			for _, h := range f.Had {
				known[h.Name] = known[h.Name] || at.Parameter(h.Name) != ""
			}
		}
		for _, pattern := range f.Only {
			if !used[pattern] {
				t.Errorf("%s: %s has no %s at any scale", f.ID, f.Experiment, pattern)
			}
		}
	}
	for _, f := range claims.Figures() {
		for _, h := range f.Had {
			if !known[h.Name] && !f.Setup {
				t.Errorf("%s: no experiment says anything of %s", f.ID, h.Name)
			}
		}
	}
}

// mixNamed returns whether a pattern matches some mix.
func mixNamed(all []experiment.Mix) func(pattern string) bool {
	return func(pattern string) bool {
		e := experiment.Experiment{Mixes: all}
		return e.HasName(pattern)
	}
}

// Figures of one experiment that show different patterns run different trials.
func TestFiguresRunTheirOwnPart(t *testing.T) {
	trials := func(id, scale string) map[string]bool {
		f, _ := claims.FindFigure(id)
		e, err := loadExperiment(f.Experiment, scale)
		if err != nil {
			t.Fatal(err)
		}
		e.Scaled.Only, e.Scaled.Catalog = onlyOf(f, e), stack.Catalog()
		if _, err := e.Scaled.Apply(e); err != nil {
			t.Fatal(err)
		}
		mixes := map[string]bool{}
		for _, m := range e.Mixes {
			mixes[m.Name] = true
		}
		return mixes
	}
	for _, pair := range [][2]string{{"msst17-3a", "msst17-3b"}, {"msst17-3c", "msst17-3d"}, {"msst17-3i", "msst17-3j"},
		{"msst17-3k", "msst17-3l"}, {"msst17-4a", "msst17-4b"}} {
		for _, scale := range []string{"", claims.ScalePaper} {
			a, b := trials(pair[0], scale), trials(pair[1], scale)
			for m := range a {
				if b[m] {
					t.Errorf("%s and %s at scale %q both run %s", pair[0], pair[1], scale, m)
				}
			}
			if len(a) == 0 || len(b) == 0 {
				t.Errorf("at scale %q, %v runs %v and %v", scale, pair, maps.Keys(a), maps.Keys(b))
			}
		}
	}
}
