package loadline

import (
	"fmt"
	"strings"

	"plimsoll/internal/finding/fact"
	"plimsoll/internal/finding/prose"
	"plimsoll/internal/units"
	"plimsoll/internal/units/plural"
)

// title says what is found of the curve.
func (f *Facts) title() string {
	c, last := f.Curve, f.Curve.last().Instances
	said := c.Workload + ": "
	switch {
	case !c.Line.Objective.None():
		carries := "no number of instances"
		if c.Line.Instances > 0 {
			carries = plural.Count(c.Line.Instances, "instance")
		}
		said += carries + " for " + aim(c.Line.Objective)
		if misses := f.misses(); misses != "" {
			said += "; " + misses
		}
		return said
	case c.Open != "":
		return said + fmt.Sprintf("%d of them did most, but where more stop helping is not known yet", c.Best)
	case c.Valley != nil:
		said += fmt.Sprintf("%d do most together, and %d do %s times as much", c.Valley.From, c.Valley.To, units.Times(c.Valley.Ratio))
		if why := c.Valley.Cause.because(); why != "" {
			said += ": " + why
		}
		return said
	case c.Line.Instances < last:
		return said + fmt.Sprintf("%d did most together, and whether %d do less may be chance", c.Best, last)
	}
	return said + fmt.Sprintf("more of them never do less, up to %d", last)
}

// verdict is the first sentence of a run that asks for nothing else.
func (f *Facts) verdict(sure fact.Confidence) string {
	c, last := f.Curve, f.Curve.last().Instances
	o := c.Line.Objective
	switch {
	case sure == fact.TooEarly && o.None():
		return fmt.Sprintf("Too early to say how many instances of %s this host carries", c.Workload)
	case sure == fact.TooEarly:
		return fmt.Sprintf("Too early to say how many instances of %s this host carries for %s", c.Workload, aim(o))
	case !o.None():
		said := fmt.Sprintf("%s: for %s, this host carries %s of %s", prose.Capital(string(sure)), aim(o), f.carried(), c.Workload)
		switch misses := f.misses(); {
		case c.Line.Full() || c.Line.Instances == last:
			said += c.Line.more()
		case misses != "":
			return said + "; " + misses
		}
		if c.Valley != nil {
			said += fmt.Sprintf("; %d together do only %s times as much", c.Valley.To, units.Times(c.Valley.Ratio))
		}
		return said
	case c.Valley != nil:
		said := fmt.Sprintf("%s: this host carries %d instances of %s; %d together do only %s times as much",
			prose.Capital(string(sure)), c.Line.Instances, c.Workload, c.Valley.To, units.Times(c.Valley.Ratio))
		if why := c.Valley.Cause.because(); why != "" {
			said += ", since " + why
		}
		return said
	case c.Line.Instances < last:
		return fmt.Sprintf("Likely: this host carries %d instances of %s; whether %d together do less may be chance", c.Line.Instances,
			c.Workload, last)
	}
	return fmt.Sprintf("%s: this host carries %d instances of %s%s; none of them made all do less", prose.Capital(string(sure)), last,
		c.Workload, c.Line.more())
}

// more says whether the host may carry more than were measured.
func (l Line) more() string {
	if l.Full() {
		return ", and its memory has room for no more"
	}
	return " and perhaps more"
}

// carried says how many instances meet the objective.
func (f *Facts) carried() string {
	switch fewest := f.Curve.Points[0].Instances; {
	case f.Curve.Line.Instances > 0:
		return plural.Count(f.Curve.Line.Instances, "instance")
	case fewest == 1:
		return "not even one instance"
	default:
		return fmt.Sprintf("fewer than %d instances", fewest)
	}
}

// aim says what an objective asks for.
func aim(o fact.Objective) string {
	var asked []string
	if o.P99NS > 0 {
		asked = append(asked, "p99 of at most "+units.Latency(o.P99NS))
	}
	if o.Standalone > 0 {
		asked = append(asked, fmt.Sprintf("each at %s or more of one alone", units.Percent(o.Standalone)))
	}
	return plural.And(asked)
}

// misses says why those beyond the load line are too many; "" where they are not known to be.
func (f *Facts) misses() string {
	p := f.beyond()
	if p == nil {
		return ""
	}
	var all []string
	if f.Curve.Line.Objective.TooSlow(*p) {
		all = append(all, "p99 is "+units.Latency(p.P99NS))
	}
	if f.Curve.Line.Objective.TooLittle(*p) {
		all = append(all, fmt.Sprintf("each does %s of one alone", units.Percent(f.Curve.timesAlone(*p))))
	}
	return fmt.Sprintf("with %d, %s", p.Instances, plural.And(all))
}

// because is why throughput falls; "" where nothing explains it.
func (c Cause) because() string {
	switch c {
	case CauseMemory:
		return "their files outgrow its memory"
	case CauseCPU:
		return "its processors are busy"
	}
	return ""
}

// each says what was measured, a line for each question and the answer first; the numbers of all are
// in the table.
func (f *Facts) each() string {
	c := f.Curve
	var lines []string
	say := func(sentences ...string) {
		if line := strings.TrimSpace(strings.Join(sentences, " ")); line != "" {
			lines = append(lines, line)
		}
	}
	if f.hasLine() {
		say(c.Line.where())
	}
	say(c.does())
	say(c.falls())
	say(f.waits())
	say(c.binds(), f.slowest())
	open, _, _ := strings.Cut(c.Open, "\n")
	say(prose.Sentence(open))
	if next := f.Next(); next != "" {
		say(prose.Capital(next) + ".")
	}
	return strings.Join(lines, "\n")
}

// where says where the line is, and how sure that is.
func (l Line) where() string {
	switch {
	case l.Objective.Unknown():
		return fmt.Sprintf("Each is to do %s of what one does alone, and one alone was not measured.", units.Percent(l.Objective.Standalone))
	case l.Instances == 0:
		return fmt.Sprintf("No number of instances that was measured has %s.", aim(l.Objective))
	}
	said := "The"
	if !l.Objective.None() {
		said = fmt.Sprintf("For %s, the", aim(l.Objective))
	}
	said += " load line is at " + plural.Count(l.Instances, "instance")
	bringUps := plural.Count(l.BringUps, "setup")
	switch {
	case l.Decided():
		said += fmt.Sprintf(", however the %s are drawn anew", bringUps)
	case l.Low > 0:
		said += fmt.Sprintf(", and may lie anywhere from %d to %d: samples of the %s differ by so much", l.Low, l.High, bringUps)
	default:
		said += fmt.Sprintf("; %s are too few to say how sure that is", bringUps)
	}
	said += "."
	if l.Enough < l.Instances {
		said += fmt.Sprintf(" As much is done by %d already.", l.Enough)
	}
	return said
}

// does says where throughput is highest, and where it stops growing.
func (c Curve) does() string {
	on := "on the whole host"
	switch {
	case c.Imported:
		on = "elsewhere"
	case c.Host != "":
		on = "in a scaled-down host of " + c.Host
	}
	said := fmt.Sprintf("All together do most with %d: %s a second, %s.", c.Best, units.Rate(c.pointAt(c.Best).Rate), on)
	if c.Rate == nil {
		return said
	}
	if c.Rate.Knee != nil {
		said += fmt.Sprintf(" More instances add less from %s.", c.Rate.Knee)
	}
	if p := c.Rate.Plateau; p != nil {
		said += fmt.Sprintf(" From %d to %d all together do the same, within 10%%.", p.From, p.To)
	}
	return said
}

// String says where a knee is: it lies between two numbers, as a rule.
func (k *Knee) String() string {
	if k.Low == k.High {
		return fmt.Sprintf("about %s on", units.Digits(k.At))
	}
	return fmt.Sprintf("about %s on (%s to %s)", units.Digits(k.At), units.Digits(k.Low), units.Digits(k.High))
}

// falls says by how much throughput falls, and why; "" where it does not.
func (c Curve) falls() string {
	if c.Valley == nil {
		return ""
	}
	from, to := c.pointAt(c.Valley.From), c.pointAt(c.Valley.To)
	said := fmt.Sprintf("From %d to %d throughput falls to %s times as much, as noise alone would in %s of runs: ", from.Instances,
		to.Instances, units.Times(c.Valley.Ratio), units.Percent(c.Valley.P))
	size := func(bytes float64) string { return units.Bytes(uint64(bytes)) }
	switch c.Valley.Cause {
	case CauseMemory:
		return said + fmt.Sprintf("device reads of an operation go from %s to %s, and the page cache of each falls from %s to %s. "+
			"What they read no longer fits into memory.", units.Digits(from.DeviceReads), units.Digits(to.DeviceReads),
			size(from.CacheBytes), size(to.CacheBytes))
	case CauseCPU:
		return said + units.Digits(to.CPUs) + " CPUs are at work then."
	}
	return said + fmt.Sprintf("neither the device reads of an operation, %s with %d and %s with %d, nor the processors explain it.",
		units.Digits(from.DeviceReads), from.Instances, units.Digits(to.DeviceReads), to.Instances)
}

// waits says how long operations take; "" where that is not known.
func (f *Facts) waits() string {
	c, first, last := f.Curve, f.Curve.Points[0], f.Curve.last()
	if !(last.P99NS > 0) {
		return ""
	}
	said := fmt.Sprintf("99%% of operations take up to %s with %d and %s with %d.", units.Latency(first.P99NS), first.Instances,
		units.Latency(last.P99NS), last.Instances)
	if c.P99 != nil && c.P99.Knee != nil {
		said += fmt.Sprintf(" That grows faster from %s.", c.P99.Knee)
	}
	if t := c.Tail; t != nil {
		said += fmt.Sprintf(" From %d instances on, that has grown faster than the mean: %sx from %d to %d, and the mean %sx.", t.Since,
			units.Times(t.P99), t.From, t.At, units.Times(t.Mean))
	}
	return said
}

// binds says what keeps all together from doing more; "" where nothing does.
func (c Curve) binds() string {
	var all []string
	for _, b := range c.bindings() {
		all = append(all, b.String()+" with "+plural.And(b.instances))
	}
	if len(all) == 0 {
		return ""
	}
	return "What keeps them from doing more: " + strings.Join(all, "; ") + "."
}

// String names what binds, and how much of it is used.
func (b binding) String() string {
	said := b.resource.Means()
	switch b.resource {
	case fact.Memory:
		said = "memory"
	case fact.Processors:
		said = "the processors"
	}
	if b.use == nil {
		return said
	}
	of := "the limit"
	if b.resource == fact.Device {
		of = "the time"
	}
	return fmt.Sprintf("%s (%s of %s)", said, units.Percent(b.use.Share()), of)
}

// slowest tells of an instance that gets less than others; "" where all get about the same.
func (f *Facts) slowest() string {
	p := f.unfair()
	if p == nil {
		return ""
	}
	return fmt.Sprintf("The slowest of %d gets %s of an equal share.", p.Instances, units.Percent(p.Weakest))
}

// Next says what to measure next; "" for nothing, or where nothing can be told yet.
func (f *Facts) Next() string {
	l := f.Curve.Line
	if !f.hasLine() {
		return ""
	}
	switch l.NextWhy {
	case NextBeyond:
		return fmt.Sprintf("measure %d instances too: the line may lie beyond those that were measured", l.Next)
	case NextAlone:
		return "measure one instance alone too"
	case NextBelow:
		return fmt.Sprintf("measure %s too: none of those that were measured meets the objective", plural.Count(l.Next, "instance"))
	case NextBetween:
		return fmt.Sprintf("measure %d instances too: they may do as much, or more", l.Next)
	case NextAgain:
		what := "do about as much"
		if !l.Objective.None() {
			what = "may be the most that meet the objective"
		}
		return fmt.Sprintf("bring it up more often: from %d to %d instances %s", l.Low, l.High, what)
	}
	return ""
}
