package report

import (
	"math"
	"strconv"
	"strings"
)

// The charts of the HTML report are drawn row by row: one small SVG per stack,
// with every horizontal coordinate in percent of its width and every vertical
// one in pixels. So a chart fits a phone and a sheet of paper while its type
// keeps its size, and names and values stay text that wraps and can be copied.
// Go computes the coordinates; html/template writes the elements and escapes
// what people named.

// percent is a horizontal coordinate or length, 0 to 100.
type percent float64

func (p percent) String() string {
	return strconv.FormatFloat(math.Round(float64(p)*100)/100, 'f', -1, 64) + "%"
}

// scale maps values to the width of a chart.
type scale struct {
	low, high float64 // values at 0% and 100%; low < high
	log       bool
}

// position places v, clamped to the ends of the scale. What is not a number is
// placed at the low end.
func (s scale) position(v float64) percent {
	low, high := s.low, s.high
	if s.log {
		low, high, v = math.Log(low), math.Log(high), math.Log(v)
	}
	if math.IsNaN(v) {
		return 0
	}
	return percent(100 * min(max((v-low)/(high-low), 0), 1))
}

// span is the extent of a line from low to high.
type span struct{ From, To percent }

func (s scale) span(low, high float64) span { return span{s.position(low), s.position(high)} }

// Length is the width of the span.
func (s span) Length() percent { return s.To - s.From }

// tick is a grid line with its label.
type tick struct {
	At     percent
	Anchor string // SVG text-anchor
	Label  string
	Fits   string // class of a label that not every figure has room for; "" for one that always has
}

// linearScale starts at zero and has room for high, with some space at the
// end for the mark that sits there.
func linearScale(high float64) scale {
	return scale{high: drawable(high) * linearRoom}
}

// linearRoom is how much further than its highest mark a linear scale goes.
const linearRoom = 1.04

// drawable keeps the end of a scale where floating point has digits to count
// with; no rate or latency lies outside.
func drawable(v float64) float64 {
	if !(v > 0) || math.IsInf(v, 0) {
		return 1
	}
	return min(max(v, 1e-9), 1e18)
}

// ticks gives at most n+1 round values from zero on, labelled by format.
func (s scale) ticks(n int, format func(float64) string) []tick {
	return s.label(s.steps(n), format)
}

// steps are at most n+1 round values from zero on.
func (s scale) steps(n int) []float64 {
	step := niceStep(s.high / float64(n))
	var values []float64
	for i := 0; float64(i)*step <= s.high; i++ {
		values = append(values, float64(i)*step)
	}
	return values
}

func (s scale) label(values []float64, format func(float64) string) []tick {
	var ticks []tick
	for _, v := range values {
		ticks = append(ticks, s.tick(v, format))
	}
	return ticks
}

// valueTicks labels round values where they are, not where they are drawn.
func valueTicks(values []float64, format func(float64) string) []valueTick {
	var ticks []valueTick
	for _, v := range values {
		ticks = append(ticks, valueTick{v, tickLabel(format)(v)})
	}
	return ticks
}

// niceStep is the smallest of 1, 2, 2.5, 5 times a power of ten that is not
// below v.
func niceStep(v float64) float64 {
	power := math.Pow(10, math.Floor(math.Log10(v)))
	for _, m := range []float64{1, 2, 2.5, 5} {
		if m*power >= v*(1-1e-9) {
			return m * power
		}
	}
	return 10 * power
}

// logScale spans low to high, both above zero, with a little room around.
func logScale(low, high float64) scale {
	low = drawable(low)
	return scale{low: low / 1.3, high: max(low, drawable(high)) * 1.3, log: true}
}

// decades labels the round values of a logarithmic scale.
func (s scale) decades(most int, format func(float64) string) []tick {
	return s.label(s.logSteps(most), format)
}

// logSteps gives the powers of ten on a logarithmic scale, every one or, when
// they would crowd, every second or third. A scale that holds fewer than two
// gets 1, 2 and 5 times each.
func (s scale) logSteps(limit int) []float64 {
	first, last := math.Ceil(math.Log10(s.low)), math.Floor(math.Log10(s.high))
	if last-first < 1 {
		return s.fineLogSteps(limit)
	}
	step := math.Ceil((last - first + 1) / float64(limit))
	var values []float64
	for e := first; e <= last; e += step {
		values = append(values, math.Pow(10, e))
	}
	return values
}

// readableSteps are logSteps, or 1, 2 and 5 times each power of ten where
// there is room for as many.
func (s scale) readableSteps(most int) []float64 {
	if fine := s.fineLogSteps(most + 1); len(fine) <= most {
		return fine
	}
	return s.logSteps(most)
}

func (s scale) fineLogSteps(limit int) []float64 {
	var values []float64
	for e := math.Floor(math.Log10(s.low)); e <= math.Log10(s.high); e++ {
		for _, m := range []float64{1, 2, 5} {
			v := m * math.Pow(10, e)
			if v >= s.low && v <= s.high && len(values) < limit {
				values = append(values, v)
			}
		}
	}
	return values
}

func (s scale) tick(v float64, format func(float64) string) tick {
	t := tick{At: s.position(v), Anchor: "middle", Label: format(v)}
	switch {
	case t.At < 6:
		t.Anchor = "start"
	case t.At > 94:
		t.Anchor = "end"
	}
	return t
}

// tickLabel shortens what a format gives for round values: "10.0 k" to "10 k".
func tickLabel(format func(float64) string) func(float64) string {
	return func(v float64) string {
		if v == 0 {
			return "0"
		}
		number, unit := format(v), ""
		if i := strings.IndexFunc(number, func(r rune) bool { return r != '.' && (r < '0' || r > '9') }); i >= 0 {
			number, unit = number[:i], number[i:]
		}
		if strings.Contains(number, ".") {
			number = strings.TrimRight(strings.TrimRight(number, "0"), ".")
		}
		return number + unit
	}
}
