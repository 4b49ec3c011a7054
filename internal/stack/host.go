package stack

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/google/uuid"
	"golang.org/x/sys/unix"

	"plimsoll/internal/cgroup"
	"plimsoll/internal/journal"
	"plimsoll/internal/printable"
	"plimsoll/internal/problem"
	"plimsoll/internal/stack/line"
	"plimsoll/internal/units"
	"plimsoll/internal/workload"
)

// needRoot tells what a layer cannot do for other users.
func needRoot(what string) error {
	if os.Getuid() == 0 {
		return nil
	}
	return problem.New(problem.Unsupported, what, "only root may make it", "run with sudo, or take dir:PATH as the stack")
}

// sizeOption gives a size in bytes.
func sizeOption(n line.Node, key, missing string) (int64, error) {
	text, ok := n.Option(key)
	if !ok {
		text = missing
	}
	return units.ParseSize(text)
}

// dieLimit is how long a process may take to end once it was killed.
var dieLimit = 30 * time.Second

// errStuck is why a process that was killed is not waited for any longer.
var errStuck = errors.New("it was killed and does not end: the kernel waits for a device that does not answer (dmesg may tell which)")

// started is a child process that dies with us, and leads a process group of
// its own, so that a Ctrl-C at the terminal reaches us alone. After errStuck
// the child is still there, and may write to where it was told.
//
// When p.enough is closed, the child gets p.signal, and is waited for. It runs in
// group, or where we do if that is nil.
func started(ctx context.Context, group *cgroup.Group, p process, mark string, adjust func(*exec.Cmd)) error {
	argv, enough := p.argv, p.enough
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Env = append(os.Environ(), "LC_ALL=C", journal.MarkVariable+"="+mark)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	cmd.Cancel = func() error { return unix.Kill(-cmd.Process.Pid, unix.SIGKILL) }
	cmd.WaitDelay = 5 * time.Second
	adjust(cmd)
	ended, running := make(chan error, 1), make(chan struct{})
	go func() {
		// The kernel sends the death signal when the thread that forked ends,
		// not the process.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := group.Start(cmd)
		close(running)
		if err == nil {
			err = cmd.Wait()
		}
		ended <- err
	}()
	<-running
	for asked := false; ctx.Err() == nil; {
		select {
		case err := <-ended:
			return err
		case <-enough:
			if !asked && cmd.Process != nil {
				_ = cmd.Process.Signal(p.signal) // gone already is as good
			}
			asked, enough = true, nil
		case <-ctx.Done():
		}
	}
	select {
	case err := <-ended:
		return err
	case <-time.After(dieLimit):
		return errStuck
	}
}

// command runs a program to its end; its error carries what the program said.
func command(ctx context.Context, mark string, argv ...string) error {
	var out bytes.Buffer
	err := started(ctx, nil, process{argv: argv}, mark, func(c *exec.Cmd) { c.Stdout, c.Stderr = &out, &out })
	switch {
	case errors.Is(err, errStuck):
		return fmt.Errorf("%s: %w: %w", strings.Join(argv, " "), ctx.Err(), err)
	case err != nil:
		said := strings.Join(strings.Fields(out.String()), " ")
		return fmt.Errorf("%s: %w: %s", strings.Join(argv, " "), err, said)
	}
	return nil
}

// host runs steps as processes of the host.
type host struct {
	journal *journal.Journal
	group   *cgroup.Group // of the steps alone; nil for none
	none    error         // why there is none
}

// newHost makes a control group for the steps, as a container has one. A host
// without, or a user who may make none, measures all the same, and the place says
// why, unless it is to carry limits.
func (p *Place) newHost(ctx context.Context) (*host, error) {
	env := p.base.env
	if p.group != nil {
		return &host{journal: env.Journal, group: p.group}, nil
	}
	group, made, err := cgroup.New(ctx, env.Journal, env.GroupName(), cgroup.Options{Limits: p.config.Limits})
	p.undo = append(p.undo, made...)
	switch {
	case errors.Is(err, journal.ErrWrite) || ctx.Err() != nil:
		return nil, err
	case err != nil && p.config.Limits:
		return nil, problem.New(problem.Unsupported, "limits on processes of the host", err.Error(),
			"run as root, where control groups are mounted").CausedBy(err)
	case err != nil:
		p.fact("control group of the workload", "none: "+err.Error())
	}
	return &host{journal: env.Journal, group: group, none: err}, nil
}

// GroupName returns a name for a control group of the run.
func (e *Env) GroupName() string {
	return cgroup.Prefix + e.RunID[:min(len(e.RunID), longestRunID)] + "-" + uuid.NewString()[:8]
}

// longestRunID is how much of it the name of a control group has room for.
const longestRunID = 200

func (h *host) stepGroup() (*cgroup.Group, error) { return h.group, h.none }

func (h *host) ownGroup() (*cgroup.Group, error) { return h.group, h.none }

func (*host) sees(scratch string) string { return scratch }

func (h *host) exec(ctx context.Context, p process) (workload.Exit, error) {
	argv := p.argv
	if _, err := exec.LookPath(argv[0]); err != nil {
		return workload.Exit{Code: 127, Stderr: argv[0] + ": command not found"}, nil //nolint:nilerr // told as a shell does
	}
	stderr := printable.Tail{Most: tailBytes}
	var runErr error
	kills := oomKills()
	entry, err := h.journal.Do(ctx, &journal.Process{Argv: argv}, func(mark string) error {
		runErr = started(ctx, h.group, p, mark, func(c *exec.Cmd) { c.Dir, c.Stdout, c.Stderr = p.dir, &stderr, &stderr })
		return nil
	})
	if err != nil {
		return workload.Exit{}, err
	}
	err = h.journal.Undo(context.WithoutCancel(ctx), entry)
	if err = errors.Join(ctx.Err(), err); err != nil {
		return workload.Exit{}, err
	}
	exit := workload.Exit{Stderr: stderr.String()}
	var status *exec.ExitError
	switch {
	case errors.As(runErr, &status):
		exit.Code = status.ExitCode()
		if ws, ok := status.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
			exit.Code, exit.Signal = 128+int(ws.Signal()), ws.Signal().String()
		}
	case runErr != nil:
		return workload.Exit{}, fmt.Errorf("start %s: %w", argv[0], runErr)
	}
	exit.OOMKilled = exit.Code != 0 && oomKills() > kills
	return exit, nil
}

// oomKills counts the processes that the kernel's OOM killer ended since boot.
func oomKills() uint64 {
	b, err := os.ReadFile("/proc/vmstat")
	if err != nil {
		return 0
	}
	for l := range strings.Lines(string(b)) {
		if v, ok := strings.CutPrefix(l, "oom_kill "); ok {
			n, _ := strconv.ParseUint(strings.TrimSpace(v), 10, 64)
			return n
		}
	}
	return 0
}

const tailBytes = 32 << 10 // MongoDB says why it ends before some 10 KiB of where it was
