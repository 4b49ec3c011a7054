package model

import "math"

// Resource is what may bind instances.
type Resource string

// The resources. The first are stations, at which operations wait for each other.
const (
	Processors Resource = "processors"     // of the host or miniature
	OwnCPUs    Resource = "own cpus"       // the limit of each instance
	Machine    Resource = "all processors" // processors that instances share with those who ask them
	Reads      Resource = "reads"          // of devices a second
	Writings   Resource = "writes"         //
	ReadBytes  Resource = "read bytes"     // of devices a second
	WriteBytes Resource = "write bytes"    //

	Memory  Resource = "memory"  // what does not fit is read from the device again
	Clients Resource = "clients" // none of the above: more clients would do more
)

// stations are the resources at which operations wait, in the order of stationed.
var stations = [...]Resource{Processors, OwnCPUs, Machine, Reads, Writings, ReadBytes, WriteBytes}

type stationed [len(stations)]float64

// private are the stations that each class has for itself.
var private = stationed{1: 1}

// flow is the clients of some instances of one class, as the network sees them.
type flow struct {
	clients float64   // of all its instances
	base    float64   // seconds of a client's cycle in which it waits for nobody
	sharp   stationed // how late waiting begins: see wait

	// demand is the seconds that each station is busy with an operation, where all
	// instances do so many a second.
	demand func(rate float64) stationed
}

// wait is how many times as long as its own service an operation waits for others.
func wait(utilization, sharp float64) float64 {
	return math.Pow(utilization, sharp) / (1 - utilization)
}

// The bounds of iterations, beyond which nothing changes.
const (
	rounds  = 5000
	halved  = 100
	settled = 1e-9
)

// solve returns the rate of each flow, and what is used of each station as it sees it, 0
// to 1. Each flow in turn takes the rate at which its clients' cycles last as long as
// they wait, given the others' rates, until none changes.
func solve(flows []flow) (rates []float64, used []stationed) {
	rates, used = make([]float64, len(flows)), make([]stationed, len(flows))
	own := make([]stationed, len(flows)) // what each uses
	for range rounds {
		change := 0.0
		for i, f := range flows {
			var others stationed
			for j := range own {
				for s := range others {
					if j != i && private[s] == 0 {
						others[s] += own[j][s]
					}
				}
			}
			rate := f.rate(others)
			change = max(change, math.Abs(rate-rates[i])/max(rate, 1e-12))
			rates[i] = rate
			for s, d := range f.demand(rate) {
				own[i][s] = rate * d
				used[i][s] = others[s] + rate*d
			}
		}
		if len(flows) == 1 || change < settled*10 {
			break
		}
	}
	return rates, used
}

// rate returns the rate of a flow beside others, which use so much of each station.
func (f flow) rate(others stationed) float64 {
	if f.clients <= 0 {
		return 0
	}
	// What clients would do by such a cycle, less the rate that makes it so long, falls
	// with the rate, and is finite also beyond a bound: false position finds where it is 0.
	excess := func(rate float64) float64 { return f.clients/f.cycle(rate, others) - rate }
	low, high := 0.0, f.clients/f.base
	above, below := excess(low), excess(high)
	side := 0
	for range halved {
		if below >= 0 || high-low <= settled*high {
			break
		}
		x := (low*below - high*above) / (below - above)
		y := excess(x)
		if math.Abs(y) <= settled*x {
			return x
		}
		switch {
		case y > 0:
			low, above = x, y
			if side == 1 {
				below /= 2 // Illinois: neither end stays for ever
			}
			side = 1
		default:
			high, below = x, y
			if side == -1 {
				above /= 2
			}
			side = -1
		}
	}
	return high
}

// cycle is how long a client's cycle lasts at a rate; infinite beyond a bound.
func (f flow) cycle(rate float64, others stationed) float64 {
	seconds := f.base
	for s, d := range f.demand(rate) {
		if d == 0 {
			continue
		}
		utilization := others[s] + rate*d
		if utilization >= 1 {
			return math.Inf(1)
		}
		seconds += d * wait(utilization, f.sharp[s])
	}
	return seconds
}
