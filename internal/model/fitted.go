package model

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"

	"plimsoll/internal/plural"
	"plimsoll/internal/result"
)

// draws is how many times bring-ups are drawn anew.
const draws = 40

// Options are those of Fit.
type Options struct {
	Version string       // of plimsoll, which the model keeps
	Seed    uint64       // of the bring-ups that are drawn anew
	Step    func(string) // is told what begins; nil for nobody
}

// Fit fits a model to runs. The same runs and seed give the same model, on however many
// processors. The error says why no class could be fitted.
func Fit(opt Options, runs ...*result.Run) (*Model, error) {
	m := &Model{Kind: kind, Schema: SchemaVersion, Version: opt.Version, Seed: opt.Seed}
	for _, r := range runs {
		m.Runs = append(m.Runs, Source{r.ID, r.Experiment.Name, r.Environment.CPUModel, r.Environment.Kernel})
	}
	observed, mixed, left := Observe(runs...)
	m.Left = left
	for _, o := range observed {
		points := Merged(o.Points)
		if len(points) < FewestPoints {
			m.Left = append(m.Left, fmt.Sprintf("%s was measured at %s, and a fit takes %d: other numbers of instances, or "+
				"other limits", o.Class.Workload, plural.Count(len(points), "point"), FewestPoints))
			continue
		}
		if opt.Step != nil {
			opt.Step("fitting " + o.Class.Workload)
		}
		f := Fitted{Class: o.Class, Points: points}
		var err error
		if f.Params, err = fit(points, nil); err != nil {
			m.Left = append(m.Left, o.Class.Workload+": "+err.Error())
			continue
		}
		f.Drawn = make([]Params, draws)
		parallel(draws, func(i int) {
			rng := rand.New(rand.NewPCG(opt.Seed, uint64(i)))
			f.Drawn[i], _ = fit(redrawn(points, rng), &f.Params) // of what could be fitted, with others of its numbers
		})
		f.check()
		m.Classes = append(m.Classes, f)
	}
	if len(m.Classes) == 0 {
		return nil, fmt.Errorf("nothing in these runs can be fitted: %s", plural.And(m.Left))
	}
	named(m.Classes)
	for _, t := range mixed {
		rows, why := m.beside(t)
		if why != "" {
			m.Left = append(m.Left, why)
			continue
		}
		b := Beside{Run: t.Run, Mix: t.Mix}
		for _, r := range rows {
			b.Tenants = append(b.Tenants, BesideTenant{r.Class, r.Instances, r.Seen, r.Said.Rate.Value})
		}
		m.Beside = append(m.Beside, b)
	}
	return m, nil
}

// parallel calls do with 0 to n-1, on all processors.
func parallel(n int, do func(i int)) {
	var group sync.WaitGroup
	next := make(chan int)
	for range runtime.GOMAXPROCS(0) {
		group.Go(func() {
			for i := range next {
				do(i)
			}
		})
	}
	for i := range n {
		next <- i
	}
	close(next)
	group.Wait()
}
