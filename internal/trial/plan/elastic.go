package plan

import (
	"fmt"
	"reflect"
	"slices"

	"plimsoll/internal/experiment"
	"plimsoll/internal/result"
	"plimsoll/internal/trial/plan/rounds"
)

// Elasticity is the effect at the load line of more or less of one limit of the scaled-down host. Once a run tells that
// line, it adds mixes of its own, each of which has one limit relaxed or tightened, and runs them in blocks
// together with the mix at the line, so that each is held against that in the same setups. They are
// stored with the run before they are planned: a run that is resumed makes them again from
// what is stored (experiment.AddVaried).

// know adds a mix to those of the experiment.
func (p *Planner) know(m experiment.Mix) {
	p.experiment.Mixes = append(slices.Clip(p.experiment.Mixes), m)
	p.mixes[m.Name] = m
	p.run.Mixes = append(p.run.Mixes, m.Stored())
	p.step.Mixes = append(p.step.Mixes, m)
	p.elasticity = experiment.ElasticityTakes(p.experiment)
}

// elasticIn returns the blocks that measure elasticity: those that have mixes which the run added.
func (p *Planner) elasticIn(trials []result.Trial) map[int]bool {
	blocks := map[int]bool{}
	for _, t := range trials {
		if p.mixes[t.Mix].Varies != nil {
			blocks[t.Block] = true
		}
	}
	return blocks
}

// elasticBlocks returns in how many blocks elasticity was measured so far.
func (p *Planner) elasticBlocks(trials []result.Trial) int { return len(p.elasticIn(trials)) }

// isVaried reports whether any of the trials is of a mix that the run added.
func (p *Planner) isVaried(trials []result.Trial) bool {
	return slices.ContainsFunc(trials, func(t result.Trial) bool { return p.mixes[t.Mix].Varies != nil })
}

// elastic plans trials that measure elasticity: without a budget all of them, else the next block; none where it is not
// asked for, no line is known, or enough is known.
func (p *Planner) elastic(trials []result.Trial) (further []result.Trial) {
	if p.experiment.Elasticity == 0 {
		return nil
	}
	once := func([]result.Trial, int) int { return max(1, p.experiment.Trials) }
	study, points := p.elasticStudy(trials)
	if len(points) > 0 {
		if p.experiment.Budget == 0 {
			return nil // it had as many blocks as the experiment asks for
		}
		var open []result.Point
		for _, i := range study.Next() {
			open = append(open, points[i])
		}
		return p.block(trials, open, once)
	}
	points = p.vary()
	if len(points) == 0 {
		return nil
	}
	blocks := p.experiment.ElasticBlocks()
	if p.experiment.Budget > 0 {
		blocks = 1 // the others follow while there is time
	}
	for range blocks {
		further = append(further, p.block(slices.Concat(trials, further), points, once)...)
	}
	return further
}

// vary adds the mixes that vary those at the load lines, and returns the points of both.
func (p *Planner) vary() (points []result.Point) {
	for _, l := range p.lines(&p.run) {
		base, ok := p.mixes[l.Mixes[l.Instances]]
		if !ok || base.Varies != nil || p.ended(p.run.Trials, result.Point{Stack: l.Stack, Mix: base.Name}) != "" {
			continue
		}
		var varied []result.Point
		for _, m := range p.variations(base) {
			varied = append(varied, result.Point{Stack: l.Stack, Mix: m.Name})
			if _, known := p.mixes[m.Name]; !known {
				p.know(m)
			}
		}
		if len(varied) > 0 {
			p.step.Notes = append(p.step.Notes,
				fmt.Sprintf("the load line is at %s: its limits are varied there", base.Name))
			points = append(append(points, result.Point{Stack: l.Stack, Mix: base.Name}), varied...)
		}
	}
	return points
}

// variations returns the mixes that vary a base, those first that the run has stored already. A limit that allows more
// than the host has is none: to relax it changes nothing, and is no measurement of what more would do. Nor is memory
// tightened that servers cannot run without.
func (p *Planner) variations(base experiment.Mix) (varied []experiment.Mix) {
	var known []string
	for name := range p.mixes {
		known = append(known, name)
	}
	for _, m := range experiment.Variations(base, p.experiment.Elasticity, known) {
		host := p.run.Environment
		tooMany := host.CPUs > 0 && m.Host.CPUs > float64(host.CPUs) && m.Host.CPUs > base.Host.CPUs
		tooMuch := host.MemoryBytes > 0 && uint64(m.Host.MemoryBytes) > host.MemoryBytes &&
			m.Host.MemoryBytes > base.Host.MemoryBytes
		tooLittle := m.Host.MemoryBytes > 0 && m.Host.MemoryBytes < p.experiment.ServerMemory(m)
		if tooMany || tooMuch || tooLittle {
			continue
		}
		stored := slices.IndexFunc(p.run.Mixes, func(was result.Mix) bool {
			return reflect.DeepEqual(was.Varies, m.Varies)
		})
		if stored >= 0 {
			m = p.mixes[p.run.Mixes[stored].Name]
		}
		varied = append(varied, m)
	}
	return varied
}

// elasticStudy returns what decides when enough is known of elasticity, and its points: those of the blocks that have
// mixes which the run added, each of which is held against the mix that it varies. No points before the first of these
// blocks.
func (p *Planner) elasticStudy(trials []result.Trial) (study rounds.Study, points []result.Point) {
	study = p.newStudy()
	blocks := p.elasticIn(trials)
	var inside []result.Trial
	for _, t := range trials {
		if blocks[t.Block] {
			inside = append(inside, t)
		}
	}
	index := func(point result.Point) int {
		i := slices.Index(points, point)
		if i < 0 {
			i, points = len(points), append(points, point)
			study.Points = append(study.Points, studied(inside, point))
			study.Points[i].Ended = p.ended(trials, point)
		}
		return i
	}
	for _, t := range inside {
		varies := p.mixes[t.Mix].Varies
		if varies == nil {
			continue
		}
		pair := [2]int{index(result.Point{Stack: t.Stack, Mix: varies.Of}), index(pointOf(t))}
		if !slices.Contains(study.Pairs, pair) {
			study.Pairs = append(study.Pairs, pair)
		}
	}
	return study, points
}
