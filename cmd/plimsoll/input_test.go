package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestInputsThatAreNoFiles: whatever a command reads because a user named it
// may have no end, may wait for a writer, or may be larger than the memory.
func TestInputsThatAreNoFiles(t *testing.T) {
	p := newProgram(t)
	at := func(name string) string { return filepath.Join(p.dir, name) }
	experiment := func(file string) string {
		text := fmt.Sprintf("name: x\nquestion: x?\nstacks: {a: loop(size=64MiB)}\nworkloads: {w: {fio: {file: %s}}}\n", file)
		name := at(file + ".yaml")
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return name
	}
	err := errorsOf(syscall.Mkfifo(at("fifo"), 0o600), os.Symlink("/dev/zero", at("zero")),
		os.WriteFile(at("huge"), nil, 0o600), os.Truncate(at("huge"), 4<<40))
	for run, made := range map[string]func(string) error{
		"fifo-run": func(f string) error { return syscall.Mkfifo(f, 0o600) },
		"zero-run": func(f string) error { return os.Symlink("/dev/zero", f) },
		"dir-run":  func(f string) error { return os.Mkdir(f, 0o755) },
	} {
		err = errorsOf(err, os.Mkdir(at(run), 0o755), made(filepath.Join(at(run), "results.db")))
	}
	for _, beside := range []string{"-journal", "-wal"} { // of a database that is a regular file
		dir := at("beside" + beside)
		err = errorsOf(err, os.Mkdir(dir, 0o755), os.WriteFile(filepath.Join(dir, "results.db"), nil, 0o600),
			syscall.Mkfifo(filepath.Join(dir, "results.db"+beside), 0o600))
	}
	if err != nil {
		t.Fatal(err)
	}
	const pipe, device, large = "a named pipe (FIFO)", "a character device", "more than "
	type attack struct {
		code int
		says string
		args []string
	}
	attacks := []attack{{exitUsage, pipe, []string{"show", at("beside-journal")}},
		{exitUsage, pipe, []string{"show", at("beside-wal")}}}
	for name, says := range map[string]string{"fifo": pipe, "zero": device, "huge": large} {
		for _, args := range [][]string{
			{"run", at(name), "--dry-run"}, {"validate", at(name)}, {"import", at(name), "-o", at("imported")},
			{"run", experiment(name), "--dry-run"}, {"validate", experiment(name)},
		} {
			attacks = append(attacks, attack{exitUsage, says, args})
		}
	}
	attacks = append(attacks, attack{exitUsage, device, []string{"run", "/dev/zero", "--dry-run"}},
		attack{exitUsage, device, []string{"validate", "/dev/zero"}})
	for run, says := range map[string]string{"fifo-run": pipe, "zero-run": device, "dir-run": "a directory"} {
		dir := at(run)
		attacks = append(attacks, attack{exitUsage, says, []string{"show", dir}},
			attack{exitUsage, says, []string{"compare", dir, dir}},
			attack{exitUsage, says, []string{"export", dir, "-o", "-"}},
			attack{exitUsage, says, []string{"run", "--resume", dir}},
			attack{exitUsage, says, []string{"open", dir}}, attack{exitUsage, says, []string{"show", dir, "--report"}})
	}
	for _, c := range attacks {
		cmd, stdout, stderr := p.command(c.args...)
		// A gibibyte is ample, and little enough to be no harm to the machine.
		cmd.Path, cmd.Args = "/bin/sh",
			append([]string{"sh", "-c", `ulimit -v 3000000; exec "$@"`, "sh", cmd.Path}, cmd.Args[1:]...)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		late := time.AfterFunc(hang, func() { _ = cmd.Process.Kill() })
		_ = cmd.Wait()
		if !late.Stop() {
			t.Errorf("%v hangs", c.args)
			continue
		}
		if code := cmd.ProcessState.ExitCode(); code != c.code {
			t.Errorf("%v: exit %d, wants %d", c.args, code, c.code)
		}
		contains(t, stdout.String()+stderr.String(), c.says)
	}
}

// TestAttackNamesBesideAMissingFile: what is proposed in the place of a missing file is another's name.
func TestAttackNamesBesideAMissingFile(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.WriteFile("night\x1b[Jly.yaml", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	_, errs := plimsoll(t, exitUsage, "run", "nightly.yaml")
	contains(t, errs, "there is no file nightly.yaml (", "did you mean night")
	if strings.Contains(errs, "\x1b") {
		t.Errorf("the terminal is sent a code: %q", errs)
	}
}
