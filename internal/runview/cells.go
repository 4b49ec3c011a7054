package runview

import (
	"plimsoll/internal/result"
)

// Cells are the trials of a run by point: what findings, comparisons, reports and
// the scheduler of a budget read.
type Cells struct {
	points []result.Point // by mix, then by stack: as the run declares them, then as trials name them
	trials map[result.Point][]*result.Trial
}

// Of returns the trials of a run grouped by point. They are not copied.
func Of(run *result.Run) Cells {
	c := Cells{trials: map[result.Point][]*result.Trial{}}
	var stacks, mixes []string
	for _, s := range run.Stacks {
		stacks = AddNew(stacks, s.Name)
	}
	for _, m := range run.Mixes {
		mixes = AddNew(mixes, m.Name)
	}
	for _, w := range run.Workloads {
		mixes = AddNew(mixes, w.Name)
	}
	for i := range run.Trials {
		t := &run.Trials[i]
		p := result.Point{Stack: t.Stack, Mix: t.Mix}
		c.trials[p] = append(c.trials[p], t)
		stacks, mixes = AddNew(stacks, t.Stack), AddNew(mixes, t.Mix)
	}
	for _, m := range mixes {
		for _, s := range stacks {
			if p := (result.Point{Stack: s, Mix: m}); c.trials[p] != nil {
				c.points = append(c.points, p)
			}
		}
	}
	return c
}

// Points returns the points that have trials: by mix, then by stack, in the order
// in which the run declares them.
func (c Cells) Points() []result.Point { return c.points }

// Trials returns all trials of a point, those that failed too.
func (c Cells) Trials(p result.Point) []*result.Trial { return c.trials[p] }

// Done returns the trials of a point with a measurement.
func (c Cells) Done(p result.Point) []*result.Trial {
	var done []*result.Trial
	for _, t := range c.trials[p] {
		if Measured(t) {
			done = append(done, t)
		}
	}
	return done
}

// Measured reports whether a trial ended with a measurement.
func Measured(t *result.Trial) bool {
	if t.Status != result.TrialDone {
		return false
	}
	_, ok := Rate.Of(t, "")
	return ok
}

// Sample returns the sample of a metric that the trials of a point make, of one of
// its tenants, or of all instances for "".
func (c Cells) Sample(p result.Point, tenant string, m Metric) Sample {
	return m.Sample(c.Done(p), tenant)
}
