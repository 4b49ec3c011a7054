package published

import (
	"slices"

	samples "plimsoll/internal/cell"
	"plimsoll/internal/claims"
	"plimsoll/internal/finding/fact"
	"plimsoll/internal/finding/measured"
	"plimsoll/internal/finding/prose"
	"plimsoll/internal/result"
	"plimsoll/internal/stack/line"
	"plimsoll/internal/units"
)

// ratios tests what one thing is of another: each claim says what its two sides are.
func ratios(v *measured.View, c claims.Claim) []claimCase {
	return map[claims.Sides]func(*measured.View, claims.Claim) []claimCase{
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
func sampleOf(m claims.Metric, c *measured.Cell) samples.Sample {
	switch m {
	case claims.P99:
		return c.Sample(samples.P99)
	case claims.DeviceBandwidth:
		return c.DeviceBandwidth()
	case claims.TailOverMean:
		return c.TailOverMean()
	case claims.TotalLatency:
		return c.Totals()
	case claims.CompletionLatency:
		return c.Completions()
	}
	return c.Rates
}

// compare measures one sample against another. ok is false, and the case judged, where there is no
// ratio.
func (k *claimCase) compare(v *measured.View, m claims.Metric, a, b string, x, y samples.Sample) (e fact.Effect, ok bool) {
	e = fact.Effect{Metric: string(m), Subject: a, Baseline: b}
	if len(x) > 0 && len(y) > 0 {
		e, ok = v.Effect(string(m), a, b, x, y)
	}
	return e, k.compared(e, ok)
}

// compared keeps an effect.
func (k *claimCase) compared(e fact.Effect, ok bool) bool {
	if !ok {
		k.judgement = notTestable("no ratio", e, "%s and %s have no ratio of %s: a trial did nothing, or does not tell", e.Subject,
			e.Baseline, e.Metric)
		return false
	}
	k.effect = &e
	return true
}

// ofStacks tests stacks that differ in one thing, under a workload of each role.
func ofStacks(v *measured.View, c claims.Claim) (out []claimCase) {
	for _, role := range c.Test.Roles {
		w := workloadOf(v, c.Test.Load, c.Test.Jobs, role)
		if w.none() {
			continue
		}
		var cases []claimCase
		for _, s := range subjects(v, c.Test) {
			k := w.on(s.Name)
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
func (k *claimCase) againstBaseline(v *measured.View, c claims.Claim, s subject, d measured.Driven) {
	lines := baselines(v, c.Test, s)
	at := slices.IndexFunc(lines, func(l line.Line) bool { b := v.Find(l); return b != nil && b != s.Stack })
	if at < 0 {
		k.judgement = notTestable("no baseline", Lacks{s.Name, lines[0].String()},
			"the run lacks what %s is compared with: add the stack `%s`", s.Name, lines[0])
		return
	}
	baseline := v.Find(lines[at])
	k.stacks = append(k.stacks, baseline.Name)
	k.pair(v, c, measured.CellKey{Stack: s.Name, Workload: d.Name}, measured.CellKey{Stack: baseline.Name, Workload: d.Name})
}

// pair tests what was measured of one point against that of another.
func (k *claimCase) pair(v *measured.View, c claims.Claim, of, than measured.CellKey) {
	if !k.take(v, of, than) {
		return
	}
	a, b := k.evidence[0], k.evidence[1]
	subject, baseline := of.Stack, than.Stack
	if of.Stack == than.Stack {
		subject, baseline = of.Stack+" under "+of.Workload, than.Stack+" under "+than.Workload
	}
	k.grounds = grounds(c, a, b)
	ok := false
	if c.Test.Metric == "" {
		ok = k.compared(v.Compare(a, b))
	} else {
		_, ok = k.compare(v, c.Test.Metric, subject, baseline, sampleOf(c.Test.Metric, a), sampleOf(c.Test.Metric, b))
	}
	if !ok {
		return
	}
	e := *k.effect
	short := prose.ShortRatio(e)
	switch {
	case c.Test.Extra:
		extra := Extra{subject, baseline, extraOf(e.Ratio), extraOf(e.Low), extraOf(e.High)}
		says := units.Percent(extra.Share) + " (" + prose.Span("share", extra.Low, extra.High) + ")"
		k.tell("extra", extra, says, "%s of what an I/O of %s takes is extra, beside %s", says, subject, baseline)
	case of.Stack == than.Stack:
		k.tell("longer", Longer{of.Stack, of.Workload, than.Workload, e}, short, "on %s, that under %s is %s of that under %s",
			of.Stack, of.Workload, short, than.Workload)
	case c.Test.Metric == "":
		k.tell("ratio", e, short, "%s is %s of %s", subject, short, baseline)
	default:
		k.tell("beside twin", e, short, "that of %s is %s of %s's", subject, short, baseline)
	}
	switch why := measured.Unfit(a, b); {
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
func (k *claimCase) illusion(c claims.Claim, subject, baseline *measured.Cell, e fact.Effect) judgement {
	a := Answered{Stack: subject.Stack.Name, Effect: e}
	p := prose.PValue(e.P)
	switch subject.Source() {
	case result.SourceUnknown:
		return unfit(measured.Unfit(subject))
	case result.SourceDevice:
		a.Ratio = subject.Point.Ratio
		says := "answered"
		if a.Ratio != nil {
			says = "served " + units.OfHundred(*a.Ratio) + " of 100 I/Os"
		}
		return contradicted("no illusion", a, "there is no illusion: the device %s, so %s respects O_DIRECT", says, a.Stack)
	}
	if why := measured.Unfit(baseline); why != nil {
		return unfit(why)
	}
	a.Served = measured.Served(subject)
	served := prose.Served(a.Served)
	switch {
	case k.standIn == "":
		return k.hold(c, e)
	case e.TooFew:
		return notTestable("illusion undecided", a, "memory answered (%s), but %s", served, tooFew(e).why.words)
	case !e.Differs:
		return notTestable("illusion undecided", a,
			"memory answered (%s), but no difference is significant (%s); repeat more often, or measure longer", served, p)
	case e.Ratio < 1:
		return contradicted("slow illusion", a, "memory answered (%s), and yet it is slower than the device (%s)", served, p)
	}
	return confirmed("illusion", a, "the illusion is there: memory answered (%s), and seems significantly faster than the device "+
		"(%s); how much faster, of other memory and another device, is not judged", served, p)
}

// ofLoads tests how much longer an I/O takes on a busy device than on an idle one.
func ofLoads(v *measured.View, c claims.Claim) (out []claimCase) {
	role := c.Test.Roles[0]
	low, high := workloadOf(v, claims.Low, 0, role), workloadOf(v, c.Test.Load, 0, role)
	high.like = slices.DeleteFunc(high.like, func(d measured.Driven) bool { return d.Load.InFlight() == 1 })
	if !low.found || high.none() {
		return nil
	}
	for _, s := range subjects(v, c.Test) {
		k := high.on(s.Name)
		k.workload = low.Name
		if high.found {
			k.workload = high.Name
			k.pair(v, c, measured.CellKey{Stack: s.Name, Workload: high.Name}, measured.CellKey{Stack: s.Name, Workload: low.Name})
			deep := loadOf(high.Load)
			k.caveats = []said{say("caveat: how deep", deep, "%s here, 16 parallel jobs in the paper, which does not say how deep", deep)}
		}
		out = append(out, k)
	}
	return out
}
