package runview

import (
	"fmt"

	"plimsoll/internal/units/plural"
	"plimsoll/internal/workload/fio"
)

// The block sizes of the papers' random and sequential workloads.
const (
	RandomBytes     = 4 << 10
	sequentialBytes = 128 << 10
)

// papersRoles are fio's patterns that the papers ran, each with I/Os of one size.
var papersRoles = []struct {
	pattern string
	bytes   int64
}{
	{"randread", RandomBytes}, {"randwrite", RandomBytes}, {"read", sequentialBytes}, {"write", sequentialBytes},
}

// RoleOf returns the pattern of a load that the papers ran; "" for another.
func RoleOf(l fio.Load) string {
	for _, r := range papersRoles {
		if l.Direct && l.Pattern == r.pattern && l.BlockBytes == r.bytes {
			return r.pattern
		}
	}
	return ""
}

// Driven is a workload whose load is known.
type Driven struct {
	Name string
	Load fio.Load
}

// Driven returns the workloads whose declarations can be parsed, in order.
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
		if r.pattern == role {
			return r.pattern
		}
	}
	return ""
}
