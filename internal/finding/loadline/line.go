package loadline

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"plimsoll/internal/finding/fact"
	"plimsoll/internal/finding/threshold"
	"plimsoll/internal/result"
	"plimsoll/internal/runview"
	"plimsoll/internal/stats"
)

// lineSamples is how many samples the interval of a load line is of.
const lineSamples = 2000

// setup is the trials of one setup, or some of them drawn with replacement.
type setup struct {
	runview.Unit
	key   [2]int             // round and setup
	drawn []int              // indices of trials, ascending
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
}

// lineFor returns how many instances do what an objective asks for. Its interval is
// by bootstrap: setups are drawn with replacement, the same ones for all numbers of
// instances, which thereby share what a region of the disk and an hour did to them; and
// of each the trials. Trials whose setups are not known are drawn one by one. The same
// arguments give the same line, and the order of trials does not matter.
func lineFor(s runview.Series, o fact.Objective, seed uint64) Line {
	line := Line{Objective: o, Fit: s.Fit, room: s.Room}
	var all []numbered
	for i, c := range s.Cells() {
		all = append(all, numbered{s.Levels[i].Count(), setupsOf(c)})
		if n := len(all[i].setups); i == 0 || n < line.BringUps {
			line.BringUps = n
		}
	}
	line.Enough, line.Instances = lineOf(o, all)
	if line.BringUps >= stats.FewestPairs {
		line.Odds = oddsOf(o, all, seed)
		line.Low, line.High = middle(line.Odds)
	}
	line.Next, line.NextWhy = nextOf(line, all)
	return line
}

func setupsOf(c *runview.Cell) (all []setup) {
	rates, known := slices.Clone(c.Rates), c.Rates.Nested()
	if !known { // their order is that of trials, which is random
		slices.SortFunc(rates, func(a, b runview.Unit) int { return cmp.Compare(a.Values[0], b.Values[0]) })
	}
	for i, u := range rates {
		s := setup{Unit: u, key: [2]int{u.Round, u.Setup}, tails: map[string]float64{}}
		if !known {
			s.key = [2]int{-1, i}
		}
		for at := range u.Values {
			s.drawn = append(s.drawn, at)
		}
		all = append(all, s)
	}
	return all
}

// lineOf are the fewest and the most instances that do as much as any number does, of those
// that meet an objective: the medians of setups. Both are on one stretch with the number
// that does most. 0 when none meets it.
func lineOf(o fact.Objective, all []numbered) (fewest, most int) {
	rates := make([]float64, len(all))
	for i, n := range all {
		rate := n.median(setup.rate)
		switch {
		case o.Unknown():
		case o.P99NS > 0 && !(n.median(setup.p99) <= o.P99NS):
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
	return all[from].instances, all[to].instances
}

// median is the median of setups; NaN where one of them does not tell.
func (n numbered) median(of func(setup) float64) float64 {
	values := make([]float64, len(n.setups))
	for i, s := range n.setups {
		values[i] = of(s)
	}
	if slices.ContainsFunc(values, math.IsNaN) {
		return math.NaN()
	}
	return stats.Median(values)
}

// oddsOf draws setups, and trials in them, and counts where the line is.
func oddsOf(o fact.Objective, all []numbered, seed uint64) (odds []Odds) {
	var keys [][2]int
	for _, n := range all {
		for _, b := range n.setups {
			if !slices.Contains(keys, b.key) {
				keys = append(keys, b.key)
			}
		}
	}
	slices.SortFunc(keys, func(a, b [2]int) int { return cmp.Or(cmp.Compare(a[0], b[0]), cmp.Compare(a[1], b[1])) })
	rng := rand.New(rand.NewPCG(seed, 1))
	counts := map[int]int{}
	for range lineSamples {
		drawn := make([][2]int, len(keys))
		for i := range drawn {
			drawn[i] = keys[rng.IntN(len(keys))]
		}
		sample := make([]numbered, len(all))
		for i, n := range all {
			sample[i] = n.resample(drawn, rng)
		}
		_, most := lineOf(o, sample)
		counts[most]++
	}
	for _, n := range all {
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
	out := numbered{instances: n.instances}
	for _, key := range drawn {
		at := slices.IndexFunc(n.setups, func(s setup) bool { return s.key == key })
		if at < 0 {
			continue // these were not measured in it
		}
		again := n.setups[at]
		again.drawn = nil
		for range again.Trials {
			again.drawn = append(again.drawn, rng.IntN(len(again.Trials)))
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
	below := 0.0
	for _, o := range odds {
		if below <= threshold.LikelyLine {
			low = o.Instances
		}
		if below < sum-threshold.LikelyLine {
			high = o.Instances
		}
		below += o.Share
	}
	return low, high
}

// nextOf is which number of instances would tell most of where the line is: beyond what was
// measured where that is its end; else in the gap above a number that may be the line, the
// widest by ratio and by odds; else in one below it, where all together may do more: they do
// at most what each of fewer does.
func nextOf(line Line, all []numbered) (next int, why Next) {
	first, last := all[0].instances, all[len(all)-1].instances
	more, beyond := furtherOf(line, all)
	switch {
	case line.Objective.Unknown():
		return 1, NextAlone
	case line.Instances == 0 && first > 1:
		return first / 2, NextBelow
	case line.Instances == 0:
		return 0, ""
	case line.Instances == last:
		return more, beyond
	}
	most := 0.0
	for _, n := range all {
		rate := n.median(setup.rate)
		most = max(most, rate)
	}
	widest, below := 0.0, 0
	for i, above := range all[1:] {
		a, b := all[i].instances, above.instances
		if b-a < 2 {
			continue
		}
		between := min(b-1, max(a+1, int(math.Round(math.Sqrt(float64(a*b))))))
		rate := all[i].median(setup.rate)
		if a < line.Instances && threshold.Valley*rate*float64(between)/float64(a) > most {
			below = between
		}
		width := line.ShareOf(a) * math.Log(float64(b)/float64(a))
		if width > widest {
			widest, next = width, between
		}
	}
	switch {
	case next > 0:
		return next, NextBetween
	case line.High == last && more > 0:
		return more, beyond
	case below > 0:
		return below, NextBetween
	case line.Low < line.High:
		return 0, NextAgain
	}
	return 0, ""
}

// furtherOf is as many times more than the most instances as these are to the number before, and no more than a run would
// take: 0 where there is no memory for more servers.
func furtherOf(line Line, all []numbered) (more int, why Next) {
	before, last := all[len(all)-2].instances, all[len(all)-1].instances
	more = max(last+1, int(math.Round(float64(last)*float64(last)/float64(before))))
	if line.room > 0 {
		more = min(more, line.room)
	}
	if more <= last {
		return 0, ""
	}
	return more, NextBeyond
}
