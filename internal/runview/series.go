package runview

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"plimsoll/internal/result"
	"plimsoll/internal/workload/fio"
	"plimsoll/internal/workload/ycsb"
)

// Series is mixes that differ in one thing alone: in how many instances they have, in the policy of their limits,
// in the rate that is offered to them, or in a factor.
type Series struct {
	Name      string // of what they have in common; "" where Workload says it
	Stack     *Stack // nil where each mix stands on its own
	Workload  string // of the first
	Policy    string // of limits; "" for none, and where they differ in it
	Host      *result.Limits
	Instances int     // of each; 0 where they differ in it
	Levels    []Level // of numbers, ascending; else in the order of the mixes
	Missing   []int   // counts of instances that were tried without a completed trial; ascending

	Fit  int // the most instances whose servers Host has memory for; 0 where that is not known
	Room int // the most for which each scaled-down host of the run has memory; 0 where that is not known
}

// Level is one mix of a series.
type Level struct {
	Name  string  // of a policy, or of a factor's level; "" for numbers
	Value float64 // instances, operations a second of all of them together, or a factor's level; 0 for names
	Cell  *Cell
}

// Count returns the level as a whole number.
func (l Level) Count() int { return int(l.Value) }

// Cells returns the measured cells, by level.
func (s Series) Cells() []*Cell {
	cells := make([]*Cell, len(s.Levels))
	for i, l := range s.Levels {
		cells[i] = l.Cell
	}
	return cells
}

// Values returns the levels, which are numbers.
func (s Series) Values() []float64 {
	values := make([]float64, len(s.Levels))
	for i, l := range s.Levels {
		values[i] = l.Value
	}
	return values
}

// Counts returns the levels, which are whole numbers.
func (s Series) Counts() []int {
	counts := make([]int, len(s.Levels))
	for i, l := range s.Levels {
		counts[i] = l.Count()
	}
	return counts
}

// At returns the cell at a level of that name; nil where it was not measured.
func (s Series) At(name string) *Cell {
	at := slices.IndexFunc(s.Levels, func(l Level) bool { return l.Name == name })
	if at < 0 {
		return nil
	}
	return s.Levels[at].Cell
}

// add adds a level, if it is new.
func (s *Series) add(level Level) {
	place := len(s.Levels)
	for i, l := range s.Levels {
		if l.Name == level.Name && l.Value == level.Value {
			return
		}
		if place == len(s.Levels) && l.Value > level.Value {
			place = i
		}
	}
	s.Levels = slices.Insert(s.Levels, place, level)
}

// atLeastTwo returns those of at least two levels.
func atLeastTwo(all []Series) []Series {
	return slices.DeleteFunc(all, func(s Series) bool { return len(s.Levels) < 2 })
}

// inSeries reports whether a mix is in one of several series, and so not meant to compare stacks.
func inSeries(mix string, all []Series) bool {
	return slices.ContainsFunc(all, func(s Series) bool {
		return slices.ContainsFunc(s.Levels, func(l Level) bool { return l.Cell.Workload.Name == mix })
	})
}

// Scaled reports whether a mix is one of several counts of instances.
func (v *View) Scaled(mix string) bool { return inSeries(mix, v.Scalings()) }

// UnderPolicy reports whether a mix is one of several policies.
func (v *View) UnderPolicy(mix string) bool { return inSeries(mix, v.Policies()) }

// OfferedAt reports whether a mix is one of several rates.
func (v *View) OfferedAt(mix string) bool { return inSeries(mix, v.Offereds()) }

// AtLevel reports whether a mix is one of several levels of a factor.
func (v *View) AtLevel(mix string) bool {
	return slices.ContainsFunc(v.Levelled(), func(l Levelled) bool { return inSeries(mix, l.Series) })
}

// Together reports whether a mix shows the effect of instances on each other, or of limits, and not that of a stack.
func (v *View) Together(mix string) bool {
	return v.Scaled(mix) || v.UnderPolicy(mix) || v.shares(mix, true) || v.OfferedAt(mix) || v.AtLevel(mix)
}

// Scalings returns mixes that differ in the number of their instances, in the order of the mixes: those of at least
// two counts.
func (v *View) Scalings() []Series {
	var groups orderedGroups[Series]
	for _, m := range v.Run.Mixes {
		family := m.Family()
		if family == "" {
			continue
		}
		tenant := m.Tenants[0]
		for _, s := range v.Stacks {
			c := v.Cell(s.Name, m.Name)
			if c == nil && !v.failed(s.Name, m.Name) {
				continue
			}
			first := Series{Stack: s, Workload: tenant.Workload, Host: m.Host, Fit: v.fit(tenant.Workload, m.Host),
				Room: v.room()}
			if tenant.Policy != NoPolicy {
				first.Policy = tenant.Policy
			}
			series := groups.group(s.Name+"\x00"+family, first)
			if c != nil {
				series.add(Level{Value: float64(tenant.Count), Cell: c})
				continue
			}
			at, _ := slices.BinarySearch(series.Missing, tenant.Count)
			series.Missing = slices.Insert(series.Missing, at, tenant.Count)
		}
	}
	return atLeastTwo(groups.groups)
}

// Over returns series of mixes that differ in one factor alone, whose levels are numbers, as Scalings does for
// numbers of instances.
func (v *View) Over(factor string) []Series {
	var groups orderedGroups[Series]
	for _, m := range v.Run.Mixes {
		level, err := strconv.Atoi(m.Levels[factor])
		if err != nil || len(m.Tenants) != 1 || m.Varies != nil {
			continue
		}
		fixed := maps.Clone(m.Levels)
		delete(fixed, factor)
		for _, c := range v.Under(m.Name) {
			first := Series{Stack: c.Stack, Workload: m.Tenants[0].Workload, Host: m.Host}
			key := fmt.Sprint(c.Stack.Name, "\x00", fixed, m.Tenants[0].Count, m.Tenants[0].Policy)
			groups.group(key, first).add(Level{Value: float64(level), Cell: c})
		}
	}
	return atLeastTwo(groups.groups)
}

// NoPolicy is the name of the policy that gives no limits.
const NoPolicy = "none"

// PolicyIn returns the policy of a mix of one tenant, and the name of the family of mixes that differ in it alone. ok
// is false for other mixes.
func PolicyIn(m result.Mix) (policy, family string, ok bool) {
	if len(m.Tenants) != 1 || m.Varies != nil {
		return "", "", false
	}
	tenant := m.Tenants[0]
	policy = tenant.Policy
	switch {
	case policy == "" && !tenant.Limits.None():
		return "", "", false // limits without a name
	case policy == "":
		policy = NoPolicy
	}
	var host result.Limits
	if m.Host != nil {
		host = *m.Host
	}
	return policy, fmt.Sprint(tenant.Workload, "\x00", tenant.Count, tenant.On, host), true
}

// Policies returns what policies cost, in the order of the mixes: of instances that were measured
// without limits of their own, too.
func (v *View) Policies() []Series {
	var groups orderedGroups[Series]
	for _, m := range v.Run.Mixes {
		policy, family, ok := PolicyIn(m)
		if !ok {
			continue
		}
		for _, s := range v.Stacks {
			c := v.Cell(s.Name, m.Name)
			if c == nil {
				continue
			}
			of := m.Tenants[0]
			first := Series{Stack: s, Host: m.Host, Instances: of.Count, Workload: of.Workload}
			groups.group(s.Name+"\x00"+family, first).add(Level{Name: policy, Cell: c})
		}
	}
	return slices.DeleteFunc(atLeastTwo(groups.groups), func(s Series) bool { return s.At(NoPolicy) == nil })
}

// openRate returns the rate of a mix of one tenant under an open loop, and the name of the family of mixes that
// differ in it alone.
func (v *View) openRate(m result.Mix) (rate float64, family string, ok bool) {
	if len(m.Tenants) != 1 || m.Varies != nil {
		return 0, "", false
	}
	tenant := m.Tenants[0]
	w, _ := v.Run.Workload(tenant.Workload)
	switch w.Kind {
	case ycsb.Kind.Name:
		open, isOpen := ycsb.OpenOf(w.Declared)
		rate, family, ok = open.Rate, open.Family, isOpen
	case fio.Kind.Name:
		open, isOpen := fio.OpenOf(w.Declared)
		rate, family, ok = open.Rate, open.Family, isOpen
	}
	var host result.Limits
	if m.Host != nil {
		host = *m.Host
	}
	family = fmt.Sprint(family, "\x00", tenant.Count, tenant.On, tenant.Limits, tenant.Policy, host)
	return rate * float64(tenant.Count), family, ok
}

// Offereds returns the series of mixes that differ in their offered rate, in the order of the mixes.
func (v *View) Offereds() []Series {
	var groups orderedGroups[Series]
	for _, m := range v.Run.Ran() {
		rate, family, ok := v.openRate(m)
		if !ok {
			continue
		}
		for _, s := range v.Stacks {
			c := v.Cell(s.Name, m.Name)
			if c == nil {
				continue
			}
			first := Series{Stack: s, Workload: m.Tenants[0].Workload, Host: m.Host, Instances: m.Tenants[0].Count}
			groups.group(s.Name+"\x00"+family, first).add(Level{Value: rate, Cell: c})
		}
	}
	offered := atLeastTwo(groups.groups)
	for i := range offered {
		offered[i].Name = v.commonName(offered[i])
	}
	return offered
}

// commonName returns the common part of workloads' names: "C" of C-200 and C-400.
func (v *View) commonName(s Series) string {
	common := s.Workload
	for _, l := range s.Levels {
		m, _ := v.Run.Mix(l.Cell.Workload.Name)
		for !strings.HasPrefix(m.Tenants[0].Workload, common) {
			common = common[:len(common)-1]
		}
	}
	return cmp.Or(strings.TrimRight(common, "-_.0123456789"), s.Workload)
}

// Levelled is a series of mixes that differ in one factor alone, other than the numbers, policies and rates of other
// questions: in the size of a buffer, or in the drive.
type Levelled struct {
	Factor string
	Series []Series // each of all levels of the factor, and of one of each other; in the order of the mixes
}

// Levelled returns the series, in the order of the mixes. Mixes that depend on several factors are grouped by the one
// with the most levels.
func (v *View) Levelled() []Levelled {
	return Once(v, "levelled", func() []Levelled { return v.levelled() })
}

func (v *View) levelled() (out []Levelled) {
	var groups orderedGroups[[]result.Mix]
	for _, m := range v.Run.Mixes {
		eligible := len(m.Tenants) == 1 && m.Varies == nil && len(m.Levels) > 0 && len(v.Under(m.Name)) == 1
		if !eligible || v.Scaled(m.Name) || v.UnderPolicy(m.Name) || v.OfferedAt(m.Name) {
			continue
		}
		key := fmt.Sprint(slices.Sorted(maps.Keys(m.Levels)), m.Tenants[0].Count)
		family := groups.group(key, nil)
		*family = append(*family, m)
	}
	for _, family := range groups.groups {
		factor := mostLevels(family)
		if factor == "" {
			continue
		}
		series := v.seriesOver(factor, family)
		i := slices.IndexFunc(out, func(l Levelled) bool { return l.Factor == factor })
		switch {
		case len(series) == 0:
		case i < 0:
			out = append(out, Levelled{factor, series})
		default:
			out[i].Series = append(out[i].Series, series...)
		}
	}
	return out
}

// mostLevels returns the factor of mixes that has the most levels, of equals one whose levels are numbers; "" where
// none has several.
func mostLevels(family []result.Mix) (widest string) {
	levels, numbers := 1, false
	for _, factor := range slices.Sorted(maps.Keys(family[0].Levels)) {
		values, numeric := map[string]bool{}, true
		for _, m := range family {
			_, err := strconv.ParseFloat(m.Levels[factor], 64)
			values[m.Levels[factor]], numeric = true, numeric && err == nil
		}
		if len(values) > levels || widest != "" && len(values) == levels && numeric && !numbers {
			widest, levels, numbers = factor, len(values), numeric
		}
	}
	return widest
}

// seriesOver returns series of mixes by their levels of a factor.
func (v *View) seriesOver(factor string, family []result.Mix) []Series {
	var groups orderedGroups[Series]
	for _, m := range family {
		level := m.Levels[factor]
		name, word := "-"+m.Name+"-", "-"+level+"-"
		if at := strings.LastIndex(name, word); at >= 0 {
			name = name[:at] + name[at+len(word)-1:]
		}
		name = strings.Trim(name, "-")
		fixed := maps.Clone(m.Levels)
		delete(fixed, factor)
		for _, other := range slices.Sorted(maps.Keys(fixed)) {
			if name == fixed[other] {
				name = other + " " + name
				break
			}
		}
		if name == "" || name == m.Name {
			name = m.Tenants[0].Workload
		}
		groups.group(fmt.Sprint(name, fixed), Series{Name: name}).add(Level{Name: level, Cell: v.Under(m.Name)[0]})
	}
	return atLeastTwo(groups.groups)
}

// orderedGroups groups values by key, in the order in which keys come up.
type orderedGroups[T any] struct {
	keys   []string
	groups []T
}

// group returns the group of a key. A new one starts with first.
func (f *orderedGroups[T]) group(key string, first T) *T {
	i := slices.Index(f.keys, key)
	if i < 0 {
		i = len(f.keys)
		f.keys, f.groups = append(f.keys, key), append(f.groups, first)
	}
	return &f.groups[i]
}
