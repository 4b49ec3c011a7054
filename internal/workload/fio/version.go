package fio

import (
	"fmt"
	"strconv"
	"strings"
)

// Version is a release of fio.
type Version struct{ Major, Minor int }

// MinVersion is the oldest fio that works: 3.18 is the first to report the
// submission, completion and total latencies in one run, each with its
// histogram in json+. (Histograms in nanoseconds came with 3.0, libaio is
// older than that.)
var MinVersion = Version{3, 18}

// ParseVersion reads what fio --version prints: "fio-3.33", or
// "fio-3.35-139-gc5d8" for a build between releases.
func ParseVersion(text string) (Version, error) {
	fail := fmt.Errorf("%q is no version of fio: expected something like fio-%s", text, MinVersion)
	rest, ok := strings.CutPrefix(strings.TrimSpace(text), "fio-")
	if !ok {
		return Version{}, fail
	}
	major, rest, ok := strings.Cut(rest, ".")
	if !ok {
		return Version{}, fail
	}
	minor, _ := splitNumber(rest)
	v := Version{}
	var err1, err2 error
	v.Major, err1 = strconv.Atoi(major)
	v.Minor, err2 = strconv.Atoi(minor)
	if err1 != nil || err2 != nil || v.Major < 0 {
		return Version{}, fail
	}
	return v, nil
}

// Less reports whether v is older than w.
func (v Version) Less(w Version) bool {
	return v.Major < w.Major || v.Major == w.Major && v.Minor < w.Minor
}

func (v Version) String() string { return fmt.Sprintf("%d.%d", v.Major, v.Minor) }
