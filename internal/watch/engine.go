package watch

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"plimsoll/internal/host/hostfs"
	"plimsoll/internal/result"
)

// What an engine may take to answer, and how much. One that hangs, or lies, costs what only it knows.
const (
	longestAnswer  = 2 * time.Second
	mostAnswer     = 8 << 20
	mostContainers = 1000
)

// Labels and annotations that have the class of a container.
var classLabels = []string{"plimsoll.class", "plimsoll.dev/class"}

// asked is what an engine knows of a container, or systemd of a unit.
type asked struct {
	Engine, Name, Class string

	// Service and Manager name what the container is one of, whichever container runs it now: see serviceOf.
	Service, Manager string
	// Limits are those that it was asked for: nil where nobody knows.
	Limits map[limitKey]float64
}

// limitKey identifies a limit of a group.
type limitKey struct{ resource, device string }

// resources of a container, as the Docker API and config.json of containerd's shim have them.
type (
	deviceRate struct {
		Path string
		Rate uint64
	}
	hostConfig struct {
		NanoCpus, CpuQuota, CpuPeriod, Memory int64

		BlkioDeviceReadBps, BlkioDeviceWriteBps, BlkioDeviceReadIOps, BlkioDeviceWriteIOps []deviceRate
	}
	runtimeRate struct {
		Major, Minor int64
		Rate         uint64
	}
	runtimeSpec struct {
		Annotations map[string]string
		Linux       struct {
			CgroupsPath string
			Resources   struct {
				Memory struct{ Limit int64 }
				CPU    struct {
					Quota  int64
					Period uint64
				}
				BlockIO struct {
					ReadBps   []runtimeRate `json:"throttleReadBpsDevice"`
					WriteBps  []runtimeRate `json:"throttleWriteBpsDevice"`
					ReadIOPS  []runtimeRate `json:"throttleReadIOPSDevice"`
					WriteIOPS []runtimeRate `json:"throttleWriteIOPSDevice"`
				}
			}
		}
	}
)

// engines asks the engines of a host. Called concurrently with the sampling of the interval: nothing here is written
// after New.
type engines struct {
	roots      hostfs.Roots
	sockets    []string // of the Docker API
	containerd string   // where containerd keeps the configuration of its tasks
	systemctl  string   // the program; "" for none
	longest    time.Duration
}

// defaultSockets are where Docker and podman listen.
var defaultSockets = []string{"/var/run/docker.sock", "/run/podman/podman.sock"}

func defaultEngines(roots hostfs.Roots) engines {
	e := engines{roots: roots, containerd: "/run/containerd/io.containerd.runtime.v2.task", longest: longestAnswer}
	for _, s := range defaultSockets {
		if _, err := os.Stat(s); err == nil {
			e.sockets = append(e.sockets, s)
		}
	}
	if _, err := os.Stat("/run/systemd/system"); err == nil { // it runs this host
		e.systemctl, _ = exec.LookPath("systemctl") // systemd without its program says nothing
	}
	return e
}

// answers is what all engines said.
type answers struct {
	containers map[string]asked // by ID
	groups     map[string]Group // containers of containerd whose path no rule of names finds
	unknown    []string
}

// ask asks all engines of containers at the same time. known has the containers of containerd's files.
func (e engines) ask(ctx context.Context, known answers) answers {
	type said struct {
		containers map[string]asked
		err        error
	}
	waiting := make([]chan said, len(e.sockets))
	for i, socket := range e.sockets {
		waiting[i] = make(chan said, 1)
		go func() {
			containers, err := e.askSocket(ctx, socket)
			waiting[i] <- said{containers, err}
		}()
	}
	for i, w := range waiting {
		got := <-w
		maps.Copy(known.containers, got.containers)
		if got.err != nil {
			known.unknown = append(known.unknown, fmt.Sprintf("names, and limits that were asked for, of containers of the "+
				"engine at %s: %v", e.sockets[i], got.err))
		}
	}
	return known
}

// askSocket asks an engine by the Docker API, which podman has, too.
func (e engines) askSocket(ctx context.Context, socket string) (map[string]asked, error) {
	ctx, cancel := context.WithTimeout(ctx, e.longest)
	defer cancel()
	transport := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", socket)
	}}
	defer transport.CloseIdleConnections()
	client := http.Client{Transport: transport}
	get := func(path string, to any) error {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://engine"+path, nil)
		if err != nil {
			return err
		}
		late := func(err error) error {
			if errors.Is(ctx.Err(), context.DeadlineExceeded) {
				return fmt.Errorf("it did not answer within %v; see whether it hangs", e.longest)
			}
			return err
		}
		response, err := client.Do(request)
		if err != nil {
			return late(err)
		}
		defer response.Body.Close()
		if response.StatusCode != http.StatusOK {
			return fmt.Errorf("%s says %s", path, response.Status)
		}
		text, err := io.ReadAll(io.LimitReader(response.Body, mostAnswer+1))
		switch {
		case err != nil:
			return late(fmt.Errorf("%s: %w", path, err))
		case len(text) > mostAnswer:
			return fmt.Errorf("%s answers with more than %d MiB: this is no container engine", path, mostAnswer>>20)
		}
		if err := json.Unmarshal(text, to); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		return nil
	}
	var list []struct{ Id string }
	if err := get("/containers/json", &list); err != nil {
		return nil, err
	}
	if len(list) > mostContainers {
		return nil, fmt.Errorf(
			"it says that it has %d containers: no more than %d are asked about",
			len(list),
			mostContainers,
		)
	}
	engine := "docker"
	if strings.Contains(path.Base(socket), "podman") {
		engine = "podman"
	}
	containers := map[string]asked{}
	var wrong []error
	for _, c := range list {
		var container struct {
			Name       string
			Config     struct{ Labels map[string]string }
			HostConfig *hostConfig
		}
		err := get("/containers/"+url.PathEscape(c.Id)+"/json", &container)
		if err != nil && ctx.Err() != nil {
			return containers, err
		}
		if err != nil { // it may have ended
			wrong = append(wrong, err)
			continue
		}
		a := asked{Engine: engine, Name: strings.TrimPrefix(container.Name, "/"), Class: classOf(container.Config.Labels)}
		a.Service, a.Manager = serviceOf(container.Config.Labels)
		if container.HostConfig != nil {
			a.Limits = container.HostConfig.limits()
		}
		containers[c.Id] = a
	}
	if len(wrong) == len(list) {
		return containers, errors.Join(wrong...)
	}
	return containers, nil
}

func classOf(labels map[string]string) string {
	for _, l := range classLabels {
		if labels[l] != "" {
			return labels[l]
		}
	}
	return ""
}

// keys of limits, as experiment files have them.
const (
	keyCPUs           = "cpus"
	keyMemory         = "memory"
	keyReadIOPS       = "read-iops"
	keyWriteIOPS      = "write-iops"
	keyReadBandwidth  = "read-bandwidth"
	keyWriteBandwidth = "write-bandwidth"
)

func (h hostConfig) limits() map[limitKey]float64 {
	limits := map[limitKey]float64{}
	set(limits, keyCPUs, "", float64(h.NanoCpus)/1e9)
	if h.CpuQuota > 0 {
		period := float64(h.CpuPeriod)
		if period <= 0 {
			period = 100_000 // the kernel's
		}
		set(limits, keyCPUs, "", float64(h.CpuQuota)/period)
	}
	set(limits, keyMemory, "", float64(h.Memory))
	for _, rates := range []struct {
		key   string
		rates []deviceRate
	}{
		{keyReadBandwidth, h.BlkioDeviceReadBps}, {keyWriteBandwidth, h.BlkioDeviceWriteBps},
		{keyReadIOPS, h.BlkioDeviceReadIOps}, {keyWriteIOPS, h.BlkioDeviceWriteIOps},
	} {
		for _, r := range rates.rates {
			set(limits, rates.key, numberOf(r.Path), float64(r.Rate))
		}
	}
	return limits
}

// set notes a limit, where there is one.
func set(all map[limitKey]float64, of, device string, value float64) {
	if value > 0 {
		all[limitKey{of, device}] = value
	}
}

// numberOf returns MAJ:MIN of the device at a path, and the path where there is none.
func numberOf(device string) string {
	var st unix.Stat_t
	if unix.Stat(device, &st) != nil || st.Mode&unix.S_IFMT != unix.S_IFBLK {
		return device
	}
	return fmt.Sprintf("%d:%d", unix.Major(st.Rdev), unix.Minor(st.Rdev))
}

// flatten returns limits by their keys.
func flatten(l result.Limits, device string, to map[limitKey]float64) {
	set(to, keyCPUs, device, l.CPUs)
	set(to, keyMemory, device, float64(l.MemoryBytes))
	set(to, keyReadIOPS, device, float64(l.Read.OperationsPerSecond))
	set(to, keyWriteIOPS, device, float64(l.Write.OperationsPerSecond))
	set(to, keyReadBandwidth, device, float64(l.Read.BytesPerSecond))
	set(to, keyWriteBandwidth, device, float64(l.Write.BytesPerSecond))
}

// readContainerd reads the configuration that containerd's shims keep of each task: it needs no socket, and knows the
// limits that the task was created with. Tasks of Docker are its own.
func (e engines) readContainerd() answers {
	to := answers{containers: map[string]asked{}, groups: map[string]Group{}}
	files, _ := filepath.Glob(filepath.Join(e.containerd, "*", "*", "config.json"))
	for _, file := range files[:min(len(files), mostContainers)] {
		id, space := filepath.Base(filepath.Dir(file)), filepath.Base(filepath.Dir(filepath.Dir(file)))
		if space == "moby" {
			continue
		}
		text, err := readSome(file)
		var spec runtimeSpec
		if err == nil {
			err = json.Unmarshal(text, &spec)
		}
		if errors.Is(err, os.ErrNotExist) {
			continue // it ended
		}
		if err != nil {
			to.unknown = append(to.unknown, fmt.Sprintf("limits of containerd's container %s: %v", id, err))
			continue
		}
		a := asked{Engine: "containerd", Name: id, Class: classOf(spec.Annotations), Limits: spec.limits()}
		a.Service, a.Manager = serviceOf(spec.Annotations)
		if name := spec.Annotations["io.kubernetes.cri.container-name"]; name != "" {
			a.Name = spec.Annotations["io.kubernetes.cri.sandbox-name"] + "/" + name
		}
		to.containers[id] = a
		at := spec.Linux.CgroupsPath // "/space/id", or "slice:prefix:name" where systemd makes groups
		if strings.HasPrefix(at, "/") {
			at = path.Clean(at)
			to.groups[at] = Group{Path: at, Kind: Container, Engine: a.Engine, ID: id, Name: a.Name}
		}
	}
	return to
}

// readSome reads a file that is no longer than an answer may be.
func readSome(file string) ([]byte, error) {
	f, err := os.OpenFile(file, os.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, mostAnswer))
}

func (s runtimeSpec) limits() map[limitKey]float64 {
	limits := map[limitKey]float64{}
	r := s.Linux.Resources
	if r.CPU.Quota > 0 && r.CPU.Period > 0 {
		set(limits, keyCPUs, "", float64(r.CPU.Quota)/float64(r.CPU.Period))
	}
	set(limits, keyMemory, "", float64(r.Memory.Limit))
	for _, rates := range []struct {
		key   string
		rates []runtimeRate
	}{
		{keyReadBandwidth, r.BlockIO.ReadBps}, {keyWriteBandwidth, r.BlockIO.WriteBps},
		{keyReadIOPS, r.BlockIO.ReadIOPS}, {keyWriteIOPS, r.BlockIO.WriteIOPS},
	} {
		for _, rate := range rates.rates {
			set(limits, rates.key, fmt.Sprintf("%d:%d", rate.Major, rate.Minor), float64(rate.Rate))
		}
	}
	return limits
}

// systemdLimits maps properties of units to keys of limits; those of devices are "PATH VALUE".
var systemdLimits = map[string]string{
	"CPUQuotaPerSecUSec": keyCPUs, "MemoryMax": keyMemory,
	"IOReadIOPSMax": keyReadIOPS, "IOWriteIOPSMax": keyWriteIOPS,
	"IOReadBandwidthMax": keyReadBandwidth, "IOWriteBandwidthMax": keyWriteBandwidth,
}

// askSystemd asks for the properties of units. It returns them by the path of their group.
func (e engines) askSystemd(ctx context.Context, units []string) (map[string]asked, error) {
	answers := map[string]asked{}
	if e.systemctl == "" || len(units) == 0 {
		return answers, nil
	}
	ctx, cancel := context.WithTimeout(ctx, e.longest)
	defer cancel()
	properties := slices.Sorted(maps.Keys(systemdLimits))
	args := []string{"show", "--property=ControlGroup," + strings.Join(properties, ","), "--"}
	cmd := exec.CommandContext(ctx, e.systemctl, append(args, units...)...)
	cmd.WaitDelay = time.Second // what it started may hold its output open
	out, err := cmd.Output()
	if err != nil {
		return answers, fmt.Errorf("systemctl show: %w", errors.Join(err, ctx.Err()))
	}
	parseSystemd(out[:min(len(out), mostAnswer)], answers)
	return answers, nil
}

// parseSystemd reads what systemctl show prints: a block of NAME=VALUE for each unit.
func parseSystemd(text []byte, to map[string]asked) {
	for block := range bytes.SplitSeq(text, []byte("\n\n")) {
		a, group := asked{Engine: "systemd", Limits: map[limitKey]float64{}}, ""
		for line := range strings.Lines(string(block)) {
			name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "=")
			if name == "ControlGroup" {
				group = value
			}
			key, known := systemdLimits[name]
			if !known {
				continue
			}
			device := ""
			if strings.HasPrefix(name, "IO") {
				device, value, _ = strings.Cut(value, " ")
				device = numberOf(device)
			}
			set(a.Limits, key, device, systemdNumber(key, value))
		}
		if group != "" {
			to[group] = a
		}
	}
}

// systemdNumber reads a value: "infinity", a number, or a time such as "1.500s" and "500ms" for processors.
func systemdNumber(key, value string) float64 {
	if key == keyCPUs {
		d, err := time.ParseDuration(strings.ReplaceAll(strings.ReplaceAll(value, "min", "m"), " ", ""))
		if err != nil {
			return 0 // infinity
		}
		return d.Seconds()
	}
	n, err := strconv.ParseUint(value, 10, 64)
	if err != nil || n >= 1<<63 {
		return 0
	}
	return float64(n)
}
