package labtest

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"plimsoll/internal/lab"
	"plimsoll/internal/result"
	"plimsoll/internal/testkit/hosttest"
)

// costLayer has io.cost hold a drive to less than the lab's drives do.
const costLayer = "iocost(rbps=100000000, rseqiops=50, rrandiops=50, wbps=100000000, wseqiops=50, " +
	"wrandiops=50, min=100, max=100)"

// weightsExperiment has two instances on a drive that is busy, by equal weights and by weights of 100 and 800.
const weightsExperiment = `
name: weights
question: Does a weight decide who gets the drive?
control: false
repeat: 1
trials: 1
runtime: 12s
ramp: 2s
seed: 1
stacks:
  io-cost: serial:LAB1 > ` + costLayer + ` > ext4
  bfq: serial:LAB2 > scheduler:bfq > ext4
workloads:
  R: {fio: {rw: randread, iodepth: 16, size: 32MiB}}
mixes:
  equal: {low: {workload: R, limits: {io-weight: 100}}, high: {workload: R, limits: {io-weight: 100}}}
  weighted: {low: {workload: R, limits: {io-weight: 100}}, high: {workload: R, limits: {io-weight: 800}}}
`

// TestIsolation has instances share a drive by each knob of control groups of version 2.
func TestIsolation(t *testing.T) {
	hosttest.Soak(t)
	slow := drives(lab.Server, 1<<30, 512<<20, 512<<20) // isolation needs 1 GiB
	for i := range slow {
		profile, err := lab.ParseProfile("iops-read=100") // so few that a busy machine keeps the drive busy
		if err != nil {
			t.Fatal(err)
		}
		slow[i].Limits = profile
	}
	g := start(t, lab.Machine{Name: lab.Server, Memory: 2 << 30, Drives: slow})[0]
	t.Run("weights", func(t *testing.T) { weights(t, g) })
	t.Run("io.cost is off again", func(t *testing.T) { restoresCost(t, g) })
	t.Run("built in", func(t *testing.T) { isolates(t, g) })
	t.Run("refused", func(t *testing.T) { refusesKnobs(t, g) })
}

// weights measures that with io.cost the instance with the greater weight gets more of the drive, and that equal ones
// share it. Of bfq the weights are read back alone: on an emulated drive its queues are not always full, and what 100
// to 800 comes to was 1.1 to 3.1 times.
func weights(t *testing.T, g *guest) {
	const apart = 1.75 // far from the 1 of equal weights, and from the 4 and more of 100 to 800
	g.do(t, "modprobe bfq")
	g.put(t, "weights.yaml", weightsExperiment)
	t.Log(g.do(t, "plimsoll run weights.yaml --quiet --destroy LAB1 --destroy LAB2 -o weights"))
	run := g.ran(t, "weights")
	if len(run.Trials) != 4 {
		t.Fatalf("%d trials", len(run.Trials))
	}
	for _, trial := range run.Trials {
		did := map[string]float64{}
		for _, in := range trial.Instances {
			if in.Measurement == nil || in.Limited == nil {
				t.Fatalf("%s of %s: %+v", in.Tenant, trial.Stack, in)
			}
			want := int64(100)
			if trial.Mix == "weighted" && in.Tenant == "high" {
				want = 800
			}
			if got := in.Limited.ReadBack.IOWeight; got != want {
				t.Errorf("%s of %s on %s has weight %d, not %d", in.Tenant, trial.Mix, trial.Stack, got, want)
			}
			did[in.Tenant] = in.Measurement.IOPS()
		}
		ratio := did["high"] / did["low"]
		t.Logf("%s on %s: high does %.2f times as much as low", trial.Mix, trial.Stack, ratio)
		switch {
		case trial.Stack == "bfq":
		case trial.Mix == "weighted" && ratio < apart:
			t.Errorf("%s: a weight of 800 gets %.2f times what 100 gets", trial.Stack, ratio)
		case trial.Mix == "equal" && (ratio > apart || ratio < 1/apart):
			t.Errorf("%s: of equal weights one gets %.2f times as much", trial.Stack, ratio)
		}
	}
}

// restoresCost kills plimsoll on its way to a trial with io.cost, and has plimsoll clean bring the old settings back.
func restoresCost(t *testing.T, g *guest) {
	g.put(t, "cost.yaml", `
name: cost
question: Does a crash leave io.cost on?
control: false
repeat: 1
trials: 1
runtime: 200ms
seed: 1
stacks: {s: "serial:LAB1 > `+costLayer+` > ext4"}
workloads:
  R: {fio: {rw: randread, size: 8MiB}}
`)
	number := strings.TrimSpace(g.do(t, "cat /sys/class/block/$(basename "+g.device(t, "LAB1")+")/dev"))
	settings := func() string { return g.do(t, "cd /sys/fs/cgroup && grep '^"+number+" ' io.cost.model io.cost.qos") }
	for _, user := range []bool{false, true} {
		if user { // the settings of somebody else
			g.do(t, "cd /sys/fs/cgroup && echo '"+number+" rbps=5000000' >io.cost.model && echo '"+number+
				" enable=1 min=70' >io.cost.qos")
		}
		before := settings()
		if strings.Contains(before, "enable=1") != user {
			t.Fatalf("before: %s", before)
		}
		on := 0
		for step := 2; step < 9; step++ {
			code, out := g.status(t, fmt.Sprintf("PLIMSOLL_CRASH_AT=%d:made plimsoll run cost.yaml --quiet --destroy LAB1",
				step))
			if code != 137 {
				t.Fatalf("step %d: it ends with %d:\n%s", step, code, out)
			}
			if now := settings(); strings.Contains(now, "rseqiops=50 ") && strings.Contains(now, "min=100.00") {
				on++
			}
			g.do(t, "plimsoll clean")
			if after := settings(); after != before {
				t.Errorf("step %d: it was\n%s\nand is\n%s", step, before, after)
			}
		}
		if on == 0 {
			t.Error("io.cost was on at none of the steps")
		}
	}
	g.do(t, "cd /sys/fs/cgroup && echo '"+number+" enable=0 ctrl=auto' >io.cost.qos && echo '"+number+
		" ctrl=auto' >io.cost.model")
}

// isolates runs the built-in experiment, shortly.
func isolates(t *testing.T, g *guest) {
	t.Log(g.do(t, "plimsoll run isolation --quiet --on serial:LAB1 --destroy LAB1 --repeat 1 --runtime 5s --ramp 2s "+
		"-o isolation"))
	run := g.ran(t, "isolation")
	weighted := map[string]bool{}
	for _, trial := range run.Trials {
		if trial.Status != result.TrialDone {
			t.Errorf("%s on %s: %s: %+v", trial.Mix, trial.Stack, trial.Status, trial.Problem)
		}
		for _, in := range trial.Instances {
			weighted[in.Stack] = weighted[in.Stack] || in.Limited != nil && in.Limited.ReadBack.IOWeight > 0
		}
	}
	if !weighted["bfq"] || !weighted["io-cost"] || weighted["none"] {
		t.Errorf("weights on stacks: %v", weighted)
	}
}

// refusesKnobs asks for what the kernel does not have, or nothing goes by.
func refusesKnobs(t *testing.T, g *guest) {
	config := g.do(t, "cat /boot/config-$(uname -r)")
	if slices.Contains(strings.Split(config, "\n"), "CONFIG_BLK_CGROUP_IOLATENCY=y") {
		t.Error("the kernel has io.latency by now: measure what it protects")
	}
	for _, c := range []struct{ limit, says string }{
		{"io-weight: 200", "this device is not shared by weights"},
		{"io-latency: 2ms", "CONFIG_BLK_CGROUP_IOLATENCY"},
	} {
		g.put(t, "refused.yaml", `
name: refused
question: Is a knob refused that nothing goes by?
control: false
repeat: 1
trials: 1
runtime: 200ms
seed: 1
stacks: {s: serial:LAB3 > ext4}
workloads:
  R: {fio: {rw: randread, size: 8MiB}}
mixes:
  one: {R: {count: 1, limits: {`+c.limit+`}}}
`)
		code, out := g.status(
			t,
			"plimsoll run refused.yaml --quiet --destroy LAB3 -o refused; code=$?; rm -rf refused; exit $code",
		)
		if words := strings.Join(strings.Fields(out), " "); code == 0 || !strings.Contains(words, c.says) {
			t.Errorf("%s ends with %d, and does not say %s:\n%s", c.limit, code, c.says, out)
		}
	}
}
