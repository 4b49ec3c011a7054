package section

import (
	"math"
	"strconv"
	"strings"

	"plimsoll/internal/result/hist"
)

// The percentiles of a curve are evenly spaced in the logarithm of the share that takes longer: from all to one in
// 10,000.
const (
	tailSteps   = 10 // for each power of ten
	tailDecades = 4
)

// PercentileFigure returns a figure for curves of latency by percentile.
func PercentileFigure(title, note, latency string) Figure {
	f := Figure{Kind: Curves, Title: title, Note: note, Unit: "ns",
		X: Axis{Label: "percentile of I/Os, %", To: tailDecades, Named: []float64{0, math.Log10(2), 1, 2, 3, 4},
			Tick: func(u float64) string { return strings.TrimPrefix(percentileName(u), "p") }, Says: percentileName},
		Y: Axis{Label: latency, Of: Latency, Log: true}}
	for i := range tailSteps*tailDecades + 1 {
		f.Along = append(f.Along, float64(i)/tailSteps)
	}
	return f
}

// Percentiles returns the values of a curve for such a figure: of count values, whose percentiles are at a percent.
func (f Figure) Percentiles(count uint64, valueAt func(percent float64) (ns uint64, ok bool)) (curve []float64) {
	for _, u := range f.Along {
		ns, ok := valueAt(max(tailPercent(u), 1e-9))
		if !ok || !hist.Known(count, tailPercent(u)) {
			break
		}
		curve = append(curve, float64(ns))
	}
	return curve
}

func tailPercent(u float64) float64 { return 100 * (1 - math.Pow(10, -u)) }

// percentileName names a place on the axis of percentiles, which is the power of ten of the share that takes longer.
func percentileName(u float64) string {
	digits := min(max(int(math.Floor(u)), 0), 3)
	if u < 1 {
		digits = 0
	}
	percent := strconv.FormatFloat(tailPercent(u), 'f', digits, 64)
	if strings.Contains(percent, ".") {
		percent = strings.TrimRight(strings.TrimRight(percent, "0"), ".")
	}
	return "p" + percent
}
