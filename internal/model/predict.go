package model

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
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
	Class string        `json:"class"`
	Count int           `json:"count"`
	Drive string        `json:"drive,omitempty"` // of the host's, on which they stand; "" for the first that it has
	Own   result.Limits `json:"limits,omitzero"` // of each

	Clients int     `json:"clients"`       // of each; 0 for as many as were measured
	Think   float64 `json:"think_seconds"` // below 0 for as long as was measured
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
	Unknown   []string `json:"unknown,omitempty"`    // what plays no part in it, since no point shows it
	Outside   []string `json:"outside,omitempty"`    // why it lies outside of what was measured: extrapolated
	Recorded  []string `json:"recorded,omitempty"`   // what the classes are of that were recorded, not measured
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
	ask.Tenants = slices.Clone(ask.Tenants)
	classes, err := m.asked(ask)
	if err != nil {
		return nil, err
	}
	merged, at := m.mergeTwins(ask, classes)
	if len(merged.Tenants) == len(ask.Tenants) {
		return m.answer(ask, classes)
	}
	var some []*Fitted
	for _, t := range merged.Tenants {
		f, _ := m.Find(t.Class) // asked found it
		some = append(some, f)
	}
	a, err := m.answer(merged, some)
	if err != nil {
		return nil, err
	}
	tenants, memories := a.Tenants, a.Memories
	a.Tenants, a.Memories = nil, nil
	for i, t := range ask.Tenants {
		whole := tenants[at[i]]
		share := Number(t.Count) / Number(whole.Count)
		whole.Class, whole.Count = t.Class, t.Count
		whole.Rate = Estimate{share * whole.Rate.Value, share * whole.Rate.Low, share * whole.Rate.High}
		a.Tenants, a.Memories = append(a.Tenants, whole), append(a.Memories, memories[at[i]])
	}
	return a, nil
}

// asked returns the class of each tenant, and notes its clients where the question names none. The error has all
// problems.
func (m *Model) asked(ask Ask) ([]*Fitted, error) {
	if len(ask.Tenants) == 0 {
		return nil, errors.New("no class is named: name classes and how many of each, such as C: 4")
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
	return classes, errors.Join(problems...)
}

// mergeTwins returns the question with one tenant for those whose classes measured the same: what they do is no matter
// of their names. at has the tenant of each.
func (m *Model) mergeTwins(ask Ask, classes []*Fitted) (merged Ask, at []int) {
	merged = ask
	merged.Tenants = nil
	var of []*Fitted
	for i, t := range ask.Tenants {
		k := 0
		for k < len(of) {
			u := &merged.Tenants[k]
			if u.Own == t.Own && u.Clients == t.Clients && u.Think == t.Think && of[k].twin(classes[i]) &&
				ask.Kind().driveAt(u.Drive) == ask.Kind().driveAt(t.Drive) {
				break
			}
			k++
		}
		if k == len(of) {
			merged.Tenants, of = append(merged.Tenants, t), append(of, classes[i])
		} else {
			merged.Tenants[k].Count += t.Count
		}
		at = append(at, k)
	}
	return merged, at
}

// twin reports whether two classes have the same measurements alone, and none with others.
func (f *Fitted) twin(g *Fitted) bool {
	if f == g {
		return true
	}
	if a, b := fmt.Sprint(f.Params), fmt.Sprint(g.Params); a != b {
		return false
	}
	if len(f.Points) != len(g.Points) || len(f.Mixed)+len(g.Mixed) > 0 || f.Drive != g.Drive {
		return false
	}
	for i := range f.Points {
		p, q := &f.Points[i], &g.Points[i]
		if p.position() != q.position() || !slices.EqualFunc(p.Units, q.Units, func(a, b Unit) bool { return a.equal(&b) }) {
			return false
		}
	}
	return true
}

// answer answers a question about classes that are not the same.
func (m *Model) answer(ask Ask, classes []*Fitted) (*Answer, error) {
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
	if err := q.gaps(a, best); err != nil {
		return nil, err
	}
	drawn := make([]outcome, draws)
	for d := range drawn {
		drawn[d] = q.outcome(func(f *Fitted) *Params { return f.draw(d) }, ask.Kind())
	}
	if slices.ContainsFunc(drawn, func(o outcome) bool { return !o.solved }) {
		a.Unknown = append(a.Unknown, "how wide the intervals are: with setups drawn again, "+noSolution)
	}
	rates := m.rates(a, q, best, drawn)
	for i, f := range classes {
		t := TenantAnswer{Class: ask.Tenants[i].Class, Count: ask.Tenants[i].Count, Rate: rates[i]}
		t.Mean = latencyOf(t.Rate, best.in[i])
		t.P99 = f.tail(t.Mean, best.in[i], best.others(f, classes))
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

// gaps notes what nobody knows of what is asked; the error is of what cannot be said at all.
func (q question) gaps(a *Answer, best outcome) error {
	var problems []error
	if why := q.unrecorded(best); why != "" {
		problems = append(problems, errors.New(why))
	}
	for i, f := range q.classes {
		if f.Basis != nil {
			a.Recorded = append(a.Recorded, f.Name+" is "+f.Basis.Text())
		}
		if why := f.unknown(best.in[i]); why != "" {
			problems = append(problems, errors.New(why))
		}
		why, refused := f.uncounted(best.in[i])
		switch {
		case refused:
			problems = append(problems, errors.New(why))
		case why != "":
			a.Unknown = append(a.Unknown, why)
		}
	}
	if len(problems) > 0 {
		return errors.Join(problems...)
	}
	for i, f := range q.classes {
		if why := q.unlikeDrive(i, f); why != "" {
			a.Unknown = append(a.Unknown, why)
		}
		if len(q.classes) > 1 && uncountedBytes(best.in[i]) && best.short() {
			a.Unknown = append(a.Unknown, fmt.Sprintf("how many bytes %s reads for an operation, which says who loses how much "+
				"of the memory: all reads are taken for as large. A column `read-bytes` would show", f.Name))
		}
	}
	return nil
}

// rates returns the rate of each tenant with its interval, and notes that of all.
func (m *Model) rates(a *Answer, q question, best outcome, drawn []outcome) []Estimate {
	off, points := 0.0, math.MaxInt
	outside := make([]float64, len(q.classes))
	busy := m.busier(q, best)
	for i, f := range q.classes {
		outside[i] = max(f.distance(&f.Params, best.in[i]), busy)
		at := best.in[i].position()
		e := f.Check.Between
		if outside[i] > 0 || f.outsideAxes(&at) != nil {
			e = f.Check.Beyond
			// Twice as far is twice as uncertain.
			e.Off *= Number(1 + outside[i]/math.Ln2)
			why := f.outside(best.in[i])
			if busy > 0 && outside[i] == busy {
				why = "all together use more of the host than any that were measured"
			}
			if !slices.Contains(a.Outside, why) { // tenants of one class have the same reason
				a.Outside = append(a.Outside, why)
			}
		}
		off, points = max(off, float64(e.Off)), min(points, max(2, e.Points))
	}
	if len(q.classes) == 1 {
		return []Estimate{q.alone(a, best, drawn, outside[0])}
	}
	// They may disturb each other in ways that none of them shows alone.
	together, seen, pairs := m.together(q.ask.Tenants)
	switch {
	case seen == 0:
		a.Unknown = append(a.Unknown, notTogether(q.ask.Tenants))
	case pairs:
		a.Outside = append(a.Outside, "each two of these classes were measured next to each other, never all together")
	}
	off, points = math.Hypot(off, together*(1+busy/math.Ln2)), min(points, max(2, seen))
	estimate := func(of func(outcome) float64, value float64) Estimate {
		var logs []float64
		for _, o := range drawn {
			logs = append(logs, math.Log(of(o)))
		}
		return around(value, stat.StdDev(logs, nil), off, points)
	}
	rates, sum := make([]Estimate, len(q.classes)), 0.0
	for i := range q.classes {
		value := q.beside(i, best)
		sum += value
		rates[i] = estimate(func(o outcome) float64 { return o.rates[i] }, value)
	}
	a.Rate = estimate(outcome.total, sum)
	if network := estimate(outcome.total, best.total()); network != a.Rate {
		a.Network = &network
	}
	return rates
}

// alone returns the rate of instances of one class, by what levels say.
func (q question) alone(a *Answer, best outcome, drawn []outcome, far float64) Estimate {
	f := q.classes[0]
	r := f.reading(&f.Params, best.in[0].position(), math.Log(best.total()), f.measured(&f.Params), far, -1)
	// On the way from the nearest level, what setups drawn anew differ by, as far as the network is asked.
	var logs []float64
	for _, o := range drawn {
		logs = append(logs, math.Log(o.total()))
	}
	network := around(best.total(), stat.StdDev(logs, nil), float64(f.Check.Between.Off), max(2, f.Check.Between.Points))
	a.Network = &network
	spread := math.Log(float64(network.High/network.Value)) * min(1, r.aside/math.Ln2)
	r.low, r.high = -math.Hypot(r.low, spread), math.Hypot(r.high, spread)
	a.Rate = r.estimate()
	if r.chosen != nil {
		a.Chosen = r.chosen
	}
	// More of a limit makes no less: the answer is no lower than on a smaller host that was measured.
	var smaller []Host
	if q.drives[0] < 0 || q.stood[0] != nil && q.stood[0].Name == q.ask.Drives[q.drives[0]].Is.Name {
		smaller = f.smaller(q.ask.Host)
	}
	for _, h := range smaller {
		in := best.in[0]
		in.host = &HostKind{h, in.host.Drives}
		at := in.position()
		of := f.measured(&f.Params)
		s := f.reading(&f.Params, at, of(at), of, far, -1)
		if e := s.estimate(); e.Value > a.Rate.Value {
			a.Rate.Value, a.Rate.High = e.Value, max(a.Rate.High, e.High)
		}
	}
	return a.Rate
}

// smaller returns the hosts of points that have no more of any limit than another, and less of one.
func (f *Fitted) smaller(host Host) (all []Host) {
	if !f.levelled() {
		return nil
	}
	limited := func(v float64) float64 {
		if v == 0 {
			return math.Inf(1)
		}
		return v
	}
	for i := range f.Points {
		h := f.Points[i].Host
		other := host
		p, q := position{host: h}, position{host: other}
		less := false
		for j := range axes {
			if a := &axes[j]; a.limit {
				least, most := limited(a.of(&p)), limited(a.of(&q))
				less = less || least < most
				if least > most {
					less = false
					break
				}
				a.set(&q, a.of(&p))
			}
		}
		if less && p.host == q.host && !slices.Contains(all, h) {
			all = append(all, h)
		}
	}
	return all
}

// measured returns the logarithm of what the network says where a class stood, at any position.
func (f *Fitted) measured(p *Params) func(position) float64 {
	return f.asked(p).measured
}

// beside returns the rate of a tenant next to others: as levels correct it alone, in so far as it uses more of what is
// short than its neighbors do, and never more than without them, as far as setups of one point agree.
func (q question) beside(i int, best outcome) float64 {
	f := q.classes[i]
	if !f.levelled() {
		return best.rates[i]
	}
	in := best.in[i]
	in.memory = 0
	alone := outcome{in: []instances{in}}
	if alone.settle([]HostKind{*in.host}); !alone.solved {
		return best.rates[i]
	}
	r := f.reading(&f.Params, in.position(), math.Log(alone.rates[0]), f.measured(&f.Params), 0, -1)
	part := max(0, 2*best.share(i)-1)
	noise := float64(f.Check.Noise)
	apart := stats.StudentQuantile((1+confidence)/2, 20) * math.Sqrt(max(0, noise*noise-leastOff*leastOff))
	return min(best.rates[i]*math.Exp(part*r.more), math.Exp(r.network+r.more+apart))
}

// busierLeast is how much more of a resource is no difference.
const busierLeast = 0.2

// busier is how much more of some resource all together use than any points or mixes did, as a logarithm, where it is
// nearly used up.
func (m *Model) busier(q question, best outcome) (far float64) {
	if len(q.classes) < 2 {
		return 0
	}
	for _, u := range best.uses() {
		if float64(u.Share) < near {
			continue
		}
		most := 0.0
		for _, f := range q.classes {
			for _, p := range f.Points {
				in := f.Params.at(&p)
				most = max(most, in.usedAlone()[u.Resource])
			}
		}
		for _, b := range m.Beside {
			most = max(most, float64(b.Used[u.Resource]))
		}
		// As waiting grows: with what is left of it.
		const least = 0.02
		if d := math.Log(max(1-most, least) / max(1-float64(u.Share), least)); d > busierLeast {
			far = max(far, d)
		}
	}
	return far
}

// share is the part of the use of what a tenant uses most that is its own.
func (o outcome) share(i int) float64 {
	if len(o.in) == 1 {
		return 1
	}
	n := newNetwork()
	defer n.release()
	n.lay(o.in, 1)
	own := make([]float64, len(n.stations))
	for _, u := range n.flows[i].uses {
		own[u.station] += o.rates[i] * (u.fixed + u.writes*n.flows[i].writes.At(o.rates[i]/n.flows[i].count))
	}
	most, share := 0.0, 1.0
	for s, used := range o.used {
		if own[s] > 0 && used > most {
			most, share = used, min(1, own[s]/used)
		}
	}
	return share
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

// together is how far off, as a logarithm, what is said of these classes next to each other was where
// that was measured, and of how many of them. Where all of them never were, while each two of them were, it is what
// the pairs were off, and so much more as there are more neighbors; pairs is then true. NaN where some two never were.
func (m *Model) together(tenants []Tenant) (off float64, seen int, pairs bool) {
	classes := map[string]bool{}
	for _, t := range tenants {
		classes[t.Class] = true
	}
	if off, seen = m.besides(func(b Beside) bool { return sameClasses(b, classes) }); seen > 0 || len(classes) < 3 {
		return off, seen, false
	}
	for c := range classes {
		for d := range classes {
			pair := func(b Beside) bool { return sameClasses(b, map[string]bool{c: true, d: true}) }
			if c != d && !slices.ContainsFunc(m.Beside, pair) {
				return math.NaN(), 0, false
			}
		}
	}
	off, seen = m.besides(func(b Beside) bool {
		return !slices.ContainsFunc(b.Tenants, func(t BesideTenant) bool { return !classes[t.Class] })
	})
	return off * float64(len(classes)-1), seen, true
}

// besides is how far off what is said of mixes was, as a logarithm, and of how many tenants of them.
func (m *Model) besides(counts func(Beside) bool) (off float64, seen int) {
	squares := 0.0
	for _, b := range m.Beside {
		if !counts(b) {
			continue
		}
		for _, t := range b.Tenants {
			d := math.Log(float64(t.Said / t.Seen))
			squares, seen = squares+d*d, seen+1
		}
	}
	return math.Sqrt(squares / float64(seen)), seen
}

// sameClasses reports whether a mix has instances of these classes and of no others.
func sameClasses(b Beside, classes map[string]bool) bool {
	found := map[string]bool{}
	for _, t := range b.Tenants {
		found[t.Class] = true
	}
	return maps.Equal(found, classes)
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
var errUnsolved = errors.New("it is not known what these instances do together: " + noSolution +
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

// short reports whether instances have less memory than they want.
func (o outcome) short() bool {
	return slices.ContainsFunc(o.in, func(in instances) bool { return in.memory > 0 && in.memory < 0.999*in.wants() })
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
	n := newNetwork()
	defer n.release()
	o.settleIn(n, hosts)
	o.used, o.stations = slices.Clone(o.used), slices.Clone(o.stations)
}

// settleIn is settle in a network, which the outcome uses as long as it is asked what is used.
func (o *outcome) settleIn(n *network, hosts []HostKind) {
	k := len(o.in)
	logs := make([]float64, 4*k)
	found, moved, foundBefore, movedBefore := logs[:k], logs[k:2*k], logs[2*k:3*k], logs[3*k:]
	o.memories, o.rates, o.solved = make([]float64, k), make([]float64, k), false
	for i := range o.in {
		o.rates[i], o.in[i].memory = 1, 0
	}
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
		near = o.rates
	}
	o.stations = n.stations
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
	numbers := make([]float64, 4*k)
	memories, numbers := numbers[:k:k], numbers[k:]
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
	bytes := func(p *Params) float64 { return float64(p.ReadBytes) }
	if slices.ContainsFunc(tenants, uncountedBytes) {
		bytes = func(p *Params) float64 {
			if p.Inferred {
				return 0 // its reads are a share, and no reads
			}
			return usualRead
		}
	}
	// Of an instance: what no shortage takes from it, its cache at most, and how often a second that is read, NaN where
	// nobody knows.
	fixed, cache, turns := numbers[:k], numbers[k:2*k], numbers[2*k:]
	for i := range tenants {
		in := &tenants[i]
		fixed[i] = min(in.fixed, memories[i])
		cache[i] = memories[i] - fixed[i]
		touched := in.params.Reads.At(max(fixed[i], 1)) * bytes(in.params) * rates[i] / in.count
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

// usualRead is how many bytes a read brings where nobody counted them of all classes: reads are counted instead.
const usualRead = 16 << 10

// uncountedBytes reports whether it is known how often instances read the device, and not how much.
func uncountedBytes(in instances) bool {
	return !in.params.Inferred && in.params.ReadBytes == 0 && in.params.Reads.At(1) > readsLeast
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

// latencyOf is the mean latency that clients see at a rate, by Little's law. No interval of it begins below the latency
// of an operation that waits for nothing.
func latencyOf(rate Estimate, in instances) Estimate {
	at := func(r Number) Number { return Number(max(0, in.clients*in.count/float64(r)-in.think)) }
	e := Estimate{at(rate.Value), at(rate.High), at(rate.Low)}
	e.Low = max(e.Low, min(e.Value, in.calm()))
	return e
}

// calm is the latency of an operation that waits for nothing, in seconds.
func (in *instances) calm() Number {
	lines, n := in.alone()
	reads, longest := in.params.Reads.At(in.memory), 0.0
	for _, l := range lines[:n] {
		longest = max(longest, l.At(reads)-in.think)
	}
	return Number(longest)
}

// others is the share of the clients that are not of a class.
func (o outcome) others(f *Fitted, classes []*Fitted) float64 {
	own, clients := 0.0, 0.0
	for i := range o.in {
		n := o.in[i].count * o.in[i].clients
		clients += n
		if classes[i] == f {
			own += n
		}
	}
	return 1 - own/clients
}

// tail is the 99th percentile of latency, for a mean, where a share of the clients are others'. No interval of it
// begins below the latency of an operation that waits for nothing.
func (f *Fitted) tail(mean Estimate, in instances, others float64) Estimate {
	wide := math.Exp(stats.StudentQuantile((1+confidence)/2, max(2, len(f.Params.Tail)-1)) * f.Params.Tail.off())
	at := func(m Number, by float64) Number {
		if m <= 0 {
			return 0
		}
		return Number(float64(m) * f.Params.Tail.At(float64(m), others) * by)
	}
	e := Estimate{at(mean.Value, 1), at(mean.Low, 1/wide), at(mean.High, wide)}
	// What is less of the mean is not always less of the tail.
	e.Low, e.High = min(e.Low, e.Value/Number(wide)), max(e.High, e.Value*Number(wide))
	e.Low = max(e.Low, min(e.Value, in.calm()))
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
		return fmt.Sprintf("it is not known what %s does with %s of memory each: with %s or more, all of its files "+
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
		if known, levels := q.knows(r); !known {
			if e := q.worthByLevels(more, less); levels {
				all = append(all, Worth{r.of, r.name, e})
			}
			continue
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
	slices.SortStableFunc(all, byPower)
	return all, unsolved
}

// knows reports whether the network knows what a resource of the host is worth to the classes that are asked about;
// levels is true where only the levels of the one class that is asked about do.
func (q question) knows(r resource) (known, levels bool) {
	key := map[Resource]string{Processors: "cpus", Reads: "read-iops", Writings: "write-iops", ReadBytes: "read-bandwidth",
		WriteBytes: "write-bandwidth", IOs: "iops", IOBytes: "bandwidth"}[r.of]
	i := slices.IndexFunc(axes, func(a axis) bool { return a.key == key && r.name == "" })
	if i < 0 {
		return true, false
	}
	for _, f := range q.classes {
		if f.levelled() && !f.counts(&axes[i]) {
			return false, len(q.classes) == 1 && f.follows(&axes[i])
		}
	}
	return true, false
}

// worthByLevels returns what one percent more of a limit is worth by levels between two hosts. How far that is known,
// they do not say.
func (q question) worthByLevels(more, less HostKind) Estimate {
	f := q.classes[0]
	at := func(kind HostKind) float64 {
		o := q.outcome(func(f *Fitted) *Params { return &f.Params }, kind)
		r := f.reading(&f.Params, o.in[0].position(), math.Log(o.total()), f.measured(&f.Params), 0, -1)
		return r.network + r.more
	}
	none := Number(math.NaN())
	return Estimate{Number((at(more) - at(less)) / (2 * math.Log(step))), none, none}
}

// byPower orders resources by what more of them buys, most first.
func byPower(a, b Worth) int { return cmp.Compare(b.Power.Value, a.Power.Value) }

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
		if (u.Resource == Inside || u.Resource == Drives) && u.Share >= near {
			return u.Resource, ""
		}
	}
	return Clients, ""
}
