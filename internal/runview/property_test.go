package runview

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"plimsoll/internal/result"
	"plimsoll/internal/result/hist"
)

// measurements are of one kind of operation, each with latencies of its own.
var measurements = rapid.Custom(func(t *rapid.T) *result.Measurement {
	var bins []hist.Bin
	sum, count := 0.0, uint64(0)
	for _, ns := range rapid.SliceOfNDistinct(rapid.Uint64Range(1, 1e9), 1, 20, rapid.ID).Draw(t, "ns") {
		n := rapid.Uint64Range(1, 1000).Draw(t, "count")
		bins = append(bins, hist.Bin{NS: ns, Count: n})
		sum, count = sum+float64(ns)*float64(n), count+n
	}
	h := hist.Histogram{Count: count, MeanNS: sum / float64(count), Bins: hist.Pack(bins)}
	return &result.Measurement{Seconds: 1, Operations: []result.Operation{{Name: result.Read, Count: count,
		Rate: float64(count), BytesPerSecond: 4096 * float64(count),
		Latency: map[result.Stage]hist.Histogram{result.Total: h, result.Completion: h}}}}
})

// setups are trials of one tenant: some in each setup, one setup in each round.
var setups = rapid.Custom(func(t *rapid.T) (trials []*result.Trial) {
	instances := rapid.IntRange(1, 3).Draw(t, "instances")
	for round := range rapid.IntRange(1, 6).Draw(t, "rounds") {
		for range rapid.IntRange(1, 3).Draw(t, "trials") {
			trial := &result.Trial{Status: result.TrialDone, Block: round + 1, BringUp: round + 1}
			for i := range instances {
				trial.Instances = append(trial.Instances, result.Instance{
					Index:  i,
					Tenant: "a",
					Measurement: measurements.Draw(
						t,
						"measured",
					),
					Usage: &result.Usage{CPUSeconds: float64(i + round), PeakMemoryBytes: 1 << 20},
				})
			}
			trials = append(trials, trial)
		}
	}
	return trials
})

// What is measured of a mix of one tenant is what is measured of its tenant.
func TestOneTenantIsItsMix(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		trials := setups.Draw(t, "trials")
		for _, m := range append(Metrics(), ServiceP99, TailOverMean) {
			mix, tenant := m.Sample(trials, ""), m.Sample(trials, "a")
			if !slices.Equal(mix.Values(), tenant.Values()) || len(mix) != len(tenant) {
				t.Fatalf("%s is %g of the mix, and %g of its tenant", m.ID, mix.Values(), tenant.Values())
			}
		}
	})
}

// A second trial in a setup, as the first, changes no number: the setup counts once, however many trials it has.
func TestTrialsOfOneSetupCountOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		trials := setups.Draw(t, "trials")
		setup := trials[rapid.IntRange(0, len(trials)-1).Draw(t, "of")].BringUp
		again := slices.Clone(trials)
		for _, trial := range trials {
			if trial.BringUp == setup {
				again = append(again, trial)
			}
		}
		for _, m := range append(Metrics(), ServiceP99, TailOverMean) {
			once, twice := m.Sample(trials, ""), m.Sample(again, "")
			if twice.Trials() <= once.Trials() && len(once) > 0 {
				t.Fatalf("%s: %d trials, and %d", m.ID, once.Trials(), twice.Trials())
			}
			for i, v := range once.Values() {
				if w := twice.Values()[i]; w < v*(1-1e-12) || w > v*(1+1e-12) {
					t.Fatalf("%s of a setup is %g, and %g with its trials twice", m.ID, v, w)
				}
			}
		}
	})
}

// A percentile of the merged bins of trials lies between those of its trials, and that of a setup is no other.
func TestMergedPercentilesLieBetween(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		trials := setups.Draw(t, "trials")
		for _, m := range []Metric{P50, P99, P999, ServiceP99} {
			percent := map[string]float64{P50.ID: 50, P99.ID: 99, P999.ID: 99.9, ServiceP99.ID: 99}[m.ID]
			for _, u := range m.Sample(trials, "") {
				if u.Value() < slices.Min(u.Values) || u.Value() > slices.Max(u.Values) {
					t.Fatalf("%s of a setup is %g, of its trials %g", m.ID, u.Value(), u.Values)
				}
				var bins []hist.Bins
				for _, trial := range trials {
					for _, in := range trial.Instances {
						if trial.BringUp == u.Setup {
							bins = append(bins, in.Measurement.Operations[0].Latency[result.Total].Bins)
						}
					}
				}
				if want, _ := hist.Percentile(hist.MergeBins(bins...), percent); u.Value() != float64(want) {
					t.Fatalf("%s of a setup is %g, of its bins %d", m.ID, u.Value(), want)
				}
			}
		}
	})
}

// The percentiles of a cell are medians over setups: one long trial among several setups moves none of them.
func TestPercentilesOfACellAreOfItsSetups(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		trials := setups.Draw(t, "trials")
		run := &result.Run{}
		for _, trial := range trials {
			trial.Stack, trial.Mix = "disk", "w"
			run.Trials = append(run.Trials, *trial)
		}
		p := New(run).Cell("disk", "w").Point
		for metric, got := range map[float64]float64{50: p.P50NS, 99: p.P99NS, 99.9: p.P999NS} {
			m := map[float64]Metric{50: P50, 99: P99, 99.9: P999}[metric]
			if want := m.Sample(trials, "").Median(); got != want {
				t.Fatalf("p%g is %g, the median of setups %g", metric, got, want)
			}
		}
	})
}

// A summary has the numbers of its point, and effects only where there is something to compare with; against itself
// nothing differs.
func TestSummaryIsOfItsPoint(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		run := &result.Run{}
		for _, mix := range []string{"a", "b"} {
			for _, one := range setups.Draw(t, mix) {
				one.Mix = mix
				run.Trials = append(run.Trials, *one)
			}
		}
		v := New(run)
		first, second := v.Cell("", "a"), v.Cell("", "b")
		reference, compared := v.Summary(first, nil), v.Summary(second, first)
		if reference.Throughput != nil || reference.P99 != nil {
			t.Fatalf("a baseline is compared: %+v", reference)
		}
		if compared.Mix != "b" || compared.Rate != second.Point.Median || compared.P99NS != second.Point.P99NS ||
			compared.BringUps != second.Point.N {
			t.Fatalf("%+v is not of the point %+v", compared, second.Point)
		}
		if e := compared.Throughput; e == nil || e.Subject != "b" || e.Baseline != "a" {
			t.Fatalf("it is compared as %+v", compared.Throughput)
		}
		if e := v.Summary(first, first).Throughput; e.Differs || e.Ratio < 0.999 || e.Ratio > 1.001 {
			t.Fatalf("a mix differs from itself: %+v", e)
		}
	})
}

// A cell computes each sample once, of setups that are merged once, and they are those of its trials.
func TestCellsShareMergedSetups(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		trials := setups.Draw(t, "trials")
		if rapid.Bool().Draw(t, "one trial has no latencies") {
			for i := range trials[0].Instances {
				trials[0].Instances[i].Measurement.Operations[0].Latency = nil
			}
		}
		c := &Cell{Trials: trials}
		for _, m := range append(Metrics(), ServiceP99, TailOverMean, PercentileOf(result.Read, 99), RateOf("p99")) {
			first, again, want := c.Sample(m), c.Sample(m), m.Sample(trials, "")
			if len(first) > 0 && &first[0] != &again[0] {
				t.Fatalf("%s is computed twice", m.ID)
			}
			// Sums of other orders differ in the last digit.
			near := func(x, y float64) bool { return math.Abs(x-y) <= 1e-12*math.Abs(y) }
			if !slices.EqualFunc(first.Values(), want.Values(), near) || first.Trials() != want.Trials() {
				t.Fatalf("%s is %g of the cell, and %g of its trials", m.ID, first.Values(), want.Values())
			}
		}
	})
}
