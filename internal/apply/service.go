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
	"regexp"
	"slices"
	"strings"

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
	Tmpfs       []string          `json:"tmpfs,omitempty"`
	CapDrop     []string          `json:"cap_drop,omitempty"`
	Restart     string            `json:"restart,omitempty"`
	Network     string            `json:"network,omitempty"` // "none", or "" for the engine's bridge
	Volumes     []Volume          `json:"volumes,omitempty"`
	Ports       []Port            `json:"ports,omitempty"`
	Limits      Limits            `json:"limits,omitzero"`
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
	restartRule = regexp.MustCompile(`^(no|always|unless-stopped|on-failure(:[0-9]{1,4})?)$`)
)

const (
	mostReplicas    = 1000
	mostStopSeconds = 3600
)

// check returns all that is wrong with a service, of a Compose file or of a plan's.
func (s *Service) check() (all problem.List) {
	wrong := func(remedy, format string, args ...any) {
		all = append(all, problem.Problem{Kind: problem.Invalid, What: fmt.Sprintf("service %q: ", s.Name) +
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
	for key := range s.Labels {
		if strings.HasPrefix(key, labelPrefix) {
			wrong("known are "+strings.Join(demandLabels, ", "), "label %q is one of Plimsoll's own", key)
		}
	}
	return all
}

// spec identifies what a container of the service is made from.
func (s *Service) spec() string {
	made := *s
	made.Replicas = 0
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
