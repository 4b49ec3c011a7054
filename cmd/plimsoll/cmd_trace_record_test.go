package main

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"plimsoll/internal/state/journal"
	"plimsoll/internal/testkit/hosttest"
)

// recording is a command line of trace record, whose COMMAND follows.
func recording(p *program, args ...string) []string {
	return append(append([]string{"trace", "record", "--state-dir", p.state}, args...), "--")
}

// reads reads the stack 64 times; what p.run appends is ignored.
var reads = []string{"sh", "-c", `exec dd if="$PLIMSOLL_TARGET" of=/dev/null bs=4k count=64 iflag=direct status=none`}

// tracer returns what the kernel's tracer of block devices is set to, by what it
// means: the size of a buffer that nobody has used yet is the one that it will
// get, and the kernel rounds sizes to pages of 4080 bytes of events.
func tracer(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := unix.Mount("tracefs", dir, "tracefs", 0, ""); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := unix.Unmount(dir, 0); err != nil {
			t.Error(err)
		}
	}()
	files := []string{filepath.Join(dir, "current_tracer"), filepath.Join(dir, "trace_clock"),
		filepath.Join(dir, "buffer_size_kb")}
	devices, err := filepath.Glob("/sys/block/*/trace/enable")
	if err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	for _, name := range append(files, devices...) {
		value, _, err := journal.Choices(name)
		if err != nil {
			t.Fatal(err)
		}
		if filepath.Base(name) == "buffer_size_kb" {
			const page = 4080
			kib, err := strconv.Atoi(value)
			if err != nil {
				t.Fatal(err)
			}
			value = fmt.Sprintf("%d pages", (kib<<10+page-1)/page)
		}
		fmt.Fprintf(&all, "%s: %s\n", filepath.Base(name), value)
	}
	return all.String()
}

// The first recording since the kernel was booted, and one that is killed when all
// settings are made: the lab runs this test on a kernel that was just booted.
func TestARecordingLeavesTheTracerAsItWas(t *testing.T) {
	hosttest.Exclusive(t)
	was := tracer(t)
	record := func(want int, env ...string) {
		t.Helper()
		p := newProgram(t)
		p.env = env
		code, out, errs := p.run(append(recording(p, "--way", "tracefs", "--stack", "loop(size=16MiB)"), reads...)...)
		if code != want {
			t.Fatalf("ends with %d, want %d: %s%s", code, want, out, errs)
		}
		if p.env = nil; want != exitOK {
			p.cleanUp()
		}
		if now := tracer(t); now != was {
			t.Errorf("the tracer is set to\n%sand was\n%s", now, was)
		}
	}
	record(exitOK)
	record(-1, journal.CrashVariable+"=6:made")
}

func TestACrashOfARecordingIsUndone(t *testing.T) {
	hosttest.Exclusive(t)
	was := tracer(t)
	// Behind work directory, file and loop device come three settings of the tracer, one of
	// each device, and the command.
	crashEach(t, 4, []string{"setting", "process"}, func(p *program) []string {
		if now := tracer(t); now != was {
			t.Errorf("the tracer is set to\n%sand was\n%s", now, was)
		}
		return append(recording(p, "--way", "tracefs", "--stack", "loop(size=16MiB)"), reads...)
	})
	if now := tracer(t); now != was {
		t.Errorf("the tracer is set to\n%sand was\n%s", now, was)
	}
}

func TestRecordTellsOfAStack(t *testing.T) {
	hosttest.Measures(t)
	for _, way := range []string{"bpf", "tracefs"} {
		out := recordShown(t, "--way", way, "--stack", "loop(size=16MiB)", "--by", "op")
		contains(t, out, "recorded on loop", "none lost", "Q2C", "D2C")
		out = recordShown(t, "--way", way, "--stack", "loop(size=16MiB)", "--per-io")
		rows := 0
		for line := range strings.Lines(out) {
			if strings.HasPrefix(line, "loop") && strings.Contains(line, ",read,") &&
				strings.Contains(line, ",4096,") && strings.Contains(line, ",dd,") {
				rows++
			}
		}
		if rows != 64 {
			t.Errorf("%s: %d rows of dd's reads, and it made 64:\n%s", way, rows, out)
		}
	}
}

// recordShown records reads, again where the kernel hid the end of one, as those of
// some sandboxes do.
func recordShown(t *testing.T, args ...string) string {
	t.Helper()
	for range 5 {
		p := newProgram(t)
		code, out, errs := p.run(append(recording(p, args...), reads...)...)
		if code != exitOK {
			t.Fatalf("%v: ends with %d: %s%s", args, code, out, errs)
		}
		if !strings.Contains(out+errs, "were lost") {
			return out
		}
		t.Log(out + errs)
	}
	t.Fatal("of every recording something was lost")
	return ""
}

func TestRecordRefusals(t *testing.T) {
	hosttest.Exclusive(t)
	for _, test := range []struct {
		name string
		args []string
		code int
		says []string
	}{
		{"nothing to record", nil, exitUsage, []string{"either --device, --stack or --export"}},
		{"all at once", []string{"--device", "/dev/none", "--by", "moon"}, exitUsage,
			[]string{"--device /dev/none", "--by moon"}},
		{"no time", []string{"--device", "/dev/none", "--duration", "-1s"}, exitUsage, []string{"--duration"}},
		{"a stack that is none", []string{"--stack", "loop | ext4"}, exitUsage, []string{"--stack", "column"}},
		{"two sources", []string{"--stack", "loop", "--export", "all", "--per-io"}, exitUsage,
			[]string{"either --device", "--export gives sums"}},
		{"no target", []string{"--export", "all", "--duration", "1s"}, exitHost,
			[]string{"exports no drive", "plimsoll target export"}},
		{"an unknown way", []string{"--stack", "loop(size=16MiB)", "--way", "strace"}, exitUsage,
			[]string{"strace", "bpf or tracefs"}},
		{"a command that fails", []string{"--stack", "loop(size=16MiB)", "--", "sh", "-c", "exit 7"}, exitPartial,
			[]string{"exit status 7"}},
		{"a command that is none",
			[]string{"--stack", "loop(size=16MiB)", "--by", "op", "-o", "c", "--", "no-such-command"}, exitUsage,
			[]string{"COMMAND", "no-such-command", "--by groups tables"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			p := newProgram(t)
			code, out, errs := p.run(append([]string{"trace", "record", "--state-dir", p.state}, test.args...)...)
			if code != test.code {
				t.Errorf("ends with %d, and not %d: %s%s", code, test.code, out, errs)
			}
			contains(t, errs, test.says...)
		})
	}
}
