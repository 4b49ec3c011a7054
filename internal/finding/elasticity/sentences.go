package elasticity

import (
	"fmt"
	"strings"

	"plimsoll/internal/fact"
	"plimsoll/internal/finding/prose"
	"plimsoll/internal/units"
	"plimsoll/internal/units/plural"
)

func (f *Facts) title() string {
	e, count := f.Elasticity, f.count()
	var text string
	switch {
	case e.Open:
		text = "too few setups show what each limit is worth"
	case len(e.Helps) > 0:
		text = count[0].buys(count[0].More, percent(count[0].More.Rate))
	case len(e.Needed) > 0:
		text = count[0].costs(count[0].Less, percent(count[0].Less.Rate), f.ofWhat())
		if len(e.Undecided) == 0 {
			text = f.noneBuys() + "; " + text
		}
	case len(e.Undecided) > 0:
		text = "trials differ too much to show what each limit is worth"
	default:
		idle, _ := f.remaining()
		text = fmt.Sprintf("no limit counts: more or less of one changes throughput by at most %s",
			prose.AtMost(e.ChangeAtMost(idle...)))
	}
	return fmt.Sprintf("%s: with %s, %s", e.Workload, plural.Count(e.Instances, "instance"), text)
}

// noneBuys says how little more of each limit does.
func (f *Facts) noneBuys() string {
	return fmt.Sprintf("no limit that was relaxed buys more than %s more throughput", prose.AtMost(f.Elasticity.BuyAtMost()))
}

// moves says what moves throughput, where a limit counts: for a verdict, which has no intervals.
func (f *Facts) moves(line int) string {
	first := f.count()[0]
	text := fmt.Sprintf("with %d, ", f.Elasticity.Instances)
	if line > 0 && f.Elasticity.Instances > line {
		text = fmt.Sprintf("with %d, more than it carries, ", f.Elasticity.Instances)
	}
	if len(f.Elasticity.Helps) > 0 {
		return text + first.buys(first.More, units.Percent(first.More.Rate.Ratio-1))
	}
	if f.noneHelps() {
		text += f.noneBuys() + ", and "
	}
	return text + first.costs(first.Less, units.Percent(1-first.Less.Rate.Ratio), f.ofWhat())
}

// ofWhat is what less of a limit costs, after a sentence on throughput or not.
func (f *Facts) ofWhat() string {
	if f.noneHelps() {
		return "it"
	}
	return "throughput"
}

func (w Worth) buys(more *LimitChange, much string) string {
	return fmt.Sprintf("%s buy%s %s more throughput", w.changed(more.Factor), s(w.Resource), much)
}

func (w Worth) costs(less *LimitChange, much, of string) string {
	return fmt.Sprintf("%s cost%s %s of %s", w.changed(less.Factor), s(w.Resource), much, of)
}

// why has all limits: those that count, each by itself, and what is known of the others.
func (f *Facts) why() string {
	e, count := f.Elasticity, f.count()
	var sentences []string
	say := func(format string, values ...any) { sentences = append(sentences, fmt.Sprintf(format, values...)) }
	tail := ""
	if e.P99NS > 0 {
		tail = " with a p99 of " + units.Latency(e.P99NS)
	}
	say("Limits of the scaled-down host (%s) were relaxed and tightened one at a time, in the same rounds as %s itself, which does %s a "+
		"second%s.", e.Host, e.Mix, units.Rate(e.Rate), tail)
	for _, w := range count {
		say("%s.", w.did())
	}
	if len(count) > 0 {
		say("That holds for what was tried, not beyond.")
	}
	idle, noisy := f.remaining()
	if len(idle) > 0 && !e.Open {
		say("More or less %s changes throughput by at most %s.", names(idle), prose.AtMost(e.ChangeAtMost(idle...)))
	}
	if len(noisy) > 0 && !e.Open {
		say("Of %s it is not known: with more or less, throughput may change by 10%% or more, and may not at all. More setups "+
			"would show.", names(noisy))
	}
	if failed := e.failed(); len(failed) > 0 {
		say("With %s, no trial was completed.", plural.And(failed))
	}
	if e.Doubled != nil {
		say("%s", e.Doubled.predicts())
	}
	if !e.Open && (len(count) > 0 || len(noisy) == 0) {
		sentences = append(sentences, e.sides())
	}
	return strings.TrimSpace(strings.Join(sentences, " "))
}

// failed are the changes of limits with which no trial was completed.
func (e *Elasticity) failed() (changes []string) {
	for _, w := range e.Limits {
		for _, factor := range w.Failed {
			changes = append(changes, w.changed(factor))
		}
	}
	return changes
}

// predicts says how many instances twice of a limit would carry.
func (d *Doubled) predicts() string {
	text := fmt.Sprintf("Predicted, not measured: by a model of this run, which is %s off for points that it was not fitted to, "+
		"this "+
		"host carries %d", units.Percent(d.Off), d.Line)
	carry, carryNoMore := d.carry()
	for _, m := range carry {
		text += fmt.Sprintf("; with twice the %s %d", m.Resource.Limit(), m.Instances)
		if m.High == m.Most {
			text += " or more"
		} else if m.Low != m.High {
			text += fmt.Sprintf(" (%d to %d)", m.Low, m.High)
		}
	}
	if len(carryNoMore) > 0 {
		text += fmt.Sprintf("; with twice the %s no more", names(carryNoMore))
	}
	return text + "."
}

// amount is a change of a limit: "20% more".
func (w Worth) amount(factor float64) string {
	switch {
	case factor >= 1:
		return units.Percent(factor-1) + " more"
	case s(w.Resource) == "s":
		return units.Percent(1-factor) + " less"
	}
	return units.Percent(1-factor) + " fewer"
}

// changed is a change of a limit: "20% more memory".
func (w Worth) changed(factor float64) string { return w.amount(factor) + " " + w.Resource.Limit() }

func names(limits []fact.Resource) string { return plural.List(limits, fact.Resource.Limit) }

// s ends the verb of what is one thing by its name.
func s(limit fact.Resource) string {
	switch limit {
	case fact.Memory, fact.Device, fact.ReadBytes, fact.WriteBytes:
		return "s"
	}
	return ""
}

// percent returns the size of an effect, with its interval.
func percent(e fact.Effect) string {
	if e.Ratio >= 1 {
		return prose.Within(e, func(ratio float64) string { return units.Percent(ratio - 1) })
	}
	e.Low, e.High = e.High, e.Low // of what is lost, the most is at the lower end
	return prose.Within(e, func(ratio float64) string { return units.Percent(1 - ratio) })
}

// did is what more and less of a limit that counts did.
func (w Worth) did() string {
	var parts []string
	if w.More != nil {
		parts = append(parts, w.changed(w.More.Factor)+" "+w.does(w.More))
	}
	if less := w.Less; less != nil {
		what := w.amount(less.Factor)
		if w.More == nil {
			what = w.changed(less.Factor)
		}
		parts = append(parts, what+" "+w.does(less))
	}
	text := strings.Join(parts, ", and ")
	if w.Rate != nil {
		text += fmt.Sprintf(": %s (%s to %s) percent of throughput for each percent", units.Digits(w.Rate.Value), units.Digits(w.Rate.Low),
			units.Digits(w.Rate.High))
	}
	return text
}

// does is what a change of a limit does to throughput and p99.
func (w Worth) does(c *LimitChange) string {
	var effect string
	switch {
	case !c.Rate.Differs:
		effect = "change" + s(w.Resource) + " nothing that can be distinguished from chance"
	case c.Rate.Ratio >= 1:
		effect = fmt.Sprintf("buy%s %s more throughput", s(w.Resource), percent(c.Rate))
	default:
		effect = fmt.Sprintf("cost%s %s of throughput", s(w.Resource), percent(c.Rate))
	}
	if c.P99 == nil || !c.P99.Differs {
		return effect
	}
	verb, much := "lower", "by "+percent(*c.P99)
	if c.P99.Ratio >= 1 {
		verb = "raise"
	}
	if c.P99.Ratio > 2 {
		much = "to " + units.Times(c.P99.Ratio) + " times as much"
	}
	return fmt.Sprintf("%s and %s%s p99 %s", effect, verb, s(w.Resource), much)
}

// sides has what was used beside what helps.
func (e *Elasticity) sides() string {
	binds := fmt.Sprintf("By what was used, %s bind%s there", used(e.Used), s(e.Used))
	switch {
	case e.Agrees && e.Used != "":
		return binds + ", and more of that helps: both sides agree."
	case e.Agrees:
		return "By use, no resource binds there, and no relaxed limit helps: both sides agree."
	case len(e.Undecided) > 0 && e.Used == "":
		return ""
	case len(e.Undecided) > 0:
		return binds + "."
	case e.Used != "" && len(e.Helps) == 0:
		return binds + "; yet no limit that was relaxed helps. The sides disagree: what is used up is not what is waited for, or a " +
			"larger step would show it."
	case e.Used != "":
		return binds + "; what helps is another limit. The sides disagree: one limit may hide the other."
	}
	return "By use, no resource binds there, but a relaxed limit helps: it binds in bursts, or between " +
		"samples. The sides disagree."
}

// used names what was used.
func used(resource fact.Resource) string {
	switch resource {
	case fact.Processors:
		return "the processors"
	case fact.OwnCPUs:
		return "the CPUs that each may use"
	case fact.Memory:
		return "memory"
	case fact.Reads:
		return "the reads a second of the device"
	case fact.Writes:
		return "the writes a second of the device"
	case fact.ReadBytes:
		return "the device's read bandwidth"
	case fact.WriteBytes:
		return "the device's write bandwidth"
	}
	return "the device itself"
}
