package iofit

import (
	"fmt"
	"math"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// Who may create pods has schedulers keep no more of what they say than what can be of use: an annotation may have
// 256 KiB, tens of thousands are kept, and their errors go out for each node.
func TestAttackAnnotationsWithoutEnd(t *testing.T) {
	for _, name := range []string{"class", "least-throughput", "p99-limit", "limits", "drive", "data"} {
		for _, text := range []string{strings.Repeat("x", 200_000), strings.Repeat("\x1b[2J", 50_000)} {
			d, err := DemandOf(aPod("class", "reads", name, text))
			if err == nil || d != nil {
				t.Errorf("%s: %+v", name, d)
				continue
			}
			if said := err.Error(); len(said) > 2000 || strings.ContainsRune(said, '\x1b') {
				t.Errorf("%s: its error has %d characters", name, len(said))
			}
		}
	}
	var many []*Demand
	for i := range 500 {
		many = append(many, aDemand(t, "class", fmt.Sprint("reads-", i)))
	}
	if n := len(Stand(many).key); n > 100 {
		t.Errorf("who stands on a node is known by %d characters", n)
	}
	if Stand(many).key == Stand(many[1:]).key {
		t.Error("others have the same key")
	}
}

// Memory that is more than there is does not become less than none.
func TestAttackMemoryThatOverflows(t *testing.T) {
	p := aPod("class", "reads")
	for range 3 {
		p.Spec.Containers = append(p.Spec.Containers, corev1.Container{Resources: corev1.ResourceRequirements{
			Limits: corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("7Ei"),
				corev1.ResourceCPU: resource.MustParse("9E")}}})
	}
	d, err := DemandOf(p)
	if err != nil || d.Limits.MemoryBytes != math.MaxInt64 || math.IsInf(d.Limits.CPUs, 0) {
		t.Fatalf("%+v, %v", d, err)
	}
	v := aKind(t, "big", bigHost).Judge(Stand([]*Demand{d, d}), d)
	if math.IsInf(v.Rate, 0) || v.Rate < 0 || math.IsNaN(v.Gain) {
		t.Errorf("%+v", v)
	}
}
