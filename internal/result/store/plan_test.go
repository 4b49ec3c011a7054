package store

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"testing"

	"plimsoll/internal/result"
)

// What is planned, saved and withdrawn is so for readers and who resumes.
func TestPlanGrowsAndShrinks(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	s := create(t, dir, plannedRun(2))
	want := plannedRun(6).Trials
	for _, trial := range s.Run().Trials {
		if err := s.SaveTrial(done(trial, 3)); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Plan(want[2:]); err != nil {
		t.Fatal(err)
	}
	given := s.Run()
	if err := s.Withdraw(2); err != nil {
		t.Fatal(err)
	}
	if err := s.Withdraw(0); err != nil {
		t.Fatal(err)
	}
	if len(given.Trials) != 6 || given.Trials[5].Status != result.TrialPlanned {
		t.Error("what Run gave before changed")
	}
	if err := s.SaveTrial(done(want[2], 3)); err != nil {
		t.Fatal(err)
	}
	mustFail(t, s.SaveTrial(done(want[4], 3)), "trial 5", "no such trial")
	header := *s.Run()
	header.Points = []result.PointStop{{Stack: "ext4", Mix: "RR", Reason: result.StopBudget, Why: "a reason", Trials: 2,
		RelativeHalfWidth: 0.1}}
	if err := s.SaveHeader(header); err != nil {
		t.Fatal(err)
	}
	expected := []result.Trial{done(want[0], 3), done(want[1], 3), done(want[2], 3), want[3]}
	for name, run := range map[string]*result.Run{"the store": s.Run(), "a reader": read(t, dir)} {
		if !reflect.DeepEqual(run.Trials, expected) || !reflect.DeepEqual(run.Points, header.Points) {
			t.Errorf("%s has %+v, %+v", name, run.Trials, run.Points)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	again, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	if !reflect.DeepEqual(again.Run().Trials, expected) || !reflect.DeepEqual(again.Run().Points, header.Points) {
		t.Errorf("resumed with %+v", again.Run().Trials)
	}
	if err := again.Plan(want[4:]); err != nil {
		t.Errorf("planned again after it was withdrawn: %v", err)
	}
}

func TestPlanRefuses(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	s := create(t, dir, plannedRun(2))
	first := s.Run().Trials[0]
	if err := s.SaveTrial(done(first, 3)); err != nil {
		t.Fatal(err)
	}
	before := read(t, dir)
	next := plannedRun(5).Trials
	ended := done(next[2], 3)
	mustFail(t, s.Plan([]result.Trial{next[1]}), dir, "trial 2", "follow upon the 2")
	mustFail(t, s.Plan([]result.Trial{next[3]}), dir, "trial 4")
	mustFail(t, s.Plan([]result.Trial{next[2], next[4]}), dir, "trial 5")
	mustFail(t, s.Plan([]result.Trial{ended}), dir, "trial 3", "done")
	mustFail(t, s.Withdraw(2), dir, "trial 1", "it was run (done)")
	mustFail(t, s.Withdraw(3), dir, "3 trials", "it has 2")
	mustFail(t, s.Withdraw(-1), dir)
	if got := read(t, dir); !reflect.DeepEqual(got, before) || !reflect.DeepEqual(s.Run().Trials, before.Trials) {
		t.Errorf("what was refused changed the run to %+v", got)
	}
}

// A process is killed again and again while it plans, saves and withdraws.
// Every step that it acknowledged is there, and never a part of one.
func TestKilledWhilePlanning(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	steps := map[string]int{}
	for round := 1; round <= 8 || steps["withdrawn"] < 4; round++ {
		if round > 40 {
			t.Fatalf("after %d rounds only %v", round, steps)
		}
		cmd := exec.CommandContext(context.Background(), os.Args[0])
		cmd.Env = append(os.Environ(), childEnv+"="+dir, childEnv+"_PLANS=1")
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		var (
			step  string
			after = -1
		)
		lines := bufio.NewScanner(out)
		for n := 0; lines.Scan(); {
			if lines.Text() == "open" {
				continue
			}
			if _, err := fmt.Sscanf(lines.Text(), "%s %d", &step, &after); err != nil ||
				!slices.Contains([]string{"planned", "saved", "withdrawn"}, step) {
				t.Fatalf("the child says %q", lines.Text())
			}
			steps[step]++
			if n++; n == 1+(round*5)%11 {
				_ = cmd.Process.Kill()
			}
		}
		_ = cmd.Wait()
		run := read(t, dir)
		// One more step may have been committed just before its word got out.
		got := len(run.Trials)
		if after >= 0 && got != after && got != after+3 && got != after-1 {
			t.Fatalf("round %d: %d trials after %s made it %d", round, got, step, after)
		}
		planned := plannedRun(got).Trials
		ended := true
		for i, trial := range run.Trials {
			want := planned[i]
			if trial.Status != result.TrialPlanned {
				want = done(want, 200)
				if !ended {
					t.Fatalf("round %d: trial %d ended before one that was planned earlier", round, trial.Seq)
				}
			} else {
				ended = false
			}
			if !reflect.DeepEqual(trial, want) {
				t.Fatalf("round %d: trial %d is %+v, want %+v", round, i+1, trial, want)
			}
		}
	}
}
