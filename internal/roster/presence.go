package roster

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

	"plimsoll/internal/journal"
)

func init() { journal.Register("presence", func() journal.Change { return new(presence) }) }

// presence is a file that tells other runs on this host of one that is under
// way. It counts for as long as a process holds a lock on it, which none does
// once it was killed.
type presence struct{ Path string }

// presenceSuffix ends the name of a file that tells of a run.
const presenceSuffix = ".json"

// fresh ends the name of one that is not locked yet.
const fresh = ".new"

// presenceDirs are patterns of the directories with such files: root's, and
// those of others who are logged in.
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
		return "", fmt.Errorf("nobody tells other runs of this one: %w", err)
	}
	return own + "/plimsoll/runs", nil
}

// FileOf returns the file in which this user's run tells others of itself. The
// error says why there is none.
func FileOf(run string) (string, error) {
	dir, err := presenceDir()
	if err != nil {
		return "", err
	}
	return filepath.Join(dir, run+presenceSuffix), nil
}

// What implements Change.
func (c *presence) What() string { return "tell other runs of this one in " + c.Path }

// presencePath is what a presence's path can be.
var presencePath = regexp.MustCompile(`^(/run/plimsoll|/run/user/[0-9]+/plimsoll)/runs/[A-Za-z0-9][A-Za-z0-9._-]*\.json$`)

// Prepare implements Change.
func (c *presence) Prepare() error { return nil }

// Check implements Change.
func (c *presence) Check(s journal.Scope) error {
	if !presencePath.MatchString(c.Path) || strings.Contains(c.Path, "..") ||
		filepath.Base(c.Path) != s.Run()+presenceSuffix {
		return s.Foreign("%s is no place where run %s tells of itself", c.Path, s.Run())
	}
	return nil
}

// Make writes the file. It counts until what is returned is closed.
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
	f, err := os.OpenFile(c.Path+fresh, os.O_RDWR|os.O_CREATE|os.O_TRUNC|unix.O_NOFOLLOW, 0o644)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			f.Close()
		}
	}()
	// Whoever reads looks for the lock, so it is there first.
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		return nil, fmt.Errorf("lock %s: %w", f.Name(), err)
	}
	if _, err := f.Write(content); err != nil {
		return nil, err
	}
	return f, os.Rename(c.Path+fresh, c.Path)
}

// Undo implements Change.
func (c *presence) Undo(context.Context, string) error {
	for _, path := range []string{c.Path, c.Path + fresh} {
		if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	dir := filepath.Dir(c.Path)
	return journal.LockRunDir(func() error {
		// Not empty means that another run is there, or an engine.
		_ = os.Remove(dir)
		_ = os.Remove(filepath.Dir(dir))
		return nil
	})
}
