package loadgen

import (
	"math/rand/v2"
	"sync"
	"time"

	"plimsoll/internal/workload/ycsb"
)

// schedule says when the operations of an open loop are to begin. Free threads take
// them in order: all together are one queue. It is safe for concurrent use.
type schedule struct {
	mu     sync.Mutex // guards random and next
	mean   float64    // ns between two
	random *rand.Rand
	next   float64 // ns since the start
	end    time.Duration
}

// arrivals is the number of the schedule among the random sequences of a seed, of
// which the threads have the first ones.
const arrivals = 1 << 62

// newSchedule returns the schedule of a plan; nil for a closed loop.
func newSchedule(p *ycsb.Plan, seed uint64) *schedule {
	if !p.Open() {
		return nil
	}
	s := &schedule{mean: float64(time.Second) / p.Rate, end: p.Ramp + p.Runtime}
	if !p.Constant {
		s.random = rand.New(rand.NewPCG(seed, arrivals))
		s.next = s.mean * s.random.ExpFloat64()
	}
	return s
}

// take returns when the next operation is to begin; false when that is not before the
// end.
func (s *schedule) take() (at time.Duration, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	at = time.Duration(s.next)
	if at >= s.end {
		return 0, false
	}
	if s.random != nil {
		s.next += s.mean * s.random.ExpFloat64()
	} else {
		s.next += s.mean
	}
	return at, true
}

// overdue returns how many operations nobody took although their time had come by
// now, about, and since when the next of them waits.
func (s *schedule) overdue(now time.Duration) (n uint64, behind time.Duration) {
	if s == nil {
		return 0, 0
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	behind = min(now, s.end) - time.Duration(s.next)
	if behind <= 0 {
		return 0, 0
	}
	return 1 + uint64(float64(behind)/s.mean), behind
}
