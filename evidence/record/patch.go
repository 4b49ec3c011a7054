package record

import (
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/link"

	"plimsoll/internal/iotrace/capture"
)

// restingEvents are those at which the recorder's programs rest between slices.
var restingEvents = []string{"block_bio_queue", "block_rq_issue"}

// attachEmpty attaches a program that does nothing to an event of the kernel.
func attachEmpty(event string) (detach func() error, err error) {
	program, err := ebpf.NewProgram(&ebpf.ProgramSpec{
		Type: ebpf.RawTracepoint, License: "MIT", Instructions: asm.Instructions{asm.Mov.Imm(asm.R0, 0), asm.Return()},
	})
	if err != nil {
		return nil, fmt.Errorf("load an empty program: %w", err)
	}
	attached, err := link.AttachRawTracepoint(link.RawTracepointOptions{Name: event, Program: program})
	if err != nil {
		return nil, errors.Join(fmt.Errorf("attach to %s: %w", event, err), program.Close())
	}
	return func() error { return errors.Join(attached.Close(), program.Close()) }, nil
}

// dormant records as the default does, but that programs stay attached where those
// of the default rest: they do nothing, as programs would that a flag has rest.
func dormant(number string) (stop func() (uint64, error), err error) {
	var undo []func() error
	for _, event := range restingEvents {
		detach, err := attachEmpty(event)
		if err != nil {
			return nil, err
		}
		undo = append(undo, detach)
	}
	stopDefault, err := recorderWith(capture.Options{})(number)
	if err != nil {
		return nil, err
	}
	return func() (uint64, error) {
		lost, err := stopDefault()
		for _, detach := range undo {
			err = errors.Join(err, detach())
		}
		return lost, err
	}, nil
}

// patch attaches a program to an event and detaches it, so many times, and tells
// how long the kernel takes to change its code, and how often that interrupts each
// CPU. This machine has interrupts of its own: each time is held against as long
// without.
func patch(out io.Writer, times int) error {
	for _, event := range restingEvents {
		var took, calls, flushed []float64
		for range times {
			before, err := look()
			if err != nil {
				return err
			}
			detach, err := attachEmpty(event)
			if err != nil {
				return err
			}
			if err := detach(); err != nil {
				return err
			}
			between, err := look()
			if err != nil {
				return err
			}
			time.Sleep(between.read.Sub(before.read))
			after, err := look()
			if err != nil {
				return err
			}
			took = append(took, between.read.Sub(before.read).Seconds()*1e3)
			calls = append(calls, 2*between.calls-before.calls-after.calls)
			flushed = append(flushed, 2*between.shootdowns-before.shootdowns-after.shootdowns)
		}
		fmt.Fprintf(out, "%s, %d CPUs: to attach and detach a program takes %.1f ms, %.1f function call interrupts "+
			"of each CPU and %.1f TLB shootdowns (medians of %d)\n",
			event, runtime.NumCPU(), middle(took), middle(calls), middle(flushed), times)
	}
	return nil
}

// seen is what was counted until then.
type seen struct {
	read              time.Time
	calls, shootdowns float64 // interrupts, of a CPU in the mean
}

func look() (s seen, err error) {
	if s.calls, err = interrupts("Function call interrupts"); err != nil {
		return s, err
	}
	s.shootdowns, err = interrupts("TLB shootdowns")
	s.read = time.Now()
	return s, err
}

// interrupts returns how many interrupts of a kind a CPU has had, in the mean of
// all. A machine with one CPU may have no such kind.
func interrupts(kind string) (float64, error) {
	text, err := os.ReadFile("/proc/interrupts")
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(text)) {
		if !strings.HasSuffix(strings.TrimSpace(line), kind) {
			continue
		}
		sum, cpus := 0.0, 0.0
		for _, word := range strings.Fields(line)[1:] {
			n, err := strconv.ParseFloat(word, 64)
			if err != nil {
				break
			}
			sum, cpus = sum+n, cpus+1
		}
		if cpus > 0 {
			return sum / cpus, nil
		}
	}
	return 0, nil
}
