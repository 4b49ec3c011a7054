package headroom

import (
	"slices"
	"time"
)

// Hour is the use of the resource that binds in an hour of the day, in UTC.
type Hour struct {
	Hour    int     `json:"hour"`
	Seconds float64 `json:"seconds"`
	Median  float64 `json:"median"`
	P99     float64 `json:"p99"`
	Most    float64 `json:"most"`
}

// Day is the use of the resource that binds on a day of the week, in UTC.
type Day struct {
	Weekday string  `json:"weekday"`
	Seconds float64 `json:"seconds"`
	Median  float64 `json:"median"`
	P99     float64 `json:"p99"`
	Most    float64 `json:"most"`
}

// Parts of a recording that its shape is known from.
const (
	fewestHours = 6
	fewestDays  = 2
	// peakHours is up to how many hours a peak has, and peakShare which share of the busiest intervals lie in it.
	peakHours = 6
	peakShare = 2. / 3
)

// byHour returns the use by hour of the day; nil for fewer than fewestHours.
func byHour(times []time.Time, seconds, values []float32) []Hour {
	var hours []Hour
	for hour, s := range split(times, seconds, values, 24, func(t time.Time) int { return t.UTC().Hour() }) {
		if len(s.values) > 0 {
			hours = append(hours, Hour{hour, s.seconds, s.quantile(0.5), s.quantile(0.99), s.quantile(1)})
		}
	}
	if len(hours) < fewestHours {
		return nil
	}
	return hours
}

// byDay returns the use by day of the week; nil for fewer than fewestDays.
func byDay(times []time.Time, seconds, values []float32) []Day {
	var days []Day
	for day, s := range split(times, seconds, values, 7, func(t time.Time) int { return int(t.UTC().Weekday()) }) {
		if len(s.values) > 0 {
			days = append(days, Day{time.Weekday(day).String(), s.seconds, s.quantile(0.5), s.quantile(0.99), s.quantile(1)})
		}
	}
	if len(days) < fewestDays {
		return nil
	}
	return days
}

// part is the intervals of an hour, or a day.
type part struct {
	seconds float64
	values  []float32
}

// at returns a quantile of the part's sorted values.
func (p part) quantile(q float64) float64 { return sortedQuantile(p.values, q) }

func split(times []time.Time, seconds, values []float32, n int, partOf func(time.Time) int) []part {
	parts := make([]part, n)
	for i, v := range values {
		if v == v {
			p := &parts[partOf(times[i])]
			p.seconds += float64(seconds[i])
			p.values = append(p.values, v)
		}
	}
	for _, p := range parts {
		slices.Sort(p.values)
	}
	return parts
}

// peak returns the shortest part of the day with most of the busiest intervals; nil if the recording has not half of a
// day, or the busiest intervals are spread over it.
func peak(times []time.Time, values []float32) *Hours {
	numbers := known(values)
	slices.Sort(numbers)
	if len(numbers) == 0 {
		return nil
	}
	level := float32(sortedQuantile(numbers, 1-busiest))
	var count, recorded [24]int
	total := 0
	for i, v := range values {
		hour := times[i].UTC().Hour()
		recorded[hour]++
		if v > level {
			count[hour]++
			total++
		}
	}
	covered := 0
	for _, n := range recorded {
		if n > 0 {
			covered++
		}
	}
	if covered < 12 || total < fewestBusy {
		return nil
	}
	for length := 1; length <= peakHours; length++ {
		best, from := 0, 0
		for hour := range 24 {
			sum := 0
			for i := range length {
				sum += count[(hour+i)%24]
			}
			if sum > best {
				best, from = sum, hour
			}
		}
		if share := float64(best) / float64(total); share >= peakShare {
			return &Hours{From: from, To: (from+length-1)%24 + 1, Share: share}
		}
	}
	return nil
}
