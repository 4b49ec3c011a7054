package segments

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"plimsoll/internal/recording"
	"plimsoll/internal/testkit/hosttest"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

var (
	start  = time.Date(2026, 3, 2, 8, 0, 0, 0, time.UTC)
	header = recording.Header{Host: recording.Host{Name: "db1"}, Interval: 1, Source: "test"}
)

// wideRow is interval i with so many containers.
func wideRow(i, containers int) recording.Row {
	row := recording.Row{Time: start.Add(time.Duration(i) * time.Second), Seconds: 1}
	for n := range containers {
		row.Amounts = append(row.Amounts, recording.Amounts{
			Thing:  recording.Thing{Kind: recording.OfContainer, Name: fmt.Sprint("db-", n), Copy: 1},
			Values: []float64{float64(i*7919%1_000_003 + n*i), 0, float64(i * n % 4096), 0, float64(i)}})
	}
	return row
}

func read(t testing.TB, name string) *recording.Recording {
	t.Helper()
	r, err := Read(name, time.Time{}, time.Time{})
	must(t, err)
	return r
}

func TestOldestSegmentsAreRemoved(t *testing.T) {
	dir := t.TempDir()
	must(t, os.WriteFile(filepath.Join(dir, "notes.txt"), []byte("mine"), 0o644))
	w, err := Open(dir, header, Options{Bytes: LeastBytes})
	must(t, err)
	const rows = 4000
	for i := range rows {
		w.Add(wideRow(i+1, 40))
		if i%200 == 0 {
			existing, err := list(dir)
			must(t, err)
			total := int64(0)
			for _, s := range existing {
				total += s.bytes
			}
			if total > LeastBytes {
				t.Fatalf("after %d intervals, %d bytes", i, total)
			}
		}
	}
	must(t, w.Close())
	r := read(t, dir)
	if n := len(r.Times); n == rows || n < rows/10 || r.Times[n-1] != start.Add(rows*time.Second) || len(r.Gaps) > 0 {
		t.Errorf("%d of %d intervals, the last at %v, gaps %v", n, rows, r.Times[n-1], r.Gaps)
	}
	last, err := ReadLast(dir, 60*time.Second)
	if err != nil || len(last.Times) != 61 || last.Times[60] != r.Times[len(r.Times)-1] {
		t.Errorf("the last minute has %d intervals, %v", len(last.Times), err)
	}
	if text, err := os.ReadFile(filepath.Join(dir, "notes.txt")); err != nil || string(text) != "mine" {
		t.Errorf("another file of the directory: %q, %v", text, err)
	}
}

// A recorder is killed while it writes: the next goes on behind it, and what was written is read.
func TestKilledRecorder(t *testing.T) {
	dir := t.TempDir()
	if os.Getenv("RECORD_INTO") != "" {
		w, err := Open(os.Getenv("RECORD_INTO"), header, Options{Bytes: 16 << 20})
		must(t, err)
		for i := 1; ; i++ {
			w.Add(wideRow(i, 200))
			fmt.Println(i)
		}
	}
	cmd := exec.Command(os.Args[0], "-test.run=^TestKilledRecorder$")
	cmd.Env = append(os.Environ(), "RECORD_INTO="+dir)
	out, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	lines, written := bufio.NewScanner(out), 0
	for written < 700 && lines.Scan() { // beyond the first segment
		_, _ = fmt.Sscan(lines.Text(), &written)
	}
	if _, err := Open(dir, header, Options{}); !errors.Is(err, ErrInUse) {
		t.Errorf("a second recorder: %v", err)
	}
	must(t, cmd.Process.Kill())
	for lines.Scan() {
		_, _ = fmt.Sscan(lines.Text(), &written)
	}
	_ = cmd.Wait()
	// The end of the last line is lost, as if the power had failed.
	existing, err := list(dir)
	must(t, err)
	last := existing[len(existing)-1]
	if !last.packed {
		must(t, os.Truncate(last.path, last.bytes-3))
	}
	w, err := Open(dir, header, Options{})
	must(t, err)
	w.Add(wideRow(1_000_000, 1))
	must(t, w.Close())
	r := read(t, dir)
	if n := len(r.Times); n < written-1 || r.Torn > 1 || len(r.Gaps) != 1 {
		t.Errorf("%d intervals of at least %d, %d torn, gaps %v", n, written, r.Torn, r.Gaps)
	}
}

// A disk that is full loses intervals, and no more: the recorder goes on when there is room.
func TestFullDisk(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root mounts a small file system")
	}
	hosttest.Exclusive(t)
	dir := t.TempDir()
	must(t, unix.Mount("tmpfs", dir, "tmpfs", 0, "size=512k"))
	t.Cleanup(func() { must(t, unix.Unmount(dir, 0)) })
	var warned []string
	w, err := Open(filepath.Join(dir, "recording"), header,
		Options{Bytes: 64 << 20, Warn: func(text string) { warned = append(warned, text) }})
	must(t, err)
	for i := range 50 {
		w.Add(wideRow(i+1, 20))
	}
	filler, err := os.Create(filepath.Join(dir, "filler"))
	must(t, err)
	for err == nil {
		_, err = filler.Write(make([]byte, 1<<10))
	}
	must(t, filler.Close())
	for i := 50; i < 500; i++ {
		w.Add(wideRow(i+1, 20))
	}
	if len(warned) != 1 || !strings.Contains(warned[0], "no space left") {
		t.Fatalf("warned of %q", warned)
	}
	must(t, os.Remove(filler.Name()))
	for i := 500; i < 510; i++ {
		w.Add(wideRow(i+1, 20))
	}
	must(t, w.Close())
	r := read(t, filepath.Join(dir, "recording"))
	n := len(r.Times)
	if n != 510-r.Lost || r.Lost < 400 || r.Torn > 0 || r.Times[n-1] != start.Add(510*time.Second) {
		t.Errorf("%d intervals, %d lost, %d torn, the last at %v", n, r.Lost, r.Torn, r.Times[n-1])
	}
	if len(r.Gaps) != 1 || !strings.Contains(r.Gaps[0].Why, "no space left") || len(warned) != 2 {
		t.Errorf("gaps %+v, warned of %q", r.Gaps, warned)
	}
}

func TestAttackDirectories(t *testing.T) {
	dir := t.TempDir()
	if _, err := Read(filepath.Join(dir, "none"), time.Time{}, time.Time{}); err == nil {
		t.Error("a directory that is not there was read")
	}
	if _, err := Read(dir, time.Time{}, time.Time{}); err == nil {
		t.Error("an empty directory was read")
	}
	// Links are no segments: they may lead anywhere.
	must(t, os.Symlink("/etc/passwd", filepath.Join(dir, "recording-00000001.txt")))
	must(t, unix.Mkfifo(filepath.Join(dir, "recording-00000002.txt"), 0o600))
	if _, err := Read(dir, time.Time{}, time.Time{}); err == nil {
		t.Error("links were read")
	}
	must(t, os.WriteFile(filepath.Join(dir, "recording-00000003.txt.gz"), []byte("no gzip"), 0o600))
	if _, err := Read(dir, time.Time{}, time.Time{}); err == nil {
		t.Error("what is not compressed was read")
	}
	if _, err := Open(dir, header, Options{Bytes: 5}); err == nil {
		t.Error("5 bytes are no recording")
	}
	w, err := Open(dir, header, Options{})
	must(t, err)
	w.Add(wideRow(1, 1))
	must(t, w.Close())
	if text, err := os.Readlink(filepath.Join(dir, "recording-00000001.txt")); err != nil || text != "/etc/passwd" {
		t.Errorf("the link: %q, %v", text, err)
	}
	// A compressed segment without its end.
	whole, err := os.ReadFile(filepath.Join(dir, "recording-00000004.txt.gz"))
	must(t, err)
	cut := filepath.Join(t.TempDir(), "recording-00000004.txt.gz")
	must(t, os.WriteFile(cut, whole[:len(whole)-9], 0o600))
	if r := read(t, cut); len(r.Times) != 1 {
		t.Errorf("%d intervals of a segment without its end", len(r.Times))
	}
}
