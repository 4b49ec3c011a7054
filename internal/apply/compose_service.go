package apply

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/compose-spec/compose-go/v2/dotenv"
	"github.com/compose-spec/compose-go/v2/types"
	"go.yaml.in/yaml/v3"

	"plimsoll/internal/problem"
)

// composeReader makes services of what the library read, which has no other keys than those that are taken.
type composeReader struct {
	root *yaml.Node
	env  map[string]string
	from *types.Project

	directory Beside // nil where no other file is read

	nodes    map[string]*yaml.Node // of services, by their names
	problems problem.List
	notes    []string
	demands  map[string]map[string]string
	links    map[string][]string // other names of services, by their own
	content  map[string][]byte   // of files that the Compose file names

	proposing bool     // classes and values of variables are not asked for
	unclassed []string // services without a class
	needed    []string // variables without a value

	copied                []string // volumes that are files
	paths, pathUsers      []string // volumes that are paths of the host, and services that have these
	written, writtenUsers []string // the same of directories beside the Compose file, which may be written
}

// wrong adds a problem with a key of a service.
func (c *composeReader) wrong(service, key, remedy, format string, args ...any) {
	c.problems = append(c.problems, problem.Problem{Kind: problem.Invalid, Remedy: remedy,
		At:   problem.Position{Line: lineOf(c.nodes[service], key)},
		What: fmt.Sprintf("service %q: ", service) + fmt.Sprintf(format, args...)})
}

// add adds a problem of the whole file.
func (c *composeReader) add(what, why, remedy string) {
	c.problems = append(c.problems, problem.Problem{Kind: problem.Invalid, What: what, Why: why, Remedy: remedy})
}

func (c *composeReader) read() *Project {
	c.nodes = entriesOf(valueOf(c.root, "services"))
	c.demands, c.links, c.content = map[string]map[string]string{}, map[string][]string{}, map[string][]byte{}
	p := &Project{Name: c.from.Name, Demands: c.demands}
	if !projectName.MatchString(p.Name) {
		c.add(fmt.Sprintf("project %q: this is no name", p.Name), "", "write name: with small letters, digits, - and _")
	}
	for name, v := range c.from.Volumes {
		if v.Driver != "" && v.Driver != "local" {
			c.add(fmt.Sprintf("volume %q has the driver %q", name, v.Driver), "the plan knows drives of hosts alone",
				"leave driver out")
		}
	}
	for name, n := range c.from.Networks {
		if n.Driver != "" && n.Driver != "bridge" {
			c.add(fmt.Sprintf("network %q has the driver %q", name, n.Driver), "containers of a plan have bridges alone, one "+
				"on each engine: other networks are the host's", "leave driver out; plimsoll.reach says how services on "+
				"several engines reach each other")
		}
	}
	var unclassed []string
	for _, name := range slices.Sorted(maps.Keys(c.from.Services)) {
		s := c.service(c.from.Services[name])
		for _, wrong := range s.check() {
			wrong.At.Line = lineOf(c.nodes[name], "image")
			c.problems = append(c.problems, wrong)
		}
		if c.demands[name]["class"] == "" {
			unclassed = append(unclassed, name)
		}
		p.Services = append(p.Services, s)
	}
	c.missing(unclassed)
	if len(p.Services) == 0 && len(c.problems) == 0 {
		c.add("there are no services", "", "write services:")
	}
	if disabled := slices.Sorted(maps.Keys(c.from.DisabledServices)); len(disabled) > 0 {
		c.notes = append(c.notes, "service "+listed(disabled)+" is left out: none of its profiles is chosen")
	}
	c.bindPaths()
	c.order(p)
	return p
}

// service makes a service of one of the file's.
func (c *composeReader) service(from types.ServiceConfig) Service {
	s := Service{Name: from.Name, Replicas: from.GetScale(), Image: from.Image, Entrypoint: from.Entrypoint,
		Command: from.Command, User: from.User, WorkingDir: from.WorkingDir, Hostname: from.Hostname,
		StopSignal: from.StopSignal, ReadOnly: from.ReadOnly, Tmpfs: from.Tmpfs, CapDrop: from.CapDrop,
		Restart: from.Restart, Network: from.NetworkMode, ShmBytes: int64(from.ShmSize), CPUShares: from.CPUShares,
		Terminal: from.Tty, Stdin: from.StdinOpen, Sysctls: from.Sysctls}
	if s.Image == "" && from.Build != nil {
		s.Image = "build" // which is refused already
	}
	if s.Network == "bridge" {
		s.Network = ""
	}
	s.Init = from.Init != nil && *from.Init
	s.StopSeconds = int(math.Ceil(seconds(from.StopGracePeriod)))
	if from.Deploy != nil && from.Deploy.Mode != "" && from.Deploy.Mode != "replicated" {
		c.wrong(s.Name, "deploy", "write replicas", "mode %q is not one of a plan", from.Deploy.Mode)
	}
	for _, option := range from.SecurityOpt {
		switch option {
		case "no-new-privileges", "no-new-privileges:true", "no-new-privileges=true":
			s.NoNewPrivileges = true
		default:
			c.wrong(s.Name, "security_opt", "leave it out", "%q cannot be applied: %q could switch off what keeps it from "+
				"its host", "security_opt", option)
		}
	}
	c.environment(&s, from)
	c.labels(&s, from)
	c.volumes(&s, from)
	c.files(&s, from)
	c.ports(&s, from)
	c.restart(&s, from)
	for host, addresses := range from.ExtraHosts {
		for _, address := range addresses {
			s.ExtraHosts = append(s.ExtraHosts, host+":"+address)
		}
	}
	slices.Sort(s.ExtraHosts)
	for _, name := range slices.Sorted(maps.Keys(from.Ulimits)) {
		u := from.Ulimits[name]
		limit := Ulimit{Name: name, Soft: int64(u.Soft), Hard: int64(u.Hard)}
		if u.Single != 0 {
			limit.Soft, limit.Hard = int64(u.Single), int64(u.Single)
		}
		s.Ulimits = append(s.Ulimits, limit)
	}
	if h := from.HealthCheck; h != nil {
		s.Healthcheck = &Healthcheck{Test: h.Test, Interval: seconds(h.Interval), Timeout: seconds(h.Timeout),
			StartPeriod: seconds(h.StartPeriod), StartInterval: seconds(h.StartInterval)}
		if h.Retries != nil {
			s.Healthcheck.Retries = int(min(*h.Retries, math.MaxInt32))
		}
		if h.Disable {
			s.Healthcheck.Test = []string{"NONE"}
		}
	}
	if l := from.Logging; l != nil {
		s.Logging = &Logging{Driver: l.Driver, Options: l.Options}
	}
	s.limit(from, func(remedy, format string, args ...any) { c.wrong(s.Name, "deploy", remedy, format, args...) })
	return s
}

func seconds(d *types.Duration) float64 {
	if d == nil {
		return 0
	}
	return float64(*d) / 1e9
}

// environment reads env_file and environment.
func (c *composeReader) environment(s *Service, from types.ServiceConfig) {
	set := func(key, value string) {
		if s.Environment == nil {
			s.Environment = map[string]string{}
		}
		s.Environment[key] = value
	}
	for _, f := range from.EnvFiles {
		text := c.file(s.Name, "env_file", f.Path, !bool(f.Required))
		values, err := dotenv.ParseWithLookup(bytes.NewReader(text), func(name string) (string, bool) {
			value, set := c.env[name]
			return value, set
		})
		if err != nil { // which is not shown: it has the text of the file
			c.wrong(s.Name, "env_file", "write NAME=VALUE, one a line", "file %q: it is no file of variables", f.Path)
		}
		for key, value := range values {
			set(key, value)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(from.Environment)) {
		value := from.Environment[key]
		if value != nil {
			set(key, *value)
			continue
		}
		given, named := c.need(key)
		if named {
			set(key, given)
		} else {
			c.wrong(s.Name, "environment", "write its value, or add --env "+key+"=VALUE",
				"environment: %q has no value; none is taken from where apply runs", key)
		}
	}
}

// readFile reads a file below the directory of the Compose file.
func (c *composeReader) readFile(name string) ([]byte, error) {
	if text, read := c.content[name]; read {
		return text, nil
	}
	if c.directory == nil {
		return nil, fs.ErrPermission
	}
	text, err := c.directory.Read(name)
	if err == nil && len(text) > mostFile {
		err = fmt.Errorf("it is larger than %d KiB", mostFile>>10)
	}
	if err == nil {
		c.content[name] = text
	}
	return text, err
}

// bindPaths refuses paths of the host in one line, and notes which files are copied instead of them.
func (c *composeReader) bindPaths() {
	unique := func(texts []string) []string {
		slices.Sort(texts)
		return slices.Compact(texts)
	}
	if len(c.copied) > 0 {
		c.notes = append(c.notes, "path "+listed(unique(c.copied))+" of volumes is copied into containers when they start")
	}
	add := func(sources, users []string, noun, why, remedy string) {
		if len(sources) == 0 {
			return
		}
		users = unique(users)
		c.problems = append(c.problems, problem.Problem{Kind: problem.Invalid, Remedy: remedy, Why: why,
			At:   problem.Position{Line: lineOf(c.nodes[users[0]], "volumes")},
			What: "service " + listed(users) + ": " + noun + listed(unique(sources))})
	}
	remedy := "write named volumes, NAME:/PATH, and copy what is there into them; small files below the directory of " +
		"the Compose file are copied by apply"
	if slices.Contains(c.paths, `"/etc/localtime"`) || slices.Contains(c.paths, `"/etc/timezone"`) {
		remedy += "; for the time zone, set TZ in environment"
	}
	add(c.paths, c.pathUsers, "paths of the host in volumes: ",
		"another engine does not have them, and they would open its host", remedy)
	add(c.written, c.writtenUsers, "directories of this host in volumes, which may be written: ",
		"what is written there would be on this host alone, and the plan may choose another one",
		"write named volumes, NAME:/PATH, or :ro where it is only read: apply copies its files into the container then")
}

// bind copies a file, or a directory that is only read, from beside the Compose file into a container. Other paths are
// collected.
func (c *composeReader) bind(s *Service, v types.ServiceVolumeConfig) {
	// Scripts are bound as configs are: each may be read and run.
	add := func(target string, text []byte) {
		s.Files = append(s.Files, File{Target: target, Mode: 0o555, Content: text})
	}
	text, err := c.readFile(v.Source)
	if err == nil {
		add(v.Target, text)
		c.copied = append(c.copied, v.Source)
		return
	}
	var names []string
	if c.directory != nil {
		names, err = c.directory.List(v.Source)
	}
	if err == nil && !v.ReadOnly {
		c.written, c.writtenUsers = append(c.written, strconv.Quote(v.Source)), append(c.writtenUsers, s.Name)
		return
	}
	for _, name := range names {
		text, failed := c.readFile(path.Join(v.Source, name))
		if failed != nil {
			c.wrong(s.Name, "volumes", "write a named volume, NAME:"+v.Target, "directory %q cannot be copied into it: %s: %v",
				v.Source, name, failed)
			return
		}
		add(path.Join(v.Target, name), text)
	}
	if err == nil {
		c.copied = append(c.copied, v.Source)
		return
	}
	c.paths = append(c.paths, strconv.Quote(v.Source))
	c.pathUsers = append(c.pathUsers, s.Name)
}

// mostFile is more than a secret or a config has.
const mostFile = 500 << 10

// file returns the text of a file that the Compose file names; nil with a problem for none.
func (c *composeReader) file(service, key, name string, optional bool) []byte {
	if c.directory == nil {
		c.wrong(service, key, "docker compose config writes one complete file", "%q names another file", key)
		return nil
	}
	text, err := c.readFile(name)
	if err != nil && (!optional || !errors.Is(err, fs.ErrNotExist)) {
		c.wrong(service, key, "files are read below the directory of the Compose file alone", "%q names file %q: %v", key,
			name, err)
	}
	return text
}

// labels reads labels. Some of them are demands.
func (c *composeReader) labels(s *Service, from types.ServiceConfig) {
	demands := map[string]string{}
	c.demands[s.Name] = demands
	for key, value := range from.Labels {
		if slices.Contains(demandLabels, key) {
			demands[strings.TrimPrefix(key, labelPrefix)] = value
			continue
		}
		if s.Labels == nil {
			s.Labels = map[string]string{}
		}
		s.Labels[key] = value
	}
}

// volumes reads named volumes, and tmpfs in its long form.
func (c *composeReader) volumes(s *Service, from types.ServiceConfig) {
	for _, v := range from.Volumes {
		switch {
		case v.Type == types.VolumeTypeTmpfs:
			options := []string{}
			if v.Tmpfs != nil && v.Tmpfs.Size > 0 {
				options = append(options, fmt.Sprintf("size=%d", v.Tmpfs.Size))
			}
			if v.Tmpfs != nil && v.Tmpfs.Mode > 0 {
				options = append(options, fmt.Sprintf("mode=%o", v.Tmpfs.Mode))
			}
			s.Tmpfs = append(s.Tmpfs, strings.TrimSuffix(v.Target+":"+strings.Join(options, ","), ":"))
		case v.Type != types.VolumeTypeVolume:
			c.bind(s, v)
		case v.Source == "":
			c.wrong(s.Name, "volumes", "write a named volume, NAME:"+v.Target, "the volume at %q has no name: its data "+
				"would be lost with the container", v.Target)
		default:
			if v.Volume != nil && (v.Volume.Subpath != "" || v.Volume.NoCopy || len(v.Volume.Labels) > 0) {
				c.wrong(s.Name, "volumes", "leave it out", "volume %q has options", v.Source)
			}
			s.Volumes = append(s.Volumes, Volume{Name: v.Source, Target: v.Target, ReadOnly: v.ReadOnly})
		}
	}
}

// files reads secrets and configs, which become files of the container.
func (c *composeReader) files(s *Service, from types.ServiceConfig) {
	add := func(key, directory string, ref types.FileReferenceConfig, object types.FileObjectConfig) {
		f := File{Target: cmp.Or(ref.Target, ref.Source), Mode: 0o444}
		if !strings.HasPrefix(f.Target, "/") {
			f.Target = path.Join(directory, f.Target)
		}
		if ref.Mode != nil {
			f.Mode = uint32(*ref.Mode)
		}
		for _, id := range []struct {
			text string
			to   *int
		}{{ref.UID, &f.UID}, {ref.GID, &f.GID}} {
			n, err := strconv.ParseUint(cmp.Or(id.text, "0"), 10, 31)
			if err != nil {
				c.wrong(s.Name, key, "write a number", "%q is no number of a user or a group", id.text)
			}
			*id.to = int(n)
		}
		switch {
		case object.File != "":
			f.Content = c.file(s.Name, key, object.File, false)
		case object.Environment != "":
			value, given := c.need(object.Environment)
			if !given {
				c.wrong(s.Name, key, "add --env "+object.Environment+"=VALUE", "%s %q uses the variable %q, which has no value",
					strings.TrimSuffix(key, "s"), ref.Source, object.Environment)
			}
			f.Content = []byte(value)
		default:
			f.Content = []byte(object.Content)
		}
		s.Files = append(s.Files, f)
	}
	for _, ref := range from.Secrets {
		add("secrets", "/run/secrets", types.FileReferenceConfig(ref), types.FileObjectConfig(c.from.Secrets[ref.Source]))
	}
	for _, ref := range from.Configs {
		add("configs", "/", types.FileReferenceConfig(ref), types.FileObjectConfig(c.from.Configs[ref.Source]))
	}
}

func (c *composeReader) ports(s *Service, from types.ServiceConfig) {
	for _, p := range from.Ports {
		port := Port{Host: p.HostIP, Target: uint16(p.Target), Protocol: p.Protocol}
		published, err := strconv.ParseUint(p.Published, 10, 16)
		if p.Published != "" && err != nil || p.Target > math.MaxUint16 {
			c.wrong(s.Name, "ports", "publish one port", "port %q of %d is none", p.Published, p.Target)
		}
		port.Published = uint16(published)
		s.Ports = append(s.Ports, port)
	}
}

// restart reads the restart policy of Swarm where there is no other.
func (c *composeReader) restart(s *Service, from types.ServiceConfig) {
	if from.Deploy == nil || from.Deploy.RestartPolicy == nil || s.Restart != "" {
		return
	}
	policy := from.Deploy.RestartPolicy
	s.Restart = map[string]string{"none": "no", "on-failure": "on-failure", "any": "always",
		"": "always"}[policy.Condition]
	if s.Restart == "" {
		c.wrong(s.Name, "deploy", "write none, on-failure or any", "restart condition %q is none", policy.Condition)
	}
	if s.Restart == "on-failure" && policy.MaxAttempts != nil {
		s.Restart += ":" + strconv.FormatUint(*policy.MaxAttempts, 10)
	}
}
