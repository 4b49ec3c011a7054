package reattach

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/moby/sys/mountinfo"

	"plimsoll/internal/testkit/hosttest"
)

// A file system that shut down when I/O failed is unmounted, so that it can be mounted again; one that works stays.
func TestAFileSystemThatShutDownIsUnmounted(t *testing.T) {
	hosttest.Exclusive(t)
	dir := t.TempDir()
	image, mount := filepath.Join(dir, "image"), filepath.Join(dir, "mount")
	run := func(program string, args ...string) string {
		t.Helper()
		out, err := exec.CommandContext(t.Context(), program, args...).CombinedOutput()
		if err != nil {
			t.Fatalf("%s %q: %v: %s", program, args, err, out)
		}
		return strings.TrimSpace(string(out))
	}
	run("truncate", "--size=320M", image)
	run("mkfs.xfs", "-q", image)
	device := run("losetup", "--find", "--show", image)
	t.Cleanup(func() { _ = exec.Command("losetup", "--detach", device).Run() }) //nolint:noctx // short
	if err := os.Mkdir(mount, 0o700); err != nil {
		t.Fatal(err)
	}
	run("mount", device, mount)
	t.Cleanup(func() { _ = exec.Command("umount", mount).Run() }) //nolint:noctx // short

	l := local{Move: Move{Dir: mount}}
	for _, shut := range []bool{false, true} {
		if shut {
			run("xfs_io", "-x", "-c", "shutdown", mount)
		}
		if err := l.unmountLost(t.Context()); err != nil {
			t.Fatal(err)
		}
		mounted, err := mountinfo.Mounted(mount)
		if err != nil || mounted == shut {
			t.Errorf("shut down: %v, mounted after: %v (%v)", shut, mounted, err)
		}
	}
	run("mount", device, mount)
}
