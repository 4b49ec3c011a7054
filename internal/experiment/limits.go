package experiment

import (
	"cmp"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"plimsoll/internal/plural"
	"plimsoll/internal/result"
	"plimsoll/internal/units"
	"plimsoll/internal/yamlfile"
)

// leastMemory is the least limit that container engines take.
const leastMemory = 6 << 20

const pageBytes = 4 << 10

// times returns a limit times a factor.
func times(limit int64, by float64) int64 { return int64(math.Round(by * float64(limit))) }

// limitKey is one key of limits, as "limits:" of a tenant and "host:" have it.
type limitKey struct {
	key         string
	flag        string // what the flag of the miniature's takes, with the name of its value between back quotes
	description string
	pattern     string // of its text, for editors
	number      bool   // a bare number does as well
	set         func(p *parser, n *yaml.Node, of string, l *result.Limits)
	lift        func(l *result.Limits) // takes the limit away
	// scale makes the limit so many times what it is; nil for one that has no size
	scale func(l *result.Limits, by float64)
}

// limitKeys are all keys of limits.
var limitKeys = []limitKey{
	{
		"cpus", "`number` of processors' worth of time",
		"Processors' worth of time: 0.5 is half of one.", "", true,
		func(p *parser, n *yaml.Node, of string, l *result.Limits) {
			cpus, err := strconv.ParseFloat(n.Value, 64)
			const least = 0.01 // what engines and the kernel's periods can tell from nothing
			if n.Kind != yaml.ScalarNode || !bareNumber.MatchString(n.Value) || err != nil || cpus < least ||
				math.IsInf(cpus, 0) {
				p.Problem(n, fmt.Sprintf("cpus of %s are a number from %v, not %s", of, least, describe(n)),
					"write 0.5 for half of a processor")
				return
			}
			l.CPUs = cpus
		},
		func(l *result.Limits) { l.CPUs = 0 },
		func(l *result.Limits, by float64) { l.CPUs = math.Round(1000*by*l.CPUs) / 1000 },
	},
	{
		"cpuset", "`processors`, such as 0-3,8,",
		"Processors that it may run on: 0-3,8.", `^[0-9]+(-[0-9]+)?(, *[0-9]+(-[0-9]+)?)*$`, true,
		func(p *parser, n *yaml.Node, of string, l *result.Limits) {
			set := strings.ReplaceAll(n.Value, " ", "")
			if _, ok := processors(set); n.Kind != yaml.ScalarNode || !ok {
				p.Problem(n, fmt.Sprintf("cpuset of %s is a list of processors, not %s", of, describe(n)), `write "0-3,8"`)
				return
			}
			l.CPUSet = set
		},
		func(l *result.Limits) { l.CPUSet = "" },
		nil,
	},
	{
		"memory", "`size` of the memory, page cache included, such as 64GiB,",
		"Memory, page cache included; there is no swap on top.", sizePattern, true,
		func(p *parser, n *yaml.Node, of string, l *result.Limits) {
			bytes, ok := p.size(n, "memory of "+of, "")
			if ok && bytes < leastMemory {
				what := fmt.Sprintf("memory of %s is %s, less than the %s that a container takes", of, n.Value,
					units.FormatSize(leastMemory))
				p.Problem(n, what, "write 256MiB")
				return
			}
			l.MemoryBytes = bytes
		},
		func(l *result.Limits) { l.MemoryBytes = 0 },
		// Whole pages of memory, as the kernel has it.
		func(l *result.Limits, by float64) { l.MemoryBytes = times(l.MemoryBytes, by) &^ (pageBytes - 1) },
	},
	{
		"read-iops", "`number` of reads a second of each device",
		"Reads a second from each device that it stands on.", "", true,
		func(p *parser, n *yaml.Node, of string, l *result.Limits) {
			l.Read.OperationsPerSecond = p.iops(n, "read-iops of "+of)
		},
		func(l *result.Limits) { l.Read.OperationsPerSecond = 0 },
		func(l *result.Limits, by float64) { l.Read.OperationsPerSecond = times(l.Read.OperationsPerSecond, by) },
	},
	{
		"write-iops", "`number` of writes a second of each device",
		"Writes a second to each device that it stands on.", "", true,
		func(p *parser, n *yaml.Node, of string, l *result.Limits) {
			l.Write.OperationsPerSecond = p.iops(n, "write-iops of "+of)
		},
		func(l *result.Limits) { l.Write.OperationsPerSecond = 0 },
		func(l *result.Limits, by float64) {
			l.Write.OperationsPerSecond = times(l.Write.OperationsPerSecond, by)
		},
	},
	{
		"read-bandwidth", "`size` of what each device reads in a second, such as 500MiB/s,",
		"Bytes a second from each device that it stands on.", bandwidthPattern, true,
		func(p *parser, n *yaml.Node, of string, l *result.Limits) {
			l.Read.BytesPerSecond, _ = p.size(n, "read-bandwidth of "+of, "/s")
		},
		func(l *result.Limits) { l.Read.BytesPerSecond = 0 },
		func(l *result.Limits, by float64) { l.Read.BytesPerSecond = times(l.Read.BytesPerSecond, by) },
	},
	{
		"write-bandwidth", "`size` of what each device writes in a second, such as 500MiB/s,",
		"Bytes a second to each device that it stands on.", bandwidthPattern, true,
		func(p *parser, n *yaml.Node, of string, l *result.Limits) {
			l.Write.BytesPerSecond, _ = p.size(n, "write-bandwidth of "+of, "/s")
		},
		func(l *result.Limits) { l.Write.BytesPerSecond = 0 },
		func(l *result.Limits, by float64) { l.Write.BytesPerSecond = times(l.Write.BytesPerSecond, by) },
	},
}

const (
	sizePattern      = `^[0-9]+ ?([kKmMgGtT]([iI]?[bB])?|[bB])?$`
	bandwidthPattern = `^[0-9]+ ?([kKmMgGtT]([iI]?[bB])?|[bB])?(/s)?$`
)

// limits reads the keys of limits.
func (p *parser) limits(n *yaml.Node, of string) (l result.Limits) {
	const example = "{cpus: 0.5, memory: 768MiB, read-iops: 2000}"
	if n.Kind == yaml.MappingNode && len(n.Content) == 0 {
		p.Problem(n, fmt.Sprintf("limits of %s are empty", of), "write "+example+", or remove them")
		return l
	}
	if n.Kind != yaml.MappingNode {
		p.Problem(n, fmt.Sprintf("limits of %s are written as keys and values, not as %s", of, describe(n)), "write "+example)
		return l
	}
	fields := map[string]func(*yaml.Node){}
	for _, k := range limitKeys {
		fields[k.key] = func(n *yaml.Node) { k.set(p, n, of, &l) }
	}
	p.Mapping(n, "limits of "+of, fields)
	return l
}

// size reads a number of bytes above 0, behind which suffix may stand.
func (p *parser) size(n *yaml.Node, what, suffix string) (bytes int64, ok bool) {
	bytes, err := units.ParseSize(strings.TrimSuffix(n.Value, suffix))
	if n.Kind == yaml.ScalarNode && err == nil && bytes > 0 {
		return bytes, true
	}
	example := "100MiB" + suffix
	if n.Kind == yaml.ScalarNode && err != nil && !isNull(n) {
		p.Problem(n, fmt.Sprintf("%s: %s", what, err), "write "+example)
		return 0, false
	}
	p.Problem(n, fmt.Sprintf("%s is a size of more than nothing, not %s", what, describe(n)), "write "+example)
	return 0, false
}

// iops reads a number of operations a second.
func (p *parser) iops(n *yaml.Node, what string) int64 {
	number, err := strconv.ParseInt(n.Value, 10, 64)
	if n.Tag != "!!int" || err != nil || number < 1 {
		p.Problem(n, fmt.Sprintf("%s is a whole number of operations a second, not %s", what, describe(n)), "write 2000")
		return 0
	}
	return number
}

var processorRange = regexp.MustCompile(`^([0-9]{1,5})(?:-([0-9]{1,5}))?$`)

// processors reads a list of processors, as cgroups have it.
func processors(list string) (set map[int]bool, ok bool) {
	set = map[int]bool{}
	for part := range strings.SplitSeq(list, ",") {
		m := processorRange.FindStringSubmatch(part)
		if m == nil {
			return nil, false
		}
		first, _ := strconv.Atoi(m[1])              // digits
		last, _ := strconv.Atoi(cmp.Or(m[2], m[1])) // digits
		if last < first {
			return nil, false
		}
		for cpu := first; cpu <= last; cpu++ {
			set[cpu] = true
		}
	}
	return set, true
}

// Outside returns a processor of one list that is not in another; ok is false
// when there is none, or either list is empty.
func Outside(list, of string) (cpu int, ok bool) {
	inner, _ := processors(list)
	outer, _ := processors(of)
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

// String says in words what runs: "4 instances of RR, each with 0.5 CPUs; 2 of
// RW (bulk), on disk1 and disk2".
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

// ParseLimits reads limits that a command line says.
func ParseLimits(of, text string) (result.Limits, error) {
	p := &parser{e: &Experiment{}}
	var l result.Limits
	if root := p.Root([]byte(text), aFile); root != nil {
		l = p.limits(root, of)
	}
	return l, p.Problems.Unplaced().Err()
}

// ReadLimits reads the limits that a mapping of another kind of file has, and notes in r what is wrong with them.
func ReadLimits(r *yamlfile.Reader, n *yaml.Node, of string) result.Limits {
	p := &parser{e: &Experiment{}}
	l := p.limits(n, of)
	r.Problems = append(r.Problems, p.Problems...)
	return l
}

// LimitsByKey are the keys of limits and what each says, in their order.
func LimitsByKey() (all [][2]string) {
	for _, k := range limitKeys {
		all = append(all, [2]string{k.key, k.description})
	}
	return all
}
