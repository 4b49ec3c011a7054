package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"plimsoll/internal/cli/buildinfo"
	"plimsoll/internal/testkit/modeltest"
	"plimsoll/kubernetes/iofit"
	"plimsoll/kubernetes/kubetest"
)

// says runs a command line, and returns what it prints.
func says(t *testing.T, args ...string) (string, error) {
	t.Helper()
	c := root()
	var out bytes.Buffer
	c.SetOut(&out)
	c.SetErr(&out)
	c.SetArgs(args)
	err := c.ExecuteContext(t.Context())
	return out.String(), err
}

// A model goes from a file to the cluster, and a plan comes of it that says what to move.
func TestFromModelToPlan(t *testing.T) {
	dir := t.TempDir()
	var file bytes.Buffer
	if err := modeltest.ThreeClasses().Write(&file); err != nil {
		t.Fatal(err)
	}
	path := func(name, text string) string {
		name = filepath.Join(dir, name)
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return name
	}
	modelFile := path("model.json", file.String())
	fast := path("fast.yaml", "{cpus: 8, memory: 8GiB, drives: {nvme: fast}}")
	slow := path("slow.yaml", "{cpus: 8, memory: 8GiB, drives: {sata: slow}}")

	config := kubetest.Start(t)
	client := kubernetes.NewForConfigOrDie(config)
	kubeconfig := filepath.Join(dir, "kubeconfig")
	if err := clientcmd.WriteToFile(kubetest.Kubeconfig(config), kubeconfig); err != nil {
		t.Fatal(err)
	}
	_, err := client.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
		Name: "plimsoll"}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	out, err := says(t, "plan", "--kubeconfig", kubeconfig)
	if err == nil || !strings.Contains(err.Error(), "has no model") {
		t.Errorf("%v: %s", err, out)
	}
	for name, host := range map[string]string{"fast": fast, "slow": slow} {
		_, err := client.CoreV1().Nodes().Create(t.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name + "-1",
			Labels: map[string]string{iofit.KindLabel: name}}, Status: corev1.NodeStatus{
			Allocatable: corev1.ResourceList{"pods": resource.MustParse("10")}}}, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for range 2 { // once more, in the place of the first
			out, err := says(t, "fleet", "fit", "--kind", name, "--model", modelFile, "--host", host, "--kubeconfig", kubeconfig)
			if err != nil || !strings.Contains(out, "Nodes of kind "+name+" have a model: ConfigMap plimsoll/model-"+name+
				", 1 nodes.") {
				t.Errorf("%v: %s", err, out)
			}
		}
	}
	for _, name := range []string{"orders-0", "orders-1", "orders-2"} {
		_, err := client.CoreV1().Pods("default").Create(t.Context(), &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name,
			Annotations: map[string]string{iofit.ClassAnnotation: "writes"}}, Spec: corev1.PodSpec{NodeName: "slow-1",
			Tolerations: []corev1.Toleration{{Operator: corev1.TolerationOpExists}},
			Containers:  []corev1.Container{{Name: "c", Image: "none"}}}}, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
	}
	page := filepath.Join(dir, "plan.html")
	out, err = says(t, "plan", "--kubeconfig", kubeconfig, "--html", page)
	if err != nil {
		t.Fatal(err)
	}
	for _, word := range []string{"slow-1", "fast-1", "default/orders-"} {
		if !strings.Contains(out, word) {
			t.Errorf("%q is not in the plan:\n%s", word, out)
		}
	}
	t.Log(out)
	if html, err := os.ReadFile(page); err != nil || !strings.Contains(string(html), "fast-1") {
		t.Error(err)
	}
}

// Who reads a kubeconfig that is none is told so.
func TestNoCluster(t *testing.T) {
	t.Setenv("KUBECONFIG", filepath.Join(t.TempDir(), "none"))
	_, err := says(t, "extender", "--listen", "127.0.0.1:0")
	if err == nil || !strings.Contains(err.Error(), "--kubeconfig") {
		t.Error(err)
	}
}

// Who binds for whoever asks does so for programs of its own node alone.
func TestBindsOnLoopbackAlone(t *testing.T) {
	for _, address := range []string{":0", "0.0.0.0:0", "[::]:0"} {
		_, err := says(t, "extender", "--bind", "--listen", address)
		if err == nil || !strings.Contains(err.Error(), "loopback address") {
			t.Errorf("%s: %v", address, err)
		}
	}
}

// Kubernetes declares a flag of that name for the whole process, which is no bool.
func TestVersion(t *testing.T) {
	said, err := says(t, "--version")
	if err != nil || !strings.HasPrefix(said, "plimsoll-kubernetes "+buildinfo.This().Version+" (") {
		t.Errorf("it says %q, %v", said, err)
	}
}
