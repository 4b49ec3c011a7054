// Package published judges results that papers published by the measurements of a run.
// docs/evidence/published-results.md has the verdicts and the rules of ratios, bounds, orders and values.
//
// Stacks are recognised by their notation and workloads by their options, never by their names:
//
//   - randread and randwrite are of 4 KiB, read and write of 128 KiB, all with O_DIRECT.
//   - A low load is 1 job x depth 1. A high load has 32 I/Os in flight or more, of several the nearest to 32 x 32; for
//     results about a lock of readers it has 16 jobs or more. Maximum is randread with 128 I/Os in flight or more.
//   - raw and DAS are block devices without a file system, except a loop device that caches.
//   - A file system is compared on the same device as the other side: nodatacow with the same stack without it, a data
//     volume with its file system on the host, direct-lvm (thin(direct-lvm) > devicemapper) with a volume on xfs or
//     ext4.
//   - dioread_nolock is the default since Linux 5.6, and is there compared with mount=dioread_lock.
//   - loop-lvm is devicemapper on a file system; loop(direct-io=off) is shown as its stand-in.
//   - hdd, sata_ssd and nvme are classes of the one device of a bare stack. Loop devices and disks of a lab or
//     hypervisor have no class, and get no verdict.
//   - Policies and workloads are compared at the number of instances nearest to the paper's 4.
//   - Another database than the claim's, another load or distribution of its requests, or drives of several kinds that are one limited device, give
//     "same shape" or "another shape".
//
// Rules of shapes, with what makes them the same (or confirmed), and different (or contradicted):
//
//   - Throughput peaks: the best is significantly above the fewest instances, with a valley behind; a valley from the
//     first number on, or a level up to twice as many instances.
//   - The disk saturates: bandwidth rises and ends level; it is level from the first on, or falls at the end. If the
//     disk moved data at fewer than four numbers of instances, the ratio of the last two decides: level is below 1.2.
//   - Throughput stays level: the interval of most against fewest is below 1.2; it is above.
//   - A ratio whose band holds 1: the interval lies within 0.80 to 1.25; it lies outside.
//   - Another ratio: the interval excludes 1 and overlaps the third root to the third power of the ratio (0.15 to 0.81
//     for 0.53); it lies outside.
//   - Above 1, above 3: significantly above 1; significantly below 1, or the interval ends below 1.1.
package published

import (
	"fmt"

	"plimsoll/internal/fact"
)

// Tested is a published result, and what the run says of it. The verdict is the
// claim's.
type Tested struct {
	Published  Value     `json:"published"`
	Subject    []string  `json:"subject"` // of the claim: what it is about, or of an ordering, best first
	Ordering   bool      `json:"ordering,omitempty"`
	Baseline   string    `json:"baseline,omitempty"`
	About      string    `json:"about,omitempty"`      // narrows it: randread
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
	// distribution of requests over records; "" where it is one of the paper's
	Distribution  string   `json:"distribution,omitempty"`
	Distributions []string `json:"distributions,omitempty"` // the paper's
	Drives        []string `json:"drives,omitempty"`        // drives that one limited device takes the place of: "a SATA SSD"
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
