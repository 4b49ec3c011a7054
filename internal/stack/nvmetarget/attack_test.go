package nvmetarget

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"plimsoll/internal/host/configfs"
	"plimsoll/internal/host/hostinfo"
	"plimsoll/internal/iotrace/capture"
	"plimsoll/internal/stack"
	"plimsoll/internal/state/journal"
	"plimsoll/internal/testkit/hosttest"
)

const (
	aHost   = "nqn.2014-08.org.nvmexpress:uuid:11111111-2222-3333-4444-555555555555"
	aSecret = "DHHC-1:00:AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh+KfiaR:"
)

// watched is a kernel that remembers who else could have read a secret.
type watched struct {
	hosttest.Configfs

	t    *testing.T
	keys int
}

func (w *watched) Mkdir(path string) error {
	if filepath.Base(filepath.Dir(path)) == "hosts" {
		w.closed(filepath.Dir(path), "when a host is made")
	}
	return w.Configfs.Mkdir(path)
}

func (w *watched) Write(path, value string) error {
	if value == aSecret {
		w.keys++
		w.closed(path, "when the secret is written")
	}
	return w.Configfs.Write(path, value)
}

func (w *watched) closed(path, when string) {
	if info, err := os.Stat(path); err != nil || info.Mode().Perm()&0o077 != 0 {
		w.t.Errorf("%s, others may open %s: %v, %v", when, path, info.Mode(), err)
	}
}

// The kernel makes the attribute of a host's secret for everyone to read (0644): no other user opens it, not even
// before the secret is in it.
func TestAttackSecretInConfigfs(t *testing.T) {
	w := &watched{Configfs: hosttest.NewConfigfs(t), t: t}
	configfs.Replace(w)
	state := t.TempDir()
	j, err := journal.Create(state, journalPrefix+"secret")
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	targets := &Targets{State: state, Configfs: w.Root}
	subsystem := targets.subsystem("nqn.2026-01.test")
	if err := configfs.Mkdir(subsystem); err != nil {
		t.Fatal(err)
	}
	b := &builder{Targets: targets, ctx: t.Context(), journal: j, export: Export{Secret: aSecret}}
	if err := b.host(aHost, subsystem); err != nil {
		t.Fatal(err)
	}
	key := filepath.Join(w.Root, "nvmet/hosts", aHost)
	if w.keys != 1 || configfs.Get(key, "dhchap_key") != aSecret {
		t.Errorf("the secret was written %d times", w.keys)
	}
	w.closed(filepath.Join(key, "dhchap_key"), "while it is exported")
	if info, err := os.Stat(filepath.Dir(key)); err != nil || info.Mode().Perm() != 0o755 {
		t.Errorf("directory of hosts: %v, %v", info.Mode(), err)
	}
}

// aTarget is a host whose kernel has nvmet, and a device of it that may be overwritten by a name.
func aTarget(t *testing.T, root, name string) (*Targets, Export) {
	t.Helper()
	sys := t.TempDir()
	for _, dir := range []string{"class", "module/nvmet", "module/nvmet_tcp"} {
		if err := os.MkdirAll(filepath.Join(sys, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("/sys/class/block", filepath.Join(sys, "class/block")); err != nil {
		t.Fatal(err)
	}
	host := hostinfo.New()
	host.Roots.Sys = sys
	return &Targets{State: t.TempDir(), Configfs: root, Host: host, Allow: []stack.Permission{{Device: name}}},
		Export{Device: name, Hosts: []string{aHost}, Port: Port{Transport: "tcp", Addr: "127.0.0.1", Service: "4420"}}
}

func aLoop(t *testing.T) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "disk.img")
	if err := errors.Join(os.WriteFile(file, nil, 0o600), os.Truncate(file, 16<<20)); err != nil {
		t.Fatal(err)
	}
	return hosttest.Loop(t, file)
}

// A name that becomes another device's between the look at it and its export is not exported as the first.
func TestAttackDeviceThatBecomesAnother(t *testing.T) {
	hosttest.Exclusive(t)
	c := hosttest.NewConfigfs(t)
	link := filepath.Join(t.TempDir(), "device")
	if err := os.Symlink(aLoop(t), link); err != nil {
		t.Fatal(err)
	}
	other := aLoop(t)
	targets, export := aTarget(t, c.Root, link)
	release, err := targets.lock(t.Context()) // an export waits here, after its first look
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() {
		_, err := targets.Export(t.Context(), export)
		ended <- err
	}()
	for limit := time.Now().Add(5 * time.Minute); ; time.Sleep(time.Millisecond) {
		found, _ := filepath.Glob(filepath.Join(targets.State, "*", journalPrefix+"*"))
		if len(found) > 0 {
			break
		}
		if time.Now().After(limit) {
			t.Fatal("it makes no journal")
		}
	}
	err = errors.Join(os.Symlink(other, link+"-new"), os.Rename(link+"-new", link))
	release()
	if err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err == nil || !strings.Contains(err.Error(), "a moment ago") {
		t.Errorf("it was exported: %v\n%s", err, c.Tree())
	}
}

// What somebody prepared in a directory is not taken for the kernel's: nothing is made there, and no secret given.
func TestAttackTreeThatIsNotConfigfs(t *testing.T) {
	hosttest.Exclusive(t)
	device, root := aLoop(t), t.TempDir()
	for _, dir := range []string{"subsystems", "hosts", "ports"} {
		if err := os.MkdirAll(filepath.Join(root, "nvmet", dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	targets, export := aTarget(t, root, device)
	_, err := targets.Export(context.WithoutCancel(t.Context()), export)
	if err == nil || !strings.Contains(err.Error(), "is not in configfs") {
		t.Errorf("it says %v", err)
	}
}

// silent is a recorder that has seen nothing.
type silent struct{}

func (silent) Requests() ([]capture.NamespaceRequests, error) { return nil, nil }
func (silent) Lost() (uint64, error)                          { return 0, nil }

// Names of exports that other programs made from any bytes do not end what tells of them.
func TestAttackNamesOfExports(t *testing.T) {
	targets := exports(t, "/dev/\xff\"\n")
	subsystems := filepath.Join(targets.Configfs, "nvmet/subsystems")
	if err := os.Rename(filepath.Join(subsystems, testNQN), filepath.Join(subsystems, "nqn.\xff\"}\n")); err != nil {
		t.Fatal(err)
	}
	registry := prometheus.NewRegistry()
	registry.MustRegister(namespaces{targets}, requests{targets, silent{}})
	families, err := registry.Gather()
	if err != nil || len(families) == 0 {
		t.Errorf("%d are shown, %v", len(families), err)
	}
}
