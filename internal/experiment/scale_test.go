package experiment

import (
	"slices"
	"strings"
	"testing"

	"plimsoll/internal/stack"
	"plimsoll/internal/stack/line"
)

func stackLines(e *Experiment) string {
	var out []string
	for _, s := range e.Stacks {
		out = append(out, s.Name+": "+s.Line.String())
	}
	return strings.Join(out, "\n")
}

func jobsOf(e *Experiment) map[string]int {
	out := map[string]int{}
	for _, w := range e.Workloads {
		if s := w.Abilities().Scaling; s != nil {
			out[w.Name] = s.Jobs
		}
	}
	return out
}

func apply(t *testing.T, e *Experiment, s Scale) []string {
	t.Helper()
	s.Catalog = stack.Catalog()
	leftOut, err := s.Apply(e)
	if err != nil {
		t.Fatal(err)
	}
	return leftOut
}

func node(t *testing.T, text string) []line.Node {
	t.Helper()
	l, err := line.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return l.Nodes[:1]
}

const scaleHead = "name: scaled\nquestion: Does it fit?\nbaseline: raw\n"

// Levels of a factor keep their meaning: those that are too high are left out.
func TestScaleJobsThatAreLevels(t *testing.T) {
	e := builtIn(t, "write-scaling")
	leftOut := apply(t, e, Scale{Jobs: 8})
	want := map[string]int{"randwrite-1": 1, "randwrite-2": 2, "randwrite-4": 4, "randwrite-8": 8}
	got := jobsOf(e)
	if len(got) != len(want) {
		t.Errorf("left are %v", got)
	}
	for name, jobs := range want {
		if got[name] != jobs {
			t.Errorf("%s has %d jobs", name, got[name])
		}
	}
	if len(leftOut) != 5 || !slices.Contains(leftOut, "workload randwrite-64: it has 64 jobs, more than 8") {
		t.Errorf("left out: %q", leftOut)
	}
}

// Otherwise those with most get as many as were asked for, also more, and no
// other gets more.
func TestScaleJobs(t *testing.T) {
	const text = scaleHead + `
stacks: {raw: loop}
workloads:
  most: {fio: {rw: randread, jobs: 8, size: 256MiB}}
  too: {fio: {rw: randwrite, jobs: 8, size: 256MiB}}
  few: {fio: {rw: randread, jobs: 3, size: 256MiB}}
  one: {fio: {rw: randread, size: 256MiB}}
`
	for _, c := range []struct{ jobs, mostJobs, fewJobs, oneJob int }{{2, 2, 2, 1}, {5, 5, 3, 1}, {8, 8, 3, 1},
		{64, 64, 3, 1},
		{1, 1, 1, 1}} {
		e := parsed(t, text)
		if leftOut := apply(t, e, Scale{Jobs: c.jobs}); len(leftOut) > 0 {
			t.Errorf("%d jobs: left out: %q", c.jobs, leftOut)
		}
		got := jobsOf(e)
		if got["most"] != c.mostJobs || got["too"] != c.mostJobs || got["few"] != c.fewJobs || got["one"] != c.oneJob {
			t.Errorf("%d jobs: %v", c.jobs, got)
		}
	}
}

func TestScaleBytesGrowsWhatHoldsTheFiles(t *testing.T) {
	const text = scaleHead + `
stacks:
  raw: loop
  ext4: loop(size=2GiB, direct-io=off) > ext4
  small: tmpfs(size=512MiB)
  here: dir:/srv
workloads:
  RR: {fio: {rw: randread, size: 256MiB, bs: 8KiB}}
  RW: {fio: {rw: randwrite, size: 128MiB}}
`
	e := parsed(t, text)
	apply(t, e, Scale{Bytes: 1 << 30})
	const want = "raw: loop(size=4GiB)\next4: loop(size=8GiB,direct-io=off) > ext4\nsmall: tmpfs(size=2GiB)\nhere: " +
		"dir:/srv"
	if got := strings.ReplaceAll(stackLines(e), ", ", ","); got != want {
		t.Errorf("stacks are\n%s\nwant\n%s", got, want)
	}
	for _, w := range e.Workloads {
		if w.NeedBytes() != 1<<30 {
			t.Errorf("%s needs %d bytes", w.Name, w.NeedBytes())
		}
	}
	for _, s := range e.Stacks {
		if problems := stack.Catalog().Check(s.Line); len(problems) > 0 {
			t.Errorf("%s: %v", s.Line, problems)
		}
	}

	// Smaller files leave them as they are; sizes become whole blocks.
	e = parsed(t, text)
	apply(t, e, Scale{Bytes: 10<<20 + 1})
	if got := stackLines(e); !strings.HasPrefix(got, "raw: loop\n") || !strings.Contains(got, "2GiB") {
		t.Errorf("stacks are\n%s", got)
	}
	if got := e.Workloads[0].NeedBytes(); got != 11<<20 {
		t.Errorf("needs %d bytes", got)
	}
}

// A stack that meets only the smaller of two workloads grows with that one.
func TestScaleBytesOfStacksThatMeetSomeWorkloads(t *testing.T) {
	e := parsed(t, scaleHead+`
factors:
  bytes: [64MiB, 128MiB]
stacks:
  raw: loop(size=2GiB)
  s-$bytes: loop(size=256MiB, dir=/srv/$bytes) > ext4
workloads:
  R-$bytes: {fio: {rw: randread, size: $bytes}}
`)
	apply(t, e, Scale{Bytes: 256 << 20})
	want := "raw: loop(size=4GiB)\ns-64MiB: loop(size=1GiB,dir=/srv/64MiB) > ext4\ns-128MiB: " +
		"loop(size=512MiB,dir=/srv/128MiB) > ext4"
	if got := strings.ReplaceAll(stackLines(e), ", ", ","); got != want {
		t.Errorf("stacks are\n%s\nwant\n%s", got, want)
	}
}

const onText = scaleHead + `
stacks:
  raw: loop(size=4GiB)
  buffered: loop(size=4GiB, direct-io=off)
  ext4: loop(size=4GiB, dir=/srv) > ext4
  ext4-nolock: loop(size=4GiB) > ext4(mount=dioread_nolock)
  xfs: loop(size=4GiB) > xfs
  volume: loop(size=4GiB) > ext4 > volume
  memory: tmpfs(size=1GiB)
workloads:
  RR: {fio: {rw: randread, size: 256MiB}}
`

func TestScaleOnADevice(t *testing.T) {
	e := parsed(t, onText)
	leftOut := apply(t, e, Scale{On: node(t, "/dev/nvme0n1")})
	const want = `raw: /dev/nvme0n1
ext4: /dev/nvme0n1 > ext4
ext4-nolock: /dev/nvme0n1 > ext4(mount=dioread_nolock)
xfs: /dev/nvme0n1 > xfs
volume: /dev/nvme0n1 > ext4 > volume
memory: tmpfs(size=1GiB)`
	if got := stackLines(e); got != want {
		t.Errorf("stacks are\n%s", got)
	}
	if len(leftOut) != 1 || leftOut[0] != "stack buffered: direct-io=off is about loop devices" {
		t.Errorf("left out: %q", leftOut)
	}
	if e.Baseline != "raw" {
		t.Errorf("baseline %q", e.Baseline)
	}
}

// Several devices make a stack of each, but for stacks that take none.
func TestScaleOnSeveralDevices(t *testing.T) {
	e := parsed(t, onText)
	on := append(node(t, "serial:S1"), node(t, "/dev/nvme1n1 + /dev/nvme2n1")...)
	leftOut := apply(t, e, Scale{On: on})
	const want = `raw-S1: serial:S1
raw-nvme1n1-nvme2n1: /dev/nvme1n1
ext4-S1: serial:S1 > ext4
ext4-nvme1n1-nvme2n1: /dev/nvme1n1 > ext4
ext4-nolock-S1: serial:S1 > ext4(mount=dioread_nolock)
ext4-nolock-nvme1n1-nvme2n1: /dev/nvme1n1 > ext4(mount=dioread_nolock)
xfs-S1: serial:S1 > xfs
xfs-nvme1n1-nvme2n1: /dev/nvme1n1 > xfs
volume-S1: serial:S1 > ext4 > volume
volume-nvme1n1-nvme2n1: /dev/nvme1n1 > ext4 > volume
memory: tmpfs(size=1GiB)`
	if got := stackLines(e); got != want {
		t.Errorf("stacks are\n%s", got)
	}
	if len(leftOut) != 2 || leftOut[0] != "stack buffered-S1: direct-io=off is about loop devices" {
		t.Errorf("left out: %q", leftOut)
	}
	if e.Baseline != "raw-S1" || e.Stacks[1].Levels[FactorDevice] != "nvme1n1-nvme2n1" || e.Stacks[10].Levels != nil {
		t.Errorf("baseline %q, levels %v and %v", e.Baseline, e.Stacks[1].Levels, e.Stacks[10].Levels)
	}
}

func TestScaleOnSeveralDevicesRefuses(t *testing.T) {
	const ownDevice = scaleHead + `
factors: {device: [a, b]}
stacks:
  raw: loop(size=4GiB)
  other-$device: loop(size=4GiB, dir=/$device)
workloads:
  RR: {fio: {rw: randread, size: 256MiB}}
`
	long := "serial:" + strings.Repeat("S", 62)
	for _, c := range []struct {
		text string
		on   []string
		want string
	}{
		{onText, []string{"/dev/nvme0n1", "by-id:nvme0n1"}, "two devices would be called nvme0n1: name one in another way"},
		{ownDevice, []string{"/dev/sda", "/dev/sdb"}, "scaled has a factor called device: with it"},
		{onText, []string{"/dev/sda", long}, "which is longer than 64"},
	} {
		e := parsed(t, c.text)
		var on []line.Node
		for _, text := range c.on {
			on = append(on, node(t, text)...)
		}
		if _, err := (Scale{On: on, Catalog: stack.Catalog()}).Apply(e); err == nil ||
			!strings.Contains(err.Error(), c.want) {
			t.Errorf("on %v: %v, want %s", c.on, err, c.want)
		}
	}
}

// In a directory there are only stacks of the file system it lies on, as it
// was made and mounted.
func TestScaleOnADirectory(t *testing.T) {
	for fs, want := range map[string]string{
		"ext4": "ext4: dir:/data\nvolume: dir:/data > volume\nmemory: tmpfs(size=1GiB)",
		"xfs":  "xfs: dir:/data\nmemory: tmpfs(size=1GiB)",
	} {
		e := parsed(t, onText)
		leftOut := apply(t, e, Scale{On: node(t, "dir:/data"), FileSystem: fs})
		if got := stackLines(e); got != want {
			t.Errorf("on %s: stacks are\n%s", fs, got)
		}
		if e.Baseline != "" {
			t.Errorf("on %s: the baseline was left out, and is %q", fs, e.Baseline)
		}
		for _, s := range e.Stacks {
			if problems := stack.Catalog().Check(s.Line); len(problems) > 0 {
				t.Errorf("%s: %v", s.Line, problems)
			}
		}
		for _, why := range []string{"stack raw: a directory has no raw device",
			"stack buffered: direct-io=off is about loop devices"} {
			if !slices.Contains(leftOut, why) {
				t.Errorf("on %s: %q is not in %q", fs, why, leftOut)
			}
		}
		if other := map[string]string{"ext4": "stack xfs: /data lies on ext4",
			"xfs": "stack volume: /data lies on xfs"}[fs]; !slices.Contains(leftOut, other) {
			t.Errorf("on %s: %q is not in %q", fs, other, leftOut)
		}
		if text := strings.Join(leftOut, "\n"); fs == "ext4" &&
			!strings.Contains(text, "stack ext4-nolock: /data lies on a file system that is there already, without "+
				"the options of ext4(mount=dioread_nolock)") {
			t.Errorf("on %s: %q", fs, leftOut)
		}
	}
}

// Two stacks of which nothing is left is an error with every reason.
func TestScaleThatLeavesNothing(t *testing.T) {
	e := parsed(t, scaleHead+`
factors: {jobs: [16, 32]}
stacks: {raw: loop}
workloads:
  R-$jobs: {fio: {rw: randread, jobs: $jobs, size: 256MiB}}
`)
	_, err := Scale{Jobs: 4, On: node(t, "dir:/data"), FileSystem: "ext4", Catalog: stack.Catalog()}.Apply(e)
	if err == nil {
		t.Fatal("no error")
	}
	for _, want := range []string{"no workload of scaled is left", "R-16: it has 16 jobs, more than 4",
		"no stack of scaled is left", "raw: a directory has no raw device"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not in: %v", want, err)
		}
	}
}

// What cannot be scaled is left out, and told; what would be no workload is
// an error.
func TestScaleOfWhatCannotBeScaled(t *testing.T) {
	e := made(1, 1, 1)
	e.Workloads = append(e.Workloads, parsed(t, scaleHead+"stacks: {raw: loop}\nworkloads: {RR: {fio: {rw: randread, "+
		"size: 256MiB}}}").Workloads...)
	e.Mixes = Alone(e.Workloads)
	if leftOut := apply(t, e, Scale{Jobs: 2}); len(leftOut) != 1 || leftOut[0] != "workload w0: it cannot be scaled" {
		t.Errorf("left out: %q", leftOut)
	}
	if len(e.Workloads) != 1 || e.Workloads[0].Name != "RR" {
		t.Errorf("left: %v", e.Workloads)
	}
	e = parsed(t, scaleHead+"stacks: {raw: loop}\nworkloads: {SR: {fio: {rw: read, jobs: 2, bs: 1MiB, size: 256MiB}}}")
	if _, err := (Scale{Jobs: 8, Bytes: 4 << 20, Catalog: stack.Catalog()}).Apply(e); err == nil ||
		!strings.Contains(err.Error(), "workload SR: ") {
		t.Errorf("eight jobs that read 1 MiB each of 4 MiB: %v", err)
	}
}

// Without anything to change, nothing changes.
func TestScaleOfNothing(t *testing.T) {
	e, was := parsed(t, onText), parsed(t, onText)
	if leftOut := apply(t, e, Scale{}); len(leftOut) > 0 || stackLines(e) != stackLines(was) ||
		e.Baseline != was.Baseline {
		t.Errorf("%s\nleft out %q", stackLines(e), leftOut)
	}
}
