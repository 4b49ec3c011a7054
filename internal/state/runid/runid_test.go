package runid_test

import (
	"strings"
	"testing"

	"plimsoll/internal/state/runid"
)

func TestCheck(t *testing.T) {
	for id, valid := range map[string]bool{
		"20260102-030405-ab12": true, "a": true, "7_b.c-d": true, strings.Repeat("a", 200): true,
		"": false, ".": false, "..": false, ".hidden": false, "-o": false, "a/b": false, "/etc": false, "a\x00b": false,
		"a\n": false, "a b": false, "ä": false, strings.Repeat("a", 201): false,
	} {
		if err := runid.Check(id); (err == nil) != valid {
			t.Errorf("Check(%q) = %v, want an id that is valid: %t", id, err, valid)
		}
	}
}
