package result

import (
	"strings"
	"testing"
)

// A run that was given a directory of its own is not found by its ID.
func TestNameForResume(t *testing.T) {
	for command, want := range map[string]string{
		"plimsoll run quick":                        "quick-1",
		"plimsoll run quick -o /srv/a":              "/srv/a",
		"plimsoll run quick --output=b --seed 1":    "b",
		"plimsoll run --resume c --budget +5m":      "c",
		"plimsoll run quick --budget 5m --output":   "quick-1",
		"plimsoll run quick --other-output x":       "quick-1",
		"plimsoll run quick --output d --budget 5m": "d",
		"plimsoll run --resume=e-2 -- plimsoll-run": "e-2",
	} {
		r := &Run{ID: "quick-1", Command: strings.Fields(command)}
		if got := r.NameForResume(); got != want {
			t.Errorf("%s: %q, want %q", command, got, want)
		}
	}
}
