package compare

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"plimsoll/internal/result"
	"plimsoll/internal/testkit/runtest"
)

var anyCompareOptions = rapid.Custom(func(t *rapid.T) Options {
	names := []string{"iops", "bandwidth", "p50", "p95", "p99", "p99.9"}
	metrics := rapid.SliceOfNDistinct(rapid.SampledFrom(names), 1, 2, rapid.ID)
	return Options{
		Threshold: rapid.Float64Range(0.001, 0.5).Draw(t, "threshold"),
		Alpha:     rapid.Float64Range(0.001, 0.5).Draw(t, "alpha"),
		Metrics:   metrics.Draw(t, "metrics"),
	}
})

// eitherRun is a run of a few stacks, some of them alike, whose trials may have
// failed, completed nothing, or measured nonsense.
var eitherRun = rapid.Custom(func(t *rapid.T) *result.Run {
	run := &result.Run{ID: rapid.StringMatching(`[a-d]`).Draw(t, "id"), Status: result.RunComplete, Seed: rapid.Uint64().Draw(t, "seed")}
	run.Environment.Kernel = rapid.SampledFrom([]string{"", "6.1", "6.2"}).Draw(t, "kernel")
	run.Experiment.RuntimeSeconds = rapid.SampledFrom([]float64{1, 1, 1, 60}).Draw(t, "runtime")
	for _, name := range rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"raw", "xfs", "ext4"}), 0, 3, rapid.ID).Draw(t, "stacks") {
		line := rapid.SampledFrom([]string{"loop(size=1GiB)", "loop(size=1GiB)>xfs", "loop(size=1GiB) > xfs", "no such line("}).Draw(t, "line")
		run.Stacks = append(run.Stacks, result.Stack{Name: name, Line: line, Facts: []result.Fact{
			{Name: "mount options", Value: rapid.SampledFrom([]string{"rw", "ro"}).Draw(t, "mounted")}}})
	}
	for _, name := range rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"RR", "RW"}), 0, 2, rapid.ID).Draw(t, "workloads") {
		run.Workloads = append(run.Workloads, result.Workload{Name: name, Declared: rapid.SampledFrom([]string{"", "{rw: read, bs: 4k}", "{bs: 4k, rw: read}", "[job]"}).Draw(t, "declared")})
	}
	iops := rapid.OneOf(rapid.Float64Range(900, 1100), rapid.Float64Range(1, 1e6), rapid.SampledFrom([]float64{0, 1000, math.NaN(), math.Inf(1), math.MaxFloat64, 5e-324, -1}))
	for _, s := range run.Stacks {
		for _, w := range run.Workloads {
			source := rapid.SampledFrom([]result.Source{result.SourceDevice, result.SourceDevice, result.SourceMemory, result.SourceUnknown}).Draw(t, "source")
			for _, v := range rapid.SliceOfN(iops, 0, 8).Draw(t, "iops") {
				trial := runtest.Outcome{Source: source, Slat: 2000, Seconds: 1, Read: true}.Trial(w.Name, s.Name, 1, v)
				trial.Status = rapid.SampledFrom([]result.TrialStatus{result.TrialDone, result.TrialDone, result.TrialDone, result.TrialFailed}).Draw(t, "status")
				run.Trials = append(run.Trials, trial)
			}
		}
	}
	return run
})

// rowKey tells rows apart by the names that their stack and workload have in
// one of the runs.
func rowKey(r Row, inB bool) string {
	stack, workload := r.Stack, r.Workload
	if inB {
		stack, workload = cmp.Or(r.StackB, stack), cmp.Or(r.WorkloadB, workload)
	}
	return fmt.Sprint(stack, workload, r.Metric)
}

// A against B is B against A the other way round: ratios and their intervals
// are inverse, and tests are the same.
func TestCompareIsSymmetric(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b, opt := eitherRun.Draw(t, "a"), eitherRun.Draw(t, "b"), anyCompareOptions.Draw(t, "options")
		forward, back := Runs(a, b, opt), Runs(b, a, opt)
		if len(forward.Rows) != len(back.Rows) || len(forward.Apart) != len(back.Apart) ||
			len(forward.Differs) != len(back.Differs) || forward.Family != back.Family {
			t.Fatalf("there: %s\nback: %s", tellComparison(forward), tellComparison(back))
		}
		found := map[string]Row{}
		for _, r := range back.Rows {
			found[rowKey(r, true)] = r
		}
		for _, r := range forward.Rows {
			o, ok := found[rowKey(r, false)]
			if !ok {
				t.Fatalf("%s is not among %v", r.subject(), slices.Collect(maps.Keys(found)))
			}
			if r.P != o.P || r.PAdjusted != o.PAdjusted || r.Differs != o.Differs || r.A.Median != o.B.Median || r.B.N != o.A.N {
				t.Errorf("there %+v\nback %+v", r, o)
			}
			if (r.Low == nil) != (o.Low == nil) {
				t.Fatalf("an interval one way only: %+v, %+v", r, o)
			}
			if r.Low == nil {
				continue
			}
			if r.Ratio == nil || o.Ratio == nil {
				t.Fatalf("an interval without a ratio: %+v, %+v", r, o)
			}
			for _, pair := range [][2]float64{{*r.Ratio, *o.Ratio}, {*r.Low, *o.High}, {*r.High, *o.Low}} {
				if product := pair[0] * pair[1]; math.Abs(product-1) > 1e-9 {
					t.Errorf("%g and %g are not inverse", pair[0], pair[1])
				}
			}
			if r.Verdict == Regression && o.Verdict != Improvement {
				t.Errorf("a regression one way is %s the other", o.Verdict)
			}
		}
	})
}

// In which order trials ran changes nothing, and that of stacks and workloads
// only the order of rows.
func TestCompareIsIndependentOfOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b, opt := eitherRun.Draw(t, "a"), eitherRun.Draw(t, "b"), anyCompareOptions.Draw(t, "options")
		other := *b
		other.Trials = rapid.Permutation(b.Trials).Draw(t, "trials")
		other.Stacks = rapid.Permutation(b.Stacks).Draw(t, "stacks")
		other.Workloads = rapid.Permutation(b.Workloads).Draw(t, "workloads")
		shuffled := *a
		shuffled.Trials = rapid.Permutation(a.Trials).Draw(t, "trials of A")
		want, got := Runs(a, b, opt), Runs(&shuffled, &other, opt)
		if w, g := asJSON(t, want.Rows), asJSON(t, got.Rows); w != g {
			t.Errorf("rows were %s\nand are %s", w, g)
		}
		if want.Title != got.Title || want.Verdict != got.Verdict || len(want.Apart) != len(got.Apart) {
			t.Errorf("%s\n%s", tellComparison(want), tellComparison(got))
		}
	})
}

// A run compared with itself never differs; any comparison can be written as JSON.
func TestCompareWithItself(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, opt := eitherRun.Draw(t, "a"), anyCompareOptions.Draw(t, "options")
		opt.Others = true
		c := Runs(a, a, opt)
		asJSON(t, c)
		if c.Verdict == Regression || len(c.Differs) > 0 {
			t.Errorf("%s", tellComparison(c))
		}
		for _, r := range c.Rows {
			if r.Differs || r.Ratio != nil && *r.Ratio != 1 {
				t.Errorf("%s: %s", r.subject(), r.ratioText())
			}
		}
		asJSON(t, Runs(a, nil, opt))
	})
}

func asJSON(t *rapid.T, v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
