package published

import (
	"slices"
	"strings"

	"plimsoll/internal/fact"
	"plimsoll/internal/finding/published/claims"
	"plimsoll/internal/runview"
	"plimsoll/internal/units"
	"plimsoll/internal/units/plural"
)

// orders tests that the last subject of a claim is behind all others, on each device. In what
// order these are the claim does not say.
func orders(v *runview.View, c claims.Claim) (out []claimCase) {
	for _, role := range c.Test.Roles {
		w := workloadOf(v, c.Test.Load, c.Test.Jobs, role)
		if w.missing() {
			continue
		}
		met := map[string]bool{}
		for _, s := range subjects(v, c.Test) {
			if met[s.device()] {
				continue
			}
			met[s.device()] = true
			k := w.newCase(s.Name)
			k.about = role
			if w.found {
				other := k.caveats
				k.caveats = nil
				k.rank(v, c, s, w.Name)
				k.caveats = append(k.caveats, other...)
			}
			out = append(out, k)
		}
	}
	return out
}

// rank ranks the subjects of a claim on the device of a stack.
func (k *claimCase) rank(v *runview.View, c claims.Claim, on subject, workload string) {
	var ahead []*runview.Cell
	var last *runview.Cell
	var missing, standIns []Reason
	final := len(c.Subject) - 1
	for i, name := range c.Subject {
		cell, standIn, why := ranked(v, c, on, workload, name)
		switch {
		case cell == nil:
			missing = append(missing, why)
		case i == final:
			last = cell
		default:
			ahead = append(ahead, cell)
		}
		if standIn != "" {
			standIns = append(standIns, newReason("caveat: as it is", "%s", standIn))
		}
	}
	if last == nil || len(ahead) == 0 {
		k.judgement = notTestable("subjects missing",
			"it takes %s and one of %s on the same device: %s", c.Subject[final], plural.And(c.Subject[:final]), texts(missing, "; "))
		return
	}
	k.stacks, k.evidence = append(runview.Names(ahead), last.Stack.Name), append(slices.Clone(ahead), last)
	k.grounds = grounds(c, last, ahead[0])
	if len(missing) > 0 {
		k.caveats = append(k.caveats, newReason("caveat: subjects missing", "ranked without some of its subjects: %s",
			texts(missing, "; ")))
	}
	k.caveats = append(k.caveats, standIns...)
	if why := runview.Unfit(k.evidence...); why != nil {
		k.judgement = unfit(why)
		return
	}
	behind := 0
	var effects []fact.Effect
	var worst fact.Effect // the pair that speaks most against the claim is shown
	for _, c := range ahead {
		if !k.setEffect(v.Compare(last, c)) {
			return
		}
		e := *k.effect
		effects = append(effects, e)
		if len(effects) == 1 || e.Ratio > worst.Ratio {
			worst = e
		}
		if e.Differs && e.Ratio < 1 {
			behind++
		}
	}
	k.effect = &worst
	says := last.Stack.Name + " is " + plural.List(effects, func(e fact.Effect) string {
		return e.Written() + " of " + e.Baseline
	})
	k.setMeasured("rank", says, "%s", says)
	p := units.PValue(worst.P)
	switch {
	case worst.TooFew:
		k.judgement = tooFew(worst)
	case worst.Differs && worst.Ratio > 1:
		k.judgement = contradicted("ahead", "%s is significantly faster than %s (%s)", worst.Subject, worst.Baseline, p)
	case behind == len(ahead):
		k.judgement = confirmed("behind", "%s is significantly behind %s (%s)",
			worst.Subject, plural.And(runview.Names(ahead)), p)
	default:
		k.judgement = undecided("level", "%s and %s do not differ significantly (%s)", worst.Subject, worst.Baseline, p)
	}
}

// ranked returns what was measured of one of the subjects on the device of a
// stack, and what it stands in for; or why nothing was.
func ranked(v *runview.View, c claims.Claim, on subject, workload, name string) (cell *runview.Cell, standIn string,
	why Reason) {
	for _, s := range subjects(v, c.Test) {
		// A stack is of a subject whose view has that name, or one that begins with it.
		if _, _, view := runview.Split(s.Parsed); !strings.HasPrefix(view.Name, name) || s.device() != on.device() {
			continue
		}
		cell := v.Cell(s.Name, workload)
		if cell != nil {
			return cell, s.standIn, Reason{}
		}
		why = unmeasured(v, runview.CellKey{Stack: s.Name, Workload: workload})
	}
	if why.Case == "" {
		driver := name
		for _, of := range slices.Backward(c.Test.Stacks) { // what it is called in the first pattern that is of it
			p := parsePattern(of.Line)
			if view := p.rest[len(p.rest)-1].Name; strings.HasPrefix(view, name) {
				driver = view
			}
		}
		why = newReason("no driver", "the run has no stack with storage driver %s", driver)
	}
	return nil, "", why
}
