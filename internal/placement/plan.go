package placement

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"plimsoll/internal/model"
	"plimsoll/internal/units/plural"
)

// Options are how a plan is looked for.
type Options struct {
	Seed   uint64
	Effort int // predictions that may be made of each goal; 0 for as many as a few seconds take

	Stop func() bool // reports whether the search is to end now with what it has; nil for never
}

// Plan is where containers are to stand, and what they will do there.
type Plan struct {
	Objective Objective      `json:"objective"`
	Hosts     []Filled       `json:"hosts"`
	Used      int            `json:"hosts_used"`
	Of        int            `json:"hosts_of"`
	Placed    int            `json:"containers_placed"`
	Rate      model.Estimate `json:"rate"`        // operations a second, of all
	P99       model.Estimate `json:"p99_seconds"` // of the container that has the greatest
	Kept      model.Number   `json:"least_kept"`  // of what it would do alone, by the container that keeps least
	Price     float64        `json:"price"`       // of the hosts that are used
	Reached   model.Number   `json:"reached"`     // of what the objective counts
	Bound     model.Number   `json:"bound"`       // that no plan is beyond
	Gap       model.Number   `json:"gap"`         // share by which the best plan may be better than this one
	// and by which one may be that has no other fillings than the search kept; null where it kept to few moves
	Near   model.Number `json:"searched_gap"`
	Proven bool         `json:"bound_proven"`   // the bound is of every plan, and not only of what was looked at
	Left   []Left       `json:"left,omitempty"` // containers that stand nowhere
	// the fewest of the containers that cannot all stand, were there no others
	Clash  []string   `json:"clash,omitempty"`
	Crowds []Crowd    `json:"crowded,omitempty"` // more on one host than was ever measured
	Doubts []string   `json:"doubts,omitempty"`  // classes that the model is not trusted with, and why
	Worth  []Worth    `json:"worth"`             // what would help most, most first
	Beside []Strategy `json:"strategies"`        // what else could be done
	Moves  *Moves     `json:"moves,omitempty"`   // from where containers stand; nil where none does
	Asked  int        `json:"predictions"`       // that were made
}

// Filled is equal hosts that are filled alike.
type Filled struct {
	Kind    string         `json:"kind"`
	Hosts   []string       `json:"hosts"`
	Stands  []Stands       `json:"containers"`
	Rate    model.Estimate `json:"rate"` // operations a second, of all on one
	Binds   model.Resource `json:"binds"`
	Of      string         `json:"of,omitempty"`      // the drive or target that binds
	Uses    []model.Use    `json:"uses"`              // shares of what one has, and of its memory
	Outside []string       `json:"outside,omitempty"` // why it lies outside of what was measured

	kind   int
	f      filling
	worth  []Worth
	memory float64 // bytes that one has
}

// Stands is equal containers on one drive of a host.
type Stands struct {
	Containers string         `json:"containers"`
	Drive      string         `json:"drive,omitempty"`
	Target     string         `json:"target,omitempty"` // that serves it
	Count      int            `json:"count"`
	Rate       model.Estimate `json:"rate"` // operations a second of each
	Mean       model.Estimate `json:"mean_seconds"`
	P99        model.Estimate `json:"p99_seconds"`
	Memory     float64        `json:"memory_bytes"` // of each
	Kept       float64        `json:"kept"`         // of what one would do alone on its best host
	Why        string         `json:"why"`          // it stands here

	demand, drive int
}

// Worth is by how many percent all would do more, had the hosts of a kind one percent more of a resource.
type Worth struct {
	Kind     string         `json:"kind"`
	Resource model.Resource `json:"resource"`
	Name     string         `json:"name,omitempty"` // of a drive or target
	Power    model.Number   `json:"power"`
}

// Crowd is containers of which a plan puts many times more on one host than were ever measured together.
type Crowd struct {
	Containers string `json:"containers"`
	Class      string `json:"class"`
	Count      int    `json:"count"`    // on one host, at most
	Measured   int    `json:"measured"` // together, at most
	Hosts      int    `json:"hosts"`    // that hold so many times more
}

// crowding is how many times more is far outside of what was measured.
const crowding = 2

// crowded returns what a plan says least surely: one entry for each demand, in their order.
func (s *search) crowded(f found) (all []Crowd) {
	for d, c := range s.fleet.Containers {
		crowd := Crowd{Containers: c.Name}
		for _, group := range f.all {
			k := s.kinds[group.kind]
			if k.classes[d] < 0 {
				continue
			}
			class := &k.model.Classes[k.classes[d]]
			n, most := k.counts(group.f)[d], class.MostInstances()
			if n <= crowding*most {
				continue
			}
			crowd.Hosts += group.count
			if n > crowd.Count {
				crowd.Class, crowd.Count, crowd.Measured = class.Name, n, most
			}
		}
		if crowd.Hosts > 0 {
			all = append(all, crowd)
		}
	}
	return all
}

// doubts returns why the model is not trusted with classes that are placed, each once.
func (s *search) doubts(f found) (all []string) {
	for d := range s.fleet.Containers {
		for _, group := range f.all {
			k := s.kinds[group.kind]
			if k.classes[d] < 0 || k.counts(group.f)[d] == 0 {
				continue
			}
			why := k.model.Classes[k.classes[d]].Doubt()
			if why != "" && !slices.Contains(all, why) {
				all = append(all, why)
			}
		}
	}
	return all
}

// Left is containers that stand nowhere, and why.
type Left struct {
	Containers string `json:"containers"`
	Count      int    `json:"count"`
	Why        string `json:"why"`
}

// usualEffort is how many predictions a search makes, which take a second or two.
const usualEffort = 10_000

// Best returns the best plan that it finds. The error says what the model knows nothing of. The same fleet,
// model and options always have the same plan.
func Best(m *model.Model, fleet *Fleet, o Options) (*Plan, error) {
	s, err := newSearch(m, fleet, o)
	if err != nil {
		return nil, err
	}
	var f found
	var now []standingHost
	if len(fleet.Now) > 0 {
		if now, err = s.now(); err != nil {
			return nil, err
		}
	}
	if now != nil && fleet.MostMoves > 0 {
		f = s.shared(func([]int) found {
			return s.rearrange(now, fleet.MostMoves, s.usual())
		})
	} else {
		f = s.shared(s.reach)
	}
	var beside []Strategy
	var ways errgroup.Group
	ways.Go(func() error {
		beside = s.apart().strategies()
		return nil
	})
	p := s.plan(f)
	if now != nil {
		var becomes []standingHost
		p.Moves, becomes = s.moves(now, f)
		p.Hosts = named(p.Hosts, becomes)
		for _, c := range grouped(now) {
			p.Moves.From = append(p.Moves.From, s.filled(c, false))
		}
		p.Moves.From = named(p.Moves.From, now)
	}
	if len(p.Left) > 0 {
		p.Clash = s.clash()
	}
	_ = ways.Wait() // none fails
	p.Beside = beside
	return p, nil
}

// apart returns a search for the same that remembers predictions of its own.
func (s *search) apart() *search {
	some := *s
	some.kinds, some.random = nil, rand.New(rand.NewPCG(s.seed, 0xa9a7))
	for _, k := range s.kinds {
		one := *k
		one.known, one.cells, one.asked = map[string]*filled{}, nil, 0
		some.kinds = append(some.kinds, &one)
	}
	return &some
}

// shared looks for a plan of hosts that share targets. What one of them leaves of a target depends on all others; it is
// taken that as many use it alike as do in the plan: all that can, at first, and then fewer as long as the plan
// keeps to it and becomes better.
func (s *search) shared(reach func([]int) found) found {
	users := s.users(nil)
	s.assume(users)
	best := reach(s.counts())
	for range 3 {
		fewer := s.users(&best)
		if len(users) == 0 || maps.Equal(fewer, users) {
			break
		}
		s.assume(fewer)
		next := reach(s.counts())
		now := s.users(&next)
		kept := true
		for t, n := range now {
			kept = kept && n <= fewer[t]
		}
		if !kept || next.unplaced() > best.unplaced() || next.unplaced() == best.unplaced() && next.value < best.value {
			s.assume(users)
			break
		}
		best, users = next, fewer
	}
	return best
}

// users is how many hosts use each target: those of a plan, or all that can for nil.
func (s *search) users(f *found) map[*model.Target]float64 {
	all := map[*model.Target]float64{}
	for k, kind := range s.kinds {
		mine := map[*model.Target]float64{}
		for d := range kind.is.Drives {
			t := kind.is.Drives[d].Target
			if t == nil {
				continue
			}
			if f == nil {
				mine[t] = float64(kind.Count)
				continue
			}
			hosts := 0
			for _, c := range f.all {
				if c.kind == k && kind.uses(c.f, t) {
					hosts += c.count
				}
			}
			mine[t] = float64(hosts)
		}
		for t, n := range mine {
			all[t] += n
		}
	}
	return all
}

// uses reports whether a container of a filling stands on a drive of a target.
func (k *kind) uses(f filling, t *model.Target) bool {
	for slot, n := range f {
		_, drive := k.of(slot)
		if n > 0 && k.able[drive] >= 0 && k.is.Drives[k.able[drive]].Target == t {
			return true
		}
	}
	return false
}

// assume predicts from now on as if so many hosts used each target.
func (s *search) assume(users map[*model.Target]float64) {
	if len(users) == 0 {
		return
	}
	for t, n := range users {
		t.Initiators = max(1, n)
	}
	for _, k := range s.kinds {
		k.known, k.cells = map[string]*filled{}, nil
	}
	s.effort += s.asked()
}

// named gives groups of hosts the names of those that are filled so.
func named(groups []Filled, hosts []standingHost) []Filled {
	for i := range groups {
		h := &groups[i]
		h.Hosts = nil
		for _, one := range hosts {
			if one.kind == h.kind && slices.Equal(one.f, h.f) {
				h.Hosts = append(h.Hosts, one.name)
			}
		}
	}
	return groups
}

// clash names the fewest containers that cannot all stand: each is left out in turn, and stays out where what is left
// still does not fit (a deletion filter: Chinneck and Dravnieks, Locating minimal infeasible constraint sets in linear
// programs, 1991).
func (s *search) clash() (names []string) {
	counts := s.counts()
	for d, n := range counts {
		counts[d] = 0
		some := *s
		some.effort = s.asked() + s.effort/8
		if some.best(counts, s.usual()).unplaced() == 0 {
			counts[d] = n
		}
	}
	for d, n := range counts {
		if n > 0 {
			names = append(names, s.fleet.Containers[d].Name)
		}
	}
	return names
}

func newSearch(m *model.Model, fleet *Fleet, o Options) (*search, error) {
	s := &search{fleet: fleet, effort: o.Effort, stop: o.Stop, seed: o.Seed}
	s.random = rand.New(rand.NewPCG(s.seed, 0x10ad))
	if s.effort == 0 {
		s.effort = usualEffort
	}
	for i, is := range fleet.roomy() {
		h := &fleet.Hosts[i]
		k := &kind{Hosts: h, at: i, fleet: fleet, model: cmp.Or(h.Model, m), is: is, able: []int{-1},
			known: map[string]*filled{}}
		for _, c := range fleet.Containers {
			name := m.Classes[c.Class].Name
			k.classes = append(k.classes, slices.IndexFunc(k.model.Classes, func(f model.Fitted) bool { return f.Name == name }))
		}
		if len(h.Is.Drives) > 0 {
			k.able = nil
			for d := range h.Is.Drives {
				k.able = append(k.able, d)
			}
		}
		for d := range fleet.Containers {
			fixed := 1.0
			if k.classes[d] >= 0 {
				if slots, _, ok := k.model.Slots(k.is, []model.Placed{k.one(d, k.able[0])}); ok {
					fixed = max(fixed, slots[0].Fixed)
				}
			}
			k.fixed = append(k.fixed, fixed)
		}
		s.kinds = append(s.kinds, k)
	}
	return s, s.standalone()
}

func (s *search) counts() (all []int) {
	for _, c := range s.fleet.Containers {
		all = append(all, c.Count)
	}
	return all
}

// standalone finds what one container of each demand does alone.
func (s *search) standalone() error {
	s.alone, s.quick = make([]float64, len(s.fleet.Containers)), make([]float64, len(s.fleet.Containers))
	var unknown []error
	most, fastest := 0.0, 0.0
	for d, c := range s.fleet.Containers {
		s.quick[d] = math.Inf(1)
		var why error
		for _, k := range s.kinds {
			for _, drive := range k.able {
				if k.refuses(d, drive) != "" {
					continue
				}
				solved, err := k.model.Solve(k.is, []model.Placed{k.one(d, drive)})
				if err != nil {
					if over := new(model.Overfull); !errors.As(err, &over) {
						why = err
					}
					continue
				}
				s.alone[d] = max(s.alone[d], solved.Rate)
				if p99 := solved.Tenants[0].P99; !math.IsNaN(p99) {
					s.quick[d] = min(s.quick[d], p99)
				}
			}
		}
		if s.alone[d] == 0 && why != nil {
			unknown = append(unknown, fmt.Errorf("%s: %w", c.Name, why))
		}
		if c.MostP99 > 0 && math.IsInf(s.quick[d], 1) && s.alone[d] > 0 {
			unknown = append(unknown, fmt.Errorf("%s: no p99 was measured of their class, and they have a limit of it", c.Name))
		}
		if s.fleet.Objective == WorstP99 && math.IsInf(s.quick[d], 1) && s.alone[d] > 0 {
			unknown = append(unknown, fmt.Errorf("%s: no p99 was measured of their class, and the plan is to have the least",
				c.Name))
		}
		most += c.weight() * s.alone[d] * float64(c.Count)
		fastest = max(fastest, c.weight()*s.alone[d])
	}
	cheapest, dearest, hosts := math.Inf(1), 0.0, 0
	for _, k := range s.kinds {
		hosts += k.Count
		price := k.price()
		cheapest, dearest = min(cheapest, price), max(dearest, price)
	}
	s.cheap = 1e-3 * cheapest / max(most, 1)
	s.penalty, s.all = 2*fastest, most+1
	if s.fleet.Objective == FewHosts {
		s.penalty, s.all = 4*dearest, dearest*float64(hosts)+1
	}
	return errors.Join(unknown...)
}

// reach looks for the best plan for what the fleet is for. Where the worst of all containers counts, it asks for ever
// more of each, and keeps the plan that has most.
func (s *search) reach(counts []int) found {
	objective := s.fleet.Objective
	best := s.best(counts, s.usual())
	if objective != WorstP99 && objective != Fairness || best.unplaced() > 0 {
		return best
	}
	p99, kept := s.worst(best)
	switch objective {
	case WorstP99:
		low := 0.0 // no plan has less
		for d, c := range counts {
			if c > 0 {
				low = max(low, s.quick[d])
			}
		}
		high := p99
		for range 60 {
			if high <= low*(1+within) {
				break
			}
			middle := math.Sqrt(low * high)
			if next := s.best(counts, goal{p99: middle}); next.unplaced() == 0 {
				best = next
				high, _ = s.worst(next)
			} else {
				low = middle
			}
		}
		best.mixed = low
	case Fairness:
		low, high := kept, 1.0
		for range 60 {
			if high <= low*(1+within) {
				break
			}
			middle := (low + high) / 2
			if next := s.best(counts, goal{least: middle}); next.unplaced() == 0 {
				best = next
				_, low = s.worst(next)
			} else {
				high = middle
			}
		}
		best.mixed = high
	}
	return best
}

// within is how near to the best a plan for the worst container has to be: a thousandth.
const within = 1e-3

// worst is the greatest p99 of a plan, and the least share of what it would do alone that a container keeps.
func (s *search) worst(f found) (p99, kept float64) {
	kept = math.Inf(1)
	for _, c := range f.all {
		known := s.kinds[c.kind].fill(c.f, s.alone)
		p99, kept = max(p99, known.p99), min(kept, known.least)
	}
	return p99, kept
}

// mostIntervals is for how many groups of equal hosts intervals are found, which takes some milliseconds of each.
const mostIntervals = 64

// plan returns the result of a search as a Plan.
func (s *search) plan(f found) *Plan {
	p := &Plan{Objective: s.fleet.Objective, Asked: s.asked()}
	for _, k := range s.kinds {
		p.Of += k.Count
	}
	next := make([]int, len(s.kinds)) // number of the next host of each kind
	p99, kept := s.worst(f)
	p.P99, p.Kept = alone(p99), model.Number(kept)
	groups := make([]Filled, len(f.all)) // what is predicted of each is known now, so that it is only read
	var all errgroup.Group
	all.SetLimit(runtime.GOMAXPROCS(0))
	for i, c := range f.all {
		all.Go(func() error {
			groups[i] = s.filled(c, i < mostIntervals)
			return nil
		})
	}
	_ = all.Wait() // none fails
	for i, c := range f.all {
		k, h := s.kinds[c.kind], groups[i]
		for range c.count {
			next[c.kind]++
			h.Hosts = append(h.Hosts, hostName(k.Hosts, next[c.kind]))
		}
		p.Used += c.count
		p.Placed += c.count * c.f.total()
		p.Price += k.price() * float64(c.count)
		n := model.Number(c.count)
		p.Rate.Value, p.Rate.Low, p.Rate.High = p.Rate.Value+n*h.Rate.Value, p.Rate.Low+n*h.Rate.Low,
			p.Rate.High+n*h.Rate.High
		for _, st := range h.Stands {
			if st.P99.Value >= p.P99.Value*(1-slack) {
				p.P99 = st.P99
			}
		}
		p.Hosts = append(p.Hosts, h)
	}
	p.Crowds, p.Doubts = s.crowded(f), s.doubts(f)
	p.Worth = s.worthOf(p, f)
	s.explain(p, f)
	s.bound(p, f)
	for d, n := range f.left {
		if n > 0 {
			p.Left = append(p.Left, Left{Containers: s.fleet.Containers[d].Name, Count: n, Why: s.why(f, d)})
		}
	}
	return p
}

// alone is an estimate without an interval.
func alone(v float64) model.Estimate {
	nan := model.Number(math.NaN())
	return model.Estimate{Value: model.Number(v), Low: nan, High: nan}
}

// filled is a group of hosts, its numbers with their intervals where these are asked for.
func (s *search) filled(c chosen, intervals bool) Filled {
	k := s.kinds[c.kind]
	known := k.fill(c.f, s.alone)
	h := Filled{Kind: k.Name, Rate: alone(known.rate), Binds: known.solved.Binds, Of: known.solved.Of, kind: c.kind,
		f:      c.f,
		memory: float64(k.is.Host.MemoryBytes)}
	placed := k.placed(c.f)
	uses, _ := k.model.Uses(k.is, placed) // it was solved before
	held := 0.0
	ask := model.Ask{Host: k.is.Host, Drives: k.is.Drives}
	for i, t := range known.solved.Tenants {
		demand, drive := k.of(known.at[i])
		count := placed[i].Count
		held += t.Needs * float64(count)
		one := Stands{Containers: s.fleet.Containers[demand].Name, Count: count, Rate: alone(t.Rate / float64(count)),
			Mean: alone(t.Mean), P99: alone(t.P99), Memory: t.Needs, Kept: t.Rate / float64(count) / s.alone[demand],
			demand: demand, drive: k.able[drive]}
		tenant := model.Tenant{Class: k.model.Classes[placed[i].Class].Name, Count: count, Own: placed[i].Own, Think: -1}
		if one.drive >= 0 {
			d := k.Is.Drives[one.drive]
			one.Drive, tenant.Drive = d.Name, d.Name
			if d.Target != nil {
				one.Target = d.Target.Name
			}
		}
		h.Stands, ask.Tenants = append(h.Stands, one), append(ask.Tenants, tenant)
	}
	if memory := float64(k.is.Host.MemoryBytes); memory > 0 {
		h.Uses = append(h.Uses, model.Use{Resource: model.Memory, Share: model.Number(held / memory)})
	}
	for _, u := range uses {
		same := func(v model.Use) bool { return v.Resource == u.Resource && v.Name == u.Name }
		if i := slices.IndexFunc(h.Uses, same); i >= 0 {
			h.Uses[i].Share = max(h.Uses[i].Share, u.Share)
		} else {
			h.Uses = append(h.Uses, u)
		}
	}
	if !intervals {
		return h
	}
	a, err := k.model.Predict(ask)
	if err != nil { // what a planner may ask for and others may not: no interval is known
		h.Outside = []string{err.Error()}
		return h
	}
	h.Rate, h.Binds, h.Of, h.Outside = a.Rate, a.Binds, a.BindsName, a.Outside
	for i, t := range a.Tenants {
		n := model.Number(t.Count)
		h.Stands[i].Rate = model.Estimate{Value: t.Rate.Value / n, Low: t.Rate.Low / n, High: t.Rate.High / n}
		h.Stands[i].Mean, h.Stands[i].P99 = t.Mean, t.P99
	}
	for _, w := range a.Worth {
		h.worth = append(h.worth, Worth{k.Name, w.Resource, w.Name, w.Power.Value})
	}
	return h
}

// worthOf returns the gain of all from 1% more of each resource of a kind of hosts.
func (s *search) worthOf(p *Plan, f found) (all []Worth) {
	for i, h := range p.Hosts {
		for _, w := range h.worth {
			w.Power *= h.Rate.Value * model.Number(f.all[i].count) / p.Rate.Value
			same := func(v Worth) bool { return v.Kind == w.Kind && v.Resource == w.Resource && v.Name == w.Name }
			if at := slices.IndexFunc(all, same); at >= 0 {
				all[at].Power += w.Power
			} else {
				all = append(all, w)
			}
		}
	}
	all = slices.DeleteFunc(all, func(w Worth) bool { return !(w.Power >= leastWorth) })
	slices.SortStableFunc(all, func(a, b Worth) int { return cmp.Compare(b.Power, a.Power) })
	return all
}

// leastWorth is of what is worth mentioning: a percent more of it is a hundredth of a percent more of all.
const leastWorth = 0.01

// bound finds how far a plan may be off the best.
func (s *search) bound(p *Plan, f found) {
	counts := s.counts()
	for d := range counts {
		counts[d] -= f.left[d]
	}
	switch p.Proven = true; s.fleet.Objective {
	case Throughput:
		rate := 0.0
		for _, c := range f.all {
			rate += s.kinds[c.kind].fill(c.f, s.alone).value * float64(c.count)
		}
		bound := rate / (1 - evenly)
		if !f.proven {
			bound = s.relaxed(counts, false)
			if f.proof != nil {
				bound = min(bound, f.proof.bound(counts)*(1+slack))
			}
			bound = max(rate, bound)
			p.Near = model.Number(max(0, 1-rate/f.mixed)) // NaN stays
		}
		p.Reached, p.Bound, p.Gap = model.Number(rate), model.Number(bound), model.Number(1-rate/bound)
	case FewHosts:
		bound := p.Price
		if !f.proven {
			bound = max(0, s.relaxed(counts, true))
			if f.proof != nil {
				bound = max(bound, -f.proof.bound(counts)*(1-slack))
			}
			p.Near = model.Number(max(0, 1+f.mixed/p.Price))
			if same := s.samePrice(); same > 0 {
				bound = same * math.Ceil(bound/same-1e-6)
			}
		}
		p.Reached, p.Bound, p.Gap = model.Number(p.Price), model.Number(bound), model.Number(max(0, 1-bound/p.Price))
	case WorstP99:
		p.Proven, p.Bound, p.Reached = f.proven, model.Number(f.mixed), p.P99.Value
		p.Gap = max(0, 1-p.Bound/p.Reached)
	case Fairness:
		p.Proven, p.Bound, p.Reached = f.proven, model.Number(f.mixed), p.Kept
		p.Gap = max(0, 1-p.Reached/p.Bound)
	}
}

// samePrice is the price that all hosts have; 0 where they have several.
func (s *search) samePrice() float64 {
	price := s.kinds[0].price()
	if slices.ContainsFunc(s.kinds, func(k *kind) bool { return k.price() != price }) {
		return 0
	}
	return price
}

// hostName is the name of the n-th of equal hosts, from 1; of a single one that of its kind.
func hostName(h *Hosts, n int) string {
	if h.Names != nil {
		return h.Names[n-1]
	}
	if h.Count == 1 {
		return h.Name
	}
	return fmt.Sprintf("%s-%d", h.Name, n)
}

// why says what keeps one more container of a demand from the hosts of a plan: what it would break on most of them.
func (s *search) why(f found, demand int) string {
	hosts := map[string]int{}
	most := ""
	full := free(s.hosts(), f.all)
	groups := f.all
	for k, n := range full {
		groups = append(groups, chosen{k, n, make(filling, s.kinds[k].slots())})
	}
	for _, c := range groups {
		if c.count == 0 {
			continue
		}
		slot := s.kinds[c.kind].slot(demand, 0)
		if c.f[slot] == mostOfOne {
			continue
		}
		known := s.kinds[c.kind].fill(c.f.with(slot, 1), s.alone)
		why := known.clash
		if why == "" {
			why = "it would do so only at the cost of the objective"
		}
		if hosts[why] += c.count; most == "" || hosts[why] > hosts[most] {
			most = why
		}
	}
	if most == "" {
		return "there is no host"
	}
	return fmt.Sprintf("one more on %s: %s", plural.Count(hosts[most], "host"), strings.TrimSuffix(most, "."))
}

func (s *search) hosts() (all []int) {
	for _, k := range s.kinds {
		all = append(all, k.Count)
	}
	return all
}
