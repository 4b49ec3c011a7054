package reattach

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"plimsoll/internal/field"
	"plimsoll/internal/host/nvme"
	"plimsoll/internal/printable"
	"plimsoll/internal/problem"
	"plimsoll/internal/state/journal"
)

func init() { journal.Register("drivemove", func() journal.Change { return new(Move) }) }

// Drive is an exported namespace.
type Drive struct {
	NQN, UUID             string
	Device                string // of the target: "/dev/nvme1n1"
	Transport, Addr, Port string
}

// Service is what runs on the drive.
type Service struct {
	Kind string // "container" of Docker or "unit" of systemd
	Name string
}

// Move is all that is needed to finish a move, or to take it back. It has no secrets.
type Move struct {
	From, To, Target string // Here or ssh://USER@HOST
	FromNQN, ToNQN   string
	FromGone         bool // the old host has no power: it is not spoken to
	Drive            Drive
	Boot             string // of the target's kernel
	Dir              string
	FSType, Options  string
	Service          Service
	State            string // directory of the journal, for Here

	outcome string
}

// Outcome returns what became of a move that was settled: "finished" or "taken back"; "" for one that was not.
func (m *Move) Outcome() string { return m.outcome }

// Here is the name of the machine on which the command runs.
const Here = "here"

// JournalOf returns the name of the journal of a drive's moves. There is one at a time.
func JournalOf(nqn string) string {
	return "move-" + uuid.NewSHA1(uuid.NameSpaceURL, []byte(nqn)).String()
}

// What implements journal.Change.
func (m *Move) What() string {
	return fmt.Sprintf("move drive %s with %s from %s to %s", m.Drive.UUID, m.Service.Name, m.From, m.To)
}

// Prepare implements journal.Change.
func (m *Move) Prepare() error { return nil }

var (
	serviceName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.@-]{0,127}$`)
	devicePath  = regexp.MustCompile(`^/dev/[A-Za-z0-9][A-Za-z0-9_.:/-]*$`)
)

// fileSystems are those of drives that are moved, each with its module: what another machine names becomes a word of
// mount and modprobe.
var fileSystems = map[string]string{AnyFS: "", "btrfs": "btrfs", "ext2": "ext4", "ext3": "ext4", "ext4": "ext4",
	"f2fs": "f2fs", "xfs": "xfs"}

// mountOptions are those that the kernel has for a mount of any file system, and shows so.
var mountOptions = []string{"rw", "ro", "nosuid", "nodev", "noexec", "noatime", "nodiratime", "relatime", "nosymfollow"}

// checkMount refuses a file system, or an option of its mount, that no move mounts.
func checkMount(fsType, options string) error {
	if _, known := fileSystems[fsType]; !known {
		return problem.New(problem.Unsupported, fmt.Sprintf("file system %q", printable.Shorten(fsType, 40)),
			"moves know "+strings.Join(slices.Sorted(maps.Keys(fileSystems)), ", "), "move this drive by hand")
	}
	for option := range strings.SplitSeq(options, ",") {
		if !slices.Contains(mountOptions, option) {
			return problem.New(problem.Unsupported, fmt.Sprintf("mount option %q", printable.Shorten(option, 40)),
				"moves know "+strings.Join(mountOptions, ", "), "mount the file system without it, or move this drive by hand")
		}
	}
	return nil
}

// checkKnown is check for a move of which not all is known yet.
func (m *Move) checkKnown(s journal.Scope) error {
	if m.FSType == "" && m.Options == "" {
		return m.checkNames(s)
	}
	return errors.Join(m.checkNames(s), checkMount(m.FSType, m.Options))
}

// IsMachine reports whether text names a machine.
func IsMachine(text string) bool {
	_, ok := field.ParseSSHHost(text)
	return ok || text == Here
}

// Check implements journal.Change.
func (m *Move) Check(s journal.Scope) error {
	if s.Run() != JournalOf(m.Drive.NQN) {
		return s.Foreign("a journal called %q has no move of %q", s.Run(), m.Drive.NQN)
	}
	if m.State != s.State() {
		return s.Foreign("%q is not the directory of its journal", m.State)
	}
	return m.check(s)
}

// checkNames refuses names of what the user chose that could be an option of a program, or another place.
func (m *Move) checkNames(s journal.Scope) error {
	if filepath.Clean(m.Dir) != m.Dir || !filepath.IsAbs(m.Dir) || m.Dir == "/" {
		return s.Foreign("%q is no mount point of a drive", m.Dir)
	}
	return errors.Join(
		nvme.CheckNQN(m.Drive.NQN),
		s.OneOf("kind of service", m.Service.Kind, "container", "unit"),
		s.Matches("service", m.Service.Name, serviceName),
	)
}

// check refuses values that no move has. Another machine checks with them, too, before it acts.
func (m *Move) check(s journal.Scope) error {
	for _, machine := range []string{m.From, m.To, m.Target} {
		if !IsMachine(machine) {
			return s.Foreign("%q is no machine", machine)
		}
	}
	port, err := strconv.Atoi(m.Drive.Port)
	if err != nil || port < 1 || port > 65535 || net.ParseIP(m.Drive.Addr) == nil {
		return s.Foreign("%q port %q is no address of a target", m.Drive.Addr, m.Drive.Port)
	}
	if strings.Contains(m.Drive.Device, "..") {
		return s.Foreign("%q is no device", m.Drive.Device)
	}
	return errors.Join(
		m.checkNames(s), nvme.CheckNQN(m.FromNQN), nvme.CheckNQN(m.ToNQN), s.UUID(m.Drive.UUID),
		s.OneOf("transport", m.Drive.Transport, "tcp"),
		s.Matches("device", m.Drive.Device, devicePath),
		checkMount(m.FSType, m.Options),
	)
}

// Undo implements journal.Change: it finishes the move where the old host is revoked, and takes it back where not.
func (m *Move) Undo(ctx context.Context, _ string) error {
	moved, err := NewMover(m).Settle(ctx)
	if err != nil {
		return err
	}
	m.outcome = "taken back"
	if moved {
		m.outcome = "finished"
	}
	return nil
}
