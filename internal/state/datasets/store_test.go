package datasets

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// data makes a directory "loaded" of two files, so many bytes together, in a new root.
func data(t *testing.T, bytes int) *os.Root {
	t.Helper()
	root := rootAt(t, t.TempDir())
	err := errors.Join(root.Mkdir("loaded", 0o700), root.Mkdir("loaded/wal", 0o750),
		root.WriteFile("loaded/000001.sst", make([]byte, bytes-3), 0o600),
		root.WriteFile("loaded/wal/1.log", []byte("log"), 0o640))
	if err != nil {
		t.Fatal(err)
	}
	return root
}

func rootAt(t *testing.T, dir string) *os.Root {
	t.Helper()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = root.Close() })
	return root
}

func keep(t *testing.T, s *Store, content string, bytes int) (why string) {
	t.Helper()
	why, err := s.Keep(context.Background(), content, data(t, bytes), "loaded", time.Second)
	if err != nil {
		t.Fatal(err)
	}
	return why
}

func fetch(t *testing.T, s *Store, content string) (to string, fetched bool) {
	t.Helper()
	to = t.TempDir()
	fetched, err := s.Fetch(context.Background(), content, rootAt(t, to), "mine")
	if err != nil {
		t.Fatal(err)
	}
	return to, fetched
}

func TestWhatIsKeptIsFetched(t *testing.T) {
	s := In(filepath.Join(t.TempDir(), "golden"), 1<<20)
	if _, fetched := fetch(t, s, "pebble, 10 records"); fetched {
		t.Fatal("something came of nothing")
	}
	if why := keep(t, s, "pebble, 10 records", 5000); why != "" {
		t.Fatalf("it is not kept: %s", why)
	}
	if _, fetched := fetch(t, s, "pebble, 11 records"); fetched {
		t.Error("other data was fetched")
	}
	to, fetched := fetch(t, s, "pebble, 10 records")
	if !fetched {
		t.Fatal("it was not fetched")
	}
	for path, want := range map[string]struct {
		size int64
		mode os.FileMode
	}{"mine/000001.sst": {4997, 0o600}, "mine/wal/1.log": {3, 0o640}} {
		info, err := os.Stat(filepath.Join(to, path))
		if err != nil || info.Size() != want.size || info.Mode().Perm() != want.mode {
			t.Errorf("%s: %v, %v; want %d bytes of mode %v", path, info, err, want.size, want.mode)
		}
	}
	if info, err := os.Stat(filepath.Join(to, "mine/wal")); err != nil || info.Mode().Perm() != 0o750 {
		t.Errorf("a directory is %v, %v", info, err)
	}
	listed, broken, err := s.List()
	if err != nil || len(broken) > 0 || len(listed) != 1 || listed[0].Bytes != 5000 || listed[0].Files != 2 ||
		listed[0].Loading != time.Second {
		t.Errorf("listed are %+v, %v, %v", listed, broken, err)
	}
	if err := s.Remove(listed[0]); err != nil {
		t.Error(err)
	}
	if _, fetched := fetch(t, s, "pebble, 10 records"); fetched {
		t.Error("what was removed was fetched")
	}
}

func TestNothingIsKeptWithoutALimit(t *testing.T) {
	for _, s := range []*Store{nil, In(filepath.Join(t.TempDir(), "golden"), 0)} {
		keep(t, s, "data", 5000)
		if _, fetched := fetch(t, s, "data"); fetched {
			t.Error("it was kept")
		}
	}
}

// What was not used for longest makes room, and what is larger than all goes nowhere.
func TestRoomIsMade(t *testing.T) {
	dir := t.TempDir()
	s := In(dir, 10_000)
	for i, content := range []string{"old", "used"} {
		keep(t, s, content, 4000)
		at := time.Now().Add(time.Duration(i-10) * time.Hour)
		if err := os.Chtimes(filepath.Join(dir, nameOf(content), aboutName), at, at); err != nil {
			t.Fatal(err)
		}
	}
	if _, fetched := fetch(t, s, "old"); !fetched { // it is the younger one now
		t.Fatal("it is not there")
	}
	if why := keep(t, s, "new", 4000); why != "" {
		t.Fatalf("not kept: %s", why)
	}
	for content, want := range map[string]bool{"old": true, "used": false, "new": true} {
		if _, fetched := fetch(t, s, content); fetched != want {
			t.Errorf("%s is kept: %v", content, fetched)
		}
	}
	if why := keep(t, s, "huge", 10_001); !strings.Contains(why, "larger than all") {
		t.Errorf("why not: %q", why)
	}
	if _, fetched := fetch(t, s, "old"); !fetched {
		t.Error("something had to go for what is not kept")
	}
}

// Who can write into the store can break what is in it, and no more: what is there and is
// not what was put there is loaded anew, and kept again.
func TestDamageIsLoadedAnew(t *testing.T) {
	outside := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(outside, []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, damage := range map[string]func(dir string) error{
		"cut off":        func(dir string) error { return os.Truncate(filepath.Join(dir, dataName, "000001.sst"), 10) },
		"file missing":   func(dir string) error { return os.Remove(filepath.Join(dir, dataName, "wal/1.log")) },
		"file more":      func(dir string) error { return os.WriteFile(filepath.Join(dir, dataName, "x"), nil, 0o600) },
		"link":           func(dir string) error { return relink(filepath.Join(dir, dataName, "wal/1.log"), outside) },
		"data is a link": func(dir string) error { return relink(filepath.Join(dir, dataName), filepath.Dir(outside)) },
		"pipe":           func(dir string) error { return unix.Mkfifo(filepath.Join(dir, dataName, "pipe"), 0o600) },
		"no word":        func(dir string) error { return os.Remove(filepath.Join(dir, aboutName)) },
		"word is a pipe": func(dir string) error {
			return errors.Join(os.Remove(filepath.Join(dir, aboutName)), syscall.Mkfifo(filepath.Join(dir, aboutName), 0o600))
		},
		"word is zeros": func(dir string) error { return relink(filepath.Join(dir, aboutName), "/dev/zero") },
		"other's word": func(dir string) error {
			return os.WriteFile(filepath.Join(dir, aboutName), []byte(`{"name": "`+filepath.Base(dir)+`", "content": "other"}`), 0o600)
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := In(t.TempDir(), 1<<20)
			keep(t, s, "data", 5000)
			if err := damage(s.shelf.Path(nameOf("data"))); err != nil {
				t.Fatal(err)
			}
			if to, fetched := fetch(t, s, "data"); fetched {
				t.Errorf("it was fetched: %s", to)
			}
			if why := keep(t, s, "data", 5000); why != "" {
				t.Errorf("it is not kept again: %s", why)
			}
			if _, fetched := fetch(t, s, "data"); !fetched {
				t.Error("what was kept again is not fetched")
			}
		})
	}
}

func relink(path, to string) error { return errors.Join(os.RemoveAll(path), os.Symlink(to, path)) }

// A copy that is interrupted leaves nothing.
func TestAnInterruptedCopyIsNotKept(t *testing.T) {
	dir := t.TempDir()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := In(dir, 1<<20).Keep(ctx, "data", data(t, 5000), "loaded", 0); !errors.Is(err, context.Canceled) {
		t.Errorf("keeping is %v", err)
	}
	if left, _ := os.ReadDir(dir); len(left) > 0 {
		t.Errorf("left are %v", left)
	}
}
