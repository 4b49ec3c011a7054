package published

import (
	"cmp"
	"fmt"
	"strings"

	"plimsoll/internal/fact"
	"plimsoll/internal/finding/prose"
	"plimsoll/internal/runview"
	"plimsoll/internal/stats"
	"plimsoll/internal/units"
	"plimsoll/internal/units/plural"
	"plimsoll/internal/workload/fio"
)

func (k claimCase) title(c *fact.Claim) string {
	measured := cmp.Or(k.sentence, "it was not measured")
	return fmt.Sprintf("%s: %s: %s, published %s (%s, %s)", prose.Capital(string(c.Verdict)), c.Statement, measured, c.Published,
		c.Paper, c.Where)
}

func (k claimCase) reasons(t Tested) string {
	why := []string{"The verdict: " + k.why.Text + "."}
	if len(k.grounds) > 0 {
		why = append(why, "Measured here: "+texts(k.grounds, " "))
	}
	why = append(why, "The paper: "+t.Paper+".")
	if t.Experiment != "" {
		why = append(why, fmt.Sprintf("`plimsoll run %s` is made to test it.", t.Experiment))
	}
	return strings.Join(why, " ")
}

// texts joins the texts of reasons.
func texts(all []Reason, between string) string {
	return strings.Join(plural.Words(all, func(r Reason) string { return r.Text }), between)
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
	if i.Distribution != "" {
		parts = append(parts, i.Distribution+" requests in the place of "+plural.Or(i.Distributions)+" ones")
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

// loadText describes a load: "4 jobs x depth 8".
func loadText(l fio.Load) string {
	return fmt.Sprintf("%s x depth %d", plural.Count(l.Jobs, "job"), l.Depth)
}

// curveText describes a curve part by part; places are divided by scale and in a unit.
func curveText(c stats.Curve, unit string, scale float64) string {
	var parts []string
	add := func(format string, ratio, from, to float64) {
		format = strings.Replace(format, "RATIO", units.Times(ratio), 1)
		parts = append(parts, fmt.Sprintf(format+" %s", from/scale, to/scale, unit))
	}
	for i, s := range c.Segments {
		if s.From != s.To {
			add(segmentTexts[s.Shape], s.Ratio.Ratio, s.From, s.To)
		}
		if i < len(c.Changes) {
			if change := c.Changes[i]; changeTexts[change.Kind] != "" {
				add(changeTexts[change.Kind], change.Ratio.Ratio, change.From, change.To)
			}
		}
	}
	return strings.Join(parts, ", ")
}

// segmentTexts and changeTexts are the formats of parts; a knee has none.
var (
	segmentTexts = map[stats.SegmentShape]string{
		stats.Plateau: "stays level from %.3g to %.3g", stats.Rises: "rises to RATIOx from %.3g to %.3g",
		stats.Falls: "falls to RATIOx from %.3g to %.3g", stats.Unclear: "is unclear from %.3g to %.3g",
	}
	changeTexts = map[stats.ChangeKind]string{
		stats.Cliff: "falls off to RATIOx between %.3g and %.3g", stats.Jump: "jumps to RATIOx between %.3g and %.3g",
	}
)

// latencyText describes the mean latency of an I/O: in all, and its parts.
func latencyText(l runview.Latency) string {
	return fmt.Sprintf("%s (slat %s, clat %s)", units.Latency(l.Total), units.Latency(l.Slat), units.Latency(l.Clat))
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
