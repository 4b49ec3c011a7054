package watch

import (
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/host/hostfs"
	"plimsoll/internal/recording"
	"plimsoll/internal/state/journal"
	"plimsoll/internal/testkit/hosttest"
)

const probedName = "shop/db"

// probedGroup makes a cgroup of version 1 with a process that has read a file, and returns its path and the file of its
// limit.
func probedGroup(t *testing.T, fileBytes int64) (path, limit string) {
	t.Helper()
	hosttest.Exclusive(t)
	const memory = "/sys/fs/cgroup/memory"
	if _, err := os.Stat(memory + "/memory.limit_in_bytes"); err != nil && os.Geteuid() == 0 {
		t.Skip("the memory controller is not of version 1: the lab has a test for version 2")
	}
	path = fmt.Sprintf("/plimsoll-probe-%d", os.Getpid())
	dir := memory + path
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for os.Remove(dir) != nil && t.Context().Err() != nil {
			time.Sleep(10 * time.Millisecond) // its last process is being reaped
			if _, err := os.Stat(dir); err != nil {
				return
			}
		}
	})
	if err := os.WriteFile(dir+"/memory.swappiness", []byte("0"), 0o600); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "data")
	f, err := os.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Write(make([]byte, fileBytes)); err != nil {
		t.Fatal(err)
	}
	if err := f.Sync(); err != nil {
		t.Fatal(err)
	}
	f.Close()
	evict := exec.Command("dd", "if="+file, "iflag=nocache", "count=0")
	if out, err := evict.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	script := fmt.Sprintf("echo $$ > %s/cgroup.procs && cat %s > /dev/null && echo read && exec sleep 600", dir, file)
	reader := exec.Command("sh", "-c", script)
	out, err := reader.StdoutPipe()
	if err == nil {
		err = reader.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = reader.Process.Kill()
		_ = reader.Wait()
	})
	if _, err := out.Read(make([]byte, 5)); err != nil {
		t.Fatal(err)
	}
	return path, dir + "/memory.limit_in_bytes"
}

// probeRow is an interval of a probe's step in which pages were read again.
func probeRow(refaults float64) recording.Row {
	values := make([]float64, len(recording.OfContainer.Metrics()))
	for i, m := range recording.OfContainer.Metrics() {
		switch m {
		case recording.Refaults:
			values[i] = refaults
		case recording.Anonymous:
			values[i] = 1024
		case recording.MemoryPressure:
			values[i] = math.NaN()
		}
	}
	return recording.Row{Seconds: probeSeconds, Amounts: []recording.Amounts{
		{Thing: recording.Thing{Kind: recording.OfContainer, Name: probedName, Copy: 1}, Values: values}}}
}

func probeOf(t *testing.T, path, state string) (p *Probe, j *journal.Journal, messages *[]string) {
	t.Helper()
	j, err := journal.Create(state, "probe-test")
	if err != nil {
		t.Fatal(err)
	}
	messages = new([]string)
	thing := recording.Thing{Kind: recording.OfContainer, Name: probedName, Copy: 1}
	r := &Recorder{options: Options{Roots: hostfs.Default()}, groups: map[string]*recordedGroup{path: {thing: thing}}}
	return NewProbe(probedName, r, j, func(text string) { *messages = append(*messages, text) }), j, messages
}

func limitOf(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(text))
}

// Steps lower the limit until pages are read again, and then it is as it was.
func TestProbeLowersMemoryUntilPagesAreReadAgain(t *testing.T) {
	path, limit := probedGroup(t, 200<<20)
	was := limitOf(t, limit)
	p, j, messages := probeOf(t, path, t.TempDir())
	ctx := t.Context()
	p.See(ctx, probeRow(0)) // before the first step
	var last string
	for range 3 {
		now := limitOf(t, limit)
		if now == was || now == last {
			t.Fatalf("the limit is %s, and was %s: %q", now, was, *messages)
		}
		last = now
		p.See(ctx, probeRow(mostRefaults*probeSeconds/2))
	}
	p.See(ctx, probeRow(2*mostRefaults*probeSeconds))
	if now := limitOf(t, limit); now != was || len(j.Pending()) > 0 {
		t.Errorf("the limit is %s, and was %s; %d changes pending: %q", now, was, len(j.Pending()), *messages)
	}
	if text := strings.Join(*messages, "\n"); !strings.Contains(text, "were read again") {
		t.Errorf("%s", text)
	}
	p.See(ctx, probeRow(0))
	if now := limitOf(t, limit); now != was {
		t.Errorf("a probe that is over made the limit %s", now)
	}
	if err := j.Close(); err != nil {
		t.Error(err)
	}
}

// The probe ends before it takes what the container holds, and if it cannot see whether pages are read again.
func TestProbeLeavesWhatIsHeld(t *testing.T) {
	path, limit := probedGroup(t, 100<<20)
	was := limitOf(t, limit)
	for name, c := range map[string]struct {
		row  recording.Row
		want string
	}{
		"held":      {probeRow(0), "the least that is safe"},
		"uncounted": {probeRow(math.NaN()), "does not count pages"},
	} {
		p, j, messages := probeOf(t, path, t.TempDir())
		for range 20 {
			p.See(t.Context(), c.row)
		}
		if now := limitOf(t, limit); now != was || !strings.Contains(strings.Join(*messages, "\n"), c.want) {
			t.Errorf("%s: the limit is %s, and was %s: %q", name, now, was, *messages)
		}
		if err := j.Close(); err != nil {
			t.Error(err)
		}
	}
}

const killedVariable = "PLIMSOLL_TEST_PROBE_KILLED"

// A process that is killed at any moment of a step leaves what clean restores.
func TestKilledProbeIsUndone(t *testing.T) {
	if group := os.Getenv(killedVariable); group != "" {
		path, state, _ := strings.Cut(group, " ")
		p, _, _ := probeOf(t, path, state)
		for range 6 {
			p.See(t.Context(), probeRow(0))
		}
		t.Fatal("it was not killed")
	}
	path, limit := probedGroup(t, 200<<20)
	was := limitOf(t, limit)
	for _, crash := range []string{"1:intent", "1:made", "3:intent", "3:made"} {
		state := filepath.Join(t.TempDir(), "state")
		cmd := exec.Command(os.Args[0], "-test.run=^TestKilledProbeIsUndone$")
		cmd.Env = append(os.Environ(), killedVariable+"="+path+" "+state, journal.CrashVariable+"="+crash)
		if out, err := cmd.CombinedOutput(); err == nil || !strings.Contains(err.Error(), "killed") {
			t.Fatalf("%s: %v: %s", crash, err, out)
		}
		if now := limitOf(t, limit); (now == was) != (crash == "1:intent") {
			t.Errorf("%s: the limit is %s after the kill", crash, now)
		}
		if _, err := journal.Clean(t.Context(), state); err != nil {
			t.Errorf("%s: %v", crash, err)
		}
		if now := limitOf(t, limit); now != was {
			t.Errorf("%s: the limit is %s after clean, and was %s", crash, now, was)
		}
	}
}

// Somebody who sets another limit meanwhile keeps it.
func TestProbeLeavesLimitsOfOthers(t *testing.T) {
	path, limit := probedGroup(t, 200<<20)
	p, j, _ := probeOf(t, path, t.TempDir())
	p.See(t.Context(), probeRow(0))
	const other = "536870912"
	if err := os.WriteFile(limit, []byte(other), 0o600); err != nil {
		t.Fatal(err)
	}
	p.Close(t.Context())
	if now := limitOf(t, limit); now != other {
		t.Errorf("the limit is %s, and somebody set %s", now, other)
	}
	if err := j.Close(); err != nil {
		t.Error(err)
	}
}
