package fio

import (
	"bytes"
	"os/exec"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"plimsoll/internal/result"
	"plimsoll/internal/testkit/hosttest"
	"plimsoll/internal/workload"
)

// sampled is the interval at which the recordings of testdata were made.
const sampled = 100 * time.Millisecond

func newWatch(sample time.Duration) *watch { return &watch{sample: sample} }

// documents cuts an output into the documents that fio printed one after the
// other, without what it said between them.
func documents(text []byte) (all [][]byte) {
	for {
		start := bytes.Index(text, []byte("{\n"))
		if start < 0 {
			return all
		}
		length := bytes.Index(text[start:], []byte("\n}\n"))
		if length < 0 { // the last one is cut short, maybe by its end of line alone
			if bytes.HasSuffix(text, []byte("\n}")) {
				all = append(all, text[start:])
			}
			return all
		}
		end := start + length + 3
		all, text = append(all, text[start:end]), text[end:]
	}
}

func mustRead(t interface {
	Helper()
	Fatal(...any)
}, text []byte) result.Measurement {
	t.Helper()
	m, err := readOutput(reader{}, text, workload.Exit{})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// However the output arrives, in single bytes or all at once, rates, final
// output and measurement are the same.
func TestWatchDoesNotMindHowItIsFed(t *testing.T) {
	for _, name := range []string{"watched", "interrupted"} {
		text := recorded(t, name)
		exit := workload.Exit{Asked: name == "interrupted"}
		if exit.Asked {
			exit.Code = interrupted
		}
		whole := newWatch(sampled)
		rates := whole.Feed(text)
		if len(rates) < 3 {
			t.Fatalf("%s: rates %v", name, rates)
		}
		total, err := whole.Read(exit, 0)
		if err != nil {
			t.Fatal(err)
		}
		rapid.Check(t, func(t *rapid.T) {
			w := newWatch(sampled)
			var got []float64
			for rest := text; len(rest) > 0; {
				n := rapid.OneOf(rapid.IntRange(1, 20), rapid.IntRange(1, 40000)).Draw(t, "bytes")
				if n = min(n, len(rest)); len(rest) < 3000 {
					n = 1
				}
				got, rest = append(got, w.Feed(slices.Clone(rest[:n]))...), rest[n:]
			}
			if !slices.Equal(got, rates) {
				t.Fatalf("rates %v, all at once %v", got, rates)
			}
			if !bytes.Equal(w.Final(), whole.Final()) {
				t.Fatal("another final output")
			}
			if m, err := w.Read(exit, 0); err != nil || !reflect.DeepEqual(m, total) {
				t.Fatalf("%+v, %v", m, err)
			}
		})
	}
}

// The rates are those that fio's own counters tell, with the ramp left out.
func TestWatchRates(t *testing.T) {
	for _, c := range []struct {
		name  string
		ramp  int // documents at the beginning
		notes []string
	}{
		{"watched", 3, []string{"queue depth will be capped"}},
		{"interrupted", 0, []string{"queue depth will be capped", "terminating on signal 2"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			text := recorded(t, c.name)
			docs := documents(text)
			w := newWatch(sampled)
			rates := w.Feed(text)
			var want []float64
			var ios, seconds float64
			for i, d := range docs[c.ramp:] {
				out, err := decodeOutput(d)
				if err != nil {
					t.Fatal(err)
				}
				j := out.Jobs[0]
				nowIOs, now := float64(j.Read.IOs+j.Write.IOs), float64(max(j.Read.RuntimeMS, j.Write.RuntimeMS))/1000
				if i > 0 && now-seconds < 0.05 || now == 0 {
					continue
				}
				want = append(want, (nowIOs-ios)/(now-seconds))
				ios, seconds = nowIOs, now
			}
			if !slices.Equal(rates, want) {
				t.Errorf("rates %v, want %v", rates, want)
			}
			if got, want := w.Final(), mustRead(t, docs[len(docs)-1]); !reflect.DeepEqual(mustRead(t, got), want) ||
				len(documents(got)) != 1 {
				t.Errorf("the final output is not the last document:\n%s", got)
			}
			for _, note := range c.notes {
				if !strings.Contains(string(w.Final()), note) {
					t.Errorf("%q is not in the final output", note)
				}
			}
		})
	}
}

// What is left out as warm-up is exactly what the document after it held.
func TestWatchLeavesOutTheWarmup(t *testing.T) {
	docs := documents(recorded(t, "interrupted"))
	w := newWatch(sampled)
	var early []byte
	for _, d := range docs {
		if w.Feed(d); w.samples == workload.WarmupUnit {
			early = d
			break
		}
	}
	if early == nil {
		t.Fatalf("only %d samples", w.samples)
	}
	// More of the same: the last document, as if all had happened once more.
	first := mustRead(t, early)
	text := docs[len(docs)-1]
	late, err := w.Read(workload.Exit{}, workload.WarmupUnit)
	if err == nil || !strings.Contains(err.Error(), "not one I/O") {
		t.Errorf("nothing came after the warm-up, but %d I/Os, %v", late.IOs(), err)
	}
	doubled := bytes.ReplaceAll(bytes.ReplaceAll(text, []byte(`"total_ios" : 50`), []byte(`"total_ios" : 100`)),
		[]byte(`"runtime" : 491`), []byte(`"runtime" : 991`))
	w.Feed(doubled)
	total := mustRead(t, doubled)
	late, err = w.Read(workload.Exit{}, workload.WarmupUnit)
	if err != nil {
		t.Fatal(err)
	}
	if want := total.Since(first); !reflect.DeepEqual(late, want) {
		t.Errorf("late %+v, want %+v", late, want)
	}
	if late.IOs() != total.IOs()-first.IOs() || late.Seconds != total.Seconds-first.Seconds {
		t.Errorf("%d I/Os in %v s of %d in %v s; %d in %v s were warm-up",
			late.IOs(), late.Seconds, total.IOs(), total.Seconds, first.IOs(), first.Seconds)
	}
}

// The ramp is what the first status told that came after it.
func TestWatchLeavesOutTheRamp(t *testing.T) {
	text := recorded(t, "interrupted")
	docs := documents(text)
	ramped := func(ramp time.Duration) *watch {
		w := newWatch(sampled)
		w.timing = workload.Timing{Ramp: ramp, Runtime: 500 * time.Millisecond}
		return w
	}
	var base []byte
	for _, d := range docs {
		if out, err := decodeOutput(d); err == nil && out.Jobs[0].Read.RuntimeMS >= 200 {
			base = d
			break
		}
	}
	w, whole := ramped(200*time.Millisecond), newWatch(sampled)
	rates, unramped := w.Feed(text), whole.Feed(text)
	if skipped := len(unramped) - len(rates); skipped < 2 || !slices.Equal(rates, unramped[skipped:]) {
		t.Errorf("rates %v, without a ramp %v", rates, unramped)
	}
	exit := workload.Exit{Code: 128, Asked: true}
	got, err := w.Read(exit, 0)
	if err != nil {
		t.Fatal(err)
	}
	everything, err := w.Whole(exit)
	if err != nil {
		t.Fatal(err)
	}
	if want := everything.Since(mustRead(t, base)); !reflect.DeepEqual(got, want) {
		t.Errorf("measured %+v, want %+v", got, want)
	}
	if everything.Operation(result.Read).Count != 50 || got.Operation(result.Read).Count == 0 ||
		got.Operation(result.Read).Count >= 50 {
		t.Errorf("%d reads in all, %d measured", everything.Operation(result.Read).Count, got.Operation(result.Read).Count)
	}
	// Statuses that come late, or not before the end, leave all of it.
	late := ramped(100 * time.Millisecond)
	late.Feed(docs[len(docs)-1])
	for name, w := range map[string]*watch{"late": late, "never": ramped(time.Hour)} {
		w.Feed(docs[len(docs)-1])
		if got, err := w.Read(exit, 0); err != nil || got.Operation(result.Read).Count != 50 {
			t.Errorf("%s: %d reads, %v", name, got.Operation(result.Read).Count, err)
		}
	}
}

// An output that is cut short anywhere is one whose end is missing, with the
// same reason that a process gives that was not watched, or one whose last
// document is whole.
func TestWatchOfAnOutputThatIsCutShort(t *testing.T) {
	text := recorded(t, "watched")
	whole := newWatch(sampled)
	rates := whole.Feed(text)
	rapid.Check(t, func(t *rapid.T) {
		cut := text[:rapid.IntRange(0, len(text)-1).Draw(t, "bytes")]
		w := newWatch(sampled)
		got := w.Feed(cut)
		if len(got) > len(rates) || !slices.Equal(got, rates[:len(got)]) {
			t.Fatalf("rates %v, of the whole %v", got, rates)
		}
		_, err := w.Read(workload.Exit{}, 0)
		docs := documents(cut)
		complete := len(docs) > 0 && bytes.HasSuffix(bytes.TrimRight(cut, "\n"), []byte("\n}"))
		switch {
		case complete && len(docs) > 3 && err != nil:
			t.Fatalf("%d whole documents, and %v", len(docs), err)
		case !complete && err == nil:
			t.Fatalf("no error although the last document is cut short, at %d", len(cut))
		}
	})
}

// fio's exit code after SIGINT is a good end only for who asked for it.
func TestWatchAcceptsTheEndThatWasAskedFor(t *testing.T) {
	text := recorded(t, "interrupted")
	for _, c := range []struct {
		exit workload.Exit
		ok   bool
	}{
		{workload.Exit{Code: 128, Asked: true}, true},
		{workload.Exit{Code: 0, Asked: true}, true}, // it had ended by itself already
		{workload.Exit{Code: 128}, false},
		{workload.Exit{Code: 1, Asked: true}, false},
		{workload.Exit{Code: 137, Signal: "killed", Asked: true}, false},
		{workload.Exit{Code: 128, Asked: true, OOMKilled: true}, false},
	} {
		w := newWatch(sampled)
		w.Feed(text)
		m, err := w.Read(c.exit, 0)
		if (err == nil) != c.ok || c.ok && m.Operation(result.Read).Count != 50 {
			t.Errorf("%+v: %d reads, %v", c.exit, m.Operation(result.Read).Count, err)
		}
	}
}

// The real fio, with many jobs at full speed: its rates add up to its I/Os,
// and what comes after the warm-up is the rest.
func TestWatchRealFio(t *testing.T) {
	hosttest.Measures(t)
	if _, err := exec.LookPath("fio"); err != nil {
		t.Skip("fio is not installed: apt-get install fio")
	}
	w, problems := decodeText("{rw: randrw, jobs: 3, iodepth: 4, size: 8MiB}", nil)
	if len(problems) > 0 {
		t.Fatal(tell(problems))
	}
	target := workload.Target{Path: t.TempDir()}
	step, err := w.Prepare(target)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Read(run(t, step)); err != nil {
		t.Fatal(err)
	}
	timing := workload.Timing{Ramp: 200 * time.Millisecond, Runtime: 1200 * time.Millisecond,
		Sample: 100 * time.Millisecond}
	if step, err = w.Drive(target, timing); err != nil {
		t.Fatal(err)
	}
	outputs, exit := run(t, step)
	watch := w.Abilities().Watch(timing)
	rates := watch.Feed(outputs[step.Live])
	if len(rates) < workload.WarmupUnit || len(rates) > 15 {
		t.Fatalf("%d rates in 1.2 s: %v", len(rates), rates)
	}
	total, err := watch.Read(exit, 0)
	if err != nil {
		t.Fatal(err)
	}
	late, err := watch.Read(exit, workload.WarmupUnit)
	if err != nil {
		t.Fatal(err)
	}
	// The last interval may be too short for a rate, and then is in neither.
	if mean := average(rates); mean < 0.5*total.IOPS() || mean > 2*total.IOPS() {
		t.Errorf("rates %v, fio says %.0f", rates, total.IOPS())
	}
	if !(late.IOs() > 0 && late.IOs() < total.IOs() && late.Seconds < total.Seconds-0.3) {
		t.Errorf("without warm-up %d I/Os in %v s, with it %d in %v s", late.IOs(), late.Seconds, total.IOs(), total.Seconds)
	}
	if late.Operation(result.Read).Latency[result.Total].Count == 0 ||
		late.Operation(result.Write).Latency[result.Completion].Bins.IsEmpty() {
		t.Error("no latencies without warm-up")
	}
}

func average(values []float64) (mean float64) {
	for _, v := range values {
		mean += v / float64(len(values))
	}
	return mean
}
