package drive

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/experiment"
	"plimsoll/internal/result"
	"plimsoll/internal/stats/stopping"
	"plimsoll/internal/trial/site"
	"plimsoll/internal/workload"
)

// numbers is a Watch of an output that has one rate a line.
type numbers struct {
	pending []byte
	fed     int
	warmup  []int // as Read was asked
	whole   int   // how often Whole was
	exit    workload.Exit
	fails   error
}

func (n *numbers) Feed(appended []byte) (rates []float64) {
	n.pending = append(n.pending, appended...)
	for {
		line, rest, ok := bytes.Cut(n.pending, []byte("\n"))
		if !ok {
			return rates
		}
		rate, _ := strconv.ParseFloat(string(line), 64)
		rates, n.pending, n.fed = append(rates, rate), rest, n.fed+1
	}
}

func (n *numbers) Read(exit workload.Exit, warmup int) (result.Measurement, error) {
	n.warmup, n.exit = append(n.warmup, warmup), exit
	return result.Measurement{Seconds: float64(n.fed-warmup) / 4}, n.fails
}

func (n *numbers) Whole(workload.Exit) (result.Measurement, error) {
	n.whole++
	return result.Measurement{Seconds: float64(n.fed) / 4}, n.fails
}

func (n *numbers) Final() []byte { return []byte("the end\n") }

// watched is a workload that gives a Watch.
type watched struct {
	workload.Workload
	watch *numbers
	took  *workload.Timing
}

func (watched) Timing(t workload.Timing) workload.Timing { return t }
func (w watched) Abilities() workload.Abilities {
	return workload.Abilities{Watch: func(t workload.Timing) workload.Watch {
		*w.took = t
		return w.watch
	}}
}

// followed is what follows a mix of these workloads, one instance of each.
func followed(e *experiment.Experiment, timing *workload.Timing, loads ...workload.Workload) *follower {
	m := experiment.Mix{Name: "m"}
	var instances site.Together
	for i, load := range loads {
		w := experiment.Workload{Name: fmt.Sprint("w", i), Workload: load}
		e.Workloads = append(e.Workloads, w)
		m.Tenants = append(m.Tenants, experiment.Tenant{Name: w.Name, Workload: w.Name, Count: 1})
		instances = append(instances, &site.Instance{Instance: experiment.Instance{Index: i}, Load: w})
	}
	return (&Driver{Experiment: e}).follow(m, instances, timing)
}

// end ends the only instance.
func (f *follower) end(exit workload.Exit, t *result.Trial, file string) (measured, error) {
	f.decide()
	m, err := f.read(0, exit, file)
	if err == nil {
		f.tell(t)
	}
	return m, err
}

// following returns a follower of trials of at most so long.
func following(t *testing.T, runtime time.Duration) (*follower, *numbers) {
	t.Helper()
	e := &experiment.Experiment{Timing: workload.Timing{Runtime: runtime}}
	w := watched{watch: &numbers{}, took: &workload.Timing{}}
	timing := e.Timing
	f := followed(e, &timing, w)
	if f == nil {
		t.Fatalf("a trial of %s is not followed", runtime)
	}
	if timing.Sample != stopping.DefaultRule.Interval || *w.took != timing {
		t.Errorf("samples are asked for with %+v, and watched with %+v", timing, *w.took)
	}
	return f, w.watch
}

// A trial of a number of operations ends once its slowest instance has made them, or as late as any other.
func TestOperationsEndATrial(t *testing.T) {
	e := &experiment.Experiment{Timing: workload.Timing{Runtime: time.Hour}, Operations: 1000}
	timing := e.Timing
	f := followed(e, &timing, watched{watch: &numbers{}, took: &workload.Timing{}},
		watched{watch: &numbers{}, took: &workload.Timing{}})
	if f == nil || timing.Runtime != time.Hour {
		t.Fatalf("it is followed by %+v for %s", f, timing.Runtime)
	}
	var stopped, early result.Trial
	f.tell(&early)
	for i := range 20 { // 0.25 s each: 100 and 50 operations
		fast, slow := f.feed(0, []byte("400\n")), f.feed(1, []byte("200\n"))
		if fast || slow != (i == 19) {
			t.Fatalf("after %d intervals, the fast one ends: %t, the slow one: %t", i+1, fast, slow)
		}
	}
	f.decide()
	f.tell(&stopped)
	if s := stopped.Stop; s == nil || s.Reason != result.StopOperations || s.MeanIOPS != 600 || len(stopped.Rates.IOPS) != 20 {
		t.Errorf("it stopped with %+v", s)
	}
	if s := early.Stop; s == nil || s.Reason != result.StopMaximum || !strings.Contains(s.Why, "made 0 of 1000") {
		t.Errorf("a trial that ran out of time stopped with %+v", s)
	}
}

// drive feeds rates until enough is known, in pieces that end anywhere.
func drive(f *follower, rates []float64) (fed int, enough bool) {
	random := rand.New(rand.NewPCG(5, 5))
	var pending []byte
	for i, rate := range rates {
		pending = fmt.Appendf(pending, "%g\n", rate)
		n := random.IntN(len(pending) + 1)
		if f.feed(0, pending[:n]) {
			return i + 1, true
		}
		pending = pending[n:]
	}
	return len(rates), f.feed(0, pending)
}

// steadily is a rate with noise, after a warm-up at half of it.
func steadily(mean, noise float64, warmup, n int) (rates []float64) {
	random := rand.New(rand.NewPCG(11, 12))
	for i := range n {
		rate := mean * (1 + noise*random.NormFloat64())
		if i < warmup {
			rate /= 2
		}
		rates = append(rates, rate)
	}
	return rates
}

func TestATrialEndsOnceItsMeanIsKnown(t *testing.T) {
	f, watch := following(t, 10*time.Minute)
	fed, enough := drive(f, steadily(1000, 0.05, 37, 2400))
	least := int(stopping.DefaultRule.Min / stopping.DefaultRule.Interval)
	if !enough || fed < least || fed > 3*least {
		t.Fatalf("enough is known after %d samples, %t", fed, enough)
	}
	// What came until the process ended is not in the series.
	drive(f, []float64{1, 1, 1})
	var trial result.Trial
	file := filepath.Join(t.TempDir(), "out.json")
	exit := workload.Exit{Code: 128, Asked: true}
	m, err := f.end(exit, &trial, file)
	if err != nil {
		t.Fatal(err)
	}
	s := trial.Rates
	if len(s.IOPS) < least || len(s.IOPS) > fed || s.IntervalSeconds != 0.25 || s.IOPS[len(s.IOPS)-1] == 1 {
		t.Errorf("%d samples of %v s, fed were %d", len(s.IOPS), s.IntervalSeconds, fed)
	}
	if s.Warmup < 35 || s.Warmup > 60 || s.Warmup%workload.WarmupUnit != 0 {
		t.Errorf("warm-up of %d samples, it were 37", s.Warmup)
	}
	if watch.whole != 1 || len(watch.warmup) != 1 || watch.warmup[0] != s.Warmup || watch.exit != exit {
		t.Errorf("read without %v samples, %+v", watch.warmup, watch.exit)
	}
	if m.reported.Seconds-m.steady.Seconds != float64(s.Warmup)/4 {
		t.Errorf("all of it is %v s, without warm-up %v s", m.reported.Seconds, m.steady.Seconds)
	}
	stop := trial.Stop
	if stop.Reason != result.StopPrecise || stop.Confidence != 0.95 || stop.Why == "" {
		t.Errorf("%+v", stop)
	}
	if !(stop.LowIOPS < 1000 && stop.HighIOPS > 1000 && stop.LowIOPS < stop.MeanIOPS && stop.MeanIOPS < stop.HighIOPS) || stop.HighIOPS-stop.LowIOPS > 70 {
		t.Errorf("the mean of 1000 is %v, from %v to %v", stop.MeanIOPS, stop.LowIOPS, stop.HighIOPS)
	}
	if kept, err := os.ReadFile(file); err != nil || string(kept) != "the end\n" {
		t.Errorf("kept is %q, %v", kept, err)
	}
}

// Until its longest time is over, a trial goes on that is not precise.
func TestATrialThatTakesItsLongestTime(t *testing.T) {
	for _, c := range []struct {
		name  string
		rates []float64
		want  result.StopReason
	}{
		{"noisy", steadily(1000, 1.5, 0, 400), result.StopMaximum},
		{"drifting", func() (rates []float64) {
			for i := range 400 {
				rates = append(rates, 1000+10*float64(i))
			}
			return rates
		}(), result.StopNever},
		{"late by a few samples", steadily(1000, 1.5, 0, 390), result.StopMaximum},
		{"precise at the end", steadily(1000, 0.01, 0, 159), result.StopPrecise},
	} {
		t.Run(c.name, func(t *testing.T) {
			f, _ := following(t, 100*time.Second)
			if fed, enough := drive(f, c.rates); enough && fed < 400 {
				t.Fatalf("enough is known after %d samples: %+v", fed, f.decision)
			}
			var trial result.Trial
			if _, err := f.end(workload.Exit{}, &trial, filepath.Join(t.TempDir(), "out")); err != nil {
				t.Fatal(err)
			}
			if trial.Stop.Reason != c.want || trial.Stop.Why == "" {
				t.Errorf("%+v", trial.Stop)
			}
		})
	}
}

// A process that ended at once leaves no number that is none, and one that
// failed its own reason and its whole output.
func TestATrialThatEndsAtOnce(t *testing.T) {
	f, _ := following(t, 10*time.Minute)
	var trial result.Trial
	if _, err := f.end(workload.Exit{}, &trial, filepath.Join(t.TempDir(), "out")); err != nil {
		t.Fatal(err)
	}
	if s := trial.Stop; s.MeanIOPS != 0 || s.LowIOPS != 0 || s.HighIOPS != 0 || s.Reason != result.StopNever || trial.Rates.Warmup != 0 {
		t.Errorf("%+v, %+v", trial.Stop, trial.Rates)
	}
	f, watch := following(t, 10*time.Minute)
	watch.fails = errors.New("the disk is full")
	file := filepath.Join(t.TempDir(), "out")
	trial = result.Trial{}
	if _, err := f.end(workload.Exit{Code: 1}, &trial, file); err == nil || !strings.Contains(err.Error(), "the disk is full") {
		t.Errorf("%v", err)
	}
	if _, err := os.Stat(file); err == nil || trial.Stop != nil || trial.Rates != nil {
		t.Errorf("%v, %+v", err, trial.Stop)
	}
}

// Only trials that may end early are followed.
func TestWhichTrialsAreFollowed(t *testing.T) {
	long := workload.Timing{Runtime: 10 * time.Minute}
	able := watched{watch: &numbers{}, took: &workload.Timing{}}
	for _, c := range []struct {
		name   string
		e      experiment.Experiment
		w      workload.Workload
		target float64 // 0: not followed
	}{
		{"long", experiment.Experiment{Timing: long}, able, stopping.DefaultRule.Target},
		{"with a target", experiment.Experiment{Timing: long, Target: 0.01}, able, 0.01},
		{"fixed", experiment.Experiment{Timing: long, Fixed: true}, able, 0},
		{"short", experiment.Experiment{Timing: workload.Timing{Runtime: stopping.DefaultRule.Min}}, able, 0},
		{"that cannot be watched", experiment.Experiment{Timing: long}, struct{ timed }{}, 0},
	} {
		timing := c.e.Timing
		f := followed(&c.e, &timing, c.w)
		switch {
		case c.target == 0 && (f != nil || timing.Sample != 0):
			t.Errorf("%s: followed", c.name)
		case c.target > 0 && (f == nil || f.rule.Target != c.target || f.rule.Max != long.Runtime || timing.Sample != f.rule.Interval):
			t.Errorf("%s: %+v", c.name, f)
		}
	}
}

// timed has times, and cannot be watched.
type timed struct{ workload.Workload }

func (timed) Timing(t workload.Timing) workload.Timing { return t }
func (timed) Abilities() workload.Abilities            { return workload.Abilities{} }

// Several instances end once the mean of what they do together is known: each
// interval counts when the last of them has completed it, and one that died is not
// waited for.
func TestInstancesAreJudgedTogether(t *testing.T) {
	timing := workload.Timing{Runtime: 10 * time.Minute}
	e := &experiment.Experiment{Timing: timing}
	able := func() watched { return watched{watch: &numbers{}, took: &workload.Timing{}} }
	f := followed(e, &timing, able(), able(), able())
	for i := range 3 {
		if f.feed(i, fmt.Appendf(nil, "%d\n%d\n", 100, 10*i)) {
			t.Fatal("two intervals are enough")
		}
		if want := 2 * (i / 2); len(f.rates) != want {
			t.Errorf("%d intervals are known of %d instances", len(f.rates), i+1)
		}
	}
	f.feed(0, []byte("7\n"))
	f.feed(2, []byte("5\n"))
	f.ended(1)
	if want := []float64{300, 30, 12}; !slices.Equal(f.rates, want) {
		t.Errorf("together they did %v, not %v", f.rates, want)
	}
	f.ended(0)
	f.ended(2)
	f.decide()
	var trial result.Trial
	f.tell(&trial)
	if trial.Stop == nil || trial.Stop.Reason != result.StopNever || len(trial.Rates.IOPS) != 3 {
		t.Errorf("%+v, %+v", trial.Stop, trial.Rates)
	}
	// One that cannot be watched keeps the others from being watched, too.
	if followed(e, &timing, able(), timed{}) != nil {
		t.Error("instances are judged of which one shows nothing")
	}
}

// All instances are measured in the time that they have in common, and what each
// did outside it is said.
func TestTheWindowIsWhatInstancesHaveInCommon(t *testing.T) {
	end := time.Date(2026, 5, 4, 3, 2, 10, 0, time.UTC)
	lasting := func(seconds float64) measured { return measured{steady: result.Measurement{Seconds: seconds}} }
	w := windowOf([]measured{lasting(10), lasting(8)}, []site.End{{Ended: end}, {Ended: end.Add(time.Second)}})
	if w.Seconds != 7 || !w.Start.Equal(end.Add(-7*time.Second)) || math.Abs(w.Outside-0.3) > 1e-9 {
		t.Errorf("from 0 to 10 s and from 3 to 11 s: %+v", w)
	}
	if apart := windowOf([]measured{lasting(1), lasting(1)}, []site.End{{Ended: end}, {Ended: end.Add(5 * time.Second)}}); apart.Seconds != 0 || apart.Outside != 1 {
		t.Errorf("of instances that never ran together: %+v", apart)
	}
	if windowOf([]measured{lasting(1)}, []site.End{{Ended: end}}) != nil {
		t.Error("one instance has a window of its own")
	}
}

// What devices counted is about the whole time of all, each with its own ramp.
func TestSumOfInstances(t *testing.T) {
	counted := func(n uint64, share float64) measured {
		m := result.Measurement{Operations: result.ReadsWrites(result.Operation{Count: n, Rate: float64(n)}, result.Operation{})}
		return measured{reported: m, steady: m, share: share}
	}
	sum := sumOf([]measured{counted(100, 0.5), counted(300, 1)})
	if sum.reported.IOs() != 400 || math.Abs(float64(sum.reported.IOs())*sum.whole()-500) > 1e-9 {
		t.Errorf("200 and 300 in the whole time, and %v of %d shown", sum.whole(), sum.reported.IOs())
	}
}
