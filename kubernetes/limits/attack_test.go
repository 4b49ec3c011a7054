package limits

import (
	"bytes"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
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
		got, err := p.below(aPod(""), &api.Container{Mounts: []*api.Mount{bind(source, "/data")}})
		if err != nil || !slices.Equal(got, []string{majMin}) {
			t.Errorf("%s is on %v, %v", name, got, err)
		}
	}
	for _, name := range []string{"pods/1-2/containers/c/log", "io.containerd.grpc.v1.cri/sandboxes/p/shm"} {
		got, err := p.below(aPod(""), &api.Container{Mounts: []*api.Mount{bind(filepath.Join(dir, name), "/x")}})
		if err != nil || len(got) > 0 {
			t.Errorf("%s is on %v, %v", name, got, err)
		}
	}
}

// TestAttackPodsOfOthers: who reaches the port learns whether limits hold, and no name of a pod that is not held: the
// log has these, once, however often it is asked.
func TestAttackPodsOfOthers(t *testing.T) {
	var log bytes.Buffer
	p := New(slog.New(slog.NewTextHandler(&log, nil)))
	socket := filepath.Join(t.TempDir(), "nri.sock")
	if err := os.WriteFile(socket, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	p.connected(socket)
	p.synchronized()
	pod := &api.PodSandbox{Namespace: "bank", Name: "ledger-0"}
	p.keep(pod, &api.Container{Id: "c1", Name: "db"}, nil, errors.New("bank/ledger-0: nvme7n1 is not limited"))
	handler := p.Handler()
	for _, path := range []string{"/readyz", "/readyz?verbose", "/readyz", "/metrics"} {
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
		text, ok := w.Body.String(), w.Code == http.StatusOK
		if strings.Contains(text, "ledger") || strings.Contains(text, "nvme7n1") || ok != (path == "/metrics") {
			t.Errorf("%s answers %d %s", path, w.Code, text)
		}
	}
	if said := strings.Count(log.String(), "ledger-0"); said != 1 {
		t.Errorf("the log has its name %d times: %s", said, log.String())
	}
}

// Whoever reaches the port asks for pods by their uid alone, and for nothing else of the node.
func TestAttackUsage(t *testing.T) {
	h := New(slog.New(slog.DiscardHandler)).Handler()
	for path, want := range map[string]int{
		"/usage/..%2f..%2fetc%2fpasswd": http.StatusNotFound, "/usage/%00": http.StatusNotFound,
		"/usage/" + strings.Repeat("a", 1<<16): http.StatusNotFound, "/usage/": http.StatusNotFound,
		"/usage/00000000-0000-0000-0000-000000000000": http.StatusNotFound,
	} {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil))
		if w.Code != want || strings.Contains(w.Body.String(), "root:") {
			t.Errorf("%.40s: %d, %.80s", path, w.Code, w.Body.String())
		}
	}
}
