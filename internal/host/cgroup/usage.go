package cgroup

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Usage is the resource use of a group since it was made, groups below included.
type Usage struct {
	CPU        time.Duration // processor time
	Throttling *Throttling   // nil where the controller cpu is not in use for the group
	Memory     *Memory       // nil where the controller memory is not in use for the group
	// Devices is by MAJ:MIN. With version 1 it counts from when there was a limit on the
	// device on, and is of all that share the limits; nil where the kernel counts nothing.
	Devices map[string]IO
}

// Throttling counts the effects of a processor-time quota on the group itself.
type Throttling struct {
	Periods   uint64        // in which it had anything to do
	Throttled uint64        // periods in which the quota was exhausted
	Time      time.Duration // that it was kept from running, summed over processors
}

// Memory is the group's memory, page cache included.
type Memory struct {
	Bytes      int64  // now
	CacheBytes int64  // of which page cache
	PeakBytes  int64  // maximum so far; 0 where the kernel does not report it
	AtLimit    uint64 // how often it met its limit; some kernels do not count that with version 1
	OOMKills   uint64 // processes that the kernel killed for it

	AnonymousBytes  int64 // in no file
	SharedBytes     int64 // of the page cache, what programs share and tmpfs: it has no file to be read from again
	ActiveFileBytes int64 // page cache of files that was used more than once
	KernelBytes     int64 // the kernel's own for the group, as far as it cannot be reclaimed
}

// IO counts requests to a device.
type IO struct{ ReadBytes, WrittenBytes, Reads, Writes uint64 }

// Usage returns the group's usage.
func (g *Group) Usage() (u Usage, err error) {
	var errs []error
	if _, ok := g.placeOf(cpuacct); ok {
		u.CPU, err = g.CPU()
		errs = append(errs, err)
	}
	if p, ok := g.placeOf(cpu); ok {
		u.Throttling, err = p.throttling()
		errs = append(errs, withoutMissing(err))
	}
	if p, ok := g.placeOf(memory); ok {
		u.Memory, err = p.memory()
		errs = append(errs, withoutMissing(err))
	}
	if p, ok := g.placeOf(blkio); ok {
		u.Devices, err = p.devices()
		errs = append(errs, withoutMissing(err))
	}
	return u, errors.Join(errs...)
}

// Devices returns the requests of the group to devices, as Usage does, and reads nothing else.
func (g *Group) Devices() (map[string]IO, error) {
	p, ok := g.placeOf(blkio)
	if !ok {
		return nil, fmt.Errorf("the I/O of cgroup %s: %w", g.Path(), errors.ErrUnsupported)
	}
	return p.devices()
}

// CPU returns the processor time that processes of the group, and of groups
// below it, have used.
func (g *Group) CPU() (time.Duration, error) {
	p := g.cpuPlace()
	if !p.unified {
		text, err := p.read("cpuacct.usage")
		if err != nil {
			return 0, err
		}
		ns, err := strconv.ParseInt(text, 10, 64)
		return time.Duration(ns), err
	}
	stat, err := p.readTable("cpu.stat")
	if err != nil {
		return 0, err
	}
	us, ok := stat["usage_usec"]
	if !ok {
		return 0, fmt.Errorf("%s does not show usage_usec", filepath.Join(p.dir, "cpu.stat"))
	}
	return time.Duration(us) * time.Microsecond, nil
}

func (p place) throttling() (*Throttling, error) {
	stat, err := p.readTable("cpu.stat")
	if err != nil {
		return nil, err
	}
	if _, ok := stat["nr_periods"]; !ok {
		return nil, nil // of version 2, without the controller
	}
	t := &Throttling{
		Periods: stat["nr_periods"], Throttled: stat["nr_throttled"], Time: time.Duration(stat["throttled_time"]),
	}
	if p.unified {
		t.Time = time.Duration(stat["throttled_usec"]) * time.Microsecond
	}
	return t, nil
}

func (p place) memory() (*Memory, error) {
	bytes, err := p.readInt(p.fileName("memory.usage_in_bytes", "memory.current"))
	if err != nil {
		return nil, err
	}
	stat, err := p.readTable("memory.stat")
	if err != nil {
		return nil, err
	}
	peak, err := p.readInt(p.fileName("memory.max_usage_in_bytes", "memory.peak"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) { // version 2 has it since Linux 5.19
		return nil, err
	}
	m := &Memory{Bytes: bytes, PeakBytes: peak}
	if p.unified {
		events, err := p.readTable("memory.events")
		m.CacheBytes, m.AtLimit, m.OOMKills = int64(stat["file"]), events["max"], events["oom_kill"]
		m.AnonymousBytes, m.SharedBytes = int64(stat["anon"]), int64(stat["shmem"])
		m.ActiveFileBytes = int64(stat["active_file"])
		m.KernelBytes = int64(stat["kernel_stack"] + stat["pagetables"] + stat["percpu"] + stat["slab_unreclaimable"])
		return m, err
	}
	failed, err := p.readInt("memory.failcnt")
	if err != nil {
		return nil, err
	}
	// Where both limits are the same, it is that with swap which is met.
	withSwap, err := p.readInt("memory.memsw.failcnt")
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	// All of it: version 1 does not say how much could be reclaimed. A kernel that does not count it has no such file.
	m.KernelBytes, err = p.readInt("memory.kmem.usage_in_bytes")
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	oom, err := p.readTable("memory.oom_control")
	m.AnonymousBytes, m.SharedBytes = int64(stat["total_rss"]), int64(stat["total_shmem"])
	m.ActiveFileBytes = int64(stat["total_active_file"])
	m.CacheBytes, m.AtLimit, m.OOMKills = int64(stat["total_cache"]), uint64(failed+withSwap), oom["oom_kill"]
	return m, err
}

func (p place) devices() (map[string]IO, error) {
	if p.unified {
		return p.devices2()
	}
	counts := map[string]IO{}
	for _, file := range []struct {
		name     string
		counters func(*IO) (r, w *uint64)
	}{
		{"blkio.throttle.io_service_bytes", func(io *IO) (r, w *uint64) { return &io.ReadBytes, &io.WrittenBytes }},
		{"blkio.throttle.io_serviced", func(io *IO) (r, w *uint64) { return &io.Reads, &io.Writes }},
	} {
		text, err := p.read(file.name + "_recursive")
		if errors.Is(err, fs.ErrNotExist) { // before Linux 5.3
			text, err = p.read(file.name)
		}
		if err != nil {
			return nil, err
		}
		for line := range strings.Lines(text) {
			f := strings.Fields(line) // MAJ:MIN Read|Write|Sync|Async|Discard|Total N
			if len(f) != 3 {
				continue
			}
			n, err := strconv.ParseUint(f[2], 10, 64)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", filepath.Join(p.dir, file.name), err)
			}
			io := counts[f[0]]
			read, written := file.counters(&io)
			switch f[1] {
			case "Read":
				*read = n
			case "Write":
				*written = n
			}
			counts[f[0]] = io
		}
	}
	return counts, nil
}

func (p place) devices2() (map[string]IO, error) {
	stat, err := p.readKeyed("io.stat")
	if err != nil {
		return nil, err
	}
	counts := map[string]IO{}
	for device, n := range stat {
		counts[device] = IO{
			ReadBytes: uint64(n["rbytes"]), WrittenBytes: uint64(n["wbytes"]),
			Reads: uint64(n["rios"]), Writes: uint64(n["wios"]),
		}
	}
	return counts, nil
}

// DropCache makes the kernel reclaim the page cache of the group and those below it, and returns how much is left.
// Dirty pages stay: sync first.
func (g *Group) DropCache() (left int64, err error) {
	p, ok := g.placeOf(memory)
	if problem := g.missing[memory]; problem != nil || !ok {
		return 0, fmt.Errorf("drop the page cache of %s: the group has no memory of its own: %w", g.Path(),
			errors.Join(problem, errors.ErrUnsupported))
	}
	before, err := p.memory()
	if err != nil {
		return 0, err
	}
	if p.unified {
		// The kernel says EAGAIN when it was less than asked for.
		err = p.set("memory.reclaim", strconv.FormatInt(before.CacheBytes, 10))
		if errors.Is(err, syscall.EAGAIN) || before.CacheBytes == 0 {
			err = nil
		}
	} else {
		err = p.set("memory.force_empty", "0")
	}
	if err != nil {
		return before.CacheBytes, err
	}
	after, err := p.memory()
	if err != nil {
		return 0, err
	}
	return after.CacheBytes, nil
}
