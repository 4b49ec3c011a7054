package cgroup

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"

	"golang.org/x/sys/unix"

	"plimsoll/internal/host/hostfs"
	"plimsoll/internal/host/iocost"
	"plimsoll/internal/state/journal"
)

func init() { journal.Register("iocost", func() journal.Change { return new(Cost) }) }

// Unified returns the mount point of the hierarchy of version 2. The error says why block I/O is not charged there.
func Unified(roots hostfs.Roots) (mount string, err error) {
	hierarchies, err := host{roots}.hierarchies("self", []string{blkio})
	if err != nil {
		return "", err
	}
	found := hierarchies[0]
	switch {
	case found.err != nil:
		return "", found.err
	case !found.unified:
		return "", chargedByVersion1(found.mount)
	}
	return found.mount, nil
}

func chargedByVersion1(mount string) error {
	return fmt.Errorf("block I/O is charged by cgroups of version 1 here (%s), and this takes version 2: "+
		"boot with systemd.unified_cgroup_hierarchy=1", mount)
}

// CostDir returns the directory with the files of io.cost, or an error that explains why the host has none.
func CostDir(roots hostfs.Roots) (string, error) {
	dir, err := Unified(roots)
	if err != nil {
		return "", err
	}
	if _, err := os.Stat(filepath.Join(dir, iocost.QoSFile)); err != nil {
		return "", fmt.Errorf("%w: take a kernel that is built with CONFIG_BLK_CGROUP_IOCOST; in a container, run with "+
			"the host's cgroups (--cgroupns=host)", err)
	}
	return dir, nil
}

// Cost is one file's settings of io.cost for a device. The old settings are read before the change is journalled.
type Cost struct {
	Path     string // of iocost.ModelFile or iocost.QoSFile
	Device   string // MAJ:MIN
	Settings string // what the run sets
	Was      string // filled in by Do; "" for a device that io.cost did not know
	Boot     string // the kernel's boot id then, filled in by Do: no setting outlives the kernel
}

// What implements journal.Change.
func (c *Cost) What() string { return fmt.Sprintf("set %s of %s to %s", c.Path, c.Device, c.Settings) }

// Prepare reads the old settings and the boot id.
func (c *Cost) Prepare() error {
	var err error
	c.Boot, err = journal.BootID()
	if err != nil {
		return err
	}
	c.Was, err = c.settings()
	return err
}

func (c *Cost) settings() (string, error) {
	text, err := os.ReadFile(c.Path)
	return iocost.Of(string(text), c.Device), err
}

// Make writes the settings, and fails when the kernel reads other ones back.
func (c *Cost) Make() error {
	if err := write(c.Path, c.Device+" "+c.Settings); err != nil {
		return err
	}
	now, err := c.settings()
	if err == nil && !iocost.Hold(now, c.Settings) {
		err = fmt.Errorf("%s: %q was written for %s, and the kernel reads %q back", c.Path, c.Settings, c.Device, now)
	}
	return err
}

var (
	costPath     = regexp.MustCompile(`^` + root + `(/[a-z0-9]+)?/io\.cost\.(model|qos)$`)
	deviceNumber = regexp.MustCompile(`^[0-9]{1,4}:[0-9]{1,7}$`)
	costSettings = regexp.MustCompile(`^([a-z]+=[a-z0-9.]+( [a-z]+=[a-z0-9.]+){0,15})?$`)
)

// Check implements journal.Change.
func (c *Cost) Check(s journal.Scope) error {
	return errors.Join(s.Matches("file of io.cost", c.Path, costPath),
		s.Matches("number of a device", c.Device, deviceNumber),
		s.Matches("line of settings", c.Settings, costSettings), s.Matches("line of settings", c.Was, costSettings))
}

// Undo writes the old settings back. It does nothing if the settings are not the run's, since someone else set them;
// after a reboot, since the number may be another device's; and if the device is gone.
func (c *Cost) Undo(context.Context, string) error {
	boot, err := journal.BootID()
	if err != nil || boot != c.Boot {
		return err
	}
	now, err := c.settings()
	if err == nil && iocost.Hold(now, c.Settings) {
		err = write(c.Path, c.Device+" "+iocost.Restoring(filepath.Base(c.Path), c.Was))
	}
	if errors.Is(err, os.ErrNotExist) || errors.Is(err, unix.ENODEV) || errors.Is(err, unix.ENXIO) {
		return nil
	}
	return err
}
