package blockdev

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/moby/sys/mountinfo"

	"plimsoll/internal/host/hostfs"
	"plimsoll/internal/result"
	"plimsoll/internal/testkit/hosttest"
)

func TestParseStat(t *testing.T) {
	c, err := parseStat("  101 5 808 20 7 1 64 3 0 21 23 0 0 0 0 2 1\n")
	want := result.DeviceCounter{Flushes: 2, Reads: 101, ReadBytes: 808 * 512, Writes: 7, WriteBytes: 64 * 512}
	if err != nil || c != want {
		t.Errorf("%+v, %v", c, err)
	}
	for _, bad := range []string{"", "1 2 3", "1 2 3 4 5 6 seven 8"} {
		if _, err := parseStat(bad); err == nil {
			t.Errorf("%q is taken", bad)
		}
	}
}

// The kernel's own counters, on a device that nobody else uses.
func TestChainAndCountersOfALoopDevice(t *testing.T) {
	hosttest.Exclusive(t)
	file := filepath.Join(t.TempDir(), "disk.img")
	if err := os.WriteFile(file, make([]byte, 8<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	device := hosttest.Loop(t, file, "--direct-io=on")
	hosttest.Quiet(t, device)
	devices, err := Chain(hostfs.Default(), device)
	if err != nil {
		t.Fatal(err)
	}
	if len(devices) < 2 {
		t.Fatalf("chain %+v", devices)
	}
	first, last := devices[0], devices[len(devices)-1]
	if first.Role != Top || "/dev/"+first.Name != device || last.Role != Bottom {
		t.Fatalf("chain %+v", devices)
	}
	before, err := ReadCounters(hostfs.Default(), devices)
	if err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command("dd", "if="+device, "of=/dev/null", "bs=4k", "count=100", "iflag=direct").CombinedOutput()
	if err != nil {
		t.Fatal(err, string(out))
	}
	after, err := ReadCounters(hostfs.Default(), devices)
	if err != nil {
		t.Fatal(err)
	}
	for i, c := range after.Since(before) {
		if c.Reads < 100 || c.ReadBytes < 100*4096 {
			t.Errorf("%s counted %d reads, %d bytes", c.Device.Name, c.Reads, c.ReadBytes)
		}
		if i == 0 && c.Reads != 100 {
			t.Errorf("%s, ours alone, counted %d reads, want 100", c.Device.Name, c.Reads)
		}
	}
}

// A path is on the mount that covers it: of mounts on one point the last, none below what another covers, and none
// whose name only begins alike.
func TestMountsAt(t *testing.T) {
	mount := func(id, parent int, at string) *mountinfo.Info {
		return &mountinfo.Info{ID: id, Parent: parent, Mountpoint: at}
	}
	mounts := Mounts{mount(1, 0, "/"), mount(2, 1, "/mnt"), mount(3, 2, "/mnt/a"), mount(4, 1, "/data"),
		mount(5, 4, "/data"), mount(6, 1, "/srv/deep"), mount(7, 1, "/srv")}
	for path, want := range map[string]int{"/": 1, "/mntx": 1, "/mnt": 2, "/mnt/b": 2, "/mnt/a/b": 3, "/mnt/a/../c": 2,
		"/data/x": 5, "/srv/deep/x": 7} {
		if m := mounts.At(path); m == nil || m.ID != want {
			t.Errorf("%s is on %+v, not on mount %d", path, m, want)
		}
	}
	if m := (Mounts{}).At("/"); m != nil {
		t.Errorf("%+v", m)
	}
}
