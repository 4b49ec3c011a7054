package claims

import (
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// WholeHost is the value of memory and processors of an experiment that has no scaled-down host.
const WholeHost = "the whole host"

// unitTolerance is the share by which two sizes may differ and be equal: papers write GB for GiB.
const unitTolerance = 0.08

// renamed has words of today for those that papers use: noop became none with the block layer's queues.
var renamed = map[string]string{"noop": "none"}

// Agrees reports whether the values that an experiment has for a parameter are the paper's. A paper writes one value,
// "1 to 64" for the least and the most, "4 and more" for the least, or "64 GB or 32 GB" for several. Drives agree, and
// the whole host's memory and processors: the paper's host had its own. Limits agree if the experiment has each limit
// that the paper names, and none that the paper had "without effect".
func (p Parameter) Agrees(values []string) bool {
	paper := p.Value
	for _, suffix := range []string{" for each server", " of each"} {
		paper = strings.TrimSuffix(paper, suffix)
	}
	switch {
	case p.Name == "drives":
		return true
	case (p.Name == "memory" || p.Name == "cpus") && slices.Equal(values, []string{WholeHost}):
		return true
	case p.Name == "limits":
		return hasLimits(values, paper)
	case strings.HasSuffix(paper, ", without effect"):
		return len(values) == 0
	case len(values) == 0:
		return false
	case p.Name == "version":
		return !slices.ContainsFunc(values, func(h string) bool { return h != paper && !strings.HasPrefix(h, paper+".") })
	case strings.HasPrefix(paper, "steady state"):
		return !slices.ContainsFunc(values, func(h string) bool { return !strings.Contains(h, "rounds=") })
	}
	if low, high, isRange := strings.Cut(paper, " to "); isRange {
		least, most, ok := extremes(values)
		return ok && sameValue(low, least) && sameValue(high, most)
	}
	if low, isBound := strings.CutSuffix(paper, " and more"); isBound {
		least, most, ok := extremes(values)
		return ok && sameValue(low, least) && !sameValue(low, most)
	}
	papers := []string{paper}
	if first, second, two := strings.Cut(paper, " or "); two {
		_, isValue := quantityOf(first)
		if isValue {
			papers = []string{first, second}
		}
	}
	isOneOf := func(values []string) func(string) bool {
		return func(v string) bool {
			return slices.ContainsFunc(values, func(w string) bool { return sameValue(v, w) })
		}
	}
	for _, v := range papers {
		if !isOneOf(values)(v) {
			return false
		}
	}
	for _, v := range values {
		if !isOneOf(papers)(v) {
			return false
		}
	}
	return true
}

// limitOf finds the limits in a text: "6 CPUs", "5.6 GiB", "400 MB/s".
var limitOf = regexp.MustCompile(`[0-9.]+ (CPUs?|[KMGT]i?B(/s)?)`)

// hasLimits reports whether an experiment has each limit that a paper names.
func hasLimits(values []string, paper string) bool {
	limits := limitOf.FindAllString(strings.Join(values, ", "), -1)
	for _, want := range limitOf.FindAllString(paper, -1) {
		if !slices.ContainsFunc(limits, func(l string) bool { return sameValue(l, want) }) {
			return false
		}
	}
	return len(limits) > 0
}

// extremes returns the least and the greatest of some quantities; ok is false if one is no quantity.
func extremes(values []string) (lowest, highest string, ok bool) {
	for _, v := range values {
		if _, isQuantity := quantityOf(v); !isQuantity {
			return "", "", false
		}
	}
	inOrder := func(a, b string) int {
		x, _ := quantityOf(a)
		y, _ := quantityOf(b)
		switch {
		case x.value < y.value:
			return -1
		case x.value > y.value:
			return 1
		}
		return 0
	}
	return slices.MinFunc(values, inOrder), slices.MaxFunc(values, inOrder), true
}

// sameValue reports whether two values are the same quantity, or the same word.
func sameValue(a, b string) bool {
	x, isX := quantityOf(a)
	y, isY := quantityOf(b)
	if isX && isY {
		tolerance := 1e-9
		if x.unit == y.unit && strings.HasPrefix(x.unit, "B") {
			tolerance = unitTolerance
		}
		return x.unit == y.unit && math.Abs(x.value-y.value) <= tolerance*max(x.value, y.value)
	}
	word := func(text string) string {
		text = strings.ToLower(strings.TrimSpace(text))
		if now, isOld := renamed[text]; isOld {
			return now
		}
		return text
	}
	return isX == isY && word(a) == word(b)
}

// quantity is a number and its unit: "" for none, "B", "B/s", "s" for seconds, "CPUs".
type quantity struct {
	value float64
	unit  string
}

var (
	quantityText = regexp.MustCompile(`^([0-9]+(?:\.[0-9]+)?) ?([A-Za-z/]*)$`)
	multiples    = map[string]quantity{
		"": {1, ""}, "K": {1e3, ""}, "million": {1e6, ""}, "CPU": {1, "CPUs"}, "CPUs": {1, "CPUs"},
		"s": {1, "s"}, "min": {60, "s"}, "minutes": {60, "s"}, "hours": {3600, "s"},
		"B":  {1, "B"},
		"KB": {1e3, "B"}, "MB": {1e6, "B"}, "GB": {1e9, "B"}, "TB": {1e12, "B"},
		"KiB": {1 << 10, "B"}, "MiB": {1 << 20, "B"}, "GiB": {1 << 30, "B"}, "TiB": {1 << 40, "B"},
		"MB/s": {1e6, "B/s"}, "MiB/s": {1 << 20, "B/s"}, "GB/s": {1e9, "B/s"}, "GiB/s": {1 << 30, "B/s"},
	}
)

// quantityOf returns the quantity that a text is: "100 million", "8 GB", "10 min", "10m0s". ok is false for other texts.
func quantityOf(text string) (q quantity, ok bool) {
	text = strings.TrimSpace(text)
	parts := quantityText.FindStringSubmatch(text)
	if parts != nil {
		unit, known := multiples[parts[2]]
		number, err := strconv.ParseFloat(parts[1], 64)
		if known && err == nil {
			return quantity{number * unit.value, unit.unit}, true
		}
	}
	d, err := time.ParseDuration(text)
	if err != nil {
		return quantity{}, false
	}
	return quantity{d.Seconds(), "s"}, true
}
