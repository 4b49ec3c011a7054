package model

import (
	"math"
	"slices"

	"plimsoll/internal/stats"
)

// Resource is a resource that instances may use up.
type Resource string

// The resources. The first are stations, at which operations wait for each other.
const (
	Processors Resource = "processors"             // of the host or scaled-down host
	OwnCPUs    Resource = "own cpus"               // the limit of each instance
	Machine    Resource = "all processors"         // processors that instances share with those who ask them
	Reads      Resource = "reads"                  // of devices a second
	Writings   Resource = "writes"                 //
	ReadBytes  Resource = "read bytes"             // of devices a second
	WriteBytes Resource = "write bytes"            //
	IOs        Resource = "reads and writes"       // of devices a second, where one limit is on both
	IOBytes    Resource = "bytes read and written" //
	Network    Resource = "network"                // of the host, to remote drives
	TargetCPUs Resource = "target cpus"            // of what serves a remote drive
	TargetNet  Resource = "target network"         //

	Inside Resource = "something inside the server, not the host" // of each instance: a lock

	Drives  Resource = "drive"   // a drive as a whole, of which more is a faster one
	Memory  Resource = "memory"  // what does not fit is read from the device again
	Clients Resource = "clients" // none of the above: more clients would do more
)

// use is the load of an operation of a flow on a station: for how many seconds it keeps it busy, and for
// how many more with each write; and how late waiting begins there (see wait). So many others use the station
// alike: it is as busy as with all of them, and an operation waits for its own service only.
type use struct {
	station              int
	sharp, fixed, writes float64
	others               float64
}

// flow is the clients of some instances of one class, as the network sees them.
type flow struct {
	clients float64 // of all its instances
	count   float64 // instances
	base    float64 // seconds of a client's cycle in which it waits for nobody
	writes  Writes  // of an operation
	uses    []use
}

// wait is how many times as long as its own service an operation waits for others.
func wait(utilization, sharp float64) float64 {
	if utilization == 0 {
		return 0
	}
	return math.Exp(sharp*math.Log(utilization)) / (1 - utilization)
}

// The bounds of iterations, beyond which nothing changes.
const (
	rounds   = 100
	halved   = 60
	settled  = 1e-8 // the last step, as a share of a rate: what is left is its square
	residual = 1e-6 // of equations, as a share, that is none
	calmest  = 0.5  // utilization at which the search begins
	shortest = 0.05 // share of a rate that a step leaves at least
	part     = 0.55 // of what writes are found to be more, as a logarithm, that is believed at once
)

// search is a search for the rates of flows.
type search struct {
	flows     []flow
	queues    []queue
	numbers   []int // of each use: its queue
	heads     []int // of each station: its last queue, from 1; 0 for none
	now, next state
	writes    []float64 // of an operation of each flow
	held      bool      // the writes are those, and not what rates make of them
	load      []float64 // what one operation a second more adds to a station: by station, then by flow
	matrix    []float64
	memory    []float64 // of all of these
}

// queue is a station, and how late waiting begins there: the uses that have it wait the same number of times as long as
// their service.
type queue struct {
	station int
	sharp   float64
	before  int // another queue of the station, from 1; 0 for none
}

// state is the rates of flows, and what follows from them.
type state struct {
	rates, late []float64 // late is by how many seconds a client's cycle takes longer than its rate leaves it
	used        []float64 // of each station, 0 to 1
	each        []float64 // of each use: how long an operation keeps the station busy
	waits       []float64 // of each queue: how many times as long it waits
}

// solve finds the rate of each flow, and what is used of each station: at these rates the clients' cycles last as long
// as they wait. It begins at rates that are near; nil for none. It reports whether the rates are a solution.
func (s *search) solve(flows []flow, stations int, near []float64) (ok bool) {
	s.begin(flows, stations, near)
	if s.climb(); s.off() < residual {
		return true
	}
	// What operations write depends on their rates, and makes the climb a rough one: then they are found in turn.
	s.held = true
	for range rounds {
		s.climb()
		if s.rewrite() < settled {
			break
		}
	}
	s.held = false
	return s.follow(&s.now) < 1 && s.off() < residual
}

// off returns how far the cycles are off, as a share: the most of any flow.
func (s *search) off() (most float64) {
	for i := range s.flows {
		if s.now.rates[i] != 0 {
			most = max(most, math.Abs(s.now.late[i])*s.now.rates[i]/s.flows[i].clients)
		}
	}
	return most
}

// begin makes room for a search, and finds rates at which no station is full.
func (s *search) begin(flows []flow, stations int, near []float64) {
	n, uses := len(flows), s.queue(flows, stations)
	need := n + n*stations + n*(n+1) + 2*(2*n+stations+uses+len(s.queues))
	if len(s.memory) < need {
		s.memory = make([]float64, need)
	}
	memory := s.memory
	take := func(k int) (part []float64) {
		part, memory = memory[:k:k], memory[k:]
		return part
	}
	s.flows, s.writes, s.load, s.matrix = flows, take(n), take(n*stations), take(n*(n+1))
	for _, at := range []*state{&s.now, &s.next} {
		*at = state{rates: take(n), late: take(n), used: take(stations), each: take(uses),
			waits: take(len(s.queues))}
	}
	if near != nil {
		copy(s.now.rates, near)
	} else {
		for i := range flows {
			s.now.rates[i] = 0
			if flows[i].clients > 0 {
				s.now.rates[i] = flows[i].clients / flows[i].base
			}
		}
	}
	full := s.follow(&s.now)
	if near != nil && full < 1 {
		return
	}
	for ; full > calmest; full = s.follow(&s.now) {
		for i := range s.now.rates {
			s.now.rates[i] *= 0.999 * calmest / full
		}
	}
}

// queue notes the queue of each use, and returns how many uses there are.
func (s *search) queue(flows []flow, stations int) (uses int) {
	s.heads = slices.Grow(s.heads[:0], stations)[:stations]
	clear(s.heads)
	s.queues, s.numbers = s.queues[:0], s.numbers[:0]
	for i := range flows {
		for j := range flows[i].uses {
			u := &flows[i].uses[j]
			number := s.heads[u.station]
			for number > 0 && s.queues[number-1].sharp != u.sharp {
				number = s.queues[number-1].before
			}
			if number == 0 {
				s.queues = append(s.queues, queue{u.station, u.sharp, s.heads[u.station]})
				number = len(s.queues)
				s.heads[u.station] = number
			}
			s.numbers = append(s.numbers, number-1)
		}
	}
	return len(s.numbers)
}

// rewrite notes anew how much operations write, a part of the way to what their rates say, and leaves no station full.
// It returns how far that is, as a logarithm.
func (s *search) rewrite() (far float64) {
	for i := range s.flows {
		f := &s.flows[i]
		writes := f.writes.At(s.now.rates[i] / f.count)
		if before := s.writes[i]; before > 0 && writes > 0 {
			apart := math.Log(writes / before)
			far = max(far, math.Abs(apart))
			writes = before * math.Exp(part*apart)
		}
		s.writes[i] = writes
	}
	for s.follow(&s.now) >= 1 {
		for i := range s.now.rates {
			s.now.rates[i] *= calmest
		}
	}
	return far
}

// follow finds what follows from the rates, as far as no station is full. It returns the most that is used of one.
func (s *search) follow(a *state) (most float64) {
	clear(a.used)
	at := 0
	for i := range s.flows {
		f := &s.flows[i]
		if !s.held {
			s.writes[i] = f.writes.At(a.rates[i] / f.count)
		}
		for j := range f.uses {
			u := &f.uses[j]
			a.each[at] = u.fixed + u.writes*s.writes[i]
			a.used[u.station] += a.rates[i] * (1 + u.others) * a.each[at]
			most = max(most, a.used[u.station])
			at++
		}
	}
	if most >= 1 {
		return most
	}
	for q := range s.queues {
		a.waits[q] = wait(a.used[s.queues[q].station], s.queues[q].sharp)
	}
	at = 0
	for i := range s.flows {
		f := &s.flows[i]
		a.late[i] = f.base - f.clients/a.rates[i]
		for range f.uses {
			a.late[i] += a.each[at] * a.waits[s.numbers[at]]
			at++
		}
	}
	return most
}

// climb finds the rates. Where waiting begins as late for all, and operations always write as much, they are the
// maximum of a concave function, which Newton's method climbs in steps that stay short of every bound.
func (s *search) climb() {
	n := len(s.flows)
	w := n + 1
	for range rounds {
		promised, change := s.step()
		if math.IsNaN(change) {
			return
		}
		size, climbed := 1.0, false
		for range halved {
			inside := true
			for i := range n {
				s.next.rates[i] = s.now.rates[i] + size*s.matrix[i*w+n]
				inside = inside && s.next.rates[i] >= shortest*s.now.rates[i]
			}
			if inside && s.follow(&s.next) < 1 {
				behind := 0.0 // of the climb, at the end of the step
				for i := range n {
					if s.now.rates[i] > 0 {
						behind += s.next.late[i] * s.matrix[i*w+n]
					}
				}
				if behind <= 0.5*promised || change < 1e-6 {
					climbed = true
					break
				}
			}
			size /= 2
		}
		if !climbed {
			return // as far as numbers go
		}
		s.now, s.next = s.next, s.now
		if change < settled {
			return
		}
	}
}

// step leaves Newton's step in the last column of the matrix, and returns how steep the climb is along it
// and the largest change of a rate, as a share.
func (s *search) step() (steep, change float64) {
	n, a := len(s.flows), &s.now
	w := n + 1
	clear(s.matrix)
	clear(s.load)
	at := 0
	for i := range s.flows {
		for j := range s.flows[i].uses {
			u := &s.flows[i].uses[j]
			s.load[u.station*n+i] += (1 + u.others) * (a.each[at] + s.batch(i)*(a.each[at]-u.fixed))
			at++
		}
	}
	at = 0
	for i := range s.flows {
		f := &s.flows[i]
		row := s.matrix[i*w : (i+1)*w]
		if a.rates[i] == 0 {
			row[i] = 1
			at += len(f.uses)
			continue
		}
		row[i] = f.clients / (a.rates[i] * a.rates[i])
		row[n] = -a.late[i]
		for j := range f.uses {
			u := &f.uses[j]
			if full := a.used[u.station]; full > 0 {
				row[i] += s.batch(i) * (a.each[at] - u.fixed) * a.waits[s.numbers[at]] / a.rates[i]
				slope := a.each[at] * a.waits[s.numbers[at]] * (u.sharp/full + 1/(1-full))
				loads, rates := s.load[u.station*n:u.station*n+n], row[:n]
				for k, load := range loads {
					rates[k] += slope * load
				}
			}
			at++
		}
	}
	stats.Eliminate(s.matrix, n)
	for i := range n {
		if a.rates[i] > 0 {
			step := s.matrix[i*w+n]
			steep -= step * a.late[i]
			change = max(change, math.Abs(step)/a.rates[i])
		}
	}
	return math.Abs(steep), change
}

// batch returns by which power of a flow's rate its operations write more.
func (s *search) batch(i int) float64 {
	if s.held {
		return 0
	}
	return float64(s.flows[i].writes.Batch)
}
