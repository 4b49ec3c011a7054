package watch

import (
	"cmp"
	"maps"
	"math"
	"path"
	"slices"

	"plimsoll/internal/host/cgroup"
	"plimsoll/internal/host/hostfs"
)

// inForce is what the kernel holds for a group.
type inForce struct {
	limits map[limitKey]float64
	// inherit reports whether limits on devices hold for groups below: they do with version 2 alone.
	inherit bool
	usage   cgroup.Usage
}

// kernel reads groups, each once in an interval.
type kernel struct {
	roots hostfs.Roots
	read  map[string]*inForce
}

// holds returns the limits that the kernel holds for the group at a path; nil if the group has ended.
func (k *kernel) holds(groupPath string) *inForce {
	if known, ok := k.read[groupPath]; ok {
		return known
	}
	k.read[groupPath] = nil
	group, err := cgroup.At(k.roots, groupPath)
	if err != nil {
		return nil
	}
	// A group that ends meanwhile, or has a controller less, has what could be read.
	ownLimits, _ := group.Limits(nil)
	devices, _ := group.DeviceLimits()
	held := &inForce{limits: map[limitKey]float64{}, inherit: group.HoldsBufferedWrites()}
	flatten(ownLimits, "", held.limits)
	for d, l := range devices {
		flatten(l, d, held.limits)
	}
	held.usage, _ = group.Usage() // what cannot be read is not in it
	k.read[groupPath] = held
	return held
}

// limits returns the limits of a group: those in force, of the group itself or of groups above it, next to those that
// the engine was asked for. requested is nil if these are not known.
func (k *kernel) limits(groupPath string, requested map[limitKey]float64) (limits []Limit) {
	ownLimits := k.holds(groupPath)
	if ownLimits == nil {
		return nil
	}
	held := map[limitKey]Limit{}
	for key, value := range ownLimits.limits {
		held[key] = Limit{Of: key.resource, Device: key.device, Held: value}
	}
	for parent := path.Dir(groupPath); parent != "/" && parent != "."; parent = path.Dir(parent) {
		f := k.holds(parent)
		if f == nil {
			continue
		}
		for key, value := range f.limits {
			if key.device != "" && !f.inherit {
				continue
			}
			if now, ok := held[key]; !ok || value < now.Held {
				held[key] = Limit{Of: key.resource, Device: key.device, Held: value, Above: parent}
			}
		}
	}
	if requested != nil {
		for key, value := range requested {
			l := held[key]
			l.Of, l.Device, l.Asked = key.resource, key.device, &value
			held[key] = l
		}
		for key, l := range held {
			if l.Asked == nil {
				l.Asked = new(float64)
				held[key] = l
			}
		}
	}
	return slices.SortedFunc(maps.Values(held), func(a, b Limit) int {
		return cmp.Or(cmp.Compare(a.Of, b.Of), cmp.Compare(a.Device, b.Device))
	})
}

// nearlyEqual reports whether a limit in force is the one that was asked for: kernels round memory to pages, and time
// of processors to microseconds.
func nearlyEqual(held, asked float64) bool { return math.Abs(held-asked) <= 0.01*max(held, asked) }
