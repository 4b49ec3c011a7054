package nodetest

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/framework/runtime"

	"plimsoll/kubernetes/fleet"
	"plimsoll/kubernetes/kubetest"
	"plimsoll/kubernetes/scheduler"
)

// drive is a loop device with a file system, which all pods of a node share.
type drive struct {
	kind   string
	reads  int // a second, that the node's pods may do on it together
	device string
	at     string // where it is mounted, on the node alone
}

// drivesOf are nodes that have the same but for their drives.
var drivesOf = []drive{{kind: "fast", reads: 1000}, {kind: "slow", reads: 250}}

// command runs a program of this machine, and returns what it printed.
func command(t *testing.T, name string, args ...string) string {
	t.Helper()
	out, err := exec.Command(name, args...).CombinedOutput() //nolint:noctx,gosec // short, and ours
	if err != nil {
		t.Fatalf("%s %v: %v: %s", name, args, err, out)
	}
	return strings.TrimSpace(string(out))
}

// makeDrive makes the loop device and the file that pods read, of so many MiB.
func (k *cluster) makeDrive(d *drive, size int) {
	k.t.Helper()
	image := filepath.Join(k.dir, d.kind+".img")
	command(k.t, "truncate", "--size", strconv.Itoa(16*size)+"M", image)
	command(k.t, "mkfs.ext4", "-q", "-F", image)
	d.device = command(k.t, "losetup", "--find", "--show", "--direct-io=on", image)
	d.at = filepath.Join(k.dir, "drive")
	k.t.Cleanup(func() { command(k.t, "losetup", "--detach", d.device) })
	if err := os.MkdirAll(d.at, 0o700); err != nil {
		k.t.Fatal(err)
	}
	command(k.t, "mount", d.device, d.at)
	defer command(k.t, "umount", d.at)
	command(k.t, "fio", "--name=x", "--filename="+filepath.Join(d.at, "x"), "--rw=write", "--bs=1M",
		"--size="+strconv.Itoa(size)+"M", "--end_fsync=1")
}

// withDrive is how a node's container runtime begins where its drive is to be that of its pods. It has the drive in
// file systems of its own, and it and all that it starts are in one group of blkio, which has the drive's limits: with
// version 1, groups below would not have them. So that it makes none below, it does not see blkio.
const withDrive = `set -e
echo $$ > "$1/cgroup.procs"
umount /sys/fs/cgroup/blkio
mount "$2" "$3"
shift 3
exec "$@"`

// measureDrive measures what an operation of each class of pods takes where the drive has a kind's limit, and gives
// the kind a model of it.
func (k *cluster) measureDrive(d *drive) {
	k.t.Helper()
	command(k.t, "mount", d.device, d.at)
	defer command(k.t, "umount", d.at)
	file, out := filepath.Join(k.dir, d.kind+".yaml"), filepath.Join(k.dir, "run-"+d.kind)
	write(k.t, file, fmt.Sprintf(`name: %s
question: What do pods of each class take of a drive?
repeat: 2
trials: 1
runtime: 1500ms
ramp: 1s
control: false
host: {read-iops: %d}
factors: {n: [1, 2, 4]}
stacks: {drive: "dir:%s"}
workloads:
  scan: {fio: &reads {rw: randread, bs: 4KiB, iodepth: 4, size: 64MiB}}
  lookup: {fio: {<<: *reads, iodepth: 1}}
mixes:
  scan-$n: {pods: {workload: scan, count: $n}}
  lookup-$n: {pods: {workload: lookup, count: $n}}
`, d.kind, d.reads, d.at))
	k.t.Logf("%s drive: %s", d.kind, command(k.t, k.program("../plimsoll"), "run", file, "--quiet", "--keep-free", "0%",
		"--state-dir", filepath.Join(k.dir, "state"), "--output", out))
	host := filepath.Join(k.dir, d.kind+"-host.yaml")
	write(k.t, host, fmt.Sprintf("{cpus: 2, memory: 8GiB, read-iops: %d}\n", d.reads))
	k.t.Log(command(k.t, k.program("plimsoll-kubernetes"), "fleet", "fit", "--kind", d.kind, out, "--host", host,
		"--kubeconfig", k.kubeconfig))
}

// podsOf is the file of pods: some read much, and some hardly.
func podsOf(data, ramp, runtime string) string {
	job := func(name string, pods int, annotations string, args ...string) string {
		all := append([]string{"--name=x", "--filename=/data/x", "--rw=randread", "--bs=4k", "--size=64m", "--direct=1",
			"--readonly", "--ioengine=libaio", "--time_based", "--ramp_time=" + ramp, "--runtime=" + runtime,
			"--lat_percentiles=1", "--output-format=json+"}, args...)
		return fmt.Sprintf(`---
apiVersion: batch/v1
kind: Job
metadata: {name: %s}
spec:
  parallelism: %d
  template:
    metadata: {annotations: {plimsoll.dev/class: %s, plimsoll.dev/unknown: Deny, %s}}
    spec:
      hostNetwork: true
      containers:
        - name: fio
          image: test.invalid/fio:1
          imagePullPolicy: IfNotPresent
          args: ["%s"]
          resources: {requests: {cpu: 10m, memory: 16Mi}}
          volumeMounts: [{name: data, mountPath: /data}]
      volumes: [{name: data, hostPath: {path: %s}}]
`, name, pods, name, annotations, strings.Join(all, `", "`), data)
	}
	return job("scan", 4, "plimsoll.dev/load: 220/s, plimsoll.dev/least-throughput: 180/s", "--iodepth=4",
		"--rate_iops=220") + job("lookup", 4, "plimsoll.dev/load: 20/s, plimsoll.dev/p99-limit: 200ms", "--iodepth=1",
		"--rate_iops=20")
}

// The default scheduler and IOFit place the same pods on two nodes, which differ in nothing but what their drives do.
// What fio measures in the pods is compared. make bench NAME=place has more and longer rounds.
func TestPlacedPodsAreMeasured(t *testing.T) {
	rounds, ramp, runtimeOf := "1", "2s", "3s" // fio measures nothing where the ramp is longer
	if n := os.Getenv("PLIMSOLL_PLACE_ROUNDS"); n != "" {
		rounds, ramp, runtimeOf = n, "10s", "10s"
	}
	if _, err := os.Stat("/sys/fs/cgroup/blkio"); err != nil {
		t.Skip("drives of nodes are limited by cgroups of version 1")
	}
	k := start(t)
	kubetest.Schedule(t, k.config, nil)
	kubetest.Schedule(t, k.config, runtime.Registry{scheduler.Name: scheduler.New},
		func(c *config.KubeSchedulerConfiguration) { c.Profiles[0].SchedulerName = "plimsoll-scheduler" })
	k.kubectl("apply", "-k", "../manifests/models")
	k.kubectl("apply", "-k", "../manifests/fleet")
	pause := k.image("pause:1", map[string]string{"/pause": filepath.Join(k.bin, "pause")}, "/pause")
	reads := k.image("fio:1", k.withLibraries("fio"), "/usr/bin/fio")
	for i := range drivesOf {
		d := drivesOf[i]
		k.makeDrive(&d, 64)
		k.measureDrive(&d)
		k.addWith(i, d.kind, &d, pause, reads)
	}
	file, out := filepath.Join(k.dir, "pods.yaml"), os.Getenv("PLIMSOLL_PLACE_OUT")
	if out == "" {
		out = filepath.Join(k.dir, "placed")
	}
	write(t, file, podsOf(filepath.Join(k.dir, "drive"), ramp, runtimeOf))
	var said bytes.Buffer
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	c := exec.CommandContext(ctx, k.program("plimsoll-kubernetes"), "fleet", "place", file, //nolint:gosec // ours
		"--rounds", rounds, "--output", out, "--kubeconfig", k.kubeconfig)
	c.Stdout, c.Stderr = &said, &said
	err := c.Run()
	t.Logf("%s", said.String())
	if err != nil {
		t.Fatal(err)
	}
	// How fast they are is for the benchmark. Where IOFit places pods depends on what was measured of the drives.
	for _, want := range []string{"Round 1, default-scheduler: ", "Round 1, plimsoll-scheduler: ",
		"the operations a second of default-scheduler"} {
		if !strings.Contains(strings.Join(strings.Fields(said.String()), " "), want) {
			t.Errorf("it does not say %q", want)
		}
	}
	left, err := k.client.CoreV1().Pods(fleet.Namespace).List(t.Context(), metav1.ListOptions{})
	if err != nil || len(left.Items) > 0 {
		t.Errorf("%d pods are left: %v", len(left.Items), err)
	}
}
