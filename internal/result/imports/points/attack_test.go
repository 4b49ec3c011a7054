package points

import (
	"strings"
	"testing"
)

// TestAttackTableOfManyParts: a table is refused before it is held, and not more is said of it than somebody reads.
func TestAttackTableOfManyParts(t *testing.T) {
	const heading = "class,instances,clients,throughput\n"
	for text, want := range map[string]int{
		heading + strings.Repeat(",", 64<<20): 1, heading + strings.Repeat("x,\n", 1<<20): mostWrong,
		heading + strings.Repeat("a,0,0,0\n", 1<<18): mostWrong + 3,
	} {
		_, wrong := Read("points.csv", []byte(text))
		if len(wrong) == 0 || len(wrong) > want {
			t.Errorf("%.60q...: %d problems", text, len(wrong))
		}
	}
}
