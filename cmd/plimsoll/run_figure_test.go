package main

import (
	"slices"
	"testing"

	"plimsoll/internal/finding/published/claims"
	"plimsoll/internal/stack"
)

// What a figure takes of its experiment is in it, at the paper's scale too, and what the paper had is known by name.
func TestFiguresAreOfTheirExperiments(t *testing.T) {
	known := map[string]bool{}
	for _, f := range claims.Figures() {
		if f.Experiment == "" {
			continue
		}
		e, err := loadExperiment(f.Experiment, "")
		if err != nil {
			t.Fatal(err)
		}
		for _, scale := range slices.Concat([]string{""}, e.Scales) {
			at, err := loadExperiment(f.Experiment, scale)
			if err != nil {
				t.Fatal(err)
			}
			at.Scaled.Only, at.Scaled.Catalog = f.Only, stack.Catalog()
			_, err = at.Scaled.Apply(at)
			if err != nil {
				t.Errorf("%s at scale %q: %v", f.ID, scale, err)
			}
			for _, h := range f.Had {
				known[h.Name] = known[h.Name] || at.Parameter(h.Name) != ""
			}
		}
	}
	for _, f := range claims.Figures() {
		for _, h := range f.Had {
			if !known[h.Name] {
				t.Errorf("%s: no experiment says anything of %s", f.ID, h.Name)
			}
		}
	}
}
