package follow

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"plimsoll/internal/iotrace"
)

// FuzzAnalyze analyses whatever comes. Nothing may be counted twice or be
// forgotten: every request ends once, its events are in order in sum, and any
// number of threads gives the same account.
func FuzzAnalyze(f *testing.F) {
	stories, err := filepath.Glob("testdata/stories/*")
	if err != nil || len(stories) == 0 {
		f.Fatal("no stories", err)
	}
	for _, story := range stories {
		b, err := os.ReadFile(story)
		if err != nil {
			f.Fatal(err)
		}
		for part := range strings.SplitSeq(string(b), "follow\n") {
			part, _, _ = strings.Cut(part, "----")
			if capture, err := tell(part); err == nil && len(capture) > 0 {
				f.Add(capture[0].From.(*bytes.Buffer).Bytes())
			}
		}
	}
	f.Fuzz(func(t *testing.T, file []byte) {
		var accounts []string
		for _, threads := range []int{1, 2} {
			a, err := Analyze(t.Context(), []Source{{Name: "file", From: bytes.NewReader(file)}}, Options{Threads: threads})
			var damage *DamageError
			if err != nil && !errors.Is(err, ErrEmpty) && !errors.As(err, &damage) {
				t.Fatal(err)
			}
			if a == nil {
				return
			}
			sound(t, a)
			b, err := json.Marshal([]any{a, a.Cells})
			if err != nil {
				t.Fatal(err)
			}
			accounts = append(accounts, string(b))
		}
		if accounts[0] != accounts[1] {
			t.Errorf("one thread gives\n%s\nand two\n%s", accounts[0], accounts[1])
		}
	})
}

// sound checks what holds of every account.
func sound(t *testing.T, a *iotrace.Account) {
	t.Helper()
	for _, c := range a.Cells {
		for i, d := range c.Intervals {
			if d == nil {
				continue
			}
			if d.Count == 0 || d.MinNS > d.MaxNS || d.MeanNS() < float64(d.MinNS)*(1-1e-9) && d.SumNS > d.MaxNS {
				t.Errorf("%+v: %v of %+v", c.Key, iotrace.Interval(i), d)
			}
			var n uint64
			for bin := range d.Latency().Bins.All() {
				n += bin.Count
			}
			if n != d.Count {
				t.Errorf("%+v: %v has %d times and %d in its histogram", c.Key, iotrace.Interval(i), d.Count, n)
			}
		}
	}
	var requests uint64
	for _, d := range a.Devices {
		requests += d.Requests
	}
	if requests > a.Events {
		t.Errorf("%d events completed %d requests", a.Events, requests)
	}
}

func TestCapturesAreSound(t *testing.T) {
	archives, err := filepath.Glob("testdata/captures/*.tgz")
	if err != nil {
		t.Fatal(err)
	}
	for _, archive := range archives {
		dir := unpack(t, archive)
		var serial, ios string
		for _, threads := range []int{1, 2, 3} {
			a, err := Analyze(t.Context(), open(t, dir), Options{Threads: threads})
			if err != nil {
				t.Fatalf("%s: %v", archive, err)
			}
			sound(t, a)
			b, _ := json.Marshal([]any{a, a.Cells})
			if threads == 1 {
				serial = string(b)
			} else if serial != string(b) {
				t.Errorf("%s: %d threads give another account", archive, threads)
			}
		}
		for _, threads := range []int{1, 2} {
			var out strings.Builder
			requests := uint64(0)
			a, err := Analyze(t.Context(), open(t, dir), Options{Threads: threads, PerIO: func(r *iotrace.IO) error {
				describe(&out, r)
				if r.C >= 0 {
					requests++
				}
				if r.Q >= 0 && (r.C >= 0 && r.C < r.Q || r.D >= 0 && r.D < r.Q || r.G >= 0 && r.G < r.Q) {
					t.Errorf("%s: out of order: %+v", archive, r)
				}
				return nil
			}})
			if err != nil {
				t.Fatal(err)
			}
			total := a.By(iotrace.Total)
			if len(total) != 1 || total[0].Requests > requests {
				t.Errorf("%s: %d I/Os of %d requests", archive, requests, total[0].Requests)
			}
			if threads == 1 {
				ios = out.String()
			} else if ios != out.String() {
				t.Errorf("%s: %d threads give other I/Os", archive, threads)
			}
		}
	}
}
