package nvmetarget

import (
	"context"
	"errors"
	"fmt"
	"os"
	"regexp"

	"plimsoll/internal/host/configfs"
	"plimsoll/internal/state/journal"
)

func init() {
	journal.Register("configdir", func() journal.Change { return new(objectChange) })
	journal.Register("configlink", func() journal.Change { return new(linkChange) })
}

// objectChange is an object of the kernel that was made by a mkdir in configfs.
type objectChange struct {
	Path   string
	Object string // description for people: "NVMe-oF subsystem nqn.…"

	// Own are values, relative to Path, that the run's object and no other has.
	// While Set is false the object may not have been given them yet.
	Own []configfs.Attribute
	Set bool // filled in by Do

	Off    string // attribute that is set to 0 before the object ends; "" for none
	Shared bool   // another export may have made it, and may still need it: the last one removes it

	Boot string // the kernel's boot id, filled in by Do: nothing here outlives the kernel
}

// What implements Change.
func (c *objectChange) What() string { return "make " + c.Object }

// Prepare implements Change.
func (c *objectChange) Prepare() error {
	var err error
	c.Boot, err = journal.BootID()
	if err != nil {
		return err
	}
	if _, err := os.Lstat(c.Path); err == nil && !c.Shared {
		return fmt.Errorf("%s: %w", c.Path, os.ErrExist)
	}
	return nil
}

// Objects and links of an NVMe-oF target, below where configfs is mounted.
var (
	nvmetObject = regexp.MustCompile(
		`^/.*/nvmet/(subsystems/nqn\.[^/]+(/namespaces/[0-9]+)?|hosts/nqn\.[^/]+|ports/[0-9]+)$`,
	)
	nvmetLink = regexp.MustCompile(
		`^/.*/nvmet/(subsystems/nqn\.[^/]+/allowed_hosts|ports/[0-9]+/subsystems)/nqn\.[^/]+$`,
	)
	attribute = regexp.MustCompile(`^[a-z][a-z0-9_]*$`)
)

// checkObject returns an error if a path is no object of a target in configfs.
func checkObject(s journal.Scope, path string, pattern *regexp.Regexp, attributes []configfs.Attribute) error {
	if s.CleanPath(path) != nil || !pattern.MatchString(path) || !configfs.Holds(path) {
		return s.Foreign("%q is no part of an NVMe-oF target in configfs", path)
	}
	for _, a := range attributes {
		if err := s.Matches("attribute", a.Name, attribute); err != nil {
			return err
		}
	}
	return nil
}

// Check implements Change.
func (c *objectChange) Check(s journal.Scope) error {
	return errors.Join(checkObject(s, c.Path, nvmetObject, c.Own),
		s.OneOf("attribute that ends an object", c.Off, "", "enable"))
}

// Make makes the object, sets the attributes that it is recognised by, and then the others.
func (c *objectChange) Make(attributes ...configfs.Attribute) error {
	if err := configfs.Mkdir(c.Path); err != nil {
		if c.Shared && errors.Is(err, os.ErrExist) {
			c.Set = true
			return nil
		}
		return err
	}
	if err := configfs.Set(c.Path, c.Own...); err != nil {
		return err
	}
	c.Set = true
	return configfs.Set(c.Path, attributes...)
}

// Stands reports whether the object exists and is the one that was made.
func (c *objectChange) Stands() bool {
	boot, err := journal.BootID()
	if err != nil || boot != c.Boot {
		return false
	}
	_, err = os.Stat(c.Path)
	return err == nil && configfs.Is(c.Path, c.Own...)
}

// Undo removes the object if it is the run's. An object with other values was made by another program since. An object
// without values yet is the run's as long as it is empty; the kernel's rmdir refuses any other.
func (c *objectChange) Undo(context.Context, string) error {
	if _, err := os.Lstat(c.Path); errors.Is(err, os.ErrNotExist) {
		return nil
	}
	boot, err := journal.BootID()
	if err != nil || boot != c.Boot {
		return err
	}
	unchanged := configfs.Is(c.Path, c.Own...)
	if !unchanged && c.Set {
		return nil
	}
	if unchanged && c.Off != "" {
		if err := configfs.Set(c.Path, configfs.Attribute{Name: c.Off, Value: "0"}); err != nil &&
			!errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	err = configfs.Rmdir(c.Path)
	if configfs.InUse(err) {
		if c.Shared || !unchanged {
			return nil
		}
		return fmt.Errorf("%w: something that plimsoll did not make uses it (find %s -type l; ls %s/*)", err, configfs.Root,
			c.Path)
	}
	return err
}

// linkChange is a symbolic link in configfs, which joins two objects.
type linkChange struct {
	Path   string
	Target string
	Joins  string // description for people: "export … on port 4420"

	// Own are values, relative to Target, by which the object at either end is
	// known as the run's.
	Own []configfs.Attribute

	Boot string // filled in by Do
}

// What implements Change.
func (c *linkChange) What() string { return c.Joins }

// Prepare implements Change.
func (c *linkChange) Prepare() error {
	var err error
	c.Boot, err = journal.BootID()
	if err != nil {
		return err
	}
	if _, err := os.Lstat(c.Path); err == nil {
		return fmt.Errorf("%s: %w", c.Path, os.ErrExist)
	}
	return nil
}

// Check implements Change.
func (c *linkChange) Check(s journal.Scope) error {
	return errors.Join(checkObject(s, c.Path, nvmetLink, nil), checkObject(s, c.Target, nvmetObject, c.Own))
}

// Make makes the link.
func (c *linkChange) Make() error { return configfs.Link(c.Target, c.Path) }

// Undo implements Change.
func (c *linkChange) Undo(context.Context, string) error {
	link, err := os.Stat(c.Path)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	boot, bootErr := journal.BootID()
	err = errors.Join(err, bootErr)
	if err != nil || boot != c.Boot {
		return err
	}
	target, err := os.Stat(c.Target)
	if err != nil || !os.SameFile(link, target) || !configfs.Is(c.Target, c.Own...) {
		return nil //nolint:nilerr // the link leads elsewhere: it is not the run's
	}
	return configfs.Unlink(c.Path)
}
