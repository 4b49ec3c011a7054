package nodetest

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"plimsoll/internal/testkit/modeltest"
	"plimsoll/kubernetes/fleet"
	"plimsoll/kubernetes/iofit"
	"plimsoll/kubernetes/kubetest"
)

// The chart is installed with all its parts by Helm, into a cluster with two kubelets, and uninstalled: the models that
// were made meanwhile, and those from before, are kept with their namespace, and so are those of fleets and limits.
func TestUninstallKeepsModels(t *testing.T) {
	k := start(t)
	pause := k.image("pause:1", map[string]string{"/pause": filepath.Join(k.bin, "pause")}, "/pause")
	agent := k.image("agent:1", map[string]string{
		"/usr/local/bin/plimsoll-kubernetes": k.program("plimsoll-kubernetes"),
	}, "plimsoll-kubernetes")
	kubetest.Schedule(t, k.config, nil)
	for i := range 2 {
		k.kubectl("label", "node", k.add(i, "storage", pause, agent).name, "node-role.kubernetes.io/control-plane=")
	}
	k.kubectl("apply", "-k", "../manifests/models") // as the tutorial has it, before Helm comes
	file := filepath.Join(k.dir, "model.json")
	var text strings.Builder
	if err := modeltest.ThreeClasses().Write(&text); err != nil {
		t.Fatal(err)
	}
	write(t, file, text.String())
	fit := func(kind string) {
		t.Helper()
		c := exec.CommandContext(t.Context(), k.program("plimsoll-kubernetes"), //nolint:gosec // ours
			"fleet", "fit", "--kind", kind, "--model", file, "--kubeconfig", k.kubeconfig)
		if said, err := c.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, said)
		}
	}
	fit("before")
	k.helm("install", "p", "../manifests", "--take-ownership",
		"--set", "extender.enabled=true,limits.enabled=true,fleet.enabled=true,image.repository=test.invalid/agent",
		"--set-string", "image.tag=1")
	pods := func(want int) {
		t.Helper()
		until(t, fmt.Sprintf("the release has %d pods on nodes", want), func() error {
			all, err := k.client.CoreV1().Pods(iofit.Namespace).List(t.Context(), metav1.ListOptions{})
			if err != nil {
				return err
			}
			on := 0
			for _, p := range all.Items {
				if p.Status.HostIP != "" { // its kubelet has it
					on++
				}
			}
			if on != want || len(all.Items) != want {
				return fmt.Errorf("%d of %d pods are on nodes", on, len(all.Items))
			}
			return nil
		})
	}
	pods(3) // of the extender on each node, and of the scheduler; no node has the label of limits
	fit("meanwhile")
	deployments := k.client.AppsV1().Deployments(iofit.Namespace)
	if all, err := deployments.List(t.Context(), metav1.ListOptions{}); err != nil || len(all.Items) != 1 {
		t.Fatalf("%d deployments are installed, %v", len(all.Items), err)
	}
	k.helm("uninstall", "p")
	pods(0)
	if all, err := deployments.List(t.Context(), metav1.ListOptions{}); err != nil || len(all.Items) != 0 {
		t.Errorf("%d deployments are left, %v", len(all.Items), err)
	}
	for _, kind := range []string{"before", "meanwhile"} {
		_, err := k.client.CoreV1().ConfigMaps(iofit.Namespace).Get(t.Context(), "model-"+kind, metav1.GetOptions{})
		if err != nil {
			t.Errorf("the model of %s: %v", kind, err)
		}
	}
	for _, name := range []string{iofit.Namespace, fleet.Namespace, "plimsoll-limits"} {
		of, err := k.client.CoreV1().Namespaces().Get(t.Context(), name, metav1.GetOptions{})
		if err != nil || of.DeletionTimestamp != nil {
			t.Errorf("namespace %s is deleted: %v", name, err)
		}
	}
	_, err := k.client.SchedulingV1().PriorityClasses().Get(t.Context(), fleet.PriorityClass, metav1.GetOptions{})
	if !apierrors.IsNotFound(err) {
		t.Errorf("what is no namespace goes with the release: %v", err)
	}
}

// helm runs that, in the namespace of the scheduler.
func (k *cluster) helm(args ...string) {
	k.t.Helper()
	args = append(args, "--kubeconfig", k.kubeconfig, "--namespace", iofit.Namespace)
	c := exec.CommandContext(k.t.Context(), filepath.Join(k.bin, "helm"), args...) //nolint:gosec // ours
	c.Env = append(c.Environ(), "HOME="+k.dir)
	text, err := c.CombinedOutput()
	k.t.Logf("%s", text)
	if err != nil {
		k.t.Fatal(err)
	}
}
