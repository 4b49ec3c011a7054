package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"plimsoll/examples"
	"plimsoll/internal/experiment"
	"plimsoll/internal/finding"
	"plimsoll/internal/inputfile"
	"plimsoll/internal/owner"
	"plimsoll/internal/plural"
	"plimsoll/internal/report"
	"plimsoll/internal/result"
	"plimsoll/internal/result/store"
	"plimsoll/internal/stack"
	"plimsoll/internal/suggest"
	"plimsoll/internal/trial"
	"plimsoll/internal/workload/kinds"
)

// runOptions are as they were typed: prepareRun tells all that is wrong with
// them at once.
func newRunCommand(a *app) *cobra.Command {
	var o runOptions
	cmd := &cobra.Command{
		Use:   "run EXPERIMENT | --resume RUN",
		Short: "Run an experiment and say what it found",
		Long: `Run an experiment: a built-in one by its name (plimsoll list), or a file. Its
trials run interleaved in random blocks; each result is stored when its trial
ends. At the end the findings are printed and report.html is written into the
run directory.

--budget gives the whole run a time: every stack gets a few trials first, and
those that are known least, or cannot be told apart yet, get the rest. Without
it, each gets as many trials as the experiment says. A trial that may run for
more than 40s ends once its mean is known; --fixed has it take its whole time.

--on puts a device or a directory of this host in the place of the loop devices
of an experiment; several --on measure each stack on each device, under the names
of both. --jobs and --size fit its load to the host. --precondition snia brings a
solid-state drive into its steady state first: twice the whole device, then the
workload itself until it is steady.

--trace records what block requests do while a trial is measured, and tells where
the latency of an I/O is spent: in the application, the kernel, the block layer,
the driver, the fabric, the device. It costs some of the speed, so that traced
trials are compared with traced ones. On a host that cannot trace, trials are
measured all the same.

Every change to the host is journalled before it is made and undone at the end.
A block device is written only when its stack names it and --destroy allows it,
and never while it is in use. To overwrite a device that carries partitions or
a signature, say so for that very device:

  --destroy S4EVNF0M123456=signature,partitioned

What others do meanwhile on the disks, and with the processors, is measured with
every trial, and said under the verdict when it matters. A busy host, and another
run that is under way, are said at the start.

Ctrl-C ends a run cleanly: all is undone, results are kept, --resume goes on.
After a crash, --resume undoes what was left behind first.

RUN, which --resume takes, is named as for plimsoll show: a directory, an id or
its beginning, or "last".

EXIT STATUS
  0    every trial was done, or skipped with its reason; with --resume, also
       when there was nothing left to do, and nothing was changed
  1    the run could not go on
  2    the command line or the experiment file is wrong; with --resume, a job file
       was edited since the run began
  3    this host can do no trial of it
  4    a device is protected; nothing was touched
  5    some trials failed; their reasons are in the results
  130  interrupted; everything was undone, the results so far are kept`,
		Example: `  sudo plimsoll run quick
  sudo plimsoll run quick --dry-run
  sudo plimsoll run quick --budget 15m
  sudo plimsoll run quick --on /dev/nvme1n1 --destroy /dev/nvme1n1 --size 64GiB --precondition snia
  sudo plimsoll run quick --trace
  sudo plimsoll run quick --on dir:/srv/data --budget 3m
  sudo plimsoll run nvme.yaml --destroy S4EVNF0M123456
  plimsoll run directory --runtime 10s --repeat 7
  sudo plimsoll run --resume last`,
		Args: atMostOne("one experiment"),
		RunE: func(cmd *cobra.Command, args []string) error { return a.run(cmd, args, o) },

		ValidArgsFunction: completeExperiments,
	}
	f := cmd.Flags()
	o.addTo(f)
	f.StringVarP(&o.out, "out", "o", "", "run `directory` (default: "+trial.DefaultRuns+"/RUN-ID)")
	f.StringVar(&o.resume, "resume", "", "go on with this `RUN`")
	f.StringArrayVar(&o.destroy, "destroy", nil, "a `device`, by serial or path, that may be overwritten; repeatable")
	f.BoolVar(&o.dryRun, "dry-run", false, "print the trials, what would be changed on the host, and the time it would take")
	f.BoolVar(&a.jsonOutput, "json", false, "print results and findings as JSON, and no progress")
	f.BoolVarP(&o.quiet, "quiet", "q", false, "show no progress")
	completes(cmd, "resume", completeRuns(1))
	completes(cmd, "destroy", completeDevices)
	completes(cmd, "on", completeDevices)
	completes(cmd, "precondition", completeWords("snia"))
	return cmd
}

func (a *app) run(cmd *cobra.Command, args []string, o runOptions) error {
	watch := trial.StartWatch()
	options, err := a.prepareRun(args, o)
	if err != nil {
		return err
	}
	if options.Resume && o.budget == "" {
		ended, err := a.isFinished(options.Dir)
		if ended || err != nil {
			return err
		}
	}
	if err := askPrograms(cmd.Context(), options.Experiment); err != nil {
		return err
	}
	if o.dryRun {
		return a.dryRun(cmd.Context(), options)
	}
	if !options.Resume {
		previews, refused, err := trial.DryRun(cmd.Context(), options)
		if err == nil && refused == nil {
			err = hopeless(options.Experiment, previews)
		}
		if err = errors.Join(err, refused); err != nil {
			return runError(err, "")
		}
	}
	for _, w := range watch.Warnings(cmd.Context(), options) {
		fmt.Fprintf(a.stderr, "warning: %s: %s (%s)\n", w.What, w.Why, w.Remedy)
	}
	progress := newProgress(a.stderr, o.quiet || a.jsonOutput, options)
	options.Progress = progress
	run, err := trial.Run(cmd.Context(), options)
	progress.Close()
	if run == nil {
		return runError(err, "")
	}
	cutOff := err != nil
	findings := finding.All(run)
	path := filepath.Join(options.Dir, store.ReportFile)
	reportErr := writeReport(path, run, findings)
	if reportErr != nil && !errors.Is(err, syscall.ENOSPC) { // a full disk is said already
		err = errors.Join(err, reportErr)
	}
	if cutOff && !a.jsonOutput {
		return runError(err, options.Dir) // few trials say little; show tells what they do
	}
	if printErr := a.printRun(run, findings, options.Dir); printErr != nil {
		err = errors.Join(err, printErr)
	}
	if err != nil {
		return runError(err, options.Dir)
	}
	return runStatus(run, options.Dir)
}

// runError gives an error of a run its exit code. dir is the run's, empty when
// it was not made yet.
func runError(err error, dir string) error {
	var (
		refused *stack.Refused
		edited  *trial.EditedError
		exit    *exitError
	)
	switch interrupted := errors.Is(err, context.Canceled); {
	case err == nil:
		return nil
	case interrupted && without(err, context.Canceled, syscall.EPIPE) != nil:
		return &exitError{exitFailure, fmt.Errorf("interrupted, and then: %w", without(err, context.Canceled, syscall.EPIPE))}
	case interrupted && dir == "":
		return &exitError{exitInterrupted, errors.New("interrupted; nothing had been changed yet")}
	case interrupted:
		return &exitError{exitInterrupted, fmt.Errorf("interrupted; everything was undone, and the results so far are kept (plimsoll show %s). To go on:\n  plimsoll run --resume %s", dir, dir)}
	case errors.As(err, &refused):
		return &exitError{exitRefused, err}
	case errors.As(err, &exit):
		return exit
	case errors.As(err, &edited):
		return &exitError{exitUsage, err}
	case dir != "":
		return &exitError{exitFailure, fmt.Errorf("%w\nThe results so far are kept (plimsoll show %s). To go on:\n  plimsoll run --resume %s", err, dir, dir)}
	default:
		return &exitError{exitFailure, err}
	}
}

// without takes errors out of what errors.Join made.
func without(err error, unwanted ...error) error {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		var rest []error
		for _, e := range joined.Unwrap() {
			rest = append(rest, without(e, unwanted...))
		}
		return errors.Join(rest...)
	}
	if slices.ContainsFunc(unwanted, func(u error) bool { return errors.Is(err, u) }) {
		return nil
	}
	return err
}

// hopeless refuses an experiment of which the host can make no stack.
func hopeless(e *experiment.Experiment, previews []trial.Preview) error {
	var reasons []string
	for _, p := range previews {
		if p.Skipped == "" {
			return nil
		}
		if !slices.Contains(reasons, p.Skipped) {
			reasons = append(reasons, p.Skipped)
		}
	}
	return &exitError{exitHost, fmt.Errorf("this host can do no trial of %s; nothing was changed:\n  %s", e.Name, strings.Join(reasons, "\n  "))}
}

// runStatus tells how a complete run went.
func runStatus(run *result.Run, dir string) error {
	n := map[result.TrialStatus]int{}
	for _, t := range run.Trials {
		n[t.Status]++
	}
	switch {
	case n[result.TrialFailed] > 0:
		return &exitError{exitPartial, fmt.Errorf("%d of %s failed; plimsoll show %s tells why", n[result.TrialFailed], plural.Count(len(run.Trials), "trial"), dir)}
	case n[result.TrialDone] == 0:
		return &exitError{exitHost, fmt.Errorf("this host can do no trial of the experiment; plimsoll show %s tells why", dir)}
	}
	return nil
}

// prepareRun reads the command line and the experiment.
func (a *app) prepareRun(args []string, o runOptions) (trial.Options, error) {
	usage := func(format string, v ...any) (trial.Options, error) {
		return trial.Options{}, &exitError{exitUsage, fmt.Errorf(format, v...)}
	}
	t := trial.Options{State: a.state, Version: version, Command: os.Args, Dir: o.out}
	for _, d := range o.destroy {
		p, err := stack.ParsePermission(d)
		if err != nil {
			return usage("%w", err)
		}
		t.Allow = append(t.Allow, p)
	}
	if o.resume != "" {
		more, err := moreBudget(&o)
		if err != nil {
			return usage("%w", err)
		}
		if len(args) > 0 || o.given() || o.out != "" {
			return usage("--resume goes on with a run as it was started: give no experiment and no other settings with it but --budget +TIME, which is so much more")
		}
		dir, err := store.Find(store.RunsDir, o.resume)
		if err != nil {
			return usage("%w", err)
		}
		return a.resumeRun(t, dir, more)
	}
	if len(args) == 0 {
		return usage("which experiment? plimsoll list names the built-in ones, anything else is a file")
	}
	e, err := loadExperiment(args[0])
	if err = errors.Join(err, settings(e, &t, o)); err != nil {
		return usage("%w", err)
	}
	if len(t.Allow) > 0 && !slices.ContainsFunc(e.Stacks, func(s experiment.Stack) bool { return stack.WritesDevice(s.Line) }) {
		return usage("--destroy %s: no stack of %s stands on a block device, and nothing would be overwritten; is this the right experiment?", o.destroy[0], e.Name)
	}
	t.Experiment = e
	t.ID = trial.NewID(e.Name, time.Now().UTC())
	if t.Dir == "" {
		t.Dir = filepath.Join(trial.DefaultRuns, t.ID)
	}
	return t, nil
}

// moreBudget takes from o the time that a resumed run is given on top.
func moreBudget(o *runOptions) (time.Duration, error) {
	text, ok := strings.CutPrefix(o.budget, "+")
	if !ok {
		return 0, nil
	}
	more, err := time.ParseDuration(text)
	if err != nil || more <= 0 {
		return 0, fmt.Errorf("--budget takes +TIME with --resume, such as +6m, not %q", o.budget)
	}
	o.budget = ""
	return more, nil
}

// resumeRun takes the experiment as the run that is resumed was given it, with
// more time where that is given.
func (a *app) resumeRun(t trial.Options, dir string, more time.Duration) (trial.Options, error) {
	run, err := store.Read(dir)
	if err != nil {
		return t, &exitError{exitUsage, err}
	}
	e, err := parseExperiment(run.Experiment.File, []byte(run.Experiment.Source))
	if err != nil {
		return t, &exitError{exitUsage, err}
	}
	if err := restore(e, run); err != nil {
		return t, &exitError{exitFailure, err}
	}
	if more > 0 {
		// What was left of the old budget was not enough for another block.
		e.Budget = trial.Spent(run) + more
	}
	t.Experiment, t.Seed, t.Dir, t.Resume = e, run.Seed, dir, true
	return t, nil
}

// isFinished reports whether there is nothing left to do of a run, and says so.
// Nothing of the run directory is changed then.
func (a *app) isFinished(dir string) (bool, error) {
	run, err := store.Read(dir)
	if err != nil {
		return false, &exitError{exitUsage, err}
	}
	isPlanned := func(t result.Trial) bool { return t.Status == result.TrialPlanned }
	if run.Status != result.RunComplete || slices.ContainsFunc(run.Trials, isPlanned) {
		return false, nil
	}
	if a.jsonOutput {
		return true, a.printRun(run, finding.All(run), dir)
	}
	fmt.Fprintf(a.stdout, `The run %s is finished: all of its %s have ended, and nothing was changed.
What it found:
  plimsoll show %s
To measure more, with so much more time:
  plimsoll run --resume %s --budget +6m
`,
		run.ID, plural.Count(len(run.Trials), "trial"), shellLine([]string{dir}), shellLine([]string{dir}))
	return true, nil
}

// loadExperiment reads a built-in experiment by its name, or a file.
func loadExperiment(name string) (*experiment.Experiment, error) {
	if text, ok := examples.Find(name); ok {
		e, err := parseExperiment(name+".yaml", text)
		if err == nil {
			e.File = "" // it is no file of the user's
		}
		return e, err
	}
	text, err := inputfile.Read(name, inputfile.MaxText)
	if errors.Is(err, os.ErrNotExist) && !strings.ContainsAny(name, "./") {
		meant := ""
		if near := suggest.Closest(name, examples.List()); near != "" {
			meant = fmt.Sprintf("did you mean %q? ", near)
		}
		return nil, fmt.Errorf("no experiment is called %q, and there is no such file: %splimsoll list tells which are built in", name, meant)
	}
	if err != nil {
		return nil, fmt.Errorf("read the experiment: %w", err)
	}
	path, err := filepath.Abs(name)
	if err != nil {
		return nil, err
	}
	e, err := parseExperiment(name, text)
	if err != nil {
		return nil, err
	}
	e.File = path // a run may be resumed from elsewhere
	return e, nil
}

// parseExperiment reads the text of an experiment file. Directories that it
// names relative to the working directory are made absolute, since a run may
// be resumed, and cleaned up after, from elsewhere.
func parseExperiment(file string, text []byte) (*experiment.Experiment, error) {
	dir := filepath.Dir(file)
	e, err := experiment.Parse(file, text, experiment.Options{
		Catalog: stack.Catalog(),
		Kinds:   kinds.All(),
		Open: func(name string) ([]byte, error) {
			if !filepath.IsAbs(name) {
				name = filepath.Join(dir, name)
			}
			return inputfile.Read(name, inputfile.MaxText)
		},
	})
	if err != nil {
		return nil, err
	}
	for _, s := range e.Stacks {
		if source := &s.Line.Nodes[0]; strings.HasPrefix(source.Arg, ".") {
			if source.Arg, err = filepath.Abs(source.Arg); err != nil {
				return nil, err
			}
		}
	}
	return e, nil
}

// plan is what a dry run tells.
type plan struct {
	Experiment       string               `json:"experiment"`
	Seed             uint64               `json:"seed"`
	Trace            bool                 `json:"trace,omitempty"`    // block requests are recorded meanwhile
	LeftOut          []string             `json:"left_out,omitempty"` // stacks and workloads that do not fit the settings, and why
	Stacks           []plannedStack       `json:"stacks"`
	Writes           []string             `json:"writes"` // what is written besides, and taken back at the end; RUN stands for the run's id
	Trials           []experiment.Planned `json:"trials"` // in their order
	EstimatedSeconds float64              `json:"estimated_seconds"`
	BudgetSeconds    float64              `json:"budget_seconds,omitempty"` // in which further trials are planned as it goes
}

// plannedStack is what making a stack would change on the host.
type plannedStack struct {
	Name    string   `json:"name"`
	Line    string   `json:"line"`
	Changes []string `json:"changes"`
	Writes  []string `json:"writes"`            // every device and path; RUN stands for the run's id
	Skipped string   `json:"skipped,omitempty"` // why the host cannot make it
}

// dryRun tells what a run would do, and what would be refused.
func (a *app) dryRun(ctx context.Context, o trial.Options) error {
	e := o.Experiment
	previews, refused, err := trial.DryRun(ctx, o)
	if err != nil {
		return runError(err, "")
	}
	if err := hopeless(e, previews); err != nil {
		return runError(errors.Join(refused, err), "")
	}
	trials := experiment.Trials(e, o.Seed)
	if o.Resume {
		run, err := store.Read(o.Dir)
		if err != nil {
			return runError(err, "")
		}
		trials = nil
		for _, t := range run.Trials { // a budget may have planned others than the experiment
			if t.Status == result.TrialPlanned {
				trials = append(trials, experiment.Planned{Seq: t.Seq, Block: t.Block, Repeat: t.Repeat, Stack: t.Stack, Workload: t.Workload})
			}
		}
	}
	var takes time.Duration
	for _, cost := range experiment.Costs(e, trials) {
		takes += cost
	}
	p := plan{Experiment: e.Name, Seed: o.Seed, Trials: trials, EstimatedSeconds: takes.Seconds(), BudgetSeconds: e.Budget.Seconds(), LeftOut: o.LeftOut, Trace: e.Trace, Writes: trial.OwnWrites(o)}
	for i, s := range e.Stacks {
		p.Stacks = append(p.Stacks, plannedStack{Name: s.Name, Line: s.Line.String(), Changes: previews[i].Changes, Writes: previews[i].Writes, Skipped: previews[i].Skipped})
	}
	if a.jsonOutput {
		if err := json.NewEncoder(a.data()).Encode(p); err != nil {
			return &exitError{exitFailure, err}
		}
		return runError(refused, "")
	}
	var out strings.Builder
	fmt.Fprintf(&out, "%s: %s\n", e.Name, e.Question)
	for _, why := range p.LeftOut {
		fmt.Fprintf(&out, "left out: %s\n", why)
	}
	if p.Trace {
		out.WriteString("traced: block requests are recorded while trials are measured (--no-trace measures without)\n")
	}
	out.WriteString("\nWould change on this host, and undo at the end:\n")
	for _, s := range p.Stacks {
		fmt.Fprintf(&out, "  %s: %s\n", s.Name, s.Line)
		for _, what := range s.Changes {
			fmt.Fprintf(&out, "      %s\n", what)
		}
		for _, where := range s.Writes {
			fmt.Fprintf(&out, "      writes %s\n", where)
		}
		if s.Skipped != "" {
			fmt.Fprintf(&out, "      skipped: %s\n", s.Skipped)
		}
	}
	fmt.Fprintf(&out, "  besides, for the run itself (RUN is its id):\n")
	for _, where := range p.Writes {
		fmt.Fprintf(&out, "      writes %s\n", where)
	}
	fmt.Fprintf(&out, "\nWould stay: the results, in %s.\n\nTrials, in this order (seed %d):\n", o.Dir, o.Seed)
	for _, t := range p.Trials {
		fmt.Fprintf(&out, "  %4d  block %-3d  %-20s %s\n", t.Seq, t.Block, t.Stack, t.Workload)
	}
	more := ""
	if e.Budget > 0 {
		more = fmt.Sprintf(", then more where they are needed, %s in all", e.Budget)
	}
	fmt.Fprintf(&out, "\n%s, about %s%s. Nothing was changed.\n", plural.Count(len(p.Trials), "trial"), takes.Round(time.Second), more)
	if _, err := io.WriteString(a.stdout, out.String()); err != nil {
		return &exitError{exitFailure, err}
	}
	return runError(refused, "")
}

// writeReport writes the HTML report, in the place of one that is there.
func writeReport(path string, run *result.Run, findings []finding.Finding) error {
	if err := owner.Replace(path, func(w io.Writer) error { return report.HTML(w, run, findings) }); err != nil {
		return fmt.Errorf("write the report %s: %w", path, err)
	}
	return nil
}
