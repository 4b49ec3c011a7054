// Package hostinfo tells what this host is and what it can do: its
// environment, its block devices and why each may or may not be used, and
// what `plimsoll run quick` and every kind of stack would need.
//
// It only reads. It opens block devices read-only to look for signatures,
// asks programs for their versions and engines for their info, creates one
// io_uring and one BPF map that it closes at once, and changes nothing.
//
// Hazards. What is read may change at any time after: a device found unused
// may be mounted a moment later, so whoever writes to it opens it exclusively
// all the same. A root that is not this host's (a recorded tree, /host/proc in
// a container) changes what is read from files, not what programs and system
// calls answer.
package hostinfo

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"plimsoll/internal/host/hostfs"
	"plimsoll/internal/result"
)

// Host reads facts about a host. Its fields are the roots of the kernel's and the distribution's files; New uses this
// host's.
type Host struct {
	Roots hostfs.Roots // of the kernel's files
	Dev   string       // "/dev"
	Etc   string       // "/etc"
	Lib   string       // "/lib", for modules
	Boot  string       // "/boot", for the kernel's configuration
	Run   string       // "/var/run", for the sockets of engines
	Path  []string     // directories of programs, as in $PATH
	State string       // directory below which runs put the files of loop devices

	DockerHost string // $DOCKER_HOST: one more engine to ask; "" for none

	moment time.Duration // how long the doctor looks at the load

	sbin  []string // where programs for root are when $PATH leaves them out
	calls systemCalls
}

// New returns the host that this process runs on.
func New() *Host {
	return &Host{
		Roots:      hostfs.Default(),
		Dev:        "/dev",
		Etc:        "/etc",
		Lib:        "/lib",
		Boot:       "/boot",
		Run:        "/var/run",
		Path:       filepath.SplitList(os.Getenv("PATH")),
		State:      "/var/lib/plimsoll",
		DockerHost: os.Getenv("DOCKER_HOST"),
		moment:     loadInterval,
		sbin:       []string{"/usr/local/sbin", "/usr/sbin", "/sbin"}, // as after a plain `su`
		calls:      thisKernel{},
	}
}

// systemCalls are the questions that no file answers.
type systemCalls interface {
	ioURing() error                       // nil: a ring can be made
	bpf() error                           // nil: a map can be made
	freeBytes(dir string) (uint64, error) // on the file system of dir
	// atomicWrites returns the sizes of writes that are atomic in files of dir.
	atomicWrites(dir string) (result.AtomicUnits, error)
	runs() []string // ids of runs that are under way
	// limits returns what /proc/PID/limits has of a program that this process starts.
	limits() string
}

// programTimeout bounds a program that prints its version, and blkid. An emulated processor takes four seconds to
// load dockerd.
const programTimeout = 15 * time.Second

// program looks a program up in Path, and then in the directories of root's programs; inPath reports which.
func (h *Host) program(name string) (path string, inPath bool) {
	if all := programs(h.Path, name); len(all) > 0 {
		return all[0], true
	}
	if all := programs(h.sbin, name); len(all) > 0 {
		return all[0], false
	}
	return "", false
}

// programs lists the different files of that name that can be executed, in
// the order of the directories.
func programs(dirs []string, name string) []string {
	var found []string
	var seen []os.FileInfo
next:
	for _, dir := range dirs {
		path := filepath.Join(dir, name)
		info, err := os.Stat(path)
		if err != nil || !info.Mode().IsRegular() || info.Mode()&0o111 == 0 {
			continue
		}
		for _, s := range seen {
			if os.SameFile(s, info) { // /bin is /usr/bin
				continue next
			}
		}
		seen = append(seen, info)
		found = append(found, path)
	}
	return found
}

// runProgram runs a program and returns its standard output. The error includes its standard error.
func runProgram(ctx context.Context, path string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, programTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Env = append(os.Environ(), "LC_ALL=C")
	cmd.WaitDelay = 5 * time.Second // a host with much to do is slow to hand over what was written
	out, err := cmd.Output()
	if ctx.Err() != nil {
		return string(out), fmt.Errorf("%s does not answer: %w", path, ctx.Err())
	}
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		if said := strings.TrimSpace(string(exit.Stderr)); said != "" {
			return string(out), fmt.Errorf("%w: %s", err, said)
		}
	}
	return string(out), err
}

// readTrimmed returns the content of a small file without its trailing newline, and "" for a file that cannot be
// read.
func readTrimmed(elem ...string) string {
	b, err := os.ReadFile(filepath.Join(elem...))
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(b))
}

// exists reports whether the file exists.
func exists(elem ...string) bool {
	_, err := os.Stat(filepath.Join(elem...))
	return err == nil
}

// names lists a directory, and nothing for one that does not exist.
func names(elem ...string) ([]string, error) {
	entries, err := os.ReadDir(filepath.Join(elem...))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	out := make([]string, len(entries))
	for i, e := range entries {
		out[i] = e.Name()
	}
	return out, nil
}
