package container

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
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"plimsoll/internal/state/journal"
)

func init() {
	journal.Register("engine", func() journal.Change { return new(engineChange) })
	journal.Register("container", func() journal.Change { return new(containerChange) })
}

// engineChange is a private Docker engine with its exec-root, which is made and
// removed with it.
type engineChange struct {
	DataRoot string
	ExecRoot string // directly below journal.RunDir; holds sockets, the pid file and containerd's state
	Cgroup   string // of its containers and of nothing else, relative to a hierarchy's root
}

// What implements Change.
func (c *engineChange) What() string { return "start Docker engine with data-root " + c.DataRoot }

// Prepare implements Change.
func (c *engineChange) Prepare() error {
	if _, err := os.Lstat(c.ExecRoot); err == nil {
		return fmt.Errorf("%s: %w", c.ExecRoot, os.ErrExist)
	}
	return journal.RealPath(&c.DataRoot)
}

var (
	// execRoot is the exec-root of an engine.
	execRoot = regexp.MustCompile(`^/run/plimsoll/[A-Za-z0-9][A-Za-z0-9._-]*$`)
	// engineSocket matches the paths of engines' sockets.
	engineSocket = regexp.MustCompile(`^/run/plimsoll/[A-Za-z0-9][A-Za-z0-9._-]*/docker\.sock$`)
	// containerName matches valid names of containers, by Docker's rule.
	containerName = regexp.MustCompile(`^[a-zA-Z0-9][a-zA-Z0-9_.-]*$`)
)

// Check implements Change.
func (c *engineChange) Check(s journal.Scope) error {
	return errors.Join(
		s.Matches("exec-root of a run's engine", c.ExecRoot, execRoot),
		s.Owns(c.DataRoot),
		(&journal.Cgroup{Path: c.Cgroup}).Check(s),
	)
}

// makeDirs makes the engine's directories.
func (c *engineChange) makeDirs(ctx context.Context) error {
	return journal.LockRunDir(ctx, func() error {
		for dir := range sharedDirs {
			if err := makeShared(dir, c.reference(dir)); err != nil {
				return err
			}
		}
		return os.MkdirAll(c.ExecRoot, 0o700)
	})
}

// Undo stops the engine, which stops its containers unless its containerd is gone, for which it would wait. It then
// kills remaining processes (shims carry the mark, and containers are in the engine's control group), and removes
// remaining mounts and the exec-root.
func (c *engineChange) Undo(ctx context.Context, mark string) error {
	grace := 15 * time.Second
	if !listens(filepath.Join(c.ExecRoot, containerdSocket)) {
		grace = 0
	}
	if err := journal.EndAll(ctx, grace, func() []int {
		return slices.DeleteFunc(journal.Marked(mark), func(pid int) bool { return journal.CommandName(pid) != "dockerd" })
	}); err != nil {
		return err
	}
	if err := journal.EndAll(ctx, 0, func() []int {
		return slices.Concat(journal.Marked(mark), journal.InGroup(c.Cgroup))
	}); err != nil {
		return err
	}
	for _, dir := range []string{c.ExecRoot, c.DataRoot} {
		if err := journal.UnmountTree(ctx, dir); err != nil {
			return err
		}
	}
	if err := c.removeSockets(); err != nil {
		return err
	}
	if err := (&journal.Dir{Path: c.ExecRoot}).Undo(ctx, mark); err != nil {
		return err
	}
	return journal.LockRunDir(ctx, func() error {
		_ = os.Remove(journal.RunDir) // not empty: another engine is at work
		for dir, sub := range sharedDirs {
			if err := unshare(dir, sub, c.reference(dir)); err != nil {
				return err
			}
		}
		return nil
	})
}

// keepSockets remembers the sockets of the shims that are at work: containerd
// forgets a shim that dies, and leaves its socket.
func (c *engineChange) keepSockets() error {
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
func (c *engineChange) removeSockets() error {
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

// sockets returns the sockets of the engine's shims. They lie in a shared directory; the state of each container
// names its own.
func (c *engineChange) sockets() ([]string, error) {
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
func (c *engineChange) reference(dir string) string {
	return filepath.Join(dir, "plimsoll-"+filepath.Base(c.ExecRoot))
}

// makeShared makes a shared directory. It marks the directory before renaming it to its place, so that a crash leaves
// none that nobody would remove. Then it adds the reference.
func makeShared(dir, reference string) error {
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

// containerChange is a container of a private engine.
type containerChange struct {
	Socket string // of the engine
	Name   string
	Cgroup string `json:",omitempty"` // a control group of the container's own; "" for that of the engine
}

// What implements Change.
func (c *containerChange) What() string { return "create container " + c.Name }

// Prepare implements Change.
func (c *containerChange) Prepare() error { return nil }

// Check implements Change.
func (c *containerChange) Check(s journal.Scope) error {
	if c.Cgroup != "" {
		if err := (&journal.Cgroup{Path: c.Cgroup}).Check(s); err != nil {
			return err
		}
	}
	return errors.Join(s.Matches("socket of a run's engine", c.Socket, engineSocket),
		s.Matches("container's name", c.Name, containerName))
}

// Undo removes the container through the engine, which may be dead or ill: its failure is not an error. An engine
// without containerd is not asked, since it would not answer: undoing the engine, which follows, ends the container's
// processes and removes its files. Processes in a control group outside the engine's are killed here.
func (c *containerChange) Undo(ctx context.Context, _ string) error {
	if listens(filepath.Join(filepath.Dir(c.Socket), containerdSocket)) {
		if err := c.remove(ctx); err != nil {
			return err
		}
	}
	if c.Cgroup == "" {
		return nil
	}
	return journal.EndAll(context.WithoutCancel(ctx), 0, func() []int { return journal.InGroup(c.Cgroup) })
}

// listens reports whether a program listens on a unix socket. One that ended leaves
// no more than the file.
func listens(socket string) bool {
	conn, err := net.DialTimeout("unix", socket, time.Second)
	if err == nil {
		_ = conn.Close()
	}
	return !errors.Is(err, unix.ECONNREFUSED) && !errors.Is(err, unix.ENOENT)
}

// remove asks the engine to remove the container. It fails only if the request cannot be made.
func (c *containerChange) remove(ctx context.Context) error {
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
