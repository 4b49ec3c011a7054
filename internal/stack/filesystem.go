package stack

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/google/uuid"

	"plimsoll/internal/host/blockdev"
	"plimsoll/internal/host/hostinfo"
	"plimsoll/internal/problem"
	"plimsoll/internal/stack/fsoption"
	"plimsoll/internal/stack/line"
	"plimsoll/internal/state/journal"
	"plimsoll/internal/units"
)

// filesystem is a file system made on the block device below.
type filesystem struct {
	name     string
	summary  string
	pkg      string                             // Debian package of its mkfs
	kernel   string                             // the kernel's option: "XFS_FS"
	direct   bool                               // loop devices over its files do direct I/O
	program  string                             // that makes one; "" for mkfs.NAME
	external bool                               // no part of Linux: module and programs are another project's
	mkfs     func(uuid, device string) []string // command line without the user's options, device last
	minBytes int64                              // smallest device for which mkfs makes one; 0 for any
	options  []line.OptionDef                   // besides mkfs= and mount=

	mkfsOptions  fsoption.Options // that a user may add with mkfs=
	mountOptions fsoption.Options // and with mount=

	defaults []kernelDefault // mount options that change nothing

	afterMount func(b *build, n line.Node) error // run after mounting; nil for nothing
}

// FileSystems returns the file systems that stacks can have, in the order of the table.
func FileSystems() (all []hostinfo.FileSystem) {
	for _, k := range table {
		if f := k.fileSystem; f != nil {
			all = append(all, f.known())
		}
	}
	return all
}

// known returns the file system as the doctor looks for it.
func (f filesystem) known() hostinfo.FileSystem {
	return hostinfo.FileSystem{Name: f.name, Package: f.pkg, KernelOption: f.kernel, DirectIO: f.direct,
		Program: f.program, External: f.external}
}

// anyMount are mount options of every file system (mount(8)). No option of
// mount's own is among those for users, boot, loop devices and helpers.
var anyMount = fsoption.Options{
	Known: fsoption.Named(
		`async atime defaults diratime dirsync iversion lazytime noatime nodev nodiratime noexec noiversion nolazytime
		norelatime nostrictatime nosuid relatime rw strictatime sync`,
		fsoption.None,
	),
	Refused: map[string]string{
		"bind":       "mounts a directory of the host",
		"context":    "is not supported",
		"encryption": "is not supported",
		"helper":     "runs a program on the host",
		"uhelper":    "runs a program on the host",
		"loop":       "makes a loop device that is never detached",
		"move":       "moves a mount of the host",
		"offset":     "makes a loop device that is never detached",
		"sizelimit":  "makes a loop device that is never detached",
		"rbind":      "mounts a directory of the host",
		"remount":    "changes another mount",
		"ro":         "leaves no room to write",
	},
}

func (f filesystem) layer() *layer {
	return &layer{
		fileSystem: &f,
		Def: line.Def{
			Name: f.name, Summary: f.summary, Below: line.Block, Gives: line.FileSystem,
			Options: append([]line.OptionDef{
				{
					Key:     "mkfs",
					Value:   line.Text,
					Summary: "options of mkfs." + f.name + ", separated by blanks",
					Check:   f.mkfsOptions.Mkfs(),
				},
				{Key: "mount", Value: line.Text, Summary: "mount options, separated by commas", Check: f.mountOptions.Mount()},
			}, f.options...),
			Least: f.minBytes, WhyLeast: "mkfs." + f.name + " makes none of less than " + units.FormatSize(f.minBytes),
		},
		plan: func(line.Node) []string {
			return []string{"make " + f.name + " on it", "mount it below the run's work directory"}
		},
		writes: func(s *dryRun, n line.Node) {
			s.starts(f.mkfsArgv(someUUID, s.block, n)...)
			options, _ := n.Option("mount")
			s.mounts(s.block, f.name, options)
		},
		check: func(context.Context, *Env, line.Node, int64) error { return f.check() },
		up:    f.up,
	}
}

func (f filesystem) check() error {
	if err := needRoot(f.name); err != nil {
		return err
	}
	if _, err := exec.LookPath("mkfs." + f.name); err != nil {
		return problem.New(problem.Unsupported, f.name, "mkfs."+f.name+" is not installed", "apt-get install "+f.pkg)
	}
	return nil
}

// mkfsArgv is the command line of mkfs with the user's options.
func (f filesystem) mkfsArgv(id, device string, n line.Node) []string {
	argv := f.mkfs(id, device)
	extra, _ := n.Option("mkfs")
	return append(append(argv[:len(argv)-1], strings.Fields(extra)...), device)
}

func (f filesystem) up(ctx context.Context, b *build, n line.Node) error {
	id := uuid.NewString()
	argv := f.mkfsArgv(id, b.base.block, n)
	change := &mkfsChange{Device: b.base.block, Type: f.name, UUID: id, Keep: b.base.ownsBlock}
	if err := b.do(ctx, change, func(mark string) error { return command(ctx, mark, argv...) }); err != nil {
		return err
	}
	b.fact("mkfs", strings.Join(argv, " "))
	options, _ := n.Option("mount")
	if err := b.mount(ctx, b.base.block, f.name, options, filepath.Join(b.env.Work, b.name)); err != nil {
		return err
	}
	b.base.sizeBytes = 0 // what is free there, once all is up
	if f.afterMount != nil {
		return f.afterMount(b, n)
	}
	return nil
}

func mountArgv(source, fstype, options, dir string) []string {
	argv := []string{"mount", "-n", "-t", fstype}
	if options != "" {
		argv = append(argv, "-o", options)
	}
	return append(argv, source, dir)
}

// mount mounts source on a new directory and reads back how.
func (b *build) mount(ctx context.Context, source, fstype, options, dir string) error {
	if err := b.mkdir(ctx, dir); err != nil {
		return err
	}
	argv := mountArgv(source, fstype, options, dir)
	change := &journal.Mount{Source: source, Target: dir, Type: fstype, Options: options}
	if err := b.do(ctx, change, func(mark string) error { return command(ctx, mark, argv...) }); err != nil {
		if !kernelHas(fstype) {
			return problem.New(problem.Unsupported, fstype, "this kernel does not have it: "+err.Error(),
				"modprobe "+fstype+", or another kernel").CausedBy(err)
		}
		return err
	}
	b.base.dir = dir
	return b.readMount(dir)
}

// readMount keeps the options that dir's file system is really mounted with.
func (b *build) readMount(dir string) error {
	m, err := blockdev.MountOf(b.env.Host.Roots, dir)
	if err != nil {
		return err
	}
	b.fact("file system", m.FSType)
	b.fact("mount options", m.Options+","+m.VFSOptions)
	return nil
}

func kernelHas(fstype string) bool {
	b, err := os.ReadFile("/proc/filesystems")
	if err != nil {
		return true // unknown: let the mount's own error speak
	}
	for l := range strings.Lines(string(b)) {
		if f := strings.Fields(l); len(f) > 0 && f[len(f)-1] == fstype {
			return true
		}
	}
	return false
}

func init() { journal.Register("mkfs", func() journal.Change { return new(mkfsChange) }) }

// mkfsChange is a file system made on a device.
type mkfsChange struct {
	Device string
	Type   string
	UUID   string // given to mkfs, so that undo knows its own
	Keep   bool   // nothing to undo: the bytes go away with the loop device's file
}

// What implements Change.
func (c *mkfsChange) What() string { return fmt.Sprintf("make %s on %s", c.Type, c.Device) }

// Prepare implements Change.
func (c *mkfsChange) Prepare() error { return nil }

// Check implements Change.
func (c *mkfsChange) Check(s journal.Scope) error {
	if c.Keep {
		return s.Device(c.Device) // nothing is undone
	}
	return errors.Join(s.Device(c.Device), s.UUID(c.UUID))
}

// Undo wipes the signature, so that the device is as unused as it was found;
// a file system with another UUID is somebody else's.
func (c *mkfsChange) Undo(ctx context.Context, mark string) error {
	if err := journal.EndMarked(ctx, mark); err != nil {
		return err
	}
	if c.Keep {
		return nil
	}
	if !carries(ctx, c.Device, c.UUID) {
		return nil // no signature, or not ours: nothing to undo
	}
	return wipe(ctx, []member{{Device: c.Device, UUID: c.UUID}}, nil)
}
