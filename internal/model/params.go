package model

import (
	"math"
	"slices"
)

// Params are the fitted parameters of a class.
type Params struct {
	Reads      Miss   `json:"reads"`
	Inferred   bool   `json:"reads_inferred,omitempty"` // reads are the share of what memory saves: nobody counted them
	CPU        Line   `json:"cpu_seconds"`              // of instances
	CPUTimes   []Load `json:"cpu_times,omitempty"`      // where it changes with the clients of an instance
	HostCPU    Line   `json:"machine_seconds"`          // of the machine: with those who ask
	Writes     Writes `json:"writes"`
	ReadBytes  Number `json:"bytes_per_read"`
	WriteBytes Number `json:"bytes_per_write"`

	Locked *Locked `json:"locked,omitempty"` // what binds inside a server; nil where points do not ask for it

	// Drive is for how many seconds an I/O keeps the drive busy, as points say where neither the drive nor a limit on it
	// is known; 0 where they do not ask for it.
	Drive Number `json:"drive_seconds,omitempty"`

	Latency Line  `json:"latency_seconds"` // of an operation that waits for nobody, over its reads
	Late    Sharp `json:"sharpness"`
	Reach   Reach `json:"reach"`
	Tail    Tail  `json:"tail"`
}

// Load is how many times as much of something an operation takes where each instance has so many clients.
type Load struct {
	Clients Number `json:"clients"`
	Times   Number `json:"times"`
}

// loadAt returns the times of a number of clients: on straight lines through logarithms between those that were
// counted, and as the last beyond them.
func loadAt(all []Load, clients float64) float64 {
	if len(all) == 0 {
		return 1
	}
	last := len(all) - 1
	i := 0
	for i < last && clients >= float64(all[i].Clients) {
		i++
	}
	if i == 0 || clients >= float64(all[last].Clients) {
		return float64(all[i].Times)
	}
	a, b := all[i-1], all[i]
	part := math.Log(clients/float64(a.Clients)) / math.Log(float64(b.Clients/a.Clients))
	return float64(a.Times) * math.Pow(float64(b.Times/a.Times), part)
}

// Locked is for how many seconds an operation keeps to itself what only one of a server can have at a time, such as a
// lock. With each client more, it is longer, so that throughput falls while no resource of the host is short.
type Locked struct {
	Base Number `json:"base"` // with one client
	More Number `json:"more"` // and with each more
}

// With returns it where so many clients ask a server.
func (l *Locked) With(clients float64) float64 {
	return float64(l.Base) + float64(l.More)*max(0, clients-1)
}

// Sharp is how late operations begin to wait for each other as a station fills up: the
// exponent of wait.
type Sharp struct {
	Processors Number `json:"processors"`
	Device     Number `json:"device"`
}

// Reach is how much of a limit is had in fact, as a share: kernels let bursts through.
type Reach struct {
	Machine Number `json:"machine"`
	Reads   Number `json:"reads"`
	Writes  Number `json:"writes"`
}

// Tail is how many times the mean latency its 99th percentile was, over the mean and over the share of the host's
// clients that were of other classes: it grows as operations begin to wait, falls again where all wait as long, and
// neighbors whose operations are longer or shorter change it.
type Tail []Knot

// Knot is a measured point of a curve.
type Knot struct {
	Mean   Number `json:"mean"`  // s
	Times  Number `json:"times"` // p99 / mean
	Others Number `json:"others,omitempty"`
}

// How far knots count: half as much at 1.6 times the mean, as a logarithm, and with an eighth of the clients more that
// are others'.
const (
	tailWidth   = 0.4
	othersWidth = 0.1
)

// At returns p99 over the mean for a mean latency, in seconds, where a share of the clients on the host are of other
// classes: of the knots around it, the nearest counting most. NaN without any.
func (t Tail) At(mean, others float64) float64 { return t.without(-1, mean, others) }

// Least returns the least of At for a mean latency, whatever stands next to it.
func (t Tail) Least(mean float64) float64 {
	least := t.At(mean, 0)
	if !slices.ContainsFunc(t, func(k Knot) bool { return k.Others > 0 }) {
		return least
	}
	const steps = 20
	for i := range steps + 1 {
		least = min(least, t.At(mean, float64(i)/steps))
	}
	return least
}

// without is At without one of the knots.
func (t Tail) without(leave int, mean, others float64) float64 {
	distance := func(k Knot) float64 {
		return math.Hypot(math.Log(mean/float64(k.Mean)), tailWidth/othersWidth*(others-float64(k.Others)))
	}
	nearest := math.Inf(1)
	for i, k := range t {
		if i != leave {
			nearest = min(nearest, distance(k))
		}
	}
	sum, weights := 0.0, 0.0
	for i, k := range t {
		if i != leave {
			far := distance(k) - nearest // so that the nearest always counts
			far = math.Hypot(far, min(nearest, tailWidth))
			w := math.Exp(-far * far / (2 * tailWidth * tailWidth))
			sum, weights = sum+w*math.Log(float64(k.Times)), weights+w
		}
	}
	return math.Exp(sum / weights)
}

// off is how far knots are from what the others say, as a standard deviation of the
// logarithm.
func (t Tail) off() float64 {
	squares, n := 0.0, 0.0
	for i, k := range t {
		d := math.Log(t.without(i, float64(k.Mean), float64(k.Others)) / float64(k.Times))
		if !math.IsNaN(d) {
			squares, n = squares+d*d, n+1
		}
	}
	if n == 0 {
		return math.Ln2
	}
	return math.Sqrt(squares / n)
}
