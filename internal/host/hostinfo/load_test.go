package hostinfo

import (
	"fmt"
	"maps"
	"math"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"plimsoll/internal/host/hostfs"
)

// A host whose processors and disks do something between two looks.
func TestLoad(t *testing.T) {
	dir := t.TempDir()
	h := &Host{Roots: hostfs.Roots{Proc: dir + "/proc", Sys: dir + "/sys"}, calls: recorded{}}
	counts := func(user, idle, steal int, vda, dm string) {
		cpu := fmt.Sprintf("%d 0 0 %d 0 0 0 %d 0 0", user, idle, steal)
		write(t, h.Roots.Proc+"/stat", fmt.Appendf(nil, "cpu  %s\ncpu0 %s\ncpu1 0 0 0 0 0 0 0 0 0 0\nbtime 1\n", cpu, cpu))
		write(t, h.Roots.Proc+"/loadavg", []byte("0.52 0.58 0.59 1/389 12345\n"))
		write(t, h.Roots.Sys+"/block/vda/stat", []byte(vda+"\n"))
		write(t, h.Roots.Sys+"/block/vdb/stat", []byte("5 0 40 1 0 0 0 0 0 1 1 0 0 0 0 0 0\n"))
		write(t, h.Roots.Sys+"/block/loop0/stat", []byte(vda+"\n")) // what its disk counts too
		write(t, h.Roots.Sys+"/block/dm-0/stat", []byte(dm+"\n"))
		write(t, h.Roots.Sys+"/block/dm-0/slaves/vda", nil)
	}
	counts(1000, 5000, 10, "100 0 800 5 50 0 400 9 0 100 100 0 0 0 0 0 0", "0 0 0 0 0 0 0 0 0 0 0")
	w := h.WatchLoad()
	counts(1100, 5080, 20, "10100 0 80800 5 50 0 400 9 0 700 700 0 0 0 0 0 0", "9 0 9 0 9 0 9 0 0 9 9")
	// A second in which one of two processors was busy.
	w.before.time = w.before.time.Add(-time.Second)
	l, err := w.End(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	near := func(got, want float64) bool { return got > want*0.8 && got < want*1.2 }
	if !near(l.Busy, 0.5) || !near(l.Steal, 0.05) || l.CPUs != 2 || l.Average != 0.52 {
		t.Errorf("%+v, want half of 2 CPUs busy, 5%% stolen and a load of 0.52", l)
	}
	if len(l.Disks) != 1 || l.Disks[0].Name != "vda" || !near(l.Disks[0].IOs, 10000) ||
		!near(l.Disks[0].Bytes, 80000*512) || !near(l.Disks[0].Util, 0.6) {
		t.Errorf("%+v, want vda alone, with 10000 I/Os, busy for 0.6 s", l.Disks)
	}
	for disks, want := range map[string]int{"": 1, "vda": 2, "vdb": 1} {
		problems := l.Problems(strings.Fields(disks))
		if len(problems) != want {
			t.Errorf("for %q: %+v, want %d problems", disks, problems, want)
		}
		for _, p := range problems {
			if p.What == "" || p.Why == "" || p.Remedy == "" {
				t.Errorf("not shown in full: %+v", p)
			}
		}
	}

	h.moment = 0
	if s := h.load(t.Context()); len(s.Items) != 1 || s.Items[0].OK != Yes {
		t.Errorf("of a quiet host: %+v", s)
	}
}

// A host that is quiet in the first third of a second is watched for no longer. One that may be busy is watched for a
// whole second, and that second decides: a burst in its first third, and a load just below a threshold that goes on.
func TestTheLoadIsWatchedForLongerUnlessItIsQuiet(t *testing.T) {
	type work struct{ ticks, ios, milliseconds int } // ticks of a processor: 10 ms
	for name, c := range map[string]struct {
		steps   []work // in each tenth of a second
		seconds float64
		verdict map[string]Answer // by item
	}{
		"idle":               {make([]work, 10), 1. / 3, map[string]Answer{"processors": Yes}},
		"work after a third": {append(make([]work, 4), work{50, 900, 90}), 1. / 3, map[string]Answer{"processors": Yes}},
		"a burst of I/O counts": {[]work{{}, {0, 30, 60}}, 1,
			map[string]Answer{"processors": Yes, "vda": Limited}},
		"a few I/Os are a busy third, and a quiet second": {[]work{{}, {0, 12, 40}}, 1,
			map[string]Answer{"processors": Yes, "vda": Yes}},
		"a third that is just below the thresholds": {[]work{{}, {0, 3, 8}, {0, 3, 8}, {}, {0, 9, 20}, {0, 9, 20}}, 1,
			map[string]Answer{"processors": Yes, "vda": Limited}},
		"one of two processors": {[]work{{10, 0, 0}, {10, 0, 0}, {10, 0, 0}, {10, 0, 0}, {10, 0, 0}, {10, 0, 0}}, 1,
			map[string]Answer{"processors": Limited}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				dir := t.TempDir()
				h := &Host{Roots: hostfs.Roots{Proc: dir + "/proc", Sys: dir + "/sys"}, calls: recorded{}, moment: loadInterval}
				var total work
				count := func(w work) {
					total = work{total.ticks + w.ticks, total.ios + w.ios, total.milliseconds + w.milliseconds}
					write(t, h.Roots.Proc+"/stat", fmt.Appendf(nil, "cpu  %d 0 0 0 0 0 0 0 0 0\ncpu0 %[1]d 0 0 0 0 0 0 0 0 0\n"+
						"cpu1 0 0 0 0 0 0 0 0 0 0\nbtime 1\n", total.ticks))
					write(t, h.Roots.Sys+"/block/vda/stat", fmt.Appendf(nil, "%d 0 0 0 0 0 0 0 0 %d 0\n", total.ios,
						total.milliseconds))
				}
				count(work{})
				go func() {
					for _, w := range c.steps {
						time.Sleep(time.Second / 10)
						count(w)
					}
				}()
				began := time.Now()
				s := h.load(t.Context())
				if took := time.Since(began).Seconds(); math.Abs(took-c.seconds) > 1e-6 {
					t.Errorf("the host was watched for %g s, want %g", took, c.seconds)
				}
				verdict := map[string]Answer{}
				for _, i := range s.Items {
					verdict[i.Name] = i.OK
				}
				if !maps.Equal(verdict, c.verdict) {
					t.Errorf("%+v, want %v", s.Items, c.verdict)
				}
				window := fmt.Sprintf("over %.1f s", c.seconds)
				if !strings.Contains(s.Items[0].Value, window) {
					t.Errorf("%q does not say %q", s.Items[0].Value, window)
				}
				time.Sleep(time.Second) // until nothing writes
			})
		})
	}
}

// A disk that was at work a little, as every disk of a host that runs, is quiet.
func TestAQuietHostIsNotCalledBusy(t *testing.T) {
	l := Load{Seconds: 1, CPUs: 4, Busy: 0.03, Steal: 0.001, Disks: []DiskLoad{
		{Name: "vda", IOs: 5, Bytes: 40 << 10, Util: 0.02}, {Name: "vdb", IOs: 3, Bytes: 4096, Util: 0.4},
	}}
	if problems := l.Problems([]string{"vda", "vdb"}); len(problems) > 0 {
		t.Errorf("%+v", problems)
	}
}
