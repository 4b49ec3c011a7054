package caveat

import (
	"fmt"

	"plimsoll/internal/fact"
	"plimsoll/internal/finding/prose"
	"plimsoll/internal/units"
	"plimsoll/internal/units/plural"
)

// finding is a finding on steadiness, in words.
func (f Steady) finding(id, name string, stacks []string) fact.Finding {
	title, why := f.say(name, stacks)
	return fact.Finding{ID: "steadiness/" + id, Case: name, Kind: fact.KindCaveat, Stacks: stacks, Facts: f, Title: title, Why: why}
}

// pointName names a point; stack is "" where the mix names its own.
func pointName(stack, workload string) string {
	if stack == "" {
		return workload
	}
	return stack + " under " + workload
}

func (f Steady) say(name string, stacks []string) (title, why string) {
	names := plural.And(stacks)
	passes := ""
	if f.Passes > 1 {
		passes = fmt.Sprintf(" %d times", f.Passes)
	}
	switch name {
	case "file-written":
		whose := "each file was"
		if len(stacks) == 1 {
			whose = "the file of " + names + " was"
		}
		return fmt.Sprintf("Before it was measured, %s written whole%s; the device below was not", whose, passes),
			"No I/O met a hole or an unwritten extent. But a drive with spare blocks left is faster than one that was written twice " +
				"over, as the SNIA specification asks; that takes a block device, and --precondition snia."
	case "device-written":
		return fmt.Sprintf("Before it was measured, the whole device under %s was written%s", names, passes),
			"This is the workload-independent preconditioning of the SNIA specification, which asks for two passes."
	case "restless":
		return fmt.Sprintf("%s never became steady under %s, in %d rounds of %s", names, f.Workload, f.Rounds,
				prose.Seconds(f.Seconds)),
			prose.Sentence(f.Reason) + " Its numbers are of a state that does not last. Give it more or longer rounds."
	case "settled":
		return fmt.Sprintf("Steady before it was measured: %s, over a window of five rounds of %s", names,
				prose.Seconds(f.Seconds)),
			"The best and the worst round of the window differ by at most 20% of their average, and their line rises or falls by at " +
				"most 10% (SNIA Solid State Storage Performance Test Specification). The report has the plots."
	case "short":
		return fmt.Sprintf("Trials measured %s: no steady state was established", prose.Seconds(f.Seconds)),
			"Devices slow down once their caches and spare blocks are used up, which takes minutes of writing. Short runs rank " +
				"stacks; they do not show what a device sustains."
	case "warming":
		return fmt.Sprintf("In %d of %s servers were still warming up", f.Undecided, plural.Count(f.All, "trial")),
			prose.Sentence(f.Reason) + " Such a server is faster an hour later. Give trials a longer --ramp or --runtime, or more of " +
				"them in a setup (trials), between which servers that are only read stay up."
	case "cut-off":
		return fmt.Sprintf("%d of %s reached their longest time before their mean was known", f.Undecided, plural.Count(f.All, "trial")),
			prose.Sentence(f.Reason) + " Give them a longer --runtime, or quiet the host."
	case "budget":
		title = fmt.Sprintf("The budget ended before %d of %s had been decided", f.Undecided, plural.Count(f.All, "point"))
		if w := f.Widest; w != nil {
			known := "to within " + units.Percent(w.Share)
			if w.Share > 1 {
				known = "whose interval is wider than its mean"
			}
			title += fmt.Sprintf(": least is known of %s, %s", pointName(w.Stack, w.Workload), known)
		}
		return title, fmt.Sprintf("A point is decided once its mean is known within %s, or every comparison with it has its "+
			"verdict. Time went to what is decided soonest; with a larger --budget, more is decided.", units.Percent(f.Target))
	}
	panic("nothing is said of " + name) // a test says them all
}
