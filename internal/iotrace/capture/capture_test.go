package capture

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"plimsoll/internal/iotrace"
	"plimsoll/internal/testkit/hosttest"
)

// loop returns a loop device over a file in memory, and its number.
func loop(t testing.TB) (device, number string) {
	t.Helper()
	file := filepath.Join("/dev/shm", fmt.Sprintf("plimsoll-capture-%d", os.Getpid()))
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Remove(file) })
	if err := os.Truncate(file, 64<<20); err != nil {
		t.Fatal(err)
	}
	device = hosttest.Loop(t, file)
	hosttest.Quiet(t, device)
	text, err := os.ReadFile(filepath.Join("/sys/block", filepath.Base(device), "dev"))
	if err != nil {
		t.Fatal(err)
	}
	return device, strings.TrimSpace(string(text))
}

// direction is a part of fio's output.
type direction struct {
	TotalIOs uint64                      `json:"total_ios"`
	Bytes    uint64                      `json:"io_bytes"`
	IOPS     float64                     `json:"iops"`
	Slat     struct{ Mean, Min float64 } `json:"slat_ns"`
	Lat      struct{ Mean, Min float64 } `json:"lat_ns"`
}

type job struct{ Read, Write direction }

func fio(t testing.TB, args ...string) job {
	t.Helper()
	cmd := exec.Command("fio",
		append([]string{"--name=t", "--output-format=json", "--direct=1", "--bs=4k", "--size=64m"}, args...)...)
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %v: %s", cmd, err, out)
	}
	var all struct{ Jobs []job }
	if err := json.Unmarshal(out, &all); err != nil {
		t.Fatal(err)
	}
	return all.Jobs[0]
}

func start(t testing.TB, o Options) *Recorder {
	t.Helper()
	r, err := Start(context.Background(), nil, o)
	if err != nil {
		t.Fatalf("%+v", err)
	}
	return r
}

// recorded has a load recorded again as long as the kernel did not show all of it,
// and said so: the end of a request (see shown), or an event that came while the
// same program was at work on that CPU (see misses). What the others tell is no
// more what fio says.
func recorded(t testing.TB, record func() *iotrace.Account) *iotrace.Account {
	t.Helper()
	for range 10 {
		a := record()
		if a.Lost == 0 { // ends that were not shown are among them
			return a
		}
		t.Logf("the kernel did not show %d events: once more", a.Lost)
	}
	t.Fatal("of no load were all events shown")
	return nil
}

// stopped ends a recording.
func stopped(t testing.TB, r *Recorder) *iotrace.Account {
	t.Helper()
	a, err := r.Stop()
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// sum returns the totals of an operation in an account.
func sum(a *iotrace.Account, op iotrace.Op) (requests, bytes uint64, intervals [iotrace.Intervals]iotrace.Dist) {
	for _, c := range a.Cells {
		if c.Op != op {
			continue
		}
		requests += c.Requests
		bytes += c.Bytes
		for i, d := range c.Intervals {
			intervals[i].Merge(d)
		}
	}
	return requests, bytes, intervals
}

func TestAccountHoldsWhatTheApplicationDid(t *testing.T) {
	hosttest.Measures(t)
	device, number := loop(t)
	for _, kind := range []string{"btf", "raw"} {
		for _, o := range []Options{{All: true}, {Application: true}, {Application: true, Stages: true}} {
			t.Run(fmt.Sprintf("%s application %v stages %v", kind, o.Application, o.Stages), func(t *testing.T) {
				forceRaw = kind == "raw"
				defer func() { forceRaw = false }()
				o.Devices = []string{number}
				var j job
				a := recorded(t, func() *iotrace.Account {
					r := start(t, o)
					j = mixedLoad(t, device)
					return stopped(t, r)
				})
				var read, write [iotrace.Intervals]iotrace.Dist
				check := func(op iotrace.Op, want direction) (intervals [iotrace.Intervals]iotrace.Dist) {
					requests, bytes, intervals := sum(a, op)
					if requests != want.TotalIOs || bytes != want.Bytes {
						t.Errorf("%s: %d requests of %d bytes, and fio did %d of %d", op, requests, bytes, want.TotalIOs, want.Bytes)
					}
					for _, i := range []iotrace.Interval{iotrace.Q2D, iotrace.D2C, iotrace.Q2C} {
						if intervals[i].Count != requests {
							t.Errorf("%s: %s of %d requests, and not of %d", op, i, intervals[i].Count, requests)
						}
					}
					if got, want := intervals[iotrace.Q2C].SumNS,
						intervals[iotrace.Q2D].SumNS+intervals[iotrace.D2C].SumNS; got != want {
						t.Errorf("%s: Q2D and D2C make %d ns, and Q2C %d", op, want, got)
					}
					return intervals
				}
				read, write = check(iotrace.Read, j.Read), check(iotrace.Write, j.Write)
				for _, i := range []iotrace.Interval{iotrace.S2Q, iotrace.S2X, iotrace.C2R} {
					if got, want := read[i].Count+write[i].Count, j.Read.TotalIOs+j.Write.TotalIOs; o.Application &&
						got != want || !o.Application && got != 0 {
						t.Errorf("%s of %d requests", i, got)
					}
				}
				for _, c := range a.Cells {
					if c.Owner.Command != "fio" && c.Owner.Command != "block layer" {
						t.Errorf("requests of %+v", c.Owner)
					}
				}
			})
		}
	}
}

// At high rates requests are counted one by one, and timed by samples, which
// stand for all. Bios that are merged leave nothing behind.
func TestAllAreCountedAndSomeAreTimed(t *testing.T) {
	hosttest.Measures(t)
	device, number := loop(t)
	random := []string{"--rw=randrw", "--io_size=3g", "--norandommap"}
	merged := []string{"--rw=rw", "--io_size=3g", "--iodepth_batch=16"}
	for name, load := range map[string][]string{"btf": random, "raw": random, "btf merged": merged, "raw merged": merged} {
		t.Run(name, func(t *testing.T) {
			forceRaw = strings.HasPrefix(name, "raw")
			defer func() { forceRaw = false }()
			for range 10 {
				if sampled(t, device, number, load) {
					return
				}
			}
			t.Error("of no load were all events shown")
		})
	}
}

// sampled has a load recorded twice at a time, by samples and whole, and compares.
// It is false where the kernel did not show the same to both, and said so: the end
// of a request (see shown), or an event that came while the same program was at
// work on that CPU (see misses).
func sampled(t *testing.T, device, number string, load []string) bool {
	t.Helper()
	complete := start(t, Options{Devices: []string{number}, All: true})
	sample := start(t, Options{Devices: []string{number}})
	did := fio(t, append([]string{"--filename=" + device, "--ioengine=libaio", "--iodepth=32"}, load...)...)
	way := sample.way.(*bpfRecorder)
	_, stood, err := way.sampleCounts()
	if err != nil {
		t.Fatal(err)
	}
	missed := misses(way.coll) + misses(complete.way.(*bpfRecorder).coll)
	a, exact := stopped(t, sample), stopped(t, complete)
	if ofSome, ofAll := a.Devices[0].Unshown, exact.Devices[0].Unshown; missed > 0 || ofSome != ofAll {
		t.Logf("of %d I/Os the kernel did not show the ends of %d to one recorder and of %d to the other, and %d other "+
			"events: once more", did.Read.TotalIOs+did.Write.TotalIOs, ofSome, ofAll, missed)
		return false
	}
	// Of so many the kernel may have hidden some, from both: see shown.
	d := exact.Devices[0]
	if got, want := d.Requests+d.Unshown+d.BackMerges+d.FrontMerges+d.OtherMerges,
		did.Read.TotalIOs+did.Write.TotalIOs; got != want {
		t.Errorf("%d requests and merges, %d of them not shown, and fio did %d", got, d.Unshown, want)
	}
	checkSampled(t, a, exact)
	// Those that were timed stand for the others by their weights, not by what
	// they are scaled by in the end.
	if seen := d.Requests + d.BackMerges; stood < seen/2 || stood > seen*2 {
		t.Errorf("%d requests were timed or stood for, of %d", stood, seen)
	} else {
		t.Logf("%d requests were timed or stood for, of %d", stood, seen)
	}
	return true
}

// between is how long a virtual machine may stand still between two recorders, in
// nanoseconds: they see the same event one after the other.
const between = 5e6

// checkSampled compares what was told by samples with what all tell.
func checkSampled(t *testing.T, a, exact *iotrace.Account) {
	t.Helper()
	if total := exact.Devices[0].Requests; a.Timed == 0 || a.Timed >= total || exact.Timed != 0 ||
		a.Lost != a.Devices[0].Unshown || a.Devices[0].Unshown != exact.Devices[0].Unshown {
		t.Fatalf("%d of %d were timed, %d of all; %d and %d events lost, of which %d and %d ends were not shown", a.Timed,
			total, exact.Timed, a.Lost, exact.Lost, a.Devices[0].Unshown, exact.Devices[0].Unshown)
	}
	if !strings.Contains(strings.Join(a.Missing, "\n"), "were timed") {
		t.Errorf("it is not said that some were timed: %q", a.Missing)
	}
	if n := a.Devices[0].Unfinished + exact.Devices[0].Unfinished; n != 0 {
		t.Errorf("%d requests are unfinished", n)
	}
	for _, op := range []iotrace.Op{iotrace.Read, iotrace.Write} {
		requests, bytes, got := sum(a, op)
		wantRequests, wantBytes, want := sum(exact, op)
		if requests != wantRequests || bytes != wantBytes {
			t.Errorf("%s: %d requests of %d bytes, and there were %d of %d", op, requests, bytes, wantRequests, wantBytes)
		}
		for _, i := range []iotrace.Interval{iotrace.Q2D, iotrace.D2C, iotrace.Q2C} {
			if got[i].MinNS < want[i].MinNS/2 || got[i].MaxNS > 2*want[i].MaxNS+between {
				t.Errorf("%s: %s from %d to %d ns, and of all from %d to %d", op, i, got[i].MinNS, got[i].MaxNS,
					want[i].MinNS, want[i].MaxNS)
			}
		}
		t.Logf("%s: of %d requests Q2C has %d, mean %.0f ns, of all %.0f", op, requests, got[iotrace.Q2C].Count,
			got[iotrace.Q2C].MeanNS(), want[iotrace.Q2C].MeanNS())
	}
}
