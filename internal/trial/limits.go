package trial

import (
	"context"
	"fmt"
	"slices"
	"time"

	"plimsoll/internal/experiment"
	"plimsoll/internal/host/cgroup"
	"plimsoll/internal/problem"
	"plimsoll/internal/result"
	"plimsoll/internal/units"
)

// surround makes the cgroup that stands for a smaller host, where a mix on
// the site declares one.
func (r *runner) surround(ctx context.Context, s *site, mixes []experiment.Mix) error {
	var small *miniature
	var first *result.Limits
	for _, m := range mixes {
		if m.Host == nil {
			continue
		}
		if small == nil {
			small, first = &miniature{}, m.Host
		}
		small.shares = small.shares || limitsDevices(m.Host) && !ownDevices(m)
	}
	if small == nil {
		return nil
	}
	group, made, err := cgroup.New(ctx, r.env.Journal, r.env.GroupName(), cgroup.Options{Limits: true})
	s.undo = append(s.undo, made...)
	if err != nil {
		return limitless("the scaled-down host", err)
	}
	// Before anything is below it: no child may have more than its parent.
	if _, err := group.Limit(first.WithoutDevices(), nil); err != nil {
		return limitless("the scaled-down host", err)
	}
	small.group = group
	s.small = small
	return nil
}

// limitless is why a trial has no limits that were asked for: it is not run without
// them.
func limitless(what string, err error) error {
	return problem.New(problem.Failed, "limits of "+what, err.Error(),
		"run plimsoll doctor, which shows what cgroups this host has, or leave these limits out").CausedBy(err)
}

// shareable returns why a stack cannot be shared by weights or targets of latency; nil where no mix asks for them.
func (r *runner) shareable(s experiment.Stack) error {
	for _, m := range r.Experiment.Mixes {
		if m.Crossed() && !experiment.Compatible(s, m) {
			continue
		}
		for _, in := range m.Instances(s.Name) {
			if in.Stack != s.Name || in.Limits.IOWeight == 0 && in.Limits.IOLatency == 0 {
				continue
			}
			if _, err := cgroup.Unified(r.host.Roots); err != nil {
				return problem.New(problem.Unsupported, "io-weight and io-latency of mix "+m.Name, err.Error(),
					"leave them out, or take another host")
			}
		}
	}
	return nil
}

// limit sets the limits of a trial: those of the scaled-down host, and those of each
// instance. Limits on devices are left out unless devices is set: while files are laid
// out and caches filled, they would make a trial wait for what it does not measure.
func (s *site) limit(m experiment.Mix, all together, devices bool) (small *result.Limited, each []*result.Limited, err error) {
	part := func(l result.Limits) result.Limits {
		if devices {
			return l
		}
		return l.WithoutDevices()
	}
	if s.small != nil {
		asked := result.Limits{}
		if m.Host != nil {
			asked = *m.Host
		}
		if !slices.ContainsFunc(s.bases, func(b *broughtUpBase) bool { return !b.InMemory() }) {
			asked = asked.WithoutDevices() // there is no device that could be limited
		}
		small, err = limited(s.small.group, part(asked), s.limitDevices())
		if err != nil {
			return nil, nil, limitless("the scaled-down host", err)
		}
		if devices {
			small.Problems = append(small.Problems, s.unshared(m.Host, all)...)
		}
	}
	for _, in := range all {
		own, err := in.limit(part(in.Limits))
		if err != nil {
			return nil, nil, limitless(in.name(), err)
		}
		each = append(each, own)
	}
	return small, each, nil
}

// unshared says which limits of the scaled-down host on devices do not hold, since its instances
// have limits of their own, which together allow more on one of the stacks.
func (s *site) unshared(host *result.Limits, all together) (problems []string) {
	if s.small.shares || s.small.group.HoldsBufferedWrites() || !limitsDevices(host) {
		return nil
	}
	for _, kind := range []struct {
		name string
		of   func(result.Limits) int64
	}{
		{"reads a second", func(l result.Limits) int64 { return l.Read.OperationsPerSecond }},
		{"writes a second", func(l result.Limits) int64 { return l.Write.OperationsPerSecond }},
		{"bytes read a second", func(l result.Limits) int64 { return l.Read.BytesPerSecond }},
		{"bytes written a second", func(l result.Limits) int64 { return l.Write.BytesPerSecond }},
	} {
		limit := kind.of(*host)
		more := func(b *broughtUpBase) bool {
			sum, free := int64(0), false
			for _, in := range all {
				if in.base == b {
					sum, free = sum+kind.of(in.Limits), free || kind.of(in.Limits) == 0
				}
			}
			return free || sum > limit
		}
		if limit > 0 && slices.ContainsFunc(s.bases, more) {
			problems = append(problems, fmt.Sprintf("the limit of the scaled-down host to %d %s does not hold: cgroups of "+
				"version 1 know it or limits of the instances, and these allow more together", limit, kind.name))
		}
	}
	return problems
}

// limit sets the limits of an instance, and takes away what another mix had set for its
// place. It returns nil for an instance without limits.
func (in *instance) limit(asked result.Limits) (*result.Limited, error) {
	if in.Limits.None() && !in.place.limited {
		return nil, nil //nolint:nilnil // it has none, and none are there
	}
	readBack, err := in.place.Limit(asked)
	in.place.limited = err != nil || !in.Limits.None()
	if err != nil || in.Limits.None() {
		return nil, err
	}
	l := &result.Limited{Asked: asked, ReadBack: readBack}
	group, none := in.place.StepGroup()
	if none == nil {
		l.Problems = unlimitedWrites(group, asked)
	}
	return l, nil
}

func limited(group *cgroup.Group, asked result.Limits, devices []string) (*result.Limited, error) {
	readBack, err := group.Limit(asked, devices)
	if err != nil {
		return nil, err
	}
	return &result.Limited{Asked: asked, ReadBack: readBack, Problems: unlimitedWrites(group, asked)}, nil
}

// unlimitedWrites says which writes a limit does not hold.
func unlimitedWrites(group *cgroup.Group, l result.Limits) []string {
	if l.Write == (result.Rate{}) || group.HoldsBufferedWrites() {
		return nil
	}
	return []string{"the limit on writes holds for those past the page cache alone: cgroups of version 1 " +
		"charge buffered writes to whatever program writes them back"}
}

// limitDevices are the MAJ:MIN of the devices that limits of the scaled-down host are for.
func (s *site) limitDevices() (all []string) {
	for _, b := range s.bases {
		all = append(all, b.LimitDevices()...)
	}
	return all
}

// dropCaches takes from the instances' groups what they hold of the page cache, so
// that each trial begins with the same. Without a scaled-down host no group holds it: what is there of
// their files is dropped one by one, of all places that are up.
func (s *site) dropCaches(all together) error {
	if s.small != nil {
		_, err := s.small.group.DropCache()
		return err
	}
	for _, b := range s.bases {
		for _, p := range b.places {
			if err := p.Forget(); err != nil {
				return err
			}
		}
	}
	for _, in := range all {
		group, none := in.place.StepGroup()
		if none != nil || in.Limits.MemoryBytes == 0 {
			continue
		}
		if _, err := group.DropCache(); err != nil {
			return err
		}
	}
	return nil
}

// used has the usage of an instance's cgroup until a moment.
type used struct {
	at    time.Time
	known bool
	cgroup.Usage
}

func (in *instance) used() used {
	group, none := in.place.StepGroup()
	if none != nil {
		return used{}
	}
	u, err := group.Usage()
	return used{at: time.Now(), known: err == nil, Usage: u}
}

// usage returns what an instance used between two moments; nil where it is not known.
func usage(before, after used) *result.Usage {
	if !before.known || !after.known {
		return nil
	}
	u := &result.Usage{Seconds: after.at.Sub(before.at).Seconds(), CPUSeconds: (after.CPU - before.CPU).Seconds()}
	if before.Throttling != nil && after.Throttling != nil {
		u.ThrottledSeconds = (after.Throttling.Time - before.Throttling.Time).Seconds()
	}
	if before.Memory != nil && after.Memory != nil {
		u.PeakMemoryBytes = after.Memory.PeakBytes
		u.OOMKills = int(after.Memory.OOMKills - before.Memory.OOMKills)
	}
	return u
}

// slack is by how much a limit may be exceeded before that is said: processor time is
// handed out in slices, and what was queued before a moment is counted after it.
const slack = 0.15

// exceeded says which limits an instance exceeded, by what its cgroup used.
func exceeded(l result.Limits, u *result.Usage, before, after used) (problems []string) {
	if u == nil || !(u.Seconds > 0) {
		return nil
	}
	over := func(limit, used float64) bool { return limit > 0 && used > (1+slack)*limit }
	if share := u.CPUSeconds / u.Seconds; over(l.CPUs, share) {
		problems = append(problems, fmt.Sprintf("the limit of %.2f CPUs was exceeded: it used %.2f", l.CPUs, share))
	}
	if over(float64(l.MemoryBytes), float64(u.PeakMemoryBytes)) && after.Memory != nil && after.Memory.Bytes > l.MemoryBytes {
		problems = append(problems, fmt.Sprintf("the limit of %s of memory was exceeded: it held %s",
			units.FormatSize(l.MemoryBytes), units.FormatSize(after.Memory.Bytes)))
	}
	var io cgroup.IO
	for device, now := range after.Devices {
		was := before.Devices[device]
		io.Reads, io.Writes = io.Reads+now.Reads-was.Reads, io.Writes+now.Writes-was.Writes
		io.ReadBytes, io.WrittenBytes = io.ReadBytes+now.ReadBytes-was.ReadBytes, io.WrittenBytes+now.WrittenBytes-was.WrittenBytes
	}
	devices := float64(max(1, len(after.Devices)))
	for _, c := range []struct {
		what  string
		limit int64
		did   uint64
	}{
		{"reads", l.Read.OperationsPerSecond, io.Reads}, {"writes", l.Write.OperationsPerSecond, io.Writes},
		{"bytes read", l.Read.BytesPerSecond, io.ReadBytes}, {"bytes written", l.Write.BytesPerSecond, io.WrittenBytes},
	} {
		if did := float64(c.did) / u.Seconds / devices; over(float64(c.limit), did) {
			problems = append(problems, fmt.Sprintf("the limit of %d %s a second was exceeded: there were %.0f", c.limit, c.what, did))
		}
	}
	return problems
}

// name tells an instance from the others of its trial, for people.
func (in *instance) name() string {
	if in.Tenant == in.Workload {
		return fmt.Sprintf("instance %d (%s on %s)", in.Index, in.Workload, in.Stack)
	}
	return fmt.Sprintf("instance %d (%s: %s on %s)", in.Index, in.Tenant, in.Workload, in.Stack)
}
