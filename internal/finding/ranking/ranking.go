// Package ranking ranks the stacks of each workload by what their numbers are worth.
package ranking

import (
	"fmt"
	"slices"
	"strings"

	"plimsoll/internal/finding/fact"
	"plimsoll/internal/finding/prose"
	"plimsoll/internal/runview"
	"plimsoll/internal/units"
	"plimsoll/internal/units/plural"
)

// Facts are the stacks of a workload by what their numbers are worth, the best of
// each first.
type Facts struct {
	Honest    []Placed `json:"honest,omitempty"`    // the device answered
	Unchecked []Placed `json:"unchecked,omitempty"` // no counter could be read
	Memory    []Placed `json:"memory,omitempty"`    // memory answered
	Level     []string `json:"level,omitempty"`     // with the first honest one, as far as is known
}

// Placed is a stack in a ranking.
type Placed struct {
	Stack string  `json:"stack"`
	IOPS  float64 `json:"iops"`            // median
	Level bool    `json:"level,omitempty"` // its difference to the first is not significant
}

// Find ranks the stacks of each workload. Only those whose device
// answered compete; what came from memory is listed apart.
func Find(v *runview.View) []fact.Finding {
	var out []fact.Finding
	for _, w := range v.Workloads {
		if v.Together(w.Name) {
			continue
		}
		r := v.Rank(w.Name)
		if len(r.Honest)+len(r.Unchecked)+len(r.Memory) == 0 {
			continue
		}
		facts := Facts{Honest: placed(v, r.Honest), Unchecked: placed(v, r.Unchecked), Memory: placed(v, r.Memory)}
		f := fact.Finding{
			ID: "fastest/" + w.Name, Kind: fact.KindFastest, Workload: w.Name,
			Stacks:   append(runview.Names(r.Honest), runview.Names(r.Unchecked)...),
			Evidence: runview.Points(slices.Concat(r.Honest, r.Unchecked, r.Memory)...),
			Caveats:  runview.MarksOf(slices.Concat(r.Honest, r.Unchecked)...),
		}
		switch {
		case len(r.Honest) > 0:
			nameFastest(v, &f, &facts, r.Honest)
		case len(r.Unchecked) > 0:
			f.Case = "unchecked"
		default:
			f.Case = "from memory"
		}
		f.Facts, f.Title, f.Why = facts, facts.title(f), facts.order()
		out = append(out, f)
	}
	return out
}

// nameFastest compares the best honest stack with the next ones.
func nameFastest(v *runview.View, f *fact.Finding, facts *Facts, honest []*runview.Cell) {
	best, others := honest[0], honest[1:]
	if len(others) == 0 {
		f.Case = "only"
		return
	}
	canTell := false
	for _, c := range others {
		e, _ := v.Compare(best, c)
		canTell = canTell || !e.TooFew
		if !e.Differs {
			facts.Level = append(facts.Level, c.Stack.Name)
		}
	}
	next, ok := v.Compare(best, others[0])
	if ok {
		f.Effect = &next
	}
	prose.RemarkTooFew(f, next)
	switch {
	case !canTell:
		f.Case = "cannot tell"
	case len(facts.Level) > 0:
		f.Case = "level"
	default:
		f.Case = "fastest"
	}
}

// placed are cells with what is known of the difference to the first of them.
func placed(v *runview.View, cells []*runview.Cell) []Placed {
	var out []Placed
	for _, c := range cells {
		e, _ := v.Compare(cells[0], c)
		out = append(out, Placed{c.Stack.Name, c.Point.Median, c != cells[0] && c.Honest() && !e.Differs && !e.TooFew})
	}
	return out
}

// title says who leads, and whether that is known.
func (r Facts) title(f fact.Finding) string {
	if f.Case == "from memory" {
		return f.Workload + ": every stack answered from memory, so none is the fastest"
	}
	leads, rate := strings.TrimSpace(f.Workload+": "+f.Stacks[0]), prose.Rate(f.Evidence[0])
	switch f.Case {
	case "only":
		return fmt.Sprintf("%s is the only honest stack, %s", leads, rate)
	case "cannot tell":
		return fmt.Sprintf("%s has the highest median, %s, and so few trials cannot decide whether that is chance", leads, rate)
	case "level":
		return fmt.Sprintf("%s leads with %s, and %s %s level with it (~)", leads, rate, plural.And(r.Level),
			plural.Choose(len(r.Level), "is", "are"))
	case "unchecked":
		return fmt.Sprintf("%s shows most, %s, but no stack's device counters could be read, so none is known to be honest",
			leads, rate)
	}
	said := fmt.Sprintf("%s is fastest with %s", leads, rate)
	if f.Effect != nil {
		said += fmt.Sprintf(", %s of %s", f.Effect.WithInterval(), f.Effect.Baseline)
	}
	return said
}

// order lists all stacks by what their numbers are worth.
func (r Facts) order() string {
	var said []string
	for _, part := range []struct {
		words  string
		stacks []Placed
	}{
		{"By median IOPS, ~ where the difference to the first is not significant: ", r.Honest},
		{"Apart, because no device counter could be read: ", r.Unchecked},
		{"Apart, because memory answered instead of the device: ", r.Memory},
	} {
		var all []string
		for _, p := range part.stacks {
			mark := ""
			if p.Level {
				mark = "~ "
			}
			all = append(all, strings.TrimSpace(p.Stack+" "+mark+units.Rate(p.IOPS)))
		}
		if len(all) > 0 {
			said = append(said, part.words+strings.Join(all, ", ")+".")
		}
	}
	return strings.Join(said, " ")
}
