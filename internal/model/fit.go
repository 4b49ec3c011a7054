package model

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/optimize"
	"gonum.org/v1/gonum/stat"

	"plimsoll/internal/units"
	"plimsoll/internal/units/plural"
)

// FewestPoints is how many points a class takes: three shapes, and something to hold
// them against.
const FewestPoints = 3

// Noise of a rate that no number of setups takes away, as a share: what the form
// itself gets wrong.
const formNoise = 0.02

// Noise of a mean latency: clients that think make much of little.
const meanNoise = 0.2

// parameter is one that is fitted by search, by its logarithm.
type parameter struct {
	of     func(*Params) *Number
	expect float64 // before anything is measured
	spread float64 // of the logarithm around that
}

// searched are the parameters that no measurement gives directly. What is expected of
// them holds them where points tell nothing.
// Of memory of which only throughput tells, more is what it adds to an operation at most.
func (p *Params) searched(calm, more float64, reads bool) []parameter {
	all := []parameter{
		{func(p *Params) *Number { return &p.Latency.Base }, calm, 1},
		{func(p *Params) *Number { return &p.Late.Processors }, 2, 1},
		{func(p *Params) *Number { return &p.Late.Device }, 6, 1},
		{func(p *Params) *Number { return &p.Reach.Machine }, 0.95, 0.1},
		{func(p *Params) *Number { return &p.Reach.Reads }, 1, 0.1},
		{func(p *Params) *Number { return &p.Reach.Writes }, 1, 0.1},
	}
	if reads {
		all = append(all, parameter{func(p *Params) *Number { return &p.Latency.More }, more, 1.5})
	}
	if p.Locked != nil {
		all = append(all,
			parameter{func(p *Params) *Number { return &p.Locked.Base }, calm / 10, 2},
			parameter{func(p *Params) *Number { return &p.Locked.More }, calm / 100, 2})
	}
	if p.Drive > 0 {
		all = append(all, parameter{func(p *Params) *Number { return &p.Drive }, float64(p.Drive), 1})
	}
	return all
}

// fit returns the parameters that agree best with points. start is where to search from, and has the form;
// nil for what is expected, where nothing binds inside a server.
func fit(points []Point, start *Params) (Params, error) {
	p := demands(points)
	more := 300e-6
	if p.Inferred {
		more = p.inferReads(points)
	}
	calm := math.Inf(1)
	reads := false
	for _, of := range points {
		if mean := of.latency(); mean > 0 && mean < calm {
			calm = mean
		}
		reads = reads || p.Reads.At(of.Memory()) > readsLeast
	}
	if math.IsInf(calm, 1) {
		return p, fmt.Errorf("%s that think %s after each operation cannot do as many as the points say: at most %s a second",
			plural.Count(points[0].Clients*points[0].Instances, "client"), units.Latency(points[0].Think*1e9),
			units.Rate(float64(points[0].Clients*points[0].Instances)/points[0].Think))
	}
	if start != nil && start.Locked != nil {
		p.Locked = &Locked{}
	}
	if start != nil && start.Drive > 0 {
		p.Drive = min(p.fullDrive(points), start.Drive)
	}
	all := p.searched(calm, more, reads)
	x := make([]float64, len(all))
	for i, s := range all {
		x[i] = math.Log(s.expect)
		if start != nil && *s.of(start) > 0 {
			x[i] = math.Log(float64(*s.of(start)))
		}
	}
	set := func(x []float64) {
		for i, s := range all {
			*s.of(&p) = Number(math.Exp(x[i]))
		}
	}
	seen := seenOf(points)
	off := func(x []float64) (sum float64) {
		for i, s := range all {
			z := (x[i] - math.Log(s.expect)) / s.spread
			sum += z * z
			if math.Abs(z) > farthestPrior {
				return math.Inf(1)
			}
		}
		set(x)
		return sum + seen.off(&p)
	}
	found, err := minimize(off, x, 3000)
	if err != nil {
		return p, fmt.Errorf("no parameters agree with the points: %w", err)
	}
	set(found)
	p.Tail = tailOf(points)
	return p, nil
}

// farthestPrior is how many spreads a parameter may be from what is expected of it.
const farthestPrior = 8

// minimize searches for the least of a function, from x. NaN is more than anything.
func minimize(of func([]float64) float64, x []float64, most int) ([]float64, error) {
	known := func(x []float64) float64 {
		if sum := of(x); !math.IsNaN(sum) {
			return sum
		}
		return math.Inf(1)
	}
	found, err := optimize.Minimize(optimize.Problem{Func: known}, x,
		&optimize.Settings{FuncEvaluations: most, Converger: &optimize.FunctionConverge{Absolute: 1e-4, Iterations: 60}},
		&optimize.NelderMead{SimplexSize: 0.3})
	if found == nil {
		return nil, err
	}
	return found.X, nil
}

// seenPoints are points with what of them is held against parameters, looked up once.
type seenPoints struct {
	points                []Point
	weights, rates, means []float64
}

func seenOf(points []Point) seenPoints {
	s := seenPoints{points: points}
	for _, of := range points {
		s.weights = append(s.weights, weightOf(of))
		s.rates = append(s.rates, of.Rate())
		s.means = append(s.means, of.median(func(u *Unit) *Number { return &u.Mean }))
	}
	return s
}

// off is how far parameters are from what was seen, as a sum of squares.
func (s *seenPoints) off(p *Params) (sum float64) {
	for i := range s.points {
		of := &s.points[i]
		rate := p.rate(of)
		z := math.Log(rate / s.rates[i])
		sum += s.weights[i] * z * z
		if s.means[i] > 0 {
			z = math.Log((float64(of.Clients*of.Instances)/rate - of.Think) / s.means[i])
			sum += z * z / (meanNoise * meanNoise)
		}
	}
	return sum
}

// weightOf is how much the rate of a point counts: one over the variance of its
// logarithm.
func weightOf(of Point) float64 {
	var logs []float64
	for _, u := range of.Units {
		logs = append(logs, math.Log(float64(u.Rate)))
	}
	variance := usualNoise * usualNoise // of one setup that nothing is held against
	if len(logs) > 1 {
		variance = stat.Variance(logs, nil)
	}
	return 1 / (formNoise*formNoise + variance/float64(len(logs)))
}

// demands fits what is measured directly.
func demands(points []Point) (p Params) {
	take := func(x func(Point) float64, y func(*Unit) *Number) (all []observation) {
		for _, of := range points {
			o := observation{x(of), of.median(y), math.Sqrt(float64(len(of.Units)))}
			if !math.IsNaN(o.y) && !math.IsNaN(o.x) {
				all = append(all, o)
			}
		}
		return all
	}
	counted := take(Point.Memory, func(u *Unit) *Number { return &u.Reads })
	p.Reads = fitMiss(counted).bent(counted)
	p.Inferred = len(counted) == 0
	reads := func(of Point) float64 { return p.Reads.At(of.Memory()) }
	p.CPU = fitLine(take(reads, func(u *Unit) *Number { return &u.CPU }))
	p.CPUTimes = loadsOf(points, func(of Point) float64 {
		return of.median(func(u *Unit) *Number { return &u.CPU }) / p.CPU.At(reads(of))
	})
	p.HostCPU = fitLine(take(reads, func(u *Unit) *Number { return &u.HostCPU }))
	each := func(of Point) float64 { return of.Rate() / float64(of.Instances) }
	p.Writes = fitWrites(take(each, func(u *Unit) *Number { return &u.Writes }))
	p.ReadBytes = bytesPer(points, func(u *Unit) (float64, float64) { return float64(u.ReadBytes), float64(u.Reads) })
	p.WriteBytes = bytesPer(points, func(u *Unit) (float64, float64) { return float64(u.WriteBytes), float64(u.Writes) })
	return p
}

// leastLoad is how much clients change what an operation takes, as a logarithm, where that is no chance.
const leastLoad = 0.1

// loadsOf returns how many times as much of something as on average points say for each number of clients; nothing
// where clients hardly change it.
func loadsOf(points []Point, times func(Point) float64) (all []Load) {
	logs := map[int][]float64{}
	for _, of := range points {
		if z := math.Log(times(of)); !math.IsNaN(z) && !math.IsInf(z, 0) {
			logs[of.Clients] = append(logs[of.Clients], z)
		}
	}
	least, most := math.Inf(1), math.Inf(-1)
	for _, clients := range slices.Sorted(maps.Keys(logs)) {
		mean := stat.Mean(logs[clients], nil)
		least, most = min(least, mean), max(most, mean)
		all = append(all, Load{Number(clients), Number(math.Exp(mean))})
	}
	if !(most-least > leastLoad) {
		return nil
	}
	return all
}

// inferReads fits what memory does to an operation where nobody counted reads, from how long clients
// were under way with one over the sizes of memory of the same instances. What it returns is how much
// longer an operation takes where there is no memory, in seconds; the reads are that as a share.
// Sizes that are too few tell nothing.
func (p *Params) inferReads(points []Point) (more float64) {
	p.Inferred = false
	const fewest = 3 // a level, an effect, and the size that ends it
	var most []observation
	for _, of := range points {
		var all []observation
		sizes := map[float64]bool{}
		for _, q := range points {
			alike, at := q.position(), of.position()
			alike.host.MemoryBytes, alike.own.MemoryBytes = at.host.MemoryBytes, at.own.MemoryBytes
			if alike == at && q.latency() > 0 && q.Memory() > 0 {
				sizes[q.Memory()] = true
				all = append(all, observation{q.Memory(), q.latency(), math.Sqrt(float64(len(q.Units)))})
			}
		}
		if len(sizes) >= fewest && len(all) > len(most) {
			most = all
		}
	}
	if len(most) == 0 {
		return math.NaN()
	}
	least := math.Inf(1)
	for _, o := range most {
		least = min(least, o.y)
	}
	for i := range most {
		most[i].y /= least
	}
	fitted := fitMiss(most)
	if fitted.Fits == 0 {
		return math.NaN()
	}
	p.Inferred = true
	if !fitted.agrees(most) {
		times := timesOf(most)
		p.Reads = Miss{Scale: 1, Fits: times[len(times)-1].Memory, Shape: 1, Times: times}
		return float64(times[0].Times-1) * least
	}
	p.Reads = Miss{Scale: 1, Fits: fitted.Fits, Shape: fitted.Shape}
	return float64(fitted.Scale) * least
}

// bytesPer is how many bytes a device's request has, all requests together.
func bytesPer(points []Point, of func(*Unit) (bytes, requests float64)) Number {
	var bytes, requests float64
	for _, p := range points {
		for i := range p.Units {
			b, r := of(&p.Units[i])
			if !math.IsNaN(b + r) {
				bytes, requests = bytes+b, requests+r
			}
		}
	}
	if requests == 0 {
		return 0
	}
	return Number(bytes / requests)
}

// tailOf are the knots of points.
func tailOf(points []Point) (t Tail) {
	for _, of := range points {
		mean := of.median(func(u *Unit) *Number { return &u.Mean })
		p99 := of.median(func(u *Unit) *Number { return &u.P99 })
		if mean > 0 && p99 > 0 {
			t = append(t, Knot{Number(mean), Number(p99 / mean), Number(of.Others)})
		}
	}
	return t
}

// redrawn returns points with setups drawn again.
func redrawn(points []Point, rng *rand.Rand) []Point {
	out := slices.Clone(points)
	for i := range out {
		units := make([]Unit, len(out[i].Units))
		for j := range units {
			units[j] = out[i].Units[rng.IntN(len(units))]
		}
		out[i].Units = units
	}
	return out
}
