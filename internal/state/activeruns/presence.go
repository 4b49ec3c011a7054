package activeruns

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"plimsoll/internal/state/filelock"
	"plimsoll/internal/state/journal"
)

func init() { journal.Register("presence", func() journal.Change { return new(presence) }) }

// presence is a file that announces an active run to other runs on this host. It is valid while a process holds a
// lock on it, which ends with the process.
type presence struct{ Path string }

// presenceSuffix ends the names of presence files.
const presenceSuffix = ".json"

// fresh ends the name of one that is not locked yet.
const fresh = ".new"

// presenceDirs are patterns of the directories with presence files: root's, and those of other users who are logged
// in.
var presenceDirs = []string{journal.RunDir + "/runs", "/run/user/*/plimsoll/runs"}

// presenceDir returns the directory for the runs of this user. The error says
// why there is none.
func presenceDir() (string, error) {
	uid := os.Getuid()
	if uid == 0 {
		return presenceDirs[0], nil
	}
	own := "/run/user/" + strconv.Itoa(uid)
	if _, err := os.Stat(own); err != nil {
		return "", fmt.Errorf("other runs cannot be shown this one: %w", err)
	}
	return own + "/plimsoll/runs", nil
}

// FileOf returns the path of the presence file of this user's run, or the reason why there is none.
func FileOf(run string) (string, error) {
	dir, err := presenceDir()
	if err != nil {
		return "", err
	}
	return filepath.Join(dir, run+presenceSuffix), nil
}

// What implements Change.
func (c *presence) What() string { return "show other runs of this one in " + c.Path }

// presencePath matches valid paths of presences.
var presencePath = regexp.MustCompile(
	`^(/run/plimsoll|/run/user/[0-9]+/plimsoll)/runs/[A-Za-z0-9][A-Za-z0-9._-]*\.json$`,
)

// Prepare implements Change.
func (c *presence) Prepare() error { return nil }

// Check implements Change.
func (c *presence) Check(s journal.Scope) error {
	if !presencePath.MatchString(c.Path) || strings.Contains(c.Path, "..") ||
		filepath.Base(c.Path) != s.Run()+presenceSuffix {
		return s.Foreign("%s is no place where run %s reports itself", c.Path, s.Run())
	}
	return nil
}

// Make writes the file. It is valid until the returned lock is closed.
func (c *presence) Make(content []byte) (lock *os.File, err error) {
	// Another run may remove the directory just after it was made.
	for range 100 {
		lock, err = c.make(content)
		if !errors.Is(err, os.ErrNotExist) {
			break
		}
		time.Sleep(time.Millisecond)
	}
	return lock, err
}

func (c *presence) make(content []byte) (_ *os.File, err error) {
	// What is in it is no secret: whoever measures should know.
	if err := os.MkdirAll(filepath.Dir(c.Path), 0o755); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(c.Path+fresh, os.O_RDWR|os.O_CREATE|os.O_TRUNC|unix.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			f.Close()
		}
	}()
	// Whoever reads looks for the lock, so it is there first; and others cannot open it, and lock it, before.
	if err := filelock.Try(f, filelock.Alone); err != nil {
		return nil, err
	}
	if _, err := f.Write(content); err != nil {
		return nil, err
	}
	if err := f.Chmod(0o644); err != nil {
		return nil, err
	}
	return f, os.Rename(c.Path+fresh, c.Path)
}

// Undo implements Change.
func (c *presence) Undo(ctx context.Context, _ string) error {
	for _, path := range []string{c.Path, c.Path + fresh} {
		if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	dir := filepath.Dir(c.Path)
	return journal.LockRunDir(ctx, func() error {
		// Not empty means that another run is there, or an engine.
		_ = os.Remove(dir)
		_ = os.Remove(filepath.Dir(dir))
		return nil
	})
}
