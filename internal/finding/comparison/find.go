// Package comparison compares stacks: with the baseline of the experiment, and with those that are
// alike but for one thing.
package comparison

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"plimsoll/internal/fact"
	"plimsoll/internal/finding/prose"
	"plimsoll/internal/result"
	"plimsoll/internal/runview"
	"plimsoll/internal/stats"
)

// Facts are the facts of a comparison beside its effect.
type Facts struct {
	Subject    string `json:"subject"`
	Baseline   string `json:"baseline"`
	Pattern    string `json:"pattern,omitempty"` // fio's rw
	Only       string `json:"only,omitempty"`    // the one thing that siblings differ in
	FromMemory bool   `json:"from_memory,omitempty"`
	// Doubt is why the difference is not taken for real: there are many comparisons,
	// it is small, or it may be chance; "" for none.
	Doubt string `json:"doubt,omitempty"`
}

// compared is what both rules that compare two stacks find. only is the one thing
// that they differ in; "" for the baseline.
func compared(v *runview.View, id string, subject, baseline *runview.Cell, only string) fact.Finding {
	f := fact.Finding{
		ID: id, Case: "comparison", Kind: fact.KindComparison, Workload: subject.Workload.Name,
		Stacks:   []string{subject.Stack.Name, baseline.Stack.Name},
		Evidence: runview.Points(subject, baseline),
		Caveats:  runview.MarksOf(subject, baseline),
	}
	for _, c := range []*runview.Cell{subject, baseline} {
		switch c.Source() {
		case result.SourceMemory:
			from := fact.Unfit{Stack: c.Stack.Name, Served: runview.Served(c)}
			prose.Remark(&f, "caveat: from memory", from, prose.FromMemory(from))
		case result.SourceUnknown:
			from := fact.Unfit{Stack: c.Stack.Name}
			prose.Remark(&f, "caveat: unchecked", from, prose.Unchecked(from))
		}
	}
	facts := Facts{
		Subject: subject.Stack.Name, Baseline: baseline.Stack.Name, Pattern: subject.Workload.Pattern, Only: only,
		FromMemory: subject.Source() == result.SourceMemory,
	}
	e, ok := v.Compare(subject, baseline)
	if ok {
		f.Effect = &e
		prose.RemarkTooFew(&f, e)
		facts.Doubt = doubtOf(e)
	}
	f.Facts, f.Title, f.Why = facts, facts.title(f), facts.why(f)
	return f
}

// doubtOf says why an effect is not taken for a difference; "" where it is, or where
// so few cannot tell.
func doubtOf(e fact.Effect) string {
	switch {
	case e.TooFew:
		return ""
	case e.P < stats.Alpha && e.Adjusted >= stats.Alpha:
		return "many"
	case e.P < stats.Alpha && !e.Differs:
		return "small"
	case !e.Differs:
		return "chance"
	}
	return ""
}

// Baseline compares every stack with the experiment's baseline.
func Baseline(v *runview.View) []fact.Finding {
	name := v.Run.Experiment.Baseline
	if name == "" {
		return nil
	}
	var out []fact.Finding
	for _, w := range v.Workloads {
		cells := v.Under(w.Name)
		baseline := v.Cell(name, w.Name)
		if baseline == nil {
			if len(cells) > 0 {
				out = append(out, fact.Finding{
					ID: "baseline/" + name + "/" + w.Name, Case: "no baseline", Kind: fact.KindComparison, Workload: w.Name, Stacks: []string{name},
					Title: fmt.Sprintf("There is no comparison with the baseline: %s has no measurement of %s", name, w.Name),
					Why:   "None of its trials finished; the findings on what was not measured say why.",
				})
			}
			continue
		}
		for _, c := range cells {
			if c != baseline {
				out = append(out, compared(v, "baseline/"+c.Stack.Name+"/"+w.Name, c, baseline, ""))
			}
		}
	}
	return out
}

// Siblings compares stacks that differ in one thing only, the faster one
// first: the comparison then shows what that one thing costs. Pairs with the
// baseline are left to that rule. The largest differences come first.
func Siblings(v *runview.View) []fact.Finding {
	var out []fact.Finding
	for _, w := range v.Workloads {
		var found []fact.Finding
		cells := v.Under(w.Name)
		for i, a := range cells {
			for _, b := range cells[i+1:] {
				difference, ok := runview.Difference(a.Stack.Parsed, b.Stack.Parsed)
				if !ok || a.Stack.Name == v.Run.Experiment.Baseline || b.Stack.Name == v.Run.Experiment.Baseline {
					continue
				}
				illusion := a.Source() == result.SourceMemory || b.Source() == result.SourceMemory
				if illusion && a.Stack.InContainer() && b.Stack.InContainer() {
					continue // that one is an illusion is said, and shown against the layer below both
				}
				faster, slower := a, b
				if b.Point.Median > a.Point.Median {
					faster, slower = b, a
				}
				id := "siblings/" + a.Stack.Name + "/" + b.Stack.Name + "/" + w.Name
				found = append(found, compared(v, id, faster, slower, difference))
			}
		}
		slices.SortStableFunc(found, func(a, b fact.Finding) int { return cmp.Compare(weight(b), weight(a)) })
		out = append(out, found...)
	}
	return out
}

// weight orders comparisons: significant ones first, then by size.
func weight(f fact.Finding) float64 {
	if f.Effect == nil {
		return -1
	}
	size := math.Abs(math.Log(f.Effect.Ratio))
	if f.Effect.Differs {
		size += 1e6
	}
	return size
}
