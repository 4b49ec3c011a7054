// Package site has what is up while trials run: stacks, places of instances on them, the scaled-down host around them,
// servers and their data, the machine that generates their load. It knows neither a plan nor a store.
package site

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"plimsoll/internal/experiment"
	"plimsoll/internal/host/blockdev"
	"plimsoll/internal/host/cgroup"
	"plimsoll/internal/host/hostinfo"
	"plimsoll/internal/image"
	"plimsoll/internal/result"
	"plimsoll/internal/stack"
	"plimsoll/internal/state/datasets"
	"plimsoll/internal/state/journal"
)

// Sites brings up what trials stand on, one site at a time. What becomes known of a stack is reported: see Reports.
type Sites struct {
	Experiment *experiment.Experiment
	Golden     *datasets.Store // of data that servers begin with, across runs
	Images     *image.Store    // that servers run from; nil for none
	Self       string          // path of this program
	Reports

	Host  *hostinfo.Host
	Env   *stack.Env
	Lines map[string]experiment.Stack
	Loads map[string]experiment.Workload
	Up    *Site // what is up; nil for nothing
	Clock Clock // of the trial under way

	bringUps map[string]int                     // of each site, so far
	filled   map[string]*result.Preconditioning // by what stacks occupy: devices that were written
	clients  *clients                           // nil where this host generates the load

	images map[string]image.Image // that workloads need, by workload
	rootOf map[string]*root       // these unpacked
	roots  []*root                // each once
}

// New returns sites of an experiment on this host, of which none is up.
func New(e *experiment.Experiment, golden *datasets.Store, images *image.Store, self string, to Reports) *Sites {
	r := &Sites{
		Experiment: e, Golden: golden, Images: images, Self: self, Reports: to, Host: hostinfo.New(),
		Lines: map[string]experiment.Stack{}, Loads: map[string]experiment.Workload{},
		bringUps: map[string]int{}, filled: map[string]*result.Preconditioning{},
		images: map[string]image.Image{}, rootOf: map[string]*root{},
	}
	for _, s := range e.Stacks {
		r.Lines[s.Name] = s
	}
	for _, w := range e.Workloads {
		r.Loads[w.Name] = w
	}
	return r
}

// Resume goes on with the number of setups that trials of a run had.
func (r *Sites) Resume(trials []result.Trial) {
	for _, t := range trials {
		m, _ := r.Experiment.Mix(t.Mix)
		key, _ := KeyOf(t.Stack, m)
		r.bringUps[key] = max(r.bringUps[key], t.BringUp)
	}
}

// Serving reports whether servers stayed up between two trials.
func (r *Sites) Serving() bool { return r.Up != nil && len(r.Up.running.servers) > 0 }

// Close ends servers that are up.
func (r *Sites) Close() {
	if r.Up != nil {
		r.Up.Leave("")
	}
}

// Reports are what a run hears of its sites.
type Reports struct {
	Note func(text string)
	// CameUp is called with what became known of a stack that is up.
	CameUp func(declared experiment.Stack, devices []result.Device, facts []result.Fact) error
	// Moved is called with all regions of disks that stacks have stood on.
	Moved func(regions []result.Region) error
	// Answered is called with what a server says of itself. Called concurrently.
	Answered func(workload, version string, settings map[string]string) error
	// Filled is called with the directory of what was written while the devices of a stack were filled.
	Filled func(stack, dir string) error
	// Handicap, unless nil, is called before the first trial on a stack that came up.
	Handicap func(ctx context.Context, stack string, devices []result.Device) error
}

// Site is everything that is up for the trials of a point: the bases that its instances stand
// on, their places, and the scaled-down host around them. One site is up at a time: in a
// block all stand on the same region of the disk, one after the other, each made
// anew.
type Site struct {
	key    string // see siteOf
	block  int    // that it came up in
	Number int    // of the setup, from 1
	Bases  []*broughtUpBase
	Small  *miniature // nil where no mix on it declares a smaller host
	undo   []*journal.Entry
	// outside is where what drives servers runs; nil while nothing did.
	outside *stack.Outside
	running runningServers // servers, between trials
}

// miniature is the control group that stands for a smaller host.
type miniature struct {
	Group *cgroup.Group
	// shares tells that the instances are in one group of block I/O where control groups are
	// of version 1, so that they share limits on devices, and have none of their own.
	shares bool
}

// broughtUpBase is a stack that is up, and what was done to it.
type broughtUpBase struct {
	*stack.Base
	Name       string
	placeCount int // places that it may have
	occupies   []string
	mu         sync.Mutex // of places
	places     []*upPlace
	golden     map[string]string // directories of data that places get copies of, by layout
}

// upPlace is a place on a stack, and what was done to it.
type upPlace struct {
	*stack.Place
	number   int
	root     *root           // that its container is made of; nil for this host's programs
	limited  bool            // it has had limits of its own, which stay until others are set
	prepared map[string]bool // steps that laid out files
	ready    map[string]bool // mixes that it is preconditioned for
	data     string          // directory of which it has an unchanged copy; "" for none
}

// Instance is one of those that run at the same time in a trial.
type Instance struct {
	experiment.Instance
	Load    experiment.Workload
	Base    *broughtUpBase
	Placed  *upPlace
	Scratch string         // where it leaves its artifacts
	Kept    string         // where they are once the trial has ended
	Server  *server        // that it drives; nil for none, and while it is not up
	outside *stack.Outside // where it drives that from
	clients *clients       // the machine that generates its load; nil for this host
}

// Together are the instances of a trial, by their index.
type Together []*Instance

// Each does something for all instances at the same time, and returns what went
// wrong with the first of them.
func (all Together) Each(do func(*Instance) error) error {
	errs := make([]error, len(all))
	var group sync.WaitGroup
	for i, in := range all {
		group.Go(func() { errs[i] = do(in) })
	}
	group.Wait()
	for i, err := range errs {
		if err == nil {
			continue
		}
		if len(all) > 1 {
			return fmt.Errorf("%s: %w", all[i].Name(), err)
		}
		return err
	}
	return nil
}

// KeyOf names what has to be up for trials of a mix: its stack, or those that it
// names itself. Mixes whose instances have limits on devices of their own, in a
// scaled-down host that limits these too, have a setup of their own: with version 1 of
// control groups, an instance shares the one or has the other for as long as it is there.
func KeyOf(stackName string, m experiment.Mix) (key string, stacks []string) {
	key, stacks = stackName, []string{stackName}
	if !m.Crossed() {
		key, stacks = "\x00"+strings.Join(m.On(), "\x00"), m.On() // no name of a stack
	}
	if limitsDevices(m.Host) && ownDevices(m) {
		key += "\x00own"
	}
	return key, stacks
}

// limitsDevices reports whether limits hold for devices.
func limitsDevices(l *result.Limits) bool {
	none := result.Rate{}
	return l != nil && (l.Read != none || l.Write != none)
}

// ownDevices reports whether any instance of a mix has limits on devices of its own.
func ownDevices(m experiment.Mix) bool {
	return slices.ContainsFunc(m.Tenants, func(t experiment.Tenant) bool { return limitsDevices(&t.Limits) })
}

// mixesAt returns the mixes that are measured on what is up. A base has as many places as the largest of these mixes
// needs, and a scaled-down host around it if one of them declares one.
func (r *Sites) mixesAt(key, stackName string) (mixes []experiment.Mix) {
	for _, m := range r.Experiment.Mixes {
		mixKey, _ := KeyOf(stackName, m)
		if mixKey != key {
			continue
		}
		if m.Crossed() && !experiment.Compatible(r.Lines[stackName], m) {
			continue
		}
		mixes = append(mixes, m)
	}
	return mixes
}

// BringUp brings up what the trial stands on, unless it is up since an earlier
// trial of the same block.
func (r *Sites) BringUp(ctx context.Context, t *result.Trial, m experiment.Mix) (*Site, error) {
	key, stacks := KeyOf(t.Stack, m)
	if r.Up != nil && r.Up.key == key && r.Up.block == t.Block {
		return r.Up, nil
	}
	if err := r.Down(ctx); err != nil {
		return nil, err
	}
	r.Clock.End(result.PhaseTeardown)
	for _, name := range stacks {
		declared := r.Lines[name]
		if err := r.fill(ctx, name, declared.Line, r.Env.Occupies(declared.Line)); err != nil {
			return nil, err
		}
	}
	r.Clock.End(result.PhaseLoad)
	r.Env.Regions.Begin(t.Block)
	r.Up = &Site{key: key, block: t.Block}
	mixes := r.mixesAt(key, t.Stack)
	if err := r.surround(ctx, r.Up, mixes); err != nil {
		return nil, err
	}
	for _, name := range stacks {
		if err := r.bringUpBase(ctx, r.Up, name, placesOn(name, t.Stack, mixes)); err != nil {
			return nil, err
		}
	}
	r.bringUps[key]++
	r.Up.Number = r.bringUps[key]
	return r.Up, r.Moved(r.Env.Regions.Made())
}

// placesOn returns the largest number of places that one of the mixes needs on a stack.
func placesOn(name, stackName string, mixes []experiment.Mix) int {
	count := 1
	for _, m := range mixes {
		for _, in := range m.Instances(stackName) {
			if in.Stack == name {
				count = max(count, in.Place+1)
			}
		}
	}
	return count
}

// bringUpBase brings one stack up with its first place.
func (r *Sites) bringUpBase(ctx context.Context, s *Site, name string, places int) error {
	declared := r.Lines[name]
	made, err := r.Env.Up(ctx, name, declared.Line)
	if err != nil {
		return err
	}
	b := &broughtUpBase{
		Base: made, Name: name, placeCount: places, occupies: r.Env.Occupies(declared.Line), golden: map[string]string{},
	}
	s.Bases = append(s.Bases, b)
	first, err := r.place(ctx, s, b, 0, r.firstRoot(name))
	if err != nil {
		return err
	}
	if r.Handicap != nil {
		if err := r.Handicap(ctx, name, first.Devices); err != nil {
			return err
		}
	}
	return r.CameUp(declared, first.Devices, slices.Concat(b.Facts, first.Facts))
}

// place returns a place of a stack. The first call for a place makes it.
func (r *Sites) place(ctx context.Context, s *Site, b *broughtUpBase, number int, from *root) (*upPlace, error) {
	b.mu.Lock()
	i := slices.IndexFunc(b.places, func(p *upPlace) bool { return p.number == number && p.root == from })
	if i >= 0 {
		defer b.mu.Unlock()
		return b.places[i], nil
	}
	b.mu.Unlock()
	config := stack.PlaceConfig{Number: number, Of: b.placeCount, Limits: r.limits(), Root: from.config()}
	if s.Small != nil {
		config.Group, config.ShareDevices = s.Small.Group, s.Small.shares
	}
	made, err := b.Place(ctx, config)
	if err != nil {
		return nil, err
	}
	p := &upPlace{Place: made, number: number, root: from, prepared: map[string]bool{}, ready: map[string]bool{}}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.places = append(b.places, p)
	return p, nil
}

// firstRoot returns the image root of a stack's first place: that of the experiment's first instance there.
func (r *Sites) firstRoot(stackName string) *root {
	for _, m := range r.Experiment.Mixes {
		for _, in := range m.Instances(stackName) {
			if in.Stack == stackName && in.Place == 0 {
				return r.rootOf[in.Workload]
			}
		}
	}
	return nil
}

// limits reports whether any instance of the experiment has limits of its own.
func (r *Sites) limits() bool {
	return slices.ContainsFunc(r.Experiment.Mixes, func(m experiment.Mix) bool {
		return slices.ContainsFunc(m.Tenants, func(t experiment.Tenant) bool { return !t.Limits.None() })
	})
}

// Instances returns the instances of a mix, each in its place.
func (r *Sites) Instances(ctx context.Context, s *Site, stackName string, m experiment.Mix) (Together, error) {
	var instances Together
	for _, in := range m.Instances(stackName) {
		i := slices.IndexFunc(s.Bases, func(b *broughtUpBase) bool { return b.Name == in.Stack })
		if i < 0 {
			return nil, fmt.Errorf("instance %d of mix %s: stack %s is not up", in.Index, m.Name, in.Stack)
		}
		instances = append(instances, &Instance{Instance: in, Load: r.Loads[in.Workload], Base: s.Bases[i]})
	}
	err := instances.placed(func(in *Instance) (*upPlace, error) {
		return r.place(ctx, s, in.Base, in.Place, r.rootOf[in.Workload])
	})
	if err != nil {
		return nil, err
	}
	var pinned []*experiment.Instance
	for _, in := range instances {
		pinned = append(pinned, &in.Instance)
	}
	err = experiment.Pin(pinned, m.Host, r.Host.Online())
	if err != nil {
		return nil, fmt.Errorf("mix %s: %w", m.Name, err)
	}
	return instances, nil
}

// placed gives each instance its place. All are made at the same time, and the error has every reason.
func (all Together) placed(place func(*Instance) (*upPlace, error)) error {
	errs := make([]error, len(all))
	var group sync.WaitGroup
	for i, in := range all {
		group.Go(func() {
			in.Placed, errs[i] = place(in)
			if errs[i] != nil && len(all) > 1 {
				errs[i] = fmt.Errorf("%s: %w", in.Name(), errs[i])
			}
		})
	}
	group.Wait()
	return errors.Join(errs...)
}

// Flush waits until what was written so far is on the devices.
func (s *Site) Flush() error {
	var all []error
	for _, b := range s.Bases {
		all = append(all, b.Flush())
	}
	return errors.Join(all...)
}

// Readied does what layers want done right before each trial.
func (s *Site) Readied() error {
	var all []error
	for _, b := range s.Bases {
		all = append(all, b.Ready())
	}
	return errors.Join(all...)
}

// Devices are those that instances' files are on, top first, each once.
func (s *Site) Devices() (all []result.Device) {
	for _, b := range s.Bases {
		for _, d := range b.FileDevices() {
			if !slices.ContainsFunc(all, func(o result.Device) bool { return o.Name == d.Name }) {
				all = append(all, d)
			}
		}
	}
	return all
}

// FileDevices are those that the files of the stack's instances are on: of its only
// place where it has one, which may have a device of its own above the stack's.
func (b *broughtUpBase) FileDevices() []result.Device {
	if b.placeCount == 1 && len(b.places) == 1 {
		return b.places[0].Devices
	}
	return b.Devices
}

// Disks returns the disks that hold the site's bytes, each once.
func (s *Site) Disks() (disks []blockdev.Disk) {
	for _, b := range s.Bases {
		baseDisks := b.Disks
		if b.placeCount == 1 && len(b.places) == 1 {
			baseDisks = b.places[0].Disks
		}
		for _, d := range baseDisks {
			i := slices.IndexFunc(disks, func(o blockdev.Disk) bool { return o.MajMin == d.MajMin })
			if i < 0 {
				disks = append(disks, d)
				continue
			}
			disks[i].Alone = disks[i].Alone || d.Alone
			disks[i].Above = append(slices.Clone(disks[i].Above), d.Above...)
		}
	}
	return disks
}

// Contained reports whether the site's steps run in containers.
func (s *Site) Contained() bool {
	return slices.ContainsFunc(s.Bases, func(b *broughtUpBase) bool {
		return slices.ContainsFunc(b.places, func(p *upPlace) bool { return p.Target.Container })
	})
}

// Groups returns the control groups of the site's steps, none of them in another. The error is why some steps have no
// group.
func (s *Site) Groups() ([]*cgroup.Group, error) {
	var groups []*cgroup.Group
	if s.Small != nil {
		groups = append(groups, s.Small.Group)
	}
	if s.outside != nil {
		group, groupErr := s.outside.Group()
		if groupErr != nil {
			return groups, groupErr
		}
		groups = append(groups, group)
	}
	for _, b := range s.Bases {
		for _, p := range b.places {
			group, groupErr := p.OwnGroup()
			if groupErr != nil {
				return groups, groupErr
			}
			if !slices.ContainsFunc(groups, func(g *cgroup.Group) bool { return holds(g.Path(), group.Path()) }) {
				groups = append(groups, group)
			}
		}
	}
	return groups, nil
}

// holds reports whether a path is that of a group, or of one below it.
func holds(group, path string) bool { return path == group || strings.HasPrefix(path, group+"/") }

// Down takes down what is up, if anything.
func (r *Sites) Down(ctx context.Context) error {
	s := r.Up
	if s == nil {
		return nil
	}
	r.Up = nil
	s.Leave("")
	ctx = context.WithoutCancel(ctx)
	var errs []error
	for _, b := range slices.Backward(s.Bases) {
		errs = append(errs, b.Down(ctx))
	}
	if s.outside != nil {
		errs = append(errs, s.outside.Down(ctx))
	}
	return errors.Join(append(errs, r.Env.Journal.UndoEach(ctx, s.undo))...)
}

// bringUpAlone brings a stack up with one place, in no scaled-down host.
func (r *Sites) bringUpAlone(
	ctx context.Context,
	name string,
	declared experiment.Stack,
) (*stack.Base, *stack.Place, error) {
	base, err := r.Env.Up(ctx, name, declared.Line)
	if err != nil {
		return nil, nil, err
	}
	place, err := base.Place(ctx, stack.PlaceConfig{})
	if err != nil {
		return nil, nil, errors.Join(err, base.Down(context.WithoutCancel(ctx)))
	}
	return base, place, nil
}
