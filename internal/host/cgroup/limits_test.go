package cgroup

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"plimsoll/internal/result"
	"plimsoll/internal/state/journal"
	"plimsoll/internal/testkit/hosttest"
)

// groups makes groups of a test, which all go with it.
func groups(t *testing.T) func(name string, o Options) *Group {
	t.Helper()
	j, err := journal.Create(t.TempDir(), "limits")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(j.UndoAll(context.Background(), nil), j.Close()); err != nil {
			t.Error(err)
		}
	})
	return func(name string, o Options) *Group {
		t.Helper()
		g, _, err := New(t.Context(), j, fmt.Sprintf("%stest-%s-%d", Prefix, name, os.Getpid()), o)
		if err != nil {
			t.Fatal(err)
		}
		return g
	}
}

func limit(t *testing.T, g *Group, l result.Limits, devices ...string) {
	t.Helper()
	got, err := g.Limit(l, devices)
	if err != nil {
		t.Fatal(err)
	}
	if got != l {
		t.Errorf("%+v were set, and %+v read back", l, got)
	}
	if got, err := g.Limits(devices); err != nil || got != l {
		t.Errorf("%+v were set, and later are %+v (%v)", l, got, err)
	}
}

func usage(t *testing.T, g *Group) Usage {
	t.Helper()
	u, err := g.Usage()
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// run runs a program in the group and returns how long it took.
func run(t *testing.T, g *Group, argv ...string) time.Duration {
	t.Helper()
	cmd := exec.Command(argv[0], argv[1:]...)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	began := time.Now()
	if err := g.Start(cmd); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil && argv[0] != "timeout" {
		t.Fatalf("%v: %v: %s", argv, err, &stderr)
	}
	return time.Since(began)
}

// uncached makes a file that is on disk and not in memory.
func uncached(t *testing.T, dir, name string, size int64) string {
	t.Helper()
	path := filepath.Join(dir, name)
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	zero, err := os.Open("/dev/zero")
	if err != nil {
		t.Fatal(err)
	}
	defer zero.Close()
	_, err = io.CopyN(f, zero, size)
	if err := errors.Join(err, f.Sync(), unix.Fadvise(int(f.Fd()), 0, 0, unix.FADV_DONTNEED)); err != nil {
		t.Fatal(err)
	}
	return path
}

// device makes a loop device and returns its path and its MAJ:MIN.
func device(t *testing.T) (path, number string) {
	t.Helper()
	path = hosttest.Loop(t, uncached(t, t.TempDir(), "disk", 64<<20))
	hosttest.Quiet(t, path)
	text, err := os.ReadFile(filepath.Join("/sys/block", filepath.Base(path), "dev"))
	if err != nil {
		t.Fatal(err)
	}
	return path, strings.TrimSpace(string(text))
}

// Limits vary from trial to trial in one group: each set replaces the one before.
func TestLimitsAreReadBackAndTakenAway(t *testing.T) {
	hosttest.Exclusive(t)
	_, first := device(t)
	_, second := device(t)
	g := groups(t)("all", Options{Limits: true})
	limit(t, g, result.Limits{})
	limit(t, g, result.Limits{
		CPUs: 0.5, CPUSet: "0", MemoryBytes: 64 << 20,
		Read:  result.Rate{BytesPerSecond: 1 << 20, OperationsPerSecond: 100},
		Write: result.Rate{BytesPerSecond: 2 << 20, OperationsPerSecond: 50},
	}, first)
	limit(t, g, result.Limits{CPUs: 1.25, MemoryBytes: 32 << 20, Write: result.Rate{OperationsPerSecond: 70}}, second)
	if l, err := g.Limits([]string{first}); err != nil || l.Read != (result.Rate{}) || l.Write != (result.Rate{}) {
		t.Errorf("the first device is still limited: %+v, %v", l, err)
	}
	limit(t, g, result.Limits{MemoryBytes: 128 << 20}, first, second)
	// Limits of devices alone leave the others.
	only := result.Limits{Read: result.Rate{OperationsPerSecond: 300}}
	if got, err := g.LimitDevices(only, []string{first}); err != nil || got != only {
		t.Errorf("%+v, %v", got, err)
	}
	only.MemoryBytes = 128 << 20
	if got, err := g.Limits([]string{first}); err != nil || got != only {
		t.Errorf("%+v, %v", got, err)
	}
	limit(t, g, result.Limits{}, first, second)
	// Nothing is a multiple of pages or of microseconds by itself.
	got, err := g.Limit(result.Limits{CPUs: 1.0 / 3, MemoryBytes: 64<<20 + 1}, nil)
	if err != nil || got.MemoryBytes != 64<<20 || got.CPUs != 0.33333 {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestALimitThatCannotBeHad(t *testing.T) {
	hosttest.Exclusive(t)
	made := groups(t)
	parent := made("parent", Options{Limits: true})
	limit(t, parent, result.Limits{CPUs: 0.5, CPUSet: "0"})
	child := made("child", Options{Below: parent})
	plain := made("plain", Options{})
	_, number := device(t)
	fewReads := result.Limits{Read: result.Rate{OperationsPerSecond: 5}}
	for _, c := range []struct {
		name    string
		group   *Group
		limits  result.Limits
		devices []string
		says    []string
	}{
		{"another processor than the parent's", child, result.Limits{CPUSet: "0-1"}, nil,
			[]string{"cpuset.cpus", "0-1", "parent"}},
		{"no processors at all", parent, result.Limits{CPUSet: "one"}, nil, []string{`"one" is no range`}},
		{"no such device", parent, fewReads, []string{"4094:1"}, []string{"4094:1", "lsblk"}},
		{"no device", parent, fewReads, nil, []string{"no device is named"}},
		{"less than nothing", parent, result.Limits{CPUs: -1}, nil, []string{"below zero"}},
		{"no time", parent, result.Limits{CPUs: 0.001}, nil, []string{"cpu.", "0.01 processors"}},
		{
			"a group that measures", plain, result.Limits{MemoryBytes: 1 << 20}, nil,
			[]string{"controller memory", "not made to carry limits"},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := c.group.Limit(c.limits, c.devices)
			for _, says := range c.says {
				if err == nil || !strings.Contains(err.Error(), says) {
					t.Errorf("the error is %v, and does not say %s", err, says)
				}
			}
		})
	}
	if v1 := !parent.HoldsBufferedWrites(); v1 {
		shared := made("shared", Options{Below: parent, ShareDevices: true})
		_, err := shared.Limit(fewReads, []string{number})
		if err == nil || !strings.Contains(err.Error(), "others share") {
			t.Errorf("a limit on devices of a group that shares its parent's: %v", err)
		}
	}
	limit(t, parent, fewReads, number)
	limit(t, made("sharing", Options{Below: parent, ShareDevices: true}), result.Limits{CPUs: 0.25})
	if l, err := parent.Limits([]string{number}); err != nil || l.Read.OperationsPerSecond != 5 {
		t.Errorf("a limit of a group below took that of its parent: %+v, %v", l, err)
	}
}

func TestALimitOfProcessorTimeBites(t *testing.T) {
	hosttest.Measures(t)
	g := groups(t)("cpu", Options{Limits: true})
	burn := func() (used, took time.Duration) {
		before, began := usage(t, g), time.Now()
		run(t, g, "timeout", "1.5", "sh", "-c", "while :; do :; done")
		return usage(t, g).CPU - before.CPU, time.Since(began)
	}
	limit(t, g, result.Limits{CPUs: 0.1})
	// An emulated processor needs longer to end it, and a group may have what is left of a period. Where
	// others leave it less than its quota, it is not throttled: then it burns once more.
	var held *Throttling
	for range 100 {
		if used, took := burn(); used == 0 || used > took/10+200*time.Millisecond {
			t.Errorf("with 0.1 processors for %v, %v were used", took, used)
		}
		held = usage(t, g).Throttling
		if held != nil && held.Throttled > 0 {
			break
		}
	}
	if held == nil || held.Throttled == 0 || held.Time == 0 || held.Periods < held.Throttled {
		t.Errorf("the quota bit, and the group shows %+v", held)
	}
	limit(t, g, result.Limits{})
	used, _ := burn()
	free := usage(t, g).Throttling
	if free.Throttled != held.Throttled {
		t.Errorf("without a limit, of which %v of 1.5s were used, the group shows %+v, after %+v", used, free, held)
	}
	last := strconv.Itoa(runtime.NumCPU() - 1)
	limit(t, g, result.Limits{CPUSet: last})
	cmd := exec.Command("grep", "Cpus_allowed_list", "/proc/self/status")
	var said strings.Builder
	cmd.Stdout = &said
	if err := errors.Join(g.Start(cmd), cmd.Wait()); err != nil || strings.Fields(said.String())[1] != last {
		t.Errorf("a process may run on %q (%v), not on %s", &said, err, last)
	}
}

func TestALimitOfMemoryHoldsThePageCache(t *testing.T) {
	hosttest.Exclusive(t)
	g := groups(t)("memory", Options{Limits: true})
	const size = 48 << 20
	file := uncached(t, t.TempDir(), "file", size)
	limit(t, g, result.Limits{MemoryBytes: 12 << 20})
	run(t, g, "cat", file)
	if m := usage(t, g).Memory; m == nil || m.PeakBytes > 12<<20 || m.PeakBytes < 11<<20 || m.OOMKills > 0 {
		t.Errorf("a file of 48 MiB was read within 12 MiB: %+v", m)
	}
	limit(t, g, result.Limits{})
	run(t, g, "cat", file)
	if m := usage(t, g).Memory; m.CacheBytes < size*9/10 {
		t.Errorf("a file of 48 MiB was read without a limit: %+v", m)
	}
	// A limit is set below what the group holds, of which all can be taken.
	limit(t, g, result.Limits{MemoryBytes: 16 << 20})
	if m := usage(t, g).Memory; m.Bytes > 16<<20 {
		t.Errorf("after a limit of 16 MiB was set: %+v", m)
	}
	left, err := g.DropCache()
	if m := usage(t, g).Memory; err != nil || left > 1<<20 || m.CacheBytes > 1<<20 {
		t.Errorf("the cache was dropped, and %d bytes (%+v) are left: %v", left, m, err)
	}
	eats := exec.Command("sh", "-c", "head -c 100m /dev/zero | tail -c 100m >/dev/null")
	if err := g.Start(eats); err != nil {
		t.Fatal(err)
	}
	_ = eats.Wait()
	if m := usage(t, g).Memory; m.OOMKills == 0 {
		t.Errorf("100 MiB were asked for within 16, and nobody was killed: %+v", m)
	}
}

// Page cache of files in memory alone cannot be dropped, and nobody waits for it.
func TestCacheThatCannotBeDropped(t *testing.T) {
	hosttest.Exclusive(t)
	g := groups(t)("stuck", Options{Limits: true})
	dir := t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size=32m"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(dir, 0); err != nil {
			t.Error(err)
		}
	})
	const size = 8 << 20
	run(t, g, "dd", "if=/dev/zero", "of="+filepath.Join(dir, "file"), "bs=1M", "count=8", "status=none")
	dropped := make(chan string, 1)
	go func() {
		left, err := g.DropCache()
		dropped <- fmt.Sprintf("%v left, %v", left >= size, err)
	}()
	select {
	case got := <-dropped:
		if got != "true left, <nil>" {
			t.Error(got)
		}
	case <-time.After(time.Minute):
		t.Error("it waits for what cannot be")
	}
}

func TestMemoryOfTheParentHoldsItsChildren(t *testing.T) {
	hosttest.Exclusive(t)
	made := groups(t)
	mini := made("mini", Options{Limits: true})
	limit(t, mini, result.Limits{MemoryBytes: 32 << 20})
	dir := t.TempDir()
	var cached int64
	for i := range 2 {
		child := made("child"+strconv.Itoa(i), Options{Below: mini})
		run(t, child, "cat", uncached(t, dir, "file"+strconv.Itoa(i), 28<<20))
		cached += usage(t, child).Memory.CacheBytes
	}
	if m := usage(t, mini).Memory; m.PeakBytes > 32<<20 || m.PeakBytes < 30<<20 || m.CacheBytes < 16<<20 {
		t.Errorf("two children read 28 MiB each within 32 MiB: %+v", m)
	}
	if cached > 56<<20 || cached < 16<<20 {
		t.Errorf("the children say that they have %d bytes", cached)
	}
	if left, err := mini.DropCache(); err != nil || left > 1<<20 {
		t.Errorf("the cache of the scaled-down host was dropped, and %d bytes are left: %v", left, err)
	}
}

// reads and writes go past the page cache, and return how long it took.
func reads(t *testing.T, g *Group, path, block string, count int) time.Duration {
	t.Helper()
	return run(t, g, "dd", "if="+path, "of=/dev/null", "iflag=direct", "status=none",
		"bs="+block, "count="+strconv.Itoa(count))
}

func writes(t *testing.T, g *Group, path, block string, count int) time.Duration {
	t.Helper()
	return run(t, g, "dd", "if=/dev/zero", "of="+path, "oflag=direct", "conv=notrunc", "status=none",
		"bs="+block, "count="+strconv.Itoa(count))
}

func TestLimitsOnADeviceBite(t *testing.T) {
	hosttest.Measures(t)
	path, number := device(t)
	g := groups(t)("device", Options{Limits: true})
	free := reads(t, g, path, "4k", 300)
	for _, c := range []struct {
		name   string
		limits result.Limits
		took   func() time.Duration
	}{
		{"reads", result.Limits{Read: result.Rate{OperationsPerSecond: 200}}, func() time.Duration {
			return reads(t, g, path, "4k", 300)
		}},
		{"bytes read", result.Limits{Read: result.Rate{BytesPerSecond: 4 << 20}}, func() time.Duration {
			return reads(t, g, path, "256k", 24)
		}},
		{"writes", result.Limits{Write: result.Rate{OperationsPerSecond: 200}}, func() time.Duration {
			return writes(t, g, path, "4k", 300)
		}},
		{"bytes written", result.Limits{Write: result.Rate{BytesPerSecond: 4 << 20}}, func() time.Duration {
			return writes(t, g, path, "256k", 24)
		}},
	} {
		limit(t, g, c.limits, number)
		before := usage(t, g).Devices[number]
		// 1.5 seconds' worth, of which the kernel lets the first slice pass at once.
		if took := c.took(); took < time.Second {
			t.Errorf("%s: %v for what should take 1.5 s (%v without a limit)", c.name, took, free)
		}
		after := usage(t, g).Devices[number]
		if after.Reads+after.Writes <= before.Reads+before.Writes ||
			after.ReadBytes+after.WrittenBytes <= before.ReadBytes+before.WrittenBytes {
			t.Errorf("%s: the group has used %+v, and %+v before", c.name, after, before)
		}
	}
	// At one a second, 300 reads would take five minutes.
	limit(t, g, result.Limits{Read: result.Rate{OperationsPerSecond: 1}}, number)
	limit(t, g, result.Limits{}, number)
	if took := reads(t, g, path, "4k", 300); took > 5*time.Minute {
		t.Errorf("%v for 300 reads without a limit, and %v before there was one", took, free)
	}
}

// A scaled-down host's device is shared by all of it, and by what is gathered there.
func TestLimitsOnADeviceAreShared(t *testing.T) {
	hosttest.Exclusive(t)
	path, number := device(t)
	made := groups(t)
	mini := made("mini", Options{Limits: true})
	limit(t, mini, result.Limits{Read: result.Rate{OperationsPerSecond: 200}}, number)
	both := []*Group{
		made("child0", Options{Below: mini, ShareDevices: true}),
		made("child1", Options{Below: mini, ShareDevices: true}),
	}
	began, ended := time.Now(), make(chan struct{})
	for _, g := range both {
		go func() {
			defer func() { ended <- struct{}{} }()
			cmd := exec.Command("dd", "if="+path, "of=/dev/null", "iflag=direct", "status=none", "bs=4k", "count=150")
			if err := g.Start(cmd); err != nil {
				t.Error(err)
			} else if err := cmd.Wait(); err != nil {
				t.Error(err)
			}
		}()
	}
	<-ended
	<-ended
	if took := time.Since(began); took < time.Second {
		t.Errorf("%v for what should take 1.5 s", took)
	}
	if did := usage(t, mini).Devices[number]; did.Reads < 300 {
		t.Errorf("two children made 300 reads, and the scaled-down host shows %+v", did)
	}
	// Whatever runs in another group below comes to it.
	apart := made("apart", Options{Below: mini})
	cmd := exec.Command("sh", "-c", "sleep 60 & echo $!; exec sleep 60")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := apart.Start(cmd); err != nil {
		t.Fatal(err)
	}
	var child int
	if _, err := fmt.Fscan(out, &child); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = unix.Kill(child, unix.SIGKILL)
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	for range 2 { // the second time there is nothing to move
		if err := mini.Gather(cmd.Process.Pid); err != nil {
			t.Fatal(err)
		}
	}
	members, err := mini.ioPlace().direct()
	moved := !mini.ioPlace().unified // with version 2 there is nothing to move
	if moved && (err != nil || !slices.Contains(members, child) || !slices.Contains(members, cmd.Process.Pid)) {
		t.Errorf("%d and %d were gathered, and %v are there (%v)", cmd.Process.Pid, child, members, err)
	}
	group, err := Of(child)
	if err != nil || group.cpuPlace().dir != apart.cpuPlace().dir {
		t.Errorf("its processor time is accounted for in %s (%v), not in %s", group.cpuPlace().dir, err, apart.cpuPlace().dir)
	}
	if err := mini.Gather(os.Getpid()); err == nil {
		t.Error("this very process was gathered, which is nobody's container")
	}
}

// A process that runs comes to a group with its children, in every hierarchy.
func TestMove(t *testing.T) {
	hosttest.Exclusive(t)
	g := groups(t)("moved", Options{Limits: true})
	cmd := exec.Command("sh", "-c", "sh -c 'sleep 60 & echo $!; wait' & wait")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var grandchild int
	if _, err := fmt.Fscan(out, &grandchild); err != nil {
		t.Fatal(err)
	}
	pids := append([]int{cmd.Process.Pid}, descendants(cmd.Process.Pid)...)
	t.Cleanup(func() {
		for _, pid := range slices.Backward(pids) {
			_ = unix.Kill(pid, unix.SIGKILL)
		}
		_ = cmd.Wait()
	})
	if len(pids) != 3 || pids[2] != grandchild {
		t.Fatalf("the processes are %v, and %d the last", pids, grandchild)
	}
	if err := g.Move(cmd.Process.Pid); err != nil {
		t.Fatal(err)
	}
	for _, pid := range pids {
		group, err := Of(pid)
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range group.places {
			if want, err := g.in(p.mount); err != nil || p.dir != want.dir {
				t.Errorf("process %d is in %s, not in %s (%v)", pid, p.dir, want.dir, err)
			}
		}
	}
	if err := g.Move(1 << 30); err == nil || !strings.Contains(err.Error(), "no such process") {
		t.Errorf("move of no process: %v", err)
	}
}
