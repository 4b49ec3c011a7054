package scheduler

import (
	"fmt"
	"os"
	goruntime "runtime"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/kubernetes/pkg/scheduler/framework/runtime"
	"k8s.io/kubernetes/test/utils/ktesting"

	"plimsoll/kubernetes/iofit"
	"plimsoll/kubernetes/kubetest"
)

// BenchmarkLarge places pods of 300 different demands on nodes that are nearly full, with 30 such pods each: hardly any
// two nodes are alike, so that no answer is there already. There is no API server: the scheduler, its queue, caches and
// snapshots are the real ones, and what they take of memory is theirs alone. PLIMSOLL_BENCH_NODES says how many nodes.
func BenchmarkLarge(b *testing.B) {
	const each, demands, pods = 30, 300, 300
	ktesting.SetDefaultVerbosity(0)
	watch.DefaultChanSize = 1 << 16 // a fake watch that is full ends the program
	nodes, err := strconv.Atoi(os.Getenv("PLIMSOLL_BENCH_NODES"))
	if err != nil {
		b.Skip("make bench NAME=kube says how many nodes")
	}
	pod := func(i int, node string) *corev1.Pod {
		says := map[string]string{iofit.ClassAnnotation: []string{"reads", "writes", "computes"}[i%3],
			iofit.LoadAnnotation: fmt.Sprintf("%d/s", 50+i%demands)}
		if i%5 == 0 {
			says[iofit.P99Annotation] = "50ms"
		}
		p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("pod-%06d", i), Namespace: "default",
			UID: types.UID(fmt.Sprint("pod-", i)), Annotations: says}, Spec: corev1.PodSpec{NodeName: node,
			SchedulerName: corev1.DefaultSchedulerName, Containers: []corev1.Container{{Name: "c", Image: "none",
				Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{"cpu": resource.MustParse("100m"),
					"memory": resource.MustParse("1Gi")}}}}}}
		return p
	}
	var objects []apiruntime.Object
	kinds := []string{"nvme", "sata"}
	for kind, drive := range map[string]string{"nvme": "fast", "sata": "slow"} {
		m := modelOf(b, kind, "{cpus: 32, memory: 128GiB, drives: {data: "+drive+"}}")
		m.Namespace = iofit.Namespace
		objects = append(objects, m)
	}
	has := corev1.ResourceList{"cpu": resource.MustParse("32"), "memory": resource.MustParse("128Gi"),
		"pods": resource.MustParse("110")}
	for n := range nodes {
		name := fmt.Sprintf("node-%04d", n)
		objects = append(objects, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name,
			Labels: map[string]string{iofit.KindLabel: kinds[n%2], corev1.LabelHostname: name}},
			Status: corev1.NodeStatus{Allocatable: has, Capacity: has}})
		for i := range each {
			objects = append(objects, pod(n*each+i*7919, name)) // other demands on each
			objects[len(objects)-1].(*corev1.Pod).Name = fmt.Sprintf("stands-%04d-%02d", n, i)
			objects[len(objects)-1].(*corev1.Pod).UID = types.UID(fmt.Sprint("stands-", n*each+i))
		}
	}
	for _, s := range []struct {
		name    string
		plugins runtime.Registry
	}{{"default", nil}, {"IOFit", registry()}} {
		b.Run(s.name, func(b *testing.B) {
			client := fake.NewSimpleClientset(objects...)
			var bound atomic.Int64
			client.PrependReactor("create", "pods", func(a clienttesting.Action) (bool, apiruntime.Object, error) {
				if a.GetSubresource() != "binding" {
					return false, nil, nil
				}
				to := a.(clienttesting.CreateAction).GetObject().(*corev1.Binding)
				found, err := client.Tracker().Get(a.GetResource(), to.Namespace, to.Name)
				if err != nil {
					return true, nil, err
				}
				p := found.(*corev1.Pod).DeepCopy()
				p.Spec.NodeName = to.Target.Name
				err = client.Tracker().Update(a.GetResource(), p, to.Namespace)
				bound.Add(1)
				return true, to, err
			})
			before := heap()
			stop := kubetest.ScheduleFor(b, client, nil, s.plugins)
			synced := heap()
			began, busy := time.Now(), processorTime()
			for i := range pods {
				if _, err := client.CoreV1().Pods("default").Create(b.Context(), pod(i, ""), metav1.CreateOptions{}); err != nil {
					b.Fatal(err)
				}
			}
			last, since := int64(0), time.Now()
			for last < pods && time.Since(since) < time.Minute {
				time.Sleep(10 * time.Millisecond)
				if n := bound.Load(); n != last {
					last, since = n, time.Now()
				}
			}
			took, busy := since.Sub(began), processorTime()-busy
			after := heap()
			stop()
			fmt.Printf("%-8s %d nodes with %d pods each, %d demands: %.0f pods/s, %.1f ms of processors a pod, %d left; "+
				"%d MiB once it knows all, %d MiB after\n", s.name, nodes, each, demands, float64(last)/took.Seconds(),
				float64(busy.Microseconds())/1e3/pods, pods-last, (synced-before)>>20, (after-before)>>20)
		})
	}
}

// processorTime returns what this process took of processors.
func processorTime() time.Duration {
	var of unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &of); err != nil {
		panic(err) // it fails for what is no argument alone
	}
	return time.Duration(of.Utime.Nano() + of.Stime.Nano())
}

// heap returns the bytes that are in use.
func heap() int64 {
	goruntime.GC()
	var m goruntime.MemStats
	goruntime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
