package compare

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"plimsoll/internal/result"
	"plimsoll/internal/result/imports/points"
	"plimsoll/internal/runview"
	"plimsoll/internal/stack/line"
)

// Apart names a workload and stack that was not compared, with the reason.
type Apart struct {
	Stack    string `json:"stack"`
	Workload string `json:"workload"`
	In       string `json:"in"` // the run that has results of it: "A", "B", "both" or "neither"
	Why      string `json:"why"`
}

// What both runs measured and yet cannot be compared keeps the verdict open,
// unlike what only one of them has, or neither.
const (
	inBoth    = "both"
	inNeither = "neither"
)

// unit is a stack under a workload that a run tried.
type unit struct {
	stack    *runview.Stack
	workload result.Workload
	cell     *runview.Cell // nil when no trial finished
	tried    int           // trials, whatever became of them
	shape    shape
}

// shape is what must be the same for two units to be alike.
type shape struct {
	line     string  // canonical; "" when an import does not tell
	kind     string  // of workload
	name     string  // of the workload
	declared string  // canonical, without parameters of servers; "" when the run does not tell
	identity string  // of an imported workload; "" when the import does not tell
	summary  string  // stands in for declared where a run does not tell
	runtime  float64 // seconds, of the experiment; 0 where the workload has its own
	ramp     float64
	before   string // what was written before, beyond one pass over the files
	traced   bool   // requests were recorded meanwhile, which costs some of the speed
	imported bool   // it was measured elsewhere
	table    bool   // and is of a table of points, or of what a benchmark other than fio printed
	unknown  string // what stands for the stack where an import does not tell its line; "" otherwise
}

// comparedPair is two units that are alike.
type comparedPair struct{ a, b *unit }

// pair finds for every unit of A the one of B that is like it. Among several,
// names decide; that they are called the same does not make them alike.
func pair(left, right []*unit) (pairs []comparedPair, apart []Apart) {
	nameUnknown(left, right)
	partner := map[*unit]*unit{} // both ways
	for _, byName := range []bool{true, false} {
		for _, a := range sortedByName(left) {
			for _, b := range sortedByName(right) {
				if partner[a] == nil && partner[b] == nil && a.shape.like(b.shape) && (!byName || a.named(b)) {
					partner[a], partner[b] = b, a
				}
			}
		}
	}
	apart = []Apart{}
	for _, a := range left {
		b := partner[a]
		if b == nil {
			apart = append(apart, alone(a, right, "A", "B"))
			continue
		}
		p := comparedPair{a, b}
		switch why := p.unlikeSources(); {
		case a.cell == nil && b.cell == nil:
			apart = append(apart, Apart{a.stack.Name, a.workload.Name, inNeither, "no trial finished in either run"})
		case why != "":
			apart = append(apart, Apart{a.stack.Name, a.workload.Name, inBoth, why})
		default:
			pairs = append(pairs, p)
		}
	}
	for _, b := range right {
		namesake := slices.IndexFunc(left, b.named)
		told := namesake >= 0 && partner[left[namesake]] == nil // why they are not alike
		if partner[b] == nil && !told {
			apart = append(apart, alone(b, left, "B", "A"))
		}
	}
	return pairs, apart
}

func sortedByName(units []*unit) []*unit {
	return slices.SortedFunc(slices.Values(units), func(x, y *unit) int {
		return cmp.Or(cmp.Compare(x.stack.Name, y.stack.Name), cmp.Compare(x.workload.Name, y.workload.Name))
	})
}

// unitsOf are what the run tried: by workload, then by stack.
func unitsOf(v *runview.View) []*unit {
	tried := map[runview.CellKey]int{}
	for _, t := range v.Run.Trials {
		tried[runview.CellKey{Stack: t.Stack, Workload: t.Mix}]++
	}
	var units []*unit
	for _, w := range v.Workloads {
		for _, s := range v.Stacks {
			if n := tried[runview.CellKey{Stack: s.Name, Workload: w.Name}]; n > 0 {
				units = append(units, &unit{stack: s, workload: w, cell: v.Cell(s.Name, w.Name), tried: n, shape: shapeOf(v, s, w)})
			}
		}
	}
	return units
}

// variedOf are the mixes that the run added to vary a limit.
func variedOf(v *runview.View) (units []*unit) {
	for _, c := range v.VariedCells() {
		u := &unit{stack: c.Stack, workload: c.Workload, cell: c, shape: shapeOf(v, c.Stack, c.Workload)}
		for _, t := range v.Run.Trials {
			if t.Stack == c.Stack.Name && t.Mix == c.Workload.Name {
				u.tried++
			}
		}
		units = append(units, u)
	}
	return units
}

func shapeOf(v *runview.View, s *runview.Stack, w result.Workload) shape {
	h := shape{
		line: s.Line, kind: w.Kind, name: w.Name, declared: declaredOf(v.Run, w), identity: w.Identity,
		summary: cmp.Or(w.Summary, w.Name), imported: v.Run.Imported != nil, table: points.Made(v.Run),
	}
	if parsed, err := line.Parse(s.Line); err == nil {
		h.line = parsed.String()
	}
	h.runtime, h.ramp = v.Run.Experiment.RuntimeSeconds, v.Run.Experiment.RampSeconds
	h.before = v.Run.Experiment.Precondition
	h.traced = slices.ContainsFunc(v.Run.Trials, func(t result.Trial) bool {
		return t.Stack == s.Name && t.Mix == w.Name && t.Trace != nil
	})
	parameters, _ := parametersOf(w)
	if _, own := parameters["runtime"]; own {
		h.runtime = 0
	}
	if _, own := parameters["ramp"]; own {
		h.ramp = 0
	}
	return h
}

// workloadsOf are those that run in a mix, and how many instances of each; or the one that runs alone.
func workloadsOf(run *result.Run, w result.Workload) (workloads []result.Workload, counts []int) {
	m, known := run.Mix(w.Name)
	if !known {
		return []result.Workload{w}, []int{1}
	}
	for _, t := range m.Tenants {
		runs, known := run.Workload(t.Workload)
		if !known {
			continue
		}
		if t.Load != nil { // the workload does not say it
			runs.Declared = fmt.Sprintf("class: %s\nclients: %d\nthink: %gs\n", runs.Name, t.Load.Clients, t.Load.ThinkSeconds)
		}
		workloads, counts = append(workloads, runs), append(counts, t.Count)
	}
	return workloads, counts
}

// declaredOf is what was declared of all that runs in a mix, in one spelling.
func declaredOf(run *result.Run, w result.Workload) string {
	var texts []string
	workloads, counts := workloadsOf(run, w)
	for i, w := range workloads {
		text := strings.TrimSpace(w.Declared)
		if parameters, _ := parametersOf(w); parameters != nil {
			if canonical, err := yaml.Marshal(parameters); err == nil {
				text = string(canonical)
			}
		}
		if counts[i] > 1 {
			text = fmt.Sprintf("%d of %s", counts[i], text)
		}
		texts = append(texts, text)
	}
	return strings.Join(texts, "")
}

// parametersOf are those that a workload declares, in whatever order: YAML; nil for a user's job file, which stays as it is.
// Those of the server that it drives are apart: to compare them is what runs are made for.
func parametersOf(w result.Workload) (parameters map[string]any, server string) {
	if yaml.Unmarshal([]byte(w.Declared), &parameters) != nil {
		return nil, ""
	}
	database, ok := parameters["database"].(map[string]any)
	if !ok {
		return parameters, ""
	}
	text, _ := yaml.Marshal(database) // it was YAML
	for kind := range database {
		parameters["database"] = kind
	}
	return parameters, strings.Join(strings.Fields(string(text)), " ")
}

func (a *unit) named(b *unit) bool {
	return a.stack.Name == b.stack.Name && a.workload.Name == b.workload.Name
}

func (h shape) sameWorkload(o shape) bool {
	switch {
	case h.kind != o.kind:
		return false
	case h.identity != "" && o.identity != "":
		return h.identity == o.identity
	case h.imported && o.imported && h.declared == "" && o.declared == "" && h.name == o.name:
		return true // as whoever imported them called them
	case h.declared == "" || o.declared == "":
		return h.summary == o.summary
	}
	return h.declared == o.declared
}

func (h shape) sameStack(o shape) bool { return h.line == o.line && h.unknown == o.unknown }

func (h shape) sameTimes(o shape) bool { return h.runtime == o.runtime && h.ramp == o.ramp }

func (h shape) like(o shape) bool {
	return h.sameStack(o) && h.sameWorkload(o) && h.sameTimes(o) && h.before == o.before && h.traced == o.traced
}

// alone says why a unit has no partner in the other run: what differs from the unit that is most like it.
func alone(u *unit, otherUnits []*unit, ownRun, otherRun string) Apart {
	a := Apart{u.stack.Name, u.workload.Name, ownRun, "only in " + ownRun}
	for _, o := range otherUnits {
		if u.shape.sameStack(o.shape) && u.shape.sameWorkload(o.shape) && !u.shape.sameTimes(o.shape) {
			a.Why = fmt.Sprintf("measured for %g s (ramp %g s) in %s, for %g s (ramp %g s) in %s",
				u.shape.runtime, u.shape.ramp, ownRun, o.shape.runtime, o.shape.ramp, otherRun)
			return a
		}
		if u.shape.sameStack(o.shape) && u.shape.sameWorkload(o.shape) && u.shape.before != o.shape.before {
			a.Why = fmt.Sprintf("another preconditioning: %s in %s, %s in %s", cmp.Or(u.shape.before, "none"), ownRun,
				cmp.Or(o.shape.before, "none"), otherRun)
			return a
		}
		if u.shape.sameStack(o.shape) && u.shape.sameWorkload(o.shape) && u.shape.traced != o.shape.traced {
			which := map[bool]string{true: ownRun, false: otherRun}
			a.Why = fmt.Sprintf("traced in %s and not in %s: tracing costs some of the speed", which[u.shape.traced], which[o.shape.traced])
			return a
		}
	}
	for _, o := range otherUnits {
		switch {
		case !u.named(o):
		case !u.shape.sameStack(o.shape):
			a.Why = fmt.Sprintf("another stack: %s in %s, %s in %s", cmp.Or(u.shape.line, "unknown"), ownRun,
				cmp.Or(o.shape.line, "unknown"), otherRun)
		case !u.shape.sameWorkload(o.shape):
			a.Why = fmt.Sprintf("another workload: %s in %s, %s in %s", u.shape.text(), ownRun, o.shape.text(), otherRun)
		}
	}
	if alone := "only in " + ownRun; a.Why == alone {
		a.Why += importRemedy(u, otherUnits, otherRun)
	}
	return a
}

// text is what was declared, on one line.
func (h shape) text() string {
	return strings.Join(strings.Fields(cmp.Or(h.declared, h.summary)), " ")
}

// unlikeSources says why the numbers of a pair come from different places.
func (p comparedPair) unlikeSources() string {
	if p.a.cell == nil || p.b.cell == nil {
		return ""
	}
	switch a, b := p.a.cell.Source(), p.b.cell.Source(); {
	case a == result.SourceMemory && b == result.SourceDevice:
		return "memory answered in A, the device in B"
	case a == result.SourceDevice && b == result.SourceMemory:
		return "the device answered in A, memory in B"
	}
	return ""
}

// source is what answered both.
func (p comparedPair) source() result.Source {
	var s result.Source
	for _, u := range []*unit{p.a, p.b} {
		switch {
		case u.cell == nil:
		case s == "" || s == u.cell.Source():
			s = u.cell.Source()
		default:
			return result.SourceUnknown
		}
	}
	return cmp.Or(s, result.SourceUnknown)
}

func (p comparedPair) marks() []string {
	var out []string
	for _, u := range []*unit{p.a, p.b} {
		for _, m := range u.stack.Marks {
			out = runview.AddNew(out, string(m))
		}
	}
	return out
}
