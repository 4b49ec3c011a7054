package capture

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/cilium/ebpf/link"

	"plimsoll/internal/iotrace"
	"plimsoll/internal/iotrace/blktrace"
	"plimsoll/internal/testkit/hosttest"
)

// An end that the kernel does not show is told of, however it was recorded.
func TestWhatIsNotShownIsTold(t *testing.T) {
	hosttest.Measures(t)
	device, number := loop(t)
	for name, o := range map[string]Options{
		"default": {}, "all": {All: true}, "requests": {Requests: func(*iotrace.IO) {}},
		"events": {Events: func(*blktrace.Record) {}},
	} {
		t.Run(name, func(t *testing.T) {
			o.Devices, o.Way = []string{number}, "bpf"
			problem := ""
			for range 5 {
				if problem = whatIsNotShown(t, o, device); problem == "" {
					return
				}
				t.Log(problem + ": once more, as the kernel itself may have hidden some of the first load: see shown")
			}
			t.Error(problem)
		})
	}
}

// whatIsNotShown records a load of which the kernel shows all, and one of which it
// shows nothing, and returns what of that is told wrongly.
func whatIsNotShown(t *testing.T, o Options, device string) string {
	t.Helper()
	r, err := Start(context.Background(), nil, o)
	if err != nil {
		t.Fatal(err)
	}
	first := mixedLoad(t, device)
	for _, l := range r.way.(*bpfRecorder).links {
		_ = l.Close() // from now on the kernel shows nothing
	}
	second := mixedLoad(t, device)
	a := stopped(t, r)
	if len(a.Missing) == 0 {
		t.Error("nothing shows why")
	}
	// Of the loads, fio does not tell how often it asked for a flush.
	done, hidden := first.Read.TotalIOs+first.Write.TotalIOs, second.Read.TotalIOs+second.Write.TotalIOs
	got := a.Devices[0].Unshown
	if flushes := hidden / 64; got < hidden || got > hidden+flushes+1 || a.Lost != got {
		return fmt.Sprintf("%d ends were not shown, %d were lost, of %d shown and %d hidden I/Os", got, a.Lost, done, hidden)
	}
	return ""
}

// What begins at the address of one whose end was not shown has times of its own.
func TestHiddenEndsSpoilNoTimes(t *testing.T) {
	hosttest.Measures(t)
	device, number := loop(t)
	for _, kind := range []string{"btf", "raw"} {
		t.Run(kind, func(t *testing.T) {
			forceRaw = kind == "raw"
			defer func() { forceRaw = false }()
			complete := start(t, Options{Devices: []string{number}, All: true})
			sample := start(t, Options{Devices: []string{number}})
			hidden := make(chan error)
			go func() {
				time.Sleep(time.Second)
				var err error
				for i := 0; i < 40 && err == nil; i++ {
					err = hide(sample.way.(*bpfRecorder), time.Millisecond)
					time.Sleep(40 * time.Millisecond)
				}
				hidden <- err
			}()
			ios := fio(t, "--filename="+device, "--ioengine=libaio", "--iodepth=32", "--rw=randrw", "--norandommap",
				"--io_size=100g", "--time_based", "--runtime=3")
			if err := <-hidden; err != nil {
				t.Fatal(err)
			}
			a, exact := stopped(t, sample), stopped(t, complete)
			d := a.Devices[0]
			if got, want := d.Requests+d.Unshown+d.BackMerges+d.FrontMerges+d.OtherMerges,
				ios.Read.TotalIOs+ios.Write.TotalIOs; got != want || d.Unshown < 40 || a.Timed == 0 {
				t.Errorf("%d requests, %d of them not shown, and fio did %d; %d were timed", got, d.Unshown, want, a.Timed)
			}
			for _, op := range []iotrace.Op{iotrace.Read, iotrace.Write} {
				_, _, got := sum(a, op)
				_, _, want := sum(exact, op)
				for _, i := range []iotrace.Interval{iotrace.Q2D, iotrace.D2C, iotrace.Q2C} {
					if got[i].MaxNS > 2*want[i].MaxNS+between {
						t.Errorf("%s: %s up to %d ns, and of all to %d", op, i, got[i].MaxNS, want[i].MaxNS)
					}
				}
			}
			t.Logf("%d of %d ends were not shown", d.Unshown, d.Requests+d.Unshown)
		})
	}
}

// hide has the kernel show no end of a request for a while.
func hide(r *bpfRecorder, d time.Duration) error {
	const name = "rq_complete"
	if err := r.detachOne(name); err != nil {
		return err
	}
	time.Sleep(d)
	return r.attachOne(name, r.coll.Programs[name])
}

// detachOne detaches the program of that name.
func (r *bpfRecorder) detachOne(name string) error {
	known, err := r.coll.Programs[name].Info()
	if err != nil {
		return err
	}
	id, _ := known.ID()
	for _, links := range []*[]link.Link{&r.links, &r.timing} {
		i := slices.IndexFunc(*links, func(l link.Link) bool {
			info, err := l.Info()
			return err == nil && info.Program == id
		})
		if i >= 0 {
			err := (*links)[i].Close()
			*links = slices.Delete(*links, i, i+1)
			return err
		}
	}
	return fmt.Errorf("no program %s is attached", name)
}

func TestWhatDevicesCountIsRead(t *testing.T) {
	if got := diskstats([]device{{name: "nowhere"}}); got == nil || len(got) != 0 {
		t.Errorf("%v of a device that there is not", got)
	}
}
