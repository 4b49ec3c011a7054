package finding

import (
	"fmt"
	"slices"
	"strings"

	"plimsoll/internal/claims"
	"plimsoll/internal/result"
)

// The classes of devices that SYSTOR'15 compares, as claims name them.
const (
	classDisk = "hdd"
	classSATA = "sata_ssd"
	classNVMe = "nvme"
)

// drives are what the paper measured of each class.
var drives = map[string]string{
	classDisk: "a SAS disk of 15,000 rpm",
	classSATA: "a Samsung 843 Pro",
	classNVMe: "a Samsung XS1715",
}

// classOf tells of what class the one device of a bare stack is; why is the
// reason when it is of none.
func (v *view) classOf(s *stack) (class, why string) {
	if slices.Contains(s.Marks, result.MarkLab) {
		return "", "the drives of a lab are emulated, and none of their numbers is a drive's: measure on real hardware"
	}
	source := s.line.Nodes[0]
	if source.Name == nodeLoop {
		return "", fmt.Sprintf("%s is a loop device, a file and no drive of any class: name drives with --on", s.Name)
	}
	i := slices.IndexFunc(s.Devices, func(d result.Device) bool { return d.Role == roleBottom })
	if i < 0 {
		return "", fmt.Sprintf("nothing is known of the device of %s", s.Name)
	}
	name := s.Devices[i].Name
	info := v.infoOf(name)
	for _, word := range []string{"QEMU", "Virtual", "VBOX", "Elastic Block Store", "PersistentDisk"} {
		if info != nil && strings.Contains(strings.ToLower(info.Model), strings.ToLower(word)) {
			return "", fmt.Sprintf("%s, a %s, is what a hypervisor makes of some storage, and no drive of a class", name, info.Model)
		}
	}
	switch {
	case strings.HasPrefix(name, "nvme"):
		return classNVMe, ""
	case !strings.HasPrefix(name, "sd"):
		return "", name + " is neither an NVMe drive nor a SATA or SAS one"
	case info == nil:
		return "", fmt.Sprintf("the run does not tell whether %s rotates", name)
	case info.Rotational:
		return classDisk, ""
	}
	return classSATA, ""
}

// infoOf gives what is known of a device of the host, or nil.
func (v *view) infoOf(name string) *result.DeviceInfo {
	for i := range v.run.Environment.Devices {
		if d := &v.run.Environment.Devices[i]; d.Name == name {
			return d
		}
	}
	return nil
}

// model is what a device of a class is called here.
func (v *view) model(s *stack) string {
	for _, d := range s.Devices {
		if info := v.infoOf(d.Name); d.Role == roleBottom && info != nil && info.Model != "" {
			return info.Model
		}
	}
	return "this drive"
}

// classed tests a claim with a number for each class on the bare devices of the
// run. part names the number of a class, values gives one value a trial.
func (v *view) classed(c claims.Claim, w wanted, part func(class string) string, values func(*cell) []float64, write func(float64) string) []claimCase {
	d, _, ok := v.workload(w)
	if !ok {
		return nil
	}
	var out []claimCase
	for _, s := range v.stacks {
		if k := v.drive(c, s, d, part, values, write); k != nil {
			out = append(out, *k)
		}
	}
	return out
}

// drive tests a claim on one stack under one workload; nil when the claim is
// about no such stack, or nothing of it was measured.
func (v *view) drive(c claims.Claim, s *stack, d driven, part func(class string) string, values func(*cell) []float64, write func(float64) string) *claimCase {
	if !bare(s.line) || !onDevice(s.line) || !direct(s.line) || len(s.line.Sources()) != 1 {
		return nil
	}
	of := v.cell(s.Name, d.name)
	if of == nil {
		return nil // it is among what is missing
	}
	measured := values(of)
	if len(measured) == 0 {
		return nil
	}
	k := &claimCase{stacks: []string{s.Name}, workload: d.name, evidence: []*cell{of}, caveats: of.traced()}
	m := newEstimate(measured, write)
	k.measured = m.String()
	k.says = s.Name + " has " + k.measured
	class, why := v.classOf(s)
	unreal := unfit(of)
	if class != "" {
		if k.part = part(class); !has(c, k.part) {
			class, why, k.part = "", fmt.Sprintf("the claim is about no device such as %s, %s", s.Name, strings.ReplaceAll(class, "_", " ")), ""
		} else {
			k.about = strings.ReplaceAll(class, "_", " ")
			k.caveats = append(k.caveats, v.model(s)+" here, "+drives[class]+" in the paper")
		}
	}
	switch {
	case class == "":
		k.judgement = notTestable("%s", why)
	case unreal != "":
		k.judgement = notTestable("%s", unreal)
	default:
		k.judgement = judgeAbsolute(inBase(narrowed(c, k.part)), m.interval, write)
	}
	return k
}

func has(c claims.Claim, part string) bool {
	return slices.ContainsFunc(c.Value.Parts, func(p claims.Part) bool { return p.Name == part })
}

// inBase gives a claim in the units of measurements: latencies in ns.
func inBase(c claims.Claim) claims.Claim {
	scale, ok := map[string]float64{"us": 1e3, "ms": 1e6}[c.Unit]
	if !ok {
		return c
	}
	c.Value = &claims.Value{Low: c.Value.Low * scale, High: c.Value.High * scale}
	c.Tolerance *= scale
	return c
}
