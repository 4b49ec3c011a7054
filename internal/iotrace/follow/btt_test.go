package follow

import (
	"archive/tar"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"plimsoll/internal/iotrace"
	"plimsoll/internal/iotrace/blktrace"
)

// bttKnows are the intervals that btt has too.
var bttKnows = []iotrace.Interval{iotrace.Q2Q, iotrace.Q2G, iotrace.G2I, iotrace.Q2M, iotrace.I2D, iotrace.M2D,
	iotrace.D2C, iotrace.Q2C}

// figures are btt's output for one interval of one device.
type figures struct {
	min, mean, max string
	count          uint64
}

type where struct {
	device   string // MAJ:MIN, or all: where btt tells M2D
	interval iotrace.Interval
}

const allDevices = "all"

// Why btt is wrong: docs/evidence/btt.csv has the records.
const (
	flush = "btt passes over the Q of a flush, and shows the time between those before and after it"
	split = "btt finds no Q within the D or C of a part of it"
)

// differs are the places in the captures of testdata where btt is wrong.
var differs = map[string]map[string]string{
	"dm-thin":          {"259:0 Q2Q": flush, "259:1 Q2Q": flush, "253:4 Q2C": split},
	"loop-btrfs":       {"7:0 Q2Q": flush},
	"loop-ext4":        {"7:0 Q2Q": flush},
	"loop-xfs":         {"7:0 Q2Q": flush},
	"lvm-stripe":       {"253:0 Q2C": split},
	"lvm-stripe-split": {"253:0 Q2C": split},
	"md-raid0":         {"9:0 Q2C": split},
	"md-raid0-xfs":     {"259:0 Q2Q": flush, "259:1 Q2Q": flush, "259:2 Q2Q": flush},
	"nvme-big":         {"259:1 D2C": split, "259:1 Q2C": split},
	"nvme-btrfs":       {"259:1 Q2Q": flush},
	"nvme-ext4":        {"259:1 Q2Q": flush},
	"nvme-fsync":       {"259:1 Q2Q": flush},
}

// TestSameAsBtt compares all intervals of all devices with btt's, for every
// capture in testdata/captures, and in the directories of PLIMSOLL_CAPTURES
// (make bench NAME=btt).
func TestSameAsBtt(t *testing.T) {
	for _, program := range []string{"blkparse", "btt"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("%s is not installed: scripts/setup.sh test", program)
		}
	}
	if dirs := os.Getenv("PLIMSOLL_CAPTURES"); dirs != "" {
		for _, dir := range filepath.SplitList(dirs) {
			t.Run(filepath.Base(dir), func(t *testing.T) { compare(t, dir, nil) })
		}
		return
	}
	archives, err := filepath.Glob("testdata/captures/*.tgz")
	if err != nil || len(archives) == 0 {
		t.Fatal("no captures", err)
	}
	for _, archive := range archives {
		name := strings.TrimSuffix(filepath.Base(archive), ".tgz")
		t.Run(name, func(t *testing.T) { compare(t, unpack(t, archive), differs[name]) })
	}
}

func unpack(t testing.TB, archive string) string {
	t.Helper()
	f, err := os.Open(archive)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return dir
		}
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(h.Name, ".blktrace.") {
			continue
		}
		b, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, filepath.Base(h.Name)), b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// open opens the captures in a directory.
func open(t testing.TB, dir string) (sources []Source) {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "*.blktrace.*"))
	if err != nil || len(names) == 0 {
		t.Fatalf("no captures in %s: %v", dir, err)
	}
	for _, name := range names {
		f, err := os.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { f.Close() })
		sources = append(sources, Source{Name: filepath.Base(name), From: f})
	}
	return sources
}

func compare(t *testing.T, dir string, known map[string]string) {
	account, err := Analyze(t.Context(), open(t, dir), Options{})
	if err != nil {
		t.Error(err)
	}
	ours := map[where]*iotrace.Dist{}
	for _, c := range account.Cells {
		for i, d := range c.Intervals {
			if d == nil || c.Size == 0 && iotrace.Interval(i) != iotrace.Q2Q {
				continue // btt follows only what has data
			}
			place := where{c.Device, iotrace.Interval(i)}
			if place.interval == iotrace.M2D {
				place.device = allDevices
			}
			if ours[place] == nil {
				ours[place] = new(iotrace.Dist)
			}
			ours[place].Merge(d)
		}
	}
	var devices []string
	for _, d := range account.Devices {
		devices = append(devices, d.MajMin)
	}
	theirs := btt(t, dir)
	seen := map[string]bool{}
	for _, interval := range bttKnows {
		names := devices
		if interval == iotrace.M2D {
			names = []string{allDevices}
		}
		for _, device := range names {
			key := where{device, interval}
			place := fmt.Sprintf("%s %v", key.device, key.interval)
			got, want := print(ours[key]), theirs[key]
			if got == want {
				continue
			}
			seen[place] = true
			if _, ok := known[place]; !ok {
				t.Errorf("%s: %+v, and btt %+v", place, got, want)
			}
		}
	}
	for place := range known {
		if !seen[place] {
			t.Errorf("%s does not differ from btt's: see docs/evidence/btt.md", place)
		}
	}
	for _, m := range account.Missing {
		t.Log("missing:", m)
	}
}

// print gives the figures as btt prints them, who takes no time for 1 ns.
func print(d *iotrace.Dist) figures {
	if d == nil {
		return figures{}
	}
	var zeros uint64
	if bins := d.Latency().Bins.Unpack(); len(bins) > 0 && bins[0].NS == 0 {
		zeros = bins[0].Count
	}
	seconds := func(ns float64) string { return fmt.Sprintf("%.9f", ns/1e9) }
	mean := math.Round(float64(d.SumNS+zeros)/float64(d.Count)*1e3) / 1e3
	return figures{seconds(float64(max(1, d.MinNS))), seconds(mean), seconds(float64(max(1, d.MaxNS))), d.Count}
}

// btt runs blkparse and btt, and reads btt's tables of devices.
func btt(t *testing.T, dir string) map[where]figures {
	t.Helper()
	work := t.TempDir()
	args := []string{"-q", "-O", "-d", filepath.Join(work, "merged")}
	names, err := filepath.Glob(filepath.Join(dir, "*.blktrace.0"))
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(names)
	for _, name := range names {
		args = append(args, "-i", strings.TrimSuffix(filepath.Base(name), ".blktrace.0"))
	}
	run(t, dir, "blkparse", args...)
	return tables(t, run(t, work, "btt", "-A", "-i", "merged"))
}

func run(t *testing.T, dir, name string, args ...string) string {
	t.Helper()
	c := exec.Command(name, args...)
	c.Dir = dir
	out, err := c.Output()
	if err != nil {
		t.Fatalf("%v: %v", c, err)
	}
	return string(out)
}

func tables(t *testing.T, out string) map[where]figures {
	t.Helper()
	_, out, ok := strings.Cut(out, "= Per Device =")
	if !ok {
		t.Fatal("btt has no table of devices")
	}
	theirs := map[where]figures{}
	var interval string
	for line := range strings.Lines(out) {
		words := strings.Fields(line)
		if i := slices.IndexFunc(bttKnows,
			func(i iotrace.Interval) bool { return len(words) == 5 && i.String() == words[0] }); i >= 0 && words[1] != "MIN" {
			f := figures{min: words[1], mean: words[2], max: words[3]}
			if _, err := fmt.Sscan(words[4], &f.count); err != nil {
				t.Fatal(err)
			}
			theirs[where{allDevices, bttKnows[i]}] = f
		}
		if len(words) == 5 && words[1] == "MIN" {
			interval = strings.TrimSuffix(words[0], "dm")
			continue
		}
		var major, minor uint32
		if _, err := fmt.Sscanf(line, "(%d,%d)", &major, &minor); err != nil {
			continue
		}
		words = strings.Fields(line[strings.Index(line, ")")+1:])
		i := slices.IndexFunc(bttKnows, func(i iotrace.Interval) bool { return i.String() == interval })
		if i < 0 || len(words) != 4 {
			continue
		}
		f := figures{min: words[0], mean: words[1], max: words[2]}
		if _, err := fmt.Sscan(words[3], &f.count); err != nil {
			t.Fatal(err)
		}
		theirs[where{blktrace.MajMin(blktrace.DeviceNumber(major, minor)), bttKnows[i]}] = f
	}
	return theirs
}

// write stores a story as a capture.
func write(t *testing.T, story string) (dir string) {
	t.Helper()
	sources, err := tell(story)
	if err != nil {
		t.Fatal(err)
	}
	dir = t.TempDir()
	for _, s := range sources {
		b, err := io.ReadAll(s.From)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, s.Name), b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}
