package headroom

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
)

// More is how many more containers of a service fit.
type More struct {
	Service string `json:"service"`
	Copies  int    `json:"copies"` // in the recording
	// Fit is how many more fit; nil if that is not known: see Unknown.
	Fit  *int `json:"fit"`
	Low  int  `json:"low"` // ends of its 95% interval
	High int  `json:"high"`
	// AtLeast reports whether the capacity that binds is only the most that was seen, so that more may fit.
	AtLeast bool `json:"at_least"`
	// InStep is how many more fit if all do the same at the same moment.
	InStep  int      `json:"in_step"`
	Binds   Resource `json:"binds,omitempty"` // "" if nothing does up to MostMore
	Drive   string   `json:"drive,omitempty"`
	Unknown string   `json:"unknown,omitempty"`
	// Missing are resources that the service's use of is not known: they may bind earlier.
	Missing []string   `json:"missing,omitempty"`
	Limits  []LimitUse `json:"limits,omitempty"`
	// Server is what its database servers did, by their counters; nil if none was asked.
	Server *ServerUse `json:"server,omitempty"`
	// Seconds is how long its copies ran in the recording, added up.
	Seconds float64 `json:"seconds"`
}

// LimitUse is the use of a limit in force by a service.
type LimitUse struct {
	Resource Resource `json:"resource"`
	Drive    string   `json:"drive,omitempty"`
	Value    float64  `json:"value"`
	Share    *float64 `json:"share"` // at the answer's quantile; nil for unknown
}

// MostMore is up to how many containers are looked for.
const MostMore = 200

// Resampling.
const (
	replicates = 200
	shifts     = 25      // of the copies, for the number itself
	mostSample = 100_000 // intervals in a replicate: a longer recording is drawn from, not repeated
	fewestRan  = 600     // seconds that a service ran: less says nothing of its peaks
	sameHour   = 1800    // seconds by which copies are shifted at most if the recording has hours
)

// fitting is a resource that more containers need: what is used of it, by one copy, and what there is.
type fitting struct {
	use      *Use
	total    []float32
	copies   [][]float32 // of each copy of the service that ran, in the intervals in which it did
	capacity Capacity
}

// moreOf returns how many more containers fit at a quantile. It sorts fits, and binding is an index of them. Demand
// with more containers is what was recorded, and for each of them what a copy of the service did at another moment,
// from the same half hour of the day if the recording has hours: stretches that follow each other, so that bursts stay
// whole.
//
// The interval is of a local block bootstrap (Paparoditis and Politis, Comptes Rendus Mathématique 335, 2002): blocks
// twice as long as the stretches in which a resource is busy are drawn from around their own time, so that the shape of
// the day stays. What was recorded and what copies do are drawn together, before copies are shifted: a service whose
// mean is known badly is known badly for all of its copies.
func moreOf(fits []fitting, q, secondsEach float64, seed uint64) (fit, low, high, inStep, binding int, ok bool) {
	if len(fits) == 0 {
		return 0, 0, 0, 0, -1, false
	}
	// What binds by means is looked at first: others are looked at only up to where it does.
	slices.SortStableFunc(fits, func(x, y fitting) int { return cmp.Compare(x.byMeans(), y.byMeans()) })
	n := len(fits[0].total)
	block := blockLength(fits, q)
	window := n / 2
	if float64(n)*secondsEach >= 4*sameHour {
		window = int(sameHour / secondsEach)
	}
	around := n
	if window < n/2 {
		around = max(2*window, 10*block)
	}
	f := &fitter{fits: fits, q: q, block: block, window: window, around: around, counts: make([]int, len(fits))}
	points := make([]int, shifts)
	for i := range points {
		points[i] = f.fit(seed+uint64(i), false, false)
	}
	slices.Sort(points)
	fit = points[len(points)/2]
	binding = slices.Index(f.counts, slices.Max(f.counts))
	if slices.Max(f.counts) == 0 {
		binding = -1
	}
	inStep = f.fit(seed, false, true)
	samples := make([]int, replicates)
	for i := range samples {
		samples[i] = f.fit(seed+1000+uint64(i), true, false)
	}
	slices.Sort(samples)
	low, high = samples[int(0.025*replicates)], samples[int(0.975*replicates)-1]
	return fit, min(low, fit), max(high, fit), min(inStep, fit), binding, true
}

// byMeans returns how many more copies fit by the means of demand.
func (f *fitting) byMeans() float64 {
	return (f.capacity.Value - mean(f.total)) / mean(f.copies[0])
}

func mean(values []float32) float64 {
	sum := 0.0
	for _, v := range values {
		sum += float64(v)
	}
	return sum / float64(len(values))
}

// blockLength returns the length of blocks, in intervals.
func blockLength(fits []fitting, q float64) int {
	n := len(fits[0].total)
	longest := math.Sqrt(float64(n))
	for _, f := range fits {
		sorted := slices.Clone(f.total)
		slices.Sort(sorted)
		longest = max(longest, 2*inflationAbove(f.total, sortedQuantile(sorted, min(q, 0.99))))
	}
	return max(1, min(int(longest), n/8))
}

// fitter counts how many more fit.
type fitter struct {
	fits   []fitting
	q      float64
	block  int
	window int   // intervals by which copies are shifted at most
	around int   // intervals around a block that one in its place is drawn from
	counts []int // how often each of fits was what bound
	sum    []float32
	drawn  [][]float32 // copies of the resource that is looked at
}

// fit returns how many more fit in all resources: of the recording as it is, or of blocks of it that are drawn.
func (f *fitter) fit(seed uint64, draw, inStep bool) int {
	n := len(f.fits[0].total)
	length := min(n, mostSample)
	blocks := (length + f.block - 1) / f.block
	random := rand.New(rand.NewPCG(seed, 0x706c696d))
	starts := make([]int, blocks)
	stretch := max(0, n-f.block)
	for b := range starts {
		starts[b] = b * f.block
		if n > length { // evenly from all of it
			starts[b] = int(float64(b) / float64(max(1, blocks-1)) * float64(stretch))
		}
		if draw {
			low, high := max(0, starts[b]-f.around), min(stretch, starts[b]+f.around)
			starts[b] = low + random.IntN(max(1, high-low+1))
		}
	}
	capacityAt := random.Float64()
	best, binds := MostMore, -1
	for i, fit := range f.fits {
		c := fit.capacity
		bound := c.Value
		if draw && c.High > c.Low && c.Low > 0 {
			bound = c.Low + capacityAt*(c.High-c.Low)
		}
		if got := f.fitOne(fit, bound, starts, length, seed, best, inStep); got < best {
			best, binds = got, i
		}
	}
	if binds >= 0 && !draw && !inStep {
		f.counts[binds]++
	}
	return best
}

// one returns how many more fit in one resource, up to most copies.
func (f *fitter) fitOne(fit fitting, capacity float64, starts []int, length int, seed uint64, bound int,
	inStep bool) int {
	n := len(fit.total)
	if cap(f.sum) < length {
		f.sum = make([]float32, length)
	}
	sum := f.sum[:length]
	limit, exceeding := float32(capacity), 0
	allowed := int((1 - f.q) * float64(length) * (1 + 1e-9))
	for i := range sum {
		from := starts[i/f.block] + i%f.block
		sum[i] = fit.total[min(from, n-1)]
		if sum[i] > limit {
			exceeding++
		}
	}
	if exceeding > allowed {
		return 0
	}
	f.draw(fit, starts, length)
	window := int(float64(f.window) * float64(length) / float64(n))
	for k := range bound {
		values := f.drawn[k%len(fit.copies)]
		random := rand.New(rand.NewPCG(seed, uint64(k)+1))
		exceeding = 0
		for from := 0; from < length; from += f.block {
			index := from
			if !inStep {
				index += random.IntN(2*window+1) - window
			}
			index = ((index % length) + length) % length
			for i := from; i < min(from+f.block, length); i++ {
				sum[i] += values[index]
				if sum[i] > limit {
					exceeding++
				}
				if index++; index == length {
					index = 0
				}
			}
		}
		if exceeding > allowed {
			return k
		}
	}
	return bound
}

// draw takes the blocks of all copies. A copy that ran for a part of the recording did the same for the rest of it.
func (f *fitter) draw(fit fitting, starts []int, length int) {
	n := len(fit.total)
	for len(f.drawn) < len(fit.copies) {
		f.drawn = append(f.drawn, make([]float32, length))
	}
	for c, values := range fit.copies {
		scale := float64(len(values)) / float64(n)
		for i := range length {
			index := starts[i/f.block] + i%f.block
			if len(values) != n {
				index = int(float64(starts[i/f.block])*scale) + i%f.block
			}
			f.drawn[c][i] = values[index%len(values)]
		}
	}
}
