package hist

import (
	"encoding/json"
	"math"
	"os"
	"slices"
	"strconv"
	"testing"

	"pgregory.net/rapid"
)

var bins = rapid.Map(rapid.MapOfN(rapid.Uint64Range(1, 1e10), rapid.Uint64Range(0, 1e6), 0, 20),
	func(m map[uint64]uint64) Bins {
		var out []Bin
		for ns, n := range m {
			out = append(out, Bin{NS: ns, Count: n})
		}
		return Pack(out)
	})

func TestMergeBinsProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b, c := bins.Draw(t, "a"), bins.Draw(t, "b"), bins.Draw(t, "c")
		if MergeBins(a, b) != MergeBins(b, a) {
			t.Fatal("not commutative")
		}
		if MergeBins(MergeBins(a, b), c) != MergeBins(a, MergeBins(b, c)) {
			t.Fatal("not associative")
		}
		if MergeBins(a) != a {
			t.Fatal("merging one histogram changes it")
		}
		merged := MergeBins(a, b, c)
		if count(merged) != count(a)+count(b)+count(c) {
			t.Fatal("latencies were lost or made")
		}
		if !slices.IsSortedFunc(merged.Unpack(), func(x, y Bin) int { return int(int64(x.NS) - int64(y.NS)) }) {
			t.Fatal("not ascending")
		}
	})
}

func count(bins Bins) (n uint64) {
	for b := range bins.All() {
		n += b.Count
	}
	return n
}

// values are those of the bins.
func values(bins Bins) (all []uint64) {
	for b := range bins.All() {
		all = append(all, b.NS)
	}
	return all
}

func TestPercentileProperties(t *testing.T) {
	percent := rapid.Float64Range(0.001, 100)
	rapid.Check(t, func(t *rapid.T) {
		a, b := bins.Draw(t, "a"), bins.Draw(t, "b")
		p, q := percent.Draw(t, "p"), percent.Draw(t, "q")
		if p > q {
			p, q = q, p
		}
		low, ok := Percentile(a, p)
		high, _ := Percentile(a, q)
		if ok != (count(a) > 0) {
			t.Fatalf("ok = %v for %v", ok, a)
		}
		if low > high {
			t.Fatalf("p%v = %d above p%v = %d", p, low, q, high)
		}
		if !ok || count(b) == 0 {
			return
		}
		// A merged percentile lies between those of its parts: no average
		// of percentiles promises that it is one.
		other, _ := Percentile(b, p)
		if m, _ := Percentile(MergeBins(a, b), p); m < min(low, other) || m > max(low, other) {
			t.Fatalf("p%v = %d of the merged is not between %d and %d", p, m, low, other)
		}
		if top, _ := Percentile(a, 100); top != slices.Max(values(a)) {
			t.Fatalf("p100 = %d is not the largest bin", top)
		}
	})
}

func TestPercentileOfNothing(t *testing.T) {
	single := Pack([]Bin{{NS: 100, Count: 3}})
	for _, c := range []struct {
		bins Bins
		p    float64
	}{{Bins{}, 50}, {Pack([]Bin{{NS: 5}}), 50}, {single, 0}, {single, -1}, {single, 100.1}, {single, math.NaN()}} {
		if ns, ok := Percentile(c.bins, c.p); ok || ns != 0 {
			t.Errorf("p%v of %v = %d", c.p, c.bins, ns)
		}
	}
}

func TestMerge(t *testing.T) {
	a := Histogram{Count: 3, MeanNS: 200, MinNS: 100, MaxNS: 300,
		Bins: Pack([]Bin{{NS: 100, Count: 1}, {NS: 250, Count: 2}})}
	b := Histogram{Count: 1, MeanNS: 1000, MinNS: 50, MaxNS: 1000, Bins: Pack([]Bin{{NS: 1000, Count: 1}})}
	m := Merge(a, Histogram{}, b)
	if m.Count != 4 || m.MeanNS != 400 || m.MinNS != 50 || m.MaxNS != 1000 || len(m.Bins.Unpack()) != 3 {
		t.Errorf("%+v", m)
	}
	if e := Merge(Histogram{}, Histogram{MeanNS: 7}); e.Count != 0 || e.MeanNS != 0 || !e.Bins.IsEmpty() {
		t.Errorf("of nothing: %+v", e)
	}
}

func TestMergeProperties(t *testing.T) {
	latency := rapid.Custom(func(t *rapid.T) Histogram {
		l := Histogram{Bins: bins.Draw(t, "bins")}
		l.Count = count(l.Bins)
		if l.Count == 0 {
			return Histogram{}
		}
		sum := 0.0
		for b := range l.Bins.All() {
			sum += float64(b.NS) * float64(b.Count)
		}
		l.MeanNS, l.MinNS, l.MaxNS = sum/float64(l.Count), slices.Min(values(l.Bins)), slices.Max(values(l.Bins))
		return l
	})
	rapid.Check(t, func(t *rapid.T) {
		a, b, c := latency.Draw(t, "a"), latency.Draw(t, "b"), latency.Draw(t, "c")
		equal := func(x, y Histogram) bool {
			return x.Count == y.Count && math.Abs(x.MeanNS-y.MeanNS) <= 1e-9*math.Abs(y.MeanNS) && x.MinNS == y.MinNS &&
				x.MaxNS == y.MaxNS && x.Bins == y.Bins
		}
		if !equal(Merge(a, b), Merge(b, a)) {
			t.Fatal("not commutative")
		}
		if !equal(Merge(Merge(a, b), c), Merge(a, Merge(b, c))) {
			t.Fatal("not associative")
		}
		if m := Merge(a, b); m.Count > 0 && (m.MeanNS < float64(m.MinNS)*(1-1e-12) || m.MeanNS > float64(m.MaxNS)*(1+1e-12)) {
			t.Fatalf("mean %v outside %d to %d", m.MeanNS, m.MinNS, m.MaxNS)
		}
	})
}

func TestPercentileIsFios(t *testing.T) {
	var fio struct {
		Histograms []struct {
			Name        string
			Count       uint64
			Bins        []Bin
			Percentiles map[string]uint64
		}
	}
	text, err := os.ReadFile("testdata/fio.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &fio); err != nil {
		t.Fatal(err)
	}
	compared := 0
	for _, h := range fio.Histograms {
		for text, want := range h.Percentiles {
			p, err := strconv.ParseFloat(text, 64)
			if err != nil {
				t.Fatal(err)
			}
			if got, ok := Percentile(Pack(h.Bins), p); !ok || got != want {
				t.Errorf("%s (%d latencies): p%v = %d, fio %d", h.Name, h.Count, p, got, want)
			}
			compared++
		}
	}
	if compared < 300 {
		t.Fatalf("only %d percentiles were compared", compared)
	}
}

// A percentile is known from ten values above it on, whatever its digits are in binary.
func TestLeastFor(t *testing.T) {
	for percent, want := range map[float64]uint64{
		50: 20, 90: 100, 95: 200, 99: 1000, 99.9: 10000, 99.99: 100000, 100: math.MaxUint64,
	} {
		if got := LeastFor(percent); got != want {
			t.Errorf("p%g is known from %d values on, want %d", percent, got, want)
		}
		if Known(want-1, percent) || !Known(want, percent) {
			t.Errorf("p%g is not known exactly from %d values on", percent, want)
		}
	}
}
