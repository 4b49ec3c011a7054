package model

import (
	"cmp"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"

	"plimsoll/internal/stats"
)

// Check is how well a class predicts what it was not fitted to: each point in turn was left out.
type Check struct {
	Between Errors `json:"between"` // of the network of queues, at points that others lie around
	Beyond  Errors `json:"beyond"`  // and at those at an end: the most instances, the least memory, ...

	Laws []Chosen `json:"laws,omitempty"` // of axes along which a law answers instead of the network

	Trials []Trial `json:"trials,omitempty"` // what each law missed of levels that were left out
	Held   []Held  `json:"held"`             // one for each point
	Noise  Number  `json:"noise"`            // of a rate that was measured again, as a logarithm
	Misfit Number  `json:"misfit"`           // of the network at the points that it was fitted to, as a logarithm
}

// Errors sum up how far predictions were off.
type Errors struct {
	Points int    `json:"points"`
	Off    Number `json:"off"`    // standard deviation of the logarithm
	MAPE   Number `json:"mape"`   // mean of the absolute error, as a share
	Worst  Number `json:"worst"`  // greatest of them
	Inside Number `json:"inside"` // share of points within their interval of 90%; null where none was left out

	Linear   Number `json:"linear"`   // MAPE of a straight line between the points beside it
	Gunther  Number `json:"gunther"`  // MAPE of Gunther's law, fitted to the others of the same host
	Compared int    `json:"compared"` // points that both had an answer for, over which Same is the model's own MAPE
	Same     Number `json:"same"`
}

// Held is a point that was left out, and what the others said of it.
type Held struct {
	Instances int      `json:"instances"`
	Memory    Number   `json:"memory_bytes"` // of each instance
	Seen      Number   `json:"seen"`         // operations per second
	Said      Estimate `json:"said"`         // by the network of queues
	Beyond    bool     `json:"beyond,omitempty"`
	Linear    Number   `json:"linear"`  // what a straight line says; null where no two points are beside it
	Gunther   Number   `json:"gunther"` // what Gunther's law says; null where too few points are of its host
	Power     Number   `json:"power"`   // what a line through logarithms says; null where no two points have one

	// Answer is what the class would have said of it, by the laws that the other points choose.
	Answer Estimate `json:"answer"`
	Law    Law      `json:"law,omitempty"` // of that; none for the network
}

// Trial is a level of a sweep that was left out, alone or with those next to it, and what each law missed of it.
type Trial struct {
	Axis     string   `json:"axis"`
	Side     side     `json:"side,omitempty"` // of the others
	Distance Number   `json:"distance"`       // from what was left
	Off      []Number `json:"off"`            // of each law, as a logarithm; null where it has no answer
	Points   []int    `json:"points"`         // that were left out
}

// Chosen is a law that is nearer to levels of an axis that were left out than the network.
type Chosen struct {
	Law     Law    `json:"law"`
	Axis    string `json:"axis"`
	Side    side   `json:"side,omitempty"` // of the levels; "" for between them
	Points  int    `json:"points"`         // that it had an answer for
	MAPE    Number `json:"mape"`
	Network Number `json:"network"` // MAPE of the network at the same points
}

// Estimate is a number with its interval of 90%.
type Estimate struct {
	Value Number `json:"value"`
	Low   Number `json:"low"`
	High  Number `json:"high"`
}

// leastOff is the least that a prediction is taken to be off.
const leastOff = 0.015

// confidence of intervals.
const confidence = 0.9

// What is known of a law before any level was left out: how far off it is for each e-fold of distance, as a standard
// deviation, and as if that had been seen of so many levels.
const (
	usualBetween, usualBeyond = 0.2, 0.5
	usualLevels               = 2
)

// check leaves points out: each in turn, and the ends of sweeps.
func (f *Fitted) check() {
	var sets [][]int
	for i := range f.Points {
		sets = append(sets, []int{i})
	}
	sets = append(sets, f.ends()...)
	rates := make([][]float64, len(sets))
	fits := make([]*Params, len(sets))
	parallel(len(sets), func(k int) {
		var others []Point
		for i := range f.Points {
			if !slices.Contains(sets[k], i) {
				others = append(others, f.Points[i])
			}
		}
		if len(others) < FewestPoints-1 {
			return
		}
		if fitted, err := fit(others, &f.Params); err == nil {
			fits[k], rates[k] = &fitted, fitted.logRates(f.Points)
		}
	})
	f.Check = Check{Noise: Number(f.noise()), Misfit: Number(f.misfit())}
	for k, set := range sets {
		f.Check.Trials = append(f.Check.Trials, f.trials(set, rates[k])...)
	}
	f.Check.Held = make([]Held, len(f.Points))
	for i := range f.Points {
		f.hold(i, fits[i])
	}
	held := f.Check.Held
	f.Check.Between, f.Check.Beyond = errorsOf(held, false), errorsOf(held, true)
	// Where nothing lies beyond, nobody knows how far off that is: twice as much.
	b := &f.Check.Beyond
	b.Off = max(b.Off, f.Check.Between.Off)
	if b.Points == 0 {
		b.Off = 2 * f.Check.Between.Off
	}
	f.Check.Laws = f.chosenLaws()
	for i := range held {
		f.judge(i, fits[i])
	}
	f.Check.Between.Inside, f.Check.Beyond.Inside = inside(held, false), inside(held, true)
}

// logRates returns the logarithm of what the network says of points.
func (p *Params) logRates(points []Point) []float64 {
	all := make([]float64, len(points))
	for i := range points {
		all[i] = math.Log(p.rate(&points[i]))
	}
	return all
}

// misfit is how far off the network is at the points that it was fitted to, as a standard deviation of the logarithm.
func (f *Fitted) misfit() float64 {
	squares := 0.0
	for i, said := range f.Params.logRates(f.Points) {
		off := said - math.Log(f.Points[i].Rate())
		squares += off * off / float64(len(f.Points))
	}
	return math.Sqrt(squares)
}

// noise is how far apart setups of one point are, as a standard deviation of the logarithm of their median.
func (f *Fitted) noise() float64 {
	squares, n := 0.0, 0.0
	for i := range f.Points {
		units := f.Points[i].Units
		if len(units) < 2 {
			continue
		}
		var logs []float64
		for _, u := range units {
			logs = append(logs, math.Log(float64(u.Rate)))
		}
		squares, n = squares+stat.Variance(logs, nil)/float64(len(logs)), n+1
	}
	if n == 0 {
		return leastOff
	}
	return max(leastOff, math.Sqrt(squares/n))
}

// usualNoise is how far apart setups of a point are where no point has two.
const usualNoise = 0.05

// unsure is how far apart setups of one point may be: where no point has two, as far as the network, which does not go
// through the points, leaves room.
func (f *Fitted) unsure() float64 {
	noise := float64(f.Check.Noise)
	if slices.ContainsFunc(f.Points, func(p Point) bool { return len(p.Units) > 1 }) {
		return noise
	}
	return max(noise, min(float64(f.Check.Misfit), usualNoise))
}

// What is left out of the ends of a sweep: two or three levels, of a few sweeps that are long enough.
const (
	mostEnds   = 3
	leftAtEnds = 2 // levels that stay at least
	mostSwept  = 6
)

// ends returns the points of the first and the last levels of sweeps, two or three of them at a time: how far off laws
// are at twice the distance, no single point shows.
func (f *Fitted) ends() (sets [][]int) {
	sweeps := sweepsOf(f.Points, f.Params.logRates(f.Points))
	if len(sweeps) > mostSwept {
		return nil
	}
	for _, s := range sweeps {
		for k := 2; k <= mostEnds && len(s.x)-k >= leftAtEnds; k++ {
			n := len(s.x)
			sets = append(sets, f.pointsOf(&s, 0, k), f.pointsOf(&s, n-k, n))
		}
	}
	return sets
}

// pointsOf returns the points of levels of a sweep.
func (f *Fitted) pointsOf(s *sweep, from, to int) (all []int) {
	for i := range f.Points {
		at := f.Points[i].position()
		if apart(&at, &s.at, s.axis) > 0 {
			continue
		}
		x := math.Log(s.axis.of(&at))
		if x >= s.x[from] && x <= s.x[to-1] {
			all = append(all, i)
		}
	}
	return all
}

// trials returns what each law misses of points that were left out, of the sweeps that they were in. network is what
// a fit to the others says of all points; nil for no fit.
func (f *Fitted) trials(left []int, network []float64) (all []Trial) {
	if network == nil {
		network = make([]float64, len(f.Points))
		for i := range network {
			network[i] = math.NaN()
		}
	}
	for _, s := range sweepsOf(f.Points, network) {
		if s.axis == nil {
			continue
		}
		var gone []int
		for _, i := range left {
			at := f.Points[i].position()
			if x := s.axis.of(&at); x > 0 && apart(&at, &s.at, s.axis) == 0 {
				gone = append(gone, slices.Index(s.x, math.Log(x)))
			}
		}
		others := s.without(func(i int) bool { return slices.Contains(gone, i) })
		if len(gone) < len(left) || len(others.x) < fewestSwept {
			continue
		}
		for _, i := range gone {
			t := Trial{Axis: s.axis.key, Side: others.side(s.x[i]), Distance: Number(others.distance(s.x[i])),
				Points: left}
			for _, law := range laws {
				t.Off = append(t.Off, Number(law.says(&others, s.x[i], s.network[i])-s.rates[i]))
			}
			all = append(all, t)
		}
	}
	return all
}

// choice is the law of an axis, between levels or beyond them, and how far off it is.
type choice struct {
	law     int     // of laws
	slope   float64 // standard deviation of the logarithm for each e-fold of distance
	degrees int
	off     [len(laws)]float64 // mean of what each missed
	tried   [len(laws)]int
}

// What makes a law the choice: so many trials, and missing so much less than the network; half as much where the
// network agrees with all points as far as they are known, so that what is left out is what it lacks.
const (
	fewestTrials = 3
	muchNearer   = 0.9
	agreeing     = 2 // times the noise
	evenNearer   = 0.5
	asFar        = 2 // trials beyond levels are at least so near to the distance that is asked about, as a factor
)

// choose returns the law of a side of an axis by the trials there, but for those that left out a point. Beyond the
// levels, only trials that were about as far from what was left choose it.
func (f *Fitted) choose(a *axis, at side, far float64, but int) (c choice) {
	on := func(at side, far float64) (some []Trial) {
		for _, t := range f.Check.Trials {
			if t.Axis == a.key && t.Side == at && float64(t.Distance) >= far && !slices.Contains(t.Points, but) {
				some = append(some, t)
			}
		}
		return some
	}
	some := on(at, 0)
	by := some
	if at != between {
		by = on(at, far/asFar)
		switch few := len(by) < fewestTrials; {
		case few && f.counts(a):
			by = nil
		case few:
			by = on(between, 0)
		}
	}
	c.law = f.usualLaw(a)
	reference := slices.Index(laws[:], PowerLaw) // which always has an answer
	ratio := func(law int) float64 {
		own, same := 0.0, 0.0
		for _, t := range by {
			if off := math.Abs(float64(t.Off[law])); !math.IsNaN(off) {
				c.off[law] += off
				c.tried[law]++
				own, same = own+off+leastOff/3, same+math.Abs(float64(t.Off[reference]))+leastOff/3
			}
		}
		c.off[law] /= float64(c.tried[law])
		if c.tried[law] == 0 {
			return math.Inf(1)
		}
		return own / same
	}
	var ratios [len(laws)]float64
	for law := range laws {
		ratios[law] = ratio(law)
	}
	if !f.counts(a) {
		ratios[slices.Index(laws[:], NetworkLaw)] = math.Inf(1)
	}
	much := muchNearer
	if f.Check.Misfit < agreeing*f.Check.Noise {
		much = evenNearer
	}
	usual := ratios[c.law]
	for law := range laws {
		if ratios[law] < min(much*usual, ratios[c.law]) {
			c.law = law
		}
	}
	before := usualBetween
	if at != between {
		before = usualBeyond
	}
	squares, n := usualLevels*before*before, usualLevels
	for _, t := range some {
		if off := float64(t.Off[c.law]); !math.IsNaN(off) {
			const nearest = 0.05
			far := max(float64(t.Distance), nearest)
			squares, n = squares+off*off/(far*far), n+1
		}
	}
	c.slope, c.degrees = math.Sqrt(squares/float64(n)), n
	return c
}

// usualLaw is the law of an axis where trials do not say which is nearer.
func (f *Fitted) usualLaw(a *axis) int {
	if f.counts(a) {
		return slices.Index(laws[:], NetworkLaw)
	}
	return slices.Index(laws[:], PowerLaw)
}

// counts reports whether points say what an operation takes of an axis, so that the network knows it.
func (f *Fitted) counts(a *axis) bool {
	switch a.demands {
	case "":
		return true
	case IOs:
		return f.Counts(Reads) || f.Counts(Writings)
	case IOBytes:
		return f.Counts(ReadBytes) || f.Counts(WriteBytes)
	}
	return f.Counts(a.demands)
}

// knowsLimit reports whether an axis is a limit of which points say what an operation takes: what is beyond its levels
// is the network's to say.
func (f *Fitted) knowsLimit(a *axis) bool {
	if a.key == "memory" || a.key == "own-memory" {
		return f.Counts(Reads)
	}
	return a.limit && f.counts(a)
}

// chosenLaws returns the laws that answer in place of the network, axis by axis.
func (f *Fitted) chosenLaws() (all []Chosen) {
	for i := range axes {
		if !slices.ContainsFunc(f.Check.Trials, func(t Trial) bool { return t.Axis == axes[i].key }) {
			continue
		}
		for _, at := range []side{between, beneath, above} {
			c := f.choose(&axes[i], at, 0, -1)
			if laws[c.law] != NetworkLaw {
				all = append(all, *f.chosen(&axes[i], at, c))
			}
		}
	}
	return all
}

// chosen returns the law of a choice, and how far off it was next to the network, where that knows the axis.
func (f *Fitted) chosen(a *axis, at side, c choice) *Chosen {
	network := math.NaN()
	if f.counts(a) {
		network = math.Expm1(c.off[0])
	}
	return &Chosen{laws[c.law], a.key, at, c.tried[c.law], Number(math.Expm1(c.off[c.law])), Number(network)}
}

// hold notes what others say of a point that is left out, but for the answer.
func (f *Fitted) hold(i int, fitted *Params) {
	p := f.Points[i]
	others := slices.Delete(slices.Clone(f.Points), i, i+1)
	none := Number(math.NaN())
	h := &f.Check.Held[i]
	*h = Held{Instances: p.Instances, Memory: Number(p.Memory()), Seen: Number(p.Rate()), Said: Estimate{none, none, none},
		Answer: Estimate{none, none, none}, Linear: Number(Linear(others, p)), Gunther: Number(Gunther(others, p)),
		Power: Number(Power(others, p))}
	if fitted == nil {
		return
	}
	h.Said.Value = Number(fitted.rate(&p))
	at := p.position()
	h.Beyond = f.without(i).distance(fitted, fitted.at(&p)) > 0 || f.without(i).outsideAxes(&at) != nil
}

// without returns the class without a point.
func (f *Fitted) without(i int) *Fitted {
	g := *f
	g.Points = slices.Delete(slices.Clone(f.Points), i, i+1)
	g.Mixed = nil
	return &g
}

// errorsOf sums up the points that were left out.
func errorsOf(held []Held, beyond bool) (e Errors) {
	var off, absolute, line, law, same []float64
	share := func(said, seen Number) float64 { return math.Abs(float64(said/seen) - 1) }
	for _, h := range held {
		if h.Beyond != beyond || math.IsNaN(float64(h.Said.Value)) {
			continue
		}
		off = append(off, math.Log(float64(h.Said.Value/h.Seen)))
		absolute = append(absolute, share(h.Said.Value, h.Seen))
		if !math.IsNaN(float64(h.Linear)) && !math.IsNaN(float64(h.Gunther)) {
			line, law = append(line, share(h.Linear, h.Seen)), append(law, share(h.Gunther, h.Seen))
			same = append(same, share(h.Said.Value, h.Seen))
		}
	}
	e = Errors{Points: len(off), Off: leastOff, Compared: len(same), Inside: Number(math.NaN()), MAPE: Number(math.NaN()),
		Worst: Number(math.NaN()), Linear: Number(math.NaN()), Gunther: Number(math.NaN()), Same: Number(math.NaN())}
	if len(off) == 0 {
		return e
	}
	squares := 0.0
	for _, o := range off {
		squares += o * o / float64(len(off))
	}
	e.Off = Number(max(leastOff, math.Sqrt(squares)))
	e.MAPE, e.Worst = Number(stat.Mean(absolute, nil)), Number(slices.Max(absolute))
	if len(same) > 0 {
		e.Linear, e.Gunther = Number(stat.Mean(line, nil)), Number(stat.Mean(law, nil))
		e.Same = Number(stat.Mean(same, nil))
	}
	return e
}

// judge notes the answer to a point that was left out: by the laws and errors of trials that have the point.
func (f *Fitted) judge(i int, fitted *Params) {
	h := &f.Check.Held[i]
	if fitted == nil {
		return
	}
	p := &f.Points[i]
	off := float64(f.Check.Between.Off)
	if h.Beyond {
		off = float64(f.Check.Beyond.Off)
	}
	h.Said = around(float64(h.Said.Value), 0, off, max(2, f.Check.Between.Points))
	at := p.position()
	far := 0.0
	if h.Beyond {
		far = f.without(i).distance(fitted, fitted.at(p))
	}
	network := f.measured(fitted)
	r := f.without(i).reading(fitted, at, network(at), network, far, i)
	h.Answer = r.estimate()
	if r.law != NetworkLaw {
		h.Law = r.law
	}
}

// around returns an estimate with its interval: of a value of which parameters are known
// so far, and which the form gets wrong by so much, as so many points tell.
func around(value, drawn, off float64, points int) Estimate {
	width := stats.StudentQuantile((1+confidence)/2, max(2, points)) * math.Hypot(drawn, off)
	return Estimate{Number(value), Number(value * math.Exp(-width)), Number(value * math.Exp(width))}
}

func inside(held []Held, beyond bool) Number {
	n, all := 0.0, 0.0
	for _, h := range held {
		if h.Beyond == beyond && !math.IsNaN(float64(h.Said.Value)) {
			all++
			if h.Seen >= h.Answer.Low && h.Seen <= h.Answer.High {
				n++
			}
		}
	}
	return Number(n / all)
}

// distance is how far instances lie outside of the points that a class was fitted to, as the network knows them, as a
// logarithm: 0 for inside, ln 2 for twice as many instances or half as much memory.
func (f *Fitted) distance(p *Params, in instances) (far float64) {
	asked := f.asked(p)
	return asked.distance(in)
}

// distance is Fitted.distance by this network.
func (k *askedNetwork) distance(in instances) (far float64) {
	points, p := k.class.all(), k.params
	outside := func(x float64, of func(Point) float64) {
		if x == 0 {
			return
		}
		low, high := math.Inf(1), 0.0
		for _, q := range points {
			v := of(q)
			low, high = min(low, v), max(high, v)
		}
		if d := max(math.Log(x/high), math.Log(low/x)); d > alikeLimit && !math.IsNaN(d) {
			far = max(far, d)
		}
	}
	outside(in.count, func(q Point) float64 { return float64(q.Instances) })
	outside(in.clients, func(q Point) float64 { return float64(q.Clients) })
	if in.memory < cmp.Or(float64(p.Reads.Fits), need(points), math.Inf(1)) {
		outside(in.memory, Point.Memory)
	}
	// A limit that binds is no other one for having been seen; one that was never near is.
	for s, u := range in.usedAlone() {
		if u < near {
			continue
		}
		seen := k.mostUsed()
		switch {
		case seen[s] == 0:
			far = max(far, math.Ln2)
		case seen[s] < near:
			far = max(far, math.Log(near/seen[s]))
		}
	}
	return far
}

// alikeLimit is by how much limits that are read back may differ from those that were asked for, as a logarithm.
const alikeLimit = 0.02

// outsideAxes returns the axis along which a position lies outside of points that differ there, and which the network
// does not know the limit of; nil for none.
func (f *Fitted) outsideAxes(at *position) *axis {
	points := f.all()
	for i := range axes {
		if f.knowsLimit(&axes[i]) {
			continue
		}
		low, high := math.Inf(1), 0.0
		for j := range points {
			p := points[j].position()
			v := axes[i].of(&p)
			low, high = min(low, v), max(high, v)
		}
		x := axes[i].of(at)
		if low > 0 && high > low && x > 0 && max(math.Log(x/high), math.Log(low/x)) > alikeLimit {
			return &axes[i]
		}
	}
	return nil
}

// near is the share of a station from which on it makes much of a difference.
const near = 0.7
