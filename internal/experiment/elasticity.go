package experiment

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	"plimsoll/internal/result"
	"plimsoll/internal/stats"
)

// Shares by which a limit may be varied. What less does, trials do not tell from noise; much more is
// another host.
const (
	leastVaried = 0.01
	mostVaried  = 0.5
)

// Family is mixes that differ in the number of their instances alone, fewest first.
type Family []Mix

// Families returns the families with at least two numbers of instances, in the order of the file. Of two mixes with
// the same number the first one counts.
func (e *Experiment) Families() []Family {
	var families []Family
	var keys []string
	for _, m := range e.Mixes {
		key := m.Stored().Family()
		if key == "" {
			continue
		}
		i := slices.Index(keys, key)
		if i < 0 {
			i = len(keys)
			keys, families = append(keys, key), append(families, nil)
		}
		place, taken := slices.BinarySearchFunc(families[i], m.Count(), func(m Mix, count int) int {
			return m.Count() - count
		})
		if !taken {
			families[i] = slices.Insert(families[i], place, m)
		}
	}
	return slices.DeleteFunc(families, func(f Family) bool { return len(f) < 2 })
}

// Coarse returns the mixes that roughly outline the family: the fewest and the most instances, and every second
// number between. Where more instances achieve less, at most one number on either side then remains unmeasured.
func (f Family) Coarse() (some Family) {
	for i, m := range f {
		if i%2 == 0 || i == len(f)-1 {
			some = append(some, m)
		}
	}
	return some
}

// IsScaling reports whether all mixes differ from others in the number of their instances alone, so that
// the experiment is about how many.
func (e *Experiment) IsScaling() bool {
	return len(e.Mixes) > 0 && !slices.ContainsFunc(e.Mixes, func(m Mix) bool {
		return m.Varies == nil && !slices.ContainsFunc(e.Families(), func(f Family) bool {
			return slices.ContainsFunc(f, func(other Mix) bool { return other.Name == m.Name })
		})
	})
}

// Variations returns mixes that show the effect of each limit on a mix: each limit of its scaled-down host raised and
// lowered by a share, one at a time. A mix is named after the one that it varies, the limit and the factor, as in
// "C-5.memory-x1.2": names become parts of file names. Its meaning is in Varies, and nothing parses the name. known
// are the names in use. A limit too small to be changed by the share is left out.
func Variations(m Mix, share float64, known []string) (out []Mix) {
	for _, k := range limitKeys {
		for _, factor := range []float64{1 + share, 1 - share} {
			v, ok := Vary(m, result.Variation{Of: m.Name, Limit: k.Key, Factor: math.Round(1e4*factor) / 1e4})
			if !ok {
				continue
			}
			v.Name = unusedName(v.Name, known)
			out, known = append(out, v), append(slices.Clip(known), v.Name)
		}
	}
	return out
}

// Vary returns a mix with one limit changed; false if the mix has no such limit, or the factor does not change it.
func Vary(m Mix, v result.Variation) (Mix, bool) {
	i := slices.IndexFunc(limitKeys, func(k limitKey) bool { return k.Key == v.Limit && k.scale != nil })
	if i < 0 || m.Host == nil {
		return Mix{}, false
	}
	host := *m.Host
	limitKeys[i].scale(&host, v.Factor)
	if host == *m.Host || host.MemoryBytes > 0 && host.MemoryBytes < leastMemory {
		return Mix{}, false
	}
	m.Name = fmt.Sprintf("%s.%s-x%s", m.Name, v.Limit, strconv.FormatFloat(v.Factor, 'f', -1, 64))
	m.Host, m.Varies = &host, &v
	return m, true
}

// AddVaried makes the mixes again that a run added before it was interrupted, as it stored them. A mix that cannot be
// made is left out: the experiment has changed since the run began.
func (e *Experiment) AddVaried(stored []result.Mix) {
	e.Mixes = slices.Clip(e.Mixes)
	for _, was := range stored {
		if was.Varies == nil {
			continue
		}
		original, known := e.Mix(was.Varies.Of)
		m, ok := Vary(original, *was.Varies)
		if known && ok {
			m.Name = was.Name
			e.Mixes = append(e.Mixes, m)
		}
	}
}

func unusedName(name string, known []string) string {
	unused := name
	for n := 2; slices.Contains(known, unused); n++ {
		unused = fmt.Sprintf("%s-%d", name, n)
	}
	return unused
}

// ElasticBlocks returns in how many blocks of trials variations are held against the mix that they vary:
// as many as the experiment asks for, and no fewer than a test needs. In a budget they are no more.
func (e *Experiment) ElasticBlocks() int {
	if e.Budget > 0 {
		return stats.FewestPairs
	}
	return max(stats.FewestPairs, e.Repeat)
}

// checkElasticity notes where there is no limit to vary, or no load line at which to.
func (p *parser) checkElasticity() {
	if p.e.Elasticity == 0 || len(p.e.Mixes) == 0 {
		return
	}
	n := p.values["elasticity"]
	families := p.e.Families()
	limited := func(f Family) bool { return len(Variations(f[0], mostVaried, nil)) > 0 }
	switch {
	case len(families) == 0:
		p.Problem(n, "elasticity is measured at the load line, and no two mixes differ in their number of instances "+
			"alone",
			"write factors: {n: [1, 2, 4, 8]} and mixes: {randread-$n: {readers: {workload: randread, "+
				"count: $n}}}, or remove it")
	case !slices.ContainsFunc(families, limited) && !p.asked.host.Empty():
		p.e.Elasticity = 0 // the command line left nothing to vary
	case !slices.ContainsFunc(families, limited):
		p.Problem(n, "elasticity relaxes and tightens limits of a scaled-down host that have a size, and there is none",
			"write host: {cpus: 2, memory: 1GiB}, or remove it")
	}
}

// ElasticityTakes estimates the time to vary the limits at the load line of each family, stack by stack, in
// ElasticBlocks. The line is not known yet and is assumed to be at the most instances. It is 0 where a run has these
// mixes already: they are planned, or follow while there is time.
func ElasticityTakes(e *Experiment) (total time.Duration) {
	if e.Elasticity == 0 || slices.ContainsFunc(e.Mixes, func(m Mix) bool { return m.Varies != nil }) {
		return 0
	}
	extended := *e
	stacks := slices.DeleteFunc(slices.Clone(e.Stacks), func(s Stack) bool { return s.Control != "" })
	var points []Planned
	for _, f := range e.Families() {
		largest := f[len(f)-1]
		varied := append([]Mix{largest}, Variations(largest, e.Elasticity, nil)...)
		if len(varied) == 1 {
			continue
		}
		extended.Mixes = append(slices.Clip(extended.Mixes), varied[1:]...)
		points = append(points, pointsOf(stacks, varied)...)
	}
	var trials []Planned
	for block := 1; block <= e.ElasticBlocks(); block++ {
		trials = append(trials, Arrange(points, max(1, e.Trials), 0, block)...)
	}
	for _, cost := range Costs(&extended, trials) {
		total += cost
	}
	return total
}
