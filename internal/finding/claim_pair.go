package finding

import (
	"fmt"
	"slices"

	"plimsoll/internal/claims"
	"plimsoll/internal/stack/line"
)

// pairTest tests a ratio of two stacks that differ in one thing, under a
// workload of each load.
type pairTest struct {
	loads   []wanted
	subject func(*view, *stack) bool
	// against gives the lines that the subject's baseline may have, the first
	// of which is asked for when the run has none.
	against func(*view, *stack) []line.Line
	caveats func(*view, *stack) []string // of the subject; nil for none
	// judge, when not nil, judges in the place of judgeRatio.
	judge func(c claims.Claim, subject, baseline *cell, e Effect) judgement
	// standIn says what the subject stands in for; nil for nothing.
	standIn func(*stack) string
}

func (p pairTest) test(v *view, c claims.Claim) []claimCase {
	var out []claimCase
	for _, w := range p.loads {
		var cases []claimCase
		for _, s := range v.stacks {
			if !p.subject(v, s) {
				continue
			}
			k, ok := p.one(v, c, w, s)
			if !ok {
				continue
			}
			if len(p.loads) > 1 {
				k.about = w.role
			}
			if p.standIn != nil {
				k.standIn = p.standIn(s)
			}
			if p.caveats != nil {
				k.caveats = append(k.caveats, p.caveats(v, s)...)
			}
			cases = append(cases, k)
		}
		// Of subjects that the host cannot have, one is enough, and none when
		// others were measured: they are among what is missing.
		without := func(k claimCase) bool { return k.effect == nil }
		if measured := slices.DeleteFunc(slices.Clone(cases), without); len(measured) > 0 {
			cases = measured
		} else if len(cases) > 1 {
			cases = cases[:1]
		}
		out = append(out, cases...)
	}
	return out
}

// one tests the claim of one subject under one load. ok is false when the run
// has no workload of that role at all.
func (p pairTest) one(v *view, c claims.Claim, w wanted, s *stack) (k claimCase, ok bool) {
	d, like, found := v.workload(w)
	if !found && len(like) == 0 {
		return k, false
	}
	k.stacks = []string{s.Name}
	if !found {
		k.workload, k.judgement = like[0].name, w.lacking(like)
		return k, true
	}
	k.workload = d.name
	k.caveats = w.otherLoad(d.load)
	var baseline *stack
	lines := p.against(v, s)
	for _, l := range lines {
		if baseline = v.find(l); baseline != nil && baseline != s {
			break
		}
	}
	if baseline == nil || baseline == s {
		k.judgement = notTestable("the run lacks what %s is compared with: add the stack `%s`", s.Name, lines[0])
		return k, true
	}
	k.stacks = append(k.stacks, baseline.Name)
	a, b := v.cell(s.Name, d.name), v.cell(baseline.Name, d.name)
	for _, m := range []struct {
		cell  *cell
		stack *stack
	}{{a, s}, {b, baseline}} {
		if m.cell == nil {
			k.judgement = notTestable("%s", v.unmeasured(m.stack, d.name))
			return k, true
		}
	}
	k.evidence = []*cell{a, b}
	k.grounds = grounds(d.load, a, b)
	e, ratio := v.compare(a, b)
	if !ratio {
		k.judgement = notTestable("%s and %s have no ratio: a trial completed no I/O", e.Subject, e.Baseline)
		return k, true
	}
	k.effect, k.measured = &e, shortRatio(e)
	k.says = fmt.Sprintf("%s is %s of %s", e.Subject, k.measured, e.Baseline)
	switch why := unfit(a, b); {
	case p.judge != nil:
		k.judgement = p.judge(c, a, b, e)
	case why != "":
		k.judgement = notTestable("%s", why)
	default:
		k.judgement = judgeRatio(c, e)
	}
	return k, true
}

// unverified is why an effect on the device cannot be judged; "" when it can.
func unverified(e Effect) string {
	if few := tooFew(e); few != nil {
		return few[0]
	}
	if !e.Differs {
		return fmt.Sprintf("no difference is significant (%s); repeat more often, or measure longer", pText(e.P))
	}
	return ""
}
