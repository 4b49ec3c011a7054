package placement

import (
	"cmp"
	"math"
	"slices"
	"sync"
)

// column is a filling that a plan may be made of.
type column struct {
	kind    int
	filling filling
	counts  []int
	parts   []float64 // in place of counts, what a program of a cell has; nil for whole containers
	value   float64
}

// key returns the column as a key of maps.
func (c *column) key() string { return string(rune(c.kind)) + c.filling.key() }

// master solves the linear program of columns: how many hosts have which filling. c, a and b are those of maximize.
func (s *search) master(columns []column, hosts, counts []int) (x, worth []float64, value float64) {
	b := make([]float64, 0, len(hosts)+len(counts))
	for _, h := range hosts {
		b = append(b, float64(h))
	}
	for _, c := range counts {
		b = append(b, float64(c))
	}
	c, a := make([]float64, len(columns)), make([][]float64, len(columns))
	for j, col := range columns {
		a[j] = make([]float64, len(b))
		a[j][col.kind] = 1
		c[j] = col.value
		for i, n := range col.counts {
			a[j][len(hosts)+i] = float64(n)
			c[j] += s.penalty * float64(n)
		}
		for i, n := range col.parts {
			a[j][len(hosts)+i] = n
			c[j] += s.penalty * n
		}
	}
	return maximize(c, a, b)
}

// pass is how hard a search looks for better fillings: how many cells of each kind of hosts it looks at, how far in
// one go it climbs from what it finds, how many fillings it predicts for a step, and within what share of a mean host
// bounds are near enough.
type pass struct {
	cells, steps, tries int
	within              float64
}

// passes follow each other: the next begins when one finds little more.
var passes = [...]pass{{120, 3, 8, 0.02}, {40, 3, 12, 0.02}}

// The proof at the end.
const (
	proofCells  = 12_000 // of all kinds that it looks at
	proofStep   = 500    // cells of a kind in one go
	proofWithin = 0.004  // share of a mean host within which a bound is near enough
	proofSlow   = 0.2    // share of what is missing that a step brings at least, or else prices change
	proofParts  = 8      // cells of a kind in the linear program of new prices
	proofPace   = 0.5    // share of the way from the best prices to those of the linear program
)

// slow is the share by which a plan of parts of hosts becomes better in a round, below which the next pass begins.
const slow = 5e-4

// prove returns a proof: prices of containers, and an upper bound of what all hosts are worth at these prices. It
// divides cells. Where that lowers the bound little, it takes new prices from a linear program of the columns and
// of the cells with the greatest bounds, and computes the bounds of the same cells at the new prices (Kelley, The
// cutting-plane method for solving convex programs, 1960). It keeps the proof with the lowest bound. value is the
// best value of a plan with parts of hosts, below which no prices lead; mean is the value of a mean host.
func (s *search) prove(prices, rent []float64, value, mean float64, columns []column, hosts, counts []int,
	goal goal,
) (best *proof) {
	divisions := make([]*division, len(s.kinds))
	for k, kind := range s.kinds {
		if kind.cells == nil {
			return nil
		}
		divisions[k] = &division{cells: kind.cells, stop: s.stopped}
	}
	concurrently := func(work func(k int, d *division)) {
		var workers sync.WaitGroup
		for k, d := range divisions {
			workers.Go(func() { work(k, d) })
		}
		workers.Wait()
	}
	columns = slices.Clip(columns) // which others read
	least, bestRent, repriced, before := math.Inf(1), rent, true, math.Inf(1)
	for {
		if repriced {
			concurrently(func(k int, d *division) {
				scale, fixed := goal.scale(s, k)
				d.reprice(prices, scale, rent[k]+fixed+proofWithin*mean)
			})
			repriced, before = false, math.Inf(1)
		}
		next := &proof{prices: prices}
		looked, leaves, worst := 0, 0, 0.0
		excess := func(k int) float64 { // of cells that can be divided
			if len(divisions[k].open) == 0 {
				return 0
			}
			return float64(hosts[k]) * (divisions[k].bound() - divisions[k].enough)
		}
		for k, d := range divisions {
			_, fixed := goal.scale(s, k)
			next.hosts += float64(hosts[k]) * max(0, d.bound()-fixed)
			looked, leaves, worst = looked+d.looked, leaves+len(d.open)+len(d.closed), max(worst, excess(k))
		}
		bound := next.bound(counts)
		if bound < least {
			least, best, bestRent = bound, next, rent
		}
		if looked >= proofCells || worst == 0 || s.stopped() {
			return best
		}
		if before-bound < proofSlow*(bound-value) && looked+leaves*3/2 <= proofCells {
			for k, d := range divisions {
				_, fixed := goal.scale(s, k)
				columns = append(columns, d.columns(k, fixed)...)
			}
			_, worth, _ := s.master(columns, hosts, counts)
			rent, prices, repriced = slices.Clone(bestRent), slices.Clone(best.prices), true
			for k := range rent {
				rent[k] += proofPace * (worth[k] - rent[k])
			}
			for d := range prices {
				prices[d] += proofPace * (worth[len(hosts)+d] - s.penalty - prices[d])
			}
			continue
		}
		before = bound
		concurrently(func(k int, d *division) {
			if excess(k) >= worst/4 {
				d.until(d.looked + proofStep)
			}
		})
	}
}

// scale returns what an operation a second on a host of a kind is worth, and what the host costs.
func (g goal) scale(s *search, k int) (scale, fixed float64) {
	if g.price {
		return s.cheap, s.kinds[k].price()
	}
	return 1, 0
}

// nearly is the share of a mean host by which a filling that is kept may be worth less than its rent: prices change.
const nearly = 0.005

// proof is prices of containers, by demand, and what all hosts together are worth at most beyond them: no plan that
// places so many is worth more than their sum (Farley, A note on bounding a class of linear programming problems,
// 1990).
type proof struct {
	prices []float64
	hosts  float64
}

// bound returns an upper bound of plans that place so many of each demand.
func (p proof) bound(placed []int) float64 {
	sum := p.hosts
	for d, n := range placed {
		sum += p.prices[d] * float64(n)
	}
	return sum
}

// improvingShare is how much of the effort rounding and improving may take at least, in percent. New fillings may take
// all of the effort, and rounding and improving go beyond that: prices that are not the best prove little.
const improvingShare = 60

// generate finds a plan by column generation, and rounds it. It goes on in stages, each of which depends only on those
// before, and returns the best plan of those that ended before time was over: more time never ends worse.
func (s *search) generate(counts []int, goal goal) found {
	hosts := s.hosts()
	var columns []column
	have := map[string]bool{}
	add := func(k int, fill filling) (ok bool) {
		value, ok := s.worth(k, fill, goal)
		candidate := column{kind: k, filling: fill, counts: s.kinds[k].counts(fill), value: value}
		if ok && fill.total() > 0 && !have[candidate.key()] {
			have[candidate.key()] = true
			columns = append(columns, candidate)
		}
		return ok
	}
	for k := range s.kinds {
		s.kinds[k].cells, s.kinds[k].slopes = s.cellsOf(k, counts, goal), map[string][]float64{}
		for d, c := range counts {
			s.fill(k, d, min(c, mostOfOne), add)
		}
	}
	for _, c := range s.deal(counts) {
		add(c.kind, c.filling)
	}
	out := found{left: slices.Clone(counts)}
	if s.from != nil {
		out = found{groups: slices.Clone(s.from.groups), left: slices.Clone(s.from.left)}
	}
	first := *s
	first.time = nil // the first plan is made, however long that takes
	first.insert(&out, free(hosts, out.groups), goal)
	s.complete(&out, hosts, goal)
	last := math.Inf(-1)
	rounded := 0 // columns at the last rounding
	round := func() {
		if next := s.round(columns, hosts, counts, goal); !s.stopped() {
			out, rounded = betterOf(out, next), len(columns)
		}
	}
	var rent, prices, calm, calmRent []float64
	mean, before := 0.0, s.asked()
	for pass, rounds := 0, 1; ; rounds++ {
		if rounds&(rounds-1) == 0 && len(columns) > rounded && !s.stopped() {
			round()
		}
		if goal.enough(out) {
			break
		}
		parts, worth, value := s.master(columns, hosts, counts)
		rent, prices = worth[:len(hosts)], slices.Clone(worth[len(hosts):])
		for d := range prices {
			prices[d] -= s.penalty
		}
		value -= s.penalty * float64(sum(counts))
		mean = math.Abs(value) / float64(max(1, sum(hosts)))
		calm, calmRent = smoothed(calm, prices), smoothed(calmRent, rent)
		if pass == len(passes) || s.spent() {
			break
		}
		found := make([][]priced, len(s.kinds))
		var workers sync.WaitGroup
		for k := range s.kinds {
			workers.Go(func() {
				found[k] = s.price(k, columns, parts, prices, rent[k]+passes[pass].within*mean, counts, passes[pass], goal)
			})
		}
		workers.Wait()
		if s.stopped() { // some were not looked for to the end
			break
		}
		known := len(columns)
		for k, candidates := range found {
			for _, candidate := range candidates {
				if candidate.gain > rent[k]-nearly*mean {
					add(k, candidate.filling)
				}
			}
		}
		if len(columns) == known || value-last < slow*math.Abs(value) {
			pass, value = pass+1, math.Inf(-1)
		}
		last = value
	}
	_, _, mixed := s.master(columns, hosts, counts) // of all that was kept
	var proven *proof
	var proving sync.WaitGroup
	if goal.p99 == 0 && goal.least == 0 && !goal.first { // of the others no plan is bounded by it
		proving.Go(func() {
			proven = s.prove(calm, calmRent, mixed-s.penalty*float64(sum(counts)), mean, columns, hosts, counts, goal)
		}) // which asks the model nothing
	}
	improving := *s
	improving.effort = max(s.effort, s.asked()+(s.effort-before)*improvingShare/100)
	if !goal.enough(out) && !s.stopped() {
		round()
	}
	improving.improve(&out, hosts, goal)
	proving.Wait()
	placed := 0
	for i, c := range counts {
		placed += c - out.left[i]
	}
	out.mixed, out.proof = mixed-s.penalty*float64(placed), proven
	return out
}

// smoothing is how much the last round's prices count. Those of one round jump: many sets of prices
// are optimal, and their mean proves most (Wentges, Weighted Dantzig-Wolfe decomposition for linear mixed-integer
// programming, 1997).
const smoothing = 0.3

// smoothed returns the mean of prices so far, the last of which count most.
func smoothed(before, now []float64) []float64 {
	if before == nil {
		return slices.Clone(now)
	}
	for i, v := range now {
		before[i] += smoothing * (v - before[i])
	}
	return before
}

func sum(numbers []int) (n int) {
	for _, v := range numbers {
		n += v
	}
	return n
}

// fill adds hosts of one demand alone: with one, two, four containers and so on, up to as many as may stand there.
func (s *search) fill(k, demand, limit int, add func(int, filling) bool) {
	kind := s.kinds[k]
	try := func(n int) bool {
		fill := make(filling, kind.slots())
		for i := range kind.able {
			fill[kind.slot(demand, i)] = uint8((n + i) / len(kind.able))
		}
		return add(k, fill)
	}
	low, high := 0, limit+1
	for n := 1; n < high; n = min(2*n, max(n+1, limit)) {
		if !try(n) {
			if len(s.fleet.Containers[demand].Beside) == 0 {
				high = n
			}
			break
		}
		low = n
	}
	for high-low > 1 && low > 0 {
		if n := (low + high) / 2; try(n) {
			low = n
		} else {
			high = n
		}
	}
}

// deal gives containers to hosts in turn, drive by drive, whatever the prediction is.
func (s *search) deal(counts []int) (groups []chosen) {
	for k, kind := range s.kinds {
		for range kind.Count {
			groups = append(groups, chosen{k, 1, make(filling, kind.slots())})
		}
	}
	next, round := 0, 0
	for d, c := range counts {
		for range c {
			host := &groups[next]
			kind := s.kinds[host.kind]
			if slot := kind.slot(d, round%len(kind.able)); host.filling[slot] < mostOfOne {
				host.filling[slot]++
			}
			if next++; next == len(groups) {
				next, round = 0, round+1
			}
		}
	}
	return merged(groups)
}

// priced is a filling, and what a host with it is worth beyond the prices of its containers.
type priced struct {
	filling filling
	gain    float64
}

// price looks for the fillings of a kind of hosts that are worth most at the prices of containers: among whole
// containers near the parts that bounds of cells have, near what a plan has, and from there on step by step. The bound
// is at least enough, from which on it does not matter.
func (s *search) price(k int, columns []column, parts, prices []float64, enough float64, counts []int,
	pass pass, goal goal,
) (out []priced) {
	kind := s.kinds[k]
	cells := kind.cells
	gain := func(fill filling) float64 {
		value, ok := s.worth(k, fill, goal)
		if !ok {
			return math.Inf(-1)
		}
		for i, n := range kind.counts(fill) {
			value -= float64(n) * prices[i]
		}
		return value
	}
	starts := []filling{make(filling, kind.slots())}
	var used []int
	for j, c := range columns {
		if c.kind == k && parts[j] > 0 {
			used = append(used, j)
		}
	}
	slices.SortStableFunc(used, func(a, b int) int { return cmp.Compare(parts[b], parts[a]) })
	for _, j := range used[:min(len(used), mostStarts)] {
		starts = append(starts, columns[j].filling)
	}
	if cells != nil {
		scale, fixed := goal.scale(s, k)
		division := cells.divided(prices, scale, enough+fixed, s.stopped)
		division.until(pass.cells)
		starts = append(starts, cells.whole(division.seen, kind.slots())...)
		var near []candidate
		for _, j := range used[:min(len(used), 2*mostStarts)] {
			near = append(near, cells.around(columns[j].filling, kind.fill(columns[j].filling, s.alone), prices, scale)...)
		}
		starts = append(starts, cells.whole(near, kind.slots())...)
	}
	var candidates []priced
	have := map[string]bool{}
	for _, fill := range starts {
		if key := fill.key(); !have[key] {
			have[key] = true
			candidates = append(candidates, priced{fill, gain(fill)})
		}
	}
	slices.SortStableFunc(candidates, func(a, b priced) int { return cmp.Compare(b.gain, a.gain) })
	out = slices.Clone(candidates)
	for _, start := range candidates[:min(len(candidates), mostClimbs)] {
		fill, value := start.filling, start.gain
		for range pass.steps {
			next, to := s.climb(kind, fill, value, counts, prices, pass.tries, gain)
			if next == nil {
				break
			}
			fill, value = next, to
		}
		out = append(out, priced{fill, value})
	}
	return out
}

// From how many fillings of a plan, of programs of cells with the least and the greatest bounds, and of the best of
// all of these, a search goes on.
const (
	mostStarts = 2
	leastSeen  = 10
	mostSeen   = 14
	mostClimbs = 4
)

// climb returns the best of the fillings that differ by a container: one more, one less, or one in the place of
// another, or as many as its memory holds. climb first tries those with the best gradients. Containers that stand only
// beside others come with one of these. best is nil if none is better.
func (s *search) climb(kind *kind, fill filling, value float64, counts []int, prices []float64, tries int,
	gain func(filling) float64,
) (best filling, highest float64) {
	type move struct {
		from, to, count int // -1 for none
		hope            float64
	}
	present, hopes := kind.counts(fill), kind.gradient(fill, s.alone)
	hope := func(slot int) float64 {
		if slot < 0 || hopes == nil {
			return 0
		}
		d, _ := kind.split(slot)
		return hopes[slot] - prices[d]
	}
	var moves []move
	for to := -1; to < len(fill); to++ {
		for from := -1; from < len(fill); from++ {
			if from == to || from >= 0 && fill[from] == 0 {
				continue
			}
			count := 1
			if to >= 0 {
				d, _ := kind.split(to)
				room := min(counts[d], mostOfOne) - present[d]
				if from >= 0 {
					other, _ := kind.split(from)
					if other == d {
						room++
					} else {
						count = max(1, int(kind.fixed[other]/kind.fixed[d]))
					}
				}
				count = min(count, room, mostOfOne-int(fill[to]))
				if count < 1 {
					continue
				}
			}
			moves = append(moves, move{from, to, count, float64(count)*hope(to) - hope(from)})
		}
	}
	slices.SortStableFunc(moves, func(a, b move) int { return cmp.Compare(b.hope, a.hope) })
	highest = value + 1e-9*math.Abs(value)
	allowed := 0
	for i, move := range moves {
		if allowed >= tries || i >= 4*tries && hopes != nil {
			break
		}
		next := fill
		if move.from >= 0 {
			next = next.adjusted(move.from, -1)
		}
		if move.to >= 0 {
			next = next.adjusted(move.to, move.count)
		}
		for _, candidate := range s.accompanied(kind, fill, next, move.to, counts) {
			worth := gain(candidate)
			if !math.IsInf(worth, -1) {
				allowed++
			}
			if worth > highest {
				best, highest = candidate, worth
			}
		}
	}
	return best, highest
}

// accompanied returns a filling to which containers of a slot were added, and the same with one of each demand that
// these may stand beside.
func (s *search) accompanied(kind *kind, before, next filling, slot int, counts []int) (out []filling) {
	out = []filling{next}
	if slot < 0 {
		return out
	}
	present := kind.counts(before)
	d, _ := kind.split(slot)
	for _, other := range s.fleet.Containers[d].Beside {
		if present[other] == 0 && counts[other] > 0 {
			out = append(out, next.adjusted(kind.slot(other, 0), 1))
		}
	}
	return out
}

// whole returns fillings of whole containers near the parts that programs had.
func (c *kindCells) whole(seen []candidate, slots int) (out []filling) {
	slices.SortStableFunc(seen, func(a, b candidate) int { return cmp.Compare(a.value, b.value) })
	if len(seen) > leastSeen+mostSeen {
		seen = slices.Concat(seen[:leastSeen], seen[len(seen)-mostSeen:])
	}
	for _, candidate := range seen {
		for _, up := range [2]float64{0.5, 1e-6} {
			fill := make(filling, slots)
			fixed := 0.0
			sums := make([]float64, c.demands)
			for s, part := range candidate.parts {
				slot := &c.slots[s]
				count := math.Floor(min(part, mostOfOne) + up)
				count = min(count, mostOfOne, c.mostOf[slot.demand]-sums[slot.demand])
				sums[slot.demand] += count
				fill[slot.index] = uint8(count)
				fixed += count * slot.Fixed
			}
			for c.memory > 0 && fixed > c.memory {
				fullest := &c.slots[0]
				for s := range c.slots {
					if slot := &c.slots[s]; slot.Fixed > 0 && (fill[slot.index] > fill[fullest.index] || fullest.Fixed == 0) {
						fullest = slot
					}
				}
				less := min(float64(fill[fullest.index]), max(1, math.Floor((fixed-c.memory)/fullest.Fixed)))
				fill[fullest.index] -= uint8(less)
				fixed -= less * fullest.Fixed
			}
			if fill.total() > 0 {
				out = append(out, fill)
			}
		}
	}
	return out
}
