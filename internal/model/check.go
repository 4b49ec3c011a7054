package model

import (
	"cmp"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"

	"plimsoll/internal/stats"
)

// Check is how well a class predicts what it was not fitted to: each level in turn was
// left out, all points of as many instances and clients with as much memory.
type Check struct {
	Between Errors `json:"between"` // points that others lie around
	Beyond  Errors `json:"beyond"`  // those at an end: the most instances, the least memory, ...

	Chosen *Chosen `json:"chosen,omitempty"` // law that answers instead of the network

	Held []Held `json:"held"` // one for each point
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
	Said      Estimate `json:"said"`
	Beyond    bool     `json:"beyond,omitempty"`
	Linear    Number   `json:"linear"`  // what a straight line says; null where no two points are beside it
	Gunther   Number   `json:"gunther"` // what Gunther's law says; null where too few points are of its host
	Power     Number   `json:"power"`   // what a line through logarithms says; null where no two points have one

	// Answer is what the class would have said of it: Said, or what a law does that the other points chose.
	Answer Estimate `json:"answer"`
	Law    Law      `json:"law,omitempty"` // that
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

// check leaves each point out in turn.
func (f *Fitted) check() {
	held := make([]Held, len(f.Points))
	parallel(len(held), func(i int) {
		p := f.Points[i]
		others := slices.DeleteFunc(slices.Clone(f.Points), func(q Point) bool {
			return q.Instances == p.Instances && q.Memory() == p.Memory() && q.Clients == p.Clients && q.Think == p.Think
		})
		held[i] = Held{Instances: p.Instances, Memory: Number(p.Memory()), Seen: Number(p.Rate()),
			Said: Estimate{Number(math.NaN()), Number(math.NaN()), Number(math.NaN())}}
		held[i].Linear, held[i].Gunther = Number(Linear(others, p)), Number(Gunther(others, p))
		held[i].Power = Number(Power(others, p))
		if len(others) < FewestPoints-1 {
			return
		}
		if fitted, err := fit(others, &f.Params); err == nil {
			held[i].Said.Value = Number(fitted.rate(&p))
			held[i].Beyond = distance(others, &fitted, fitted.at(&p)) > 0
		}
	})
	f.Check = Check{Held: held}
	for _, beyond := range []bool{false, true} {
		e := &f.Check.Between
		if beyond {
			e = &f.Check.Beyond
		}
		*e = errorsOf(held, beyond)
	}
	// Where nothing lies beyond, nobody knows how far off that is: twice as much.
	b := &f.Check.Beyond
	b.Off = max(b.Off, f.Check.Between.Off)
	if b.Points == 0 {
		b.Off = 2 * f.Check.Between.Off
	}
	f.Check.Chosen = choose(held, fewestHeld)
	for i := range held {
		f.judge(i)
	}
	f.Check.Between.Inside, f.Check.Beyond.Inside = inside(held, false), inside(held, true)
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

// judge gives a point that was left out its interval: from how far off the other points
// of its kind were.
func (f *Fitted) judge(i int) {
	h := &f.Check.Held[i]
	others := slices.Concat(f.Check.Held[:i:i], f.Check.Held[i+1:])
	e := errorsOf(others, h.Beyond)
	if e.Points == 0 {
		e.Off = f.Check.Beyond.Off
	}
	h.Said = around(float64(h.Said.Value), f.drawn(f.Points[i]), float64(e.Off), e.Points)
	h.Answer = h.Said
	c := choose(others, fewestHeld-1)
	if c == nil || math.IsNaN(c.Law.held(h)) {
		return
	}
	far := 0.0
	if h.Beyond {
		far = 1e-9 // as errors of those beyond are
	}
	h.Law, h.Answer = c.Law, c.estimate(c.Law.held(h), far)
}

// drawn is how far apart, as a standard deviation of the logarithm, fits to setups
// drawn anew put a point.
func (f *Fitted) drawn(p Point) float64 {
	var logs []float64
	for i := range f.Drawn {
		logs = append(logs, math.Log(f.Drawn[i].rate(&p)))
	}
	return stat.StdDev(logs, nil)
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

// distance is how far instances lie outside of the points that a class was fitted to, as a
// logarithm: 0 for inside, ln 2 for twice as many instances or half as much memory.
func distance(points []Point, p *Params, in instances) (far float64) {
	outside := func(x float64, of func(Point) float64) {
		if x == 0 {
			return
		}
		low, high := math.Inf(1), 0.0
		for _, q := range points {
			v := of(q)
			low, high = min(low, v), max(high, v)
		}
		const alike = 0.02 // limits that are read back are not quite those that were asked for
		if d := max(math.Log(x/high), math.Log(low/x)); d > alike && !math.IsNaN(d) {
			far = max(far, d)
		}
	}
	outside(in.count, func(q Point) float64 { return float64(q.Instances) })
	outside(in.clients, func(q Point) float64 { return float64(q.Clients) })
	if in.memory < cmp.Or(float64(p.Reads.Fits), need(points), math.Inf(1)) {
		outside(in.memory, Point.Memory)
	}
	// A limit that binds is no other one for having been seen; one that was never near is.
	var seen map[Resource]float64
	for s, u := range in.usedAlone() {
		if u < near {
			continue
		}
		if seen == nil {
			seen = map[Resource]float64{}
			for i := range points {
				for s, u := range p.at(&points[i]).usedAlone() {
					seen[s] = max(seen[s], u)
				}
			}
		}
		switch {
		case seen[s] == 0:
			far = max(far, math.Ln2)
		case seen[s] < near:
			far = max(far, math.Log(near/seen[s]))
		}
	}
	return far
}

// near is the share of a station from which on it makes much of a difference.
const near = 0.7
