package scheduler

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"plimsoll/kubernetes/iofit"
	"plimsoll/kubernetes/kubetest"
)

// A pod gets the class that its namespace names, unless it names one, or none, itself. 1.35 has such policies as a
// beta, off by default.
func TestDefaultClass(t *testing.T) {
	config := kubetest.Start(t, "--feature-gates=MutatingAdmissionPolicy=true",
		"--runtime-config=admissionregistration.k8s.io/v1beta1=true")
	c := cluster{t, kubernetes.NewForConfigOrDie(config), config}
	c.apply("defaults")
	const key = iofit.Prefix + "default-class"
	hostile := "writes\",\"" + iofit.LimitAnnotation + "\":\"read-iops: 1"
	for name, class := range map[string]string{"databases": "writes", "hostile": hostile} {
		_, err := c.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name,
			Annotations: map[string]string{key: class}}}, metav1.CreateOptions{})
		c.must(err)
	}
	c.namespace("plain")
	create := func(namespace string, annotations map[string]string) map[string]string {
		t.Helper()
		p, err := c.CoreV1().Pods(namespace).Create(t.Context(), &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{GenerateName: "p-", Annotations: annotations},
			Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "none"}}},
		}, metav1.CreateOptions{})
		c.must(err)
		return p.Annotations
	}
	class := func(namespace string, annotations map[string]string) string {
		t.Helper()
		return create(namespace, annotations)[iofit.ClassAnnotation]
	}
	c.until("the policy is in force", func() bool { return class("databases", nil) == "writes" })
	other := create("databases", map[string]string{"other.example/x": "y"})
	if other[iofit.ClassAnnotation] != "writes" || other["other.example/x"] != "y" {
		t.Errorf("annotations of a pod with others: %v", other)
	}
	for _, given := range []string{"reads", ""} {
		if got := class("databases", map[string]string{iofit.ClassAnnotation: given}); got != given {
			t.Errorf("a pod of class %q has %q", given, got)
		}
	}
	if got := create("plain", nil); len(got) != 0 {
		t.Errorf("a pod of a namespace without a default has %v", got)
	}
	if got := create("hostile", nil); len(got) != 1 || got[iofit.ClassAnnotation] != hostile {
		t.Errorf("the name of a class writes other annotations: %v", got)
	}
}
