// Command plimsoll draws the load line of a server: it measures the storage
// stacks a host can offer to I/O-intensive containers.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"plimsoll/internal/printable"
	"plimsoll/internal/problem"
)

// Exit codes that every command shares. What a command adds is in its help,
// under EXIT STATUS.
const (
	exitOK          = 0
	exitFailure     = 1 // something failed that should not have
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

// app is what all commands share.
type app struct {
	stdout, stderr io.Writer // for texts that have no styles: see styled and data
	state          string    // directory of journals and of what runs are working on
	jsonOutput     bool
}

func main() { os.Exit(interruptible(os.Args[1:])) }

// interruptible runs the command line with a context that ends on Ctrl-C, on
// SIGTERM, and when the terminal goes away (unless nohup says otherwise) or
// nobody reads the output any more, so that whatever is under way is undone. A
// second Ctrl-C ends the process at once, and leaves the rest to plimsoll clean.
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

// Fd is for those who ask whether it is a terminal.
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
		Short: "Draw the load line of a server",
		Long: `plimsoll draws the load line of a server: it measures the storage stacks that a
host can offer to I/O-intensive containers, checks what fio says against what
the device counted, and tells which stack to take and why.

EXIT STATUS
  0    done
  1    something failed that should not have
  2    the command line, or a file that it names, is wrong
  3    the host lacks something that is needed
  4    a device is protected; nothing was touched
  5    some trials failed
  130  interrupted; everything was undone

Each command's help tells what these mean for it.`,
		Example: `  plimsoll doctor        what this host can do, and what it lacks
  plimsoll run quick     compare nine stacks in about five minutes
  plimsoll show          the results of the last run
  plimsoll open          its report, in the browser
  plimsoll init          an experiment file for this host, to change`,
		Version:       version, // printed by the template below
		SilenceUsage:  true,
		SilenceErrors: true,
		PersistentPreRunE: func(*cobra.Command, []string) (err error) {
			a.state, err = filepath.Abs(a.state) // containers and mounts have paths of their own
			return err
		},
	}
	flags := root.PersistentFlags()
	flags.StringVar(&a.state, "state-dir", defaultState(), "`directory` of journals and of what runs are working on "+
		"(default: $PLIMSOLL_STATE_DIR, or /var/lib/plimsoll for root and ~/.local/state/plimsoll for others)")
	flags.Lookup("state-dir").DefValue = "" // the text has it
	flags.BoolP("help", "h", false, "print this help")
	root.Flags().BoolP("version", "v", false, "tell which plimsoll this is")
	root.SetFlagErrorFunc(flagError)
	cobra.AddTemplateFunc("fitting", fitting)
	root.SetUsageTemplate(strings.NewReplacer(
		".LocalFlags.FlagUsages", "fitting .LocalFlags", ".InheritedFlags.FlagUsages",
		"fitting .InheritedFlags").Replace(root.UsageTemplate()))
	root.SetVersionTemplate(thisBuild().String() + "\n")
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
	root.AddCommand(newManCommand(a), newReadFilesCommand(), newGenerateCommand(a),
		newServePebbleCommand(a), newLoadPebbleCommand(a), newLoadImageCommand(a))
	root.SetHelpCommand(newHelpCommand())
	root.SetHelpCommandGroupID(groups[len(groups)-1].title)
	root.CompletionOptions.DisableDefaultCmd = true
	return root
}

// fitting is the help of flags, in lines that fit the terminal.
func fitting(f *pflag.FlagSet) string {
	return f.FlagUsagesWrapped(max(60, min(columns(os.Stdout, 80), 100)))
}

// commandGroup is commands that the help shows together.
type commandGroup struct {
	title    string
	commands []func(*app) *cobra.Command
}

// commandGroups are the commands in the order of the help.
func commandGroups() []commandGroup {
	return []commandGroup{
		{"To begin with", []func(*app) *cobra.Command{
			newDoctorCommand, endsSoon(newListCommand), newInitCommand, endsSoon(newValidateCommand),
		}},
		{"To measure", []func(*app) *cobra.Command{newRunCommand, newCleanCommand}},
		{"To read what was measured", []func(*app) *cobra.Command{
			endsSoon(newRunsCommand), endsSoon(newShowCommand), newOpenCommand,
			endsSoon(newCompareCommand), endsSoon(newClaimsCommand), endsSoon(newGuidelinesCommand),
			endsSoon(newExportCommand), newImportCommand,
		}},
		{"To predict", []func(*app) *cobra.Command{endsSoon(newFitCommand), endsSoon(newPredictCommand),
			endsSoon(newPlanCommand)}},
		{"To go further", []func(*app) *cobra.Command{newTraceCommand, newImageCommand, newDataCommand, newLabCommand,
			newTargetCommand}},
		{"Besides", []func(*app) *cobra.Command{
			endsSoon(newWordsCommand), endsSoon(newSchemaCommand), newCompletionCommand, newVersionCommand,
		}},
	}
}

// newHelpCommand prints the help of a command, or says that there is none.
func newHelpCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "help [COMMAND...]",
		Short: "Print the help of a command",
		Long: `Print the help of a command, as its flag --help does. "man plimsoll-run" has the
same text, once "make install" was run.

EXIT STATUS
  0  printed
  2  there is no such command`,
		Example: `  plimsoll help
  plimsoll help lab run`,
		RunE: func(cmd *cobra.Command, args []string) error {
			found, rest, err := cmd.Root().Find(args)
			if err == nil && len(rest) > 0 && found.HasSubCommands() {
				err = found.ValidateArgs(rest) // it says which commands there are
			}
			if err != nil {
				return err
			}
			if len(rest) > 0 {
				return fmt.Errorf("%s has no commands: %s --help tells all of it", called(found), found.CommandPath())
			}
			found.InitDefaultHelpFlag()
			found.InitDefaultVersionFlag()
			return found.Help()
		},
		ValidArgsFunction: func(cmd *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
			found, rest, err := cmd.Root().Find(args)
			if err != nil || len(rest) > 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			var names []string
			for _, c := range found.Commands() {
				if c.IsAvailableCommand() {
					names = append(names, c.Name())
				}
			}
			return beginning(names, begun), cobra.ShellCompDirectiveNoFileComp
		},
	}
}

// defaultState is /var/lib/plimsoll for root, and the user's state directory
// for others.
func defaultState() string {
	if dir := os.Getenv("PLIMSOLL_STATE_DIR"); dir != "" {
		return dir
	}
	if os.Getuid() == 0 {
		return "/var/lib/plimsoll"
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
