package model

import (
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/gonum/stat"

	"plimsoll/internal/result"
	"plimsoll/internal/result/imports/points"
	"plimsoll/internal/units"
	"plimsoll/internal/units/plural"
)

// Next is the run that would tell most about a question for its time.
type Next struct {
	Tenants []Tenant `json:"tenants"`
	Host    Host     `json:"host"`
	Seconds Number   `json:"seconds"` // that it takes, about
	Before  Number   `json:"before"`  // the interval's upper end over its lower one; null where it is not known
	After   Number   `json:"after"`   // about, once it is measured

	classes []*Fitted
}

// What a run of one point takes: so many setups, each with a ramp and a window, and a while for each instance.
const (
	nextBringUps     = 4
	nextRuntime      = 3.0 // s
	nextRamp         = 2.0
	secondsOfBringUp = 5.0
	secondsOfEach    = 1.0
)

// bringUpNoise is how far apart setups of one point are, as a logarithm.
const bringUpNoise = 0.05

// Next returns the run of those that could be made that shrinks the interval of a question most for its time:
// other numbers of instances, other sizes of memory, and what is asked itself. How much one would, fits to setups
// drawn anew tell: where they differ about both in the same way, measuring the one tells the other. A run that the
// question then lies within also takes away what extrapolation adds.
func (m *Model) Next(ask Ask) (best Next, err error) {
	answer, err := m.Predict(ask)
	if err != nil {
		return best, err
	}
	var classes []*Fitted
	ask.Tenants = slices.Clone(ask.Tenants)
	for i, t := range ask.Tenants {
		f, _ := m.Find(t.Class) // Predict found it
		ask.Tenants[i].ask(f)
		if f.Kind == "" || f.Kind == points.Kind || f.Line == "" {
			return best, fmt.Errorf("%s was imported, or measured by an older version: how to run it is not known", f.Name)
		}
		classes = append(classes, f)
	}
	q := m.newQuestion(ask, classes)
	asked := m.drawn(q, ask.Kind())
	before := width(answer.Rate)
	most := 0.0
	for _, c := range candidates(ask, classes) {
		at := Ask{Tenants: c.Tenants, Host: c.Host, Drives: ask.Drives}
		if _, err := m.Predict(at); err != nil && !c.same(ask) {
			continue // nobody knows whether it would run at all
		}
		cq := m.newQuestion(at, classes)
		measured := m.drawn(cq, at.Kind())
		variance, explained := spread(asked, measured)
		off, points := m.offWith(q, classes, cq, at)
		if c.same(ask) && c.Host == ask.Host {
			off = leastOff // it is measured, and no form is asked
		}
		left := around(1, math.Sqrt(variance*(1-explained)), off, points)
		if len(classes) == 1 {
			left = q.withLevel(at)
		}
		c.After = Number(width(left))
		c.Before = Number(before)
		gain := math.Log(before) - math.Log(float64(c.After))
		if math.IsNaN(before) { // nothing is known, and only the mix itself tells
			gain = -math.Log(float64(c.After)) + 100
			if !c.same(ask) {
				continue
			}
		}
		instances := 0
		for _, t := range c.Tenants {
			instances += t.Count
		}
		c.Seconds = Number(nextBringUps * (secondsOfBringUp + nextRamp + nextRuntime + secondsOfEach*float64(instances)))
		if worth := gain / float64(c.Seconds); worth > most {
			most, best = worth, c
			best.classes = classes
		}
	}
	if most == 0 {
		return best, errors.New("no run of one more point would make the interval narrower: repeat those that there are, " +
			"or ask about something else")
	}
	return best, nil
}

// withLevel returns what is asked of one class as it would be known once a point was a level, too.
func (q question) withLevel(at Ask) Estimate {
	f := *q.classes[0]
	t := at.Tenants[0]
	p := Point{Instances: t.Count, Clients: t.Clients, Think: t.Think, Host: at.Host, Own: t.Own}
	if on := f.Points[0].on; on != nil {
		p.on = &HostKind{at.Host, on.Drives}
	}
	p.Units = []Unit{{Rate: Number(f.Params.rate(&p))}}
	f.Points = append(slices.Clip(f.Points), p)
	o := q.outcome(func(f *Fitted) *Params { return &f.Params }, q.ask.Kind())
	r := f.reading(&f.Params, o.in[0].position(), math.Log(o.total()), f.measured(&f.Params),
		f.distance(&f.Params, o.in[0]), -1)
	return r.estimate()
}

// width is an interval's upper end over its lower one; NaN where it is not known.
func width(e Estimate) float64 { return float64(e.High / e.Low) }

// drawn are the logarithms of what fits to setups drawn anew say of a question.
func (m *Model) drawn(q question, kind HostKind) []float64 {
	all := make([]float64, draws)
	parallel(draws, func(d int) {
		all[d] = math.Log(q.outcome(func(f *Fitted) *Params { return f.draw(d) }, kind).total())
	})
	return all
}

// spread returns the variance of what is asked, and which share of it a measurement of the other would explain.
func spread(asked, measured []float64) (variance, explained float64) {
	variance = stat.Variance(asked, nil)
	of := stat.Variance(measured, nil)
	noise := bringUpNoise * bringUpNoise / nextBringUps
	if !(variance > 0) || !(of > 0) {
		return variance, 0
	}
	covariance := stat.Covariance(asked, measured, nil)
	return variance, min(1, covariance*covariance/(variance*(of+noise)))
}

// offWith is how far off a question would be once a point is measured, by the form alone, and how many points tell.
func (m *Model) offWith(q question, classes []*Fitted, with question, at Ask) (off float64, points int) {
	best := q.outcome(func(f *Fitted) *Params { return &f.Params }, q.ask.Kind())
	seen := with.outcome(func(f *Fitted) *Params { return &f.Params }, at.Kind())
	points = math.MaxInt
	for i, f := range classes {
		in := seen.in[i]
		p := Point{Instances: int(in.count), Clients: int(in.clients), Think: in.think, Host: at.Host, Own: in.own}
		if len(classes) > 1 {
			p.Had = in.memory
		}
		with := *f
		with.Points = append(slices.Clip(f.Points), p)
		far := with.distance(&f.Params, best.in[i])
		e := f.Check.Between
		if far > 0 {
			e = f.Check.Beyond
			e.Off *= Number(1 + far/math.Ln2)
		}
		off, points = max(off, float64(e.Off)), min(points, max(2, e.Points))
	}
	if len(classes) > 1 {
		together, n, _ := m.together(q.ask.Tenants)
		if n == 0 { // it would be known, and likely no more than what classes alone are off
			together = off
		}
		off, points = math.Hypot(off, together), min(points, max(2, n+len(classes)))
	}
	return off, points
}

// candidates are runs of one more point: what is asked, and other numbers and sizes of memory of the host that was
// measured and of the one that is asked about.
func candidates(ask Ask, classes []*Fitted) (all []Next) {
	add := func(tenants []Tenant, host Host) {
		for _, f := range classes {
			if len(classes) == 1 && slices.ContainsFunc(f.Points, func(p Point) bool {
				return p.Host == host && p.Instances == tenants[0].Count && p.Clients == tenants[0].Clients
			}) {
				return
			}
		}
		all = append(all, Next{Tenants: tenants, Host: host})
	}
	measured := classes[0].Measured()
	smaller := ask.Host
	smaller.CPUs = min(smaller.CPUs, max(measured.CPUs, measured.Machine))
	hosts := []Host{smaller, measured}
	for _, by := range []float64{0.5, 0.75, 1.5, 2} {
		h := measured
		h.MemoryBytes = int64(by * float64(h.MemoryBytes))
		hosts = append(hosts, h)
	}
	for _, h := range hosts {
		h.Speed, h.NIC = ask.Host.Speed, ask.Host.NIC
		if h.MemoryBytes > 0 && float64(h.MemoryBytes) > 4*float64(measured.MemoryBytes) {
			continue // no scaled-down host of the host at hand
		}
		add(ask.Tenants, h)
		for _, by := range []float64{0.5, 0.75, 1.25, 1.5} {
			other := slices.Clone(ask.Tenants)
			for i := range other {
				other[i].Count = max(1, int(math.Round(by*float64(other[i].Count))))
			}
			add(other, h)
		}
	}
	return all
}

// same reports whether a run has the instances that are asked about.
func (n Next) same(ask Ask) bool { return slices.Equal(n.Tenants, ask.Tenants) }

// WriteExperiment writes the run as an experiment file.
func (n Next) WriteExperiment(w io.Writer) error {
	var b strings.Builder
	var what []string
	for _, t := range n.Tenants {
		what = append(what, plural.Count(t.Count, "instance")+" of "+t.Class)
	}
	before := "not known before"
	if !math.IsNaN(float64(n.Before)) {
		before = fmt.Sprintf("%s times its lower end before", units.Digits(float64(n.Before)))
	}
	fmt.Fprintf(&b, "# The run that shows most about a question to a model for its time: %s.\n", plural.And(what))
	fmt.Fprintf(&b, "# The upper end of the interval is %s, and some %s times behind it.\n", before,
		units.Digits(float64(n.After)))
	fmt.Fprintf(&b, "# Fit the model anew then, to this run and to those that it was fitted to.\n#\n")
	fmt.Fprintf(&b, "#   sudo plimsoll run THIS-FILE --budget %ds\n", int(math.Ceil(float64(n.Seconds))))
	fmt.Fprintf(&b, "name: next\nquestion: What do %s do together here?\n", strings.Join(what, " and "))
	fmt.Fprintf(&b, "repeat: %d\ntrials: 1\nruntime: %gs\nramp: %gs\nstacks:\n", nextBringUps, nextRuntime, nextRamp)
	fmt.Fprintf(&b, "  %s: %s\nworkloads:\n", n.classes[0].Stack, n.classes[0].Line)
	for i, f := range n.classes {
		fmt.Fprintf(&b, "  %s:\n    %s:\n", f.Workload, f.Kind)
		if f.Levels {
			fmt.Fprintf(&b, "      threads: %d\n", n.Tenants[i].Clients)
		}
		for line := range strings.Lines(strings.TrimRight(f.Declared, "\n") + "\n") {
			b.WriteString("      " + line)
		}
	}
	b.WriteString("mixes:\n  next:\n")
	for i, t := range n.Tenants {
		fmt.Fprintf(&b, "    servers%d: {workload: %s, count: %d}\n", i+1, n.classes[i].Workload, t.Count)
	}
	if limits := n.limits(); limits != (result.Limits{}) {
		b.WriteString("host:\n")
		for _, l := range []struct {
			key string
			is  int64
		}{{"memory", limits.MemoryBytes}, {"read-iops", limits.Read.OperationsPerSecond},
			{"write-iops", limits.Write.OperationsPerSecond}, {"read-bandwidth", limits.Read.BytesPerSecond},
			{"write-bandwidth", limits.Write.BytesPerSecond}} {
			if l.is > 0 {
				fmt.Fprintf(&b, "  %s: %d\n", l.key, l.is)
			}
		}
		if limits.CPUs > 0 {
			fmt.Fprintf(&b, "  cpus: %g\n", math.Round(1000*limits.CPUs)/1000)
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// limits returns the limits of the scaled-down host of the run; none for a run of the whole host.
func (n Next) limits() result.Limits {
	l := n.Host.limits()
	measured := n.classes[0].Measured()
	if n.Host.CPUs >= n.Host.Machine {
		l.CPUs = 0
	}
	unlimited := l.CPUs == 0 && l.Read == (result.Rate{}) && l.Write == (result.Rate{}) && l.IO == (result.Rate{})
	if unlimited && n.Host.MemoryBytes == measured.MemoryBytes {
		l.MemoryBytes = 0
	}
	return l
}
