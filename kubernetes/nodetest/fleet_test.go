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
	k.kubectl("apply", "-k", "../manifests/fleet")
	// All that follows is done as the account that the manifests have for it.
	as := kubetest.Kubeconfig(k.config)
	as.AuthInfos["u"].Impersonate = "system:serviceaccount:" + fleet.Namespace + ":fleet"
	if err := clientcmd.WriteToFile(as, filepath.Join(k.dir, "fleet.kubeconfig")); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { // no test leaves a node as it was not
		ctx, cancel := context.WithTimeout(context.Background(), longest)
		defer cancel()
		text, _ := k.plimsoll(ctx, "fleet", "clean", "--all").CombinedOutput()
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

// fleetRun has both nodes measured at once. The disk of this machine may be as full as it is.
func (k *cluster) fleetRun(ctx context.Context, out string, experiment ...string) *exec.Cmd {
	return k.plimsoll(ctx, append([]string{"fleet", "run", "--nodes", "plimsoll.dev/kind=storage", "--parallel", "2",
		"--image", "test.invalid/agent:1", "--keep-free", "0%", "--output", out}, experiment...)...)
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
	text, err := k.fleetRun(t.Context(), out, k.experiment(4), "--cordon").CombinedOutput()
	t.Logf("%s", text)
	if err != nil {
		t.Fatal(err)
	}
	results(t, out, 4, nodes...)
	for _, want := range []string{"2 nodes of kind storage", ": done (2 of 2 nodes ended)"} {
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
	text, err := k.plimsoll(k.t.Context(), "fleet", "clean", "--all", "--nodes", "plimsoll.dev/kind=storage", "--image",
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
	first := k.fleetRun(ctx, out, k.experiment(trials))
	if err := first.Start(); err != nil {
		t.Fatal(err)
	}
	on := func(n *worker) string { return filepath.Join(node.Base, n.name) }
	for _, n := range nodes {
		until(t, n.name+" is measured", func() error {
			if all := processes(on(n)); len(all) == 0 {
				return errors.New("there is no process")
			}
			return nil
		})
	}
	kill()
	_ = first.Wait()

	// Another run cannot measure them meanwhile.
	second, err := k.fleetRun(t.Context(), out+"2", k.experiment(trials)).CombinedOutput()
	if err == nil || !strings.Contains(string(second), "it is measured by run small-") {
		t.Errorf("%v: %s", err, second)
	}

	did := func(n *worker, most int) (done int) { // waits until it did so many trials, or all
		until(t, fmt.Sprintf("%s did %d trials", n.name, most), func() error {
			all, _ := filepath.Glob(filepath.Join(on(n), "*", node.RunName))
			if len(all) != 1 {
				return fmt.Errorf("there are %d runs", len(all))
			}
			run, err := store.Read(all[0])
			if err == nil {
				done = run.Done()
			}
			if err == nil && done < min(most, trials) {
				err = fmt.Errorf("%d are done", done)
			}
			return err
		})
		return done
	}
	for _, n := range nodes {
		did(n, 2)
	}
	for _, pid := range processes(on(nodes[0])) {
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			t.Logf("kill %d: %v", pid, err)
		}
	}
	nodes[1].kubelet.kill()
	did(nodes[1], did(nodes[1], 2)+1) // it goes on without
	nodes[1].startKubelet()

	text, err := k.plimsoll(t.Context(), "fleet", "run", "--resume", out).CombinedOutput()
	t.Logf("%s", text)
	if err != nil {
		t.Fatal(err)
	}
	results(t, out, trials, nodes...)
	k.nothingLeft()
}

// Pods are deleted while they measure, as kubectl does it and a drain: each next pod begins when the one before has
// undone what it did, and the runs are whole.
func TestFleetPodsAreDeleted(t *testing.T) {
	k, nodes := fleetOf(t)
	out, trials := filepath.Join(k.dir, "out"), 12
	run := k.fleetRun(t.Context(), out, k.experiment(trials))
	var said bytes.Buffer
	run.Stdout, run.Stderr = &said, &said
	if err := run.Start(); err != nil {
		t.Fatal(err)
	}
	pods := k.client.CoreV1().Pods(fleet.Namespace)
	for _, n := range nodes {
		until(t, n.name+" did two trials", func() error {
			all, _ := filepath.Glob(filepath.Join(node.Base, n.name, "*", node.RunName))
			if len(all) != 1 {
				return fmt.Errorf("there are %d runs", len(all))
			}
			got, err := store.Read(all[0])
			if err == nil && got.Done() < 2 {
				err = fmt.Errorf("%d are done", got.Done())
			}
			return err
		})
	}
	all, err := pods.List(t.Context(), metav1.ListOptions{})
	if err != nil || len(all.Items) != len(nodes) {
		t.Fatalf("%d pods, %v", len(all.Items), err)
	}
	for _, p := range all.Items {
		if err := pods.Delete(t.Context(), p.Name, metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	err = run.Wait()
	t.Logf("%s", said.String())
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(said.String(), "trials are missing") {
		t.Error("a run that was cut off is taken for ended")
	}
	results(t, out, trials, nodes...)
	k.nothingLeft()
}

// fleet clean ends what is under way, and each node undoes what it did.
func TestFleetClean(t *testing.T) {
	k, nodes := fleetOf(t)
	ctx, kill := context.WithCancel(t.Context())
	defer kill()
	run := k.fleetRun(ctx, filepath.Join(k.dir, "out"), k.experiment(500))
	var said bytes.Buffer
	run.Stderr = &said
	if err := run.Start(); err != nil {
		t.Fatal(err)
	}
	until(t, "both nodes are measured", func() error {
		status, err := k.plimsoll(t.Context(), "fleet", "status").CombinedOutput()
		if err != nil || strings.Count(string(status), "measuring") != len(nodes) {
			return fmt.Errorf("%v: %s", err, status) //nolint:errorlint // there may be none
		}
		return nil
	})
	text, err := k.plimsoll(t.Context(), "fleet", "clean", "--all").CombinedOutput()
	if err != nil || !strings.Contains(string(text), "No fleet has left files or objects.") {
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

// Whatever experiment is asked for runs on both nodes: make kube-test FLEET="node --budget 8m". Without, a few mixes of
// node do. The model that is made of node places pods.
func TestFleetRunOf(t *testing.T) {
	asked := strings.Fields(os.Getenv("PLIMSOLL_FLEET"))
	if len(asked) == 0 {
		asked = []string{"node", "--only", "randread-max,randwrite-max,C,C-small-1,C-small-2,C-large-1", "--repeat", "1",
			"--runtime", "500ms"}
	}
	k, nodes := fleetOf(t)
	out := os.Getenv("PLIMSOLL_FLEET_OUT")
	if out == "" {
		out = filepath.Join(k.dir, "out")
	}
	text, err := k.fleetRun(t.Context(), out, asked...).CombinedOutput()
	t.Logf("%s", text)
	if err != nil {
		t.Fatal(err)
	}
	results(t, out, 1, nodes...)
	k.nothingLeft()
	if asked[0] == "node" {
		k.placedBy(out)
	}
}
