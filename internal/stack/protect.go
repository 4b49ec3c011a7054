package stack

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"plimsoll/internal/host/hostinfo"
	"plimsoll/internal/problem"
	"plimsoll/internal/stack/line"
	"plimsoll/internal/units"
	"plimsoll/internal/units/plural"
)

// Permission is one --destroy: a device that the user gives up to be
// overwritten, and what speaks against it that the user says to overlook.
type Permission struct {
	Device   string // path, by-id name, serial, uuid:UUID, nguid:NGUID, or the NQN of a target's subsystem
	Overlook []hostinfo.Cause

	resolved bool // Device is the path of the device that the user named otherwise
}

// overlookable are the objections that a user may override for one device. A device in use (mounted, swap, held by
// another device) must be released first: overwriting it harms its users.
var overlookable = []hostinfo.Cause{hostinfo.CausePartitioned, hostinfo.CauseSignature}

// ParsePermission reads DEVICE or DEVICE=CAUSE,CAUSE.
func ParsePermission(text string) (Permission, error) {
	device, causes, found := strings.Cut(text, "=")
	p := Permission{Device: device}
	if device == "" {
		return p, fmt.Errorf("--destroy %q names no device", text)
	}
	if !found {
		return p, nil
	}
	for c := range strings.SplitSeq(causes, ",") {
		if !slices.Contains(overlookable, hostinfo.Cause(c)) {
			var may []string
			for _, o := range overlookable {
				may = append(may, string(o))
			}
			return p, fmt.Errorf("--destroy %q: %q cannot be overlooked; only %s can", text, c, plural.And(may))
		}
		p.Overlook = append(p.Overlook, hostinfo.Cause(c))
	}
	return p, nil
}

// overwritableSource returns the block device that a source names, or an error if it may not be overwritten.
func (e *Env) overwritableSource(n line.Node, need int64) (hostinfo.Device, error) {
	return e.Overwritable(permissionName(n), need)
}

// Overwritable returns the block device of that name (a path, by-id name, serial, UUID or NGUID), or an error if it
// may not be overwritten: the user must have named it, it must be unused and hold need bytes. The error is a problem:
// Invalid where there is no such device, and otherwise Protected.
func (e *Env) Overwritable(name string, need int64) (hostinfo.Device, error) {
	d, err := e.Host.Find(name)
	if errors.Is(err, problem.Invalid) {
		return d, problem.New(
			problem.Invalid,
			err.Error(),
			"",
			"plimsoll doctor lists the devices of this host",
		).CausedBy(
			err,
		)
	}
	if err != nil {
		return d, problem.New(problem.Protected, "block device "+name, err.Error(),
			"plimsoll doctor lists the devices of this host").CausedBy(err)
	}
	subject := fmt.Sprintf("block device %s (%s)", name, strings.TrimSpace(d.Path+" "+d.Model+" "+d.Serial))
	refuse := func(why, remedy string) (hostinfo.Device, error) {
		return d, problem.New(problem.Protected, subject, why, remedy)
	}
	overlook, named := e.overlooked(d)
	var whys, remedies []string
	for _, p := range d.Problems {
		if slices.Contains(overlook, p.Cause) {
			continue
		}
		whys = append(whys, p.Why)
		remedies = append(remedies, p.Remedy)
	}
	switch {
	case len(whys) > 0:
		return refuse(strings.Join(whys, "; "), strings.Join(remedies, "; "))
	case !named:
		id := d.Path
		switch {
		case d.Namespace != nil && d.Namespace.Remote && d.UUID != "":
			id = hostinfo.PrefixUUID + ":" + d.UUID
		case d.Serial != "":
			id = d.Serial
		}
		return refuse("everything on it would be overwritten, and --destroy does not name it", "say so: --destroy "+id)
	case int64(d.SizeBytes) < need:
		return refuse(
			fmt.Sprintf(
				"it is too small: it holds %s, the workloads need %s",
				units.Bytes(d.SizeBytes),
				units.Bytes(uint64(need)),
			),
			"take a larger device, or a smaller size in the workloads",
		)
	}
	if err := checkExclusive(d.Path); err != nil {
		return refuse(
			"another program has it open for itself alone, or uses it: "+err.Error(),
			"find it with fuser -v "+d.Path+", and end it, if no program needs it",
		)
	}
	return d, nil
}

// freeWait bounds the wait for exclusive use of a device: programs that examine a device after a write hold it for a
// moment.
const freeWait = time.Second

// checkExclusive returns an error if the kernel refuses exclusive use of a device. It is only called for devices that
// may be overwritten, since other programs are refused meanwhile.
func checkExclusive(path string) error {
	for end := time.Now().Add(freeWait); ; time.Sleep(50 * time.Millisecond) {
		f, err := os.OpenFile(path, os.O_RDONLY|unix.O_EXCL|unix.O_NONBLOCK, 0)
		if err == nil {
			return f.Close()
		}
		if !errors.Is(err, unix.EBUSY) {
			return nil //nolint:nilerr // whatever else is wrong, opening it to write says so
		}
		if time.Now().After(end) {
			return err
		}
	}
}

// overlooked returns the objections that the user overrode for this very device. The path of another host's device
// may name another device after the next connection, so it must be named by an identifier that stays.
func (e *Env) overlooked(d hostinfo.Device) (causes []hostinfo.Cause, named bool) {
	for _, p := range e.Allow {
		other, err := e.Host.Locate(p.Device)
		if err != nil || other.MajMin != d.MajMin {
			continue
		}
		if d.Namespace != nil && d.Namespace.Remote && strings.Contains(p.Device, "/") && !p.resolved {
			continue
		}
		named = true
		causes = append(causes, p.Overlook...)
	}
	return causes, named
}
