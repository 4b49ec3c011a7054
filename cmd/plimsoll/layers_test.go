package main

import (
	"fmt"
	"strings"
	"testing"

	"plimsoll/internal/hostinfo"
	"plimsoll/internal/hosttest"
)

// needKernel skips where the kernel lacks what the layers over several devices
// and the thin pools need. The lab has it: scripts/lab/layers.sh.
func needKernel(t *testing.T, modules ...string) {
	t.Helper()
	for _, m := range modules {
		if part := hostinfo.New().Kernel(m); part.OK == hostinfo.No {
			t.Skipf("NOT TESTED HERE: %s: %s; scripts/lab/layers.sh runs this test in a virtual machine that has it", part.Name, part.Why)
		}
	}
}

// stripesFor puts both stripes over three devices: spare ones, which are then
// allowed, or loop devices.
func stripesFor(t *testing.T) (sources string, args []string) {
	t.Helper()
	spare := hosttest.Spare(3)
	if spare == nil {
		return "loop(size=64MiB) + loop(size=64MiB) + loop(size=64MiB)", nil
	}
	for _, d := range spare {
		args = append(args, "--destroy", d)
	}
	return strings.Join(spare, " + "), args
}

func TestACrashAtAnyStepOfAStripeIsUndone(t *testing.T) {
	hosttest.Exclusive(t)
	needKernel(t, "dm-mod", "md-mod", "raid0")
	sources, args := stripesFor(t)
	text := fmt.Sprintf(`
name: stripes
question: Does a crash leave anything of a stripe behind?
repeat: 1
runtime: 200ms
seed: 1
stacks:
  lvm: %[1]s > lvm-stripe > ext4
  md: %[1]s > raid0
workloads:
  W: {fio: {rw: randwrite, size: 8MiB}}
`, sources)
	// The work directory; LVM's directory, group and volume; mkfs, directory and
	// mount; an array; two processes.
	crashAtEveryStep(t, text, 2*10, args...)
}

func TestACrashAtAnyStepOfAThinPoolIsUndone(t *testing.T) {
	hosttest.Exclusive(t)
	needKernel(t, "dm-mod", "dm-thin-pool")
	device, args := "loop(size=1536MiB)", []string(nil)
	if spare := hosttest.Spare(4); spare != nil {
		device, args = spare[3], []string{"--destroy", spare[3]}
	}
	text := fmt.Sprintf(`
name: pools
question: Does a crash leave anything of a thin pool behind?
repeat: 1
runtime: 200ms
seed: 1
stacks:
  direct: %[1]s > thin(direct-lvm) > devicemapper
  loops: %[1]s > ext4 > thin(loop-lvm) > devicemapper
workloads:
  W: {fio: {rw: randwrite, size: 8MiB}}
`, device)
	// The work directory; LVM's directory, group and volume; an engine with its
	// directory, cgroup and container; a loop device with its file; mkfs,
	// directory and mount; the engine's pool, and an engine again.
	crashAtEveryStep(t, text, 2*17, args...)
}
