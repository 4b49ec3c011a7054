package site

import (
	"context"

	"plimsoll/internal/iotrace/breakdown"
	"plimsoll/internal/problem"
	"plimsoll/internal/result"
	"plimsoll/internal/stack/nvmetarget/metrics"
)

// targetDid has the usage of the host of a remote device while a trial ran.
type targetDid struct {
	CPU       *result.TargetCPU // nil where nobody tells
	Namespace *breakdown.Target // of the device; nil where nobody tells
}

// Target begins to count what the host that holds a remote device does, and
// gives how to end.
func (r *Sites) Target(ctx context.Context, s *Site) (end func() (targetDid, error), err error) {
	// Of several stacks nobody could tell which of them a target worked for.
	if len(s.Bases) > 1 || s.Bases[0].Remote.Metrics == "" {
		return func() (targetDid, error) { return targetDid{}, nil }, nil
	}
	read := func() (metrics.Target, error) {
		target, err := metrics.Read(ctx, s.Bases[0].Remote.Metrics)
		if err != nil {
			err = problem.New(problem.Failed, "processor time of the target", err.Error(),
				"see whether plimsoll target metrics still runs there, or leave metrics= out").CausedBy(err)
		}
		return target, err
	}
	before, err := read()
	return func() (did targetDid, err error) {
		after, err := read()
		if err != nil {
			return did, err
		}
		did.CPU = &result.TargetCPU{BusySeconds: after.BusySeconds - before.BusySeconds, Seconds: after.At.Sub(before.At).Seconds(), CPUs: after.CPUs}
		was, is := before.Namespace(s.Bases[0].Remote.NQN, s.Bases[0].Remote.UUID), after.Namespace(s.Bases[0].Remote.NQN, s.Bases[0].Remote.UUID)
		if is.NQN != "" && was.NQN != "" {
			did.Namespace = &breakdown.Target{
				Read:  completed(is.Reads-was.Reads, is.ReadSeconds-was.ReadSeconds, was.Read, is.Read),
				Write: completed(is.Writes-was.Writes, is.WriteSeconds-was.WriteSeconds, was.Write, is.Write),
				Lost:  uint64(max(0, after.Lost-before.Lost)),
			}
		}
		return did, nil
	}, err
}

// completed returns the requests that the target recorded, or else those that its device counts.
func completed(n, seconds float64, was, is *metrics.Requests) breakdown.Completed {
	if was == nil || is == nil {
		return breakdown.Completed{Requests: uint64(max(0, n)), NS: seconds * 1e9}
	}
	did := is.Since(*was)
	return breakdown.Completed{
		Requests: uint64(max(0, did.Count)), NS: did.DeviceSeconds * 1e9,
		Recorded: &breakdown.Recorded{
			WholeNS: did.Seconds * 1e9, Passed: uint64(max(0, did.DeviceCount)), Own: uint64(max(0, did.OwnCount)), SoftwareNS: max(0, did.OwnSeconds*1e9),
		},
	}
}
