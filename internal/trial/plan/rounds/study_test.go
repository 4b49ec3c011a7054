package rounds

import (
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// around gives n values around a level that differ from it by up to a share of
// it, in a pattern without drift whose points never tie.
func around(level, share float64, n int) []float64 {
	values := make([]float64, n)
	for i := range values {
		values[i] = level * (1 + share*math.Sin(2.4*float64(i+1)))
	}
	return values
}

// alternating is as around, but in a pattern of its own.
func alternating(level, share float64, n int) []float64 {
	values := around(level, share, n+5)
	return values[5:]
}

func pointWith(values ...float64) StudyPoint { return StudyPoint{Values: values} }

func in(values []float64, blocks ...int) StudyPoint {
	return StudyPoint{Values: values, Blocks: blocks}
}

func TestWhatAStudyConcludes(t *testing.T) {
	ended := func(values []float64, why string) StudyPoint { return StudyPoint{Values: values, Ended: why} }
	first := [][2]int{{0, 1}}
	for _, c := range []struct {
		story   string
		study   Study
		reasons []Reason
		next    []int
		why     string // what the first point's says
	}{
		{"nothing was run yet", Study{Points: make([]StudyPoint, 3), Pairs: first},
			[]Reason{TooFewTrials, TooFewTrials, TooFewTrials}, []int{0, 1, 2}, "0 of at least 4 setups were measured"},
		{"a resumed run first makes up for what is missing",
			Study{Points: []StudyPoint{pointWith(around(100, 0.3, 9)...), pointWith(around(100, 0.01, 3)...), {}}},
			[]Reason{Undecided, TooFewTrials, TooFewTrials}, []int{1, 2}, ""},
		{"two equal and quiet points",
			Study{Points: []StudyPoint{pointWith(around(100, 0.01, 4)...), pointWith(alternating(100, 0.01, 4)...)}, Pairs: first},
			[]Reason{Precise, Precise}, nil, "its mean is known within"},
		{"constants, as of a paced workload",
			Study{Points: []StudyPoint{pointWith(100, 100, 100, 100), pointWith(100, 100, 100, 100)}, Pairs: first},
			[]Reason{Precise, Precise}, nil, "its mean is known within 0% after 4 setups, 3% was asked for"},
		{"a pair far apart needs no precise means",
			Study{Points: []StudyPoint{pointWith(around(100, 0.2, 4)...), pointWith(around(1000, 0.2, 4)...)}, Pairs: first},
			[]Reason{Settled, Settled}, nil, "every comparison with it was decided after 4 setups (its mean is known within"},
		{"precise means are not enough where the question is which is faster",
			Study{Points: []StudyPoint{pointWith(100, 102, 98, 101, 99, 100), pointWith(103, 100, 101, 103, 99, 104)}, Pairs: first},
			[]Reason{Undecided, Undecided}, []int{0, 1}, "1 of its 1 comparisons are open after 6 setups (its " +
				"mean is known within"},
		{"one noisy among quiet ones, compared with none",
			Study{Points: []StudyPoint{pointWith(around(100, 0.01, 4)...), pointWith(around(100, 0.5, 4)...), pointWith(around(300, 0.01, 4)...)}},
			[]Reason{Precise, Undecided, Precise}, []int{1}, ""},
		{"where no number of blocks makes any precise, all are measured alike",
			Study{Points: []StudyPoint{pointWith(around(100, 0.1, 5)...), pointWith(around(100, 0.5, 5)...), pointWith(around(100, 0.4, 5)...)}},
			[]Reason{Undecided, Undecided, Undecided}, []int{0, 1, 2}, ""},
		{"but no point is left with fewer than half the trials of another",
			Study{Points: []StudyPoint{pointWith(around(100, 0.1, 5)...), pointWith(around(100, 0.9, 10)...)}},
			[]Reason{Undecided, Undecided}, []int{0, 1}, ""},
		{"where time is scarce, what is decided soonest comes first: a mean before a comparison that scatters too much",
			Study{Rest: 30, Points: []StudyPoint{pointWith(around(100, 0.05, 5)...), pointWith(around(103, 0.4, 5)...),
				pointWith(around(500, 0.05, 5)...)}, Pairs: first},
			[]Reason{Undecided, Undecided, Undecided}, []int{2}, ""},
		{"also one that is ahead: a comparison counts the blocks that both are in",
			Study{Points: []StudyPoint{pointWith(around(100, 0.05, 7)...), pointWith(around(103, 0.4, 5)...)}, Pairs: first},
			[]Reason{Undecided, Undecided}, []int{0, 1}, ""},
		{"who were never in the same round are not distinguished, however far they are",
			Study{Points: []StudyPoint{in(around(100, 0.01, 4), 1, 2, 3, 4), in(around(200, 0.01, 4), 5, 6, 7, 8)},
				Pairs: first},
			[]Reason{Undecided, Undecided}, []int{0, 1}, ""},
		{"what both have in common cancels: a region of the disk that is half as fast",
			Study{Points: []StudyPoint{pointWith(100, 51, 99, 50.5, 101), pointWith(121, 60, 120, 61, 120)}, Pairs: first},
			[]Reason{Settled, Settled}, nil, ""},
		{"and where a size was asked for, that has to be known as well",
			Study{Size: 0.02, Points: []StudyPoint{pointWith(100, 51, 99, 50.5, 101), pointWith(121, 60, 120, 61, 125)}, Pairs: first},
			[]Reason{Undecided, Undecided}, []int{0, 1}, ""},
		{"a baseline goes on as long as one comparison needs it",
			Study{Points: []StudyPoint{pointWith(around(100, 0.1, 5)...), pointWith(around(300, 0.1, 5)...),
				pointWith(alternating(101, 0.1, 5)...)}, Pairs: [][2]int{{0, 1}, {0, 2}}},
			[]Reason{Undecided, Settled, Undecided}, []int{0, 2}, "1 of its 2 comparisons are open"},
		{"a point that ended keeps its reason, and the other is measured for its own sake",
			Study{Points: []StudyPoint{ended([]float64{90}, "the device is full"), pointWith(around(100, 0.3, 4)...)}, Pairs: first},
			[]Reason{CannotGoOn, Undecided}, []int{1}, "the device is full"},
		{"who is compared with one that ended goes on for its own sake only: no block will have both",
			Study{Points: []StudyPoint{ended(around(100, 0.02, 9), "the device is full"),
				pointWith(alternating(100.9, 0.02, 6)...)}, Pairs: first},
			[]Reason{CannotGoOn, Precise}, nil, ""},
		{"all ended", Study{Points: []StudyPoint{ended(nil, "no space"), ended(nil, "no space")}, Pairs: first},
			[]Reason{CannotGoOn, CannotGoOn}, nil, "no space"},
		{"as many trials as are allowed",
			Study{Most: 6, Points: []StudyPoint{pointWith(around(100, 0.3, 6)...), pointWith(around(100, 0.3, 5)...)}},
			[]Reason{MostTrials, Undecided}, []int{1}, "its mean is known within"},
		{"as many as are allowed, of both, and no verdict",
			Study{Most: 6, Points: []StudyPoint{pointWith(around(100, 0.3, 6)...), pointWith(alternating(101, 0.3, 6)...)}, Pairs: first},
			[]Reason{MostTrials, MostTrials}, nil, "1 of its 1 comparisons are open after 6 setups"},
		{"fewer trials are allowed than a conclusion takes",
			Study{Most: 2, Points: []StudyPoint{pointWith(100), pointWith(100, 100)}, Pairs: first},
			[]Reason{TooFewTrials, MostTrials}, []int{0}, "1 of at least 2 setups were measured"},
		{"fewer than four are never enough",
			Study{Fewest: 1, Points: []StudyPoint{pointWith(100, 100)}},
			[]Reason{TooFewTrials}, []int{0}, "2 of at least 4 setups were measured"},
		{"a stack that does nothing costs no more time, nor does who is compared with it",
			Study{Points: []StudyPoint{pointWith(0, 0, 0, 0), pointWith(around(100, 0.01, 4)...)}, Pairs: first},
			[]Reason{CannotGoOn, Precise}, nil, "no operation was completed in any of its 4 setups"},
		{"one trial that did nothing: there is a mean, but no ratio",
			Study{Points: []StudyPoint{pointWith(0, 100, 101, 102, 103), pointWith(around(100, 0.01, 5)...)}, Pairs: first},
			[]Reason{Undecided, Undecided}, []int{0, 1}, "1 of its 1 comparisons are open"},
		{"what is no rate is no share of one",
			Study{Points: []StudyPoint{pointWith(-1, -2, -3, 1), pointWith(math.NaN(), 1, 2, 3), pointWith(1, 2, 3, math.Inf(1))}},
			[]Reason{Undecided, Undecided, Undecided}, []int{0, 1, 2},
			"no share of its mean can be asked for after 4 setups, 3% was asked for"},
		{"no points", Study{}, nil, nil, ""},
	} {
		states := c.study.Judge()
		var reasons []Reason
		for _, state := range states {
			reasons = append(reasons, state.Reason)
			if state.Why == "" || math.IsNaN(state.Relative) {
				t.Errorf("%s: %+v does not say why, or how precise the mean is", c.story, state)
			}
			if wants := state.Reason == TooFewTrials || state.Reason == Undecided; state.Open != wants {
				t.Errorf("%s: %+v", c.story, state)
			}
		}
		if !slices.Equal(reasons, c.reasons) {
			t.Errorf("%s: %+v", c.story, states)
		}
		if next := c.study.Next(); !slices.Equal(next, c.next) {
			t.Errorf("%s: next are %v, want %v; %+v", c.story, next, c.next, states)
		}
		if c.why != "" && !strings.Contains(states[0].Why, c.why) {
			t.Errorf("%s: says %q", c.story, states[0].Why)
		}
	}
}

func TestCompare(t *testing.T) {
	outlier := func(values []float64) []float64 { values[2] /= 2; return values }
	for _, c := range []struct {
		story string
		a, b  []float64
		want  Outcome
	}{
		{"too few", around(100, 0.01, 3), around(200, 0.01, 30), NoVerdict},
		{"four that differ by much more than they scatter", around(100, 0.01, 4), alternating(110, 0.01, 4), Differ},
		{"four that scatter by as much as they differ", []float64{100, 101, 95, 111}, []float64{110, 104, 113, 106},
			NoVerdict},
		{"equal within the target", around(100, 0.01, 6), alternating(100.2, 0.01, 6), Alike},
		{"different by less than the target is different", []float64{100, 100, 100, 100}, []float64{101, 101, 101, 101},
			Differ},
		{"beyond the target, not yet known to be different", around(100, 0.05, 6), alternating(102, 0.05, 6), NoVerdict},
		{"an outlier hides a difference from four", outlier(around(110, 0.01, 4)), alternating(100, 0.01, 4), NoVerdict},
		{"but not from fourteen", outlier(around(110, 0.01, 14)), alternating(100, 0.01, 14), Differ},
		{"an outlier does not make equal ones differ", outlier(around(100, 0.01, 14)), alternating(100, 0.01, 14), Alike},
		{"one much noisier than the other", []float64{100, 100.1, 99.9, 100.2}, []float64{101, 115, 108, 130}, NoVerdict},
		{"regions that differ by more than the points", []float64{100, 50, 200, 25}, []float64{120, 61, 238, 30}, Differ},
		{"a rate of 0 has no ratio", []float64{0, 0, 0, 0}, around(100, 0.01, 4), NoVerdict},
	} {
		var s Study
		if got := s.Compare(pointWith(c.a...), pointWith(c.b...)); got != c.want {
			t.Errorf("%s: %s, want %s", c.story, got, c.want)
		}
		if got := s.Compare(pointWith(c.b...), pointWith(c.a...)); got != c.want {
			t.Errorf("%s, the other way round: %s, want %s", c.story, got, c.want)
		}
	}
}

func TestLooksSpendTheLevelAndNoMore(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := Study{Fewest: rapid.IntRange(4, 40).Draw(t, "fewest"), Most: rapid.IntRange(1, 500).Draw(t, "most")}
		looks := s.looks()
		if s.Most < s.Fewest {
			if looks != nil {
				t.Fatalf("looks at %v", looks)
			}
			return
		}
		sum := 0.0
		for k, n := range looks {
			sum += share(k, len(looks))
			if n < s.Fewest || n > s.Most || k > 0 && n <= looks[k-1] {
				t.Fatalf("looks at %v", looks)
			}
		}
		if sum > 1+1e-12 || len(looks) > 1 && sum < 1-1e-12 || looks[len(looks)-1] != s.Most {
			t.Fatalf("looks at %v spend %v of the level", looks, sum)
		}
	})
	if got, want := DefaultStudy.looks(), []int{4, 6, 9, 14, 21, 30}; !slices.Equal(got, want) {
		t.Errorf("looks at %v; docs/evidence/stopping.md says %v", got, want)
	}
}

// drawn is a study as runs could have it, and a source of further values.
func drawn(t *rapid.T) (s Study, value func(point int) float64) {
	n := rapid.IntRange(1, 8).Draw(t, "points")
	level := rapid.SliceOfN(rapid.Float64Range(0.5, 2), n, n).Draw(t, "levels")
	noise := rapid.SliceOfN(rapid.SampledFrom([]float64{0, 0.003, 0.01, 0.03, 0.1, 1}), n, n).Draw(t, "noise")
	trials := rapid.SliceOfN(rapid.IntRange(0, 12), n, n).Draw(t, "trials")
	idle := rapid.SliceOfN(rapid.SampledFrom([]bool{false, false, false, true}), n, n).Draw(t, "idle")
	ended := rapid.SliceOfN(rapid.SampledFrom([]string{"", "", "", "no space"}), n, n).Draw(t, "ended")
	s.Target = rapid.SampledFrom([]float64{0, 0.01, 0.1}).Draw(t, "target")
	s.Fewest = rapid.IntRange(0, 6).Draw(t, "fewest")
	s.Most = rapid.SampledFrom([]int{0, 1, 5, 12, 30}).Draw(t, "most")
	rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
	value = func(point int) float64 {
		if idle[point] {
			return 0
		}
		return level[point] * math.Exp(noise[point]*rng.NormFloat64())
	}
	for i := range n {
		p := StudyPoint{Ended: ended[i]}
		for range trials[i] {
			p.Values = append(p.Values, value(i))
		}
		s.Points = append(s.Points, p)
		for j := range i {
			if rapid.Bool().Draw(t, fmt.Sprint("pair ", i, " ", j)) {
				s.Pairs = append(s.Pairs, [2]int{i, j})
			}
		}
	}
	return s, value
}

func clone(s Study) Study {
	s.Pairs = slices.Clone(s.Pairs)
	s.Points = slices.Clone(s.Points)
	for i := range s.Points {
		s.Points[i].Values = slices.Clone(s.Points[i].Values)
	}
	return s
}

func TestAStudyAsksForNoMoreThanItMay(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, value := drawn(t)
		limit := s.withDefaults().Most
		for {
			before := clone(s)
			states, next := s.Judge(), s.Next()
			if !reflect.DeepEqual(before, s) {
				t.Fatal("judging changed the study")
			}
			for k, i := range next {
				if k > 0 && i <= next[k-1] {
					t.Fatalf("%v is not ascending, or has a point twice", next)
				}
				if !states[i].Open {
					t.Fatalf("%v has a point that is not open: %+v", next, states[i])
				}
				if len(s.Points[i].Values) >= limit || s.Points[i].Ended != "" {
					t.Fatalf("point %d may have no more trials: %+v", i, s.Points[i])
				}
			}
			if open := slices.ContainsFunc(states, func(p PointState) bool { return p.Open }); open != (len(next) > 0) {
				t.Fatalf("next are %v: %+v", next, states)
			}
			if len(next) == 0 {
				return // each round gives a point a trial, and each may have most: this ends
			}
			for _, i := range next {
				s.Points[i].Values = append(s.Points[i].Values, value(i))
			}
		}
	})
}

func TestVerdictsStay(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, value := drawn(t)
		last := len(s.Points) - 1
		var a, b StudyPoint
		verdict := NoVerdict
		for range 40 {
			if rapid.Bool().Draw(t, "which") {
				a.Values = append(a.Values, value(0))
			} else {
				b.Values = append(b.Values, value(last))
			}
			got := s.Compare(a, b)
			if verdict != NoVerdict && got != verdict {
				t.Fatalf("it was %s, and is now %s", verdict, got)
			}
			verdict = got
			if other := s.Compare(b, a); other != got {
				t.Fatalf("%s, and the other way round %s", got, other)
			}
		}
	})
}

func TestAnotherUnitChangesNoVerdict(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, _ := drawn(t)
		scaled := clone(s)
		for i, p := range s.Points {
			scaled.Points[i].Values = slices.Clone(p.Values)
			for j := range p.Values {
				scaled.Points[i].Values[j] *= 1024
			}
		}
		if !slices.Equal(s.Next(), scaled.Next()) {
			t.Fatalf("%v, in another unit %v", s.Next(), scaled.Next())
		}
	})
}
