package capture

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"
)

// At high rates the programs count every request, and time some: see struct
// pace of bpf/shared.h. What tells of Q and D is of no use to the others, and costs
// its attachment at each of them; so requests are timed for a slice of time, and
// then for several slices none are. Each one that is timed stands for these, too.
// To attach and detach programs costs less than programs that stay and do nothing:
// docs/decisions/0010.
const (
	firstSlice = 50 * time.Millisecond
	lastSlice  = 200 * time.Millisecond
	ofALength  = 64 // slices

	issueDelay = 10 * time.Millisecond // timed requests are nearly always issued by then
	attachTime = 10 * time.Millisecond // the time that attaching the programs may take

	// A slice stands for so many, itself included; chance chooses, so that what
	// takes turns as well is not always met, or never.
	leastSlices, mostSlices = 3, 6

	restAbove = 25000 // requests a second on a CPU
)

// sliceLength returns how long a slice lasts, by its number from 1. How well slices
// stand for the time between them depends on how many there are: once there are
// many, they become longer, and the kernel's code is changed less often, for which
// every CPU of the host is interrupted.
func sliceLength(number uint32) time.Duration {
	length := firstSlice
	for before := uint32(ofALength); before < number && length < lastSlice; before += ofALength {
		length *= 2
	}
	return length
}

// paced reports whether only a sample of requests is timed at high rates. System calls and captures need all of them.
func (r *bpfRecorder) paced() bool {
	o := r.options
	return !o.All && !o.Stages && !o.Application && o.Requests == nil && o.Events == nil
}

// timesOnly reports whether a program only serves timed requests. The Q program also counts bios at devices that have
// no requests.
func (r *bpfRecorder) timesOnly(program string) bool {
	return program == "rq_issue" || program == "nvme_setup" || program == "bio_queue" &&
		r.coll.Programs["bio_remap"] == nil
}

// alternate switches the timing on and off in turns while the rate of requests is high.
func (r *bpfRecorder) alternate(ctx context.Context) {
	if err := r.takeTurns(ctx); err != nil {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.missing = append(r.missing, "the times of later requests: "+err.Error())
	}
}

func (r *bpfRecorder) takeTurns(ctx context.Context) error {
	slices := uint32(1)
	for number := uint32(1); ; number++ {
		before, err := r.paces()
		if err != nil {
			return err
		}
		began := time.Now()
		if !sleep(ctx, sliceLength(number)) {
			return nil
		}
		now, err := r.paces()
		if err != nil {
			return err
		}
		stood := uint64(0)
		for cpu := range now {
			stood = max(stood, (now[cpu].Stood-before[cpu].Stood)/uint64(slices))
		}
		busy := float64(stood) > restAbove*time.Since(began).Seconds()
		if slices > 1 {
			if err := r.pause(ctx, began, slices); err != nil || ctx.Err() != nil {
				return err
			}
		}
		slices = 1
		if busy {
			slices = leastSlices + rand.Uint32N(mostSlices-leastSlices+1)
		}
		if err := r.set("slice", number); err != nil {
			return err
		}
		if err := r.set("slices", slices); err != nil {
			return err
		}
	}
}

// pause switches the timing off for a number of slices, each as long as the one that started at began.
func (r *bpfRecorder) pause(ctx context.Context, began time.Time, slices uint32) error {
	if err := r.set("slices", 0); err != nil {
		return err
	}
	end := began.Add(time.Duration(slices) * time.Since(began))
	if !sleep(ctx, issueDelay) {
		return nil
	}
	for _, l := range r.timing {
		_ = l.Close() // nothing of it can fail
	}
	r.timing = nil
	if !sleep(ctx, time.Until(end)-attachTime) {
		return nil
	}
	for name, p := range r.coll.Programs {
		if r.timesOnly(name) {
			if err := r.attachOne(name, p); err != nil {
				return err
			}
		}
	}
	sleep(ctx, time.Until(end))
	return nil
}

func (r *bpfRecorder) set(variable string, value uint32) error {
	if err := r.coll.Variables[variable].Set(value); err != nil {
		return fmt.Errorf("show the programs which requests to time: %w", err)
	}
	return nil
}

// paces returns the pace of each CPU.
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
