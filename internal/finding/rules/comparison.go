package rules

import (
	_ "embed" // the sentences

	"plimsoll/internal/finding/fact"
	"plimsoll/internal/finding/measured"
	"plimsoll/internal/finding/prose"
	"plimsoll/internal/result"
	"plimsoll/internal/stats"
)

//go:embed comparison.tmpl
var comparisonText string

// ComparisonSentences are the sentences of comparisons with the baseline, and of
// siblings.
var ComparisonSentences = prose.NewSheet(comparisonText)

// Compared is what a comparison says beside its effect.
type Compared struct {
	Subject    string `json:"subject"`
	Baseline   string `json:"baseline"`
	Pattern    string `json:"pattern,omitempty"` // fio's rw
	Only       string `json:"only,omitempty"`    // the one thing that siblings differ in
	FromMemory bool   `json:"from_memory,omitempty"`
	// Doubt is why the difference is not taken for real: there are many comparisons,
	// it is small, noise is as large, or it may be chance; "" for none.
	Doubt string `json:"doubt,omitempty"`
}

// comparison is what both rules that compare two stacks find. only is the one thing
// that they differ in; "" for the baseline.
func comparison(v *measured.View, id string, subject, baseline *measured.Cell, only string) fact.Finding {
	f := fact.Finding{
		ID: id, Case: "comparison", Kind: fact.KindComparison, Workload: subject.Workload.Name,
		Stacks:   []string{subject.Stack.Name, baseline.Stack.Name},
		Evidence: measured.Points(subject, baseline),
		Caveats:  measured.MarksOf(subject, baseline),
	}
	for _, c := range []*measured.Cell{subject, baseline} {
		switch c.Source() {
		case result.SourceMemory:
			from := fact.Unfit{Stack: c.Stack.Name, Served: measured.Served(c)}
			f.Remarks = append(f.Remarks, fact.Remark{Case: "caveat: from memory", Facts: from})
		case result.SourceUnknown:
			f.Remarks = append(f.Remarks, fact.Remark{Case: "caveat: unchecked", Facts: fact.Unfit{Stack: c.Stack.Name}})
		}
	}
	facts := Compared{
		Subject: subject.Stack.Name, Baseline: baseline.Stack.Name, Pattern: subject.Workload.Pattern, Only: only,
		FromMemory: subject.Source() == result.SourceMemory,
	}
	e, ok := v.Compare(subject, baseline)
	if ok {
		f.Effect = &e
		f.Remarks = append(f.Remarks, measured.TooFew(e)...)
		facts.Doubt = doubtOf(e)
	}
	f.Facts = facts
	return f
}

// doubtOf says why an effect is not taken for a difference; "" where it is, or where
// so few cannot tell.
func doubtOf(e fact.Effect) string {
	switch {
	case e.TooFew:
		return ""
	case e.P < stats.Alpha && e.Adjusted >= stats.Alpha:
		return "many"
	case e.P < stats.Alpha && !e.Differs && e.Size() < measured.Visible:
		return "small"
	case e.P < stats.Alpha && !e.Differs:
		return "noise"
	case !e.Differs:
		return "chance"
	}
	return ""
}
