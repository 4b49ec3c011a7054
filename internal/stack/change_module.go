package stack

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"plimsoll/internal/state/journal"
)

func init() { journal.Register("module", func() journal.Change { return new(Module) }) }

// Module is a kernel module that was loaded, with those that it needs.
type Module struct {
	Name string
	Adds []string // what was not loaded before, in the order of loading; filled in by Do
	Boot string   // filled in by Do

	// Held are modules that are loaded for several changes: the last change to be undone unloads it.
	Held []string `json:"-"`
}

// LoadedModules returns the modules that changes have loaded since the kernel started.
func LoadedModules(changes ...journal.Change) []string {
	boot, err := journal.BootID()
	if err != nil {
		return nil
	}
	var modules []string
	for _, c := range changes {
		if m, ok := c.(*Module); ok && m.Boot == boot {
			modules = append(modules, m.Adds...)
		}
	}
	return modules
}

// Needed reports whether the change must load the module, or share it with changes in Held. loadable reports whether
// the module is available and not loaded.
func (c *Module) Needed(loadable bool) bool {
	return loadable || slices.Contains(c.Held, underscored(c.Name))
}

// underscored returns a module's name as the kernel spells it.
func underscored(name string) string { return strings.ReplaceAll(name, "-", "_") }

// What implements Change.
func (c *Module) What() string { return "load kernel module " + c.Name }

// Prepare asks modprobe which modules it would load. After a crash, the earlier state would be unknown.
func (c *Module) Prepare() error {
	var err error
	c.Boot, err = journal.BootID()
	if err != nil {
		return err
	}
	out, err := modprobe("--show-depends", c.Name)
	if err != nil {
		return err
	}
	for l := range strings.Lines(out) {
		f := strings.Fields(l)
		if len(f) < 2 || f[0] != "insmod" {
			continue // builtin
		}
		name, _, _ := strings.Cut(filepath.Base(f[1]), ".ko")
		name = underscored(name)
		if !moduleLoaded(name) || slices.Contains(c.Held, name) {
			c.Adds = append(c.Adds, name)
		}
	}
	return nil
}

var (
	// ownModules matches the modules that plimsoll loads.
	ownModules = regexp.MustCompile(`^(nvme|nvmet)(-(tcp|rdma|loop))?$`)
	// moduleName matches the name of any module.
	moduleName = regexp.MustCompile(`^[A-Za-z0-9_]+$`)
)

// Check implements Change.
func (c *Module) Check(s journal.Scope) error {
	err := s.Matches("module that plimsoll loads", c.Name, ownModules)
	for _, name := range c.Adds {
		err = errors.Join(err, s.Matches("kernel module", name, moduleName))
	}
	return err
}

// Make loads the module.
func (c *Module) Make() error {
	_, err := modprobe(c.Name)
	return err
}

func modprobe(args ...string) (string, error) {
	var stderr bytes.Buffer
	cmd := exec.Command("modprobe", args...)
	cmd.Env = append(os.Environ(), "LC_ALL=C")
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("modprobe %s: %w: %s", strings.Join(args, " "), err, strings.TrimSpace(stderr.String()))
	}
	return string(out), nil
}

func moduleLoaded(name string) bool {
	_, err := os.Stat(filepath.Join("/sys/module", name))
	return err == nil
}

// stays names modules that are not unloaded: nvme_rdma, when its connection was
// cut. In Linux 6.1, RDMA's connection manager may still call into it when that
// connection is gone, which the kernel does not survive if the module is, too.
// That is forgotten with this process; a module that is loaded does no harm.
var stays = map[string]bool{}

// Undo unloads the modules, last first. The kernel refuses to unload a module that is used by now, and so keeps those
// that it depends on.
func (c *Module) Undo(context.Context, string) error {
	boot, err := journal.BootID()
	if err != nil || boot != c.Boot {
		return err
	}
	var errs []error
	for _, name := range slices.Backward(c.Adds) {
		if stays[name] {
			continue
		}
		err := unix.DeleteModule(name, unix.O_NONBLOCK)
		if err != nil && !errors.Is(err, unix.ENOENT) && !errors.Is(err, unix.EWOULDBLOCK) && !errors.Is(err, unix.EBUSY) {
			errs = append(errs, fmt.Errorf("unload module %s: %w", name, err))
		}
	}
	return errors.Join(errs...)
}
