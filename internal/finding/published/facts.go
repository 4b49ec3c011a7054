// Package published judges results that papers published by what a run measured.
package published

import (
	"fmt"

	"plimsoll/internal/finding/fact"
)

// Tested is a published result, and what the run says of it. The verdict is the
// claim's.
type Tested struct {
	Published  Value     `json:"published"`
	Subject    []string  `json:"subject"` // of the claim: what it is about, or of an ordering, best first
	Ordering   bool      `json:"ordering,omitempty"`
	Baseline   string    `json:"baseline,omitempty"`
	About      string    `json:"about,omitempty"`      // narrows it: RR
	Measured   Reason    `json:"measured,omitzero"`    // no case where nothing was
	Compared   *Compared `json:"compared,omitempty"`   // two sets of instances; nil where the claim is of something else
	Reason     Reason    `json:"reason"`               // of the verdict
	Grounds    []Reason  `json:"grounds,omitempty"`    // measurements that explain the number
	Paper      string    `json:"paper"`                // what the paper puts it down to
	Experiment string    `json:"experiment,omitempty"` // the built-in one that tests it, where this run could not
	StandIn    string    `json:"stand_in,omitempty"`   // as claims.yaml describes it
	Instead    *Instead  `json:"instead,omitempty"`    // what ran in the place of the paper's database
}

// Others are the published results that a run does not touch.
type Others struct {
	Claims      int           `json:"claims"`
	Papers      []OfPaper     `json:"papers"`
	Experiments []Experiments `json:"experiments,omitempty"` // that test some of them
}

// OfPaper is how many of them are a paper's.
type OfPaper struct {
	Paper  string `json:"paper"`
	Claims int    `json:"claims"`
}

// Experiments is which of them a built-in experiment tests.
type Experiments struct {
	Name   string   `json:"name"`
	Claims []string `json:"claims"` // ids
}

// Value is a published value.
type Value struct {
	Ratio     bool     `json:"ratio,omitempty"` // it is a factor
	Unit      string   `json:"unit,omitempty"`  // share, IOPS, jobs
	Low       *float64 `json:"low,omitempty"`   // nil where only the other bound was published; both are nil for an order
	High      *float64 `json:"high,omitempty"`
	Tolerance float64  `json:"tolerance,omitempty"` // on either side; 0 when none was stated
	Parts     []Part   `json:"parts,omitempty"`     // instead, where one claim has several numbers
	Order     []string `json:"order,omitempty"`     // best first
}

// Part is one number of a claim that has several.
type Part struct {
	Name  string `json:"name"` // without its unit
	Value Value  `json:"value"`
}

// Reason is a sentence on a claim: what was measured of it, or why its verdict is what it is.
type Reason struct {
	Case     string         `json:"case"` // names the sentence
	Text     string         `json:"text"`
	Estimate *fact.Estimate `json:"estimate,omitempty"` // of a number of one stack: a share, ns, or IOPS
	Band     *Band          `json:"band,omitempty"`     // that decided; nil where none did
}

func newReason(name, format string, args ...any) Reason {
	return Reason{Case: name, Text: fmt.Sprintf(format, args...)}
}

// Band is the interval of what was measured, of a ratio or of a value, and the range of the published one with its
// tolerance, both in one quantity.
type Band struct {
	Quantity string  `json:"quantity"` // as prose.Estimate has it: times, share, latency
	Low      float64 `json:"low"`      // of the interval
	High     float64 `json:"high"`
	From     float64 `json:"from,omitempty"` // of the published value; not of a bound
	To       float64 `json:"to,omitempty"`
	Limit    float64 `json:"limit,omitempty"` // of a bound
	// Direction is that of an effect outside of the band, beside the band's: same, other,
	// or none; "" where the band holds 1.
	Direction string `json:"direction,omitempty"`
}

// Instead names the database, workload and drives that ran in the place of the paper's. Such a run can
// show the same shape as the paper's, or another one; its numbers are of another thing.
type Instead struct {
	Database string   `json:"database,omitempty"` // as people call it; "" where it is the paper's
	Of       string   `json:"of,omitempty"`       // the paper's database
	Asked    string   `json:"asked,omitempty"`    // YCSB's workload, or the run's name of it; "" where it is the paper's
	Roles    []string `json:"roles,omitempty"`    // the paper's
	Drives   []string `json:"drives,omitempty"`   // that one device stands for, limited to what each does: "a SATA SSD"
}

// Compared is two sets of instances, by a metric.
type Compared struct {
	Metric    string      `json:"metric"`
	Workload  string      `json:"workload"`
	Instances int         `json:"instances"`        // of each
	Than      int         `json:"than,omitempty"`   // of the baseline, where it has others
	Beside    string      `json:"beside,omitempty"` // the other workload of the mix
	Effect    fact.Effect `json:"effect"`           // of subject and baseline: policies, workloads, mixes
}
