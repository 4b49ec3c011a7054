// Package capture records where the block requests of this host spend their
// time, without the blktrace program.
//
// The programs of the BPF way sum up in the kernel: what reaches user space
// are sums and histograms, read when somebody asks for them. They and their
// maps live as long as this process does; the kernel removes them when it
// ends, however it ends, so there is nothing to journal. The tracefs way is
// for kernels without BPF or without a description of their types; what it
// switches on outlives the process, and is journalled.
//
// Special requests:
//
//   - NVMe: a driver makes a command, maps its data, says block_rq_issue and rings the doorbell. D is the driver's
//     beginning (nvme_setup_cmd), and N is block_rq_issue. So D2N is the driver's work, and N2C is blktrace's D2C.
//     tracefs has no N, and its D is blktrace's.
//   - Several paths: Q is the head's; G, I, D, N and C are those of the path's request. Sums count only the path. If
//     bios merge at the path, the head completes only the first bio; the others stay unfinished. After a failed
//     path, times are those of the last path.
//   - Flushes: an application's flush is its request (Q2C). The block layer's own flush (D2C) belongs to block
//     layer, like requests without a Q.
//   - --application separates requests that a task queued in its own read, write, io_submit or io_uring_enter from
//     those queued on its behalf, such as by fsync.
//   - Targets: a namespace has the name of its device (nvmet:nvme0n1), or NQN and number if several exports share
//     the device. At this target (target in JSON) has the time of a command (T) by namespace and operation, in three
//     parts: nvmet, fetching of data, device. For a namespace in a file, only T is known.
//
// Hazards. A trace costs time: what is measured meanwhile is not what would be
// measured without. A table that is full loses events; they are counted, and
// the account says so.
package capture

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"plimsoll/internal/iotrace"
	"plimsoll/internal/iotrace/blktrace"
	"plimsoll/internal/problem"
	"plimsoll/internal/state/journal"
)

// Options choose what is recorded.
type Options struct {
	// "MAJ:MIN" of the block devices; a partition stands for its disk. Paths of NVMe devices have none, and are named
	Devices     []string
	Application bool // follow system calls too: S2Q, S2X, C2R
	Stages      bool // record the intervals between Q and D and the counts of whole devices too: costs more
	// time every request, also at rates at which only a sample is timed by default: costs more
	All      bool
	Requests func(*iotrace.IO) // gets every completed request, from one goroutine; nil for sums alone

	// Events receives every event instead, for a capture. It is called from one goroutine, with the events of one CPU
	// in the order of time. Sums are not kept then: the account has only losses. A record is valid until the function
	// returns.
	Events func(*blktrace.Record)

	// Namespaces selects namespaces of this host's NVMe-oF target, whose requests are recorded beside those of
	// Devices under the returned names. It needs BPF.
	Namespaces func(Namespace) (name string, known bool)

	Way string // "" for the best that this host offers: "bpf", "tracefs"
}

// Recorder is a recording that is under way.
type Recorder struct {
	way      recorder
	coverage *coverage
}

// recorder is one way of recording.
type recorder interface {
	account() (*iotrace.Account, error)
	stop() error  // records no more; account still works
	close() error // undoes the changes to the host
}

// Way is one way of recording.
type Way struct {
	Name   string // as Options.Way has it
	Why    string // why this host does not offer it; "" when it does
	Remedy string // what would change that
}

// unsupported returns the error for a host that cannot record what the options ask for.
func unsupported(wanted string, ways ...Way) error {
	var reasons []string
	for _, w := range ways {
		reasons = append(reasons, fmt.Sprintf("%s: %s (%s)", w.Name, w.Why, w.Remedy))
	}
	return problem.New(problem.Unsupported, "this host cannot record "+wanted, strings.Join(reasons, "; "), "")
}

// ways is the table of ways, the best first.
var ways = []struct {
	name  string
	probe func() (why, remedy string)
	start func(context.Context, *journal.Journal, Options, []device) (recorder, error)
}{
	{"bpf", probeBPF, startBPF},
	{"tracefs", probeTracefs, startTracefs},
}

// Ways returns the ways of recording on this host, the best first.
func Ways() []Way {
	var available []Way
	for _, w := range ways {
		why, remedy := w.probe()
		available = append(available, Way{Name: w.name, Why: why, Remedy: remedy})
	}
	return available
}

// Start begins to record and returns when events are being recorded. The
// journal may be nil where the way is "bpf". The error is problem.Unsupported
// when the host lacks what it takes.
func Start(ctx context.Context, j *journal.Journal, o Options) (*Recorder, error) {
	if o.Namespaces != nil {
		return startNamespaces(ctx, j, o)
	}
	devices, err := findDevices(o.Devices)
	if err != nil {
		return nil, err
	}
	offered := Ways()
	s := &coverage{}
	if o.Events != nil {
		o.Events = s.countEnds(o.Events)
	}
	for i, w := range ways {
		if o.Way != "" && o.Way != w.name {
			continue
		}
		if offered[i].Why != "" {
			if o.Way == "" {
				continue
			}
			return nil, unsupported("block requests", offered[i])
		}
		r, err := w.start(ctx, j, o, devices)
		if err != nil {
			return nil, fmt.Errorf("record by %s: %w", w.name, err)
		}
		s.watch(devices)
		return &Recorder{r, s}, nil
	}
	if o.Way == "" {
		return nil, unsupported("block requests", offered...)
	}
	return nil, fmt.Errorf("no way of recording is called %q: there are %s", o.Way, strings.Join(WayNames(), ", "))
}

// WayNames returns the valid values of Options.Way, the best first.
func WayNames() []string {
	var all []string
	for _, w := range ways {
		all = append(all, w.name)
	}
	return all
}

// Snapshot returns the account so far. Requests that complete meanwhile may be counted in part.
func (r *Recorder) Snapshot() (*iotrace.Account, error) { return r.way.account() }

// RecordsCalls reports whether system calls are recorded, which older kernels do not allow.
func (r *Recorder) RecordsCalls() bool {
	b, ok := r.way.(*bpfRecorder)
	return ok && b.options.Application
}

// Stop ends the recording, undoes its changes to the host, and returns the account since Start.
func (r *Recorder) Stop() (*iotrace.Account, error) {
	counted := diskstats(r.coverage.devices)
	stopErr := r.way.stop()
	a, err := r.way.account()
	if a != nil {
		r.coverage.addUnshown(a, counted)
	}
	return a, errors.Join(stopErr, err, r.way.close())
}

// compare orders cells as accounts have them.
func compare(a, b iotrace.Key) int {
	return cmp.Or(
		cmp.Compare(a.Device, b.Device), cmp.Compare(a.Op, b.Op), cmp.Compare(a.Size, b.Size),
		cmp.Compare(a.Owner.Cgroup, b.Owner.Cgroup), cmp.Compare(a.Owner.PID, b.Owner.PID),
		cmp.Compare(a.Owner.Command, b.Owner.Command), order(a.Owner.Call, b.Owner.Call),
	)
}

func order(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}
