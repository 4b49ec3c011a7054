package report

import (
	"cmp"
	"math"
	"slices"
	"unicode/utf8"

	answer "plimsoll/internal/section"
)

// Lines are labelled at their ends, in a gutter at the right of the plot.
const (
	mostLabel   = 18  // letters of a label, without the star of the verdict
	labelHeight = 14  // CSS pixels from one label to the next
	labelGap    = 15  // CSS pixels from the plot to its label
	letterWidth = 6.4 // CSS pixels; the widest of usual letters at 11 px
	tickWidth   = 6.6 // CSS pixels for a letter of a tick, and the room after it
)

// label puts a name at the end of each line: beside it where there is room, and
// otherwise as near as the other names let it be.
func (f figure) label(d *drawing) {
	var ends []int
	for i, s := range d.Series {
		if s.marked != "" && s.D != "" {
			ends = append(ends, i)
		}
	}
	slices.SortStableFunc(ends, func(a, b int) int {
		return cmp.Or(cmp.Compare(d.Series[a].endY, d.Series[b].endY), cmp.Compare(d.Series[a].order, d.Series[b].order))
	})
	want := make([]float64, len(ends))
	height := float64(f.PlotHeight())
	for i, at := range ends {
		want[i] = float64(d.Series[at].endY) / 100 * height
	}
	longest := 0
	for i, y := range spread(want, labelHeight, 0, height) {
		s := &d.Series[ends[i]]
		s.Label = &endLabel{FromX: s.endX, FromY: s.endY, Y: y, Text: s.marked}
		longest = max(longest, utf8.RuneCountInString(s.marked))
	}
	if longest > 0 {
		d.Gutter = labelGap + int(letterWidth*float64(longest)) + 16 // for strong type
	}
}

// PlotHeight is the height of the area of the plot in CSS pixels: as much as
// is asked for, and room for the labels of all lines.
func (f figure) PlotHeight() int {
	if f.Kind == figureBars || f.Kind == answer.Repeats {
		return f.Height
	}
	return max(f.Height, labelHeight*len(f.seriesNames()))
}

// spread moves ascending places apart to the least distance, each by as little
// as the others allow (the least sum of squares), and keeps them within low
// and high where that is wide enough.
func spread(places []float64, least, low, high float64) []float64 {
	type cluster struct {
		sum float64
		n   int
	}
	// Less i times the distance, places must only not descend: runs that do are
	// replaced by their mean.
	var clusters []cluster
	for i, p := range places {
		clusters = append(clusters, cluster{p - float64(i)*least, 1})
		for n := len(clusters); n > 1; n = len(clusters) {
			a, b := clusters[n-2], clusters[n-1]
			if a.sum/float64(a.n) <= b.sum/float64(b.n) {
				break
			}
			clusters = append(clusters[:n-2], cluster{a.sum + b.sum, a.n + b.n})
		}
	}
	highest := max(low, high-float64(len(places)-1)*least)
	var out []float64
	for _, c := range clusters {
		for range c.n {
			out = append(out, min(max(c.sum/float64(c.n), low), highest)+float64(len(out))*least)
		}
	}
	return out
}

// fits are the widths, in CSS pixels, that plots have at least, the widest
// first, and what report.css calls a label that is not shown where a plot is
// narrower than that.
var fits = []struct {
	width float64
	class string
}{{330, ""}, {200, "fits-330"}, {110, "fits-200"}}

// thinned places the ticks, and takes the labels from those that would run
// into another: everywhere, or in narrower figures.
func thinned(ticks []valueTick, s scale) []tick {
	var out []tick
	for _, t := range ticks {
		out = append(out, tick{At: s.position(t.At), Anchor: "middle", Label: t.Label})
	}
	order := make([]int, len(out))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(out[a].At, out[b].At) })
	for _, fit := range fits {
		end := math.Inf(-1)
		for _, i := range order {
			t := &out[i]
			if t.Label == "" || t.Fits != "" {
				continue
			}
			half := tickWidth * float64(utf8.RuneCountInString(t.Label)) / 2
			center := float64(t.At) / 100 * fit.width
			switch {
			case center-half >= end:
				end = center + half
			case fit.class == "":
				t.Label = ""
			default:
				t.Fits = fit.class
			}
		}
	}
	return out
}

// mostApart is how many times the values of figures may differ that share a
// scale. Beyond it the smaller would be flat.
const mostApart = 5

// sharedReach returns for each figure's reach that of the figures whose scale
// it shares: the largest first, with all that are within mostApart times.
func sharedReach(reach []float64) []float64 {
	sorted := slices.Clone(reach)
	slices.SortFunc(sorted, func(a, b float64) int { return cmp.Compare(b, a) })
	shared := make([]float64, len(reach))
	for i, r := range reach {
		leader := 0.0
		for _, l := range sorted {
			if leader == 0 || l*mostApart < leader {
				leader = l
			}
			if l == r {
				break
			}
		}
		shared[i] = leader
	}
	return shared
}
