package headroom

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/recording"
	"plimsoll/internal/testkit/soak"
)

// recordMemory records a container whose load changes, and whose memory changes by itself: reads are those of its
// operations that miss, slope fewer for each GiB.
func recordMemory(random *rand.Rand, seconds int, slope, change float64) *recording.Recording {
	r := recording.New(recording.Header{Host: recording.Host{Name: "h", CPUs: 8, MemoryBytes: 1 << 36}, Interval: 1})
	begin := time.Date(2026, 3, 2, 8, 0, 0, 0, time.UTC)
	memory, load := 0.0, 0.0
	db := recording.Thing{Kind: recording.OfContainer, Name: "db", Copy: 1}
	for i := range seconds {
		if i%300 == 0 {
			memory, load = change*random.Float64(), 500+500*random.Float64()
		}
		reads := max(0, math.Round(0.8*load-slope*memory+20*random.NormFloat64()))
		row := recording.Row{Time: begin.Add(time.Duration(i+1) * time.Second), Seconds: 1, Amounts: []recording.Amounts{
			{Thing: db, Values: []float64{1000 * load, 0, 1 << 20, 0, (2 + memory) * (1 << 20), 1 << 20, 0, 3}},
			{Thing: recording.Thing{Kind: recording.OfUse, Name: "db", Copy: 1, Drive: "vda"}, Values: []float64{reads}},
			{Thing: recording.Thing{Kind: recording.OfDrive, Name: "vda"}, Values: []float64{reads}}}}
		if _, err := r.Add(row); err != nil {
			panic(err)
		}
	}
	return r
}

// Of containers whose memory is worth a known number of reads, intervals hold it, also while the load changes.
func TestMemoryIsWorthWhatItSaves(t *testing.T) {
	hosts, held := soak.Of(40, 10), 0
	for seed := range uint64(hosts) {
		random := rand.New(rand.NewPCG(seed, 11))
		slope := 50 + 150*random.Float64()
		a, err := Find(recordMemory(random, 7200, slope, 1), Options{Seed: seed})
		if err != nil {
			t.Fatal(err)
		}
		if len(a.Memory) != 1 || a.Memory[0].Reads == nil {
			t.Fatalf("%+v", a.Memory)
		}
		w := a.Memory[0]
		if w.ReadsLow <= slope && slope <= w.ReadsHigh {
			held++
		}
		t.Logf("host %d: %.0f in fact, %.0f found (%.0f to %.0f)", seed, slope, *w.Reads, w.ReadsLow, w.ReadsHigh)
		if math.Abs(*w.Reads/slope-1) > 0.25 || w.Refaults == nil || *w.Refaults != 3 {
			t.Errorf("host %d: %.0f in fact, found %+v", seed, slope, w)
		}
	}
	t.Logf("%d of %d intervals hold the truth", held, hosts)
	if float64(held) < 0.8*float64(hosts) {
		t.Errorf("only %d of %d intervals hold the truth", held, hosts)
	}
}

// Memory that never changed is worth nothing that is known.
func TestMemoryThatNeverChangedIsNotKnown(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 12))
	for name, c := range map[string]struct {
		r    *recording.Recording
		want string
	}{
		"constant": {recordMemory(random, 3600, 100, 0), "varied by less than 10% in 90% of its minutes"},
		"short":    {recordMemory(random, 300, 100, 1), "it ran for less than"},
	} {
		a, err := Find(c.r, Options{})
		if err != nil || len(a.Memory) != 1 || a.Memory[0].Reads != nil || !strings.Contains(a.Memory[0].Unknown, c.want) {
			t.Errorf("%s: %+v, %v", name, a.Memory, err)
		}
	}
}
