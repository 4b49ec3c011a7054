package statedir

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"plimsoll/internal/problem"
)

const stranger = 65534

func needRoot(t *testing.T) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("only root can make directories of others")
	}
}

// directory makes a directory of a user and a mode.
func directory(t *testing.T, path string, owner int, mode os.FileMode) string {
	t.Helper()
	if err := errors.Join(os.MkdirAll(path, 0o700), os.Chown(path, owner, owner), os.Chmod(path, mode)); err != nil {
		t.Fatal(err)
	}
	return path
}

func link(t *testing.T, to, at string, owner int) {
	t.Helper()
	if err := errors.Join(os.Symlink(to, at), os.Lchown(at, owner, owner)); err != nil {
		t.Fatal(err)
	}
}

// What another user has, or may write, is refused wherever it is on the way, and stays as it was.
func TestAttackStateOfAnotherUser(t *testing.T) {
	needRoot(t)
	for name, c := range map[string]struct {
		says  string
		plant func(dir string) (state string)
	}{
		"it is hers": {"belongs to user 65534", func(dir string) string { return directory(t, dir+"/s", stranger, 0o755) }},
		"it is hers and empty of rights": {"belongs to user 65534",
			func(dir string) string { return directory(t, dir+"/s", stranger, 0) }},
		"others may write it": {"others may write it (mode 0777)", func(dir string) string {
			directory(t, dir+"/s/images", 0, 0o700)
			return directory(t, dir+"/s", 0, 0o777)
		}},
		"its group may write it": {"others may write it (mode 0775)", func(dir string) string {
			directory(t, dir+"/s/images", 0, 0o700)
			return directory(t, dir+"/s", 0, 0o775)
		}},
		"others may write it, sticky": {"others may write it (mode 1777)", func(dir string) string {
			directory(t, dir+"/s/images", 0, 0o700)
			return directory(t, dir+"/s", 0, 0o777|os.ModeSticky)
		}},
		"a part is hers": {"images: it belongs to user 65534", func(dir string) string {
			directory(t, dir+"/s/images", stranger, 0o700)
			return dir + "/s"
		}},
		"a part is a link of hers": {"images, above one of state: it belongs to user 65534", func(dir string) string {
			directory(t, dir+"/s", 0, 0o700)
			directory(t, dir+"/other", 0, 0o700)
			link(t, dir+"/other", dir+"/s/images", stranger)
			return dir + "/s"
		}},
		"a link to what is hers": {"belongs to user 65534", func(dir string) string {
			directory(t, dir+"/hers", stranger, 0o755)
			link(t, "hers", dir+"/s", 0)
			return dir + "/s"
		}},
		"it is below what is hers": {"above one of state: it belongs to user 65534", func(dir string) string {
			directory(t, dir+"/hers", stranger, 0o755)
			return directory(t, dir+"/hers/s", 0, 0o700)
		}},
		"it would be below what others may write": {"above one of state: others may write it", func(dir string) string {
			return directory(t, dir+"/all", 0, 0o777) + "/s"
		}},
	} {
		t.Run(name, func(t *testing.T) {
			state := c.plant(t.TempDir())
			before, _ := os.Stat(state)
			_, err := Make(state, "images")
			if err == nil || !strings.Contains(err.Error(), c.says) || !errors.Is(err, problem.Unsupported) {
				t.Errorf("it says %v, and not %q", err, c.says)
			}
			if p := problem.Of(err); p == nil || !strings.Contains(p.Remedy, "--state-dir") {
				t.Errorf("without a remedy: %v", err)
			}
			if err := Check(state, "images"); err == nil {
				t.Error("what is there is trusted")
			}
			if after, _ := os.Stat(state); before != nil && after.Mode() != before.Mode() {
				t.Errorf("its mode was %v and is %v", before.Mode(), after.Mode())
			}
		})
	}
}

// What is made is this user's, and closed, whoever called by sudo; so is what an earlier version made.
func TestStateIsClosedToOthers(t *testing.T) {
	needRoot(t)
	t.Setenv("SUDO_UID", "54321")
	t.Setenv("SUDO_GID", "54321")
	for name, prepare := range map[string]func(state string){
		"new":            func(string) {},
		"empty, for all": func(state string) { directory(t, state, 0, 0o777) },
		"of an earlier version": func(state string) {
			directory(t, state+"/images", 0, 0o755)
			directory(t, state, 0, 0o755)
		},
		"below a sticky one": func(state string) { directory(t, filepath.Dir(state), 0, 0o777|os.ModeSticky) },
	} {
		t.Run(name, func(t *testing.T) {
			state := filepath.Join(t.TempDir(), "above", "state")
			prepare(state)
			dir, err := Make(state, "images", "more")
			if err != nil || dir != state+"/images/more" {
				t.Fatalf("%q, %v", dir, err)
			}
			for _, dir := range []string{state, state + "/images", dir} {
				closed(t, dir)
			}
		})
	}
}

func closed(t *testing.T, dir string) {
	t.Helper()
	info, err := os.Stat(dir)
	if err != nil || info.Mode() != fs.ModeDir|0o700 {
		t.Errorf("%s: %v, %v", dir, info.Mode(), err)
	}
	if err := Check(dir); err != nil {
		t.Error(err)
	}
}

// A directory that has more than a state in it is somebody's: only what is made in it is closed.
func TestStateInADirectoryOfMore(t *testing.T) {
	dir := t.TempDir()
	if err := errors.Join(os.Mkdir(filepath.Join(dir, "precious"), 0o755), os.Chmod(dir, 0o755)); err != nil {
		t.Fatal(err)
	}
	made, err := Make(dir, "journal")
	if err != nil {
		t.Fatal(err)
	}
	closed(t, made)
	if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o755 {
		t.Errorf("its mode is %v, %v", info.Mode(), err)
	}
}

func TestStateThatIsNotThere(t *testing.T) {
	if err := Check(filepath.Join(t.TempDir(), "not", "there")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("it says %v", err)
	}
}
