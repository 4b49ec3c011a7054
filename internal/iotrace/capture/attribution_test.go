package capture

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"plimsoll/internal/host/cgroup"
	"plimsoll/internal/iotrace"
	"plimsoll/internal/testkit/hosttest"
)

// group makes a control group, and gives its id and how to run a program in it.
func group(t *testing.T, name string) (id uint64, run func(args ...string) job) {
	t.Helper()
	dir := filepath.Join(newCgroups().root, fmt.Sprintf("plimsoll-test-%d-%s", os.Getpid(), name))
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Remove(dir) })
	sleeper := exec.Command("sh", "-c", `echo $$ >"$0/cgroup.procs" && exec cat`, dir)
	in, err := sleeper.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := sleeper.Start(); err != nil {
		t.Fatal(err)
	}
	// It is asked until the shell has moved.
	for ours := idOf(t, os.Getpid()); id == 0 || id == ours; {
		id = idOf(t, sleeper.Process.Pid)
	}
	_ = in.Close()
	if err := sleeper.Wait(); err != nil {
		t.Fatal(err)
	}
	return id, func(args ...string) job {
		// Who invalidates the device's pages writes back what others left there.
		args = append([]string{"-c", `echo $$ >"$0/cgroup.procs" && exec fio "$@"`, dir, "--name=t",
			"--output-format=json", "--bs=4k", "--size=32m", "--thread", "--invalidate=0"}, args...)
		out, err := exec.Command("sh", args...).Output()
		if err != nil {
			t.Errorf("fio in %s: %v: %s", dir, err, out)
			return job{}
		}
		var output struct{ Jobs []job }
		if err := json.Unmarshal(out, &output); err != nil || len(output.Jobs) == 0 {
			t.Errorf("fio in %s: %v: %s", dir, err, out)
			return job{}
		}
		return output.Jobs[0]
	}
}

// idOf is the id of the group in which a process's block I/O is charged.
func idOf(t *testing.T, pid int) uint64 {
	t.Helper()
	g, err := cgroup.Of(pid)
	if err != nil {
		t.Fatal(err)
	}
	id, err := g.ID()
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// Of three groups that use one device at the same time, each is charged with
// what it asked for. What one of them writes without waiting is charged to it
// where it flushes by itself, or to nobody, but to none of the others.
func TestEachGroupIsChargedWithItsOwn(t *testing.T) {
	hosttest.Measures(t)
	device, number := loop(t)
	reads, reader := group(t, "reader")
	writes, writer := group(t, "writer")
	buffered, late := group(t, "late")
	r := start(t, Options{Devices: []string{number}, Application: true})
	var jobs [3]job
	ended := make(chan bool, len(jobs))
	for i, run := range []func() job{
		func() job {
			return reader("--filename="+device, "--direct=1", "--rw=randread", "--ioengine=libaio", "--iodepth=8",
				"--io_size=8m")
		},
		func() job {
			return writer("--filename="+device, "--direct=1", "--rw=randwrite", "--ioengine=psync", "--io_size=4m")
		},
		func() job {
			return late("--filename="+device, "--offset=32m", "--rw=write", "--ioengine=psync", "--io_size=6m",
				"--fsync=256", "--end_fsync=1")
		},
	} {
		go func() { jobs[i] = run(); ended <- true }()
	}
	for range jobs {
		<-ended
	}
	a, err := r.Stop()
	if err != nil {
		t.Fatal(err)
	}
	type account struct{ inCall, late uint64 } // bytes queued within a call, and in another way
	got := map[uint64]map[iotrace.Op]account{}
	var nobody uint64
	for _, c := range a.Cells {
		if c.Owner.Kernel || c.Owner.Cgroup == 0 { // of many bios at once, some find no room to be followed
			nobody += c.Bytes
			continue
		}
		if got[c.Owner.Cgroup] == nil {
			got[c.Owner.Cgroup] = map[iotrace.Op]account{}
		}
		sum := got[c.Owner.Cgroup][c.Op]
		if c.Owner.Call {
			sum.inCall += c.Bytes
		} else {
			sum.late += c.Bytes
		}
		got[c.Owner.Cgroup][c.Op] = sum
	}
	if got := got[reads][iotrace.Read]; got != (account{inCall: jobs[0].Read.Bytes}) || got.inCall != 8<<20 {
		t.Errorf("the reader is charged with %+v, and read %d bytes", got, jobs[0].Read.Bytes)
	}
	if got := got[writes][iotrace.Write]; got != (account{inCall: jobs[1].Write.Bytes}) || got.inCall != 4<<20 {
		t.Errorf("the writer is charged with %+v, and wrote %d bytes", got, jobs[1].Write.Bytes)
	}
	if got := got[buffered][iotrace.Write]; got.late+nobody != 6<<20 || got.inCall > 0 {
		t.Errorf("%d bytes were written late: %+v is charged to who wrote them, and %d to nobody", 6<<20, got, nobody)
	}
	for id, ops := range got {
		for op, sum := range ops {
			if mine := id == reads && op == iotrace.Read || (id == writes || id == buffered) &&
				op == iotrace.Write; !mine && op != iotrace.Flush && sum.inCall > 64<<10 {
				t.Errorf("group %d is charged with %+v of %s, which it did not ask for", id, sum, op)
			}
		}
	}
}
