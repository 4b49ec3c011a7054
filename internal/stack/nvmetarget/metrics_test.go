package nvmetarget

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"plimsoll/internal/host/blockdev"
	"plimsoll/internal/host/hostfs"
	"plimsoll/internal/host/hostinfo"
	"plimsoll/internal/stack/nvmetarget/metrics"
)

// exports is a host that exports a device, or none.
func exports(t *testing.T, device string) *Targets {
	t.Helper()
	targets := &Targets{State: t.TempDir(), Configfs: t.TempDir(), Host: hostinfo.New()}
	if device == "" {
		return targets
	}
	dir := filepath.Join(targets.Configfs, "nvmet/subsystems/nqn.2026-01.test/namespaces/1")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, value := range map[string]string{"device_path": device,
		"device_uuid": "5ad9a0c6-8a3c-4a56-9a3b-2d6f6f6a9a11", "enable": "1"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(value+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return targets
}

// What the device of a namespace did is told as the kernel counts it; a file has
// no counters, and nothing is told of it.
func TestNamespacesThatAreToldAreRead(t *testing.T) {
	disk, err := blockdev.Chain(hostfs.Default(), t.TempDir())
	if err != nil || len(disk) == 0 {
		t.Skipf("no block device holds %s (%v)", os.TempDir(), err)
	}
	for _, device := range []string{"/dev/" + disk[0].Name, filepath.Join(t.TempDir(), "file")} {
		ctx, stop := context.WithCancel(t.Context())
		listens, ended := make(chan net.Addr, 1), make(chan error, 1)
		go func() {
			ended <- exports(t, device).ServeMetrics(ctx, "127.0.0.1:0", false, func(at net.Addr) { listens <- at })
		}()
		before, err := blockdev.ReadCounters(hostfs.Default(), disk[:1])
		if err != nil {
			t.Fatal(err)
		}
		target, err := metrics.Read(ctx, "http://"+(<-listens).String()+"/metrics")
		stop()
		err = errors.Join(err, <-ended)
		if err != nil {
			t.Fatal(err)
		}
		after, err := blockdev.ReadCounters(hostfs.Default(), disk[:1])
		if err != nil {
			t.Fatal(err)
		}
		ns := target.Namespace("nqn.2026-01.test", "5AD9A0C6-8a3c-4a56-9a3b-2d6f6f6a9a11")
		if filepath.Base(device) == "file" {
			if ns.NQN != "" {
				t.Errorf("a file has done %+v", ns)
			}
			continue
		}
		if ns.Reads < float64(before[0].Reads) || ns.Reads > float64(after[0].Reads) ||
			ns.Writes < float64(before[0].Writes) || ns.Writes > float64(after[0].Writes) {
			t.Errorf("%+v is shown, between %+v and %+v", ns, before[0], after[0])
		}
		if ns.Reads > 0 && !(ns.ReadSeconds > 0) {
			t.Errorf("%.0f reads took no time", ns.Reads)
		}
	}
}

// processorTime returns what this process used.
func processorTime(t *testing.T) time.Duration {
	t.Helper()
	var used unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &used); err != nil {
		t.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

// What this host tells is what a run reads: processors that work show as busy.
func TestProcessorTimeThatIsToldIsRead(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	listens, ended := make(chan net.Addr, 1), make(chan error, 1)
	go func() {
		ended <- exports(t, "").ServeMetrics(ctx, "127.0.0.1:0", false, func(at net.Addr) { listens <- at })
	}()
	url := "http://" + (<-listens).String() + "/metrics"
	began := time.Now()
	before, err := metrics.Read(ctx, url)
	if err != nil {
		t.Fatal(err)
	}
	used := processorTime(t) + 300*time.Millisecond // of this process, however long it waits for a processor
	for processorTime(t) < used {
	}
	after, err := metrics.Read(ctx, url)
	if err != nil {
		t.Fatal(err)
	}
	busy, passed := after.BusySeconds-before.BusySeconds, time.Since(began).Seconds()
	if !after.At.After(before.At) || after.At.Sub(before.At).Seconds() > passed {
		t.Errorf("read at %v and at %v, %.2f s apart", before.At, after.At, passed)
	}
	// The kernel counts in hundredths of a second, and others work here too.
	if busy < 0.1 || busy > passed*float64(after.CPUs)+0.1*float64(after.CPUs) {
		t.Errorf("%.2f s busy in %.2f s of %d processors", busy, passed, after.CPUs)
	}
	if after.CPUs < runtime.NumCPU() {
		t.Errorf("%d processors, and this process alone may use %d", after.CPUs, runtime.NumCPU())
	}
	stop()
	if err := <-ended; err != nil {
		t.Errorf("ends with %v", err)
	}
	if _, err := metrics.Read(t.Context(), url); err == nil {
		t.Error("it answers when it has ended")
	}
}
