package placement

import (
	"reflect"
	"runtime"
	"testing"

	"plimsoll/internal/model"
	"plimsoll/internal/testkit/modeltest"
)

// Strategies are searched for while the plan is explained, which asks the model for fillings that no search did, where
// containers are left: they have predictions of their own. On one processor they begin only once the plan has asked,
// so that the race detector sees what both have.
func TestStrategiesBesideAPlanAreTheirOwn(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	m := modeltest.ThreeClasses()
	f := &Fleet{Objective: WorstP99, Hosts: []Hosts{{Name: "h", Count: 1, Is: model.HostKind{
		Host: model.Host{CPUs: 2, MemoryBytes: 2 << 30}}}},
		Containers: []Containers{{Name: "many", Class: 2, Count: 300, LeastRate: 300},
			{Name: "few", Class: 1, Count: 3, LeastRate: 1}}}
	o := Options{Seed: 1, Effort: 60}
	p, err := Best(m, f, o)
	if err != nil {
		t.Fatal(err)
	}
	if len(p.Hosts) != 1 || len(p.Clash) == 0 {
		t.Errorf("%d groups of hosts, and %q clash: the plan asks for nothing new", len(p.Hosts), p.Clash)
	}
	sorted, _, _ := f.sorted()
	s, err := newSearch(m, sorted, o)
	if err != nil {
		t.Fatal(err)
	}
	if alone := s.apart().strategies(); !reflect.DeepEqual(p.Beside, alone) {
		t.Errorf("%+v beside the plan, and %+v alone", p.Beside, alone)
	}
}
