package command

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"plimsoll/internal/units"
	"plimsoll/internal/units/plural"
	"plimsoll/kubernetes/iofit"
	"plimsoll/kubernetes/usage"
)

// By how much limits are above the highest interval that was seen: room for what was not.
const (
	roomIO     = 1.5
	roomCPU    = 1.5
	roomMemory = 1.25
)

// How unlike a class may be: its share of reads by so much, the size of its I/Os and its processor time for each by so
// many doublings.
const (
	unlikeShare = 0.2
	unlikeSize  = 1.0
	unlikeCPU   = 2.0
)

// propose returns the file for what was seen. note is why the node's kind has no model; "" where it has one.
func (o *observed) propose(kind *iofit.Kind, note string) (string, error) {
	highest := usage.Highest(o.intervals)
	how, template := patchOf(o.pod)
	p := proposal{}
	p.comment("Proposed for pod %s/%s on node %s by plimsoll-kubernetes class. Review it: nothing was changed.",
		o.pod.Namespace, o.pod.Name, o.pod.Spec.NodeName)
	p.comment("Source: the pod's cgroup, read %d times in %s by %s, at %s.", len(o.intervals)+1,
		o.last.Time.Sub(o.first.Time).Round(time.Second), o.source, o.last.Time.UTC().Format("2006-01-02 15:04 UTC"))
	p.comment("Apply: %s", how)
	p.comment("")
	if o.last.Counted {
		p.comment("Seen, mean and highest interval: %s and %s reads/s, %s and %s writes/s,",
			units.Compact(o.all.Reads), units.Compact(highest.Reads), units.Compact(o.all.Writes),
			units.Compact(highest.Writes))
		p.comment("%s and %s read, %s and %s written;", units.Bandwidth(o.all.ReadBytes),
			units.Bandwidth(highest.ReadBytes), units.Bandwidth(o.all.WriteBytes), units.Bandwidth(highest.WriteBytes))
	} else {
		p.comment("I/O is not known: with version 1 of cgroups the kernel counts it from the first limit on the disk. Give")
		p.comment("the pod the annotation %s with a high limit, and try again.", iofit.LimitAnnotation)
	}
	if o.counter != nil {
		o.server.comment(&p, o.all.Reads+o.all.Writes)
	}
	p.comment("%.2f and %.2f CPUs, %s of memory, of which %s in no file; its limit of memory was met %d times.",
		o.all.CPUs, highest.CPUs, units.Bytes(uint64(max(o.memory, 0))), units.Bytes(uint64(max(o.private, 0))),
		o.last.AtLimit-min(o.first.AtLimit, o.last.AtLimit))

	indent := ""
	if template {
		p.line("spec:")
		p.line("  template:")
		indent = "    "
	}
	p.line("%smetadata:", indent)
	p.line("%s  annotations:", indent)
	p.indent = indent + "    "
	if err := o.proposeClass(&p, kind, note); err != nil {
		return "", err
	}
	if o.last.Counted {
		if text := limitsText(highest); text != "" {
			p.value(iofit.LimitAnnotation, text, "1.5 times the highest interval; held where limits are "+
				"(docs/reference/kubernetes.md)")
		}
	}
	p.indent = ""
	p.resources(o, indent, highest)
	return p.String(), nil
}

// resources adds limits of processors and memory, where the pod has one container: those of several are theirs.
func (p *proposal) resources(o *observed, indent string, highest usage.Rates) {
	cpus := math.Ceil(10*roomCPU*highest.CPUs) / 10
	memory := int64(math.Ceil(roomMemory*float64(o.memory)/(64<<20))) * (64 << 20)
	if !template(o.pod) || len(o.pod.Spec.Containers) != 1 {
		p.comment("")
		p.comment("Limits of its %s: %g CPUs and %s of memory would be 1.5 and 1.25 times the highest.",
			plural.Count(len(o.pod.Spec.Containers), "container")+" together", max(cpus, 0.1), kubernetesSize(memory))
		return
	}
	p.line("%sspec:", indent)
	p.line("%s  containers:", indent)
	p.line("%s    - name: %s", indent, o.pod.Spec.Containers[0].Name)
	p.line("%s      resources:", indent)
	p.line("%s        limits:", indent)
	p.indent = indent + "          "
	p.value("cpu", fmt.Sprintf("%g", max(cpus, 0.1)), "1.5 times the highest interval")
	p.value("memory", kubernetesSize(max(memory, 64<<20)), "1.25 times the most that was seen, page cache included")
}

// template reports whether a pod is made from a template, which a file can patch.
func template(pod *corev1.Pod) bool {
	_, is := patchOf(pod)
	return is
}

// kubernetesSize returns bytes as resources have them.
func kubernetesSize(n int64) string { return strings.TrimSuffix(units.FormatSize(n), "B") }

// candidate is a class of the model, and how it does I/O alone on a node.
type candidate struct {
	name      string
	verdict   iofit.Verdict
	share     float64 // of reads
	size      float64 // bytes of an I/O
	operation float64 // I/Os of an operation
	off       float64 // how unlike the pod's I/O it is
}

// proposeClass adds the class and the demand.
func (o *observed) proposeClass(p *proposal, kind *iofit.Kind, note string) error {
	rate := o.all.Reads + o.all.Writes
	if kind == nil || !o.last.Counted || rate == 0 {
		switch {
		case note != "":
			p.comment("No class is known: %s.", note)
		case o.last.Counted:
			p.comment("No class is like a pod without I/O: was it busy?")
		}
		o.proposeWorkload(p)
		return nil
	}
	all := o.candidates(kind)
	if len(all) == 0 {
		p.comment("The model of %s nodes does not know the I/O of any of its classes.", kind.Name)
		o.proposeWorkload(p)
		return nil
	}
	best := all[0]
	if best.off > 1 {
		p.comment("No class of the model is like it; the nearest is %s: %s.", best.name, best.describe(o))
		o.proposeWorkload(p)
		return nil
	}
	p.value(iofit.ClassAnnotation, best.name, "nearest of "+fmt.Sprint(len(all))+" in the model of "+kind.Name+" nodes: "+
		best.describe(o))
	if len(kind.Host.Drives) > 1 {
		p.comment("%s: %s  # if its volumes do not say so", iofit.DriveAnnotation, kind.Host.Drives[0].Name)
	}
	highest := usage.Highest(o.intervals)
	mean, most := rate/best.operation, (highest.Reads+highest.Writes)/best.operation
	source := fmt.Sprintf("%s I/Os a second, at %.3g I/Os of an operation of %s", units.Compact(rate), best.operation,
		best.name)
	switch {
	case o.server.counts(rate, best):
		mean, most, source = o.server.rate(), o.server.highest, "operations a second, as the server counts them"
	case o.server.rate() > 0:
		p.comment("An operation of %s does %.3g I/Os, and one of the server %.3g: the demand is in those of %s.", best.name,
			best.operation, rate/o.server.rate(), best.name)
	}
	least := significant(mean, math.Floor)
	if least > 0 {
		p.value(iofit.LeastAnnotation, fmt.Sprintf("%s/s", plain(least)), source)
	}
	if load := significant(most, math.Ceil); load > least {
		p.value(iofit.LoadAnnotation, plain(load)+"/s", "the highest interval, as operations")
	}
	if p99 := best.verdict.P99; !math.IsNaN(p99) && p99 > 0 {
		p.comment("%s: %s  # not seen here: 2 times what %s has alone. Set what your clients need", iofit.P99Annotation,
			strings.ReplaceAll(units.Latency(2e9*p99), " ", ""), best.name)
	}
	return nil
}

// candidates returns the classes of a kind that do I/O, the one that is most like the pod's first.
func (o *observed) candidates(kind *iofit.Kind) (all []candidate) {
	share, size := shareAndSize(o.all.Reads, o.all.Writes, o.all.ReadBytes, o.all.WriteBytes)
	rate := o.all.Reads + o.all.Writes
	for i, name := range kind.Classes() {
		like := o.pod.DeepCopy()
		like.Spec.NodeName = "" // what it would say, and not what was admitted
		like.Annotations = map[string]string{iofit.ClassAnnotation: name}
		d, err := iofit.DemandOf(like)
		if err != nil {
			continue
		}
		v := kind.Judge(iofit.Standing{}, d)
		ios := v.Device.Reads + v.Device.Writes
		if v.Unknown != "" || v.Broken != "" || !(ios > 0) || !(v.Rate > 0) {
			continue
		}
		c := candidate{name: name, verdict: v, operation: ios / v.Rate}
		c.share, c.size = shareAndSize(v.Device.Reads, v.Device.Writes, v.Device.ReadBytes, v.Device.WriteBytes)
		c.off = math.Abs(c.share-share) / unlikeShare
		if c.size > 0 && size > 0 {
			c.off = max(c.off, math.Abs(math.Log2(c.size/size))/unlikeSize)
		}
		if perIO := float64(kind.Model.Classes[i].Params.CPU.Base) / c.operation; perIO > 0 && o.all.CPUs > 0 {
			c.off = max(c.off, math.Abs(math.Log2(perIO/(o.all.CPUs/rate)))/unlikeCPU)
		}
		if rate/c.operation > v.Rate { // as many operations as nothing of that class does
			c.off = math.Inf(1)
		}
		all = append(all, c)
	}
	slices.SortStableFunc(all, func(a, b candidate) int {
		if a.off < b.off {
			return -1
		}
		if a.off > b.off {
			return 1
		}
		return strings.Compare(a.name, b.name)
	})
	return all
}

// shareAndSize returns the share of reads, and the bytes of an I/O.
func shareAndSize(reads, writes, readBytes, writeBytes float64) (share, size float64) {
	if reads+writes == 0 {
		return 0, 0
	}
	return reads / (reads + writes), (readBytes + writeBytes) / (reads + writes)
}

func (c candidate) describe(o *observed) string {
	share, size := shareAndSize(o.all.Reads, o.all.Writes, o.all.ReadBytes, o.all.WriteBytes)
	return fmt.Sprintf(
		"%.0f%% reads and %s an I/O, and the pod has %.0f%% and %s; alone on a node it does %s I/Os a second",
		100*c.share, units.Bytes(uint64(c.size)), 100*share, units.Bytes(uint64(size)),
		units.Compact(c.verdict.Rate*c.operation))
}

// proposeWorkload adds the workload that would have to be measured.
func (o *observed) proposeWorkload(p *proposal) {
	name := "mine"
	if len(o.pod.Spec.Containers) > 0 {
		name = o.pod.Spec.Containers[0].Name
	}
	if !o.last.Counted || o.all.Reads+o.all.Writes == 0 {
		p.comment("%s: CLASS  # one of those that fleet fit prints", iofit.ClassAnnotation)
		return
	}
	p.comment("Measure it as a class: below \"workloads:\" of a copy of examples/node.yaml put")
	p.comment("  %s: {fio: %s}", name, workloadOf(o.all))
	p.comment("and below \"mixes:\" put  %[1]s-$n: {%[1]s-$n: {workload: %[1]s, count: $n}}. Then fleet run, fleet fit,",
		name)
	p.comment("and this command again.")
	p.comment("%s: %s", iofit.ClassAnnotation, name)
}

// workloadOf returns the options of fio that do I/O like what was seen, with as many at once as nobody knows: 1.
func workloadOf(r usage.Rates) string {
	share, size := shareAndSize(r.Reads, r.Writes, r.ReadBytes, r.WriteBytes)
	doublings := min(max(0, math.Round(math.Log2(max(size, 512)/512))), 17) // from 512 bytes to 64 MiB
	block := int64(512) << int(doublings)
	rw := "rw: randrw, rwmixread: " + fmt.Sprintf("%.0f", 100*share)
	switch {
	case share > 0.995:
		rw = "rw: randread"
	case share < 0.005:
		rw = "rw: randwrite"
	}
	return fmt.Sprintf("{%s, bs: %s, size: 512MiB, rate: %.0f}", rw, units.FormatSize(block),
		min(max(1, math.Round(r.Reads+r.Writes)), 5000))
}

// limitsText returns limits on devices above the highest interval.
func limitsText(highest usage.Rates) string {
	var all []string
	for _, l := range []struct {
		name  string
		value float64
		least float64
		text  func(float64) string
	}{
		{"read-iops", highest.Reads, 100, plain}, {"write-iops", highest.Writes, 100, plain},
		{"read-bandwidth", highest.ReadBytes, 1 << 20, megabytes},
		{"write-bandwidth", highest.WriteBytes, 1 << 20, megabytes},
	} {
		all = append(all, l.name+": "+l.text(significant(max(roomIO*l.value, l.least), math.Ceil)))
	}
	return strings.Join(all, ", ")
}

func megabytes(n float64) string { return fmt.Sprintf("%.0fMB/s", math.Ceil(n/1e6)) }

func plain(n float64) string { return fmt.Sprintf("%.0f", n) }

// significant returns a number with two digits, by rounding.
func significant(n float64, round func(float64) float64) float64 {
	if !(n > 0) {
		return 0
	}
	unit := max(1, math.Pow(10, math.Floor(math.Log10(n))-1))
	return unit * round(n/unit)
}

// proposal is a file with comments.
type proposal struct {
	strings.Builder

	indent string
}

func (p *proposal) line(format string, args ...any) { fmt.Fprintf(p, format+"\n", args...) }

// comment adds a line that is none of the file's values. Names of a model may have anything in them.
func (p *proposal) comment(format string, args ...any) {
	text := strings.Join(strings.FieldsFunc(fmt.Sprintf(format, args...), func(r rune) bool {
		return r < ' ' || r == 0x7f ||
			r == 0x85 || r == 0x2028 || r == 0x2029
	}), " ")
	p.line("%s", strings.TrimRight(p.indent+"# "+text, " "))
}

// value adds a key with its value, quoted where it has to be, and its source.
func (p *proposal) value(key, value, source string) {
	p.comment("%s:", source)
	text, err := yaml.Marshal(map[string]string{key: value})
	if err != nil {
		panic(err) // a text has a form
	}
	for line := range strings.Lines(string(text)) {
		p.line("%s%s", p.indent, strings.TrimSuffix(line, "\n"))
	}
}
