// Package nvmetarget makes this host an NVMe over Fabrics target: it exports block
// devices through the kernel's nvmet, by its configfs, without other programs.
//
// Every object that it makes is in a journal of the export's own before it is
// made. Once an export stands, the journal is kept: the target goes on serving
// when the command ends, and `plimsoll clean` leaves it alone. An export that a
// crash left half made, or half taken back, is undone by `plimsoll clean`.
//
// Hazards. Whoever may connect can overwrite the device. So the device is
// chosen by the rules of stacks (stack.Env.Overwritable), and hosts are named
// one by one unless the user lets every one in.
package nvmetarget

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/google/uuid"
	"golang.org/x/sys/unix"

	"plimsoll/internal/host/configfs"
	"plimsoll/internal/host/hostinfo"
	"plimsoll/internal/problem"
	"plimsoll/internal/stack"
	"plimsoll/internal/state/journal"
)

// Port is an address at which a target listens.
type Port struct {
	Transport string // "tcp", "rdma", "loop"
	Addr      string // "" for loop
	Service   string // port number; "" for loop
	// InCapsule is how many bytes of data it takes along with a write's command, of tcp and rdma; "" for the kernel's
	// choice, 16 KiB.
	InCapsule string
}

func (p Port) String() string {
	if p.Transport == "loop" {
		return "loop"
	}
	addr := p.Addr
	if strings.Contains(addr, ":") {
		addr = "[" + addr + "]"
	}
	return p.Transport + " " + addr + ":" + p.Service
}

// attributes returns the port's settings under the kernel's names.
func (p Port) attributes() []configfs.Attribute {
	attributes := []configfs.Attribute{{Name: "addr_trtype", Value: p.Transport}}
	if p.Transport == "loop" {
		return attributes
	}
	family := "ipv4"
	if strings.Contains(p.Addr, ":") {
		family = "ipv6"
	}
	return append(attributes, configfs.Attribute{Name: "addr_adrfam", Value: family},
		configfs.Attribute{Name: "addr_traddr", Value: p.Addr}, configfs.Attribute{Name: "addr_trsvcid", Value: p.Service})
}

// Export describes a device to export, and the hosts that may use it.
type Export struct {
	Device   string   // as a source of stacks names it: path, by-id name, serial, UUID
	NQN      string   // of the subsystem; one is made from the UUID where it is ""
	UUID     string   // of the namespace; the device's own or a new one where it is ""
	Hosts    []string // NQNs that may connect
	AllowAny bool     // every host may connect; Hosts is empty then
	Secret   string   // DH-HMAC-CHAP, for every one of Hosts; "" for none
	Port     Port
}

// Targets exports devices of this host.
type Targets struct {
	State    string // directory of journals
	Configfs string // where configfs is mounted
	Host     *hostinfo.Host
	Allow    []stack.Permission
	Trace    func(text string) // told of each step; nil for silence
}

// journalPrefix begins the name of an export's journal.
const journalPrefix = "export-"

func (t *Targets) nvmet() string { return filepath.Join(t.Configfs, "nvmet") }

func (t *Targets) subsystem(nqn string) string {
	return filepath.Join(t.nvmet(), "subsystems", nqn)
}

// lock keeps other exports of this program away: two that make the same port
// or host at once would not know whose it is.
func (t *Targets) lock(ctx context.Context) (release func(), err error) {
	return journal.HoldHost(ctx, "-exports")
}

// Export exports a device, and returns the resulting subsystem. It undoes its changes when it fails.
func (t *Targets) Export(ctx context.Context, e Export) (_ Exported, err error) {
	if err := errors.Join(t.missing(e.Device), e.validate()); err != nil {
		return Exported{}, err
	}
	d, err := t.device(e.Device)
	if err != nil {
		return Exported{}, err
	}
	e.setDefaults(d)
	if err := t.checkKernel(e.Port.Transport); err != nil {
		return Exported{}, err
	}
	j, err := journal.Create(t.State, journalPrefix+uuid.NewString())
	if err != nil {
		return Exported{}, err
	}
	stands := false
	defer func() {
		if !stands {
			err = errors.Join(err, j.UndoAll(context.WithoutCancel(ctx), nil))
		}
		err = errors.Join(err, j.Close())
	}()
	b := &builder{Targets: t, ctx: ctx, journal: j, export: e, device: d}
	if err := b.build(ctx); err != nil {
		return Exported{}, err
	}
	if err := ctx.Err(); err != nil {
		return Exported{}, err // interrupted: nothing may stay that nobody was told of
	}
	if err := j.Keep(); err != nil {
		return Exported{}, err
	}
	stands = true
	return t.exported(e.NQN)
}

// setDefaults sets the fields that the user left open.
func (e *Export) setDefaults(d hostinfo.Device) {
	if e.UUID == "" {
		e.UUID = d.UUID
	}
	if e.UUID == "" {
		e.UUID = uuid.NewString()
	}
	if e.NQN == "" {
		// The form of NQNs that need no domain (NVM Express Base Specification).
		e.NQN = "nqn.2014-08.org.nvmexpress:uuid:" + uuid.NewString()
	}
}

// missing returns why there is no such device; nil where there is one, whatever speaks against it.
func (t *Targets) missing(name string) error {
	_, err := t.Host.Locate(name)
	var unknown *hostinfo.UnknownDeviceError
	if !errors.As(err, &unknown) {
		return nil
	}
	unknown.Instead = "" // a directory is no device to export
	return unknown
}

// device finds the device, and refuses it by the rules of stacks.
func (t *Targets) device(name string) (hostinfo.Device, error) {
	env := &stack.Env{Host: t.Host, Allow: t.Allow}
	d, err := env.Overwritable(name, 0)
	if refused := problem.Of(err, problem.Protected); refused != nil {
		refused.Why = strings.Replace(refused.Why, "everything on it would be overwritten",
			"whatever program connects can overwrite everything on it", 1)
	}
	return d, err
}

// builder makes the objects of one export.
type builder struct {
	*Targets
	ctx      context.Context
	journal  *journal.Journal
	export   Export
	device   hostinfo.Device
	existing map[string][]journal.Change // of existing exports
}

// build makes the objects of the export. The port comes last, so that nothing is reachable before all is set.
func (b *builder) build(ctx context.Context) error {
	e := b.export
	var err error
	b.existing, err = journal.Look(b.State, isExport)
	if err != nil {
		return err
	}
	if err := b.modules(); err != nil {
		return err
	}
	if _, err := os.Stat(b.nvmet()); err != nil {
		return unsupported("NVMe-oF target", "configfs does not offer nvmet: "+err.Error(),
			"mount -t configfs configfs "+configfs.Root+", or name where it is with --path.configfs")
	}
	if !configfs.Holds(b.subsystem(e.NQN)) {
		return unsupported("NVMe-oF target", b.nvmet()+" is not in configfs, so that nothing of it is the kernel's",
			"mount -t configfs configfs "+configfs.Root+", and name no other with --path.configfs")
	}
	release, err := b.lock(ctx)
	if err != nil {
		return err
	}
	defer release()
	b.existing, err = journal.Look(b.State, isExport)
	if err != nil {
		return err
	}
	// The device may have come into use since it was looked at, and its name may have become another's.
	now, err := b.Targets.device(e.Device)
	if err != nil {
		return err
	}
	if now.MajMin != b.device.MajMin || now.Serial != b.device.Serial || now.UUID != b.device.UUID {
		return refused("block device "+e.Device, fmt.Sprintf("it was %s (%s) a moment ago, and is %s (%s) now",
			b.device.Path, b.device.MajMin, now.Path, now.MajMin), "see what changes there, and export it by its serial")
	}
	serial := strings.ReplaceAll(uuid.NewString(), "-", "")[:20] // as long as the kernel takes
	identity := []configfs.Attribute{{Name: "attr_serial", Value: serial}}
	subsystem := b.subsystem(e.NQN)
	if _, err := os.Stat(subsystem); err == nil {
		return refused("subsystem "+e.NQN, "this host exports one of that name already",
			"plimsoll target list, or give another --nqn")
	}
	allow := configfs.Attribute{Name: "attr_allow_any_host", Value: "0"}
	if e.AllowAny {
		allow.Value = "1"
	}
	change := &objectChange{Path: subsystem, Object: "NVMe-oF subsystem " + e.NQN, Own: identity}
	if err := b.dir(change, allow); err != nil {
		return err
	}
	namespace := &objectChange{
		Path:   filepath.Join(subsystem, "namespaces/1"),
		Object: fmt.Sprintf("its namespace 1 of %s, with UUID %s", b.device.Path, e.UUID),
		Own:    []configfs.Attribute{{Name: "device_path", Value: b.device.Path}},
		Off:    "enable",
	}
	if err := b.dir(namespace,
		configfs.Attribute{Name: "device_uuid", Value: e.UUID},
		configfs.Attribute{Name: "device_nguid", Value: e.UUID},
		configfs.Attribute{Name: "enable", Value: "1"},
	); err != nil {
		return err
	}
	for _, h := range e.Hosts {
		if err := b.host(h, subsystem); err != nil {
			return err
		}
	}
	return b.listen(subsystem, identity)
}

// dir journals an object and makes it.
func (b *builder) dir(c *objectChange, attributes ...configfs.Attribute) error {
	b.trace(c.What())
	_, err := b.journal.Do(b.ctx, c, func(string) error { return c.Make(attributes...) })
	if err != nil {
		return fmt.Errorf("%s: %w", c.What(), err)
	}
	return nil
}

func (b *builder) link(c *linkChange) error {
	b.trace(c.What())
	_, err := b.journal.Do(b.ctx, c, func(string) error { return c.Make() })
	if err != nil {
		return fmt.Errorf("%s: %w", c.What(), err)
	}
	return nil
}

func (t *Targets) trace(text string) {
	if t.Trace != nil {
		t.Trace(text)
	}
}

// host makes the object of a host, and lets that host connect.
func (b *builder) host(nqn, subsystem string) error {
	path := filepath.Join(b.nvmet(), "hosts", nqn)
	_, err := os.Stat(path)
	switch exists := err == nil; {
	case exists && configfs.Get(path, "dhchap_key") != b.export.Secret:
		return refused("host "+nqn, "this target knows it with another DH-HMAC-CHAP secret, or without one, and a "+
			"host has one secret for all that it connects to",
			"give the secret that it has (--secret-file), or unexport what it uses")
	case !exists || b.isOwnObject(path):
		c := &objectChange{Path: path, Object: "host " + nqn, Shared: true}
		var secret []configfs.Attribute
		if b.export.Secret != "" && !exists {
			c.Object += ", with a DH-HMAC-CHAP secret"
			secret = append(secret, configfs.Attribute{Name: "dhchap_key", Value: b.export.Secret})
			// The kernel makes the attribute readable for all users. A process that opens it before the mode changes could
			// read the secret later.
			open, err := configfs.Shut(filepath.Dir(path))
			if err != nil {
				return err
			}
			defer open()
		}
		if err := b.dir(c, secret...); err != nil {
			if len(secret) > 0 && errors.Is(err, os.ErrNotExist) {
				return unsupported("DH-HMAC-CHAP", "this kernel's target has none: "+err.Error(),
					"boot a kernel with CONFIG_NVME_TARGET_AUTH (6.0 or later), or export without --secret-file")
			}
			return err
		}
	}
	return b.link(&linkChange{
		Path: filepath.Join(subsystem, "allowed_hosts", nqn), Target: path, Joins: "allow host " + nqn,
	})
}

// isOwnObject reports whether an export of this program made an existing object.
func (b *builder) isOwnObject(path string) bool {
	for _, changes := range b.existing {
		if slices.ContainsFunc(changes, func(c journal.Change) bool {
			d, ok := c.(*objectChange)
			return ok && d.Path == path && d.Stands()
		}) {
			return true
		}
	}
	return false
}

// inCapsuleAttribute is the kernel's name for Port.InCapsule.
const inCapsuleAttribute = "param_inline_data_size"

// listen makes the port unless it exists, and exports the subsystem on it.
func (b *builder) listen(subsystem string, identity []configfs.Attribute) error {
	port := b.export.Port
	ports := filepath.Join(b.nvmet(), "ports")
	taken, err := os.ReadDir(ports)
	if err != nil {
		return err
	}
	path := ""
	for _, p := range taken {
		if at := filepath.Join(ports, p.Name()); configfs.Is(at, port.attributes()...) {
			path = at
		}
	}
	if path == "" || b.isOwnObject(path) {
		if path == "" {
			path = filepath.Join(ports, freeNumber(taken))
		}
		c := &objectChange{Path: path, Object: "port " + port.String(), Own: port.attributes(), Shared: true}
		var size []configfs.Attribute
		if _, err := os.Stat(path); err != nil && port.InCapsule != "" {
			size = append(size, configfs.Attribute{Name: inCapsuleAttribute, Value: port.InCapsule})
		}
		if err := b.dir(c, size...); err != nil {
			return err
		}
	}
	if has := configfs.Get(path, inCapsuleAttribute); port.InCapsule != "" && has != port.InCapsule {
		return refused("port "+port.String(),
			fmt.Sprintf("it takes %s bytes of data in a capsule, for all that is exported on it", has),
			"give another --port, or leave --in-capsule-data out")
	}
	err = b.link(&linkChange{
		Path: filepath.Join(path, "subsystems", b.export.NQN), Target: subsystem, Own: identity,
		Joins: fmt.Sprintf("export %s on %s", b.export.NQN, port),
	})
	switch {
	case errors.Is(err, unix.EADDRINUSE):
		return fmt.Errorf("%w: another program listens there; give another --port", err)
	case errors.Is(err, unix.EADDRNOTAVAIL):
		return fmt.Errorf("%w: no interface of this host has that address (ip addr)", err)
	case errors.Is(err, unix.ENODEV) && port.Transport == "rdma":
		return fmt.Errorf("%w: no RDMA device has that address (rdma link)", err)
	}
	return err
}

// freeNumber returns a number that no port has.
func freeNumber(taken []os.DirEntry) string {
	for n := 1; ; n++ {
		name := strconv.Itoa(n)
		if !slices.ContainsFunc(taken, func(e os.DirEntry) bool { return e.Name() == name }) {
			return name
		}
	}
}

func isExport(run string) bool { return strings.HasPrefix(run, journalPrefix) }

// unsupported returns a problem of a host that lacks something.
func unsupported(what, why, remedy string) error {
	return problem.New(problem.Unsupported, what, why, remedy)
}

// refused returns a problem of a request that must not be done.
func refused(what, why, remedy string) error {
	return problem.New(problem.Protected, what, why, remedy)
}
