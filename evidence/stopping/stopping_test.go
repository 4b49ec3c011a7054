package stopping

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"plimsoll/internal/stats/stopping"
)

// What docs/evidence/stopping.md promises, with fewer replays and other seeds. Seeds are
// fixed, so that this fails for a change of the rule or of a series alone.
func TestStoppingKeepsItsPromise(t *testing.T) {
	results, err := bench(60, 1_000_000)
	if err != nil {
		t.Fatal(err)
	}
	known := only(results, func(o outcome) bool { return o.class() == knowable })
	if len(known) < 40 {
		t.Fatalf("only %d series have a mean that ten minutes show within 3%%", len(known))
	}
	if a := average(known); a.timesLess() < 5 || a.held < 0.93 {
		t.Errorf("%.1f times less time than ten minutes, and %.1f%% of the intervals hold the mean; 5 times and 93%% "+
			"are promised", a.timesLess(), 100*a.held)
	}
	// Where ten minutes are too short, it must not claim to be precise.
	noisy := only(results, func(o outcome) bool { return o.class() == noisy })
	if a := average(noisy); a.reasons[stopping.Precise] > 0.05 || a.held < 0.93 {
		t.Errorf("too noisy: %.0f%% claimed to be precise, %.0f%% of the intervals hold the mean",
			100*a.reasons[stopping.Precise], 100*a.held)
	}
	unsteady := only(results, func(o outcome) bool { return o.class() == unsteady })
	if a := average(unsteady); a.reasons[stopping.NeverSettled] < 0.8 {
		t.Errorf("only %.0f%% of what never settles was found out", 100*a.reasons[stopping.NeverSettled])
	}
}

func TestSeriesHaveTheirMean(t *testing.T) {
	sources, err := recorded()
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	for _, s := range append(made(), sources...) {
		if names[s.name] {
			t.Errorf("%s is there twice", s.name)
		}
		names[s.name] = true
		if math.IsNaN(s.mean) {
			continue
		}
		// An hour without its beginning, so that warm-ups are past.
		const hour = 3600 * perSecond
		rates := s.make(rand.New(rand.NewPCG(1, 1)), 2*hour)[hour:]
		if got := mean(rates); math.Abs(got/s.mean-1) > 0.03 {
			t.Errorf("%s: an hour's mean is %.0f, and the long-run mean should be %.0f", s.name, got, s.mean)
		}
		if s.formula == "" || strings.Contains(s.formula, "|") {
			t.Errorf("%s does not say what it is made of, or not so that a table can hold it: %q", s.name, s.formula)
		}
	}
}
