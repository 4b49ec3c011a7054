package report

import (
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"plimsoll/internal/problem"
	"plimsoll/internal/result"
	"plimsoll/internal/result/hist"
)

// sampleStack is how a stack of the sample run behaves.
type sampleStack struct {
	name, line       string
	readIOPS         float64
	writeIOPS        float64
	readPer          float64 // device I/Os per fio I/O
	writePer         float64
	marks            []result.Mark
	submissionBlocks bool // writes wait in submission, as with btrfs's copy-on-write
}

var sampleStacks = []sampleStack{
	{name: "loop-raw", line: "loop(size=2GiB)", readIOPS: 12400, writeIOPS: 11200, readPer: 1.0, writePer: 1.0},
	{name: "loop-buffered", line: "loop(size=2GiB,direct-io=off)", readIOPS: 32100, writeIOPS: 21800, readPer: 0.0014,
		writePer: 0.07},
	{name: "ext4", line: "loop(size=2GiB) > ext4", readIOPS: 12300, writeIOPS: 10400, readPer: 1.0, writePer: 1.01},
	{name: "xfs", line: "loop(size=2GiB) > xfs", readIOPS: 12350, writeIOPS: 10700, readPer: 1.0, writePer: 1.0},
	{name: "btrfs", line: "loop(size=2GiB) > btrfs", readIOPS: 10100, writeIOPS: 4020, readPer: 1.02, writePer: 1.31,
		submissionBlocks: true},
	{name: "btrfs-nodatacow", line: "loop(size=2GiB) > btrfs(nodatacow)", readIOPS: 11800, writeIOPS: 9300, readPer: 1.0,
		writePer: 1.02},
	{name: "xfs-volume", line: "loop(size=2GiB) > xfs > volume", readIOPS: 12320, writeIOPS: 10650, readPer: 1.0,
		writePer: 1.0},
	{name: "xfs-overlay2", line: "loop(size=2GiB) > xfs > overlay2", readIOPS: 12200, writeIOPS: 10500, readPer: 1.0,
		writePer: 1.0},
	{name: "fuse-overlayfs", line: "loop(size=2GiB) > xfs > fuse-overlayfs", readIOPS: 24900, writeIOPS: 2900,
		readPer: 0.0, writePer: 0.11},
}

// sampleRun is a complete run of quick as a small virtual machine gives it:
// nine stacks, two workloads, five repeats, one failed and one skipped trial.
// It is the same on every call.
func sampleRun() *result.Run {
	rng := rand.New(rand.NewPCG(20260512, 7))
	start := time.Date(2026, 5, 12, 9, 30, 0, 0, time.UTC)
	run := &result.Run{
		Schema:   result.SchemaVersion,
		ID:       "20260512-093000-quick-4f1c",
		Version:  "0.1.0",
		Command:  []string{"plimsoll", "run", "quick", "--seed", "20260512"},
		Status:   result.RunComplete,
		Seed:     20260512,
		Started:  start,
		Finished: start.Add(171 * time.Second),
		Experiment: result.Experiment{
			Name:     "quick",
			Question: "Which storage stack should a container get on this host, and which numbers are an illusion?",
			Baseline: "loop-raw",
			Repeat:   5,
			Source:   "name: quick\nbaseline: loop-raw\nrepeat: 5\n",
		},
		Environment: result.Environment{
			Hostname: "drydock", Kernel: "6.18.0", OS: "Debian GNU/Linux 12 (bookworm)",
			CPUModel: "Intel(R) Xeon(R) Platinum 8581C CPU @ 2.10GHz", CPUs: 2, MemoryBytes: 24 << 30,
			Virtualization: "kvm", CgroupVersion: "v1", FioVersion: "3.33", DockerVersion: "20.10.24",
			Devices: []result.DeviceInfo{{
				Name: "vda", Path: "/dev/vda", MajMin: "254:0", Model: "virtio block device", SizeBytes: 128 << 30,
				Scheduler: "none", WriteCache: "write back",
			}},
			Notes: []string{"the load of the host was 0.4 when the run started"},
		},
		Workloads: []result.Workload{
			{Name: "RR", Kind: "fio", Pattern: "randread", Summary: "randread 4 KiB, 1 job x depth 16, libaio, direct",
				Declared: "rw: randread\nbs: 4KiB\niodepth: 16\n"},
			{Name: "RW", Kind: "fio", Pattern: "randwrite", Summary: "randwrite 4 KiB, 1 job x depth 16, libaio, direct",
				Declared: "rw: randwrite\nbs: 4KiB\niodepth: 16\n"},
		},
	}
	for i, s := range sampleStacks {
		directIO := "on"
		if s.name == "loop-buffered" {
			directIO = "off"
		}
		run.Stacks = append(run.Stacks, result.Stack{
			Name: s.name, Line: s.line,
			Marks:   append([]result.Mark{result.MarkLoop}, s.marks...),
			Devices: sampleDevices(i),
			Facts:   []result.Fact{{Name: "loop direct-io", Value: directIO}},
		})
	}

	started := start.Add(4 * time.Second)
	for block := 1; block <= run.Experiment.Repeat; block++ {
		for _, pick := range rng.Perm(len(sampleStacks) * len(run.Workloads)) {
			i, w := pick/len(run.Workloads), run.Workloads[pick%len(run.Workloads)]
			s := sampleStacks[i]
			t := result.Trial{
				Seq: len(run.Trials) + 1, Block: block, Repeat: block,
				Stack: s.name, Mix: w.Name, Status: result.TrialDone,
				Started: started, ElapsedSeconds: 1.7 + 0.2*rng.Float64(),
			}
			t.Artifacts = fmt.Sprintf("artifacts/%03d-%s-%s-%d", t.Seq, t.Stack, t.Mix, t.Repeat)
			started = started.Add(1850 * time.Millisecond)
			switch {
			case s.name == "xfs-overlay2" && w.Name == "RW" && block == 3:
				t.Status = result.TrialFailed
				t.Problem = &problem.Problem{
					What:   "fio in the container of xfs-overlay2",
					Why:    "killed by the kernel's OOM killer at 512 MiB",
					Remedy: "give the container more memory, or take fewer jobs",
				}
			case s.name == "fuse-overlayfs" && w.Name == "RW" && block == 5:
				t.Status = result.TrialSkipped
				t.Started, t.ElapsedSeconds, t.Artifacts = time.Time{}, 0, ""
				t.Problem = &problem.Problem{
					What:   "private Docker engine with storage driver fuse-overlayfs",
					Why:    `dockerd: error initializing graphdriver: driver not supported`,
					Remedy: "apt-get install fuse-overlayfs",
				}
			default:
				t.Instances = result.One(sampleMeasurement(rng, s, w))
				t.Checks = []result.Honesty{*sampleHonesty(s, w, i, t.Measured())}
			}
			run.Trials = append(run.Trials, t)
		}
	}
	return run
}

func sampleDevices(i int) []result.Device {
	return []result.Device{
		{Name: fmt.Sprintf("loop%d", i), MajMin: fmt.Sprintf("7:%d", i), Role: "top"},
		{Name: "vda", MajMin: "254:0", Role: "bottom"},
	}
}

func sampleMeasurement(rng *rand.Rand, s sampleStack, w result.Workload) *result.Measurement {
	noise := 1 + 0.04*rng.NormFloat64()
	if w.Pattern == "randread" {
		return &result.Measurement{Seconds: 1.5, UserCPU: 0.04, SystemCPU: 0.21,
			Operations: result.ReadsWrites(sampleDirection(rng, s.readIOPS*noise, false), result.Operation{})}
	}
	return &result.Measurement{Seconds: 1.5, UserCPU: 0.03, SystemCPU: 0.27,
		Operations: result.ReadsWrites(result.Operation{}, sampleDirection(rng, s.writeIOPS*noise, s.submissionBlocks))}
}

// sampleDirection gives 16 outstanding I/Os at a rate the latencies that
// Little's law asks for.
func sampleDirection(rng *rand.Rand, iops float64, submissionBlocks bool) result.Operation {
	ios := uint64(iops * 1.5)
	wait := 16 / iops * 1e9
	d := result.Operation{
		Count: ios, Bytes: ios * 4096, Rate: iops, BytesPerSecond: iops * 4096,
		Latency: map[result.Stage]hist.Histogram{result.Submission: sampleLatency(rng, ios, 1800, 0.4),
			result.Completion: sampleLatency(rng, ios, wait, 0.35),
			result.Total:      sampleLatency(rng, ios, wait+1800, 0.35)},
	}
	if submissionBlocks {
		d.Latency[result.Submission] = sampleLatency(rng, ios, wait/16, 0.6)
		d.Latency[result.Completion] = sampleLatency(rng, ios, 1100, 0.3)
		d.Latency[result.Total] = sampleLatency(rng, ios, wait/16+1100, 0.6)
	}
	return d
}

// sampleLatency is a log-normal distribution with a heavy tail in bins as wide as fio's.
func sampleLatency(rng *rand.Rand, n uint64, medianNS, sigma float64) hist.Histogram {
	const bins, tail = 61, 6
	l := hist.Histogram{}
	var histogramBins []hist.Bin
	var sum float64
	last := uint64(0)
	for i := range bins {
		z := -3 + float64(i)/10
		if i >= bins-tail {
			z = 3 + float64(i-(bins-tail))*0.6
		}
		ns := sampleBin(medianNS * math.Exp(sigma*z))
		count := uint64(float64(n) * 0.1 * math.Exp(-z*z/2) / math.Sqrt(2*math.Pi) * (0.9 + 0.2*rng.Float64()))
		if i >= bins-tail {
			count = uint64(float64(n) * 0.0004 / float64(i-(bins-tail)+1))
		}
		if count == 0 || ns <= last {
			continue
		}
		last = ns
		histogramBins = append(histogramBins, hist.Bin{NS: ns, Count: count})
		l.Count += count
		sum += float64(ns) * float64(count)
	}
	l.MeanNS = sum / float64(l.Count)
	l.MinNS, l.MaxNS, l.Bins = histogramBins[0].NS, last, hist.Pack(histogramBins)
	return l
}

// sampleBin rounds to six significant bits, which is how wide fio's bins are.
func sampleBin(ns float64) uint64 {
	v := uint64(ns)
	for shift := 0; ; shift++ {
		if v>>shift < 128 {
			return v>>shift<<shift + (uint64(1)<<shift)/2
		}
	}
}

func sampleHonesty(s sampleStack, w result.Workload, i int, m *result.Measurement) *result.Honesty {
	per, reads, writes := s.readPer, uint64(float64(m.Operation(result.Read).Count)*s.readPer), uint64(0)
	if w.Pattern == "randwrite" {
		per, reads, writes = s.writePer, 0, uint64(float64(m.Operation(result.Write).Count)*s.writePer)
	}
	devices := sampleDevices(i)
	topReads, topWrites, topPer := reads, writes, per
	if s.name == "loop-buffered" { // the loop device counts what the page cache answered
		topReads, topWrites, topPer = m.Operation(result.Read).Count, m.Operation(result.Write).Count, 1
	}
	h := &result.Honesty{
		Source: result.SourceDevice,
		Ratio:  &per,
		Reason: fmt.Sprintf("fio issued %d I/Os, vda counted %d", m.IOs(), reads+writes),
		Served: []result.DeviceCounter{
			{Device: devices[0], Reads: topReads, Writes: topWrites, ReadBytes: topReads * 4096, WriteBytes: topWrites * 4096,
				PerIO: topPer},
			{Device: devices[1], Reads: reads, Writes: writes, ReadBytes: reads * 4096, WriteBytes: writes * 4096, PerIO: per},
		},
	}
	if per < 0.5 {
		h.Source = result.SourceMemory
	}
	return h
}
