package report

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"plimsoll/internal/fact"
	"plimsoll/internal/finding/compare"
	"plimsoll/internal/result"
	"plimsoll/internal/testkit/runtest"
)

var updateCompare = flag.Bool("update-compare", false, "rewrite the golden comparisons")

// sampleComparison is by hand, so that the golden files do not hang on how
// verdicts are found.
func sampleComparison() compare.Comparison {
	started := time.Date(2026, 5, 12, 9, 30, 0, 0, time.UTC)
	row := func(stack, workload, metric string, source result.Source, a, b, low, high, p float64,
		verdict compare.Verdict) compare.Row {
		ratio := b / a
		sample := func(v float64) compare.Sample {
			return compare.Sample{Estimate: fact.Estimate{N: 6, Median: v, Low: 0.96 * v, High: 1.02 * v, Coverage: 0.96875}}
		}
		return compare.Row{
			Stack: stack, Workload: workload, Summary: "randread 4 KiB, 4 jobs x depth 16, libaio, direct", Metric: metric,
			Decides: metric == "iops",
			Source:  string(source), Marks: []string{"loop device"}, A: sample(a), B: sample(b), Ratio: &ratio, Low: &low,
			High: &high,
			P:    p / 2, PAdjusted: p, Differs: p < 0.01, Verdict: verdict,
		}
	}
	missing := row("btrfs", "RR", "iops", result.SourceDevice, 1, 1, 1, 1, 1, compare.TooFew)
	missing.B, missing.Ratio, missing.Low, missing.High = compare.Sample{}, nil, nil, nil
	renamed := row("xfs", "RR", "iops", result.SourceDevice, 41200, 36800, 0.88, 0.91, 0.0043, compare.Regression)
	renamed.StackB = "xfs-new"
	tmpfs := row("tmpfs", "RR", "iops", result.SourceMemory, 900e3, 1.2e6, 1.2, 1.4, 0.0043, compare.Improvement)
	tmpfs.Marks = []string{"served from memory"}
	return compare.Comparison{
		A: compare.Run{ID: "quick-20260512-093000.000", Experiment: "quick", Host: "drydock", Started: started, Trials: 30,
			Done: 30},
		B: compare.Run{ID: "quick-20260513-093000.000", Experiment: "quick", Host: "drydock",
			Started: started.Add(24 * time.Hour), Trials: 30, Done: 24},
		Threshold: 0.05, Alpha: 0.01, Family: 3, Verdict: compare.Regression,
		Title: "regression beyond 5% in 1 of 4 rows: IOPS of xfs under RR is 0.89x (0.88 to 0.91) of A, p = 0.0043",
		Rows: []compare.Row{
			row("raw", "RR", "iops", result.SourceDevice, 49100, 48800, 0.97, 1.02, 1, compare.Holds),
			renamed, tmpfs, missing,
			row("raw", "RR", "p99", result.SourceDevice, 2.2e6, 2.3e6, 0.8, 1.3, 0.4, compare.TooNoisy),
		},
		Apart: []compare.Apart{
			{Stack: "ext4", Workload: "RR", In: "A", Why: "only in A"},
			{Stack: "ext4", Workload: "RW", In: "A", Why: "only in A"},
			{Stack: "old", Workload: "RR", In: "both", Why: "memory answered in A, the device in B"},
		},
		Differs: []compare.Difference{
			{What: "kernel", A: "6.18.0", B: "6.19.0"},
			{What: "mount options", A: "rw,relatime", B: "", Stacks: []string{"xfs", "ext4"}},
		},
		Notes: []string{"6 of 6 trials of btrfs under RR did not finish in B \x1b[31m"},
	}
}

func TestCompareGolden(t *testing.T) {
	for _, width := range []int{80, 120} {
		t.Run(fmt.Sprint(width), func(t *testing.T) {
			var b bytes.Buffer
			must(t, Compare(&b, sampleComparison(), TerminalOptions{Width: width}))
			path := fmt.Sprintf("testdata/compare-%d.golden.txt", width)
			if *updateCompare {
				must(t, os.WriteFile(path, b.Bytes(), 0o644))
			}
			want, err := os.ReadFile(path)
			must(t, err)
			if b.String() != string(want) {
				t.Errorf("the comparison is not that of %s (-update-compare rewrites it):\n%s", path, b.String())
			}
			lines := strings.Split(strings.TrimRight(b.String(), "\n"), "\n")
			for _, l := range lines[:len(lines)-1] { // the verdict stays on one line
				if utf8.RuneCountInString(l) > width {
					t.Errorf("%d columns in a terminal of %d: %s", utf8.RuneCountInString(l), width, l)
				}
			}
			if strings.Contains(b.String(), "\x1b") {
				t.Error("what steers the terminal came through")
			}
		})
	}
}

// Two runs of density are compared as one curve, in one table, and what servers do is called so.
func TestCompareDensity(t *testing.T) {
	var b bytes.Buffer
	c := compare.Runs(runtest.Density(true), runtest.Density(true), compare.Options{Threshold: 0.05, Alpha: 0.01})
	must(t, Compare(&b, c, TerminalOptions{Width: 120}))
	text := b.String()
	for _, want := range []string{"\nC, 1 to 8 instances\n", "ops/s, higher is better", "  disk C-5 ", " 28+28 "} {
		if !strings.Contains(text, want) {
			t.Errorf("without %q:\n%s", want, text)
		}
	}
	table, _, _ := strings.Cut(text, "  ±: ")
	tables := strings.Count(text, "higher is better")
	if strings.Contains(table, "too few") || strings.Contains(text, "IOPS") || tables != 1 {
		t.Errorf("too few, IOPS or several tables:\n%s", text)
	}
	if c.Verdict != compare.Holds {
		t.Errorf("%s: %s", c.Verdict, c.Title)
	}
}
