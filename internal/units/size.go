package units

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// binary has the units of sizes, largest first.
var binary = []struct {
	name  string
	bytes int64
}{
	{"PiB", 1 << 50}, {"TiB", 1 << 40}, {"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}, {"B", 1},
}

// multiples gives the bytes of every unit that ParseSize reads, in lower case.
var multiples = map[string]int64{
	"": 1, "b": 1,
	"k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40,
	"kib": 1 << 10, "mib": 1 << 20, "gib": 1 << 30, "tib": 1 << 40,
	"kb": 1e3, "mb": 1e6, "gb": 1e9, "tb": 1e12,
}

// ParseSize reads a size in bytes: a whole number with a unit. KiB, MiB, GiB
// and TiB are powers of 1024, as are K, M, G and T alone; KB, MB, GB and TB
// are powers of 1000. B or no unit means bytes. Case does not count, and a
// blank may stand before the unit.
func ParseSize(text string) (int64, error) {
	digits := strings.TrimRight(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
	unit := text[len(digits):]
	bytes, ok := multiples[strings.ToLower(unit)]
	if !ok {
		return 0, fmt.Errorf("%q is not a size: unknown unit %q; known are B, KiB, MiB, GiB, TiB, KB, MB, GB, TB", text, unit)
	}
	n, err := strconv.ParseUint(strings.TrimSuffix(digits, " "), 10, 64)
	switch {
	case err == nil && n <= uint64(math.MaxInt64/bytes):
		return int64(n) * bytes, nil
	case err == nil || errors.Is(err, strconv.ErrRange):
		return 0, fmt.Errorf("%q is not a size: too large", text)
	}
	return 0, fmt.Errorf("%q is not a size: write a whole number and a unit, 4GiB or 512MiB", text)
}

// FormatSize prints a number of bytes as stacks and settings have it, with the
// largest binary unit that needs no fraction: 4GiB, 1536MiB, 1000B. ParseSize reads
// it back.
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
