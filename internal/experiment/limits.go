package experiment

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"plimsoll/internal/field"
	"plimsoll/internal/result"
	"plimsoll/internal/units/plural"
)

// leastMemory is the least limit that container engines take.
const leastMemory = 6 << 20

const pageBytes = 4 << 10

// times returns a limit times a factor.
func times(limit int64, by float64) int64 { return int64(math.Round(by * float64(limit))) }

// limitKey is one key of limits, as "limits:" of a tenant and "host:" have it.
type limitKey struct {
	field.Field[result.Limits]

	flag string                 // value of a flag, with its name between back quotes
	lift func(l *result.Limits) // takes the limit away
	// scale multiplies the limit by a factor; nil for one that has no size
	scale func(l *result.Limits, by float64)
}

// Kinds of limits.
var (
	// What engines and the kernel's periods can hold apart from nothing, and more than there are.
	aProcessors = field.Number(0.01, 1e6).Like("0.5")
	aMemory     = field.Size(leastMemory, math.MaxInt64).Like("256MiB")
	anIOPS      = field.As[int64](field.Rate(1, math.MaxInt64/2).Like("2000"))
	aBandwidth  = field.Bandwidth(1, math.MaxInt64).Like("100MiB/s")
)

// cpusetKey is the key of the limit that is a list.
const cpusetKey = "cpuset"

// limitKeys are all keys of limits.
var limitKeys = []limitKey{
	{
		field.Of("cpus", "Processors' worth of time: 0.5 is half of one.", aProcessors,
			func(l *result.Limits) *float64 { return &l.CPUs }),
		"limit on `CPUs`, such as 1.5",
		func(l *result.Limits) { l.CPUs = 0 },
		func(l *result.Limits, by float64) { l.CPUs = math.Round(1000*by*l.CPUs) / 1000 },
	},
	{
		field.Of(cpusetKey, "Processors that it may run on: 0-3,8.", field.Processors,
			func(l *result.Limits) *string { return &l.CPUSet }),
		"`processors`, such as 0-3,8",
		func(l *result.Limits) { l.CPUSet = "" },
		nil,
	},
	{
		field.Of("memory", "Memory, page cache included; there is no swap on top.", aMemory,
			func(l *result.Limits) *int64 { return &l.MemoryBytes }),
		"`size` of the memory with its page cache, such as 64GiB",
		func(l *result.Limits) { l.MemoryBytes = 0 },
		// Whole pages of memory, as the kernel has it.
		func(l *result.Limits, by float64) { l.MemoryBytes = times(l.MemoryBytes, by) &^ (pageBytes - 1) },
	},
	ioLimit("read-iops", "Reads a second from each device below it.", anIOPS,
		"`number` of reads a second of each device",
		func(l *result.Limits) *int64 { return &l.Read.OperationsPerSecond }),
	ioLimit("write-iops", "Writes a second to each device below it.", anIOPS,
		"`number` of writes a second of each device",
		func(l *result.Limits) *int64 { return &l.Write.OperationsPerSecond }),
	ioLimit("read-bandwidth", "Bytes a second from each device below it.", aBandwidth,
		"`rate` of reads of each device, such as 500MiB/s",
		func(l *result.Limits) *int64 { return &l.Read.BytesPerSecond }),
	ioLimit("write-bandwidth", "Bytes a second to each device below it.", aBandwidth,
		"`rate` of writes of each device, such as 500MiB/s",
		func(l *result.Limits) *int64 { return &l.Write.BytesPerSecond }),
}

// ioLimit returns a limit on the I/O of devices per second.
func ioLimit(key, help string, k field.Kind[int64], flag string, at func(*result.Limits) *int64) limitKey {
	return limitKey{
		field.Of(key, help, k, at), flag, func(l *result.Limits) { *at(l) = 0 },
		func(l *result.Limits, by float64) { *at(l) = times(*at(l), by) },
	}
}

// limitTable are the fields of limits.
var limitTable = func() (t field.Table[result.Limits]) {
	for _, k := range limitKeys {
		t = append(t, k.Field)
	}
	return t
}()

// pinned is the limit that only instances have: each gets other processors than the others.
var pinned = field.Of(
	"pinned",
	"Number of processors that no other instance uses.",
	field.Count(1, MaxInstances),
	func(l *result.Limits) *int { return &l.Pinned },
)

// How instances share a device that is busy. The weights are those that io.cost and bfq both take.
var (
	ioWeight = field.Of(
		"io-weight",
		"Weight on each device below it, which io.cost or the scheduler bfq has to share; others have 100.",
		field.As[int64](field.Count(1, 1000)),
		func(l *result.Limits) *int64 { return &l.IOWeight },
	)
	ioLatency = field.Of(
		"io-latency",
		"Latency of its I/O for which the kernel slows down the others on a device: 2ms.",
		field.Duration(time.Microsecond, time.Hour),
		func(l *result.Limits) *time.Duration { return &l.IOLatency },
	)
)

// tenantTable are the limits of an instance.
var tenantTable = append(slices.Clone(limitTable), pinned, ioWeight, ioLatency)

// limits reads the keys of limits.
func (p *parser) limits(n *yaml.Node, of string) result.Limits { return p.limitsOf(limitTable, n, of) }

// tenantLimits reads the keys of limits that instances have.
func (p *parser) tenantLimits(n *yaml.Node, subject string) result.Limits {
	l := p.limitsOf(tenantTable, n, subject)
	if l.Pinned > 0 && l.CPUSet != "" {
		p.Problem(n, fmt.Sprintf("limits of %s have pinned and cpuset", subject), "remove one: both say where it runs")
	}
	return l
}

func (p *parser) limitsOf(table field.Table[result.Limits], n *yaml.Node, subject string) (l result.Limits) {
	const example = "{cpus: 0.5, memory: 768MiB, read-iops: 2000}"
	if n.Kind == yaml.MappingNode && len(n.Content) == 0 {
		p.Problem(n, fmt.Sprintf("limits of %s are empty", subject), "write "+example+", or remove them")
		return l
	}
	if n.Kind != yaml.MappingNode {
		p.Problem(n, fmt.Sprintf("limits of %s are written as keys and values, not as %s", subject, describe(n)),
			"write "+example)
		return l
	}
	p.Mapping(n, "limits of "+subject, table.Readers(&p.Reader, subject, &l))
	return l
}

// Pin assigns processors to the instances that have Limits.Pinned, each its own: of the host's, or of the scaled-down
// host's list. It sets CPUSet in place of Pinned. The error says how many processors are missing.
func Pin(instances []*Instance, host *result.Limits, online string) error {
	list := online
	if host != nil && host.CPUSet != "" {
		list = host.CPUSet
	}
	set, _ := field.ProcessorSet(list)
	free := slices.Sorted(maps.Keys(set))
	has, want := len(free), 0
	for _, in := range instances {
		want += in.Limits.Pinned
	}
	if want > has {
		return fmt.Errorf("its instances take %s of their own, and there are %d", plural.Count(want, "processor"),
			has)
	}
	for _, in := range instances {
		if in.Limits.Pinned == 0 {
			continue
		}
		var assigned []string
		for _, cpu := range free[:in.Limits.Pinned] {
			assigned = append(assigned, strconv.Itoa(cpu))
		}
		free = free[in.Limits.Pinned:]
		in.Limits.CPUSet, in.Limits.Pinned = strings.Join(assigned, ","), 0
	}
	return nil
}

// Unpinned removes the mixes whose instances need more processors of their own than exist, and returns the reasons.
func (e *Experiment) Unpinned(online string) (leftOut []string) {
	e.Mixes = slices.DeleteFunc(slices.Clone(e.Mixes), func(m Mix) bool {
		var instances []*Instance
		for _, in := range m.Instances("") {
			instances = append(instances, &in)
		}
		err := Pin(instances, m.Host, online)
		if err != nil {
			leftOut = append(leftOut, fmt.Sprintf("mix %s: %s", m.Name, err))
		}
		return err != nil
	})
	return leftOut
}

// Overfull removes the mixes whose servers take more memory, at the least, than the host has, and returns the reason.
func (e *Experiment) Overfull(has result.Limits) (leftOut []string) {
	if has.MemoryBytes <= 0 {
		return nil
	}
	workloads := e.workloads()
	var names []string
	var needs []int64
	e.Mixes = slices.DeleteFunc(slices.Clone(e.Mixes), func(m Mix) bool {
		need := workloads.memoryOf(m)
		if need > has.MemoryBytes {
			names, needs = append(names, m.Name), append(needs, need)
		}
		return need > has.MemoryBytes
	})
	if len(names) == 0 {
		return nil
	}
	most := ""
	if slices.Max(needs) > slices.Min(needs) {
		most = ", and up to " + bytesText(slices.Max(needs))
	}
	return []string{fmt.Sprintf("%s %s: the servers of each take at least %s of memory%s, and this host has %s: give "+
		"them "+
		"smaller heaps or buffers, or take fewer with --instances", plural.Of(len(names), "mix"), plural.And(names),
		bytesText(slices.Min(needs)), most, bytesText(has.MemoryBytes))}
}

// Outside returns a processor of a list that is not in the list bounds; ok is false if there is none, or if either list
// is empty.
func Outside(list, bounds string) (cpu int, ok bool) {
	inner, _ := field.ProcessorSet(list)
	outer, _ := field.ProcessorSet(bounds)
	if len(outer) == 0 {
		return 0, false
	}
	var missing []int
	for cpu := range inner {
		if !outer[cpu] {
			missing = append(missing, cpu)
		}
	}
	if len(missing) == 0 {
		return 0, false
	}
	return slices.Min(missing), true
}

// String describes the mix: "4 instances of randread, each with 0.5 CPUs; 2 of randwrite (bulk), on disk1 and disk2".
func (m Mix) String() string {
	var tenants []string
	for _, t := range m.Tenants {
		text := plural.Count(t.Count, "instance") + " of " + t.Workload
		if t.Name != t.Workload {
			text = t.Name + ": " + text
		}
		if len(t.On) > 0 {
			text += " on " + plural.And(t.On)
		}
		limits := t.Limits.String()
		if limits != "" {
			text += plural.Choose(t.Count, ", with ", ", each with ") + limits
		}
		tenants = append(tenants, text)
	}
	return strings.Join(tenants, "; ")
}

// ParseLimits reads the limits of a command line.
func ParseLimits(subject, text string) (result.Limits, error) {
	p := &parser{e: &Experiment{}}
	var l result.Limits
	if root := p.Root([]byte(text), aFile); root != nil {
		l = p.limits(root, subject)
	}
	return l, p.Problems.Unplaced().Err()
}

// ReadLimits reads the limits in a mapping of another kind of file, and adds problems to r.
func ReadLimits(r *field.Reader, n *yaml.Node, of string) result.Limits {
	p := &parser{e: &Experiment{}}
	l := p.limits(n, of)
	r.Problems = append(r.Problems, p.Problems...)
	return l
}

// LimitReaders returns what reads the value of each key of limits onto l.
func LimitReaders(r *field.Reader, of string, l *result.Limits) map[string]func(*yaml.Node) {
	return limitTable.Readers(r, of, l)
}

// limitNames returns the keys of limits.
func limitNames() (keys []string) {
	for _, k := range limitKeys {
		keys = append(keys, k.Key)
	}
	return keys
}

// LimitsByKey returns the keys of limits with the values of their flags, in order.
func LimitsByKey() (all [][2]string) {
	for _, k := range limitKeys {
		all = append(all, [2]string{k.Key, k.flag})
	}
	return all
}
