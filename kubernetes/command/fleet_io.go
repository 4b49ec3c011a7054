package command

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"plimsoll/kubernetes/iofit"
)

// publishIO writes what nodes of a kind have of the extended resource for I/O into their status, and returns how many
// have it. Nodes that cannot be written do not keep it from others.
func publishIO(ctx context.Context, client kubernetes.Interface, k *iofit.Kind, nodes []corev1.Node) (n int,
	err error) {
	has := map[string]any{string(iofit.IOResource): resource.NewQuantity(k.IO(), resource.DecimalSI)}
	patch, err := json.Marshal(map[string]any{"status": map[string]any{"capacity": has, "allocatable": has}})
	if err != nil {
		return 0, err
	}
	var problems []error
	for i := range nodes {
		if iofit.KindOf(&nodes[i]) != k.Name {
			continue
		}
		_, err := client.CoreV1().Nodes().Patch(ctx, nodes[i].Name, types.MergePatchType, patch, metav1.PatchOptions{},
			"status")
		if err != nil {
			problems = append(problems, fmt.Errorf("publish %s of node %s (this takes the right to patch nodes/status): %w",
				iofit.IOResource, nodes[i].Name, err))
			continue
		}
		n++
	}
	return n, errors.Join(problems...)
}
