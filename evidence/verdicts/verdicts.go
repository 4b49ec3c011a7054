// Package verdicts draws runs whose truth is known, takes them through the project's own way from trials to the printed
// sentence, and counts how often the sentence is wrong. It fails where a share that is promised to be at most 5% is
// larger than that by more than chance explains.
package verdicts

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"runtime"
	"strings"
	"sync"
)

// Run prints the table. It returns an error if a row has more wrong verdicts than promised.
func Run(args []string) error {
	flags := flag.NewFlagSet("verdicts", flag.ExitOnError)
	draws := flags.Int("draws", 200, "runs of each truth")
	quick := flags.Bool("quick", false, "few truths")
	only := flags.String("only", "", "truths alone whose first three columns have this text")
	_ = flags.Parse(args) // it exits
	if !bench(os.Stdout, truths(*quick, *only), *draws) {
		return errors.New("rows marked ! have a share above 5%, by more than chance explains")
	}
	return nil
}

// promised is the share of sure verdicts that may be wrong, and of runs that may call two equal that are not.
const promised = 0.05

// row counts the runs of one truth.
type row struct {
	truth
	draws, early, sure, sureWrong, level, differ, best int
}

// failed reports whether more is wrong than is promised. Of verdicts that a bias stays with, it is so many of all runs:
// controls are other stacks than those that are compared, and independent of them. Where they happen to agree, a bias
// of the others is as large as ever, so that of the verdicts that are sure then as many are wrong as without controls.
// What they can do is to keep verdicts from being sure.
func (r row) failed() bool {
	wrong, of := r.sureWrong, r.sure
	if r.noise.bias > 0 {
		of = r.draws
	}
	return beyond(wrong, of) || beyond(r.level, r.draws) || beyond(r.differ, r.draws)
}

// beyond reports whether so many of n are more than promised, and more than chance explains (one in a thousand).
func beyond(wrong, n int) bool {
	tail := 0.0
	for k := wrong; k <= n; k++ {
		logs, _ := math.Lgamma(float64(n + 1))
		a, _ := math.Lgamma(float64(k + 1))
		b, _ := math.Lgamma(float64(n - k + 1))
		tail += math.Exp(logs - a - b + float64(k)*math.Log(promised) + float64(n-k)*math.Log1p(-promised))
	}
	return wrong > 0 && tail < 0.001
}

// bench writes a table of all truths, and reports whether all shares are as promised.
func bench(w io.Writer, cases []truth, draws int) (kept bool) {
	fmt.Fprintln(w, "| truth | setups | rounds | sure | wrong of sure | wrong and sure | false level | "+
		"false difference | best picked | |")
	fmt.Fprintln(w, "|---|---|--:|--:|--:|--:|--:|--:|--:|---|")
	kept = true
	for _, t := range cases {
		r := count(t, draws)
		mark := ""
		if r.failed() {
			mark, kept = "!", false
		}
		fmt.Fprintf(w, "| %s | %s | %s | %s | %s | %s | %s | %s |\n", t.columns(), share(r.sure, draws),
			share(r.sureWrong, r.sure), share(r.sureWrong, draws), share(r.level, draws), share(r.differ, draws),
			share(r.best, draws), mark)
	}
	return kept
}

// count draws runs of a truth on two processors at most, and judges them.
func count(t truth, draws int) row {
	judgements := make([]judged, draws)
	var wait sync.WaitGroup
	workers := min(2, runtime.GOMAXPROCS(0))
	for first := range workers {
		wait.Go(func() {
			for i := first; i < draws; i += workers {
				drawn := draw
				if t.areMixes() {
					drawn = mixes
				}
				several := false
				if judgements[i], several = judgeRuns(t, uint64(i+1)); several {
					continue
				}
				judgements[i] = judgeLooks(t, drawn(t, uint64(i+1)))
			}
		})
	}
	wait.Wait()
	r := row{truth: t, draws: draws}
	unit := map[bool]int{true: 1}
	for _, j := range judgements {
		r.early += unit[j.early]
		r.sure += unit[j.sure]
		r.sureWrong += unit[j.sure && (j.wrong || j.level)]
		r.level += unit[j.level]
		r.differ += unit[j.differ]
		r.best += unit[j.best]
	}
	return r
}

func share(of, n int) string {
	if n == 0 {
		return "-"
	}
	return fmt.Sprintf("%.1f%%", 100*float64(of)/float64(n))
}

// columns returns the first three columns of a truth's row.
func (t truth) columns() string {
	dealt := fmt.Sprint(t.rounds)
	switch {
	case t.budget == baseline || t.budget == contend:
		dealt += " by " + t.budget
	case t.several(pooled)+t.several(compared) > 0:
		dealt += " in " + t.budget
	}
	if len(t.looks) > 0 {
		dealt = strings.Trim(fmt.Sprint(t.looks), "[]")
	}
	return fmt.Sprintf("%s | %s | %s", t.name, t.noise, dealt)
}

func (n noise) String() string {
	text := fmt.Sprintf("%.0f%%", 100*n.setups)
	add := func(of float64, format string, values ...any) {
		if of != 0 {
			text += ", " + fmt.Sprintf(format, values...)
		}
	}
	if n.shape != "" {
		text += " " + n.shape
	}
	add(n.regions, "regions %.0f%%", 100*n.regions)
	add(float64(n.again), "%d in turn, %.0f%% with a stack", n.again, 100*n.meets)
	add(n.drift, "drift %.0f%%", 100*n.drift)
	add(n.place, "%.0f%% a place", 100*n.place)
	add(n.bias, "bias %.0f%%", 100*n.bias)
	return text
}
