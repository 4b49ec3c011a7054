package command

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"plimsoll/internal/host/cgroup"
	"plimsoll/internal/testkit/modeltest"
	"plimsoll/kubernetes/iofit"
	"plimsoll/kubernetes/usage"
)

// kindOf returns a kind with the model of three classes, of which names may be others.
func kindOf(t *testing.T, rename func(string) string) *iofit.Kind {
	t.Helper()
	m := modeltest.ThreeClasses()
	for i := range m.Classes {
		m.Classes[i].Name = rename(m.Classes[i].Name)
	}
	var text strings.Builder
	if err := m.Write(&text); err != nil {
		t.Fatal(err)
	}
	c, err := iofit.ConfigMap("storage", []byte(text.String()), "{cpus: 8, memory: 8GiB, drives: {nvme: fast}}", "")
	if err != nil {
		t.Fatal(err)
	}
	k, err := iofit.ParseKind(c)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// seenOf returns what was seen of a pod that does so many reads and writes of some bytes a second, and twice of that in
// the last interval.
func seenOf(t *testing.T, pod *corev1.Pod, reads, writes, size uint64) *observed {
	t.Helper()
	at := time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)
	var samples []usage.Sample
	for _, n := range []uint64{0, 10, 30} { // seconds of I/O, in 10 s each
		s := usage.Sample{Time: at, CPU: time.Duration(n) * time.Second / 20, Memory: 300 << 20, Private: 100 << 20,
			Counted: true, Disks: map[string]cgroup.IO{"nvme0n1": {Reads: n * reads, Writes: n * writes,
				ReadBytes: n * reads * size, WrittenBytes: n * writes * size}}}
		samples, at = append(samples, s), at.Add(10*time.Second)
	}
	o := &observed{pod: pod, source: "pod plimsoll-limits/limits-x"}
	next := 0
	read := func(context.Context) (usage.Sample, error) {
		if next == len(samples) {
			return usage.Sample{}, errors.New("it is read too often")
		}
		next++
		return samples[next-1], nil
	}
	if err := o.watch(t.Context(), read, 20*time.Second, time.Millisecond); err != nil {
		t.Fatal(err)
	}
	return o
}

func runningPod(kind, owner string, containers ...string) *corev1.Pod {
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "db-0", Labels: map[string]string{
		"pod-template-hash": "abc"}}, Spec: corev1.PodSpec{NodeName: "node-7"}}
	if kind != "" {
		p.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: kind, Name: owner, Controller: new(true)}}
	}
	for _, name := range containers {
		p.Spec.Containers = append(p.Spec.Containers, corev1.Container{Name: name})
	}
	return p
}

// patch is what the file says, as kubectl patch takes it.
type patch struct {
	Metadata metav1.ObjectMeta
	Spec     struct {
		Template corev1.PodTemplateSpec
	}
}

// The file is a patch of what makes the pod: its annotations are those that a scheduler reads, with what was seen.
func TestProposal(t *testing.T) {
	o := seenOf(t, runningPod("ReplicaSet", "db-abc", "server"), 100, 300, 4096)
	text, err := o.propose(kindOf(t, strings.Clone), "")
	if err != nil {
		t.Fatal(err)
	}
	var p patch
	if err := yaml.UnmarshalStrict([]byte(text), &p); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	notes := p.Spec.Template.Annotations
	d, err := iofit.DemandOf(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Annotations: notes}})
	if err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	// The last interval had 200 reads and 600 writes a second, of 4 KiB, and a tenth of a CPU.
	if d.Class != "writes" || d.LeastRate <= 0 || d.Load <= d.LeastRate || d.Limits.Read.OperationsPerSecond != 300 ||
		d.Limits.Write.OperationsPerSecond != 900 || d.Limits.Write.BytesPerSecond != 4e6 {
		t.Errorf("%+v: %s", d, text)
	}
	limits := p.Spec.Template.Spec.Containers[0].Resources.Limits
	if limits.Cpu().String() != "200m" || limits.Memory().String() != "384Mi" {
		t.Errorf("%v: %s", limits, text)
	}
	for _, want := range []string{
		"kubectl --namespace shop patch deployment db --patch-file", "plimsoll.dev/p99-limit:",
		"read 3 times in 20s by pod plimsoll-limits/limits-x, at 2026-11-29 12:00 UTC",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in %s", want, text)
		}
	}
	// The demand is what was seen: its I/Os are those of the class's operations.
	k := kindOf(t, strings.Clone)
	alone := k.Judge(iofit.Standing{}, d)
	perOperation := (alone.Device.Reads + alone.Device.Writes) / alone.Rate
	if ios := d.LeastRate * perOperation; ios < 500 || ios > 620 { // 600, rounded down to two digits
		t.Errorf("it asks for %g I/Os a second, and did 600: %s", ios, text)
	}
}

// Without a model, or a class that is like it, the file has the workload to measure, and no class.
func TestProposalWithoutAClass(t *testing.T) {
	for note, o := range map[string]*observed{
		"nodes of kind storage have no model": seenOf(t, runningPod("StatefulSet", "db", "server", "proxy"), 700, 300, 16384),
		"":                                    seenOf(t, runningPod("", "", "server"), 700, 300, 1<<20),
	} {
		kind := kindOf(t, strings.Clone)
		if note != "" {
			kind = nil
		}
		text, err := o.propose(kind, note)
		if err != nil {
			t.Fatal(err)
		}
		var p patch
		if err := yaml.UnmarshalStrict([]byte(text), &p); err != nil {
			t.Fatalf("%v: %s", err, text)
		}
		for _, notes := range []map[string]string{p.Metadata.Annotations, p.Spec.Template.Annotations} {
			if notes[iofit.ClassAnnotation] != "" || notes[iofit.LeastAnnotation] != "" {
				t.Errorf("it has a class: %s", text)
			}
		}
		if !strings.Contains(text, "rw: randrw, rwmixread: 70, bs: ") || !strings.Contains(text, note) {
			t.Errorf("it has no workload: %s", text)
		}
	}
}

// A class that does fewer I/Os on an empty node than the pod does, or computes far more for each, is not proposed: the
// pod would wait for ever, or its processors would be those of another.
func TestProposalCanBePlaced(t *testing.T) {
	for name, o := range map[string]*observed{
		"too many": seenOf(t, runningPod("StatefulSet", "db", "server"), 1_000_000, 3_000_000, 4096),
		"computes": func() *observed {
			o := seenOf(t, runningPod("StatefulSet", "db", "server"), 100, 300, 4096)
			o.all.CPUs *= 100
			return o
		}(),
	} {
		text, err := o.propose(kindOf(t, strings.Clone), "")
		if err != nil || !strings.Contains(text, "No class of the model is like it") {
			t.Errorf("%s: %v: %s", name, err, text)
		}
	}
}

// What objects and models say ends no comment, and a kernel that counts nothing is no pod that does nothing.
func TestAttackProposal(t *testing.T) {
	evil := "x\n\nkind: Secret\u2028# \x1b[2J"
	o := seenOf(t, runningPod("StatefulSet", "db", "server"), 100, 300, 4096)
	o.pod.Spec.NodeName, o.source = evil, evil
	text, err := o.propose(kindOf(t, func(name string) string { return name + evil }), evil)
	if err != nil {
		t.Fatal(err)
	}
	var p patch
	if err := yaml.UnmarshalStrict([]byte(text), &p); err != nil {
		t.Errorf("%v: %q", err, text)
	}
	if strings.ContainsAny(text, "\x1b\u2028") || strings.Contains(text, "\nkind:") {
		t.Errorf("%q", text)
	}
	o.last.Counted = false
	text, err = o.propose(nil, "")
	if err != nil || strings.Contains(text, "reads/s") || !strings.Contains(text, "I/O is not known") {
		t.Errorf("%v: %s", err, text)
	}
	for _, args := range [][]string{{"db-0"}, {"a/b/c"}, {"shop/"}, {"shop/db", "--every", "1ms"},
		{"shop/db", "--for", "1s", "--every", "5s"}} {
		if _, err := says(t, append([]string{"class"}, args...)...); err == nil {
			t.Errorf("%q is taken", args)
		}
	}
}

// Another pod's counters, or a clock that went back, are no rates.
func TestWatchIsOfOnePod(t *testing.T) {
	at := time.Unix(100, 0)
	sample := func(after, reads int) usage.Sample {
		return usage.Sample{Time: at.Add(time.Duration(after) * time.Second),
			Disks: map[string]cgroup.IO{"sda": {Reads: uint64(reads)}}}
	}
	for name, all := range map[string][]usage.Sample{
		"replaced": {sample(0, 100), sample(1, 5)}, "clock": {sample(5, 1), sample(5, 2)},
	} {
		o := &observed{pod: runningPod("", "", "c")}
		read := func(context.Context) (usage.Sample, error) {
			s := all[0]
			all = all[1:]
			return s, nil
		}
		if err := o.watch(t.Context(), read, time.Hour, time.Millisecond); err == nil {
			t.Errorf("%s: it has rates", name)
		}
	}
}
