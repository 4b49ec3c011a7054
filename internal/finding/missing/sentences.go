package missing

import (
	"fmt"
	"slices"
	"strings"

	"plimsoll/internal/result"
	"plimsoll/internal/units/plural"
)

// title says what was not measured: "2 trials failed (xfs, RW): why".
func (f *Facts) title(run *result.Run) string {
	outcome := "lost"
	switch f.Status {
	case result.TrialPlanned:
		outcome = "not run"
	case result.TrialFailed, result.TrialSkipped:
		outcome = string(f.Status)
	}
	of := slices.DeleteFunc([]string{plural.And(f.named(run)), plural.And(f.Workloads)}, func(s string) bool { return s == "" })
	reason, _, _ := strings.Cut(f.Reason, "\n")
	said := fmt.Sprintf("%s %s (%s): %s", plural.Count(f.Trials, "trial"), outcome, strings.Join(of, ", "),
		strings.TrimRight(reason, ". "))
	return strings.Join(strings.Fields(said), " ")
}

// named are the stacks, and of what a control is a copy; none for mixes that name their own.
func (f *Facts) named(run *result.Run) (names []string) {
	for _, name := range f.stacks {
		s, _ := run.Stack(name)
		switch {
		case s.Control != "":
			names = append(names, fmt.Sprintf("%s, a copy of %s", name, s.Control))
		case name != "":
			names = append(names, name)
		}
	}
	return names
}

// why says where it failed, why, and what would change it.
func (f *Facts) why() string {
	text := plain(f.Reason)
	if f.What != "" {
		text = f.What + ": " + text
	}
	if f.Remedy != "" {
		text += " What would change it: " + plain(f.Remedy)
	}
	return strings.Join(strings.Fields(text), " ")
}

// plain ends a text with one stop.
func plain(text string) string { return strings.TrimRight(text, ". \n") + "." }
