// Package stopping shows what stopping early saves and what it costs: it
// replays made and recorded series of rates through the stopping rule, many
// times each, and prints how long that took against fixed ten minutes, and how
// often the interval held the long-run mean. It is deterministic:
// docs/evidence/stopping.md quotes its output.
package stopping

import (
	"flag"
	"fmt"
	"hash/fnv"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"sync"
	"time"

	"plimsoll/internal/stats/stopping"
)

// fixed is what the studies did.
const fixed = 10 * time.Minute

// Run prints the tables.
func Run(args []string) error {
	flags := flag.NewFlagSet("stopping", flag.ExitOnError)
	replays := flags.Int("replays", 400, "replays of each series")
	seed := flags.Uint64("seed", 0, "the first replay's; the others count up from it")
	_ = flags.Parse(args) // it exits
	results, err := bench(*replays, *seed)
	if err != nil {
		return err
	}
	fmt.Printf("%d series, %d replays each.\n\n", len(results), *replays)
	write(os.Stdout, results)
	return nil
}

// class sorts series by what can be known of them.
type class int

const (
	knowable class = iota // after ten minutes the mean is known within the target
	noisy                 // ten minutes are too short for that
	unsteady              // there is no long-run mean
)

// outcome is what became of the replays of one series. All but the series
// itself are means over the replays; those of truth values are shares.
type outcome struct {
	source
	seconds    float64
	width      float64 // relative half-width of the reported interval
	held       float64 // the reported interval held the long-run mean
	heldAlone  float64 // that of batch means alone did
	reasons    map[stopping.Reason]float64
	fixedWidth float64 // relative half-width of batch means after ten minutes
	fixedHeld  float64 // which held the long-run mean
}

func (o outcome) class() class {
	switch {
	case math.IsNaN(o.mean):
		return unsteady
	case o.fixedWidth > stopping.DefaultRule.Target:
		return noisy
	}
	return knowable
}

func bench(replays int, seed uint64) ([]outcome, error) {
	sources, err := recorded()
	if err != nil {
		return nil, err
	}
	sources = append(made(), sources...)
	results := make([]outcome, len(sources))
	var wait sync.WaitGroup
	slots := make(chan struct{}, runtime.GOMAXPROCS(0))
	for i, s := range sources {
		wait.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			results[i] = replay(s, replays, seed)
		})
	}
	wait.Wait()
	return results, nil
}

func replay(s source, replays int, seed uint64) outcome {
	o := outcome{source: s, reasons: map[stopping.Reason]float64{}}
	share := 1 / float64(replays)
	count := func(into *float64, low, high float64) {
		const rounding = 1e-12
		if low <= s.mean*(1+rounding) && high >= s.mean*(1-rounding) {
			*into += share
		}
	}
	// A series' random numbers are its own, whatever other series there are.
	name := fnv.New64a()
	name.Write([]byte(s.name))
	for i := range uint64(replays) {
		rng := rand.New(rand.NewPCG(seed+i, name.Sum64()))
		rates := s.make(rng, int(fixed.Seconds())*perSecond)

		early := run(rates, stopping.DefaultRule)
		o.seconds += early.Elapsed.Seconds() * share
		o.width += (early.High - early.Low) / 2 / early.Mean.Value * share
		o.reasons[early.Reason] += share
		count(&o.held, early.Low, early.High)
		count(&o.heldAlone, early.Mean.Low(), early.Mean.High())

		late := run(rates, stopping.Rule{Min: fixed, Max: fixed})
		o.fixedWidth += late.Mean.Relative() * share
		count(&o.fixedHeld, late.Mean.Low(), late.Mean.High())
	}
	return o
}

func run(rates []float64, rule stopping.Rule) stopping.Decision {
	stopper := stopping.New(rule)
	for _, rate := range rates {
		if d := stopper.Add(rate); d.Stop {
			return d
		}
	}
	panic("the stopper did not stop at the maximum")
}

// average is of several series, each of the same weight.
func average(results []outcome) (a outcome) {
	a.reasons = map[stopping.Reason]float64{}
	share := 1 / float64(len(results))
	for _, o := range results {
		a.seconds += o.seconds * share
		a.width += o.width * share
		a.held += o.held * share
		a.heldAlone += o.heldAlone * share
		a.fixedWidth += o.fixedWidth * share
		a.fixedHeld += o.fixedHeld * share
		for reason, n := range o.reasons {
			a.reasons[reason] += n * share
		}
	}
	return a
}

// timesLess is how much less time than ten minutes it took.
func (o outcome) timesLess() float64 { return fixed.Seconds() / o.seconds }

func write(w io.Writer, results []outcome) {
	header := func(first string) {
		fmt.Fprintf(w, "| %s | time | less time | interval | holds the mean | batch means alone | precise | maximum "+
			"| never settled | 10 min: interval | holds the mean |\n", first)
		fmt.Fprintln(w, "|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|")
	}
	row := func(name string, outcomes []outcome) {
		a := average(outcomes)
		percent := func(share float64) string { return fmt.Sprintf("%.0f%%", 100*share) }
		holds := percent
		if outcomes[0].class() == unsteady {
			holds = func(float64) string { return "" }
		}
		fmt.Fprintf(w, "| %s | %.0f s | %.1fx | %.1f%% | %s | %s | %s | %s | %s | %.1f%% | %s |\n",
			name, a.seconds, a.timesLess(), 100*a.width, holds(a.held), holds(a.heldAlone),
			percent(a.reasons[stopping.Precise]), percent(a.reasons[stopping.MaximumReached]),
			percent(a.reasons[stopping.NeverSettled]),
			100*a.fixedWidth, holds(a.fixedHeld))
	}

	header("series")
	for _, c := range []struct {
		name    string
		classes []class
	}{
		{"known within 3% in ten minutes", []class{knowable}},
		{"too noisy for that", []class{noisy}},
		{"both", []class{knowable, noisy}},
		{"never settles", []class{unsteady}},
	} {
		selected := only(results, func(o outcome) bool { return slices.Contains(c.classes, o.class()) })
		row(fmt.Sprintf("**%s** (%d)", c.name, len(selected)), selected)
	}

	fmt.Fprintln(w)
	header("kind")
	for i, o := range results {
		if i == 0 || o.kind != results[i-1].kind {
			selected := only(results, func(other outcome) bool { return other.kind == o.kind })
			row(fmt.Sprintf("%s (%d)", o.kind, len(selected)), selected)
		}
	}

	fmt.Fprintln(w)
	header("series")
	for _, o := range results {
		name := o.name
		if o.class() == noisy {
			name += " \\*"
		}
		row(name, []outcome{o})
	}
	fmt.Fprintln(w, "\n\\* too noisy: after ten minutes, the mean is not known within 3%.")

	fmt.Fprintln(w, "\n| series | made of |")
	fmt.Fprintln(w, "|---|---|")
	for _, o := range results {
		fmt.Fprintf(w, "| %s | %s |\n", o.name, o.formula)
	}
}

func only(results []outcome, wanted func(outcome) bool) (kept []outcome) {
	for _, o := range results {
		if wanted(o) {
			kept = append(kept, o)
		}
	}
	return kept
}
