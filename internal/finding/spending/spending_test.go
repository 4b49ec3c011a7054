package spending

import (
	"testing"

	"plimsoll/internal/result"
	"plimsoll/internal/runview"
)

func TestPhasesAreAddedUp(t *testing.T) {
	phases := func(all ...any) (out []result.Phase) {
		for i := 0; i < len(all); i += 2 {
			out = append(out, result.Phase{Name: all[i].(result.PhaseName), Seconds: all[i+1].(float64)})
		}
		return out
	}
	run := &result.Run{Trials: []result.Trial{
		{Mix: "A", Phases: phases(result.PhaseSetUp, 30.0, result.PhaseServers, 50.0, result.PhaseWindow, 20.0)},
		{Mix: "B", Phases: phases(result.PhaseWindow, 40.0, result.PhaseTeardown, 2.0)},
		{Mix: "A", Phases: phases(result.PhaseServers, 48.0, result.PhaseWindow, 10.0)},
		{Mix: "C"}, // of an earlier version, or planned
	}}
	found := Find(runview.New(run))
	if len(found) != 1 {
		t.Fatalf("%d findings", len(found))
	}
	f := found[0]
	if want := "35% of 3 min 20 s in 3 trials was measured; servers took 49% and set-up took 15%"; f.Title != want {
		t.Errorf("%q, want %q", f.Title, want)
	}
	facts := f.Facts.(*Facts)
	if len(facts.Phases) != 4 || facts.Phases[0] != (result.Phase{Name: result.PhaseTeardown, Seconds: 2}) {
		t.Errorf("phases: %+v", facts.Phases)
	}
	bar, share := f.Section.Fill[0].Rows[0].Bars[0], 0.0
	for _, p := range bar.Parts {
		share += p.Share
	}
	if share < 0.9999 || share > 1.0001 {
		t.Errorf("the bar is full to %v", share)
	}
	mixes := f.Section.Tables[1]
	if len(mixes.Rows) != 2 || mixes.Rows[0].Cells[2].Text != "79.0" {
		t.Errorf("the mixes: %+v", mixes.Rows)
	}
	for _, name := range result.PhaseNames {
		if means[name] == "" {
			t.Errorf("%s is not explained", name)
		}
	}
}

// Of a run of which nothing tells where its time went, nothing is said.
func TestRunsWithoutPhases(t *testing.T) {
	if found := Find(runview.New(&result.Run{Trials: []result.Trial{{Mix: "A", ElapsedSeconds: 3}}})); found != nil {
		t.Errorf("%+v", found)
	}
}
