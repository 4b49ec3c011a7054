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
	for start := 0; start < len(sorted); {
		group := sorted[start : start+1]
		for last := group[0]; start+len(group) < len(sorted); {
			next := sorted[start+len(group)]
			if !next.From.Before(last.To) {
				break
			}
			if next.To.After(last.To) {
				last = next
			}
			group = sorted[start : start+len(group)+1]
		}
		start += len(group)
		if len(group) == 1 {
			continue
		}
		first := slices.MinFunc(group, func(a, b *item) int { return a.To.Compare(b.To) })
		last := group[len(group)-1]
		if !last.From.Before(first.To) {
			long := slices.MaxFunc(group, func(a, b *item) int { return cmp.Compare(a.To.Sub(a.From), b.To.Sub(b.From)) })
			m.problem(long.name(), long.Line, fmt.Sprintf("it was measured beside others that did not all run at the same "+
				"time: %s had ended when %s began", first.name(), last.name()),
				"a result of fio cannot be cut into parts of time: import only jobs that ran at the same time")
			continue
		}
		for _, i := range group {
			mixes[i] = group
		}
		m.noteMix(group)
	}
	made := map[*item]bool{}
	for _, i := range m.items {
		group := mixes[i]
		switch {
		case group == nil:
			m.trials = append(m.trials, []*item{i})
		case !made[group[0]]:
			made[group[0]] = true
			m.trials = append(m.trials, inOrder(group, m.items))
		}
	}
}

// inOrder returns some of all in the order of all.
func inOrder(some, all []*item) []*item {
	return slices.DeleteFunc(slices.Clone(all), func(i *item) bool { return !slices.Contains(some, i) })
}

// noteMix adds the note why several results are one trial.
func (m *importer) noteMix(group []*item) {
	var names []string
	for _, i := range inOrder(group, m.items) {
		names = append(names, path.Base(i.name()))
	}
	m.notes = append(m.notes, fmt.Sprintf("%s were measured at the same time for %.0f s, by the clocks of their hosts: "+
		"they are one mix, whose rates are added up, and no repeats", abbreviate(names), window(group).Seconds))
}

// window returns the time in which all results were measured.
func window(group []*item) *result.Window {
	from, to := group[0].From, group[0].To
	for _, i := range group {
		if i.From.After(from) {
			from = i.From
		}
		if i.To.Before(to) {
			to = i.To
		}
	}
	w := &result.Window{Start: from, Seconds: to.Sub(from).Seconds()}
	for _, i := range group {
		w.Outside = max(w.Outside, 1-w.Seconds/i.To.Sub(i.From).Seconds())
	}
	return w
}

// newTrial makes a trial of results that were measured at the same time.
func newTrial(group []*item) result.Trial {
	t := result.Trial{Status: result.TrialDone, Stack: group[0].stack, Mix: group[0].workload, Started: group[0].Started}
	if len(group) > 1 {
		t.Window = window(group)
	}
	for index, i := range group {
		if i.stack != t.Stack {
			t.Stack = "" // its tenants stand on their own
		}
		if i.Started.Before(t.Started) {
			t.Started = i.Started
		}
		t.ElapsedSeconds = max(t.ElapsedSeconds, i.Elapsed)
		in := result.Instance{Index: index, Tenant: i.workload, Workload: i.workload, Stack: i.stack,
			Status: result.TrialDone, Problem: i.Problem, Measurement: i.Measurement}
		if i.Problem != nil {
			in.Status, t.Status = result.TrialFailed, result.TrialFailed
			if t.Problem == nil {
				t.Problem = i.Problem
			}
		}
		t.Instances = append(t.Instances, in)
		if !slices.ContainsFunc(t.Checks, func(h result.Honesty) bool { return h.Stack == i.stack }) {
			check := result.Honesty{Source: result.SourceUnknown, Reason: "imported: no device counters"}
			if len(group) == 1 {
				check = i.Check()
			}
			check.Stack = i.stack
			t.Checks = append(t.Checks, check)
		}
	}
	if t.Status == result.TrialFailed && len(group) == 1 {
		t.Instances, t.Checks = nil, nil
	}
	return t
}

// mixOf returns the name of the mix of results, and adds the mix to the run unless the run has it. stack is "" if the
// results are on several stacks.
func mixOf(run *result.Run, group []*item, stack string) string {
	var mix result.Mix
	for _, i := range group {
		index := slices.IndexFunc(mix.Tenants, func(t result.Tenant) bool { return t.Workload == i.workload })
		if index < 0 {
			index = len(mix.Tenants)
			mix.Tenants = append(mix.Tenants, result.Tenant{Name: i.workload, Workload: i.workload})
		}
		tenant := &mix.Tenants[index]
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
		index := slices.IndexFunc(run.Mixes, func(m result.Mix) bool { return m.Name == mix.Name })
		if index < 0 {
			run.Mixes = append(run.Mixes, mix)
			return mix.Name
		}
		if slices.EqualFunc(run.Mixes[index].Tenants, mix.Tenants, func(a, b result.Tenant) bool {
			return a.Name == b.Name && a.Count == b.Count && slices.Equal(a.On, b.On)
		}) {
			return mix.Name
		}
		mix.Name = fmt.Sprintf("%s.%d", plain, n)
	}
}
