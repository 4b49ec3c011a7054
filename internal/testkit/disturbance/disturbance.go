// Package disturbance finds the processes of a host that disturb tests that measure. It is for tests only.
package disturbance

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"plimsoll/internal/printable"
)

// Mark begins the line in which a test that failed says what disturbed it.
const Mark = "disturbed by: "

// Processes are the command lines of processes, by process ID.
type Processes map[int]string

// longestCommand is the number of characters of a command line that are kept.
const longestCommand = 100

// Look returns the processes below proc, such as "/proc", that load processors or disks: plimsoll, fio, virtual
// machines, tests of Go and their compilers. The relatives of process self are no disturbance: those that it descends
// from, and those that descend from it. Nor are those whose environment has the mark, which may be "".
func Look(proc string, self int, mark string) (Processes, error) {
	entries, err := os.ReadDir(proc)
	if err != nil {
		return nil, fmt.Errorf("list processes: %w", err)
	}
	parents := map[int]int{}
	found := Processes{}
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil || pid <= 0 {
			continue
		}
		dir := filepath.Join(proc, e.Name())
		stat, statErr := os.ReadFile(filepath.Join(dir, "stat"))
		cmdline, cmdErr := os.ReadFile(filepath.Join(dir, "cmdline"))
		if errors.Join(statErr, cmdErr) != nil {
			continue // it ended meanwhile
		}
		name, parent, ok := parse(stat)
		if !ok {
			continue
		}
		parents[pid] = parent
		words := strings.Split(strings.TrimRight(string(cmdline), "\x00"), "\x00")
		if len(cmdline) == 0 || !disturbs(name, words) || mark != "" && marked(dir, mark) {
			continue // a process that ended has no command line
		}
		found[pid] = printable.Shorten(printable.Line(strings.Join(words, " ")), longestCommand)
	}
	ancestors := lineage(parents, self)
	maps.DeleteFunc(found, func(pid int, _ string) bool {
		return ancestors[pid] || lineage(parents, pid)[self]
	})
	return found, nil
}

// parse reads the name of a process, and its parent, from /proc/PID/stat. The name, in parentheses, may have blanks and
// parentheses.
func parse(stat []byte) (name string, parent int, ok bool) {
	first, last := bytes.IndexByte(stat, '('), bytes.LastIndexByte(stat, ')')
	if first < 0 || last < first {
		return "", 0, false
	}
	fields := strings.Fields(string(stat[last+1:]))
	if len(fields) < 2 {
		return "", 0, false
	}
	parent, err := strconv.Atoi(fields[1])
	return string(stat[first+1 : last]), parent, err == nil
}

// disturbs reports whether a process of that name and command line loads processors or disks. The kernel cuts names off
// after 15 characters.
func disturbs(name string, words []string) bool {
	program := filepath.Base(words[0])
	switch {
	case slices.Contains([]string{"plimsoll", "fio", "compile", "link"}, name), strings.HasPrefix(name, "qemu-"):
		return true
	case name == "go":
		return len(words) > 1 && slices.Contains([]string{"test", "build", "vet", "install"}, words[1])
	}
	return strings.HasSuffix(program, ".test") && strings.HasPrefix(program, name)
}

// marked reports whether the environment of a process has a variable, "NAME=VALUE".
func marked(dir, variable string) bool {
	environment, _ := os.ReadFile(filepath.Join(dir, "environ")) // unreadable: it is not the caller's
	return slices.Contains(strings.Split(string(environment), "\x00"), variable)
}

// lineage returns a process and those that it descends from.
func lineage(parents map[int]int, pid int) map[int]bool {
	family := map[int]bool{}
	for ; pid > 0 && !family[pid]; pid = parents[pid] {
		family[pid] = true
	}
	return family
}

// Text lists the processes: "fio --name=x (pid 12), plimsoll run quick (pid 34)".
func (p Processes) Text() string {
	var texts []string
	for _, pid := range slices.Sorted(maps.Keys(p)) {
		texts = append(texts, fmt.Sprintf("%s (pid %d)", p[pid], pid))
	}
	return strings.Join(texts, ", ")
}

// Intervals of Wait.
const (
	interval = 2 * time.Second
	// Patience is how long tests that measure wait for other processes to end: longer than most suites take.
	Patience = 10 * time.Minute
)

// Wait waits until look finds no process, for at most patience. It reports the processes that it waits for when they
// change, and when it no longer waits.
func Wait(look func() (Processes, error), patience time.Duration, report func(text string)) {
	began := time.Now()
	var last Processes
	for {
		found, err := look()
		if err != nil {
			report(fmt.Sprintf("begins, and does not know what disturbs it: %v", err))
			return
		}
		waited := time.Since(began)
		switch {
		case len(found) == 0 && last == nil:
			return
		case len(found) == 0:
			report(fmt.Sprintf("begins after %s: nothing disturbs it any more", waited.Round(time.Second)))
			return
		case waited >= patience:
			report(fmt.Sprintf("begins after %s, although results may be disturbed by %s", waited.Round(time.Second),
				found.Text()))
			return
		case !maps.Equal(found, last):
			report(fmt.Sprintf("waits for %s, up to %s: stop what need not run", found.Text(),
				patience-waited.Round(time.Second)))
			last = found
		}
		time.Sleep(min(interval, patience-waited))
	}
}
