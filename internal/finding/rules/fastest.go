package rules

import (
	_ "embed" // the sentences
	"slices"

	"plimsoll/internal/finding/fact"
	"plimsoll/internal/finding/measured"
	"plimsoll/internal/finding/prose"
)

//go:embed fastest.tmpl
var fastestText string

// FastestSentences are the sentences of rankings.
var FastestSentences = prose.NewSheet(fastestText)

// Ranking is the stacks of a workload by what their numbers are worth, the best of
// each first.
type Ranking struct {
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

// Fastest ranks the stacks of each workload. Only those whose device
// answered compete; what came from memory is listed apart.
func Fastest(v *measured.View) []fact.Finding {
	var out []fact.Finding
	for _, w := range v.Workloads {
		if v.Together(w.Name) {
			continue
		}
		r := v.Rank(w.Name)
		if len(r.Honest)+len(r.Unchecked)+len(r.Memory) == 0 {
			continue
		}
		facts := Ranking{Honest: placed(v, r.Honest), Unchecked: placed(v, r.Unchecked), Memory: placed(v, r.Memory)}
		f := fact.Finding{
			ID: "fastest/" + w.Name, Kind: fact.KindFastest, Workload: w.Name,
			Stacks:   append(measured.Names(r.Honest), measured.Names(r.Unchecked)...),
			Evidence: measured.Points(slices.Concat(r.Honest, r.Unchecked, r.Memory)...),
			Caveats:  measured.MarksOf(slices.Concat(r.Honest, r.Unchecked)...),
		}
		switch {
		case len(r.Honest) > 0:
			nameFastest(v, &f, &facts, r.Honest)
		case len(r.Unchecked) > 0:
			f.Case = "unchecked"
		default:
			f.Case = "from memory"
		}
		f.Facts = facts
		out = append(out, f)
	}
	return out
}

// nameFastest compares the best honest stack with the next ones.
func nameFastest(v *measured.View, f *fact.Finding, facts *Ranking, honest []*measured.Cell) {
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
	f.Remarks = append(f.Remarks, measured.TooFew(next)...)
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
func placed(v *measured.View, cells []*measured.Cell) []Placed {
	var out []Placed
	for _, c := range cells {
		e, _ := v.Compare(cells[0], c)
		out = append(out, Placed{c.Stack.Name, c.Point.Median, c != cells[0] && c.Honest() && !e.Differs && !e.TooFew})
	}
	return out
}
