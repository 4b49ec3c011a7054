package cgroup

import (
	_ "embed"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/host/hostfs"
	"plimsoll/internal/result"
	"plimsoll/internal/testkit/hosttest"
)

// The tests of this package run in a guest, too, where there is no testdata.
//
//go:embed testdata/v2.txtar
var version2 []byte

// v2 is a host with control groups of version 2, as it was recorded, with a group on it.
func v2(t *testing.T) (*Group, func(name string) string) {
	t.Helper()
	root := hosttest.RecordedIn(t, version2)
	g, err := recorded(root).plan("plimsoll-x", Options{Limits: true})
	if err != nil {
		t.Fatal(err)
	}
	return g, func(name string) string {
		t.Helper()
		text, err := os.ReadFile(filepath.Join(root, "sys/fs/cgroup", name))
		if err != nil {
			t.Fatal(err)
		}
		return strings.TrimSpace(string(text))
	}
}

func recorded(root string) host {
	return host{hostfs.Roots{Proc: filepath.Join(root, "proc"), Sys: filepath.Join(root, "sys")}}
}

func TestLimitsOfVersion2(t *testing.T) {
	for _, c := range []struct {
		name   string
		limits result.Limits
		files  map[string]string // "file: text"
	}{
		{
			"all", result.Limits{
				CPUs: 0.5, CPUSet: "0,1", MemoryBytes: 1 << 30,
				Read:  result.Rate{BytesPerSecond: 1 << 20, OperationsPerSecond: 100},
				Write: result.Rate{OperationsPerSecond: 7},
			},
			map[string]string{
				"cpu.max": "50000 100000", "cpuset.cpus": "0,1", "memory.max": "1073741824", "memory.swap.max": "0",
				"io.max": "8:16 rbps=1048576 wbps=max riops=100 wiops=7",
			},
		},
		{
			"none", result.Limits{},
			map[string]string{
				"cpu.max": "max 100000", "cpuset.cpus": "", "memory.max": "max", "memory.swap.max": "max",
				"io.max": "8:16 rbps=max wbps=max riops=max wiops=max",
			},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			g, read := v2(t)
			got, err := g.Limit(c.limits, []string{"8:16"})
			if err != nil || got != c.limits {
				t.Errorf("read back: %+v, %v", got, err)
			}
			for file, want := range c.files {
				if got := read("plimsoll-x/" + file); got != want {
					t.Errorf("%s is %q, not %q", file, got, want)
				}
			}
			if got, err := g.Limits([]string{"8:16"}); err != nil || got != c.limits {
				t.Errorf("later: %+v, %v", got, err)
			}
		})
	}
	g, _ := v2(t)
	// The group above leaves it processors 0 and 1 alone.
	holds, err := g.Limit(result.Limits{CPUSet: "0-3"}, nil)
	if err == nil || holds.CPUSet != "0-1" || !strings.Contains(err.Error(), "group above") {
		t.Errorf("%+v, %v", holds, err)
	}
	if err := os.Remove(filepath.Join(g.ioPlace().dir, "io.max")); err != nil {
		t.Fatal(err)
	}
	if _, err := g.Limit(result.Limits{}, []string{"8:16"}); err != nil {
		t.Errorf("no limit needs no controller: %v", err)
	}
	_, err = g.Limit(result.Limits{Read: result.Rate{OperationsPerSecond: 1}}, []string{"8:16"})
	if err == nil || !strings.Contains(err.Error(), "io.max") || !strings.Contains(err.Error(), "cgroup.subtree_control") {
		t.Errorf("a limit without its controller: %v", err)
	}
}

// A controller whose file is missing limits nothing, and does not hide that the file of another cannot be read.
func TestLimitsThatCannotBeRead(t *testing.T) {
	g, _ := v2(t)
	dir := g.cpuPlace().dir
	if err := os.Remove(filepath.Join(dir, "io.max")); err != nil {
		t.Fatal(err)
	}
	if l, err := g.Limits([]string{"8:16"}); err != nil {
		t.Errorf("without io.max: %+v, %v", l, err)
	}
	if err := os.WriteFile(filepath.Join(dir, "memory.max"), []byte("no number\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if l, err := g.Limits([]string{"8:16"}); err == nil || !strings.Contains(err.Error(), "memory.max") {
		t.Errorf("%+v, %v: want what is wrong with memory.max", l, err)
	}
}

func TestUsageOfVersion2(t *testing.T) {
	g, _ := v2(t)
	want := Usage{
		CPU:        1234567 * time.Microsecond,
		Throttling: &Throttling{Periods: 40, Throttled: 30, Time: 2500 * time.Millisecond},
		Memory: &Memory{Bytes: 9437184, CacheBytes: 8388608, PeakBytes: 10485760, AtLimit: 12, OOMKills: 1,
			AnonymousBytes: 1048576, SharedBytes: 4096, ActiveFileBytes: 2097152, KernelBytes: 7 << 10},
		Devices: map[string]IO{
			"8:16": {ReadBytes: 4096, WrittenBytes: 8192, Reads: 1, Writes: 2},
			"7:0":  {ReadBytes: 1 << 40, Reads: 3},
		},
	}
	if got, err := g.Usage(); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%+v (%v), want %+v", got, err, want)
	}
	if left, err := g.DropCache(); err != nil || left != 8388608 { // nobody reclaims a recorded tree
		t.Errorf("%d, %v", left, err)
	}
	for _, file := range []string{"memory.peak", "io.stat"} {
		if err := os.Remove(filepath.Join(g.ioPlace().dir, file)); err != nil {
			t.Fatal(err)
		}
	}
	want.Devices, want.Memory.PeakBytes = nil, 0
	if got, err := g.Usage(); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%+v (%v), want %+v", got, err, want)
	}
}

// Controllers are switched on from the root down; one that cannot be is an error of its
// limits alone.
func TestControllersAreSwitchedOn(t *testing.T) {
	g, read := v2(t)
	if err := os.RemoveAll(g.cpuPlace().dir); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(filepath.Join(g.cpuPlace().mount, "cgroup.subtree_control"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := g.make("plimsoll-x"); err != nil {
		t.Fatal(err)
	}
	// The file holds what was written last, here: what was not on yet, in the table's order.
	if got := read("cgroup.subtree_control"); got != "+cpuset" {
		t.Errorf("the root was shown %q last", got)
	}
	if err := os.Remove(filepath.Join(g.cpuPlace().mount, "cgroup.subtree_control")); err != nil {
		t.Fatal(err)
	}
	g, err := recorded(strings.TrimSuffix(g.cpuPlace().mount, root)).plan("plimsoll-y", Options{Limits: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := g.make("plimsoll-y"); err != nil {
		t.Fatal(err)
	}
	if _, err := g.Limit(result.Limits{CPUs: 1}, nil); err == nil || !strings.Contains(err.Error(), "subtree_control") {
		t.Errorf("a limit whose controller could not be switched on: %v", err)
	}
}

// A group below another is made in the same places, and shares limits on devices anyway.
func TestBelowWithVersion2(t *testing.T) {
	g, _ := v2(t)
	root := strings.TrimSuffix(g.cpuPlace().mount, "/sys/fs/cgroup")
	child, err := recorded(root).plan("plimsoll-child", Options{Below: g, ShareDevices: true})
	if err != nil {
		t.Fatal(err)
	}
	if child.Path() != "plimsoll-x/plimsoll-child" || child.ioPlace().shared || len(child.places) != 1 ||
		!child.HoldsBufferedWrites() {
		t.Errorf("%+v", child)
	}
	plain, err := recorded(root).plan("plimsoll-plain", Options{})
	if err != nil || plain.Path() != "user.slice/session-3.scope/plimsoll-plain" {
		t.Errorf("%+v, %v", plain, err)
	}
	if err := g.gather(child); err != nil {
		t.Error(err)
	}
	if err := child.gather(plain); err == nil || !strings.Contains(err.Error(), "not below") {
		t.Error(err)
	}
}
