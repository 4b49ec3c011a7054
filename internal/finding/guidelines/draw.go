package guidelines

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"plimsoll/internal/fact"
	"plimsoll/internal/fact/threshold"
	"plimsoll/internal/finding/elasticity"
	"plimsoll/internal/finding/levels"
	"plimsoll/internal/finding/loadline"
	"plimsoll/internal/finding/policies"
	"plimsoll/internal/finding/prose"
	"plimsoll/internal/finding/published"
	"plimsoll/internal/finding/tenants"
	"plimsoll/internal/finding/verdict"
	"plimsoll/internal/runview"
	"plimsoll/internal/units"
	"plimsoll/internal/units/plural"
	"plimsoll/internal/workload/ycsb"
)

// access is how a workload uses a drive.
type access struct {
	reads, writes      bool // mostly
	sequential, random bool
}

// accessOf returns how a workload uses a drive, as the papers have it: Cassandra writes in sequence.
func (a *adviser) accessOf(workload string) (accesses access) {
	if asked, ok := a.v.Asked(workload); ok {
		reads := asked.Mix[ycsb.Read] + asked.Mix[ycsb.Scan]
		accesses.reads, accesses.writes = reads >= 0.8, reads <= 0.2
		accesses.random = accesses.reads
		accesses.sequential = accesses.writes && (asked.Database == "cassandra" || asked.Database == "pebble")
		return accesses
	}
	w, _ := a.v.Run.Workload(workload)
	pattern := w.Pattern
	accesses.random = strings.HasPrefix(pattern, "rand")
	accesses.sequential = pattern == "read" || pattern == "write"
	accesses.reads, accesses.writes = strings.HasSuffix(pattern, "read"), strings.HasSuffix(pattern, "write")
	return accesses
}

// neighbours advises what to put a tenant beside, by what it keeps of what it does alone.
func (a *adviser) neighbours() {
	for _, f := range tenants.Find(a.v) {
		facts, ok := f.Facts.(*tenants.Facts)
		if !ok {
			continue
		}
		var shares []tenants.Share
		for _, m := range facts.Tenants.Mixes {
			for _, s := range m.Tenants {
				if len(s.Beside) == 1 && hasInterval(s.Rate) {
					shares = append(shares, s)
				}
			}
		}
		for i, s := range shares {
			first := func(o tenants.Share) bool { return o.Workload == s.Workload }
			if slices.IndexFunc(shares, first) == i {
				sameWorkload := slices.DeleteFunc(slices.Clone(shares), func(o tenants.Share) bool { return !first(o) })
				a.adviseBeside(s.Workload, facts.Tenants, sameWorkload)
			}
		}
	}
}

// adviseBeside advises on one workload, by each workload that it was measured together with. Of several numbers of
// instances of a neighbour, the largest counts.
func (a *adviser) adviseBeside(workload string, measured tenants.Tenants, shares []tenants.Share) {
	neighbour := func(s tenants.Share) string { return a.describeWorkload(s.Beside[0].Workload) }
	slices.SortStableFunc(shares, func(x, y tenants.Share) int { return y.Beside[0].Count - x.Beside[0].Count })
	var perNeighbour []tenants.Share
	for _, s := range shares {
		if !slices.ContainsFunc(perNeighbour, func(o tenants.Share) bool { return neighbour(o) == neighbour(s) }) {
			perNeighbour = append(perNeighbour, s)
		}
	}
	slices.SortStableFunc(perNeighbour, func(x, y tenants.Share) int { return cmp.Compare(x.Rate.Ratio, y.Rate.Ratio) })
	g := Guideline{Topic: Neighbours, About: workload + " on " + a.runs(workload), Evidence: Evidence{Host: measured.Host}}
	keeps := func(s tenants.Share) string { return units.Percent(s.Rate.Ratio) }
	var bad, good, open []tenants.Share
	for _, s := range perNeighbour {
		g.Evidence.Words = append(g.Evidence.Words, fmt.Sprintf("%d of %s beside %d of %s: %s of what it does alone", s.Count, workload,
			s.Beside[0].Count, neighbour(s), s.Rate.WithInterval()))
		switch {
		case s.Loses && s.Rate.Ratio < threshold.FairShare:
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
		g.Text = fmt.Sprintf("Do not put %s beside %s here: it keeps %s of its rate", a.describeWorkload(workload), neighbour(bad[0]), keeps(bad[0]))
		for _, s := range bad[1:] {
			g.Text += fmt.Sprintf(", and beside %s %s", neighbour(s), keeps(s))
		}
		if len(good) > 0 {
			g.Text += "; put it beside " + list(good)
		}
		g.Text += "."
	case len(good) > 0:
		g.Text = fmt.Sprintf("%s may share a host with %s.", a.describeWorkload(workload), list(good))
	default:
		g.Open = true
		g.Text = fmt.Sprintf("What %s keeps beside %s is not known yet: trials differ too much.", a.describeWorkload(workload),
			plural.List(open, neighbour))
	}
	if runview.ApartLimits(a.v.HostOf(perNeighbour[0].Mix)) {
		g.Mind = append(g.Mind, "the scaled-down host limits reads and writes apart, so that readers and writers never compete for its drive")
		g.Papers = nil
	}
	a.add(g)
}

// compareNeighbours adds the papers' advice that a tenant's loss agrees or disagrees with.
func (a *adviser) compareNeighbours(g *Guideline, s tenants.Share) {
	pattern, neighborAccess := a.accessOf(s.Workload), a.accessOf(s.Beside[0].Workload)
	combination := s.Workload + " beside " + s.Beside[0].Workload
	e := s.Rate
	decide := func(p Published, agrees, disagrees bool) {
		if agrees || disagrees {
			g.Papers = append(g.Papers, Relation{p, agrees, combination})
		}
	}
	switch {
	case pattern.random && neighborAccess.sequential && (pattern.reads && neighborAccess.reads || pattern.writes && neighborAccess.writes):
		decide(notSequentialBesideRandom, e.High < threshold.DrasticLoss, e.Low > threshold.DrasticLoss)
	case pattern == neighborAccess && pattern != (access{}):
		decide(alikeIsFair, e.Low > threshold.FairShare, e.High < threshold.FairShare)
	case pattern.reads && neighborAccess.writes || pattern.writes && neighborAccess.reads:
		decide(readersBesideWriters, e.Low > threshold.FairShare, e.High < threshold.FairShare)
	}
}

// runs says in a few words what a workload does.
func (a *adviser) runs(workload string) string { return cmp.Or(a.v.Runs(workload), workload) }

// describeWorkload is a workload with what it is: "T (TPC-C on MySQL)".
func (a *adviser) describeWorkload(workload string) string {
	kind, _, _ := strings.Cut(a.v.Runs(workload), ",")
	if kind == "" {
		return workload
	}
	return workload + " (" + kind + ")"
}

// number advises how many instances to run.
func (a *adviser) number() {
	for _, f := range loadline.Find(a.v) {
		facts, ok := f.Facts.(*loadline.Facts)
		if !ok || facts.Curve.Line.Instances == 0 || strings.Contains(facts.Curve.Workload, " under ") {
			continue
		}
		a.carries(facts.Curve)
	}
}

func (a *adviser) carries(c loadline.Curve) {
	g := Guideline{Topic: Number, About: c.Workload + " on " + a.runs(c.Workload), Evidence: Evidence{Host: c.Host.Has}}
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
	access := a.accessOf(c.Workload)
	paper := func(p Published, agrees bool) { g.Papers = append(g.Papers, Relation{Published: p, Agrees: agrees}) }
	switch {
	case c.Valley != nil:
		g.Text = fmt.Sprintf("Run at most %s of %s here: %d do %s times as much as %d", plural.Count(c.Line.Instances, "instance"),
			a.describeWorkload(c.Workload), c.Valley.To, units.Times(c.Valley.Ratio), c.Valley.From)
		memory := c.Valley.Cause == loadline.CauseMemory
		if memory {
			g.Text += ", since their data outgrow the memory"
		}
		g.Text += "."
		paper(balance, memory)
		if access.reads {
			paper(beforeTheValley, memory)
		}
	case c.Open != "" && c.Line.Low == 0:
		g.Open = true
		g.Text = fmt.Sprintf("How many instances of %s to run here is not known yet: %d did most so far.", a.describeWorkload(c.Workload), c.Best)
	case c.Line.Instances == last.Instances:
		g.Text = fmt.Sprintf("Run %s of %s here, and perhaps more: each that joined added throughput.",
			plural.Count(last.Instances, "instance"), a.describeWorkload(c.Workload))
		if access.writes && last.Binds != "" {
			paper(writeUntilCPU, last.Binds == fact.Processors)
		}
	default:
		g.Text = fmt.Sprintf("Run %s of %s here: ", plural.Count(c.Line.Instances, "instance"), a.describeWorkload(c.Workload))
		if c.Line.Objective.None() {
			g.Text += fmt.Sprintf("%d together did %s times what did most", last.Instances, units.Times(last.Rate/mostOf(c.Points)))
		} else {
			g.Text += "with more the objective is not known to be met"
		}
		if last.Binds != "" {
			g.Text += ", held back by " + last.Binds.Word()
		}
		g.Text += "."
		if access.writes && last.Binds != "" {
			paper(writeUntilCPU, last.Binds == fact.Processors)
		}
	}
	a.add(g)
}

// mostOf returns the highest rate of points.
func mostOf(points []fact.ScalingPoint) (most float64) {
	for _, p := range points {
		most = max(most, p.Rate)
	}
	return most
}

// limits advises which policies of limits to give instances.
func (a *adviser) limits() {
	for _, f := range policies.Find(a.v) {
		facts, ok := f.Facts.(*policies.Facts)
		if !ok {
			continue
		}
		p := facts.Policies
		g := Guideline{Topic: Limits, About: fmt.Sprintf("%d of %s on %s", p.Instances, p.Workload, a.runs(p.Workload)),
			Evidence: Evidence{Host: p.Host}}
		var costly, free []policies.Policy
		cost := map[string]policies.Cost{}
		for _, policy := range p.Policies {
			cost[policy.Name] = policy.Cost
			switch policy.Cost {
			case policies.CostSome:
				costly = append(costly, policy)
			case policies.CostNone, policies.CostGain:
				free = append(free, policy)
			}
			words := fmt.Sprintf("%s: %s of the throughput of none", policy.Name, policy.Throughput.WithInterval())
			if policy.P99 != nil {
				words += fmt.Sprintf(", %s of its p99", policy.P99.WithInterval())
			}
			g.Evidence.Words = append(g.Evidence.Words, words)
		}
		slices.SortStableFunc(costly, func(x, y policies.Policy) int { return cmp.Compare(x.Throughput.Ratio, y.Throughput.Ratio) })
		name := func(policy policies.Policy) string { return policy.Name }
		lost := func(policy policies.Policy) string {
			return fmt.Sprintf("%s costs %s", policy.Name, units.Percent(1-policy.Throughput.Ratio))
		}
		switch {
		case len(costly)+len(free) == 0:
			g.Open = true
			g.Text = fmt.Sprintf("What limits cost %d of %s is not known yet: trials differ too much.", p.Instances, a.describeWorkload(p.Workload))
		case len(costly) == 0:
			g.Text = fmt.Sprintf("Any of these limits costs %d of %s at most %s here: %s.", p.Instances, a.describeWorkload(p.Workload),
				prose.AtMost(policies.MayCost(free)), plural.List(free, name))
		default:
			g.Text = fmt.Sprintf("Of limits on %d of %s, %s of throughput", p.Instances, a.describeWorkload(p.Workload), plural.List(costly, lost))
			if len(free) > 0 {
				g.Text += fmt.Sprintf("; %s cost at most %s", plural.And(plural.Words(free, name)), prose.AtMost(policies.MayCost(free)))
			}
			g.Text += "."
		}
		processors := cmp.Or(cost["pin"], cost["cpu"]) // the paper pinned them
		if processors != "" && cost["mem"] != "" && !g.Open {
			cheap := processors == policies.CostNone || processors == policies.CostGain
			if cheap || processors == policies.CostSome {
				g.Papers = append(g.Papers, Relation{Published: processorsAlone, Agrees: cheap && cost["mem"] != policies.CostGain})
			}
		}
		a.add(g)
	}
}

// adviseLimits advises which limit of the scaled-down host to raise, by the throughput that this would buy.
func (a *adviser) adviseLimits() {
	for _, f := range elasticity.Measured(a.v) {
		facts, ok := f.Facts.(*elasticity.Facts)
		if !ok {
			continue
		}
		e := facts.Elasticity
		g := Guideline{Topic: More, About: fmt.Sprintf("%d of %s on %s", e.Instances, e.Workload, a.runs(e.Workload)), Open: e.Open,
			Evidence: Evidence{Host: e.Host}}
		for _, w := range e.Limits {
			for _, change := range []*elasticity.LimitChange{w.Less, w.More} {
				if change != nil {
					g.Evidence.Words = append(g.Evidence.Words, fmt.Sprintf("%s times the %s: %s of the throughput", units.Times(change.Factor),
						w.Resource.Limit(), change.Rate.WithInterval()))
				}
			}
		}
		word := func(r fact.Resource) string { return r.Limit() }
		switch {
		case e.Open:
			g.Text = fmt.Sprintf("What more of the host would buy %d of %s is not known yet.", e.Instances, a.describeWorkload(e.Workload))
		case len(e.Helps) > 0:
			g.Text = fmt.Sprintf("For %d of %s, add %s first: more of it makes all do more.", e.Instances, a.describeWorkload(e.Workload), plural.List(e.Helps, word))
		case len(e.Needed) > 0:
			g.Text = fmt.Sprintf("For %d of %s: with less %s they do less", e.Instances, a.describeWorkload(e.Workload), plural.List(e.Needed, word))
			if most := e.BuyAtMost(); most > 0 {
				g.Text += fmt.Sprintf(", and more of a limit buys at most %s", prose.AtMost(most))
			}
			g.Text += "."
		default:
			var all []fact.Resource
			for _, w := range e.Limits {
				all = append(all, w.Resource)
			}
			g.Text = fmt.Sprintf("For %d of %s more or less of a limit changes throughput by at most %s.", e.Instances,
				a.describeWorkload(e.Workload), prose.AtMost(e.ChangeAtMost(all...)))
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
		facts, ok := f.Facts.(*levels.Facts)
		if !ok {
			continue
		}
		for _, s := range facts.Series {
			a.level(facts.Factor, s)
		}
	}
}

func (a *adviser) level(factor string, s levels.Series) {
	first, best := s.Points[0], s.Points[s.Best]
	g := Guideline{Topic: Drives, About: fmt.Sprintf("%s over %s", s.Name, factor), Evidence: Evidence{Host: first.Host}}
	for _, p := range s.Points {
		words := fmt.Sprintf("%s %s: %s a second", factor, p.Level, units.Rate(p.Rate))
		if p.Throughput != nil {
			words += ", " + p.Throughput.WithInterval() + " of " + first.Level
		}
		g.Evidence.Words = append(g.Evidence.Words, words)
	}
	fast := func(p levels.Point) bool { return p.Throughput != nil && hasInterval(*p.Throughput) }
	switch does := s.Effect(); {
	case does == levels.Open:
		g.Open = true
		g.Text = fmt.Sprintf("What %s does to %s is not known yet.", factor, s.Name)
	case does == levels.Level:
		g.Text = fmt.Sprintf("%s changes by at most %s with another %s than %s.", s.Name, prose.AtMost(s.MayChange()), factor, first.Level)
	case s.Best == 0:
		g.Text = fmt.Sprintf("Run %s with %s %s: it does less at the others.", s.Name, factor, best.Level)
	default:
		g.Text = fmt.Sprintf("Run %s with %s %s: it does %s times what it does with %s.", s.Name, factor, best.Level,
			units.Times(best.Throughput.Ratio), first.Level)
	}
	mix, known := a.v.Run.Mix(first.Mix)
	i := slices.IndexFunc(s.Points, func(p levels.Point) bool { return p.Level == "nvme" && fast(p) })
	if factor == "media" && known && i >= 0 {
		e := s.Points[i].Throughput
		if reads := a.accessOf(mix.Tenants[0].Workload).reads; reads && (e.Low > threshold.DriveHelps || e.High < threshold.DriveHelps) {
			g.Papers = append(g.Papers, Relation{Published: readsGain, Agrees: e.Low > threshold.DriveHelps})
		}
	}
	a.add(g)
}

// stacks advises which stack to keep data on.
func (a *adviser) stacks() {
	for _, f := range verdict.Find(a.v) {
		facts, ok := f.Facts.(verdict.Facts)
		if !ok || f.Case != "stack" || facts.Name == "" || facts.OnlyCandidate || f.Recommendation == nil {
			continue
		}
		g := Guideline{Topic: Stacks, About: a.v.Run.Experiment.Question, Open: f.Recommendation.Confidence == fact.TooEarly,
			Text: f.Recommendation.Headline, Evidence: Evidence{Words: strings.Split(f.Why, "\n")}}
		if facts.ContainersMeasured && !g.Open {
			g.Papers = append(g.Papers, Relation{Published: volumes, Agrees: strings.HasSuffix(facts.Line, "xfs > volume")})
		}
		a.add(g)
	}
}

// placed advises on drives of other hosts, and on several hosts, by what published results were judged on.
func (a *adviser) placed() {
	for _, f := range published.Find(a.v) {
		facts, ok := f.Facts.(published.Tested)
		if !ok || f.Effect == nil || !hasInterval(*f.Effect) || facts.Measured.Case == "" {
			continue
		}
		e := *f.Effect
		g := Guideline{Topic: Stacks, About: f.Claim.ID + " " + f.Workload, Evidence: Evidence{Words: []string{f.Title}}}
		switch f.Claim.ID {
		case "cas-nvmf-throughput":
			g.Text = fmt.Sprintf("A drive of another host does %s of what one of this host does, for %s.", units.Percent(e.Ratio), f.Workload)
			g.Papers = []Relation{{Published: remote, Agrees: e.Low > threshold.FairShare}}
		case "pl-44das-vs-6das":
			c := facts.Compared
			g.Text = fmt.Sprintf("%s of %s on each of two hosts with a drive do %s times what %d do on a host with two.",
				plural.Count(c.Instances, "instance"), f.Workload, units.Times(e.Ratio), c.Than)
			g.Papers = []Relation{{Published: spread, Agrees: e.Low > 1}}
		default:
			continue
		}
		a.add(g)
	}
}
