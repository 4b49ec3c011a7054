package published

import (
	"slices"
	"strings"

	"plimsoll/internal/fact"
	"plimsoll/internal/fact/threshold"
	"plimsoll/internal/finding/cost"
	"plimsoll/internal/finding/prose"
	"plimsoll/internal/finding/published/claims"
	"plimsoll/internal/result"
	"plimsoll/internal/runview"
)

// number is a number of a claim about bare devices, and what of them is held against it.
type number struct {
	name     func(class string) string // in the claim, of a class of devices; nil where it is of any
	noun     string                    // "user time"; "" where the claim is of nothing else
	quantity string                    // as prose.Estimate has it
	values   func(*runview.Cell) []float64
	caveat   func(runview.Driven) Reason
	traced   *cost.Direction // whose traces bear it; nil for none
}

// shares tests the shares of latencies, and other numbers, of bare devices under a workload of
// each role.
func shares(v *runview.View, c claims.Claim) (out []claimCase) {
	for i, role := range c.Test.Roles {
		loads := workloadsOf(v, c.Test, role)
		for _, s := range subjects(v, c.Test) {
			var parts []claimCase
			for _, n := range numbersOf(c, role, i) {
				k := n.best(v, c, s.Stack, loads)
				if k == nil && n.name == nil && len(loads) > 0 {
					k = n.unmeasured(v, s.Stack, loads[0])
				}
				if k == nil {
					continue
				}
				if c.Test.Metric == claims.TotalLatency {
					k.about = strings.TrimSuffix(role+", "+k.about, ", ")
				}
				if n.noun != "" && k.part == "" { // one finding says that it cannot be tested
					k.about = role
					k.setMeasuredParts(c, role, i)
					parts = []claimCase{*k}
					break
				}
				if n.noun != "" {
					k.about = n.noun + " of " + role
				}
				parts = append(parts, *k)
			}
			out = append(out, parts...)
		}
	}
	return out
}

// workloadsOf are the workloads of a role that a number may be of.
func workloadsOf(v *runview.View, t *claims.Test, role string) (out []runview.Driven) {
	if t.Metric != claims.HighestRate && t.Metric != claims.SoftwareParts {
		if w := workloadOf(v, t.Load, t.Jobs, role); w.found {
			out = append(out, w.Driven)
		}
		return out
	}
	for _, d := range v.Driven() {
		switch {
		case runview.RoleOf(d.Load) != role:
		case t.Metric == claims.HighestRate && d.Load.InFlight() >= threshold.SaturatingInFlight:
			out = append(out, d)
		case t.Metric == claims.SoftwareParts && len(out) == 0 && d.Load.Jobs == 4 && d.Load.Depth == 8:
			out = append(out, d)
		}
	}
	return out
}

// numbersOf are the numbers that a claim has for one of its roles.
func numbersOf(c claims.Claim, role string, directionIndex int) []number {
	class := func(class string) string { return class }
	alone := func(runview.Driven) Reason {
		return newReason("caveat: one a second", "one I/O after the other here, one a second in the paper")
	}
	direction := &cost.Directions[directionIndex]
	switch c.Test.Metric {
	case claims.SubmissionShare:
		return []number{{quantity: "share", values: submission}}
	case claims.HighestRate:
		return []number{{name: class, quantity: "iops", values: func(c *runview.Cell) []float64 { return c.Rates.Values() },
			caveat: func(d runview.Driven) Reason {
				return newReason("caveat: how many", "%s here; the paper does not say how many", loadText(d.Load))
			}}}
	case claims.SoftwareShare:
		return []number{{name: class, quantity: "share", traced: direction, caveat: alone, values: func(c *runview.Cell) []float64 {
			s := cost.SpanOf(c, *direction).Parted()
			if s == nil {
				return nil
			}
			return s.Values(func(b *result.Breakdown) float64 { return cost.SoftwareTime(b) / b.TotalNS })
		}}}
	case claims.SoftwareParts:
		return softwareParts(direction)
	}
	return []number{{quantity: "latency", values: (*runview.Cell).MeanLatencies, caveat: alone, name: func(class string) string {
		kind, _, _ := strings.Cut(class, "_")
		named := func(p claims.Part) bool { return partName(p.Name) == kind+" "+strings.ToLower(role) }
		if i := slices.IndexFunc(c.Value.Parts, named); i >= 0 {
			return c.Value.Parts[i].Name
		}
		return ""
	}}}
}

// submission is the share of submission in the latency of each trial, of all operations.
func submission(c *runview.Cell) (out []float64) {
	for _, t := range c.Trials {
		sum := func(stage result.Stage) (ns float64) {
			for _, o := range c.MeasuredOf(t).Operations {
				if l := o.Latency[stage]; l.Count > 0 {
					ns += l.MeanNS * float64(l.Count)
				}
			}
			return ns
		}
		if s := sum(result.Submission); s > 0 {
			if share := s / sum(result.Total); runview.Finite(share) && share <= 1 {
				out = append(out, share)
			}
		}
	}
	return out
}

// softwareParts are the parts of SYSTOR'15's account. Its user time is fio's
// submission latency, its kernel time what the completion latency has beyond
// the block layer, its driver time that from the block layer to the device.
func softwareParts(d *cost.Direction) (numbers []number) {
	belowFile := cost.PartOf(result.PartBlock, result.PartDriver, result.PartFabric, result.PartTarget, result.PartDevice)
	driver := cost.PartOf(result.PartBlock, result.PartDriver)
	for _, p := range []struct {
		name, noun, quantity string
		time                 func(slat, clat float64, parts *result.Breakdown) float64
	}{
		{"user_us", "user time", "latency", func(slat, _ float64, _ *result.Breakdown) float64 { return slat }},
		{"kernel_us", "kernel time", "signed", func(_, clat float64, b *result.Breakdown) float64 {
			return clat - belowFile(b)
		}},
		{"driver_us", "driver time", "latency", func(_, _ float64, b *result.Breakdown) float64 { return driver(b) }},
		{"total_us", "all software", "signed", func(_, _ float64, b *result.Breakdown) float64 { return cost.SoftwareTime(b) }},
		{"device_share_" + strings.TrimSuffix(d.Noun, "s"), "device's share", "share",
			func(_, _ float64, b *result.Breakdown) float64 { return cost.DeviceTime(b) / b.TotalNS }},
	} {
		numbers = append(numbers, number{
			noun: p.noun, quantity: p.quantity, traced: d,
			name: func(class string) string {
				if class == classNVMe {
					return p.name
				}
				return ""
			},
			caveat: func(runview.Driven) Reason {
				return newReason("caveat: as the paper counts",
					"as the paper counts: fio's slat is user time, and what clat has beyond the block layer kernel time")
			},
			values: func(c *runview.Cell) (out []float64) {
				s := cost.SpanOf(c, *d).Parted()
				if s == nil {
					return nil
				}
				for _, t := range s.Trials {
					l := t.Measured().Operation(d.Operation).Latency
					x := p.time(l[result.Submission].MeanNS, l[result.Completion].MeanNS, t.Parts)
					if l[result.Completion].Count > 0 && runview.Finite(x) {
						out = append(out, x)
					}
				}
				return out
			},
		})
	}
	return numbers
}

// setMeasuredParts sets all numbers of the device that the case is about.
func (k *claimCase) setMeasuredParts(c claims.Claim, role string, directionIndex int) {
	var parts []string
	for _, n := range numbersOf(c, role, directionIndex) {
		if values := n.values(k.evidence[0]); len(values) > 0 {
			parts = append(parts, n.noun+" "+prose.Estimate(n.quantity, runview.Estimate(values)))
		}
	}
	k.setMeasured("has parts", strings.Join(parts, ", "), "%s has %s", k.stacks[0], strings.Join(parts, ", "))
}

// best tests a number on a stack, under that of some workloads under which its rate is highest;
// nil when the claim is about no such stack, or nothing of it was measured: it is among what is missing.
func (n number) best(v *runview.View, c claims.Claim, s *runview.Stack, loads []runview.Driven) (best *claimCase) {
	for _, d := range loads {
		cell := v.Cell(s.Name, d.Name)
		if cell == nil || n.name != nil && len(s.Parsed.Sources()) != 1 ||
			best != nil && cell.Point.Median <= best.evidence[0].Point.Median {
			continue
		}
		if values := n.values(cell); len(values) > 0 {
			best = &claimCase{stacks: []string{s.Name}, workload: d.Name, evidence: []*runview.Cell{cell}}
			n.test(v, c, best, runview.Estimate(values))
			if n.caveat != nil && (n.noun == "" || best.part != "") {
				best.caveats = append(best.caveats, n.caveat(d))
			}
		}
	}
	return best
}

// unmeasured says why nothing was measured of a stack that the claim is about.
func (n number) unmeasured(v *runview.View, s *runview.Stack, d runview.Driven) *claimCase {
	k := &claimCase{stacks: []string{s.Name}, workload: d.Name}
	if k.take(v, runview.CellKey{Stack: s.Name, Workload: d.Name}) {
		k.judgement = notTestable("no submission", "no trial of %s shows how long submission takes", s.Name)
	}
	return k
}

// test holds what was measured of a stack against the number.
func (n number) test(v *runview.View, c claims.Claim, k *claimCase, e fact.Estimate) {
	cell := k.evidence[0]
	s := cell.Stack
	says := prose.Estimate(n.quantity, e)
	if n.quantity == "iops" {
		says += " IOPS"
	}
	k.setMeasured("has", says, "%s has %s", s.Name, says)
	k.measured.Estimate = &e
	var untestable *Reason // why the claim is about no such device
	if n.name == nil {
		if l, ok := cell.Latencies(); ok {
			k.grounds = []Reason{newReason("takes", "an I/O takes %s on %s, on average.", latencyText(l), s.Name)}
			k.grounds = append(k.grounds, accounts(cost.PartsOf(cell, ""))...)
		}
		if slices.Contains(s.Marks, result.MarkLoop) {
			// A share is no ratio of two stacks, in which a loop device cancels out.
			why := newReason("loop adds", "%s is a loop device, which adds a thread and a file system to completion: name a block device",
				s.Name)
			untestable = &why
		}
	} else {
		k.caveats = accounts(cost.TracedCaveat(cell))
		k.grounds = accounts(cost.PartsOf(cell, ""))
		untestable = n.classed(v, &c, k, s)
	}
	switch why := runview.Unfit(cell); {
	case n.name != nil && untestable != nil:
		k.judgement = judgement{fact.ClaimNotTestable, *untestable}
	case why != nil:
		k.judgement = unfit(why)
	case untestable != nil:
		k.judgement = judgement{fact.ClaimNotTestable, *untestable}
	default:
		k.judgement = judgeAbsolute(c, e, n.quantity)
	}
	if n.traced != nil { // a verdict that traces do not bear is taken back
		span := cost.SpanOf(cell, *n.traced).Parted()
		for _, r := range accounts(cost.PartCaveats(span)) {
			if !slices.ContainsFunc(k.caveats, func(o Reason) bool { return o.Case == r.Case }) { // that it was traced is
				k.caveats = append(k.caveats, r)
			}
		}
		if k.verdict != fact.ClaimNotTestable && !span.Closes() {
			k.judgement = notTestable("unclosed trace", "the parts of the trace do not close: %s", span.Unclosed())
		}
	}
}

// classed narrows a claim to its number for the class of a stack's device, or says why it has none.
func (n number) classed(v *runview.View, c *claims.Claim, k *claimCase, s *runview.Stack) (untestable *Reason) {
	class, why := classOf(v, s)
	if class == "" {
		return &why
	}
	title := strings.ReplaceAll(class, "_", " ")
	claim, ok := narrowed(*c, n.name(class))
	if !ok {
		why = newReason("other class", "the claim is about no device such as %s, %s", s.Name, title)
		return &why
	}
	*c, k.part, k.about = claim, n.name(class), title
	drive := "this drive"
	if _, info := bottomOf(v, s); info != nil && info.Model != "" {
		drive = info.Model
	}
	k.caveats = append(k.caveats, newReason("caveat: other drive", "%s here, %s in the paper", drive, papersDrive[class]))
	return nil
}

// The classes of devices that SYSTOR'15 compares, as claims name them.
const (
	classDisk = "hdd"
	classSATA = "sata_ssd"
	classNVMe = "nvme"
)

var papersDrive = map[string]string{
	classDisk: "a SAS disk of 15,000 rpm", classSATA: "a Samsung 843 Pro", classNVMe: "a Samsung XS1715",
}

// bottomOf returns the name of the device that a stack stands on, "" for none, and what is known of it, or nil.
func bottomOf(v *runview.View, s *runview.Stack) (name string, info *result.DeviceInfo) {
	i := slices.IndexFunc(s.Devices, func(d result.Device) bool { return d.Role == runview.RoleBottom })
	if i < 0 {
		return "", nil
	}
	name = s.Devices[i].Name
	at := slices.IndexFunc(v.Run.Environment.Devices, func(d result.DeviceInfo) bool { return d.Name == name })
	if at < 0 {
		return name, nil
	}
	return name, &v.Run.Environment.Devices[at]
}

// classOf returns of what class the one device of a bare stack is; class is "" and why
// the reason when it is of none.
func classOf(v *runview.View, s *runview.Stack) (class string, why Reason) {
	name, info := bottomOf(v, s)
	switch {
	case slices.Contains(s.Marks, result.MarkLab):
		return "", newReason("emulated", "the drives of a lab are emulated, and none of their numbers is a drive's: measure on real hardware")
	case s.Parsed.Nodes[0].Name == runview.NodeLoop:
		return "", newReason("loop device", "%s is a loop device, a file and no drive of any class: name drives with --on", s.Name)
	case name == "":
		return "", newReason("unknown device", "the device of %s is not known", s.Name)
	}
	for _, word := range []string{"qemu", "virtual", "vbox", "elastic block store", "persistentdisk"} {
		if info != nil && strings.Contains(strings.ToLower(info.Model), word) {
			return "", newReason("hypervisor", "%s, a %s, is what a hypervisor makes of some storage, and no drive of a class", name, info.Model)
		}
	}
	switch {
	case strings.HasPrefix(name, "nvme"):
		return classNVMe, why
	case !strings.HasPrefix(name, "sd"):
		return "", newReason("no drive", "%s is neither an NVMe drive nor a SATA or SAS one", name)
	case info == nil:
		return "", newReason("may rotate", "the run does not show whether %s rotates", name)
	case info.Rotational:
		return classDisk, why
	}
	return classSATA, why
}
