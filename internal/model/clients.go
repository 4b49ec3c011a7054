package model

import (
	"slices"
	"strings"

	"plimsoll/internal/workload/ycsb"
)

// alike reports whether a workload of that declaration differs from the class in its number of clients at most.
func (c *Class) alike(declared string) bool {
	own, ok := c.Declared, c.Levels
	if !ok {
		own, ok = ycsb.FamilyOf(c.Declared)
	}
	family, known := ycsb.FamilyOf(declared)
	return c.Declared == declared || ok && known && own == family
}

// byClients makes one class of those on a stack whose workloads differ only in their number of clients, which is a
// level of its points then. Workloads that have the same parameters and other names stay apart.
func byClients(all []Observed, mixed []Together) []Observed {
	families := map[Class][]Class{} // those that differ in clients
	var keys []Class
	add := func(c Class) {
		family, ok := ycsb.FamilyOf(c.Declared)
		if !ok {
			return
		}
		key := Class{Stack: c.Stack, Declared: family, Levels: true}
		if len(families[key]) == 0 {
			keys = append(keys, key)
		}
		if !slices.Contains(families[key], c) {
			families[key] = append(families[key], c)
		}
	}
	for _, o := range all {
		add(o.Class)
	}
	for _, t := range mixed {
		for _, p := range t.Tenants {
			add(p.Class)
		}
	}
	become := map[Class]Class{}
	for _, key := range keys {
		declared := map[string]bool{}
		var names []string
		for _, c := range families[key] {
			declared[c.Declared] = true
			names = append(names, c.Workload)
		}
		if len(names) == 1 || len(declared) < len(names) {
			continue
		}
		one := key
		one.Workload = commonName(names)
		for _, c := range families[key] {
			become[c] = one
		}
	}
	var merged []Observed
	for _, o := range all {
		if one, ok := become[o.Class]; ok {
			o.Class = one
		}
		i := slices.IndexFunc(merged, func(m Observed) bool { return m.Class == o.Class })
		if i < 0 {
			merged = append(merged, o)
			continue
		}
		merged[i].Points = append(merged[i].Points, o.Points...)
	}
	for _, t := range mixed {
		for i := range t.Tenants {
			if one, ok := become[t.Tenants[i].Class]; ok {
				t.Tenants[i].Class = one
			}
		}
	}
	return merged
}

// commonName returns what names begin with, without the number of clients: T for T-4 and T-40; the first of them
// where they begin with nothing.
func commonName(names []string) string {
	common := names[0]
	for _, name := range names {
		for !strings.HasPrefix(name, common) {
			common = common[:len(common)-1]
		}
	}
	common = strings.TrimRight(common, "0123456789-_.")
	if common == "" {
		return names[0]
	}
	return common
}
