package main

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"plimsoll/internal/field"
	"plimsoll/internal/finding/compare"
	"plimsoll/internal/problem/suggest"
	"plimsoll/internal/report"
	"plimsoll/internal/result"
	"plimsoll/internal/result/repeats"
	"plimsoll/internal/result/store"
	"plimsoll/internal/units"
	"plimsoll/internal/units/plural"
)

// Exit codes of compare, beside those that every command shares.
const (
	exitRegression = 10 // a significant regression beyond the threshold
	exitTooNoisy   = 11 // such a regression could hide in the noise
	exitTooFew     = 12 // too few trials for a conclusion
)

// verdictCodes are the exit codes of verdicts.
var verdictCodes = map[compare.Verdict]int{
	compare.Holds:      exitOK,
	compare.Regression: exitRegression,
	compare.TooNoisy:   exitTooNoisy,
	compare.TooFew:     exitTooFew,
}

// compareFlags are the flags of compare as they were written.
type compareFlags struct {
	threshold, alpha string
	metrics          []string
	all, quiet       bool
}

func newCompareCommand(a *app) *cobra.Command {
	var flags compareFlags
	var ids []string
	for _, m := range compare.Metrics() {
		ids = append(ids, m.ID)
	}
	cmd := &cobra.Command{
		Use:   "compare RUN_A RUN_B | compare RUN_A... -- RUN_B...",
		Short: "Test whether a second run is worse than a first one",
		Long: `Compare two runs, A before and B after a change, where they are alike: the same
stack (as its one-line notation) under the same workload (as it was declared),
measured for the same time. What has no partner, and what differs between the
hosts, is listed. Nothing is measured.

Each row gives both medians with their intervals, the ratio B / A with its 95%
interval, and p of the Mann-Whitney test; ~ is no significant difference. The
rows of the metrics that --metric names decide the exit status, and p is
corrected for their number (Holm). The last line is the verdict.

Metrics: ` + strings.Join(ids, ", ") + ` (latencies are total
latencies, one percentile per trial).

Runs differ by themselves, and one run on each side does not show how far. With
several runs of one experiment on a side, those of A before -- and those of B
after it, each run counts once: intervals and tests are Student's t of runs. It
takes four runs in all, such as three earlier ones and a new one.

RUN_A and RUN_B are run directories, or ids of runs below ./` + store.RunsDir + ` or
their beginnings, or "last".

EXIT STATUS
  0   nothing regressed: the 95% intervals exclude a regression beyond the
      threshold, or show an improvement
  1   a run cannot be read: damaged, or of another version
  2   the command line is wrong, or there is no such run
  10  a significant regression beyond --threshold
  11  too noisy to decide: the interval of a ratio holds a regression beyond it
  12  too few trials to decide: however far apart, they could not differ
      significantly; or there is nothing comparable
When several hold, 10 goes before 12, and 12 before 11: more trials help
against both. docs/reference/compare.md says it precisely.`,
		Example: `  plimsoll compare before after
  plimsoll compare quick-20260512 last --metric iops --metric p99 --threshold 10%
  plimsoll compare baseline/ last --quiet || echo "look into it"
  plimsoll compare baseline/ last --json | jq -r .verdict
  plimsoll compare monday tuesday wednesday -- last`,
		Args: twoSides,
		RunE: func(cmd *cobra.Command, args []string) error {
			opt, err := flags.options(ids)
			if err != nil {
				return &exitError{exitUsage, err}
			}
			opt.Others = opt.Others || a.jsonOutput
			before, after, err := a.readSides(args, max(1, cmd.ArgsLenAtDash()))
			if err != nil {
				return err
			}
			c := compare.Runs(before, after, opt)
			if err := a.printComparison(c, flags.quiet); err != nil {
				return &exitError{exitFailure, err}
			}
			if code := verdictCodes[c.Verdict]; code != exitOK {
				return &exitError{code, nil}
			}
			return nil
		},
		ValidArgsFunction: completeRuns(64),
	}
	f := cmd.Flags()
	f.StringVar(&flags.threshold, "threshold", units.Setting(compare.DefaultThreshold),
		"`share` by which B may be worse: 5% or 0.05")
	f.StringVar(&flags.alpha, "alpha", units.Setting(compare.DefaultAlpha),
		"`level` of the tests, all rows that decide together")
	f.StringArrayVar(&flags.metrics, "metric", []string{"iops"}, "`metric` that decides; repeatable")
	f.BoolVar(&flags.all, "all", false, "show the metrics that do not decide, too")
	f.BoolVar(&a.jsonOutput, "json", false, "print all metrics, and everything else, as JSON")
	f.BoolVarP(&flags.quiet, "quiet", "q", false, "print the verdict alone, on one line")
	mutuallyExclusive(cmd, "json", "quiet")
	completeFlag(cmd, "metric", completeWords(ids...))
	return cmd
}

// twoSides requires two runs, or several on a side with -- between the sides.
func twoSides(cmd *cobra.Command, args []string) error {
	dash := cmd.ArgsLenAtDash()
	switch {
	case dash > 0 && dash < len(args):
		return nil
	case dash < 0 && len(args) > 2:
		return fmt.Errorf("compare takes two runs, or several on a side with -- between those before and those after, but "+
			"was given %s: for the last one against the others, plimsoll compare %s -- %s", plural.And(args),
			strings.Join(args[:len(args)-1], " "), args[len(args)-1])
	case dash >= 0:
		return fmt.Errorf("compare takes runs on both sides of --, and was given %d before it and %d after it", dash,
			len(args)-dash)
	}
	return exactly(2, "two runs, the one before and the one after")(cmd, args)
}

// readSides reads the runs before and after a change: the first so many of the names, and the others. Several on a side
// are pooled. The error has all that is wrong with both sides.
func (a *app) readSides(names []string, first int) (before, after *result.Run, err error) {
	all, err := a.readRuns(names)
	if err != nil {
		return nil, nil, err
	}
	before, err = repeats.Pool(all[:first])
	after, wrong := repeats.Pool(all[first:])
	if len(all) > 2 {
		wrong = errors.Join(wrong, repeats.Apart(all[:first], all[first:]))
	}
	if err = errors.Join(err, wrong); err != nil {
		return nil, nil, &exitError{exitUsage, err}
	}
	return before, after, nil
}

// otherMetrics are names of metrics in other programs, and which of compare's is meant.
var otherMetrics = map[string]string{
	"latency":    "p99",
	"lat":        "p99",
	"clat":       "p99",
	"tail":       "p99",
	"99":         "p99",
	"median":     "p50",
	"mean":       "p50",
	"average":    "p50",
	"throughput": "iops",
	"ops":        "iops",
	"rate":       "iops",
	"tps":        "iops",
	"bw":         "bandwidth",
}

// meantMetric is a question that names the metric that is meant; "" when none is near.
func meantMetric(name string, known []string) string {
	meant := cmp.Or(otherMetrics[strings.ToLower(name)], suggest.Closest(name, known))
	if meant == "" {
		return ""
	}
	return fmt.Sprintf("did you mean %s? ", meant)
}

// options reads the flags; all that is wrong with them is said at once.
func (f *compareFlags) options(known []string) (opt compare.Options, err error) {
	var problems []string
	share := func(flag, text string) float64 {
		v, err := field.Portion("5%").Parse(text)
		if err != nil {
			problems = append(problems, fmt.Sprintf("--%s %s: %v", flag, text, err))
		}
		return v
	}
	opt.Threshold, opt.Alpha = share("threshold", f.threshold), share("alpha", f.alpha)
	opt.Metrics, opt.Others = f.metrics, f.all
	for _, m := range f.metrics {
		if !slices.Contains(known, m) {
			problems = append(
				problems,
				fmt.Sprintf(
					"--metric %s: there is no metric %s: %sthere are %s",
					m,
					m,
					meantMetric(m, known),
					strings.Join(known, ", "),
				),
			)
		}
	}
	if len(problems) > 0 {
		return opt, fmt.Errorf("%s", strings.Join(problems, "\n  "))
	}
	return opt, nil
}

// printComparison prints a comparison as JSON, for people, or as one line.
func (a *app) printComparison(c compare.Comparison, quiet bool) error {
	switch {
	case a.jsonOutput:
		return a.document("", c)
	case quiet:
		return report.CompareVerdict(a.styled(), c)
	}
	return report.Compare(a.styled(), c, a.terminalOptions())
}
