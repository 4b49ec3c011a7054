package model

import (
	"math"
	"strings"
	"testing"

	"plimsoll/internal/testkit/soak"
)

// Of points that know nothing but throughput over sizes of memory, latency follows by Little's law
// and the effect of memory from throughput. What happens at other sizes comes true.
func TestMemoryIsLearntFromThroughputAlone(t *testing.T) {
	soak.WithoutRace(t)
	host := simulated{cpus: 4, iops: 2000, cpu: 100e-6, think: 2e-3, clients: 16, records: 2e8, overhead: 1e7}
	at := func(memory float64) Point {
		host.memory = memory
		p := host.point(1)
		for i := range p.Units {
			u := &p.Units[i]
			for _, unknown := range []*Number{&u.Mean, &u.P99, &u.Reads, &u.Writes, &u.ReadBytes, &u.WriteBytes, &u.Held} {
				*unknown = Number(math.NaN())
			}
		}
		p.Host.Read.OperationsPerSecond = 0 // nobody says which drive it was
		return p
	}
	f := Fitted{Name: "S"}
	for _, memory := range []float64{2.4e8, 2e8, 1.6e8, 1.2e8, 8e7, 4e7} {
		f.Points = append(f.Points, at(memory))
	}
	var err error
	if f.Params, err = fit(f.Points, nil); err != nil {
		t.Fatal(err)
	}
	if !f.Params.Inferred {
		t.Fatalf("%+v", f.Params)
	}
	f.check()
	m := &Model{Classes: []Fitted{f}}
	for _, memory := range []float64{1.8e8, 1.4e8, 1e8, 6e7} {
		p := at(memory)
		ask := Ask{Host: p.Host, Tenants: []Tenant{{Class: "S", Count: 1, Think: -1}}}
		a, err := m.Predict(ask)
		if err != nil {
			t.Fatal(err)
		}
		if off := float64(a.Rate.Value)/p.Rate() - 1; math.Abs(off) > 0.06 {
			t.Errorf("%v bytes: %v operations a second, and in fact %v (%+.1f%%)", memory, a.Rate.Value, p.Rate(), 100*off)
		}
		if len(a.Unknown) > 0 {
			t.Errorf("nothing was asked that nobody knows: %v", a.Unknown)
		}
		ask.Host.Read.OperationsPerSecond = 4000
		if a, err = m.Predict(ask); err != nil || len(a.Unknown) != 1 ||
			!strings.Contains(a.Unknown[0], "4000 reads a second") {
			t.Errorf("with another drive: %+v, %v", a, err)
		}
	}
	if _, err := m.LoadLine(Ask{Tenants: []Tenant{{Class: "S", Think: -1}}}, 4, 0.01); err == nil {
		t.Error("an objective of p99 is met, and nobody measured one")
	}
}

// Sizes that are too few, or that change nothing, teach nothing; a rate that clients cannot have is
// refused.
func TestWhatThroughputDoesNotTell(t *testing.T) {
	points := func(rates ...float64) (all []Point) {
		for i, rate := range rates {
			u := Unit{Rate: Number(rate)}
			for _, n := range numbers {
				if f := n.field(&u); *f == 0 {
					*f = Number(math.NaN())
				}
			}
			all = append(all, Point{Instances: 1, Clients: 8, Think: 5e-3,
				Host: Host{CPUs: 8, MemoryBytes: int64(i+1) << 30}, Units: []Unit{u}})
		}
		return all
	}
	for name, of := range map[string][]Point{"two sizes": points(500, 1000), "no effect": points(1000, 1001, 999, 1000)} {
		if p, err := fit(of, nil); err != nil || p.Inferred || p.Reads.Fits != 0 {
			t.Errorf("%s: %+v, %v", name, p, err)
		}
	}
	_, err := fit(points(2000, 2000, 2000), nil)
	if err == nil || !strings.Contains(err.Error(), "at most 1.60k a second") {
		t.Errorf("8 clients that think 5 ms do 2000 operations a second: %v", err)
	}
}

// Where no curve agrees with what was seen, lines between the sizes do: here of a public benchmark's
// kind, throughput that grows evenly with memory to a ceiling.
func TestAnyEffectOfMemoryIsLearnt(t *testing.T) {
	rate := func(gib float64) float64 { return min(8000, 450+95*gib) }
	var points []Point
	for _, gib := range []float64{5, 10, 15, 20, 30, 40, 50, 60, 70, 80, 90, 100} {
		u := Unit{Rate: Number(rate(gib))}
		for _, n := range numbers[1:] {
			*n.field(&u) = Number(math.NaN())
		}
		points = append(points, Point{Instances: 1, Clients: 64, Host: Host{MemoryBytes: int64(gib) << 30}, Units: []Unit{u}})
	}
	f := Fitted{Name: "S", Points: points}
	var err error
	if f.Params, err = fit(points, nil); err != nil {
		t.Fatal(err)
	}
	f.check()
	if b := f.Check.Between; !f.Params.Inferred || b.Points < 10 || b.MAPE > 0.02 || b.Worst > 0.06 {
		t.Errorf("%+v", b)
	}
	if why := f.Params.impossible(); why != "" {
		t.Error(why)
	}
}
