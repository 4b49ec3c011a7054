package loadline

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"

	samples "plimsoll/internal/cell"
	"plimsoll/internal/finding/fact"
	"plimsoll/internal/finding/measured"
	"plimsoll/internal/result"
	"plimsoll/internal/stats"
)

// lineSamples is how many samples the interval of a load line is of.
const lineSamples = 2000

// likelyLine is the share of samples from which on a number of instances may be the line:
// what is less is outside of its 95% interval.
const likelyLine = 0.025

// trialOf is what a trial tells of an objective.
type trialOf struct{ rate, p99 float64 } // p99 is NaN where it is not known

// broughtUp is the trials of one bring-up.
type broughtUp struct {
	key    [2]int // block and bring-up
	trials []trialOf
}

// numbered is what so many instances did.
type numbered struct {
	instances int
	bringUps  []broughtUp
}

// lineFor returns how many instances do what an objective asks for. Its interval is
// by bootstrap: bring-ups are drawn with replacement, the same ones for all numbers of
// instances, which thereby share what a region of the disk and an hour did to them; and
// of each the trials. Trials whose bring-ups are not known are drawn one by one. The same
// arguments give the same line, and the order of trials does not matter.
func lineFor(s measured.Scaling, o fact.Objective, seed uint64) Line {
	line := Line{Objective: o, Fit: s.Fit, room: s.Room}
	var all []numbered
	for i, c := range s.Cells {
		all = append(all, numbered{s.Counts[i], bringUpsOf(c)})
		if n := len(all[i].bringUps); i == 0 || n < line.BringUps {
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

func bringUpsOf(c *measured.Cell) (all []broughtUp) {
	rates := samples.Take(c.Trials, func(t *result.Trial) (float64, bool) { return samples.Rate.Of(t, "") })
	known := rates.Nested()
	for i, t := range c.Trials {
		rate, ok := samples.Rate.Of(t, "")
		if !ok {
			continue
		}
		p99, ok := samples.P99.Of(t, "")
		if !ok {
			p99 = math.NaN()
		}
		key := [2]int{t.Block, t.BringUp}
		if !known {
			key = [2]int{-1, i}
		}
		at := slices.IndexFunc(all, func(b broughtUp) bool { return b.key == key })
		if at < 0 {
			all, at = append(all, broughtUp{key: key}), len(all)
		}
		all[at].trials = append(all[at].trials, trialOf{rate, p99})
	}
	for _, b := range all {
		slices.SortFunc(b.trials, compareTrials)
	}
	slices.SortFunc(all, func(a, b broughtUp) int {
		if !known {
			return compareTrials(a.trials[0], b.trials[0]) // their order is that of trials, which is random
		}
		return cmp.Or(cmp.Compare(a.key[0], b.key[0]), cmp.Compare(a.key[1], b.key[1]))
	})
	if !known {
		for i := range all {
			all[i].key = [2]int{-1, i}
		}
	}
	return all
}

func compareTrials(a, b trialOf) int {
	return cmp.Or(cmp.Compare(a.rate, b.rate), cmp.Compare(a.p99, b.p99))
}

// lineOf are the fewest and the most instances that do as much as any number does, of those
// that meet an objective: the medians of bring-ups. Both are on one stretch with the number
// that does most. 0 when none meets it.
func lineOf(o fact.Objective, all []numbered) (fewest, most int) {
	rates := make([]float64, len(all))
	for i, n := range all {
		rate, p99 := n.medians()
		switch {
		case o.Unknown():
		case o.P99NS > 0 && !(p99 <= o.P99NS):
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
	for from > 0 && rates[from-1] >= fallen*top {
		from--
	}
	for to < len(rates)-1 && rates[to+1] >= fallen*top {
		to++
	}
	return all[from].instances, all[to].instances
}

func (n numbered) medians() (rate, p99 float64) {
	var rates, tails []float64
	for _, b := range n.bringUps {
		r, p := 0.0, 0.0
		for _, t := range b.trials {
			r, p = r+t.rate, p+t.p99
		}
		count := float64(len(b.trials))
		rates, tails = append(rates, r/count), append(tails, p/count)
	}
	if len(rates) == 0 {
		return 0, math.NaN()
	}
	if slices.ContainsFunc(tails, math.IsNaN) {
		return stats.Median(rates), math.NaN()
	}
	return stats.Median(rates), stats.Median(tails)
}

// oddsOf draws bring-ups, and trials in them, and counts where the line is.
func oddsOf(o fact.Objective, all []numbered, seed uint64) (odds []Odds) {
	var keys [][2]int
	for _, n := range all {
		for _, b := range n.bringUps {
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
			sample[i] = n.redrawn(drawn, rng)
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

// redrawn is a sample of what so many instances did. Trials without bring-ups are not
// shared with other numbers of instances, and are drawn for themselves; so are the bring-ups
// of a number that was in few of them, where none of those was drawn: it did not do nothing.
func (n numbered) redrawn(drawn [][2]int, rng *rand.Rand) numbered {
	out := numbered{instances: n.instances}
	for _, key := range drawn {
		at := slices.IndexFunc(n.bringUps, func(b broughtUp) bool { return b.key == key })
		if at < 0 {
			continue // these were not measured in it
		}
		of := n.bringUps[at].trials
		again := broughtUp{key: key}
		for range of {
			again.trials = append(again.trials, of[rng.IntN(len(of))])
		}
		out.bringUps = append(out.bringUps, again)
	}
	if len(out.bringUps) > 0 {
		return out
	}
	for range n.bringUps {
		out.bringUps = append(out.bringUps, n.bringUps[rng.IntN(len(n.bringUps))])
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
	if sum < 1-likelyLine {
		return 0, 0
	}
	below := 0.0
	for _, o := range odds {
		if below <= likelyLine {
			low = o.Instances
		}
		if below < sum-likelyLine {
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
		rate, _ := n.medians()
		most = max(most, rate)
	}
	widest, below := 0.0, 0
	for i, above := range all[1:] {
		a, b := all[i].instances, above.instances
		if b-a < 2 {
			continue
		}
		between := min(b-1, max(a+1, int(math.Round(math.Sqrt(float64(a*b))))))
		rate, _ := all[i].medians()
		if a < line.Instances && fallen*rate*float64(between)/float64(a) > most {
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
