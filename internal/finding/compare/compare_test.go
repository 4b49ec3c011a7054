package compare

import (
	"encoding/csv"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"plimsoll/internal/result"
	"plimsoll/internal/result/hist"
	"plimsoll/internal/testkit/runtest"
	"plimsoll/internal/testkit/soak"
	"plimsoll/internal/units"
)

// The stories in testdata/stories tell two runs, as those of TestStories do,
// and print how B compares with A.
func TestCompareStories(t *testing.T) {
	datadriven.Walk(t, "testdata/stories", func(t *testing.T, path string) {
		runs := map[string]*result.Run{}
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			if d.Cmd != "compare" {
				run := runtest.Tell(t, d.Input)
				run.ID = d.Cmd
				for _, arg := range d.CmdArgs {
					switch arg.Key {
					case "kernel":
						run.Environment.Kernel = arg.Vals[0]
					case "fio":
						run.Environment.FioVersion = arg.Vals[0]
					case "runtime":
						run.Experiment.RuntimeSeconds = float(t, arg.Vals[0])
					case "imported":
						makeImported(run)
					case "precondition":
						run.Experiment.Precondition = strings.Join(arg.Vals, ",")
					default:
						d.Fatalf(t, "unknown argument %s", arg.Key)
					}
				}
				runs[d.Cmd] = run
				return ""
			}
			opt := Options{Threshold: DefaultThreshold, Alpha: DefaultAlpha}
			for _, arg := range d.CmdArgs {
				switch arg.Key {
				case "threshold":
					opt.Threshold = float(t, arg.Vals[0])
				case "metric":
					opt.Metrics = arg.Vals
				case "others":
					opt.Others = true
				default:
					d.Fatalf(t, "unknown argument %s", arg.Key)
				}
			}
			return tellComparison(Runs(runs["a"], runs["b"], opt))
		})
	})
}

// makeImported makes a run one of files of fio: a stack whose line is ? is known
// by its name alone, and what workloads declare names files.
func makeImported(run *result.Run) {
	run.Imported = []result.InputFile{{Name: run.ID + ".json"}}
	for i := range run.Stacks {
		if run.Stacks[i].Line == "?" {
			run.Stacks[i].Line, run.Stacks[i].Devices = "", nil
		}
	}
	for i := range run.Workloads {
		w := &run.Workloads[i]
		w.Kind, w.Summary = "fio", w.Name+": options unknown"
		if w.Declared != "" {
			w.Identity, w.Declared, w.Summary = "rw="+w.Pattern, w.Declared+"write_lat_log="+run.ID, ""
		}
	}
}

func tellComparison(c Comparison) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s\n", c.Verdict, c.Title)
	for _, r := range c.Rows {
		change := "~"
		if r.Differs {
			change = "!"
		}
		fmt.Fprintf(&b, "  %s: %s %s, p %s, %s\n", r.subject(), change, r.ratioText(), units.Digits(r.PAdjusted), r.Verdict)
	}
	for _, a := range c.Apart {
		fmt.Fprintf(&b, "  apart: %s under %s (%s): %s\n", a.Stack, a.Workload, a.In, a.Why)
	}
	for _, d := range c.Differs {
		fmt.Fprintf(&b, "  differs: %s: %q, %q %s\n", d.What, d.A, d.B, strings.Join(d.Stacks, " "))
	}
	for _, n := range c.Notes {
		fmt.Fprintf(&b, "  mind: %s\n", n)
	}
	return b.String()
}

func float(t runtest.Stopper, text string) float64 {
	v, err := strconv.ParseFloat(text, 64)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// recorded is a real run, from a compact copy.
func recorded(t *testing.T) *result.Run {
	t.Helper()
	f, err := os.Open("testdata/quick.csv")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	r := csv.NewReader(f)
	r.Comment = '#'
	records, err := r.ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	run := &result.Run{ID: "recorded", Status: result.RunComplete}
	for _, rec := range records[1:] {
		stack, line, workload := rec[0], rec[1], rec[2]
		if !slices.ContainsFunc(run.Stacks, func(s result.Stack) bool { return s.Name == stack }) {
			run.Stacks = append(run.Stacks, result.Stack{Name: stack, Line: line})
		}
		if !slices.ContainsFunc(run.Workloads, func(w result.Workload) bool { return w.Name == workload }) {
			run.Workloads = append(run.Workloads, result.Workload{Name: workload})
		}
		// The fewest bins that have the trial's percentiles.
		total := hist.Histogram{Count: 1000, Bins: hist.Pack([]hist.Bin{
			{NS: uint64(float(t, rec[6])), Count: 500}, {NS: uint64(float(t, rec[7])), Count: 490}, {NS: uint64(float(t, rec[8])), Count: 10}})}
		run.Trials = append(run.Trials, result.Trial{
			Stack: stack, Mix: workload, Status: result.TrialDone, Checks: []result.Honesty{{Source: result.Source(rec[9])}},
			Instances: result.One(&result.Measurement{Operations: result.ReadsWrites(result.Operation{Rate: float(t, rec[4]), BytesPerSecond: float(t, rec[5]), Latency: map[result.Stage]hist.Histogram{result.Total: total}}, result.Operation{})}),
		})
	}
	return run
}

// resampled draws n trials of each stack and workload of a run anew, with
// replacement, as if the same had been measured again, but speed times as fast.
func resampled(run *result.Run, rng *rand.Rand, n int, speed float64) *result.Run {
	again := *run
	again.Trials = nil
	for _, w := range run.Workloads {
		for _, s := range run.Stacks {
			trials := slices.DeleteFunc(slices.Clone(run.Trials),
				func(t result.Trial) bool { return t.Stack != s.Name || t.Mix != w.Name })
			if len(trials) == 0 {
				continue
			}
			for range n {
				trial := trials[rng.IntN(len(trials))]
				m := trial.Measured().ScaledRates(speed)
				reads := m.Operation(result.Read)
				reads.BytesPerSecond *= speed
				total := reads.Latency[result.Total]
				bins := total.Bins.Unpack()
				for i := range bins {
					bins[i].NS = uint64(float64(bins[i].NS) / speed)
				}
				total.Bins = hist.Pack(bins)
				reads.SetLatency(result.Total, total)
				m.SetOperation(reads)
				trial.Instances = result.One(&m)
				again.Trials = append(again.Trials, trial)
			}
		}
	}
	return &again
}

// only keeps one stack under one workload.
func only(run *result.Run, stack, workload string) *result.Run {
	one := *run
	one.Trials = slices.DeleteFunc(slices.Clone(run.Trials), func(t result.Trial) bool { return t.Stack != stack || t.Mix != workload })
	return &one
}

// Two runs of the same thing: ~ in all rows, whatever decides.
func TestSameThingDoesNotDiffer(t *testing.T) {
	run := recorded(t)
	for _, c := range []struct {
		name string
		run  *result.Run
		n    int
	}{
		{"all eighteen rows", run, 8},
		{"a row by itself", only(run, "xfs", "RR"), 5},
		{"a row of many trials", only(run, "ext4", "RW"), 20},
	} {
		rng := rand.New(rand.NewPCG(1, 1))
		level := 0
		pairs := soak.Of(100, 20)
		for range pairs {
			a, b := resampled(c.run, rng, c.n, 1), resampled(c.run, rng, c.n, 1)
			got := Runs(a, b, Options{Threshold: DefaultThreshold, Alpha: DefaultAlpha})
			if len(got.Rows) == 0 {
				t.Fatalf("%s: nothing was compared", c.name)
			}
			if !slices.ContainsFunc(got.Rows, func(r Row) bool { return r.Differs }) {
				level++
			}
		}
		t.Logf("%s: %d of %d pairs are level", c.name, level, pairs)
		if level < pairs*95/100 {
			t.Errorf("%s: %d of %d pairs of the same thing are level, want 95%% at least", c.name, level, pairs)
		}
	}
}

// A stack slowed to 90% is a regression beyond 5%, with as many repeats as its
// spread takes; docs/reference/compare.md gives these numbers.
func TestSlowedToNinety(t *testing.T) {
	run := recorded(t)
	calm := only(run, "btrfs", "RR") // recorded: five trials from 39.3k to 50.4k
	for _, c := range []struct {
		name string
		pair func(rng *rand.Rand) (a, b *result.Run)
		want int // percent
	}{
		{"spread 2%, 6 repeats", logNormal(0.02, 6), 95},
		{"spread 5%, 16 repeats", logNormal(0.05, 16), 95},
		{"recorded, 70 repeats", func(rng *rand.Rand) (a, b *result.Run) {
			return resampled(calm, rng, 70, 1), resampled(calm, rng, 70, 0.9)
		}, 95},
	} {
		rng := rand.New(rand.NewPCG(2, 2))
		verdicts := map[Verdict]int{}
		pairs := soak.Of(100, 20)
		for range pairs {
			a, b := c.pair(rng)
			verdicts[Runs(a, b, Options{Threshold: DefaultThreshold, Alpha: DefaultAlpha}).Verdict]++
		}
		t.Logf("%s: %v", c.name, verdicts)
		if verdicts[Regression] < pairs*c.want/100 {
			t.Errorf("%s: %v, want %d%% regressions", c.name, verdicts, c.want)
		}
	}
}

// logNormal makes two runs of n trials whose rates spread by sigma; the second
// is slowed to 90%.
func logNormal(sigma float64, n int) func(*rand.Rand) (a, b *result.Run) {
	return func(rng *rand.Rand) (a, b *result.Run) {
		make := func(speed float64) *result.Run {
			text := "stack raw: loop(size=1GiB)\nworkload RR randread\nRR raw"
			for range n {
				text += fmt.Sprintf(" %.0f", 50000*speed*math.Exp(sigma*rng.NormFloat64()))
			}
			return runtest.Tell(panics{}, text)
		}
		return make(1), make(0.9)
	}
}

// panics is a stopper for where no test is at hand.
type panics struct{}

func (panics) Helper()                      {}
func (panics) Fatal(args ...any)            { panic(fmt.Sprint(args...)) }
func (panics) Fatalf(f string, args ...any) { panic(fmt.Sprintf(f, args...)) }

// An imported trial without a histogram has the percentiles that fio printed,
// unless they are of one direction of two.
func TestComparePrintedPercentiles(t *testing.T) {
	runWith := func(ns uint64, writes uint64) *result.Run {
		run := runtest.Tell(t, "stack raw: loop(size=1GiB)\nworkload RR randread\nRR raw 1000 1000 1000 1000 1000 1000")
		for i := range run.Trials {
			m := run.Trials[i].Measured()
			reads := m.Operation(result.Read)
			reads.SetLatency(result.Total, hist.Histogram{Printed: []hist.Quantile{{Percent: 50, NS: 1}, {Percent: 99, NS: ns}}})
			m.SetOperation(reads)
			m.SetOperation(result.Operation{Name: result.Write, Count: writes})
		}
		return run
	}
	opt := Options{Threshold: DefaultThreshold, Alpha: DefaultAlpha, Metrics: []string{"p99"}}
	if c := Runs(runWith(100, 0), runWith(200, 0), opt); c.Verdict != Regression || *c.Rows[0].Ratio != 2 {
		t.Errorf("%s", tellComparison(c))
	}
	if c := Runs(runWith(100, 5), runWith(200, 5), opt); c.Verdict != TooFew || c.Rows[0].A.N != 0 {
		t.Errorf("%s", tellComparison(c))
	}
}

// ratioText is a ratio with its interval, as tables show it.
func (r Row) ratioText() string {
	switch {
	case r.Ratio == nil:
		return "no ratio"
	case r.Low == nil:
		return units.Times(*r.Ratio) + "x"
	}
	return fmt.Sprintf("%sx (%s to %s)", units.Times(*r.Ratio), units.Times(*r.Low), units.Times(*r.High))
}

// Clients on another machine are a difference of two runs.
func TestCompareClients(t *testing.T) {
	runWith := func(c *result.Clients) *result.Run {
		run := runtest.Tell(t, "stack raw: loop(size=1GiB)\nworkload RR randread\nRR raw 1000 1000 1000 1000 1000 1000")
		run.Experiment.Clients = c
		return run
	}
	opt := Options{Threshold: DefaultThreshold, Alpha: DefaultAlpha}
	clients := &result.Clients{Host: "ssh://bench@client1"}
	want := Difference{What: "clients", A: "its own host", B: clients.Host}
	got := Runs(runWith(nil), runWith(clients), opt).Differs
	if len(got) != 1 || got[0].What != want.What || got[0].A != want.A || got[0].B != want.B {
		t.Errorf("the runs differ in %+v", got)
	}
	if got := Runs(runWith(clients), runWith(clients), opt).Differs; len(got) > 0 {
		t.Errorf("equal runs differ in %+v", got)
	}
}
