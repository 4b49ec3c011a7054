// Package trial runs the trials of an experiment: it checks what speaks against them, opens the journal and the store,
// has each trial that is planned (plan) run on what is up (site) and measured (drive), and stores what came of it. A run
// that was interrupted goes on.
package trial

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
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
	"plimsoll/internal/image"
	"plimsoll/internal/problem"
	"plimsoll/internal/result"
	"plimsoll/internal/result/store"
	"plimsoll/internal/stack"
	"plimsoll/internal/stack/line"
	"plimsoll/internal/state/activeruns"
	"plimsoll/internal/state/datasets"
	"plimsoll/internal/state/journal"
	"plimsoll/internal/trial/drive"
	"plimsoll/internal/trial/plan"
	"plimsoll/internal/trial/plan/rounds"
	"plimsoll/internal/trial/site"
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

	// Handicap, unless nil, is called when a stack came up, before its first
	// trial. Benchmarks of the statistics slow stacks down with it.
	Handicap func(ctx context.Context, stack string, devices []result.Device) error
}

// Progress watches a run.
type Progress interface {
	// Note shows what takes a moment and is no trial. Called concurrently, by the goroutines of instances.
	Note(text string)
	// Begin shows that a trial starts, the done-th of all. Called serially.
	Begin(t result.Trial, done, all int)
	// End shows how it ended. Called serially.
	End(t result.Trial, done, all int)
}

// runner is a run under way: it has what is planned run on what is up, and stores what came of it.
type runner struct {
	Options
	store    *store.Store
	sites    *site.Sites
	driver   *drive.Driver
	mixes    map[string]experiment.Mix
	finished bool // every trial that was planned has ended

	unsupported map[string]*problem.Problem // stacks that will not come up, and why
	mu          sync.Mutex                  // guards the header of the store from servers that answer at the same time
}

// Run runs the experiment's trials that have not been run yet and gives the
// results of all. A device that is protected ends it before anything is
// touched (problem.Protected). When ctx ends, the trial under way is given up,
// everything is undone, and the results so far are kept; the error is then
// ctx's.
func Run(ctx context.Context, o Options) (_ *result.Run, err error) {
	r := newRunner(o)
	r.sites.Env.Trace = o.Progress.Note
	if !o.Resume {
		if refused, err := r.check(ctx); err != nil || refused != nil {
			return nil, errors.Join(refused, err)
		}
		if err := r.sites.FindImages(nil); err != nil {
			return nil, err
		}
	}
	if err := r.openStore(ctx); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, r.store.Close()) }()
	release, err := r.sites.UnpackImages(ctx)
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
	clone := *o.Experiment // mixes are added to it: see storeStep
	o.Experiment = &clone
	r := &runner{Options: o, mixes: mixesOf(&clone), unsupported: map[string]*problem.Problem{}}
	if r.Self == "" {
		r.Self, _ = os.Executable() // steps that need it report that it is unknown
	}
	r.sites = site.New(&clone, o.Golden, o.Images, r.Self, site.Reports{
		CameUp: r.storeStack, Moved: r.storeRegions, Answered: r.storeAnswer, Filled: r.storeFill, Handicap: o.Handicap,
	})
	if o.Progress != nil {
		r.sites.Note = o.Progress.Note
	}
	r.driver = drive.New(&clone, r.sites, r.makeScratch)
	var up [][]line.Line // at the same time
	for _, s := range o.Experiment.Stacks {
		up = append(up, []line.Line{s.Line})
	}
	for _, m := range o.Experiment.Mixes {
		var lines []line.Line
		for _, name := range m.On() {
			lines = append(lines, stackOf(&clone, name).Line)
		}
		up = append(up, lines)
	}
	for _, w := range o.Experiment.Workloads {
		external := w.Abilities().Elsewhere
		if external == nil {
			continue
		}
		if slices.ContainsFunc(o.Allow, func(p stack.Permission) bool { return p.Device == external.Makes }) {
			external.Replace()
		}
	}
	r.sites.Env = &stack.Env{
		State: o.State, KeepFree: o.Experiment.KeepFree,
		Host: r.sites.Host, Allow: o.Allow, Programs: r.programs(), Self: r.Self, Secrets: o.Secrets,
		Regions: stack.NewRegions(up, blocks(o.Experiment)),
	}
	return r
}

// stackOf returns a stack of an experiment by its name.
func stackOf(e *experiment.Experiment, name string) (s experiment.Stack) {
	if i := slices.IndexFunc(e.Stacks, func(s experiment.Stack) bool { return s.Name == name }); i >= 0 {
		return e.Stacks[i]
	}
	return s
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
		return rounds.DefaultStudy.Most
	}
	return e.Repeat
}

// check checks every stack before anything is touched. Stacks that the host cannot bring up are remembered, and their
// trials are skipped. refused joins the reasons against the whole run: missing devices if there are any, and all
// others otherwise.
func (r *runner) check(ctx context.Context) (refused, err error) {
	var invalid, refusals []error
	for _, s := range r.Experiment.Stacks {
		err := r.sites.Env.Check(ctx, s.Line, r.Experiment.Need(s))
		if err == nil {
			err = r.sites.Shareable(s)
		}
		switch p := problem.Of(err, problem.Unsupported, problem.Protected, problem.Invalid); {
		case p != nil && p.Kind == problem.Unsupported:
			r.unsupported[s.Name] = p
		case p != nil && p.Kind == problem.Invalid:
			invalid = append(invalid, err)
		case p != nil:
			refusals = append(refusals, err)
		case err != nil:
			return nil, fmt.Errorf("stack %s: %w", s.Name, err)
		}
	}
	if len(invalid) > 0 {
		return errors.Join(distinctErrors(invalid)...), nil
	}
	if err := r.refuseOccupiedDevices(); err != nil {
		refusals = append(refusals, err)
	}
	if _, err := r.sites.FindClients(ctx); err != nil {
		refusals = append(refusals, err)
	}
	return errors.Join(distinctErrors(refusals)...), nil
}

// distinctErrors returns errors without repetitions: stacks on one device have the same ones. Errors of missing devices
// are equal if the names are: the lists of existing devices may differ, since devices come and go.
func distinctErrors(errs []error) (out []error) {
	for _, err := range errs {
		joined, several := err.(interface{ Unwrap() []error })
		if several {
			out = distinctErrors(append(out, joined.Unwrap()...))
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
		if err := errors.Join(r.checkPlanUnchanged(s.Run()), r.sites.FindImages(s.Run().Workloads)); err != nil {
			return errors.Join(err, s.Close())
		}
		r.store = s
		if err := errors.Join(r.noteLook(), r.extend()); err != nil {
			return errors.Join(err, s.Close())
		}
		r.sites.Env.Regions.Continue(s.Run().Regions)
		r.sites.Resume(s.Run().Trials)
		return nil
	}
	now := time.Now().UTC()
	run := result.Run{
		Schema: result.SchemaVersion, ID: r.ID, Version: r.Version, Command: r.Command,
		Status: result.RunRunning, Seed: r.Seed, Started: now,
		Experiment:  r.Experiment.Stored(),
		Environment: r.sites.Host.Environment(ctx),
	}
	run.Experiment.LeftOut = r.LeftOut
	for _, s := range r.Experiment.Stacks {
		run.Stacks = append(
			run.Stacks,
			result.Stack{Name: s.Name, Line: s.Line.String(), Marks: r.marks(s.Line), Levels: s.Levels, Control: s.Control},
		)
	}
	run.Mixes = r.Experiment.ResultMixes()
	run.Workloads = r.sites.ImagesIn(workloadsOf(r.Experiment))
	run.Trials = plan.First(r.Experiment, r.Seed)
	s, err := store.Create(r.Dir, run)
	if err != nil {
		return err
	}
	r.store = s
	return nil
}

// noteLook stores that the run had ended before it is resumed: who asks for more rounds may have seen what there was.
func (r *runner) noteLook() error {
	run := *r.store.Run()
	looks := run.LooksWhenResumed()
	if len(looks) == len(run.Looks) {
		return nil
	}
	run.Looks = looks
	return r.store.SaveHeader(run)
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
	if r.sites.Host.Lab() {
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
		missing = r.sites.FindImages(nil)
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

// trialsDir is the directory of what trials write, in the run's work directory: nobody else may change a name on the way
// to it, as the user behind sudo may in the run directory, which gets a copy when a trial has ended.
const trialsDir = "trials"

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
	r.sites.Env.Journal, r.sites.Env.RunID = j, run
	r.sites.Env.Work = journal.WorkDir(j.State(), run)
	r.sites.Env.Scratch = filepath.Join(r.sites.Env.Work, trialsDir)
	if _, err := j.Do(
		ctx,
		&journal.Dir{Path: r.sites.Env.Work},
		func(string) error { return os.Mkdir(r.sites.Env.Work, 0o700) },
	); err != nil {
		return fmt.Errorf("make the run's work directory: %w", err)
	}
	if err := os.Mkdir(r.sites.Env.Scratch, 0o755); err != nil { //nolint:gosec // servers in containers see it
		return fmt.Errorf("make the directory of what trials write: %w", err)
	}
	if err := r.sites.PrepareClients(ctx); err != nil {
		return err
	}
	return r.trials(ctx)
}

// trials runs one trial after the other, as they are planned.
func (r *runner) trials(ctx context.Context) error {
	defer r.driver.Close()
	defer r.sites.Close()
	planner := plan.New(r.Experiment, r.store.Run(), loadLines, time.Now)
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		step := planner.Next()
		if err := r.storeStep(step); err != nil {
			return err
		}
		if step.Trial == nil {
			r.finished = true
			return nil
		}
		t, total := *step.Trial, len(r.store.Run().Trials)
		r.Progress.Begin(t, t.Seq-1, total)
		t, err := r.trial(ctx, t)
		if err != nil {
			return err
		}
		t, err = r.storeTrial(t)
		r.Progress.End(t, t.Seq, total)
		if err != nil {
			return err
		}
		planner.Done(t)
	}
}

// storeStep stores what was planned, and takes over the mixes that were added.
func (r *runner) storeStep(step plan.Step) error {
	if step.Withdrawn > 0 {
		if err := r.store.Withdraw(step.Withdrawn); err != nil {
			return err
		}
	}
	for _, note := range step.Notes {
		r.Progress.Note(note)
	}
	// Mixes are stored before their trials: a run that is resumed makes them again from what is stored.
	run := r.store.Run()
	for _, m := range step.Mixes {
		r.Experiment.Mixes = append(slices.Clip(r.Experiment.Mixes), m)
		r.mixes[m.Name] = m
		run.Mixes = append(run.Mixes, m.Stored())
	}
	decided := step.Trial == nil && r.Experiment.Budget > 0
	if decided {
		run.Points = step.Points
	}
	if len(step.Mixes) > 0 || decided {
		if err := r.store.SaveHeader(*run); err != nil {
			return err
		}
	}
	if len(step.Planned) > 0 {
		if err := r.store.Plan(step.Planned); err != nil {
			return err
		}
	}
	for _, t := range step.Skipped {
		if err := r.store.SaveTrial(t); err != nil {
			return err
		}
	}
	return nil
}

// trial runs one trial. Whatever goes wrong with it ends it with its reason;
// the error is only for what ends the run: the user, a journal that cannot be
// written, or a host that cannot be brought back to what it was.
func (r *runner) trial(ctx context.Context, t result.Trial) (result.Trial, error) {
	began := time.Now()
	t.Started = began.UTC()
	r.sites.Clock.Begin(began)
	m, known := r.mixes[t.Mix]
	if !known {
		return t, fmt.Errorf("trial %d: the experiment has no mix %s", t.Seq, t.Mix)
	}
	if err := r.awaitQuiet(ctx); err != nil {
		return t, err
	}
	limited, cancel := r.driver.Patient(ctx, t, m)
	defer cancel()
	err := r.supports(t, m)
	if err == nil {
		err = r.driver.Measure(limited, &t, m)
	}
	if err != nil && limited.Err() != nil {
		err = context.Cause(limited)
	}
	r.sites.Clock.End(result.PhaseTeardown)
	t.ElapsedSeconds, t.Phases = time.Since(began).Seconds(), r.sites.Clock.Phases
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
	t.Status, t.Problem = result.TrialFailed, drive.ProblemOf(drive.NameOfTrial(t), err)
	if lacks := problem.Of(err, problem.Unsupported); lacks != nil {
		t.Status = result.TrialSkipped
		r.giveUp(t, m, lacks)
	}
	// What failed may have left the stack half dead (an engine that was
	// killed, a full file system): the next trial gets a new one.
	if err := r.sites.Down(ctx); err != nil {
		return t, err
	}
	return t, r.sites.Env.Release(context.WithoutCancel(ctx))
}

// supports returns why a stack that a trial needs will not come up; nil where none is known not to.
func (r *runner) supports(t result.Trial, m experiment.Mix) error {
	_, stacks := site.KeyOf(t.Stack, m)
	for _, name := range stacks {
		if p := r.unsupported[name]; p != nil {
			return p
		}
	}
	return nil
}

// giveUp notes that what a trial stands on will not come up.
func (r *runner) giveUp(t result.Trial, m experiment.Mix, lacks *problem.Problem) {
	_, stacks := site.KeyOf(t.Stack, m)
	if len(stacks) == 1 { // of several, nobody can tell which
		r.unsupported[stacks[0]] = lacks
	}
}

// storeStack stores what became known of a stack that came up.
func (r *runner) storeStack(declared experiment.Stack, devices []result.Device, facts []result.Fact) error {
	return r.store.SetStack(result.Stack{
		Name: declared.Name, Line: declared.Line.String(), Marks: r.marks(declared.Line), Devices: devices,
		Facts: facts, Levels: declared.Levels, Control: declared.Control,
	})
}

// storeRegions stores which regions of the disk stacks stood on, when there is a new one.
func (r *runner) storeRegions(known []result.Region) error {
	run := r.store.Run()
	if len(known) == len(run.Regions) {
		return nil
	}
	run.Regions = known
	return r.store.SaveHeader(*run)
}

// storeAnswer stores what a server says of itself. Called concurrently.
func (r *runner) storeAnswer(workload, version string, settings map[string]string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	run := *r.store.Run()
	run.Workloads = slices.Clone(run.Workloads)
	for i, w := range run.Workloads {
		if w.Name != workload || w.Image == nil || w.Image.Version == version && maps.Equal(w.Settings, settings) {
			continue
		}
		answered := *w.Image
		answered.Version = version
		run.Workloads[i].Image, run.Workloads[i].Settings = &answered, settings
		return r.store.SaveHeader(run)
	}
	return nil
}

// storeFill stores what was written while the devices of a stack were filled.
func (r *runner) storeFill(stackName, dir string) error {
	_, err := r.store.KeepArtifacts("fill-"+stackName, dir)
	return err
}

// makeScratch makes the directory in which a trial leaves its artifacts. kept is where they are once it has ended.
func (r *runner) makeScratch(t result.Trial) (dir, kept string, err error) {
	name := store.ArtifactsOf(t)
	dir = filepath.Join(r.sites.Env.Scratch, name)
	if err := os.Mkdir(dir, 0o755); err != nil { //nolint:gosec // servers in containers see it
		return "", "", fmt.Errorf("make a directory for what the trial writes: %w", err)
	}
	return dir, filepath.Join(r.Dir, store.ArtifactsDir, name), nil
}

// keepArtifacts copies what a trial wrote to the run directory, and removes it where no server uses it any more.
func (r *runner) keepArtifacts(t *result.Trial) error {
	name := store.ArtifactsOf(*t)
	dir := filepath.Join(r.sites.Env.Scratch, name)
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		return nil // it ended before it wrote anything
	}
	var err error
	if t.Artifacts, err = r.store.KeepArtifacts(name, dir); err != nil {
		return err
	}
	if r.sites.Serving() {
		return nil
	}
	return os.RemoveAll(dir)
}
