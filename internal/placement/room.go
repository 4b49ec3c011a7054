package placement

import (
	"fmt"
	"math"
	"slices"

	"plimsoll/internal/model"
)

// Rooms predicts hosts with other containers than they have.
type Rooms struct{ s *search }

// NewRooms returns the rooms of a fleet's hosts.
func NewRooms(m *model.Model, fleet *Fleet) (*Rooms, error) {
	s, err := newSearch(m, fleet, Options{})
	return &Rooms{s}, err
}

// P99 returns the p99, in seconds, of the named containers on the first drive of a host with so many of each, or why
// these may not all stand there.
func (r *Rooms) P99(host string, counts map[string]int, container string) (p99 float64, full string) {
	index := slices.IndexFunc(r.s.kinds, func(k *kind) bool { return hostName(k.Hosts, 1) == host })
	if index < 0 {
		return 0, fmt.Sprintf("the fleet has no host %q", host)
	}
	kind := r.s.kinds[index]
	fill, asked := make(filling, kind.slots()), -1
	for d, containers := range r.s.fleet.Containers {
		n := counts[containers.Name]
		if containers.Name == container {
			asked = d
		}
		if n == 0 {
			continue
		}
		if n > mostOfOne {
			return 0, fmt.Sprintf("%d of %s are more than a plan can have there, %d", n, containers.Name, mostOfOne)
		}
		if why := kind.refuses(d, kind.able[0]); why != "" {
			return 0, why
		}
		fill[kind.slot(d, 0)] = uint8(n)
	}
	known := kind.fill(fill, r.s.alone)
	if known.clash != "" {
		return 0, known.clash
	}
	for i, slot := range known.slots {
		if d, _ := kind.split(slot); d == asked && !math.IsNaN(known.solved.Tenants[i].P99) {
			return known.solved.Tenants[i].P99, ""
		}
	}
	return 0, fmt.Sprintf("no p99 of %s is known there", container)
}
