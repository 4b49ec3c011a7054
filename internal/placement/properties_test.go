package placement

import (
	"bytes"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"plimsoll/internal/model"
	"plimsoll/internal/testkit/modeltest"
	"plimsoll/internal/testkit/soak"
)

// better reports whether a plan is better than another by more than what is lost in sums, for an objective.
func better(a, b *Plan, o Objective) bool {
	if x, y := left(a), left(b); x != y {
		return x < y
	}
	return a.reached(o) > b.reached(o)+2*within*max(1e-9, abs(b.reached(o)))
}

func abs(v float64) float64 { return max(v, -v) }

func left(p *Plan) (n int) {
	for _, l := range p.Left {
		n += l.Count
	}
	return n
}

// A host more never makes a plan worse, names change nothing, and twice of everything is at least twice as good.
func TestPlansGrowWithFleets(t *testing.T) {
	m := modeltest.ThreeClasses()
	r := rand.New(rand.NewPCG(21, 4))
	plan := func(f *Fleet) *Plan {
		t.Helper()
		p, err := Best(m, f, Options{Seed: 1})
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	for i := range 40 {
		o := Objective(Objectives()[i%4][0])
		f := someFleet(m, r, o)
		first := plan(f)
		larger := *f
		larger.Hosts = slices.Clone(f.Hosts)
		larger.Hosts[0].Count++
		if p := plan(&larger); better(first, p, o) && o != Fairness { // alone, one does as much on the new host: shares stay
			t.Errorf("%d, %s: with a host more, %v is less than %v", i, o, p.reached(o), first.reached(o))
		}
		named := *f
		named.Containers = slices.Clone(f.Containers)
		for j := range named.Containers {
			named.Containers[j].Name = "x" + named.Containers[j].Name
		}
		if p := plan(&named); p.reached(o) != first.reached(o) || left(p) != left(first) {
			t.Errorf("%d, %s: with other names it is %v, and not %v", i, o, p.reached(o), first.reached(o))
		}
		twice := *f
		twice.Hosts, twice.Containers = slices.Clone(f.Hosts), slices.Clone(f.Containers)
		for j := range twice.Hosts {
			twice.Hosts[j].Count *= 2
		}
		for j := range twice.Containers {
			twice.Containers[j].Count *= 2
		}
		if p := plan(&twice); left(p) > 2*left(first) || o == Throughput && left(first) == 0 &&
			p.reached(o) < 2*first.reached(o)*(1-evenly) {
			t.Errorf("%d, %s: twice of all is %v with %d left, of %v with %d", i, o, p.reached(o), left(p), first.reached(o),
				left(first))
		}
	}
}

// No plan goes beyond its bound, and what is left over is what would break something.
func TestBoundsHold(t *testing.T) {
	soak.WithoutRace(t)
	m := modeltest.ThreeClasses()
	r := rand.New(rand.NewPCG(5, 9))
	for i := range 60 {
		f := someFleet(m, r, Objective(Objectives()[i%2][0]))
		s, err := newSearch(m, f, Options{Seed: 1})
		if err != nil {
			t.Fatal(err)
		}
		price := f.Objective == FewHosts
		best := s.best(s.counts(), goal{price: price})
		if best.unplaced() > 0 {
			continue
		}
		p := s.plan(best)
		bound := s.relaxed(s.counts(), price)
		if got := p.reached(f.Objective); !price && got > bound*(1+1e-9) || price && -got < bound*(1-1e-6) {
			t.Errorf("%d, %s: the best, %v, is beyond the bound %v", i, f.Objective, got, bound)
		}
		proof := s.generate(s.counts(), goal{price: price}).proof
		if bound := proof.bound(s.counts()); best.value > bound+1e-6*math.Abs(bound) {
			t.Errorf("%d, %s: the best, %v, is beyond the proof %v", i, f.Objective, best.value, bound)
		}
	}
}

// The bound is the optimum that HiGHS finds of the program as a file: make bench NAME=plan, where python3 has highspy.
func TestTheBoundIsHiGHSs(t *testing.T) {
	python := os.Getenv("HIGHS_PYTHON")
	if python == "" {
		t.Skip("HIGHS_PYTHON names no python with highspy")
	}
	m := modeltest.ThreeClasses()
	r := rand.New(rand.NewPCG(8, 8))
	for i := range 20 {
		f := someFleet(m, r, Objective(Objectives()[i%2][0]))
		if i == 19 {
			m, f = largeFleet(1000, 100)
		}
		s, err := newSearch(m, f, Options{Seed: 1})
		if err != nil {
			t.Fatal(err)
		}
		p := s.relaxation(s.counts(), f.Objective == FewHosts)
		file := filepath.Join(t.TempDir(), "bound.mps")
		var text bytes.Buffer
		if err := p.writeMPS(&text); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, text.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
		out, err := exec.Command(python, "-c",
			"import highspy, sys\nh = highspy.Highs()\nh.setOptionValue('output_flag', False)\n"+
				"h.readModel(sys.argv[1])\nh.run()\nprint(h.getInfo().objective_function_value)", file).CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		lines := strings.Fields(string(out))
		want, err := strconv.ParseFloat(lines[len(lines)-1], 64)
		if err != nil {
			t.Fatalf("%s", out)
		}
		if _, got := p.solve(); math.Abs(got-want) > 1e-6*math.Abs(want) {
			t.Errorf("%d: %v, and HiGHS has %v", i, got, want)
		}
	}
}

// Moves lead from where containers stand to the plan, and none breaks a limit that does not say so.
func TestMovesLeadToThePlan(t *testing.T) {
	m := modeltest.ThreeClasses()
	r := rand.New(rand.NewPCG(6, 2))
	moved, limited := 0, 0
	for i := range 60 {
		f := someFleet(m, r, Throughput)
		s, err := newSearch(m, f, Options{Seed: 1})
		if err != nil {
			t.Fatal(err)
		}
		dealt := s.deal(s.counts())
		next := make([]int, len(f.Hosts))
		for _, c := range dealt {
			for range c.count {
				next[c.kind]++
				for slot, n := range c.filling {
					if n > 0 {
						d, drive := s.kinds[c.kind].split(slot)
						f.Now = append(f.Now, Standing{hostName(&f.Hosts[c.kind], next[c.kind]), d, s.kinds[c.kind].able[drive], int(n)})
					}
				}
			}
		}
		if i%3 == 0 {
			f.MostMoves = 1
		}
		p, err := Best(m, f, Options{Seed: 1})
		if err != nil {
			t.Fatal(err)
		}
		f, _, _ = f.sorted() // as fillings of plans are
		if s, err = newSearch(m, f, Options{Seed: 1}); err != nil {
			t.Fatal(err)
		}
		standing, err := s.now()
		if err != nil {
			t.Fatal(err)
		}
		host := func(name string) *standingHost {
			return &standing[slices.IndexFunc(standing, func(h standingHost) bool { return h.name == name })]
		}
		for n, step := range p.Moves.Steps {
			d := slices.IndexFunc(f.Containers, func(c Containers) bool { return c.Name == step.Containers })
			slot := func(h *standingHost, drive string) int {
				k := s.kinds[h.kind]
				return k.slot(d, slices.IndexFunc(k.is.Drives, func(v model.HostDrive) bool { return v.Name == drive }))
			}
			if step.From != "" {
				h := host(step.From)
				h.filling = h.filling.adjusted(slot(h, step.FromDrive), -1)
			}
			if step.To == "" {
				continue
			}
			h := host(step.To)
			h.filling = h.filling.adjusted(slot(h, step.ToDrive), 1)
			if clash := s.kinds[h.kind].fill(h.filling, s.alone).clash; clash != step.Breaks {
				t.Errorf("%d: step %d breaks %q, and says %q", i, n, clash, step.Breaks)
			}
			moved++
		}
		for _, h := range p.Hosts {
			for _, name := range h.Hosts {
				if got := host(name).filling; !slices.Equal(got, h.filling) {
					t.Errorf("%d: %s has %v after all moves, and not %v: %+v", i, name, got, h.filling, p.Moves)
				}
			}
		}
		if f.MostMoves == 1 && len(p.Left) == 0 {
			if n := len(p.Moves.Steps) - p.Moves.Joins; n > 1 {
				t.Errorf("%d: %d moves, and one was allowed: %+v", i, n, p.Moves)
			}
			limited++
		}
		free := func(c Containers) bool {
			return c.LeastRate == 0 && c.MostP99 == 0 && !c.Apart && len(c.Away)+len(c.Beside) == 0
		}
		bound := slices.ContainsFunc(f.Containers, func(c Containers) bool { return !free(c) })
		if float64(p.Rate.Value) < float64(p.Moves.Now)*(1-2*evenly) && len(p.Left) == 0 && !bound {
			t.Errorf("%d: less is done after the moves: %v of %v", i, p.Rate.Value, p.Moves.Now)
		}
	}
	if moved < 20 || limited < 5 {
		t.Errorf("%d moves, %d limited plans: the test shows little", moved, limited)
	}
}

// Hosts that share a target do no more than it lets all of them do. A plan takes it that all use it as each does, which
// it leaves less of than they do where they are filled unlike each other.
func TestTargetsAreShared(t *testing.T) {
	m := modeltest.ThreeClasses()
	target := &model.Target{Name: "array", NIC: 2e8}
	drive := model.HostDrive{Name: "far", Is: m.Drives[1], Target: target, Delay: 3e-5}
	f := &Fleet{Objective: Throughput, Hosts: []Hosts{{Name: "h", Count: 3, Is: model.HostKind{Host: model.Host{CPUs: 16,
		MemoryBytes: 2 << 30},
		Drives: []model.HostDrive{drive}}}}, Containers: []Containers{{Name: "c", Class: 0, Count: 9}}}
	p, err := Best(m, f, Options{Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	var hosts []model.HostKind
	var placed [][]model.Placed
	for _, h := range p.Hosts {
		for range h.Hosts {
			hosts = append(hosts, f.Hosts[0].Is)
			placed = append(placed, []model.Placed{{Class: 0, Drive: 0, Count: h.Stands[0].Count}})
		}
	}
	together, err := m.SolveTogether(hosts, placed)
	if err != nil {
		t.Fatal(err)
	}
	rate := 0.0
	for _, one := range together {
		rate += one.Rate
	}
	if got := float64(p.Rate.Value); got > 1.02*rate || got < 0.8*rate {
		t.Errorf("the plan says %v operations a second, and together they do %v", got, rate)
	}
}

// A container that has a place stands there, however much that costs the others: nine, where the data of eight fit
// into memory and the drive does next to nothing.
func TestWhatHasAPlaceStands(t *testing.T) {
	m := modeltest.ThreeClasses()
	drive := model.HostDrive{Name: "d", Is: m.Drives[0]}
	drive.Is.Read.IOPS = 500
	is := model.HostKind{Host: model.Host{CPUs: 64, MemoryBytes: 8 << 30}, Drives: []model.HostDrive{drive}}
	rate := func(n int) float64 {
		s, err := m.Solve(is, []model.Placed{{Class: 0, Drive: 0, Count: n}})
		if err != nil {
			t.Fatal(err)
		}
		return s.Rate
	}
	if rate(8)-rate(9) < 2*rate(1) {
		t.Fatalf("%v of eight and %v of nine: the test shows nothing", rate(8), rate(9))
	}
	for _, hosts := range []int{1, 40} { // exactly, and by column generation
		f := &Fleet{Objective: Throughput, Hosts: []Hosts{{Name: "h", Count: hosts, Is: is}},
			Containers: []Containers{{Name: "c", Class: 0, Count: 9 * hosts}, {Name: "d", Class: 2, Count: hosts - 1}}}
		p, err := Best(m, f, Options{Seed: 1, Effort: 4000})
		if err != nil {
			t.Fatal(err)
		}
		if len(p.Left) > 0 {
			t.Errorf("%d hosts: left over: %+v", hosts, p.Left)
		}
	}
}

// A search that may take longer never ends with a worse plan, wherever it is ended. Time is counted in looks at the
// clock.
func TestMoreTimeIsNeverWorse(t *testing.T) {
	soak.WithoutRace(t)
	objectives := []Objective{Throughput, WorstP99} // the others are looked for in the same way
	if testing.Short() {
		objectives = objectives[:1]
	}
	for _, o := range objectives {
		m, f := limitedFleet(20, 5, o)
		var before *Plan
		better := 0
		plan := func(looks int64) {
			t.Helper()
			var seen atomic.Int64
			spent := func() float64 { return float64(seen.Add(1)) / float64(looks) }
			p, err := Best(m, f, Options{Seed: 1, Effort: 3000, Spent: spent})
			if err != nil {
				t.Fatal(err)
			}
			if before != nil && (left(p) > left(before) || left(p) == left(before) &&
				p.reached(f.Objective) < before.reached(f.Objective)-1e-9*abs(before.reached(f.Objective))) {
				t.Errorf("%s: after %d looks %v with %d left, and after fewer %v with %d", o, looks, p.reached(f.Objective),
					left(p), before.reached(f.Objective), left(before))
			}
			if before != nil && p.Reached != before.Reached {
				better++
			}
			before = p
		}
		for looks := int64(1); looks < 1<<16; looks *= 8 {
			plan(looks)
		}
		if plan(math.MaxInt64); better == 0 {
			t.Errorf("%s: no plan was better than the one before: the test shows little", o)
		}
	}
}
