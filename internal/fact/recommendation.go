package fact

import "time"

// Confidence is how far a verdict can be relied on.
type Confidence string

// The words of confidence.
const (
	Sure     Confidence = "sure"      // what the sentence says is wrong at most 5 times in 100
	Likely   Confidence = "likely"    // it may be wrong more often
	TooEarly Confidence = "too early" // fewer setups than a comparison needs
)

// Recommendation is the run's answer to the question which stack to take:
// facts, and the sentences that are made of them. The sentences have no
// brackets, intervals or tests: those are for the tables and for Finding.Why.
type Recommendation struct {
	Confidence Confidence `json:"confidence"`
	Headline   string     `json:"headline"`         // one sentence, which begins with the word of confidence
	Use        string     `json:"use,omitempty"`    // "" where nothing can be recommended
	Avoid      string     `json:"avoid,omitempty"`  // "" where nothing has to be
	Next       string     `json:"next,omitempty"`   // what to check next; "" for nothing
	Doubts     []string   `json:"doubts,omitempty"` // Because, in words
	Reason     string     `json:"reason,omitempty"` // why the verdict is only likely; "" for any other

	Pick    string     `json:"pick,omitempty"`    // the stack to take; "" for none
	Margin  float64    `json:"margin,omitempty"`  // up to which a difference between stacks makes none, as a share
	Level   []string   `json:"level,omitempty"`   // stacks that are known to do as well, within the margin
	Slower  []Contrast `json:"slower,omitempty"`  // stacks that are known to be slower, the slowest first
	Faster  []Contrast `json:"faster,omitempty"`  // stacks that are known to be faster under some workload
	Memory  []string   `json:"memory,omitempty"`  // stacks that answered from memory
	Because []Doubt    `json:"because,omitempty"` // why it is no surer
	Runs    int        `json:"runs,omitempty"`    // that are pooled in it; 0 for a run by itself
	Command string     `json:"command,omitempty"` // that would settle what is open
	Seconds float64    `json:"seconds,omitempty"` // which that would take, about
}

// Doubt is a reason not to be sure of a verdict.
type Doubt struct {
	Kind       DoubtKind   `json:"kind"`
	BringUps   int         `json:"bring_ups,omitempty"` // of the stack with fewest, of which Needed are
	Needed     int         `json:"needed,omitempty"`
	Stacks     []string    `json:"stacks,omitempty"` // not distinguished from it, faster, or of two copies that differ
	Workload   string      `json:"workload,omitempty"`
	Apart      float64     `json:"apart,omitempty"` // of two copies, or the most that a stack may be faster, as a share
	Neighbours *Neighbours `json:"neighbours,omitempty"`
}

// DoubtKind names a reason to doubt.
type DoubtKind string

// The reasons to doubt.
const (
	DoubtFew        DoubtKind = "too few"    // setups
	DoubtOpen       DoubtKind = "undecided"  // it is not known whether others are as fast
	DoubtFaster     DoubtKind = "faster"     // another one is, under some workload
	DoubtTwins      DoubtKind = "twins"      // two copies of one stack differ
	DoubtNeighbours DoubtKind = "neighbours" // others were at work
)

// Contrast is how a stack compares with the one that is recommended.
type Contrast struct {
	Stack    string  `json:"stack"`
	Workload string  `json:"workload"`
	Ratio    float64 `json:"ratio"` // stack / pick
	Low      float64 `json:"low"`   // ends of Ratio that hold for all stacks of the verdict together
	High     float64 `json:"high"`
}

// Duration is how long Command would take, about.
func (r *Recommendation) Duration() time.Duration {
	return time.Duration(r.Seconds * float64(time.Second))
}
