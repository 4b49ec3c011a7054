package finding

import (
	"flag"
	"fmt"
	"hash/fnv"
	"os"
	"strings"
	"testing"

	"plimsoll/examples"
	"plimsoll/internal/experiment"
	"plimsoll/internal/result"
	layers "plimsoll/internal/stack"
	workloads "plimsoll/internal/workload/kinds"
)

var updateBuiltIn = flag.Bool("update-builtin", false, "rewrite the verdicts of the built-in experiments")

// Every built-in experiment gets a verdict that is one plain sentence, on a host
// as the stories have it: what memory answers is fast, copy-on-write makes
// writes slow, a fabric and a storage driver cost a little. The golden file is
// what a stranger would read.
func TestVerdictsOfBuiltInExperiments(t *testing.T) {
	var got strings.Builder
	for _, name := range examples.List() {
		text, _ := examples.Find(name)
		e, err := experiment.Parse(name, text, experiment.Options{Catalog: layers.Catalog(), Kinds: workloads.All()})
		if err != nil {
			t.Fatal(err)
		}
		experiment.AddControl(e)
		for _, f := range All(imagined(e)) {
			r := f.Recommendation
			if r == nil {
				continue
			}
			isPlain(t, r)
			fmt.Fprintf(&got, "%s: %s\n", name, r.Headline)
			for _, bullet := range [][2]string{{"use", r.Use}, {"avoid", r.Avoid}, {"check next", r.Next}, {"", r.Reason()}} {
				if bullet[1] != "" {
					fmt.Fprintf(&got, "    %s\n", strings.TrimPrefix(bullet[0]+": "+bullet[1], ": "))
				}
			}
		}
		if !strings.Contains(got.String(), name+": ") {
			t.Errorf("%s has no verdict", name)
		}
	}
	const path = "testdata/builtin.golden.txt"
	if *updateBuiltIn {
		if err := os.WriteFile(path, []byte(got.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got.String() != string(want) {
		t.Errorf("differs from %s (go test -update-builtin writes it anew):\n%s", path, got.String())
	}
}

// imagined is a run of an experiment, with rates that follow from the layers of
// its stacks, and 1% of noise that is the same on every call.
func imagined(e *experiment.Experiment) *result.Run {
	run := &result.Run{Schema: result.SchemaVersion, ID: e.Name + "-1", Status: result.RunComplete, Seed: 1,
		Experiment: result.Experiment{Name: e.Name, Question: e.Question, Baseline: e.Baseline, Repeat: e.Repeat}}
	for _, s := range e.Stacks {
		text := s.Line.String()
		stack := result.Stack{Name: s.Name, Line: text, Levels: s.Levels, Control: s.Control}
		if strings.HasPrefix(text, "loop") {
			stack.Marks = []result.Mark{result.MarkLoop}
		}
		run.Stacks = append(run.Stacks, stack)
	}
	for _, w := range e.Workloads {
		info := w.Info()
		info.Name, info.Levels = w.Name, w.Levels
		run.Workloads = append(run.Workloads, info)
	}
	for block := 1; block <= max(4, e.Repeat); block++ {
		for _, s := range run.Stacks {
			for _, w := range run.Workloads {
				run.Trials = append(run.Trials, imaginedTrial(len(run.Trials)+1, block, s, w))
			}
		}
	}
	return run
}

func imaginedTrial(seq, block int, s result.Stack, w result.Workload) result.Trial {
	rate := 10000.0
	source, writes := result.SourceDevice, strings.Contains(w.Pattern, "write")
	has := func(part string) bool { return strings.Contains(s.Line, part) }
	switch {
	case has("direct-io=off"), has("fuse-overlayfs"), buffered(w):
		rate, source = 30000, result.SourceMemory
	case has("btrfs") && !has("nodatacow") && writes:
		rate *= 0.3
	case has("nvmeof"):
		rate *= 0.8
	case has("lvm"), has("raid0"), has("stripe"):
		rate *= 2
	case has("overlay"), has("vfs"):
		rate *= 0.93
	case has(">"):
		rate *= 0.98
	}
	h := fnv.New32a()
	fmt.Fprint(h, s.Name, w.Name, block)
	rate *= 1 + (float64(h.Sum32()%1000)/1000-0.5)/50
	served := 1.0
	if source == result.SourceMemory {
		served = 0.01
	}
	d := result.Direction{IOs: uint64(rate), Bytes: uint64(rate) * 4096, IOPS: rate, BytesPerSecond: rate * 4096}
	m := &result.Measurement{RuntimeSeconds: 60}
	if writes {
		m.Write = d
	} else {
		m.Read = d
	}
	return result.Trial{Seq: seq, Block: block, BringUp: block, Stack: s.Name, Workload: w.Name, Repeat: block, Status: result.TrialDone,
		ElapsedSeconds: 1, Measurement: m, Honesty: &result.Honesty{Source: source, Ratio: &served}}
}
