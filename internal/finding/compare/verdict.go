package compare

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"plimsoll/internal/result"
	"plimsoll/internal/runview"
	"plimsoll/internal/stats"
	"plimsoll/internal/units"
	"plimsoll/internal/units/plural"
)

// conclude returns a comparison its verdict: the gravest one of the rows that
// decide. A point of a curve does so only where it is worse by itself. What both runs have and could not be compared counts as a row
// without trials.
func (c *Comparison) conclude() {
	byVerdict := map[Verdict][]Row{}
	deciding := 0
	for _, r := range c.Rows {
		if r.Decides && (r.Curve == "" || r.Verdict == Regression) {
			byVerdict[r.Verdict] = append(byVerdict[r.Verdict], r)
			deciding++
		}
	}
	open := slices.DeleteFunc(slices.Clone(c.Apart), func(a Apart) bool { return a.In != inBoth })
	switch {
	case len(byVerdict[Regression]) > 0:
		c.Verdict = Regression
		c.Title = c.worse(byVerdict[Regression], deciding)
	case deciding == 0 && len(open) == 0:
		c.Verdict = TooFew
		c.Title = "Nothing to compare: the runs have no stack with an equal workload in common"
	case len(byVerdict[TooFew]) > 0:
		c.Verdict = TooFew
		c.Title = c.tooFew(byVerdict[TooFew], deciding)
	case len(open) > 0:
		c.Verdict = TooFew
		c.Title = fmt.Sprintf("Nothing comparable of %s under %s: %s", open[0].Stack, open[0].Workload, open[0].Why)
		if len(open) > 1 {
			c.Title += fmt.Sprintf("; and so %d more", len(open)-1)
		}
	case len(byVerdict[TooNoisy]) > 0:
		c.Verdict = TooNoisy
		c.Title = c.tooNoisy(byVerdict[TooNoisy], deciding)
	default:
		c.Verdict = Holds
		c.Title = fmt.Sprintf("B is no worse than A: no regression beyond %s in %s", units.Setting(c.Threshold), plural.Count(deciding, "row"))
		if n := len(byVerdict[Improvement]); n > 0 {
			c.Title += fmt.Sprintf(", and %d %s better", n, plural.Choose(n, "is", "are"))
		}
	}
}

// worse names the row that fell the most. Its interval and its test are in the
// table.
func (c *Comparison) worse(found []Row, deciding int) string {
	worst := slices.MinFunc(found, func(a, b Row) int { return cmp.Compare(a.goodness(), b.goodness()) })
	change := "has no ratio"
	if worst.Ratio != nil {
		change = "rose by " + units.Percent(*worst.Ratio-1)
		if *worst.Ratio < 1 {
			change = "fell by " + units.Percent(1-*worst.Ratio)
		}
	}
	position := fmt.Sprintf("in 1 of %s", plural.Count(deciding, "row"))
	if len(found) > 1 {
		position = fmt.Sprintf("the worst of %d such in %s", len(found), plural.Count(deciding, "row"))
	}
	return fmt.Sprintf("B is worse than A: %s %s, beyond the %s allowed, %s", worst.subject(), change,
		units.Setting(c.Threshold), position)
}

// tooFew says of the row with the fewest trials what they could show at best.
func (c *Comparison) tooFew(rows []Row, deciding int) string {
	least := slices.MinFunc(rows, func(a, b Row) int { return cmp.Compare(a.fewest, b.fewest) })
	early := fmt.Sprintf("Too early to say whether B is worse, in %d of %s: ", len(rows), plural.Count(deciding, "row"))
	if min(least.A.N, least.B.N) == 0 {
		return fmt.Sprintf("%s%s has %s in A and %d in B", early, least.subject(), plural.Count(least.A.N, "trial"), least.B.N)
	}
	if least.A.Runs > 0 && least.A.Runs+least.B.Runs < fewestRuns {
		return early + least.tooFewRuns()
	}
	counts := fmt.Sprintf("%s%s against %d", early, plural.Count(least.A.N, "trial"), least.B.N)
	if least.Points > 0 {
		counts = fmt.Sprintf("%s%s of some of %s", early, plural.Count(least.fewest, "trial"), least.Workload)
	}
	if least.smallest*float64(max(1, c.Family)) < c.Alpha {
		return fmt.Sprintf("%s have no interval; repeat each %d times or more", counts, stats.FewestPairs)
	}
	together := ""
	if c.Family > 1 {
		together = fmt.Sprintf(", where %d rows are judged together", c.Family)
	}
	return fmt.Sprintf("%s cannot decide, however far apart they are%s; repeat each %d times", counts, together,
		repeatsFor(max(1, c.Family), c.Alpha))
}

// tooNoisy names the widest interval, and what it would take.
func (c *Comparison) tooNoisy(rows []Row, deciding int) string {
	widest := slices.MaxFunc(rows, func(a, b Row) int { return cmp.Compare(a.width(), b.width()) })
	text := fmt.Sprintf("Too noisy to say whether B is worse: a regression beyond %s could hide in %d of %s", units.Setting(c.Threshold), len(rows), plural.Count(deciding, "row"))
	if widest.Low == nil {
		return fmt.Sprintf("%s; of %s a trial measured nothing", text, widest.subject())
	}
	if widest.A.Runs > 0 {
		return fmt.Sprintf("%s, most of all in %s; more runs of each or a quieter host would show", text, widest.subject())
	}
	return fmt.Sprintf("%s, most of all in %s; about %s trials of each, longer ones or a quieter host would show",
		text, widest.subject(), units.Rate(roundedUp(widest.repeatsAgainstNoise(c.Threshold))))
}

// goodness is below 0 for what is worse in B.
func (r Row) goodness() float64 {
	if r.Ratio == nil {
		return 0
	}
	return r.better * math.Log(*r.Ratio)
}

// width is that of the interval, in logarithms.
func (r Row) width() float64 {
	if r.Low == nil {
		return math.Inf(1)
	}
	return math.Log(*r.High / *r.Low)
}

func (r Row) subject() string {
	for _, m := range Metrics() {
		if m.ID == r.Metric {
			return fmt.Sprintf("%s of %s under %s", r.MetricName(m), r.Stack, r.Workload)
		}
	}
	return r.Stack + " under " + r.Workload
}

// MetricName returns a metric's name in the row: servers do operations, and no I/Os.
func (r Row) MetricName(m runview.Metric) string {
	if m.ID == runview.Rate.ID && result.Source(r.Source).Operations() {
		return "ops/s"
	}
	return m.Name
}

// roundedUp keeps two digits: it is an estimate.
func roundedUp(n int) float64 {
	unit := math.Pow(10, max(0, math.Floor(math.Log10(float64(max(1, n))))-1))
	return math.Ceil(float64(n)/unit) * unit
}
