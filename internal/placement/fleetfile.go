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
	p := &fleetParser{fleet: &Fleet{Objective: Throughput}}
	p.HostReader = model.HostReader{Reader: &field.Reader{}, Targets: map[string]*model.Target{}}
	root := p.Root(text, field.File{Name: "fleet", Begin: "plimsoll init fleet writes one", Bytes: mostFleetBytes,
		Values: mostValues})
	if root != nil {
		if err := p.file(root, open); err != nil {
			return nil, nil, err
		}
	}
	if err := p.Problems.Sorted().Within(file).Err(); err != nil {
		return nil, nil, err
	}
	return p.fleet, p.Model, nil
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
	for _, key := range []string{"model", "targets", "hosts", "containers", "now"} {
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
	m, err := open(nodes["model"].Value)
	if err != nil {
		return err
	}
	p.Model = m
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
	if n := nodes["now"]; n != nil {
		p.now(n)
	}
	return nil
}

func (p *fleetParser) objective(n *yaml.Node) {
	var known []string
	for _, o := range Objectives() {
		if known = append(known, o[0]); o[0] == n.Value {
			p.fleet.Objective = Objective(n.Value)
			return
		}
	}
	p.Problem(n, fmt.Sprintf("objective: a plan is for one of %s, not for %s", plural.And(known), field.Describe(n)),
		suggest.DidYouMean(n.Value, known))
}

func (p *fleetParser) hosts(name string, n *yaml.Node) {
	h := Hosts{Name: name, Count: 1}
	p.named(n, "hosts", name)
	h.Is = p.Host(n, "hosts "+name, model.HostKind{}, map[string]func(*yaml.Node){
		"count": func(n *yaml.Node) { h.Count = p.count(n, "count of hosts "+name) },
		"price": func(n *yaml.Node) { h.Price, _ = field.Value(p.Reader, n, "price of hosts "+name, aPrice) },
	})
	if h.Is.Host.MemoryBytes == 0 {
		p.Problem(n, fmt.Sprintf("hosts %s have no memory: what fits on them would have no end", name),
			"write memory: 64GiB")
	}
	if h.Is.Host.CPUs == 0 {
		p.Problem(n, fmt.Sprintf("hosts %s have no cpus", name), "write cpus: 16")
	}
	p.fleet.Hosts = append(p.fleet.Hosts, h)
}

var nameShape = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$`)

// named says what is wrong with a name, which stands in tables and in names of hosts.
func (p *fleetParser) named(n *yaml.Node, what, name string) {
	if !nameShape.MatchString(name) {
		p.Problem(n, fmt.Sprintf("%s: %q is no name", what, name),
			"take letters, digits, and - . _ between them, 63 at most")
	}
}

func (p *fleetParser) containers(all *yaml.Node) {
	type wish struct {
		of   int
		to   *[]int
		node *yaml.Node
		what string
	}
	var wishes []wish
	at := map[string]int{}
	if len(all.Content) > 2*mostDemands {
		p.Problem(all, fmt.Sprintf("there are more than %d kinds of containers", mostDemands), "")
		return
	}
	p.Named(all, "containers", func(name string, n *yaml.Node) {
		p.named(n, "containers", name)
		of := "containers " + name
		c := Containers{Name: name, Count: 1, Class: -1}
		i := len(p.fleet.Containers)
		read := p.Mapping(n, of, map[string]func(*yaml.Node){
			"class":  func(n *yaml.Node) { c.Class = p.class(n, of) },
			"count":  func(n *yaml.Node) { c.Count = p.count(n, "count of "+of) },
			"limits": func(n *yaml.Node) { c.Limits = experiment.ReadLimits(p.Reader, n, of) },
			"weight": func(n *yaml.Node) { c.Weight, _ = field.Value(p.Reader, n, "weight of "+of, weight) },
			"least-throughput": func(n *yaml.Node) {
				c.LeastRate, _ = field.Value(p.Reader, n, "least-throughput of "+of, LeastThroughput)
			},
			"p99-limit": func(n *yaml.Node) { c.MostP99, _ = field.Value(p.Reader, n, "p99-limit of "+of, P99Limit) },
			"data":      func(n *yaml.Node) { c.Data, _ = field.Value(p.Reader, n, "data of "+of, field.Bytes.Like("100GB")) },
			"apart":     func(n *yaml.Node) { c.Apart, _ = field.Value(p.Reader, n, "apart of "+of, field.Switch) },
			"beside":    func(n *yaml.Node) { wishes = append(wishes, wish{i, nil, n, "beside"}) },
			"on":        func(n *yaml.Node) { c.On = p.on(n, of) },
			"away-from": func(n *yaml.Node) { wishes = append(wishes, wish{i, nil, n, "away-from"}) },
		})
		if read != nil && !read["class"] {
			p.Problem(n, of+" have no class", "write class: "+p.Model.Classes[0].Name)
		}
		if p.fleet.Objective == FewHosts && read != nil && c.LeastRate == 0 && c.MostP99 == 0 {
			p.Problem(n, of+" are to do nothing in particular: on the fewest hosts they would do next to nothing",
				"write least-throughput or p99-limit")
		}
		at[name] = i
		p.fleet.Containers = append(p.fleet.Containers, c)
	})
	for _, w := range wishes {
		c := &p.fleet.Containers[w.of]
		to := &c.Beside
		if w.what == "away-from" {
			to = &c.Away
		}
		nodes := w.node.Content
		if w.node.Kind == yaml.ScalarNode {
			nodes = []*yaml.Node{w.node}
		} else if w.node.Kind != yaml.SequenceNode {
			p.Problem(w.node, fmt.Sprintf("%s of containers %s is a list of containers, not %s", w.what, c.Name,
				field.Describe(w.node)), "write "+w.what+": [orders]")
		}
		for _, n := range nodes {
			other, ok := at[n.Value]
			switch {
			case !ok:
				p.Problem(n, fmt.Sprintf("%s of containers %s: there are no containers %s", w.what, c.Name, field.Describe(n)),
					"")
			case other == w.of:
				p.Problem(n, fmt.Sprintf("%s of containers %s: that is they themselves", w.what, c.Name),
					"write apart: true for replicas")
			case slices.Contains(c.Beside, other), slices.Contains(c.Away, other):
				p.Problem(n, fmt.Sprintf("%s of containers %s: %s is named before", w.what, c.Name, n.Value), "")
			default:
				*to = append(*to, other)
			}
		}
	}
}

// on reads kinds of hosts. Those were read before, wherever they stand in the file.
func (p *fleetParser) on(n *yaml.Node, of string) (kinds []int) {
	nodes := n.Content
	if n.Kind == yaml.ScalarNode {
		nodes = []*yaml.Node{n}
	}
	for _, one := range nodes {
		i := slices.IndexFunc(p.fleet.Hosts, func(h Hosts) bool { return h.Name == one.Value })
		if i < 0 {
			p.Problem(one, fmt.Sprintf("on of %s: there are no hosts %s", of, field.Describe(one)), "")
		}
		kinds = append(kinds, i)
	}
	if len(kinds) == 0 {
		p.Problem(n, fmt.Sprintf("on of %s is a list of hosts, not %s", of, field.Describe(n)), "write on: [big]")
	}
	return kinds
}

func (p *fleetParser) class(n *yaml.Node, of string) int {
	i := slices.IndexFunc(p.Model.Classes, func(f model.Fitted) bool { return f.Name == n.Value })
	if i < 0 {
		_, err := p.Model.Find(n.Value)
		p.Problem(n, fmt.Sprintf("class of %s: %v", of, err), "")
	}
	return i
}

// standing is "2" or "2 on nvme".
var standing = regexp.MustCompile(`^(\d{1,7})(?: on (\S+))?$`)

func (p *fleetParser) now(n *yaml.Node) {
	type host struct{ kind, number int }
	hosts := map[string]host{}
	for k := range p.fleet.Hosts {
		for i := range min(p.fleet.Hosts[k].Count, mostCounted) {
			name := hostName(&p.fleet.Hosts[k], i+1)
			if other, twice := hosts[name]; twice && other.kind != k {
				p.Problem(n, fmt.Sprintf("hosts %s and %s both have a host %s", p.fleet.Hosts[other.kind].Name,
					p.fleet.Hosts[k].Name,
					name), "give one of them another name")
			}
			hosts[name] = host{k, i}
		}
	}
	counts := make([]int, len(p.fleet.Containers))
	p.Named(n, "now", func(name string, n *yaml.Node) {
		h, ok := hosts[name]
		if !ok {
			p.Problem(n, fmt.Sprintf("now: the fleet has no host %s", name),
				"hosts that are several have numbers: "+hostName(&Hosts{Name: "big", Count: 2}, 1))
			return
		}
		drives := p.fleet.Hosts[h.kind].Is.Drives
		p.Named(n, "containers on "+name, func(of string, n *yaml.Node) {
			i := slices.IndexFunc(p.fleet.Containers, func(c Containers) bool { return c.Name == of })
			if i < 0 {
				p.Problem(n, fmt.Sprintf("now: there are no containers %s", of), "")
				return
			}
			all := n.Content
			if n.Kind == yaml.ScalarNode {
				all = []*yaml.Node{n}
			}
			for _, one := range all {
				said := standing.FindStringSubmatch(one.Value)
				if said == nil {
					p.Problem(one, fmt.Sprintf("%s on %s: %s is no number of them", of, name, field.Describe(one)),
						"write 2, or 2 on nvme")
					continue
				}
				s := Standing{Host: name, Containers: i, Drive: min(0, len(drives)-1)}
				s.Count, _ = strconv.Atoi(said[1])
				if said[2] != "" {
					if s.Drive = slices.IndexFunc(drives, func(d model.HostDrive) bool { return d.Name == said[2] }); s.Drive < 0 {
						p.Problem(one, fmt.Sprintf("%s on %s: the host has no drive %q", of, name, said[2]), "")
					}
				}
				if counts[i] += s.Count; counts[i] > p.fleet.Containers[i].Count {
					p.Problem(one, fmt.Sprintf("now: more of %s stand somewhere than there are: %d of %d", of, counts[i],
						p.fleet.Containers[i].Count), "")
				}
				if s.Count > 0 {
					p.fleet.Now = append(p.fleet.Now, s)
				}
			}
		})
	})
}

// Kinds of what a fleet's file says.
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
