package published

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"plimsoll/internal/fact"
	"plimsoll/internal/fact/threshold"
	"plimsoll/internal/finding/prose"
	"plimsoll/internal/finding/published/claims"
	"plimsoll/internal/result"
	"plimsoll/internal/runview"
	"plimsoll/internal/stats"
	"plimsoll/internal/units"
)

// judgement is a verdict and its reason.
type judgement struct {
	verdict fact.ClaimVerdict
	why     Reason
}

func confirmed(name, format string, args ...any) judgement {
	return judgement{fact.ClaimConfirmed, newReason(name, format, args...)}
}

func contradicted(name, format string, args ...any) judgement {
	return judgement{fact.ClaimContradicted, newReason(name, format, args...)}
}

func notTestable(name, format string, args ...any) judgement {
	return judgement{fact.ClaimNotTestable, newReason(name, format, args...)}
}

// undecided says why the data does not decide, which more of it might.
func undecided(name, format string, args ...any) judgement {
	return notTestable(name, "the data does not decide: "+format+"; repeat more often, or measure longer", args...)
}

func tooFew(e fact.Effect) judgement {
	return notTestable("few", "%s", strings.Join(prose.TooFew(e), "; "))
}

// withBand adds the band that decided.
func (j judgement) withBand(b Band) judgement {
	j.why.Band = &b
	return j
}

func unfit(why []fact.Unfit) judgement { return notTestable("unfit", "%s", prose.Unfit(why)) }

// unmeasured says why a claim cannot be tested on a stack that has no measurement.
func unmeasured(v *runview.View, key runview.CellKey) Reason {
	stopped := []result.TrialStatus{result.TrialSkipped, result.TrialFailed}
	i := slices.IndexFunc(v.Run.Trials, func(t result.Trial) bool {
		return t.Stack == key.Stack && t.Mix == key.Workload && t.Problem != nil && slices.Contains(stopped, t.Status)
	})
	if i < 0 {
		return newReason("unmeasured", "%s has no measurement of %s", key.Stack, key.Workload)
	}
	t := v.Run.Trials[i]
	status := strings.Replace(string(t.Status), "failed", "tried and failed", 1)
	text := fmt.Sprintf("%s was %s: %s", key.Stack, status, strings.TrimRight(t.Problem.Why, "."))
	if t.Problem.Remedy != "" {
		text += " (" + t.Problem.Remedy + ")"
	}
	return newReason("unmeasured", "%s", text)
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
	return v.Low * (1 - threshold.Rounding), v.High * (1 + threshold.Rounding)
}

func bound(v claims.Value) bool { return math.IsInf(v.Low, 0) || math.IsInf(v.High, 0) }

// finiteOrNil returns a finite number, and nil for another.
func finiteOrNil(x float64) *float64 {
	if !runview.Finite(x) {
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
	return finiteOrNil(l), finiteOrNil(h)
}

// marked is the number that figures mark beside what was measured, of what it is, and whether it is a bound.
func marked(c claims.Claim) (mark fact.Marked, value float64, isBound bool) {
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
		return Value{Ratio: c.Kind == claims.Ratio, Unit: c.Unit, Low: finiteOrNil(c.Value.Low), High: finiteOrNil(c.Value.High),
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

// narrowed returns a claim of several numbers with only one of them. The name of the number may end in its unit. ok is
// false if the claim has no number of that name.
func narrowed(c claims.Claim, part string) (narrow claims.Claim, ok bool) {
	i := slices.IndexFunc(c.Value.Parts, func(p claims.Part) bool { return p.Name == part })
	if i < 0 {
		return c, false
	}
	c.Value = &c.Value.Parts[i].Value
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

// ratioBand returns the interval of an effect beside the range of a published ratio.
func ratioBand(e fact.Effect, from, to float64) Band {
	return Band{Quantity: "times", Low: e.Low, High: e.High, From: from, To: to}
}

// holds1 reports whether the published range holds 1; outside and within report where the interval lies.
func (b Band) holds1() bool  { return b.From <= 1 && 1 <= b.To }
func (b Band) outside() bool { return b.High < b.From || b.Low > b.To }
func (b Band) within() bool  { return b.From <= b.Low && b.High <= b.To }

// excludes1 reports whether an effect is one, by its test and by its interval.
func excludes1(e fact.Effect) bool { return e.Differs && (e.Low > 1 || e.High < 1) }

// judgeRatio holds a measured ratio against a published one. docs/evidence/published-results.md
// has the rules.
func judgeRatio(c claims.Claim, e fact.Effect) judgement {
	low, high := band(c)
	b := ratioBand(e, low, high)
	p := units.PValue(e.P)
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
		return contradicted("outside", "the interval, %s, lies outside of %s%s", b.interval(), b.value(), says).withBand(b)
	case b.holds1() && b.within():
		return confirmed("within", "the interval, %s, lies within %s", b.interval(), b.value()).withBand(b)
	case b.holds1():
		return undecided("reaches out", "the interval, %s, is wider than %s or reaches out of it", b.interval(), b.value()).withBand(b)
	case e.High/e.Low > min(threshold.WidestFactor, farther(c.Value.Low), farther(c.Value.High)):
		return undecided("too wide", "the interval, %s, is too wide to decide on a factor such as %s", b.interval(), valueOf(c)).withBand(b)
	case excludes1(e):
		return confirmed("overlaps", "the interval, %s, overlaps %s and excludes 1 (%s)", b.interval(), b.value(), p).withBand(b)
	}
	return undecided("not significant", "the interval, %s, overlaps %s, but no difference is significant (%s)", b.interval(),
		b.value(), p).withBand(b)
}

// farther is how far a ratio is from 1, as a factor above it.
func farther(ratio float64) float64 { return max(ratio, 1/ratio) }

// judgeBound holds a measured ratio against "below 1", which the test decides, or against
// another bound, which the interval decides. The shape of any bound is its side of 1, where a
// difference that is hardly one is of another shape, however significant.
func judgeBound(c claims.Claim, e fact.Effect, shape bool) judgement {
	belowOne := math.IsInf(c.Value.Low, 0)
	limit := c.Value.Low
	if belowOne {
		limit = c.Value.High
	}
	if shape {
		limit = 1
		c.Value = &claims.Value{Low: 1, High: math.Inf(1)}
		if belowOne {
			c.Value = &claims.Value{Low: math.Inf(-1), High: 1}
		}
		if belowOne && e.Low > 1/threshold.HardlyDifferent || !belowOne && e.High < threshold.HardlyDifferent {
			return contradicted("hardly different", "the interval of %s holds no difference to speak of on that side",
				e.WithInterval())
		}
	}
	lower, higher := e.High < limit, e.Low > limit
	if limit == 1 {
		lower, higher = e.Differs && e.Ratio < 1, e.Differs && e.Ratio > 1
	}
	b := ratioBand(e, 0, 0)
	b.Limit = limit
	ratio, p := e.WithInterval(), units.PValue(e.P)
	switch {
	case belowOne && lower, !belowOne && higher:
		return confirmed("beyond the bound", "%s is significantly %s (%s)", ratio, valueOf(c), p).withBand(b)
	case lower || higher:
		return contradicted("on the other side", "%s is on the other side, significantly (%s)", ratio, p).withBand(b)
	}
	return undecided("on neither side", "%s is not significantly on either side of %.4g (%s)", ratio, limit, p).withBand(b)
}

// judgeShape holds a measured ratio against the direction and the rough size of a
// published one. The comment of the package has the rules.
func judgeShape(c claims.Claim, e fact.Effect) judgement {
	low, high := band(c)
	if low <= 1 && 1 <= high {
		low, high = 1/threshold.LevelShape, threshold.LevelShape
	} else {
		size := math.Log(c.Value.Low*c.Value.High) / 2
		x, y := math.Exp(size*threshold.RoughSize), math.Exp(size/threshold.RoughSize)
		low, high = min(x, y), max(x, y)
	}
	b := ratioBand(e, low, high)
	switch {
	case b.outside():
		return contradicted("of another shape", "the interval, %s, lies outside of what is taken for the shape of %s, %s",
			b.interval(), valueOf(c), b.value()).withBand(b)
	case b.holds1() && b.within(), !b.holds1() && excludes1(e):
		return confirmed("of the shape", "the interval, %s, is of the shape of %s, which is taken for %s", b.interval(),
			valueOf(c), b.value()).withBand(b)
	}
	return undecided("shape undecided", "the interval, %s, is both of the shape of %s, %s, and not", b.interval(),
		valueOf(c), b.value()).withBand(b)
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
		return confirmed("below", "the interval, %s, lies below %s", b.interval(), limit).withBand(b)
	case 1-1/e.Low > b.Limit:
		return contradicted("above", "the interval, %s, lies above %s", b.interval(), limit).withBand(b)
	}
	return undecided("both sides", "the interval, %s, is on both sides of %s", b.interval(), limit).withBand(b)
}

// judgeAbsolute holds the median of measured values against a published one,
// both of one quantity, latencies in ns. A value has nothing that it could differ from, so its
// interval must lie within the band, as that of a ratio of 1.
func judgeAbsolute(c claims.Claim, e fact.Estimate, quantity string) judgement {
	if e.Coverage < stats.Confidence {
		return notTestable("few trials", "so few trials give no interval of %s: repeat 6 times or more",
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
		return contradicted("median outside", "the interval of the median, %s, lies outside of %s", b.interval(), b.value()).withBand(b)
	case b.within():
		return confirmed("median within", "the interval of the median, %s, lies within %s", b.interval(), b.value()).withBand(b)
	}
	return undecided("median reaches out", "the interval of the median, %s, reaches out of %s", b.interval(), b.value()).withBand(b)
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
