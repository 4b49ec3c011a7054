// Package clienthost reaches the machine that generates load, by the ssh of this host: no passwords, and the keys of
// hosts are checked as ssh is configured to. A program is copied into a directory of its own below the user's home
// there, which the journal knows.
//
// Hazard. ssh hands words to a shell: only words of this package and of the run's name, which its journal has checked,
// become part of a command there.
package clienthost

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"plimsoll/internal/field"
	"plimsoll/internal/printable"
	"plimsoll/internal/problem"
	"plimsoll/internal/state/journal"
)

func init() { journal.Register("clienthost", func() journal.Change { return new(Program) }) }

// Program is a copy of this program on another machine.
type Program struct {
	Host string // ssh://USER@HOST
	Dir  string // below the user's home
}

// name is the base name of the program in its directory.
const name = "plimsoll"

// New returns the change that copies this program for a run.
func New(host, run string) *Program {
	return &Program{Host: host, Dir: DirOf(run) + uuid.NewString()[:8]}
}

// DirOf returns how the name of the directory of a run begins.
func DirOf(run string) string { return ".plimsoll-" + run + "-clients-" }

var suffix = regexp.MustCompile(`^[0-9a-f]{8}$`)

// What implements journal.Change.
func (p *Program) What() string { return "copy this program to " + p.Host + ", into " + p.Dir }

// Prepare implements journal.Change. The directory has a random name, and no other can be there.
func (p *Program) Prepare() error { return nil }

// Check implements journal.Change.
func (p *Program) Check(s journal.Scope) error {
	if _, ok := field.ParseSSHHost(p.Host); !ok {
		return s.Foreign("%q is no host that ssh reaches", p.Host)
	}
	rest, own := strings.CutPrefix(p.Dir, DirOf(s.Run()))
	if !own || !suffix.MatchString(rest) {
		return s.Foreign("%q is no directory of run %s on another machine", p.Dir, s.Run())
	}
	return s.Owns("/" + p.Dir) // the name of the run is one that a shell reads as a word
}

// limit bounds what is done on the other machine, copying aside.
const limit = time.Minute

// Undo implements journal.Change.
func (p *Program) Undo(ctx context.Context, mark string) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	err := journal.EndMarked(ctx, mark) // what still copies
	if err != nil {
		return err
	}
	_, err = run(ctx, p.Host, "rm -rf -- "+p.Dir, "", nil)
	if err != nil {
		return fmt.Errorf("%w; when it is reached again, undo this with %s", err, journal.CleanCommand())
	}
	return nil
}

// copyLimit bounds the copying of the program.
const copyLimit = 4 * time.Minute

// Copy copies the program at path. Its process carries the mark.
func (p *Program) Copy(ctx context.Context, path, mark string) error {
	program, err := os.Open(path)
	if err != nil {
		return err
	}
	defer program.Close()
	ctx, cancel := context.WithTimeout(ctx, copyLimit)
	defer cancel()
	there := p.Dir + "/" + name
	_, err = run(ctx, p.Host, "umask 077 && mkdir "+p.Dir+" && cat > "+there+" && chmod 700 "+there, mark, program)
	return err
}

// Connection leads to the standard input and output of the copy.
type Connection struct {
	io.WriteCloser
	io.Reader
	cmd    *exec.Cmd
	stderr *printable.Tail
}

// Connect runs the copy in a directory, with a subcommand.
func Connect(host, dir, subcommand string) (*Connection, error) {
	cmd, err := Command(context.Background(), host, "exec ./"+dir+"/"+name+" "+subcommand)
	if err != nil {
		return nil, err
	}
	c := &Connection{cmd: cmd, stderr: &printable.Tail{Most: mostSaid}}
	cmd.Stderr, cmd.WaitDelay = c.stderr, waitDelay
	c.WriteCloser, err = cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	c.Reader, err = cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	return c, cmd.Start()
}

// Kill ends ssh, and with it the copy.
func (c *Connection) Kill() { _ = c.cmd.Process.Kill() } // gone already is as good

// Wait returns when ssh has ended, with what it said.
func (c *Connection) Wait() error {
	err := c.cmd.Wait()
	if err == nil {
		return nil
	}
	if said := strings.TrimSpace(c.stderr.String()); said != "" {
		return fmt.Errorf("%w: %s", err, said)
	}
	return err
}

// mostSaid is how much is kept of what ssh says.
const mostSaid = 4 << 10

// options keep ssh from asking, and from all but running a command.
var options = []string{
	"-T",
	"-x",
	"-a",
	"-o",
	"BatchMode=yes",
	"-o",
	"ConnectTimeout=15",
	"-o",
	"ServerAliveInterval=15",
	"-o",
	"ServerAliveCountMax=4",
	"-o",
	"ClearAllForwardings=yes",
	"-o",
	"PermitLocalCommand=no",
	"-e",
	"none",
}

// Command returns the ssh that runs a command of a shell on a host.
func Command(ctx context.Context, host, text string) (*exec.Cmd, error) {
	h, ok := field.ParseSSHHost(host)
	if !ok {
		return nil, fmt.Errorf("%q is no host that ssh reaches", host)
	}
	ssh, err := exec.LookPath("ssh")
	if err != nil {
		return nil, problem.New(problem.Unsupported, host, "this host has no ssh, which leads there",
			"install it (apt-get install openssh-client)").CausedBy(err)
	}
	args := append([]string{}, options...)
	if h.Port > 0 {
		args = append(args, "-p", strconv.Itoa(h.Port))
	}
	return exec.CommandContext(ctx, ssh, append(args, "-l", h.User, "--", h.Host, text)...), nil
}

// run runs a shell command on the host, and returns its output.
func run(ctx context.Context, host, text, mark string, stdin io.Reader) (string, error) {
	cmd, err := Command(ctx, host, text)
	if err != nil {
		return "", err
	}
	if mark != "" {
		cmd.Env = append(os.Environ(), journal.MarkVariable+"="+mark)
	}
	cmd.Stdin = stdin
	out, message, err := Answer(cmd, mostAnswer)
	if err == nil {
		return string(out), nil
	}
	why := message
	if why == "" || errors.Is(err, errEndless) {
		why = err.Error()
	}
	if ctx.Err() != nil {
		why = "no answer in time: " + why
	}
	return "", problem.New(problem.Unsupported, "clients on "+host, why,
		"see that this works without a password, as the user who runs plimsoll: "+hint(host)).CausedBy(err)
}

// mostAnswer bounds what a command prints that is read as a whole.
const mostAnswer = 1 << 20

// errEndless is in the error of an answer that is longer than it may be.
var errEndless = errors.New("it does not stop")

// Answer runs the ssh of a Command. It returns the command's output, and the last lines on the standard errors of the
// command and of ssh. A command that prints more than limit bytes is ended, so that no machine fills this one's memory.
// The context of the Command bounds the time.
func Answer(cmd *exec.Cmd, limit int) (out []byte, message string, err error) {
	head, tail := &head{limit: limit}, &printable.Tail{Most: mostSaid}
	cmd.Stdout, cmd.Stderr, cmd.WaitDelay = head, tail, waitDelay
	err = cmd.Run()
	if head.exceeded {
		err = fmt.Errorf("%w after %d bytes", errEndless, limit)
	}
	return head.text.Bytes(), strings.TrimSpace(tail.String()), err
}

// waitDelay bounds the wait for what a program that ssh started still prints when ssh has ended.
const waitDelay = 5 * time.Second

// head keeps the bytes written to it, up to a limit. It refuses further bytes, so that the writer's pipe is closed.
type head struct {
	text     bytes.Buffer
	limit    int
	exceeded bool
}

func (h *head) Write(b []byte) (int, error) {
	if h.text.Len()+len(b) > h.limit {
		h.exceeded = true
		return 0, io.ErrShortWrite
	}
	return h.text.Write(b)
}

// Call runs a command of a shell on another machine, with this standard input, and returns what it prints. The command
// must be the caller's own words.
func Call(ctx context.Context, host, text string, stdin io.Reader) (string, error) {
	out, err := run(ctx, host, text, "", stdin)
	if p := problem.Of(err, problem.Unsupported); p != nil {
		p.What = host
	}
	return out, err
}

// hint is a command that a person can try.
func hint(host string) string {
	h, _ := field.ParseSSHHost(host)
	if h.Port > 0 {
		return fmt.Sprintf("ssh -p %d %s@%s true", h.Port, h.User, h.Host)
	}
	return "ssh " + h.User + "@" + h.Host + " true"
}

// probeMark begins the line that Probe asks for: login shells may say more.
const probeMark = "plimsoll-probe"

// Probe asks the machine what it is. It changes nothing there. It returns the address of this host that the machine
// sees; "" where it does not tell. The error is why it can be no clients' machine.
func Probe(ctx context.Context, host string) (address string, err error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	out, err := run(ctx, host, "echo "+probeMark+` "$(uname -s)" "$(uname -m)" "$SSH_CONNECTION"`, "", nil)
	if err != nil {
		return "", err
	}
	for line := range strings.Lines(out) {
		words := strings.Fields(line)
		if len(words) < 3 || words[0] != probeMark {
			continue
		}
		if why := otherSystem(words[1], words[2]); why != "" {
			return "", problem.New(problem.Unsupported, "clients on "+host, why,
				"take a machine of this host's kind: this program is copied there as it is")
		}
		if len(words) > 3 {
			seen, err := netip.ParseAddr(words[3])
			if err == nil && seen.Zone() == "" {
				address = seen.Unmap().String()
			}
		}
		return address, nil
	}
	return "", problem.New(problem.Unsupported, "clients on "+host, "its shell does not answer as a shell of Linux does",
		"see what this prints: "+hint(host))
}

// machines are the names that uname has for Go's.
var machines = map[string]string{"amd64": "x86_64", "arm64": "aarch64", "riscv64": "riscv64", "s390x": "s390x",
	"ppc64le": "ppc64le", "386": "i686", "arm": "armv7l", "loong64": "loongarch64"}

// otherSystem says why a program of this host does not run there; "" when it does.
func otherSystem(system, machine string) string {
	if system == "Linux" && machine == machines[runtime.GOARCH] {
		return ""
	}
	return fmt.Sprintf("it is %s on %s, and this host Linux on %s", printable.Line(system), printable.Line(machine),
		machines[runtime.GOARCH])
}
