package finding

import (
	"flag"
	"fmt"
	"hash/fnv"
	"os"
	"slices"
	"strings"
	"testing"

	"plimsoll/examples"
	"plimsoll/internal/experiment"
	"plimsoll/internal/fact"
	"plimsoll/internal/finding/loadline"
	"plimsoll/internal/finding/verdict"
	"plimsoll/internal/result"
	"plimsoll/internal/runview"
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
			isTaken(t, name, f)
			fmt.Fprintf(&got, "%s: %s\n", name, r.Headline)
			for _, bullet := range [][2]string{{"use", r.Use}, {"avoid", r.Avoid}, {"check next", r.Next}, {"", r.Reason}} {
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

// isTaken fails where an experiment refuses the number of instances that a verdict on it would have measured next.
func isTaken(t *testing.T, name string, f fact.Finding) {
	t.Helper()
	facts, ok := f.Facts.(verdict.Facts)
	if !ok {
		return
	}
	carried, ok := facts.Answer.(*loadline.Facts)
	if !ok || carried.Curve.Line.Next == 0 {
		return
	}
	text, _ := examples.Find(name)
	e, err := experiment.Parse(name, text, experiment.Options{Catalog: layers.Catalog(), Kinds: workloads.All()})
	if err != nil {
		t.Fatal(err)
	}
	e.Instances = carried.Curve.Line.Next
	if _, err := (experiment.Scale{Catalog: layers.Catalog()}).Apply(e); err != nil {
		t.Errorf("%s refuses the %d instances that its verdict proposes: %v", name, e.Instances, err)
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
	run.Mixes = e.ResultMixes()
	for block := 1; block <= max(4, e.Repeat); block++ {
		for _, m := range run.Mixes {
			run.Trials = append(run.Trials, imaginedMix(len(run.Trials)+1, block, run, m))
		}
		for _, s := range run.Stacks {
			if len(run.Mixes) > 0 {
				break // workloads do not run alone then
			}
			for _, w := range run.Workloads {
				run.Trials = append(run.Trials, imaginedTrial(len(run.Trials)+1, block, s, w))
			}
		}
	}
	return run
}

// imaginedMix is a trial of instances that are served from memory until four of them
// fill it, and of which the device serves what memory does not.
func imaginedMix(seq, block int, run *result.Run, m result.Mix) result.Trial {
	tenant := m.Tenants[0]
	i := slices.IndexFunc(run.Workloads, func(w result.Workload) bool { return w.Name == tenant.Workload })
	trial := imaginedTrial(seq, block, run.Stacks[0], run.Workloads[i])
	n, fits := float64(tenant.Count), 1.0
	share := trial.Measured().ScaledRates(1 / n)
	if strings.Contains(run.Workloads[i].Declared, "direct: false") || run.Workloads[i].Kind == "ycsb" {
		fits = min(1, 4/n)
		share = trial.Measured().ScaledRates(fits * fits * fits)
	}
	trial.Mix, trial.Instances = m.Name, nil
	for i := range tenant.Count {
		trial.Instances = append(trial.Instances, result.Instance{
			Index: i, Tenant: tenant.Name, Workload: tenant.Workload, Status: result.TrialDone, Measurement: &share,
			Usage: &result.Usage{Seconds: 1, CPUSeconds: 0.1, CacheBytes: int64(fits * (128 << 20))},
		})
	}
	trial.Checks[0].Served = []result.DeviceCounter{{Device: result.Device{Name: "loop0"},
		Reads: uint64((1 - fits) * float64(trial.Measured().IOs()))}}
	return trial
}

func imaginedTrial(seq, block int, s result.Stack, w result.Workload) result.Trial {
	rate := 10000.0
	source, writes := result.SourceDevice, strings.Contains(w.Pattern, "write")
	has := func(part string) bool { return strings.Contains(s.Line, part) }
	switch {
	case has("direct-io=off"), has("fuse-overlayfs"), runview.Buffered(w) && (has("volatile") || !strings.Contains(w.Declared, "fsync: ") && !strings.Contains(w.Declared, "fdatasync: ")):
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
	d := result.Operation{Count: uint64(rate), Bytes: uint64(rate) * 4096, Rate: rate, BytesPerSecond: rate * 4096}
	m := &result.Measurement{Seconds: 60}
	if d.Name = result.Read; writes {
		d.Name = result.Write
	}
	m.SetOperation(d)
	return result.Trial{Seq: seq, Block: block, BringUp: block, Stack: s.Name, Mix: w.Name, Repeat: block, Status: result.TrialDone,
		ElapsedSeconds: 1, Instances: result.One(m), Checks: []result.Honesty{{Source: source, Ratio: &served}}}
}

// The valley that fio-scaling shows confirms the published one.
func TestFioScalingTestsItsClaim(t *testing.T) {
	text, _ := examples.Find("fio-scaling")
	e, err := experiment.Parse("fio-scaling", text, experiment.Options{Catalog: layers.Catalog(), Kinds: workloads.All()})
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(All(imagined(e)), func(f fact.Finding) bool { return f.Claim != nil && f.Claim.ID == "hom-fio-valley" })
	if i < 0 {
		t.Fatal("a run of fio-scaling does not test hom-fio-valley")
	}
	if c := All(imagined(e))[i].Claim; c.Verdict != fact.ClaimConfirmed || c.Measured == "" {
		t.Errorf("%+v", *c)
	}
}
