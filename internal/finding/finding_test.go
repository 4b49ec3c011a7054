package finding

import (
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"plimsoll/internal/fact"
	"plimsoll/internal/problem"
	"plimsoll/internal/result"
	"plimsoll/internal/result/hist"
	"plimsoll/internal/runview"
	"plimsoll/internal/stats"
	"plimsoll/internal/testkit/runtest"
)

// lines are stacks as runs have them, and a few that no run should have.
var lines = []string{
	"/dev/nvme0n1", "/dev/nvme0n1 > ext4", "/dev/nvme0n1 > xfs > volume", "/dev/nvme0n1 > xfs > overlay2",
	"loop(size=1GiB)", "loop(size=1GiB, direct-io=off)", "loop(size=1GiB) > btrfs", "loop(size=1GiB) > btrfs(nodatacow)",
	"loop(size=1GiB) > btrfs > btrfs", "tmpfs(size=1GiB)", "tmpfs(size=1GiB) > volume", "dir:/srv", "dir:/srv > fuse-overlayfs",
	"", "> >", "volume", "a > b > c > d > e",
}

// anyRun draws runs that nobody would want to see: trials without numbers,
// numbers that are none, stacks that were never declared.
var anyRun = rapid.Custom(func(t *rapid.T) *result.Run {
	names := []string{"a", "b", "c", "d"}
	run := &result.Run{Seed: rapid.Uint64().Draw(t, "seed")}
	run.Experiment.Baseline = rapid.SampledFrom([]string{"", "a", "b", "nobody"}).Draw(t, "baseline")
	for _, name := range names[:rapid.IntRange(0, 4).Draw(t, "stacks")] {
		s := result.Stack{Name: name, Line: rapid.SampledFrom(lines).Draw(t, "line")}
		s.Marks = rapid.SliceOfN(rapid.SampledFrom([]result.Mark{result.MarkLoop, result.MarkMemory, result.MarkShared}), 0, 2).Draw(t, "marks")
		s.Devices = runtest.DevicesOf(s)
		run.Stacks = append(run.Stacks, s)
	}
	for _, name := range []string{"RR", "RW"}[:rapid.IntRange(0, 2).Draw(t, "workloads")] {
		pattern := rapid.SampledFrom([]string{"randread", "randwrite", "randrw", ""}).Draw(t, "pattern")
		declared := rapid.SampledFrom([]string{"", "{rw: " + pattern + ", bs: 4KiB, jobs: 32, iodepth: 32}", "{rw: randread}", "> >"}).Draw(t, "declared")
		run.Workloads = append(run.Workloads, result.Workload{Name: name, Pattern: pattern, Declared: declared})
	}
	iops := rapid.OneOf(rapid.Float64Range(1, 1e6), rapid.SampledFrom([]float64{0, -1, 1e-300, 1e300, math.NaN(), math.Inf(1)}))
	for range rapid.IntRange(0, 16).Draw(t, "trials") {
		trial := result.Trial{
			Stack:  rapid.SampledFrom(names).Draw(t, "stack"),
			Mix:    rapid.SampledFrom([]string{"RR", "RW"}).Draw(t, "workload"),
			Status: rapid.SampledFrom([]result.TrialStatus{result.TrialDone, result.TrialDone, result.TrialDone, result.TrialFailed, result.TrialSkipped, result.TrialPlanned, "odd"}).Draw(t, "status"),
		}
		if rapid.Bool().Draw(t, "problem") {
			trial.Problem = &problem.Problem{What: "what", Why: rapid.SampledFrom([]string{"why", "other", ""}).Draw(t, "why")}
		}
		if rapid.IntRange(0, 9).Draw(t, "measured") > 0 {
			trial.Instances = result.One(&result.Measurement{
				Seconds:    rapid.SampledFrom([]float64{0, 2, 60}).Draw(t, "runtime"),
				Operations: result.ReadsWrites(anyDirection(t, iops), anyDirection(t, iops)),
			})
		}
		if rapid.Bool().Draw(t, "judged") {
			trial.Checks = []result.Honesty{*anyHonesty(t)}
		}
		if rapid.IntRange(0, 2).Draw(t, "traced") > 0 {
			trial.Trace = anyTrace(t)
		}
		run.Trials = append(run.Trials, trial)
	}
	return run
})

func anyTrace(t *rapid.T) *result.Trace {
	number := rapid.SampledFrom([]float64{0, 1, 1000, 1000, 1010, 1e6, -5, 1e300, math.NaN(), math.Inf(1)})
	breakdown := func(label string) *result.Breakdown {
		if rapid.IntRange(0, 3).Draw(t, label) == 0 {
			return nil
		}
		b := &result.Breakdown{
			IOs: rapid.Uint64Range(0, 1000).Draw(t, "ios"), Bytes: rapid.Uint64Range(0, 1e6).Draw(t, "bytes"), TotalNS: number.Draw(t, "total"),
			ResidueNS: number.Draw(t, "residue"), PerIO: number.Draw(t, "per"), BytesPerIO: number.Draw(t, "bytes per"),
		}
		for range rapid.IntRange(0, 4).Draw(t, "parts") {
			name := rapid.SampledFrom([]result.PartName{result.PartUser, result.PartKernel, result.PartBlock, result.PartDriver, result.PartFabric, result.PartTarget, result.PartDevice, "odd"}).Draw(t, "part")
			b.Parts = append(b.Parts, result.TracePart{Name: name, MeanNS: number.Draw(t, "ns")})
		}
		return b
	}
	trace := &result.Trace{Lost: rapid.Uint64().Draw(t, "lost"), Missing: []string{rapid.SampledFrom([]string{"", "N"}).Draw(t, "missing")}}
	trace.Read, trace.Write = breakdown("read"), breakdown("write")
	for range rapid.IntRange(0, 3).Draw(t, "served") {
		trace.Served = append(trace.Served, result.Served{
			Device: rapid.SampledFrom([]string{"loop0", "vda", ""}).Draw(t, "device"), Owner: rapid.SampledFrom([]string{"application", "jbd2/loop0-8", "kworker/u8:1", ""}).Draw(t, "owner"),
			Application: rapid.Bool().Draw(t, "own"), Op: rapid.SampledFrom([]string{"read", "write", "flush"}).Draw(t, "op"),
			Requests: rapid.Uint64().Draw(t, "requests"), Bytes: rapid.Uint64().Draw(t, "bytes"),
		})
	}
	return trace
}

func anyDirection(t *rapid.T, rate *rapid.Generator[float64]) result.Operation {
	latency := func(label string) hist.Histogram {
		n := rapid.Uint64Range(0, 1000).Draw(t, label)
		mean := rapid.SampledFrom([]float64{0, 1000, 1e9, math.NaN(), math.Inf(1)}).Draw(t, label)
		return hist.Histogram{Count: n, MeanNS: mean, Bins: hist.Pack([]hist.Bin{{NS: 1000, Count: n}})}
	}
	if rapid.Bool().Draw(t, "idle") {
		return result.Operation{}
	}
	return result.Operation{
		Count: rapid.Uint64Range(0, 1000).Draw(t, "ios"), Bytes: rapid.Uint64Range(0, 1e6).Draw(t, "bytes"),
		Rate: rate.Draw(t, "iops"), BytesPerSecond: rate.Draw(t, "bandwidth"),
		Latency: map[result.Stage]hist.Histogram{result.Submission: latency("slat"), result.Completion: latency("clat"), result.Total: latency("lat")},
	}
}

func anyHonesty(t *rapid.T) *result.Honesty {
	number := rapid.SampledFrom([]float64{0, 0.5, 1, 3, 1e300, math.NaN(), math.Inf(1)})
	h := &result.Honesty{Source: rapid.SampledFrom([]result.Source{result.SourceDevice, result.SourceMemory, result.SourceUnknown, "odd"}).Draw(t, "source")}
	if rapid.Bool().Draw(t, "known") {
		r := number.Draw(t, "ratio")
		h.Ratio = &r
	}
	// Chains of all lengths and names: a loop device gets another number when
	// a run is resumed.
	for range rapid.IntRange(0, 3).Draw(t, "served") {
		h.Served = append(h.Served, result.DeviceCounter{
			Device: result.Device{
				Name: rapid.SampledFrom([]string{"loop0", "loop3", "vda"}).Draw(t, "device"),
				Role: rapid.SampledFrom([]string{"top", "under", "bottom", "bottom", "odd"}).Draw(t, "role"),
			},
			Reads: rapid.Uint64Range(0, 10).Draw(t, "reads"), Writes: rapid.Uint64Range(0, 10).Draw(t, "writes"),
			WriteBytes: rapid.Uint64Range(0, 1e6).Draw(t, "bytes"), PerIO: number.Draw(t, "per"),
		})
	}
	h.Reason = rapid.SampledFrom([]string{"", "the device counted nothing", "the device counted some."}).Draw(t, "reason")
	return h
}

var kinds = []fact.Kind{
	fact.KindRecommendation, fact.KindScaling, fact.KindFastest, fact.KindIllusion, fact.KindComparison, fact.KindTime,
	fact.KindPublished, fact.KindCaveat, fact.KindMissing, fact.KindSpending,
}

func TestFindingsOfAnyRun(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		run := anyRun.Draw(t, "run")
		findings, points := All(run), Points(run)
		for _, v := range []any{findings, points} {
			if _, err := json.Marshal(v); err != nil {
				t.Fatal(err)
			}
		}
		if again := All(run); !reflect.DeepEqual(again, findings) {
			t.Fatal("another call, other findings")
		}
		ids := map[string]bool{}
		last := 0
		for i, f := range findings {
			if ids[f.ID] {
				t.Fatalf("%s twice", f.ID)
			}
			ids[f.ID] = true
			if f.Rule == "" || f.Title == "" || f.Why == "" {
				t.Fatalf("something is empty in %+v", f)
			}
			for _, s := range append([]string{f.Title, f.Why}, f.Caveats...) {
				if strings.Contains(s, "NaN") || strings.Contains(s, "Inf") || strings.Contains(s, "%!") {
					t.Fatalf("%s: %s", f.ID, s)
				}
			}
			kindIndex := slices.Index(kinds, f.Kind)
			if kindIndex < last {
				t.Fatalf("%s of kind %s stands behind kind %s", f.ID, f.Kind, kinds[last])
			}
			last = kindIndex
			if (f.Kind == fact.KindRecommendation) != (i == 0) {
				t.Fatalf("there is one recommendation, and it comes first: %s is at %d", f.ID, i)
			}
			if e := f.Effect; e != nil {
				sound := e.Ratio > 0 && e.P >= 0 && e.P <= 1 && (e.Low <= e.Ratio && e.Ratio <= e.High || !e.HasInterval() && e.High == 0)
				if !sound || e.TooFew && (e.Differs || e.Pairs > 0 && e.HasInterval()) || e.Differs && e.Adjusted < e.P && e.Adjusted > 0 {
					t.Fatalf("%s: %+v", f.ID, *e)
				}
			}
			if f.Kind == fact.KindFastest || f.Kind == fact.KindRecommendation {
				for _, s := range f.Stacks {
					for _, p := range f.Evidence {
						if p.Stack == s && p.Source == string(result.SourceMemory) {
							t.Fatalf("%s ranks %s, which answered from memory", f.ID, s)
						}
					}
				}
			}
		}
		for _, p := range points {
			if p.N == 0 || p.Low > p.Median || p.Median > p.High || p.BytesLow > p.BytesHigh || p.Coverage < 0 || p.Coverage > 1 {
				t.Fatalf("%+v", p)
			}
		}
	})
}

// The order in which trials ran is random, and must not show in conclusions.
func TestOrderOfTrialsDoesNotMatter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		run := anyRun.Draw(t, "run")
		for _, s := range []string{"a", "b", "c", "d"} { // the order of stacks is the experiment's
			if !slices.ContainsFunc(run.Stacks, func(k result.Stack) bool { return k.Name == s }) {
				run.Stacks = append(run.Stacks, result.Stack{Name: s})
			}
		}
		run.Workloads = []result.Workload{{Name: "RR", Pattern: "randread"}, {Name: "RW", Pattern: "randwrite"}}
		other := *run
		other.Trials = rapid.Permutation(run.Trials).Draw(t, "trials")
		a, b := measuredFindings(run), measuredFindings(&other)
		for i := range max(len(a), len(b)) {
			switch {
			case i >= len(a) || i >= len(b):
				t.Fatalf("%d findings become %d", len(a), len(b))
			case !reflect.DeepEqual(a[i], b[i]):
				t.Fatalf("%+v\n\nbecomes\n\n%+v", a[i], b[i])
			}
		}
	})
}

// measuredFindings gives all findings but those of missing trials, which are
// listed in the order in which they were met.
func measuredFindings(run *result.Run) []fact.Finding {
	return slices.DeleteFunc(All(run), func(f fact.Finding) bool { return f.Kind == fact.KindMissing })
}

// A title states no ratio of two stacks without ~ unless every workload that
// is behind it shows a significant difference.
func TestRatiosInTitlesAreSignificantOrMarked(t *testing.T) {
	ratio := regexp.MustCompile(`[0-9]x (?:\([^)]*\) )?(?:of the second best, |of |what )([abcd])\b`)
	found := map[bool]int{} // titles with a ratio, by whether it is marked
	rapid.Check(t, func(t *rapid.T) {
		var story strings.Builder
		story.WriteString("stack a: /dev/nvme0n1\nstack b: /dev/nvme0n1 > xfs > volume\nstack c: /dev/nvme0n1 > ext4 > " +
			"volume\n" +
			"stack d: /dev/nvme0n1 > xfs > overlay2\nworkload RR randread\nworkload RW randwrite\n")
		repeats := rapid.IntRange(2, 6).Draw(t, "repeats")
		around := rapid.SampledFrom([]int{1000, 1020, 1050, 2000})
		for _, workload := range []string{"RR", "RW"} {
			for _, stack := range []string{"a", "b", "c", "d"} {
				fmt.Fprintf(&story, "%s %s", workload, stack)
				center := around.Draw(t, stack)
				for range repeats {
					fmt.Fprintf(&story, " %d", center+rapid.IntRange(-20, 20).Draw(t, "iops"))
				}
				story.WriteString(rapid.SampledFrom([]string{"", "", "", " memory=0.01"}).Draw(t, "source") + "\n")
			}
		}
		run := runtest.Tell(t, story.String())
		run.Experiment.Baseline = rapid.SampledFrom([]string{"", "a", "b"}).Draw(t, "baseline")
		v := runview.New(run)
		for _, f := range All(run) {
			for part := range strings.SplitSeq(f.Title, ";") {
				match := ratio.FindStringSubmatch(part)
				if match == nil {
					continue
				}
				marked := strings.Contains(part, "~") || strings.Contains(f.Title, "too few to decide")
				found[marked]++
				for _, workload := range []string{"RR", "RW"} {
					behind := func(p fact.Point) bool { return p.Stack == f.Stacks[0] && p.Workload == workload }
					if !slices.ContainsFunc(f.Evidence, behind) {
						continue
					}
					e, _ := v.Compare(v.Cell(f.Stacks[0], workload), v.Cell(match[1], workload))
					if e.P >= stats.Alpha && !marked {
						t.Fatalf("under %s p is %v: %s", workload, e.P, f.Title)
					}
				}
			}
		}
	})
	if found[true] == 0 || found[false] == 0 {
		t.Errorf("%d titles with a marked ratio, %d with another: this shows nothing", found[true], found[false])
	}
}

// Whoever gets the numbers gets the verdict: exchanging what two stacks
// measured exchanges them in the verdict and in the rankings.
func TestVerdictFollowsTheNumbers(t *testing.T) {
	const story = `
		stack a: /dev/nvme0n1 > xfs > volume
		stack b: /dev/nvme0n1 > ext4 > volume
		stack c: /dev/nvme0n1 > btrfs > volume
		workload RR randread
		workload RW randwrite
		RR %[1]s 9000 9100 9200 9300
		RR %[2]s 7000 7100 7200 7300
		RR %[3]s 5000 5100 5200 5300
		RW %[1]s 3000 3100 3200 3300
		RW %[2]s 2000 2100 2200 2300
		RW %[3]s 9000 9900 9100 9200 memory=0.01`
	rapid.Check(t, func(t *rapid.T) {
		order := rapid.Permutation([]string{"a", "b", "c"}).Draw(t, "order")
		run := runtest.Tell(t, fmt.Sprintf(story, order[0], order[1], order[2]))
		findings := All(run)
		if f := findings[0]; !slices.Equal(f.Stacks, order[:2]) {
			t.Fatalf("%v recommended, want %v first, and %s not at all: %s", f.Stacks, order[:2], order[2], f.Title)
		}
		for _, f := range findings {
			switch f.ID {
			case "fastest/RR":
				if !slices.Equal(f.Stacks, order) {
					t.Fatalf("%v ranked, want %v", f.Stacks, order)
				}
			case "fastest/RW":
				if !slices.Equal(f.Stacks, order[:2]) {
					t.Fatalf("%v ranked, want %v", f.Stacks, order[:2])
				}
			}
		}
		if !slices.ContainsFunc(findings, func(f fact.Finding) bool { return f.ID == "illusion/"+order[2]+"/RW" }) {
			t.Fatalf("%s under RW is not named an illusion", order[2])
		}
	})
}

func TestPointsAreMergedNotAveraged(t *testing.T) {
	run := runtest.Tell(t, `
		stack a: /dev/nvme0n1
		workload RR randread
		RR a 100 200 300 400`)
	// 10,000 I/Os of 1 ms in one trial, 30,000 of 2 ms in each of the others.
	for i := range run.Trials {
		n, ns := uint64(30_000), uint64(2_000_000)
		if i == 0 {
			n, ns = 10_000, 1_000_000
		}
		reads, writes := run.Trials[i].Measured().Operation(result.Read), result.Operation{Name: result.Write}
		reads.SetLatency(result.Total, hist.Histogram{Count: n, Bins: hist.Pack([]hist.Bin{{NS: ns, Count: n}})})
		writes.SetLatency(result.Total, hist.Histogram{Count: 100, Bins: hist.Pack([]hist.Bin{{NS: 9_000_000, Count: 100}})})
		run.Trials[i].Measured().SetOperation(reads)
		run.Trials[i].Measured().SetOperation(writes)
	}
	p := Points(run)[0]
	if p.P50NS != 2e6 || p.P99NS != 2e6 || p.P999NS != 9e6 {
		t.Errorf("p50 %v, p99 %v, p99.9 %v: of both directions, one setup has 10,000 of 1 ms, the others 30,000 of 2 ms, each 100 of 9 ms", p.P50NS, p.P99NS, p.P999NS)
	}
	if p.Median != 250 || p.Low != 100 || p.High != 400 || p.Coverage != 0.875 || p.N != 4 || p.BytesPerSecond != 250*4096 || p.BytesLow != 100*4096 {
		t.Errorf("%+v", p)
	}
	if p.Source != "device" || p.Ratio == nil || *p.Ratio != 1 {
		t.Errorf("%+v", p)
	}
}

// A resumed run can find its loop device under another number, and the members
// of a stripe hold the bytes together.
func TestAmplificationGoesByPlaceNotByName(t *testing.T) {
	run := runtest.Tell(t, `
		stack a [loop device]: loop(size=1GiB) > btrfs
		workload RW randwrite
		RW a 1000 1010 1020 1030 writes=1.5/2`)
	for i := range run.Trials {
		h := run.Trials[i].Honesty()
		if i%2 == 1 {
			h.Served[0].Device.Name = "loop3"
		}
		half := h.Served[1]
		half.Writes, half.WriteBytes, half.PerIO = half.Writes/2, half.WriteBytes/2, half.PerIO/2
		other := half
		other.Device.Name = "vdb"
		h.Served = append(h.Served[:1], half, other)
	}
	const title = "a makes vda and vdb write 1.50x as often and 2.0x as much as fio does: RW"
	const why = "Per write and byte of fio, in the median of the trials: loop0 and loop3 1.00 writes and 1.33 bytes, vda and vdb 1.50 writes and 2.0 bytes."
	findings := findingsOf(run, "amplification")
	if len(findings) != 1 || findings[0].Title != title || findings[0].Why != why {
		t.Errorf("%+v, want one with\n%s\n%s", findings, title, why)
	}
}

// findingsOf returns the findings of one rule.
func findingsOf(run *result.Run, rule string) []fact.Finding {
	return slices.DeleteFunc(All(run), func(f fact.Finding) bool { return f.Rule != rule })
}
