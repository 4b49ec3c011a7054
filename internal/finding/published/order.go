package published

import (
	"slices"
	"strings"

	"plimsoll/internal/claims"
	"plimsoll/internal/finding/fact"
	"plimsoll/internal/finding/measured"
	"plimsoll/internal/stack/line"
)

// order tests that the last subject of a claim is behind all others. In what
// order these are the claim does not say.
func order(v *measured.View, c claims.Claim) []claimCase {
	var out []claimCase
	for _, role := range c.Test.Roles {
		w := wantedLoad(c.Test, role)
		d, like, found := nearest(v, w)
		if !found && len(like) == 0 {
			continue
		}
		met := map[string]bool{}
		for _, s := range subjects(v, c.Test) {
			if met[s.device()] {
				continue
			}
			met[s.device()] = true // one case for each device
			k := orderOn(v, c, s, d, found)
			if !found {
				k.workload, k.judgement = like[0].Name, w.lacking(like)
			} else {
				k.caveats = append(k.caveats, w.otherLoad(d.Load)...)
			}
			k.about = role
			out = append(out, k)
		}
	}
	return out
}

// device names what a stack stands on.
func (s subject) device() string { return measured.Canonical(line.Line{Nodes: s.parts.device}) }

// stands reports whether a stack is one of a subject of an order: its view has
// that name, or one that begins with it.
func (s subject) stands(name string) bool {
	_, _, view := measured.Split(s.Parsed)
	return strings.HasPrefix(view.Name, name)
}

// orderOn ranks the subjects of a claim on the device of a stack.
func orderOn(v *measured.View, c claims.Claim, on subject, d measured.Driven, found bool) (k claimCase) {
	k.stacks, k.workload = []string{on.Name}, d.Name
	if !found {
		return k
	}
	var ahead []*measured.Cell
	var last *measured.Cell
	var missing, standIns []fact.Remark
	final := len(c.Subject) - 1
	for i, name := range c.Subject {
		cell, standIn, why := rankedCell(v, c, on, d.Name, name)
		switch {
		case cell == nil:
			missing = append(missing, why)
		case i == final:
			last = cell
		default:
			ahead = append(ahead, cell)
		}
		if standIn != "" {
			standIns = append(standIns, fact.Remark{Case: "caveat: as it is", Facts: standIn})
		}
	}
	if last == nil || len(ahead) == 0 {
		k.judgement = notTestable("subjects missing", Ranked{c.Subject[:final], c.Subject[final], missing})
		return k
	}
	k.stacks, k.evidence = append(measured.Names(ahead), last.Stack.Name), append(slices.Clone(ahead), last)
	k.grounds = grounds(d.Load, last, ahead[0])
	if len(missing) > 0 {
		k.caveats = append(k.caveats, fact.Remark{Case: "caveat: subjects missing", Facts: missing})
	}
	k.caveats = append(k.caveats, standIns...)
	if why := measured.Unfit(k.evidence...); why != nil {
		k.judgement = notTestable("unfit", why)
		return k
	}
	behind := 0
	var effects []fact.Effect
	for _, c := range ahead {
		e, ok := v.Compare(last, c)
		if !ok {
			k.judgement = notTestable("no ratio", e)
			return k
		}
		effects = append(effects, e)
		// The pair that speaks most against the claim is shown.
		if k.effect == nil || e.Ratio > k.effect.Ratio {
			k.effect = &e
		}
		if e.Differs && e.Ratio < 1 {
			behind++
		}
	}
	k.measured = fact.Remark{Case: "rank", Facts: effects}
	switch e := *k.effect; {
	case e.TooFew:
		k.judgement = notTestable("few", e)
	case e.Differs && e.Ratio > 1:
		k.judgement = judge(fact.ClaimContradicted, "ahead", e)
	case behind == len(ahead):
		k.judgement = judge(fact.ClaimConfirmed, "behind", Behind{measured.Names(ahead), e})
	default:
		k.judgement = notTestable("level", e)
	}
	return k
}

// Ranked are the subjects of an order, of which some are missing.
type Ranked struct {
	Ahead   []string      `json:"ahead"`
	Last    string        `json:"last"`
	Missing []fact.Remark `json:"missing"`
}

// Behind is a stack that is behind all others.
type Behind struct {
	Ahead  []string    `json:"ahead"`
	Effect fact.Effect `json:"effect"` // against the one that is least ahead
}

// rankedCell returns what was measured of one of the subjects on the device of a
// stack, and what it stands in for; or why nothing was.
func rankedCell(
	v *measured.View, c claims.Claim, on subject, workload, name string,
) (of *measured.Cell, standIn string, why fact.Remark) {
	for _, s := range subjects(v, c.Test) {
		if !s.stands(name) || s.device() != on.device() {
			continue
		}
		cell := v.Cell(s.Name, workload)
		if cell != nil {
			return cell, s.standIn, fact.Remark{}
		}
		why = unmeasured(v, s.Stack, workload).why
	}
	if why.Case == "" {
		why = fact.Remark{Case: "no driver", Facts: driver(c.Test, name)}
	}
	return nil, "", why
}

// driver is what a subject is called in the first pattern that is of it.
func driver(t *claims.Test, name string) string {
	for _, of := range t.Stacks {
		p := parsePattern(of.Line)
		if view := p.rest[len(p.rest)-1].Name; strings.HasPrefix(view, name) {
			return view
		}
	}
	return name
}
