package buildinfo

import "testing"

func TestLine(t *testing.T) {
	number = "0.3.1\n"
	const hash = "123a0a1e686f443ea0dee4f69817b7d6705d8e03"
	for _, c := range []struct{ release, commit, date, want string }{
		{"0.3.1", hash, "2026-11-28", "plimsoll 0.3.1 (commit 123a0a1e686f, 2026-11-28, go1.26, linux/arm64)"},
		{"", hash, "2026-11-28",
			"plimsoll 0.3.1-dev+123a0a1e686f (commit 123a0a1e686f, 2026-11-28, go1.26, linux/arm64)"},
		{"", hash + "-dirty", "",
			"plimsoll 0.3.1-dev+123a0a1e686f-dirty (commit 123a0a1e686f-dirty, go1.26, linux/arm64)"},
		{"", "", "", "plimsoll 0.3.1-dev (go1.26, linux/arm64)"},
	} {
		b := Build{
			Version: version(c.release, c.commit), Commit: c.commit, Date: c.date, Go: "go1.26", Platform: "linux/arm64",
		}
		if got := b.Line("plimsoll"); got != c.want {
			t.Errorf("release %q of %q: %s\nwant %s", c.release, c.commit, got, c.want)
		}
	}
}
