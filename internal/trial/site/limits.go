package site

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
func (r *Sites) surround(ctx context.Context, s *Site, mixes []experiment.Mix) error {
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
	group, made, err := cgroup.New(ctx, r.Env.Journal, r.Env.GroupName(), cgroup.Options{Limits: true})
	s.undo = append(s.undo, made...)
	if err != nil {
		return Limitless("the scaled-down host", err)
	}
	// Before anything is below it: no child may have more than its parent.
	if _, err := group.Limit(first.WithoutDevices(), nil); err != nil {
		return Limitless("the scaled-down host", err)
	}
	small.Group = group
	s.Small = small
	return nil
}

// Limitless is why a trial has no limits that were asked for: it is not run without
// them.
func Limitless(what string, err error) error {
	return problem.New(problem.Failed, "limits of "+what, err.Error(),
		"run plimsoll doctor, which shows what cgroups this host has, or leave these limits out").CausedBy(err)
}

// Shareable returns why a stack cannot be shared by weights or targets of latency; nil where no mix asks for them.
func (r *Sites) Shareable(s experiment.Stack) error {
	for _, m := range r.Experiment.Mixes {
		if m.Crossed() && !experiment.Compatible(s, m) {
			continue
		}
		for _, in := range m.Instances(s.Name) {
			if in.Stack != s.Name || in.Limits.IOWeight == 0 && in.Limits.IOLatency == 0 {
				continue
			}
			if _, err := cgroup.Unified(r.Host.Roots); err != nil {
				return problem.New(problem.Unsupported, "io-weight and io-latency of mix "+m.Name, err.Error(),
					"leave them out, or take another host")
			}
		}
	}
	return nil
}

// Limit sets the limits of a trial: those of the scaled-down host, and those of each instance. Limits on devices are
// left out unless devices is set: they would slow down the layout of files and the filling of caches, which are not
// measured.
func (s *Site) Limit(
	m experiment.Mix, instances Together, devices bool,
) (small *result.Limited, limits []*result.Limited, err error) {
	applicable := func(l result.Limits) result.Limits {
		if devices {
			return l
		}
		return l.WithoutDevices()
	}
	if s.Small != nil {
		asked := result.Limits{}
		if m.Host != nil {
			asked = *m.Host
		}
		if !slices.ContainsFunc(s.Bases, func(b *broughtUpBase) bool { return !b.InMemory() }) {
			asked = asked.WithoutDevices() // there is no device that could be limited
		}
		small, err = limited(s.Small.Group, applicable(asked), s.limitDevices())
		if err != nil {
			return nil, nil, Limitless("the scaled-down host", err)
		}
		if devices {
			small.Problems = append(small.Problems, s.unshared(m.Host, instances)...)
		}
	}
	for _, in := range instances {
		applied, err := in.limit(applicable(in.Limits))
		if err != nil {
			return nil, nil, Limitless(in.Name(), err)
		}
		limits = append(limits, applied)
	}
	return small, limits, nil
}

// unshared returns a remark on each device limit of the scaled-down host that does not hold, since the limits of its
// instances together allow more on one of the stacks.
func (s *Site) unshared(host *result.Limits, instances Together) (problems []string) {
	if s.Small.shares || s.Small.Group.HoldsBufferedWrites() || !limitsDevices(host) {
		return nil
	}
	for _, kind := range []struct {
		name  string
		limit func(result.Limits) int64
	}{
		{"reads a second", func(l result.Limits) int64 { return l.Read.OperationsPerSecond }},
		{"writes a second", func(l result.Limits) int64 { return l.Write.OperationsPerSecond }},
		{"bytes read a second", func(l result.Limits) int64 { return l.Read.BytesPerSecond }},
		{"bytes written a second", func(l result.Limits) int64 { return l.Write.BytesPerSecond }},
	} {
		limit := kind.limit(*host)
		hasRoom := func(b *broughtUpBase) bool {
			sum, free := int64(0), false
			for _, in := range instances {
				if in.Base == b {
					sum, free = sum+kind.limit(in.Limits), free || kind.limit(in.Limits) == 0
				}
			}
			return free || sum > limit
		}
		if limit > 0 && slices.ContainsFunc(s.Bases, hasRoom) {
			problems = append(problems, fmt.Sprintf("the limit of the scaled-down host to %d %s does not hold: cgroups of "+
				"version 1 know it or limits of the instances, and these allow more together", limit, kind.name))
		}
	}
	return problems
}

// limit sets the limits of an instance, and takes away what another mix had set for its
// place. It returns nil for an instance without limits.
func (in *Instance) limit(asked result.Limits) (*result.Limited, error) {
	if in.Limits.None() && !in.Placed.limited {
		return nil, nil //nolint:nilnil // it has none, and none are there
	}
	readBack, err := in.Placed.Limit(asked)
	in.Placed.limited = err != nil || !in.Limits.None()
	if err != nil || in.Limits.None() {
		return nil, err
	}
	l := &result.Limited{Asked: asked, ReadBack: readBack}
	group, none := in.Placed.StepGroup()
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
func (s *Site) limitDevices() (all []string) {
	for _, b := range s.Bases {
		all = append(all, b.LimitDevices()...)
	}
	return all
}

// DropCaches empties the page cache of the instances' groups, so that all trials begin with the same cache. Without a
// scaled-down host no group holds all of it: the files of all places that are up are dropped one by one.
func (s *Site) DropCaches(instances Together) error {
	if s.Small != nil {
		_, err := s.Small.Group.DropCache()
		return err
	}
	for _, b := range s.Bases {
		for _, p := range b.places {
			if err := p.Forget(); err != nil {
				return err
			}
		}
	}
	for _, in := range instances {
		group, groupErr := in.Placed.StepGroup()
		if groupErr != nil || in.Limits.MemoryBytes == 0 {
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
	time  time.Time
	known bool
	cgroup.Usage
}

// Used returns the usage of the cgroup of an instance until now.
func (in *Instance) Used() used {
	group, groupErr := in.Placed.StepGroup()
	if groupErr != nil {
		return used{}
	}
	u, err := group.Usage()
	return used{time: time.Now(), known: err == nil, Usage: u}
}

// Usage returns what an instance used between two moments; nil where it is not known.
func Usage(before, after used) *result.Usage {
	if !before.known || !after.known {
		return nil
	}
	u := &result.Usage{Seconds: after.time.Sub(before.time).Seconds(), CPUSeconds: (after.CPU - before.CPU).Seconds()}
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

// Exceeded returns the limits that an instance exceeded, by the usage of its cgroup.
func Exceeded(l result.Limits, u *result.Usage, before, after used) (problems []string) {
	if u == nil || !(u.Seconds > 0) {
		return nil
	}
	exceeds := func(limit, used float64) bool { return limit > 0 && used > (1+slack)*limit }
	if share := u.CPUSeconds / u.Seconds; exceeds(l.CPUs, share) {
		problems = append(problems, fmt.Sprintf("the limit of %.2f CPUs was exceeded: it used %.2f", l.CPUs, share))
	}
	if exceeds(float64(l.MemoryBytes), float64(u.PeakMemoryBytes)) &&
		after.Memory != nil && after.Memory.Bytes > l.MemoryBytes {
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
		unit  string
		limit int64
		did   uint64
	}{
		{"reads", l.Read.OperationsPerSecond, io.Reads}, {"writes", l.Write.OperationsPerSecond, io.Writes},
		{"bytes read", l.Read.BytesPerSecond, io.ReadBytes}, {"bytes written", l.Write.BytesPerSecond, io.WrittenBytes},
	} {
		if did := float64(c.did) / u.Seconds / devices; exceeds(float64(c.limit), did) {
			problems = append(problems,
				fmt.Sprintf("the limit of %d %s a second was exceeded: there were %.0f", c.limit, c.unit, did))
		}
	}
	return problems
}

// Name tells an instance from the others of its trial, for people.
func (in *Instance) Name() string {
	if in.Tenant == in.Workload {
		return fmt.Sprintf("instance %d (%s on %s)", in.Index, in.Workload, in.Stack)
	}
	return fmt.Sprintf("instance %d (%s: %s on %s)", in.Index, in.Tenant, in.Workload, in.Stack)
}
