package trace

import (
	"bufio"
	"errors"
	"io"
	"os"
	"path/filepath"

	"plimsoll/internal/iotrace/blktrace"
	"plimsoll/internal/testkit/synthetic"
)

// shape is a capture that is measured.
type shape struct {
	name    string
	config  synthetic.Shape
	missing []uint32 // CPUs whose files are removed
}

// shapes are the captures: one of each kind that real ones are of.
func shapes(events int) []shape {
	mixed := synthetic.Shape{Events: events, Shared: true, Merges: 0.2, Splits: 0.03, Requeues: 0.02, Remote: 0.5, Seed: 1}
	shapeOf := func(cpus, devices int, merges float64) synthetic.Shape {
		s := mixed
		s.CPUs, s.Devices = cpus, devices
		s.Merges = max(s.Merges, merges)
		return s
	}
	return []shape{
		{"1 CPU, 1 device", shapeOf(1, 1, 0), nil},
		{"8 CPUs, 1 device", shapeOf(8, 1, 0), nil},
		{"8 CPUs, 10 devices", shapeOf(8, 10, 0), nil},
		{"40 CPUs, 1 device", shapeOf(40, 1, 0), nil},
		{"40 CPUs, 10 devices", shapeOf(40, 10, 0), nil},
		{"40 CPUs, 10 devices, merge-heavy", shapeOf(40, 10, 0.9), nil},
		{"40 CPUs, 10 devices, 5 files missing", shapeOf(40, 10, 0), []uint32{3, 8, 17, 18, 31}},
	}
}

// generate writes a capture: NAME.blktrace.CPU.
func generate(dir, name string, s shape) (err error) {
	var buffers []*bufio.Writer
	var files []*os.File
	w := blktrace.NewWriter(func(cpu uint32) (io.Writer, error) {
		f, err := os.Create(filepath.Join(dir, blktrace.FileName(name, cpu)))
		if err != nil {
			return nil, err
		}
		files = append(files, f)
		buffers = append(buffers, bufio.NewWriterSize(f, 1<<18))
		return buffers[len(buffers)-1], nil
	})
	err = s.config.Generate(w)
	for i, b := range buffers {
		err = errors.Join(err, b.Flush(), files[i].Close())
	}
	return err
}
