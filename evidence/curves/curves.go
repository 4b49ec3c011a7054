// Package curves counts how often stats.FindChanges sees changes that are not there, and misses those that are: in
// curves with a known answer and noise. docs/evidence/curves.md quotes its tables.
package curves

import (
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"sync"

	"golang.org/x/sync/errgroup"

	"plimsoll/internal/stats"
)

// scenario is a kind of curve with its noise.
type scenario struct {
	name   string
	levels []float64
	trials int
	noise  noise
	curve  func(x float64) float64
	want   []want
}

// want is a change that the curve really has.
type want struct {
	kind     stats.ChangeKind
	from, to float64
}

// noise draws a relative error, in logarithms; at is 0 at the first level and
// 1 at the last.
type noise func(r *rand.Rand, at float64) float64

func normal(sigma float64) noise {
	return func(r *rand.Rand, _ float64) float64 { return sigma * r.NormFloat64() }
}

// outliers halves one trial in ten.
func outliers(sigma float64) noise {
	return func(r *rand.Rand, _ float64) float64 {
		if r.IntN(10) == 0 {
			return -math.Ln2
		}
		return sigma * r.NormFloat64()
	}
}

// growing is noise that is ten times as large at the last level.
func growing(sigma float64) noise {
	return func(r *rand.Rand, at float64) float64 { return sigma * (0.2 + 1.8*at) * r.NormFloat64() }
}

// tails is noise of Student's distribution with three degrees of freedom.
func tails(sigma float64) noise {
	return func(r *rand.Rand, _ float64) float64 {
		square := 0.0
		for range 3 {
			z := r.NormFloat64()
			square += z * z
		}
		return sigma * r.NormFloat64() / math.Sqrt(square/3)
	}
}

var (
	powers     = []float64{1, 2, 4, 8, 16, 32, 64}
	fewLevels  = []float64{1, 4, 16, 64}
	manyLevels = []float64{1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64}
)

func flat(float64) float64     { return 1 }
func linear(x float64) float64 { return x }
func root(x float64) float64   { return math.Sqrt(x) }

// fallsBehind is flat up to a level, and then lower.
func fallsBehind(level, to float64) func(float64) float64 {
	return func(x float64) float64 {
		if x > level {
			return to
		}
		return 1
	}
}

// saturates grows in proportion up to a place, and not beyond.
func saturates(at float64) func(float64) float64 {
	return func(x float64) float64 { return min(x, at) }
}

// smooth saturates without a corner.
func smooth(x float64) float64 { return x / (1 + x/8) }

// overload rises to 8, stays, and falls to 60% beyond 24.
func overload(x float64) float64 {
	if x > 24 {
		return 0.6 * 8
	}
	return min(x, 8)
}

func nothing() []scenario {
	var scenarios []scenario
	for _, n := range []int{3, 5, 10} {
		scenarios = append(scenarios, scenario{name: "flat", levels: powers, trials: n, noise: normal(0.1), curve: flat})
	}
	scenarios = append(scenarios,
		scenario{name: "flat, 4 levels", levels: fewLevels, trials: 5, noise: normal(0.1), curve: flat},
		scenario{name: "flat, 12 levels", levels: manyLevels, trials: 5, noise: normal(0.1), curve: flat},
		scenario{name: "proportional", levels: powers, trials: 5, noise: normal(0.05), curve: linear},
		scenario{name: "square root", levels: powers, trials: 5, noise: normal(0.3), curve: root},
		scenario{name: "flat, one trial in ten at half", levels: powers, trials: 5, noise: outliers(0.05), curve: flat},
		scenario{name: "flat, heavy tails (Student, 3 df)", levels: powers, trials: 5, noise: tails(0.1), curve: flat},
		scenario{name: "flat, noise grows tenfold", levels: powers, trials: 5, noise: growing(0.1), curve: flat},
	)
	return scenarios
}

func something() []scenario {
	var scenarios []scenario
	for _, c := range []struct{ to, sigma float64 }{{0.5, 0.1}, {0.7, 0.1}, {0.8, 0.05}, {0.8, 0.1}, {0.9, 0.05}} {
		scenarios = append(scenarios, scenario{
			name: fmt.Sprintf("falls to %.0f%% after 16", c.to*100), levels: powers, trials: 5, noise: normal(c.sigma),
			curve: fallsBehind(16, c.to), want: []want{{stats.Cliff, 16, 32}},
		})
	}
	scenarios = append(scenarios,
		scenario{name: "falls to 70% after 16, 3 trials", levels: powers, trials: 3, noise: normal(0.1),
			curve: fallsBehind(16, 0.7), want: []want{{stats.Cliff, 16, 32}}},
		scenario{name: "falls to 70% after 32", levels: powers, trials: 5, noise: normal(0.1),
			curve: fallsBehind(32, 0.7), want: []want{{stats.Cliff, 32, 64}}},
		scenario{name: "falls to 70% after 16, one in ten at half", levels: powers, trials: 5, noise: outliers(0.05),
			curve: fallsBehind(16, 0.7), want: []want{{stats.Cliff, 16, 32}}},
		scenario{name: "saturates at 8", levels: powers, trials: 5, noise: normal(0.1), curve: saturates(8),
			want: []want{{stats.Knee, 8, 8}}},
		scenario{name: "saturates at 6, between levels", levels: powers, trials: 5, noise: normal(0.1),
			curve: saturates(6), want: []want{{stats.Knee, 6, 6}}},
		scenario{name: "saturates at 2", levels: powers, trials: 5, noise: normal(0.05), curve: saturates(2),
			want: []want{{stats.Knee, 2, 2}}},
		scenario{name: "saturates at 8", levels: powers, trials: 5, noise: normal(0.3), curve: saturates(8),
			want: []want{{stats.Knee, 8, 8}}},
		scenario{name: "saturates at 16, 4 levels", levels: fewLevels, trials: 5, noise: normal(0.1), curve: saturates(16),
			want: []want{{stats.Knee, 16, 16}}},
		scenario{name: "saturates smoothly, half at 8", levels: powers, trials: 5, noise: normal(0.05), curve: smooth,
			want: []want{{stats.Knee, 8, 8}}},
		scenario{name: "rises to 8, falls to 60% after 24", levels: powers, trials: 5, noise: normal(0.05),
			curve: overload, want: []want{{stats.Knee, 8, 8}, {stats.Cliff, 16, 32}}},
		scenario{name: "rises to 8, falls to 60% after 24, 12 levels", levels: manyLevels, trials: 5, noise: normal(0.05),
			curve: overload, want: []want{{stats.Knee, 8, 8}, {stats.Cliff, 24, 32}}},
	)
	return scenarios
}

// draw makes the levels of one experiment.
func (s scenario) draw(r *rand.Rand) []stats.Level {
	var levels []stats.Level
	for i, x := range s.levels {
		l := stats.Level{X: x}
		for range s.trials {
			e := s.noise(r, float64(i)/float64(len(s.levels)-1))
			l.Values = append(l.Values, 1000*s.curve(x)*math.Exp(e))
		}
		levels = append(levels, l)
	}
	return levels
}

// tally is what came of many experiments.
type tally struct {
	found   int // found some change
	exact   int // found as many changes as there are, of their kinds, in their order
	covered int // and all of their intervals hold the truth
}

func (s scenario) run(n int) (sum tally, err error) {
	var (
		mutex sync.Mutex
		group errgroup.Group
	)
	group.SetLimit(runtime.GOMAXPROCS(0))
	for seed := range uint64(n) {
		group.Go(func() error {
			c, err := stats.FindChanges(s.draw(rand.New(rand.NewPCG(seed, 7))), seed)
			if err != nil {
				return fmt.Errorf("%s: %w", s.name, err)
			}
			mutex.Lock()
			defer mutex.Unlock()
			sum.add(c, s.want)
			return nil
		})
	}
	err = group.Wait()
	return sum, err
}

func (t *tally) add(c stats.Curve, wanted []want) {
	if len(c.Changes) > 0 {
		t.found++
	}
	if len(c.Changes) != len(wanted) {
		return
	}
	kinds, covered := true, true
	for i, w := range wanted {
		got := c.Changes[i]
		kinds = kinds && got.Kind == w.kind
		covered = covered && got.Low <= w.from*1.0001 && got.High >= w.to*0.9999
	}
	if kinds {
		t.exact++
		if covered {
			t.covered++
		}
	}
}

// Run prints the tables.
func Run(args []string) error {
	flags := flag.NewFlagSet("curves", flag.ExitOnError)
	runs := flags.Int("runs", 1000, "experiments of each kind")
	_ = flags.Parse(args) // it exits
	percent := func(n, of int) string {
		if of == 0 {
			return "-"
		}
		return fmt.Sprintf("%.1f%%", 100*float64(n)/float64(of))
	}
	fmt.Printf("| no change | levels | trials | a change is seen |\n|---|---|---|---|\n")
	for _, s := range nothing() {
		t, err := s.run(*runs)
		if err != nil {
			return err
		}
		fmt.Printf("| %s | %d | %d | %s |\n", s.name, len(s.levels), s.trials, percent(t.found, *runs))
	}
	fmt.Printf("\n| change | levels | trials | noise | a change is seen | all changes, of the right kinds, and no " +
		"other | of these, the intervals hold all places |\n|---|---|---|---|---|---|---|\n")
	for _, s := range something() {
		t, err := s.run(*runs)
		if err != nil {
			return err
		}
		fmt.Printf("| %s | %d | %d | %s | %s | %s | %s |\n", s.name, len(s.levels), s.trials, spread(s.noise),
			percent(t.found, *runs), percent(t.exact, *runs), percent(t.covered, t.exact))
	}
	return nil
}

// spread is the standard deviation of a noise, halfway.
func spread(n noise) string {
	r := rand.New(rand.NewPCG(1, 1))
	square := 0.0
	const draws = 100_000
	for range draws {
		e := n(r, 0.5)
		square += e * e
	}
	return fmt.Sprintf("%.0f%%", 100*math.Sqrt(square/draws))
}
