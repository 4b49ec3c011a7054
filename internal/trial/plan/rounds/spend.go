package rounds

import (
	"maps"
	"math"
	"slices"

	"plimsoll/internal/stats"
)

// Ask is a question that is open, and what it takes until it may be decided.
type Ask struct {
	Points  []int   // that its blocks have, by index
	Blocks  int     // until it may be decided, at least 1
	Odds    float64 // that it then is, above 0
	Most    int     // blocks that its points may have yet
	First   bool    // one of its points has fewer blocks than anything is concluded from
	Best    bool    // it is about which point is the best
	Refines bool    // it has its verdict, and is about how large or how precise
}

// Spend returns the points, by index in ascending order, that the next block has: those of the questions that are
// decided soonest for their time. costs are the seconds of a block of each point, and rest is what may be spent.
//
// Questions with the best odds for their time come first, as many as can be decided in rest; points that several
// of them share are paid once. First ones come before all others, then those about the best, then others without a
// verdict. Where rest does not suffice for all that may be asked, questions that had their first blocks are left for
// later if their odds for the time are less than half of the best. If rest suffices for none, the best one gets it
// all: its interval becomes narrower.
func Spend(asks []Ask, costs []float64, rest float64) (next []int) {
	const worthwhile = 0.5
	scarce := takesAll(asks, costs) > rest
	rank := func(a Ask) int {
		switch {
		case a.First:
			return 0
		case a.Best:
			return 1
		case !a.Refines:
			return 2
		}
		return 3
	}
	for level := range 4 {
		blocks := map[int]int{} // of each point that was taken
		takes := func(a Ask) (seconds float64) {
			for _, p := range a.Points {
				seconds += float64(max(0, a.Blocks-blocks[p])) * costs[p]
			}
			return seconds
		}
		left := slices.DeleteFunc(slices.Clone(asks), func(a Ask) bool { return rank(a) != level })
		least := 0.0
		for spent := 0.0; len(left) > 0; {
			best := 0
			for i, a := range left {
				// A question that costs nothing more, since others have its points, comes first.
				if a.Odds*takes(left[best]) > left[best].Odds*takes(a) {
					best = i
				}
			}
			a := left[best]
			left = slices.Delete(left, best, best+1)
			seconds := takes(a)
			if spent+seconds > rest || seconds > 0 && a.Odds/seconds < least {
				continue
			}
			if level > 0 && seconds > 0 && scarce {
				least = max(least, worthwhile*a.Odds/seconds)
			}
			spent += seconds
			for _, p := range a.Points {
				blocks[p] = max(blocks[p], a.Blocks)
			}
		}
		if len(blocks) > 0 {
			return slices.Sorted(maps.Keys(blocks))
		}
	}
	return soonest(asks, costs)
}

// takesAll returns the seconds of all blocks that the points of questions may have.
func takesAll(asks []Ask, costs []float64) (seconds float64) {
	limits := map[int]int{}
	for _, a := range asks {
		for _, p := range a.Points {
			limits[p] = max(limits[p], a.Most)
		}
	}
	for _, p := range slices.Sorted(maps.Keys(limits)) {
		seconds += float64(limits[p]) * costs[p]
	}
	return seconds
}

// soonest returns the points of the question without a verdict, or else of any, with the best odds for its time.
func soonest(asks []Ask, costs []float64) []int {
	value := func(a Ask) float64 {
		seconds := 0.0
		for _, p := range a.Points {
			seconds += float64(a.Blocks) * costs[p]
		}
		return a.Odds / seconds
	}
	var best []int
	bestValue, refines := 0.0, true
	for _, a := range asks {
		v := value(a)
		if best == nil || refines && !a.Refines || refines == a.Refines && v > bestValue {
			best, bestValue, refines = a.Points, v, a.Refines
		}
	}
	best = slices.Clone(best)
	slices.Sort(best)
	return best
}

// firstOdds are those that a first look decides, of which nothing is known yet. Most differences are large.
const firstOdds = 0.5

// leastOdds are those of a question that hardly any number of blocks decides.
const leastOdds = 0.02

// Asks returns the open questions of a study: of each open comparison when the next look with the best odds for its
// blocks is, and of each open point that waits for none, when its mean is precise.
func (s Study) Asks() (all []Ask) {
	s = s.withDefaults()
	states, waiting := s.examine()
	waits := make([]bool, len(s.Points))
	for _, pair := range waiting {
		a, b := s.Points[pair[0]], s.Points[pair[1]]
		ask := Ask{Refines: s.compare(a, b) != NoVerdict, Most: s.Most - min(len(a.Values), len(b.Values))}
		for _, i := range pair {
			if states[i].Open {
				ask.Points = append(ask.Points, i)
			}
			waits[i] = waits[i] || states[i].Open
		}
		if len(ask.Points) == 0 {
			continue
		}
		x, y := common(a, b)
		ask.Blocks, ask.Odds = s.toVerdict(x, y)
		if ask.Refines {
			ask.Blocks, ask.Odds = max(1, (len(x)+1)/2), firstOdds
		}
		ask.First = len(x) < s.Fewest
		all = append(all, ask)
	}
	for _, group := range s.Groups {
		open := s.contenders(group)
		for i, p := range open {
			if i > 0 {
				all = s.askBest(all, states, open[0], p)
			}
			waits[p] = waits[p] || states[p].Open
		}
	}
	for i, state := range states {
		if !state.Open || waits[i] {
			continue
		}
		n := len(s.Points[i].Values)
		ask := Ask{Points: []int{i}, Blocks: max(1, min(s.Fewest, s.Most)-n), Odds: firstOdds, First: n < s.Fewest,
			Most: s.Most - n}
		if !ask.First {
			ask.Blocks, ask.Odds = s.toPrecise(n, state.Relative)
		}
		all = append(all, ask)
	}
	return all
}

// askBest adds the question whether a point is better than the one that does most so far.
func (s Study) askBest(asks []Ask, states []PointState, best, p int) []Ask {
	a, b := s.Points[best], s.Points[p]
	ask := Ask{Best: true, Most: s.Most - min(len(a.Values), len(b.Values))}
	for _, i := range []int{best, p} {
		if states[i].Open {
			ask.Points = append(ask.Points, i)
		}
	}
	if len(ask.Points) == 0 {
		return asks
	}
	ask.Blocks, ask.Odds = s.toVerdict(common(a, b))
	return append(asks, ask)
}

// toPrecise returns after how many blocks the mean of a point with n of them is precise, if they scatter as before.
func (s Study) toPrecise(n int, relative float64) (blocks int, odds float64) {
	for m := n + 1; m <= s.Most; m++ {
		scaled := relative * math.Sqrt(float64(n)/float64(m))
		if scaled <= s.Target {
			return m - n, firstOdds
		}
	}
	return max(1, s.Most-n), leastOdds
}

// toVerdict returns how many more pairs it is to the look whose odds of a verdict are the best for its blocks, and
// these odds: as if the logarithms of ratios were normal, with the mean and the variance that they had so far.
func (s Study) toVerdict(x, y []float64) (blocks int, odds float64) {
	n, looks := len(x), s.looks()
	blocks, odds = max(1, min(s.Fewest, s.Most)-n), firstOdds
	if n < s.Fewest {
		return blocks, odds
	}
	logs := make([]float64, n)
	for i := range x {
		logs[i] = math.Log(x[i] / y[i])
	}
	mean, squares := stats.MeanAndSquares(logs)
	variance := squares / float64(n-1)
	blocks, odds = max(1, s.Most-n), leastOdds
	for k, look := range looks {
		if look <= n {
			continue
		}
		likely := max(leastOdds, s.oddsAt(look, mean, variance, n, (1-s.Confidence)*share(k, len(looks))))
		if likely/float64(look-n) > odds/float64(blocks) {
			blocks, odds = look-n, likely
		}
	}
	return blocks, odds
}

// oddsAt returns the odds that a look at so many pairs, n of which are known, has a verdict at a level.
func (s Study) oddsAt(look int, mean, variance float64, n int, level float64) float64 {
	if !(variance > 0) || math.IsInf(variance, 0) || math.IsNaN(mean) {
		return leastOdds
	}
	twoSided := stats.StudentQuantile(1-level/2, look-1) * math.Sqrt(variance/float64(look))
	oneSided := stats.StudentQuantile(1-level, look-1) * math.Sqrt(variance/float64(look))
	// The mean of all pairs, given that of the first n.
	spread := math.Sqrt(variance * float64(look-n) / float64(look) / float64(n))
	within := func(bound float64) float64 {
		if bound <= 0 {
			return 0
		}
		return Normal((bound-mean)/spread) - Normal((-bound-mean)/spread)
	}
	return 1 - within(twoSided) + within(min(twoSided, math.Log1p(s.Target)-oneSided))
}

// Normal is the distribution function of the standard normal distribution.
func Normal(z float64) float64 { return math.Erfc(-z/math.Sqrt2) / 2 }
