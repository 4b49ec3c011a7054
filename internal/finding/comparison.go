package finding

import (
	"fmt"
	"strings"

	"plimsoll/internal/result"
)

// comparison is what both rules that compare two stacks say.
func (v *view) comparison(id string, subject, baseline *cell, why string) Finding {
	f := Finding{
		ID: id, Kind: KindComparison, Workload: subject.workload.Name,
		Stacks:   []string{subject.stack.Name, baseline.stack.Name},
		Evidence: points(subject, baseline),
		Caveats:  marksOf(subject, baseline),
	}
	for _, c := range []*cell{subject, baseline} {
		switch c.source() {
		case result.SourceMemory:
			f.Caveats = append(f.Caveats, fmt.Sprintf("%s answered from memory: %s", c.stack.Name, served(c)))
		case result.SourceUnknown:
			f.Caveats = append(f.Caveats, "no device counter of "+c.stack.Name+" could be read: its number is not checked")
		}
	}
	e, ok := v.compare(subject, baseline)
	if !ok {
		f.Title = fmt.Sprintf("%s and %s have no ratio: a trial completed no I/O: %s", e.Subject, e.Baseline, f.Workload)
		f.Why = why
		return f
	}
	f.Effect = &e
	f.Caveats = append(f.Caveats, tooFew(e.N)...)
	f.Title = comparisonTitle(subject, e)
	f.Why = strings.TrimSpace(fmt.Sprintf("%s Medians: %s IOPS of %s against %s of %s; Mann-Whitney p = %s.", why,
		number(subject.point.Median), count(e.N[0], "trial"), number(baseline.point.Median), count(e.N[1], "trial"), digits(e.P)))
	if !e.Differs {
		f.Why += " That is not significant at the 5% level (~)."
	}
	return f
}

func comparisonTitle(subject *cell, e Effect) string {
	verb, workload := verbOf(subject.workload.Pattern), subject.workload.Name
	switch {
	case subject.source() == result.SourceMemory:
		return fmt.Sprintf("%s seems to %s %s what %s does, from memory: %s", e.Subject, verb.plain, shortRatio(e), e.Baseline, workload)
	case !e.Differs:
		return fmt.Sprintf("%s %s ~ what %s does, %s: %s", e.Subject, verb.third, e.Baseline, ratioText(e), workload)
	}
	return fmt.Sprintf("%s %s %s what %s does: %s", e.Subject, verb.third, ratioText(e), e.Baseline, workload)
}
