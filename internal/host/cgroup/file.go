package cgroup

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// write writes a value to a file of a cgroup. The error names both, and what
// can be done.
func write(file, value string) error {
	err := writeOnce(file, value)
	if err == nil {
		return nil
	}
	remedy := ""
	if r := remedyFor(filepath.Base(file), err); r != "" {
		remedy = " (" + r + ")"
	}
	return fmt.Errorf("write %q to %s: %w%s", value, file, err, remedy)
}

// writeOnce leaves out os.File, which takes EAGAIN for a file that will be ready later, and waits for
// that for ever: the kernel says it where it could not do all that was asked for.
func writeOnce(file, value string) error {
	fd, err := retryEINTR(func() (int, error) { return unix.Open(file, unix.O_WRONLY|unix.O_TRUNC|unix.O_CLOEXEC, 0) })
	if err != nil {
		return err
	}
	n, err := retryEINTR(func() (int, error) { return unix.Write(fd, []byte(value)) })
	if err == nil && n < len(value) {
		err = io.ErrShortWrite
	}
	return errors.Join(err, unix.Close(fd))
}

// retryEINTR repeats a system call that a signal interrupted.
func retryEINTR(call func() (int, error)) (n int, err error) {
	for {
		n, err = call()
		if !errors.Is(err, unix.EINTR) {
			return n, err
		}
	}
}

// remedyFor returns what may be done when the kernel refuses a value of a file.
func remedyFor(name string, why error) string {
	controller, _, _ := strings.Cut(name, ".")
	switch {
	case errors.Is(why, syscall.EROFS), errors.Is(why, syscall.EPERM),
		errors.Is(why, syscall.EACCES) && controller != cpuset:
		return "cgroups cannot be changed from here: run on the host itself, or in a privileged container"
	case errors.Is(why, syscall.ENOENT):
		return "the controller is not in use for this group: see cgroup.controllers and cgroup.subtree_control above it, " +
			"and cgroup_disable= on the kernel's command line"
	case errors.Is(why, syscall.ENODEV):
		return "limits are for whole disks that are there: see lsblk -o NAME,MAJ:MIN"
	case controller == memory && errors.Is(why, syscall.EBUSY):
		return "its processes hold more than that, and the kernel cannot reclaim it: stop them first, or allow more"
	case name == "cgroup.subtree_control" && errors.Is(why, syscall.EBUSY):
		return "the group has processes of its own: in a container, run with the host's cgroups (--cgroupns=host)"
	case controller == cpuset && name != "cpuset.mems":
		return "a group can have no processor that its parent has not, and keeps those that groups below it have"
	case controller == cpu && errors.Is(why, syscall.EINVAL):
		return "no group can have less than 0.01 processors, nor with some kernels more than its parent or less than a child"
	}
	return ""
}

// read returns the content of one of the group's files.
func (p place) read(name string) (string, error) {
	text, err := os.ReadFile(filepath.Join(p.dir, name))
	return strings.TrimSpace(string(text)), err
}

// readInt reads a number. "max" of version 2, and what version 1 takes for it, is 0,
// as in limits.
func (p place) readInt(name string) (int64, error) {
	text, err := p.read(name)
	if err != nil {
		return 0, err
	}
	n, err := parseInt(text)
	if err != nil {
		return 0, fmt.Errorf("%s: %w", filepath.Join(p.dir, name), err)
	}
	return n, nil
}

// noLimit is version 1's value for no limit, rounded down to any page size.
const noLimit = 1<<63 - 1<<20

func parseInt(text string) (int64, error) {
	if text == "max" {
		return 0, nil
	}
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		return 0, err
	}
	if n >= noLimit {
		return 0, nil
	}
	return int64(n), nil
}

// readTable reads a file of lines with a name and a number.
func (p place) readTable(name string) (map[string]uint64, error) {
	text, err := p.read(name)
	if err != nil {
		return nil, err
	}
	table := map[string]uint64{}
	for line := range strings.Lines(text) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		n, err := strconv.ParseUint(value, 10, 64)
		if err == nil { // a kernel may tell more than numbers
			table[key] = n
		}
	}
	return table, nil
}
