// Package apply makes Docker engines run the containers that a plan places on them.
//
// A Compose file is read into services, engines are found by Docker contexts, and a plan of internal/placement places
// the one on the other. Apply compares the plan with the containers that stand, and makes the difference go away step
// by step. Each step is in a journal before it is made. Keep does so again and again, and moves containers whose limit
// of p99 breaks: a Keeper decides that from looks alone, and a log has both.
//
// Hazards. An engine does as root what it is asked. So a Compose file, and the plan that is made from it, may name only
// what service has: no path, namespace, device or privilege of the host. A container is touched only while it carries
// the label of the plan's project, which is asked for again right before, and by its ID. An engine may be slow, another
// one than before, or wrong: each request has a limit, the ID of the engine is compared, and limits are read back.
package apply

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/netip"
	"path"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/compose-spec/compose-go/v2/types"

	"plimsoll/internal/problem"
)

// Service is equal containers of a Compose file, with nothing of the host that they run on.
type Service struct {
	Name     string `json:"name"`
	Replicas int    `json:"replicas"`
	Image    string `json:"image"`

	Entrypoint  []string          `json:"entrypoint,omitempty"`
	Command     []string          `json:"command,omitempty"`
	Environment map[string]string `json:"environment,omitempty"`
	Labels      map[string]string `json:"labels,omitempty"`
	User        string            `json:"user,omitempty"`
	WorkingDir  string            `json:"working_dir,omitempty"`
	Hostname    string            `json:"hostname,omitempty"`
	StopSignal  string            `json:"stop_signal,omitempty"`
	StopSeconds int               `json:"stop_seconds,omitempty"`
	Init        bool              `json:"init,omitempty"`
	ReadOnly    bool              `json:"read_only,omitempty"`
	Tmpfs       []string          `json:"tmpfs,omitempty"` // PATH, or PATH:OPTIONS
	CapDrop     []string          `json:"cap_drop,omitempty"`
	Restart     string            `json:"restart,omitempty"`
	Network     string            `json:"network,omitempty"` // "none", or "" for the engine's bridge
	Volumes     []Volume          `json:"volumes,omitempty"`
	Ports       []Port            `json:"ports,omitempty"`
	Limits      Limits            `json:"limits,omitzero"`

	NoNewPrivileges bool              `json:"no_new_privileges,omitempty"`
	Terminal        bool              `json:"terminal,omitempty"`
	Stdin           bool              `json:"stdin,omitempty"`
	ShmBytes        int64             `json:"shm_bytes,omitempty"`
	CPUShares       int64             `json:"cpu_shares,omitempty"`
	Ulimits         []Ulimit          `json:"ulimits,omitempty"`
	Sysctls         map[string]string `json:"sysctls,omitempty"`
	ExtraHosts      []string          `json:"extra_hosts,omitempty"` // NAME:ADDRESS
	Healthcheck     *Healthcheck      `json:"healthcheck,omitempty"`
	Logging         *Logging          `json:"logging,omitempty"`
	Files           []File            `json:"files,omitempty"`
	Networks        []Attachment      `json:"networks,omitempty"` // of the project, instead of the engine's bridge
	DependsOn       []Dependency      `json:"depends_on,omitempty"`
	Reaches         []string          `json:"reaches,omitempty"` // services, by their published ports where they stand elsewhere
	Once            bool              `json:"once,omitempty"`    // it ends by itself, and others wait for that
}

// Ulimit is a limit of the processes of a container. -1 is none.
type Ulimit struct {
	Name string `json:"name"`
	Soft int64  `json:"soft"`
	Hard int64  `json:"hard"`
}

// Healthcheck is how an engine sees whether a container is healthy. What is 0 or empty is as the image has it.
type Healthcheck struct {
	Test          []string `json:"test,omitempty"`
	Interval      float64  `json:"interval_seconds,omitempty"`
	Timeout       float64  `json:"timeout_seconds,omitempty"`
	StartPeriod   float64  `json:"start_period_seconds,omitempty"`
	StartInterval float64  `json:"start_interval_seconds,omitempty"`
	Retries       int      `json:"retries,omitempty"`
}

// Logging is where an engine keeps what a container prints.
type Logging struct {
	Driver  string            `json:"driver,omitempty"`
	Options map[string]string `json:"options,omitempty"`
}

// File is a file that is copied into a container before it starts: a secret or a config.
type File struct {
	Target  string `json:"target"`
	Mode    uint32 `json:"mode"`
	UID     int    `json:"uid,omitempty"`
	GID     int    `json:"gid,omitempty"`
	Content []byte `json:"content"`
}

// Attachment is a network of the project that a container joins. Each engine has its own network of that name.
type Attachment struct {
	Name     string   `json:"name"`
	Internal bool     `json:"internal,omitempty"` // it has no way out
	Aliases  []string `json:"aliases,omitempty"`
}

// Dependency is a service that has to stand before another one is started.
type Dependency struct {
	Service   string `json:"service"`
	Condition string `json:"condition"`
}

// Volume is a named volume, of which each replica has one of its own.
type Volume struct {
	Name     string `json:"name"`
	Target   string `json:"target"`
	ReadOnly bool   `json:"read_only,omitempty"`
}

// Port is a port of a container that is published on its host.
type Port struct {
	Host      string `json:"host,omitempty"` // address; "" for all
	Published uint16 `json:"published,omitempty"`
	Target    uint16 `json:"target"`
	Protocol  string `json:"protocol"` // tcp, udp, sctp
}

// Limits are those of one container; 0 is none.
type Limits struct {
	MemoryBytes int64 `json:"memory_bytes,omitempty"`
	SwapBytes   int64 `json:"memory_and_swap_bytes,omitempty"` // 0 for no swap
	NanoCPUs    int64 `json:"nano_cpus,omitempty"`
	Pids        int64 `json:"pids,omitempty"`

	Device        string `json:"device,omitempty"` // that I/O is limited of, by its path on the host
	ReadBytes     int64  `json:"read_bytes_per_second,omitempty"`
	WriteBytes    int64  `json:"write_bytes_per_second,omitempty"`
	ReadRequests  int64  `json:"read_iops,omitempty"`
	WriteRequests int64  `json:"write_iops,omitempty"`
}

var (
	// projectName is Compose's rule, with an end.
	projectName = regexp.MustCompile(`^[a-z0-9][a-z0-9_-]{0,62}$`)
	plainName   = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.-]{0,62}$`)
	imageName   = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._/:@-]{0,254}$`)
	devicePath  = regexp.MustCompile(`^/dev/[A-Za-z0-9][A-Za-z0-9_.:/-]*$`)
	signalName  = regexp.MustCompile(`^(SIG)?[A-Z0-9+-]{1,12}$`)
	tmpfsRule   = regexp.MustCompile(`^/[^:\x00-\x1f]*(:(size=[0-9]+[kmgKMG]?|mode=[0-7]+|[ug]id=[0-9]+|rw|noexec|exec|nosuid|nodev|,)*)?$`)
	// sysctlName is of those that are the container's own.
	sysctlName  = regexp.MustCompile(`^(net|fs\.mqueue)(\.[a-z0-9_-]+)+$|^kernel\.(shm[a-z_]+|msg[a-z]+|sem)$`)
	hostEntry   = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.-]{0,253}:(host-gateway|[0-9a-fA-F.:]+)$`)
	restartRule = regexp.MustCompile(`^(no|always|unless-stopped|on-failure(:[0-9]{1,4})?)$`)
)

const (
	mostReplicas    = 1000
	mostStopSeconds = 3600
	mostFiles       = 100 // of a container
)

// ulimitNames are those that give no priority over other processes of the host.
var ulimitNames = []string{"as", "core", "cpu", "data", "fsize", "locks", "memlock", "msgqueue", "nofile", "nproc",
	"rss", "sigpending", "stack"}

// conditions are those of a dependency.
var conditions = []string{types.ServiceConditionStarted, types.ServiceConditionHealthy,
	types.ServiceConditionCompletedSuccessfully}

// logOptions are the options of drivers that write to no other host, by driver.
var logOptions = map[string][]string{
	"": {"max-size", "max-file", "compress"}, "json-file": {"max-size", "max-file", "compress", "labels", "env", "tag"},
	"local": {"max-size", "max-file", "compress"}, "journald": {"tag", "labels", "env"}, "none": {},
}

// check returns all that is wrong with a service, of a Compose file or of a plan's.
func (s *Service) check() (problems problem.List) {
	wrong := func(remedy, format string, args ...any) {
		problems = append(problems, problem.Problem{Kind: problem.Invalid, What: fmt.Sprintf("service %q: ", s.Name) +
			fmt.Sprintf(format, args...), Remedy: remedy})
	}
	matches := func(what, value string, shape *regexp.Regexp) {
		if value != "" && !shape.MatchString(value) {
			wrong("", "%q is no %s", value, what)
		}
	}
	if !plainName.MatchString(s.Name) {
		wrong("take letters, digits, and - . _ between them, 63 at most", "this is no name")
	}
	if s.Image == "" {
		wrong("write image: NAME:TAG of an image that the engines have", "it has no image")
	}
	matches("image", s.Image, imageName)
	matches("signal", s.StopSignal, signalName)
	matches("restart policy", s.Restart, restartRule)
	matches("host name", s.Hostname, plainName)
	matches("device", s.Limits.Device, devicePath)
	if s.Replicas < 0 || s.Replicas > mostReplicas {
		wrong("", "%d replicas are not from 0 to %d", s.Replicas, mostReplicas)
	}
	if s.StopSeconds < 0 || s.StopSeconds > mostStopSeconds {
		wrong("", "stop_grace_period is not from 0 s to %d s", mostStopSeconds)
	}
	if s.Network != "" && s.Network != "none" {
		wrong("leave network_mode out, or write none", "its network %q is one of the host's or of another container's",
			s.Network)
	}
	l := s.Limits
	if min(l.MemoryBytes, l.NanoCPUs, l.Pids, l.ReadBytes, l.WriteBytes, l.ReadRequests, l.WriteRequests) < 0 {
		wrong("", "a limit is below 0")
	}
	if l.Device == "" && l.ReadBytes+l.WriteBytes+l.ReadRequests+l.WriteRequests > 0 {
		wrong("", "its limits of I/O name no device")
	}
	for _, v := range s.Volumes {
		matches("name of a volume", v.Name, plainName)
		if v.Name == "" || !strings.HasPrefix(v.Target, "/") {
			wrong("write NAME:/PATH", "volume %q at %q has no name, or no path", v.Name, v.Target)
		}
	}
	for _, p := range s.Ports {
		if !slices.Contains([]string{"tcp", "udp", "sctp"}, p.Protocol) || p.Target == 0 {
			wrong("", "port %d/%q is none", p.Target, p.Protocol)
		}
		if _, err := netip.ParseAddr(p.Host); p.Host != "" && err != nil {
			wrong("", "port %d: %q is no address", p.Target, p.Host)
		}
		if p.Published > 0 && s.Replicas > 1 {
			wrong("leave the published port out: the engine chooses one",
				"port %d of %d replicas would be published as %d by each", p.Target, s.Replicas, p.Published)
		}
	}
	s.checkContainer(wrong)
	s.checkNetworks(wrong)
	for key := range s.Labels {
		if strings.HasPrefix(key, labelPrefix) {
			wrong("known are "+strings.Join(demandLabels, ", "), "label %q is one of Plimsoll's own", key)
		}
		if strings.HasPrefix(key, "com.docker.") {
			wrong("leave it out", "label %q is one of Docker's own: docker compose would take the container for its own", key)
		}
	}
	return problems
}

// checkContainer is check for what the container is made with.
func (s *Service) checkContainer(wrong func(remedy, format string, args ...any)) {
	if s.ShmBytes < 0 || s.CPUShares < 0 {
		wrong("", "shm_size or cpu_shares is below 0")
	}
	if l := s.Limits; l.SwapBytes != 0 && (l.MemoryBytes == 0 || l.SwapBytes < l.MemoryBytes) {
		wrong("write mem_limit, and memswap_limit, which counts both, not below it", "memswap_limit is %d, of a limit of "+
			"memory of %d", l.SwapBytes, l.MemoryBytes)
	}
	for _, t := range s.Tmpfs {
		if !tmpfsRule.MatchString(t) {
			wrong("write /PATH, or /PATH:size=64m,mode=1777", "tmpfs %q is none", t)
		}
	}
	for _, u := range s.Ulimits {
		if !slices.Contains(ulimitNames, u.Name) || u.Soft < -1 || u.Hard < -1 {
			wrong("known are "+strings.Join(ulimitNames, ", "), "ulimit %q of %d and %d is none", u.Name, u.Soft, u.Hard)
		}
	}
	for key := range s.Sysctls {
		if !sysctlName.MatchString(key) {
			wrong("leave it out", "sysctl %q is its host's, and not the container's own", key)
		}
	}
	if h := s.Healthcheck; h != nil && (min(h.Interval, h.Timeout, h.StartPeriod, h.StartInterval) < 0 || h.Retries < 0 ||
		max(h.Interval, h.Timeout, h.StartPeriod, h.StartInterval) > 1e6) {
		wrong("", "a time or a count of its healthcheck is below 0, or beyond all measure")
	}
	if l := s.Logging; l != nil {
		known, driver := logOptions[l.Driver]
		if !driver {
			wrong("write json-file, local, journald or none", "logging driver %q would connect its engine to something else",
				l.Driver)
		}
		for key := range l.Options {
			if driver && !slices.Contains(known, key) {
				wrong("leave it out", "option %q of logging driver %q is not taken", key, l.Driver)
			}
		}
	}
	if len(s.Files) > mostFiles {
		wrong("", "%d secrets and configs are more than %d", len(s.Files), mostFiles)
	}
	if len(s.Files) > 0 && s.ReadOnly {
		wrong("leave read_only out", "secrets and configs are copied into it, and it is read_only")
	}
	for _, f := range s.Files {
		hidden := slices.ContainsFunc(s.Tmpfs, func(t string) bool {
			at, _, _ := strings.Cut(t, ":")
			return strings.HasPrefix(f.Target, path.Clean(at)+"/")
		})
		switch {
		case !path.IsAbs(f.Target) || path.Clean(f.Target) != f.Target || f.Target == "/" ||
			strings.ContainsFunc(f.Target, unicode.IsControl):
			wrong("write target: /PATH", "file %q is no path of a container", f.Target)
		case f.Mode > 0o777 || f.UID < 0 || f.GID < 0:
			wrong("write mode: 0400, or another one up to 0777", "file %q has the mode %#o", f.Target, f.Mode)
		case hidden:
			wrong("give it another target", "file %q would be below a tmpfs, which is empty at the start", f.Target)
		case len(f.Content) > mostFile:
			wrong("", "file %q is larger than %d KiB", f.Target, mostFile>>10)
		}
	}
}

// checkNetworks is check for what the container reaches.
func (s *Service) checkNetworks(wrong func(remedy, format string, args ...any)) {
	for _, n := range s.Networks {
		if !plainName.MatchString(n.Name) {
			wrong("take letters, digits, and - . _ between them, 63 at most", "network %q: this is no name", n.Name)
		}
		for _, alias := range n.Aliases {
			if !plainName.MatchString(alias) {
				wrong("take letters, digits, and - . _ between them, 63 at most", "name %q on a network is none", alias)
			}
		}
	}
	if len(s.Networks) > 0 && s.Network != "" {
		wrong("leave networks out", "its network is %q, and it has others", s.Network)
	}
	for _, host := range s.ExtraHosts {
		if !hostEntry.MatchString(host) {
			wrong("write NAME:ADDRESS", "extra_hosts: %q is no name with an address", host)
		}
	}
	for _, d := range s.DependsOn {
		if !slices.Contains(conditions, d.Condition) {
			wrong("known are "+strings.Join(conditions, ", "), "depends_on: the condition %q of %q is none", d.Condition,
				d.Service)
		}
	}
}

// spec identifies what a container of the service is made from.
func (s *Service) spec() string {
	made := *s
	made.Replicas, made.DependsOn, made.Reaches, made.Once = 0, nil, nil, false
	return digest(made)
}

// digest is of a value that JSON can have.
func digest(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err) // a plain value
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:8])
}
