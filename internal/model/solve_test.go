package model

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"plimsoll/internal/section"
)

// The answer depends on the question alone, never on rates and memories that the search begins at; and what it says
// satisfies the equations, or is said to be unknown.
func TestOneAnswerFromAnyStart(t *testing.T) {
	asked, short, unknown := 0, 0, 0
	rapid.Check(t, func(t *rapid.T) {
		m := anyModel(t)
		host, placed := anyHost(t, m), anyPlacement(t, m)
		host.Host.MemoryBytes = int64(math.Exp(rapid.Float64Range(math.Log(1e9), math.Log(1e11)).Draw(t, "short")))
		hosts := []HostKind{host}
		o, _, err := m.settled(&network{}, hosts, [][]Placed{placed})
		if len(o.in) == 0 || o.memories == nil {
			return
		}
		asked++
		if err != nil {
			unknown++
			return
		}
		for i := range o.in {
			if o.memories[i] < 0.999*o.in[i].wants() {
				short++
				break
			}
		}
		other := o
		other.in = append([]instances(nil), o.in...)
		for range 10 {
			other.rates = nil
			for i := range other.in {
				other.in[i].memory = rapid.Float64Range(1, 1e10).Draw(t, "memory")
				other.rates = append(other.rates, math.Exp(rapid.Float64Range(0, 14).Draw(t, "rate")))
			}
			other.settle(hosts)
			for i := range o.in {
				if other.rates[i] != o.rates[i] || other.memories[i] != o.memories[i] || !other.solved {
					t.Fatalf("%v with %v, and from another start %v with %v", o.rates, o.memories, other.rates, other.memories)
				}
			}
		}
		shared := share(host.Host.MemoryBytes, o.in, o.rates)
		for i := range o.in {
			if math.Abs(math.Log(shared[i]/o.in[i].memory)) > 10*alikeMemory {
				t.Fatalf("at the answer's rates instances hold %v, and not %v", shared, o.memories)
			}
		}
	})
	t.Logf("%d asked, %d of them short of memory, %d unknown", asked, short, unknown)
}

// aClass is a model of a class of which an operation takes a millisecond.
func aClass(latency float64) *Model {
	return &Model{
		Classes: []Fitted{{Name: "A", Params: Params{CPU: Line{Base: 1e-4}, HostCPU: Line{Base: Number(math.NaN())},
			Latency: Line{Base: Number(latency)}, Late: Sharp{2, 6}, Reach: Reach{1, 1, 1}},
			Points: []Point{{Instances: 1, Clients: 8, Host: Host{CPUs: 4}, Units: []Unit{{Rate: 1000}}}}}},
	}
}

// What has no solution is said to be unknown, and never a number.
func TestWhatHasNoSolutionIsUnknown(t *testing.T) {
	m := aClass(math.NaN())
	host := Host{CPUs: 4}
	if s, err := m.Solve(HostKind{Host: host}, []Placed{{Class: 0, Drive: -1, Count: 2}}); !errors.Is(err, errUnsolved) {
		t.Errorf("%+v, %v", s, err)
	}
	ask := Ask{Host: host, Tenants: []Tenant{{Class: "A", Count: 2, Think: -1}}}
	if a, err := m.Predict(ask); !errors.Is(err, errUnsolved) {
		t.Errorf("%+v, %v", a, err)
	}
	if line, err := m.LoadLine(ask, 4, 0); err == nil || !strings.Contains(err.Error(), noSolution) {
		t.Errorf("%+v, %v", line, err)
	}
}

// Where one fit to setups drawn anew has no solution, the intervals are unknown, and the load line, which is said with
// one.
func TestIntervalsOfWhatHasNoSolutionAreUnknown(t *testing.T) {
	m := aClass(1e-3)
	broken := m.Classes[0].Params
	broken.Latency.Base = Number(math.NaN())
	m.Classes[0].Drawn = []Params{m.Classes[0].Params, broken}
	ask := Ask{Host: Host{CPUs: 4}, Tenants: []Tenant{{Class: "A", Count: 2, Think: -1}}}
	c, err := m.PredictOver(ask, Over{Factor: "n", Values: []float64{1, 2}}, 0)
	if err != nil || c.Line != nil || !strings.Contains(c.NoLine, noSolution) {
		t.Fatalf("%+v, %v", c, err)
	}
	for _, p := range c.Answers {
		a := p.Answer
		if !(a.Rate.Value > 0) || !math.IsNaN(float64(a.Rate.Low)) || !math.IsNaN(float64(a.Rate.High)) {
			t.Errorf("%+v", a.Rate)
		}
		if len(a.Unknown) != 2 || !strings.Contains(a.Unknown[1], "processors") {
			t.Errorf("%q", a.Unknown)
		}
		if len(a.Worth) == 0 || a.Worth[0].Between() != section.NotKnown {
			t.Errorf("%+v", a.Worth)
		}
	}
	if s := m.Section(ask, c); !strings.Contains(fmt.Sprint(s.Remarks), "no load line") {
		t.Errorf("%+v", s.Remarks)
	}
}

// Resources that are worth the same are in no order: whichever comes first, a comparison has one answer.
func TestByPower(t *testing.T) {
	worth := func(power float64) Worth { return Worth{Power: Estimate{Value: Number(power)}} }
	for _, c := range []struct {
		a, b float64
		want int
	}{{0.5, 0.5, 0}, {0, 0, 0}, {0.7, 0.2, -1}, {-0.1, 0.1, 1}, {1e-300, 0, -1}} {
		if got, back := byPower(worth(c.a), worth(c.b)), byPower(worth(c.b), worth(c.a)); got != c.want || back != -c.want {
			t.Errorf("%g and %g: %d, and %d the other way round; want %d", c.a, c.b, got, back, c.want)
		}
	}
}
