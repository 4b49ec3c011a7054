package placement

import (
	"cmp"
	"math"
	"slices"
)

// merit orders placements: the fewest containers that break something, then the fewest that
// stand nowhere, then the greatest value.
type merit struct {
	broken, unplaced int
	value            float64
}

// compare returns 1 for a better placement than another, -1 for a worse one, and 0 for equal ones. Values that differ
// by rounding errors are equal.
func (a merit) compare(other merit) int {
	if order := cmp.Or(cmp.Compare(other.broken, a.broken), cmp.Compare(other.unplaced, a.unplaced)); order != 0 {
		return order
	}
	if math.Abs(a.value-other.value) <= 1e-9*max(math.Abs(a.value), math.Abs(other.value)) {
		return 0
	}
	return cmp.Compare(a.value, other.value)
}

func (a merit) plus(b merit) merit {
	return merit{a.broken + b.broken, a.unplaced + b.unplaced, a.value + b.value}
}

func (a merit) minus(b merit) merit {
	return merit{a.broken - b.broken, a.unplaced - b.unplaced, a.value - b.value}
}

// fillingMerit returns the merit of a filling on a kind of hosts, whatever it breaks.
func (s *search) fillingMerit(k int, fill filling, goal goal) merit {
	if fill.total() == 0 {
		return merit{}
	}
	known := s.kinds[k].judged(fill, s.alone)
	if goal.price {
		return merit{broken: known.broken, value: s.cheap*known.worth - s.kinds[k].price()}
	}
	return merit{broken: known.broken, value: known.worth}
}

// leaves returns how many containers leave their slots if the filling of a host changes.
func leaves(from, to filling) (n int) {
	for i := range from {
		n += max(0, int(from[i])-int(to[i]))
	}
	return n
}

// rearrange returns the best placement that at most so many moves lead to from the present one. For small fleets the
// result is exact; for others it is the best that single moves, pairs of moves and emptied hosts lead to.
func (s *search) rearrange(now []standingHost, moves int) found {
	goal := s.usual()
	arranged := newArrangement(s, now, moves)
	exact := arranged.exact()
	out := found{mixed: math.NaN(), exact: exact}
	if free, ok := s.exact(s.counts(), goal); ok {
		out.free = &free
	}
	if !exact {
		arranged.improve()
		clone := *s
		clone.effort += s.asked()
		free := clone.best(s.counts(), goal)
		out.proof = free.proof
		if goals := s.assigned(now, free.groups); free.unplaced() <= sum(arranged.left) && !s.stopped() {
			alternative := *arranged
			alternative.hosts, alternative.left = slices.Clone(now), free.left
			for h := range alternative.hosts {
				alternative.hosts[h].filling = goals[h]
			}
			if alternative.moved() <= moves && alternative.total().compare(arranged.total()) > 0 {
				*arranged = alternative
			}
		}
	}
	out.groups, out.left = grouped(arranged.hosts), arranged.left
	out.value = s.value(out.groups, goal)
	for _, host := range arranged.hosts {
		out.goals = append(out.goals, host.filling)
	}
	return out
}

// arrangement is a placement that some moves lead to.
type arrangement struct {
	search    *search
	goal      goal
	now       []standingHost // before all moves
	hosts     []standingHost
	left      []int // of each demand, that stand nowhere
	mostMoves int   // moves
}

func newArrangement(search *search, now []standingHost, moves int) *arrangement {
	out := &arrangement{search: search, goal: search.usual(), now: now, hosts: slices.Clone(now), left: search.counts(),
		mostMoves: moves}
	for _, host := range now {
		for d, n := range search.kinds[host.kind].counts(host.filling) {
			out.left[d] -= n
		}
	}
	return out
}

// moved returns how many standing containers are to move.
func (a *arrangement) moved() (n int) {
	for h := range a.hosts {
		n += leaves(a.now[h].filling, a.hosts[h].filling)
	}
	return n
}

func (a *arrangement) total() merit {
	total := merit{unplaced: sum(a.left)}
	for _, host := range a.hosts {
		total = total.plus(a.search.fillingMerit(host.kind, host.filling, a.goal))
	}
	return total
}

// reach is a filling that a host can have, its containers of each demand, and how many leave the host for it.
type reach struct {
	filling filling
	counts  []int
	moves   int
	merit   merit
}

// reaches returns the fillings of a host that at most mostMoves moves lead to; of those with the same counts and moves
// only the best. ok is false if there are too many.
func (a *arrangement) reaches(host int) (out []reach, ok bool) {
	search := a.search
	before := a.now[host]
	kind := search.kinds[before.kind]
	counts := search.counts()
	come := a.mostMoves + sum(a.left) // at most
	best := map[string]int{}
	fill, looked := make(filling, len(before.filling)), 0
	left := slices.Clone(counts)
	var walk func(slot, leave, arrive int) bool
	walk = func(slot, leave, arrive int) bool {
		if slot == len(fill) {
			if looked++; looked > smallFillings {
				return false
			}
			candidate := reach{slices.Clone(fill), kind.counts(fill), leave, search.fillingMerit(before.kind, fill, a.goal)}
			key := make([]byte, 0, len(candidate.counts)+1)
			for _, n := range candidate.counts {
				key = append(key, byte(n))
			}
			identity := string(append(key, byte(leave)))
			if i, has := best[identity]; !has {
				best[identity] = len(out)
				out = append(out, candidate)
			} else if candidate.merit.compare(out[i].merit) > 0 {
				out[i] = candidate
			}
			return true
		}
		demand, _ := kind.split(slot)
		was := int(before.filling[slot])
		for count := max(0, was-(a.mostMoves-leave)); count <= min(was+come-arrive, left[demand], mostOfOne); count++ {
			fill[slot] = uint8(count)
			left[demand] -= count
			fits := walk(slot+1, leave+max(0, was-count), arrive+max(0, count-was))
			left[demand] += count
			if !fits {
				return false
			}
		}
		fill[slot] = 0
		return true
	}
	ok = walk(0, 0, 0)
	return out, ok
}

// exact finds the best placement by dynamic programming over what is placed and moved, host by host. If the fleet is
// too large for that, exact reports false and changes nothing.
func (a *arrangement) exact() bool {
	search := a.search
	counts := search.counts()
	states, stand := 1.0, 0
	for d, n := range counts {
		if n >= mostOfOne {
			return false
		}
		states *= float64(n + 1)
		stand += n - a.left[d]
	}
	mostMoves := min(a.mostMoves, stand)
	if mostMoves >= mostOfOne || states*float64(mostMoves+1)*float64(len(a.now)) > smallSteps {
		return false
	}
	bounded := *a
	bounded.mostMoves = mostMoves
	options, steps := make([][]reach, len(a.now)), 0.0
	for h := range a.now {
		var ok bool
		if options[h], ok = bounded.reaches(h); !ok {
			return false
		}
		if steps += states * float64((mostMoves+1)*len(options[h])); steps > smallSteps {
			return false
		}
	}
	place := make([]int, len(counts)) // of each demand in the number of a state
	size := 1
	for d, n := range counts {
		place[d] = size
		size *= n + 1
	}
	has := func(state, demand int) int { return state / place[demand] % (counts[demand] + 1) }
	type cell struct {
		merit   merit
		reached bool
	}
	type step struct{ option, from int32 }
	width := mostMoves + 1
	best := make([]cell, size*width)
	best[0].reached = true
	ways := make([][]step, len(a.now))
	for h := range a.now {
		next := make([]cell, size*width)
		ways[h] = make([]step, size*width)
		for from, entry := range best {
			if !entry.reached {
				continue
			}
			state, moves := from/width, from%width
		each:
			for i := range options[h] {
				option := &options[h][i]
				if moves+option.moves > mostMoves {
					continue
				}
				to := state
				for d, n := range option.counts {
					if has(state, d)+n > counts[d] {
						continue each
					}
					to += n * place[d]
				}
				target := to*width + moves + option.moves
				if merit := entry.merit.plus(option.merit); !next[target].reached || merit.compare(next[target].merit) > 0 {
					next[target], ways[h][target] = cell{merit, true}, step{int32(i), int32(from)}
				}
			}
		}
		best = next
	}
	end := -1
	var bestMerit merit
	for moves := range width { // of equal ones that with the fewest moves
		for state := range size {
			entry := best[state*width+moves]
			stop := !entry.reached
			for d := range counts {
				stop = stop || has(state, d) < counts[d]-a.left[d] // none that stands is stopped
				entry.merit.unplaced += counts[d] - has(state, d)
			}
			if !stop && (end < 0 || entry.merit.compare(bestMerit) > 0) {
				end, bestMerit = state*width+moves, entry.merit
			}
		}
	}
	if end < 0 {
		return false
	}
	for d := range counts {
		a.left[d] = counts[d] - has(end/width, d)
	}
	for h := len(a.now) - 1; h >= 0; h-- {
		way := ways[h][end]
		a.hosts[h].filling = options[h][way.option].filling
		end = int(way.from)
	}
	return true
}

// swing is a container that goes from a slot of a host to a slot of another, or of the same. from is -1 for a container
// that stands nowhere.
type swing struct{ demand, from, out, to, in int }

// change is some swings and what they change.
type change struct {
	swings []swing
	merit  merit
	moves  int
}

// better reports whether a change mends more than another, or mends as much and adds more value for each move.
func (c change) better(than change) bool {
	a, b := c.merit, than.merit
	a.value /= float64(max(1, c.moves))
	b.value /= float64(max(1, than.moves))
	return a.compare(b) > 0
}

// tables has the merit of one container removed and one added in each slot, on hosts that are alike.
type tables struct {
	host    int // one of them
	twin    int // another one; -1 for none
	removed []merit
	added   []merit
}

// How many single moves become pairs: of those that are worth most, and of those whose worth is not known, as their
// hosts are overfull before the second move.
const (
	mostFirst   = 24
	mostUnknown = 12
)

// improve makes the best of single moves, pairs of moves and emptied hosts, as long as one makes the placement better.
func (a *arrangement) improve() {
	for range 4*a.mostMoves + sum(a.left) + len(a.now) {
		best := a.bestChange()
		if best.swings == nil || a.search.stopped() { // some changes were not looked at
			return
		}
		for _, swing := range best.swings {
			a.make(swing)
		}
	}
}

func (a *arrangement) make(swing swing) {
	if swing.from >= 0 {
		a.hosts[swing.from].filling = a.hosts[swing.from].filling.adjusted(swing.out, -1)
	} else {
		a.left[swing.demand]--
	}
	a.hosts[swing.to].filling = a.hosts[swing.to].filling.adjusted(swing.in, 1)
}

func (a *arrangement) undo(swing swing) {
	a.hosts[swing.to].filling = a.hosts[swing.to].filling.adjusted(swing.in, -1)
	if swing.from >= 0 {
		a.hosts[swing.from].filling = a.hosts[swing.from].filling.adjusted(swing.out, 1)
	} else {
		a.left[swing.demand]++
	}
}

// table returns what one container more or fewer changes on a host, and on its twin.
func (a *arrangement) table(host, twin int) tables {
	state := a.hosts[host]
	out := tables{host, twin, make([]merit, len(state.filling)), make([]merit, len(state.filling))}
	is := a.search.fillingMerit(state.kind, state.filling, a.goal)
	kind := a.search.kinds[state.kind]
	for i, n := range state.filling {
		if n > 0 {
			out.removed[i] = a.search.fillingMerit(state.kind, state.filling.adjusted(i, -1), a.goal).minus(is)
		}
		if d, drive := kind.split(i); n < mostOfOne && kind.refuses(d, kind.able[drive]) == "" {
			out.added[i] = a.search.fillingMerit(state.kind, state.filling.adjusted(i, 1), a.goal).minus(is)
		} else {
			out.added[i] = merit{broken: math.MaxInt32}
		}
	}
	return out
}

// alike returns a table for each group of hosts that have the same filling now and had the same before all moves.
func (a *arrangement) alike() (out []tables) {
	type key struct {
		kind    int
		was, is string
	}
	members := map[key][]int{}
	var keys []key
	for h := range a.hosts {
		id := key{a.hosts[h].kind, a.now[h].filling.key(), a.hosts[h].filling.key()}
		if len(members[id]) == 0 {
			keys = append(keys, id)
		}
		members[id] = append(members[id], h)
	}
	for _, id := range keys {
		twin := -1
		if len(members[id]) > 1 {
			twin = members[id][1]
		}
		out = append(out, a.table(members[id][0], twin))
	}
	return out
}

// swings calls visit with each swing between hosts of tables, and what it changes.
func (a *arrangement) swings(from, to []tables, visit func(w swing, is merit)) {
	kinds := a.search.kinds
	arrive := func(demand, source, out int, gone merit) {
		for _, table := range to {
			kind := kinds[a.hosts[table.host].kind]
			for drive := range kind.able {
				in := kind.slot(demand, drive)
				candidate := swing{demand, source, out, table.host, in}
				switch {
				case table.added[in].broken == math.MaxInt32:
					continue
				case source != table.host || table.twin >= 0:
					if source == table.host {
						candidate.to = table.twin
					}
					visit(candidate, gone.plus(table.added[in]))
				}
				if source == table.host && in != out { // another drive of the same host
					host := a.hosts[source]
					before := a.search.fillingMerit(host.kind, host.filling, a.goal)
					after := a.search.fillingMerit(host.kind, host.filling.adjusted(out, -1).adjusted(in, 1), a.goal)
					visit(swing{demand, source, out, source, in}, after.minus(before))
				}
			}
		}
	}
	for d, n := range a.left {
		if n > 0 {
			arrive(d, -1, 0, merit{unplaced: -1})
		}
	}
	for _, table := range from {
		host := a.hosts[table.host]
		for out, n := range host.filling {
			if n > 0 {
				d, _ := kinds[host.kind].split(out)
				arrive(d, table.host, out, table.removed[out])
			}
		}
	}
}

// moves returns how many more containers move with a swing: -1, 0 or 1.
func (a *arrangement) moves(swing swing) (n int) {
	if swing.from >= 0 && a.hosts[swing.from].filling[swing.out] <= a.now[swing.from].filling[swing.out] {
		n++
	}
	if a.hosts[swing.to].filling[swing.in] < a.now[swing.to].filling[swing.in] {
		n--
	}
	return n
}

// bestChange returns the change that adds most to a placement for each move; one without swings if none adds anything.
func (a *arrangement) bestChange() (best change) {
	budget := a.mostMoves - a.moved()
	groups := a.alike()
	firsts, unknown := newTop[change](mostFirst), newTop[change](mostUnknown)
	a.swings(groups, groups, func(move swing, gain merit) {
		candidate := change{[]swing{move}, gain, a.moves(move)}
		if candidate.moves > budget {
			return
		}
		if gain.compare(merit{}) > 0 && candidate.better(best) {
			best = candidate
		}
		if to := a.hosts[move.to]; a.search.kinds[to.kind].judged(to.filling.adjusted(move.in, 1), a.search.alone).rate == 0 {
			unknown.add(-float64(to.filling.total()), candidate)
		} else {
			firsts.add(gain.value, candidate)
		}
	})
	for _, first := range slices.Concat(firsts.sorted(), unknown.sorted()) {
		if a.search.spent() {
			break
		}
		firstSwing := first.swings[0]
		a.make(firstSwing)
		changed := []tables{a.table(firstSwing.to, -1)}
		if firstSwing.from >= 0 && firstSwing.from != firstSwing.to {
			changed = append(changed, a.table(firstSwing.from, -1))
		}
		unchanged := unaffected(groups, firstSwing.from, firstSwing.to)
		see := func(second swing, gain merit) {
			candidate := change{[]swing{firstSwing, second}, first.merit.plus(gain), first.moves + a.moves(second)}
			if candidate.moves <= budget && candidate.merit.compare(merit{}) > 0 && candidate.better(best) {
				best = candidate
			}
		}
		a.swings(changed, slices.Concat(changed, unchanged), see)
		a.swings(unchanged, changed, see)
		a.undo(firstSwing)
	}
	if a.goal.price {
		for _, table := range groups {
			if candidate := a.emptied(table.host, budget); candidate.swings != nil && candidate.better(best) {
				best = candidate
			}
		}
	}
	return best
}

// unaffected returns the tables of the hosts that are not among those that change.
func unaffected(groups []tables, hosts ...int) (out []tables) {
	for _, table := range groups {
		if slices.Contains(hosts, table.twin) {
			table.twin = -1
		}
		if slices.Contains(hosts, table.host) {
			table.host, table.twin = table.twin, -1
		}
		if table.host >= 0 {
			out = append(out, table)
		}
	}
	return out
}

// emptied returns the change that empties a host and puts each container where it adds most; one without swings if
// that is not better.
func (a *arrangement) emptied(host, budget int) (out change) {
	fill, earlier := a.hosts[host].filling, a.now[host].filling
	if n := fill.total(); n == 0 || n > budget+n-leaves(fill, earlier) {
		return out
	}
	copied := *a
	copied.hosts, copied.left = slices.Clone(a.hosts), slices.Clone(a.left)
	before := a.total()
	for copied.hosts[host].filling.total() > 0 {
		var best change
		groups := copied.alike()
		targets := slices.DeleteFunc(slices.Clone(groups), func(t tables) bool {
			return t.host == host || copied.hosts[t.host].filling.total() == 0
		})
		copied.swings([]tables{copied.table(host, -1)}, targets, func(candidate swing, gain merit) {
			gone := copied.hosts[host].filling[candidate.out]
			if candidate.from == host && gone > 0 && gain.broken <= 0 && (best.swings == nil || gain.compare(best.merit) > 0) {
				best = change{swings: []swing{candidate}, merit: gain}
			}
		})
		if best.swings == nil {
			return change{}
		}
		copied.make(best.swings[0])
		out.swings = append(out.swings, best.swings[0])
	}
	out.merit, out.moves = copied.total().minus(before), copied.moved()-a.moved()
	if out.moves > budget || out.merit.compare(merit{}) <= 0 {
		return change{}
	}
	return out
}
