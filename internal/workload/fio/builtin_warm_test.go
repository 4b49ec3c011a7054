package fio

import (
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"plimsoll/internal/workload"
)

// What is to begin with a warm cache is read once, and keeps what it finds there;
// everything else drops it.
func TestWarmCache(t *testing.T) {
	workloadOf := func(text string) workload.Workload {
		var doc yaml.Node
		if err := yaml.Unmarshal([]byte(text), &doc); err != nil {
			t.Fatal(err)
		}
		w, problems := decode(doc.Content[0], nil)
		if len(problems) > 0 {
			t.Fatal(problems)
		}
		return w
	}
	target := workload.Target{Path: "/data", SizeBytes: 1 << 30}
	for _, c := range []struct {
		text       string
		warm       bool
		invalidate string
	}{
		{"{rw: randread, size: 64MiB, direct: false, cache: warm}", true, "invalidate=0"},
		{"{rw: randread, size: 64MiB, direct: false}", false, "invalidate=1"},
		{"{rw: randread, size: 64MiB}", false, "invalidate=1"},
	} {
		w := workloadOf(c.text)
		step, err := w.Abilities().Warm(target)
		if err != nil || (step != nil) != c.warm {
			t.Errorf("%s: step %v, %v", c.text, step, err)
		}
		if step != nil && !strings.Contains(string(step.Files[warmFileName]), "size=67108864") {
			t.Errorf("%s reads\n%s", c.text, step.Files[warmFileName])
		}
		drive, err := w.Drive(target, workload.Timing{Runtime: 1e9})
		if err != nil {
			t.Fatal(err)
		}
		job := string(drive.Files[jobFileName])
		if !strings.Contains(job, c.invalidate+"\n") {
			t.Errorf("%s runs\n%s", c.text, job)
		}
	}
}
