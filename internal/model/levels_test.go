package model_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"plimsoll/internal/model"
	"plimsoll/internal/testkit/soak"
)

// sweepTable is a random sweep of a class along one axis: rates rise and may fall again, with noise.
func sweepTable(rng *rand.Rand, key string) (heading string, rows []string) {
	heading = "class,instances,clients,throughput,mean,p99,cpu,reads,read-bytes,cpus,memory,iops"
	levels := []float64{1, 2, 4, 8, 16}[:3+rng.IntN(3)]
	serial, cross := 0.3*rng.Float64(), 0.01*rng.Float64()
	counted := rng.IntN(2) == 0
	for _, x := range levels {
		n := map[string]float64{"instances": 2, "clients": 8, "cpus": 8, "memory": 16, "iops": 4}
		n[key] = x
		rate := 500 * x / (1 + serial*(x-1))
		if key == "instances" || key == "clients" {
			rate = 500 * x / (1 + serial*(x-1) + cross*x*(x-1))
		}
		rate *= 1 + 0.02*rng.NormFloat64()
		mean := 1e6 * n["instances"] * n["clients"] / rate
		cpu, reads, bytes := "", "", ""
		if counted {
			cpu, reads, bytes = fmt.Sprintf("%gus", 0.5e6*n["cpus"]/rate), "0.2", "819.2"
		}
		rows = append(rows, fmt.Sprintf("A,%g,%g,%g,%gus,%gus,%s,%s,%s,%g,%gGiB,%g000",
			n["instances"], n["clients"], rate, mean,
			3*mean, cpu, reads, bytes, n["cpus"], n["memory"], n["iops"]))
	}
	return heading + "\n", rows
}

func fitRows(t *testing.T, heading string, rows []string) *model.Model {
	return fitTable(t, heading+strings.Join(rows, "\n")+"\n")
}

// Whatever the levels: the points that were given are met, a row that is there twice and the order of rows change
// nothing, an interval holds its value, and more of a limit makes no less.
func TestWhatIsTrueOfAllLevels(t *testing.T) {
	soak.WithoutRace(t)
	tables := uint64(6)
	if soak.On() {
		tables = 200
	}
	keys := []string{"instances", "clients", "cpus", "memory", "iops"}
	for seed := range tables {
		rng := rand.New(rand.NewPCG(seed, 1))
		key := keys[int(seed)%len(keys)]
		heading, rows := sweepTable(rng, key)
		m := fitRows(t, heading, rows)
		f := &m.Classes[0]
		ask := func(m *model.Model, host model.Host, instances, clients int) (*model.Answer, error) {
			return m.Predict(model.Ask{Host: host,
				Tenants: []model.Tenant{{Class: "A", Count: instances, Clients: clients, Think: -1}}})
		}
		shuffled := append(slices.Clone(rows), rows[rng.IntN(len(rows))])
		rng.Shuffle(len(shuffled), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
		again := fitRows(t, heading, shuffled)
		for i := range f.Points {
			p := &f.Points[i]
			a, err := ask(m, p.Host, p.Instances, p.Clients)
			if err != nil {
				t.Fatalf("table %d: %v\n%v", seed, err, rows)
			}
			// Rates that fall with more of a limit are chance, and taken for equal.
			if off := math.Abs(float64(a.Rate.Value)/p.Rate() - 1); off > 0.08 ||
				off > 1e-6 && (key == "instances" || key == "clients") {
				t.Errorf("table %d, %s: a point that was given is %.2g%% off\n%v", seed, key, 100*off, rows)
			}
			b, err := ask(again, p.Host, p.Instances, p.Clients)
			if err != nil || math.Abs(float64(a.Rate.Value/b.Rate.Value)-1) > 1e-9 {
				t.Errorf("table %d, %s: %v, and with a row twice and in another order %v, %v", seed, key, a.Rate, b, err)
			}
		}
		for range 12 {
			host, instances, clients := f.Points[0].Host, f.Points[0].Instances, f.Points[0].Clients
			x := 1 + 15*rng.Float64()
			more := host
			switch key {
			case "instances":
				instances = int(x)
			case "clients":
				clients = int(x)
			case "cpus":
				host.CPUs = x
				more = host
				more.CPUs *= 1 + rng.Float64()
			case "memory":
				host.MemoryBytes = int64(x * (1 << 30))
				more = host
				more.MemoryBytes += int64(rng.Float64() * float64(host.MemoryBytes))
			case "iops":
				host.IO.OperationsPerSecond = int64(1000 * x)
				more = host
				more.IO.OperationsPerSecond += int64(rng.Float64() * 1000 * x)
			}
			if key == "instances" || key == "clients" {
				more.CPUs *= 1 + rng.Float64()
			}
			a, err := ask(m, host, instances, clients)
			if err != nil {
				continue // beyond levels of a limit that nobody counted
			}
			if !(a.Rate.Low <= a.Rate.Value && a.Rate.Value <= a.Rate.High) {
				t.Errorf("table %d: %+v", seed, a.Rate)
			}
			if b, err := ask(m, more, instances, clients); err == nil && float64(b.Rate.Value) < (1-1e-6)*float64(a.Rate.Value) {
				t.Errorf("table %d, %s: %v on %s, and %v on %s\n%v", seed, key, a.Rate.Value, host.Describe(), b.Rate.Value,
					more.Describe(), rows)
			}
		}
	}
}

// No neighbor makes a class faster, whatever law answers for it alone. One that does next to nothing has no effect.
func TestNoNeighborHelps(t *testing.T) {
	tables := uint64(3)
	if soak.On() {
		tables = 60
	}
	for seed := range tables {
		rng := rand.New(rand.NewPCG(seed, 2))
		heading, rows := sweepTable(rng, "instances")
		_, others := sweepTable(rng, "instances")
		for i := range others {
			others[i] = "B" + strings.TrimPrefix(others[i], "A")
		}
		m := fitRows(t, heading, append(rows, others...))
		host := m.Classes[0].Points[0].Host
		for range 8 {
			a := model.Tenant{Class: "A", Count: 1 + rng.IntN(6), Think: -1}
			b := model.Tenant{Class: "B", Count: 1 + rng.IntN(6), Think: -1}
			alone, err := m.Predict(model.Ask{Host: host, Tenants: []model.Tenant{a}})
			both, err2 := m.Predict(model.Ask{Host: host, Tenants: []model.Tenant{a, b}})
			if err != nil || err2 != nil {
				continue
			}
			if float64(both.Tenants[0].Rate.Value) > (1+1e-6)*float64(alone.Rate.Value) {
				t.Errorf("table %d: %d of A do %v alone, and %v next to %d of B\n%v\n%v", seed, a.Count, alone.Rate.Value,
					both.Tenants[0].Rate.Value, b.Count, rows, others)
			}
		}
	}
}
