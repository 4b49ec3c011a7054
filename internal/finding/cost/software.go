package cost

import (
	"cmp"
	"fmt"
	"slices"

	"plimsoll/internal/fact"
	"plimsoll/internal/finding/prose"
	"plimsoll/internal/result"
	"plimsoll/internal/runview"
	"plimsoll/internal/stats"
	"plimsoll/internal/units"
)

// Software is how much of what an I/O takes is software, by stack.
type Software struct {
	Direction string         `json:"direction"` // reads, writes
	Stacks    []SoftwarePart `json:"stacks"`    // ascending by share
}

// SoftwarePart is how much of what an I/O takes on a stack is software.
type SoftwarePart struct {
	Stack     string        `json:"stack"`
	Closes    bool          `json:"closes"` // the parts make up the latency; otherwise the share is not to be relied on
	Share     fact.Estimate `json:"share"`
	Account   Account       `json:"account"`
	Largest   string        `json:"largest,omitempty"` // part of software, as Grown.Part; "" when none was seen
	LargestNS float64       `json:"largest_ns,omitempty"`
}

// Closed are those whose parts make up the latency.
func (s Software) Closed() []SoftwarePart {
	return slices.DeleteFunc(slices.Clone(s.Stacks), func(p SoftwarePart) bool { return !p.Closes })
}

// Least is the stack with the smallest share, of those whose parts close.
func (s Software) Least() SoftwarePart { return s.Closed()[0] }

// Most is the one with the largest.
func (s Software) Most() SoftwarePart { return s.Closed()[len(s.Closed())-1] }

// SoftwareShares tells, for each workload, how much of what an I/O takes on each
// stack is software, and which part of it most.
func SoftwareShares(v *runview.View) []fact.Finding {
	var out []fact.Finding
	for _, w := range v.Workloads {
		for _, d := range Directions {
			if spans := spansUnder(v, w.Name, d); len(spans) > 0 {
				out = append(out, softwareUnder(v, w, d, spans))
			}
		}
	}
	return out
}

func softwareUnder(v *runview.View, w result.Workload, d Direction, spans []*span) fact.Finding {
	f := fact.Finding{
		ID: "software/" + w.Name + "/" + d.Noun, Kind: fact.KindTime, Workload: w.Name,
		Caveats: marksOf(spans...),
	}
	remark(&f, PartCaveats(spans...))
	slices.SortStableFunc(spans, func(a, b *span) int { return cmp.Compare(a.share().Median, b.share().Median) })
	facts := Software{Direction: d.Noun}
	var closed []*span
	for _, s := range spans {
		f.Stacks, f.Evidence = append(f.Stacks, s.Stack.Name), append(f.Evidence, s.Point)
		facts.Stacks = append(facts.Stacks, s.softwarePart())
		if s.Closes() {
			closed = append(closed, s)
		}
	}
	switch len(closed) {
	case 0:
		f.Case = "no share"
	case 1:
		f.Case = "one share"
	default:
		f.Case = "shares"
		least, most := closed[0], closed[len(closed)-1]
		e, ok := v.Effect("time in software", most.Stack.Name, least.Stack.Name,
			most.sample(SoftwareTime), least.sample(SoftwareTime))
		if ok {
			f.Effect = &e
		}
	}
	f.Facts, f.Title, f.Why = facts, facts.title(f), facts.why(f.Effect)
	if slices.ContainsFunc(facts.Closed(), func(p SoftwarePart) bool { return p.Share.Coverage < stats.Confidence }) {
		prose.Remark(&f, "caveat: few trials", nil, "so few trials give no intervals of 95%: repeat 6 times or more")
	}
	return f
}

func (s *span) softwarePart() SoftwarePart {
	p := SoftwarePart{Stack: s.Stack.Name, Closes: s.Closes(), Share: s.share(), Account: s.account()}
	p.Largest, p.LargestNS = s.largest()
	return p
}

// share is software's share of the latency.
func (s *span) share() fact.Estimate {
	return runview.Estimate(s.Values(func(b *result.Breakdown) float64 { return SoftwareTime(b) / b.TotalNS }))
}

// largest returns the largest part of software, in ns; "" when none was seen.
func (s *span) largest() (part string, ns float64) {
	for _, p := range append(s.pieces(s.halved()), residue) {
		if p.name == string(result.PartDevice) || p.name == string(result.PartFabric) || p.name == string(result.PartTarget) {
			continue
		}
		if took := s.median(p.time); took > ns {
			part, ns = p.name, took
		}
	}
	return part, ns
}

func (s Software) title(f fact.Finding) string {
	operation, closed := prose.One(s.Direction), s.Closed()
	if len(closed) == 0 {
		return fmt.Sprintf("What of %s is software is not known: the parts of its latency do not close: %s", operation,
			f.Workload)
	}
	lowest, highest := s.Least(), s.Most()
	if len(closed) == 1 {
		return fmt.Sprintf("Software takes %s of %s on %s: %s; %s", prose.Estimate("share", lowest.Share), operation,
			lowest.Stack, f.Workload,
			lowest.largest())
	}
	separation := "there"
	if f.Effect != nil && !f.Effect.Differs {
		separation = "they cannot be distinguished (~); on " + highest.Stack
	}
	return fmt.Sprintf("Software takes from %s of %s on %s to %s on %s: %s; %s, %s", prose.Estimate("share", lowest.Share),
		operation,
		lowest.Stack, prose.Estimate("share", highest.Share), highest.Stack, f.Workload, separation, highest.largest())
}

func (s Software) why(e *fact.Effect) string {
	text := joined(s.Stacks, " ")
	if e != nil {
		text += fmt.Sprintf(" Software on %s takes %s of its time on %s.", e.Subject, e.Written(), e.Baseline)
	}
	return text + " Software is the mean total latency less the device's part and the fabric's, so that what no part " +
		"explains " +
		"counts as software. Medians over the trials, with their intervals."
}

// String says how much of a stack's I/O is software.
func (p SoftwarePart) String() string {
	total := fmt.Sprintf("%s (%s)", units.Latency(p.Account.TotalNS), p.Account)
	if !p.Closes {
		return fmt.Sprintf("%s: no share, since the parts do not close: %s.", p.Stack, total)
	}
	return fmt.Sprintf("%s: %s of %s; %s.", p.Stack, prose.Estimate("share", p.Share), total, p.largest())
}

// largest names the largest part of software.
func (p SoftwarePart) largest() string {
	switch p.Largest {
	case "":
		return "no part of it was seen"
	case residue.name:
		return fmt.Sprintf("most of it, %s, no part explains", units.Latency(p.LargestNS))
	}
	return fmt.Sprintf("the largest part of it is %s, %s", pieceName(p.Largest), units.Latency(p.LargestNS))
}
