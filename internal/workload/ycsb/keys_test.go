package ycsb

import (
	"hash/fnv"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"plimsoll/internal/database"
	"plimsoll/internal/testkit/soak"
)

// plan returns a plan of reads alone.
func plan(records int64, d Distribution) *Plan {
	return &Plan{Dataset: database.Dataset{Records: records, Fields: 4, FieldBytes: 10}, Distribution: d, Threads: 1,
		Mix: Mix{Read: 1}, HotSet: 0.2, HotOperations: 0.8, MaxScan: 100, Seed: 42}
}

// draws counts how often each record is asked for.
func draws(k keys, n int) map[int64]int {
	random := rand.New(rand.NewPCG(7, 7))
	counts := map[int64]int{}
	for range n {
		counts[k.next(random)]++
	}
	return counts
}

// fits compares counts with exact probabilities, which sum up to 1, by Pearson's
// chi-square test. Items of which few are expected are taken together.
func fits(t *testing.T, name string, counts map[int64]int, expected map[int64]float64) {
	t.Helper()
	n, seen := 0, 0
	for _, c := range counts {
		n += c
	}
	items := make([]int64, 0, len(expected))
	for item := range expected {
		items = append(items, item)
	}
	slices.Sort(items)
	var chi, observed, meant float64
	cells := 0
	flush := func() {
		if meant > 0 {
			chi += (observed - meant) * (observed - meant) / meant
			cells++
		}
		observed, meant = 0, 0
	}
	for _, item := range items {
		observed, meant = observed+float64(counts[item]), meant+expected[item]*float64(n)
		seen += counts[item]
		if meant >= 10 {
			flush()
		}
	}
	flush()
	if seen != n {
		t.Errorf("%s: %d of %d draws are of items that cannot be", name, n-seen, n)
	}
	// The square root of twice chi-square is nearly normal (Fisher); 5 sigma.
	freedom := float64(cells - 1)
	if z := math.Sqrt(2*chi) - math.Sqrt(2*freedom-1); math.Abs(z) > 5 {
		t.Errorf("%s: chi-square is %.0f with %.0f degrees of freedom, %.1f sigma", name, chi, freedom, z)
	}
}

const drawn = 1_000_000

func TestUniform(t *testing.T) {
	expected := map[int64]float64{}
	for item := range int64(1000) {
		expected[item] = 1.0 / 1000
	}
	fits(t, "uniform", draws(plan(1000, Uniform).newKeys(0, NewInserts(1000)), drawn), expected)
}

// zeta is the sum of 1/i^0.99, by 200 bits.
func zeta(n int64) float64 {
	sum := new(big.Float).SetPrec(200)
	for i := int64(1); i <= n; i++ {
		sum.Add(sum, new(big.Float).SetPrec(200).SetFloat64(math.Pow(float64(i), -0.99)))
	}
	f, _ := sum.Float64()
	return f
}

// The formula for the sum is the sum; and for YCSB's number of items it is the
// constant that YCSB's source has.
func TestHarmonic(t *testing.T) {
	for _, n := range []int64{1, 2, 3, 999, 1000, 1001, 1002, 5000, 123456, 1_000_000} {
		if got, want := harmonic(n), zeta(n); math.Abs(got-want) > 1e-11*want {
			t.Errorf("of %d: %.15g, want %.15g", n, got, want)
		}
	}
	if got := harmonic(10_000_000_000); math.Abs(got-scrambledZeta) > 1e-7 {
		t.Errorf("of YCSB's items: %.15g, YCSB has %.15g", got, scrambledZeta)
	}
}

// gray is how often the method of Gray et al. draws each item: the share of [0, 1)
// that it maps to it, by the inverse of its formula.
func gray(n int64) map[int64]float64 {
	const theta = 0.99
	sum := zeta(n)
	first, second := 1/sum, (1+math.Pow(0.5, theta))/sum
	eta := (1 - math.Pow(2/float64(n), 1-theta)) / (1 - zeta(2)/sum)
	// item k is drawn from u(k) on, where n (eta u - eta + 1)^(1/(1-theta)) = k.
	from := func(k int64) float64 {
		return max(second, (math.Pow(float64(k)/float64(n), 1-theta)-1+eta)/eta)
	}
	p := map[int64]float64{0: first, 1: second - first}
	for k := int64(0); k < n; k++ {
		to := 1.0
		if k+1 < n {
			to = from(k + 1)
		}
		if share := to - from(k); share > 0 {
			p[k] += share
		}
	}
	return p
}

func TestZipf(t *testing.T) {
	for _, n := range []int64{3, 10, 1000, 20000} {
		z := newZipf(n)
		random := rand.New(rand.NewPCG(3, uint64(n)))
		counts := map[int64]int{}
		for range drawn {
			counts[z.next(random)]++
		}
		expected := gray(n)
		fits(t, "zipf", counts, expected)
		// The method is near the distribution that it stands for: 1/i^0.99.
		sum := zeta(n)
		for item, p := range expected {
			ideal := math.Pow(float64(item+1), -0.99) / sum
			if n == 1000 && math.Abs(p/ideal-1) > 0.35 || item < 2 && n > 3 && math.Abs(p/ideal-1) > 0.06 {
				t.Errorf("item %d of %d is drawn with %v, ideally %v", item, n, p, ideal)
			}
		}
	}
	for n := int64(1); n < 4; n++ {
		z := newZipf(n)
		for _, u := range []float64{0, 0.3, 0.6, 0.9, math.Nextafter(1, 0)} {
			if item := z.rank(u); item < 0 || item >= n {
				t.Errorf("item %d of %d", item, n)
			}
		}
	}
}

// Scrambled keys: the hottest records are the hashes of the first items, as often as
// the zipfian of 10 billion draws those; all others share the rest.
func TestScrambled(t *testing.T) {
	const records, hottest = 1000, 2000
	counts := draws(plan(records, Zipfian).newKeys(0, NewInserts(records)), drawn)
	p := func(item int64) float64 { // by the sum that YCSB has
		const theta = 0.99
		eta := (1 - math.Pow(2.0/10_000_000_001, 1-theta)) / (1 - zeta(2)/26.46902820178302)
		second := (1 + math.Pow(0.5, theta)) / 26.46902820178302
		from := func(k int64) float64 {
			return max(second, (math.Pow(float64(k)/10_000_000_001, 1-theta)-1+eta)/eta)
		}
		switch share := from(item+1) - from(item); item {
		case 0:
			return share + 1/26.46902820178302
		case 1:
			return share + second - 1/26.46902820178302
		default:
			return share
		}
	}
	// What is beyond the hottest falls anywhere. One more than there are is not there, and
	// what falls on it is drawn again.
	expected, known, missing := map[int64]float64{}, 0.0, 0.0
	for item := range int64(hottest) {
		h := fnv.New64a()
		h.Write([]byte{byte(item), byte(item >> 8), 0, 0, 0, 0, 0, 0})
		hash := int64(h.Sum64())
		if hash < 0 {
			hash = -hash
		}
		if record := hash % (records + 1); record < records {
			expected[record] += p(item)
			known += p(item)
		} else {
			missing += p(item)
		}
	}
	tail := 1 - known - missing
	present := known + tail*records/(records+1)
	largest := 0.0
	for record := range int64(records) {
		expected[record] = (expected[record] + tail/(records+1)) / present
		largest = max(largest, expected[record])
	}
	// The tail is even only nearly: its 10 billion items have weights of their own. So
	// the hottest are compared one by one, and closely.
	for record, want := range expected {
		got := float64(counts[record]) / drawn
		if sigma := math.Sqrt(want / drawn); want > 0.002 && math.Abs(got-want) > 5*sigma+0.02*want {
			t.Errorf("record %d is asked for %v of the time, want %v", record, got, want)
		}
	}
	if largest < 0.03 {
		t.Errorf("the hottest record is expected %v of the time", largest)
	}
}

func TestHotspot(t *testing.T) {
	p := plan(1000, Hotspot)
	expected := map[int64]float64{}
	for item := range int64(1000) {
		expected[item] = 0.8 / 200
		if item >= 200 {
			expected[item] = 0.2 / 800
		}
	}
	fits(t, "hotspot", draws(p.newKeys(0, NewInserts(1000)), drawn), expected)
	for _, c := range []struct {
		set, operations float64
		low, high       int64
	}{{0, 0.9, 0, 9}, {1, 0.1, 0, 9}, {0.5, 1, 0, 4}, {0.5, 0, 5, 9}} {
		p := plan(10, Hotspot)
		p.HotSet, p.HotOperations = c.set, c.operations
		for key := range draws(p.newKeys(0, NewInserts(10)), 1000) {
			if key < c.low || key > c.high {
				t.Errorf("%+v: record %d", c, key)
			}
		}
	}
}

// The latest records are asked for most often, and those that were inserted
// meanwhile are the latest.
func TestLatest(t *testing.T) {
	inserts := NewInserts(500)
	k := plan(500, Latest).newKeys(0, inserts)
	compare := func(n int64) {
		t.Helper()
		expected := map[int64]float64{}
		for item, p := range gray(n) {
			expected[n-1-item] = p
		}
		fits(t, "latest", draws(k, drawn/2), expected)
	}
	compare(500)
	for range 1500 {
		inserts.Done(inserts.Take(), true)
	}
	compare(2000)
}

func TestSequential(t *testing.T) {
	p := plan(10, Sequential)
	p.Threads = 3
	for thread, want := range [][]int64{{0, 3, 6, 9, 2, 5, 8, 1}, {1, 4, 7, 0}, {2, 5, 8, 1}} {
		k := p.newKeys(thread, NewInserts(10))
		for i, w := range want {
			if got := k.next(nil); got != w {
				t.Errorf("thread %d asks for %d as its %dth, want %d", thread, got, i+1, w)
			}
		}
	}
}

// Records are there in the order of their numbers, whatever the order in which
// inserts end, and whichever fail.
func TestInserts(t *testing.T) {
	n := NewInserts(10)
	a, b, c := n.Take(), n.Take(), n.Take()
	n.Done(b, true)
	if n.There() != 10 {
		t.Errorf("%d are there before the first is", n.There())
	}
	n.Done(a, false)
	n.Done(c, true)
	if again := n.Take(); again != a || n.There() != 10 {
		t.Errorf("%d is taken again, %d are there", again, n.There())
	}
	n.Done(a, true)
	if n.There() != 13 || len(n.ahead) != 0 || n.Take() != 13 {
		t.Errorf("%d are there, %v ahead", n.There(), n.ahead)
	}

	inserts := NewInserts(0)
	var working sync.WaitGroup
	for thread := range 8 {
		working.Go(func() {
			random := rand.New(rand.NewPCG(1, uint64(thread)))
			for done := 0; done < 1000; {
				number := inserts.Take()
				exists := random.IntN(3) > 0
				inserts.Done(number, exists)
				if exists {
					done++
				}
			}
		})
	}
	working.Wait()
	for inserts.There() < 8000 { // those that failed last
		inserts.Done(inserts.Take(), true)
	}
	if len(inserts.ahead) > 8 {
		t.Errorf("%d are ahead", len(inserts.ahead))
	}
}

// Operations have the shares of the mix, scans every length, and fields are chosen
// evenly.
func TestShares(t *testing.T) {
	soak.WithoutRace(t)
	for name, preset := range presets {
		p := plan(1000, preset.distribution)
		p.Mix = preset.mix
		p.ReadOne = true
		inserts := NewInserts(1000)
		o := p.Operations(0, inserts)
		kinds, lengths, fields := map[int64]int{}, map[int64]int{}, map[int64]int{}
		for range drawn / 4 {
			op := o.Next()
			kinds[int64(op.Kind)]++
			switch Names[op.Kind] {
			case Insert:
				inserts.Done(op.Record, true)
				continue
			case Scan:
				lengths[int64(op.Records)]++
			}
			if op.Record < 0 || op.Record >= inserts.There() {
				t.Fatalf("%s: record %d of %d", name, op.Record, inserts.There())
			}
			fields[int64(op.Field)]++
		}
		expected := map[int64]float64{}
		for i, operation := range Names {
			if share := preset.mix[operation]; share > 0 {
				expected[int64(i)] = share
			}
		}
		if len(expected) > 1 {
			fits(t, name, kinds, expected)
		}
		fits(t, name+": fields", fields, map[int64]float64{0: 0.25, 1: 0.25, 2: 0.25, 3: 0.25})
		if len(lengths) > 0 {
			even := map[int64]float64{}
			for length := range int64(100) {
				even[length+1] = 0.01
			}
			fits(t, name+": lengths of scans", lengths, even)
		}
	}
}

// Threads ask for different records, and each for the same ones again.
func TestThreadsDiffer(t *testing.T) {
	p := plan(1_000_000, Uniform)
	sequence := func(thread int) (keys []int64) {
		o := p.Operations(thread, NewInserts(1_000_000))
		for range 20 {
			keys = append(keys, o.Next().Record)
		}
		return keys
	}
	if !slices.Equal(sequence(1), sequence(1)) || slices.Equal(sequence(1), sequence(2)) {
		t.Error("the operations of a thread do not follow from its number")
	}
}

// The hash is FNV-1a of the number's bytes, by the standard library's own, and makes
// the keys that YCSB itself has for its first records.
func TestHash(t *testing.T) {
	for _, number := range []int64{0, 1, 2, 255, 256, 999_999, 1 << 40, math.MaxInt64} {
		h := fnv.New64a()
		for i := range 8 {
			h.Write([]byte{byte(number >> (8 * i))})
		}
		want := int64(h.Sum64())
		if want < 0 {
			want = -want
		}
		if got := hash(number); got != want {
			t.Errorf("hash of %d is %d, want %d", number, got, want)
		}
	}
	for number, want := range []int64{6284781860667377211, 8517097267634966620, 1820151046732198393} {
		if got := hash(int64(number)); got != want {
			t.Errorf("hash of %d is %d, in YCSB %d", number, got, want)
		}
	}
}

// Records in the middle are drawn most often, and the outer thirds as seldom as a normal
// distribution has what is beyond one of its deviations.
func TestGaussian(t *testing.T) {
	for _, records := range []int64{1, 2, 999} {
		p := plan(records, Gaussian)
		drawn := p.newKeys(0, NewInserts(records))
		random := rand.New(rand.NewPCG(1, 2))
		sum, near := 0.0, 0
		const times = 20_000
		for range times {
			key := drawn.next(random)
			if key < 0 || key >= records {
				t.Fatalf("record %d of %d", key, records)
			}
			sum += float64(key)
			if key >= records/3 && key <= 2*records/3 {
				near++
			}
		}
		if mean, middle := sum/times, float64(records-1)/2; math.Abs(mean-middle) > float64(records)/50 {
			t.Errorf("the mean of %d records is %.2f, and not %.1f", records, mean, middle)
		}
		if share := float64(near) / times; records > 2 && math.Abs(share-0.683) > 0.02 {
			t.Errorf("%.3f are within a deviation of the middle", share)
		}
	}
}
