package trial

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"plimsoll/internal/experiment"
	"plimsoll/internal/host/cgroup"
	"plimsoll/internal/result"
	"plimsoll/internal/stack"
	"plimsoll/internal/state/journal"
)

// site is everything that is up for the trials of a point: the bases that its instances stand
// on, their places, and the scaled-down host around them. One site is up at a time: in a
// block all stand on the same region of the disk, one after the other, each made
// anew.
type site struct {
	key    string // see siteOf
	block  int    // that it came up in
	number int    // of the setup, from 1
	bases  []*broughtUpBase
	small  *miniature // nil where no mix on it declares a smaller host
	undo   []*journal.Entry
	// outside is where what drives servers runs; nil while nothing did.
	outside *stack.Outside
	running runningServers // servers, between trials
}

// scaled-down host is the control group that stands for a smaller host.
type miniature struct {
	group *cgroup.Group
	// shares tells that the instances are in one group of block I/O where control groups are
	// of version 1, so that they share limits on devices, and have none of their own.
	shares bool
}

// broughtUpBase is a stack that is up, and what was done to it.
type broughtUpBase struct {
	*stack.Base
	name     string
	of       int // places that it may have
	occupies []string
	mu       sync.Mutex // of places
	places   []*upPlace
	golden   map[string]string // directories of data that places get copies of, by layout
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

// instance is one of those that run at the same time in a trial.
type instance struct {
	experiment.Instance
	load    experiment.Workload
	base    *broughtUpBase
	place   *upPlace
	scratch string         // where it leaves its artifacts
	server  *server        // that it drives; nil for none, and while it is not up
	outside *stack.Outside // where it drives that from
	clients *clients       // the machine that generates its load; nil for this host
}

// together are the instances of a trial, by their index.
type together []*instance

// siteOf names what has to be up for trials of a mix: its stack, or those that it
// names itself. Mixes whose instances have limits on devices of their own, in a
// scaled-down host that limits these too, have a setup of their own: with version 1 of
// control groups, an instance shares the one or has the other for as long as it is there.
func siteOf(stackName string, m experiment.Mix) (key string, stacks []string) {
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

// mixesAt returns the mixes that meet what is up: of those only, a base has as many
// places as the largest needs, and a scaled-down host around it if one declares it.
func (r *runner) mixesAt(key, stackName string) (mixes []experiment.Mix) {
	for _, m := range r.Experiment.Mixes {
		own, _ := siteOf(stackName, m)
		if own != key {
			continue
		}
		if m.Crossed() && !experiment.Compatible(r.lines[stackName], m) {
			continue
		}
		mixes = append(mixes, m)
	}
	return mixes
}

// bringUp brings up what the trial stands on, unless it is up since an earlier
// trial of the same block.
func (r *runner) bringUp(ctx context.Context, t *result.Trial, m experiment.Mix) (*site, error) {
	key, stacks := siteOf(t.Stack, m)
	if r.up != nil && r.up.key == key && r.up.block == t.Block {
		return r.up, nil
	}
	if err := r.down(ctx); err != nil {
		return nil, err
	}
	r.clock.end(result.PhaseTeardown)
	for _, name := range stacks {
		declared := r.lines[name]
		if err := r.fill(ctx, name, declared.Line, r.env.Occupies(declared.Line)); err != nil {
			return nil, err
		}
	}
	r.clock.end(result.PhaseLoad)
	r.env.Regions.Begin(t.Block)
	r.up = &site{key: key, block: t.Block}
	mixes := r.mixesAt(key, t.Stack)
	if err := r.surround(ctx, r.up, mixes); err != nil {
		return nil, err
	}
	for _, name := range stacks {
		if err := r.bringUpBase(ctx, r.up, name, placesOn(name, t.Stack, mixes)); err != nil {
			return nil, err
		}
	}
	r.bringUps[key]++
	r.up.number = r.bringUps[key]
	return r.up, r.saveRegions()
}

// placesOn is how many places mixes need on a stack at most.
func placesOn(name, stackName string, mixes []experiment.Mix) int {
	most := 1
	for _, m := range mixes {
		for _, in := range m.Instances(stackName) {
			if in.Stack == name {
				most = max(most, in.Place+1)
			}
		}
	}
	return most
}

// bringUpBase brings one stack up with its first place.
func (r *runner) bringUpBase(ctx context.Context, s *site, name string, places int) error {
	declared := r.lines[name]
	made, err := r.env.Up(ctx, name, declared.Line)
	if err != nil {
		return err
	}
	b := &broughtUpBase{
		Base: made, name: name, of: places, occupies: r.env.Occupies(declared.Line), golden: map[string]string{},
	}
	s.bases = append(s.bases, b)
	first, err := r.place(ctx, s, b, 0, r.firstRoot(name))
	if err != nil {
		return err
	}
	if r.Handicap != nil {
		if err := r.Handicap(ctx, name, first.Devices); err != nil {
			return err
		}
	}
	return r.store.SetStack(result.Stack{
		Name: name, Line: declared.Line.String(), Marks: r.marks(declared.Line), Devices: first.Devices,
		Facts: slices.Concat(b.Facts, first.Facts), Levels: declared.Levels, Control: declared.Control,
	})
}

// place returns a place of a stack, and makes it when it is asked for first.
func (r *runner) place(ctx context.Context, s *site, b *broughtUpBase, number int, from *root) (*upPlace, error) {
	b.mu.Lock()
	at := slices.IndexFunc(b.places, func(p *upPlace) bool { return p.number == number && p.root == from })
	if at >= 0 {
		defer b.mu.Unlock()
		return b.places[at], nil
	}
	b.mu.Unlock()
	config := stack.PlaceConfig{Number: number, Of: b.of, Limits: r.limits(), Root: from.config()}
	if s.small != nil {
		config.Group, config.ShareDevices = s.small.group, s.small.shares
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
func (r *runner) firstRoot(stackName string) *root {
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
func (r *runner) limits() bool {
	return slices.ContainsFunc(r.Experiment.Mixes, func(m experiment.Mix) bool {
		return slices.ContainsFunc(m.Tenants, func(t experiment.Tenant) bool { return !t.Limits.None() })
	})
}

// instances returns the instances of a mix, each in its place.
func (r *runner) instances(ctx context.Context, s *site, stackName string, m experiment.Mix) (together, error) {
	var all together
	for _, in := range m.Instances(stackName) {
		at := slices.IndexFunc(s.bases, func(b *broughtUpBase) bool { return b.name == in.Stack })
		if at < 0 {
			return nil, fmt.Errorf("instance %d of mix %s: stack %s is not up", in.Index, m.Name, in.Stack)
		}
		all = append(all, &instance{Instance: in, load: r.loads[in.Workload], base: s.bases[at]})
	}
	err := all.placed(func(in *instance) (*upPlace, error) {
		return r.place(ctx, s, in.base, in.Place, r.rootOf[in.Workload])
	})
	if err != nil {
		return nil, err
	}
	var pinned []*experiment.Instance
	for _, in := range all {
		pinned = append(pinned, &in.Instance)
	}
	err = experiment.Pin(pinned, m.Host, r.host.Online())
	if err != nil {
		return nil, fmt.Errorf("mix %s: %w", m.Name, err)
	}
	return all, nil
}

// placed gives each instance its place. All are made at the same time, and the error has every reason.
func (all together) placed(place func(*instance) (*upPlace, error)) error {
	errs := make([]error, len(all))
	var group sync.WaitGroup
	for i, in := range all {
		group.Go(func() {
			in.place, errs[i] = place(in)
			if errs[i] != nil && len(all) > 1 {
				errs[i] = fmt.Errorf("%s: %w", in.name(), errs[i])
			}
		})
	}
	group.Wait()
	return errors.Join(errs...)
}

// flush waits until what was written so far is on the devices.
func (s *site) flush() error {
	var all []error
	for _, b := range s.bases {
		all = append(all, b.Flush())
	}
	return errors.Join(all...)
}

// readied does what layers want done right before each trial.
func (s *site) readied() error {
	var all []error
	for _, b := range s.bases {
		all = append(all, b.Ready())
	}
	return errors.Join(all...)
}

// devices are those that instances' files are on, top first, each once.
func (s *site) devices() (all []result.Device) {
	for _, b := range s.bases {
		for _, d := range b.devices() {
			if !slices.ContainsFunc(all, func(o result.Device) bool { return o.Name == d.Name }) {
				all = append(all, d)
			}
		}
	}
	return all
}

// devices are those that the files of the stack's instances are on: of its only
// place where it has one, which may have a device of its own above the stack's.
func (b *broughtUpBase) devices() []result.Device {
	if b.of == 1 && len(b.places) == 1 {
		return b.places[0].Devices
	}
	return b.Devices
}

// groups are the control groups of all that runs for the site's steps, none of them
// in another. The error is why some have none.
func (s *site) groups() ([]*cgroup.Group, error) {
	var all []*cgroup.Group
	if s.small != nil {
		all = append(all, s.small.group)
	}
	if s.outside != nil {
		own, none := s.outside.Group()
		if none != nil {
			return all, none
		}
		all = append(all, own)
	}
	for _, b := range s.bases {
		for _, p := range b.places {
			own, none := p.OwnGroup()
			if none != nil {
				return all, none
			}
			if !slices.ContainsFunc(all, func(g *cgroup.Group) bool { return holds(g.Path(), own.Path()) }) {
				all = append(all, own)
			}
		}
	}
	return all, nil
}

// holds reports whether a path is that of a group, or of one below it.
func holds(group, path string) bool { return path == group || strings.HasPrefix(path, group+"/") }

// down takes down what is up, if anything.
func (r *runner) down(ctx context.Context) error {
	s := r.up
	if s == nil {
		return nil
	}
	r.up = nil
	s.leave("")
	ctx = context.WithoutCancel(ctx)
	var all []error
	for _, b := range slices.Backward(s.bases) {
		all = append(all, b.Down(ctx))
	}
	if s.outside != nil {
		all = append(all, s.outside.Down(ctx))
	}
	return errors.Join(append(all, r.env.Journal.UndoEach(ctx, s.undo))...)
}

// bringUpAlone brings a stack up with one place, in no scaled-down host.
func (r *runner) bringUpAlone(
	ctx context.Context,
	name string,
	declared experiment.Stack,
) (*stack.Base, *stack.Place, error) {
	base, err := r.env.Up(ctx, name, declared.Line)
	if err != nil {
		return nil, nil, err
	}
	place, err := base.Place(ctx, stack.PlaceConfig{})
	if err != nil {
		return nil, nil, errors.Join(err, base.Down(context.WithoutCancel(ctx)))
	}
	return base, place, nil
}

// saveRegions stores which regions of the disk stacks stood on, when there is
// a new one.
func (r *runner) saveRegions() error {
	run, known := r.store.Run(), r.env.Regions.Made()
	if len(known) == len(run.Regions) {
		return nil
	}
	run.Regions = known
	return r.store.SaveHeader(*run)
}
