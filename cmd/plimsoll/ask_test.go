package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

const asksFio = `
name: asked
question: Does this host's fio know every option?
repeat: 1
runtime: 200ms
stacks:
  here: dir:.
workloads:
  mine: {fio: {file: my.fio}}
  again: {fio: {file: my.fio}}
`

// TestFioItselfIsAskedBeforeAnythingIsTouched: every option that this fio does
// not know is refused with its line, at once, though fio itself stops at the
// first section that has one.
func TestFioItselfIsAskedBeforeAnythingIsTouched(t *testing.T) {
	help, err := exec.Command("fio", "--cmdhelp=all").Output()
	if err != nil {
		t.Skip("fio is not installed: apt-get install fio")
	}
	if strings.Contains(string(help), "thinkcycles") || strings.Contains(string(help), "priohint") {
		t.Skip("this fio is as new as the options that it is to lack")
	}
	p := newProgram(t)
	name := p.experiment(asksFio)
	p.file("my.fio", `[global]
ioengine=libaio
size=1m
thinkcycles=100
[a]
rw=randread
hipri=1
priohint = 1
[b]
ioengine=io_uring
hipri=1
rw=randwrite
iodepth=0
`)
	for _, args := range [][]string{{"run", name}, {"run", name, "--dry-run"}} {
		code, _, errs := p.run(args...)
		if code != exitUsage {
			t.Errorf("%v ends with %d", args, code)
		}
		contains(t, errs, `my.fio:4: here, "thinkcycles=100" needs fio 3.37 or newer`,
			`my.fio:7: the fio of this host does not know the option "hipri"`,
			`my.fio:8: here, "priohint=1" needs fio 3.36 or newer`,
			`my.fio:13: the fio of this host does not take "iodepth=0"`, "install a newer fio")
		if n := strings.Count(errs, "my.fio:"); n != 4 {
			t.Errorf("%d problems, want 4:\n%s", n, errs)
		}
	}
	if left, _ := filepath.Glob(filepath.Join(p.dir, ".plimsoll*")); len(left) > 0 || p.exists("state") ||
		p.exists("plimsoll-runs") || p.exists("a.*") {
		entries, _ := os.ReadDir(p.dir)
		t.Errorf("something was touched: %v", entries)
	}

	p.file("my.fio",
		"[global]\nioengine=libaio\nsize=1m\n[a]\nrw=randread\n[b]\nioengine=io_uring\nhipri=0\nrw=randwrite\n")
	if code, _, errs := p.run("run", name, "--dry-run"); code != exitOK {
		t.Errorf("a file that fio takes ends with %d: %s", code, errs)
	}
}
