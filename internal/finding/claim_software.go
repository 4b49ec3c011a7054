package finding

import (
	"fmt"
	"strings"

	"plimsoll/internal/claims"
	"plimsoll/internal/result"
	"plimsoll/internal/units"
)

// softwareClaims are those of SYSTOR'15, sections 3.2 and 3.3, on what software
// takes of an I/O. They need traces.
var softwareClaims = []claimRule{
	{"sw-share", "software-stack",
		"the block layer and the SATA driver were made for disks, and take long beside an SSD; NVMe's requests pass them by", softwareShare},
	{"sw-breakdown", "software-stack",
		"what application, kernel and driver take does not depend on what the drive does", softwareBreakdown},
}

// softwareShare tests software's share of a read that is alone on the drive.
func softwareShare(v *view, c claims.Claim) []claimCase {
	part := func(class string) string { return class }
	out := v.classed(c, lowLoad("RR"), part, func(c *cell) []float64 {
		s := c.span(directions[0]).parted()
		if s == nil {
			return nil
		}
		return s.values(func(b *result.Breakdown) float64 { return softwareTime(b) / b.TotalNS })
	}, signedPercent)
	for i := range out {
		out[i].grounded(directions[0])
		out[i].caveats = append(out[i].caveats, "one I/O after the other here, one a second in the paper")
	}
	return out
}

// grounded adds what traces tell, and a verdict that they do not bear is taken
// back.
func (k *claimCase) grounded(d direction) {
	s := k.evidence[0].span(d).parted()
	k.grounds = k.evidence[0].parts()
	k.caveats = appendAllNew(k.caveats, partCaveats(s)[len(marksOf(s.cell)):])
	if k.verdict != ClaimNotTestable && !s.closes() {
		k.judgement = notTestable("the parts of the trace do not close: %s", s.unclosed())
	}
}

// systorPart is one part of the paper's account. Its user time is fio's
// submission latency, its kernel time what the completion latency has beyond
// the block layer, its driver time that from the block layer to the device.
type systorPart struct {
	name, noun string // of the claim's number: "user_us"; in sentences
	write      func(float64) string
	of         func(systorTrial) float64
}

type systorTrial struct {
	slat, clat float64
	parts      *result.Breakdown
}

var belowKernel = partOf(result.PartBlock, result.PartDriver, result.PartFabric, result.PartTarget, result.PartDevice)

var systorParts = []systorPart{
	{"user_us", "user time", units.Latency, func(t systorTrial) float64 { return t.slat }},
	{"kernel_us", "kernel time", signed, func(t systorTrial) float64 { return t.clat - belowKernel(t.parts) }},
	{"driver_us", "driver time", units.Latency, func(t systorTrial) float64 { return partOf(result.PartBlock, result.PartDriver)(t.parts) }},
	{"total_us", "all software", signed, func(t systorTrial) float64 { return softwareTime(t.parts) }},
	{"device_share_", "device's share", units.Percent, func(t systorTrial) float64 { return deviceTime(t.parts) / t.parts.TotalNS }},
}

// softwareBreakdown tests the paper's account of an I/O on an NVMe drive, under
// 4 jobs of 8 I/Os in flight.
func softwareBreakdown(v *view, c claims.Claim) []claimCase {
	var out []claimCase
	for i, role := range []string{"RR", "RW"} {
		d := directions[i]
		for _, w := range v.driven() {
			if roleOf(w.load) != role || w.load.Jobs != 4 || w.load.Depth != 8 {
				continue
			}
			for _, s := range v.stacks {
				out = append(out, v.systorParts(c, s, w, d, role)...)
			}
			break
		}
	}
	return out
}

func (v *view) systorParts(c claims.Claim, s *stack, w driven, d direction, role string) (out []claimCase) {
	for _, p := range systorParts {
		name := p.name
		if strings.HasSuffix(name, "_") {
			name += strings.TrimSuffix(d.noun, "s")
		}
		part := func(class string) string {
			if class == classNVMe {
				return name
			}
			return ""
		}
		k := v.drive(c, s, w, part, func(c *cell) []float64 { return c.systor(d, p) }, p.write)
		if k == nil {
			continue
		}
		k.grounded(d)
		k.about = p.noun + " of " + role
		if k.part == "" { // one finding says that it cannot be tested
			k.about, k.measured = role, k.evidence[0].systorAccount(d)
			k.says = s.Name + " has " + k.measured
			return []claimCase{*k}
		}
		k.caveats = append(k.caveats, "as the paper counts: fio's slat is user time, and what clat has beyond the block layer kernel time")
		out = append(out, *k)
	}
	return out
}

// systor gives one part of each trial, where the trial tells it.
func (c *cell) systor(d direction, p systorPart) (out []float64) {
	s := c.span(d).parted()
	if s == nil {
		return nil
	}
	for _, t := range s.trials {
		m := d.of(t.Measurement)
		x := p.of(systorTrial{m.Submission.MeanNS, m.Completion.MeanNS, t.parts})
		if m.Completion.Count > 0 && finite(x) {
			out = append(out, x)
		}
	}
	return out
}

func (c *cell) systorAccount(d direction) string {
	var all []string
	for _, p := range systorParts {
		if values := c.systor(d, p); len(values) > 0 {
			all = append(all, fmt.Sprintf("%s %s", p.noun, newEstimate(values, p.write)))
		}
	}
	return strings.Join(all, ", ")
}
