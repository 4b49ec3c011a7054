package loader

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"plimsoll/internal/state/journal"
)

// process is one of the database's programs.
type process struct {
	name   string
	cmd    *exec.Cmd
	output last
	ended  chan error
}

// start starts a program in the root, found in the image's PATH. It has to be called on the
// thread that made the root.
func (c *Config) start(ctx context.Context, in string, argv []string) (*process, error) {
	p := &process{name: argv[0], ended: make(chan error, 1)}
	become := inside{Root: in, Account: c.Account, Argv: insideArgs(argv),
		Env: append([]string{"LC_ALL=C", "HOME=/tmp"}, c.Env...)}
	if mark := os.Getenv(journal.MarkVariable); mark != "" { // by which it is ended, should we be killed
		become.Env = append(become.Env, journal.MarkVariable+"="+mark)
	}
	text, err := json.Marshal(become)
	if err != nil {
		return nil, err
	}
	p.cmd = exec.CommandContext(ctx, "/proc/self/exe", InsideCommand, string(text)) //nolint:gosec // this program
	p.cmd.Dir = "/"
	output := io.MultiWriter(c.Log, &p.output)
	p.cmd.Stdout, p.cmd.Stderr = output, output
	p.cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags: unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWIPC, Pdeathsig: syscall.SIGKILL, Setsid: true,
	}
	p.cmd.Cancel = func() error { return unix.Kill(-p.cmd.Process.Pid, unix.SIGKILL) }
	p.cmd.WaitDelay = 5 * time.Second
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s in the image: %w", p.name, err)
	}
	go func() { p.ended <- p.cmd.Wait() }()
	return p, nil
}

// wait waits for a program that ends by itself.
func (p *process) wait() error {
	err := <-p.ended
	if err != nil {
		return fmt.Errorf("%s: %w%s", p.name, err, p.output.message())
	}
	return nil
}

// end asks a server to end, by the name of a signal. Exit codes 0 and codes are accepted.
func (p *process) end(signal string, codes []int) error {
	if err := p.cmd.Process.Signal(unix.SignalNum("SIG" + signal)); err != nil {
		return fmt.Errorf("end %s: %w", p.name, err)
	}
	select {
	case err := <-p.ended:
		var exit *exec.ExitError
		if errors.As(err, &exit) && slices.Contains(codes, exit.ExitCode()) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("%s did not end well: %w%s", p.name, err, p.output.message())
		}
		return nil
	case <-time.After(endLimit):
		p.kill()
		return fmt.Errorf("%s did not end within %s", p.name, endLimit)
	}
}

func (p *process) kill() {
	_ = p.cmd.Cancel()
	<-p.ended //nolint:errcheck // it was killed
}

// last keeps the last line that a program said.
type last struct {
	mu   sync.Mutex // guards text
	text []byte
}

const mostSaid = 4 << 10

func (l *last) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.text = append(l.text, b...)
	if over := len(l.text) - mostSaid; over > 0 {
		l.text = l.text[over:]
	}
	return len(b), nil
}

// message returns the last line's text behind a colon, without lines of a stack trace; "" where there is none.
func (l *last) message() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	message := ""
	for line := range strings.Lines(string(l.text)) {
		line = strings.TrimSpace(line)
		traced := strings.HasPrefix(line, "at ") || strings.HasPrefix(line, "... ") // from where Java called what broke
		if line != "" && !traced {
			message = ": " + line
		}
	}
	return message
}
