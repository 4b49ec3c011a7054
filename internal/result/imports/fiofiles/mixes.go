package fiofiles

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	"plimsoll/internal/result"
)

// groupTrials groups results into trials: results that were measured at the same time are one trial. Trials are in
// the order of the results.
func (m *importer) groupTrials() {
	sorted := slices.DeleteFunc(slices.Clone(m.items), func(i *item) bool { return !i.From.Before(i.To) })
	slices.SortStableFunc(sorted, func(a, b *item) int { return a.From.Compare(b.From) })
	mixes := map[*item][]*item{}
	for at := 0; at < len(sorted); {
		of := sorted[at : at+1]
		for last := of[0]; at+len(of) < len(sorted); {
			next := sorted[at+len(of)]
			if !next.From.Before(last.To) {
				break
			}
			if next.To.After(last.To) {
				last = next
			}
			of = sorted[at : at+len(of)+1]
		}
		at += len(of)
		if len(of) == 1 {
			continue
		}
		first := slices.MinFunc(of, func(a, b *item) int { return a.To.Compare(b.To) })
		last := of[len(of)-1]
		if !last.From.Before(first.To) {
			long := slices.MaxFunc(of, func(a, b *item) int { return cmp.Compare(a.To.Sub(a.From), b.To.Sub(b.From)) })
			m.problem(long.name(), long.Line, fmt.Sprintf("it was measured beside others that did not all run at the same "+
				"time: %s had ended when %s began", first.name(), last.name()),
				"a result of fio cannot be cut into the times of others: import what ran at the same time, and nothing else")
			continue
		}
		for _, i := range of {
			mixes[i] = of
		}
		m.noteMix(of)
	}
	made := map[*item]bool{}
	for _, i := range m.items {
		of := mixes[i]
		switch {
		case of == nil:
			m.trials = append(m.trials, []*item{i})
		case !made[of[0]]:
			made[of[0]] = true
			m.trials = append(m.trials, inOrder(of, m.items))
		}
	}
}

// inOrder returns some of all in the order of all.
func inOrder(some, all []*item) []*item {
	return slices.DeleteFunc(slices.Clone(all), func(i *item) bool { return !slices.Contains(some, i) })
}

// noteMix adds the note why several results are one trial.
func (m *importer) noteMix(of []*item) {
	var names []string
	for _, i := range inOrder(of, m.items) {
		names = append(names, path.Base(i.name()))
	}
	m.notes = append(m.notes, fmt.Sprintf("%s were measured at the same time for %.0f s, by the clocks of their hosts: "+
		"they are one mix, whose rates are added up, and no repeats", abbreviate(names), window(of).Seconds))
}

// window is the time in which all results were measured.
func window(of []*item) *result.Window {
	from, to := of[0].From, of[0].To
	for _, i := range of {
		if i.From.After(from) {
			from = i.From
		}
		if i.To.Before(to) {
			to = i.To
		}
	}
	w := &result.Window{Start: from, Seconds: to.Sub(from).Seconds()}
	for _, i := range of {
		w.Outside = max(w.Outside, 1-w.Seconds/i.To.Sub(i.From).Seconds())
	}
	return w
}

// newTrial makes a trial of results that were measured at the same time.
func newTrial(of []*item) result.Trial {
	t := result.Trial{Status: result.TrialDone, Stack: of[0].stack, Mix: of[0].workload, Started: of[0].Started}
	reason := "imported: no device counters"
	if slices.ContainsFunc(of, func(i *item) bool { return i.Disks }) {
		reason += "; what fio noted of devices is of all its jobs and their ramp together"
	}
	if len(of) > 1 {
		t.Window = window(of)
	}
	for at, i := range of {
		if i.stack != t.Stack {
			t.Stack = "" // its tenants stand on their own
		}
		if i.Started.Before(t.Started) {
			t.Started = i.Started
		}
		t.ElapsedSeconds = max(t.ElapsedSeconds, i.Elapsed)
		in := result.Instance{Index: at, Tenant: i.workload, Workload: i.workload, Stack: i.stack, Status: result.TrialDone,
			Problem: i.Problem, Measurement: i.Measurement}
		if i.Problem != nil {
			in.Status, t.Status = result.TrialFailed, result.TrialFailed
			if t.Problem == nil {
				t.Problem = i.Problem
			}
		}
		t.Instances = append(t.Instances, in)
		if !slices.ContainsFunc(t.Checks, func(h result.Honesty) bool { return h.Stack == i.stack }) {
			t.Checks = append(t.Checks, result.Honesty{Stack: i.stack, Source: result.SourceUnknown, Reason: reason})
		}
	}
	if t.Status == result.TrialFailed && len(of) == 1 {
		t.Instances, t.Checks = nil, nil
	}
	return t
}

// mixOf returns the name of the mix of results, of which one is made unless the run has it. With a stack, all of them
// are on it.
func mixOf(run *result.Run, of []*item, stack string) string {
	var mix result.Mix
	for _, i := range of {
		at := slices.IndexFunc(mix.Tenants, func(t result.Tenant) bool { return t.Workload == i.workload })
		if at < 0 {
			at = len(mix.Tenants)
			mix.Tenants = append(mix.Tenants, result.Tenant{Name: i.workload, Workload: i.workload})
		}
		tenant := &mix.Tenants[at]
		tenant.Count++
		if stack == "" {
			tenant.On = append(tenant.On, i.stack)
		}
	}
	var names []string
	for i := range mix.Tenants {
		slices.Sort(mix.Tenants[i].On)
	}
	slices.SortFunc(mix.Tenants, func(a, b result.Tenant) int { return cmp.Compare(a.Name, b.Name) })
	for _, t := range mix.Tenants {
		name := t.Name
		if t.Count > 1 {
			name = fmt.Sprintf("%s-%d", name, t.Count)
		}
		names = append(names, name)
	}
	mix.Name = strings.Join(names, "+")
	for n, plain := 2, mix.Name; ; n++ {
		at := slices.IndexFunc(run.Mixes, func(m result.Mix) bool { return m.Name == mix.Name })
		if at < 0 {
			run.Mixes = append(run.Mixes, mix)
			return mix.Name
		}
		if slices.EqualFunc(run.Mixes[at].Tenants, mix.Tenants, func(a, b result.Tenant) bool {
			return a.Name == b.Name && a.Count == b.Count && slices.Equal(a.On, b.On)
		}) {
			return mix.Name
		}
		mix.Name = fmt.Sprintf("%s.%d", plain, n)
	}
}
