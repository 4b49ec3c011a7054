package stats

import (
	"cmp"
	"math"
	"slices"
)

// Margin is the difference, as a share, up to which two are said to be equally good where nothing else is asked for.
const Margin = 0.05

// Bound is what is known of a treatment beside the best of the others.
type Bound struct {
	Ratio float64 // to the best of the others
	// Low and High are ends of Ratio that hold for all treatments at the same time. Low is at most 1: how far below the
	// best the treatment may be. High is above 1 for those that may be the best.
	Low, High float64
	Margin    float64 // as a share, up to which it is equally good; 0 for the usual one
}

// MayBeBest reports whether the treatment may be the best.
func (b Bound) MayBeBest() bool { return b.High > 1 }

// WithinMargin reports whether the treatment is known to be at most its Margin below the best.
func (b Bound) WithinMargin() bool { return b.Low >= 1-cmp.Or(b.Margin, Margin) }

// Simultaneous returns the level of each of several one-sided statements that keeps all of them together wrong at most
// Alpha of the time: exact for independent ones, and on the safe side for comparisons with the same best one (Sidak
// 1967, Slepian 1962).
func Simultaneous(statements int) float64 {
	return -math.Expm1(math.Log1p(-Alpha) / float64(max(1, statements)))
}

// Best compares each of some treatments with the best of the others, by Hsu's multiple comparisons with the best
// (Annals of Statistics 12, 1984; Multiple Comparisons, 1996, chapter 4): all bounds hold together, but for level of
// the time. Those of comparisons with the same treatment are correlated, see Dunnett. ok is false where some cannot be
// compared, or their error is not known.
func (f *Fit) Best(among []int, level float64) (bounds []Bound, ok bool) {
	bounds = make([]Bound, len(among))
	low := make([][]float64, len(among)) // of the second, beside the first
	for i, a := range among {
		bounds[i] = Bound{Ratio: math.Inf(1), Low: 1, High: math.Inf(1)}
		low[i] = make([]float64, len(among))
		correlation := f.correlation(a, among)
		for j, b := range among {
			if i == j {
				continue
			}
			c, connected := f.Contrast(a, b)
			if !connected || c.Degrees < 1 {
				return nil, false
			}
			half := c.Error * Dunnett(level, len(among)-1, c.Degrees, correlation)
			low[i][j] = math.Exp(-c.Log - half)
			bounds[i].Ratio, bounds[i].High = min(bounds[i].Ratio, math.Exp(c.Log)), min(bounds[i].High, math.Exp(c.Log+half))
		}
	}
	for i := range bounds {
		for j := range bounds {
			if i != j && bounds[j].MayBeBest() {
				bounds[i].Low = min(bounds[i].Low, low[j][i])
			}
		}
	}
	return bounds, true
}

// correlation returns the least correlation of two of the contrasts of a treatment with others; 0 where it is not
// known.
func (f *Fit) correlation(a int, among []int) float64 {
	least := 1.0
	for i, b := range among {
		for _, c := range among[:i] {
			if b == a || c == a || f.piece[a] < 0 || f.piece[b] != f.piece[a] || f.piece[c] != f.piece[a] {
				continue
			}
			of := f.together(a, b, c) / math.Sqrt(f.together(a, b, b)*f.together(a, c, c))
			if math.IsNaN(of) {
				return 0
			}
			least = min(least, of)
		}
	}
	return max(0, least)
}

// Contenders returns which of some treatments need more blocks before one of them is known to be within Margin of the
// best: those that may be the best, of all where they cannot be compared yet. It is empty once one is known.
func (f *Fit) Contenders(among []int, level float64) (open []int) {
	bounds, ok := f.Best(among, level)
	if !ok {
		return slices.Clone(among)
	}
	for i, b := range bounds {
		b.Margin = f.Margin
		switch {
		case b.Ratio >= 1 && b.WithinMargin():
			return nil
		case b.MayBeBest():
			open = append(open, among[i])
		}
	}
	return open
}
