// Package field reads what people write: values (sizes, times, rates, shares, counts), tables of keys that have them,
// and files of YAML. A text means the same wherever it stands: in experiments, stacks, flags, files of hosts and
// fleets, annotations and tables of points; docs/reference/units.md is their table. What other programs read has their
// grammar: fio's job files, options of mkfs and mount. All that is wrong is noted at once, each with its line.
//
// The package is pure.
package field

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/invopop/jsonschema"

	"plimsoll/internal/problem/suggest"
	"plimsoll/internal/units"
)

// Kind is what a value may be.
type Kind[T any] struct {
	Takes   string // "a size from 1MiB to 1TiB"
	Example string // "4GiB"

	read   func(text string) (T, error) // the error is a remedy
	within func(T) bool                 // nil where there are no bounds
	format func(T) string
	schema func() *jsonschema.Schema
}

// longest is the number of bytes of the longest text that is a value.
const longest = 256

// Error is why a text is not a value of a kind.
type Error struct {
	Takes  string // what the place takes: "a size from 1MiB to 1TiB"
	Remedy string // what to write: "write 4GiB"
}

func (e *Error) Error() string { return "it takes " + e.Takes + ": " + e.Remedy }

// Parse reads a text. The error is an *Error.
func (k Kind[T]) Parse(text string) (T, error) {
	var zero T
	if len(text) > longest {
		return zero, &Error{k.Takes, "write " + k.Example}
	}
	v, err := k.value(text)
	if err != nil {
		return zero, &Error{k.Takes, cmp.Or(err.Error(), "write "+k.Example)}
	}
	return v, nil
}

// value returns what a text says, within bounds.
func (k Kind[T]) value(text string) (T, error) {
	v, err := k.read(text)
	var number unitless
	if errors.As(err, &number) {
		err = k.withUnits(number)
	}
	if err == nil && k.within != nil && !k.within(v) {
		err = theExample
	}
	return v, err
}

// Format prints a value as Parse reads it.
func (k Kind[T]) Format(v T) string { return k.format(v) }

// Schema describes the kind to editors.
func (k Kind[T]) Schema() *jsonschema.Schema {
	s := k.schema()
	if s.Type != "boolean" && len(s.Enum) == 0 { // which say themselves what to write
		s.Examples = []any{jsonOf(s, k.Example)}
	}
	return s
}

// Like returns the kind with another example.
func (k Kind[T]) Like(example string) Kind[T] {
	k.Example = example
	return k
}

// Where returns the kind with less in it: in words, "in whole milliseconds".
func (k Kind[T]) Where(words string, within func(T) bool) Kind[T] {
	all := k.within
	k.Takes += ", " + words
	k.within = func(v T) bool { return (all == nil || all(v)) && within(v) }
	return k
}

// As returns the kind as another type, such as bytes that are kept in a float64.
func As[U, T int | int64 | float64 | time.Duration](k Kind[T]) Kind[U] {
	return Kind[U]{Takes: k.Takes, Example: k.Example, schema: k.schema,
		read: func(text string) (U, error) {
			v, err := k.value(text)
			if err == nil && T(U(v)) != v {
				return 0, remedy("write a whole number")
			}
			return U(v), err
		},
		format: func(v U) string { return k.format(T(v)) }}
}

// Seconds returns a kind of times as one of seconds.
func Seconds(k Kind[time.Duration]) Kind[float64] {
	return Kind[float64]{Takes: k.Takes, Example: k.Example, schema: k.schema,
		read:   func(text string) (float64, error) { v, err := k.value(text); return v.Seconds(), err },
		format: func(v float64) string { return k.format(time.Duration(math.Round(v * 1e9))) }}
}

// asError returns why a text was refused.
func asError(err error) *Error {
	e := &Error{Takes: err.Error()}
	errors.As(err, &e)
	return e
}

// remedy is what to write in place of a text; "" for the kind's example.
type remedy string

func (r remedy) Error() string { return string(r) }

// theExample is the remedy of a text that is nothing like a value: the example of the kind.
const theExample remedy = ""

// bounds returns the bounds of a kind as text: "from 1 to 4". An upper bound of limit or more is left out: it only
// refuses absurd values.
func bounds[T int64 | float64 | time.Duration](low, least, high, limit T, format func(T) string) string {
	text := "from " + format(low)
	if low == least {
		text = "above 0"
	}
	switch {
	case high >= limit:
		return text
	case low == least:
		return text + ", up to " + format(high)
	}
	return text + " to " + format(high)
}

// Size is a number of bytes between two.
func Size(low, high int64) Kind[int64] {
	return Kind[int64]{
		Takes: "a size " + bounds(low, 1, high, 1<<50, units.FormatSize), Example: exampleIn(low, high, "4GiB", 4<<30),
		read: parseSize, format: units.FormatSize, within: func(n int64) bool { return n >= low && n <= high },
		schema: func() *jsonschema.Schema { return textOrNumber(sizePattern, "integer", wholes(low, high)) },
	}
}

// MeanSize is a mean of sizes between two, which may be a fraction of a byte.
func MeanSize(low, high int64) Kind[float64] {
	k := As[float64](Size(low, high))
	read := k.read
	k.read = func(text string) (float64, error) {
		if v, err := strconv.ParseFloat(text, 64); err == nil && v >= float64(low) && v <= float64(high) {
			return v, nil
		}
		return read(text)
	}
	k.format = func(v float64) string {
		if v == math.Trunc(v) {
			return units.FormatSize(int64(v))
		}
		return formatNumber(v)
	}
	k.schema = func() *jsonschema.Schema { return textOrNumber(sizePattern, "number", wholes(low, high)) }
	return k
}

// Bytes is any size of more than nothing.
var Bytes = Size(1, math.MaxInt64)

// exampleIn returns an example of a size, or the upper bound where the example is out of bounds.
func exampleIn(low, high int64, example string, bytes int64) string {
	if bytes < low || bytes > high {
		return units.FormatSize(high)
	}
	return example
}

// Bandwidth is bytes a second.
func Bandwidth(low, high int64) Kind[int64] {
	format := func(n int64) string { return units.FormatSize(n) + "/s" }
	return Kind[int64]{
		Takes: "bytes a second " + bounds(low, 1, high, 1e12, format), Example: "500MB/s",
		read: parseBandwidth, format: format, within: func(n int64) bool { return n >= low && n <= high },
		schema: func() *jsonschema.Schema { return textOrNumber(bandwidthPattern, "integer", wholes(low, high)) },
	}
}

// Duration is a time between two.
func Duration(low, high time.Duration) Kind[time.Duration] {
	example := "10s"
	if high < 10*time.Second {
		example = "5ms"
	}
	takes := "a time " + bounds(low, 1, high, math.MaxInt64, FormatDuration)
	if low == 0 && high == math.MaxInt64 {
		takes = "a time, or 0s for none"
	}
	return Kind[time.Duration]{
		Takes: takes, Example: example,
		read: parseDuration, format: FormatDuration, within: func(d time.Duration) bool { return d >= low && d <= high },
		schema: func() *jsonschema.Schema {
			if low == 0 { // which needs no unit
				return textOrNumber(durationPattern, "integer", [2]json.Number{"0", "0"})
			}
			return &jsonschema.Schema{Type: "string", Pattern: durationPattern}
		},
	}
}

// Rate is operations a second between two: never a size.
func Rate(low, high float64) Kind[float64] {
	return Kind[float64]{
		Takes: "operations a second " + bounds(low, math.SmallestNonzeroFloat64, high, 1e12, formatNumber), Example: "1500",
		read: parseRate, format: formatNumber, within: func(x float64) bool { return x >= low && x <= high },
		schema: func() *jsonschema.Schema { return textOrNumber(ratePattern, "number", numbers(low, high)) },
	}
}

// Count is a whole number between two.
func Count(low, high int) Kind[int] {
	return As[int](Whole(int64(low), int64(high)))
}

// Whole is a Count of 64 bits.
func Whole(low, high int64) Kind[int64] {
	takes := "a whole number " + bounds(low, math.MinInt64, high, 1e12, formatWhole)
	return Kind[int64]{
		Takes: takes, Example: formatWhole(min(max(low, 4), high)),
		read: parseWhole, format: formatWhole, within: func(n int64) bool { return n >= low && n <= high },
		schema: func() *jsonschema.Schema { return textOrNumber(wholePattern, "integer", wholes(low, high)) },
	}
}

// Seed is what random numbers begin with: a Whole of all 64 bits.
var Seed = Kind[uint64]{
	Takes: "a whole number from 0 to 2^64-1", Example: "1",
	read: func(text string) (uint64, error) {
		if digits.MatchString(text) {
			seed, err := strconv.ParseUint(text, 10, 64)
			if err != nil {
				return 0, remedy("write less: it is more than there is room for")
			}
			return seed, nil
		}
		n, err := parseWhole(text)
		return uint64(n), err
	},
	format: func(n uint64) string { return strconv.FormatUint(n, 10) },
	schema: func() *jsonschema.Schema { return textOrNumber(wholePattern, "integer", [2]json.Number{"0", ""}) },
}

// Number is any number between two.
func Number(low, high float64) Kind[float64] {
	return Kind[float64]{
		Takes:   "a number " + bounds(low, math.SmallestNonzeroFloat64, high, math.MaxFloat64, formatNumber),
		Example: formatNumber(min(max(low, 0.5), high)),
		read:    parseNumber,
		format:  formatNumber,
		within:  func(x float64) bool { return x >= low && x <= high },
		schema: func() *jsonschema.Schema {
			is := numbers(low, high)
			return &jsonschema.Schema{Type: "number", Minimum: is[0], Maximum: is[1]}
		},
	}
}

// Share is a part of a whole, 0 to 1, that within admits; in words, "above 0% and below 100%".
func Share(example, in string, within func(share float64) bool) Kind[float64] {
	return Kind[float64]{
		Takes: "a share " + in, Example: example,
		read: parseShare, format: formatShare, within: within,
		schema: func() *jsonschema.Schema { return textOrNumber(sharePattern, "number", numbers(0, 1)) },
	}
}

// AboveZero is any number above 0.
var AboveZero = Number(math.SmallestNonzeroFloat64, math.MaxFloat64)

// Portion is a Share above 0% and below 100%.
func Portion(example string) Kind[float64] {
	return Share(example, "above 0% and below 100%", func(share float64) bool { return share > 0 && share < 1 })
}

// Switch is yes or no.
var Switch = Kind[bool]{
	Takes: "true or false", Example: "true",
	read: parseSwitch, format: strconv.FormatBool,
	schema: func() *jsonschema.Schema { return &jsonschema.Schema{Type: "boolean"} },
}

// OneOf is one of some words.
func OneOf[T ~string](known ...T) Kind[T] {
	words := make([]string, len(known))
	for i, w := range known {
		words[i] = string(w)
	}
	return Kind[T]{
		Takes: "one of " + strings.Join(words, ", "), Example: words[0],
		read: func(text string) (T, error) {
			if !slices.Contains(words, text) {
				near := suggest.Closest(text, words)
				if near == "" {
					return "", theExample
				}
				return "", remedy(fmt.Sprintf("did you mean %q?", near))
			}
			return T(text), nil
		},
		format: func(v T) string { return string(v) },
		schema: func() *jsonschema.Schema {
			s := &jsonschema.Schema{Type: "string"}
			for _, w := range words {
				s.Enum = append(s.Enum, w)
			}
			return s
		},
	}
}

// Word is one word, such as the name of an image, that is safe as an argument of a program.
func Word(takes, example string) Kind[string] {
	return Text(takes, example, func(text string) bool {
		odd := func(r rune) bool { return r <= ' ' || r > '~' }
		return text != "" && !strings.HasPrefix(text, "-") && !strings.ContainsFunc(text, odd)
	})
}

// Text is a text that admits accepts.
func Text(takes, example string, admits func(text string) bool) Kind[string] {
	return Kind[string]{
		Takes: takes, Example: example, within: admits,
		read:   func(text string) (string, error) { return text, nil },
		format: func(v string) string { return v },
		schema: func() *jsonschema.Schema { return &jsonschema.Schema{Type: "string"} },
	}
}

// textOrNumber is a text with a unit, or a number in a range.
func textOrNumber(pattern, number string, within [2]json.Number) *jsonschema.Schema {
	return &jsonschema.Schema{OneOf: []*jsonschema.Schema{
		{Type: "string", Pattern: pattern}, {Type: number, Minimum: within[0], Maximum: within[1]},
	}}
}

// wholes and numbers are ranges in schemas, with "" where there is no bound.
func wholes(low, high int64) (within [2]json.Number) {
	within[0] = json.Number(formatWhole(low))
	if high < math.MaxInt64 {
		within[1] = json.Number(formatWhole(high))
	}
	return within
}

func numbers(low, high float64) (within [2]json.Number) {
	if low > -math.MaxFloat64 {
		within[0] = json.Number(formatNumber(low))
	}
	if high < math.MaxFloat64 {
		within[1] = json.Number(formatNumber(high))
	}
	return within
}

func formatWhole(n int64) string { return strconv.FormatInt(n, 10) }

func formatNumber(x float64) string {
	if x != 0 && (math.Abs(x) < 1e-6 || math.Abs(x) >= 1e21) {
		return strconv.FormatFloat(x, 'e', -1, 64)
	}
	return strconv.FormatFloat(x, 'f', -1, 64)
}

// formatShare prints 0.07 as 7%, and not as 7.000000000000001%.
func formatShare(x float64) string {
	percent := 100 * x
	if rounded := math.Round(percent*1e9) / 1e9; rounded/100 == x {
		percent = rounded
	}
	return formatNumber(percent) + "%"
}

// FormatDuration returns a time without units that are 0: 1h30m, and not 1h30m0s.
func FormatDuration(d time.Duration) string {
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}
