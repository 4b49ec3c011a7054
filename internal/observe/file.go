package observe

import (
	"bytes"
	"errors"
	"strings"

	"golang.org/x/sys/unix"
)

// file is one of the kernel's that is read again and again. It is not an os.File, which would have the runtime wait
// for events of files that can be polled, as those of control groups are.
type file struct {
	paths  []string // of which the first that is there is read
	fd     int      // -1 while it is not open
	buffer *[]byte
}

// firstRead is the first size of the buffer: one page holds most files.
const firstRead = 8 << 10

// open returns a file below a directory, by the first of the names that is there; one that has nothing in it where the
// directory is "".
func (o origin) open(dir string, names ...string) *file {
	f := &file{fd: -1, buffer: o.buffer}
	if dir == "" {
		return f
	}
	for _, name := range names {
		f.paths = append(f.paths, dir+"/"+name)
	}
	return f
}

// read returns what the file holds now, until the next file is read; nil when it cannot be read. A file that is not
// there yet, or not any more, is looked for again each time.
func (f *file) read() []byte {
	if f.fd < 0 && !f.reopen() {
		return nil
	}
	if len(*f.buffer) == 0 {
		*f.buffer = make([]byte, firstRead)
	}
	for {
		n, err := unix.Pread(f.fd, *f.buffer, 0)
		switch {
		case errors.Is(err, unix.EINTR):
		case err != nil: // its group was removed
			f.close()
			return nil
		case n < len(*f.buffer):
			return (*f.buffer)[:n]
		default:
			*f.buffer = make([]byte, 2*len(*f.buffer))
		}
	}
}

func (f *file) reopen() bool {
	for _, path := range f.paths {
		fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
		if err == nil {
			f.fd = fd
			return true
		}
	}
	return false
}

func (f *file) close() {
	if f.fd >= 0 {
		_ = unix.Close(f.fd) // it was only read
		f.fd = -1
	}
}

// files are those of a reader.
type files []*file

func (all files) close() {
	for _, f := range all {
		f.close()
	}
}

// number returns the first number in a text.
func number(text []byte) float64 {
	text = bytes.TrimLeft(text, " \t")
	var n uint64
	digits := 0
	for ; digits < len(text) && text[digits] >= '0' && text[digits] <= '9'; digits++ {
		n = n*10 + uint64(text[digits]-'0')
	}
	if digits == 0 {
		return unknown
	}
	return float64(n)
}

// keyed sets each value to the number that follows its key at the beginning of a line, times factor.
func keyed(text []byte, factor float64, keys []string, values []float64) {
	for line := range bytes.Lines(text) {
		for i, key := range keys {
			if len(line) > len(key) && string(line[:len(key)]) == key && (line[len(key)] == ' ' || strings.HasSuffix(key, ":")) {
				values[i] = factor * number(line[len(key):])
			}
		}
	}
}

// cutField returns the first field of a text, and what is behind it.
func cutField(text []byte) (field, rest []byte) {
	text = bytes.TrimLeft(text, " \t\n")
	end := bytes.IndexAny(text, " \t\n")
	if end < 0 {
		return text, nil
	}
	return text[:end], text[end:]
}
