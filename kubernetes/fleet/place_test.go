package fleet

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	ktesting "k8s.io/client-go/testing"

	"plimsoll/internal/result"
	"plimsoll/internal/result/hist"
)

const twoJobs = `apiVersion: batch/v1
kind: Job
metadata: {name: scan}
spec:
  parallelism: 3
  template:
    metadata: {annotations: {plimsoll.dev/class: scan, plimsoll.dev/least-throughput: 180/s}}
    spec: {containers: [{name: fio}]}
---
apiVersion: batch/v1
kind: Job
metadata: {name: lookup}
spec: {template: {spec: {containers: [{name: fio}]}}}
`

func TestReadJobs(t *testing.T) {
	jobs, err := ReadJobs([]byte(twoJobs))
	if err != nil || len(jobs) != 2 || *jobs[0].Spec.Parallelism != 3 {
		t.Fatalf("%v, %v", jobs, err)
	}
	for change, want := range map[[2]string]string{
		{"kind: Job", "kind: Pod"}:                                  "it is Pod of batch/v1",
		{"{name: lookup}", "{name: scan}"}:                          "it is there twice",
		{"parallelism: 3", "parallelism: 0"}:                        "from 1",
		{"spec: {containers", "spec: {nodeName: a, containers"}:     "schedulers place its pods in turn",
		{"180/s", "much"}:                                           "least-throughput",
		{"containers: [{name: fio}]", "containers: []"}:             "no container",
		{"parallelism", "paralelism"}:                               "paralelism",
		{"parallelism: 3", "parallelism: 30000"}:                    "30001 pods",
		{"{name: scan}", "{name: " + strings.Repeat("a", 31) + "}"}: "more than 30",
	} {
		_, err := ReadJobs([]byte(strings.Replace(twoJobs, change[0], change[1], 1)))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, and not %q", change[1], err, want)
		}
	}
}

// measured is what a pod did whose operations all took as long.
func measured(rate float64, ns uint64) *result.Measurement {
	return &result.Measurement{Seconds: 1, Operations: []result.Operation{{Name: result.Read, Count: 100, Rate: rate,
		Latency: map[result.Stage]hist.Histogram{result.Total: {Count: 100, MeanNS: float64(ns), MinNS: ns, MaxNS: ns,
			Bins: hist.Pack([]hist.Bin{{NS: ns, Count: 100}})}}}}}
}

// Rounds are pairs: what differs from round to round does not hide what schedulers do. A round that one of them lacks
// counts for none.
func TestComparePairsRounds(t *testing.T) {
	var turns []Turn
	for round := 1; round <= 5; round++ {
		drift := float64(round)
		turns = append(turns, Turn{Scheduler: "a", Round: round, Pods: []Placed{
			{Job: "scan", Node: "n", Rate: 100 * drift, HasLeast: true, LeastMissed: true, measured: measured(100*drift, 9e6)}}},
			Turn{Scheduler: "b", Round: round, Waiting: 1, Pods: []Placed{
				{Job: "scan", Node: "m", Rate: 150 * drift, HasLeast: true, measured: measured(150*drift, 3e6)}}})
	}
	turns = append(turns, Turn{Scheduler: "a", Round: 6, Pods: []Placed{
		{Job: "scan", Rate: 1e9, measured: measured(1e9, 1)},
	}})
	all := Compare([]string{"a", "b"}, turns)
	a, b := all[0], all[1]
	if r := b.Ratio; r.Pairs != 5 || r.Ratio < 1.499 || r.Ratio > 1.501 || !(r.Low > 1.49) || !(r.High < 1.51) {
		t.Errorf("%+v", r)
	}
	if a.LeastMissed != 5 || a.Least != 5 || b.LeastMissed != 0 || b.Waiting != 5 || b.Pods != 10 {
		t.Errorf("%+v, %+v", a, b)
	}
	p := &Placing{ID: "x", Schedulers: []string{"a", "b"}, Jobs: []batchv1.Job{
		{ObjectMeta: metav1.ObjectMeta{Name: "scan"}},
	}}
	got := PlacedAnswer(p, turns).Verdict
	want := "b: 1.50x the operations a second of a (1.50 to 1.50), missed 0 of 5 limits. a missed 5 of 5 limits."
	if got != want {
		t.Errorf("%s", got)
	}
	if got := PlacedAnswer(p, nil).Verdict; got != "No round ended: there is no comparison." {
		t.Error(got)
	}
}

// What fio printed in a pod is held against the pod's annotations.
func TestJudgePlaced(t *testing.T) {
	text, err := os.ReadFile("../../internal/workload/fio/testdata/outputs/libaio-randread.json")
	if err != nil {
		t.Fatal(err)
	}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p", Labels: map[string]string{jobLabel: "scan"},
		Annotations: map[string]string{"plimsoll.dev/class": "scan", "plimsoll.dev/least-throughput": "1000000000/s",
			"plimsoll.dev/p99-limit": "1ns"}}}
	got, _, err := judgePlaced(pod, text)
	if err != nil || !got.LeastMissed || !got.P99Missed || !(got.Rate > 0) || !(got.P99 > 0) {
		t.Errorf("%+v, %v", got, err)
	}
	pod.Annotations = map[string]string{"plimsoll.dev/class": "scan", "plimsoll.dev/least-throughput": "1/s",
		"plimsoll.dev/p99-limit": "50s"}
	got, _, err = judgePlaced(pod, text)
	if err != nil || got.LeastMissed || got.P99Missed || !got.HasLeast || !got.HasP99 {
		t.Errorf("%+v, %v", got, err)
	}
	for _, other := range []string{"", "not fio", string(text) + "\n" + string(text[:200])} {
		if _, _, err := judgePlaced(pod, []byte(other)); err == nil {
			t.Errorf("%.20q is taken for what fio printed", other)
		}
	}
}

// placing is a comparison in a cluster whose pods do as told, by the Job's name.
func placing(t *testing.T, does func(pod *corev1.Pod)) (*Placing, *fake.Clientset) {
	t.Helper()
	client := fake.NewClientset()
	pods, made := client.Tracker(), map[string][]string{} // pods by Job
	client.PrependReactor("create", "jobs", func(a ktesting.Action) (bool, kruntime.Object, error) {
		j := a.(ktesting.CreateAction).GetObject().(*batchv1.Job)
		for i := range *j.Spec.Parallelism {
			pod := &corev1.Pod{ObjectMeta: j.Spec.Template.ObjectMeta, Spec: j.Spec.Template.Spec}
			pod.Name, pod.Namespace = fmt.Sprintf("%s-%d", j.Name, i), j.Namespace
			made[j.Name] = append(made[j.Name], pod.Name)
			does(pod)
			if err := pods.Add(pod); err != nil {
				return true, nil, err
			}
		}
		return false, nil, nil
	})
	client.PrependReactor("delete", "jobs", func(a ktesting.Action) (bool, kruntime.Object, error) {
		var err error
		for _, name := range made[a.(ktesting.DeleteAction).GetName()] {
			err = errors.Join(err, pods.Delete(corev1.SchemeGroupVersion.WithResource("pods"), "ns", name))
		}
		return false, nil, err
	})
	jobs, err := ReadJobs([]byte(twoJobs))
	if err != nil {
		t.Fatal(err)
	}
	return &Placing{ID: "x", Namespace: "ns", Jobs: jobs, Schedulers: []string{"a", "b"}, Rounds: 2, Dir: t.TempDir(),
		Longest: time.Minute, Client: client, Tell: t.Logf, poll: time.Millisecond}, client
}

// A pod that no node is found for is left waiting, and the others are read. What failed ends the comparison, and
// nothing of it is left.
func TestPlacingLeavesNothing(t *testing.T) {
	p, client := placing(t, func(pod *corev1.Pod) {
		pod.Status.Phase = corev1.PodSucceeded
		if pod.Labels[jobLabel] == "lookup" {
			pod.Status = corev1.PodStatus{Phase: corev1.PodPending, Conditions: []corev1.PodCondition{{
				Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Message: "limits would break"}}}
		}
		if pod.Spec.SchedulerName != "a" {
			t.Errorf("pod of scheduler %q", pod.Spec.SchedulerName)
		}
	})
	// The fake client's logs are no output of fio: the turn ends after all pods did.
	if _, err := p.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "round 1, a: pod scan-") {
		t.Errorf("%v", err)
	}
	pods, waiting, err := p.wait(t.Context(), metav1.ListOptions{}, 0)
	if err != nil || waiting != 0 || len(pods) != 0 {
		t.Errorf("%d pods, %d waiting, %v", len(pods), waiting, err)
	}
	jobs, err := client.BatchV1().Jobs("ns").List(t.Context(), metav1.ListOptions{})
	if err != nil || len(jobs.Items) > 0 {
		t.Errorf("%d Jobs are left: %v", len(jobs.Items), err)
	}
}

func TestPlacingWaits(t *testing.T) {
	p, client := placing(t, func(pod *corev1.Pod) {
		pod.Status.Phase = corev1.PodSucceeded
		if pod.Labels[jobLabel] == "lookup" {
			pod.Status = corev1.PodStatus{Phase: corev1.PodPending, Conditions: []corev1.PodCondition{{
				Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Message: "limits would break"}}}
		}
	})
	for i := range p.Jobs {
		job := p.job(&p.Jobs[i], "1-1", "a")
		if _, err := client.BatchV1().Jobs("ns").Create(t.Context(), job, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	ended, waiting, err := p.wait(t.Context(), metav1.ListOptions{}, 4)
	if err != nil || waiting != 1 || len(ended) != 3 ||
		slices.ContainsFunc(ended, func(o corev1.Pod) bool { return o.Labels[jobLabel] != "scan" }) {
		t.Errorf("%d ended, %d waiting, %v", len(ended), waiting, err)
	}
	// One that does not come holds all up, until the time is over.
	over := errors.New("over")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(over)
	if _, _, err := p.wait(ctx, metav1.ListOptions{}, 5); !errors.Is(err, over) {
		t.Errorf("%v", err)
	}
}
