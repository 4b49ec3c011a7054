package hosttest

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"plimsoll/internal/host/configfs"
)

// Configfs is a directory that behaves like the kernel's configfs with nvmet
// in it, as drivers/nvme/target/configfs.c has it: a mkdir brings attributes
// and groups with it, an rmdir is refused while something is in the object or
// leads to it, and values are refused where the kernel refuses them.
type Configfs struct{ Root string }

// NewConfigfs makes such a directory and has it answer in the kernel's place
// until the test ends.
func NewConfigfs(t testing.TB) Configfs {
	t.Helper()
	c := Configfs{t.TempDir()}
	for _, d := range []string{"subsystems", "hosts", "ports"} {
		if err := os.MkdirAll(filepath.Join(c.Root, "nvmet", d), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	c.Answer()
	t.Cleanup(configfs.Restore)
	return c
}

// Answer has the directory answer in this process, for as long as that lives.
func (c Configfs) Answer() { configfs.Replace(c) }

// kinds of objects, by their path below nvmet with stars for names: their
// attributes with what they are at first, and their groups.
var kinds = map[string]struct {
	attributes map[string]string
	groups     []string
}{
	"subsystems/*": {
		map[string]string{"attr_allow_any_host": "0", "attr_serial": "0123456789abcdef0123", "attr_model": "Linux"},
		[]string{"namespaces", "allowed_hosts"},
	},
	"subsystems/*/namespaces/*": {
		map[string]string{"device_path": "(null)", "device_uuid": "00000000-0000-0000-0000-000000000000",
			"device_nguid": "00000000-0000-0000-0000-000000000000", "enable": "0"}, nil,
	},
	"hosts/*": {map[string]string{"dhchap_key": ""}, nil},
	"ports/*": {
		map[string]string{"addr_trtype": "", "addr_adrfam": "", "addr_traddr": "", "addr_trsvcid": "",
			"param_inline_data_size": "-1"},
		[]string{"subsystems", "referrals"},
	},
}

// parts splits a path below nvmet.
func (c Configfs) parts(path string) []string {
	rel, err := filepath.Rel(filepath.Join(c.Root, "nvmet"), path)
	if err != nil {
		return nil
	}
	return strings.Split(rel, "/")
}

func (c Configfs) kind(path string) string {
	p := c.parts(path)
	for i := 1; i < len(p); i += 2 {
		p[i] = "*"
	}
	return strings.Join(p, "/")
}

// Mkdir implements configfs.Kernel.
func (c Configfs) Mkdir(path string) error {
	kind, ok := kinds[c.kind(path)]
	if !ok {
		return &os.PathError{Op: "mkdir", Path: path, Err: unix.EPERM}
	}
	if err := os.Mkdir(path, 0o755); err != nil {
		return err
	}
	for name, value := range kind.attributes {
		if err := os.WriteFile(filepath.Join(path, name), []byte(value+"\n"), 0o644); err != nil {
			return err
		}
	}
	for _, group := range kind.groups {
		if err := os.Mkdir(filepath.Join(path, group), 0o755); err != nil {
			return err
		}
	}
	return nil
}

// Rmdir implements configfs.Kernel.
func (c Configfs) Rmdir(path string) error {
	refuse := func(err error) error { return &os.PathError{Op: "rmdir", Path: path, Err: err} }
	if _, err := os.Stat(path); err != nil {
		return refuse(unix.ENOENT)
	}
	if c.linked(path) {
		return refuse(unix.EBUSY)
	}
	for _, group := range kinds[c.kind(path)].groups {
		if in, _ := os.ReadDir(filepath.Join(path, group)); len(in) > 0 {
			return refuse(unix.ENOTEMPTY)
		}
	}
	return os.RemoveAll(path)
}

// linked reports whether a link leads to the object.
func (c Configfs) linked(path string) (found bool) {
	_ = filepath.WalkDir(c.Root, func(name string, d fs.DirEntry, err error) error {
		if err == nil && d.Type()&fs.ModeSymlink != 0 {
			if to, err := os.Readlink(name); err == nil && to == path {
				found = true
			}
		}
		return nil
	})
	return found
}

// Write implements configfs.Kernel.
func (c Configfs) Write(path, value string) error {
	refuse := func(err error) error { return &os.PathError{Op: "write", Path: path, Err: err} }
	if _, err := os.Stat(path); err != nil {
		return refuse(unix.ENOENT)
	}
	dir, name := filepath.Dir(path), filepath.Base(path)
	switch enabled := configfs.Get(dir, "enable") == "1"; {
	case name == "enable" && value == "1":
		device := configfs.Get(dir, "device_path")
		if _, err := os.Stat(device); err != nil {
			return refuse(unix.ENOENT)
		}
	case strings.HasPrefix(name, "device_") && enabled:
		return refuse(unix.EBUSY)
	case strings.HasPrefix(name, "addr_"), strings.HasPrefix(name, "param_"):
		if in, _ := os.ReadDir(filepath.Join(dir, "subsystems")); len(in) > 0 {
			return refuse(unix.EACCES)
		}
	case name == "attr_serial" && len(value) > 20:
		return refuse(unix.EINVAL)
	}
	return os.WriteFile(path, []byte(value+"\n"), 0o644)
}

// Symlink implements configfs.Kernel.
func (c Configfs) Symlink(target, path string) error {
	refuse := func(err error) error { return &os.LinkError{Op: "symlink", Old: target, New: path, Err: err} }
	want, group := "hosts/*", "allowed_hosts"
	if c.parts(path)[0] == "ports" {
		want, group = "subsystems/*", "subsystems"
	}
	dir := filepath.Dir(path)
	if c.kind(target) != want || filepath.Base(dir) != group {
		return refuse(unix.EINVAL)
	}
	if _, err := os.Stat(target); err != nil {
		return refuse(unix.ENOENT)
	}
	if port := filepath.Dir(dir); group == "subsystems" {
		if configfs.Get(port, "addr_trtype") == "" {
			return refuse(unix.EINVAL)
		}
		if in, _ := os.ReadDir(dir); len(in) == 0 && c.listens(port) {
			return refuse(unix.EADDRINUSE)
		}
	} else if configfs.Get(filepath.Dir(dir), "attr_allow_any_host") == "1" {
		return refuse(unix.EINVAL)
	}
	return os.Symlink(target, path)
}

// listens reports whether another port that is in use has the same address.
func (c Configfs) listens(port string) bool {
	address := func(dir string) string {
		return fmt.Sprint(configfs.Get(dir, "addr_trtype"), configfs.Get(dir, "addr_traddr"),
			configfs.Get(dir, "addr_trsvcid"))
	}
	ports, _ := filepath.Glob(filepath.Join(c.Root, "nvmet/ports/*"))
	for _, o := range ports {
		if in, _ := os.ReadDir(filepath.Join(o, "subsystems")); o != port && len(in) > 0 && address(o) == address(port) {
			return true
		}
	}
	return false
}

// Unlink implements configfs.Kernel.
func (c Configfs) Unlink(path string) error { return os.Remove(path) }

// Tree lists all objects and links below nvmet, with their attributes, one a
// line.
func (c Configfs) Tree() string {
	var out strings.Builder
	top := filepath.Join(c.Root, "nvmet")
	_ = filepath.WalkDir(top, func(name string, d fs.DirEntry, err error) error {
		rel := strings.TrimPrefix(name, top+"/")
		switch {
		case err != nil || name == top:
		case d.IsDir():
			fmt.Fprintf(&out, "%s/\n", rel)
		case d.Type()&fs.ModeSymlink != 0:
			to, _ := os.Readlink(name)
			fmt.Fprintf(&out, "%s -> %s\n", rel, strings.TrimPrefix(to, top+"/"))
		default:
			fmt.Fprintf(&out, "%s = %s\n", rel, configfs.Get(filepath.Dir(name), d.Name()))
		}
		return nil
	})
	return out.String()
}
