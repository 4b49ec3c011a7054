package main

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"plimsoll/internal/cli/preview"
	"plimsoll/internal/experiment"
	"plimsoll/internal/field"
	"plimsoll/internal/finding"
	"plimsoll/internal/result/store"
	"plimsoll/internal/stack"
	"plimsoll/internal/trial"
)

// newRunCommand returns the command. Its options stay as they were typed: prepareRun
// says all that is wrong with them at once.
func newRunCommand(a *app) *cobra.Command {
	var o runOptions
	cmd := &cobra.Command{
		Use:   "run EXPERIMENT | --resume RUN",
		Short: "Run an experiment; changes to the host are undone",
		Long: `Run an experiment: a built-in one by its name (plimsoll list), or a file. Print
the verdict and its tables, and write report.html into the run directory.

Changes to the host are recorded before they are made, and undone at the end.
Ctrl-C ends a run cleanly: results are kept, and --resume goes on with the rest.
A block device is written only if --destroy names it, and never while in use.

DETAILS
Trials run interleaved in random rounds; each result is stored when its trial ends.
A trial of more than 40s ends once its mean is known; --fixed has it take its whole
time. With --budget, every stack gets a few trials first, and the rest of the time
goes to the closest and noisiest comparisons.

--on puts a device or a directory of this host in the place of the loop devices
of an experiment; several --on measure each stack on each device, under the names
of both. --jobs and --size fit its load to the host. --precondition snia brings a
solid-state drive into its steady state first: it writes the whole device twice,
then runs the workload itself until it is steady.

--trace shows where the latency of an I/O is spent: in the application, the kernel,
the block layer, the driver, the fabric, the device. It costs some of the speed, so
that traced trials are compared with traced ones.

A device that carries partitions or a signature is overwritten only if --destroy
names both:

  --destroy S4EVNF0M123456=signature,partitioned

The load of other processes on the disks and the processors is measured with every
trial, and the verdict warns if it mattered.

RUN, which --resume takes, is a directory, an id or its beginning, or "last". After
a crash, --resume first undoes what was left behind. It uses what the run stores:
files that were edited since change nothing.

EXIT STATUS
  0    every trial was done, or skipped with its reason; with --resume, also
       when there was nothing left to do, and nothing was changed
  1    the run could not go on
  2    the command line or the experiment file is wrong
  3    this host cannot run it
  4    a device is protected; nothing was touched
  5    some trials failed; their reasons are in the results
  130  interrupted; everything was undone, the results so far are kept`,
		Example: `  sudo plimsoll run quick
  sudo plimsoll run quick --budget 15m --dry-run
  sudo plimsoll run quick --on /dev/nvme1n1 --destroy /dev/nvme1n1 --size 64GiB
  plimsoll run directory --runtime 10s --repeat 7
  sudo plimsoll run homogeneous --only 'T-*' --budget 10m
  sudo plimsoll run --resume last`,
		Args: atMostOne("one experiment"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if every, _ := cmd.Flags().GetBool(allFlag); every {
				return &exitError{exitUsage, errors.New("--all is for the help: plimsoll run --help --all")}
			}
			return a.run(cmd, args, o)
		},

		ValidArgsFunction: completeExperiments,
	}
	a.addRunFlags(cmd, &o)
	f := cmd.Flags()
	f.StringVar(&o.resume, "resume", "", "go on with this `RUN`")
	f.Bool(allFlag, false, "with --help: show every flag")
	completeFlag(cmd, "resume", completeRuns(1))
	return cmd
}

// newPapersRunCommand returns the command that runs the experiment of a paper's figure.
func newPapersRunCommand(a *app) *cobra.Command {
	var o runOptions
	cmd := &cobra.Command{
		Use:   "run FIGURE",
		Short: "Run the experiment that repeats a figure of a paper",
		Long: `Run the part of a built-in experiment that repeats a figure of a paper, such as
msst17-8c (plimsoll papers list). --dry-run prints the set-up of the paper next to
that of the run. All flags of "plimsoll run" may be given but --resume.

EXIT STATUS
  0    every trial was done, or skipped with its reason
  1    the run could not go on
  2    the command line or the experiment file is wrong
  3    this host cannot run it
  4    a device is protected; nothing was touched
  5    some trials failed; their reasons are in the results
  130  interrupted; everything was undone, the results so far are kept`,
		Example: `  plimsoll papers run msst17-6a --scale paper --dry-run
  sudo plimsoll papers run ipccc16-6 --budget 10m`,
		Args: exactly(1, "the figure of a paper, such as msst17-8c"),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.figure = args[0]
			name, err := figureExperiment(o)
			if err != nil {
				return &exitError{exitUsage, err}
			}
			return a.run(cmd, []string{name}, o)
		},
		ValidArgsFunction: completeFigures,
	}
	a.addRunFlags(cmd, &o)
	return cmd
}

// addRunFlags adds the flags of a command that starts a run.
func (a *app) addRunFlags(cmd *cobra.Command, o *runOptions) {
	f := cmd.Flags()
	o.addTo(f)
	f.StringVarP(&o.out, "output", "o", "", "run `directory` (default: "+trial.DefaultRuns+"/RUN-ID)")
	f.StringArrayVar(&o.destroy, "destroy", nil,
		"`device`, by serial or path, that may be overwritten, or a schema; repeatable")
	f.StringVar(&o.keepData, "keep-data", "8GiB", "keep data that was loaded for servers, below the state directory, for "+
		"later runs: up to this `size` in all; 0 neither keeps nor uses any")
	f.BoolVar(&o.dryRun, "dry-run", false, "print what would be changed on the host, the time it would take, and what "+
		"would keep the run from starting")
	f.BoolVar(&o.verbose, "verbose", false, "with --dry-run: print each trial, too, in their order")
	f.BoolVar(&a.jsonOutput, "json", false, "print results and findings as JSON, and no progress")
	f.BoolVarP(&o.quiet, "quiet", "q", false, "show no progress")
	completeFlag(cmd, "destroy", completeDevices)
	completeFlag(cmd, "on", completeDevices)
	completeFlag(cmd, "precondition", completeWords("snia"))
}

func (a *app) run(cmd *cobra.Command, args []string, o runOptions) error {
	watch := trial.StartWatch()
	options, err := a.prepareRun(args, o)
	if err != nil {
		return err
	}
	if options.Resume && o.text("budget") == "" {
		ended, err := a.isFinished(options.Dir)
		if ended || err != nil {
			return err
		}
	}
	if !o.dryRun {
		options.Secrets, err = trial.TakeSecrets(options.Experiment)
		if err != nil {
			return &exitError{exitUsage, err}
		}
	}
	if err := trial.Ask(cmd.Context(), options.Experiment); err != nil {
		return runError(err, "")
	}
	if o.dryRun {
		return a.dryRun(cmd.Context(), options, o)
	}
	if !options.Resume {
		previews, refused, err := trial.DryRun(cmd.Context(), options)
		if err == nil && refused == nil {
			err = hopeless(options.Experiment, previews, options.LeftOut)
		}
		if err = errors.Join(err, refused); err != nil {
			return runError(err, "")
		}
	}
	for _, w := range preview.Pointless(options.Experiment) {
		fmt.Fprintf(a.stderr, "warning: %s\n", w)
	}
	for _, w := range watch.Warnings(cmd.Context(), options) {
		fmt.Fprintf(a.stderr, "warning: %s\n", w)
	}
	if e := options.Experiment; e.Budget > 0 && !options.Resume && !o.quiet && !a.jsonOutput {
		fmt.Fprintf(a.stderr, "By estimate, %s.\n", e.Reach(a.questions(e)))
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

// prepareRun reads the command line and the experiment.
func (a *app) prepareRun(args []string, o runOptions) (trial.Options, error) {
	usage := func(format string, v ...any) (trial.Options, error) {
		return trial.Options{}, &exitError{exitUsage, fmt.Errorf(format, v...)}
	}
	if o.verbose && !o.dryRun {
		return usage("--verbose works with --dry-run only: it prints the trials of a run that is not started")
	}
	t := trial.Options{State: a.state, Version: version, Command: os.Args, Dir: o.out}
	keep, err := field.Size(0, math.MaxInt64).Like("8GiB, or 0").Parse(o.keepData)
	if err != nil {
		return usage("--keep-data %q: %w", o.keepData, err)
	}
	t.Golden, t.Images = a.dataStore(keep), a.images()
	for _, d := range o.destroy {
		p, err := stack.ParsePermission(d)
		if err != nil {
			return usage("%w", err)
		}
		t.Allow = append(t.Allow, p)
	}
	if o.resume != "" {
		more, err := moreBudget(o.text("budget"))
		if err != nil {
			return usage("%w", err)
		}
		if len(args) > 0 || o.anyGiven(more > 0) || o.out != "" {
			return usage("--resume goes on with a run as it was started: give no experiment and no other settings " +
				"with it but --budget +TIME, which adds that time")
		}
		dir, err := store.Find(a.runs, o.resume)
		if err != nil {
			return usage("%w", err)
		}
		return a.resumeRun(t, dir, more)
	}
	if len(args) == 0 {
		return usage("which experiment? plimsoll list names the built-in ones, anything else is a file")
	}
	e, err := loadExperiment(args[0], o.text("scale"))
	err = errors.Join(err, applySettings(e, &t, o))
	if budget := o.text("budget"); strings.HasPrefix(budget, "+") {
		err = errors.Join(err, fmt.Errorf("--budget %s adds time to a run that --resume names: a new run takes "+
			"--budget %s", budget, strings.TrimPrefix(budget, "+")))
	}
	if err != nil {
		if e != nil && o.dryRun { // what the paper had is known without a target or a drive
			a.printPapers(compareWithPapers(e, o.figure))
		}
		return usage("%w", err)
	}
	makes := slices.ContainsFunc(e.Workloads, func(w experiment.Workload) bool {
		there := w.Abilities().Elsewhere
		return there != nil && slices.Contains(o.destroy, there.Makes)
	})
	if len(t.Allow) > 0 && !makes &&
		!slices.ContainsFunc(e.Stacks, func(s experiment.Stack) bool { return stack.WritesDevice(s.Line) }) {
		return usage("--destroy %s: no stack of %s is on a block device, no database is made under that name, and "+
			"nothing would be overwritten; is this the right experiment?", o.destroy[0], e.Name)
	}
	t.Experiment = e
	t.ID = trial.NewID(e.Name, time.Now().UTC())
	if t.Dir == "" {
		t.Dir = filepath.Join(a.runs, t.ID)
	}
	return t, nil
}
