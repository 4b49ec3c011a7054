package result

import (
	"cmp"
	"slices"
	"strings"

	"plimsoll/internal/printable"
)

// TakesRoot reports whether only root can do what the run does: all but to measure a
// directory as it is, without limits and without a trace.
func (r *Run) TakesRoot() bool {
	ofDirectory := func(s Stack) bool { return strings.HasPrefix(s.Line, "dir:") && !strings.Contains(s.Line, ">") }
	limited := func(m Mix) bool {
		return m.Host != nil && !m.Host.None() ||
			slices.ContainsFunc(m.Tenants, func(t Tenant) bool { return !t.Limits.None() })
	}
	return r.Imported == nil && (r.Experiment.Trace || slices.ContainsFunc(r.Mixes, limited) ||
		slices.ContainsFunc(r.Stacks, func(s Stack) bool { return !ofDirectory(s) }))
}

// Again returns a command of plimsoll that measures the run again, or goes on with it, for a
// person to copy.
func (r *Run) Again(args ...string) string {
	if r.TakesRoot() {
		return printable.AsRoot(args...)
	}
	return printable.Plimsoll(args...)
}

// NameForResume returns the name by which run --resume finds the run from where it was started: the directory that its
// command line gave, or its ID below the directory of runs.
func (r *Run) NameForResume() string {
	for i, word := range r.Command {
		flag, value, joined := strings.Cut(word, "=")
		if !slices.Contains([]string{"-o", "--output", "--resume"}, flag) {
			continue
		}
		if joined {
			return value
		}
		if i+1 < len(r.Command) {
			return r.Command[i+1]
		}
	}
	return r.ID
}

// Repeat returns the command line that the run was started with, for a person to copy.
func (r *Run) Repeat() string {
	words := r.Command
	if r.TakesRoot() && len(words) > 0 && words[0] != "sudo" {
		words = append([]string{"sudo"}, words...)
	}
	return printable.Command(words...)
}

// Another returns the command line of one more run, with other words in place of some of the flags, for a person to
// copy; "" of a run that no command line made. It has a seed and a directory of its own.
func (r *Run) Another(replaced []string, words ...string) string {
	if r.ID == "" || r.Imported != nil {
		return ""
	}
	command := []string{"run", cmp.Or(r.Experiment.File, r.Experiment.Name)}
	if at := slices.Index(r.Command, "run"); at >= 0 && !slices.Contains(r.Command, "--resume") {
		if at > 0 && r.Command[at-1] == "papers" {
			at-- // plimsoll papers run FIGURE
		}
		command = dropFlags(r.Command[at:], append(replaced, "-o", "--output", "--seed")...)
	}
	return r.Again(append(command, words...)...)
}

// dropFlags returns the words of a command line without some of its flags and their values.
func dropFlags(words []string, flags ...string) (kept []string) {
	for i := 0; i < len(words); i++ {
		flag, _, joined := strings.Cut(words[i], "=")
		switch {
		case !slices.Contains(flags, flag):
			kept = append(kept, words[i])
		case !joined:
			i++
		}
	}
	return kept
}
