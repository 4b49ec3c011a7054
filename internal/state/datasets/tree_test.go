package datasets

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"plimsoll/internal/testkit/hosttest"
)

// Where a file system has clones, a copy shares its blocks only if that is asked for.
func TestCopiesHaveBlocksOfTheirOwn(t *testing.T) {
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
	device := hosttest.Loop(t, image)
	if err := os.Mkdir(mount, 0o700); err != nil {
		t.Fatal(err)
	}
	run("mount", device, mount)
	t.Cleanup(func() { _ = exec.Command("umount", mount).Run() }) //nolint:noctx // short

	const size = 1 << 20
	root := rootAt(t, mount)
	t.Cleanup(func() { _ = root.Close() }) // before it is unmounted
	if err := root.Mkdir("loaded", 0o700); err != nil {
		t.Fatal(err)
	}
	if err := root.WriteFile("loaded/a", []byte(strings.Repeat("data", size/4)), 0o600); err != nil {
		t.Fatal(err)
	}
	run("sync", "-f", mount)
	for name, c := range map[string]struct {
		sharing Sharing
		cloned  int64
	}{"clone": {Cloned, size}, "copy": {Copied, 0}} {
		cloned, err := Tree(t.Context(), root, root, "loaded", name, c.sharing)
		if err != nil || cloned != c.cloned {
			t.Errorf("%s: %d bytes are cloned, want %d: %v", name, cloned, c.cloned, err)
		}
		content, err := root.ReadFile(name + "/a")
		if err != nil || len(content) != size || string(content[:4]) != "data" {
			t.Errorf("%s has %d bytes: %v", name, len(content), err)
		}
		shared := strings.Contains(run("filefrag", "-v", filepath.Join(mount, name, "a")), "shared")
		if shared != bool(c.sharing) {
			t.Errorf("%s shares its blocks: %t", name, shared)
		}
	}
}
