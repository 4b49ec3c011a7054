package container

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"plimsoll/internal/host/hostinfo"
	"plimsoll/internal/problem"
	"plimsoll/internal/state/journal"
	"plimsoll/internal/testkit/hosttest"
)

// childVariable makes the test binary a program that starts an engine below
// the directory it names, and waits to be killed.
const childVariable = "PLIMSOLL_CONTAINER_TEST_CHILD"

func TestMain(m *testing.M) {
	if dir := os.Getenv(childVariable); dir != "" {
		if err := child(context.Background(), dir); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// runID tells this test's marks and names from those of others.
func runID() string {
	if run := os.Getenv(childVariable + "_RUN"); run != "" {
		return run
	}
	return fmt.Sprintf("container-test-%d", os.Getpid())
}

// bench is a run's journal and directories.
type bench struct {
	journal *journal.Journal
	dir     string
}

func newBench(t *testing.T) *bench {
	t.Helper()
	hosttest.Exclusive(t)
	dir := t.TempDir()
	j, err := journal.Create(filepath.Join(dir, "state"), runID())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(j.UndoAll(context.Background(), nil), j.Close()); err != nil {
			t.Error(err)
		}
	})
	return &bench{j, dir}
}

func (b *bench) start(ctx context.Context, driver string) (*Engine, error) {
	root, err := os.MkdirTemp(b.dir, "plimsoll-"+runID()+"-"+driver)
	if err != nil {
		return nil, err
	}
	return Start(ctx, b.journal, Config{Name: "test", Run: runID(), Driver: driver, DataRoot: root})
}

func (b *bench) run(ctx context.Context, e *Engine, cfg ContainerConfig) (*Container, error) {
	image, err := e.Import(ctx, []string{"sh", "fio"}, b.dir)
	if err != nil {
		return nil, err
	}
	cfg.Name, cfg.Image = "workload", image
	return e.Run(ctx, b.journal, cfg)
}

// mustRun starts an engine and a container in it.
func (b *bench) mustRun(t *testing.T, driver string, cfg ContainerConfig) (*Engine, *Container) {
	t.Helper()
	e, err := b.start(t.Context(), driver)
	if err != nil {
		t.Fatal(err)
	}
	c, err := b.run(t.Context(), e, cfg)
	if err != nil {
		t.Fatal(err)
	}
	return e, c
}

func TestDriversThatStart(t *testing.T) {
	for _, driver := range []string{"overlay2", "vfs", "fuse-overlayfs", hostinfo.ContainerdStore} {
		t.Run(driver, func(t *testing.T) {
			if err := CheckContainerdStore(); driver == hostinfo.ContainerdStore && errors.Is(err, problem.Unsupported) {
				t.Skip(err)
			}
			b := newBench(t)
			e, c := b.mustRun(t, driver, ContainerConfig{WorkingDir: "/data"})
			if e.Driver != driver || e.Version == "" {
				t.Errorf("the engine shows driver %q and version %q", e.Driver, e.Version)
			}
			argv := []string{"fio", "--name=w", "--rw=write", "--size=1m", "--bs=64k", "--output-format=terse"}
			exit, err := c.Exec(t.Context(), argv, "/data")
			if err != nil || exit.Code != 0 {
				t.Errorf("%v: %+v", err, exit)
			}
			if err := errors.Join(c.Remove(t.Context()), e.Stop(t.Context())); err != nil {
				t.Error(err)
			}
			if left := b.journal.Pending(); len(left) > 0 {
				t.Errorf("%d changes are left in the journal, first: %s", len(left), left[0].Change.What())
			}
		})
	}
}

func TestDriversThatAreRefused(t *testing.T) {
	for driver, reason := range map[string]string{
		"btrfs":        "wrong filesystem?",
		"zfs":          "wrong filesystem?",
		"devicemapper": "driver not supported",
		"aufs":         "AUFS was not found in /proc/filesystems",
	} {
		t.Run(driver, func(t *testing.T) {
			_, err := newBench(t).start(t.Context(), driver)
			var refused *problem.Problem
			if !errors.As(err, &refused) {
				t.Fatalf("got %v, want a *problem.Problem", err)
			}
			if refused.Kind != problem.Unsupported || !strings.Contains(refused.Why, reason) || refused.Remedy == "" {
				t.Errorf("got %+v, want it refused with %q and a remedy", refused, reason)
			}
		})
	}
}

func TestEngineThatCrashesIsNotRefused(t *testing.T) {
	b := newBench(t)
	// A data-root in which the engine cannot make its directories.
	root := filepath.Join(b.dir, "plimsoll-"+runID()+"-root")
	if err := os.MkdirAll(root, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(root, "image"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := Start(t.Context(), b.journal, Config{Run: runID(), Driver: "vfs", DataRoot: root})
	var crash *problem.Problem
	if !errors.As(err, &crash) || crash.Kind != problem.Failed || !strings.Contains(crash.Why, "not a directory") {
		t.Errorf("got %+v, want a failure with the engine's reason", err)
	}
}

func TestEngineThatIsMissing(t *testing.T) {
	b := newBench(t)
	_, err := Start(t.Context(), b.journal,
		Config{Run: runID(), Dockerd: "/nowhere/dockerd-99", Driver: "vfs", DataRoot: b.dir})
	var missing *problem.Problem
	if !errors.As(err, &missing) || missing.Why != "dockerd-99 is not installed" ||
		!strings.Contains(missing.Remedy, "docker.io") {
		t.Errorf("got %v", err)
	}
}

func TestDataRootThatIsAMountIsLeftAlone(t *testing.T) {
	b := newBench(t)
	_, err := Start(t.Context(), b.journal, Config{Run: runID(), Driver: "vfs", DataRoot: "/dev/shm"})
	if err == nil || !strings.Contains(err.Error(), "mount point") {
		t.Errorf("got %v", err)
	}
}

func TestStartIsCancelled(t *testing.T) {
	b := newBench(t)
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(50*time.Millisecond, cancel)
	if _, err := b.start(ctx, "vfs"); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if left := b.journal.Pending(); len(left) > 0 {
		t.Errorf("%d changes are left in the journal", len(left))
	}
}

func TestExec(t *testing.T) {
	b := newBench(t)
	seen := t.TempDir()
	_, c := b.mustRun(t, "overlay2", ContainerConfig{
		Binds: []Bind{{Host: seen, Inside: "/seen"}}, WorkingDir: "/data", Env: []string{"COLOUR=green"},
		MemoryBytes: 128 << 20,
	})
	for _, test := range []struct {
		name   string
		argv   []string
		dir    string
		code   int
		signal string
		oom    bool
		says   string
	}{
		{"success", []string{"sh", "-c", "echo out"}, "", 0, "", false, "out\n"},
		{"standard error", []string{"sh", "-c", "echo err >&2"}, "", 0, "", false, "err\n"},
		{"working directory", []string{"sh", "-c", "pwd"}, "/tmp", 0, "", false, "/tmp\n"},
		{"container's directory", []string{"sh", "-c", "pwd"}, "", 0, "", false, "/data\n"},
		{"environment", []string{"sh", "-c", "echo $COLOUR"}, "", 0, "", false, "green\n"},
		{"bind", []string{"sh", "-c", "echo hello > /seen/file"}, "", 0, "", false, ""},
		{"no network", []string{"sh", "-c", "echo /sys/class/net/*"}, "", 0, "", false, "/sys/class/net/lo\n"},
		{"exit code", []string{"sh", "-c", "exit 7"}, "", 7, "", false, ""},
		{"exit code of a shell's miss", []string{"sh", "-c", "no-such-program"}, "", 127, "", false, "not found"},
		{"signal", []string{"sh", "-c", "kill -TERM $$"}, "", 143, "terminated", false, ""},
		{"error of fio", []string{"fio", "--name=x", "--rw=sideways"}, "", 1, "", false, "sideways"},
		{"out of memory", []string{"sh", "-c", "x=aaaaaaaa; while :; do x=$x$x; done"}, "", 137, "killed", true, ""},
		{"child out of memory", []string{"sh", "-c", "sh -c 'x=aaaaaaaa; while :; do x=$x$x; done'; exit 0"}, "", 0, "",
			true, ""},
		{"and memory is no matter afterwards", []string{"sh", "-c", "exit 3"}, "", 3, "", false, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			exit, err := c.Exec(t.Context(), test.argv, test.dir)
			if err != nil {
				t.Fatal(err)
			}
			if exit.Code != test.code || exit.Signal != test.signal || exit.OOMKilled != test.oom ||
				!strings.Contains(exit.Stderr, test.says) {
				t.Errorf("got %+v", exit)
			}
		})
	}
	if got, err := os.ReadFile(filepath.Join(seen, "file")); err != nil || string(got) != "hello\n" {
		t.Errorf("through the bind came %q, %v", got, err)
	}
	t.Run("program that is missing", func(t *testing.T) {
		_, err := c.Exec(t.Context(), []string{"nosuch"}, "")
		if err == nil || !strings.Contains(err.Error(), `"nosuch": executable file not found`) {
			t.Errorf("got %v", err)
		}
	})
	t.Run("directory that is missing", func(t *testing.T) {
		_, err := c.Exec(t.Context(), []string{"sh"}, "/no/such\x00dir")
		if err == nil {
			t.Error("got no error")
		}
	})
	t.Run("child left running", func(t *testing.T) {
		// It has closed its output, so nobody waits for it.
		exit, err := c.Exec(t.Context(), []string{"sh", "-c", "sleep 4711 >/dev/null 2>&1 & exit 0"}, "")
		if err != nil || exit.Code != 0 {
			t.Errorf("got %+v, %v", exit, err)
		}
		if pids := running("sleep\x004711"); len(pids) > 0 {
			t.Errorf("processes %v are left", pids)
		}
	})
}

// running lists processes by part of their command line.
func running(cmdline string) []string {
	var pids []string
	files, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, f := range files {
		if b, err := os.ReadFile(f); err == nil && strings.Contains(string(b), cmdline) {
			pids = append(pids, filepath.Base(filepath.Dir(f)))
		}
	}
	return pids
}

// sleepers are the processes that sleep for so many seconds, and the shells that have them do so.
// The number alone may be part of anything, such as a path that a test was given at random.
func sleepers(seconds string) []string {
	return append(running("sleep\x00"+seconds), running("sleep "+seconds)...)
}

// hang is how long something may take that a busy host delays, and that comes by itself.
const hang = 3 * time.Minute

// until polls a condition; the test fails when it stays false.
func until(t *testing.T, event string, condition func() bool) {
	t.Helper()
	for start := time.Now(); !condition(); time.Sleep(10 * time.Millisecond) {
		if time.Since(start) > hang {
			t.Fatal("never came: " + event)
		}
	}
}

func TestCancelEndsTheProcessAndItsChildren(t *testing.T) {
	b := newBench(t)
	_, c := b.mustRun(t, "overlay2", ContainerConfig{})
	t.Run("while it runs", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() {
			// Deaf to polite signals, with a child that left its session.
			_, err := c.Exec(ctx, []string{"sh", "-c", `trap "" TERM INT HUP; (sleep 4712 &) ; sleep 4712; sleep 4712`}, "")
			done <- err
		}()
		until(t, "two sleeping processes", func() bool { return len(running("sleep\x004712")) == 2 })
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
		if pids := sleepers("4712"); len(pids) > 0 {
			t.Errorf("processes %v are left", pids)
		}
	})
	t.Run("while it starts", func(t *testing.T) {
		for _, delay := range []time.Duration{0, 5, 20, 40, 80} {
			ctx, cancel := context.WithCancel(t.Context())
			time.AfterFunc(delay*time.Millisecond, cancel)
			if _, err := c.Exec(ctx, []string{"sleep", "4713"}, ""); !errors.Is(err, context.Canceled) {
				t.Errorf("after %d ms: got %v", delay, err)
			}
			if pids := sleepers("4713"); len(pids) > 0 {
				t.Errorf("after %d ms: processes %v are left", delay, pids)
			}
		}
	})
	t.Run("and the container goes on", func(t *testing.T) {
		if exit, err := c.Exec(t.Context(), []string{"sh", "-c", "exit 0"}, ""); err != nil || exit.Code != 0 {
			t.Errorf("got %+v, %v", exit, err)
		}
	})
}

func TestEngineDiesUnderAStep(t *testing.T) {
	b := newBench(t)
	e, c := b.mustRun(t, "overlay2", ContainerConfig{})
	done := make(chan error, 1)
	go func() {
		_, err := c.Exec(t.Context(), []string{"sleep", "4714"}, "")
		done <- err
	}()
	until(t, "a sleeping process", func() bool { return len(running("sleep\x004714")) == 1 })
	pid := readPid(t, e)
	if err := unix.Kill(pid, unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err == nil || !strings.Contains(err.Error(), "engine") {
		t.Errorf("got %v, want word of the engine's end", err)
	}
	if err := errors.Join(c.Remove(t.Context()), e.Stop(t.Context())); err != nil {
		t.Error(err)
	}
	if pids := sleepers("4714"); len(pids) > 0 {
		t.Errorf("processes %v are left", pids)
	}
}

func readPid(t *testing.T, e *Engine) (pid int) {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(e.execRoot, "docker.pid"))
	if err == nil {
		_, err = fmt.Sscan(string(b), &pid)
	}
	if err != nil {
		t.Fatal(err)
	}
	return pid
}

func TestTwoEnginesSideBySide(t *testing.T) {
	b := newBench(t)
	first, c1 := b.mustRun(t, "overlay2", ContainerConfig{})
	second, c2 := b.mustRun(t, "vfs", ContainerConfig{})
	if err := first.Stop(t.Context()); err != nil {
		t.Error(err)
	}
	if exit, err := c2.Exec(t.Context(), []string{"sh", "-c", "exit 5"}, ""); err != nil || exit.Code != 5 {
		t.Errorf("the second engine's container gives %+v, %v once the first engine is stopped", exit, err)
	}
	if _, err := c1.Exec(t.Context(), []string{"sh"}, ""); err == nil {
		t.Error("the first engine's container still answers")
	}
	if err := second.Stop(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestDirectoryOfTheUsersEngineIsLeftAlone(t *testing.T) {
	b := newBench(t)
	// As a stopped engine of the user's leaves it.
	const dir = "/run/docker"
	if err := os.Mkdir(dir, 0o711); err != nil {
		t.Skipf("another engine is at work here: %v", err)
	}
	t.Cleanup(func() {
		for _, d := range []string{dir + "/plugins", dir} {
			if err := os.Remove(d); err != nil {
				t.Errorf("the user's directory: %v", err)
			}
		}
	})
	e, err := b.start(t.Context(), "vfs")
	if err != nil {
		t.Fatal(err)
	}
	if err := e.Stop(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestContainerThatCannotBe(t *testing.T) {
	b := newBench(t)
	e, err := b.start(t.Context(), "vfs")
	if err != nil {
		t.Fatal(err)
	}
	missing := filepath.Join(b.dir, "missing")
	_, err = e.Run(t.Context(), b.journal, ContainerConfig{
		Name: "bad", Image: Image{Ref: "nosuch"},
		Binds:   []Bind{{Host: missing, Inside: "/data"}, {Host: "relative", Inside: "inside"}},
		Devices: []string{missing + "-device"},
	})
	for _, problem := range []string{missing + ":", "relative at inside", missing + "-device"} {
		if err == nil || !strings.Contains(err.Error(), problem) {
			t.Errorf("got %v, want it to name %s", err, problem)
		}
	}
	if _, err := os.Stat(missing); err == nil {
		t.Error("the engine made the missing path")
	}
	_, err = e.Run(t.Context(), b.journal, ContainerConfig{Name: "bad", Image: Image{Ref: "nosuch"}})
	if err == nil || !strings.Contains(strings.ToLower(err.Error()), "no such image") {
		t.Errorf("got %v", err)
	}
}

// child starts an engine with a container that is at work, says so, and waits
// to be killed.
func child(ctx context.Context, dir string) error {
	j, err := journal.Create(filepath.Join(dir, "state"), runID())
	if err != nil {
		return err
	}
	b := &bench{j, dir}
	e, err := b.start(ctx, os.Getenv(childVariable+"_DRIVER"))
	if err != nil {
		return err
	}
	c, err := b.run(ctx, e, ContainerConfig{})
	if err != nil {
		return err
	}
	_, err = c.Exec(ctx, []string{"sh", "-c", "(sleep 4715 &); sleep 4715"}, "")
	return err
}

// TestKilledProgram kills the whole program without warning and cleans up
// after it: while its container is at work, and at steps of its journal
// before.
func TestKilledProgram(t *testing.T) {
	const working = "sleep\x004715"
	for _, test := range []struct{ name, driver, crashAt, kill string }{
		{"before the engine", "overlay2", "2:intent", ""},
		{"while the engine starts", "overlay2", "", "dockerd\x00--config-file\x00/run/plimsoll/" + runID()},
		{"behind the engine", "overlay2", "2:made", ""},
		{"before the container", "overlay2", "3:intent", ""},
		{"while the container starts", "overlay2", "", "-address\x00/run/plimsoll/" + runID()},
		{"behind the container", "overlay2", "3:made", ""},
		{"before the step", "overlay2", "4:intent", ""},
		{"at work", "overlay2", "", working},
		{"at work in user space", "fuse-overlayfs", "", working},
	} {
		t.Run(test.name, func(t *testing.T) {
			hosttest.Exclusive(t)
			dir := t.TempDir()
			cmd := exec.Command(os.Args[0])
			cmd.Env = append(os.Environ(), childVariable+"="+dir, childVariable+"_RUN="+runID(),
				childVariable+"_DRIVER="+test.driver,
				journal.CrashVariable+"="+test.crashAt)
			cmd.Stderr = os.Stderr
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			if test.kill != "" {
				until(t, test.name, func() bool { return len(running(test.kill)) > 0 })
				if err := cmd.Process.Kill(); err != nil {
					t.Fatal(err)
				}
			}
			var exit *exec.ExitError
			if err := cmd.Wait(); !errors.As(err, &exit) || exit.ExitCode() != -1 {
				t.Errorf("the child ended with %v, not by SIGKILL", err)
			}
			reports, err := journal.Clean(t.Context(), filepath.Join(dir, "state"))
			if err != nil || len(reports) != 1 {
				t.Errorf("clean: %v, %+v", err, reports)
			}
			if pids := sleepers("4715"); len(pids) > 0 {
				t.Errorf("processes %v are left", pids)
			}
		})
	}
}
