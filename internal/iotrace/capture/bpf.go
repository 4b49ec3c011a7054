package capture

import (
	"bytes"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/btf"
	"github.com/cilium/ebpf/features"
	"github.com/cilium/ebpf/link"
	"github.com/cilium/ebpf/rlimit"
	"golang.org/x/sys/unix"

	"plimsoll/internal/state/journal"
)

//go:generate bpf/build.sh

// The programs, once for each kind of attachment.
var (
	//go:embed bpf/record_btf.o
	programsBTF []byte
	//go:embed bpf/record_raw.o
	programsRaw []byte
	//go:embed bpf/events_btf.o
	eventsBTF []byte
	//go:embed bpf/events_raw.o
	eventsRaw []byte
)

// forceRaw makes tests load the programs of older kernels.
var forceRaw bool

// probeBPF reports why this kernel cannot run the programs, with a remedy; "" where it can.
func probeBPF() (why, remedy string) {
	err := features.HaveProgramType(ebpf.RawTracepoint)
	switch {
	case errors.Is(err, fs.ErrPermission):
		return "this process may not use BPF: " + err.Error(), "run as root, or with CAP_BPF and CAP_PERFMON"
	case err != nil:
		return "the kernel has no BPF programs for tracepoints: " + err.Error(),
			"boot a kernel with CONFIG_BPF_EVENTS, 4.17 or later"
	}
	types, err := btf.LoadKernelSpec()
	if err != nil {
		return "the kernel does not describe its types (BTF): " + err.Error(), "boot a kernel with CONFIG_DEBUG_INFO_BTF"
	}
	for _, event := range []string{requestEvent, bioEvent} {
		if _, err := queueIsFirstArgument(types, event); err != nil {
			return err.Error(), "boot a kernel with CONFIG_TRACEPOINTS and CONFIG_BLOCK"
		}
	}
	return "", ""
}

// Events of requests, and of bios, all have the same form.
const (
	requestEvent = "block_rq_issue"
	bioEvent     = "block_bio_queue"
)

// queueIsFirstArgument reports whether an event has the queue as its first argument, as block events had before Linux
// 5.11.
func queueIsFirstArgument(types *btf.Spec, name string) (bool, error) {
	var event *btf.Typedef
	if err := types.TypeByName("btf_trace_"+name, &event); err != nil {
		return false, fmt.Errorf("the kernel has no tracepoint %s: %w", name, err)
	}
	if p, ok := event.Type.(*btf.Pointer); ok {
		if proto, ok := p.Target.(*btf.FuncProto); ok {
			return len(proto.Params) > 2, nil // the first is the tracepoint's own
		}
	}
	return false, fmt.Errorf("the kernel's tracepoint %s has an unknown format", name)
}

// bpfRecorder records by BPF.
type bpfRecorder struct {
	devices []device
	options Options
	began   time.Time
	zero    uint64 // the programs' clock at began
	stream  *stream
	ended   time.Time
	missing []string
	coll    *ebpf.Collection
	memory  *ebpf.Memory // of the table of pending requests
	links   []link.Link
	timing  []link.Link       // of the programs that rest at times
	events  map[string]string // that programs are for

	mu      sync.Mutex // guards cgroups, owners and, once tasks run, missing
	cgroups *cgroups
	owners  map[uint32]ownerKey

	cancel context.CancelFunc
	tasks  sync.WaitGroup
}

func startBPF(_ context.Context, _ *journal.Journal, o Options, devices []device) (_ recorder, err error) {
	// Before 5.11 maps counted against a limit; the library knows.
	if err := rlimit.RemoveMemlock(); err != nil {
		return nil, fmt.Errorf("raise the limit of locked memory: %w", err)
	}
	r := &bpfRecorder{devices: devices, options: o, cgroups: newCgroups(), owners: map[uint32]ownerKey{}}
	if err := r.loadBest(); err != nil {
		if !o.Application {
			return nil, err
		}
		// Those that follow system calls need atomic instructions of 5.12.
		r.options.Application = false
		if r.loadBest() != nil {
			return nil, err
		}
		r.missing = append(r.missing, "S2Q, S2X, C2R: this kernel takes no programs that follow system calls, as "+
			"Linux 5.12 and later do")
	}
	defer func() {
		if err != nil {
			_ = r.close() // nothing of it can fail
		}
	}()
	if o.Events == nil {
		if r.memory, err = r.coll.Maps["pending"].Memory(); err != nil {
			return nil, fmt.Errorf("map the table of requests: %w", err)
		}
		for _, name := range []string{"free_dists", "free_owners"} {
			if err := fill(r.coll.Maps[name]); err != nil {
				return nil, err
			}
		}
	}
	r.began, r.zero = time.Now(), monotonic()
	if err := r.attach(); err != nil {
		return nil, err
	}
	if o.Events != nil || o.Requests != nil {
		if err := r.startStream(); err != nil {
			return nil, err
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	r.cancel = cancel
	if o.Events == nil {
		r.tasks.Go(func() { r.learnOwners(ctx) })
		if r.paced() {
			r.tasks.Go(func() { r.alternate(ctx) })
		}
	}
	return r, nil
}

// loadBest loads the programs that follow pointers themselves or, where the
// kernel does not let them (it is older than 5.11), those that ask it to.
func (r *bpfRecorder) loadBest() error {
	best, next := programsBTF, programsRaw
	if r.options.Events != nil {
		best, next = eventsBTF, eventsRaw
	}
	var btfErr error
	if !forceRaw {
		if btfErr = r.load(best); btfErr == nil {
			return nil
		}
	}
	if err := r.load(next); err != nil {
		return errors.Join(btfErr, err)
	}
	return nil
}

// load loads the programs that the options need.
func (r *bpfRecorder) load(object []byte) error {
	spec, err := ebpf.LoadCollectionSpecFromReader(bytes.NewReader(object))
	if err != nil {
		return fmt.Errorf("read the programs: %w", err)
	}
	types, err := btf.LoadKernelSpec()
	if err != nil {
		return fmt.Errorf("read the kernel's types: %w", err)
	}
	if err := r.configure(spec, types); err != nil {
		return err
	}
	wanted := r.programs()
	r.events = map[string]string{}
	for name, p := range spec.Programs {
		if !slices.Contains(wanted, name) {
			delete(spec.Programs, name)
		}
		_, r.events[name], _ = strings.Cut(p.SectionName, "/")
	}
	if r.coll, err = ebpf.NewCollection(spec); err != nil {
		return fmt.Errorf("load the programs: %w", err)
	}
	return nil
}

// configure sets the programs' constants and the sizes of their maps.
func (r *bpfRecorder) configure(spec *ebpf.CollectionSpec, types *btf.Spec) error {
	requests, err := queueIsFirstArgument(types, requestEvent)
	if err != nil {
		return err
	}
	ofBios, err := queueIsFirstArgument(types, bioEvent)
	if err != nil {
		return err
	}
	var numbers [maxDevices]uint32
	var bios uint32
	events := r.options.Events != nil
	for i, d := range r.devices {
		numbers[i] = d.major<<20 | d.minor
		if d.bios {
			bios |= 1 << i
		}
	}
	constants := map[string]any{"ndevs": uint32(len(r.devices)), "devs": numbers, "queue_first": flag(requests),
		"bio_queue_first": flag(ofBios)}
	if !events {
		maps.Copy(constants, map[string]any{
			"bio_based": bios, "remaps": flag(slices.Contains(r.programs(), "bio_remap")),
			"unified": flag(r.cgroups.unified), "subsystem": ownerSubsystem(types),
			"application": flag(r.options.Application), "stages": flag(r.options.Stages),
			"requests": flag(r.options.Requests != nil), "paced": flag(r.paced()), "calls": systemCalls(),
		})
	}
	for name, value := range constants {
		v, ok := spec.Variables[name]
		if !ok {
			return fmt.Errorf("the programs have no constant %s", name)
		}
		if err := v.Set(value); err != nil {
			return fmt.Errorf("constant %s of the programs: %w", name, err)
		}
	}
	if events {
		return nil
	}
	// Each CPU has its own sums: what is there for all of them stays below 256 MiB.
	cpus, err := ebpf.PossibleCPU()
	if err != nil {
		return fmt.Errorf("count CPUs: %w", err)
	}
	room := uint32(min(max(256<<20/cpus/int(spec.Maps["dists"].ValueSize), 256), 4096))
	spec.Maps["dists"].MaxEntries, spec.Maps["free_dists"].MaxEntries = room, room
	if r.options.Requests != nil {
		spec.Maps["ring"].MaxEntries = 8 << 20
	}
	if !r.options.Application {
		spec.Maps["tasks"].MaxEntries, spec.Maps["fifos"].MaxEntries = 1, 1
	}
	return nil
}

func flag(b bool) uint32 {
	if b {
		return 1
	}
	return 0
}

// ownerSubsystem returns the number of the cgroup controller whose groups are owners: block I/O, where the kernel has
// it.
func ownerSubsystem(types *btf.Spec) uint32 {
	var ids *btf.Enum
	if types.TypeByName("cgroup_subsys_id", &ids) != nil {
		return 0
	}
	for _, name := range []string{"io_cgrp_id", "memory_cgrp_id"} {
		for _, v := range ids.Values {
			if v.Name == name {
				return uint32(v.Value)
			}
		}
	}
	return 0
}

// systemCalls returns the kind of each system call, by number. Calls that write back other processes' pages (fsync)
// are excluded: the requests are the application's, but none of its reads or writes waits for them.
func systemCalls() (all [calls]uint8) {
	for _, nr := range []int{
		unix.SYS_READ, unix.SYS_WRITE, unix.SYS_PREAD64, unix.SYS_PWRITE64, unix.SYS_READV, unix.SYS_WRITEV,
		unix.SYS_PREADV, unix.SYS_PWRITEV, unix.SYS_PREADV2, unix.SYS_PWRITEV2,
	} {
		all[nr] = callSync
	}
	all[unix.SYS_IO_SUBMIT] = callSubmit
	all[unix.SYS_IO_GETEVENTS] = callReap
	all[unix.SYS_IO_PGETEVENTS] = callReap
	all[unix.SYS_IO_URING_ENTER] = callRing
	return all
}

// programs returns the names of the programs that the devices and options need: each program costs time at each event.
func (r *bpfRecorder) programs() []string {
	if r.options.Events != nil {
		names := []string{"rq_complete", "bio_complete", "rq_issue", "rq_requeue", "rq_insert", "rq_merge", "getrq",
			"bio_backmerge", "bio_frontmerge", "plug", "unplug", "split", "bio_remap", "bio_queue"}
		if slices.ContainsFunc(r.devices, device.nvme) {
			names = append(names, "nvme_setup")
		}
		slices.Reverse(names)
		return names
	}
	names := []string{"bio_queue", "split", "bio_backmerge", "bio_frontmerge", "rq_merge", "rq_requeue", "rq_issue"}
	anyDevice := func(is func(device) bool) bool { return slices.ContainsFunc(r.devices, is) }
	bios := anyDevice(func(d device) bool { return d.bios })
	app := ""
	if r.options.Application {
		app = "_app"
		names = append(names, "call_enter", "call_exit")
	}
	names = append(names, "rq_complete"+app)
	if bios {
		names = append(names, "bio_complete"+app)
	}
	if bios || anyDevice(func(d device) bool { return d.stacked }) {
		names = append(names, "bio_remap")
	}
	if anyDevice(device.nvme) {
		names = append(names, "nvme_setup")
	}
	if r.options.Stages {
		names = append(names, "getrq", "rq_insert", "plug", "unplug")
	}
	return names
}

// attach attaches the programs: those that begin an interval last, so that no
// end is missed.
func (r *bpfRecorder) attach() error {
	for _, name := range slices.Backward(r.programs()) {
		if err := r.attachOne(name, r.coll.Programs[name]); err != nil {
			if name == "nvme_setup" {
				r.missing = append(r.missing, "D2N, N2C: "+err.Error())
				_ = r.coll.Programs[name].Close()
				delete(r.coll.Programs, name)
				continue
			}
			return err
		}
	}
	return nil
}

func (r *bpfRecorder) attachOne(name string, p *ebpf.Program) (err error) {
	var l link.Link
	if p.Type() == ebpf.Tracing {
		l, err = link.AttachTracing(link.TracingOptions{Program: p})
	} else {
		l, err = link.AttachRawTracepoint(link.RawTracepointOptions{Name: r.events[name], Program: p})
	}
	if err != nil {
		return fmt.Errorf("attach to the kernel's event %s: %w", r.events[name], err)
	}
	if r.timesOnly(name) {
		r.timing = append(r.timing, l)
	} else {
		r.links = append(r.links, l)
	}
	return nil
}

// stop detaches the programs. What they recorded can still be read.
func (r *bpfRecorder) stop() error {
	r.ended = time.Now()
	r.cancel()
	r.tasks.Wait()
	return errors.Join(r.detach(), r.endStream())
}

// detach detaches the programs, those that begin an interval first.
func (r *bpfRecorder) detach() error {
	var errs []error
	for _, l := range slices.Backward(append(r.timing, r.links...)) {
		errs = append(errs, l.Close())
	}
	r.links, r.timing = nil, nil
	return errors.Join(errs...)
}

// close closes the programs and their maps, which makes the kernel free them.
func (r *bpfRecorder) close() error {
	_ = r.detach() // of a start that failed
	_ = r.endStream()
	if r.coll != nil {
		r.coll.Close()
	}
	return nil
}

// fill puts all places of a table but the first, which means none, into a queue.
func fill(queue *ebpf.Map) error {
	for i := uint32(1); i < queue.MaxEntries(); i++ {
		if err := queue.Update(nil, &i, ebpf.UpdateAny); err != nil {
			return fmt.Errorf("fill %s: %w", queue, err)
		}
	}
	return nil
}
