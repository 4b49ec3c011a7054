package fio

import (
	"fmt"
	"slices"
	"strings"

	"plimsoll/internal/problem"
	"plimsoll/internal/workload"
)

// Abilities implements workload.Workload.
func (w *userFile) Abilities() workload.Abilities {
	return workload.Abilities{Asking: &workload.Question{File: w.name, Ask: w.ask, Answer: w.answer,
		Inquiries: w.inquiries(), Lacks: w.lacks}, Phases: w.phases,
		Notes: w.notes}
}

// ask returns the command that makes fio parse the jobs without running them.
func (w *userFile) ask(known problem.List) workload.Command {
	rest := userFile{name: w.name, plans: w.plans}
	for _, j := range w.jobs {
		j.settings = slices.DeleteFunc(slices.Clone(j.settings), func(o setting) bool { return about(known, o.line) })
		rest.jobs = append(rest.jobs, j)
	}
	return workload.Command{Argv: []string{name, "--parse-only", "-"}, Stdin: rest.text(workload.Target{})}
}

// about reports whether one of the problems is that of a line.
func about(known problem.List, line int) bool {
	return slices.ContainsFunc(known, func(p problem.Problem) bool { return p.At.Line == line })
}

// complaint is fio's error about one line, in the wording of all versions from 3.18 on (parse.c and init.c of fio).
type complaint struct {
	key     string
	unknown bool // else it is the value that fio does not take
}

// answer returns the problems in fio's output. fio prints all unknown options of one section, then that section's name,
// and stops.
func (w *userFile) answer(known problem.List, code int, output string) problem.List {
	if code == 0 {
		return nil
	}
	var (
		problems problem.List
		pending  []complaint
	)
	for line := range strings.Lines(output) {
		line = strings.TrimSpace(line)
		if text, ok := strings.CutPrefix(line, "Bad option <"); ok {
			pending = append(pending, complaint{key: keyOf(strings.TrimSuffix(text, ">")), unknown: true})
		} else if text, ok := strings.CutPrefix(line, "fio: failed parsing "); ok {
			pending = append(pending, complaint{key: keyOf(text)})
		} else if text, ok := strings.CutPrefix(line, "fio: job "); ok && strings.HasSuffix(text, " dropped") {
			problems = append(problems, w.locate(known, pending, strings.TrimSuffix(text, " dropped"))...)
			pending = nil
		}
	}
	return problems
}

// locate returns the lines of a job that fio complains about.
func (w *userFile) locate(known problem.List, complaints []complaint, job string) problem.List {
	var problems problem.List
	for _, j := range w.jobs {
		for _, o := range j.settings {
			i := slices.IndexFunc(complaints, func(c complaint) bool { return c.key == o.key })
			if j.name != job || i < 0 || o.line == 0 || about(known, o.line) {
				continue
			}
			message := fmt.Sprintf("the fio of this host does not take \"%s=%s\"", o.key, o.value)
			remedy := "write a value that this fio has (fio --cmdhelp=" + o.key + "), or install a newer fio"
			if complaints[i].unknown {
				message = fmt.Sprintf("the fio of this host does not know the option %q, or not with this ioengine", o.key)
				remedy = "install a newer fio (fio --version prints which one this is), or leave the option out"
			}
			problems.InLine(o.line, message, remedy)
		}
	}
	return problems
}

// keyOf returns the option of a line.
func keyOf(line string) string {
	key, _, _ := strings.Cut(line, "=")
	return strings.TrimSpace(key)
}
