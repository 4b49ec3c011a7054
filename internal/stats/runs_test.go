package stats

import (
	"math"
	"math/rand/v2"
	"testing"

	"plimsoll/internal/testkit/soak"
)

// inRuns draws runs of five blocks: what a treatment has in all blocks of a run is another in the next.
func inRuns(r *rand.Rand, effects []float64, runs int, ofRun, setups float64) (cells []Cell) {
	const blocks = 5
	for run := range runs {
		shift := make([]float64, len(effects))
		for t, effect := range effects {
			shift[t] = effect + ofRun*r.NormFloat64()
		}
		for _, c := range design(r, shift, []float64{setups}, blocks, 0.2, nil) {
			c.Block, c.Cluster, c.Run = c.Block+run*blocks, c.Block+run*blocks+1, run+1
			cells = append(cells, c)
		}
	}
	return cells
}

// held counts how often an interval holds a true difference.
func held(truth float64, draws int, interval func() (low, high float64)) (n int) {
	for range draws {
		low, high := interval()
		if low <= math.Exp(truth) && math.Exp(truth) <= high {
			n++
		}
	}
	return n
}

// Of several runs, the interval of a difference holds what the next run has, too; without the runs it does not. Where
// runs do not differ by themselves it holds as often.
func TestIntervalsOfRunsHold(t *testing.T) {
	soak.WithoutRace(t)
	r := rand.New(rand.NewPCG(1, 9))
	const draws = 200
	for _, c := range []struct {
		treatments, runs int
		ofRun            float64
	}{{2, 2, 0.05}, {2, 4, 0.05}, {9, 2, 0.05}, {9, 4, 0.05}, {2, 4, 0}, {9, 4, 0}} {
		effects := make([]float64, c.treatments)
		effects[1] = 0.1
		interval := func(known bool) func() (float64, float64) {
			return func() (float64, float64) {
				cells := inRuns(r, effects, c.runs, c.ofRun, 0.03)
				for i := range cells {
					if !known {
						cells[i].Run = 0
					}
				}
				of, _ := FitTwoWay(cells).Contrast(1, 0)
				return of.Interval(Alpha / 2)
			}
		}
		// Variances that are drawn towards each other hold 92 of 100, where each has few degrees of freedom of its own.
		if n := held(0.1, draws, interval(true)); n < 90*draws/100 {
			t.Errorf("%+v: the interval holds %d of %d", c, n, draws)
		}
		if c.ofRun == 0 {
			continue
		}
		if n := held(0.1, draws, interval(false)); n > 80*draws/100 {
			t.Errorf("%+v: without the runs the interval holds %d of %d, and the test shows nothing", c, n, draws)
		}
	}
}

// The same holds for pairs whose metric has too few rounds for a fit.
func TestPairsOfRunsHold(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 10))
	const draws = 500
	for _, runs := range []int{2, 4} {
		interval := func(known bool) func() (float64, float64) {
			return func() (float64, float64) {
				var x, y []float64
				var runOf []int
				for _, c := range inRuns(r, []float64{0.1, 0}, runs, 0.05, 0.03) {
					switch {
					case c.Treatment == 1:
						y = append(y, math.Exp(c.Logs[0]))
					case known:
						x, runOf = append(x, math.Exp(c.Logs[0])), append(runOf, c.Run)
					default:
						x, runOf = append(x, math.Exp(c.Logs[0])), append(runOf, 0)
					}
				}
				p, _ := PairedRatioOfRuns(x, y, runOf, RunSpread{})
				return p.Low, p.High
			}
		}
		if n := held(0.1, draws, interval(true)); n < 93*draws/100 {
			t.Errorf("%d runs: the interval holds %d of %d", runs, n, draws)
		}
		if n := held(0.1, draws, interval(false)); n > 80*draws/100 {
			t.Errorf("%d runs: without the runs the interval holds %d of %d, and the test shows nothing", runs, n, draws)
		}
	}
	p, ok := PairedRatioOfRuns([]float64{1, 2}, []float64{1, 1}, []int{1, 2}, RunSpread{})
	if !ok || p.P != 1 || !math.IsNaN(p.Low) {
		t.Errorf("two pairs have %+v", p)
	}
}

// Two samples of runs are Student's: the order of them makes no difference.
func TestContrastOfRuns(t *testing.T) {
	c := ContrastOfRuns([]float64{3, 1, 2}, []float64{0})
	if c.Log != 2 || c.Degrees != 2 || !near(c.Error, math.Sqrt(4.0/3), 1e-12) {
		t.Errorf("got %+v", c)
	}
	if back := ContrastOfRuns([]float64{0}, []float64{2, 3, 1}); back.Log != -c.Log || back.Error != c.Error {
		t.Errorf("the other way round %+v", back)
	}
	if one := ContrastOfRuns([]float64{1}, []float64{0}); one.Degrees != 0 || one.P() != 1 {
		t.Errorf("of one run each %+v", one)
	}
}

// Two runs say little of a pair by itself. What the other treatments of these runs show makes intervals narrower, and
// they hold: whether runs differ by themselves or not.
func TestSpreadOfRuns(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 11))
	const draws = 500
	for _, ofRun := range []float64{0, 0.05} {
		alone, shared, narrower := 0, 0, 0
		for range draws {
			cells := inRuns(r, []float64{0.1, 0, 0, 0, 0, 0}, 2, ofRun, 0.03)
			var x, y []float64
			var runs []int
			for _, c := range cells {
				switch c.Treatment {
				case 0:
					x, runs = append(x, math.Exp(c.Logs[0])), append(runs, c.Run)
				case 1:
					y = append(y, math.Exp(c.Logs[0]))
				}
			}
			spread := RunSpreadOf(cells)
			if spread.Times < 1 || spread.Degrees < 1 || spread.Degrees > 5 {
				t.Fatalf("got %+v", spread)
			}
			p, _ := PairedRatioOfRuns(x, y, runs, RunSpread{})
			q, _ := PairedRatioOfRuns(x, y, runs, spread)
			alone += held(0.1, 1, func() (float64, float64) { return p.Low, p.High })
			shared += held(0.1, 1, func() (float64, float64) { return q.Low, q.High })
			if q.High/q.Low < p.High/p.Low {
				narrower++
			}
		}
		if alone < 93*draws/100 || shared < 93*draws/100 || narrower < 8*draws/10 {
			t.Errorf("runs %v apart: %d of %d hold alone, %d with the others, %d are narrower", ofRun, alone, draws, shared,
				narrower)
		}
	}
	if s := RunSpreadOf(inRuns(r, []float64{0, 0, 0}, 1, 0, 0.03)); s.Degrees != 0 {
		t.Errorf("of one run %+v is known", s)
	}
}
