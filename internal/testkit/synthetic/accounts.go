package synthetic

import (
	"math"
	"math/rand/v2"
	"time"

	"plimsoll/internal/iotrace"
)

// Account is what a capture of a few seconds tells: fio on ext4 reads and
// writes a loop device with a scheduler, its journal writes and flushes too,
// and the disk below it has other users. It is the same on every call.
func Account() *iotrace.Account {
	rng := rand.New(rand.NewPCG(5, 9))
	a := &iotrace.Account{
		Recorder: "blktrace capture", Duration: 5200 * time.Millisecond, Events: 412345,
		Devices: []iotrace.Device{
			{Name: "loop0", MajMin: "7:0", BackMerges: 1210, FrontMerges: 3, Plugs: 180, Unplugs: 171, UnpluggedByTimer: 9,
				Depth: 23.4, MaxDepth: 64, Sequential: 0.021, Unfinished: 2},
			{Name: "254:0", MajMin: "254:0", BackMerges: 40, Splits: 12, Remaps: 40211, Requeues: 1, Plugs: 60, Unplugs: 60,
				Depth: 21.9, MaxDepth: 61, Sequential: 0.034},
		},
	}
	fio := iotrace.Owner{PID: 4711, Command: "fio", Call: true}
	journal := iotrace.Owner{PID: 812, Command: "jbd2/loop0-8", Kernel: true}
	db := iotrace.Owner{Cgroup: 2231, Path: "/docker/4f1c", Container: "cassandra-1", PID: 990, Command: "java"}
	for _, k := range []struct {
		key  iotrace.Key
		n    int
		d2c  float64
		flat bool // without a scheduler
	}{
		{iotrace.Key{Device: "254:0", Op: iotrace.Read, Size: 4096, Owner: fio}, 12000, 70e3, true},
		{iotrace.Key{Device: "254:0", Op: iotrace.Write, Size: 4096, Owner: db}, 3100, 90e3, true},
		{iotrace.Key{Device: "loop0", Op: iotrace.Read, Size: 4096, Owner: fio}, 20000, 85e3, false},
		{iotrace.Key{Device: "loop0", Op: iotrace.Write, Size: 4096, Owner: fio}, 9000, 120e3, false},
		{iotrace.Key{Device: "loop0", Op: iotrace.Write, Size: 131072, Owner: journal}, 210, 460e3, false},
		{iotrace.Key{Device: "loop0", Op: iotrace.Flush, Size: 0, Owner: journal}, 190, 900e3, true},
	} {
		a.Cells = append(a.Cells, sampleCell(rng, k.key, k.n, k.d2c, k.flat))
	}
	for i := range a.Devices {
		d := &a.Devices[i]
		for _, c := range a.Cells {
			if c.Device == d.Name {
				d.Requests += c.Requests
				d.Bytes += c.Bytes
			}
		}
		for s := range 6 {
			second := iotrace.Second{At: int64(s), Depth: d.Depth * (1 + 0.1*rng.NormFloat64()),
				Q2CNS: 210e3 * (1 + 0.1*rng.NormFloat64()), D2CNS: 95e3 * (1 + 0.1*rng.NormFloat64())}
			for _, c := range a.Cells {
				if c.Device == d.Name {
					second.Requests[c.Op] += c.Requests / 6
					second.Bytes[c.Op] += c.Bytes / 6
				}
			}
			d.Seconds = append(d.Seconds, second)
		}
	}
	return a
}

// sampleCell is requests of which every twentieth is a bio that was merged.
func sampleCell(rng *rand.Rand, key iotrace.Key, n int, d2c float64, flat bool) iotrace.Cell {
	c := iotrace.Cell{Key: key, Requests: uint64(n), Bytes: uint64(n) * uint64(key.Size)}
	add := func(i iotrace.Interval, ns uint64) uint64 {
		if c.Intervals[i] == nil {
			c.Intervals[i] = new(iotrace.Dist)
		}
		c.Intervals[i].Add(ns)
		return ns
	}
	about := func(ns float64) uint64 { return uint64(ns * math.Exp(0.5*rng.NormFloat64())) }
	for i := range n {
		add(iotrace.Q2Q, about(150e3))
		var before uint64
		switch {
		case !flat && i%20 == 0:
			before = add(iotrace.Q2M, about(400)) + add(iotrace.M2D, about(30e3))
		case !flat:
			before = add(iotrace.Q2G, about(600)) + add(iotrace.G2I, about(2100)) + add(iotrace.I2D, about(40e3))
		default:
			before = add(iotrace.Q2G, about(500)) + add(iotrace.G2I, 0) + add(iotrace.I2D, about(900))
		}
		if flat || i%20 != 0 {
			add(iotrace.Q2D, before)
		}
		add(iotrace.Q2C, before+add(iotrace.D2C, about(d2c)))
	}
	return c
}

// NVMe is of an NVMe drive whose driver is traced too.
func NVMe() *iotrace.Account {
	rng := rand.New(rand.NewPCG(7, 7))
	a := &iotrace.Account{Recorder: "BPF", Duration: 3 * time.Second, Lost: 17,
		Missing: []string{"Q2G, G2I, I2D: only Q2D is recorded in the kernel"},
		Devices: []iotrace.Device{{Name: "nvme0n1", MajMin: "259:0", Requests: 5000, Bytes: 5000 * 4096, Depth: 0.9,
			MaxDepth: 1}}}
	c := iotrace.Cell{Key: iotrace.Key{Device: "nvme0n1", Size: 4096,
		Owner: iotrace.Owner{Cgroup: 17, Path: "/user.slice", PID: 2, Command: "fio", Call: true}}, Requests: 5000,
		Bytes: 5000 * 4096}
	for i := range c.Intervals {
		switch iotrace.Interval(i) {
		case iotrace.Q2D, iotrace.D2N, iotrace.N2C, iotrace.D2C, iotrace.Q2C, iotrace.S2Q, iotrace.S2X, iotrace.C2R:
			c.Intervals[i] = new(iotrace.Dist)
		}
	}
	for range 5000 {
		q, n, d := rng.Uint64N(900), 300+rng.Uint64N(200), 70000+rng.Uint64N(9000)
		for i, ns := range map[iotrace.Interval]uint64{iotrace.Q2D: q, iotrace.D2N: n, iotrace.N2C: d, iotrace.D2C: n + d,
			iotrace.Q2C: q + n + d, iotrace.S2Q: 1200, iotrace.S2X: 4000 + q, iotrace.C2R: 2500} {
			c.Intervals[i].Add(ns)
		}
	}
	a.Cells = []iotrace.Cell{c}
	return a
}

// Target is of a target that serves a drive's namespace, and another one in
// a file.
func Target() *iotrace.Account {
	rng := rand.New(rand.NewPCG(3, 5))
	a := NVMe()
	a.Lost = 0
	nqn := "nqn.2014-08.org.nvmexpress:uuid:aaaaaaaa-0000-4000-8000-000000000001"
	owner := iotrace.Owner{Kernel: true, Command: "nvmet"}
	for _, k := range []struct {
		name       string
		nsid       uint32
		op         iotrace.Op
		size       iotrace.SizeClass
		n          int
		fetched, q bool
	}{
		{"nvmet:nvme0n1", 1, iotrace.Read, 4096, 4000, false, true},
		{"nvmet:nvme0n1", 1, iotrace.Write, 65536, 1000, true, true},
		{"nvmet:disk.img", 2, iotrace.Read, 4096, 700, false, false},
	} {
		c := iotrace.Cell{Key: iotrace.Key{Device: k.name, Op: k.op, Size: k.size, Owner: owner}, Requests: uint64(k.n),
			Bytes: uint64(k.n) * uint64(k.size)}
		for _, i := range []iotrace.Interval{iotrace.T, iotrace.A2Q, iotrace.F2Q, iotrace.Q2C} {
			if i == iotrace.T || k.q && (i == iotrace.Q2C || k.fetched == (i == iotrace.F2Q)) {
				c.Intervals[i] = new(iotrace.Dist)
			}
		}
		for range k.n {
			before, device := 2000+rng.Uint64N(500), 70000+rng.Uint64N(9000)
			for i, ns := range map[iotrace.Interval]uint64{iotrace.T: before + device, iotrace.A2Q: before, iotrace.F2Q: before,
				iotrace.Q2C: device} {
				if c.Intervals[i] != nil {
					c.Intervals[i].Add(ns)
				}
			}
		}
		if len(a.Devices) == 0 || a.Devices[len(a.Devices)-1].Name != k.name {
			a.Devices = append(a.Devices, iotrace.Device{Name: k.name, NQN: nqn, NSID: k.nsid})
		}
		d := &a.Devices[len(a.Devices)-1]
		d.Requests, d.Bytes, d.Depth = d.Requests+c.Requests, d.Bytes+c.Bytes, 0.1
		a.Cells = append(a.Cells, c)
	}
	return a
}
