package journal

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
)

// A process that becomes one program after the other is found at any moment.
func TestAProcessIsFoundWhileItBecomesAnotherProgram(t *testing.T) {
	const mark = "becoming"
	// Each shell replaces itself with the next, until it is killed.
	script := filepath.Join(t.TempDir(), "again")
	if err := os.WriteFile(script, []byte("#!/bin/sh\nexec \"$0\"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(script)
	cmd.Env = append(os.Environ(), MarkVariable+"="+mark)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}()
	for i := range 300 {
		if !slices.Contains(Marked(mark), cmd.Process.Pid) {
			t.Fatalf("it is not found the %d. time", i+1)
		}
	}
}

// Kernel threads, and programs without any environment, are not waited for.
func TestWhatHasNoEnvironmentIsNotWaitedFor(t *testing.T) {
	cmd := exec.Command("sleep", "60")
	cmd.Env = []string{}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}()
	dir := filepath.Join("/proc", strconv.Itoa(cmd.Process.Pid))
	if env := environment(dir, make([]byte, 4096)); len(env) > 0 {
		t.Errorf("its environment is %q", env)
	}
	if hasEnvironment(dir) {
		t.Error("a program without an environment is said to have one")
	}
	if hasEnvironment("/proc/2") { // kthreadd, unless this is a container
		t.Error("a kernel thread is said to have an environment")
	}
}
