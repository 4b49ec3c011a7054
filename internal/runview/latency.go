package runview

import (
	"plimsoll/internal/result"
)

// Latency is mean latencies over all trials, in ns.
type Latency struct{ Slat, Clat, Total float64 }

// Latencies returns the means of both directions. Means of parts are weighted
// by the number of all I/Os, so that they add up.
func (c *Cell) Latencies() (Latency, bool) {
	s := c.Merge(result.Submission)
	cl := c.Merge(result.Completion)
	l := c.Merge(result.Total)
	if l.Count == 0 {
		return Latency{}, false
	}
	out := Latency{
		Slat: s.MeanNS * float64(s.Count) / float64(l.Count),
		Clat: cl.MeanNS * float64(cl.Count) / float64(l.Count), Total: l.MeanNS,
	}
	return out, Finite(out.Slat) && Finite(out.Clat) && Finite(out.Total) && out.Total > 0
}

// MeanLatencies are the mean total latencies of the setups, in ns.
func (c *Cell) MeanLatencies() []float64 { return c.Sample(MeanLatency).Values() }
