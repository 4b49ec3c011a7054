package report

import (
	"fmt"
	"slices"
	"strings"

	"plimsoll/internal/result"
	"plimsoll/internal/units/plural"
)

// ran returns what sections are headed by: the mixes of a run, of which a workload alone is one. What a limit is worth
// is said once, beside the mix that it was varied of.
func ran(run *result.Run) (mixes []result.Workload) {
	for _, m := range run.Ran() {
		if m.Varies == nil {
			mixes = append(mixes, heading(run, m))
		}
	}
	return mixes
}

// heading returns the heading of a mix's sections: "4 x readers, randread 4 KiB". A workload alone is headed by
// what it does.
func heading(run *result.Run, m result.Mix) result.Workload {
	head := result.Workload{Name: m.Name, Summary: tenantsText(m), Levels: m.Levels}
	if len(m.Tenants) != 1 {
		return head
	}
	w, known := run.Workload(m.Tenants[0].Workload)
	head.Kind, head.Pattern, head.Summary = w.Kind, w.Pattern, joined(head.Summary, w.Details())
	if known && m.Plain() {
		head.Summary = w.Summary
	}
	return head
}

// joined joins what is not empty with commas.
func joined(texts ...string) string {
	texts = slices.DeleteFunc(texts, func(s string) bool { return s == "" })
	return strings.Join(texts, ", ")
}

// tenantsText says how many instances of what run: "4 x readers; 1 x batch with
// 0.5 CPUs on disk1".
func tenantsText(m result.Mix) string {
	var texts []string
	for _, t := range m.Tenants {
		text := fmt.Sprintf("%d x %s", t.Count, t.Name)
		if t.Name != t.Workload {
			text += " (" + t.Workload + ")"
		}
		if t.Load != nil {
			text += " asked by " + plural.Count(t.Load.Clients, "client") + plural.Choose(t.Count, "", " each")
		}
		if !t.Limits.None() {
			text += " with " + t.Limits.String() + plural.Choose(t.Count, "", " each")
		}
		if len(t.On) > 0 {
			text += " on " + plural.And(t.On)
		}
		texts = append(texts, text)
	}
	return strings.Join(texts, "; ")
}
