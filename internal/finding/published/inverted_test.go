package published

import (
	"slices"
	"strings"
	"testing"

	"plimsoll/internal/fact"
	"plimsoll/internal/finding/published/claims"
	"plimsoll/internal/runview"
	"plimsoll/internal/testkit/runtest"
)

// confirming are stories that confirm a claim. What is in braces of the data
// trades places when the data is inverted: {A|B} is A, and B when inverted.
var confirming = []struct{ claim, stacks, data string }{
	{"fs-xfs-near-raw", `
		kernel 4.6.0
		stack raw: /dev/nvme0n1
		stack xfs: /dev/nvme0n1 > xfs
		workload RR randread {bs: 4KiB, jobs: 32, iodepth: 32}`,
		"RR raw 1000\nRR xfs {1000|500}"},
	{"fs-xfs-rw-worse", `
		stack raw: /dev/nvme0n1
		stack xfs: /dev/nvme0n1 > xfs
		workload RW randwrite {bs: 4KiB, jobs: 32, iodepth: 32}`,
		"RW {raw|xfs} 1000\nRW {xfs|raw} 600"},
	{"fs-xfs-rw-cliff", `
		stack xfs: /dev/nvme0n1 > xfs
		workload j4 randwrite {bs: 4KiB, jobs: 4, iodepth: 32}
		workload j8 randwrite {bs: 4KiB, jobs: 8, iodepth: 32}
		workload j16 randwrite {bs: 4KiB, jobs: 16, iodepth: 32}
		workload j32 randwrite {bs: 4KiB, jobs: 32, iodepth: 32}
		workload j64 randwrite {bs: 4KiB, jobs: 64, iodepth: 32}`,
		"{j4|j64} xfs 1000\nj8 xfs {1000|300}\nj16 xfs {1000|300}\nj32 xfs {300|1000}\n{j64|j4} xfs 300"},
	{"fs-ext4-rr-gap", `
		kernel 4.6.0
		stack raw: /dev/nvme0n1
		stack ext4: /dev/nvme0n1 > ext4
		workload RR randread {bs: 4KiB, jobs: 32, iodepth: 32}`,
		"RR {raw|ext4} 1000\nRR {ext4|raw} 750"},
	{"fs-ext4-dioread-nolock", `
		stack lock: /dev/nvme0n1 > ext4(mount=dioread_lock)
		stack nolock: /dev/nvme0n1 > ext4(mount=dioread_nolock)
		workload RR randread {bs: 4KiB, jobs: 32, iodepth: 32}`,
		"RR {lock|nolock} 1000\nRR {nolock|lock} 1250"},
	{"drv-order-random", `
		stack aufs: /dev/nvme0n1 > xfs > aufs
		stack overlay2: /dev/nvme0n1 > xfs > overlay2
		stack btrfs: /dev/nvme0n1 > btrfs > btrfs
		workload RR randread {bs: 4KiB, jobs: 32, iodepth: 32}`,
		"RR {aufs|btrfs} 1000\nRR overlay2 {1000|400}\nRR {btrfs|aufs} 400"},
	{"drv-btrfs-blocksize", `
		stack btrfs: /dev/nvme0n1 > btrfs
		workload b4 randread {bs: 4KiB, jobs: 32, iodepth: 32}
		workload b8 randread {bs: 8KiB, jobs: 32, iodepth: 32}
		workload b16 randread {bs: 16KiB, jobs: 32, iodepth: 32}
		workload b32 randread {bs: 32KiB, jobs: 32, iodepth: 32}
		workload b64 randread {bs: 64KiB, jobs: 32, iodepth: 32}
		workload b128 randread {bs: 128KiB, jobs: 32, iodepth: 32}`,
		"b4 btrfs {1000|32000}\nb8 btrfs {1000|8000}\nb16 btrfs {1000|2000}\nb32 btrfs {1000|500}\nb64 btrfs {500|250}\nb128 btrfs {250|125}"},
	{"drv-btrfs-nodatacow", `
		stack cow: /dev/nvme0n1 > btrfs
		stack nocow: /dev/nvme0n1 > btrfs(nodatacow)
		workload RW randwrite {bs: 4KiB, jobs: 32, iodepth: 32}`,
		"RW {cow|nocow} 1000\nRW {nocow|cow} 5000"},
	{"drv-loop-lvm-vs-raw", `
		stack on: loop
		stack off: loop(direct-io=off)
		workload RR randread {bs: 4KiB}`,
		"RR {on|off} 1000\nRR {off|on} 1400 memory=0.01"},
	{"drv-loop-lvm-vs-aufs", `
		stack aufs: /dev/nvme0n1 > xfs > aufs
		stack lvm: /dev/nvme0n1 > xfs > devicemapper
		workload RR randread {bs: 4KiB}`,
		"RR aufs {1000|7000}\nRR lvm {7000|1000} memory=0.01"},
	{"drv-direct-lvm-slow", `
		stack lvm: /dev/nvme0n1 > thin(direct-lvm) > devicemapper
		stack volume: /dev/nvme0n1 > xfs > volume
		workload RR randread {bs: 4KiB, jobs: 32, iodepth: 32}`,
		"RR lvm {500|1000}\nRR volume {1000|500}"},
	{"vol-independent", `
		stack xfs: /dev/nvme0n1 > xfs
		stack volume: /dev/nvme0n1 > xfs > volume
		workload SR read {bs: 128KiB, jobs: 32, iodepth: 32}`,
		"SR xfs 1000\nSR volume {1000|2000}"},
	{"nvmf-high-load", `
		stack near: serial:S1 > xfs
		stack far: nvmeof(transport=rdma, addr=10.0.0.1, nqn=nqn.x) > xfs
		workload RR randread {bs: 4KiB, jobs: 32, iodepth: 32}`,
		"RR near 1000\nRR far {1000|500}"},
	{"lat-clat-nvmf-low", `
		stack near: serial:S1
		stack far: nvmeof(transport=tcp, addr=10.0.0.1, nqn=nqn.x)
		workload RR randread {bs: 4KiB}`,
		"RR near 1000 clat=100000\nRR far 1000 clat={153300|110000}"},
	{"lat-high-extra", `
		stack near: serial:S1
		stack far: nvmeof(transport=rdma, addr=10.0.0.1, nqn=nqn.x)
		workload RR randread {bs: 4KiB, jobs: 16, iodepth: 32}`,
		"RR near 1000 clat=9000000\nRR far 1000 clat={9090000|9900000}"},
	{"lat-slat-low-nvmf", `
		stack far: nvmeof(transport=tcp, addr=10.0.0.1, nqn=nqn.x)
		workload RR randread {bs: 4KiB}`,
		"RR far 1000 slat={10100|90300} clat={89900|9700}"},
	{"lat-high-nvmf", `
		stack far: nvmeof(transport=tcp, addr=10.0.0.1, nqn=nqn.x)
		workload low randread {bs: 4KiB}
		workload high randread {bs: 4KiB, jobs: 16, iodepth: 32}`,
		"{low|high} far 1000 slat=1000 clat=99000\n{high|low} far 1000 slat=1000 clat=1199000"},
	{"lat-slat-low-das", `
		stack raw: /dev/nvme0n1
		workload RR randread {bs: 4KiB}`,
		"RR raw 1000 slat={9700|90300} clat={90300|9700}"},
	{"lat-slat-high", `
		stack raw: /dev/nvme0n1
		workload high randread {bs: 4KiB, jobs: 16, iodepth: 32}`,
		"high raw 1000 slat={500|90300} clat={99500|9700}"},
	{"lat-high-das", `
		stack raw: /dev/nvme0n1
		workload low randread {bs: 4KiB}
		workload high randread {bs: 4KiB, jobs: 16, iodepth: 32}`,
		"{low|high} raw 1000 slat=1000 clat=99000\n{high|low} raw 1000 slat=1000 clat=1999000"},
	{"dev-iops", `
		stack disk: /dev/sda
		stack ssd: /dev/sdb
		drive sda rotates ST600
		drive sdb solid SAMSUNG
		workload RR randread {bs: 4KiB, jobs: 4, iodepth: 32}`,
		"RR {disk|ssd} 190\nRR {ssd|disk} 70000"},
	{"dev-latency", `
		stack raw: /dev/nvme0n1
		workload RR randread {bs: 4KiB}
		workload RW randwrite {bs: 4KiB}`,
		"{RR|RW} raw 1000 clat=88000\n{RW|RR} raw 1000 clat=60000"},
	{"sw-share", `
		stack raw: /dev/nvme0n1
		workload RR randread {bs: 4KiB}`,
		"RR raw 1000 trace=user:2000,kernel:3970,driver:600,device:{83430|9000}"},
	{"sw-breakdown", `
		stack raw: /dev/nvme0n1
		workload RR randread {bs: 4KiB, jobs: 4, iodepth: 8}`,
		"RR raw 1000 slat={14500|60000} trace={user:4500,kernel:16500,driver:2500,device:92000|user:40000,kernel:50000,driver:12500,device:13000}"},
}

// cases is how many findings a claim gives that has several numbers, and so
// several cases.
var cases = map[string]int{"dev-iops": 2, "dev-latency": 2, "sw-breakdown": 5}

// Nothing is hard-coded: the data decides, and inverted data gives the
// inverted verdict. Trials scatter by a percent, which is less than any claim
// is about.
func TestInvertedDataInvertsTheVerdict(t *testing.T) {
	var covered []string
	for _, c := range confirming {
		covered = append(covered, c.claim)
		t.Run(c.claim, func(t *testing.T) {
			for _, inverted := range []bool{false, true} {
				want := fact.ClaimConfirmed
				if inverted {
					want = fact.ClaimContradicted
				}
				data := runtest.Pick(c.data, inverted)
				found := 0
				for _, f := range Find(runview.New(runtest.Tell(t, c.stacks+"\n"+runtest.Scatter(data, 6)))) {
					if f.Claim == nil || f.Claim.ID != c.claim {
						continue
					}
					found++
					if f.Claim.Verdict != want || !strings.HasPrefix(strings.ToLower(f.Title), string(want)) {
						t.Errorf("%s\n%s\nis %s, want %s: %s", c.stacks, data, f.Claim.Verdict, want, f.Claim.Why)
					}
				}
				if found != max(1, cases[c.claim]) {
					t.Errorf("%s\n%s\ngives %d findings", c.stacks, data, found)
				}
			}
		})
	}
	for _, c := range confirmingInstances {
		covered = append(covered, c.claim)
	}
	for _, c := range claims.All() {
		if c.Test != nil && c.Test.Shape != claims.Valley && !slices.Contains(covered, c.ID) {
			t.Errorf("%s is not tested with inverted data", c.ID)
		}
	}
}
