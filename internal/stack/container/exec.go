package container

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/moby/moby/api/pkg/stdcopy"
	"github.com/moby/moby/client"
	"golang.org/x/sys/unix"

	"plimsoll/internal/printable"
	"plimsoll/internal/state/journal"
	"plimsoll/internal/workload"
)

const (
	// killLimit bounds the wait for a killed process; a process that waits for a device ends only after the device
	// answers.
	killLimit = 30 * time.Second
	// startProcessLimit bounds the time in which an engine starts a process.
	startProcessLimit = 60 * time.Second
	// breakLimit bounds the wait for the end of an engine after it failed to start a process.
	breakLimit = 500 * time.Millisecond
)

// noticeLimit bounds the time in which an engine notices the end of a process or container. It never notices if the
// shim died.
var noticeLimit = 10 * time.Second

// Exec runs a program in the container, in directory dir, and waits for it.
// When ctx ends, so does the program with all its children, before Exec
// returns. A program that cannot be started, and an engine that ends
// meanwhile, are errors; how the program itself ends is not.
func (c *Container) Exec(ctx context.Context, argv []string, dir string) (workload.Exit, error) {
	return c.ExecUntil(ctx, nil, unix.SIGINT, argv, dir)
}

// ExecUntil is Exec for a program that gets a signal once enough is closed, and
// is then waited for.
func (c *Container) ExecUntil(
	ctx context.Context, enough <-chan struct{}, signal unix.Signal, argv []string, dir string,
) (workload.Exit, error) {
	p := &process{container: c, asks: signal, output: printable.Tail{Most: tailBytes}, ended: make(chan error, 1)}
	files := c.cgroupFiles()
	before, _ := oomKills(files)
	entry, err := c.engine.journal.Do(ctx, &journal.Process{Argv: argv}, func(mark string) error {
		return p.start(ctx, argv, dir, mark)
	})
	if err != nil {
		return workload.Exit{}, fmt.Errorf("run %s in container %s: %w", argv[0], c.Name, c.engine.down(err))
	}
	err = p.wait(ctx, enough)
	if p.handle != nil {
		p.handle.Close()
	}
	// Whatever it left running carries its mark.
	err = errors.Join(err, c.engine.journal.Undo(context.WithoutCancel(ctx), entry))
	var exit workload.Exit
	if err == nil {
		exit.Stderr = p.output.String()
		err = p.readExit(ctx, &exit)
	}
	if err != nil {
		return exit, fmt.Errorf("run %s in container %s: %w", argv[0], c.Name, err)
	}
	if after, ok := oomKills(files); ok {
		exit.OOMKilled = after > before
	} else if state, err := c.state(ctx); err == nil {
		// The whole container may be gone, and its counters with it.
		exit.OOMKilled = state.OOMKilled
	}
	return exit, nil
}

// process is one execution in a container.
type process struct {
	container *Container
	id        string         // the engine's
	asks      unix.Signal    // it to end
	handle    *os.File       // pidfd, nil while the engine has not told the pid
	output    printable.Tail // stdout and stderr, as on a terminal; read after ended
	ended     chan error
}

// start starts the process and copies its output until it ends. It ignores the end of ctx half-way, as the engine
// does: otherwise a process would remain that nobody waits for.
func (p *process) start(ctx context.Context, argv []string, dir, mark string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), startProcessLimit)
	defer cancel()
	c := p.container
	created, err := c.engine.api.ExecCreate(ctx, c.Name, client.ExecCreateOptions{
		Cmd:          argv,
		WorkingDir:   dir,
		User:         c.user,
		Env:          append([]string{journal.MarkVariable + "=" + mark}, c.env...),
		AttachStdout: true,
		AttachStderr: true,
	})
	if err != nil {
		return err
	}
	p.id = created.ID
	conn, err := c.engine.api.ExecAttach(ctx, p.id, client.ExecAttachOptions{})
	if err != nil {
		return err
	}
	go func() {
		_, err := stdcopy.StdCopy(&p.output, &p.output, conn.Reader)
		conn.Close()
		p.ended <- err
	}()
	return nil
}

// wait waits until the process ended, also when its engine does not notice.
// When ctx ends first, it kills the process, as often as it takes: the engine
// may be about to start it.
func (p *process) wait(ctx context.Context, enough <-chan struct{}) error {
	var (
		engine = p.container.engine
		look   = time.NewTicker(time.Second)
		gone   time.Duration
		began  = time.Now()
	)
	defer look.Stop()
	for ctx.Err() == nil {
		select {
		case err := <-p.ended:
			return p.connectionError(err)
		case <-engine.dockerd:
			return engine.down(errors.New("no client waits for the process any more"))
		case <-engine.containerd:
			return engine.down(errors.New("no client waits for the process any more"))
		case <-enough:
			enough = nil
			p.signal(ctx, p.asks)
		case <-look.C:
			if p.lives(ctx) {
				gone = 0
			} else if gone += time.Second; gone > noticeLimit {
				return errors.New("the process ended, and its engine did not notice")
			}
			if p.handle == nil && time.Since(began) > startProcessLimit {
				return fmt.Errorf("its engine did not report the process within %s", startProcessLimit)
			}
		case <-ctx.Done():
		}
	}
	limit, cancel := context.WithTimeout(context.WithoutCancel(ctx), killLimit)
	defer cancel()
	again := time.NewTicker(20 * time.Millisecond)
	defer again.Stop()
	for {
		p.kill(limit)
		select {
		case <-p.ended: // however: it was killed
			return ctx.Err()
		case <-engine.dockerd: // what it leaves is ended by its mark
			return ctx.Err()
		case <-engine.containerd:
			return ctx.Err()
		case <-limit.Done():
			return fmt.Errorf("%w, and it does not end within %s", ctx.Err(), killLimit)
		case <-again.C:
		}
	}
}

// connectionError returns the error for a broken connection, which means that the engine ended.
func (p *process) connectionError(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("the connection to the Docker engine broke: %w", err)
}

// lives reports whether the process, or its container until the pid is known, still exists. It asks the engine only
// once, to not disturb the measurement.
func (p *process) lives(ctx context.Context) bool {
	if p.find(ctx); p.handle != nil {
		// One that ended and that nobody waits for could still be sent signals.
		ended := []unix.PollFd{{Fd: int32(p.handle.Fd()), Events: unix.POLLIN}}
		n, err := unix.Poll(ended, 0)
		return err != nil || n == 0
	}
	return unix.Kill(p.container.pid, 0) == nil
}

// find opens a pidfd of the process: its pid may be reused by the time it is needed, and an engine that is ill may
// report such a pid.
func (p *process) find(ctx context.Context) {
	if p.handle != nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	in, err := p.container.engine.api.ExecInspect(ctx, p.id, client.ExecInspectOptions{})
	if err != nil || !in.Running || in.PID <= 0 {
		return
	}
	fd, err := unix.PidfdOpen(in.PID, 0)
	if err != nil {
		return
	}
	handle := os.NewFile(uintptr(fd), "pidfd")
	groups, err := os.ReadFile(fmt.Sprintf("/proc/%d/cgroup", in.PID))
	if err != nil || !strings.Contains(string(groups), "/"+p.container.parent+"/") {
		handle.Close()
		return
	}
	p.handle = handle
}

// kill sends SIGKILL to the process; its children are ended by their mark.
func (p *process) kill(ctx context.Context) { p.signal(ctx, unix.SIGKILL) }

func (p *process) signal(ctx context.Context, s unix.Signal) {
	if p.find(ctx); p.handle != nil {
		_ = unix.PidfdSendSignal(int(p.handle.Fd()), s, nil, 0) // gone already is as good
	}
}

// readExit asks the engine for the exit status. The output may end a moment before the engine knows it.
func (p *process) readExit(ctx context.Context, exit *workload.Exit) error {
	ctx, cancel := context.WithTimeoutCause(ctx, noticeLimit,
		errors.New("the process ended, and its engine did not notice"))
	defer cancel()
	again := time.NewTicker(10 * time.Millisecond)
	defer again.Stop()
	for {
		in, err := p.container.engine.api.ExecInspect(ctx, p.id, client.ExecInspectOptions{})
		if err != nil && ctx.Err() == nil {
			return p.container.engine.down(err)
		}
		if err == nil && !in.Running {
			if in.ExitCode == 0 && errors.Is(unix.Kill(p.container.pid, 0), unix.ESRCH) {
				// An engine that lost its container does not know how what ran in it ended.
				return p.container.engine.down(errors.New("the container ended, and with it the process"))
			}
			exit.Code = in.ExitCode
			break
		}
		select {
		case <-again.C:
		case <-ctx.Done():
			return p.container.engine.down(context.Cause(ctx))
		}
	}
	if exit.Code == 126 || exit.Code == 127 {
		// So ends a program that could not be started, also because the engine
		// broke; then its end is seen within a moment.
		select {
		case <-p.container.engine.dockerd:
		case <-p.container.engine.containerd:
		case <-time.After(breakLimit):
		}
		if broken := p.container.engine.down(nil); broken != nil {
			return fmt.Errorf("%w (%s)", broken, strings.TrimSpace(exit.Stderr))
		}
	}
	if err := programStartError(*exit); err != nil {
		return err
	}
	if n := exit.Code - 128; n > 0 && n < 65 {
		exit.Signal = syscall.Signal(n).String()
	}
	return nil
}

// programStartError returns the reason why a program could not be started, from its exit code and output; nil if it
// was.
func programStartError(exit workload.Exit) error {
	stderr := strings.TrimSpace(exit.Stderr)
	switch {
	case exit.Code != 126 && exit.Code != 127:
		return nil
	case strings.Contains(stderr, "exec failed: "): // the runtime's words
		return errors.New(stderr)
	case strings.Contains(stderr, "ttrpc: closed"): // containerd's, of the shim that starts programs for it
		return fmt.Errorf("its engine lost the process as it started: %s", stderr)
	}
	return nil
}

// oomKills sums the OOM kills that control groups count; false when none can
// be read.
func oomKills(files []string) (sum uint64, ok bool) {
	for _, name := range files {
		b, err := os.ReadFile(name)
		if err != nil {
			continue
		}
		for line := range strings.Lines(string(b)) {
			if v, found := strings.CutPrefix(line, "oom_kill "); found {
				n, _ := strconv.ParseUint(strings.TrimSpace(v), 10, 64)
				sum, ok = sum+n, true
			}
		}
	}
	return sum, ok
}

// tailBytes is how much of a program's output is kept.
const tailBytes = 8 << 10
