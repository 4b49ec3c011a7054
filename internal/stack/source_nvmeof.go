package stack

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"net"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"plimsoll/internal/field"
	"plimsoll/internal/host/hostinfo"
	"plimsoll/internal/host/nvme"
	"plimsoll/internal/problem"
	"plimsoll/internal/result"
	"plimsoll/internal/stack/line"
	"plimsoll/internal/stack/nvmetarget/metrics"
	"plimsoll/internal/state/journal"
	"plimsoll/internal/units/plural"
)

const defaultNVMePort = "4420" // assigned to NVMe over Fabrics by IANA

// transports are the ways to reach a target.
var transports = []string{"tcp", "rdma", "loop"}

// nvmeofSource is a namespace of an NVMe over Fabrics target. It is connected
// for as long as the stack is up.
var nvmeofSource = &layer{
	Def: line.Def{
		Name:    "nvmeof",
		Summary: "a namespace of an NVMe over Fabrics target; needs --destroy with its UUID or NQN",
		Below:   line.Nothing,
		Gives:   line.Block,
		Options: []line.OptionDef{
			{
				Key:      "transport",
				Value:    line.Text,
				Summary:  "tcp, rdma, or loop for this host's own target",
				Required: true,
				Check:    line.OneOf(transports...),
			},
			{Key: "addr", Value: line.Text, Summary: "IP address of the target; none for loop"},
			{Key: "port", Value: line.Text, Summary: "its port", Default: defaultNVMePort},
			{Key: "nqn", Value: line.Text, Summary: "NQN of the subsystem; without it, --remote says where"},
			{
				Key:     "uuid",
				Value:   line.Text,
				Summary: "UUID or NGUID of the namespace; may be left out where the subsystem has one alone",
			},
			{Key: "hostnqn", Value: line.Text, Summary: "NQN that this host goes by", Default: "what /etc/nvme/hostnqn says"},
			{Key: "secret-file", Value: line.Path, Summary: "file with this host's DH-HMAC-CHAP secret"},
			{
				Key:     "metrics",
				Value:   line.Text,
				Summary: "port at addr where plimsoll target metrics, or Prometheus' node exporter, shows the target's processor time",
			},
			{Key: "nr-io-queues", Value: line.Number, Summary: "I/O queues, at most one for each CPU of this host",
				Default: "one for each CPU", Check: numberCheck(1, 1<<16)},
			{Key: "nr-poll-queues", Value: line.Number, Default: "0", Check: numberCheck(0, 1<<16),
				Summary: "further queues, for requests that are polled (hipri of fio); tcp and rdma"},
			{Key: "queue-size", Value: line.Number, Summary: "entries of an I/O queue", Default: "128",
				Check: numberCheck(nvme.LeastQueueSize, nvme.LargestQueueSize)},
			{Key: "hdr-digest", Value: line.OnOff, Summary: "both ends check the headers' CRC; tcp", Default: "off"},
			{Key: "data-digest", Value: line.OnOff, Summary: "both ends check the data's CRC; tcp", Default: "off"},
			{Key: "in-capsule", Value: line.Size, Summary: "data that the target takes along with a write's command: " +
				"plimsoll target export --in-capsule-data set it", Default: "any, and it is read back"},
		},
	},
	marks: []result.Mark{result.MarkRemote},
	plan: func(n line.Node) []string {
		nqn, _ := n.Option("nqn")
		return []string{"connect to " + nqn, "OVERWRITE its namespace"}
	},
	writes: func(s *dryRun, n line.Node) {
		s.overwrites(n.String())
		s.makes(nvme.Fabrics + ", for a new connection")
		s.block = someRemote
	},
	check: func(ctx context.Context, e *Env, n line.Node, _ int64) error {
		if err := needRoot("nvmeof"); err != nil {
			return err
		}
		r, err := e.remote(n)
		if err != nil {
			return err
		}
		if err := e.checkRemotePermission(r); err != nil {
			return err
		}
		return r.checkMetrics(ctx, n)
	},
	up: upNVMeOF,
}

// remote is a namespace of a target, as a source names it.
type remote struct {
	nvme.Link
	id      string // UUID or NGUID; "" for the only one
	secret  string
	tuning  nvme.Tuning
	capsule int64  // bytes of data in a capsule that the target has to take; -1 for any
	metrics string // address of the target's metrics; "" for none
}

// remote reads a source's options, and what this host lacks for them.
func (e *Env) remote(n line.Node) (remote, error) {
	option := func(key string) string { v, _ := n.Option(key); return v }
	r := remote{id: option("uuid"), Link: nvme.Link{
		Transport: option(
			"transport",
		),
		Addr:    option("addr"),
		Port:    option("port"),
		NQN:     option("nqn"),
		HostNQN: option("hostnqn"),
	}}
	unsupported := func(why, remedy string) (remote, error) {
		return r, problem.New(problem.Unsupported, n.String(), why, remedy)
	}
	if r.Port == "" {
		r.Port = defaultNVMePort
	}
	port, err := strconv.Atoi(r.Port)
	switch {
	case !slices.Contains(transports, r.Transport):
		return unsupported(
			fmt.Sprintf("there is no transport %q", r.Transport),
			"write transport=tcp, transport=rdma or transport=loop",
		)
	case r.Transport == "loop" && r.Addr != "":
		return unsupported("loop connects this host with itself, and has no address", "leave addr= out")
	case r.Transport != "loop" && net.ParseIP(r.Addr) == nil:
		return unsupported(fmt.Sprintf("%q is not an IP address", r.Addr), "write addr=10.0.0.1, where the target listens")
	case err != nil || port < 1 || port > 65535:
		return unsupported(fmt.Sprintf("%q is not a port", r.Port), "write port="+defaultNVMePort)
	}
	if r.Transport == "loop" {
		r.Port = ""
	}
	if r.NQN == "" {
		return unsupported(
			"it does not say which subsystem to connect to",
			"--remote 'nvmeof(...)' says it, as plimsoll target export prints it; or write nqn=",
		)
	}
	if metrics := option("metrics"); metrics != "" {
		if port, err := strconv.Atoi(metrics); err != nil || port < 1 || port > 65535 {
			return unsupported(
				fmt.Sprintf("metrics=%s is not a port", metrics),
				"write the port at which plimsoll target metrics, or the node exporter, listens",
			)
		}
		host := r.Addr
		if host == "" {
			host = "127.0.0.1"
		}
		r.metrics = "http://" + net.JoinHostPort(host, metrics) + "/metrics"
	}
	if err := nvme.CheckNQN(r.NQN); err != nil {
		return unsupported(fmt.Sprintf("nqn=%s: %v", r.NQN, err), "plimsoll target list shows it, on the target")
	}
	if why, remedy := r.tune(n, int(e.Host.Capacity().CPUs)); why != "" {
		return unsupported(why, remedy)
	}
	for _, part := range []string{"nvme-fabrics", "nvme-" + r.Transport} {
		switch i := e.Host.Kernel(part); {
		case i.OK == hostinfo.No:
			return unsupported("this kernel cannot connect: "+part+": "+i.Why, i.Remedy)
		case i.Loadable() && part != "nvme-fabrics": // which the others bring along
			if _, err := e.Host.Modprobe(part); err != nil {
				return unsupported(
					"the module "+part+" would have to be loaded, and cannot: "+err.Error(),
					"see whether modprobe "+part+" succeeds",
				)
			}
		}
	}
	if r.HostNQN == "" {
		r.HostNQN = nvme.HostNQN(e.Host.Etc)
	}
	if r.HostNQN == "" {
		return unsupported(
			"this host has no NQN yet, by which targets know it",
			"nvme gen-hostnqn > /etc/nvme/hostnqn, or write hostnqn=",
		)
	}
	if err := nvme.CheckNQN(r.HostNQN); err != nil {
		return unsupported(fmt.Sprintf("hostnqn=%s: %v", r.HostNQN, err), "write hostnqn= as the target knows this host")
	}
	if file := option("secret-file"); file != "" {
		r.secret, err = nvme.ReadSecret(file)
		if err != nil {
			return unsupported(err.Error(), "nvme gen-dhchap-key makes a secret; the target has to know it too")
		}
	}
	return r, nil
}

// tune reads how requests are to travel, and returns why they cannot. cpus are those of this host that are online; 0 if
// not known.
func (r *remote) tune(n line.Node, cpus int) (why, remedy string) {
	number := func(key string) int {
		text, _ := n.Option(key)
		value, _ := strconv.Atoi(text) // its check has seen to that
		return value
	}
	on := func(key string) bool { v, _ := n.Option(key); return v == "on" }
	r.tuning = nvme.Tuning{IOQueues: number("nr-io-queues"), PollQueues: number("nr-poll-queues"),
		QueueSize: number("queue-size"), HeaderDigest: on("hdr-digest"), DataDigest: on("data-digest")}
	r.capsule = -1
	if text, asked := n.Option("in-capsule"); asked {
		r.capsule, _ = field.Size(0, math.MaxInt64).Parse(text)
	}
	for _, key := range []string{"nr-io-queues", "nr-poll-queues"} {
		if queues := number(key); cpus > 0 && queues > cpus {
			return fmt.Sprintf("%s=%d: this host has %s, and the kernel makes at most one such queue for each", key, queues,
				plural.Count(cpus, "CPU")), fmt.Sprintf("write %s=%d, or less", key, cpus)
		}
	}
	switch {
	case r.tuning.PollQueues > 0 && r.Transport == "loop":
		return "nr-poll-queues: the transport loop has no queues that are polled", "leave it out, or connect over tcp or rdma"
	case r.Transport != "tcp" && (r.tuning.HeaderDigest || r.tuning.DataDigest):
		return "digests are of NVMe over TCP: the transport " + r.Transport + " has none",
			"leave hdr-digest and data-digest out"
	}
	return "", ""
}

// checkTuning returns an error if the connection is not as the source has it: the kernel or the target may give fewer
// or smaller queues than were asked for.
func (b *build) checkTuning(r remote, controller string, n line.Node) error {
	controllers := nvme.Controllers(b.env.Host.Roots.Sys)
	i := slices.IndexFunc(controllers, func(c nvme.Controller) bool { return c.Name == controller })
	if i < 0 {
		return nil // cut meanwhile, which its namespace shows
	}
	c := controllers[i]
	if difference := r.tuning.Differs(c); difference != "" {
		return problem.New(problem.Unsupported, n.String(), "the connection has "+difference,
			"ask for what the target gives (its attr_qid_max and the CPUs of both hosts bound it)")
	}
	capsule, err := c.InCapsuleData(b.env.Host.Dev)
	if err == nil && r.Transport != "loop" {
		b.fact("NVMe-oF data in a capsule", fmt.Sprintf("%d bytes", capsule))
	}
	if r.capsule >= 0 && (err != nil || capsule != r.capsule) {
		why := fmt.Sprintf("the target takes %d bytes of data in a capsule, not %d", capsule, r.capsule)
		if err != nil {
			why = "it is not known what data the target takes in a capsule: " + err.Error()
		}
		return problem.New(problem.Unsupported, n.String(), why,
			"export it there with plimsoll target export --in-capsule-data, at a port of its own; or leave in-capsule= out")
	}
	return nil
}

// checkRemotePermission returns an error unless the user gave permission for this very namespace: another host's
// device is overwritten only by its own name.
func (e *Env) checkRemotePermission(r remote) error {
	if slices.ContainsFunc(e.Allow, r.matches) {
		return nil
	}
	id := r.NQN
	if r.id != "" {
		id = hostinfo.PrefixUUID + ":" + r.id
	}
	return problem.New(problem.Protected, "remote namespace of "+r.Link.String(),
		"everything on it would be overwritten, and --destroy does not name it", "say so: --destroy "+id)
}

// matches reports whether a permission is for this namespace, by UUID, NGUID or NQN.
func (r remote) matches(p Permission) bool {
	id := strings.TrimPrefix(strings.TrimPrefix(p.Device, hostinfo.PrefixUUID+":"), hostinfo.PrefixNGUID+":")
	return p.Device == r.NQN || nvme.SameID(id, r.id)
}

func upNVMeOF(ctx context.Context, b *build, n line.Node) error {
	r, err := b.env.remote(n)
	if err != nil {
		return err
	}
	if err := b.env.checkRemotePermission(r); err != nil {
		return err
	}
	module := &Module{Name: "nvme-" + r.Transport}
	for _, e := range b.env.Journal.Pending() { // of other stacks
		module.Held = append(module.Held, LoadedModules(e.Change)...)
	}
	if module.Needed(b.env.Host.Kernel(module.Name).Loadable()) {
		if err := b.do(ctx, module, func(string) error { return module.Make() }); err != nil {
			return problem.New(problem.Unsupported, n.String(),
				"the module "+module.Name+" cannot be loaded: "+err.Error(), "see dmesg").CausedBy(err)
		}
	}
	var controller string
	connection := &controllerChange{Link: r.Link}
	err = b.do(ctx, connection, func(string) error {
		controller, err = r.Connect(ctx, nvme.HostID(b.env.Host.Etc, r.HostNQN), r.secret, r.tuning)
		if errors.Is(err, fs.ErrNotExist) {
			return problem.New(problem.Unsupported, n.String(), "there is no "+nvme.Fabrics, "modprobe nvme-"+r.Transport)
		}
		return err
	})
	if err != nil {
		return err
	}
	connection.Connected = true
	if err := b.checkTuning(r, controller, n); err != nil {
		return err
	}
	ns, err := b.namespace(ctx, r, controller)
	if err != nil {
		return err
	}
	d, err := b.overwritable(r, ns)
	if err != nil {
		return err
	}
	if err := b.claim(ctx, d.Path); err != nil {
		return err
	}
	b.base.block = d.Path
	b.base.exclusive = append(b.base.exclusive, d.Name)
	b.base.sizeBytes = int64(d.SizeBytes)
	b.base.Remote = Remote{Metrics: r.metrics, NQN: r.NQN, UUID: ns.UUID}
	b.remoteFacts(r, controller, ns)
	return nil
}

// checkMetrics returns an error if the target's processor time cannot be read.
func (r remote) checkMetrics(ctx context.Context, n line.Node) error {
	if r.metrics == "" {
		return nil
	}
	if _, err := metrics.Read(ctx, r.metrics); err != nil {
		return problem.New(problem.Unsupported, n.String(), "the target's processor time cannot be read: "+err.Error(),
			"run plimsoll target metrics, or Prometheus' node exporter, on the target; or leave metrics= out").CausedBy(err)
	}
	return nil
}

// namespaceLimit bounds the wait for a namespace after its controller is connected: the kernel scans in the
// background.
const namespaceLimit = 30 * time.Second

// namespace waits for the namespace of a controller: with multipath for the
// head node, which is opened, and not its path devices.
func (b *build) namespace(ctx context.Context, r remote, controller string) (nvme.Namespace, error) {
	var seen []string
	for start := time.Now(); ; {
		var found []nvme.Namespace
		seen = nil
		for _, ns := range nvme.Namespaces(b.env.Host.Roots.Sys) {
			if ns.NQN != r.NQN || !slices.Contains(ns.Paths, controller) {
				continue
			}
			seen = append(seen, fmt.Sprintf("%s (UUID %s)", ns.NSID, ns.UUID))
			if r.id == "" || nvme.SameID(ns.UUID, r.id) || nvme.SameID(ns.NGUID, r.id) {
				found = append(found, ns)
			}
		}
		refuse := func(why, remedy string) (nvme.Namespace, error) {
			return nvme.Namespace{}, problem.New(problem.Protected, "remote namespace of "+r.Link.String(), why, remedy)
		}
		switch {
		case len(found) == 1 && b.isReady(found[0]):
			return found[0], nil
		case len(found) > 1:
			return refuse("the subsystem has several: "+strings.Join(seen, ", "), "name one of them with uuid=")
		case time.Since(start) > namespaceLimit && len(seen) > 0:
			return refuse(
				fmt.Sprintf("none has UUID or NGUID %s; there are %s", r.id, strings.Join(seen, ", ")),
				"name one of them with uuid=",
			)
		case time.Since(start) > namespaceLimit:
			return refuse(
				fmt.Sprintf("no namespace appeared within %s", namespaceLimit),
				"see plimsoll target list on the target: is one enabled?",
			)
		}
		select {
		case <-ctx.Done():
			return nvme.Namespace{}, ctx.Err()
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// isReady reports whether a namespace has its size and its node.
func (b *build) isReady(ns nvme.Namespace) bool {
	_, err := b.env.Host.Locate(filepath.Join("/dev", ns.Name))
	return err == nil
}

// overwritable judges the namespace like any other device, now that it is here.
func (b *build) overwritable(r remote, ns nvme.Namespace) (hostinfo.Device, error) {
	env := *b.env
	path := filepath.Join("/dev", ns.Name)
	for _, p := range b.env.Allow {
		if r.matches(p) {
			env.Allow = append(slices.Clone(env.Allow), Permission{Device: path, Overlook: p.Overlook, resolved: true})
		}
	}
	d, err := env.Overwritable(path, 0)
	if refused := problem.Of(err, problem.Protected); refused != nil { // the path is another's tomorrow
		refused.Remedy = strings.ReplaceAll(refused.Remedy, "--destroy "+path, "--destroy "+hostinfo.PrefixUUID+":"+ns.UUID)
	}
	return d, err
}

// remoteFacts records the properties of the connection.
func (b *build) remoteFacts(r remote, controller string, ns nvme.Namespace) {
	b.fact("NVMe-oF transport", r.Transport)
	for _, c := range ns.Controllers(b.env.Host.Roots.Sys) {
		if c.Name != controller {
			continue
		}
		b.fact("NVMe-oF address", c.Address)
		b.fact("NVMe-oF queues", fmt.Sprintf("%d for I/O, of %d entries", c.Queues-1, c.QueueSize))
		b.fact("device", strings.TrimSpace(c.Model+" "+c.Serial+" firmware "+c.Firmware))
	}
	if r.tuning.HeaderDigest { // else the kernel refuses the connection
		b.fact("NVMe-oF header digest", "on")
	}
	if r.tuning.DataDigest {
		b.fact("NVMe-oF data digest", "on")
	}
	b.fact("NVMe-oF subsystem", r.NQN)
	b.fact("NVMe-oF namespace", fmt.Sprintf("%s, UUID %s, NGUID %s", ns.NSID, ns.UUID, ns.NGUID))
	if r.Transport != "loop" {
		b.fact("NVMe-oF link", fmt.Sprintf("I/O ends with an error within %s of a cut", nvme.CutLimit))
	}
}

func init() { journal.Register("controller", func() journal.Change { return new(controllerChange) }) }

// controllerChange is a connection to an NVMe over Fabrics target. Its secret, where
// it has one, is not kept: undoing needs none.
type controllerChange struct {
	nvme.Link        // its fields are this change's in journals
	Boot      string // filled in by Do: no connection outlives the kernel

	Connected bool `json:"-"` // the connection was made, so that a missing controller means that it was cut
}

// What implements Change.
func (c *controllerChange) What() string { return "connect to " + c.Link.String() }

// sysfs and devices are where controllers are looked for.
const (
	sysfs   = "/sys"
	devices = "/dev"
)

// Prepare refuses an existing connection: undoing the change would end another program's connection.
func (c *controllerChange) Prepare() error {
	var err error
	c.Boot, err = journal.BootID()
	if err != nil {
		return err
	}
	controllers := c.Find(sysfs)
	if len(controllers) > 0 {
		return fmt.Errorf(
			"this host is connected to it already, as %s, with host NQN %s: disconnect that first, or give another hostnqn=",
			controllers[0].Name,
			c.HostNQN,
		)
	}
	return nil
}

// Check implements Change.
func (c *controllerChange) Check(s journal.Scope) error {
	return errors.Join(
		s.OneOf("transport", c.Transport, "tcp", "rdma", "loop"),
		nvme.CheckNQN(c.NQN),
		nvme.CheckNQN(c.HostNQN),
	)
}

// Undo ends every controller of the connection. It looks them up by target and host NQN, since another one may have
// the number by now.
func (c *controllerChange) Undo(ctx context.Context, _ string) error {
	boot, err := journal.BootID()
	if err != nil || boot != c.Boot {
		return err
	}
	var errs []error
	found := c.Find(sysfs)
	cut := c.Connected && len(found) == 0
	for _, controller := range found {
		cut = cut || !controller.Live()
		errs = append(errs, controller.Disconnect(ctx, sysfs, devices))
	}
	if cut && c.Transport == "rdma" {
		stays["nvme_rdma"] = true
	}
	return errors.Join(errs...)
}
