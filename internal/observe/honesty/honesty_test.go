package honesty

import (
	"strings"
	"testing"

	"plimsoll/internal/result"
)

// counted builds the counters of a chain: "loop0:top r=100 w=0 kib=4; ...",
// with kib the size of each I/O.
type counter struct {
	name, role    string
	reads, writes uint64
	size          uint64 // bytes of each I/O
}

// cached makes the first device one that caches its file, and was flushed so
// often.
func cached(c []result.DeviceCounter, flushes uint64) []result.DeviceCounter {
	c[0].Device.Buffered, c[0].Flushes = true, flushes
	return c
}

// Each stands on the one before it, but for members of a stripe (named "m...")
// and what they stand on, which are side by side.
func chain(cs ...counter) []result.DeviceCounter {
	var out []result.DeviceCounter
	for i, c := range cs {
		depth := i
		switch {
		case strings.HasPrefix(c.name, "m"):
			depth = 1
		case strings.HasPrefix(cs[max(i-1, 0)].name, "m"):
			depth = 2
		}
		out = append(out, result.DeviceCounter{
			Device: result.Device{Name: c.name, Role: c.role, Depth: depth},
			Reads:  c.reads, Writes: c.writes, ReadBytes: c.reads * c.size, WriteBytes: c.writes * c.size,
		})
	}
	return out
}

func TestJudge(t *testing.T) {
	const k4 = 4096
	reads := result.Measurement{Operations: result.ReadsWrites(result.Operation{Count: 10_000, Bytes: 10_000 * k4},
		result.Operation{})}
	writes := result.Measurement{Operations: result.ReadsWrites(result.Operation{},
		result.Operation{Count: 10_000, Bytes: 10_000 * k4})}
	mixed := result.Measurement{Operations: result.ReadsWrites(reads.Operation(result.Read),
		writes.Operation(result.Write))}
	for _, test := range []struct {
		name     string
		m        result.Measurement
		counted  []result.DeviceCounter
		measured float64 // 0 for 1
		source   result.Source
		ratio    float64
	}{
		{
			name: "a disk that served all", m: reads, source: result.SourceDevice, ratio: 1,
			counted: chain(counter{"nvme0n1", "bottom", 10_000, 3, k4}),
		},
		{
			name: "a loop device with direct-io on", m: reads, source: result.SourceDevice, ratio: 1,
			counted: chain(counter{"loop0", "top", 10_000, 0, k4}, counter{"vda", "bottom", 10_020, 80, k4}),
		},
		{
			name: "a loop device with direct-io off", m: reads, source: result.SourceMemory, ratio: 0.0367,
			counted: chain(counter{"loop0", "top", 10_000, 0, k4}, counter{"vda", "bottom", 367, 0, k4}),
		},
		{
			name: "a cache above the file system's device", m: reads, source: result.SourceMemory, ratio: 0,
			counted: chain(counter{"loop0", "top", 0, 0, k4}, counter{"vda", "bottom", 0, 12, k4}),
		},
		{
			name: "a neighbor's reads on the shared disk do not hide a cache", m: writes, source: result.SourceMemory, ratio: 0,
			counted: chain(counter{"loop2", "top", 0, 0, k4}, counter{"vda", "bottom", 9_000, 9_000, k4}),
		},
		{
			name: "reads do not stand in for writes", m: writes, source: result.SourceMemory, ratio: 0.01,
			counted: chain(counter{"nvme0n1", "bottom", 10_000, 100, k4}),
		},
		{
			name: "writes merged into fewer, larger ones", m: writes, source: result.SourceDevice, ratio: 0.25,
			counted: chain(counter{"nvme0n1", "bottom", 0, 2_500, 4 * k4}),
		},
		{
			name: "copy-on-write makes more of them", m: writes, source: result.SourceDevice, ratio: 1.4,
			counted: chain(counter{"loop0", "top", 0, 14_000, k4}, counter{"vda", "bottom", 0, 15_000, k4}),
		},
		{
			name: "reads from memory, though writes go to the device", m: mixed, source: result.SourceMemory, ratio: 0.5,
			counted: chain(counter{"nvme0n1", "bottom", 0, 10_000, k4}),
		},
		{
			name: "a loop device with direct-io off, whose writes were written back meanwhile", m: writes,
			source: result.SourceMemory, ratio: 1,
			counted: cached(chain(counter{"loop0", "top", 0, 10_000, k4}, counter{"vda", "bottom", 0, 10_000, k4}), 3),
		},
		{
			name: "the same, with a flush for every few writes", m: writes, source: result.SourceDevice, ratio: 1,
			counted: cached(chain(counter{"loop0", "top", 0, 10_000, k4}, counter{"vda", "bottom", 0, 10_000, k4}), 400),
		},
		{
			name: "the same, with reads that were not in the page cache", m: reads, source: result.SourceDevice, ratio: 1,
			counted: cached(chain(counter{"loop0", "top", 10_000, 0, k4}, counter{"vda", "bottom", 10_000, 0, k4}), 0),
		},
		{name: "tmpfs", m: reads, source: result.SourceMemory, ratio: 0},
		{
			name: "a loop device over a file on tmpfs", m: reads, source: result.SourceMemory, ratio: 0,
			counted: chain(counter{"loop0", "top", 10_000, 0, k4}),
		},
		{
			name: "a ramp as long as the run is counted by the device only", m: reads, measured: 0.5,
			source: result.SourceDevice, ratio: 1,
			counted: chain(counter{"nvme0n1", "bottom", 20_000, 0, k4}),
		},
		{
			name: "a stripe serves with all its members", m: reads, source: result.SourceDevice, ratio: 1,
			counted: chain(counter{"dm-0", "top", 10_000, 0, k4}, counter{"ma", "bottom", 3_333, 0, k4},
				counter{"mb", "bottom", 3_333, 0, k4}, counter{"mc", "bottom", 3_334, 0, k4}),
		},
		{
			name: "a stripe over loop devices on one disk", m: reads, source: result.SourceDevice, ratio: 1,
			counted: chain(counter{"dm-0", "top", 10_000, 0, k4}, counter{"ma", "under", 3_333, 0, k4},
				counter{"mb", "under", 3_333, 0, k4}, counter{"mc", "under", 3_334, 0, k4},
				counter{"vda", "bottom", 10_200, 0, k4}),
		},
		{
			name: "their disk served half, as much as one of them alone asks for", m: reads,
			source: result.SourceMemory, ratio: 0.5,
			counted: chain(counter{"dm-0", "top", 10_000, 0, k4}, counter{"ma", "under", 3_333, 0, k4},
				counter{"mb", "under", 3_333, 0, k4}, counter{"mc", "under", 3_334, 0, k4}, counter{"vda", "bottom", 5_000, 0, k4}),
		},
		{
			name: "a member over a file in memory", m: reads, source: result.SourceMemory, ratio: 0.6666,
			counted: chain(counter{"dm-0", "top", 10_000, 0, k4}, counter{"ma", "bottom", 3_333, 0, k4},
				counter{"mb", "bottom", 3_333, 0, k4}, counter{"mc", "under", 3_334, 0, k4}),
		},
		{
			name: "a drive and a loop device side by side", m: reads, source: result.SourceDevice, ratio: 1,
			counted: chain(counter{"dm-0", "top", 10_000, 0, k4}, counter{"ma", "bottom", 5_000, 0, k4},
				counter{"mb", "under", 5_000, 0, k4}, counter{"vda", "bottom", 5_000, 0, k4}),
		},
		{
			name: "a drive hides no cache under the loop device beside it", m: reads, source: result.SourceMemory, ratio: 0.51,
			counted: chain(counter{"dm-0", "top", 10_000, 0, k4}, counter{"ma", "bottom", 5_000, 0, k4},
				counter{"mb", "under", 5_000, 0, k4}, counter{"vda", "bottom", 100, 0, k4}),
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			if test.measured == 0 {
				test.measured = 1
			}
			h := Judge(test.m, test.counted, test.measured)
			if h.Source != test.source || h.Ratio == nil || *h.Ratio < test.ratio-1e-9 || *h.Ratio > test.ratio+1e-9 {
				t.Errorf("got %s, %v; want %s, %v; because %s", h.Source, h.Ratio, test.source, test.ratio, h.Reason)
			}
			for _, c := range test.counted {
				if !strings.Contains(h.Reason, c.Device.Name+" counted") {
					t.Errorf("the reason leaves %s out: %s", c.Device.Name, h.Reason)
				}
			}
		})
	}
	if h := Judge(result.Measurement{}, nil, 1); h.Source != result.SourceUnknown || h.Ratio != nil {
		t.Errorf("without I/O: %+v", h)
	}
}

// withARC puts ZFS above the first device.
func withARC(c []result.DeviceCounter, a result.ARC) []result.DeviceCounter {
	c[0].ARC = &a
	return c
}

// Records of 128 KiB that are read for I/Os of 4 KiB make more bytes than fio asked for: the ARC's own counters say
// what was in memory.
func TestCacheOfZFS(t *testing.T) {
	const record = 128 << 10
	reads := result.Measurement{Operations: result.ReadsWrites(result.Operation{Count: 10_000, Bytes: 10_000 * 4096},
		result.Operation{})}
	writes := result.Measurement{Operations: result.ReadsWrites(result.Operation{},
		result.Operation{Count: 10_000, Bytes: 10_000 * 4096})}
	disk := func(reads, writes, flushes uint64) []result.DeviceCounter {
		c := chain(counter{"nvme0n1", "bottom", reads, writes, record})
		c[0].Flushes = flushes
		return c
	}
	for _, test := range []struct {
		name     string
		m        result.Measurement
		counted  []result.DeviceCounter
		measured float64
		source   result.Source
	}{
		{"half of the reads in memory", reads, withARC(disk(5_000, 0, 0), result.ARC{Hits: 5_000, Misses: 5_000}), 1,
			result.SourceMemory},
		{"none in memory", reads, withARC(disk(10_000, 0, 0), result.ARC{Hits: 20, Misses: 10_000}), 1, result.SourceDevice},
		{"answered above the ARC, which counts none", reads, withARC(disk(2_000, 0, 0), result.ARC{Misses: 2_000}), 1,
			result.SourceMemory},
		{"direct", reads, withARC(disk(10_000, 0, 0), result.ARC{DirectReads: 10_000}), 1, result.SourceDevice},
		{"a ramp as long as the run", reads, withARC(disk(10_000, 0, 0), result.ARC{Misses: 10_000}), 0.5,
			result.SourceMemory},
		{"the same, all from the device", reads, withARC(disk(20_000, 0, 0), result.ARC{Misses: 20_000}), 0.5,
			result.SourceDevice},
		{"writes that were written later", writes, withARC(disk(0, 10_000, 3), result.ARC{}), 1, result.SourceMemory},
		{"writes that were flushed", writes, withARC(disk(0, 10_000, 400), result.ARC{}), 1, result.SourceDevice},
		{"direct writes", writes, withARC(disk(0, 10_000, 3), result.ARC{DirectWrites: 10_000}), 1, result.SourceDevice},
	} {
		h := Judge(test.m, test.counted, test.measured)
		if h.Source != test.source || (h.Source == result.SourceMemory) != strings.Contains(h.Reason, "memory") {
			t.Errorf("%s: got %s, because %s", test.name, h.Source, h.Reason)
		}
	}
}

// A server's operations are not held against the device: only told beside them.
func TestBehind(t *testing.T) {
	m := result.Measurement{Operations: []result.Operation{{Name: "read", Count: 9_000}, {Name: "update", Count: 1_000}}}
	disk := chain(counter{"loop0", "top", 600, 400, 4096}, counter{"vda", "bottom", 900, 400, 4096})
	h := Behind(m, disk, 0.5)
	if h.Source != result.SourceServer || h.Ratio == nil || *h.Ratio != 0.05 || h.Served[1].PerIO != 0.065 {
		t.Errorf("%+v, ratio %v", h, h.Ratio)
	}
	for _, said := range []string{"10000 operations", "loop0 counted 600 reads", "vda counted 900 reads"} {
		if !strings.Contains(h.Reason, said) {
			t.Errorf("%q lacks %q", h.Reason, said)
		}
	}
	for name, h := range map[string]result.Honesty{
		"nothing done": Behind(result.Measurement{}, disk, 1), "no device": Behind(m, nil, 1),
	} {
		if h.Source != result.SourceServer || h.Ratio != nil {
			t.Errorf("%s: %+v", name, h)
		}
	}
}
