package iotrace

import (
	"math"
	"math/rand/v2"
	"reflect"
	"testing"
)

// fio's own bins, as its json+ output prints them.
func TestBinsAreThoseOfFio(t *testing.T) {
	for ns, want := range map[uint64]uint64{0: 0, 127: 127, 128: 129, 129: 129, 130: 131, 255: 255, 256: 258,
		1000: 1004, 65536: 66048, 1 << 20: 1056768} {
		if got := representative(bin(ns)); got != want {
			t.Errorf("%d ns is in the bin of %d, and not of %d", ns, got, want)
		}
	}
	if bin(math.MaxUint64) != Bins-1 {
		t.Error("the greatest time is in no bin")
	}
	for i := range Bins {
		if back := bin(representative(i)); back != i {
			t.Fatalf("the middle of bin %d is in bin %d", i, back)
		}
	}
}

// same reports whether two distributions say the same, however they count.
func equal(a, b *Dist) bool {
	return a.SumNS == b.SumNS && a.Squares == b.Squares && reflect.DeepEqual(a.Latency(), b.Latency())
}

func TestMergingLosesNothing(t *testing.T) {
	var whole, together, a, b Dist
	var values []float64
	var times []uint32
	for range 10000 {
		ns := min(uint64(math.Exp(rand.NormFloat64()*3+10)), math.MaxUint32)
		values = append(values, float64(ns))
		whole.Add(ns)
		times = append(times, uint32(ns))
		if rand.IntN(2) == 0 {
			a.Add(ns)
		} else {
			b.Add(ns)
		}
	}
	a.Merge(&b)
	for range 100 {
		together.AddAll(times)
	}
	var often Dist
	for range 100 {
		often.Merge(&whole)
	}
	if !equal(&together, &often) {
		t.Error("times that are added at once give another distribution")
	}
	if a.Count != whole.Count || a.SumNS != whole.SumNS || a.MinNS != whole.MinNS || a.MaxNS != whole.MaxNS ||
		a.Squares != whole.Squares {
		t.Errorf("%+v differs from %+v", a, whole)
	}
	for _, p := range []float64{1, 50, 99, 100} {
		if a.PercentilesNS(p)[0] != whole.PercentilesNS(p)[0] {
			t.Errorf("p%v differs", p)
		}
	}
	var mean, variance float64
	for _, v := range values {
		mean += v / float64(len(values))
	}
	for _, v := range values {
		variance += (v - mean) * (v - mean) / float64(len(values))
	}
	if got := whole.StddevNS(); math.Abs(got/math.Sqrt(variance)-1) > 1e-9 {
		t.Errorf("standard deviation %v, want %v", got, math.Sqrt(variance))
	}
}

// Bins are found in two ways, and squares are summed in two.
func TestAddAllIsAddOfEach(t *testing.T) {
	var times []uint32
	for bit := range 32 {
		for _, near := range []int64{-1, 0, 1} {
			times = append(times, uint32(max(0, int64(1)<<bit+near)))
		}
	}
	times = append(times, math.MaxUint32)
	for _, ns := range times {
		if got, want := shortBin(ns), bin(uint64(ns)); got != uint(want) {
			t.Errorf("%d ns: bin %d, want %d", ns, got, want)
		}
	}
	for n := range times {
		var batched, single Dist
		batched.AddAll(times[:n])
		batched.AddAll(times[n:])
		for _, ns := range times {
			single.Add(uint64(ns))
		}
		if !equal(&batched, &single) {
			t.Fatalf("%d and %d at once: %+v, want %+v", n, len(times)-n, batched, single)
		}
		var merged Dist // of both ways of counting, twice
		merged.Merge(&batched)
		merged.Merge(&single)
		batched.Merge(&single)
		if !equal(&batched, &merged) {
			t.Fatalf("%d and %d at once, and each again: %+v, want %+v", n, len(times)-n, batched.Latency(), merged.Latency())
		}
	}
}

// A count that is full is carried on.
func TestAddAllCountsOn(t *testing.T) {
	var d Dist
	times := make([]uint32, 1000) // all in one bin
	const rounds = 200
	for range rounds {
		d.AddAll(times)
	}
	if n := d.Latency().Bins.Unpack()[0].Count; n != rounds*1000 || d.Count != n {
		t.Errorf("%d times are in the bin, and %d in all, of %d", n, d.Count, rounds*1000)
	}
}

// Times come in many parts, in octaves that were met before and in new ones, above and below.
func TestAddAllMeetsNewBins(t *testing.T) {
	var d, want Dist
	random := rand.New(rand.NewPCG(1, 1))
	for round := range 200 {
		times := make([]uint32, 1+random.IntN(1000))
		for i := range times {
			times[i] = 1000 + uint32(random.IntN(1+round*round))
			if round%2 == 0 {
				times[i] = 1000 - min(1000, uint32(random.IntN(1+round*5)))
			}
			want.Add(uint64(times[i]))
		}
		d.AddAll(times)
	}
	if !equal(&d, &want) {
		t.Errorf("%+v, want %+v", d.Latency(), want.Latency())
	}
}
