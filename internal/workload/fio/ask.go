package fio

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"plimsoll/internal/problem"
	"plimsoll/internal/workload"
)

// Abilities implements workload.Workload.
func (w *userFile) Abilities() workload.Abilities {
	return workload.Abilities{Asking: &workload.Question{File: w.name, Ask: w.ask, Answer: w.answer}}
}

// ask has fio read the job file and go no further.
func (w *userFile) ask(known problem.List) workload.Command {
	var rest bytes.Buffer
	for number, line := range w.numbered() {
		if !slices.ContainsFunc(known, func(p problem.Problem) bool { return p.At.Line == number }) {
			rest.WriteString(line)
		}
		rest.WriteByte('\n')
	}
	return workload.Command{Argv: []string{name, "--parse-only", "-"}, Stdin: rest.Bytes()}
}

// numbered gives the lines of the file, from 1, without their ends.
func (w *userFile) numbered() func(yield func(int, string) bool) {
	return func(yield func(int, string) bool) {
		number := 0
		for line := range strings.Lines(string(w.text)) {
			number++
			if !yield(number, strings.TrimRight(line, "\r\n")) {
				return
			}
		}
	}
}

// complaint is what fio says about one line, in the words of all versions from
// 3.18 on (parse.c and init.c of fio).
type complaint struct {
	key     string
	unknown bool // else it is the value that fio does not take
}

// answer reads what fio said. It tells of all unknown options of a
// section, names the section, and stops there.
func (w *userFile) answer(known problem.List, code int, said string) problem.List {
	if code == 0 {
		return nil
	}
	var (
		problems problem.List
		pending  []complaint
	)
	for line := range strings.Lines(said) {
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

// locate finds the lines of a section that fio complains about.
func (w *userFile) locate(known problem.List, complaints []complaint, section string) problem.List {
	var problems problem.List
	current := ""
	for number, line := range w.numbered() {
		line = strings.Trim(line, " \t")
		if title, ok := strings.CutPrefix(line, "["); ok {
			current = strings.TrimSuffix(title, "]")
			continue
		}
		at := slices.IndexFunc(complaints, func(c complaint) bool { return c.key == keyOf(line) })
		if current != section || at < 0 ||
			slices.ContainsFunc(known, func(p problem.Problem) bool { return p.At.Line == number }) {
			continue
		}
		what := fmt.Sprintf("the fio of this host does not take %q", line)
		remedy := "write a value that this fio has (fio --cmdhelp=" + keyOf(line) + "), or install a newer fio"
		if complaints[at].unknown {
			what = fmt.Sprintf("the fio of this host does not know the option %q, or not with this ioengine", keyOf(line))
			remedy = "install a newer fio (fio --version tells which one this is), or leave the option out"
		}
		problems.InLine(number, what, remedy)
	}
	return problems
}

// keyOf gives the option of a line.
func keyOf(line string) string {
	key, _, _ := strings.Cut(line, "=")
	return strings.TrimSpace(key)
}
