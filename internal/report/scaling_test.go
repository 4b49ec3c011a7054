package report

import (
	"slices"
	"strings"
	"testing"

	"plimsoll/internal/finding"
	"plimsoll/internal/result"
)

// Right under the verdict stands how many instances the host carries, and nothing else shows its mixes'
// rates or percentiles again.
func TestLoadLineComesFirst(t *testing.T) {
	for name, run := range crowdedRuns(t) {
		points := finding.Points(run)
		drawn := sections(run, points, finding.All(run))
		if name == "varied" && !strings.HasPrefix(drawn[1].Title, "What") {
			t.Errorf("behind the load line comes %s", drawn[1].Title)
		}
		for i, s := range drawn {
			if i == 0 && !strings.HasPrefix(s.Title, "How many instances") {
				t.Errorf("%s: the first section is %s", name, s.Title)
			}
			if s.Title == "Throughput" || s.Title == "Latency percentiles" {
				t.Errorf("%s: %s is drawn again", name, s.Title)
			}
		}
	}
	run := mixedRun() // four and ten instances, and a mix of two tenants: that is drawn as ever
	run.Trials = slices.DeleteFunc(run.Trials, func(one result.Trial) bool { return one.Status != result.TrialDone })
	points := finding.Points(run)
	throughput := figureTitles(sections(run, points, finding.All(run)), "Throughput")
	if len(throughput) != 1 || throughput[0] != "both" {
		t.Errorf("bars are drawn of %q", throughput)
	}
}

func figureTitles(sections []section, title string) (titles []string) {
	for _, s := range sections {
		if s.Title != title {
			continue
		}
		for _, f := range s.Figures {
			titles = append(titles, f.Title)
		}
	}
	return titles
}
