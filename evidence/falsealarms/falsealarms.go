// Package falsealarms measures copies of one stack, which are equal, and counts how many pairs of them are called
// different; and how often a stack that is slower is recognised, and after how long. It takes about half an hour.
package falsealarms

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"plimsoll/internal/experiment"
	"plimsoll/internal/result"
	"plimsoll/internal/stack"
	"plimsoll/internal/trial"
	"plimsoll/internal/trial/plan"
	"plimsoll/internal/workload/kinds"
)

// stacks are those whose copies are compared.
var stacks = []struct{ name, line string }{
	{"xfs", "loop(size=1GiB) > xfs"},
	{"ext4", "loop(size=1GiB) > ext4"},
	{"volume", "loop(size=1GiB) > xfs > volume"},
	{"overlay2", "loop(size=1GiB) > xfs > overlay2"},
}

const workloads = `
workloads:
  randread: {fio: {rw: randread, bs: 4KiB, jobs: 4, iodepth: 32, size: 512MiB}}
  randwrite: {fio: {rw: randwrite, bs: 4KiB, jobs: 4, iodepth: 32, size: 512MiB}}
  write: {fio: {rw: write, bs: 128KiB, jobs: 4, iodepth: 8, size: 512MiB}}
`

// onlyLimits stands for the name of a stack, and for no copies.
const onlyLimits = "limits"

// options of the benchmark.
type options struct {
	copies, blocks int
	runs           int
	seed           uint64
	runtime        time.Duration
	only           string
	limits         bool
	keep           string
}

// Run measures copies of stacks, and prints tables of how they are compared.
func Run(args []string) error {
	flags := flag.NewFlagSet("false-alarms", flag.ExitOnError)
	var o options
	flags.IntVar(&o.copies, "copies", 6, "copies of each stack, beside the control")
	flags.IntVar(&o.blocks, "blocks", 6, "blocks of each run")
	flags.IntVar(&o.runs, "runs", 1, "runs of each stack")
	flags.Uint64Var(&o.seed, "seed", 1, "of the first run; the others count up from it")
	flags.DurationVar(&o.runtime, "runtime", time.Second, "measured time of a trial")
	flags.StringVar(&o.only, "only", "", "copies of this stack alone: xfs, ext4, volume or overlay2; or limits, alone")
	flags.BoolVar(&o.limits, "limits", true, "slow stacks down by a limit of I/Os as well")
	flags.StringVar(&o.keep, "keep", "", "directory to keep the runs in")
	_ = flags.Parse(args) // it exits
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	return bench(ctx, o)
}

func bench(ctx context.Context, o options) (err error) {
	if os.Getuid() != 0 {
		return errors.New("loop devices, mounts and engines are made here: run it as root")
	}
	dir := o.keep
	if dir == "" {
		if dir, err = os.MkdirTemp("", "plimsoll-aa-"); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	}
	var measured []copies
	for _, s := range stacks {
		if o.only != "" && s.name != o.only {
			continue
		}
		for n := range o.runs {
			run, err := measure(ctx, o, dir, fmt.Sprintf("%s-%d", s.name, n+1), copiesOf(s.line, o), o.seed+uint64(n), nil)
			if err != nil {
				return err
			}
			measured = append(measured, copies{s.name, run})
		}
	}
	if o.only == onlyLimits {
		return limited(ctx, o, dir)
	}
	if len(measured) == 0 {
		return fmt.Errorf("no stack is called %q", o.only)
	}
	writeEqual(os.Stdout, measured)
	fmt.Println()
	writeParts(os.Stdout, measured)
	fmt.Println()
	writeScaled(os.Stdout, measured)
	if !o.limits {
		return nil
	}
	fmt.Println()
	return limited(ctx, o, dir)
}

// copies is a run of copies of one stack.
type copies struct {
	stack string
	run   *result.Run
}

func copiesOf(line string, o options) string {
	var b strings.Builder
	b.WriteString("stacks:\n")
	for i := range o.copies {
		fmt.Fprintf(&b, "  copy%d: %s\n", i+1, line)
	}
	return b.String() + workloads
}

// measure runs an experiment of these stacks and workloads.
func measure(ctx context.Context, o options, dir, name, body string, seed uint64,
	handicap func(context.Context, string, []result.Device) error) (*result.Run, error) {
	text := fmt.Sprintf("name: %s\nquestion: Are equal stacks distinguished?\nrepeat: %d\nruntime: %s\n%s", name,
		o.blocks, o.runtime, body)
	e, err := experiment.Parse(name+".yaml", []byte(text),
		experiment.Options{Catalog: stack.Catalog(), Kinds: kinds.All()})
	if err != nil {
		return nil, err
	}
	experiment.AddControl(e)
	progress := &progress{name: name, began: time.Now()}
	run, err := trial.Run(ctx, trial.Options{
		Experiment: e, Seed: seed, ID: trial.NewID(name, time.Now().UTC()), Dir: filepath.Join(dir, name),
		State: filepath.Join(dir, "state"), Version: "bench", Progress: progress, Handicap: handicap,
	})
	fmt.Fprintln(os.Stderr)
	if err != nil {
		return nil, err
	}
	for _, t := range run.Trials {
		if t.Status != result.TrialDone {
			return nil, fmt.Errorf("%s: trial %d, %s on %s: %s: %w", name, t.Seq, t.Mix, t.Stack, t.Status, t.Problem)
		}
	}
	return run, nil
}

// progress shows on one line how far a run came.
type progress struct {
	name  string
	began time.Time
}

// Note prints nothing.
func (p *progress) Note(string) {}

// Begin prints nothing.
func (p *progress) Begin(result.Trial, int, int) {}

// End prints how many trials have ended.
func (p *progress) End(_ result.Trial, n, of int) {
	fmt.Fprintf(os.Stderr, "\r%s: %d of %d trials, %s ", p.name, n, of, time.Since(p.began).Round(time.Second))
}

func workloadsOf(run *result.Run) (names []string) {
	for _, w := range run.Workloads {
		names = append(names, w.Name)
	}
	return names
}

// first returns a run with its first blocks only.
func first(run *result.Run, blocks int) *result.Run {
	out := *run
	out.Trials = slices.DeleteFunc(slices.Clone(run.Trials), func(t result.Trial) bool { return t.Block > blocks })
	return &out
}

// elapsed is how long the trials of a run took.
func elapsed(run *result.Run) time.Duration { return plan.Spent(run) }
