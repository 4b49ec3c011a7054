package published

import (
	"math"
	"slices"
	"strings"

	"plimsoll/internal/claims"
	"plimsoll/internal/finding/fact"
	"plimsoll/internal/finding/measured"
	"plimsoll/internal/stats"
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
	if measured.Finite(l) {
		low = &l
	}
	if measured.Finite(h) {
		high = &h
	}
	return low, high
}

// Value is a published value.
type Value struct {
	Ratio     bool     `json:"ratio,omitempty"` // it is a factor
	Unit      string   `json:"unit,omitempty"`  // share, IOPS, jobs
	Low       *float64 `json:"low,omitempty"`   // nil where only the other bound was published; both are nil for an order
	High      *float64 `json:"high,omitempty"`
	Tolerance float64  `json:"tolerance,omitempty"` // on either side; 0 when none was stated
	Parts     []Part   `json:"parts,omitempty"`     // instead, where one claim has several numbers
	Order     []string `json:"order,omitempty"`     // best first
}

// Part is one number of a claim that has several.
type Part struct {
	Name  string `json:"name"` // without its unit
	Value Value  `json:"value"`
}

// Single reports whether one number was published, and no bound or range.
func (v Value) Single() bool { return v.Low != nil && v.High != nil && *v.Low == *v.High }

// Number is one number of a published value, as it is shown.
type Number struct {
	Ratio bool
	Unit  string
	X     float64
}

// At is a number of a published value.
func (v Value) At(x float64) Number {
	if v.Unit == "share" && !v.Ratio {
		return Number{Unit: "%", X: 100 * x}
	}
	return Number{v.Ratio, v.Unit, x}
}

// valueOf is the published value of a claim.
func valueOf(c claims.Claim) Value {
	v := Value{Ratio: c.Kind == claims.Ratio, Unit: c.Unit, Tolerance: c.Tolerance}
	switch {
	case c.Value == nil:
		return Value{Order: c.Subject}
	case c.Value.Parts != nil:
		v = Value{}
		for _, p := range c.Value.Parts {
			v.Parts = append(v.Parts, Part{strings.Join(partWords(p.Name), " "), valueOf(narrowed(c, p.Name))})
		}
		return v
	}
	if low := c.Value.Low; measured.Finite(low) {
		v.Low = &low
	}
	if high := c.Value.High; measured.Finite(high) {
		v.High = &high
	}
	return v
}

// Band is what an interval is held against: a published value with its tolerance, in
// the quantity that both are of. What has no test has no P.
type Band struct {
	Quantity  string       `json:"quantity"` // as prose.Estimate has it: times, share, latency
	Low       float64      `json:"low"`      // of the interval
	High      float64      `json:"high"`
	From      float64      `json:"from,omitempty"` // of the published value; not of a bound
	To        float64      `json:"to,omitempty"`
	Limit     float64      `json:"limit,omitempty"` // of a bound
	Published Value        `json:"published,omitzero"`
	Effect    *fact.Effect `json:"effect,omitempty"`
	// Direction is that of an effect outside of the band, beside the band's: same, other,
	// or none; "" where the band holds 1.
	Direction string `json:"direction,omitempty"`
}

// judgeRatio holds a measured ratio against a published one. docs/findings.md
// has the rules.
func judgeRatio(c claims.Claim, e fact.Effect) judgement {
	if e.TooFew {
		return notTestable("few", e)
	}
	if bound(*c.Value) {
		return judgeBound(c, e)
	}
	low, high := band(c)
	b := Band{Quantity: "times", Low: e.Low, High: e.High, From: low, To: high, Published: valueOf(c), Effect: &e}
	same := low <= 1 && 1 <= high
	switch {
	case e.High < low || e.Low > high:
		switch {
		case same:
		case e.Differs && (e.Ratio > 1) == (c.Value.Low > 1):
			b.Direction = "same"
		case e.Differs:
			b.Direction = "other"
		default:
			b.Direction = "none"
		}
		return judge(fact.ClaimContradicted, "outside", b)
	case same && low <= e.Low && e.High <= high:
		return judge(fact.ClaimConfirmed, "within", b)
	case same:
		return notTestable("reaches out", b)
	case e.High/e.Low > min(widest, farther(c.Value.Low), farther(c.Value.High)):
		return notTestable("too wide", b)
	case e.Differs && (e.Low > 1 || e.High < 1):
		return judge(fact.ClaimConfirmed, "overlaps", b)
	}
	return notTestable("not significant", b)
}

// farther is how far a ratio is from 1, as a factor above it.
func farther(ratio float64) float64 { return max(ratio, 1/ratio) }

// judgeBound holds a measured ratio against "below 1", which the test
// decides, or against another bound, which the interval decides.
func judgeBound(c claims.Claim, e fact.Effect) judgement {
	below := math.IsInf(c.Value.Low, 0)
	limit := c.Value.Low
	if below {
		limit = c.Value.High
	}
	less, more := e.High < limit, e.Low > limit
	if limit == 1 {
		less, more = e.Differs && e.Ratio < 1, e.Differs && e.Ratio > 1
	}
	b := Band{Quantity: "times", Low: e.Low, High: e.High, Limit: limit, Published: valueOf(c), Effect: &e}
	switch {
	case below && less, !below && more:
		return judge(fact.ClaimConfirmed, "beyond the bound", b)
	case less || more:
		return judge(fact.ClaimContradicted, "on the other side", b)
	}
	return notTestable("on neither side", b)
}

// judgeShare holds the median of measured shares against a published one.
func judgeShare(c claims.Claim, e fact.Estimate) judgement {
	return judgeAbsolute(c, e, "share")
}

// judgeAbsolute holds the median of measured values against a published one,
// both of one quantity. A value has nothing that it could differ from, so its
// interval must lie within the band, as that of a ratio of 1.
func judgeAbsolute(c claims.Claim, e fact.Estimate, quantity string) judgement {
	if e.Coverage < stats.Confidence {
		return notTestable("few trials", stats.Confidence)
	}
	low, high := band(c)
	b := Band{Quantity: quantity, Low: e.Low, High: e.High, From: low, To: high}
	switch {
	case e.High < low || e.Low > high:
		return judge(fact.ClaimContradicted, "median outside", b)
	case low <= e.Low && e.High <= high:
		return judge(fact.ClaimConfirmed, "median within", b)
	}
	return notTestable("median reaches out", b)
}

// partWords are the words of the name of a claim's number, without its unit.
func partWords(part string) []string {
	return slices.DeleteFunc(strings.Split(part, "_"), func(w string) bool { return w == "us" || w == "ms" })
}

// narrowed returns a claim that has several numbers with one of them alone. The
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
