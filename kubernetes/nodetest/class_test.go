package nodetest

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"plimsoll/kubernetes/iofit"
	"plimsoll/kubernetes/limits"
)

// agentPod is the pod of limits that the manifests have for version 1 of cgroups, which this machine has, on a node
// with the socket of its runtime.
func (n *worker) agentPod() {
	n.t.Helper()
	text, err := os.ReadFile("../manifests/limits-v1/pod.yaml")
	if err != nil {
		n.t.Fatal(err)
	}
	var d struct {
		Spec struct{ Template corev1.PodTemplateSpec }
	}
	if err := yaml.Unmarshal(text, &d); err != nil {
		n.t.Fatal(err)
	}
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "limits-x", Namespace: iofit.LimitsNamespace,
		Labels: map[string]string{"app": "plimsoll-limits"}}, Spec: d.Spec.Template.Spec}
	p.Spec.ServiceAccountName, p.Spec.PriorityClassName, p.Spec.NodeName = "", "", n.name
	p.Spec.HostNetwork, p.Spec.NodeSelector = true, nil // these nodes give pods no network
	c := &p.Spec.Containers[0]
	port := free(n.t, "127.0.0.1")
	c.Image, c.ReadinessProbe = "test.invalid/agent:1", nil
	c.Ports = []corev1.ContainerPort{{Name: limits.PortName, ContainerPort: int32(port)}} //nolint:gosec // a port
	c.Command = []string{"plimsoll-kubernetes", "limits", "--host=/host", "--socket=" + filepath.Join(n.dir, "nri.sock"),
		fmt.Sprintf("--listen=127.0.0.1:%d", port)}
	_, err = n.client.CoreV1().Namespaces().Create(n.t.Context(),
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: iofit.LimitsNamespace}}, metav1.CreateOptions{})
	if err == nil {
		_, err = n.client.CoreV1().Pods(iofit.LimitsNamespace).Create(n.t.Context(), p, metav1.CreateOptions{})
	}
	if err != nil {
		n.t.Fatal(err)
	}
}

// What a pod on a real node does is read by the pod of limits there, and proposed as limits that hold it: its reads,
// which are held to 300 a second.
func TestClassOfAPod(t *testing.T) {
	k := start(t)
	k.placesByModels()
	n := k.add(0, "big", k.image("pause:1", map[string]string{"/pause": filepath.Join(k.bin, "pause")}, "/pause"),
		k.image("fio:1", k.withLibraries("fio"), "/usr/bin/fio"),
		k.image("agent:1", map[string]string{"/usr/local/bin/plimsoll-kubernetes": k.program("plimsoll-kubernetes")},
			"plimsoll-kubernetes"))
	kubeconfig := filepath.Join(k.dir, "fleet.kubeconfig")
	if err := os.Symlink(k.kubeconfig, kubeconfig); err != nil {
		t.Fatal(err)
	}
	p := fioPod("reads", t.TempDir(), "read-iops: 300")
	args := p.Spec.Containers[0].Args
	args[slices.Index(args, "--runtime=5")] = "--runtime=1d"
	if _, err := k.client.CoreV1().Pods("default").Create(t.Context(), p, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	until(t, "it is said who could read", func() error {
		none, err := k.plimsoll(t.Context(), "class", "default/reads").CombinedOutput()
		if err == nil ||
			!strings.Contains(string(none), "no pod of limits runs on node "+n.name) {
			return fmt.Errorf("%v: %s", err, none) //nolint:errorlint // there may be none
		}
		return nil
	})
	n.agentPod()
	until(t, "the kernel counts its reads", func() error {
		text, err := k.plimsoll(t.Context(), "class", "default/reads", "--for", "1s", "--every", "1s").CombinedOutput()
		if err == nil && !strings.Contains(string(text), "Seen, mean and highest interval: 3") {
			err = errors.New("there are none")
		}
		if err != nil {
			err = fmt.Errorf("%w: %s", err, text)
		}
		return err
	})
	file := filepath.Join(k.dir, "proposed.yaml")
	for _, way := range [][]string{nil, {"--on-node"}} {
		said, err := k.plimsoll(t.Context(), append([]string{"class", "default/reads", "--for", "3s", "--every", "1s",
			"--output", file}, way...)...).CombinedOutput()
		text, readErr := os.ReadFile(file)
		t.Logf("%s\n%s", said, text)
		if err := errors.Join(err, readErr); err != nil {
			t.Fatal(err)
		}
		var patch corev1.Pod
		if err := yaml.UnmarshalStrict(text, &patch); err != nil {
			t.Fatal(err)
		}
		proposed, err := iofit.ParseLimits(patch.Annotations[iofit.LimitAnnotation])
		if err != nil {
			t.Fatal(err)
		}
		if reads := proposed.Read.OperationsPerSecond; reads < 400 || reads > 500 {
			t.Errorf("a pod that reads 300 a second is to have %d", reads)
		}
	}
}
