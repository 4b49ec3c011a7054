package units

import (
	"math"
	"strconv"
)

// binary has the units of sizes, largest first.
var binary = []struct {
	name  string
	bytes int64
}{
	{"PiB", 1 << 50}, {"TiB", 1 << 40}, {"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}, {"B", 1},
}

// FormatSize prints a number of bytes as stacks and settings have it, with the
// largest binary unit that needs no fraction: 4GiB, 1536MiB, 1000B. field.Size
// reads it back.
func FormatSize(bytes int64) string {
	for _, u := range binary[1:] {
		if bytes%u.bytes == 0 && bytes != 0 {
			return strconv.FormatInt(bytes/u.bytes, 10) + u.name
		}
	}
	return "0B"
}

// Bytes writes a number of bytes as people read it: 24 GiB, 4 KiB, 23.5 GiB.
func Bytes(n uint64) string {
	for _, u := range binary {
		if n >= uint64(u.bytes) {
			return strconv.FormatFloat(math.Round(float64(n)/float64(u.bytes)*10)/10, 'f', -1, 64) + " " + u.name
		}
	}
	return "0 B"
}
