package compare

import (
	"testing"

	"plimsoll/internal/finding/prose"
	"plimsoll/internal/section"
)

// An interval that says nothing is not printed as one.
func TestWideIntervalsAreNotKnown(t *testing.T) {
	low, narrow, wide := 0.07, 2.6, 70.1
	if got := (Row{Low: &low, High: &wide}).interval().String(); got != section.NotKnown {
		t.Errorf("compare says %q", got)
	}
	if got := (Row{Low: &low, High: &narrow}).interval().String(); got != "0.07 to 2.6" {
		t.Errorf("compare says %q", got)
	}
}

// Marks that all stacks have are told once, and others of whose they are.
func TestMarksOfRows(t *testing.T) {
	s := Comparison{}.section([]Row{
		{Stack: "raw", Workload: "RR", Metric: "iops", Marks: []string{"loop device", "old kernel"}},
		{Stack: "raw", Workload: "RR", Metric: "p99", Marks: []string{"loop device", "old kernel"}},
		{Stack: "tmpfs", Workload: "RR", Metric: "iops", Marks: []string{"loop device"}},
	})
	if len(s.Remarks) != 2 || s.Remarks[0].Text != prose.EveryNumber("loop device") || s.Remarks[1].Text != "raw: old kernel" {
		t.Errorf("%+v", s.Remarks)
	}
	if len(s.Tables) != 2 || len(s.Tables[0].Rows) != 2 || len(s.Tables[1].Rows) != 1 {
		t.Errorf("%+v", s.Tables)
	}
}
