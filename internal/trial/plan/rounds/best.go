package rounds

import (
	"math"

	"plimsoll/internal/stats"
)

// contenders returns the points of a group that need more blocks before it is known which of them is the best, or that
// one is within Margin of it; the one that does most so far is the first. It is empty once that is known, and
// before each point has as many blocks as anything is concluded from. Each look has its share of the level.
func (s Study) contenders(group []int) (open []int) {
	var measured []int
	var cells []stats.Cell
	blocks := math.MaxInt
	for _, p := range group {
		point := s.Points[p]
		if isIdle(point) || point.Ended != "" && len(point.Values) < s.Fewest {
			continue
		}
		if len(point.Values) < s.Fewest {
			return nil
		}
		blocks = min(blocks, len(point.Values))
		for i, v := range point.Values {
			if !(v > 0) || math.IsInf(v, 0) {
				return nil
			}
			cells = append(cells, stats.Cell{Treatment: len(measured), Block: point.block(i), Logs: []float64{math.Log(v)}})
		}
		measured = append(measured, p)
	}
	if len(measured) < 2 {
		return nil
	}
	fit := stats.FitTwoWay(cells)
	fit.Margin = s.Margin
	among := make([]int, len(measured))
	for i := range among {
		among[i] = i
	}
	best := 0
	for i := range among {
		if fit.Effect(i) > fit.Effect(best) {
			best = i
		}
	}
	level := stats.Alpha * s.shareOf(blocks)
	for _, i := range fit.Contenders(among, level) {
		if i != best {
			open = append(open, measured[i])
		}
	}
	if len(open) > 0 {
		open = append([]int{measured[best]}, open...)
	}
	return open
}

// shareOf returns the share of the level that the last look has that so many blocks allow.
func (s Study) shareOf(blocks int) float64 {
	looks := s.looks()
	last := 0
	for k, look := range looks {
		if look <= blocks {
			last = k
		}
	}
	return share(last, len(looks))
}
