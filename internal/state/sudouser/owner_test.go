package sudouser

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// A user and a group that nobody has.
const uid, gid = 54321, 54322

// underSudo makes this process one that a user started by sudo.
func underSudo(t *testing.T) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("only root can give files away")
	}
	t.Setenv("SUDO_UID", strconv.Itoa(uid))
	t.Setenv("SUDO_GID", strconv.Itoa(gid))
}

// owned checks whose a file is, which is not followed.
func owned(t *testing.T, path string, want int) {
	t.Helper()
	info, err := os.Lstat(path)
	if err != nil {
		t.Fatal(err)
	}
	if got := int(info.Sys().(*syscall.Stat_t).Uid); got != want {
		t.Errorf("%s belongs to %d, not %d", path, got, want)
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// tempDir returns a directory of this process's user that other users can reach.
func tempDir(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	must(t, os.Chmod(filepath.Dir(dir), 0o711))
	return dir
}

func TestCaller(t *testing.T) {
	underSudo(t)
	if u, ok := Caller(); !ok || u != (User{uid, gid}) {
		t.Errorf("%v, %v", u, ok)
	}
	for _, wrong := range []string{"", "0", "-1", "4294967295", "4294967296", "root", "1 ", "0x10"} {
		t.Setenv("SUDO_UID", wrong)
		if u, ok := Caller(); ok {
			t.Errorf("SUDO_UID=%q is %v", wrong, u)
		}
	}
	t.Setenv("SUDO_UID", "54321")
	t.Setenv("SUDO_GID", "4294967295")
	if u, ok := Caller(); ok {
		t.Errorf("%v", u)
	}
}

func TestWhatIsMadeBelongsToTheCaller(t *testing.T) {
	underSudo(t)
	dir := tempDir(t)
	made, err := MkdirAll(filepath.Join(dir, "a/b/c"), 0o755)
	if err != nil || len(made) != 3 || made[0] != filepath.Join(dir, "a") {
		t.Fatalf("%v, %v", made, err)
	}
	if again, err := MkdirAll(filepath.Join(dir, "a/b/c"), 0o755); err != nil || again != nil {
		t.Errorf("the second time: %v, %v", again, err)
	}
	f, err := Create(filepath.Join(dir, "a/new"))
	must(t, err)
	must(t, f.Close())
	must(t, Replace(filepath.Join(dir, "a/page"),
		func(w io.Writer) error { _, err := io.WriteString(w, "x"); return err }))
	for _, name := range []string{"a", "a/b", "a/b/c", "a/new", "a/page"} {
		owned(t, filepath.Join(dir, name), uid)
	}
	owned(t, dir, 0) // it was there before
	if _, err := MkdirAll(filepath.Join(dir, "a/new/below"), 0o755); !errors.Is(err, unix.ENOTDIR) {
		t.Errorf("below a file: %v", err)
	}
}

func TestWithoutSudoNothingChanges(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can give files away")
	}
	t.Setenv("SUDO_UID", "")
	dir := filepath.Join(tempDir(t), "a")
	_, err := MkdirAll(dir, 0o755)
	must(t, err)
	write(t, filepath.Join(dir, "f"), "")
	GiveTree(dir)
	owned(t, dir, 0)
	owned(t, filepath.Join(dir, "f"), 0)
}

func TestAFileThatIsThereKeepsItsOwner(t *testing.T) {
	underSudo(t)
	name := filepath.Join(tempDir(t), "f")
	write(t, name, "long before")
	f, err := Create(name)
	must(t, err)
	_, err = f.WriteString("now")
	must(t, errors.Join(err, f.Close()))
	owned(t, name, 0)
	if text, err := os.ReadFile(name); err != nil || string(text) != "now" {
		t.Errorf("%q, %v", text, err)
	}
}

// ownMounts gives the test a mount namespace of its own, which ends with it: tests of
// other packages that run meanwhile compare the host's mounts.
func ownMounts(t *testing.T) {
	t.Helper()
	runtime.LockOSThread() // never unlocked, so that the thread ends with the test
	must(t, unix.Unshare(unix.CLONE_NEWNS))
	must(t, unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""))
}

// Whoever owns the directory of results puts other people's files in their
// place, by every kind of name.
func TestNothingOfOthersIsGivenAway(t *testing.T) {
	underSudo(t)
	ownMounts(t)
	precious := filepath.Join(tempDir(t), "precious")
	must(t, os.Mkdir(precious, 0o755))
	write(t, filepath.Join(precious, "secret"), "secret")
	write(t, filepath.Join(precious, "linked"), "secret")

	dir := filepath.Join(tempDir(t), "run")
	must(t, os.Mkdir(dir, 0o755))
	write(t, filepath.Join(dir, "ours"), "")
	must(t, os.Mkdir(filepath.Join(dir, "below"), 0o755))
	write(t, filepath.Join(dir, "below/ours"), "")
	must(t, os.Symlink(filepath.Join(precious, "secret"), filepath.Join(dir, "link")))
	must(t, os.Symlink(precious, filepath.Join(dir, "directory")))
	must(t, os.Link(filepath.Join(precious, "linked"), filepath.Join(dir, "hard")))
	must(t, unix.Mkfifo(filepath.Join(dir, "fifo"), 0o644)) // opening it would hang
	must(t, unix.Mknod(filepath.Join(dir, "device"), unix.S_IFCHR|0o600, int(unix.Mkdev(1, 3))))
	write(t, filepath.Join(dir, "theirs"), "")
	must(t, os.Chown(filepath.Join(dir, "theirs"), 999, 999))
	must(t, os.Mkdir(filepath.Join(dir, "mounted"), 0o755))
	must(t, unix.Mount("tmpfs", filepath.Join(dir, "mounted"), "tmpfs", 0, "size=64k"))
	t.Cleanup(func() { _ = unix.Unmount(filepath.Join(dir, "mounted"), unix.MNT_DETACH) })
	write(t, filepath.Join(dir, "mounted/other"), "")

	GiveTree(dir)
	for name, want := range map[string]int{
		"": uid, "ours": uid, "below": uid, "below/ours": uid,
		"link": 0, "directory": 0, "hard": 0, "fifo": 0, "device": 0, "theirs": 999, "mounted/other": 0,
	} {
		owned(t, filepath.Join(dir, name), want)
	}
	for _, name := range []string{"", "secret", "linked"} {
		owned(t, filepath.Join(precious, name), 0)
	}

	// The directory itself may be a link by now.
	link := filepath.Join(tempDir(t), "link")
	must(t, os.Symlink(precious, link))
	GiveTree(link)
	owned(t, precious, 0)
	owned(t, filepath.Join(precious, "secret"), 0)
	if err := Mkdir(link, 0o755); !errors.Is(err, fs.ErrExist) {
		t.Errorf("making a directory over a link: %v", err)
	}

	// A page is replaced where it is; what a link led to stays.
	must(t, Replace(filepath.Join(dir, "link"),
		func(w io.Writer) error { _, err := io.WriteString(w, "page"); return err }))
	owned(t, filepath.Join(dir, "link"), uid)
	if text, _ := os.ReadFile(filepath.Join(precious, "secret")); string(text) != "secret" {
		t.Errorf("the page was written through the link: %q", text)
	}
	if err := Replace(filepath.Join(dir, "failed"),
		func(io.Writer) error { return io.ErrUnexpectedEOF }); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Error(err)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, ".*")); len(left) > 0 {
		t.Errorf("%v stay behind", left)
	}

	// A link to nowhere is not followed to make a file where it points.
	nowhere := filepath.Join(precious, "nowhere")
	must(t, os.Symlink(nowhere, filepath.Join(dir, "dangling")))
	if _, err := Create(filepath.Join(dir, "dangling")); err == nil || !strings.Contains(err.Error(), "link") {
		t.Errorf("through a link to nowhere: %v", err)
	}
	if _, err := os.Lstat(nowhere); err == nil {
		t.Error("a file was made behind the link")
	}
}

// Where others may write, a name is somebody else's file a moment later.
func TestWhereOthersMayWriteNothingIsGiven(t *testing.T) {
	underSudo(t)
	for name, change := range map[string]func(dir string) error{
		"a stranger's":     func(dir string) error { return os.Chown(dir, 999, 999) },
		"anybody's":        func(dir string) error { return os.Chmod(dir, 0o777) },
		"with sticky bit":  func(dir string) error { return os.Chmod(dir, 0o777|os.ModeSticky) },
		"a group's":        func(dir string) error { return os.Chmod(dir, 0o775) },
		"the caller's own": func(dir string) error { return os.Chown(dir, uid, gid) },
	} {
		dir := tempDir(t)
		nested := filepath.Join(dir, "below")
		must(t, os.Mkdir(nested, 0o755))
		write(t, filepath.Join(nested, "f"), "")
		must(t, change(nested))
		GiveTree(dir)
		owned(t, filepath.Join(nested, "f"), 0)
		if info, err := os.Stat(nested); err != nil || name != "the caller's own" && info.Sys().(*syscall.Stat_t).Uid == uid {
			t.Errorf("%s: the directory was given away, %v", name, err)
		}
		owned(t, dir, uid)
	}
}

func TestIsBelowHome(t *testing.T) {
	underSudo(t)
	if IsBelowHome("/home/x") {
		t.Error("a user without a home has one")
	}
	t.Setenv("SUDO_UID", "1") // daemon, whose home is /usr/sbin on every distribution
	home := (User{UID: 1}).Home()
	if home == "" {
		t.Skip("there is no user 1 with a home")
	}
	link := filepath.Join(tempDir(t), "link")
	must(t, os.Symlink(home, link))
	nowhere := filepath.Join(tempDir(t), "nowhere")
	must(t, os.Symlink("/no/such", nowhere))
	for dir, want := range map[string]bool{
		filepath.Join(home, "new/lab"): true, link + "/new": true, home + "/../" + filepath.Base(home) + "/x": true,
		home: false, home + "er/x": false, home + "/../x": false, "/": false, nowhere + "/x": false, tempDir(t): false,
	} {
		if IsBelowHome(dir) != want {
			t.Errorf("IsBelowHome(%s) is %v", dir, !want)
		}
	}
}
