package verdict

import (
	"fmt"
	"strings"

	"plimsoll/internal/fact"
	"plimsoll/internal/finding/prose"
	"plimsoll/internal/stats"
	"plimsoll/internal/units"
	"plimsoll/internal/units/plural"

	"plimsoll/internal/printable"
)

// say puts a verdict into words. None but the reasons behind it has brackets, intervals or tests.
func (v Facts) say(f *fact.Finding) {
	r := f.Recommendation
	switch f.Case {
	case "stack":
		f.Title, f.Why = v.choice(r), v.why(f.Stacks)
	case "no stack":
		f.Title, f.Why = v.noChoice(f.Stacks)
	}
	r.Headline = v.headline(f.Title, r)
	r.Use, r.Avoid, r.Next = v.use(r), v.avoid(r), v.next(r)
	explain(r)
}

// explain says why a verdict is no surer.
func explain(r *fact.Recommendation) {
	for _, d := range r.Because {
		r.Doubts = append(r.Doubts, doubt(d))
	}
	if r.Confidence == fact.Likely && len(r.Doubts) > 0 {
		r.Reason = "Only likely, because " + strings.Join(r.Doubts, "; ") + "."
	}
}

// choice says which stack to use.
func (v Facts) choice(r *fact.Recommendation) string {
	sure := prose.Capital(string(r.Confidence)) + ": "
	switch {
	case r.Confidence == fact.TooEarly && v.OnlyStack:
		return fmt.Sprintf("Too early to say how fast %s is: it takes %d setups to separate effects from chance, and there %s only %d",
			v.Name, stats.FewestPairs, plural.Choose(v.FewestSetups, "is", "are"), v.FewestSetups)
	case r.Confidence == fact.TooEarly:
		return fmt.Sprintf("Too early to say which stack to use: it takes %d setups of each to separate effects from chance, and some "+
			"have only %d", stats.FewestPairs, v.FewestSetups)
	case v.OnlyCandidate && (v.LevelWithBaseline || v.BaselineRatio > 0):
		return fmt.Sprintf("%s%s is %s, and there is no other stack to choose", sure, v.Name, v.best(r))
	case v.OnlyCandidate && v.Baseline != "":
		return fmt.Sprintf("%s%s does %s a second, and cannot be distinguished from %s so far", sure, v.Name, does(v.Rates), v.Baseline)
	case v.OnlyCandidate && len(v.CachedRates) > 0:
		return fmt.Sprintf("%s%s does %s a second, beside %s", sure, v.Name, does(v.Rates), does(v.CachedRates))
	case v.OnlyCandidate:
		return fmt.Sprintf("%s%s does %s a second, but no other stack here can be compared with it", sure, v.Name, does(v.Rates))
	}
	return fmt.Sprintf("%suse %s, %s", sure, v.Name, v.best(r))
}

// best says what the pick has over the others.
func (v Facts) best(r *fact.Recommendation) string {
	contrast := ""
	if c := v.LargestContrast; c != nil {
		contrast = fmt.Sprintf("%s times as fast as %s for %s", units.Times(c.Faster()), c.Stack, c.Plain)
	}
	if v.ContrastsBaseline {
		return contrast
	}
	standing := "the only one of its kind here"
	if len(v.BesideBest) > 0 {
		standing = fmt.Sprintf("at most %s below the best that was tried", prose.AtMost(v.BesideBest[0].MayLose()))
		if v.BesideBest[0].MayLose() == 0 {
			standing = "the fastest here"
		}
	}
	switch {
	case v.LevelWithBaseline:
		standing = fmt.Sprintf("as fast as %s here within %s", v.Baseline, units.Percent(r.Margin))
	case v.BaselineRatio >= 1.1:
		standing = fmt.Sprintf("%s times as fast as %s", units.Times(v.BaselineRatio), v.Baseline)
	case v.BaselineRatio > 1:
		standing = fmt.Sprintf("%s faster than %s", units.Percent(v.BaselineRatio-1), v.Baseline)
	case v.BaselineRatio > 0:
		standing = fmt.Sprintf("%s slower than %s", units.Percent(1-v.BaselineRatio), v.Baseline)
	case v.FastestDiffers:
		standing = "the best over all workloads"
	}
	if contrast == "" {
		return standing
	}
	return standing + " and " + contrast
}

// String is the stack with what it loses: "raw 2.9% (0% to 6%)".
func (b BesideBest) String() string {
	loss := func(ratio float64) string { return units.Percent(max(0, 1-ratio)) }
	return fmt.Sprintf("%s %s (%s to %s)", b.Stack, loss(b.Ratio), loss(b.High), loss(b.Low))
}

// does lists rates.
func does(all []MeasuredRate) string {
	return plural.List(all, func(d MeasuredRate) string { return units.Rate(d.IOPS) + " " + d.Plain })
}

// why says what the pick is, how it compares, and what becomes of its data.
func (v Facts) why(stacks []string) string {
	whose := "whose device answered"
	if v.InContainer {
		whose = "that a container can use and whose device answered"
	}
	sentences := []string{fmt.Sprintf("%s is %s.", stacks[0], v.Line)}
	add := func(format string, values ...any) { sentences = append(sentences, fmt.Sprintf(format, values...)) }
	if v.Candidates == 1 {
		add("It is the only stack %s under %s.", whose, plural.And(v.Deciding))
	} else {
		least := ""
		if len(v.Deciding) > 1 {
			least = ", where that is least"
		}
		add("Of %s %s, it reaches %s of the best rate under %s%s.", plural.Count(v.Candidates, "stack"), whose,
			units.Percent(v.Score), plural.And(v.Deciding), least)
	}
	if len(v.BesideBest) > 0 {
		add("Below the best of the others, with ends that hold for all of them together: %s.",
			strings.Join(plural.Words(v.BesideBest, BesideBest.String), ", "))
	}
	if len(v.Others) > 0 {
		add("Against it, ~ where not significant: %s.", strings.Join(plural.Words(v.Others, func(a Comparison) string {
			return fmt.Sprintf("%s (%s)", a.Stack, a.byWorkload())
		}), ", "))
	}
	if b := v.BaselineComparison; b != nil {
		add("Against the baseline %s it reaches %s.", b.Stack, b.byWorkload())
	}
	switch {
	case v.EphemeralData && v.PersistentAlternative != nil:
		add("The writable layer of a storage driver is removed with its container (MSST'17, section 3.1): take it for what may be lost. "+
			"Data that must stay belongs on %s (%s of it).", v.PersistentAlternative.Stack, v.PersistentAlternative.byWorkload())
	case v.EphemeralData:
		add("The writable layer of a storage driver is removed with its container (MSST'17, section 3.1): take it for what may be lost. " +
			"No data volume was measured honestly; databases need one.")
	case v.InContainer:
		add("A data volume outlives its container; the writable layer of a storage driver is removed with it (MSST'17, section 3.1).")
	}
	if b := v.FasterOnHost; b != nil {
		add("On the host %s is faster (%s), and no container was measured on it: measure `%s > volume` too.", b.Stack, b.byWorkload(), b.Line)
	}
	return strings.Join(sentences, " ")
}

// byWorkload lists the ratios under each workload.
func (a Comparison) byWorkload() string {
	return strings.Join(plural.Words(a.Effects, func(u WorkloadEffect) string {
		if u.Effect == nil {
			return u.Workload + " no ratio"
		}
		return u.Workload + " " + u.Effect.Written()
	}), ", ")
}

// noChoice returns the title and the reasons of a verdict that recommends no stack.
func (v Facts) noChoice(stacks []string) (title, why string) {
	if !v.AnyMeasured {
		return "Too early to say which stack to use: no trial was measured",
			"No trial finished. The findings on what was not measured say why."
	}
	if v.Imported && len(v.AnsweredCandidates) == 0 {
		return "Imported, not checked against a device: no stack can be recommended",
			"The files have no counters of a device, which would show that it served what the workload did."
	}
	var reasons []string
	if len(v.AnsweredCandidates) > 0 {
		reasons = append(reasons, "memory answered for "+answeredFor(v.AnsweredCandidates))
	}
	if len(v.UncheckedCandidates) > 0 {
		reasons = append(reasons, fmt.Sprintf("no device counter of %s could be read", answeredFor(v.UncheckedCandidates)))
	}
	if len(reasons) == 0 {
		reasons = []string{"none was measured under every workload"}
	}
	title = "Sure: no stack can be recommended"
	if v.ContainersMeasured {
		title += " for containers"
	}
	title += ", because " + plural.And(reasons)
	if len(stacks) > 0 {
		title += fmt.Sprintf("; on the host itself %s leads", stacks[0])
	}
	return title, "A stack is recommended when its device answered under every workload."
}

// answeredFor names stacks; with workloads, unless all workloads are meant.
func answeredFor(stacks []AnsweredStack) string {
	return plural.List(stacks, func(f AnsweredStack) string {
		if f.Stack == "" {
			return "stacks that mixes name"
		}
		if len(f.Workloads) == 0 {
			return f.Stack
		}
		return f.Stack + " under " + plural.And(f.Workloads)
	})
}

// use says which stack to take, and what becomes of its data; "" where there is no choice.
func (v Facts) use(r *fact.Recommendation) string {
	if r.Pick == "" || v.OnlyCandidate {
		return ""
	}
	text := r.Pick
	switch {
	case v.EphemeralData && v.PersistentAlternative != nil:
		text += "; its data goes with the container, so keep what must stay on " + v.PersistentAlternative.Stack
	case v.EphemeralData:
		text += "; its data goes with the container"
	case v.ContainersMeasured:
		text += "; its data stays when the container goes"
	}
	if v.LosesOnCrash != "" {
		text += "; with " + v.LosesOnCrash + ", fsync returns before data is safe: only for data that a crash " +
			"of the host may take"
	}
	switch v.HostStack {
	case "":
	case r.Pick:
		text += "; containers of this host's Docker are on it"
	default:
		text += "; containers of this host's Docker are on " + v.HostStack
	}
	if n := len(r.Level); n > 0 {
		text += fmt.Sprintf("; %s %s as well here within %s", plural.And(r.Level), plural.Choose(n, "does", "do"),
			units.Percent(r.Margin))
	}
	return text
}

// avoid names the stacks that are far slower, and those that memory answered.
func (v Facts) avoid(r *fact.Recommendation) string {
	var parts []string
	if r.Confidence != fact.TooEarly {
		parts = plural.Words(v.StacksToAvoid, func(b SlowerStack) string {
			return fmt.Sprintf("%s, at most %s as fast for %s", b.Stack, prose.AtMost(b.High), b.Plain)
		})
		if v.MoreToAvoid > 0 {
			parts = append(parts, fmt.Sprintf("and %d more", v.MoreToAvoid))
		}
	}
	if len(v.AnsweredByMemory) > 0 {
		parts = append(parts, answeredFor(v.AnsweredByMemory)+": memory answered there, not the device")
	}
	return strings.Join(parts, "; ")
}

// next says what to check next; "" for nothing.
func (v Facts) next(r *fact.Recommendation) string {
	switch {
	case v.Name == "" && v.Imported && v.AnyMeasured:
		return "compare it with another run: " + printable.Plimsoll("compare", "BEFORE", "AFTER")
	case v.Name == "":
		return ""
	case r.Command != "" && r.Confidence == fact.TooEarly:
		return fmt.Sprintf("%s, this would settle it: %s", v.inMinutes(), r.Command)
	case v.FasterOnHost != nil && !v.Imported: // it may be another answer; more time for the same stacks sharpens this one
		return fmt.Sprintf("measure %s > volume too: on the host %[1]s is faster, and no container was measured on it",
			v.FasterOnHost.Stack)
	case r.Command != "":
		return fmt.Sprintf("%s, this would show more: %s", v.inMinutes(), r.Command)
	case v.HostBusy && !v.Imported:
		return "the same again when the host is quiet: plimsoll doctor shows how busy it is"
	case v.Imported:
		return "the numbers come from files: measure here to have them checked"
	case v.InLab:
		return "measure on real hardware: the lab's drives are emulated"
	case v.OnLoopDevice && v.Experiment != "":
		return fmt.Sprintf("for a drive's own numbers, as on loop devices only ratios hold: %s",
			printable.AsRoot("run", v.Experiment, "--on", "/dev/DEVICE", "--destroy", "/dev/DEVICE"))
	case !v.ContainersMeasured && !v.OnDirectory:
		return "add > volume to the best stacks: none was measured from inside a container"
	}
	return ""
}

// inMinutes says how long the proposed command would take.
func (v Facts) inMinutes() string {
	return fmt.Sprintf("in about %s", plural.Count(v.CommandMinutes, "minute"))
}

// doubt says why a verdict is no surer.
func doubt(d fact.Doubt) string {
	switch d.Kind {
	case fact.DoubtFew:
		return fmt.Sprintf("it takes %d setups to distinguish stacks, and there is one with %d", d.Needed, d.BringUps)
	case fact.DoubtOpen:
		said := fmt.Sprintf("it cannot be distinguished from %s so far", plural.And(d.Stacks))
		if d.Apart > 0 {
			said += fmt.Sprintf(", which may be up to %s faster", prose.AtMost(d.Apart))
		}
		return said
	case fact.DoubtFaster:
		return fmt.Sprintf("under %s, %s is faster", d.Workload, plural.And(d.Stacks))
	case fact.DoubtTwins:
		return fmt.Sprintf("two copies of %s differ by %s under %s, so that something besides the stacks decides there; "+
			"they do not show a bias that stays with another stack",
			plural.And(d.Stacks), prose.Deviation(d.Apart), d.Workload)
	case fact.DoubtNeighbours:
		return "the host was not quiet: " + prose.Neighbours(d.Neighbours)
	}
	return ""
}
