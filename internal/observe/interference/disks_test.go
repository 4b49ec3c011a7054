package interference

import (
	"testing"

	"pgregory.net/rapid"

	"plimsoll/internal/host/blockdev"
	"plimsoll/internal/result"
)

func reads(n uint64) result.IOCount  { return result.IOCount{Reads: n, ReadBytes: n * 4096} }
func writes(n uint64) result.IOCount { return result.IOCount{Writes: n, WriteBytes: n * 4096} }

// Who used a disk, by what is known of it.
func TestWhoUsedADisk(t *testing.T) {
	loop := []result.Device{{Name: "loop0"}}
	vda := result.Device{Name: "vda"}
	late := writes(100_000)
	for _, c := range []struct {
		name       string
		use        DiskUse
		neighbours result.IOCount
		how        string // "" for nothing that can be told
	}{
		{
			name: "alone on it",
			use: DiskUse{Disk: blockdev.Disk{Device: vda, Above: loop, Between: "ext4"}, Tallied: true,
				Own: reads(1000), Above: reads(1000)},
			how: result.ByControlGroup,
		},
		{
			name: "a neighbor reads",
			use: DiskUse{
				Disk: blockdev.Disk{Device: vda, Above: loop, Between: "ext4"}, Tallied: true, Own: reads(1000),
				Others: reads(3000), Above: reads(1000),
			},
			neighbours: reads(3000), how: result.ByControlGroup,
		},
		{
			name: "an old kernel does not say for whom a loop device works",
			use: DiskUse{Disk: blockdev.Disk{Device: vda, Above: loop, Between: "ext4"}, Tallied: true,
				Kernel: reads(1000), Others: reads(50), Above: reads(1000)},
			neighbours: reads(50), how: result.ByControlGroup,
		},
		{
			name: "the journal of each flush is nobody's",
			use: DiskUse{
				Disk: blockdev.Disk{Device: vda, Above: loop, Between: "ext4"}, Tallied: true, Own: writes(1000),
				Above:  writes(1000),
				Kernel: writes(4000), Flushes: 1000,
			},
			how: result.ByControlGroup,
		},
		{
			name: "what the kernel writes late for a neighbor, where it does not say for whom",
			use: DiskUse{
				Disk: blockdev.Disk{Device: vda, Above: loop, Between: "ext4"}, Seconds: 10, Tallied: true,
				Own: writes(1000), Above: writes(1000), Kernel: late,
			},
			neighbours: late.Sub(result.IOCount{Writes: 4 * 32, WriteBytes: 4 * 256 << 10}), how: result.ByControlGroup,
		},
		{
			name: "a file system that copies on write does not show so",
			use: DiskUse{
				Disk: blockdev.Disk{Device: vda, Above: loop, Between: "btrfs"}, Tallied: true, Own: writes(1000),
				Above: writes(1000), Kernel: late,
			},
			how: result.ByControlGroup,
		},
		{
			name: "what the workload wrote into the page cache of a directory is its own",
			use:  DiskUse{Disk: blockdev.Disk{Device: vda, Between: "ext4"}, Tallied: true, Asked: late, Kernel: late},
			how:  result.ByControlGroup,
		},
		{
			name: "what was asked for directly was seen, and hides nobody",
			use: DiskUse{
				Disk: blockdev.Disk{Device: vda, Between: "ext4"}, Tallied: true, Own: reads(1000), Asked: reads(1000),
				Others: reads(10), Kernel: reads(7),
			},
			neighbours: reads(17), how: result.ByControlGroup,
		},
		{
			name: "a drive of its own, and a log that the kernel writes",
			use: DiskUse{Disk: blockdev.Disk{Device: vda, Alone: true}, Tallied: true, Own: writes(1000),
				Kernel: late, Others: reads(8)},
			neighbours: reads(8), how: result.ByControlGroup,
		},
		{
			name: "by counters, below a loop device",
			use: DiskUse{Disk: blockdev.Disk{Device: vda, Above: loop, Between: "ext4"},
				Counted: reads(5000).Add(writes(40)), Above: reads(2000)},
			neighbours: reads(3000), how: result.ByCounters,
		},
		{
			name: "by counters, of a partition",
			use: DiskUse{Disk: blockdev.Disk{Device: vda, Above: []result.Device{{Name: "vda2"}}},
				Counted: writes(5000), Above: writes(2000)},
			neighbours: writes(3000), how: result.ByCounters,
		},
		{
			name: "by counters, in a directory",
			use:  DiskUse{Disk: blockdev.Disk{Device: vda, Between: "xfs"}, Counted: reads(500), Asked: reads(2000)},
			how:  result.ByCounters,
		},
		{name: "by counters, on a drive of its own",
			use: DiskUse{Disk: blockdev.Disk{Device: vda, Alone: true}, Counted: reads(500)}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, ok := c.use.Share()
			if !ok {
				if c.how != "" {
					t.Error("nothing is shown")
				}
				return
			}
			if got.How != c.how || got.Others != c.neighbours {
				t.Errorf("others did %+v (%s), want %+v (%s)", got.Others, got.How, c.neighbours, c.how)
			}
		})
	}
}

// Whatever was counted, nobody did more than all, and what is told of others
// grows with what they did.
func TestSharesOfADiskHold(t *testing.T) {
	count := rapid.Custom(func(t *rapid.T) result.IOCount {
		n := func(label string) uint64 { return rapid.Uint64Range(0, 1<<40).Draw(t, label) }
		return result.IOCount{Reads: n("reads"), Writes: n("writes"), ReadBytes: n("read bytes"),
			WriteBytes: n("write bytes")}
	})
	rapid.Check(t, func(t *rapid.T) {
		u := DiskUse{
			Disk: blockdev.Disk{Alone: rapid.Bool().Draw(t, "alone"),
				Between: rapid.SampledFrom([]string{"", "ext4", "btrfs"}).Draw(t, "between")},
			Seconds: rapid.Float64Range(0, 1e5).Draw(t, "seconds"), Flushes: rapid.Uint64Range(0, 1<<30).Draw(t, "flushes"),
			Counted: count.Draw(t, "counted"), Tallied: rapid.Bool().Draw(t, "tallied"), Own: count.Draw(t, "own"),
			Others: count.Draw(t, "others"), Kernel: count.Draw(t, "kernel"), Above: count.Draw(t, "above"),
			Asked: count.Draw(t, "asked"),
		}
		if rapid.Bool().Draw(t, "on something") {
			u.Disk.Above = []result.Device{{Name: "loop0"}}
		}
		s, ok := u.Share()
		if !ok {
			return
		}
		for _, part := range []result.IOCount{s.Own, s.Others} {
			if rest := part.Sub(s.All); rest != (result.IOCount{}) {
				t.Fatalf("more than all: %+v of %+v", part, s.All)
			}
		}
		ios, bytes := s.OthersShare()
		if !(ios >= 0 && ios <= 1 && bytes >= 0 && bytes <= 1) {
			t.Fatalf("shares of %v and %v", ios, bytes)
		}
		more := u
		more.Others, more.Counted = u.Others.Add(reads(10)), u.Counted.Add(reads(10))
		if s2, _ := more.Share(); s2.Others.Reads < s.Others.Reads {
			t.Fatalf("others did more, and %d reads became %d", s.Others.Reads, s2.Others.Reads)
		}
	})
}
