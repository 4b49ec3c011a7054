package apply

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/compose-spec/compose-go/v2/types"
)

// Group is services that stand on one engine: they reach each other by their names, which only that engine resolves, or
// have one volume.
type Group struct {
	Services []string `json:"services"`
	Why      []string `json:"why"`
}

// separation is services that may not stand on one engine.
type separation struct {
	services []string
	why      string
}

// Values of the label plimsoll.reach: how a service is reached from other engines.
const (
	reachPorts    = "ports"    // by its published ports: apply has its name resolve to the address of its engine
	reachExternal = "external" // by an address that clients have, which is not of the file
)

// defaultNetwork is the network of services that name none.
const defaultNetwork = "default"

// talk finds out which services of a file talk to each other.
type talk struct {
	*composeReader
	services []Service
	index    map[string]int      // of services, by their names
	networks [][]string          // of each service, in order
	aliases  []map[string]bool   // names of each service that others may use, by service
	owner    map[string]int      // service by a name that others may use
	parent   []int               // of each service in the tree of its group; itself for the root
	linked   []bool              // whether a service talks to any
	reasons  [][2]string         // first service, sentence
	seen     map[[2]int]bool     // pairs that were linked
	names    map[[2]int]bool     // pairs: the first names the second in its settings
	twins    map[string][]string // services of one image that name each other, by image
}

// connect finds the groups of a project, and what has to stand apart, and gives services that talk their networks.
func (c *composeReader) connect(p *Project) {
	t := &talk{composeReader: c, services: p.Services, index: map[string]int{}, owner: map[string]int{},
		seen: map[[2]int]bool{}, names: map[[2]int]bool{}, twins: map[string][]string{},
		linked: make([]bool, len(p.Services))}
	for i, s := range p.Services {
		t.index[s.Name] = i
		t.parent = append(t.parent, i)
	}
	t.name()
	t.shareNetworks()
	t.shareVolumes()
	for i := range t.services {
		t.readNames(i)
	}
	t.attach()
	p.Groups = t.groups()
	t.checkReach(p)
	p.separations = t.separations()
	t.noteQuorums()
	t.noteStrangers()
	p.Notes = t.notes
}

// name collects the networks of services, and the names that each has there.
func (t *talk) name() {
	for _, s := range t.services {
		from := t.from.Services[s.Name]
		networks := slices.Sorted(maps.Keys(from.Networks))
		if len(networks) == 0 && s.Network == "" {
			networks = []string{defaultNetwork}
		}
		t.networks = append(t.networks, networks)
		names := map[string]bool{s.Name: true}
		if from.ContainerName != "" {
			names[from.ContainerName] = true
		}
		for _, n := range from.Networks {
			if n == nil {
				continue
			}
			for _, alias := range n.Aliases {
				names[alias] = true
			}
		}
		t.aliases = append(t.aliases, names)
	}
	for i, s := range t.services {
		for _, link := range t.from.Services[s.Name].Links {
			target, alias, _ := strings.Cut(link, ":")
			linked, known := t.index[target]
			if !known {
				t.wrong(s.Name, "links", "name a service of the file", "it has a link to %q, which is none", target)
				continue
			}
			t.aliases[linked][cmp.Or(alias, target)] = true
			t.link(i, linked, fmt.Sprintf("%s has a link to %s", s.Name, target))
		}
	}
	for i := range t.services {
		for alias := range t.aliases[i] {
			if !plainName.MatchString(alias) {
				t.wrong(t.services[i].Name, "networks", "", "%q is no name", alias)
			}
			other, taken := t.owner[alias]
			if !taken {
				t.owner[alias] = i
			} else if other != i {
				t.link(i, other, fmt.Sprintf("%s and %s have one name, %s", t.services[other].Name, t.services[i].Name, alias))
			}
		}
	}
}

// shareNetworks links services that name one network. The network of those that name none shows nothing.
func (t *talk) shareNetworks() {
	first := map[string]int{}
	for i, s := range t.services {
		for network := range t.from.Services[s.Name].Networks {
			other, named := first[network]
			switch {
			case t.demands[s.Name]["reach"] != "":
			case named:
				t.link(i, other, fmt.Sprintf("%s and %s name the network %s", t.services[other].Name, s.Name, network))
			default:
				first[network] = i
			}
		}
	}
}

// shareVolumes puts services that name one volume into one group: the volume is on one engine.
func (t *talk) shareVolumes() {
	first := map[string]int{}
	for i, s := range t.services {
		for _, v := range s.Volumes {
			other, named := first[v.Name]
			if !named {
				first[v.Name] = i
				continue
			}
			if other == i {
				continue
			}
			if s.Replicas > 1 || t.services[other].Replicas > 1 {
				t.wrong(s.Name, "volumes", "give each its own, or have one container of each: each container of a service has "+
					"a volume of its own", "volume %q is of services %q and %q, of several containers", v.Name,
					t.services[other].Name, s.Name)
			}
			t.bind(i, other, fmt.Sprintf("%s and %s have the volume %s", t.services[other].Name, s.Name, v.Name))
		}
	}
}

// readNames links a service to those that its settings name.
func (t *talk) readNames(i int) {
	s := &t.services[i]
	for _, d := range s.DependsOn {
		if other, known := t.index[d.Service]; known {
			t.link(i, other, fmt.Sprintf("%s depends on %s", s.Name, d.Service))
		}
	}
	read := func(place, text string) {
		for _, word := range strings.FieldsFunc(text, notOfName) {
			if other, known := t.owner[strings.Trim(word, ".-_")]; known {
				t.noteTwins(i, other)
				t.link(i, other, fmt.Sprintf("%s names %s in %s", s.Name, word, place))
			}
		}
	}
	for _, key := range slices.Sorted(maps.Keys(s.Environment)) {
		read(key, s.Environment[key])
	}
	for _, word := range slices.Concat(s.Entrypoint, s.Command) {
		read("its command", word)
	}
	if s.Healthcheck != nil {
		read("its healthcheck", strings.Join(s.Healthcheck.Test, " "))
	}
	for _, f := range s.Files {
		read(f.Target, string(f.Content))
	}
}

// noteTwins notes that a service names another one of its image. Members of a quorum name each other.
func (t *talk) noteTwins(from, to int) {
	t.names[[2]int{from, to}] = true
	image := t.services[from].Image
	if from != to && image == t.services[to].Image && t.names[[2]int{to, from}] {
		t.twins[image] = append(t.twins[image], t.services[from].Name, t.services[to].Name)
	}
}

// notOfName reports whether a character is in no name of a service.
func notOfName(r rune) bool {
	return r != '_' && r != '-' && r != '.' && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
}

// link notes that a service reaches another one, where they share a network.
func (t *talk) link(from, to int, why string) {
	pair := [2]int{from, to}
	if from == to || t.seen[pair] || !slices.ContainsFunc(t.networks[from], func(network string) bool {
		return slices.Contains(t.networks[to], network)
	}) {
		return
	}
	t.seen[pair] = true
	client, server := &t.services[from], &t.services[to]
	t.linked[from], t.linked[to] = true, true
	switch t.demands[server.Name]["reach"] {
	case reachPorts:
		client.Reaches = append(client.Reaches, server.Name)
		return
	case reachExternal:
		return
	}
	t.bind(from, to, why)
}

// bind puts two services into one group.
func (t *talk) bind(a, b int, why string) {
	t.reasons = append(t.reasons, [2]string{t.services[a].Name, why})
	t.parent[t.root(a)] = t.root(b)
}

// root returns the service that a group is known by.
func (t *talk) root(i int) int {
	for t.parent[i] != i {
		t.parent[i] = t.parent[t.parent[i]]
		i = t.parent[i]
	}
	return i
}

// attach gives services that talk their networks, with the names that they have there.
func (t *talk) attach() {
	for i := range t.services {
		s := &t.services[i]
		slices.Sort(s.Reaches)
		if !t.linked[i] {
			continue
		}
		for _, network := range t.networks[i] {
			s.Networks = append(s.Networks, Attachment{Name: network, Internal: t.from.Networks[network].Internal,
				Aliases: slices.Sorted(maps.Keys(t.aliases[i]))})
		}
	}
}

// groups returns the groups of two services or more.
func (t *talk) groups() (groups []Group) {
	byRoot := map[int]*Group{}
	for i, s := range t.services {
		root := t.root(i)
		if byRoot[root] == nil {
			byRoot[root] = &Group{}
		}
		byRoot[root].Services = append(byRoot[root].Services, s.Name)
	}
	for _, reason := range t.reasons {
		g := byRoot[t.root(t.index[reason[0]])]
		g.Why = append(g.Why, reason[1])
	}
	for _, g := range byRoot {
		if len(g.Services) < 2 {
			continue
		}
		slices.Sort(g.Services)
		slices.Sort(g.Why)
		groups = append(groups, *g)
		t.checkGroup(g)
	}
	slices.SortFunc(groups, func(a, b Group) int { return strings.Compare(a.Services[0], b.Services[0]) })
	return groups
}

// checkGroup sees that a group can stand on one engine.
func (t *talk) checkGroup(g *Group) {
	const remedy = "write plimsoll.reach: ports on what is reached, with its port published, or external"
	if t.hub(g) == "" {
		t.add("service "+listed(g.Services)+" talk to each other, and each has several containers, or none",
			g.Why[0], remedy)
	}
	for _, name := range g.Services {
		if t.demands[name]["apart"] == "true" && t.services[t.index[name]].Replicas > 1 {
			t.wrong(name, "labels", remedy, "its containers are to be apart, and talk to others, which stand on one engine: %s",
				g.Why[0])
		}
	}
}

// hub returns the service of a group that the others stand beside: one with one container.
func (t *talk) hub(g *Group) string {
	return hub(g, func(name string) int { return t.services[t.index[name]].Replicas })
}

func hub(g *Group, replicas func(string) int) string {
	for _, name := range g.Services {
		if replicas(name) == 1 {
			return name
		}
	}
	return ""
}

// checkReach sees that services with the label plimsoll.reach can be reached so.
func (t *talk) checkReach(p *Project) {
	for _, s := range p.Services {
		switch how := t.demands[s.Name]["reach"]; how {
		case "", reachExternal:
		case reachPorts:
			published := func(port Port) bool { return port.Published > 0 && port.Published == port.Target }
			if s.Replicas > 1 || !slices.ContainsFunc(s.Ports, published) {
				t.wrong(s.Name, "labels", `write ports: ["PORT:PORT"], the same on both sides, of one container`,
					"plimsoll.reach: ports needs a port that is published as itself")
			}
		default:
			t.wrong(s.Name, "labels", "write ports or external", "plimsoll.reach: %q is none", how)
		}
	}
}

// separations returns which services may not stand on one engine: they publish one port, or are of one apart-group.
func (t *talk) separations() (pairs []separation) {
	sets := map[string][]string{}
	wide := map[string]bool{} // ports of all addresses of a host
	for _, s := range t.services {
		for _, port := range s.Ports {
			key := fmt.Sprintf("port %d/%s", port.Published, port.Protocol)
			wide[key] = wide[key] || port.Host == "" || port.Host == "0.0.0.0" || port.Host == "::"
		}
	}
	for _, s := range t.services {
		add := func(key string) {
			if !slices.Contains(sets[key], s.Name) {
				sets[key] = append(sets[key], s.Name)
			}
		}
		if s.Replicas == 0 {
			continue
		}
		if name := t.demands[s.Name]["apart-group"]; name != "" {
			add("the apart-group " + name)
		}
		for _, port := range s.Ports {
			key := fmt.Sprintf("port %d/%s", port.Published, port.Protocol)
			if !wide[key] {
				key = fmt.Sprintf("port %d/%s of %s", port.Published, port.Protocol, port.Host)
			}
			if port.Published > 0 {
				add(key)
			}
		}
	}
	for _, why := range slices.Sorted(maps.Keys(sets)) {
		if len(sets[why]) < 2 {
			continue
		}
		pairs = append(pairs, separation{sets[why], why})
		standing := map[int]string{} // a service by its group
		for _, name := range sets[why] {
			root := t.root(t.index[name])
			if other := standing[root]; other != "" {
				t.wrong(name, "ports", "publish another port, or write plimsoll.reach: ports on what is reached",
					"it has %s, as %s has, so that they stand apart; and they reach each other by names, so that they stand "+
						"on one engine", why, other)
				break
			}
			standing[root] = name
		}
	}
	return pairs
}

// noteQuorums notes services of one image that name each other, and stand on one engine.
func (t *talk) noteQuorums() {
	for _, image := range slices.Sorted(maps.Keys(t.twins)) {
		names := t.twins[image]
		slices.Sort(names)
		names = slices.Compact(names)
		if len(names) < 3 || t.root(t.index[names[0]]) != t.root(t.index[names[1]]) {
			continue
		}
		t.notes = append(t.notes, fmt.Sprintf("%s have one image and name each other: a quorum on one engine is lost with "+
			"it; to have them apart, publish their ports, and write plimsoll.reach: ports and plimsoll.apart-group: NAME on "+
			"each", listed(names)))
	}
}

// noteStrangers notes services that share the default network, where nothing shows whether they talk.
func (t *talk) noteStrangers() {
	var alone []string
	for i, s := range t.services {
		if !t.linked[i] && s.Network == "" {
			alone = append(alone, s.Name)
		}
	}
	if len(alone) > 0 && len(t.services) > 1 {
		t.notes = append(t.notes, fmt.Sprintf("nothing in the file names %s, nor do they name others: they may stand on any "+
			"engine; plimsoll.beside holds services together", listed(alone)))
	}
}

// order sorts services so that each comes behind those that it depends on, and by name where that leaves a choice.
func (c *composeReader) order(p *Project) {
	index := map[string]int{}
	waits := make([]int, len(p.Services))
	dependents := make([][]int, len(p.Services))
	for i := range p.Services {
		index[p.Services[i].Name] = i
	}
	for i := range p.Services {
		s := &p.Services[i]
		from := c.from.Services[s.Name].DependsOn
		for _, name := range slices.Sorted(maps.Keys(from)) {
			other, known := index[name]
			if !known || from[name].Condition == "" {
				continue // one without which it may start
			}
			s.DependsOn = append(s.DependsOn, Dependency{name, from[name].Condition})
			if from[name].Condition == types.ServiceConditionCompletedSuccessfully {
				p.Services[other].Once = true
			}
			waits[i]++
			dependents[other] = append(dependents[other], i)
		}
	}
	var ready []int
	for i, n := range waits {
		if n == 0 {
			ready = append(ready, i)
		}
	}
	var sorted []Service
	for len(ready) > 0 {
		next := ready[0]
		ready = ready[1:]
		sorted = append(sorted, p.Services[next])
		for _, i := range dependents[next] {
			if waits[i]--; waits[i] == 0 {
				ready = append(ready, i)
			}
		}
	}
	if len(sorted) < len(p.Services) {
		c.add("services depend on each other in a ring", "", "take one out of depends_on")
		return
	}
	p.Services = sorted
}
