package loadline_test

import (
	"strings"
	"testing"

	"plimsoll/internal/fact"
	"plimsoll/internal/finding/illusion"
	"plimsoll/internal/finding/loadline"
	"plimsoll/internal/finding/ranking"
	"plimsoll/internal/result"
	"plimsoll/internal/runview"
	"plimsoll/internal/testkit/runtest"
)

// scaled is a run of 1, 2, 4, 6 and 8 instances in a scaled-down host.
func scaled(workload string, rates, reads, cacheMiB [5]float64, blocks int) *result.Run {
	return runtest.Instances{
		Workload: result.Workload{Name: workload, Kind: "fio"}, Host: &result.Limits{CPUs: 2, MemoryBytes: 640 << 20},
		Blocks: blocks, Points: runtest.OverInstances(rates, reads, cacheMiB),
	}.Run()
}

func curveOf(f fact.Finding) loadline.Curve { return f.Facts.(*loadline.Facts).Curve }

// A valley is found where it is, with its cause, and said in the verdict.
func TestAValleyIsFoundWithItsCause(t *testing.T) {
	run := scaled("buffered", [5]float64{1590, 3180, 6360, 3600, 2100}, [5]float64{0, 0, 0.002, 0.3, 0.5},
		[5]float64{128, 128, 128, 100, 70}, 5)
	v := runview.New(run)
	findings := loadline.Find(v)
	if len(findings) != 1 || curveOf(findings[0]).Valley == nil {
		t.Fatalf("%+v", findings)
	}
	f := curveOf(findings[0])
	if f.Best != 4 || f.Valley.From != 4 || f.Valley.To != 8 || f.Valley.Cause != loadline.CauseMemory || f.Valley.Ratio < 0.3 || f.Valley.Ratio > 0.36 {
		t.Errorf("%+v, %+v", f, f.Valley)
	}
	for _, want := range []string{"in a scaled-down host of 2 CPUs, 640 MiB of memory", "most with 4: 6.41k a second", "from 0.0019 to 0.5", "from 128 MiB to 70 MiB"} {
		if !strings.Contains(findings[0].Why, want) {
			t.Errorf("%q is not in: %s", want, findings[0].Why)
		}
	}
	verdict, _, ok := loadline.Verdict(v)
	want := "Sure: a host of 2 CPUs and 640 MiB of memory, made of this one, carries 4 instances of buffered; 8 together do only 0.33 times as much, since their files outgrow its memory"
	if !ok || verdict.Title != want {
		t.Errorf("the verdict is\n%s\nnot\n%s", verdict.Title, want)
	}
	if len(ranking.Find(v))+len(illusion.Find(v)) > 0 {
		t.Error("counts of instances are reported as stacks")
	}
}

// What does not fall has no valley: neither what stays level, nor what only stops
// rising; and where nothing sampled explains a fall, no cause is made up.
func TestWhatIsNoValley(t *testing.T) {
	flat := [5]float64{1, 1, 1, 1, 1}
	for _, c := range []struct {
		name  string
		rates [5]float64
		cause loadline.Cause // "": no valley
		says  string
	}{
		{"level", [5]float64{1000, 1000, 1000, 1000, 1000}, "", "no larger number was seen to do less, up to 8"},
		{"saturates", [5]float64{500, 1000, 2000, 2000, 2000}, "", "no larger number was seen to do less"},
		{"falls", [5]float64{500, 1000, 2000, 1200, 700}, loadline.CauseUnknown, "8 do 0.35 times as much"},
	} {
		v := runview.New(scaled("direct", c.rates, flat, [5]float64{}, 5))
		f := loadline.Find(v)[0]
		var cause loadline.Cause
		if valley := curveOf(f).Valley; valley != nil {
			cause = valley.Cause
		}
		if cause != c.cause || !strings.Contains(f.Title, c.says) {
			t.Errorf("%s: cause %q, %s", c.name, cause, f.Title)
		}
	}
}

// With too few setups nothing is claimed.
func TestAScalingThatIsOpen(t *testing.T) {
	run := scaled("buffered", [5]float64{1, 2, 4, 3, 2}, [5]float64{0, 0, 0, 1, 1}, [5]float64{9, 9, 9, 5, 4}, 1)
	v := runview.New(run)
	f := loadline.Find(v)[0]
	verdict, _, _ := loadline.Verdict(v)
	if curve := curveOf(f); curve.Open == "" || curve.Valley != nil || verdict.Recommendation.Confidence != fact.TooEarly {
		t.Errorf("%+v", f.Facts)
	}
}
