package labtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"plimsoll/internal/lab"
)

// labDirVariable names a directory in which plimsoll lab build was run.
const labDirVariable = "PLIMSOLL_TEST_LAB"

// scratch is for what is compiled, once for all tests.
var scratch string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "plimsoll-labtest-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	scratch = dir
	code := m.Run()
	if err := os.RemoveAll(dir); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

// places are for machines that run at a time: each has a thread for its processors
// where they are emulated, and up to 2 GiB of memory. There is one more of them than
// processors, as a machine waits for two fifths of its time; and a suite of two machines
// then leaves a place to one of one.
var (
	places    = min(max(runtime.NumCPU(), 2)+1, 5)
	placing   sync.Mutex
	placeLeft = sync.NewCond(&placing)
	waiting   []*suite // for their places, those of most machines first
)

// suite is a test that starts so many machines.
type suite struct{ machines int }

// beside has a test of so many machines run beside others, as far as there is room.
// All of them have called it before the first one goes on: those of most machines
// begin, else they would wait until the end for several places to be free at a time.
func beside(t *testing.T, machines int) *suite {
	t.Helper()
	s := &suite{machines}
	placing.Lock()
	waiting = append(waiting, s)
	slices.SortStableFunc(waiting, func(a, b *suite) int { return b.machines - a.machines })
	placing.Unlock()
	t.Cleanup(s.begins) // one that ended before it could
	t.Parallel()
	return s
}

// begins takes a suite from those that wait.
func (s *suite) begins() {
	placing.Lock()
	waiting = slices.DeleteFunc(waiting, func(w *suite) bool { return w == s })
	placing.Unlock()
	placeLeft.Broadcast()
}

// takePlaces waits until there is room for its machines, and keeps it until the test
// ends. It leaves room to those before it, if that is enough for them.
func (s *suite) takePlaces(t *testing.T) {
	t.Helper()
	began := time.Now()
	next := func() *suite {
		at := slices.IndexFunc(waiting, func(w *suite) bool { return w.machines <= places })
		if at < 0 {
			return nil
		}
		return waiting[at]
	}
	placing.Lock()
	for next() != s {
		placeLeft.Wait()
	}
	places -= s.machines
	placing.Unlock()
	s.begins()
	t.Cleanup(func() {
		placing.Lock()
		places += s.machines
		placing.Unlock()
		placeLeft.Broadcast()
	})
	t.Logf("lab: there was room after %s", time.Since(began).Round(time.Second))
}

// labDir gives the directory of an image. Without one the test is skipped;
// where one was promised, it fails.
func labDir(t *testing.T) string {
	t.Helper()
	dir := os.Getenv(labDirVariable)
	if dir == "" {
		t.Skipf("SKIPPED: %s names no directory with a lab's image: make lab-test makes one, and runs this test",
			labDirVariable)
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := exec.LookPath("qemu-system-x86_64"); err != nil {
		t.Skip("SKIPPED: QEMU is not installed (apt-get install qemu-system-x86)")
	}
	if _, err := lab.FindImage(dir, lab.DefaultRecipe()); err != nil {
		t.Fatalf("%s=%s: %v", labDirVariable, dir, err)
	}
	return dir
}

// compiled gives a static binary of a package, which guests can run: its
// program, or its tests.
func compiled(t *testing.T, pkg string, tests bool) string {
	t.Helper()
	name := filepath.Base(pkg)
	args := []string{"build"}
	if tests {
		name += ".test"
		args = []string{"test", "-c"}
	}
	path := filepath.Join(scratch, name)
	compiling.Lock()
	defer compiling.Unlock()
	if _, err := os.Stat(path); err == nil {
		return path
	}
	// Without tables for debuggers it is smaller to carry.
	args = append(args, "-trimpath", "-buildvcs=false", "-ldflags=-s -w", "-o", path, "plimsoll/"+pkg)
	cmd := exec.Command("go", args...)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("compile %s: %v: %s", pkg, err, out)
	}
	return path
}

var compiling sync.Mutex

// program is plimsoll as users have it: guests get it too.
func program(t *testing.T) string { return compiled(t, "cmd/plimsoll", false) }

// guest is one machine of a lab that runs.
type guest struct {
	dir  string
	name string
	has  map[string]bool // binaries that were carried in
}

// start starts machines, which end with the test, and gives them in the order
// given. The test runs beside others.
func start(t *testing.T, machines ...lab.Machine) []*guest {
	t.Helper()
	dir := labDir(t)
	beside(t, len(machines)).takePlaces(t)
	began := time.Now()
	l, err := lab.Start(t.Context(), lab.Options{
		Dir: dir, Binary: program(t), Machines: machines, Note: func(text string) { t.Log("lab: " + text) },
	}, "")
	if err != nil {
		t.Fatal(err)
	}
	var guests []*guest
	for _, m := range machines {
		guests = append(guests, &guest{dir: l.Machine(m.Name), name: m.Name, has: map[string]bool{}})
	}
	t.Cleanup(func() {
		for _, g := range guests {
			if t.Failed() {
				g.oopses(t)
			}
		}
		if err := l.Close(); err != nil {
			t.Error(err)
		}
		if _, err := os.Stat(l.Dir); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s stays behind: %v", l.Dir, err)
		}
		t.Logf("lab: down after %s", time.Since(began).Round(time.Second))
	})
	t.Logf("lab: up after %s", time.Since(began).Round(time.Second))
	return guests
}

// oopses logs what the guest's kernel reports of errors of its own, which may explain a failure.
func (g *guest) oopses(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute) // it may have died of them
	defer cancel()
	var out bytes.Buffer
	_, err := lab.Run(ctx, g.dir, lab.Command{Args: []string{"sh", "-c",
		"dmesg | grep -A 12 -E 'BUG:|Oops|WARNING:|detected stall|blocked for more'; cat /proc/sys/kernel/tainted"}},
		lab.Streams{Stdout: &out, Stderr: io.Discard})
	t.Logf("%s: its kernel reports: %s %v", g.name, strings.TrimSpace(out.String()), err)
}

// drives gives a machine's drives their serials and sizes in bytes.
func drives(machine string, sizes ...int64) []lab.Drive {
	var out []lab.Drive
	for i, serial := range lab.Serials(machine, len(sizes)) {
		out = append(out, lab.Drive{Serial: serial, Bytes: sizes[i]})
	}
	return out
}

// hang is after how long a test gives up on a command, or on what it waits for: far beyond what
// either takes, however slow and busy the host that emulates.
const hang = 15 * time.Minute

// status runs a shell's command in the guest, and gives its exit status and
// all that it wrote.
func (g *guest) status(t *testing.T, text string) (int, string) {
	t.Helper()
	ctx, cancel := context.WithTimeoutCause(t.Context(), hang, fmt.Errorf("it hangs: no end after %s", hang))
	defer cancel()
	var out bytes.Buffer
	both := &locked{w: &out}
	code, err := lab.Run(ctx, g.dir, lab.Command{Args: []string{"sh", "-c", text}},
		lab.Streams{Stdout: both, Stderr: both})
	if err != nil {
		t.Fatalf("%s: %s: %v; it said: %s", g.name, text, err, out.String())
	}
	return code, out.String()
}

// do runs a command that has to succeed, and gives what it wrote.
func (g *guest) do(t *testing.T, text string) string {
	t.Helper()
	return g.ends(t, 0, text)
}

// ends runs a command that has to end with a status, and to say what is given.
func (g *guest) ends(t *testing.T, want int, text string, says ...string) string {
	t.Helper()
	code, out := g.status(t, text)
	if code != want {
		t.Fatalf("%s: %s: status %d, want %d:\n%s", g.name, text, code, want, tail(out))
	}
	for _, s := range says {
		if !strings.Contains(out, s) {
			t.Errorf("%s: %s: does not say %q:\n%s", g.name, text, s, tail(out))
		}
	}
	return out
}

// put writes a file in the guest's working directory.
func (g *guest) put(t *testing.T, name, content string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := lab.Send(t.Context(), g.dir, []string{path}); err != nil {
		t.Fatal(err)
	}
}

// background runs a command meanwhile; the function given waits for its end.
func (g *guest) background(t *testing.T, text string) (wait func() (int, string)) {
	type ending struct {
		code int
		out  string
	}
	ended := make(chan ending, 1)
	go func() {
		var out bytes.Buffer
		both := &locked{w: &out}
		code, err := lab.Run(t.Context(), g.dir, lab.Command{Args: []string{"sh", "-c", text}},
			lab.Streams{Stdout: both, Stderr: both})
		if err != nil {
			code = -1
			fmt.Fprintln(&out, err)
		}
		ended <- ending{code, out.String()}
	}()
	return func() (int, string) {
		t.Helper()
		select {
		case e := <-ended:
			return e.code, e.out
		case <-time.After(hang):
			t.Fatalf("%s: %s: it hangs: no end after %s", g.name, text, hang)
			return 0, ""
		}
	}
}

// until runs a command again and again, until it succeeds. It logs each half minute what it waits for.
func (g *guest) until(t *testing.T, what, text string) string {
	t.Helper()
	began := time.Now()
	for said := began; ; time.Sleep(200 * time.Millisecond) {
		code, out := g.status(t, text)
		if code == 0 {
			return out
		}
		if time.Since(began) > hang {
			t.Fatalf("%s: not within %s: %s: status %d: %s", g.name, hang, what, code, tail(out))
		}
		if time.Since(said) > 30*time.Second {
			said = time.Now()
			t.Logf("%s: waits since %s until %s: status %d: %s", g.name, time.Since(began).Round(time.Second), what, code,
				tail(out))
		}
	}
}

// device gives the path of the drive with a serial.
func (g *guest) device(t *testing.T, serial string) string {
	t.Helper()
	return strings.TrimSpace(g.do(t, `for c in /sys/class/nvme/*; do
		if [ "$(tr -d ' ' < $c/serial)" = `+serial+` ]; then echo /dev/$(basename $c)n1; fi
	done`))
}

// locked lets standard output and error share a buffer.
type locked struct {
	mu sync.Mutex
	w  *bytes.Buffer
}

func (l *locked) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.w.Write(b)
}

// tail gives the last lines of what a program said.
func tail(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return strings.Join(lines[max(0, len(lines)-30):], "\n")
}

// differs tells which lines two texts do not share.
func differs(before, after string) string {
	was, is := strings.Split(before, "\n"), strings.Split(after, "\n")
	var out []string
	for _, l := range was {
		if !slices.Contains(is, l) {
			out = append(out, "- "+l)
		}
	}
	for _, l := range is {
		if !slices.Contains(was, l) {
			out = append(out, "+ "+l)
		}
	}
	return strings.Join(out, "\n")
}
