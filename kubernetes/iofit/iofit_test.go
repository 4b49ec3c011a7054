package iofit

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"math"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	"plimsoll/internal/model/modeltest"
)

const bigHost = `{cpus: 8, memory: 32GiB, drives: {nvme: fast, sata: slow}}`

func aKind(t testing.TB, name, host string) *Kind {
	t.Helper()
	var file bytes.Buffer
	if err := modeltest.ThreeClasses().Write(&file); err != nil {
		t.Fatal(err)
	}
	c, err := ConfigMap(name, file.Bytes(), host)
	if err != nil {
		t.Fatal(err)
	}
	k, err := ParseKind(c)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func aPod(annotations ...string) *corev1.Pod {
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{}}}
	for i := 0; i < len(annotations); i += 2 {
		p.Annotations[Prefix+annotations[i]] = annotations[i+1]
	}
	return p
}

func aDemand(t testing.TB, annotations ...string) *Demand {
	t.Helper()
	d, err := DemandOf(aPod(annotations...))
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestDemands(t *testing.T) {
	d := aDemand(t, "class", "reads", "least-throughput", "1500/s", "p99-limit", "10ms", "data", "100GB",
		"limits", "read-iops: 300, write-bandwidth: 50MB/s", "drive", "nvme")
	want := Demand{Class: "reads", LeastRate: 1500, MostP99: 0.01, Data: 100e9, Drive: "nvme", key: d.key}
	want.Limits.Read.OperationsPerSecond, want.Limits.Write.BytesPerSecond = 300, 50e6
	if *d != want {
		t.Errorf("%+v, want %+v", *d, want)
	}
	if again := aDemand(t, "class", "reads", "least-throughput", "1500/s", "p99-limit", "10ms", "data", "100GB",
		"limits", "read-iops: 300, write-bandwidth: 50MB/s", "drive", "nvme"); again != d {
		t.Error("the same annotations are two demands")
	}
	if d, err := DemandOf(aPod()); d != nil || err != nil {
		t.Errorf("a pod without annotations: %v, %v", d, err)
	}
}

// What a pod's containers may have, the pod may: the less of that and of its annotation.
func TestResourcesOfAPod(t *testing.T) {
	pod := aPod("class", "reads", "limits", "{memory: 3GiB}")
	for range 2 {
		pod.Spec.Containers = append(pod.Spec.Containers, corev1.Container{Resources: corev1.ResourceRequirements{
			Limits: corev1.ResourceList{"memory": resource.MustParse("1Gi"), "cpu": resource.MustParse("250m")}}})
	}
	d, err := DemandOf(pod)
	if err != nil || d.Limits.MemoryBytes != 2<<30 || d.Limits.CPUs != 0.5 {
		t.Errorf("%+v, %v", d, err)
	}
	delete(pod.Spec.Containers[0].Resources.Limits, "memory") // so that the pod has no limit of it
	if d, err = DemandOf(pod); err != nil || d.Limits.MemoryBytes != 3<<30 || d.Limits.CPUs != 0.5 {
		t.Errorf("%+v, %v", d, err)
	}
}

// All that is wrong is said at once, and nothing that a pod's author writes gets further.
func TestWrongDemands(t *testing.T) {
	_, err := DemandOf(aPod("class", "reads", "least-throughput", "-1/s", "p99-limit", "10", "data", "much",
		"limits", "read-iops: none"))
	for _, annotation := range []string{LeastAnnotation, P99Annotation, DataAnnotation, LimitAnnotation} {
		if err == nil || !strings.Contains(err.Error(), annotation) {
			t.Errorf("%s is not in the error: %v", annotation, err)
		}
	}
	if _, err := DemandOf(aPod("p99-limit", "10ms")); err == nil || !strings.Contains(err.Error(), ClassAnnotation) {
		t.Errorf("needs without a class: %v", err)
	}
	bomb := "a: &a [x,x,x,x,x,x,x,x,x], b: &b [*a,*a,*a,*a,*a,*a,*a], c: &c [*b,*b,*b,*b,*b,*b], d: [*c,*c,*c,*c,*c,*c,*c]"
	for _, limits := range []string{bomb, strings.Repeat("{", 900), strings.Repeat("memory: 1GiB,", 1000),
		"memory: 1GiB}\n{cpus: 1", "cpus: 1, cpus: 2", "cpus: .inf", "cpus: NaN", "[1, 2]", "read-iops: 1e400"} {
		if d, err := DemandOf(aPod("class", "reads", "limits", limits)); err == nil {
			t.Errorf("limits %q were taken: %+v", limits, d)
		}
	}
	for i := range mostKept + 10 { // pods may say what they like, for ever
		aDemand(t, "class", fmt.Sprint("c", i))
	}
	if len(demands) > mostKept {
		t.Errorf("%d demands are kept", len(demands))
	}
}

func TestJudge(t *testing.T) {
	k := aKind(t, "big", bigHost)
	alone := k.Judge(Standing{}, aDemand(t, "class", "reads"))
	if alone.Unknown != "" || alone.Broken != "" || alone.Rate <= 0 || alone.Gain != alone.Rate {
		t.Fatalf("%+v", alone)
	}
	needs := fmt.Sprintf("%.0f/s", alone.Rate*0.95)
	picky := aDemand(t, "class", "reads", "least-throughput", needs)
	if v := k.Judge(Standing{}, picky); v.Broken != "" {
		t.Errorf("alone, %v of %s: %s", v.Rate, needs, v.Broken)
	}
	crowd := []*Demand{picky, aDemand(t, "class", "computes"), aDemand(t, "class", "computes")}
	// It breaks the limit of one that stands there.
	for len(crowd) < 40 {
		crowd = append(crowd, aDemand(t, "class", "reads"))
	}
	if v := k.Judge(Stand([]*Demand{picky}), aDemand(t, "class", "reads")); v.Gain >= alone.Gain {
		t.Errorf("two gain as much as one: %v and %v", v.Gain, alone.Gain)
	}
	for n := 1; ; n++ {
		there := []*Demand{picky}
		for range n {
			there = append(there, aDemand(t, "class", "writes"))
		}
		v := k.Judge(Stand(there[:n]), there[n])
		if v.Broken != "" {
			if v.Own || v.Limit != "least-throughput" || !strings.Contains(v.Broken, "class reads") {
				t.Errorf("%+v", v)
			}
			break
		}
		if n > 60 {
			t.Fatal("sixty writers leave a reader what it needs")
		}
	}
	// What is broken already is not held against one that hardly makes it worse.
	never := []*Demand{aDemand(t, "class", "reads", "least-throughput", "900000/s")}
	light := aDemand(t, "class", "computes", "limits", "{cpus: 0.05}", "drive", "sata")
	if v := k.Judge(Stand(never), light); v.Broken != "" {
		t.Errorf("%+v", v)
	}
	if v := k.Judge(Stand(never), aDemand(t, "class", "writes")); v.Broken == "" || v.Own {
		t.Errorf("%+v", v)
	}
	if v := k.Judge(Stand(crowd), picky); v.Limit != "least-throughput" || !v.Own ||
		!strings.Contains(v.Broken, "the pod would do") {
		t.Errorf("%+v", v)
	}
	if v := k.Judge(Standing{}, aDemand(t, "class", "reads", "p99-limit", "1us")); v.Limit != "p99-limit" || !v.Own {
		t.Errorf("%+v", v)
	}
	small := aKind(t, "small", `{cpus: 1, memory: 150MiB}`)
	reader := aDemand(t, "class", "reads")
	if v := small.Judge(Stand([]*Demand{reader}), reader); v.Limit != "memory" {
		t.Errorf("%+v", v)
	}
	for _, d := range []*Demand{aDemand(t, "class", "read"), aDemand(t, "class", "reads", "drive", "floppy")} {
		if v := k.Judge(Standing{}, d); v.Unknown == "" {
			t.Errorf("%+v is known: %+v", d, v)
		}
	}
}

// A verdict does not depend on the order in which pods came, and what is said to be gained
// is the difference of totals.
func TestVerdictsAreThoseOfSets(t *testing.T) {
	k := aKind(t, "big", bigHost)
	rapid.Check(t, func(t *rapid.T) {
		some := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) *Demand {
			classes := []string{"reads", "writes", "computes", "nobody"}
			d, err := DemandOf(aPod("class", rapid.SampledFrom(classes).Draw(t, "class"),
				"drive", rapid.SampledFrom([]string{"", "nvme", "sata"}).Draw(t, "drive"),
				"least-throughput", rapid.SampledFrom([]string{"", "100/s", "2000/s"}).Draw(t, "least")))
			if err != nil {
				t.Fatal(err)
			}
			return d
		}), 1, 12).Draw(t, "pods")
		last := some[len(some)-1]
		v := k.Judge(Stand(some[:len(some)-1]), last)
		shuffled := rapid.Permutation(some[:len(some)-1]).Draw(t, "order")
		if w := k.Judge(Stand(shuffled), last); v != w && !(math.IsNaN(v.P99) && math.IsNaN(w.P99)) {
			t.Errorf("%+v, and in another order %+v", v, w)
		}
		before, _, was := k.Total(some[:len(some)-1])
		after, _, broken := k.Total(some)
		if v.Unknown == "" && math.Abs(v.Gain-(after-before)) > 1e-6*after && v.Limit != "memory" {
			t.Errorf("a gain of %v from %v to %v", v.Gain, before, after)
		}
		if v.Unknown == "" && v.Broken == "" && broken > was {
			t.Errorf("%d limits are broken, and %d were: %+v", broken, was, v)
		}
	})
}

func TestKinds(t *testing.T) {
	if k := aKind(t, "m5.large", ""); k.Host.Host.CPUs != 8 || len(k.Host.Drives) != 1 {
		t.Errorf("without a file of the host: %+v", k.Host)
	}
	node := &corev1.Node{}
	node.Labels = map[string]string{corev1.LabelInstanceTypeStable: "m5.large"}
	if KindOf(node) != "m5.large" {
		t.Error(KindOf(node))
	}
	node.Labels[KindLabel] = "big"
	if KindOf(node) != "big" {
		t.Error(KindOf(node))
	}
	var bomb bytes.Buffer
	w := gzip.NewWriter(&bomb)
	for range mostModel>>20 + 1 {
		_, _ = w.Write(make([]byte, 1<<20))
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	labelled := metav1.ObjectMeta{Labels: map[string]string{KindLabel: "a"}}
	packed := func(text []byte) *corev1.ConfigMap {
		return &corev1.ConfigMap{ObjectMeta: labelled, BinaryData: map[string][]byte{packedKey: text}}
	}
	for name, c := range map[string]*corev1.ConfigMap{
		"label":     {},
		"neither":   {ObjectMeta: labelled},
		"no model":  {ObjectMeta: labelled, Data: map[string]string{modelKey: "{}"}},
		"more than": packed(bomb.Bytes()),
		packedKey:   packed([]byte("x")),
	} {
		if _, err := ParseKind(c); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
	var file bytes.Buffer
	if err := modeltest.ThreeClasses().Write(&file); err != nil {
		t.Fatal(err)
	}
	if _, err := ConfigMap("big", file.Bytes(), "{drives: {a: nothing}, colour: red}"); err == nil ||
		!strings.Contains(err.Error(), "nothing") || !strings.Contains(err.Error(), "colour") {
		t.Error(err)
	}
}

// A node of a thousand is judged in microseconds once what stands on it was ever looked at.
func BenchmarkJudge(b *testing.B) {
	k := aKind(b, "big", bigHost)
	d := aDemand(b, "class", "reads")
	there := Stand([]*Demand{d, d, d})
	b.Run("seen", func(b *testing.B) {
		for b.Loop() {
			k.Judge(there, d)
		}
	})
	b.Run("new", func(b *testing.B) {
		for b.Loop() {
			k.looked, k.judged = nil, nil
			k.Judge(there, d)
		}
	})
}
