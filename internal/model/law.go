package model

import (
	"fmt"
	"math"

	"plimsoll/internal/units"
	"plimsoll/internal/units/plural"
)

// Law is what answers where points that were left out are nearer to it than to the network of queues. A law knows
// nothing of resources: it has an answer only on the host that its points are of.
type Law string

// The laws.
const (
	GuntherLaw Law = "Gunther's law"
	PowerLaw   Law = "a straight line through logarithms"
)

var laws = [...]Law{GuntherLaw, PowerLaw}

// says returns what points say of another by a law; NaN where it has no answer.
func (l Law) says(points []Point, at Point) float64 {
	if l == GuntherLaw {
		return Gunther(points, at)
	}
	return Power(points, at)
}

// held returns what the law said of a point that was left out.
func (l Law) held(h *Held) float64 {
	if l == GuntherLaw {
		return float64(h.Gunther)
	}
	return float64(h.Power)
}

// Chosen is a law that is nearer to points that were left out than the network, and how far off it was.
type Chosen struct {
	Law     Law    `json:"law"`
	Points  int    `json:"points"` // that it had an answer for
	MAPE    Number `json:"mape"`
	Network Number `json:"network"` // MAPE of the network at the same points
	Between Number `json:"between"` // standard deviation of the law's logarithm, where others lie around
	Beyond  Number `json:"beyond"`  // and where they do not
}

// What chooses a law: so many points that were left out, of which it is off by so much less than the network.
const (
	fewestHeld = 4
	muchNearer = 0.75
)

// choose returns the law that was nearest to points that were left out, where it was much nearer than the network; nil
// for the network.
func choose(held []Held, fewest int) (best *Chosen) {
	for _, law := range laws {
		c := Chosen{Law: law}
		var squares, counts [2]float64 // between others, and beyond them
		for i := range held {
			h := &held[i]
			says := law.held(h)
			if math.IsNaN(float64(h.Said.Value)) || math.IsNaN(says) {
				continue
			}
			kind := 0
			if h.Beyond {
				kind = 1
			}
			z := math.Log(says / float64(h.Seen))
			squares[kind], counts[kind] = squares[kind]+z*z, counts[kind]+1
			c.Points++
			c.MAPE += Number(math.Abs(says/float64(h.Seen) - 1))
			c.Network += Number(math.Abs(float64(h.Said.Value/h.Seen) - 1))
		}
		n := Number(c.Points)
		c.MAPE, c.Network = c.MAPE/n, c.Network/n
		near := c.MAPE < muchNearer*c.Network && c.Network-c.MAPE > leastOff
		if c.Points < fewest || !near || best != nil && c.MAPE >= best.MAPE {
			continue
		}
		off := math.Sqrt((squares[0] + squares[1]) / float64(n))
		c.Between, c.Beyond = Number(max(leastOff, off)), Number(max(leastOff, off))
		if counts[1] > 0 {
			c.Beyond = max(c.Beyond, Number(math.Sqrt(squares[1]/counts[1])))
		} else {
			c.Beyond *= 2 // nobody knows
		}
		best = &c
	}
	return best
}

// estimate returns what the law says with its interval: of a value so far beyond what was measured, as a logarithm.
func (c *Chosen) estimate(value, far float64) Estimate {
	off := float64(c.Between)
	if far > 0 {
		off = float64(c.Beyond) * (1 + far/math.Ln2)
	}
	return around(value, 0, off, c.Points)
}

// lawful returns what the chosen law says of instances of a class on a host, so far beyond what was measured. ok
// reports whether one was chosen that has an answer; why says why one that was chosen has none.
func (f *Fitted) lawful(in instances, host Host, far float64) (e Estimate, ok bool, why string) {
	c := f.Check.Chosen
	if c == nil {
		return e, false, ""
	}
	value := c.Law.says(f.Points, Point{Instances: int(in.count), Clients: int(in.clients), Think: in.think, Host: host,
		Own: in.own})
	if math.IsNaN(value) {
		return e, false, fmt.Sprintf("points of %s that were left out are nearer to %s (%s off) than to the network of "+
			"queues (%s off), and that has no answer here: too few points are of this host", f.Name, c.Law,
			units.Percent(float64(c.MAPE)), units.Percent(float64(c.Network)))
	}
	return c.estimate(value, far), true, ""
}

// Doubt says why plans, which always ask the network of queues, are not to be trusted with a class: a law does better.
// It is "" where none does.
func (f *Fitted) Doubt() string {
	c := f.Check.Chosen
	if c == nil {
		return ""
	}
	return fmt.Sprintf("plans ask the network of queues. Of %s of %s that were left out it is %s off on average, and %s "+
		"%s. Measure what is planned, or hold it against plimsoll predict", plural.Count(c.Points, "point"), f.Name,
		units.Percent(float64(c.Network)), c.Law, units.Percent(float64(c.MAPE)))
}

// By says which law answers, and why; "" for the network of queues.
func (a *Answer) By() string {
	c := a.Chosen
	if c == nil {
		return ""
	}
	return fmt.Sprintf("the rate is of %s: of %s that were left out it was %s off on average, and the network of "+
		"queues %s, which says %s operations a second here. What binds and what would help is of the network", c.Law,
		plural.Count(c.Points, "point"), units.Percent(float64(c.MAPE)), units.Percent(float64(c.Network)),
		units.Rate(float64(a.Network.Value)))
}

// farOff is the share from which on an error is not to be trusted.
const farOff = 0.1

// GoodFor says in a sentence what a class is good for, by points that were left out.
func (f *Fitted) GoodFor() string {
	fewest, most := math.MaxInt, 0
	least, largest := math.Inf(1), 0.0
	for i := range f.Points {
		p := &f.Points[i]
		fewest, most = min(fewest, p.Instances), max(most, p.Instances)
		if m := p.Memory(); m > 0 {
			least, largest = min(least, m), max(largest, m)
		}
	}
	worst, points := [2]float64{}, [2]int{} // between others, and beyond them
	for _, h := range f.Check.Held {
		if off := math.Abs(float64(h.Answer.Value/h.Seen) - 1); !math.IsNaN(off) {
			kind := 0
			if h.Beyond {
				kind = 1
			}
			worst[kind], points[kind] = max(worst[kind], off), points[kind]+1
		}
	}
	said := func(kind int) string {
		switch {
		case points[kind] == 0:
			return "nobody knows"
		case worst[kind] > farOff:
			return "do not trust, up to " + units.Percent(worst[kind]) + " off"
		}
		return "within " + units.Percent(worst[kind])
	}
	where := plural.Count(most, "instance")
	if fewest < most {
		where = fmt.Sprintf("%d to %s", fewest, where)
	}
	if largest > 0 {
		low, high := units.Bytes(uint64(least)), units.Bytes(uint64(largest))
		where += ", each with " + low
		if low != high {
			where += " to " + high
		}
		where += " of memory"
	}
	return fmt.Sprintf("%s: %s; beyond: %s.", where, said(0), said(1))
}

// Power predicts by a straight line through logarithms, of the rate over the number of instances on the same host, or
// over the memory that as many have on hosts that are else the same: between the nearest points; beyond them, by the
// line of the nearest two. It returns NaN without two.
func Power(points []Point, at Point) float64 {
	over := func(same func(Point) bool, of func(Point) float64) float64 {
		below, above := -1, -1 // the nearest
		var second [2]int      // and those behind them
		second[0], second[1] = -1, -1
		x := of(at)
		for i, p := range points {
			y := of(p)
			switch {
			case !same(p) || y == x || !(y > 0):
			case y < x && (below < 0 || y > of(points[below])):
				below, second[0] = i, below
			case y < x && y < of(points[below]) && (second[0] < 0 || y > of(points[second[0]])):
				second[0] = i
			case y > x && (above < 0 || y < of(points[above])):
				above, second[1] = i, above
			case y > x && y > of(points[above]) && (second[1] < 0 || y < of(points[second[1]])):
				second[1] = i
			}
		}
		switch {
		case below < 0:
			below = second[1]
		case above < 0:
			above = second[0]
		}
		if below < 0 || above < 0 {
			return math.NaN()
		}
		p, q := points[below], points[above]
		part := math.Log(x/of(p)) / math.Log(of(q)/of(p))
		return p.Rate() * math.Pow(q.Rate()/p.Rate(), part)
	}
	said := over(func(p Point) bool { return sameHost(p, at) }, func(p Point) float64 { return float64(p.Instances) })
	if !math.IsNaN(said) {
		return said
	}
	return over(func(p Point) bool {
		p.Host.MemoryBytes, p.Own.MemoryBytes = at.Host.MemoryBytes, at.Own.MemoryBytes
		return p.Instances == at.Instances && sameHost(p, at)
	}, Point.Memory)
}
