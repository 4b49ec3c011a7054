package site

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
	"plimsoll/internal/image"
	"plimsoll/internal/problem"
	"plimsoll/internal/result"
	"plimsoll/internal/stack"
	"plimsoll/internal/state/datasets"
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

// Warms reports whether the server that an instance drives gets faster while it is asked.
func (in *Instance) Warms() bool {
	serving := in.Load.Abilities().Serving
	return serving != nil && serving.Warms
}

// stay reports whether the servers of a mix are to be up for its next trial as well: they would begin to warm up anew, and
// find their data as it was.
func (all Together) stay() bool {
	return !slices.ContainsFunc(all, func(in *Instance) bool {
		return !in.Warms() || !in.Load.Abilities().Serving.ReadOnly
	})
}

// runningServers are kept from the previous trial of a mix, by the place that they are in.
type runningServers struct {
	mix     string
	servers map[*upPlace]*server
}

// Leave ends servers that stayed up, all at the same time, unless they are those of a mix. The data of one that did not
// end well is laid out anew.
func (s *Site) Leave(mix string) {
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

// Serve starts the servers of all instances that drive one and have none that stayed up, at the same time, and waits
// until each answers. Whatever it returns, together.abandoned has to be called.
func (r *Sites) Serve(ctx context.Context, s *Site, instances Together) error {
	if !slices.ContainsFunc(instances, func(in *Instance) bool { return in.Load.Abilities().Serving != nil }) {
		return nil
	}
	outside, err := r.outside(ctx, s)
	if err != nil {
		return err
	}
	r.Env.Trace("starting servers")
	return instances.Each(func(in *Instance) error {
		serving := in.Load.Abilities().Serving
		if serving == nil {
			return nil
		}
		in.outside, in.clients = outside, r.clients
		in.Server = s.running.servers[in.Placed]
		if in.Server != nil {
			in.Server.bind(ctx)
			return in.Lost()
		}
		step, err := serving.Serve(in.Placed.Target)
		if err != nil {
			return err
		}
		step.Name = "server"
		if o := r.rootOf[in.Workload]; o != nil && step.Kept != "" && !image.HasKept(o.Dir, step.Kept) {
			step.Argv = image.WithoutKept(step.Argv, step.Kept)
			r.Env.Trace("the server of " + in.Load.Name + " starts slower: " + o.Name + " has no " + step.Kept)
		}
		if !serving.ReadOnly {
			// The server's data is laid out again before it is read again. Writing it out at the end would be in vain,
			// and takes Cassandra five seconds.
			step.Ends, step.EndCodes = "KILL", []int{128 + int(syscall.SIGKILL)}
		}
		if err := r.serverDir(in); err != nil {
			return err
		}
		alive, kill := context.WithCancel(context.WithoutCancel(ctx))
		in.Server = &server{process: in.Placed.Serve(alive, step, in.Scratch), step: step, kill: kill}
		in.Server.bind(ctx)
		version, settings, err := in.ready(ctx, serving)
		if err != nil {
			return err
		}
		return r.answered(in, version, settings)
	})
}

// outside returns where what drives servers on the site runs, and loads their data; it is
// made when it is asked for first.
func (r *Sites) outside(ctx context.Context, s *Site) (*stack.Outside, error) {
	if s.outside != nil {
		return s.outside, nil
	}
	var err error
	s.outside, err = r.Env.Outside(ctx)
	return s.outside, err
}

// ready waits until the server of an instance answers, and returns the version that it says
// it is of.
func (in *Instance) ready(
	ctx context.Context, serving *workload.Serving,
) (version string, settings map[string]string, err error) {
	step, err := serving.Ready(in.Placed.Target)
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
		case <-in.Server.process.Ended():
			cancel()
		case <-waiting.Done():
		}
	}()
	outputs, exit, err := in.outside.RunBehind(waiting, nil, step, in.Scratch, nil)
	if lost := in.Lost(); lost != nil {
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
		return "", nil, problem.New(problem.Failed, "the server of "+in.Load.Name, why,
			"look into "+in.Kept+", where it leaves what it says")
	case err != nil:
		return "", nil, err
	}
	version, settings = serving.Said(outputs)
	return version, settings, nil
}

// Check says what of an instance's data is not as it has to be; err is of what kept it from being looked at.
func (in *Instance) Check(ctx context.Context) (said, err error) {
	serving := in.Load.Abilities().Serving
	if serving == nil || serving.Check == nil {
		return nil, nil
	}
	step, err := serving.Check(in.Placed.Target)
	if err != nil {
		return nil, err
	}
	if step, err = in.reaching(step); err != nil {
		return nil, err
	}
	_, exit, err := in.outside.RunBehind(ctx, nil, step, in.Scratch, nil)
	switch {
	case err != nil || exit.Code == 0:
		return nil, err
	case in.Lost() != nil:
		return in.Lost(), nil
	}
	return problem.New(problem.Failed, "the data of "+in.Load.Name,
		strings.TrimPrefix(strings.TrimSpace(exit.Stderr), workload.Self+": "),
		"see what the server says in the trial's artifacts, and whether its parameters ask for durability"), nil
}

// Lost is why the server of an instance has ended, though nobody asked it to; nil while
// it serves, and for an instance without one.
func (in *Instance) Lost() error {
	if in.Server == nil {
		return nil
	}
	select {
	case <-in.Server.process.Ended():
	default:
		return nil
	}
	_, exit, err := in.Server.process.Stop()
	if err != nil {
		return err
	}
	return in.Load.Abilities().Serving.Failed(exit)
}

// End is how an instance's step ended.
type End struct {
	Outputs       map[string][]byte
	Exit          workload.Exit
	Ended         time.Time
	Before, After used
}

// Step runs what an instance measures with: in its place, or outside of it where it drives
// a server there.
func (in *Instance) Step(
	ctx context.Context,
	gate *stack.Gate,
	step *workload.Step,
	live func([]byte) bool,
) (End, error) {
	var e End
	var err error
	if in.Server == nil {
		e.Outputs, e.Exit, err = in.Placed.RunBehind(ctx, gate, step, in.Scratch, live)
		e.Ended = time.Now()
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
		case <-in.Server.process.Ended():
		}
		select {
		case <-driving.Done():
		case <-time.After(noticeLimit):
			cancel() // it waits for answers that will not come
		}
	}()
	e.Outputs, e.Exit, err = in.outside.RunBehind(driving, gate, step, in.Scratch, live)
	e.Ended = time.Now()
	if in.Lost() != nil && ctx.Err() == nil {
		err = nil // the server's end is the reason
	}
	return e, err
}

// Served ends the servers of all instances, and returns why one did not end well. Limits on
// devices are lifted before: what a server writes at its end is not measured.
func (r *Sites) Served(s *Site, m experiment.Mix, instances Together) error {
	if !slices.ContainsFunc(instances, func(in *Instance) bool { return in.Server != nil }) {
		return nil
	}
	if _, _, err := s.Limit(m, instances, false); err != nil {
		return err
	}
	if instances.stay() {
		s.running = runningServers{m.Name, map[*upPlace]*server{}}
		for _, in := range instances {
			in.Server.unbind()
			s.running.servers[in.Placed], in.Server = in.Server, nil
		}
		return nil
	}
	return instances.Each(func(in *Instance) error {
		if in.Server == nil {
			return nil
		}
		defer in.Server.kill()
		lost := in.Lost() != nil
		step := in.Server.step
		_, exit, err := in.Server.process.Stop()
		in.Server = nil
		if err != nil || lost { // the instance reports the loss
			return err
		}
		if !workload.EndedWell(exit.Code, step.EndCodes) {
			return in.Load.Abilities().Serving.Failed(exit)
		}
		return os.RemoveAll(filepath.Join(in.Scratch, workload.ServerDir)) // libraries that a killed Java unpacked, sockets
	})
}

// reaching returns a step with the network of the instance's server, and for the host of its clients.
func (in *Instance) reaching(step *workload.Step) (*workload.Step, error) {
	fit := *step
	fit.Argv = slices.Clone(step.Argv)
	if i := slices.Index(fit.Argv, workload.NetworkFile); i >= 0 {
		network, err := in.Placed.Network()
		if err != nil {
			return nil, err
		}
		fit.Argv[i] = network
	}
	return in.clients.fit(&fit), nil
}

// Abandoned kills servers that are still up: of a trial that failed.
func (all Together) Abandoned() {
	_ = all.Each(func(in *Instance) error {
		if in.Server != nil {
			in.Server.kill()
			_, _, _ = in.Server.process.Stop() // killed: there is nothing to hear
			in.Server = nil
		}
		return nil
	})
}

// stale reports whether the place of an instance has to get its server's data anew.
func (in *Instance) stale() bool {
	return in.Load.Abilities().Serving != nil && in.Placed.data == ""
}

// data puts the data of the instance's server into its place: a copy of what was laid out
// once on the base, unless the place has it and no trial has changed it.
func (r *Sites) data(
	ctx context.Context,
	s *Site,
	in *Instance,
	serving *workload.Serving,
) (*result.Preconditioning, error) {
	done := &result.Preconditioning{Kind: result.PreconditionedFile, Passes: 1, Bytes: in.Load.NeedBytes()}
	from, err := r.golden(ctx, s, in, serving)
	if err != nil {
		return nil, in.noRoom(err)
	}
	r.Clock.End(result.PhaseLoad)
	if in.Placed.data == from {
		return done, nil
	}
	in.Placed.data = ""
	source, err := os.OpenRoot(from)
	if err != nil {
		return nil, err
	}
	defer source.Close()
	sharing := datasets.Sharing(r.Experiment.Data != experiment.DataCopied)
	done.ClonedBytes, err = in.Placed.Replace(ctx, source, serving.Data, sharing)
	if err != nil {
		return nil, in.noRoom(err)
	}
	r.Clock.End(result.PhaseClone)
	if serving.ReadOnly {
		in.Placed.data = from
	}
	return done, nil
}

// noRoom says what to do where copying data failed for want of room.
func (in *Instance) noRoom(err error) error {
	if !errors.Is(err, syscall.ENOSPC) || problem.Of(err) != nil {
		return err
	}
	return problem.New(problem.Failed, "a copy of the data of "+in.Load.Name, err.Error(),
		"give the stack a larger size, or the workload fewer records").CausedBy(err)
}

// golden returns the directory that has the data of an instance's server, on its base: a
// copy of what an earlier run loaded, or loaded when it is asked for first.
func (r *Sites) golden(ctx context.Context, s *Site, in *Instance, serving *workload.Serving) (string, error) {
	layout := in.Load.Layout()
	cached, known := in.Base.golden[layout]
	if known {
		return cached, nil
	}
	dir, err := in.Base.Golden(ctx)
	if err != nil {
		return "", err
	}
	dataDir := filepath.Join(dir, fmt.Sprint(len(in.Base.golden)+1))
	if err := os.Mkdir(dataDir, 0o700); err != nil {
		return "", err
	}
	to, err := os.OpenRoot(dataDir)
	if err != nil {
		return "", err
	}
	defer to.Close()
	r.Env.Trace("looking for data of " + in.Load.Name + " that an earlier run loaded")
	content := r.content(in, serving)
	kept, err := r.Golden.Fetch(ctx, content, to, serving.Data)
	if err != nil {
		return "", err
	}
	if !kept {
		began := time.Now()
		if err := r.loadInto(ctx, s, in, serving, dataDir); err != nil {
			return "", err
		}
		r.Env.Trace("keeping the data of " + in.Load.Name + " for later runs")
		why, err := r.Golden.Keep(ctx, content, to, serving.Data, time.Since(began))
		if err != nil {
			return "", err
		}
		if why != "" {
			r.Env.Trace(fmt.Sprintf("the data of %s is not kept for later runs: %s", in.Load.Name, why))
		}
	}
	in.Base.golden[layout] = dataDir
	return dataDir, nil
}

// loadInto has the data of an instance's server laid out in a directory.
func (r *Sites) loadInto(ctx context.Context, s *Site, in *Instance, serving *workload.Serving, dir string) error {
	step, err := in.Load.Prepare(workload.Target{Path: dir})
	if err != nil {
		return err
	}
	step = r.outsideStep(in, step)
	outside, err := r.outside(ctx, s)
	if err != nil {
		return err
	}
	r.Env.Trace(fmt.Sprintf("loading the data of %s", in.Load.Name))
	limit := layoutLimit(in.Load.NeedBytes())
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	_, exit, err := outside.RunBehind(limited, nil, step, filepath.Join(in.Scratch, "prepare"), nil)
	late := limited.Err() != nil && ctx.Err() == nil
	switch {
	case late:
		return layoutHangs(in.Load.Name, in.Load.NeedBytes(), limit)
	case err != nil:
		return err
	case exit.Code != 0:
		return serving.Failed(exit)
	}
	return nil
}
