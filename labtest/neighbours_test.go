package labtest

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"plimsoll/internal/finding/fact"
	"plimsoll/internal/result"
)

// shownRun is what plimsoll show --json tells of a run.
type shownRun struct {
	Run struct {
		Trials []struct {
			Stack      string
			Neighbours *result.Neighbours
			Trace      *struct{ Read *result.Breakdown }
			Untraced   string
		}
	}
	Findings []fact.Finding
}

// besideExperiment reads on loop devices over files of the drive that is
// mounted at n, by psync: whose residue is nothing.
const besideExperiment = `
name: beside
question: Whose I/O is it?
control: false
repeat: 1
runtime: 2s
seed: 1
trace: true
stacks:
  raw: loop(size=48MiB)
  volume: loop(size=48MiB) > ext4 > volume
workloads:
  R: {fio: {rw: randread, bs: 4KiB, engine: psync, size: 16MiB}}
`

// neighbours measures on a host with cgroup v2 that is quiet but for us, and
// then beside a fio at a pace that is known, in the very control group that
// plimsoll is in, for which no controller is switched on.
func neighbours(t *testing.T, g *guest) {
	drive := g.device(t, "LAB4")
	name := strings.TrimPrefix(drive, "/dev/")
	g.put(t, "beside.yaml", besideExperiment)
	g.do(t, "mkfs.ext4 -q "+drive+" && mkdir -p n && mount "+drive+" n")
	defer g.do(t, "umount n && wipefs -aq "+drive)
	run := func(before string) (shown shownRun) {
		t.Helper()
		out := g.do(t, before+"plimsoll run beside.yaml --quiet --state-dir $PWD/n/state -o beside && plimsoll show "+
			"--json beside >shown.json")
		t.Log(out)
		if err := json.Unmarshal([]byte(g.do(t, "cat shown.json; rm -r beside")), &shown); err != nil {
			t.Fatal(err)
		}
		if len(shown.Run.Trials) != 2 {
			t.Fatalf("%d trials", len(shown.Run.Trials))
		}
		return shown
	}
	quiet := run("")
	for _, trial := range quiet.Run.Trials {
		d, cpu := diskOf(t, trial.Neighbours, name)
		if ios, bytes := d.OthersShare(); ios > 0.01 || bytes > 0.01 || d.How != result.ByControlGroup {
			t.Errorf("%s: alone, others did %.1f%% of the I/Os and %.1f%% of the bytes of %s: %+v", trial.Stack,
				100*ios, 100*bytes, name, d)
		}
		if others, _ := cpu.OthersShare(); others > 0.1 {
			t.Errorf("%s: alone, others took %.1f%% of the processors: %+v", trial.Stack, 100*others, cpu)
		}
	}
	for _, f := range quiet.Findings {
		if f.Kind == fact.KindNeighbours && len(f.Neighbours.Disks) > 0 {
			t.Errorf("alone, it is said: %s", f.Title)
		}
	}

	// reads of 16 KiB a second
	const pace = 60
	// a line of its own: the shell enters, not a copy of it
	const enter = "mkdir -p /sys/fs/cgroup/user && echo $$ >/sys/fs/cgroup/user/cgroup.procs || exit\n"
	g.do(t, "fio --name=lay --filename=n/neighbours --size=16m --rw=write --bs=1m --end_fsync=1 --output=/dev/null")
	wait := g.background(t, enter+fmt.Sprintf("fio --name=neighbour --thread --filename=n/neighbours --size=16m "+
		"--rw=randread --bs=16k --direct=1 --ioengine=psync "+
		"--rate_iops=%d --time_based --runtime=600 --output=/dev/null & echo $! >pid; wait; rm pid", pace))
	defer g.do(t, "[ ! -e pid ] || { kill $(cat pid); while [ -e pid ]; do sleep 0.1; done; }") // else it keeps n
	g.until(t, commandLimit, "the neighbour reads",
		`read=$(awk '/^read_bytes/ {print $2}' /proc/$(cat pid)/io) && [ "$read" -gt 0 ]`)
	beside := run(enter)
	g.do(t, "kill $(cat pid)")
	wait()
	g.do(t, "rmdir /sys/fs/cgroup/user")
	for i, trial := range beside.Run.Trials {
		d, cpu := diskOf(t, trial.Neighbours, name)
		if got := float64(d.Others.ReadBytes) / cpu.Seconds / (16 << 10); got < 0.75*pace || got > 1.25*pace {
			t.Errorf("%s: the neighbour reads %d times a second, and others are told to: %.1f; %+v", trial.Stack, pace, got, d)
		}
		if !slices.Contains(d.Names, "fio in /user") {
			t.Errorf("%s: the neighbour is not among %q", trial.Stack, d.Names)
		}
		if trial.Trace == nil || trial.Trace.Read == nil || quiet.Run.Trials[i].Trace == nil ||
			quiet.Run.Trials[i].Trace.Read == nil {
			t.Errorf("%s is not traced: %s", trial.Stack, trial.Untraced)
			continue
		}
		alone, here := quiet.Run.Trials[i].Trace.Read, trial.Trace.Read
		if math.Abs(here.PerIO-alone.PerIO) > 0.01 {
			t.Errorf("%s: %.3f requests for an I/O alone, and %.3f beside the neighbour", trial.Stack, alone.PerIO, here.PerIO)
		}
		if a, b := alone.ResidueNS/alone.TotalNS, here.ResidueNS/here.TotalNS; math.Abs(a-b) > 0.05 {
			t.Errorf("%s: a residue of %.1f%% alone, and of %.1f%% beside the neighbour", trial.Stack, 100*a, 100*b)
		}
	}
	if !slices.ContainsFunc(beside.Findings, func(f fact.Finding) bool {
		return f.Kind == fact.KindNeighbours && strings.Contains(f.Title, "others, mostly fio in /user, did ") &&
			strings.Contains(f.Title, "of the I/O on "+name)
	}) {
		t.Error("the verdict does not name the neighbour")
	}
}

// diskOf is what a trial tells of a disk, and of the processors.
func diskOf(t *testing.T, n *result.Neighbours, disk string) (result.DiskShare, result.CPUShare) {
	t.Helper()
	if n == nil || n.CPU == nil {
		t.Fatalf("a trial tells nothing of its neighbours: %+v", n)
	}
	i := slices.IndexFunc(n.Disks, func(d result.DiskShare) bool { return d.Device == disk })
	if i < 0 {
		t.Fatalf("a trial does not tell who used %s: %+v", disk, n.Disks)
	}
	return n.Disks[i], *n.CPU
}
