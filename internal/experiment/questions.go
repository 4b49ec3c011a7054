package experiment

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"plimsoll/internal/field"
	"plimsoll/internal/units/plural"
)

// Question is what a run with a budget may decide, and what that takes at least.
type Question struct {
	Name    string  `json:"name"`
	Seconds float64 `json:"seconds"` // of the fewest rounds that decide it
	// that the budget lacks for it and those before it; 0 where it suffices
	Lacks float64 `json:"lacks_seconds,omitempty"`

	stacks   []Stack
	mixes    []Mix
	together time.Duration // with those before it
}

// Questions returns what a budget may decide, in the order in which time is spent on it: what takes least comes first.
// In an experiment about the number of instances it is the load line of each family of mixes on each stack; else what
// is known of each mix. overhead is what trials of a stack and a mix took beside warm-up and window in an earlier run;
// what it lacks is estimated.
func (e *Experiment) Questions(overhead map[[2]string]time.Duration) (all []Question) {
	ask := func(name string, stacks []Stack, mixes []Mix) {
		q := Question{Name: name, stacks: stacks, mixes: mixes}
		if q.Seconds = e.takesAll([]Question{q}, overhead).Seconds(); q.Seconds > 0 {
			all = append(all, q)
		}
	}
	if !e.IsScaling() {
		for i, m := range e.Mixes {
			ask(m.Name, e.Stacks, e.Mixes[i:i+1])
		}
	} else {
		for _, f := range e.Families() {
			name := "the load line of " + familyName(f)
			if !f[0].Crossed() {
				ask(name, e.Stacks, withNextTo(f))
				continue
			}
			for i, s := range e.Stacks {
				on := ""
				if len(e.Stacks) > 1 {
					on = " on " + s.Name
				}
				ask(name+on, e.Stacks[i:i+1], withNextTo(f))
			}
		}
	}
	slices.SortStableFunc(all, func(a, b Question) int { return cmp.Compare(a.Seconds, b.Seconds) })
	left := e.Budget - Undo(e) - ElasticityTakes(e)
	for i := range all {
		all[i].together = e.takesAll(all[:i+1], overhead)
		all[i].Lacks = max(0, (all[i].together - left).Seconds())
	}
	return all
}

// withNextTo returns the coarse mixes of a family, and as many more as are next to its line. Which these are is not
// known; those with most instances take longest.
func withNextTo(f Family) []Mix {
	mixes := f.Coarse()
	for _, m := range slices.Backward(f) {
		beside := len(mixes) < len(f.Coarse())+2
		if beside && !slices.ContainsFunc(mixes, func(c Mix) bool { return c.Name == m.Name }) {
			mixes = append(mixes, m)
		}
	}
	return mixes
}

// familyName is what the names of the mixes of a family begin with.
func familyName(f Family) string {
	name := f[0].Name
	for _, m := range f[1:] {
		for !strings.HasPrefix(m.Name, name) {
			name = name[:len(name)-1]
		}
	}
	return cmp.Or(strings.TrimRight(name, "-_."), f[0].Name)
}

// takesAll returns the time of the fewest rounds of questions. A setup of a stack counts once for all its questions.
func (e *Experiment) takesAll(questions []Question, overhead map[[2]string]time.Duration) (total time.Duration) {
	takes := func(stacks []Stack, asks func(Question, Mix) bool) {
		only := *e
		only.Stacks, only.Mixes, only.Repeat, only.Budget, only.Trials = stacks, nil, enoughRepeats, 0, 1
		for _, q := range questions {
			for _, m := range q.mixes {
				if asks(q, m) {
					only.Mixes = append(only.Mixes, m)
				}
			}
		}
		if len(only.Mixes) == 0 {
			return
		}
		trials := Trials(&only, 0)
		for i, cost := range Costs(&only, trials) {
			if known, ok := overhead[[2]string{trials[i].Stack, trials[i].Mix}]; ok {
				m, _ := e.Mix(trials[i].Mix)
				timing := longest(e, e.workloads().workloadsOf(m))
				cost = known + timing.Ramp + timing.Runtime
			}
			total += cost
		}
	}
	for i, s := range e.Stacks {
		takes(e.Stacks[i:i+1], func(q Question, m Mix) bool {
			return m.Crossed() && slices.ContainsFunc(q.stacks, func(asked Stack) bool { return asked.Name == s.Name })
		})
	}
	takes(e.Stacks, func(_ Question, m Mix) bool { return !m.Crossed() })
	return total
}

// Reach returns what a budget decides at most, and what the rest would take, as text; "" without a budget.
func (e *Experiment) Reach(questions []Question) string {
	if e.Budget == 0 || len(questions) == 0 {
		return ""
	}
	var decided, lacking []string
	for _, q := range questions {
		if q.Lacks == 0 {
			decided = append(decided, q.Name)
			continue
		}
		lacking = append(lacking, fmt.Sprintf("%s takes %s more", q.Name, roughly(seconds(q.Lacks))))
	}
	verb := "decide"
	if !e.IsScaling() {
		verb = fmt.Sprintf("do %s, the fewest that decide anything, of", plural.Count(enoughRepeats, "round"))
	}
	budget := field.FormatDuration(e.Budget)
	switch {
	case len(decided) == 0:
		return fmt.Sprintf("%s may decide nothing: %s", budget, plural.And(lacking))
	case len(lacking) == 0:
		return fmt.Sprintf("%s may %s %s: about %s", budget, verb, plural.And(decided),
			roughly(questions[len(questions)-1].together))
	}
	return fmt.Sprintf("%s may %s %s; %s", budget, verb, plural.And(decided), plural.And(lacking))
}

// roughly is a time as estimates are worth it.
func roughly(d time.Duration) string {
	if d < time.Minute {
		return d.Round(time.Second).String()
	}
	return field.FormatDuration(d.Round(time.Minute))
}
