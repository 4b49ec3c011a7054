package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"plimsoll/internal/finding/fact"
	"plimsoll/internal/plural"
	"plimsoll/internal/result"
	"plimsoll/internal/units"
)

// presented returns the run and its points as the report speaks of them: under
// what ran, which is mixes where the run has any; on the stacks that they stood
// on, also where these are their tenants' own; and with the miniature as a mark
// of every number that was measured in one. A run without mixes is returned as
// it is.
func presented(run *result.Run, points []fact.Point) (*result.Run, []fact.Point) {
	if len(run.Mixes) == 0 {
		return run, points
	}
	shown := *run
	shown.Workloads = nil
	for _, m := range run.Mixes {
		if m.Varies == nil { // what a limit is worth is told and drawn once, beside the mix that it was varied of
			shown.Workloads = append(shown.Workloads, mixAsWorkload(run, m))
		}
	}
	places := map[string]string{} // of mixes whose tenants stand on stacks of their own
	shown.Trials = slices.Clone(run.Trials)
	for i := range shown.Trials {
		t := &shown.Trials[i]
		if t.Stack == "" {
			t.Stack = placesOf(mixNamed(run, t.Mix))
			places[t.Mix] = t.Stack
		}
	}
	shown.Points = slices.Clone(run.Points)
	for i := range shown.Points {
		p := &shown.Points[i]
		if p.Stack == "" {
			p.Stack = places[p.Mix]
		}
	}
	marked := slices.Clone(points)
	for i := range marked {
		p := &marked[i]
		m := mixNamed(run, p.Workload)
		if p.Stack == "" {
			p.Stack = places[p.Workload]
			p.Marks = with(p.Marks, marksOfPlaces(run, m)...)
		}
		miniature := miniatureText(run, m.Host)
		if miniature != "" {
			p.Marks = with(p.Marks, miniature)
		}
	}
	return &shown, marked
}

// with returns some with those of others that are not among them.
func with[T comparable](some []T, others ...T) []T {
	all := slices.Clone(some)
	for _, m := range others {
		if !slices.Contains(all, m) {
			all = append(all, m)
		}
	}
	return all
}

// marksOfPlaces returns the marks of the stacks that a mix's tenants stand on.
func marksOfPlaces(run *result.Run, m result.Mix) []string {
	var marks []string
	for _, t := range m.Tenants {
		for _, s := range run.Stacks {
			if slices.Contains(t.On, s.Name) {
				for _, mark := range s.Marks {
					marks = append(marks, string(mark))
				}
			}
		}
	}
	return marks
}

// mixNamed returns the mix of that name; an empty one where the run has none.
func mixNamed(run *result.Run, name string) result.Mix {
	for _, m := range run.Mixes {
		if m.Name == name {
			return m
		}
	}
	return result.Mix{Name: name}
}

// placesOf names the stacks of a mix's tenants: "disk1 + disk2".
func placesOf(m result.Mix) string {
	var names []string
	for _, t := range m.Tenants {
		for _, stack := range t.On {
			if !slices.Contains(names, stack) {
				names = append(names, stack)
			}
		}
	}
	return strings.Join(names, " + ")
}

// mixAsWorkload is what the sections of a mix are headed by: "4 x readers,
// randread 4 KiB". A workload alone is headed as it always is.
func mixAsWorkload(run *result.Run, m result.Mix) result.Workload {
	shown := result.Workload{Name: m.Name, Summary: tenantsText(m)}
	if len(m.Tenants) != 1 {
		shown.Levels = m.Levels
		return shown
	}
	for _, w := range run.Workloads {
		if w.Name == m.Tenants[0].Workload {
			shown.Kind, shown.Pattern = w.Kind, w.Pattern
			shown.Summary = joined(tenantsText(m), w.Summary)
			if plain(m) {
				shown.Summary = w.Summary
			}
		}
	}
	shown.Levels = m.Levels
	return shown
}

// plain reports whether a mix is a workload alone, under its own name, on the
// host itself.
func plain(m result.Mix) bool {
	if !m.Alone() || m.Host != nil {
		return false
	}
	t := m.Tenants[0]
	return m.Name == t.Workload && len(t.On) == 0 && t.Limits.None()
}

// joined joins what is not empty with commas.
func joined(texts ...string) string {
	texts = slices.DeleteFunc(texts, func(s string) bool { return s == "" })
	return strings.Join(texts, ", ")
}

// tenantsText says how many instances of what run: "4 x readers; 1 x batch with
// 0.5 CPUs on disk1".
func tenantsText(m result.Mix) string {
	var all []string
	for _, t := range m.Tenants {
		text := fmt.Sprintf("%d x %s", t.Count, t.Name)
		if t.Name != t.Workload {
			text += " (" + t.Workload + ")"
		}
		if !t.Limits.None() {
			text += " with " + t.Limits.String() + plural.Choose(t.Count, "", " each")
		}
		if len(t.On) > 0 {
			text += " on " + plural.And(t.On)
		}
		all = append(all, text)
	}
	return strings.Join(all, "; ")
}

func bytesText(n int64) string { return units.Bytes(uint64(max(0, n))) }

// miniatureText says in which smaller host numbers were measured, or, of those that were measured elsewhere, on
// which; "" for none.
func miniatureText(run *result.Run, host *result.Limits) string {
	switch {
	case host == nil || host.None():
		return ""
	case run.Imported != nil:
		return "on a host of " + host.String()
	}
	return "in a miniature of " + host.String()
}

// miniatureOf says in which smaller host a run measured, for the top of its
// report; "" for none.
func miniatureOf(run *result.Run) string {
	var all []string
	for _, m := range run.Mixes {
		if m.Varies != nil {
			continue // its limits are told where they are compared
		}
		text := miniatureText(run, m.Host)
		if !slices.Contains(all, text) {
			all = append(all, text)
		}
	}
	switch {
	case len(all) == 1:
		return all[0]
	case slices.ContainsFunc(all, func(s string) bool { return s != "" }):
		if run.Imported != nil {
			return fmt.Sprintf("on %d hosts: each mix says on which", len(all))
		}
		return fmt.Sprintf("in %d sizes of host: each mix says in which miniature", len(all))
	}
	return ""
}

// wholeHost says of a run that was to measure the host itself what that has; "" for any other.
func wholeHost(run *result.Run) string {
	if !run.Experiment.HostAsked.None || miniatureOf(run) != "" {
		return ""
	}
	return fmt.Sprintf("on the whole host: %s, %s of memory, and none of it limited",
		plural.Count(run.Environment.CPUs, "CPU"), units.Bytes(run.Environment.MemoryBytes))
}

// noteIn puts the miniature that numbers were measured in before a note on them.
func noteIn(run *result.Run, note string) string {
	where := cmp.Or(miniatureOf(run), wholeHost(run))
	if where == "" {
		return note
	}
	return "Measured " + where + ". " + note
}
