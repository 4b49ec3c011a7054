package runview

import (
	"cmp"
	"slices"

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
	stacks, mixes := order{}, order{}
	for _, s := range run.Stacks {
		stacks.add(s.Name)
	}
	for _, m := range run.Mixes {
		mixes.add(m.Name)
	}
	for _, w := range run.Workloads {
		mixes.add(w.Name)
	}
	for i := range run.Trials {
		t := &run.Trials[i]
		p := result.Point{Stack: t.Stack, Mix: t.Mix}
		if c.trials[p] == nil {
			c.points = append(c.points, p)
		}
		c.trials[p] = append(c.trials[p], t)
		stacks.add(t.Stack)
		mixes.add(t.Mix)
	}
	slices.SortFunc(c.points, func(a, b result.Point) int {
		return cmp.Or(cmp.Compare(mixes[a.Mix], mixes[b.Mix]), cmp.Compare(stacks[a.Stack], stacks[b.Stack]))
	})
	return c
}

// order is the place of each name among those that were added before.
type order map[string]int

func (o order) add(name string) {
	if _, known := o[name]; !known {
		o[name] = len(o)
	}
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
