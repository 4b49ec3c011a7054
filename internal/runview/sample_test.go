package runview

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"plimsoll/internal/result"
	"plimsoll/internal/stats"
)

// The stories in testdata state trials, and show the samples they make.
//
//	POINT block=N up=N [region=N]: VALUES...
//
// `units` prints each point's units, `pairs A B` what Pairs makes of two
// points, `compare A B` their comparison, `parts` the parts of the variance.
func TestStories(t *testing.T) {
	datadriven.RunTest(t, "testdata/samples", func(t *testing.T, d *datadriven.TestData) string {
		trials := map[string][]*result.Trial{}
		var order []string
		for text := range strings.Lines(d.Input) {
			head, values, ok := strings.Cut(strings.TrimSpace(text), ":")
			if !ok {
				d.Fatalf(t, "no values in %q", text)
			}
			words := strings.Fields(head)
			var template result.Trial
			for _, w := range words[1:] {
				key, value, _ := strings.Cut(w, "=")
				n, err := strconv.Atoi(value)
				if err != nil {
					d.Fatalf(t, "%v", err)
				}
				switch key {
				case "block":
					template.Block = n
				case "up":
					template.BringUp = n
				case "region":
					template.Region = n
				}
			}
			if trials[words[0]] == nil {
				order = append(order, words[0])
			}
			for v := range strings.FieldsSeq(values) {
				trial := template
				if v != "-" {
					iops, err := strconv.ParseFloat(v, 64)
					if err != nil {
						d.Fatalf(t, "%v", err)
					}
					done := result.ReadsWrites(result.Operation{Rate: iops}, result.Operation{})
					trial.Instances = result.One(&result.Measurement{Operations: done})
				}
				trials[words[0]] = append(trials[words[0]], &trial)
			}
		}
		rate := func(t *result.Trial) (float64, bool) {
			if t.Measured() == nil {
				return 0, false
			}
			return t.Measured().IOPS(), true
		}
		var b strings.Builder
		switch d.Cmd {
		case "units":
			for _, name := range order {
				s := Take(trials[name], rate)
				fmt.Fprintf(&b, "%s: %d trials, nested %v, means %.4g\n", name, s.Trials(), s.Nested(), s.Values())
			}
		case "pairs":
			x, y := Pairs(Take(trials["a"], rate), Take(trials["b"], rate))
			fmt.Fprintf(&b, "%.4g\n%.4g\n", x, y)
		case "compare":
			e, ok := Compare(Take(trials["a"], rate), Take(trials["b"], rate), 1, stats.RunSpread{})
			fmt.Fprintf(&b, "%v %.3f (%.3f to %.3f) p=%.3g of %d units, %d pairs, paired %v, decidable %v\n",
				ok, e.Ratio, e.Low, e.High, e.P, e.N, e.Pairs, e.Paired, e.Decidable())
		case "parts":
			var samples []Sample
			for _, name := range order {
				samples = append(samples, Take(trials[name], rate))
			}
			p, ok := Parts(samples)
			fmt.Fprintf(&b, "%v within %.3f between %.3f blocks %.3f\n", ok, p.Within, p.Between, p.Blocks)
		}
		return b.String()
	})
}

// Exchanging the two inverts the ratio and keeps the rest.
func TestCompareIsSymmetric(t *testing.T) {
	a := Sample{{Round: 1, Setup: 1, Values: []float64{10, 11}}, {Round: 2, Setup: 2, Values: []float64{5}},
		{Round: 3, Setup: 3, Values: []float64{8}}, {Round: 4, Setup: 4, Values: []float64{9}}}
	b := Sample{{Round: 2, Setup: 1, Values: []float64{6}}, {Round: 1, Setup: 2, Values: []float64{12}},
		{Round: 4, Setup: 3, Values: []float64{10}}, {Round: 3, Setup: 4, Values: []float64{10}}}
	e, ok := Compare(a, b, 1, stats.RunSpread{})
	back, okBack := Compare(b, a, 1, stats.RunSpread{})
	if !ok || !okBack || e.Pairs != 4 || math.Abs(e.Ratio*back.Ratio-1) > 1e-12 ||
		math.Abs(e.Low*back.High-1) > 1e-12 || e.P != back.P {
		t.Errorf("%+v, and the other way round %+v", e, back)
	}
}
