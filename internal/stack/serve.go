package stack

import (
	"context"
	"errors"

	"golang.org/x/sys/unix"

	"plimsoll/internal/host/cgroup"
	"plimsoll/internal/state/journal"
	"plimsoll/internal/workload"
)

// Server is a process of a place that runs until it is stopped.
type Server struct {
	enough chan struct{}
	ended  chan struct{}
	asked  bool
	// once ended is closed
	outputs map[string][]byte
	exit    workload.Exit
	err     error
}

// Serve starts a step that serves until it is stopped, in the scratch directory, which
// is as for Run. It does not wait until it answers. When ctx ends, so does the process.
func (p *Place) Serve(ctx context.Context, step *workload.Step, scratch string) *Server {
	s := &Server{enough: make(chan struct{}), ended: make(chan struct{})}
	go func() {
		defer close(s.ended)
		c := stepConfig{step: step, scratch: scratch, enough: s.enough, signal: ends(step)}
		s.outputs, s.exit, s.err = runStep(ctx, p.base.env, p.execute, c)
	}()
	return s
}

// ends is the signal that ends a step well.
func ends(step *workload.Step) unix.Signal {
	if step.Ends == "" {
		return unix.SIGTERM
	}
	return unix.SignalNum("SIG" + step.Ends)
}

// Ended returns a channel that is closed when the process has ended, whether it was asked to or not.
func (s *Server) Ended() <-chan struct{} { return s.ended }

// Stop asks the process to end, waits for it, and returns its outputs and exit status. Exit.Asked is false if it had
// ended before.
func (s *Server) Stop() (outputs map[string][]byte, exit workload.Exit, err error) {
	select {
	case <-s.ended:
	default:
		if !s.asked {
			s.asked = true
			close(s.enough)
		}
		<-s.ended
	}
	s.exit.Asked = s.asked
	return s.outputs, s.exit, s.err
}

// Outside runs processes that belong to no place, such as load generators. They share a control group without limits.
type Outside struct {
	env  *Env
	host *host
	undo []*journal.Entry
}

// Outside makes one. A host without control groups has one all the same.
func (e *Env) Outside(ctx context.Context) (*Outside, error) {
	group, made, err := cgroup.New(ctx, e.Journal, e.GroupName(), cgroup.Options{})
	if errors.Is(err, journal.ErrWrite) || ctx.Err() != nil {
		return nil, errors.Join(err, ctx.Err())
	}
	return &Outside{env: e, host: &host{journal: e.Journal, group: group, groupErr: err}, undo: made}, nil
}

// Group returns the control group of its processes. The error is why there is none.
func (o *Outside) Group() (*cgroup.Group, error) { return o.host.ownGroup() }

// RunBehind is Place.RunBehind for a process outside of places.
func (o *Outside) RunBehind(
	ctx context.Context, gate *Gate, step *workload.Step, scratch string, live func(appended []byte) (enough bool),
) (map[string][]byte, workload.Exit, error) {
	return runStep(
		ctx,
		o.env,
		o.host,
		stepConfig{gate: gate, step: step, scratch: scratch, live: live, signal: unix.SIGINT},
	)
}

// Down removes the control group.
func (o *Outside) Down(ctx context.Context) error {
	err := o.env.Journal.UndoEach(ctx, o.undo)
	o.undo = nil
	return err
}
