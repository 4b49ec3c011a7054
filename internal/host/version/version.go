// Package version compares versions of the programs of a host, and has the oldest of fio that measures. It is pure.
package version

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
)

// Version is major.minor of a program; what follows makes no difference here.
type Version struct{ Major, Minor int }

// OldestFio is the oldest fio that measures: 3.18 is the first to report the submission, completion and total
// latencies in one run, each with its histogram in json+. (Histograms in nanoseconds came with 3.0, libaio is older
// than that.)
var OldestFio = Version{3, 18}

// Parse returns the first two numbers of text: "fio-3.33" or "20.10.24+dfsg1". A number that is missing is 0.
func Parse(text string) (v Version) {
	text = text[min(len(text), strings.IndexAny(text+"0", "0123456789")):]
	major, rest := cutNumber(text)
	minor, _ := cutNumber(strings.TrimPrefix(rest, "."))
	v.Major, _ = strconv.Atoi(major)
	v.Minor, _ = strconv.Atoi(minor)
	return v
}

// ParseFio reads what fio --version prints: "fio-3.33", or "fio-3.35-139-gc5d8" for a build between releases.
func ParseFio(text string) (Version, error) {
	rest, named := strings.CutPrefix(strings.TrimSpace(text), "fio-")
	major, rest := cutNumber(rest)
	rest, dot := strings.CutPrefix(rest, ".")
	minor, _ := cutNumber(rest)
	v := Version{}
	var err1, err2 error
	v.Major, err1 = strconv.Atoi(major)
	v.Minor, err2 = strconv.Atoi(minor)
	if !named || !dot || err1 != nil || err2 != nil {
		return Version{}, fmt.Errorf("%q is no version of fio: expected something like fio-%s", text, OldestFio)
	}
	return v, nil
}

// cutNumber cuts text behind its leading digits.
func cutNumber(text string) (number, rest string) {
	rest = strings.TrimLeft(text, "0123456789")
	return text[:len(text)-len(rest)], rest
}

// Compare orders versions, oldest first.
func (v Version) Compare(w Version) int {
	return cmp.Or(cmp.Compare(v.Major, w.Major), cmp.Compare(v.Minor, w.Minor))
}

// AtLeast reports whether v is no older than w.
func (v Version) AtLeast(w Version) bool { return v.Compare(w) >= 0 }

func (v Version) String() string { return fmt.Sprintf("%d.%d", v.Major, v.Minor) }
