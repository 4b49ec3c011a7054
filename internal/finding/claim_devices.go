package finding

import (
	"fmt"
	"strings"

	"plimsoll/internal/claims"
	"plimsoll/internal/units"
)

// saturating is how many I/Os in flight it takes at least to look for the
// maximum of a drive.
const saturating = 128

// deviceClaims are those of SYSTOR'15, section 3.3, on drives as such.
var deviceClaims = []claimRule{
	{"dev-iops", "devices",
		"an NVMe drive has no interface between it and its flash that holds it back, as SATA does, and nothing to move, as a disk has", maximumIOPS},
	{"dev-latency", "devices",
		"reads wait for the medium, while writes end in the drive's memory", lowLoadLatency},
}

// maximumIOPS tests the highest rate that a drive reached.
func maximumIOPS(v *view, c claims.Claim) []claimCase {
	var out []claimCase
	for _, s := range v.stacks {
		var best *claimCase
		most := 0.0
		for _, d := range v.driven() {
			if roleOf(d.load) != "RR" || d.load.InFlight() < saturating {
				continue
			}
			k := v.drive(c, s, d, func(class string) string { return class }, func(c *cell) []float64 { return c.iops }, units.Rate)
			if k == nil || best != nil && k.evidence[0].point.Median <= most {
				continue
			}
			k.measured, k.says = k.measured+" IOPS", k.says+" IOPS"
			best, most = k, k.evidence[0].point.Median
			best.caveats = append(best.caveats, loadText(d.load)+" here; the paper does not say how many")
			best.grounds = best.evidence[0].parts()
		}
		if best != nil {
			out = append(out, *best)
		}
	}
	return out
}

// lowLoadLatency tests what an I/O takes that is alone on the drive.
func lowLoadLatency(v *view, c claims.Claim) []claimCase {
	var out []claimCase
	for _, role := range []string{"RR", "RW"} {
		part := func(class string) string {
			for _, p := range c.Value.Parts {
				for _, unit := range []string{"us", "ms"} {
					if p.Name == fmt.Sprintf("%s_%s_%s", latencyName[class], map[string]string{"RR": "rr", "RW": "rw"}[role], unit) {
						return p.Name
					}
				}
			}
			return ""
		}
		for _, k := range v.classed(c, lowLoad(role), part, (*cell).meanLatencies, units.Latency) {
			k.about = strings.TrimSuffix(role+", "+k.about, ", ")
			k.caveats = append(k.caveats, "one I/O after the other here, one a second in the paper")
			k.grounds = k.evidence[0].parts()
			out = append(out, k)
		}
	}
	return out
}

// latencyName is how dev-latency calls a class.
var latencyName = map[string]string{classDisk: "hdd", classSATA: "sata", classNVMe: "nvme"}

// parts tells where the time of a cell's I/Os goes, when traces tell; "" when
// not.
func (c *cell) parts(where ...string) string {
	var out string
	for _, d := range directions {
		if s := c.span(d).parted(); s != nil {
			about := strings.Join(append([]string{capital(d.one), "on", c.stack.Name}, where...), " ")
			out = sentences(out, fmt.Sprintf("%s takes, traced: %s.", about, s.account()))
		}
	}
	return out
}
