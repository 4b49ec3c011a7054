package model

import "math"

// Params are the fitted parameters of a class.
type Params struct {
	Reads      Miss   `json:"reads"`
	Inferred   bool   `json:"reads_inferred,omitempty"` // reads are the share of what memory saves: nobody counted them
	CPU        Line   `json:"cpu_seconds"`              // of instances
	HostCPU    Line   `json:"machine_seconds"`          // of the machine: with those who ask
	Writes     Writes `json:"writes"`
	ReadBytes  Number `json:"bytes_per_read"`
	WriteBytes Number `json:"bytes_per_write"`

	Locked *Locked `json:"locked,omitempty"` // what binds inside a server; nil where points do not ask for it

	Latency Line  `json:"latency_seconds"` // of an operation that waits for nobody, over its reads
	Late    Sharp `json:"sharpness"`
	Reach   Reach `json:"reach"`
	Tail    Tail  `json:"tail"`
}

// Locked is for how many seconds an operation keeps to itself what only one of a server can have at a time, such as a
// lock: with each client more, it is longer, so that throughput falls while no resource of the host is short.
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

// Tail is how many times the mean latency its 99th percentile was, over the mean: it grows
// as operations begin to wait, and falls again where all wait as long.
type Tail []Knot

// Knot is a measured point of a curve.
type Knot struct {
	Mean  Number `json:"mean"`  // s
	Times Number `json:"times"` // p99 / mean
}

// tailWidth is how far knots count, as a logarithm of the mean: with half as much weight at
// 1.6 times the mean.
const tailWidth = 0.4

// At returns p99 over the mean for a mean latency, in seconds: of the knots around it, the
// nearest counting most. NaN without any.
func (t Tail) At(mean float64) float64 { return t.without(-1, mean) }

// without is At without one of the knots.
func (t Tail) without(leave int, mean float64) float64 {
	nearest := math.Inf(1)
	for i, k := range t {
		if i != leave {
			nearest = min(nearest, math.Abs(math.Log(mean/float64(k.Mean))))
		}
	}
	sum, weights := 0.0, 0.0
	for i, k := range t {
		if i != leave {
			far := math.Abs(math.Log(mean/float64(k.Mean))) - nearest // so that the nearest always counts
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
		if d := math.Log(t.without(i, float64(k.Mean)) / float64(k.Times)); !math.IsNaN(d) {
			squares, n = squares+d*d, n+1
		}
	}
	if n == 0 {
		return math.Ln2
	}
	return math.Sqrt(squares / n)
}
