package labtest

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"plimsoll/internal/image"
	"plimsoll/internal/lab"
	"plimsoll/internal/result"
	"plimsoll/internal/testkit/hosttest"
	"plimsoll/internal/testkit/imagetest"
)

// threeMachines is a run in which each machine has its part. The image is one that was loaded.
const threeMachines = `
name: three-machines
question: What does PostgreSQL on a remote drive do for clients on another machine?
control: false
repeat: 1
trials: 1
runtime: 2s
ramp: 200ms
seed: 1
clients: {host: "ssh://root@client"}
stacks:
  tcp: '%s > ext4 > volume'
workloads:
  A:
    ycsb:
      {workload: A, records: 500, threads: 2, database: {postgresql: {image: "postgresql:15", shared_buffers: 16MiB}}}
`

// measured gives the source of a space whose target's processor time is read.
func (s space) measured() string { return strings.TrimSuffix(s.source(), ")") + ", metrics=9100)" }

// showsProcessorTime has the target show its processor time until the test ends.
func (f fabric) showsProcessorTime(t *testing.T) {
	t.Helper()
	f.target.background(t, "plimsoll target metrics --addr "+targetIP)
	f.server.until(t, "the target shows its processor time", "bash -c '</dev/tcp/"+targetIP+"/9100'")
}

// ran gives the run that a machine has in a directory.
func (g *guest) ran(t *testing.T, dir string) (run result.Run) {
	t.Helper()
	text := g.do(t, "cat "+dir+"/run.json")
	if err := json.Unmarshal([]byte(text), &run); err != nil {
		t.Fatalf("%v: %s", err, tail(text))
	}
	return run
}

// TestClientServerAndTarget: the load of a database server comes from one machine, and its data is on a drive of
// another one. The processors of all three are measured.
func TestClientServerAndTarget(t *testing.T) {
	hosttest.Soak(t) // three machines take minutes
	file := imagetest.Saved(t, image.In(hosttest.Kept(t, "images", "../internal/image")), "postgresql",
		"postgresql:15")
	g := start(t,
		lab.Machine{Name: lab.Server, Memory: 2 << 30, Peers: []string{lab.Target, lab.Client}},
		lab.Machine{Name: lab.Target, Memory: 1 << 30, Peers: []string{lab.Server, lab.Client},
			Drives: drives(lab.Target, 2<<30)},
		lab.Machine{Name: lab.Client, Memory: 1 << 30, Peers: []string{lab.Server, lab.Target}})
	f, client := fabric{g[0], g[1]}, g[2]
	f.server.do(t, "mkdir -p /etc/nvme && echo "+initiatorNQN+" >/etc/nvme/hostnqn")
	f.target.do(t, overTCP.export())
	f.showsProcessorTime(t)
	if err := lab.Send(t.Context(), f.server.dir, []string{file}); err != nil {
		t.Fatal(err)
	}
	f.server.do(t, "plimsoll image load --quiet postgresql.tar && rm postgresql.tar")
	f.server.put(t, "three.yaml", fmt.Sprintf(threeMachines, overTCP.measured()))
	before := f.look(t)
	f.server.do(t, "plimsoll run three.yaml --quiet --destroy "+overTCP.nqn()+" -o three")
	f.same(t, before)
	if left := client.do(t, "find /root -name '.plimsoll*'; pgrep -ax plimsoll | grep -v 'lab agent'; true"); left != "" {
		t.Errorf("on the client stays %s", left)
	}
	f.server.ends(t, 0, "plimsoll show --full three", "came from ssh://root@client")

	run := f.server.ran(t, "three")
	if len(run.Trials) != 1 || run.Experiment.Clients == nil || run.Experiment.Clients.Host != "ssh://root@client" {
		t.Fatalf("%d trials, and the load came from %+v", len(run.Trials), run.Experiment.Clients)
	}
	trial := run.Trials[0]
	if m := trial.Measured(); trial.Status != result.TrialDone || m == nil || m.IOs() == 0 {
		t.Fatalf("%s, %+v: %+v", trial.Status, trial.Problem, m)
	}
	if c := trial.ClientCPU; c == nil || c.CPUs != 1 || c.User+c.System <= 0 {
		t.Errorf("processors of the client: %+v", c)
	}
	if c := trial.TargetCPU; c == nil || c.CPUs != 1 || c.BusySeconds <= 0 {
		t.Errorf("processors of the target: %+v", c)
	}
	f.server.ends(t, 0, "plimsoll export three --series --format csv", "cpu.user", "cpu.system")
	if !slices.Contains(run.Stacks[0].Marks, result.MarkRemote) {
		t.Errorf("the stack is marked %v", run.Stacks[0].Marks)
	}
	t.Logf("the client's processors: %+v; the target's: %+v", *trial.ClientCPU, *trial.TargetCPU)
}

// overTCPToo is a second drive of the target, for another initiator.
var overTCPToo = space{"tcp", "TGT2", "4420", "cccccccc-0000-4000-8000-000000000003"}

// initiatorExperiment has embedded servers on a remote drive. Their updates are on it before they are answered.
const initiatorExperiment = `
name: initiator
question: What do servers on a remote drive cost the target?
control: false
repeat: 1
trials: 1
runtime: 20s
ramp: 2s
seed: 1
stacks: {tcp: '%s > ext4'}
workloads:
  A: {ycsb: {workload: A, records: 1000, threads: 1, database: {pebble: {cache: 1MiB}}}}
mixes:
  A-%d: {A: %d}
`

// TestTwoInitiators is figures 8c and 8d of MSST'17 in small: two hosts with three servers each, and with four, share a
// target that has a drive for each host, and the target's processors are measured.
func TestTwoInitiators(t *testing.T) {
	hosttest.Soak(t)
	names := []string{lab.Server, lab.Target, lab.Client}
	var machines []lab.Machine
	for _, name := range names {
		m := lab.Machine{Name: name, Memory: 1 << 30}
		m.Peers = slices.DeleteFunc(slices.Clone(names), func(other string) bool { return other == name })
		if name == lab.Target {
			m.Drives = drives(name, 1<<30, 1<<30)
		}
		machines = append(machines, m)
	}
	g := start(t, machines...)
	f := fabric{g[0], g[1]}
	spaces := map[*guest]space{g[0]: overTCP, g[2]: overTCPToo}
	for initiator, s := range spaces {
		initiator.do(t, "mkdir -p /etc/nvme && echo "+initiatorNQN+" >/etc/nvme/hostnqn")
		f.target.do(t, s.export())
	}
	f.showsProcessorTime(t)
	for _, n := range []int{3, 4} {
		t.Run(fmt.Sprintf("(%d,%d)", n, n), func(t *testing.T) { f.underTwo(t, spaces, n) })
	}
}

// underTwo has each initiator run so many servers on its space, at the same time.
func (f fabric) underTwo(t *testing.T, spaces map[*guest]space, n int) {
	waits := map[*guest]func() (int, string){}
	for initiator, s := range spaces {
		initiator.put(t, "initiator.yaml", fmt.Sprintf(initiatorExperiment, s.measured(), n, n))
		waits[initiator] = initiator.background(t, fmt.Sprintf(
			"plimsoll run initiator.yaml --quiet --destroy %s=signature -o ran-%d", s.nqn(), n))
	}
	var windows []result.Window
	for initiator, wait := range waits {
		if code, out := wait(); code != 0 {
			t.Fatalf("%s: status %d:\n%s", initiator.name, code, tail(out))
		}
		trial := initiator.ran(t, fmt.Sprintf("ran-%d", n)).Trials[0]
		did, cpu := trial.Measured(), trial.TargetCPU
		if trial.Status != result.TrialDone || len(trial.Instances) != n || did == nil || trial.Window == nil {
			t.Fatalf("%s: %s, %d instances did %+v: %+v", initiator.name, trial.Status, len(trial.Instances), did,
				trial.Problem)
		}
		if cpu == nil || cpu.BusySeconds <= 0 || cpu.IOs < float64(did.IOs()) {
			t.Fatalf("%s: processors of the target: %+v", initiator.name, cpu)
		}
		windows = append(windows, *trial.Window)
		t.Logf("%s: %.0f operations a second; the target's processors were busy for %.1f%%",
			initiator.name, did.IOPS(), 100*cpu.BusySeconds/cpu.Seconds/float64(cpu.CPUs))
	}
	both := overlap(windows[0], windows[1])
	if both <= 0 {
		t.Skip("SKIPPED: one had measured before the other one began, on this busy host")
	}
	t.Logf("both measured for %.0f s", both)
}

// overlap is how many seconds of two windows are the same, less than 0 for those between them.
func overlap(a, b result.Window) float64 {
	ends := func(w result.Window) float64 { return w.Start.Sub(a.Start).Seconds() + w.Seconds }
	return min(ends(a), ends(b)) - max(0, b.Start.Sub(a.Start).Seconds())
}
