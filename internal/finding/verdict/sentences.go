package verdict

import (
	"fmt"
	"strings"

	"plimsoll/internal/finding/fact"
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
	case "recommendation":
		f.Title, f.Why = v.which(r), v.why(f.Stacks)
	case "nothing":
		f.Title, f.Why = v.none(f.Stacks)
	case "elsewhere":
		f.Title, f.Why = v.importedText()
	}
	for _, d := range r.Because {
		r.Doubts = append(r.Doubts, doubt(d))
	}
	r.Headline = v.headline(f.Title, r.Confidence)
	r.Use, r.Avoid, r.Next = v.use(r), v.avoid(r), v.next(r)
	if r.Confidence == fact.Likely && len(r.Doubts) > 0 {
		r.Reason = "Only likely, because " + strings.Join(r.Doubts, "; ") + "."
	}
}

// which says which stack to use.
func (v Facts) which(r *fact.Recommendation) string {
	sure := prose.Capital(string(r.Confidence)) + ": "
	switch {
	case r.Confidence == fact.TooEarly && v.OnlyStack:
		return fmt.Sprintf("Too early to say how fast %s is: it takes %d setups to separate effects from chance, and there %s only %d",
			v.Name, stats.FewestPairs, plural.Choose(v.FewestSetups, "is", "are"), v.FewestSetups)
	case r.Confidence == fact.TooEarly:
		return fmt.Sprintf("Too early to say which stack to use: it takes %d setups of each to separate effects from chance, and some "+
			"have only %d", stats.FewestPairs, v.FewestSetups)
	case v.OnlyCandidate && (v.LevelWithBaseline || v.BaselineRatio > 0):
		return fmt.Sprintf("%s%s is %s, and there is nothing else here to choose", sure, v.Name, v.best(r))
	case v.OnlyCandidate && len(v.CachedRates) > 0:
		return fmt.Sprintf("%s%s does %s a second, beside %s", sure, v.Name, does(v.Rates), does(v.CachedRates))
	case v.OnlyCandidate:
		return fmt.Sprintf("%s%s does %s a second, but nothing else here can be compared with it", sure, v.Name, does(v.Rates))
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
	standing := "the fastest here"
	switch {
	case v.LevelWithBaseline:
		standing = fmt.Sprintf("as fast as %s here", v.Baseline)
	case v.BaselineRatio >= 1.1:
		standing = fmt.Sprintf("%s times as fast as %s", units.Times(v.BaselineRatio), v.Baseline)
	case v.BaselineRatio > 1:
		standing = fmt.Sprintf("%s faster than %s", units.Percent(v.BaselineRatio-1), v.Baseline)
	case v.BaselineRatio > 0:
		standing = fmt.Sprintf("%s slower than %s", units.Percent(1-v.BaselineRatio), v.Baseline)
	case v.FastestDiffers:
		standing = "the best over all workloads"
	case len(r.Level) > 0:
		standing = "as fast as anything here"
	}
	if contrast == "" {
		return standing
	}
	return standing + " and " + contrast
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
	said := []string{fmt.Sprintf("%s is %s.", stacks[0], v.Line)}
	add := func(format string, values ...any) { said = append(said, fmt.Sprintf(format, values...)) }
	if v.Candidates == 1 {
		add("It is the only stack %s under %s.", whose, plural.And(v.Deciding))
	} else {
		add("Of %s %s, it reaches %s of the best median IOPS, as the geometric mean over %s.", plural.Count(v.Candidates, "stack"), whose,
			units.Percent(v.Score), plural.And(v.Deciding))
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
	return strings.Join(said, " ")
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

// none says why no stack can be recommended.
func (v Facts) none(stacks []string) (title, why string) {
	if !v.AnyMeasured {
		return "Too early to say which stack to use: nothing was measured",
			"No trial finished. The findings on what was not measured say why."
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

// answeredFor names stacks, and the workloads where not all are meant.
func answeredFor(all []AnsweredStack) string {
	return plural.List(all, func(f AnsweredStack) string {
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
	said := r.Pick
	switch {
	case v.EphemeralData && v.PersistentAlternative != nil:
		said += "; its data goes with the container, so keep what must stay on " + v.PersistentAlternative.Stack
	case v.EphemeralData:
		said += "; its data goes with the container"
	case v.ContainersMeasured:
		said += "; its data stays when the container goes"
	}
	if v.LosesOnCrash != "" {
		said += "; " + v.LosesOnCrash + " makes fsync keep nothing: only for data that a crash of the host may take"
	}
	switch v.HostStack {
	case "":
	case r.Pick:
		said += "; containers of this host's Docker are on it"
	default:
		said += "; containers of this host's Docker are on " + v.HostStack
	}
	if n := len(r.Level); n > 0 {
		said += fmt.Sprintf("; %s %s as well here", plural.And(r.Level), plural.Choose(n, "does", "do"))
	}
	return said
}

// avoid names the stacks that are far slower, and those that memory answered.
func (v Facts) avoid(r *fact.Recommendation) string {
	var said []string
	if r.Confidence != fact.TooEarly {
		said = plural.Words(v.StacksToAvoid, func(b SlowerStack) string {
			return fmt.Sprintf("%s, %s as fast for %s", b.Stack, units.Percent(b.Ratio), b.Plain)
		})
		if v.MoreToAvoid > 0 {
			said = append(said, fmt.Sprintf("and %d more", v.MoreToAvoid))
		}
	}
	if len(v.AnsweredByMemory) > 0 {
		said = append(said, answeredFor(v.AnsweredByMemory)+": memory answered there, not the device")
	}
	return strings.Join(said, "; ")
}

// next says what to check next; "" for nothing.
func (v Facts) next(r *fact.Recommendation) string {
	in := fmt.Sprintf("in about %s", plural.Count(v.CommandMinutes, "minute"))
	switch {
	case v.LoadLine != nil || v.Overload != nil || v.Tenants != nil || v.Policies != nil || v.Levels != nil:
		return v.nextOfMixes(r, in)
	case v.ImportedClasses != nil && r.Command != "":
		return "what other hosts and numbers would do, by a model of it: " + r.Command
	case v.Name == "":
		return ""
	case r.Command != "" && r.Confidence == fact.TooEarly:
		return fmt.Sprintf("%s, this would settle it: %s", in, r.Command)
	case r.Command != "":
		return fmt.Sprintf("%s, this would show more: %s", in, r.Command)
	case v.HostBusy && !v.Imported:
		return "the same again when the host is quiet: plimsoll doctor shows how busy it is"
	case v.Imported:
		return "the numbers come from files: measure here to have them checked"
	case v.FasterOnHost != nil:
		return fmt.Sprintf("a data volume on %s: on the host it is faster, and no container was measured on it", v.FasterOnHost.Stack)
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

// nextOfMixes says what is open of a verdict on mixes, and gives the command that would settle it.
func (v Facts) nextOfMixes(r *fact.Recommendation, in string) string {
	open := ""
	if v.LoadLine != nil {
		open = v.LoadLine.Next()
	}
	if v.Overload != nil && v.Overload.Overload.Next > 0 {
		open = fmt.Sprintf("offer %s operations a second too", units.Rate(v.Overload.Overload.Next))
	}
	if open == "" && r.Confidence != fact.Sure && (v.Tenants == nil || v.Tenants.Known()) {
		open = "bring it up more often: what is open gets narrower"
	}
	var said []string
	if open != "" {
		said = append(said, open)
	}
	switch {
	case r.Command != "":
		said = append(said, in+": "+r.Command)
	case open == "" && r.Confidence == fact.Sure:
		said = append(said, "nothing: what was asked is settled")
	}
	return strings.Join(said, "; ")
}

// doubt says why a verdict is no surer.
func doubt(d fact.Doubt) string {
	switch d.Kind {
	case fact.DoubtFew:
		return fmt.Sprintf("it takes %d setups to distinguish stacks, and there is one with %d", d.Needed, d.BringUps)
	case fact.DoubtOpen:
		return fmt.Sprintf("it cannot be distinguished from %s so far", plural.And(d.Stacks))
	case fact.DoubtFaster:
		return fmt.Sprintf("under %s, %s is faster", d.Workload, plural.And(d.Stacks))
	case fact.DoubtTwins:
		return fmt.Sprintf("two copies of %s differ by %s under %s, so that something besides the stacks decides there",
			plural.And(d.Stacks), prose.Deviation(d.Apart), d.Workload)
	case fact.DoubtNeighbours:
		return "the host was not quiet: " + prose.Neighbours(d.Neighbours)
	}
	return ""
}
