package headroom

import (
	"fmt"
	"slices"

	"plimsoll/internal/recording"
	"plimsoll/internal/units"
)

// ServerUse is what the servers of a service did, by their counters: per second, and of one server.
type ServerUse struct {
	Kind    string `json:"kind"`    // of database
	Servers int    `json:"servers"` // whose counters were recorded
	// Quantiles are operations per second of a server, by UsualQuantiles.
	Quantiles []Quantile `json:"quantiles"`
	Most      float64    `json:"most"`
	// MeanSeconds is the mean time of an operation; 0 for unknown.
	MeanSeconds float64 `json:"mean_seconds,omitempty"`
	// Known is the number of seconds in which the counters were read, added up over servers.
	Known float64 `json:"known_seconds"`
}

// unitOf names what databases count.
func (u *ServerUse) unitOf() string {
	switch u.Kind {
	case "postgresql":
		return "transactions"
	case "mysql", "mariadb":
		return "statements"
	}
	return "operations"
}

// serversOf returns what the servers of a service did; nil if none was asked.
func (s *series) serversOf(subject *service, intervalSeconds float64) *ServerUse {
	var rates []float32
	timed, microseconds := 0.0, 0.0
	u := &ServerUse{}
	for _, c := range s.recording.OfKind(recording.OfServer) {
		if s.find(c.Thing.Name) != subject {
			continue
		}
		u.Servers, u.Kind = u.Servers+1, c.Thing.Manager
		numbers := s.rates(c, 1, recording.Operations)
		rates = append(rates, known(numbers)...)
		counts, times := c.Values(recording.Timed), c.Values(recording.OperationTime)
		for i, v := range numbers {
			if v == v {
				u.Known += float64(s.seconds[i])
			}
			if counts[i] > 0 && times[i] >= 0 { // neither is NaN
				timed, microseconds = timed+float64(counts[i]), microseconds+float64(times[i])
			}
		}
	}
	if len(rates) == 0 {
		return nil
	}
	for _, q := range UsualQuantiles {
		u.Quantiles = append(u.Quantiles, quantileOf(rates, q, intervalSeconds))
	}
	u.Most = float64(slices.Max(rates))
	if timed > 0 {
		u.MeanSeconds = perMicro * microseconds / timed
	}
	return u
}

// strangers returns the names of servers with no container of the recording.
func (s *series) strangers() (names []string) {
	for _, c := range s.recording.OfKind(recording.OfServer) {
		if s.find(c.Thing.Name) == nil && !slices.Contains(names, c.Thing.Name) {
			names = append(names, c.Thing.Name)
		}
	}
	return names
}

// operationsSentence says what the containers that fit would do; "" if no server was asked.
func (m *More) operationsSentence() string {
	if m.Server == nil || m.Server.Quantiles[0].Value == nil || m.Fit == nil || *m.Fit == 0 || *m.Fit >= MostMore {
		return ""
	}
	rate := *m.Server.Quantiles[0].Value
	unit := m.Server.unitOf()
	text := fmt.Sprintf(" Each does %s %s a second at the median: %s more in all", units.Compact(rate), unit,
		units.Compact(float64(*m.Fit)*rate))
	if m.AtLeast {
		text += ", at least"
	}
	return text + "."
}
