package measured

import (
	"math"
	"slices"

	"plimsoll/internal/finding/fact"
	"plimsoll/internal/result"
	"plimsoll/internal/workload/fio"
)

// AppendAllNew appends those words that are not there yet.
func AppendAllNew(words, more []string) []string {
	for _, w := range more {
		words = AppendNew(words, w)
	}
	return words
}

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

// Buffered reports whether a workload goes through the page cache because it
// was told to: that memory answers is then no illusion.
func Buffered(w result.Workload) bool {
	return fio.Buffered(w.Declared)
}

// Served returns how many of fio's I/Os the devices at the bottom served: in the median
// of the trials, or, where memory answered some of them, in the worst one.
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
				s.Devices = AppendNew(s.Devices, d.Device.Name)
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

// AppendNew appends a word that is not there yet.
func AppendNew(words []string, word string) []string {
	if slices.Contains(words, word) {
		return words
	}
	return append(words, word)
}
