package result

import (
	"slices"
	"testing"
)

// What ran is the run's mixes, and without any each workload alone, with its levels.
func TestRan(t *testing.T) {
	run := &Run{Workloads: []Workload{{Name: "RR", Levels: map[string]string{"bs": "4k"}}, {Name: "RW"}}}
	mixes := run.Ran()
	if len(mixes) != 2 || !mixes[0].Alone() || mixes[0].Tenants[0].Workload != "RR" || mixes[0].Levels["bs"] != "4k" {
		t.Errorf("of workloads alone ran %+v", mixes)
	}
	run.Mixes = []Mix{{Name: "four", Tenants: []Tenant{{Name: "a", Workload: "RR", Count: 4}}}}
	if mixes = run.Ran(); len(mixes) != 1 || mixes[0].Name != "four" {
		t.Errorf("of a run with a mix ran %+v", mixes)
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
