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

	"plimsoll/internal/field"
	"plimsoll/internal/host/cgroup"
	"plimsoll/internal/printable"
	"plimsoll/internal/problem"
	"plimsoll/internal/stack/line"
	"plimsoll/internal/state/journal"
	"plimsoll/internal/state/sudouser"
	"plimsoll/internal/workload"
)

// needRoot returns the error for a layer that requires root.
func needRoot(what string) error {
	if os.Getuid() == 0 {
		return nil
	}
	return problem.New(problem.Unsupported, what, "only root may make it", "run with sudo, or take dir:PATH as the stack")
}

// sizeOption returns the value of an option in bytes.
func sizeOption(n line.Node, key, missing string) (int64, error) {
	text, ok := n.Option(key)
	if !ok {
		text = missing
	}
	return field.Bytes.Parse(text)
}

// dieLimit bounds the wait for a killed process to end.
var dieLimit = 30 * time.Second

// errStuck is returned for a killed process that did not end within dieLimit.
var errStuck = errors.New(
	"it was killed and does not end: the kernel waits for a device that does not answer (dmesg may show which)",
)

// runChild runs a child process that dies with this one and leads a process group of its own, so that Ctrl-C at the
// terminal reaches only this one. After errStuck the child still exists, and may write to its outputs.
//
// When p.enough is closed, the child gets p.signal, and is waited for. It runs in group, or in this process's group
// for nil.
func runChild(ctx context.Context, group *cgroup.Group, p process, mark string, adjust func(*exec.Cmd)) error {
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
		// not the process. It is never unlocked, and ends with this function: what it starts,
		// and it itself, gets no rights from the files of programs any more.
		runtime.LockOSThread()
		err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
		if err == nil {
			err = group.Start(cmd)
		}
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

// command runs a program to its end. Its error includes the program's output.
func command(ctx context.Context, mark string, argv ...string) error {
	var out bytes.Buffer
	err := runChild(ctx, nil, process{argv: argv}, mark, func(c *exec.Cmd) { c.Stdout, c.Stderr = &out, &out })
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
	journal  *journal.Journal
	group    *cgroup.Group  // of the steps alone; nil without one, then groupErr is the reason
	groupErr error          // why there is no group
	worker   *sudouser.User // that the steps run as; nil for the user of this process
}

// newHost makes a cgroup for the steps, like a container's. Without one, measuring continues and the place records
// the reason, unless it has to carry limits.
func (p *Place) newHost(ctx context.Context) (*host, error) {
	env := p.base.env
	if p.group != nil {
		return &host{journal: env.Journal, group: p.group, worker: p.base.worker}, nil
	}
	group, made, err := cgroup.New(ctx, env.Journal, env.GroupName(), cgroup.Options{Limits: p.config.Limits})
	p.undo = append(p.undo, made...)
	switch {
	case errors.Is(err, journal.ErrWrite) || ctx.Err() != nil:
		return nil, err
	case err != nil && p.config.Limits:
		return nil, problem.New(problem.Unsupported, "limits on processes of the host", err.Error(),
			"run as root, where cgroups are mounted").CausedBy(err)
	case err != nil:
		p.fact("cgroup of the workload", "none: "+err.Error())
	}
	return &host{journal: env.Journal, group: group, groupErr: err, worker: p.base.worker}, nil
}

// GroupName returns a name for a cgroup of the run.
func (e *Env) GroupName() string {
	return cgroup.Prefix + e.RunID[:min(len(e.RunID), maxRunID)] + "-" + uuid.NewString()[:8]
}

// maxRunID is how much of a run's id fits into the name of a cgroup.
const maxRunID = 200

func (h *host) stepGroup() (*cgroup.Group, error) { return h.group, h.groupErr }

func (h *host) ownGroup() (*cgroup.Group, error) { return h.group, h.groupErr }

func (h *host) pathInside(scratch string) string {
	if h.worker != nil {
		return lentDirectory
	}
	return scratch
}

// lentDirectory is the scratch directory for a process of another user, who may not come to it by its path: the first
// file that exec.Cmd hands over.
const lentDirectory = "/proc/self/fd/3"

// lend lets a process of the worker write to a scratch directory, until takeBack is called.
func (h *host) lend(scratch string) (dir *os.File, takeBack func() error, err error) {
	dir, err = os.OpenFile(scratch, os.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW, 0)
	if err != nil {
		return nil, nil, err
	}
	takeBack = func() error { return errors.Join(dir.Chown(os.Geteuid(), os.Getegid()), dir.Close()) }
	if err := dir.Chown(h.worker.UID, h.worker.GID); err != nil {
		return nil, nil, errors.Join(err, dir.Close())
	}
	return dir, takeBack, nil
}

// become has a command run as the worker, without a capability, and hands over its scratch directory.
func (h *host) become(c *exec.Cmd, scratch *os.File) {
	groups := h.worker.Groups()
	numbers := make([]uint32, len(groups))
	for i, gid := range groups {
		numbers[i] = uint32(gid)
	}
	c.SysProcAttr.Credential = &syscall.Credential{Uid: uint32(h.worker.UID), Gid: uint32(h.worker.GID), Groups: numbers}
	c.ExtraFiles = []*os.File{scratch}
	if c.Dir == lentDirectory { // the process is there before it has the file by that number
		c.Dir = fmt.Sprintf("/proc/self/fd/%d", scratch.Fd())
	}
}

func (h *host) exec(ctx context.Context, p process) (_ workload.Exit, failed error) {
	argv := p.argv
	if _, err := exec.LookPath(argv[0]); err != nil {
		return workload.Exit{Code: 127, Stderr: argv[0] + ": command not found"}, nil //nolint:nilerr // told as a shell does
	}
	var scratch *os.File
	if h.worker != nil {
		dir, takeBack, err := h.lend(p.lent)
		if err != nil {
			return workload.Exit{}, err
		}
		defer func() { failed = errors.Join(failed, takeBack()) }()
		scratch = dir
	}
	stderr := printable.Tail{Most: tailBytes}
	var runErr error
	kills := oomKills()
	entry, err := h.journal.Do(ctx, &journal.Process{Argv: argv}, func(mark string) error {
		runErr = runChild(ctx, h.group, p, mark, func(c *exec.Cmd) {
			c.Dir, c.Stdout, c.Stderr = p.dir, &stderr, &stderr
			if p.stdin != "" {
				c.Stdin = strings.NewReader(p.stdin)
			}
			if h.worker != nil {
				h.become(c, scratch)
			}
		})
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

const tailBytes = 32 << 10 // MongoDB prints its reason to end some 10 KiB before its last line
