package trial

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"plimsoll/internal/experiment"
	"plimsoll/internal/host/hostinfo"
	"plimsoll/internal/problem"
	"plimsoll/internal/state/activeruns"
	"plimsoll/internal/state/journal"
)

// disks names the disks that the run will measure, by their kernel names.
func (r *runner) disks() (all []string) {
	for _, s := range r.Experiment.Stacks {
		if r.unsupported[s.Name] != nil {
			continue
		}
		for _, name := range r.sites.Env.WholeDisks(s.Line, r.State) {
			if !slices.Contains(all, name) {
				all = append(all, name)
			}
		}
	}
	return all
}

// occupied lists what the run's stacks have for themselves.
func (r *runner) occupied() (all []string) {
	for _, s := range r.Experiment.Stacks {
		for _, device := range r.sites.Env.Occupies(s.Line) {
			if device != "" && !slices.Contains(all, device) {
				all = append(all, device)
			}
		}
	}
	return all
}

// announceRun lets other runs on this host know that this one is under way, until leave is called.
func (r *runner) announceRun(ctx context.Context, j *journal.Journal) (leave func(), err error) {
	leave, err = activeruns.Enter(ctx, j, activeruns.Run{
		ID: r.store.Run().ID, PID: os.Getpid(), Started: r.store.Run().Started, Disks: r.disks(), Devices: r.occupied(),
	})
	if err != nil && !errors.Is(err, journal.ErrWrite) && ctx.Err() == nil {
		return func() {}, nil // others then do not know, which ends no run
	}
	return leave, err
}

// refuseOccupiedDevices returns an error for each device that another run has for itself.
func (r *runner) refuseOccupiedDevices() error {
	occupied := r.occupied()
	var errs []error
	for _, other := range activeruns.Others(r.ID) {
		for _, device := range other.Devices {
			if !other.Trusted || !slices.Contains(occupied, device) {
				continue
			}
			errs = append(errs, problem.New(problem.Protected, "device "+device,
				fmt.Sprintf("another run of plimsoll measures it: %s (pid %d)", other.ID, other.PID),
				"wait until that has ended, or name another device"))
		}
	}
	return errors.Join(errs...)
}

// Watch looks at how busy the host is before a run.
type Watch struct {
	host *hostinfo.Host
	load *hostinfo.Watch
}

// StartWatch begins to look at how busy the host is.
func StartWatch() *Watch {
	host := hostinfo.New()
	return &Watch{host: host, load: host.WatchLoad()}
}

// A look takes a share of what the run takes, but never long; what the command
// does before it is part of it.
const (
	lookShare = 0.02
	shortLook = 200 * time.Millisecond
	longLook  = time.Second
)

// Warnings returns what would disturb a run that starts now: other runs, and load on its disks and on the host's
// processors. It waits until the host was watched for long enough.
func (w *Watch) Warnings(ctx context.Context, o Options) problem.List {
	r := newRunner(o)
	disks := r.disks()
	warnings := otherRuns(o.ID, disks)
	takes := time.Duration(lookShare * float64(experiment.Estimate(o.Experiment)))
	load, err := w.load.End(ctx, min(max(takes, shortLook), longLook))
	if err != nil {
		return warnings // a load that cannot be measured is no warning
	}
	return append(warnings, load.Problems(disks)...)
}

// otherRuns warns of runs that are under way.
func otherRuns(id string, disks []string) (all problem.List) {
	for _, other := range activeruns.Others(id) {
		p := problem.Problem{
			What: "another run of plimsoll is under way", Why: fmt.Sprintf("%s (pid %d)", other.ID, other.PID),
			Remedy: "each measures the other's load, and both results say so: run one after the other",
		}
		var both []string
		for _, d := range other.Disks {
			if slices.Contains(disks, d) {
				both = append(both, d)
			}
		}
		if len(both) > 0 {
			p.Why += " on " + strings.Join(both, ", ") + " too"
		}
		all = append(all, p)
	}
	return all
}
