package overload

import (
	"fmt"
	"strings"

	"plimsoll/internal/fact"
	"plimsoll/internal/finding/prose"
	"plimsoll/internal/stats"
	"plimsoll/internal/units"
	"plimsoll/internal/units/plural"
)

// whose names what the rates are offered to.
func (f *Facts) whose() string {
	return fmt.Sprintf("%s of %s", plural.Count(f.Overload.Instances, "instance"), f.Overload.Workload)
}

// verdict is the first sentence of a run that asks for nothing else.
func (f *Facts) verdict(sure fact.Confidence) string {
	if sure == fact.TooEarly && !f.tooFew() {
		return fmt.Sprintf("Too early to say how many operations a second %s %s up with%s: at %s a second they are too few for "+
			"a p99, so run each rate for longer", f.whose(), f.verb("keeps", "keep"), f.Overload.within(), rates(f.unjudged()))
	}
	if sure == fact.TooEarly {
		return fmt.Sprintf("Too early to say how many operations a second %s %s up with: it takes %d setups, and some rates "+
			"have only %d", f.whose(), f.verb("keeps", "keep"), stats.FewestPairs, f.Overload.BringUps)
	}
	if len(f.Others) == 0 {
		return fmt.Sprintf("%s: %s %s", prose.Capital(string(sure)), f.whose(), f.keeps())
	}
	return fmt.Sprintf("%s: %s", prose.Capital(string(sure)), f.byStack())
}

// byStack says what each stack keeps, the highest first: "of randread, volume-ext4 gives 41.0k a second with p99 within
// 1.00 ms, and overlay2 38.0k".
func (f *Facts) byStack() string {
	if f.Overload.Kept == 0 {
		return fmt.Sprintf("no stack keeps up with %s operations a second of %s%s", units.Rate(f.Overload.Breaks),
			f.Overload.Workload, f.Overload.within())
	}
	text := fmt.Sprintf("of %s, %s gives %s operations a second%s", f.Overload.Workload, f.Overload.Stack,
		f.Overload.gives(),
		f.Overload.within())
	var remaining []string
	for _, o := range f.Others {
		remaining = append(remaining, fmt.Sprintf("%s %s", o.Stack, o.gives()))
	}
	text += "; " + plural.And(remaining)
	if alike := f.alike(); len(alike) > 0 {
		text += fmt.Sprintf("; these setups cannot distinguish %s from %s", plural.And(alike), f.Overload.Stack)
	}
	return text
}

// gives is the highest rate that is kept.
func (o Curve) gives() string {
	switch {
	case o.Kept == 0 && o.Breaks == 0:
		return "nothing that is known"
	case o.Kept == 0:
		return "not even " + units.Rate(o.Breaks)
	case o.Breaks == 0:
		return "at least " + units.Rate(o.Kept)
	}
	return units.Rate(o.Kept)
}

// within names the limit of latency.
func (o Curve) within() string {
	if o.LimitNS == 0 {
		return ""
	}
	return " with p99 within " + units.Latency(o.LimitNS)
}

// otherStacks has a line for each other stack: what it keeps over setups, and what becomes of the next rate.
func (f *Facts) otherStacks() string {
	text := fmt.Sprintf("\nOn %s, setups keep %s.", f.Overload.Stack, f.Overload.keptRange())
	for _, o := range f.Others {
		one := Facts{Overload: o}
		text += fmt.Sprintf("\nOn %s, setups keep %s: it %s.", o.Stack, o.keptRange(), one.keeps())
	}
	return text
}

// keptRange says what the setups keep that keep least and most.
func (o Curve) keptRange() string {
	low := "nothing"
	if o.Low > 0 {
		low = units.Rate(o.Low)
	}
	if o.Low == o.High {
		return low
	}
	return low + " to " + units.Rate(o.High)
}

// verb agrees with the instances.
func (f *Facts) verb(one, several string) string {
	return plural.Choose(f.Overload.Instances, one, several)
}

// keeps says which rate is kept, and what becomes of the next.
func (f *Facts) keeps() string {
	kept, broken := f.highestKept(), f.broken()
	unjudged := f.unjudged()
	var text string
	switch {
	case kept == nil && broken == nil:
		return fmt.Sprintf("%s up with nothing that is known%s: at %s a second operations are too few for a p99",
			f.verb("keeps", "keep"), f.Overload.within(), rates(unjudged))
	case kept == nil && broken != nil:
		text = fmt.Sprintf("%s not even keep up with %s operations a second%s: %s", f.verb("does", "do"),
			units.Rate(broken.Offered), f.Overload.within(), broken.breaks())
	case broken == nil && unjudged == nil:
		text = fmt.Sprintf("%s up with %s operations a second%s, the most that was offered", f.verb("keeps", "keep"),
			units.Rate(f.Overload.Kept), f.Overload.within())
	case broken == nil:
		text = fmt.Sprintf("%s up with %s operations a second%s", f.verb("keeps", "keep"), units.Rate(f.Overload.Kept),
			f.Overload.within())
	default:
		text = fmt.Sprintf("%s up with %s operations a second%s; at %s %s", f.verb("keeps", "keep"),
			units.Rate(f.Overload.Kept),
			f.Overload.within(), units.Rate(broken.Offered), broken.breaks())
	}
	if len(unjudged) > 0 {
		text += fmt.Sprintf("; at %s operations are too few for a p99", rates(unjudged))
	}
	if late := f.late(false); len(late) > 0 {
		text += fmt.Sprintf("; at %s the generator itself was the bottleneck", rates(late))
	}
	return text
}

// breaks says what becomes of a rate that is not kept.
func (p *Point) breaks() string {
	text := units.Percent(1-p.Done) + " of them fail or never begin"
	switch {
	case p.grows():
		text = "what waits grows without end"
	case p.TooSlow && p.Done >= nearlyAll:
		text = "p99 is " + units.Latency(p.P99NS)
	}
	if p.Binds != "" {
		text += ", since " + p.Binds.Because()
	}
	return text
}

// from says from when on latencies count.
func (o Curve) from() string {
	if o.FromSubmission {
		return "submitted"
	}
	return "to begin"
}

// grows reports whether what waits is told to grow without end.
func (p *Point) grows() bool { return p.Growth >= growing }

// details says what was measured of the rates that matter, a line for each reason.
func (f *Facts) details() string {
	o := f.Overload
	var lines []string
	say := func(format string, values ...any) { lines = append(lines, fmt.Sprintf(format, values...)) }
	if o.Host != "" {
		say("All in a scaled-down host of %s.", o.Host)
	}
	var ends []string
	if kept := f.highestKept(); kept != nil {
		end := fmt.Sprintf("Of %s a second, %s are completed", units.Rate(kept.Offered), units.Percent(kept.Done))
		if kept.P99NS > 0 {
			end += fmt.Sprintf(", 99%% of them within %s of when they were %s", units.Latency(kept.P99NS), o.from())
		}
		ends = append(ends, end+".")
	}
	if broken := f.broken(); broken != nil {
		end := fmt.Sprintf("Of %s, %s are, at %s a second", units.Rate(broken.Offered), units.Percent(broken.Done),
			units.Rate(broken.Achieved))
		if broken.grows() {
			end += ", and p99 gets longer by " + units.Latency(broken.GrowthPerSecond()) + " with every second"
		}
		ends = append(ends, end+".")
	}
	if len(ends) > 0 {
		say("%s", strings.Join(ends, " "))
	}
	if slower := f.slower(); len(slower) > 0 {
		say("At %s a second, p99 was above %s, and at %s it is not: so it is not the rate that these wait for.", rates(slower),
			units.Latency(o.LimitNS), units.Rate(o.Kept))
	}
	if hidden := f.hidden(); hidden != nil {
		say("At %s, p99 is %s from when operations were to begin, and %s from when they were sent: that is all that a closed "+
			"loop would have shown.", units.Rate(hidden.Offered), units.Latency(hidden.P99NS), units.Latency(hidden.ServiceNS))
	}
	if !f.tooFew() && !f.decided() {
		low := "nothing"
		if o.Low > 0 {
			low = units.Rate(o.Low)
		}
		say("Setups differ: what is kept is %s in one and %s in another.", low, units.Rate(o.High))
	}
	if late := f.late(false); len(late) > 0 {
		say("At %s a second the generator was itself the bottleneck: these do not measure the server. Give the generator separate CPUs.",
			rates(late))
	}
	if late := f.late(true); len(late) > 0 {
		say("At %s a second the generator was late itself: these rates are kept all the same, and latencies hold its lag.", rates(late))
	}
	if o.Next > 0 {
		say("Offer %s a second next.", units.Rate(o.Next))
	}
	return strings.Join(lines, "\n")
}

// rates lists rates.
func rates(all []float64) string { return plural.List(all, units.Rate) }
