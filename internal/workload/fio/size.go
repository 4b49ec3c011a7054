package fio

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

const (
	kib = int64(1) << 10
	mib = kib << 10
	gib = mib << 10
	tib = gib << 10
	pib = tib << 10
)

// Size is a number of bytes. In YAML it is an integer, or text such as
// "4KiB", "4k", "1GiB".
type Size int64

// sizeUnits are the suffixes of a Size, in lower case. "KB" is missing on
// purpose: it is 1000 to some and 1024 to fio.
var sizeUnits = map[string]int64{
	"": 1, "b": 1,
	"k": kib, "ki": kib, "kib": kib,
	"m": mib, "mi": mib, "mib": mib,
	"g": gib, "gi": gib, "gib": gib,
	"t": tib, "ti": tib, "tib": tib,
}

// parseSize reads a Size. The error tells what to write instead.
func parseSize(text string) (Size, error) {
	number, unit := splitNumber(text)
	factor, known := sizeUnits[strings.ToLower(unit)]
	if len(unit) == 2 && strings.ToLower(unit[1:]) == "b" && strings.ContainsAny(unit[:1], "kKmMgGtT") {
		return 0, fmt.Errorf("%s is 1000 to some and 1024 to others: write %s%siB", unit, number, strings.ToUpper(unit[:1]))
	}
	n, err := strconv.ParseInt(number, 10, 64)
	if err != nil || !known {
		return 0, fmt.Errorf("write a whole number with a unit: 4KiB, 512MiB, 1GiB")
	}
	if n > pib/factor {
		return 0, fmt.Errorf("more than 1 PiB")
	}
	return Size(n * factor), nil
}

// String prints the size with the largest unit that divides it: "4 KiB".
func (s Size) String() string {
	for _, u := range []struct {
		bytes int64
		name  string
	}{{tib, "TiB"}, {gib, "GiB"}, {mib, "MiB"}, {kib, "KiB"}} {
		if s != 0 && int64(s)%u.bytes == 0 {
			return strconv.FormatInt(int64(s)/u.bytes, 10) + " " + u.name
		}
	}
	return strconv.FormatInt(int64(s), 10) + " B"
}

// parseDuration reads "10s", "1m30s", "500ms", or a whole number of seconds.
func parseDuration(text string) (time.Duration, error) {
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		if n < 0 || n > math.MaxInt64/int64(time.Second) {
			return 0, fmt.Errorf("out of range")
		}
		return time.Duration(n) * time.Second, nil
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 {
		return 0, fmt.Errorf("write a time with its unit: 10s, 2m, 500ms")
	}
	return d, nil
}

// fioTime prints a duration the way fio reads it: fio's runtime is in seconds
// unless it has a suffix.
func fioTime(d time.Duration) string {
	if d%time.Second == 0 {
		return strconv.FormatInt(int64(d/time.Second), 10) + "s"
	}
	return strconv.FormatInt(int64(d/time.Millisecond), 10) + "ms"
}

// splitNumber cuts text behind its leading digits.
func splitNumber(text string) (number, unit string) {
	i := 0
	for i < len(text) && '0' <= text[i] && text[i] <= '9' {
		i++
	}
	return text[:i], strings.TrimSpace(text[i:])
}

// roundUp gives the smallest multiple of unit that is not below n.
func roundUp(n, unit int64) int64 { return (n + unit - 1) / unit * unit }
