package container

import (
	"archive/tar"
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"plimsoll/internal/testkit/hosttest"
)

func TestLibraries(t *testing.T) {
	got, err := parseLibraries("\tlinux-vdso.so.1 (0x00007ffc)\n\tlibaio.so.1 => /lib/x86_64-linux-gnu/libaio.so.1 " +
		"(0x00007f3a)\n\t/lib64/ld-linux-x86-64.so.2 (0x00007f3b)\n")
	if want := []string{"/lib/x86_64-linux-gnu/libaio.so.1", "/lib64/ld-linux-x86-64.so.2"}; err != nil ||
		!slices.Equal(got, want) {
		t.Errorf("got %q, %v", got, err)
	}
	_, err = parseLibraries("\tlibgone.so.2 => not found\n")
	if err == nil || err.Error() != "library libgone.so.2: not found" {
		t.Errorf("got %v", err)
	}
}

func TestImageIsMadeOnceAndTheSameEachTime(t *testing.T) {
	dir, other := t.TempDir(), t.TempDir()
	first, err := images.get(t.Context(), []string{"sh"}, dir)
	if err != nil {
		t.Fatal(err)
	}
	again, err := images.get(t.Context(), []string{"sh"}, dir)
	if err != nil || again.tar != first.tar {
		t.Errorf("got %+v, %v", again, err)
	}
	elsewhere, err := images.get(t.Context(), []string{"sh"}, other)
	if err != nil || elsewhere.Ref != first.Ref || filepath.Dir(elsewhere.dir) != other {
		t.Errorf("got %+v, %v, want the same content in another directory", elsewhere, err)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "*")); len(left) != 1 {
		t.Errorf("files %q, want one image", left)
	}
}

// What every engine unpacks must be next to nothing, and the programs must be
// complete beside it, as readable as on the host.
func TestProgramsLieBesideTheImage(t *testing.T) {
	defer unix.Umask(unix.Umask(0o077))
	img, err := images.get(t.Context(), []string{"sh"}, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if st, err := os.Stat(img.tar); err != nil || st.Size() > 1<<20 {
		t.Errorf("the archive: %v, %v, want less than 1 MiB", st, err)
	}
	sh, err := exec.LookPath("sh")
	if err != nil {
		t.Fatal(err)
	}
	libs, err := libraries(t.Context(), sh)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range append(libs, sh) {
		i := slices.IndexFunc(img.binds, func(b Bind) bool { return strings.HasPrefix(name, b.Inside+"/") && b.ReadOnly })
		if i < 0 {
			t.Errorf("no container sees %s: %+v", name, img.binds)
			continue
		}
		b := img.binds[i]
		want, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		copied := b.Host + strings.TrimPrefix(name, b.Inside)
		if got, err := os.ReadFile(copied); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s is no copy of %s: %v", copied, name, err)
		}
		for path := copied; path != img.dir; path = filepath.Dir(path) {
			if st, err := os.Stat(path); err != nil || st.Mode().Perm()&0o055 != 0o055 {
				t.Errorf("%s: %v, %v, want it open to all users", path, st.Mode(), err)
			}
		}
	}
}

// Where nothing may be started, programs are in the archive: containers start
// them from the engine's storage.
func TestImageOnAMountWithoutPrograms(t *testing.T) {
	hosttest.Exclusive(t)
	dir := t.TempDir()
	if err := unix.Mount("plimsoll-test", dir, "tmpfs", unix.MS_NOEXEC, "size=64m"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(dir, 0); err != nil {
			t.Error(err)
		}
	})
	img, err := images.get(t.Context(), []string{"sh"}, dir)
	if err != nil {
		t.Fatal(err)
	}
	if st, err := os.Stat(img.tar); err != nil || st.Size() < 1<<20 || len(img.binds) > 0 {
		t.Errorf("the archive: %v, %v, and binds %v, want all in the archive", st, err, img.binds)
	}
}

// A program of the user's, in a place that containers have of their own, goes
// into the archive.
func TestImageOfAProgramElsewhere(t *testing.T) {
	sh, err := exec.LookPath("sh")
	if err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(sh)
	if err != nil {
		t.Fatal(err)
	}
	mine := filepath.Join(t.TempDir(), "mine")
	if err := os.WriteFile(mine, content, 0o755); err != nil {
		t.Fatal(err)
	}
	img, err := images.get(t.Context(), []string{mine}, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(img.tar)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for in := tar.NewReader(f); ; {
		h, err := in.Next()
		if err != nil {
			t.Fatalf("%s is not in the archive: %v", mine, err)
		}
		if h.Name != mine[1:] {
			continue
		}
		if got, err := io.ReadAll(in); err != nil || !bytes.Equal(got, content) {
			t.Errorf("%s: %v", h.Name, err)
		}
		return
	}
}

func TestImageOfMissingProgramsNamesAllOfThem(t *testing.T) {
	_, err := images.get(t.Context(), []string{"no-such-a", "sh", "no-such-b"}, t.TempDir())
	for _, name := range []string{"no-such-a is not installed", "no-such-b is not installed"} {
		if err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("got %v, want it to say that %s", err, name)
		}
	}
}
