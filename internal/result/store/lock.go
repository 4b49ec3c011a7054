package store

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// lock says that this process writes a run. The kernel drops it when the
// process ends, in whatever way.
type lock struct {
	file *os.File
}

// acquire takes the lock of a run directory, or says who has it.
func acquire(dir string) (*lock, error) {
	path := filepath.Join(dir, lockFile)
	for {
		f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
		if err != nil {
			return nil, explain("taking the lock of the run", dir, err)
		}
		if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
			holder := make([]byte, 100)
			n, _ := f.Read(holder)
			_ = f.Close()
			if !errors.Is(err, unix.EWOULDBLOCK) {
				return nil, explain("taking the lock of the run", dir, err)
			}
			return nil, fmt.Errorf("the run in %s is under way: %s is writing it, and two would mix their results; wait until it ends or stop it first",
				dir, strings.TrimSpace(string(holder[:n])))
		}
		if !isStill(f, path) { // its holder removed it in between
			_ = f.Close()
			continue
		}
		who := fmt.Sprintf("process %d, since %s", os.Getpid(), time.Now().Format("2006-01-02 15:04:05"))
		if err := errors.Join(f.Truncate(0), write(f, who+"\n")); err != nil {
			l := &lock{file: f}
			l.release()
			return nil, explain("taking the lock of the run", dir, err)
		}
		return &lock{file: f}, nil
	}
}

func write(f *os.File, s string) error {
	_, err := f.WriteAt([]byte(s), 0)
	return err
}

// isStill tells whether path names the open file f.
func isStill(f *os.File, path string) bool {
	open, err1 := f.Stat()
	named, err2 := os.Stat(path)
	return err1 == nil && err2 == nil && os.SameFile(open, named)
}

// release gives the run free and removes the lock's file.
func (l *lock) release() {
	if l.file == nil {
		return
	}
	_ = os.Remove(l.file.Name())
	_ = l.file.Close()
	l.file = nil
}
