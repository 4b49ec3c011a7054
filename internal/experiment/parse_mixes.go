package experiment

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"plimsoll/internal/field"
	"plimsoll/internal/problem"
	"plimsoll/internal/problem/suggest"
	"plimsoll/internal/result"
	"plimsoll/internal/stack/line"
	"plimsoll/internal/units"
	"plimsoll/internal/units/plural"
	"plimsoll/internal/workload"
)

// mixExample is an example of a mix for errors.
const mixExample = "four: {randread: 4}"

// maxTotalInstances is how many instances all points of a file may have together.
const maxTotalInstances = 100_000

// mixReader parses mixes.
type mixReader struct {
	*parser
	complete bool // all workloads and stacks were read, so that a name that is none of them is wrong
	stacks   []string
	loads    []string
	used     map[string]bool // workloads that some mix names
	known    byName
	nodes    map[string]*yaml.Node // of mixes, by their names
	inAll    int                   // instances of all points so far
	policies []policy              // of the tenants of the mix that is being read
}

// readMixes reads what runs at the same time; without mixes, each workload
// runs alone.
func (p *parser) readMixes(mixes, workloads []*declared, stackNames, loadNames []string, brief bool) {
	p.readHost(brief)
	if p.mixNode == nil {
		p.e.Mixes = Alone(p.e.Workloads)
		for i := range p.e.Mixes {
			p.e.Mixes[i].Host = p.e.Host
		}
		return
	}
	complete := !brief && !slices.ContainsFunc(workloads, func(d *declared) bool { return d.broken })
	r := &mixReader{
		parser: p, complete: complete, stacks: stackNames, loads: loadNames, used: map[string]bool{},
		known: p.e.workloads(), nodes: map[string]*yaml.Node{},
	}
	before := len(p.Problems)
	p.expand(mixes, "mix", brief, r.mix)
	if len(p.Problems) == before && complete {
		r.checkUsed(workloads)
		r.checkPlaces()
	}
}

// readHost reads the scaled-down host, at all levels that it depends on. If these are several, the experiment has no
// host, and each mix has one.
func (p *parser) readHost(brief bool) {
	if p.hostNode == nil || p.asked.host.None {
		p.hostNode, p.e.Host = nil, HostWith(nil, p.asked.host)
		return
	}
	broken := false
	var factors []*factor
	found := p.mentions("host", &broken, scalars(p.hostNode)...)
	for _, f := range p.factors {
		if !found[f.name] {
			continue
		}
		if len(f.levels) > 1 && p.mixNode == nil {
			p.Problem(p.hostNode, fmt.Sprintf("host depends on %s, but the names of workloads that run alone do not "+
				"show its levels", f.name),
				fmt.Sprintf("write mixes, which may: mixes: {randread-$%s: {randread: 1}}", f.name))
		}
		broken = broken || len(f.levels) == 0
		factors = append(factors, f)
	}
	if broken {
		p.hostNode = nil // what is wrong was said
		return
	}
	earlier := p.Problems
	var problems []problem.List
	made := choices(factors, brief)
	for _, c := range made {
		p.Problems = nil
		limits := p.limits(c.fill(p.hostNode), "the host")
		problems = append(problems, p.Problems)
		p.e.Host = HostWith(&limits, p.asked.host)
	}
	p.Problems = earlier
	p.Problems = append(p.Problems, joinProblems(made, problems)...)
	if len(made) > 1 {
		p.e.Host = nil
	}
}

// hostAt returns the scaled-down host at given levels; nil for none.
func (p *parser) hostAt(c choice) *result.Limits {
	if p.hostNode == nil || p.e.Host != nil {
		return p.e.Host
	}
	said := p.Problems // with what is wrong with the host
	limits := p.limits(c.fill(p.hostNode), "the host")
	p.Problems = said
	return HostWith(&limits, p.asked.host)
}

// mix reads one mix at given levels.
func (r *mixReader) mix(d expansion) {
	before := len(r.Problems)
	m := Mix{Name: d.name, Levels: d.levels, Host: r.hostAt(d.choice)}
	r.policies = nil
	n := d.choice.fillMix(d.raw)
	subject := "mix " + d.declared
	switch {
	case n.Kind != yaml.MappingNode && n.Kind != yaml.SequenceNode:
		r.Problem(n,
			fmt.Sprintf("%s is %s, but needs its tenants: workloads, and how many instances of each", subject, describe(n)),
			"write "+mixExample)
		return
	case len(n.Content) == 0:
		r.Problem(n, subject+" has no tenants", "write "+mixExample)
		return
	case n.Kind == yaml.MappingNode:
		for pair := range slices.Chunk(n.Content, 2) {
			r.readNamed(&m, subject, pair[0], pair[1])
		}
	default:
		for _, item := range n.Content {
			r.readListed(&m, subject, item)
		}
	}
	if len(r.Problems) > before {
		return
	}
	r.applyPolicies(subject, &m, r.policies)
	m.Tenants = slices.DeleteFunc(m.Tenants, func(t Tenant) bool { return t.Count == 0 })
	switch count := m.Count(); {
	case count == 0:
		r.Problem(n, subject+" has no instances", "give one of its tenants a count of 1 or more")
	case count > MaxInstances:
		r.Problem(n, fmt.Sprintf("%s has %d instances, more than %d", subject, count, MaxInstances), "take fewer")
	case r.inAll > maxTotalInstances: // which was said
	case r.inAll+count*r.times(m) > maxTotalInstances:
		r.inAll = maxTotalInstances + 1
		r.Problem(n, fmt.Sprintf("all mixes on all their stacks have more than %d instances", maxTotalInstances),
			"take fewer mixes, fewer instances of each, or fewer stacks")
	default:
		r.inAll += count * r.times(m)
		r.checkTenants(n, subject, m)
		r.inherit(&m)
		r.e.Mixes = append(r.e.Mixes, m)
		r.nodes[m.Name] = n
	}
}

// times returns on how many stacks a mix is measured at most.
func (r *mixReader) times(m Mix) int {
	if m.Crossed() {
		return max(1, len(r.e.Stacks))
	}
	return 1
}

// fillMix returns a copy of a mix with the chosen levels filled in. Where it
// names workloads and stacks, these are the levels' names, as in theirs.
func (c choice) fillMix(n *yaml.Node) *yaml.Node {
	filled := *n
	filled.Content = slices.Clone(n.Content)
	for i, tenant := range n.Content {
		switch {
		case n.Kind == yaml.MappingNode && i%2 == 0:
			continue
		case n.Kind == yaml.SequenceNode && tenant.Kind == yaml.ScalarNode:
			filled.Content[i] = c.fillNames(tenant)
			continue
		case tenant.Kind != yaml.MappingNode:
			filled.Content[i] = c.fill(tenant)
			continue
		}
		made := *tenant
		made.Content = nil
		for pair := range slices.Chunk(tenant.Content, 2) {
			value := c.fill(pair[1])
			switch pair[0].Value {
			case "workload", "on", "name":
				value = c.fillNames(pair[1])
			}
			made.Content = append(made.Content, pair[0], value)
		}
		filled.Content[i] = &made
	}
	return &filled
}

// fillNames returns a copy of a value with the names of the chosen levels filled in.
func (c choice) fillNames(n *yaml.Node) *yaml.Node {
	filled := *n
	if n.Kind == yaml.ScalarNode {
		filled.Value = substitute(n.Value, func(name string) string { return c.level(name).name })
		return &filled
	}
	filled.Content = nil
	for i, child := range n.Content {
		if n.Kind == yaml.MappingNode && i%2 == 0 {
			filled.Content = append(filled.Content, child)
			continue
		}
		filled.Content = append(filled.Content, c.fillNames(child))
	}
	return &filled
}

// readNamed parses a tenant under its name: a number of instances, or keys and values.
func (r *mixReader) readNamed(m *Mix, owner string, key, value *yaml.Node) {
	if key.Kind != yaml.ScalarNode {
		r.Problem(key, fmt.Sprintf("the name of a tenant of %s is text, not %s", owner, describe(key)), "write "+mixExample)
		return
	}
	if strings.Contains(key.Value, "$") {
		r.Problem(key, fmt.Sprintf("tenant %s of %s: a tenant has one name at all levels", key.Value, owner),
			fmt.Sprintf("write NAME: {workload: %s, count: 1}", key.Value))
		return
	}
	t := Tenant{Name: key.Value, Workload: key.Value, Count: 1}
	subject := fmt.Sprintf("tenant %s of %s", key.Value, owner)
	if value.Kind == yaml.MappingNode {
		node, has := r.tenant(&t, subject, value, false)
		if node == nil {
			node = key
		}
		r.add(m, owner, t, has, key, node)
		return
	}
	if value.Tag != "!!int" {
		r.Problem(value, fmt.Sprintf("%s is %s, but needs a number of instances, or keys and values", subject,
			describe(value)), fmt.Sprintf("write %s: 4, or %[1]s: {count: 4, limits: {cpus: 0.5}}", key.Value))
		return
	}
	t.Count = r.count(value, subject)
	r.add(m, owner, t, policy{}, key, key)
}

// readListed parses a tenant in a list: the name of a workload, or keys and values with that.
func (r *mixReader) readListed(m *Mix, owner string, item *yaml.Node) {
	t := Tenant{Count: 1}
	node := item
	var has policy
	switch {
	case item.Kind == yaml.MappingNode:
		node, has = r.tenant(&t, "a tenant of "+owner, item, true)
		if node == nil {
			r.Problem(item, fmt.Sprintf("a tenant of %s has no workload", owner), "write {workload: randread, count: 4}")
			return
		}
	case item.Kind == yaml.ScalarNode && item.Tag == "!!str":
		t.Workload = item.Value
	default:
		r.Problem(item, fmt.Sprintf("a tenant of %s is %s, but needs to be a workload", owner, describe(item)),
			"write [randread, {workload: randwrite, count: 4}]")
		return
	}
	if t.Name == "" {
		t.Name = t.Workload
	}
	r.add(m, owner, t, has, item, node)
}

// tenant reads the keys of a tenant, and returns the node of its workload; nil if it names none.
func (r *mixReader) tenant(t *Tenant, subject string, n *yaml.Node, listed bool) (node *yaml.Node, has policy) {
	fields := map[string]func(*yaml.Node){
		"workload": func(n *yaml.Node) { t.Workload, node = r.text(n, "workload of "+subject), n },
		"count":    func(n *yaml.Node) { t.Count = r.count(n, subject) },
		"on":       func(n *yaml.Node) { t.On = r.on(n, subject) },
		"limits":   func(n *yaml.Node) { t.Limits = r.tenantLimits(n, subject) },
		"policy":   func(n *yaml.Node) { has.node, has.parts, t.Policy = n, r.policy(n, subject), n.Value },
		"share":    func(n *yaml.Node) { has.share, _ = field.Value(&r.Reader, n, "share of "+subject, aShare) },
	}
	if listed {
		fields["name"] = func(n *yaml.Node) { t.Name = r.text(n, "name of "+subject) }
	}
	r.Mapping(n, subject, fields)
	r.checkPolicy(n, subject, has)
	return node, has
}

// add puts a tenant into a mix. node names its workload.
func (r *mixReader) add(m *Mix, owner string, t Tenant, has policy, name, node *yaml.Node) {
	r.checkName(&yaml.Node{Line: name.Line, Value: t.Name}, "the name of a tenant")
	if slices.ContainsFunc(m.Tenants, func(other Tenant) bool { return other.Name == t.Name }) {
		r.Problem(name, fmt.Sprintf("%s has two tenants called %s", owner, t.Name),
			"give each a name of its own: write NAME: {workload: "+t.Workload+", count: 1}")
	}
	r.used[t.Workload] = true
	if r.complete && t.Workload != "" && !slices.Contains(r.loads, t.Workload) {
		r.Problem(node, fmt.Sprintf("%s: there is no workload %q", owner, t.Workload),
			suggest.DidYouMean(t.Workload, r.loads))
	}
	t.Share = has.share
	m.Tenants, r.policies = append(m.Tenants, t), append(r.policies, has)
}

func (r *mixReader) count(n *yaml.Node, who string) int {
	count, _ := field.Value(&r.Reader, n, "count of "+who, field.Count(0, MaxInstances))
	return count
}

// on reads the stacks that instances are dealt to: one, or a list.
func (r *mixReader) on(n *yaml.Node, subject string) []string {
	items := []*yaml.Node{n}
	if n.Kind == yaml.SequenceNode {
		items = n.Content
	}
	if len(items) == 0 {
		r.Problem(n, fmt.Sprintf("on of %s names no stack", subject),
			"name one, or remove it: a mix that names none meets every stack")
	}
	var names []string
	for _, item := range items {
		name := r.text(item, "on of "+subject)
		switch {
		case name == "":
		case slices.Contains(names, name):
			r.Problem(item, fmt.Sprintf("on of %s names stack %s twice", subject, name),
				"keep one of them: instances are dealt to all stacks")
		case r.complete && !slices.Contains(r.stacks, name):
			r.Problem(item, fmt.Sprintf("%s: there is no stack %q", subject, name), suggest.DidYouMean(name, r.stacks))
		}
		names = append(names, name)
	}
	return names
}

// checkTenants compares the tenants of a mix with each other and with the host.
func (r *mixReader) checkTenants(n *yaml.Node, subject string, m Mix) {
	var placed, unplaced []string
	for _, t := range m.Tenants {
		if len(t.On) > 0 {
			placed = append(placed, t.Name)
		} else {
			unplaced = append(unplaced, t.Name)
		}
		if m.Host == nil {
			continue
		}
		cpu, ok := Outside(t.Limits.CPUSet, m.Host.CPUSet)
		if ok {
			r.Problem(n, fmt.Sprintf("tenant %s of %s may run on processor %d, which the host has not: its cpuset is "+
				"%s", t.Name, subject, cpu, m.Host.CPUSet),
				"take processors of the host")
		}
	}
	if len(placed) > 0 && len(unplaced) > 0 {
		r.Problem(n,
			fmt.Sprintf("%s says on: which stacks %s %s, and not so for %s", subject, plural.And(placed),
				plural.Choose(len(placed), "stands", "stand"), plural.And(unplaced)),
			"give all of its tenants on:, or none, so that the mix meets every stack")
	}
}

// inherit sets the levels of a mix on which all its workloads and the stacks that it names agree.
func (r *mixReader) inherit(m *Mix) {
	var assignments []map[string]string
	for _, w := range r.known.workloadsOf(*m) {
		assignments = append(assignments, w.Levels)
	}
	if on := m.On(); len(on) > 0 {
		for _, s := range r.e.Stacks {
			if slices.Contains(on, s.Name) {
				assignments = append(assignments, s.Levels)
			}
		}
	}
	agreed := map[string]string{}
	for _, levels := range assignments {
		for factor, level := range levels {
			other, has := agreed[factor]
			if has && other != level && !slices.Contains(m.varied, factor) {
				m.varied = append(m.varied, factor)
			}
			agreed[factor] = level
		}
	}
	for _, factor := range m.varied {
		delete(agreed, factor)
	}
	maps.Copy(agreed, m.Levels)
	m.varied = slices.DeleteFunc(m.varied, func(factor string) bool { return m.Levels[factor] != "" })
	if len(agreed) > 0 {
		m.Levels = agreed
	}
}

// checkUsed notes workloads and stacks that no mix uses: they would not run.
func (r *mixReader) checkUsed(workloads []*declared) {
	for _, d := range workloads {
		var unused []string
		count := 0
		for _, c := range choices(d.factors, false) {
			name := d.name(c)
			count++
			if !r.used[name] {
				unused = append(unused, name)
			}
		}
		name := plural.And(unused)
		switch {
		case len(unused) == 0:
			continue
		case len(unused) == count || len(unused) > 3:
			name = d.key.Value
		}
		r.Problem(d.key, fmt.Sprintf("no mix uses workload %s: with mixes, only they run", name),
			fmt.Sprintf("add a mix, %s: {%[1]s: 1}, or remove the workload", unused[0]))
	}
	crossed := slices.ContainsFunc(r.e.Mixes, Mix.Crossed)
	for _, m := range r.e.Mixes {
		if m.Crossed() && len(r.e.Stacks) > 0 &&
			!slices.ContainsFunc(r.e.Stacks, func(s Stack) bool { return Compatible(s, m) }) {
			r.Problem(r.nodes[m.Name], fmt.Sprintf("mix %s meets no stack: each depends on a factor that has another "+
				"level here", m.Name), "")
		}
	}
	if crossed {
		return
	}
	named := map[string]bool{}
	for _, m := range r.e.Mixes {
		for _, stack := range m.On() {
			named[stack] = true
		}
	}
	for i, s := range r.e.Stacks {
		if !named[s.Name] {
			r.Problem(r.stackNodes[i], fmt.Sprintf("no mix is on stack %s, and none meets all stacks", s.Name),
				"name it in on: of a tenant, or remove it")
		}
	}
	if r.baseline != nil {
		r.Problem(r.baseline, "a baseline is a stack that others are compared with, and every mix names its own "+
			"stacks", "remove it")
	}
}

// checkPlaces notes where a stack cannot hold the instances of a mix.
func (r *mixReader) checkPlaces() {
	for _, m := range r.e.Mixes {
		first, second, device, shared := r.e.sharedDevice(m)
		if shared {
			r.Problem(r.nodes[m.Name], fmt.Sprintf("stacks %s and %s of mix %s are both on %s, and a device has one "+
				"at a time", first, second, m.Name, device),
				"put both tenants on the same stack, or one on another device")
		}
	}
	met := r.met()
	for _, s := range r.e.Stacks {
		if !s.Raw {
			continue
		}
		for _, m := range met(s) {
			instances := 0
			for _, i := range m.Instances(s.Name) {
				if i.Stack == s.Name {
					instances++
				}
			}
			if instances > 1 {
				r.Problem(r.nodes[m.Name], fmt.Sprintf("mix %s has %d instances on stack %s, a raw device, and there "+
					"is one place on that", m.Name, instances, s.Name),
					"put a file system on the stack, or keep the mix off it: name other stacks with on:")
			}
		}
	}
}

// met returns a function that returns the mixes that a stack meets.
func (p *parser) met() func(Stack) []Mix {
	named := map[string][]Mix{}
	for _, m := range p.e.Mixes {
		for _, stack := range m.On() {
			named[stack] = append(named[stack], m)
		}
	}
	return func(s Stack) []Mix {
		var out []Mix
		for i := range p.e.Mixes {
			if compatible(&s, &p.e.Mixes[i]) {
				out = append(out, p.e.Mixes[i])
			}
		}
		return append(out, named[s.Name]...)
	}
}

// checkSpace compares what mixes need with sources of a declared size.
func (p *parser) checkSpace() {
	met, workloads := p.met(), p.e.workloads()
	for i, s := range p.e.Stacks {
		room, ok := p.roomOf(s)
		if !ok {
			continue
		}
		mixes := met(s)
		total := workloads.need(s, mixes)
		short := func(contents string, need int64) {
			p.tooSmall(p.stackNodes[i], s, room, contents, need, total)
		}
		alone := false
		for _, m := range mixes {
			contents := "mix " + m.Name
			if m.Single() {
				contents = "workload " + m.Tenants[0].Workload
			}
			need := workloads.need(s, []Mix{m})
			if need > room.usable {
				alone = true
				short(contents, need)
			}
		}
		contents := "all workloads, since their files are there together"
		if p.mixNode != nil {
			contents = "all mixes, since their files are there together"
		}
		if total > room.usable && !alone {
			short(contents, total)
		}
	}
}

// checkMemory compares the memory of instances, and of the host, with the least that their servers need.
func (p *parser) checkMemory() {
	workloads := p.e.workloads()
	refused := map[string]bool{}
	refuse := func(subject string, has, least int64) {
		problem := fmt.Sprintf("%s has %s of memory, less than the %s that its servers take at least", subject,
			units.FormatSize(has), units.FormatSize(least))
		if !refused[problem] {
			p.Problem(cmp.Or(p.mixNode, p.hostNode, p.workloadNode), problem,
				fmt.Sprintf("give it %s or more, or its servers smaller heaps or buffers, or fewer clients",
					units.FormatSize(least)))
		}
		refused[problem] = true
	}
	for _, m := range p.e.Mixes {
		for _, t := range m.Tenants {
			least := workloads.serverMemory(t)
			if has := t.Limits.MemoryBytes; has > 0 && has < least {
				refuse(fmt.Sprintf("an instance of %s in mix %s", t.Name, m.Name), has, least)
			}
		}
		need := workloads.memoryOf(m)
		if m.Host != nil && m.Host.MemoryBytes > 0 && m.Host.MemoryBytes < need {
			refuse("the host of mix "+m.Name, m.Host.MemoryBytes, need)
		}
	}
}

// checkMakers refuses instances that run together and make the same schema of an external server: each would drop what
// another one made.
func (p *parser) checkMakers(n *yaml.Node, instances []Instance, workloads byName) {
	made := map[string]bool{}
	for _, instance := range instances {
		w, ok := workloads[instance.Workload]
		if !ok {
			continue
		}
		external := w.Abilities().Elsewhere
		if external == nil || external.Makes == "" {
			continue
		}
		key := external.Server + " " + external.Makes
		if made[key] {
			p.Problem(n, fmt.Sprintf("several instances that run together would make %s, each in the place of another's",
				external.Makes), "give each workload a schema of its own, and one instance")
			return
		}
		made[key] = true
	}
}

// checkTargets checks each workload against each raw stack, and each stack without containers, that it runs on: one
// that names files, or whose server runs from an image, cannot run there.
func (p *parser) checkTargets() {
	met, workloads := p.met(), p.e.workloads()
	for i, s := range p.e.Stacks {
		target := workload.Target{Path: "/data", Elsewhere: !s.Contained && s.Line.Nodes[0].Name == line.Elsewhere}
		switch {
		case s.Raw:
			target = workload.Target{Path: "/dev/device", Block: true} // any will do; its size is known on the host
		case s.Contained:
			target.Container = true
		}
		asked := map[string]bool{}
		for _, m := range met(s) {
			p.checkMakers(p.stackNodes[i], m.Instances(s.Name), workloads)
			for _, instance := range m.Instances(s.Name) {
				w, ok := workloads[instance.Workload]
				if !ok || instance.Stack != s.Name || asked[w.Name] || s.Contained && w.Abilities().Elsewhere == nil {
					continue
				}
				asked[w.Name] = true
				p.checkTarget(p.stackNodes[i], s, w, target)
			}
		}
	}
}
