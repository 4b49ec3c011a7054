package finding

import (
	"fmt"
	"slices"
	"strings"

	"plimsoll/internal/claims"
	"plimsoll/internal/plural"
	"plimsoll/internal/result"
	"plimsoll/internal/stack/line"
	"plimsoll/internal/units"
	"plimsoll/internal/workload/fio"
)

const (
	nodeAufs         = "aufs"
	nodeOverlay      = "overlay"
	nodeOverlay2     = "overlay2"
	nodeDeviceMapper = "devicemapper"
)

// driverClaims are those of MSST'17, section 5.2.
var driverClaims = []claimRule{
	{"drv-order-random", "storage-drivers",
		"btrfs reads extents before data, and copies on write", orderOfDrivers},
	{"drv-btrfs-blocksize", "btrfs-blocksize",
		"btrfs reads file extents before the data, which larger blocks do less often",
		func(v *view, c claims.Claim) []claimCase {
			return curveTest{
				subject: func(s *stack) bool {
					return (hosts(s.line, nodeBtrfs) || viewed(s.line, nodeBtrfs)) && !copyOnWriteOff(s.line)
				},
				sweep: blockSizeSweep,
				place: c.Value.Low * 1024,
			}.test(v, c)
		}},
	{"drv-btrfs-nodatacow", "btrfs-cow",
		"most of what random writes lose on btrfs is the cost of copy-on-write",
		pairTest{
			loads:   []wanted{highLoad("RW", 1)},
			subject: func(_ *view, s *stack) bool { return copyOnWriteOff(s.line) },
			against: func(_ *view, s *stack) []line.Line {
				return []line.Line{with(s.line, 1, func(n line.Node) line.Node { return withoutOption(n, "nodatacow") })}
			},
		}.test},
	{"drv-loop-lvm-vs-raw", "loop-illusion", loopReason,
		pairTest{
			loads: []wanted{lowLoad("RR")},
			subject: func(_ *view, s *stack) bool {
				return viewed(s.line, nodeDeviceMapper) || bare(s.line) && cachingLoop(s.line)
			},
			against: func(_ *view, s *stack) []line.Line {
				return []line.Line{with(below(s.line, 1), 0, func(n line.Node) line.Node { return withoutOption(n, "direct-io") })}
			},
			standIn: func(s *stack) string {
				if viewed(s.line, nodeDeviceMapper) {
					return ""
				}
				return "loop(direct-io=off) for loop-lvm: a loop device that caches its file in the same way, without device mapper, thin pool and container; it tests the illusion, not the factor"
			},
			judge: judgeIllusion,
		}.test},
	{"drv-loop-lvm-vs-aufs", "", loopReason, // no engine of today has either driver
		pairTest{
			loads:   []wanted{lowLoad("RR")},
			subject: func(_ *view, s *stack) bool { return viewed(s.line, nodeDeviceMapper) },
			against: func(_ *view, s *stack) []line.Line {
				return []line.Line{topped(below(s.line, 2), nodeAufs)}
			},
			judge: judgeIllusion,
		}.test},
	{"drv-direct-lvm-slow", "storage-drivers",
		"device mapper and its thin pool are more code on the way to the device",
		pairTest{
			loads: []wanted{highLoad("RR", 1), highLoad("RW", 1)},
			subject: func(_ *view, s *stack) bool {
				_, fileSystem, view := split(s.line)
				return onDevice(s.line) && fileSystem == nil && view != nil && view.Name == nodeDeviceMapper
			},
			against: func(_ *view, s *stack) []line.Line {
				var volumes []line.Line
				for _, fileSystem := range []string{nodeXFS, nodeExt4} {
					volumes = append(volumes, topped(below(s.line, len(s.line.Nodes)-2), fileSystem, nodeVolume))
				}
				return volumes
			},
		}.test},
}

const loopReason = "the loop device under loop-lvm does not respect O_DIRECT, so that memory answers: an illusion of a better device"

// topped gives the line with more nodes on top.
func topped(l line.Line, names ...string) line.Line {
	nodes := slices.Clone(l.Nodes)
	for _, name := range names {
		nodes = append(nodes, line.Node{Name: name})
	}
	return line.Line{Nodes: nodes}
}

func copyOnWriteOff(l line.Line) bool {
	_, fileSystem, _ := split(l)
	if !onDevice(l) || fileSystem == nil || fileSystem.Name != nodeBtrfs {
		return false
	}
	_, off := fileSystem.Option("nodatacow")
	return off
}

// judgeIllusion judges a claim that a stack is faster than its device because
// memory answers. The stack itself is held against the published factor too; a
// stand-in shows whether there is such an illusion, not how large it was.
func judgeIllusion(c claims.Claim, subject, baseline *cell, e Effect) judgement {
	switch subject.source() {
	case result.SourceUnknown:
		return notTestable("%s", unfit(subject))
	case result.SourceDevice:
		return judgement{ClaimContradicted, fmt.Sprintf("there is no illusion: %s, so %s respects O_DIRECT", servedHonestly(subject), subject.stack.Name)}
	}
	if why := unfit(baseline); why != "" {
		return notTestable("%s", why)
	}
	if viewed(subject.stack.line, nodeDeviceMapper) {
		return judgeRatio(c, e)
	}
	if why := unverified(e); why != "" {
		return notTestable("memory answered (%s), but %s", served(subject), why)
	}
	if e.Ratio < 1 {
		return judgement{ClaimContradicted, fmt.Sprintf("memory answered (%s), and yet it is slower than the device (%s)", served(subject), pText(e.P))}
	}
	return judgement{ClaimConfirmed, fmt.Sprintf("the illusion is there: memory answered (%s), and seems significantly faster than the device (%s); how much faster, of other memory and another device, is not judged",
		served(subject), pText(e.P))}
}

func servedHonestly(c *cell) string {
	if c.point.Ratio == nil {
		return "the device answered"
	}
	return fmt.Sprintf("the device served %s of 100 I/Os", units.OfHundred(*c.point.Ratio))
}

// orderOfDrivers tests that aufs and overlay leave btrfs behind. The claim
// ranks drivers; which of the first two is faster it does not say.
func orderOfDrivers(v *view, c claims.Claim) []claimCase {
	var out []claimCase
	for _, role := range c.Workloads {
		w := highLoad(role, 1)
		d, like, found := v.workload(w)
		if !found && len(like) == 0 {
			continue
		}
		met := map[string]bool{}
		for _, s := range v.stacks {
			if !viewed(s.line, nodeAufs, nodeOverlay, nodeOverlay2, nodeBtrfs) || met[canonical(below(s.line, 1))] {
				continue
			}
			met[canonical(below(s.line, 1))] = true // one case for each device
			k := v.orderOn(s, d, found)
			if !found {
				k.workload, k.judgement = like[0].name, w.lacking(like)
			} else {
				k.caveats = append(k.caveats, w.otherLoad(d.load)...)
			}
			k.about = role
			out = append(out, k)
		}
	}
	return out
}

// orderOn ranks the drivers on the device of a stack.
func (v *view) orderOn(on *stack, d driven, found bool) (k claimCase) {
	k.stacks, k.workload = []string{on.Name}, d.name
	if !found {
		return k
	}
	var ahead []*cell
	var last *cell
	var missing []string
	for _, names := range [][]string{{nodeAufs}, {nodeOverlay2, nodeOverlay}, {nodeBtrfs}} {
		c, why := v.driverCell(on, d.name, names)
		switch {
		case c == nil:
			missing = append(missing, why)
		case names[0] == nodeBtrfs:
			last = c
		default:
			ahead = append(ahead, c)
		}
	}
	if last == nil || len(ahead) == 0 {
		k.judgement = notTestable("it takes btrfs and one of aufs and overlay on the same device: %s", strings.Join(missing, "; "))
		return k
	}
	k.stacks, k.evidence = append(names(ahead), last.stack.Name), append(slices.Clone(ahead), last)
	k.grounds = grounds(d.load, last, ahead[0])
	if len(missing) > 0 {
		k.caveats = append(k.caveats, "ranked without some of its subjects: "+strings.Join(missing, "; "))
	}
	if slices.ContainsFunc(ahead, func(c *cell) bool { return viewed(c.stack.line, nodeOverlay2) }) {
		k.caveats = append(k.caveats, "overlay2 in the place of overlay, its predecessor")
	}
	if why := unfit(k.evidence...); why != "" {
		k.judgement = notTestable("%s", why)
		return k
	}
	var measured []string
	behind := 0
	for _, c := range ahead {
		e, ok := v.compare(last, c)
		if !ok {
			k.judgement = notTestable("%s and %s have no ratio: a trial completed no I/O", e.Subject, e.Baseline)
			return k
		}
		measured = append(measured, fmt.Sprintf("%s of %s", shortRatio(e), e.Baseline))
		// The pair that speaks most against the claim is shown.
		if k.effect == nil || e.Ratio > k.effect.Ratio {
			k.effect = &e
		}
		if e.Differs && e.Ratio < 1 {
			behind++
		}
	}
	k.measured = last.stack.Name + " is " + plural.And(measured)
	k.says = k.measured
	switch e := *k.effect; {
	case tooFew(e) != nil:
		k.judgement = notTestable("%s", tooFew(e)[0])
	case e.Differs && e.Ratio > 1:
		k.judgement = judgement{ClaimContradicted, fmt.Sprintf("%s is significantly faster than %s (%s)", e.Subject, e.Baseline, pText(e.P))}
	case behind == len(ahead):
		k.judgement = judgement{ClaimConfirmed, fmt.Sprintf("%s is significantly behind %s (%s)", e.Subject, plural.And(names(ahead)), pText(e.P))}
	default:
		k.judgement = notTestable("the data does not decide: %s and %s do not differ significantly (%s); repeat more often, or measure longer", e.Subject, e.Baseline, pText(e.P))
	}
	return k
}

// driverCell gives what was measured of one of the drivers on the device of a
// stack, or why nothing was.
func (v *view) driverCell(on *stack, workload string, drivers []string) (c *cell, why string) {
	device := canonical(below(on.line, 1))
	for _, s := range v.stacks {
		if !viewed(s.line, drivers...) || canonical(below(s.line, 1)) != device {
			continue
		}
		if c := v.cell(s.Name, workload); c != nil {
			return c, ""
		}
		why = v.unmeasured(s, workload)
	}
	if why == "" {
		why = "the run has no stack with storage driver " + drivers[0]
	}
	return nil, why
}

// blockSizeSweep varies the block size of random reads.
var blockSizeSweep = sweep{
	of:    "RR over block size",
	takes: func(l fio.Load) bool { return l.Pattern == "randread" && l.Direct },
	x:     func(l fio.Load) float64 { return float64(l.BlockBytes) },
	rest:  func(l fio.Load) fio.Load { l.BlockBytes = 0; return l },
	unit:  1024, unitName: "KiB", metric: "bandwidth",
	values: func(c *cell) []float64 {
		var out []float64
		for _, t := range c.trials {
			out = append(out, t.Measurement.BytesPerSecond())
		}
		return out
	},
}
