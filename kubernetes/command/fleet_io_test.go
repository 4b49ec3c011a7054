package command

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"plimsoll/internal/testkit/modeltest"
	"plimsoll/kubernetes/iofit"
)

// Nodes of the kind, and no others, have 1,000 for each drive; one that cannot be written does not keep it from others.
func TestPublishIO(t *testing.T) {
	var file bytes.Buffer
	if err := modeltest.ThreeClasses().Write(&file); err != nil {
		t.Fatal(err)
	}
	m, err := iofit.ConfigMap("big", file.Bytes(), "{cpus: 8, memory: 32GiB, drives: {nvme: fast, sata: slow}}", "")
	if err != nil {
		t.Fatal(err)
	}
	k, err := iofit.ParseKind(m)
	if err != nil {
		t.Fatal(err)
	}
	node := func(name, kind string) *corev1.Node {
		return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{iofit.KindLabel: kind}}}
	}
	client := fake.NewClientset(node("a", "big"), node("b", "big"), node("c", "small"))
	client.PrependReactor("patch", "nodes", func(a clienttesting.Action) (bool, runtime.Object, error) {
		patch := a.(clienttesting.PatchAction)
		if patch.GetSubresource() != "status" {
			t.Errorf("%q of a node is patched", patch.GetSubresource())
		}
		return patch.GetName() == "a", nil, errors.New("forbidden")
	})
	nodes, err := client.CoreV1().Nodes().List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	n, err := publishIO(t.Context(), client, k, nodes.Items)
	if n != 1 || err == nil || !strings.Contains(err.Error(), "node a") || strings.Contains(err.Error(), "node b") {
		t.Errorf("%d nodes: %v", n, err)
	}
	for name, want := range map[string]int64{"a": 0, "b": 2000, "c": 0} {
		is, err := client.CoreV1().Nodes().Get(t.Context(), name, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		has, may := is.Status.Capacity[iofit.IOResource], is.Status.Allocatable[iofit.IOResource]
		if has.Value() != want || may.Value() != want {
			t.Errorf("node %s has %v, and pods may have %v", name, has.Value(), may.Value())
		}
	}
}
