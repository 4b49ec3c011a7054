package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"plimsoll/internal/field"
	"plimsoll/internal/lab"
	"plimsoll/internal/state/sudouser"
	"plimsoll/internal/trial"
	"plimsoll/internal/units/plural"

	"plimsoll/internal/printable"
)

// labOptions are the flags that make machines.
type labOptions struct {
	cpus     int
	memory   string
	drives   int
	size     string
	profiles []string
	target   bool
	client   bool
	keep     bool

	given func(flag string) bool
}

func (o *labOptions) addTo(f *pflag.FlagSet) {
	o.given = f.Changed
	f.IntVar(&o.cpus, "cpus", 0, "`number` of processors of each machine (default: 2, or 1 where QEMU before 9.1 "+
		"emulates them, and for each of several machines on a host of less than 4)")
	f.StringVar(&o.memory, "memory", "2GiB", "memory `size` of each machine")
	f.IntVar(&o.drives, "drives", 2, "`number` of NVMe drives of each machine")
	f.StringVar(&o.size, "size", "4GiB", "`size` of each drive; what is not written takes no space")
	var names []string
	for _, p := range lab.Profiles() {
		names = append(names, p.Name)
	}
	f.StringArrayVar(&o.profiles, "profile", nil,
		"`what` each drive may do at most: "+plural.Or(names)+", or limits such as iops-read=5000,bytes-write=100MB; "+
			"several --profile are for the drives in their order, the last one for the rest")
	f.BoolVar(&o.target, "with-target", false,
		"start another machine, called target, with as many drives, on a private network")
	f.BoolVar(&o.client, "with-client", false,
		"start another machine, called client, without drives, on that network; ssh leads to it")
	f.BoolVar(&o.keep, "keep", false, "keep the drives' files and the console's log of the machines")
}

// labSize reads a size that a machine can have.
func labSize(flag, text string, least int64) (int64, error) {
	bytes, err := field.Size(least, 1<<50).Like("2GiB").Parse(text)
	if err != nil {
		err = fmt.Errorf("%s %q: %w", flag, text, err)
	}
	return bytes, err
}

// options parses the flags, and returns all problems at once.
func (o *labOptions) options(dir string) (lab.Options, error) {
	memory, memoryErr := labSize("--memory", o.memory, 1)
	size, sizeErr := labSize("--size", o.size, lab.LeastDrive)
	profiles, profileErr := o.readProfiles()
	if o.drives < 0 {
		sizeErr = errors.Join(sizeErr, fmt.Errorf("--drives %d: it takes a number from 0 on", o.drives))
	}
	if err := errors.Join(memoryErr, sizeErr, profileErr); err != nil {
		return lab.Options{}, &exitError{exitUsage, err}
	}
	names := slices.DeleteFunc(lab.Names(), func(name string) bool {
		return name == lab.Target && !o.target || name == lab.Client && !o.client
	})
	out := lab.Options{Dir: dir, Binary: "/proc/self/exe", Keep: o.keep}
	for _, name := range names {
		m := lab.Machine{Name: name, CPUs: o.cpus, Memory: memory}
		m.Peers = slices.DeleteFunc(slices.Clone(names), func(other string) bool { return other == name })
		for i, serial := range lab.Serials(name, o.drives) {
			m.Drives = append(m.Drives, lab.Drive{Serial: serial, Bytes: size, Limits: profiles[min(i, len(profiles)-1)]})
		}
		out.Machines = append(out.Machines, m)
	}
	var cpusErr error
	if o.given("cpus") && o.cpus == 0 { // which would leave it to the lab
		cpusErr = errors.New("--cpus: 0 CPUs; it takes 1 to 64")
	}
	if err := errors.Join(cpusErr, out.Validate()); err != nil {
		return out, &exitError{exitUsage, err}
	}
	return out, nil
}

// readProfiles returns at least one profile, or all problems at once.
func (o *labOptions) readProfiles() (profiles []lab.Profile, err error) {
	texts := o.profiles
	if len(texts) == 0 {
		texts = []string{lab.Unlimited}
	}
	var problems []error
	for _, text := range texts {
		p, err := lab.ParseProfile(text)
		profiles, problems = append(profiles, p), append(problems, err)
	}
	if n := len(o.profiles); n > 1 && n > o.drives {
		problems = append(problems,
			fmt.Errorf("--profile is given for %d drives, and there %s %d: add --drives %d", n,
				plural.Choose(o.drives, "is", "are"), o.drives, n))
	}
	return profiles, errors.Join(problems...)
}

func newLabRunCommand(a *app, dir func() string) *cobra.Command {
	var (
		o        labOptions
		in       []string
		onTarget []string
		quiet    bool
	)
	cmd := &cobra.Command{
		Use:   "run [flags] -- COMMAND...",
		Short: "Run one command in a lab of its own",
		Long: `Start a virtual machine, run COMMAND in it, bring its run directories out into
` + trial.DefaultRuns + `, and end the machine. The running plimsoll is the machine's. Its drives
are /dev/nvme0n1 and so on, with the serials LAB1 and so on, empty at first.

With --with-target a second machine, "target", is there too; its drives have the
serials TGT1 and so on. With --with-client there is "client", which has no drives
and generates load: plimsoll run --clients-host ssh://root@client. A private network
joins the machines and nothing else: they know each other as server (10.77.0.1),
target (10.77.0.2) and client (10.77.0.3), and each has an RDMA device, rxe0.
--on-target prepares the target; COMMAND runs on the server.

COMMAND may be "plimsoll run" of an experiment that measures other hosts' devices,
as local-vs-remote does. Without --remote all of that is done: there is a target,
its drives are exported, and the run knows where they are.

The machines have no other network, and end with this process, also when it is
killed. Nothing is written outside of --dir but the run directories.

EXIT STATUS
  that of COMMAND, or
  1    the lab failed; the reason is printed
  2    the command line is wrong
  3    the image or a program is missing; how to get it is printed
  130  interrupted; COMMAND was interrupted and could undo what it did`,
		Example: `  plimsoll lab run -- plimsoll run quick
  plimsoll lab run --in my.yaml -- plimsoll run my.yaml --destroy LAB1
  plimsoll lab run -- plimsoll run local-vs-remote --budget 4m
  plimsoll lab run --with-target -- ping -c 1 target
  plimsoll lab run --with-client -- ssh client uptime`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return &exitError{exitUsage, errors.New("which command? For example: plimsoll lab run -- plimsoll run quick")}
			}
			job := labJob{in: in, onTarget: onTarget, command: args, remotes: labNeeds(args, in)}
			if job.remotes != nil {
				o.target = true
				if need := len(job.remotes.exports); o.drives < need {
					return &exitError{exitUsage,
						fmt.Errorf("--drives %d: the target exports one over each of %d transports", o.drives, need)}
				}
			}
			options, err := o.options(dir())
			if err != nil {
				return err
			}
			if len(onTarget) > 0 && !o.target {
				return &exitError{exitUsage, errors.New("--on-target needs --with-target: there is no target to run it on")}
			}
			options.Note = a.labNote(quiet)
			return labError(a.labRun(cmd.Context(), options, job))
		},
	}
	f := cmd.Flags()
	f.SetInterspersed(false)
	o.addTo(f)
	f.StringArrayVar(&in, "in", nil, "a `file` or directory to copy into the machine's working directory; repeatable")
	f.StringArrayVar(&onTarget, "on-target", nil, "a `command` for the target's shell, before COMMAND; repeatable")
	f.BoolVarP(&quiet, "quiet", "q", false, "say nothing but what COMMAND says")
	return cmd
}

// labNote returns a function that prints the steps of a lab.
func (a *app) labNote(quiet bool) func(string) {
	return func(text string) {
		if !quiet {
			fmt.Fprintln(a.stderr, "lab: "+text)
		}
	}
}

// labJob is a task for which a lab is started.
type labJob struct {
	in       []string    // files to copy into the server
	onTarget []string    // for the target's shell, before the command
	command  []string    // for the server
	remotes  *labRemotes // that the command measures; nil for none
}

func (a *app) labRun(ctx context.Context, o lab.Options, job labJob) (err error) {
	began := time.Now()
	l, err := lab.Start(ctx, o, "")
	if err != nil {
		return err
	}
	defer func() {
		err = errors.Join(err, l.Close())
		if o.Keep {
			o.Note("the drives' files and the console are kept in " + l.Dir + "; remove it when you are done")
		}
	}()
	o.Note(labSummary(o, l, time.Since(began)))
	server := l.Machine(lab.Server)
	if len(job.in) > 0 {
		if err := lab.Send(ctx, server, job.in); err != nil {
			return fmt.Errorf("copy into the lab: %w", err)
		}
	}
	streams := lab.Streams{Stdout: unfiltered(a.stdout), Stderr: unfiltered(a.stderr)}
	for _, text := range job.onTarget {
		code, err := lab.Run(ctx, l.Machine(lab.Target), lab.Command{Args: []string{"sh", "-c", text}}, streams)
		if err != nil {
			return err
		}
		if code != 0 {
			return fmt.Errorf("--on-target %q ended with status %d", text, code)
		}
	}
	if job.remotes != nil {
		stop, err := job.remotes.prepare(ctx, l.Machine(lab.Target), o.Note)
		if err != nil {
			return err
		}
		defer stop()
		job.command = job.remotes.command(job.command, l.Accelerator.Name == "tcg")
		o.Note("runs " + printable.Command(job.command...))
	}
	code, err := lab.Run(ctx, server, lab.Command{Args: job.command}, streams)
	// What an interrupted command measured is worth keeping.
	if bringErr := a.labBring(context.WithoutCancel(ctx), server, o.Note); bringErr != nil {
		err = errors.Join(err, bringErr)
	}
	switch {
	case err != nil:
		return err
	case code != 0:
		return &exitError{code: code}
	}
	return nil
}

// labBring brings the run directories of a machine out.
func (a *app) labBring(ctx context.Context, machine string, note func(string)) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Minute)
	defer cancel()
	_, missing := os.Lstat(trial.DefaultRuns)
	brought, err := lab.Bring(ctx, machine, trial.DefaultRuns, ".")
	for _, dir := range brought {
		sudouser.GiveTree(dir)
		note("brought out " + dir)
	}
	if missing != nil {
		sudouser.GiveTree(trial.DefaultRuns)
	}
	if err != nil {
		return fmt.Errorf("bring the run directories out of the lab: %w", err)
	}
	return nil
}

// labSummary describes a lab.
func labSummary(o lab.Options, l *lab.Lab, took time.Duration) string {
	var drives []string
	for _, m := range o.Machines {
		for _, d := range m.Drives {
			drive := d.Serial
			if d.Limits.Name != lab.Unlimited {
				drive += " (" + d.Limits.Name + ")"
			}
			drives = append(drives, drive)
		}
	}
	machines := "one virtual machine"
	if len(o.Machines) > 1 {
		machines = fmt.Sprintf("%d virtual machines", len(o.Machines))
	}
	has := "no drives"
	if len(drives) > 0 {
		has = "drives " + strings.Join(drives, ", ")
	}
	by := "under KVM"
	if l.Accelerator.Name == "tcg" {
		by = "under emulation (" + l.Accelerator.Why + ")"
	}
	return fmt.Sprintf("%s up in %s %s; %s", machines, took.Round(time.Second), by, has)
}

func newLabAgentCommand() *cobra.Command {
	return &cobra.Command{
		Use: "agent", Hidden: true, Args: noArgs,
		Short: "Serve the host's commands in a guest",
		RunE: func(*cobra.Command, []string) error {
			if err := lab.Agent(); err != nil {
				return &exitError{exitFailure, err}
			}
			return nil
		},
	}
}
