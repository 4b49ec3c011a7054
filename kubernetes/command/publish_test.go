package command

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"plimsoll/kubernetes/iofit"
)

// What is measured goes into one annotation of one pod, by its status.
func TestPublisher(t *testing.T) {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: iofit.LimitsNamespace, Name: "limits-x",
		Annotations: map[string]string{"a": "b"}}}
	client := fake.NewClientset(pod)
	if err := publisher(client, "limits-x")(t.Context(), `{"u":[1,2,3,4]}`); err != nil {
		t.Fatal(err)
	}
	p, err := client.CoreV1().Pods(pod.Namespace).Get(t.Context(), pod.Name, metav1.GetOptions{})
	if err != nil || p.Annotations[iofit.UndeclaredAnnotation] != `{"u":[1,2,3,4]}` || p.Annotations["a"] != "b" {
		t.Errorf("%v, %v", p, err)
	}
	for _, a := range client.Actions() {
		if patch, is := a.(clienttesting.PatchAction); is && patch.GetSubresource() != "status" {
			t.Errorf("it patches %q of the pod", patch.GetSubresource())
		}
	}
	if err := publisher(client, "gone")(t.Context(), "{}"); err == nil ||
		!strings.Contains(err.Error(), "plimsoll-limits/gone") {
		t.Error(err)
	}
}

// Nothing can be measured with cgroups of version 1, for which alone the file systems of the node are entered.
func TestPodAndHost(t *testing.T) {
	if _, err := says(t, "limits", "--pod", "x", "--host", "/host"); err == nil ||
		!strings.Contains(err.Error(), "version 1") {
		t.Error(err)
	}
}
