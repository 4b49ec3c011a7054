package capture

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"plimsoll/internal/testkit/hosttest"
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

// requests are the reads and writes that a device has completed, by the first and the fifth number
// of the kernel's Documentation/block/stat.rst.
func requests(t *testing.T, device string) (n uint64) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("/sys/block", filepath.Base(device), "stat"))
	if err != nil {
		t.Fatal(err)
	}
	for i, field := range strings.Fields(string(text)) {
		if i != 0 && i != 4 {
			continue
		}
		one, err := strconv.ParseUint(field, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		n += one
	}
	return n
}

// busy keeps all CPUs busy with system calls and requests, from when it returns until stop is called.
func busy(t *testing.T, device string) (stop func()) {
	t.Helper()
	load := exec.Command("fio", "--name=t", "--filename="+device, "--direct=1", "--bs=4k", "--size=64m", "--rw=randrw",
		"--ioengine=libaio",
		"--iodepth=8", "--time_based", "--runtime=3600", "--thread", "--output=/dev/null")
	// It dies with the thread that starts it.
	load.SysProcAttr = &unix.SysProcAttr{Pdeathsig: unix.SIGKILL}
	runtime.LockOSThread()
	before := requests(t, device)
	if err := load.Start(); err != nil {
		t.Fatal(err)
	}
	// On an emulated host that has much to do, fio takes longer to start than the test lasts.
	for deadline := time.Now().Add(2 * time.Minute); requests(t, device) < before+100; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Error("fio made no request in two minutes")
			break
		}
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
