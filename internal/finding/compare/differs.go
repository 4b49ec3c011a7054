package compare

import (
	"fmt"
	"slices"

	"plimsoll/internal/result"
	"plimsoll/internal/result/repeats"
	"plimsoll/internal/runview"
	"plimsoll/internal/units/plural"
)

// Difference is a fact that is not the same in both runs, and may be why
// their numbers are not. "" is not known.
type Difference struct {
	What   string   `json:"what"` // "kernel"
	A      string   `json:"a"`
	B      string   `json:"b"`
	Stacks []string `json:"stacks,omitempty"` // of A, which it concerns; none for all
}

// differences lists what differs: the environment first, then the devices and
// the facts of stacks that were paired.
func differences(a, b *result.Run, pairs []comparedPair) []Difference {
	out := []Difference{}
	add := func(stack, aspect, a, b string) {
		if a == b {
			return
		}
		i := slices.IndexFunc(out, func(d Difference) bool { return d.What == aspect && d.A == a && d.B == b })
		if i < 0 {
			i = len(out)
			out = append(out, Difference{What: aspect, A: a, B: b})
		}
		if stack != "" {
			out[i].Stacks = runview.AddNew(out[i].Stacks, stack)
		}
	}
	known, other := repeats.Environment(a), repeats.Environment(b)
	for i, f := range known {
		add("", f.Name, f.Value, other[i].Value)
	}
	for _, p := range pairs {
		ours, theirs := mixFacts(a, p.a.workload), mixFacts(b, p.b.workload)
		for _, f := range ours {
			add("", f.Name, f.Value, valueOf(theirs, f.Name))
		}
		for _, f := range theirs {
			if valueOf(ours, f.Name) == "" {
				add("", f.Name, "", f.Value)
			}
		}
	}
	for _, p := range pairs {
		if p.a.shape.line == "" {
			add("", "files or devices", p.a.stack.Name, p.b.stack.Name)
		}
		ours, theirs := repeats.StackFacts(a, p.a.stack.Stack), repeats.StackFacts(b, p.b.stack.Stack)
		for _, f := range ours {
			add(p.a.stack.Name, f.Name, f.Value, valueOf(theirs, f.Name))
		}
		for _, f := range theirs {
			if !slices.ContainsFunc(ours, func(o result.Fact) bool { return o.Name == f.Name }) {
				add(p.a.stack.Name, f.Name, "", f.Value)
			}
		}
	}
	return out
}

// mixFacts are the servers of a mix, and what it runs within: the scaled-down host, and the limits of each tenant.
func mixFacts(run *result.Run, w result.Workload) (facts []result.Fact) {
	workloads, _ := workloadsOf(run, w)
	for _, w := range workloads {
		if _, server := parametersOf(w); server != "" {
			facts = append(facts, result.Fact{Name: "server of " + w.Name, Value: server})
		}
	}
	i := slices.IndexFunc(run.Mixes, func(m result.Mix) bool { return m.Name == w.Name })
	if i < 0 {
		return facts
	}
	m := run.Mixes[i]
	if m.Host != nil {
		facts = append(facts, result.Fact{Name: "miniature", Value: m.Host.String()})
	}
	for _, t := range m.Tenants {
		if !t.Limits.None() {
			facts = append(facts, result.Fact{Name: "limits of each " + t.Name, Value: t.Limits.String()})
		}
	}
	return facts
}

func valueOf(facts []result.Fact, name string) string {
	for _, f := range facts {
		if f.Name == name {
			return f.Value
		}
	}
	return ""
}

// notes say what else limits a comparison.
func notes(a, b *result.Run, pairs []comparedPair) []string {
	out := []string{}
	if a.ID == b.ID && a.ID != "" {
		out = append(out, "A and B are the same run")
	}
	for _, r := range []struct {
		name string
		run  *result.Run
	}{{"A", a}, {"B", b}} {
		if r.run.Status != result.RunComplete {
			out = append(out, fmt.Sprintf("%s is not complete: it is under way, or was interrupted", r.name))
		}
	}
	for _, r := range []struct {
		name string
		side func(comparedPair) *unit
	}{
		{"A", func(p comparedPair) *unit { return p.a }},
		{"B", func(p comparedPair) *unit { return p.b }},
	} {
		var unchecked []string
		for _, p := range pairs {
			u := r.side(p)
			subject, done := u.stack.Name+" under "+u.workload.Name, 0
			if u.cell != nil {
				done = len(u.cell.Trials)
				if u.cell.Source() == result.SourceUnknown {
					unchecked = append(unchecked, subject)
				}
			}
			if done < u.tried {
				out = append(out, fmt.Sprintf("%d of %s of %s did not finish in %s", u.tried-done, plural.Count(u.tried, "trial"),
					subject, r.name))
			}
		}
		if len(unchecked) > 0 {
			out = append(out, fmt.Sprintf("no device counter of %s could be read in %s: these numbers are not checked", plural.And(unchecked), r.name))
		}
	}
	return out
}
