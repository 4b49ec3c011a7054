package runview

import (
	"math"
	"slices"

	"plimsoll/internal/fact"
	"plimsoll/internal/result"
	"plimsoll/internal/workload/fio"
)

// Unfit returns the stacks whose numbers cannot be taken for their devices'; none when
// all can.
func Unfit(cells ...*Cell) (out []fact.Unfit) {
	for _, c := range cells {
		switch c.Source() {
		case result.SourceMemory:
			out = append(out, fact.Unfit{Stack: c.Stack.Name, Served: Served(c)})
		case result.SourceUnknown:
			out = append(out, fact.Unfit{Stack: c.Stack.Name})
		}
	}
	return out
}

// Buffered reports whether a workload is meant to use the page cache, so that answers from memory are no illusion.
func Buffered(w result.Workload) bool {
	return fio.Buffered(w.Declared)
}

// Served returns the share of fio's I/Os that the devices at the bottom served: in the median of the trials, or,
// where memory answered some of them, in the worst one.
func Served(c *Cell) *fact.Served {
	s := &fact.Served{Memory: c.FromMemory(), Trials: len(c.Trials)}
	lowest := math.Inf(1)
	for _, t := range c.Trials {
		if t.Honesty() == nil {
			continue
		}
		if r := t.Honesty().Ratio; r != nil && Finite(*r) {
			lowest = min(lowest, *r)
		}
		for _, d := range t.Honesty().Served {
			if d.Device.Role == RoleBottom {
				s.Devices = AddNew(s.Devices, d.Device.Name)
			}
		}
	}
	slices.Sort(s.Devices)
	switch {
	case c.Point.Ratio == nil:
		s.Devices = nil
	case s.Memory == s.Trials:
		s.PerIO = *c.Point.Ratio
	default:
		s.PerIO = lowest
	}
	return s
}

// RoleBottom is the role of the device that holds the bytes.
const RoleBottom = "bottom"

// Roles are the roles of devices, in the order of a chain.
var Roles = []string{"top", "under", RoleBottom}

// AddNew returns the elements followed by those of added that are not among them. It does not write to the array of
// elements.
func AddNew[T comparable](elements []T, added ...T) []T {
	union := slices.Clip(elements)
	for _, element := range added {
		if !slices.Contains(union, element) {
			union = append(union, element)
		}
	}
	return union
}
