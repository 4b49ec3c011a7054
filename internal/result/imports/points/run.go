package points

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"plimsoll/internal/problem"
	"plimsoll/internal/result"
	"plimsoll/internal/result/hist"
	"plimsoll/internal/units/plural"
)

// operations is how many operations all tenants of a trial are assumed to have done: counters are whole numbers.
const operations = 1_000_000

// Made reports whether a run was made from points, in which plimsoll measured and checked nothing.
func Made(run *result.Run) bool {
	return run.Imported != nil && len(run.Mixes) > 0 &&
		!slices.ContainsFunc(run.Workloads, func(w result.Workload) bool { return w.Kind != Kind })
}

// maker makes a run of points.
type maker struct {
	run     result.Run
	classes map[string]bool
	levels  map[string][]column // of each class
	trials  [][]point           // the rows of each trial

	mixes    map[string]int        // number of each mix, by its name
	setUps   map[string][]setupKey // of its tenants
	repeats  map[string]int        // trials of it
	mixNames map[string]bool       // names that rows give to mixes
	names    map[setupKey]string   // of mixes of one row

	wrong *problem.List
}

// runOf makes a run of points.
func runOf(files []result.InputFile, points []point, wrong *problem.List) result.Run {
	m := maker{wrong: wrong, classes: map[string]bool{}, levels: levelsOf(points), mixes: map[string]int{},
		setUps:  map[string][]setupKey{},
		repeats: map[string]int{}, mixNames: map[string]bool{}, names: map[setupKey]string{}}
	m.run = result.Run{
		Schema: result.SchemaVersion, Status: result.RunComplete, Seed: 1,
		Experiment: result.Experiment{Name: "points", Question: "What was measured before?"},
		Environment: result.Environment{Notes: []string{"imported: " +
			plural.And(plural.Words(files, func(f result.InputFile) string { return f.Name })) +
			plural.Choose(len(files), " says", " say") + " so, and not checked against a device"}},
		Stacks:   []result.Stack{{Name: stackName, Marks: []result.Mark{result.MarkImported}}},
		Imported: files,
	}
	for _, p := range points {
		m.mixNames[p.mix] = true
		if !m.classes[p.class] {
			m.classes[p.class] = true
			m.run.Workloads = append(m.run.Workloads, result.Workload{Name: p.class, Kind: Kind, Summary: "imported"})
		}
	}
	for _, p := range points {
		if p.mix == "" {
			m.add(m.mixOf(p), p)
			continue
		}
		m.join(p)
	}
	for i := range m.trials {
		m.finish(i)
	}
	return m.run
}

// levelsOf returns, for each class, the columns in which its points differ.
func levelsOf(points []point) map[string][]column {
	levels, first := map[string][]column{}, map[string]point{}
	for _, p := range points {
		if _, met := first[p.class]; !met {
			first[p.class] = p
		}
	}
	for _, c := range columns {
		for _, p := range points {
			differing := levels[p.class]
			if c.trait&level != 0 && p.fields[c.Key] != first[p.class].fields[c.Key] &&
				(len(differing) == 0 || differing[len(differing)-1].Key != c.Key) {
				levels[p.class] = append(differing, c)
			}
		}
	}
	return levels
}

// mixOf returns the name of the mix of a point that has none: that of points with the same set-up.
func (m *maker) mixOf(p point) string {
	if name := m.names[p.setUp()]; name != "" {
		return name
	}
	words := []string{p.class, fmt.Sprint(p.instances)}
	texts := map[string]string{}
	for _, c := range m.levels[p.class] {
		if text := levelText(p.fields[c.Key]); text != "" {
			words, texts[c.Key] = append(words, text), text
		}
	}
	name := strings.Join(words, "-")
	for i := 2; m.mixNames[name] || m.setUps[name] != nil; i++ {
		name = fmt.Sprintf("%s.%d", strings.Join(words, "-"), i)
	}
	m.mix(name, p)
	m.names[p.setUp()] = name
	if len(texts) > 0 {
		m.run.Mixes[len(m.run.Mixes)-1].Levels = texts
	}
	return name
}

// levelText is a field as it stands in names.
func levelText(text string) string {
	return strings.Map(func(r rune) rune {
		if isNameRune(r) {
			return r
		}
		return -1
	}, text[:min(len(text), 24)])
}

// mix begins a mix.
func (m *maker) mix(name string, p point) {
	host := p.host
	m.mixes[name] = len(m.run.Mixes)
	m.run.Mixes = append(m.run.Mixes, result.Mix{Name: name, Host: &host})
	m.tenant(name, p)
}

// tenant adds a class to a mix.
func (m *maker) tenant(name string, p point) {
	m.setUps[name] = append(m.setUps[name], p.setUp())
	load := p.setUp().load
	of := &m.run.Mixes[m.mixes[name]]
	of.Tenants = append(of.Tenants, result.Tenant{Name: p.class, Workload: p.class, Count: p.instances, Limits: p.limits,
		Load: &load})
}

// add begins a trial of a mix with a row.
func (m *maker) add(mix string, p point) {
	m.repeats[mix]++
	repeat := m.repeats[mix]
	number := p.bringUp
	if number == 0 {
		number = repeat
	}
	m.trials = append(m.trials, []point{p})
	m.run.Trials = append(m.run.Trials, result.Trial{Seq: len(m.trials), Stack: stackName, Mix: mix, Block: number,
		BringUp: number, Repeat: repeat, Status: result.TrialDone})
}

// join adds a row to the mix that it names: to the first setup that has no row of its class.
func (m *maker) join(p point) {
	i := slices.IndexFunc(m.setUps[p.mix], func(s setupKey) bool { return s.class == p.class })
	first := m.setUps[p.mix]
	switch {
	case len(first) > 0 && first[0].host != p.host:
		m.wrong.InLine(p.line, "mix "+p.mix+" has another host here than in its first row",
			"rows of one mix ran on one host: name the mix differently")
		return
	case i >= 0 && first[i] != p.setUp():
		m.wrong.InLine(p.line,
			fmt.Sprintf("mix %s has other instances, clients or limits of %s here than before", p.mix, p.class),
			"rows of one mix and class are its setups: give the mix another name")
		return
	case len(first) == 0:
		m.mix(p.mix, p)
	case i < 0:
		m.tenant(p.mix, p)
	}
	for i, t := range m.run.Trials {
		has := slices.ContainsFunc(m.trials[i], func(q point) bool { return q.class == p.class })
		switch {
		case t.Mix != p.mix || p.bringUp > 0 && t.BringUp != p.bringUp:
		case !has:
			m.trials[i] = append(m.trials[i], p)
			return
		case p.bringUp > 0:
			m.wrong.InLine(p.line, fmt.Sprintf("mix %s has two rows of %s in setup %d", p.mix, p.class, p.bringUp),
				"leave one out")
			return
		}
	}
	m.add(p.mix, p)
}

// finish completes a trial with the measurements of its point.
func (m *maker) finish(i int) {
	t, rows := &m.run.Trials[i], m.trials[i]
	if missing := m.missing(t.Mix, rows); len(missing) > 0 {
		m.wrong.InLine(rows[0].line,
			fmt.Sprintf("setup %d of mix %s has no row of %s", t.BringUp, t.Mix, plural.And(missing)),
			"add one: all classes of a mix run at the same time")
		return
	}
	together := 0.0
	for _, p := range rows {
		together += p.rate
	}
	seconds := operations / together
	var served result.DeviceCounter
	counted := true
	for _, p := range rows {
		count := max(1, math.Round(p.rate*seconds))
		served.Reads += eventCount(p.reads, count)
		served.Writes += eventCount(p.writes, count)
		served.ReadBytes += eventCount(p.readBytes, count)
		served.WriteBytes += eventCount(p.writeBytes, count)
		counted = counted && (p.has("reads") || p.has("writes"))
		t.Instances = append(t.Instances, p.instance(count, seconds))
	}
	check := result.Honesty{Stack: stackName, Source: result.SourceServer, Reason: "imported"}
	if counted { // else nobody knows of all
		check.Served = []result.DeviceCounter{served}
	}
	t.Checks = []result.Honesty{check}
}

// missing are the classes of a mix of which there is no row.
func (m *maker) missing(mix string, rows []point) (classes []string) {
	for _, s := range m.setUps[mix] {
		if !slices.ContainsFunc(rows, func(p point) bool { return p.class == s.class }) {
			classes = append(classes, s.class)
		}
	}
	return classes
}

// instance returns the operations of all instances of a point as those of one, since their shares are unknown.
func (p point) instance(count, seconds float64) result.Instance {
	var printed []hist.Quantile
	for i, name := range percentiles {
		if p.has(name) {
			printed = append(printed, hist.Quantile{Percent: percents[i], NS: uint64(p.percentiles[i])})
		}
	}
	if len(printed) > 0 && !p.has("mean") { // Little's law gives it
		p.mean = 1e9 * max(0, float64(p.clients*p.instances)/p.rate-p.think)
	}
	var latency map[result.Stage]hist.Histogram
	if p.mean > 0 || p.has("mean") {
		latency = map[result.Stage]hist.Histogram{result.Total: {Count: uint64(count), MeanNS: p.mean, Printed: printed}}
	}
	in := result.Instance{Tenant: p.class, Workload: p.class, Stack: stackName, Status: result.TrialDone,
		Measurement: &result.Measurement{Seconds: seconds, RateOnly: true, Notes: p.doubts,
			Operations: []result.Operation{{Name: Operation, Count: uint64(count), Rate: p.rate, Latency: latency}}}}
	if p.has("cpu") {
		in.Usage = &result.Usage{Seconds: seconds, CPUSeconds: p.cpu * count,
			PeakMemoryBytes: int64(p.peak) * int64(p.instances)}
	}
	return in
}

// eventCount returns the whole number of events in count operations.
func eventCount(each, count float64) uint64 { return uint64(math.Round(each * count)) }
