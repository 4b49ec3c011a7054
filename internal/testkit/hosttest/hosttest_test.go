package hosttest

import (
	"errors"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sys/unix"

	"plimsoll/internal/testkit/disturbance"
	"plimsoll/internal/testkit/soak"
)

// What measures has the host for itself until it ends, and what takes long waits for
// who asks for it.
func TestMeasuresAndSoak(t *testing.T) {
	t.Run("measures", func(t *testing.T) {
		Measures(t)
		lock, err := os.Open(lockFile())
		if err != nil {
			t.Fatal(err)
		}
		defer lock.Close()
		err = unix.Flock(int(lock.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if !errors.Is(err, unix.EWOULDBLOCK) {
			t.Errorf("another test can have the host meanwhile: %v", err)
		}
	})
	for _, asked := range []string{"", "1"} {
		t.Setenv(soak.Variable, asked)
		skipped := false
		t.Run("soak "+asked, func(t *testing.T) {
			defer func() { skipped = t.Skipped() }()
			Soak(t)
		})
		if skipped != (asked == "") {
			t.Errorf("with %s=%q, it is skipped: %t", soak.Variable, asked, skipped)
		}
	}
}

// Processes that begin and end while a test measures are found.
func TestDisturbancesOfATestAreKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		end := watchDisturbances(func() (disturbance.Processes, error) {
			second := int(time.Since(began) / time.Second)
			if second == 10 {
				return nil, os.ErrPermission
			}
			return disturbance.Processes{second: "fio"}, nil
		})
		time.Sleep(17 * time.Second)
		want := disturbance.Processes{0: "fio", 5: "fio", 15: "fio", 17: "fio"}
		if met := end(); !maps.Equal(met, want) {
			t.Errorf("%v, want %v", met, want)
		}
	})
}

// A test that mounts without the host's lock, or mounts of its own, changes the host
// under a test of another package.
func TestMountsTakeTheHost(t *testing.T) {
	mounts := regexp.MustCompile(`unix\.Mount\(|Command\("mount"|run\(t?,? ?"mount"`)
	safe := regexp.MustCompile(`hosttest\.(Exclusive|Measures)\(|unix\.Unshare\(unix\.CLONE_NEWNS\)|Unshareflags: syscall\.CLONE_NEWNS`)
	seen := 0
	err := filepath.WalkDir("../../..", func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		if mounts.Match(text) {
			seen++
			if !safe.Match(text) {
				t.Errorf("%s mounts, and neither takes the host (hosttest.Exclusive) nor has mounts of its own", path)
			}
		}
		return err
	})
	if err != nil || seen < 10 {
		t.Errorf("%d files mount: %v", seen, err)
	}
}

// Modules that are loaded change what a setting offers, and not what it is.
func TestChosen(t *testing.T) {
	for text, want := range map[string]string{
		"[none] mq-deadline\n": "none", "none mq-deadline [kyber] bfq": "kyber", "none\n": "none", "1\n": "1", "": "",
		"[": "[", "]x[": "]x[",
	} {
		if got := chosen(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

// What started this test is not another plimsoll that works on the host.
func TestAncestors(t *testing.T) {
	all := ancestors()
	if !all[os.Getpid()] || !all[os.Getppid()] {
		t.Errorf("%v lacks this process, %d, or its parent, %d", all, os.Getpid(), os.Getppid())
	}
}

// What this package's tests leave running is seen; what others run meanwhile is
// not theirs.
func TestProcessesOfOthersAreNotLooked(t *testing.T) {
	for _, c := range []struct {
		name  string
		owner string
		seen  bool
	}{
		{"ours", os.Getenv(ownerVariable), true},
		{"another package's", "1", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			before := Look()
			cmd := exec.Command("sleep", "60")
			cmd.Env = []string{"PLIMSOLL_STEP=x", ownerVariable + "=" + c.owner}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			// The kernel tells of a new program before its arguments and environment can be read.
			for end := time.Now().Add(5 * time.Minute); time.Now().Before(end); time.Sleep(time.Millisecond) {
				if len(environment(strconv.Itoa(cmd.Process.Pid))) > 0 {
					break
				}
			}
			diff := before.diff(Look())
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
			if seen := strings.Contains(diff, "sleep 60"); seen != c.seen {
				t.Errorf("seen: %t, want %t: %s", seen, c.seen, diff)
			}
		})
	}
}

func TestKept(t *testing.T) {
	cache, sources := t.TempDir(), t.TempDir()
	t.Setenv("XDG_CACHE_HOME", cache)
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(sources, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("make.go", "package one")
	first := Kept(t, "images", sources)
	if !strings.HasPrefix(first, cache) || Kept(t, "images", sources) != first {
		t.Errorf("it is kept in %s", first)
	}
	write("make_test.go", "package two")
	if other := Kept(t, "images", sources); other != first {
		t.Errorf("a test makes it another one, %s beside %s", other, first)
	}
	write("list.txt", "one")
	listed := Kept(t, "images", sources)
	if listed == first {
		t.Error("what a list embeds makes no difference")
	}
	write("make.go", "package two")
	second := Kept(t, "images", sources)
	if second == listed {
		t.Errorf("other sources are kept in %s, too", second)
	}
	old := time.Now().AddDate(0, 0, -15)
	if err := os.Chtimes(first, old, old); err != nil {
		t.Fatal(err)
	}
	Kept(t, "images", sources)
	if _, err := os.Stat(first); err == nil {
		t.Errorf("%s is kept for ever", first)
	}
	if _, err := os.Stat(second); err != nil {
		t.Error(err)
	}
}
