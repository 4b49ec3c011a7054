package reattach

import (
	"errors"
	"fmt"
	"regexp"
	"slices"

	"plimsoll/internal/host/nvme"
	"plimsoll/internal/printable"
	"plimsoll/internal/problem"
)

// A reply is what another machine says. Its root may be hostile, and values of it become words of programs, names in
// configfs and text on a terminal: each is checked here, once, before anything else sees it.

// mostItems bounds each list of a reply.
const mostItems = 64

// The forms of what a reply has.
var (
	controllerName = regexp.MustCompile(`^nvme[0-9]{1,5}$`)
	namespacePath  = regexp.MustCompile(`^/dev/nvme[0-9]{1,5}n[0-9]{1,5}$`)
	holderName     = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.!:-]{0,63}$`)
	uuidText       = regexp.MustCompile(`^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$`)
	mountPoint     = regexp.MustCompile(`^/[^[:cntrl:]]*$`)
	portName       = regexp.MustCompile(`^[a-z]{2,8}( [A-Za-z0-9_.:%[\]-]{0,64})*$`) // "tcp", or a port that is no address
	addressText    = regexp.MustCompile(`^[0-9A-Fa-f.:]{0,45}$`)
	portNumber     = regexp.MustCompile(`^[0-9]{0,5}$`)
)

// item is a value of a reply, and the form it must have; "" if the machine has no such value.
type item struct {
	name, value string
	form        *regexp.Regexp
}

// check returns an error if no plimsoll would write the reply. Texts that are only shown become printable lines.
func (r *reply) check() error {
	switch r.Kind {
	case problem.Failed, problem.Protected, problem.Unsupported, problem.Invalid:
	default:
		return fmt.Errorf("its kind of problem is %q", printable.Shorten(string(r.Kind), 40))
	}
	h, t, d := &r.Host, &r.Target, &r.Target.Drive
	for _, n := range []int{len(h.Controllers), len(h.Mounts), len(h.Holders), len(h.Lacks), len(t.Hosts)} {
		if n > mostItems {
			return fmt.Errorf("it has a list of %d", n)
		}
	}
	items := []item{{"device", h.Device, namespacePath}, {"boot id", t.Boot, uuidText}, {"UUID", d.UUID, uuidText},
		{"device", d.Device, devicePath}, {"transport", d.Transport, portName}, {"address", d.Addr, addressText},
		{"port", d.Port, portNumber}}
	for _, c := range h.Controllers {
		items = append(items, item{"controller", c, controllerName})
	}
	for _, holder := range h.Holders {
		items = append(items, item{"holder", holder, holderName})
	}
	var errs []error
	for _, m := range h.Mounts {
		items = append(items, item{"mount point", m.Dir, mountPoint})
		errs = append(errs, checkMount(m.FSType, m.Options))
	}
	for _, i := range items {
		if i.value != "" && !i.form.MatchString(i.value) {
			errs = append(errs, fmt.Errorf("its %s is %q", i.name, printable.Shorten(i.value, 40)))
		}
	}
	for _, nqn := range append(slices.Clone(t.Hosts), h.HostNQN, d.NQN) {
		if err := nvme.CheckNQN(nqn); nqn != "" && err != nil {
			errs = append(errs, fmt.Errorf("its NQN %q: %w", printable.Shorten(nqn, 40), err))
		}
	}
	for i, lack := range h.Lacks {
		h.Lacks[i] = printable.Line(printable.Shorten(lack, mostShown))
	}
	r.Error = printable.Line(printable.Shorten(r.Error, mostShown))
	return errors.Join(errs...)
}
