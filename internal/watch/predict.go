package watch

import (
	"math"

	"plimsoll/internal/model"
)

// mostCarried is up to how many instances the load line is looked for.
const mostCarried = 64

// predict returns what the classes of groups would do together under full load, next to what they did.
func predict(fitted *model.Model, host *model.HostKind, groups []Group) (classes []Class) {
	numbers := map[string]int{}
	for _, g := range groups {
		if g.Class == "" {
			continue
		}
		i, seen := numbers[g.Class]
		if !seen {
			i = len(classes)
			numbers[g.Class] = i
			classes = append(classes, Class{Name: g.Class})
		}
		class := &classes[i]
		class.Count++
		class.SeenCPUs += g.Values["cpu.user"] + g.Values["cpu.system"]
		for _, u := range g.Drives {
			class.SeenReads += u.Read.PerSecond
		}
	}
	var ask model.Ask
	var asked []*Class
	for i := range classes {
		class, err := fitted.Find(classes[i].Name)
		if err != nil {
			classes[i].Unknown = err.Error()
			continue
		}
		if len(asked) == 0 {
			kind := fitted.HostOf(class)
			if host != nil {
				kind = *host
			}
			ask.Host, ask.Drives = kind.Host, kind.Drives
		}
		ask.Tenants = append(ask.Tenants, model.Tenant{Class: classes[i].Name, Count: classes[i].Count, Think: -1})
		asked = append(asked, &classes[i])
	}
	if len(asked) == 0 {
		return classes
	}
	answer, err := fitted.Predict(ask)
	if err != nil {
		for _, c := range asked {
			c.Unknown = err.Error()
		}
		return classes
	}
	for i, c := range asked {
		f, err := fitted.Find(c.Name)
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
			line, err := fitted.LoadLine(ask, max(mostCarried, 2*c.Count), 0)
			if err == nil { // else it is not known
				c.Carries = line.Instances
			}
		}
	}
	return classes
}

// known returns a value, and 0 for one that nobody knows.
func known[T ~float64](v T) float64 {
	if math.IsNaN(float64(v)) || math.IsInf(float64(v), 0) {
		return 0
	}
	return float64(v)
}
