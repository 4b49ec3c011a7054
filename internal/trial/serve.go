package trial

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"plimsoll/internal/experiment"
	"plimsoll/internal/problem"
	"plimsoll/internal/result"
	"plimsoll/internal/stack"
	"plimsoll/internal/stack/image"
	"plimsoll/internal/workload"
)

// noticeLimit is how long what drives a server may take to notice that it is gone.
const noticeLimit = 5 * time.Second

// server is the one that an instance drives, while it is up.
type server struct {
	process *stack.Server
	step    *workload.Step
	kill    context.CancelFunc
	unbind  func() bool // from its trial, with which it ends otherwise
}

// bind has a server end with a trial.
func (s *server) bind(ctx context.Context) { s.unbind = context.AfterFunc(ctx, s.kill) }

// warms reports whether the server that an instance drives gets faster while it is asked.
func (in *instance) warms() bool {
	serving := in.load.Abilities().Serving
	return serving != nil && serving.Warms
}

// stay reports whether the servers of a mix are to be up for its next trial as well: they would begin to warm up anew, and
// find their data as it was.
func (all together) stay() bool {
	return !slices.ContainsFunc(all, func(in *instance) bool {
		return !in.warms() || !in.load.Abilities().Serving.ReadOnly
	})
}

// runningServers are kept from the previous trial of a mix, by the place that they are in.
type runningServers struct {
	mix     string
	servers map[*upPlace]*server
}

// leave ends servers that stayed up, all at the same time, unless they are those of a mix. The data of one that did not
// end well is laid out anew.
func (s *site) leave(mix string) {
	if s.running.mix == mix {
		return
	}
	var group sync.WaitGroup
	for place, server := range s.running.servers {
		group.Go(func() {
			late := time.AfterFunc(workload.DefaultPatience, server.kill)
			_, exit, err := server.process.Stop()
			late.Stop()
			if err != nil || !workload.EndedWell(exit.Code, server.step.EndCodes) {
				place.data = ""
			}
			server.kill()
		})
	}
	group.Wait()
	s.running = runningServers{}
}

// serve starts the servers of all instances that drive one and have none that stayed up, at the same time, and waits
// until each answers. Whatever it returns, together.abandoned has to be called.
func (r *runner) serve(ctx context.Context, s *site, all together) error {
	if !slices.ContainsFunc(all, func(in *instance) bool { return in.load.Abilities().Serving != nil }) {
		return nil
	}
	outside, err := r.outside(ctx, s)
	if err != nil {
		return err
	}
	r.env.Trace("starting servers")
	return all.each(func(in *instance) error {
		serving := in.load.Abilities().Serving
		if serving == nil {
			return nil
		}
		in.outside, in.clients = outside, r.clients
		in.server = s.running.servers[in.place]
		if in.server != nil {
			in.server.bind(ctx)
			return in.lost()
		}
		step, err := serving.Serve(in.place.Target)
		if err != nil {
			return err
		}
		step.Name = "server"
		if o := r.rootOf[in.Workload]; o != nil && step.Kept != "" && !image.HasKept(o.Dir, step.Kept) {
			step.Argv = image.WithoutKept(step.Argv, step.Kept)
			r.env.Trace("the server of " + in.load.Name + " starts slower: " + o.Name + " has no " + step.Kept)
		}
		if !serving.ReadOnly {
			// Its data is laid out anew before anything reads it again. What it would write at its end is for nobody,
			// and takes Cassandra five seconds.
			step.Ends, step.EndCodes = "KILL", []int{128 + int(syscall.SIGKILL)}
		}
		if err := r.serverDir(in); err != nil {
			return err
		}
		alive, kill := context.WithCancel(context.WithoutCancel(ctx))
		in.server = &server{process: in.place.Serve(alive, step, in.scratch), step: step, kill: kill}
		in.server.bind(ctx)
		version, settings, err := in.ready(ctx, serving)
		if err != nil {
			return err
		}
		return r.answered(in, version, settings)
	})
}

// outside returns where what drives servers on the site runs, and loads their data; it is
// made when it is asked for first.
func (r *runner) outside(ctx context.Context, s *site) (*stack.Outside, error) {
	if s.outside != nil {
		return s.outside, nil
	}
	var err error
	s.outside, err = r.env.Outside(ctx)
	return s.outside, err
}

// ready waits until the server of an instance answers, and returns the version that it says
// it is of.
func (in *instance) ready(
	ctx context.Context, serving *workload.Serving,
) (version string, settings map[string]string, err error) {
	step, err := serving.Ready(in.place.Target)
	if err != nil {
		return "", nil, err
	}
	step, err = in.reaching(step)
	if err != nil {
		return "", nil, err
	}
	limit := step.Awaited() + noticeLimit
	waiting, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	go func() {
		select {
		case <-in.server.process.Ended():
			cancel()
		case <-waiting.Done():
		}
	}()
	outputs, exit, err := in.outside.RunBehind(waiting, nil, step, in.scratch, nil)
	if lost := in.lost(); lost != nil {
		return "", nil, lost
	}
	switch {
	case ctx.Err() != nil:
		return "", nil, ctx.Err()
	case waiting.Err() != nil || err == nil && exit.Code != 0:
		why := "it did not answer within " + limit.String()
		if exit.Stderr != "" {
			why = exit.Stderr
		}
		return "", nil, problem.New(problem.Failed, "the server of "+in.load.Name, why,
			"look into "+in.scratch+", where it leaves what it says")
	case err != nil:
		return "", nil, err
	}
	version, settings = serving.Said(outputs)
	return version, settings, nil
}

// check says what of an instance's data is not as it has to be; err is of what kept it from being looked at.
func (in *instance) check(ctx context.Context) (said, err error) {
	serving := in.load.Abilities().Serving
	if serving == nil || serving.Check == nil {
		return nil, nil
	}
	step, err := serving.Check(in.place.Target)
	if err != nil {
		return nil, err
	}
	if step, err = in.reaching(step); err != nil {
		return nil, err
	}
	_, exit, err := in.outside.RunBehind(ctx, nil, step, in.scratch, nil)
	switch {
	case err != nil || exit.Code == 0:
		return nil, err
	case in.lost() != nil:
		return in.lost(), nil
	}
	return problem.New(problem.Failed, "the data of "+in.load.Name,
		strings.TrimPrefix(strings.TrimSpace(exit.Stderr), workload.Self+": "),
		"see what the server says in the trial's artifacts, and whether its parameters ask for durability"), nil
}

// lost is why the server of an instance has ended, though nobody asked it to; nil while
// it serves, and for an instance without one.
func (in *instance) lost() error {
	if in.server == nil {
		return nil
	}
	select {
	case <-in.server.process.Ended():
	default:
		return nil
	}
	_, exit, err := in.server.process.Stop()
	if err != nil {
		return err
	}
	return in.load.Abilities().Serving.Failed(exit)
}

// step runs what an instance measures with: in its place, or outside of it where it drives
// a server there.
func (in *instance) step(
	ctx context.Context,
	gate *stack.Gate,
	step *workload.Step,
	live func([]byte) bool,
) (end, error) {
	var e end
	var err error
	if in.server == nil {
		e.outputs, e.exit, err = in.place.RunBehind(ctx, gate, step, in.scratch, live)
		e.at = time.Now()
		return e, err
	}
	step, err = in.reaching(step)
	if err != nil {
		return e, err
	}
	driving, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		select {
		case <-driving.Done():
			return
		case <-in.server.process.Ended():
		}
		select {
		case <-driving.Done():
		case <-time.After(noticeLimit):
			cancel() // it waits for answers that will not come
		}
	}()
	e.outputs, e.exit, err = in.outside.RunBehind(driving, gate, step, in.scratch, live)
	e.at = time.Now()
	if in.lost() != nil && ctx.Err() == nil {
		err = nil // the server's end is the reason
	}
	return e, err
}

// served ends the servers of all instances, and returns why one did not end well. Limits on
// devices are lifted before: what a server writes at its end is not measured.
func (r *runner) served(s *site, m experiment.Mix, all together) error {
	if !slices.ContainsFunc(all, func(in *instance) bool { return in.server != nil }) {
		return nil
	}
	if _, _, err := s.limit(m, all, false); err != nil {
		return err
	}
	if all.stay() {
		s.running = runningServers{m.Name, map[*upPlace]*server{}}
		for _, in := range all {
			in.server.unbind()
			s.running.servers[in.place], in.server = in.server, nil
		}
		return nil
	}
	return all.each(func(in *instance) error {
		if in.server == nil {
			return nil
		}
		defer in.server.kill()
		lost := in.lost() != nil
		step := in.server.step
		_, exit, err := in.server.process.Stop()
		in.server = nil
		if err != nil || lost { // of which its instance tells
			return err
		}
		if !workload.EndedWell(exit.Code, step.EndCodes) {
			return in.load.Abilities().Serving.Failed(exit)
		}
		return os.RemoveAll(filepath.Join(in.scratch, workload.ServerDir)) // libraries that a killed Java unpacked, sockets
	})
}

// reaching fits a step that speaks to the instance's server to where that is, and to where its clients are.
func (in *instance) reaching(step *workload.Step) (*workload.Step, error) {
	fit := *step
	fit.Argv = slices.Clone(step.Argv)
	if at := slices.Index(fit.Argv, workload.NetworkFile); at >= 0 {
		network, err := in.place.Network()
		if err != nil {
			return nil, err
		}
		fit.Argv[at] = network
	}
	return in.clients.fit(&fit), nil
}

// abandoned kills servers that are still up: of a trial that failed.
func (all together) abandoned() {
	_ = all.each(func(in *instance) error {
		if in.server != nil {
			in.server.kill()
			_, _, _ = in.server.process.Stop() // killed: there is nothing to hear
			in.server = nil
		}
		return nil
	})
}

// stale reports whether the place of an instance has to get its server's data anew.
func (in *instance) stale() bool {
	return in.load.Abilities().Serving != nil && in.place.data == ""
}

// data puts the data of the instance's server into its place: a copy of what was laid out
// once on the base, unless the place has it and no trial has changed it.
func (r *runner) data(
	ctx context.Context,
	s *site,
	in *instance,
	serving *workload.Serving,
) (*result.Preconditioning, error) {
	done := &result.Preconditioning{Kind: result.PreconditionedFile, Passes: 1, Bytes: in.load.NeedBytes()}
	from, err := r.golden(ctx, s, in, serving)
	if err != nil {
		return nil, in.noRoom(err)
	}
	r.clock.end(result.PhaseLoad)
	if in.place.data == from {
		return done, nil
	}
	in.place.data = ""
	source, err := os.OpenRoot(from)
	if err != nil {
		return nil, err
	}
	defer source.Close()
	if err := in.place.Replace(ctx, source, serving.Data); err != nil {
		return nil, in.noRoom(err)
	}
	r.clock.end(result.PhaseClone)
	if serving.ReadOnly {
		in.place.data = from
	}
	return done, nil
}

// noRoom says what to do where copying data failed for want of room.
func (in *instance) noRoom(err error) error {
	if !errors.Is(err, syscall.ENOSPC) || problem.Of(err) != nil {
		return err
	}
	return problem.New(problem.Failed, "a copy of the data of "+in.load.Name, err.Error(),
		"give the stack a larger size, or the workload fewer records").CausedBy(err)
}

// golden returns the directory that has the data of an instance's server, on its base: a
// copy of what an earlier run loaded, or loaded when it is asked for first.
func (r *runner) golden(ctx context.Context, s *site, in *instance, serving *workload.Serving) (string, error) {
	layout := in.load.Layout()
	at, known := in.base.golden[layout]
	if known {
		return at, nil
	}
	dir, err := in.base.Golden(ctx)
	if err != nil {
		return "", err
	}
	own := filepath.Join(dir, fmt.Sprint(len(in.base.golden)+1))
	if err := os.Mkdir(own, 0o700); err != nil {
		return "", err
	}
	to, err := os.OpenRoot(own)
	if err != nil {
		return "", err
	}
	defer to.Close()
	r.env.Trace("looking for data of " + in.load.Name + " that an earlier run loaded")
	content := r.content(in, serving)
	kept, err := r.Golden.Fetch(ctx, content, to, serving.Data)
	if err != nil {
		return "", err
	}
	if !kept {
		began := time.Now()
		if err := r.loadInto(ctx, s, in, serving, own); err != nil {
			return "", err
		}
		r.env.Trace("keeping the data of " + in.load.Name + " for later runs")
		why, err := r.Golden.Keep(ctx, content, to, serving.Data, time.Since(began))
		if err != nil {
			return "", err
		}
		if why != "" {
			r.env.Trace(fmt.Sprintf("the data of %s is not kept for later runs: %s", in.load.Name, why))
		}
	}
	in.base.golden[layout] = own
	return own, nil
}

// loadInto has the data of an instance's server laid out in a directory.
func (r *runner) loadInto(ctx context.Context, s *site, in *instance, serving *workload.Serving, dir string) error {
	step, err := in.load.Prepare(workload.Target{Path: dir})
	if err != nil {
		return err
	}
	step = r.outsideStep(in, step)
	outside, err := r.outside(ctx, s)
	if err != nil {
		return err
	}
	r.env.Trace(fmt.Sprintf("loading the data of %s", in.load.Name))
	limit := layoutLimit(in.load.NeedBytes())
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	_, exit, err := outside.RunBehind(limited, nil, step, filepath.Join(in.scratch, "prepare"), nil)
	late := limited.Err() != nil && ctx.Err() == nil
	switch {
	case late:
		return layoutHangs(in.load.Name, in.load.NeedBytes(), limit)
	case err != nil:
		return err
	case exit.Code != 0:
		return serving.Failed(exit)
	}
	return nil
}
