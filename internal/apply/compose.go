package apply

import (
	"cmp"
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
	Groups   []Group
	Notes    []string // what is left out, and what a reader of the plan should know

	separations []separation
}

// labelPrefix begins the labels that are Plimsoll's.
const labelPrefix = "plimsoll."

// demandLabels are what a Compose file says to the plan: keys of a fleet's containers.
var demandLabels = []string{
	"plimsoll.apart",
	"plimsoll.apart-group",
	"plimsoll.away-from",
	"plimsoll.beside",
	"plimsoll.class",
	"plimsoll.data",
	"plimsoll.least-throughput",
	"plimsoll.on",
	"plimsoll.p99-limit",
	"plimsoll.reach",
}

// composeFile bounds Compose files, far above real ones.
var composeFile = field.File{Name: "Compose file", Begin: "write services:", Bytes: 1 << 20, Values: 100_000}

// Beside reads what a Compose file names, below the directory of that file alone.
type Beside interface {
	Read(name string) ([]byte, error)
	List(directory string) ([]string, error) // files in and below a directory, by their names below it
}

// ReadCompose reads a Compose file, and the files that it names from beside; nil refuses them.
// Variables have the values of env, and no others. The error is a problem.List with everything that is wrong.
func ReadCompose(ctx context.Context, file string, text []byte, env map[string]string,
	beside Beside) (*Project, error) {
	p, _, err := readCompose(ctx, file, text, env, beside, false)
	return p, err
}

// readCompose is ReadCompose. With proposing, the file may lack classes and values of variables.
func readCompose(ctx context.Context, file string, text []byte, env map[string]string,
	directory Beside, proposing bool) (*Project, *composeReader, error) {
	reader := &field.Reader{}
	root := reader.Root(text, composeFile)
	if root == nil || len(reader.Problems) > 0 {
		return nil, nil, reader.Problems.Sorted().Within(file).Err()
	}
	var needed []string
	problems, nested, filled := missingVariables(root, env)
	if proposing {
		problems = nil
		for name := range filled {
			if _, given := env[name]; !given {
				needed = append(needed, name)
			}
		}
	}
	problems = append(problems, nested...)
	partial := len(problems) > 0
	logrus.SetOutput(io.Discard) // the library warns there, in words of the file
	details := types.ConfigDetails{WorkingDir: "/", Environment: filled,
		ConfigFiles: []types.ConfigFile{{Filename: file, Content: text}}}
	options := []func(*loader.Options){func(o *loader.Options) {
		o.SkipInclude, o.SkipExtends, o.SkipNormalization, o.SkipResolveEnvironment = true, true, true, true
		o.ResolvePaths = false
		directory, err := filepath.Abs(file)
		if err == nil {
			o.SetProjectName(loader.NormalizeProjectName(filepath.Base(filepath.Dir(directory))), false)
		}
	}}
	fail := func(err error) (*Project, *composeReader, error) {
		if len(problems) == 0 { // else it may be of the values that are missing
			problems = append(problems, problem.Problem{Kind: problem.Invalid, What: strings.TrimPrefix(err.Error(), file+": ")})
		}
		return nil, nil, problems.Sorted().Within(file).Err()
	}
	model, err := loader.LoadModelWithContext(ctx, details, options...)
	if err != nil {
		return fail(err)
	}
	keys := &keyReport{}
	checkKeys(keys, model, root)
	problems = append(problems, keys.problems()...)
	parsed := loader.ToOptions(&details, options)
	if name, written := model["name"].(string); written {
		parsed.SetProjectName(name, true)
	}
	loaded, err := loader.ModelToProject(model, parsed, details)
	if err != nil {
		return fail(err)
	}
	compose := &composeReader{root: root, env: filled, directory: directory, problems: problems, notes: keys.notes(),
		from: loaded, proposing: proposing, needed: needed}
	project := compose.read()
	if !partial {
		compose.connect(project)
	}
	return project, compose, compose.problems.Sorted().Within(file).Err()
}

// checkKeys reports the keys of a file that are no container's, and removes them, so that the library finds the other
// problems at the same time.
func checkKeys(r *keyReport, model map[string]any, root *yaml.Node) {
	r.check("", "", model, root, topKeys)
	eachMember := func(parent map[string]any, node *yaml.Node, key string, do func(string, map[string]any, *yaml.Node)) {
		nodes := entriesOf(valueOf(node, key))
		members, _ := parent[key].(map[string]any)
		for _, name := range slices.Sorted(maps.Keys(members)) {
			if member, ok := members[name].(map[string]any); ok {
				do(name, member, nodes[name])
			}
		}
	}
	part := func(user string, parent map[string]any, node *yaml.Node, kind, key string) (map[string]any, *yaml.Node) {
		section, _ := parent[key].(map[string]any)
		place := cmp.Or(valueOf(node, key), node)
		r.check(kind, user, section, place, keySets[kind])
		return section, place
	}
	eachMember(model, root, "services", func(name string, s map[string]any, n *yaml.Node) {
		r.check("service", name, s, n, serviceKeys)
		deploy, in := part(name, s, n, "deploy", "deploy")
		resources, in := part(name, deploy, in, "resources", "resources")
		part(name, resources, in, "limits", "limits")
		part(name, resources, in, "reservations", "reservations")
		part(name, s, n, "blkio_config", "blkio_config")
		eachMember(s, n, "networks", func(_ string, joined map[string]any, n *yaml.Node) {
			r.check("network of service", name, joined, n, attachmentKeys)
		})
	})
	eachMember(model, root, "volumes", func(name string, v map[string]any, n *yaml.Node) {
		r.check("volume", name, v, n, volumeKeys)
	})
	eachMember(model, root, "networks", func(name string, v map[string]any, n *yaml.Node) {
		if pool, ok := v["ipam"].(map[string]any); ok && len(pool) == 1 && pool["driver"] == "default" {
			delete(v, "ipam") // it says what is so without it
		}
		r.check("network", name, v, n, networkKeys)
	})
	for _, key := range []string{"secrets", "configs"} {
		eachMember(model, root, key, func(name string, v map[string]any, n *yaml.Node) {
			r.check("secret or config", name, v, n, fileKeys)
		})
	}
}

// limit reads the limits, which Compose has twice.
func (s *Service) limit(config types.ServiceConfig, wrong func(remedy, format string, args ...any)) {
	either := func(what string, a, b int64) int64 {
		if a != 0 && b != 0 && a != b {
			wrong("keep one of them", "%s is limited twice, differently", what)
		}
		return max(a, b)
	}
	limits := types.Resource{}
	if config.Deploy != nil && config.Deploy.Resources.Limits != nil {
		limits = *config.Deploy.Resources.Limits
	}
	// Compose has single precision; a thousandth of a processor is as fine as it is meant.
	nano := func(cpus float32) int64 { return int64(math.Round(float64(cpus)*1000)) * 1e6 }
	s.Limits.NanoCPUs = either("cpus", nano(float32(limits.NanoCPUs)), nano(config.CPUS))
	s.Limits.MemoryBytes = either("memory", int64(limits.MemoryBytes), int64(config.MemLimit))
	s.Limits.Pids = either("pids", limits.Pids, config.PidsLimit)
	s.Limits.SwapBytes = int64(config.MemSwapLimit)
	if config.BlkioConfig == nil {
		return
	}
	for _, target := range []struct {
		limits []types.ThrottleDevice
		to     *int64
	}{{config.BlkioConfig.DeviceReadBps, &s.Limits.ReadBytes}, {config.BlkioConfig.DeviceWriteBps, &s.Limits.WriteBytes},
		{config.BlkioConfig.DeviceReadIOps, &s.Limits.ReadRequests},
		{config.BlkioConfig.DeviceWriteIOps, &s.Limits.WriteRequests}} {
		for _, t := range target.limits {
			if s.Limits.Device != "" && s.Limits.Device != t.Path {
				wrong("limit the one that its volumes are on", "blkio_config limits more than one device")
			}
			s.Limits.Device, *target.to = t.Path, int64(t.Rate)
		}
	}
}

// Fleet returns the text of a fleet: the project's services as its containers, and engines as its hosts. Services of a
// group stand beside one of them.
func (p *Project) Fleet(model, objective string, hosts []Host) ([]byte, error) {
	demands, problems := p.wishes(hosts)
	if len(problems) > 0 {
		return nil, problems.Err()
	}
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
		demand := demands[s.Name]
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
			demand["limits"] = limits
		}
		containers[s.Name] = demand
	}
	fleet := map[string]any{"model": model, "objective": objective, "hosts": kinds, "containers": containers}
	return yaml.Marshal(fleet)
}

// wishes returns the keys of each service in a fleet: its count, its neighbors and its limits of throughput and p99.
func (p *Project) wishes(hosts []Host) (map[string]map[string]any, problem.List) {
	demands := map[string]map[string]any{}
	lists := map[string]map[string][]string{} // names of others, by service and key
	replicas := map[string]int{}
	for _, s := range p.Services {
		replicas[s.Name] = s.Replicas
		demand := map[string]any{"count": s.Replicas}
		lists[s.Name] = map[string][]string{}
		for key, value := range p.Demands[s.Name] {
			switch key {
			case "beside", "away-from", "on":
				lists[s.Name][key] = strings.FieldsFunc(value, func(r rune) bool { return r == ',' || r == ' ' })
			case "reach", "apart-group":
			default:
				demand[key] = plain(value)
			}
		}
		demands[s.Name] = demand
	}
	var problems problem.List
	for _, group := range p.Groups {
		hub := hub(&group, func(name string) int { return replicas[name] })
		var neighbors []string // of any of the group: all of it is placed with the hub
		for _, name := range group.Services {
			outside := slices.DeleteFunc(slices.Clone(lists[name]["beside"]), func(other string) bool {
				return slices.Contains(group.Services, other)
			})
			if len(outside) > 0 && len(neighbors) > 0 && !slices.Equal(outside, neighbors) {
				problems = append(problems, problem.Problem{Kind: problem.Invalid, What: fmt.Sprintf("service %s stand on one "+
					"engine, and are to be beside %s, and beside %s", listed(group.Services), listed(neighbors), listed(outside)),
					Remedy: "keep one of the labels plimsoll.beside"})
			}
			if len(outside) > 0 {
				neighbors = outside
			}
			lists[name]["beside"] = []string{hub}
		}
		lists[hub]["beside"] = neighbors
	}
	for _, apart := range p.separations {
		if len(apart.services) > len(hosts) {
			problems = append(problems, problem.Problem{Kind: problem.Invalid, What: fmt.Sprintf("service %s have %s, so that "+
				"no two stand on one engine", listed(apart.services), apart.why),
				Why:    fmt.Sprintf("there are %d engines", len(hosts)),
				Remedy: "name more --contexts"})
			continue
		}
		for i, name := range apart.services {
			lists[name]["away-from"] = append(lists[name]["away-from"], apart.services[:i]...)
		}
	}
	for _, h := range hosts {
		if h.Engine.Address == "" && len(hosts) > 1 && slices.ContainsFunc(p.Services, func(s Service) bool {
			return len(s.Reaches) > 0
		}) {
			problems = append(problems, problem.Problem{Kind: problem.Invalid,
				What:   "engine " + h.Engine.Name + " has no address",
				Why:    "services with plimsoll.reach: ports are reached at the address of their engine",
				Remedy: "start it with dockerd --label plimsoll.address=ADDRESS"})
		}
	}
	for name, keys := range lists {
		for key, names := range keys {
			if len(names) > 0 {
				slices.Sort(names)
				demands[name][key] = slices.Compact(names)
			}
		}
	}
	return demands, problems
}

// plain is a text that YAML has without quotes where it can: true is a switch, and 5 a number.
func plain(text string) *yaml.Node {
	return &yaml.Node{Kind: yaml.ScalarNode, Value: text}
}
