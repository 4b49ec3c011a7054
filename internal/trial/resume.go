package trial

import (
	"fmt"
	"reflect"
	"slices"

	"plimsoll/internal/experiment"
	"plimsoll/internal/problem"
	"plimsoll/internal/result"
)

// checkPlanUnchanged refuses to go on with a run whose experiment reads otherwise than when it was planned: half of its
// trials would be of other workloads than the rest, under the same names. The text is the run's own; what reads it may
// have changed.
func (r *runner) checkPlanUnchanged(run *result.Run) error {
	changed := func(what string) error {
		return problem.New(problem.Invalid,
			fmt.Sprintf("run %s was planned by Plimsoll %s, and this version (%s) reads %s of its experiment otherwise",
				r.Dir, run.Version, r.Version, what), "", "resume it with that version, or start a new run")
	}
	now := workloadsOf(r.Experiment)
	for _, was := range run.Workloads {
		was.Image = nil // which it began with, and goes on with
		if !slices.ContainsFunc(now, func(w result.Workload) bool { return reflect.DeepEqual(w, was) }) {
			return changed("workload " + was.Name)
		}
	}
	mixes := r.Experiment.ResultMixes()
	for _, was := range run.Mixes {
		if !slices.ContainsFunc(mixes, func(m result.Mix) bool { return reflect.DeepEqual(m, was) }) {
			return changed("mix " + was.Name)
		}
	}
	if len(now) != len(run.Workloads) || len(mixes) != len(run.Mixes) {
		return changed("the workloads and mixes")
	}
	return nil
}

// workloadsOf returns the workloads of an experiment as a run stores them.
func workloadsOf(e *experiment.Experiment) (all []result.Workload) {
	for _, w := range e.Workloads {
		info := w.Info()
		info.Name, info.Levels = w.Name, w.Levels
		all = append(all, info)
	}
	return all
}
