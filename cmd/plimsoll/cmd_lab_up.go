package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"plimsoll/internal/lab"
	"plimsoll/internal/printable"
	"plimsoll/internal/units/plural"
)

func newLabUpCommand(a *app, dir func() string) *cobra.Command {
	var (
		o     labOptions
		quiet bool
	)
	cmd := &cobra.Command{
		Use:   "up",
		Short: "Start a lab that stays until lab down",
		Long: `Start virtual machines as lab run does, and leave them running in the background,
owned by a process of plimsoll's. lab shell runs commands in them. They end with
lab down, with their owner, and with the host.

EXIT STATUS
  0    the lab is up
  1    it could not be started, or one is up already; the reason is printed
  2    the command line is wrong
  3    the image or a program is missing; how to get it is printed
  130  interrupted; the machines are gone`,
		Example: `  plimsoll lab up
  plimsoll lab up --with-target --drives 3 --profile sata-ssd`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			options, err := o.options(dir())
			if err != nil {
				return err
			}
			options.Note = a.labNote(quiet)
			return labError(labUp(cmd.Context(), options))
		},
	}
	o.addTo(cmd.Flags())
	cmd.Flags().BoolVarP(&quiet, "quiet", "q", false, "say nothing")
	return cmd
}

// stayOptions are the options of a lab that stays, which its process reads from standard input.
type stayOptions struct {
	Dir      string
	Keep     bool
	Machines []lab.Machine
}

// Words that begin the lines which the owner writes until the lab is up.
const (
	stayNote = "note "
	stayUp   = "up "
)

// labUp starts the owner and waits until it says that the lab is up.
func labUp(ctx context.Context, o lab.Options) error {
	if _, err := lab.FindImage(o.Dir, lab.DefaultRecipe()); err != nil {
		return err
	}
	text, err := json.Marshal(stayOptions{o.Dir, o.Keep, o.Machines})
	if err != nil {
		return err
	}
	owner := exec.Command("/proc/self/exe")
	owner.Args = []string{"plimsoll", "lab", "stay"}
	owner.Stdin = strings.NewReader(string(text))
	owner.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // it outlives this terminal
	owner.Dir = o.Dir
	said, w, err := os.Pipe()
	if err != nil {
		return err
	}
	owner.Stdout, owner.Stderr = w, w
	err = owner.Start()
	w.Close()
	if err != nil {
		return err
	}
	stop := context.AfterFunc(ctx, func() { _ = owner.Process.Signal(syscall.SIGTERM) })
	defer stop()
	var problem []string
	for lines := bufio.NewScanner(said); lines.Scan(); {
		line := lines.Text()
		if text, ok := strings.CutPrefix(line, stayNote); ok {
			o.Note(text)
		} else if text, ok := strings.CutPrefix(line, stayUp); ok {
			o.Note(text + "; plimsoll lab shell goes into it, plimsoll lab down ends it")
			return nil
		} else {
			problem = append(problem, strings.TrimPrefix(line, "plimsoll: "))
		}
	}
	err = owner.Wait()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	code := exitFailure
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.ExitCode() > 0 {
		code = exit.ExitCode()
	}
	return &exitError{code, errors.New(strings.Join(problem, "\n"))}
}

// newLabStayCommand is the owner of a lab that stays.
func newLabStayCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "stay", Hidden: true, Args: noArgs,
		Short: "Own a lab that stays",
		RunE: func(cmd *cobra.Command, _ []string) error {
			var given stayOptions
			if err := json.NewDecoder(os.Stdin).Decode(&given); err != nil {
				return &exitError{exitUsage, fmt.Errorf("plimsoll lab up starts this; its settings on standard input: %w", err)}
			}
			o := lab.Options{Dir: given.Dir, Keep: given.Keep, Machines: given.Machines, Binary: "/proc/self/exe"}
			o.Note = func(text string) { fmt.Fprintln(a.stdout, stayNote+text) }
			began := time.Now()
			// Whoever started this reads no more once the lab is up.
			return labError(lab.Stay(cmd.Context(), o, func(l *lab.Lab) {
				fmt.Fprintln(a.stdout, stayUp+labSummary(o, l, time.Since(began)))
			}))
		},
	}
}

func newLabDownCommand(a *app, dir func() string) *cobra.Command {
	return &cobra.Command{
		Use:   "down",
		Short: "End the lab that lab up started",
		Long: `End the virtual machines of lab up and remove what they were made of. Without a
lab that is up it does nothing.

EXIT STATUS
  0  no lab is up
  1  it could not be ended; the reason is printed
  2  the command line is wrong`,
		Example: `  plimsoll lab down`,
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			err := lab.Down(cmd.Context(), dir())
			if errors.Is(err, lab.NotUpError{}) {
				fmt.Fprintln(a.stdout, "No lab is up.")
				return nil
			}
			return labError(err)
		},
	}
}

func newLabShellCommand(a *app, dir func() string) *cobra.Command {
	machine := lab.Server
	cmd := &cobra.Command{
		Use:   "shell [flags] [-- COMMAND...]",
		Short: "Go into the lab that is up, or run one command in it",
		Long: `Open a shell in the lab that lab up started, or run COMMAND in it and bring the
run directories that are not here yet out into this directory.

EXIT STATUS
  that of the shell or of COMMAND, or
  1    the lab does not answer; the reason is printed
  2    the command line is wrong, or no lab is up
  130  interrupted`,
		Example: `  plimsoll lab shell
  plimsoll lab shell --machine target -- nvme list`,
		RunE: func(cmd *cobra.Command, args []string) error {
			dir, err := lab.Up(cmd.Context(), dir(), machine)
			if err != nil {
				return labError(err)
			}
			return labError(a.labShell(cmd.Context(), dir, args))
		},
	}
	cmd.Flags().SetInterspersed(false)
	cmd.Flags().StringVar(&machine, "machine", lab.Server, "`name` of the machine: "+plural.Or(lab.Names()))
	completeFlag(cmd, "machine", completeWords(lab.Names()...))
	return cmd
}

func (a *app) labShell(ctx context.Context, machine string, args []string) error {
	c := lab.Command{Args: args}
	shell := len(args) == 0
	if shell {
		c.Args = []string{"bash", "-l"}
	}
	streams := lab.Streams{Stdout: unfiltered(a.stdout), Stderr: unfiltered(a.stderr), Stdin: os.Stdin}
	in := int(os.Stdin.Fd())
	out, ok := a.stdout.(interface{ Fd() uintptr })
	if ok && term.IsTerminal(in) && term.IsTerminal(int(out.Fd())) {
		before, err := term.MakeRaw(in)
		if err != nil {
			return err
		}
		defer func() { _ = term.Restore(in, before) }()
		c.TTY = true
		c.Env = append(c.Env, "TERM="+os.Getenv("TERM"))
		cols, rows, err := term.GetSize(in)
		if err == nil {
			c.Rows, c.Cols = uint16(rows), uint16(cols)
		}
		sizes, stop := terminalSizes(in)
		defer stop()
		streams.Sizes = sizes
	}
	code, err := lab.Run(ctx, machine, c, streams)
	if err == nil && !shell {
		err = a.labBring(ctx, machine,
			func(text string) { _, _ = io.WriteString(unfiltered(a.stderr), "lab: "+printable.Line(text)+"\r\n") })
	}
	if err == nil && code != 0 {
		return &exitError{code: code}
	}
	return err
}

// terminalSizes sends the size of a terminal whenever it changes.
func terminalSizes(fd int) (<-chan [2]uint16, func()) {
	sizes := make(chan [2]uint16, 1)
	changed := make(chan os.Signal, 1)
	signal.Notify(changed, syscall.SIGWINCH)
	go func() {
		for range changed {
			if cols, rows, err := term.GetSize(fd); err == nil {
				select {
				case sizes <- [2]uint16{uint16(rows), uint16(cols)}:
				default:
				}
			}
		}
	}()
	return sizes, func() {
		signal.Stop(changed)
		close(changed)
	}
}
