package published

import (
	"math"

	"plimsoll/internal/claims"
	"plimsoll/internal/finding/fact"
)

const (
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

// judgeRatio holds a measured ratio against the published one, or against its shape where
// something else than the paper's database was measured.
func (k *claimCase) judgeRatio(c claims.Claim, e fact.Effect) judgement {
	if k.instead != nil {
		return judgeShape(c, e)
	}
	return judgeRatio(c, e)
}

// judgeShape holds a measured ratio against the direction and the rough size of a
// published one. docs/findings.md has the rules.
func judgeShape(c claims.Claim, e fact.Effect) judgement {
	if e.TooFew {
		return notTestable("few", e)
	}
	if bound(*c.Value) {
		return judgeSide(c, e)
	}
	low, high := shapeOf(c)
	b := Band{Quantity: "times", Low: e.Low, High: e.High, From: low, To: high, Published: valueOf(c), Effect: &e}
	same := low <= 1 && 1 <= high
	switch {
	case e.High < low || e.Low > high:
		return judge(fact.ClaimContradicted, "of another shape", b)
	case same && low <= e.Low && e.High <= high, !same && e.Differs && (e.Low > 1 || e.High < 1):
		return judge(fact.ClaimConfirmed, "of the shape", b)
	}
	return notTestable("shape undecided", b)
}

// judgeSide holds a ratio against "above 1", or below, as the shape of a published bound:
// a difference that is hardly one is of another shape, however significant.
func judgeSide(c claims.Claim, e fact.Effect) judgement {
	c = sided(c)
	more := math.IsInf(c.Value.High, 1)
	if more && e.High < hardly || !more && e.Low > 1/hardly {
		return judge(fact.ClaimContradicted, "hardly different", e)
	}
	return judgeBound(c, e)
}

// sided is a claim of a bound with what its shape is: more, or less.
func sided(c claims.Claim) claims.Claim {
	v := claims.Value{Low: 1, High: math.Inf(1)}
	if math.IsInf(c.Value.Low, 0) {
		v = claims.Value{Low: math.Inf(-1), High: 1}
	}
	c.Value = &v
	return c
}

// shapeOf are the ratios of the shape of a published one.
func shapeOf(c claims.Claim) (low, high float64) {
	low, high = band(c)
	if low <= 1 && 1 <= high {
		return 1 / levelShape, levelShape
	}
	size := math.Log(c.Value.Low*c.Value.High) / 2
	a, b := math.Exp(size*roughSize), math.Exp(size/roughSize)
	return min(a, b), max(a, b)
}
