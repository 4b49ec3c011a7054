package result

import (
	"slices"
	"testing"
)

// What ran is the run's mixes, and without any each workload alone, with its levels.
func TestRan(t *testing.T) {
	run := &Run{Workloads: []Workload{{Name: "RR", Levels: map[string]string{"bs": "4k"}}, {Name: "RW"}}}
	all := run.Ran()
	if len(all) != 2 || !all[0].Alone() || all[0].Tenants[0].Workload != "RR" || all[0].Levels["bs"] != "4k" {
		t.Errorf("of workloads alone ran %+v", all)
	}
	run.Mixes = []Mix{{Name: "four", Tenants: []Tenant{{Name: "a", Workload: "RR", Count: 4}}}}
	if all = run.Ran(); len(all) != 1 || all[0].Name != "four" {
		t.Errorf("of a run with a mix ran %+v", all)
	}
}

// A mix stands on the trial's stack, or on those of its tenants, each once.
func TestPlaces(t *testing.T) {
	m := Mix{Tenants: []Tenant{{On: []string{"a", "b"}}, {On: []string{"b", "c"}}}}
	if got := m.Places(""); !slices.Equal(got, []string{"a", "b", "c"}) {
		t.Errorf("it stands on %q", got)
	}
	if got := m.Places("d"); !slices.Equal(got, []string{"d"}) {
		t.Errorf("on a stack it stands on %q", got)
	}
	if got := (Mix{}).Places(""); got != nil {
		t.Errorf("a mix that nobody declared stands on %q", got)
	}
}
