package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"plimsoll/internal/lab"
	"plimsoll/internal/printable"
	"plimsoll/internal/units/plural"
)

func newLabCommand(a *app) *cobra.Command {
	var dir string
	cmd := &cobra.Command{
		Use:   "lab",
		Short: "Try storage stacks in a virtual machine",
		Long: `Try storage stacks in virtual machines with emulated NVMe drives: destructively,
on any x86-64 machine, without touching its devices, its kernel or its network.

build makes the image that the machines start from. run starts a machine, runs
one command in it and brings its run directories back. up, shell and down are
for a machine that stays.

A lab shows whether something works and what it changes, not how fast a drive
is: the drives are files in the host's memory, and without KVM processors are
emulated. Every stack that is measured in a lab carries the mark "lab (emulated)".

Root is not needed, except where noted by build --help.

EXIT STATUS
  that of the command below it`,
		Example: `  plimsoll lab build
  plimsoll lab run -- plimsoll run quick
  plimsoll lab run --drives 3 --profile sata-ssd -- plimsoll doctor`,
	}
	isGroup(cmd)
	cmd.PersistentFlags().StringVar(&dir, "dir", "", "`directory` of images and machines (default: lab below the "+
		"state directory)")
	labDir := func() string {
		if dir != "" {
			if abs, err := filepath.Abs(dir); err == nil {
				return abs
			}
			return dir
		}
		return filepath.Join(a.state, "lab")
	}
	cmd.AddCommand(
		newLabBuildCommand(a, labDir),
		newLabRunCommand(a, labDir),
		newLabUpCommand(a, labDir),
		newLabShellCommand(a, labDir),
		newLabDownCommand(a, labDir),
		newLabAgentCommand(),
		newLabStayCommand(a),
	)
	return cmd
}

func newLabBuildCommand(a *app, dir func() string) *cobra.Command {
	var force, quiet bool
	cmd := &cobra.Command{
		Use:   "build",
		Short: "Make the image that labs start from",
		Long: `Make the image from Debian's packages: a kernel, fio, Docker 20.10, nvme-cli, LVM,
mdadm and file systems. It takes a minute or two and 1.5 GB below --dir, and is
made again only when what goes into it changes.

As root it needs the programs mmdebstrap, mkfs.ext4, tar, xz and unshare; other
users also need newuidmap and a range of user ids (/etc/subuid), as distributions
give them to every user. QEMU (apt-get install qemu-system-x86) is needed too, for
an image is of no use without it. What is missing is named at once. To run a lab,
no privilege is needed; access to /dev/kvm makes it ten times faster.

EXIT STATUS
  0    the image is there
  1    it could not be made; the reason is printed
  2    the command line is wrong
  3    programs are missing; they are named with their packages
  130  interrupted; nothing is left of the attempt`,
		Example: `  plimsoll lab build
  plimsoll lab build --dir /srv/lab --force`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			recipe := lab.DefaultRecipe()
			found, err := lab.FindImage(dir(), recipe)
			if err == nil && !force {
				fmt.Fprintf(a.stdout, "The image is there already, made on %s: %s\n",
					found.Built.Format("2 January 2006"), found.Dir)
				return nil
			}
			if force {
				if err := lab.RemoveImage(dir(), recipe); err != nil {
					return labError(err)
				}
			}
			progress := newBuildProgress(a.stderr, quiet)
			image, err := lab.Build(cmd.Context(), dir(), recipe, progress)
			progress.close()
			if err != nil {
				return labError(err)
			}
			fmt.Fprintf(a.stdout, "Made the lab's image in %s: Linux %s, %s, in %s\n",
				image.Took.Round(time.Second), image.Release, plural.Count(len(image.Installed), "package"), image.Dir)
			return nil
		},
	}
	cmd.Flags().BoolVar(&force, "force", false, "make it again even if it is there, for newer packages")
	cmd.Flags().BoolVarP(&quiet, "quiet", "q", false, "show no progress")
	return cmd
}

// labError adds the exit code to an error of a lab.
func labError(err error) error {
	var exit *exitError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &exit):
		return exit
	case errors.Is(err, context.Canceled):
		return &exitError{exitInterrupted, errors.New("interrupted; the virtual machines are gone")}
	}
	return &exitError{codeOf(err), err}
}

// buildProgress shows how far a build is: one line that changes on a terminal,
// a line for each tenth elsewhere.
type buildProgress struct {
	w        io.Writer
	quiet    bool
	terminal bool
	began    time.Time
	shown    time.Time
	tenth    int
}

func newBuildProgress(w io.Writer, quiet bool) *buildProgress {
	f, ok := w.(interface{ Fd() uintptr })
	return &buildProgress{w: unfiltered(w), quiet: quiet, terminal: ok && term.IsTerminal(int(f.Fd())),
		began: time.Now(), tenth: -1}
}

// Step implements lab.Progress.
func (p *buildProgress) Step(what string, share float64) {
	if p.quiet {
		return
	}
	left := ""
	if took := time.Since(p.began); share > 0.02 {
		left = fmt.Sprintf("about %s left: ", time.Duration(float64(took)*(1-share)/share).Round(time.Second))
	}
	if !p.terminal {
		if tenth := int(share * 10); tenth > p.tenth {
			p.tenth = tenth
			fmt.Fprintf(p.w, "[%2.0f%%] %s%s\n", share*100, left, printable.Line(what))
		}
		return
	}
	if time.Since(p.shown) < 100*time.Millisecond {
		return
	}
	p.shown = time.Now()
	const width = 24
	full := int(share * width)
	bar := strings.Repeat("█", full) + strings.Repeat(" ", width-full)
	fmt.Fprintf(p.w, "\r%3.0f%% |%s| %s", share*100, bar, fitWidth(left+printable.Line(what), columns(p.w, 80)-width-10))
}

func (p *buildProgress) close() {
	if p.terminal && !p.quiet {
		fmt.Fprint(p.w, printable.EraseLine)
	}
}
