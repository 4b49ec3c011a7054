package lab

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const qemu = "qemu-system-x86_64"

// needQEMU returns an error that names the programs missing to run a machine.
func needQEMU() error {
	return need("the lab", [2]string{qemu, "qemu-system-x86"})
}

// bootTime bounds the start of a guest; under emulation on two busy cores, 40 s were observed.
var bootTime = map[string]time.Duration{"kvm": time.Minute, "tcg": 5 * time.Minute}

// machine is a running virtual machine.
type machine struct {
	Machine
	dir    string
	pid    int
	ended  chan struct{} // closed when QEMU has ended
	output string        // of QEMU, once it has ended
}

// startMachine makes a directory and starts QEMU there. The machine ends with this process, even if that is killed.
func startMachine(dir string, m Machine, f files, accel Accelerator, binary string, image *Image) (*machine, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	if err := writeInitrd(filepath.Join(dir, initrdFile), image, binary); err != nil {
		return nil, fmt.Errorf("pack the initial RAM disk: %w", err)
	}
	for _, d := range m.Drives {
		name := filepath.Join(dir, driveFile(d))
		if err := os.WriteFile(name, nil, 0o600); err != nil {
			return nil, err
		}
		if err := os.Truncate(name, d.Bytes); err != nil {
			return nil, fmt.Errorf("make drive %s: %w", d.Serial, err)
		}
	}
	f.Root, f.Kernel, f.Initrd = filepath.Join(image.Dir, imageRoot), filepath.Join(image.Dir, imageKernel), initrdFile
	v := &machine{Machine: m, dir: dir, ended: make(chan struct{})}
	var stderr strings.Builder
	cmd := exec.Command(qemu, arguments(m, f, accel)...)
	cmd.Dir, cmd.Stderr = dir, &stderr
	cmd.Env = append(os.Environ(), "TMPDIR="+dir) // where what the guest writes to its root goes
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	started := make(chan error)
	go func() {
		// The kernel sends the signal of Pdeathsig when the thread that started the child ends.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		started <- err
		if err == nil {
			err = cmd.Wait()
			if v.output = strings.TrimSpace(stderr.String()); v.output == "" && err != nil {
				v.output = err.Error()
			}
			close(v.ended)
		}
	}()
	if err := <-started; err != nil {
		return nil, err
	}
	v.pid = cmd.Process.Pid
	return v, nil
}

// writeInitrd adds to the image's initial RAM disk what belongs to this
// plimsoll and not to the image: the binary, and the guest's first programs.
func writeInitrd(name string, image *Image, binary string) error {
	base, err := os.Open(filepath.Join(image.Dir, imageInitrd))
	if err != nil {
		return err
	}
	defer base.Close()
	out, err := os.OpenFile(name, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	defer out.Close()
	w := bufio.NewWriterSize(out, 1<<20)
	if _, err := io.Copy(w, base); err != nil {
		return err
	}
	c := &cpio{w: w}
	c.text("init", initProgram)
	c.text("lab/lab-init", labInitProgram)
	if binary != "" {
		c.add("lab/plimsoll", binary)
	}
	if err := errors.Join(c.end(), w.Flush()); err != nil {
		return err
	}
	return out.Close()
}

// ready waits until the guest answers.
func (v *machine) ready(ctx context.Context, accel string) error {
	limit := bootTime[accel]
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("it did not answer within %s", limit))
	defer cancel()
	ctx, give := context.WithCancelCause(ctx)
	defer give(nil)
	go func() {
		select {
		case <-v.ended:
			give(errors.New("it ended before it was up"))
		case <-ctx.Done():
		}
	}()
	err := v.answers(ctx)
	if err == nil || errors.Is(err, context.Canceled) {
		return err
	}
	return fmt.Errorf("the virtual machine %s: %w%s", v.Name, err, v.errorOutput())
}

func (v *machine) answers(ctx context.Context) error {
	if err := waitFor(ctx, filepath.Join(v.dir, portFile(ports-1)), v.ended); err != nil {
		return err
	}
	code, err := Run(ctx, v.dir, Command{Args: []string{"true"}}, Streams{Stdout: io.Discard, Stderr: io.Discard})
	if err == nil && code != 0 {
		err = fmt.Errorf("the program true ended with status %d", code)
	}
	return err
}

// errorOutput returns the output of QEMU or, without any, the end of the guest's console.
func (v *machine) errorOutput() string {
	select {
	case <-v.ended:
		if v.output != "" {
			return "; QEMU says:\n  " + strings.ReplaceAll(v.output, "\n", "\n  ")
		}
	default:
	}
	text, err := os.ReadFile(filepath.Join(v.dir, consoleFile))
	if err != nil || len(text) == 0 {
		return "; its console is empty"
	}
	lines := strings.Split(strings.TrimSpace(strings.ReplaceAll(string(text), "\r", "")), "\n")
	// What led to a panic is before it; what follows is for the kernel's makers.
	if at := slices.IndexFunc(lines, func(l string) bool { return strings.Contains(l, "Kernel panic") }); at >= 0 {
		lines = lines[:at+1]
	}
	return "; the last lines of its console:\n  " + strings.Join(lines[max(0, len(lines)-12):], "\n  ")
}

// stop ends QEMU, which flushes its drives' files.
func (v *machine) stop() {
	_ = unix.Kill(v.pid, unix.SIGTERM) // it may have ended
	select {
	case <-v.ended:
	case <-time.After(10 * time.Second):
		_ = unix.Kill(v.pid, unix.SIGKILL)
		<-v.ended
	}
}
