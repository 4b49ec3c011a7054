package runview

import (
	"testing"

	"plimsoll/internal/stack"
	"plimsoll/internal/stack/line"
)

// TestLosesOnCrash: of lines that users can write, as the catalog of layers has them.
func TestLosesOnCrash(t *testing.T) {
	for text, want := range map[string]string{
		"loop(size=1GiB) > ext4(mount=nobarrier)":                      "nobarrier",
		"loop(size=1GiB) > ext4(mount=barrier=0) > volume":             "barrier=0",
		"loop(size=1GiB) > ext4(mount=\"noatime,barrier=0,commit=5\")": "barrier=0",
		"loop(size=1GiB) > btrfs(mount=\"nobarrier,ssd\")":             "nobarrier",
		"loop(size=1GiB) > ext4(mount=\"nobarrier,barrier=1\")":        "",
		"loop(size=1GiB) > ext4(mount=\"barrier,nobarrier\")":          "nobarrier",
		"loop(size=1GiB) > ext4(mount=barrier=1)":                      "",
		"loop(size=1GiB) > ext4(mount=\"noatime,commit=5\")":           "",
		"loop(size=1GiB) > xfs > overlayfs(volatile)":                  "volatile",
		"loop(size=1GiB) > ext4(mount=nobarrier) > overlayfs":          "nobarrier",
		"loop(size=1GiB) > ext4(mkfs=\"-O ^has_journal\") > volume":    "",
		"loop(size=1GiB) > xfs > volume":                               "",
	} {
		l, err := line.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		if problems := stack.Catalog().Check(l); len(problems) > 0 {
			t.Fatalf("%s: %v", text, problems)
		}
		if got := (&Stack{Parsed: l}).LosesOnCrash(); got != want {
			t.Errorf("%s loses by %q, not %q", text, got, want)
		}
	}
}
