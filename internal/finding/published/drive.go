package published

import (
	"fmt"
	"slices"
	"strings"

	"plimsoll/internal/claims"
	"plimsoll/internal/finding/cost"
	"plimsoll/internal/finding/fact"
	"plimsoll/internal/finding/measured"
	"plimsoll/internal/result"
)

// driveRate tests the highest rate that a drive reached.
func driveRate(v *measured.View, c claims.Claim) []claimCase {
	var out []claimCase
	for _, s := range subjects(v, c.Test) {
		var best *claimCase
		most := 0.0
		for _, d := range v.Driven() {
			if measured.RoleOf(d.Load) != c.Test.Roles[0] || d.Load.InFlight() < measured.Saturating {
				continue
			}
			k := driveCase(v, c, s.Stack, d, number{
				part: sameName, values: func(c *measured.Cell) []float64 { return c.IOPS }, quantity: "iops",
			})
			if k == nil || best != nil && k.evidence[0].Point.Median <= most {
				continue
			}
			best, most = k, k.evidence[0].Point.Median
			best.caveats = append(best.caveats, fact.Remark{Case: "caveat: how many", Facts: loadOf(d.Load)})
			best.grounds = cost.PartsOf(best.evidence[0], "")
		}
		if best != nil {
			out = append(out, *best)
		}
	}
	return out
}

// driveTime tests what an I/O takes that is alone on the drive.
func driveTime(v *measured.View, c claims.Claim) []claimCase {
	var out []claimCase
	for _, role := range c.Test.Roles {
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
		for _, k := range classed(v, c, role, number{part, (*measured.Cell).MeanLatencies, "latency"}) {
			k.about = strings.TrimSuffix(role+", "+k.about, ", ")
			k.caveats = append(k.caveats, fact.Remark{Case: "caveat: one a second"})
			k.grounds = cost.PartsOf(k.evidence[0], "")
			out = append(out, k)
		}
	}
	return out
}

// latencyName is how dev-latency calls a class.
var latencyName = map[string]string{classDisk: "hdd", classSATA: "sata", classNVMe: "nvme"}

// The classes of devices that SYSTOR'15 compares, as claims name them.
const (
	classDisk = "hdd"
	classSATA = "sata_ssd"
	classNVMe = "nvme"
)

// classOf returns of what class the one device of a bare stack is; class is "" and why
// the reason when it is of none.
func classOf(v *measured.View, s *measured.Stack) (class string, why fact.Remark) {
	none := func(why string, d Device) (string, fact.Remark) { return "", fact.Remark{Case: why, Facts: d} }
	if slices.Contains(s.Marks, result.MarkLab) {
		return none("emulated", Device{Stack: s.Name})
	}
	source := s.Parsed.Nodes[0]
	if source.Name == measured.NodeLoop {
		return none("loop device", Device{Stack: s.Name})
	}
	i := slices.IndexFunc(s.Devices, func(d result.Device) bool { return d.Role == measured.RoleBottom })
	if i < 0 {
		return none("unknown device", Device{Stack: s.Name})
	}
	name := s.Devices[i].Name
	info := infoOf(v, name)
	for _, word := range []string{"QEMU", "Virtual", "VBOX", "Elastic Block Store", "PersistentDisk"} {
		if info != nil && strings.Contains(strings.ToLower(info.Model), strings.ToLower(word)) {
			return none("hypervisor", Device{Stack: s.Name, Name: name, Model: info.Model})
		}
	}
	switch {
	case strings.HasPrefix(name, "nvme"):
		return classNVMe, why
	case !strings.HasPrefix(name, "sd"):
		return none("no drive", Device{Stack: s.Name, Name: name})
	case info == nil:
		return none("may rotate", Device{Stack: s.Name, Name: name})
	case info.Rotational:
		return classDisk, why
	}
	return classSATA, why
}

// Device is what a stack stands on, where that is no drive of a class.
type Device struct {
	Stack string `json:"stack"`
	Name  string `json:"name,omitempty"`
	Model string `json:"model,omitempty"`
	Class string `json:"class,omitempty"` // which the claim is not about
}

// infoOf returns what is known of a device of the host, or nil.
func infoOf(v *measured.View, name string) *result.DeviceInfo {
	for i := range v.Run.Environment.Devices {
		if d := &v.Run.Environment.Devices[i]; d.Name == name {
			return d
		}
	}
	return nil
}

// modelOf is what the device of a stack is called here; "" when that is not known.
func modelOf(v *measured.View, s *measured.Stack) string {
	for _, d := range s.Devices {
		if info := infoOf(v, d.Name); d.Role == measured.RoleBottom && info != nil {
			return info.Model
		}
	}
	return ""
}

// number is one of the numbers that a claim has for classes of devices.
type number struct {
	part     func(class string) string      // its name in the claim
	values   func(*measured.Cell) []float64 // that were measured, one a bring-up
	quantity string                         // what they are, as prose.Estimate has it
}

// sameName is the name of a number that is called after its class.
func sameName(class string) string { return class }

// classed tests a claim with a number for each class on the bare devices of the
// run.
func classed(v *measured.View, c claims.Claim, role string, n number) []claimCase {
	d, _, ok := nearest(v, wantedLoad(c.Test, role))
	if !ok {
		return nil
	}
	var out []claimCase
	for _, s := range subjects(v, c.Test) {
		if k := driveCase(v, c, s.Stack, d, n); k != nil {
			out = append(out, *k)
		}
	}
	return out
}

// driveCase tests a claim on one stack under one workload; nil when the claim is
// about no such stack, or nothing of it was measured.
func driveCase(v *measured.View, c claims.Claim, s *measured.Stack, d measured.Driven, n number) *claimCase {
	if len(s.Parsed.Sources()) != 1 {
		return nil
	}
	of := v.Cell(s.Name, d.Name)
	if of == nil {
		return nil // it is among what is missing
	}
	numbers := n.values(of)
	if len(numbers) == 0 {
		return nil
	}
	k := &claimCase{
		stacks: []string{s.Name}, workload: d.Name, evidence: []*measured.Cell{of}, caveats: cost.TracedCaveat(of),
	}
	estimate := measured.Estimate(numbers)
	k.measured = fact.Remark{Case: "has", Facts: Has{s.Name, n.quantity, estimate}}
	class, why := classOf(v, s)
	if class != "" {
		k.part = n.part(class)
		if !has(c, k.part) {
			why = fact.Remark{Case: "other class", Facts: Device{Stack: s.Name, Class: strings.ReplaceAll(class, "_", " ")}}
			class, k.part = "", ""
		} else {
			k.about = strings.ReplaceAll(class, "_", " ")
			here := Device{Stack: s.Name, Model: modelOf(v, s), Class: class}
			k.caveats = append(k.caveats, fact.Remark{Case: "caveat: other drive", Facts: here})
		}
	}
	unreal := measured.Unfit(of)
	switch {
	case class == "":
		k.judgement = judgement{fact.ClaimNotTestable, why}
	case unreal != nil:
		k.judgement = notTestable("unfit", unreal)
	default:
		k.judgement = judgeAbsolute(inBase(narrowed(c, k.part)), estimate, n.quantity)
	}
	return k
}

// Has is what was measured of a stack.
type Has struct {
	Stack    string        `json:"stack"`
	Quantity string        `json:"quantity"` // as prose.Estimate has it
	Value    fact.Estimate `json:"value"`
}

func has(c claims.Claim, part string) bool {
	return slices.ContainsFunc(c.Value.Parts, func(p claims.Part) bool { return p.Name == part })
}

// inBase returns a claim in the units of measurements: latencies in ns.
func inBase(c claims.Claim) claims.Claim {
	scale, ok := map[string]float64{"us": 1e3, "ms": 1e6}[c.Unit]
	if !ok {
		return c
	}
	c.Value = &claims.Value{Low: c.Value.Low * scale, High: c.Value.High * scale}
	c.Tolerance *= scale
	return c
}
