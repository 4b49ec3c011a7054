package hosttest

import (
	"os"
	"path/filepath"
	"testing"
)

// A host may have no free loop device: the one that is then added goes with the
// test, which Exclusive of the test around checks.
func TestLoopBeyondThoseThatThereAre(t *testing.T) {
	Exclusive(t)
	before := loops(t)
	t.Run("attached", func(t *testing.T) {
		for added := false; !added; {
			file := filepath.Join(t.TempDir(), "file")
			if err := os.WriteFile(file, make([]byte, 1<<20), 0o600); err != nil {
				t.Fatal(err)
			}
			added = !before[Loop(t, file)]
		}
	})
	after := loops(t)
	for device := range after {
		if !before[device] {
			t.Errorf("%s stays", device)
		}
	}
	if len(after) < len(before) {
		t.Errorf("there were %d devices, and are %d", len(before), len(after))
	}
}
