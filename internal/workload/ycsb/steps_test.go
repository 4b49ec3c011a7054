package ycsb_test

import (
	"bytes"
	"context"
	"math"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"plimsoll/internal/database"
	"plimsoll/internal/database/client"
	"plimsoll/internal/result"
	"plimsoll/internal/workload"
	"plimsoll/internal/workload/loadgen"
	"plimsoll/internal/workload/ycsb"
)

// zeros is a client of a database whose values are all zero; it knows the keys of
// the dataset, and what was inserted.
type zeros struct {
	config   client.Config
	known    map[string]bool
	mu       *sync.Mutex
	unknown  *int
	inserted *int
}

func (z zeros) ask(key []byte) error {
	z.mu.Lock()
	defer z.mu.Unlock()
	if !z.known[string(key)] {
		*z.unknown++
		return client.ErrNotFound
	}
	return nil
}

func (z zeros) Read(_ context.Context, key []byte, _ int) ([]byte, error) {
	return make([]byte, z.config.Fields*z.config.FieldBytes), z.ask(key)
}

func (z zeros) Scan(_ context.Context, key []byte, records, _ int) (int, error) {
	return records, z.ask(key)
}

func (z zeros) Update(_ context.Context, key []byte, _ int, _ []byte) error { return z.ask(key) }

func (z zeros) Insert(_ context.Context, key, _ []byte) error {
	z.mu.Lock()
	defer z.mu.Unlock()
	z.known[string(key)] = true
	*z.inserted++
	return nil
}

func (z zeros) Close() error { return nil }

// driven is what a workload's step leaves, when the generator follows its plan.
func driven(t *testing.T, w workload.Workload, timing workload.Timing) (out []byte, step *workload.Step) {
	t.Helper()
	step, err := w.Drive(workload.Target{Path: "/data"}, timing)
	if err != nil {
		t.Fatal(err)
	}
	plan, err := ycsb.ReadPlan(step.Files["load.json"])
	if err != nil {
		t.Fatal(err)
	}
	z := zeros{known: map[string]bool{}, mu: &sync.Mutex{}, unknown: new(int), inserted: new(int),
		config: client.Config{Fields: plan.Dataset.Fields, FieldBytes: plan.Dataset.FieldBytes}}
	for number := range plan.Dataset.Records {
		z.known[string(database.Key(nil, number))] = true
	}
	var output bytes.Buffer
	err = loadgen.Run(t.Context(), plan, loadgen.Options{Output: &output,
		Dial: func(context.Context, string, client.Config) (client.Client, error) { return z, nil }})
	if err != nil {
		t.Fatal(err)
	}
	if *z.unknown > 0 {
		t.Errorf("%d times a record was asked for that is not there", *z.unknown)
	}
	return output.Bytes(), step
}

// Every workload of YCSB, in both loops, gives a measurement of its operations in
// their proportions, and never asks for what is not there.
func TestWorkloadsAreMeasured(t *testing.T) {
	for workloadName, mix := range map[string]ycsb.Mix{
		"A": {ycsb.Read: 0.5, ycsb.Update: 0.5},
		"B": {ycsb.Read: 0.95, ycsb.Update: 0.05},
		"C": {ycsb.Read: 1},
		"D": {ycsb.Read: 0.95, ycsb.Insert: 0.05},
		"E": {ycsb.Scan: 0.95, ycsb.Insert: 0.05},
		"F": {ycsb.Read: 0.5, ycsb.ReadModifyWrite: 0.5},
	} {
		for _, loop := range []string{"threads: 4", "rate: 8000, threads: 8"} {
			w := mustDecode(t, "{workload: "+workloadName+", records: 1000, field-size: 20, "+loop+"}")
			out, step := driven(t, w, workload.Timing{Runtime: 300 * time.Millisecond})
			m, err := w.Read(map[string][]byte{step.Outputs[0]: out}, workload.Exit{})
			if err != nil {
				t.Errorf("%s, %s: %v", workloadName, loop, err)
				continue
			}
			n := float64(m.IOs())
			if n < 100 || len(m.Operations) != len(mix) {
				t.Errorf("%s, %s: %v operations, %d kinds", workloadName, loop, n, len(m.Operations))
			}
			for _, o := range m.Operations {
				share := mix[o.Name]
				if sd := math.Sqrt(n * share * (1 - share)); math.Abs(float64(o.Count)-n*share) > 6*sd+1 {
					t.Errorf("%s, %s: %d of %v are %s", workloadName, loop, o.Count, n, o.Name)
				}
				if o.Errors > 0 || o.Latency[result.Total].Count != o.Count || o.Bytes == 0 ||
					math.Abs(o.Rate*m.Seconds-float64(o.Count)) > 1e-6*n {
					t.Errorf("%s, %s: %s has %d errors, %d latencies, %d bytes, rate %v", workloadName, loop, o.Name, o.Errors,
						o.Latency[result.Total].Count, o.Bytes, o.Rate)
				}
				service, ok := o.Latency[result.Completion]
				if open := strings.HasPrefix(loop, "rate"); ok != open ||
					open && service.MeanNS > o.Latency[result.Total].MeanNS {
					t.Errorf("%s, %s: %s takes %v ns of %v", workloadName, loop, o.Name, service.MeanNS,
						o.Latency[result.Total].MeanNS)
				}
			}
		}
	}
}

// A step that is watched gives a rate for each interval, and its measurement without
// the ramp and the warm-up is that of the lines that are left.
func TestAWatchedStep(t *testing.T) {
	w := mustDecode(t, "{workload: A, records: 1000, threads: 2, think: 1ms}")
	const sample = 100 * time.Millisecond
	timing := workload.Timing{Ramp: sample, Runtime: 14 * sample, Sample: sample}
	out, step := driven(t, w, timing)
	if step.Live != step.Outputs[0] {
		t.Fatalf("live is %q of %q", step.Live, step.Outputs)
	}
	watch := w.Abilities().Watch(timing)
	var rates []float64
	for piece := range slices.Chunk(out, 1000) {
		rates = append(rates, watch.Feed(piece)...)
	}
	if len(rates) <= workload.WarmupUnit || len(rates) > 14 || slices.Max(rates) <= 0 { // 14 on an idle host
		t.Fatalf("rates %v", rates)
	}
	whole, err := watch.Whole(workload.Exit{})
	if err != nil {
		t.Fatal(err)
	}
	afterRamp, err := watch.Read(workload.Exit{}, 0)
	if err != nil {
		t.Fatal(err)
	}
	late, err := watch.Read(workload.Exit{}, workload.WarmupUnit)
	if err != nil {
		t.Fatal(err)
	}
	if !(whole.Seconds > afterRamp.Seconds+0.09 && afterRamp.Seconds > late.Seconds+0.4 && whole.IOs() > afterRamp.IOs() &&
		afterRamp.IOs() > late.IOs()) {
		t.Errorf("%d in %v s, without ramp %d in %v s, without warm-up %d in %v s", whole.IOs(), whole.Seconds,
			afterRamp.IOs(), afterRamp.Seconds, late.IOs(), late.Seconds)
	}
	// What is kept of the output says the same.
	again := w.Abilities().Watch(timing)
	again.Feed(watch.Final())
	reread, err := again.Whole(workload.Exit{})
	if err != nil || reread.IOs() != whole.IOs() ||
		!reflect.DeepEqual(reread.Operations[0].Latency, whole.Operations[0].Latency) {
		t.Errorf("of what is kept: %d, %v", reread.IOs(), err)
	}
	unwatched, err := w.Read(map[string][]byte{step.Outputs[0]: watch.Final()}, workload.Exit{})
	if err != nil || unwatched.IOs() != afterRamp.IOs() {
		t.Errorf("read at once: %d of %d, %v", unwatched.IOs(), afterRamp.IOs(), err)
	}
	if final := again.Final(); !bytes.Equal(final, watch.Final()) {
		t.Error("the final output of the final output is another")
	}
}
