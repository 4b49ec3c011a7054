package watch

import (
	"cmp"
	"errors"
	"io/fs"
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

// of returns what the kernel holds for the group at a path; nil where it ended.
func (k *kernel) of(at string) *inForce {
	if known, ok := k.read[at]; ok {
		return known
	}
	k.read[at] = nil
	g, err := cgroup.At(k.roots, at)
	if err != nil {
		return nil
	}
	// A group that ends meanwhile, or has a controller less, has what could be read.
	own, errOwn := g.Limits(nil)
	devices, errDevices := g.DeviceLimits()
	if errors.Is(errors.Join(errOwn, errDevices), fs.ErrNotExist) {
		return nil
	}
	f := &inForce{limits: map[limitKey]float64{}, inherit: g.HoldsBufferedWrites()}
	flatten(own, "", f.limits)
	for d, l := range devices {
		flatten(l, d, f.limits)
	}
	f.usage, _ = g.Usage() // what cannot be read is not in it
	k.read[at] = f
	return f
}

// limits returns the limits of a group: in force, by itself or by groups above, beside those that the engine was asked
// for; a is nil where nobody knows these.
func (k *kernel) limits(at string, a map[limitKey]float64) (all []Limit) {
	own := k.of(at)
	if own == nil {
		return nil
	}
	held := map[limitKey]Limit{}
	for key, value := range own.limits {
		held[key] = Limit{Of: key.of, Device: key.device, Held: value}
	}
	for above := path.Dir(at); above != "/" && above != "."; above = path.Dir(above) {
		f := k.of(above)
		if f == nil {
			continue
		}
		for key, value := range f.limits {
			if key.device != "" && !f.inherit {
				continue
			}
			if now, ok := held[key]; !ok || value < now.Held {
				held[key] = Limit{Of: key.of, Device: key.device, Held: value, Above: above}
			}
		}
	}
	if a != nil {
		for key, value := range a {
			l := held[key]
			l.Of, l.Device, l.Asked = key.of, key.device, &value
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

// same reports whether a limit in force is the one that was asked for: kernels round memory to pages, and time of
// processors to microseconds.
func same(held, asked float64) bool { return math.Abs(held-asked) <= 0.01*max(held, asked) }
