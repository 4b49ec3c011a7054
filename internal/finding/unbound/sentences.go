package unbound

import (
	"fmt"
	"strings"

	"plimsoll/internal/fact"
	"plimsoll/internal/units"
	"plimsoll/internal/units/plural"
)

func (f *Facts) title() string {
	var all []string
	for _, l := range f.Limits {
		all = append(all, l.text())
	}
	return fmt.Sprintf("No use came near %s: %s", plural.Choose(len(all), "this limit", "these limits"), strings.Join(all, "; "))
}

func (f *Facts) why() string {
	said := "Resources that were hardly used explain no number here. Shares are of whole trials, and within one, bursts use more"
	if quota := f.quota(); len(quota) > 0 {
		said += fmt.Sprintf("; yet by the kernel's account, the limit of CPUs of each %s never held one back", plural.And(quota))
	}
	return said + "."
}

// quota names those whose own limit of CPUs is among them: the kernel tells of each whether that held an
// instance back.
func (f *Facts) quota() (whose []string) {
	for _, l := range f.Limits {
		if l.Resource == fact.Processors && l.Workload != "" {
			whose = append(whose, l.whose())
		}
	}
	return whose
}

// text names a limit, and how much of it was used at most.
func (l Limit) text() string {
	whose := "the scaled-down host"
	if l.Workload != "" {
		whose = "each " + l.whose()
	}
	text := fmt.Sprintf("%s of %s, %s used at most", l.Resource.Limit(), whose, units.Percent(l.Most))
	if l.Mixes > 1 {
		text += fmt.Sprintf(" (with %s)", l.Mix)
	}
	return text
}

// whose names whose instances have it.
func (l Limit) whose() string {
	if l.Policy == "" {
		return l.Workload
	}
	return l.Workload + " under the policy " + l.Policy
}
