package verdict

import (
	"testing"

	"plimsoll/internal/fact"
)

// Every reason to doubt has words.
func TestDoubts(t *testing.T) {
	for _, kind := range []fact.DoubtKind{fact.DoubtFew, fact.DoubtOpen, fact.DoubtFaster, fact.DoubtTwins, fact.DoubtNeighbours} {
		d := fact.Doubt{Kind: kind, Stacks: []string{"xfs"}, Neighbours: &fact.Neighbours{Runs: []string{"quick-1"}}}
		if doubt(d) == "" {
			t.Errorf("%s has no words", kind)
		}
	}
}
