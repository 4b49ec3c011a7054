package cell

import (
	"slices"

	"plimsoll/internal/result"
)

// Point is what trials ran: a mix on a stack, "" for a mix whose tenants stand on
// stacks of their own.
type Point struct{ Stack, Mix string }

// Cells are the trials of a run by point: what findings, comparisons, reports and
// the scheduler of a budget read.
type Cells struct {
	points []Point // by mix, then by stack: as the run declares them, then as trials name them
	trials map[Point][]*result.Trial
}

// Of groups the trials of a run. They are not copied.
func Of(run *result.Run) Cells {
	c := Cells{trials: map[Point][]*result.Trial{}}
	stacks, mixes := []string{}, []string{}
	add := func(names *[]string, name string) {
		if !slices.Contains(*names, name) {
			*names = append(*names, name)
		}
	}
	for _, s := range run.Stacks {
		add(&stacks, s.Name)
	}
	for _, m := range run.Mixes {
		add(&mixes, m.Name)
	}
	for _, w := range run.Workloads {
		add(&mixes, w.Name)
	}
	for i := range run.Trials {
		t := &run.Trials[i]
		p := Point{t.Stack, t.Mix}
		c.trials[p] = append(c.trials[p], t)
		add(&stacks, t.Stack)
		add(&mixes, t.Mix)
	}
	for _, m := range mixes {
		for _, s := range stacks {
			if p := (Point{s, m}); c.trials[p] != nil {
				c.points = append(c.points, p)
			}
		}
	}
	return c
}

// Points returns the points that have trials: by mix, then by stack, in the order
// in which the run declares them.
func (c Cells) Points() []Point { return c.points }

// Trials returns all trials of a point, those that failed too.
func (c Cells) Trials(p Point) []*result.Trial { return c.trials[p] }

// Done returns the trials of a point that measured something.
func (c Cells) Done(p Point) []*result.Trial {
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
func (c Cells) Sample(p Point, tenant string, m Metric) Sample {
	return Take(c.Done(p), func(t *result.Trial) (float64, bool) { return m.Of(t, tenant) })
}
