package field

import (
	"math"
	"math/big"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Patterns of what is read, for editors too. A blank may stand between a number and its unit.
const (
	decimal          = `([0-9]+(\.[0-9]+)?|\.[0-9]+)`
	sizePattern      = `^` + decimal + ` ?([kKmMgGtTpP]([iI]?[bB]|[iI])?|[bB])?$`
	bandwidthPattern = `^` + decimal + ` ?([kKmMgGtTpP]([iI]?[bB]|[iI]|bit)?|[bB])?(/s)?$`
	durationPattern  = `^(0|(` + decimal + ` ?(ns|us|µs|ms|s|sec|m|min|h|d))( ?` + decimal + ` ?(ns|us|µs|ms|s|sec|m|min|h|d))*)$`
	ratePattern      = `^` + decimal + `([eE][+-]?[0-9]+)? ?[kKMG]?(/s)?$`
	wholePattern     = `^` + decimal + ` ?[kKMG]?$`
	sharePattern     = `^(` + decimal + ` ?%|` + decimal + ` ?/ ?` + decimal + `)$`
)

var (
	quantity   = regexp.MustCompile(`^([0-9]+(?:\.[0-9]+)?|\.[0-9]+) ?([A-Za-z]*)$`)
	span       = regexp.MustCompile(durationPattern)
	oneSpan    = regexp.MustCompile(`([0-9]*\.?[0-9]+) ?(ns|us|µs|ms|sec|s|min|m|h|d)`)
	digits     = regexp.MustCompile(`^[0-9]+$`)
	numeric    = regexp.MustCompile(`^-?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?$`)
	thousands  = regexp.MustCompile(`^(.*[0-9.]) ?([kKMG])$`)
	withPrefix = regexp.MustCompile(`^([kmgtp])(i?b|i)?$`)
)

// powers are the exponents of the prefixes of units.
var powers = map[byte]int64{'k': 1, 'm': 2, 'g': 3, 't': 4, 'p': 5}

// multiple returns the bytes of a unit. As GNU's programs have it, K, Ki and KiB are 1024 bytes, and KB is 1000.
// Case does not count.
func multiple(unit string) (bytes int64, known bool) {
	unit = strings.ToLower(unit)
	if unit == "" || unit == "b" {
		return 1, true
	}
	m := withPrefix.FindStringSubmatch(unit)
	if m == nil {
		return 0, false
	}
	base := int64(1 << 10)
	if m[2] == "b" {
		base = 1000
	}
	bytes = 1
	for range powers[m[1][0]] {
		bytes *= base
	}
	return bytes, true
}

// scaled returns a decimal number times a unit, which has to be whole.
func scaled(number string, unit int64) (int64, error) {
	n, err := times(number, unit)
	if err == nil && !n.IsInt() {
		return 0, remedy("write a whole number of a smaller unit")
	}
	return whole(n, err)
}

// rounded returns a decimal number times a unit, to the nearest whole number.
func rounded(number string, unit int64) (int64, error) {
	n, err := times(number, unit)
	if err == nil {
		n.SetInt(new(big.Int).Quo(n.Num().Add(n.Num(), new(big.Int).Quo(n.Denom(), big.NewInt(2))), n.Denom()))
	}
	return whole(n, err)
}

func times(number string, unit int64) (*big.Rat, error) {
	n, ok := new(big.Rat).SetString(number)
	if !ok {
		return n, theExample
	}
	return n.Mul(n, new(big.Rat).SetInt64(unit)), nil
}

func whole(n *big.Rat, err error) (int64, error) {
	if err == nil && !n.Num().IsInt64() {
		err = remedy("write less: it is more than there is room for")
	}
	if err != nil {
		return 0, err
	}
	return n.Num().Int64(), nil
}

// parseSize reads bytes: "4GiB", "1.5 G", "4GB", "4096".
func parseSize(text string) (int64, error) {
	if strings.HasSuffix(text, "/s") {
		return 0, remedy("write it without /s")
	}
	m := quantity.FindStringSubmatch(text)
	if m == nil {
		return 0, theExample
	}
	unit, known := multiple(m[2])
	if !known {
		return 0, remedy(
			"units are KiB, MiB, GiB, TiB (of 1024), or KB, MB, GB, TB (of 1000)",
		)
	}
	return scaled(m[1], unit)
}

// parseBandwidth reads bytes a second, which are also said in bits: "500MB/s", "500MB", "25Gbit/s".
func parseBandwidth(text string) (int64, error) {
	text = strings.TrimSuffix(text, "/s")
	m := quantity.FindStringSubmatch(text)
	if m == nil {
		return 0, theExample
	}
	number, unit := m[1], m[2]
	prefix, isBits := strings.CutSuffix(strings.ToLower(unit), "bit")
	switch {
	case isBits && len(prefix) == 1 && powers[prefix[0]] > 0:
		bits, _ := multiple(prefix + "b")
		return scaled(number, bits/8)
	case len(unit) == 2 && unit[1] == 'b' && unit[0] >= 'A' && unit[0] <= 'Z':
		return 0, remedy("write " + number + unit[:1] + "bit/s for bits, or " + number + unit[:1] + "B/s for bytes")
	}
	return parseSize(text)
}

// parseDuration reads times with their units: "1h30m", "500 ms", "2d"; "0" needs none.
func parseDuration(text string) (time.Duration, error) {
	if !span.MatchString(text) {
		if numeric.MatchString(text) {
			return 0, unitless(text)
		}
		return 0, theExample
	}
	if text == "0" {
		return 0, nil
	}
	var sum time.Duration
	for _, m := range oneSpan.FindAllStringSubmatch(text, -1) {
		unit := spans[m[2]]
		ns, err := rounded(m[1], int64(unit))
		if err != nil {
			return 0, err
		}
		if sum += time.Duration(ns); sum < 0 {
			return 0, remedy("write less: it is more than there is room for")
		}
	}
	return sum, nil
}

// unitless is a number where a time is to be.
type unitless string

func (u unitless) Error() string { return "add the unit to " + string(u) }

// timeUnits are the units of times that people write, from the longest.
var timeUnits = []string{"d", "h", "m", "s", "ms", "us", "ns"}

// withUnits returns a number with the unit that times of the kind have as a rule, which its example has, and with the
// next smaller one: those that are within the kind's bounds.
func (k Kind[T]) withUnits(number unitless) error {
	m := oneSpan.FindAllStringSubmatch(k.Example, -1)
	if len(m) == 0 {
		return theExample
	}
	usual := max(0, slices.Index(timeUnits, m[len(m)-1][2]))
	var meant []string
	for _, unit := range timeUnits[usual:min(usual+2, len(timeUnits))] {
		text := string(number) + unit
		if v, err := k.read(text); err == nil && (k.within == nil || k.within(v)) {
			meant = append(meant, text)
		}
	}
	if len(meant) == 0 {
		return theExample
	}
	return remedy("add the unit: " + strings.Join(meant, ", or "))
}

// spans are the units of times.
var spans = map[string]time.Duration{
	"ns": time.Nanosecond, "us": time.Microsecond, "µs": time.Microsecond, "ms": time.Millisecond,
	"s": time.Second, "sec": time.Second, "m": time.Minute, "min": time.Minute, "h": time.Hour, "d": 24 * time.Hour,
}

// parseNumber reads a decimal number.
func parseNumber(text string) (float64, error) {
	if !numeric.MatchString(text) {
		return 0, theExample
	}
	x, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsInf(x, 0) {
		return 0, theExample
	}
	return x, nil
}

// parseWhole reads a whole number: "1000000", "20k", "1.5M", of thousands.
func parseWhole(text string) (int64, error) {
	if digits.MatchString(text) {
		return scaled(text, 1)
	}
	m := thousands.FindStringSubmatch(text)
	if m == nil || !quantity.MatchString(m[1]) {
		return 0, theExample
	}
	unit, _ := multiple(m[2] + "b")
	return scaled(m[1], unit)
}

// parseRate reads operations a second: "1500", "1500/s", "20k", of thousands.
func parseRate(text string) (float64, error) {
	bare := strings.TrimSuffix(strings.TrimSuffix(text, "/s"), " ")
	m := thousands.FindStringSubmatch(bare)
	factor := 1.0
	if m != nil {
		unit, _ := multiple(m[2] + "b")
		bare, factor = m[1], float64(unit)
	}
	x, err := parseNumber(bare)
	if _, sizeErr := parseBandwidth(text); err != nil && sizeErr == nil {
		return 0, remedy("write a number of operations, such as 20k for 20,000: this is a size")
	}
	return x * factor, err
}

// parseShare reads a part of a whole: "5%", "0.05", "1/8".
func parseShare(text string) (float64, error) {
	if number, isPercent := strings.CutSuffix(text, "%"); isPercent {
		x, err := parseNumber(strings.TrimSuffix(number, " "))
		return x / 100, err
	}
	numerator, denominator, isFraction := strings.Cut(text, "/")
	x, err := parseNumber(strings.TrimSuffix(numerator, " "))
	switch {
	case isFraction && err == nil:
		whole, err := parseNumber(strings.TrimPrefix(denominator, " "))
		if err != nil || whole == 0 {
			return 0, theExample
		}
		return x / whole, nil
	case err == nil && x > 1 && x <= 100:
		return 0, remedy("write " + text + "%, or 1/" + text)
	}
	return x, err
}

// parseSwitch reads yes or no, in the words of YAML, old and new.
func parseSwitch(text string) (bool, error) {
	switch strings.ToLower(text) {
	case "true", "yes", "on":
		return true, nil
	case "false", "no", "off":
		return false, nil
	}
	return false, theExample
}
