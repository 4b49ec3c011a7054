package finding

import (
	"fmt"
	"strings"

	"plimsoll/internal/plural"
	"plimsoll/internal/result"
	"plimsoll/internal/stats"
	"plimsoll/internal/units"
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
	f.Caveats = append(f.Caveats, tooFew(e)...)
	f.Title = comparisonTitle(subject, e)
	f.Why = strings.TrimSpace(fmt.Sprintf("%s Medians: %s IOPS of %s against %s of %s; %s.", why,
		units.Rate(subject.point.Median), e.units(e.N[0]), units.Rate(baseline.point.Median), e.units(e.N[1]), e.test()))
	switch {
	case e.TooFew:
	case e.P < stats.Alpha && e.Adjusted >= stats.Alpha:
		f.Why += " Among so many comparisons that may be chance (~)."
	case e.P < stats.Alpha && !e.Differs && e.size() < visible:
		f.Why += " So small a difference is none to anybody (~)."
	case e.P < stats.Alpha && !e.Differs:
		f.Why += fmt.Sprintf(" Two copies of one stack differed by as much here, %sx, so that it is not taken for real (~).", units.Times(e.Floor))
	case !e.Differs:
		f.Why += " That is not significant at the 5% level (~)."
	}
	return f
}

// test writes what the test of an effect said.
func (e Effect) test() string {
	switch {
	case e.TooFew && e.Pairs > 0:
		return "no test of " + plural.Count(e.Pairs, "pair")
	case e.Pairs > 0:
		return fmt.Sprintf("%s in %s, %s for all comparisons together", pText(e.P), plural.Count(e.Pairs, "pair"), pText(e.Adjusted))
	}
	return "Mann-Whitney " + pText(e.P)
}

func comparisonTitle(subject *cell, e Effect) string {
	verb, workload := verbOf(subject.workload.Pattern), subject.workload.Name
	if e.TooFew {
		workload += ", too few to tell"
	}
	switch {
	case subject.source() == result.SourceMemory:
		return fmt.Sprintf("%s seems to %s %s what %s does, from memory: %s", e.Subject, verb.plain, shortRatio(e), e.Baseline, workload)
	case !e.Differs && !e.TooFew:
		return fmt.Sprintf("%s %s ~ what %s does, %s: %s", e.Subject, verb.third, e.Baseline, ratioText(e), workload)
	}
	return fmt.Sprintf("%s %s %s what %s does: %s", e.Subject, verb.third, ratioText(e), e.Baseline, workload)
}
