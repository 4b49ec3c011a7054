// Package filelock locks files and directories against other processes, by flock. The kernel drops a lock when the
// last descriptor of its file is closed, however the process ends.
//
// Hazards. Anyone who can open a file can lock it, even for reading. So locked files must be where others cannot open
// them, and every wait has a limit and a context.
package filelock

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// How is the mode of a lock.
type How int

// The ways: by one process alone, or by any number that share it.
const (
	Alone  How = unix.LOCK_EX
	Shared How = unix.LOCK_SH
)

// ErrHeld is in the error of a lock that another process has.
var ErrHeld = errors.New("another process has it locked")

// Try locks an open file at once, until it is closed; ErrHeld when it cannot.
func Try(f *os.File, how How) error {
	for {
		err := unix.Flock(int(f.Fd()), int(how)|unix.LOCK_NB)
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case errors.Is(err, unix.EWOULDBLOCK):
			return fmt.Errorf("lock %s: %w", f.Name(), ErrHeld)
		case err != nil:
			return fmt.Errorf("lock %s: %w", f.Name(), err)
		}
		return nil
	}
}

// Wait locks an open file until it is closed. It waits at most for limit and until ctx ends; the error then names the
// process that has the lock.
func Wait(ctx context.Context, f *os.File, how How, limit time.Duration) error {
	end := time.Now().Add(limit)
	for {
		err := Try(f, how)
		if err == nil || !errors.Is(err, ErrHeld) {
			return err
		}
		if time.Now().After(end) {
			return fmt.Errorf("%w (%s), for more than %s: end that, or wait, and try again", err, holders(f), limit)
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%w while it waited: %w (%s)", context.Cause(ctx), err, holders(f))
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// Hold makes a file that only this user may open, where it is missing, and locks it exclusively, as Wait does.
// release removes the file. Nobody else may be able to write its directory.
func Hold(ctx context.Context, path string, limit time.Duration) (release func(), err error) {
	end := time.Now().Add(limit)
	for {
		f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|unix.O_NOFOLLOW, 0o600)
		if err != nil {
			return nil, err
		}
		if err = checkOwned(f); err == nil {
			err = Wait(ctx, f, Alone, time.Until(end))
		}
		if err != nil {
			f.Close()
			return nil, err
		}
		if isStill(f, path) {
			return func() { _ = os.Remove(path); f.Close() }, nil
		}
		f.Close() // who had it removed it
	}
}

// checkOwned returns an error if another user may have the file open.
func checkOwned(f *os.File) error {
	var st unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &st); err != nil {
		return err
	}
	if int(st.Uid) != os.Geteuid() || st.Mode&unix.S_IFMT != unix.S_IFREG || st.Mode&0o077 != 0 {
		return fmt.Errorf("%s, which processes lock, belongs to user %d with mode %04o, so others may hold it: remove it",
			f.Name(), st.Uid, st.Mode&0o7777)
	}
	return nil
}

func isStill(f *os.File, path string) bool {
	opened, err1 := f.Stat()
	named, err2 := os.Lstat(path)
	return err1 == nil && err2 == nil && os.SameFile(opened, named)
}

// holders returns the names of the processes that have a file locked, if the kernel lists them.
func holders(f *os.File) string {
	var st unix.Stat_t
	locks, err := os.ReadFile("/proc/locks")
	if err == nil {
		err = unix.Fstat(int(f.Fd()), &st)
	}
	if err != nil {
		return "lslocks may show which"
	}
	inode := fmt.Sprintf("%02x:%02x:%d", unix.Major(st.Dev), unix.Minor(st.Dev), st.Ino)
	var names []string
	for line := range strings.Lines(string(locks)) {
		// "1: FLOCK  ADVISORY  WRITE 4711 fd:00:131 0 EOF", and "->" behind the number of those who wait
		word := strings.Fields(line)
		if len(word) < 6 || word[1] != "FLOCK" || word[5] != inode {
			continue
		}
		name := "process " + word[4]
		if _, err := strconv.Atoi(word[4]); err == nil {
			if command, err := os.ReadFile("/proc/" + word[4] + "/comm"); err == nil {
				name += " " + strings.TrimSpace(string(command))
			}
		}
		names = append(names, name)
	}
	if len(names) == 0 {
		return "lslocks may show which"
	}
	return strings.Join(names, ", ")
}
