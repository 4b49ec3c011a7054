package caveat

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"plimsoll/internal/fact"
	"plimsoll/internal/fact/threshold"
	"plimsoll/internal/result"
	"plimsoll/internal/runview"
)

// Steady has the facts of a finding on steadiness beside its stacks.
type Steady struct {
	Passes    int     `json:"passes,omitempty"` // over the file or the device
	Workload  string  `json:"workload,omitempty"`
	Rounds    int     `json:"rounds,omitempty"`
	Seconds   float64 `json:"seconds,omitempty"` // of a round, or of a trial
	Reason    string  `json:"reason,omitempty"`  // why a mean was not known, or no state was steady
	Undecided int     `json:"undecided,omitempty"`
	All       int     `json:"all,omitempty"` // trials, or points
	Widest    *Width  `json:"widest,omitempty"`
	Target    float64 `json:"target,omitempty"` // share of its mean within which a point was to be known
}

// Steadiness says what the stacks went through before they were measured,
// whether they were steady by then, and how precisely the run knows what it
// measured.
func Steadiness(v *runview.View) []fact.Finding {
	var out []fact.Finding
	say := func(id, name string, stacks []string, facts Steady) {
		if len(stacks) > 0 {
			out = append(out, facts.finding(id, name, stacks))
		}
	}
	cells := v.All()
	for _, w := range []struct {
		name string
		kind result.PreconditioningKind
	}{{"file-written", result.PreconditionedFile}, {"device-written", result.PreconditionedDevice}} {
		stacks := stacksOf(cells, func(c *runview.Cell) bool { return preconditioned(c) == w.kind })
		say(w.name, w.name, stacks, Steady{Passes: passes(cells, w.kind)})
	}

	var settled, restless []string
	var rounds *result.Rounds
	for _, c := range cells {
		for _, t := range c.Trials {
			if t.Preconditioning == nil || t.Preconditioning.Rounds == nil {
				continue
			}
			rounds = t.Preconditioning.Rounds
			if rounds.Settled {
				settled = runview.AddNew(settled, c.Stack.Name)
				continue
			}
			restless = runview.AddNew(restless, c.Stack.Name)
			say(fmt.Sprintf("restless/%s/%s/%d", c.Stack.Name, c.Workload.Name, t.Seq), "restless", []string{c.Stack.Name},
				Steady{Workload: c.Workload.Name, Rounds: len(rounds.IOPS), Seconds: rounds.Seconds, Reason: rounds.Why})
		}
	}
	settled = slices.DeleteFunc(settled, func(s string) bool { return slices.Contains(restless, s) })
	if rounds != nil {
		say("settled", "settled", settled, Steady{Seconds: rounds.Seconds})
	}

	unsteady := slices.DeleteFunc(slices.Clone(cells), func(c *runview.Cell) bool {
		return runtime(c) >= threshold.SteadySeconds || slices.ContainsFunc(c.Trials, func(t *result.Trial) bool {
			return t.Stop != nil || t.Preconditioning != nil && t.Preconditioning.Rounds != nil
		})
	})
	if len(unsteady) > 0 {
		shortest := slices.MinFunc(unsteady, func(a, b *runview.Cell) int { return cmp.Compare(runtime(a), runtime(b)) })
		say("short", "short", stacksOf(unsteady, func(*runview.Cell) bool { return true }), Steady{Seconds: runtime(shortest)})
	}
	out = append(out, warming(cells)...)
	out = append(out, cutOff(cells)...)
	return append(out, budget(v)...)
}

// preconditioned is what was written before a cell's first trial; "" when that
// was not recorded, and for servers and files, whose data is loaded once.
func preconditioned(c *runview.Cell) result.PreconditioningKind {
	if c.Source().Operations() {
		return ""
	}
	for _, t := range c.Trials {
		if t.Preconditioning != nil {
			return t.Preconditioning.Kind
		}
	}
	return ""
}

// passes returns how often something was written.
func passes(cells []*runview.Cell, kind result.PreconditioningKind) int {
	largest := 0
	for _, c := range cells {
		for _, t := range c.Trials {
			if t.Preconditioning != nil && t.Preconditioning.Kind == kind {
				largest = max(largest, t.Preconditioning.Passes)
			}
		}
	}
	return largest
}

// warming names the trials whose servers may still have got faster.
func warming(cells []*runview.Cell) (out []fact.Finding) {
	var stacks, whys []string
	trials, warm := 0, 0
	for _, c := range cells {
		for _, t := range c.Trials {
			trials++
			if t.Warming != "" {
				warm++
				stacks = runview.AddNew(stacks, c.Stack.Name)
				whys = runview.AddNew(whys, fmt.Sprintf("%s, trial %d: %s", c.Workload.Name, t.Seq, t.Warming))
			}
		}
	}
	if warm == 0 {
		return nil
	}
	facts := Steady{Undecided: warm, All: trials, Reason: strings.Join(whys[:min(3, len(whys))], "; ")}
	return []fact.Finding{facts.finding("warming", "warming", stacks)}
}

// cutOff names the trials that reached their longest time before their mean
// was known.
func cutOff(cells []*runview.Cell) (out []fact.Finding) {
	var stacks, worst []string
	trials, early := 0, 0
	for _, c := range cells {
		for _, t := range c.Trials {
			switch {
			case t.Stop == nil, t.Stop.Reason == result.StopOperations:
			case t.Stop.Reason == result.StopPrecise:
				trials++
			default:
				trials, early = trials+1, early+1
				stacks = runview.AddNew(stacks, c.Stack.Name)
				worst = runview.AddNew(worst, fmt.Sprintf("%s under %s: %s", c.Stack.Name, c.Workload.Name, t.Stop.Why))
			}
		}
	}
	if early == 0 {
		return nil
	}
	facts := Steady{Undecided: early, All: trials, Reason: strings.Join(worst[:min(3, len(worst))], "; ")}
	return []fact.Finding{facts.finding("cut-off", "cut-off", stacks)}
}

// budget says of which points the budget was not enough to know what was asked
// for.
func budget(v *runview.View) []fact.Finding {
	var stacks []string
	var widest result.PointStop
	n := 0
	for _, p := range v.Run.Points {
		if p.Reason != result.StopBudget && p.Reason != result.StopRepeats {
			continue
		}
		n++
		stacks = runview.AddNew(stacks, p.Stack)
		if p.RelativeHalfWidth > widest.RelativeHalfWidth {
			widest = p
		}
	}
	if n == 0 {
		return nil
	}
	facts := Steady{Undecided: n, All: len(v.Run.Points), Target: math.Abs(cmp.Or(v.Run.Experiment.Target, defaultTarget))}
	if widest.RelativeHalfWidth > 0 {
		facts.Widest = &Width{widest.Stack, widest.Mix, widest.RelativeHalfWidth}
	}
	return []fact.Finding{facts.finding("budget", "budget", stacks)}
}

// defaultTarget is steady.DefaultStudy's, which a run without a target used.
const defaultTarget = 0.03
