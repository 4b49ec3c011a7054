// Package configfs makes, sets and removes the kernel's objects that are
// directories of configfs (Documentation/filesystems/configfs.rst): a mkdir
// makes an object with its attributes, a symbolic link joins two, and an rmdir
// ends one, which the kernel refuses while others stand on it.
//
// Hazards. What is written takes effect at once. Whoever makes something here
// journals it first (objectChange and linkChange of internal/stack/nvmetarget); nothing of it
// outlives the kernel.
package configfs

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// Root is where the kernel's configfs is mounted.
const Root = "/sys/kernel/config"

// Kernel is the set of system calls that this package makes.
type Kernel interface {
	Mkdir(path string) error
	Rmdir(path string) error
	Write(path, value string) error
	Symlink(target, path string) error
	Unlink(path string) error
}

// kernel is this host's own.
var kernel Kernel = system{}

// Replace routes calls to k instead of the kernel, for tests with a directory that behaves like configfs.
func Replace(k Kernel) { kernel = k }

// Restore routes calls to the kernel again.
func Restore() { kernel = system{} }

// Holds reports whether the place of an object is in configfs, or is not there.
func Holds(path string) bool {
	if _, real := kernel.(system); !real {
		return true
	}
	const magic = 0x62656570 // CONFIGFS_MAGIC of fs/configfs/mount.c
	var st unix.Statfs_t
	err := unix.Statfs(filepath.Dir(path), &st)
	return errors.Is(err, unix.ENOENT) || err == nil && st.Type == magic
}

type system struct{}

// Mkdir implements Kernel.
func (system) Mkdir(path string) error { return os.Mkdir(path, 0o755) }

// Rmdir implements Kernel.
func (system) Rmdir(path string) error { return pathError("rmdir", path, unix.Rmdir(path)) }

// Symlink implements Kernel.
func (system) Symlink(target, path string) error { return os.Symlink(target, path) }

// Unlink implements Kernel.
func (system) Unlink(path string) error { return pathError("unlink", path, unix.Unlink(path)) }

func (system) Write(path, value string) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_TRUNC, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString(value)
	return errors.Join(err, f.Close())
}

func pathError(op, path string, err error) error {
	if err == nil {
		return nil
	}
	return &os.PathError{Op: op, Path: path, Err: err}
}

// Mkdir makes an object.
func Mkdir(path string) error { return kernel.Mkdir(path) }

// Rmdir ends an object. One that is gone is no error.
func Rmdir(path string) error { return ignoreMissing(kernel.Rmdir(path)) }

// InUse reports whether err means that the object is in use: others depend on it, or are in it.
func InUse(err error) bool { return errors.Is(err, unix.EBUSY) || errors.Is(err, unix.ENOTEMPTY) }

// Link joins two objects: path is the link, target the object that it names.
func Link(target, path string) error { return kernel.Symlink(target, path) }

// Unlink ends a link. One that is gone is no error.
func Unlink(path string) error { return ignoreMissing(kernel.Unlink(path)) }

// ignoreMissing returns nil for an error that means that the file does not exist.
func ignoreMissing(err error) error {
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return err
}

// Attribute is one value to be set.
type Attribute struct{ Name, Value string }

// Set writes attributes of an object, in order. The error names the attribute, and the value unless it is secret. A
// secret becomes readable by root alone: by default the kernel shows it to everyone.
func Set(dir string, attributes ...Attribute) error {
	for _, a := range attributes {
		path := filepath.Join(dir, a.Name)
		var err error
		if isSecret(a.Name) {
			err = os.Chmod(path, 0o600)
		}
		if err == nil {
			err = kernel.Write(path, a.Value)
		}
		if err != nil {
			value := a.Value
			if isSecret(a.Name) {
				value = "(a secret)"
			}
			return fmt.Errorf("set %s of %s to %s: %w", a.Name, dir, value, err)
		}
	}
	return nil
}

// Shut keeps everyone but root out of a directory, until open is called.
func Shut(dir string) (open func(), err error) {
	info, err := os.Stat(dir)
	if err != nil {
		return nil, err
	}
	return func() { _ = os.Chmod(dir, info.Mode().Perm()) }, os.Chmod(dir, 0o700)
}

// isSecret reports whether an attribute's value must not be shown.
func isSecret(name string) bool { return strings.HasSuffix(name, "_key") }

// Get reads an attribute, without its newline; "" for one that is not there.
func Get(dir, name string) string {
	b, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(b))
}

// Is reports whether an object has all of these values.
func Is(dir string, attributes ...Attribute) bool {
	for _, a := range attributes {
		if Get(dir, a.Name) != a.Value {
			return false
		}
	}
	return true
}
