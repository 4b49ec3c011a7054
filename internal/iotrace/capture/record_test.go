package capture

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"plimsoll/internal/iotrace"
	"plimsoll/internal/iotrace/blktrace"
	"plimsoll/internal/iotrace/follow"
	"plimsoll/internal/state/journal"
	"plimsoll/internal/testkit/hosttest"
)

const mixed = "--rw=randrw --ioengine=libaio --iodepth=8 --io_size=8m --fsync=64"

func mixedLoad(t testing.TB, device string) job {
	t.Helper()
	return fio(t, append([]string{"--filename=" + device}, strings.Fields(mixed)...)...)
}

// stat holds the kernel's counters of a device: requests by operation.
func stat(t testing.TB, device string) (reads, writes, flushes uint64) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("/sys/block", filepath.Base(device), "stat"))
	if err != nil {
		t.Fatal(err)
	}
	var n [17]uint64
	for i, word := range strings.Fields(string(text)) {
		if _, err := fmt.Sscan(word, &n[i]); err != nil {
			t.Fatal(err)
		}
	}
	return n[0], n[4], n[15]
}

func TestAccountHoldsWhatTheDeviceCounted(t *testing.T) {
	hosttest.Measures(t)
	device, number := loop(t)
	var r0, w0, f0, r1, w1, f1 uint64
	a := recorded(t, func() *iotrace.Account {
		r := start(t, Options{Devices: []string{number}, Stages: true})
		r0, w0, f0 = stat(t, device)
		// Buffered, and in order: bios are merged, and kernel threads write them.
		fio(t, "--filename="+device, "--direct=0", "--rw=write", "--ioengine=psync", "--io_size=16m", "--fsync=512",
			"--end_fsync=1")
		r1, w1, f1 = stat(t, device)
		return stopped(t, r)
	})
	// Who asks for a flush has a request of its own, which the kernel counts as a write.
	asked, _, _ := sum(a, iotrace.Flush)
	for op, want := range map[iotrace.Op]uint64{iotrace.Read: r1 - r0, iotrace.Write: w1 - w0 - asked,
		iotrace.Flush: f1 - f0} {
		if _, _, intervals := sum(a, op); intervals[iotrace.D2C].Count != want {
			t.Errorf("%s: D2C of %d requests, and the device counts %d", op, intervals[iotrace.D2C].Count, want)
		}
	}
	_, bytes, intervals := sum(a, iotrace.Write)
	if bytes != 16<<20 {
		t.Errorf("%d bytes were written, and fio wrote %d", bytes, 16<<20)
	}
	d := a.Devices[0]
	merged := d.BackMerges + d.FrontMerges
	if merged == 0 || intervals[iotrace.Q2M].Count != merged || intervals[iotrace.M2D].Count != merged {
		t.Errorf("%d bios were merged; Q2M has %d, and M2D %d", merged, intervals[iotrace.Q2M].Count,
			intervals[iotrace.M2D].Count)
	}
	if d.Unfinished != 0 {
		t.Errorf("%d requests are unfinished", d.Unfinished)
	}
	if d.Plugs == 0 || d.Sequential < 0.5 {
		t.Errorf("%d plugs, %v sequential", d.Plugs, d.Sequential)
	}
}

func TestEveryRequestIsGiven(t *testing.T) {
	hosttest.Measures(t)
	device, number := loop(t)
	var seen, bytes uint64
	check := func(io *iotrace.IO) {
		if io.Op == iotrace.Flush {
			return
		}
		seen++
		bytes += io.Bytes
		if io.Owner.Command != "fio" || io.Owner.PID == 0 || io.Error != 0 {
			t.Errorf("%+v is not fio's", io)
		}
		if io.Q < 0 || io.Q > io.G || io.G > io.D || io.D > io.C {
			t.Errorf("%+v: times are not in order", io)
		}
	}
	var j job
	recorded(t, func() *iotrace.Account {
		seen, bytes = 0, 0
		r := start(t, Options{Devices: []string{number}, Stages: true, Requests: check})
		j = mixedLoad(t, device)
		return stopped(t, r)
	})
	if seen != j.Read.TotalIOs+j.Write.TotalIOs || bytes != j.Read.Bytes+j.Write.Bytes {
		t.Errorf("%d requests of %d bytes; fio did %d of %d", seen, bytes, j.Read.TotalIOs+j.Write.TotalIOs,
			j.Read.Bytes+j.Write.Bytes)
	}
}

// Both ways make a capture that tells the same, also to others' programs.
func TestCapturesAreReadByOthers(t *testing.T) {
	hosttest.Measures(t)
	device, number := loop(t)
	for _, way := range []string{"bpf", "bpf raw", "tracefs"} {
		t.Run(way, func(t *testing.T) {
			name, raw := strings.CutSuffix(way, " raw")
			forceRaw = raw
			defer func() { forceRaw = false }()
			var base string
			var files []*os.File
			var did job
			recorded(t, func() (a *iotrace.Account) {
				base = filepath.Join(t.TempDir(), "c")
				a, files, did = captured(t, base, name, device, number)
				return a
			})
			ours := analyze(t, files)
			ios := did.Read.TotalIOs + did.Write.TotalIOs
			_, _, reads := sum(ours, iotrace.Read)
			_, _, writes := sum(ours, iotrace.Write)
			for _, i := range []iotrace.Interval{iotrace.Q2G, iotrace.D2C, iotrace.Q2C} {
				if n := reads[i].Count + writes[i].Count; n != ios {
					t.Errorf("%s of %d requests, and fio did %d", i, n, ios)
				}
			}
			compareBtt(t, base, ios)
		})
	}
}

// captured makes a capture of a load.
func captured(t *testing.T, base, way, device, number string) (a *iotrace.Account, files []*os.File, did job) {
	t.Helper()
	j, err := journal.Create(t.TempDir(), "trace")
	if err != nil {
		t.Fatal(err)
	}
	w := blktrace.NewWriter(func(cpu uint32) (io.Writer, error) {
		f, err := os.Create(blktrace.FileName(base, cpu))
		files = append(files, f)
		return f, err
	})
	r, err := Start(context.Background(), j,
		Options{Devices: []string{number}, Way: way, Events: func(e *blktrace.Record) {
			if err := w.Write(e); err != nil {
				t.Error(err)
			}
		}})
	if err != nil {
		t.Fatal(err)
	}
	did = mixedLoad(t, device)
	a = stopped(t, r)
	if left := j.Pending(); len(left) > 0 {
		t.Errorf("%d changes are not undone: %s", len(left), left[0].Change.What())
	}
	if err := j.Close(); err != nil {
		t.Error(err)
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	return a, files, did
}

func analyze(t *testing.T, files []*os.File) *iotrace.Account {
	t.Helper()
	var sources []follow.Source
	for _, f := range files {
		text, err := os.ReadFile(f.Name())
		if err != nil {
			t.Fatal(err)
		}
		sources = append(sources, follow.Source{Name: f.Name(), From: bytes.NewReader(text), Size: int64(len(text))})
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	}
	a, err := follow.Analyze(context.Background(), sources, follow.Options{Strict: true})
	if err != nil {
		t.Fatal(err)
	}
	if a.Lost > 0 {
		t.Errorf("the capture lacks %d events", a.Lost)
	}
	return a
}

// compareBtt has blkparse and btt count requests, where they are installed.
func compareBtt(t *testing.T, base string, ios uint64) {
	t.Helper()
	for _, program := range []string{"blkparse", "btt"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Logf("%s is not installed: nobody else reads the capture", program)
			return
		}
	}
	merged := base + ".bin"
	if out, err := exec.Command("blkparse", "-i", base, "-d", merged, "-O").CombinedOutput(); err != nil {
		t.Fatalf("blkparse: %v: %s", err, out)
	}
	cmd := exec.Command("btt", "-i", merged)
	cmd.Dir = filepath.Dir(base)
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("btt: %v: %s", err, out)
	}
	for _, interval := range []string{"Q2G", "D2C", "Q2C"} {
		for line := range strings.Lines(string(out)) {
			f := strings.Fields(line)
			if len(f) == 5 && f[0] == interval {
				if f[4] != fmt.Sprint(ios) {
					t.Errorf("btt has %s of %s requests, and fio did %d", interval, f[4], ios)
				}
				break
			}
		}
	}
	if !bytes.Contains(out, []byte("Q2C")) {
		t.Errorf("btt says nothing:\n%s", out)
	}
}

func TestTracefsGivesAnAccount(t *testing.T) {
	hosttest.Measures(t)
	checkTracefs(t)
}

// A kernel that reports an error of its own (an oops) stops all tracing, and so may a user: then
// the tracer takes its settings, and hands on no event.
func TestTracefsRecordsWhereTracingWasStopped(t *testing.T) {
	hosttest.Measures(t)
	dir := tracefsMount()
	if dir == "" {
		dir = t.TempDir()
		if err := unix.Mount("tracefs", dir, "tracefs", 0, ""); err != nil {
			t.Fatal(err)
		}
		defer func() {
			if err := unix.Unmount(dir, 0); err != nil {
				t.Error(err)
			}
		}()
	}
	on := filepath.Join(dir, "tracing_on")
	write := func(value string) {
		if err := os.WriteFile(on, []byte(value), 0); err != nil {
			t.Fatal(err)
		}
	}
	write("0")
	defer write("1")
	checkTracefs(t)
	if now, err := os.ReadFile(on); err != nil || string(now) != "0\n" {
		t.Errorf("tracing was stopped, and is left as %q: %v", now, err)
	}
}

// checkTracefs holds what the kernel's own tracer records of a load against what fio says of it.
func checkTracefs(t *testing.T) {
	t.Helper()
	device, number := loop(t)
	var did job
	a := recorded(t, func() *iotrace.Account {
		j, err := journal.Create(t.TempDir(), "trace")
		if err != nil {
			t.Fatal(err)
		}
		r, err := Start(context.Background(), j, Options{Devices: []string{number}, Way: "tracefs"})
		if err != nil {
			t.Fatal(err)
		}
		did = mixedLoad(t, device)
		a := stopped(t, r)
		if err := j.Close(); err != nil {
			t.Error(err)
		}
		return a
	})
	for op, want := range map[iotrace.Op]direction{iotrace.Read: did.Read, iotrace.Write: did.Write} {
		if n, bytes, _ := sum(a, op); n != want.TotalIOs || bytes != want.Bytes {
			t.Errorf("%s: %d requests of %d bytes, and fio did %d of %d: %s", op, n, bytes, want.TotalIOs, want.Bytes, byWhom(a))
		}
	}
}

// byWhom returns who asked for how much: another program may have read the device.
func byWhom(a *iotrace.Account) string {
	var lines []string
	for _, c := range a.Cells {
		lines = append(lines,
			fmt.Sprintf("%d %s of %d bytes by %s (%d)", c.Requests, c.Op, c.Bytes, c.Owner.Command, c.Owner.PID))
	}
	return strings.Join(lines, ", ")
}

func TestWrongDevicesAreAllNamed(t *testing.T) {
	_, err := Start(context.Background(), nil, Options{Devices: []string{"300:77777", "sda"}})
	for _, want := range []string{"300:77777", `"sda"`} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v does not report %s", err, want)
		}
	}
}
