package hist

import (
	"bytes"
	"cmp"
	"math"
	"math/big"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// anyBins are bins in any order, some of one value, some that count nothing, and some
// of the shape that real ones have: neighbours that are one step apart.
var anyBins = rapid.Custom(func(t *rapid.T) []Bin {
	value := rapid.OneOf(rapid.Uint64(), rapid.Uint64Range(0, 20), rapid.Just(uint64(math.MaxUint64)))
	n := rapid.OneOf(rapid.Uint64Range(0, 200), rapid.Uint64())
	bins := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) Bin {
		return Bin{NS: value.Draw(t, "ns"), Count: n.Draw(t, "n")}
	}), 0, 20).Draw(t, "bins")
	step := rapid.Uint64Range(1, 1e6).Draw(t, "step")
	for i := range rapid.Uint64Range(0, 100).Draw(t, "neighbours") {
		bins = append(bins, Bin{NS: i * step, Count: n.Draw(t, "n")})
	}
	return bins
})

// plainBins sorts and merges bins in another way than Pack, as an oracle.
func plainBins(histograms ...[]Bin) (out []Bin) {
	counts := map[uint64]uint64{}
	for _, bins := range histograms {
		for _, b := range bins {
			counts[b.NS] += b.Count
		}
	}
	for ns, n := range counts {
		if n > 0 {
			out = append(out, Bin{NS: ns, Count: n})
		}
	}
	slices.SortFunc(out, func(a, b Bin) int { return cmp.Compare(a.NS, b.NS) })
	return out
}

// What is packed is what was given, however it is read: as bins, merged, since, and
// as percentiles; and from the bytes that a store keeps.
func TestPackedIsUnpacked(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		given := anyBins.Draw(t, "bins")
		before := slices.Clone(given)
		want, got := plainBins(given), Pack(given)
		if !slices.Equal(given, before) {
			t.Fatal("Pack changed what it was given")
		}
		if !slices.Equal(got.Unpack(), want) || !slices.Equal(slices.Collect(got.All()), want) {
			t.Fatalf("got %v, want %v", got, want)
		}
		if got.IsEmpty() != (len(want) == 0) || got != Pack(want) {
			t.Fatalf("%v is not one of a kind", got)
		}
		again, err := ReadBins(got.Packed())
		if err != nil || again != got {
			t.Fatalf("%v comes back as %v, %v", got, again, err)
		}
		percent := rapid.Float64Range(0.001, 100).Draw(t, "percent")
		ns, ok := Percentile(got, percent)
		wantNS, wantOK := plainPercentile(want, percent)
		if ns != wantNS || ok != wantOK {
			t.Fatalf("p%v = %d, %v; want %d, %v", percent, ns, ok, wantNS, wantOK)
		}
	})
}

// plainPercentile is the first bin at which the count reaches p/100 of all, of counts
// that wrap around as those of Percentile do.
func plainPercentile(bins []Bin, p float64) (ns uint64, ok bool) {
	var total, running uint64
	for _, b := range bins {
		total += b.Count
	}
	if total == 0 {
		return 0, false
	}
	limit := new(big.Rat).SetFloat64(p)
	limit.Mul(limit, new(big.Rat).SetFrac(new(big.Int).SetUint64(total), big.NewInt(100)))
	for _, b := range bins {
		running += b.Count
		if new(big.Rat).SetInt(new(big.Int).SetUint64(running)).Cmp(limit) >= 0 {
			return b.NS, true
		}
	}
	return bins[len(bins)-1].NS, true
}

func TestMergedIsAddedUp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		given := rapid.SliceOfN(anyBins, 0, 9).Draw(t, "histograms")
		packed := make([]Bins, len(given))
		for i, bins := range given {
			packed[i] = Pack(bins)
		}
		if got, want := MergeBins(packed...).Unpack(), plainBins(given...); !slices.Equal(got, want) {
			t.Fatalf("got %v, want %v", got, want)
		}
	})
}

func TestSinceSubtracts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		total, early := anyBins.Draw(t, "all"), anyBins.Draw(t, "early")
		if rapid.Bool().Draw(t, "grown") {
			total = append(total, early...)
		}
		before := map[uint64]uint64{}
		for _, b := range plainBins(early) {
			before[b.NS] = b.Count
		}
		want := plainBins(total)
		for i, b := range want {
			want[i].Count -= min(before[b.NS], b.Count)
		}
		if got := subtract(Pack(total), Pack(early)); !slices.Equal(got, plainBins(want)) {
			t.Fatalf("got %v, want %v", got, plainBins(want))
		}
	})
}

func TestPercentilesAreEachOfThem(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		bins := bins.Draw(t, "bins")
		percents := rapid.SliceOfN(rapid.Float64Range(0.001, 100), 1, 6).Draw(t, "percents")
		slices.Sort(percents)
		values, ok := Percentiles(bins, percents...)
		for i, p := range percents {
			one, isOne := Percentile(bins, p)
			if ok != isOne || ok && values[i] != one {
				t.Fatalf("p%v = %v, %v among %v; %d, %v alone", p, values, ok, percents, one, isOne)
			}
		}
		if _, ok := Percentiles(bins, 50, 49); ok {
			t.Fatal("percentiles that do not ascend were returned")
		}
	})
}

// A histogram has one packed form: what is cut off, or written otherwise, is refused.
func TestReadBinsRefuses(t *testing.T) {
	for name, b := range map[string][]byte{
		"a count that is cut off":                  {1<<1 | moreCount},
		"a step that is cut off":                   {1 << 1, 0x80},
		"no step":                                  {1 << 1},
		"a bin that counts nothing":                {0, 5},
		"a count that is longer than it has to be": {1<<1 | moreCount, 0, 5},
		"a count of more than 64 bits":             {1<<1 | moreCount, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 4, 5},
		"a varint of more than 64 bits":            {1 << 1, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2},
		"a step that is longer than it has to be":  {1 << 1, 0x85, 0},
		"a step that is the same and said again":   {1 << 1, 5, 1 << 1, 5},
		"a second bin of the same value":           {1<<1 | sameStep, 1<<1 | sameStep},
		"a second bin without a step":              {1 << 1, 5, 1 << 1, 0},
		"values that go round": {
			1 << 1, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1, 1 << 1, 5,
		},
		"values that go round by the step they had": {
			1 << 1, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1, 1<<1 | sameStep,
		},
	} {
		if bins, err := ReadBins(b); err == nil {
			t.Errorf("%s: read as %v", name, bins)
		}
	}
	if bins, err := ReadBins(nil); err != nil || !bins.IsEmpty() {
		t.Errorf("no bytes: %v, %v", bins, err)
	}
}

// FuzzReadBins reads what somebody else may have written into a store: it is refused, or
// it is a histogram whose packed form it is.
func FuzzReadBins(f *testing.F) {
	f.Add([]byte{}, 50.0)
	f.Add([]byte{0x80}, 50.0)
	f.Add(Pack([]Bin{{NS: 1000, Count: 3}, {NS: 1 << 40, Count: 1}}).Packed(), 99.9)
	f.Add(Pack([]Bin{{NS: 0, Count: math.MaxUint64}, {NS: 64, Count: 70},
		{NS: 128, Count: 1}, {NS: math.MaxUint64, Count: 2}}).Packed(), 100.0)
	f.Fuzz(func(t *testing.T, b []byte, percent float64) {
		read, err := ReadBins(b)
		if err != nil {
			return
		}
		bins := read.Unpack()
		if again := Pack(bins).Packed(); !bytes.Equal(again, b) {
			t.Fatalf("%v is %x, packed %x", bins, b, again)
		}
		if len(bins) > len(b) || cap(bins) > 2*len(b) {
			t.Fatalf("%d bytes take memory for %d bins", len(b), cap(bins))
		}
		if ns, ok := Percentile(read, percent); ok && !slices.Contains(values(read), ns) {
			t.Fatalf("p%v = %d of %v", percent, ns, read)
		}
		h := Histogram{Count: 1, Bins: read}
		if left := h.Since(h); !left.Bins.IsEmpty() {
			t.Fatalf("%v less itself is %v", read, left)
		}
		if twice := MergeBins(read, read); len(twice.Unpack()) > len(bins) {
			t.Fatalf("%v twice is %v", read, twice)
		}
	})
}
