package labtest

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"plimsoll/internal/fact"
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
// then beside a fio whose reads are of a size of their own, in the very control group that
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

	const size = 16 << 10
	// a line of its own: the shell enters, not a copy of it
	const enter = "mkdir -p /sys/fs/cgroup/user && echo $$ >/sys/fs/cgroup/user/cgroup.procs || exit\n"
	g.do(t, "fio --name=lay --filename=n/neighbors --size=16m --rw=write --bs=1m --end_fsync=1 --output=/dev/null")
	wait := g.background(t, enter+fmt.Sprintf("fio --name=neighbor --thread --filename=n/neighbors --size=16m "+
		"--rw=randread --bs=%d --direct=1 --ioengine=psync "+
		"--rate_iops=60 --time_based --runtime=1d --output=/dev/null & echo $! >pid; wait; rm pid", size))
	defer g.do(t, "[ ! -e pid ] || { kill $(cat pid); while [ -e pid ]; do sleep 0.1; done; }") // else it keeps n
	g.until(t, "the neighbor reads",
		`read=$(awk '/^read_bytes/ {print $2}' /proc/$(cat pid)/io) && [ "$read" -gt 0 ]`)
	beside := run(enter)
	var told, did uint64
	if _, err := fmt.Sscan(g.do(t, "awk '/^syscr/ {print $2}' /proc/$(cat pid)/io"), &did); err != nil {
		t.Fatal(err)
	}
	g.do(t, "kill $(cat pid)")
	wait()
	g.do(t, "rmdir /sys/fs/cgroup/user")
	for i, trial := range beside.Run.Trials {
		d, _ := diskOf(t, trial.Neighbours, name)
		if d.Others.Reads == 0 || d.Others.ReadBytes != d.Others.Reads*size {
			t.Errorf("%s: the neighbor reads %d bytes each time, and others are shown to: %+v", trial.Stack, size, d)
		}
		told += d.Others.Reads
		if !slices.Contains(d.Names, "fio in /user") {
			t.Errorf("%s: the neighbor is not among %q", trial.Stack, d.Names)
		}
		if trial.Trace == nil || trial.Trace.Read == nil || quiet.Run.Trials[i].Trace == nil ||
			quiet.Run.Trials[i].Trace.Read == nil {
			t.Errorf("%s is not traced: %s", trial.Stack, trial.Untraced)
			continue
		}
		alone, here := quiet.Run.Trials[i].Trace.Read, trial.Trace.Read
		if math.Abs(here.PerIO-alone.PerIO) > 0.01 {
			t.Errorf("%s: %.3f requests for an I/O alone, and %.3f beside the neighbor", trial.Stack, alone.PerIO, here.PerIO)
		}
		t.Logf("%s: a residue of %.1f%% alone, and of %.1f%% beside the neighbor", trial.Stack,
			100*alone.ResidueNS/alone.TotalNS, 100*here.ResidueNS/here.TotalNS)
	}
	if told > did {
		t.Errorf("others are shown to read %d times, and the neighbor did %d times", told, did)
	}
	if !slices.ContainsFunc(beside.Findings, func(f fact.Finding) bool {
		return f.Kind == fact.KindNeighbours && strings.Contains(f.Title, "others, mostly fio in /user, did ") &&
			strings.Contains(f.Title, "of the I/O on "+name)
	}) {
		t.Error("the verdict does not name the neighbor")
	}
}

// diskOf is what a trial tells of a disk, and of the processors.
func diskOf(t *testing.T, n *result.Neighbours, disk string) (result.DiskShare, result.CPUShare) {
	t.Helper()
	if n == nil || n.CPU == nil {
		t.Fatalf("a trial shows nothing of its neighbors: %+v", n)
	}
	i := slices.IndexFunc(n.Disks, func(d result.DiskShare) bool { return d.Device == disk })
	if i < 0 {
		t.Fatalf("a trial does not show who used %s: %+v", disk, n.Disks)
	}
	return n.Disks[i], *n.CPU
}
