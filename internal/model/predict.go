package model

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/gonum/stat"

	"plimsoll/internal/plural"
	"plimsoll/internal/result"
	"plimsoll/internal/stats"
	"plimsoll/internal/units"
)

// Tenant is some instances of a class that are asked about.
type Tenant struct {
	Class string
	Count int
	Drive string        // of the host's, on which they stand; "" for the first that it has
	Own   result.Limits // of each

	Clients int     // of each; 0 for as many as were measured
	Think   float64 // s; below 0 for as long as was measured
}

// Ask is a question to a model: what tenants would do together on a host.
type Ask struct {
	Tenants []Tenant
	Host    Host
	Drives  []HostDrive // of the host
}

// Kind returns the host that is asked about, with its drives.
func (a Ask) Kind() HostKind { return HostKind{a.Host, a.Drives} }

// Answer is what tenants would do together.
type Answer struct {
	Rate    Estimate       `json:"rate"` // operations per second, of all
	Tenants []TenantAnswer `json:"tenants"`

	Binds     Resource `json:"binds"`                // more of which would let them do most more
	BindsName string   `json:"binds_name,omitempty"` // of a drive or target
	Worth     []Worth  `json:"worth"`                // of each resource, most first
	Used      []Use    `json:"used"`                 // of what is limited
	Unknown   []string `json:"unknown,omitempty"`    // what plays no part in it, since points do not tell
	Outside   []string `json:"outside,omitempty"`    // why it lies outside of what was measured: extrapolated
	Memories  []Number `json:"memories,omitempty"`   // of an instance of each tenant, bytes
}

// TenantAnswer is what the instances of a tenant would do.
type TenantAnswer struct {
	Class string   `json:"class"`
	Count int      `json:"count"`
	Rate  Estimate `json:"rate"` // operations per second, of all its instances
	Mean  Estimate `json:"mean"` // latency, s
	P99   Estimate `json:"p99"`  // s
}

// Worth is by how many percent all would do more for one percent more of a resource.
type Worth struct {
	Resource Resource `json:"resource"`
	Name     string   `json:"name,omitempty"` // of a drive or target
	Power    Estimate `json:"power"`
}

// Use is which share of a resource is used.
type Use struct {
	Resource Resource `json:"resource"`
	Name     string   `json:"name,omitempty"` // of a drive or target
	Share    Number   `json:"share"`
}

// Predict answers a question. The error says what the model knows nothing of, and which
// run would teach it.
func (m *Model) Predict(ask Ask) (*Answer, error) {
	if len(ask.Tenants) == 0 {
		return nil, errors.New("nothing is asked about: name classes and how many of each, such as C: 4")
	}
	var problems []error
	classes := make([]*Fitted, len(ask.Tenants))
	for i := range ask.Tenants {
		t := &ask.Tenants[i]
		var err error
		if classes[i], err = m.Find(t.Class); err != nil {
			problems = append(problems, err)
			continue
		}
		if t.Count < 1 {
			problems = append(problems, fmt.Errorf("%s: %d instances: it takes at least one", t.Class, t.Count))
			continue
		}
		if t.Clients == 0 {
			t.Clients = classes[i].Points[0].Clients
		}
		if t.Think < 0 {
			t.Think = classes[i].Points[0].Think
		}
		if t.Drive != "" && ask.Kind().driveAt(t.Drive) < 0 {
			problems = append(problems, fmt.Errorf("%s: the host has no drive %q", t.Class, t.Drive))
		}
	}
	if len(problems) > 0 {
		return nil, errors.Join(problems...)
	}
	q := m.newQuestion(ask, classes)
	if why := q.overfull(); why != "" {
		return nil, errors.New(why)
	}
	best := q.outcome(func(f *Fitted) *Params { return &f.Params }, ask.Kind())
	a := &Answer{Used: best.uses()}
	for _, memory := range best.memories {
		a.Memories = append(a.Memories, Number(memory))
	}
	for i, f := range classes {
		if why := f.unknown(best.in[i]); why != "" {
			problems = append(problems, errors.New(why))
		}
	}
	if len(problems) > 0 {
		return nil, errors.Join(problems...)
	}
	for _, f := range classes {
		if f.Params.Inferred && ask.Host.Read != f.Measured().Read {
			a.Unknown = append(a.Unknown, fmt.Sprintf("how often %s reads the device, which no point says: other reads a "+
				"second change nothing here. Points with a column `reads`, or a `plimsoll run` of it, would tell", f.Name))
		}
	}
	for i, f := range classes {
		if why := q.unlikeDrive(i, f); why != "" {
			a.Unknown = append(a.Unknown, why)
		}
	}
	off, points := 0.0, math.MaxInt
	for i, f := range classes {
		far := distance(f.all(), &f.Params, best.in[i])
		e := f.Check.Between
		if far > 0 {
			e = f.Check.Beyond
			// Twice as far is twice as uncertain.
			e.Off *= Number(1 + far/math.Ln2)
			a.Outside = append(a.Outside, f.outside(best.in[i]))
		}
		off, points = max(off, float64(e.Off)), min(points, max(2, e.Points))
	}
	if len(classes) > 1 {
		// They may disturb each other in ways that none of them shows alone.
		together, seen := m.together(ask.Tenants)
		if seen == 0 {
			a.Unknown = append(a.Unknown, notTogether(ask.Tenants))
		}
		off, points = math.Hypot(off, together), min(points, max(2, seen))
	}
	var drawn []outcome
	for d := range draws {
		drawn = append(drawn, q.outcome(func(f *Fitted) *Params { return f.draw(d) }, ask.Kind()))
	}
	estimate := func(of func(outcome) float64, more float64) Estimate {
		var logs []float64
		for _, o := range drawn {
			logs = append(logs, math.Log(of(o)))
		}
		return around(of(best), stat.StdDev(logs, nil), math.Hypot(off, more), points)
	}
	a.Rate = estimate(outcome.total, 0)
	for i, f := range classes {
		t := TenantAnswer{Class: ask.Tenants[i].Class, Count: ask.Tenants[i].Count}
		t.Rate = estimate(func(o outcome) float64 { return o.rates[i] }, 0)
		t.Mean = latencyOf(t.Rate, best.in[i])
		t.P99 = f.tail(t.Mean)
		a.Tenants = append(a.Tenants, t)
	}
	a.Worth = q.worth()
	a.Binds, a.BindsName = bindingOf(a)
	return a, nil
}

// unlikeDrive says what nobody knows of a class on the drive that it is asked about; "" for nothing.
func (q question) unlikeDrive(i int, f *Fitted) string {
	if q.drives[i] < 0 {
		return ""
	}
	d, stood := &q.ask.Drives[q.drives[i]], q.stood[i]
	switch {
	case stood == nil && d.Is.Read.Latency > 0 && f.Params.Reads.At(0)+float64(f.Params.Reads.Scale) > readsLeast:
		return fmt.Sprintf("on which drive %s was measured: how long a read takes on %s changes nothing here. A `plimsoll run "+
			"devices` on the same device, fitted together with it, would tell", f.Name, d.Name)
	case stood != nil && f.Params.Writes.At1 > fewWrites && d.Is.Write.Latency > 0 && stood.Write.Latency > 0 &&
		math.Abs(math.Log(float64(d.Is.Write.Latency/stood.Write.Latency))) > math.Log(1.25):
		return fmt.Sprintf("how long %s waits for a write, which no point says: that one takes %s on %s, and %s where it "+
			"was measured, changes nothing here", f.Name, units.Latency(1e9*float64(d.Is.Write.Latency)), d.Name,
			units.Latency(1e9*float64(stood.Write.Latency)))
	}
	return ""
}

// together is how far off, as a logarithm, what is said of these classes beside each other was where
// that was measured, and of how many of them; NaN where it never was.
func (m *Model) together(tenants []Tenant) (off float64, seen int) {
	squares := 0.0
	for _, b := range m.Beside {
		same := len(b.Tenants) == len(tenants)
		for _, t := range tenants {
			same = same && slices.ContainsFunc(b.Tenants, func(o BesideTenant) bool { return o.Class == t.Class })
		}
		if !same {
			continue
		}
		for _, o := range b.Tenants {
			d := math.Log(float64(o.Said / o.Seen))
			squares, seen = squares+d*d, seen+1
		}
	}
	return math.Sqrt(squares / float64(seen)), seen
}

// notTogether says what nobody knows of tenants beside each other, and which run would tell.
func notTogether(tenants []Tenant) string {
	var names, mix []string
	for _, t := range tenants {
		names = append(names, t.Class)
		workload, _, _ := strings.Cut(t.Class, "@")
		mix = append(mix, fmt.Sprintf("%s: %d", workload, t.Count))
	}
	return fmt.Sprintf("how far %s disturb each other, and so the intervals: no run has them beside each other. "+
		"This one would tell: `mixes: {beside: {%s}}`, fitted together with those of each alone", plural.And(names),
		strings.Join(mix, ", "))
}

// draw is a fit to bring-ups drawn anew.
func (f *Fitted) draw(i int) *Params {
	if len(f.Drawn) == 0 {
		return &f.Params
	}
	return &f.Drawn[i%len(f.Drawn)]
}

// question is an ask with the classes that it is about.
type question struct {
	ask     Ask
	classes []*Fitted

	fixed, held []float64 // memory of an instance of each class: that no shortage takes, and at most
	drives      []int     // on which each tenant stands; -1 for none
	stood       []*Drive  // on which each class was measured; nil where nobody knows
}

func (m *Model) newQuestion(ask Ask, classes []*Fitted) question {
	q := question{ask: ask, classes: classes}
	for i, f := range classes {
		holds := f.memory()
		q.fixed, q.held = append(q.fixed, holds.fixed), append(q.held, holds.most)
		q.drives = append(q.drives, ask.Kind().driveAt(ask.Tenants[i].Drive))
		q.stood = append(q.stood, m.stood(f))
	}
	return q
}

// stood returns the drive that a class was measured on; nil where nobody knows.
func (m *Model) stood(f *Fitted) *Drive {
	for i := range m.Drives {
		if m.Drives[i].Name == f.Drive {
			return &m.Drives[i]
		}
	}
	return nil
}

// overfull says why instances cannot run in the host's memory at all; "" where they can.
func (q question) overfull() string {
	sum := 0.0
	for i, t := range q.ask.Tenants {
		sum += q.fixed[i] * float64(t.Count)
		if own := t.Own.MemoryBytes; own > 0 && q.fixed[i] > float64(own) {
			return fmt.Sprintf("an instance of %s holds %s that no shortage takes from it (heap, buffers, connections), and "+
				"may hold %s: raise its limit", t.Class, units.Bytes(uint64(q.fixed[i])), units.Bytes(uint64(own)))
		}
	}
	if all := q.ask.Host.MemoryBytes; all > 0 && sum > float64(all) {
		return overfull(sum, float64(all))
	}
	return ""
}

func overfull(floors, memory float64) string {
	return fmt.Sprintf("they hold %s that no shortage takes from them (heaps, buffers, connections), and the host has "+
		"%s: ask about fewer, or about more memory", units.Bytes(uint64(floors)), units.Bytes(uint64(memory)))
}

// all are the points of a class: alone, and beside others.
func (f *Fitted) all() []Point { return slices.Concat(f.Points, f.Mixed) }

// holding is what the points of a class say of the memory of an instance.
type holding struct {
	fixed, most float64 // that no shortage takes from it, and at most
	least       float64 // the least that it was seen to do with
}

// memory returns what an instance holds.
func (f *Fitted) memory() holding {
	if f.holds != nil {
		return *f.holds
	}
	h := holding{fixed: fixed(f.Points), most: cmp.Or(need(f.Points), leastMemory(f.Points)), least: leastMemory(f.Points)}
	if held := need(f.Points); held > 0 {
		h.least = min(h.least, held)
	}
	return h
}

// outcome is what a question comes to with certain parameters.
type outcome struct {
	in       []instances
	rates    []float64
	used     []float64 // of each station
	stations []station
	memories []float64
}

func (o outcome) total() (sum float64) {
	for _, r := range o.rates {
		sum += r
	}
	return sum
}

// uses are the shares that are used of what is limited, most first.
func (o outcome) uses() (all []Use) {
	for s, u := range o.used {
		if u == 0 {
			continue
		}
		use := Use{o.stations[s].of, o.stations[s].name, Number(u)}
		i := slices.IndexFunc(all, func(v Use) bool { return v.Resource == use.Resource && v.Name == use.Name })
		if i < 0 {
			all = append(all, use)
			continue
		}
		all[i].Share = max(all[i].Share, use.Share)
	}
	slices.SortStableFunc(all, func(a, b Use) int { return cmp.Compare(b.Share, a.Share) })
	return all
}

// outcome solves the question on a host, with those parameters of each class.
func (q question) outcome(params func(*Fitted) *Params, kind HostKind) outcome {
	o := outcome{in: make([]instances, len(q.classes)), rates: make([]float64, len(q.classes))}
	for i, t := range q.ask.Tenants {
		o.in[i] = instances{params: params(q.classes[i]), host: &kind, drive: q.drives[i], stood: q.stood[i], own: t.Own,
			count: float64(t.Count), clients: float64(t.Clients), think: t.Think, fixed: q.fixed[i], held: q.held[i]}
		o.rates[i] = 1
	}
	o.settle([]HostKind{kind})
	return o
}

// settle finds what instances on some hosts do. How the caches on a host share its memory depends on what
// each of them does, and that on what is cached: a few rounds settle it, each of which goes on in the
// direction that the last two point in (Anderson, Iterative procedures for nonlinear integral equations, J. ACM
// 12, 1965).
func (o *outcome) settle(hosts []HostKind) {
	k := len(o.in)
	logs := make([]float64, 4*k)
	found, moved, foundBefore, movedBefore := logs[:k], logs[k:2*k], logs[2*k:3*k], logs[3*k:]
	o.memories = make([]float64, k)
	for round := range sharings {
		shareAll(hosts, o.in, o.rates, o.memories)
		change, along, square := 0.0, 0.0, 0.0
		for i := range o.in {
			found[i] = math.Log(max(o.memories[i], 1))
			moved[i] = found[i] - math.Log(max(o.in[i].memory, 1))
			change = max(change, math.Abs(moved[i]))
			d := moved[i] - movedBefore[i]
			along, square = along+moved[i]*d, square+d*d
		}
		if round > 0 && change < alikeMemory {
			break
		}
		ahead := 0.0
		if round > 1 && square > 0 {
			ahead = max(-mostAhead, min(along/square, mostAhead))
		}
		for i := range o.in {
			o.in[i].memory = o.memories[i]
			if ahead != 0 {
				o.in[i].memory = math.Exp(found[i] - ahead*(found[i]-foundBefore[i]))
			}
		}
		copy(foundBefore, found)
		copy(movedBefore, moved)
		n := networkOf(o.in, len(hosts))
		o.rates, o.used = solveFrom(n.flows, len(n.stations), o.rates)
		o.stations = n.stations
	}
}

// How often memory is shared out anew, what is no difference, and how far beyond what was found it goes.
const (
	sharings    = 40
	alikeMemory = 1e-6
	mostAhead   = 8
)

// shareAll shares the memory of each host among its instances.
func shareAll(hosts []HostKind, in []instances, rates, memories []float64) {
	if len(hosts) == 1 {
		copy(memories, share(hosts[0].Host.MemoryBytes, in, rates))
		return
	}
	for h := range hosts {
		var some []instances
		var at []float64
		for i := range in {
			if in[i].at == h {
				some, at = append(some, in[i]), append(at, rates[i])
			}
		}
		shared := share(hosts[h].Host.MemoryBytes, some, at)
		next := 0
		for i := range in {
			if in[i].at == h {
				memories[i] = shared[next]
				next++
			}
		}
	}
}

// share returns how much memory each instance of each tenant has. What no shortage takes from an
// instance is its own; of the rest, all keep what they used within the same time, as a cache does
// that forgets what was used longest ago (Che, Tung and Wang, Hierarchical Web Caching Systems,
// 2002). Of a tenant that was never short of memory nobody knows how often it uses what it holds:
// it loses as large a part as the others do on average. What is wanted by nobody is left over.
func share(all int64, tenants []instances, rates []float64) []float64 {
	memories := make([]float64, len(tenants))
	if len(tenants) == 1 || all == 0 {
		for i, in := range tenants {
			memories[i] = memoryOf(in.host.Host, in.own, in.count)
		}
		return memories
	}
	fixed, cache := make([]float64, len(tenants)), make([]float64, len(tenants)) // of an instance, at most
	// How often a second its cache is read; NaN where nobody knows.
	turns := make([]float64, len(tenants))
	wanted, known, sum := 0.0, 0, 0.0
	for i, in := range tenants {
		wants := in.wants()
		fixed[i] = min(in.fixed, wants)
		cache[i] = wants - fixed[i]
		memories[i] = wants
		wanted += wants * in.count
		touched := in.params.Reads.At(max(fixed[i], 1)) * float64(in.params.ReadBytes) * rates[i] / in.count
		turns[i] = math.NaN()
		if touched > 0 && cache[i] > 0 {
			turns[i] = touched / cache[i]
			known, sum = known+1, sum+turns[i]
		}
	}
	if wanted <= float64(all) {
		return memories
	}
	for i := range turns {
		if math.IsNaN(turns[i]) {
			turns[i] = 1
			if known > 0 {
				turns[i] = sum / float64(known)
			}
		}
	}
	held := func(seconds float64) (sum float64) {
		for i, in := range tenants {
			memories[i] = fixed[i] - cache[i]*math.Expm1(-turns[i]*seconds)
			sum += memories[i] * in.count
		}
		return sum
	}
	low, high := 0.0, 1.0
	for held(high) < float64(all) && high < 1e12 {
		high *= 2
	}
	for range halved {
		if middle := (low + high) / 2; held(middle) < float64(all) {
			low = middle
		} else {
			high = middle
		}
	}
	held(high)
	return memories
}

// wants is the memory that an instance holds where nobody else wants it: that in which all fits
// that it reads again, or, where it was never short of memory, the most that it was seen to hold.
func (in instances) wants() float64 {
	wants := float64(in.params.Reads.Fits)
	if wants == 0 {
		wants = in.held
	}
	wants = max(wants, in.fixed)
	if own := float64(in.own.MemoryBytes); own > 0 {
		wants = min(wants, own)
	}
	return wants
}

// latencyOf is the mean latency that clients see at a rate, by Little's law.
func latencyOf(rate Estimate, in instances) Estimate {
	at := func(r Number) Number { return Number(max(0, in.clients*in.count/float64(r)-in.think)) }
	return Estimate{at(rate.Value), at(rate.High), at(rate.Low)}
}

// tail is the 99th percentile of latency, for a mean.
func (f *Fitted) tail(mean Estimate) Estimate {
	wide := math.Exp(stats.StudentQuantile((1+confidence)/2, max(2, len(f.Points)-1)) * f.Params.Tail.off())
	at := func(m Number, by float64) Number {
		if m <= 0 {
			return 0
		}
		return Number(float64(m) * f.Params.Tail.At(float64(m)) * by)
	}
	e := Estimate{at(mean.Value, 1), at(mean.Low, 1/wide), at(mean.High, wide)}
	// What is less of the mean is not always less of the tail.
	e.Low, e.High = min(e.Low, e.Value/Number(wide)), max(e.High, e.Value*Number(wide))
	return e
}

// unknown says what the model cannot know of instances; "" for nothing.
func (f *Fitted) unknown(in instances) string {
	p := &f.Params
	least, calm := f.memory().least, true
	for i := range f.Points {
		calm = calm && p.Reads.At(f.Points[i].Memory()) <= readsLeast
	}
	if p.Reads.Fits == 0 && calm && in.memory > 0 && in.memory < 0.98*least {
		return fmt.Sprintf("nobody knows what %s does with %s of memory each: with %s or more, all of its files "+
			"stayed in memory. Measure it where they do not: `plimsoll run` with a host of memory: %s and as many "+
			"instances as there are", f.Name, units.Bytes(uint64(in.memory)), units.Bytes(uint64(least)),
			units.Bytes(uint64(in.memory*in.count)))
	}
	return ""
}

// outside says in what way instances lie outside of what was measured.
func (f *Fitted) outside(in instances) string {
	var ways []string
	most, least, fewest := 0, math.Inf(1), math.MaxInt
	for _, of := range f.all() {
		most, fewest, least = max(most, of.Instances), min(fewest, of.Instances), min(least, of.Memory())
	}
	if n := int(in.count); n > most || n < fewest {
		ways = append(ways, fmt.Sprintf("%d to %d instances were measured", fewest, most))
	}
	if in.memory > 0 && in.memory < 0.98*least {
		ways = append(ways, fmt.Sprintf("an instance never had less than %s of memory", units.Bytes(uint64(least))))
	}
	if len(ways) == 0 {
		ways = append(ways, "what binds it here never bound it when it was measured")
	}
	return f.Name + ": " + strings.Join(ways, ", and ")
}

// resource is what a host can be given more of, and how.
type resource struct {
	of   Resource
	name string
	more func(*HostKind, float64)
}

var resources = []resource{
	{Processors, "", func(h *HostKind, by float64) { h.Host.CPUs *= by }},
	{Machine, "", func(h *HostKind, by float64) { h.Host.Machine *= by }},
	{Memory, "", func(h *HostKind, by float64) { h.Host.MemoryBytes = int64(float64(h.Host.MemoryBytes) * by) }},
	{Reads, "", func(h *HostKind, by float64) {
		h.Host.Read.OperationsPerSecond = int64(float64(h.Host.Read.OperationsPerSecond) * by)
	}},
	{Writings, "", func(h *HostKind, by float64) {
		h.Host.Write.OperationsPerSecond = int64(float64(h.Host.Write.OperationsPerSecond) * by)
	}},
	{ReadBytes, "", func(h *HostKind, by float64) {
		h.Host.Read.BytesPerSecond = int64(float64(h.Host.Read.BytesPerSecond) * by)
	}},
	{WriteBytes, "", func(h *HostKind, by float64) {
		h.Host.Write.BytesPerSecond = int64(float64(h.Host.Write.BytesPerSecond) * by)
	}},
}

// resourcesOf are the resources of a host: also the drives that tenants stand on, by number, and what these are
// reached over.
func resourcesOf(h HostKind, drives []int) []resource {
	all := slices.Clip(resources)
	add := func(of Resource, name string, more func(*HostKind, float64)) {
		if !slices.ContainsFunc(all, func(r resource) bool { return r.of == of && r.name == name }) {
			all = append(all, resource{of, name, more})
		}
	}
	for _, i := range drives {
		if i < 0 {
			continue
		}
		add(Drives, h.Drives[i].Name, func(h *HostKind, by float64) {
			h.Drives = slices.Clone(h.Drives)
			is := &h.Drives[i].Is
			for _, n := range []*Number{&is.Read.IOPS, &is.Read.Bandwidth, &is.Write.IOPS, &is.Write.Bandwidth} {
				*n *= Number(by)
			}
		})
		t := h.Drives[i].Target
		if t == nil {
			continue
		}
		change := func(h *HostKind, change func(*Target)) {
			changed := *t
			change(&changed)
			h.Drives = slices.Clone(h.Drives)
			for j := range h.Drives {
				if h.Drives[j].Target == t {
					h.Drives[j].Target = &changed
				}
			}
		}
		add(Network, "", func(h *HostKind, by float64) { h.Host.NIC *= by })
		add(TargetCPUs, t.Name, func(h *HostKind, by float64) { change(h, func(t *Target) { t.CPUs *= by }) })
		add(TargetNet, t.Name, func(h *HostKind, by float64) { change(h, func(t *Target) { t.NIC *= by }) })
	}
	return all
}

// step is by how much a resource is made more and less, to see what it is worth.
const step = 1.1

// worth tells what one percent more of each resource would buy, most first.
func (q question) worth() (all []Worth) {
	for _, r := range resourcesOf(q.ask.Kind(), q.drives) {
		more, less := q.ask.Kind(), q.ask.Kind()
		r.more(&more, step)
		r.more(&less, 1/step)
		if more.Host == less.Host && r.name == "" {
			continue // it has no limit
		}
		power := func(params func(*Fitted) *Params) float64 {
			return math.Log(q.outcome(params, more).total()/q.outcome(params, less).total()) / (2 * math.Log(step))
		}
		var drawn []float64
		for d := range draws {
			drawn = append(drawn, power(func(f *Fitted) *Params { return f.draw(d) }))
		}
		slices.Sort(drawn)
		tail := (1 - confidence) / 2
		all = append(all, Worth{r.of, r.name, Estimate{Number(power(func(f *Fitted) *Params { return &f.Params })),
			Number(stat.Quantile(tail, stat.Empirical, drawn, nil)), Number(stat.Quantile(1-tail, stat.Empirical, drawn, nil))}})
	}
	slices.SortStableFunc(all, func(a, b Worth) int { return int(math.Copysign(1, float64(b.Power.Value-a.Power.Value))) })
	return all
}

// What it takes to bind: a percent more buys so many percent.
const binding = 0.25

// bindingOf names what binds: memory before the device, which only serves what does not
// fit; and clients where more of nothing would help.
func bindingOf(a *Answer) (of Resource, name string) {
	for _, w := range a.Worth {
		if w.Resource == Memory && w.Power.Value >= binding {
			return Memory, ""
		}
	}
	if len(a.Worth) > 0 && a.Worth[0].Power.Value >= binding {
		return a.Worth[0].Resource, a.Worth[0].Name
	}
	return Clients, ""
}
