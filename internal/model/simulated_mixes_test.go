package model

import (
	"container/heap"
	"container/list"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"plimsoll/internal/testkit/soak"
)

// simTenant is some instances of a class on a host that is simulated: an operation takes processor time, then a record,
// which a read of the drive brings where the page cache has lost it, and then it may write.
type simTenant struct {
	class    string
	count    int
	clients  int
	cpu      float64 // s
	think    float64 // s
	records  int     // of an instance, each as popular
	overhead float64 // bytes of an instance beside its cache
	writes   float64 // of an operation
	drive    int
}

// simHost is a host of several drives and classes, which knows nothing of the model's equations: the page cache forgets
// what was used longest ago.
type simHost struct {
	cpus    int
	memory  float64
	drives  []flash
	tenants []simTenant
}

const simRecord = 100e3 // bytes

type simRecordOf struct{ instance, record int }

// run returns what each tenant did.
func (h simHost) run(seconds float64, seed uint64) []Unit {
	rng := rand.New(rand.NewPCG(seed, 11))
	type who struct{ tenant, instance int }
	var clients []who
	room, instances := h.memory, 0
	for t, n := range h.tenants {
		for range n.count {
			for range n.clients {
				clients = append(clients, who{t, instances})
			}
			instances++
			room -= n.overhead
		}
	}
	var queue events
	for c, w := range clients {
		heap.Push(&queue, event{at: rng.Float64() * (h.tenants[w.tenant].think + 1e-3), client: c})
	}
	free := make([][]float64, 1+len(h.drives)) // when each processor, and each channel of each drive, is
	free[0] = make([]float64, h.cpus)
	for d := range h.drives {
		free[1+d] = make([]float64, h.drives[d].channels)
	}
	serve := func(at int, now, service float64) float64 {
		first := 0
		for i := range free[at] {
			if free[at][i] < free[at][first] {
				first = i
			}
		}
		free[at][first] = max(now, free[at][first]) + service
		return free[at][first]
	}
	kept, cache := list.New(), map[simRecordOf]*list.Element{}
	for t, i := 0, 0; t < len(h.tenants); t++ { // what was read before, as on a server that has run for long
		for range h.tenants[t].count {
			for range min(h.tenants[t].records, int(room/simRecord)/instances) {
				key := simRecordOf{i, rng.IntN(h.tenants[t].records)}
				if cache[key] == nil {
					cache[key] = kept.PushFront(key)
				}
			}
			i++
		}
	}
	ramp := seconds / 4
	done, reads, sum := make([]float64, len(h.tenants)), make([]float64, len(h.tenants)), make([]float64, len(h.tenants))
	latencies := make([][]float64, len(h.tenants))
	for queue[0].at < seconds {
		e := heap.Pop(&queue).(event)
		w := clients[e.client]
		n := &h.tenants[w.tenant]
		switch e.stage {
		case 0:
			e.began, e.stage = e.at, 1
			e.at = serve(0, e.at, rng.ExpFloat64()*n.cpu)
		case 1:
			e.stage = 2
			key := simRecordOf{w.instance, rng.IntN(n.records)}
			if hit := cache[key]; hit != nil {
				kept.MoveToFront(hit)
			} else {
				cache[key] = kept.PushFront(key)
				if float64(kept.Len())*simRecord > room {
					delete(cache, kept.Remove(kept.Back()).(simRecordOf))
				}
				e.at = serve(1+n.drive, e.at, h.drives[n.drive].read*(0.5+rng.Float64()))
				if e.began > ramp {
					reads[w.tenant]++
				}
			}
		case 2:
			e.stage = 3
			if rng.Float64() < n.writes {
				e.at = serve(1+n.drive, e.at, h.drives[n.drive].write*(0.5+rng.Float64()))
			}
		case 3:
			if e.began > ramp {
				done[w.tenant]++
				sum[w.tenant] += e.at - e.began
				latencies[w.tenant] = append(latencies[w.tenant], e.at-e.began)
			}
			e.at, e.stage = e.at+n.think, 0
		}
		heap.Push(&queue, e)
	}
	held := make([]float64, len(h.tenants))
	owner := []int{}
	for t, n := range h.tenants {
		held[t] += n.overhead * float64(n.count)
		owner = append(owner, slices.Repeat([]int{t}, n.count)...)
	}
	for key := range cache {
		held[owner[key.instance]] += simRecord
	}
	var all []Unit
	for t, n := range h.tenants {
		mean := Number(sum[t] / done[t])
		all = append(all, Unit{Rate: Number(done[t] / (seconds - ramp)), Mean: mean,
			P99:   Number(quantileOf(latencies[t], 0.99)),
			Reads: Number(reads[t] / done[t]), ReadBytes: Number(reads[t] / done[t] * 4096), Writes: Number(n.writes),
			WriteBytes: Number(4096 * n.writes), CPU: Number(n.cpu), HostCPU: Number(math.NaN()), Held: Number(held[t]),
			Fixed: Number(n.overhead * float64(n.count))})
	}
	return all
}

func (h simHost) host() Host { return Host{CPUs: float64(h.cpus), MemoryBytes: int64(h.memory)} }

// measured returns the points of the host's tenants.
func (h simHost) measured(seeds int) Together {
	together := Together{Run: "simulated", Mix: "m"}
	total := 0.0
	for s := range seeds {
		for t, u := range h.run(6, uint64(s)+1) {
			n := h.tenants[t]
			if s == 0 {
				together.Tenants = append(together.Tenants, TenantPoint{Class{Workload: n.class}, Point{Run: "simulated",
					Instances: n.count, Clients: n.clients, Think: n.think, Host: h.host()}})
			}
			total += float64(u.Rate*u.Reads) / float64(seeds)
			if len(h.tenants) > 1 { // devices do not tell who reads
				none := Number(math.NaN())
				u.Reads, u.Writes, u.ReadBytes, u.WriteBytes = none, none, none, none
			}
			p := &together.Tenants[t].Point
			p.Units = append(p.Units, u)
		}
	}
	together.Reads = Number(total)
	return together
}

// with returns the host with so many instances of each class.
func (h simHost) with(kinds []simTenant, counts ...int) simHost {
	h.tenants = nil
	for i, n := range counts {
		if n > 0 {
			k := kinds[i]
			k.count = n
			h.tenants = append(h.tenants, k)
		}
	}
	return h
}

// simModel fits classes to what they did alone in those numbers, and beside each other.
func simModel(t *testing.T, h simHost, kinds []simTenant, drives []Drive, alone [][]int, mixes [][]int) *Model {
	t.Helper()
	m := &Model{Drives: drives}
	var mixed []Together
	for _, counts := range mixes {
		mixed = append(mixed, h.with(kinds, counts...).measured(2))
	}
	for i, k := range kinds {
		f := Fitted{Name: k.class, Class: Class{Workload: k.class}}
		if len(drives) > 0 {
			f.Drive = drives[k.drive].Name
		}
		for _, n := range alone[i] {
			counts := make([]int, len(kinds))
			counts[i] = n
			f.Points = append(f.Points, h.with(kinds, counts...).measured(3).Tenants[0].Point)
		}
		f.Mixed = besideOf(f.Class, mixed)
		m.placePoints(&f)
		var err error
		if f.Params, err = fitForm(f.Points); err != nil {
			t.Fatal(err)
		}
		m.Classes = append(m.Classes, f)
	}
	m.learn(1, mixed)
	return m
}

// offBy is how far off what a model says of each tenant is, as a share on average.
func offBy(t *testing.T, m *Model, h simHost, kind HostKind, say bool) (mean float64) {
	t.Helper()
	ask := Ask{Host: kind.Host, Drives: kind.Drives}
	for _, n := range h.tenants {
		tenant := Tenant{Class: n.class, Count: n.count, Think: -1}
		if len(kind.Drives) > 0 {
			tenant.Drive = kind.Drives[n.drive].Name
		}
		ask.Tenants = append(ask.Tenants, tenant)
	}
	a, err := m.Predict(ask)
	if err != nil {
		t.Fatal(err)
	}
	for i, p := range h.measured(2).Tenants {
		off := float64(a.Tenants[i].Rate.Value)/p.Rate() - 1
		mean += math.Abs(off) / float64(len(h.tenants))
		if say {
			t.Logf("%d of %s: %.0f operations a second, and in fact %.0f (%+.1f%%)", p.Instances, h.tenants[i].class,
				float64(a.Tenants[i].Rate.Value), p.Rate(), 100*off)
		}
	}
	return mean
}

// What classes do beside each other comes true, of mixes that were not measured, and better by a model that learnt from
// some that were: here a class that never ran short of memory alone.
func TestMixesComeTrue(t *testing.T) {
	soak.Only(t)
	kinds := []simTenant{
		{class: "A", clients: 8, cpu: 150e-6, think: 4e-3, records: 2000, overhead: 2e7},
		{class: "B", clients: 4, cpu: 300e-6, think: 2e-3, records: 1000, overhead: 1e8, writes: 0.3}}
	h := simHost{cpus: 4, memory: 1e9, drives: []flash{{channels: 2, read: 500e-6, write: 400e-6}}}
	mixes := [][]int{{3, 2}, {2, 4}, {4, 1}}
	alone := [][]int{{1, 2, 4, 5, 6}, {1, 2, 4}}
	taught, untaught := simModel(t, h, kinds, nil, alone, mixes), simModel(t, h, kinds, nil, alone, nil)
	kind := HostKind{Host: h.host()}
	off, without := 0.0, 0.0
	asked := [][]int{{3, 3}, {2, 3}, {3, 1}, {1, 2}}
	for _, counts := range asked {
		of := h.with(kinds, counts...)
		off += offBy(t, taught, of, kind, true) / float64(len(asked))
		if _, err := untaught.Predict(Ask{Host: kind.Host, Tenants: []Tenant{{Class: "A", Count: counts[0], Think: -1},
			{Class: "B", Count: counts[1], Think: -1}}}); err == nil {
			without += offBy(t, untaught, of, kind, false) / float64(len(asked))
		} else {
			without += 1 / float64(len(asked)) // it refuses to say
		}
	}
	t.Logf("off by %.1f%% with mixes, by %.1f%% without", 100*off, 100*without)
	if off > 0.1 || off > without {
		t.Errorf("off by %.1f%% on average; without mixes by %.1f%%", 100*off, 100*without)
	}
	if len(taught.Beside) != len(mixes) || !(taught.Classes[1].Params.Reads.Fits > 0) {
		t.Errorf("%+v, %+v", taught.Beside, taught.Classes[1].Params.Reads)
	}
}

// Two classes that each stand on a drive of their own, or both on one, on a host with other drives.
func TestClassesOnDrivesComeTrue(t *testing.T) {
	soak.Only(t)
	slow, fast := flash{channels: 4, read: 300e-6, write: 600e-6}, flash{channels: 16, read: 90e-6, write: 60e-6}
	drives := make([]Drive, 2)
	for i, d := range []flash{slow, fast} {
		all, _, _ := drivesOf(fioOn(d, true))
		drives[i] = all[0]
		drives[i].Name = []string{"slow", "fast"}[i]
	}
	kinds := []simTenant{
		{class: "A", clients: 8, cpu: 100e-6, think: 1e-3, records: 4000, overhead: 2e7},
		{class: "B", clients: 8, cpu: 100e-6, think: 1e-3, records: 4000, overhead: 2e7, writes: 1}}
	h := simHost{cpus: 4, memory: 1.2e9, drives: []flash{slow, fast}}
	m := simModel(t, h, kinds, drives, [][]int{{1, 2, 3, 4, 6, 8}, {1, 2, 3, 4, 6}}, [][]int{{2, 2}, {3, 1}})
	kind := HostKind{Host: h.host(), Drives: []HostDrive{{Name: "s", Is: drives[0]}, {Name: "f", Is: drives[1]}}}
	mean, n := 0.0, 0.0
	for _, on := range [][2]int{{0, 0}, {0, 1}, {1, 0}, {1, 1}} {
		kinds[0].drive, kinds[1].drive = on[0], on[1]
		mean += offBy(t, m, h.with(kinds, 3, 3), kind, true)
		n++
	}
	if mean /= n; mean > 0.12 {
		t.Errorf("off by %.1f%% on average", 100*mean)
	}
}

// A drive that nothing is known of is asked for where it binds: then it is as busy with an I/O as it was, and two
// classes on it wait for each other. Where it does not bind, or a limit on it is known, it is not.
func TestUnknownDriveIsFittedWhereItBinds(t *testing.T) {
	soak.WithoutRace(t)
	k := simTenant{class: "A", clients: 4, cpu: 100e-6, think: 1e-3, records: 20000, overhead: 2e7}
	points := func(d flash) (all []Point) {
		h := simHost{cpus: 8, memory: 6e8, drives: []flash{d}}
		for _, n := range []int{1, 2, 3, 4, 6} {
			all = append(all, h.with([]simTenant{k}, n).measured(1).Tenants[0].Point)
		}
		return all
	}
	slow := points(flash{channels: 1, read: 500e-6})
	full, err := fitForm(slow)
	if err != nil || math.Abs(float64(full.Drive)/500e-6-1) > 0.1 {
		t.Errorf("an I/O keeps the drive busy for 500 µs: %+v, %v", full, err)
	}
	for i := range slow {
		slow[i].Host.Read.OperationsPerSecond = 2000
	}
	limited, err := fitForm(slow)
	if err != nil || limited.Drive != 0 {
		t.Errorf("a limit on the drive is known: %+v, %v", limited, err)
	}
	idle, err := fitForm(points(flash{channels: 16, read: 100e-6}))
	if err != nil || idle.Drive != 0 {
		t.Errorf("nothing waits for the drive: %+v, %v", idle, err)
	}
	m := &Model{Classes: []Fitted{{Name: "A", Params: full, Points: points(flash{channels: 1, read: 500e-6})}}}
	m.Classes[0].Drawn = []Params{full}
	a, err := m.Predict(Ask{Host: m.Classes[0].Measured(), Tenants: []Tenant{{Class: "A", Count: 6, Think: -1}}})
	if err != nil || a.Binds != Drives {
		t.Errorf("%+v, %v", a, err)
	}
}
