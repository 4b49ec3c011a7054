package iofit

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"plimsoll/internal/model"
)

// holderOf returns the pod of limits of a node, with what it measured.
func holderOf(node *corev1.Node, measured string) *corev1.Pod {
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: LimitsNamespace, Name: "limits",
		Labels: map[string]string{"app": limitsApp}, CreationTimestamp: node.CreationTimestamp,
		Annotations: map[string]string{UndeclaredAnnotation: measured}}}
	p.Spec.NodeName = node.Name
	return p
}

func aNode() *corev1.Node {
	return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n",
		CreationTimestamp: metav1.NewTime(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))}}
}

// busyPod returns a pod without a class that mounts a claim.
func busyPod(uid types.UID, claims ...string) *corev1.Pod {
	p := mounting(aPod(), claims...)
	p.UID, p.Spec.NodeName = uid, "n"
	return p
}

func all(string) bool { return true }

// What pods without a class do to a drive is taken off what it gives, and a node that cannot keep a limit then is
// rejected, in words; it is not once they are quiet, or gone.
func TestUndeclaredIO(t *testing.T) {
	claims := theClaims(t, aClaim("slow", "local-slow", ""), aClaim("fast", "", "fast"),
		aVolume("fast", "", aLocal("/mnt/nvme/1")))
	k, node := withDrivesFile(t, someDrives), aNode()
	volumes, _ := claims.Of(mounting(aPod(), "slow"))
	free := k.JudgeOn(node, Standing{}, aDemand(t, "class", "writes"), volumes)
	d := aDemand(t, "class", "writes", "least-throughput", two(free.Rate*0.9)+"/s")
	sata := slices.IndexFunc(k.Host.Drives, func(h model.HostDrive) bool { return h.Name == "sata" })
	most := float64(k.Host.Drives[sata].Is.Write.IOPS)
	judged := func(holder *corev1.Pod, others ...*corev1.Pod) Verdict {
		return k.JudgeOn(node, OnNode(node, k, slices.Values(append(others, holder)), claims, all), d, volumes)
	}
	doing := func(share float64) string {
		return FormatUndeclared(map[types.UID]Rates{"noisy": {0, share * most, 0, 0}})
	}
	v := judged(holderOf(node, doing(0.6)), busyPod("noisy", "slow"))
	if v.Limit != "least-throughput" || v.Always ||
		!strings.Contains(v.Broken, "pods without a class take 62% of drive sata") {
		t.Errorf("at 60%%: %+v", v)
	}
	classed := busyPod("noisy", "slow")
	classed.Annotations[ClassAnnotation], classed.Annotations[LoadAnnotation] = "writes", "1/s"
	ended := busyPod("noisy", "slow")
	ended.Status.Phase = corev1.PodSucceeded
	for what, quiet := range map[string]Verdict{
		"quiet":                 judged(holderOf(node, doing(0.01)), busyPod("noisy", "slow")),
		"on the other drive":    judged(holderOf(node, doing(0.6)), busyPod("noisy", "fast")),
		"gone":                  judged(holderOf(node, doing(0.6))),
		"ended":                 judged(holderOf(node, doing(0.6)), ended),
		"of a class":            judged(holderOf(node, doing(0.6)), classed),
		"nothing was measured":  judged(holderOf(node, ""), busyPod("noisy", "slow")),
		"another pod does that": judged(holderOf(node, doing(0.6)), busyPod("other", "slow")),
	} {
		if quiet.Broken != "" || strings.Contains(quiet.Note, "without a class") {
			t.Errorf("%s: %+v", what, quiet)
		}
	}
	// More than there is leaves the least that the model knows, and a pod without needs may come.
	full := OnNode(node, k, slices.Values([]*corev1.Pod{busyPod("noisy", "slow"), holderOf(node, doing(1e6/most*1e3))}),
		claims, all)
	v = k.JudgeOn(node, full, aDemand(t, "class", "writes"), volumes)
	if full.free.of(sata) != 1 || v.Broken != "" || v.Unknown != "" || !(v.Rate > 0 && v.Rate < free.Rate/2) ||
		!strings.Contains(v.Note, "93% of drive sata") {
		t.Errorf("more than the drive does: %+v", v)
	}
	_, quietKey := k.HostBeside(Standing{})
	host, busyKey := k.HostBeside(full)
	if quietKey == busyKey || !(float64(host.Drives[sata].Is.Write.IOPS) < most/8) ||
		host.Drives[1-sata].Is.Read != k.Host.Drives[1-sata].Is.Read {
		t.Errorf("to plans a busy drive is %+v", host.Drives)
	}
	// How a pod splits its I/O is not known: it counts on each of its drives, whatever its annotation says.
	both := busyPod("noisy", "slow", "fast")
	both.Annotations[DriveAnnotation] = "nvme"
	s := OnNode(node, k, slices.Values([]*corev1.Pod{both, holderOf(node, doing(0.6))}), claims, all)
	if s.free.of(sata) == parts || s.free.of(1-sata) == parts {
		t.Errorf("a pod on two drives leaves %q", s.free)
	}
}

// Where nothing is known of what stands on drives, the first has all volumes.
func TestUndeclaredWithoutDrivesFile(t *testing.T) {
	k, node, claims := aKind(t, "big", bigHost), aNode(), theClaims(t, aClaim("any", "ebs", ""))
	rates := FormatUndeclared(map[types.UID]Rates{"noisy": {float64(k.Host.Drives[0].Is.Read.IOPS) / 2, 0, 0, 0}})
	s := OnNode(node, k, slices.Values([]*corev1.Pod{busyPod("noisy", "any"), holderOf(node, rates)}), claims, all)
	if s.free.of(0) != parts/2 || s.free.of(1) != parts {
		t.Errorf("%q", s.free)
	}
}

// A tenant cannot make a node look busy, nor can what is no measurement.
func TestUndeclaredForged(t *testing.T) {
	k, node, claims := aKind(t, "big", bigHost), aNode(), theClaims(t, aClaim("any", "ebs", ""))
	free := func(h *corev1.Pod) freeDrives {
		return OnNode(node, k, slices.Values([]*corev1.Pod{busyPod("noisy", "any"), h}), claims, all).free
	}
	const full = `{"noisy":[1000000,0,0,0]}`
	if free(holderOf(node, full)) == "" {
		t.Fatal("what is measured does not count")
	}
	for what, forge := range map[string]func(h *corev1.Pod){
		"in another namespace": func(h *corev1.Pod) { h.Namespace = "default" },
		"with another label":   func(h *corev1.Pod) { h.Labels["app"] = "x" },
		"of another node":      func(h *corev1.Pod) { h.Spec.NodeName = "m" },
		"about to end":         func(h *corev1.Pod) { h.DeletionTimestamp = &node.CreationTimestamp },
		"from before the node": func(h *corev1.Pod) {
			h.CreationTimestamp.Time = node.CreationTimestamp.Add(-time.Second)
		},
		"from before time":         func(h *corev1.Pod) { h.CreationTimestamp = metav1.Time{} },
		"in a pod that is noisy":   func(h *corev1.Pod) { h.Namespace, h.UID = "shop", "noisy" },
		"on a waiting pod":         func(h *corev1.Pod) { h.Spec.NodeName = "" },
		"only as what is admitted": func(h *corev1.Pod) { h.Annotations = map[string]string{AdmittedAnnotation: full} },
	} {
		h := holderOf(node, full)
		forge(h)
		if free(h) != "" {
			t.Errorf("%s, it counts", what)
		}
	}
	for _, text := range []string{`{"noisy":[NaN,0,0,0]}`, `{"noisy":[1e999,0,0,0]}`, `{"noisy":[1e13,0,0,0]}`,
		`{"noisy":[-1,0,0,1e9]}`, `{"noisy":[1e6]}`, `{"noisy":[1e6,0,0,0,0]}`, `{"noisy":null}`, `{"noisy":["1e6",0,0,0]}`,
		`{"noisy":[1e6,0,0,0]} x`, `[1e6]`, "noisy: [1000000,0,0,0]", strings.Repeat("[", 10_000), "\x00\x1b[31m",
		`{"noisy":[1e6,0,0,0],"x":[0,0,0,-1]}`, `{"noisy":[1e6,0,0,0]}` + strings.Repeat(" ", 1<<20)} {
		if rates, err := ParseUndeclared(text); err == nil || len(err.Error()) > 500 || rates != nil {
			t.Errorf("%.60q: %v, %.600v", text, rates, err)
		}
		if free(holderOf(node, text)) != "" {
			t.Errorf("%.60q counts", text)
		}
	}
	if text := FormatUndeclared(map[types.UID]Rates{"x": {math.NaN()}}); text != "" {
		t.Errorf("NaN is written as %s", text)
	}
	want := map[types.UID]Rates{"a": {1, 2.5, 3e9, 0}, "b": {}}
	if got, err := ParseUndeclared(FormatUndeclared(want)); err != nil || got["a"] != want["a"] || len(got) != 2 {
		t.Errorf("%v, %v", got, err)
	}
}
