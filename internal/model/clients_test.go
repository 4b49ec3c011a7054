package model_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"plimsoll/internal/model"
	"plimsoll/internal/result"
	"plimsoll/internal/testkit/runtest"
)

// clientsRun is a run of one and two servers, each asked by so many clients, which do 100 operations a second each.
func clientsRun(workload string, clients int, others string) *result.Run {
	run := runtest.Instances{Blocks: 3, Host: &result.Limits{CPUs: 8, MemoryBytes: 4 << 30},
		Workload: result.Workload{Name: workload, Kind: "ycsb",
			Declared: fmt.Sprintf("workload: C\nrecords: 1000\nthreads: %d\nthink: 5ms\n%s", clients, others)},
		Points: []runtest.InstancesPoint{{Count: 1, Rate: 100 * float64(clients)}, {Count: 2, Rate: 200 * float64(clients)}},
	}.Run()
	run.ID = workload
	return run
}

// Workloads that differ in their number of clients are one class, of which that is a level: how many there are may be
// asked, a run of another number is held against it, and the next run says how many it takes.
func TestClientsOfRunsAreALevel(t *testing.T) {
	runs := []*result.Run{clientsRun("T-1", 1, ""), clientsRun("T-4", 4, ""), clientsRun("T-16", 16, "")}
	m, err := model.Fit(model.Options{Seed: 1}, runs...)
	if err != nil {
		t.Fatal(err)
	}
	if len(m.Classes) != 1 || len(m.Classes[0].Points) != 6 || m.Classes[0].Name != "T" || m.Classes[0].Kind != "ycsb" ||
		strings.Contains(m.Classes[0].Declared, "threads") {
		t.Fatalf("%d classes: %+v", len(m.Classes), m.Classes[0].Class)
	}
	a := m.Hold(clientsRun("else", 10, ""))
	if len(a.Rows) != 2 || !(a.Worst < 0.1) {
		t.Errorf("10 clients: %+v", a)
	}
	if other := m.Hold(clientsRun("T-10", 10, "distribution: uniform\n")); len(other.Rows) != 0 {
		t.Errorf("other parameters: %+v", other.Rows)
	}
	host := m.Classes[0].Measured()
	host.MemoryBytes *= 2
	next, err := m.Next(model.Ask{Host: host, Tenants: []model.Tenant{{Class: "T", Count: 3, Clients: 12, Think: -1}}})
	if err != nil {
		t.Fatal(err)
	}
	var file strings.Builder
	err = next.WriteExperiment(&file)
	if err != nil || !strings.Contains(file.String(), "\n      threads: 12\n") ||
		strings.Count(file.String(), "threads:") != 1 {
		t.Errorf("%v\n%s", err, &file)
	}
}

// Workloads of other parameters, and equal ones that were given names of their own, stay classes of their own.
func TestOnlyClientsAreALevel(t *testing.T) {
	for name, of := range map[string][]*result.Run{
		"other parameters": {clientsRun("A", 1, ""), clientsRun("B", 4, "distribution: uniform\n")},
		"names":            {clientsRun("A", 4, ""), clientsRun("B", 4, ""), clientsRun("C", 8, "")},
	} {
		observed, _, _ := model.Observe(of...)
		if len(observed) != len(of) {
			t.Errorf("%s: %+v", name, observed)
		}
		for _, o := range observed {
			for _, p := range o.Points {
				if math.IsNaN(p.Rate()) || o.Class.Levels {
					t.Errorf("%s: %+v", name, o)
				}
			}
		}
	}
}
