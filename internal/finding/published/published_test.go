package published

import (
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"plimsoll/internal/fact"
	"plimsoll/internal/finding/published/claims"
	"plimsoll/internal/problem"
	"plimsoll/internal/result"
	"plimsoll/internal/result/hist"
	"plimsoll/internal/runview"
	"plimsoll/internal/stack/line"
	"plimsoll/internal/stats"
	"plimsoll/internal/testkit/runtest"
)

// Every claim that is tested can be: its way has a judge, its patterns parse, and
// what it asks of stacks and loads is there.
func TestTestsOfClaims(t *testing.T) {
	for _, c := range claims.All() {
		prefix, _, _ := strings.Cut(c.ID, "-")
		untested := []string{"cg-policies", "cas-disk-bw"}
		if slices.Contains([]string{"cas", "cg", "het"}, prefix) && (c.Test == nil) != slices.Contains(untested, c.ID) {
			t.Errorf("%s has a test: %t", c.ID, c.Test != nil)
		}
		if slices.Contains([]string{"fs", "drv", "vol", "lat", "nvmf", "dev", "sw"}, prefix) && c.Test == nil {
			t.Errorf("%s has no test", c.ID)
		}
		if c.Test == nil {
			continue
		}
		if ways[c.Test.How] == nil {
			t.Errorf("nothing judges claims by %s", c.Test.How)
		}
		if len(c.Test.Roles) == 0 || len(c.Test.Stacks) == 0 {
			t.Errorf("the test of %s names no role, or no stacks", c.ID)
		}
		for _, of := range c.Test.Stacks {
			parsePattern(of.Line) // it panics on what does not parse
		}
		for _, text := range append([]string{c.Test.Beside}, c.Test.Against...) {
			if text != "" && text != localTwin {
				parts{}.line(text)
			}
		}
		pairs := c.Test.How == claims.ByRatio && c.Test.Between == claims.BetweenStacks
		if pairs && len(c.Test.Against) == 0 && c.Test.Flag == nil {
			t.Errorf("the test of %s does not say what it is held against", c.ID)
		}
	}
}

// The experiment that a claim names has the stacks and workloads that its test
// looks for, so that its run ends with a measured ratio, share or place.
func TestBuiltInExperimentsTestTheirClaims(t *testing.T) {
	for _, c := range claims.All() {
		if c.Test == nil || c.Test.Experiment == "" {
			continue
		}
		run := runtest.BuiltIn(t, c.Test.Experiment)
		found := false
		for _, f := range Find(runview.New(run)) {
			found = found || f.Claim != nil && f.Claim.ID == c.ID && f.Claim.Measured != ""
		}
		if !found {
			t.Errorf("a run of %s does not measure %s", c.Test.Experiment, c.ID)
		}
	}
}

func TestPatterns(t *testing.T) {
	for _, c := range []struct {
		pattern, line string
		want          bool
	}{
		{"device", "/dev/nvme0n1", true},
		{"device", "/dev/nvme0n1 > xfs", false},
		{"device", "loop(direct-io=off)", false},
		{"loop(direct-io=off)", "loop(direct-io=off, size=1GiB)", true},
		{"loop(direct-io=off)", "loop", false},
		{"local", "nvmeof(transport=tcp, addr=10.0.0.1, nqn=nqn.x)", false},
		{"remote", "nvmeof(transport=tcp, addr=10.0.0.1, nqn=nqn.x)", true},
		{"remote", "nvmeof(transport=tcp, addr=10.0.0.1, nqn=nqn.x) > xfs", false},
		{"remote > layers", "nvmeof(transport=tcp, addr=10.0.0.1, nqn=nqn.x) > xfs > volume", true},
		{"device > xfs", "/dev/sdb > xfs(mount=noatime)", true},
		{"device > xfs", "/dev/sdb > xfs > volume", false},
		{"device > xfs", "/dev/sdb > ext4", false},
		{"device > btrfs(nodatacow) > layers", "/dev/sdb > btrfs(nodatacow) > volume", true},
		{"device > btrfs(nodatacow) > layers", "/dev/sdb > btrfs", false},
		{"device > fs > volume", "/dev/sdb > scheduler:none > ext4 > volume", true},
		{"device > fs > volume", "dir:/srv > volume", false},
		{"device > thin > devicemapper", "/dev/sdb > thin(direct-lvm) > devicemapper", true},
		{"device > thin > devicemapper", "/dev/sdb > xfs > devicemapper", false},
		{"device > fs > devicemapper", "/dev/sdb > thin(direct-lvm) > devicemapper", false},
	} {
		l, err := line.Parse(c.line)
		if err != nil {
			t.Fatal(err)
		}
		if _, got := parsePattern(c.pattern).match(l); got != c.want {
			t.Errorf("%s is of %s: %t, want %t", c.line, c.pattern, got, c.want)
		}
	}
}

// claimLines are stacks that claims compare, and some that none is about.
var claimLines = [][]string{
	{"/dev/nvme0n1", "/dev/nvme0n1 > xfs", "/dev/nvme0n1 > ext4", "/dev/nvme0n1 > xfs > volume"},
	{"/dev/nvme0n1 > ext4(mount=dioread_lock)", "/dev/nvme0n1 > ext4(mount=\"dioread_nolock\")", "/dev/nvme0n1 > ext4"},
	{"/dev/nvme0n1 > btrfs", "/dev/nvme0n1 > btrfs(nodatacow)"},
	{"/dev/nvme0n1 > btrfs > btrfs", "/dev/nvme0n1 > xfs > overlay2", "/dev/nvme0n1 > xfs > aufs", "/dev/nvme0n1 > xfs > devicemapper"},
	{"loop", "loop(direct-io=off)", "loop > xfs"},
	{"dir:/srv", "dir:/srv > volume", "tmpfs", "", "xfs > xfs > xfs"},
}

var anyClaimRun = rapid.Custom(func(t *rapid.T) *result.Run {
	run := &result.Run{Seed: 1}
	run.Environment.Kernel = rapid.SampledFrom([]string{"", "4.6.0", "6.18.44", "odd", "5", "99999999999999999999.1"}).Draw(t, "kernel")
	for _, family := range rapid.Permutation(claimLines).Draw(t, "families")[:2] {
		for _, l := range rapid.Permutation(family).Draw(t, "lines") {
			run.Stacks = append(run.Stacks, result.Stack{Name: fmt.Sprintf("s%d", len(run.Stacks)), Line: l})
		}
	}
	pattern := rapid.SampledFrom([]string{"randread", "randwrite", "read"}).Draw(t, "pattern")
	declared := func(pattern, bs string, jobs, depth int) {
		run.Workloads = append(run.Workloads, result.Workload{
			Name: fmt.Sprintf("w%d", len(run.Workloads)), Pattern: pattern,
			Declared: fmt.Sprintf("{rw: %s, bs: %s, jobs: %d, iodepth: %d}", pattern, bs, jobs, depth),
		})
	}
	switch rapid.IntRange(0, 2).Draw(t, "sweep") {
	case 0:
		for _, jobs := range []int{1, 8, 16, 32, 64} {
			declared(pattern, "4KiB", jobs, 32)
		}
	case 1:
		for _, bs := range []string{"4KiB", "16KiB", "32KiB", "64KiB"} {
			declared(pattern, bs, 8, 8)
		}
	default:
		declared(pattern, "4KiB", 1, 1)
		declared(pattern, "128KiB", 32, 32)
		declared("randread", "4KiB", 32, 32)
	}
	odd := rapid.SampledFrom([]float64{0, -1, 1e-300, 1e300, math.NaN(), math.Inf(1)})
	level := rapid.SampledFrom([]float64{500, 750, 1000, 1000, 1250, 5000})
	for _, s := range run.Stacks {
		for _, w := range run.Workloads {
			source := rapid.SampledFrom([]result.Source{result.SourceDevice, result.SourceDevice, result.SourceDevice, result.SourceDevice, result.SourceMemory, result.SourceUnknown}).Draw(t, "source")
			center, broken := level.Draw(t, "level"), rapid.IntRange(0, 9).Draw(t, "broken") == 0
			number := func(usual float64, label string) float64 {
				if broken {
					return odd.Draw(t, label)
				}
				return usual * (1 + float64(rapid.IntRange(-5, 5).Draw(t, label))/500)
			}
			latency := func(usual float64, label string) hist.Histogram {
				n := uint64(100)
				if broken {
					n = rapid.SampledFrom([]uint64{0, 1, 100}).Draw(t, label)
				}
				return hist.Histogram{Count: n, MeanNS: number(usual, label), Bins: hist.Pack([]hist.Bin{{NS: 1000, Count: n}})}
			}
			for range rapid.SampledFrom([]int{0, 1, 4, 6, 6}).Draw(t, "trials") {
				rate := number(center, "rate")
				trial := result.Trial{Stack: s.Name, Mix: w.Name, Status: result.TrialDone, Checks: []result.Honesty{{Source: source}}}
				if broken && rapid.Bool().Draw(t, "skipped") {
					trial.Status, trial.Problem = result.TrialSkipped, &problem.Problem{Why: "why"}
				}
				trial.Instances = result.One(&result.Measurement{Seconds: 1, UserCPU: number(0.5, "cpu"), Operations: result.ReadsWrites(result.Operation{
					Count: 100, Rate: rate, BytesPerSecond: rate * 4096,
					Latency: map[result.Stage]hist.Histogram{result.Submission: latency(10*center, "slat"), result.Completion: latency(90*center, "clat"), result.Total: latency(100*center, "lat")},
				}, result.Operation{})})
				run.Trials = append(run.Trials, trial)
			}
		}
	}
	return run
})

func TestClaimsOfAnyRun(t *testing.T) {
	seen := map[fact.ClaimVerdict]bool{}
	property := func(t *rapid.T) {
		run := anyClaimRun.Draw(t, "run")
		found := Find(runview.New(run))
		if _, err := json.Marshal(found); err != nil {
			t.Fatal(err)
		}
		ids := map[string]bool{}
		for i, f := range found {
			if ids[f.ID] {
				t.Fatalf("%s twice", f.ID)
			}
			ids[f.ID] = true
			text := f.Title + f.Why + strings.Join(f.Caveats, "")
			if (f.Claim == nil) != (i == len(found)-1) {
				t.Fatalf("the count of the others comes last, and once: %s is at %d of %d", f.ID, i, len(found))
			}
			if c := f.Claim; c != nil {
				seen[c.Verdict] = true
				text += c.Measured + c.Published + c.Why
				if c.Why == "" || c.Published == "" || c.Statement == "" || c.Verdict != fact.ClaimNotTestable && c.Measured == "" {
					t.Fatalf("%+v", *c)
				}
			}
			for _, bad := range []string{"NaN", "Inf", "%!"} {
				if strings.Contains(text, bad) {
					t.Fatalf("%s: %s", f.ID, text)
				}
			}
		}
		other := *run
		other.Trials = rapid.Permutation(run.Trials).Draw(t, "trials")
		if again := Find(runview.New(&other)); !reflect.DeepEqual(found, again) {
			t.Fatalf("in another order of trials %+v\n\nbecomes\n\n%+v", found, again)
		}
	}
	// A verdict is met by one run in fifteen; with -short, there are twenty at a time.
	for rounds := 0; rounds < 10 && len(seen) < 3; rounds++ {
		rapid.Check(t, property)
	}
	if len(seen) != 3 {
		t.Errorf("verdicts met: %v; this shows little", seen)
	}
}

// The verdict does not hang on names.
func TestClaimsDoNotReadNames(t *testing.T) {
	for _, c := range confirming {
		run := runtest.Tell(t, c.stacks+"\n"+runtest.Scatter(runtest.Pick(c.data, false), 6))
		names := map[string]string{}
		rename := func(name string) string {
			if names[name] == "" {
				names[name] = fmt.Sprintf("name%d", len(names))
			}
			return names[name]
		}
		for i := range run.Stacks {
			run.Stacks[i].Name = rename(run.Stacks[i].Name)
		}
		for i := range run.Workloads {
			run.Workloads[i].Name = rename(run.Workloads[i].Name)
		}
		for i := range run.Trials {
			run.Trials[i].Stack, run.Trials[i].Mix = rename(run.Trials[i].Stack), rename(run.Trials[i].Mix)
		}
		if !slices.ContainsFunc(Find(runview.New(run)), func(f fact.Finding) bool {
			return f.Claim != nil && f.Claim.ID == c.claim && f.Claim.Verdict == fact.ClaimConfirmed
		}) {
			t.Errorf("%s is not confirmed under other names", c.claim)
		}
	}
}

func TestJudgeRatio(t *testing.T) {
	inf := math.Inf(1)
	equal := claims.Claim{Kind: claims.Ratio, Value: &claims.Value{Low: 1, High: 1}, Tolerance: 0.1}
	five := claims.Claim{Kind: claims.Ratio, Value: &claims.Value{Low: 5, High: 5}} // 4 to 6
	less := claims.Claim{Kind: claims.Ratio, Value: &claims.Value{Low: -inf, High: 1}}
	above3 := claims.Claim{Kind: claims.Ratio, Value: &claims.Value{Low: 3, High: inf}}
	gap := claims.Claim{Kind: claims.Ratio, Value: &claims.Value{Low: 0.75, High: 0.75}, Tolerance: 0.05}
	for _, c := range []struct {
		name             string
		claim            claims.Claim
		ratio, low, high float64
		differs          bool
		n                int
		want             fact.ClaimVerdict
	}{
		{"within", equal, 1, 0.95, 1.05, false, 5, fact.ClaimConfirmed},
		{"within, though it differs", equal, 0.96, 0.95, 0.98, true, 5, fact.ClaimConfirmed},
		{"wider", equal, 1, 0.8, 1.2, false, 5, fact.ClaimNotTestable},
		{"reaches out", equal, 0.92, 0.88, 0.95, true, 5, fact.ClaimNotTestable},
		{"outside", equal, 0.8, 0.7, 0.89, true, 5, fact.ClaimContradicted},
		{"few", equal, 1, 0.99, 1.01, false, 3, fact.ClaimNotTestable},
		{"overlaps and excludes 1", five, 3.4, 2.3, 6, true, 5, fact.ClaimConfirmed},
		{"reaches far beyond", five, 7, 5.9, 12, true, 5, fact.ClaimConfirmed},
		{"overlaps and holds 1", five, 3.4, 0.9, 6, true, 5, fact.ClaimNotTestable},
		{"overlaps, not significant", five, 3.4, 2.3, 6, false, 5, fact.ClaimNotTestable},
		{"too wide", five, 222, 5, 2427, true, 5, fact.ClaimNotTestable},
		{"wider than the effect", gap, 0.7, 0.6, 0.99, true, 5, fact.ClaimNotTestable},
		{"less", five, 3, 2.3, 3.9, true, 5, fact.ClaimContradicted},
		{"more", five, 8, 7, 9, true, 5, fact.ClaimContradicted},
		{"nothing", five, 1, 0.9, 1.1, false, 5, fact.ClaimContradicted},
		{"gap", gap, 0.79, 0.78, 0.9, true, 5, fact.ClaimConfirmed},
		{"gap, the other way", gap, 1.3, 1.2, 1.4, true, 5, fact.ClaimContradicted},
		{"below", less, 0.9, 0.8, 1.01, true, 5, fact.ClaimConfirmed},
		{"not below", less, 1.1, 1.01, 1.2, true, 5, fact.ClaimContradicted},
		{"neither", less, 0.9, 0.8, 0.99, false, 5, fact.ClaimNotTestable},
		{"above", above3, 4, 3.1, 5, true, 5, fact.ClaimConfirmed},
		{"not above", above3, 2, 1.5, 2.9, true, 5, fact.ClaimContradicted},
		{"perhaps above", above3, 3, 2, 4, true, 5, fact.ClaimNotTestable},
	} {
		e := fact.Effect{Ratio: c.ratio, Low: c.low, High: c.high, Differs: c.differs, P: 0.01, N: [2]int{c.n, c.n}, Pairs: c.n, TooFew: c.n < stats.FewestPairs}
		if got := (&claimCase{}).hold(c.claim, e); got.verdict != c.want || got.why.Text == "" {
			t.Errorf("%s: %s (%s), want %s", c.name, got.verdict, got.why.Text, c.want)
		}
	}
}

func TestJudgeShare(t *testing.T) {
	c := claims.Claim{Kind: claims.Absolute, Unit: "share", Value: &claims.Value{Low: 0.1, High: 0.1}} // 8% to 12%
	for _, k := range []struct {
		low, high, coverage float64
		want                fact.ClaimVerdict
	}{
		{0.09, 0.11, 0.97, fact.ClaimConfirmed}, {0.09, 0.13, 0.97, fact.ClaimNotTestable}, {0.2, 0.3, 0.97, fact.ClaimContradicted},
		{0.01, 0.02, 0.97, fact.ClaimContradicted}, {0.09, 0.11, 0.94, fact.ClaimNotTestable},
	} {
		if got := judgeAbsolute(c, fact.Estimate{Low: k.low, High: k.high, Coverage: k.coverage}, "share"); got.verdict != k.want {
			t.Errorf("%+v: %+v", k, got)
		}
	}
}

func TestPublishedText(t *testing.T) {
	for id, want := range map[string]string{
		"fs-xfs-near-raw": "1x ± 0.1", "fs-xfs-rw-worse": "below 1x", "fs-xfs-rw-cliff": "24 jobs", "drv-btrfs-nodatacow": "5x",
		"drv-order-random": "aufs, overlay, btrfs (best first)", "lat-slat-low-das": "9.7%", "cas-nvmf-throughput": "0.88x to 0.94x", "cg-p99-worst": "above 3x",
	} {
		c, _ := claims.Find(id)
		if got := valueOf(c).String(); got != want {
			t.Errorf("%s is published as %q, want %q", id, got, want)
		}
	}
}

func TestOnByDefault(t *testing.T) {
	for kernel, want := range map[string]bool{
		"4.6.0": false, "5.5.19-amd64": false, "5.6.0": true, "5.10": true, "6.18.44-x": true, "10.0.1": true, "": true, "unknown": true,
	} {
		if got := onByDefault(runview.New(&result.Run{Environment: result.Environment{Kernel: kernel}}), claims.Flag{DefaultSince: "5.6"}); got != want {
			t.Errorf("%q: %t", kernel, got)
		}
	}
}

func TestGroundsTellOfCPU(t *testing.T) {
	run := runtest.Tell(t, `
		stack raw: /dev/nvme0n1
		stack xfs: /dev/nvme0n1 > xfs
		workload RR randread {bs: 4KiB, jobs: 4, iodepth: 8}
		RR raw 1000 1010 1020 1030
		RR xfs 1000 1010 1020 1030`)
	for i := range run.Trials {
		m := run.Trials[i].Measured()
		// 4 jobs at half of a core each for 120 s.
		m.UserCPU, m.SystemCPU = 0.2, 0.3
		reads := m.Operation(result.Read)
		reads.Count = 24_000_000
		if run.Trials[i].Stack == "xfs" {
			reads.Count /= 2
		}
		m.SetOperation(reads)
	}
	i := slices.IndexFunc(Find(runview.New(run)), func(f fact.Finding) bool { return f.Claim != nil && f.Claim.ID == "fs-xfs-near-raw" })
	if i < 0 {
		t.Fatal("the claim is not tested")
	}
	if why := Find(runview.New(run))[i].Why; !strings.Contains(why, "An I/O takes 20.0 µs of fio's CPU time on xfs and 10.0 µs on raw.") {
		t.Error(why)
	}
}
