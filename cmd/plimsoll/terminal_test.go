package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"plimsoll/examples"
	"plimsoll/internal/finding"
	"plimsoll/internal/printable"
	"plimsoll/internal/report"
	"plimsoll/internal/result"
	"plimsoll/internal/result/store"
	"plimsoll/internal/testkit/runtest"
)

// onTerminal returns what a pseudo-terminal of 80 columns gets that is the standard output of a program.
func onTerminal(t *testing.T, program func(stdout io.Writer) error) string {
	t.Helper()
	terminal, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer terminal.Close()
	fd := int(terminal.Fd())
	if err := unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	if err := unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: 80}); err != nil {
		t.Fatal(err)
	}
	number, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := os.OpenFile(fmt.Sprint("/dev/pts/", number), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	var shown bytes.Buffer
	read := make(chan error, 1)
	go func() {
		_, err := io.Copy(&shown, terminal)
		if errors.Is(err, syscall.EIO) { // the program's end was closed
			err = nil
		}
		read <- err
	}()
	if err := errors.Join(program(stdout), stdout.Close(), <-read); err != nil {
		t.Fatal(err)
	}
	return strings.ReplaceAll(shown.String(), "\r\n", "\n")
}

// painted is what colors add to a text.
var painted = regexp.MustCompile("\x1b\\[[0-9;]*m")

// replaced is an escape whose first character a filter replaced: "?[95m".
var replaced = regexp.MustCompile(`\?\[[0-9;]*[a-zA-Z]`)

// requirePassed fails unless a terminal got what was printed, in colors where it is to have them.
func requirePassed(t *testing.T, what, shown string, colored bool) {
	t.Helper()
	if bad := replaced.FindString(shown); bad != "" {
		t.Errorf("%s shows %q:\n%s", what, bad, shown)
	}
	if bad := steers.FindString(painted.ReplaceAllString(shown, "")); bad != "" || shown == "" {
		t.Errorf("%s shows %q, which steers the terminal, or nothing", what, bad)
	}
	if painted.MatchString(shown) != colored {
		t.Errorf("%s has colors: %v", what, !colored)
	}
}

// TestTerminalShowsCommands: no filter replaces a character of what a command prints on a terminal with colors.
func TestTerminalShowsCommands(t *testing.T) {
	runsHere(t)
	t.Setenv("PLIMSOLL_STATE_DIR", filepath.Join(t.TempDir(), "state"))
	t.Setenv("TERM", "xterm-256color")
	t.Setenv("NO_COLOR", "")
	const density = "plimsoll-runs/density-20260514"
	run := runtest.Density(false)
	run.ID = filepath.Base(density)
	if err := store.Keep(t.Context(), density, *run, func(result.Trial) map[string][]byte { return nil }); err != nil {
		t.Fatal(err)
	}
	writeCapture(t, "sda", 40)
	writeFleet(t)
	for _, c := range []struct {
		args    string
		colored bool
	}{
		{"show two", true}, {"show --full two", true}, {"show --full density", true}, {"compare two old", true},
		{"compare density density", true}, {"trace analyze sda", true}, {"trace analyze sda --by process", true},
		{"runs", true}, {"doctor", true}, {"fit density", true}, {"predict model.json --mix C:2", true},
		{"plan fleet.yaml", true}, {"watch --once --no-latency --interval 100ms", true}, {"advise settings", true},
		{"papers claims", true}, {"list", false}, {"validate quick", false}, {"clean --dry-run", false},
		{"help words", false},
		{"run directory --dry-run --size 16MiB", false},
	} {
		requirePassed(t, c.args, onTerminal(t, func(stdout io.Writer) error {
			var errs bytes.Buffer
			execute(t.Context(), strings.Fields(c.args), stdout, &errs) // doctor and compare have codes for what they find
			if errs.Len() > 0 {
				t.Logf("%s: %s", c.args, errs.String())
			}
			return nil
		}), c.colored)
	}
	bars := onTerminal(t, func(stdout io.Writer) error {
		execute(t.Context(), []string{"trace", "analyze", "sda"}, stdout, io.Discard)
		return nil
	})
	if !strings.Contains(bars, "m█") {
		t.Errorf("trace analyze draws no bar in color:\n%s", bars)
	}
}

// TestTerminalShowsRuns: the same of all that is printed of a run of each built-in experiment, traced where it is.
func TestTerminalShowsRuns(t *testing.T) {
	t.Setenv("TERM", "xterm-256color")
	t.Setenv("NO_COLOR", "")
	for _, name := range examples.List() {
		run := runtest.BuiltIn(t, name)
		requirePassed(t, name, onTerminal(t, func(stdout io.Writer) error {
			a := app{stdout: printable.NewWriter(stdout)}
			return report.Terminal(a.styled(), run, finding.All(run), a.terminalOptions())
		}), true)
	}
}
