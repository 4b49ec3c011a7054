// Package fact has the findings of a run as facts: what they are about, how large
// an effect is, what was measured. It decides nothing.
package fact

import (
	"slices"

	"plimsoll/internal/result"
	"plimsoll/internal/section"
)

// Kind groups findings for display.
type Kind string

// The kinds of findings, in the order in which they are shown.
const (
	KindRecommendation Kind = "recommendation" // which stack to take, and why
	KindNeighbours     Kind = "neighbours"     // the load of other processes, where it matters: right under the verdict
	KindScaling        Kind = "scaling"        // how much instances do together, over their number
	KindFastest        Kind = "fastest"        // fastest honest stack of one workload, with the ranking
	KindIllusion       Kind = "illusion"       // a stack that answers from memory
	KindComparison     Kind = "comparison"     // a stack against the baseline or its sibling
	KindNoise          Kind = "noise"          // how far apart equal things came out
	KindTime           Kind = "time"           // where the time of I/Os goes, by traces
	KindPublished      Kind = "published"      // a published result, tested on this host
	KindCaveat         Kind = "caveat"         // what limits the conclusions
	KindMissing        Kind = "missing"        // skipped and failed trials, with reasons
	KindSpending       Kind = "spending"       // what the time of the run went on: shown by its section alone
)

// Finding is a conclusion with its evidence.
type Finding struct {
	ID             string           `json:"id"`             // stable within a run: "baseline/ext4/randread"
	Rule           string           `json:"rule"`           // name of the rule that drew it
	Case           string           `json:"case,omitempty"` // which of the rule's conclusions it is
	Kind           Kind             `json:"kind"`
	Workload       string           `json:"workload,omitempty"`
	Stacks         []string         `json:"stacks,omitempty"` // subjects, best first
	Title          string           `json:"title"`            // one sentence with the number that matters
	Why            string           `json:"why"`              // what was measured that says so; a line for each reason where there are several
	Facts          any              `json:"facts,omitempty"`  // what the rule found: a struct of its own, next to its sentences
	Section        *section.Section `json:"-"`                // tables and figures of them; nil for none
	Effect         *Effect          `json:"effect,omitempty"`
	Evidence       []Point          `json:"evidence,omitempty"`
	Caveats        []string         `json:"caveats,omitempty"`        // marks, and everything else that must be said beside the number
	Remarks        []Remark         `json:"remarks,omitempty"`        // the caveats that are no marks, as facts; only of some rules
	Noise          []Noise          `json:"noise,omitempty"`          // by workload; of KindNoise only
	Recommendation *Recommendation  `json:"recommendation,omitempty"` // of the verdict only
	Claim          *Claim           `json:"claim,omitempty"`          // the published result that was tested; nil for every other kind
	Neighbours     *Neighbours      `json:"neighbours,omitempty"`     // facts of KindNeighbours; nil for every other kind
}

// Point is one stack's measured value with its interval, as ranked and drawn.
type Point struct {
	Stack          string   `json:"stack"`
	Workload       string   `json:"workload"`
	Metric         string   `json:"metric"` // "IOPS"
	Estimate                // of the means of setups
	Trials         int      `json:"trials"`          // in all setups
	Source         string   `json:"source"`          // result.Source: memory when memory answered any trial, else that of most trials
	Ratio          *float64 `json:"ratio,omitempty"` // device I/Os per fio I/O, median over trials
	Marks          []string `json:"marks,omitempty"`
	P50NS          float64  `json:"p50_ns"` // total latency: of a setup from the merged bins of its trials, then the median of setups
	P99NS          float64  `json:"p99_ns"`
	P999NS         float64  `json:"p999_ns"`
	BytesPerSecond float64  `json:"bytes_per_second"` // median
	BytesLow       float64  `json:"bytes_low"`        // interval of BytesPerSecond, as Low and High
	BytesHigh      float64  `json:"bytes_high"`

	Percentiles []Percentile `json:"percentiles,omitempty"` // P50NS, P99NS and P999NS with their intervals, or why they are 0; none where they are not known
}

// TooFewFor reports whether a percentile of latency is not known since operations are too few for it.
func (p Point) TooFewFor(percent float64) bool {
	return slices.ContainsFunc(p.Percentiles, func(q Percentile) bool { return q.Percent == percent && q.Unknown != "" })
}

// FromMemory reports whether memory answered what the point counted, so that it is not what the storage does.
func (p Point) FromMemory() bool {
	return p.Source == string(result.SourceMemory) || slices.Contains(p.Marks, string(result.MarkMemory))
}

// SourceNote says behind a number what answered, where it was not the device or a server: ", served from memory".
func (p Point) SourceNote() string {
	switch {
	case p.FromMemory():
		return ", served from memory"
	case p.Source == string(result.SourceDevice), result.Source(p.Source).Operations():
		return ""
	}
	return ", source not checked"
}
