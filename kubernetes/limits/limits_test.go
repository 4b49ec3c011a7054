package limits

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/containerd/nri/pkg/adaptation"
	"github.com/containerd/nri/pkg/api"
	"golang.org/x/sys/unix"

	"plimsoll/internal/host/blockdev"
	"plimsoll/internal/host/hostfs"
	"plimsoll/internal/result"
	"plimsoll/kubernetes/iofit"
)

// limited remembers what was limited.
type limited struct {
	sync.Mutex
	calls []string
	fail  error
}

func (l *limited) limit(pid int, want result.Limits, devices []string) (result.Limits, error) {
	l.Lock()
	defer l.Unlock()
	l.calls = append(l.calls, fmt.Sprintf("%d %s %d/%d", pid, strings.Join(devices, ","), want.Read.OperationsPerSecond,
		want.Write.BytesPerSecond))
	return want, l.fail
}

func (l *limited) seen() []string {
	l.Lock()
	defer l.Unlock()
	return slices.Clone(l.calls)
}

func aPlugin() (*Plugin, *limited, *bytes.Buffer) {
	l, log := &limited{}, &bytes.Buffer{}
	return &Plugin{roots: hostfs.Default(), log: slog.New(slog.NewTextHandler(log, nil)), limit: l.limit,
		waits: waits{again: 10 * time.Millisecond, register: time.Minute, look: time.Hour}}, l, log
}

// below returns the disks of a container's volumes.
func (p *Plugin) below(pod *api.PodSandbox, c *api.Container) ([]string, error) {
	return p.devices(p.mounts(), pod, c)
}

func aPod(limits string) *api.PodSandbox {
	return &api.PodSandbox{Id: "p", Uid: "1-2", Namespace: "shop", Name: "db", Annotations: map[string]string{
		iofit.LimitAnnotation: limits}}
}

// disk returns a directory that stands on a disk, and the disk's MAJ:MIN.
func disk(t *testing.T) (dir, majMin string) {
	t.Helper()
	dir, err := os.MkdirTemp(".", "volume-") // beside the sources, which are on a disk where /tmp may be none
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if dir, err = filepath.Abs(dir); err != nil {
		t.Fatal(err)
	}
	chain, err := blockdev.Chain(hostfs.Default(), dir)
	if err != nil || len(chain) == 0 {
		t.Skipf("%s stands on no block device: %v", dir, err)
	}
	whole, err := blockdev.WholeDisk(hostfs.Default(), chain[0])
	if err != nil {
		t.Fatal(err)
	}
	return dir, whole.MajMin
}

// mounted returns a host with a file system beside its own.
func mounted(t *testing.T, majMin, fsType, at string) hostfs.Roots {
	t.Helper()
	roots := hostfs.Default()
	text, err := os.ReadFile(roots.InProc("thread-self/mountinfo"))
	if err != nil {
		t.Fatal(err)
	}
	root := strings.Fields(string(text))[0]
	for line := range strings.Lines(string(text)) {
		if f := strings.Fields(line); f[4] == "/" {
			root = f[0]
		}
	}
	text = fmt.Appendf(text, "9999 %s %s / %s rw - %s server:/x rw\n", root, majMin, at, fsType)
	roots.Proc = t.TempDir()
	if err = os.MkdirAll(roots.InProc("thread-self"), 0o755); err == nil {
		err = os.WriteFile(roots.InProc("thread-self/mountinfo"), text, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	return roots
}

func bind(source, destination string) *api.Mount {
	return &api.Mount{Type: "bind", Source: source, Destination: destination}
}

// Disks are those of volumes: of several on one disk once, and none for what the kubelet mounts.
func TestDevices(t *testing.T) {
	dir, majMin := disk(t)
	configs := filepath.Join(dir, "pods/1-2/volumes/kubernetes.io~configmap/x")
	if err := os.MkdirAll(configs, 0o755); err != nil {
		t.Fatal(err)
	}
	var st unix.Statfs_t
	if err := unix.Statfs("/dev/shm", &st); err != nil || st.Type != unix.TMPFS_MAGIC {
		t.Skip("no tmpfs at /dev/shm")
	}
	p, _, _ := aPlugin()
	for _, c := range []struct {
		mounts []*api.Mount
		want   []string
	}{
		{nil, nil},
		{[]*api.Mount{bind(dir, "/data"), bind(dir, "/log")}, []string{majMin}},
		{[]*api.Mount{bind(dir, "/etc/hosts")}, []string{majMin}}, // a volume there is one all the same
		{[]*api.Mount{bind(configs, "/etc/app"), bind("/dev/shm", "/cache"),
			{Type: "proc", Source: "proc", Destination: "/proc"}, bind("data", "/relative")}, nil},
	} {
		got, err := p.below(aPod(""), &api.Container{Mounts: c.mounts})
		if err != nil || !slices.Equal(got, c.want) {
			t.Errorf("%v: %v, want %v (%v)", c.mounts, got, c.want, err)
		}
	}
	var major, minor int64
	if _, err := fmt.Sscanf(majMin, "%d:%d", &major, &minor); err != nil {
		t.Fatal(err)
	}
	got, err := p.below(aPod(""), &api.Container{Linux: &api.LinuxContainer{Devices: []*api.LinuxDevice{
		{Type: "b", Path: "/dev/xvda", Major: major, Minor: minor}, {Type: "c", Path: "/dev/null", Major: 1, Minor: 3}}}})
	if err != nil || !slices.Equal(got, []string{majMin}) {
		t.Errorf("%v, %v", got, err)
	}
	p.roots = mounted(t, "0:99", "nfs4", "/export")
	_, err = p.below(aPod(""), &api.Container{Mounts: []*api.Mount{bind("/export/x", "/data")}})
	if err == nil || !strings.Contains(err.Error(), "/data") {
		t.Error(err)
	}
}

// A container that is not held to its limits does not start, and the kubelet is told why.
func TestRefused(t *testing.T) {
	dir, majMin := disk(t)
	p, l, log := aPlugin()
	c := &api.Container{Name: "mysql", Pid: 7, Mounts: []*api.Mount{bind(dir, "/data")}}
	for _, limits := range []string{
		"read-iops: lots", "{read-iops: 1}\n--- {}", strings.Repeat("[", 900), "device: /dev/sda",
	} {
		if _, _, err := p.CreateContainer(t.Context(), aPod(limits), c); err == nil ||
			!strings.Contains(err.Error(), iofit.LimitAnnotation) || !strings.Contains(err.Error(), "shop/db") {
			t.Errorf("%q: %v", limits, err)
		}
	}
	for _, limits := range []string{"", "memory: 1GiB", "cpus: 2"} { // nothing of ours
		if err := p.StartContainer(t.Context(), aPod(limits), &api.Container{}); err != nil {
			t.Errorf("%q: %v", limits, err)
		}
	}
	l.fail = errors.New("the kernel holds 250")
	err := p.StartContainer(t.Context(), aPod("read-iops: 300"), c)
	if err == nil || !strings.Contains(err.Error(), "the kernel holds 250") || !strings.Contains(err.Error(), majMin) {
		t.Error(err)
	}
	l.fail, c.Pid = nil, 0
	if err := p.StartContainer(t.Context(), aPod("read-iops: 300"), c); err == nil {
		t.Error("a container of no process was limited")
	}
	if got := l.seen(); len(got) != 1 {
		t.Errorf("%q", got)
	}
	if err := p.StartContainer(t.Context(), aPod("read-iops: 300"), &api.Container{Name: "proxy"}); err != nil ||
		!strings.Contains(log.String(), "so it gets no limits") {
		t.Errorf("%v, %s", err, log)
	}
}

// A runtime that speaks NRI as containerd does is answered, also after it was started again.
func TestThroughNRI(t *testing.T) {
	dir, majMin := disk(t)
	socket := filepath.Join(t.TempDir(), "nri.sock")
	pod := aPod("read-iops: 300, write-bandwidth: 50MB/s, memory: 1GiB")
	running := &api.Container{
		Id: "c1", PodSandboxId: "p", Name: "mysql", Pid: 41, Mounts: []*api.Mount{bind(dir, "/data")},
		State: api.ContainerState_CONTAINER_RUNNING}
	p, l, _ := aPlugin()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	until := func(what string, is func() bool) {
		t.Helper()
		for end := time.Now().Add(5 * time.Minute); !is(); time.Sleep(10 * time.Millisecond) {
			if time.Now().After(end) {
				t.Fatalf("not after five minutes: %s: %q", what, l.seen())
			}
		}
	}
	start := func() *adaptation.Adaptation {
		t.Helper()
		sync := func(ctx context.Context, f adaptation.SyncCB) error {
			_, err := f(ctx, []*api.PodSandbox{pod}, []*api.Container{running})
			return err
		}
		update := func(context.Context, []*api.ContainerUpdate) ([]*api.ContainerUpdate, error) { return nil, nil }
		r, err := adaptation.New("test", "1", sync, update, adaptation.WithSocketPath(socket),
			adaptation.WithPluginPath(t.TempDir()), adaptation.WithPluginConfigPath(t.TempDir()))
		if err != nil {
			t.Fatal(err)
		}
		if err := r.Start(); err != nil {
			t.Fatal(err)
		}
		return r
	}
	r := start()
	cut := proxy(t, socket+".plugin", socket)
	go func() { ended <- p.Run(ctx, socket+".plugin") }()
	what := " " + majMin + " 300/50000000"
	until("what runs is limited", func() bool { return slices.Contains(l.seen(), "41"+what) })
	next := &api.Container{Id: "c2", PodSandboxId: "p", Name: "mysql", Pid: 42, Mounts: running.Mounts}
	// The plugin is one of the runtime's a moment after it was told.
	until("a container that starts is limited", func() bool {
		err := r.StartContainer(t.Context(), &adaptation.StateChangeEvent{Event: api.Event_START_CONTAINER, Pod: pod,
			Container: next})
		return err == nil && slices.Contains(l.seen(), "42"+what)
	})
	_, err := r.CreateContainer(t.Context(),
		&adaptation.CreateContainerRequest{Pod: aPod("read-iops: x"), Container: next})
	if err == nil || !strings.Contains(err.Error(), "read-iops") {
		t.Error(err)
	}
	r.Stop()
	before := len(l.seen())
	r = start()
	cut() // whoever stops it in the same process leaves connections open
	until("it is back", func() bool { return len(l.seen()) > before })
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	r.Stop()
}

// proxy passes connections on from one socket to another, until they are cut.
func proxy(t *testing.T, from, to string) (cut func()) {
	t.Helper()
	l, err := net.Listen("unix", from)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	var mu sync.Mutex
	var open []net.Conn
	go func() {
		for {
			a, err := l.Accept()
			if err != nil {
				return
			}
			b, err := net.Dial("unix", to)
			if err != nil {
				_ = a.Close()
				continue
			}
			mu.Lock()
			open = append(open, a, b)
			mu.Unlock()
			join(a, b)
		}
	}()
	cut = func() {
		mu.Lock()
		defer mu.Unlock()
		for _, c := range open {
			_ = c.Close()
		}
		open = nil
	}
	t.Cleanup(cut)
	return cut
}

// join passes on what one connection says to the other, until one of them is closed.
func join(a, b net.Conn) {
	for _, way := range [][2]net.Conn{{a, b}, {b, a}} {
		go func() {
			_, _ = io.Copy(way[0], way[1])
			_ = way[0].Close()
		}()
	}
}

// unified returns a plugin with cgroups of version 2, and what writes the io.max of a container as a kernel would.
func unified(t *testing.T) (*Plugin, *api.Container, func(string)) {
	t.Helper()
	p, _, _ := aPlugin()
	p.unified = t.TempDir()
	dir, _ := disk(t)
	c := &api.Container{Id: "c1", PodSandboxId: "p", Name: "mysql", State: api.ContainerState_CONTAINER_RUNNING,
		Mounts: []*api.Mount{bind(dir, "/data")},
		Linux:  &api.LinuxContainer{CgroupsPath: "kubepods-burstable-pod1_2.slice:cri-containerd:c1"}}
	group := filepath.Join(p.unified, "kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod1_2.slice",
		"cri-containerd-c1.scope")
	if err := os.MkdirAll(group, 0o755); err != nil {
		t.Fatal(err)
	}
	return p, c, func(text string) {
		if err := os.WriteFile(filepath.Join(group, "io.max"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// With cgroups of version 2 the runtime is asked for limits as it creates a container. What the kernel holds is read
// back before it starts, and again when the plugin is started anew.
func TestUnified(t *testing.T) {
	p, c, kernel := unified(t)
	_, majMin := disk(t)
	pod := aPod("read-iops: 300, write-bandwidth: 50MB/s")
	a, _, err := p.CreateContainer(t.Context(), pod, c)
	want := majMin + " rbps=max wbps=50000000 riops=300 wiops=max"
	if err != nil || a.GetLinux().GetResources().GetUnified()["io.max"] != want {
		t.Fatalf("%v, %v", a, err)
	}
	for _, none := range []string{"", "memory: 1GiB"} {
		if a, _, err := p.CreateContainer(t.Context(), aPod(none), c); err != nil || a != nil {
			t.Errorf("%q: %v, %v", none, a, err)
		}
	}
	if err := p.StartContainer(t.Context(), pod, c); err == nil || !strings.Contains(err.Error(), "read back") {
		t.Errorf("it starts although nothing can be read back: %v", err)
	}
	for _, wrong := range []string{"", "7:77 riops=300 wbps=50000000", majMin + " rbps=max wbps=max riops=300 wiops=max",
		majMin + " rbps=max wbps=50000000 riops=301 wiops=max"} {
		kernel(wrong)
		if err := p.StartContainer(t.Context(), pod, c); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("it starts with %q: %v", wrong, err)
		}
	}
	kernel("7:77 rbps=1 wbps=max riops=max wiops=max\n" + want + "\n")
	if err := p.StartContainer(t.Context(), pod, c); err != nil {
		t.Fatal(err)
	}
	p.connected(p.unified)
	p.synchronized()
	if err := p.Ready(); err != nil {
		t.Error(err)
	}
	// Someone else lifts the limit, and the node is ready no more, nor for a plugin that is started anew. That one has
	// the runtime set it again.
	kernel("")
	if err := p.Ready(); err == nil || !strings.Contains(err.Error(), "shop/db") {
		t.Error(err)
	}
	again, _, _ := aPlugin()
	again.unified = p.unified
	updates, err := again.Synchronize(t.Context(), []*api.PodSandbox{pod}, []*api.Container{c})
	if err != nil || len(updates) != 1 || updates[0].GetContainerId() != "c1" ||
		updates[0].GetLinux().GetResources().GetUnified()["io.max"] != want {
		t.Fatalf("%v, %v", updates, err)
	}
	again.connected(p.unified)
	if again.Ready() == nil {
		t.Error("it is ready before the kernel holds what runs")
	}
	kernel(want)
	if err := again.Ready(); err != nil {
		t.Error(err)
	}
	if updates, _ = again.Synchronize(t.Context(), []*api.PodSandbox{pod}, []*api.Container{c}); len(updates) != 0 {
		t.Errorf("what is held is set again: %v", updates)
	}
	if _, err := again.StopContainer(t.Context(), pod, c); err != nil {
		t.Fatal(err)
	}
	kernel("")
	if err := again.Ready(); err != nil {
		t.Errorf("what has ended is to be held: %v", err)
	}
}

// Limits are those that were admitted when the pod was bound, whatever its annotation says since.
func TestAttackLimitsAsAdmitted(t *testing.T) {
	p, c, _ := unified(t)
	_, majMin := disk(t)
	pod := aPod("read-iops: 300")
	pod.Annotations[iofit.AdmittedAnnotation] = iofit.Admission(pod.Annotations)
	pod.Annotations[iofit.LimitAnnotation] = "read-iops: 90000"
	a, _, err := p.CreateContainer(t.Context(), pod, c)
	want := majMin + " rbps=max wbps=max riops=300 wiops=max"
	if err != nil || a.GetLinux().GetResources().GetUnified()["io.max"] != want {
		t.Errorf("%v, %v", a, err)
	}
	pod.Annotations[iofit.AdmittedAnnotation] = "{"
	if _, _, err := p.CreateContainer(t.Context(), pod, c); err == nil ||
		!strings.Contains(err.Error(), iofit.AdmittedAnnotation) {
		t.Errorf("it is created: %v", err)
	}
}

// Where no runtime asks, and where its socket is gone, the plugin is not ready; what it refused is counted by reason.
func TestStatus(t *testing.T) {
	p, c, kernel := unified(t)
	get := func(path string) (int, string) {
		w := httptest.NewRecorder()
		p.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
		return w.Code, w.Body.String()
	}
	if code, text := get("/readyz"); code != http.StatusServiceUnavailable || !strings.Contains(text, "NRI") {
		t.Errorf("%d %s", code, text)
	}
	socket := filepath.Join(t.TempDir(), "nri.sock")
	p.connected(socket)
	p.synchronized()
	if code, text := get("/readyz"); code != http.StatusServiceUnavailable || !strings.Contains(text, socket) {
		t.Errorf("%d %s", code, text)
	}
	if err := os.WriteFile(socket, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if code, text := get("/readyz"); code != http.StatusOK {
		t.Errorf("%d %s", code, text)
	}
	unknown := &api.Container{Id: "c2", Name: "x", Mounts: []*api.Mount{bind("/export/x", "/data")}}
	p.roots = mounted(t, "0:99", "nfs4", "/export")
	for pod, c := range map[*api.PodSandbox]*api.Container{aPod("read-iops: x"): c, aPod("read-iops: 1"): unknown} {
		if _, _, err := p.CreateContainer(t.Context(), pod, c); err == nil {
			t.Errorf("%v is created", c)
		}
	}
	kernel("")
	if err := p.StartContainer(t.Context(), aPod("read-iops: 1"), c); err == nil {
		t.Error("it starts without its limit")
	}
	_, majMin := disk(t)
	kernel(majMin + " rbps=max wbps=max riops=1 wiops=max")
	if err := p.StartContainer(t.Context(), aPod("read-iops: 1"), c); err != nil {
		t.Error(err)
	}
	// One that ran before is no longer refused, and counts as not held.
	unknown.State, unknown.PodSandboxId = api.ContainerState_CONTAINER_RUNNING, "p"
	if _, err := p.Synchronize(
		t.Context(),
		[]*api.PodSandbox{aPod("read-iops: 1")},
		[]*api.Container{c, unknown},
	); err != nil {
		t.Error(err)
	}
	_, text := get("/metrics")
	for _, line := range []string{"plimsoll_limits_ready 0", `plimsoll_limits_containers{held="true"} 1`,
		`plimsoll_limits_containers{held="false"} 1`, `plimsoll_limits_refused_total{reason="annotation"} 1`,
		`plimsoll_limits_refused_total{reason="device"} 1`, `plimsoll_limits_refused_total{reason="kernel"} 1`} {
		if !strings.Contains(text, line+"\n") {
			t.Errorf("%q is not in %s", line, text)
		}
	}
}

// Names of cgroups as both drivers of the kubelet have them.
func TestGroupPath(t *testing.T) {
	for path, want := range map[string]string{
		"/kubepods/burstable/pod1/c1":             "/kubepods/burstable/pod1/c1",
		"kubepods-pod1_2.slice:cri-containerd:c1": "/kubepods.slice/kubepods-pod1_2.slice/cri-containerd-c1.scope",
		"system.slice:crio:c1":                    "/system.slice/crio-c1.scope",
	} {
		if got := groupPath(path); got != want {
			t.Errorf("%s is %s, not %s", path, got, want)
		}
	}
}
