package runview

import (
	"slices"

	"plimsoll/internal/result"
)

// Ranking groups the cells of a workload by the validity of their numbers, each group ordered by Level, best
// first.
type Ranking struct{ Honest, Unchecked, Memory []*Cell }

// Rank ranks the stacks of a workload.
func (v *View) Rank(workload string) Ranking {
	var r Ranking
	for _, c := range v.Under(workload) {
		switch {
		case c.Honest():
			r.Honest = append(r.Honest, c)
		case c.Source() == result.SourceMemory:
			r.Memory = append(r.Memory, c)
		default:
			r.Unchecked = append(r.Unchecked, c)
		}
	}
	for _, group := range [][]*Cell{r.Honest, r.Unchecked, r.Memory} {
		slices.SortStableFunc(group, v.byLevel)
	}
	return r
}
