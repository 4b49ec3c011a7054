package nodetest

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/framework/runtime"

	"plimsoll/internal/result"
	"plimsoll/internal/result/store"
	"plimsoll/internal/testkit/modeltest"
	"plimsoll/kubernetes/iofit"
	"plimsoll/kubernetes/kubetest"
	"plimsoll/kubernetes/scheduler"
)

// placesByModels gives nodes of the kind big a fast drive and those of the kind small a slow one, and has
// IOFit place pods by a model of both.
func (k *cluster) placesByModels() {
	k.t.Helper()
	_, err := k.client.CoreV1().Namespaces().Create(k.t.Context(),
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: iofit.Namespace}}, metav1.CreateOptions{})
	if err != nil {
		k.t.Fatal(err)
	}
	var file bytes.Buffer
	if err := modeltest.ThreeClasses().Write(&file); err != nil {
		k.t.Fatal(err)
	}
	for kind, host := range map[string]string{
		"big": `{cpus: 8, memory: 32GiB, drives: {nvme: fast}}`, "small": `{cpus: 4, memory: 8GiB, drives: {sata: slow}}`,
	} {
		m, err := iofit.ConfigMap(kind, file.Bytes(), host, "")
		if err == nil {
			_, err = k.client.CoreV1().ConfigMaps(iofit.Namespace).Create(k.t.Context(), m, metav1.CreateOptions{})
		}
		if err != nil {
			k.t.Fatal(err)
		}
	}
	kubetest.Schedule(k.t, k.config, runtime.Registry{scheduler.Name: scheduler.New})
}

// databasePod is a pod of PostgreSQL that anyone on this machine may ask, on a port of it.
func databasePod(name string, port int) *corev1.Pod {
	user, volume := int64(999), []corev1.VolumeMount{{Name: "data", MountPath: "/data"}}
	empty := corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}
	part := func(name string, args ...string) corev1.Container {
		return corev1.Container{Name: name, Image: "test.invalid/postgresql:1", ImagePullPolicy: corev1.PullIfNotPresent,
			VolumeMounts: volume, Command: args}
	}
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default"},
		Spec: corev1.PodSpec{
			RestartPolicy: corev1.RestartPolicyNever, HostNetwork: true,
			SecurityContext: &corev1.PodSecurityContext{RunAsUser: &user, RunAsGroup: &user, FSGroup: &user},
			Volumes:         []corev1.Volume{{Name: "data", VolumeSource: empty}},
			InitContainers: []corev1.Container{
				part("init", "initdb", "--pgdata=/data/db", "--username=plimsoll", "--auth=trust", "--no-instructions"),
			},
			Containers: []corev1.Container{
				part("server", "postgres", "-D", "/data/db", "-k", "/data", "-p", strconv.Itoa(port),
					"-c", "listen_addresses=127.0.0.1"),
			},
		},
	}
}

// drive has plimsoll measure such a database for two seconds, twice, and returns its operations a second
// each time.
func (k *cluster) drive(name string, port int) (rates []float64) {
	k.t.Helper()
	dir := filepath.Join(k.dir, name)
	write(k.t, dir+".yaml", `name: drive
question: Does the database of a pod serve?
repeat: 1
trials: 2
runtime: 2s
stacks: {there: elsewhere}
workloads:
  A: {ycsb: {workload: A, records: 500, threads: 2, database: {postgresql: {dsn: "env:PLIMSOLL_TEST_DSN", load: true}}}}
`)
	run := exec.CommandContext(k.t.Context(), k.program("../plimsoll"), //nolint:gosec // ours
		"run", dir+".yaml", "--quiet", "--state-dir", filepath.Join(k.dir, "state"), "--output", dir)
	run.Env = append(os.Environ(),
		fmt.Sprintf("PLIMSOLL_TEST_DSN=postgres://plimsoll@127.0.0.1:%d/postgres?sslmode=disable", port))
	if text, err := run.CombinedOutput(); err != nil {
		k.t.Fatalf("%v: %s", err, text)
	}
	got, err := store.Read(dir)
	if err != nil {
		k.t.Fatal(err)
	}
	for _, trial := range got.Trials {
		if trial.Status == result.TrialDone {
			rates = append(rates, trial.Measured().IOPS())
		}
	}
	return rates
}

// placedBy has the nodes' kind fitted to what a fleet measured, and pods placed by the annotations that fleet fit
// prints: they run, and the second scheduler says what each is to do.
func (k *cluster) placedBy(results string) {
	k.t.Helper()
	k.kubectl("apply", "-k", "../manifests/models")
	fit := exec.CommandContext(k.t.Context(), k.program("plimsoll-kubernetes"), //nolint:gosec // ours
		"fleet", "fit", results, "--kubeconfig", k.kubeconfig)
	text, err := fit.CombinedOutput()
	k.t.Logf("%s", text)
	if err != nil || !strings.Contains(string(text), "Nodes of kind storage have a model") {
		k.t.Fatal(err)
	}
	lines := regexp.MustCompile(`(?m)^    plimsoll\.dev/(class|drive): (\S+)`).FindAllStringSubmatch(string(text), -1)
	said := map[string][]string{}
	for _, line := range lines {
		said[line[1]] = append(said[line[1]], line[2])
	}
	if len(said["class"]) == 0 || len(said["drive"]) != 1 { // both nodes have the disk of this machine
		k.t.Fatalf("annotations to paste: %v", said)
	}
	name := "plimsoll-scheduler"
	kubetest.Schedule(k.t, k.config, runtime.Registry{scheduler.Name: scheduler.New},
		func(c *config.KubeSchedulerConfiguration) { c.Profiles[0].SchedulerName = name })
	pods := k.client.CoreV1().Pods("default")
	for _, class := range said["class"] {
		p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "of-" + strings.ToLower(class), Annotations: map[string]string{
			iofit.ClassAnnotation: class, iofit.DriveAnnotation: said["drive"][0], iofit.UnknownAnnotation: "Deny",
		}}}
		p.Spec.SchedulerName, p.Spec.HostNetwork = name, true
		p.Spec.Containers = []corev1.Container{{Name: "c", Image: "test.invalid/pause:1",
			ImagePullPolicy: corev1.PullIfNotPresent}}
		p, err := pods.Create(k.t.Context(), p, metav1.CreateOptions{})
		if err != nil {
			k.t.Fatal(err)
		}
		until(k.t, p.Name+" runs, and it is said what it is to do", func() error {
			p, err := pods.Get(k.t.Context(), p.Name, metav1.GetOptions{})
			if err == nil && p.Status.Phase != corev1.PodRunning {
				err = fmt.Errorf("%s: %v", p.Status.Phase, p.Status.Conditions)
			}
			if err != nil {
				return err
			}
			all, err := k.client.EventsV1().Events("default").List(k.t.Context(), metav1.ListOptions{})
			if err != nil {
				return err
			}
			for _, e := range all.Items {
				if e.Regarding.UID == p.UID && e.Reason == "Predicted" {
					k.t.Log(e.Note)
					return nil
				}
			}
			return errors.New("it runs, and nothing is predicted of it")
		})
	}
}

// kubectl runs that.
func (k *cluster) kubectl(args ...string) {
	k.t.Helper()
	args = append([]string{"kubectl", "--kubeconfig", k.kubeconfig}, args...)
	c := exec.CommandContext(k.t.Context(), filepath.Join(k.bin, "hyperkube"), args...) //nolint:gosec // ours
	if text, err := c.CombinedOutput(); err != nil {
		k.t.Fatalf("kubectl %v: %v: %s", args[3:], err, text)
	}
}

// IOFit places pods on real nodes by what their kinds carry; they run there, databases serve there, and
// one that fits nowhere stays pending and says why.
func TestPodsArePlacedAndRun(t *testing.T) {
	k := start(t)
	images := []string{
		k.image("pause:1", map[string]string{"/pause": filepath.Join(k.bin, "pause")}, "/pause"),
		k.image("fio:1", k.withLibraries("fio"), "/usr/bin/fio"),
		k.postgresql(),
	}
	var names []string
	for i, kind := range []string{"big", "small"} {
		names = append(names, k.add(i, kind, images...).name)
	}
	k.placesByModels()
	pods := k.client.CoreV1().Pods("default")
	for name, least := range map[string]string{"writer": "1500/s", "hopeless": "900000/s"} {
		p := fioPod(name, t.TempDir(), "")
		p.Annotations = map[string]string{"plimsoll.dev/class": "writes", "plimsoll.dev/least-throughput": least}
		if _, err := pods.Create(t.Context(), p, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("the pod that was placed: %.0f IOPS", k.iops("writer"))
	p, err := pods.Get(t.Context(), "writer", metav1.GetOptions{})
	if err != nil || p.Spec.NodeName != names[0] {
		t.Errorf("it ran on %q, and not on the node with the fast drive, %s: %v", p.Spec.NodeName, names[0], err)
	}
	// Either node does what the small database is to do, and only one what the large one is to.
	for _, is := range [][]string{{"small-db", "200/s"}, {"large-db", "9000/s"}} {
		name, least, port := is[0], is[1], free(t, "127.0.0.1")
		p := databasePod(name, port)
		p.Annotations = map[string]string{"plimsoll.dev/class": "writes", "plimsoll.dev/least-throughput": least}
		if _, err := pods.Create(t.Context(), p, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		until(t, name+" runs", func() error {
			p, err := pods.Get(t.Context(), name, metav1.GetOptions{})
			if err == nil && p.Status.Phase != corev1.PodRunning {
				err = fmt.Errorf("%s: %v", p.Status.Phase, p.Status.Conditions)
			}
			if err == nil && name == "large-db" && p.Spec.NodeName != names[0] {
				t.Errorf("%s runs on %s", name, p.Spec.NodeName)
			}
			return err
		})
		rates := k.drive(name, port)
		t.Logf("%s: %.0f operations a second", name, rates)
		if len(rates) != 2 {
			t.Errorf("%s: %d of 2 trials are done", name, len(rates))
		}
	}
	until(t, "the pod that fits nowhere says why", func() error {
		p, err := pods.Get(t.Context(), "hopeless", metav1.GetOptions{})
		if err != nil {
			return err
		}
		for _, c := range p.Status.Conditions {
			if c.Type == corev1.PodScheduled && p.Status.Phase == corev1.PodPending &&
				strings.Contains(c.Message, "of the 900000 operations a second that it is to do") {
				t.Log(c.Message)
				return nil
			}
		}
		return fmt.Errorf("%s: %v", p.Status.Phase, p.Status.Conditions)
	})
}
