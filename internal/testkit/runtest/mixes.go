package runtest

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"plimsoll/internal/result"
	"plimsoll/internal/result/hist"
)

// tellHost takes what a story says of the scaled-down host: "cpus=2 reads=1000 memory=640".
func tellHost(t Stopper, words []string) *result.Limits {
	t.Helper()
	host := &result.Limits{}
	for _, w := range words {
		key, value, _ := strings.Cut(w, "=")
		x := numberOf(t, value)
		switch key {
		case "cpus":
			host.CPUs = x
		case "memory":
			host.MemoryBytes = int64(x) << 20
		case "reads":
			host.Read.OperationsPerSecond = int64(x)
		case "writes":
			host.Write.OperationsPerSecond = int64(x)
		default:
			t.Fatalf("a scaled-down host has no %q", w)
		}
	}
	return host
}

// tellObjective takes what a story asks of instances: "p99=2000000 standalone=0.5".
func tellObjective(t Stopper, words []string) *result.Objective {
	t.Helper()
	o := &result.Objective{}
	for _, w := range words {
		key, value, _ := strings.Cut(w, "=")
		switch key {
		case "p99":
			o.P99Seconds = numberOf(t, value) / 1e9
		case "standalone":
			o.Standalone = numberOf(t, value)
		default:
			t.Fatalf("an objective has no %q", w)
		}
	}
	return o
}

// crowd is what a story says of so many instances beside their rates: of each of them, but
// for what the device did for an operation.
type crowd struct {
	reads, writes        float64 // of the device, for an operation
	cpus, limit          float64
	cacheMiB             float64
	io, memory, busy     float64 // shares of the time
	throttled            float64 //
	mean, p99            float64 // latency, in ns
	weakest, outOfMemory float64
	peakMiB, memoryLimit float64 // in MiB

	offered, done float64           // of an open loop: operations per second of each, and the share that was completed
	levels        map[string]string // of factors that the mix is at
	on            []string          // stacks that the mix names; nil for none

	growth, service float64 // by how much p99 gets longer, in ns a ns; p99 from when operations were sent, in ns
	hindered, lag   float64 // 1 where the generator was the bottleneck; its own lateness, in ns
}

// tellCrowd takes a line of a story: a workload with so many instances on a stack. Each
// rate is of one setup; trials of one have commas between them. A setup in which
// they were not measured is a dash. varies is nil, or which limit of theirs the run varied.
func tellCrowd(t Stopper, run *result.Run, host *result.Limits, varies *result.Variation, words []string) {
	t.Helper()
	stack := words[1]
	c, tenant, rates := tellTenant(t, append([]string{words[0]}, words[2:]...))
	mix := result.Mix{Name: fmt.Sprintf("%s-%d", tenant.Workload, tenant.Count), Host: host, Levels: c.levels,
		Tenants: []result.Tenant{tenant}}
	for _, level := range c.levels {
		mix.Name += "-" + level
	}
	if on := strings.Join(c.on, "-"); on != "" {
		stack = ""
		if !strings.HasSuffix(mix.Name, "-"+on) {
			mix.Name += "-" + on
		}
	}
	if tenant.Policy != "" {
		mix.Name += "-" + tenant.Policy
	}
	if varies != nil {
		varies.Of = mix.Name
		mix.Name, mix.Varies = fmt.Sprintf("%s.%s-x%g", mix.Name, varies.Limit, varies.Factor), varies
	}
	run.Mixes = append(run.Mixes, mix)
	for i, setup := range rates {
		if setup == "-" {
			continue
		}
		for text := range strings.SplitSeq(setup, ",") {
			addTrial(run, mix, i, c.trial(tenant, stack, numberOf(t, text)))
		}
	}
}

// addTrial adds a trial of a mix in the i-th setup.
func addTrial(run *result.Run, mix result.Mix, i int, trial result.Trial) {
	trial.Seq, trial.Block, trial.BringUp, trial.Repeat, trial.Mix = len(run.Trials)+1, i+1, i+1, i+1, mix.Name
	if mix.Host != nil {
		trial.Miniature = &result.Limited{Asked: *mix.Host, ReadBack: *mix.Host}
	}
	run.Trials = append(run.Trials, trial)
}

// tellTenant takes what a story says of instances of a workload: "C x4 6000 6010 reads=0.1".
func tellTenant(t Stopper, words []string) (c crowd, of result.Tenant, rates []string) {
	t.Helper()
	workload := words[0]
	n, err := strconv.Atoi(strings.TrimPrefix(words[1], "x"))
	if err != nil {
		t.Fatal(err)
	}
	c = crowd{cpus: 0.01, weakest: 1, done: 1}
	var policy string
	for _, w := range words[2:] {
		key, value, ok := strings.Cut(w, "=")
		if !ok {
			rates = append(rates, w)
			continue
		}
		switch key {
		case "policy":
			policy = value
			continue
		case "level": // level=FACTOR:NAME
			factor, level, _ := strings.Cut(value, ":")
			c.levels = map[string]string{factor: level}
			continue
		case "on":
			c.on = strings.Split(value, ",")
			continue
		}
		field := map[string]*float64{
			"reads": &c.reads, "writes": &c.writes, "cpus": &c.cpus, "limit": &c.limit, "cache": &c.cacheMiB,
			"io": &c.io, "peak": &c.peakMiB, "memory-limit": &c.memoryLimit,
			"memory": &c.memory, "busy": &c.busy, "throttled": &c.throttled, "mean": &c.mean, "p99": &c.p99,
			"weakest": &c.weakest, "killed": &c.outOfMemory,
			"offered": &c.offered, "done": &c.done, "growth": &c.growth, "service": &c.service, "hindered": &c.hindered,
			"lag": &c.lag,
		}[key]
		if field == nil {
			t.Fatalf("instances have no %q", w)
		}
		*field = numberOf(t, value)
	}
	limits := result.Limits{CPUs: c.limit, MemoryBytes: int64(c.memoryLimit) << 20}
	return c, result.Tenant{Name: workload, Workload: workload, Count: n, On: c.on, Limits: limits, Policy: policy}, rates
}

// crowdSeconds is how long a trial of instances lasts: long enough for percentiles of rates that hosts have.
const crowdSeconds = 10

// trial returns a trial in which all instances together had that rate.
func (c crowd) trial(tenant result.Tenant, stack string, rate float64) result.Trial {
	t := result.Trial{Stack: stack, Status: result.TrialDone, DeviceBusy: c.busy}
	done := uint64(0)
	for i := range tenant.Count {
		perInstance := rate / float64(tenant.Count)
		if i == 0 {
			perInstance *= c.weakest
		}
		count := max(1, uint64(perInstance*crowdSeconds))
		done += count
		op := result.Operation{Count: count, Rate: perInstance}
		if c.mean > 0 {
			op.Latency = map[result.Stage]hist.Histogram{result.Total: c.latency(count)}
			if c.service > 0 {
				sent := c
				sent.p99 = c.service
				op.Latency[result.Completion] = sent.latency(count)
			}
		}
		in := result.Instance{
			Index: i, Tenant: tenant.Name, Workload: tenant.Workload, Stack: stack, Status: result.TrialDone,
			Measurement: &result.Measurement{Seconds: crowdSeconds, Operations: result.ReadsWrites(op, result.Operation{})},
			Usage: &result.Usage{
				Seconds: crowdSeconds, CPUSeconds: crowdSeconds * c.cpus, ThrottledSeconds: crowdSeconds * c.throttled,
				CacheBytes:      int64(c.cacheMiB * (1 << 20)),
				PeakMemoryBytes: int64(c.peakMiB) << 20, IOPressure: c.io, MemoryPressure: c.memory, OOMKills: int(c.outOfMemory),
			},
		}
		if c.offered > 0 {
			in.Measurement.OpenLoop = c.open(count)
		}
		if !tenant.Limits.None() {
			in.Limited = &result.Limited{Asked: tenant.Limits, ReadBack: tenant.Limits}
		}
		t.Instances = append(t.Instances, in)
	}
	t.Checks = []result.Honesty{{Source: result.SourceDevice, Served: []result.DeviceCounter{{
		Device: result.Device{Name: "loop0"},
		Reads:  uint64(c.reads * float64(done)), Writes: uint64(c.writes * float64(done)),
		ReadBytes: uint64(c.reads * float64(done) * 4096), WriteBytes: uint64(c.writes * float64(done) * 4096),
	}}}}
	return t
}

// open is how an open loop of so many completed operations went.
func (c crowd) open(count uint64) *result.OpenLoop {
	o := &result.OpenLoop{Rate: c.offered, LagP99NS: c.lag, Hindered: c.hindered > 0, IntervalSeconds: crowdSeconds / 10.0}
	o.Overdue = uint64(float64(count)/c.done) - count
	for i := range 10 {
		o.P99NS = append(o.P99NS, c.p99+c.growth*float64(i)*o.IntervalSeconds*1e9)
	}
	return o
}

// latency is a histogram with such a mean, of which two of a hundred operations take as
// long as the 99th percentile.
func (c crowd) latency(count uint64) hist.Histogram {
	slow := max(1, count/50)
	bins := []hist.Bin{{NS: uint64(c.mean), Count: count - min(count, slow)}, {NS: uint64(c.p99), Count: slow}}
	bins = slices.DeleteFunc(bins, func(b hist.Bin) bool { return b.Count == 0 })
	return hist.Histogram{
		Count: count, MeanNS: c.mean, MinNS: bins[0].NS, MaxNS: bins[len(bins)-1].NS, Bins: hist.Pack(bins),
	}
}

func numberOf(t Stopper, text string) float64 {
	t.Helper()
	x, err := strconv.ParseFloat(text, 64)
	if err != nil {
		t.Fatalf("%q: %v", text, err)
	}
	return x
}
