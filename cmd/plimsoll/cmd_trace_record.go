package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"plimsoll/internal/field"
	"plimsoll/internal/host/hostinfo"
	"plimsoll/internal/iotrace"
	"plimsoll/internal/iotrace/blktrace"
	"plimsoll/internal/iotrace/capture"
	"plimsoll/internal/iotrace/show"
	"plimsoll/internal/stack"
	"plimsoll/internal/stack/line"
	"plimsoll/internal/state/journal"
	"plimsoll/internal/state/sudouser"
	"plimsoll/internal/trial"
	"plimsoll/internal/units/plural"
)

// traceRecord is a call of trace record.
type traceRecord struct {
	*app
	devices  []string
	exports  []string
	stack    string
	destroy  []string
	duration time.Duration
	requests bool
	output   string
	by       string
	options  capture.Options
	command  []string

	line    line.Line
	env     *stack.Env
	numbers []string
	names   []string // of the devices, for the title
	target  string   // what COMMAND finds in TargetVariable
	rows    *show.Requests
	failed  error // the error of writing recorded events
}

// targetVariable is the environment variable with the path of the stack for COMMAND.
const targetVariable = "PLIMSOLL_TARGET"

func newTraceRecordCommand(a *app) *cobra.Command {
	t := &traceRecord{app: a}
	cmd := &cobra.Command{
		Use:   "record [flags] [-- COMMAND...]",
		Short: "Record where block requests of this host spend their time",
		Long: `Record the block requests of devices while COMMAND runs, for --duration, or until
Ctrl-C, and print what trace analyze prints of a capture. The blktrace program is
not needed.

By BPF, sums are made in the kernel, so that little of what is measured is
disturbed. At high rates all requests are counted, but only some of them, by
chance, are timed: above some 12,000 a second on a CPU. --time-all times all.
--stages adds what lies between Q and D: Q2Q, Q2G, G2I, I2D, plugs and
sequentiality. --application follows system calls too: S2Q, S2X and C2R.
--per-io prints a row of CSV for each request instead of tables. -o NAME writes
a capture, NAME.blktrace.0 and so on, which trace analyze, blkparse and btt read.

Where the kernel has no BPF, or does not describe its types, tracefs is used:
the kernel's own tracer of block devices. What it changes is journalled and
undone; plimsoll clean does it after a crash. Nothing of the BPF way outlives the
process.

With --stack, the stack is brought up first, as plimsoll run would, its devices
are recorded, and it is taken down in the end. COMMAND finds its path, a directory
or a block device, in $PLIMSOLL_TARGET. COMMAND's output goes to standard error.

With --export, the requests of this host's NVMe-oF target are recorded, the kernel's
nvmet. T is from where a command of an initiator arrived until it is complete. Its
parts are nvmet's own work (A2Q), fetching the data of a write (F2Q), and the device
behind it (Q2C), which is recorded, too. It needs BPF.

Lost events are counted and shown. docs/reference/trace-record.md shows more.

EXIT STATUS
  0    recorded, and COMMAND ended well; or the time was over
  1    recording failed, COMMAND could not be started, or a result cannot be
       written
  2    the command line is wrong, or there is no such COMMAND; nothing was
       recorded
  3    the host cannot record, or cannot make the stack; the reason is printed
  4    a device of the stack is protected; nothing was touched
  5    COMMAND failed: what was recorded was printed
  130  Ctrl-C; what was recorded was printed, and everything was undone`,
		Example: `  plimsoll trace record --device nvme0n1 --duration 10s
  plimsoll trace record --device /dev/sda --application -- fio job.fio
  plimsoll trace record --stack 'loop(size=1GiB) > ext4' -- sh -c 'fio --directory=$PLIMSOLL_TARGET job.fio'
  plimsoll trace record --export all --duration 10s
  plimsoll trace record --device sda -o sda --duration 5s && blkparse -i sda -d sda.bin -O && btt -i sda.bin`,
		RunE: func(cmd *cobra.Command, args []string) error {
			t.command = args
			if err := t.check(cmd.ArgsLenAtDash()); err != nil {
				return &exitError{exitUsage, err}
			}
			return t.run(cmd.Context())
		},
	}
	f := cmd.Flags()
	f.StringSliceVar(&t.devices, "device", nil, "a `device` to record, by path, name or serial; repeatable")
	f.StringVar(&t.stack, "stack", "", "the `line` of a stack to bring up and record")
	f.StringSliceVar(&t.exports, "export", nil, "an `export` of this host to record, by NQN, UUID or device, or all; "+
		"repeatable")
	f.StringArrayVar(&t.destroy, "destroy", nil, "a `device` of the stack, by serial or path, that may be "+
		"overwritten; repeatable")
	f.Var(field.Flag(field.Duration(1, math.MaxInt64), &t.duration), "duration",
		"`time` to record, such as 30s; without it, until COMMAND ends, or Ctrl-C")
	f.BoolVar(&t.options.Application, "application", false, "follow system calls too")
	f.BoolVar(&t.options.Stages, "stages", false, "record all that lies between Q and D, too")
	f.BoolVar(&t.options.All, "time-all", false, "time every request, also at high rates")
	f.BoolVar(&t.requests, "per-io", false, "print a row of CSV for each request")
	f.StringVarP(&t.output, "output", "o", "", "write a capture of this base `name`")
	f.StringVar(&t.options.Way, "way", "", "`way` to record, bpf or tracefs (default the best that this host offers)")
	f.StringVar(&t.by, "by", "", "`dimension` of tables of all intervals: device, op, size or process (default device)")
	f.BoolVar(&a.jsonOutput, "json", false, "print all of it as JSON")
	mutuallyExclusive(cmd, "json", "per-io")
	mutuallyExclusive(cmd, "per-io", "output")
	completeFlag(cmd, "device", completeDevices)
	completeFlag(cmd, "destroy", completeDevices)
	completeFlag(cmd, "way", completeWords(capture.WayNames()...))
	completeFlag(cmd, "by", completeWords(traceDimensions()...))
	return cmd
}

// check reads the flags; all that is wrong with them is said at once.
func (t *traceRecord) check(dash int) error {
	var problems []string
	say := func(format string, args ...any) { problems = append(problems, fmt.Sprintf(format, args...)) }
	if len(t.command) > 0 && dash != 0 {
		say("%s: write the command behind --", strings.Join(t.command, " "))
	}
	sources := 0
	for _, given := range []bool{len(t.devices) > 0, t.stack != "", len(t.exports) > 0} {
		if given {
			sources++
		}
	}
	if sources != 1 {
		say("either --device, --stack or --export names what to record")
	}
	if len(t.exports) > 0 && (t.options.Application || t.requests || t.output != "" || t.options.Way == "tracefs") {
		say("--export gives sums, by BPF, of what other hosts ask for: --application, --per-io, -o and --way " +
			"tracefs are no part of it")
	}
	if len(t.command) > 0 {
		if _, err := exec.LookPath(t.command[0]); err != nil {
			say("COMMAND: %v", err)
		}
	}
	if t.by != "" && (t.requests || t.output != "") {
		say("--by groups tables, and --per-io and -o print none")
	}
	if t.output != "" && (t.options.Application || t.options.Stages) {
		say("-o writes every event of the block layer: --application and --stages add none")
	}
	if t.stack == "" && len(t.destroy) > 0 {
		say("--destroy names devices of a --stack: a recording overwrites none")
	}
	if t.options.Way != "" && !slices.Contains(capture.WayNames(), t.options.Way) {
		say("--way %s: it takes %s", t.options.Way, strings.Join(capture.WayNames(), " or "))
	}
	if by := show.Dimension(t.by); t.by != "" && !slices.Contains(show.Dimensions, by) {
		say("--by %s: it takes device, op, size or process", t.by)
	}
	t.env = &stack.Env{Host: hostinfo.New()}
	for _, d := range t.destroy {
		p, err := stack.ParsePermission(d)
		if err != nil {
			say("%v", err)
		}
		t.env.Allow = append(t.env.Allow, p)
	}
	if t.stack != "" {
		var err error
		if t.line, err = line.Parse(t.stack); err != nil {
			say("--stack: %v", err)
		} else {
			for _, p := range stack.Catalog().Check(t.line) {
				say("--stack: %v", p)
			}
		}
	}
	for _, name := range t.devices {
		d, err := t.env.Host.Locate(name)
		if err != nil && !strings.Contains(name, "/") {
			if byNode, nodeErr := t.env.Host.Locate("/dev/" + name); nodeErr == nil {
				d, err = byNode, nil
			}
		}
		if err != nil {
			say("--device %s: %v (plimsoll doctor lists the devices of this host)", name, err)
			continue
		}
		t.numbers = append(t.numbers, d.MajMin)
		t.names = append(t.names, d.Name)
	}
	if len(problems) > 0 {
		return errors.New(strings.Join(problems, "\n  "))
	}
	return nil
}

// run records with a journal open, and undoes all it holds.
func (t *traceRecord) run(ctx context.Context) (err error) {
	if t.stack != "" {
		if err := t.env.Check(ctx, t.line, 0); err != nil {
			return withExitCode(err)
		}
	}
	id := trial.NewID("trace", time.Now())
	j, err := journal.Create(t.state, id)
	if err != nil {
		return &exitError{exitFailure, err}
	}
	defer func() {
		undone := j.UndoAll(context.WithoutCancel(ctx), nil)
		if undone != nil {
			undone = fmt.Errorf("not everything could be undone. See to what is named here, then run %s:\n%w",
				journal.CleanCommand(), undone)
		}
		if failed := errors.Join(undone, j.Close()); failed != nil {
			err = &exitError{exitFailure, errors.Join(err, failed)}
		}
	}()
	if t.stack != "" {
		if err := t.up(ctx, j, id); err != nil {
			return withExitCode(err)
		}
	}
	if len(t.exports) > 0 {
		if err := t.chooseExports(); err != nil {
			return err
		}
	}
	return t.record(ctx, j)
}

// withExitCode adds an exit code to an error that keeps a recording from starting.
func withExitCode(err error) error {
	code := codeOf(err)
	if code == exitInterrupted {
		err = errors.New("interrupted before anything was recorded; everything was undone")
	}
	return &exitError{code, err}
}

// up brings the stack up. The journal takes it down.
func (t *traceRecord) up(ctx context.Context, j *journal.Journal, id string) error {
	e := t.env
	e.Journal, e.RunID, e.Work = j, id, journal.WorkDir(j.State(), id)
	if _, err := j.Do(ctx, &journal.Dir{Path: e.Work}, func(string) error { return os.Mkdir(e.Work, 0o700) }); err != nil {
		return err
	}
	e.Scratch = e.Work
	base, err := e.Up(ctx, "trace", t.line)
	if err != nil {
		return err
	}
	s, err := base.Place(ctx, stack.PlaceConfig{})
	if err != nil {
		return err
	}
	if len(s.Devices) == 0 {
		return fmt.Errorf("stack %s has no block device: there are no requests to record", t.line)
	}
	for _, d := range s.Devices {
		t.numbers = append(t.numbers, d.MajMin)
		t.names = append(t.names, d.Name)
	}
	t.target = s.Target.Path
	if _, err := os.Stat(t.target); err != nil {
		return fmt.Errorf("the path of stack %s is inside of its container: %w; record its --device while something "+
			"runs there", t.line, err)
	}
	return nil
}

// record records until there is an end, and prints.
func (t *traceRecord) record(ctx context.Context, j *journal.Journal) error {
	closeOutput, err := t.sinks()
	if err != nil {
		return &exitError{exitFailure, err}
	}
	t.options.Devices = t.numbers
	r, err := capture.Start(ctx, j, t.options)
	if err != nil {
		return withExitCode(errors.Join(err, closeOutput()))
	}
	if t.command == nil || !isTerminal(t.stderr) {
		fmt.Fprintf(t.stderr, "recording %s\n", strings.Join(t.names, ", "))
	}
	ended := t.wait(ctx, j)
	account, err := r.Stop()
	if err := errors.Join(err, closeOutput(), t.failed); err != nil {
		return &exitError{exitFailure, errors.Join(err, ended)}
	}
	if err := t.print(account); err != nil {
		return &exitError{exitFailure, err}
	}
	switch {
	case ctx.Err() != nil:
		return &exitError{exitInterrupted, nil}
	case ended != nil:
		return ended
	}
	return nil
}

// sinks prepares where requests or events go.
func (t *traceRecord) sinks() (closeAll func() error, err error) {
	switch {
	case t.requests:
		t.rows = show.NewRequests(t.data())
		t.options.Requests = func(io *iotrace.IO) {
			if t.failed == nil {
				t.failed = t.rows.Write(io)
			}
		}
		return t.rows.Flush, nil
	case t.output != "":
		return t.captureFiles()
	}
	return func() error { return nil }, nil
}

// captureFiles writes every event into the file of its CPU.
func (t *traceRecord) captureFiles() (closeAll func() error, err error) {
	if old, _ := filepath.Glob(t.output + ".blktrace.*"); len(old) > 0 {
		return nil, fmt.Errorf("%s is there already: a capture of fewer CPUs would be mixed with it; name another, "+
			"or remove it", strings.Join(old, ", "))
	}
	var files []*os.File
	w := blktrace.NewWriter(func(cpu uint32) (io.Writer, error) {
		f, err := sudouser.Create(blktrace.FileName(t.output, cpu))
		if err == nil {
			files = append(files, f)
		}
		return f, err
	})
	t.options.Events = func(r *blktrace.Record) {
		if t.failed == nil {
			t.failed = w.Write(r)
		}
	}
	return func() error {
		err := w.Flush()
		for _, f := range files {
			err = errors.Join(err, f.Close())
		}
		return err
	}, nil
}

// wait waits for the end of the recording: of COMMAND, of the time, or Ctrl-C.
// The error is COMMAND's.
func (t *traceRecord) wait(ctx context.Context, j *journal.Journal) error {
	if t.duration > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, t.duration)
		defer cancel()
	}
	if len(t.command) == 0 {
		<-ctx.Done()
		return nil
	}
	var failed error
	entry, err := j.Do(ctx, &journal.Process{Argv: t.command}, func(mark string) error {
		failed = t.runCommand(ctx, mark)
		return nil
	})
	if err == nil {
		err = j.Undo(context.WithoutCancel(ctx), entry) // whatever it left running
	}
	switch {
	case err != nil:
		return &exitError{exitFailure, err}
	case failed == nil || ctx.Err() != nil:
		return nil
	}
	var exit *exec.ExitError
	if errors.As(failed, &exit) {
		return &exitError{exitPartial,
			fmt.Errorf("%s: %w; what is printed is what was recorded until then", t.command[0], failed)}
	}
	return &exitError{exitFailure, fmt.Errorf("start %s: %w", t.command[0], failed)}
}

// runCommand runs COMMAND to its end. COMMAND dies with this process, and is asked to end when the recording ends
// first.
func (t *traceRecord) runCommand(ctx context.Context, mark string) error {
	cmd := exec.CommandContext(ctx, t.command[0], t.command[1:]...)
	cmd.Env = append(os.Environ(), journal.MarkVariable+"="+mark)
	if t.target != "" {
		cmd.Env = append(cmd.Env, targetVariable+"="+t.target)
	}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, unfiltered(t.stderr), unfiltered(t.stderr)
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 10 * time.Second
	// The kernel sends the death signal when the thread that forked ends.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	return cmd.Run()
}

func (t *traceRecord) print(a *iotrace.Account) error {
	title := strings.Join(t.names, ", ")
	switch {
	case t.requests:
		if a.Lost > 0 {
			fmt.Fprintf(t.stderr, "%s %s lost\n", plural.Count(int(a.Lost), "event"), plural.Choose(int(a.Lost), "was", "were"))
		}
		return nil
	case t.output != "" && !t.jsonOutput:
		fmt.Fprintf(t.stdout, "%s: %s of %s, %d lost; plimsoll trace analyze %s reads it\n",
			blktrace.FileName(t.output, 0), plural.Count(int(a.Events), "event"), title, a.Lost, t.output)
		return nil
	case t.jsonOutput:
		return show.JSON(t.data(), a)
	}
	return t.printTrace("trace recorded on "+title, a, show.Dimension(t.by))
}
