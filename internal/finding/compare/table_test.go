package compare

import (
	"slices"
	"testing"

	"plimsoll/internal/result"
	"plimsoll/internal/result/imports/points"
)

// Points of tables are compared where class, instances and clients are the same.
func TestTablesAreComparedByTheirSetUp(t *testing.T) {
	table := func(rows string) *result.Run {
		run, wrong := points.Read("t.csv", []byte("class,instances,clients,throughput\n"+rows))
		if len(wrong) > 0 {
			t.Fatal(wrong)
		}
		return &run
	}
	a := table("C,4,8,1000\nC,2,8,500\nD,4,8,700\n")
	b := table("C,4,8,900\nC,2,16,600\n")
	c := Runs(a, b, Options{Threshold: 0.05, Alpha: 0.01})
	var rows, apart []string
	for _, r := range c.Rows {
		rows = append(rows, r.Workload)
	}
	for _, x := range c.Apart {
		apart = append(apart, x.Workload+": "+x.Why)
	}
	if len(rows) == 0 || slices.ContainsFunc(rows, func(w string) bool { return w != "C-4" && w != "C-4-8" }) {
		t.Errorf("compared are %q", rows)
	}
	for _, want := range []string{"D-4: only in A", "C-2: only in A", "C-2-16: only in B"} {
		if !slices.Contains(apart, want) {
			t.Errorf("apart are %q, without %q", apart, want)
		}
	}
}
