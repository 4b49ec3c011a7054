package finding

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"plimsoll/internal/testkit/runtest"
)

// telling are stories that give a finding. What is in braces trades places when
// the data is inverted, as that of confirming does; the finding then goes, or
// another one comes.
var telling = []struct{ id, inverted, stacks, data string }{
	{"software/RR/reads: Software takes from 5.8% of a read on raw", "software/RR/reads: Software takes from 5.8% of a read on xfs", `
		stack raw: /dev/nvme0n1
		stack xfs: /dev/nvme0n1 > xfs
		workload RR randread {bs: 4KiB}`,
		"RR {raw|xfs} 1000 trace=kernel:5000,device:81000\nRR {xfs|raw} 1000 trace=kernel:50000,device:81000"},
	{"growth/raw/high/reads: From 1 to 128 I/Os in flight, 90% of what a read takes longer on raw is in the device",
		"growth/raw/high/reads: From 1 to 128 I/Os in flight, 90% of what a read takes longer on raw is in the block layer", `
		stack raw: /dev/nvme0n1
		workload low randread {bs: 4KiB}
		workload high randread {bs: 4KiB, jobs: 4, iodepth: 32}`,
		"low raw 1000 trace=block:10000,device:100000 noise=0.01\nhigh raw 1000 trace=block:{110000|910000},device:{1000000|200000} noise=0.001"},
	{"growth/raw/high/reads", "", `
		stack raw: /dev/nvme0n1
		workload low randread {bs: 4KiB}
		workload high randread {bs: 4KiB, jobs: 4, iodepth: 32}`,
		"{low|high} raw 1000 trace=block:10000,device:100000 noise=0.01\n{high|low} raw 1000 trace=block:910000,device:200000 noise=0.01"},
	{"contention/xfs/high/writes", "", `
		stack xfs: /dev/nvme0n1 > xfs
		workload low randwrite {bs: 4KiB}
		workload mid randwrite {bs: 4KiB, jobs: 8}
		workload high randwrite {bs: 4KiB, jobs: 32}`,
		"{low|high} xfs 1000 trace=kernel:5000,device:40000\nmid xfs 1000 trace=kernel:90000,device:40000\n{high|low} xfs 1000 trace=kernel:400000,device:40000"},
	{"contention/xfs/high/writes", "", `
		stack xfs: /dev/nvme0n1 > xfs
		workload low randwrite {bs: 4KiB}
		workload high randwrite {bs: 4KiB, jobs: 32}`,
		"low xfs 1000 trace=kernel:5000,device:40000\nhigh xfs 1000 trace=kernel:{400000|5000},device:{40000|400000}"},
	{"drive/b: b gives 2.00k IOPS", "drive/b: b gives 1.00k IOPS", `
		stack a: /dev/nvme0n1
		stack b: /dev/nvme1n1
		workload RR randread {bs: 4KiB, jobs: 4, iodepth: 8}
		workload max randread {bs: 4KiB, jobs: 4, iodepth: 64}`,
		"RR {a|b} 1000\nRR {b|a} 2000\nmax {a|b} 1000\nmax {b|a} 2000"},
	{"amplification/a/RW", "amplification/b/RW", `
		stack a: /dev/nvme0n1 > btrfs
		stack b: /dev/nvme0n1 > btrfs(nodatacow)
		workload RW randwrite {bs: 4KiB}`,
		"RW {a|b} 1000 trace=kernel:5000,device:40000 perio=1.5/2\nRW {b|a} 1000 trace=kernel:5000,device:40000"},
	{"journal/a/RW", "journal/b/RW", `
		stack a: /dev/nvme0n1 > ext4
		stack b: /dev/nvme0n1 > ext4(mkfs=x)
		workload RW randwrite {bs: 4KiB}`,
		"RW {a|b} 1000 trace=kernel:5000,device:40000 served=jbd2/nvme0n1-8;write;0.2;4096\nRW {b|a} 1000 trace=kernel:5000,device:40000"},
}

func TestInvertedTracesInvertTheFinding(t *testing.T) {
	covered := map[string]bool{}
	for _, c := range telling {
		for _, inverted := range []bool{false, true} {
			want, not := c.id, c.inverted
			if inverted {
				want, not = not, want
			}
			var titles []string
			data := runtest.Scatter(runtest.Pick(c.data, inverted), 6)
			for _, f := range All(runtest.Tell(t, c.stacks+"\n"+data)) {
				covered[f.Rule] = true
				titles = append(titles, f.ID+": "+f.Title)
			}
			begins := func(with string) bool {
				return with != "" && slices.ContainsFunc(titles, func(s string) bool { return strings.HasPrefix(s, with) })
			}
			if want != "" && !begins(want) || begins(not) {
				t.Errorf("%s\n%s\nwant %q, and not %q, in\n%s", c.stacks, data, want, not, strings.Join(titles, "\n"))
			}
		}
	}
	for _, rule := range []string{"drive", "software", "growth", "contention", "amplification", "journal"} {
		if !covered[rule] {
			t.Errorf("%s is not tested with inverted data", rule)
		}
	}
}

// Noise around one account is no growth, no contention, and nobody's I/O.
func TestNoiseInTracesGivesNoFinding(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var story strings.Builder
		story.WriteString("cpus 64\nstack raw: /dev/nvme0n1\nstack xfs: /dev/nvme0n1 > xfs\n")
		for _, jobs := range []int{1, 4, 16} {
			fmt.Fprintf(&story, "workload w%d randwrite {bs: 4KiB, jobs: %d}\n", jobs, jobs)
		}
		ns := rapid.IntRange(500, 100_000)
		parts := fmt.Sprintf("user:%d,kernel:%d,block:%d,device:%d,kernel:%d", ns.Draw(t, "user"), ns.Draw(t, "kernel"), ns.Draw(t, "block"), ns.Draw(t, "device"), ns.Draw(t, "back"))
		trials := strings.Repeat(" 1000", rapid.IntRange(2, 8).Draw(t, "trials"))
		for _, stack := range []string{"raw", "xfs"} {
			for _, jobs := range []int{1, 4, 16} {
				fmt.Fprintf(&story, "w%d %s%s trace=%s noise=0.15 served=kworker/1;write;0.005;4096\n", jobs, stack, trials, parts)
			}
		}
		for _, f := range All(runtest.Tell(t, story.String())) {
			if slices.Contains([]string{"growth", "contention", "amplification", "journal"}, f.Rule) {
				t.Fatalf("%s\n%s: %s\n%s", story.String(), f.ID, f.Title, f.Why)
			}
		}
	})
}
