package nodetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"

	"plimsoll/internal/result"
	"plimsoll/internal/result/store"
	"plimsoll/kubernetes/fleet"
	"plimsoll/kubernetes/kubetest"
	"plimsoll/kubernetes/node"
)

// fleetOf starts a cluster of two nodes of a kind, which take Jobs of fleets.
func fleetOf(t *testing.T) (*cluster, []*worker) {
	t.Helper()
	k := start(t)
	kubetest.Schedule(t, k.config, nil)
	pause := k.image("pause:1", map[string]string{"/pause": filepath.Join(k.bin, "pause")}, "/pause")
	agent := k.image("agent:1", map[string]string{
		"/usr/local/bin/plimsoll-kubernetes": k.program("plimsoll-kubernetes"),
		"/usr/local/bin/plimsoll":            k.program("../plimsoll"),
	}, "plimsoll-kubernetes")
	var nodes []*worker
	for i := range 2 {
		nodes = append(nodes, k.add(i, "storage", pause, agent))
	}
	apply := exec.CommandContext(t.Context(), filepath.Join(k.bin, "hyperkube"), //nolint:gosec // ours
		"kubectl", "--kubeconfig", k.kubeconfig, "apply", "-k", "../manifests/fleet")
	if text, err := apply.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	// All that follows is done as the account that the manifests have for it.
	as := kubetest.Kubeconfig(k.config)
	as.AuthInfos["u"].Impersonate = "system:serviceaccount:" + fleet.Namespace + ":fleet"
	if err := clientcmd.WriteToFile(as, filepath.Join(k.dir, "fleet.kubeconfig")); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { // no test leaves a node as it was not
		ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
		defer cancel()
		text, _ := k.plimsoll(ctx, "fleet", "clean").CombinedOutput()
		if t.Failed() {
			t.Logf("fleet clean: %s", text)
		}
		if _, err := os.Stat(node.Base); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s is left: %v", node.Base, err)
		}
	})
	return k, nodes
}

func (k *cluster) program(name string) string { return filepath.Join(filepath.Dir(k.bin), name) }

// plimsoll is plimsoll-kubernetes as a user has it.
func (k *cluster) plimsoll(ctx context.Context, args ...string) *exec.Cmd {
	args = append(args, "--kubeconfig", filepath.Join(k.dir, "fleet.kubeconfig"))
	c := exec.CommandContext(ctx, k.program("plimsoll-kubernetes"), args...) //nolint:gosec // that is what is tested
	c.Dir = k.dir
	c.Cancel = func() error { return c.Process.Kill() }
	return c
}

// experiment writes one of so many trials of a second, each in a directory of this machine.
func (k *cluster) experiment(trials int) string {
	k.t.Helper()
	file := filepath.Join(k.dir, "small.yaml")
	data := filepath.Join(k.dir, "data")
	if err := os.MkdirAll(data, 0o700); err != nil {
		k.t.Fatal(err)
	}
	write(k.t, file, `name: small
question: How fast is a directory?
repeat: `+strconv.Itoa(trials)+`
runtime: 1s
stacks: {here: "dir:`+data+`"}
workloads:
  RR: {fio: {rw: randread, bs: 4KiB, iodepth: 1, size: 4MiB, engine: psync, direct: true}}
`)
	return file
}

// results checks that every node has a whole run, of at least so many trials.
func results(t *testing.T, dir string, trials int, nodes ...*worker) {
	t.Helper()
	for _, n := range nodes {
		run, err := store.Read(filepath.Join(dir, n.name))
		if err != nil {
			t.Error(err)
			continue
		}
		if got := run.Done(); got < trials || got < len(run.Trials) || run.Status != result.RunComplete {
			t.Errorf("node %s: %d of %d trials, %s", n.name, got, trials, run.Status)
		}
	}
}

// Both nodes are measured at once, by Jobs that end, and compared.
func TestFleetRun(t *testing.T) {
	k, nodes := fleetOf(t)
	out := filepath.Join(k.dir, "out")
	text, err := k.plimsoll(t.Context(), "fleet", "run", k.experiment(4), "--nodes", "plimsoll.dev/kind=storage",
		"--image", "test.invalid/agent:1", "--out", out, "--cordon").CombinedOutput()
	t.Logf("%s", text)
	if err != nil {
		t.Fatal(err)
	}
	results(t, out, 4, nodes...)
	for _, want := range []string{"2 nodes of kind storage", "127.0.0.2: measuring", "127.0.0.3: done (2 of 2"} {
		if !strings.Contains(string(text), want) {
			t.Errorf("it does not say %q", want)
		}
	}
	page, err := os.ReadFile(filepath.Join(out, "report.html"))
	if err != nil || !bytes.Contains(page, []byte("127.0.0.3")) {
		t.Errorf("the page: %v", err)
	}
	for _, n := range nodes {
		got, err := k.client.CoreV1().Nodes().Get(t.Context(), n.name, metav1.GetOptions{})
		if err != nil || got.Spec.Unschedulable {
			t.Errorf("node %s is still cordoned: %v", n.name, err)
		}
	}
	k.nothingLeft()
}

// nothingLeft checks that fleet clean finds nothing, and nodes have nothing but the program.
func (k *cluster) nothingLeft() {
	k.t.Helper()
	status, err := k.plimsoll(k.t.Context(), "fleet", "status").CombinedOutput()
	if err != nil || string(status) != "No node is measured.\n" {
		k.t.Errorf("%v: %s", err, status)
	}
	text, err := k.plimsoll(k.t.Context(), "fleet", "clean", "--nodes", "plimsoll.dev/kind=storage", "--image",
		"test.invalid/agent:1").CombinedOutput()
	if err != nil || !strings.Contains(string(text), "127.0.0.2 is clean") ||
		!strings.Contains(string(text), "127.0.0.3 is clean") {
		k.t.Errorf("%v: %s", err, text)
	}
	if _, err := os.Stat(node.Base); !errors.Is(err, os.ErrNotExist) {
		k.t.Errorf("%s is left: %v", node.Base, err)
	}
}

// The collector, the programs on a node, and a kubelet are killed while nodes are measured:
// the run goes on, and is whole.
func TestFleetRunIsKilled(t *testing.T) {
	k, nodes := fleetOf(t)
	out, trials := filepath.Join(k.dir, "out"), 20
	ctx, kill := context.WithCancel(t.Context())
	first := k.plimsoll(ctx, "fleet", "run", k.experiment(trials), "--nodes", "plimsoll.dev/kind=storage", "--image",
		"test.invalid/agent:1", "--out", out)
	if err := first.Start(); err != nil {
		t.Fatal(err)
	}
	on := func(n *worker) string { return filepath.Join(node.Base, n.name) }
	for _, n := range nodes {
		until(t, time.Minute, n.name+" is measured", func() error {
			if all := processes(on(n)); len(all) == 0 {
				return errors.New("there is no process")
			}
			return nil
		})
	}
	kill()
	_ = first.Wait()

	// Another run cannot measure them meanwhile.
	second, err := k.plimsoll(t.Context(), "fleet", "run", k.experiment(trials), "--nodes", "plimsoll.dev/kind=storage",
		"--image", "test.invalid/agent:1", "--out", out+"2").CombinedOutput()
	if err == nil || !strings.Contains(string(second), "it is measured by run small-") {
		t.Errorf("%v: %s", err, second)
	}

	for _, n := range nodes {
		until(t, time.Minute, n.name+" did some trials", func() error {
			all, _ := filepath.Glob(filepath.Join(on(n), "*", node.RunName))
			if len(all) != 1 {
				return fmt.Errorf("there are %d runs", len(all))
			}
			run, err := store.Read(all[0])
			if err == nil && run.Done() < 2 {
				err = fmt.Errorf("%d are done", run.Done())
			}
			return err
		})
	}
	for _, pid := range processes(on(nodes[0])) {
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			t.Logf("kill %d: %v", pid, err)
		}
	}
	nodes[1].kubelet.kill()
	time.Sleep(2 * time.Second)
	nodes[1].startKubelet()

	text, err := k.plimsoll(t.Context(), "fleet", "run", "--resume", out).CombinedOutput()
	t.Logf("%s", text)
	if err != nil {
		t.Fatal(err)
	}
	results(t, out, trials, nodes...)
	k.nothingLeft()
}

// fleet clean ends what is under way, and each node undoes what it did.
func TestFleetClean(t *testing.T) {
	k, nodes := fleetOf(t)
	ctx, kill := context.WithCancel(t.Context())
	defer kill()
	run := k.plimsoll(ctx, "fleet", "run", k.experiment(500), "--nodes", "plimsoll.dev/kind=storage", "--image",
		"test.invalid/agent:1", "--out", filepath.Join(k.dir, "out"))
	var said bytes.Buffer
	run.Stderr = &said
	if err := run.Start(); err != nil {
		t.Fatal(err)
	}
	until(t, time.Minute, "both nodes are measured", func() error {
		status, err := k.plimsoll(t.Context(), "fleet", "status").CombinedOutput()
		if err != nil || strings.Count(string(status), "measuring") != len(nodes) {
			return fmt.Errorf("%v: %s", err, status) //nolint:errorlint // there may be none
		}
		return nil
	})
	text, err := k.plimsoll(t.Context(), "fleet", "clean").CombinedOutput()
	if err != nil || !strings.Contains(string(text), "Nothing of fleets is left.") {
		t.Errorf("%v: %s", err, text)
	}
	if err := run.Wait(); err == nil || !strings.Contains(said.String(), "its Job was deleted") {
		t.Errorf("%v: %s", err, said.String())
	}
	if all := processes(node.Base); len(all) > 0 {
		t.Errorf("processes are left: %v", all)
	}
	k.nothingLeft()
}

// Whatever experiment is asked for runs on both nodes: make kube-test FLEET="density --budget 6m".
func TestFleetRunOf(t *testing.T) {
	asked := strings.Fields(os.Getenv("PLIMSOLL_FLEET"))
	if len(asked) == 0 {
		t.Skip("PLIMSOLL_FLEET names no experiment")
	}
	k, nodes := fleetOf(t)
	out := os.Getenv("PLIMSOLL_FLEET_OUT")
	if out == "" {
		out = filepath.Join(k.dir, "out")
	}
	text, err := k.plimsoll(t.Context(), append([]string{"fleet", "run", "--nodes", "plimsoll.dev/kind=storage", "--image",
		"test.invalid/agent:1", "--out", out}, asked...)...).CombinedOutput()
	t.Logf("%s", text)
	if err != nil {
		t.Fatal(err)
	}
	results(t, out, 1, nodes...)
	k.nothingLeft()
}
