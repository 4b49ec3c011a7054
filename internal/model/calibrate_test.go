package model_test

import (
	"fmt"
	"strings"
	"testing"

	"plimsoll/internal/model"
	"plimsoll/internal/result"
	"plimsoll/internal/result/imports/points"
)

// servers is a table of servers on a host where all takes pace times as long, over instances and memory.
func servers(pace float64, limit string, instances, gib []int) string {
	table := "class,instances,clients,throughput,reads,cpu,cpus,memory,read-iops\n"
	for _, n := range instances {
		for _, m := range gib {
			reads := max(0, 0.8-0.1*float64(m)/float64(n))
			rate := float64(n) * 8 / (pace * (1e-3 + 3e-3*reads))
			table += fmt.Sprintf("C,%d,8,%g,%g,%gus,64,%dGiB,%s\n", n, rate, reads, 50*pace, m, limit)
		}
	}
	return table
}

func tableRun(t *testing.T, table string) *result.Run {
	t.Helper()
	run, wrong := points.Read("t.csv", []byte(table))
	if len(wrong) > 0 {
		t.Fatal(wrong)
	}
	return &run
}

// One point of a slower host carries a model there: other numbers and sizes are as they were measured, how far off the
// model was without it is said, and what it says of its own host stays.
func TestOnePointCarriesAModelToAnotherHost(t *testing.T) {
	m := fitTable(t, servers(1, "", []int{1, 2, 4}, []int{4, 8, 16, 32}))
	there := tableRun(t, servers(1.7, "", []int{1, 2, 3, 4}, []int{6, 8, 16}))
	if before := m.Hold(there); !(before.MAPE > 0.5) {
		t.Fatalf("it was near before: %+v", before.MAPE)
	}
	one, host, err := m.Calibrated(tableRun(t, servers(1.7, "", []int{2}, []int{8})), nil, []string{"C"})
	if err != nil || host.MemoryBytes != 8<<30 {
		t.Fatalf("%+v, %v", host, err)
	}
	if after := one.Hold(there); len(after.Rows) != 12 || !(after.Worst < 0.05) {
		t.Errorf("%+v", after)
	}
	a, err := one.Predict(model.Ask{Host: host, Tenants: []model.Tenant{{Class: "C", Count: 2, Think: -1}}})
	if err != nil || len(a.Calibrated) != 1 {
		t.Fatalf("%+v, %v", a, err)
	}
	if c := a.Calibrated[0]; !(c.Before > 0.6 && c.Before < 0.8 && c.After < 0.001 && c.Pace > 1.6 && c.Pace < 1.8) ||
		!strings.Contains(c.Text(), "One point does not show") {
		t.Errorf("%+v: %s", c, c.Text())
	}
	here := m.Hold(tableRun(t, servers(1, "", []int{1, 2}, []int{8})))
	if !(here.Worst < 0.05) {
		t.Errorf("what the model says of its own host has changed: %+v", here)
	}
}

// Where a limit binds, no pace of operations makes the model agree, and what the run lacks is said.
func TestLimitsAreNoPace(t *testing.T) {
	m := fitTable(t, servers(1, "", []int{1, 2, 4}, []int{4, 8, 16, 32}))
	_, _, err := m.Calibrated(tableRun(t, servers(0.5, "1000", []int{4}, []int{4})), nil, []string{"C"})
	if err == nil || !strings.Contains(err.Error(), "what binds there is a limit") {
		t.Errorf("%v", err)
	}
	other := strings.ReplaceAll(servers(1, "", []int{2}, []int{8}), "\nC,", "\nD,")
	_, _, err = m.Calibrated(tableRun(t, other), nil, []string{"C"})
	if err == nil || !strings.Contains(err.Error(), "measured no C") {
		t.Errorf("%v", err)
	}
}
