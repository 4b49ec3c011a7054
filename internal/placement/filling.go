package placement

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"plimsoll/internal/model"
	"plimsoll/internal/units"
)

// filling counts the containers of a host: so many of each demand on each of its drives, by slot.
type filling []uint8

// mostOfOne is how many containers of one demand a drive of one host takes at most.
const mostOfOne = math.MaxUint8

// key returns the filling as a key of maps.
func (f filling) key() string { return string(f) }

func (f filling) total() (count int) {
	for _, c := range f {
		count += int(c)
	}
	return count
}

// adjusted returns a copy of the filling with delta more containers in a slot, or fewer for a negative delta.
func (f filling) adjusted(slot, delta int) filling {
	out := slices.Clone(f)
	out[slot] = uint8(int(out[slot]) + delta)
	return out
}

// kind is a kind of host, and what was predicted of it so far.
type kind struct {
	*Hosts
	index   int // among the fleet's Hosts
	fleet   *Fleet
	model   *model.Model
	classes []int          // by demand: its class of the model; -1 for a class that the model does not know
	is      model.HostKind // without what is left free
	able    []int          // drives, or -1 for a host without any
	fixed   []float64      // bytes that no shortage takes from a container of each demand; 1 at least
	known   map[string]*filled
	cells   *kindCells // of the last goal; nil before the first, and for models that cells cannot bound
	slopes  map[string][]float64
	asked   int // predictions that were made
}

// single returns one container of a demand on a drive, as the kind's model takes it.
func (k *kind) single(demand, drive int) model.Placed {
	return model.Placed{Class: k.classes[demand], Drive: drive, Count: 1, Own: k.fleet.Containers[demand].Limits}
}

// refuses returns why no container of a demand may stand on a drive of hosts of the kind, whatever else stands there;
// "" if one may.
func (k *kind) refuses(demand, drive int) string {
	containers := &k.fleet.Containers[demand]
	if k.classes[demand] < 0 {
		return fmt.Sprintf("%s is of a class that the model of %s does not know", containers.Name, k.Name)
	}
	if containers.On != nil && !slices.Contains(containers.On, k.index) {
		return fmt.Sprintf("%s may not stand on %s", containers.Name, k.Name)
	}
	if only, has := containers.Drives[k.index]; has && only != drive {
		return fmt.Sprintf("%s stands on another drive of %s", containers.Name, k.Name)
	}
	return ""
}

// filled is the prediction for a filling.
type filled struct {
	solved   model.Solved
	rate     float64
	value    float64  // of all operations a second, each with its weight
	worth    float64  // the value, and a little less the fuller the host is
	least    float64  // the least share that a container keeps of what it would do alone
	p99      float64  // seconds, the greatest; NaN if one is not known
	breaches []breach // limits and wishes that are broken, but for limits that goals set
	clash    string   // the worst of the breaches; "" for none
	slots    []int    // slots of solved's tenants
	unknown  bool     // the model cannot say
	broken   int      // containers that break something, once the model was asked
	asked    bool     // the model was asked; a filling that breaks a wish is not predicted at first
}

// breach is a limit or a wish that containers on a host break.
type breach struct {
	demand, count int
	slot          int     // on one drive; -1 for all of them on the host
	excess        float64 // ratio to what is allowed; infinite for what has no measure
	why           string
}

// breaking returns how many containers break something. A container counts once, whatever it breaks.
func breaking(breaches []breach) (n int) {
	whole, parts := map[int]int{}, map[int]int{} // by demand
	for _, b := range breaches {
		if b.slot < 0 {
			whole[b.demand] = b.count
		}
	}
	slots := map[int]bool{}
	for _, b := range breaches {
		if b.slot >= 0 && whole[b.demand] == 0 && !slots[b.slot] {
			slots[b.slot] = true
			parts[b.demand] += b.count
		}
	}
	for _, count := range whole {
		n += count
	}
	for _, count := range parts {
		n += count
	}
	return n
}

// slot returns the slot of a demand on the drive-th of the able drives.
func (k *kind) slot(demand, drive int) int { return demand*len(k.able) + drive }

// split returns the demand of a slot, and the number of its drive among the able ones.
func (k *kind) split(slot int) (demand, drive int) { return slot / len(k.able), slot % len(k.able) }

func (k *kind) slots() int { return len(k.fleet.Containers) * len(k.able) }

// counts returns how many containers of each demand a filling has.
func (k *kind) counts(fill filling) []int {
	counts := make([]int, len(k.fleet.Containers))
	for slot, c := range fill {
		demand, _ := k.split(slot)
		counts[demand] += int(c)
	}
	return counts
}

// fill returns the prediction for a filling. A filling that breaks a wish is not predicted, and has only its breaches.
// alone is what one container of each demand does at best.
func (k *kind) fill(fill filling, alone []float64) *filled {
	key := fill.key()
	if known := k.known[key]; known != nil {
		return known
	}
	out := &filled{p99: 0, least: math.Inf(1), breaches: k.wishes(fill)}
	k.known[key] = out
	if len(out.breaches) == 0 {
		k.ask(out, fill, alone)
	}
	out.clash = out.worst()
	return out
}

// judged returns the prediction for a filling and all its breaches, also if it breaks a wish.
func (k *kind) judged(fill filling, alone []float64) *filled {
	out := k.fill(fill, alone)
	if !out.asked {
		k.ask(out, fill, alone)
	}
	return out
}

// worst returns the reason of the worst breach, the first of equal ones; "" for none.
func (f *filled) worst() (why string) {
	largest := 0.0
	for _, b := range f.breaches {
		if b.excess > largest {
			largest, why = b.excess, b.why
		}
	}
	return why
}

// ask predicts a filling with the model, and adds the limits that are broken.
func (k *kind) ask(out *filled, fill filling, alone []float64) {
	out.asked = true
	defer func() { out.broken = breaking(out.breaches) }()
	counts := k.counts(fill)
	breakAll := func(why string) {
		for d, n := range counts {
			if n > 0 {
				out.breaches = append(out.breaches, breach{d, n, -1, math.Inf(1), why})
			}
		}
	}
	for d, n := range counts {
		if n > 0 && k.classes[d] < 0 {
			out.unknown = true
			return // wishes has the breach
		}
	}
	placed := k.placed(fill)
	out.slots = make([]int, 0, len(placed))
	for slot, c := range fill {
		if c > 0 {
			out.slots = append(out.slots, slot)
		}
	}
	k.asked++
	var err error
	if out.solved, err = k.model.Solve(k.is, placed); err != nil {
		var over *model.Overfull
		out.unknown = !errors.As(err, &over)
		breakAll(err.Error())
		return
	}
	out.rate = out.solved.Rate
	held := 0.0
	for i, t := range out.solved.Tenants {
		held += t.Needs * float64(placed[i].Count)
		demand, _ := k.split(out.slots[i])
		out.value += k.fleet.Containers[demand].weight() * t.Rate
	}
	full := out.solved.Used
	if memory := float64(k.is.Host.MemoryBytes); memory > 0 {
		full = max(full, held/memory)
	}
	out.worth = out.value * (1 - evenly*full*full)
	for i, tenant := range out.solved.Tenants {
		demand, _ := k.split(out.slots[i])
		containers := &k.fleet.Containers[demand]
		rate := tenant.Rate / float64(placed[i].Count)
		if alone != nil && alone[demand] > 0 {
			out.least = min(out.least, rate/alone[demand])
		}
		out.p99 = max(out.p99, tenant.P99) // NaN stays
		breaks := func(excess float64, format string, args ...any) {
			why := containers.Name + " " + fmt.Sprintf(format, args...)
			out.breaches = append(out.breaches, breach{demand, placed[i].Count, out.slots[i], excess, why})
		}
		if containers.LeastRate > 0 && rate < containers.LeastRate*(1-slack) {
			breaks(containers.LeastRate/rate, "would do %s operations a second each, and are to do %s", units.Rate(rate),
				units.Rate(containers.LeastRate))
		}
		switch {
		case containers.MostP99 == 0:
		case math.IsNaN(tenant.P99):
			breaks(math.Inf(1), "have a limit of p99, and no p99 was measured of their class")
		case tenant.P99 > containers.MostP99*(1+slack):
			breaks(tenant.P99/containers.MostP99, "would have a p99 of %s, and may have %s", units.Latency(1e9*tenant.P99),
				units.Latency(1e9*containers.MostP99))
		}
	}
}

// placed returns a filling as a model takes it.
func (k *kind) placed(fill filling) []model.Placed {
	n := 0
	for _, count := range fill {
		if count > 0 {
			n++
		}
	}
	tenants := make([]model.Placed, 0, n)
	for slot, count := range fill {
		if count > 0 {
			demand, drive := k.split(slot)
			placed := k.single(demand, k.able[drive])
			placed.Count = int(count)
			tenants = append(tenants, placed)
		}
	}
	return tenants
}

// evenly is the share of throughput that an evener plan may cost: of plans whose rates differ by less, the search takes
// the one that leaves most room on its hosts.
const evenly = 1e-4

// slack is the rounding error within which a limit is kept.
const slack = 1e-9

// wishes returns which wishes a filling breaks: on which hosts and drives containers stand, and next to which others.
func (k *kind) wishes(fill filling) (breaches []breach) {
	breaks := func(demand, count, slot int, format string, args ...any) {
		breaches = append(breaches, breach{demand, count, slot, math.Inf(1), fmt.Sprintf(format, args...)})
	}
	for slot, n := range fill {
		demand, drive := k.split(slot)
		if n == 0 {
			continue
		}
		if why := k.refuses(demand, k.able[drive]); why != "" {
			breaks(demand, int(n), slot, "%s", why)
		}
	}
	counts := k.counts(fill)
	for i, n := range counts {
		containers := &k.fleet.Containers[i]
		if n == 0 {
			continue
		}
		if containers.Apart && n > 1 {
			breaks(i, n, -1, "two of %s are on one host, and must be apart", containers.Name)
		}
		for _, other := range containers.Away {
			if counts[other] > 0 {
				breaks(i, n, -1, "%s and %s are on one host, and must be apart", containers.Name,
					k.fleet.Containers[other].Name)
			}
		}
		stands := func(demand int) bool { return counts[demand] > 0 }
		if len(containers.Beside) > 0 && !slices.ContainsFunc(containers.Beside, stands) {
			breaks(i, n, -1, "%s is on a host without the containers that it must be next to", containers.Name)
		}
	}
	return breaches
}

// gradient returns what one more container of each slot adds to the operations a second of a host with a filling; nil
// if that is not known.
func (k *kind) gradient(fill filling, alone []float64) []float64 {
	if k.cells == nil {
		return nil
	}
	key := fill.key()
	slopes, has := k.slopes[key]
	if has {
		return slopes
	}
	if known := k.fill(fill, alone); !known.unknown && (known.clash == "" || len(known.solved.Tenants) > 0) {
		slopes = k.cells.gradient(fill, known)
	}
	k.slopes[key] = slopes
	return slopes
}
