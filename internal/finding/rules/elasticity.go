package rules

import (
	_ "embed" // the sentences
	"slices"

	"plimsoll/internal/finding/fact"
	"plimsoll/internal/finding/measured"
	"plimsoll/internal/finding/prose"
)

//go:embed elasticity.tmpl
var elasticityText string

// ElasticitySentences are the sentences on what a limit of the miniature is worth.
var ElasticitySentences = prose.NewSheet(elasticityText)

// Limited is what these sentences speak of.
type Limited struct {
	Elasticity fact.Elasticity `json:"elasticity"`
	Count      []Counted       `json:"-"` // limits that throughput depends on: what helps first, then what is needed
	Idle       []fact.Worth    `json:"-"` // those that do not
	Noisy      []fact.Worth    `json:"-"` // those of which that cannot be told
}

// Counted is a limit that throughput depends on.
type Counted struct{ fact.Worth }

// Change is what sentences say of more, or of less, of it.
type Change struct {
	fact.LimitChange
	Resource fact.Resource
}

// Did is what more, or less, of the limit did.
func (c Counted) Did(change *fact.LimitChange) Change { return Change{*change, c.Resource} }

// Failed says with which changes of limits no trial was completed.
func (l Limited) Failed() (changes []string) {
	for _, w := range l.Elasticity.Limits {
		for _, factor := range w.Failed {
			changes = append(changes, ElasticitySentences.Say("amount", Change{fact.LimitChange{Factor: factor}, w.Resource})+" "+
				ElasticitySentences.Say("limit", w))
		}
	}
	return changes
}

// Carry are the limits of which twice as much would carry more, as a model predicts.
func (l Limited) Carry() []fact.Moved { return l.moved(true) }

// CarryNoMore are the others.
func (l Limited) CarryNoMore() []fact.Moved { return l.moved(false) }

func (l Limited) moved(more bool) (all []fact.Moved) {
	if d := l.Elasticity.Doubled; d != nil {
		for _, m := range d.Moved {
			if (m.Low > d.Line) == more {
				all = append(all, m)
			}
		}
	}
	return all
}

// NoneHelps reports whether limits were relaxed, and it is ruled out that one of them helps much.
func (l Limited) NoneHelps() bool {
	e := l.Elasticity
	relaxed := slices.ContainsFunc(e.Limits, func(w fact.Worth) bool { return w.More != nil })
	return relaxed && len(e.Helps) == 0 && len(e.Undecided) == 0 && !e.Open
}

// Moves says in a few plain words what moves throughput.
func (l Limited) Moves() string { return ElasticitySentences.Say("moves", l) }

// Elasticity says what more and less of each limit of the miniature does to throughput and
// p99, where the run tried that, and whether what was used says the same.
func Elasticity(v *measured.View) (out []fact.Finding) {
	for _, of := range v.Variations() {
		e := v.Elasticity(of)
		f := fact.Finding{
			ID: "elasticity/" + e.Stack + "/" + e.Mix, Case: "elasticity", Kind: fact.KindScaling, Workload: e.Mix,
			Facts: limitedOf(e), Elasticity: &e, Evidence: measured.Points(of.Of), Caveats: measured.MarksOf(of.Of),
		}
		if e.Stack != "" {
			f.Stacks = []string{e.Stack}
		}
		out = append(out, f)
	}
	return out
}

func limitedOf(e fact.Elasticity) Limited {
	told := Limited{Elasticity: e}
	for _, r := range slices.Concat(e.Helps, e.Needed) {
		if !counts(told.Count, r) {
			told.Count = append(told.Count, Counted{worthOf(e, r)})
		}
	}
	for _, w := range e.Limits {
		switch {
		case counts(told.Count, w.Resource):
		case slices.Contains(e.Undecided, w.Resource):
			told.Noisy = append(told.Noisy, w)
		case w.More == nil && w.Less == nil: // nothing is known of it
		default:
			told.Idle = append(told.Idle, w)
		}
	}
	return told
}

// movesOf is what moves throughput at one of some numbers of instances; nil where the run does not
// tell, or nothing does.
func movesOf(v *measured.View, cells []*measured.Cell) *Limited {
	for _, of := range v.Variations() {
		if !slices.Contains(cells, of.Of) {
			continue
		}
		told := limitedOf(v.Elasticity(of))
		if len(told.Count) > 0 {
			return &told
		}
	}
	return nil
}

func counts(limits []Counted, r fact.Resource) bool {
	return slices.ContainsFunc(limits, func(c Counted) bool { return c.Resource == r })
}

func worthOf(e fact.Elasticity, r fact.Resource) fact.Worth {
	return e.Limits[slices.IndexFunc(e.Limits, func(w fact.Worth) bool { return w.Resource == r })]
}
