package result

import (
	"math"
	"reflect"
	"testing"

	"pgregory.net/rapid"

	"plimsoll/internal/result/hist"
)

var bins = rapid.Map(rapid.MapOfN(rapid.Uint64Range(1, 1e10), rapid.Uint64Range(0, 1e6), 0, 20),
	func(m map[uint64]uint64) []hist.Bin {
		var out []hist.Bin
		for ns, n := range m {
			out = append(out, hist.Bin{NS: ns, Count: n})
		}
		return out
	})

// anyLatency has at least one latency, and a mean and extremes that its bins
// allow: fio's bins stand for a range around their value.
func anyLatency() *rapid.Generator[hist.Histogram] {
	return rapid.Custom(func(t *rapid.T) hist.Histogram {
		var l hist.Histogram
		drawn := bins.Draw(t, "bins")
		for _, b := range drawn {
			l.Count += b.Count
		}
		if l.Count == 0 {
			return hist.Histogram{}
		}
		l.Bins = hist.Pack(drawn)
		counted := l.Bins.Unpack()
		l.MinNS, l.MaxNS = counted[0].NS, counted[len(counted)-1].NS
		for _, b := range counted {
			l.MeanNS += float64(b.NS) * float64(b.Count) / float64(l.Count)
		}
		return l
	})
}

func anyMeasurement() *rapid.Generator[Measurement] {
	return rapid.Custom(func(t *rapid.T) Measurement {
		seconds := float64(rapid.IntRange(1, 100000).Draw(t, "ms")) / 1000
		direction := func(name string) Operation {
			d := Operation{
				Count: rapid.Uint64Range(0, 1e9).Draw(t, name),
				Latency: map[Stage]hist.Histogram{Submission: anyLatency().Draw(t, name+" slat"),
					Completion: anyLatency().Draw(t, name+" clat"), Total: anyLatency().Draw(t, name+" lat")},
			}
			d.Bytes = d.Count * 4096
			d.Rate, d.BytesPerSecond = float64(d.Count)/seconds, float64(d.Bytes)/seconds
			return d
		}
		return Measurement{
			Seconds: seconds, Operations: ReadsWrites(direction("reads"), direction("writes")),
			UserCPU: rapid.Float64Range(0, 1).Draw(t, "usr"), SystemCPU: rapid.Float64Range(0, 1).Draw(t, "sys"),
		}
	})
}

// together returns the measurement of the time of both.
func together(a, b Measurement) Measurement {
	m := Measurement{Seconds: a.Seconds + b.Seconds}
	share := func(x, y float64) float64 { return (x*a.Seconds + y*b.Seconds) / m.Seconds }
	direction := func(x, y Operation) Operation {
		d := Operation{
			Count: x.Count + y.Count, Bytes: x.Bytes + y.Bytes,
			Latency: map[Stage]hist.Histogram{Submission: hist.Merge(x.Latency[Submission], y.Latency[Submission]),
				Completion: hist.Merge(x.Latency[Completion], y.Latency[Completion]),
				Total:      hist.Merge(x.Latency[Total], y.Latency[Total])},
		}
		d.Rate, d.BytesPerSecond = float64(d.Count)/m.Seconds, float64(d.Bytes)/m.Seconds
		return d
	}
	m.UserCPU, m.SystemCPU = share(a.UserCPU, b.UserCPU), share(a.SystemCPU, b.SystemCPU)
	m.Operations = ReadsWrites(direction(a.Operation(Read), b.Operation(Read)),
		direction(a.Operation(Write), b.Operation(Write)))
	return m
}

func nearBy(a, b, unit float64) bool { return math.Abs(a-b) <= 1e-6*max(1, unit, math.Abs(a)) }

// What happened early and what happened since are all that happened.
func TestSinceProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		early, want := anyMeasurement().Draw(t, "early"), anyMeasurement().Draw(t, "late")
		total := together(early, want)
		late := total.Since(early)
		if !nearBy(late.Seconds, want.Seconds, total.Seconds) {
			t.Fatalf("%v s, want %v", late.Seconds, want.Seconds)
		}
		ratio := total.Seconds / want.Seconds // what rounding grows by
		if !nearBy(late.UserCPU, want.UserCPU, ratio) || !nearBy(late.SystemCPU, want.SystemCPU, ratio) {
			t.Fatalf("CPU %v and %v, want %v and %v", late.UserCPU, late.SystemCPU, want.UserCPU, want.SystemCPU)
		}
		again := together(early, late)
		for _, d := range []struct{ late, want, again, total, early Operation }{
			{late.Operation(Read), want.Operation(Read), again.Operation(Read), total.Operation(Read),
				early.Operation(Read)},
			{late.Operation(Write), want.Operation(Write), again.Operation(Write), total.Operation(Write),
				early.Operation(Write)},
		} {
			if d.late.Count != d.want.Count || d.late.Bytes != d.want.Bytes || d.again.Count != d.total.Count {
				t.Fatalf("%d I/Os of %d bytes, want %d of %d", d.late.Count, d.late.Bytes, d.want.Count, d.want.Bytes)
			}
			if !nearBy(d.late.Rate, d.want.Rate, d.want.Rate*ratio) ||
				!nearBy(d.late.BytesPerSecond, d.want.BytesPerSecond, d.want.BytesPerSecond*ratio) {
				t.Fatalf("%v IOPS, want %v", d.late.Rate, d.want.Rate)
			}
			for i, l := range [][5]hist.Histogram{
				{d.late.Latency[Submission], d.want.Latency[Submission], d.again.Latency[Submission],
					d.total.Latency[Submission], d.early.Latency[Submission]},
				{d.late.Latency[Completion], d.want.Latency[Completion], d.again.Latency[Completion],
					d.total.Latency[Completion], d.early.Latency[Completion]},
				{d.late.Latency[Total], d.want.Latency[Total], d.again.Latency[Total], d.total.Latency[Total],
					d.early.Latency[Total]},
			} {
				checkSince(t, i, l[0], l[1], l[2], l[3], l[4])
			}
		}
	})
}

func checkSince(t *rapid.T, i int, late, want, again, total, early hist.Histogram) {
	if late.Count != want.Count || late.Bins != want.Bins {
		t.Fatalf("latency %d: %d in %v, want %d in %v", i, late.Count, late.Bins, want.Count, want.Bins)
	}
	if again.Count != total.Count || again.Bins != total.Bins {
		t.Fatalf("latency %d: early and late have %d in %v, all %d in %v",
			i, again.Count, again.Bins, total.Count, total.Bins)
	}
	if late.Count == 0 {
		if !reflect.DeepEqual(late, hist.Histogram{}) {
			t.Fatalf("latency %d: none, but %+v", i, late)
		}
		return
	}
	grows := total.MeanNS * float64(total.Count) / float64(late.Count)
	if !nearBy(late.MeanNS, want.MeanNS, grows) || !nearBy(again.MeanNS, total.MeanNS, grows) {
		t.Fatalf("latency %d: mean %v, want %v", i, late.MeanNS, want.MeanNS)
	}
	if late.MinNS != want.MinNS || late.MaxNS != want.MaxNS {
		t.Fatalf("latency %d: %d to %d ns, want %d to %d; early %d to %d", i, late.MinNS, late.MaxNS, want.MinNS,
			want.MaxNS, early.MinNS, early.MaxNS)
	}
}

// The exact extremes are kept as long as they may be of the time since.
func TestSinceKeepsExactExtremes(t *testing.T) {
	total := hist.Histogram{Count: 5, MeanNS: 100, MinNS: 17, MaxNS: 991,
		Bins: hist.Pack([]hist.Bin{{NS: 20, Count: 3}, {NS: 1000, Count: 2}})}
	for _, c := range []struct {
		early    []hist.Bin
		min, max uint64
	}{
		{nil, 17, 991},
		{[]hist.Bin{{NS: 20, Count: 2}}, 17, 991},
		{[]hist.Bin{{NS: 20, Count: 3}}, 991, 991}, // a bin's value may lie beyond what is in it
		{[]hist.Bin{{NS: 1000, Count: 2}}, 17, 20},
	} {
		if got := total.Since(hist.Histogram{Bins: hist.Pack(c.early)}); got.MinNS != c.min || got.MaxNS != c.max {
			t.Errorf("without %v: %d to %d ns, want %d to %d", c.early, got.MinNS, got.MaxNS, c.min, c.max)
		}
	}
	total.MinNS = 23
	got := total.Since(hist.Histogram{Bins: hist.Pack([]hist.Bin{{NS: 1000, Count: 2}})})
	if got.MinNS != 23 || got.MaxNS != 23 {
		t.Errorf("%d to %d ns, want 23", got.MinNS, got.MaxNS)
	}
}
