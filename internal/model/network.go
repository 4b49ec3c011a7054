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
	Network    Resource = "network"        // of the host, to remote drives
	TargetCPUs Resource = "target cpus"    // of what serves a remote drive
	TargetNet  Resource = "target network" //

	Drives  Resource = "drive"   // a drive as a whole, of which more is a faster one
	Memory  Resource = "memory"  // what does not fit is read from the device again
	Clients Resource = "clients" // none of the above: more clients would do more
)

// use is what an operation of a flow does to a station: for how many seconds it keeps it busy, and for
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
	return math.Pow(utilization, sharp) / (1 - utilization)
}

// The bounds of iterations, beyond which nothing changes.
const (
	rounds   = 100
	halved   = 60
	settled  = 1e-10
	calmest  = 0.5  // utilization at which the search begins
	shortest = 0.05 // share of a rate that a step leaves at least
	part     = 0.55 // of what writes are found to be more, as a logarithm, that is believed at once
)

// solve returns the rate of each flow, and what is used of each station, 0 to 1. At these rates the
// clients' cycles last as long as they wait.
func solve(flows []flow, stations int) (rates, used []float64) {
	return solveFrom(flows, stations, nil)
}

// solveFrom is solve that begins at rates which are near; nil for none.
func solveFrom(flows []flow, stations int, near []float64) (rates, used []float64) {
	s := newSearch(flows, stations, near)
	for range rounds {
		s.climb()
		// An operation's writes depend on its rate, and that on what it writes.
		if s.rewrite(part) < settled {
			break
		}
	}
	return s.rates, s.used
}

// search is a search for the rates of flows.
type search struct {
	flows       []flow
	rates, used []float64

	each           []float64 // how long an operation keeps a station busy: by flow, then by use
	busy           []float64 // the same by flow, then by station
	writes         []float64 // of an operation of each flow
	next, nextUsed []float64
	matrix         []float64
}

func newSearch(flows []flow, stations int, near []float64) *search {
	n := len(flows)
	uses := 0
	for i := range flows {
		uses += len(flows[i].uses)
	}
	memory := make([]float64, 3*n+2*stations+n*stations+n*(n+1)+uses)
	take := func(k int) (part []float64) {
		part, memory = memory[:k:k], memory[k:]
		return part
	}
	s := &search{flows: flows, rates: take(n), used: take(stations), each: take(uses), busy: take(n * stations),
		writes: take(n), next: take(n), nextUsed: take(stations), matrix: take(n * (n + 1))}
	for i := range flows {
		if flows[i].clients > 0 {
			s.rates[i] = flows[i].clients / flows[i].base
		}
	}
	if near != nil {
		copy(s.rates, near)
		if s.rewrite(1); s.utilize(s.rates, s.used) < 1 {
			return s
		}
	}
	s.rewrite(1)
	for full := s.utilize(s.rates, s.used); full > calmest; full = s.utilize(s.rates, s.used) {
		for i := range s.rates {
			s.rates[i] *= 0.999 * calmest / full
		}
	}
	s.rewrite(1)
	return s
}

// rewrite notes anew how much operations write, a part of the way to what their rates say. It returns how
// far that is, as a logarithm.
func (s *search) rewrite(part float64) (far float64) {
	stations, at := len(s.used), 0
	clear(s.busy)
	for i := range s.flows {
		f := &s.flows[i]
		writes := f.writes.At(s.rates[i] / f.count)
		if before := s.writes[i]; before > 0 && writes > 0 {
			apart := math.Log(writes / before)
			far = max(far, math.Abs(apart))
			writes = before * math.Exp(part*apart)
		}
		s.writes[i] = writes
		for j := range f.uses {
			u := &f.uses[j]
			s.each[at] = u.fixed + u.writes*writes
			s.busy[i*stations+u.station] += (1 + u.others) * s.each[at]
			at++
		}
	}
	return far
}

// utilize adds up what flows use of each station at some rates; it returns the most.
func (s *search) utilize(rates, used []float64) (most float64) {
	clear(used)
	at := 0
	for i := range s.flows {
		for j := range s.flows[i].uses {
			u := &s.flows[i].uses[j]
			used[u.station] += rates[i] * (1 + u.others) * s.each[at]
			most = max(most, used[u.station])
			at++
		}
	}
	return most
}

// late is by how many seconds a cycle of a client takes longer than its rate leaves it. The flow's uses
// begin at at.
func (s *search) late(i, at int, rate float64, used []float64) float64 {
	f := &s.flows[i]
	seconds := f.base - f.clients/rate
	for j := range f.uses {
		u := &f.uses[j]
		seconds += s.each[at+j] * wait(used[u.station], u.sharp)
	}
	return seconds
}

// climb finds the rates for what operations keep busy now. Where waiting begins as late for all, they are
// the maximum of a concave function, which Newton's method climbs in steps that stay short of every bound.
func (s *search) climb() {
	n, stations := len(s.flows), len(s.used)
	w := n + 1
	for s.utilize(s.rates, s.used) >= 1 { // by what is written more
		for i := range s.rates {
			s.rates[i] *= calmest
		}
	}
	for range rounds {
		promised, change := s.step(n, stations, w)
		if change < settled || math.IsNaN(change) {
			return
		}
		size, climbed := 1.0, false
		for range halved {
			inside := true
			for i := range n {
				s.next[i] = s.rates[i] + size*s.matrix[i*w+n]
				inside = inside && s.next[i] >= shortest*s.rates[i]
			}
			if inside && s.utilize(s.next, s.nextUsed) < 1 {
				behind, at := 0.0, 0 // of the climb, at the end of the step
				for i := range n {
					if s.rates[i] > 0 {
						behind += s.late(i, at, s.next[i], s.nextUsed) * s.matrix[i*w+n]
					}
					at += len(s.flows[i].uses)
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
		copy(s.rates, s.next)
		copy(s.used, s.nextUsed)
	}
}

// step leaves Newton's step in the last column of the matrix, and returns how steep the climb is along it
// and the largest change of a rate, as a share.
func (s *search) step(n, stations, w int) (steep, change float64) {
	clear(s.matrix)
	at := 0
	for i := range s.flows {
		f := &s.flows[i]
		row := s.matrix[i*w : (i+1)*w]
		if s.rates[i] == 0 {
			row[i] = 1
			at += len(f.uses)
			continue
		}
		row[i] = f.clients / (s.rates[i] * s.rates[i])
		row[n] = -s.late(i, at, s.rates[i], s.used)
		s.next[i] = row[n]
		for j := range f.uses {
			u := &f.uses[j]
			full := s.used[u.station]
			if full == 0 {
				continue
			}
			slope := s.each[at+j] * wait(full, u.sharp) * (u.sharp/full + 1/(1-full))
			for k := range n {
				row[k] += slope * s.busy[k*stations+u.station]
			}
		}
		at += len(f.uses)
	}
	eliminate(s.matrix, n)
	for i := range n {
		if s.rates[i] > 0 {
			step := s.matrix[i*w+n]
			steep += step * s.next[i]
			change = max(change, math.Abs(step)/s.rates[i])
		}
	}
	return math.Abs(steep), change
}

// eliminate solves n linear equations, each a row of n coefficients and what they come to, which the
// solution takes the place of.
func eliminate(m []float64, n int) {
	w := n + 1
	for c := range n {
		best := c
		for r := c + 1; r < n; r++ {
			if math.Abs(m[r*w+c]) > math.Abs(m[best*w+c]) {
				best = r
			}
		}
		if best != c {
			for k := range w {
				m[c*w+k], m[best*w+k] = m[best*w+k], m[c*w+k]
			}
		}
		for r := range n {
			if r == c || m[r*w+c] == 0 {
				continue
			}
			by := m[r*w+c] / m[c*w+c]
			for k := c; k < w; k++ {
				m[r*w+k] -= by * m[c*w+k]
			}
		}
	}
	for r := range n {
		m[r*w+n] /= m[r*w+r]
	}
}
