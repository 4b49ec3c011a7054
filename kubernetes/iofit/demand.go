// Package iofit tells whether a node carries one more pod: what pods with a class would do
// together on it, by the model of the node's kind, and which of their limits would break.
//
// Pods say what they are in annotations, in the words of files of fleets (plimsoll init
// fleet), and nodes are of the kind that a label says. A kind is a ConfigMap: its model,
// and what one of its nodes has for containers. The package asks no cluster for anything.
package iofit

import (
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"math"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	resourcehelper "k8s.io/component-helpers/resource"

	"plimsoll/internal/experiment"
	"plimsoll/internal/field"
	"plimsoll/internal/placement"
	"plimsoll/internal/problem"
	"plimsoll/internal/result"
)

// The annotations by which a pod says what it is and needs.
const (
	Prefix            = "plimsoll.dev/"
	ClassAnnotation   = Prefix + "class"            // of the model: what is known as such a pod's load
	LeastAnnotation   = Prefix + "least-throughput" // operations a second that it is to do: 1500/s
	P99Annotation     = Prefix + "p99-limit"        // 10ms
	LoadAnnotation    = Prefix + "load"             // operations a second that it is asked for at most: 300/s
	LimitAnnotation   = Prefix + "limits"           // "read-iops: 300, write-bandwidth: 50MB/s"
	DriveAnnotation   = Prefix + "drive"            // of the host's, by its name in the kind, where no volume says it
	SplitAnnotation   = Prefix + "split"            // shares of its I/O by volume: "wal: 30%, data: 70%"
	DataAnnotation    = Prefix + "data"             // bytes that a move copies: 100GB
	UnknownAnnotation = Prefix + "unknown"          // Allow or Deny: nodes of which nobody knows what it would do there
)

// AdmittedAnnotation is what a pod's annotations said when it was bound, written by the binding. It counts from then
// on, whatever the others say since.
const AdmittedAnnotation = Prefix + "admitted"

// declared are the annotations by which pods say what they are and need.
var declared = []string{ClassAnnotation, LeastAnnotation, LoadAnnotation, P99Annotation, LimitAnnotation,
	DriveAnnotation, SplitAnnotation, DataAnnotation, UnknownAnnotation}

// Admission returns the value of AdmittedAnnotation for a pod that is being bound; "" for one that says nothing.
func Admission(annotations map[string]string) string {
	values := map[string]string{}
	for _, name := range declared {
		if text, ok := annotations[name]; ok {
			values[name] = text
		}
	}
	if len(values) == 0 {
		return ""
	}
	text, err := json.Marshal(values)
	if err != nil {
		return "" // not of strings
	}
	return string(text)
}

// admissions are all that were read, by their text.
var admissions = cache[string, admission]{limit: mostDemands}

type admission struct {
	values map[string]string
	err    error
}

// Admitted returns the annotations that count of a pod with a node: as they were when it was bound, where the binding
// wrote that, and as they are otherwise.
func Admitted(annotations map[string]string) (map[string]string, error) {
	text := annotations[AdmittedAnnotation]
	if text == "" {
		return annotations, nil
	}
	if most := longestLimits * len(declared); len(text) > most {
		return nil, problem.New(problem.Invalid, "annotation "+AdmittedAnnotation,
			fmt.Sprintf("it has %d characters, and at most %d are read", len(text), most), "")
	}
	a := admissions.get(text, func() admission {
		var said map[string]string
		if err := json.Unmarshal([]byte(text), &said); err != nil {
			return admission{nil, problem.New(problem.Invalid, "annotation "+AdmittedAnnotation, err.Error(), "")}
		}
		return admission{said, nil}
	})
	return a.values, a.err
}

// HeldLabel is of nodes on which limits on devices are to be held: there run the pods of limits, which have a label in
// a namespace of their own. There limits count while that pod is ready.
const (
	HeldLabel       = Prefix + "limits-held"
	LimitsNamespace = "plimsoll-limits"
	limitsApp       = "plimsoll-limits"
)

// IsHolder reports whether a pod holds others of its node to their limits. Only administrators may create such.
func IsHolder(p *corev1.Pod) bool {
	return p.Namespace == LimitsNamespace && p.Labels["app"] == limitsApp
}

// Holds reports whether limits on devices are held on a node now.
func Holds(node *corev1.Node, pods iter.Seq[*corev1.Pod]) bool {
	if node.Labels[HeldLabel] != "true" {
		return false
	}
	for p := range pods {
		if IsHolder(p) && p.Spec.NodeName == node.Name && p.DeletionTimestamp == nil && Ready(p) {
			return true
		}
	}
	return false
}

// Ready reports whether a pod is ready.
func Ready(p *corev1.Pod) bool {
	return slices.ContainsFunc(p.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}

// Demand is the class and the limits of a pod. Pods with equal annotations have the same *Demand.
type Demand struct {
	Class     string
	LeastRate float64       // operations a second; 0 for any
	Load      float64       // operations a second that it is asked for; 0 for as many as were measured
	MostP99   float64       // seconds; 0 for any
	Limits    result.Limits // of the pod
	Drive     string        // of the host; "" for its first
	Split     []Part        // of its I/O by volume, sorted by name; none where it does not say that
	Parts     []Part        // of its I/O by drive of the host, where it counts on several; Drive is "" then
	Data      int64         // bytes
	Unknown   string        // Allow or Deny; "" for what the scheduler does

	key string // a short hash, the same for demands that do the same on a node
}

// What becomes of a pod where nobody knows what it would do.
const (
	Allow = "Allow"
	Deny  = "Deny"
)

// Limited reports whether the pod needs something, which a node may fail to give.
func (d *Demand) Limited() bool { return d.LeastRate > 0 || d.MostP99 > 0 }

// Sign returns a text that is the same for equal demands alone.
func (d *Demand) Sign() string { return fmt.Sprintf("%x %s %v", d.key, d.Unknown, d.Split) }

// On returns the demand on a node: limits on devices count where they are held.
func (d *Demand) On(held bool) *Demand {
	l := d.Limits
	l.Read, l.Write, l.IO = result.Rate{}, result.Rate{}, result.Rate{}
	if l == d.Limits || held {
		return d
	}
	return d.variant(l, d.Drive)
}

// variants are demands with other limits, or on other drives, than their annotations say.
var variants = cache[variant, *Demand]{limit: mostDemands}

type variant struct {
	demand *Demand
	limits result.Limits
	drives string // a name, or shares
}

func (d *Demand) variant(l result.Limits, drive string) *Demand {
	return variants.get(variant{d, l, drive}, func() *Demand {
		o := *d
		o.Limits, o.Drive = l, drive
		return o.keyed()
	})
}

// withoutNeeds returns the demand of a pod whose limits nobody is to keep.
func (d *Demand) withoutNeeds() *Demand {
	if !d.Limited() {
		return d
	}
	o := *d
	o.LeastRate, o.MostP99 = 0, 0
	return o.keyed()
}

func (d *Demand) keyed() *Demand {
	hash := sha256.Sum256(fmt.Appendf(nil, "%q %g %g %g %+v %q %v", d.Class, d.LeastRate, d.Load, d.MostP99, d.Limits,
		d.Drive, d.Parts))
	d.key = string(hash[:16])
	return d
}

// demands are all that were parsed, by what pods say. Pods say few different things, and
// are asked for it for every node of every pod that is scheduled.
var demands = cache[said, parsed]{limit: mostDemands}

type said struct {
	class, least, load, p99, limits, drive, split, data, unknown string

	cpus   float64 // that all its containers may have
	memory int64   // bytes
	times  int64   // containers that each may have the limits on devices
}

type parsed struct {
	demand *Demand
	err    error
}

// DemandOf returns what a pod says; nil for a pod that says no class and so is none of
// ours. The error is a problem.List with everything that is wrong with its annotations.
func DemandOf(pod *corev1.Pod) (*Demand, error) {
	a := pod.Annotations
	if pod.Spec.NodeName != "" {
		var err error
		if a, err = Admitted(a); err != nil {
			return nil, err
		}
	}
	if a[ClassAnnotation] == "" {
		return nil, unclassed(a)
	}
	if err := bounded(a); err != nil {
		return nil, err
	}
	cpus, memory := resourcesOf(pod)
	s := said{a[ClassAnnotation], a[LeastAnnotation], a[LoadAnnotation], a[P99Annotation], a[LimitAnnotation],
		a[DriveAnnotation], a[SplitAnnotation], a[DataAnnotation], a[UnknownAnnotation], cpus, memory, withVolumes(pod)}
	p := demands.get(s, func() parsed {
		d, err := s.parse()
		return parsed{d, err}
	})
	if p.err == nil && len(p.demand.Split) > 0 {
		if err := checkSplit(pod, p.demand.Split); err != nil {
			return nil, err
		}
	}
	return p.demand, p.err
}

// Bounds of what pods say: longest of a name or number, as labels have it, and longestLimits of all limits, or shares.
const (
	longest       = 63
	longestLimits = 1000
)

// bounded is the error of a pod that says too much: all that pods say is kept, and goes into errors of each node.
func bounded(annotations map[string]string) error {
	var problems problem.List
	for _, name := range declared {
		limit := longest
		if name == LimitAnnotation || name == SplitAnnotation {
			limit = longestLimits
		}
		if n := len(annotations[name]); n > limit {
			problems = append(problems, problem.Problem{Kind: problem.Invalid, What: "annotation " + name,
				Why: fmt.Sprintf("it has %d characters, and at most %d are read", n, limit)})
		}
	}
	return problems.Err()
}

// unclassed is the error of a pod that needs something and says not what it is.
func unclassed(annotations map[string]string) error {
	var problems problem.List
	for _, needs := range []string{LeastAnnotation, P99Annotation} {
		if annotations[needs] != "" {
			problems = append(problems, problem.Problem{Kind: problem.Invalid,
				What:   fmt.Sprintf("annotation %s says what the pod is to do, and none says what it is", needs),
				Remedy: "annotate it with " + ClassAnnotation})
		}
	}
	return problems.Err()
}

// running returns the containers of a pod that run together: those that start first and go on are of them.
func running(pod *corev1.Pod) []corev1.Container {
	containers := slices.Clone(pod.Spec.Containers)
	for _, c := range pod.Spec.InitContainers {
		if c.RestartPolicy != nil && *c.RestartPolicy == corev1.ContainerRestartPolicyAlways {
			containers = append(containers, c)
		}
	}
	return containers
}

// withVolumes returns how many of a pod's containers have volumes that may stand on devices. Limits on devices are of
// each of them.
func withVolumes(pod *corev1.Pod) (n int64) {
	dataless := map[string]bool{}
	for _, v := range pod.Spec.Volumes {
		dataless[v.Name] = v.ConfigMap != nil || v.Secret != nil || v.Projected != nil || v.DownwardAPI != nil
	}
	for _, c := range running(pod) {
		has := func(m corev1.VolumeMount) bool { return !dataless[m.Name] }
		if len(c.VolumeDevices) > 0 || slices.ContainsFunc(c.VolumeMounts, has) {
			n++
		}
	}
	return max(n, 1)
}

// resourcesOf returns the limits of a pod, or of its containers together, processors and bytes; 0 where one of them has
// none.
func resourcesOf(pod *corev1.Pod) (cpus float64, memory int64) {
	allCPUs, allMemory := true, true
	for _, c := range running(pod) {
		limits := c.Resources.Limits
		allCPUs = allCPUs && !limits.Cpu().IsZero()
		allMemory = allMemory && !limits.Memory().IsZero()
		cpus += limits.Cpu().AsApproximateFloat64()
		memory += min(limits.Memory().Value(), math.MaxInt64-memory) // more than there is
	}
	if !allCPUs {
		cpus = 0
	}
	if !allMemory {
		memory = 0
	}
	if of := pod.Spec.Resources; of != nil {
		cpus = less(cpus, of.Limits.Cpu().AsApproximateFloat64())
		memory = less(memory, of.Limits.Memory().Value())
	}
	return cpus, memory
}

func (s said) parse() (*Demand, error) {
	d := &Demand{Class: s.class, Drive: s.drive, Unknown: s.unknown}
	var problems problem.List
	wrong := func(annotation string, err error) {
		if err != nil {
			problems = append(problems, problem.Problem{Kind: problem.Invalid, What: "annotation " + annotation,
				Why: err.Error()})
		}
	}
	var err error
	if s.least != "" {
		d.LeastRate, err = placement.LeastThroughput.Parse(s.least)
		wrong(LeastAnnotation, err)
	}
	if s.load != "" {
		d.Load, err = placement.LeastThroughput.Parse(s.load)
		wrong(LoadAnnotation, err)
		if err == nil && d.LeastRate > d.Load {
			wrong(LoadAnnotation, fmt.Errorf("it is asked for less than the %s operations a second that it is to do",
				two(d.LeastRate)))
		}
	}
	if s.p99 != "" {
		d.MostP99, err = placement.P99Limit.Parse(s.p99)
		wrong(P99Annotation, err)
	}
	if s.data != "" {
		d.Data, err = field.Bytes.Like("100GB").Parse(s.data)
		wrong(DataAnnotation, err)
	}
	if s.split != "" {
		d.Split, err = ParseSplit(s.split)
		wrong(SplitAnnotation, err)
	}
	d.Limits, err = ParseLimits(s.limits)
	wrong(LimitAnnotation, err)
	if d.Limits.CPUs != 0 || d.Limits.MemoryBytes != 0 {
		wrong(LimitAnnotation, errors.New("nothing holds limits of cpus and memory that it says: set them in "+
			"resources.limits of the containers"))
	}
	if d.Unknown != "" && d.Unknown != Allow && d.Unknown != Deny {
		wrong(UnknownAnnotation, fmt.Errorf("it is %s or %s, and not %q", Allow, Deny, d.Unknown))
	}
	d.Limits.CPUs, d.Limits.MemoryBytes = s.cpus, s.memory
	for _, r := range []*result.Rate{&d.Limits.Read, &d.Limits.Write, &d.Limits.IO} {
		r.OperationsPerSecond = times(r.OperationsPerSecond, s.times)
		r.BytesPerSecond = times(r.BytesPerSecond, s.times)
	}
	if err := problems.Err(); err != nil {
		return nil, err
	}
	return d.keyed(), nil
}

// times is a product, and the most that there is where it would be more.
func times(n, by int64) int64 {
	if n > math.MaxInt64/by {
		return math.MaxInt64
	}
	return n * by
}

// ParseLimits reads what the annotation of limits says, as limits of files of fleets have it, with or without
// braces; none of "".
func ParseLimits(text string) (result.Limits, error) {
	switch text = strings.TrimSpace(text); {
	case text == "":
		return result.Limits{}, nil
	case len(text) > longestLimits:
		return result.Limits{}, fmt.Errorf("it has %d characters, and all limits together take fewer than %d", len(text),
			longestLimits)
	case !strings.HasPrefix(text, "{"):
		text = "{" + text + "}"
	}
	return experiment.ParseLimits("the pod", text)
}

// less returns the lower of two limits, of which 0 is none.
func less[T int64 | float64](a, b T) T {
	if a == 0 || b == 0 {
		return max(a, b)
	}
	return min(a, b)
}

// Standing is the demands of the pods on a node, whatever the order in which they came.
type Standing struct {
	demands []*Demand
	key     string

	held bool // limits on devices

	// Settled is whether it is known for good on which drives the pods are.
	Settled bool

	// What pods without a class leave of what the node has for pods; 0 where it is not known what it has.
	cpus   float64
	memory int64
	free   freeDrives
}

// OnNode returns the pods that stand on a node of a kind. Limits of pods are kept in the namespaces that count; those
// of others keep no pod from the node. Pods without a class take what they ask for, and of drives what was measured.
func OnNode(node *corev1.Node, kind *Kind, pods iter.Seq[*corev1.Pod], claims Claims,
	counts func(namespace string) bool,
) Standing {
	var demands []*Demand
	var choices [][]*Demand // of pods that may be on several drives
	settled := true
	taken := corev1.ResourceList{}
	held := Holds(node, pods)
	undeclared, takenOf := undeclaredOn(node, pods), make(driveRates, len(kind.Host.Drives))
	for pod := range pods {
		if pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed {
			continue
		}
		d, err := DemandOf(pod)
		var placed []*Demand
		if err == nil && d != nil {
			volumes, known := claims.Of(pod)
			settled = settled && known
			if !counts(pod.Namespace) {
				d = d.withoutNeeds()
			}
			placed = kind.demandsOn(node, d, volumes, held).placed
		}
		switch len(placed) {
		case 0: // it has no class, or stands on none of the node's drives
			for name, q := range resourcehelper.PodRequests(pod, resourcehelper.PodResourcesOptions{}) {
				sum := taken[name]
				sum.Add(q)
				taken[name] = sum
			}
			if rates, measured := undeclared[pod.UID]; measured {
				volumes, known := claims.Of(pod)
				settled = settled && known
				kind.add(takenOf, node, rates, volumes)
			}
		case 1:
			demands = append(demands, placed[0])
		default:
			choices = append(choices, placed)
		}
	}
	s := Standing{Settled: settled, held: held, free: kind.freeOf(takenOf)}
	if has := node.Status.Allocatable.Cpu().AsApproximateFloat64(); has > 0 {
		s.cpus = max(has-taken.Cpu().AsApproximateFloat64(), least)
	}
	if has := node.Status.Allocatable.Memory().Value(); has > 0 {
		s.memory = max(has-taken.Memory().Value(), 1)
	}
	s = s.with(demands)
	slices.SortFunc(choices, func(a, b []*Demand) int { return cmp.Compare(a[0].key, b[0].key) })
	for _, c := range choices { // each as when it was placed
		d, _ := kind.roomiest(s, c)
		demands = append(demands, d)
		s = s.with(demands)
	}
	return s
}

// with returns the same with other pods that stand there.
func (s Standing) with(demands []*Demand) Standing {
	stand := Stand(demands)
	s.demands, s.key = stand.demands, stand.key
	return s
}

// least is what is left of processors where nothing is: none at all would be no limit.
const least = 1e-3

// Stand returns pods that stand on one node.
func Stand(demands []*Demand) Standing {
	s := Standing{demands: slices.SortedFunc(slices.Values(demands),
		func(a, b *Demand) int { return cmp.Compare(a.key, b.key) })}
	key := sha256.New() // short, as tens of thousands of them are kept
	for _, d := range s.demands {
		fmt.Fprintln(key, d.key)
	}
	s.key = string(key.Sum(nil))
	return s
}
