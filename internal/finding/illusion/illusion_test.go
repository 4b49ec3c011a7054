package illusion

import (
	"testing"

	"plimsoll/internal/result"
	"plimsoll/internal/runview"
	"plimsoll/internal/stack/line"
)

// Every cache that can answer is told of, with what to do about it.
func TestCauseOfAnIllusion(t *testing.T) {
	for _, c := range []struct{ line, directIO, want string }{
		{"dir:/srv > fuse-overlayfs", "", "fuse"},
		{"loop > xfs > devicemapper", "", "loop-lvm"},
		{"tmpfs(size=1GiB)", "", "tmpfs"},
		{"loop", "off", "loop refused"},
		{"loop(direct-io=off, cold)", "", "loop cold"},
		{"loop(direct-io=off)", "", "loop"},
		{"dir:/srv", "", "directory"},
		{"/dev/sdb > xfs", "", "unknown"},
	} {
		l, err := line.Parse(c.line)
		if err != nil {
			t.Fatal(err)
		}
		s := &runview.Stack{Parsed: l}
		if c.directIO != "" {
			s.Facts = []result.Fact{{Name: "loop direct-io", Value: c.directIO}}
		}
		if got := cacheOf(s); got != c.want {
			t.Errorf("%s: %s, want %s", c.line, got, c.want)
		}
		if caches[c.want] == "" {
			t.Errorf("nothing is said of %s", c.want)
		}
	}
	if caches["asked for"] == "" {
		t.Error("nothing is said where the page cache was asked for")
	}
}
