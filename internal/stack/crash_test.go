package stack

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"plimsoll/internal/host/cgroup"
	"plimsoll/internal/host/hostinfo"
	"plimsoll/internal/stack/line"
	"plimsoll/internal/state/journal"
	"plimsoll/internal/testkit/hosttest"
)

// asStack makes this test binary bring a stack up, and down again, below a
// state directory, with so many places: "DIR PLACES LINE". Tests kill it on the way. Several
// places are in a scaled-down host.
const asStack = "PLIMSOLL_TEST_AS_STACK"

// asCleaner makes it clean a state directory.
const asCleaner = "PLIMSOLL_TEST_AS_CLEANER"

// whenUp is where a process that brings a stack up is killed once it is, and atCommit is where it is killed while its
// engine makes a layer of the files of a place.
const (
	whenUp   = "0:up"
	atCommit = "0:commit"
)

func TestMain(m *testing.M) {
	do := func() error {
		_, err := journal.Clean(context.Background(), os.Getenv(asCleaner))
		return err
	}
	if words := strings.SplitN(os.Getenv(asStack), " ", 3); len(words) == 3 {
		do = func() error { return upAndDown(words[0], words[1], words[2]) }
	} else if os.Getenv(asCleaner) == "" {
		os.Exit(m.Run())
	}
	if err := do(); err != nil {
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
		Journal: j, RunID: "crash", Work: journal.WorkDir(j.State(), "crash"),
		Scratch:  filepath.Join(journal.WorkDir(j.State(), "crash"), "scratch"),
		Programs: []string{"true"}, Host: hostinfo.New(),
	}
	for _, d := range hosttest.Spare(0) {
		e.Allow = append(e.Allow, Permission{Device: d})
	}
	if _, err := j.Do(ctx, &journal.Dir{Path: e.Work}, func(string) error {
		return os.MkdirAll(e.Scratch, 0o755)
	}); err != nil {
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
		p, err := base.Place(ctx, config)
		if err != nil {
			return err
		}
		if err := commitKilled(ctx, p); err != nil {
			return err
		}
	}
	if os.Getenv(journal.CrashVariable) == whenUp {
		for _, entry := range j.Pending() {
			fmt.Printf("%d %T\n", entry.Seq, entry.Change)
		}
		_ = unix.Kill(os.Getpid(), unix.SIGKILL)
		select {} // until the signal arrives
	}
	return errors.Join(base.Down(ctx), j.UndoAll(ctx, nil), j.Close())
}

// crashes kills a process that brings a stack up once it is up, and then one clean after
// the other, at each step of its journal: when the change is undone and not noted, and
// when it is noted. Then it kills such processes before and after the last change of each
// of the kinds given; other tests crash at the others. Each time Clean has to bring the
// host back, twice.
func crashes(t *testing.T, places int, text string, kinds ...string) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "state")
	before := hosttest.Look()
	stack := fmt.Sprintf("%s=%s %d %s", asStack, dir, places, text)
	made := killed(t, whenUp, stack)
	if diff := before.Settle(0); diff == "" {
		t.Fatal("the stack left nothing to undo")
	}
	last := map[string]string{} // step, by kind of change
	for _, line := range slices.Backward(strings.Split(strings.TrimSpace(made), "\n")) {
		seq, kind, _ := strings.Cut(line, " ")
		if last[kind] == "" {
			last[kind] = seq
		}
		for _, state := range []string{":undo", ":undone"} {
			killed(t, seq+state, asCleaner+"="+dir)
		}
	}
	cleaned(t, dir, before, whenUp)
	for _, kind := range kinds {
		seq := last[kind]
		if seq == "" {
			t.Errorf("there is no %s among its changes:\n%s", kind, made)
			continue
		}
		for _, state := range []string{":intent", ":made"} {
			killed(t, seq+state, stack)
			cleaned(t, dir, before, seq+state)
		}
	}
}

// killed runs this binary with a setting that makes it no test, and has it kill itself at a step of its
// journal. It returns what it printed.
func killed(t *testing.T, step, setting string) string {
	t.Helper()
	t.Logf("crashes at %s", step)
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), setting, journal.CrashVariable+"="+step)
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != -1 {
		t.Fatalf("%s: it was to kill itself at %s, but: %v: %s", setting, step, err, out)
	}
	return string(out)
}

// cleaned has Clean bring the host back, twice.
func cleaned(t *testing.T, dir string, before hosttest.State, step string) {
	t.Helper()
	for range 2 {
		reports, err := journal.Clean(t.Context(), dir)
		if err != nil {
			t.Fatalf("at %s: clean: %v, %+v", step, err, reports)
		}
	}
	if diff := before.Settle(0); diff != "" {
		t.Fatalf("at %s the host is not as it was:\n%s", step, diff)
	}
}

func TestAStripeIsUndoneAfterACrashAtAnyStep(t *testing.T) {
	hosttest.Exclusive(t)
	needKernel(t, "dm-mod", "md-mod", "raid0")
	for _, test := range []struct {
		layers string
		kinds  []string
	}{
		{"lvm-stripe > ext4", []string{"*stack.volumeGroupChange", "*stack.logicalVolumeChange"}},
		{"raid0", []string{"*stack.arrayChange"}},
	} {
		t.Run(test.layers, func(t *testing.T) {
			crashes(t, 1, threeDevices(&Env{}, "64MiB")+" > "+test.layers, test.kinds...)
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
	killed(t, "2:made", asStack+"="+dir+" 1 "+strings.Join(spare, " + ")+" > raid0")
	holders, err := filepath.Glob("/sys/class/block/" + filepath.Base(spare[2]) + "/holders/md*")
	if err != nil || len(holders) != 1 {
		t.Fatalf("%s is held by %q: %v", spare[2], holders, err)
	}
	for _, args := range [][]string{{"--stop", "/dev/" + filepath.Base(holders[0])}, {"--incremental", spare[2]}} {
		if out, err := exec.Command("mdadm", args...).CombinedOutput(); err != nil && args[0] == "--stop" {
			t.Fatalf("mdadm %q: %v: %s", args, err, out)
		}
	}
	cleaned(t, dir, before, "2:made")
}

func TestAThinPoolIsUndoneAfterACrashAtAnyStep(t *testing.T) {
	hosttest.Exclusive(t)
	needKernel(t, "dm-mod", "dm-thin-pool")
	device := "loop(size=1536MiB)"
	if spare := hosttest.Spare(4); spare != nil {
		device = spare[3]
	}
	for _, test := range []struct {
		line  string
		kinds []string
	}{
		{device + " > thin(direct-lvm) > devicemapper", []string{"*stack.volumeGroupChange", "*stack.logicalVolumeChange"}},
		// The engine makes the pool.
		{device + " > ext4 > thin(loop-lvm) > devicemapper", []string{"*stack.thinPoolChange", "*container.engineChange"}},
	} {
		t.Run(strings.ReplaceAll(test.line, "/", "-"), func(t *testing.T) {
			crashes(t, 1, test.line, test.kinds...)
		})
	}
}
