package model_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"runtime"
	"strings"
	"sync"
	"testing"

	"plimsoll/internal/model"
	"plimsoll/internal/result"
	"plimsoll/internal/testkit/runtest"
)

func density(t testing.TB) *model.Model {
	t.Helper()
	m, err := onTwo()
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// onTwo fits it once for all tests, on two processors.
var onTwo = sync.OnceValues(func() (*model.Model, error) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(2))
	return fitDensity()
})

func fitDensity() (*model.Model, error) {
	return model.Fit(model.Options{Version: "test", Seed: 1}, runtest.Density(false))
}

func written(t testing.TB, m *model.Model) string {
	t.Helper()
	var text bytes.Buffer
	if err := m.Write(&text); err != nil {
		t.Fatal(err)
	}
	return text.String()
}

// What a real run measured is predicted by the rest of it, better than by a straight line
// or Gunther's law.
func TestARealRunIsPredicted(t *testing.T) {
	c := density(t).Classes[0]
	if b := c.Check.Between; b.Points < 4 || b.MAPE > 0.05 || b.Linear < 2*b.Same || b.Gunther < 2*b.Same {
		t.Errorf("between what was measured: %+v", b)
	}
	if b := c.Check.Beyond; b.Points != 2 || b.MAPE > 0.1 || b.Linear < 2*b.Same || b.Gunther < 2*b.Same {
		t.Errorf("beyond what was measured: %+v", b)
	}
	for _, h := range c.Check.Held {
		if !(h.Said.Low < h.Said.Value && h.Said.Value < h.Said.High) {
			t.Errorf("%d instances: %+v", h.Instances, h.Said)
		}
	}
}

// The same runs and seed make the same file, on one processor and on two.
func TestTheSameModelOnAnyNumberOfProcessors(t *testing.T) {
	two := written(t, density(t))
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	m, err := fitDensity()
	if err != nil {
		t.Fatal(err)
	}
	one := written(t, m)
	if one != two {
		t.Error("two processors make another model")
	}
	if len(one) > 200_000 {
		t.Errorf("the file takes %d bytes", len(one))
	}
}

func TestAModelIsReadBack(t *testing.T) {
	m := density(t)
	read, err := model.Read([]byte(written(t, m)))
	if err != nil {
		t.Fatal(err)
	}
	for version := 1; version < model.SchemaVersion; version++ {
		older := strings.Replace(written(t, m), `"schema": 3`, fmt.Sprintf(`"schema": %d`, version), 1)
		if _, err := model.Read([]byte(older)); err != nil {
			t.Errorf("a model of version %d: %v", version, err)
		}
	}
	if again := written(t, read); again != written(t, m) {
		t.Error("what was read is not what was written")
	}
	ask := model.Ask{Tenants: []model.Tenant{{Class: "C", Count: 5, Think: -1}}, Host: m.Classes[0].Measured()}
	a, err := m.Predict(ask)
	if err != nil {
		t.Fatal(err)
	}
	b, err := read.Predict(ask)
	if err != nil || math.Abs(float64(a.Rate.Value/b.Rate.Value)-1) > 1e-4 {
		t.Errorf("%+v before, and %+v behind, %v", a, b, err)
	}
}

func TestADamagedModelIsRefused(t *testing.T) {
	whole := written(t, density(t))
	change := func(change func(m map[string]any)) string {
		var m map[string]any
		if err := json.Unmarshal([]byte(whole), &m); err != nil {
			t.Fatal(err)
		}
		change(m)
		text, err := json.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	class := func(m map[string]any) map[string]any { return m["classes"].([]any)[0].(map[string]any) }
	for name, of := range map[string]struct{ text, want string }{
		"nothing":         {"", "not a model"},
		"another file":    {`{"kind": "run", "schema": 1}`, "plimsoll fit RUN -o model.json writes one"},
		"another version": {change(func(m map[string]any) { m["schema"] = 99 }), "version 99"},
		"no classes":      {change(func(m map[string]any) { m["classes"] = nil }), "it has no class"},
		"no points":       {change(func(m map[string]any) { class(m)["points"] = nil }), "it has 0 points"},
		"no name":         {change(func(m map[string]any) { class(m)["name"] = "" }), "its name is empty"},
		"a negative demand": {change(func(m map[string]any) {
			class(m)["params"].(map[string]any)["bytes_per_read"] = -1
		}), "bytes_per_read is -1"},
		"a draw that cannot be": {change(func(m map[string]any) {
			class(m)["drawn"].([]any)[3].(map[string]any)["latency_seconds"].(map[string]any)["base"] = nil
		}), "parameters 4: latency_seconds.base"},
		"reads that grow with memory": {change(func(m map[string]any) {
			class(m)["params"].(map[string]any)["reads"].(map[string]any)["times"] = []any{
				map[string]any{"memory_bytes": 1, "times": 2}, map[string]any{"memory_bytes": 2, "times": 3}}
		}), "reads.times do not fall"},
		"no instances": {change(func(m map[string]any) {
			class(m)["points"].([]any)[0].(map[string]any)["instances"] = 0
		}), "point 1: instances"},
		"cut off": {whole[:len(whole)/2], "not a model"},
	} {
		if _, err := model.Read([]byte(of.text)); err == nil || !strings.Contains(err.Error(), of.want) {
			t.Errorf("%s: %v, and not %q", name, err, of.want)
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add([]byte(written(f, density(f))))
	f.Add([]byte(`{"kind": "plimsoll model", "schema": 1, "classes": [{"name": "C"}]}`))
	drives := strings.Replace(written(f, density(f)), `"classes": [`, `"drives": [{"name": "d", "read": {"iops": 5e4,
		"bytes_per_second": 1e9, "latency_seconds": 1e-4, "sharpness": 3}, "write": {"iops": 2e4, "bytes_per_second": 5e8,
		"latency_seconds": 1e-4, "sharpness": 3}, "competes": 0.7, "mixed_points": 1, "off": 0.02}], "classes": [`, 1)
	f.Add([]byte(strings.Replace(drives, `"params": {`, `"drive": "d", "params": {`, 1)))
	f.Fuzz(func(t *testing.T, text []byte) {
		m, err := model.Read(text)
		if err != nil {
			return
		}
		for _, c := range m.Classes {
			host := m.HostOf(&c)
			a, err := m.Predict(model.Ask{Tenants: []model.Tenant{{Class: c.Name, Count: 3, Think: -1}}, Host: host.Host,
				Drives: host.Drives})
			if err == nil && math.IsNaN(float64(a.Rate.Value)) {
				t.Errorf("%+v", a)
			}
		}
	})
}

// What the model cannot know it refuses, all at once, and says what would teach it.
func TestWhatNobodyKnowsIsRefused(t *testing.T) {
	run := runtest.Density(false)
	small := *run
	small.Trials = nil
	for _, trial := range run.Trials {
		if trial.Mix == "C-1" || trial.Mix == "C-3" || trial.Mix == "C-4" {
			small.Trials = append(small.Trials, trial)
		}
	}
	m, err := model.Fit(model.Options{Seed: 1}, &small)
	if err != nil {
		t.Fatal(err)
	}
	host := m.Classes[0].Measured()
	ask := func(count int, class string) error {
		_, err := m.Predict(model.Ask{Tenants: []model.Tenant{{Class: class, Count: count, Think: -1}}, Host: host})
		return err
	}
	if err := ask(4, "C"); err != nil {
		t.Errorf("what was measured: %v", err)
	}
	if err := ask(8, "C"); err == nil || !strings.Contains(err.Error(), "it is not known what C does with 125 MiB") {
		t.Errorf("memory that nobody saw run out: %v", err)
	}
	if err := ask(4, "D"); err == nil || !strings.Contains(err.Error(), "it was fitted to C") {
		t.Errorf("a class that is none: %v", err)
	}
	if err := ask(0, "C"); err == nil {
		t.Error("no instance is predicted")
	}
}

// Runs that nothing can be learnt from say why.
func TestRunsThatTeachNothing(t *testing.T) {
	run := runtest.Density(false)
	open := *run
	open.Workloads = []result.Workload{{Name: "C", Kind: "ycsb",
		Declared: "workload: C\nrecords: 200000\nrate: 1000\n"}}
	one := *run
	one.Trials = run.Trials[:8]
	for name, of := range map[string]struct {
		run  *result.Run
		want string
	}{
		"an open loop": {&open, "C begins operations at a rate"},
		"two points":   {&one, "C was measured at 2 points, and a fit takes 3"},
	} {
		if _, err := model.Fit(model.Options{Seed: 1}, of.run); err == nil || !strings.Contains(err.Error(), of.want) {
			t.Errorf("%s: %v, and not %q", name, err, of.want)
		}
	}
}

// said checks that an error has some words; "" for none.
func said(t *testing.T, of string, err error, want string) {
	t.Helper()
	if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
		t.Errorf("%s: %v, and not %q", of, err, want)
	}
}

func TestMixesAndFactorsAreRead(t *testing.T) {
	m := density(t)
	for text, want := range map[string]string{
		"C: 4": "", "C": "", " C :2 ": "", "D: 4": "knows no", "C: x": "no number", "C: 0": "no instance", "": "knows no",
		"C: 1, C: 2": "names C twice", "C: 99999999999999999999": "no number", "C: -1": "no number",
	} {
		_, err := m.ParseMix(text)
		said(t, "mix "+text, err, want)
	}
	for text, want := range map[string]string{
		"n=1..16": "", "memory=1GiB..8GiB": "", "cpus=0.5..4": "", "read-iops=1000..1000000": "", "n=4": "two ends",
		"n=0..4": "whole", "n=8..4": "whole", "n=1..99999": "whole", "colour=1..2": "colour", "memory=8GiB..1GiB": "less",
		"iops=8000..8000": "",
		"cpuset=0..3":     "less", "memory=x..y": "takes a size",
	} {
		_, err := model.ParseOver(text)
		said(t, "over "+text, err, want)
	}
}
