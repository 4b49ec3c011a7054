package model

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// anyModel is a model of a few classes and drives with whatever parameters there can be.
func anyModel(t *rapid.T) *Model {
	number := func(name string, low, high float64) Number {
		return Number(math.Exp(rapid.Float64Range(math.Log(low), math.Log(high)).Draw(t, name)))
	}
	maybe := func(name string, low, high float64) Number {
		if rapid.Bool().Draw(t, name+" is there") {
			return number(name, low, high)
		}
		return 0
	}
	m := &Model{Kind: kind, Schema: SchemaVersion, Seed: 1}
	for i := range 2 {
		side := func(name string) Side {
			return Side{number(name+" iops", 1e2, 1e6), maybe(name+" bytes", 1e6, 1e10), number(name+" latency", 1e-5, 1e-2),
				number(name+" sharp", 0.5, 20)}
		}
		m.Drives = append(m.Drives, Drive{Name: fmt.Sprint("d", i), Read: side("read"), Write: side("write"),
			Competes: maybe("competes", 0.01, 5)})
	}
	for i := range rapid.IntRange(1, 3).Draw(t, "classes") {
		p := Params{Reads: Miss{Floor: maybe("floor", 0.001, 10), Shape: 1}, CPU: Line{Base: number("cpu", 1e-6, 1e-2)},
			HostCPU: Line{Base: Number(math.NaN())}, Writes: Writes{At1: maybe("writes", 0.01, 10)},
			ReadBytes: 4096, WriteBytes: 8192,
			Latency: Line{number("latency", 1e-5, 1e-2), maybe("more latency", 1e-5, 1e-2)},
			Late:    Sharp{number("late", 0.5, 8), number("late at devices", 0.5, 20)}, Reach: Reach{1, 1, 1}}
		if rapid.Bool().Draw(t, "outgrows") {
			p.Reads.Scale, p.Reads.Fits = number("scale", 0.01, 5), number("fits", 1e7, 1e10)
		}
		if p.Writes.At1 > 0 {
			p.Writes.Batch = Number(rapid.Float64Range(0, mostBatch).Draw(t, "batch"))
		}
		if rapid.Bool().Draw(t, "tail") {
			p.Tail = Tail{{Mean: 1e-3, Times: 3}, {Mean: 1e-2, Times: 5, Others: 0.5}}
		}
		f := Fitted{Name: fmt.Sprint("c", i), Class: Class{Workload: fmt.Sprint("c", i)}, Params: p}
		if rapid.Bool().Draw(t, "stood") {
			f.Drive = "d0"
		}
		for n := 1; n <= 4; n++ {
			f.Points = append(f.Points, Point{Instances: n, Clients: 8, Think: 1e-3, Host: Host{CPUs: 8, MemoryBytes: 16 << 30},
				Units: []Unit{{Rate: Number(1000 * n), Held: Number(n) * maybe("held", 1e7, 1e9), Fixed: Number(n) * 1e6}}})
		}
		f.Check.Between.Off, f.Check.Beyond.Off = 0.02, 0.05
		m.Classes = append(m.Classes, f)
	}
	return m
}

func anyHost(t *rapid.T, m *Model) HostKind {
	number := func(name string, low, high float64) float64 {
		return math.Exp(rapid.Float64Range(math.Log(low), math.Log(high)).Draw(t, name))
	}
	k := HostKind{Host: Host{CPUs: number("cpus", 1, 64), MemoryBytes: int64(number("memory", 1e9, 1e12)), NIC: 1e9,
		Speed: number("speed", 0.5, 2)}}
	target := &Target{Name: "t", CPUs: 4, CPUSeconds: number("target", 1e-6, 1e-4), NIC: 1e9}
	k.Drives = []HostDrive{{Name: "a", Is: m.Drives[0]}, {Name: "b", Is: m.Drives[1]},
		{Name: "r", Is: m.Drives[1], Target: target, Delay: number("delay", 1e-6, 1e-3)}}
	return k
}

func anyPlacement(t *rapid.T, m *Model) (all []Placed) {
	for c := range m.Classes {
		p := Placed{Class: c, Drive: rapid.IntRange(0, 2).Draw(t, "drive"), Count: rapid.IntRange(0, 12).Draw(t, "count")}
		if rapid.Bool().Draw(t, "split") {
			reads, writes := rapid.Float64Range(0, 1).Draw(t, "reads"), rapid.Float64Range(0, 1).Draw(t, "writes")
			p.Shares = []Share{{Drive: p.Drive, Reads: reads, Writes: writes},
				{Drive: (p.Drive + 1) % 3, Reads: 1 - reads, Writes: 1 - writes}}
		}
		all = append(all, p)
	}
	return all
}

// fair is what a solution is worth to clients: the mean of the logarithms of their rates, which shared resources
// all but maximise.
func fair(m *Model, placed []Placed, s Solved) float64 {
	sum, all := 0.0, 0.0
	for i, p := range placed {
		if p.Count > 0 {
			clients := float64(p.Count * m.Classes[p.Class].Points[0].Clients)
			sum, all = sum+clients*math.Log(s.Tenants[i].Rate), all+clients
		}
	}
	return sum / max(all, 1)
}

// More of anything is worse for nobody as a whole: one class does no less, and of several the clients' rates are no
// less as a whole, each weighed by its own, within 1%. A tenant that asks for nothing changes nothing.
func TestMoreOfAHostIsNeverWorse(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := anyModel(t)
		if rapid.Bool().Draw(t, "alike") { // then they maximise together
			for i := range m.Classes {
				m.Classes[i].Params.Late, m.Classes[i].Params.Writes.Batch = m.Classes[0].Params.Late, 0
			}
			for i := range m.Drives {
				m.Drives[i].Write.Sharp = m.Drives[i].Read.Sharp
			}
		} else {
			m.Classes = m.Classes[:1]
		}
		host, placed := anyHost(t, m), anyPlacement(t, m)
		if len(m.Classes) > 1 {
			host.Host.MemoryBytes = 1 << 50 // how caches share memory maximises nothing
		}
		before, err := m.Solve(host, placed)
		if err != nil {
			return // it does not fit, or nobody knows
		}
		all := resourcesOf(host, []int{0, 1, 2})
		r := all[rapid.IntRange(0, len(all)-1).Draw(t, "more")]
		more := host
		r.more(&more, rapid.Float64Range(1, 4).Draw(t, "times"))
		after, err := m.Solve(more, placed)
		if err != nil {
			t.Fatalf("with more of %s %s: %v", r.of, r.name, err)
		}
		if a, b := fair(m, placed, before), fair(m, placed, after); b < a-0.01 {
			t.Fatalf("with more of %s %s: %v instead of %v\n%+v\n%+v", r.of, r.name, b, a, before, after)
		}
		none := append(slices.Clone(placed), Placed{Class: 0, Drive: 1, Count: 0})
		if s, err := m.Solve(host, none); err != nil || s.Rate != before.Rate {
			t.Fatalf("a tenant of none changes %v to %v, %v", before.Rate, s.Rate, err)
		}
	})
}

// Whatever a model has, what it says is a number with its interval, or is said not to be known; and it can be stored.
func TestNothingIsNaN(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := anyModel(t)
		host, placed := anyHost(t, m), anyPlacement(t, m)
		ask := Ask{Host: host.Host, Drives: host.Drives}
		for _, p := range placed {
			if p.Count > 0 {
				ask.Tenants = append(ask.Tenants, Tenant{Class: m.Classes[p.Class].Name, Count: p.Count, Think: -1,
					Drive: host.Drives[p.Drive].Name})
			}
		}
		if len(ask.Tenants) == 0 {
			return
		}
		a, err := m.Predict(ask)
		if err != nil {
			return
		}
		known := func(what string, e Estimate, may bool) {
			value, low, high := float64(e.Value), float64(e.Low), float64(e.High)
			if math.IsNaN(value) || math.IsInf(value, 0) {
				t.Fatalf("%s is %v", what, e)
			}
			slack := 1e-9 * math.Abs(value)
			if !(low <= value+slack && value <= high+slack) && !(may && math.IsNaN(low) && math.IsNaN(high)) {
				t.Fatalf("the interval of %s is %v", what, e)
			}
		}
		known("the rate", a.Rate, len(a.Unknown) > 0)
		for i, n := range a.Tenants {
			known("a tenant's rate", n.Rate, len(a.Unknown) > 0)
			known("a mean", n.Mean, len(a.Unknown) > 0)
			f, _ := m.Find(ask.Tenants[i].Class)
			if len(f.Params.Tail) > 0 {
				known("a p99", n.P99, len(a.Unknown) > 0)
			}
		}
		for _, w := range a.Worth {
			known("what "+string(w.Resource)+" is worth", w.Power, len(a.Unknown) > 0)
		}
		var text bytes.Buffer
		if err := m.Write(&text); err != nil {
			t.Fatal(err)
		}
		if _, err := Read(text.Bytes()); err != nil {
			t.Fatal(err)
		}
	})
}
