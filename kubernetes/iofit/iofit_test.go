package iofit

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	"plimsoll/internal/model"
	"plimsoll/internal/testkit/modeltest"
)

const bigHost = `{cpus: 8, memory: 32GiB, drives: {nvme: fast, sata: slow}}`

func aKind(t testing.TB, name, host string) *Kind {
	t.Helper()
	var file bytes.Buffer
	if err := modeltest.ThreeClasses().Write(&file); err != nil {
		t.Fatal(err)
	}
	c, err := ConfigMap(name, file.Bytes(), host, "")
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
	if !reflect.DeepEqual(*d, want) {
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
	pod := aPod("class", "reads", "limits", "{read-iops: 300}")
	for range 2 {
		pod.Spec.Containers = append(pod.Spec.Containers, corev1.Container{Resources: corev1.ResourceRequirements{
			Limits: corev1.ResourceList{"memory": resource.MustParse("1Gi"), "cpu": resource.MustParse("250m")}}})
	}
	d, err := DemandOf(pod)
	if err != nil || d.Limits.MemoryBytes != 2<<30 || d.Limits.CPUs != 0.5 {
		t.Errorf("%+v, %v", d, err)
	}
	delete(pod.Spec.Containers[0].Resources.Limits, "memory") // so that the pod has no limit of it
	if d, err = DemandOf(pod); err != nil || d.Limits.MemoryBytes != 0 || d.Limits.CPUs != 0.5 {
		t.Errorf("%+v, %v", d, err)
	}
	// A sidecar that starts first runs beside them; what only prepares does not.
	beside, limits := corev1.ContainerRestartPolicyAlways, pod.Spec.Containers[1].Resources
	pod.Spec.InitContainers = []corev1.Container{{RestartPolicy: &beside, Resources: limits}, {}}
	if d, err = DemandOf(pod); err != nil || d.Limits.CPUs != 0.75 {
		t.Errorf("%+v, %v", d, err)
	}
	pod.Spec.Resources = &corev1.ResourceRequirements{Limits: corev1.ResourceList{
		"memory": resource.MustParse("1Gi"), "cpu": resource.MustParse("500m")}}
	if d, err = DemandOf(pod); err != nil || d.Limits.MemoryBytes != 1<<30 || d.Limits.CPUs != 0.5 {
		t.Errorf("%+v, %v", d, err)
	}
}

// Limits on devices are of each container that has volumes on them, and count where they are held.
func TestLimitsOnDevices(t *testing.T) {
	pod := aPod("class", "reads", "limits", "read-iops: 300")
	pod.Spec.Volumes = []corev1.Volume{{Name: "data"}, {Name: "token", VolumeSource: corev1.VolumeSource{
		Projected: &corev1.ProjectedVolumeSource{}}}}
	mounts := func(names ...string) (c corev1.Container) {
		for _, name := range names {
			c.VolumeMounts = append(c.VolumeMounts, corev1.VolumeMount{Name: name})
		}
		return c
	}
	for want, all := range map[int64][]corev1.Container{
		300: {mounts("data", "token"), mounts("token"), mounts()}, 600: {mounts("data"), mounts("token", "data")},
	} {
		pod.Spec.Containers = all
		d, err := DemandOf(pod)
		if err != nil || d.Limits.Read.OperationsPerSecond != want {
			t.Errorf("%+v, not %d, %v", d, want, err)
		}
		free := d.On(false)
		if d.On(true) != d || !free.Limits.None() || free.Sign() == d.Sign() || free.Class != d.Class {
			t.Errorf("where nothing holds them: %+v", free)
		}
	}
	for _, limits := range []string{"memory: 16MiB", "{cpus: 0.1, read-iops: 3}"} { // which nothing holds
		if _, err := DemandOf(aPod("class", "reads", "limits", limits)); err == nil ||
			!strings.Contains(err.Error(), "resources.limits") {
			t.Errorf("%s: %v", limits, err)
		}
	}
	if d := aDemand(
		t,
		"class",
		"reads",
		"limits",
		"read-iops: 300",
	); d.On(false).Sign() != aDemand(
		t,
		"class",
		"reads",
	).Sign() {
		t.Error("without its limits it is another than one that never had any")
	}
}

// What pods without a class ask for is not there for those with one.
func TestPodsWithoutAClass(t *testing.T) {
	k := aKind(t, "big", bigHost)
	node := &corev1.Node{}
	node.Status.Allocatable = corev1.ResourceList{"cpu": resource.MustParse("8"), "memory": resource.MustParse("32Gi")}
	d, all := aDemand(t, "class", "reads"), func(string) bool { return true }
	rate := func(has *corev1.Node, memory string) Verdict {
		other := aPod()
		if memory != "" {
			other.Spec.Containers = []corev1.Container{{Resources: corev1.ResourceRequirements{
				Requests: corev1.ResourceList{"memory": resource.MustParse(memory)}}}}
		}
		done := aPod()
		done.Spec.Containers = []corev1.Container{{Resources: corev1.ResourceRequirements{
			Requests: corev1.ResourceList{"memory": resource.MustParse("31Gi")}}}}
		done.Status.Phase = corev1.PodSucceeded
		pods := slices.Repeat([]*corev1.Pod{aPod("class", "reads")}, 3)
		return k.Judge(OnNode(has, k, slices.Values(append(pods, other, done)), Claims{}, all), d)
	}
	free := rate(node, "")
	if free != k.Judge(Stand(slices.Repeat([]*Demand{d}, 3)), d) || rate(&corev1.Node{}, "8Gi") != free ||
		rate(node, "1Mi").Broken != "" {
		t.Errorf("%+v, and on an empty node %+v", free, k.Judge(Standing{}, d))
	}
	if v := rate(node, "31500Mi"); v.Rate >= free.Rate {
		t.Errorf("half a gibibyte is as good as 32: %+v and %+v", v, free)
	}
	if v := rate(node, "900Gi"); v.Unknown != "" || v.Rate > free.Rate {
		t.Errorf("more than there is: %+v", v)
	}
}

// A pod whose limit no node could meet keeps nobody away, and one that has a limit is not joined by what nobody knows.
func TestAttackPodsThatCloseOrOpenNodes(t *testing.T) {
	k := aKind(t, "big", bigHost)
	writer := aDemand(t, "class", "writes")
	for _, never := range []*Demand{aDemand(t, "class", "reads", "p99-limit", "1ns"),
		aDemand(t, "class", "reads", "least-throughput", "900000/s")} {
		for n := range 12 {
			there := append(slices.Repeat([]*Demand{writer}, n), never)
			if v := k.Judge(Stand(there), writer); v.Broken != "" {
				t.Fatalf("beside %d others: %+v", n, v)
			}
		}
		if v := k.Judge(Stand([]*Demand{writer}), never); !v.Own || !v.Always {
			t.Errorf("an empty node would do: %+v", v)
		}
	}
	picky := aDemand(t, "class", "reads", "least-throughput", "10/s")
	stranger := aDemand(t, "class", "nobody")
	if v := k.Judge(
		Stand([]*Demand{picky}),
		stranger,
	); v.Limit != "unknown" ||
		!strings.Contains(v.Broken, "class reads") ||
		v.Always {
		t.Errorf("beside one with a limit: %+v", v)
	}
	if v := k.Judge(Stand([]*Demand{writer}), stranger); v.Broken != "" || v.Unknown == "" || !v.Always {
		t.Errorf("beside one without: %+v", v)
	}
	// In a namespace whose limits do not count it keeps nobody away.
	pod := aPod("class", "reads", "least-throughput", "10/s")
	pod.Namespace = "tenant"
	for _, counts := range []bool{true, false} {
		s := OnNode(&corev1.Node{}, k, slices.Values([]*corev1.Pod{pod}), Claims{},
			func(n string) bool { return counts || n != "tenant" })
		if v := k.Judge(s, stranger); (v.Broken != "") != counts {
			t.Errorf("it counts: %t, and %+v", counts, v)
		}
	}
	// A drive that the kind does not have is no way to weigh nothing.
	heavy := slices.Repeat([]*Demand{aDemand(t, "class", "writes", "drive", "floppy")}, 20)
	if v, w := k.Judge(Stand(heavy), writer), k.Judge(Standing{}, writer); v.Gain >= w.Gain {
		t.Errorf("twenty writers weigh nothing: %+v", v)
	}
}

// A class of which nobody knows what it does with little memory: one that is given so little leaves a node known, and
// nodes do not open where memory gets short.
func TestAttackLittleMemory(t *testing.T) {
	m := modeltest.ThreeClasses()
	c := &m.Classes[0] // all of its files stayed in memory, whenever it was measured
	c.Params.Reads = model.Miss{Shape: 1}
	for i := range c.Points {
		for j := range c.Points[i].Units {
			c.Points[i].Units[j].Held = model.Number(c.Points[i].Instances << 30)
		}
	}
	var file bytes.Buffer
	if err := m.Write(&file); err != nil {
		t.Fatal(err)
	}
	made, err := ConfigMap("big", file.Bytes(), `{cpus: 8, memory: 8GiB, drives: {nvme: fast}}`, "")
	if err != nil {
		t.Fatal(err)
	}
	k, err := ParseKind(made)
	if err != nil {
		t.Fatal(err)
	}
	pod := aPod("class", "reads")
	pod.Spec.Containers = []corev1.Container{{Resources: corev1.ResourceRequirements{
		Limits: corev1.ResourceList{"memory": resource.MustParse("300Mi")}}}}
	tiny, err := DemandOf(pod)
	if err != nil {
		t.Fatal(err)
	}
	writer := aDemand(t, "class", "writes", "least-throughput", "10/s")
	if v := k.Judge(Standing{}, tiny); v.Unknown == "" || !v.Always {
		t.Fatalf("it is known: %+v", v)
	}
	if v := k.Judge(Stand([]*Demand{tiny}), writer); v.Unknown != "" || v.Rate <= 0 {
		t.Errorf("one pod makes a node unknown: %+v", v)
	}
	reader := aDemand(t, "class", "reads")
	there := []*Demand{writer}
	for k.Judge(Stand(there), reader).Broken == "" {
		if there = append(there, reader); len(there) > 40 {
			t.Fatal("forty readers have all the memory that they want")
		}
	}
	if v := k.Judge(Stand(there), reader); v.Limit != "unknown" {
		t.Errorf("with %d there: %+v", len(there), v)
	}
	// Pods without a class take the memory, so that nobody knows what those do that stand there: the limit protects its
	// pod as before, and where none has one, all may come.
	node := &corev1.Node{}
	node.Status.Allocatable = corev1.ResourceList{"cpu": resource.MustParse("8"), "memory": resource.MustParse("8Gi")}
	batch := aPod()
	batch.Spec.Containers = []corev1.Container{{Resources: corev1.ResourceRequirements{
		Requests: corev1.ResourceList{"memory": resource.MustParse("7Gi")}}}}
	for _, limit := range []string{"10/s", ""} {
		stand := func(pods ...*corev1.Pod) Standing {
			first := aPod("class", "writes")
			if limit != "" {
				first = aPod("class", "writes", "least-throughput", limit)
			}
			readers := slices.Repeat([]*corev1.Pod{aPod("class", "reads")}, 4)
			return OnNode(node, k, slices.Values(slices.Concat([]*corev1.Pod{first}, readers, pods)), Claims{},
				func(string) bool { return true })
		}
		plain := aDemand(t, "class", "writes")
		if v := k.Judge(stand(), plain); v.Broken != "" || v.Unknown != "" {
			t.Fatalf("limit %q, with room: %+v", limit, v)
		}
		if v := k.Judge(stand(batch), plain); (v.Limit == "unknown") != (limit != "") || v.Unknown == "" || v.Always {
			t.Errorf("limit %q, while a batch has the memory: %+v", limit, v)
		}
	}
}

// What was admitted when a pod was bound counts, whatever its other annotations say since.
func TestAttackAnnotationsOfARunningPod(t *testing.T) {
	k, all := aKind(t, "big", bigHost), func(string) bool { return true }
	pod := aPod("class", "writes", "least-throughput", "1000/s")
	pod.Annotations["example.com/x"] = "y"
	pod.Annotations[AdmittedAnnotation] = Admission(pod.Annotations)
	pod.Spec.NodeName = "n"
	newcomer := aDemand(t, "class", "writes")
	on := func(p *corev1.Pod) Standing {
		return OnNode(&corev1.Node{}, k, slices.Values(slices.Repeat([]*corev1.Pod{p}, 3)), Claims{}, all)
	}
	want := k.Judge(on(pod), newcomer)
	for _, change := range [][2]string{{"least-throughput", "1/s"}, {"class", "reads"}, {"class", ""}, {"load", "1/s"},
		{"limits", "write-iops: 1"}, {"p99-limit", "1ns"}} {
		later := pod.DeepCopy()
		later.Annotations[Prefix+change[0]] = change[1]
		if got := k.Judge(on(later), newcomer); got != want {
			t.Errorf("%v: %+v, and before %+v", change, got, want)
		}
	}
	if text := Admission(map[string]string{"example.com/x": "y"}); text != "" {
		t.Errorf("a pod that says nothing is admitted as %s", text)
	}
	// Before it has a node, it counts as it says.
	waiting := pod.DeepCopy()
	waiting.Spec.NodeName, waiting.Annotations[ClassAnnotation] = "", "reads"
	if d, err := DemandOf(waiting); err != nil || d.Class != "reads" {
		t.Errorf("%+v, %v", d, err)
	}
	for _, text := range []string{"[", "[1]", strings.Repeat("{", 1<<20)} {
		forged := pod.DeepCopy()
		forged.Annotations[AdmittedAnnotation] = text
		if d, err := DemandOf(forged); d != nil || err == nil || !strings.Contains(err.Error(), AdmittedAnnotation) {
			t.Errorf("%.9q is read: %+v, %v", text, d, err)
		}
	}
}

// All that is wrong is said at once, and nothing that a pod's author writes gets further.
func TestWrongDemands(t *testing.T) {
	_, err := DemandOf(aPod("class", "reads", "least-throughput", "-1/s", "p99-limit", "10", "data", "much",
		"load", "some", "limits", "read-iops: none"))
	for _, annotation := range []string{LeastAnnotation, LoadAnnotation, P99Annotation, DataAnnotation, LimitAnnotation} {
		if err == nil || !strings.Contains(err.Error(), annotation) {
			t.Errorf("%s is not in the error: %v", annotation, err)
		}
	}
	if _, err := DemandOf(aPod("p99-limit", "10ms")); err == nil || !strings.Contains(err.Error(), ClassAnnotation) {
		t.Errorf("needs without a class: %v", err)
	}
	if _, err := DemandOf(aPod("class", "reads", "load", "100/s", "least-throughput", "101/s")); err == nil ||
		!strings.Contains(err.Error(), LoadAnnotation) {
		t.Errorf("it is to do more than it is asked for: %v", err)
	}
	bomb := "a: &a [x,x,x,x,x,x,x,x,x], b: &b [*a,*a,*a,*a,*a,*a,*a], c: &c [*b,*b,*b,*b,*b,*b], d: [*c,*c,*c,*c,*c,*c,*c]"
	for _, limits := range []string{bomb, strings.Repeat("{", 900), strings.Repeat("memory: 1GiB,", 1000),
		"memory: 1GiB}\n{cpus: 1", "cpus: 1, cpus: 2", "cpus: .inf", "cpus: NaN", "[1, 2]", "read-iops: 1e400"} {
		if d, err := DemandOf(aPod("class", "reads", "limits", limits)); err == nil {
			t.Errorf("limits %q were taken: %+v", limits, d)
		}
	}
	for i := range 2*mostDemands + 10 { // pods may say what they like, for ever
		aDemand(t, "class", fmt.Sprint("c", i))
	}
	if n := demands.size(); n > 2*mostDemands {
		t.Errorf("%d demands are kept", n)
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
	never := []*Demand{aDemand(t, "class", "reads", "least-throughput", needs)}
	for range 60 {
		never = append(never, aDemand(t, "class", "writes"))
	}
	few := aPod("class", "computes", "drive", "sata")
	few.Spec.Containers = []corev1.Container{{Resources: corev1.ResourceRequirements{
		Limits: corev1.ResourceList{"cpu": resource.MustParse("50m")}}}}
	light, err := DemandOf(few)
	if err != nil {
		t.Fatal(err)
	}
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

// Pods that are asked for a tenth of what they could do leave room for more of them, and are predicted to do that
// tenth.
func TestOfferedLoad(t *testing.T) {
	k := aKind(t, "big", bigHost)
	alone := k.Judge(Standing{}, aDemand(t, "class", "writes"))
	most, limit := alone.Rate, fmt.Sprintf("%.0fus", 3e6*alone.P99)
	asked := fmt.Sprintf("%.3f/s", most/10)
	carries := func(d *Demand) (n int) {
		var there []*Demand
		for n = range 200 {
			if v := k.Judge(Stand(there), d); v.Broken != "" || v.Unknown != "" {
				break
			}
			there = append(there, d)
		}
		return n
	}
	idle := aDemand(t, "class", "writes", "load", asked, "p99-limit", limit)
	if v := k.Judge(Standing{}, idle); math.Abs(v.Rate/(most/10)-1) > 0.01 {
		t.Errorf("of %.0f/s, asked for %s, it does %.0f/s", most, asked, v.Rate)
	}
	busy := aDemand(t, "class", "writes", "p99-limit", limit)
	of, full := carries(idle), carries(busy)
	if of <= full {
		t.Errorf("a node carries %d that are asked for a tenth, and %d at their most", of, full)
	}
	// What is said to be asked for above what it can do is what was measured.
	if v := k.Judge(Standing{}, aDemand(t, "class", "writes", "load", "1000000000/s")); v.Rate != most {
		t.Errorf("%v/s, and %v/s at most", v.Rate, most)
	}
	// Neighbors are hurt less, too.
	reader := aDemand(t, "class", "reads")
	beside := func(d *Demand) float64 { return k.Judge(Stand([]*Demand{d, d, d, d}), reader).Rate }
	if beside(idle) <= beside(busy) {
		t.Errorf("a reader does %v/s beside idle writers, and %v/s beside busy ones", beside(idle), beside(busy))
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
		"label":       {},
		"neither":     {ObjectMeta: labelled},
		"not a model": {ObjectMeta: labelled, Data: map[string]string{modelKey: "{}"}},
		"more than":   packed(bomb.Bytes()),
		packedKey:     packed([]byte("x")),
	} {
		if _, err := ParseKind(c); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
	var file bytes.Buffer
	if err := modeltest.ThreeClasses().Write(&file); err != nil {
		t.Fatal(err)
	}
	if _, err := ConfigMap("big", file.Bytes(), "{drives: {a: nothing}, colour: red}", ""); err == nil ||
		!strings.Contains(err.Error(), "nothing") || !strings.Contains(err.Error(), "colour") {
		t.Error(err)
	}
}

// A kind has each drive of one of its nodes, whichever the classes stood on. Those of other nodes are the same ones.
func TestDrivesOfAKind(t *testing.T) {
	drive := func(name, host, on string) model.Drive {
		d := modeltest.ThreeClasses().Drives[0]
		d.Name, d.Host, d.On = name, host, on
		return d
	}
	all := []model.Drive{drive("data", "a", "nvme1n1"), drive("data#2", "b", "nvme1n1"), drive("again", "a", "nvme1n1"),
		drive("wal", "a", "nvme2n1"), drive("wal#2", "b", "nvme2n1")}
	for _, c := range []struct {
		stood string
		want  []string
	}{{"data", []string{"data", "wal"}}, {"wal", []string{"wal", "data"}}, {"", []string{"data", "wal"}}} {
		m := modeltest.ThreeClasses()
		m.Drives = all
		for i := range m.Classes {
			m.Classes[i].Drive = c.stood
		}
		var file bytes.Buffer
		if err := m.Write(&file); err != nil {
			t.Fatal(err)
		}
		k, err := ParseKind(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{KindLabel: "a"}},
			Data: map[string]string{modelKey: file.String()}})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, d := range k.Host.Drives {
			got = append(got, d.Name)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("of classes on %q it has %v, not %v", c.stood, got, c.want)
		}
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
			k.looked.young, k.judged.young = nil, nil
			k.Judge(there, d)
		}
	})
}

// Limits on devices count on a node with the label, while the pod that holds them there is ready.
func TestLimitsCountWhileTheirPodIsReady(t *testing.T) {
	k := withDrivesFile(t, someDrives)
	labelled := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n", Labels: map[string]string{HeldLabel: "true"}}}
	holder := func(namespace, app, node string, ready corev1.ConditionStatus) *corev1.Pod {
		return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Labels: map[string]string{"app": app}},
			Spec: corev1.PodSpec{NodeName: node}, Status: corev1.PodStatus{Conditions: []corev1.PodCondition{{
				Type: corev1.PodReady, Status: ready}}}}
	}
	const name = "plimsoll-limits"
	gone := holder(name, name, "n", corev1.ConditionTrue)
	gone.DeletionTimestamp = &metav1.Time{}
	d := aDemand(t, "class", "writes", "limits", "write-iops: 5")
	limited, free := k.JudgeOn(labelled, Standing{held: true}, d, nil), k.JudgeOn(labelled, Standing{}, d, nil)
	if limited.Rate >= free.Rate {
		t.Fatalf("a limit changes nothing: %+v and %+v", limited, free)
	}
	for _, c := range []struct {
		node *corev1.Node
		pod  *corev1.Pod
		want Verdict
	}{
		{labelled, holder(name, name, "n", corev1.ConditionTrue), limited},
		{labelled, holder(name, name, "n", corev1.ConditionFalse), free},
		{labelled, holder("tenant", name, "n", corev1.ConditionTrue), free},
		{labelled, holder(name, "other", "n", corev1.ConditionTrue), free},
		{labelled, holder(name, name, "other", corev1.ConditionTrue), free},
		{labelled, gone, free},
		{&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}}, holder(name, name, "n", corev1.ConditionTrue), free},
	} {
		there := OnNode(c.node, k, slices.Values([]*corev1.Pod{c.pod}), theClaims(t), func(string) bool { return true })
		if got := k.JudgeOn(c.node, there, d, nil); got.Rate != c.want.Rate {
			t.Errorf("%v of %v on %v: %+v, not %+v", c.pod.Status, c.pod.ObjectMeta, c.node.Labels, got, c.want)
		}
	}
}
