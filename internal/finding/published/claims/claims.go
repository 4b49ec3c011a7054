// Package claims holds what three papers on storage for containers published,
// as typed values, so that it can be tested again on another host. The values
// are in claims.yaml, which is part of the program.
//
// The package is pure.
//
// Hazards: a published value is one of the paper's hardware, kernel and
// configuration, and comes without an interval.
package claims

import (
	_ "embed"
	"slices"
	"sync"
)

//go:embed claims.yaml
var source []byte

// Kind tells what a claim says about its subject.
type Kind string

// The kinds of claims.
const (
	Ratio    Kind = "ratio"    // metric of the subject, divided by that of the baseline
	Absolute Kind = "absolute" // in Unit, and only on the paper's hardware
	Location Kind = "location" // where an extreme or a change lies, in Unit
	Ordering Kind = "ordering" // subjects, best first
)

// Claim is one published result.
type Claim struct {
	ID        string
	Paper     Paper
	Where     string   // section and figure: "5.2 fig 3h"
	Subject   []string // never empty for a ratio or location; of an ordering, best first
	Baseline  string   // of a ratio
	Workloads []string // under each of which it holds; empty when the subject says it
	Kind      Kind
	Value     *Value  // nil for an ordering
	Tolerance float64 // on either side of Value, in its unit; 0 when none is stated
	Unit      string
	Model     bool // the performance model must reproduce it too
	Note      string
	Test      *Test  // how a run tests it; nil for a claim that none does
	Part      string // of a claim with several numbers, the one that this is; "" for all
	Untested  string // why no built-in experiment can judge it; "" where Test names one
}

// Paper is where a claim was published.
type Paper string

// The papers.
const (
	MSST17   Paper = "msst17"
	SYSTOR15 Paper = "systor15"
	IPCCC16  Paper = "ipccc16"
)

// Papers are all papers, the newest first.
func Papers() []Paper { return []Paper{MSST17, IPCCC16, SYSTOR15} }

// String is how a paper is cited: "MSST'17".
func (p Paper) String() string {
	switch p {
	case MSST17:
		return "MSST'17"
	case SYSTOR15:
		return "SYSTOR'15"
	case IPCCC16:
		return "IPCCC'16"
	}
	return string(p)
}

// Value is a published number, or a range. Low is -Inf or High +Inf where
// only a bound was published; both are the same for one number.
type Value struct {
	Low, High float64
	Parts     []Part // instead of Low and High, when one claim has several numbers
}

// Part is one number of a claim that has several.
type Part struct {
	Name  string
	Value Value
}

var parsed = sync.OnceValue(func() []Claim {
	all, err := Parse(source)
	if err != nil {
		panic(err) // a test parses it
	}
	return all
})

// All gives every claim, in the order of the papers' sections.
func All() []Claim { return slices.Clone(parsed()) }

// Find gives the claim with that id.
func Find(id string) (Claim, bool) {
	i := slices.IndexFunc(parsed(), func(c Claim) bool { return c.ID == id })
	if i < 0 {
		return Claim{}, false
	}
	return parsed()[i], true
}
