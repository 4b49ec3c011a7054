package measured

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"plimsoll/internal/result"
)

// Levelled is mixes that differ in one factor alone, which is none of the numbers, policies and rates that other
// questions are about: in the size of a buffer, or in which drive they stand on.
type Levelled struct {
	Factor string
	Series []Level // in the order of the mixes
}

// Level is mixes at all levels of the factor, and at one of each other.
type Level struct {
	Name  string   // of the mixes, without the factor's level
	Names []string // of the levels
	Cells []*Cell  // by level
}

// Levelled returns them in the order of the mixes: for mixes that depend on several factors, over the one that has the
// most levels.
func (v *View) Levelled() []Levelled {
	return Once(v, "levelled", func() []Levelled { return v.levelled() })
}

func (v *View) levelled() (out []Levelled) {
	var all families[[]result.Mix]
	for _, m := range v.Run.Mixes {
		one := len(m.Tenants) == 1 && m.Varies == nil && len(m.Levels) > 0 && len(v.Under(m.Name)) == 1
		if !one || v.Scaled(m.Name) || v.UnderPolicy(m.Name) || v.OfferedAt(m.Name) {
			continue
		}
		key := fmt.Sprint(slices.Sorted(maps.Keys(m.Levels)), m.Tenants[0].Count)
		family := all.of(key, nil)
		*family = append(*family, m)
	}
	for _, family := range all.all {
		factor := mostLevels(family)
		if factor == "" {
			continue
		}
		series := v.over(factor, family)
		at := slices.IndexFunc(out, func(l Levelled) bool { return l.Factor == factor })
		switch {
		case len(series) == 0:
		case at < 0:
			out = append(out, Levelled{factor, series})
		default:
			out[at].Series = append(out[at].Series, series...)
		}
	}
	return out
}

// mostLevels returns the factor of mixes that has the most levels, of equals one whose levels are numbers; "" where
// none has several.
func mostLevels(family []result.Mix) (most string) {
	levels, numbers := 1, false
	for _, factor := range slices.Sorted(maps.Keys(family[0].Levels)) {
		met, all := map[string]bool{}, true
		for _, m := range family {
			_, err := strconv.ParseFloat(m.Levels[factor], 64)
			met[m.Levels[factor]], all = true, all && err == nil
		}
		if len(met) > levels || most != "" && len(met) == levels && all && !numbers {
			most, levels, numbers = factor, len(met), all
		}
	}
	return most
}

// over returns mixes by their levels of a factor.
func (v *View) over(factor string, family []result.Mix) []Level {
	var all families[Level]
	for _, m := range family {
		level := m.Levels[factor]
		name, word := "-"+m.Name+"-", "-"+level+"-"
		if at := strings.LastIndex(name, word); at >= 0 {
			name = name[:at] + name[at+len(word)-1:]
		}
		name = strings.Trim(name, "-")
		others := maps.Clone(m.Levels)
		delete(others, factor)
		for _, other := range slices.Sorted(maps.Keys(others)) {
			if name == others[other] {
				name = other + " " + name
				break
			}
		}
		if name == "" || name == m.Name {
			name = m.Tenants[0].Workload
		}
		of := all.of(fmt.Sprint(name, others), Level{Name: name})
		if !slices.Contains(of.Names, level) {
			of.Names, of.Cells = append(of.Names, level), append(of.Cells, v.Under(m.Name)[0])
		}
	}
	return slices.DeleteFunc(all.all, func(l Level) bool { return len(l.Names) < 2 })
}

// AtLevel reports whether a mix is one of several levels of a factor: it is about that, and not about which stack.
func (v *View) AtLevel(mix string) bool {
	return slices.ContainsFunc(v.Levelled(), func(l Levelled) bool {
		return slices.ContainsFunc(l.Series, func(s Level) bool {
			return slices.ContainsFunc(s.Cells, func(c *Cell) bool { return c.Workload.Name == mix })
		})
	})
}
