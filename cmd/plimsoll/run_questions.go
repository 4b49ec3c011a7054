package main

import (
	"time"

	"plimsoll/internal/experiment"
	"plimsoll/internal/result"
	"plimsoll/internal/result/store"
)

// questions returns what a budget may decide, by what the newest run of the same experiment below the directory of runs
// took, or by estimates.
func (a *app) questions(e *experiment.Experiment) []experiment.Question {
	runs, err := store.List(a.runs)
	if err != nil {
		return e.Questions(nil)
	}
	for _, s := range runs {
		if s.Problem != nil || s.Imported || s.Experiment != e.Name || s.Done == 0 {
			continue
		}
		run, err := store.Read(s.Dir)
		if err == nil {
			return e.Questions(overheads(run))
		}
	}
	return e.Questions(nil)
}

// overheads returns what trials of each stack and mix took beside warm-up, window and waiting for quiet, on average.
func overheads(run *result.Run) map[[2]string]time.Duration {
	seconds, trials := map[[2]string]float64{}, map[[2]string]float64{}
	for _, t := range run.Trials {
		if t.Counts() == nil || len(t.Phases) == 0 {
			continue
		}
		key := [2]string{t.Stack, t.Mix}
		trials[key]++
		seconds[key] += t.ElapsedSeconds
		for _, beside := range []result.PhaseName{result.PhaseQuiet, result.PhaseWarmUp, result.PhaseWindow} {
			seconds[key] -= result.SecondsOf(t.Phases, beside)
		}
	}
	all := map[[2]string]time.Duration{}
	for key, n := range trials {
		all[key] = time.Duration(seconds[key] / n * float64(time.Second))
	}
	return all
}
