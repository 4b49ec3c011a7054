package trial

import (
	"math"

	"plimsoll/internal/result"
	"plimsoll/internal/runview"
	"plimsoll/internal/stats"
	"plimsoll/internal/stats/stopping"
)

// pairs are the comparisons that findings make between the points from first
// to end-1: with the baseline, or of each with each where there is none.
func pairs(first, end, baseline int) (all [][2]int) {
	for i := first; i < end; i++ {
		for j := i + 1; j < end; j++ {
			if baseline < 0 || i == baseline || j == baseline {
				all = append(all, [2]int{i, j})
			}
		}
	}
	return all
}

// mostRounds is how many trials of a workload a setup gets at most: what
// trials do not differ by, more of them do not find out.
const mostRounds = 4

// rounds is how many trials of each workload a stack gets in its setup of
// the next block: as many as are worth their time, by what trials and setups
// took and differed by so far.
func (s *schedule) rounds(trials []result.Trial, block int) int {
	if s.Experiment.Trials > 0 || block == 1 {
		return s.Experiment.Rounds(block)
	}
	var within, between, known float64
	for _, m := range s.Experiment.Mixes {
		var samples []runview.Sample
		for _, p := range s.points {
			if p.mix == m.Name {
				samples = append(samples, s.sample(trials, p))
			}
		}
		parts, ok := runview.Parts(samples)
		if !ok || math.IsNaN(parts.Within) || math.IsNaN(parts.Between) {
			continue
		}
		within, between, known = within+parts.Within*parts.Within, between+parts.Between*parts.Between, known+1
	}
	up, one := took(trials)
	if known == 0 || up == 0 || one == 0 {
		return 1
	}
	best := stats.TrialsPerBringUp(up, one, math.Sqrt(within), math.Sqrt(between))
	return max(1, min(mostRounds, best))
}

// took returns the seconds that a setup takes beside its trials, as a share
// of one for each workload, and those that a trial takes: medians of what was
// seen so far, 0 when nothing was.
func took(trials []result.Trial) (up, one float64) {
	type bringUp struct {
		stack  string
		number int
	}
	first := map[bringUp]float64{}
	workloads := map[bringUp]map[string]bool{}
	var later []float64
	for _, t := range trials {
		if t.Measured() == nil || t.BringUp == 0 {
			continue
		}
		b := bringUp{t.Stack, t.BringUp}
		if workloads[b] == nil {
			first[b], workloads[b] = t.ElapsedSeconds, map[string]bool{}
		} else {
			later = append(later, t.ElapsedSeconds)
		}
		workloads[b][t.Mix] = true
	}
	if len(later) == 0 {
		return 0, 0
	}
	one = stats.Median(later)
	var ups []float64
	for b, seconds := range first {
		ups = append(ups, max(0, seconds-one)/float64(len(workloads[b])))
	}
	return stats.Median(ups), one
}

// sample returns the measurements of a point's trials.
func (s *schedule) sample(trials []result.Trial, p point) runview.Sample {
	done := runview.Of(&result.Run{Trials: trials}).Done(result.Point{Stack: p.stack, Mix: p.mix})
	return runview.Take(done, rate)
}

// rate returns the operations a second of a trial. ok is false for a rate of 0, which has no ratios.
func rate(t *result.Trial) (perSecond float64, ok bool) {
	perSecond, ok = runview.Rate.Of(t, "")
	return perSecond, ok && perSecond > 0
}

// mostFailures is how many trials of a point in a row may fail before it gets
// no more.
const mostFailures = 2

// sizeTarget is how precisely to know the ratio of points that differ: a
// verdict says which is faster, and published results are about by how much.
const sizeTarget = 0.1

// look takes what the trials measured into the study.
func (s *schedule) look(trials []result.Trial) {
	s.study.Points = make([]stopping.StudyPoint, len(s.points))
	for i, p := range s.points {
		s.study.Points[i] = s.studied(trials, p)
	}
}

func (s *schedule) studied(trials []result.Trial, p point) (studied stopping.StudyPoint) {
	for _, u := range s.sample(trials, p) {
		if n := len(studied.Blocks); n > 0 && studied.Blocks[n-1] == u.Round {
			continue // brought up again in the same block, after a failure
		}
		studied.Values, studied.Blocks = append(studied.Values, u.Value()), append(studied.Blocks, u.Round)
	}
	failures := 0 // in a row
	for _, t := range trials {
		if t.Stack != p.stack || t.Mix != p.mix {
			continue
		}
		_, measured := rate(&t)
		switch {
		case t.Status == result.TrialPlanned, s.givenUp(t):
		case measured:
			failures = 0
		default:
			// What fails again may fail every time, at the cost of all others.
			if failures++; failures < mostFailures && t.Status != result.TrialSkipped {
				continue
			}
			studied.Ended = "a trial gave no number"
			if t.Problem != nil {
				studied.Ended = t.Problem.What + ": " + t.Problem.Why
			}
		}
	}
	return studied
}

func pointReason(state stopping.PointState) result.StopReason {
	switch {
	case state.Open:
		return result.StopBudget
	case state.Reason == stopping.Precise:
		return result.StopPrecise
	case state.Reason == stopping.Settled:
		return result.StopSettled
	case state.Reason == stopping.CannotGoOn:
		return result.StopFailed
	}
	return result.StopRepeats
}
