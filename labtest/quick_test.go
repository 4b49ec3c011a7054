package labtest

import (
	"encoding/json"
	"strings"
	"testing"

	"plimsoll/internal/lab"
	"plimsoll/internal/result"
)

// TestOneBoot shows on two machines, booted once, what breaks most of all that the
// other suites show: one file system, one transport, one thin pool, one stripe. What
// needs a kernel that was just booted comes first.
func TestOneBoot(t *testing.T) {
	g := start(t,
		lab.Machine{Name: lab.Server, Memory: 2 << 30, Peers: []string{lab.Target}, Drives: fourDrives},
		lab.Machine{Name: lab.Target, Memory: 1 << 30, Peers: []string{lab.Server}, Drives: drives(lab.Target, 256<<20)})
	f := fabric{g[0], g[1]}
	t.Run("the tracer's first use", func(t *testing.T) { firstTrace(t, f.server) })
	env := f.server.spare(t)
	for _, tests := range []goTests{
		{Package: "internal/stack", Run: "^Test(ManyLoopDevicesAtOnce|ALoopDeviceOnADiskOf4KiBBlocks|" +
			"AStripeServesFromAllItsDevices|ThinPools)$/" + `^(mkfs.*|lvm-stripe.stripe=16KiB._>_xfs|.*direct-lvm.*)$`},
		{Package: "internal/host/cgroup",
			Run: "^Test(AProcessOfAGroup|LimitsAreReadBackAndTakenAway|MemoryOfTheParentHoldsItsChildren|Move)$"},
		{Package: "internal/iotrace/capture", Run: "^TestTheTallyTellsWhoAsked$/^btf$"},
	} {
		tests.Env = env
		t.Run(tests.Package, func(t *testing.T) { f.server.runs(t, tests) })
	}
	t.Run("protection", func(t *testing.T) { protection(t, f.server) })
	t.Run("killed runs", func(t *testing.T) { killedStripeOfAMix(t, f.server) })
	t.Run("fabric", func(t *testing.T) { f.overOneTransport(t, overTCP) })
}

// firstTrace records by the kernel's own tracer, whose buffer is small until then, and
// is killed while it does. Tracing stays stopped, as an oops leaves it, for all tests that follow.
func firstTrace(t *testing.T, g *guest) {
	// A buffer that nobody used says the size that it will get, which is rounded to pages.
	const settings = `mount -t tracefs none /sys/kernel/tracing 2>/dev/null; cd /sys/kernel/tracing || exit
		kib=$(sed 's/.*expanded: \(.*\))/\1/' buffer_size_kb); echo $(((kib * 1024 + 4079) / 4080)) pages
		head -v trace_clock current_tracer tracing_on /sys/block/nvme*/trace/enable`
	g.do(t, settings+" && echo 0 >tracing_on")
	before := g.do(t, settings)
	record := "plimsoll trace record --way tracefs --device " + g.device(t, "LAB1") + " -- dd if=" + g.device(t, "LAB1") +
		" of=/dev/null bs=4k count=64 iflag=direct"
	g.ends(t, 0, record, "none lost")
	if diff := differs(before, g.do(t, settings)); diff != "" {
		t.Errorf("the tracer is not as it was:\n%s", diff)
	}
	g.ends(t, 137, "PLIMSOLL_CRASH_AT=4:made "+record)
	g.do(t, "plimsoll clean")
	if diff := differs(before, g.do(t, settings)); diff != "" {
		t.Errorf("the tracer is not as it was:\n%s", diff)
	}
}

// killedStripeOfAMix kills plimsoll on its way to a mix in a scaled-down host on a stripe,
// has it cleaned up, and runs it again: then the kernel kills who has too little memory.
func killedStripeOfAMix(t *testing.T, g *guest) {
	g.put(t, "mix.yaml", `
name: killed
question: What does a killed instance leave to the other one?
control: false
repeat: 1
trials: 1
runtime: 3s # on a busy host 200 ms pass without an I/O
seed: 1
stacks:
  lvm: serial:LAB1 + serial:LAB2 + serial:LAB3 > lvm-stripe > ext4
workloads:
  modest: {fio: {rw: randread, size: 8MiB}}
  greedy: {fio: {rw: randread, bs: 32MiB, size: 64MiB}} # one read takes more than it may have
mixes:
  both: {modest: 1, greedy: {count: 1, limits: {memory: 24MiB}}}
host: {cpus: 1, memory: 512MiB, read-iops: 100000}
`)
	const run = "plimsoll run mix.yaml --quiet --destroy LAB1 --destroy LAB2 --destroy LAB3 -o killed"
	before := g.do(t, lookAtLayers)
	g.ends(t, 137, "PLIMSOLL_CRASH_AT=11:made "+run)
	t.Log(g.do(t, "rm -r killed; plimsoll clean && udevadm settle"))
	if diff := differs(before, g.do(t, lookAtLayers)); diff != "" {
		t.Errorf("the host is not as it was:\n%s", diff)
	}
	g.ends(t, 5, run)
	var ran result.Run
	if err := json.Unmarshal([]byte(g.do(t, "cat killed/run.json")), &ran); err != nil {
		t.Fatal(err)
	}
	if len(ran.Trials) != 1 || len(ran.Trials[0].Instances) != 2 {
		t.Fatalf("the trials are %+v", ran.Trials)
	}
	modest, greedy := ran.Trials[0].Instances[0], ran.Trials[0].Instances[1]
	if modest.Status != result.TrialDone || modest.Measurement == nil {
		t.Errorf("the other instance is %s: %+v", modest.Status, modest.Problem)
	}
	if greedy.Measurement != nil || greedy.Problem == nil || !strings.Contains(greedy.Problem.Why, "memory") {
		t.Errorf("who was killed has %+v, %+v", greedy.Measurement, greedy.Problem)
	}
	if diff := differs(before, g.do(t, lookAtLayers)); diff != "" {
		t.Errorf("the host is not as it was:\n%s", diff)
	}
}

// overOneTransport exports a drive, uses it from the other machine, and takes it back.
func (f fabric) overOneTransport(t *testing.T, s space) {
	f.server.do(t, "mkdir -p /etc/nvme && echo "+initiatorNQN+" >/etc/nvme/hostnqn")
	before := f.look(t)
	t.Run("killed export", func(t *testing.T) {
		f.target.ends(t, 137, "PLIMSOLL_CRASH_AT=5:made "+s.export())
		f.target.do(t, "plimsoll clean")
		f.same(t, before)
	})
	f.target.ends(t, 0, s.export(), s.source())
	exported := f.look(t)
	t.Run("verified data", func(t *testing.T) { f.verified(t, s); f.same(t, exported) })
	t.Run("traced", func(t *testing.T) { f.traced(t, s); f.same(t, exported) })
	t.Run("run", func(t *testing.T) { f.runs(t, s); f.same(t, exported) })
	t.Run("killed runs", func(t *testing.T) { f.killedRuns(t, s, exported, "4:made") })
	t.Run("cut link", func(t *testing.T) { f.cut(t, s); f.same(t, exported) })
	f.target.do(t, "plimsoll target unexport "+f.target.device(t, s.serial))
	f.same(t, before)
}
