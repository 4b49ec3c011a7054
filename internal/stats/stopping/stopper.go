package stopping

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"time"
)

// Rule defines when a measurement is long enough. Fields that are 0 take their value from DefaultRule; a fixed time
// has equal Min and Max.
type Rule struct {
	Interval   time.Duration // between two samples
	Target     float64       // how precisely to know the mean: half-width as a share of it
	Confidence float64       // of the interval, above 0.5 and below 1
	Min, Max   time.Duration // never stop before Min, always stop at Max
}

// DefaultRule wants the mean within 3% at 95% confidence, from four samples a
// second, and takes at most the ten minutes that the studies took.
var DefaultRule = Rule{
	Interval: 250 * time.Millisecond, Target: 0.03, Confidence: 0.95,
	Min: 40 * time.Second, Max: 10 * time.Minute,
}

// Looks are a tenth of the time apart, and two in a row must find the target
// met. docs/evidence/stopping.md tells why, and what that is worth.
const growth = 1.1

// drifting is the level of the test for a drift. It is high, because drift
// that is missed does harm, and drift that is suspected only costs time.
const drifting = 0.2

func (r Rule) withDefaults() Rule {
	if r.Interval == 0 {
		r.Interval = DefaultRule.Interval
	}
	if r.Target == 0 {
		r.Target = DefaultRule.Target
	}
	if r.Confidence == 0 {
		r.Confidence = DefaultRule.Confidence
	}
	if r.Min == 0 {
		r.Min = DefaultRule.Min
		if r.Max > 0 {
			r.Min = min(r.Min, r.Max)
		}
	}
	if r.Max == 0 {
		r.Max = max(DefaultRule.Max, r.Min)
	}
	return r
}

// Validate reports everything that is wrong with the rule.
func (r Rule) Validate() error {
	r = r.withDefaults()
	var problems []error
	check := func(ok bool, format string, args ...any) {
		if !ok {
			problems = append(problems, fmt.Errorf(format, args...))
		}
	}
	check(r.Interval > 0, "the time between samples is %v: it must be above 0", r.Interval)
	check(r.Target > 0 && r.Target < 1, "the target is %v: it is a share of the mean, above 0 and below 1, such as "+
		"0.03", r.Target)
	check(r.Confidence > 0.5 && r.Confidence < 1, "the confidence is %v: it must be above 0.5 and below 1, such as "+
		"0.95", r.Confidence)
	check(r.Min > 0, "the minimum time is %v: it must be above 0", r.Min)
	check(r.Max >= r.Min, "the maximum time, %v, is below the minimum time, %v", r.Max, r.Min)
	return errors.Join(problems...)
}

// Reason is the reason to stop, or to go on.
type Reason string

// Reasons. The last three stop.
const (
	TooEarly       Reason = "too early"       // the minimum time has not passed
	NotYetPrecise  Reason = "not yet precise" // or not yet known to be
	Precise        Reason = "precise"         // the target is met
	MaximumReached Reason = "maximum reached" // the rate is steady, but the target is not met
	NeverSettled   Reason = "never settled"   // the maximum is reached, and the rate is not steady
)

// Decision is the result of the last look, and whether to stop.
type Decision struct {
	Stop    bool
	Reason  Reason
	Why     string        // for people: the target that was reached, or is missing
	Elapsed time.Duration // at the look
	Warmup  time.Duration // left out at the beginning
	// Low and High are the interval to report, in the unit of the samples: that
	// of Mean, but never narrower than the target. NaN while there is none.
	Low, High float64
	// Mean is the mean after the warm-up. Its Batches are 0 when there were too few samples.
	Mean Mean
	// Steady judges what came after the warm-up, cut into five rounds.
	Steady Verdict
}

// Stopper decides, from a trial's rates as they arrive, when to stop. It is not safe for concurrent use.
type Stopper struct {
	rule     Rule
	series   []float64
	samples  int // with those that were not numbers
	nextLook int // in samples
	met      bool
	decision Decision
}

// New makes a Stopper. It panics when Validate finds the rule wrong.
func New(rule Rule) *Stopper {
	if err := rule.Validate(); err != nil {
		panic("steady: " + err.Error())
	}
	s := &Stopper{rule: rule.withDefaults()}
	s.nextLook = s.samplesIn(s.rule.Min)
	s.decision = Decision{
		Reason: TooEarly, Why: fmt.Sprintf("a trial runs for at least %v", s.rule.Min),
		Low: math.NaN(), High: math.NaN(),
	}
	return s
}

// samplesIn returns how many samples fill the duration.
func (s *Stopper) samplesIn(d time.Duration) int {
	return int((d + s.rule.Interval - 1) / s.rule.Interval)
}

// Add adds the rate of one more interval, in any unit, and returns the decision of the last look. A rate that is not
// a finite number is time without a value. Once it has decided to stop, a Stopper keeps its decision.
func (s *Stopper) Add(rate float64) Decision {
	if s.decision.Stop {
		return s.decision
	}
	s.samples++
	if !math.IsNaN(rate) && !math.IsInf(rate, 0) {
		s.series = append(s.series, rate)
	}
	if s.samples >= s.nextLook {
		s.look()
	}
	return s.decision
}

// End makes the Stopper look a last time after the last sample.
func (s *Stopper) End() Decision {
	if !s.decision.Stop {
		s.rule.Max = time.Duration(s.samples) * s.rule.Interval
		s.look()
	}
	return s.decision
}

func (s *Stopper) look() {
	limit := s.samplesIn(s.rule.Max)
	s.nextLook = min(limit, int(math.Ceil(float64(s.samples)*growth)))

	d, missing := examine(s.series, s.rule)
	d.Elapsed = time.Duration(s.samples) * s.rule.Interval
	met := len(missing) == 0
	last := s.samples >= limit
	switch {
	case met && (s.met || last):
		d.Stop, d.Reason = true, Precise
		d.Why = fmt.Sprintf("the mean is known within %s, %s was asked for", Percent(d.Mean.Relative()),
			Percent(s.rule.Target))
	case last && !d.Steady.Settled:
		d.Stop, d.Reason, d.Why = true, NeverSettled, d.Steady.Why
	case last:
		d.Stop, d.Reason, d.Why = true, MaximumReached, strings.Join(missing, "; ")
	case met:
		d.Reason, d.Why = NotYetPrecise, "the target is met for the first time, and must be so at the next look"
	default:
		d.Reason, d.Why = NotYetPrecise, strings.Join(missing, "; ")
	}
	s.met, s.decision = met, d
}

// examine judges a series without regard to its length in time. missing lists what the target still lacks.
func examine(series []float64, rule Rule) (d Decision, missing []string) {
	warmup := MSER5(series)
	rest := series[warmup.Cut:]
	d.Warmup = time.Duration(warmup.Cut) * rule.Interval
	d.Steady = SNIA.Judge(rounds(rest))
	d.Low, d.High = math.NaN(), math.NaN()

	m, ok := MeanInterval(rest, rule.Confidence)
	if !ok {
		return d, []string{"there are too few samples for an interval"}
	}
	d.Mean = m
	width := max(m.HalfWidth, rule.Target*math.Abs(m.Value))
	d.Low, d.High = m.Value-width, m.Value+width

	// A third of the target is what a warm-up or a drift may do to the mean.
	matters := func(difference float64) bool { return math.Abs(difference) > rule.Target/3*math.Abs(m.Value) }
	if !warmup.Enough || matters(average(series[warmup.Best:])-m.Value) {
		missing = append(missing, "most of the time so far may have been warm-up")
	}
	if !d.Steady.Settled {
		missing = append(missing, d.Steady.Why)
	}
	if m.RiseP < drifting && matters(m.Rise) {
		missing = append(missing, fmt.Sprintf("the rate drifts, by %s since the warm-up", Percent(math.Abs(m.Rise/m.Value))))
	}
	switch relative := m.Relative(); {
	case relative <= rule.Target:
	case m.Value > 0:
		missing = append(missing,
			fmt.Sprintf("the mean is known within %s, %s is asked for", Percent(relative), Percent(rule.Target)))
	default:
		missing = append(missing, "the mean is not above 0, so a share of it has no meaning")
	}
	return d, missing
}

// rounds cuts a series into as many rounds as SNIA's window has. They grow
// with the series, so that a steady but noisy rate settles in the end.
func rounds(series []float64) []float64 {
	size := len(series) / SNIA.Window
	if size == 0 {
		return nil
	}
	return batchMeans(series[len(series)-size*SNIA.Window:], size)
}
