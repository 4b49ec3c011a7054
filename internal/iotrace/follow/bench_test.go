package follow

import (
	"bytes"
	"fmt"
	"io"
	"testing"

	"plimsoll/internal/iotrace/blktrace"
	"plimsoll/internal/testkit/synthetic"
)

// repeated is a capture of the test data again and again, merged, until there
// are so many events.
func repeated(b *testing.B, archive string, events int) []byte {
	b.Helper()
	var readers []*blktrace.Reader
	for _, s := range open(b, unpack(b, archive)) {
		readers = append(readers, blktrace.NewReader(s.Name, s.From))
	}
	var once []blktrace.Record
	merge := blktrace.NewMerge(readers, func(err error) { b.Error(err) })
	for records := merge.Next(); len(records) > 0; records = merge.Next() {
		for _, r := range records {
			r.PDU = bytes.Clone(r.PDU)
			r.Sequence = 0 // for the writer to count
			once = append(once, r)
		}
	}
	length := once[len(once)-1].Time - once[0].Time + 1
	var out bytes.Buffer
	w := blktrace.NewWriter(func(uint32) (io.Writer, error) { return &out, nil })
	for n := 0; n < events; n++ {
		r := once[n%len(once)]
		r.Time += uint64(n/len(once)) * length
		r.CPU = 0
		if err := w.Write(&r); err != nil {
			b.Fatal(err)
		}
	}
	if err := w.Flush(); err != nil {
		b.Fatal(err)
	}
	return out.Bytes()
}

// BenchmarkAnalyze tells how many events are analysed in a second, beside how
// many are merely read and decoded. make bench NAME=trace compares the command
// with blkparse and btt.
func BenchmarkAnalyze(b *testing.B) {
	const events = 500_000
	file := repeated(b, "testdata/captures/nvme-fsync.tgz", events)
	run := func(name string, once func() error) {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(file)))
			for b.Loop() {
				if err := once(); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(events*float64(b.N)/b.Elapsed().Seconds(), "events/s")
		})
	}
	run("decode alone", func() error {
		var damage error
		merge := blktrace.NewMerge([]*blktrace.Reader{blktrace.NewReader("file", bytes.NewReader(file))},
			func(err error) { damage = err })
		for len(merge.Next()) > 0 {
		}
		return damage
	})
	for _, threads := range []int{1, 2} {
		run(fmt.Sprintf("%d threads", threads), func() error {
			_, err := Analyze(b.Context(), []Source{{Name: "file", From: bytes.NewReader(file)}}, Options{Threads: threads})
			return err
		})
	}
}

// BenchmarkManyFiles analyses the files of forty CPUs, of one device and of ten.
func BenchmarkManyFiles(b *testing.B) {
	for _, devices := range []int{1, 10} {
		m := makeCapture(b, synthetic.Shape{
			Events: 1_000_000, CPUs: 40, Devices: devices, Shared: true, Merges: 0.2, Splits: 0.03, Requeues: 0.02,
			Remote: 0.5, Seed: 1,
		})
		b.Run(fmt.Sprintf("%d devices", devices), func(b *testing.B) {
			for b.Loop() {
				if _, err := Analyze(b.Context(), m.sources(), Options{}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
