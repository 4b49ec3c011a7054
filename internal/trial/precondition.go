package trial

import (
	"context"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"time"

	"plimsoll/internal/experiment"
	"plimsoll/internal/result"
	"plimsoll/internal/stack/line"
	"plimsoll/internal/steady"
	"plimsoll/internal/units"
	"plimsoll/internal/workload"
)

// precondition lays out the workload's files and drives its rounds, once for
// as long as the stack is up, and tells t what was done.
func (r *runner) precondition(ctx context.Context, s *upStack, w experiment.Workload, t *result.Trial, scratch string) error {
	if s.ready[w.Name] {
		return nil
	}
	asked := r.Experiment.Precondition
	done, err := r.prepare(ctx, s, w, scratch)
	if err != nil {
		return err
	}
	if done != nil {
		r.tellFilled(s.occupies, done)
	}
	if asked.Rounds > 0 {
		if done == nil {
			done = &result.Preconditioning{}
		}
		if done.Rounds, err = r.rounds(ctx, s, w, scratch); err != nil {
			return err
		}
	}
	t.Preconditioning, s.ready[w.Name] = done, true
	return nil
}

// prepare lays out the workload's files, unless another workload that shares
// them did. done is nil where there is nothing to lay out.
func (r *runner) prepare(ctx context.Context, s *upStack, w experiment.Workload, scratch string) (done *result.Preconditioning, err error) {
	step, err := w.Prepare(s.Target)
	if err != nil || step == nil {
		return nil, err
	}
	passes := max(1, r.Experiment.Precondition.Passes)
	done = &result.Preconditioning{Kind: result.PreconditionedFile, Passes: passes, Bytes: w.NeedBytes()}
	key := fmt.Sprint(step.Argv, step.Files) // workloads that share a file share its layout
	if s.prepared[key] {
		return done, nil
	}
	for pass := 1; pass <= passes; pass++ {
		r.env.Trace(ofMany(fmt.Sprintf("laying out the files of %s", w.Name), pass, passes))
		limit := layoutLimit(done.Bytes)
		limited, cancel := context.WithTimeout(ctx, limit)
		outputs, exit, err := s.Run(limited, step, filepath.Join(scratch, "prepare"), nil)
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
	s.prepared[key] = true
	return done, nil
}

// layoutPatience is how long laying out files may take, beside the time that
// their bytes take at the least speed.
var layoutPatience = 2 * time.Minute

// layoutLimit is how long laying out so many bytes is waited for.
func layoutLimit(bytes int64) time.Duration {
	return layoutPatience + time.Duration(bytes/slowest)*time.Second
}

// layoutHangs says why a trial ended whose files were never laid out.
func layoutHangs(name string, bytes int64, limit time.Duration) error {
	return &workload.Error{Problem: result.Problem{
		What: "laying out the files of " + name,
		Why: fmt.Sprintf("it had not ended after %s, in which %s are written at %s a second, and was given up",
			limit.Round(time.Second), units.FormatSize(bytes), units.FormatSize(slowest)),
		Remedy: "see whether the device answers (dmesg); some options have fio hang while it only lays out files, " +
			"such as io_submit_mode=offload: leave them out of the job file",
	}}
}

func ofMany(what string, i, n int) string {
	if n > 1 {
		return fmt.Sprintf("%s, pass %d of %d", what, i, n)
	}
	return what
}

// rounds drives the workload, round after round, until the last five are
// steady or there have been as many as were asked for.
func (r *runner) rounds(ctx context.Context, s *upStack, w experiment.Workload, scratch string) (*result.Rounds, error) {
	asked := r.Experiment.Precondition
	out := &result.Rounds{Seconds: asked.Round.Seconds()}
	var verdict steady.Verdict
	for n := 1; n <= asked.Rounds; n++ {
		r.env.Trace(fmt.Sprintf("preconditioning with %s, round %d of at most %d", w.Name, n, asked.Rounds))
		step, err := w.Drive(s.Target, workload.Timing{Runtime: asked.Round})
		if err != nil {
			return nil, err
		}
		outputs, exit, err := s.Run(ctx, step, filepath.Join(scratch, fmt.Sprintf("round-%02d", n)), nil)
		if err != nil {
			return nil, err
		}
		m, err := w.Read(outputs, exit)
		if err != nil {
			return nil, fmt.Errorf("round %d of preconditioning: %w", n, err)
		}
		out.IOPS = append(out.IOPS, m.IOPS())
		if verdict = steady.SNIA.Judge(out.IOPS); verdict.Settled {
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

// fills tells whether what a stack occupies is to be written as a whole.
func (r *runner) fills(occupies string) bool {
	return r.Experiment.Precondition.Device && occupies != "" && r.filled[occupies] == nil
}

// tellFilled tells of a stack whose devices were all written what was done.
func (r *runner) tellFilled(devices []string, done *result.Preconditioning) {
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
func (r *runner) fill(ctx context.Context, name string, l line.Line, occupies []string) error {
	for i, source := range l.Sources() {
		if err := r.fillDevice(ctx, name, line.Line{Nodes: []line.Node{source}}, occupies[i]); err != nil {
			return err
		}
	}
	return nil
}

func (r *runner) fillDevice(ctx context.Context, name string, raw line.Line, occupies string) (err error) {
	asked := r.Experiment.Precondition
	if !r.fills(occupies) {
		return nil
	}
	var filler workload.Filler
	for _, w := range r.Experiment.Workloads {
		if f, ok := w.Workload.(workload.Filler); ok {
			filler = f
			break
		}
	}
	if filler == nil {
		return nil
	}
	s, err := r.env.Up(ctx, name, raw)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Down(context.WithoutCancel(ctx))) }()
	passes := max(1, asked.Passes)
	step, err := filler.Fill(s.Target)
	if err != nil {
		return err
	}
	for pass := 1; pass <= passes; pass++ {
		r.env.Trace(ofMany("writing all of "+raw.String(), pass, passes))
		scratch := filepath.Join(r.env.Scratch, "fill-"+name)
		outputs, exit, err := s.Run(ctx, step, scratch, nil)
		if err != nil {
			return err
		}
		if err := filler.Filled(outputs, exit); err != nil {
			return fmt.Errorf("write all of %s: %w", raw, err)
		}
	}
	r.filled[occupies] = &result.Preconditioning{Kind: result.PreconditionedDevice, Passes: passes, Bytes: s.Target.SizeBytes}
	return nil
}
