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

// mostOfOne is how many containers of one demand a drive of one host takes, which nobody runs more of.
const mostOfOne = math.MaxUint8

// key is a filling as a key of maps.
func (f filling) key() string { return string(f) }

func (f filling) total() (n int) {
	for _, c := range f {
		n += int(c)
	}
	return n
}

// with returns the filling with some more of a slot.
func (f filling) with(slot, more int) filling {
	g := slices.Clone(f)
	g[slot] = uint8(int(g[slot]) + more)
	return g
}

// kind is a kind of host, and what was predicted of it so far.
type kind struct {
	*Hosts
	at      int // of the fleet's
	fleet   *Fleet
	model   *model.Model
	classes []int          // of the model's, of each demand; -1 for one that it does not know
	is      model.HostKind // without what is left free
	able    []int          // drives, or -1 for a host without any
	fixed   []float64      // bytes that no shortage takes from a container of each demand; 1 at least
	known   map[string]*filled
	cells   *kindCells // that were asked about last; nil before, and for models that have none
	slopes  map[string][]float64
	asked   int // predictions that were made
}

// one is one container of a demand on a drive, as the kind's model has it.
func (k *kind) one(demand, drive int) model.Placed {
	return model.Placed{Class: k.classes[demand], Drive: drive, Count: 1, Own: k.fleet.Containers[demand].Limits}
}

// refuses says why no container of a demand stands on a drive of hosts of the kind, whatever else does; "" where it
// may.
func (k *kind) refuses(demand, drive int) string {
	d := &k.fleet.Containers[demand]
	if k.classes[demand] < 0 {
		return fmt.Sprintf("%s is of a class that the model of %s does not know", d.Name, k.Name)
	}
	if d.On != nil && !slices.Contains(d.On, k.at) {
		return fmt.Sprintf("%s may not stand on %s", d.Name, k.Name)
	}
	if only, has := d.Drives[k.at]; has && only != drive {
		return fmt.Sprintf("%s stands on another drive of %s", d.Name, k.Name)
	}
	return ""
}

// filled is the prediction for a filling.
type filled struct {
	solved  model.Solved
	rate    float64
	value   float64 // of all operations a second, each with its weight
	worth   float64 // the value, and a little less the fuller the host is
	least   float64 // share of what one would do alone, of the one that keeps least
	p99     float64 // greatest; NaN where one is not known
	clash   string  // what it breaks, beside limits that objectives set; "" for nothing
	at      []int   // slots of solved's tenants
	unknown bool    // the model cannot say
}

// slot is the number of a demand on a drive of the kind.
func (k *kind) slot(demand, drive int) int { return demand*len(k.able) + drive }

// of is the demand of a slot, and the number of its drive among those that are able.
func (k *kind) of(slot int) (demand, drive int) { return slot / len(k.able), slot % len(k.able) }

func (k *kind) slots() int { return len(k.fleet.Containers) * len(k.able) }

// counts are how many of each demand a filling has.
func (k *kind) counts(f filling) []int {
	n := make([]int, len(k.fleet.Containers))
	for slot, c := range f {
		demand, _ := k.of(slot)
		n[demand] += int(c)
	}
	return n
}

// fill returns what is predicted of a filling. alone is what one container of each demand does at best.
func (k *kind) fill(f filling, alone []float64) *filled {
	key := f.key()
	if known := k.known[key]; known != nil {
		return known
	}
	out := &filled{p99: 0, least: math.Inf(1)}
	k.known[key] = out
	if out.clash = k.apart(f); out.clash != "" {
		return out
	}
	placed := k.placed(f)
	for slot, c := range f {
		if c > 0 {
			out.at = append(out.at, slot)
		}
	}
	k.asked++
	var err error
	if out.solved, err = k.model.Solve(k.is, placed); err != nil {
		var over *model.Overfull
		out.clash, out.unknown = err.Error(), !errors.As(err, &over)
		return out
	}
	out.rate = out.solved.Rate
	held := 0.0
	for i, t := range out.solved.Tenants {
		held += t.Needs * float64(placed[i].Count)
		demand, _ := k.of(out.at[i])
		out.value += k.fleet.Containers[demand].weight() * t.Rate
	}
	full := out.solved.Used
	if memory := float64(k.is.Host.MemoryBytes); memory > 0 {
		full = max(full, held/memory)
	}
	out.worth = out.value * (1 - evenly*full*full)
	worst := 1.0
	breaks := func(demand int, by float64, format string, args ...any) {
		if by > worst {
			worst = by
			out.clash = k.fleet.Containers[demand].Name + " " + fmt.Sprintf(format, args...)
		}
	}
	for i, t := range out.solved.Tenants {
		demand, _ := k.of(out.at[i])
		d := &k.fleet.Containers[demand]
		each := t.Rate / float64(placed[i].Count)
		if alone != nil && alone[demand] > 0 {
			out.least = min(out.least, each/alone[demand])
		}
		out.p99 = max(out.p99, t.P99) // NaN stays
		if d.LeastRate > 0 && each < d.LeastRate*(1-slack) {
			breaks(demand, d.LeastRate/each, "would do %s operations a second each, and are to do %s", units.Rate(each),
				units.Rate(d.LeastRate))
		}
		switch {
		case d.MostP99 == 0:
		case math.IsNaN(t.P99):
			breaks(demand, math.Inf(1), "have a limit of p99, and no p99 was measured of their class")
		case t.P99 > d.MostP99*(1+slack):
			breaks(demand, t.P99/d.MostP99, "would have a p99 of %s, and may have %s", units.Latency(1e9*t.P99),
				units.Latency(1e9*d.MostP99))
		}
	}
	return out
}

// placed is a filling as a model has it.
func (k *kind) placed(f filling) (all []model.Placed) {
	for slot, c := range f {
		if c > 0 {
			demand, drive := k.of(slot)
			one := k.one(demand, k.able[drive])
			one.Count = int(c)
			all = append(all, one)
		}
	}
	return all
}

// evenly is the share of throughput that an evener plan may cost: of plans whose rates differ by less, the one is taken
// that leaves most room on its hosts.
const evenly = 1e-4

// slack is the rounding error within which a limit is kept.
const slack = 1e-9

// apart says which wishes of who stands beside whom a filling breaks; "" for none.
func (k *kind) apart(f filling) string {
	for slot, n := range f {
		demand, drive := k.of(slot)
		if n == 0 {
			continue
		}
		if why := k.refuses(demand, k.able[drive]); why != "" {
			return why
		}
	}
	counts := k.counts(f)
	for i, n := range counts {
		d := &k.fleet.Containers[i]
		if n == 0 {
			continue
		}
		if d.Apart && n > 1 {
			return fmt.Sprintf("two of %s stand on one host, and are to be apart", d.Name)
		}
		for _, other := range d.Away {
			if counts[other] > 0 {
				return fmt.Sprintf("%s and %s stand on one host, and are to be apart", d.Name, k.fleet.Containers[other].Name)
			}
		}
		if len(d.Beside) > 0 && !slices.ContainsFunc(d.Beside, func(other int) bool { return counts[other] > 0 }) {
			return fmt.Sprintf("%s stands where none of those are that it is to be beside", d.Name)
		}
	}
	return ""
}

// gradient returns what one more container of each slot adds to the operations a second of a host that is filled so;
// nil where nobody knows.
func (k *kind) gradient(f filling, alone []float64) []float64 {
	if k.cells == nil {
		return nil
	}
	key := f.key()
	g, has := k.slopes[key]
	if has {
		return g
	}
	if known := k.fill(f, alone); !known.unknown && (known.clash == "" || len(known.solved.Tenants) > 0) {
		g = k.cells.gradient(f, known)
	}
	k.slopes[key] = g
	return g
}
