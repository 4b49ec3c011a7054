package published

import (
	"fmt"
	"strings"
	"testing"

	"plimsoll/internal/fact"
	"plimsoll/internal/result"
	"plimsoll/internal/runview"
	"plimsoll/internal/testkit/runtest"
)

// readers is a run of 1 to 8 readers.
func readers(rates, reads, cacheMiB [5]float64, blocks int, direct bool) *result.Run {
	declared := fmt.Sprintf("{rw: randread, size: 128MiB, engine: psync, thinktime: 5ms, direct: %t}", direct)
	return runtest.Instances{
		Workload: result.Workload{Name: "R", Kind: "fio", Pattern: "randread", Declared: declared},
		Blocks:   blocks, Points: runtest.OverInstances(rates, reads, cacheMiB),
	}.Run()
}

// The published valley is confirmed by one that has its cause, and by no other.
func TestTheValleyOfBufferedReaders(t *testing.T) {
	rises, falls := [5]float64{1600, 3200, 6400, 6500, 6500}, [5]float64{1600, 3200, 6400, 3600, 2100}
	held, outgrown := [5]float64{128, 128, 128, 128, 128}, [5]float64{128, 128, 128, 100, 70}
	idle, rising := [5]float64{0, 0, 0, 0, 0}, [5]float64{0, 0, 0.002, 0.3, 0.5}
	for _, c := range []struct {
		name string
		run  *result.Run
		want fact.ClaimVerdict // "" for no case at all
		says string
	}{
		{"valley", readers(falls, rising, outgrown, 5, false), fact.ClaimConfirmed, "outgrow the memory"},
		{"another cause", readers(falls, idle, held, 5, false), fact.ClaimNotTestable, "no sample shows"},
		{"all fit", readers(rises, idle, held, 5, false), fact.ClaimNotTestable, "held the files of all 8"},
		{"no valley although they outgrow it", readers(rises, rising, outgrown, 5, false), fact.ClaimContradicted,
			"did no less"},
		{"too few setups", readers(falls, rising, outgrown, 1, false), fact.ClaimNotTestable, ""},
		{"past the page cache", readers(falls, rising, outgrown, 5, true), "", ""},
	} {
		var found []fact.Finding
		for _, f := range Find(runview.New(c.run)) {
			if f.Claim != nil && f.Claim.ID == "hom-fio-valley" {
				found = append(found, f)
			}
		}
		if c.want == "" {
			if len(found) > 0 {
				t.Errorf("%s: %+v", c.name, found[0].Claim)
			}
			continue
		}
		if len(found) != 1 || found[0].Claim.Verdict != c.want || !strings.Contains(found[0].Why+found[0].Title, c.says) {
			t.Errorf("%s: %d findings, %+v", c.name, len(found), found)
		}
	}
}
