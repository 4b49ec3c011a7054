// Package repeats adds up runs that measured the same: one experiment, with the same settings, on the same host. What
// differs between two runs is found here, and what keeps them from being repeats of each other.
//
// The package is pure.
package repeats

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"plimsoll/internal/problem"
	"plimsoll/internal/result"
	"plimsoll/internal/units/plural"
)

// Pool returns repeats of an experiment as one run: the rounds of all of them, oldest first, each trial with the number
// of its Run. A single run is returned as it is. The error names every difference that keeps some of them from being
// repeats.
func Pool(runs []*result.Run) (*result.Run, error) {
	if len(runs) == 1 {
		return runs[0], nil
	}
	runs = slices.Clone(runs)
	slices.SortStableFunc(runs, func(a, b *result.Run) int {
		return cmp.Or(a.Started.Compare(b.Started), cmp.Compare(a.ID, b.ID))
	})
	if err := check(runs); err != nil {
		return nil, err
	}
	pooled := *runs[len(runs)-1]
	pooled.Started = runs[0].Started
	pooled.Stacks, pooled.Workloads, pooled.Mixes = nil, nil, nil
	pooled.Trials, pooled.Regions, pooled.Points = nil, nil, nil
	var ids []string
	for i, run := range runs {
		ids = append(ids, run.ID)
		pooled.Pooled = append(pooled.Pooled, result.PooledRun{ID: run.ID, Started: run.Started, Seed: run.Seed})
		if run.Status != result.RunComplete {
			pooled.Status = run.Status
		}
		pooled.Stacks = addNew(pooled.Stacks, run.Stacks, func(s result.Stack) string { return s.Name })
		pooled.Workloads = addNew(pooled.Workloads, run.Workloads, func(w result.Workload) string { return w.Name })
		pooled.Mixes = addNew(pooled.Mixes, run.Mixes, func(m result.Mix) string { return m.Name })
		add(&pooled, run, i+1)
	}
	pooled.ID = strings.Join(ids, "+")
	return &pooled, nil
}

// Groups returns runs with their repeats pooled, in the order of each group's newest run. Of a run that occurs twice,
// the first counts.
func Groups(runs []*result.Run) (pooled []*result.Run) {
	var groups [][]*result.Run
	for i, run := range runs {
		if slices.ContainsFunc(runs[:i], func(other *result.Run) bool { return isSame(run, other) }) {
			continue
		}
		i := slices.IndexFunc(groups, func(g []*result.Run) bool { return check([]*result.Run{g[0], run}) == nil })
		if i < 0 {
			groups = append(groups, []*result.Run{run})
		} else {
			groups[i] = append(groups[i], run)
		}
	}
	for _, g := range groups {
		pool, err := Pool(g)
		if err != nil { // what differs from the first of them differs from each
			pooled = append(pooled, g...)
			continue
		}
		pooled = append(pooled, pool)
	}
	slices.SortStableFunc(pooled, func(a, b *result.Run) int { return newest(b).Compare(newest(a)) })
	return pooled
}

// newest returns when the last of a run's pooled runs began, or the run itself.
func newest(run *result.Run) time.Time {
	if n := len(run.Pooled); n > 0 {
		return run.Pooled[n-1].Started
	}
	return run.Started
}

// add adds the trials and the regions of a run. Their numbers go on from those of the runs before.
func add(pooled, run *result.Run, number int) {
	var last result.Trial
	region := 0
	for _, t := range pooled.Trials {
		last.Seq, last.Block = max(last.Seq, t.Seq), max(last.Block, t.Block)
		last.Repeat, last.BringUp = max(last.Repeat, t.Repeat), max(last.BringUp, t.BringUp)
		region = max(region, t.Region)
	}
	for _, r := range pooled.Regions {
		region = max(region, r.Number)
	}
	for _, r := range run.Regions {
		r.Number += region
		pooled.Regions = append(pooled.Regions, r)
	}
	for _, t := range run.Trials {
		t.Run, t.Seq, t.Block, t.Repeat = number, t.Seq+last.Seq, t.Block+last.Block, t.Repeat+last.Repeat
		if t.BringUp > 0 {
			t.BringUp += last.BringUp
		}
		if t.Region > 0 {
			t.Region += region
		}
		if t.Artifacts != "" {
			t.Artifacts = path.Join(run.ID, t.Artifacts)
		}
		pooled.Trials = append(pooled.Trials, t)
	}
}

func addNew[T any](values, added []T, name func(T) string) []T {
	for _, value := range added {
		if !slices.ContainsFunc(values, func(known T) bool { return name(known) == name(value) }) {
			values = append(values, value)
		}
	}
	return values
}

// check returns an error that names all that keeps runs from being repeats of the first one.
func check(runs []*result.Run) error {
	if len(runs) == 0 {
		return errors.New("there is no run to pool")
	}
	var problems []string
	remedy := "name other runs"
	for i, run := range runs {
		twice := slices.IndexFunc(runs[:i], func(other *result.Run) bool { return isSame(run, other) })
		switch {
		case run.Imported != nil:
			problems = append(problems, run.ID+" was imported: the host and the rounds of its trials are not known")
		case !run.InSetups():
			problems = append(problems, fmt.Sprintf("%s does not say which setup each trial was in, or has no trial", run.ID))
		case twice >= 0 && run.ID == runs[twice].ID:
			problems = append(problems, run.ID+" is named twice: a run is evidence once")
		case twice >= 0:
			problems = append(problems, fmt.Sprintf("%s is a copy of %s: a run is evidence once", run.ID, runs[twice].ID))
		}
		for _, d := range Differences(runs[0], run) {
			problems = append(problems, fmt.Sprintf("%s: %s in %s, %s in %s", d.What, d.A, runs[0].ID, d.B, run.ID))
			remedy = "plimsoll compare tests whether runs that differ in one thing differ in what they do"
		}
	}
	if len(problems) == 0 {
		return nil
	}
	return problem.New(problem.Invalid, fmt.Sprintf("pool %s", plural.Count(len(runs), "run")),
		"they are no repeats of one experiment:\n  "+strings.Join(problems, "\n  "),
		remedy)
}

// isSame reports whether two runs are one: a host starts one run at a time.
func isSame(a, b *result.Run) bool {
	return a.ID == b.ID || !a.Started.IsZero() && a.Started.Equal(b.Started)
}

// Apart returns an error that names the runs which are on both of two sides.
func Apart(a, b []*result.Run) error {
	var both []string
	for _, run := range b {
		if slices.ContainsFunc(a, func(other *result.Run) bool { return isSame(run, other) }) {
			both = append(both, run.ID)
		}
	}
	if len(both) == 0 {
		return nil
	}
	return problem.New(problem.Invalid, "compare runs on two sides", plural.And(both)+" "+
		plural.Choose(len(both), "is", "are")+" on both sides", "name each run once")
}

// Difference is something that is not the same in two runs.
type Difference struct{ What, A, B string }

// Differences returns all that keeps two runs from being repeats of each other: of the experiment and its settings, the
// host, the stacks, and what ran on them. How often and how long each was repeated makes no difference.
func Differences(a, b *result.Run) (all []Difference) {
	seen := map[Difference]bool{}
	add := func(what, a, b string) {
		d := Difference{what, short(a), short(b)}
		if a != b && !seen[d] {
			all, seen[d] = append(all, d), true
		}
	}
	addText(add, "experiment file", a.Experiment.Source, b.Experiment.Source)
	ours, theirs := settings(a.Experiment), settings(b.Experiment)
	for _, key := range keysOf(ours, theirs) {
		add(strings.ReplaceAll(key, "_", " "), string(ours[key]), string(theirs[key]))
	}
	known := Environment(b)
	for i, f := range Environment(a) {
		add(f.Name, f.Value, known[i].Value)
	}
	for _, s := range a.Stacks {
		other, ok := b.Stack(s.Name)
		if !ok || s.Control != "" { // a control is as its twin
			continue
		}
		add("stack "+s.Name, s.Line, other.Line)
		facts := StackFacts(b, other)
		for _, f := range StackFacts(a, s) {
			if at := slices.IndexFunc(facts, func(o result.Fact) bool { return o.Name == f.Name }); at >= 0 {
				add(f.Name+" of stack "+s.Name, f.Value, facts[at].Value)
			}
		}
	}
	for _, w := range a.Workloads {
		if other, ok := b.Workload(w.Name); ok {
			addText(add, "workload "+w.Name, w.Declared, other.Declared)
			add("settings of the server of "+w.Name, text(w.Settings), text(other.Settings))
		}
	}
	for _, m := range a.Mixes {
		at := slices.IndexFunc(b.Mixes, func(other result.Mix) bool { return other.Name == m.Name })
		if at >= 0 {
			add("mix "+m.Name, text(m), text(b.Mixes[at]))
		}
	}
	return all
}

// effort are settings of how often and how long something is repeated, and of what is said of it: what is measured is
// the same.
var effort = []string{
	"repeat", "trials", "budget_seconds", "wait_for_quiet_seconds", "no_wait_for_quiet", "no_control", "margin",
	"source", "file", "left_out", "clients", // source and clients are compared by themselves
}

// settings are those of an experiment that change what is measured, as JSON by their keys.
func settings(e result.Experiment) (of map[string]json.RawMessage) {
	e.Files = slices.Clone(e.Files)
	for i := range e.Files {
		e.Files[i].Text = "" // its sum says the same
	}
	_ = json.Unmarshal([]byte(text(e)), &of) // it was marshalled from a struct
	for _, key := range effort {
		delete(of, key)
	}
	return of
}

func keysOf(a, b map[string]json.RawMessage) (keys []string) {
	for _, fields := range []map[string]json.RawMessage{a, b} {
		for key := range fields {
			if !slices.Contains(keys, key) {
				keys = append(keys, key)
			}
		}
	}
	slices.Sort(keys)
	return keys
}

func text(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		return err.Error() // a number that JSON has not: the same in both, or not
	}
	return string(b)
}

// addText adds the first line in which two texts differ.
func addText(add func(subject, a, b string), subject, a, b string) {
	ours, theirs := strings.Split(a, "\n"), strings.Split(b, "\n")
	for i := range max(len(ours), len(theirs)) {
		x, y := lineAt(ours, i), lineAt(theirs, i)
		if x != y {
			add(fmt.Sprintf("%s, line %d", subject, i+1), strings.TrimSpace(x), strings.TrimSpace(y))
			return
		}
	}
}

func lineAt(lines []string, i int) string {
	if i >= len(lines) {
		return ""
	}
	return lines[i]
}

// short is a value of a difference, as an error has room for it.
func short(value string) string {
	const most = 80
	if runes := []rune(value); len(runes) > most {
		return string(runes[:most]) + "..."
	}
	return cmp.Or(value, "none")
}
