package reattach

import (
	"context"
	"errors"
	"fmt"
	"time"

	"plimsoll/internal/problem"
	"plimsoll/internal/state/journal"
)

// AnyFS has mount find out which file system it is.
const AnyFS = "auto"

// Done is what a move took.
type Done struct {
	Outcome  string        // "moved"; of an earlier move that was cut short, "finished"
	Downtime time.Duration // of the service: from before it was stopped until it ran; 0 for an earlier move
}

// Find asks the machines for the drive's facts, and returns an error if the move is impossible. It changes nothing but
// the modules of the new host's kernel.
func (m *Mover) Find(ctx context.Context) error {
	target, err := m.At.Look(ctx)
	if err != nil {
		return err
	}
	if !target.Exists {
		return problem.New(
			problem.Invalid,
			"subsystem "+m.Drive.NQN,
			m.Target+" does not export it",
			"plimsoll target list, there",
		)
	}
	m.Boot = target.Boot
	if !target.Half && !target.Foreign {
		m.Drive = target.Drive
	}
	old, oldErr := m.Old.Look(ctx)
	switch {
	case m.FromGone && oldErr == nil:
		return refused(m.From, "it answers, and is not gone", "leave out --old-host-is-gone, or cut its power first")
	case !m.FromGone && oldErr != nil:
		return fmt.Errorf("%s does not answer, and only it can stop and sync %s: %w; where it has no power, "+
			"--old-host-is-gone revokes it on the target first", m.From, m.Service.Name, oldErr)
	case m.FromGone:
		m.FSType, m.Options = AnyFS, "rw"
		if len(target.Hosts) == 1 {
			m.FromNQN = target.Hosts[0]
		}
	default:
		m.FromNQN = old.HostNQN
		if len(old.Mounts) == 1 {
			m.FSType, m.Options = old.Mounts[0].FSType, old.Mounts[0].Options
		}
	}
	next, err := m.New.Look(ctx)
	if err != nil {
		return err
	}
	m.ToNQN = next.HostNQN
	return m.Check(target, old, next)
}

// Do moves a drive under a journal in m.State. An earlier move of it that was cut short is settled first.
func Do(ctx context.Context, m *Move, dryRun bool, trace func(string)) (d Done, err error) {
	mover := NewMover(m)
	mover.Trace = trace
	if dryRun {
		return d, mover.Find(ctx)
	}
	j, err := journal.Create(m.State, JournalOf(m.Drive.NQN))
	if err != nil {
		return d, err
	}
	defer func() { err = errors.Join(err, j.Close()) }()
	m.State = j.State()
	for _, e := range j.Pending() {
		before, ok := e.Change.(*Move)
		if err := j.Undo(ctx, e); err != nil {
			return d, err
		}
		trace("an earlier move was cut short, and is " + before.Outcome())
		if ok && before.Outcome() == "finished" && before.From == m.From && before.To == m.To {
			return Done{Outcome: "finished"}, nil
		}
	}
	if err := mover.Find(ctx); err != nil {
		return d, err
	}
	start := time.Now()
	e, err := j.Do(ctx, m, func(string) error { return mover.Run(ctx) })
	d = Done{"moved", time.Since(start)}
	if err != nil && m.Outcome() != "" {
		return d, fmt.Errorf("the move was cut short, and is %s: %w", m.Outcome(), err)
	}
	if err != nil {
		return d, fmt.Errorf("%w; when the machines answer, move again or run %s: it finishes the move or takes it back",
			err, journal.CleanCommand())
	}
	return d, j.Undo(ctx, e) // settles: looks once more, and strikes it from the journal
}
