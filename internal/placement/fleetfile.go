package placement

import (
	"cmp"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"time"

	"go.yaml.in/yaml/v3"

	"plimsoll/internal/experiment"
	"plimsoll/internal/field"
	"plimsoll/internal/model"
	"plimsoll/internal/problem/suggest"
	"plimsoll/internal/units/plural"
)

// Bounds of a file of a fleet, far above those of real ones.
const (
	mostFleetBytes = 16 << 20
	mostValues     = 1_000_000
	mostCounted    = 1_000_000 // hosts of a kind, or containers of a demand
	mostKinds      = 200
	mostDemands    = 500
)

// Parse reads a file of a fleet. open reads the model that it names. The error is a problem.List with everything
// that is wrong, in the order of lines, or that of open.
func Parse(file string, text []byte, open func(name string) (*model.Model, error)) (*Fleet, *model.Model, error) {
	parser := &fleetParser{fleet: &Fleet{Objective: Throughput}}
	parser.HostReader = model.HostReader{Reader: &field.Reader{}, Targets: map[string]*model.Target{}}
	root := parser.Root(text, field.File{Name: "fleet", Begin: "plimsoll init fleet writes one", Bytes: mostFleetBytes,
		Values: mostValues})
	if root != nil {
		if err := parser.file(root, open); err != nil {
			return nil, nil, err
		}
	}
	if err := parser.Problems.Sorted().Within(file).Err(); err != nil {
		return nil, nil, err
	}
	return parser.fleet, parser.Model, nil
}

type fleetParser struct {
	model.HostReader
	fleet *Fleet
}

func (p *fleetParser) file(root *yaml.Node, open func(string) (*model.Model, error)) error {
	nodes := map[string]*yaml.Node{}
	keep := func(key string) func(*yaml.Node) { return func(n *yaml.Node) { nodes[key] = n } }
	fields := map[string]func(*yaml.Node){"objective": p.objective, "headroom": func(n *yaml.Node) {
		p.fleet.Headroom, _ = field.Value(p.Reader, n, "headroom", Headroom)
	}, "moves": func(n *yaml.Node) { p.fleet.MostMoves = p.count(n, "moves") }}
	for _, key := range []string{"model", "targets", "hosts", "containers", "now", "down"} {
		fields[key] = keep(key)
	}
	if p.Mapping(root, "a fleet", fields) == nil {
		return nil
	}
	for _, needed := range [][2]string{{"model", "model.json, which plimsoll fit writes"},
		{"hosts", "{big: {count: 3, cpus: 16, memory: 64GiB}}"}, {"containers", "{orders: {class: C, count: 8}}"}} {
		if nodes[needed[0]] == nil {
			p.Problem(root, "the fleet has no "+needed[0], "write "+needed[0]+": "+needed[1])
		}
	}
	if nodes["model"] == nil {
		return nil // nothing else means anything
	}
	fitted, err := open(nodes["model"].Value)
	if err != nil {
		return err
	}
	p.Model = fitted
	p.ReadTargets(nodes["targets"])
	if n := nodes["hosts"]; n != nil {
		p.Named(n, "hosts", p.hosts)
		if len(n.Content) > 2*mostKinds {
			p.Problem(n, fmt.Sprintf("there are more than %d kinds of hosts", mostKinds), "")
		}
	}
	if n := nodes["containers"]; n != nil {
		p.containers(n)
	}
	if o := p.fleet.Objective; p.fleet.MostMoves > 0 && (o == WorstP99 || o == Fairness) {
		p.Problem(root, fmt.Sprintf("moves: a plan for %s is not made of single moves", o),
			"leave moves out, or plan for throughput or hosts")
	}
	p.defaultDrives(nodes["hosts"])
	if n := nodes["now"]; n != nil {
		p.now(n)
	}
	if n := nodes["down"]; n != nil {
		p.down(n)
	}
	return nil
}

// defaultDrives gives hosts without drives the one on which the classes of their containers were measured, as a
// prediction does: without a drive, their I/O would have no limit.
func (p *fleetParser) defaultDrives(hosts *yaml.Node) {
	for k := range p.fleet.Hosts {
		entry := &p.fleet.Hosts[k]
		if len(entry.Is.Drives) > 0 {
			continue
		}
		var stood []model.Drive
		for _, containers := range p.fleet.Containers {
			if containers.Class < 0 || containers.On != nil && !slices.Contains(containers.On, k) {
				continue
			}
			host := p.Model.HostOf(&p.Model.Classes[containers.Class])
			for _, d := range host.Drives {
				if !slices.ContainsFunc(stood, func(o model.Drive) bool { return o.Name == d.Name }) {
					stood = append(stood, d.Is)
				}
			}
		}
		if len(stood) == 1 {
			entry.Is.Drives = []model.HostDrive{{Name: stood[0].Name, Is: stood[0]}}
		} else if len(stood) > 1 {
			var names []string
			for _, d := range stood {
				names = append(names, d.Name)
			}
			p.Problem(hosts, fmt.Sprintf("hosts %s have no drives, and their containers were measured on %s", entry.Name,
				plural.And(names)), "write drives: {nvme: "+names[0]+"}")
		}
	}
}

// failed is "big-1", or "nvme on big-1".
var failed = regexp.MustCompile(`^(?:(\S+) on )?(\S+)$`)

// down takes hosts and drives that failed out of the fleet. What stood there stands nowhere.
func (p *fleetParser) down(node *yaml.Node) {
	nodes := node.Content
	if node.Kind == yaml.ScalarNode {
		nodes = []*yaml.Node{node}
	} else if node.Kind != yaml.SequenceNode {
		p.Problem(node, "down is a list of hosts and drives, not "+field.Describe(node), "write down: [big-1, nvme on big-2]")
		return
	}
	for _, entry := range nodes {
		parts := failed.FindStringSubmatch(entry.Value)
		if parts == nil || entry.Kind != yaml.ScalarNode {
			p.Problem(entry, fmt.Sprintf("down: %s is no host and no drive", field.Describe(entry)),
				"write big-1, or nvme on big-2")
			continue
		}
		if why := p.fleet.fail(parts[2], parts[1]); why != "" {
			p.Problem(entry, "down: "+why, "hosts that are several have numbers: big-1")
		}
	}
}

func (p *fleetParser) objective(node *yaml.Node) {
	var known []string
	for _, o := range Objectives() {
		if known = append(known, o[0]); o[0] == node.Value {
			p.fleet.Objective = Objective(node.Value)
			return
		}
	}
	p.Problem(node, fmt.Sprintf("objective: a plan is for one of %s, not for %s", plural.And(known), field.Describe(node)),
		suggest.DidYouMean(node.Value, known))
}

func (p *fleetParser) hosts(name string, node *yaml.Node) {
	hosts := Hosts{Name: name, Count: 1}
	p.named(node, "hosts", name)
	hosts.Is = p.Host(node, "hosts "+name, model.HostKind{}, map[string]func(*yaml.Node){
		"count": func(n *yaml.Node) { hosts.Count = p.count(n, "count of hosts "+name) },
		"price": func(n *yaml.Node) { hosts.Price, _ = field.Value(p.Reader, n, "price of hosts "+name, aPrice) },
	})
	if hosts.Is.Host.MemoryBytes == 0 {
		p.Problem(node, fmt.Sprintf("hosts %s have no memory: what fits on them would have no end", name),
			"write memory: 64GiB")
	}
	if hosts.Is.Host.CPUs == 0 {
		p.Problem(node, fmt.Sprintf("hosts %s have no cpus", name), "write cpus: 16")
	}
	p.fleet.Hosts = append(p.fleet.Hosts, hosts)
}

var nameShape = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$`)

// named reports a problem with a name, which is shown in tables and in names of hosts.
func (p *fleetParser) named(n *yaml.Node, what, name string) {
	if !nameShape.MatchString(name) {
		p.Problem(n, fmt.Sprintf("%s: %q is no name", what, name),
			"take letters, digits, and - . _ between them, 63 at most")
	}
}

func (p *fleetParser) containers(list *yaml.Node) {
	type wish struct {
		owner int
		to    *[]int
		node  *yaml.Node
		key   string
	}
	var wishes []wish
	numbers := map[string]int{}
	if len(list.Content) > 2*mostDemands {
		p.Problem(list, fmt.Sprintf("there are more than %d kinds of containers", mostDemands), "")
		return
	}
	p.Named(list, "containers", func(name string, node *yaml.Node) {
		p.named(node, "containers", name)
		subject := "containers " + name
		containers := Containers{Name: name, Count: 1, Class: -1}
		i := len(p.fleet.Containers)
		read := p.Mapping(node, subject, map[string]func(*yaml.Node){
			"class":  func(n *yaml.Node) { containers.Class = p.class(n, subject) },
			"count":  func(n *yaml.Node) { containers.Count = p.count(n, "count of "+subject) },
			"limits": func(n *yaml.Node) { containers.Limits = experiment.ReadLimits(p.Reader, n, subject) },
			"weight": func(n *yaml.Node) { containers.Weight, _ = field.Value(p.Reader, n, "weight of "+subject, weight) },
			"least-throughput": func(n *yaml.Node) {
				containers.LeastRate, _ = field.Value(p.Reader, n, "least-throughput of "+subject, LeastThroughput)
			},
			"p99-limit": func(n *yaml.Node) {
				containers.MostP99, _ = field.Value(p.Reader, n, "p99-limit of "+subject, P99Limit)
			},
			"data": func(n *yaml.Node) {
				containers.Data, _ = field.Value(p.Reader, n, "data of "+subject, field.Bytes.Like("100GB"))
			},
			"apart": func(n *yaml.Node) {
				containers.Apart, _ = field.Value(p.Reader, n, "apart of "+subject, field.Switch)
			},
			"beside":    func(n *yaml.Node) { wishes = append(wishes, wish{i, nil, n, "beside"}) },
			"on":        func(n *yaml.Node) { containers.On = p.on(n, subject) },
			"away-from": func(n *yaml.Node) { wishes = append(wishes, wish{i, nil, n, "away-from"}) },
		})
		if read != nil && !read["class"] {
			p.Problem(node, subject+" have no class", "write class: "+p.Model.Classes[0].Name)
		}
		if p.fleet.Objective == FewHosts && read != nil && containers.LeastRate == 0 && containers.MostP99 == 0 {
			p.Problem(node, subject+" are to do nothing in particular: on the fewest hosts they would do next to nothing",
				"write least-throughput or p99-limit")
		}
		numbers[name] = i
		p.fleet.Containers = append(p.fleet.Containers, containers)
	})
	for _, wish := range wishes {
		containers := &p.fleet.Containers[wish.owner]
		to := &containers.Beside
		if wish.key == "away-from" {
			to = &containers.Away
		}
		nodes := wish.node.Content
		if wish.node.Kind == yaml.ScalarNode {
			nodes = []*yaml.Node{wish.node}
		} else if wish.node.Kind != yaml.SequenceNode {
			p.Problem(wish.node, fmt.Sprintf("%s of containers %s is a list of containers, not %s", wish.key, containers.Name,
				field.Describe(wish.node)), "write "+wish.key+": [orders]")
		}
		for _, n := range nodes {
			other, ok := numbers[n.Value]
			switch {
			case !ok:
				p.Problem(n, fmt.Sprintf("%s of containers %s: there are no containers %s", wish.key, containers.Name,
					field.Describe(n)), "")
			case other == wish.owner:
				p.Problem(n, fmt.Sprintf("%s of containers %s: that is they themselves", wish.key, containers.Name),
					"write apart: true for replicas")
			case slices.Contains(containers.Beside, other), slices.Contains(containers.Away, other):
				p.Problem(n, fmt.Sprintf("%s of containers %s: %s is named before", wish.key, containers.Name, n.Value), "")
			default:
				*to = append(*to, other)
			}
		}
	}
	for _, wish := range wishes {
		containers := &p.fleet.Containers[wish.owner]
		if wish.key != "beside" || len(containers.Beside) == 0 {
			continue
		}
		apart := func(other int) bool {
			return slices.Contains(containers.Away, other) || slices.Contains(p.fleet.Containers[other].Away, wish.owner)
		}
		if !slices.ContainsFunc(containers.Beside, func(other int) bool { return !apart(other) }) {
			p.Problem(wish.node, fmt.Sprintf("containers %s must be both next to %s and away from them", containers.Name,
				p.fleet.Containers[containers.Beside[0]].Name), "leave one of beside and away-from out")
		}
	}
}

// on reads a list of kinds of hosts, which were read before, wherever the file has them.
func (p *fleetParser) on(node *yaml.Node, subject string) (kinds []int) {
	nodes := node.Content
	if node.Kind == yaml.ScalarNode {
		nodes = []*yaml.Node{node}
	}
	for _, entry := range nodes {
		i := slices.IndexFunc(p.fleet.Hosts, func(h Hosts) bool { return h.Name == entry.Value })
		if i < 0 {
			p.Problem(entry, fmt.Sprintf("on of %s: there are no hosts %s", subject, field.Describe(entry)), "")
		}
		kinds = append(kinds, i)
	}
	if len(kinds) == 0 {
		p.Problem(node, fmt.Sprintf("on of %s is a list of hosts, not %s", subject, field.Describe(node)), "write on: [big]")
	}
	return kinds
}

func (p *fleetParser) class(node *yaml.Node, subject string) int {
	i := slices.IndexFunc(p.Model.Classes, func(f model.Fitted) bool { return f.Name == node.Value })
	if i < 0 {
		_, err := p.Model.Find(node.Value)
		p.Problem(node, fmt.Sprintf("class of %s: %v", subject, err), "")
	}
	return i
}

// standing is "2" or "2 on nvme".
var standing = regexp.MustCompile(`^(\d{1,7})(?: on (\S+))?$`)

func (p *fleetParser) now(node *yaml.Node) {
	type host struct{ kind, number int }
	hosts := map[string]host{}
	for k := range p.fleet.Hosts {
		for i := range min(p.fleet.Hosts[k].Count, mostCounted) {
			name := hostName(&p.fleet.Hosts[k], i+1)
			if other, twice := hosts[name]; twice && other.kind != k {
				p.Problem(node, fmt.Sprintf("hosts %s and %s both have a host %s", p.fleet.Hosts[other.kind].Name,
					p.fleet.Hosts[k].Name,
					name), "give one of them another name")
			}
			hosts[name] = host{k, i}
		}
	}
	counts := make([]int, len(p.fleet.Containers))
	p.Named(node, "now", func(name string, node *yaml.Node) {
		host, ok := hosts[name]
		if !ok {
			p.Problem(node, fmt.Sprintf("now: the fleet has no host %s", name),
				"hosts that are several have numbers, such as big-1; one that failed stays in hosts: write down: ["+name+"]")
			return
		}
		drives := p.fleet.Hosts[host.kind].Is.Drives
		p.Named(node, "containers on "+name, func(container string, node *yaml.Node) {
			i := slices.IndexFunc(p.fleet.Containers, func(c Containers) bool { return c.Name == container })
			if i < 0 {
				p.Problem(node, fmt.Sprintf("now: there are no containers %s", container), "")
				return
			}
			entries := node.Content
			if node.Kind == yaml.ScalarNode {
				entries = []*yaml.Node{node}
			}
			for _, entry := range entries {
				match := standing.FindStringSubmatch(entry.Value)
				if match == nil {
					p.Problem(entry, fmt.Sprintf("%s on %s: %s is no number of them", container, name, field.Describe(entry)),
						"write 2, or 2 on nvme")
					continue
				}
				stands := Standing{Host: name, Containers: i, Drive: min(0, len(drives)-1)}
				stands.Count, _ = strconv.Atoi(match[1])
				if match[2] != "" {
					stands.Drive = slices.IndexFunc(drives, func(d model.HostDrive) bool { return d.Name == match[2] })
					if stands.Drive < 0 {
						p.Problem(entry, fmt.Sprintf("%s on %s: the host has no drive %q", container, name, match[2]),
							fmt.Sprintf("one that failed stays in hosts: write down: [%s on %s]", match[2], name))
					}
				}
				if counts[i] += stands.Count; counts[i] > p.fleet.Containers[i].Count {
					p.Problem(entry, fmt.Sprintf("now: it places more of %s than there are: %d of %d", container, counts[i],
						p.fleet.Containers[i].Count), "")
				}
				if stands.Count > 0 {
					p.fleet.Now = append(p.fleet.Now, stands)
				}
			}
		})
	})
}

// Kinds of values in a fleet's file.
var (
	aCount = field.Count(0, mostCounted)
	aPrice = field.Number(1e-6, 1e12).Like("2.5")
	// Headroom is the share of hosts that is left free.
	Headroom = field.Share("10%", "from 0% to below 100% of what hosts have",
		func(x float64) bool { return x >= 0 && x < 1 })

	weight = field.Rate(1e-3, 1e3)
	// LeastThroughput is operations a second that containers are to do at least, of files and of annotations.
	LeastThroughput = field.Rate(math.SmallestNonzeroFloat64, 1e12)
	// P99Limit is a limit of p99, in seconds.
	P99Limit = field.Seconds(field.Duration(1, time.Hour).Like("10ms"))
)

func (p *fleetParser) count(n *yaml.Node, what string) int {
	i, _ := field.Value(p.Reader, n, what, aCount)
	return i
}

// price returns the price of a host, 1 by default.
func (h *Hosts) price() float64 { return cmp.Or(h.Price, 1) }
