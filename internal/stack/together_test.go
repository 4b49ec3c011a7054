package stack

import (
	"context"
	"errors"
	"os"
	"sync"
	"testing"
	"time"

	"plimsoll/internal/state/journal"
	"plimsoll/internal/workload"
)

// deadlockLimit ends a test whose parts wait for each other in vain.
const deadlockLimit = 2 * time.Minute

// meeting lets calls of meet go on once n have begun.
type meeting struct {
	begun    sync.WaitGroup
	complete chan struct{}
}

func newMeeting(n int) *meeting {
	m := &meeting{complete: make(chan struct{})}
	m.begun.Add(n)
	go func() { m.begun.Wait(); close(m.complete) }()
	return m
}

func (m *meeting) meet() error {
	m.begun.Done()
	select {
	case <-m.complete:
		return nil
	case <-time.After(deadlockLimit):
		return errors.New("the others have not begun")
	}
}

// meetingChange is undone together with others.
type meetingChange struct{ meeting *meeting }

func (c *meetingChange) What() string                       { return "meet" }
func (c *meetingChange) Prepare() error                     { return nil }
func (c *meetingChange) Check(journal.Scope) error          { return nil }
func (c *meetingChange) Undo(context.Context, string) error { return c.meeting.meet() }

func init() { journal.Register("test-meeting", func() journal.Change { return &meetingChange{} }) }

// Places of a base are made at the same time, and taken down at the same time. One whose number is taken is refused.
func TestPlacesAreMadeAndTakenDownTogether(t *testing.T) {
	const n = 8
	state := t.TempDir()
	err := os.Chmod(state, 0o700) //nolint:gosec // a directory
	if err != nil {
		t.Fatal(err)
	}
	j, err := journal.Create(state, "together")
	if err != nil {
		t.Fatal(err)
	}
	made, undone := newMeeting(n), newMeeting(n)
	names := &engine{taken: map[string]bool{}}
	base := &Base{
		env:    &Env{Journal: j},
		dir:    t.TempDir(),
		engine: names,
		view: &layer{place: func(ctx context.Context, p *Place) error {
			p.name, p.Target = names.take(p.config), workload.Target{Path: p.base.dir}
			entry, err := j.Do(ctx, &meetingChange{meeting: undone}, func(string) error { return made.meet() })
			p.undo = append(p.undo, entry)
			return err
		}},
	}
	errs := make([]error, n)
	var group sync.WaitGroup
	for i := range n {
		group.Go(func() { _, errs[i] = base.Place(t.Context(), PlaceConfig{Number: i, Of: n}) })
	}
	group.Wait()
	err = errors.Join(errs...)
	if err != nil {
		t.Fatal(err)
	}
	if len(base.places) != n || len(names.taken) != n {
		t.Errorf("there are %d places of %d, with the names %v", len(base.places), n, names.taken)
	}
	if _, err := base.Place(t.Context(), PlaceConfig{Number: 3, Of: n}); err == nil {
		t.Error("a place is made twice")
	}
	err = base.Down(t.Context())
	if err != nil || len(base.places) != 0 || len(names.taken) != 0 || len(j.Pending()) != 0 {
		t.Errorf("taken down it says %v; left are %d places, names %v, and %d changes", err, len(base.places),
			names.taken, len(j.Pending()))
	}
	err = j.Close()
	if err != nil {
		t.Error(err)
	}
}
