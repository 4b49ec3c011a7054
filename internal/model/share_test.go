package model

import (
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"plimsoll/internal/result"
)

// cached is a class that reads its files again, and calm one that was never short of memory.
func cached(fits, fixed float64) instances {
	params := &Params{Reads: Miss{Scale: 1, Fits: Number(fits), Shape: 1}, ReadBytes: 4096}
	return instances{host: &HostKind{}, drive: -1, params: params, count: 2, fixed: fixed, held: fits}
}

func calm(held, fixed float64) instances {
	return instances{params: &Params{Reads: Miss{Shape: 1}}, count: 2, fixed: fixed, held: held}
}

// Memory is given to those who want it, never more than there is, and never less than what cannot
// be taken; more memory takes it from nobody.
func TestMemoryIsShared(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.Float64Range(1e7, 1e9)
		var all []instances
		var rates []float64
		floors := 0.0
		for range rapid.IntRange(2, 4).Draw(t, "tenants") {
			wants := size.Draw(t, "wants")
			fixed := wants * rapid.Float64Range(0, 1).Draw(t, "fixed")
			in := cached(wants, fixed)
			if rapid.Bool().Draw(t, "calm") {
				in = calm(wants, fixed)
			}
			all, rates = append(all, in), append(rates, rapid.Float64Range(1, 1e5).Draw(t, "rate"))
			floors += 2 * fixed
		}
		memory := floors + size.Draw(t, "memory")
		got, more := share(int64(memory), all, rates), share(int64(1.2*memory), all, rates)
		sum, wanted := 0.0, 0.0
		for i, in := range all {
			if got[i] < in.fixed*(1-1e-9) || got[i] > in.wants()*(1+1e-9) || more[i] < got[i]*(1-1e-6) {
				t.Fatalf("of %v an instance that wants %v and holds %v has %v, and with more %v", memory, in.wants(), in.fixed,
					got[i], more[i])
			}
			sum, wanted = sum+2*got[i], wanted+2*in.wants()
		}
		if want := min(memory, wanted); math.Abs(sum/want-1) > 1e-3 {
			t.Fatalf("%v is shared of %v", sum, want)
		}
	})
}

// What one holds and does not give back, the other suffers from.
func TestWhatIsNotGivenBackTheOthersLack(t *testing.T) {
	free := share(800<<20, []instances{cached(300<<20, 16<<20), calm(150<<20, 0)}, []float64{4000, 4000})
	held := share(800<<20, []instances{cached(300<<20, 16<<20), calm(150<<20, 140<<20)}, []float64{4000, 4000})
	if !(held[0] < free[0] && held[1] > free[1] && held[1] >= 140<<20 && free[1] > 50<<20) {
		t.Errorf("%v where it holds nothing, %v where it holds 140 MiB", free, held)
	}
}

// What was never short of memory is not taken to need none, and instances that do not fit are refused.
func TestMemoryThatIsNotThereIsRefused(t *testing.T) {
	class := func(name string, fits float64) Fitted {
		f := Fitted{Name: name, Params: Params{Reads: Miss{Fits: Number(fits), Shape: 1}, ReadBytes: 4096,
			CPU: Line{Base: 1e-4}, HostCPU: Line{Base: Number(math.NaN())}, Latency: Line{Base: 3e-4},
			Late: Sharp{2, 6}, Reach: Reach{1, 1, 1}}}
		if fits > 0 {
			f.Params.Reads.Scale = 1
		}
		for n := 1; n <= 4; n++ {
			f.Points = append(f.Points, Point{Instances: n, Clients: 8, Think: 5e-3,
				Host:  Host{CPUs: 4, MemoryBytes: 1 << 30},
				Units: []Unit{{Rate: 1400 * Number(n), Held: Number(n * 200 << 20), Fixed: Number(n * 120 << 20)}}})
		}
		return f
	}
	m := &Model{Classes: []Fitted{class("A", 200<<20), class("B", 0)}}
	ask := func(memory int64, own int64, a, b int) error {
		_, err := m.Predict(Ask{Host: Host{CPUs: 4, MemoryBytes: memory}, Tenants: []Tenant{
			{Class: "A", Count: a, Think: -1}, {Class: "B", Count: b, Think: -1, Own: result.Limits{MemoryBytes: own}}}})
		return err
	}
	if err := ask(1<<30, 0, 2, 2); err != nil {
		t.Errorf("all fit: %v", err)
	}
	for want, err := range map[string]error{
		"it is not known what B does with": ask(700<<20, 0, 2, 2),
		"they need 480 MiB":                ask(400<<20, 0, 2, 2),
		"raise its limit":                  ask(1<<30, 64<<20, 1, 1),
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, and not %q", err, want)
		}
	}
	if line, err := m.LoadLine(Ask{Host: Host{CPUs: 64, MemoryBytes: 1 << 30},
		Tenants: []Tenant{{Class: "A", Think: -1}}}, 16, 0); err != nil || line.Instances > 8 || line.Instances < 1 {
		t.Errorf("with room for 8 a host carries %+v, %v", line, err)
	}
}
