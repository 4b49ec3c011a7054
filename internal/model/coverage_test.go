package model

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"plimsoll/internal/testkit/soak"
)

// tally sums up predictions beside what a simulation did.
type tally struct {
	asked, known, inside, refused int
	off, widths, p99s             []float64
	baselines                     map[string][]float64
	p99Known, p99Inside           int
}

func (y *tally) rate(e Estimate, truth float64) {
	y.off = append(y.off, math.Abs(float64(e.Value)/truth-1))
	if math.IsNaN(float64(e.Low)) {
		return
	}
	y.known++
	y.widths = append(y.widths, float64(e.High/e.Low))
	if float64(e.Low) <= truth && truth <= float64(e.High) {
		y.inside++
	}
}

func (y *tally) p99(e Estimate, truth float64) {
	y.p99s = append(y.p99s, math.Abs(float64(e.Value)/truth-1))
	y.p99Known++
	if float64(e.Low) <= truth && truth <= float64(e.High) {
		y.p99Inside++
	}
}

func (y *tally) baseline(name string, said, truth float64) {
	if y.baselines == nil {
		y.baselines = map[string][]float64{}
	}
	if !math.IsNaN(said) {
		y.baselines[name] = append(y.baselines[name], math.Abs(said/truth-1))
	}
}

func quantileOf(all []float64, q float64) float64 {
	if len(all) == 0 {
		return math.NaN()
	}
	sorted := slices.Sorted(slices.Values(all))
	return sorted[int(q*float64(len(sorted)-1))]
}

func meanOf(all []float64) float64 {
	sum := 0.0
	for _, v := range all {
		sum += v / float64(len(all))
	}
	return sum
}

func (y *tally) String() string {
	text := fmt.Sprintf("%.1f%% | %.1f%% | %.0f%% | %d of %d | x%.2f", 100*meanOf(y.off), 100*quantileOf(y.off, 0.5),
		100*quantileOf(y.off, 1), y.inside, y.known, quantileOf(y.widths, 0.5))
	for _, name := range []string{"Gunther", "line", "log line", "AMVA"} {
		if all := y.baselines[name]; len(all) > 0 {
			text += fmt.Sprintf(" | %s %.1f%% (%d)", name, 100*meanOf(all), len(all))
		}
	}
	if y.p99Known > 0 {
		text += fmt.Sprintf(" | p99 %.1f%%, %d of %d", 100*meanOf(y.p99s), y.p99Inside, y.p99Known)
	}
	return fmt.Sprintf("%s | refused %d", text, y.refused)
}

// coverageHosts is how many random hosts of a kind are simulated.
const coverageHosts = 12

// anySim returns a random host and a class that a resource of it binds.
func anySim(rng *rand.Rand, kind string) (h simHost, k simTenant) {
	between := func(low, high float64) float64 { return low * math.Pow(high/low, rng.Float64()) }
	h = simHost{cpus: 2 << rng.IntN(3), memory: 64e9,
		drives: []flash{{channels: 1 << rng.IntN(4), read: between(100e-6, 600e-6), write: between(50e-6, 400e-6)}}}
	k = simTenant{class: "A", clients: 2 + rng.IntN(10), cpu: between(100e-6, 1e-3), think: between(0.2e-3, 5e-3),
		records: 1000, overhead: 2e7, writes: float64(rng.IntN(2)) * between(0.05, 0.5)}
	instances := between(2, 4) // at which a resource is full
	switch kind {
	case "processors", "clients", "cpus":
		k.cpu = between(0.5, 2) * float64(h.cpus) / (instances * float64(k.clients)) * (k.think + 1e-3)
		k.cpu = min(k.cpu, 5e-3)
	case "drive":
		k.records, k.cpu, h.memory = 20000, k.cpu/4, between(4e8, 1e9)
	case "memory":
		k.records = int(between(500, 2000))
		h.memory = between(2.5, 5) * (float64(k.records)*simRecord + k.overhead)
	}
	return h, k
}

// askAlone asks about one class, holds it against the simulation, and notes what rulers say.
func askAlone(y *tally, m *Model, told []Point, p Point) {
	y.asked++
	a, err := m.Predict(Ask{Host: p.Host, Tenants: []Tenant{{Class: "A", Count: p.Instances, Clients: p.Clients,
		Think: p.Think}}})
	if err != nil {
		y.refused++
		return
	}
	y.rate(a.Rate, p.Rate())
	y.p99(a.Tenants[0].P99, p.median(func(u *Unit) *Number { return &u.P99 }))
	y.baseline("Gunther", Gunther(told, p), p.Rate())
	y.baseline("line", Linear(told, p), p.Rate())
	y.baseline("log line", Power(told, p), p.Rate())
}

// simulatedSweep returns what a class did at levels of an axis.
func simulatedSweep(h simHost, k simTenant, kind string, levels []float64) (all []Point) {
	for _, x := range levels {
		of, tenant := h, k
		switch kind {
		case "clients":
			tenant.clients, tenant.count = int(x), 1
			tenant.cpu *= 1 + 0.004*x*float64(k.records%3) // time that is lost to each other, on two of three hosts
		case "cpus":
			of.cpus, tenant.count = int(x), 4
		case "sizes":
			of.memory, tenant.count = x, 2
		default:
			tenant.count = int(x)
		}
		of.tenants = []simTenant{tenant}
		all = append(all, of.measured(2).Tenants[0].Point)
	}
	return all
}

// How often intervals of 90% hold on random hosts, and how wide they are, for docs/evidence/model-checks.md. Their
// truth is a simulation event by event.
func TestIntervalsHold(t *testing.T) {
	soak.Only(t)
	within, all := 0, 0
	for _, kind := range []string{"processors", "drive", "memory", "clients", "cpus", "sizes"} {
		var inner, outer tally
		for seed := range uint64(coverageHosts) {
			rng := rand.New(rand.NewPCG(seed, uint64(len(kind))))
			h, k := anySim(rng, kind)
			told, asked, beyond := []float64{1, 2, 3, 4, 6}, []float64{5}, []float64{8}
			switch kind {
			case "clients":
				k.records = int(seed) // never short of memory
				told, asked, beyond = []float64{1, 4, 16, 64}, []float64{2, 8, 32}, []float64{128}
				k.records = 300 + int(seed)
			case "cpus":
				told, asked, beyond = []float64{1, 2, 4, 8, 16}, []float64{3, 6, 12}, nil
			case "sizes":
				k.records = 2000
				told, asked, beyond = []float64{1e8, 1.6e8, 2.5e8, 4e8}, []float64{1.3e8, 2e8, 3.2e8}, []float64{5e8}
			}
			points := simulatedSweep(h, k, kind, told)
			if kind == "cpus" { // of which nobody counted anything
				for i := range points {
					for j := range points[i].Units {
						points[i].Units[j].CPU = Number(math.NaN())
					}
				}
			}
			m, err := FitPoints(Options{Seed: 1}, []Observed{{Class: Class{Workload: "A"}, Points: points}}, nil)
			if err != nil {
				t.Fatalf("%s %d: %v", kind, seed, err)
			}
			for _, p := range simulatedSweep(h, k, kind, asked) {
				askAlone(&inner, m, points, p)
			}
			for _, p := range simulatedSweep(h, k, kind, beyond) {
				askAlone(&outer, m, points, p)
			}
		}
		t.Logf("| %s, between | %s", kind, &inner)
		t.Logf("| %s, beyond | %s", kind, &outer)
		within, all = within+inner.inside+outer.inside, all+inner.known+outer.known
	}
	if held := float64(within) / float64(all); held < 0.85 {
		t.Errorf("intervals of 90%% hold %d of %d", within, all)
	}
}

// The same of two classes next to each other, told what each does alone and three mixes of them.
func TestIntervalsOfMixesHold(t *testing.T) {
	soak.Only(t)
	for _, kind := range []string{"processors", "drive", "memory"} {
		var y tally
		for seed := range uint64(coverageHosts) {
			rng := rand.New(rand.NewPCG(seed, 100+uint64(len(kind))))
			h, a := anySim(rng, kind)
			other, b := anySim(rng, kind)
			b.class, h.memory = "B", max(h.memory, other.memory)
			kinds := []simTenant{a, b}
			alone := [][]int{{1, 2, 3, 4, 6}, {1, 2, 3, 4, 6}}
			m := simModel(t, h, kinds, nil, alone, [][]int{{1, 1}, {2, 2}, {3, 1}})
			for _, counts := range [][]int{{1, 2}, {2, 1}, {1, 3}, {3, 2}, {2, 3}, {4, 1}, {2, 4}, {4, 3}} {
				of := h.with(kinds, counts...)
				ask := Ask{Host: of.host()}
				for _, n := range of.tenants {
					ask.Tenants = append(ask.Tenants, Tenant{Class: n.class, Count: n.count, Think: -1})
				}
				y.asked++
				said, err := m.Predict(ask)
				if err != nil {
					y.refused++
					continue
				}
				truth := of.measured(1)
				amva := of.schweitzer(truth)
				for i, p := range truth.Tenants {
					y.rate(said.Tenants[i].Rate, p.Rate())
					y.p99(said.Tenants[i].P99, float64(p.Units[0].P99))
					y.baseline("AMVA", amva[i], p.Rate())
				}
			}
		}
		t.Logf("| mixes, %s | %s", kind, &y)
	}
}

// schweitzer returns the rates of tenants by approximate mean value analysis from their demands (Schweitzer,
// Approximate analysis of multiclass closed networks of queues, 1979), with several servers by Seidmann's transform.
func (h simHost) schweitzer(truth Together) []float64 {
	servers := []float64{float64(h.cpus), float64(h.drives[0].channels)}
	reads := float64(truth.Reads) // of both, by rate
	total := 0.0
	for _, p := range truth.Tenants {
		total += p.Rate()
	}
	k := len(h.tenants)
	demands, clients, rates := make([][2]float64, k), make([]float64, k), make([]float64, k)
	queues := make([][2]float64, k)
	for i, n := range h.tenants {
		demands[i] = [2]float64{n.cpu, reads/total*h.drives[0].read + n.writes*h.drives[0].write}
		clients[i] = float64(n.count * n.clients)
		queues[i] = [2]float64{clients[i] / 3, clients[i] / 3}
	}
	for range 2000 {
		for i, n := range h.tenants {
			cycle, waits := n.think, [2]float64{}
			for s, c := range servers {
				seen := queues[i][s] * (clients[i] - 1) / clients[i]
				for j := range h.tenants {
					if j != i {
						seen += queues[j][s]
					}
				}
				waits[s] = demands[i][s] / c * (1 + seen)
				cycle += waits[s] + demands[i][s]*(c-1)/c
			}
			rates[i] = clients[i] / cycle
			for s := range servers {
				queues[i][s] = rates[i] * waits[s]
			}
		}
	}
	return rates
}
