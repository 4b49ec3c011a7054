package stack_test

import (
	"context"
	"errors"

	"plimsoll/internal/host/cgroup"
	"plimsoll/internal/result"
	"plimsoll/internal/stack"
	"plimsoll/internal/stack/line"
	"plimsoll/internal/state/journal"
	"plimsoll/internal/workload"
)

// Two instances with limits of their own share a base and a scaled-down host of one processor,
// 1 GiB and 2,000 reads a second.
func ExampleBase_Place() {
	run := func(ctx context.Context, j *journal.Journal, e *stack.Env, l line.Line, step *workload.Step) (err error) {
		mini, made, err := cgroup.New(ctx, j, cgroup.Prefix+e.RunID+"-mini", cgroup.Options{Limits: true})
		if err != nil {
			return err
		}
		defer func() { // last: places are below it
			for _, entry := range made {
				err = errors.Join(err, j.Undo(context.WithoutCancel(ctx), entry))
			}
		}()
		base, err := e.Up(ctx, "xfs", l)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, base.Down(context.WithoutCancel(ctx))) }() // with its places
		// Before places are made: with version 1 none may have processors that the scaled-down host has not.
		whole := result.Limits{CPUs: 1, MemoryBytes: 1 << 30, Read: result.Rate{OperationsPerSecond: 2000}}
		if _, err := mini.Limit(whole, base.LimitDevices()); err != nil {
			return err
		}
		for n, limits := range []result.Limits{{CPUs: 0.25, MemoryBytes: 256 << 20}, {CPUs: 0.5, MemoryBytes: 512 << 20}} {
			place, err := base.Place(ctx, stack.PlaceConfig{Number: n, Of: 2, Group: mini, ShareDevices: true})
			if err != nil {
				return err
			}
			readBack, err := place.Limit(limits) // all at once; what is 0 is taken away
			if err != nil || readBack != limits {
				return err
			}
			if _, _, err := place.Run(ctx, step, e.Scratch+"/"+place.Target.Path, nil); err != nil {
				return err
			}
			group, err := place.StepGroup()
			if err != nil {
				return err
			}
			if _, err := group.Usage(); err != nil { // what it used: processor time, throttling, memory, devices
				return err
			}
		}
		_, err = mini.DropCache()
		return err
	}
	_ = run
}
