package published

import (
	"slices"

	"plimsoll/internal/fact"
	"plimsoll/internal/finding/prose"
	"plimsoll/internal/finding/published/claims"
	"plimsoll/internal/result"
	"plimsoll/internal/runview"
	"plimsoll/internal/stack/line"
	"plimsoll/internal/units"
)

// ratios tests what one thing is of another: each claim says what its two sides are.
func ratios(v *runview.View, c claims.Claim) []claimCase {
	return map[claims.Sides]func(*runview.View, claims.Claim) []claimCase{
		claims.BetweenStacks:    ofStacks,
		claims.BetweenLoads:     ofLoads,
		claims.BetweenCounts:    ofCounts,
		claims.BetweenPolicies:  ofPolicies,
		claims.BetweenWorkloads: ofWorkloads,
		claims.BetweenCompany:   ofCompany,
		claims.BetweenLevels:    ofLevels,
		claims.BetweenTwins:     ofTwins,
		claims.BetweenHosts:     ofHosts,
	}[c.Test.Between](v, c)
}

// sampleOf is what of a cell a metric is.
func sampleOf(m claims.Metric, c *runview.Cell) runview.Sample {
	switch m {
	case claims.P99:
		return c.Sample(runview.P99)
	case claims.DeviceBandwidth:
		return c.Sample(runview.DeviceBandwidth)
	case claims.TailOverMean:
		return c.Sample(runview.TailOverMean)
	case claims.TotalLatency:
		return c.Sample(runview.MeanLatency)
	case claims.CompletionLatency:
		return c.Sample(runview.MeanService)
	}
	return c.Rates
}

// compare measures one sample against another. ok is false, and the case judged, where there is no
// ratio.
func (k *claimCase) compare(v *runview.View, m claims.Metric, a, b string, x, y runview.Sample) (e fact.Effect, ok bool) {
	e = fact.Effect{Metric: string(m), Subject: a, Baseline: b}
	if len(x) > 0 && len(y) > 0 {
		e, ok = v.Effect(string(m), a, b, x, y)
	}
	return e, k.setEffect(e, ok)
}

// setEffect sets the effect that the case is about. It is false, and the case judged, where there is no ratio.
func (k *claimCase) setEffect(e fact.Effect, ok bool) bool {
	if !ok {
		k.judgement = notTestable("no ratio", "%s and %s have no ratio of %s: a trial did nothing, or does not show", e.Subject,
			e.Baseline, e.Metric)
		return false
	}
	k.effect = &e
	return true
}

// ofStacks tests stacks that differ in one thing, under a workload of each role.
func ofStacks(v *runview.View, c claims.Claim) (out []claimCase) {
	for _, role := range c.Test.Roles {
		w := workloadOf(v, c.Test.Load, c.Test.Jobs, role)
		if w.missing() {
			continue
		}
		var cases []claimCase
		for _, s := range subjects(v, c.Test) {
			k := w.newCase(s.Name)
			k.standIn = s.standIn
			if len(c.Test.Roles) > 1 {
				k.about = role
			}
			if w.found {
				k.againstBaseline(v, c, s, w.Driven)
			}
			k.caveats = append(k.caveats, s.caveats(v, c.Test)...)
			cases = append(cases, k)
		}
		// Of subjects that the host cannot have, one is enough, and none when
		// others were measured: they are among what is missing.
		unmeasured := func(k claimCase) bool { return k.effect == nil }
		if measured := slices.DeleteFunc(slices.Clone(cases), unmeasured); len(measured) > 0 {
			cases = measured
		} else if len(cases) > 1 {
			cases = cases[:1]
		}
		out = append(out, cases...)
	}
	return out
}

// againstBaseline tests one subject under one load.
func (k *claimCase) againstBaseline(v *runview.View, c claims.Claim, s subject, d runview.Driven) {
	lines := baselines(v, c.Test, s)
	i := slices.IndexFunc(lines, func(l line.Line) bool { b := v.Find(l); return b != nil && b != s.Stack })
	if i < 0 {
		k.judgement = notTestable("no baseline",
			"the run lacks what %s is compared with: add the stack `%s`", s.Name, lines[0])
		return
	}
	baseline := v.Find(lines[i])
	k.stacks = append(k.stacks, baseline.Name)
	k.pair(v, c, runview.CellKey{Stack: s.Name, Workload: d.Name}, runview.CellKey{Stack: baseline.Name, Workload: d.Name})
}

// pair tests what was measured of one point against that of another.
func (k *claimCase) pair(v *runview.View, c claims.Claim, subjectKey, baselineKey runview.CellKey) {
	if !k.take(v, subjectKey, baselineKey) {
		return
	}
	a, b := k.evidence[0], k.evidence[1]
	subject, baseline := subjectKey.Stack, baselineKey.Stack
	if subjectKey.Stack == baselineKey.Stack {
		subject, baseline = subjectKey.Stack+" under "+subjectKey.Workload, baselineKey.Stack+" under "+baselineKey.Workload
	}
	k.grounds = grounds(c, a, b)
	ok := false
	if c.Test.Metric == "" {
		ok = k.setEffect(v.Compare(a, b))
	} else {
		_, ok = k.compare(v, c.Test.Metric, subject, baseline, sampleOf(c.Test.Metric, a), sampleOf(c.Test.Metric, b))
	}
	if !ok {
		return
	}
	e := *k.effect
	short := e.Written()
	switch {
	case c.Test.Extra:
		share := units.Percent(extraOf(e.Ratio)) + " (" + prose.Span("share", extraOf(e.Low), extraOf(e.High)) + ")"
		k.setMeasured("extra", share, "%s of what an I/O of %s takes is extra, beside %s", share, subject, baseline)
	case subjectKey.Stack == baselineKey.Stack:
		k.setMeasured("longer", short, "on %s, that under %s is %s of that under %s",
			subjectKey.Stack, subjectKey.Workload, short, baselineKey.Workload)
	case c.Test.Metric == "":
		k.setMeasured("ratio", short, "%s is %s of %s", subject, short, baseline)
	default:
		k.setMeasured("beside twin", short, "that of %s is %s of %s's", subject, short, baseline)
	}
	switch why := runview.Unfit(a, b); {
	case c.Test.Illusion:
		k.judgement = k.illusion(c, a, b, e)
	case why != nil:
		k.judgement = unfit(why)
	default:
		k.judgement = k.hold(c, e)
	}
}

// illusion judges a claim that a stack is faster than its device because
// memory answers. The stack itself is held against the published factor too; a
// stand-in shows whether there is such an illusion, not how large it was.
func (k *claimCase) illusion(c claims.Claim, subject, baseline *runview.Cell, e fact.Effect) judgement {
	p := units.PValue(e.P)
	switch subject.Source() {
	case result.SourceUnknown:
		return unfit(runview.Unfit(subject))
	case result.SourceDevice:
		says := "the device answered"
		if ratio := subject.Point.Ratio; ratio != nil {
			says = units.OfHundred(*ratio) + "% of the I/Os reached the device"
		}
		return contradicted("no illusion", "memory did not answer: %s, so %s respects O_DIRECT", says, subject.Stack.Name)
	}
	if why := runview.Unfit(baseline); why != nil {
		return unfit(why)
	}
	served := prose.Served(runview.Served(subject))
	switch {
	case k.standIn == "":
		return k.hold(c, e)
	case e.TooFew:
		return notTestable("illusion undecided", "memory answered (%s), but %s", served, tooFew(e).why.Text)
	case !e.Differs:
		return notTestable("illusion undecided",
			"memory answered (%s), but no difference is significant (%s); repeat more often, or measure longer", served, p)
	case e.Ratio < 1:
		return contradicted("slow illusion", "memory answered (%s), and yet it is slower than the device (%s)", served, p)
	}
	return confirmed("illusion", "memory answered (%s), and seems significantly faster than the device "+
		"(%s); how much faster, of other memory and another device, is not judged", served, p)
}

// ofLoads tests how much longer an I/O takes on a busy device than on an idle one.
func ofLoads(v *runview.View, c claims.Claim) (out []claimCase) {
	role := c.Test.Roles[0]
	low, high := workloadOf(v, claims.Low, 0, role), workloadOf(v, c.Test.Load, 0, role)
	high.like = slices.DeleteFunc(high.like, func(d runview.Driven) bool { return d.Load.InFlight() == 1 })
	if !low.found || high.missing() {
		return nil
	}
	for _, s := range subjects(v, c.Test) {
		k := high.newCase(s.Name)
		k.workload = low.Name
		if high.found {
			k.workload = high.Name
			k.pair(v, c, runview.CellKey{Stack: s.Name, Workload: high.Name}, runview.CellKey{Stack: s.Name, Workload: low.Name})
			deep := loadText(high.Load)
			k.caveats = []Reason{newReason("caveat: how deep", "%s here, 16 parallel jobs in the paper, which does not say how deep", deep)}
		}
		out = append(out, k)
	}
	return out
}
