package model

import (
	"container/heap"
	"math"
	"math/rand/v2"
	"testing"

	"plimsoll/internal/result"
	"plimsoll/internal/testkit/soak"
)

// simulated is a host that is simulated event by event, which knows nothing of the
// model's equations: clients think, an operation takes time of one of the processors, and
// reads the device, whose reads begin at a rate, as a limit has it, with some probability.
type simulated struct {
	cpus     int
	iops     float64
	cpu      float64 // s of an operation, on average
	think    float64 // s
	clients  int     // of each instance
	memory   float64 // bytes of all
	records  float64 // bytes of each instance's files, of which all are read equally often
	overhead float64 // bytes of each instance beside its cache
}

type event struct {
	at     float64
	client int
	began  float64
	stage  int // 0: an operation begins; 1: its processor time is over; 2: it is done
}

type events []event

func (e events) Len() int           { return len(e) }
func (e events) Less(i, j int) bool { return e[i].at < e[j].at }
func (e events) Swap(i, j int)      { e[i], e[j] = e[j], e[i] }
func (e *events) Push(x any)        { *e = append(*e, x.(event)) }
func (e *events) Pop() any {
	last := (*e)[len(*e)-1]
	*e = (*e)[:len(*e)-1]
	return last
}

// run simulates so many instances for a while.
func (s simulated) run(instances int, seconds float64, seed uint64) Unit {
	rng := rand.New(rand.NewPCG(seed, 7))
	cache := s.memory/float64(instances) - s.overhead
	misses := max(0, 1-cache/s.records)
	var queue events
	for c := range s.clients * instances {
		heap.Push(&queue, event{at: rng.Float64() * (s.think + s.cpu), client: c})
	}
	free := make([]float64, s.cpus) // when each processor is
	device := 0.0                   // when the next read may begin
	ramp := seconds / 5
	var done, reads, sum float64
	for queue[0].at < seconds {
		e := heap.Pop(&queue).(event)
		switch e.stage {
		case 0:
			e.began = e.at
			first := 0
			for i := range free {
				if free[i] < free[first] {
					first = i
				}
			}
			e.at = max(e.at, free[first]) + rng.ExpFloat64()*s.cpu
			free[first] = e.at
			e.stage = 1
		case 1:
			e.stage = 2
			if rng.Float64() < misses {
				device = max(device, e.at) + 1/s.iops
				e.at = device + 100e-6
				if e.began > ramp {
					reads++
				}
			}
		case 2:
			if e.began > ramp {
				done, sum = done+1, sum+e.at-e.began
			}
			e.at += s.think
			e.stage = 0
		}
		heap.Push(&queue, e)
	}
	return Unit{Rate: Number(done / (seconds - ramp)), Mean: Number(sum / done), P99: Number(3 * sum / done),
		Reads: Number(reads / done), Writes: 0, ReadBytes: Number(4096 * reads / done), WriteBytes: 0,
		CPU: Number(s.cpu), HostCPU: Number(math.NaN()),
		Held: Number(float64(instances) * (s.overhead + min(s.records, cache)))}
}

func (s simulated) point(instances int) Point {
	p := Point{Run: "simulated", Instances: instances, Clients: s.clients, Think: s.think, Host: Host{
		CPUs: float64(s.cpus), MemoryBytes: int64(s.memory), Read: result.Rate{OperationsPerSecond: int64(s.iops)}}}
	for seed := range uint64(4) {
		p.Units = append(p.Units, s.run(instances, 10, 100*uint64(instances)+seed))
	}
	return p
}

// What a model of half of the points says of the others, and of other hosts, is what
// happens there: of hosts on which processors, the device or memory bind.
func TestPredictionsComeTrue(t *testing.T) {
	soak.WithoutRace(t)
	for name, host := range map[string]simulated{
		"processors": {cpus: 2, iops: 1e5, cpu: 400e-6, think: 5e-3, clients: 8, memory: 8e9, records: 2e8, overhead: 1e7},
		"device":     {cpus: 8, iops: 2000, cpu: 50e-6, think: 2e-3, clients: 4, memory: 5e8, records: 2e8, overhead: 1e7},
		"memory":     {cpus: 2, iops: 1200, cpu: 100e-6, think: 5e-3, clients: 8, memory: 1e9, records: 2e8, overhead: 1e7},
	} {
		t.Run(name, func(t *testing.T) {
			if name != "memory" {
				soak.Only(t)
			}
			f := Fitted{Name: "S"}
			for _, n := range []int{1, 2, 4, 6, 8} {
				f.Points = append(f.Points, host.point(n))
			}
			var err error
			if f.Params, err = fit(f.Points, nil); err != nil {
				t.Fatal(err)
			}
			f.check()
			m := &Model{Classes: []Fitted{f}}
			off := func(h simulated, instances int, most float64) float64 {
				t.Helper()
				p := h.point(instances)
				a, err := m.Predict(Ask{Tenants: []Tenant{{Class: "S", Count: instances, Think: -1}}, Host: p.Host})
				if err != nil {
					t.Fatal(err)
				}
				if d := float64(a.Rate.Value)/p.Rate() - 1; math.Abs(d) > most {
					t.Errorf("%d instances with %+v: %.0f operations a second, and in fact %.0f (%+.1f%%)", instances, p.Host,
						float64(a.Rate.Value), p.Rate(), 100*d)
				}
				return math.Abs(float64(a.Rate.Value)/p.Rate() - 1)
			}
			mean := 0.0
			for _, n := range []int{3, 5, 7} {
				mean += off(host, n, 0.08) / 3
			}
			if mean > 0.05 {
				t.Errorf("between what was measured it is %.1f%% off on average", 100*mean)
			}
			off(host, 12, 0.1)
			more := host
			more.memory *= 2
			off(more, 8, 0.1)
			more = host
			more.cpus *= 2
			off(more, 8, 0.1)
			more = host
			more.iops *= 2
			off(more, 8, 0.1)
		})
	}
}
