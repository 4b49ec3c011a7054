package stack

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"plimsoll/internal/cgroup"
	"plimsoll/internal/hostinfo"
	"plimsoll/internal/hosttest"
	"plimsoll/internal/journal"
	"plimsoll/internal/stack/line"
)

// asStack makes this test binary bring a stack up, and down again, below a
// state directory, with so many places: "DIR PLACES LINE". Tests kill it on the way. Several
// places are in a miniature.
const asStack = "PLIMSOLL_TEST_AS_STACK"

func TestMain(m *testing.M) {
	words := strings.SplitN(os.Getenv(asStack), " ", 3)
	if len(words) < 3 {
		os.Exit(m.Run())
	}
	if err := upAndDown(words[0], words[1], words[2]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func upAndDown(state, count, text string) error {
	places, err := strconv.Atoi(count)
	if err != nil {
		return err
	}
	l, err := line.Parse(text)
	if err != nil {
		return err
	}
	j, err := journal.Create(state, "crash")
	if err != nil {
		return err
	}
	ctx := context.Background()
	e := &Env{
		Journal: j, RunID: "crash", Work: journal.WorkDir(j.State(), "crash"), Scratch: filepath.Join(journal.WorkDir(j.State(), "crash"), "scratch"),
		Programs: []string{"true"}, Host: hostinfo.New(),
	}
	for _, d := range hosttest.Spare(0) {
		e.Allow = append(e.Allow, Permission{Device: d})
	}
	if _, err := j.Do(ctx, &journal.Dir{Path: e.Work}, func(string) error { return os.MkdirAll(e.Scratch, 0o755) }); err != nil {
		return err
	}
	base, err := e.Up(ctx, "s", l)
	if err != nil {
		return err
	}
	config := PlaceConfig{Of: places, ShareDevices: places > 1}
	if places > 1 {
		config.Group, _, err = cgroup.New(ctx, j, e.GroupName(), cgroup.Options{Limits: true})
		if err != nil {
			return err
		}
	}
	for config.Number = range places {
		if _, err := base.Place(ctx, config); err != nil {
			return err
		}
	}
	return errors.Join(base.Down(ctx), j.UndoAll(ctx, nil), j.Close())
}

// crashes kills a process that brings a stack up and down at every step of its
// journal, in the states that are given for it, and has Clean bring the host
// back, twice. It tells at how many.
func crashes(t *testing.T, places int, text string, states func(seq int) []string) (count int) {
	t.Helper()
	for seq := 1; ; seq++ {
		for _, state := range states(seq) {
			dir := filepath.Join(t.TempDir(), "state")
			before := hosttest.Look()
			cmd := exec.Command(os.Args[0])
			at := fmt.Sprintf("%d:%s", seq, state)
			cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%s %d %s", asStack, dir, places, text), journal.CrashVariable+"="+at)
			out, err := cmd.CombinedOutput()
			if err == nil {
				return count // there is no such step
			}
			var exit *exec.ExitError
			if !errors.As(err, &exit) || exit.ExitCode() != -1 {
				t.Fatalf("at %s: %v: %s", at, err, out)
			}
			count++
			t.Logf("crashed at %s", at)
			for range 2 {
				reports, err := journal.Clean(t.Context(), dir)
				if err != nil {
					t.Fatalf("at %s: clean: %v, %+v", at, err, reports)
				}
			}
			if diff := before.Settle(0); diff != "" {
				t.Fatalf("at %s the host is not as it was:\n%s", at, diff)
			}
		}
	}
}

func TestAStripeIsUndoneAfterACrashAtAnyStep(t *testing.T) {
	hosttest.Exclusive(t)
	needKernel(t, "dm-mod", "md-mod", "raid0")
	for _, test := range []struct {
		over  string
		last  int // step of the stripe
		steps int
	}{
		// The work directory, LVM's, the group, the volume; mkfs, directory, mount.
		{"lvm-stripe > ext4", 4, 4*4 + 3*2},
		{"raid0", 2, 4 * 2},
	} {
		t.Run(test.over, func(t *testing.T) {
			e := &Env{}
			states := func(seq int) []string {
				if seq > test.last {
					return []string{"made", "undo"}
				}
				return []string{"intent", "made", "undo", "undone"}
			}
			if n := crashes(t, 1, threeDevices(e, "64MiB")+" > "+test.over, states); n < test.steps {
				t.Errorf("only %d steps were crashed at", n)
			}
		})
	}
	t.Run("raid0 that udev puts together again", assembledAgain)
}

// assembledAgain crashes when an array was made, stops it, and hands one of its
// members to mdadm as udev does: then there is an array that is not running,
// and holds that member.
func assembledAgain(t *testing.T) {
	spare := hosttest.Spare(3)
	if spare == nil {
		t.Skip("the members of an array on loop devices are not known once these are gone: there are no spare drives")
	}
	before := hosttest.Look()
	dir := filepath.Join(t.TempDir(), "state")
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), asStack+"="+dir+" 1 "+strings.Join(spare, " + ")+" > raid0", journal.CrashVariable+"=2:made")
	if out, err := cmd.CombinedOutput(); err == nil {
		t.Fatalf("it did not crash: %s", out)
	}
	holders, err := filepath.Glob("/sys/class/block/" + filepath.Base(spare[2]) + "/holders/md*")
	if err != nil || len(holders) != 1 {
		t.Fatalf("%s is held by %q: %v", spare[2], holders, err)
	}
	for _, args := range [][]string{{"--stop", "/dev/" + filepath.Base(holders[0])}, {"--incremental", spare[2]}} {
		if out, err := exec.Command("mdadm", args...).CombinedOutput(); err != nil && args[0] == "--stop" {
			t.Fatalf("mdadm %q: %v: %s", args, err, out)
		}
	}
	for range 2 {
		if reports, err := journal.Clean(t.Context(), dir); err != nil {
			t.Fatalf("clean: %v, %+v", err, reports)
		}
	}
	if diff := before.Settle(0); diff != "" {
		t.Fatalf("the host is not as it was:\n%s", diff)
	}
}

func TestAThinPoolIsUndoneAfterACrashAtAnyStep(t *testing.T) {
	hosttest.Exclusive(t)
	needKernel(t, "dm-mod", "dm-thin-pool")
	device := "loop(size=1536MiB)"
	if spare := hosttest.Spare(4); spare != nil {
		device = spare[3]
	}
	for _, test := range []struct {
		line        string
		first, last int // steps of the pool
		steps       int
	}{
		// The work directory, LVM's, the group, the pool; the engine's directory,
		// its cgroup, the engine, the image, the container.
		{device + " > thin(direct-lvm) > devicemapper", 2, 4, 8 + 3},
		// The work directory, mkfs, directory, mount; the engine's directory, its
		// pool, its cgroup, the engine, the container.
		{device + " > ext4 > thin(loop-lvm) > devicemapper", 5, 6, 9 + 2},
	} {
		t.Run(strings.ReplaceAll(test.line, "/", "-"), func(t *testing.T) {
			// An engine takes its time. What the pool does is crashed at when it was
			// made and when it is to be undone; what other layers do too, which
			// other tests crash at, once.
			states := func(seq int) []string {
				if seq >= test.first && seq <= test.last {
					return []string{"made", "undo"}
				}
				return []string{"made"}
			}
			if n := crashes(t, 1, test.line, states); n < test.steps {
				t.Errorf("only %d steps were crashed at", n)
			}
		})
	}
}
