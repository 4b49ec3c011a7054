// Command plimsoll finds the best storage setup for containers on a Linux host,
// and how many containers it can carry.
package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/spf13/cobra"

	"plimsoll/internal/cli/buildinfo"
	"plimsoll/internal/printable"
	"plimsoll/internal/problem"
	"plimsoll/internal/result/store"
)

// Exit codes that every command shares. What a command adds is in its help,
// under EXIT STATUS.
const (
	exitOK          = 0
	exitFailure     = 1 // an internal or an I/O error
	exitUsage       = 2 // the command line, or a file it names, is wrong
	exitHost        = 3 // the host lacks something that is needed
	exitRefused     = 4 // a device is protected
	exitPartial     = 5 // some trials failed
	exitInterrupted = 130
)

// exitError carries the exit code of an error up to main.
type exitError struct {
	code int
	err  error // nil: everything was said already
}

func (e *exitError) Error() string {
	if e.err == nil {
		return fmt.Sprintf("exit status %d", e.code)
	}
	return e.err.Error()
}

func (e *exitError) Unwrap() error { return e.err }

// codeOf is the exit code of an error: the one that it carries, or that of its kind.
func codeOf(err error) int {
	var known *exitError
	switch {
	case errors.Is(err, problem.Protected):
		return exitRefused
	case errors.As(err, &known):
		return known.code
	case errors.Is(err, problem.Unsupported):
		return exitHost
	case errors.Is(err, problem.Invalid):
		return exitUsage
	case errors.Is(err, context.Canceled):
		return exitInterrupted
	}
	return exitFailure
}

// app is the state that all commands share.
type app struct {
	stdout, stderr io.Writer // for texts that have no styles: see styled and data
	state          string    // directory of journals, and of the files of active runs
	runs           string    // directory in which runs are made and looked for
	jsonOutput     bool
	full           bool // a run is printed with everything that it found
}

func main() { os.Exit(interruptible(os.Args[1:])) }

// interruptible runs the command line with a context that ends on Ctrl-C, on SIGTERM, and when the terminal goes away
// (unless nohup says otherwise) or nobody reads the output any more, so that the command undoes its changes. A second
// Ctrl-C ends the process at once, and leaves the rest to plimsoll clean.
func interruptible(args []string) int {
	signals := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) {
		signals = append(signals, syscall.SIGHUP)
	}
	ctx, stop := signal.NotifyContext(context.Background(), signals...)
	defer stop()
	context.AfterFunc(ctx, stop)

	// A write to a closed pipe must not end the process where it stands: caught,
	// the signal becomes an error of that write. It is not waited for, since an
	// engine that dies raises it too.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	return execute(ctx, args, stream{os.Stdout, cancel}, stream{os.Stderr, cancel})
}

// stream is standard output or standard error.
type stream struct {
	file   *os.File
	unread func() // called when nobody reads it any more
}

func (s stream) Write(text []byte) (int, error) {
	n, err := s.file.Write(text)
	if errors.Is(err, syscall.EPIPE) {
		s.unread()
	}
	return n, err
}

// Fd returns the file descriptor, for terminal detection.
func (s stream) Fd() uintptr { return s.file.Fd() }

// execute runs the command line and gives its exit code.
func execute(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	stdout, stderr = printable.NewWriter(stdout), printable.NewWriter(stderr)
	root := newRootCommand(&app{stdout: stdout, stderr: stderr})
	root.SetArgs(args)
	root.SetOut(stdout)
	root.SetErr(stderr)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return exitOK
	}
	// Errors of cobra itself are about the command line.
	e := &exitError{code: exitUsage, err: err}
	errors.As(err, &e)
	if e.err != nil && !errors.Is(e.err, syscall.EPIPE) { // whoever closed the pipe has read enough
		fmt.Fprintln(stderr, "plimsoll: "+e.err.Error())
	}
	return e.code
}

func newRootCommand(a *app) *cobra.Command {
	root := &cobra.Command{
		Use:   "plimsoll",
		Short: "Find the best storage setup for containers on a Linux host",
		Long: `plimsoll finds the best storage setup for containers on a Linux host, and how
many containers it can carry.

EXIT STATUS
  0    done
  1    an internal or an I/O error
  2    the command line, or a file that it names, is wrong
  3    the host lacks something that is needed
  4    a device is protected; nothing was touched
  5    some trials failed
  130  interrupted; everything was undone

"plimsoll help COMMAND" shows what these mean for a command.`,
		Example: `  plimsoll doctor                          what is missing on this host
  sudo plimsoll run quick                  compare eight setups, about 5 minutes
  plimsoll run directory                   compare settings here, without root
  plimsoll report                          the last run, in the browser
  sudo plimsoll run host-filesystems --on /dev/nvme1n1 --destroy /dev/nvme1n1`,
		Version:       version, // printed by the template below
		SilenceUsage:  true,
		SilenceErrors: true,
		PersistentPreRunE: func(*cobra.Command, []string) (err error) {
			a.state, err = filepath.Abs(a.state) // containers and mounts have paths of their own
			return err
		},
	}
	flags := root.PersistentFlags()
	flags.StringVar(&a.state, "state-dir", defaultState(), "`directory` of journals and of data for runs (default: "+
		"$PLIMSOLL_STATE_DIR, or /var/lib/plimsoll for root and ~/.local/state/plimsoll for others)")
	flags.Lookup("state-dir").DefValue = "" // the text has it
	flags.StringVar(&a.runs, runsFlag, cmp.Or(os.Getenv("PLIMSOLL_RUNS_DIR"), store.RunsDir),
		"`directory` of runs (default: $PLIMSOLL_RUNS_DIR, or "+store.RunsDir+")")
	flags.Lookup(runsFlag).DefValue = ""
	flags.BoolP("help", "h", false, "print this help")
	root.Flags().BoolP("version", "V", false, "print the version")
	root.SetFlagErrorFunc(flagError)
	root.SetHelpFunc(printHelp)
	root.SetVersionTemplate(buildinfo.This().Line("plimsoll") + "\n")
	isGroup(root)
	cobra.EnableCommandSorting = false
	groups := commandGroups()
	for _, group := range groups {
		root.AddGroup(&cobra.Group{ID: group.title, Title: group.title + ":"})
		for _, command := range group.commands {
			c := command(a)
			c.GroupID = group.title
			root.AddCommand(c)
		}
	}
	root.AddCommand(newManCommand(a), newReadFilesCommand(), newGenerateCommand(a), newLoadClientCommand(),
		newServePebbleCommand(a), newLoadPebbleCommand(a), newLoadImageCommand(a), newImageProgramCommand(),
		newMoveDriveStepCommand(a))
	root.SetHelpCommand(newHelpCommand(a))
	root.SetHelpCommandGroupID(groups[len(groups)-1].title)
	root.CompletionOptions.DisableDefaultCmd = true
	return root
}

// commandGroup is commands that the help shows together.
type commandGroup struct {
	title    string
	commands []func(*app) *cobra.Command
}

// commandGroups are the commands in the order of the help.
func commandGroups() []commandGroup {
	return []commandGroup{
		{"Start here", []func(*app) *cobra.Command{
			newDoctorCommand, endsSoon(newListCommand), newRunCommand, newInitCommand,
		}},
		{"Results", []func(*app) *cobra.Command{
			endsSoon(newShowCommand), newReportCommand, endsSoon(newRunsCommand), endsSoon(newCompareCommand),
			endsSoon(newExportCommand), newImportCommand,
		}},
		{"Own experiments", []func(*app) *cobra.Command{endsSoon(newValidateCommand), endsSoon(newSchemaCommand)}},
		{"Capacity planning", []func(*app) *cobra.Command{
			endsSoon(newFitCommand), endsSoon(newPredictCommand), endsSoon(newPlanCommand), newAdviseCommand,
		}},
		{"Running hosts", []func(*app) *cobra.Command{newWatchCommand, endsSoon(newHeadroomCommand), newApplyCommand}},
		{"Other tools", []func(*app) *cobra.Command{
			newPapersCommand, newTraceCommand, newLabCommand, newTargetCommand, newMoveDriveCommand,
		}},
		{"Housekeeping", []func(*app) *cobra.Command{
			newImageCommand, newDataCommand, newCleanCommand, newCompletionCommand, newVersionCommand,
		}},
	}
}

// runsFlag is the flag of the directory of runs.
const runsFlag = "runs-dir"

// rootState is root's state directory.
const rootState = "/var/lib/plimsoll"

// defaultState is /var/lib/plimsoll for root, and the user's state directory
// for others.
func defaultState() string {
	if dir := os.Getenv("PLIMSOLL_STATE_DIR"); dir != "" {
		return dir
	}
	if os.Getuid() == 0 {
		return rootState
	}
	if dir := os.Getenv("XDG_STATE_HOME"); dir != "" {
		return filepath.Join(dir, "plimsoll")
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return filepath.Join(os.TempDir(), fmt.Sprintf("plimsoll-%d", os.Getuid()))
	}
	return filepath.Join(home, ".local/state/plimsoll")
}
