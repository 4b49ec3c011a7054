package capture

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/moby/sys/mountinfo"
	"golang.org/x/sys/unix"

	"plimsoll/internal/iotrace"
	"plimsoll/internal/iotrace/blktrace"
	"plimsoll/internal/iotrace/follow"
	"plimsoll/internal/state/journal"
)

// tracefsHome is the kernel's mount point for tracefs.
const tracefsHome = "/sys/kernel/tracing"

// The settings of a recording. A buffer is a whole number of pages of 4080
// bytes of events, so that the kernel says the number back.
const (
	tracerName   = "blk"
	bufferKiB    = "8160"
	traceClock   = "mono"
	readInterval = 5 * time.Millisecond
)

// tracefsMount returns the directory where tracefs is mounted; "" where it is not.
func tracefsMount() string {
	mounts, _ := mountinfo.GetMounts(mountinfo.FSTypeFilter("tracefs"))
	if len(mounts) == 0 {
		return ""
	}
	return mounts[0].Mountpoint
}

// probeTracefs reports why the kernel lacks the tracer "blk", as far as can be seen without a change, with a remedy;
// "" where it has it.
func probeTracefs() (why, remedy string) {
	if !exists(tracefsHome) {
		return "the kernel has no tracing", "boot a kernel with CONFIG_FTRACE"
	}
	if os.Geteuid() != 0 {
		return "only root may trace", "run as root"
	}
	if traces, _ := filepath.Glob("/sys/block/*/trace/enable"); len(traces) == 0 {
		return "block devices have no trace/enable", "boot a kernel with CONFIG_BLK_DEV_IO_TRACE"
	}
	dir := tracefsMount()
	if dir == "" {
		return "", ""
	}
	if tracer, err := os.ReadFile(filepath.Join(dir, "current_tracer")); err == nil &&
		strings.TrimSpace(string(tracer)) != "nop" {
		return "the tracer " + strings.TrimSpace(string(tracer)) + " is at work",
			"wait until it has ended, or echo nop > " + filepath.Join(dir, "current_tracer")
	}
	return "", ""
}

// tracefsRecorder records by the kernel's own tracer of block devices.
type tracefsRecorder struct {
	ctx     context.Context
	journal *journal.Journal
	options Options
	devices []device
	dir     string
	began   time.Time
	ended   time.Time
	undo    []*journal.Entry // of devices last
	cpus    []*cpuBuffer
	lostYet uint64 // before the recording
	lost    uint64
	events  uint64
	names   map[uint32]string
	named   map[onCPU]bool // what they do at a CPU may be read before what they did earlier at another

	spool  map[uint32]*os.File // of a CPU's records, without a name
	writer *blktrace.Writer

	quit chan struct{}
	done chan error
}

// onCPU is a task at a CPU.
type onCPU struct{ cpu, pid uint32 }

// cpuBuffer is the kernel's buffer of a CPU.
type cpuBuffer struct {
	cpu   uint32
	pages *os.File
	page  []byte
}

func startTracefs(ctx context.Context, j *journal.Journal, o Options, devices []device) (_ recorder, err error) {
	if j == nil {
		return nil, errors.New("it changes settings of the kernel, and there is no journal to undo them by")
	}
	r := &tracefsRecorder{
		ctx: context.WithoutCancel(ctx), journal: j, options: o, devices: devices,
		spool: map[uint32]*os.File{}, names: map[uint32]string{}, named: map[onCPU]bool{}, quit: make(chan struct{}),
		done: make(chan error, 1),
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, r.close())
		}
	}()
	if err := r.prepare(ctx); err != nil {
		return nil, err
	}
	r.writer = blktrace.NewWriter(r.spoolFile)
	r.began = time.Now()
	for _, d := range devices {
		// The tracer hands events on from here on.
		if err := r.set(ctx, filepath.Join("/sys/block", d.name, "trace/enable"), "1"); err != nil {
			return nil, err
		}
	}
	go func() { r.done <- r.read() }()
	return r, nil
}

// prepare mounts tracefs if it is not mounted, and configures the tracer.
func (r *tracefsRecorder) prepare(ctx context.Context) error {
	if r.dir = tracefsMount(); r.dir == "" {
		r.dir = tracefsHome
		mount := &journal.Mount{Source: "tracefs", Target: r.dir, Type: "tracefs"}
		entry, err := r.journal.Do(ctx, mount, func(string) error {
			err := unix.Mount("tracefs", r.dir, "tracefs", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, "")
			if err != nil {
				return err
			}
			return mount.Note()
		})
		if entry != nil {
			r.undo = append(r.undo, entry)
		}
		if err != nil {
			return fmt.Errorf("mount tracefs: %w", err)
		}
		if why, remedy := probeTracefs(); why != "" {
			return fmt.Errorf("%s: %s", why, remedy)
		}
	}
	// A kernel that oopsed has stopped tracing: a tracer then takes its settings and records nothing.
	for _, s := range [][2]string{{"buffer_size_kb", bufferKiB}, {"trace_clock", traceClock},
		{"current_tracer", tracerName}, {"tracing_on", "1"}} {
		if err := r.set(ctx, filepath.Join(r.dir, s[0]), s[1]); err != nil {
			return err
		}
	}
	dirs, err := filepath.Glob(filepath.Join(r.dir, "per_cpu/cpu*"))
	if err != nil {
		return err
	}
	for _, dir := range dirs {
		cpu, err := strconv.ParseUint(strings.TrimPrefix(filepath.Base(dir), "cpu"), 10, 32)
		if err != nil {
			return fmt.Errorf("%s names no CPU: %w", dir, err)
		}
		// Not by package os: its poller does not know these files.
		fd, err := unix.Open(filepath.Join(dir, "trace_pipe_raw"), unix.O_RDONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
		if err != nil {
			return fmt.Errorf("%s/trace_pipe_raw: %w", dir, err)
		}
		r.cpus = append(r.cpus,
			&cpuBuffer{cpu: uint32(cpu), pages: os.NewFile(uintptr(fd), dir), page: make([]byte, os.Getpagesize())})
	}
	r.lostYet = r.losses()
	return nil
}

// set makes a journalled setting.
func (r *tracefsRecorder) set(ctx context.Context, path, value string) error {
	now, _, err := journal.Choices(path)
	if err != nil || now == value {
		return err
	}
	change := &journal.Setting{Path: path, Value: value}
	entry, err := r.journal.Do(ctx, change, func(string) error { return change.Make() })
	if entry != nil {
		r.undo = append(r.undo, entry)
	}
	if err != nil {
		return fmt.Errorf("set %s to %s: %w", path, value, err)
	}
	return nil
}

// losses counts the events that the kernel had no room for.
func (r *tracefsRecorder) losses() (n uint64) {
	for _, c := range r.cpus {
		text, _ := os.ReadFile(filepath.Join(r.dir, fmt.Sprintf("per_cpu/cpu%d/stats", c.cpu)))
		for line := range strings.Lines(string(text)) {
			name, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
			if name == "overrun" || name == "dropped events" || name == "commit overrun" {
				v, _ := strconv.ParseUint(value, 10, 64)
				n += v
			}
		}
	}
	return n
}

// spoolFile makes the file that a CPU's records wait in.
func (r *tracefsRecorder) spoolFile(cpu uint32) (io.Writer, error) {
	f, err := nameless(r.journal.State())
	if err != nil {
		return nil, err
	}
	r.spool[cpu] = f
	return f, nil
}

// nameless makes a file without a name, so that nothing of it stays, however the
// process ends. Where the file system has no such files, it has a name at first.
func nameless(dir string) (*os.File, error) {
	f, err := os.OpenFile(dir, unix.O_TMPFILE|os.O_RDWR, 0o600)
	if err == nil || !errors.Is(err, unix.EOPNOTSUPP) && !errors.Is(err, unix.EISDIR) {
		return f, err
	}
	if f, err = os.CreateTemp(dir, "trace"); err != nil {
		return nil, err
	}
	return f, os.Remove(f.Name())
}

// read empties the kernel's buffers, until it is told to end and they are empty.
func (r *tracefsRecorder) read() error {
	for {
		ending := false
		select {
		case <-r.quit:
			ending = true
		default:
		}
		busy := false
		for _, c := range r.cpus {
			n, err := unix.Read(int(c.pages.Fd()), c.page)
			switch {
			case errors.Is(err, unix.EAGAIN) || errors.Is(err, unix.EINTR) || err == nil && n == 0:
				continue
			case errors.Is(err, unix.ENODEV): // there is room for this CPU, and it has not come online
				continue
			case err != nil:
				return fmt.Errorf("read the kernel's buffer of CPU %d: %w", c.cpu, err)
			}
			busy = true
			if err := r.takePage(c.cpu, c.page[:n]); err != nil {
				return err
			}
		}
		switch {
		case busy:
		case ending:
			return r.writer.Flush()
		default:
			time.Sleep(readInterval)
		}
	}
}

func (r *tracefsRecorder) takePage(cpu uint32, page []byte) error {
	return eachEvent(page, func(ns uint64, data []byte) error {
		record, ok := blkRecord(cpu, ns, data)
		if !ok || !record.Action.IsNote() && !slices.ContainsFunc(r.devices, func(d device) bool {
			return blktrace.DeviceNumber(d.major, d.minor) == record.Device
		}) {
			return nil // somebody else's
		}
		r.events++
		if task := (onCPU{cpu, record.PID}); !r.named[task] {
			r.named[task] = true
			note := &blktrace.Record{Time: record.Time, CPU: cpu, PID: record.PID,
				Action: blktrace.NoteProcess | blktrace.CatNotify, PDU: append([]byte(r.command(record.PID)), 0)}
			if err := r.give(note); err != nil {
				return err
			}
		}
		return r.give(record)
	})
}

func (r *tracefsRecorder) give(record *blktrace.Record) error {
	if r.options.Events != nil {
		r.options.Events(record)
		return nil
	}
	return r.writer.Write(record)
}

// command is the name of a task, which may be gone: the tracer keeps the names
// of the last ones.
func (r *tracefsRecorder) command(pid uint32) string {
	if _, known := r.names[pid]; !known {
		r.names[pid] = r.lookUp(pid)
	}
	return r.names[pid]
}

func (r *tracefsRecorder) lookUp(pid uint32) string {
	if name, err := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid)); err == nil {
		return strings.TrimSpace(string(name))
	}
	saved, _ := os.ReadFile(filepath.Join(r.dir, "saved_cmdlines"))
	for line := range strings.Lines(string(saved)) {
		if id, name, _ := strings.Cut(strings.TrimSpace(line), " "); id == strconv.FormatUint(uint64(pid), 10) {
			return name
		}
	}
	return ""
}

func (r *tracefsRecorder) stop() error {
	r.ended = time.Now()
	var errs []error
	// Devices first: what they traced until then is in the buffers.
	for len(r.undo) > 0 {
		last := r.undo[len(r.undo)-1]
		if s, ok := last.Change.(*journal.Setting); !ok || !strings.HasPrefix(s.Path, "/sys/block/") {
			break
		}
		errs = append(errs, r.journal.Undo(r.ctx, last))
		r.undo = r.undo[:len(r.undo)-1]
	}
	close(r.quit)
	errs = append(errs, <-r.done)
	r.lost = r.losses() - r.lostYet
	return errors.Join(errs...)
}

func (r *tracefsRecorder) close() error {
	var errs []error
	for _, c := range r.cpus {
		errs = append(errs, c.pages.Close())
	}
	errs = append(errs, r.journal.UndoEach(r.ctx, r.undo))
	for _, f := range r.spool {
		errs = append(errs, f.Close())
	}
	r.cpus, r.undo = nil, nil
	return errors.Join(errs...)
}

// account analyses the recorded events. It fails before the end, while the files are being written.
func (r *tracefsRecorder) account() (*iotrace.Account, error) {
	if r.ended.IsZero() {
		return nil, errors.New("a recording by tracefs gives its account when it has ended")
	}
	a := &iotrace.Account{}
	if r.options.Events == nil {
		var err error
		if a, err = r.follow(); err != nil {
			return nil, err
		}
	}
	a.Recorder, a.Duration, a.Events = "tracefs", r.ended.Sub(r.began), r.events
	a.Lost += r.lost
	for _, d := range r.devices {
		if d.note != "" {
			a.Missing = append(a.Missing, d.note)
		}
		if !slices.ContainsFunc(a.Devices, func(known iotrace.Device) bool { return known.MajMin == d.majMin() }) {
			a.Devices = append(a.Devices, iotrace.Device{Name: d.name, MajMin: d.majMin()})
		}
	}
	if r.options.Application {
		a.Missing = append(a.Missing, "S2Q, S2X, C2R: the kernel's own tracer follows no system calls")
	}
	return a, nil
}

func (r *tracefsRecorder) follow() (*iotrace.Account, error) {
	var sources []follow.Source
	for cpu, f := range r.spool {
		info, err := f.Stat()
		if err != nil {
			return nil, err
		}
		sources = append(sources,
			follow.Source{Name: blktrace.FileName("trace", cpu),
				From: bufio.NewReader(io.NewSectionReader(f, 0, info.Size())), Size: info.Size()})
	}
	slices.SortFunc(sources, func(a, b follow.Source) int { return strings.Compare(a.Name, b.Name) })
	options := follow.Options{DeviceName: func(major, minor uint32) string {
		for _, d := range r.devices {
			if d.major == major && d.minor == minor {
				return d.name
			}
		}
		return ""
	}}
	if r.options.Requests != nil {
		options.PerIO = func(io *iotrace.IO) error {
			r.options.Requests(io)
			return nil
		}
	}
	a, err := follow.Analyze(r.ctx, sources, options)
	switch {
	case errors.Is(err, follow.ErrEmpty):
		return &iotrace.Account{}, nil
	case a == nil:
		return nil, err
	}
	var damage *follow.DamageError
	if errors.As(err, &damage) { // the account names it
		err = nil
	}
	return a, err
}
