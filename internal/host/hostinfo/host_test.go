package hostinfo

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"plimsoll/internal/testkit/hosttest"
)

// The disk that this machine runs from must never be free for use.
func TestRootDiskIsRefused(t *testing.T) {
	h := New()
	m, err := h.mountOf("/")
	if err != nil {
		t.Fatal(err)
	}
	if m.Major == 0 {
		t.Skipf("/ is on %s, which has no block device here", m.FSType)
	}
	devices, err := h.Devices()
	if err != nil {
		t.Fatal(err)
	}
	number := fmt.Sprintf("%d:%d", m.Major, m.Minor)
	for _, d := range devices {
		if d.MajMin != number {
			continue
		}
		for _, p := range d.Problems {
			if p.Cause == CauseMounted && strings.Contains(p.Why, "mounted on /") {
				return
			}
		}
		t.Fatalf("%s holds / and is refused for %+v only", d.Path, d.Problems)
	}
	t.Fatalf("/ is on device %s, which is not among %+v", number, devices)
}

// What the report says of this machine has to agree with what the machine
// does.
func TestDoctorAgreesWithThisMachine(t *testing.T) {
	h := New()
	r := h.Doctor(t.Context(), someFileSystems)
	answer := func(section, name string) Answer {
		for _, s := range r.Sections {
			if s.Name == section {
				return s.item(name).OK
			}
		}
		t.Fatalf("the report has no section %q", section)
		return ""
	}
	if got, want := answer("rights", "root") == Yes, os.Geteuid() == 0; got && !want {
		t.Errorf("root: %v, but the effective user is %d", got, os.Geteuid())
	}
	_, err := exec.LookPath("fio")
	if found := answer("fio", "fio") != No; found != (err == nil) {
		t.Errorf("fio: found %v, but looking it up says %v", found, err)
	}
	for _, s := range r.Sections {
		for _, i := range s.Items {
			if i.OK != Yes && (i.Why == "" || i.Remedy == "") {
				t.Errorf("%s, %s: %s without a reason and a remedy: %+v", s.Name, i.Name, i.OK, i)
			}
		}
	}
	for _, d := range r.Devices {
		for _, p := range d.Problems {
			if p.Why == "" || p.Remedy == "" {
				t.Errorf("%s is refused without a reason and a remedy: %+v", d.Path, p)
			}
		}
	}
	if r.Quick.CanRun != (len(r.Quick.Missing) == 0) {
		t.Errorf("quick: %+v", r.Quick)
	}
	if e := r.Environment; e.Kernel == "" || e.CPUs == 0 || e.MemoryBytes == 0 || e.Hostname == "" {
		t.Errorf("the environment lacks what every host has: %+v", e)
	}
}

// A loop device with a file system: refused for its signature, and for its
// mount once mounted; found by any node with its number; gone when detached.
func TestLoopDevice(t *testing.T) {
	hosttest.Exclusive(t)
	dir := t.TempDir()
	image := filepath.Join(dir, "disk.img")
	run(t, "truncate", "--size=16M", image)
	path := hosttest.Loop(t, image)
	h := New()

	expect := func(want ...Cause) {
		t.Helper()
		d, err := h.Find(path)
		if err != nil {
			t.Fatal(err)
		}
		var got []Cause
		for _, p := range d.Problems {
			got = append(got, p.Cause)
		}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%s is refused for %v, want %v: %+v", path, got, want, d.Problems)
		}
	}
	expect()

	node := filepath.Join(dir, "node")
	var st unix.Stat_t
	if err := unix.Stat(path, &st); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mknod(node, unix.S_IFBLK|0o600, int(st.Rdev)); err != nil {
		t.Fatal(err)
	}
	if d, err := h.Find(node); err != nil || d.Path != path {
		t.Errorf("a node elsewhere with the number of %s finds %q, %v", path, d.Path, err)
	}

	run(t, "mkfs.ext4", "-q", path)
	expect(CauseSignature)

	mount := filepath.Join(dir, "mnt")
	if err := os.Mkdir(mount, 0o755); err != nil {
		t.Fatal(err)
	}
	run(t, "mount", path, mount)
	expect(CauseMounted, CauseSignature)
	run(t, "umount", mount)

	run(t, "wipefs", "--all", "--quiet", path)
	run(t, "mkswap", path)
	h.Roots.Proc = hosttest.ProcWithSwap(t, path)
	expect(CauseSwap, CauseSignature)
	h.Roots.Proc = New().Roots.Proc

	run(t, "wipefs", "--all", "--quiet", path)
	run(t, "blockdev", "--setro", path)
	expect(CauseReadOnly)
	run(t, "blockdev", "--setrw", path)
	expect()

	run(t, "losetup", "--detach", path)
	// The kernel detaches the file once the last process has closed the device, and any process may look at devices.
	var unknown *UnknownDeviceError
	for {
		_, err := h.Find(path)
		if errors.As(err, &unknown) {
			break
		}
		if err != nil || t.Context().Err() != nil {
			t.Fatalf("a loop device without a file: %v, want a *UnknownDeviceError", err)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// A running engine is asked for its version and storage driver.
func TestRunningEngine(t *testing.T) {
	if _, err := exec.LookPath("dockerd"); err != nil {
		t.Skip("needs dockerd")
	}
	hosttest.Exclusive(t)
	// A socket's path may be no longer than some 100 bytes.
	dir, err := os.MkdirTemp("", "hostinfo")
	if err != nil {
		t.Fatal(err)
	}
	pathOf := func(name string) string { return filepath.Join(dir, name) }
	// dockerd writes to /etc/docker and /run/docker, and the containerd that it
	// starts to /opt/containerd, unless they are told otherwise or have a /run
	// and an /opt of their own.
	config := fmt.Sprintf(`{"deprecated-key-path": %q}`, pathOf("key.json"))
	if err := os.WriteFile(pathOf("daemon.json"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	engine := exec.Command("unshare", "--mount", "sh", "-c",
		`mount -t tmpfs tmpfs /run && mount -t tmpfs tmpfs /opt && exec dockerd "$@"`, "sh",
		"--config-file", pathOf("daemon.json"), "--data-root", pathOf("data"), "--exec-root", pathOf("exec"), "--pidfile",
		pathOf("pid"), "-H", "unix://"+pathOf("sock"),
		"--storage-driver", "vfs", "--bridge=none", "--iptables=false", "--ip-forward=false")
	if err := engine.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = engine.Process.Signal(unix.SIGTERM)
		_ = engine.Wait()
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})

	h := New()
	h.DockerHost = "unix://" + pathOf("sock")
	var item Item
	for deadline := time.Now().Add(3 * time.Minute); time.Now().Before(deadline); time.Sleep(100 * time.Millisecond) {
		item = askEngine(context.Background(), h.DockerHost)
		if item.OK == Yes {
			break
		}
	}
	docker := h.docker(t.Context(), h.findPrograms(t.Context(), true))
	if len(docker.Items) == 0 || docker.Items[len(docker.Items)-1] != item {
		t.Errorf("the engine at DOCKER_HOST is not in %+v", docker)
	}
	if want := "storage driver vfs, data-root " + pathOf("data"); item.OK != Yes || !strings.Contains(item.Value, want) {
		t.Errorf("the engine gives %+v, want %q", item, want)
	}
}

func run(t *testing.T, name string, args ...string) string {
	t.Helper()
	out, err := exec.Command(name, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
	}
	return string(out)
}
