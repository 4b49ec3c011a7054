package model

import (
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"sync"

	"plimsoll/internal/result"
	"plimsoll/internal/units/plural"
)

// draws is how many times setups are drawn anew.
const draws = 40

// Options are those of Fit.
type Options struct {
	Version string       // of plimsoll, which the model keeps
	Seed    uint64       // of the setups that are drawn anew
	Step    func(string) // is told what begins; nil for nobody

	Recordings []Recorded // of running hosts, fitted to as well
}

// Fit fits a model to runs. The same runs and seed give the same model, on however many
// processors. The error says why no class could be fitted.
func Fit(opt Options, runs ...*result.Run) (*Model, error) {
	m := &Model{Kind: kind, Schema: SchemaVersion, Version: opt.Version, Seed: opt.Seed}
	for _, r := range runs {
		m.Runs = append(m.Runs, Source{r.ID, r.Experiment.Name, r.Environment.CPUModel, r.Environment.Kernel})
	}
	for _, r := range opt.Recordings {
		h := r.Recording.Header.Host
		m.Runs = append(m.Runs, Source{ID: r.Name, Experiment: "recording of " + h.Name, Kernel: h.Kernel})
	}
	told := m.fitDrives(runs)
	observed, mixed, left := Observe(runs...)
	m.Left = append(m.Left, left...)
	recorded, bases, left := observeRecorded(opt.Recordings)
	observed, m.Left = append(observed, recorded...), append(m.Left, left...)
	m.bases = bases
	m, err := m.fit(opt, observed, mixed, told, func(o Observed) string {
		if b := bases[o.Class]; b != nil {
			return m.recordedDrive(b)
		}
		return m.driveBelow(runs, o)
	})
	if err == nil {
		m.declare(runs)
	}
	return m, err
}

// declare notes of each class what a run of it takes: its kind and the line of its stack.
func (m *Model) declare(runs []*result.Run) {
	for i := range m.Classes {
		f := &m.Classes[i]
		for _, r := range runs {
			if !strings.Contains(f.Points[0].Run, r.ID) {
				continue
			}
			for _, w := range r.Workloads {
				if w.Name == f.Workload && w.Declared == f.Declared || f.Levels && f.alike(w.Declared) {
					f.Kind = w.Kind
				}
			}
			for _, s := range r.Stacks {
				if s.Name == f.Stack {
					f.Line = s.Line
				}
			}
		}
	}
}

// FitPoints is Fit to points that were observed before.
func FitPoints(opt Options, observed []Observed, mixed []Together) (*Model, error) {
	m := &Model{Kind: kind, Schema: SchemaVersion, Version: opt.Version, Seed: opt.Seed}
	return m.fit(opt, observed, mixed, nil, func(Observed) string { return "" })
}

// fit fits the classes of a model to points. told are workloads that told of drives, and stood names the drive that
// a class stood on.
func (m *Model) fit(opt Options, observed []Observed, mixed []Together, told map[string]bool,
	stood func(Observed) string) (*Model, error) {
	for _, o := range observed {
		f := Fitted{Class: o.Class, Drive: stood(o), Points: Merged(o.Points), Mixed: besideOf(o.Class, mixed),
			Basis: m.bases[o.Class]}
		if len(f.Points)+len(f.Mixed) < FewestPoints {
			if !told[o.Class.Workload] {
				m.Left = append(m.Left, fmt.Sprintf("%s was measured at %s, and a fit takes %d: other numbers of instances, or "+
					"other limits", o.Class.Workload, plural.Count(len(f.Points), "point"), FewestPoints))
			}
			continue
		}
		if opt.Step != nil {
			opt.Step("fitting " + o.Class.Workload)
		}
		m.placePoints(&f)
		var err error
		if f.Params, err = fitForm(f.Points); err != nil {
			m.Left = append(m.Left, o.Class.Workload+": "+err.Error())
			continue
		}
		m.Classes = append(m.Classes, f)
	}
	if len(m.Classes) == 0 && len(m.Drives) > 0 {
		m.Left = append(m.Left, "drives alone do not show workloads: name a run of servers as well")
	}
	if len(m.Classes) == 0 {
		of := "runs"
		if len(opt.Recordings) > 0 {
			of = "runs and recordings"
		}
		return nil, fmt.Errorf("these %s cannot be fitted: %s", of, plural.And(m.Left))
	}
	named(m.Classes)
	m.learn(opt.Seed, mixed)
	return m, nil
}

// How far classes are fitted to what they did together: how often each in turn, and how many tries; of setups
// that are drawn anew, and of a mix that is left out, less far, as these begin near.
const (
	jointSweeps, jointTries = 2, 400
	drawnSweeps, drawnTries = 1, 120
)

// learn fits classes to their mixes as well, says how far each fit is known, and holds each mix against a fit to all
// others.
func (m *Model) learn(seed uint64, mixes []Together) {
	m.shareDrive()
	var classes []*Fitted
	var params []Params
	var points [][]Point
	for i := range m.Classes {
		f := &m.Classes[i]
		classes, params, points = append(classes, f), append(params, f.Params), append(points, f.Points)
	}
	teach := mixes[:0:0]
	for _, t := range mixes {
		known := func(p TenantPoint) bool {
			return slices.ContainsFunc(classes, func(f *Fitted) bool { return f.Class == p.Class })
		}
		if !slices.ContainsFunc(t.Tenants, func(p TenantPoint) bool { return !known(p) }) {
			teach = append(teach, t)
		}
	}
	joint := jointly(classes, params, points, teach, jointSweeps, jointTries)
	drawn := make([][]Params, draws)
	parallel(draws, func(i int) {
		rng := rand.New(rand.NewPCG(seed, uint64(i)))
		anew, of := make([][]Point, len(classes)), make([]Params, len(classes))
		for c, f := range classes {
			anew[c] = redrawn(f.Points, rng)
			of[c], _ = fit(anew[c], &f.Params) // of what could be fitted, with others of its numbers
			of[c].Reads = fittedReads(of[c].Reads, joint[c].Reads)
		}
		drawn[i] = jointly(classes, of, anew, redrawnMixes(teach, rng), drawnSweeps, drawnTries)
	})
	for c, f := range classes {
		f.Drawn = make([]Params, draws)
		for i := range drawn {
			f.Drawn[i] = drawn[i][c]
		}
		f.check()
	}
	said := make([][]Compared, len(mixes))
	whys := make([]string, len(mixes))
	parallel(len(mixes), func(i int) {
		others := slices.DeleteFunc(slices.Clone(teach), func(t Together) bool { return alikeMixes(t, mixes[i]) })
		without := &Model{Seed: m.Seed, Classes: slices.Clone(m.Classes)}
		for c, p := range jointly(classes, params, points, others, jointSweeps, jointTries) {
			without.Classes[c].Params, without.Classes[c].Drawn = p, nil
		}
		said[i], whys[i] = without.beside(mixes[i])
	})
	for c, f := range classes {
		f.Params = joint[c]
		f.Params.Tail = tailOf(f.all())
	}
	for i, t := range mixes {
		if whys[i] != "" {
			m.Left = append(m.Left, whys[i])
			continue
		}
		b := Beside{Run: t.Run, Mix: t.Mix, Used: map[Resource]Number{}}
		for _, u := range said[i][0].Said.Used {
			b.Used[u.Resource] = max(b.Used[u.Resource], u.Share)
		}
		for _, r := range said[i] {
			b.Tenants = append(b.Tenants, BesideTenant{r.Class, r.Instances, r.Seen, r.Said.Rate.Value})
		}
		m.Beside = append(m.Beside, b)
	}
	for _, f := range classes {
		f.judgeBeside(m.Beside)
	}
}

// judgeBeside takes how far a class is off from what was said of it in mixes, where no point of its own could be left
// out.
func (f *Fitted) judgeBeside(all []Beside) {
	if f.Check.Between.Points+f.Check.Beyond.Points > 0 {
		return
	}
	squares, n := 0.0, 0.0
	for _, b := range all {
		for _, t := range b.Tenants {
			if t.Class == f.Name {
				z := math.Log(float64(t.Said / t.Seen))
				squares, n = squares+z*z, n+1
			}
		}
	}
	if n > 0 {
		f.Check.Between.Off = Number(max(leastOff, math.Sqrt(squares/n)))
		f.Check.Beyond.Off = 2 * f.Check.Between.Off
	}
}

// fittedReads returns the reads of a class that ran short of memory beside others alone.
func fittedReads(alone, joint Miss) Miss {
	if alone.Fits == 0 && len(alone.Times) == 0 {
		joint.Floor = alone.Floor
		return joint
	}
	return alone
}

// alikeMixes reports whether two mixes have the same instances of the same classes.
func alikeMixes(a, b Together) bool {
	return len(a.Tenants) == len(b.Tenants) && !slices.ContainsFunc(a.Tenants, func(p TenantPoint) bool {
		return !slices.ContainsFunc(b.Tenants, func(q TenantPoint) bool {
			return p.Class == q.Class && p.Instances == q.Instances
		})
	})
}

// redrawnMixes returns mixes with setups drawn again.
func redrawnMixes(mixes []Together, rng *rand.Rand) []Together {
	out := slices.Clone(mixes)
	for i := range out {
		out[i].Tenants = slices.Clone(out[i].Tenants)
		for j := range out[i].Tenants {
			p := &out[i].Tenants[j]
			p.Point = redrawn([]Point{p.Point}, rng)[0]
		}
	}
	return out
}

// besideOf returns what a class did in mixes with others, with the memory that it held there.
func besideOf(c Class, mixes []Together) (all []Point) {
	for _, t := range mixes {
		clients := 0
		for _, p := range t.Tenants {
			clients += p.Instances * p.Clients
		}
		for _, p := range t.Tenants {
			if p.Class == c {
				p.Others = 1 - float64(p.Instances*p.Clients)/float64(clients)
				p.Had = max(0, p.median(func(u *Unit) *Number { return &u.Held })/float64(p.Instances))
				if math.IsNaN(p.Had) {
					p.Had = 0
				}
				all = append(all, p.Point)
			}
		}
	}
	return all
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

// placePoints tells the points of a class of the drive that it stood on, and looks up what they say of memory.
func (m *Model) placePoints(f *Fitted) {
	holds := f.memory()
	f.holds = &holds
	if d := m.stood(f); d != nil {
		standOn(f.Points, d)
		standOn(f.Mixed, d)
	}
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
