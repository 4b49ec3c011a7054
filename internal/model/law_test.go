package model

import (
	"bytes"
	"math"
	"strings"
	"testing"
)

// lawful are points of servers that hold each other up inside, while no resource is short: their rates follow Gunther's
// law.
func lawful(numbers ...int) (all []Point) {
	for _, n := range numbers {
		u := Unit{Rate: Number(byGunther(n))}
		for _, f := range numbersOf(&u) {
			*f = Number(math.NaN())
		}
		u.Rate = Number(byGunther(n))
		all = append(all, Point{Run: "r", Mix: "m", Instances: n, Clients: 8, Host: Host{CPUs: 64},
			Units: []Unit{u, u}})
	}
	return all
}

func numbersOf(u *Unit) (all []*Number) {
	for _, n := range numbers {
		all = append(all, n.field(u))
	}
	return all
}

func byGunther(n int) float64 {
	x := float64(n)
	return 4000 * x / (1 + 0.1*(x-1) + 0.05*x*(x-1))
}

// Where points that were left out are nearer to Gunther's law, it answers, is named, and has its own interval; on a
// host that no point is of there is no load line, and what would be nearer is said.
func TestTheLawThatDoesBetterAnswers(t *testing.T) {
	m, err := FitPoints(Options{Seed: 1}, []Observed{{Class: Class{Workload: "A"}, Points: lawful(1, 2, 3, 5, 7, 9)}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	chosen := m.Classes[0].Check.Laws
	if len(chosen) < 2 || chosen[0].Law != GuntherLaw || chosen[0].MAPE > 0.001 || chosen[0].Network < 0.02 {
		t.Fatalf("%+v of %+v", chosen, m.Classes[0].Check)
	}
	host := m.Classes[0].Points[0].Host
	ask := func(h Host, n int) Ask { return Ask{Host: h, Tenants: []Tenant{{Class: "A", Count: n, Think: -1}}} }
	for _, n := range []int{4, 6, 8, 14} {
		a, err := m.Predict(ask(host, n))
		if err != nil {
			t.Fatal(err)
		}
		if a.Chosen == nil || a.Network == nil || math.Abs(float64(a.Rate.Value)/byGunther(n)-1) > 0.001 ||
			!(a.Rate.Low < a.Rate.Value && a.Rate.Value < a.Rate.High) || a.Tenants[0].Rate != a.Rate ||
			!strings.Contains(a.By(), string(GuntherLaw)) {
			t.Errorf("%d: %+v", n, a)
		}
	}
	line, err := m.LoadLine(ask(host, 1), 12, 0)
	carried, top := 0, 0.0
	for n := 1; n <= 12; n++ {
		top = max(top, byGunther(n))
	}
	for n := 1; n <= 12; n++ {
		if byGunther(n) >= asMuch*top {
			carried = n
		}
	}
	if err != nil || line.Instances != carried || line.Law != GuntherLaw {
		t.Errorf("%+v, %v, and it is %d", line, err, carried)
	}
	other := host
	other.CPUs = 4
	a, err := m.Predict(ask(other, 4)) // from the law on its host on as the network does, which knows nothing of CPUs
	if err != nil || math.Abs(float64(a.Rate.Value)/byGunther(4)-1) > 0.15 ||
		!strings.Contains(strings.Join(a.Unknown, ""),
			"4 CPUs") {
		t.Errorf("%+v, %v", a, err)
	}

	var text bytes.Buffer
	if err := m.Write(&text); err != nil {
		t.Fatal(err)
	}
	if _, err := Read(text.Bytes()); err != nil {
		t.Error(err)
	}
	m.Classes[0].Check.Laws[0].Law = "Moore's law"
	text.Reset()
	if err := m.Write(&text); err != nil {
		t.Fatal(err)
	}
	if _, err := Read(text.Bytes()); err == nil || !strings.Contains(err.Error(), "no law") {
		t.Errorf("a law that there is not: %v", err)
	}
}

// A line through logarithms is exact of powers, over instances and over memory, between points and beyond them.
func TestPower(t *testing.T) {
	at := func(n int, memory int64) Point {
		return Point{Instances: n, Clients: 8, Host: Host{MemoryBytes: memory},
			Units: []Unit{{Rate: Number(100 * math.Pow(float64(n), 0.7) * math.Pow(float64(memory), 0.3))}}}
	}
	over := []Point{at(2, 1e9), at(8, 1e9), at(16, 1e9), at(4, 2e9), at(4, 3e9), at(4, 9e9)}
	for _, p := range []Point{at(1, 1e9), at(3, 1e9), at(12, 1e9), at(40, 1e9), at(4, 1e8), at(4, 4e9), at(4, 1e11)} {
		if said := Power(over, p); math.Abs(said/p.Rate()-1) > 1e-9 {
			t.Errorf("%+v: %v", p, said)
		}
	}
	for _, p := range []Point{at(5, 2e9), at(2, 3e9)} {
		if said := Power(over, p); !math.IsNaN(said) {
			t.Errorf("%+v: %v without two points", p, said)
		}
	}
}

// What a class is good for is one line: where points were, how far off it was between them, and beyond.
func TestGoodFor(t *testing.T) {
	f := Fitted{Points: []Point{{Instances: 1, Host: Host{MemoryBytes: 2 << 30}}, {Instances: 8, Host: Host{
		MemoryBytes: 5 << 30}}}}
	held := func(said Number, beyond bool) Held {
		return Held{Seen: 100, Answer: Estimate{Value: said}, Beyond: beyond}
	}
	for _, c := range []struct {
		held []Held
		want string
	}{
		{[]Held{held(104, false), held(97, false), held(50, true)}, "within 4%; beyond: do not trust, up to 50% off."},
		{[]Held{held(120, false), held(95, true)}, "do not trust, up to 20% off; beyond: within 5%."},
		{[]Held{held(Number(math.NaN()), false)}, "not known; beyond: not known."},
	} {
		f.Check.Held = c.held
		if want := "1 to 8 instances, each with 640 MiB to 2 GiB of memory: " + c.want; f.GoodFor() != want {
			t.Errorf("%q, not %q", f.GoodFor(), want)
		}
	}
}
