package observe

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"plimsoll/internal/host/blockdev"
	"plimsoll/internal/host/hostfs"
	"plimsoll/internal/result"
	"plimsoll/internal/testkit/hosttest"
)

// makeGroups makes a group of that name below ours, in every hierarchy that is read, and returns its directories.
func makeGroups(t testing.TB, name string) []string {
	t.Helper()
	roots := hostfs.Default()
	mounts, err := hierarchies(roots)
	if err != nil {
		t.Fatal(err)
	}
	group, err := GroupOf(roots, os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	var made []string
	for _, h := range group.hierarchies() {
		parent := *h.dir
		if parent == "" {
			parent = directory(roots, mounts, h.controller, "/.") // the root, which no group may be
		}
		if parent == "" { // the hierarchy is not mounted
			continue
		}
		dir := filepath.Join(parent, name)
		err := os.Mkdir(dir, 0o755)
		if errors.Is(err, os.ErrExist) { // cpu and cpuacct are one
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		made = append(made, dir)
		t.Cleanup(func() {
			// The kernel takes a process out of its group a little after its end was told.
			err := os.Remove(dir)
			for range 100 {
				if err == nil {
					return
				}
				time.Sleep(10 * time.Millisecond)
				err = os.Remove(dir)
			}
			t.Error(err)
		})
	}
	if len(made) == 0 {
		t.Skip("no cgroups are mounted here")
	}
	return made
}

// startIn starts a program, as move does.
func startIn(t testing.TB, dirs []string, argv ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(argv[0], argv[1:]...)
	move(t, cmd, dirs)
	return cmd
}

// move starts a command and moves it into groups; it is killed when the test ends.
func move(t testing.TB, cmd *exec.Cmd, dirs []string) {
	t.Helper()
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: unix.SIGKILL}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // or it ended
		_ = cmd.Wait()         // likewise
	})
	for _, dir := range dirs {
		pid := strconv.Itoa(cmd.Process.Pid)
		err := os.WriteFile(filepath.Join(dir, "cgroup.procs"), []byte(pid), 0o644) //nolint:gosec // the kernel's
		if err != nil {
			t.Fatal(err)
		}
	}
}

// cpuTime is what a process has used.
func cpuTime(t *testing.T, pid int) time.Duration {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/schedstat", pid))
	if err != nil {
		t.Skip(err)
	}
	first, _, _ := strings.Cut(string(text), " ")
	ns, err := strconv.ParseInt(first, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return time.Duration(ns)
}

// A busy loop uses one processor, or as much of it as others leave; a process that sleeps uses none. When both have
// ended, sampling goes on.
func TestABusyLoopUsesAProcessor(t *testing.T) {
	hosttest.Measures(t)
	busyDirs, idleDirs := makeGroups(t, "plimsoll-observe-busy"), makeGroups(t, "plimsoll-observe-idle")
	busy := startIn(t, busyDirs, "sh", "-c", "while :; do :; done")
	idle := startIn(t, idleDirs, "sleep", "1000")
	var instances []Instance
	for i, cmd := range []*exec.Cmd{busy, idle} {
		g, err := GroupOf(hostfs.Default(), cmd.Process.Pid)
		if err != nil {
			t.Fatal(err)
		}
		instances = append(instances, Instance{Index: i, Group: g})
	}
	const interval = 100 * time.Millisecond
	r, err := Start(Subject{Instances: instances, Host: true}, hostfs.Default(), interval)
	if err != nil {
		t.Fatal(err)
	}
	used, began := cpuTime(t, busy.Process.Pid), time.Now()
	time.Sleep(1500 * time.Millisecond)
	used, passed := cpuTime(t, busy.Process.Pid)-used, time.Since(began)
	if err := errors.Join(busy.Process.Kill(), idle.Process.Kill()); err != nil {
		t.Fatal(err)
	}
	time.Sleep(3 * interval)
	series := r.Stop()

	whole := int(passed/interval) - 1 // intervals that the loop ran in from end to end
	mean := func(source string, instance int, metrics ...string) (sum float64) {
		t.Helper()
		found := 0
		for _, s := range series {
			for _, m := range metrics {
				if s.Source != source || s.Instance != instance || s.Metric != m {
					continue
				}
				found++
				if len(s.Values) < whole+3 {
					t.Fatalf("%s has %d values, want those after the end of the loop too", m, len(s.Values))
				}
				for _, v := range s.Values[:whole] {
					sum += v / float64(whole)
				}
			}
		}
		if found != len(metrics) {
			t.Fatalf("%d of %q are in the series", found, metrics)
		}
		return sum
	}
	want := used.Seconds() / passed.Seconds()
	if want < 0.1 {
		t.Skipf("others leave %.2f of a processor to the loop", want)
	}
	if got := mean(InstanceSource, 0, "cpu.user", "cpu.system"); got < want-0.15 || got > want+0.15 {
		t.Errorf("the loop used %.2f CPUs, and %.2f are shown", want, got)
	}
	if got := mean(InstanceSource, 1, "cpu.user", "cpu.system"); !(got < 0.02) {
		t.Errorf("%.3f CPUs are reported a process that sleeps", got)
	}
	if got := mean(HostSource, result.NoInstance, "cpu.user", "cpu.system"); got < want-0.15 {
		t.Errorf("%.2f CPUs are reported the host, and the loop alone used %.2f", got, want)
	}
}

// What a group reads from a loop device is told of the group, by whichever means the kernel has, and of the device. The
// process that reads has ended, and been waited for, when sampling stops.
func TestReadsOfAGroup(t *testing.T) {
	hosttest.Measures(t)
	const mib = 64
	file := filepath.Join(t.TempDir(), "disk.img")
	if err := os.WriteFile(file, make([]byte, mib<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	device := hosttest.Loop(t, file, "--direct-io=on")
	hosttest.Quiet(t, device)
	devices, err := blockdev.Chain(hostfs.Default(), device)
	if err != nil {
		t.Fatal(err)
	}
	script := fmt.Sprintf("read go; dd if=%s of=/dev/null bs=1M count=%d iflag=direct status=none; echo done; read end",
		device, mib)
	cmd := exec.Command("sh", "-c", script)
	in, err := cmd.StdinPipe() // closed when the test ends: until then the shell stays
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	move(t, cmd, makeGroups(t, "plimsoll-observe-reads"))
	g, err := GroupOf(hostfs.Default(), cmd.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	r, err := Start(Subject{Instances: []Instance{{Group: g}}, Devices: devices}, hostfs.Default(), time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	if _, err := in.Write([]byte("go\n")); err != nil {
		t.Fatal(err)
	}
	done := make([]byte, len("done"))
	if _, err := io.ReadFull(out, done); err != nil {
		t.Fatal(err)
	}
	time.Sleep(time.Second) // makes the time that Start and Stop take a small part
	series := r.Stop()
	passed := time.Since(began).Seconds()
	found := 0
	for _, s := range series {
		if s.Metric != "io.read_bytes" || s.Source != InstanceSource && s.Source != DeviceSource(devices[0]) {
			continue
		}
		found++
		if len(s.Values) != 1 {
			t.Fatalf("%d values, want one, of the time until it was stopped", len(s.Values))
		}
		if read := s.Values[0] * passed / (1 << 20); !(read > 0.85*mib && read < 1.15*mib) {
			t.Errorf("%s read %.1f MiB, want %d", s.Source, read, mib)
		}
	}
	if found != 2 {
		t.Errorf("%d series of bytes, want that of the instance and of the device", found)
	}
}

// BenchmarkSample takes one sample of 16 instances, a scaled-down host, two devices and the host, of this host's own
// files. What it reports as %core is how much of one processor that takes when it is done once a second. On version 1
// of cgroups, the processes are asked where the kernel counts no device; elsewhere both cases are the same.
func BenchmarkSample(b *testing.B) {
	if os.Getuid() != 0 {
		b.Skip("only root makes cgroups")
	}
	roots := hostfs.Default()
	subject := Subject{Host: true, Devices: someDevices(b, roots)}
	for i := range 16 {
		dirs := makeGroups(b, fmt.Sprintf("plimsoll-observe-bench-%d", i))
		cmd := startIn(b, dirs, "sleep", "1000")
		g, err := GroupOf(roots, cmd.Process.Pid)
		if err != nil {
			b.Fatal(err)
		}
		subject.Instances = append(subject.Instances, Instance{Index: i, Group: g})
	}
	subject.Miniature = &subject.Instances[0].Group
	b.Run("counters", func(b *testing.B) { benchmarkSample(b, subject, roots) })
	for i := range subject.Instances {
		subject.Instances[i].Devices = []string{"999:0"} // that nobody has
	}
	b.Run("processes", func(b *testing.B) { benchmarkSample(b, subject, roots) })
}

func benchmarkSample(b *testing.B, subject Subject, roots hostfs.Roots) {
	r := newRecorder(subject, roots, time.Second)
	defer func() {
		for _, c := range r.courses {
			c.reader.close()
		}
	}()
	r.begin()
	processor := func() time.Duration {
		var u unix.Rusage
		_ = unix.Getrusage(unix.RUSAGE_SELF, &u) // fails for no valid argument
		return time.Duration(u.Utime.Nano() + u.Stime.Nano())
	}
	b.ReportAllocs()
	before := processor()
	for b.Loop() {
		r.sample(1)
	}
	each := (processor() - before).Seconds() / float64(b.N)
	b.ReportMetric(100*each, "%core")
}

// someDevices returns two block devices of this host, or fewer.
func someDevices(b *testing.B, roots hostfs.Roots) (all []result.Device) {
	b.Helper()
	entries, err := os.ReadDir(roots.InSys("block"))
	if err != nil {
		b.Fatal(err)
	}
	for _, e := range entries[:min(2, len(entries))] {
		number, err := os.ReadFile(roots.InSys("block", e.Name(), "dev"))
		if err != nil {
			continue // a path of an NVMe device
		}
		all = append(all, result.Device{Name: e.Name(), MajMin: strings.TrimSpace(string(number))})
	}
	return all
}
