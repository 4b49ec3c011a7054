package blktrace

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// files collects what a Writer writes, by CPU.
type files map[uint32]*bytes.Buffer

func (f files) open(cpu uint32) (io.Writer, error) {
	f[cpu] = new(bytes.Buffer)
	return f[cpu], nil
}

func write(t testing.TB, records ...Record) files {
	t.Helper()
	f := files{}
	w := NewWriter(f.open)
	for i := range records {
		if err := w.Write(&records[i]); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	return f
}

// read reads all that is sound, and what is wrong.
func read(t testing.TB, from io.Reader) (records []Record, wrong []*FormatError) {
	t.Helper()
	d := NewReader("file", from)
	for {
		var r Record
		err := next(d, &r)
		if errors.Is(err, io.EOF) {
			return records, wrong
		}
		var format *FormatError
		if errors.As(err, &format) {
			wrong = append(wrong, format)
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		r.PDU = slices.Clone(r.PDU)
		records = append(records, r)
	}
}

// next reads one record.
func next(d *Reader, r *Record) error {
	one := []Record{*r}
	_, err := d.Read(one)
	*r = one[0]
	return err
}

var disk = DeviceNumber(8, 16)

// life is one write's, with what surrounds it.
func life() []Record {
	w := CatWrite | CatSync
	r := []Record{
		{Action: NoteTimestamp | CatNotify, PDU: []byte{1, 2, 3, 4, 5, 6, 7, 8}},
		{Action: NoteProcess | CatNotify, PID: 42, PDU: []byte("fio\x00")},
		{Action: Remap | w, Sector: 2048, Bytes: 4096, PDU: RemapPDU(DeviceNumber(8, 17), disk, 0)},
		{Action: Queue | CatQueue | w, Sector: 2048, Bytes: 4096},
		{Action: GetRequest | CatQueue | w, Sector: 2048, Bytes: 4096},
		{Action: Insert | CatQueue | w, Sector: 2048, Bytes: 4096},
		{Action: Unplug | CatQueue, PDU: CountPDU(1)},
		{Action: Issue | CatIssue | w, Sector: 2048, Bytes: 4096},
		{Action: Submit | w, Sector: 2048, Bytes: 4096, PDU: []byte(SubmitPDU)},
		{Action: Complete | CatComplete | w, Sector: 2048, Bytes: 4096, CPU: 2, Error: 0xfffb},
	}
	for i := range r {
		r[i].Time, r[i].Device = uint64(1000*(i+1)), disk
		if r[i].PID == 0 {
			r[i].PID = 42
		}
	}
	return r
}

func TestWhatIsWrittenIsRead(t *testing.T) {
	records := life()
	records[4].Cgroup = 1<<40 + 7
	records[2].Cgroup = 9
	f := write(t, records...)
	if len(f) != 3 || f[1].Len() != 0 {
		t.Errorf("%d files, want those of CPUs 0, 1 without records, and 2", len(f))
	}
	var got []Record
	m := NewMerge([]*Reader{NewReader("0", f[0]), NewReader("1", f[1]), NewReader("2", f[2])},
		func(err error) { t.Error(err) })
	for records := m.Next(); len(records) > 0; records = m.Next() {
		for _, r := range records {
			r.PDU = slices.Clone(r.PDU)
			got = append(got, r)
		}
	}
	if len(got) != len(records) {
		t.Fatalf("%d records of %d", len(got), len(records))
	}
	for i, want := range records {
		want.Sequence = got[i].Sequence
		if !equal(got[i], want) {
			t.Errorf("record %d:\n got %+v\nwant %+v", i, got[i], want)
		}
	}
	if got[7].Sequence != 6 || got[9].Sequence != 1 || got[9].Errno() != 5 || !got[8].IsSubmit() {
		t.Errorf("%+v, %+v", got[7], got[9])
	}
	if dev, sector, ok := got[2].RemappedFrom(); !ok || MajMin(dev) != "8:17" || sector != 0 {
		t.Errorf("remapped from %d, %d", dev, sector)
	}
}

// Who copies records gets the same ones as who looks at them, however many fit.
func TestFillGivesWhatNextGives(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var files [][]byte
		for cpu := range rapid.IntRange(1, 4).Draw(t, "files") {
			var f bytes.Buffer
			w := NewWriter(func(uint32) (io.Writer, error) { return &f, nil })
			now := uint64(0)
			for i := range rapid.IntRange(0, 200).Draw(t, "records") {
				now += rapid.Uint64Range(0, 3).Draw(t, "gap")
				r := Record{Time: now, Sector: uint64(i), CPU: uint32(cpu), Device: 7 << 20, Bytes: 4096, Action: Queue | CatQueue}
				if rapid.Bool().Draw(t, "note") {
					r.Action, r.PDU = NoteProcess|CatNotify, []byte("name")
				}
				if err := w.Write(&r); err != nil {
					t.Fatal(err)
				}
			}
			if err := w.Flush(); err != nil {
				t.Fatal(err)
			}
			files = append(files, f.Bytes())
		}
		merge := func() *Merge {
			var all []*Reader
			for _, f := range files {
				all = append(all, NewReader("file", bytes.NewReader(f)))
			}
			return NewMerge(all, func(err error) { t.Error(err) })
		}
		keep := func(to, records []Record) []Record {
			for _, r := range records {
				r.PDU = slices.Clone(r.PDU)
				to = append(to, r)
			}
			return to
		}
		var want, got []Record
		m := merge()
		for records := m.Next(); len(records) > 0; records = m.Next() {
			want = keep(want, records)
		}
		m = merge()
		for {
			room := make([]Record, rapid.IntRange(1, 100).Draw(t, "room"))
			n := m.Fill(room)
			if n == 0 {
				break
			}
			got = keep(got, room[:n])
		}
		if !slices.EqualFunc(got, want, equal) {
			t.Fatalf("%d records, and not the same %d", len(got), len(want))
		}
	})
}

func equal(a, b Record) bool {
	pdu := bytes.Equal(a.PDU, b.PDU)
	a.PDU, b.PDU = nil, nil
	return pdu && reflect.DeepEqual(a, b)
}

// encode writes a record of any version and byte order, by the kernel's
// description of the format.
func encode(r Record, version uint32, order binary.AppendByteOrder) []byte {
	action, pdu := r.Action, r.PDU
	if r.Cgroup != 0 {
		action |= 1 << 8
		pdu = append(order.AppendUint64(nil, r.Cgroup), pdu...)
	}
	b := order.AppendUint32(nil, 0x65617400|version)
	b = order.AppendUint32(b, r.Sequence)
	b = order.AppendUint64(b, r.Time)
	b = order.AppendUint64(b, r.Sector)
	b = order.AppendUint32(b, r.Bytes)
	if version == 8 {
		b = order.AppendUint32(b, r.PID)
		b = order.AppendUint64(b, uint64(action))
	} else {
		b = order.AppendUint32(b, uint32(action))
		b = order.AppendUint32(b, r.PID)
	}
	b = order.AppendUint32(b, r.Device)
	b = order.AppendUint32(b, r.CPU)
	b = order.AppendUint16(b, r.Error)
	b = order.AppendUint16(b, uint16(len(pdu)))
	if version == 8 {
		b = append(b, make([]byte, 12)...)
	}
	return append(b, pdu...)
}

func TestVersionsAndByteOrders(t *testing.T) {
	records := life()
	records[3].Cgroup = 77
	for _, version := range []uint32{7, 8} {
		for _, order := range []binary.AppendByteOrder{binary.LittleEndian, binary.BigEndian} {
			var file []byte
			for i, r := range records {
				r.Sequence = uint32(i)
				if version == 8 {
					r.Action |= CatZoneAppend
				}
				file = append(file, encode(r, version, order)...)
			}
			got, wrong := read(t, bytes.NewReader(file))
			if len(wrong) != 0 || len(got) != len(records) {
				t.Fatalf("version %d, %v: %d records, %v", version, order, len(got), wrong)
			}
			for i, want := range records {
				want.Sequence = uint32(i)
				if version == 8 {
					want.Action |= CatZoneAppend
				}
				if !equal(got[i], want) {
					t.Errorf("version %d, %v:\n got %+v\nwant %+v", version, order, got[i], want)
				}
			}
		}
	}
}

func TestDamageIsNamedAndPassedOver(t *testing.T) {
	whole := write(t, life()...)[0].Bytes() // 9 records
	offsetOf := func(n int) int {           // where record n begins
		d := NewReader("file", bytes.NewReader(whole))
		for range n {
			if err := next(d, new(Record)); err != nil {
				t.Fatal(err)
			}
		}
		return int(d.Offset())
	}
	for name, c := range map[string]struct {
		damage  func([]byte) []byte
		records int
		offset  int
		skipped int
		reason  string
	}{
		"cut within a header": {func(b []byte) []byte { return b[:offsetOf(4)+20] }, 4, offsetOf(4), 20,
			"ends within a record"},
		"cut within a PDU": {func(b []byte) []byte { return b[:offsetOf(3)-1] }, 2, offsetOf(2), 48 + 15,
			"ends within a record"},
		"cut within a magic": {func(b []byte) []byte { return b[:offsetOf(4)+2] }, 4, offsetOf(4), 2,
			"ends within a record"},
		"a magic overwritten": {func(b []byte) []byte { b[offsetOf(4)] = 0xff; b[offsetOf(4)+1] = 0; return b },
			8, offsetOf(4), 48, "no record"},
		"zeros at the end": {func(b []byte) []byte { return append(b, make([]byte, 100)...) }, 9, len(whole), 100,
			"no record"},
		"zeros within": {func(b []byte) []byte { return slices.Insert(b, offsetOf(5), make([]byte, 1000)...) }, 9,
			offsetOf(5), 1000, "no record"},
		"another version": {func(b []byte) []byte { b[offsetOf(4)] = 6; return b }, 8, offsetOf(4), 48, "version 6"},
		"a PDU too long": {func(b []byte) []byte { b[offsetOf(4)+46] = 10; return b }, 8, offsetOf(5) + 10, 38,
			"no record"},
		"a PDU over others": {func(b []byte) []byte { b[offsetOf(4)+47] = 1; return b }, 8, offsetOf(4), 48,
			"other records in it"},
		"a PDU over the end": {func(b []byte) []byte { b[offsetOf(4)+47] = 0xff; return b }, 8, offsetOf(4), 48,
			"beyond the file's end"},
		"a PDU over much": {func(b []byte) []byte {
			b = bytes.Repeat(b, 300)
			b[offsetOf(4)+47] = 0xff
			return b
		}, 9*300 - 1, offsetOf(4), 48, "other records in it"},
		"no cgroup": {func(b []byte) []byte { b[offsetOf(4)+29] |= 1; return b }, 8, offsetOf(4), 48, "lacks the cgroup"},
		"not a capture": {func([]byte) []byte { return []byte(strings.Repeat("hello\n", 100000)) }, 0, 0, 600000,
			"this is text"},
		"nothing of a capture": {func([]byte) []byte { return []byte(strings.Repeat("\x00\x01\x02\x03", 1000)) }, 0, 0, 4000,
			"no record"},
	} {
		got, wrong := read(t, bytes.NewReader(c.damage(slices.Clone(whole))))
		if len(wrong) != 1 {
			t.Errorf("%s: %d errors: %v", name, len(wrong), wrong)
			continue
		}
		w := wrong[0]
		if len(got) != c.records || w.Offset != int64(c.offset) || w.Skipped != int64(c.skipped) ||
			!strings.Contains(w.Error(), c.reason) {
			t.Errorf("%s: %d records, want %d; %v, want it at %d, %d skipped", name, len(got), c.records, w, c.offset, c.skipped)
		}
	}
}

func TestDisordered(t *testing.T) {
	var file []byte
	for _, r := range []Record{{Time: 1}, {Time: 3}, {Time: 2}, {Time: 2}, {Time: 1, Action: CatNotify | NoteMessage},
		{Time: 9}} {
		file = append(file, encode(r, 7, binary.LittleEndian)...)
	}
	d := NewReader("file", bytes.NewReader(file))
	for next(d, new(Record)) == nil {
	}
	if d.Disordered() != 2 {
		t.Errorf("%d out of order", d.Disordered())
	}
}

func TestBlkparseAndBttAcceptWhatIsWritten(t *testing.T) {
	for _, program := range []string{"blkparse", "btt"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("%s is not installed: scripts/setup.sh test", program)
		}
	}
	dir := t.TempDir()
	for cpu, b := range write(t, life()...) {
		if err := os.WriteFile(filepath.Join(dir, FileName("trace", cpu)), b.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	run := func(name string, args ...string) string {
		t.Helper()
		c := exec.Command(name, args...)
		c.Dir = dir
		out, err := c.CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %v\n%s", c, err, out)
		}
		return string(out)
	}
	parsed := run("blkparse", "-i", "trace", "-d", "merged", "-f", "%a %S+%n %C\\n")
	want := "A 2048+8 fio\nQ 2048+8 fio\nG 2048+8 fio\nI 2048+8 fio\nU 0+0 fio\nD 2048+8 fio\nC 2048+8 fio\n"
	if !strings.HasPrefix(parsed, want) {
		t.Errorf("blkparse:\n%s\nwant\n%s", parsed, want)
	}
	if !strings.Contains(parsed, "Skips: 0") {
		t.Errorf("blkparse skips records:\n%s", parsed)
	}
	if out := run("btt", "-i", "merged"); !strings.Contains(out,
		"Q2C               0.000006000   0.000006000   0.000006000           1") {
		t.Errorf("btt:\n%s", out)
	}
	merged, err := os.ReadFile(filepath.Join(dir, "merged"))
	if err != nil {
		t.Fatal(err)
	}
	got, wrong := read(t, bytes.NewReader(merged))
	submits := 0
	for i := range got {
		if got[i].IsSubmit() {
			submits++
		}
	}
	if len(wrong) != 0 || submits != 1 {
		t.Errorf("of blkparse's merged stream: %d submissions to the device, %v", submits, wrong)
	}
}
