package main

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"plimsoll/internal/iotrace/blktrace"
	"plimsoll/internal/iotrace/follow"
	"plimsoll/internal/state/inputfile"
)

const standardInput = "-"

// captureFiles are the files that a name stands for: itself, or, of a base
// name, the file of each CPU in their order.
func captureFiles(name string) ([]string, error) {
	if name == standardInput {
		return []string{name}, nil
	}
	info, err := os.Stat(name)
	if err == nil && !info.IsDir() {
		return []string{name}, nil
	}
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	dir, base := filepath.Split(name)
	entries, readErr := os.ReadDir(filepath.Join(dir, "."))
	type cpuFile struct {
		cpu  int
		name string
	}
	var found []cpuFile
	for _, e := range entries {
		suffix, ours := strings.CutPrefix(strings.TrimSuffix(e.Name(), gzipSuffix), base+".blktrace.")
		if cpu, err := strconv.Atoi(suffix); ours && base != "" && err == nil && cpu >= 0 {
			found = append(found, cpuFile{cpu, filepath.Join(dir, e.Name())})
		}
	}
	switch {
	case len(found) > 0:
	case info != nil:
		return nil, fmt.Errorf("%s: it is a directory; add the base name of a capture in it: %s for its "+
			"sda.blktrace.0", name, filepath.Join(name, "sda"))
	case readErr != nil && !errors.Is(readErr, os.ErrNotExist):
		return nil, readErr
	default:
		missing := inputfile.NotThere("file", name)
		if missing.Near == "" {
			missing.Near = "nor is there " + name + ".blktrace.0, or any other CPU's"
		}
		return nil, missing
	}
	slices.SortFunc(found, func(a, b cpuFile) int { return a.cpu - b.cpu })
	var files []string
	for i, f := range found {
		if i > 0 && found[i-1].cpu == f.cpu {
			return nil,
				fmt.Errorf("%s: CPU %d has two files, %s and %s; name the files that count", name, f.cpu, found[i-1].name, f.name)
		}
		files = append(files, f.name)
	}
	return files, nil
}

const gzipSuffix = ".gz"

// openedCapture is the files of a capture that are open.
type openedCapture struct {
	sources []follow.Source
	files   []*os.File
	names   map[uint32]string // of devices, by their numbers

	interrupted context.Context // ends with Ctrl-C
	reading     context.Context // ends when nothing more is to be read
}

// openCapture opens all files; the error has all problems. Standard input is read until ctx ends, and files are read
// to their end.
func openCapture(ctx context.Context, names []string) (*openedCapture, error) {
	c := &openedCapture{names: map[uint32]string{}, interrupted: ctx, reading: ctx}
	if slices.Contains(names, standardInput) {
		c.reading = context.WithoutCancel(ctx)
	}
	var problems []error
	for _, name := range names {
		if err := c.open(name); err != nil {
			problems = append(problems, err)
		}
	}
	if len(problems) > 0 {
		c.close()
		return nil, errors.Join(problems...)
	}
	return c, nil
}

func (c *openedCapture) close() {
	for _, f := range c.files {
		_ = f.Close() // it was only read
	}
}

// open opens a file, and decompresses it if necessary.
func (c *openedCapture) open(name string) error {
	s := follow.Source{Name: strings.TrimSuffix(name, gzipSuffix)}
	f := os.Stdin
	var from io.Reader
	var err error
	if name == standardInput {
		s.Name = "standard input"
		from, err = standardInputReader(c.interrupted)
	} else {
		f, from, err = openInput(c.interrupted, name)
	}
	if err != nil {
		return err
	}
	if f != os.Stdin {
		c.files = append(c.files, f)
	}
	info, err := f.Stat()
	if err != nil {
		return err
	}
	in := bufio.NewReader(from)
	if magic, err := in.Peek(2); err == nil && magic[0] == 0x1f && magic[1] == 0x8b {
		unpacked, err := gzip.NewReader(in)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		in = bufio.NewReader(unpacked)
	} else if info.Mode().IsRegular() {
		s.Size = info.Size()
	}
	if name != standardInput {
		c.learnName(s.Name, in)
	}
	s.From = &untilInterrupted{c.reading, in}
	c.sources = append(c.sources, s)
	return nil
}

// learnName takes the device's name from the name of a blktrace file whose records are of one device.
func (c *openedCapture) learnName(file string, in *bufio.Reader) {
	base, _, ofCPU := strings.Cut(filepath.Base(file), ".blktrace.")
	beginning, _ := in.Peek(in.Size()) // shorter where the file is
	first := make([]blktrace.Record, 1)
	if n, _ := blktrace.NewReader(file, bytes.NewReader(beginning)).Read(first); ofCPU && n > 0 &&
		blktrace.NameMatches(base, first[0].Device) {
		c.names[first[0].Device] = base
	}
}

func (c *openedCapture) deviceName(major, minor uint32) string {
	return c.names[blktrace.DeviceNumber(major, minor)]
}
