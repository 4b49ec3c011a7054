// Package inputfile reads files that a user named.
//
// Hazards. A name may stand for something that never ends (/dev/zero), that
// waits for another program (a FIFO), or that acts when it is opened (a
// watchdog, a tape); or for a file that is larger than the memory. So nothing is
// opened that is not a regular file, links followed, and nothing is read beyond
// a limit that the caller knows to be ample.
package inputfile

import (
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"

	"plimsoll/internal/units"
)

// MaxText is ample for what people write by hand: experiments and job files.
const MaxText = 4 << 20

// NotRegular is the error of a name that stands for something else than a file.
type NotRegular struct {
	Name string
	Mode fs.FileMode
}

func (e *NotRegular) Error() string {
	if e.Mode.IsDir() {
		return fmt.Sprintf("%s: it is a directory; a regular file is needed", e.Name)
	}
	return fmt.Sprintf("%s: it is %s, which is not read: a regular file is needed", e.Name, Kind(e.Mode))
}

// Kind returns the kind of a file in words: "a directory".
func Kind(mode fs.FileMode) string {
	switch {
	case mode.IsRegular():
		return "a regular file"
	case mode.IsDir():
		return "a directory"
	case mode&fs.ModeNamedPipe != 0:
		return "a named pipe (FIFO)"
	case mode&fs.ModeSocket != 0:
		return "a socket"
	case mode&fs.ModeCharDevice != 0:
		return "a character device"
	case mode&fs.ModeDevice != 0:
		return "a block device"
	case mode&fs.ModeSymlink != 0:
		return "a link"
	}
	return "no regular file"
}

// Check returns a Missing or a NotRegular unless name, links followed, is a regular file.
func Check(name string) error {
	info, err := os.Stat(name)
	if err != nil {
		return explain(name, err)
	}
	if !info.Mode().IsRegular() {
		return &NotRegular{name, info.Mode()}
	}
	return nil
}

// Open opens a regular file for reading. It never blocks and opens nothing else, even if the file is replaced
// meanwhile.
func Open(name string) (*os.File, error) {
	if err := Check(name); err != nil {
		return nil, err // before anything is opened: to open a device may do something
	}
	return openRegular(name, 0)
}

// openRegular opens what Check found to be a regular file, with flags beside those of all.
func openRegular(name string, flags int) (*os.File, error) {
	f, err := os.OpenFile(name, os.O_RDONLY|unix.O_NONBLOCK|unix.O_CLOEXEC|unix.O_NOCTTY|flags, 0)
	if err != nil {
		return nil, explain(name, err)
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = &NotRegular{name, info.Mode()}
	}
	if err != nil {
		_ = f.Close()
		return nil, err
	}
	return f, nil
}

// Read reads a regular file of at most the given number of bytes.
func Read(name string, limit int64) ([]byte, error) {
	f, err := Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return readAll(f, limit)
}

// readAll reads an open file of at most the given number of bytes.
func readAll(f *os.File, limit int64) ([]byte, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	// Files of the kernel say that they are empty, and others may grow meanwhile.
	var text bytes.Buffer
	if size := info.Size(); size <= limit {
		text.Grow(int(size) + bytes.MinRead)
		_, err = text.ReadFrom(io.LimitReader(f, limit+1))
		if err != nil {
			return nil, err
		}
	}
	if info.Size() > limit || int64(text.Len()) > limit {
		return nil, fmt.Errorf("%s: it has more than %s, which is the most that is read of such a file; is it the right one?",
			f.Name(), units.FormatSize(limit))
	}
	return text.Bytes(), nil
}
