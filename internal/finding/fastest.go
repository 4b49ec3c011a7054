package finding

import (
	"fmt"
	"slices"
	"strings"

	"plimsoll/internal/plural"
	"plimsoll/internal/units"
)

// fastest ranks the stacks of each workload. Only those whose device
// answered compete; what came from memory is listed apart.
func fastest(v *view) []Finding {
	var out []Finding
	for _, w := range v.workloads {
		r := v.rank(w.Name)
		if len(r.honest)+len(r.unchecked)+len(r.memory) == 0 {
			continue
		}
		f := Finding{
			ID: "fastest/" + w.Name, Kind: KindFastest, Workload: w.Name,
			Stacks:   append(names(r.honest), names(r.unchecked)...),
			Why:      v.explainRanking(r),
			Evidence: points(slices.Concat(r.honest, r.unchecked, r.memory)...),
			Caveats:  marksOf(slices.Concat(r.honest, r.unchecked)...),
		}
		switch {
		case len(r.honest) > 0:
			v.nameFastest(&f, r.honest)
		case len(r.unchecked) > 0:
			best := r.unchecked[0]
			f.Title = fmt.Sprintf("%s: %s shows most, %s, but no stack's device counters could be read, so none is known to be honest",
				w.Name, best.stack.Name, rate(best.point))
		default:
			f.Title = fmt.Sprintf("%s: every stack answered from memory, so none is the fastest", w.Name)
		}
		out = append(out, f)
	}
	return out
}

// nameFastest writes the title and the effect: the best honest stack against
// the next one.
func (v *view) nameFastest(f *Finding, honest []*cell) {
	best, others := honest[0], honest[1:]
	if len(others) == 0 {
		f.Title = fmt.Sprintf("%s: %s is the only honest stack, %s", f.Workload, best.stack.Name, rate(best.point))
		return
	}
	var tied []string
	canTell := false
	for _, c := range others {
		e, _ := v.compare(best, c)
		canTell = canTell || !e.TooFew
		if !e.Differs {
			tied = append(tied, c.stack.Name)
		}
	}
	next, ok := v.compare(best, others[0])
	if ok {
		f.Effect = &next
	}
	f.Caveats = append(f.Caveats, tooFew(next)...)
	switch {
	case !canTell:
		f.Title = fmt.Sprintf("%s: %s has the highest median, %s, and so few trials cannot tell whether that is chance",
			f.Workload, best.stack.Name, rate(best.point))
	case len(tied) > 0:
		f.Title = fmt.Sprintf("%s: %s leads with %s, and %s %s level with it (~)",
			f.Workload, best.stack.Name, rate(best.point), plural.And(tied), plural.Choose(len(tied), "is", "are"))
	case ok:
		f.Title = fmt.Sprintf("%s: %s is fastest with %s, %s of %s",
			f.Workload, best.stack.Name, rate(best.point), ratioText(next), others[0].stack.Name)
	default:
		f.Title = fmt.Sprintf("%s: %s is fastest with %s", f.Workload, best.stack.Name, rate(best.point))
	}
}

func (v *view) explainRanking(r ranking) string {
	var parts []string
	say := func(head string, cells []*cell, mark func(*cell) string) {
		var words []string
		for _, c := range cells {
			words = append(words, c.stack.Name+" "+mark(c)+units.Rate(c.point.Median))
		}
		if len(words) > 0 {
			parts = append(parts, head+strings.Join(words, ", ")+".")
		}
	}
	none := func(*cell) string { return "" }
	say("By median IOPS, ~ where the difference to the first is not significant: ", r.honest, func(c *cell) string {
		e, _ := v.compare(r.honest[0], c)
		if c != r.honest[0] && !e.Differs && !e.TooFew {
			return "~ "
		}
		return ""
	})
	say("Apart, because no device counter could be read: ", r.unchecked, none)
	say("Apart, because memory answered instead of the device: ", r.memory, none)
	return strings.Join(parts, " ")
}
