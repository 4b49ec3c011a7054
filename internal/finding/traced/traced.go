// Package traced shows where the time of I/Os went, by the traces of a run's trials, and who used the devices meanwhile.
// The package is pure.
package traced

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"plimsoll/internal/result"
	"plimsoll/internal/units"
	"plimsoll/internal/units/plural"
)

// partNames are the parts of an I/O's latency in the order in which it
// passes them.
var partNames = []result.PartName{result.PartUser, result.PartKernel, result.PartBlock, result.PartDriver,
	result.PartFabric, result.PartTarget, result.PartDevice}

// point is where the I/Os of a stack under a workload spent their time:
// of all its traced trials together, each with the weight of its I/Os.
type point struct {
	Stack, Workload string
	Direction       string // "reads", "writes"; "" where the workload does one of them only
	Trials          int
	IOs             uint64
	TotalNS         float64
	Parts           []result.TracePart // means, of the parts that a trial has
	ResidueNS       float64
	PerIO           float64
	BytesPerIO      float64
}

// title names the point's direction behind its workload.
func (p point) title() string {
	if p.Direction == "" {
		return p.Workload
	}
	return p.Workload + ", " + p.Direction
}

// part is the mean of a part; 0 where nobody could measure it.
func (p point) part(name result.PartName) (ns float64, known bool) {
	for _, part := range p.Parts {
		if part.Name == name {
			return part.MeanNS, true
		}
	}
	return 0, false
}

// pointsOf are those of a run, by workload, direction and stack.
func pointsOf(run *result.Run) []point {
	var points []point
	for _, mix := range mixes(run) {
		var mixPoints []point
		for _, d := range []struct {
			name      string
			breakdown func(*result.Trace) *result.Breakdown
		}{
			{"reads", func(t *result.Trace) *result.Breakdown { return t.Read }},
			{"writes", func(t *result.Trace) *result.Breakdown { return t.Write }},
		} {
			for _, stack := range run.StackNames() {
				var breakdowns []result.Breakdown
				for _, t := range trialsOf(run, stack, mix) {
					if b := d.breakdown(t.Trace); b != nil && b.IOs > 0 {
						breakdowns = append(breakdowns, *b)
					}
				}
				if len(breakdowns) > 0 {
					mixPoints = append(mixPoints, together(point{Stack: stack, Workload: mix, Direction: d.name}, breakdowns))
				}
			}
		}
		// Where all that was traced goes one way, the workload's name says which.
		if !slices.ContainsFunc(mixPoints, func(p point) bool { return p.Direction != mixPoints[0].Direction }) {
			for i := range mixPoints {
				mixPoints[i].Direction = ""
			}
		}
		points = append(points, mixPoints...)
	}
	return points
}

func trialsOf(run *result.Run, stack, workload string) []result.Trial {
	return slices.DeleteFunc(slices.Clone(run.Trials), func(t result.Trial) bool {
		return t.Stack != stack || t.Mix != workload || t.Status != result.TrialDone || t.Trace == nil
	})
}

// together gives the mean over all I/Os of several trials: sums of times by
// the sum of I/Os, so that total, parts and residue still close.
func together(p point, breakdowns []result.Breakdown) point {
	p.Trials = len(breakdowns)
	for _, b := range breakdowns {
		p.IOs += b.IOs
	}
	for _, b := range breakdowns {
		weight := float64(b.IOs) / float64(p.IOs)
		p.TotalNS += weight * b.TotalNS
		p.ResidueNS += weight * b.ResidueNS
		p.PerIO += weight * b.PerIO
		p.BytesPerIO += weight * b.BytesPerIO
		for _, part := range b.Parts {
			i := slices.IndexFunc(p.Parts, func(known result.TracePart) bool { return known.Name == part.Name })
			if i < 0 {
				i = len(p.Parts)
				p.Parts = append(p.Parts, result.TracePart{Name: part.Name, From: part.From})
			}
			p.Parts[i].MeanNS += weight * part.MeanNS
		}
	}
	order := func(name result.PartName) int {
		if i := slices.Index(partNames, name); i >= 0 {
			return i
		}
		return len(partNames) // of a later version
	}
	slices.SortStableFunc(p.Parts, func(a, b result.TracePart) int { return cmp.Compare(order(a.Name), order(b.Name)) })
	return p
}

// partsOf are the names of all parts that points have, in their order.
func partsOf(points []point) []result.PartName {
	names := slices.Clone(partNames)
	for _, p := range points {
		for _, part := range p.Parts {
			if !slices.Contains(names, part.Name) {
				names = append(names, part.Name)
			}
		}
	}
	return slices.DeleteFunc(names, func(name result.PartName) bool {
		return !slices.ContainsFunc(points, func(p point) bool { _, ok := p.part(name); return ok })
	})
}

// mixes returns the names of what sections are headed by.
func mixes(run *result.Run) (names []string) {
	for _, m := range run.Ran() {
		if m.Varies == nil {
			names = append(names, m.Name)
		}
	}
	return names
}

// residueText gives a residue with its sign, and as a share of the total.
func residueText(p point) string {
	text := signed(p.ResidueNS, units.Time)
	if share := residueShare(p); share != "" {
		text += " (" + share + ")"
	}
	return text
}

// residueShare is the residue as a share of the total, with its sign.
func residueShare(p point) string {
	if !(p.TotalNS > 0) {
		return ""
	}
	return fmt.Sprintf("%+.1f%%", 100*p.ResidueNS/p.TotalNS)
}

// signed gives a value with its sign.
func signed(v float64, text func(float64) string) string {
	if v < 0 {
		return "-" + text(-v)
	}
	return "+" + text(v)
}

// servedRow is what a device completed for an owner while a stack's trials
// under a workload ran.
type servedRow struct {
	Stack, Workload string
	result.Served
}

// servedBy sums up who used the devices, for each stack and workload:
// the application first, then others by bytes.
func servedBy(run *result.Run) []servedRow {
	var rows []servedRow
	for _, mix := range mixes(run) {
		for _, stack := range run.StackNames() {
			var mixRows []servedRow
			for _, t := range trialsOf(run, stack, mix) {
				for _, s := range t.Trace.Served {
					i := slices.IndexFunc(mixRows, func(r servedRow) bool {
						return r.Device == s.Device && r.Owner == s.Owner && r.Op == s.Op && r.Kernel == s.Kernel
					})
					if i < 0 {
						mixRows = append(mixRows, servedRow{stack, mix, s})
						continue
					}
					mixRows[i].Requests += s.Requests
					mixRows[i].Bytes += s.Bytes
				}
			}
			slices.SortStableFunc(mixRows, func(a, b servedRow) int {
				switch {
				case a.Application != b.Application && a.Application:
					return -1
				case a.Application != b.Application:
					return 1
				}
				return cmp.Or(cmp.Compare(b.Bytes, a.Bytes), cmp.Compare(b.Requests, a.Requests))
			})
			rows = append(rows, mixRows...)
		}
	}
	return rows
}

// whose names an owner, and says where nobody is charged.
func (r servedRow) whose() string {
	if r.Kernel {
		return r.Owner + " (kernel)"
	}
	return r.Owner
}

// othersText says in a sentence who else used the devices of a stack while a
// workload ran on it; "" for nobody.
func othersText(rows []servedRow, stack, workload string) string {
	var users []servedRow
	for _, r := range rows {
		if r.Stack != stack || r.Workload != workload || r.Application {
			continue
		}
		i := slices.IndexFunc(users, func(o servedRow) bool { return o.Device == r.Device && o.whose() == r.whose() })
		if i < 0 {
			users = append(users, r)
			continue
		}
		users[i].Requests += r.Requests
		users[i].Bytes += r.Bytes
	}
	slices.SortStableFunc(users, func(a, b servedRow) int { return cmp.Compare(b.Bytes, a.Bytes) })
	const limit = 3
	var words []string
	var unnamed uint64
	for i, r := range users {
		if i >= limit {
			unnamed += r.Requests
			continue
		}
		words = append(words, fmt.Sprintf("%s: %s to %s, %s", r.whose(), units.Grouped(float64(r.Requests)), r.Device,
			units.DecimalBytes(r.Bytes)))
	}
	if len(users) > limit {
		words = append(words, fmt.Sprintf("%d more: %s", len(users)-limit, units.Grouped(float64(unnamed))))
	}
	return strings.Join(words, "; ")
}

var (
	digitsOf   = regexp.MustCompile(`[0-9]+`)
	eventsLost = regexp.MustCompile(`^[0-9]+ events? (was|were) lost:`)
)

// lacks is what traces of a run cannot tell, each once with how many
// trials it is of. What differs in its numbers alone is the same, with the first
// one's.
func lacks(run *result.Run) []string {
	var order []string
	trials, traced := map[string]int{}, 0
	lost, losers := uint64(0), 0
	for _, t := range run.Trials {
		if t.Status != result.TrialDone || t.Trace == nil {
			continue
		}
		traced++
		if t.Trace.Lost > 0 {
			lost += t.Trace.Lost
			losers++
		}
		for _, m := range t.Trace.Missing {
			if eventsLost.MatchString(m) {
				continue // said below, of all trials
			}
			alike := digitsOf.ReplaceAllString(m, "N")
			if trials[alike]++; trials[alike] == 1 {
				order = append(order, m)
			}
		}
	}
	for i, m := range order {
		order[i] = "not known: " + m
		if n := trials[digitsOf.ReplaceAllString(m, "N")]; n < traced {
			order[i] += fmt.Sprintf(" (%s)", plural.Count(n, "trial"))
		}
	}
	if lost > 0 {
		lostEvents := units.Grouped(float64(lost)) + " events were"
		if lost == 1 {
			lostEvents = "1 event was"
		}
		order = append([]string{fmt.Sprintf("%s lost in %s: counts are too low, and parts are means of those that were seen",
			lostEvents, plural.Count(losers, "trial"))}, order...)
	}
	return order
}
