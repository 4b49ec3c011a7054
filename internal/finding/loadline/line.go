package loadline

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"

	"plimsoll/internal/fact"
	"plimsoll/internal/fact/threshold"
	"plimsoll/internal/result"
	"plimsoll/internal/runview"
	"plimsoll/internal/stats"
)

// lineSamples is how many samples the interval of a load line is of.
const lineSamples = 2000

// setup is the trials of one setup, or some of them drawn with replacement.
type setup struct {
	*measured
	drawn []int // indices of trials, ascending
}

// measured is the trials of one setup, which all that are drawn from it share.
type measured struct {
	runview.Unit
	key   [2]int             // round and setup
	tails map[string]float64 // p99 of trials that were drawn together, by their indices; NaN where it is not known
}

func (s setup) rate() float64 {
	sum := 0.0
	for _, i := range s.drawn {
		sum += s.Values[i]
	}
	return sum / float64(len(s.drawn))
}

func (s setup) p99() float64 {
	key := fmt.Sprint(s.drawn)
	known, ok := s.tails[key]
	if ok {
		return known
	}
	drawn := make([]*result.Trial, len(s.drawn))
	for i, at := range s.drawn {
		drawn[i] = s.Trials[at]
	}
	p99, ok := runview.P99.Together(drawn, "")
	if !ok {
		p99 = math.NaN()
	}
	s.tails[key] = p99
	return p99
}

// numbered has the setups of a number of instances.
type numbered struct {
	instances int
	setups    []setup
	p99Known  bool // every setup has operations enough for it
}

// lineFor returns how many instances do what an objective asks for. Its interval is
// by bootstrap: setups are drawn with replacement, the same ones for all numbers of
// instances, which thereby share what a region of the disk and an hour did to them; and
// of each the trials. Trials whose setups are not known are drawn one by one. The same
// arguments give the same line, and the order of trials does not matter.
func lineFor(s runview.Series, o fact.Objective, seed uint64) Line {
	line := Line{Objective: o, Fit: s.Fit, room: s.Room}
	var counts []numbered
	for i, c := range s.Cells() {
		_, enough := c.Operations(runview.P99)
		counts = append(counts, numbered{s.Levels[i].Count(), setupsOf(c), enough})
		if o.P99NS > 0 && !enough {
			line.Unknown = append(line.Unknown, s.Levels[i].Count())
		}
		if n := len(counts[i].setups); i == 0 || n < line.BringUps {
			line.BringUps = n
		}
	}
	line.Enough, line.Instances = lineOf(o, counts)
	if line.BringUps >= stats.FewestPairs {
		line.Odds = oddsOf(o, counts, seed)
		line.Low, line.High = middle(line.Odds)
	}
	line.Next, line.NextWhy = nextOf(line, counts)
	return line
}

func setupsOf(c *runview.Cell) (setups []setup) {
	rates, known := slices.Clone(c.Rates), c.Rates.Nested()
	if !known { // their order is that of trials, which is random
		slices.SortFunc(rates, func(a, b runview.Unit) int { return cmp.Compare(a.Values[0], b.Values[0]) })
	}
	for i, u := range rates {
		s := setup{measured: &measured{Unit: u, key: [2]int{u.Round, u.Setup}, tails: map[string]float64{}}}
		if !known {
			s.key = [2]int{-1, i}
		}
		for at := range u.Values {
			s.drawn = append(s.drawn, at)
		}
		setups = append(setups, s)
	}
	return setups
}

// lineOf returns the smallest and the largest number of instances that do as much as any number does, of those that are
// known to meet an objective, by medians of setups. All numbers between them do as much, too; the number that does most
// is one of these. Both are 0 if no number meets the objective.
func lineOf(o fact.Objective, counts []numbered) (smallest, largest int) {
	rates := make([]float64, len(counts))
	var p99s []float64
	if o.P99NS > 0 {
		p99s = risingP99s(counts)
	}
	for i, n := range counts {
		rate := n.median(setup.rate)
		switch {
		case o.Unknown():
		case o.P99NS > 0 && !(p99s[i] <= o.P99NS):
		case o.EachRate > 0 && rate < o.EachRate*float64(n.instances):
		default:
			rates[i] = rate
		}
	}
	top := slices.Max(rates)
	if !(top > 0) {
		return 0, 0
	}
	from := slices.Index(rates, top)
	to := from
	for from > 0 && rates[from-1] >= threshold.Valley*top {
		from--
	}
	for to < len(rates)-1 && rates[to+1] >= threshold.Valley*top {
		to++
	}
	return counts[from].instances, counts[to].instances
}

// risingP99s returns the p99 of each number of instances, NaN where it is not known. More instances do not make
// operations faster, so that where a p99 falls it is a matter of chance, and all those around it say what it is:
// isotonic regression of their logarithms, weighted by setups.
func risingP99s(counts []numbered) []float64 {
	p99s := make([]float64, len(counts))
	var known []int
	var logs, weights []float64
	for i, n := range counts {
		p99s[i] = math.NaN()
		if !n.p99Known {
			continue
		}
		if median := n.median(setup.p99); median > 0 {
			known, logs, weights = append(known, i), append(logs, math.Log(median)), append(weights, float64(len(n.setups)))
			p99s[i] = median
		}
	}
	for k, fitted := range stats.Isotonic(logs, weights) {
		if fitted != logs[k] { // as it was measured, where it rises
			p99s[known[k]] = math.Exp(fitted)
		}
	}
	return p99s
}

// median returns the median of a value over setups; NaN if it is not known of one of them.
func (n numbered) median(value func(setup) float64) float64 {
	values := make([]float64, len(n.setups))
	for i, s := range n.setups {
		values[i] = value(s)
	}
	if slices.ContainsFunc(values, math.IsNaN) {
		return math.NaN()
	}
	return stats.Median(values)
}

// keysByRun returns the keys of all setups, those of each pooled run together.
func keysByRun(counts []numbered) (runs [][][2]int) {
	byRun := map[int][][2]int{}
	for _, n := range counts {
		for _, b := range n.setups {
			if !slices.Contains(byRun[b.Run], b.key) {
				byRun[b.Run] = append(byRun[b.Run], b.key)
			}
		}
	}
	for _, run := range slices.Sorted(maps.Keys(byRun)) {
		keys := byRun[run]
		slices.SortFunc(keys, func(a, b [2]int) int { return cmp.Or(cmp.Compare(a[0], b[0]), cmp.Compare(a[1], b[1])) })
		runs = append(runs, keys)
	}
	return runs
}

// oddsOf draws pooled runs, setups in them, and trials in those, and counts where the line is.
func oddsOf(o fact.Objective, levels []numbered, seed uint64) (odds []Odds) {
	runs := keysByRun(levels)
	rng := rand.New(rand.NewPCG(seed, 1))
	counts := map[int]int{}
	for range lineSamples {
		var drawn [][2]int
		for range runs {
			keys := runs[0]
			if len(runs) > 1 {
				keys = runs[rng.IntN(len(runs))]
			}
			for range keys {
				drawn = append(drawn, keys[rng.IntN(len(keys))])
			}
		}
		sample := make([]numbered, len(levels))
		for i, n := range levels {
			sample[i] = n.resample(drawn, rng)
		}
		_, most := lineOf(o, sample)
		counts[most]++
	}
	for _, n := range levels {
		if c := counts[n.instances]; c > 0 {
			odds = append(odds, Odds{Instances: n.instances, Share: float64(c) / lineSamples})
		}
	}
	return odds
}

// resample draws one bootstrap replicate of the setups of a number of instances. Trials without setups are not
// shared with other numbers of instances, and are drawn for themselves; so are the setups
// of a number that was in few of them, where none of those was drawn: it did not do nothing.
func (n numbered) resample(drawn [][2]int, rng *rand.Rand) numbered {
	out := numbered{n.instances, make([]setup, 0, len(drawn)), n.p99Known}
	for _, key := range drawn {
		i := slices.IndexFunc(n.setups, func(s setup) bool { return s.key == key })
		if i < 0 {
			continue // these were not measured in it
		}
		again := setup{n.setups[i].measured, make([]int, len(n.setups[i].Trials))}
		for k := range again.drawn {
			again.drawn[k] = rng.IntN(len(again.drawn))
		}
		slices.Sort(again.drawn)
		out.setups = append(out.setups, again)
	}
	if len(out.setups) > 0 {
		return out
	}
	for range n.setups {
		out.setups = append(out.setups, n.setups[rng.IntN(len(n.setups))])
	}
	return out
}

// middle is the interval that leaves out at most 2.5% of the samples at either end; 0 where
// no number met the objective in more than that.
func middle(odds []Odds) (low, high int) {
	sum := 0.0
	for _, o := range odds {
		sum += o.Share
	}
	if sum < 1-threshold.LikelyLine {
		return 0, 0
	}
	cumulated := 0.0
	for _, o := range odds {
		if cumulated <= threshold.LikelyLine {
			low = o.Instances
		}
		if cumulated < sum-threshold.LikelyLine {
			high = o.Instances
		}
		cumulated += o.Share
	}
	return low, high
}

// nextOf returns the number of instances whose measurement would narrow the line most. If the line is the largest
// number measured, that is a larger one. Else it is in the gap above a number that may be the line, the widest by ratio
// and by odds. Else it is in a gap below the line where all together may do more.
func nextOf(line Line, counts []numbered) (next int, why Next) {
	first, last := counts[0].instances, counts[len(counts)-1].instances
	further, beyond := furtherOf(line, counts)
	switch {
	case line.Objective.Unknown():
		return 1, NextAlone
	case len(line.Unknown) > 0:
		return 0, NextLonger
	case line.Instances == 0 && first > 1:
		return first / 2, NextBelow
	case line.Instances == 0:
		return 0, ""
	case line.Instances == last:
		return further, beyond
	}
	highest := 0.0
	for _, n := range counts {
		rate := n.median(setup.rate)
		highest = max(highest, rate)
	}
	widest, lower := 0.0, 0
	for i, larger := range counts[1:] {
		a, b := counts[i].instances, larger.instances
		if b-a < 2 {
			continue
		}
		between := min(b-1, max(a+1, int(math.Round(math.Sqrt(float64(a*b))))))
		rate := counts[i].median(setup.rate)
		if a < line.Instances && threshold.Valley*rate*float64(between)/float64(a) > highest {
			lower = between
		}
		width := line.ShareOf(a) * math.Log(float64(b)/float64(a))
		if width > widest {
			widest, next = width, between
		}
	}
	switch {
	case next > 0:
		return next, NextBetween
	case line.High == last && further > 0:
		return further, beyond
	case lower > 0:
		return lower, NextBetween
	case line.Low < line.High:
		return 0, NextAgain
	}
	return 0, ""
}

// furtherOf returns the number of instances to measure beyond the largest: the last two numbers' ratio applied again,
// and at most as many as fit the memory; 0 if no more servers fit.
func furtherOf(line Line, counts []numbered) (further int, why Next) {
	before, last := counts[len(counts)-2].instances, counts[len(counts)-1].instances
	further = max(last+1, int(math.Round(float64(last)*float64(last)/float64(before))))
	if line.room > 0 {
		further = min(further, line.room)
	}
	if further <= last {
		return 0, ""
	}
	return further, NextBeyond
}
