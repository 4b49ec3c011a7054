package plan

import (
	"math"

	"plimsoll/internal/experiment"
	"plimsoll/internal/result"
	"plimsoll/internal/runview"
	"plimsoll/internal/stats"
	"plimsoll/internal/trial/plan/rounds"
)

// newStudy returns a study without points.
func (p *Planner) newStudy() rounds.Study {
	study := rounds.DefaultStudy
	study.Margin = p.experiment.Margin
	study.Size = sizeTarget
	if p.experiment.Target > 0 {
		study.Target = p.experiment.Target
	}
	return study
}

// addPoints adds the points of a mix to the study, and the comparisons between them.
func (p *Planner) addPoints(m experiment.Mix) {
	if m.Varies != nil {
		return // see elastic.go
	}
	if !m.Crossed() {
		p.points = append(p.points, result.Point{Mix: m.Name})
		return
	}
	first, baseline := len(p.points), -1
	for _, stack := range p.experiment.Stacks {
		if stack.Control != "" || !experiment.Compatible(stack, m) {
			continue
		}
		if stack.Name == p.experiment.Baseline {
			baseline = len(p.points)
		}
		p.points = append(p.points, result.Point{Stack: stack.Name, Mix: m.Name})
	}
	p.study.Pairs = append(p.study.Pairs, pairs(first, len(p.points), baseline)...)
	var group []int
	for i := first; i < len(p.points); i++ {
		group = append(group, i)
	}
	p.study.Groups = append(p.study.Groups, group)
}

// policyPairs returns the comparisons of policies of limits with none: of as many instances of a workload on a stack.
func (p *Planner) policyPairs() (pairs [][2]int) {
	type place struct{ stack, family string }
	unlimited := map[place]int{}
	visit := func(use func(i int, policy string, on place)) {
		for i, point := range p.points {
			policy, family, ok := runview.PolicyIn(p.mixes[point.Mix].Stored())
			if ok {
				use(i, policy, place{point.Stack, family})
			}
		}
	}
	visit(func(i int, policy string, on place) {
		if policy == runview.NoPolicy {
			unlimited[on] = i
		}
	})
	visit(func(i int, policy string, on place) {
		none, ok := unlimited[on]
		if ok && policy != runview.NoPolicy {
			pairs = append(pairs, [2]int{none, i})
		}
	})
	return pairs
}

// pairs returns the comparisons that findings make between the points from first to end-1: with the baseline, or of
// each with each where there is none.
func pairs(first, end, baseline int) (compared [][2]int) {
	for i := first; i < end; i++ {
		for j := i + 1; j < end; j++ {
			if baseline < 0 || i == baseline || j == baseline {
				compared = append(compared, [2]int{i, j})
			}
		}
	}
	return compared
}

// mostRounds is how many trials of a workload a setup gets at most: what
// trials do not differ by, more of them do not find out.
const mostRounds = 4

// rounds returns how many trials of each workload a stack gets in its setup of the next block: as many as are worth
// their time, by the durations and the variances of trials and setups so far.
func (p *Planner) rounds(trials []result.Trial, block int) int {
	if p.experiment.Trials > 0 || block == 1 {
		return p.experiment.Rounds(block)
	}
	var within, between, known float64
	for _, m := range p.experiment.Mixes {
		var samples []runview.Sample
		for _, point := range p.points {
			if point.Mix == m.Name {
				samples = append(samples, sample(trials, point))
			}
		}
		parts, ok := runview.Parts(samples)
		if !ok || math.IsNaN(parts.Within) || math.IsNaN(parts.Between) {
			continue
		}
		within, between, known = within+parts.Within*parts.Within, between+parts.Between*parts.Between, known+1
	}
	perSetup, perTrial := took(trials)
	if known == 0 || perSetup == 0 || perTrial == 0 {
		return 1
	}
	best := stats.TrialsPerBringUp(perSetup, perTrial, math.Sqrt(within), math.Sqrt(between))
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
		if t.Counts() == nil || t.BringUp == 0 {
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
func sample(trials []result.Trial, point result.Point) runview.Sample {
	done := runview.Of(&result.Run{Trials: trials}).Done(point)
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
func (p *Planner) look(trials []result.Trial) {
	p.study.Points = make([]rounds.StudyPoint, len(p.points))
	for i, point := range p.points {
		p.study.Points[i] = studied(trials, point)
		p.study.Points[i].Ended = p.ended(trials, point)
	}
}

// studied returns what a study has of a point: what its setups measured.
func studied(trials []result.Trial, point result.Point) (measured rounds.StudyPoint) {
	for _, u := range sample(trials, point) {
		if n := len(measured.Blocks); n > 0 && measured.Blocks[n-1] == u.Round {
			continue // brought up again in the same block, after a failure
		}
		measured.Values, measured.Blocks = append(measured.Values, u.Value()), append(measured.Blocks, u.Round)
	}
	return measured
}

// ended returns why a point can be in no more blocks; "" when it can.
func (p *Planner) ended(trials []result.Trial, point result.Point) (why string) {
	failures := 0 // in a row
	for _, t := range trials {
		if pointOf(t) != point {
			continue
		}
		_, measured := rate(&t)
		switch {
		case isPlanned(t), p.givenUp(t):
		case measured:
			failures = 0
		default:
			// What fails again may fail every time, at the cost of all others.
			if failures++; failures < mostFailures && t.Status != result.TrialSkipped {
				continue
			}
			why = "a trial gave no number"
			if t.Problem != nil {
				why = t.Problem.What + ": " + t.Problem.Why
			}
		}
	}
	return why
}

func pointReason(state rounds.PointState) result.StopReason {
	switch {
	case state.Open:
		return result.StopBudget
	case state.Reason == rounds.Precise:
		return result.StopPrecise
	case state.Reason == rounds.Settled:
		return result.StopSettled
	case state.Reason == rounds.CannotGoOn:
		return result.StopFailed
	}
	return result.StopRepeats
}

// conclude returns why each point got as many trials as it did.
func (p *Planner) conclude(trials []result.Trial) (stops []result.PointStop) {
	p.look(trials)
	if p.ladders == nil {
		stops = p.concluded(trials, p.study, p.points)
	}
	for _, l := range p.known() {
		stops = append(stops, p.climbed(trials, l)...)
	}
	study, points := p.elasticStudy(trials)
	for _, stop := range p.concluded(trials, study, points) {
		// The mix that is varied is a point of its own, and concluded with those.
		if p.mixes[stop.Mix].Varies != nil {
			stops = append(stops, stop)
		}
	}
	return stops
}

// concluded returns why a study's points got as many trials as they did.
func (p *Planner) concluded(
	trials []result.Trial, study rounds.Study, points []result.Point,
) (stops []result.PointStop) {
	for i, state := range study.Judge() {
		setups := len(study.Points[i].Values)
		stops = append(stops, p.stop(trials, points[i], setups, pointReason(state), state.Why, state.Relative))
	}
	return stops
}

// stop returns a point as a run stores it.
func (p *Planner) stop(
	trials []result.Trial, point result.Point, setups int, reason result.StopReason, why string, relative float64,
) result.PointStop {
	stop := result.PointStop{
		Stack: point.Stack, Mix: point.Mix, Reason: reason, Why: why, Trials: sample(trials, point).Trials(),
		BringUps: setups,
	}
	if !math.IsInf(relative, 0) {
		stop.RelativeHalfWidth = relative
	}
	return stop
}
