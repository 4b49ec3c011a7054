package cost

import (
	"cmp"
	_ "embed" // the sentences
	"slices"

	"plimsoll/internal/finding/fact"
	"plimsoll/internal/finding/measured"
	"plimsoll/internal/finding/prose"
	"plimsoll/internal/result"
	"plimsoll/internal/stats"
)

//go:embed software.tmpl
var softwareText string

// SoftwareSentences are the sentences on how much of an I/O is software.
var SoftwareSentences = prose.NewSheet(softwareText, TracedText)

// Software is how much of what an I/O takes is software, by stack.
type Software struct {
	Direction string         `json:"direction"` // reads, writes
	Stacks    []SoftwarePart `json:"stacks"`    // ascending by share
}

// SoftwarePart is how much of what an I/O takes on a stack is software.
type SoftwarePart struct {
	Stack       string        `json:"stack"`
	Closes      bool          `json:"closes"` // the parts make up the latency; otherwise the share is not to be relied on
	Share       fact.Estimate `json:"share"`
	Account     Account       `json:"account"`
	Largest     string        `json:"largest,omitempty"` // part of software, as Grown.Part; "" when none was seen
	LargestTime float64       `json:"largest_ns,omitempty"`
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
func SoftwareShares(v *measured.View) []fact.Finding {
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

func softwareUnder(v *measured.View, w result.Workload, d Direction, spans []*span) fact.Finding {
	f := fact.Finding{
		ID: "software/" + w.Name + "/" + d.Noun, Kind: fact.KindTime, Workload: w.Name,
		Caveats: marksOf(spans...), Remarks: PartCaveats(spans...),
	}
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
	f.Facts = facts
	if slices.ContainsFunc(facts.Closed(), func(p SoftwarePart) bool { return p.Share.Coverage < stats.Confidence }) {
		f.Remarks = append(f.Remarks, fact.Remark{Case: "caveat: few trials"})
	}
	return f
}

func (s *span) softwarePart() SoftwarePart {
	p := SoftwarePart{Stack: s.Stack.Name, Closes: s.Closes(), Share: s.share(), Account: s.account()}
	p.Largest, p.LargestTime = s.largest()
	return p
}

// share is software's share of the latency.
func (s *span) share() fact.Estimate {
	return measured.Estimate(s.Values(func(b *result.Breakdown) float64 { return SoftwareTime(b) / b.TotalNS }))
}

// largest returns the largest part of software, in ns; "" when none was seen.
func (s *span) largest() (part string, ns float64) {
	for _, p := range append(s.pieces(s.halved()), residue) {
		if p.name == string(result.PartDevice) || p.name == string(result.PartFabric) || p.name == string(result.PartTarget) {
			continue
		}
		if took := s.median(p.of); took > ns {
			part, ns = p.name, took
		}
	}
	return part, ns
}
