package result

import (
	"fmt"
	"slices"
)

// AtomicUnits are the sizes of single writes that a file system or a drive promises to make whole or not at all. The
// promise is for writes with RWF_ATOMIC: powers of two, in bytes, aligned to themselves. Both are 0 where nothing is
// promised. Sources: statx(2), stx_atomic_write_unit_min and max; Documentation/ABI/stable/sysfs-block,
// atomic_write_unit_min_bytes and max_bytes.
type AtomicUnits struct {
	Min int64 `json:"min_bytes"`
	Max int64 `json:"max_bytes"`
}

// Hold reports whether a write of so many bytes is promised to be atomic.
func (u AtomicUnits) Hold(bytes int64) bool { return bytes > 0 && u.Min <= bytes && bytes <= u.Max }

// String returns the sizes in bytes, as facts of stacks have them.
func (u AtomicUnits) String() string {
	if u.Max == 0 {
		return "none"
	}
	return fmt.Sprintf("%d to %d bytes", u.Min, u.Max)
}

// atomicFact is the name of the fact that has the units of a stack's files.
const atomicFact = "atomic writes of files"

// AtomicFact returns the units of a stack's files as a fact.
func AtomicFact(u AtomicUnits) Fact { return Fact{Name: atomicFact, Value: u.String()} }

// AtomicWrites returns the units of the stack's files; known is false where the kernel did not say.
func (s Stack) AtomicWrites() (u AtomicUnits, known bool) {
	i := slices.IndexFunc(s.Facts, func(f Fact) bool { return f.Name == atomicFact })
	if i < 0 {
		return u, false
	}
	if s.Facts[i].Value == u.String() {
		return u, true
	}
	n, err := fmt.Sscanf(s.Facts[i].Value, "%d to %d bytes", &u.Min, &u.Max)
	if err != nil || n != 2 || u.String() != s.Facts[i].Value || u.Min <= 0 || u.Min > u.Max {
		return AtomicUnits{}, false
	}
	return u, true
}
