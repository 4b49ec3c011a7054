package model

import (
	"math"
	"slices"
)

// Mixes teach: what classes did beside each other is fitted to as well, all of them in turn.

// Noise of a tenant's rate beside others, and of the reads of a mix, as a share.
const (
	mixNoise   = 0.04
	readsNoise = 0.1
)

// mixed is a mix that was measured, as parameters are held against it.
type mixed struct {
	host    []HostKind
	of      []int // class of each tenant
	in      []instances
	rates   []float64 // of each tenant, seen
	reads   float64   // of the devices, a second; NaN where nobody knows
	outcome outcome
}

// joint has the points that several classes are fitted to together.
type joint struct {
	params []Params // of each class
	alone  []seenPoints
	mixes  []mixed
}

// jointly returns parameters of classes that agree best with what each did alone and what they did together.
// Those of params are where the search begins. Each class in turn is fitted, with the others as they are then.
func jointly(classes []*Fitted, params []Params, points [][]Point, mixes []Together, sweeps, most int) []Params {
	j := joint{params: slices.Clone(params)}
	for _, p := range points {
		j.alone = append(j.alone, seenOf(p))
	}
	for _, t := range mixes {
		if m, ok := j.mix(classes, t); ok {
			j.mixes = append(j.mixes, m)
		}
	}
	if len(j.mixes) == 0 {
		return j.params
	}
	for range sweeps {
		for c := range classes {
			j.teach(c, classes[c], most)
		}
	}
	return j.params
}

// mix returns a mix as parameters are held against it; ok is false where a class of it is none of these.
func (j *joint) mix(classes []*Fitted, t Together) (m mixed, ok bool) {
	m = mixed{host: []HostKind{{Host: t.Tenants[0].Host}}, reads: float64(t.Reads)}
	if on := classes[0].Points[0].on; on != nil && !slices.ContainsFunc(classes, func(f *Fitted) bool {
		return f.Drive != classes[0].Drive
	}) {
		m.host[0].Drives = on.Drives
	}
	for _, p := range t.Tenants {
		c := slices.IndexFunc(classes, func(f *Fitted) bool { return f.Class == p.Class })
		if c < 0 {
			return m, false
		}
		in := j.params[c].at(&p.Point)
		in.host = &m.host[0]
		in.drive = min(0, len(in.host.Drives)-1)
		holds := classes[c].memory()
		in.fixed, in.held = holds.fixed, holds.most
		m.in, m.of, m.rates = append(m.in, in), append(m.of, c), append(m.rates, p.Rate())
	}
	return m, true
}

// off is how far a mix is from what was seen, as a sum of squares.
func (m *mixed) off(params []Params) (sum float64) {
	o := &m.outcome
	if o.in == nil {
		o.in = slices.Clone(m.in)
	}
	for i, c := range m.of {
		o.in[i].params = &params[c]
	}
	if o.settle(m.host); !o.solved {
		return math.Inf(1)
	}
	reads := 0.0
	for i := range o.in {
		z := math.Log(o.rates[i]/m.rates[i]) / mixNoise
		sum += z * z
		if !o.in[i].params.Inferred {
			reads += o.rates[i] * o.in[i].params.Reads.At(o.in[i].memory)
		}
	}
	if m.reads >= 0 {
		few := 0.01 * o.total()
		z := math.Log((reads+few)/(m.reads+few)) / readsNoise
		sum += z * z
	}
	return sum
}

// A curve of reads is believed of a class that never ran short of memory alone where it makes so much better what mixes
// say: Akaike's criterion for its two parameters.
const believed = 4

// teach fits one class to what it did alone and beside others.
func (j *joint) teach(c int, f *Fitted, most int) {
	var with []*mixed
	for i := range j.mixes {
		if slices.Contains(j.mixes[i].of, c) {
			with = append(with, &j.mixes[i])
		}
	}
	if len(with) == 0 {
		return
	}
	p := &j.params[c]
	off := func() (sum float64) {
		sum = j.alone[c].off(p)
		for _, m := range with {
			sum += m.off(j.params)
		}
		if math.IsNaN(sum) {
			return math.Inf(1)
		}
		return sum
	}
	before, least := *p, off()
	if found, sum := p.search(off, most); sum < least {
		before, least = found, sum
	}
	*p = before
	if held := f.memory().most; p.Reads.Fits == 0 && !p.Inferred && held > 0 && !math.IsInf(held, 1) {
		p.Reads.Fits, p.Reads.Scale, p.Reads.Shape = Number(held), 0.3, 1
		if found, sum := p.search(off, most); sum < least-believed {
			before = found
		}
	}
	*p = before
}

// search returns the parameters near p for which off, which sees p, is least, and what it is there.
func (p *Params) search(off func() float64, most int) (Params, float64) {
	if p.Locked != nil {
		own := *p.Locked // which no other shares
		p.Locked = &own
	}
	all := p.searched(float64(p.Latency.Base), math.Max(float64(p.Latency.More), 300e-6),
		p.Reads.Scale > 0 || p.Reads.Floor > 0)
	for i := range all {
		if now := float64(*all[i].of(p)); now > 0 {
			all[i].expect = now
		}
	}
	if p.Reads.Fits > 0 && len(p.Reads.Times) == 0 && !p.Inferred {
		all = append(all,
			parameter{func(p *Params) *Number { return &p.Reads.Fits }, float64(p.Reads.Fits), 0.15},
			parameter{func(p *Params) *Number { return &p.Reads.Scale }, float64(p.Reads.Scale), 1})
	}
	if p.Writes.At1 > 0 {
		all = append(all, parameter{func(p *Params) *Number { return &p.Writes.At1 }, float64(p.Writes.At1), 0.1})
	}
	x := make([]float64, len(all))
	for i, s := range all {
		x[i] = math.Log(s.expect)
	}
	of := func(x []float64) (sum float64) {
		for i, s := range all {
			z := (x[i] - math.Log(s.expect)) / s.spread
			sum += z * z
			if math.Abs(z) > farthestPrior {
				return math.Inf(1)
			}
			*s.of(p) = Number(math.Exp(x[i]))
		}
		if p.impossible() != "" {
			return math.Inf(1)
		}
		return sum + off()
	}
	found, err := minimize(of, x, most)
	if err != nil {
		return *p, math.Inf(1)
	}
	sum := of(found)
	return *p, sum
}
