package runview

import "plimsoll/internal/result"

// Toy is the seconds for which a setup was measured.
var Toy = Metric{ID: "toy", Name: "time that was measured", Unit: "s",
	value: func(_ *result.Trial, _ []result.Instance, m *result.Measurement) (float64, bool) {
		return m.Seconds, true
	}}
