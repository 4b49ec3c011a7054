package finding

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"plimsoll/internal/plural"
	"plimsoll/internal/result"
	"plimsoll/internal/units"
)

// steadySeconds is the measured time below which a trial by itself cannot have
// shown a steady state: SNIA's test rounds take a minute each.
const steadySeconds = 60

// steadiness says what the stacks went through before they were measured,
// whether they were steady by then, and how precisely the run knows what it
// measured.
func steadiness(v *view) []Finding {
	var out []Finding
	say := func(id string, stacks []string, title, why string) {
		if len(stacks) > 0 {
			out = append(out, Finding{ID: "steadiness/" + id, Kind: KindCaveat, Stacks: stacks, Title: title, Why: why})
		}
	}
	cells := v.all()

	files := stacksOf(cells, func(c *cell) bool { return preconditioned(c) == result.PreconditionedFile })
	say("file-written", files, fmt.Sprintf("Before it was measured, %s written whole%s; the device below was not",
		plural.Choose(len(files), "the file of "+plural.And(files)+" was", "each file was"), passes(cells, result.PreconditionedFile)),
		"No I/O met a hole or an unwritten extent. But a drive with spare blocks left is faster than one that was written twice over, as the SNIA specification asks; that takes a block device, and --precondition snia.")
	devices := stacksOf(cells, func(c *cell) bool { return preconditioned(c) == result.PreconditionedDevice })
	say("device-written", devices, fmt.Sprintf("Before it was measured, the whole device under %s was written%s", plural.And(devices), passes(cells, result.PreconditionedDevice)),
		"This is the workload-independent preconditioning of the SNIA specification, which asks for two passes.")

	var settled, restless []string
	var rounds *result.Rounds
	for _, c := range cells {
		for _, t := range c.trials {
			if t.Preconditioning == nil || t.Preconditioning.Rounds == nil {
				continue
			}
			r := t.Preconditioning.Rounds
			if rounds = r; r.Settled {
				settled = appendNew(settled, c.stack.Name)
				continue
			}
			restless = appendNew(restless, c.stack.Name)
			say(fmt.Sprintf("restless/%s/%s/%d", c.stack.Name, c.workload.Name, t.Seq), []string{c.stack.Name},
				fmt.Sprintf("%s never became steady under %s, in %d rounds of %.3g s", c.stack.Name, c.workload.Name, len(r.IOPS), r.Seconds),
				sentence(r.Why)+" Its numbers are of a state that does not last. Give it more or longer rounds.")
		}
	}
	settled = slices.DeleteFunc(settled, func(s string) bool { return slices.Contains(restless, s) })
	if rounds != nil {
		say("settled", settled, fmt.Sprintf("Steady before it was measured: %s, over a window of five rounds of %.3g s", plural.And(settled), rounds.Seconds),
			"The best and the worst round of the window differ by at most 20% of their average, and their line rises or falls by at most 10% (SNIA Solid State Storage Performance Test Specification). The report has the plots.")
	}

	unsteady := slices.DeleteFunc(slices.Clone(cells), func(c *cell) bool {
		return runtime(c) >= steadySeconds || slices.ContainsFunc(c.trials, func(t *result.Trial) bool {
			return t.Stop != nil || t.Preconditioning != nil && t.Preconditioning.Rounds != nil
		})
	})
	if short := stacksOf(unsteady, func(*cell) bool { return true }); len(short) > 0 {
		shortest := slices.MinFunc(unsteady, func(a, b *cell) int { return cmp.Compare(runtime(a), runtime(b)) })
		say("short", short, fmt.Sprintf("Trials measured %.3g s: no steady state was established", runtime(shortest)),
			"Devices slow down once their caches and spare blocks are used up, which takes minutes of writing. Short runs rank stacks; they do not tell what a device sustains.")
	}
	out = append(out, cutOff(cells)...)
	return append(out, budget(v)...)
}

// preconditioned is what was written before a cell's first trial; "" when that
// was not recorded.
func preconditioned(c *cell) result.PreconditioningKind {
	for _, t := range c.trials {
		if t.Preconditioning != nil {
			return t.Preconditioning.Kind
		}
	}
	return ""
}

// passes says how often something was written, if more than once.
func passes(cells []*cell, kind result.PreconditioningKind) string {
	most := 0
	for _, c := range cells {
		for _, t := range c.trials {
			if t.Preconditioning != nil && t.Preconditioning.Kind == kind {
				most = max(most, t.Preconditioning.Passes)
			}
		}
	}
	if most < 2 {
		return ""
	}
	return fmt.Sprintf(" %d times", most)
}

// cutOff names the trials that reached their longest time before their mean
// was known.
func cutOff(cells []*cell) (out []Finding) {
	var stacks, worst []string
	all, early := 0, 0
	for _, c := range cells {
		for _, t := range c.trials {
			switch {
			case t.Stop == nil:
			case t.Stop.Reason == result.StopPrecise:
				all++
			default:
				all, early = all+1, early+1
				stacks = appendNew(stacks, c.stack.Name)
				worst = appendNew(worst, fmt.Sprintf("%s under %s: %s", c.stack.Name, c.workload.Name, t.Stop.Why))
			}
		}
	}
	if early == 0 {
		return nil
	}
	return []Finding{{
		ID: "steadiness/cut-off", Kind: KindCaveat, Stacks: stacks,
		Title: fmt.Sprintf("%d of %s reached their longest time before their mean was known", early, plural.Count(all, "trial")),
		Why:   sentence(strings.Join(worst[:min(3, len(worst))], "; ")) + " Give them a longer --runtime, or quiet the host.",
	}}
}

// budget says of which points the budget was not enough to know what was asked
// for.
func budget(v *view) []Finding {
	var stacks []string
	var widest result.Point
	n := 0
	for _, p := range v.run.Points {
		if p.Reason != result.StopBudget && p.Reason != result.StopRepeats {
			continue
		}
		n++
		stacks = appendNew(stacks, p.Stack)
		if p.RelativeHalfWidth > widest.RelativeHalfWidth {
			widest = p
		}
	}
	if n == 0 {
		return nil
	}
	title := fmt.Sprintf("The budget ended before %d of %s had been decided", n, plural.Count(len(v.run.Points), "point"))
	switch half := widest.RelativeHalfWidth; {
	case half > 1:
		title += fmt.Sprintf(": least is known of %s under %s, whose interval is wider than its mean", widest.Stack, widest.Workload)
	case half > 0:
		title += fmt.Sprintf(": least is known of %s under %s, to within %s", widest.Stack, widest.Workload, units.Percent(widest.RelativeHalfWidth))
	}
	target := v.run.Experiment.Target
	if target == 0 {
		target = defaultTarget
	}
	return []Finding{{
		ID: "steadiness/budget", Kind: KindCaveat, Stacks: stacks, Title: title,
		Why: fmt.Sprintf("A point is decided once its mean is known within %s, or every comparison with it has its verdict. Time went where intervals were widest; with a larger --budget, more is decided.", units.Percent(math.Abs(target))),
	}}
}

// defaultTarget is steady.DefaultStudy's, which a run without a target used.
const defaultTarget = 0.03
