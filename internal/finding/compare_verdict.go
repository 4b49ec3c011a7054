package finding

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"plimsoll/internal/plural"
	"plimsoll/internal/stats"
	"plimsoll/internal/units"
)

// conclude gives a comparison its verdict: the gravest one of the rows that
// decide. What both runs have and could not be compared counts as a row
// without trials.
func (c *Comparison) conclude() {
	by := map[Verdict][]ComparisonRow{}
	deciding := 0
	for _, r := range c.Rows {
		if r.Decides {
			by[r.Verdict] = append(by[r.Verdict], r)
			deciding++
		}
	}
	open := slices.DeleteFunc(slices.Clone(c.Apart), func(a Apart) bool { return a.In != inBoth })
	percent := units.Setting(c.Threshold)
	switch {
	case len(by[VerdictRegression]) > 0:
		c.Verdict = VerdictRegression
		found := by[VerdictRegression]
		worst := slices.MinFunc(found, func(a, b ComparisonRow) int { return cmp.Compare(a.goodness(), b.goodness()) })
		largest := ""
		if len(found) > 1 {
			largest = "the largest: "
		}
		c.Title = fmt.Sprintf("regression beyond %s in %d of %s: %s%s is %s of A, %s",
			percent, len(found), plural.Count(deciding, "row"), largest, worst.subject(), worst.ratioText(), pText(worst.PAdjusted))
	case deciding == 0 && len(open) == 0:
		c.Verdict = VerdictTooFew
		c.Title = "nothing to compare: no stack and workload is alike in both runs"
	case len(by[VerdictTooFew]) > 0:
		c.Verdict = VerdictTooFew
		c.Title = c.tooFew(by[VerdictTooFew], deciding)
	case len(open) > 0:
		c.Verdict = VerdictTooFew
		c.Title = fmt.Sprintf("nothing comparable of %s under %s: %s", open[0].Stack, open[0].Workload, open[0].Why)
		if len(open) > 1 {
			c.Title += fmt.Sprintf("; and so %d more", len(open)-1)
		}
	case len(by[VerdictTooNoisy]) > 0:
		c.Verdict = VerdictTooNoisy
		c.Title = c.tooNoisy(by[VerdictTooNoisy], deciding)
	default:
		c.Verdict = VerdictHolds
		c.Title = fmt.Sprintf("no regression beyond %s in %s", percent, plural.Count(deciding, "row"))
		if n := len(by[VerdictImprovement]); n > 0 {
			c.Title += fmt.Sprintf("; %d better", n)
		}
	}
}

// tooFew says of the row with the fewest trials what they could show at best.
func (c *Comparison) tooFew(rows []ComparisonRow, deciding int) string {
	least := slices.MinFunc(rows, func(a, b ComparisonRow) int { return cmp.Compare(min(a.A.N, a.B.N), min(b.A.N, b.B.N)) })
	where := fmt.Sprintf("in %d of %s", len(rows), plural.Count(deciding, "row"))
	remedy := fmt.Sprintf("repeat each %d times", repeatsFor(max(1, c.Family), c.Alpha))
	if min(least.A.N, least.B.N) == 0 {
		return fmt.Sprintf("too few trials to tell %s: %s has %d in A and %d in B", where, least.subject(), least.A.N, least.B.N)
	}
	if small := smallest(least.A.N, least.B.N, c.Family); small < c.Alpha {
		return fmt.Sprintf("too few trials to tell %s: %s against %d have no interval; repeat each %d times or more",
			where, plural.Count(least.A.N, "trial"), least.B.N, stats.FewestPairs)
	}
	together := ""
	if c.Family > 1 {
		together = fmt.Sprintf(", and %d rows are judged together", c.Family)
	}
	return fmt.Sprintf("too few trials to tell %s: p is %s at best with %d against %s%s; %s",
		where, units.Digits(smallest(least.A.N, least.B.N, c.Family)), least.A.N, plural.Count(least.B.N, "trial"), together, remedy)
}

// tooNoisy names the widest interval, and what it would take.
func (c *Comparison) tooNoisy(rows []ComparisonRow, deciding int) string {
	widest := slices.MaxFunc(rows, func(a, b ComparisonRow) int { return cmp.Compare(a.width(), b.width()) })
	text := fmt.Sprintf("too noisy to tell: a regression beyond %s could hide in %d of %s", units.Setting(c.Threshold), len(rows), plural.Count(deciding, "row"))
	if widest.Low == nil {
		return fmt.Sprintf("%s; of %s a trial measured nothing", text, widest.subject())
	}
	return fmt.Sprintf("%s; widest is %s, %s of A; about %s of each, longer trials or a quieter host would tell",
		text, widest.subject(), widest.ratioText(), units.Rate(roundedUp(widest.repeatsAgainstNoise(c.Threshold)))+" trials")
}

// goodness is below 0 for what is worse in B.
func (r ComparisonRow) goodness() float64 {
	if r.Ratio == nil {
		return 0
	}
	return r.better * math.Log(*r.Ratio)
}

// width is that of the interval, in logarithms.
func (r ComparisonRow) width() float64 {
	if r.Low == nil {
		return math.Inf(1)
	}
	return math.Log(*r.High / *r.Low)
}

func (r ComparisonRow) subject() string {
	for _, m := range Metrics() {
		if m.ID == r.Metric {
			return fmt.Sprintf("%s of %s under %s", m.Name, r.Stack, r.Workload)
		}
	}
	return r.Stack + " under " + r.Workload
}

func (r ComparisonRow) ratioText() string {
	switch {
	case r.Ratio == nil:
		return "no ratio"
	case r.Low == nil:
		return units.Times(*r.Ratio) + "x"
	}
	return fmt.Sprintf("%sx (%s to %s)", units.Times(*r.Ratio), units.Times(*r.Low), units.Times(*r.High))
}

// roundedUp keeps two digits: it is an estimate.
func roundedUp(n int) float64 {
	unit := math.Pow(10, max(0, math.Floor(math.Log10(float64(max(1, n))))-1))
	return math.Ceil(float64(n)/unit) * unit
}
