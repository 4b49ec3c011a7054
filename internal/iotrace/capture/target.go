package capture

import (
	"bytes"
	_ "embed"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/btf"
	"github.com/cilium/ebpf/link"
	"github.com/cilium/ebpf/rlimit"
	"github.com/google/uuid"

	"plimsoll/internal/iotrace"
)

//go:embed bpf/target_raw.o
var programsTarget []byte

// Namespace is a namespace that an NVMe-oF target exports, as its kernel knows it.
type Namespace struct {
	NQN  string // of its subsystem
	ID   uint32 // in the subsystem
	UUID string
}

// NamespaceRequests are the requests of a namespace that are alike, and
// complete.
type NamespaceRequests struct {
	Namespace
	Op    iotrace.Op
	Size  iotrace.SizeClass
	Bytes uint64

	// T, A2Q, F2Q and Q2C; nil for what never occurred. A request has T, and when
	// a block device is behind the namespace Q2C, and A2Q or F2Q too.
	Intervals [iotrace.Intervals]*iotrace.Dist
}

// TargetRecorder records the requests of this host's NVMe-oF target, by BPF:
// all of them, of whatever it exports or comes to export. The kernel counts it
// among the users of the module nvmet.
type TargetRecorder struct {
	coll         *ebpf.Collection
	links        []link.Link
	began, ended time.Time
}

// The types of bpf/target.bpf.c; a test compares them.
type (
	targetTimes struct {
		Count, Sum, Max         uint64
		Notmin                  uint64
		SquaresLow, SquaresHigh uint64
		Bins                    [bins]uint32
	}
	targetSums struct {
		Of    [4]targetTimes
		Bytes uint64
	}
	targetSubsystem struct{ Address, Serial uint64 }
	targetKey       struct {
		Subsystem targetSubsystem
		UUID      uuid.UUID
		NSID      uint32
		Op, Size  uint8
		_         [2]uint8
	}
	targetName [224]byte
)

// targetIntervals are the recorded intervals of a target's request.
var targetIntervals = [...]iotrace.Interval{iotrace.T, iotrace.A2Q, iotrace.F2Q, iotrace.Q2C}

const nvmetModule = "nvmet"

// targetTypes finds the description of nvmet's types: the module's, or the kernel's if nvmet is built in.
func targetTypes() (types []*btf.Spec, why, remedy string) {
	kernel, err := btf.LoadKernelSpec()
	if err != nil {
		return nil, "the kernel does not describe its types (BTF): " + err.Error(), "boot a kernel with CONFIG_DEBUG_INFO_BTF"
	}
	types, nvmet := []*btf.Spec{kernel}, kernel
	if _, err := os.Stat(filepath.Join("/sys/kernel/btf", nvmetModule)); err == nil {
		if nvmet, err = btf.LoadKernelModuleSpec(nvmetModule); err != nil {
			return nil, "the description of the types of the module nvmet cannot be read: " + err.Error(),
				"run as root, and see dmesg"
		}
		types = append(types, nvmet)
	}
	for _, event := range []string{"nvmet_req_init", "nvmet_req_complete"} {
		var t *btf.Typedef
		if nvmet.TypeByName("btf_trace_"+event, &t) == nil {
			continue
		}
		switch {
		case !exists("/sys/module", nvmetModule):
			return nil, "the module nvmet is not loaded: this host is no NVMe-oF target",
				"export something first (plimsoll target export)"
		case nvmet == kernel:
			return nil, "the kernel does not describe the types of its module nvmet",
				"boot a kernel with CONFIG_DEBUG_INFO_BTF_MODULES, 5.11 or later"
		}
		return nil, "nvmet has no tracepoint " + event, "boot a kernel with CONFIG_TRACEPOINTS, 5.3 or later"
	}
	return types, "", ""
}

// targetUnsupported returns the error for a host on which the target's requests cannot be recorded.
func targetUnsupported(why, remedy string) error {
	return unsupported("the requests of its NVMe-oF target", Way{Name: "bpf", Why: why, Remedy: remedy})
}

// StartTarget starts recording the target's requests, and returns when the programs are attached. The error is
// problem.Unsupported when the host lacks what it takes.
func StartTarget() (_ *TargetRecorder, err error) {
	if why, remedy := probeBPF(); why != "" {
		return nil, targetUnsupported(why, remedy)
	}
	types, why, remedy := targetTypes()
	if why != "" {
		return nil, targetUnsupported(why, remedy)
	}
	if err := rlimit.RemoveMemlock(); err != nil {
		return nil, fmt.Errorf("raise the limit of locked memory: %w", err)
	}
	old, err := queueIsFirstArgument(types[0], bioEvent)
	if err != nil {
		return nil, err
	}
	r := &TargetRecorder{}
	if err := r.load(old, types); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			_ = r.Close() // nothing of it can fail that matters now
		}
	}()
	r.began = time.Now()
	// What begins an interval comes last, so that no end is missed.
	for _, p := range []struct{ program, event string }{
		{"request_complete", "nvmet_req_complete"}, {"bio_queued", "block_bio_queue"}, {"request_arrived", "nvmet_req_init"},
	} {
		l, err := link.AttachRawTracepoint(link.RawTracepointOptions{Name: p.event, Program: r.coll.Programs[p.program]})
		if errors.Is(err, fs.ErrNotExist) {
			return nil, targetUnsupported("the kernel has no event "+p.event, "boot a kernel with CONFIG_TRACEPOINTS")
		}
		if err != nil {
			return nil, fmt.Errorf("attach to the kernel's event %s: %w", p.event, err)
		}
		r.links = append(r.links, l)
	}
	return r, nil
}

// load loads the programs for the types of a kernel and its module.
func (r *TargetRecorder) load(queueFirst bool, types []*btf.Spec) error {
	spec, err := ebpf.LoadCollectionSpecFromReader(bytes.NewReader(programsTarget))
	if err != nil {
		return fmt.Errorf("read the programs for the target: %w", err)
	}
	if err := spec.Variables["bio_queue_first"].Set(flag(queueFirst)); err != nil {
		return fmt.Errorf("constant bio_queue_first of the programs for the target: %w", err)
	}
	cpus, err := ebpf.PossibleCPU()
	if err != nil {
		return fmt.Errorf("count CPUs: %w", err)
	}
	// Each CPU has its own sums: what is there for all of them stays below 64 MiB.
	spec.Maps["cells"].MaxEntries = uint32(min(max(64<<20/cpus/binary.Size(targetSums{}), 64), 1024))
	r.coll, err = ebpf.NewCollectionWithOptions(spec, ebpf.CollectionOptions{
		Programs: ebpf.ProgramOptions{KernelTypes: types[0], ExtraRelocationTargets: types[1:]},
	})
	if err != nil {
		return fmt.Errorf("load the programs for the target: %w", err)
	}
	return nil
}

// Requests returns the times so far, by namespace, operation and size.
func (r *TargetRecorder) Requests() ([]NamespaceRequests, error) {
	var requests []NamespaceRequests
	var key targetKey
	var perCPU []targetSums
	cells := r.coll.Maps["cells"].Iterate()
	for cells.Next(&key, &perCPU) {
		n := NamespaceRequests{Namespace: Namespace{NQN: r.nqn(key.Subsystem), ID: key.NSID, UUID: key.UUID.String()},
			Op: iotrace.Op(key.Op)}
		if key.Size > 0 {
			n.Size = 1 << (key.Size - 1)
		}
		for i := range perCPU {
			n.add(&perCPU[i])
		}
		if n.Intervals[iotrace.T] != nil && n.Op < iotrace.Ops {
			requests = append(requests, n)
		}
	}
	if err := cells.Err(); err != nil {
		return nil, fmt.Errorf("read the sums of the target's requests: %w", err)
	}
	return requests, nil
}

func (n *NamespaceRequests) add(s *targetSums) {
	n.Bytes += s.Bytes
	for i := range s.Of {
		t := &s.Of[i]
		if t.Count == 0 {
			continue
		}
		dist := &n.Intervals[targetIntervals[i]]
		if *dist == nil {
			*dist = new(iotrace.Dist)
		}
		(*dist).Merge((&kernelDist{
			Count: t.Count, Sum: t.Sum, Max: t.Max, Notmin: t.Notmin, SquaresLow: t.SquaresLow,
			SquaresHigh: t.SquaresHigh, Bins: t.Bins,
		}).dist())
	}
}

// nqn returns the name of a subsystem.
func (r *TargetRecorder) nqn(s targetSubsystem) string {
	var name targetName
	if err := r.coll.Maps["names"].Lookup(&s, &name); err != nil {
		return ""
	}
	text, _, _ := bytes.Cut(name[:], []byte{0})
	return string(text)
}

// Lost returns the number of requests that were not recorded: there was no room for them, or the kernel did not show
// an event.
func (r *TargetRecorder) Lost() (n uint64, err error) {
	var perCPU []uint64
	first := uint32(0)
	if err := r.coll.Maps["lost_requests"].Lookup(&first, &perCPU); err != nil {
		return 0, fmt.Errorf("read what was lost of the target's requests: %w", err)
	}
	for _, c := range perCPU {
		n += c
	}
	return n + misses(r.coll), nil
}

// Stop detaches the programs. Their counts can still be read.
func (r *TargetRecorder) Stop() error {
	r.ended = time.Now()
	var errs []error
	for _, l := range slices.Backward(r.links) {
		errs = append(errs, l.Close())
	}
	r.links = nil
	return errors.Join(errs...)
}

// Close closes the programs and their maps, which makes the kernel free them.
func (r *TargetRecorder) Close() error {
	err := r.Stop()
	if r.coll != nil {
		r.coll.Close()
	}
	return err
}
