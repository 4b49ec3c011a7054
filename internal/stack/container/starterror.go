package container

import (
	"regexp"
	"strconv"
	"strings"

	"plimsoll/internal/problem"
)

// startProblem returns the error for a private engine that did not start. Its Kind is problem.Unsupported where this
// host cannot run it; otherwise the engine crashed or was disturbed.
func startProblem(cfg Config, kind problem.Kind, why, remedy string) *problem.Problem {
	what := "Docker engine with storage driver " + cfg.Driver
	if cfg.Name != "" {
		what = cfg.Name + ": " + what
	}
	return problem.New(kind, what, why, remedy)
}

// remedies maps a storage driver to advice on what it requires.
var remedies = map[string]string{
	"overlay2":       "use a kernel with overlayfs, and a file system below that supports d_type (xfs: mkfs with ftype=1)",
	"overlay":        "use overlay2, its successor; engines from 24 on lack overlay",
	"btrfs":          "put the data-root on btrfs: ... > btrfs > btrfs",
	"fuse-overlayfs": "apt-get install fuse-overlayfs, and use a kernel with FUSE",
	"devicemapper":   "use a kernel with device mapper and an engine older than 25, or overlay2",
	"aufs":           "use a kernel with the aufs patches and an engine older than 24, or overlay2",
	"zfs":            "put the data-root on a ZFS file system, with the zfs kernel module and zfsutils installed",
}

// startError makes an error of the log of an engine that did not start.
func startError(cfg Config, log string) *problem.Problem {
	why, refused := reason(log)
	if !refused {
		return startProblem(cfg, problem.Failed, why, "")
	}
	return startProblem(cfg, problem.Unsupported, why, remedies[cfg.Driver])
}

const (
	failedDaemon = "failed to start daemon: "
	failedDriver = "error initializing graphdriver: "
)

// cannot are the words in which engines say that the host, or the file system
// below the data-root, cannot have a driver. Whatever else goes wrong with a
// driver (no space, I/O error) is a failure.
var cannot = []string{"not supported", "unsupported", "prerequisites for driver not satisfied", "not found",
	"no such file", "d_type", "removed", "deprecated"}

var logMessage = regexp.MustCompile(
	`level=(?:error|fatal) msg=("(?:[^"\\]|\\.)*"|\S+)(?:.* error=("(?:[^"\\]|\\.)*"|\S+))?`,
)

// reason finds in a log why an engine did not start, and whether it is that
// the host cannot have the driver.
func reason(log string) (why string, refused bool) {
	var details []string
	for line := range strings.Lines(log) {
		line = strings.TrimSpace(line)
		if m := logMessage.FindStringSubmatch(line); m != nil {
			for _, text := range m[1:] {
				if text != "" {
					details = append(details, unquote(text))
				}
			}
		}
		if _, after, ok := strings.Cut(line, failedDaemon); ok {
			why = after
		}
	}
	if why == "" {
		// No word of farewell: killed, or a panic.
		return "it ended before it was ready: " + lastLine(log), false
	}
	why, driver := strings.CutPrefix(why, failedDriver)
	if len(details) > 0 {
		why += ": " + strings.Join(details, ": ")
	}
	for _, words := range cannot {
		refused = refused || driver && strings.Contains(strings.ToLower(why), words)
	}
	return why, refused
}

func unquote(text string) string {
	if s, err := strconv.Unquote(text); err == nil {
		return s
	}
	return text
}

func lastLine(log string) string {
	log = strings.TrimSpace(log)
	if log == "" {
		return "nothing"
	}
	return log[strings.LastIndexByte(log, '\n')+1:]
}
