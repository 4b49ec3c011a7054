package headroom

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"plimsoll/internal/printable"
	"plimsoll/internal/section"
	"plimsoll/internal/units"
)

// tickHours are the distances of ticks on an axis of time, and mostTicks how many of them stand there.
var tickHours = []float64{1. / 12, 0.25, 0.5, 1, 2, 3, 6, 12, 24, 48, 168, 336, 672}

const mostTicks = 8

// figures draw the use of each resource over time, as a share of its capacity.
func (a *Answer) figures() (drawn []section.Figure) {
	if len(a.times) < 2 {
		return nil
	}
	stretch := a.stretch()
	for i := range a.Resources {
		u := &a.Resources[i]
		if u.besides || !(u.Capacity.Value > 0) {
			continue
		}
		along, middle, top := u.overTime(a.times, stretch, a.IntervalSeconds)
		f := section.Figure{Kind: section.Curves, Title: printable.Line(u.subject()), Unit: "%", Wide: i == a.Binding,
			Note:   fmt.Sprintf("share of %s; each %s", printable.Line(u.Capacity.phrase()), units.Elapsed(stretch.Seconds())),
			Broken: true, X: a.timeAxis(), Y: section.Axis{Label: "share of capacity, %", Tick: func(v float64) string {
				return units.Exact(v) + "%"
			}},
			Series: []section.Series{{Name: "p99", Curve: top}, {Name: "median", Curve: middle}},
			Levels: []section.Level{{Class: section.Limit, Y: 100, Word: u.Capacity.word(),
				Text: u.Capacity.word() + ": " + u.Resource.quantity().Format(u.Capacity.Value)}}}
		if u.Share != nil {
			f.Levels = append(f.Levels, section.Level{Class: section.Carries, Y: 100 * *u.Share,
				Word: "p" + strings.TrimSuffix(percentText(a.Quantile), "%"), Text: fmt.Sprintf("%s of all %s: %s",
					ordinal(a.Quantile), a.intervalWord(), units.Percent(*u.Share))})
		}
		for _, elapsed := range along {
			f.Along = append(f.Along, a.hoursAt(a.From.Add(elapsed)))
		}
		drawn = append(drawn, f)
	}
	return drawn
}

// word names a capacity beside a line.
func (c Capacity) word() string {
	if c.Source == MostSeen {
		return "the most seen"
	}
	return "capacity"
}

// stretch returns how long each of up to section.MostSamples parts of the recording is: a number of its intervals.
func (a *Answer) stretch() time.Duration {
	interval := max(a.IntervalSeconds, 1e-3)
	n := math.Ceil(a.To.Sub(a.From).Seconds() / interval / section.MostSamples)
	return time.Duration(max(n, 1) * interval * float64(time.Second))
}

// overTime returns the median and the 99th percentile of each stretch, in percent of the capacity, and the middle of
// the stretch since the first interval. They are NaN where nothing was recorded. A stretch without an interval is left
// out if no interval is missing: the one that belongs there came a little early or late.
func (u *Use) overTime(times []time.Time, stretch time.Duration, interval float64) (
	along []time.Duration, middle, top []float64,
) {
	begin := 0
	for end := times[0].Add(stretch); begin < len(times); end = end.Add(stretch) {
		next := begin
		for next < len(times) && times[next].Before(end) {
			next++
		}
		if next == begin && times[next].Sub(times[next-1]).Seconds() < 1.5*interval {
			continue
		}
		along = append(along, end.Add(-stretch/2).Sub(times[0]))
		values := known(u.total[begin:next])
		slices.Sort(values)
		for _, line := range []struct {
			to *[]float64
			q  float64
		}{{&middle, 0.5}, {&top, 0.99}} {
			share := math.NaN()
			if len(values) > 0 {
				share = 100 * sortedQuantile(values, line.q) / u.Capacity.Value
			}
			*line.to = append(*line.to, share)
		}
		begin = next
	}
	return along, middle, top
}

// hoursAt returns the hours since the midnight before the recording, in UTC.
func (a *Answer) hoursAt(t time.Time) float64 {
	return t.Sub(a.From.UTC().Truncate(24 * time.Hour)).Hours()
}

// timeAxis returns the axis of time.
func (a *Answer) timeAxis() section.Axis {
	x := section.Axis{Label: "time, UTC", From: a.hoursAt(a.From), To: a.hoursAt(a.To), Shared: "time"}
	layout := "15:04"
	if x.To > 24 {
		layout = "Mon 15:04"
	}
	if x.To-x.From > 7*24 {
		layout = "2 Jan"
	}
	midnight := a.From.UTC().Truncate(24 * time.Hour)
	format := func(hours float64, layout string) string {
		return midnight.Add(time.Duration(hours * float64(time.Hour))).Round(time.Second).Format(layout)
	}
	x.Tick = func(hours float64) string { return format(hours, layout) }
	x.Says = func(hours float64) string { return format(hours, "Mon 2 Jan 15:04:05") }
	step := (x.To - x.From) / mostTicks
	for _, s := range tickHours {
		if s >= step {
			step = s
			break
		}
	}
	for i := 1.; math.Floor(x.From/step)*step+i*step < x.To; i++ {
		x.Named = append(x.Named, math.Floor(x.From/step)*step+i*step)
	}
	return x
}

// week returns the 99th percentiles of the resource that binds by the hours of each weekday, if there are several days.
func (a *Answer) week() (heats []section.Heat) {
	u := a.Binds()
	if u == nil || len(a.Days) == 0 || len(a.Shape) == 0 {
		return nil
	}
	h := section.Heat{Caption: printable.Line("p99 of " + u.Label() + ", as a share of " + u.Capacity.phrase()),
		Corner: "UTC"}
	var values [7][24][]float32
	for i, v := range u.total {
		if t := a.times[i].UTC(); v == v {
			values[t.Weekday()][t.Hour()] = append(values[t.Weekday()][t.Hour()], v)
		}
	}
	for hour := range 24 {
		row := section.HeatRow{Name: fmt.Sprintf("%02d", hour)}
		for i := range values {
			day := time.Weekday((i + 1) % 7) // a week begins on Monday
			if !slices.ContainsFunc(a.Days, func(d Day) bool { return d.Weekday == day.String() }) {
				continue
			}
			if hour == 0 {
				h.Columns = append(h.Columns, day.String())
			}
			cell := section.HeatCell{}
			if uses := values[day][hour]; len(uses) > 0 {
				slices.Sort(uses)
				p99 := sortedQuantile(uses, 0.99)
				share := p99 / u.Capacity.Value
				cell = section.HeatCell{Text: units.Percent(share), Title: fmt.Sprintf("%s, %02d:00 to %02d:00: p99 %s", day, hour,
					hour+1, u.Resource.quantity().Format(p99)),
					Level: int(min(math.Ceil(share*section.MostHeat-1e-9), section.MostHeat))}
			}
			row.Cells = append(row.Cells, cell)
		}
		h.Rows = append(h.Rows, row)
	}
	return []section.Heat{h}
}
