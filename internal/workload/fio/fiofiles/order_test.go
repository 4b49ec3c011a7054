package fiofiles

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"plimsoll/internal/result"
)

// byFile are the measurements, checks and marks of a run by the name of the file that each trial was made of.
func byFile(t *rapid.T, files []File) map[string][3]any {
	imp, wrong := Read(files, Options{})
	if len(wrong) > 0 {
		t.Fatal(wrong)
	}
	results := map[string][3]any{}
	for _, trial := range imp.Run.Trials {
		s, _ := imp.Run.Stack(trial.Stack)
		m := *trial.Measured()
		results[imp.Artifacts[trial.Seq][0].Name] = [3]any{m.IOPS(), m.Notes, append(slices.Clone(s.Marks),
			result.Mark(trial.Checks[0].Source))}
	}
	return results
}

// Numbers, doubts, marks and checks do not depend on the order in which files are named.
func TestOrderOfFilesDoesNotMatter(t *testing.T) {
	files := named(t, "json.json", "again.json", "json-plus.json", "fdatasync.json", "fdatasync-plus.json", "each.json")
	rapid.Check(t, func(t *rapid.T) {
		want := byFile(t, files)
		got := byFile(t, rapid.Permutation(files).Draw(t, "files"))
		for name, facts := range want {
			for i := range facts {
				if !equal(facts[i], got[name][i]) {
					t.Errorf("%s: %v, and %v in another order", name, facts[i], got[name][i])
				}
			}
		}
	})
}

func equal(a, b any) bool {
	switch a := a.(type) {
	case []string:
		return slices.Equal(a, b.([]string))
	case []result.Mark:
		return slices.Equal(a, b.([]result.Mark))
	}
	return a == b
}
