package placement

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"plimsoll/internal/model"
	"plimsoll/internal/result"
	"plimsoll/internal/testkit/modeltest"
	"plimsoll/internal/testkit/soak"
)

// oddFleet has hosts and containers of all that bounds have a rule for: short memory, writes that are batched, curves
// that bend, faster and slower processors and drives, shared targets, limits of containers' own.
func oddFleet(r *rand.Rand) (*model.Model, *Fleet) {
	m := modeltest.ThreeClasses()
	number := func(least, most float64) model.Number {
		return model.Number(least * math.Pow(most/least, r.Float64()))
	}
	for i := range m.Classes {
		p := &m.Classes[i].Params
		p.CPU.Base *= number(0.3, 3)
		if r.IntN(2) == 0 {
			p.CPU.More = number(1e-6, 1e-4)
		}
		p.Latency.More *= number(0.2, 2)
		p.Reads.Scale *= number(0.3, 3)
		p.Reads.Fits *= number(0.5, 2)
		if p.Reads.Scale > 0 {
			p.Reads.Floor, p.Reads.Shape = number(0.001, 0.3), number(0.5, 4)
			if r.IntN(4) == 0 {
				p.Reads.Times = []model.Times{{Memory: 3e8, Times: number(2, 6)}, {Memory: 6e8, Times: number(1.1, 2)},
					{Memory: 2e9, Times: 1}}
				p.Inferred = r.IntN(2) == 0
			}
		}
		if r.IntN(2) == 0 {
			p.Writes.Batch = number(0.05, 0.5)
			p.Writes.At1 = number(0.01, 0.5)
		}
		p.Late = model.Sharp{Processors: number(1, 6), Device: number(1, 8)}
	}
	f := &Fleet{Objective: Throughput}
	is := model.HostKind{Host: model.Host{CPUs: float64(1 + r.IntN(8)), MemoryBytes: int64(1+r.IntN(12)) << 30}}
	if r.IntN(2) == 0 {
		is.Host.Speed = float64(number(0.5, 2))
	}
	if r.IntN(3) == 0 {
		is.Host.Read.OperationsPerSecond = int64(number(500, 20000))
	}
	for d := range 1 + r.IntN(2) {
		drive := model.HostDrive{Name: fmt.Sprint("d", d), Is: m.Drives[r.IntN(len(m.Drives))]}
		if r.IntN(3) == 0 {
			drive.Target = &model.Target{Name: fmt.Sprint("t", d), CPUs: 2, CPUSeconds: float64(number(1e-6, 2e-5)), NIC: 1e9,
				Initiators: float64(1 + r.IntN(4))}
			drive.Delay = float64(number(1e-5, 2e-4))
			is.Host.NIC = 1e9
		}
		is.Drives = append(is.Drives, drive)
	}
	f.Hosts = []Hosts{{Name: "h", Count: 2, Is: is}}
	for c := range 1 + r.IntN(4) {
		d := Containers{Name: fmt.Sprint("c", c), Class: r.IntN(len(m.Classes)), Count: 1 + r.IntN(40), Apart: r.IntN(8) == 0}
		switch r.IntN(6) {
		case 0:
			d.Limits = result.Limits{MemoryBytes: int64(300+r.IntN(700)) << 20}
		case 1:
			d.Limits = result.Limits{CPUs: float64(number(0.1, 2))}
		case 2:
			d.Limits.Read.OperationsPerSecond = int64(number(100, 5000))
		}
		f.Containers = append(f.Containers, d)
	}
	return m, f
}

// oddFillings calls check with fillings of the only kind of odd fleets that have a prediction, as many as fillings.
func oddFillings(t *testing.T, seed uint64, fillings int, check func(r *rand.Rand, s *search, c *kindCells, f filling,
	known *filled),
) {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 53))
	for seen := 0; seen < fillings; {
		m, fleet := oddFleet(r)
		s, err := newSearch(m, fleet, Options{Seed: 1})
		if err != nil {
			continue // nobody knows
		}
		c := s.cellsOf(0, s.counts(), goal{})
		if c == nil {
			t.Fatal("there is no bound")
		}
		for range 10 {
			f := make(filling, s.kinds[0].slots())
			for range 1 + r.IntN(20) {
				slot := r.IntN(len(f))
				d, _ := s.kinds[0].split(slot)
				if s.kinds[0].counts(f)[d] < int(c.mostOf[d]) {
					f[slot]++
				}
			}
			known := s.kinds[0].fill(f, s.alone)
			if f.total() == 0 || known.clash != "" || known.unknown {
				continue
			}
			seen++
			check(r, s, c, f, known)
		}
	}
}

// The program of a cell is worth at least as much as every filling whose environment is in the cell, whatever prices
// are.
func TestCellsHoldTheirFillings(t *testing.T) {
	soak.WithoutRace(t)
	const near = 1e-4 // solutions are rounded
	tried, shorts := 0, 0
	oddFillings(t, 1, 1000, func(r *rand.Rand, s *search, c *kindCells, f filling, known *filled) {
		e, short := c.environment(f, known)
		time := math.Log(e.time)
		if short && math.IsNaN(time) {
			return
		}
		for _, wide := range []float64{1e-3, 0.1, 1.5} {
			enclosing := &cell{short: short, bound: math.Inf(1)}
			for _, u := range e.used {
				z := logit(u)
				enclosing.low = append(enclosing.low, max(noneUsed, z-wide*r.Float64()-near))
				enclosing.high = append(enclosing.high, z+wide*r.Float64()+near)
			}
			if short {
				enclosing.from, enclosing.to = time-wide*r.Float64()-near, time+wide*r.Float64()+near
				shorts++
			}
			prices := make([]float64, len(s.fleet.Containers))
			for d := range prices {
				prices[d] = s.alone[d] * (1.5*r.Float64() - 0.5)
			}
			worth := known.rate
			for d, n := range s.kinds[0].counts(f) {
				worth -= float64(n) * prices[d]
			}
			if !c.tighten(enclosing) {
				t.Fatalf("%v: nothing is left of its cell", f)
			}
			c.program(enclosing, prices, 1, math.Inf(-1))
			tried++
			if !(enclosing.bound >= worth-1e-6*(1+math.Abs(known.rate))) {
				t.Errorf("width %v, filling %v of %+v on %+v: it is worth %v, and its cell %v at most", wide, f,
					s.fleet.Containers, s.kinds[0].is, worth, enclosing.bound)
			}
		}
	})
	if shorts < tried/20 {
		t.Errorf("of %d cells only %d are short of memory", tried, shorts)
	}
}

// No filling is worth more than all cells together say, and where the search goes on they say hardly more.
func TestCellsBoundFillings(t *testing.T) {
	soak.WithoutRace(t)
	oddFillings(t, 2, 150, func(r *rand.Rand, s *search, c *kindCells, f filling, known *filled) {
		prices := make([]float64, len(s.fleet.Containers))
		for d := range prices {
			prices[d] = s.alone[d] * r.Float64()
		}
		worth := known.rate
		for d, n := range s.kinds[0].counts(f) {
			worth -= float64(n) * prices[d]
		}
		cells := c.divided(prices, 1, 0, func() bool { return false })
		cells.until(20)
		coarse := cells.bound()
		cells.until(200)
		fine := cells.bound()
		if fine > coarse+1e-6*math.Abs(coarse) {
			t.Errorf("more cells say more: %v, and %v", fine, coarse)
		}
		if !(fine >= worth-1e-6*(1+math.Abs(known.rate))) {
			t.Errorf("filling %v of %+v on %+v: it is worth %v, and all %v at most", f, s.fleet.Containers, s.kinds[0].is, worth,
				fine)
		}
	})
}

// The gradient is what predictions of one container more and of one fewer say, where these are many.
func TestGradients(t *testing.T) {
	var off []float64
	oddFillings(t, 3, 600, func(_ *rand.Rand, s *search, c *kindCells, f filling, known *filled) {
		k := s.kinds[0]
		g := c.gradient(f, known)
		for i, slot := range known.slots {
			if f[slot] < 4 {
				continue
			}
			more, less := k.fill(f.adjusted(slot, 1), s.alone), k.fill(f.adjusted(slot, -1), s.alone)
			if more.clash == "" && less.clash == "" && !more.unknown && !less.unknown {
				each := known.solved.Tenants[i].Rate / float64(f[slot])
				off = append(off, math.Abs((more.rate-less.rate)/2-g[slot])/each)
			}
		}
	})
	slices.Sort(off)
	if n := len(off); n < 200 || off[n/2] > 0.01 || off[n*3/4] > 0.1 {
		t.Errorf("of %d, half are off by more than %v of what one does, a quarter by %v", n, off[n/2], off[n*3/4])
	}
}

// What a program has of its columns is allowed, and worth its bound: both are the optimum.
func TestProgramsAreSolved(t *testing.T) {
	solved := 0
	oddFillings(t, 4, 300, func(r *rand.Rand, s *search, c *kindCells, f filling, known *filled) {
		e, short := c.environment(f, known)
		if short && math.IsNaN(e.time) {
			return
		}
		prices := make([]float64, len(s.fleet.Containers))
		for d := range prices {
			prices[d] = s.alone[d] * (1.5*r.Float64() - 0.5)
		}
		enclosing := &cell{short: short, from: math.Log(e.time) - r.Float64(), to: math.Log(e.time) + 2*r.Float64()}
		for _, u := range e.used {
			z := logit(u)
			enclosing.low, enclosing.high = append(enclosing.low, z-3*r.Float64()),
				append(enclosing.high, max(-9, z)+3*r.Float64())
		}
		c.corners(enclosing, prices, 1)
		bound := c.solve(enclosing, math.Inf(-1))
		if math.IsInf(bound, -1) {
			return
		}
		solved++
		l, worth := &c.lp, 0.0
		rows := make([]float64, l.rows)
		for j, x := range l.x {
			if x < -1e-6 || x > l.upper[j]*(1+1e-6) {
				t.Errorf("there is %v of a column, of 0 to %v", x, l.upper[j])
			}
			worth += l.c[j] * x
			for i := range rows {
				rows[i] += l.a[j*l.rows+i] * x
			}
		}
		for i, v := range rows {
			if near := 1e-5 * (1 + math.Abs(v)); v < l.lo[i]-near || v > l.hi[i]+near {
				t.Errorf("row %d comes to %v, of %v to %v", i, v, l.lo[i], l.hi[i])
			}
		}
		if math.Abs(worth-bound) > 1e-5*(1+math.Abs(bound)) {
			t.Errorf("%v is worth %v, and the bound is %v", l.x, worth, bound)
		}
	})
	if solved < 100 {
		t.Errorf("only %d programs have a solution", solved)
	}
}
