package verdict

import (
	"math"

	"plimsoll/internal/fact/threshold"
	"plimsoll/internal/runview"
	"plimsoll/internal/stats"
)

// BesideBest is what is known of a stack beside the best of the other candidates, under the workload under which it may
// lose most. All of these intervals hold at the same time.
type BesideBest struct {
	Stack    string  `json:"stack"`
	Workload string  `json:"workload"`
	Ratio    float64 `json:"ratio"`
	Low      float64 `json:"low"`
	High     float64 `json:"high"`
	Margin   float64 `json:"margin"` // up to which a loss makes no difference
}

// MayLose returns how far below the best the stack may be, as a share.
func (b BesideBest) MayLose() float64 { return max(0, 1-b.Low) }

// withinMargin reports whether the stack is known to do as well as the best.
func (b BesideBest) withinMargin() bool {
	return stats.Bound{Low: b.Low, Margin: b.Margin}.WithinMargin()
}

// contest is what is known of candidates beside the best of them.
type contest struct {
	view   *runview.View
	level  float64                       // of each of the statements that have to hold together
	picked float64                       // of comparisons with the pick: the same data chose it, so any two may be compared
	bounds map[*runview.Stack]BesideBest // each candidate compared with the best of the others
	loses  map[*runview.Stack]float64    // share that a candidate is known to be below the best under some workload
}

// contestOf compares candidates with the best of them by one procedure, multiple comparisons with the best: the
// workload under which a candidate may lose most counts. Where some comparison is not known, no candidate has a
// bound.
func contestOf(v *runview.View, ranked []candidate) contest {
	c := contest{view: v, bounds: map[*runview.Stack]BesideBest{}, loses: map[*runview.Stack]float64{}}
	if len(ranked) == 0 {
		return c
	}
	c.level = stats.Simultaneous((len(ranked) - 1) * len(ranked[0].cells))
	c.picked = stats.Simultaneous(len(ranked) * (len(ranked) - 1) * len(ranked[0].cells))
	if len(ranked) == 1 {
		return c
	}
	for w := range ranked[0].cells {
		var cells []*runview.Cell
		for _, one := range ranked {
			cells = append(cells, one.cells[w])
		}
		bounds, ok := v.Best(cells, stats.Alpha)
		if !ok {
			return contest{view: v, level: c.level, picked: c.picked}
		}
		for i, b := range bounds {
			s := ranked[i].stack
			c.loses[s] = max(c.loses[s], 1-b.High)
			if worst, known := c.bounds[s]; !known || b.Low < worst.Low || b.Low == worst.Low && b.Ratio < worst.Ratio {
				c.bounds[s] = BesideBest{s.Name, cells[i].Workload.Name, b.Ratio, b.Low, b.High, b.Margin}
			}
		}
	}
	return c
}

// asGood reports whether a candidate is known to do as well as the best under every workload.
func (c contest) asGood(s *runview.Stack) bool {
	b, known := c.bounds[s]
	return known && b.withinMargin()
}

// worse reports whether a candidate is known to lose more, under some workload, than the other may lose under any:
// what it does under the others makes no difference then.
func (c contest) worse(one, other candidate) bool {
	b, known := c.bounds[other.stack]
	return known && c.loses[one.stack] > b.MayLose()
}

// maybe reports whether a candidate may be as fast as another one, for all that is known, under every workload.
func (c contest) maybe(a, b candidate) bool {
	for i := range a.cells {
		r, ok := c.view.Range(a.cells[i], b.cells[i], c.level)
		if ok && r.High < 1 {
			return false
		}
	}
	return true
}

// equals reports whether two candidates are known to be within the margin of each other under every workload.
func (c contest) equals(a, b candidate) bool {
	for i := range a.cells {
		r, ok := c.view.Range(a.cells[i], b.cells[i], c.level)
		if !ok || r.Low < 1-c.view.Margin() || r.High > 1/(1-c.view.Margin()) {
			return false
		}
	}
	return true
}

// overall returns the geometric mean of the ratios of two candidates over all workloads; 0 where it may be 1, or is
// hardly visible.
func (c contest) overall(a, b candidate) float64 {
	var sum, squares float64
	degrees := math.MaxInt
	for i := range a.cells {
		contrast, ok := c.view.Contrast(a.cells[i], b.cells[i])
		if !ok {
			return 0
		}
		sum, squares, degrees = sum+contrast.Log, squares+contrast.Error*contrast.Error, min(degrees, contrast.Degrees)
	}
	n := float64(len(a.cells))
	mean := stats.Contrast{Log: sum / n, Error: math.Sqrt(squares) / n, Degrees: degrees}
	low, high := mean.Interval(c.view.AtLook(c.level))
	ratio := math.Exp(mean.Log)
	if !(low > 1) && !(high < 1) || max(ratio, 1/ratio) < threshold.Visible {
		return 0
	}
	return ratio
}
