package capture

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"
)

// At high rates the programs count every request, and time some: see struct
// pace of bpf/shared.h. What tells of D is of no use to the others, and costs its
// attachment at each of them; so requests are timed for a while, and then for a
// longer one none are.
const (
	timingFor  = 50 * time.Millisecond
	restingFor = 200 * time.Millisecond // in the mean; chance makes it up to half as much more, or less
	issuedIn   = 10 * time.Millisecond  // what is timed is issued by then, nearly always

	restAbove = 25000 // requests a second on a CPU
)

// paced tells that at high rates not every request is timed: what is recorded of
// each one, and of what an application waits for, needs all.
func (r *bpfRecorder) paced() bool {
	o := r.options
	return !o.All && !o.Stages && !o.Application && o.Requests == nil && o.Events == nil
}

// rest has the programs time in turns as long as there are many requests.
func (r *bpfRecorder) rest(ctx context.Context) {
	if err := r.takeTurns(ctx); err != nil {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.missing = append(r.missing, "the times of later requests: "+err.Error())
	}
}

func (r *bpfRecorder) takeTurns(ctx context.Context) error {
	before, err := r.paces()
	if err != nil {
		return err
	}
	for sleep(ctx, timingFor) {
		now, err := r.paces()
		if err != nil {
			return err
		}
		busy := false
		for cpu := range now {
			busy = busy || now[cpu].Stood-before[cpu].Stood > uint64(restAbove*timingFor.Seconds())
		}
		if before = now; !busy {
			continue
		}
		if err := r.pause(ctx); err != nil {
			return err
		}
		if before, err = r.paces(); err != nil {
			return err
		}
	}
	return nil
}

// pause has nothing be timed for a while.
func (r *bpfRecorder) pause(ctx context.Context) error {
	resting := r.coll.Variables["resting"]
	if err := resting.Set(uint32(1)); err != nil {
		return fmt.Errorf("tell the programs to rest: %w", err)
	}
	if !sleep(ctx, issuedIn) {
		return nil
	}
	for _, l := range r.issue {
		_ = l.Close() // nothing of it can fail
	}
	r.issue = nil
	if !sleep(ctx, restingFor/2+rand.N(restingFor)) {
		return nil
	}
	for _, name := range []string{"rq_issue", "nvme_setup"} {
		if p := r.coll.Programs[name]; p != nil {
			if err := r.attachOne(name, p); err != nil {
				return err
			}
		}
	}
	if err := resting.Set(uint32(0)); err != nil {
		return fmt.Errorf("tell the programs to go on: %w", err)
	}
	return nil
}

// paces gives the pace of each CPU.
func (r *bpfRecorder) paces() (all []pace, err error) {
	if err := r.coll.Maps["pace"].Lookup(new(uint32), &all); err != nil {
		return nil, fmt.Errorf("read how many requests are timed: %w", err)
	}
	return all, nil
}

// sleep waits, unless the context ends first.
func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}
