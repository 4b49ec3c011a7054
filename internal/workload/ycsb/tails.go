package ycsb

import "plimsoll/internal/result/hist"

// maxTails bounds the number of intervals with latencies: over a longer time, neighbouring ones are merged.
const maxTails = 64

// tails are the latencies of an open loop over time. The zero value has none.
type tails struct {
	perInterval int    // lines in an interval; 0 before the first
	whole       []tail // intervals
	last        tail   // that lines are added to
	lines       int    // in last
}

// tail is all latencies of an interval.
type tail struct {
	seconds float64
	total   Latencies
}

func (t *tail) add(other *tail) {
	t.seconds += other.seconds
	t.total.add(&other.total)
}

// add adds the latencies of one sample.
func (t *tails) add(l *Line) {
	t.perInterval = max(1, t.perInterval)
	sample := tail{seconds: l.Seconds}
	for i := range l.Operations {
		sample.total.add(&l.Operations[i].Total)
	}
	t.last.add(&sample)
	t.lines++
	if t.lines < t.perInterval {
		return
	}
	t.whole, t.last, t.lines = append(t.whole, t.last), tail{}, 0
	if len(t.whole) < maxTails {
		return
	}
	for i := range maxTails / 2 {
		joined := t.whole[2*i]
		joined.add(&t.whole[2*i+1])
		t.whole[i] = joined
	}
	t.whole, t.perInterval = t.whole[:maxTails/2], 2*t.perInterval
}

// percentiles returns the 99th percentile of each whole interval in ns, 0 for one in which
// nothing was completed, and how long they are on average.
func (t *tails) percentiles() (ns []float64, seconds float64) {
	for i := range t.whole {
		p99, _ := hist.Percentile(t.whole[i].total.histogram().Bins, 99)
		ns = append(ns, float64(p99))
		seconds += t.whole[i].seconds
	}
	if len(ns) == 0 {
		return nil, 0
	}
	return ns, seconds / float64(len(ns))
}
