package model

import (
	"container/heap"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"plimsoll/internal/result"
	"plimsoll/internal/result/hist"
	"plimsoll/internal/testkit/soak"
)

// flash is a drive that is simulated I/O by I/O: so many of them are served at the same time, each for a
// while that depends on what it is and how much of it there is.
type flash struct {
	channels    int
	read, write float64 // s of 4 KiB
	perByte     float64 // s of each byte more
}

// does returns how many reads and writes a second it does where so many are under way, of which a share reads.
func (d flash) does(inFlight int, share, block float64) (reads, writes float64) {
	rng := rand.New(rand.NewPCG(uint64(inFlight), uint64(block)))
	free := make([]float64, d.channels)
	var queue events
	for i := range inFlight {
		heap.Push(&queue, event{at: float64(i) * 1e-9})
	}
	const seconds = 2.0
	for queue[0].at < seconds {
		e := heap.Pop(&queue).(event)
		first := 0
		for i := range free {
			if free[i] < free[first] {
				first = i
			}
		}
		service := d.write
		if rng.Float64() < share {
			service = d.read
			reads++
		} else {
			writes++
		}
		service += (block - 4096) * d.perByte
		e.at = max(e.at, free[first]) + service*(0.5+rng.Float64())
		free[first] = e.at
		heap.Push(&queue, e)
	}
	return reads / seconds, writes / seconds
}

// fioOn is a run of fio on a drive, as `plimsoll run devices` makes it.
func fioOn(d flash, mixed bool) *result.Run {
	run := &result.Run{ID: "devices", Environment: result.Environment{Hostname: "drydock"}, Stacks: []result.Stack{
		{Name: "nvme", Line: "/dev/nvme0n1", Devices: []result.Device{{Name: "nvme0n1"}}}}}
	add := func(name, rw string, jobs, depth int, block, share float64) {
		run.Workloads = append(run.Workloads, result.Workload{Name: name, Kind: "fio",
			Declared: fmt.Sprintf("rw: %s\nbs: %dKiB\njobs: %d\niodepth: %d\nsize: 1GiB\n", rw, int(block)>>10, jobs, depth)})
		reads, writes := d.does(jobs*depth, share, block)
		run.Trials = append(run.Trials, result.Trial{Stack: "nvme", Mix: name, Status: result.TrialDone, BringUp: 1,
			Instances: []result.Instance{{Workload: name, Tenant: name, Status: result.TrialDone,
				Measurement: &result.Measurement{Seconds: 1, Operations: []result.Operation{
					{Name: result.Read, Count: uint64(reads), Rate: reads, Latency: map[result.Stage]hist.Histogram{}},
					{Name: result.Write, Count: uint64(writes), Rate: writes, Latency: map[result.Stage]hist.Histogram{}}}}}}})
	}
	add("RR-max", "randread", 4, 64, 4096, 1)
	add("RW-max", "randwrite", 4, 64, 4096, 0)
	add("SR-max", "read", 4, 32, 128<<10, 1)
	add("SW-max", "write", 4, 32, 128<<10, 0)
	add("SR", "read", 4, 8, 4096, 1)
	add("RR", "randread", 4, 8, 4096, 1)
	add("RW", "randwrite", 4, 8, 4096, 0)
	add("RR-low", "randread", 1, 1, 4096, 1)
	add("RW-low", "randwrite", 1, 1, 4096, 0)
	if mixed {
		add("RRW-max", "randrw", 4, 64, 4096, 0.7)
	}
	return run
}

// What fio says of a drive is what it does: its most, what an I/O takes, and what a write costs.
func TestADriveIsLearntFromFio(t *testing.T) {
	soak.WithoutRace(t)
	d := flash{channels: 16, read: 80e-6, write: 240e-6, perByte: 8e-9}
	drives, told, left := drivesOf(fioOn(d, true))
	if len(drives) != 1 || len(left) > 0 || !told["RR-max"] || drives[0].On != "nvme0n1" || drives[0].Mixed != 1 {
		t.Fatalf("%+v %v %v", drives, told, left)
	}
	got := &drives[0]
	for name, of := range map[string]struct {
		got       Number
		want, off float64
	}{
		"reads a second":  {got.Read.IOPS, 200e3, 0.05},
		"writes a second": {got.Write.IOPS, 16 / 240e-6, 0.05},
		"bytes read":      {got.Read.Bandwidth, 16 * 131072 / (80e-6 + 126976*8e-9), 0.05},
		"a read alone":    {got.Read.Latency, 80e-6, 0.1},
		"a write alone":   {got.Write.Latency, 240e-6, 0.1},
		"competes":        {got.Competes, 1, 0.2},
	} {
		if !(math.Abs(float64(of.got)/of.want-1) < of.off) {
			t.Errorf("%s: %v, and in fact %v", name, of.got, of.want)
		}
	}
	for _, of := range []struct {
		inFlight int
		share    float64
	}{{2, 1}, {8, 1}, {64, 1}, {8, 0}, {64, 0.5}, {128, 0.9}} {
		reads, writes := d.does(of.inFlight, of.share, 4096)
		p := DrivePoint{streams: []stream{{clients: float64(of.inFlight), share: of.share, block: 4096}}}
		if off := float64(got.said(&p))/(reads+writes) - 1; math.Abs(off) > 0.1 {
			t.Errorf("%+v: off by %+.1f%%", of, 100*off)
		}
	}
	if why := got.wrong(); why != "" {
		t.Error(why)
	}
	unmixed, _, _ := drivesOf(fioOn(d, false))
	if unmixed[0].Mixed != 0 || unmixed[0].Competes != 1 {
		t.Errorf("what nobody measured: %+v", unmixed[0])
	}
}

// onDrives is a model of a class that reads and writes, measured on a drive.
func onDrives() (*Model, HostKind) {
	class := func(name string, reads, writes float64) Fitted {
		f := Fitted{Name: name, Drive: "slow", Params: Params{Reads: Miss{Floor: Number(reads), Shape: 1}, ReadBytes: 4096,
			Writes: Writes{At1: Number(writes)}, WriteBytes: 4096,
			CPU: Line{Base: 1e-4}, HostCPU: Line{Base: Number(math.NaN())},
			Latency: Line{Base: 2e-4, More: 4e-4}, Late: Sharp{2, 6}, Reach: Reach{1, 1, 1}, Tail: Tail{{Mean: 1e-3, Times: 3}}}}
		for n := 1; n <= 4; n++ {
			f.Points = append(f.Points, Point{Instances: n, Clients: 32, Host: Host{CPUs: 8, MemoryBytes: 8 << 30},
				Units: []Unit{{Rate: 1400 * Number(n), Held: Number(n * 20 << 20), Fixed: Number(n * 12 << 20)}}})
		}
		return f
	}
	side := func(iops, bandwidth, latency Number) Side { return Side{iops, bandwidth, latency, 3} }
	m := &Model{Classes: []Fitted{class("R", 2, 0), class("W", 0, 2), class("N", 0, 0)}, Drives: []Drive{
		{Name: "slow", Read: side(2e4, 2e8, 4e-4), Write: side(1e4, 1e8, 3e-4), Competes: 1},
		{Name: "fast", Read: side(4e5, 3e9, 8e-5), Write: side(2e5, 1e9, 3e-5), Competes: 0.5, Mixed: 1}}}
	return m, HostKind{Host: Host{CPUs: 32, MemoryBytes: 64 << 30}, Drives: []HostDrive{{Name: "a", Is: m.Drives[0]},
		{Name: "b", Is: m.Drives[1]}}}
}

// A drive bounds what stands on it and nothing else, competes for reads with what writes, and answers as
// fast as it does.
func TestDrivesBoundWhatStandsOnThem(t *testing.T) {
	m, host := onDrives()
	solve := func(placed ...Placed) Solved {
		t.Helper()
		s, err := m.Solve(host, placed)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	near := func(what string, got, want, off float64) {
		t.Helper()
		if !(math.Abs(got/want-1) < off) {
			t.Errorf("%s: %v, and not about %v", what, got, want)
		}
	}
	slow := solve(Placed{Class: 0, Drive: 0, Count: 8})
	near("20,000 reads of two an operation", slow.Rate, 1e4, 0.05)
	if slow.Binds != Reads || slow.Of != "a" {
		t.Errorf("what binds is %v of %v", slow.Binds, slow.Of)
	}
	fast := solve(Placed{Class: 0, Drive: 1, Count: 8})
	near("400,000 reads on the fast one", fast.Rate, 2e5, 0.05)
	apart, alone := solve(Placed{Class: 0, Drive: 0, Count: 8}, Placed{Class: 1, Drive: 1, Count: 8}),
		solve(Placed{Class: 0, Drive: 0, Count: 8})
	near("on another drive", apart.Tenants[0].Rate, alone.Rate, 1e-3)
	together := solve(Placed{Class: 0, Drive: 0, Count: 8}, Placed{Class: 1, Drive: 0, Count: 8})
	near("both on one: half of its time each", together.Tenants[0].Rate, 0.5e4, 0.05)
	near("writes twice as dear", together.Tenants[1].Rate, 0.25e4, 0.05)
	for class, want := range map[string]string{"R": "", "W": "how long W waits for a write"} {
		of := Tenant{Class: class, Count: 2, Drive: "b"}
		a, err := m.Predict(Ask{Host: host.Host, Drives: host.Drives, Tenants: []Tenant{of}})
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(a.Unknown, ""); (got == "") != (want == "") || !strings.Contains(got, want) {
			t.Errorf("%s: %q", class, got)
		}
	}
	host.Drives[0].Is.Competes = 0
	near("where writes cost nothing", solve(Placed{Class: 0, Drive: 0, Count: 8}, Placed{Class: 1, Drive: 0,
		Count: 8}).Tenants[0].Rate, 1e4, 0.05)
	host.Host.Speed = 2
	n, twice := solve(Placed{Class: 2, Drive: -1, Count: 400}), 32/1e-4*2
	near("processors twice as fast", n.Rate, twice, 0.05)
	if n.Binds != Processors {
		t.Errorf("what binds is %v", n.Binds)
	}
}

// What stands on two drives loads each with its share, waits for both, and has its limits on each device.
func TestSharesOfDrives(t *testing.T) {
	none := result.Limits{}
	m, host := onDrives()
	host.Drives[1].Is = host.Drives[0].Is // twice the slow one
	solve := func(placed ...Placed) Solved {
		t.Helper()
		s, err := m.Solve(host, placed)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	near := func(what string, got, want, off float64) {
		t.Helper()
		if !(math.Abs(got/want-1) < off) {
			t.Errorf("%s: %v, and not about %v", what, got, want)
		}
	}
	split := func(class int, a, b Share) Placed { return Placed{Class: class, Count: 8, Shares: []Share{a, b}} }
	near("half on each of two", solve(split(0, Share{0, 0.5, 1, none}, Share{1, 0.5, 0, none})).Rate, 2e4, 0.05)
	near("a quarter on one", solve(split(0, Share{0, 0.75, 1, none}, Share{1, 0.25, 0, none})).Rate, 1e4/0.75, 0.05)
	whole, one := solve(split(0, Share{0, 1, 1, none}, Share{1, 0, 0, none})), solve(Placed{Class: 0, Drive: 0, Count: 8})
	near("all on one", whole.Rate, one.Rate, 1e-9)
	near("half of its I/O elsewhere", solve(Placed{Class: 0, Count: 8, Shares: []Share{{0, 0.5, 0.5, none}}}).Rate, 2e4,
		0.05)

	// A WAL takes of its drive what its share of writes is, and leaves the reads of the other alone.
	readers := Placed{Class: 0, Drive: 0, Count: 2}
	wal := func(writes float64) float64 {
		return solve(readers, split(1, Share{0, 1, 1 - writes, none}, Share{1, 0, writes, none})).Tenants[0].Rate
	}
	if a, b, c := wal(0), wal(0.5), wal(1); !(a < b && b < c) {
		t.Errorf("beside writers with none, half and all of their writes elsewhere, readers do %v, %v and %v", a, b, c)
	}
	near("beside none", wal(1), solve(readers).Rate, 1e-3)

	limited := split(0, Share{0, 0.5, 1, none}, Share{1, 0.5, 0, none})
	limited.Count, limited.Own.Read.OperationsPerSecond = 1, 200
	near("200 reads on each", solve(limited).Rate, 200, 0.05)
	limited.Shares[0].Reads, limited.Shares[1].Reads = 0.9, 0.1
	near("200 reads where most are", solve(limited).Rate, 200/0.9/2, 0.05)

	limited.Own, limited.Shares[1].Own.IO.OperationsPerSecond = none, 20
	near("20 reads and writes on the part of a tenth", solve(limited).Rate, 20/0.1/2, 0.05)

	for _, wrong := range []Share{{2, 1, 1, none}, {-1, 1, 1, none}, {0, -0.1, 1, none}, {0, 1, 1.1, none},
		{0, math.NaN(), 1, none}} {
		if _, err := m.Solve(host, []Placed{{Count: 1, Shares: []Share{wrong}}}); err == nil {
			t.Errorf("%+v is taken", wrong)
		}
	}
}

// A drive that two hosts reach is shared, and what is between takes its time.
func TestRemoteDrivesAreShared(t *testing.T) {
	m, local := onDrives()
	target := &Target{Name: "t", CPUs: 1, CPUSeconds: 4e-6, NIC: 5e9}
	remote := local
	remote.Host.NIC = 5e9
	remote.Drives = []HostDrive{{Name: "r", Is: m.Drives[0], Target: target, Delay: 1e-4}}
	ask := func(hosts []HostKind, placed ...[]Placed) []Solved {
		t.Helper()
		all, err := m.SolveTogether(hosts, placed)
		if err != nil {
			t.Fatal(err)
		}
		return all
	}
	few := []Placed{{Class: 0, Drive: 0, Count: 4}}
	alone := ask([]HostKind{remote}, few)[0]
	both := ask([]HostKind{remote, remote}, few, few)
	if sum := both[0].Rate + both[1].Rate; math.Abs(both[0].Rate/both[1].Rate-1) > 1e-6 || math.Abs(sum/1e4-1) > 0.05 {
		t.Errorf("two hosts do %v and %v on a drive of 20,000 reads", both[0].Rate, both[1].Rate)
	}
	if one := ask([]HostKind{remote}, []Placed{{Class: 0, Drive: 0, Count: 4}})[0]; one.Rate != alone.Rate {
		t.Errorf("%v and %v", one.Rate, alone.Rate)
	}
	one := []Placed{{Class: 0, Drive: 0, Count: 1}}
	far, here := ask([]HostKind{remote}, one)[0].Tenants[0], ask([]HostKind{local}, one)[0].Tenants[0]
	if !(far.Rate <= here.Rate && far.Mean >= here.Mean) {
		t.Errorf("remote %+v, local %+v", far, here)
	}
	shared := *target
	shared.Initiators = 2
	remote.Drives = []HostDrive{{Name: "r", Is: m.Drives[0], Target: &shared, Delay: 1e-4}}
	if as := ask([]HostKind{remote}, few)[0].Rate; math.Abs(as/both[0].Rate-1) > 0.01 {
		t.Errorf("beside one like it a host does %v, and as one of two %v", both[0].Rate, as)
	}
	slowTarget := *target
	slowTarget.CPUSeconds = 2e-4
	remote.Drives[0].Target = &slowTarget
	if s := ask([]HostKind{remote}, few)[0]; s.Binds != TargetCPUs || math.Abs(s.Rate/2500-1) > 0.05 {
		t.Errorf("a target of 5,000 I/Os: %+v", s)
	}
}

// A host that stands for several which use a target alike does what each of them does when all are predicted together.
func TestInitiatorsAreAlike(t *testing.T) {
	m, host := onDrives()
	for _, target := range []Target{{Name: "net", NIC: 1e8}, {Name: "cpus", CPUs: 1, CPUSeconds: 2e-5}, {Name: "drive"}} {
		host.Drives[0].Target, host.Drives[0].Delay = &target, 3e-5
		placed := []Placed{{Class: 0, Drive: 0, Count: 4}, {Class: 1, Drive: 0, Count: 2}}
		all, err := m.SolveTogether([]HostKind{host, host, host}, [][]Placed{placed, placed, placed})
		if err != nil {
			t.Fatal(err)
		}
		target.Initiators = 3
		one, err := m.Solve(host, placed)
		if err != nil {
			t.Fatal(err)
		}
		for i, tenant := range one.Tenants {
			if each := all[2].Tenants[i]; math.Abs(tenant.Rate/each.Rate-1) > 1e-6 || math.Abs(tenant.Mean/each.Mean-1) > 1e-6 {
				t.Errorf("%s: %+v for three, and %+v of each of them", target.Name, tenant, each)
			}
		}
	}
}
