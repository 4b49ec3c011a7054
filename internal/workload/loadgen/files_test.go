package loadgen

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/workload/ycsb"
)

func filesPlan(t *testing.T, change func(*ycsb.Files)) *ycsb.Plan {
	t.Helper()
	f := &ycsb.Files{Dir: filepath.Join(t.TempDir(), "files"), Count: 25, Bytes: 5000, Lookups: 0.5, Fsync: true}
	if change != nil {
		change(f)
	}
	p := &ycsb.Plan{Files: f, Threads: 2, Fresh: true, Runtime: 5 * time.Minute, Sample: 10 * time.Millisecond,
		Output: "load.ndjson"}
	text, err := ycsb.ReadPlan(p.Text())
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// untilDone adds up lines, and ends the load once it did some of each of its operations.
type untilDone struct {
	t     *testing.T
	names []string
	sum   ycsb.Line
	end   func()
}

func (u *untilDone) Write(text []byte) (int, error) {
	l, err := ycsb.ReadLine(text)
	if err != nil {
		u.t.Error(err)
	}
	u.sum.Add(&l)
	if !slices.ContainsFunc(u.names, func(name string) bool { return done(u.sum, name).Count == 0 }) {
		u.end()
	}
	return len(text), nil
}

// generateFiles runs a plan until it did some of each of these operations, and returns what it did.
func generateFiles(t *testing.T, p *ycsb.Plan, names ...string) ycsb.Line {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	out := &untilDone{t: t, names: names, end: cancel}
	err := Run(ctx, p, Options{Output: out})
	if err != nil {
		t.Fatal(err)
	}
	return out.sum
}

// sizes returns the sizes of the files that a thread has, by name.
func sizes(t *testing.T, p *ycsb.Plan, thread int) map[string]int64 {
	t.Helper()
	entries, err := os.ReadDir(filepath.Join(p.Files.Dir, strconv.Itoa(thread)))
	if err != nil {
		t.Fatal(err)
	}
	byName := map[string]int64{}
	for _, e := range entries {
		info, err := e.Info()
		if err != nil {
			t.Fatal(err)
		}
		byName[e.Name()] = info.Size()
	}
	return byName
}

// What the output counts is what became of the files, whose number stays; the next load goes on with them.
func TestFilesAreWhatTheOutputCounts(t *testing.T) {
	p := filesPlan(t, nil)
	err := Fill(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	if a, b := len(sizes(t, p, 0)), len(sizes(t, p, 1)); a != 13 || b != 12 {
		t.Fatalf("%d and %d files of 25", a, b)
	}
	for range 2 {
		before := [2]int{oldest(t, p, 0), oldest(t, p, 1)}
		total := generateFiles(t, p, ycsb.Create, ycsb.Fsync, ycsb.Stat, ycsb.Open, ycsb.Unlink)
		created, unlinked := done(total, ycsb.Create), done(total, ycsb.Unlink)
		gone := uint64(0)
		for thread, was := range before {
			gone += uint64(oldest(t, p, thread) - was)
			for name, size := range sizes(t, p, thread) {
				if size != 5000 {
					t.Errorf("%s has %d bytes", name, size)
				}
			}
		}
		if gone != unlinked.Count || unlinked.Count == 0 {
			t.Errorf("%d files are gone, and the output counts %d", gone, unlinked.Count)
		}
		if have := uint64(len(sizes(t, p, 0)) + len(sizes(t, p, 1))); have != 25+created.Count-unlinked.Count {
			t.Errorf("%d files after %d were created and %d unlinked", have, created.Count, unlinked.Count)
		}
		if created.Bytes != 5000*created.Count || done(total, ycsb.Open).Bytes != 5000*done(total, ycsb.Open).Count {
			t.Errorf("bytes of %+v", total.Operations)
		}
		synced := done(total, ycsb.Fsync).Count
		if synced > created.Count || synced+2 < created.Count {
			t.Errorf("%d of %d created files were synced", synced, created.Count)
		}
	}
}

// oldest returns the lowest number of a thread's files.
func oldest(t *testing.T, p *ycsb.Plan, thread int) int {
	t.Helper()
	least := -1
	for name := range sizes(t, p, thread) {
		n, err := strconv.Atoi(name)
		if err != nil {
			t.Fatal(err)
		}
		if least < 0 || n < least {
			least = n
		}
	}
	return least
}

// Lookups alone change nothing, and changes alone look at nothing.
func TestFilesAreLookedAtOrChanged(t *testing.T) {
	for lookups, names := range map[float64][]string{1: {ycsb.Stat, ycsb.Open}, 0: {ycsb.Create, ycsb.Unlink}} {
		p := filesPlan(t, func(f *ycsb.Files) { f.Lookups, f.Fsync, f.Bytes = lookups, false, 0 })
		err := Fill(t.Context(), p)
		if err != nil {
			t.Fatal(err)
		}
		all := generateFiles(t, p, names...)
		if len(all.Operations) != 2 {
			t.Errorf("with lookups of %v: %+v", lookups, all.Operations)
		}
	}
}

// A file that a killed load left with too few bytes is none of those of the next.
func TestACutFileIsRemoved(t *testing.T) {
	p := filesPlan(t, func(f *ycsb.Files) { f.Lookups = 1 })
	err := Fill(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	cut := filepath.Join(p.Files.Dir, "1", "12")
	err = os.WriteFile(cut, []byte("cut"), 0o644)
	if err != nil {
		t.Fatal(err)
	}
	generateFiles(t, p, ycsb.Stat)
	if _, err := os.Stat(cut); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("it is there: %v", err)
	}
}

// A load on other files than were laid out, or on files that cannot be changed, ends with its reason.
func TestFilesThatAreWrong(t *testing.T) {
	p := filesPlan(t, nil)
	fails := func(words string) {
		t.Helper()
		err := Run(t.Context(), p, Options{Output: &bytes.Buffer{}})
		if err == nil || !strings.Contains(err.Error(), words) {
			t.Errorf("the error is %v, and is to have %q", err, words)
		}
	}
	fails("no such file")
	err := Fill(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	first := filepath.Join(p.Files.Dir, "0")
	err = os.Mkdir(filepath.Join(first, "13"), 0o755) // in the place of the next file, as one of another program is
	if err != nil {
		t.Fatal(err)
	}
	fails("is a directory")
	err = errors.Join(os.Remove(filepath.Join(first, "13")), os.Remove(filepath.Join(first, "5")))
	if err != nil {
		t.Fatal(err)
	}
	fails("files of " + first + " are missing")
	err = os.Remove(filepath.Join(first, "12"))
	if err != nil {
		t.Fatal(err)
	}
	err = os.WriteFile(filepath.Join(first, "README"), nil, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	fails(`has "README", which no load made`)
}

// Each file has one first write. A load of overwrites alone ends then, so that its rate is that of first writes. No
// bytes are added.
func TestFirstWritesOfFiles(t *testing.T) {
	p := filesPlan(t, func(f *ycsb.Files) { f.Lookups, f.Overwrites, f.Fsync = 0, 1, false })
	if err := fillFiles(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	sum := generateFiles(t, p, ycsb.FirstWrite, ycsb.Overwrite)
	first := done(sum, ycsb.FirstWrite)
	if first.Count != 25 || first.Bytes != 25*overwriteBytes || done(sum, ycsb.Create).Count > 0 ||
		done(sum, ycsb.Overwrite).Count > 0 || sum.Seconds <= 0 {
		t.Errorf("%+v", sum.Operations)
	}
	err := filepath.WalkDir(p.Files.Dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err == nil && info.Size() != 5000 {
			t.Errorf("%s has %d bytes", path, info.Size())
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}
