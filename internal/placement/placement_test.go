package placement

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"plimsoll/internal/model"
	"plimsoll/internal/result"
	"plimsoll/internal/testkit/modeltest"
	"plimsoll/internal/testkit/soak"
)

// someFleet draws a small fleet.
func someFleet(m *model.Model, r *rand.Rand, objective Objective) *Fleet {
	f := &Fleet{Objective: objective}
	for k := range 1 + r.IntN(2) {
		is := model.HostKind{Host: model.Host{CPUs: float64(1 + r.IntN(8)), MemoryBytes: int64(1+r.IntN(4)) << 30}}
		for d := range 1 + r.IntN(2) {
			is.Drives = append(is.Drives, model.HostDrive{Name: fmt.Sprint("d", d), Is: m.Drives[r.IntN(len(m.Drives))]})
		}
		f.Hosts = append(f.Hosts, Hosts{Name: fmt.Sprint("h", k), Count: 1 + r.IntN(2), Is: is, Price: float64(1 +
			r.IntN(3))})
		if r.IntN(3) == 0 { // one of its own, that says the same of classes in another order
			own := *m
			own.Classes = slices.Clone(m.Classes)
			slices.Reverse(own.Classes)
			f.Hosts[k].Model = &own
		}
	}
	for c := range 1 + r.IntN(2) {
		d := Containers{Name: fmt.Sprint("c", c), Class: r.IntN(len(m.Classes)), Count: 1 + r.IntN(3), Apart: r.IntN(4) == 0}
		if objective == Throughput && r.IntN(3) == 0 {
			d.Weight = float64(1+r.IntN(20)) / 5
		}
		if r.IntN(2) == 0 {
			d.LeastRate = 500 * float64(1+r.IntN(8))
		}
		if r.IntN(3) == 0 {
			d.MostP99 = 1e-3 * float64(1+r.IntN(20))
		}
		if r.IntN(3) == 0 {
			d.Limits = result.Limits{MemoryBytes: int64(300+r.IntN(700)) << 20}
		}
		if c > 0 && r.IntN(4) == 0 {
			d.Away = []int{0}
		} else if c > 0 && r.IntN(4) == 0 {
			d.On = []int{len(f.Hosts) - 1}
		} else if c > 0 && r.IntN(4) == 0 {
			d.Beside = []int{0}
		}
		if r.IntN(4) == 0 {
			d.Drives = map[int]int{0: r.IntN(len(f.Hosts[0].Is.Drives))}
		}
		f.Containers = append(f.Containers, d)
	}
	return f
}

// brute looks at every way to place every container, one by one, and knows nothing of how plans are found.
type brute struct {
	m     *model.Model
	f     *Fleet
	alone []float64
	known map[string]told
	best  float64
	found bool
}

type told struct {
	ok               bool
	rate, p99, least float64
}

func (b *brute) host(k int, placed []model.Placed, demands []int) told {
	key := fmt.Sprint(k, placed, demands)
	if t, ok := b.known[key]; ok {
		return t
	}
	t := told{ok: true, least: math.Inf(1)}
	counts := map[int]int{}
	for i, p := range placed {
		counts[demands[i]] += p.Count
		only, has := b.f.Containers[demands[i]].Drives[k]
		t.ok = t.ok && (!has || only == p.Drive)
	}
	for d, n := range counts {
		c := b.f.Containers[d]
		t.ok = t.ok && (!c.Apart || n < 2) && (c.On == nil || slices.Contains(c.On, k))
		for _, o := range c.Away {
			t.ok = t.ok && counts[o] == 0
		}
		for _, o := range c.Beside {
			t.ok = t.ok && counts[o] > 0
		}
	}
	if t.ok && len(placed) > 0 {
		s, err := b.m.Solve(b.f.Hosts[k].Is, placed)
		if t.ok = err == nil; t.ok {
			for i, tenant := range s.Tenants {
				c := b.f.Containers[demands[i]]
				t.rate += tenant.Rate * cmp.Or(c.Weight, 1)
				perInstance := tenant.Rate / float64(placed[i].Count)
				t.ok = t.ok && perInstance >= c.LeastRate*(1-1e-9) && (c.MostP99 == 0 || tenant.P99 <= c.MostP99*(1+1e-9))
				t.p99, t.least = max(t.p99, tenant.P99), min(t.least, perInstance/b.alone[demands[i]])
			}
		}
	}
	b.known[key] = t
	return t
}

type place struct{ host, drive int }

func (b *brute) run() {
	var places []place
	var kinds []int
	for k, h := range b.f.Hosts {
		for range h.Count {
			for d := range h.Is.Drives {
				places = append(places, place{len(kinds), d})
			}
			kinds = append(kinds, k)
		}
	}
	b.alone = make([]float64, len(b.f.Containers))
	for d, c := range b.f.Containers {
		for k, h := range b.f.Hosts {
			for drive := range b.f.Hosts[k].Is.Drives {
				only, has := c.Drives[k]
				if c.On != nil && !slices.Contains(c.On, k) || has && only != drive {
					continue
				}
				if s, err := b.m.Solve(h.Is, []model.Placed{{Class: c.Class, Drive: drive, Count: 1, Own: c.Limits}}); err == nil {
					b.alone[d] = max(b.alone[d], s.Rate)
				}
			}
		}
	}
	var containers []int
	for d, c := range b.f.Containers {
		for range c.Count {
			containers = append(containers, d)
		}
	}
	placeOf := make([]int, len(containers))
	var walk func(i int)
	walk = func(i int) {
		if i == len(containers) {
			b.judge(kinds, places, containers, placeOf)
			return
		}
		from := 0
		if i > 0 && containers[i] == containers[i-1] {
			from = placeOf[i-1] // equal containers are not told apart
		}
		for p := from; p < len(places); p++ {
			placeOf[i] = p
			walk(i + 1)
		}
	}
	b.known = map[string]told{}
	walk(0)
}

func (b *brute) judge(kinds []int, places []place, containers, placeOf []int) {
	value := 0.0
	if b.f.Objective == Fairness {
		value = math.Inf(1)
	}
	for h, k := range kinds {
		var placed []model.Placed
		var demands []int
		for d, c := range b.f.Containers {
			for drive := range b.f.Hosts[k].Is.Drives {
				n := 0
				for i, p := range placeOf {
					if containers[i] == d && places[p] == (place{h, drive}) {
						n++
					}
				}
				if n > 0 {
					placed = append(placed, model.Placed{Class: c.Class, Drive: drive, Count: n, Own: c.Limits})
					demands = append(demands, d)
				}
			}
		}
		t := b.host(k, placed, demands)
		if !t.ok {
			return
		}
		switch b.f.Objective {
		case Throughput:
			value += t.rate
		case FewHosts:
			if len(placed) > 0 {
				value -= b.f.Hosts[k].Price
			}
		case WorstP99:
			value = min(value, -t.p99)
		case Fairness:
			value = min(value, t.least)
		}
	}
	if !b.found || value > b.best {
		b.found, b.best = true, value
	}
}

// reached is what the objective counts of a plan.
func (p *Plan) reached(o Objective) float64 {
	if o == FewHosts || o == WorstP99 {
		return -float64(p.Reached)
	}
	return float64(p.Reached)
}

// Small fleets have the plan that looking at every one finds, for each objective; and column generation comes near.
func TestSmallFleetsAreAsBruteForceHasThem(t *testing.T) {
	soak.WithoutRace(t)
	m := modeltest.ThreeClasses()
	r := rand.New(rand.NewPCG(7, 7))
	placed, near := 0, 0
	fleets := 80
	if more, err := strconv.Atoi(os.Getenv("FLEETS")); err == nil {
		fleets = more // make bench NAME=plan
	}
	for i := range fleets {
		f := someFleet(m, r, Objective(Objectives()[i%4][0]))
		b := brute{m: m, f: f}
		b.run()
		p, err := Best(m, f, Options{Seed: 1})
		if err != nil {
			t.Fatal(err)
		}
		if b.found != (len(p.Left) == 0) {
			t.Fatalf("%d: all placed by brute force: %t, and left over %+v of %+v", i, b.found, p.Left, f)
		}
		if !b.found {
			continue
		}
		placed++
		off := evenly
		if f.Objective == WorstP99 || f.Objective == Fairness {
			off = within
		}
		if got := p.reached(f.Objective); math.Abs(got-b.best) > off*math.Abs(b.best) {
			t.Errorf("%d: %s: %v, by brute force %v: %+v", i, f.Objective, got, b.best, p)
		}
		if float64(p.Gap) > 2*off {
			t.Errorf("%d: a gap of %v of the best plan", i, p.Gap)
		}
		if f.Objective == Throughput || f.Objective == FewHosts {
			s, err := newSearch(m, f, Options{Seed: 1})
			if err != nil {
				t.Fatal(err)
			}
			g := goal{price: f.Objective == FewHosts}
			generated := s.plan(s.generate(s.counts(), g))
			if len(generated.Left) > 0 {
				t.Errorf("%d: column generation left %+v", i, generated.Left)
				continue
			}
			if got := generated.reached(f.Objective); got > b.best+1e-9*math.Abs(b.best) {
				t.Errorf("%d: column generation has %v, more than the best, %v", i, got, b.best)
			} else if got > b.best-0.01*math.Abs(b.best) {
				near++
			}
		}
	}
	t.Logf("%d of %d could be placed; column generation came within 1%% in %d", placed, fleets, near)
	if placed < fleets/2 {
		t.Errorf("only %d of %d fleets could be placed: the test shows little", placed, fleets)
	}
}

// The same fleet, model and seed have the same plan.
func TestPlansAreTheSameAgain(t *testing.T) {
	m := modeltest.ThreeClasses()
	r := rand.New(rand.NewPCG(3, 3))
	f := someFleet(m, r, Throughput)
	for i := range f.Containers {
		f.Containers[i] = Containers{Name: f.Containers[i].Name, Class: i, Count: 40}
	}
	f.Hosts[0].Count = 12
	var first string
	for range 3 {
		p, err := Best(m, f, Options{Seed: 5})
		if err != nil {
			t.Fatal(err)
		}
		var text strings.Builder
		if err := (Document{Plan: p}).Write(&text); err != nil {
			t.Fatal(err)
		}
		if first = cmp.Or(first, text.String()); text.String() != first {
			t.Fatalf("%s\nand\n%s", text.String(), first)
		}
	}
}

// A plan says where it has far more on a host than was ever measured.
func TestCrowdsAreNamed(t *testing.T) {
	m := modeltest.ThreeClasses() // of which four were measured together at most
	f := &Fleet{Objective: Throughput, Hosts: []Hosts{{Name: "h", Count: 1, Is: model.HostKind{
		Host: model.Host{CPUs: 8, MemoryBytes: 8 << 30}}}},
		Containers: []Containers{{Name: "many", Class: 2, Count: 20}, {Name: "few", Class: 1, Count: 3}}}
	p, err := Best(m, f, Options{Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	if want := []Crowd{{"many", "computes", 20, 4, 1}}; !slices.Equal(p.Crowds, want) {
		t.Errorf("%+v, and not %+v", p.Crowds, want)
	}
	remarks := fmt.Sprint(p.stands().Remarks)
	if !strings.Contains(remarks, "20 of many stand on one host") {
		t.Errorf("%s", remarks)
	}
}

// A plan says of which of its classes a law knows more than the network that it was made by.
func TestDoubtsAreNamed(t *testing.T) {
	m := modeltest.ThreeClasses()
	for _, class := range []int{0, 2} { // of which one is placed, on two kinds of hosts
		m.Classes[class].Check.Laws = []model.Chosen{{Law: model.GuntherLaw, Points: 6, MAPE: 0.03, Network: 0.22}}
	}
	host := model.HostKind{Host: model.Host{CPUs: 8, MemoryBytes: 8 << 30}}
	f := &Fleet{Objective: Throughput, Hosts: []Hosts{{Name: "h", Count: 1, Is: host}, {Name: "i", Count: 1, Is: host}},
		Containers: []Containers{{Name: "many", Class: 2, Count: 6, LeastRate: 1}, {Name: "few", Class: 1, Count: 3}}}
	p, err := Best(m, f, Options{Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	remarks := fmt.Sprint(p.stands().Remarks)
	if len(p.Doubts) != 1 || !strings.Contains(remarks, p.Doubts[0]) || !strings.Contains(p.Doubts[0], "22%") ||
		!strings.Contains(p.Doubts[0], m.Classes[2].Name) {
		t.Errorf("%q, %s", p.Doubts, remarks)
	}
}
