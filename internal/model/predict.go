package model

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/gonum/stat"

	"plimsoll/internal/result"
	"plimsoll/internal/stats"
	"plimsoll/internal/units"
	"plimsoll/internal/units/plural"
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

// ask notes the clients of a class and their thinking, where the question names none.
func (t *Tenant) ask(f *Fitted) {
	clients, think := f.load()
	if t.Clients == 0 {
		t.Clients = clients
	}
	if t.Think < 0 {
		t.Think = think
	}
}

// Ask is a question to a model: what tenants would do together on a host.
type Ask struct {
	Tenants []Tenant
	Host    Host
	Drives  []HostDrive // of the host
}

// Kind returns the host that is asked about, with its drives.
func (a Ask) Kind() HostKind { return HostKind{a.Host, a.Drives} }

// Answer is the prediction for tenants on a host.
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

	Calibrated []Calibration `json:"calibrated,omitempty"` // what carried the model to this host

	Chosen  *Chosen   `json:"chosen,omitempty"`  // law whose answer the rate is; none for the network of queues
	Network *Estimate `json:"network,omitempty"` // what that says instead
}

// TenantAnswer is the prediction for the instances of a tenant.
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
		t.ask(classes[i])
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
	if !best.solved {
		return nil, errUnsolved
	}
	a := &Answer{Used: best.uses(), Calibrated: m.calibrations}
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
				"second change nothing here. Points with a column `reads`, or a `plimsoll run` of it, would show", f.Name))
		}
	}
	for i, f := range classes {
		if why := q.unlikeDrive(i, f); why != "" {
			a.Unknown = append(a.Unknown, why)
		}
	}
	off, points := 0.0, math.MaxInt
	var lawful Estimate
	for i, f := range classes {
		far := distance(f.all(), &f.Params, best.in[i])
		e := f.Check.Between
		if far > 0 {
			e = f.Check.Beyond
			// Twice as far is twice as uncertain.
			e.Off *= Number(1 + far/math.Ln2)
			why := f.outside(best.in[i])
			if !slices.Contains(a.Outside, why) { // tenants of one class have the same reason
				a.Outside = append(a.Outside, why)
			}
		}
		off, points = max(off, float64(e.Off)), min(points, max(2, e.Points))
		if len(classes) == 1 {
			var ok bool
			var why string
			if lawful, ok, why = f.lawful(best.in[i], ask.Host, far); ok {
				a.Chosen = f.Check.Chosen
			} else if why != "" {
				a.Unknown = append(a.Unknown, "what would be nearer: "+why)
			}
		}
	}
	if len(classes) > 1 {
		// They may disturb each other in ways that none of them shows alone.
		together, seen := m.together(ask.Tenants)
		if seen == 0 {
			a.Unknown = append(a.Unknown, notTogether(ask.Tenants))
		}
		off, points = math.Hypot(off, together), min(points, max(2, seen))
	}
	drawn := make([]outcome, draws)
	for d := range drawn {
		drawn[d] = q.outcome(func(f *Fitted) *Params { return f.draw(d) }, ask.Kind())
	}
	if slices.ContainsFunc(drawn, func(o outcome) bool { return !o.solved }) {
		a.Unknown = append(a.Unknown, "how wide the intervals are: with setups drawn anew, "+noSolution)
	}
	estimate := func(of func(outcome) float64, more float64) Estimate {
		var logs []float64
		for _, o := range drawn {
			logs = append(logs, math.Log(of(o)))
		}
		return around(of(best), stat.StdDev(logs, nil), math.Hypot(off, more), points)
	}
	a.Rate = estimate(outcome.total, 0)
	if a.Chosen != nil {
		said := a.Rate
		a.Network, a.Rate = &said, lawful
	}
	for i, f := range classes {
		t := TenantAnswer{Class: ask.Tenants[i].Class, Count: ask.Tenants[i].Count}
		t.Rate = a.Rate
		if len(classes) > 1 {
			t.Rate = estimate(func(o outcome) float64 { return o.rates[i] }, 0)
		}
		t.Mean = latencyOf(t.Rate, best.in[i])
		t.P99 = f.tail(t.Mean)
		a.Tenants = append(a.Tenants, t)
	}
	var unsolved []string
	a.Worth, unsolved = q.worth()
	if len(unsolved) > 0 {
		a.Unknown = append(a.Unknown, "what more or less of "+plural.And(unsolved)+" would do: "+noSolution)
	}
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
			"devices` on the same device, fitted together with it, would show", f.Name, d.Name)
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
		"This one would show: `mixes: {beside: {%s}}`, fitted together with those of each alone", plural.And(names),
		strings.Join(mix, ", "))
}

// draw is a fit to setups drawn anew.
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
			return fmt.Sprintf("an instance of %s needs %s for heap, buffers and connections, which is never reclaimed, and "+
				"may hold %s: raise its limit", t.Class, units.Bytes(uint64(q.fixed[i])), units.Bytes(uint64(own)))
		}
	}
	if all := q.ask.Host.MemoryBytes; all > 0 && sum > float64(all) {
		return overfull(sum, float64(all))
	}
	return ""
}

func overfull(floors, memory float64) string {
	return fmt.Sprintf("they need %s for heaps, buffers and connections, which is never reclaimed, and the host has "+
		"%s: ask about fewer, or about more memory", units.Bytes(uint64(floors)), units.Bytes(uint64(memory)))
}

// all are the points of a class: alone, and beside others.
func (f *Fitted) all() []Point { return slices.Concat(f.Points, f.Mixed) }

// holding is the memory of an instance, by the points of its class.
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

// noSolution says why equations have no solution.
const noSolution = "how instances share the host's memory and how fast they are depend on each other, and no rates " +
	"were found at which both agree"

// errUnsolved is the error of a question whose equations have no solution that was found.
var errUnsolved = errors.New("nobody knows what these instances do together: " + noSolution +
	". Ask about fewer instances, or about more memory")

// outcome is the answer to a question with certain parameters.
type outcome struct {
	in       []instances
	rates    []float64
	used     []float64 // of each station
	stations []station
	memories []float64
	solved   bool // the rates and memories agree with each other
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
	o := outcome{in: make([]instances, len(q.classes))}
	for i, t := range q.ask.Tenants {
		o.in[i] = instances{params: params(q.classes[i]), host: &kind, drive: q.drives[i], stood: q.stood[i], own: t.Own,
			count: float64(t.Count), clients: float64(t.Clients), think: t.Think, fixed: q.fixed[i], held: q.held[i]}
	}
	o.settle([]HostKind{kind})
	return o
}

// settle finds what instances on some hosts do. How the caches on a host share its memory depends on what
// each of them does, and that on what is cached: a few rounds settle it, each of which goes on in the
// direction that the last two point in (Anderson, Iterative procedures for nonlinear integral equations, J. ACM
// 12, 1965). Where memory is short these equations may have several solutions: a class is hot and served from
// memory, or cold and not. So that the answer depends on nothing but the question, the first round is of instances
// that all do as much. Where no solution is found, solved is false and the rates are NaN.
func (o *outcome) settle(hosts []HostKind) {
	k := len(o.in)
	logs := make([]float64, 4*k)
	found, moved, foundBefore, movedBefore := logs[:k], logs[k:2*k], logs[2*k:3*k], logs[3*k:]
	o.memories, o.rates, o.solved = make([]float64, k), make([]float64, k), false
	for i := range o.in {
		o.rates[i], o.in[i].memory = 1, 0
	}
	var n network
	var near []float64
	converged := false // of the network
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
			o.solved = converged
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
		n.lay(o.in, len(hosts))
		var rates []float64
		rates, o.used, converged = n.solve(near)
		copy(o.rates, rates)
		o.stations, near = n.stations, o.rates
	}
	for i := range o.rates {
		if !o.solved {
			o.rates[i] = math.NaN()
		}
	}
}

// How often memory is shared out anew, what is no difference, and how far beyond what was found it goes.
const (
	sharings    = 40
	alikeMemory = 1e-6
	alikeShare  = 1e-12
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
	k := len(tenants)
	memories := make([]float64, k)
	if k == 1 || all == 0 {
		for i := range tenants {
			memories[i] = memoryOf(tenants[i].host.Host, tenants[i].own, tenants[i].count)
		}
		return memories
	}
	wanted := 0.0
	for i := range tenants {
		memories[i] = tenants[i].wants()
		wanted += memories[i] * tenants[i].count
	}
	if wanted <= float64(all) {
		return memories
	}
	known, sum := 0, 0.0
	// Of an instance: what no shortage takes from it, its cache at most, and how often a second that is read, NaN where
	// nobody knows.
	numbers := make([]float64, 3*k)
	fixed, cache, turns := numbers[:k], numbers[k:2*k], numbers[2*k:]
	for i := range tenants {
		in := &tenants[i]
		fixed[i] = min(in.fixed, memories[i])
		cache[i] = memories[i] - fixed[i]
		touched := in.params.Reads.At(max(fixed[i], 1)) * float64(in.params.ReadBytes) * rates[i] / in.count
		turns[i] = math.NaN()
		if touched > 0 && cache[i] > 0 {
			turns[i] = touched / cache[i]
			known, sum = known+1, sum+turns[i]
		}
	}
	for i := range turns {
		if math.IsNaN(turns[i]) {
			turns[i] = 1
			if known > 0 {
				turns[i] = sum / float64(known)
			}
		}
	}
	// What is held grows ever more slowly with the time, so that Newton's steps come to it from below.
	seconds := 0.0
	for range rounds {
		missing, slope := float64(all), 0.0
		for i := range tenants {
			part := cache[i] * math.Exp(-turns[i]*seconds)
			memories[i] = fixed[i] + cache[i] - part
			missing -= memories[i] * tenants[i].count
			slope += turns[i] * part * tenants[i].count
		}
		if !(missing > alikeShare*float64(all)) || slope == 0 {
			break
		}
		seconds += missing / slope
	}
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

// MostInstances returns how many instances were measured together at most.
func (f *Fitted) MostInstances() (n int) {
	for _, p := range f.all() {
		n = max(n, p.Instances)
	}
	return n
}

// outside says in what way instances lie outside of what was measured.
func (f *Fitted) outside(in instances) string {
	var ways []string
	most, least, fewest := 0, math.Inf(1), math.MaxInt
	mostClients, fewestClients := 0, math.MaxInt
	for _, of := range f.all() {
		mostClients, fewestClients = max(mostClients, of.Clients), min(fewestClients, of.Clients)
		most, fewest, least = max(most, of.Instances), min(fewest, of.Instances), min(least, of.Memory())
	}
	if n := int(in.count); n > most || n < fewest {
		ways = append(ways, fmt.Sprintf("%d to %d instances were measured", fewest, most))
	}
	if c := int(in.clients); c > mostClients || c < fewestClients {
		ways = append(ways, fmt.Sprintf("%d to %d clients of each were measured", fewestClients, mostClients))
	}
	if in.memory > 0 && in.memory < 0.98*least {
		ways = append(ways, fmt.Sprintf("an instance never had less than %s of memory", units.Bytes(uint64(least))))
	}
	if len(ways) == 0 {
		ways = append(ways, "what binds it here never bound it when it was measured")
	}
	return f.Name + ": " + strings.Join(ways, ", and ")
}

// resource is a resource of which a host can have more, and how.
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
	{IOs, "", func(h *HostKind, by float64) {
		h.Host.IO.OperationsPerSecond = int64(float64(h.Host.IO.OperationsPerSecond) * by)
	}},
	{IOBytes, "", func(h *HostKind, by float64) {
		h.Host.IO.BytesPerSecond = int64(float64(h.Host.IO.BytesPerSecond) * by)
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

// worth returns what one percent more of each resource would buy, most first. Of unsolved resources nobody knows that,
// or how sure it is.
func (q question) worth() (all []Worth, unsolved []string) {
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
		slices.Sort(drawn) // NaN first
		tail := (1 - confidence) / 2
		e := Estimate{Number(power(func(f *Fitted) *Params { return &f.Params })),
			Number(stat.Quantile(tail, stat.Empirical, drawn, nil)), Number(stat.Quantile(1-tail, stat.Empirical, drawn, nil))}
		if math.IsNaN(drawn[0]) {
			e.Low, e.High = Number(math.NaN()), Number(math.NaN())
		}
		if math.IsNaN(drawn[0]) || math.IsNaN(float64(e.Value)) {
			unsolved = append(unsolved, strings.TrimSpace(string(r.of)+" "+r.name))
		}
		if !math.IsNaN(float64(e.Value)) {
			all = append(all, Worth{r.of, r.name, e})
		}
	}
	slices.SortStableFunc(all, func(a, b Worth) int { return int(math.Copysign(1, float64(b.Power.Value-a.Power.Value))) })
	return all, unsolved
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
	for _, u := range a.Used {
		if u.Resource == Inside && u.Share >= near {
			return Inside, ""
		}
	}
	return Clients, ""
}
