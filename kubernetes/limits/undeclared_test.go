package limits

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/containerd/nri/pkg/api"
	"k8s.io/apimachinery/pkg/types"

	"plimsoll/internal/host/cgroup"
	"plimsoll/kubernetes/iofit"
)

// A step is the nearest power of its ratio, is raised at once, and lowered after a while that is quiet throughout.
func TestStep(t *testing.T) {
	now, s := time.Unix(1e9, 0), step{}
	take := func(after time.Duration, rate, want float64) {
		t.Helper()
		now = now.Add(after)
		if s.take(now, rate, 10); s.level != want {
			t.Errorf("after a rate of %g: %+v, not %g", rate, s, want)
		}
	}
	one, high, low := time.Second, stepOf(1000, 10), stepOf(300, 10)
	if ratio := high / 1000; !(ratio > 1/stepRatio && ratio < stepRatio) ||
		stepOf(9, 10) != 0 || stepOf(math.NaN(), 10) != 0 {
		t.Errorf("the step of 1000 is %g", high)
	}
	take(one, 9, 0)
	take(one, 1000, high)
	take(one, 0, high)
	take(quietTime-2*one, 300, high)
	take(2*one, 0, low) // the most of the quiet time
	take(one, 1000, high)
	take(one, 0, high)
	take(quietTime-one, 1000, high) // which starts it again
	take(one, 0, high)
	take(quietTime-2*one, 0, high)
	take(2*one, 0, 0)
}

// A load that goes on and off, or wavers by a tenth, is written once.
func TestStepsDoNotFlap(t *testing.T) {
	for name, rate := range map[string]func(i int) float64{
		"on and off": func(i int) float64 { return float64(i / 4 % 2 * 1000) },
		"wavering":   func(i int) float64 { return 1000 + 100*math.Sin(float64(i)) },
		"on a border": func(i int) float64 {
			return math.Pow(stepRatio, 30.5) * (1 + 0.01*float64(i%2))
		},
	} {
		s, changes := step{}, 0
		for i := range 4 * 60 { // an hour
			was := s.level
			if s.take(time.Unix(1e9, 0).Add(time.Duration(i)*15*time.Second), rate(i), 10); s.level != was {
				changes++
			}
		}
		if changes < 1 || changes > 2 {
			t.Errorf("%s: it changed %d times", name, changes)
		}
	}
}

// Rates are of what came between two looks: not of what a container did before, nor of a counter that begins again.
func TestMeter(t *testing.T) {
	m, now := meter{}, time.Unix(1e9, 0)
	pods := map[string]types.UID{"a": "u", "b": "u", "c": "v"}
	look := func(after time.Duration, counters map[string]cgroup.IO) map[types.UID]iofit.Rates {
		now = now.Add(after)
		m.sample(now, counters, pods)
		return m.published()
	}
	if r := look(0, map[string]cgroup.IO{"a": {Reads: 1e9}}); len(r) > 0 {
		t.Errorf("what was done before counts: %v", r)
	}
	if r := look(0, map[string]cgroup.IO{"a": {Reads: 2e9}}); len(r) > 0 {
		t.Errorf("a look in the same moment: %v", r)
	}
	r := look(10*time.Second, map[string]cgroup.IO{"a": {Reads: 2e9 + 10_000, WrittenBytes: 1 << 40}, "b": {Reads: 7e9}})
	if want := (iofit.Rates{stepOf(1000, 10), 0, 0, stepOf((1<<40)/10, 10)}); r["u"] != want || len(r) != 1 {
		t.Errorf("%v, not %v", r, want)
	}
	r = look(10*time.Second, map[string]cgroup.IO{"a": {Reads: 1}, "b": {Reads: 7e9 + 100_000}, "c": {Writes: 5}})
	if r["u"][0] != stepOf(10_000, 10) || len(r) != 1 {
		t.Errorf("two containers of a pod, of which one counts again from 0: %v", r)
	}
	// A pod that is gone is forgotten.
	look(time.Second, nil)
	if r = look(quietTime, nil); len(r) > 0 || len(m.pods) > 0 {
		t.Errorf("%v, %v", r, m.pods)
	}
}

// What is published stays within what is read.
func TestAttackManyPods(t *testing.T) {
	m, pods := meter{}, map[string]types.UID{}
	for n := range 2 {
		counters := map[string]cgroup.IO{}
		for i := range 1000 {
			id := fmt.Sprint(i)
			pods[id] = types.UID(fmt.Sprintf("%08d-0000-0000-0000-000000000000", i))
			counters[id] = cgroup.IO{Reads: uint64(n * i * 1e6), Writes: uint64(n) << 40, ReadBytes: uint64(n) << 43,
				WrittenBytes: uint64(n) << 43}
		}
		m.sample(time.Unix(int64(1e9+15*n), 0), counters, pods)
	}
	rates, err := iofit.ParseUndeclared(iofit.FormatUndeclared(m.published()))
	if err != nil || len(rates) != iofit.MostUndeclared || rates[pods["999"]][0] == 0 {
		t.Errorf("%d pods, %v", len(rates), err)
	}
}

// Pods without a class are measured, also those of which the annotations cannot be read, and no others.
func TestUndeclaredPods(t *testing.T) {
	dir, majMin := disk(t)
	for what, c := range map[string]struct {
		annotations map[string]string
		counts      bool
	}{
		"nothing":        {nil, true},
		"limits alone":   {map[string]string{iofit.LimitAnnotation: ""}, true},
		"a class":        {map[string]string{iofit.ClassAnnotation: "writes"}, false},
		"a class since":  {map[string]string{iofit.ClassAnnotation: "writes", iofit.AdmittedAnnotation: "{}"}, true},
		"a broken class": {map[string]string{iofit.ClassAnnotation: "writes", iofit.P99Annotation: "soon"}, true},
	} {
		pod := &api.PodSandbox{Id: "p", Uid: "1-2", Namespace: "shop", Name: "noisy", Annotations: c.annotations}
		p, _, kernel := measured(t, pod)
		kernel("io.stat", "7:77 rbytes=1 wbytes=1 rios=900000 wios=1\n"+majMin+" rbytes=0 wbytes=0 rios=100 wios=4\n")
		now := time.Unix(1e9, 0)
		p.measure(now)
		kernel("io.stat", majMin+" rbytes=0 wbytes=0 rios=10100 wios=5\n7:77 rios=9999999\n")
		text := p.measure(now.Add(10 * time.Second))
		want := "{}"
		if c.counts {
			want = iofit.FormatUndeclared(map[types.UID]iofit.Rates{"1-2": {stepOf(1000, 10)}})
		}
		metric := fmt.Sprintf("plimsoll_undeclared_reads %g\n", stepOf(1000, 10))
		if text != want || strings.Contains(scrape(t, p), metric) != c.counts {
			t.Errorf("a pod that says %s: %s, not %s", what, text, want)
		}
		ended := &api.Container{Id: "a", Mounts: []*api.Mount{bind(dir, "/data")}}
		if _, err := p.StopContainer(t.Context(), pod, ended); err != nil || len(p.undeclared) > 0 {
			t.Errorf("what has ended is kept: %v", p.undeclared)
		}
	}
}

// What is measured is published again where the API server did not take it, and not where nothing changed.
func TestPublish(t *testing.T) {
	p, _, _ := aPlugin()
	p.waits.measure = time.Millisecond
	ctx, cancel := context.WithCancel(t.Context())
	var calls []string
	err := p.Publish(ctx, func(_ context.Context, text string) error {
		if calls = append(calls, text); len(calls) < 3 {
			return errors.New("the API server is away")
		}
		cancel()
		return nil
	})
	if err != nil || len(calls) != 3 || calls[2] != "{}" {
		t.Errorf("%q, %v", calls, err)
	}
	text := scrape(t, p)
	for _, want := range []string{`published_total{taken="true"} 1`, `published_total{taken="false"} 2`} {
		if !strings.Contains(text, want) {
			t.Errorf("%s is not in %s", want, text)
		}
	}
}
