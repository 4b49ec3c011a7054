package lab

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Agent serves the commands of the host in a guest, one at a time on each
// port. It ends only when no port can be opened: then this is no guest.
func Agent() error {
	names, err := filepath.Glob("/sys/class/virtio-ports/*/name")
	if err != nil {
		return err
	}
	var servers sync.WaitGroup
	served := 0
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil || !strings.HasPrefix(string(text), portName) {
			continue
		}
		// Reads block: without a host, the port always polls as ready.
		fd, err := unix.Open(filepath.Join("/dev", filepath.Base(filepath.Dir(name))), unix.O_RDWR|unix.O_CLOEXEC, 0)
		if err != nil {
			return fmt.Errorf("open port %s: %w", text, err)
		}
		served++
		servers.Go(func() { serve(port(fd)) })
	}
	if served == 0 {
		return errors.New("there is no port to a host: the agent runs in guests of a lab only")
	}
	servers.Wait()
	return nil
}

// port is a virtio-serial port. Read gives io.EOF when no host has been there
// for a while; Write waits for one.
type port int

// A host that goes and the next one that comes are told to the kernel apart
// from what they send: a command may have begun before its kernel hears that
// the last host went, and must not be taken for one that was left alone. Each
// look at a port that nobody uses costs an emulated processor time.
const (
	lookAgain = 50 * time.Millisecond
	looks     = 4
)

func (p port) Read(b []byte) (int, error) {
	for look := 0; ; {
		n, err := unix.Read(int(p), b)
		switch {
		case errors.Is(err, unix.EINTR):
		case err != nil:
			return 0, err
		case n == 0:
			if look++; look == looks {
				return 0, io.EOF
			}
			time.Sleep(lookAgain)
		default:
			return n, nil
		}
	}
}

func (p port) Write(b []byte) (int, error) {
	done := 0
	for done < len(b) {
		n, err := unix.Write(int(p), b[done:])
		if err != nil && !errors.Is(err, unix.EINTR) {
			return done, err
		}
		done += max(n, 0)
	}
	return done, nil
}

// serve runs session after session.
func serve(p io.ReadWriter) {
	in := bufio.NewReader(p)
	out := &frames{w: p}
	for {
		if err := find(in, []byte(greeting)); err != nil {
			time.Sleep(lookAgain) // no host is there
			continue
		}
		for again := true; again; {
			nonce := make([]byte, nonceLength)
			if _, err := io.ReadFull(in, nonce); err != nil {
				break
			}
			out.pumps.Wait() // what is left of the last session goes before the nonce, where nobody looks
			if _, err := p.Write(nonce); err != nil {
				break
			}
			again = session(in, out)
		}
	}
}

// frames writes frames of several writers, each whole.
type frames struct {
	mu    sync.Mutex // guards w: output, its end and input are written concurrently
	w     io.Writer
	pumps sync.WaitGroup // goroutines that still write
}

func (f *frames) send(kind byte, payload []byte) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return writeFrame(f.w, kind, payload)
}

// session serves one command. another reports whether it read the greeting of a next one, whose host replaced this
// one's.
func session(in *bufio.Reader, out *frames) (another bool) {
	var run *running
	defer func() {
		if run != nil {
			run.kill()
		}
	}()
	for {
		kind, err := in.ReadByte()
		if err != nil {
			return false
		}
		if kind == greeting[0] {
			return find(in, []byte(greeting[1:])) == nil
		}
		payload, err := readPayload(in)
		if err != nil {
			return false
		}
		switch {
		case kind == frameRun && run == nil:
			var c Command
			if err := json.Unmarshal(payload, &c); err != nil {
				return false
			}
			if run, err = start(c, out); err != nil {
				end(out, exitStatus{Code: 127, Error: err.Error()})
			}
		case run == nil: // it could not be started, or is not yet
		case kind == frameStdin && len(payload) == 0 && run.tty != nil:
			_, _ = run.stdin.Write([]byte{4}) // Ctrl-D: a terminal that is closed ends what runs on it
		case kind == frameStdin && len(payload) == 0:
			run.stdin.Close()
		case kind == frameStdin:
			_, _ = run.stdin.Write(payload) // a command may leave its input unread
		case kind == frameSize && len(payload) == 4:
			run.resize(binary.LittleEndian.Uint16(payload), binary.LittleEndian.Uint16(payload[2:]))
		case kind == frameSignal && len(payload) == 1:
			_ = unix.Kill(-run.pid, unix.Signal(payload[0])) // it may have ended
		}
	}
}

func end(out *frames, e exitStatus) {
	text, err := json.Marshal(e)
	if err == nil {
		_ = out.send(frameExit, text) // a host that is gone does not ask
	}
}

// running is a command that was started.
type running struct {
	pid   int // and process group
	stdin *os.File
	tty   *os.File
	done  chan struct{}
}

// start runs a command, and sends its output and its exit status.
func start(c Command, out *frames) (*running, error) {
	if len(c.Args) == 0 {
		return nil, errors.New("no command")
	}
	cmd := exec.Command(c.Args[0], c.Args[1:]...)
	cmd.Env = append(os.Environ(), c.Env...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	run := &running{done: make(chan struct{})}
	var outputs []*os.File
	var given []io.Closer // the command's ends, of which we keep no copy
	if c.TTY {
		master, slave, err := terminal()
		if err != nil {
			return nil, fmt.Errorf("make a terminal: %w", err)
		}
		cmd.Stdin, cmd.Stdout, cmd.Stderr = slave, slave, slave
		cmd.SysProcAttr.Setctty = true
		run.stdin, run.tty, outputs, given = master, master, []*os.File{master}, []io.Closer{slave}
		run.resize(c.Rows, c.Cols)
	} else {
		var pipes [3][2]*os.File
		for i := range pipes {
			r, w, err := os.Pipe()
			if err != nil {
				return nil, err
			}
			pipes[i] = [2]*os.File{r, w}
		}
		cmd.Stdin, cmd.Stdout, cmd.Stderr = pipes[0][0], pipes[1][1], pipes[2][1]
		run.stdin, outputs, given = pipes[0][1], []*os.File{pipes[1][0], pipes[2][0]},
			[]io.Closer{pipes[0][0], pipes[1][1], pipes[2][1]}
	}
	err := cmd.Start()
	for _, g := range given {
		_ = g.Close() // the command has it open
	}
	if err != nil {
		return nil, err
	}
	run.pid = cmd.Process.Pid
	var pumps sync.WaitGroup
	out.pumps.Add(1) // the one that sends the ending counts for all
	for i, r := range outputs {
		pumps.Go(func() { pump(r, out, []byte{frameStdout, frameStderr}[i]) })
	}
	go func() {
		defer out.pumps.Done()
		_ = cmd.Wait() // the state tells it all
		close(run.done)
		// A daemon that it left behind may hold its output open for ever.
		for _, r := range outputs {
			_ = r.SetReadDeadline(time.Now().Add(300 * time.Millisecond))
		}
		pumps.Wait()
		e := exitStatus{Code: cmd.ProcessState.ExitCode()}
		if s := cmd.ProcessState.Sys().(syscall.WaitStatus); s.Signaled() {
			e.Code = 128 + int(s.Signal())
		}
		end(out, e)
		for _, r := range outputs {
			r.Close()
		}
		run.stdin.Close()
	}()
	return run, nil
}

func pump(r io.Reader, out *frames, kind byte) {
	b := make([]byte, 64<<10)
	for {
		n, err := r.Read(b)
		if n > 0 && out.send(kind, b[:n]) != nil || err != nil {
			return
		}
	}
}

// kill ends a command whose host is gone.
func (r *running) kill() {
	select {
	case <-r.done:
	default:
		_ = unix.Kill(-r.pid, unix.SIGKILL)
	}
}

func (r *running) resize(rows, cols uint16) {
	if r.tty == nil || rows == 0 || cols == 0 {
		return
	}
	_ = ioctl(r.tty, func(fd int) error { // a terminal of the wrong size is one all the same
		return unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: rows, Col: cols})
	})
}

// terminal opens a new pseudo-terminal.
func terminal() (master, slave *os.File, err error) {
	master, err = os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		return nil, nil, err
	}
	var n uint32
	err = ioctl(master, func(fd int) error {
		if err := unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
			return err
		}
		var err error
		n, err = unix.IoctlGetUint32(fd, unix.TIOCGPTN)
		return err
	})
	if err == nil {
		slave, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|syscall.O_NOCTTY, 0)
	}
	if err != nil {
		master.Close()
		return nil, nil, err
	}
	return master, slave, nil
}

// ioctl leaves a file as it is; its Fd method would make it one that blocks,
// whose reads have no deadline.
func ioctl(f *os.File, call func(fd int) error) error {
	conn, err := f.SyscallConn()
	if err != nil {
		return err
	}
	var failed error
	if err := conn.Control(func(fd uintptr) { failed = call(int(fd)) }); err != nil {
		return err
	}
	return failed
}
