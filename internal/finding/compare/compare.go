// Package compare compares two runs, A before and B after, where they are alike.
package compare

import (
	"fmt"
	"math"
	"slices"
	"time"

	"plimsoll/internal/fact"
	"plimsoll/internal/result"
	"plimsoll/internal/runview"
	"plimsoll/internal/stats"
	"plimsoll/internal/units"
	"plimsoll/internal/units/plural"
)

// What compare takes for granted. A comparison in CI is made again and again:
// at the 5% of Alpha one in twenty would find a difference that is none.
const (
	DefaultThreshold = 0.05
	DefaultAlpha     = 0.01
)

// Options tell which differences between two runs matter.
type Options struct {
	Threshold float64  // share by which B must be worse than A to be a regression: 0.05
	Alpha     float64  // level of the tests of all rows that decide, together
	Metrics   []string // IDs of the metrics that decide; nil for IOPS
	Others    bool     // compare the metrics that do not decide as well
}

// Verdict judges a row of a comparison, or all of it.
type Verdict string

// The verdicts, the gravest first: of the rows that decide, the gravest one
// is the verdict of the comparison.
const (
	Regression  Verdict = "regression"    // significantly worse, and by more than the threshold
	TooFew      Verdict = "too few"       // so few trials cannot differ significantly, however far apart
	InCurve     Verdict = "see its curve" // of a point that is not clear by itself: its curve decides
	TooNoisy    Verdict = "too noisy"     // a regression beyond the threshold lies within the interval
	Holds       Verdict = "no regression" // the interval excludes one beyond the threshold
	Improvement Verdict = "improvement"   // significantly better; all in all, that holds too
)

// Comparison is two runs, A before and B after, compared where they are alike.
type Comparison struct {
	A         Run          `json:"a"`
	B         Run          `json:"b"`
	Threshold float64      `json:"threshold"` // a share
	Alpha     float64      `json:"alpha"`
	Verdict   Verdict      `json:"verdict"`
	Title     string       `json:"title"`   // the verdict in one line, with the number that matters
	Family    int          `json:"family"`  // rows that decide and have a test: p is corrected for so many
	Rows      []Row        `json:"rows"`    // by metric, those that decide first; then in the order of A
	Apart     []Apart      `json:"apart"`   // what could not be compared, and why
	Differs   []Difference `json:"differs"` // facts that may explain a difference
	Notes     []string     `json:"notes"`
}

// Run says which run was compared.
type Run struct {
	ID         string           `json:"id"`
	Experiment string           `json:"experiment"`
	Host       string           `json:"host"`
	Started    time.Time        `json:"started,omitzero"`
	Status     result.RunStatus `json:"status"`
	Trials     int              `json:"trials"` // planned
	Done       int              `json:"done"`
	Runs       []string         `json:"runs,omitempty"` // that are pooled, oldest first; none for a run by itself
}

// Row compares one metric of one stack under one workload.
type Row struct {
	Stack     string   `json:"stack"`                // its name in A
	StackB    string   `json:"stack_b,omitempty"`    // its name in B, where it has another
	Workload  string   `json:"workload"`             // its name in A
	WorkloadB string   `json:"workload_b,omitempty"` // its name in B, where it has another
	Line      string   `json:"line"`
	Summary   string   `json:"summary,omitempty"` // of the workload
	Metric    string   `json:"metric"`            // cell.Metric.ID
	Curve     string   `json:"curve,omitempty"`   // Workload of the row that compares all numbers of instances, this one included
	Points    int      `json:"points,omitempty"`  // numbers of instances in the row of a curve
	Decides   bool     `json:"decides"`           // the verdict of the comparison counts it
	Source    string   `json:"source"`            // result.Source of both; unknown when either is
	Marks     []string `json:"marks,omitempty"`
	A         Sample   `json:"a"`
	B         Sample   `json:"b"`
	// Ratio is that of the medians, B / A, or of the means of several runs' medians; nil when there is none.
	Ratio *float64 `json:"ratio"`
	// Low and High are its 95% interval: bootstrap, or Student's of several runs; nil when a trial measured nothing.
	Low       *float64 `json:"low"`
	High      *float64 `json:"high"`
	P         float64  `json:"p"`          // Mann-Whitney, or Student's t of several runs, two-sided, of this row alone
	PAdjusted float64  `json:"p_adjusted"` // by Holm, for all rows that decide, or for all that do not
	Differs   bool     `json:"differs"`    // PAdjusted is below Alpha; otherwise shown as ~
	Verdict   Verdict  `json:"verdict"`

	better   float64 // +1 when more is better, else -1
	fewest   int     // setups on a side, of a curve at a point
	smallest float64 // p that so many can have, before it is corrected
	leftOut  bool    // a point of Curve with too few trials to be part of it
}

// Sample is the trials of one run behind a row. All is 0 without them.
type Sample struct {
	fact.Estimate     // N is of setups, of a curve at all points
	Trials        int `json:"trials"` // in all of them

	Runs int `json:"runs,omitempty"` // that are pooled, where there are several on a side

	values []float64       // of each setup
	runs   map[int]float64 // logarithm of the median of each run, by its number; 0 for a run by itself
}

// Metrics are those that Compare knows, in the order in which they are shown.
func Metrics() []runview.Metric {
	return []runview.Metric{runview.Rate, runview.Bandwidth, runview.P50, runview.P95, runview.P99, runview.P999}
}

// Runs compares B with A, each a run or several that are pooled. It accepts runs of any state. Options that make
// no sense are the caller's mistake: metrics that it does not know are not
// compared.
func Runs(a, b *result.Run, opt Options) Comparison {
	if opt.Metrics == nil {
		opt.Metrics = []string{runview.Rate.ID}
	}
	va, vb := runview.New(a), runview.New(b)
	pairs, apart := pair(unitsOf(va), unitsOf(vb))
	curves := curvesOf(va, vb, pairs)
	varied, _ := pair(variedOf(va), variedOf(vb))
	c := Comparison{
		A: runOf(va.Run), B: runOf(vb.Run), Threshold: opt.Threshold, Alpha: opt.Alpha,
		Rows: []Row{}, Apart: apart,
		Differs: differences(va.Run, vb.Run, pairs), Notes: notes(va.Run, vb.Run, pairs),
	}
	if len(varied) > 0 && !opt.Others {
		c.Notes = append(c.Notes, fmt.Sprintf("limits of the scaled-down host that both runs varied, at %s, never decide: --all compares them too",
			plural.Count(len(varied), "point")))
	}
	for _, decides := range []bool{true, false} {
		var family []Row
		for _, m := range Metrics() {
			if !decides && !opt.Others {
				break
			}
			// Mixes that vary a limit decide nothing: p values are corrected for each row that decides.
			var rows []comparedPair
			if slices.Contains(opt.Metrics, m.ID) == decides {
				rows = pairs
			}
			if !decides {
				rows = slices.Concat(rows, varied)
			}
			family = append(family, rowsOf(m, rows, curves, va.Run.Seed^vb.Run.Seed, decides)...)
		}
		n := correct(family)
		for i := range family {
			family[i].judge(opt, n)
		}
		if decides {
			c.Family = n
		}
		c.Rows = append(c.Rows, family...)
	}
	c.Notes = append(c.Notes, tooFewOperations(pairs, opt)...)
	if note := c.runsNote(); note != "" && len(c.Rows) > 0 && va.Run.Imported == nil && vb.Run.Imported == nil {
		c.Notes = append(c.Notes, note)
	}
	c.conclude()
	return c
}

// tooFewOperations has a note for each percentile that is compared, and of which a setup has too few operations for it to
// be known.
func tooFewOperations(pairs []comparedPair, opt Options) (notes []string) {
	for _, m := range Metrics() {
		if !opt.Others && !slices.Contains(opt.Metrics, m.ID) {
			continue
		}
		points := 0
		for _, p := range pairs {
			if slices.ContainsFunc([]*unit{p.a, p.b}, func(u *unit) bool { return u.cell != nil && !u.cell.Enough(m) }) {
				points++
			}
		}
		if points > 0 {
			notes = append(notes, fmt.Sprintf("%s is not known at %s: too few I/Os, as it takes %s in each setup", m.Name,
				plural.Count(points, "point"), units.Grouped(float64(m.Least()))))
		}
	}
	return notes
}

func runOf(run *result.Run) Run {
	described := Run{ID: run.ID, Experiment: run.Experiment.Name, Host: run.Environment.Hostname,
		Started: run.Started, Status: run.Status, Trials: len(run.Trials), Done: run.Done()}
	for _, pooled := range run.Pooled {
		described.Runs = append(described.Runs, pooled.ID)
	}
	return described
}

// row measures a pair by one metric. The seed must not depend on which run
// comes first.
func (p comparedPair) row(m runview.Metric, seed uint64, decides bool) Row {
	r := Row{
		Stack: p.a.stack.Name, Workload: p.a.workload.Name, Line: p.a.stack.Line, Summary: p.a.workload.Summary,
		Metric: m.ID, Decides: decides, Source: string(p.source()), Marks: p.marks(),
		A: sampleOf(p.a, m), B: sampleOf(p.b, m), better: -1,
	}
	if p.b.stack.Name != r.Stack {
		r.StackB = p.b.stack.Name
	}
	if p.b.workload.Name != r.Workload {
		r.WorkloadB = p.b.workload.Name
	}
	if m.HigherIsBetter {
		r.better = 1
	}
	r.P = stats.MannWhitney(r.B.values, r.A.values)
	r.PAdjusted = r.P
	if ratio := r.B.Median / r.A.Median; r.B.N > 0 && (ratio == 0 || invertible(ratio)) {
		r.Ratio = &ratio
	}
	r.fewest, r.smallest = min(r.A.N, r.B.N), 1
	if r.fewest > 0 {
		r.smallest = stats.SmallestP(r.A.N, r.B.N)
	}
	if r.A.several() || r.B.several() {
		r.judgeRuns()
		return r
	}
	enough := r.fewest >= stats.FewestPairs
	if iv, ok := ratioInterval(r.B.values, r.A.values, seed); ok && enough {
		r.Low, r.High = &iv.Low, &iv.High
	}
	return r
}

func sampleOf(u *unit, m runview.Metric) Sample {
	var s Sample
	if u.cell == nil {
		return s
	}
	taken := u.cell.Sample(m)
	s.values, s.Trials, s.runs = taken.Values(), taken.Trials(), inRuns(taken)
	if len(taken) > 0 {
		s.Estimate = runview.Estimate(s.values)
	}
	return s
}

// ratioInterval is that of stats.RatioOfMedians, resampled in an order that
// does not depend on which sample is the subject: A against B is then exactly
// the inverse of B against A.
func ratioInterval(subject, baseline []float64, seed uint64) (stats.Interval, bool) {
	return ratioOfStrata([][]float64{subject}, [][]float64{baseline}, seed)
}

// ratioOfStrata is the same of a curve, each of whose points is a stratum.
func ratioOfStrata(subject, baseline [][]float64, seed uint64) (stats.Interval, bool) {
	x, y := sorted(subject), sorted(baseline)
	inverse := slices.CompareFunc(x, y, slices.Compare[[]float64]) > 0
	if inverse {
		x, y = y, x
	}
	r, ok := stats.RatioOfStrata(x, y, seed)
	if !ok || !invertible(r.Low) || !invertible(r.High) {
		return stats.Interval{}, false
	}
	if inverse {
		r.Low, r.High = 1/r.High, 1/r.Low
	}
	return stats.Interval{Low: r.Low, High: r.High, Coverage: stats.Confidence}, true
}

func sorted(strata [][]float64) [][]float64 {
	var all [][]float64
	for _, values := range strata {
		all = append(all, slices.Sorted(slices.Values(values)))
	}
	return all
}

// invertible reports whether a ratio is a number, and so is its inverse.
func invertible(ratio float64) bool { return ratio > 1e-300 && ratio < 1e300 }

// correct adjusts the p values of the rows that have a test, and counts them.
func correct(rows []Row) int {
	var ps []float64
	var rowOf []int
	for i, r := range rows {
		if r.A.N > 0 && r.B.N > 0 {
			ps, rowOf = append(ps, r.P), append(rowOf, i)
		}
	}
	for i, p := range stats.Holm(ps) {
		rows[rowOf[i]].PAdjusted = p
	}
	return len(ps)
}

// judge returns a row its verdict; family is the number of rows that p is
// corrected for.
func (r *Row) judge(opt Options, family int) {
	r.Differs = r.PAdjusted < opt.Alpha
	switch {
	case r.Differs && r.Ratio != nil && r.beyond(*r.Ratio, opt.Threshold):
		r.Verdict = Regression
	case r.Differs && r.better*(r.B.Median-r.A.Median) > 0:
		r.Verdict = Improvement
	case !r.Differs && (r.smallest*float64(max(1, family)) >= opt.Alpha || r.fewest < stats.FewestPairs):
		r.Verdict = TooFew
	case r.Low == nil || r.beyond(r.worst(), opt.Threshold):
		r.Verdict = TooNoisy
	default:
		r.Verdict = Holds
	}
	if r.Curve != "" && !r.leftOut && (r.Verdict == TooFew || r.Verdict == TooNoisy) {
		r.Verdict = InCurve
	}
}

// beyond reports whether a ratio is worse than the threshold allows: rates below
// 1 - threshold, latencies above 1 + threshold.
func (r *Row) beyond(ratio, threshold float64) bool {
	return r.better*(ratio-1) < -threshold
}

// worst is the end of the interval on the side of a regression.
func (r *Row) worst() float64 {
	if r.better > 0 {
		return *r.Low
	}
	return *r.High
}

// repeatsFor is the smallest number of trials of each side with which a
// single row of the family can be significant.
func repeatsFor(family int, alpha float64) int {
	n := 1
	for stats.SmallestP(n, n)*float64(max(1, family)) >= alpha {
		n++
	}
	return n
}

// repeatsAgainstNoise estimates how many trials of each side would show that
// nothing regressed, if nothing did: intervals shrink with the square root.
func (r *Row) repeatsAgainstNoise(threshold float64) int {
	if r.Low == nil {
		return 0
	}
	allowed := -math.Log(1 - threshold)
	if r.better < 0 {
		allowed = math.Log(1 + threshold)
	}
	half := math.Log(*r.High / *r.Low) / 2
	return int(math.Ceil(float64(r.fewest) * max(1, (half/allowed)*(half/allowed))))
}
