package headroom

import (
	"math"
	"math/rand/v2"
)

// Enough is a provisioned amount that would have been enough in a share of the intervals, and what it would have cost.
type Enough struct {
	Subject  string   `json:"subject"` // the drive, the host, or the service
	Drive    string   `json:"drive,omitempty"`
	Resource Resource `json:"resource"`
	Share    float64  `json:"share"` // of intervals
	// Given reports that Value is the capacity that was given: Share is of the intervals that do not exceed it.
	Given bool `json:"given,omitempty"`
	// Value is nil if the recording is too short: by MoreSeconds.
	Value       *float64 `json:"value"`
	MoreSeconds float64  `json:"more_seconds,omitempty"`
	Replay      *Replay  `json:"replay,omitempty"` // of rates
}

// Replay is what recorded arrivals would have met at a limit on their rate. A request waits until all before it have
// had their share of the limit; its own service is not in it. Within an interval, arrivals are taken as independent of
// each other; Evenly and AtOnce are what it would be if they came at a steady pace, or all at the interval's begin.
type Replay struct {
	Limit float64 `json:"limit"` // per second
	// Delayed is the share of operations, or bytes, that wait for more than 10 ms.
	Delayed       float64 `json:"delayed_share"`
	DelayedEvenly float64 `json:"delayed_share_evenly"`
	DelayedAtOnce float64 `json:"delayed_share_at_once"`
	// Longest is the longest wait, and LongestBacklog the longest time in which something waited, in seconds.
	Longest        float64 `json:"longest_wait_seconds"`
	LongestBacklog float64 `json:"longest_backlog_seconds"`
}

// delayed is the wait from which an operation counts as delayed, in seconds.
const delayed = 0.010

// replay sends arrivals per second through a limit. unit is the size of an arrival in the same unit: 1 for operations,
// the mean request for bytes.
func replay(rates, seconds []float32, limit, unit float64, seed uint64) Replay {
	r := Replay{Limit: limit}
	random := rand.New(rand.NewPCG(seed, 0x7265706c))
	var total float64
	arrivals := 0.0
	for i, rate := range rates {
		if rate > 0 {
			arrivals += float64(rate) * float64(seconds[i]) / unit
		}
	}
	single := arrivals <= mostArrivals
	var evenly, atOnce, independent queue
	for i, rate := range rates {
		length := float64(seconds[i])
		amount := float64(rate) * length
		if !(amount > 0) {
			amount = 0
		}
		total += amount
		evenly.steady(amount, length, limit)
		atOnce.burst(amount, limit)
		atOnce.steady(0, length, limit)
		independent.independent(amount, length, limit, unit, single, random)
	}
	if total > 0 {
		r.Delayed, r.DelayedEvenly, r.DelayedAtOnce = independent.late/total, evenly.late/total, atOnce.late/total
	}
	r.Longest, r.LongestBacklog = independent.longest, independent.longestBacklog
	return r
}

// queue is what waits at a limit.
type queue struct {
	backlog float64
	late    float64 // that waited for more than delayed
	longest float64 // wait, in seconds

	waiting        float64 // seconds since nothing waited
	longestBacklog float64

	gaps []float64 // between arrivals of an interval
}

// steady lets an amount arrive at a steady pace.
func (q *queue) steady(amount, length, limit float64) {
	if length <= 0 {
		return
	}
	pace := amount / length
	slope := pace - limit
	end := q.backlog + slope*length
	lateAbove := delayed * limit
	switch {
	case slope == 0:
		if q.backlog > lateAbove {
			q.late += amount
		}
	case slope > 0: // it grows
		from := min(max((lateAbove-q.backlog)/slope, 0), length)
		q.late += pace * (length - from)
	default:
		until := min(max((q.backlog-lateAbove)/-slope, 0), length)
		q.late += pace * until
	}
	if amount > 0 {
		q.longest = max(q.longest, max(q.backlog, end)/limit)
	}
	switch {
	case end > 0:
		q.waiting += length
	case slope < 0:
		q.waiting += min(length, q.backlog/-slope)
	}
	q.longestBacklog = max(q.longestBacklog, q.waiting)
	q.backlog = max(0, end)
	if q.backlog == 0 {
		q.waiting = 0
	}
}

// burst lets an amount arrive at once.
func (q *queue) burst(amount, limit float64) {
	if amount <= 0 {
		return
	}
	end := q.backlog + amount
	q.late += min(amount, max(0, end-delayed*limit))
	q.backlog = end
	q.longest = max(q.longest, end/limit)
}

// slice is a part of an interval in which independent arrivals are steady: a tenth of what counts as delayed.
const slice = delayed / 10

// independent lets an amount arrive as a Poisson process of arrivals of that size.
func (q *queue) independent(amount, length, limit, unit float64, single bool, random *rand.Rand) {
	// An interval in which chance makes next to nothing wait is passed over: at a load, the wait exceeds x services with
	// the probability exp(-2 x (1-load)/load), in heavy traffic (Kingman, Proc. Cambridge Phil. Soc. 57, 1961).
	load := amount / length / limit
	if q.backlog == 0 && (load == 0 || load < 1 && 2*delayed*limit/unit*(1-load)/load > negligible) {
		return
	}
	if single {
		q.arriveSingly(amount, length, limit, unit, random)
		return
	}
	parts := max(1, int(math.Round(length/slice)))
	part := length / float64(parts)
	left := amount
	for i := range parts {
		if left <= 0 {
			q.steady(0, part*float64(parts-i), limit)
			return
		}
		// The number of the interval is known: each part has a binomial share of what is left.
		got := left
		if i < parts-1 {
			got = min(left, unit*binomial(left/unit, 1/float64(parts-i), random))
		}
		left -= got
		q.steady(got, part, limit)
	}
}

// negligible is the exponent of a probability that counts for nothing: one in 100,000.
const negligible = 11.5

// mostArrivals is up to how many arrivals each is drawn on its own. Of more, a slice has many, and they are steady in
// it.
const mostArrivals = 5_000_000

// one lets each arrival of an interval come at a time of its own: the times of a Poisson process of which the number is
// known are those of as many independent uniform ones (Ross, Stochastic Processes, 1996, theorem 2.3.1).
func (q *queue) arriveSingly(amount, length, limit, unit float64, random *rand.Rand) {
	n := int(math.Floor(amount/unit + random.Float64()))
	if n == 0 {
		q.steady(0, length, limit)
		return
	}
	size := amount / float64(n)
	gaps := q.gaps[:0]
	sum := random.ExpFloat64() // after the last
	for range n {
		g := random.ExpFloat64()
		gaps = append(gaps, g)
		sum += g
	}
	q.gaps = gaps
	scale, passed := length/sum, 0.0
	for _, g := range gaps {
		g *= scale
		passed += g
		q.steady(0, g, limit)
		if q.backlog > delayed*limit {
			q.late += size
		}
		q.longest = max(q.longest, q.backlog/limit)
		q.backlog += size
	}
	q.steady(0, max(0, length-passed), limit)
}

// binomial draws the number of n that fall into a share p, by the normal distribution if that is far from both ends.
func binomial(n, p float64, random *rand.Rand) float64 {
	mean := n * p
	if mean > 20 && n*(1-p) > 20 {
		return max(0, math.Round(mean+math.Sqrt(mean*(1-p))*random.NormFloat64()))
	}
	if n <= 64 {
		hits := 0.0
		for range int(math.Round(n)) {
			if random.Float64() < p {
				hits++
			}
		}
		return hits
	}
	// Poisson, by products of uniform numbers (Knuth, The Art of Computer Programming 2, 3.4.1).
	limit, product, hits := math.Exp(-mean), random.Float64(), 0.0
	for product > limit {
		hits++
		product *= random.Float64()
	}
	return min(hits, n)
}
