package published

import (
	"math"
	"slices"
	"strings"

	"plimsoll/internal/claims"
	"plimsoll/internal/finding/fact"
	"plimsoll/internal/finding/measured"
	"plimsoll/internal/finding/prose"
	"plimsoll/internal/result"
	"plimsoll/internal/stats"
	"plimsoll/internal/units"
)

const (
	// rounding is the tolerance, as a share of the value, of published numbers
	// that state none: they come with one or two digits and without an interval.
	rounding = 0.2
	// widest is how many times its lower end the upper end of an interval may be
	// for it to confirm a factor, however large; a smaller factor allows no more
	// than itself. Otherwise noise would confirm: a wide interval holds anything.
	widest = 3
	// levelShape is by how much, either way, two of one shape differ that the paper found
	// to be equal.
	levelShape = 1.25
	// hardly is by how much two differ at most that do not differ to speak of.
	hardly = 1.1
	// roughSize is how many times the published effect, as a logarithm, an effect of the
	// same shape has at most, and at least the inverse of it: twice as much is of the
	// shape of half as much again, eight times as much is not.
	roughSize = 3
)

// judgement is a verdict and its reason.
type judgement struct {
	verdict fact.ClaimVerdict
	why     said
}

func confirmed(why string, facts any, format string, args ...any) judgement {
	return judgement{fact.ClaimConfirmed, say(why, facts, format, args...)}
}

func contradicted(why string, facts any, format string, args ...any) judgement {
	return judgement{fact.ClaimContradicted, say(why, facts, format, args...)}
}

func notTestable(why string, facts any, format string, args ...any) judgement {
	return judgement{fact.ClaimNotTestable, say(why, facts, format, args...)}
}

// undecided says why the data does not decide, which more of it might.
func undecided(why string, facts any, format string, args ...any) judgement {
	return notTestable(why, facts, "the data does not decide: "+format+"; repeat more often, or measure longer", args...)
}

func tooFew(e fact.Effect) judgement {
	return notTestable("few", e, "%s", strings.Join(prose.TooFew(e), "; "))
}

func unfit(why []fact.Unfit) judgement { return notTestable("unfit", why, "%s", prose.Unfit(why)) }

// unmeasured says why a claim cannot be tested on a stack that has no measurement.
func unmeasured(v *measured.View, of measured.CellKey) said {
	facts := Unmeasured{Stack: of.Stack, Workload: of.Workload}
	stopped := []result.TrialStatus{result.TrialSkipped, result.TrialFailed}
	at := slices.IndexFunc(v.Run.Trials, func(t result.Trial) bool {
		return t.Stack == of.Stack && t.Mix == of.Workload && t.Problem != nil && slices.Contains(stopped, t.Status)
	})
	if at >= 0 {
		t := v.Run.Trials[at]
		facts.Status, facts.Why, facts.Remedy = string(t.Status), strings.TrimRight(t.Problem.Why, "."), t.Problem.Remedy
	}
	return say("unmeasured", facts, "%s", facts)
}

// band is the published value with its tolerance. It is infinite on a side
// where only a bound was published, which is taken as it stands.
func band(c claims.Claim) (low, high float64) {
	v := *c.Value
	switch {
	case bound(v):
		return v.Low, v.High
	case c.Tolerance > 0:
		return v.Low - c.Tolerance, v.High + c.Tolerance
	}
	return v.Low * (1 - rounding), v.High * (1 + rounding)
}

func bound(v claims.Value) bool { return math.IsInf(v.Low, 0) || math.IsInf(v.High, 0) }

// known is a number, nil for none.
func known(x float64) *float64 {
	if !measured.Finite(x) {
		return nil
	}
	return &x
}

// limits are the band, nil where there is no limit. A place has no tolerance:
// what was measured of it has an interval.
func limits(c claims.Claim) (low, high *float64) {
	if c.Value == nil || c.Value.Parts != nil {
		return nil, nil
	}
	l, h := c.Value.Low, c.Value.High
	if c.Kind != claims.Location {
		l, h = band(c)
	}
	return known(l), known(h)
}

// marked is the number that figures mark beside what was measured, of what it is, and whether it is a bound.
func marked(c claims.Claim) (of fact.Marked, at float64, isBound bool) {
	switch {
	case c.Value == nil || c.Value.Parts != nil:
	case c.Kind == claims.Ratio && math.IsInf(c.Value.Low, 0):
		return fact.OfRatio, c.Value.High, true
	case c.Kind == claims.Ratio && math.IsInf(c.Value.High, 0):
		return fact.OfRatio, c.Value.Low, true
	case c.Kind == claims.Ratio:
		return fact.OfRatio, (c.Value.Low + c.Value.High) / 2, false
	case c.Test.Metric == claims.SubmissionShare:
		return fact.OfSubmission, c.Value.Low, false
	}
	return "", 0, false
}

// valueOf is the published value of a claim.
func valueOf(c claims.Claim) (v Value) {
	switch {
	case c.Value == nil:
		return Value{Order: c.Subject}
	case c.Value.Parts == nil:
		return Value{Ratio: c.Kind == claims.Ratio, Unit: c.Unit, Low: known(c.Value.Low), High: known(c.Value.High),
			Tolerance: c.Tolerance}
	}
	for _, p := range c.Value.Parts {
		one, _ := narrowed(c, p.Name)
		v.Parts = append(v.Parts, Part{partName(p.Name), valueOf(one)})
	}
	return v
}

// partName is the name of a claim's number, without the unit of a latency.
func partName(part string) string {
	unit := func(w string) bool { return w == "us" || w == "ms" }
	return strings.Join(slices.DeleteFunc(strings.Split(part, "_"), unit), " ")
}

// narrowed returns a claim that has several numbers with one of them alone, whose name may
// have its unit. ok is false when it has none of that name.
func narrowed(c claims.Claim, part string) (of claims.Claim, ok bool) {
	at := slices.IndexFunc(c.Value.Parts, func(p claims.Part) bool { return p.Name == part })
	if at < 0 {
		return c, false
	}
	c.Value = &c.Value.Parts[at].Value
	for _, w := range strings.Split(part, "_")[1:] {
		if c.Unit == "" && slices.Contains([]string{"us", "ms", "share"}, w) {
			c.Unit = w
		}
	}
	return c, true
}

// hold holds a measured ratio against the published one, or against its shape where
// something else than the paper's database was measured.
func (k *claimCase) hold(c claims.Claim, e fact.Effect) judgement {
	if c.Value == nil { // an order of two
		c.Kind, c.Value = claims.Ratio, &claims.Value{Low: 1, High: math.Inf(1)}
	}
	switch {
	case e.TooFew:
		return tooFew(e)
	case c.Test != nil && c.Test.Extra:
		return judgeExtra(c, e)
	case bound(*c.Value):
		return judgeBound(c, e, k.instead != nil)
	case k.instead != nil:
		return judgeShape(c, e)
	}
	return judgeRatio(c, e)
}

// against is what the interval of an effect is held against.
func against(c claims.Claim, e fact.Effect, from, to float64) Band {
	return Band{Quantity: "times", Low: e.Low, High: e.High, From: from, To: to, Published: valueOf(c), Effect: &e}
}

// holds1 reports whether a band is of what is equal. outside and within tell where its
// interval lies.
func (b Band) holds1() bool  { return b.From <= 1 && 1 <= b.To }
func (b Band) outside() bool { return b.High < b.From || b.Low > b.To }
func (b Band) within() bool  { return b.From <= b.Low && b.High <= b.To }

// excludes1 reports whether an effect is one, by its test and by its interval.
func excludes1(e fact.Effect) bool { return e.Differs && (e.Low > 1 || e.High < 1) }

// judgeRatio holds a measured ratio against a published one. docs/findings.md
// has the rules.
func judgeRatio(c claims.Claim, e fact.Effect) judgement {
	low, high := band(c)
	b := against(c, e, low, high)
	p := prose.PValue(e.P)
	switch {
	case b.outside():
		says := ""
		switch {
		case b.holds1():
		case e.Differs && (e.Ratio > 1) == (c.Value.Low > 1):
			b.Direction, says = "same", "; the direction holds, the size does not"
		case e.Differs:
			b.Direction, says = "other", ", in the other direction"
		default:
			b.Direction, says = "none", ", and there is no significant difference"
		}
		return contradicted("outside", b, "the interval, %s, lies outside of %s%s", b.interval(), b.value(), says)
	case b.holds1() && b.within():
		return confirmed("within", b, "the interval, %s, lies within %s", b.interval(), b.value())
	case b.holds1():
		return undecided("reaches out", b, "the interval, %s, is wider than %s or reaches out of it", b.interval(), b.value())
	case e.High/e.Low > min(widest, farther(c.Value.Low), farther(c.Value.High)):
		return undecided("too wide", b, "the interval, %s, is too wide to tell a factor such as %s", b.interval(), b.Published)
	case excludes1(e):
		return confirmed("overlaps", b, "the interval, %s, overlaps %s and excludes 1 (%s)", b.interval(), b.value(), p)
	}
	return undecided("not significant", b, "the interval, %s, overlaps %s, but no difference is significant (%s)", b.interval(),
		b.value(), p)
}

// farther is how far a ratio is from 1, as a factor above it.
func farther(ratio float64) float64 { return max(ratio, 1/ratio) }

// judgeBound holds a measured ratio against "below 1", which the test decides, or against
// another bound, which the interval decides. The shape of any bound is its side of 1, where a
// difference that is hardly one is of another shape, however significant.
func judgeBound(c claims.Claim, e fact.Effect, shape bool) judgement {
	below := math.IsInf(c.Value.Low, 0)
	limit := c.Value.Low
	if below {
		limit = c.Value.High
	}
	if shape {
		limit = 1
		c.Value = &claims.Value{Low: 1, High: math.Inf(1)}
		if below {
			c.Value = &claims.Value{Low: math.Inf(-1), High: 1}
		}
		if below && e.Low > 1/hardly || !below && e.High < hardly {
			return contradicted("hardly different", e, "the interval of %s holds no difference to speak of on that side",
				prose.Ratio(e))
		}
	}
	less, more := e.High < limit, e.Low > limit
	if limit == 1 {
		less, more = e.Differs && e.Ratio < 1, e.Differs && e.Ratio > 1
	}
	b := against(c, e, 0, 0)
	b.Limit = limit
	ratio, p := prose.Ratio(e), prose.PValue(e.P)
	switch {
	case below && less, !below && more:
		return confirmed("beyond the bound", b, "%s is significantly %s (%s)", ratio, b.Published, p)
	case less || more:
		return contradicted("on the other side", b, "%s is on the other side, significantly (%s)", ratio, p)
	}
	return undecided("on neither side", b, "%s is not significantly on either side of %.4g (%s)", ratio, limit, p)
}

// judgeShape holds a measured ratio against the direction and the rough size of a
// published one. docs/findings.md has the rules.
func judgeShape(c claims.Claim, e fact.Effect) judgement {
	low, high := band(c)
	if low <= 1 && 1 <= high {
		low, high = 1/levelShape, levelShape
	} else {
		size := math.Log(c.Value.Low*c.Value.High) / 2
		x, y := math.Exp(size*roughSize), math.Exp(size/roughSize)
		low, high = min(x, y), max(x, y)
	}
	b := against(c, e, low, high)
	switch {
	case b.outside():
		return contradicted("of another shape", b, "the interval, %s, lies outside of what is taken for the shape of %s, %s",
			b.interval(), b.Published, b.value())
	case b.holds1() && b.within(), !b.holds1() && excludes1(e):
		return confirmed("of the shape", b, "the interval, %s, is of the shape of %s, which is taken for %s", b.interval(),
			b.Published, b.value())
	}
	return undecided("shape undecided", b, "the interval, %s, is both of the shape of %s, %s, and not", b.interval(),
		b.Published, b.value())
}

// extraOf is the share of a latency that is more than another, by their ratio.
func extraOf(ratio float64) float64 { return max(0, 1-1/ratio) }

// judgeExtra holds the share of a remote latency that is extra against a published
// limit, which the interval decides.
func judgeExtra(c claims.Claim, e fact.Effect) judgement {
	b := Band{Quantity: "share", Low: extraOf(e.Low), High: extraOf(e.High), Limit: c.Value.High}
	limit := units.Percent(b.Limit)
	switch {
	case 1-1/e.High < b.Limit:
		return confirmed("below", b, "the interval, %s, lies below %s", b.interval(), limit)
	case 1-1/e.Low > b.Limit:
		return contradicted("above", b, "the interval, %s, lies above %s", b.interval(), limit)
	}
	return undecided("both sides", b, "the interval, %s, is on both sides of %s", b.interval(), limit)
}

// judgeAbsolute holds the median of measured values against a published one,
// both of one quantity, latencies in ns. A value has nothing that it could differ from, so its
// interval must lie within the band, as that of a ratio of 1.
func judgeAbsolute(c claims.Claim, e fact.Estimate, quantity string) judgement {
	if e.Coverage < stats.Confidence {
		return notTestable("few trials", stats.Confidence, "so few trials give no interval of %s: repeat 6 times or more",
			units.Percent(stats.Confidence))
	}
	if scale := map[string]float64{"us": 1e3, "ms": 1e6}[c.Unit]; scale > 0 {
		c.Value = &claims.Value{Low: c.Value.Low * scale, High: c.Value.High * scale}
		c.Tolerance *= scale
	}
	low, high := band(c)
	b := Band{Quantity: quantity, Low: e.Low, High: e.High, From: low, To: high}
	switch {
	case b.outside():
		return contradicted("median outside", b, "the interval of the median, %s, lies outside of %s", b.interval(), b.value())
	case b.within():
		return confirmed("median within", b, "the interval of the median, %s, lies within %s", b.interval(), b.value())
	}
	return undecided("median reaches out", b, "the interval of the median, %s, reaches out of %s", b.interval(), b.value())
}

// asShape is a verdict on what was measured in the place of what a claim is about.
func asShape(v fact.ClaimVerdict) fact.ClaimVerdict {
	switch v {
	case fact.ClaimConfirmed:
		return fact.ClaimSameShape
	case fact.ClaimContradicted:
		return fact.ClaimOtherShape
	}
	return v
}
