package database

import (
	"fmt"
	"strings"

	"plimsoll/internal/problem"
	"plimsoll/internal/workload"
)

// cause maps a message of a server or of the kernel, in lower case, to a reason and a remedy.
type cause struct{ message, why, remedy string }

// explainExit returns the problem of a server that ended. It takes the first cause whose message is in the output,
// since a full device makes other things fail, too. Without a known message the exit code decides.
func explainExit(title string, causes []cause, memory string, exit workload.Exit) *problem.Problem {
	failure := func(why, remedy string) *problem.Problem { return problem.New(problem.Failed, title, why, remedy) }
	if exit.OOMKilled {
		return failure("the kernel's OOM killer ended it: its memory limit, or the host's memory, is used up", memory)
	}
	message := complaint(exit.Stderr)
	lower := strings.ToLower(exit.Stderr)
	for _, c := range causes {
		if !strings.Contains(lower, c.message) {
			continue
		}
		if !strings.Contains(strings.ToLower(message), c.message) {
			message = lineWith(exit.Stderr, c.message)
		}
		return failure(explain(c.why, message), c.remedy)
	}
	switch {
	case strings.Contains(lower, "panic: "), strings.Contains(lower, "fatal error: "):
		return failure(explain("it has a bug", message), "please report it with the trial's artifacts")
	case exit.Signal != "":
		return failure(fmt.Sprintf("a signal ended it (%s)", exit.Signal),
			"run the trial again; somebody or something on this host sent the signal")
	case exit.Code == 137:
		return failure("a signal ended it (SIGKILL)",
			"run the trial again; if no person sent it, see the kernel's log for the OOM killer")
	}
	return failure(explain(fmt.Sprintf("it exited with code %d", exit.Code), message),
		"see the trial's artifacts; the command line there shows the same by hand")
}

// lineWith is the first line that has words in it, in small letters.
func lineWith(text, words string) string {
	for line := range strings.Lines(strings.ToValidUTF8(text, "?")) {
		if strings.Contains(strings.ToLower(line), words) {
			return strings.TrimSpace(line)
		}
	}
	return ""
}

// maxQuote bounds the length of a quoted message: some name every file of the server.
const maxQuote = 400

func explain(why, message string) string {
	if message == "" {
		return why
	}
	if len(message) > maxQuote {
		message = strings.ToValidUTF8(message[:maxQuote], "") + "..."
	}
	return why + ": " + message
}

// serious are the words with which databases begin lines that say why they ended.
var serious = []string{"FATAL:  ", "PANIC:  ", "ERROR:  ", "[ERROR] "}

// complaint is the line in which a program says why it ended, else where it broke, else its
// last one.
func complaint(stderr string) string {
	var broke, last string
	for line := range strings.Lines(strings.ToValidUTF8(stderr, "?")) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, workload.Self+": ") {
			return strings.TrimPrefix(line, workload.Self+": ")
		}
		if broke == "" {
			broke = fatalReason(line)
		}
		if line != "" {
			last = line
		}
	}
	if broke != "" {
		return broke
	}
	return last
}

// fatalReason extracts the reason from a fatal log line; "" for any other line.
func fatalReason(line string) string {
	if strings.HasPrefix(line, "panic: ") || strings.HasPrefix(line, "fatal error: ") {
		return line
	}
	for _, word := range serious {
		if _, after, found := strings.Cut(line, word); found {
			return strings.TrimSpace(after)
		}
	}
	return ""
}
