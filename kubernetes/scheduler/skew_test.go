package scheduler

import (
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"

	"plimsoll/kubernetes/iofit"
	"plimsoll/kubernetes/kubetest"
)

// The shipped program, with the shipped configuration, its rights and its leader election, places pods by IOFit. It may
// be compiled with another minor version of Kubernetes than this API server.
func TestSkew(t *testing.T) {
	program := os.Getenv("PLIMSOLL_KUBE_PROGRAM")
	if program == "" {
		t.Skip("make kube-skew builds the programs that this needs, and runs it")
	}
	c := start(t)
	c.until("the API server has made kube-system", func() bool {
		_, err := c.CoreV1().Namespaces().Get(t.Context(), "kube-system", metav1.GetOptions{})
		return err == nil
	})
	for _, folder := range []string{"models", "scheduler", "limits"} {
		c.apply(folder)
	}
	version, err := c.Discovery().ServerVersion()
	c.must(err)
	out, err := exec.CommandContext(t.Context(), program, "--version").CombinedOutput()
	c.must(err)
	t.Logf("API server %s, %s", version.GitVersion, out)

	dir := t.TempDir()
	as := kubetest.Kubeconfig(c.as(iofit.Namespace, "scheduler").config)
	as.AuthInfos["u"].Impersonate = "system:serviceaccount:" + iofit.Namespace + ":scheduler"
	as.AuthInfos["u"].ImpersonateGroups = []string{"system:serviceaccounts", "system:authenticated"}
	kubeconfig := filepath.Join(dir, "kubeconfig")
	c.must(clientcmd.WriteToFile(as, kubeconfig))
	m, err := c.CoreV1().ConfigMaps(iofit.Namespace).Get(t.Context(), "scheduler-config", metav1.GetOptions{})
	c.must(err)
	config := filepath.Join(dir, "scheduler.yaml")
	c.must(os.WriteFile(config, []byte(m.Data["scheduler.yaml"]+"clientConnection: {kubeconfig: "+kubeconfig+"}\n"),
		0o600))
	log, err := os.Create(filepath.Join(dir, "log"))
	c.must(err)
	defer log.Close()
	p := exec.Command(program, "scheduler", "--config="+config, "--secure-port=0") //nolint:noctx // it is stopped below
	p.Stdout, p.Stderr = log, log
	c.must(p.Start())
	ended := make(chan error, 1)
	go func() { ended <- p.Wait() }()
	t.Cleanup(func() {
		_ = p.Process.Signal(syscall.SIGTERM)
		select {
		case <-ended:
		case <-time.After(time.Minute):
			_ = p.Process.Kill()
			t.Error("the scheduler does not end")
		}
		if text, err := os.ReadFile(log.Name()); t.Failed() && err == nil {
			t.Logf("%s", text[max(0, len(text)-6000):])
		}
	})

	const ours = "plimsoll-scheduler"
	c.model("big", big)
	c.node("big-1", "big")
	c.node("big-2", "")
	c.podOf(ours, "writer", "", "class", "writes")
	c.on("writer")
	c.event("writer", "Predicted")
	c.podOf(ours, "too-much", "", "class", "writes", "least-throughput", "1000000/s")
	c.event("too-much", "FailedScheduling")
	lease, err := c.CoordinationV1().Leases(iofit.Namespace).List(t.Context(), metav1.ListOptions{})
	if err != nil || len(lease.Items) != 1 || lease.Items[0].Spec.HolderIdentity == nil {
		t.Errorf("it leads without a lease: %+v, %v", lease, err)
	}
}
