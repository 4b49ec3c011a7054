package published

import (
	"slices"

	"plimsoll/internal/claims"
	"plimsoll/internal/finding/fact"
	"plimsoll/internal/finding/measured"
	"plimsoll/internal/result"
)

// pair tests a ratio of two stacks that differ in one thing, under a workload of
// each role.
func pair(v *measured.View, c claims.Claim) []claimCase {
	var out []claimCase
	for _, role := range c.Test.Roles {
		var cases []claimCase
		for _, s := range subjects(v, c.Test) {
			k, ok := pairOf(v, c, wantedLoad(c.Test, role), s)
			if !ok {
				continue
			}
			if len(c.Test.Roles) > 1 {
				k.about = role
			}
			k.standIn = s.standIn
			k.caveats = append(k.caveats, subjectCaveats(v, c.Test, s)...)
			cases = append(cases, k)
		}
		// Of subjects that the host cannot have, one is enough, and none when
		// others were measured: they are among what is missing.
		unmeasured := func(k claimCase) bool { return k.effect == nil }
		if measured := slices.DeleteFunc(slices.Clone(cases), unmeasured); len(measured) > 0 {
			cases = measured
		} else if len(cases) > 1 {
			cases = cases[:1]
		}
		out = append(out, cases...)
	}
	return out
}

// subjectCaveats say how a subject differs from the paper's.
func subjectCaveats(v *measured.View, t *claims.Test, s subject) (out []fact.Remark) {
	if t.Flag != nil {
		out = append(out, flagCaveats(v, *t.Flag, s)...)
	}
	if fs := s.parts.fs; t.PaperFS != "" && fs[0].Name != t.PaperFS {
		out = append(out, fact.Remark{Case: "caveat: other file system", Facts: OtherFS{fs[0].Name, t.PaperFS}})
	}
	if measured.Remote(s.Parsed) {
		out = append(out, overTransport(s.Stack))
	}
	return out
}

// OtherFS is a file system, and the paper's.
type OtherFS struct {
	Here  string `json:"here"`
	Paper string `json:"paper"`
}

// Lacks is what a run lacks to compare a stack with.
type Lacks struct {
	Stack string `json:"stack"`
	Line  string `json:"line"`
}

// pairOf tests the claim of one subject under one load. ok is false when the run
// has no workload of that role at all.
func pairOf(v *measured.View, c claims.Claim, w wanted, s subject) (k claimCase, ok bool) {
	d, like, found := nearest(v, w)
	if !found && len(like) == 0 {
		return k, false
	}
	k.stacks = []string{s.Name}
	if !found {
		k.workload, k.judgement = like[0].Name, w.lacking(like)
		return k, true
	}
	k.workload = d.Name
	k.caveats = w.otherLoad(d.Load)
	var baseline *measured.Stack
	lines := baselines(v, c.Test, s)
	for _, l := range lines {
		if baseline = v.Find(l); baseline != nil && baseline != s.Stack {
			break
		}
	}
	if baseline == nil || baseline == s.Stack {
		k.judgement = notTestable("no baseline", Lacks{s.Name, lines[0].String()})
		return k, true
	}
	k.stacks = append(k.stacks, baseline.Name)
	a, b := v.Cell(s.Name, d.Name), v.Cell(baseline.Name, d.Name)
	for _, m := range []struct {
		cell  *measured.Cell
		stack *measured.Stack
	}{{a, s.Stack}, {b, baseline}} {
		if m.cell == nil {
			k.judgement = unmeasured(v, m.stack, d.Name)
			return k, true
		}
	}
	k.evidence = []*measured.Cell{a, b}
	k.grounds = grounds(d.Load, a, b)
	e, ratio := v.Compare(a, b)
	if !ratio {
		k.judgement = notTestable("no ratio", e)
		return k, true
	}
	k.effect, k.measured = &e, fact.Remark{Case: "ratio", Facts: e}
	switch why := measured.Unfit(a, b); {
	case c.Test.Illusion:
		k.judgement = judgeIllusion(c, s, a, b, e)
	case why != nil:
		k.judgement = notTestable("unfit", why)
	default:
		k.judgement = judgeRatio(c, e)
	}
	return k, true
}

// Answered is an illusion that was looked for: what answered, and how fast.
type Answered struct {
	Stack  string       `json:"stack"`
	Served *fact.Served `json:"served,omitempty"` // how many of fio's I/Os the device served, where memory answered
	Ratio  *float64     `json:"ratio,omitempty"`  // of device I/Os to fio's, where the device did; nil when not known
	Effect fact.Effect  `json:"effect"`
}

// judgeIllusion judges a claim that a stack is faster than its device because
// memory answers. The stack itself is held against the published factor too; a
// stand-in shows whether there is such an illusion, not how large it was.
func judgeIllusion(c claims.Claim, of subject, subject, baseline *measured.Cell, e fact.Effect) judgement {
	a := Answered{Stack: subject.Stack.Name, Effect: e}
	switch subject.Source() {
	case result.SourceUnknown:
		return notTestable("unfit", measured.Unfit(subject))
	case result.SourceDevice:
		a.Ratio = subject.Point.Ratio
		return judge(fact.ClaimContradicted, "no illusion", a)
	}
	if why := measured.Unfit(baseline); why != nil {
		return notTestable("unfit", why)
	}
	a.Served = measured.Served(subject)
	switch {
	case of.standIn == "":
		return judgeRatio(c, e)
	case e.TooFew, !e.Differs:
		return notTestable("illusion undecided", a)
	case e.Ratio < 1:
		return judge(fact.ClaimContradicted, "slow illusion", a)
	}
	return judge(fact.ClaimConfirmed, "illusion", a)
}
