package journal

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// Setting is one value of a file in sysfs or of a cgroup, such as the I/O scheduler of a device. The old value is read
// before the change is journalled.
type Setting struct {
	Path  string
	Value string // the value that the run sets
	Was   string // filled in by Do
	Boot  string // the kernel's boot id then, filled in by Do: no setting outlives the kernel
}

// What implements Change.
func (c *Setting) What() string { return fmt.Sprintf("set %s to %s", c.Path, c.Value) }

// Prepare reads the old value and the boot id.
func (c *Setting) Prepare() error {
	var err error
	c.Boot, err = BootID()
	if err != nil {
		return err
	}
	c.Was, _, err = Choices(c.Path)
	return err
}

// Make sets the value, and fails when the kernel does not say it back.
func (c *Setting) Make() error {
	if err := set(c.Path, c.Value); err != nil {
		return err
	}
	now, _, err := Choices(c.Path)
	if err == nil && now != c.Value {
		err = fmt.Errorf("%s: %s was written, and the kernel says %s", c.Path, c.Value, now)
	}
	return err
}

var (
	// blockSetting is a setting of a block device that a run makes.
	blockSetting = regexp.MustCompile(`^/sys/block/[A-Za-z0-9][A-Za-z0-9!_.-]*/(queue/scheduler|trace/enable)$`)
	// tracerSettings are the settings of a tracer that a recording changes.
	tracerSettings = []string{"buffer_size_kb", "trace_clock", "current_tracer", "tracing_on"}
	// memoryLimit is a limit of a cgroup that a probe lowers.
	memoryLimit = regexp.MustCompile(`^/sys/fs/cgroup/.*[^/]/memory\.(high|limit_in_bytes)$`)
	// settingValue matches valid values of settings.
	settingValue = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.:+-]{0,63}$`)
)

// Check implements Change.
func (c *Setting) Check(s Scope) error {
	if err := errors.Join(s.Matches("value of a setting", c.Value, settingValue),
		s.Matches("value of a setting", c.Was, settingValue)); err != nil {
		return err
	}
	if blockSetting.MatchString(c.Path) && !strings.Contains(c.Path, "..") {
		return nil
	}
	if s.CleanPath(c.Path) == nil && slices.Contains(tracerSettings, filepath.Base(c.Path)) &&
		onTracefs(filepath.Dir(c.Path)) {
		return nil
	}
	if memoryLimit.MatchString(c.Path) && s.CleanPath(c.Path) == nil && onCgroups(filepath.Dir(c.Path)) {
		return nil
	}
	return s.Foreign("%q is no setting of a device's, a tracer's or a cgroup's", c.Path)
}

// onCgroups reports whether a directory is a cgroup, or does not exist.
func onCgroups(dir string) bool {
	var st unix.Statfs_t
	err := unix.Statfs(dir, &st)
	return errors.Is(err, unix.ENOENT) ||
		err == nil && (st.Type == unix.CGROUP_SUPER_MAGIC || st.Type == unix.CGROUP2_SUPER_MAGIC)
}

// onTracefs reports whether a directory is on tracefs, or does not exist, in which case there is nothing to set.
func onTracefs(dir string) bool {
	var st unix.Statfs_t
	err := unix.Statfs(dir, &st)
	return errors.Is(err, unix.ENOENT) || err == nil && st.Type == unix.TRACEFS_MAGIC
}

// Undo writes the old value back. It does nothing if the value is not the run's, since someone else set it; after a
// reboot, since the file may be another device's; and if the device is gone.
func (c *Setting) Undo(context.Context, string) error {
	boot, err := BootID()
	if err != nil || boot != c.Boot {
		return err
	}
	now, _, err := Choices(c.Path)
	if err == nil && now == c.Value {
		err = set(c.Path, c.Was)
	}
	if errors.Is(err, os.ErrNotExist) || errors.Is(err, unix.ENODEV) || errors.Is(err, unix.ENXIO) {
		return nil
	}
	return err
}

var unusedBuffer = regexp.MustCompile(`^\d+ \(expanded: (\d+)\)$`)

// set writes value to the file at path.
func set(path, value string) error {
	letGo := hold(path)
	defer letGo()
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString(value)
	return errors.Join(err, f.Close())
}

// hold keeps open the block device whose tracer a path is of, until letGo is called: before Linux 5.11 a tracer is
// only accessible while its device is open.
func hold(path string) (letGo func()) {
	if ok, _ := filepath.Match("/sys/block/*/trace/*", path); !ok {
		return func() {}
	}
	device, err := os.Open(filepath.Join("/dev", filepath.Base(filepath.Dir(filepath.Dir(path)))))
	if err != nil { // it is not needed elsewhere, and some hosts forbid it
		return func() {}
	}
	return func() { device.Close() }
}

// Choices reads a setting: the word in brackets where the kernel lists what it
// offers ("none [mq-deadline] kyber"), or else the whole text, which is then
// all that is offered. A trace buffer that nobody has used since the kernel was
// booted reads "7 (expanded: 1408)": it is as good as none, and gets the second
// size when it is first used. That is its setting, and what it is set back to,
// since once it was used the kernel takes 7 by its word.
func Choices(path string) (chosen string, offered []string, err error) {
	letGo := hold(path)
	defer letGo()
	b, err := os.ReadFile(path)
	if err != nil {
		return "", nil, err
	}
	text := strings.TrimSpace(string(b))
	if m := unusedBuffer.FindStringSubmatch(text); m != nil {
		text = m[1]
	}
	for _, word := range strings.Fields(text) {
		bare := strings.Trim(word, "[]")
		if bare != word {
			chosen = bare
		}
		offered = append(offered, bare)
	}
	if chosen == "" {
		return text, []string{text}, nil
	}
	return chosen, offered, nil
}

// BootID returns the kernel's boot id, which changes at every reboot.
func BootID() (string, error) {
	b, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	return strings.TrimSpace(string(b)), err
}
