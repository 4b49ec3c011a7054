package model

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
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
	told := m.fitDrives(runs)
	observed, mixed, left := Observe(runs...)
	m.Left = append(m.Left, left...)
	for _, o := range observed {
		points := Merged(o.Points)
		if len(points) < FewestPoints && told[o.Class.Workload] {
			continue
		}
		if len(points) < FewestPoints {
			m.Left = append(m.Left, fmt.Sprintf("%s was measured at %s, and a fit takes %d: other numbers of instances, or "+
				"other limits", o.Class.Workload, plural.Count(len(points), "point"), FewestPoints))
			continue
		}
		if opt.Step != nil {
			opt.Step("fitting " + o.Class.Workload)
		}
		f := Fitted{Class: o.Class, Drive: m.driveBelow(runs, o), Points: points}
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

// fitDrives fits the drives that fio was run on, and returns the workloads that told of them.
func (m *Model) fitDrives(runs []*result.Run) (told map[string]bool) {
	told = map[string]bool{}
	for _, r := range runs {
		drives, by, left := drivesOf(r)
		m.Left = append(m.Left, left...)
		for w := range by {
			told[w] = true
		}
		for _, d := range drives {
			name := d.Name
			for n := 2; slices.ContainsFunc(m.Drives, func(o Drive) bool { return o.Name == d.Name }); n++ {
				d.Name = fmt.Sprintf("%s#%d", name, n)
			}
			m.Drives = append(m.Drives, d)
		}
	}
	return told
}

// driveBelow names the drive of the model that a class stood on: the one of that device of that host.
func (m *Model) driveBelow(runs []*result.Run, o Observed) string {
	for _, r := range runs {
		if !slices.ContainsFunc(o.Points, func(p Point) bool { return p.Run == r.ID }) {
			continue
		}
		for _, s := range r.Stacks {
			for _, d := range m.Drives {
				if s.Name == o.Class.Stack && d.On != "" && d.On == below(s) && d.Host == r.Environment.Hostname {
					return d.Name
				}
			}
		}
	}
	return ""
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
