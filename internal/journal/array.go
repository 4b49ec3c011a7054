package journal

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
)

// Array is an md array. It is known by its UUID, on its members and in the
// kernel, never by a number.
type Array struct {
	Name    string   // below /dev/md
	UUID    string   // 8-4-4-4-12 hexadecimal digits
	Members []Member // each with the UUID of the array
}

// What implements Change.
func (c *Array) What() string {
	return fmt.Sprintf("make md array %s of %s", c.Name, devicesOf(c.Members))
}

func (c *Array) precheck() error {
	learn(c.Members)
	return nil
}

// ownName is how what a run gives a name of its own is called, below /dev too.
var ownName = regexp.MustCompile(`^plimsoll-[A-Za-z0-9_.+-]+$`)

func (c *Array) check(scope) error {
	return errors.Join(fitting("name of a run's array", c.Name, ownName), checkUUID(c.UUID), checkMembers(c.Members))
}

func devicesOf(members []Member) string {
	var devices []string
	for _, m := range members {
		devices = append(devices, m.Device)
	}
	return strings.Join(devices, ", ")
}

// ArrayOn gives the kernel's name of the array with that UUID, running or not,
// that a member belongs to, and "" for none.
func ArrayOn(ctx context.Context, member, uuid string) string {
	for _, holder := range holders(member) {
		if strings.HasPrefix(holder, "md") && arrayUUID(ctx, holder) == uuid {
			return holder
		}
	}
	return ""
}

// arrayUUID asks the kernel, or mdadm where the kernel does not tell: before
// 6.1, and of an array that is not running.
func arrayUUID(ctx context.Context, name string) string {
	if b, err := os.ReadFile(filepath.Join("/sys/block", name, "md/uuid")); err == nil {
		if id := strings.ToLower(strings.TrimSpace(string(b))); strings.Trim(id, "0-") != "" {
			return id
		}
	}
	out, err := exec.CommandContext(ctx, "mdadm", "--detail", "--export", "/dev/"+name).Output()
	if err != nil {
		return ""
	}
	for line := range strings.Lines(string(out)) {
		if id, ok := strings.CutPrefix(strings.TrimSpace(line), "MD_UUID="); ok {
			hex := strings.ReplaceAll(strings.ToLower(id), ":", "")
			if len(hex) == 32 {
				return strings.Join([]string{hex[:8], hex[8:12], hex[12:16], hex[16:20], hex[20:]}, "-")
			}
		}
	}
	return ""
}

// undo stops the array, whatever the kernel calls it by now, and takes the
// members' signatures away. udev puts an array together again when it comes
// late to the news of a member, also when it was stopped meanwhile.
func (c *Array) undo(ctx context.Context, mark string) error {
	if err := killMarked(ctx, mark); err != nil {
		return err
	}
	err := insist(ctx, func() error {
		for _, m := range c.Members {
			if device := m.bearer(ctx); device != "" {
				if err := c.stop(ctx, device); err != nil {
					return err
				}
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	if err := wipe(ctx, c.Members, func(device string) error { return c.stop(ctx, device) }); err != nil {
		return err
	}
	// Without udev, mdadm makes the link itself and leaves it.
	link := filepath.Join("/dev/md", c.Name)
	if err := os.Remove(link); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	_ = os.Remove(filepath.Dir(link)) // not empty: there are other arrays
	return nil
}

func (c *Array) stop(ctx context.Context, member string) error {
	name := ArrayOn(ctx, member, c.UUID)
	if name == "" {
		return nil
	}
	if above := holders("/dev/" + name); len(above) > 0 {
		return fmt.Errorf("stop array %s: %s stands on it, which is not of this run: take that apart and clean again", name, strings.Join(above, ", "))
	}
	if out, err := exec.CommandContext(ctx, "mdadm", "--stop", "/dev/"+name).CombinedOutput(); err != nil {
		return fmt.Errorf("mdadm --stop /dev/%s: %w: %s", name, err, strings.TrimSpace(string(out)))
	}
	return nil
}
