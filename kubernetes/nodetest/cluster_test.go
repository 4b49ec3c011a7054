// Package nodetest has the tests with real nodes: kubelets and container runtimes on this
// machine, below a control plane in the tests' process. make kube-test builds what they need.
package nodetest

import (
	"bytes"
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/util/cert"

	"plimsoll/kubernetes/kubetest"
)

// TestMain has the tests in a mount namespace of their own, whose mounts are shared as systemd has those of a host.
// Pods that see what their node mounts cannot be made elsewhere. The machine sees nothing of it.
func TestMain(m *testing.M) {
	const inside = "PLIMSOLL_NODETEST_INSIDE"
	if os.Getenv("PLIMSOLL_KUBE_BIN") != "" && os.Getuid() == 0 && os.Getenv(inside) == "" {
		unshare, err := exec.LookPath("unshare")
		if err == nil {
			err = syscall.Exec(unshare, append([]string{"unshare", "--mount", "--propagation", "shared", os.Args[0]},
				os.Args[1:]...), append(os.Environ(), inside+"=1"))
		}
		fmt.Fprintln(os.Stderr, "nodetest: no mount namespace of its own:", err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// cluster is a control plane and its nodes. It ends with the test, and leaves nothing.
type cluster struct {
	t          *testing.T
	bin        string // of programs
	dir        string // short, as sockets have their paths in 108 bytes
	config     *rest.Config
	client     *kubernetes.Clientset
	kubeconfig string
	caller     string // certificate of the API server, by which kubelets know it
}

// start starts a control plane.
func start(t *testing.T) *cluster {
	t.Helper()
	bin := os.Getenv("PLIMSOLL_KUBE_BIN")
	if bin == "" {
		t.Skip("make kube-test builds what this needs, and runs it")
	}
	if os.Getuid() != 0 {
		t.Fatal("kubelets run as root")
	}
	dir, err := os.MkdirTemp("", "pk")
	if err != nil {
		t.Fatal(err)
	}
	k := &cluster{t: t, bin: bin, dir: dir, caller: filepath.Join(dir, "caller.crt")}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	sysctls(t)
	key := certificate(t, k.caller)
	k.config = kubetest.Start(t, "--kubelet-client-certificate="+k.caller, "--kubelet-client-key="+key)
	k.client = kubernetes.NewForConfigOrDie(k.config)
	k.kubeconfig = filepath.Join(dir, "kubeconfig")
	if err := clientcmd.WriteToFile(kubetest.Kubeconfig(k.config), k.kubeconfig); err != nil {
		t.Fatal(err)
	}
	manager := k.run("controller-manager", "hyperkube", "kube-controller-manager", "--kubeconfig="+k.kubeconfig,
		"--secure-port=0", "--leader-elect=false", "--controllers=job-controller,garbage-collector-controller,"+
			"pod-garbage-collector-controller,daemonset-controller,node-lifecycle-controller,taint-eviction-controller,"+
			"deployment-controller,replicaset-controller,disruption-controller,namespace-controller")
	t.Cleanup(manager.stop)
	return k
}

// certificate makes a certificate that vouches for itself, and returns the file of its key.
func certificate(t *testing.T, file string) string {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	made, err := cert.NewSelfSignedCACert(cert.Config{CommonName: "caller"}, crypto.Signer(key))
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	write(t, file, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: made.Raw})))
	write(t, file+".key", string(pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: private})))
	return file + ".key"
}

func write(t *testing.T, file, text string) {
	t.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o700), os.WriteFile(file, []byte(text), 0o600)); err != nil {
		t.Fatal(err)
	}
}

// sysctls has what kubelets change be as it was after the test.
func sysctls(t *testing.T) {
	t.Helper()
	for _, name := range []string{
		"vm/overcommit_memory", "vm/panic_on_oom", "kernel/panic", "kernel/panic_on_oops", "kernel/keys/root_maxkeys",
		"kernel/keys/root_maxbytes",
	} {
		file := filepath.Join("/proc/sys", name)
		before, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if now, err := os.ReadFile(file); err == nil && !bytes.Equal(now, before) {
				if err := os.WriteFile(file, before, 0o644); err != nil { //nolint:gosec // as it is
					t.Error(err)
				}
			}
		})
	}
}

// process is a program that runs until it is stopped.
type process struct {
	t     *testing.T
	c     *exec.Cmd
	log   string
	ended chan struct{}
}

func (k *cluster) run(name, program string, args ...string) *process {
	k.t.Helper()
	p := &process{t: k.t, log: filepath.Join(k.dir, name+".log"), ended: make(chan struct{})}
	log, err := os.OpenFile(p.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		k.t.Fatal(err)
	}
	defer log.Close()
	if ours := filepath.Join(k.bin, program); !filepath.IsAbs(program) && exists(ours) {
		program = ours
	}
	p.c = exec.Command(program, args...) //nolint:noctx // it is stopped in its turn
	p.c.Stdout, p.c.Stderr, p.c.Dir = log, log, k.dir
	p.c.Env = append(os.Environ(), "PATH="+k.bin+":"+os.Getenv("PATH"))
	if err := p.c.Start(); err != nil {
		k.t.Fatal(err)
	}
	go func() { defer close(p.ended); _ = p.c.Wait() }()
	return p
}

// stop ends the program, and shows the end of its log where the test failed.
func (p *process) stop() {
	_ = p.c.Process.Signal(syscall.SIGTERM)
	select {
	case <-p.ended:
	case <-time.After(time.Minute):
		p.kill()
	}
	if text, err := os.ReadFile(p.log); p.t.Failed() && err == nil {
		p.t.Logf("%s:\n%s", p.log, text[max(0, len(text)-6000):])
	}
}

func (p *process) kill() {
	_ = p.c.Process.Kill()
	<-p.ended
}

// worker is a node: a kubelet and its container runtime.
type worker struct {
	*cluster

	name             string // an address of loopback, as the API server reaches a kubelet by its node's address
	dir              string
	runtime, kubelet *process
}

// add starts a node, with images, of a kind ("" for none), and waits until it is ready.
func (k *cluster) add(index int, kind string, images ...string) *worker {
	k.t.Helper()
	return k.addWith(index, kind, nil, images...)
}

// addWith is add of a node whose pods have a drive for themselves; the machine's with nil.
func (k *cluster) addWith(index int, kind string, d *drive, images ...string) *worker {
	k.t.Helper()
	n := &worker{cluster: k, name: fmt.Sprintf("127.0.0.%d", 2+index)}
	n.dir = filepath.Join(k.dir, strconv.Itoa(index))
	n.cgroup()
	write(k.t, filepath.Join(n.dir, "cni/10.conflist"),
		`{"cniVersion": "0.4.0", "name": "lo", "plugins": [{"type": "loopback"}]}`)
	write(k.t, filepath.Join(n.dir, "containerd.toml"), strings.ReplaceAll(containerdConfig, "DIR", n.dir))
	write(k.t, filepath.Join(n.dir, "kubelet.yaml"), strings.NewReplacer("DIR", n.dir, "CALLER", k.caller,
		"ADDRESS", n.name, "GROUP", n.group(), "PORT", strconv.Itoa(free(k.t, n.name))).Replace(kubeletConfig))
	k.t.Cleanup(n.remove)
	program := []string{filepath.Join(k.bin, "containerd"), "--config", filepath.Join(n.dir, "containerd.toml")}
	if d != nil {
		program = append([]string{"unshare", "--mount", "--propagation", "slave", "sh", "-c", withDrive, "sh",
			n.limit(d), d.device, d.at}, program...)
	}
	n.runtime = k.run("containerd"+n.name, program[0], program[1:]...)
	until(k.t, "containerd answers", func() error { return n.ctr("version") })
	for _, i := range images {
		if err := n.ctr("--namespace", "k8s.io", "images", "import", i); err != nil {
			k.t.Fatal(err)
		}
	}
	n.startKubelet()
	until(k.t, "node "+n.name+" is ready", func() error {
		got, err := k.client.CoreV1().Nodes().Get(k.t.Context(), n.name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		for _, c := range got.Status.Conditions {
			if c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue {
				return nil
			}
		}
		return fmt.Errorf("%v", got.Status.Conditions)
	})
	if kind == "" { // as a fresh node is
		return n
	}
	text := fmt.Appendf(nil, `{"metadata": {"labels": {"plimsoll.dev/kind": %q}}}`, kind)
	_, err := k.client.CoreV1().Nodes().Patch(k.t.Context(), n.name, "application/merge-patch+json", text,
		metav1.PatchOptions{})
	if err != nil {
		k.t.Fatal(err)
	}
	return n
}

func exists(file string) bool { _, err := os.Stat(file); return err == nil }

// limit makes the group of blkio in which all that reads a drive on the node is, and returns its directory.
func (n *worker) limit(d *drive) string {
	n.t.Helper()
	dir := filepath.Join("/sys/fs/cgroup/blkio", n.group(), "drive")
	if err := os.MkdirAll(dir, 0o755); err != nil { //nolint:gosec // as others are
		n.t.Fatal(err)
	}
	var st unix.Stat_t
	if err := unix.Stat(d.device, &st); err != nil {
		n.t.Fatal(err)
	}
	rule := fmt.Sprintf("%d:%d %d", unix.Major(st.Rdev), unix.Minor(st.Rdev), d.reads)
	limit := filepath.Join(dir, "blkio.throttle.read_iops_device")
	err := os.WriteFile(limit, []byte(rule), 0o644) //nolint:gosec // as it is
	if err != nil {
		n.t.Fatal(err)
	}
	return dir
}

func (n *worker) startKubelet() {
	n.kubelet = n.run("kubelet"+n.name, "hyperkube", "kubelet", "--config="+filepath.Join(n.dir, "kubelet.yaml"),
		"--kubeconfig="+n.kubeconfig, "--root-dir="+filepath.Join(n.dir, "kubelet"), "--hostname-override="+n.name,
		"--cert-dir="+filepath.Join(n.dir, "pki"))
}

func free(t *testing.T, address string) int {
	t.Helper()
	l, err := net.Listen("tcp", net.JoinHostPort(address, "0")) //nolint:noctx // it takes no time
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

// group is the cgroup of the node's pods.
func (n *worker) group() string {
	return "plimsoll-" + filepath.Base(n.cluster.dir) + "-" + filepath.Base(n.dir)
}

// groups are the directories of the node's cgroups, in every hierarchy.
func (n *worker) groups() []string {
	if _, err := os.Stat("/sys/fs/cgroup/cgroup.controllers"); err == nil {
		return []string{filepath.Join("/sys/fs/cgroup", n.group())}
	}
	all, err := filepath.Glob("/sys/fs/cgroup/*/cgroup.procs")
	if err != nil {
		n.t.Fatal(err)
	}
	var dirs []string
	for _, file := range all {
		if dir := filepath.Dir(file); filepath.Base(dir) != "unified" {
			dirs = append(dirs, filepath.Join(dir, n.group()))
		}
	}
	return dirs
}

// cgroup makes the cgroups: a kubelet makes those below, and not their root.
func (n *worker) cgroup() {
	for _, dir := range n.groups() {
		if err := os.MkdirAll(dir, 0o755); err != nil { //nolint:gosec // as others are
			n.t.Fatal(err)
		}
		for _, name := range []string{"cpuset.cpus", "cpuset.mems"} { // a new one of version 1 has none
			if text, err := os.ReadFile(filepath.Join(filepath.Dir(dir), name)); err == nil {
				_ = os.WriteFile(filepath.Join(dir, name), text, 0o644) //nolint:gosec // the kernel has it already
			}
		}
	}
}

// remove ends the node, and leaves nothing of it.
func (n *worker) remove() {
	if n.kubelet != nil {
		n.kubelet.stop()
	}
	if n.runtime != nil {
		for _, kind := range []string{"tasks", "containers"} {
			all, _ := exec.Command(filepath.Join(n.bin, "ctr"), n.ctrArgs("-n", "k8s.io", kind, "ls", "-q")...).Output()
			for _, id := range strings.Fields(string(all)) {
				if kind == "tasks" {
					_ = n.ctr("-n", "k8s.io", kind, "rm", "-f", id)
				} else {
					_ = n.ctr("-n", "k8s.io", kind, "rm", id)
				}
			}
		}
		n.runtime.stop()
	}
	for _, pid := range processes(n.dir) { // shims, which outlive their runtime
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		n.t.Error(err)
	}
	var below []string
	for line := range strings.Lines(string(mounts)) {
		if at := strings.Fields(line)[4]; strings.HasPrefix(at, n.dir+"/") {
			below = append(below, at)
		}
	}
	for _, at := range slices.Backward(below) {
		if err := syscall.Unmount(at, syscall.MNT_DETACH); err != nil {
			n.t.Errorf("unmount %s: %v", at, err)
		}
	}
	for _, dir := range n.groups() {
		until(n.t, "cgroup "+dir+" is gone", func() error { return removeGroup(dir) })
	}
}

// removeGroup removes a cgroup and those below it.
func removeGroup(dir string) error {
	var all []string
	err := filepath.WalkDir(dir, func(at string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			all = append(all, at)
		}
		return err
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, at := range slices.Backward(all) {
		if err := os.Remove(at); err != nil {
			return err
		}
	}
	return nil
}

// processes returns those whose command line names a directory.
func processes(dir string) (all []int) {
	files, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, file := range files {
		text, err := os.ReadFile(file)
		pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(file)))
		if err == nil && strings.Contains(string(text), dir+"/") && pid != os.Getpid() {
			all = append(all, pid)
		}
	}
	return all
}

func (n *worker) ctrArgs(args ...string) []string {
	return append([]string{"--address", filepath.Join(n.dir, "sock")}, args...)
}

func (n *worker) ctr(args ...string) error {
	out, err := exec.Command(filepath.Join(n.bin, "ctr"), n.ctrArgs(args...)...).CombinedOutput() //nolint:noctx // short
	if err != nil {
		err = fmt.Errorf("ctr %s: %w: %s", strings.Join(args, " "), err, out)
	}
	return err
}

// longest ends a wait that would have no end.
const longest = 5 * time.Minute

// until waits until something holds.
func until(t *testing.T, what string, holds func() error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), longest)
	defer cancel()
	for {
		err := holds()
		if err == nil {
			return
		}
		select {
		case <-ctx.Done():
			t.Errorf("after %s, it is not so that %s: %v", longest, what, err)
			return
		case <-time.After(100 * time.Millisecond):
		}
	}
}

const containerdConfig = `version = 3
root = "DIR/root"
state = "DIR/state"
[grpc]
  address = "DIR/sock"
[plugins."io.containerd.internal.v1.opt"]
  path = "DIR/opt"
[plugins."io.containerd.cri.v1.images".pinned_images]
  sandbox = "test.invalid/pause:1"
[plugins."io.containerd.cri.v1.runtime"]
  restrict_oom_score_adj = true
  enable_unprivileged_ports = false
  enable_unprivileged_icmp = false
  [plugins."io.containerd.cri.v1.runtime".cni]
    conf_dir = "DIR/cni"
[plugins."io.containerd.nri.v1.nri"]
  socket_path = "DIR/nri.sock"
  plugin_path = "DIR/nri/plugins"
  plugin_config_path = "DIR/nri/conf"
`

const kubeletConfig = `apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
address: ADDRESS
port: PORT
healthzPort: 0
authentication: {x509: {clientCAFile: CALLER}, anonymous: {enabled: false}, webhook: {enabled: false}}
authorization: {mode: AlwaysAllow}
cgroupDriver: cgroupfs
cgroupRoot: /GROUP
failCgroupV1: false
failSwapOn: false
oomScoreAdj: 0
containerRuntimeEndpoint: unix://DIR/sock
podLogsDir: DIR/logs
evictionHard: {memory.available: 100Mi, nodefs.available: 1Gi}
imageGCHighThresholdPercent: 100
localStorageCapacityIsolation: false
resolvConf: ""
makeIPTablesUtilChains: false
volumePluginDir: DIR/volume-plugins
maxPods: 50
`
