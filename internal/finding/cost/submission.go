package cost

import (
	"fmt"

	"plimsoll/internal/fact"
	"plimsoll/internal/fact/threshold"
	"plimsoll/internal/result"
	"plimsoll/internal/result/hist"
	"plimsoll/internal/runview"
	"plimsoll/internal/units"
)

// Submitted has the latencies of I/Os that block in submission: means, in ns.
type Submitted struct {
	Direction    string  `json:"direction"` // reads, writes
	Share        float64 `json:"share"`     // of submission in the total
	SubmissionNS float64 `json:"submission_ns"`
	CompletionNS float64 `json:"completion_ns"`
	TotalNS      float64 `json:"total_ns"`
}

// Submission finds I/Os that block while they are submitted. Completion
// latency starts only then, and so leaves most of the wait out.
func Submission(v *runview.View) []fact.Finding {
	var out []fact.Finding
	for _, c := range v.All() {
		for _, d := range Directions {
			var slat, clat, lat []hist.Histogram
			for _, t := range c.Trials {
				dir := c.MeasuredOf(t).Operation(d.Operation)
				slat = append(slat, dir.Latency[result.Submission])
				clat = append(clat, dir.Latency[result.Completion])
				lat = append(lat, dir.Latency[result.Total])
			}
			s, cl, l := hist.Merge(slat...), hist.Merge(clat...), hist.Merge(lat...)
			if s.Count == 0 || l.Count == 0 || !(l.MeanNS > 0) {
				continue
			}
			// Of the sums, so that directions and trials weigh by their I/Os.
			share := s.MeanNS * float64(s.Count) / (l.MeanNS * float64(l.Count))
			if !(share > threshold.SubmissionShare) || !runview.Finite(share) || !runview.Finite(cl.MeanNS) {
				continue
			}
			share = min(share, 1)
			facts := Submitted{Direction: d.Noun, Share: share, SubmissionNS: s.MeanNS, CompletionNS: cl.MeanNS, TotalNS: l.MeanNS}
			out = append(out, fact.Finding{
				ID:   fmt.Sprintf("submission/%s/%s/%s", c.Stack.Name, c.Workload.Name, d.Noun),
				Case: "submission", Kind: fact.KindCaveat,
				Workload: c.Workload.Name, Stacks: []string{c.Stack.Name},
				Facts: facts, Title: facts.title(c), Why: facts.why(),
				Evidence: runview.Points(c),
				Caveats:  runview.MarksOf(c),
			})
		}
	}
	return out
}

func (s Submitted) title(c *runview.Cell) string {
	return fmt.Sprintf("%s %s block in submission: fio's clat says %s, the application waits %s: %s", c.Stack.Name, s.Direction,
		units.Latency(s.CompletionNS), units.Latency(s.TotalNS), c.Workload.Name)
}

func (s Submitted) why() string {
	return fmt.Sprintf("Submission takes %s of the total latency (means: slat %s, clat %s, lat %s). Completion latency starts only "+
		"when the kernel has taken the I/O, and leaves that wait out. Rankings and percentiles here use IOPS and total latency.",
		units.Percent(s.Share), units.Latency(s.SubmissionNS), units.Latency(s.CompletionNS), units.Latency(s.TotalNS))
}
