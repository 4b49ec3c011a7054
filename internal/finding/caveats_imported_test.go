package finding

import (
	"slices"
	"strings"
	"testing"

	"plimsoll/internal/result"
	"plimsoll/internal/result/hist"
)

// Imported trials may have no histogram. Percentiles are then those of the
// others, and a caveat says so.
func TestPercentilesOfSomeTrials(t *testing.T) {
	trial := func(seq int, bins ...hist.Bin) result.Trial {
		return result.Trial{
			Seq: seq, Block: seq, Repeat: seq, Stack: "old", Mix: "RR", Status: result.TrialDone,
			Instances: result.One(&result.Measurement{Seconds: 60, Operations: result.ReadsWrites(result.Operation{Count: 10, Rate: 1, Latency: map[result.Stage]hist.Histogram{result.Total: {Count: 10, MaxNS: 7, Bins: hist.Pack(bins)}}}, result.Operation{})}),
		}
	}
	run := &result.Run{
		Stacks:    []result.Stack{{Name: "old", Marks: []result.Mark{result.MarkImported}}},
		Workloads: []result.Workload{{Name: "RR"}},
		Trials:    []result.Trial{trial(1), trial(2, hist.Bin{NS: 7, Count: 10})},
	}
	caveatsFound := func() (imported, histograms bool) {
		for _, f := range All(run) {
			imported = imported || f.ID == "caveats/imported" && strings.Contains(f.Title, "old")
			histograms = histograms || f.ID == "caveats/histograms" && slices.Equal(f.Stacks, []string{"old"})
		}
		return imported, histograms
	}
	if imported, histograms := caveatsFound(); !imported || !histograms {
		t.Errorf("said that it was imported: %v; that some have no histogram: %v", imported, histograms)
	}
	run.Trials[0] = trial(1, hist.Bin{NS: 5, Count: 10})
	if _, histograms := caveatsFound(); histograms {
		t.Error("all have histograms, and a caveat says otherwise")
	}
}
