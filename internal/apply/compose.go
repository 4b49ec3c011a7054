package apply

import (
	"context"
	"fmt"
	"io"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/compose-spec/compose-go/v2/loader"
	"github.com/compose-spec/compose-go/v2/template"
	"github.com/compose-spec/compose-go/v2/types"
	"github.com/sirupsen/logrus"
	"go.yaml.in/yaml/v3"

	"plimsoll/internal/field"
	"plimsoll/internal/problem"
)

// Project is what a Compose file says.
type Project struct {
	Name     string
	Services []Service
	Demands  map[string]map[string]string // of each service by its name: keys of a fleet's containers
}

// labelPrefix begins the labels that are Plimsoll's.
const labelPrefix = "plimsoll."

// demandLabels are what a Compose file says to the plan: keys of a fleet's containers.
var demandLabels = []string{
	"plimsoll.apart",
	"plimsoll.away-from",
	"plimsoll.beside",
	"plimsoll.class",
	"plimsoll.data",
	"plimsoll.least-throughput",
	"plimsoll.on",
	"plimsoll.p99-limit",
}

// Keys of a Compose file that a container can be made from.
var (
	serviceKeys = []string{"image", "command", "entrypoint", "environment", "labels", "deploy", "cpus", "mem_limit",
		"pids_limit", "blkio_config", "user", "working_dir", "hostname", "stop_signal", "stop_grace_period", "init",
		"read_only", "tmpfs", "cap_drop", "volumes", "ports", "expose", "network_mode", "restart", "scale"}
	deployKeys   = []string{"mode", "replicas", "resources"}
	resourceKeys = []string{"limits"}
	limitKeys    = []string{"cpus", "memory", "pids"}
	blkioKeys    = []string{"device_read_bps", "device_write_bps", "device_read_iops", "device_write_iops"}
	topKeys      = []string{"name", "version", "services", "volumes"}
)

// refused are reasons why a key is not among those, where there is more to say than that.
var refused = map[string]string{
	"privileged":     "it would have all rights of root on its host",
	"cap_add":        "it would have more rights on its host than containers have",
	"devices":        "it would open a device of its host",
	"security_opt":   "it could switch off what keeps it from its host",
	"pid":            "it would see processes of its host, or of another container",
	"ipc":            "it would share memory with its host, or with another container",
	"userns_mode":    "it would be root of its host",
	"use_api_socket": "it would be root of its host",
	"volumes_from":   "it would have another container's paths",
	"extends":        "it names another file; docker compose config writes one that has all of it",
	"include":        "it names other files; docker compose config writes one that has all of them",
	"env_file":       "it names another file; docker compose config writes one that has all of it",
	"label_file":     "it names another file; docker compose config writes one that has all of it",
	"configs":        "it names another file",
	"secrets":        "it names another file",
	"build":          "engines run images that they have; build it, and write its name as image",
	"networks":       "services on several engines share no network; publish ports",
	"links":          "services on several engines share no network; publish ports",
	"depends_on":     "containers of several engines are started in the order of steps; have it retry",
	"container_name": "containers are named PROJECT-SERVICE-NUMBER",
	"placement":      "the plan says where containers stand; demands are labels: plimsoll.on, plimsoll.apart",
	"reservations":   "the plan reserves what the class needs",
}

// composeFile bounds Compose files, far above real ones.
var composeFile = field.File{Name: "Compose file", Begin: "write services:", Bytes: 1 << 20, Values: 100_000}

// ReadCompose reads a Compose file. It opens no other file. Variables have the values of env, and no others. The error
// is a problem.List with everything that is wrong.
func ReadCompose(ctx context.Context, file string, text []byte, env map[string]string) (*Project, error) {
	r := &field.Reader{}
	root := r.Root(text, composeFile)
	if root == nil || len(r.Problems) > 0 {
		return nil, r.Problems.Sorted().Within(file).Err()
	}
	if err := unset(root, env); err != nil {
		return nil, err
	}
	logrus.SetOutput(io.Discard) // the library warns there, in words of the file
	details := types.ConfigDetails{WorkingDir: "/", Environment: env,
		ConfigFiles: []types.ConfigFile{{Filename: file, Content: text}}}
	options := func(o *loader.Options) {
		o.SkipInclude, o.SkipExtends, o.SkipNormalization, o.SkipResolveEnvironment = true, true, true, true
		o.ResolvePaths = false
		directory, err := filepath.Abs(file)
		if err == nil {
			o.SetProjectName(loader.NormalizeProjectName(filepath.Base(filepath.Dir(directory))), false)
		}
	}
	model, err := loader.LoadModelWithContext(ctx, details, options)
	if err != nil {
		return nil, problem.New(problem.Invalid, file, err.Error(), "")
	}
	var all problem.List
	allow(&all, file, model, topKeys)
	services, _ := model["services"].(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(services)) {
		of := fmt.Sprintf("service %q", name)
		s, _ := services[name].(map[string]any)
		allow(&all, of, s, serviceKeys)
		deploy, _ := s["deploy"].(map[string]any)
		allow(&all, of+", deploy", deploy, deployKeys)
		resources, _ := deploy["resources"].(map[string]any)
		allow(&all, of+", resources", resources, resourceKeys)
		limits, _ := resources["limits"].(map[string]any)
		allow(&all, of+", limits", limits, limitKeys)
		blkio, _ := s["blkio_config"].(map[string]any)
		allow(&all, of+", blkio_config", blkio, blkioKeys)
	}
	volumes, _ := model["volumes"].(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(volumes)) {
		// A driver's options make a volume of any path of the host.
		of, _ := volumes[name].(map[string]any)
		allow(&all, fmt.Sprintf("volume %q", name), of, nil)
	}
	if len(all) > 0 {
		return nil, all.Within(file).Err()
	}
	loaded, err := loader.LoadWithContext(ctx, details, options)
	if err != nil {
		return nil, problem.New(problem.Invalid, file, err.Error(), "")
	}
	p, all := read(loaded)
	return p, all.Within(file).Err()
}

// allow adds a problem for each key that is not known.
func allow(all *problem.List, of string, keys map[string]any, known []string) {
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		if slices.Contains(known, key) || strings.HasPrefix(key, "x-") || strings.HasPrefix(key, "#") {
			continue
		}
		why := refused[key]
		remedy := "leave it out"
		if why == "" && len(known) > 0 {
			remedy += "; known are " + strings.Join(known, ", ")
		}
		*all = append(*all, problem.Problem{Kind: problem.Invalid, Why: why, Remedy: remedy,
			What: fmt.Sprintf("%s: %s cannot be applied", of, strconv.Quote(key))})
	}
}

// unset is an error where a variable has no value.
func unset(root *yaml.Node, env map[string]string) error {
	var tree map[string]any
	if err := root.Decode(&tree); err != nil {
		return nil // the library says what is wrong
	}
	for _, v := range slices.Sorted(maps.Keys(template.ExtractVariables(tree, template.DefaultPattern))) {
		of := template.ExtractVariables(tree, template.DefaultPattern)[v]
		_, set := env[v]
		if !set && of.DefaultValue == "" && of.PresenceValue == "" {
			return problem.New(problem.Invalid, fmt.Sprintf("the variable %q", v), "it has no value; none is taken from "+
				"the environment unless it is named", "add --env "+v+"=VALUE, or --env "+v+" for that of the environment")
		}
	}
	return nil
}

// read makes services of what the library read, which has no other keys than those that are allowed.
func read(from *types.Project) (*Project, problem.List) {
	p := &Project{Name: from.Name, Demands: map[string]map[string]string{}}
	var all problem.List
	add := func(what, remedy string) {
		all = append(all, problem.Problem{Kind: problem.Invalid, What: what, Remedy: remedy})
	}
	if !projectName.MatchString(p.Name) {
		add(fmt.Sprintf("project %q: this is no name", p.Name), "write name: with small letters, digits, - and _")
	}
	users := map[string]string{} // of volumes
	for _, name := range slices.Sorted(maps.Keys(from.Services)) {
		s, demands, wrong := service(from.Services[name])
		all = append(all, wrong...)
		all = append(all, s.check()...)
		for _, v := range s.Volumes {
			other := users[v.Name]
			if other != "" && other != s.Name {
				add(fmt.Sprintf("volume %q is of services %q and %q", v.Name, other, s.Name),
					"give each its own: they may stand on different engines")
			}
			users[v.Name] = s.Name
		}
		if demands["class"] == "" {
			add(fmt.Sprintf("service %q has no label plimsoll.class", name), "write labels: {plimsoll.class: C}, a class "+
				"of the model")
		}
		p.Services = append(p.Services, s)
		p.Demands[name] = demands
	}
	if len(p.Services) == 0 {
		add("there are no services", "write services:")
	}
	return p, all
}

func service(c types.ServiceConfig) (Service, map[string]string, problem.List) {
	var all problem.List
	wrong := func(remedy, format string, args ...any) {
		all = append(all, problem.Problem{Kind: problem.Invalid, What: fmt.Sprintf("service %q: ", c.Name) +
			fmt.Sprintf(format, args...), Remedy: remedy})
	}
	s := Service{Name: c.Name, Replicas: c.GetScale(), Image: c.Image, Entrypoint: c.Entrypoint, Command: c.Command,
		User: c.User, WorkingDir: c.WorkingDir, Hostname: c.Hostname, StopSignal: c.StopSignal, ReadOnly: c.ReadOnly,
		Tmpfs: c.Tmpfs, CapDrop: c.CapDrop, Restart: c.Restart, Network: c.NetworkMode}
	if s.Network == "bridge" {
		s.Network = ""
	}
	s.Init = c.Init != nil && *c.Init
	if c.StopGracePeriod != nil {
		s.StopSeconds = int(math.Ceil(float64(*c.StopGracePeriod) / 1e9))
	}
	if c.Deploy != nil && c.Deploy.Mode != "" && c.Deploy.Mode != "replicated" {
		wrong("write replicas", "mode %q is not one of a plan", c.Deploy.Mode)
	}
	for key, value := range c.Environment {
		if value == nil {
			wrong("write its value", "environment: %q has no value; none is taken from where apply runs", key)
			continue
		}
		if s.Environment == nil {
			s.Environment = map[string]string{}
		}
		s.Environment[key] = *value
	}
	demands := map[string]string{}
	for key, value := range c.Labels {
		if slices.Contains(demandLabels, key) {
			demands[strings.TrimPrefix(key, labelPrefix)] = value
			continue
		}
		if s.Labels == nil {
			s.Labels = map[string]string{}
		}
		s.Labels[key] = value
	}
	for _, v := range c.Volumes {
		if v.Type != types.VolumeTypeVolume || v.Source == "" {
			wrong("write a named volume, NAME:"+v.Target, "volume %q at %q is a path of the host, or has no name: "+
				"containers of a plan have named volumes alone", v.Source, v.Target)
			continue
		}
		if v.Volume != nil && (v.Volume.Subpath != "" || v.Volume.NoCopy || len(v.Volume.Labels) > 0) {
			wrong("leave it out", "volume %q has options of its own", v.Source)
		}
		s.Volumes = append(s.Volumes, Volume{Name: v.Source, Target: v.Target, ReadOnly: v.ReadOnly})
	}
	for _, p := range c.Ports {
		port := Port{Host: p.HostIP, Target: uint16(p.Target), Protocol: p.Protocol}
		published, err := strconv.ParseUint(p.Published, 10, 16)
		if p.Published != "" && err != nil || p.Target > math.MaxUint16 {
			wrong("publish one port", "port %q of %d is none", p.Published, p.Target)
		}
		port.Published = uint16(published)
		s.Ports = append(s.Ports, port)
	}
	s.limit(c, wrong)
	return s, demands, all
}

// limit reads the limits, which Compose has twice.
func (s *Service) limit(c types.ServiceConfig, wrong func(remedy, format string, args ...any)) {
	either := func(what string, a, b int64) int64 {
		if a != 0 && b != 0 && a != b {
			wrong("keep one of them", "%s is limited twice, differently", what)
		}
		return max(a, b)
	}
	l := types.Resource{}
	if c.Deploy != nil && c.Deploy.Resources.Limits != nil {
		l = *c.Deploy.Resources.Limits
	}
	// Compose has single precision; a thousandth of a processor is as fine as it is meant.
	nano := func(cpus float32) int64 { return int64(math.Round(float64(cpus)*1000)) * 1e6 }
	s.Limits.NanoCPUs = either("cpus", nano(float32(l.NanoCPUs)), nano(c.CPUS))
	s.Limits.MemoryBytes = either("memory", int64(l.MemoryBytes), int64(c.MemLimit))
	s.Limits.Pids = either("pids", l.Pids, c.PidsLimit)
	if c.BlkioConfig == nil {
		return
	}
	for _, of := range []struct {
		limits []types.ThrottleDevice
		to     *int64
	}{{c.BlkioConfig.DeviceReadBps, &s.Limits.ReadBytes}, {c.BlkioConfig.DeviceWriteBps, &s.Limits.WriteBytes},
		{c.BlkioConfig.DeviceReadIOps, &s.Limits.ReadRequests}, {c.BlkioConfig.DeviceWriteIOps, &s.Limits.WriteRequests}} {
		for _, t := range of.limits {
			if s.Limits.Device != "" && s.Limits.Device != t.Path {
				wrong("limit the one that its volumes are on", "blkio_config limits more than one device")
			}
			s.Limits.Device, *of.to = t.Path, int64(t.Rate)
		}
	}
}

// Fleet returns the text of a fleet: the project's services as its containers, and engines as its hosts.
func (p *Project) Fleet(model, objective string, hosts []Host) ([]byte, error) {
	kinds := map[string]any{}
	for _, h := range hosts {
		kind := map[string]any{"cpus": h.CPUs, "memory": strconv.FormatInt(h.MemoryBytes, 10) + "B"}
		if h.Drive != "" {
			kind["drives"] = map[string]string{h.Drive: h.Drive}
		}
		kinds[h.Engine.Name] = kind
	}
	containers := map[string]any{}
	for _, s := range p.Services {
		c := map[string]any{"count": s.Replicas}
		for key, value := range p.Demands[s.Name] {
			c[key] = plain(value)
			if key == "beside" || key == "away-from" || key == "on" {
				c[key] = strings.FieldsFunc(value, func(r rune) bool { return r == ',' || r == ' ' })
			}
		}
		limits := map[string]any{}
		for _, l := range []struct {
			key   string
			value int64
			unit  string
		}{{"memory", s.Limits.MemoryBytes, "B"}, {"read-iops", s.Limits.ReadRequests, ""},
			{"write-iops", s.Limits.WriteRequests, ""}, {"read-bandwidth", s.Limits.ReadBytes, "B/s"},
			{"write-bandwidth", s.Limits.WriteBytes, "B/s"}} {
			if l.value > 0 {
				limits[l.key] = plain(strconv.FormatInt(l.value, 10) + l.unit)
			}
		}
		if s.Limits.NanoCPUs > 0 {
			limits["cpus"] = float64(s.Limits.NanoCPUs) / 1e9
		}
		if len(limits) > 0 {
			c["limits"] = limits
		}
		containers[s.Name] = c
	}
	fleet := map[string]any{"model": model, "objective": objective, "hosts": kinds, "containers": containers}
	return yaml.Marshal(fleet)
}

// plain is a text that YAML has without quotes where it can: true is a switch, and 5 a number.
func plain(text string) *yaml.Node {
	return &yaml.Node{Kind: yaml.ScalarNode, Value: text}
}
