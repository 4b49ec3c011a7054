package model

import (
	"math"

	"plimsoll/internal/stats"
)

// reading is what levels say of a position, with what they know of it.
type reading struct {
	network   float64 // logarithm of what the network says
	more      float64 // and of by how much more or less levels say
	low, high float64 // of the interval, as logarithms beside the value
	law       Law     // that counts most
	axis      *axis   // its own
	side      side    // of its levels
	far       float64 // from the levels of a sweep
	aside     float64 // from the sweep that is nearest
	chosen    *Chosen // law; nil for the network
}

// estimate returns the rate with its interval.
func (r *reading) estimate() Estimate {
	value := r.network + r.more
	return Estimate{Number(math.Exp(value)), Number(math.Exp(value + r.low)), Number(math.Exp(value + r.high))}
}

// reading returns what levels say of a position: each sweep has a law, whose answer where the sweep is nearest goes on
// from there as the network does. said is the logarithm of the network's answer. Sweeps count by how near they are, so
// that a law and the network join without a step
// (Shepard, A two-dimensional interpolation function for irregularly-spaced data, 1968). network returns the logarithm
// of what the network says at a position of the measured host, and far is how far beyond all points that is asked. but
// is the point whose trials do not count; -1 for none.
func (f *Fitted) reading(p *Params, at position, said float64, network func(position) float64, far float64,
	but int) (r reading) {
	asked := f.asked(p)
	return asked.readingBy(network, at, said, far, but)
}

// readingBy returns a reading by another network than the one that is asked.
func (k *askedNetwork) readingBy(network func(position) float64, at position, said, far float64, but int) (r reading) {
	f := k.class
	r.network, r.law = said, NetworkLaw
	off := float64(f.Check.Between.Off)
	if far > 0 {
		off = float64(f.Check.Beyond.Off) * (1 + far/math.Ln2)
	}
	points := max(2, f.Check.Between.Points)
	const nearest = 1e-9
	weights, most := 0.0, 0.0
	for _, s := range k.allSweeps() {
		v := f.along(&s, at, network, but)
		if math.IsNaN(v.more) {
			continue
		}
		aside := apart(&at, &s.at, s.axis) + v.aside
		if s.axis != nil && !(s.axis.of(&at) > 0) {
			aside++
		}
		// What the network gets wrong on the way from the sweep.
		way := stats.StudentQuantile((1+confidence)/2, points) * off * min(1, aside/math.Ln2)
		if far > 0 && aside > 0 {
			way = max(way, stats.StudentQuantile((1+confidence)/2, points)*off*min(1, far/math.Ln2))
		}
		distance := aside*aside + v.far*v.far + nearest
		w := 1 / (distance * distance)
		weights += w
		// What levels say of one memory fades with the way to another, where other operations fit.
		fade := apartInMemory(&at, &s.at, s.axis) / math.Ln2
		r.more += w * v.more / (1 + fade*fade)
		r.low -= w * math.Hypot(v.low, way)
		r.high += w * math.Hypot(v.high, way)
		if w > most {
			most, r.law, r.axis, r.side, r.chosen, r.far, r.aside = w, v.law, v.axis, v.side, v.chosen, v.far, aside
		}
	}
	if weights > 0 {
		r.more, r.low, r.high = r.more/weights, r.low/weights, r.high/weights
	} else {
		half := stats.StudentQuantile((1+confidence)/2, points) * off
		r.more, r.low, r.high = 0, -half, half
	}
	return r
}

// askedNetwork is the network of a class with some parameters. It keeps its answers, for many questions about the same
// class. It is not safe for concurrent use.
type askedNetwork struct {
	class  *Fitted
	params *Params
	rates  map[position]float64 // logarithms, at positions on the host where the class stood
	sweeps []sweep              // nil until the first question
	used   map[Resource]float64 // the most at the points of the class; nil until the first question
}

// asked returns the network of a class with some parameters.
func (f *Fitted) asked(p *Params) *askedNetwork {
	return &askedNetwork{class: f, params: p, rates: map[position]float64{}}
}

// measured returns the logarithm of what the network says where the class stood, at any position.
func (k *askedNetwork) measured(at position) float64 {
	rate, known := k.rates[at]
	if !known {
		q := at.point(&k.class.Points[0])
		rate = math.Log(k.params.rate(&q))
		k.rates[at] = rate
	}
	return rate
}

// reading is Fitted.reading by this network.
func (k *askedNetwork) reading(at position, said, far float64) reading {
	return k.readingBy(k.measured, at, said, far, -1)
}

// allSweeps returns the sweeps of the class; none if levels do not correct its network.
func (k *askedNetwork) allSweeps() []sweep {
	if k.sweeps == nil && k.class.levelled() {
		k.sweeps = sweepsOf(k.class.Points, k.params.logRates(k.class.Points))
	}
	return k.sweeps
}

// mostUsed returns the most that the points of the class use of each kind of resource.
func (k *askedNetwork) mostUsed() map[Resource]float64 {
	if k.used == nil {
		k.used = map[Resource]float64{}
		points := k.class.all()
		for i := range points {
			for s, u := range k.params.at(&points[i]).usedAlone() {
				k.used[s] = max(k.used[s], u)
			}
		}
	}
	return k.used
}

// levelled reports whether what was measured corrects the network: points are of the host that is meant, and were left
// out in turn.
func (f *Fitted) levelled() bool { return f.Check.Noise > 0 && !f.calibrated }

// along returns what a sweep says of the position on it that is nearest to another.
func (f *Fitted) along(s *sweep, at position, network func(position) float64, but int) (v reading) {
	noise := f.unsure()
	half := stats.StudentQuantile((1+confidence)/2, 20) * noise
	if s.axis == nil {
		return reading{more: s.rates[0] - s.network[0], low: -half, high: half, law: NetworkLaw}
	}
	on := s.at
	value := s.axis.of(&at)
	if !(value > 0) { // no limit is as the most that there was
		value = math.Exp(s.x[len(s.x)-1])
	}
	x := math.Log(value)
	if s.side(x) != between && f.knowsLimit(s.axis) { // from the last level on, the network goes on
		end := min(max(x, s.x[0]), s.x[len(s.x)-1])
		v.aside, x, value = math.Abs(x-end), end, math.Exp(end)
	}
	s.axis.set(&on, value)
	v.axis, v.side, v.far = s.axis, s.side(x), s.distance(x)
	c := f.choose(s.axis, v.side, v.far, but)
	v.law = laws[c.law]
	said := network(on)
	value = v.law.says(s, x, said)
	if math.IsNaN(value) {
		value = PowerLaw.says(s, x, said)
	}
	v.more = value - said
	half = math.Hypot(half, stats.StudentQuantile((1+confidence)/2, c.degrees)*c.slope*v.far)
	v.low, v.high = -half, half
	if v.side != between { // no interval has what cannot be
		v.low = min(s.bounded(x, value-half)-value-noise, 0)
		v.high = max(s.bounded(x, value+half)-value+noise, 0)
	}
	if v.law != NetworkLaw {
		v.chosen = f.chosen(s.axis, v.side, c)
	}
	return v
}
