package capture

import (
	"os"
	"os/exec"
	"runtime"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"plimsoll/internal/hosttest"
)

// attachVariable says for how long TestAttachingUnderLoad attaches and detaches
// programs, "2m" for instance; a second without it.
const attachVariable = "PLIMSOLL_TEST_ATTACH"

// To attach a program the kernel changes code that CPUs are executing. Emulated CPUs
// were seen to lock up for ever over that, those that all make system calls within
// twenty times: see emulationThreads in package lab.
func TestAttachingUnderLoad(t *testing.T) {
	hosttest.Exclusive(t)
	limit := time.Second
	if text := os.Getenv(attachVariable); text != "" {
		var err error
		if limit, err = time.ParseDuration(text); err != nil {
			t.Fatalf("%s: %v", attachVariable, err)
		}
	}
	device, number := loop(t)
	// Programs at requests, and at the system calls of all CPUs.
	r := start(t, Options{Devices: []string{number}, Application: true})
	bpf := r.way.(*bpfRecorder)
	stop := busy(t, device)
	times := 0
	for deadline := time.Now().Add(limit); time.Now().Before(deadline); {
		for _, name := range []string{"call_enter", "call_exit", "call_enter", "rq_issue", "call_enter", "bio_queue"} {
			if err := bpf.detachOne(name); err != nil {
				t.Fatal(err)
			}
			if err := bpf.attachOne(name, bpf.coll.Programs[name]); err != nil {
				t.Fatal(err)
			}
			times++
		}
	}
	stop()
	a := stopped(t, r)
	t.Logf("programs were attached and detached %d times in %s", times, limit)
	if a.Devices[0].Requests == 0 {
		t.Error("the programs saw no request")
	}
}

// busy keeps all CPUs busy with system calls and requests until stop is called.
func busy(t *testing.T, device string) (stop func()) {
	t.Helper()
	load := exec.Command("fio", "--name=t", "--filename="+device, "--direct=1", "--bs=4k", "--size=64m", "--rw=randrw",
		"--ioengine=libaio",
		"--iodepth=8", "--time_based", "--runtime=3600", "--thread", "--output=/dev/null")
	// It dies with the thread that starts it.
	load.SysProcAttr = &unix.SysProcAttr{Pdeathsig: unix.SIGKILL}
	runtime.LockOSThread()
	if err := load.Start(); err != nil {
		t.Fatal(err)
	}
	quit := make(chan struct{})
	for range runtime.NumCPU() {
		go func() {
			for {
				select {
				case <-quit:
					return
				default:
					unix.Getppid()
				}
			}
		}()
	}
	done := false
	stop = func() {
		if done {
			return
		}
		done = true
		close(quit)
		_ = load.Process.Kill()
		_ = load.Wait() // it was killed
		runtime.UnlockOSThread()
	}
	t.Cleanup(stop)
	return stop
}
