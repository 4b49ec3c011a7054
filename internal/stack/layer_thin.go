package stack

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"plimsoll/internal/stack/line"
	"plimsoll/internal/state/journal"
	"plimsoll/internal/units"
)

// Docker's storage driver devicemapper makes thin devices of a thin pool, in
// one of two ways (MSST'17 section 4, option 2): loop-lvm, the engine's own
// way, is a pool over loop devices on sparse files; direct-lvm is a pool of
// LVM on a block device. What stands on either is the same driver.

// pool is where the engine makes thin devices.
type pool struct {
	options []string // of the storage driver
	root    string   // data-root of the engine
}

var loopLVM = &layer{
	Def: line.Def{
		Name:    "thin",
		Summary: "a thin pool that Docker makes over sparse files, for devicemapper",
		Below:   line.FileSystem,
		Gives:   line.Pool,
		Options: []line.OptionDef{
			{Key: "loop-lvm", Value: line.Flag, Summary: "over loop devices on sparse files", Required: true},
		},
	},
	check: func(_ context.Context, e *Env, n line.Node, _ int64) error { return e.needsThin(n.String()) },
	writes: func(s *dryRun, _ line.Node) {
		s.root = engineRoot(s.dir)
		s.makes(someLoop + ", new loop devices of Docker's on files in " + s.root)
	},
	plan: func(line.Node) []string { return []string{"have Docker make a thin pool over loop devices on it"} },
	up: func(ctx context.Context, b *build, _ line.Node) error {
		return b.loopPool(ctx, engineRoot(b.base.dir))
	},
}

var directLVM = &layer{
	Def: line.Def{
		Name: "thin", Summary: "a thin pool of LVM on the device, for devicemapper", Below: line.Block, Gives: line.Pool,
		Options: []line.OptionDef{{Key: "direct-lvm", Value: line.Flag, Summary: "on the device itself", Required: true}},
	},
	check: func(_ context.Context, e *Env, n line.Node, _ int64) error {
		if err := e.checkRequirements(n.String(), []string{"lvm"}, "lvm2"); err != nil {
			return err
		}
		return e.needsThin(n.String())
	},
	writes: func(s *dryRun, _ line.Node) {
		s.volume([]string{s.block}, "pool", poolOptions)
		s.root = poolRoot(s.work, s.name)
	},
	plan: func(line.Node) []string { return []string{"make a volume group of it", "make a thin pool of that"} },
	up:   upDirectLVM,
}

// deviceMapper is the engine's default on a file system: loop-lvm.
var deviceMapper = &layer{
	Def: line.Def{
		Name:    "devicemapper",
		Summary: "writable layer on a thin device, as thin(loop-lvm) > devicemapper; gone from engine 25",
		Below:   line.FileSystem,
		Gives:   line.View,
	},
	plan: planDeviceMapper,
	writes: func(s *dryRun, n line.Node) {
		loopLVM.writes(s, n)
		s.engine(n.Name, s.root)
	},
	check: func(_ context.Context, e *Env, n line.Node, _ int64) error {
		return errors.Join(checkEngine(), e.needsThin(n.Name))
	},
	up: func(ctx context.Context, b *build, n line.Node) error {
		if err := loopLVM.up(ctx, b, n); err != nil {
			return err
		}
		return upDeviceMapper(ctx, b, n)
	},
	place: placeOnThinDevice,
}

var deviceMapperOnPool = &layer{
	Def: line.Def{
		Name:    "devicemapper",
		Summary: "writable layer on a device of the thin pool; gone from engine 25",
		Below:   line.Pool,
		Gives:   line.View,
	},
	plan:   planDeviceMapper,
	writes: func(s *dryRun, n line.Node) { s.engine(n.Name, s.root) },
	check:  func(context.Context, *Env, line.Node, int64) error { return checkEngine() },
	up:     upDeviceMapper,
	place:  placeOnThinDevice,
}

func planDeviceMapper(line.Node) []string {
	return append(planEngine, "start a container on storage driver devicemapper")
}

// needsThin wants dmsetup for what comes with it: udev's rules for mapped devices.
func (e *Env) needsThin(what string) error {
	return e.checkRequirements(what, []string{"dmsetup"}, "dmsetup", "dm-mod", "dm-thin-pool")
}

// thinShare is the share of a pool that its thin devices may fill: the engine
// wants a tenth of it free (dm.min_free_space), and a file system that is full
// should say so before the pool does, which stops all I/O instead.
const thinShare = 0.85

func (p *pool) limit(bytes int64) {
	size := int64(thinShare*float64(bytes)) >> 20 << 20
	// Docker refuses to start without udev, which real hosts have; device
	// mapper makes its nodes itself then.
	p.options = append(p.options, fmt.Sprintf("dm.basesize=%db", size), "dm.override_udev_sync_check=true")
}

// loopPool lets the engine make its own pool in its data-root, a new directory.
func (b *build) loopPool(ctx context.Context, root string) error {
	if err := b.mkdir(ctx, root); err != nil {
		return err
	}
	var st unix.Statfs_t
	if err := unix.Statfs(root, &st); err != nil {
		return fmt.Errorf("size of %s: %w", root, err)
	}
	b.base.pool = &pool{root: root}
	size := int64(thinShare*float64(int64(st.Bavail)*st.Bsize)) >> 20 << 20
	b.base.pool.options = []string{fmt.Sprintf("dm.loopdatasize=%db", size)}
	b.base.pool.limit(size)
	b.fact("thin pool", "loop-lvm: made by the engine, over loop devices on sparse files of "+units.FormatSize(size))
	return b.do(ctx, &thinPoolChange{DataRoot: b.base.pool.root}, func(string) error { return nil })
}

// poolOptions make a pool as Docker's documentation does. The rest of the space is for metadata.
var poolOptions = []string{"--type", "thin-pool", "--extents", "95%FREE", "--chunksize", "512k", "--zero", "n"}

// poolRoot is the data-root of an engine whose images are on a pool.
func poolRoot(work, name string) string { return filepath.Join(work, name+"-engine") }

func upDirectLVM(ctx context.Context, b *build, n line.Node) error {
	// Only pools that are made here need it; lvcreate tells in many words.
	if err := b.env.checkRequirements(n.String(), []string{"thin_check"}, "thin-provisioning-tools"); err != nil {
		return err
	}
	group, err := b.volumeGroup(ctx, []string{b.base.block})
	if err != nil {
		return err
	}
	table, err := group.volume(ctx, b, "pool", poolOptions)
	if err != nil {
		return err
	}
	if f := strings.Fields(table); len(f) < 3 || f[2] != "thin-pool" {
		return fmt.Errorf("the logical volume is no thin pool: device mapper says %q", table)
	}
	// The engine's images and containers are on the pool, its notes are not.
	b.base.pool = &pool{root: poolRoot(b.env.Work, b.name), options: []string{"dm.thinpooldev=" + b.base.block}}
	b.base.pool.limit(b.base.sizeBytes)
	b.fact("thin pool", "direct-lvm: on "+b.base.block+", chunks of 512KiB")
	return b.mkdir(ctx, b.base.pool.root)
}

func upDeviceMapper(ctx context.Context, b *build, n line.Node) error {
	return ofDriver(n.Name, b.contain(ctx, n.Name, b.base.pool.root))
}

// placeOnThinDevice starts a container whose files lie on a thin device of its own.
func placeOnThinDevice(ctx context.Context, p *Place) error {
	err := p.contain(ctx)
	if err != nil {
		return err
	}
	c := p.execute.(*containerExecutor).container
	p.holds, err = c.ThinDevice(ctx)
	if err != nil {
		return err
	}
	p.files = c.Inside(dataDir)
	p.fact("thin device", p.holds)
	return nil
}

func init() { journal.Register("thinpool", func() journal.Change { return new(thinPoolChange) }) }

// thinPoolChange is a thin pool that a Docker engine makes over loop devices on
// sparse files in its data-root (loop-lvm), with its thin devices. All of it
// is recognised by these files.
type thinPoolChange struct {
	DataRoot string
}

// What implements Change.
func (c *thinPoolChange) What() string {
	return "have Docker make a thin pool of files in " + c.DataRoot
}

// Prepare implements Change.
func (c *thinPoolChange) Prepare() error { return journal.RealPath(&c.DataRoot) }

// Check implements Change.
func (c *thinPoolChange) Check(s journal.Scope) error { return s.Owns(c.DataRoot) }

// Undo follows that of the engine, which may have been killed before it could
// take its pool down.
func (c *thinPoolChange) Undo(ctx context.Context, _ string) error {
	files, err := filepath.Glob("/sys/block/loop*/loop/backing_file")
	if err != nil {
		return err
	}
	for _, file := range files {
		b, err := os.ReadFile(file)
		backing := strings.TrimSuffix(strings.TrimSpace(string(b)), " (deleted)")
		if err != nil || !strings.HasPrefix(backing, c.DataRoot+"/") {
			continue
		}
		device := filepath.Base(filepath.Dir(filepath.Dir(file)))
		if err := removeAbove(ctx, device); err != nil {
			return err
		}
		number, err := strconv.Atoi(strings.TrimPrefix(device, "loop"))
		if err != nil {
			return err
		}
		// The engine asks the kernel to detach it when its last user is gone.
		if err := (&loopChange{Number: number, Backing: backing}).Undo(ctx, ""); err != nil && !errors.Is(err, unix.ENXIO) {
			return err
		}
	}
	return nil
}
