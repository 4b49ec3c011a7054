package hist

import (
	"math"
	"testing"
)

// measured are the latencies of many trials, in fio's bins.
func measured(trials, bins int) []Bins {
	packed := make([]Bins, trials)
	for i := range packed {
		trialBins := make([]Bin, bins)
		for k := range trialBins {
			index, z := uint64(600+k+i%50), float64(k-bins/3)/float64(bins)*8
			trialBins[k] = Bin{NS: (64 + index%64) << (index/64 - 1), Count: 1 + uint64(8000*math.Exp(-z*z/2))}
		}
		packed[i] = Pack(trialBins)
	}
	return packed
}

func BenchmarkMergeBins(b *testing.B) {
	for name, trials := range map[string]int{"two": 2, "thousand": 1000} {
		packed := measured(trials, 400)
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				MergeBins(packed...)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*trials*400), "ns/bin")
		})
	}
}

func BenchmarkPercentile(b *testing.B) {
	bins := measured(1, 400)[0]
	for b.Loop() {
		Percentile(bins, 99)
	}
}
