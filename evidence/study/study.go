// Package study shows how often the rule that ends a comparison across
// blocks is right, and how many blocks it saves: it makes setups of points whose
// true ratios are known, runs the rule on them until it asks for no more, many
// times, and compares that with 30 blocks of each point. It is deterministic:
// docs/evidence/stopping.md quotes its output.
package study

import (
	"crypto/sha256"
	"flag"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"runtime"
	"sync"

	"plimsoll/internal/stats"
	"plimsoll/internal/trial/plan/rounds"
)

// Run prints the tables.
func Run(args []string) error {
	flags := flag.NewFlagSet("study", flag.ExitOnError)
	replays := flags.Int("replays", 1000, "replays of each case")
	seed := flags.Uint64("seed", 0, "the first replay's; the others count up from it")
	_ = flags.Parse(args) // it exits
	fmt.Printf("%d replays of each case.\n\n", *replays)
	cases := benchPairs(*replays, *seed)
	writeRatios(os.Stdout, cases)
	fmt.Println()
	writePairs(os.Stdout, cases)
	fmt.Println()
	writeSingles(os.Stdout, benchSingles(*replays, *seed))
	fmt.Println()
	writeStars(os.Stdout, benchStars(*replays/4, *seed))
	fmt.Println()
	fmt.Println("| noise | a trial of a point whose rate is 1 |")
	fmt.Println("|---|---|")
	for _, n := range noises() {
		fmt.Printf("| %s | %s |\n", n.name, n.formula)
	}
	return nil
}

// point is the truth about a point.
type point struct {
	noise noise
	level float64 // by which its trials are multiplied
}

// simulation is one replay of a study.
type simulation struct {
	study  rounds.Study
	truth  []point
	rngs   []*rand.Rand // each point has its own random numbers
	shared *rand.Rand
	block  block
	trials int
}

func simulate(truth []point, pairs [][2]int, seed uint64, name string) *simulation {
	// Seeds that count up make generators whose beginnings resemble each other.
	stream := func(i int) *rand.Rand {
		return rand.New(rand.NewChaCha8(sha256.Sum256(fmt.Appendf(nil, "%s %d %d", name, seed, i))))
	}
	s := &simulation{truth: truth, shared: stream(-1)}
	s.study.Pairs = pairs
	s.study.Points = make([]rounds.StudyPoint, len(truth))
	for i := range truth {
		s.rngs = append(s.rngs, stream(i))
	}
	s.block.shock = s.shared.NormFloat64()
	return s
}

// run runs a block of trials, of the points with these indices.
func (s *simulation) run(points []int) {
	for _, i := range points {
		s.measure(i)
	}
	s.block = block{s.block.number + 1, s.shared.NormFloat64()}
}

// measure runs a trial of a point in the block under way.
func (s *simulation) measure(i int) {
	p := &s.study.Points[i]
	p.Values = append(p.Values, s.truth[i].level*s.truth[i].noise.trial(s.rngs[i], s.block))
	p.Blocks = append(p.Blocks, s.block.number)
	s.trials++
}

func (s *simulation) candidates() []int {
	all := make([]int, len(s.truth))
	for i := range all {
		all[i] = i
	}
	return all
}

func (s *simulation) compare(pair [2]int) rounds.Outcome {
	return s.study.Compare(s.study.Points[pair[0]], s.study.Points[pair[1]])
}

// testDiffers reports what the test of findings says of all blocks that two
// points share, looked at once.
func (s *simulation) testDiffers(pair [2]int) bool {
	a, b := s.study.Points[pair[0]], s.study.Points[pair[1]]
	values := map[int]float64{}
	for i, block := range b.Blocks {
		values[block] = b.Values[i]
	}
	var x, y []float64
	for i, block := range a.Blocks {
		if v, ok := values[block]; ok {
			x, y = append(x, a.Values[i]), append(y, v)
		}
	}
	_, p := stats.PairedTest(x, y, 0)
	return p < stats.Alpha
}

// parallel calls do for every replay, and adds up what it gives.
func parallel[T any](replays int, seed uint64, do func(seed uint64) T, add func(T)) {
	results := make([]T, replays)
	var wait sync.WaitGroup
	workers := runtime.GOMAXPROCS(0)
	for w := range workers {
		wait.Go(func() {
			for i := w; i < replays; i += workers {
				results[i] = do(seed + uint64(i))
			}
		})
	}
	wait.Wait()
	for _, r := range results { // in order, so that sums are always rounded alike
		add(r)
	}
}

func percent(share float64) string { return fmt.Sprintf("%.0f%%", 100*share) }
func tenths(share float64) string  { return fmt.Sprintf("%.1f%%", 100*share) }

// pairCase is two points that are compared, and what became of it: shares of the replays.
type pairCase struct {
	name    string
	a, b    noise
	ratio   float64
	differ  float64
	alike   float64
	neither float64 // at the end
	test    float64 // the test at the end finds a difference
	fixed   float64 // after as many trials of both as are allowed
	trials  float64 // per point
}

// ratios of the true rates of a pair: equal, apart by the target, and more.
var ratios = []float64{1, 1.03, 1.05, 1.1, 1.5}

func pairCases() (cases []pairCase) {
	kinds := noises()
	for _, n := range kinds {
		for _, ratio := range ratios {
			cases = append(cases, pairCase{name: n.name, a: n, b: n, ratio: ratio})
		}
	}
	for _, ratio := range ratios {
		cases = append(cases, pairCase{name: "1% against 10%", a: kinds[0], b: kinds[2], ratio: ratio})
	}
	return cases
}

func benchPairs(replays int, seed uint64) []pairCase {
	cases := pairCases()
	for i := range cases {
		c := &cases[i]
		share := 1 / float64(replays)
		parallel(replays, seed, c.replay, func(r pairCase) { c.add(r, share) })
	}
	return cases
}

func (c *pairCase) add(r pairCase, share float64) {
	c.differ += r.differ * share
	c.alike += r.alike * share
	c.neither += r.neither * share
	c.test += r.test * share
	c.fixed += r.fixed * share
	c.trials += r.trials * share
}

func truth(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

func (c *pairCase) replay(seed uint64) (r pairCase) {
	pair := [2]int{0, 1}
	s := simulate([]point{{c.a, 1}, {c.b, c.ratio}}, [][2]int{pair}, seed, fmt.Sprint(c.name, c.ratio))
	for {
		next := s.study.Next()
		if len(next) == 0 {
			break
		}
		s.run(next)
	}
	switch s.compare(pair) { // a verdict, once given, stays
	case rounds.Differ:
		r.differ = 1
	case rounds.Alike:
		r.alike = 1
	default:
		r.neither = 1
	}
	r.test = truth(s.testDiffers(pair))
	r.trials = float64(s.trials) / 2
	fixed := simulate(s.truth, nil, seed, fmt.Sprint(c.name, c.ratio))
	for range rounds.DefaultStudy.Most {
		fixed.run(fixed.candidates())
	}
	r.fixed = truth(fixed.testDiffers(pair))
	return r
}

func writePairs(w io.Writer, cases []pairCase) {
	fmt.Fprintln(w, "| noise | true ratio | differ | alike | no verdict | blocks of a point | fewer | test at the "+
		"end | test after 30 |")
	fmt.Fprintln(w, "|---|--:|--:|--:|--:|--:|--:|--:|--:|")
	for _, c := range cases {
		fmt.Fprintf(w, "| %s | %v | %s |\n", c.name, c.ratio, c.cells())
	}
}

func (c pairCase) cells() string {
	return fmt.Sprintf("%s | %s | %s | %.1f | %.1fx | %s | %s", tenths(c.differ), tenths(c.alike), percent(c.neither),
		c.trials, float64(rounds.DefaultStudy.Most)/c.trials, percent(c.test), percent(c.fixed))
}

// writeRatios gives the means over all kinds of noise.
func writeRatios(w io.Writer, cases []pairCase) {
	fmt.Fprintf(w, "| %d kinds of noise, true ratio | differ | alike | no verdict | blocks of a point | fewer | test "+
		"at the end | test after 30 |\n", len(cases)/len(ratios))
	fmt.Fprintln(w, "|---|--:|--:|--:|--:|--:|--:|--:|")
	for _, ratio := range ratios {
		fmt.Fprintf(w, "| **%v** | %s |\n", ratio, average(cases, ratio).cells())
	}
}

// average is of all kinds of noise, each of the same weight.
func average(cases []pairCase, ratio float64) (a pairCase) {
	share := float64(len(ratios)) / float64(len(cases))
	for _, c := range cases {
		if c.ratio == ratio {
			a.add(c, share)
		}
	}
	return a
}

// singleCase is a point that is compared with none.
type singleCase struct {
	noise   noise
	trials  float64
	precise float64 // share of the replays
	held    float64 // Student's interval at the end held the mean
	wide    float64 // and so did the same, never narrower than the target
	fixed   float64 // Student's interval after 30 trials did
}

func benchSingles(replays int, seed uint64) (cases []singleCase) {
	for _, n := range noises() {
		if math.IsNaN(n.mean) {
			continue
		}
		c := singleCase{noise: n}
		share := 1 / float64(replays)
		parallel(replays, seed, func(seed uint64) (r singleCase) {
			s := simulate([]point{{n, 1}}, nil, seed, n.name)
			for next := s.study.Next(); len(next) > 0; next = s.study.Next() {
				s.run(next)
			}
			state := s.study.Judge()[0]
			r.trials = float64(s.trials)
			r.precise = truth(state.Reason == rounds.Precise)
			r.held = truth(holds(s, state.Relative))
			r.wide = truth(holds(s, max(state.Relative, rounds.DefaultStudy.Target)))
			for len(s.study.Points[0].Values) < rounds.DefaultStudy.Most {
				s.run(s.candidates())
			}
			r.fixed = truth(holds(s, s.study.Judge()[0].Relative))
			return r
		}, func(r singleCase) {
			c.trials += r.trials * share
			c.precise += r.precise * share
			c.held += r.held * share
			c.wide += r.wide * share
			c.fixed += r.fixed * share
		})
		cases = append(cases, c)
	}
	return cases
}

// holds tells whether the first point's mean is known within a share of it.
func holds(s *simulation, relative float64) bool {
	values := s.study.Points[0].Values
	var sum float64
	for _, v := range values {
		sum += v
	}
	mean := sum / float64(len(values))
	return math.Abs(mean-s.truth[0].noise.mean) <= relative*mean
}

func writeSingles(w io.Writer, cases []singleCase) {
	fmt.Fprintln(w, "| noise | blocks | fewer | precise | holds the mean | Student's alone | after 30 trials |")
	fmt.Fprintln(w, "|---|--:|--:|--:|--:|--:|--:|")
	for _, c := range cases {
		fmt.Fprintf(w, "| %s | %.1f | %.1fx | %s | %s | %s | %s |\n", c.noise.name, c.trials,
			float64(rounds.DefaultStudy.Most)/c.trials,
			percent(c.precise), percent(c.wide), percent(c.held), percent(c.fixed))
	}
}
