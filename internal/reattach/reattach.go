// Package reattach moves a service and its drive from one host to another. The drive is a namespace of an NVMe over
// Fabrics target: no data is copied, the other host connects to it.
//
// One rule says which way a move that was cut short goes: before the target has revoked the old host, back; from then
// on, forward. What is done is looked up on the machines, never remembered. So each step can be repeated.
//
// Hazards. Two hosts that mount the same file system destroy it. A kernel's target lets a host that it allows no more
// go on with a connection that it has. So revoking takes the subsystem away, with its controllers, and allowing makes
// it anew for the other host alone.
package reattach

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"plimsoll/internal/problem"
)

// Mount is where a drive is mounted.
type Mount struct {
	Dir      string
	FSType   string
	Options  string // of the mount: "rw,noatime"
	ReadOnly bool
}

// HostState is what a host has of the service and the drive.
type HostState struct {
	HostNQN     string   // by which the target knows it
	Running     bool     // the service
	Controllers []string // that lead to the subsystem: "nvme3"
	Device      string   // with the UUID of the drive: "/dev/nvme3n1"; "" for none
	Mounts      []Mount  // of that device
	Holders     []string // other than these mounts: partitions, device mapper, swap
	Lacks       []string // what it would need to take the drive
}

// detached reports whether nothing of the host can write to the drive.
func (s HostState) detached() bool {
	return !s.Running && len(s.Mounts) == 0 && len(s.Holders) == 0 && len(s.Controllers) == 0
}

// TargetState is what a target has of the subsystem.
type TargetState struct {
	Boot     string // of its kernel: exports do not outlive it
	Exists   bool
	Half     bool // being made or taken away when that was cut short
	AllowAny bool
	Hosts    []string
	Foreign  bool // not an export of Plimsoll
	Secret   bool // hosts need a secret
	Drive    Drive
}

// Only reports whether the target lets this host in, and no other.
func (s TargetState) Only(nqn string) bool {
	return s.Exists && !s.Half && !s.AllowAny && slices.Equal(s.Hosts, []string{nqn})
}

// Host is a machine that can have the drive. Each method does nothing where its work is done already.
type Host interface {
	Look(ctx context.Context) (HostState, error)
	Stop(ctx context.Context) error
	Unmount(ctx context.Context) error // and sync
	Disconnect(ctx context.Context) error
	Connect(ctx context.Context) error
	Mount(ctx context.Context) error
	Start(ctx context.Context) error
}

// Target is the machine with the drive.
type Target interface {
	Look(ctx context.Context) (TargetState, error)
	Revoke(ctx context.Context) error // no host can reach the drive any more when it returns
	Allow(ctx context.Context) error  // the new host, and no other
}

// Mover moves a drive.
type Mover struct {
	*Move
	Old, New Host
	At       Target
	Trace    func(text string) // what is done now; nil for silence
}

// step announces and does one step.
func (m *Mover) step(ctx context.Context, text string, do func(context.Context) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if m.Trace != nil {
		m.Trace(text)
	}
	err := do(ctx)
	if err != nil {
		return fmt.Errorf("%s: %w", text, err)
	}
	return nil
}

// Run moves the drive. Where it fails, Settle says what becomes of it.
func (m *Mover) Run(ctx context.Context) error {
	if !m.FromGone {
		if err := m.detach(ctx); err != nil {
			return err
		}
	}
	if err := m.revoke(ctx); err != nil {
		return err
	}
	return m.forward(ctx)
}

// detach stops the service on the old host, and takes the drive from it.
func (m *Mover) detach(ctx context.Context) error {
	for _, s := range []struct {
		text string
		do   func(context.Context) error
	}{
		{"stop " + m.Service.Name + " on " + m.From, m.Old.Stop},
		{"sync and unmount " + m.Dir + " on " + m.From, m.Old.Unmount},
		{"disconnect " + m.From, m.Old.Disconnect},
	} {
		if err := m.step(ctx, s.text, s.do); err != nil {
			return err
		}
	}
	return m.step(ctx, "verify that "+m.From+" has nothing of the drive", func(ctx context.Context) error {
		s, err := m.Old.Look(ctx)
		if err == nil && !s.detached() {
			err = m.inUse(s)
		}
		return err
	})
}

func (m *Mover) inUse(s HostState) error {
	var uses []string
	if s.Running {
		uses = append(uses, m.Service.Name+" runs")
	}
	for _, at := range s.Mounts {
		uses = append(uses, "it is mounted on "+at.Dir)
	}
	for _, h := range s.Holders {
		uses = append(uses, h+" holds it")
	}
	for _, c := range s.Controllers {
		uses = append(uses, c+" is connected")
	}
	return refused("the drive "+m.Drive.UUID+" on "+m.From, strings.Join(uses, ", "), "end that, and move again")
}

func (m *Mover) revoke(ctx context.Context) error {
	return m.step(ctx, "revoke "+m.FromNQN+" on "+m.Target, m.At.Revoke)
}

// forward has the new host take the drive.
func (m *Mover) forward(ctx context.Context) error {
	if err := m.step(ctx, "allow "+m.ToNQN+" on "+m.Target, m.At.Allow); err != nil {
		return err
	}
	if err := m.step(ctx, "verify that "+m.Target+" allows no other host", func(ctx context.Context) error {
		s, err := m.At.Look(ctx)
		if err == nil && !s.Only(m.ToNQN) {
			err = m.strange(s)
		}
		return err
	}); err != nil {
		return err
	}
	return m.attach(ctx, m.New, m.To)
}

// attach connects a host, mounts the drive and starts the service.
func (m *Mover) attach(ctx context.Context, h Host, name string) error {
	for _, s := range []struct {
		text string
		do   func(context.Context) error
	}{
		{"connect " + name, h.Connect},
		{"mount " + m.Dir + " on " + name, h.Mount},
		{"start " + m.Service.Name + " on " + name, h.Start},
	} {
		if err := m.step(ctx, s.text, s.do); err != nil {
			return err
		}
	}
	return m.step(ctx, "verify that "+m.Service.Name+" runs on "+name, func(ctx context.Context) error {
		s, err := h.Look(ctx)
		if err == nil && (!s.Running || len(s.Mounts) != 1 || s.Mounts[0].Dir != m.Dir || s.Mounts[0].ReadOnly) {
			err = fmt.Errorf("running: %t, mounted: %v; see its log there", s.Running, s.Mounts)
		}
		return err
	})
}

// Settle finishes a move that was cut short, or takes it back. moved reports which.
func (m *Mover) Settle(ctx context.Context) (moved bool, err error) {
	s, err := m.At.Look(ctx)
	if err != nil {
		return false, fmt.Errorf("whether %s is revoked is unknown: %w", m.FromNQN, err)
	}
	switch {
	case s.Only(m.FromNQN) && m.FromGone:
		return false, nil // nothing was changed
	case s.Only(m.FromNQN):
		return false, m.attach(ctx, m.Old, m.From)
	case s.Only(m.ToNQN):
		return true, m.forward(ctx)
	case s.Boot != m.Boot:
		return false, refused("target "+m.Target, "it was booted since, and its exports ended with that",
			fmt.Sprintf("there, plimsoll target export DEVICE --nqn %s --uuid %s --allow-host NQN, with the NQN of the "+
				"host that is to have the drive; then plimsoll clean", m.Drive.NQN, m.Drive.UUID))
	case s.Exists && !s.Half:
		return false, m.strange(s)
	}
	if s.Half {
		if err := m.revoke(ctx); err != nil {
			return true, err
		}
	}
	return true, m.forward(ctx)
}

func (m *Mover) strange(s TargetState) error {
	hosts := strings.Join(s.Hosts, ", ")
	if s.AllowAny {
		hosts = "any host"
	}
	return refused("subsystem "+m.Drive.NQN, "the target allows "+hosts+", and not one of the two hosts alone",
		"see on the target who changed it (plimsoll target list)")
}

// Check returns an error if a move is impossible or unsafe. It changes nothing.
func (m *Mover) Check(t TargetState, old, next HostState) error {
	drive := "the drive " + m.Drive.UUID
	var problems problem.List
	refuse := func(wrong bool, what, why, remedy string) {
		if wrong {
			problems = append(problems, problem.Problem{Kind: problem.Protected, What: what, Why: why, Remedy: remedy})
		}
	}
	refuse(m.FromNQN == m.ToNQN, "host NQN "+m.ToNQN, "both hosts have it, so that the target cannot distinguish them",
		"give one of them its own: nvme gen-hostnqn > /etc/nvme/hostnqn")
	refuse(t.Foreign, "subsystem "+m.Drive.NQN, "plimsoll did not export it",
		"export the drive with plimsoll target export")
	refuse(t.Secret, "subsystem "+m.Drive.NQN, "its hosts need a DH-HMAC-CHAP secret, which a move does not carry",
		"move it by hand")
	refuse(m.Drive.Transport != "tcp", "subsystem "+m.Drive.NQN,
		"it is exported over "+m.Drive.Transport+", and moves are tried over TCP alone", "export it over tcp")
	if !t.Foreign && !t.Only(m.FromNQN) {
		problems = append(problems, *problem.Of(m.strange(t), problem.Protected))
	}
	if !m.FromGone {
		refuse(!old.Running, m.Service.Name+" on "+m.From, "it does not run", "start it, or name another")
		mounted := len(old.Mounts) == 1 && old.Mounts[0].Dir == m.Dir
		refuse(
			!mounted,
			drive+" on "+m.From,
			fmt.Sprintf("it is mounted at %v, and not at %s alone", dirs(old.Mounts), m.Dir),
			"unmount the others, or name its mount point with --mount",
		)
		refuse(mounted && old.Mounts[0].ReadOnly, drive+" on "+m.From, "it is mounted read-only, as after an error",
			"check the file system first (dmesg, fsck)")
		refuse(len(old.Holders) > 0, drive+" on "+m.From, strings.Join(old.Holders, ", ")+" holds it",
			"end what holds it")
	}
	refuse(next.Running, m.Service.Name+" on "+m.To, "it runs there already", "stop it there")
	refuse(len(next.Controllers)+len(next.Mounts) > 0, drive+" on "+m.To, "that host is connected to it already",
		"disconnect it there")
	for _, l := range next.Lacks {
		problems = append(problems, problem.Problem{Kind: problem.Unsupported, What: m.To, Why: l})
	}
	return problems.Err()
}

func dirs(all []Mount) (out []string) {
	for _, m := range all {
		out = append(out, m.Dir)
	}
	return out
}

// refused returns a problem of what must not be done.
func refused(what, why, remedy string) error {
	return problem.New(problem.Protected, what, why, remedy)
}
