package capture

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/btf"

	"plimsoll/internal/iotrace"
)

// What is committed was made of the sources beside it.
func TestProgramsAreOfTheirSources(t *testing.T) {
	text, err := os.ReadFile("bpf/build.txt")
	if err != nil {
		t.Fatal(err)
	}
	compiler, sums, _ := strings.Cut(string(text), "\n")
	for line := range strings.Lines(sums) {
		f := strings.Fields(line)
		source, err := os.ReadFile(filepath.Join("bpf", f[1]))
		if err != nil {
			t.Fatal(err)
		}
		if fmt.Sprintf("%x", sha256.Sum256(source)) != f[0] {
			t.Errorf("bpf/%s was changed since the programs were built: run go generate ./internal/iotrace/capture", f[1])
		}
	}
	printed, err := exec.Command("clang", "--version").Output()
	if now, _, _ := strings.Cut(string(printed), "\n"); err != nil || now != compiler {
		t.Skipf("the programs were built by %q; here is %q, which may build others", compiler, now)
	}
	for _, header := range []string{"/usr/include/bpf/bpf_core_read.h"} {
		if _, err := os.Stat(header); err != nil {
			t.Skip("libbpf's headers are not installed: the programs cannot be built")
		}
	}
	dir := t.TempDir()
	if out, err := exec.Command("bpf/build.sh", dir).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for name, committed := range map[string][]byte{"record_btf": programsBTF, "record_raw": programsRaw,
		"events_btf": eventsBTF, "events_raw": eventsRaw, "target_raw": programsTarget, "tally_btf": tallyBTF,
		"tally_raw": tallyRaw} {
		built, err := os.ReadFile(filepath.Join(dir, name+".o"))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(built, committed) {
			t.Errorf("bpf/%s.o is not what its source gives", name)
		}
	}
}

// The two sides have the same types.
func TestLayoutIsThatOfThePrograms(t *testing.T) {
	spec, err := ebpf.LoadCollectionSpecFromReader(bytes.NewReader(programsBTF))
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]any{"dists": kernelDist{}, "pace": pace{}} {
		if got := int(spec.Maps[name].ValueSize); got != binary.Size(want) {
			t.Errorf("%s: the programs have %d bytes, and we %d", name, got, binary.Size(want))
		}
	}
	if got := int(spec.Maps["pending"].ValueSize); got != 2*binary.Size(pending{}) {
		t.Errorf("pending: the programs have %d bytes, and we two of %d", got, binary.Size(pending{}))
	}
	if got := int(spec.Maps["owners"].KeySize); got != binary.Size(ownerKey{}) {
		t.Errorf("owners: the programs have %d bytes, and we %d", got, binary.Size(ownerKey{}))
	}
	for name, want := range map[string]int{"counters": maxDevices * counters, "losses": losses} {
		if got := int(spec.Maps[name].MaxEntries); got != want {
			t.Errorf("%s: the programs have %d, and we %d", name, got, want)
		}
	}
	if got := int(spec.Maps["cells"].ValueSize); got != 4*int(iotrace.A2Q) { // from there on they are the target's
		t.Errorf("cells: the programs have %d bytes for %d intervals", got, iotrace.A2Q)
	}
	for object, types := range map[*[]byte]map[string]any{&programsBTF: {"request_record": requestRecord{}},
		&eventsBTF: {"event_record": eventRecord{}}} {
		known, err := btf.LoadSpecFromReader(bytes.NewReader(*object))
		if err != nil {
			t.Fatal(err)
		}
		for name, want := range types {
			var s *btf.Struct
			if err := known.TypeByName(name, &s); err != nil {
				t.Error(err)
			} else if int(s.Size) != binary.Size(want) {
				t.Errorf("%s: the programs have %d bytes, and we %d", name, s.Size, binary.Size(want))
			}
		}
	}
}

// kernelBin is bin of record.bpf.c.
func kernelBin(ns uint64) int {
	if ns < 1<<firstOctave {
		return int(ns >> (firstOctave - stepBits))
	}
	octave := 63
	for ns>>octave == 0 {
		octave--
	}
	if octave > lastOctave {
		return bins - 1
	}
	return (octave-firstOctave+1)<<stepBits | int(ns>>(octave-stepBits))&(1<<stepBits-1)
}

func TestMiddlesAreInTheirBins(t *testing.T) {
	last := uint64(0)
	for i := range bins {
		m := middle(i)
		if kernelBin(m) != i {
			t.Errorf("%d ns, the middle of bin %d, is in bin %d", m, i, kernelBin(m))
		}
		if m <= last {
			t.Errorf("bin %d does not follow the one before", i)
		}
		last = m
	}
}

// A buffer of the kernel is input like any other: whatever it holds is either
// understood or refused.
func FuzzPage(f *testing.F) {
	page := binary.NativeEndian.AppendUint64(nil, 1000)
	page = binary.NativeEndian.AppendUint64(page, 4+52)
	page = binary.NativeEndian.AppendUint32(page, 13|5<<5)
	page = append(page, make([]byte, 52)...)
	f.Add(page)
	f.Add(page[:20])
	f.Fuzz(func(t *testing.T, page []byte) {
		read := 0
		_ = eachEvent(page, func(ns uint64, data []byte) error {
			read += len(data)
			if r, ok := blkRecord(0, ns, data); ok && len(r.PDU) > len(data) {
				t.Error("a record has more than its event")
			}
			return nil
		})
		if read > len(page) {
			t.Errorf("%d bytes were read of %d", read, len(page))
		}
	})
}

// A task that becomes another program may keep the end of its old name, behind
// the new one: kernels before 5.17 do not wipe it.
func TestNamesOfTasksEnd(t *testing.T) {
	for comm, want := range map[string]string{"fio\x00soll\x00": "fio", "jbd2/loop0-8\x00": "jbd2/loop0-8",
		"sixteen-letters!": "sixteen-letters!", "\x00old": ""} {
		var key ownerKey
		copy(key.Comm[:], comm)
		if is := new(cgroups).owner(key, false).Command; is != want {
			t.Errorf("%q is the name of %q", is, comm)
		}
	}
}
