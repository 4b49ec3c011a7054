package model

import (
	"math"
	"slices"
	"strconv"

	"plimsoll/internal/result"
	"plimsoll/internal/stats"
	"plimsoll/internal/units"
)

// position is where a point lies among the levels of all axes.
type position struct {
	instances, clients float64
	think              float64
	host               Host
	own                result.Limits
}

func (p *Point) position() position {
	return position{float64(p.Instances), float64(p.Clients), p.Think, p.Host, p.Own}
}

func (in *instances) position() position {
	return position{in.count, in.clients, in.think, in.host.Host, in.own}
}

// point returns instances at a position, on the host of another point.
func (p position) point(of *Point) Point {
	q := Point{Instances: int(math.Round(p.instances)), Clients: int(math.Round(p.clients)), Think: p.think,
		Host: p.host, Own: p.own}
	if of.on != nil {
		q.on = &HostKind{p.host, of.on.Drives}
	}
	return q
}

// axis is a quantity that is a level of points: any law may be tried over it.
type axis struct {
	key     string
	noun    string                   // with its number: "8 CPUs"
	value   func(*position) *float64 // nil for a whole number
	whole   func(*position) *int64
	bytes   bool
	limit   bool     // more of it never makes less; 0 is no limit
	atMost  bool     // nor more than in proportion
	demands Resource // by whose counts the network knows the axis; "" for always
}

func (a *axis) of(p *position) float64 {
	if a.value != nil {
		return *a.value(p)
	}
	return float64(*a.whole(p))
}

func (a *axis) set(p *position, value float64) {
	if a.value != nil {
		*a.value(p) = value
		return
	}
	*a.whole(p) = int64(math.Round(value))
}

// text is a value of the axis, for people.
func (a *axis) text(value float64) string {
	if a.bytes {
		return units.Bytes(uint64(value))
	}
	if value == math.Trunc(value) && value < 10000 {
		return strconv.Itoa(int(value)) // 8 instances, not 8.00
	}
	return units.Digits(value)
}

var axes = []axis{
	{key: "instances", noun: "instances", atMost: true, value: func(p *position) *float64 { return &p.instances }},
	{key: "clients", noun: "clients of each", atMost: true, value: func(p *position) *float64 { return &p.clients }},
	{key: "memory", noun: "of memory", limit: true, bytes: true,
		whole: func(p *position) *int64 { return &p.host.MemoryBytes }},
	{key: "own-memory", noun: "of memory of its own", limit: true, bytes: true,
		whole: func(p *position) *int64 { return &p.own.MemoryBytes }},
	{key: "cpus", noun: "CPUs", limit: true, atMost: true, demands: Processors,
		value: func(p *position) *float64 { return &p.host.CPUs }},
	{key: "own-cpus", noun: "CPUs of its own", limit: true, atMost: true, demands: Processors,
		value: func(p *position) *float64 { return &p.own.CPUs }},
	{key: "iops", noun: "IOPS", limit: true, atMost: true, demands: IOs,
		whole: func(p *position) *int64 { return &p.host.IO.OperationsPerSecond }},
	{key: "read-iops", noun: "reads a second", limit: true, atMost: true, demands: Reads,
		whole: func(p *position) *int64 { return &p.host.Read.OperationsPerSecond }},
	{key: "write-iops", noun: "writes a second", limit: true, atMost: true, demands: Writings,
		whole: func(p *position) *int64 { return &p.host.Write.OperationsPerSecond }},
	{key: "bandwidth", noun: "a second, read and written", limit: true, atMost: true, bytes: true, demands: IOBytes,
		whole: func(p *position) *int64 { return &p.host.IO.BytesPerSecond }},
	{key: "read-bandwidth", noun: "a second, read", limit: true, atMost: true, bytes: true, demands: ReadBytes,
		whole: func(p *position) *int64 { return &p.host.Read.BytesPerSecond }},
	{key: "write-bandwidth", noun: "a second, written", limit: true, atMost: true, bytes: true, demands: WriteBytes,
		whole: func(p *position) *int64 { return &p.host.Write.BytesPerSecond }},
}

// apart returns how far two positions are apart along all axes but one, as a logarithm. A limit and none are a factor
// of e apart, and so are other ways to think.
func apart(p, q *position, but *axis) (far float64) {
	ratio := func(a, b float64) {
		switch {
		case a == b:
		case a <= 0 || b <= 0:
			far++
		default:
			far += math.Abs(math.Log(a / b))
		}
	}
	for i := range axes {
		if a := &axes[i]; a != but {
			ratio(a.of(p), a.of(q))
		}
	}
	const shortThink = 1e-4
	ratio(p.think+shortThink, q.think+shortThink)
	ratio(p.host.Machine, q.host.Machine)
	ratio(p.host.speed(), q.host.speed())
	ratio(p.host.NIC, q.host.NIC)
	return far
}

// apartInMemory is apart along memory alone.
func apartInMemory(p, q *position, but *axis) float64 {
	a, b := position{host: p.host, own: p.own}, position{host: p.host, own: p.own}
	b.host.MemoryBytes, b.own.MemoryBytes = q.host.MemoryBytes, q.own.MemoryBytes
	return apart(&a, &b, but)
}

// sweep is points that differ along one axis only, each as a logarithm.
type sweep struct {
	axis    *axis // nil for a single point
	at      position
	x       []float64
	rates   []float64 // seen
	network []float64 // what the network of queues says of them
	first   *Point
}

// fewestSwept is how many levels make a sweep.
const fewestSwept = 2

// sweepsOf returns the sweeps of points along each axis, and those points that are in none. network has the logarithm
// of what the network says of each.
func sweepsOf(points []Point, network []float64) (all []sweep) {
	swept := make([]bool, len(points))
	for a := range axes {
		groups := map[position][]int{}
		var keys []position
		for i := range points {
			at := points[i].position()
			if !(axes[a].of(&at) > 0) {
				continue
			}
			axes[a].set(&at, 0)
			if groups[at] == nil {
				keys = append(keys, at)
			}
			groups[at] = append(groups[at], i)
		}
		for _, at := range keys {
			if len(groups[at]) >= fewestSwept {
				for _, i := range groups[at] {
					swept[i] = true
				}
				all = append(all, sweepOf(&axes[a], groups[at], points, network))
			}
		}
	}
	for i := range points {
		if !swept[i] {
			all = append(all, sweepOf(nil, []int{i}, points, network))
		}
	}
	return all
}

func sweepOf(a *axis, some []int, points []Point, network []float64) sweep {
	s := sweep{axis: a, at: points[some[0]].position(), first: &points[some[0]]}
	level := func(i int) float64 {
		if a == nil {
			return 0
		}
		at := points[i].position()
		return math.Log(a.of(&at))
	}
	some = slices.Clone(some)
	slices.SortFunc(some, func(i, j int) int {
		if level(i) < level(j) {
			return -1
		}
		return 1
	})
	for _, i := range some {
		s.x = append(s.x, level(i))
		s.rates = append(s.rates, math.Log(points[i].Rate()))
		s.network = append(s.network, network[i])
	}
	if a != nil && a.limit { // less with more is chance
		s.rates = stats.Isotonic(s.rates, slices.Repeat([]float64{1}, len(s.rates)))
	}
	return s
}

// without returns the sweep without some of its levels.
func (s sweep) without(leave func(i int) bool) sweep {
	t := s
	t.x, t.rates, t.network = nil, nil, nil
	for i := range s.x {
		if !leave(i) {
			t.x, t.rates, t.network = append(t.x, s.x[i]), append(t.rates, s.rates[i]), append(t.network, s.network[i])
		}
	}
	return t
}

// around returns the levels that a law between or beyond levels rests on: those next to x, or the last two.
func (s *sweep) around(x float64) (i, j int) {
	last := len(s.x) - 1
	j, _ = slices.BinarySearch(s.x, x)
	j = min(max(j, 1), last)
	return j - 1, j
}

// side is where something lies beside levels.
type side string

const (
	between side = ""
	beneath side = "below"
	above   side = "above"
)

// side returns on which side of the levels x is.
func (s *sweep) side(x float64) side {
	const same = 1e-9
	switch {
	case x < s.x[0]-same:
		return beneath
	case x > s.x[len(s.x)-1]+same:
		return above
	}
	return between
}

// distance returns how far x is from the levels: beyond them, how far from the last one; between two, what a line
// between them knows least of, a quarter of their distance in the middle. Each is a logarithm.
func (s *sweep) distance(x float64) float64 {
	first, last := s.x[0], s.x[len(s.x)-1]
	switch {
	case x <= first:
		return first - x
	case x >= last:
		return x - last
	}
	i, j := s.around(x)
	return (x - s.x[i]) * (s.x[j] - x) / (s.x[j] - s.x[i])
}

// bounded returns the value beyond the levels as it can be: no less with more of a limit, and no more than in
// proportion.
func (s *sweep) bounded(x, value float64) float64 {
	last := len(s.x) - 1
	if s.axis == nil || s.side(x) == between {
		return value
	}
	end, far := 0, x-s.x[0]
	if far > 0 {
		end, far = last, x-s.x[last]
	}
	switch {
	case s.axis.limit && far > 0:
		value = max(value, s.rates[end])
	case s.axis.limit:
		value = min(value, s.rates[end])
	}
	switch {
	case s.axis.atMost && far > 0:
		value = min(value, s.rates[end]+far)
	case s.axis.atMost:
		value = max(value, s.rates[end]+far)
	}
	return value
}
