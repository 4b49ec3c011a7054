package study

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"
)

// What docs/evidence/stopping.md promises, with fewer replays and other seeds. Seeds are
// fixed, so that this fails for a change of the rule or of the noise alone.
func TestVerdictsKeepTheirPromise(t *testing.T) {
	const replays = 150
	// What 5% may look like: three standard deviations more, over n replays.
	atMost := func(n float64) float64 { return 0.05 + 3*math.Sqrt(0.05*0.95/n) }
	cases := benchPairs(replays, 1_000_000)
	for _, c := range cases {
		switch {
		case c.ratio == 1 && c.differ > atMost(replays):
			t.Errorf("%s: %.1f%% of the pairs of equal points are said to differ, 5%% are allowed", c.name, 100*c.differ)
		case c.ratio == 1.03 && c.alike > atMost(replays):
			t.Errorf("%s: %.1f%% of the pairs that are apart by the target are said to be alike, 5%% are allowed",
				c.name, 100*c.alike)
		case c.ratio > 1.09 && c.alike > 0.03:
			t.Errorf("%s: %.1f%% of the pairs whose ratio is %v are said to be alike", c.name, 100*c.alike, c.ratio)
		}
	}
	equal, apart, far := average(cases, 1), average(cases, 1.03), average(cases, 1.5)
	if n := float64(replays * len(cases) / len(ratios)); equal.differ > atMost(n) || apart.alike > atMost(n) {
		t.Errorf("over all kinds of noise %.1f%% wrongly differ, and %.1f%% are wrongly alike", 100*equal.differ,
			100*apart.alike)
	}
	// A rule that never decides would pass all that.
	if far.differ < 0.99 || far.trials > 6 {
		t.Errorf("of pairs with the ratio 1.5 only %.1f%% are said to differ, after %.1f trials of each point",
			100*far.differ, far.trials)
	}
	for _, c := range cases {
		if c.name == "1%" && c.ratio == 1 && c.alike < 0.9 {
			t.Errorf("of equal and quiet points only %.1f%% are said to be alike", 100*c.alike)
		}
	}
}

func TestMeansKeepTheirPromise(t *testing.T) {
	for _, c := range benchSingles(300, 1_000_000) {
		usual := c.noise.name == "1%" || c.noise.name == "3%" || c.noise.name == "10%" || c.noise.name == "heavy tails"
		if usual && (c.wide < 0.92 || c.held < 0.88) {
			t.Errorf("%s: %.1f%% of the intervals hold the mean, and %.1f%% of Student's", c.noise.name, 100*c.wide, 100*c.held)
		}
		if c.noise.name == "1%" && c.trials > 5 {
			t.Errorf("a quiet point takes %.1f trials", c.trials)
		}
	}
}

func TestNoisesHaveTheirMean(t *testing.T) {
	names := map[string]bool{}
	for _, n := range noises() {
		if names[n.name] {
			t.Errorf("%s is there twice", n.name)
		}
		names[n.name] = true
		if n.formula == "" || strings.Contains(n.formula, "|") {
			t.Errorf("%s does not say what it is made of, or not so that a table can hold it: %q", n.name, n.formula)
		}
		if math.IsNaN(n.mean) {
			continue
		}
		const trials = 200_000
		rng := rand.New(rand.NewPCG(1, 1))
		sum := 0.0
		for i := range trials {
			sum += n.trial(rng, block{i, rng.NormFloat64()})
		}
		if mean := sum / trials; math.Abs(mean/n.mean-1) > 0.002 {
			t.Errorf("%s: the mean of many trials is %v, and should be %v", n.name, mean, n.mean)
		}
	}
}
