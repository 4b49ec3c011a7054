package fact

// Estimate is a median with its interval.
type Estimate struct {
	N        int     `json:"n"` // values: of setups, or of trials where setups are not known
	Median   float64 `json:"median"`
	Low      float64 `json:"low"` // interval of the median, by order statistics
	High     float64 `json:"high"`
	Coverage float64 `json:"coverage"` // of Low to High, 0 to 1: 0.95 or more from six values on, 0 below four, where there is no interval
}

// Interval returns Low and High; 0 and 0 where there is no interval.
func (e Estimate) Interval() (low, high float64) {
	if e.Coverage == 0 {
		return 0, 0
	}
	return e.Low, e.High
}

// Difference is how much one median is above another, with a 95% interval.
type Difference struct {
	Median float64 `json:"median"`
	Low    float64 `json:"low"`
	High   float64 `json:"high"`
	N      int     `json:"n"` // values of the sample that has fewer
}

// HoldsNone reports whether no difference lies within the interval.
func (d Difference) HoldsNone() bool { return d.Low <= 0 && 0 <= d.High }
