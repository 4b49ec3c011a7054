package stopping

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// feed passes rates to a stopper until it stops.
func feed(s *Stopper, rate func(seconds float64) float64) Decision {
	for i := 0; ; i++ {
		if d := s.Add(rate(float64(i) / 4)); d.Stop {
			return d
		}
	}
}

func TestStopping(t *testing.T) {
	noisy := func(share float64) func(float64) float64 {
		rng := rand.New(rand.NewPCG(1, 2))
		return func(float64) float64 { return 1000 * (1 + share*rng.NormFloat64()) }
	}
	noise := noisy(0.02)
	for _, c := range []struct {
		story    string
		rule     Rule
		rate     func(seconds float64) float64
		reason   Reason
		from, to time.Duration // of the time that it took
		why      string
	}{
		{"a constant rate stops at the second look", Rule{}, func(float64) float64 { return 5 }, Precise,
			44 * time.Second, 44 * time.Second, "known within 0%"},
		{"a little noise does not change that", Rule{}, noisy(0.01), Precise, 44 * time.Second, 54 * time.Second,
			"3% was asked for"},
		{"more noise takes more time", Rule{}, noisy(0.3), Precise, 90 * time.Second, 5 * time.Minute, "3% was asked for"},
		{"so does a higher precision", Rule{Target: 0.01}, noisy(0.1), Precise, 90 * time.Second, 5 * time.Minute,
			"1% was asked for"},
		{"too much noise", Rule{}, noisy(1), MaximumReached, 10 * time.Minute, 10 * time.Minute, "3% is asked for"},
		{"another minimum", Rule{Min: 2 * time.Minute}, noisy(0.01), Precise, 132 * time.Second, 160 * time.Second, ""},
		{"a fixed time", Rule{Min: 3 * time.Minute, Max: 3 * time.Minute}, noisy(0.01), Precise, 3 * time.Minute,
			3 * time.Minute, ""},
		{"a fixed time that is too short", Rule{Min: 10 * time.Second, Max: 10 * time.Second}, noisy(0.15),
			MaximumReached, 10 * time.Second, 10 * time.Second, "is asked for"},
		{"a maximum below the default minimum", Rule{Max: 20 * time.Second}, noisy(0.01), Precise, 20 * time.Second,
			20 * time.Second, ""},
		{"a cache that is full after 20 s", Rule{}, func(s float64) float64 {
			if s < 20 {
				return 3000 + noise(s)
			}
			return noise(s)
		}, Precise, 44 * time.Second, 2 * time.Minute, ""},
		{"falls for ever", Rule{}, func(s float64) float64 { return noise(s) * (1.5 - s/600) }, NeverSettled,
			10 * time.Minute, 10 * time.Minute, "still falls"},
		{"one sample a second", Rule{Interval: time.Second}, noisy(0.01), Precise, 44 * time.Second, 60 * time.Second, ""},
		{"a device that does nothing", Rule{}, func(float64) float64 { return 0 }, NeverSettled, 10 * time.Minute,
			10 * time.Minute, "no I/O was completed"},
		{"no rate is a number", Rule{}, func(float64) float64 { return math.NaN() }, NeverSettled, 10 * time.Minute,
			10 * time.Minute, "only 0 of the 5 rounds"},
	} {
		d := feed(New(c.rule), c.rate)
		if d.Reason != c.reason || d.Elapsed < c.from || d.Elapsed > c.to || !strings.Contains(d.Why, c.why) {
			t.Errorf("%s: %s after %v: %s", c.story, d.Reason, d.Elapsed, d.Why)
		}
	}
}

func TestDecisionsTellWhatIsMissing(t *testing.T) {
	s := New(Rule{})
	beginnings := map[string]bool{}
	for i := range 2400 {
		seconds := float64(i) / 4
		d := s.Add(1000 + 2000*math.Exp(-seconds/20) + 30*math.Sin(float64(i*i)))
		for part := range strings.SplitSeq(d.Why, "; ") {
			beginnings[strings.Join(strings.Fields(part)[:3], " ")] = true
		}
		if d.Stop {
			break
		}
	}
	for _, want := range []string{"a trial runs", "most of the", "the rate still", "the rate drifts,", "the mean is",
		"the target is"} {
		if !beginnings[want] {
			t.Errorf("nothing began with %q: %v", want, beginnings)
		}
	}
}

func TestRulesAreCheckedAtOnce(t *testing.T) {
	err := Rule{Interval: -1, Target: 3, Confidence: 95, Min: time.Hour, Max: time.Minute}.Validate()
	if err == nil {
		t.Fatal("a rule that is all wrong was accepted")
	}
	for _, want := range []string{"time between samples", "target is 3", "confidence is 95",
		"maximum time, 1m0s, is below the minimum time, 1h0m0s"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not shown: %v", want, err)
		}
	}
	if err := (Rule{}).Validate(); err != nil {
		t.Error(err)
	}
	defer func() {
		if recover() == nil {
			t.Error("New took a rule that is not valid")
		}
	}()
	New(Rule{Target: -1})
}

func TestStoppersKeepTheirWord(t *testing.T) {
	rule := Rule{Min: 10 * time.Second, Max: 100 * time.Second}
	rapid.Check(t, func(t *rapid.T) {
		series := append(rates(t), 1)
		s, scaled, gaps := New(rule), New(rule), New(rule)
		var d, looked Decision
		for i, rate := range series {
			d = s.Add(rate)
			if d.Stop {
				series = series[:i+1]
				break
			}
		}
		looked = d
		if d.Stop != (d.Reason == Precise || d.Reason == MaximumReached || d.Reason == NeverSettled) || d.Why == "" {
			t.Fatalf("%+v", d)
		}
		if d.Stop && (d.Elapsed < rule.Min || d.Elapsed > rule.Max || s.Add(1e9) != d && !math.IsNaN(d.Steady.Slope)) {
			t.Fatalf("stops outside of its rule, or changes its mind: %+v", d)
		}
		if !d.Stop && len(series) >= 400 {
			t.Fatalf("did not stop at the maximum: %+v", d)
		}
		if d.Reason == Precise && (d.Mean.Relative() > 0.03 || !d.Steady.Settled) {
			t.Fatalf("precise, but %+v", d)
		}
		if d.Mean.Batches > 0 &&
			(d.Low > d.Mean.Low() || d.High < d.Mean.High() || d.High-d.Low < 0.06*d.Mean.Value*(1-1e-12)) {
			t.Fatalf("the interval to report is too narrow: %+v", d)
		}
		// Neither another unit nor time without a value changes the decision.
		for _, rate := range series {
			d = scaled.Add(rate * 64)
		}
		if d.Stop != looked.Stop || d.Reason != looked.Reason || d.Elapsed != looked.Elapsed ||
			d.Warmup != looked.Warmup || d.Why != looked.Why || d.Low != 64*looked.Low && looked.Mean.Batches > 0 {
			t.Fatalf("%+v, in another unit %+v", looked, d)
		}
		for range series {
			d = gaps.Add(math.Inf(1))
		}
		if d.Elapsed != looked.Elapsed && !looked.Stop || d.Reason == Precise {
			t.Fatalf("%+v, of gaps alone %+v", looked, d)
		}
	})
}

func TestTheOrderOfLooksIsFixed(t *testing.T) {
	s := New(Rule{Target: 1e-9})
	rng := rand.New(rand.NewPCG(3, 4))
	var looks []time.Duration
	for range 2400 {
		if d := s.Add(rng.Float64()); d.Elapsed > 0 && !slices.Contains(looks, d.Elapsed) {
			looks = append(looks, d.Elapsed)
		}
	}
	if looks[0] != 40*time.Second || looks[1] != 44*time.Second || looks[len(looks)-1] != 10*time.Minute ||
		len(looks) > 30 {
		t.Errorf("looks at %v", looks)
	}
}

func FuzzStopper(f *testing.F) {
	f.Add([]byte("eight by" + "tes each" + "make a r" + "ate here"))
	f.Add(slices.Repeat(binary.LittleEndian.AppendUint64(nil, math.Float64bits(1000)), 50))
	f.Add(slices.Repeat(binary.LittleEndian.AppendUint64(nil, math.Float64bits(math.MaxFloat64)), 50))
	f.Fuzz(func(t *testing.T, data []byte) {
		s := New(Rule{Min: time.Second, Max: 20 * time.Second})
		var d Decision
		for range 80 {
			rate := math.NaN()
			if len(data) >= 8 {
				rate, data = math.Float64frombits(binary.LittleEndian.Uint64(data)), data[8:]
			}
			d = s.Add(rate)
		}
		if !d.Stop || d.Why == "" {
			t.Fatalf("%+v", d)
		}
	})
}
