package trial

import (
	"testing"
	"time"

	"plimsoll/internal/experiment"
	"plimsoll/internal/result"
)

// A look costs half a second: there is none after a trial that nothing disturbed.
func TestNoiseIsExpectedAfterNoise(t *testing.T) {
	trial := func(others float64) result.Trial {
		return result.Trial{Status: result.TrialDone, Neighbours: &result.Neighbours{
			CPU: &result.CPUShare{CPUs: 2, Seconds: 1, BusySeconds: 1, OthersSeconds: others},
		}}
	}
	planned := result.Trial{Status: result.TrialPlanned}
	for _, c := range []struct {
		trials []result.Trial
		want   bool
	}{
		{nil, true},
		{[]result.Trial{planned}, true},
		{[]result.Trial{trial(0.5), trial(0.1), planned}, false},
		{[]result.Trial{trial(0.1), trial(0.5), {Status: result.TrialFailed}, planned}, true},
		{[]result.Trial{{Status: result.TrialDone}, planned}, false}, // nobody looked
	} {
		if got := expectsNoise(c.trials); got != c.want {
			t.Errorf("after %+v: %t", c.trials, got)
		}
	}
}

func TestHowLongTrialsMayWait(t *testing.T) {
	waits := []result.Trial{
		{Phases: []result.Phase{{Name: result.PhaseQuiet, Seconds: 1.5}, {Name: result.PhaseWindow, Seconds: 9}}}, {},
		{Phases: []result.Phase{{Name: result.PhaseQuiet, Seconds: 2}}},
	}
	if got := waited(waits); got != 3500*time.Millisecond {
		t.Errorf("they waited %s", got)
	}
	for want, e := range map[time.Duration]experiment.Experiment{
		0: {}, time.Minute: {Budget: 10 * time.Minute}, time.Hour: {Budget: time.Minute, WaitForQuiet: time.Hour},
	} {
		if got := e.QuietWait(); got != want {
			t.Errorf("%+v: they may wait %s", e, got)
		}
		e.NoWait = true
		if got := e.QuietWait(); got != 0 {
			t.Errorf("they may wait %s, and are not to", got)
		}
	}
}
