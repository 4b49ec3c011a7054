package watch

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"plimsoll/internal/fact/threshold"
	"plimsoll/internal/units"
)

// FindingKind is the kind of a finding.
type FindingKind string

// The kinds of findings, those that matter most first.
const (
	// Disturbs: the victim's p99 is a multiple of its own of intervals in which the others did less.
	Disturbs FindingKind = "disturbs"
	// MayDisturb: the victim waits for I/O, most of the device's work is the offender's, and nothing shows how long the
	// victim would take without.
	MayDisturb FindingKind = "may disturb"
	// OwnLimit: the group does as much as its own limit lets it.
	OwnLimit FindingKind = "at its own limit"
	// LimitLost: the engine was asked for a limit, and the kernel holds none.
	LimitLost FindingKind = "limit not in force"
	// LimitDiffers: the kernel holds another limit than the engine was asked for.
	LimitDiffers FindingKind = "limit differs"
	// LimitUnasked: the kernel holds a limit that the engine was not asked for.
	LimitUnasked FindingKind = "limit not asked for"
	// MemoryFull: more than most of the group's limit is memory that no shortage takes from it.
	MemoryFull FindingKind = "little page cache"
)

// Finding is a conclusion with the numbers that it was drawn from.
type Finding struct {
	Kind     FindingKind `json:"kind"`
	Group    string      `json:"group"`              // the victim, or whose limit it is: a name
	Path     string      `json:"path,omitempty"`     // of the group
	Offender string      `json:"offender,omitempty"` // a name
	Device   string      `json:"device,omitempty"`
	Op       string      `json:"op,omitempty"` // "reads" or "writes"

	P99      float64 `json:"p99_seconds,omitempty"`       // of the victim, in this interval
	QuietP99 float64 `json:"quiet_p99_seconds,omitempty"` // median of intervals in which the others did at most half as much
	Depth    float64 `json:"depth,omitempty"`             // requests of the offender under way
	All      float64 `json:"depth_of_all,omitempty"`
	Pressure float64 `json:"pressure,omitempty"` // share of the time in which the victim waited for I/O

	Limit *Limit `json:"limit,omitempty"`
	Held  int64  `json:"held_bytes,omitempty"`

	Text string `json:"text"`
}

// past is what is kept of earlier intervals.
const past = 120

// moment is a group's p99 in an interval, beside what the others did.
type moment struct {
	p99, othersDepth float64
}

// streamKey identifies the stream of a group.
type streamKey struct {
	path, device string
	write        bool
}

// history has earlier intervals of each stream.
type history map[streamKey][]moment

// quiet returns the median p99 of the intervals in which the others had at most half as many requests under way; NaN
// where there are too few of them.
func (h history) quiet(key streamKey, othersDepth float64) float64 {
	var values []float64
	for _, m := range h[key] {
		if m.othersDepth <= othersDepth/2 {
			values = append(values, m.p99)
		}
	}
	if len(values) < threshold.QuietIntervals {
		return math.NaN()
	}
	slices.Sort(values)
	return values[len(values)/2]
}

// add notes an interval, and forgets streams that are gone.
func (h history) add(groups []Group, depth map[string]float64, seconds float64) {
	seen := map[streamKey]bool{}
	for _, g := range groups {
		for _, u := range g.Drives {
			for write, s := range map[bool]Stream{false: u.Read, true: u.Write} {
				if !s.hasTail(seconds) {
					continue
				}
				key := streamKey{g.Path + "\x00" + g.Name, u.Device, write}
				seen[key] = true
				h[key] = append(h[key], moment{s.P99, depth[u.Device] - u.Depth})
				h[key] = h[key][max(0, len(h[key])-past):]
			}
		}
	}
	if len(h) > mostGroups {
		for key := range h {
			if !seen[key] {
				delete(h, key)
			}
		}
	}
}

// hasTail reports whether so many requests were made in the interval that their p99 is more than the slowest of them.
func (s Stream) hasTail(seconds float64) bool { return s.P99 > 0 && s.PerSecond*seconds >= 100 }

// find returns what is wrong in a document, and notes the interval for those that follow.
func (h history) find(d *Document) (findings []Finding) {
	depth := map[string]float64{}
	for _, g := range d.Groups {
		for _, u := range g.Drives {
			depth[u.Device] += u.Depth
		}
	}
	for i := range d.Groups {
		g := &d.Groups[i]
		limits := findLimits(g)
		findings = append(findings, limits...)
		atLimit := func(f Finding) bool { return f.Kind == OwnLimit }
		if g.Kind == Slice || g.Kind == Process {
			continue
		}
		for _, u := range g.Drives {
			if f, ok := h.victim(d, g, u, depth[u.Device], slices.ContainsFunc(limits, atLimit)); ok {
				findings = append(findings, f)
			}
		}
	}
	h.add(d.Groups, depth, d.Seconds)
	order := []FindingKind{Disturbs, MayDisturb, LimitLost, LimitDiffers, LimitUnasked, OwnLimit, MemoryFull}
	slices.SortStableFunc(findings, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(slices.Index(order, a.Kind), slices.Index(order, b.Kind)), cmp.Compare(a.Group, b.Group))
	})
	for i := range findings {
		findings[i].Text = findings[i].text()
	}
	return findings
}

// victim reports whether another group disturbs this one on a device.
func (h history) victim(
	document *Document, group *Group, use Use, totalDepth float64, atLimit bool,
) (worst Finding, found bool) {
	offender, deepest := "", 0.0
	for _, o := range document.Groups {
		if o.Kind == Slice || o.Path == group.Path && o.Name == group.Name {
			continue
		}
		for _, other := range o.Drives {
			if other.Device == use.Device && other.Depth > deepest {
				offender, deepest = o.Name, other.Depth
			}
		}
	}
	// A device that is nearly idle delays no group.
	if !(deepest > threshold.OffenderDepth) || deepest < threshold.OffenderShare*totalDepth {
		return worst, false
	}
	for write, s := range map[bool]Stream{false: use.Read, true: use.Write} {
		if !s.hasTail(document.Seconds) {
			continue
		}
		finding := Finding{Group: group.Name, Path: group.Path, Offender: offender, Device: use.Device, Op: "reads",
			P99: s.P99, Depth: deepest, All: totalDepth, Pressure: document.pressure(group)}
		if write {
			finding.Op = "writes"
		}
		quiet := h.quiet(streamKey{group.Path + "\x00" + group.Name, use.Device, write}, totalDepth-use.Depth)
		switch {
		case s.P99 >= threshold.Disturbed*quiet:
			finding.Kind, finding.QuietP99 = Disturbs, quiet
		case !math.IsNaN(quiet), atLimit, finding.Pressure < threshold.WaitingShare:
			continue // the group is as fast as in quiet intervals, waits for its own limit, or does not wait
		default:
			finding.Kind = MayDisturb
		}
		surer := finding.Kind == Disturbs && worst.Kind == MayDisturb
		if !found || surer || finding.Kind == worst.Kind && finding.P99 > worst.P99 {
			worst, found = finding, true
		}
	}
	return worst, found
}

// pressure returns the share of the time in which a group waited for I/O; 0 where the kernel does not say it.
func (d *Document) pressure(g *Group) float64 { return g.Values["pressure.io.some"] }

// findLimits returns what is wrong with the limits of a group, and those that it has reached.
func findLimits(g *Group) (findings []Finding) {
	for i := range g.Limits {
		l := &g.Limits[i]
		f := Finding{Group: g.Name, Path: g.Path, Device: l.Device, Limit: l}
		switch {
		case l.Asked == nil || nearlyEqual(l.Held, *l.Asked):
		case l.Held == 0:
			f.Kind = LimitLost
		case *l.Asked == 0 && l.Above == "":
			f.Kind = LimitUnasked
		case *l.Asked > 0 && (l.Above == "" || l.Held > *l.Asked):
			f.Kind = LimitDiffers
		}
		if f.Kind != "" {
			findings = append(findings, f)
		}
		if l.Held > 0 && l.Of != keyMemory && l.Used >= threshold.AtLimit*l.Held {
			findings = append(findings, Finding{Kind: OwnLimit, Group: g.Name, Path: g.Path, Device: l.Device, Limit: l})
		}
		if m := g.Memory; m != nil && l.Of == keyMemory && l.Held > 0 && float64(m.Held) >= threshold.HeldMemory*l.Held {
			findings = append(findings, Finding{Kind: MemoryFull, Group: g.Name, Path: g.Path, Limit: l, Held: m.Held})
		}
	}
	return findings
}

// text returns the finding as a sentence.
func (f *Finding) text() string {
	ms := func(seconds float64) string { return units.Latency(seconds * 1e9) }
	switch f.Kind {
	case Disturbs:
		return fmt.Sprintf("%s disturbs %s on %s: p99 of its %s is %s, and %s while the others do less. %s of %s requests "+
			"under way are those of %s.", f.Offender, f.Group, f.Device, f.Op, ms(f.P99), ms(f.QuietP99), units.Digits(f.Depth),
			units.Digits(f.All), f.Offender)
	case MayDisturb:
		return fmt.Sprintf(
			"%s may disturb %s on %s: %s waits for I/O in %.0f%% of the time, p99 of its %s is %s, and %s of %s "+
				"requests under way are those of %s. Watch on to see it without.",
			f.Offender,
			f.Group,
			f.Device,
			f.Group,
			100*f.Pressure,
			f.Op,
			ms(f.P99),
			units.Digits(f.Depth),
			units.Digits(f.All),
			f.Offender,
		)
	}
	l := f.Limit
	switch f.Kind {
	case OwnLimit:
		return fmt.Sprintf("%s is held by its own limit: %s of %s.", f.Group, l.amount(l.Used), l)
	case LimitLost:
		return fmt.Sprintf("%s has no limit in force where its engine was asked for %s: set it again.", f.Group, l)
	case LimitDiffers:
		return fmt.Sprintf("%s is limited to %s, and its engine was asked for %s.", f.Group, l.held(), l.amount(*l.Asked))
	case LimitUnasked:
		return fmt.Sprintf(
			"%s is limited to %s, which its engine was not asked for: something else set it, and the engine's "+
				"next update may lose it.",
			f.Group,
			l.held(),
		)
	case MemoryFull:
		return fmt.Sprintf("%s holds %s that no shortage takes from it, of %s: little is left for page cache.", f.Group,
			l.amount(float64(f.Held)), l)
	}
	return ""
}

// held returns the limit in force, in words.
func (l Limit) held() string { return l.text(l.Held) }

// String returns the limit that was asked for, or where that is not known the one in force, in words.
func (l Limit) String() string {
	if l.Asked != nil && *l.Asked > 0 {
		return l.text(*l.Asked)
	}
	return l.held()
}

func (l Limit) text(value float64) string {
	text := l.amount(value)
	if l.Device != "" {
		text += " on " + l.Device
	}
	return text
}

// amount returns a value of the limit's kind, in words.
func (l Limit) amount(value float64) string {
	switch l.Of {
	case keyCPUs:
		return units.Digits(value) + " CPUs"
	case keyMemory:
		return units.Bytes(uint64(max(0, value))) + " of memory"
	case keyReadIOPS:
		return units.Digits(value) + " reads/s"
	case keyWriteIOPS:
		return units.Digits(value) + " writes/s"
	case keyReadBandwidth:
		return "reads of " + units.Bandwidth(value)
	}
	return "writes of " + units.Bandwidth(value)
}
