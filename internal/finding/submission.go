package finding

import (
	"fmt"

	"plimsoll/internal/hist"
	"plimsoll/internal/units"
)

// submissionShare is the share of the total latency above which submission
// is what the application waits for.
const submissionShare = 0.5

// submission finds I/Os that block while they are submitted. Completion
// latency starts only then, and so leaves most of the wait out.
func submission(v *view) []Finding {
	var out []Finding
	for _, c := range v.all() {
		for _, d := range directions {
			var slat, clat, lat []hist.Histogram
			for _, t := range c.trials {
				dir := d.of(t.Measurement)
				slat, clat, lat = append(slat, dir.Submission), append(clat, dir.Completion), append(lat, dir.Total)
			}
			s, cl, l := hist.Merge(slat...), hist.Merge(clat...), hist.Merge(lat...)
			if s.Count == 0 || l.Count == 0 || !(l.MeanNS > 0) {
				continue
			}
			// Of the sums, so that directions and trials weigh by their I/Os.
			share := s.MeanNS * float64(s.Count) / (l.MeanNS * float64(l.Count))
			if !(share > submissionShare) || !finite(share) || !finite(cl.MeanNS) {
				continue
			}
			share = min(share, 1)
			out = append(out, Finding{
				ID: fmt.Sprintf("submission/%s/%s/%s", c.stack.Name, c.workload.Name, d.noun), Kind: KindCaveat,
				Workload: c.workload.Name, Stacks: []string{c.stack.Name},
				Title: fmt.Sprintf("%s %s block in submission: fio's clat says %s, the application waits %s: %s",
					c.stack.Name, d.noun, units.Latency(cl.MeanNS), units.Latency(l.MeanNS), c.workload.Name),
				Why: fmt.Sprintf("Submission takes %s of the total latency (means: slat %s, clat %s, lat %s). Completion latency starts "+
					"only when the kernel has taken the I/O, and leaves that wait out. Rankings and percentiles here use IOPS and total latency.",
					units.Percent(share), units.Latency(s.MeanNS), units.Latency(cl.MeanNS), units.Latency(l.MeanNS)),
				Evidence: points(c),
				Caveats:  marksOf(c),
			})
		}
	}
	return out
}
