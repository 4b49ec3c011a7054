package limits

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/containerd/nri/pkg/api"
)

// A pod's volume on the node that is called like what the kubelet mounts is limited as others are.
func TestAttackVolumeCalledLikeTheKubelets(t *testing.T) {
	dir, majMin := disk(t)
	p, _, _ := aPlugin()
	for _, name := range []string{
		"pods/x/containers/data", "pods/1-2x/volumes/kubernetes.io~secret/data", "pods/p/etc-hosts",
		"io.containerd.grpc.v1.cri/sandboxes/x/shm", "pods/1-2/containers/../../x/containers/data",
	} {
		source := filepath.Join(dir, name)
		if err := os.MkdirAll(source, 0o755); err != nil {
			t.Fatal(err)
		}
		got, err := p.devices(aPod(""), &api.Container{Mounts: []*api.Mount{bind(source, "/data")}})
		if err != nil || !slices.Equal(got, []string{majMin}) {
			t.Errorf("%s is on %v, %v", name, got, err)
		}
	}
	for _, name := range []string{"pods/1-2/containers/c/log", "io.containerd.grpc.v1.cri/sandboxes/p/shm"} {
		got, err := p.devices(aPod(""), &api.Container{Mounts: []*api.Mount{bind(filepath.Join(dir, name), "/x")}})
		if err != nil || len(got) > 0 {
			t.Errorf("%s is on %v, %v", name, got, err)
		}
	}
}
