package store

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"plimsoll/internal/state/filelock"
	"plimsoll/internal/state/sudouser"
)

// lock marks a run as being written by this process. The kernel drops it when the process ends, in whatever way.
type lock struct {
	file *os.File
}

// acquire takes the lock of a run directory. The error names the process that holds it.
func acquire(dir string) (*lock, error) {
	path := filepath.Join(dir, lockFile)
	for tries := 0; ; {
		f, err := openLock(path)
		if errors.Is(err, fs.ErrNotExist) && isDir(dir) { // its holder removed it in between
			continue
		}
		if err != nil {
			return nil, explain("taking the lock of the run", dir, err)
		}
		if err := filelock.Try(f, filelock.Alone); err != nil {
			holder := make([]byte, 100)
			n, _ := f.Read(holder)
			_ = f.Close()
			tries++
			switch {
			case !errors.Is(err, filelock.ErrHeld):
				return nil, explain("taking the lock of the run", dir, err)
			case tries < 5: // whoever lists runs has it for a moment
				time.Sleep(20 * time.Millisecond)
				continue
			}
			return nil, fmt.Errorf("the run in %s is under way: %s is writing it, and two would mix their results; "+
				"wait until it ends or stop it first",
				dir, strings.TrimSpace(string(holder[:n])))
		}
		if !isOpenAt(f, path) { // its holder removed it in between
			_ = f.Close()
			continue
		}
		holderText := fmt.Sprintf("process %d, since %s", os.Getpid(), time.Now().Format("2006-01-02 15:04:05"))
		if err := errors.Join(f.Truncate(0), write(f, holderText+"\n")); err != nil {
			l := &lock{file: f}
			l.release()
			return nil, explain("taking the lock of the run", dir, err)
		}
		return &lock{file: f}, nil
	}
}

// openLock makes the file, or opens the one that is there. What stands behind
// a link, or under another name too, is not overwritten.
func openLock(path string) (*os.File, error) {
	f, err := sudouser.New(path, 0o644)
	if !errors.Is(err, fs.ErrExist) {
		return f, err
	}
	f, err = os.OpenFile(path, os.O_RDWR|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if err != nil {
		if errors.Is(err, unix.ELOOP) {
			err = fmt.Errorf("%s is a link, and plimsoll makes none: remove it", path)
		}
		return nil, err
	}
	var st unix.Stat_t
	err = unix.Fstat(int(f.Fd()), &st)
	if err == nil && (st.Mode&unix.S_IFMT != unix.S_IFREG || st.Nlink > 1) {
		err = fmt.Errorf("%s is no file that plimsoll made: remove it", path)
	}
	if err != nil {
		_ = f.Close()
		return nil, err
	}
	return f, nil
}

// isWritten reports whether a process is writing the run in dir.
func isWritten(dir string) bool {
	f, err := os.OpenFile(filepath.Join(dir, lockFile), os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if err != nil {
		return false
	}
	defer f.Close() // and gives the lock back
	return errors.Is(filelock.Try(f, filelock.Shared), filelock.ErrHeld)
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

func write(f *os.File, s string) error {
	_, err := f.WriteAt([]byte(s), 0)
	return err
}

// isOpenAt reports whether path still names the open file f.
func isOpenAt(f *os.File, path string) bool {
	open, err1 := f.Stat()
	named, err2 := os.Stat(path)
	return err1 == nil && err2 == nil && os.SameFile(open, named)
}

// release unlocks the run and removes the lock's file.
func (l *lock) release() {
	if l.file == nil {
		return
	}
	_ = os.Remove(l.file.Name())
	_ = l.file.Close()
	l.file = nil
}
