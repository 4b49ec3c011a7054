package main

import (
	"os"
	"path/filepath"
	"testing"
)

func TestFold(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		name = filepath.Join(dir, name)
		err := os.MkdirAll(filepath.Dir(name), 0o755)
		if err == nil {
			err = os.WriteFile(name, []byte(text), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	folds := func(n int, want string) {
		t.Helper()
		folded, err := fold(dir)
		if err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(filepath.Join(dir, "CHANGELOG.md"))
		if err != nil {
			t.Fatal(err)
		}
		if folded != n || string(got) != want {
			t.Errorf("%d fragments became:\n%s\nwant %d and:\n%s", folded, got, n, want)
		}
		left, err := fragments(dir)
		if err != nil || len(left) > 0 {
			t.Errorf("fragments are left: %v %v", left, err)
		}
	}
	write("changelog/unreleased/README.md", "how to\n")
	write("internal/cli/buildinfo/VERSION", "0.2.0\n")
	write("CHANGELOG.md", "# Changelog\n\n## 0.1.0\n\nThe first one.\n")
	folds(0, "# Changelog\n\n## 0.1.0\n\nThe first one.\n")
	write("changelog/unreleased/plan",
		"Enhancement: Plan hosts.\n\nIt was left to the user.\n`plimsoll plan` now does it.\n")
	write("changelog/unreleased/read", "Security: Read no file of others\n\nIt was read.\n\nIt is refused.\n")
	first := "# Changelog\n\n## 0.2.0 (unreleased)\n\n### Security\n\n- **Read no file of others.**\n  It was read.\n" +
		"  It is refused.\n\n### What is new\n\n- **Plan hosts.**\n  It was left to the user.\n" +
		"  `plimsoll plan` now does it.\n"
	folds(2, first+"\n## 0.1.0\n\nThe first one.\n")
	write("changelog/unreleased/late", "Bugfix: End soon\n\nIt stood.\n")
	folds(1, first+"\n### Bug fixes\n\n- **End soon.**\n  It stood.\n\n## 0.1.0\n\nThe first one.\n")
}

// What waits can be moved, so that a release does not stop at one.
func TestFragments(t *testing.T) {
	names, err := fragments("../..")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		_, _, err = parse(string(text))
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, bad := range []string{
		"", "Bugfix: a title alone\n", "Bugs: A title\n\nA body.\n", "Bugfix\n\nA body.\n", "Bugfix: A\nB\n\nA body.\n",
	} {
		_, item, err := parse(bad)
		if err == nil {
			t.Errorf("%q is %q", bad, item)
		}
	}
}
