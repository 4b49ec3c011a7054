package hostinfo

import (
	"context"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/moby/moby/client"

	"plimsoll/internal/host/version"
)

// engine is a dockerd from which private engines may be started, or a docker.
type engine struct {
	path    string
	version string // "20.10.24+dfsg1"; "" when it cannot be asked
	err     error
}

// programVersions are programs of the host, and their answers.
type programVersions struct {
	fio     fioProgram
	engines []engine // the dockerds in PATH; runs start the first
	clients []engine // the dockers in PATH, for Doctor alone
}

// findPrograms asks the programs for their versions, all at the same time; for Doctor also clients and fio's engines.
func (h *Host) findPrograms(ctx context.Context, doctor bool) (found programVersions) {
	var asking sync.WaitGroup
	found.fio.path, found.fio.inPath = h.program("fio")
	if f := &found.fio; f.path != "" {
		asking.Go(func() { f.askVersion(ctx) })
		if doctor {
			asking.Go(func() { _, f.libaio = runProgram(ctx, f.path, "--enghelp=libaio") })
			asking.Go(func() { _, f.ioURing = runProgram(ctx, f.path, "--enghelp=io_uring") })
		}
	}
	versions := func(paths []string) []engine {
		all := make([]engine, len(paths))
		for i, path := range paths {
			all[i].path = path
			asking.Go(func() { all[i].version, all[i].err = dockerVersion(ctx, path) })
		}
		return all
	}
	engines := programs(h.Path, "dockerd")
	if path, _ := h.program("dockerd"); len(engines) == 0 && path != "" {
		engines = []string{path}
	}
	found.engines = versions(engines)
	if doctor {
		found.clients = versions(programs(h.Path, "docker"))
	}
	asking.Wait()
	return found
}

// dockerVersion reads "Docker version 20.10.24+dfsg1, build 5d6db84".
func dockerVersion(ctx context.Context, path string) (string, error) {
	out, err := runProgram(ctx, path, "--version")
	if err != nil {
		return "", fmt.Errorf("%s does not show its version: %w", path, err)
	}
	_, rest, ok := strings.Cut(out, "version ")
	if !ok {
		return "", fmt.Errorf("%s --version says %q", path, strings.TrimSpace(out))
	}
	v, _, _ := strings.Cut(strings.TrimSpace(rest), ",")
	return v, nil
}

// docker reports Docker's programs and engines.
func (h *Host) docker(ctx context.Context, found programVersions) Section {
	s := Section{Name: "Docker"}
	s.Items = append(s.Items, h.privateEngines(found.engines))
	for _, e := range found.engines {
		s.Items = append(s.Items, versionItem("dockerd", e))
	}
	for _, c := range found.clients {
		s.Items = append(s.Items, versionItem("docker (client)", c))
	}
	hosts := []string{h.ownEngine()}
	if h.DockerHost != "" && h.DockerHost != hosts[0] {
		hosts = append(hosts, h.DockerHost)
	}
	for _, host := range hosts {
		s.Items = append(s.Items, askEngine(ctx, host))
	}
	if path, _ := h.program("podman"); path != "" {
		s.Items = append(s.Items, h.podman(path))
	}
	return s
}

// ownEngine is the address of the engine that serves this host.
func (h *Host) ownEngine() string { return "unix://" + filepath.Join(h.Run, "docker.sock") }

func versionItem(name string, e engine) Item {
	i := Item{Name: name, OK: Yes, Value: e.version + "  " + e.path}
	if e.err != nil {
		i.OK, i.Value, i.Why, i.Remedy = Unknown, e.path, e.err.Error(), "install it anew"
	}
	return i
}

// privateEngines reports whether runs can start engines of their own.
func (h *Host) privateEngines(engines []engine) Item {
	i := Item{Name: "private engines", OK: Yes}
	if len(engines) == 0 {
		i.OK, i.Why = No, "there is no dockerd in PATH; a client or another host's engine does not do, as the "+
			"data-root has to be on the stack"
		i.Remedy = h.installing("docker.io")
		return i
	}
	i.Value = "from " + engines[0].path
	if engines[0].err != nil {
		i.OK, i.Why, i.Remedy = No, engines[0].err.Error(), "install it anew"
		return i
	}
	for _, name := range []string{"containerd", "runc"} {
		if path, _ := h.program(name); path == "" {
			i.OK, i.Why, i.Remedy = No, "dockerd needs "+name+", which is not in PATH", h.installing(name)
		}
	}
	return i
}

// runningDriver returns the storage driver of the engine that serves this host; "" for none.
func (h *Host) runningDriver(ctx context.Context) string {
	host := h.ownEngine()
	if !exists(strings.TrimPrefix(host, "unix://")) {
		return ""
	}
	c, err := client.New(client.WithHost(host))
	if err != nil {
		return ""
	}
	defer c.Close()
	info, err := engineInfo(ctx, c)
	if err != nil {
		return ""
	}
	return info.Info.Driver
}

func engineInfo(ctx context.Context, c *client.Client) (client.SystemInfoResult, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	return c.Info(ctx, client.InfoOptions{})
}

// podmanDriver matches the storage driver in containers-storage.conf(5).
var podmanDriver = regexp.MustCompile(`(?m)^[ \t]*driver[ \t]*=[ \t]*"([a-z0-9-]{1,32})"`)

// podman reports the storage driver that Podman's configuration of the whole host names. Runs do not start it.
func (h *Host) podman(path string) Item {
	i := Item{Name: "podman", OK: Limited, Value: path}
	for _, file := range []string{"containers/storage.conf", "../usr/share/containers/storage.conf"} {
		if m := podmanDriver.FindStringSubmatch(readTrimmed(h.Etc, file)); m != nil {
			i.Value += fmt.Sprintf(", storage driver %s by %s", m[1], filepath.Join(h.Etc, file))
			break
		}
	}
	i.Why = "runs do not start Podman, and measure no rootless containers"
	i.Remedy = "volume, and overlayfs for its driver overlay, take the same way through the kernel"
	return i
}

const noEngineNeeded = "none is needed: runs start a private one, and leave others alone"

// askEngine asks a running engine for its version and storage driver. An
// engine that does not run is no lack: runs start their own.
func askEngine(ctx context.Context, host string) Item {
	i := Item{Name: "running engine", OK: No, Value: host}
	if socket, ok := strings.CutPrefix(host, "unix://"); ok && !exists(socket) {
		i.Why, i.Remedy = "there is no such socket", noEngineNeeded
		return i
	}
	c, err := client.New(client.WithHost(host))
	if err != nil {
		i.OK, i.Why = Unknown, err.Error()
		i.Remedy = "DOCKER_HOST is asked when it is a unix or tcp address"
		return i
	}
	defer c.Close()
	info, err := engineInfo(ctx, c)
	if err != nil {
		i.Why = "it does not answer: " + err.Error()
		i.Remedy = noEngineNeeded
		return i
	}
	i.OK = Yes
	i.Value += fmt.Sprintf(", version %s, storage driver %s, data-root %s", info.Info.ServerVersion, info.Info.Driver,
		info.Info.DockerRootDir)
	return i
}

// storageDrivers reports which storage drivers a private engine supports on a suitable stack.
func (h *Host) storageDrivers(e engine, k kernel, files Section) Section {
	v := version.Parse(e.version)
	zfs := func() Item {
		i := k.item("zfs", k.module("zfs", "ZFS"), "zfs", "ZFS")
		if i.OK != Yes {
			h.outsideLinux(&i, "zfsutils-linux")
		} else if path, _ := h.program("zfs"); path == "" {
			i.OK, i.Value, i.Why, i.Remedy = No, "", "the program zfs is not in PATH", h.installing("zfsutils-linux")
		}
		return i
	}
	overlay := k.item("overlay2", k.filesystem("overlay", "OVERLAY_FS"), "overlay", "OVERLAY_FS")
	legacy := overlay
	legacy.Name = "overlay"
	if legacy.OK == Yes {
		legacy.Value += "; deprecated in favour of overlay2"
	}
	btrfs := files.item("btrfs")
	if btrfs.OK == Yes {
		btrfs.Value = "on a stack with btrfs"
	}
	mapper := k.item("devicemapper", k.module("dm-mod", "BLK_DEV_DM"), "dm-mod", "BLK_DEV_DM")
	aufs := k.item("aufs", k.filesystem("aufs", "AUFS_FS"), "aufs", "AUFS_FS")
	if aufs.OK != Yes {
		aufs.Why = "aufs was never part of Linux, and this kernel is not patched for it"
		aufs.Remedy = "a kernel patched with aufs; overlay2 took its place"
	}
	return Section{
		Name: "storage drivers of " + e.path + " " + e.version,
		Items: []Item{
			overlay,
			containerdStore(overlay, v),
			btrfs,
			{Name: "vfs", OK: Yes, Value: "copies every layer"},
			h.fuseOverlay(k, v),
			markRemoved(mapper, v, version.Version{Major: 25}),
			markRemoved(aufs, v, version.Version{Major: 24}),
			zfs(),
			markRemoved(legacy, v, version.Version{Major: 24}),
		},
	}
}

// ContainerdStore is the storage driver of an engine that keeps images and containers in containerd's store, by its
// snapshotter of that name, as Docker 29 does by default.
const ContainerdStore = "overlayfs"

// OldestContainerdStore is the first version of Docker whose engines are started with containerd's store.
const OldestContainerdStore = 26

// containerdStore reports who makes layers of the view overlayfs.
func containerdStore(overlay Item, engine version.Version) Item {
	i := overlay
	i.Name = ContainerdStore
	if i.OK == Yes {
		i.Value = "in containerd's store"
		if !engine.AtLeast(version.Version{Major: OldestContainerdStore}) {
			i.Value = fmt.Sprintf("mounted as containerd does; engines keep containers in its store from Docker %d on",
				OldestContainerdStore)
		}
	}
	return i
}

// markRemoved marks the item if the engine's version no longer has the driver.
func markRemoved(i Item, engine, in version.Version) Item {
	if !engine.AtLeast(in) {
		return i
	}
	return Item{
		Name: i.Name, OK: No,
		Why:    fmt.Sprintf("Docker %s removed the driver", in),
		Remedy: fmt.Sprintf("an engine before %s; overlay2 took its place", in),
	}
}

func (h *Host) fuseOverlay(k kernel, engine version.Version) Item {
	i := k.item("fuse-overlayfs", k.filesystem("fuse", "FUSE_FS"), "fuse", "FUSE_FS")
	path, _ := h.program("fuse-overlayfs")
	i.Value = ""
	switch {
	case i.OK != Yes:
	case path == "":
		i.OK, i.Why, i.Remedy = No, "the program fuse-overlayfs is not in PATH", h.installing("fuse-overlayfs")
	case !exists(h.Dev, "fuse"):
		i.OK, i.Why, i.Remedy = No, "there is no "+filepath.Join(h.Dev, "fuse"),
			"modprobe fuse, or pass the device to this container"
	case !engine.AtLeast(version.Version{Major: 20, Minor: 10}):
		i.OK, i.Why, i.Remedy = No, "Docker has the driver from 20.10 on", "a later engine"
	default:
		i.Value = path + "; serves O_DIRECT from memory"
	}
	return i
}
