package stack

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"

	"plimsoll/internal/result"
	"plimsoll/internal/testkit/hosttest"
	"plimsoll/internal/workload"
	"plimsoll/internal/workload/kinds"
)

// fioFor returns the steps of fio on a stack: layout, and an hour that can be watched.
func fioFor(t *testing.T, s *Place) (w workload.Workload, timing workload.Timing, layout, drive *workload.Step) {
	t.Helper()
	w = declared(t, "{rw: randread, jobs: 2, iodepth: 4, size: 8MiB}")
	timing = workload.Timing{Runtime: time.Hour, Sample: 100 * time.Millisecond}
	layout, err := w.Prepare(s.Target)
	if err != nil {
		t.Fatal(err)
	}
	if drive, err = w.Drive(s.Target, timing); err != nil {
		t.Fatal(err)
	}
	return w, timing, layout, drive
}

// A load generator that is asked to end does so at once and well, on the host
// and in a container, and all that it did until then is measured.
func TestAStepEndsOnceEnoughIsKnown(t *testing.T) {
	for _, text := range []string{"dir", "loop(size=512MiB) > ext4 > volume", "loop(size=512MiB) > ext4 > overlay2"} {
		t.Run(text, func(t *testing.T) {
			if text == "dir" {
				text += ":" + t.TempDir()
			} else {
				hosttest.Exclusive(t)
			}
			e := newEnv(t)
			s := up(t, e, text)
			w, timing, layout, drive := fioFor(t, s)
			if _, exit, err := s.Run(t.Context(), layout, filepath.Join(e.Scratch, "layout"), nil); err != nil || exit.Code != 0 {
				t.Fatalf("%+v, %v", exit, err)
			}
			watch := w.Abilities().Watch(timing)
			var (
				rates   []float64
				feeding atomic.Int32
			)
			scratch := filepath.Join(e.Scratch, "1")
			outputs, exit, err := s.Run(t.Context(), drive, scratch, func(appended []byte) bool {
				if feeding.Add(1) != 1 {
					t.Error("fed twice at a time")
				}
				defer feeding.Add(-1)
				rates = append(rates, watch.Feed(appended)...)
				return len(rates) >= 6
			})
			if err != nil || !exit.Asked {
				t.Fatalf("%+v, %v", exit, err)
			}
			if len(outputs) != 0 {
				t.Error("what was watched is among the outputs")
			}
			m, err := watch.Read(exit, workload.WarmupUnit)
			if err != nil {
				t.Fatal(err)
			}
			total, err := watch.Read(exit, 0)
			if err != nil {
				t.Fatal(err)
			}
			if total.Seconds < 0.4 || total.Seconds > timing.Runtime.Seconds()/2 || m.Seconds >= total.Seconds || total.Operation(result.Read).Latency[result.Total].Count == 0 {
				t.Errorf("measured %v s, %v s without warm-up, %d latencies", total.Seconds, m.Seconds, total.Operation(result.Read).Latency[result.Total].Count)
			}
			// All that fio said was handed on, its last words included.
			text, err := os.ReadFile(filepath.Join(scratch, drive.Live))
			if err != nil {
				t.Fatal(err)
			}
			again := w.Abilities().Watch(timing)
			if again.Feed(text); string(again.Final()) != string(watch.Final()) {
				t.Error("not all of the output was handed on")
			}
		})
	}
}

// appending never ends by itself, and appends to its output. SIGINT ends only
// some.
func appending(ignoring bool) *workload.Step {
	trap := "exit 3"
	if ignoring {
		trap = ""
	}
	return &workload.Step{
		Argv:    []string{"sh", "-c", `trap "` + trap + `" INT; while :; do echo line >> "$0/out"; sleep 0.1; done`, workload.ScratchDir},
		Outputs: []string{"out"}, Live: "out",
	}
}

// A process that ignores the request is ended like any other, when the
// context is.
func TestAProcessThatIgnoresTheRequestEndsWithTheContext(t *testing.T) {
	e := newEnv(t)
	s := up(t, e, "dir:"+t.TempDir())
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	fed := 0
	_, exit, err := s.Run(ctx, appending(true), filepath.Join(e.Scratch, "1"), func(appended []byte) bool {
		if fed += strings.Count(string(appended), "line\n"); fed > 5 {
			cancel() // it goes on although it was asked after the first
		}
		return true
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("%+v, %v", exit, err)
	}
	if fed <= 5 {
		t.Errorf("ended after %d lines", fed)
	}
}

// How a process ends that was asked to is told, and that it was; one that
// ends by itself was not asked.
func TestHowAStepEnds(t *testing.T) {
	e := newEnv(t)
	s := up(t, e, "dir:"+t.TempDir())
	_, exit, err := s.Run(t.Context(), appending(false), filepath.Join(e.Scratch, "1"), func([]byte) bool { return true })
	if err != nil || !exit.Asked || exit.Code != 3 || exit.Signal != "" {
		t.Errorf("asked: %+v, %v", exit, err)
	}
	var fed string
	step := &workload.Step{Argv: []string{"sh", "-c", `echo -n all >> "$0/out"`, workload.ScratchDir}, Outputs: []string{"out"}, Live: "out"}
	_, exit, err = s.Run(t.Context(), step, filepath.Join(e.Scratch, "2"), func(appended []byte) bool {
		fed += string(appended)
		return false
	})
	if err != nil || exit.Asked || exit.Code != 0 || fed != "all" {
		t.Errorf("by itself: %+v, %v, fed %q", exit, err, fed)
	}
	// Nobody watches: the output is one like the others.
	outputs, _, err := s.Run(t.Context(), step, filepath.Join(e.Scratch, "3"), nil)
	if err != nil || string(outputs["out"]) != "all" {
		t.Errorf("not watched: %q, %v", outputs["out"], err)
	}
	// It leaves no output at all.
	step.Argv = []string{"true"}
	_, exit, err = s.Run(t.Context(), step, filepath.Join(e.Scratch, "4"), func([]byte) bool { t.Error("fed"); return true })
	if err != nil || exit.Asked {
		t.Errorf("without output: %+v, %v", exit, err)
	}
}

// declared is a workload of fio as experiment files have it.
func declared(t *testing.T, text string) workload.Workload {
	t.Helper()
	var doc yaml.Node
	if err := yaml.Unmarshal([]byte(text), &doc); err != nil {
		t.Fatal(err)
	}
	w, problems := kinds.All()[0].Decode(doc.Content[0], nil)
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	return w
}
