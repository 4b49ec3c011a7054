package result

import (
	"math"
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
		b.SetOperation(Operation{Name: "update", Count: 3, Errors: 1, Rate: 0.5})
		sum := Together(&a, &b)
		if sum.IOs() != a.IOs()+b.IOs() || math.Abs(sum.IOPS()-a.IOPS()-b.IOPS()) > 1e-6*sum.IOPS() ||
			sum.Seconds != max(a.Seconds, b.Seconds) {
			t.Fatalf("%d operations at %v/s in %v s of %d and %d", sum.IOs(), sum.IOPS(), sum.Seconds, a.IOs(), b.IOs())
		}
		if u := sum.Operation("update"); u.Count != 3 || u.Errors != 1 || u.Rate != 0.5 {
			t.Fatalf("updates of one of both are %+v", u)
		}
		for _, stage := range Stages {
			want := hist.Merge(a.Latency(stage), b.Latency(stage))
			if got := sum.Latency(stage); got.Count != want.Count || got.Bins != want.Bins || got.MaxNS != want.MaxNS {
				t.Fatalf("%s: %d latencies, up to %d ns; want %d, %d", stage, got.Count, got.MaxNS, want.Count, want.MaxNS)
			}
		}
	})
}

// What a trial measured is what its living instances did; a tenant has its own.
func TestMeasuredOfInstances(t *testing.T) {
	of := func(rate float64) *Measurement {
		return &Measurement{Operations: ReadsWrites(Operation{Rate: rate}, Operation{})}
	}
	trial := Trial{Instances: []Instance{
		{Index: 0, Tenant: "a", Measurement: of(100)},
		{Index: 1, Tenant: "a", Measurement: of(50)},
		{Index: 2, Tenant: "b", Problem: &problem.Problem{What: "killed"}},
		{Index: 3, Tenant: "c", Measurement: of(7)},
	}}
	if got := trial.Measured().IOPS(); got != 157 {
		t.Errorf("all did %v/s", got)
	}
	if got := trial.OfTenant("a").IOPS(); got != 150 {
		t.Errorf("tenant a did %v/s", got)
	}
	if got := trial.OfTenant("b"); got != nil {
		t.Errorf("a tenant that died did %+v", got)
	}
	if alone := trial.OfTenant("c"); alone != trial.Instances[3].Measurement {
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
