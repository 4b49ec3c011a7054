package result

import (
	"math"
	"reflect"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"plimsoll/internal/problem"
	"plimsoll/internal/result/hist"
)

// Instances together did what each did, and their latencies are one distribution:
// a percentile of it is no mean of percentiles.
func TestTogether(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := anyMeasurement().Draw(t, "a"), anyMeasurement().Draw(t, "b")
		b.SetOperation(Operation{Name: "update", Count: 3, Errors: 1, Rate: 0.5, Latency: map[Stage]hist.Histogram{
			Submission: latencyOf(2, 3), Completion: latencyOf(20, 3), Total: latencyOf(22, 3)}})
		sum := Together(&a, &b)
		if sum.IOs() != a.IOs()+b.IOs() || math.Abs(sum.IOPS()-a.IOPS()-b.IOPS()) > 1e-6*sum.IOPS() ||
			sum.Seconds != max(a.Seconds, b.Seconds) {
			t.Fatalf("%d operations at %v/s in %v s of %d and %d", sum.IOs(), sum.IOPS(), sum.Seconds, a.IOs(), b.IOs())
		}
		if u := sum.Operation("update"); u.Count != 3 || u.Errors != 1 || u.Rate != 0.5 {
			t.Fatalf("updates of one of both are %+v", u)
		}
		for _, stage := range Stages {
			want := Measurement{Operations: slices.Concat(a.Operations, b.Operations)}.Latency(stage)
			if got := sum.Latency(stage); got.Count != want.Count || got.Bins != want.Bins || got.MaxNS != want.MaxNS {
				t.Fatalf("%s: %d latencies, up to %d ns; want %d, %d", stage, got.Count, got.MaxNS, want.Count, want.MaxNS)
			}
		}
	})
}

// latencyOf is n latencies of one length.
func latencyOf(ns, n uint64) hist.Histogram {
	return hist.Histogram{Count: n, MeanNS: float64(ns), MinNS: ns, MaxNS: ns,
		Bins: hist.Pack([]hist.Bin{{NS: ns, Count: n}})}
}

// Fsyncs of a workload on blocks are in no sum and no percentile of its reads and writes; those on files are.
func TestFsyncsAreCountedApart(t *testing.T) {
	kind := func(name string, rate float64, ns uint64) Operation {
		return Operation{Name: name, Count: 10, Rate: rate, Latency: map[Stage]hist.Histogram{Total: latencyOf(ns, 10)}}
	}
	blocks := Measurement{Operations: []Operation{kind(Write, 892, 100), kind(Fsync, 892, 1e6)}}
	if l := blocks.Latency(Total); blocks.IOPS() != 892 || blocks.IOs() != 10 || l.MeanNS != 100 || l.MaxNS != 100 {
		t.Errorf("%v/s of %d, %+v", blocks.IOPS(), blocks.IOs(), l)
	}
	files := Measurement{Operations: []Operation{kind("create", 10, 100), kind(Fsync, 10, 300)}}
	if l := files.Latency(Total); files.IOPS() != 20 || files.IOs() != 20 || l.MeanNS != 200 || l.MaxNS != 300 {
		t.Errorf("%v/s of %d, %+v", files.IOPS(), files.IOs(), l)
	}
}

// What is known of one kind of operation alone is not known of all.
func TestLatencyOfSomeIsNotThatOfAll(t *testing.T) {
	m := Measurement{Operations: []Operation{
		{Name: Read, Count: 5, Latency: map[Stage]hist.Histogram{Total: latencyOf(7, 5)}},
		{Name: Write, Count: 5, Latency: map[Stage]hist.Histogram{Total: {Count: 5, MeanNS: 9, MaxNS: 9}}}}}
	if l := m.Latency(Total); l.MeanNS != 8 || l.Count != 10 || !l.Bins.IsEmpty() {
		t.Errorf("without the bins of writes: %+v", l)
	}
	m.Operations[1].Latency = nil
	if l := m.Latency(Total); l.Count != 0 || !l.Bins.IsEmpty() {
		t.Errorf("without latencies of writes: %+v", l)
	}
}

// What a trial measured is what its living instances did; a tenant has its own.
func TestMeasuredOfInstances(t *testing.T) {
	measuredAt := func(rate float64) *Measurement {
		return &Measurement{Operations: ReadsWrites(Operation{Rate: rate}, Operation{})}
	}
	trial := Trial{Instances: []Instance{
		{Index: 0, Tenant: "a", Measurement: measuredAt(100)},
		{Index: 1, Tenant: "a", Measurement: measuredAt(50)},
		{Index: 2, Tenant: "b", Problem: &problem.Problem{What: "killed"}},
		{Index: 3, Tenant: "c", Measurement: measuredAt(7)},
	}}
	ofTenant := func(tenant string) *Measurement {
		return trial.MeasuredBy(func(in *Instance) bool { return in.Tenant == tenant })
	}
	if got := trial.Measured().IOPS(); got != 157 {
		t.Errorf("all did %v/s", got)
	}
	if got := ofTenant("a").IOPS(); got != 150 {
		t.Errorf("tenant a did %v/s", got)
	}
	if got := ofTenant("b"); got != nil {
		t.Errorf("a tenant that died did %+v", got)
	}
	if alone := ofTenant("c"); alone != trial.Instances[3].Measurement {
		t.Error("the measurement of one instance is copied")
	}
	if (&Trial{}).Measured() != nil || One(nil) != nil {
		t.Error("a trial that was not run measured something")
	}
}

// The check that speaks most against a trial is the one that is shown.
func TestWorstHonesty(t *testing.T) {
	trial := Trial{Checks: []Honesty{{Source: SourceDevice}, {Source: SourceMemory, Stack: "s"}, {Source: SourceUnknown}}}
	if h := trial.Honesty(); h.Stack != "s" {
		t.Errorf("%+v", h)
	}
	if (&Trial{}).Honesty() != nil {
		t.Error("there is none to show")
	}
}

// Counts are what was measured, without latencies.
func TestCountsOfInstances(t *testing.T) {
	measuredAt := func(rate float64) *Measurement {
		return &Measurement{Seconds: rate, UserCPU: 0.1, Notes: []string{"slow"}, Operations: []Operation{{Name: Read,
			Count: 5, Rate: rate, Latency: map[Stage]hist.Histogram{Total: latencyOf(7, 5)}}}}
	}
	trial := Trial{Instances: []Instance{
		{Index: 0, Tenant: "a", Measurement: measuredAt(100)},
		{Index: 1, Tenant: "b", Measurement: measuredAt(50)},
	}}
	want, got := trial.Measured(), trial.Counts()
	if got.Operations[0].Latency != nil {
		t.Error("latencies are merged")
	}
	want.Operations[0].Latency = nil
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, and not %+v", got, want)
	}
	if alone := trial.CountsBy(func(in *Instance) bool { return in.Tenant == "b" }); alone.IOPS() != 50 {
		t.Errorf("tenant b did %v/s", alone.IOPS())
	}
}
