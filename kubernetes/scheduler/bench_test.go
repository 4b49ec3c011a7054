package scheduler

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/framework/runtime"

	"plimsoll/kubernetes/iofit"
	"plimsoll/kubernetes/kubetest"
)

// BenchmarkCluster places 2,000 pods that are heavy on drives on 1,000 nodes of three
// kinds, by the default scheduler, by one that spreads by what is allocated least, and by
// IOFit: how many pods a second, and what the pods would do where they stand, by the models.
// Rounds of the three are interleaved, and the first of each is for the caches. It prints
// rather than logs: logs of benchmarks are cut, and those of the API server are long.
// Nodes are kwok's: they report as those with kubelets do, and say of pods that they run.
func BenchmarkCluster(b *testing.B) {
	const nodes, pods, rounds = 1000, 2000, 6
	kwok := os.Getenv("PLIMSOLL_KWOK")
	if kwok == "" {
		b.Skip("make bench NAME=kube builds what this needs, and runs it")
	}
	c := start(b)
	c.kwok(kwok)
	c.namespace(iofit.Namespace)
	hosts := map[string]struct {
		share  int // of nodes, in hundredths
		host   string
		cpus   string
		memory string
	}{
		"nvme":  {30, `{cpus: 16, memory: 64GiB, drives: {nvme: fast}}`, "16", "64Gi"},
		"sata":  {50, `{cpus: 16, memory: 64GiB, drives: {sata: slow}}`, "16", "64Gi"},
		"dense": {20, `{cpus: 32, memory: 128GiB, drives: {sata: slow}}`, "32", "128Gi"},
	}
	kinds := map[string]*iofit.Kind{}
	r := rand.New(rand.NewPCG(1, 2))
	var names []string
	for _, kind := range []string{"nvme", "sata", "dense"} {
		h := hosts[kind]
		c.model(kind, h.host)
		k, err := iofit.ParseKind(modelOf(b, kind, h.host))
		c.must(err)
		kinds[kind] = k
		for range nodes * h.share / 100 {
			names = append(names, kind)
		}
	}
	r.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
	c.each(nodes, func(i int) error {
		h := hosts[names[i]]
		has := corev1.ResourceList{"cpu": resource.MustParse(h.cpus), "memory": resource.MustParse(h.memory),
			"pods": resource.MustParse("110")}
		name := fmt.Sprintf("node-%04d", i)
		_, err := c.CoreV1().Nodes().Create(c.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name,
			Annotations: map[string]string{"kwok.x-k8s.io/node": "fake"},
			Labels:      map[string]string{iofit.KindLabel: names[i], corev1.LabelHostname: name}},
			Status: corev1.NodeStatus{Allocatable: has, Capacity: has}}, metav1.CreateOptions{})
		return err
	})
	c.ready(nodes)
	kinded := map[string]*iofit.Kind{}
	for i, kind := range names {
		kinded[fmt.Sprintf("node-%04d", i)] = kinds[kind]
	}
	schedulers := []struct {
		name    string
		plugins runtime.Registry
		change  func(*config.KubeSchedulerConfiguration)
	}{
		{"default", nil, nil},
		{"default again", nil, nil}, // what is held against itself: the noise
		{"least allocated", nil, leastAllocated},
		{"IOFit", registry(), nil},
	}
	rates := map[string][]float64{}
	for round := range rounds {
		for _, s := range schedulers {
			c.each(pods, c.heavy)
			var change []func(*config.KubeSchedulerConfiguration)
			if s.change != nil {
				change = append(change, s.change)
			}
			began := time.Now()
			stop := kubetest.Schedule(b, c.config, s.plugins, change...)
			stand, left := c.placed(pods)
			took := time.Since(began)
			stop()
			total, worst, broken := 0.0, 0.0, 0
			for node, there := range stand {
				rate, p99, b := kinded[node].Total(there)
				total, worst, broken = total+rate, max(worst, p99), broken+b
			}
			rate := float64(pods-left) / took.Seconds()
			if round > 0 {
				rates[s.name] = append(rates[s.name], rate)
			}
			fmt.Printf("%-16s %6.0f pods/s  %4d left  %5.0f k operations/s  worst p99 %6.1f ms  %4d pods with a limit broken\n",
				s.name, rate, left, total/1e3, worst*1e3, broken)
			c.must(c.CoreV1().Pods("default").DeleteCollection(c.Context(),
				metav1.DeleteOptions{GracePeriodSeconds: new(int64)}, metav1.ListOptions{}))
		}
	}
	for _, s := range schedulers {
		slices.Sort(rates[s.name])
		median := rates[s.name][len(rates[s.name])/2]
		base := rates["default"][len(rates["default"])/2]
		fmt.Printf("%-16s median of %d: %.0f pods/s, %.2f of the default scheduler's\n", s.name, len(rates[s.name]), median,
			median/base)
	}
}

// kwok runs the program of that name until the benchmark ends.
func (c cluster) kwok(program string) {
	dir := c.TempDir()
	kubeconfig := filepath.Join(dir, "kubeconfig")
	c.must(clientcmd.WriteToFile(kubetest.Kubeconfig(c.config), kubeconfig))
	log, err := os.Create(filepath.Join(dir, "log"))
	c.must(err)
	k := exec.Command(program, "--kubeconfig="+kubeconfig, "--config=/dev/null", //nolint:noctx // it is killed below
		"--manage-all-nodes=false", "--manage-nodes-with-annotation-selector=kwok.x-k8s.io/node=fake", "--cidr=10.100.0.0/16")
	k.Stdout, k.Stderr = log, log
	c.must(k.Start())
	c.Cleanup(func() {
		_ = k.Process.Kill()
		_ = k.Wait()
		if text, err := os.ReadFile(log.Name()); c.Failed() && err == nil {
			fmt.Printf("kwok: %s\n", text[max(0, len(text)-4000):])
		}
		_ = log.Close()
	})
}

// ready waits until so many nodes are.
func (c cluster) ready(nodes int) {
	for ready, end := 0, time.Now().Add(2*time.Minute); ready < nodes; time.Sleep(100 * time.Millisecond) {
		all, err := c.CoreV1().Nodes().List(c.Context(), metav1.ListOptions{ResourceVersion: "0"})
		c.must(err)
		ready = 0
		for i := range all.Items {
			if slices.ContainsFunc(all.Items[i].Status.Conditions, func(is corev1.NodeCondition) bool {
				return is.Type == corev1.NodeReady && is.Status == corev1.ConditionTrue
			}) {
				ready++
			}
		}
		if time.Now().After(end) {
			c.Fatalf("%d of %d nodes are ready after two minutes", ready, nodes)
		}
	}
}

// leastAllocated gives what is allocated least a weight beside which nothing else counts.
func leastAllocated(k *config.KubeSchedulerConfiguration) {
	for i := range k.Profiles[0].Plugins.MultiPoint.Enabled {
		if p := &k.Profiles[0].Plugins.MultiPoint.Enabled[i]; p.Name == "NodeResourcesFit" {
			p.Weight = 100
		}
	}
}

// each does something for numbers from 0, several at a time.
func (c cluster) each(n int, do func(int) error) {
	next := make(chan int)
	var all sync.WaitGroup
	for range 16 {
		all.Go(func() {
			for i := range next {
				if err := do(i); err != nil {
					c.Error(err)
				}
			}
		})
	}
	for i := range n {
		next <- i
	}
	close(next)
	all.Wait()
}

// heavy creates one of the pods: readers, writers and those that compute, some with limits.
func (c cluster) heavy(i int) error {
	says := [][]string{
		{"class", "reads", "least-throughput", "15000/s"},
		{"class", "writes", "least-throughput", "4000/s", "p99-limit", "5ms"},
		{"class", "computes"},
		{"class", "reads", "p99-limit", "2ms"},
		{"class", "writes"},
	}[i%5]
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("pod-%05d", i), Annotations: map[string]string{}},
		Spec: corev1.PodSpec{Tolerations: []corev1.Toleration{{Operator: corev1.TolerationOpExists}},
			Containers: []corev1.Container{{Name: "c", Image: "none", Resources: corev1.ResourceRequirements{
				Requests: corev1.ResourceList{"cpu": resource.MustParse("2"), "memory": resource.MustParse("4Gi")}}}}}}
	for k := 0; k < len(says); k += 2 {
		p.Annotations[iofit.Prefix+says[k]] = says[k+1]
	}
	_, err := c.CoreV1().Pods("default").Create(c.Context(), p, metav1.CreateOptions{})
	return err
}

// placed waits until all pods are bound, or none was for five seconds, and returns who stands where.
func (c cluster) placed(pods int) (stand map[string][]*iofit.Demand, left int) {
	last, since := -1, time.Now()
	for {
		bound, err := c.CoreV1().Pods("default").List(c.Context(), metav1.ListOptions{FieldSelector: "spec.nodeName!=",
			ResourceVersion: "0"})
		c.must(err)
		if n := len(bound.Items); n != last {
			last, since = n, time.Now()
		}
		if last == pods || time.Since(since) > 5*time.Second {
			stand = map[string][]*iofit.Demand{}
			for i := range bound.Items {
				node := bound.Items[i].Spec.NodeName
				d, err := iofit.DemandOf(&bound.Items[i])
				c.must(err)
				if d != nil {
					stand[node] = append(stand[node], d)
				}
			}
			return stand, pods - last
		}
		time.Sleep(100 * time.Millisecond)
	}
}
