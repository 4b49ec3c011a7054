package stack

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"plimsoll/internal/field"
	"plimsoll/internal/host/hostinfo"
	"plimsoll/internal/problem"
	"plimsoll/internal/stack/line"
	"plimsoll/internal/state/journal"
	"plimsoll/internal/units"
)

// zfs is a pool of one device, with its root dataset mounted. It has no options of mkfs and mount, but properties.
var zfs = func() *layer {
	f := filesystem{name: "zfs", pkg: "zfsutils-linux", kernel: "ZFS", program: "zpool", external: true,
		minBytes: 64 << 20} // SPA_MINDEVSIZE of OpenZFS
	return &layer{
		fileSystem: &f,
		Def: line.Def{
			Name: f.name, Summary: "a ZFS pool of the device, and its dataset", Below: line.Block, Gives: line.FileSystem,
			Options: zfsProperties,
			Least:   f.minBytes, WhyLeast: "zpool makes no pool of less than " + units.FormatSize(f.minBytes),
		},
		plan: func(line.Node) []string {
			return []string{"make a ZFS pool of it", "mount its dataset below the run's work directory"}
		},
		writes: func(s *dryRun, n line.Node) {
			pool, dir := poolName("plimsoll-"+s.Run+"-…"), filepath.Join(s.work, s.name)
			s.starts(poolArgv(pool, dir, s.block, properties(n))...)
			s.mounts(pool, f.name, "")
		},
		check: func(_ context.Context, e *Env, n line.Node, _ int64) error {
			if err := needRoot(f.name); err != nil {
				return err
			}
			part := e.Host.FileSystem(f.known())
			if part.OK == hostinfo.Yes {
				return nil
			}
			return problem.New(problem.Unsupported, n.Name, part.Why, part.Remedy+"; or dir:PATH on a dataset of yours")
		},
		up: upZFS,
	}
}()

// zfsProperties are the properties of datasets (zfsprops(7)) that a stack can set. No other is taken: some name files,
// directories or servers.
var zfsProperties = []line.OptionDef{
	{Key: "recordsize", Value: line.Size, Summary: "largest block of a file", Check: recordSize,
		Default: "128KiB"},
	{Key: "compression", Value: line.Text, Summary: "of data", Check: line.OneOf(zfsCompression()...)},
	{Key: "primarycache", Value: line.Text, Summary: "what is kept in memory, by the ARC",
		Check: line.OneOf("all", "metadata", "none"), Default: "all"},
	{Key: "direct", Value: line.Text, Summary: "whether O_DIRECT passes the ARC by, since OpenZFS 2.3",
		Check: line.OneOf("standard", "always", "disabled"), Default: "standard"},
}

func zfsCompression() []string {
	names := []string{"on", "off", "lz4", "lzjb", "zle", "gzip", "zstd", "zstd-fast"}
	for level := range 9 {
		names = append(names, "gzip-"+strconv.Itoa(level+1))
	}
	for level := range 19 {
		names = append(names, "zstd-"+strconv.Itoa(level+1))
	}
	return names
}

// recordSize checks a size of records: a power of two from 512 to 16 MiB.
func recordSize(value string) problem.List {
	n, err := field.Bytes.Parse(value)
	if err == nil && n >= 512 && n <= 16<<20 && n&(n-1) == 0 {
		return nil
	}
	return problem.List{{What: fmt.Sprintf("%q is no power of two from 512 to 16MiB", value), Remedy: "write 16KiB"}}
}

// properties returns the properties that a node sets, as zpool takes and zfs prints them.
func properties(n line.Node) (set []line.Option) {
	for _, o := range zfsProperties {
		value, ok := n.Option(o.Key)
		if !ok {
			continue
		}
		if value == "gzip-6" {
			value = "gzip" // zfs prints the first of the names
		}
		if o.Value == line.Size {
			bytes, _ := field.Bytes.Parse(value) // it was checked
			value = strconv.FormatInt(bytes, 10)
		}
		set = append(set, line.Option{Key: o.Key, Value: value})
	}
	return set
}

// badPoolChars matches characters of a volume group's name that a pool's may not have.
var badPoolChars = strings.NewReplacer("+", "_")

func poolName(group string) string { return badPoolChars.Replace(group) }

// poolArgv makes a pool that no file of the host remembers, and with no mount outside of dir. -f overwrites what an
// earlier stack left on the device, which the journal names by then.
func poolArgv(pool, dir, device string, set []line.Option) []string {
	argv := []string{"zpool", "create", "-f", "-R", dir, "-o", "cachefile=none", "-m", "legacy"}
	for _, p := range set {
		argv = append(argv, "-O", p.Key+"="+p.Value)
	}
	return append(argv, pool, device)
}

func upZFS(ctx context.Context, b *build, n line.Node) error {
	pool, dir := poolName(b.groupName()), filepath.Join(b.env.Work, b.name)
	if poolImported(pool) {
		return fmt.Errorf("make ZFS pool %s: there is one of that name, which this run did not make", pool)
	}
	device := b.base.block
	set := properties(n)
	argv := poolArgv(pool, dir, device, set)
	change := &poolChange{Name: pool, Device: device, Keep: b.base.ownsBlock}
	if err := b.do(ctx, change, func(mark string) error { return command(ctx, mark, argv...) }); err != nil {
		return err
	}
	b.fact("zpool", strings.Join(argv, " "))
	if version, err := os.ReadFile(b.env.Host.Roots.InSys("module/zfs/version")); err == nil {
		b.fact("OpenZFS", string(version))
	}
	if err := b.readProperties(ctx, pool, set); err != nil {
		return err
	}
	if err := b.mount(ctx, pool, n.Name, "", dir); err != nil {
		return err
	}
	b.base.pooled, b.base.sizeBytes = pool, 0 // what is free there, once all is up
	return nil
}

// readProperties keeps the properties that the pool's dataset really has.
func (b *build) readProperties(ctx context.Context, pool string, set []line.Option) error {
	var names []string
	for _, o := range zfsProperties {
		if o.Key != "direct" || slices.ContainsFunc(set, func(p line.Option) bool { return p.Key == o.Key }) {
			names = append(names, o.Key) // older ones do not know direct
		}
	}
	out, err := exec.CommandContext(ctx, "zfs", "get", "-H", "-p", "-o", "property,value", strings.Join(names, ","),
		pool).Output()
	if err != nil {
		return fmt.Errorf("read the properties of pool %s: %w", pool, err)
	}
	found := map[string]string{}
	for l := range strings.Lines(string(out)) {
		name, value, _ := strings.Cut(strings.TrimSpace(l), "\t")
		found[name] = value
	}
	for _, p := range set {
		if found[p.Key] != p.Value {
			return fmt.Errorf("pool %s: zfs says %s %q instead of %q", pool, p.Key, found[p.Key], p.Value)
		}
	}
	for _, name := range names {
		b.fact(name, found[name])
	}
	return nil
}

// kstatDir has a directory for each pool that is imported. Tests have one of their own.
var kstatDir = "/proc/spl/kstat/zfs"

func poolImported(pool string) bool {
	_, err := os.Stat(filepath.Join(kstatDir, pool))
	return err == nil
}

func init() { journal.Register("zpool", func() journal.Change { return new(poolChange) }) }

// poolChange is a ZFS pool of one device. It is known by its name, which is random in part and in the device's label.
// zpool makes partitions on a whole disk, and the pool's label is on the first.
type poolChange struct {
	Name   string
	Device string
	Keep   bool   // no label is removed: the bytes go away with the loop device's file
	Serial string // of the device, filled in by Do; "" for one that has none
}

// What implements Change.
func (c *poolChange) What() string { return fmt.Sprintf("make ZFS pool %s of %s", c.Name, c.Device) }

// Prepare implements Change.
func (c *poolChange) Prepare() error {
	c.Serial = serialOf(kernelName(c.Device))
	return nil
}

// ownPool matches names that a run gives to pools.
var ownPool = regexp.MustCompile(`^plimsoll-[A-Za-z0-9_.-]{1,200}$`)

// Check implements Change.
func (c *poolChange) Check(s journal.Scope) error {
	return errors.Join(s.Matches("name of a run's pool", c.Name, ownPool), s.Device(c.Device))
}

// Undo destroys the pool if it is imported and stands on the device alone, and then removes its labels, with the
// partitions that zpool made for it. Any other pool, and any device without the pool's label, is left alone.
func (c *poolChange) Undo(ctx context.Context, mark string) error {
	if err := journal.EndMarked(ctx, mark); err != nil {
		return err
	}
	if poolImported(c.Name) {
		if err := c.destroy(ctx); err != nil {
			return err
		}
	}
	if c.Keep {
		return nil
	}
	return journal.Retry(ctx, c.removeLabels)
}

func (c *poolChange) destroy(ctx context.Context) error {
	out, err := exec.CommandContext(ctx, "zpool", "list", "-v", "-H", "-P", c.Name).Output()
	if err != nil {
		return fmt.Errorf("list the devices of pool %s: %w", c.Name, err)
	}
	var devices []string
	for l := range strings.Lines(string(out)) {
		if f := strings.Fields(l); len(f) > 0 && strings.HasPrefix(f[0], "/") {
			devices = append(devices, f[0])
		}
	}
	disk := kernelName(c.Device)
	for _, d := range devices {
		if !deviceIsOn(kernelName(d), disk) {
			return fmt.Errorf("pool %s stands on %s, which this run did not give it: look whose it is (zpool status %s), "+
				"and destroy or rename it by hand", c.Name, d, c.Name)
		}
	}
	return journal.Retry(ctx, func(ctx context.Context) error {
		if !poolImported(c.Name) {
			return nil
		}
		out, err := exec.CommandContext(ctx, "zpool", "destroy", "-f", c.Name).CombinedOutput()
		if err != nil {
			return fmt.Errorf("zpool destroy %s: %w: %s", c.Name, err, strings.TrimSpace(string(out)))
		}
		return nil
	})
}

// deviceIsOn reports whether a device is the disk, its first partition, or one that device mapper made of the disk.
func deviceIsOn(name, disk string) bool {
	_, err := os.Stat(filepath.Join("/sys/class/block", name, "slaves", disk))
	return name == disk || slices.Contains(firstPartition(disk), name) || err == nil
}

// firstPartition returns the names that the kernel may give to the first partition of a disk.
func firstPartition(disk string) []string {
	if last := disk[len(disk)-1]; last >= '0' && last <= '9' {
		return []string{disk + "p1"}
	}
	return []string{disk + "1"}
}

// labelled returns the disk of the pool, "" for none, and the device with its label: the disk, or its first partition.
// Disks are renumbered at boot: one of the same serial is looked for.
func (c *poolChange) labelled(ctx context.Context) (disk, member string) {
	disks := []string{kernelName(c.Device)}
	entries, _ := os.ReadDir("/sys/block") // unreadable: nothing is found
	for _, e := range entries {
		if c.Serial != "" && e.Name() != disks[0] && serialOf(e.Name()) == c.Serial {
			disks = append(disks, e.Name())
		}
	}
	for _, disk := range disks {
		for _, name := range append([]string{disk}, firstPartition(disk)...) {
			path := "/dev/" + strings.ReplaceAll(name, "!", "/")
			out, err := exec.CommandContext(ctx, "blkid", "-p", "-s", "LABEL", "-o", "value", path).Output()
			if err == nil && strings.TrimSpace(string(out)) == c.Name {
				return "/dev/" + strings.ReplaceAll(disk, "!", "/"), path
			}
		}
	}
	return "", ""
}

// removeLabels removes the partition table first and the label last: while the label is there, a run that is killed in
// between is undone by the next clean. The kernel keeps the partition as long as it is open.
func (c *poolChange) removeLabels(ctx context.Context) error {
	disk, member := c.labelled(ctx)
	if disk == "" {
		return nil
	}
	open, err := os.Open(member)
	if err != nil {
		return err
	}
	defer open.Close()
	commands := [][]string{{"zpool", "labelclear", "-f", member}}
	if disk != member {
		commands = slices.Insert(commands, 0, []string{"wipefs", "--all", "--quiet", "--force", disk})
	}
	for _, argv := range commands {
		if out, err := exec.CommandContext(ctx, argv[0], argv[1:]...).CombinedOutput(); err != nil {
			return fmt.Errorf("%s: %w: %s", strings.Join(argv, " "), err, strings.TrimSpace(string(out)))
		}
	}
	if disk == member {
		return nil
	}
	if err := open.Close(); err != nil {
		return err
	}
	out, err := exec.CommandContext(ctx, "blockdev", "--rereadpt", disk).CombinedOutput()
	if err != nil {
		return fmt.Errorf("read the partitions of %s again: %w: %s", disk, err, strings.TrimSpace(string(out)))
	}
	return nil
}
