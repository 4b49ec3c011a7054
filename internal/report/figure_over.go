package report

import (
	"fmt"
	"math"

	"plimsoll/internal/finding/fact"
	"plimsoll/internal/units"
)

// overHeight is the height of the plots below the load line, in CSS pixels.
const overHeight = 200

// latencies draws percentiles of latency over the number of instances.
func (s scaledFigures) latencies() (figure, bool) {
	f := figure{Kind: figureLines, Title: "Latency", Note: "of all operations, on a logarithmic scale", Height: overHeight,
		Bottom: 40, X: s.x}
	low, high := math.Inf(1), s.Line.Objective.P99NS
	for i, percent := range []float64{50, 99, 99.9} {
		name := fmt.Sprintf("p%g", percent)
		for _, p := range s.Points {
			q, ok := percentileOf(p, percent)
			if !ok {
				continue
			}
			low, high = min(low, q.NS), max(high, q.NS, q.High)
			if q.Low > 0 {
				low = min(low, q.Low)
			}
			m := mark{Series: i, Name: name, X: float64(p.Instances), Y: q.NS, Low: q.Low, High: q.High,
				Text: fmt.Sprintf("%s, %s: median %s", counted(p.Instances, "instance"), name, exactNS(q.NS))}
			if q.High > 0 {
				m.Text += fmt.Sprintf(", interval %s to %s", latencyText(q.Low), latencyText(q.High))
			}
			if percent == 99 && s.Line.Objective.TooSlow(p) {
				m.Class = classMissed
				m.Text += "; misses the objective"
			}
			f.Marks = append(f.Marks, m)
		}
	}
	if len(f.Marks) == 0 {
		return f, false
	}
	scale := logScale(low, high)
	f.Y = axis{Log: true, Low: scale.low, High: scale.high, Ticks: valueTicks(scale.readableSteps(6), latencyText)}
	if limit := s.Line.Objective.P99NS; limit > 0 {
		f.Bands = append(f.Bands, band{Class: classLimit, Y: &[2]float64{limit, limit},
			Text: "the objective: 99% of operations take at most " + latencyText(limit)})
		f.Notes = append(f.Notes, note{Class: classLimit, X: f.X.High, Y: limit, Down: -6, Before: true,
			Word: "objective: " + latencyText(limit)})
	}
	if s.P99 != nil && s.P99.Knee != nil {
		knee := *s.P99.Knee
		y := between(s.Points, knee.At, func(p fact.ScalingPoint) float64 { return math.Log(p.P99NS) })
		f.Notes = append(f.Notes, note{Class: "shape", X: knee.At, Y: math.Exp(y), Down: 22, Word: "knee of p99",
			Text: kneeText("knee: p99 grows faster", knee)})
	}
	return f, true
}

// deviceReads draws how much of what instances ask for the device has to read.
func (s scaledFigures) deviceReads() (figure, bool) {
	f := figure{Kind: figureLines, Title: "Device reads", Note: "per operation", Height: overHeight, Bottom: 40, X: s.x}
	high := 0.0
	for _, p := range s.Points {
		high = max(high, p.DeviceReads)
		f.Marks = append(f.Marks, mark{X: float64(p.Instances), Y: p.DeviceReads,
			Text: fmt.Sprintf("%s: %s reads of the device per operation", counted(p.Instances, "instance"),
				units.Exact(p.DeviceReads))})
	}
	scale := linearScale(high)
	f.Y = axis{High: scale.high, Ticks: valueTicks(scale.steps(4), units.Significant)}
	return f, high > 0
}

// pageCache draws how much of its files each instance has in memory, beside how large they
// are and its share of the memory.
func (s scaledFigures) pageCache() (figure, bool) {
	f := figure{Kind: figureLines, Title: "Page cache", Note: "of each instance", Height: overHeight, Bottom: 40, X: s.x}
	high, data := 0.0, 0.0
	for _, p := range s.Points {
		high, data = max(high, p.CacheBytes), max(data, p.DataBytes)
		f.Marks = append(f.Marks, mark{X: float64(p.Instances), Y: mib(p.CacheBytes),
			Text: fmt.Sprintf("%s: %s of page cache each", counted(p.Instances, "instance"), bytesText(int64(p.CacheBytes)))})
	}
	if !(high > 0) {
		return f, false
	}
	// What does not help to read the marks may lie outside.
	if data > 0 && data < 4*high {
		high = max(high, data)
	}
	scale := linearScale(mib(high) * 1.12)
	f.Y = axis{Label: "MiB", High: scale.high, Ticks: valueTicks(scale.steps(4), units.Grouped)}
	if data > 0 && mib(data) <= f.Y.High {
		f.Bands = append(f.Bands, band{Class: "files", Y: &[2]float64{mib(data), mib(data)},
			Text: "files of each instance: " + bytesText(int64(data))})
		f.Notes = append(f.Notes, note{Class: "guide", X: f.X.Low, Y: mib(data), Down: -6, Behind: true, Word: "its files"})
	}
	if s.Memory > 0 {
		f.Guides = append(f.Guides, guide{Class: classAlone, Word: "its share of the memory",
			Y:    func(n float64) float64 { return mib(float64(s.Memory)) / n },
			Text: fmt.Sprintf("an equal share of the %s that all have", bytesText(s.Memory))})
	}
	return f, true
}

func mib(bytes float64) float64 { return bytes / (1 << 20) }
