package container

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"plimsoll/internal/state/journal"
	"plimsoll/internal/workload"
)

// shims are the processes that keep an engine's containers.
func shims(e *Engine) []int {
	var pids []int
	for _, pid := range pidsOf(e.execRoot) {
		if comm, err := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid)); err == nil &&
			strings.HasPrefix(string(comm), "containerd-shim") {
			pids = append(pids, pid)
		}
	}
	return pids
}

// pidsOf is running, as numbers.
func pidsOf(cmdline string) []int {
	var pids []int
	for _, text := range running(cmdline) {
		if pid, err := strconv.Atoi(text); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}

func TestTheEngineDoesNotNoticeThatAProcessEnded(t *testing.T) {
	defer func(was time.Duration) { noticeLimit = was }(noticeLimit)
	noticeLimit = 500 * time.Millisecond
	for _, test := range []struct {
		name string
		// fault gets the shim and the process, and ends the latter.
		fault func(t *testing.T, shim, process int)
		after func(shim int)
	}{
		{"its shim was killed", func(t *testing.T, shim, process int) {
			if err := errors.Join(unix.Kill(shim, unix.SIGKILL), unix.Kill(process, unix.SIGKILL)); err != nil {
				t.Fatal(err)
			}
		}, func(int) {}},
		{"its shim hangs and nobody waits for it", func(t *testing.T, shim, process int) {
			if err := errors.Join(unix.Kill(shim, unix.SIGSTOP), unix.Kill(process, unix.SIGKILL)); err != nil {
				t.Fatal(err)
			}
		}, func(shim int) { _ = unix.Kill(shim, unix.SIGCONT) }},
	} {
		t.Run(test.name, func(t *testing.T) {
			b := newBench(t)
			e, c := b.mustRun(t, "overlay2", ContainerConfig{})
			done := make(chan error, 1)
			var exit workload.Exit
			go func() {
				var err error
				exit, err = c.Exec(t.Context(), []string{"sleep", "4716"}, "")
				done <- err
			}()
			until(t, "a sleeping process", func() bool { return len(running("sleep\x004716")) == 1 && len(shims(e)) == 1 })
			shim := shims(e)[0]
			test.fault(t, shim, pidsOf("sleep\x004716")[0])
			defer test.after(shim)
			select {
			case err := <-done:
				noticed := err == nil && exit.Signal == "killed" // now and then it does, and knows how
				if !noticed && (err == nil || !strings.Contains(err.Error(), "engine")) {
					t.Errorf("got %v, %+v, want word of the engine", err, exit)
				}
			case <-time.After(hang):
				t.Error("it waits forever")
			}
			test.after(shim)
			if err := errors.Join(c.Remove(t.Context()), e.Stop(t.Context())); err != nil {
				t.Error(err)
			}
			if pids := sleepers("4716"); len(pids) > 0 {
				t.Errorf("processes %v are left", pids)
			}
		})
	}
}

// TestContainerdDiesAsAProcessIsStarted: dockerd then says what it says of a
// program that is missing, and that must not be what the user is told.
func TestContainerdDiesAsAProcessIsStarted(t *testing.T) {
	b := newBench(t)
	e, c := b.mustRun(t, "overlay2", ContainerConfig{})
	containerd := 0
	for _, pid := range pidsOf(e.execRoot) {
		if comm, err := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid)); err == nil &&
			strings.TrimSpace(string(comm)) == "containerd" {
			containerd = pid
		}
	}
	if containerd == 0 {
		t.Fatal("no containerd is up")
	}
	// Its end is seen a little after dockerd has seen it, as it happens.
	ended, seen := e.containerd, make(chan struct{})
	e.containerd = seen
	go func() { <-ended; time.Sleep(breakLimit / 4); close(seen) }()
	if err := unix.Kill(containerd, unix.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() {
		exit, err := c.Exec(t.Context(), []string{"sleep", "4717"}, "")
		if err == nil {
			err = fmt.Errorf("no error, and %+v", exit)
		}
		done <- err
	}()
	time.Sleep(300 * time.Millisecond) // dockerd waits for containerd, whenever exactly it began to
	if err := unix.Kill(containerd, unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if err := <-done; !strings.Contains(err.Error(), "containerd ended") {
		t.Errorf("got %v, want word of containerd's end", err)
	}
	if err := errors.Join(c.Remove(t.Context()), e.Stop(t.Context())); err != nil {
		t.Error(err)
	}
}

// An engine whose containerd is gone is not asked for anything, as it would wait for that.
// One whose containerd is there is asked, and told to end before it is killed.
func TestAnEngineWithoutContainerdIsNotWaitedFor(t *testing.T) {
	for name, containerd := range map[string]func(t *testing.T, socket string){
		"there": func(t *testing.T, socket string) { listen(t, socket) },
		"dead": func(t *testing.T, socket string) { // which leaves its socket
			listening := listen(t, socket)
			listening.(*net.UnixListener).SetUnlinkOnClose(false)
			if err := listening.Close(); err != nil {
				t.Error(err)
			}
		},
		"never started": func(*testing.T, string) {},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			root, asked := filepath.Join(b.dir, "exec"), filepath.Join(b.dir, "asked")
			if err := os.Mkdir(root, 0o700); err != nil {
				t.Fatal(err)
			}
			containerd(t, filepath.Join(root, containerdSocket))
			requests := 0
			api := &http.Server{Handler: http.HandlerFunc(func(http.ResponseWriter, *http.Request) { requests++ })}
			go func(l net.Listener) { _ = api.Serve(l) }(listen(t, filepath.Join(root, socketName)))
			c := &containerChange{Socket: filepath.Join(root, socketName), Name: "x"}
			if err := c.Undo(t.Context(), ""); err != nil {
				t.Error(err)
			}
			if err := api.Close(); err != nil {
				t.Error(err)
			}

			mark := filepath.Join(b.dir, "mark")
			dockerd := startAs(t, "dockerd", mark,
				"trap 'echo x > "+asked+"; exit' TERM; echo ready; while :; do sleep 0.05; done")
			e := &engineChange{DataRoot: filepath.Join(b.dir, "data"), ExecRoot: root, Cgroup: "plimsoll-test-none"}
			if err := e.Undo(t.Context(), mark); err != nil {
				t.Error(err)
			}
			_ = dockerd.Wait() // it was ended, in one way or the other
			_, err := os.Stat(asked)
			if is := name == "there"; is != (err == nil) || is != (requests == 1) {
				t.Errorf("it got %d requests; that it was asked to end: %v", requests, err)
			}
		})
	}
}

func listen(t *testing.T, socket string) net.Listener {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(context.Background(), "unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() }) // or the test did
	return l
}

// startAs starts a shell that is called so and carries a mark, and returns once it says
// something.
func startAs(t *testing.T, name, mark, script string) *exec.Cmd {
	t.Helper()
	shell := filepath.Join(t.TempDir(), name)
	if out, err := exec.Command("cp", "/bin/sh", shell).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	cmd := exec.Command(shell, "-c", script)
	cmd.Env = append(os.Environ(), journal.MarkVariable+"="+mark)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := out.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	return cmd
}

// A program that did not start is no result of it; one that itself ends like that is.
func TestUnstarted(t *testing.T) {
	for _, c := range []struct {
		exit workload.Exit
		want string
	}{
		{workload.Exit{Code: 126, Stderr: "OCI runtime exec failed: exec failed: no such file\n"},
			"exec failed: no such file"},
		{workload.Exit{Code: 126, Stderr: "ttrpc: closed: unknown\n"}, "its engine lost the process"},
		{workload.Exit{Code: 127, Stderr: "sh: no-such-program: not found"}, ""},
		{workload.Exit{Code: 1, Stderr: "ttrpc: closed: unknown"}, ""},
		{workload.Exit{}, ""},
	} {
		err := programStartError(c.exit)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v, want %q", c.exit, err, c.want)
		}
	}
}
