package observe

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/host/hostfs"
	"plimsoll/internal/result"
	"plimsoll/internal/testkit/hosttest"
)

// recordedHost is one whose files are recorded in two states.
type recordedHost struct {
	dir   string
	roots hostfs.Roots
}

func recorded(t *testing.T, archive string) recordedHost {
	t.Helper()
	dir := hosttest.Recorded(t, archive)
	before := filepath.Join(dir, "before")
	return recordedHost{dir, hostfs.Roots{Proc: filepath.Join(before, "proc"), Sys: filepath.Join(before, "sys")}}
}

// pass writes what the files hold in the second state into those of the first.
func (h recordedHost) pass(t *testing.T) {
	t.Helper()
	after := filepath.Join(h.dir, "after")
	err := filepath.WalkDir(after, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		at := filepath.Join(h.dir, "before", strings.TrimPrefix(path, after))
		return errors.Join(err, os.WriteFile(at, text, 0o644)) //nolint:gosec // a test's
	})
	if err != nil {
		t.Fatal(err)
	}
}

// group is that of a process of the recorded host.
func (h recordedHost) group(t *testing.T, pid int) Group {
	t.Helper()
	g, err := GroupOf(h.roots, pid)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// clock is one that a test moves.
type clock struct{ time time.Time }

func (c *clock) now() time.Time { return c.time }

// known writes the values of series that are known, one a line.
func known(series []result.Series) string {
	var out strings.Builder
	for _, s := range series {
		for _, v := range s.Values {
			if math.IsNaN(v) {
				continue
			}
			value := strconv.FormatFloat(math.Round(v*1e6)/1e6, 'f', -1, 64)
			fmt.Fprintf(&out, "%s %d: %s %s %s\n", s.Source, s.Instance, s.Metric, value, s.Unit)
		}
	}
	return out.String()
}

// Every metric, from two states of a recorded host that are a second apart.
func TestMetricsOfRecordedHosts(t *testing.T) {
	loop0 := result.Device{Name: "loop0", MajMin: "7:0"}
	vda := result.Device{Name: "vda", MajMin: "254:0", Depth: 1}
	for _, c := range []struct {
		archive string
		subject func(t *testing.T, h recordedHost) Subject
	}{
		{"v1", func(t *testing.T, h recordedHost) Subject {
			zero, second := h.group(t, 100), h.group(t, 200)
			if second.Unified != "" {
				t.Errorf("a process in the root of version 2 is in %s", second.Unified)
			}
			mini := Group{Memory: filepath.Dir(zero.Memory)}
			return Subject{
				Instances: []Instance{
					{Index: 0, Group: zero, Devices: []string{"7:0"}},
					{Index: 1, Group: second, Devices: []string{"254:0"}},
				},
				Miniature: &mini,
			}
		}},
		{"v2", func(t *testing.T, h recordedHost) Subject {
			return Subject{
				Instances: []Instance{{Index: 0, Group: h.group(t, 100)}, {Index: 1, Group: h.group(t, 200)}},
				Devices:   []result.Device{loop0, vda}, Host: true,
			}
		}},
	} {
		t.Run(c.archive, func(t *testing.T) {
			h := recorded(t, filepath.Join("testdata", c.archive+".txtar"))
			moved := &clock{time.Unix(1000, 0)}
			r := newRecorder(c.subject(t, h), h.roots, time.Second)
			r.now = moved.now
			r.begin()
			h.pass(t)
			moved.time = moved.time.Add(time.Second)
			r.sample(1)
			want, err := os.ReadFile(filepath.Join(h.dir, "want"))
			if err != nil {
				t.Fatal(err)
			}
			if got := known(r.series()); got != string(want) {
				t.Errorf("got:\n%s\nwant:\n%s", got, want)
			}
		})
	}
}

// A host that sleeps through intervals has the mean over all of them in each; a file that went away, a counter that
// went back, give NaN where that happened and nowhere else.
func TestWhatIsMissingSpoilsItsIntervalsOnly(t *testing.T) {
	h := recorded(t, "testdata/v2.txtar")
	moved := &clock{time.Unix(1000, 0)}
	r := newRecorder(Subject{Instances: []Instance{{Group: h.group(t, 100)}}}, h.roots, time.Second)
	r.now = moved.now
	r.begin()
	stat := h.roots.InSys("fs/cgroup/zero/cpu.stat")
	tick := func(seconds int, user string) {
		t.Helper()
		moved.time = moved.time.Add(time.Duration(seconds) * time.Second)
		err := os.WriteFile(stat, []byte("user_usec "+user+"\n"), 0o644) //nolint:gosec // a test's
		if user == "" {
			err = os.Remove(stat)
			r.courses[0].reader.close() // as the kernel does where a group is removed
		}
		if err != nil {
			t.Fatal(err)
		}
		r.sample(seconds)
	}
	tick(1, "1500000")
	tick(2, "2500000")
	tick(1, "1000000") // begun anew
	tick(1, "1250000")
	tick(1, "")
	tick(1, "2000000")
	tick(1, "3000000")
	if got, want := fmt.Sprint(r.series()[0].Values), "[0.5 0.5 0.5 NaN 0.25 NaN NaN 1]"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// The counters of version 1 and what processes tell are never subtracted from each other.
func TestCountersThatBeginMeanwhile(t *testing.T) {
	h := recorded(t, "testdata/v1.txtar")
	moved := &clock{time.Unix(1000, 0)}
	group := h.group(t, 200)
	r := newRecorder(Subject{Instances: []Instance{{Group: group, Devices: []string{"254:0"}}}}, h.roots, time.Second)
	r.now = moved.now
	r.begin()
	state := func(lines string) {
		t.Helper()
		moved.time = moved.time.Add(time.Second)
		root := h.roots.InSys("fs/cgroup/blkio/blkio.throttle.io_service_bytes")
		err := errors.Join(
			os.WriteFile(root, []byte("254:0 Read 5\n"), 0o644), //nolint:gosec // a test's
			os.WriteFile(filepath.Join(group.IO, "blkio.throttle.io_service_bytes"), []byte(lines), 0o644),
		)
		if err != nil {
			t.Fatal(err)
		}
		r.sample(1)
	}
	state("254:0 Read 1000\n254:0 Write 0\n")
	state("254:0 Read 2000\n254:0 Write 0\n")
	state("254:0 Read 5000\n254:0 Write 0\n")
	for _, s := range r.series() {
		if s.Metric != "io.read_bytes" {
			continue
		}
		if got, want := fmt.Sprint(s.Values), "[NaN NaN 3000]"; got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

// Instances that share the group of a limit on a device are told apart by their processes,
// also where its directory is mounted over those that containers had.
func TestInstancesThatShareAGroup(t *testing.T) {
	t.Run("by path", func(t *testing.T) {
		instancesThatShare(t, func(dir string) string { return dir })
	})
	t.Run("mounted over another", func(t *testing.T) {
		instancesThatShare(t, func(dir string) string {
			over := filepath.Join(t.TempDir(), "over") // another path of the same directory, as a mount is
			if err := os.Symlink(dir, over); err != nil {
				t.Fatal(err)
			}
			return over
		})
	})
}

func instancesThatShare(t *testing.T, share func(dir string) string) {
	h := recorded(t, "testdata/v1.txtar")
	zero, second := h.group(t, 100), h.group(t, 200)
	second.IO = share(zero.IO)
	members := filepath.Join(second.Memory, "cgroup.procs")
	err := errors.Join(os.MkdirAll(second.Memory, 0o755), os.WriteFile(members, []byte("200\n"), 0o600))
	if err != nil {
		t.Fatal(err)
	}
	moved := &clock{time.Unix(1000, 0)}
	r := newRecorder(Subject{
		Instances: []Instance{{Index: 0, Group: zero}, {Index: 1, Group: second}}, Miniature: &Group{IO: zero.IO},
	}, h.roots, time.Second)
	r.now = moved.now
	r.begin()
	h.pass(t)
	moved.time = moved.time.Add(time.Second)
	r.sample(1)
	got := known(r.series())
	for _, want := range []string{
		"instance 0: cpu.user 0.5 CPUs\n", "instance 1: io.read_bytes 1048576 bytes/s\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is missing", want)
		}
	}
	if strings.Contains(got, "instance 0: io.") || strings.Contains(got, "instance 1: io.reads") {
		t.Error("what both did is reported one of them")
	}
	if t.Failed() {
		t.Log(got)
	}
}

// Where a file system is on a partition, I/O is counted at its disk.
func TestIOOfAGroupOnAPartition(t *testing.T) {
	h := recorded(t, "testdata/v2.txtar")
	moved := &clock{time.Unix(1000, 0)}
	on := Instance{Group: h.group(t, 100), Devices: []string{"254:1"}}
	r := newRecorder(Subject{Instances: []Instance{on}}, h.roots, time.Second)
	r.now = moved.now
	r.begin()
	h.pass(t)
	moved.time = moved.time.Add(time.Second)
	r.sample(1)
	if got, want := known(r.series()), "instance 0: io.read_bytes 4096 bytes/s\n"; !strings.Contains(got, want) {
		t.Errorf("%q is missing in\n%s", want, got)
	}
}

func TestGroupAtAPath(t *testing.T) {
	h := recorded(t, "testdata/v1.txtar")
	got, err := GroupAt(h.roots, "mini/zero")
	if want := (Group{IO: h.roots.InSys("fs/cgroup/blkio/mini/zero")}); err != nil || got != want {
		t.Errorf("%+v, %v; want the one directory that has cgroup.procs, %+v", got, err, want)
	}
	if g, err := GroupAt(h.roots, "mini/two"); err == nil {
		t.Errorf("a group that is not there is %+v", g)
	}
}

// The interval in which sampling stops counts when most of it has passed, or when there is no other.
func TestTheLastInterval(t *testing.T) {
	for _, c := range []struct {
		milliseconds, taken, want int
	}{{100, 0, 1}, {2400, 2, 2}, {2600, 2, 3}, {3000, 3, 3}, {3100, 2, 3}} {
		moved := &clock{time.Unix(1000, 0)}
		r := newRecorder(Subject{Host: true}, hostfs.Default(), time.Second)
		r.now = moved.now
		r.begin()
		r.sample(c.taken)
		moved.time = moved.time.Add(time.Duration(c.milliseconds) * time.Millisecond)
		r.last(c.taken)
		if got := len(r.series()[0].Values); got != c.want {
			t.Errorf("%d ms with %d taken: %d values, want %d", c.milliseconds, c.taken, got, c.want)
		}
	}
}

func TestGroupOfAProcessThatEnded(t *testing.T) {
	h := recorded(t, "testdata/v1.txtar")
	if g, err := GroupOf(h.roots, 300); err == nil {
		t.Errorf("it is in %+v", g)
	}
}

func TestWhatCannotBeSampled(t *testing.T) {
	for _, c := range []struct {
		name     string
		subject  Subject
		interval time.Duration
		says     string
	}{
		{"too often", Subject{}, time.Millisecond, "more often than every 10ms"},
		{"backwards", Subject{}, -time.Second, "more often than every 10ms"},
		{"two with one index", Subject{Instances: []Instance{{Index: 1}, {Index: 1}}}, 0, "instance 1"},
		{"no index", Subject{Instances: []Instance{{Index: -1}}}, 0, "instance -1"},
	} {
		_, err := Start(c.subject, hostfs.Default(), c.interval)
		if err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v, want %q", c.name, err, c.says)
		}
	}
}
