package published

import (
	"slices"
	"strings"

	"plimsoll/internal/claims"
	"plimsoll/internal/finding/cost"
	"plimsoll/internal/finding/fact"
	"plimsoll/internal/finding/measured"
	"plimsoll/internal/result"
)

// softwareShare tests software's share of a read that is alone on the drive.
func softwareShare(v *measured.View, c claims.Claim) []claimCase {
	share := func(c *measured.Cell) []float64 {
		s := cost.SpanOf(c, cost.Directions[0]).Parted()
		if s == nil {
			return nil
		}
		return s.Values(func(b *result.Breakdown) float64 { return cost.SoftwareTime(b) / b.TotalNS })
	}
	out := classed(v, c, c.Test.Roles[0], number{sameName, share, "share"})
	for i := range out {
		out[i].grounded(cost.Directions[0])
		out[i].caveats = append(out[i].caveats, fact.Remark{Case: "caveat: one a second"})
	}
	return out
}

// grounded adds what traces tell, and a verdict that they do not bear is taken
// back.
func (k *claimCase) grounded(d cost.Direction) {
	s := cost.SpanOf(k.evidence[0], d).Parted()
	k.grounds = cost.PartsOf(k.evidence[0], "")
	for _, r := range cost.PartCaveats(s) {
		said := slices.ContainsFunc(k.caveats, func(o fact.Remark) bool { return o.Case == r.Case }) // that it was traced is
		if !said {
			k.caveats = append(k.caveats, r)
		}
	}
	if k.verdict != fact.ClaimNotTestable && !s.Closes() {
		k.judgement = notTestable("unclosed trace", s.Unclosed())
	}
}

// systorPart is one part of the paper's account. Its user time is fio's
// submission latency, its kernel time what the completion latency has beyond
// the block layer, its driver time that from the block layer to the device.
type systorPart struct {
	name, noun string // of the claim's number: "user_us"; in sentences
	quantity   string // as prose.Estimate has it
	of         func(systorTrial) float64
}

type systorTrial struct {
	slat, clat float64
	parts      *result.Breakdown
}

var belowKernel = cost.PartOf(result.PartBlock, result.PartDriver, result.PartFabric,
	result.PartTarget, result.PartDevice)

var systorParts = []systorPart{
	{"user_us", "user time", "latency", func(t systorTrial) float64 { return t.slat }},
	{"kernel_us", "kernel time", "signed", func(t systorTrial) float64 { return t.clat - belowKernel(t.parts) }},
	{"driver_us", "driver time", "latency", func(t systorTrial) float64 {
		return cost.PartOf(result.PartBlock, result.PartDriver)(t.parts)
	}},
	{"total_us", "all software", "signed", func(t systorTrial) float64 { return cost.SoftwareTime(t.parts) }},
	{"device_share_", "device's share", "share", func(t systorTrial) float64 {
		return cost.DeviceTime(t.parts) / t.parts.TotalNS
	}},
}

// account tests the paper's account of an I/O on an NVMe drive, under
// 4 jobs of 8 I/Os in flight.
func account(v *measured.View, c claims.Claim) []claimCase {
	var out []claimCase
	for i, role := range c.Test.Roles {
		d := cost.Directions[i]
		for _, w := range v.Driven() {
			if measured.RoleOf(w.Load) != role || w.Load.Jobs != 4 || w.Load.Depth != 8 {
				continue
			}
			for _, s := range subjects(v, c.Test) {
				out = append(out, systorCases(v, c, s.Stack, w, d, role)...)
			}
			break
		}
	}
	return out
}

func systorCases(
	v *measured.View, c claims.Claim, s *measured.Stack, w measured.Driven, d cost.Direction, role string,
) (out []claimCase) {
	for _, p := range systorParts {
		name := p.name
		if strings.HasSuffix(name, "_") {
			name += strings.TrimSuffix(d.Noun, "s")
		}
		part := func(class string) string {
			if class == classNVMe {
				return name
			}
			return ""
		}
		k := driveCase(v, c, s, w, number{
			part: part, quantity: p.quantity, values: func(c *measured.Cell) []float64 { return systorOf(c, d, p) },
		})
		if k == nil {
			continue
		}
		k.grounded(d)
		k.about = p.noun + " of " + role
		if k.part == "" { // one finding says that it cannot be tested
			k.about, k.measured = role, fact.Remark{Case: "has parts", Facts: systorAccount(k.evidence[0], d)}
			return []claimCase{*k}
		}
		k.caveats = append(k.caveats, fact.Remark{Case: "caveat: as the paper counts"})
		out = append(out, *k)
	}
	return out
}

// systorOf returns one part of each trial, where the trial tells it.
func systorOf(c *measured.Cell, d cost.Direction, p systorPart) (out []float64) {
	s := cost.SpanOf(c, d).Parted()
	if s == nil {
		return nil
	}
	for _, t := range s.Trials {
		m := t.Measured().Operation(d.Operation)
		x := p.of(systorTrial{m.Latency[result.Submission].MeanNS, m.Latency[result.Completion].MeanNS, t.Parts})
		if m.Latency[result.Completion].Count > 0 && measured.Finite(x) {
			out = append(out, x)
		}
	}
	return out
}

// HasParts is what was measured of the parts of a stack's I/Os.
type HasParts struct {
	Stack string    `json:"stack"`
	Parts []HasPart `json:"parts"`
}

// HasPart is one of them.
type HasPart struct {
	Name     string        `json:"name"`
	Quantity string        `json:"quantity"` // as prose.Estimate has it
	Value    fact.Estimate `json:"value"`
}

func systorAccount(c *measured.Cell, d cost.Direction) HasParts {
	all := HasParts{Stack: c.Stack.Name}
	for _, p := range systorParts {
		if values := systorOf(c, d, p); len(values) > 0 {
			all.Parts = append(all.Parts, HasPart{p.noun, p.quantity, measured.Estimate(values)})
		}
	}
	return all
}
