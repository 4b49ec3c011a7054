package verdicts

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"plimsoll/internal/finding/compare"
	"plimsoll/internal/result"
	"plimsoll/internal/result/repeats"
)

// Several runs, in the place of a budget: what a stack has in all rounds of a run is another in the next run.
const (
	pooled   = " runs pooled"
	compared = " runs on a side"
)

// runsDiffer is the standard deviation of what all setups of a run share, as a share, where runs are compared.
const runsDiffer = 0.05

// runTruths are truths of several runs.
func runTruths(quick bool) (cases []truth) {
	ladder := []float64{0, 0.02, 0.04, 0.05, 0.07, 0.08, 0.10, 0.20, 0.50}
	by5 := []float64{0, 0.05, 0.20, 0.25, 0.30, 0.35, 0.40, 0.50, 0.60}
	for _, runs := range []int{2, 4} {
		for _, losses := range [][]float64{ladder, by5, {0, 0.06}} {
			if !quick || runs == 4 && len(losses) == 2 {
				cases = append(cases, truth{name: fmt.Sprintf("%d stacks, the next 2%% or more behind", len(losses)),
					losses: [][]float64{losses}, noise: noise{setups: 0.03, regions: 0.15, bias: 0.03},
					rounds: 5, budget: fmt.Sprint(runs, pooled)})
			}
		}
	}
	for _, runs := range []int{2, 3, 5} {
		if !quick || runs == 3 {
			cases = append(cases, truth{name: "equal runs compared", losses: [][]float64{{0, 0, 0}},
				noise: noise{setups: 0.03}, rounds: 8, budget: fmt.Sprint(runs, compared)})
		}
	}
	return cases
}

// several returns how many runs of a kind a truth is of; 0 where it is of another kind.
func (t truth) several(kind string) (runs int) {
	if !strings.HasSuffix(t.budget, kind) {
		return 0
	}
	_, _ = fmt.Sscan(t.budget, &runs) // 0 where there is no number
	return runs
}

// drawRuns draws so many runs of a truth, each with its own seed, as a host measures them one after the other.
func (t truth) drawRuns(n int, seed uint64) (runs []*result.Run) {
	kind := t.budget
	t.budget = evenly
	for i := range n {
		run := draw(t, seed*1000+uint64(i))
		run.ID = fmt.Sprintf("bench-%d-%d", seed, i)
		run.Started = time.Unix(int64(1_000_000*seed), 0).Add(time.Duration(i) * time.Hour)
		if strings.HasSuffix(kind, compared) {
			random := rand.New(rand.NewPCG(seed, uint64(i)))
			faster(run, math.Exp(runsDiffer*random.NormFloat64()))
		}
		runs = append(runs, run)
	}
	return runs
}

// faster multiplies all rates of a run.
func faster(run *result.Run, factor float64) {
	for i := range run.Trials {
		m := *run.Trials[i].Instances[0].Measurement
		m.Operations = slices.Clone(m.Operations)
		m.Operations[0].Rate *= factor
		m.Operations[0].Count = uint64(m.Operations[0].Rate)
		run.Trials[i].Instances = result.One(&m)
	}
}

// judgeRuns judges what is said of several runs: the verdict on all of them together, or whether those of one side are
// called worse than those of the other, which they are not. ok is false for a truth of one run.
func judgeRuns(t truth, seed uint64) (j judged, ok bool) {
	if n := t.several(pooled); n > 0 {
		run, err := repeats.Pool(t.drawRuns(n, seed))
		if err != nil {
			panic(err) // they are made as repeats
		}
		return judge(t, run), true
	}
	n := t.several(compared)
	if n == 0 {
		return j, false
	}
	runs := t.drawRuns(2*n, seed)
	before, wrong := repeats.Pool(runs[:n])
	second, problem := repeats.Pool(runs[n:])
	if wrong != nil || problem != nil {
		panic(fmt.Sprint(wrong, problem))
	}
	c := compare.Runs(before, second, compare.Options{Threshold: compare.DefaultThreshold, Alpha: compare.DefaultAlpha})
	decided := c.Verdict == compare.Regression || c.Verdict == compare.Holds
	return judged{sure: decided, early: c.Verdict == compare.TooFew, level: c.Verdict == compare.Regression}, true
}
