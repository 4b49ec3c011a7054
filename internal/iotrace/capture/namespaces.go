package capture

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"plimsoll/internal/iotrace"
	"plimsoll/internal/state/journal"
)

// namespaces records the namespaces that a target exports, and the devices
// behind them.
type namespaces struct {
	target *TargetRecorder
	name   func(Namespace) (string, bool)
	device *Recorder // nil where no block device is behind any
}

func startNamespaces(ctx context.Context, j *journal.Journal, o Options) (_ *Recorder, err error) {
	if o.Requests != nil || o.Events != nil || o.Way == "tracefs" {
		return nil, errors.New("BPF sums the requests of a target; single requests cannot be recorded")
	}
	r := &namespaces{name: o.Namespaces}
	if r.target, err = StartTarget(); err != nil {
		return nil, err
	}
	s := &coverage{}
	if len(o.Devices) > 0 {
		o.Namespaces, o.Way = nil, "bpf"
		if r.device, err = Start(ctx, j, o); err != nil {
			return nil, errors.Join(err, r.target.Close())
		}
		s = r.device.coverage
	}
	return &Recorder{r, s}, nil
}

func (r *namespaces) stop() error {
	err := r.target.Stop()
	if r.device != nil {
		err = errors.Join(err, r.device.way.stop())
	}
	return err
}

func (r *namespaces) close() error {
	err := r.target.Close()
	if r.device != nil {
		err = errors.Join(err, r.device.way.close())
	}
	return err
}

// exporter is the owner of all requests to a target, since only initiators know the processes behind them.
var exporter = iotrace.Owner{Kernel: true, Command: nvmetModule}

func (r *namespaces) account() (*iotrace.Account, error) {
	a := &iotrace.Account{Recorder: "BPF"}
	if r.device != nil {
		var err error
		if a, err = r.device.Snapshot(); err != nil {
			return nil, err
		}
	}
	until := r.target.ended
	if until.IsZero() {
		until = time.Now()
	}
	a.Duration = until.Sub(r.target.began)
	lost, err := r.target.Lost()
	if err != nil {
		return nil, err
	}
	a.Lost += lost
	requests, err := r.target.Requests()
	if err != nil {
		return nil, err
	}
	for _, n := range requests {
		if name, known := r.name(n.Namespace); known {
			r.add(a, name, n)
		}
	}
	a.SortCells()
	return a, nil
}

// add adds requests of a namespace to an account.
func (r *namespaces) add(a *iotrace.Account, name string, n NamespaceRequests) {
	i := slices.IndexFunc(a.Devices, func(d iotrace.Device) bool { return d.Name == name })
	if i < 0 {
		i = len(a.Devices)
		a.Devices = append(a.Devices, iotrace.Device{Name: name, NQN: n.NQN, NSID: n.ID})
	}
	d, t := &a.Devices[i], n.Intervals[iotrace.T]
	d.Requests += t.Count
	d.Bytes += n.Bytes
	if a.Duration > 0 { // Little's law
		d.Depth += float64(t.SumNS) / float64(a.Duration)
	}
	a.Cells = append(a.Cells, iotrace.Cell{
		Key:      iotrace.Key{Device: name, Op: n.Op, Size: n.Size, Owner: exporter},
		Requests: t.Count, Bytes: n.Bytes, Intervals: n.Intervals,
	})
	if n.Intervals[iotrace.Q2C] == nil {
		why := fmt.Sprintf("%s: what of T lies below nvmet: no block device is behind it, or a cache answered", name)
		if !slices.Contains(a.Missing, why) {
			a.Missing = append(a.Missing, why)
		}
	}
}
