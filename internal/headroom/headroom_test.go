package headroom

import (
	"encoding/json"
	"errors"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/problem"
	"plimsoll/internal/recording"
	"plimsoll/internal/result"
)

// A percentile takes ten intervals above it, and the answer says how much longer to record.
func TestFewIntervalsHaveNoPercentile(t *testing.T) {
	values := make([]float32, 999)
	for i := range values {
		values[i] = float32(i)
	}
	if q := quantileOf(values, 0.99, 2); q.Value != nil || q.MoreSeconds != 2 {
		t.Errorf("p99 of 999: %+v", q)
	}
	if q := quantileOf(append(values, 999), 0.99, 2); q.Value == nil || *q.Value != 989 {
		t.Errorf("p99 of 1,000: %+v", q)
	}
	// All seconds above are one stretch, which says as much as a few seconds.
	stretch := make([]float32, 3000)
	for i := range 40 {
		stretch[1500+i] = float32(100 + i)
	}
	q := quantileOf(stretch, 0.99, 1)
	if q.Value == nil || q.High != nil && *q.High < *q.Value+5 || q.Effective > 300 {
		t.Errorf("p99 of one stretch: %+v", q)
	}
}

// Intervals of percentiles hold the true one, of independent seconds and of those that hang together.
func TestIntervalsOfPercentiles(t *testing.T) {
	const n = 4000
	const z99 = 2.326348
	for _, memory := range []float64{0, 0.9} {
		held, trials := 0, 400
		for seed := range uint64(trials) {
			random := rand.New(rand.NewPCG(seed, 4))
			x, values := random.NormFloat64(), make([]float32, n)
			for i := range values {
				x = memory*x + math.Sqrt(1-memory*memory)*random.NormFloat64()
				values[i] = float32(x)
			}
			q := quantileOf(values, 0.99, 1)
			if (q.Low == nil || *q.Low <= z99) && (q.High == nil || z99 <= *q.High) {
				held++
			}
		}
		t.Logf("correlation %g: %d of %d", memory, held, trials)
		if float64(held) < 0.88*float64(trials) {
			t.Errorf("correlation %g: %d of %d intervals hold the true percentile", memory, held, trials)
		}
	}
}

// Services that burst together are found, and those that know nothing of each other are not.
func TestPeaksTogether(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	const n = 6000
	demands := make([]demandOf, 4)
	for i := range demands {
		demands[i] = demandOf{service: string(rune('a' + i)), values: make([]float32, n)}
		for k := range n {
			demands[i].values[k] = float32(random.ExpFloat64())
		}
	}
	for begin := 100; begin < n; begin += 400 {
		for k := range 4 {
			demands[0].values[begin+k] += 50
			demands[1].values[begin+k+1] += 50
		}
	}
	pairs := peakTogether(demands, "sda", Operations, 1)
	if len(pairs) != 1 || pairs[0].A != "a" || pairs[0].B != "b" || pairs[0].Ratio < 20 {
		t.Errorf("pairs %+v", pairs)
	}
}

// The most that a drive did is a capacity only if the drive was busy. Then more may fit than is said.
func TestTheMostSeenIsTheLeast(t *testing.T) {
	h := newSimulatedHost(3)
	r := h.record(rand.New(rand.NewPCG(3, 2)), 4000)
	busy := r.Find(recording.Key{Kind: recording.OfDrive, Name: "nvme0n1"}).Values(recording.Busy)
	for i := range busy {
		busy[i] /= 4
	}
	a, err := Find(r, Options{Container: "db"})
	if err != nil {
		t.Fatal(err)
	}
	if u := a.Binds(); u == nil || u.Drive != "" || a.Quantile != 0.99 {
		t.Errorf("an idle drive binds: %s", a.Verdict())
	}
	if missing := strings.Join(a.More[0].Missing, "; "); !strings.Contains(missing,
		"nvme0n1 operations: its capacity is unknown") {
		t.Errorf("left out %q", missing)
	}
	for i := range busy {
		busy[i] = min(1e6, busy[i]*20)
	}
	a, err = Find(r, Options{Container: "db"})
	if err != nil {
		t.Fatal(err)
	}
	if u := a.Binds(); u == nil || u.Drive != "nvme0n1" || u.Capacity.Source != MostSeen || !a.More[0].AtLeast {
		t.Fatalf("%s, %+v", a.Verdict(), a.More[0])
	}
	for _, want := range []string{"The drive nvme0n1", "99th percentile of seconds", "of the most that it was seen to do",
		"At least", "was not measured: more may fit"} {
		if !strings.Contains(a.Verdict(), want) {
			t.Errorf("%q is not in %q", want, a.Verdict())
		}
	}
	if _, err := json.Marshal(a); err != nil {
		t.Error(err)
	}
}

// Names and amounts of a recording are hostile.
func TestAttackRecordings(t *testing.T) {
	const hostile = "a\x1b]0;owned\x07\x1b[2J\u202e\n"
	r := recording.New(recording.Header{Host: recording.Host{Name: hostile, CPUs: 2, MemoryBytes: math.Inf(1)},
		Interval: 1,
		Unknown:  []string{hostile}})
	base := newSimulatedHost(1).record(rand.New(rand.NewPCG(1, 2)), 1)
	for i := range 1200 {
		row := recording.Row{Time: base.Times[0].Add(time.Duration(i+1) * time.Second), Seconds: 1}
		v := float64(i)
		if i%7 == 0 {
			v = math.NaN()
		}
		row.Amounts = []recording.Amounts{{Thing: recording.Thing{Kind: recording.OfHost}, Values: []float64{v, 0, 1e300}},
			{Thing: recording.Thing{Kind: recording.OfDrive, Name: hostile}, Values: []float64{1e300, v, v, v, v, 1e6}},
			{Thing: recording.Thing{Kind: recording.OfContainer, Name: hostile, Copy: 1}, Values: []float64{v}},
			{Thing: recording.Thing{Kind: recording.OfUse, Name: hostile, Copy: 1, Drive: hostile}, Values: []float64{v}}}
		if _, err := r.Add(row); err != nil {
			t.Fatal(err)
		}
	}
	a, err := Find(r, Options{Container: hostile})
	if err != nil {
		t.Fatal(err)
	}
	shown := a.Verdict()
	for _, s := range a.Sections() {
		for _, table := range s.Tables {
			for _, row := range table.Rows {
				shown += row.Words
				for _, c := range row.Cells {
					shown += c.String()
				}
			}
		}
		for _, remark := range s.Remarks {
			shown += remark.Text
		}
	}
	if strings.ContainsAny(shown, "\x1b\x07\u202e\n") {
		t.Errorf("shown is %q", shown)
	}
	_, err = Find(r, Options{Container: "none", Quantile: 3, Capacities: []Capacity{{Drive: "none"}}})
	var problems problem.List
	if !errors.As(err, &problems) || len(problems) != 3 {
		t.Errorf("problems %v", err)
	}
}

// The capacities of a drive are those of the workloads that only read, or only write: the one that did most.
func TestCapacitiesOfRuns(t *testing.T) {
	run := &result.Run{ID: "devices-1"}
	trial := func(mix, operation string, rate float64, reads, writes uint64) {
		m := &result.Measurement{Seconds: 1, Operations: []result.Operation{{Name: operation, Count: uint64(rate),
			Rate: rate}}}
		run.Trials = append(run.Trials, result.Trial{Stack: "device", Mix: mix, Status: result.TrialDone,
			Instances: result.One(m), Checks: []result.Honesty{{Served: []result.DeviceCounter{{
				Device: result.Device{Name: "nvme0n1"}, Reads: reads, Writes: writes, ReadBytes: 4096 * reads,
				WriteBytes: 4096 * writes, PerIO: 1}}}}})
	}
	for _, rate := range []float64{900, 1000, 1100} {
		trial("randread-max", result.Read, rate, uint64(rate), 0)
		trial("randread-low", result.Read, 10, 10, 0)
		trial("randwrite-max", result.Write, rate/2, 0, uint64(rate/2))
		trial("mixed", result.Read, 5000, 2500, 2500)
	}
	got := map[Resource]float64{}
	for _, c := range MeasuredBy(run) {
		got[c.Resource] = c.Value
		if c.Drive != "nvme0n1" || c.From != "devices-1" || c.Source != Measured || !(c.Low <= c.Value && c.Value <= c.High) {
			t.Errorf("%+v", c)
		}
	}
	want := map[Resource]float64{Reads: 1000, ReadBandwidth: 4096e3, Writes: 500, WriteBandwidth: 2048e3}
	for resource, value := range want {
		if got[resource] != value {
			t.Errorf("%s is %g, want %g", resource, got[resource], value)
		}
	}
	if len(got) != len(want) {
		t.Errorf("capacities %v", got)
	}
}
