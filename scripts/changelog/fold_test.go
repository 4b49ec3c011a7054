package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const firstFold = `# Changelog

## 0.2.0

### Security

- **Read no file of others.** It is now refused.

### What is new

- **Draw curves.**
- **Plan hosts.** ` + "`plimsoll plan`" + ` now finds it, for fewest hosts or most throughput.

### Bug fixes

- **Undo what udev did.**

## 0.1.0

The first one.
`

// TestFold folds fragments, has a person change the words, and folds those that came later.
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
		left, err := os.ReadDir(filepath.Join(dir, "changelog/unreleased"))
		if err != nil || len(left) > 0 {
			t.Errorf("fragments are left: %v %v", left, err)
		}
	}
	write("internal/cli/buildinfo/VERSION", "0.2.0\n")
	write("CHANGELOG.md", "# Changelog\n\n## 0.1.0\n\nThe first one.\n")
	write(
		"changelog/unreleased/b-plan",
		"# A comment\nEnhancement: Plan hosts\n\nIt was left to the user. It took\nlong. "+
			"`plimsoll plan` now finds it,\nfor fewest hosts or most throughput. "+"There is "+
			strings.Repeat("more and ", 40)+"more.\n\nissue 4\n",
	)
	write("changelog/unreleased/a-curves", "Feature: Draw curves.\n\nThere were none.\n\nissue 3\n")
	write("changelog/unreleased/read", "Security: Read no file of others\n\nIt was read. It is now refused.\n\nissue 5\n")
	write("changelog/unreleased/udev", "Bugfix: Undo what udev did\n\nAn array stayed.\n\nissue 6\n")
	folds(4, firstFold)
	folds(0, firstFold)

	changed := strings.Replace(firstFold, "- **Undo what udev did.**", "- **Undo all.** By hand.", 1)
	changed = strings.Replace(changed, "## 0.2.0\n", "## 0.2.0 (2026-11-28)\n\nBy hand, too.\n", 1)
	write("CHANGELOG.md", changed)
	write("changelog/unreleased/late", "Change: Say sizes alike\n\nThey differed.\n\nissue 7\n")
	write("changelog/unreleased/later", "Bugfix: End soon\n\nIt stood.\n\ndocs/curves.md\n")
	want := strings.Replace(changed, "### What is new", "### Changes\n\n- **Say sizes alike.**\n\n### What is new", 1)
	folds(2, strings.Replace(want, "By hand.\n", "By hand.\n- **End soon.**\n", 1))
}

// TestFragments parses those that wait, so that a release does not stop at one.
func TestFragments(t *testing.T) {
	files, err := filepath.Glob("../../changelog/unreleased/*")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range append(files, "../../changelog/TEMPLATE") {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		_, err = parse(string(text))
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, bad := range []string{
		"", "Bugfix: a title alone\n", "Bugs: A title\n\nA body.\n\nissue 1\n", "Bugfix\n\nA body.\n",
	} {
		e, err := parse(bad)
		if err == nil {
			t.Errorf("%q is %+v", bad, e)
		}
	}
}
