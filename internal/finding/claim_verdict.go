package finding

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"plimsoll/internal/claims"
	"plimsoll/internal/stats"
	"plimsoll/internal/units"
)

// rounding is the tolerance, as a share of the value, of published numbers
// that state none: they come with one or two digits and without an interval.
const rounding = 0.2

// widest is how many times its lower end the upper end of an interval may be
// for it to confirm a factor, however large; a smaller factor allows no more
// than itself. Otherwise noise would confirm: a wide interval holds anything.
const widest = 3

// band is the published value with its tolerance. It is infinite on a side
// where only a bound was published, which is taken as it stands.
func band(c claims.Claim) (low, high float64) {
	v := *c.Value
	if bound(v) {
		return v.Low, v.High
	}
	if c.Tolerance > 0 {
		return v.Low - c.Tolerance, v.High + c.Tolerance
	}
	return v.Low * (1 - rounding), v.High * (1 + rounding)
}

func bound(v claims.Value) bool { return math.IsInf(v.Low, 0) || math.IsInf(v.High, 0) }

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
	if finite(l) {
		low = &l
	}
	if finite(h) {
		high = &h
	}
	return low, high
}

// publishedText writes a published value: "5x", "0.75x ± 0.05", "below 1x",
// "9.7%", "24 jobs", "aufs, overlay, btrfs (best first)".
func publishedText(c claims.Claim) string {
	if c.Value == nil {
		return strings.Join(c.Subject, ", ") + " (best first)"
	}
	if c.Value.Parts != nil {
		var all []string
		for _, p := range c.Value.Parts {
			all = append(all, strings.Join(partWords(p.Name), " ")+" "+publishedText(narrowed(c, p.Name)))
		}
		return strings.Join(all, ", ")
	}
	one := func(x float64) string {
		switch {
		case c.Kind == claims.Ratio:
			return trimmed(x) + "x"
		case c.Unit == "share":
			return trimmed(100*x) + "%"
		case c.Unit == "IOPS":
			return units.Rate(x) + " IOPS"
		}
		return strings.TrimSpace(trimmed(x) + " " + c.Unit)
	}
	v := *c.Value
	var text string
	switch {
	case math.IsInf(v.Low, 0):
		text = "below " + one(v.High)
	case math.IsInf(v.High, 0):
		text = "above " + one(v.Low)
	case v.Low != v.High:
		text = one(v.Low) + " to " + one(v.High)
	default:
		text = one(v.Low)
	}
	if c.Tolerance > 0 {
		text += " ± " + trimmed(c.Tolerance)
	}
	return text
}

// trimmed writes a number of a paper with as many digits as it has, and a
// ratio of 1 as such.
func trimmed(x float64) string { return fmt.Sprintf("%.4g", x) }

// judgeRatio holds a measured ratio against a published one. docs/findings.md
// has the rules.
func judgeRatio(c claims.Claim, e Effect) judgement {
	if few := tooFew(e); few != nil {
		return notTestable("%s", few[0])
	}
	if bound(*c.Value) {
		return judgeBound(c, e)
	}
	low, high := band(c)
	interval, published := fmt.Sprintf("%s to %s", units.Times(e.Low), units.Times(e.High)), fmt.Sprintf("%s to %s", units.Times(low), units.Times(high))
	same := low <= 1 && 1 <= high
	switch {
	case e.High < low || e.Low > high:
		why := fmt.Sprintf("the interval, %s, lies outside of %s", interval, published)
		switch {
		case same:
		case e.Differs && (e.Ratio > 1) == (c.Value.Low > 1):
			why += "; the direction holds, the size does not"
		case e.Differs:
			why += ", in the other direction"
		default:
			why += ", and there is no significant difference"
		}
		return judgement{ClaimContradicted, why}
	case same && low <= e.Low && e.High <= high:
		return judgement{ClaimConfirmed, fmt.Sprintf("the interval, %s, lies within %s", interval, published)}
	case same:
		return notTestable("the data does not decide: the interval, %s, is wider than %s or reaches out of it; repeat more often, or measure longer", interval, published)
	case e.High/e.Low > min(widest, farther(c.Value.Low), farther(c.Value.High)):
		return notTestable("the data does not decide: the interval, %s, is too wide to tell a factor such as %s; repeat more often, or measure longer", interval, publishedText(c))
	case e.Differs && (e.Low > 1 || e.High < 1):
		return judgement{ClaimConfirmed, fmt.Sprintf("the interval, %s, overlaps %s and excludes 1 (%s)", interval, published, pText(e.P))}
	}
	return notTestable("the data does not decide: the interval, %s, overlaps %s, but no difference is significant (%s); repeat more often, or measure longer", interval, published, pText(e.P))
}

// farther is how far a ratio is from 1, as a factor above it.
func farther(ratio float64) float64 { return max(ratio, 1/ratio) }

// judgeBound holds a measured ratio against "below 1", which the test
// decides, or against another bound, which the interval decides.
func judgeBound(c claims.Claim, e Effect) judgement {
	below := math.IsInf(c.Value.Low, 0)
	limit := c.Value.Low
	if below {
		limit = c.Value.High
	}
	less, more := e.High < limit, e.Low > limit
	if limit == 1 {
		less, more = e.Differs && e.Ratio < 1, e.Differs && e.Ratio > 1
	}
	switch {
	case below && less, !below && more:
		return judgement{ClaimConfirmed, fmt.Sprintf("%s is significantly %s (%s)", ratioText(e), publishedText(c), pText(e.P))}
	case less || more:
		return judgement{ClaimContradicted, fmt.Sprintf("%s is on the other side, significantly (%s)", ratioText(e), pText(e.P))}
	}
	return notTestable("the data does not decide: %s is not significantly on either side of %s (%s); repeat more often, or measure longer", ratioText(e), trimmed(limit), pText(e.P))
}

// judgeShare holds the median of measured shares against a published one.
func judgeShare(c claims.Claim, iv stats.Interval) judgement {
	return judgeAbsolute(c, iv, units.Percent)
}

// judgeAbsolute holds the median of measured values against a published one,
// both in the unit that write puts into words. A value has nothing that it
// could differ from, so its interval must lie within the band, as that of a
// ratio of 1.
func judgeAbsolute(c claims.Claim, iv stats.Interval, write func(float64) string) judgement {
	if iv.Coverage < stats.Confidence {
		return notTestable("so few trials give no interval of %s: repeat 6 times or more", units.Percent(stats.Confidence))
	}
	low, high := band(c)
	interval, published := fmt.Sprintf("%s to %s", write(iv.Low), write(iv.High)), fmt.Sprintf("%s to %s", write(low), write(high))
	switch {
	case iv.High < low || iv.Low > high:
		return judgement{ClaimContradicted, fmt.Sprintf("the interval of the median, %s, lies outside of %s", interval, published)}
	case low <= iv.Low && iv.High <= high:
		return judgement{ClaimConfirmed, fmt.Sprintf("the interval of the median, %s, lies within %s", interval, published)}
	}
	return notTestable("the data does not decide: the interval of the median, %s, reaches out of %s; repeat more often, or measure longer", interval, published)
}

// partWords are the words of the name of a claim's number, without its unit.
func partWords(part string) []string {
	return slices.DeleteFunc(strings.Split(part, "_"), func(w string) bool { return w == "us" || w == "ms" })
}

// narrowed gives a claim that has several numbers with one of them alone. The
// end of that number's name may be its unit.
func narrowed(c claims.Claim, part string) claims.Claim {
	for _, p := range c.Value.Parts {
		if p.Name != part {
			continue
		}
		c.Value = &p.Value
		for _, unit := range []string{"us", "ms", "share"} {
			if c.Unit == "" && (strings.HasSuffix(part, "_"+unit) || strings.Contains(part, "_"+unit+"_")) {
				c.Unit = unit
			}
		}
		return c
	}
	return c
}
