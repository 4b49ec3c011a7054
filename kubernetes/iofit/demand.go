// Package iofit tells whether a node carries one more pod: what pods with a class would do
// together on it, by the model of the node's kind, and which of their limits would break.
//
// Pods say what they are in annotations, in the words of files of fleets (plimsoll init
// fleet), and nodes are of the kind that a label says. A kind is a ConfigMap: its model,
// and what one of its nodes has for containers. The package asks no cluster for anything.
package iofit

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"

	"plimsoll/internal/experiment"
	"plimsoll/internal/placement"
	"plimsoll/internal/problem"
	"plimsoll/internal/result"
	"plimsoll/internal/units"
)

// The annotations by which a pod says what it is and needs.
const (
	Prefix          = "plimsoll.dev/"
	ClassAnnotation = Prefix + "class"            // of the model: what is known as such a pod's load
	LeastAnnotation = Prefix + "least-throughput" // operations a second that it is to do: 1500/s
	P99Annotation   = Prefix + "p99-limit"        // 10ms
	LimitAnnotation = Prefix + "limits"           // "read-iops: 300, write-bandwidth: 50MB/s"
	DriveAnnotation = Prefix + "drive"            // of the host's, by its name in the kind; the first without
	DataAnnotation  = Prefix + "data"             // bytes that a move copies: 100GB
)

// Demand is what a pod says it is and needs. Pods that say the same have the same *Demand.
type Demand struct {
	Class     string
	LeastRate float64       // operations a second; 0 for any
	MostP99   float64       // seconds; 0 for any
	Limits    result.Limits // of the pod
	Drive     string        // of the host; "" for its first
	Data      int64         // bytes

	key string // the same for equal demands
}

// demands are all that were parsed, by what pods say. Pods say few different things, and
// are asked for it for every node of every pod that is scheduled.
var (
	demandsMu sync.RWMutex
	demands   map[said]parsed
)

type said struct {
	class, least, p99, limits, drive, data string
	cpus                                   float64 // that all its containers may have
	memory                                 int64   // bytes
}

type parsed struct {
	demand *Demand
	err    error
}

// DemandOf returns what a pod says; nil for a pod that says no class and so is none of
// ours. The error is a problem.List with everything that is wrong with its annotations.
func DemandOf(pod *corev1.Pod) (*Demand, error) {
	a := pod.Annotations
	if a[ClassAnnotation] == "" {
		return nil, unclassed(a)
	}
	cpus, memory := resourcesOf(pod)
	s := said{a[ClassAnnotation], a[LeastAnnotation], a[P99Annotation], a[LimitAnnotation], a[DriveAnnotation],
		a[DataAnnotation], cpus, memory}
	p := kept(&demandsMu, &demands, s, func() parsed {
		d, err := s.parse()
		return parsed{d, err}
	})
	return p.demand, p.err
}

// unclassed is the error of a pod that needs something and says not what it is.
func unclassed(annotations map[string]string) error {
	var all problem.List
	for _, needs := range []string{LeastAnnotation, P99Annotation} {
		if annotations[needs] != "" {
			all = append(all, problem.Problem{Kind: problem.Invalid,
				What:   fmt.Sprintf("annotation %s says what the pod is to do, and none says what it is", needs),
				Remedy: "annotate it with " + ClassAnnotation})
		}
	}
	return all.Err()
}

// resourcesOf returns the limits of a pod's containers together, processors and bytes; 0
// where one of them has none.
func resourcesOf(pod *corev1.Pod) (cpus float64, memory int64) {
	allCPUs, allMemory := true, true
	for i := range pod.Spec.Containers {
		limits := pod.Spec.Containers[i].Resources.Limits
		allCPUs = allCPUs && !limits.Cpu().IsZero()
		allMemory = allMemory && !limits.Memory().IsZero()
		cpus += limits.Cpu().AsApproximateFloat64()
		memory += limits.Memory().Value()
	}
	if !allCPUs {
		cpus = 0
	}
	if !allMemory {
		memory = 0
	}
	return cpus, memory
}

func (s said) parse() (*Demand, error) {
	d := &Demand{Class: s.class, Drive: s.drive}
	var all problem.List
	wrong := func(annotation string, err error) {
		if err != nil {
			all = append(all, problem.Problem{Kind: problem.Invalid, What: "annotation " + annotation, Why: err.Error()})
		}
	}
	var err error
	if s.least != "" {
		d.LeastRate, err = placement.ParseRate(s.least)
		wrong(LeastAnnotation, err)
	}
	if s.p99 != "" {
		d.MostP99, err = placement.ParseP99(s.p99)
		wrong(P99Annotation, err)
	}
	if s.data != "" {
		if d.Data, err = units.ParseSize(s.data); err != nil || d.Data < 1 {
			wrong(DataAnnotation, fmt.Errorf("it is a size, such as 100GB, not %q", s.data))
		}
	}
	d.Limits, err = ParseLimits(s.limits)
	wrong(LimitAnnotation, err)
	// What the pod's containers may have holds as well, and the kernel takes the less of both.
	d.Limits.CPUs = less(d.Limits.CPUs, s.cpus)
	d.Limits.MemoryBytes = less(d.Limits.MemoryBytes, s.memory)
	if err := all.Err(); err != nil {
		return nil, err
	}
	d.key = fmt.Sprintf("%q %g %g %+v %q", d.Class, d.LeastRate, d.MostP99, d.Limits, d.Drive)
	return d, nil
}

// longestLimits is more than all limits together take.
const longestLimits = 1000

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

// Standing is who stands on a node, whatever the order in which they came.
type Standing struct {
	all []*Demand
	key string
}

// Stand returns pods that stand on one node.
func Stand(all []*Demand) Standing {
	s := Standing{all: slices.SortedFunc(slices.Values(all), func(a, b *Demand) int { return cmp.Compare(a.key, b.key) })}
	var key strings.Builder
	for _, d := range s.all {
		key.WriteString(d.key)
		key.WriteByte('\n')
	}
	s.key = key.String()
	return s
}
