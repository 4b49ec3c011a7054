package policies

import (
	"fmt"
	"strings"

	"plimsoll/internal/fact"
	"plimsoll/internal/finding/prose"
	"plimsoll/internal/stats"
	"plimsoll/internal/units"
	"plimsoll/internal/units/plural"
)

// whose names what the policies are for.
func (f *Facts) whose() string {
	return fmt.Sprintf("%s of %s", plural.Count(f.Policies.Instances, "instance"), f.Policies.Workload)
}

// verdict is the first sentence of a run that asks for nothing else.
func (f *Facts) verdict(sure fact.Confidence) string {
	if sure == fact.TooEarly {
		return fmt.Sprintf("Too early to say what limits cost %s: %s", f.whose(), f.early())
	}
	return fmt.Sprintf("%s: with %s, %s", prose.Capital(string(sure)), f.whose(), f.cost())
}

// cost says what the policies cost, the one that costs most first.
func (f *Facts) cost() string {
	costs, level, open := f.costs(), f.level(), f.open()
	switch {
	case len(costs) > 0:
		costliest := costs[0]
		text := fmt.Sprintf("policy %s costs most, %s times the throughput of none", costliest.Name,
			units.Times(costliest.Throughput.Ratio))
		if tail := costliest.tail(); tail != nil {
			text += fmt.Sprintf(" and %s times its p99", units.Times(tail.Ratio))
		}
		if len(level) > 0 {
			text += fmt.Sprintf("; %s %s at most %s", names(level), plural.Choose(len(level), "costs", "cost"),
				prose.AtMost(MayCost(level)))
		}
		return text + f.slower(", though p99 is")
	case len(level) > 0 && len(open) > 0:
		return fmt.Sprintf("%s %s at most %s of throughput, and of %s it is not known", names(level),
			plural.Choose(len(level), "costs", "cost"), prose.AtMost(MayCost(level)), names(open)) + f.slower("; p99 is")
	case len(level) > 0:
		return fmt.Sprintf("no policy costs more than %s of throughput", prose.AtMost(MayCost(level))) + f.slower("; p99 is")
	}
	return f.early()
}

// slower says which policy makes p99 longer although it costs little throughput; "" for none.
func (f *Facts) slower(p99Is string) string {
	slow := f.slow()
	if slow == nil {
		return ""
	}
	return fmt.Sprintf("%s %s times as long under %s", p99Is, units.Times(slow.tail().Ratio), slow.Name)
}

// early says why nothing can be told yet.
func (f *Facts) early() string {
	if few, so := f.tooFew(); so {
		return fmt.Sprintf("it takes %d setups to separate effects from chance, and some have only %d", stats.FewestPairs, few)
	}
	return "trials differ too much to show what any policy costs"
}

func names(all []Policy) string { return plural.List(all, func(p Policy) string { return p.Name }) }

// details has a line for each policy, the one that costs most first.
func (f *Facts) details() string {
	baseline := f.Policies.None
	first := fmt.Sprintf("Without limits of their own, all together do %s a second", units.Rate(baseline.Rate))
	if baseline.P99NS > 0 {
		first += ", with a p99 of " + units.Latency(baseline.P99NS)
	}
	if f.Policies.Host != "" {
		first += ", in a scaled-down host of " + f.Policies.Host
	}
	lines := []string{first + "."}
	for _, some := range [][]Policy{f.costs(), f.level(), f.open()} {
		for _, p := range some {
			lines = append(lines, p.sentence())
		}
	}
	var unfair []string
	for _, p := range f.unfair() {
		unfair = append(unfair, fmt.Sprintf("Under %s the slowest instance gets %s of an equal share.", p.Name, units.Percent(p.Weakest)))
	}
	if len(unfair) > 0 {
		lines = append(lines, strings.Join(unfair, " "))
	}
	return strings.Join(lines, "\n")
}

// sentence describes the effect of one policy, and which of its limits hold instances back.
func (p *Policy) sentence() string {
	var text string
	switch p.Cost {
	case CostUnknown:
		text = "too few setups show what it costs"
	case CostSome:
		text = times(p.Throughput) + " times the throughput of none"
	case CostGain:
		text = times(p.Throughput) + " times the throughput of none, which is more"
	case CostNone:
		text = fmt.Sprintf("costs at most %s of throughput", prose.AtMost(p.Throughput.MayLose()))
	default:
		text = "whether it costs throughput is not known: trials differ by more than 10%"
	}
	if tail := p.tail(); tail != nil {
		text += fmt.Sprintf(", %s times its p99", times(tail))
	}
	text = p.Name + ": " + text + "."
	if p.Cost == CostUnknown {
		return text
	}
	if len(p.Held) > 0 {
		text += fmt.Sprintf(" What holds instances back: %s.", plural.List(p.Held, limit))
	}
	if idle := p.idle(); len(idle) > 0 {
		text += fmt.Sprintf(" Not reached: %s.", plural.List(idle, limit))
	}
	return text
}

// times is a ratio with its interval.
func times(e *fact.Effect) string { return prose.Within(*e, units.Times) }

// limit names the resources that instances are limited in.
func limit(on fact.Resource) string {
	switch on {
	case fact.Processors:
		return "the scaled-down host's processors"
	case fact.OwnCPUs:
		return "the CPUs of each"
	case fact.Memory:
		return "memory"
	case fact.Reads, fact.Writes, fact.ReadBytes, fact.WriteBytes:
		return on.Means()
	}
	return "the device itself"
}
