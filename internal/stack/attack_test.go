package stack

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"plimsoll/internal/problem"
	"plimsoll/internal/testkit/hosttest"
	"plimsoll/internal/workload"
)

// stranger is a user whom no process of this host has.
const stranger = 65533

// reachable returns a directory of root's that other users can reach.
func reachable(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.Chmod(filepath.Dir(dir), 0o711); err != nil {
		t.Fatal(err)
	}
	return dir
}

// directory makes a directory of a user and a mode.
func directory(t *testing.T, path string, owner int, mode os.FileMode) string {
	t.Helper()
	if err := errors.Join(os.MkdirAll(path, 0o755), os.Chown(path, owner, owner), os.Chmod(path, mode)); err != nil {
		t.Fatal(err)
	}
	return path
}

// Where another user may rename, nothing is mounted, attached or contained: it is refused before anything is made.
func TestAttackRootWorksInNoDirectoryOfOthers(t *testing.T) {
	hosttest.Exclusive(t)
	e := newEnv(t)
	parent := reachable(t)
	for name, c := range map[string]struct {
		dir   string
		alone bool // the directory is refused as a stack of its own, too
	}{
		"hers":           {dir: directory(t, parent+"/hers", stranger, 0o755)},
		"below hers":     {dir: directory(t, directory(t, parent+"/upper", stranger, 0o755)+"/roots", 0, 0o755), alone: true},
		"anybody's":      {dir: directory(t, parent+"/all", 0, 0o777), alone: true},
		"a group's":      {dir: directory(t, parent+"/group", 0, 0o775), alone: true},
		"hers and all's": {dir: directory(t, parent+"/both", stranger, 0o777), alone: true},
	} {
		if err := os.Symlink(c.dir, c.dir+"-link"); err != nil {
			t.Fatal(err)
		}
		if err := os.Lchown(c.dir+"-link", stranger, stranger); err != nil {
			t.Fatal(err)
		}
		lines := []string{
			"dir:DIR > overlayfs(volatile)", "dir:DIR > volume", "dir:DIR > overlay2",
			"loop(dir=DIR, size=16MiB)", "loop(dir=DIR-link, size=16MiB) > ext4", "dir:DIR-link > overlayfs(volatile)",
		}
		if c.alone {
			lines = append(lines, "dir:DIR")
		}
		for _, text := range lines {
			l := parse(t, strings.ReplaceAll(text, "DIR", c.dir))
			if err := e.Check(t.Context(), l, 1<<20); !isProblem(err, problem.Unsupported, "to another file from there", "only") {
				t.Errorf("%s: %s: it says %v", name, text, err)
			}
			p, err := e.upAlone(t.Context(), "s", l)
			if err == nil {
				t.Errorf("%s: %s came up", name, text)
				_ = p.base.Down(context.Background())
			}
		}
		if entries, _ := os.ReadDir(c.dir); len(entries) > 0 && name != "below hers" {
			t.Errorf("%s: %v is left there", name, entries)
		}
	}
}

// Steps in a user's directory have that user's rights: links in the place of files, of the directory and of outputs lead
// nowhere else.
func TestAttackStepsInADirectoryOfAUser(t *testing.T) {
	hosttest.Exclusive(t)
	e := newEnv(t)
	hers := directory(t, reachable(t)+"/hers", stranger, 0o755)
	precious := filepath.Join(reachable(t), "precious")
	if err := os.WriteFile(precious, []byte("of root"), 0o600); err != nil {
		t.Fatal(err)
	}
	p := up(t, e, "dir:"+hers)
	scratch := filepath.Join(e.Scratch, "trial")
	step := func(name, script string) (map[string][]byte, workload.Exit, error) {
		return p.Run(t.Context(), &workload.Step{
			Name: name, Argv: []string{"sh", "-c", script}, Dir: p.Target.Path, Outputs: []string{"out"},
			Files: map[string][]byte{"given": []byte("her job")},
		}, scratch, nil)
	}
	expand := func(words string) string { return strings.ReplaceAll(words, "SCRATCH", workload.ScratchDir) }

	outputs, exit, err := step("rights", expand("id -u >SCRATCH/out; grep -h -E 'CapEff|NoNewPrivs' /proc/self/status >>SCRATCH/out;"+
		" cat SCRATCH/given >>SCRATCH/out; echo x >made"))
	if err != nil || exit.Code != 0 {
		t.Fatalf("%v: %+v", err, exit)
	}
	want := []string{strconv.Itoa(stranger), "CapEff:", "0000000000000000", "NoNewPrivs:", "1", "her", "job"}
	if got := strings.Fields(string(outputs["out"])); !slices.Equal(got, want) {
		t.Errorf("the step says %v, not %v", got, want)
	}

	// Before the next step she puts links to what is root's where files, outputs and what root keeps will be.
	for _, link := range []string{filepath.Join(p.Target.Path, "plimsoll-fio.dat"), filepath.Join(scratch, "links.stderr")} {
		if err := os.Symlink(precious, link); err != nil {
			t.Fatal(err)
		}
	}
	_, exit, err = step("layout", "echo hers >plimsoll-fio.dat")
	if err != nil || exit.Code == 0 {
		t.Errorf("a file is laid out behind a link: %v, %+v", err, exit)
	}
	if outputs, _, err := step("reads", expand("ln -sf "+precious+" SCRATCH/out; sleep 0")); err == nil || len(outputs["out"]) > 0 {
		t.Errorf("root reads %q behind a link, %v", outputs["out"], err)
	}
	if _, _, err := step("pipe", expand("rm -f SCRATCH/out; mkfifo SCRATCH/out")); err == nil ||
		!strings.Contains(err.Error(), "no regular file") {
		t.Errorf("a pipe as output: %v", err)
	}
	_, _, err = step("links", "echo hers >&2; exit 1")
	if text, readErr := os.ReadFile(precious); string(text) != "of root" || readErr != nil {
		t.Errorf("root's file is %q, %v (the last step: %v)", text, readErr, err)
	}

	// The directory of the stack becomes a link to root's.
	if err := os.Rename(p.Target.Path, p.Target.Path+".moved"); err != nil {
		t.Fatal(err)
	}
	roots := directory(t, reachable(t)+"/roots", 0, 0o755)
	if err := os.Symlink(roots, p.Target.Path); err != nil {
		t.Fatal(err)
	}
	_, _, _ = step("exchanged", "echo hers >file")
	if entries, _ := os.ReadDir(roots); len(entries) > 0 {
		t.Errorf("root's directory has %v", entries)
	}
	if err := errors.Join(os.Remove(p.Target.Path), os.Rename(p.Target.Path+".moved", p.Target.Path)); err != nil {
		t.Fatal(err)
	}
	if st, err := os.Stat(scratch); err != nil || st.Mode().Perm() != 0o755 {
		t.Errorf("the scratch directory: %v, %v", st, err)
	}
}

// What has taken the name of a loop device's file is not written, and the device is detached all the same.
func TestAttackALoopFileIsExchanged(t *testing.T) {
	hosttest.Exclusive(t)
	e := newEnv(t)
	dir := reachable(t)
	l := parse(t, "loop(dir="+dir+", size=16MiB)")
	base, err := e.Up(t.Context(), "s", l)
	if err != nil {
		t.Fatal(err)
	}
	number := strings.TrimPrefix(base.block, "/dev/loop")
	file := loopFile(dir, e.RunID, "s")
	precious := filepath.Join(dir, "precious")
	if err := errors.Join(os.Rename(file, file+".moved"), os.WriteFile(precious, []byte("of root"), 0o600),
		os.Link(precious, file)); err != nil {
		t.Fatal(err)
	}
	b := &backing{path: file}
	var st unix.Stat_t
	if err := unix.Stat(file+".moved", &st); err != nil {
		t.Fatal(err)
	}
	b.device, b.inode = st.Dev, st.Ino
	if f, err := b.open(os.O_RDWR); err == nil {
		_ = f.Close()
		t.Error("another file is opened by the name")
	}
	if err := base.Down(context.Background()); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat("/sys/block/loop" + number + "/loop/backing_file"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("/dev/loop%s stays attached: %v", number, err)
	}
	if text, err := os.ReadFile(precious); err != nil || string(text) != "of root" {
		t.Errorf("root's file is %q, %v", text, err)
	}
}
