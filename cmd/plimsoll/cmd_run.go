package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"plimsoll/internal/experiment"
	"plimsoll/internal/finding"
	"plimsoll/internal/result/store"
	"plimsoll/internal/stack"
	"plimsoll/internal/trial"
	"plimsoll/internal/units"
)

// newRunCommand returns the command. Its options stay as they were typed: prepareRun
// says all that is wrong with them at once.
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
After a crash, --resume undoes what was left behind first. It goes on with what
the run stores: files that were edited since, or are gone, change nothing.

RUN, which --resume takes, is named as for plimsoll show: a directory, an id or
its beginning, or "last".

EXIT STATUS
  0    every trial was done, or skipped with its reason; with --resume, also
       when there was nothing left to do, and nothing was changed
  1    the run could not go on
  2    the command line or the experiment file is wrong
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
	f.StringArrayVar(&o.destroy, "destroy", nil, "a `device`, by serial or path, that may be overwritten, or a schema; repeatable")
	f.StringVar(&o.keepData, "keep-data", "8GiB", "keep data that was loaded for servers, below the state directory, for "+
		"later runs: up to this `size` in all; 0 neither keeps nor uses any")
	f.BoolVar(&o.dryRun, "dry-run", false, "print the trials, what would be changed on the host, and the time it "+
		"would take")
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
	if options.Resume && o.text("budget") == "" {
		ended, err := a.isFinished(options.Dir)
		if ended || err != nil {
			return err
		}
	}
	if err := trial.Ask(cmd.Context(), options.Experiment); err != nil {
		return runError(err, "")
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
		fmt.Fprintf(a.stderr, "warning: %s\n", w)
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
	t := trial.Options{State: a.state, Version: version, Command: os.Args, Dir: o.out, Lines: loadLines}
	keep, err := units.ParseSize(o.keepData)
	if err != nil || keep < 0 {
		return usage("--keep-data %q: write a size, such as 8GiB, or 0", o.keepData)
	}
	t.Golden, t.Images = a.golden(keep), a.images()
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
		if len(args) > 0 || o.given(more > 0) || o.out != "" {
			return usage("--resume goes on with a run as it was started: give no experiment and no other settings " +
				"with it but --budget +TIME, which is so much more")
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
	e, err := loadExperiment(args[0], o.text("scale"))
	if err = errors.Join(err, settings(e, &t, o)); err != nil {
		return usage("%w", err)
	}
	makes := slices.ContainsFunc(e.Workloads, func(w experiment.Workload) bool {
		there := w.Abilities().Elsewhere
		return there != nil && slices.Contains(o.destroy, there.Makes)
	})
	if len(t.Allow) > 0 && !makes &&
		!slices.ContainsFunc(e.Stacks, func(s experiment.Stack) bool { return stack.WritesDevice(s.Line) }) {
		return usage("--destroy %s: no stack of %s stands on a block device, no database is made under that name, and "+
			"nothing would be overwritten; is this the right experiment?", o.destroy[0], e.Name)
	}
	t.Experiment = e
	t.ID = trial.NewID(e.Name, time.Now().UTC())
	if t.Dir == "" {
		t.Dir = filepath.Join(trial.DefaultRuns, t.ID)
	}
	return t, nil
}
