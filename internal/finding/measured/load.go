package measured

import (
	"fmt"

	"plimsoll/internal/plural"
	"plimsoll/internal/workload/fio"
)

// Saturating is how many I/Os in flight it takes at least to look for the
// maximum of a drive.
const Saturating = 128

// The block sizes of the papers' random and sequential workloads.
const (
	RandomBytes     = 4 << 10
	sequentialBytes = 128 << 10
)

// roles are the papers' names of fio's patterns.
var papersRoles = []struct {
	name, pattern string
	bytes         int64
}{
	{"RR", "randread", RandomBytes}, {"RW", "randwrite", RandomBytes},
	{"SR", "read", sequentialBytes}, {"SW", "write", sequentialBytes},
}

// RoleOf is what the papers call a load: RR, RW, SR, SW; "" for another.
func RoleOf(l fio.Load) string {
	for _, r := range papersRoles {
		if l.Direct && l.Pattern == r.pattern && l.BlockBytes == r.bytes {
			return r.name
		}
	}
	return ""
}

// Driven is a workload whose load is known.
type Driven struct {
	Name string
	Load fio.Load
}

// Driven are the workloads whose declarations can be read, in their order.
func (v *View) Driven() []Driven {
	var out []Driven
	for _, w := range v.Workloads {
		if l, ok := fio.LoadOf(w.Declared); ok {
			out = append(out, Driven{w.Name, l})
		}
	}
	return out
}

// LoadText writes a load: "4 jobs x depth 8".
func LoadText(l fio.Load) string {
	return fmt.Sprintf("%s x depth %d", plural.Count(l.Jobs, "job"), l.Depth)
}

// PatternOf returns fio's pattern of a role; "" for none of the papers' roles.
func PatternOf(role string) string {
	for _, r := range papersRoles {
		if r.name == role {
			return r.pattern
		}
	}
	return ""
}
