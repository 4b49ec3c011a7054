package placement

import (
	"fmt"
	"math"
	"slices"

	"plimsoll/internal/model"
)

// Rooms answers what hosts would do with other containers than they have.
type Rooms struct{ s *search }

// NewRooms returns the rooms of a fleet's hosts.
func NewRooms(m *model.Model, fleet *Fleet) (*Rooms, error) {
	s, err := newSearch(m, fleet, Options{})
	return &Rooms{s}, err
}

// P99 returns the p99, in seconds, of the named containers on the first drive of a host with so many of each, or why
// these may not all stand there.
func (r *Rooms) P99(host string, counts map[string]int, of string) (p99 float64, full string) {
	at := slices.IndexFunc(r.s.kinds, func(k *kind) bool { return hostName(k.Hosts, 1) == host })
	if at < 0 {
		return 0, fmt.Sprintf("the fleet has no host %q", host)
	}
	k := r.s.kinds[at]
	f, asked := make(filling, k.slots()), -1
	for d, c := range r.s.fleet.Containers {
		n := counts[c.Name]
		if c.Name == of {
			asked = d
		}
		if n == 0 {
			continue
		}
		if n > mostOfOne {
			return 0, fmt.Sprintf("%d of %s are more than a plan can have there, %d", n, c.Name, mostOfOne)
		}
		if why := k.refuses(d, k.able[0]); why != "" {
			return 0, why
		}
		f[k.slot(d, 0)] = uint8(n)
	}
	known := k.fill(f, r.s.alone)
	if known.clash != "" {
		return 0, known.clash
	}
	for i, slot := range known.at {
		if d, _ := k.of(slot); d == asked && !math.IsNaN(known.solved.Tenants[i].P99) {
			return known.solved.Tenants[i].P99, ""
		}
	}
	return 0, fmt.Sprintf("no p99 of %s is known there", of)
}
