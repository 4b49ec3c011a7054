package stack

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"plimsoll/internal/problem"
	"plimsoll/internal/testkit/hosttest"
)

// disk returns a block device of the test's own, in place of a real one.
func disk(t *testing.T, mib int) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "disk.img")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(file, int64(mib)<<20); err != nil {
		t.Fatal(err)
	}
	return hosttest.Loop(t, file, "--partscan")
}

func run(t *testing.T, argv ...string) {
	t.Helper()
	if out, err := exec.Command(argv[0], argv[1:]...).CombinedOutput(); err != nil {
		t.Fatalf("%v: %v: %s", argv, err, out)
	}
}

// backupGPT writes what is left of a GPT when the start of the disk was
// overwritten: the header and the entries at its end (UEFI 2.10, 5.3).
func backupGPT(t *testing.T, device string) {
	t.Helper()
	const sector, entries, entrySize = 512, 128, 128
	f, err := os.OpenFile(device, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	size, err := f.Seek(0, 2)
	if err != nil {
		t.Fatal(err)
	}
	last := uint64(size/sector) - 1
	array := make([]byte, entries*entrySize)
	copy(array, "\xaf\x3d\xc6\x0f\x83\x84\x72\x47\x8e\x79\x3d\x69\xd8\x47\x7d\xe4one-partition-id") // Linux data
	binary.LittleEndian.PutUint64(array[32:], 2048)
	binary.LittleEndian.PutUint64(array[40:], 4095)
	header := make([]byte, 92)
	copy(header, "EFI PART")
	binary.LittleEndian.PutUint32(header[8:], 0x00010000)
	binary.LittleEndian.PutUint32(header[12:], uint32(len(header)))
	binary.LittleEndian.PutUint64(header[24:], last)
	binary.LittleEndian.PutUint64(header[32:], 1)
	binary.LittleEndian.PutUint64(header[40:], 34)
	binary.LittleEndian.PutUint64(header[48:], last-33)
	copy(header[56:], "0123456789abcdef")
	binary.LittleEndian.PutUint64(header[72:], last-32)
	binary.LittleEndian.PutUint32(header[80:], entries)
	binary.LittleEndian.PutUint32(header[84:], entrySize)
	binary.LittleEndian.PutUint32(header[88:], crc32.ChecksumIEEE(array))
	binary.LittleEndian.PutUint32(header[16:], crc32.ChecksumIEEE(header))
	_, err = f.WriteAt(array, int64(last-32)*sector)
	_, headerErr := f.WriteAt(header, int64(last)*sector)
	if err := errors.Join(err, headerErr, f.Sync()); err != nil {
		t.Fatal(err)
	}
}

func TestProtectedDevices(t *testing.T) {
	hosttest.Exclusive(t)
	for _, test := range []struct {
		name    string
		arrange func(t *testing.T, device string)
		destroy []string // DEVICE stands for the device
		need    int64
		swap    bool   // the kernel says that the device is swap
		why     string // "" when it may be used
		remedy  string
	}{
		{name: "not named by the user", why: "--destroy does not name it", remedy: "--destroy"},
		{name: "named by the user", destroy: []string{"DEVICE"}},
		{name: "another one named", destroy: []string{"/dev/loop-none"}, why: "--destroy does not name it", remedy: "--destroy"},
		{name: "too small", destroy: []string{"DEVICE"}, need: 1 << 40, why: "too small", remedy: "larger device"},
		{
			name: "signature", destroy: []string{"DEVICE"}, why: "ext4", remedy: "=signature",
			arrange: func(t *testing.T, device string) { run(t, "mkfs.ext4", "-q", device) },
		},
		{
			name: "signature overlooked", destroy: []string{"DEVICE=signature"},
			arrange: func(t *testing.T, device string) { run(t, "mkfs.ext4", "-q", device) },
		},
		{
			name: "partitioned", destroy: []string{"DEVICE"}, why: "partition", remedy: "=partitioned",
			arrange: partition,
		},
		{
			name: "partitioned, only its signature overlooked", destroy: []string{"DEVICE=signature"}, why: "partition", remedy: "=partitioned",
			arrange: partition,
		},
		{
			name: "mounted, whatever the user says", destroy: []string{"DEVICE=signature,partitioned"}, why: "mounted", remedy: "umount",
			arrange: func(t *testing.T, device string) {
				run(t, "mkfs.ext4", "-q", device)
				dir := t.TempDir()
				run(t, "mount", "-n", device, dir)
				t.Cleanup(func() { run(t, "umount", "-n", dir) })
			},
		},
		{
			name: "held, whatever the user says", destroy: []string{"DEVICE=signature,partitioned"}, why: "loop", remedy: "losetup",
			arrange: func(t *testing.T, device string) {
				hosttest.Loop(t, device)
			},
		},
		{
			name: "swap, whatever the user says", destroy: []string{"DEVICE=signature,partitioned"}, why: "swap", remedy: "swapoff",
			arrange: func(t *testing.T, device string) {
				run(t, "mkswap", "-q", device)
			},
			swap: true,
		},
		{
			name: "a GPT of which the copy at the end is left", destroy: []string{"DEVICE"}, why: "what is left of a partition table (gpt", remedy: "=partitioned",
			arrange: backupGPT,
		},
		{
			name: "what is left of a GPT, with the signature alone overlooked", destroy: []string{"DEVICE=signature"}, why: "partition table (gpt", remedy: "=partitioned",
			arrange: backupGPT,
		},
		{
			name: "what is left of a GPT, overlooked", destroy: []string{"DEVICE=partitioned"},
			arrange: backupGPT,
		},
		{
			name: "open for another program alone, whatever the user says", destroy: []string{"DEVICE=signature,partitioned"}, why: "for itself alone", remedy: "fuser",
			arrange: func(t *testing.T, device string) {
				f, err := os.OpenFile(device, os.O_RDONLY|unix.O_EXCL, 0)
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { f.Close() })
			},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			e := newEnv(t)
			device := disk(t, 64)
			if test.arrange != nil {
				test.arrange(t, device)
			}
			if test.swap {
				e.Host.Roots.Proc = hosttest.ProcWithSwap(t, device)
			}
			for _, d := range test.destroy {
				p, err := ParsePermission(strings.ReplaceAll(d, "DEVICE", device))
				if err != nil {
					t.Fatal(err)
				}
				e.Allow = append(e.Allow, p)
			}
			l := parse(t, device+" > ext4")
			err := e.Check(t.Context(), l, test.need)
			if test.why == "" {
				if err != nil {
					t.Fatalf("refused: %v", err)
				}
				s, err := e.upAlone(t.Context(), "s", l)
				if err != nil {
					t.Fatal(err)
				}
				if _, err := e.upAlone(t.Context(), "other", l); problem.Of(err, problem.Protected) == nil {
					t.Errorf("a second stack gets the device too: %v", err)
				}
				if err := s.base.Down(t.Context()); err != nil {
					t.Fatal(err)
				}
				if out, err := exec.Command("blkid", "-p", device).Output(); err == nil {
					t.Errorf("a signature is left: %s", out)
				}
				return
			}
			if !isProblem(err, problem.Protected, test.why, test.remedy) {
				t.Errorf("got %v", err)
			}
			if test.need == 0 {
				if _, err := e.upAlone(t.Context(), "s", l); problem.Of(err, problem.Protected) == nil {
					t.Errorf("brought up without a check: %v", err)
				}
			}
		})
	}
}

// partition writes a DOS partition table with one partition of 16 MiB.
func partition(t *testing.T, device string) {
	t.Helper()
	mbr := make([]byte, 512)
	mbr[446+4] = 0x83                                   // Linux
	binary.LittleEndian.PutUint32(mbr[446+8:], 2048)    // first sector
	binary.LittleEndian.PutUint32(mbr[446+12:], 16<<11) // sectors
	mbr[510], mbr[511] = 0x55, 0xaa
	f, err := os.OpenFile(device, os.O_WRONLY|os.O_SYNC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.Write(mbr); err != nil {
		t.Fatal(err)
	}
	run(t, "blockdev", "--rereadpt", device)
}

func TestUnknownDevice(t *testing.T) {
	hosttest.Exclusive(t)
	e := newEnv(t)
	for _, text := range []string{"/dev/nvme9n9 > xfs", "serial:NOSUCH", "by-id:nvme-nosuch"} {
		err := e.Check(t.Context(), parse(t, text), 0)
		p := problem.Of(err, problem.Invalid)
		if p == nil || !strings.HasPrefix(p.What, "there is no device ") || p.Remedy == "" {
			t.Errorf("%s: got %v", text, err)
		}
	}
}

func TestParsePermission(t *testing.T) {
	for text, want := range map[string]string{
		"":                        "names no device",
		"/dev/sdz=mounted":        "cannot be overlooked",
		"/dev/sdz=signature,swap": "cannot be overlooked",
		"S4EV=signature":          "",
		"/dev/sdz":                "",
	} {
		_, err := ParsePermission(text)
		if (want == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %q", text, err, want)
		}
	}
}
