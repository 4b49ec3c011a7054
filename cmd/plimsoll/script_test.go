package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"golang.org/x/sys/unix"

	recorded "plimsoll/internal/recording"
	"plimsoll/internal/recording/segments"
	"plimsoll/internal/result"
	"plimsoll/internal/result/store"
	"plimsoll/internal/testkit/runtest"
)

// The scripts in testdata/scripts try every command as a new user would, wrong
// command lines included. Beside the commands of testscript they have
//
//	exits CODE PROGRAM ARGUMENTS...             runs a program, which must end with that status
//	terminal COLUMNS CODE PROGRAM ARGUMENTS...  the same on a terminal of its own: stdout is what it shows
//	made DIRECTORY DATE                         makes a run directory, whose run began on that day
//	sampled DIRECTORY DATE                      the same of a run of a mix, with series
//	density DIRECTORY                           makes one of servers, of which more do not fit into memory
//	recorded DIRECTORY                          records a host of 1, 2 and 3 databases, a minute each
//	belongs UID PATH...                         checks whose files are; links are not followed
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/scripts",
		RequireExplicitExec: true,
		Setup: func(e *testscript.Env) error {
			self, err := os.Executable()
			if err != nil {
				return err
			}
			bin := filepath.Join(e.WorkDir, ".bin")
			if err := errors.Join(os.Mkdir(bin, 0o755), os.Symlink(self, filepath.Join(bin, "plimsoll"))); err != nil {
				return err
			}
			e.Setenv("PATH", bin+string(filepath.ListSeparator)+e.Getenv("PATH"))
			e.Setenv(asProgram, "1")
			e.Setenv("PLIMSOLL_STATE_DIR", filepath.Join(e.WorkDir, ".state"))
			// The user behind sudo comes to a home of hers, too.
			if err := errors.Join(os.Chmod(filepath.Dir(e.WorkDir), 0o711), os.Chmod(e.WorkDir, 0o711)); err != nil {
				return err
			}
			recorded, err := filepath.Abs(foreign)
			e.Setenv("FOREIGN", recorded) // files that fio wrote elsewhere
			return err
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"exits":    scriptExits,
			"terminal": scriptTerminal,
			"made":     scriptMade,
			"sampled":  scriptSampled,
			"belongs":  scriptBelongs,
			"density":  scriptDensity,
			"recorded": scriptRecorded,
		},
		Condition: func(condition string) (bool, error) {
			if condition == "root" {
				return os.Geteuid() == 0, nil
			}
			return false, fmt.Errorf("unknown condition %s", condition)
		},
	})
}

func scriptExits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE PROGRAM ARGUMENTS...")
	}
	checkCode(ts, args[0], ts.Exec(args[1], args[2:]...))
}

func checkCode(ts *testscript.TestScript, want string, err error) {
	code := 0
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		code = exit.ExitCode()
	} else {
		ts.Check(err)
	}
	if strconv.Itoa(code) != want {
		ts.Fatalf("exit status %d, want %s", code, want)
	}
}

func scriptTerminal(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 3 {
		ts.Fatalf("usage: terminal COLUMNS CODE PROGRAM ARGUMENTS...")
	}
	columns, err := strconv.ParseUint(args[0], 10, 16)
	ts.Check(err)
	master, slave, err := openTerminal(uint16(columns))
	ts.Check(err)
	defer master.Close()
	program := args[2]
	if program == "plimsoll" {
		program, err = os.Executable()
		ts.Check(err)
	}
	cmd := exec.Command(program, args[3:]...)
	cmd.Dir = ts.MkAbs(".")
	for _, name := range []string{asProgram, "PATH", "HOME", "TMPDIR", "PLIMSOLL_STATE_DIR", "NO_COLOR", "TERM",
		"BROWSER", "DISPLAY"} {
		if value := ts.Getenv(name); value != "" {
			cmd.Env = append(cmd.Env, name+"="+value)
		}
	}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = slave, slave, slave
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	ts.Check(cmd.Start())
	slave.Close()
	shown := make(chan string)
	go func() {
		text, _ := io.ReadAll(master) // ends with EIO, when nobody has the terminal any more
		shown <- string(text)
	}()
	err = cmd.Wait()
	_, _ = io.WriteString(ts.Stdout(), strings.ReplaceAll(<-shown, "\r\n", "\n"))
	checkCode(ts, args[1], err)
}

// openTerminal opens a pseudo-terminal.
func openTerminal(columns uint16) (master, slave *os.File, err error) {
	master, err = os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		return nil, nil, err
	}
	fd := int(master.Fd())
	n := 0
	err = errors.Join(
		unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0),
		unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: columns}))
	if err == nil {
		n, err = unix.IoctlGetInt(fd, unix.TIOCGPTN)
	}
	if err == nil {
		slave, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	}
	if err != nil {
		master.Close()
	}
	return master, slave, err
}

func scriptMade(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: made DIRECTORY DATE")
	}
	at, err := time.Parse(time.DateOnly, args[1])
	ts.Check(err)
	ts.Check(makeRun(ts.MkAbs(args[0]), filepath.Base(args[0]), at))
}

// scriptDensity stores a run of servers whose files outgrow a scaled-down host's memory.
func scriptDensity(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: density DIRECTORY")
	}
	run := runtest.Density(false)
	run.ID = filepath.Base(args[0])
	none := func(result.Trial) map[string][]byte { return nil }
	ts.Check(store.Keep(context.Background(), ts.MkAbs(args[0]), *run, none))
}

// scriptRecorded records a host that was never there. Its drive takes 400 µs for an I/O.
func scriptRecorded(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: recorded DIRECTORY")
	}
	header := recorded.Header{Host: recorded.Host{Name: "host7", CPUs: 8, MemoryBytes: 32 << 30}, Interval: 1}
	w, err := segments.Open(ts.MkAbs(args[0]), header, segments.Options{})
	ts.Check(err)
	begin := time.Date(2026, 3, 2, 8, 0, 0, 0, time.UTC)
	for i := range 180 {
		instances := 1 + i/60
		row := recorded.Row{Time: begin.Add(time.Duration(i) * time.Second), Seconds: 1}
		reads := float64(200 + i%7)
		total := reads * float64(instances)
		for n := range instances {
			row.Amounts = append(row.Amounts,
				recorded.Amounts{Thing: recorded.Thing{Kind: recorded.OfContainer, Name: "shop/db", Copy: n + 1},
					Values: []float64{50 * reads, 0, 1 << 19, 0, 1 << 20, 1 << 19}},
				recorded.Amounts{Thing: recorded.Thing{Kind: recorded.OfUse, Name: "shop/db", Copy: n + 1, Drive: "nvme0n1"},
					Values: []float64{reads, 0, 8192 * reads}})
		}
		row.Amounts = append(row.Amounts,
			recorded.Amounts{Thing: recorded.Thing{Kind: recorded.OfHost}, Values: []float64{50 * total, 0, 28 << 20}},
			recorded.Amounts{Thing: recorded.Thing{Kind: recorded.OfDrive, Name: "nvme0n1"},
				Values: []float64{total, 0, 8192 * total, 0, 400 * total, 400 * total}})
		w.Add(row)
	}
	ts.Check(w.Close())
}

func scriptBelongs(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: belongs UID PATH...")
	}
	for _, path := range args[1:] {
		info, err := os.Lstat(ts.MkAbs(path))
		ts.Check(err)
		if owner := strconv.Itoa(int(info.Sys().(*syscall.Stat_t).Uid)); owner != args[0] {
			ts.Fatalf("%s belongs to %s, not %s", path, owner, args[0])
		}
	}
}
