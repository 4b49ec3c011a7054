// Package trial runs the trials of an experiment: it brings stacks up, lays
// out files, drives workloads while it reads the devices' counters, takes the
// stacks down again, and stores each result as it comes.
package trial

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"time"

	"plimsoll/internal/experiment"
	"plimsoll/internal/host/cgroup"
	"plimsoll/internal/host/clienthost"
	"plimsoll/internal/host/hostinfo"
	"plimsoll/internal/problem"
	"plimsoll/internal/result"
	"plimsoll/internal/result/store"
	"plimsoll/internal/stack"
	"plimsoll/internal/stack/image"
	"plimsoll/internal/stack/line"
	"plimsoll/internal/state/activeruns"
	"plimsoll/internal/state/datasets"
	"plimsoll/internal/state/journal"
	"plimsoll/internal/state/sudouser"
	"plimsoll/internal/stats/stopping"
	"plimsoll/internal/workload"
)

// Options configures a run.
type Options struct {
	Experiment *experiment.Experiment
	Seed       uint64
	ID         string   // of a new run, from NewID
	Dir        string   // the run directory
	State      string   // the state directory: journals, and what the run works on
	Resume     bool     // Dir holds a run that did not come to its end
	Command    []string // what the user typed
	Version    string
	Allow      []stack.Permission
	LeftOut    []string          // stacks and workloads of the experiment that settings left out, and why
	Golden     *datasets.Store   // of data that servers begin with, across runs
	Images     *image.Store      // that servers run from; nil for none
	Self       string            // path of this program, which steps may start too; "" for that of the process
	Secrets    map[string]string // see TakeSecrets
	Progress   Progress

	// Lines returns where the load lines of a run lie; nil where nothing asks for them. The run is not changed.
	Lines func(run *result.Run) []Line

	// Handicap, unless nil, is called when a stack came up, before its first
	// trial. Benchmarks of the statistics slow stacks down with it.
	Handicap func(ctx context.Context, stack string, devices []result.Device) error
}

// Progress watches a run.
type Progress interface {
	// Note tells of something that takes a moment and is no trial.
	Note(text string)
	// Begin tells that a trial starts, the done-th of all.
	Begin(t result.Trial, done, all int)
	// End tells how it ended.
	End(t result.Trial, done, all int)
}

// runner is a run under way.
type runner struct {
	Options
	host  *hostinfo.Host
	env   *stack.Env
	store *store.Store
	lines map[string]experiment.Stack
	loads map[string]experiment.Workload
	mixes map[string]experiment.Mix
	up    *site // what is up; nil for nothing
	clock clock // of the trial under way

	unsupported map[string]*problem.Problem        // stacks that will not come up, and why
	bringUps    map[string]int                     // of each site, so far
	filled      map[string]*result.Preconditioning // by what stacks occupy: devices that were written
	others      neighbours
	clients     *clients // nil where this host generates the load
	finished    bool     // no trial is left to plan

	images  map[string]image.Image // that workloads need, by workload
	rootOf  map[string]*root       // these unpacked
	roots   []*root                // each once
	telling sync.Mutex             // of what servers say of themselves
}

// Run runs the experiment's trials that have not been run yet and gives the
// results of all. A device that is protected ends it before anything is
// touched (problem.Protected). When ctx ends, the trial under way is given up,
// everything is undone, and the results so far are kept; the error is then
// ctx's.
func Run(ctx context.Context, o Options) (_ *result.Run, err error) {
	r := newRunner(o)
	r.env.Trace = o.Progress.Note
	if !o.Resume {
		if refused, err := r.check(ctx); err != nil || refused != nil {
			return nil, errors.Join(refused, err)
		}
		if err := r.findImages(nil); err != nil {
			return nil, err
		}
	}
	if err := r.openStore(ctx); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, r.store.Close()) }()
	release, err := r.unpackImages(ctx)
	if err != nil {
		return nil, err
	}
	defer release()
	err = r.journalled(ctx)
	status := result.RunComplete
	if !r.finished {
		status = result.RunInterrupted
	}
	finished := r.store.Finish(status)
	if !errors.Is(err, syscall.ENOSPC) || !errors.Is(finished, syscall.ENOSPC) { // that is said already
		err = errors.Join(err, finished)
	}
	return r.store.Run(), err
}

func newRunner(o Options) *runner {
	own := *o.Experiment // mixes are added to it: see elastic.go
	o.Experiment = &own
	r := &runner{
		Options: o, host: hostinfo.New(),
		lines: map[string]experiment.Stack{}, loads: map[string]experiment.Workload{}, mixes: mixesOf(&own),
		unsupported: map[string]*problem.Problem{}, bringUps: map[string]int{}, filled: map[string]*result.Preconditioning{},
		images: map[string]image.Image{}, rootOf: map[string]*root{},
	}
	for _, s := range o.Experiment.Stacks {
		r.lines[s.Name] = s
	}
	for _, w := range o.Experiment.Workloads {
		r.loads[w.Name] = w
	}
	var up [][]line.Line // at the same time
	for _, s := range o.Experiment.Stacks {
		up = append(up, []line.Line{s.Line})
	}
	for _, m := range o.Experiment.Mixes {
		var lines []line.Line
		for _, name := range m.On() {
			lines = append(lines, r.lines[name].Line)
		}
		up = append(up, lines)
	}
	if r.Self == "" {
		r.Self, _ = os.Executable() // where it cannot be told, the steps that need it say so
	}
	for _, w := range o.Experiment.Workloads {
		there := w.Abilities().Elsewhere
		if there != nil && slices.ContainsFunc(o.Allow, func(p stack.Permission) bool { return p.Device == there.Makes }) {
			there.Replace()
		}
	}
	r.env = &stack.Env{
		State: o.State, KeepFree: o.Experiment.KeepFree,
		Host: r.host, Allow: o.Allow, Programs: r.programs(), Self: r.Self, Secrets: o.Secrets,
		Regions: stack.NewRegions(up, blocks(o.Experiment)),
	}
	return r
}

func mixesOf(e *experiment.Experiment) map[string]experiment.Mix {
	all := map[string]experiment.Mix{}
	for _, m := range e.Mixes {
		all[m.Name] = m
	}
	return all
}

// blocks is how many blocks of trials a run may have.
func blocks(e *experiment.Experiment) int {
	if e.Budget > 0 {
		return stopping.DefaultStudy.Most
	}
	return e.Repeat
}

// check asks every stack what speaks against it before anything is touched.
// What the host cannot do is remembered and its trials are skipped; refused
// joins what must not be done at all: of devices that are not there, nothing else is said.
func (r *runner) check(ctx context.Context) (refused, err error) {
	var wrong, all []error
	for _, s := range r.Experiment.Stacks {
		err := r.env.Check(ctx, s.Line, r.Experiment.Need(s))
		if err == nil {
			err = r.shareable(s)
		}
		switch p := problem.Of(err, problem.Unsupported, problem.Protected, problem.Invalid); {
		case p != nil && p.Kind == problem.Unsupported:
			r.unsupported[s.Name] = p
		case p != nil && p.Kind == problem.Invalid:
			wrong = append(wrong, err)
		case p != nil:
			all = append(all, err)
		case err != nil:
			return nil, fmt.Errorf("stack %s: %w", s.Name, err)
		}
	}
	if len(wrong) > 0 {
		return errors.Join(each(wrong)...), nil
	}
	if err := r.refuseOccupiedDevices(); err != nil {
		all = append(all, err)
	}
	if _, err := r.findClients(ctx); err != nil {
		all = append(all, err)
	}
	return errors.Join(each(all)...), nil
}

// each returns errors of which no two say the same, as those of stacks on one device do. Devices come and go between two
// looks at the host, so that of one that is not there the name decides, and not which others there are.
func each(all []error) (out []error) {
	for _, err := range all {
		joined, several := err.(interface{ Unwrap() []error })
		if several {
			out = each(append(out, joined.Unwrap()...))
			continue
		}
		if !slices.ContainsFunc(out, func(e error) bool { return sameError(e, err) }) {
			out = append(out, err)
		}
	}
	return out
}

func sameError(a, b error) bool {
	var one, other *hostinfo.UnknownDeviceError
	if errors.As(a, &one) && errors.As(b, &other) {
		return one.Name == other.Name
	}
	return a.Error() == b.Error()
}

func (r *runner) programs() []string {
	var out []string
	for _, w := range r.Experiment.Workloads {
		for _, p := range w.Programs() {
			if p == workload.Self {
				p = r.Self
			}
			if !slices.Contains(out, p) {
				out = append(out, p)
			}
		}
	}
	return out
}

// openStore makes the run directory, or opens the one to go on with.
func (r *runner) openStore(ctx context.Context) error {
	if r.Resume {
		s, err := store.Open(r.Dir)
		if err != nil {
			return err
		}
		if err := errors.Join(r.checkPlanUnchanged(s.Run()), r.findImages(s.Run().Workloads)); err != nil {
			return errors.Join(err, s.Close())
		}
		r.store = s
		if err := r.extend(); err != nil {
			return errors.Join(err, s.Close())
		}
		r.env.Regions.Continue(s.Run().Regions)
		for _, t := range s.Run().Trials {
			key, _ := siteOf(t.Stack, r.mixes[t.Mix])
			r.bringUps[key] = max(r.bringUps[key], t.BringUp)
		}
		return nil
	}
	now := time.Now().UTC()
	run := result.Run{
		Schema: result.SchemaVersion, ID: r.ID, Version: r.Version, Command: r.Command,
		Status: result.RunRunning, Seed: r.Seed, Started: now,
		Experiment:  r.Experiment.Stored(),
		Environment: r.host.Environment(ctx),
	}
	run.Experiment.LeftOut = r.LeftOut
	for _, s := range r.Experiment.Stacks {
		run.Stacks = append(
			run.Stacks,
			result.Stack{Name: s.Name, Line: s.Line.String(), Marks: r.marks(s.Line), Levels: s.Levels, Control: s.Control},
		)
	}
	run.Mixes = r.Experiment.ResultMixes()
	run.Workloads = r.imagesIn(workloadsOf(r.Experiment))
	for _, p := range experiment.Trials(r.Experiment, r.Seed) {
		run.Trials = append(run.Trials, result.Trial{
			Seq: p.Seq, Block: p.Block, Stack: p.Stack, Mix: p.Mix, Repeat: p.Repeat, Status: result.TrialPlanned,
		})
	}
	s, err := store.Create(r.Dir, run)
	if err != nil {
		return err
	}
	r.store = s
	return nil
}

// extend stores the budget of a run that is resumed with more time than it had.
func (r *runner) extend() error {
	run, budget := r.store.Run(), r.Experiment.Budget.Seconds()
	if run.Experiment.BudgetSeconds == budget {
		return nil
	}
	run.Experiment.BudgetSeconds, run.Points, run.Status = budget, nil, result.RunRunning
	return r.store.SaveHeader(*run)
}

// marks are those of a stack's line and of the host that it is made on.
func (r *runner) marks(l line.Line) []result.Mark {
	marks := stack.Marks(l)
	if r.host.Lab() {
		marks = append(marks, result.MarkLab)
	}
	return marks
}

// DefaultRuns is where run directories are made unless the user says
// otherwise.
const DefaultRuns = "plimsoll-runs"

// NewID names a run so that the names of an experiment's runs sort by start:
// quick-20260102-150405.000000. Runs that are started together differ in
// microseconds.
func NewID(experiment string, at time.Time) string {
	return experiment + "-" + at.Format("20060102-150405.000000")
}

// Preview lists the changes that bringing a stack up would make to the host, or the reason why the host cannot.
type Preview struct {
	Changes []string
	Writes  []string // every device and path that is written; RUN stands for the run's id
	Skipped string
}

// DryRun tells, touching nothing, what a run would change on the host, stack
// by stack. refused joins what would end the run before it starts.
func DryRun(ctx context.Context, o Options) (previews []Preview, refused, err error) {
	r := newRunner(o)
	refused, err = r.check(ctx)
	if err != nil {
		return nil, nil, err
	}
	for _, s := range o.Experiment.Stacks {
		var p Preview
		if lacks := r.unsupported[s.Name]; lacks != nil {
			p.Skipped = lacks.Error()
		} else if p.Changes, err = stack.Plan(s.Line); err != nil {
			return nil, nil, err
		} else if p.Writes, err = r.writes(s.Name, s.Line); err != nil {
			return nil, nil, err
		}
		previews = append(previews, p)
	}
	return previews, errors.Join(refused, r.obstacles()), nil
}

// obstacles joins what besides its stacks would end a new run before its first trial.
func (r *runner) obstacles() error {
	if r.Resume {
		return nil
	}
	var missing, taken error
	if r.Images != nil {
		missing = r.findImages(nil)
	}
	if r.Dir != "" {
		taken = store.Vacant(r.Dir)
	}
	return errors.Join(missing, taken)
}

// anyRun stands for the id of the run in what a dry run says.
const anyRun = "RUN"

// writes lists every device and path that a stack would write.
func (r *runner) writes(name string, l line.Line) ([]string, error) {
	state, err := filepath.Abs(r.State)
	if err != nil {
		return nil, err
	}
	w, err := stack.Places{State: state, Run: anyRun}.Writes(name, l)
	if err != nil {
		return nil, err
	}
	var all []string
	for _, d := range w.Devices {
		all = append(all, d+" (all that is on it)")
	}
	return append(all, w.Paths...), nil
}

// OwnWrites lists what a run writes besides its stacks.
func OwnWrites(o Options) []string {
	state, err := filepath.Abs(o.State)
	if err != nil {
		state = o.State
	}
	paths := []string{filepath.Join(state, "journal", anyRun+".jsonl"), journal.WorkDir(state, anyRun)}
	if file, err := activeruns.FileOf(anyRun); err == nil {
		paths = append(paths, file)
	}
	if o.Experiment.Trace {
		paths = append(
			paths,
			"/sys/kernel/tracing and /sys/block/DEVICE/trace, where block requests are recorded by the kernel's own tracer",
		)
	}
	if c := o.Experiment.Clients; c != nil {
		paths = append(paths, "a copy of this program on "+c.Host+", in "+clienthost.DirOf(anyRun)+"…")
	}
	if os.Geteuid() == 0 {
		paths = append(paths, "cgroups "+cgroup.Prefix+anyRun+"-…")
	}
	return paths
}

// journalled runs the trials with a journal open, and undoes all it holds.
func (r *runner) journalled(ctx context.Context) (err error) {
	run := r.store.Run().ID
	j, err := journal.Create(r.State, run)
	if err != nil {
		return err
	}
	defer func() {
		r.Progress.Note("undoing every change to the host")
		undone := j.UndoAll(context.WithoutCancel(ctx), nil)
		if undone != nil {
			undone = fmt.Errorf(
				"not everything could be undone. See to what is named here, then run %s:\n%w",
				journal.CleanCommand(),
				undone,
			)
		}
		err = errors.Join(err, undone, j.Close())
	}()
	if r.Resume {
		// A process that was killed may have left something to undo, which may
		// use what the check looks at.
		if err := j.UndoAll(ctx, nil); err != nil {
			return fmt.Errorf("undo what run %s left behind: %w", run, err)
		}
		if refused, err := r.check(ctx); err != nil || refused != nil {
			return errors.Join(refused, err)
		}
	}
	leave, err := r.announceRun(ctx, j)
	if err != nil {
		return err
	}
	defer leave()
	scratch, err := filepath.Abs(filepath.Join(r.Dir, "artifacts"))
	if err != nil {
		return err
	}
	if _, err := sudouser.MkdirAll(scratch, 0o755); err != nil {
		return err
	}
	r.env.Journal, r.env.RunID, r.env.Scratch = j, run, scratch
	r.env.Work = journal.WorkDir(j.State(), run)
	if _, err := j.Do(
		ctx,
		&journal.Dir{Path: r.env.Work},
		func(string) error { return os.Mkdir(r.env.Work, 0o700) },
	); err != nil {
		return fmt.Errorf("make the run's work directory: %w", err)
	}
	if err := r.prepareClients(ctx); err != nil {
		return err
	}
	return r.trials(ctx)
}

// trials runs one trial after the other, as the schedule has them.
func (r *runner) trials(ctx context.Context) error {
	defer r.others.close()
	defer func() {
		if r.up != nil {
			r.up.leave("")
		}
	}()
	s := r.newSchedule()
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		t, ok, err := s.next()
		if err != nil || !ok {
			return err
		}
		all := len(r.store.Run().Trials)
		r.Progress.Begin(t, t.Seq-1, all)
		t, err = r.trial(ctx, t)
		if err != nil {
			return err
		}
		t, err = r.storeTrial(t)
		r.Progress.End(t, t.Seq, all)
		if err != nil {
			return err
		}
	}
}

// trial runs one trial. Whatever goes wrong with it ends it with its reason;
// the error is only for what ends the run: the user, a journal that cannot be
// written, or a host that cannot be brought back to what it was.
func (r *runner) trial(ctx context.Context, t result.Trial) (result.Trial, error) {
	began := time.Now()
	t.Started = began.UTC()
	r.clock.begin(began)
	m, known := r.mixes[t.Mix]
	if !known {
		return t, fmt.Errorf("trial %d: the experiment has no mix %s", t.Seq, t.Mix)
	}
	if err := r.awaitQuiet(ctx); err != nil {
		return t, err
	}
	limited, cancel := r.patient(ctx, t, m)
	defer cancel()
	err := r.measure(limited, &t, m)
	if err != nil && limited.Err() != nil {
		err = context.Cause(limited)
	}
	r.clock.end(result.PhaseTeardown)
	t.ElapsedSeconds, t.Phases = time.Since(began).Seconds(), r.clock.phases
	if ctx.Err() != nil {
		return t, ctx.Err()
	}
	if errors.Is(err, journal.ErrWrite) {
		return t, err // nothing more may be changed, so no trial can be run
	}
	if err == nil {
		t.Status = result.TrialDone
		return t, nil
	}
	t.Status, t.Problem = result.TrialFailed, problemOf(nameOfTrial(t), err)
	if lacks := problem.Of(err, problem.Unsupported); lacks != nil {
		t.Status = result.TrialSkipped
		r.giveUp(t, m, lacks)
	}
	// What failed may have left the stack half dead (an engine that was
	// killed, a full file system): the next trial gets a new one.
	if err := r.down(ctx); err != nil {
		return t, err
	}
	return t, r.env.Release(context.WithoutCancel(ctx))
}

// giveUp notes that what a trial stands on will not come up.
func (r *runner) giveUp(t result.Trial, m experiment.Mix, lacks *problem.Problem) {
	_, stacks := siteOf(t.Stack, m)
	if len(stacks) == 1 { // of several, nobody can tell which
		r.unsupported[stacks[0]] = lacks
	}
}
