package stack

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"plimsoll/internal/problem"
	"plimsoll/internal/state/journal"
	"plimsoll/internal/testkit/hosttest"
)

func TestSchedulersOfAHost(t *testing.T) {
	hosttest.Exclusive(t)
	for _, test := range []struct{ line, why, remedy string }{
		{"loop > scheduler:mq-dedline", "this kernel offers none", `did you mean "mq-deadline"?`},
		{"loop > scheduler:deadline-of-old > xfs", "this kernel offers none", "take one of these"},
		{"loop > scheduler:none > scheduler:bfq", "already", "keep one"},
	} {
		err := newEnv(t).Check(t.Context(), parse(t, test.line), 1<<20)
		if !isProblem(err, problem.Unsupported, test.why, test.remedy) {
			t.Errorf("%s: %v", test.line, err)
		}
	}

	t.Run("a kernel with modules", func(t *testing.T) {
		e := newEnv(t)
		e.Host.Roots.Sys = t.TempDir()
		queue := filepath.Join(e.Host.Roots.Sys, "block/loop0/queue")
		if err := os.MkdirAll(queue, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(queue, "scheduler"), []byte("[none] mq-deadline \n"), 0o644); err != nil {
			t.Fatal(err)
		}
		err := e.Check(t.Context(), parse(t, "loop > scheduler:kyber"), 1<<20)
		if !isProblem(err, problem.Unsupported, "offers none, mq-deadline", "modprobe kyber-iosched") {
			t.Errorf("got %v", err)
		}
	})

	t.Run("a partition has its disk's", func(t *testing.T) {
		e := newEnv(t)
		device := disk(t, 64)
		run(t, "addpart", device, "1", "2048", "32768")
		t.Cleanup(func() { run(t, "delpart", device, "1") })
		partitionNode(t, device+"p1")
		for _, d := range []string{device + "=partitioned", device + "p1"} {
			p, err := ParsePermission(d)
			if err != nil {
				t.Fatal(err)
			}
			e.Allow = append(e.Allow, p)
		}
		err := e.Check(t.Context(), parse(t, device+"p1 > scheduler:bfq"), 1<<20)
		if !isProblem(err, problem.Protected, "partition", "") {
			t.Errorf("got %v", err)
		}
		if err := e.Check(t.Context(), parse(t, device+"p1"), 1<<20); err != nil {
			t.Errorf("the partition alone: %v", err)
		}
		if err := e.Check(t.Context(), parse(t, device+" > scheduler:bfq"), 1<<20); err != nil {
			t.Errorf("the disk: %v", err)
		}
	})
}

func TestASchedulerIsSetForAsLongAsTheStackIsUp(t *testing.T) {
	hosttest.Exclusive(t)
	e := newEnv(t)
	device := disk(t, 64)
	e.Allow = []Permission{{Device: device}}
	active := func() string {
		now, _, err := journal.Choices("/sys/block/" + filepath.Base(device) + "/queue/scheduler")
		if err != nil {
			t.Fatal(err)
		}
		return now
	}
	was := active()
	s, err := e.upAlone(t.Context(), "s", parse(t, device+" > scheduler:kyber > ext4"))
	if err != nil {
		t.Fatal(err)
	}
	if now := active(); now != "kyber" {
		t.Errorf("it is %s", now)
	}
	if err := s.base.Down(t.Context()); err != nil {
		t.Fatal(err)
	}
	if now := active(); now != was {
		t.Errorf("it was %s and is left as %s", was, now)
	}
}

// partitionNode makes the node of a partition where no daemon does.
func partitionNode(t *testing.T, path string) {
	t.Helper()
	if _, err := os.Stat(path); err == nil {
		return
	}
	number, err := os.ReadFile("/sys/class/block/" + filepath.Base(path) + "/dev")
	if err != nil {
		t.Fatal(err)
	}
	major, minor, _ := strings.Cut(strings.TrimSpace(string(number)), ":")
	run(t, "mknod", path, "b", major, minor)
	t.Cleanup(func() { run(t, "rm", "-f", path) })
}
