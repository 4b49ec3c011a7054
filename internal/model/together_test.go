package model_test

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"plimsoll/internal/model"
	"plimsoll/internal/result"
	"plimsoll/internal/testkit/runtest"
	"plimsoll/internal/testkit/soak"
)

// pairs is density with a twin of its workload, and, if beside, with two instances of each at the
// same time: the trials of four, of which each class did a share.
func pairs(beside bool) *result.Run {
	run := runtest.Density(false)
	run.Workloads = append(run.Workloads, run.Workloads[0])
	run.Workloads[1].Name = "D"
	run.Workloads[1].Declared = strings.Replace(run.Workloads[0].Declared, "200000", "200001", 1)
	for _, m := range slices.Clone(run.Mixes) {
		m.Name = strings.Replace(m.Name, "C-", "D-", 1)
		m.Tenants = []result.Tenant{{Name: "servers", Workload: "D", Count: m.Tenants[0].Count}}
		run.Mixes = append(run.Mixes, m)
	}
	host := *run.Mixes[0].Host
	run.Mixes = append(run.Mixes, result.Mix{Name: "both", Host: &host, Tenants: []result.Tenant{
		{Name: "left", Workload: "C", Count: 2}, {Name: "right", Workload: "D", Count: 2}}})
	for _, t := range slices.Clone(run.Trials) {
		number := strings.TrimPrefix(t.Mix, "C-")
		t.Mix = "D-" + number
		run.Trials = append(run.Trials, t)
		if number == "4" && beside {
			t.Mix = "both"
			t.Instances = slices.Clone(t.Instances)
			for i := range t.Instances {
				t.Instances[i].Tenant = []string{"left", "right"}[i/2]
			}
			run.Trials = append(run.Trials, t)
		}
	}
	return run
}

// apart fits classes that were never measured beside each other, once for all tests.
var apart = sync.OnceValues(func() (*model.Model, error) {
	m, err := model.Fit(model.Options{Seed: 1}, pairs(false))
	if err == nil {
		m.Classes[1].Params.Latency.Base *= 1.0001 // else they are the same, and known next to each other
	}
	return m, err
})

// How far classes disturb each other is what was measured of them beside each other; where nothing
// was, the interval is not known, and the run that would tell is named.
func TestMixesTeachHowFarTheyAreOff(t *testing.T) {
	soak.WithoutRace(t)
	ask := model.Ask{Tenants: []model.Tenant{{Class: "C", Count: 2, Think: -1}, {Class: "D", Count: 2, Think: -1}}}
	alone, err := apart()
	if err != nil {
		t.Fatal(err)
	}
	ask.Host = alone.Classes[0].Measured()
	a, err := alone.Predict(ask)
	if err != nil || !math.IsNaN(float64(a.Rate.Low)) || !(a.Rate.Value > 5000) ||
		!strings.Contains(strings.Join(a.Unknown, ""), "`mixes: {beside: {C: 2, D: 2}}`") {
		t.Errorf("never beside each other: %+v, %v", a, err)
	}
	run := pairs(true)
	m, err := model.Fit(model.Options{Seed: 1}, run)
	if err != nil {
		t.Fatal(err)
	}
	if len(m.Beside) != 1 || len(m.Beside[0].Tenants) != 2 {
		t.Fatalf("%+v", m.Beside)
	}
	for _, of := range m.Beside[0].Tenants {
		if of.Instances != 2 || math.Abs(float64(of.Said/of.Seen)-1) > 0.1 {
			t.Errorf("%+v", of)
		}
	}
	near, err := m.Predict(ask)
	if err != nil || len(near.Unknown) > 0 || !(near.Rate.Low < near.Rate.Value && near.Rate.High < 2*near.Rate.Value) {
		t.Errorf("measured beside each other: %+v, %v", near, err)
	}
	m.Beside[0].Tenants[0].Seen /= 2
	if far, err := m.Predict(ask); err != nil || !(far.Rate.Low < near.Rate.Low && far.Rate.High > near.Rate.High) {
		t.Errorf("one did half of what was said of it: %+v, %v", far, err)
	}
	held := alone.Hold(run)
	var rows []string
	for _, r := range held.Rows {
		if strings.HasPrefix(r.Mix, "both") {
			rows = append(rows, r.Mix)
			if math.Abs(float64(r.Seen)/2935-1) > 0.05 || math.Abs(float64(r.Said.Rate.Value/r.Seen)-1) > 0.1 {
				t.Errorf("%+v", r)
			}
		}
	}
	if !slices.Equal(rows, []string{"both: C", "both: D"}) || math.IsNaN(float64(held.Inside)) {
		t.Errorf("%v; %v inside", rows, held.Inside)
	}
	if _, err := model.Read([]byte(strings.Replace(written(t, m), `"class": "D"`, `"class": "E"`, 1))); err == nil {
		t.Error("a mix of a class that is none is read")
	}
}

// What a planner asks is what predict says; a class of which there is none changes nothing.
func TestPlannersAreToldWhatIsPredicted(t *testing.T) {
	soak.WithoutRace(t)
	m, err := apart()
	if err != nil {
		t.Fatal(err)
	}
	host := m.Classes[0].Measured()
	for _, counts := range [][]int{{4, 0}, {0, 4}, {2, 2}, {5, 3}, {0, 0}} {
		placed := make([]model.Placed, len(counts))
		for i, n := range counts {
			placed[i] = model.Placed{Class: i, Drive: -1, Count: n}
		}
		solved, err := m.Solve(model.HostKind{Host: host}, placed)
		if err != nil {
			t.Fatal(err)
		}
		rates := []float64{solved.Tenants[0].Rate, solved.Tenants[1].Rate}
		ask := model.Ask{Host: host}
		for i, n := range counts {
			if n > 0 {
				ask.Tenants = append(ask.Tenants, model.Tenant{Class: m.Classes[i].Name, Count: n, Think: -1})
			}
		}
		if len(ask.Tenants) == 0 {
			continue
		}
		a, err := m.Predict(ask)
		if err != nil {
			t.Fatal(err)
		}
		for i, n := range counts {
			if (rates[i] == 0) != (n == 0) {
				t.Errorf("%v: %v", counts, rates)
			}
		}
		said := float64(a.Rate.Value)
		if a.Network != nil { // which plans ask
			said = float64(a.Network.Value)
		}
		if sum := rates[0] + rates[1]; math.Abs(sum/said-1) > 1e-9 {
			t.Errorf("%v: %v together, and predict says %v", counts, sum, a.Rate.Value)
		}
	}
	for _, placed := range [][]model.Placed{{{Class: 2, Drive: -1, Count: 1}}, {{Drive: -1, Count: -1}},
		{{Drive: 0, Count: 1}}, {{Drive: -1, Count: 400}, {Class: 1, Drive: -1, Count: 400}}} {
		if solved, err := m.Solve(model.HostKind{Host: host}, placed); err == nil {
			t.Errorf("%v: %+v", placed, solved)
		}
	}
}

// Clients that think as long as ThinkFor says do what is asked for, alone. What is more than they can do changes
// nothing.
func TestThinkFor(t *testing.T) {
	m, err := apart()
	if err != nil {
		t.Fatal(err)
	}
	host := model.HostKind{Host: m.Classes[0].Measured()}
	for class := range m.Classes {
		p := model.Placed{Class: class, Drive: -1, Count: 1}
		most, err := m.Solve(host, []model.Placed{p})
		if err != nil {
			t.Fatal(err)
		}
		for _, share := range []float64{0.001, 0.1, 0.5, 0.9, 0.999, 1, 1.001, 1000} {
			asked := share * most.Rate
			think, err := m.ThinkFor(host, p, asked)
			if err != nil || think < 0 || (think == 0) != (share >= 1) && share != 1 {
				t.Fatalf("%v of %v/s: %v s, %v", share, most.Rate, think, err)
			}
			p := p
			p.Think = think
			does, err := m.Solve(host, []model.Placed{p})
			if want := min(asked, most.Rate); err != nil || math.Abs(does.Rate/want-1) > 1e-3 {
				t.Errorf("asked for %v/s, class %d does %v/s, %v", want, class, does.Rate, err)
			}
		}
	}
	if _, err := m.ThinkFor(host, model.Placed{Class: len(m.Classes), Drive: -1}, 1); err == nil {
		t.Error("a class that there is not thinks")
	}
}

func BenchmarkSolve(b *testing.B) {
	m, err := apart()
	if err != nil {
		b.Fatal(err)
	}
	host := m.Classes[0].Measured()
	for _, count := range []int{0, 3} {
		placed := []model.Placed{{Class: 0, Drive: -1, Count: 5}, {Class: 1, Drive: -1, Count: count}}
		b.Run(strconv.Itoa(count), func(b *testing.B) {
			for b.Loop() {
				if _, err := m.Solve(model.HostKind{Host: host}, placed); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
