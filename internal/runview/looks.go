package runview

import (
	"fmt"
	"slices"

	"plimsoll/internal/stats/stopping"
)

// AtLook returns the level of a test of this look at the run, where all looks together may be wrong at the level that
// is given: each time that the run ended and was resumed, its verdict was seen, and more rounds were asked for. Runs
// whose rounds are not known are looked at once.
func (v *View) AtLook(level float64) float64 {
	if level <= 0 || level >= 0.5 {
		return level
	}
	return Once(v, fmt.Sprint("level at look ", level), func() float64 {
		rounds := 0
		for _, t := range v.Run.Trials {
			if t.Counts() != nil {
				rounds = max(rounds, t.Block)
			}
		}
		before := slices.DeleteFunc(slices.Clone(v.Run.Looks), func(n int) bool { return n >= rounds })
		looks := stopping.Counted(append(before, rounds))
		if len(looks) == 0 {
			return level
		}
		return stopping.Look(level, looks)
	})
}
