package model

import (
	"math"
	"slices"
)

// Slot is what one instance asks of a host, as numbers that bounds and gradients are computed from. In the environment
// that all instances on the host make together, which is how much each station is used and for how long caches keep
// what they read, slots do not depend on each other: of an instance that does x operations a second,
//
//	Clients/x = max(Alone(reads)) + sum over Uses of D * u^Sharp / (1-u),  D = Fixed + PerRead*reads + PerWrite*Writes(x)
//	reads = Reads(memory),  memory = Fixed + Cache*(1 - exp(-Touched*x*time/Cache))
//
// and it uses x*(1+Others)*D of each station.
type Slot struct {
	Clients float64
	Alone   []Line // of a client's cycle that waits for nobody: the highest of these lines counts
	Uses    []SlotUse
	Writes  Writes

	Reads        Miss
	Touched      float64 // bytes of its cache that an operation reads; 0 where nobody knows
	Fixed, Cache float64 // bytes that no shortage takes, and that it wants beyond
}

// SlotUse is how many seconds an operation keeps a station busy.
type SlotUse struct {
	Station                  int // -1 for one of its own, of which n instances have n times as much
	Sharp                    float64
	Fixed, PerRead, PerWrite float64
	Others                   float64 // hosts that use the station alike
}

// Slots returns one instance of each placed as a slot, and how many stations these share. ok is false for parameters
// that are no straight lines over reads.
func (m *Model) Slots(host HostKind, placed []Placed) (slots []Slot, stations int, ok bool) {
	all := make([]instances, len(placed))
	for i, p := range placed {
		p.Count = 1
		all[i] = m.instancesOf(&host, 0, p)
	}
	n := new(network)
	n.lay(all, 1) // so that stations have numbers
	numbers := map[int]int{}
	for i := range all {
		in := &all[i]
		s := Slot{Clients: in.clients, Writes: in.params.Writes, Reads: in.params.Reads}
		lines, count := in.alone()
		s.Alone = slices.Clone(lines[:count])
		wants := in.wants()
		s.Fixed = min(in.fixed, wants)
		s.Cache = wants - s.Fixed
		s.Touched = in.params.Reads.At(max(s.Fixed, 1)) * float64(in.params.ReadBytes)
		if !(s.Touched > 0) {
			s.Touched = 0
		}
		from := len(n.uses)
		n.reading(in, 1)
		middle := len(n.uses)
		n.reading(in, 2)
		once, twice := n.uses[from:middle], n.uses[middle:]
		if len(once) != len(twice) {
			return nil, 0, false
		}
		for j, u := range once {
			v := twice[j]
			use := SlotUse{Station: -1, Sharp: u.sharp, Fixed: 2*u.fixed - v.fixed, PerRead: v.fixed - u.fixed,
				PerWrite: u.writes, Others: u.others}
			if math.Abs(use.Fixed) < 1e-12*u.fixed {
				use.Fixed = 0
			}
			if use.Fixed < 0 || use.PerRead < 0 {
				return nil, 0, false
			}
			if !n.stations[u.station].own {
				at, has := numbers[u.station]
				if !has {
					at = len(numbers)
					numbers[u.station] = at
				}
				use.Station = at
			}
			s.Uses = append(s.Uses, use)
		}
		slots = append(slots, s)
	}
	return slots, len(numbers), true
}

// Memory returns the bytes that an instance has which does so many operations a second, where caches keep what they
// read for so many seconds.
func (s *Slot) Memory(rate, seconds float64) float64 {
	if s.Cache == 0 {
		return s.Fixed
	}
	return s.Fixed - s.Cache*math.Expm1(-s.Touched*rate*seconds/s.Cache)
}

// Memory returns the least bytes with which an operation reads the device at most so often, and the most with which it
// reads so often at least.
func (c Miss) Memory(reads float64) (least, most float64) {
	most = math.Inf(1)
	if len(c.Times) > 0 || c.Fits == 0 || c.Scale == 0 {
		return 0, most // not known
	}
	at := float64(c.Fits) * (1 - math.Pow(max(0, reads-float64(c.Floor))/float64(c.Scale), 1/float64(c.Shape)))
	if reads > float64(c.Floor) {
		most = at
	}
	return at, most
}
