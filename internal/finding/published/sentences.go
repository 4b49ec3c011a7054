package published

import (
	"fmt"
	"strings"

	"plimsoll/internal/finding/fact"
	"plimsoll/internal/finding/prose"
	"plimsoll/internal/plural"
	"plimsoll/internal/units"
)

func (k claimCase) title(c *fact.Claim) string {
	says := k.says
	if says == "" {
		says = "nothing of it was measured"
	}
	return fmt.Sprintf("%s: %s: %s, published %s (%s, %s)", prose.Capital(string(c.Verdict)), c.Statement, says, c.Published,
		c.Paper, c.Where)
}

func (k claimCase) reasons(t Tested) string {
	why := []string{"The verdict: " + k.why.words + "."}
	if len(k.grounds) > 0 {
		why = append(why, "Measured here: "+words(k.grounds, " "))
	}
	why = append(why, "The paper: "+t.Paper+".")
	if t.Experiment != "" {
		why = append(why, fmt.Sprintf("`plimsoll run %s` is made to test it.", t.Experiment))
	}
	return strings.Join(why, " ")
}

// words are those of remarks.
func words(all []said, between string) string {
	return strings.Join(plural.Words(all, func(s said) string { return s.words }), between)
}

// statement is what a claim is about: "btrfs RW nodatacow against btrfs RW".
func (t Tested) statement() string {
	text := strings.Join(t.Subject, ", ")
	if t.Ordering {
		text = "order of " + plural.And(t.Subject)
	}
	if t.Baseline != "" {
		text += " against " + t.Baseline
	}
	if t.About != "" {
		text += ", " + t.About
	}
	return text
}

// standsIn is what was measured in the place of what a claim speaks of; "" for nothing.
func (t Tested) standsIn() string {
	if t.StandIn == "" && t.Instead != nil {
		return t.Instead.String()
	}
	return t.StandIn
}

// String says what ran in the place of what.
func (i Instead) String() string {
	var parts []string
	if i.Database != "" {
		parts = append(parts, i.Database+" in the place of "+i.Of)
	}
	if i.Asked != "" {
		parts = append(parts, "workload "+i.Asked+" in the place of "+plural.Or(i.Roles))
	}
	if i.Drives != nil {
		parts = append(parts, "a device that is limited to as many reads and writes as each does in the place of "+
			plural.And(i.Drives))
	}
	return strings.Join(parts, ", ")
}

// String is a published value as papers write it: "5x", "1x ± 0.1", "below 1x", "24 jobs".
func (v Value) String() string {
	text := ""
	switch {
	case v.Order != nil:
		return strings.Join(v.Order, ", ") + " (best first)"
	case v.Parts != nil:
		return strings.Join(plural.Words(v.Parts, func(p Part) string { return p.Name + " " + p.Value.String() }), ", ")
	case v.Low == nil:
		text = "below " + v.number(*v.High)
	case v.High == nil:
		text = "above " + v.number(*v.Low)
	case *v.Low == *v.High:
		text = v.number(*v.Low)
	default:
		text = v.number(*v.Low) + " to " + v.number(*v.High)
	}
	if v.Tolerance > 0 {
		text += fmt.Sprintf(" ± %.4g", v.Tolerance)
	}
	return text
}

func (v Value) number(x float64) string {
	switch {
	case v.Ratio:
		return fmt.Sprintf("%.4gx", x)
	case v.Unit == "share":
		return fmt.Sprintf("%.4g%%", 100*x)
	case v.Unit == "ops/s" || v.Unit == "IOPS":
		return units.Rate(x) + " " + v.Unit
	}
	return strings.TrimSpace(fmt.Sprintf("%.4g %s", x, v.Unit))
}

// interval is what a band is held against, in words, and value the band itself.
func (b Band) interval() string { return prose.Span(b.Quantity, b.Low, b.High) }
func (b Band) value() string    { return prose.Span(b.Quantity, b.From, b.To) }

// String says what a load is: "4 jobs x depth 8".
func (l Load) String() string {
	return fmt.Sprintf("%s x depth %d", plural.Count(l.Jobs, "job"), l.Depth)
}

func (l Lacking) String() string {
	load := "1 job x depth 1"
	if !l.Low {
		load = "at least "
		if l.Jobs > 1 {
			load += fmt.Sprintf("%d jobs and ", l.Jobs)
		}
		load += fmt.Sprintf("%d I/Os in flight", l.InFlight)
	}
	return fmt.Sprintf("the claim is about %s of %s, and the run has %s", l.Role, load,
		plural.List(l.Have, func(h Load) string { return fmt.Sprintf("%s (%s)", h.Workload, h) }))
}

func (u Unmeasured) String() string {
	if u.Status == "" {
		return fmt.Sprintf("%s has no measurement of %s", u.Stack, u.Workload)
	}
	text := fmt.Sprintf("%s was %s: %s", u.Stack, strings.Replace(u.Status, "failed", "tried and failed", 1), u.Why)
	if u.Remedy != "" {
		text += " (" + u.Remedy + ")"
	}
	return text
}

// does is what shapes of curves do, up to where they say so from.
var does = map[string]string{
	"level": "stays level from", "rises": "rises to %sx from", "falls": "falls to %sx from", "unclear": "is unclear from",
	"cliff": "falls off to %sx between", "jump": "jumps to %sx between",
}

// String says what a curve does, part by part.
func (c Curve) String() string {
	return strings.Join(plural.Words(c.Parts, func(p Shape) string {
		to := "to"
		if p.Does == "cliff" || p.Does == "jump" {
			to = "and"
		}
		does := strings.Replace(does[p.Does], "%s", units.Times(p.Ratio), 1)
		return fmt.Sprintf("%s %.3g %s %.3g %s", does, p.From, to, p.To, c.Unit)
	}), ", ")
}

// published is the place that a paper saw, and interval where it is here.
func (p Place) published() string { return fmt.Sprintf("%.3g %s", p.Published, p.Unit) }
func (p Place) interval() string  { return Between{p.From, p.To}.in(p.Unit) }

func (b Between) in(unit string) string { return fmt.Sprintf("%.3g to %.3g %s", b.From, b.To, unit) }

// String says where throughput peaks over the number of instances.
func (p Peak) String() string {
	text := fmt.Sprintf("is highest at %s", plural.Count(p.Best, p.Noun))
	if p.Rise != nil {
		text = fmt.Sprintf("rises to %sx from %d to %s", units.Times(p.Rise.Ratio), p.First, plural.Count(p.Best, p.Noun))
	}
	switch {
	case p.Valley != nil:
		return text + fmt.Sprintf(", falls to %sx at %d", units.Times(p.Valley.Ratio), p.Valley.To)
	case p.Plateau != nil:
		return text + fmt.Sprintf(", level from %d to %d", p.Plateau.From, p.Plateau.To)
	}
	return text + fmt.Sprintf(", and does not fall up to %d", p.Most)
}

func (m Moved) String() string {
	return fmt.Sprintf("most is done with %d containers with more %s, and with %d with less", m.Best, m.Of, m.Less)
}

func (i Instances) String() string {
	if i.Valley == nil {
		return fmt.Sprintf("never falls, up to %d containers", i.Most)
	}
	return fmt.Sprintf("falls to %sx from %d to %d containers", units.Times(i.Valley.Ratio), i.Valley.From, i.Valley.To)
}

func (g Grown) String() string {
	return fmt.Sprintf("%s from %d to %d containers", prose.ShortRatio(g.Effect), g.From, g.To)
}

// String says what an I/O takes: in all, and its parts.
func (l Latency) String() string {
	return fmt.Sprintf("%s (slat %s, clat %s)", units.Latency(l.Total), units.Latency(l.Submission), units.Latency(l.Completion))
}

func (a Asked) String() string {
	switch {
	case a.Memory != nil:
		return fmt.Sprintf("%s, memory answered: %s", a.Stack, prose.Served(a.Memory))
	case a.Devices != nil:
		return fmt.Sprintf("%s, %s writes %sx as often and %sx as much as fio", a.Stack, plural.And(a.Devices), units.Times(a.IOs),
			units.Times(a.Bytes))
	}
	return fmt.Sprintf("%s, the device serves %s I/Os per I/O of fio", a.Stack, units.Times(*a.Ratio))
}

func (o Others) title() string {
	return fmt.Sprintf("%s %s not about stacks or workloads of this run: %s", plural.Count(o.Claims, "more published result"),
		plural.Choose(o.Claims, "is", "are"),
		plural.List(o.Papers, func(p OfPaper) string { return fmt.Sprintf("%d of %s", p.Claims, p.Paper) }))
}

func (o Others) why() string {
	rest := "The rest needs databases or storage drivers that no built-in experiment has, or several hosts."
	if len(o.Experiments) == 0 {
		return rest
	}
	return "Built-in experiments test some of them: " + strings.Join(plural.Words(o.Experiments, func(e Experiments) string {
		return fmt.Sprintf("`plimsoll run %s` (%s)", e.Name, plural.And(e.Claims))
	}), ", ") + ". " + rest
}
