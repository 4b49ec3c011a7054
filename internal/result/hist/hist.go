// Package hist has histograms of latencies: how they are merged, what one holds
// beyond an earlier state of itself, and their percentiles. It is pure, and imports
// nothing of ours.
package hist

// Histogram is a distribution of latencies. Percentiles are computed from Bins,
// which merge across jobs, instances and trials; averaged percentiles do not exist
// here.
//
// An imported distribution may lack what its file lacked: Count is 0 when the
// number of latencies is not known although MaxNS is, and without Bins only
// the percentiles in Printed are known.
type Histogram struct {
	Count  uint64  `json:"count"`
	MeanNS float64 `json:"mean_ns"`
	MinNS  uint64  `json:"min_ns"`
	MaxNS  uint64  `json:"max_ns"`
	Bins   Bins    `json:"-"` // stored apart

	// Printed are percentiles as fio printed them, when that is all that an
	// imported file has: ascending by Percent. They belong to this one
	// distribution and are shown as such; they do not merge.
	Printed []Quantile `json:"printed,omitempty"`
}

// Quantile is one percentile of a distribution.
type Quantile struct {
	Percent float64 `json:"percent"` // above 0, up to 100
	NS      uint64  `json:"ns"`
}

// Merge merges distributions as if all their latencies had been
// recorded into one: counts and bins add up, means weigh by count. Latencies
// without a count add nothing. Without the bins of one there are none: the others' are not those of all.
func Merge(histograms ...Histogram) Histogram {
	var merged Histogram
	var bins []Bins
	var sum float64
	whole := true
	for _, h := range histograms {
		if h.Count == 0 {
			continue
		}
		if merged.Count == 0 || h.MinNS < merged.MinNS {
			merged.MinNS = h.MinNS
		}
		merged.MaxNS = max(merged.MaxNS, h.MaxNS)
		merged.Count += h.Count
		sum += h.MeanNS * float64(h.Count)
		bins, whole = append(bins, h.Bins), whole && !h.Bins.IsEmpty()
	}
	if merged.Count > 0 {
		merged.MeanNS = sum / float64(merged.Count)
	}
	if whole {
		merged.Bins = MergeBins(bins...)
	}
	return merged
}
