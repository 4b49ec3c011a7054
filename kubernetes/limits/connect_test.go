package limits

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/containerd/nri/pkg/adaptation"
	"github.com/containerd/nri/pkg/api"
	"github.com/containerd/nri/pkg/net/multiplex"
	"github.com/containerd/nri/pkg/stub"
	"github.com/containerd/ttrpc"
	"golang.org/x/sys/unix"

	"plimsoll/kubernetes/iofit"
)

// runtime speaks NRI as container runtimes do, and has containers.
type runtime struct {
	*adaptation.Adaptation

	t       *testing.T
	socket  string
	mu      sync.Mutex
	pods    []*api.PodSandbox
	runs    []*api.Container
	updates []*api.ContainerUpdate // that plugins asked for when they were told what runs
	listed  func()                 // called, where it is set, once a plugin has its list
}

func aRuntime(t *testing.T, name string, pods []*api.PodSandbox, runs ...*api.Container) *runtime {
	t.Helper()
	r := &runtime{t: t, socket: filepath.Join(t.TempDir(), "nri.sock"), pods: pods, runs: runs}
	list := func(ctx context.Context, f adaptation.SyncCB) error {
		r.mu.Lock()
		defer r.mu.Unlock()
		updates, err := f(ctx, r.pods, r.runs)
		r.updates = append(r.updates, updates...)
		if r.listed != nil {
			r.listed()
			r.listed = nil
		}
		return err
	}
	update := func(context.Context, []*api.ContainerUpdate) ([]*api.ContainerUpdate, error) { return nil, nil }
	var err error
	r.Adaptation, err = adaptation.New(name, "1", list, update, adaptation.WithSocketPath(r.socket),
		adaptation.WithPluginPath(t.TempDir()), adaptation.WithPluginConfigPath(t.TempDir()))
	if err == nil {
		err = r.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Stop)
	return r
}

// run runs a plugin until the test ends. One that often looks at what runs ends with a list, and not while it
// registers: NRI writes the name of a plugin that registers, and reads it when the connection closes, without a lock.
func (r *runtime) run(p *Plugin, socket string) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(r.t.Context()))
	ended := make(chan error, 1)
	go func() { ended <- p.Run(ctx, socket) }()
	r.t.Cleanup(func() {
		if p.waits.look < time.Hour && !r.t.Failed() {
			r.mu.Lock()
			r.listed = cancel
			r.mu.Unlock()
			<-ctx.Done()
		}
		cancel()
		if err := <-ended; err != nil {
			r.t.Error(err)
		}
	})
}

func (r *runtime) until(what string, is func() bool) {
	r.t.Helper()
	for end := time.Now().Add(5 * time.Minute); !is(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			r.t.Fatalf("not after five minutes: %s", what)
		}
	}
}

// starts has the runtime start a container, which plugins may refuse.
func (r *runtime) starts(pod *api.PodSandbox, c *api.Container) error {
	return r.StartContainer(r.t.Context(), &adaptation.StateChangeEvent{Event: api.Event_START_CONTAINER, Pod: pod,
		Container: c})
}

func aContainer(id string, pid uint32, volume string) *api.Container {
	return &api.Container{Id: id, PodSandboxId: "p", Name: "mysql", Pid: pid, State: api.ContainerState_CONTAINER_RUNNING,
		Mounts: []*api.Mount{bind(volume, "/data")}}
}

// gate passes connections on to a socket, but for the first, which it closes at once. It returns its own, and how many
// connections there were.
func gate(t *testing.T, to string) (from string, connections *atomic.Int32) {
	t.Helper()
	from = to + ".gate"
	l, err := net.Listen("unix", from)
	if err != nil {
		t.Fatal(err)
	}
	passed := to + ".passed"
	proxy(t, passed, to)
	connections = &atomic.Int32{}
	go func() {
		for {
			a, err := l.Accept()
			if err != nil {
				return
			}
			if connections.Add(1) == 1 {
				_ = a.Close()
				continue
			}
			b, err := net.Dial("unix", passed)
			if err != nil {
				_ = a.Close()
				continue
			}
			join(a, b)
		}
	}()
	t.Cleanup(func() { _ = l.Close() })
	return from, connections
}

// After a registration that failed, the plugin comes back once and stays.
func TestAFailedRegistrationIsForgotten(t *testing.T) {
	dir, _ := disk(t)
	pod := aPod("read-iops: 300")
	p, l, _ := aPlugin()
	r := aRuntime(t, "test", []*api.PodSandbox{pod})
	socket, connections := gate(t, r.socket)
	r.run(p, socket)
	r.until("it is connected", func() bool { return p.Ready() == nil })
	for i := range 100 { // a connection that is given up would miss some
		pid := uint32(100 + i)
		r.until("a container is limited", func() bool {
			return r.starts(pod, aContainer(fmt.Sprint("c", i), pid, dir)) == nil &&
				slices.ContainsFunc(l.seen(), func(call string) bool { return strings.HasPrefix(call, fmt.Sprint(pid, " ")) })
		})
		time.Sleep(p.waits.again / 5)
	}
	if n := connections.Load(); n != 2 {
		t.Errorf("%d connections, and not one that failed and one that stays", n)
	}
}

// silent is a runtime that takes registrations, and configures no plugin.
type silent struct{ registered atomic.Int32 }

func (s *silent) RegisterPlugin(context.Context, *api.RegisterPluginRequest) (*api.Empty, error) {
	s.registered.Add(1)
	return &api.Empty{}, nil
}

func (*silent) UpdateContainers(context.Context, *api.UpdateContainersRequest) (*api.UpdateContainersResponse, error) {
	return &api.UpdateContainersResponse{}, nil
}

// serve answers at a socket until the test ends.
func (s *silent) serve(t *testing.T) (socket string) {
	t.Helper()
	socket = filepath.Join(t.TempDir(), "nri.sock")
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			inner, err := multiplex.Multiplex(conn).Listen(multiplex.RuntimeServiceConn)
			if err != nil {
				t.Error(err)
				return
			}
			server, err := ttrpc.NewServer()
			if err != nil {
				t.Error(err)
				return
			}
			api.RegisterRuntimeService(server, s)
			go func() { _ = server.Serve(t.Context(), inner) }()
		}
	}()
	return socket
}

// A runtime that takes the registration and goes no further is given up after a while, and when the plugin ends.
func TestARuntimeThatNeverConfigures(t *testing.T) {
	p, _, _ := aPlugin()
	p.waits.register = 20 * time.Millisecond
	s := &silent{}
	c, err := p.register(t.Context(), p, s.serve(t), "50")
	if c != nil || err == nil || !strings.Contains(err.Error(), "has not configured the plugin within 20ms") {
		t.Errorf("%v, %v", c, err)
	}
	if s.registered.Load() != 1 {
		t.Error("it was not registered")
	}
	p.waits.register = time.Hour
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- p.Run(ctx, s.serve(t)) }()
	for s.registered.Load() < 2 {
		time.Sleep(time.Millisecond)
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// A container that the runtime named to no handler, as it was created meanwhile, is found, and one that is gone
// without a word is forgotten.
func TestContainersMadeMeanwhileAreFound(t *testing.T) {
	dir, majMin := disk(t)
	pod := aPod("read-iops: 300")
	p, l, _ := aPlugin()
	p.waits.look = 20 * time.Millisecond
	r := aRuntime(t, "test", []*api.PodSandbox{pod}, aContainer("c1", 41, dir))
	r.run(p, r.socket)
	limited := func(pid string) func() bool {
		return func() bool { return slices.Contains(l.seen(), pid+" "+majMin+" 300/0") }
	}
	r.until("what runs is limited", limited("41"))
	r.mu.Lock()
	r.runs = []*api.Container{aContainer("c2", 42, dir)}
	r.mu.Unlock()
	r.until("what was created meanwhile is limited", limited("42"))
	r.until("what is gone is forgotten", func() bool { return slices.Equal(slices.Compact(p.known()), []string{"c2"}) })
	if err := r.starts(pod, aContainer("c3", 43, dir)); err != nil || !limited("43")() {
		t.Errorf("the plugin no longer answers: %v", err)
	}
}

// CRI-O is refused, and the plugin says so instead of being ready.
func TestCRIOIsRefused(t *testing.T) {
	p, _, _ := aPlugin()
	r := aRuntime(t, "cri-o", nil)
	r.run(p, r.socket)
	r.until("it says why it is not ready", func() bool {
		err := p.Ready()
		return err != nil && strings.Contains(err.Error(), "CRI-O 1") && strings.Contains(err.Error(), iofit.HeldLabel)
	})
}

// alone runs a test again in a process of its own, whose mounts no other process sees, and returns whether this is it.
func alone(t *testing.T) bool {
	t.Helper()
	const inside = "PLIMSOLL_TEST_OWN_MOUNTS"
	if os.Getenv(inside) != "" {
		return true
	}
	if os.Getuid() != 0 {
		t.Skip("only root has mounts of its own")
	}
	c := exec.CommandContext(t.Context(), os.Args[0], "-test.run", "^"+t.Name()+"$", "-test.v")
	c.Env = append(os.Environ(), inside+"=1")
	c.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS}
	text, err := c.CombinedOutput()
	switch {
	case err != nil:
		t.Errorf("%v\n%s", err, text)
	case strings.Contains(string(text), "--- SKIP"):
		t.Skipf("%s", text)
	}
	return false
}

// hungMount mounts a file system in user space of which no program answers.
func hungMount(t *testing.T) (dir string) {
	t.Helper()
	fuse, err := unix.Open("/dev/fuse", unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Skipf("no FUSE here: %v", err)
	}
	dir = t.TempDir()
	options := fmt.Sprintf("fd=%d,rootmode=40000,user_id=0,group_id=0", fuse)
	if err := unix.Mount("plimsoll-test", dir, "fuse", unix.MS_NOSUID|unix.MS_NODEV, options); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := unix.Close(fuse); err != nil { // which ends what waits for it
			t.Error(err)
		}
		if err := unix.Unmount(dir, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// A pod whose volume does not answer takes no limits off the others of its node: its own container is named as not
// held, and those of others are limited. The runtime gives a plugin up that takes more than two seconds.
func TestAttackHungMount(t *testing.T) {
	if !alone(t) {
		return
	}
	hung := hungMount(t)
	dir, majMin := disk(t)
	bad, good := aPod("read-iops: 1"), aPod("read-iops: 300")
	bad.Id, bad.Name = "bad", "stuck"
	bad.Annotations[iofit.ClassAnnotation] = "reads"
	stuck := aContainer("s", 40, filepath.Join(hung, "data"))
	stuck.PodSandboxId = bad.Id
	p, l, _ := aPlugin()
	p.waits.look = 20 * time.Millisecond
	r := aRuntime(t, "test", []*api.PodSandbox{bad, good}, stuck, aContainer("c1", 41, dir))
	r.run(p, r.socket)
	r.until("what runs is limited", func() bool { return slices.Contains(l.seen(), "41 "+majMin+" 300/0") })
	// The runtime asks a plugin about new containers once it has been synchronized, which is after its limits are set.
	r.until("another is limited", func() bool {
		err := r.starts(good, aContainer("c2", 42, dir))
		return err == nil && slices.Contains(l.seen(), "42 "+majMin+" 300/0")
	})
	again := aContainer("s2", 43, filepath.Join(hung, "data"))
	if err := r.starts(bad, again); err == nil || !strings.Contains(err.Error(), "fuse, mounted at "+hung) {
		t.Errorf("a container that cannot be limited starts: %v", err)
	}
	r.until("it is connected", func() bool { held, _ := p.unheld(); return held == 2 })
	_, unheld := p.unheld()
	if len(unheld) != 1 || !strings.Contains(unheld[0].Error(), "shop/stuck") {
		t.Errorf("%v are not held, and not one", unheld)
	}
}

// other is a plugin that sets io.max, too.
type other struct{}

func (other) CreateContainer(context.Context, *api.PodSandbox, *api.Container) (*api.ContainerAdjustment,
	[]*api.ContainerUpdate, error,
) {
	a := &api.ContainerAdjustment{}
	a.AddLinuxUnified("io.max", "8:0 riops=1")
	return a, nil, nil
}

// Where another plugin sets io.max, too, the container is not created, and the error names both.
func TestAnotherOwnerOfLimitsIsNamed(t *testing.T) {
	p, c, _ := unified(t)
	r := aRuntime(t, "test", nil)
	r.run(p, r.socket)
	s, err := stub.New(other{}, stub.WithPluginName("volume-qos"), stub.WithPluginIdx("10"),
		stub.WithSocketPath(r.socket))
	if err == nil {
		err = s.Start(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Stop)
	r.until("both are asked", func() bool {
		_, err = r.CreateContainer(t.Context(), &adaptation.CreateContainerRequest{Pod: aPod("read-iops: 1"), Container: c})
		return err != nil
	})
	for _, part := range []string{"plimsoll", "volume-qos", "io.max"} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%q is not in %v", part, err)
		}
	}
}
