package main

import (
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"

	"plimsoll/internal/experiment"
	"plimsoll/internal/host/hostinfo"
	"plimsoll/internal/printable"
	"plimsoll/internal/result"
	"plimsoll/internal/result/store"
	"plimsoll/internal/trial"
	"plimsoll/internal/trial/plan"
	"plimsoll/internal/units/plural"
)

// isTerminal reports whether a stream is a terminal.
func isTerminal(w io.Writer) bool {
	f, ok := w.(interface{ Fd() uintptr })
	return ok && term.IsTerminal(int(f.Fd()))
}

// columns is the width of the terminal that w is, or otherwise when it is none.
func columns(w io.Writer, otherwise int) int {
	if f, ok := w.(interface{ Fd() uintptr }); ok {
		if width, _, err := term.GetSize(int(f.Fd())); err == nil && width > 0 {
			return width
		}
	}
	return otherwise
}

// progress shows how a run goes on, until it is closed.
type progress interface {
	trial.Progress
	Close()
}

// newProgress shows a run on w: a bar with the time left on a terminal, plain
// lines elsewhere, nothing when quiet.
func newProgress(w io.Writer, quiet bool, o trial.Options) progress {
	if quiet {
		return silent{}
	}
	p := pace{
		trials: experiment.Trials(o.Experiment, o.Seed), experiment: o.Experiment, began: time.Now(),
		elasticity: experiment.ElasticityTakes(o.Experiment),
	}
	for _, why := range o.LeftOut {
		fmt.Fprintf(w, "left out: %s\n", why)
	}
	asks, ok := o.Experiment.PlanHost(hostinfo.New().Capacity())
	if ok && !o.Experiment.HostAsked.Empty() {
		asks.EstimateLoading(keptLoads(o.Golden))
		fmt.Fprintf(w, "%s\n", indent(asks.String()))
	}
	switch {
	case o.Resume:
		// What a budget has left is what earlier processes left of it.
		if run, err := store.Read(o.Dir); err == nil {
			p.began, p.trials = p.began.Add(-plan.Spent(run)), nil
			for _, t := range run.Trials { // it may have planned others than the experiment
				p.trials = append(p.trials, plannedOf(t))
			}
		}
	case o.Experiment.Budget > 0:
		fmt.Fprintf(w, "%s: %s for at least %s of %s each; results go to %s\n",
			o.Experiment.Name, o.Experiment.Budget, plural.Count(len(p.trials), "trial"), o.Experiment.Timing.Runtime, o.Dir)
	default:
		fmt.Fprintf(w, "%s: %s, about %s; results go to %s\n",
			o.Experiment.Name, plural.Count(len(p.trials), "trial"), experiment.Estimate(o.Experiment).Round(time.Second), o.Dir)
	}
	if !isTerminal(w) {
		return &lines{w: w, pace: p}
	}
	return newBar(unfiltered(w), p)
}

type silent struct{}

func (silent) Note(string)                  {}
func (silent) Begin(result.Trial, int, int) {}
func (silent) End(result.Trial, int, int)   {}
func (silent) Close()                       {}

// pace estimates the remaining time of a run: the estimate, multiplied by the ratio of actual to estimated time so
// far.
type pace struct {
	experiment *experiment.Experiment
	trials     []experiment.Planned
	began      time.Time
	elasticity time.Duration // estimated time of the mixes that the run adds by itself

	costs       []time.Duration // of the trials that this process runs
	first       int             // trials that were done before
	all         int             // number of planned trials
	start, last time.Time       // of the first trial, and of the one under way
}

// begin notes the start of a trial after done others, of all planned so far.
func (p *pace) begin(done, all int) {
	p.last, p.all = time.Now(), all
	if p.costs == nil {
		p.start, p.first = p.last, done
		p.costs = experiment.Costs(p.experiment, p.trials[min(done, len(p.trials)):])
	}
}

// remaining returns the remaining time after done trials.
func (p *pace) remaining(done int) time.Duration {
	if p.experiment.Budget > 0 {
		return max(0, p.experiment.Budget-time.Since(p.began)).Round(time.Second)
	}
	// The estimate alone counts at first, as if as much had been seen of it.
	const prior = 20 * time.Second
	var past, rest time.Duration
	for i, cost := range p.costs {
		if i < done-p.first {
			past += cost
		} else {
			rest += cost
		}
	}
	rest += p.remainingElasticity(done)
	slower := float64(p.last.Sub(p.start)+prior) / float64(past+prior)
	return max(0, time.Duration(slower*float64(rest))-time.Since(p.last)).Round(time.Second)
}

// remainingElasticity returns the remaining time of the mixes that the run adds by itself, after done trials.
func (p *pace) remainingElasticity(done int) time.Duration {
	added := p.all - len(p.trials)
	if added <= 0 {
		return p.elasticity // they are not planned yet
	}
	return time.Duration(float64(p.elasticity) * float64(min(added, p.all-done)) / float64(added))
}

// bar is a status line at the foot of a terminal, redrawn every second.
type bar struct {
	mu sync.Mutex // guards all but stop and stopped: Note is called concurrently, and run draws
	pace
	w       io.Writer
	width   int // of the bar itself
	bar     *progressbar.ProgressBar
	text    string
	done    int
	all     int
	stop    chan struct{}
	stopped sync.WaitGroup
}

func newBar(w io.Writer, p pace) *bar {
	b := &bar{w: w, pace: p, width: 24, text: "looking at the host", stop: make(chan struct{})}
	if columns(w, 80) < 100 {
		b.width = 10
	}
	// The bar's last step is undoing, after the last trial.
	b.bar = progressbar.NewOptions(len(p.trials)+1,
		progressbar.OptionSetWriter(w),
		progressbar.OptionSetWidth(b.width),
		progressbar.OptionSetPredictTime(false),
		progressbar.OptionSetElapsedTime(false),
		progressbar.OptionUseANSICodes(true),
	)
	b.stopped.Go(func() {
		for tick := time.NewTicker(time.Second); ; {
			select {
			case <-tick.C:
				b.show(func() {})
			case <-b.stop:
				tick.Stop()
				return
			}
		}
	})
	return b
}

func (b *bar) Note(text string) { b.show(func() { b.text = text }) }

func (b *bar) Begin(t result.Trial, done, all int) {
	b.show(func() {
		b.begin(done, all)
		b.text, b.done, b.all = t.Stack+" "+t.Mix, done, all
	})
}

func (b *bar) End(_ result.Trial, done, all int) {
	b.show(func() { b.begin(done, all); b.done, b.all = done, all })
}

// Close leaves the line as if nothing had been there.
func (b *bar) Close() {
	close(b.stop)
	b.stopped.Wait()
	_ = b.bar.Clear()
}

// show draws the line after a change.
func (b *bar) show(change func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	change()
	left := ""
	if b.costs != nil {
		left = fmt.Sprintf("%d/%d, %s left: ", b.done, b.all, b.remaining(b.done))
	}
	// What the bar adds to the text: a percentage, a frame, and the last column,
	// behind which some terminals begin a new line.
	const frame = 10
	b.bar.Describe(fitWidth(left+printable.Line(b.text), columns(b.w, 80)-b.width-frame))
	at := b.done
	if budget := b.experiment.Budget; budget > 0 { // the trials to come are not known
		at = int(float64(len(b.trials)) * min(1, time.Since(b.began).Seconds()/budget.Seconds()))
	}
	_ = b.bar.Set(at)
}

// fitWidth pads or cuts text to exactly width columns, so that the bar does not jump.
func fitWidth(text string, width int) string {
	width = max(width, 1)
	if r := []rune(text); len(r) > width {
		text = string(r[:width-1]) + "…"
	}
	return fmt.Sprintf("%-*s", width, text)
}

// maxTrialLines is the number of trials up to which each gets a line where the output is no terminal; beyond, every
// tenth does.
const maxTrialLines = 20

// lines prints a line for each trial that ends, or for every tenth, and for those that were not measured.
type lines struct {
	pace
	w io.Writer
}

func (l *lines) Note(string) {}

func (l *lines) Begin(_ result.Trial, done, all int) { l.begin(done, all) }

func (l *lines) End(t result.Trial, done, all int) {
	l.begin(done, all)
	if all > maxTrialLines && done%10 != 0 && done != 1 && done != all && t.Counts() != nil {
		return
	}
	what := string(t.Status)
	switch {
	case t.Counts() != nil:
		unit := "IOPS"
		if t.Honesty() != nil && t.Honesty().Source.Operations() {
			unit = "ops/s"
		}
		what = fmt.Sprintf("%.0f %s", t.Counts().IOPS(), unit)
		if t.Honesty() != nil && t.Honesty().Source == result.SourceMemory {
			what += " (served from memory)"
		}
	case t.Problem != nil:
		what += ": " + t.Problem.Text()
	}
	fmt.Fprintf(l.w, "[%d/%d] %s %s: %s; %s left\n", done, all, t.Stack, t.Mix, what, l.remaining(done))
}

func (l *lines) Close() {}
