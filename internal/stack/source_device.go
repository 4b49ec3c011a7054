package stack

import (
	"context"
	"errors"
	"os"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"plimsoll/internal/host/hostinfo"
	"plimsoll/internal/problem"
	"plimsoll/internal/stack/line"
	"plimsoll/internal/state/filelock"
)

// A block device is named by its path, by its name below /dev/disk/by-id, by
// its serial, or as an NVMe namespace by its UUID or NGUID; all but the first
// stay the same across reboots.
var (
	deviceSource = blockDevice(line.NameDevice, "", "a block device by its path; needs --destroy")
	byIDSource   = blockDevice("by-id", "NAME", "a block device by its name below /dev/disk/by-id; needs --destroy")
	serialSource = blockDevice("serial", "SERIAL", "a block device by its serial; needs --destroy")
	uuidSource   = blockDevice(hostinfo.PrefixUUID, "UUID", "an NVMe namespace by its UUID; needs --destroy")
	nguidSource  = blockDevice(hostinfo.PrefixNGUID, "NGUID", "an NVMe namespace by its NGUID or EUI-64; needs --destroy")
)

func blockDevice(name, arg, summary string) *layer {
	return &layer{
		Def: line.Def{Name: name, Summary: summary, Below: line.Nothing, Gives: line.Block, Arg: arg},
		plan: func(n line.Node) []string {
			return []string{"OVERWRITE block device " + n.Arg}
		},
		writes: func(s *dryRun, n line.Node) {
			s.overwrites(n.String())
			s.block = someDevice
			if n.Name == line.NameDevice {
				s.block = n.Arg
			}
		},
		check: func(_ context.Context, e *Env, n line.Node, need int64) error {
			if err := needRoot("block device " + n.Arg); err != nil {
				return err
			}
			_, err := e.overwritableSource(n, need)
			return err
		},
		up: func(ctx context.Context, b *build, n line.Node) error {
			// The device may have come into use since the check.
			d, err := b.env.overwritableSource(n, 0)
			if err != nil {
				return err
			}
			if err := b.claim(ctx, d.Path); err != nil {
				return err
			}
			b.base.block = d.Path
			b.base.exclusive = append(b.base.exclusive, d.Name)
			b.base.sizeBytes = int64(d.SizeBytes)
			b.fact("device", d.Model+" "+d.Serial+" firmware "+d.Firmware)
			return nil
		},
	}
}

// errNoDevice is returned for a source that names no device of the host.
var errNoDevice = errors.New("the source names no device of the host")

// device finds the block device that a source names. Looking at all devices
// takes long on a host with many mounts and processes, so it is not done for
// sources that name none.
func (e *Env) device(n line.Node) (hostinfo.Device, error) {
	if !namesDevice(n) {
		return hostinfo.Device{}, errNoDevice
	}
	return e.Host.Locate(permissionName(n))
}

// permissionName returns the name of a source's device, in the form that --destroy takes.
func permissionName(n line.Node) string {
	if n.Name == hostinfo.PrefixUUID || n.Name == hostinfo.PrefixNGUID {
		return n.Name + ":" + n.Arg
	}
	return n.Arg
}

// WritesDevice reports whether a stack overwrites an existing block device, on this host or another.
func WritesDevice(l line.Line) bool {
	return slices.ContainsFunc(
		l.Sources(),
		func(n line.Node) bool { return n.Name == nvmeofSource.Name || namesDevice(n) },
	)
}

// namesDevice reports whether a source is a block device of this host.
func namesDevice(n line.Node) bool {
	return slices.ContainsFunc([]*layer{deviceSource, byIDSource, serialSource, uuidSource, nguidSource},
		func(k *layer) bool { return n.Name == k.Name })
}

// claimWait bounds the wait for another program's lock on a device.
const claimWait = 3 * time.Second

// claim keeps other runs away from a device for as long as the stack is up,
// and notices users that leave no trace elsewhere: the kernel grants O_EXCL
// only while nothing has the device mounted or held. It is not kept open that
// way, since making and mounting file systems need the same.
func (b *build) claim(ctx context.Context, path string) error {
	refuse := func(why string) error {
		return problem.New(problem.Protected, "block device "+path, why, "wait until it is free, or name another device")
	}
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_EXCL, 0)
	if err != nil {
		return refuse("it cannot be opened for us alone: " + err.Error())
	}
	f.Close()
	lock, err := os.OpenFile(path, os.O_RDONLY, 0)
	if err != nil {
		return refuse(err.Error())
	}
	// udev locks a device for the moment in which it looks at what was written.
	if err := filelock.Wait(ctx, lock, filelock.Alone, claimWait); err != nil {
		lock.Close()
		return refuse(err.Error())
	}
	b.base.locks = append(b.base.locks, lock)
	return nil
}
