package site

import (
	"context"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"time"

	"plimsoll/internal/experiment"
	"plimsoll/internal/problem"
	"plimsoll/internal/result"
	"plimsoll/internal/stack/line"
	"plimsoll/internal/stats/stopping"
	"plimsoll/internal/units"
	"plimsoll/internal/workload"
)

// Precondition lays out the files of the instances and drives rounds of all instances, once for the lifetime of their
// places. It records both in t.
func (r *Sites) Precondition(ctx context.Context, s *Site, instances Together, t *result.Trial) error {
	if !slices.ContainsFunc(instances, func(in *Instance) bool { return !in.Placed.ready[t.Mix] || in.stale() }) {
		return nil
	}
	var done *result.Preconditioning
	for _, in := range instances {
		prepared, err := r.prepare(ctx, s, in)
		if err != nil {
			return err
		}
		if prepared == nil {
			continue
		}
		r.tellFilled(in.Base.occupies, prepared)
		if done != nil {
			prepared.Bytes += done.Bytes
			prepared.ClonedBytes += done.ClonedBytes
		}
		done = prepared
	}
	if r.Experiment.Precondition.Rounds > 0 {
		if done == nil {
			done = &result.Preconditioning{}
		}
		rounds, err := r.rounds(ctx, instances, t.Mix)
		if err != nil {
			return err
		}
		done.Rounds = rounds
	}
	t.Preconditioning = done
	for _, in := range instances {
		in.Placed.ready[t.Mix] = true
	}
	return nil
}

// prepare lays out the files of an instance, unless a workload that shares them did
// in the same place. done is nil where there is nothing to lay out.
func (r *Sites) prepare(ctx context.Context, s *Site, in *Instance) (done *result.Preconditioning, err error) {
	w := in.Load
	if serving := w.Abilities().Serving; serving != nil {
		return r.data(ctx, s, in, serving)
	}
	step, err := w.Prepare(in.Placed.Target)
	if err != nil || step == nil {
		return nil, err
	}
	passes := max(1, r.Experiment.Precondition.Passes)
	done = &result.Preconditioning{Kind: result.PreconditionedFile, Passes: passes, Bytes: w.NeedBytes()}
	key := fmt.Sprint(step.Argv, step.Files) // workloads that share a file share its layout
	if in.Placed.prepared[key] {
		return done, nil
	}
	for pass := 1; pass <= passes; pass++ {
		r.Env.Trace(ofMany(fmt.Sprintf("laying out the files of %s", w.Name), pass, passes))
		limit := layoutLimit(done.Bytes)
		limited, cancel := context.WithTimeout(ctx, limit)
		outputs, exit, err := in.Placed.Run(limited, step, filepath.Join(in.Scratch, "prepare"), nil)
		late := limited.Err() != nil && ctx.Err() == nil
		cancel()
		if late {
			return nil, layoutHangs(w.Name, done.Bytes, limit)
		}
		if err != nil {
			return nil, err
		}
		if _, err := w.Read(outputs, exit); err != nil {
			return nil, fmt.Errorf("lay out files: %w", err)
		}
	}
	in.Placed.prepared[key] = true
	return done, nil
}

// Slowest is the least speed, in bytes per second, at which laying out files
// is waited for.
const Slowest = 4 << 20

// LayoutPatience is how long laying out files may take, beside the time that
// their bytes take at the least speed.
var LayoutPatience = 2 * time.Minute

// layoutLimit is how long laying out so many bytes is waited for.
func layoutLimit(bytes int64) time.Duration {
	return LayoutPatience + time.Duration(bytes/Slowest)*time.Second
}

// layoutHangs says why a trial ended whose files were never laid out.
func layoutHangs(name string, bytes int64, limit time.Duration) error {
	return &problem.Problem{
		What: "laying out the files of " + name,
		Why: fmt.Sprintf("it had not ended after %s, in which %s are written at %s a second, and was given up",
			limit.Round(time.Second), units.FormatSize(bytes), units.FormatSize(Slowest)),
		Remedy: "see whether the device answers (dmesg); some options have fio hang while it only lays out files, " +
			"such as io_submit_mode=offload: leave them out of the job file",
	}
}

func ofMany(what string, i, n int) string {
	if n > 1 {
		return fmt.Sprintf("%s, pass %d of %d", what, i, n)
	}
	return what
}

// rounds drives all instances at the same time, round after round, until their joint rate is steady over the last five
// rounds or the experiment's number of rounds is reached.
func (r *Sites) rounds(ctx context.Context, instances Together, name string) (*result.Rounds, error) {
	asked := r.Experiment.Precondition
	out := &result.Rounds{Seconds: asked.Round.Seconds()}
	var verdict stopping.Verdict
	for n := 1; n <= asked.Rounds; n++ {
		r.Env.Trace(fmt.Sprintf("preconditioning with %s, round %d of at most %d", name, n, asked.Rounds))
		rates := make([]float64, len(instances))
		err := instances.Each(func(in *Instance) error {
			step, err := in.Load.Drive(in.Placed.Target, workload.Timing{Runtime: asked.Round})
			if err != nil {
				return err
			}
			outputs, exit, err := in.Placed.Run(ctx, step, filepath.Join(in.Scratch, fmt.Sprintf("round-%02d", n)), nil)
			if err != nil {
				return err
			}
			m, err := in.Load.Read(outputs, exit)
			rates[in.Index] = m.IOPS()
			return err
		})
		if err != nil {
			return nil, fmt.Errorf("round %d of preconditioning: %w", n, err)
		}
		sum := 0.0
		for _, rate := range rates {
			sum += rate
		}
		out.IOPS = append(out.IOPS, sum)
		verdict = stopping.SNIA.Judge(out.IOPS)
		if verdict.Settled {
			break
		}
	}
	finite := func(x float64) float64 {
		if math.IsNaN(x) {
			return 0
		}
		return x
	}
	out.Settled, out.Why, out.From, out.To = verdict.Settled, verdict.Why, verdict.From, verdict.To
	out.Average, out.First, out.Last = verdict.Average, verdict.First, verdict.Last
	out.Excursion, out.Slope = finite(verdict.Excursion), finite(verdict.Slope)
	return out, nil
}

// Fills tells whether what a stack occupies is to be written as a whole.
func (r *Sites) Fills(occupies string) bool {
	return r.Experiment.Precondition.Device && occupies != "" && r.filled[occupies] == nil
}

// tellFilled tells of a stack whose devices were all written what was done.
func (r *Sites) tellFilled(devices []string, done *result.Preconditioning) {
	var bytes int64
	for _, d := range devices {
		if r.filled[d] == nil {
			return
		}
		bytes += r.filled[d].Bytes
	}
	first := r.filled[devices[0]]
	done.Kind, done.Passes, done.Bytes = first.Kind, first.Passes, bytes
}

// fill writes the block devices of a stack from start to end before the first
// stack on them comes up, where that was asked for. File systems are made
// without discarding what is there, so that the devices stay as they are now.
func (r *Sites) fill(ctx context.Context, name string, l line.Line, occupies []string) error {
	for i, source := range l.Sources() {
		if err := r.fillDevice(ctx, name, line.Line{Nodes: []line.Node{source}}, occupies[i]); err != nil {
			return err
		}
	}
	return nil
}

func (r *Sites) fillDevice(ctx context.Context, name string, raw line.Line, occupies string) (err error) {
	asked := r.Experiment.Precondition
	if !r.Fills(occupies) {
		return nil
	}
	var filling *workload.Filling
	for _, w := range r.Experiment.Workloads {
		filling = w.Abilities().Filling
		if filling != nil {
			break
		}
	}
	if filling == nil {
		return nil
	}
	base, place, err := r.bringUpAlone(ctx, name, experiment.Stack{Line: raw})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, base.Down(context.WithoutCancel(ctx))) }()
	passes := max(1, asked.Passes)
	step, err := filling.Fill(place.Target)
	if err != nil {
		return err
	}
	for pass := 1; pass <= passes; pass++ {
		r.Env.Trace(ofMany("writing all of "+raw.String(), pass, passes))
		scratch := filepath.Join(r.Env.Scratch, "fill-"+name)
		outputs, exit, err := place.Run(ctx, step, scratch, nil)
		if err != nil {
			return err
		}
		if err := r.Filled(name, scratch); err != nil {
			return err
		}
		if err := filling.Filled(outputs, exit); err != nil {
			return fmt.Errorf("write all of %s: %w", raw, err)
		}
	}
	r.filled[occupies] = &result.Preconditioning{Kind: result.PreconditionedDevice, Passes: passes, Bytes: place.Target.SizeBytes}
	return nil
}
