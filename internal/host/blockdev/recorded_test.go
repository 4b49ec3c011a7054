package blockdev

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"golang.org/x/sys/unix"

	"plimsoll/internal/host/hostfs"
	"plimsoll/internal/result"
	"plimsoll/internal/testkit/hosttest"
)

// recorded unpacks testdata/stripe.txtar. Loop devices 0 and 1 stand on a file that is there, which the recorded sysfs
// takes to lie on its disk vda.
func recorded(t *testing.T) hostfs.Roots {
	t.Helper()
	root := hosttest.Recorded(t, "testdata/stripe.txtar")
	roots := hostfs.Roots{Proc: filepath.Join(root, "proc"), Sys: filepath.Join(root, "sys")}
	file := filepath.Join(root, "disk.img")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	var st unix.Stat_t
	if err := unix.Stat(file, &st); err != nil {
		t.Fatal(err)
	}
	number := fmt.Sprintf("%d:%d", unix.Major(st.Dev), unix.Minor(st.Dev))
	err := errors.Join(
		os.Symlink("../../devices/pci0000:00/block/vda", roots.InSys("dev/block", number)),
		os.WriteFile(roots.InSys("dev/block", number, "dev"), []byte(number+"\n"), 0o600),
	)
	if err != nil {
		t.Fatal(err)
	}
	for _, loop := range []string{"loop0", "loop1"} {
		backing := roots.InSys("devices/virtual/block", loop, "loop/backing_file")
		if err := os.WriteFile(backing, []byte(file+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return roots
}

func TestChainsOfARecordedHost(t *testing.T) {
	roots := recorded(t)
	for _, c := range []struct {
		name, majmin string
		want         []string // "name role depth", and "buffered"
	}{
		{"a loop device", "7:0", []string{"loop0 top 0", "vda bottom 1"}},
		{"a loop device without direct I/O", "7:1", []string{"loop1 top 0 buffered", "vda bottom 1"}},
		{"a loop device over a file that is gone", "7:2", []string{"loop2 top 0"}},
		{"a disk", "1254:16", []string{"vdb bottom 0"}},
		{
			"a striped volume over loop devices that share a disk, and a disk of its own", "252:0",
			[]string{"dm-0 top 0", "loop0 under 1", "vda bottom 2", "loop1 under 1 buffered", "vdb bottom 1"},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			devices, err := chainOf(roots, c.majmin)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, d := range devices {
				text := fmt.Sprintf("%s %s %d", d.Name, d.Role, d.Depth)
				if d.Buffered {
					text += " buffered"
				}
				got = append(got, text)
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
	if devices, err := chainOf(roots, "8:0"); err == nil {
		t.Errorf("a device that is not there has the chain %+v", devices)
	}
}

// What a stack has for itself on a disk is found from either end.
func TestDisksAndCountersOfARecordedHost(t *testing.T) {
	roots := recorded(t)
	devices, err := chainOf(roots, "252:0")
	if err != nil {
		t.Fatal(err)
	}
	disks, err := Disks(roots, devices, []string{"loop0", "loop1", "vdb"}, "ext4")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, d := range disks {
		text := fmt.Sprintf("%s alone=%v above", d.Name, d.Alone)
		for _, a := range d.Above {
			text += " " + a.Name
		}
		got = append(got, text)
	}
	if want := []string{"vda alone=false above loop0 loop1", "vdb alone=true above"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	counted, err := ReadCounters(roots, []result.Device{disks[0].Device, {Name: "vdb"}})
	if err != nil || counted[0].Reads != 101 || counted[1].Reads != 11 || counted[1].WriteBytes != 8*512 {
		t.Errorf("%+v, %v", counted, err)
	}
}
