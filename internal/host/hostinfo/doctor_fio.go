package hostinfo

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"plimsoll/internal/host/version"
)

// fioProgram is the fio that runs would start.
type fioProgram struct {
	path    string
	inPath  bool
	version string // "3.33"; "" when it cannot be asked
	number  version.Version
	err     error

	libaio, ioURing error // of engines that are plug-ins in packages of their own
}

// askVersion asks fio for its version.
func (f *fioProgram) askVersion(ctx context.Context) {
	out, err := runProgram(ctx, f.path, "--version")
	if f.err = err; err != nil {
		return
	}
	f.version = strings.TrimPrefix(strings.TrimSpace(out), "fio-")
	f.number, f.err = version.ParseFio(out)
}

// fioSection reports on fio and its engines, on the host and in containers.
func (h *Host) fioSection(found programVersions) Section {
	f := found.fio
	item := Item{Name: "fio", OK: Yes, Value: strings.TrimSpace(f.version + "  " + f.path)}
	switch {
	case f.path == "":
		item = Item{Name: "fio", OK: No, Why: "there is no fio in PATH", Remedy: h.installing("fio")}
	case f.err != nil:
		item.OK, item.Why, item.Remedy = No, "it does not show its version: "+f.err.Error(), "install it anew"
	case !f.number.AtLeast(version.OldestFio):
		item.OK = No
		item.Why = "versions before " + version.OldestFio.String() + " do not give all latency histograms"
		item.Remedy = "install fio " + version.OldestFio.String() + " or later"
	case !f.inPath:
		h.outsidePath(&item, f.path)
	}
	s := Section{Name: "fio", Items: []Item{item}}
	if f.path == "" || f.err != nil {
		return s
	}
	s.Items = append(s.Items, h.libaio(f), h.ioURing(f))
	for _, e := range found.engines {
		if e.err == nil {
			s.Items = append(s.Items, h.containerRing(e))
		}
	}
	if len(found.engines) > 0 {
		s.Items = append(s.Items, h.Rings(postgresqlRings))
	}
	return s
}

func (h *Host) libaio(f fioProgram) Item {
	i := Item{Name: "libaio", OK: Yes}
	if f.libaio != nil {
		i.OK, i.Why, i.Remedy = No, "this fio lacks the engine: "+f.libaio.Error(),
			"install a fio with libaio (Fedora: fio-engine-libaio)"
		return i
	}
	limit, err := strconv.ParseInt(readTrimmed(h.Roots.Proc, "sys/fs/aio-max-nr"), 10, 64)
	if err != nil {
		i.OK, i.Why, i.Remedy = No, "the kernel has no asynchronous I/O (io_setup)", "boot a kernel with CONFIG_AIO"
		return i
	}
	used, _ := strconv.ParseInt(readTrimmed(h.Roots.Proc, "sys/fs/aio-nr"), 10, 64)
	i.Value = fmt.Sprintf("%d of %d requests are free", limit-used, limit)
	const scarce = 4096
	if limit-used < scarce {
		i.OK, i.Why, i.Remedy = Limited, "other processes hold nearly all asynchronous requests",
			"sysctl fs.aio-max-nr=1048576"
	}
	return i
}

// ioURing reports whether fio can use io_uring on the host itself.
func (h *Host) ioURing(f fioProgram) Item {
	i := Item{Name: "io_uring", OK: Yes}
	if f.ioURing != nil {
		i.OK, i.Why, i.Remedy = No, "this fio lacks the engine: "+f.ioURing.Error(),
			"install a fio with io_uring (Fedora: fio-engine-io_uring)"
		return i
	}
	return h.ring(i)
}

// Ring reports whether this kernel lets programs use io_uring outside of containers.
func (h *Host) Ring() Item { return h.ring(Item{Name: "io_uring", OK: Yes}) }

// ring completes an item about io_uring by what the kernel answers.
func (h *Host) ring(i Item) Item {
	switch err := h.calls.ioURing(); {
	case err == nil:
	case errors.Is(err, unix.ENOSYS):
		i.OK, i.Why, i.Remedy = No, "the kernel has no io_uring", "boot a kernel from 5.1 on with CONFIG_IO_URING"
	case errors.Is(err, unix.EPERM) && h.ringSysctl() != "0":
		i.OK, i.Why, i.Remedy = No, "kernel.io_uring_disabled is "+h.ringSysctl(), "sysctl kernel.io_uring_disabled=0"
	default:
		i.OK, i.Why, i.Remedy = No, "io_uring_setup: "+err.Error(),
			"this process is restricted by seccomp or a security module: allow it there"
	}
	return i
}

func (h *Host) ringSysctl() string {
	return first(readTrimmed(h.Roots.Proc, "sys/kernel/io_uring_disabled"), "0")
}

// Docker's default seccomp profile permitted io_uring from 20.10
// (moby/moby#39415) until 25.0 took it out again (moby/moby#46762).
var (
	ringPermitted = version.Version{Major: 20, Minor: 10}
	ringRefused   = version.Version{Major: 25}
)

// containerRing reports whether containers of an engine may use io_uring.
func (h *Host) containerRing(e engine) Item {
	i := Item{Name: "io_uring in containers", OK: Yes, Value: "of dockerd " + e.version}
	v := version.Parse(e.version)
	switch {
	case h.ringSysctl() != "0":
		i.OK = No
		i.Why, i.Remedy = "kernel.io_uring_disabled is "+h.ringSysctl()+", which holds for containers",
			"sysctl kernel.io_uring_disabled=0"
	case v.AtLeast(ringRefused) || !v.AtLeast(ringPermitted):
		i.OK = No
		i.Why = fmt.Sprintf("the default seccomp profile of Docker refuses it before %s and from %s on", ringPermitted,
			ringRefused)
		i.Remedy = "--security-opt seccomp=unconfined, or a profile that permits io_uring_setup, io_uring_enter and " +
			"io_uring_register"
	}
	return i
}

// rights reports whether this process has the privileges that stacks need.
func (h *Host) rights() Section {
	var uid, caps string
	for line := range strings.Lines(readTrimmed(h.Roots.Proc, "self/status")) {
		fields := strings.Fields(line)
		switch {
		case len(fields) > 2 && fields[0] == "Uid:":
			uid = fields[2] // the effective one
		case len(fields) > 1 && fields[0] == "CapEff:":
			caps = fields[1]
		}
	}
	root := Item{Name: "root", OK: Yes}
	mask, err := strconv.ParseUint(caps, 16, 64)
	has := func(capability int) bool { return err == nil && mask&(1<<capability) != 0 }
	var lacking []string
	for _, c := range []struct {
		number int
		name   string
	}{{unix.CAP_SYS_ADMIN, "CAP_SYS_ADMIN"}, {unix.CAP_SYS_RESOURCE, "CAP_SYS_RESOURCE"}} {
		if !has(c.number) {
			lacking = append(lacking, c.name)
		}
	}
	switch {
	case uid != "0":
		root.OK, root.Value, root.Why = No, "user "+uid, "loop devices, mkfs, mounts and engines need root; only "+
			"dir: stacks do without"
		root.Remedy = "sudo plimsoll ..."
	case slices.Contains(lacking, "CAP_SYS_ADMIN"):
		root.OK, root.Why = No, "this root lacks CAP_SYS_ADMIN, so it cannot mount"
		root.Remedy = "run on the host itself, or in a container with --privileged"
	case len(lacking) > 0:
		root.Value = "without CAP_SYS_RESOURCE: privileged containers and raised ulimits will fail"
	}
	return Section{Name: "rights", Items: []Item{root}}
}
