package journal

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// RunDir holds the exec-roots of private engines; it is there while one is.
const RunDir = "/run/plimsoll"

// Engine is a private Docker engine with its exec-root, which is made and
// removed with it.
type Engine struct {
	DataRoot string
	ExecRoot string // directly below RunDir; holds sockets, the pid file and containerd's state
	Cgroup   string // of its containers and of nothing else, relative to a hierarchy's root
}

// What implements Change.
func (c *Engine) What() string { return "start Docker engine with data-root " + c.DataRoot }

func (c *Engine) precheck() error {
	if _, err := os.Lstat(c.ExecRoot); err == nil {
		return fmt.Errorf("%s: %w", c.ExecRoot, os.ErrExist)
	}
	return resolve(&c.DataRoot)
}

var (
	// execRoot is the exec-root of an engine.
	execRoot = regexp.MustCompile(`^/run/plimsoll/[A-Za-z0-9][A-Za-z0-9._-]*$`)
	// engineSocket is where an engine listens.
	engineSocket = regexp.MustCompile(`^/run/plimsoll/[A-Za-z0-9][A-Za-z0-9._-]*/docker\.sock$`)
	// containerName is how containers are called, by Docker's rule.
	containerName = regexp.MustCompile(`^[a-zA-Z0-9][a-zA-Z0-9_.-]*$`)
)

func (c *Engine) check(s scope) error {
	return errors.Join(
		fitting("exec-root of a run's engine", c.ExecRoot, execRoot),
		s.owns(c.DataRoot),
		(&Cgroup{Path: c.Cgroup}).check(s),
	)
}

// MakeDirs makes the engine's directories.
func (c *Engine) MakeDirs() error {
	return locked(func() error {
		for dir := range sharedDirs {
			if err := share(dir, c.reference(dir)); err != nil {
				return err
			}
		}
		return os.MkdirAll(c.ExecRoot, 0o700)
	})
}

// undo stops the engine, which stops its containers; then ends whatever
// outlived it (shims carry the mark, and what runs in a container is in the
// engine's control group); then takes away what it left mounted, and its
// exec-root.
func (c *Engine) undo(ctx context.Context, mark string) error {
	if err := killAll(ctx, 15*time.Second, func() []int {
		return slices.DeleteFunc(marked(mark), func(pid int) bool { return commandName(pid) != "dockerd" })
	}); err != nil {
		return err
	}
	if err := killAll(ctx, 0, func() []int {
		return slices.Concat(marked(mark), grouped(c.Cgroup))
	}); err != nil {
		return err
	}
	for _, dir := range []string{c.ExecRoot, c.DataRoot} {
		if err := unmountTree(ctx, dir); err != nil {
			return err
		}
	}
	if err := c.removeSockets(); err != nil {
		return err
	}
	if err := (&Dir{Path: c.ExecRoot}).undo(ctx, mark); err != nil {
		return err
	}
	return locked(func() error {
		_ = os.Remove(RunDir) // not empty: another engine is at work
		for dir, sub := range sharedDirs {
			if err := unshare(dir, sub, c.reference(dir)); err != nil {
				return err
			}
		}
		return nil
	})
}

// KeepSockets remembers the sockets of the shims that are at work: containerd
// forgets a shim that dies, and leaves its socket.
func (c *Engine) KeepSockets() error {
	sockets, err := c.sockets()
	if err != nil {
		return err
	}
	for _, s := range sockets {
		dir := filepath.Join(c.ExecRoot, "sockets", filepath.Base(s))
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, "address"), []byte("unix://"+s), 0o600); err != nil {
			return err
		}
	}
	return nil
}

// removeSockets removes the sockets of shims that were killed.
func (c *Engine) removeSockets() error {
	sockets, err := c.sockets()
	if err != nil {
		return err
	}
	for _, s := range sockets {
		if err := os.Remove(s); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	return nil
}

// sockets lists the sockets of shims. They lie in a shared directory; each
// container's state tells which is its own.
func (c *Engine) sockets() ([]string, error) {
	var sockets []string
	err := filepath.WalkDir(c.ExecRoot, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.Name() != "address" && d.Name() != "bootstrap.json" {
			return err
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if _, address, ok := bytes.Cut(b, []byte("unix://")); ok {
			socket, _, _ := strings.Cut(string(address), `"`)
			if filepath.Dir(socket) == "/run/containerd/s" {
				sockets = append(sockets, socket)
			}
		}
		return nil
	})
	if errors.Is(err, os.ErrNotExist) {
		err = nil // the exec-root is gone, or was never made, or a shim ends
	}
	return sockets, err
}

// sharedDirs are made by every engine, or by its shims, whatever it is told
// of places of its own. Each then holds one directory, which stays empty.
var sharedDirs = map[string]string{"/run/containerd": "s", "/run/docker": "plugins"}

// SharedDirs returns the directories that every engine makes where there are
// none, whatever it is told of places of its own.
func SharedDirs() []string { return slices.Sorted(maps.Keys(sharedDirs)) }

// ours is the attribute of a shared directory that a run made. One without it
// was there before, or came with an engine of the user's, and is left alone.
const ours = "trusted.plimsoll"

// reference is a file that the engine keeps in a shared directory of ours, so
// that it stays until the last engine is gone.
func (c *Engine) reference(dir string) string {
	return filepath.Join(dir, "plimsoll-"+filepath.Base(c.ExecRoot))
}

// share makes a shared directory, and marks it as ours before it is there: a
// crash leaves no directory that nobody would remove.
func share(dir, reference string) error {
	if _, err := os.Lstat(dir); errors.Is(err, os.ErrNotExist) {
		fresh := filepath.Join(filepath.Dir(dir), filepath.Base(reference))
		if err := os.Mkdir(fresh, 0o711); err != nil && !errors.Is(err, os.ErrExist) {
			return err
		}
		// Where there are no extended attributes, an empty directory is left.
		_ = unix.Lsetxattr(fresh, ours, []byte("1"), 0)
		if err := unix.Renameat2(unix.AT_FDCWD, fresh, unix.AT_FDCWD, dir, unix.RENAME_NOREPLACE); err != nil {
			_ = os.Remove(fresh) // another program made the directory meanwhile
		}
	}
	if _, err := unix.Lgetxattr(dir, ours, nil); err != nil {
		return nil //nolint:nilerr // not ours
	}
	return os.WriteFile(reference, nil, 0o600)
}

func unshare(dir, sub, reference string) error {
	fresh := filepath.Join(filepath.Dir(dir), filepath.Base(reference))
	for _, path := range []string{reference, fresh} {
		if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	if _, err := unix.Lgetxattr(dir, ours, nil); err != nil {
		return nil //nolint:nilerr // not ours, or gone
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) > 1 || len(entries) == 1 && entries[0].Name() != sub {
		return err
	}
	_ = os.Remove(filepath.Join(dir, sub)) // not empty, and then dir is not either
	_ = os.Remove(dir)
	return nil
}

// locked keeps the engines of all runs from making and removing what they
// share at the same time.
func locked(do func() error) error {
	run, err := os.Open(filepath.Dir(RunDir))
	if err != nil {
		return err
	}
	defer run.Close()
	for start := time.Now(); ; time.Sleep(10 * time.Millisecond) {
		err := unix.Flock(int(run.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if err == nil {
			return do()
		}
		if !errors.Is(err, unix.EWOULDBLOCK) || time.Since(start) > time.Minute {
			return fmt.Errorf("lock %s, which engines of other runs share: %w (lslocks tells who holds it)", run.Name(), err)
		}
	}
}

// Container is a container of a private engine.
type Container struct {
	Socket string // of the engine
	Name   string
}

// What implements Change.
func (c *Container) What() string { return "create container " + c.Name }

func (c *Container) check(scope) error {
	return errors.Join(fitting("socket of a run's engine", c.Socket, engineSocket), fitting("container's name", c.Name, containerName))
}

// undo asks the engine, which may be dead or ill, and takes no for an answer:
// undoing the engine, which follows, ends the container's processes, and its
// files go away with the data-root.
func (c *Container) undo(ctx context.Context, _ string) error {
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	client := http.Client{Transport: &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			var d net.Dialer
			return d.DialContext(ctx, "unix", c.Socket)
		},
		DisableKeepAlives: true,
	}}
	req, err := http.NewRequestWithContext(ctx, http.MethodDelete, "http://docker/containers/"+c.Name+"?force=1&v=1", nil)
	if err != nil {
		return err
	}
	if resp, err := client.Do(req); err == nil {
		_ = resp.Body.Close()
	}
	return nil
}

// grouped lists the processes in a run's control group and those below it.
// Any other group is nobody's to kill.
func grouped(cgroup string) []int {
	if !strings.HasPrefix(cgroup, "plimsoll-") {
		return nil
	}
	var pids []int
	for _, dir := range cgroupDirs(cgroup) {
		b, _ := os.ReadFile(filepath.Join(dir, "cgroup.procs")) // gone meanwhile: nobody is in it
		for line := range strings.Lines(string(b)) {
			pid, err := strconv.Atoi(strings.TrimSpace(line))
			if err == nil && pid > 0 && pid != os.Getpid() && !zombie(filepath.Join("/proc", strconv.Itoa(pid))) {
				pids = append(pids, pid)
			}
		}
	}
	slices.Sort(pids)
	return slices.Compact(pids)
}
