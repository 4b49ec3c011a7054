package stack

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"github.com/google/uuid"
	"golang.org/x/sys/unix"

	"plimsoll/internal/host/devmapper"
	"plimsoll/internal/host/hostinfo"
	"plimsoll/internal/problem"
	"plimsoll/internal/stack/line"
	"plimsoll/internal/state/journal"
	"plimsoll/internal/units"
)

const defaultStripe = "64KiB" // LVM's own

// lvmStripe is a striped logical volume over all sources (IPCCC'16 section V:
// three NVMe drives).
var lvmStripe = &layer{
	Def: line.Def{
		Name:    "lvm-stripe",
		Summary: "one logical volume, striped over all devices",
		Below:   line.Blocks,
		Gives:   line.Block,
		Options: []line.OptionDef{
			{Key: "stripe", Value: line.Chunk, Summary: "bytes that lie on one device in a row", Default: defaultStripe},
		},
	},
	plan: func(line.Node) []string {
		return []string{"make a volume group of these devices", "make a striped logical volume"}
	},
	writes: func(s *dryRun, n line.Node) {
		stripe, _ := sizeOption(n, "stripe", defaultStripe)
		s.volume(s.blocks, "stripe", stripeOptions(len(s.blocks), stripe))
	},
	check: func(_ context.Context, e *Env, n line.Node, _ int64) error {
		return e.checkRequirements(n.Name, []string{"lvm"}, "lvm2", "dm-mod")
	},
	up: func(ctx context.Context, b *build, n line.Node) error {
		stripe, err := sizeOption(n, "stripe", defaultStripe)
		if err != nil {
			return err
		}
		group, err := b.volumeGroup(ctx, b.base.blocks)
		if err != nil {
			return err
		}
		table, err := group.volume(ctx, b, "stripe", stripeOptions(len(b.base.blocks), stripe))
		if err != nil {
			return err
		}
		// "0 SECTORS striped MEMBERS SECTORS DEVICE OFFSET ..."
		f := strings.Fields(table)
		if len(f) < 5 || f[2] != "striped" || f[3] != strconv.Itoa(len(b.base.blocks)) ||
			f[4] != strconv.FormatInt(stripe/512, 10) {
			return fmt.Errorf(
				"the logical volume is no stripe of %s over %d devices: device mapper says %q",
				units.FormatSize(stripe),
				len(b.base.blocks),
				table,
			)
		}
		b.fact("stripe", fmt.Sprintf("%s over %s", units.FormatSize(stripe), strings.Join(b.base.blocks, ", ")))
		return nil
	},
}

func stripeOptions(devices int, stripe int64) []string {
	return []string{
		"--type",
		"striped",
		"--stripes",
		strconv.Itoa(devices),
		"--stripesize",
		strconv.FormatInt(stripe>>10, 10) + "k",
		"--extents",
		"100%FREE",
	}
}

// volume notes a volume group of devices, with one volume.
func (s *dryRun) volume(devices []string, name string, options []string) {
	locks := locksDir(s.work, s.name)
	s.makes(locks)
	g := &group{name: "plimsoll-" + s.Run + "-…", config: lvmConfig(devices, locks)}
	for _, d := range devices {
		s.starts(g.memberArgv(someUUID, d)...)
	}
	s.starts(g.groupArgv(devices)...)
	s.starts(g.volumeArgv(name, options)...)
	s.block = "/dev/mapper/" + devmapper.VolumeName(g.name, name)
	s.makes(s.block)
}

// locksDir returns the directory of LVM's locks for a stack.
func locksDir(work, name string) string { return filepath.Join(work, name+"-lvm") }

func (g *group) memberArgv(id, device string) []string {
	return []string{"lvm", "pvcreate", "--config", g.config, "--quiet", "--yes", "--norestorefile", "--uuid", id, device}
}

func (g *group) groupArgv(devices []string) []string {
	return append([]string{"lvm", "vgcreate", "--config", g.config, "--quiet", g.name}, devices...)
}

func (g *group) volumeArgv(name string, options []string) []string {
	argv := append([]string{"lvm", "lvcreate", "--config", g.config, "--quiet", "--yes", "--name", name}, options...)
	return append(argv, g.name)
}

// checkRequirements returns an error if this host lacks what a layer requires: root, programs, or modules.
func (e *Env) checkRequirements(subject string, programs []string, pkg string, modules ...string) error {
	if err := needRoot(subject); err != nil {
		return err
	}
	for _, module := range modules {
		if part := e.Host.Kernel(module); part.OK == hostinfo.No {
			return problem.New(problem.Unsupported, subject, part.Name+": "+part.Why, part.Remedy)
		}
	}
	for _, program := range programs {
		if _, err := exec.LookPath(program); err != nil {
			return problem.New(problem.Unsupported, subject, program+" is not installed", "apt-get install "+pkg)
		}
	}
	return nil
}

// group is a volume group of the stack's own.
type group struct {
	name   string
	config string // of every command of LVM
}

// badGroupChars matches characters that a volume group's name may not contain (lvm(8)).
var badGroupChars = regexp.MustCompile(`[^A-Za-z0-9_.+-]`)

// groupName returns a name that contains the run's id, or its end, and is unique to this stack.
func (b *build) groupName() string {
	// Device mapper takes 127 characters with the volume's, and hyphens count
	// twice.
	const most = 48
	run := badGroupChars.ReplaceAllString(b.env.RunID, "_")
	return "plimsoll-" + run[max(len(run)-most, 0):] + "-" + uuid.NewString()[:8]
}

// volumeGroup makes physical volumes and a group of them.
func (b *build) volumeGroup(ctx context.Context, devices []string) (*group, error) {
	locks := locksDir(b.env.Work, b.name)
	if err := b.mkdir(ctx, locks); err != nil {
		return nil, err
	}
	g := &group{name: b.groupName(), config: lvmConfig(devices, locks)}
	change := &volumeGroupChange{Name: g.name}
	for _, d := range devices {
		change.Members = append(change.Members, member{Device: d, UUID: volumeUUID()})
	}
	return g, b.do(ctx, change, func(mark string) error {
		for _, m := range change.Members {
			if err := command(ctx, mark, g.memberArgv(m.UUID, m.Device)...); err != nil {
				return err
			}
		}
		return command(ctx, mark, g.groupArgv(devices)...)
	})
}

// lvmConfig returns a configuration that restricts LVM to the stack's own devices, keeps no copies of its metadata,
// and starts no daemon, regardless of the host's configuration. Without udev, LVM makes device nodes itself.
func lvmConfig(devices []string, locks string) string {
	var accept []string
	for _, d := range devices {
		accept = append(accept, strconv.Quote("a|^"+regexp.QuoteMeta(d)+"$|"))
	}
	filter := strings.Join(append(accept, `"r|.*|"`), ",")
	config := fmt.Sprintf(`devices{filter=[%s] global_filter=[%s] use_devicesfile=0 hints="none"} `, filter, filter) +
		fmt.Sprintf(`backup{backup=0 archive=0} global{locking_dir=%q} activation{monitoring=0`, locks)
	if !udevRuns() {
		config += " udev_sync=0 udev_rules=0"
	}
	return config + "}"
}

// udevRuns reports whether udev makes the links of devices.
func udevRuns() bool {
	_, err := os.Stat("/run/udev/control")
	return err == nil
}

// volumeUUID is a random UUID in the form of LVM's.
func volumeUUID() string {
	hex := strings.ReplaceAll(uuid.NewString(), "-", "")
	return strings.Join([]string{hex[:6], hex[6:10], hex[10:14], hex[14:18], hex[18:22], hex[22:26], hex[26:]}, "-")
}

// volume makes a logical volume of the group, which becomes the stack's block
// device, and returns what device mapper says that it is made of.
func (g *group) volume(ctx context.Context, b *build, name string, options []string) (table string, err error) {
	argv := g.volumeArgv(name, options)
	change := &logicalVolumeChange{Group: g.name, Name: name}
	if err := b.do(ctx, change, func(mark string) error { return command(ctx, mark, argv...) }); err != nil {
		return "", err
	}
	mapped := devmapper.VolumeName(g.name, name)
	b.base.block = "/dev/mapper/" + mapped
	b.base.sizeBytes, err = deviceSize(b.base.block)
	if err != nil {
		return "", err
	}
	targets, err := devmapper.TableOf(mapped)
	if err != nil {
		return "", err
	}
	var lines []string
	for _, t := range targets {
		lines = append(lines, t.String())
	}
	return strings.Join(lines, "\n"), nil
}

// deviceSize returns the size of a block device in bytes.
func deviceSize(path string) (int64, error) {
	f, err := os.Open(path)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	size, err := f.Seek(0, unix.SEEK_END)
	if err != nil {
		return 0, fmt.Errorf("size of %s: %w", path, err)
	}
	return size, nil
}

func init() {
	journal.Register("volumegroup", func() journal.Change { return new(volumeGroupChange) })
	journal.Register("logicalvolume", func() journal.Change { return new(logicalVolumeChange) })
}

// volumeGroupChange is an LVM volume group with its physical volumes. Its name
// carries the run's, and its physical volumes UUIDs that the run chose.
type volumeGroupChange struct {
	Name    string
	Members []member
}

// What implements Change.
func (c *volumeGroupChange) What() string {
	return fmt.Sprintf("make volume group %s of %s", c.Name, devicesOf(c.Members))
}

// Prepare implements Change.
func (c *volumeGroupChange) Prepare() error {
	learn(c.Members)
	return nil
}

// Check implements Change.
func (c *volumeGroupChange) Check(s journal.Scope) error {
	return errors.Join(s.Matches("name of a run's volume group", c.Name, ownName), checkMembers(s, c.Members))
}

// Undo removes the group's devices from the kernel, and then the signatures, without which there is no group. It runs
// no LVM command, which would scan every device of the host.
func (c *volumeGroupChange) Undo(ctx context.Context, mark string) error {
	if err := journal.EndMarked(ctx, mark); err != nil {
		return err
	}
	unmap := func(string) error { return removeMapped(ctx, ofGroup(devmapper.VolumeName(c.Name, ""))) }
	if err := unmap(""); err != nil {
		return err
	}
	if err := wipe(ctx, c.Members, unmap); err != nil {
		return err
	}
	return removeLinks(filepath.Join("/dev", c.Name))
}

// logicalVolumeChange is a logical volume of a group that the run made.
type logicalVolumeChange struct {
	Group string
	Name  string
}

// What implements Change.
func (c *logicalVolumeChange) What() string {
	return fmt.Sprintf("make logical volume %s in %s", c.Name, c.Group)
}

// Prepare implements Change.
func (c *logicalVolumeChange) Prepare() error { return nil }

// Check implements Change.
func (c *logicalVolumeChange) Check(s journal.Scope) error {
	return errors.Join(
		s.Matches("name of a run's volume group", c.Group, ownName),
		s.OneOf("logical volume of a run", c.Name, "stripe", "pool"),
	)
}

// Undo removes the volume from the kernel, with its hidden parts and with the thin devices that an engine made of it.
// LVM's metadata is removed with the group.
func (c *logicalVolumeChange) Undo(ctx context.Context, mark string) error {
	if err := journal.EndMarked(ctx, mark); err != nil {
		return err
	}
	return removeMapped(ctx, ofGroup(devmapper.VolumeName(c.Group, c.Name)))
}

// removeLinks removes a directory of links below /dev, which LVM makes itself where there is no udev. Anything but a
// link is not LVM's, and stays.
func removeLinks(dir string) error {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, e := range entries {
		if e.Type()&os.ModeSymlink == 0 {
			return nil
		}
		if err := os.Remove(filepath.Join(dir, e.Name())); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	if err := os.Remove(dir); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}
