package model

import (
	"encoding/json"
	"math"
	"strconv"
)

// Number is a number of a model's file: with six digits, and null where nobody knows it.
type Number float64

// MarshalJSON writes six digits, which are more than anything here is known to.
func (n Number) MarshalJSON() ([]byte, error) {
	if math.IsNaN(float64(n)) || math.IsInf(float64(n), 0) {
		return []byte("null"), nil
	}
	return strconv.AppendFloat(nil, float64(n), 'g', 6, 64), nil
}

// UnmarshalJSON reads a number; null is NaN.
func (n *Number) UnmarshalJSON(text []byte) error {
	if string(text) == "null" {
		*n = Number(math.NaN())
		return nil
	}
	return json.Unmarshal(text, (*float64)(n))
}
