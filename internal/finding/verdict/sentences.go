package verdict

import (
	"fmt"
	"strings"

	"plimsoll/internal/finding/fact"
	"plimsoll/internal/finding/prose"
	"plimsoll/internal/plural"
	"plimsoll/internal/stats"
	"plimsoll/internal/units"
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
		f.Title, f.Why = v.tells()
	}
	for _, d := range r.Because {
		r.Doubts = append(r.Doubts, doubt(d))
	}
	r.Headline = f.Title + "."
	r.Use, r.Avoid, r.Next = v.use(r), v.avoid(r), v.next(r)
	if r.Confidence == fact.Likely && len(r.Doubts) > 0 {
		r.Reason = "Only likely, because " + strings.Join(r.Doubts, "; ") + "."
	}
}

// which says which stack to use.
func (v Facts) which(r *fact.Recommendation) string {
	sure := prose.Capital(string(r.Confidence)) + ": "
	switch {
	case r.Confidence == fact.TooEarly && v.Alone:
		return fmt.Sprintf("Too early to say how fast %s is: it takes %d bring-ups to tell chance from the rest, and there %s only %d",
			v.Name, stats.FewestPairs, plural.Choose(v.BringUps, "is", "are"), v.BringUps)
	case r.Confidence == fact.TooEarly:
		return fmt.Sprintf("Too early to say which stack to use: it takes %d bring-ups of each to tell chance from the rest, and some "+
			"have only %d", stats.FewestPairs, v.BringUps)
	case v.Only && (v.AsBaseline || v.OfBaseline > 0):
		return fmt.Sprintf("%s%s is %s, and there is nothing else here to choose", sure, v.Name, v.best(r))
	case v.Only && len(v.Cached) > 0:
		return fmt.Sprintf("%s%s does %s a second, beside %s", sure, v.Name, does(v.Rates), does(v.Cached))
	case v.Only:
		return fmt.Sprintf("%s%s does %s a second, but nothing else here can be compared with it", sure, v.Name, does(v.Rates))
	}
	return fmt.Sprintf("%suse %s, %s", sure, v.Name, v.best(r))
}

// best says what the pick has over the others.
func (v Facts) best(r *fact.Recommendation) string {
	contrast := ""
	if c := v.Contrast; c != nil {
		contrast = fmt.Sprintf("%s times as fast as %s for %s", units.Times(c.Faster()), c.Stack, c.Plain)
	}
	if v.FromBaseline {
		return contrast
	}
	standing := "the fastest here"
	switch {
	case v.AsBaseline:
		standing = fmt.Sprintf("as fast as %s here", v.Baseline)
	case v.OfBaseline >= 1.1:
		standing = fmt.Sprintf("%s times as fast as %s", units.Times(v.OfBaseline), v.Baseline)
	case v.OfBaseline > 1:
		standing = fmt.Sprintf("%s faster than %s", units.Percent(v.OfBaseline-1), v.Baseline)
	case v.OfBaseline > 0:
		standing = fmt.Sprintf("%s slower than %s", units.Percent(1-v.OfBaseline), v.Baseline)
	case v.Torn:
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
func does(all []Does) string {
	return plural.List(all, func(d Does) string { return units.Rate(d.IOPS) + " " + d.Plain })
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
		add("Against it, ~ where not significant: %s.", strings.Join(plural.Words(v.Others, func(a Against) string {
			return fmt.Sprintf("%s (%s)", a.Stack, a.byWorkload())
		}), ", "))
	}
	if b := v.BesideBaseline; b != nil {
		add("Against the baseline %s it reaches %s.", b.Stack, b.byWorkload())
	}
	switch {
	case v.Dies && v.Keeper != nil:
		add("The writable layer of a storage driver is removed with its container (MSST'17, section 3.1): take it for what may be lost. "+
			"Data that must stay belongs on %s (%s of it).", v.Keeper.Stack, v.Keeper.byWorkload())
	case v.Dies:
		add("The writable layer of a storage driver is removed with its container (MSST'17, section 3.1): take it for what may be lost. " +
			"No data volume was measured honestly; databases need one.")
	case v.InContainer:
		add("A data volume outlives its container; the writable layer of a storage driver is removed with it (MSST'17, section 3.1).")
	}
	if b := v.Better; b != nil {
		add("On the host %s is faster (%s), and no container was measured on it: measure `%s > volume` too.", b.Stack, b.byWorkload(), b.Line)
	}
	return strings.Join(said, " ")
}

// byWorkload lists the ratios under each workload.
func (a Against) byWorkload() string {
	return strings.Join(plural.Words(a.Under, func(u Under) string {
		if u.Effect == nil {
			return u.Workload + " no ratio"
		}
		return u.Workload + " " + prose.ShortRatio(*u.Effect)
	}), ", ")
}

// none says why no stack can be recommended.
func (v Facts) none(stacks []string) (title, why string) {
	if !v.Measured {
		return "Too early to say which stack to use: nothing was measured",
			"No trial finished. The findings on what was not measured say why."
	}
	var reasons []string
	if len(v.Eligible) > 0 {
		reasons = append(reasons, "memory answered for "+answeredFor(v.Eligible))
	}
	if len(v.Unchecked) > 0 {
		reasons = append(reasons, fmt.Sprintf("no device counter of %s could be read", answeredFor(v.Unchecked)))
	}
	if len(reasons) == 0 {
		reasons = []string{"none was measured under every workload"}
	}
	title = "Sure: no stack can be recommended"
	if v.Containers {
		title += " for containers"
	}
	title += ", because " + plural.And(reasons)
	if len(stacks) > 0 {
		title += fmt.Sprintf("; on the host itself %s leads", stacks[0])
	}
	return title, "A stack is recommended when its device answered under every workload."
}

// answeredFor names stacks, and the workloads where not all are meant.
func answeredFor(all []From) string {
	return plural.List(all, func(f From) string {
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
	if r.Pick == "" || v.Only {
		return ""
	}
	said := r.Pick
	switch {
	case v.Dies && v.Keeper != nil:
		said += "; its data goes with the container, so keep what must stay on " + v.Keeper.Stack
	case v.Dies:
		said += "; its data goes with the container"
	case v.Containers:
		said += "; its data stays when the container goes"
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
		said = plural.Words(v.Slow, func(b Behind) string {
			return fmt.Sprintf("%s, %s as fast for %s", b.Stack, units.Percent(b.Ratio), b.Plain)
		})
		if v.SlowToo > 0 {
			said = append(said, fmt.Sprintf("and %d more", v.SlowToo))
		}
	}
	if len(v.Answered) > 0 {
		said = append(said, answeredFor(v.Answered)+": memory answered there, not the device")
	}
	return strings.Join(said, "; ")
}

// next says what to check next; "" for nothing.
func (v Facts) next(r *fact.Recommendation) string {
	in := fmt.Sprintf("in about %s", plural.Count(v.Minutes, "minute"))
	switch {
	case v.Carries != nil || v.Offered != nil || v.Shared != nil || v.Policed != nil || v.Levelled != nil:
		return v.nextOfMixes(r, in)
	case v.Elsewhere != nil && r.Command != "":
		return "what other hosts and numbers would do, by a model of it: " + r.Command
	case v.Name == "":
		return ""
	case r.Command != "" && r.Confidence == fact.TooEarly:
		return fmt.Sprintf("%s, this would settle it: %s", in, r.Command)
	case r.Command != "":
		return fmt.Sprintf("%s, this would tell more: %s", in, r.Command)
	case v.Busy && !v.Imported:
		return "the same again when the host is quiet: plimsoll doctor tells how busy it is"
	case v.Imported:
		return "the numbers come from files: measure here to have them checked"
	case v.Better != nil:
		return fmt.Sprintf("a data volume on %s: on the host it is faster, and no container was measured on it", v.Better.Stack)
	case v.Lab:
		return "measure on real hardware: the lab's drives are emulated"
	case v.Loop && v.Experiment != "":
		return fmt.Sprintf("for a drive's own numbers, as on loop devices only ratios hold: plimsoll run %s --on /dev/DEVICE "+
			"--destroy /dev/DEVICE", v.Experiment)
	case !v.Containers && !v.Directory:
		return "add > volume to the best stacks: none was measured from inside a container"
	}
	return ""
}

// nextOfMixes says what is open of a verdict on mixes, and gives the command that would settle it.
func (v Facts) nextOfMixes(r *fact.Recommendation, in string) string {
	open := ""
	if v.Carries != nil {
		open = v.Carries.Next()
	}
	if v.Offered != nil && v.Offered.Overload.Next > 0 {
		open = fmt.Sprintf("offer %s operations a second too", units.Rate(v.Offered.Overload.Next))
	}
	if open == "" && r.Confidence != fact.Sure && (v.Shared == nil || v.Shared.Known()) {
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
		return fmt.Sprintf("it takes %d bring-ups to tell stacks from each other, and there is one with %d", d.Needed, d.BringUps)
	case fact.DoubtOpen:
		return fmt.Sprintf("it cannot be told from %s so far", plural.And(d.Stacks))
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
