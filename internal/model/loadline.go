package model

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/stat"
)

// LoadLine is how many instances of a class a host would carry: the most that together do
// as much as any number does, within 10%, and whose p99 is within the limit. For a class from
// a recording, it is the largest number at which each instance still does 90% of its recorded rate.
type LoadLine struct {
	Class     string `json:"class"`
	Instances int    `json:"instances"` // 0 where no number meets the limit
	Low       int    `json:"low"`       // interval of 90%
	High      int    `json:"high"`
	Peak      int    `json:"peak"` // instances that do most
	PeakLow   int    `json:"peak_low"`
	PeakHigh  int    `json:"peak_high"`
	Most      int    `json:"most"`          // instances up to which was looked
	Law       Law    `json:"law,omitempty"` // whose it is; "" for the network of queues

	Demand Number `json:"demand,omitempty"` // operations per second of an instance of a recorded class
}

// normalQuantile is how many standard deviations half of an interval is.
const normalQuantile = 1.645

// asMuch is the share of the most that is as much.
const asMuch = 0.9

// noLoadLine is the error of a load line that nobody knows.
type noLoadLine struct{ why string }

func (n *noLoadLine) Error() string { return n.why }

// LoadLine returns how many instances of the ask's only tenant its host would carry, of 1
// to most. limit is of p99, in seconds; 0 for none.
func (m *Model) LoadLine(ask Ask, most int, limit float64) (line LoadLine, err error) {
	ask.Tenants = slices.Clone(ask.Tenants)
	line = LoadLine{Class: ask.Tenants[0].Class, Most: most}
	f, err := m.Find(ask.Tenants[0].Class)
	if err != nil {
		return line, err
	}
	q := m.newQuestion(ask, []*Fitted{f})
	if limit > 0 && len(f.Params.Tail) == 0 {
		return line, fmt.Errorf("no p99 of %s was measured, so an objective of p99 cannot be applied", f.Name)
	}
	t := &ask.Tenants[0]
	t.ask(f)
	if f.Basis != nil {
		return m.recordedLine(q, line)
	}
	of := func(params func(*Fitted) *Params, off func(in instances) float64) (carried, peak int, ok bool) {
		rates, within := make([]float64, most), make([]bool, most)
		network := f.asked(params(f))
		for n := range most {
			t.Count = n + 1
			if q.overfull() != "" {
				break
			}
			o := q.outcome(params, ask.Kind())
			if !o.solved {
				return 0, 0, false
			}
			in := o.in[0]
			rates[n] = o.rates[0] * math.Exp(off(in))
			r := network.reading(in.position(), math.Log(o.rates[0]), 0)
			rates[n] *= math.Exp(r.more)
			if r.chosen != nil {
				line.Law = r.law
			}
			mean := max(0, in.clients*in.count/rates[n]-in.think)
			within[n] = !(limit > 0) || mean*params(f).Tail.At(mean, 0) <= limit
		}
		top := 0.0
		for n, r := range rates {
			if within[n] && r > top {
				top, peak = r, n+1
			}
		}
		for n, r := range rates {
			if within[n] && r >= asMuch*top {
				carried = n + 1
			}
		}
		return carried, peak, true
	}
	solved := false
	line.Instances, line.Peak, solved = of(func(f *Fitted) *Params { return &f.Params },
		func(instances) float64 { return 0 })
	var carried, peaks []float64
	network := f.asked(&f.Params)
	for d := range draws {
		// What the form itself gets wrong it gets wrong at each number anew.
		rng := rand.New(rand.NewPCG(m.Seed, uint64(d)))
		c, p, ok := of(func(f *Fitted) *Params { return f.draw(d) }, func(in instances) float64 {
			far := network.distance(in)
			off := float64(f.Check.Between.Off)
			if far > 0 {
				off = float64(f.Check.Beyond.Off)
			}
			if r := network.reading(in.position(), 0, far); r.chosen != nil {
				off = (r.high - r.low) / 2 / normalQuantile
			}
			return off * rng.NormFloat64()
		})
		solved = solved && ok
		carried, peaks = append(carried, float64(c)), append(peaks, float64(p))
	}
	if !solved {
		return line, &noLoadLine{errUnsolved.Error()}
	}
	line.Low, line.High = numbersBetween(carried, line.Instances)
	line.PeakLow, line.PeakHigh = numbersBetween(peaks, line.Peak)
	return line, nil
}

// numbersBetween returns the interval of numbers of instances, which holds the best. It sorts all.
func numbersBetween(all []float64, best int) (low, high int) {
	slices.Sort(all)
	tail := (1 - confidence) / 2
	low = int(stat.Quantile(tail, stat.Empirical, all, nil))
	high = int(stat.Quantile(1-tail, stat.Empirical, all, nil))
	return min(low, best), max(high, best)
}
