package capture

import (
	"bytes"
	"encoding/binary"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"

	"plimsoll/internal/testkit/hosttest"
)

func TestLayoutOfTheTally(t *testing.T) {
	for _, object := range [][]byte{tallyBTF, tallyRaw} {
		spec, err := ebpf.LoadCollectionSpecFromReader(bytes.NewReader(object))
		if err != nil {
			t.Fatal(err)
		}
		for name, want := range map[string][2]any{"tally": {tallyWho{}, tallyDid{}}, "watched": {uint32(0), tallyDevices{}}} {
			m := spec.Maps[name]
			if int(m.KeySize) != binary.Size(want[0]) || int(m.ValueSize) != binary.Size(want[1]) {
				t.Errorf("%s: the program has keys of %d bytes and values of %d, and we of %d and %d", name,
					m.KeySize, m.ValueSize, binary.Size(want[0]), binary.Size(want[1]))
			}
		}
	}
}

// Two groups and this process use a device. Each of them is told with what it
// asked for, to the byte.
func TestTheTallyTellsWhoAsked(t *testing.T) {
	hosttest.Measures(t)
	for _, kind := range []string{"btf", "raw"} {
		t.Run(kind, func(t *testing.T) {
			forceRaw = kind == "raw"
			defer func() { forceRaw = false }()
			tellsWhoAsked(t)
		})
	}
}

func tellsWhoAsked(t *testing.T) {
	device, number := loop(t)
	reads, reader := group(t, "reader")
	writes, writer := group(t, "writer")
	c, err := StartTally()
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	}()
	name, err := c.Watch(number)
	if err != nil || name != filepath.Base(device) {
		t.Fatalf("%s is watched as %q: %v", device, name, err)
	}
	if out, err := exec.Command("dd", "if="+device, "of=/dev/null", "bs=64k", "count=16",
		"iflag=direct").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if asked, _, err := c.Read(); err != nil ||
		sumOf(asked, name, func(a Demand) bool { return a.Command == "dd" }).ReadBytes != 1<<20 {
		t.Errorf("dd read 1 MiB: %+v, %v", asked, err)
	}
	if err := c.Reset(); err != nil {
		t.Fatal(err)
	}
	if asked, uncounted, err := c.Read(); err != nil || len(asked) > 0 || uncounted > 0 {
		t.Errorf("after it was forgotten: %+v, %d, %v", asked, uncounted, err)
	}

	ended := make(chan bool, 2)
	go func() {
		reader("--filename="+device, "--direct=1", "--rw=randread", "--ioengine=libaio", "--iodepth=8", "--io_size=8m")
		ended <- true
	}()
	go func() {
		writer("--filename="+device, "--direct=1", "--rw=randwrite", "--ioengine=psync", "--io_size=4m")
		ended <- true
	}()
	f, err := os.OpenFile(device, os.O_RDWR|unix.O_DIRECT, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	aligned, err := unix.Mmap(-1, 0, 1<<20, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = unix.Munmap(aligned) }()
	if _, err := f.WriteAt(aligned, 0); err != nil {
		t.Fatal(err)
	}
	<-ended
	<-ended
	asked, uncounted, err := c.Read()
	if err != nil || uncounted > 0 {
		t.Fatalf("%d were not counted: %v", uncounted, err)
	}
	for _, want := range []struct {
		name  string
		is    func(Demand) bool
		reads bool
		n     uint64
	}{
		{"the reader", func(a Demand) bool { return a.Cgroup == reads && a.Kind == ByProcess }, true, 8 << 20},
		{"the writer", func(a Demand) bool { return a.Cgroup == writes && a.Kind == ByProcess }, false, 4 << 20},
		{"this process", func(a Demand) bool { return a.Kind == BySelf }, false, 1 << 20},
	} {
		got := sumOf(asked, name, want.is)
		ios, bytes := got.Writes, got.WriteBytes
		if want.reads {
			ios, bytes = got.Reads, got.ReadBytes
		}
		if bytes != want.n || want.name != "this process" && ios != want.n/4096 {
			t.Errorf("%s is shown with %d bytes in %d bios, want %d bytes: %+v", want.name, bytes, ios, want.n, got)
		}
	}
}

// sumOf adds up what some asked of a device.
func sumOf(demands []Demand, device string, match func(Demand) bool) (sum Demand) {
	for _, a := range demands {
		if a.Device != device || !match(a) {
			continue
		}
		sum.Reads, sum.Writes = sum.Reads+a.Reads, sum.Writes+a.Writes
		sum.ReadBytes, sum.WriteBytes = sum.ReadBytes+a.ReadBytes, sum.WriteBytes+a.WriteBytes
	}
	return sum
}
