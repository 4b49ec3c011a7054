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
	"time"

	"golang.org/x/sync/errgroup"

	"plimsoll/internal/model"
	"plimsoll/internal/units/plural"
)

// Options are those of a search for a plan.
type Options struct {
	Seed   uint64
	Effort int // predictions that may be made for each goal; 0 for as many as a few seconds take

	// Spent returns the share of the time that is over. The search ends with what it has at searchShare, and intervals
	// end at 1. The share never falls. Called concurrently; nil for no end.
	Spent func() float64
}

// Ended reports whether the time of a search is over.
func (o Options) Ended() bool { return o.Spent != nil && o.Spent() >= searchShare }

// Within returns Spent for a plan that may take the longest duration, from now on.
func Within(longest time.Duration) func() float64 {
	start := time.Now()
	return func() float64 { return float64(time.Since(start)) / float64(longest) }
}

// searchShare is how much of the time the search may take. Intervals, reasons and other ways take the rest.
const searchShare = 0.7

// Plan is the hosts of all containers, and the prediction for them there.
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
	// limits and wishes that containers break where they stand; those of moves that are too few
	Broken []Broken `json:"broken,omitempty"`
	// the fewest of the containers that cannot all stand, were there no others
	Clash  []string   `json:"clash,omitempty"`
	Crowds []Crowd    `json:"crowded,omitempty"` // more on one host than was ever measured
	Doubts []string   `json:"doubts,omitempty"`  // classes that the model is not trusted with, and why
	Worth  []Worth    `json:"worth"`             // what would help most, most first
	Beside []Strategy `json:"strategies"`        // what else could be done
	Moves  *Moves     `json:"moves,omitempty"`   // from where containers stand; nil where none does
	Asked  int        `json:"predictions"`       // that were made
	Down   []string   `json:"down,omitempty"`    // hosts and drives that failed
	// time was over before intervals of all hosts were found
	Late bool `json:"late,omitempty"`
}

// Filled is equal hosts with one filling.
type Filled struct {
	Kind    string         `json:"kind"`
	Hosts   []string       `json:"hosts"`
	Stands  []Stands       `json:"containers"`
	Rate    model.Estimate `json:"rate"` // operations a second, of all on one
	Binds   model.Resource `json:"binds"`
	Of      string         `json:"of,omitempty"`      // the drive or target that binds
	Uses    []model.Use    `json:"uses"`              // shares of what one has, and of its memory
	Outside []string       `json:"outside,omitempty"` // why it lies outside of what was measured

	kind    int
	filling filling
	judged  *filled // with all that is broken
	worth   []Worth
	memory  float64 // bytes that one has
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

// crowding is the ratio to what was measured from which a count is far outside of it.
const crowding = 2

// crowded returns the containers whose prediction is least certain: one entry for each demand, in their order.
func (s *search) crowded(outcome found) (crowds []Crowd) {
	for d, containers := range s.fleet.Containers {
		crowd := Crowd{Containers: containers.Name}
		for _, group := range outcome.groups {
			kind := s.kinds[group.kind]
			if kind.classes[d] < 0 {
				continue
			}
			class := &kind.model.Classes[kind.classes[d]]
			count, measured := kind.counts(group.filling)[d], class.MostInstances()
			if count <= crowding*measured {
				continue
			}
			crowd.Hosts += group.count
			if count > crowd.Count {
				crowd.Class, crowd.Count, crowd.Measured = class.Name, count, measured
			}
		}
		if crowd.Hosts > 0 {
			crowds = append(crowds, crowd)
		}
	}
	return crowds
}

// doubts returns why the model is not trusted with classes that are placed, each once.
func (s *search) doubts(outcome found) (doubts []string) {
	for d := range s.fleet.Containers {
		for _, group := range outcome.groups {
			kind := s.kinds[group.kind]
			if kind.classes[d] < 0 || kind.counts(group.filling)[d] == 0 {
				continue
			}
			why := kind.model.Classes[kind.classes[d]].Doubt()
			if why != "" && !slices.Contains(doubts, why) {
				doubts = append(doubts, why)
			}
		}
	}
	return doubts
}

// Complete reports whether every container has a place and keeps all limits there.
func (p *Plan) Complete() bool { return len(p.Left) == 0 && len(p.Broken) == 0 }

// Broken is containers that break a limit or a wish, on hosts with one filling.
type Broken struct {
	Containers string   `json:"containers"`
	Hosts      []string `json:"hosts"`
	Count      int      `json:"count"` // on each of the hosts
	Why        string   `json:"why"`
}

// Left is containers that stand nowhere, and why.
type Left struct {
	Containers string `json:"containers"`
	Count      int    `json:"count"`
	Why        string `json:"why"`
	Never      bool   `json:"never"` // no host takes even one, were it empty
}

// usualEffort is how many predictions a search makes, which take a second or two.
const usualEffort = 10_000

// Best returns the best plan that the search finds. The error lists what the model cannot predict. The same fleet,
// model and options always have the same plan.
func Best(fitted *model.Model, fleet *Fleet, options Options) (*Plan, error) {
	sorted, hosts, containers := fleet.sorted()
	plan, err := best(fitted, sorted, options)
	if err != nil {
		return nil, err
	}
	plan.order(fleet, inverse(hosts), inverse(containers))
	plan.Down = fleet.Down
	return plan, nil
}

// order puts a plan of the sorted fleet into the order of the fleet. hosts and containers have the places of the
// fleet's among the sorted ones.
func (p *Plan) order(fleet *Fleet, hosts, containers []int) {
	kinds, names := inverse(hosts), map[string]int{}
	for d := range fleet.Containers {
		names[fleet.Containers[d].Name] = d
	}
	demands := inverse(containers)
	groups := [][]Filled{p.Hosts}
	if p.Moves != nil {
		groups = append(groups, p.Moves.From)
	}
	for _, group := range groups {
		slices.SortStableFunc(group, func(a, b Filled) int { return cmp.Compare(kinds[a.kind], kinds[b.kind]) })
		for i := range group {
			slices.SortStableFunc(group[i].Stands, func(a, b Stands) int {
				return cmp.Compare(demands[a.demand], demands[b.demand])
			})
		}
	}
	slices.SortStableFunc(p.Left, func(a, b Left) int { return cmp.Compare(names[a.Containers], names[b.Containers]) })
	slices.SortStableFunc(p.Crowds, func(a, b Crowd) int { return cmp.Compare(names[a.Containers], names[b.Containers]) })
	slices.SortStableFunc(p.Clash, func(a, b string) int { return cmp.Compare(names[a], names[b]) })
}

// best is Best of a sorted fleet.
func best(fitted *model.Model, fleet *Fleet, options Options) (*Plan, error) {
	search, err := newSearch(fitted, fleet, options)
	if err != nil {
		return nil, err
	}
	var outcome found
	var now []standingHost
	if len(fleet.Now)+len(fleet.Down) > 0 {
		if now, err = search.now(); err != nil {
			return nil, err
		}
	}
	if now != nil && fleet.MostMoves > 0 {
		outcome = search.shared(func([]int) found {
			return search.rearrange(now, fleet.MostMoves)
		})
	} else {
		outcome = search.shared(search.reach)
	}
	var strategies []Strategy
	var ways errgroup.Group
	apart := search.apart() // which copies what plan writes
	ways.Go(func() error {
		strategies = apart.strategies()
		return nil
	})
	plan := search.plan(outcome)
	if now != nil {
		var becomes []standingHost
		plan.Moves, becomes = search.moves(now, outcome)
		plan.Moves.Most = fleet.MostMoves
		plan.Hosts = named(plan.Hosts, becomes)
		for _, group := range grouped(now) {
			plan.Moves.From = append(plan.Moves.From, search.filled(group, false))
		}
		plan.Moves.From = named(plan.Moves.From, now)
	}
	plan.Broken = search.broken(plan.Hosts)
	if len(plan.Left) > 0 {
		plan.Clash = search.clash()
	}
	_ = ways.Wait() // none fails
	plan.Beside = strategies
	return plan, nil
}

// apart returns a search of the same fleet with its own cache of predictions, for another goroutine.
func (s *search) apart() *search {
	clone := *s
	clone.kinds, clone.random = nil, rand.New(rand.NewPCG(s.seed, 0xa9a7))
	for _, kind := range s.kinds {
		kindClone := *kind
		kindClone.known, kindClone.cells, kindClone.asked = map[string]*filled{}, nil, 0
		clone.kinds = append(clone.kinds, &kindClone)
	}
	return &clone
}

// shared looks for a plan of hosts that share targets. What one host leaves of a target depends on all others. The
// search assumes a number of hosts that use the target alike: all that can, at first, and then fewer, as long as the
// plan keeps to the number and becomes better.
func (s *search) shared(reach func([]int) found) found {
	users := s.users(nil)
	s.assume(users)
	best := reach(s.counts())
	for range 3 {
		fewer := s.users(&best)
		if len(users) == 0 || maps.Equal(fewer, users) {
			break
		}
		merits := s.merits(best)
		s.assume(fewer)
		next := reach(s.counts())
		now := s.users(&next)
		kept := true
		for t, n := range now {
			kept = kept && n <= fewer[t]
		}
		if !kept || s.stopped() || next.unplaced() > best.unplaced() ||
			next.unplaced() == best.unplaced() && s.merits(next) < merits {
			s.assume(users)
			break
		}
		best, users = next, fewer
	}
	return best
}

// merits returns the value of a plan by the fleet's objective; a greater one is better.
func (s *search) merits(outcome found) float64 {
	switch p99, kept := s.worst(outcome); s.fleet.Objective {
	case WorstP99:
		return -p99
	case Fairness:
		return kept
	}
	return outcome.value
}

// users returns how many hosts use each target: those of a plan, or, for nil, all that can.
func (s *search) users(outcome *found) map[*model.Target]float64 {
	users := map[*model.Target]float64{}
	for k, kind := range s.kinds {
		mine := map[*model.Target]float64{}
		for d := range kind.is.Drives {
			target := kind.is.Drives[d].Target
			if target == nil {
				continue
			}
			if outcome == nil {
				mine[target] = float64(kind.Count)
				continue
			}
			hosts := 0
			for _, group := range outcome.groups {
				if group.kind == k && kind.uses(group.filling, target) {
					hosts += group.count
				}
			}
			mine[target] = float64(hosts)
		}
		for t, n := range mine {
			users[t] += n
		}
	}
	return users
}

// uses reports whether a container of a filling stands on a drive of a target.
func (k *kind) uses(fill filling, target *model.Target) bool {
	for slot, n := range fill {
		_, drive := k.split(slot)
		if n > 0 && k.able[drive] >= 0 && k.is.Drives[k.able[drive]].Target == target {
			return true
		}
	}
	return false
}

// assume sets how many hosts use each target in predictions from now on.
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

// named gives groups of hosts the names of the hosts with their filling.
func named(groups []Filled, hosts []standingHost) []Filled {
	for i := range groups {
		group := &groups[i]
		group.Hosts = nil
		for _, host := range hosts {
			if host.kind == group.kind && slices.Equal(host.filling, group.filling) {
				group.Hosts = append(group.Hosts, host.name)
			}
		}
	}
	return groups
}

// clash returns the fewest containers that cannot all stand: each is left out in turn, and stays out if the rest still
// does not fit (a deletion filter: Chinneck and Dravnieks, Locating minimal infeasible constraint sets in linear
// programs, 1991).
func (s *search) clash() (names []string) {
	counts := s.counts()
	for d, n := range counts {
		if s.stopped() {
			return nil
		}
		counts[d] = 0
		clone := *s
		clone.effort = s.asked() + s.effort/8
		if clone.best(counts, s.usual()).unplaced() == 0 {
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

func newSearch(fitted *model.Model, fleet *Fleet, options Options) (*search, error) {
	s := &search{fleet: fleet, effort: options.Effort, time: options.Spent, seed: options.Seed}
	s.random = rand.New(rand.NewPCG(s.seed, 0x10ad))
	if s.effort == 0 {
		s.effort = usualEffort
	}
	for i, is := range fleet.roomy() {
		hosts := &fleet.Hosts[i]
		hostKind := &kind{Hosts: hosts, index: i, fleet: fleet, model: cmp.Or(hosts.Model, fitted), is: is, able: []int{-1},
			known: map[string]*filled{}}
		for _, containers := range fleet.Containers {
			name := fitted.Classes[containers.Class].Name
			hostKind.classes = append(hostKind.classes,
				slices.IndexFunc(hostKind.model.Classes, func(class model.Fitted) bool { return class.Name == name }))
		}
		if len(hosts.Is.Drives) > 0 {
			hostKind.able = nil
			for d := range hosts.Is.Drives {
				hostKind.able = append(hostKind.able, d)
			}
		}
		for d := range fleet.Containers {
			fixed := 1.0
			if hostKind.classes[d] >= 0 {
				if slots, _, ok := hostKind.model.Slots(hostKind.is, []model.Placed{hostKind.single(d, hostKind.able[0])}); ok {
					fixed = max(fixed, slots[0].Fixed)
				}
			}
			hostKind.fixed = append(hostKind.fixed, fixed)
		}
		s.kinds = append(s.kinds, hostKind)
	}
	return s, s.standalone()
}

func (s *search) counts() (counts []int) {
	for _, c := range s.fleet.Containers {
		counts = append(counts, c.Count)
	}
	return counts
}

// standalone predicts what one container of each demand does alone.
func (s *search) standalone() error {
	s.alone, s.quick = make([]float64, len(s.fleet.Containers)), make([]float64, len(s.fleet.Containers))
	var unknown []error
	greatest, fastest := 0.0, 0.0
	for d, containers := range s.fleet.Containers {
		s.quick[d] = math.Inf(1)
		var why error
		for _, kind := range s.kinds {
			for _, drive := range kind.able {
				if kind.refuses(d, drive) != "" {
					continue
				}
				solved, err := kind.model.Solve(kind.is, []model.Placed{kind.single(d, drive)})
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
			unknown = append(unknown, fmt.Errorf("%s: %w", containers.Name, why))
		}
		if containers.MostP99 > 0 && math.IsInf(s.quick[d], 1) && s.alone[d] > 0 {
			unknown = append(unknown, fmt.Errorf("%s: they have a limit of p99, and no p99 of their class was measured",
				containers.Name))
		}
		if s.fleet.Objective == WorstP99 && math.IsInf(s.quick[d], 1) && s.alone[d] > 0 {
			unknown = append(unknown, fmt.Errorf("%s: no p99 was measured of their class, and the plan is to have the least",
				containers.Name))
		}
		greatest += containers.weight() * s.alone[d] * float64(containers.Count)
		fastest = max(fastest, containers.weight()*s.alone[d])
	}
	cheapest, dearest, hosts := math.Inf(1), 0.0, 0
	for _, k := range s.kinds {
		hosts += k.Count
		price := k.price()
		cheapest, dearest = min(cheapest, price), max(dearest, price)
	}
	s.cheap = 1e-3 * cheapest / max(greatest, 1)
	s.penalty, s.leftPenalty = 2*fastest, greatest+1
	if s.fleet.Objective == FewHosts {
		s.penalty, s.leftPenalty = 4*dearest, dearest*float64(hosts)+1
	}
	return errors.Join(unknown...)
}

// reach looks for the best plan by the fleet's objective. If the worst of all containers counts, reach makes the goal
// stricter step by step, and keeps the strictest plan. Then reach looks for the plan of the highest rate that is as
// strict. As in generate, a step during which time runs out changes nothing.
func (s *search) reach(counts []int) found {
	objective := s.fleet.Objective
	if objective != WorstP99 && objective != Fairness {
		return s.best(counts, s.usual())
	}
	best := s.best(counts, goal{first: true})
	if best.unplaced() > 0 {
		return best
	}
	// Each step starts from the best plan so far.
	stricter := func(tighter goal) bool {
		next := s.tightened(best, tighter)
		if next.unplaced() > 0 && !s.stopped() {
			clone := *s
			clone.effort = s.asked() + s.effort/stepsOfEffort
			next = clone.best(counts, tighter)
		}
		if next.unplaced() > 0 || s.stopped() {
			return false
		}
		best = next
		return true
	}
	p99, kept := s.worst(best)
	var bound float64 // none of the plans that were looked at is beyond it
	var attained goal // what the best plan keeps
	failed := false   // first by small steps, which are soon made
	switch objective {
	case WorstP99:
		low := 0.0 // no plan has less
		for d, c := range counts {
			if c > 0 {
				low = max(low, s.quick[d])
			}
		}
		high, least, near := p99, low, roughly
		for range mostSteps {
			if high <= low*(1+near) && near > within { // from a better plan, steps may go further than they did
				low, near = least, within
			}
			if high <= low*(1+near) || s.stopped() {
				break
			}
			middle := math.Sqrt(low * high)
			if !failed {
				middle = max(middle, high/firstStep)
			}
			if stricter(goal{p99: middle, first: true}) {
				high, _ = s.worst(best)
			} else if !s.stopped() {
				low, failed = middle, true
			}
		}
		bound, attained = low, goal{p99: high}
	case Fairness:
		low, high := kept, 1.0
		for range mostSteps {
			if high <= low*(1+within) || s.stopped() {
				break
			}
			middle := (low + high) / 2
			if !failed && low > 0 {
				middle = min(middle, low*firstStep)
			}
			if stricter(goal{least: middle, first: true}) {
				_, low = s.worst(best)
			} else if !s.stopped() {
				high, failed = middle, true
			}
		}
		bound, attained = high, goal{least: low}
	}
	if !s.stopped() {
		clone := *s
		clone.effort, clone.from = s.asked()+s.effort/stepsOfEffort, &best
		if next := clone.best(counts, attained); !s.stopped() {
			best = betterOf(next, best)
		}
	}
	best.mixed = bound
	return best
}

// How often limits of the worst container are made stricter at most, what part of the effort a step may take, and by
// how many times limits become stricter at first.
const (
	mostSteps     = 60
	stepsOfEffort = 8
	firstStep     = 1.3
)

// tightened returns a plan for a stricter goal, made from another plan: hosts that keep the goal stay, and containers
// of the others go to hosts that keep it with them.
func (s *search) tightened(from found, goal goal) found {
	out := found{left: make([]int, len(s.fleet.Containers))}
	for _, group := range from.groups {
		if _, ok := s.worth(group.kind, group.filling, goal); ok {
			out.groups = append(out.groups, group)
			continue
		}
		for d, n := range s.kinds[group.kind].counts(group.filling) {
			out.left[d] += n * group.count
		}
	}
	s.complete(&out, s.hosts(), goal)
	out.mixed = math.NaN()
	return out
}

// How near to the best a plan for the worst container has to be, at first and in the end: a thousandth.
const (
	roughly = 0.05
	within  = 1e-3
)

// worst returns the greatest p99 of a plan, and the least share that a container keeps of what it would do alone.
func (s *search) worst(outcome found) (p99, kept float64) {
	kept = math.Inf(1)
	for _, group := range outcome.groups {
		known := s.kinds[group.kind].judged(group.filling, s.alone)
		p99, kept = max(p99, known.p99), min(kept, known.least)
	}
	return p99, kept
}

// mostIntervals is for how many groups of equal hosts intervals are computed, which takes some milliseconds for each.
const mostIntervals = 64

// plan returns the result of a search as a Plan.
func (s *search) plan(outcome found) *Plan {
	plan := &Plan{Objective: s.fleet.Objective, Asked: s.asked()}
	for _, k := range s.kinds {
		plan.Of += k.Count
	}
	next := make([]int, len(s.kinds)) // number of the next host of each kind
	p99, kept := s.worst(outcome)
	plan.P99, plan.Kept = alone(p99), model.Number(kept)
	groups := make([]Filled, len(outcome.groups)) // what is predicted of each is known now, so that it is only read
	var workers errgroup.Group
	workers.SetLimit(runtime.GOMAXPROCS(0))
	for i, group := range outcome.groups {
		workers.Go(func() error {
			groups[i] = s.filled(group, i < mostIntervals && !s.late())
			return nil
		})
	}
	_ = workers.Wait() // none fails
	for i, group := range outcome.groups {
		kind, filled := s.kinds[group.kind], groups[i]
		for range group.count {
			next[group.kind]++
			filled.Hosts = append(filled.Hosts, hostName(kind.Hosts, next[group.kind]))
		}
		plan.Used += group.count
		plan.Placed += group.count * group.filling.total()
		plan.Price += kind.price() * float64(group.count)
		count := model.Number(group.count)
		plan.Rate.Value += count * filled.Rate.Value
		plan.Rate.Low += count * filled.Rate.Low
		plan.Rate.High += count * filled.Rate.High
		for _, st := range filled.Stands {
			if st.P99.Value >= plan.P99.Value*(1-slack) {
				plan.P99 = st.P99
			}
		}
		plan.Hosts = append(plan.Hosts, filled)
	}
	plan.Late = s.late()
	plan.Crowds, plan.Doubts = s.crowded(outcome), s.doubts(outcome)
	plan.Worth = s.worthOf(plan, outcome)
	s.explain(plan, outcome)
	s.bound(plan, outcome)
	for d, n := range outcome.left {
		if n > 0 {
			plan.Left = append(plan.Left, Left{s.fleet.Containers[d].Name, n, s.why(outcome, d), s.never(d) != ""})
		}
	}
	return plan
}

// alone returns an estimate without an interval.
func alone(v float64) model.Estimate {
	nan := model.Number(math.NaN())
	return model.Estimate{Value: model.Number(v), Low: nan, High: nan}
}

// filled returns a group of hosts with its predictions, and with intervals if these are asked for.
func (s *search) filled(group chosen, intervals bool) Filled {
	kind := s.kinds[group.kind]
	known := kind.judged(group.filling, s.alone)
	out := Filled{Kind: kind.Name, Rate: alone(known.rate), Binds: known.solved.Binds, Of: known.solved.Of,
		kind: group.kind, filling: group.filling, judged: known, memory: float64(kind.is.Host.MemoryBytes)}
	if len(known.solved.Tenants) == 0 {
		out.Stands = kind.unpredicted(group.filling)
		return out
	}
	placed := kind.placed(group.filling)
	uses, _ := kind.model.Uses(kind.is, placed) // it was solved before
	held := 0.0
	ask := model.Ask{Host: kind.is.Host, Drives: kind.is.Drives}
	for i, predicted := range known.solved.Tenants {
		demand, drive := kind.split(known.slots[i])
		count := placed[i].Count
		held += predicted.Needs * float64(count)
		rate := predicted.Rate / float64(count)
		stands := Stands{Containers: s.fleet.Containers[demand].Name, Count: count, Rate: alone(rate),
			Mean: alone(predicted.Mean), P99: alone(predicted.P99), Memory: predicted.Needs, Kept: rate / s.alone[demand],
			demand: demand, drive: kind.able[drive]}
		tenant := model.Tenant{Class: kind.model.Classes[placed[i].Class].Name, Count: count, Own: placed[i].Own, Think: -1}
		if stands.drive >= 0 {
			hostDrive := kind.Is.Drives[stands.drive]
			stands.Drive, tenant.Drive = hostDrive.Name, hostDrive.Name
			if hostDrive.Target != nil {
				stands.Target = hostDrive.Target.Name
			}
		}
		out.Stands, ask.Tenants = append(out.Stands, stands), append(ask.Tenants, tenant)
	}
	if memory := float64(kind.is.Host.MemoryBytes); memory > 0 {
		out.Uses = append(out.Uses, model.Use{Resource: model.Memory, Share: model.Number(held / memory)})
	}
	for _, use := range uses {
		equal := func(v model.Use) bool { return v.Resource == use.Resource && v.Name == use.Name }
		if i := slices.IndexFunc(out.Uses, equal); i >= 0 {
			out.Uses[i].Share = max(out.Uses[i].Share, use.Share)
		} else {
			out.Uses = append(out.Uses, use)
		}
	}
	if !intervals {
		return out
	}
	answer, err := kind.model.Predict(ask)
	if err != nil { // a planner may ask for more than Predict answers: no interval is known
		out.Outside = []string{err.Error()}
		return out
	}
	out.Rate, out.Binds, out.Of, out.Outside = answer.Rate, answer.Binds, answer.BindsName, answer.Outside
	for i, tenant := range answer.Tenants {
		count := model.Number(tenant.Count)
		out.Stands[i].Rate = model.Estimate{Value: tenant.Rate.Value / count, Low: tenant.Rate.Low / count,
			High: tenant.Rate.High / count}
		out.Stands[i].Mean, out.Stands[i].P99 = tenant.Mean, tenant.P99
	}
	for _, w := range answer.Worth {
		out.worth = append(out.worth, Worth{kind.Name, w.Resource, w.Name, w.Power.Value})
	}
	return out
}

// unpredicted returns containers of a filling that the model cannot predict.
func (k *kind) unpredicted(fill filling) (out []Stands) {
	unknown := alone(math.NaN())
	for slot, n := range fill {
		if n == 0 {
			continue
		}
		demand, drive := k.split(slot)
		stands := Stands{Containers: k.fleet.Containers[demand].Name, Count: int(n), Rate: unknown, Mean: unknown,
			P99: unknown, demand: demand, drive: k.able[drive]}
		if stands.drive >= 0 {
			hostDrive := k.Is.Drives[stands.drive]
			stands.Drive = hostDrive.Name
			if hostDrive.Target != nil {
				stands.Target = hostDrive.Target.Name
			}
		}
		out = append(out, stands)
	}
	return out
}

// broken returns all limits and wishes that are broken on groups of hosts.
func (s *search) broken(groups []Filled) (broken []Broken) {
	for _, group := range groups {
		for _, b := range group.judged.breaches {
			broken = append(broken, Broken{s.fleet.Containers[b.demand].Name, group.Hosts, b.count, b.why})
		}
	}
	return broken
}

// worthOf returns the gain of the whole fleet from 1% more of each resource of a kind of hosts.
func (s *search) worthOf(plan *Plan, outcome found) (gains []Worth) {
	for i, group := range plan.Hosts {
		for _, gain := range group.worth {
			gain.Power *= group.Rate.Value * model.Number(outcome.groups[i].count) / plan.Rate.Value
			equal := func(v Worth) bool { return v.Kind == gain.Kind && v.Resource == gain.Resource && v.Name == gain.Name }
			if index := slices.IndexFunc(gains, equal); index >= 0 {
				gains[index].Power += gain.Power
			} else {
				gains = append(gains, gain)
			}
		}
	}
	gains = slices.DeleteFunc(gains, func(w Worth) bool { return !(w.Power >= leastWorth) })
	slices.SortStableFunc(gains, func(a, b Worth) int { return cmp.Compare(b.Power, a.Power) })
	return gains
}

// leastWorth is the least gain that is shown, in percent of the fleet's operations for a percent more of the resource.
const leastWorth = 0.01

// bound sets how far a plan may be off the best.
func (s *search) bound(plan *Plan, outcome found) {
	counts := s.counts()
	for d := range counts {
		counts[d] -= outcome.left[d]
	}
	unmet := slices.ContainsFunc(plan.Hosts, func(h Filled) bool { return len(h.judged.breaches) > 0 })
	if plan.Proven = true; unmet || plan.Placed == 0 { // no plan that keeps all limits is comparable
		unknown := model.Number(math.NaN())
		plan.Proven, plan.Reached, plan.Bound, plan.Gap, plan.Near = false, plan.Rate.Value, unknown, unknown, unknown
		return
	}
	switch s.fleet.Objective {
	case Throughput:
		rate := s.rate(outcome)
		bound := rate / (1 - evenly)
		if !outcome.proven {
			bound = math.Inf(1)
			if outcome.proof == nil || !s.stopped() {
				bound = s.relaxed(counts, false)
			}
			if outcome.proof != nil {
				bound = min(bound, outcome.proof.bound(counts)*(1+slack))
			}
			if outcome.free != nil && outcome.free.unplaced() == outcome.unplaced() {
				bound = min(bound, s.rate(*outcome.free)/(1-evenly))
			}
			bound = max(rate, bound)
			plan.Near = model.Number(max(0, 1-rate/outcome.mixed)) // NaN stays
		}
		plan.Reached, plan.Bound, plan.Gap = model.Number(rate), model.Number(bound), model.Number(1-rate/bound)
	case FewHosts:
		bound := plan.Price
		if !outcome.proven {
			bound = max(0, s.relaxed(counts, true))
			if outcome.proof != nil {
				bound = max(bound, -outcome.proof.bound(counts)*(1-slack))
			}
			plan.Near = model.Number(max(0, 1+outcome.mixed/plan.Price))
			if outcome.free != nil && outcome.free.unplaced() == outcome.unplaced() {
				bound = max(bound, s.paid(*outcome.free))
			}
			if unit := s.priceUnit(); unit > 0 {
				bound = unit * math.Ceil(bound/unit-1e-6)
			}
		}
		plan.Reached, plan.Bound = model.Number(plan.Price), model.Number(bound)
		plan.Gap = model.Number(max(0, 1-bound/plan.Price))
	case WorstP99:
		plan.Proven, plan.Bound, plan.Reached = outcome.proven, model.Number(outcome.mixed), plan.P99.Value
		plan.Gap = max(0, 1-plan.Bound/plan.Reached)
	case Fairness:
		plan.Proven, plan.Bound, plan.Reached = outcome.proven, model.Number(outcome.mixed), plan.Kept
		plan.Gap = max(0, 1-plan.Reached/plan.Bound)
	}
}

// rate returns the operations a second of all containers, each with its weight.
func (s *search) rate(outcome found) (sum float64) {
	for _, group := range outcome.groups {
		sum += s.kinds[group.kind].judged(group.filling, s.alone).value * float64(group.count)
	}
	return sum
}

// paid returns the price of all hosts in use.
func (s *search) paid(outcome found) (sum float64) {
	for _, group := range outcome.groups {
		sum += s.kinds[group.kind].price() * float64(group.count)
	}
	return sum
}

// priceUnit returns the greatest number that all prices are multiples of, and so every sum of them; 0 where it is too
// small to say anything.
func (s *search) priceUnit() (unit float64) {
	greatest := 0.0
	for _, kind := range s.kinds {
		greatest = max(greatest, kind.price())
	}
	for _, kind := range s.kinds {
		for divisor := kind.price(); divisor > priceSlack*greatest; {
			rest := math.Mod(unit, divisor)
			if divisor-rest < priceSlack*greatest {
				rest = 0
			}
			unit, divisor = divisor, rest
		}
	}
	if unit < leastUnit*greatest {
		return 0
	}
	return unit
}

// What prices are rounded to, and the least unit that says something, as shares of the greatest price.
const (
	priceSlack = 1e-9
	leastUnit  = 1e-3
)

// hostName returns the name of the host with a number, from 1, of equal hosts; a single host has the name of its kind.
func hostName(hosts *Hosts, number int) string {
	if hosts.Names != nil {
		return hosts.Names[number-1]
	}
	if hosts.Count == 1 {
		return hosts.Name
	}
	return fmt.Sprintf("%s-%d", hosts.Name, number)
}

// why returns what keeps one more container of a demand from the hosts of a plan: what it would break on most of them.
func (s *search) why(outcome found, demand int) string {
	if why := s.never(demand); why != "" {
		return "no host takes even one: " + why
	}
	hosts := map[string]int{}
	commonest := ""
	full := free(s.hosts(), outcome.groups)
	groups := slices.Clone(outcome.groups)
	for k, n := range full {
		groups = append(groups, chosen{k, n, make(filling, s.kinds[k].slots())})
	}
	for _, group := range groups {
		if group.count == 0 {
			continue
		}
		why := s.kinds[group.kind].keepsOut(group.filling, demand, s.alone)
		if why == "" {
			why = "it would do so only at the cost of the objective"
		}
		if hosts[why] += group.count; commonest == "" || hosts[why] > hosts[commonest] {
			commonest = why
		}
	}
	if commonest == "" {
		return "there is no host"
	}
	return fmt.Sprintf("one more on %s: %s", plural.Count(hosts[commonest], "host"), strings.TrimSuffix(commonest, "."))
}

// keepsOut returns why one more container of a demand may not stand on any drive of a host; "" if it may.
func (k *kind) keepsOut(fill filling, demand int, alone []float64) (why string) {
	for drive := range k.able {
		slot := k.slot(demand, drive)
		clash := fmt.Sprintf("a plan has at most %d of a kind on one drive", mostOfOne)
		if fill[slot] < mostOfOne {
			if clash = k.fill(fill.adjusted(slot, 1), alone).clash; clash == "" {
				return ""
			}
		}
		if why == "" || k.refuses(demand, k.able[drive]) == "" { // what may not be mended is the last to name
			why = clash
		}
	}
	return why
}

// never returns why no empty host takes a single container of a demand; "" if one does, or if that depends on other
// containers next to it.
func (s *search) never(demand int) (why string) {
	if len(s.fleet.Containers[demand].Beside) > 0 {
		return ""
	}
	for _, kind := range s.kinds {
		if kind.Count == 0 {
			continue
		}
		clash := kind.keepsOut(make(filling, kind.slots()), demand, s.alone)
		if clash == "" {
			return ""
		}
		if why == "" || strings.Contains(why, "may not stand on") {
			why = clash
		}
	}
	return strings.TrimSuffix(why, ".")
}

func (s *search) hosts() (counts []int) {
	for _, kind := range s.kinds {
		counts = append(counts, kind.Count)
	}
	return counts
}
