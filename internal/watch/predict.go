package watch

import (
	"math"

	"plimsoll/internal/model"
)

// mostCarried is up to how many instances the load line is looked for.
const mostCarried = 64

// predict returns what the classes of groups would do together under full load, beside what they do.
func predict(m *model.Model, host *model.HostKind, groups []Group) (all []Class) {
	at := map[string]int{}
	for _, g := range groups {
		if g.Class == "" {
			continue
		}
		i, seen := at[g.Class]
		if !seen {
			i = len(all)
			at[g.Class] = i
			all = append(all, Class{Name: g.Class})
		}
		c := &all[i]
		c.Count++
		c.SeenCPUs += g.Values["cpu.user"] + g.Values["cpu.system"]
		for _, u := range g.Drives {
			c.SeenReads += u.Read.PerSecond
		}
	}
	var ask model.Ask
	var asked []*Class
	for i := range all {
		f, err := m.Find(all[i].Name)
		if err != nil {
			all[i].Unknown = err.Error()
			continue
		}
		if len(asked) == 0 {
			kind := m.HostOf(f)
			if host != nil {
				kind = *host
			}
			ask.Host, ask.Drives = kind.Host, kind.Drives
		}
		ask.Tenants = append(ask.Tenants, model.Tenant{Class: all[i].Name, Count: all[i].Count, Think: -1})
		asked = append(asked, &all[i])
	}
	if len(asked) == 0 {
		return all
	}
	answer, err := m.Predict(ask)
	if err != nil {
		for _, c := range asked {
			c.Unknown = err.Error()
		}
		return all
	}
	for i, c := range asked {
		f, err := m.Find(c.Name)
		if err != nil {
			continue // it was found
		}
		t := answer.Tenants[i]
		c.Rate, c.P99 = known(t.Rate.Value), known(t.P99.Value)
		reads := f.Params.Reads.At(float64(answer.Memories[i]))
		c.Reads, c.CPUs = known(c.Rate*reads), known(c.Rate*f.Params.CPU.At(reads))
		c.Outside = answer.Outside
		if len(answer.Worth) > 0 {
			c.Helps = string(answer.Worth[0].Resource)
		}
		if len(asked) == 1 {
			line, err := m.LoadLine(ask, max(mostCarried, 2*c.Count), 0)
			if err == nil { // else it is not known
				c.Carries = line.Instances
			}
		}
	}
	return all
}

// known returns a value, and 0 for one that nobody knows.
func known[T ~float64](v T) float64 {
	if math.IsNaN(float64(v)) || math.IsInf(float64(v), 0) {
		return 0
	}
	return float64(v)
}
