package cost

import (
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strings"

	"plimsoll/internal/fact"
	"plimsoll/internal/finding/prose"
	"plimsoll/internal/result"
	"plimsoll/internal/runview"
	"plimsoll/internal/units/plural"
)

var digitsOf = regexp.MustCompile(`[0-9]+`)

var (
	traced = fact.Remark{Case: "caveat: traced"} // of numbers that were measured while a recorder ran
	onLoop = fact.Remark{Case: "caveat: loop"}   // of parts that are a loop device's
)

// TracedCaveat says that trials were traced; nothing when none was.
func TracedCaveat(c *runview.Cell) []fact.Remark {
	if slices.ContainsFunc(c.Trials, func(t *result.Trial) bool { return t.Trace != nil }) {
		return []fact.Remark{traced}
	}
	return nil
}

// Lost is how much a recorder lost of a cell.
type Lost struct {
	Stack    string `json:"stack"`
	Workload string `json:"workload"`
	Events   int    `json:"events"`
	Trials   int    `json:"trials"`
}

// String says how much was lost.
func (l Lost) String() string {
	return fmt.Sprintf("%s under %s: the recorder lost %s in %s: what they were about is missing", l.Stack, l.Workload,
		plural.Count(l.Events, "event"), plural.Count(l.Trials, "trial"))
}

// tracedCaveats says what must be known beside a number of traces, but for marks.
func tracedCaveats(spans ...*span) []fact.Remark {
	out := []fact.Remark{traced}
	missing := map[string]string{}
	for _, s := range spans {
		lost, trials := uint64(0), 0
		for _, t := range s.Trials {
			if t.Trace.Lost > 0 {
				lost, trials = lost+t.Trace.Lost, trials+1
			}
			for _, m := range t.Trace.Missing {
				// What else is missing says nothing of the parts. Numbers differ from
				// trial to trial.
				key := digitsOf.ReplaceAllString(m, "N")
				if strings.HasPrefix(m, strings.TrimSuffix(s.Noun, "s")+": ") && (missing[key] == "" || m < missing[key]) {
					missing[key] = m
				}
			}
		}
		if lost > 0 {
			facts := Lost{s.Stack.Name, s.Workload.Name, int(min(lost, math.MaxInt32)), trials}
			out = append(out, fact.Remark{Case: "caveat: lost", Facts: facts})
		}
	}
	for _, m := range slices.Sorted(maps.Values(missing)) {
		out = append(out, fact.Remark{Case: "caveat: not known", Facts: m})
	}
	return out
}

// Says puts a remark on an account into words.
func Says(r fact.Remark) string {
	switch facts := r.Facts.(type) {
	case Accounted:
		return facts.String()
	case Lost:
		return facts.String()
	case Unclosed:
		return fmt.Sprintf("%s under %s: the parts do not close: %s", facts.Stack, facts.Workload, facts)
	case string:
		return "not known: " + facts
	}
	if r.Case == onLoop.Case {
		return "what a loop device takes is the time of a thread and a file system of this host too: there is more software than " +
			"is stated"
	}
	return "traced: recording costs throughput, which is in these numbers"
}

// remark adds remarks on accounts to a finding, as facts and in words.
func remark(f *fact.Finding, all []fact.Remark) {
	for _, r := range all {
		prose.Remark(f, r.Case, r.Facts, Says(r))
	}
}

// PartCaveats are those of the parts of a latency, but for marks.
func PartCaveats(spans ...*span) []fact.Remark {
	out := tracedCaveats(spans...)
	for _, s := range spans {
		if !s.Closes() {
			out = append(out, fact.Remark{Case: "caveat: unclosed", Facts: s.Unclosed()})
		}
	}
	if slices.ContainsFunc(spans, func(s *span) bool { return slices.Contains(s.Stack.Marks, result.MarkLoop) }) {
		out = append(out, onLoop)
	}
	return out
}
