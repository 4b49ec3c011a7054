package fio

import (
	"fmt"
	"strings"

	"plimsoll/internal/host/version"
	"plimsoll/internal/problem"
	"plimsoll/internal/workload"
)

// killedReason returns the problem of an fio that was killed before it could report; nil if it was not.
func killedReason(exit workload.Exit) *problem.Problem {
	switch {
	case exit.OOMKilled:
		return failure("", "the kernel's OOM killer ended it: its memory limit, or the host's memory, is used up",
			"raise the memory limit, or lower jobs, iodepth or bs (buffers take jobs x iodepth x bs); what the page "+
				"cache holds of a buffered job counts too")
	case exit.Signal != "":
		return failure("", fmt.Sprintf("a signal ended it (%s)", exit.Signal),
			"run the trial again; somebody or something on this host sent the signal")
	case exit.Code == 137:
		return failure("", "a signal ended it (SIGKILL)", "run the trial again; if no person sent it, see the "+
			"kernel's log for the OOM killer")
	}
	return nil
}

// noOutput explains an output without JSON.
func (r reader) noOutput(notes string, exit workload.Exit) *problem.Problem {
	message := summarize(exit.Stderr, notes)
	switch {
	case exit.Code == 127, exit.Code == 126, strings.Contains(message, "executable file not found"):
		return failure("", because("the program fio could not be started", message),
			"install fio "+version.OldestFio.String()+" or newer: apt-get install fio")
	case strings.Contains(message, "not loadable"), strings.Contains(message, "failed to load engine"):
		return failure("", because("this build of fio lacks the engine", message),
			"install the package that brings it (Debian: fio), or choose another engine; fio --enghelp lists those it has")
	case strings.Contains(message, "Bad option"):
		return failure("", because("fio does not know an option", message),
			"install a newer fio, or leave the option out of the job file")
	}
	return failure("", because(fmt.Sprintf("it exited with code %d and left no result", exit.Code), message),
		"see the trial's artifacts; the command line there shows the same by hand")
}

// exited explains a failure that is not in the JSON.
func (r reader) exited(notes string, exit workload.Exit) *problem.Problem {
	message := summarize(exit.Stderr, notes)
	switch {
	case strings.Contains(message, "allow_file_create=0"):
		return failure("", because("the file that was laid out for it is gone", message),
			"only the trial may use the stack while it runs; run it again")
	case strings.Contains(message, "terminating on signal"), exit.Code == 128:
		return failure("", because("a signal ended it early", message), "run the trial again")
	}
	return failure("", because(fmt.Sprintf("it exited with code %d", exit.Code), message),
		"see the trial's artifacts; the command line there shows the same by hand")
}

func because(why, said string) string {
	if said == "" {
		return why
	}
	return why + ": " + said
}

// Numbers of Linux's errors that jobs end with.
const (
	ePERM   = 1
	eNOENT  = 2
	eIO     = 5
	eAGAIN  = 11
	eNOMEM  = 12
	eACCES  = 13
	eINVAL  = 22
	eNOSPC  = 28
	eROFS   = 30
	eNOSYS  = 38
	eOPNOT  = 95
	eDQUOT  = 122
	eREMOTE = 121
)

var errnoText = map[int]string{
	ePERM:   "Operation not permitted (EPERM)",
	eNOENT:  "No such file or directory (ENOENT)",
	eIO:     "Input/output error (EIO)",
	eAGAIN:  "Resource temporarily unavailable (EAGAIN)",
	eNOMEM:  "Cannot allocate memory (ENOMEM)",
	eACCES:  "Permission denied (EACCES)",
	eINVAL:  "Invalid argument (EINVAL)",
	eNOSPC:  "No space left on device (ENOSPC)",
	eROFS:   "Read-only file system (EROFS)",
	eNOSYS:  "Function not implemented (ENOSYS)",
	eOPNOT:  "Operation not supported (EOPNOTSUPP)",
	eREMOTE: "Remote I/O error (EREMOTEIO)",
	eDQUOT:  "Disk quota exceeded (EDQUOT)",
}

// errno explains the error that a job ended with.
func (r reader) errno(j job, notes string) *problem.Problem {
	text, known := errnoText[j.Error]
	if !known {
		text = fmt.Sprintf("error %d", j.Error)
	}
	why := because(fmt.Sprintf("job %q ended with %s", j.Name, text), firstError(notes))
	return failure("", why, r.remedy(j.Error))
}

func (r reader) remedy(errno int) string {
	uring := r.engine == "io_uring"
	switch errno {
	case eNOSPC, eDQUOT:
		return "give the stack a larger size or the workload a smaller one; file systems keep some space for themselves"
	case ePERM, eNOSYS, eACCES:
		if uring {
			return "use engine libaio; or allow io_uring: containers need a seccomp profile that does " +
				"(seccomp=unconfined), and the sysctl kernel.io_uring_disabled must be 0"
		}
		if errno == eNOSYS {
			return "use another engine, or a kernel that has this one"
		}
		return "run as root, or give the workload's user the right to write there"
	case eAGAIN, eNOMEM:
		switch r.engine {
		case "libaio":
			return "lower jobs x iodepth, or raise the sysctl fs.aio-max-nr, or free memory"
		case "io_uring":
			return "lower jobs x iodepth, or raise the limit of locked memory (ulimit -l), or free memory"
		}
		return "lower jobs x iodepth x bs, or free memory"
	case eINVAL, eOPNOT:
		if r.direct && r.blockSize > 0 {
			return fmt.Sprintf("this stack may not serve O_DIRECT, or not in blocks of %s: use direct: false, or a "+
				"bs that is a multiple of the device's block size", formatSize(r.blockSize))
		}
		return "this stack may not serve O_DIRECT, or not in blocks of this size: use buffered I/O, or a block size " +
			"that is a multiple of the device's"
	case eIO, eREMOTE:
		return "the device or a layer failed: see the kernel's log (dmesg)"
	case eROFS:
		return "the stack is, or has become, read-only: see the kernel's log (dmesg)"
	case eNOENT:
		return "the files of the job must be in the stack's own directory"
	}
	return "see the trial's artifacts; the command line there shows the same by hand"
}

// firstError is fio's own line about the error that came first.
func firstError(notes string) string {
	for line := range strings.Lines(notes) {
		if strings.Contains(line, "err") {
			return strings.TrimSpace(strings.ToValidUTF8(line, "?"))
		}
	}
	return ""
}
