package trial

import (
	"fmt"
	"reflect"
	"slices"
	"time"

	"plimsoll/internal/experiment"
	"plimsoll/internal/result"
	"plimsoll/internal/stats/stopping"
)

// Elasticity is the effect at the load line of more or less of one limit of the scaled-down host. Once a run tells that
// line, it adds mixes of its own, each of which has one limit relaxed or tightened, and runs them in blocks
// together with the mix at the line, so that each is held against that in the same setups. They are
// stored with the run before they are planned: a run that is resumed makes them again from
// what is stored (experiment.AddVaried).

// loadLines returns the load lines that the trials so far tell.
func (r *runner) loadLines() []Line {
	if r.Lines == nil {
		return nil
	}
	return r.Lines(r.store.Run())
}

// know adds a mix to those of the experiment.
func (r *runner) know(m experiment.Mix) {
	r.Experiment.Mixes = append(slices.Clip(r.Experiment.Mixes), m)
	r.mixes[m.Name] = m
}

// elasticIn returns the blocks that tell elasticity: those that have mixes which the run added.
func (s *schedule) elasticIn(trials []result.Trial) map[int]bool {
	blocks := map[int]bool{}
	for _, t := range trials {
		if s.mixes[t.Mix].Varies != nil && t.Status != result.TrialPlanned {
			blocks[t.Block] = true
		}
	}
	return blocks
}

// elasticBlocks is in how many blocks elasticity was measured so far.
func (s *schedule) elasticBlocks(trials []result.Trial) int { return len(s.elasticIn(trials)) }

// elastic plans trials that tell elasticity: without a budget all of them, else the next block; none where
// it is not asked for, no line is known, or all is told.
func (s *schedule) elastic(trials []result.Trial) (more []result.Trial, err error) {
	if s.Experiment.Elasticity == 0 {
		return nil, nil
	}
	once := func([]result.Trial, int) int { return max(1, s.Experiment.Trials) }
	study, points := s.elasticStudy(trials)
	if len(points) > 0 {
		if s.Experiment.Budget == 0 {
			return nil, nil // it had as many blocks as the experiment asks for
		}
		var next []point
		for _, i := range study.Next() {
			next = append(next, points[i])
		}
		return s.block(trials, next, once), nil
	}
	next, err := s.begin()
	if err != nil || len(next) == 0 {
		return nil, err
	}
	blocks := s.Experiment.ElasticBlocks()
	if s.Experiment.Budget > 0 {
		blocks = 1 // the others follow while there is time
	}
	for range blocks {
		more = append(more, s.block(slices.Concat(trials, more), next, once)...)
	}
	return more, nil
}

// begin adds the mixes that vary those at the load lines, and returns the points of both.
func (s *schedule) begin() (points []point, err error) {
	run := s.store.Run()
	for _, l := range s.loadLines() {
		of, ok := s.mixes[l.Mixes[l.Instances]]
		if !ok || of.Varies != nil {
			continue
		}
		var varied []point
		for _, m := range s.variations(run, of) {
			varied = append(varied, point{l.Stack, m.Name})
			if _, known := s.mixes[m.Name]; !known {
				s.know(m)
				run.Mixes = append(run.Mixes, m.Stored())
			}
		}
		if len(varied) > 0 {
			s.Progress.Note(fmt.Sprintf("the load line is at %s: its limits are varied there", of.Name))
			points = append(append(points, point{l.Stack, of.Name}), varied...)
		}
	}
	if len(points) == 0 {
		return nil, nil
	}
	return points, s.store.SaveHeader(*run)
}

// variations are the mixes that vary one, those first that the run has stored already. A limit that allows
// more than the host has is none: to relax it changes nothing, and is no measurement of what more would do. Nor is
// memory tightened that servers cannot run without.
func (s *schedule) variations(run *result.Run, of experiment.Mix) (all []experiment.Mix) {
	var known []string
	for name := range s.mixes {
		known = append(known, name)
	}
	for _, m := range experiment.Variations(of, s.Experiment.Elasticity, known) {
		host := run.Environment
		tooMany := host.CPUs > 0 && m.Host.CPUs > float64(host.CPUs) && m.Host.CPUs > of.Host.CPUs
		tooMuch := host.MemoryBytes > 0 && uint64(m.Host.MemoryBytes) > host.MemoryBytes && m.Host.MemoryBytes > of.Host.MemoryBytes
		tooLittle := m.Host.MemoryBytes > 0 && m.Host.MemoryBytes < s.Experiment.ServerMemory(m)
		if tooMany || tooMuch || tooLittle {
			continue
		}
		at := slices.IndexFunc(run.Mixes, func(was result.Mix) bool { return reflect.DeepEqual(was.Varies, m.Varies) })
		if at >= 0 {
			m = s.mixes[run.Mixes[at].Name]
		}
		all = append(all, m)
	}
	return all
}

// elasticStudy returns what decides when enough is known of elasticity, and its points: those of the blocks
// that have mixes which the run added, each of which is held against the mix that it varies. No points
// before the first of these blocks.
func (s *schedule) elasticStudy(trials []result.Trial) (study stopping.Study, points []point) {
	study = s.newStudy()
	blocks := s.elasticIn(trials)
	var inside []result.Trial
	for _, t := range trials {
		if blocks[t.Block] {
			inside = append(inside, t)
		}
	}
	at := func(p point) int {
		i := slices.Index(points, p)
		if i < 0 {
			i, points = len(points), append(points, p)
			study.Points = append(study.Points, s.studied(inside, p))
		}
		return i
	}
	for _, t := range inside {
		varies := s.mixes[t.Mix].Varies
		if varies == nil {
			continue
		}
		pair := [2]int{at(point{t.Stack, varies.Of}), at(point{t.Stack, t.Mix})}
		if !slices.Contains(study.Pairs, pair) {
			study.Pairs = append(study.Pairs, pair)
		}
	}
	return study, points
}

// mostKept is the share of a budget that is kept for elasticity at most: without a line, it says nothing.
const mostKept = 0.45

// keptMargin is for what trials take longer than those before did.
const keptMargin = 1.2

// kept is how much of the budget trial number at, counted from 0, or what follows all of them, has to leave for elasticity: what as many
// blocks take as a test needs, by estimate. Nothing once these have begun, and in the first block: without it
// there is no line.
func (s *schedule) kept(trials []result.Trial, at int) time.Duration {
	begun := slices.ContainsFunc(trials, func(t result.Trial) bool { return s.mixes[t.Mix].Varies != nil })
	if s.Experiment.Elasticity == 0 || begun || s.spent || at < len(trials) && trials[at].Block == 1 {
		return 0
	}
	ratio := keptMargin * taken(trials[:at], experiment.Costs(s.Experiment, s.plannedOf(trials[:at])))
	takes := time.Duration(ratio * float64(experiment.ElasticityTakes(s.Experiment)))
	return min(takes, time.Duration(mostKept*float64(s.Experiment.Budget)))
}
