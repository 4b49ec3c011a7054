package fio

import (
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

// formatSize formats a size with the largest unit that divides it: "4 KiB".
func formatSize(bytes int64) string {
	for _, u := range []struct {
		bytes int64
		name  string
	}{{tib, "TiB"}, {gib, "GiB"}, {mib, "MiB"}, {kib, "KiB"}} {
		if bytes != 0 && bytes%u.bytes == 0 {
			return strconv.FormatInt(bytes/u.bytes, 10) + " " + u.name
		}
	}
	return strconv.FormatInt(bytes, 10) + " B"
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

// roundUp returns the smallest multiple of unit that is not below n.
func roundUp(n, unit int64) int64 { return (n + unit - 1) / unit * unit }
