package devmapper

import (
	"encoding/binary"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"plimsoll/internal/testkit/hosttest"
)

// The layout is the kernel's (linux/dm-ioctl.h), and a part of the numbers of calls.
func TestLayout(t *testing.T) {
	var h header
	var s spec
	for name, got := range map[string][2]uintptr{
		"size of dm_ioctl": {unsafe.Sizeof(h), 312}, "its flags": {unsafe.Offsetof(h.flags), 28},
		"its dev":  {unsafe.Offsetof(h.device), 40},
		"its name": {unsafe.Offsetof(h.name), 48}, "its uuid": {unsafe.Offsetof(h.uuid), 176},
		"size of dm_target_spec": {unsafe.Sizeof(s), 40}, "its next": {unsafe.Offsetof(s.next), 20},
		"its target_type": {unsafe.Offsetof(s.kind), 24},
	} {
		if got[0] != got[1] {
			t.Errorf("%s: %d, want %d", name, got[0], got[1])
		}
	}
	for _, call := range []uintptr{devRemove, tableStatus} {
		if size := call >> 16 & 0x3fff; size != 312 {
			t.Errorf("call %#x has %d bytes", call, size)
		}
	}
	if got := encodeNumber(253, 0x12345); got != 0x1230fd45 {
		t.Errorf("253:74565 is %#x", got)
	}
}

// answer writes what the kernel answers to DM_TABLE_STATUS into m.
func answer(m *message, targets ...Target) {
	m.header().targetCount = uint32(len(targets))
	b := m.bytes()
	start := m.header().dataStart
	offset := start
	for _, t := range targets {
		next := (offset + specBytes + uint32(len(t.Params)) + 1 + 7) &^ 7
		binary.NativeEndian.PutUint64(b[offset:], t.Start)
		binary.NativeEndian.PutUint64(b[offset+8:], t.Length)
		binary.NativeEndian.PutUint32(b[offset+20:], next-start)
		copy(b[offset+24:], t.Type)
		copy(b[offset+specBytes:], t.Params)
		offset = next
	}
}

func TestTableIsDecoded(t *testing.T) {
	want := []Target{
		{0, 204800, "striped", "3 128 7:0 0 7:1 0 7:2 0"},
		{204800, 8, "linear", "7:3 2048"},
		{204808, 16, "zero", ""},
	}
	tries := 0
	got, err := table(func(request uintptr, m *message) error {
		tries++
		if h := m.header(); request != tableStatus || text(h.name[:]) != "vg-lv" || h.flags != flagStatusTable ||
			h.version[0] != 4 {
			t.Errorf("request %#x: %+v", request, m.header())
		}
		if tries == 1 { // more room, please
			m.header().flags |= flagBufferFull
			return nil
		}
		answer(m, want...)
		return nil
	}, "vg-lv", 0)
	if err != nil || !slices.Equal(got, want) || tries != 2 {
		t.Errorf("got %v after %d tries, %v", got, tries, err)
	}
	if got[0].String() != "0 204800 striped 3 128 7:0 0 7:1 0 7:2 0" {
		t.Errorf("as text: %s", got[0])
	}
	for name, bad := range map[string]func(m *message){
		"no target":        func(m *message) {},
		"beyond the end":   func(m *message) { answer(m, want...); m.bytes()[m.header().dataStart+22] = 0xff },
		"not aligned":      func(m *message) { answer(m, want...); m.bytes()[m.header().dataStart+20] |= 1 },
		"within the start": func(m *message) { answer(m, want...); m.header().dataStart = 8 },
	} {
		if _, err := table(func(_ uintptr, m *message) error { bad(m); return nil }, "x", 0); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	for _, number := range []string{"", "253", "253:", ":1", "x:y", "-1:0"} {
		if _, err := Table(number); err == nil || !strings.Contains(err.Error(), "MAJ:MIN") {
			t.Errorf("%q: %v", number, err)
		}
	}
	if _, err := TableOf(strings.Repeat("x", 128)); err == nil || !strings.Contains(err.Error(), "127 characters") {
		t.Errorf("a long name: %v", err)
	}
}

func TestRemoveTakesTheNodeAwayWhereThereIsNoUdev(t *testing.T) {
	for _, test := range []struct {
		name   string
		says   error
		udev   bool
		gone   bool
		failed error
	}{
		{name: "removed", gone: true},
		{name: "gone already", says: unix.ENXIO},
		{name: "in use", says: unix.EBUSY, failed: unix.EBUSY},
		{name: "with udev, whose link it is", udev: true},
	} {
		t.Run(test.name, func(t *testing.T) {
			root := t.TempDir()
			node := filepath.Join(root, "dev/mapper/vg-lv")
			if err := errors.Join(os.MkdirAll(filepath.Dir(node), 0o755), os.WriteFile(node, nil, 0o600)); err != nil {
				t.Fatal(err)
			}
			if test.udev {
				if err := errors.Join(os.MkdirAll(filepath.Join(root, "run/udev"), 0o755),
					os.WriteFile(filepath.Join(root, "run/udev/control"), nil, 0o600)); err != nil {
					t.Fatal(err)
				}
			}
			err := remove(func(uintptr, *message) error { return test.says }, root, "vg-lv")
			if !errors.Is(err, test.failed) {
				t.Errorf("got %v, want %v", err, test.failed)
			}
			if _, err := os.Lstat(node); errors.Is(err, os.ErrNotExist) != test.gone {
				t.Errorf("the node: %v", err)
			}
		})
	}
}

func TestListReadsSysfs(t *testing.T) {
	sys := t.TempDir()
	for file, content := range map[string]string{
		"dm-0/dm/name": "vg-lv\n", "dm-0/dm/uuid": "LVM-abc\n", "dm-1/dm/name": "plain\n", "dm-2/size": "8\n",
		"loop0/size": "8\n",
	} {
		path := filepath.Join(sys, "block", file)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755),
			os.WriteFile(path, []byte(content), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	got, err := List(sys)
	want := []Device{{"dm-0", "vg-lv", "LVM-abc"}, {"dm-1", "plain", ""}}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("got %+v, %v; want %+v", got, err, want)
	}
	if _, ok := Find(sys, "loop0"); ok {
		t.Error("a loop device is taken for a mapped one")
	}
	// A hyphen within a name is told from the one between names.
	if got := VolumeName("a-b", "c"); got != "a--b-c" {
		t.Errorf("volume's name: %s", got)
	}
}

// TestTheKernelsDeviceMapper reads and removes a real device.
func TestTheKernelsDeviceMapper(t *testing.T) {
	hosttest.Exclusive(t)
	if f, err := os.OpenFile("/dev/mapper/control", os.O_RDWR, 0); err != nil {
		t.Skipf("NOT TESTED HERE: %v; make lab-test runs this test in a virtual machine that has device mapper", err)
	} else {
		f.Close()
	}
	file := filepath.Join(t.TempDir(), "disk.img")
	if err := errors.Join(os.WriteFile(file, nil, 0o600), os.Truncate(file, 8<<20)); err != nil {
		t.Fatal(err)
	}
	loop := hosttest.Loop(t, file)
	const name = "plimsoll-devmapper-test"
	create := exec.Command("dmsetup", "create", name, "--table", "0 2048 linear "+loop+" 0")
	if out, err := create.CombinedOutput(); err != nil {
		t.Fatalf("dmsetup create: %v: %s", err, out)
	}
	t.Cleanup(func() { _ = Remove(name) })
	devices, err := List("/sys")
	i := slices.IndexFunc(devices, func(d Device) bool { return d.Name == name })
	if err != nil || i < 0 {
		t.Fatalf("it is not among %+v, %v", devices, err)
	}
	number, err := os.ReadFile(filepath.Join("/sys/block", devices[i].Kernel, "dev"))
	if err != nil {
		t.Fatal(err)
	}
	byName, nameErr := TableOf(name)
	byNumber, numberErr := Table(strings.TrimSpace(string(number)))
	if err := errors.Join(nameErr, numberErr); err != nil || !slices.Equal(byName, byNumber) || len(byName) != 1 ||
		byName[0].Type != "linear" || byName[0].Length != 2048 || !strings.HasPrefix(byName[0].Params, "7:") {
		t.Errorf("table by name %v, by number %v, %v", byName, byNumber, err)
	}
	user, err := os.Open("/dev/mapper/" + name)
	if err != nil {
		t.Fatal(err)
	}
	if err := Remove(name); !errors.Is(err, unix.EBUSY) {
		t.Errorf("in use: %v", err)
	}
	user.Close()
	for range 2 {
		if err := Remove(name); err != nil {
			t.Errorf("remove: %v", err)
		}
	}
	if _, err := os.Lstat("/dev/mapper/" + name); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("its node is still there: %v", err)
	}
}
