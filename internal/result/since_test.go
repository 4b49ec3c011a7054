package result

import (
	"math"
	"reflect"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"plimsoll/internal/hist"
)

var bins = rapid.Map(rapid.MapOfN(rapid.Uint64Range(1, 1e10), rapid.Uint64Range(0, 1e6), 0, 20), func(m map[uint64]uint64) []hist.Bin {
	var out []hist.Bin
	for ns, n := range m {
		out = append(out, hist.Bin{NS: ns, Count: n})
	}
	return hist.MergeBins(out)
})

// anyLatency has at least one latency, and a mean and extremes that its bins
// allow: fio's bins stand for a range around their value.
func anyLatency() *rapid.Generator[hist.Histogram] {
	return rapid.Custom(func(t *rapid.T) hist.Histogram {
		var l hist.Histogram
		for _, b := range bins.Draw(t, "bins") {
			if b.Count > 0 {
				l.Bins, l.Count = append(l.Bins, b), l.Count+b.Count
			}
		}
		if l.Count == 0 {
			return hist.Histogram{}
		}
		l.MinNS, l.MaxNS = l.Bins[0].NS, l.Bins[len(l.Bins)-1].NS
		for _, b := range l.Bins {
			l.MeanNS += float64(b.NS) * float64(b.Count) / float64(l.Count)
		}
		return l
	})
}

func anyMeasurement() *rapid.Generator[Measurement] {
	return rapid.Custom(func(t *rapid.T) Measurement {
		seconds := float64(rapid.IntRange(1, 100000).Draw(t, "ms")) / 1000
		direction := func(what string) Direction {
			d := Direction{
				IOs: rapid.Uint64Range(0, 1e9).Draw(t, what), Submission: anyLatency().Draw(t, what+" slat"),
				Completion: anyLatency().Draw(t, what+" clat"), Total: anyLatency().Draw(t, what+" lat"),
			}
			d.Bytes = d.IOs * 4096
			d.IOPS, d.BytesPerSecond = float64(d.IOs)/seconds, float64(d.Bytes)/seconds
			return d
		}
		return Measurement{
			RuntimeSeconds: seconds, Read: direction("reads"), Write: direction("writes"),
			UserCPU: rapid.Float64Range(0, 1).Draw(t, "usr"), SystemCPU: rapid.Float64Range(0, 1).Draw(t, "sys"),
		}
	})
}

// together is what one measurement of the whole time would have been.
func together(a, b Measurement) Measurement {
	m := Measurement{RuntimeSeconds: a.RuntimeSeconds + b.RuntimeSeconds}
	share := func(x, y float64) float64 { return (x*a.RuntimeSeconds + y*b.RuntimeSeconds) / m.RuntimeSeconds }
	direction := func(x, y Direction) Direction {
		d := Direction{
			IOs: x.IOs + y.IOs, Bytes: x.Bytes + y.Bytes, Submission: hist.Merge(x.Submission, y.Submission),
			Completion: hist.Merge(x.Completion, y.Completion), Total: hist.Merge(x.Total, y.Total),
		}
		d.IOPS, d.BytesPerSecond = float64(d.IOs)/m.RuntimeSeconds, float64(d.Bytes)/m.RuntimeSeconds
		return d
	}
	m.UserCPU, m.SystemCPU = share(a.UserCPU, b.UserCPU), share(a.SystemCPU, b.SystemCPU)
	m.Read, m.Write = direction(a.Read, b.Read), direction(a.Write, b.Write)
	return m
}

func nearBy(a, b, unit float64) bool { return math.Abs(a-b) <= 1e-6*max(1, unit, math.Abs(a)) }

// What happened early and what happened since are all that happened.
func TestSinceProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		early, want := anyMeasurement().Draw(t, "early"), anyMeasurement().Draw(t, "late")
		all := together(early, want)
		late := all.Since(early)
		if !nearBy(late.RuntimeSeconds, want.RuntimeSeconds, all.RuntimeSeconds) {
			t.Fatalf("%v s, want %v", late.RuntimeSeconds, want.RuntimeSeconds)
		}
		ratio := all.RuntimeSeconds / want.RuntimeSeconds // what rounding grows by
		if !nearBy(late.UserCPU, want.UserCPU, ratio) || !nearBy(late.SystemCPU, want.SystemCPU, ratio) {
			t.Fatalf("CPU %v and %v, want %v and %v", late.UserCPU, late.SystemCPU, want.UserCPU, want.SystemCPU)
		}
		again := together(early, late)
		for _, d := range []struct{ late, want, again, all, early Direction }{
			{late.Read, want.Read, again.Read, all.Read, early.Read}, {late.Write, want.Write, again.Write, all.Write, early.Write},
		} {
			if d.late.IOs != d.want.IOs || d.late.Bytes != d.want.Bytes || d.again.IOs != d.all.IOs {
				t.Fatalf("%d I/Os of %d bytes, want %d of %d", d.late.IOs, d.late.Bytes, d.want.IOs, d.want.Bytes)
			}
			if !nearBy(d.late.IOPS, d.want.IOPS, d.want.IOPS*ratio) || !nearBy(d.late.BytesPerSecond, d.want.BytesPerSecond, d.want.BytesPerSecond*ratio) {
				t.Fatalf("%v IOPS, want %v", d.late.IOPS, d.want.IOPS)
			}
			for i, l := range [][5]hist.Histogram{
				{d.late.Submission, d.want.Submission, d.again.Submission, d.all.Submission, d.early.Submission},
				{d.late.Completion, d.want.Completion, d.again.Completion, d.all.Completion, d.early.Completion},
				{d.late.Total, d.want.Total, d.again.Total, d.all.Total, d.early.Total},
			} {
				checkSince(t, i, l[0], l[1], l[2], l[3], l[4])
			}
		}
	})
}

func checkSince(t *rapid.T, i int, late, want, again, all, early hist.Histogram) {
	if late.Count != want.Count || !slices.Equal(late.Bins, want.Bins) {
		t.Fatalf("latency %d: %d in %v, want %d in %v", i, late.Count, late.Bins, want.Count, want.Bins)
	}
	if again.Count != all.Count || !slices.Equal(again.Bins, all.Bins) {
		t.Fatalf("latency %d: early and late have %d in %v, all %d in %v", i, again.Count, again.Bins, all.Count, all.Bins)
	}
	if late.Count == 0 {
		if !reflect.DeepEqual(late, hist.Histogram{}) {
			t.Fatalf("latency %d: none, but %+v", i, late)
		}
		return
	}
	grows := all.MeanNS * float64(all.Count) / float64(late.Count)
	if !nearBy(late.MeanNS, want.MeanNS, grows) || !nearBy(again.MeanNS, all.MeanNS, grows) {
		t.Fatalf("latency %d: mean %v, want %v", i, late.MeanNS, want.MeanNS)
	}
	if late.MinNS != want.MinNS || late.MaxNS != want.MaxNS {
		t.Fatalf("latency %d: %d to %d ns, want %d to %d; early %d to %d", i, late.MinNS, late.MaxNS, want.MinNS, want.MaxNS, early.MinNS, early.MaxNS)
	}
}

// The exact extremes are kept as long as they may be of the time since.
func TestSinceKeepsExactExtremes(t *testing.T) {
	all := hist.Histogram{Count: 5, MeanNS: 100, MinNS: 17, MaxNS: 991, Bins: []hist.Bin{{NS: 20, Count: 3}, {NS: 1000, Count: 2}}}
	for _, c := range []struct {
		early    []hist.Bin
		min, max uint64
	}{
		{nil, 17, 991},
		{[]hist.Bin{{NS: 20, Count: 2}}, 17, 991},
		{[]hist.Bin{{NS: 20, Count: 3}}, 991, 991}, // a bin's value may lie beyond what is in it
		{[]hist.Bin{{NS: 1000, Count: 2}}, 17, 20},
	} {
		if got := all.Since(hist.Histogram{Bins: c.early}); got.MinNS != c.min || got.MaxNS != c.max {
			t.Errorf("without %v: %d to %d ns, want %d to %d", c.early, got.MinNS, got.MaxNS, c.min, c.max)
		}
	}
	all.MinNS = 23
	if got := all.Since(hist.Histogram{Bins: []hist.Bin{{NS: 1000, Count: 2}}}); got.MinNS != 23 || got.MaxNS != 23 {
		t.Errorf("%d to %d ns, want 23", got.MinNS, got.MaxNS)
	}
}
