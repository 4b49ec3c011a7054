// Package node is what runs on the nodes of a cluster: it measures a node with the node's own
// tools, keeps the results until they are taken, and cleans up.
//
// It stands in a privileged pod that has the node's file systems as a volume, and sees the
// node's processes. What it runs has that volume for its root: a run in a pod is then as one
// that was started on the node by hand, and plimsoll run and plimsoll clean find what each
// other left.
package node

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"plimsoll/internal/lab/tarball"
	"plimsoll/internal/printable"
	"plimsoll/internal/problem"
	"plimsoll/internal/result/store"
	"plimsoll/internal/state/filelock"
	"plimsoll/internal/state/statedir"
	"plimsoll/internal/state/sudouser"
)

// Place is where a run of a fleet is on a node.
type Place struct {
	Host    string // where the node's file systems are, here; "" for our own
	Base    string // a directory there, below which all is
	Program string // the file of plimsoll, here
	Node    string // the node's name: nodes of tests share a machine
	Run     string // id of the run of the fleet
}

// Base is the directory of nodes below which runs of fleets are.
const Base = "/var/lib/plimsoll-fleet"

// RunName is the directory of results below a run's own, and in what Send sends.
const RunName = "run"

// namePattern is of names of nodes and ids of runs, as Kubernetes has them.
var namePattern = regexp.MustCompile(`^[a-z0-9]([-.a-z0-9]{0,250}[a-z0-9])?$`)

// Check reports what is wrong with the names.
func (p Place) Check() (err error) {
	for what, name := range map[string]string{"node": p.Node, "run": p.Run} {
		if !namePattern.MatchString(name) {
			err = errors.Join(err, fmt.Errorf("%q is no name of a %s", name, what))
		}
	}
	return err
}

func (p Place) dir() string { return filepath.Join(p.Base, p.Node, p.Run) }

// Ended says how a run on a node ended.
type Ended struct {
	Code    int    `json:"code"`    // exit status of plimsoll run
	Results bool   `json:"results"` // there is a run directory
	Said    string `json:"said"`    // the end of what it said
}

// mostMessage is how much of a container's last words the kubelet keeps.
const mostMessage = 4 << 10

// Message returns what the kubelet is told: what was said is cut where that is too long.
func (e Ended) Message() ([]byte, error) {
	for {
		text, err := json.Marshal(e)
		if err != nil || len(text) <= mostMessage {
			return text, err
		}
		e.Said = strings.ToValidUTF8(e.Said[len(e.Said)-len(e.Said)/2:], "")
	}
}

const (
	endedName = "ended.json"
	lockName  = "lock" // of the pod that measures
)

// longestUndo is how long a run may take to undo what it did.
const longestUndo = 10 * time.Minute

// mostSaid is how much of what a run said is kept.
const mostSaid = 2 << 10

// Measure runs an experiment, the name of a built-in one or a file here, with further
// arguments of plimsoll run, or goes on with the run that is there. What it prints goes to
// out. A run that ended already is not run again.
func (p Place) Measure(ctx context.Context, experiment string, args []string, out io.Writer) (ended Ended, err error) {
	var text []byte
	if filepath.IsAbs(experiment) {
		if text, err = os.ReadFile(experiment); err != nil {
			return ended, err
		}
	}
	err = p.callInNode(func(from *os.File) error {
		program, err := p.install(from)
		if err != nil {
			return err
		}
		dir, err := statedir.Make(p.Base, p.Node, p.Run)
		if err != nil {
			return err
		}
		// The pod before this may still undo what it did.
		release, err := filelock.Hold(ctx, filepath.Join(dir, lockName), longestUndo)
		if err != nil {
			return err
		}
		defer release()
		file := filepath.Join(dir, endedName)
		if read, err := os.ReadFile(file); err == nil {
			return json.Unmarshal(read, &ended)
		}
		command, results := []string{"run"}, filepath.Join(dir, RunName)
		if store.IsRun(results) {
			if err := unwritten(ctx, results, out); err != nil {
				return err
			}
			command = append(command, "--resume", results)
		} else {
			if text != nil {
				experiment = filepath.Join(dir, "experiment", filepath.Base(experiment)) // whatever it is called
				if err := os.MkdirAll(filepath.Dir(experiment), 0o700); err != nil {
					return err
				}
				if err := write(experiment, text); err != nil {
					return err
				}
			}
			command = append(append(command, experiment, "--output", results), args...)
		}
		output := &printable.Tail{Most: mostSaid}
		ended.Code, err = run(ctx, program, command, io.MultiWriter(out, output))
		if err != nil || ctx.Err() != nil {
			return errors.Join(err, ctx.Err())
		}
		ended.Said = strings.TrimSpace(strings.ToValidUTF8(output.String(), ""))
		ended.Results = store.IsRun(results)
		if ended.Results && store.Summarize(results).Written { // by a process that is not of this pod
			return fmt.Errorf("plimsoll run ended with status %d while another process writes its results: %s", ended.Code,
				ended.Said)
		}
		read, err := json.Marshal(ended)
		if err != nil {
			return err
		}
		return write(file, read)
	})
	return ended, err
}

// Checkup is whether a node can run an experiment.
type Checkup struct {
	Code     int          `json:"code"`     // exit status of plimsoll run --dry-run
	Said     string       `json:"said"`     // the end of its output: what is missing, or how long it takes
	Warnings problem.List `json:"warnings"` // of plimsoll doctor
}

// CheckUp returns whether an experiment, the name of a built-in one or a file here, can run on the node with further
// arguments of plimsoll run. It changes nothing there: the program itself is not put onto the node.
func (p Place) CheckUp(ctx context.Context, experiment string, args []string) (c Checkup, err error) {
	var file *os.File
	if filepath.IsAbs(experiment) {
		if file, err = os.Open(experiment); err != nil {
			return c, err
		}
		defer file.Close()
	}
	err = p.callInNode(func(from *os.File) error {
		// Both are opened in the image, whose paths the node does not have.
		program := fmt.Sprintf("/proc/self/fd/%d", from.Fd())
		if file != nil {
			experiment = fmt.Sprintf("/proc/%d/fd/%d", os.Getpid(), file.Fd())
		}
		said := &printable.Tail{Most: mostSaid}
		if c.Code, err = run(ctx, program, append([]string{"run", experiment, "--dry-run"}, args...), said); err != nil {
			return err
		}
		c.Said = strings.TrimSpace(strings.ToValidUTF8(said.String(), ""))
		var text bytes.Buffer
		if _, err := run(ctx, program, []string{"doctor", "--json"}, &text); err != nil {
			return err
		}
		var report struct {
			Quick struct {
				Warnings problem.List `json:"warnings"`
			} `json:"quick"`
		}
		if err := json.Unmarshal(text.Bytes(), &report); err != nil {
			return fmt.Errorf("plimsoll doctor: %w: %s", err, printable.Line(text.String()))
		}
		c.Warnings = report.Quick.Warnings
		return nil
	})
	return c, err
}

// unwritten waits until no process writes a run: one whose pod was killed undoes what it did.
func unwritten(ctx context.Context, results string, out io.Writer) error {
	for end := time.Now().Add(longestUndo); store.Summarize(results).Written; {
		if time.Now().After(end) {
			return fmt.Errorf("a process that no pod has still writes %s, for more than %s: end it", results, longestUndo)
		}
		fmt.Fprintln(out, "Waiting for the process that writes this run.")
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(time.Second):
		}
	}
	return nil
}

func write(file string, text []byte) error {
	return sudouser.Replace(file, func(w io.Writer) error {
		_, err := w.Write(text)
		return err
	})
}

// Wait waits until the results were taken, and their directory is gone, or the context is done.
func (p Place) Wait(ctx context.Context) error {
	return p.callInNode(func(*os.File) error {
		for {
			if _, err := os.Stat(p.dir()); errors.Is(err, fs.ErrNotExist) {
				return nil
			}
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-time.After(time.Second):
			}
		}
	})
}

// Send writes the results as an archive of the directory RunName.
func (p Place) Send(out io.Writer) error {
	return p.callInNode(func(*os.File) error { return tarball.Pack(out, filepath.Join(p.dir(), RunName)) })
}

// Forget removes the run from the node, once its results were taken.
func (p Place) Forget() error {
	return p.callInNode(func(*os.File) error {
		err := os.RemoveAll(p.dir())
		_ = os.Remove(filepath.Dir(p.dir())) // unless there are others
		return err
	})
}

// Clean undoes what runs left on the node that are not under way, and removes what fleets have there.
func (p Place) Clean(ctx context.Context, out io.Writer) error {
	return p.callInNode(func(from *os.File) error {
		program, err := p.install(from)
		if err != nil {
			return err
		}
		code, err := run(ctx, program, []string{"clean"}, out)
		if err == nil && code != 0 {
			err = fmt.Errorf("plimsoll clean ended with status %d", code)
		}
		if err != nil {
			return err // what is left needs the program, and the runs
		}
		if err := os.RemoveAll(filepath.Join(p.Base, p.Node)); err != nil {
			return err
		}
		left, err := os.ReadDir(p.Base)
		if err == nil && len(left) == 1 && left[0].Name() == programs {
			err = os.RemoveAll(p.Base)
		}
		return err
	})
}

// programs is the directory below Base of plimsoll's program, by what it is.
const programs = "bin"

// callInNode calls f in the node's file systems, with plimsoll's program, which the node does not have.
func (p Place) callInNode(f func(program *os.File) error) error {
	if err := p.Check(); err != nil {
		return err
	}
	from, err := os.Open(p.Program)
	if err != nil {
		return err
	}
	defer from.Close()
	if p.Host == "" {
		return f(from)
	}
	ended := make(chan error)
	go func() {
		// The thread is not unlocked, and ends with this: nothing else is to run in the node's file systems.
		runtime.LockOSThread()
		err := enter(p.Host)
		if err == nil {
			err = f(from)
		}
		ended <- err
	}()
	return <-ended
}

// enter has this thread, and what it starts, see the node's file systems and cgroups.
func enter(host string) error {
	// The root is moved, and not changed by chroot: runc, which moves it too, starts no containers in one.
	// What the node mounts and unmounts later is so here, where the volume is propagated, and what is mounted here ends
	// with this.
	for _, step := range []func() error{
		func() error { return unix.Unshare(unix.CLONE_FS | unix.CLONE_NEWNS) },
		func() error { return unix.Mount("", "/", "", unix.MS_REC|unix.MS_SLAVE, "") },
		func() error { return unix.Chdir(host) },
		func() error { return unix.PivotRoot(".", ".") },
		func() error { return unix.Unmount(".", unix.MNT_DETACH) },
		func() error { return unix.Chdir("/") },
	} {
		if err := step(); err != nil {
			return fmt.Errorf("enter the node's file systems at %s: %w: the pod must be privileged, and have the node's / "+
				"there as a volume", host, err)
		}
	}
	// Of version 1, runtimes give pods none of their own, nor could everyone enter another.
	if _, err := os.Stat("/sys/fs/cgroup/cgroup.controllers"); err != nil {
		return nil //nolint:nilerr // it is not of version 2
	}
	namespace, err := os.Open("/proc/1/ns/cgroup")
	if err != nil {
		return fmt.Errorf("%w: the pod must have hostPID, and be privileged", err)
	}
	defer namespace.Close()
	if err := unix.Setns(int(namespace.Fd()), unix.CLONE_NEWCGROUP); err != nil {
		return fmt.Errorf("enter the node's cgroups: %w: the pod must be privileged", err)
	}
	return nil
}

// Exec has this program start anew with the node's file systems and cgroups, and with
// other arguments. It returns only where that fails.
func Exec(host string, args ...string) error {
	runtime.LockOSThread()
	if err := enter(host); err != nil {
		return err
	}
	return unix.Exec("/proc/self/exe", append(os.Args[:1:1], args...), os.Environ())
}

// install puts the program onto the node, unless it is there. The directory has the hash of
// the program, so that another version is another file while an older one runs.
func (p Place) install(from *os.File) (to string, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("put plimsoll onto the node: %w", err)
		}
	}()
	hash := sha256.New()
	if _, err := io.Copy(hash, from); err != nil {
		return "", err
	}
	dir, err := statedir.Make(p.Base, programs, hex.EncodeToString(hash.Sum(nil))[:16])
	if err != nil {
		return "", err
	}
	to = filepath.Join(dir, "plimsoll")
	if _, err := os.Stat(to); err == nil {
		return to, nil
	}
	if _, err := from.Seek(0, io.SeekStart); err != nil {
		return "", err
	}
	file, err := os.CreateTemp(dir, "new")
	if err != nil {
		return "", err
	}
	_, err = io.Copy(file, from)
	err = errors.Join(err, file.Chmod(0o700), file.Close())
	if err == nil {
		err = os.Rename(file.Name(), to)
	}
	return to, err
}

// paths are where a node has its tools.
const paths = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// run runs the program until it ends, and returns its exit status. When the context is done
// it is told to end, and has the time that it takes to undo what it did; the kubelet kills
// it when that is too long.
func run(ctx context.Context, program string, args []string, out io.Writer) (code int, err error) {
	runtime.LockOSThread() // the program is told to end when the thread that started it does
	defer runtime.UnlockOSThread()
	c := exec.CommandContext(ctx, program, args...)
	c.Env, c.Dir, c.Stdout, c.Stderr = []string{paths, "HOME=/root", "LANG=C.UTF-8"}, "/", out, out
	c.Cancel = func() error { return c.Process.Signal(syscall.SIGTERM) }
	c.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM}
	err = c.Run()
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.Exited() {
		return exit.ExitCode(), nil
	}
	return 0, err
}
