package fio

import (
	"fmt"
	"math"

	"go.yaml.in/yaml/v3"

	"plimsoll/internal/result"
	"plimsoll/internal/units"
	"plimsoll/internal/workload"
)

// hiddenShare is the share of requests that wait behind another of their job from which on it is noted.
const hiddenShare = 0.05

// addOpenLoop adds how well requests kept to their schedule. fio does not say when they were due. So those that were
// not done are what the rate asks for and the count lacks, but for what chance explains: three standard deviations of
// a Poisson process.
func (r reader) addOpenLoop(m *result.Measurement) {
	if r.rate == 0 || m.Seconds == 0 {
		return
	}
	done, waiting := 0.0, 0.0
	for _, o := range m.Operations {
		waiting += float64(o.Count) * o.Latency[result.Total].MeanNS / 1e9
		if o.Name != result.Fsync {
			done += float64(o.Count)
		}
	}
	due := r.rate * m.Seconds
	open := &result.OpenLoop{Rate: r.rate}
	if left := due - 3*math.Sqrt(due) - done; left > 0 {
		open.Overdue = uint64(left)
		open.BehindSeconds = left / r.rate
	}
	m.OpenLoop = open
	// Arrivals at random times see averages over time: a job is busy for that share of the requests that come.
	busy := min(1, waiting/(m.Seconds*float64(r.jobs)))
	if busy > hiddenShare {
		m.Notes = append(m.Notes, fmt.Sprintf("%s of the requests came while their job waited for another: fio counts "+
			"latency from submission, so that their wait is in no latency; use more jobs, or a lower rate", units.Percent(busy)))
	}
}

// OpenLoad is a load whose requests are due at a rate.
type OpenLoad struct {
	Rate float64 // requests per second of an instance
	// Family is equal for loads that differ only in their rate.
	Family string
}

// OpenOf returns the open loop of a workload's declaration, as a result keeps it. ok is false for a closed loop, and
// where the declaration cannot be read.
func OpenOf(declared string) (o OpenLoad, ok bool) {
	var doc yaml.Node
	err := yaml.Unmarshal([]byte(declared), &doc)
	if err != nil || len(doc.Content) != 1 || doc.Content[0].Kind != yaml.MappingNode {
		return o, false
	}
	d := decoder{p: defaults()}
	d.read(doc.Content[0])
	if !d.Good["rw"] || len(d.Problems) > 0 || d.p.Rate == 0 {
		return o, false
	}
	o.Rate = d.p.Rate
	o.Family, ok = workload.DeclaredWithout(declared, "rate")
	return o, ok
}
