package headroom

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/recording"
	"plimsoll/internal/section"
)

// The curves are shares of the capacity, by stretch of time, with a hole where nothing was recorded.
func TestFiguresAreSharesOfCapacities(t *testing.T) {
	h := newSimulatedHost(1)
	r := recording.New(recording.Header{Host: recording.Host{Name: "simulated", CPUs: 64, MemoryBytes: 1 << 40},
		Interval: 1})
	var operations []float64
	second := 0
	h.rows(rand.New(rand.NewPCG(1, 2)), 3600, func(row recording.Row) {
		second++
		if second > 1200 && second <= 1800 {
			return
		}
		drive := row.Amounts[len(row.Amounts)-1]
		operations = append(operations, drive.Values[0])
		if _, err := r.Add(row); err != nil {
			t.Fatal(err)
		}
	})
	a, err := Find(r, Options{Capacities: []Capacity{{Drive: "nvme0n1", Resource: Operations, Value: h.capacity,
		Source: Given}}})
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range a.Sections()[0].Figures {
		if !strings.Contains(f.Title, "operations") {
			continue
		}
		top := f.Series[0].Curve // of 30 s each
		if len(top) != 120 || len(f.Along) != 120 || f.X.Tick(f.Along[0]) != "08:00" || f.X.Says(f.Along[119]) !=
			"Mon 2 Mar 08:59:45" {
			t.Fatalf("%d values at %d places, from %s to %s", len(top), len(f.Along), f.X.Tick(f.Along[0]),
				f.X.Says(f.Along[119]))
		}
		if !f.Broken {
			t.Error("lines run across the hole")
		}
		for i, share := range top {
			if hole := i >= 40 && i < 60; math.IsNaN(share) != hole {
				t.Errorf("stretch %d is %g", i, share)
			}
		}
		// A stretch has the intervals that end before its end.
		if want := 100 * slices.Max(operations[:29]) / h.capacity; top[0] > want+1e-6 || top[0] < want/2 {
			t.Errorf("the first stretch has %g%%, and its most is %g%%", top[0], want)
		}
		if f.Levels[0].Y != 100 || f.Levels[1].Y != 100**a.Resources[2].Share {
			t.Errorf("lines at %+v", f.Levels)
		}
		return
	}
	t.Fatal("the drive has no figure")
}

// An interval that comes a little early or late leaves no hole; one that is missing does.
func TestOverTimeBreaksOnlyAtMissingIntervals(t *testing.T) {
	begin := time.Date(2026, 3, 7, 12, 0, 0, 0, time.UTC)
	u := Use{Capacity: Capacity{Value: 100}}
	var times []time.Time
	for i, seconds := range []float64{0, 1.01, 1.99, 3, 5, 6} { // 2 is early, and 4 is missing
		times = append(times, begin.Add(time.Duration(seconds*1e9)))
		u.total = append(u.total, float32(i))
	}
	along, _, top := u.overTime(times, time.Second, 1)
	if len(along) != 6 || along[2] != 3500*time.Millisecond || along[3] != 4500*time.Millisecond ||
		!math.IsNaN(top[3]) || slices.ContainsFunc(append(top[:3:3], top[4:]...), math.IsNaN) {
		t.Errorf("values %v at %v", top, along)
	}
}

// Of several days there is a column for each weekday, from Monday.
func TestWeekOfHours(t *testing.T) {
	begin := time.Date(2026, 3, 7, 12, 0, 0, 0, time.UTC) // a Saturday
	a := &Answer{Resources: []Use{{Resource: CPU, Capacity: Capacity{Resource: CPU, Value: 4, Source: Machine}}},
		Shape: make([]Hour, 24)}
	for minute := range 3 * 1440 {
		a.times = append(a.times, begin.Add(time.Duration(minute)*time.Minute))
		a.Resources[0].total = append(a.Resources[0].total, float32(minute/60)/20)
	}
	a.Days = byDay(a.times, make([]float32, len(a.times)), a.Resources[0].total)
	heat := a.week()[0]
	if got := strings.Join(heat.Columns, " "); got != "Monday Tuesday Saturday Sunday" || len(heat.Rows) != 24 {
		t.Errorf("columns of %s, %d rows", got, len(heat.Rows))
	}
	if early, late := heat.Rows[11].Cells[2], heat.Rows[14].Cells[2]; early.Text != "" || late.Text != "2.5%" ||
		late.Level != 1 {
		t.Errorf("Saturday at 11 and 14: %+v, %+v", early, late)
	}
	if tuesday := heat.Rows[11].Cells[1]; tuesday.Level != section.MostHeat {
		t.Errorf("Tuesday at 11: %+v", tuesday)
	}
}

// A limit of as much as the host has limits nothing.
func TestLimitsOfTheHostAreLeftOut(t *testing.T) {
	h := newSimulatedHost(1)
	r := h.record(rand.New(rand.NewPCG(1, 2)), 1200)
	r.Find(recording.Key{Kind: recording.OfContainer, Name: "shop/db", Copy: 1}).Thing.Limits = []recording.Limit{
		{Of: string(Memory), Value: 1 << 40}, {Of: string(CPU), Value: 64}, {Of: string(CPU), Value: 2}}
	a, err := Find(r, Options{Container: "shop/db"})
	if err != nil {
		t.Fatal(err)
	}
	limits := slices.DeleteFunc(a.More[0].Limits, func(l LimitUse) bool { return l.Resource == CPU && l.Value == 2 })
	if len(limits) > 0 || len(a.More[0].Limits) == 0 {
		t.Errorf("limits in force: %+v", a.More[0].Limits)
	}
}

// The rate that was given is replayed, however short the recording is.
func TestGivenRateIsReplayed(t *testing.T) {
	h := newSimulatedHost(1)
	r := h.record(rand.New(rand.NewPCG(1, 2)), 60)
	operations := slices.Clone(r.Find(recording.Key{Kind: recording.OfDrive, Name: "nvme0n1"}).Values(recording.Reads))
	slices.Sort(operations)
	limit := float64(operations[44]) // of 60
	a, err := Find(r, Options{Capacities: []Capacity{{Drive: "nvme0n1", Resource: Reads, Value: limit, Source: Given}}})
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(a.Enough, func(e Enough) bool { return e.Given })
	if i < 0 || a.Enough[i].Share != 45./60 || *a.Enough[i].Value != limit || a.Enough[i].Replay == nil ||
		!(a.Enough[i].Replay.Delayed > 0.01) {
		t.Errorf("what would have been enough: %+v", a.Enough)
	}
}
