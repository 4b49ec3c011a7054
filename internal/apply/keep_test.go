package apply

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/state/journal"
)

// keepVariable makes the program that applies a plan keep it, with the log that it names.
const keepVariable = "PLIMSOLL_APPLY_TEST_KEEP"

// keepSlow keeps a plan of which every container is slow, wherever it stands, until stop.
func keepSlow(ctx context.Context, t *Target, state, log string, stop func(looks int) bool) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	looks := 0
	return Keep(ctx, t, state, Keeping{Rules: testRules, Log: log, Limits: map[string]float64{"web": 0.01},
		P99s: func(ctx context.Context, _ []Engine, _ time.Duration) (map[string]float64, error) {
			if stop != nil && stop(looks) {
				cancel()
				return nil, ctx.Err()
			}
			looks++
			s, err := t.open(ctx)
			if err != nil {
				return nil, err
			}
			defer s.close()
			all := map[string]float64{}
			for _, c := range s.stands {
				all[c.id] = 0.02
			}
			return all, nil
		},
		Room: func(engine string, counts map[string]int, service string) (float64, string) {
			if counts[service] != 1 {
				return 0, fmt.Sprintf("%v on %s", counts, engine)
			}
			return 0.005, ""
		},
		Made: func(Step) {}, Decided: func([]Decision) {},
		now: func() time.Time { return testStart.Add(time.Duration(looks) * time.Minute) }})
}

// A plan is kept: what was stopped is started, a container whose limit breaks is moved once, and stays there for the
// next one that keeps the plan.
func TestAPlanIsKept(t *testing.T) {
	b := newBench(t, 2)
	target, log := b.target(t, web(), 1, 0), filepath.Join(b.dir, "log")
	stood := ""
	err := keepSlow(t.Context(), target, b.state, log, func(looks int) bool {
		switch looks {
		case 1:
			if !b.stop(t, 0, "shop-web-1") {
				t.Error("it did not stand where it was planned")
			}
		case 2:
			stood = b.stands(t)
		}
		return looks == 20
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(log); err != nil {
		t.Fatal(err)
	}
	const moved = "b/shop-web-1=running/64"
	if got := b.stands(t); got != moved || stood != "a/shop-web-1=exited/64" && stood != "a/shop-web-1=running/64" {
		t.Errorf("there stand %s, and before %s", got, stood)
	}
	f, err := os.Open(log)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if r, err := Replay(f); err != nil || r.Moves != 1 || r.Looks != 20 {
		t.Errorf("%+v, %v", r, err)
	}
	b.stop(t, 1, "shop-web-1")
	if err := keepSlow(t.Context(), target, b.state, log, func(int) bool { return true }); err != nil {
		t.Error(err)
	}
	if got := b.stands(t); got != moved {
		t.Errorf("gone on with, there stand %s", got)
	}
	b.apply(t, target)
	if got := b.stands(t); got != "a/shop-web-1=running/64" {
		t.Errorf("applied without --watch, there stand %s", got)
	}
}

// Killed in each step of a move, the move is finished by the next one that keeps the plan, or taken back.
func TestAKilledMoveIsFinishedOrTakenBack(t *testing.T) {
	b := newBench(t, 2)
	file := filepath.Join(b.dir, "plan.json")
	if err := os.WriteFile(file, b.plan(t, web(), 1, 0), 0o600); err != nil {
		t.Fatal(err)
	}
	target := b.target(t, web(), 1, 0)
	for i, point := range []string{"1:intent", "1:made", "2:intent", "2:made", "0:committed"} {
		b.apply(t, target)
		log := filepath.Join(b.dir, fmt.Sprintf("log%d", i))
		// It stops by itself where nothing kills it.
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
		killed := exec.CommandContext(ctx, os.Args[0])
		killed.Env = append(os.Environ(), childVariable+"="+file, keepVariable+"="+log, journal.CrashVariable+"="+point)
		output, err := killed.CombinedOutput()
		if exit := (*exec.ExitError)(nil); !errors.As(err, &exit) || exit.ExitCode() != -1 || ctx.Err() != nil {
			t.Fatalf("%s: it was not killed: %v\n%s", point, err, output)
		}
		cancel()
		text, err := os.ReadFile(log)
		if err != nil || point != "0:committed" && strings.Count(string(text), `"do":"move"`) != 1 {
			t.Fatalf("%s: it was not killed in a move: %v\n%s", point, err, text)
		}
		if point == "2:made" {
			if _, err := Undo(t.Context(), target, b.state, nil); err != nil {
				t.Error(err)
			}
			if got := b.stands(t); got != "a/shop-web-1=running/64" {
				t.Errorf("%s: taken back, there stand %s", point, got)
			}
		}
		if err := keepSlow(t.Context(), target, b.state, log, func(int) bool { return true }); err != nil {
			t.Errorf("%s: %v", point, err)
		}
		want := "b/shop-web-1=running/64"
		if point == "0:committed" { // of the first apply, which had nothing to do
			want = "a/shop-web-1=running/64"
		}
		if got := b.stands(t); got != want {
			t.Errorf("%s: finished, there stand %s", point, got)
		}
	}
}

// What cannot be kept is refused before anything is asked.
func TestKeepRefuses(t *testing.T) {
	manyEngines := &Target{}
	for i := range mostKept + 1 {
		manyEngines.Engines = append(manyEngines.Engines, Engine{Name: fmt.Sprint(i)})
	}
	tls := &Target{Deployment: Deployment{Engines: []Engine{{Name: "west", Host: "tcp://west:2376"}}}}
	for want, target := range map[string]*Target{"use Kubernetes": manyEngines, "plimsoll.p99-limit": {},
		"over TLS": tls} {
		err := Keep(t.Context(), target, t.TempDir(), Keeping{Rules: testRules})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}
