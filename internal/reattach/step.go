package reattach

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/moby/sys/mountinfo"
	"golang.org/x/sys/unix"

	"plimsoll/internal/host/clienthost"
	"plimsoll/internal/host/configfs"
	"plimsoll/internal/host/hostinfo"
	"plimsoll/internal/host/nvme"
	"plimsoll/internal/printable"
	"plimsoll/internal/problem"
	"plimsoll/internal/stack"
	"plimsoll/internal/stack/nvmetarget"
	"plimsoll/internal/state/journal"
)

// StepCommand is the command by which a plimsoll does one step on its machine for the plimsoll of another one.
const StepCommand = "move-drive-step"

// request asks a machine for one step.
type request struct {
	Step string
	Move Move
}

// reply answers it.
type reply struct {
	Host   HostState
	Target TargetState
	Error  string
	Kind   problem.Kind
}

// limit bounds a step: servers take their time to stop.
const limit = 4 * time.Minute

// mostRequest bounds what is read of a request, and mostShown what is shown of a reply that is none.
const (
	mostRequest = 1 << 20
	mostShown   = 1 << 10
)

// Serve reads a request, does its step on this machine, and writes the reply.
func Serve(ctx context.Context, in io.Reader, out io.Writer, state string) error {
	var q request
	if err := json.NewDecoder(io.LimitReader(in, mostRequest)).Decode(&q); err != nil {
		return fmt.Errorf("read a request: %w", err)
	}
	var r reply
	if err := do(ctx, q, &r, state); err != nil {
		r.Error = err.Error()
		for _, k := range []problem.Kind{problem.Protected, problem.Unsupported, problem.Invalid} {
			if errors.Is(err, k) {
				r.Kind = k
			}
		}
	}
	return json.NewEncoder(out).Encode(r)
}

// do does one step on this machine.
func do(ctx context.Context, q request, r *reply, state string) error {
	if os.Geteuid() != 0 {
		return problem.New(problem.Unsupported, "move a drive", "this needs root on each machine",
			"name root in ssh://root@HOST, and run the command as root")
	}
	check := q.Move.check
	if q.Step == "look" || q.Step == "look-target" { // before all of the move is known
		check = q.Move.checkKnown
	}
	if err := check(journal.NewScope(state, JournalOf(q.Move.Drive.NQN))); err != nil {
		return err
	}
	// A step whose mover was killed ends before the next one looks.
	release, err := journal.HoldHost(ctx, "-move-drive")
	if err != nil {
		return err
	}
	defer release()
	l := local{q.Move, state, hostinfo.New()}
	switch q.Step {
	case "look":
		r.Host, err = l.look(ctx)
	case "stop":
		err = l.service(ctx, "stop")
	case "unmount":
		err = l.unmount(ctx)
	case "disconnect":
		err = l.disconnect(ctx)
	case "connect":
		err = l.connect(ctx)
	case "mount":
		err = l.mount(ctx)
	case "start":
		err = l.service(ctx, "start")
	case "look-target":
		r.Target, err = l.lookTarget()
	case "revoke":
		err = l.revoke(ctx)
	case "allow":
		err = l.allow(ctx)
	default:
		err = fmt.Errorf("%q is no step: the plimsoll of the other machine may be newer", q.Step)
	}
	return err
}

// local is this machine, as a host or as the target.
type local struct {
	Move
	state string
	info  *hostinfo.Host
}

// sysfs and devices are where the kernel shows devices.
const (
	sysfs   = "/sys"
	devices = "/dev"
)

func run(ctx context.Context, name string, args ...string) (string, error) {
	out, err := exec.CommandContext(ctx, name, args...).CombinedOutput()
	text := strings.TrimSpace(string(out))
	if err != nil {
		return text, fmt.Errorf("%s %s: %w: %s", name, strings.Join(args, " "), err, printable.Line(text))
	}
	return text, nil
}

// service starts or stops the service.
func (l local) service(ctx context.Context, verb string) error {
	args := []string{"docker", verb, l.Service.Name}
	if l.Service.Kind == "unit" {
		args = []string{"systemctl", verb, l.Service.Name}
	}
	_, err := run(ctx, args[0], args[1:]...)
	return err
}

// running reports whether the service runs. The error is why there is none.
func (l local) running(ctx context.Context) (bool, error) {
	if l.Service.Kind == "container" {
		out, err := run(ctx, "docker", "inspect", "--type", "container", "--format", "{{.State.Running}}", l.Service.Name)
		return out == "true", err
	}
	out, err := run(ctx, "systemctl", "show", "--property=LoadState,ActiveState", l.Service.Name)
	if err == nil && !strings.Contains(out, "LoadState=loaded") {
		err = fmt.Errorf("systemd has no unit %s", l.Service.Name)
	}
	return !strings.Contains(out, "ActiveState=inactive") && !strings.Contains(out, "ActiveState=failed"), err
}

func (l local) controllers() []nvme.Controller {
	return slices.DeleteFunc(nvme.Controllers(sysfs), func(c nvme.Controller) bool { return c.NQN != l.Drive.NQN })
}

// device returns the block device with the drive's UUID; "" for none. The number in its name means nothing.
func (l local) device() (string, error) {
	var found []string
	for _, n := range nvme.Namespaces(sysfs) {
		if n.NQN == l.Drive.NQN && (nvme.SameID(n.UUID, l.Drive.UUID) || nvme.SameID(n.NGUID, l.Drive.UUID)) {
			found = append(found, filepath.Join(devices, n.Name))
		}
	}
	switch len(found) {
	case 0:
		return "", nil
	case 1:
		return found[0], nil
	}
	return "", refused("the drive "+l.Drive.UUID, strings.Join(found, " and ")+" have this UUID", "see nvme list-subsys")
}

func (l local) look(ctx context.Context) (s HostState, err error) {
	s.HostNQN = nvme.HostNQN("/etc")
	if s.HostNQN == "" {
		s.Lacks = append(s.Lacks, "it has no host NQN: nvme gen-hostnqn > /etc/nvme/hostnqn")
	}
	s.Running, err = l.running(ctx)
	if err != nil {
		s.Lacks = append(s.Lacks, err.Error()+": make it there, and leave it stopped")
	}
	for _, c := range l.controllers() {
		s.Controllers = append(s.Controllers, c.Name)
	}
	s.Device, err = l.device()
	if err != nil {
		return s, err
	}
	s.Lacks = append(s.Lacks, l.lacks(ctx)...)
	if s.Device == "" {
		return s, nil
	}
	name := filepath.Base(s.Device)
	number, err := os.ReadFile(filepath.Join(sysfs, "class/block", name, "dev"))
	if err != nil {
		return s, err
	}
	mounts, err := mountinfo.GetMounts(nil)
	if err != nil {
		return s, err
	}
	for _, m := range mounts {
		if fmt.Sprintf("%d:%d", m.Major, m.Minor) == strings.TrimSpace(string(number)) {
			ro := slices.Contains(strings.Split(m.Options, ","), "ro") || slices.Contains(strings.Split(m.VFSOptions, ","), "ro")
			s.Mounts = append(s.Mounts, Mount{m.Mountpoint, m.FSType, m.Options, ro})
		}
	}
	for _, pattern := range []string{"holders/*", name + "p*"} {
		held, _ := filepath.Glob(filepath.Join(sysfs, "class/block", name, pattern)) // the pattern is well formed
		for _, h := range held {
			s.Holders = append(s.Holders, filepath.Base(h))
		}
	}
	swaps, err := os.ReadFile("/proc/swaps")
	if err == nil && strings.Contains(string(swaps), s.Device+" ") {
		s.Holders = append(s.Holders, "swap")
	}
	return s, nil
}

// lacks returns what this machine would need to take the drive, before anything is changed.
func (l local) lacks(ctx context.Context) (all []string) {
	if _, err := os.Stat(nvme.Fabrics); err != nil {
		_, err = run(ctx, "modprobe", "nvme-tcp")
		if err != nil {
			all = append(all, "it cannot connect over TCP: "+err.Error())
		}
	}
	if module, ok := fileSystems[l.FSType]; ok && module != "" {
		known, err := os.ReadFile("/proc/filesystems")
		if err == nil && !slices.Contains(strings.Fields(string(known)), l.FSType) {
			_, err = run(ctx, "modprobe", module)
		}
		if err != nil {
			all = append(all, "it cannot mount "+l.FSType+": "+err.Error())
		}
	}
	entries, err := os.ReadDir(l.Dir)
	mounted, mountErr := mountinfo.Mounted(l.Dir)
	switch {
	case mountErr == nil && mounted: // of no interest on the old host, which has the drive there
		all = append(all, "something is mounted at "+l.Dir+" already: umount "+l.Dir)
	case err != nil:
		all = append(all, "its mount point is missing: mkdir "+l.Dir)
	case len(entries) > 0:
		all = append(all, l.Dir+" is not empty there, and the drive would hide what it has")
	}
	return all
}

// unmountLost unmounts what a cut link left of a mount: one whose device the kernel removed, or whose file system shut
// down when I/O failed, which it stays when the device is back. Nothing can be written through it, and XFS refuses to
// mount the same file system beside it.
func (l local) unmountLost(ctx context.Context) error {
	mounts, err := mountinfo.GetMounts(func(m *mountinfo.Info) (skip, stop bool) { return m.Mountpoint != l.Dir, false })
	if err != nil || len(mounts) == 0 {
		return err
	}
	top := mounts[len(mounts)-1]
	if !strings.HasPrefix(top.Source, devices+"/") {
		return nil
	}
	_, err = os.Stat(filepath.Join(sysfs, "dev/block", fmt.Sprintf("%d:%d", top.Major, top.Minor)))
	if err == nil {
		_, err = os.ReadDir(l.Dir)
	}
	if !errors.Is(err, os.ErrNotExist) && !errors.Is(err, unix.EIO) {
		return err
	}
	_, err = run(ctx, "umount", l.Dir)
	return err
}

// unmount unmounts the drive where the move has it, never lazily: what is busy stays.
func (l local) unmount(ctx context.Context) error {
	if err := l.unmountLost(ctx); err != nil {
		return err
	}
	s, err := l.look(ctx)
	if err != nil || len(s.Mounts) == 0 {
		return err
	}
	if len(s.Mounts) > 1 || s.Mounts[0].Dir != l.Dir {
		return refused("the drive "+l.Drive.UUID, fmt.Sprintf("it is mounted at %v", dirs(s.Mounts)), "unmount the others")
	}
	if s.Running {
		return refused(l.Service.Name, "it runs again", "see what starts it")
	}
	if _, err := run(ctx, "sync", "-f", l.Dir); err != nil {
		return err
	}
	_, err = run(ctx, "umount", l.Dir)
	return err
}

func (l local) disconnect(ctx context.Context) error {
	s, err := l.look(ctx)
	if err != nil {
		return err
	}
	if len(s.Mounts) > 0 || len(s.Holders) > 0 {
		return (&Mover{Move: &l.Move}).inUse(s)
	}
	var all []error
	for _, c := range l.controllers() {
		all = append(all, c.Disconnect(ctx, sysfs, devices))
	}
	return errors.Join(all...)
}

func (l local) connect(ctx context.Context) error {
	host := nvme.HostNQN("/etc")
	link := nvme.Link{
		Transport: l.Drive.Transport,
		Addr:      l.Drive.Addr,
		Port:      l.Drive.Port,
		NQN:       l.Drive.NQN,
		HostNQN:   host,
	}
	if len(link.Find(sysfs)) == 0 {
		if _, err := link.Connect(ctx, nvme.HostID("/etc", host), "", nvme.Tuning{}); err != nil {
			return err
		}
	}
	for { // the kernel looks for namespaces once it is connected
		device, err := l.device()
		if err != nil {
			return err
		}
		if _, err := os.Stat(device); device != "" && err == nil {
			return nil
		}
		if err := journal.Pause(ctx, 20*time.Millisecond); err != nil {
			return fmt.Errorf("no device with UUID %s shows up: %w", l.Drive.UUID, err)
		}
	}
}

func (l local) mount(ctx context.Context) error {
	if err := l.unmountLost(ctx); err != nil {
		return err
	}
	s, err := l.look(ctx)
	switch {
	case err != nil:
		return err
	case len(s.Mounts) == 1 && s.Mounts[0].Dir == l.Dir:
		return nil
	case len(s.Mounts) > 0 || len(s.Holders) > 0:
		return (&Mover{Move: &l.Move}).inUse(s)
	case s.Device == "":
		return fmt.Errorf("no device has UUID %s", l.Drive.UUID)
	}
	_, err = run(ctx, "mount", "-t", l.FSType, "-o", l.Options, s.Device, l.Dir)
	return err
}

func (l local) targets() *nvmetarget.Targets {
	return &nvmetarget.Targets{State: l.state, Configfs: configfs.Root, Host: l.info,
		Allow: []stack.Permission{{Device: l.Drive.Device, Overlook: []hostinfo.Cause{hostinfo.CauseSignature}}}}
}

func (l local) lookTarget() (s TargetState, err error) {
	s.Boot, err = journal.BootID()
	if err != nil {
		return s, err
	}
	exports, err := l.targets().List()
	if err != nil {
		return s, err
	}
	for _, e := range exports {
		if e.NQN != l.Drive.NQN {
			continue
		}
		s.Exists, s.AllowAny, s.Hosts, s.Foreign = true, e.AllowAny, e.Hosts, e.Journal == ""
		for _, h := range e.Hosts {
			key := configfs.Get(filepath.Join(configfs.Root, "nvmet/hosts", h), "dhchap_key")
			s.Secret = s.Secret || key != ""
		}
		if s.Foreign {
			return s, nil
		}
		kept, err := l.kept(e.Journal)
		if err != nil {
			return s, err
		}
		s.Half = !kept || len(e.Ports) != 1 || len(e.Namespaces) != 1 || !e.Namespaces[0].Enabled
		if s.Half {
			return s, nil
		}
		n := e.Namespaces[0]
		s.Drive = Drive{NQN: e.NQN, UUID: n.UUID, Device: n.Device, Transport: e.Ports[0]}
		transport, address, ok := strings.Cut(e.Ports[0], " ")
		if colon := strings.LastIndexByte(address, ':'); ok && colon > 0 {
			s.Drive.Transport, s.Drive.Addr, s.Drive.Port = transport, strings.Trim(address[:colon], "[]"), address[colon+1:]
		}
	}
	return s, nil
}

// kept reports whether an export is complete.
func (l local) kept(run string) (bool, error) {
	j, err := journal.Open(l.state, run)
	if err != nil {
		return false, fmt.Errorf("the export %s: %w", run, err)
	}
	return j.Kept(), j.Close()
}

// revoke takes the subsystem away: the kernel ends its controllers, and waits for what they were doing. To take only
// the host out of its list would leave a connection that stands.
func (l local) revoke(ctx context.Context) error {
	s, err := l.lookTarget()
	switch {
	case err != nil:
		return err
	case !s.Exists || s.Only(l.ToNQN):
		return nil
	case s.Foreign || !s.Half && !s.Only(l.FromNQN):
		return (&Mover{Move: &l.Move}).strange(s)
	}
	_, err = l.targets().Unexport(ctx, l.Drive.NQN)
	return err
}

// allow exports the drive anew, to the new host alone.
func (l local) allow(ctx context.Context) error {
	s, err := l.lookTarget()
	switch {
	case err != nil:
		return err
	case s.Only(l.ToNQN):
		return nil
	case s.Exists:
		return (&Mover{Move: &l.Move}).strange(s)
	case s.Boot != l.Boot:
		return refused("target "+l.Target, "it was booted since, and "+l.Drive.Device+" may be another drive now", "")
	}
	_, err = l.targets().Export(ctx, nvmetarget.Export{
		Device: l.Drive.Device, NQN: l.Drive.NQN, UUID: l.Drive.UUID, Hosts: []string{l.ToNQN},
		Port: nvmetarget.Port{Transport: l.Drive.Transport, Addr: l.Drive.Addr, Service: l.Drive.Port},
	})
	return err
}

// remote is a machine to which steps are sent; Here is this one.
type remote struct {
	machine string
	move    *Move
}

// NewMover returns a mover that speaks to the machines of a move.
func NewMover(m *Move) *Mover {
	return &Mover{Move: m, Old: host{remote{m.From, m}}, New: host{remote{m.To, m}}, At: target{remote{m.Target, m}}}
}

// ask has the machine do a step.
func (m remote) ask(ctx context.Context, step string) (r reply, err error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	q := request{step, *m.move}
	if m.machine == Here {
		return r, do(ctx, q, &r, m.move.State)
	}
	text, err := json.Marshal(q)
	if err != nil {
		return r, err
	}
	out, err := clienthost.Call(ctx, m.machine, "exec plimsoll "+StepCommand, strings.NewReader(string(text)))
	if err != nil {
		return r, err
	}
	err = json.Unmarshal([]byte(out), &r)
	if err != nil {
		err = errors.New("its plimsoll does not answer: " + printable.Line(printable.Shorten(out, mostShown)))
	} else {
		err = r.check()
	}
	switch {
	case err != nil && problem.Of(err) != nil:
		return reply{}, fmt.Errorf("%s: %w", m.machine, err)
	case err != nil:
		return reply{}, problem.New(problem.Unsupported, m.machine, err.Error(), "install the same plimsoll on each machine")
	}
	if r.Error != "" {
		if r.Kind == problem.Failed {
			return r, errors.New(r.Error)
		}
		return r, problem.New(r.Kind, m.machine, r.Error, "")
	}
	return r, nil
}

func (m remote) do(ctx context.Context, step string) error {
	_, err := m.ask(ctx, step)
	return err
}

// host implements Host.
type host struct{ remote }

// Look implements Host.
func (h host) Look(ctx context.Context) (HostState, error) {
	r, err := h.ask(ctx, "look")
	return r.Host, err
}

// Stop implements Host.
func (h host) Stop(ctx context.Context) error { return h.do(ctx, "stop") }

// Unmount implements Host.
func (h host) Unmount(ctx context.Context) error { return h.do(ctx, "unmount") }

// Disconnect implements Host.
func (h host) Disconnect(ctx context.Context) error { return h.do(ctx, "disconnect") }

// Connect implements Host.
func (h host) Connect(ctx context.Context) error { return h.do(ctx, "connect") }

// Mount implements Host.
func (h host) Mount(ctx context.Context) error { return h.do(ctx, "mount") }

// Start implements Host.
func (h host) Start(ctx context.Context) error { return h.do(ctx, "start") }

// target implements Target.
type target struct{ remote }

// Look implements Target.
func (t target) Look(ctx context.Context) (TargetState, error) {
	r, err := t.ask(ctx, "look-target")
	return r.Target, err
}

// Revoke implements Target.
func (t target) Revoke(ctx context.Context) error { return t.do(ctx, "revoke") }

// Allow implements Target.
func (t target) Allow(ctx context.Context) error { return t.do(ctx, "allow") }
