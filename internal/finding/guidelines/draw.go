package guidelines

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"plimsoll/internal/finding/elasticity"
	"plimsoll/internal/finding/fact"
	"plimsoll/internal/finding/levels"
	"plimsoll/internal/finding/loadline"
	"plimsoll/internal/finding/measured"
	"plimsoll/internal/finding/policies"
	"plimsoll/internal/finding/prose"
	"plimsoll/internal/finding/published"
	"plimsoll/internal/finding/tenants"
	"plimsoll/internal/finding/verdict"
	"plimsoll/internal/plural"
	"plimsoll/internal/result"
	"plimsoll/internal/units"
	"plimsoll/internal/workload/ycsb"
)

const (
	// drastic is what is kept at most of what a paper says degrades drastically: it saw 0.54.
	drastic = 0.75
	// fair is what is kept at least of what it says is slowed fairly, or by a tenth: it saw 0.85 to 0.90. What keeps
	// less is in bad company.
	fair = 0.8
	// helps is by how much a faster drive has to be more for it to help.
	helps = 1.25
)

// access is how a workload uses a drive.
type access struct {
	reads, writes      bool // mostly
	sequential, random bool
}

// accessOf returns how a workload uses a drive, as the papers have it: Cassandra writes in sequence.
func (a *adviser) accessOf(workload string) (of access) {
	if asked, ok := a.v.Asked(workload); ok {
		reads := asked.Mix[ycsb.Read] + asked.Mix[ycsb.Scan]
		of.reads, of.writes = reads >= 0.8, reads <= 0.2
		of.random = of.reads
		of.sequential = of.writes && (asked.Database == "cassandra" || asked.Database == "pebble")
		return of
	}
	at := slices.IndexFunc(a.v.Run.Workloads, func(w result.Workload) bool { return w.Name == workload })
	if at < 0 {
		return of
	}
	pattern := a.v.Run.Workloads[at].Pattern
	of.random = strings.HasPrefix(pattern, "rand")
	of.sequential = pattern == "read" || pattern == "write"
	of.reads, of.writes = strings.HasSuffix(pattern, "read"), strings.HasSuffix(pattern, "write")
	return of
}

// neighbours advises what to put a tenant beside, by what it keeps of what it does alone.
func (a *adviser) neighbours() {
	for _, f := range tenants.Find(a.v) {
		told, ok := f.Facts.(*tenants.Facts)
		if !ok {
			continue
		}
		var all []tenants.Share
		for _, m := range told.Tenants.Mixes {
			for _, s := range m.Tenants {
				if len(s.Beside) == 1 && known(s.Rate) {
					all = append(all, s)
				}
			}
		}
		for i, s := range all {
			first := func(o tenants.Share) bool { return o.Workload == s.Workload }
			if slices.IndexFunc(all, first) == i {
				of := slices.DeleteFunc(slices.Clone(all), func(o tenants.Share) bool { return !first(o) })
				a.beside(s.Workload, told.Tenants, of)
			}
		}
	}
}

// beside advises on one workload, by all that it was measured beside: of several numbers of a neighbour the most.
func (a *adviser) beside(workload string, where tenants.Tenants, all []tenants.Share) {
	neighbour := func(s tenants.Share) string { return a.called(s.Beside[0].Workload) }
	slices.SortStableFunc(all, func(x, y tenants.Share) int { return y.Beside[0].Count - x.Beside[0].Count })
	var of []tenants.Share
	for _, s := range all {
		if !slices.ContainsFunc(of, func(o tenants.Share) bool { return neighbour(o) == neighbour(s) }) {
			of = append(of, s)
		}
	}
	slices.SortStableFunc(of, func(x, y tenants.Share) int { return cmp.Compare(x.Rate.Ratio, y.Rate.Ratio) })
	g := Guideline{Topic: Neighbours, About: workload + " on " + a.runs(workload), Evidence: Evidence{Host: where.Host}}
	keeps := func(s tenants.Share) string { return units.Percent(s.Rate.Ratio) }
	var bad, good, open []tenants.Share
	for _, s := range of {
		g.Evidence.Words = append(g.Evidence.Words, fmt.Sprintf("%d of %s beside %d of %s: %s of what it does alone", s.Count, workload,
			s.Beside[0].Count, neighbour(s), prose.Ratio(s.Rate)))
		switch {
		case s.Loses && s.Rate.Ratio < fair:
			bad = append(bad, s)
		case s.Open:
			open = append(open, s)
		default:
			good = append(good, s)
		}
		a.compareNeighbours(&g, s)
	}
	list := func(some []tenants.Share) string {
		return plural.List(some, func(s tenants.Share) string { return fmt.Sprintf("%s, where it keeps %s", neighbour(s), keeps(s)) })
	}
	switch {
	case len(bad) > 0:
		g.Text = fmt.Sprintf("Do not put %s beside %s here: it keeps %s of its rate", a.called(workload), neighbour(bad[0]), keeps(bad[0]))
		for _, s := range bad[1:] {
			g.Text += fmt.Sprintf(", and beside %s %s", neighbour(s), keeps(s))
		}
		if len(good) > 0 {
			g.Text += "; put it beside " + list(good)
		}
		g.Text += "."
	case len(good) > 0:
		g.Text = fmt.Sprintf("%s may stand beside %s.", a.called(workload), list(good))
	default:
		g.Open = true
		g.Text = fmt.Sprintf("What %s keeps beside %s cannot be told yet: trials differ too much.", a.called(workload),
			plural.List(open, neighbour))
	}
	if measured.ApartLimits(a.v.HostOf(of[0].Mix)) {
		g.Mind = append(g.Mind, "the miniature limits reads and writes apart, so that readers and writers never compete for its drive")
		g.Papers = nil
	}
	a.add(g)
}

// compareNeighbours says what of the papers' advice a tenant's loss agrees with.
func (a *adviser) compareNeighbours(g *Guideline, s tenants.Share) {
	own, other := a.accessOf(s.Workload), a.accessOf(s.Beside[0].Workload)
	by := s.Workload + " beside " + s.Beside[0].Workload
	e := s.Rate
	decide := func(p Published, agrees, disagrees bool) {
		if agrees || disagrees {
			g.Papers = append(g.Papers, Relation{p, agrees, by})
		}
	}
	switch {
	case own.random && other.sequential && (own.reads && other.reads || own.writes && other.writes):
		decide(notSequentialBesideRandom, e.High < drastic, e.Low > drastic)
	case own == other && own != (access{}):
		decide(alikeIsFair, e.Low > fair, e.High < fair)
	case own.reads && other.writes || own.writes && other.reads:
		decide(readersBesideWriters, e.Low > fair, e.High < fair)
	}
}

// runs says in a few words what a workload does.
func (a *adviser) runs(workload string) string { return cmp.Or(a.v.Runs(workload), workload) }

// called is a workload with what it is: "T (TPC-C on MySQL)".
func (a *adviser) called(workload string) string {
	kind, _, _ := strings.Cut(a.v.Runs(workload), ",")
	if kind == "" {
		return workload
	}
	return workload + " (" + kind + ")"
}

// number advises how many instances to run.
func (a *adviser) number() {
	for _, f := range loadline.Find(a.v) {
		told, ok := f.Facts.(*loadline.Facts)
		if !ok || told.Curve.Line.Instances == 0 || strings.Contains(told.Curve.Workload, " under ") {
			continue
		}
		a.carries(told.Curve)
	}
}

func (a *adviser) carries(c loadline.Curve) {
	g := Guideline{Topic: Number, About: c.Workload + " on " + a.runs(c.Workload), Evidence: Evidence{Host: c.Host}}
	last := c.Points[len(c.Points)-1]
	for _, p := range c.Points {
		words := fmt.Sprintf("%s: %s a second", plural.Count(p.Instances, "instance"), units.Rate(p.Rate))
		if p.P99NS > 0 {
			words += ", p99 " + units.Latency(p.P99NS)
		}
		if p.Binds != "" {
			words += ", held back by " + p.Binds.Word()
		}
		g.Evidence.Words = append(g.Evidence.Words, words)
	}
	own := a.accessOf(c.Workload)
	paper := func(p Published, agrees bool) { g.Papers = append(g.Papers, Relation{Published: p, Agrees: agrees}) }
	switch {
	case c.Valley != nil:
		g.Text = fmt.Sprintf("Run at most %s of %s here: %d do %s times as much as %d", plural.Count(c.Line.Instances, "instance"),
			a.called(c.Workload), c.Valley.To, units.Times(c.Valley.Ratio), c.Valley.From)
		memory := c.Valley.Cause == loadline.CauseMemory
		if memory {
			g.Text += ", since their data outgrow the memory"
		}
		g.Text += "."
		paper(balance, memory)
		if own.reads {
			paper(beforeTheValley, memory)
		}
	case c.Open != "" && c.Line.Low == 0:
		g.Open = true
		g.Text = fmt.Sprintf("How many instances of %s to run here cannot be told yet: %d did most so far.", a.called(c.Workload), c.Best)
	case c.Line.Instances == last.Instances:
		g.Text = fmt.Sprintf("Run %s of %s here, and perhaps more: each that joined added throughput.",
			plural.Count(last.Instances, "instance"), a.called(c.Workload))
		if own.writes && last.Binds != "" {
			paper(writeUntilCPU, last.Binds == fact.Processors)
		}
	default:
		g.Text = fmt.Sprintf("Run %s of %s here: more add nothing", plural.Count(c.Line.Instances, "instance"), a.called(c.Workload))
		if last.Binds != "" {
			g.Text += ", held back by " + last.Binds.Word()
		}
		g.Text += "."
		if own.writes && last.Binds != "" {
			paper(writeUntilCPU, last.Binds == fact.Processors)
		}
	}
	a.add(g)
}

// limits advises which policies of limits to give instances.
func (a *adviser) limits() {
	for _, f := range policies.Find(a.v) {
		told, ok := f.Facts.(*policies.Facts)
		if !ok {
			continue
		}
		p := told.Policies
		g := Guideline{Topic: Limits, About: fmt.Sprintf("%d of %s on %s", p.Instances, p.Workload, a.runs(p.Workload)),
			Evidence: Evidence{Host: p.Host}}
		var costly, free []policies.Policy
		cost := map[string]policies.Cost{}
		for _, one := range p.Policies {
			cost[one.Name] = one.Cost
			switch one.Cost {
			case policies.CostSome:
				costly = append(costly, one)
			case policies.CostNone, policies.CostGain:
				free = append(free, one)
			}
			words := fmt.Sprintf("%s: %s of the throughput of none", one.Name, prose.Ratio(*one.Throughput))
			if one.P99 != nil {
				words += fmt.Sprintf(", %s of its p99", prose.Ratio(*one.P99))
			}
			g.Evidence.Words = append(g.Evidence.Words, words)
		}
		slices.SortStableFunc(costly, func(x, y policies.Policy) int { return cmp.Compare(x.Throughput.Ratio, y.Throughput.Ratio) })
		name := func(one policies.Policy) string { return one.Name }
		lost := func(one policies.Policy) string {
			return fmt.Sprintf("%s costs %s", one.Name, units.Percent(1-one.Throughput.Ratio))
		}
		switch {
		case len(costly)+len(free) == 0:
			g.Open = true
			g.Text = fmt.Sprintf("What limits cost %d of %s cannot be told yet: trials differ too much.", p.Instances, a.called(p.Workload))
		case len(costly) == 0:
			g.Text = fmt.Sprintf("Any of these limits is free for %d of %s here: %s.", p.Instances, a.called(p.Workload), plural.List(free, name))
		default:
			g.Text = fmt.Sprintf("Of limits on %d of %s, %s of throughput", p.Instances, a.called(p.Workload), plural.List(costly, lost))
			if len(free) > 0 {
				g.Text += fmt.Sprintf("; %s cost nothing that can be told", plural.And(plural.Words(free, name)))
			}
			g.Text += "."
		}
		if cost["cpu"] != "" && cost["mem"] != "" && !g.Open {
			cheap := cost["cpu"] == policies.CostNone || cost["cpu"] == policies.CostGain
			if cheap || cost["cpu"] == policies.CostSome {
				g.Papers = append(g.Papers, Relation{Published: processorsAlone, Agrees: cheap && cost["mem"] != policies.CostGain})
			}
		}
		a.add(g)
	}
}

// more advises what more of a limit of the miniature would buy.
func (a *adviser) more() {
	for _, f := range elasticity.Find(a.v) {
		told, ok := f.Facts.(*elasticity.Facts)
		if !ok {
			continue
		}
		e := told.Elasticity
		g := Guideline{Topic: More, About: fmt.Sprintf("%d of %s on %s", e.Instances, e.Workload, a.runs(e.Workload)), Open: e.Open,
			Evidence: Evidence{Host: e.Host}}
		for _, w := range e.Limits {
			for _, change := range []*elasticity.LimitChange{w.Less, w.More} {
				if change != nil {
					g.Evidence.Words = append(g.Evidence.Words, fmt.Sprintf("%s times the %s: %s of the throughput", units.Times(change.Factor),
						w.Resource.Limit(), prose.Ratio(change.Rate)))
				}
			}
		}
		word := func(r fact.Resource) string { return r.Limit() }
		switch {
		case e.Open:
			g.Text = fmt.Sprintf("What more of the host would buy %d of %s cannot be told yet.", e.Instances, a.called(e.Workload))
		case len(e.Helps) > 0:
			g.Text = fmt.Sprintf("For %d of %s, add %s first: more of it makes all do more.", e.Instances, a.called(e.Workload), plural.List(e.Helps, word))
		case len(e.Needed) > 0:
			g.Text = fmt.Sprintf("For %d of %s there is enough of everything; with less %s they do less.", e.Instances, a.called(e.Workload),
				plural.List(e.Needed, word))
		default:
			g.Text = fmt.Sprintf("For %d of %s more of nothing that is limited helps.", e.Instances, a.called(e.Workload))
		}
		if first := append(slices.Clone(e.Helps), e.Needed...); len(first) > 0 && a.accessOf(e.Workload).reads {
			g.Papers = append(g.Papers, Relation{Published: memoryFirst, Agrees: first[0] == fact.Memory})
		}
		a.add(g)
	}
}

// levels advises at which level of a factor to run something.
func (a *adviser) levels() {
	for _, f := range levels.Find(a.v) {
		told, ok := f.Facts.(*levels.Facts)
		if !ok {
			continue
		}
		for _, s := range told.Series {
			a.level(told.Factor, s)
		}
	}
}

func (a *adviser) level(factor string, s levels.Series) {
	first, best := s.Points[0], s.Points[s.Best]
	g := Guideline{Topic: Drives, About: fmt.Sprintf("%s over %s", s.Name, factor), Evidence: Evidence{Host: first.Host}}
	for _, p := range s.Points {
		words := fmt.Sprintf("%s %s: %s a second", factor, p.Level, units.Rate(p.Rate))
		if p.Throughput != nil {
			words += ", " + prose.Ratio(*p.Throughput) + " of " + first.Level
		}
		g.Evidence.Words = append(g.Evidence.Words, words)
	}
	fast := func(p levels.Point) bool { return p.Throughput != nil && known(*p.Throughput) }
	switch does := s.Does(); {
	case does == levels.Open:
		g.Open = true
		g.Text = fmt.Sprintf("What %s does to %s cannot be told yet.", factor, s.Name)
	case does == levels.Level:
		g.Text = fmt.Sprintf("%s gains nothing from another %s than %s.", s.Name, factor, first.Level)
	case s.Best == 0:
		g.Text = fmt.Sprintf("Run %s with %s %s: it does less at the others.", s.Name, factor, best.Level)
	default:
		g.Text = fmt.Sprintf("Run %s with %s %s: it does %s times what it does with %s.", s.Name, factor, best.Level,
			units.Times(best.Throughput.Ratio), first.Level)
	}
	mix := slices.IndexFunc(a.v.Run.Mixes, func(m result.Mix) bool { return m.Name == first.Mix })
	at := slices.IndexFunc(s.Points, func(p levels.Point) bool { return p.Level == "nvme" && fast(p) })
	if factor == "media" && mix >= 0 && at >= 0 {
		e := s.Points[at].Throughput
		if reads := a.accessOf(a.v.Run.Mixes[mix].Tenants[0].Workload).reads; reads && (e.Low > helps || e.High < helps) {
			g.Papers = append(g.Papers, Relation{Published: readsGain, Agrees: e.Low > helps})
		}
	}
	a.add(g)
}

// stacks advises which stack to keep data on.
func (a *adviser) stacks() {
	for _, f := range verdict.Find(a.v) {
		told, ok := f.Facts.(verdict.Facts)
		if !ok || f.Case != "recommendation" || told.Name == "" || told.Only || f.Recommendation == nil {
			continue
		}
		g := Guideline{Topic: Stacks, About: a.v.Run.Experiment.Question, Open: f.Recommendation.Confidence == fact.TooEarly,
			Text: f.Recommendation.Headline, Evidence: Evidence{Words: strings.Split(f.Why, "\n")}}
		if told.Containers && !g.Open {
			g.Papers = append(g.Papers, Relation{Published: volumes, Agrees: strings.HasSuffix(told.Line, "xfs > volume")})
		}
		a.add(g)
	}
}

// placed advises on drives of other hosts, and on several hosts, by what published results were judged on.
func (a *adviser) placed() {
	for _, f := range published.Find(a.v) {
		told, ok := f.Facts.(published.Tested)
		if !ok || f.Effect == nil || !known(*f.Effect) || told.Measured.Case == "" {
			continue
		}
		e := *f.Effect
		g := Guideline{Topic: Stacks, About: f.Claim.ID + " " + f.Workload, Evidence: Evidence{Words: []string{f.Title}}}
		switch f.Claim.ID {
		case "cas-nvmf-throughput":
			g.Text = fmt.Sprintf("A drive of another host does %s of what one of this host does, for %s.", units.Percent(e.Ratio), f.Workload)
			g.Papers = []Relation{{Published: remote, Agrees: e.Low > fair}}
		case "pl-44das-vs-6das":
			c, _ := told.Measured.Facts.(published.Compared) // of such a result
			g.Text = fmt.Sprintf("%s of %s on each of two hosts with a drive do %s times what %d do on a host with two.",
				plural.Count(c.Instances, "instance"), f.Workload, units.Times(e.Ratio), c.Than)
			g.Papers = []Relation{{Published: spread, Agrees: e.Low > 1}}
		default:
			continue
		}
		a.add(g)
	}
}
