package model

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"plimsoll/internal/units"
	"plimsoll/internal/units/plural"
)

// Doubt says why plans, which always ask the network of queues, are not to be trusted with a class: a law does better.
// It is "" where none does.
func (f *Fitted) Doubt() string {
	if len(f.Check.Laws) == 0 {
		return ""
	}
	c := f.Check.Laws[0]
	if math.IsNaN(float64(c.Network)) {
		return fmt.Sprintf("plans ask the network of queues, which does not know %s of %s. Measure what is planned, or hold "+
			"it against plimsoll predict", c.Axis, f.Name)
	}
	return fmt.Sprintf("plans ask the network of queues. Of %s of %s that were left out along %s it is %s off on "+
		"average, "+
		"and %s %s. Measure what is planned, or hold it against plimsoll predict", plural.Count(c.Points, "level"), f.Name,
		c.Axis, units.Percent(float64(c.Network)), c.Law, units.Percent(float64(c.MAPE)))
}

// By says which law answers, and why; "" for the network of queues.
func (a *Answer) By() string {
	c := a.Chosen
	if c == nil {
		return ""
	}
	text := "the rate is of " + string(c.Law) + " over " + c.Axis
	if c.Points > 0 {
		text += fmt.Sprintf(": of %s that were left out it was %s off on average", plural.Count(c.Points, "level"),
			units.Percent(float64(c.MAPE)))
		if !math.IsNaN(float64(c.Network)) {
			text += fmt.Sprintf(", and the network of queues %s", units.Percent(float64(c.Network)))
		}
	}
	return text + fmt.Sprintf(". The network says %s operations a second here, and shows what binds and what would help",
		units.Rate(float64(a.Network.Value)))
}

// farOff is the share from which on an error is not to be trusted.
const farOff = 0.1

// GoodFor says in a sentence what a class is good for, by points that were left out.
func (f *Fitted) GoodFor() string {
	fewest, most := math.MaxInt, 0
	least, largest := math.Inf(1), 0.0
	for i := range f.Points {
		p := &f.Points[i]
		fewest, most = min(fewest, p.Instances), max(most, p.Instances)
		if m := p.Memory(); m > 0 {
			least, largest = min(least, m), max(largest, m)
		}
	}
	worst, points := [2]float64{}, [2]int{} // between others, and beyond them
	for _, h := range f.Check.Held {
		if off := math.Abs(float64(h.Answer.Value/h.Seen) - 1); !math.IsNaN(off) {
			kind := 0
			if h.Beyond {
				kind = 1
			}
			worst[kind], points[kind] = max(worst[kind], off), points[kind]+1
		}
	}
	said := func(kind int) string {
		switch {
		case points[kind] == 0:
			return "not known"
		case worst[kind] > farOff:
			return "do not trust, up to " + units.Percent(worst[kind]) + " off"
		}
		return "within " + units.Percent(worst[kind])
	}
	where := plural.Count(most, "instance")
	if fewest < most {
		where = fmt.Sprintf("%d to %s", fewest, where)
	}
	if largest > 0 {
		low, high := units.Bytes(uint64(least)), units.Bytes(uint64(largest))
		where += ", each with " + low
		if low != high {
			where += " to " + high
		}
		where += " of memory"
	}
	for i := range axes {
		if a := &axes[i]; a.key != "instances" && a.key != "memory" && a.key != "own-memory" {
			if low, high := f.levels(a); low > 0 && low < high {
				where += fmt.Sprintf(", %s to %s %s", a.text(low), a.text(high), a.noun)
			}
		}
	}
	return fmt.Sprintf("%s: %s; beyond: %s.", where, said(0), said(1))
}

// levels returns the least and the greatest level of an axis; 0 where a point has no limit there.
func (f *Fitted) levels(a *axis) (low, high float64) {
	low = math.Inf(1)
	for i := range f.Points {
		at := f.Points[i].position()
		low, high = min(low, a.of(&at)), max(high, a.of(&at))
	}
	return low, high
}

// outside says in what way instances lie outside of what was measured.
func (f *Fitted) outside(in instances) string {
	var ways []string
	points, at := f.all(), in.position()
	for i := range axes {
		a := &axes[i]
		low, high := math.Inf(1), 0.0
		for j := range points {
			p := points[j].position()
			low, high = min(low, a.of(&p)), max(high, a.of(&p))
		}
		x := a.of(&at)
		if a.limit && (low == high || f.counts(a)) || !(low > 0 && x > 0) ||
			max(math.Log(x/high), math.Log(low/x)) <= alikeLimit {
			continue
		}
		ways = append(ways, fmt.Sprintf("%s to %s %s were measured", a.text(low), a.text(high), a.noun))
	}
	least := leastMemory(points)
	if in.memory > 0 && in.memory < 0.98*least {
		ways = append(ways, fmt.Sprintf("an instance never had less than %s of memory", units.Bytes(uint64(least))))
	}
	if len(ways) == 0 {
		ways = append(ways, "what binds it here never bound it when it was measured")
	}
	return f.Name + ": " + strings.Join(ways, ", and ")
}

// uncounted says what nobody knows of a host whose limits lie beyond levels, since no point says what an operation
// takes of them; "" for nothing. refused reports whether the rate follows them, so that nothing can be said.
func (f *Fitted) uncounted(in instances) (why string, refused bool) {
	if !f.levelled() {
		return "", false
	}
	at := in.position()
	for i := range axes {
		a := &axes[i]
		low, high := f.levels(a)
		x := a.of(&at)
		if f.counts(a) || x == high || !(x > 0 && (low == 0 || x < (1-alikeLimit)*low || x > (1+alikeLimit)*high)) {
			continue
		}
		column := map[Resource]string{Processors: "`cpu`", Reads: "`reads`", Writings: "`writes`",
			IOs:       "`reads` and `writes`",
			ReadBytes: "`read-bytes`", WriteBytes: "`write-bytes`", IOBytes: "`read-bytes` and `write-bytes`"}[a.demands]
		if low > 0 && low < high && f.follows(a) {
			return fmt.Sprintf("it is not known what %s does with %s %s: its rate follows them, %s to %s were measured, and no "+
				"point says what an operation takes of them. Ask between, measure there, or add a column %s", f.Name, a.text(x),
				a.noun, a.text(low), a.text(high), column), true
		}
		why = fmt.Sprintf("what %s %s do for %s: no point says what an operation takes of them. A column %s would show",
			a.text(x), a.noun, f.Name, column)
	}
	return why, false
}

// follows reports whether rates change along an axis.
func (f *Fitted) follows(a *axis) bool {
	return slices.ContainsFunc(sweepsOf(f.Points, make([]float64, len(f.Points))), func(s sweep) bool {
		return s.axis == a && s.rates[len(s.rates)-1]-s.rates[0] > leastOff
	})
}
