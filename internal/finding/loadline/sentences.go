package loadline

import (
	"fmt"
	"strings"

	"plimsoll/internal/fact"
	"plimsoll/internal/fact/threshold"
	"plimsoll/internal/finding/prose"
	"plimsoll/internal/result/hist"
	"plimsoll/internal/units"
	"plimsoll/internal/units/plural"
)

// title says what is found of the curve.
func (f *Facts) title() string {
	c, last := f.Curve, f.Curve.last().Instances
	text := c.Workload + ": "
	switch {
	case !c.Line.Objective.None():
		carries := "no number of instances"
		switch {
		case c.Line.Instances > 0:
			carries = plural.Count(c.Line.Instances, "instance")
		case len(c.Line.Unknown) > 0:
			return text + fmt.Sprintf("how many instances have %s is not known: too few operations", aim(c.Line.Objective))
		}
		text += carries + " for " + aim(c.Line.Objective)
		if misses := f.misses(); misses != "" {
			text += "; " + misses
		}
		return text
	case c.Open != "":
		return text + fmt.Sprintf("%d of them did most, but where more stop helping is not known yet", c.Best)
	case c.Valley != nil:
		text += fmt.Sprintf("%d do most together, and %d do %s times as much", c.Valley.From, c.Valley.To,
			units.Times(c.Valley.Ratio))
		if why := c.Valley.Cause.because(); why != "" {
			text += ": " + why
		}
		return text
	case c.Line.Instances < last:
		return text + fmt.Sprintf("%d did most together, and whether %d do less may be chance", c.Best, last)
	}
	return text + fmt.Sprintf("no larger number was seen to do less, up to %d", last)
}

// verdict is the first sentence of a run that asks for nothing else.
func (f *Facts) verdict(sure fact.Confidence) string {
	c, last := f.Curve, f.Curve.last().Instances
	o := c.Line.Objective
	host, surely := prose.Subject(c.Host), prose.Capital(string(sure))
	switch {
	case sure == fact.TooEarly && o.None():
		return fmt.Sprintf("Too early to say how many instances of %s %s carries", c.Workload, host)
	case sure == fact.TooEarly:
		return fmt.Sprintf("Too early to say how many instances of %s %s carries for %s", c.Workload, host, aim(o))
	case !o.None():
		text := fmt.Sprintf("%s: for %s, %s carries %s of %s", surely, aim(o), host, f.carried(), c.Workload)
		switch misses := f.misses(); {
		case c.Line.Full() || c.Line.Instances == last:
			text += c.Line.capacity()
		case misses != "":
			return text + "; " + misses
		}
		if c.Valley != nil {
			text += fmt.Sprintf("; %d together do only %s times as much", c.Valley.To, units.Times(c.Valley.Ratio))
		}
		return text
	case c.Valley != nil && c.Line.High >= c.Valley.To: // some samples have the line where all samples together have the valley
		return fmt.Sprintf("%s: %s carries %d to %d instances of %s", surely, host, c.Line.Low, c.Line.High, c.Workload)
	case c.Valley != nil:
		text := fmt.Sprintf("%s: %s carries %d instances of %s; %d together do only %s times as much", surely, host,
			c.Line.Instances, c.Workload, c.Valley.To, units.Times(c.Valley.Ratio))
		if why := c.Valley.Cause.because(); why != "" {
			text += ", since " + why
		}
		return text
	case c.Line.Instances < last:
		return fmt.Sprintf("Likely: %s carries %d instances of %s; whether %d together do less may be chance", host,
			c.Line.Instances, c.Workload, last)
	}
	return fmt.Sprintf("%s: %s carries %d instances of %s%s; none of them makes all do %s less", surely, host, last, c.Workload,
		c.Line.capacity(), units.Percent(1-threshold.Valley))
}

// secondVerdict is appended to the verdict of another workload of the same run; "" if nothing is known yet.
func (f *Facts) secondVerdict(sure fact.Confidence) string {
	line := f.Curve.Line
	text := "of " + f.Curve.Workload
	switch sure {
	case fact.TooEarly:
		return ""
	case fact.Sure:
		text += " surely"
	default:
		text += " likely"
	}
	switch {
	case line.Low > 0 && line.Low < line.High:
		return fmt.Sprintf("%s %d to %d", text, line.Low, line.High)
	case line.Instances == 0:
		return text + " " + strings.TrimSuffix(f.carried(), " instances")
	}
	text += fmt.Sprintf(" %d", line.Instances)
	if !line.Full() && line.Instances == f.Curve.last().Instances {
		text += line.capacity()
	}
	return text
}

// capacity says whether the host may carry more instances than were measured.
func (l Line) capacity() string {
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
	var reasons []string
	if f.Curve.Line.Objective.TooSlow(*p) {
		reasons = append(reasons, "p99 is "+units.Latency(p.P99NS))
	}
	if f.Curve.Line.Objective.TooLittle(*p) {
		reasons = append(reasons, fmt.Sprintf("each does %s of one alone", units.Percent(f.Curve.timesAlone(*p))))
	}
	return fmt.Sprintf("with %d, %s", p.Instances, plural.And(reasons))
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

// details says what was measured, a line for each question and the answer first; the numbers of all are
// in the table.
func (f *Facts) details() string {
	c := f.Curve
	var lines []string
	say := func(sentences ...string) {
		if line := strings.TrimSpace(strings.Join(sentences, " ")); line != "" {
			lines = append(lines, line)
		}
	}
	if f.hasLine() {
		say(c.Line.position())
	}
	say(c.does())
	say(c.falls())
	say(f.waits())
	say(c.binds(), f.slowest())
	open, _, _ := strings.Cut(c.Open, "\n")
	say(prose.Sentence(open))
	if next := f.open(); next != "" {
		say(prose.Capital(next) + ".")
	}
	return strings.Join(lines, "\n")
}

// position says where the line is, and how sure that is.
func (l Line) position() string {
	switch {
	case l.Objective.Unknown():
		return fmt.Sprintf("Each is to do %s of what one does alone, and one alone was not measured.", units.Percent(l.Objective.Standalone))
	case l.Instances == 0 && len(l.Unknown) > 0:
		return fmt.Sprintf("No number of instances is known to have %s.%s", aim(l.Objective), l.notKnown())
	case l.Instances == 0:
		return fmt.Sprintf("No number of instances that was measured has %s.", aim(l.Objective))
	}
	text := "The"
	if !l.Objective.None() {
		text = fmt.Sprintf("For %s, the", aim(l.Objective))
	}
	text += " load line is at " + plural.Count(l.Instances, "instance")
	bringUps := plural.Count(l.BringUps, "setup")
	switch {
	case l.Decided():
		text += fmt.Sprintf(", however the %s are drawn anew", bringUps)
	case l.Low > 0:
		text += fmt.Sprintf(", and may be anywhere from %d to %d: samples of the %s differ that much", l.Low, l.High, bringUps)
	default:
		text += fmt.Sprintf("; %s are too few to say how sure that is", bringUps)
	}
	text += "."
	if l.Enough < l.Instances {
		text += fmt.Sprintf(" As much within %s was done by %d already.", units.Percent(1-threshold.Valley), l.Enough)
	}
	return text + l.notKnown()
}

// notKnown says with which numbers a p99 is of too few operations to be held against the objective; "" for none.
func (l Line) notKnown() string {
	if len(l.Unknown) == 0 {
		return ""
	}
	return fmt.Sprintf(" With %s, p99 is not known: it takes %s operations of each setup.", numbers(l.Unknown),
		units.Grouped(float64(hist.LeastFor(99))))
}

// undecidable reports whether nothing can be told of the line: what it is to be held against is not known.
func (l Line) undecidable() bool {
	return l.Objective.Unknown() || l.Instances == 0 && len(l.Unknown) > 0
}

// does says where throughput is highest, and where it stops growing.
func (c Curve) does() string {
	on := "on the whole host"
	switch c.Host.Origin {
	case fact.ImportedHost:
		on = "elsewhere"
	case fact.ScaledDown:
		on = "in a scaled-down host of " + c.Host.Has
	}
	text := fmt.Sprintf("All together do most with %d: %s a second, %s.", c.Best, units.Rate(c.pointAt(c.Best).Rate), on)
	if c.Rate == nil {
		return text
	}
	if c.Rate.Knee != nil {
		text += fmt.Sprintf(" More instances add less from %s.", c.Rate.Knee)
	}
	if p := c.Rate.Plateau; p != nil {
		text += fmt.Sprintf(" From %d to %d all together do the same, within 10%%.", p.From, p.To)
	}
	return text
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
	text := fmt.Sprintf("From %d to %d throughput falls to %s times as much, as noise alone would in %s of runs: ",
		from.Instances,
		to.Instances, units.Times(c.Valley.Ratio), units.Percent(c.Valley.P))
	size := func(bytes float64) string { return units.Bytes(uint64(bytes)) }
	switch c.Valley.Cause {
	case CauseMemory:
		return text + fmt.Sprintf("device reads of an operation go from %s to %s, and the page cache of each "+
			"falls from %s to %s. "+
			"What they read no longer fits into memory.", units.Digits(from.DeviceReads), units.Digits(to.DeviceReads),
			size(from.CacheBytes), size(to.CacheBytes))
	case CauseCPU:
		return text + units.Digits(to.CPUs) + " CPUs are at work then."
	}
	return text + fmt.Sprintf("neither the device reads of an operation, %s with %d and %s with %d, nor the processors "+
		"explain it.",
		units.Digits(from.DeviceReads), from.Instances, units.Digits(to.DeviceReads), to.Instances)
}

// waits says how long operations take; "" where that is not known.
func (f *Facts) waits() string {
	c, first, last := f.Curve, f.Curve.Points[0], f.Curve.last()
	if !(last.P99NS > 0 && first.P99NS > 0) {
		return ""
	}
	text := fmt.Sprintf("99%% of operations take up to %s with %d and %s with %d.", units.Latency(first.P99NS),
		first.Instances,
		units.Latency(last.P99NS), last.Instances)
	if c.P99 != nil && c.P99.Knee != nil {
		text += fmt.Sprintf(" That grows faster from %s.", c.P99.Knee)
	}
	if t := c.Tail; t != nil {
		text += fmt.Sprintf(" From %d instances on, that has grown faster than the mean: %sx from %d to %d, "+
			"and the mean %sx.", t.Since,
			units.Times(t.P99), t.From, t.At, units.Times(t.Mean))
	}
	return text
}

// binds says what keeps all together from doing more; "" where nothing does.
func (c Curve) binds() string {
	var bound []string
	for _, b := range c.bindings() {
		bound = append(bound, b.String()+" with "+plural.And(b.instances))
	}
	if len(bound) == 0 {
		return ""
	}
	return "What keeps them from doing more: " + strings.Join(bound, "; ") + "."
}

// String names what binds, and how much of it is used.
func (b binding) String() string {
	name := b.resource.Means()
	switch b.resource {
	case fact.Memory:
		name = "memory"
	case fact.Processors:
		name = "the processors"
	}
	if b.use == nil {
		return name
	}
	whole := "the limit"
	if b.resource == fact.Device {
		whole = "the time"
	}
	return fmt.Sprintf("%s (%s of %s)", name, units.Percent(b.use.Share()), whole)
}

// slowest names the share of an instance that gets less than others; "" where all get about the same.
func (f *Facts) slowest() string {
	p := f.unfair()
	if p == nil {
		return ""
	}
	return fmt.Sprintf("The slowest of %d gets %s of an equal share.", p.Instances, units.Percent(p.Weakest))
}

// open says what to measure next; "" for nothing, or where nothing can be told yet.
func (f *Facts) open() string {
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
	case NextLonger:
		return fmt.Sprintf("measure %s for longer: operations are too few for a p99", numbers(l.Unknown))
	case NextAgain:
		return fmt.Sprintf("bring it up more often: the line may lie anywhere from %d to %d instances", l.Low, l.High)
	}
	return ""
}
