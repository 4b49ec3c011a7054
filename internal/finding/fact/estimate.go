package fact

// Estimate is a median with its interval.
type Estimate struct {
	N        int     `json:"n"` // values
	Median   float64 `json:"median"`
	Low      float64 `json:"low"`
	High     float64 `json:"high"`
	Coverage float64 `json:"coverage"` // of Low to High, 0 to 1: 0.95 or more from six values on
}

// Difference is how much one median is above another, with a 95% interval.
type Difference struct {
	Median float64 `json:"difference"`
	Low    float64 `json:"low"`
	High   float64 `json:"high"`
	N      int     `json:"n"` // values of the sample that has fewer
}

// HoldsNone reports whether no difference lies within the interval.
func (d Difference) HoldsNone() bool { return d.Low <= 0 && 0 <= d.High }
