package observe

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

var groupIO = sampler{
	kind: ofGroup,
	metrics: []metric{
		{
			name: "io.reads", unit: unitOps, meaning: "reads of its devices",
			file: "`blkio.throttle.io_serviced_recursive`; version 2: `rios` of `io.stat`",
		},
		{
			name: "io.writes", unit: unitOps, meaning: "writes of its devices",
			file: "`blkio.throttle.io_serviced_recursive`; version 2: `wios` of `io.stat`",
		},
		{
			name: "io.read_bytes", unit: unitRate, meaning: "bytes read from its devices",
			file: "`blkio.throttle.io_service_bytes_recursive`, or `read_bytes` of `/proc/PID/io`; " +
				"version 2: `rbytes` of `io.stat`",
		},
		{
			name: "io.write_bytes", unit: unitRate, meaning: "bytes written to its devices",
			file: "`blkio.throttle.io_service_bytes_recursive`, or `write_bytes` of `/proc/PID/io`; " +
				"version 2: `wbytes` of `io.stat`",
		},
	},
	open: openGroupIO,
}

// Places of the values of groupIO.
const (
	ioReads = iota
	ioWrites
	ioReadBytes
	ioWriteBytes
	ioValues
)

// openGroupIO opens version 1 where the group has a directory there, or has none of version 2.
func openGroupIO(o origin) reader {
	if o.group.IO == "" && o.group.Unified != "" && exists(o.group.Unified, "io.stat") {
		return &unifiedIOReader{stat: o.open(o.group.Unified, "io.stat"), devices: o.devices}
	}
	r := &blkioReader{devices: o.devices, processes: newProcessIO(o)}
	root := blkioRoot(o.group.IO)
	const bytes, ops = "blkio.throttle.io_service_bytes", "blkio.throttle.io_serviced"
	r.bytes = o.open(o.group.IO, bytes+"_recursive", bytes)
	r.ops = o.open(o.group.IO, ops+"_recursive", ops)
	r.active = o.open(root, bytes)
	return r
}

func exists(dir, name string) bool {
	_, err := os.Stat(filepath.Join(dir, name))
	return err == nil
}

// unifiedIOReader reads io.stat of version 2: "8:0 rbytes=1 wbytes=2 rios=3 wios=4 ...". A device that the group never
// used has no line.
type unifiedIOReader struct {
	stat    *file
	devices []string
}

func (r *unifiedIOReader) read(values []float64) {
	text := r.stat.read()
	if text == nil {
		return
	}
	clear(values)
	for line := range bytes.Lines(text) {
		device, rest := cutField(line)
		if !wanted(r.devices, device) {
			continue
		}
		for len(rest) > 0 {
			var field []byte
			field, rest = cutField(rest)
			key, value, _ := bytes.Cut(field, []byte("="))
			switch string(key) {
			case "rios":
				values[ioReads] += number(value)
			case "wios":
				values[ioWrites] += number(value)
			case "rbytes":
				values[ioReadBytes] += number(value)
			case "wbytes":
				values[ioWriteBytes] += number(value)
			}
		}
	}
}

func (r *unifiedIOReader) close() { r.stat.close() }

// wanted reports whether a device is among some; all are where there are none.
func wanted(devices []string, device []byte) bool {
	return len(devices) == 0 || slices.ContainsFunc(devices, func(d string) bool { return d == string(device) })
}

// blkioReader reads the counters of version 1, "8:0 Read 1". Kernels count a device there from when any group was given
// a limit on it; from then on the root has a line of it, and without that a missing line means nothing. Until then, the
// processes of the group tell how many bytes they read and wrote.
type blkioReader struct {
	bytes, ops *file
	active     *file // the root's
	devices    []string
	processes  *processIO

	byProcess bool // whose bytes were read last time
	begun     bool
}

func (r *blkioReader) read(values []float64) {
	var counted [ioValues]float64
	seen := blkio(r.bytes.read(), r.devices, &counted[ioReadBytes], &counted[ioWriteBytes])
	seen += blkio(r.ops.read(), r.devices, &counted[ioReads], &counted[ioWrites])
	counting := seen > 0
	if len(r.devices) > 0 {
		counting = r.activeOn(r.devices)
	}
	if counting {
		copy(values, counted[:])
	} else {
		r.processes.read(&values[ioReadBytes], &values[ioWriteBytes])
	}
	// The two sources count from different times: an interval must not begin with one and end with the other.
	if r.begun && r.byProcess == counting {
		values[ioReadBytes], values[ioWriteBytes] = unknown, unknown
	}
	r.begun = true
	r.byProcess = !counting
}

// activeOn reports whether the kernel counts all these devices for groups.
func (r *blkioReader) activeOn(devices []string) bool {
	text := r.active.read()
	for _, d := range devices {
		line := []byte(d + " ")
		if !bytes.HasPrefix(text, line) && !bytes.Contains(text, append([]byte{'\n'}, line...)) {
			return false
		}
	}
	return true
}

func (r *blkioReader) close() { files{r.bytes, r.ops, r.active}.close() }

// blkio adds up the reads and writes of devices, and returns the number of their lines.
func blkio(text []byte, devices []string, read, write *float64) (lines int) {
	for line := range bytes.Lines(text) {
		device, rest := cutField(line)
		operation, rest := cutField(rest)
		if len(rest) == 0 || !wanted(devices, device) { // "Total 1", of all devices
			continue
		}
		switch string(operation) {
		case "Read":
			*read += number(rest)
		case "Write":
			*write += number(rest)
		}
		lines++
	}
	return lines
}

// blkioRoot returns the root of the hierarchy that a group of blkio is in, or what of it can be seen.
func blkioRoot(dir string) string {
	if dir == "" {
		return ""
	}
	for {
		up := filepath.Dir(dir)
		if up == dir || !exists(up, "blkio.throttle.io_service_bytes") {
			return dir
		}
		dir = up
	}
}

// processIO reads what the processes of a group, and of those below it, had read and written. What a process that ended
// had done is among what its parent did: where the parent is in the group, nothing is missing.
type processIO struct {
	proc string
	dir  string // of the group
}

func newProcessIO(o origin) *processIO {
	p := &processIO{proc: o.roots.Proc}
	if all := o.group.directories(); len(all) > 0 {
		p.dir = all[0]
	}
	return p
}

// read sets what they did in all; nothing is set where the group has no process, or none may be asked.
func (p *processIO) read(read, write *float64) {
	if p.dir == "" {
		return
	}
	var sum [2]float64
	asked := 0
	for _, pid := range processes(p.dir, nil) {
		text, err := os.ReadFile(filepath.Join(p.proc, pid, "io"))
		if err != nil { // it ended
			continue
		}
		one := []float64{unknown, unknown}
		keyed(text, 1, []string{"read_bytes:", "write_bytes:"}, one)
		sum[0] += one[0]
		sum[1] += one[1]
		asked++
	}
	if asked > 0 {
		*read, *write = sum[0], sum[1]
	}
}

// processes appends the processes of a group and of those below it.
func processes(dir string, to []string) []string {
	text, err := os.ReadFile(filepath.Join(dir, "cgroup.procs"))
	if err != nil {
		return to
	}
	to = append(to, strings.Fields(string(text))...)
	entries, err := os.ReadDir(dir)
	if err != nil {
		return to
	}
	for _, e := range entries {
		if e.IsDir() {
			to = processes(filepath.Join(dir, e.Name()), to)
		}
	}
	return to
}
