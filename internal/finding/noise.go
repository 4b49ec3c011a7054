package finding

import (
	"fmt"
	"math"
	"slices"
	"strings"

	samples "plimsoll/internal/cell"
	"plimsoll/internal/plural"
	"plimsoll/internal/stats"
	"plimsoll/internal/units"
)

// Noise is what equal things differed by under one workload: two copies of a
// stack, the bring-ups of all stacks, and the trials of a bring-up.
type Noise struct {
	Workload string  `json:"workload"`
	Twin     string  `json:"twin,omitempty"`    // the stack that the control is a copy of; "" where there is no control
	Control  *Effect `json:"control,omitempty"` // the control against its twin; nil where there is none
	// The parts of the variance of rates, as shares of a rate; nil when the run
	// does not tell.
	Within  *float64 `json:"within,omitempty"`  // between trials of one bring-up
	Between *float64 `json:"between,omitempty"` // between bring-ups in a block, beyond that
	Blocks  *float64 `json:"blocks,omitempty"`  // between blocks: regions of the disk, and hours
}

// noise tells how far apart equal things came out: no smaller difference means
// anything.
func noise(v *view) []Finding {
	var all []Noise
	for _, w := range v.workloads {
		n := Noise{Workload: w.Name}
		if e, ok := v.noise(w.Name); ok {
			n.Control, n.Twin = &e, e.Baseline
		}
		var points []samples.Sample
		for _, c := range v.under(w.Name) {
			points = append(points, c.rates)
		}
		if parts, ok := samples.Parts(points); ok {
			n.Within, n.Between, n.Blocks = known(parts.Within), known(parts.Between), known(parts.Blocks)
		}
		if n.Control != nil || n.Within != nil || n.Between != nil {
			all = append(all, n)
		}
	}
	if len(all) == 0 {
		return nil
	}
	f := Finding{ID: "noise", Kind: KindNoise, Noise: all, Title: noiseTitle(all), Why: v.noiseWhy(all)}
	for _, n := range all {
		if n.Twin != "" {
			f.Stacks = appendNew(f.Stacks, n.Twin)
		}
	}
	return []Finding{f}
}

func known(x float64) *float64 {
	if math.IsNaN(x) {
		return nil
	}
	return &x
}

// apart is by how much two copies differed, as a share.
func (n Noise) apart() float64 { return n.Control.size() - 1 }

func noiseTitle(all []Noise) string {
	measured := slices.DeleteFunc(slices.Clone(all), func(n Noise) bool { return n.Control == nil || n.Control.TooFew })
	if len(measured) == 0 {
		return "This run's noise floor is not known: no copy of a stack was brought up four times beside it"
	}
	var each []string
	for _, n := range measured {
		each = append(each, fmt.Sprintf("%s under %s", spreadText(n.apart()), n.Workload))
	}
	return fmt.Sprintf("This run's noise floor: two copies of %s differ by %s", measured[0].Twin, plural.And(each))
}

func (v *view) noiseWhy(all []Noise) string {
	var parts []string
	for _, n := range all {
		if text := n.parts(); text != "" {
			parts = append(parts, fmt.Sprintf("Under %s, rates vary by %s.", n.Workload, text))
		}
	}
	why := "Each block has a region of the disk and an hour of its own, which all stacks share."
	if slices.ContainsFunc(all, func(n Noise) bool { return n.Control != nil }) {
		why += " The control is a copy of the baseline that was brought up like any other stack. No difference below the one between these two is taken for real."
	}
	if n := len(v.rates); n > 1 {
		why += fmt.Sprintf(" Among %s of rates, at most %s of those that are called different are expected to be so by chance.",
			plural.Count(n, "comparison"), units.Percent(stats.Alpha))
	}
	return strings.TrimSpace(strings.Join(parts, " ") + " " + why)
}

// Sentence says in one line, for the place under a table, how far apart equal
// things came out.
func (n Noise) Sentence() string {
	var said []string
	switch {
	case n.Control == nil: // nobody asked for one
	case n.Control.TooFew:
		said = append(said, fmt.Sprintf("so few bring-ups do not tell how far two copies of %s differ", n.Twin))
	default:
		said = append(said, fmt.Sprintf("two copies of %s differ by %s", n.Twin, spreadText(n.apart())))
	}
	if parts := n.parts(); parts != "" {
		said = append(said, "rates vary by "+parts)
	}
	return strings.Join(said, "; ")
}

// parts writes the parts of the variance: "4% within a bring-up, 2% between
// bring-ups and 14% between blocks".
func (n Noise) parts() string {
	var out []string
	for _, p := range []struct {
		share *float64
		of    string
	}{{n.Within, "within a bring-up"}, {n.Between, "between bring-ups"}, {n.Blocks, "between blocks"}} {
		if p.share != nil {
			out = append(out, spreadText(*p.share)+" "+p.of)
		}
	}
	return plural.And(out)
}

// spreadText writes a standard deviation as a share.
func spreadText(share float64) string {
	if share < 0.001 {
		return "less than 0.1%"
	}
	return units.Percent(share)
}

// warnings say where two copies of a stack differ significantly: something
// besides the stacks decides what is measured.
func (v *view) warnings() (out []string) {
	for _, w := range v.workloads {
		e, ok := v.noise(w.Name)
		if ok && e.Differs {
			out = append(out, fmt.Sprintf("two copies of %s differ by %s under %s, so that something besides the stacks decides there",
				e.Baseline, spreadText(e.size()-1), w.Name))
		}
	}
	return out
}
