package measured

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"plimsoll/internal/result"
	"plimsoll/internal/workload/ycsb"
)

// Offered is mixes of one stack that differ in the rate alone at which operations begin.
type Offered struct {
	Stack     *Stack
	Host      *result.Limits
	Instances int
	Rates     []float64 // of all instances together, ascending
	Cells     []*Cell   // by rate
	workloads []string
}

// mixes are what ran at the same time: the run's mixes, or each workload alone.
func (v *View) mixes() []result.Mix {
	if len(v.Run.Mixes) > 0 {
		return v.Run.Mixes
	}
	var all []result.Mix
	for _, w := range v.Run.Workloads {
		all = append(all, result.Mix{Name: w.Name, Tenants: []result.Tenant{{Name: w.Name, Workload: w.Name, Count: 1}}})
	}
	return all
}

// openOf returns the rate of a mix of one tenant whose operations begin at one, and what it has in
// common with mixes that differ in that rate alone.
func (v *View) openOf(m result.Mix) (rate float64, family string, ok bool) {
	if len(m.Tenants) != 1 || m.Varies != nil {
		return 0, "", false
	}
	of := m.Tenants[0]
	at := slices.IndexFunc(v.Run.Workloads, func(w result.Workload) bool { return w.Name == of.Workload })
	if at < 0 || v.Run.Workloads[at].Kind != ycsb.Kind.Name {
		return 0, "", false
	}
	open, ok := ycsb.OpenOf(v.Run.Workloads[at].Declared)
	var host result.Limits
	if m.Host != nil {
		host = *m.Host
	}
	family = fmt.Sprint(open.Family, "\x00", of.Count, of.On, of.Limits, of.Policy, host)
	return open.Rate * float64(of.Count), family, ok
}

// Offereds returns what was offered at several rates, in the order of the mixes.
func (v *View) Offereds() []Offered {
	var all families[Offered]
	for _, m := range v.mixes() {
		rate, family, ok := v.openOf(m)
		if !ok {
			continue
		}
		for _, s := range v.Stacks {
			c := v.Cell(s.Name, m.Name)
			if c == nil {
				continue
			}
			first := Offered{Stack: s, Host: m.Host, Instances: m.Tenants[0].Count}
			all.of(s.Name+"\x00"+family, first).add(rate, c, m.Tenants[0].Workload)
		}
	}
	return slices.DeleteFunc(all.all, func(o Offered) bool { return len(o.Rates) < 2 })
}

func (o *Offered) add(rate float64, c *Cell, workload string) {
	at, taken := slices.BinarySearch(o.Rates, rate)
	if taken {
		return
	}
	o.Rates, o.Cells = slices.Insert(o.Rates, at, rate), slices.Insert(o.Cells, at, c)
	o.workloads = append(o.workloads, workload)
}

// OfferedAt reports whether a mix is one of several rates.
func (v *View) OfferedAt(mix string) bool {
	return slices.ContainsFunc(v.Offereds(), func(o Offered) bool {
		return slices.ContainsFunc(o.Cells, func(c *Cell) bool { return c.Workload.Name == mix })
	})
}

// Name is what the names of workloads have in common: "C" of C-200 and C-400.
func (o *Offered) Name() string {
	common := o.workloads[0]
	for _, w := range o.workloads[1:] {
		for !strings.HasPrefix(w, common) {
			common = common[:len(common)-1]
		}
	}
	return cmp.Or(strings.TrimRight(common, "-_.0123456789"), o.workloads[0])
}
