package watch

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"plimsoll/internal/host/cgroup"
	"plimsoll/internal/iotrace/capture"
	"plimsoll/internal/result"
	"plimsoll/internal/state/journal"
	"plimsoll/internal/testkit/hosttest"
)

const (
	holdFile = "PLIMSOLL_WATCH_TEST_HOLDS"
	heldSize = 64 << 20
)

func TestMain(m *testing.M) {
	if file := os.Getenv(holdFile); file != "" {
		hold(file)
		return
	}
	os.Exit(m.Run())
}

// hold holds anonymous memory, and page cache of a file that it reads twice, until its input ends.
func hold(file string) {
	held, err := unix.Mmap(-1, 0, heldSize, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	for i := 0; err == nil && i < len(held); i += os.Getpagesize() {
		held[i] = 1
	}
	for range 2 {
		if err == nil {
			err = readAll(file)
		}
	}
	fmt.Println("holds", err)
	_, _ = bufio.NewReader(os.Stdin).ReadByte() // until it ends
}

// readAll reads a file, and keeps nothing of it.
func readAll(file string) error {
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = io.Copy(io.Discard, f)
	return err
}

// newGroup makes a cgroup of this host that carries limits.
func newGroup(t *testing.T, name string) *cgroup.Group {
	t.Helper()
	hosttest.Exclusive(t)
	j, err := journal.Create(filepath.Join(t.TempDir(), "state"), "watch-test")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(j.UndoAll(context.Background(), nil), j.Close()); err != nil {
			t.Error(err)
		}
	})
	g, _, err := cgroup.New(
		t.Context(),
		j,
		fmt.Sprint(cgroup.Prefix, name, "-", os.Getpid()),
		cgroup.Options{Limits: true},
	)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// start starts a program in a group; it ends with the test.
func start(t *testing.T, g *cgroup.Group, cmd *exec.Cmd) {
	t.Helper()
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: unix.SIGKILL}
	if err := g.Start(cmd); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // or it ended
		_ = cmd.Wait()         // likewise
	})
}

// until looks at this host until the group at a path is as it should be.
func until(t *testing.T, w *Watcher, path string, is func(Group) bool) Group {
	t.Helper()
	var g Group
	for end := time.Now().Add(5 * time.Minute); time.Now().Before(end); {
		d, err := w.Look(t.Context(), time.Second/4)
		if err != nil {
			t.Fatal(err)
		}
		i := slices.IndexFunc(d.Groups, func(g Group) bool { return g.Path == path })
		if i < 0 {
			continue
		}
		g = d.Groups[i]
		if is(g) {
			return g
		}
	}
	t.Fatalf("the group never was as it should be: %+v", g)
	return g
}

// What fio does in a group of this host is seen by drive, with its latency; and a limit that is set by hand.
func TestAGroupOfThisHost(t *testing.T) {
	g := newGroup(t, "io")
	if why := capture.Ways()[0].Why; why != "" {
		t.Skip(why)
	}
	file := filepath.Join(t.TempDir(), "disk")
	if err := os.WriteFile(file, make([]byte, 32<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	device := hosttest.Loop(t, file)
	start(t, g, exec.CommandContext(t.Context(), "fio", "--name=r", "--filename="+device, "--rw=randread", "--bs=4k",
		"--direct=1", "--thinktime=1ms", "--time_based", "--runtime=1h", "--readonly", "--thread"))
	w, err := New(Options{Sockets: []string{}})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	reads := func(g Group) Stream {
		for _, u := range g.Drives {
			if "/dev/"+u.Device == device {
				return u.Read
			}
		}
		return Stream{}
	}
	seen := until(t, w, "/"+g.Path(), func(g Group) bool { return reads(g).P99 > 0 })
	s := reads(seen)
	if seen.Kind != Plain || s.P50 > s.P99 || s.BytesPerSecond < 4095*s.PerSecond || s.BytesPerSecond > 4097*s.PerSecond {
		t.Errorf("it is %+v", seen)
	}
	if slices.ContainsFunc(seen.Limits, func(l Limit) bool { return l.Device != "" }) {
		t.Errorf("nobody set limits: %+v", seen.Limits)
	}

	number := numberOf(device)
	if _, err := g.LimitDevices(result.Limits{Read: result.Rate{OperationsPerSecond: 77}}, []string{number}); err != nil {
		t.Fatal(err)
	}
	until(t, w, "/"+g.Path(), func(g Group) bool {
		return slices.ContainsFunc(g.Limits, func(l Limit) bool {
			return "/dev/"+l.Device == device && l.Of == keyReadIOPS && l.Held == 77
		})
	})
}

// A limit at what is held leaves a process alone, and takes its page cache; one below it cannot be had.
func TestWhatNoShortageTakes(t *testing.T) {
	g := newGroup(t, "memory")
	swaps, err := os.ReadFile("/proc/swaps")
	if err != nil || strings.Count(string(swaps), "\n") > 1 {
		t.Skip("with swap, a shortage takes what is held", err)
	}
	file := filepath.Join(t.TempDir(), "data")
	if err := os.WriteFile(file, make([]byte, heldSize), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	// Page cache is whose that read it first.
	if err := errors.Join(f.Sync(), unix.Fadvise(int(f.Fd()), 0, 0, unix.FADV_DONTNEED)); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), holdFile+"="+file)
	out, errOut := cmd.StdoutPipe()
	_, errIn := cmd.StdinPipe()
	if err := errors.Join(errOut, errIn); err != nil {
		t.Fatal(err)
	}
	start(t, g, cmd)
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil || line != "holds <nil>\n" {
		t.Fatalf("%q, %v", line, err)
	}
	w, err := New(Options{Sockets: []string{}, NoLatency: true})
	if err != nil {
		t.Fatal(err)
	}
	// Kernels count each processor's last pages late.
	const late = 8 << 20
	m := until(t, w, "/"+g.Path(), func(g Group) bool {
		return g.Memory != nil && g.Memory.Held >= heldSize-late && g.Memory.Cache >= heldSize-late
	}).Memory
	if m.Held > heldSize+64<<20 || m.Enough < m.Held || m.Enough > m.Held+m.Cache {
		t.Errorf("memory %+v", m)
	}
	if _, err := g.Limit(result.Limits{MemoryBytes: (m.Held + late) &^ 4095}, nil); err != nil {
		t.Fatal(err)
	}
	until(t, w, "/"+g.Path(), func(g Group) bool {
		return g.Memory != nil && g.Memory.Held >= heldSize-late && g.Memory.Cache < heldSize-late && g.Memory.OOMKills == 0
	})
	_, err = g.Limit(result.Limits{MemoryBytes: heldSize / 2}, nil)
	if g.HoldsBufferedWrites() { // version 2 takes any limit, and kills
		until(t, w, "/"+g.Path(), func(g Group) bool { return g.Memory != nil && g.Memory.OOMKills > 0 })
	} else if !errors.Is(err, syscall.EBUSY) {
		t.Errorf("a limit below what is held: %v", err)
	}
}

// BenchmarkWatch has fio read a loop device over memory as fast as it can. Seconds without and seconds that are watched
// take turns: by how much reads differ, and how much of a core watching takes.
func BenchmarkWatch(b *testing.B) {
	hosttest.Measures(b)
	dir, err := os.MkdirTemp("/dev/shm", "plimsoll-watch")
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = os.RemoveAll(dir) })
	file := filepath.Join(dir, "disk")
	if err := os.WriteFile(file, make([]byte, 64<<20), 0o600); err != nil {
		b.Fatal(err)
	}
	device := hosttest.Loop(b, file)
	fio := exec.CommandContext(b.Context(), "fio", "--name=r", "--filename="+device, "--rw=randread", "--bs=4k",
		"--direct=1", "--ioengine=libaio", "--iodepth=32", "--time_based", "--runtime=1h", "--readonly", "--thread")
	fio.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: unix.SIGKILL}
	if err := fio.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _, _ = fio.Process.Kill(), fio.Wait() })
	reads := func() float64 {
		text, err := os.ReadFile("/sys/block/" + filepath.Base(device) + "/stat")
		if err != nil {
			b.Fatal(err)
		}
		var n float64
		if _, err := fmt.Sscan(string(text), &n); err != nil {
			b.Fatal(err)
		}
		return n
	}
	spent := func() float64 {
		var used unix.Rusage
		if err := unix.Getrusage(unix.RUSAGE_SELF, &used); err != nil {
			b.Fatal(err)
		}
		return float64(used.Utime.Nano()+used.Stime.Nano()) / 1e9
	}
	var ratios []float64
	var rate, seconds, cpu float64
	for b.Loop() {
		began, before := time.Now(), reads()
		time.Sleep(time.Second)
		unwatched := (reads() - before) / time.Since(began).Seconds()
		w, err := New(Options{Sockets: []string{}})
		if err != nil {
			b.Fatal(err)
		}
		if _, err := w.Look(b.Context(), 10*time.Millisecond); err != nil { // the programs are loaded once
			b.Fatal(err)
		}
		began, before = time.Now(), reads()
		used := spent()
		if _, err := w.Look(b.Context(), time.Second); err != nil {
			b.Fatal(err)
		}
		took := time.Since(began).Seconds()
		cpu, seconds = cpu+spent()-used, seconds+took
		rate += unwatched
		ratios = append(ratios, (reads()-before)/took/unwatched)
		w.Close()
	}
	slices.Sort(ratios)
	b.ReportMetric(rate/float64(b.N), "reads/s")
	b.ReportMetric(ratios[len(ratios)/2], "ratio")
	b.ReportMetric(100*cpu/seconds, "%core")
}
