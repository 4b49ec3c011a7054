package labtest

import (
	"fmt"
	"strings"
	"testing"

	"plimsoll/internal/lab"
	"plimsoll/internal/testkit/hosttest"
)

// The layers are tested on several machines, which run beside each other.

// TestLayers has what layers stand on protected, charged and cleaned up, with a
// kernel that has all controllers of cgroup v2.
func TestLayers(t *testing.T) {
	hosttest.Soak(t)
	g, env := drivesOf(t)
	t.Run("protection", func(t *testing.T) { protection(t, g) })
	t.Run("cgroup v2", func(t *testing.T) {
		g.runs(t, goTests{Package: "internal/stack/container", Run: "^Test(CgroupV2|Exec)$", Env: env})
	})
	t.Run("groups of version 2", func(t *testing.T) {
		g.runs(t, goTests{Package: "internal/host/cgroup", Env: env})
		g.runs(t, goTests{Package: "internal/iotrace/capture", Run: "^TestTheTallyTellsWhoAsked$", Env: env})
		// What the kernel's second version does otherwise than its first: limits that hold, and a death
		// that is counted.
		g.runs(t, goTests{Package: "cmd/plimsoll",
			Run: "^Test(AMixIsHeldToTheLimitsOfItsTenants|AnInstanceThatIsKilledIsAResult)$", Env: env})
	})
	t.Run("load line", func(t *testing.T) { loadLine(t, g) })
	t.Run("killed mixes", func(t *testing.T) { killedMixes(t, g) })
	t.Run("neighbours", func(t *testing.T) { neighbours(t, g) })
	t.Run("killed runs", func(t *testing.T) { killedStripes(t, g) })
}

// TestStripes brings stripes over drives up and down, and crashes on the way.
func TestStripes(t *testing.T) {
	hosttest.Soak(t)
	g, env := drivesOf(t)
	for _, test := range []string{"TestAStripeServesFromAllItsDevices", "TestAStripeIsUndoneAfterACrashAtAnyStep"} {
		g.runs(t, goTests{Package: "internal/stack", Run: "^" + test + "$", Env: env})
	}
}

// TestPools does so with thin pools.
func TestPools(t *testing.T) {
	hosttest.Soak(t)
	g, env := drivesOf(t)
	g.do(t, "modprobe dm-mod")
	g.runs(t, goTests{Package: "internal/host/devmapper", Env: env})
	for _, test := range []string{"TestThinPools", "TestAThinPoolIsUndoneAfterACrashAtAnyStep"} {
		g.runs(t, goTests{Package: "internal/stack", Run: "^" + test + "$", Env: env})
	}
}

// drivesOf starts a machine with four drives, and returns it with the environment
// in which tests of other packages find them.
func drivesOf(t *testing.T) (*guest, []string) {
	t.Helper()
	g := start(t, lab.Machine{Name: lab.Server, Memory: 2 << 30, Drives: fourDrives})[0]
	return g, g.spare(t)
}

var fourDrives = drives(lab.Server, 512<<20, 512<<20, 512<<20, 2<<30)

// spare returns the environment in which tests of other packages find the server's drives.
func (g *guest) spare(t *testing.T) []string {
	t.Helper()
	var all []string
	for _, serial := range lab.Serials(lab.Server, len(fourDrives)) {
		all = append(all, g.device(t, serial))
	}
	return []string{hosttest.SpareVariable + "=" + strings.Join(all, " ")}
}

// protection makes of real drives what nobody may overwrite, and has plimsoll
// asked to: for a stack, and as a target.
func protection(t *testing.T, g *guest) {
	g.put(t, "protected.yaml", `
name: protected
question: Is a device overwritten that somebody uses?
repeat: 1
runtime: 200ms
seed: 1
stacks:
  s: serial:LAB1 > ext4
workloads:
  W: {fio: {rw: randwrite, size: 8MiB}}
`)
	one, two := g.device(t, "LAB1"), g.device(t, "LAB2")
	// udev looks at what was written, and a device that is open is busy.
	reread := fmt.Sprintf("udevadm settle && udevadm lock --device=%[1]s blockdev --rereadpt %[1]s", one)
	// A DOS partition table with one partition for Linux, of 65536 sectors from
	// sector 2048 on.
	partition := fmt.Sprintf(`{ head -c 446 /dev/zero; printf '\0\0\0\0\203\0\0\0\0\010\0\0\0\0\001\0'; head -c 48 /dev/zero; printf '\125\252'; } >table &&
		dd if=table of=%[1]s conv=fsync status=none && %[2]s`, one, reread)
	for _, c := range []struct {
		name, arrange, undo string
		allow               string // what the user says may be overlooked
		says                string
	}{
		{"not named", "true", "true", "", "--destroy does not name it"},
		{"partitioned", partition, "", "LAB1", "partition"},
		{
			"mounted partition, whatever the user says", "mkfs.ext4 -q " + one + "p1 && mkdir -p m && mount " + one + "p1 m",
			"umount m && wipefs -aq " + one + "p1 && wipefs -aq " + one + " && " + reread,
			"LAB1=signature,partitioned", "mounted",
		},
		{
			"mounted, whatever the user says", "mkfs.ext4 -q " + one + " && mkdir -p m && mount " + one + " m",
			"umount m && wipefs -aq " + one, "LAB1=signature,partitioned", "mounted",
		},
		{"LVM's", "pvcreate -q " + one, "", "LAB1", "LVM2_member"},
		{
			"of an active volume group, whatever the user says",
			fmt.Sprintf("vgcreate -q theirs %s %s && lvcreate -q -L 32m -n data theirs", one, two),
			fmt.Sprintf("vgremove -qf theirs && pvremove -q %s %s", one, two), "LAB1=signature,partitioned", "theirs",
		},
		{
			"of an array, whatever the user says",
			fmt.Sprintf("mdadm --create /dev/md/theirs --run --level=1 --raid-devices=2 --metadata=1.2 %s %s", one, two),
			fmt.Sprintf("mdadm --stop /dev/md/theirs && udevadm settle && mdadm --zero-superblock %s %s", one, two),
			"LAB1=signature,partitioned", "md",
		},
		{"and then, once it was asked for", "true", "true", "LAB1", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			// What has no undo is what the next one begins with.
			g.do(t, c.arrange+" && udevadm settle")
			if c.undo != "" {
				defer g.do(t, c.undo+" && udevadm settle")
			}
			destroy, want := "", 4
			if c.allow != "" {
				destroy = " --destroy " + c.allow
			}
			if c.says == "" {
				want = 0
			}
			g.ends(t, want, "plimsoll run protected.yaml --quiet"+destroy, c.says)
			if want != 0 {
				g.ends(t, want, "plimsoll target export serial:LAB1 --transport loop --allow-any"+destroy, c.says)
			}
		})
	}
}

// killedMixes crashes at the steps of a mix that differ with version 2: its
// scaled-down host, its groups and what is made below them. TestACrashOfAMixAtAnyStep
// takes every step, for which emulation has no time.
func killedMixes(t *testing.T, g *guest) {
	g.put(t, "mix.yaml", `
name: small-mix
question: Does a crash of many instances leave anything behind?
control: false
repeat: 1
trials: 1
runtime: 200ms
seed: 1
stacks:
  disk: loop(size=64MiB) > ext4
workloads:
  R: {fio: {rw: randread, size: 8MiB}}
mixes:
  two: {R: {count: 2, limits: {cpus: 0.5}}}
host: {cpus: 1, memory: 512MiB, read-iops: 100000}
`)
	const run = "plimsoll run mix.yaml --quiet"
	g.do(t, run) // what a first run switches on for good stays
	killedAt(t, g, run, "7:intent", "7:made", "8:made", "9:intent", "9:made", "11:made")
}

// killedStripes kills plimsoll itself on its way to trials on stripes, and has
// plimsoll clean bring the host back. Each single step is crashed at by the
// tests of internal/stack.
func killedStripes(t *testing.T, g *guest) {
	g.put(t, "stripes.yaml", `
name: stripes
question: Does a crash leave anything of a stripe behind?
control: false
repeat: 1
runtime: 200ms
seed: 1
stacks:
  lvm: serial:LAB1 + serial:LAB2 + serial:LAB3 > lvm-stripe > ext4
  md: serial:LAB1 + serial:LAB2 + serial:LAB3 > raid0
workloads:
  W: {fio: {rw: randwrite, size: 8MiB}}
`)
	g.do(t, "modprobe -a raid0 dm-mod") // whose words stay
	const run = "plimsoll run stripes.yaml --quiet --destroy LAB1 --destroy LAB2 --destroy LAB3"
	killedAt(t, g, run, "6:undo", "9:made")
}

// lookAtLayers prints what runs on drives of the server change.
const lookAtLayers = `cat /proc/self/mountinfo; losetup -n -O NAME,BACK-FILE; dmsetup ls; cat /proc/mdstat
	for s in LAB1 LAB2 LAB3; do blkid -p /dev/disk/by-id/nvme-QEMU_NVMe_Ctrl_$s; done
	find /sys/fs/cgroup -type d -path '*plimsoll*'; cat /sys/fs/cgroup/cgroup.subtree_control
	ls -d /run/plimsoll /var/lib/plimsoll/* 2>&1; pgrep -ax fio; true`

// killedAt runs plimsoll, which crashes at each of the steps, and has plimsoll
// clean bring the host back. Then the run goes well.
func killedAt(t *testing.T, g *guest, run string, steps ...string) {
	t.Helper()
	before := g.do(t, lookAtLayers)
	for _, at := range steps {
		t.Run(at, func(t *testing.T) {
			g.ends(t, 137, "PLIMSOLL_CRASH_AT="+at+" "+run)
			g.do(t, "plimsoll clean")
			g.do(t, "udevadm settle")
			if diff := differs(before, g.do(t, lookAtLayers)); diff != "" {
				t.Errorf("the host is not as it was:\n%s", diff)
			}
		})
	}
	t.Run("and the next run goes well", func(t *testing.T) { g.do(t, run) })
}
