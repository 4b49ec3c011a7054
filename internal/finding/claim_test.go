package finding

import (
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"plimsoll/examples"
	"plimsoll/internal/claims"
	"plimsoll/internal/experiment"
	"plimsoll/internal/result"
	layers "plimsoll/internal/stack"
	"plimsoll/internal/stack/line"
	"plimsoll/internal/stats"
	workloads "plimsoll/internal/workload/kinds"
)

func TestRulesAreOfClaims(t *testing.T) {
	var tested []string
	for _, r := range claimRules {
		c, ok := claims.Find(r.id)
		if !ok || r.reason == "" {
			t.Errorf("rule %+v", r)
		}
		if c.Paper != claims.MSST17 {
			t.Errorf("%s is of %s, and the texts say it is of MSST'17", r.id, c.Paper)
		}
		if slices.Contains(tested, r.id) {
			t.Errorf("%s has two rules", r.id)
		}
		tested = append(tested, r.id)
	}
	// What no stack of this program can have.
	without := []string{"lat-clat-nvmf-low", "lat-high-extra"}
	for _, c := range claims.All() {
		prefix, _, _ := strings.Cut(c.ID, "-")
		if slices.Contains([]string{"fs", "drv", "vol", "lat"}, prefix) && !slices.Contains(tested, c.ID) && !slices.Contains(without, c.ID) {
			t.Errorf("%s has no rule", c.ID)
		}
	}
}

// confirming are stories that confirm a claim. What is in braces of the data
// trades places when the data is inverted: {A|B} is A, and B when inverted.
var confirming = []struct{ claim, stacks, data string }{
	{"fs-xfs-near-raw", `
		kernel 4.6.0
		stack raw: /dev/nvme0n1
		stack xfs: /dev/nvme0n1 > xfs
		workload RR randread {bs: 4KiB, jobs: 32, iodepth: 32}`,
		"RR raw 1000\nRR xfs {1000|500}"},
	{"fs-xfs-rw-worse", `
		stack raw: /dev/nvme0n1
		stack xfs: /dev/nvme0n1 > xfs
		workload RW randwrite {bs: 4KiB, jobs: 32, iodepth: 32}`,
		"RW {raw|xfs} 1000\nRW {xfs|raw} 600"},
	{"fs-xfs-rw-cliff", `
		stack xfs: /dev/nvme0n1 > xfs
		workload j4 randwrite {bs: 4KiB, jobs: 4, iodepth: 32}
		workload j8 randwrite {bs: 4KiB, jobs: 8, iodepth: 32}
		workload j16 randwrite {bs: 4KiB, jobs: 16, iodepth: 32}
		workload j32 randwrite {bs: 4KiB, jobs: 32, iodepth: 32}
		workload j64 randwrite {bs: 4KiB, jobs: 64, iodepth: 32}`,
		"{j4|j64} xfs 1000\nj8 xfs {1000|300}\nj16 xfs {1000|300}\nj32 xfs {300|1000}\n{j64|j4} xfs 300"},
	{"fs-ext4-rr-gap", `
		kernel 4.6.0
		stack raw: /dev/nvme0n1
		stack ext4: /dev/nvme0n1 > ext4
		workload RR randread {bs: 4KiB, jobs: 32, iodepth: 32}`,
		"RR {raw|ext4} 1000\nRR {ext4|raw} 750"},
	{"fs-ext4-dioread-nolock", `
		stack lock: /dev/nvme0n1 > ext4(mount=dioread_lock)
		stack nolock: /dev/nvme0n1 > ext4(mount=dioread_nolock)
		workload RR randread {bs: 4KiB, jobs: 32, iodepth: 32}`,
		"RR {lock|nolock} 1000\nRR {nolock|lock} 1250"},
	{"drv-order-random", `
		stack aufs: /dev/nvme0n1 > xfs > aufs
		stack overlay2: /dev/nvme0n1 > xfs > overlay2
		stack btrfs: /dev/nvme0n1 > btrfs > btrfs
		workload RR randread {bs: 4KiB, jobs: 32, iodepth: 32}`,
		"RR {aufs|btrfs} 1000\nRR overlay2 {1000|400}\nRR {btrfs|aufs} 400"},
	{"drv-btrfs-blocksize", `
		stack btrfs: /dev/nvme0n1 > btrfs
		workload b4 randread {bs: 4KiB, jobs: 32, iodepth: 32}
		workload b8 randread {bs: 8KiB, jobs: 32, iodepth: 32}
		workload b16 randread {bs: 16KiB, jobs: 32, iodepth: 32}
		workload b32 randread {bs: 32KiB, jobs: 32, iodepth: 32}
		workload b64 randread {bs: 64KiB, jobs: 32, iodepth: 32}
		workload b128 randread {bs: 128KiB, jobs: 32, iodepth: 32}`,
		"b4 btrfs {1000|32000}\nb8 btrfs {1000|8000}\nb16 btrfs {1000|2000}\nb32 btrfs {1000|500}\nb64 btrfs {500|250}\nb128 btrfs {250|125}"},
	{"drv-btrfs-nodatacow", `
		stack cow: /dev/nvme0n1 > btrfs
		stack nocow: /dev/nvme0n1 > btrfs(nodatacow)
		workload RW randwrite {bs: 4KiB, jobs: 32, iodepth: 32}`,
		"RW {cow|nocow} 1000\nRW {nocow|cow} 5000"},
	{"drv-loop-lvm-vs-raw", `
		stack on: loop
		stack off: loop(direct-io=off)
		workload RR randread {bs: 4KiB}`,
		"RR {on|off} 1000\nRR {off|on} 1400 memory=0.01"},
	{"drv-loop-lvm-vs-aufs", `
		stack aufs: /dev/nvme0n1 > xfs > aufs
		stack lvm: /dev/nvme0n1 > xfs > devicemapper
		workload RR randread {bs: 4KiB}`,
		"RR aufs {1000|7000}\nRR lvm {7000|1000} memory=0.01"},
	{"drv-direct-lvm-slow", `
		stack lvm: /dev/nvme0n1 > thin(direct-lvm) > devicemapper
		stack volume: /dev/nvme0n1 > xfs > volume
		workload RR randread {bs: 4KiB, jobs: 32, iodepth: 32}`,
		"RR lvm {500|1000}\nRR volume {1000|500}"},
	{"vol-independent", `
		stack xfs: /dev/nvme0n1 > xfs
		stack volume: /dev/nvme0n1 > xfs > volume
		workload SR read {bs: 128KiB, jobs: 32, iodepth: 32}`,
		"SR xfs 1000\nSR volume {1000|2000}"},
	{"nvmf-high-load", `
		stack near: serial:S1 > xfs
		stack far: nvmeof(transport=rdma, addr=10.0.0.1, nqn=nqn.x) > xfs
		workload RR randread {bs: 4KiB, jobs: 32, iodepth: 32}`,
		"RR near 1000\nRR far {1000|500}"},
	{"lat-clat-nvmf-low", `
		stack near: serial:S1
		stack far: nvmeof(transport=tcp, addr=10.0.0.1, nqn=nqn.x)
		workload RR randread {bs: 4KiB}`,
		"RR near 1000 clat=100000\nRR far 1000 clat={153300|110000}"},
	{"lat-high-extra", `
		stack near: serial:S1
		stack far: nvmeof(transport=rdma, addr=10.0.0.1, nqn=nqn.x)
		workload RR randread {bs: 4KiB, jobs: 16, iodepth: 32}`,
		"RR near 1000 clat=9000000\nRR far 1000 clat={9090000|9900000}"},
	{"lat-slat-low-nvmf", `
		stack far: nvmeof(transport=tcp, addr=10.0.0.1, nqn=nqn.x)
		workload RR randread {bs: 4KiB}`,
		"RR far 1000 slat={10100|90300} clat={89900|9700}"},
	{"lat-high-nvmf", `
		stack far: nvmeof(transport=tcp, addr=10.0.0.1, nqn=nqn.x)
		workload low randread {bs: 4KiB}
		workload high randread {bs: 4KiB, jobs: 16, iodepth: 32}`,
		"{low|high} far 1000 slat=1000 clat=99000\n{high|low} far 1000 slat=1000 clat=1199000"},
	{"lat-slat-low-das", `
		stack raw: /dev/nvme0n1
		workload RR randread {bs: 4KiB}`,
		"RR raw 1000 slat={9700|90300} clat={90300|9700}"},
	{"lat-high-das", `
		stack raw: /dev/nvme0n1
		workload low randread {bs: 4KiB}
		workload high randread {bs: 4KiB, jobs: 16, iodepth: 32}`,
		"{low|high} raw 1000 slat=1000 clat=99000\n{high|low} raw 1000 slat=1000 clat=1999000"},
}

// Nothing is hard-coded: the data decides, and inverted data gives the
// inverted verdict. Trials scatter by a percent, which is less than any claim
// is about.
func TestInvertedDataInvertsTheVerdict(t *testing.T) {
	var covered []string
	for _, c := range confirming {
		covered = append(covered, c.claim)
		t.Run(c.claim, func(t *testing.T) {
			for _, inverted := range []bool{false, true} {
				want := ClaimConfirmed
				if inverted {
					want = ClaimContradicted
				}
				data := pick(c.data, inverted)
				found := 0
				for _, f := range All(tell(t, c.stacks+"\n"+scattered(data, 6))) {
					if f.Claim == nil || f.Claim.ID != c.claim {
						continue
					}
					found++
					if f.Claim.Verdict != want || !strings.HasPrefix(strings.ToLower(f.Title), string(want)) {
						t.Errorf("%s\n%s\nis %s, want %s: %s", c.stacks, data, f.Claim.Verdict, want, f.Claim.Why)
					}
				}
				if found != 1 {
					t.Errorf("%s\n%s\ngives %d findings", c.stacks, data, found)
				}
			}
		})
	}
	for _, r := range claimRules {
		if !slices.Contains(covered, r.id) {
			t.Errorf("%s is not tested with inverted data", r.id)
		}
	}
}

// pick takes the first or the second of each {A|B}.
func pick(text string, second bool) string {
	var b strings.Builder
	for part := range strings.SplitSeq(text, "{") {
		choice, rest, ok := strings.Cut(part, "}")
		if !ok {
			b.WriteString(part)
			continue
		}
		first, other, _ := strings.Cut(choice, "|")
		if second {
			first = other
		}
		b.WriteString(first + rest)
	}
	return b.String()
}

// scattered makes trials of each line's one number.
func scattered(data string, trials int) string {
	var b strings.Builder
	for text := range strings.SplitSeq(data, "\n") {
		words := strings.Fields(text)
		var center float64
		_, _ = fmt.Sscan(words[2], &center)
		fmt.Fprintf(&b, "%s %s", words[0], words[1])
		for i := range trials {
			fmt.Fprintf(&b, " %g", center*(1+0.002*float64(i)-0.005))
		}
		b.WriteString(" " + strings.Join(words[3:], " ") + "\n")
	}
	return b.String()
}

// The experiment that a rule names has the stacks and workloads that the rule
// looks for, so that its run ends with a measured ratio, share or place.
func TestBuiltInExperimentsTestTheirClaims(t *testing.T) {
	for _, r := range claimRules {
		if r.experiment == "" {
			continue
		}
		run := fabricated(t, r.experiment)
		found := false
		for _, f := range published(newView(run)) {
			found = found || f.Claim != nil && f.Claim.ID == r.id && f.Claim.Measured != ""
		}
		if !found {
			t.Errorf("a run of %s does not measure %s", r.experiment, r.id)
		}
	}
}

// fabricated is a run of a built-in experiment in which everything is level.
func fabricated(t *testing.T, name string) *result.Run {
	t.Helper()
	text, ok := examples.Find(name)
	if !ok {
		t.Fatalf("there is no experiment %s", name)
	}
	e, err := experiment.Parse(name, text, experiment.Options{Catalog: layers.Catalog(), Kinds: workloads.All()})
	if err != nil {
		t.Fatal(err)
	}
	if slices.ContainsFunc(e.Stacks, func(s experiment.Stack) bool { return remote(s.Line) }) {
		reach(t, e)
	}
	var story strings.Builder
	for _, s := range e.Stacks {
		fmt.Fprintf(&story, "stack %s: %s\n", s.Name, s.Line)
	}
	for _, w := range e.Workloads {
		fmt.Fprintf(&story, "workload %s %s\n", w.Name, w.Info().Pattern)
	}
	for _, s := range e.Stacks {
		for _, w := range e.Workloads {
			fmt.Fprintf(&story, "%s %s 1000 1001 1002 1003 1004 1005\n", w.Name, s.Name)
		}
	}
	run := tell(t, story.String())
	for i, w := range e.Workloads {
		run.Workloads[i].Declared = w.Info().Declared
	}
	return run
}

// reach gives an experiment on other hosts' devices what users give it: a drive
// of this host, and targets.
func reach(t *testing.T, e *experiment.Experiment) {
	t.Helper()
	var remotes []line.Node
	for _, transport := range []string{"tcp", "rdma"} {
		remotes = append(remotes, sourceOf(t, "nvmeof(transport="+transport+", addr=10.0.0.1, nqn=nqn.x)"))
	}
	drive := sourceOf(t, "serial:S1")
	if _, err := (experiment.Scale{Catalog: layers.Catalog(), On: &drive}).Apply(e); err != nil {
		t.Fatal(err)
	}
	if _, err := experiment.Reach(e, remotes); err != nil {
		t.Fatal(err)
	}
}

func sourceOf(t *testing.T, text string) line.Node {
	t.Helper()
	l, err := line.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return l.Nodes[0]
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
			latency := func(usual float64, label string) result.Latency {
				n := uint64(100)
				if broken {
					n = rapid.SampledFrom([]uint64{0, 1, 100}).Draw(t, label)
				}
				return result.Latency{Count: n, MeanNS: number(usual, label), Bins: []result.Bin{{NS: 1000, Count: n}}}
			}
			for range rapid.SampledFrom([]int{0, 1, 4, 6, 6}).Draw(t, "trials") {
				rate := number(center, "rate")
				trial := result.Trial{Stack: s.Name, Workload: w.Name, Status: result.TrialDone, Honesty: &result.Honesty{Source: source}}
				if broken && rapid.Bool().Draw(t, "skipped") {
					trial.Status, trial.Problem = result.TrialSkipped, &result.Problem{Why: "why"}
				}
				trial.Measurement = &result.Measurement{RuntimeSeconds: 1, UserCPU: number(0.5, "cpu"), Read: result.Direction{
					IOs: 100, IOPS: rate, BytesPerSecond: rate * 4096,
					Submission: latency(10*center, "slat"), Completion: latency(90*center, "clat"), Total: latency(100*center, "lat"),
				}}
				run.Trials = append(run.Trials, trial)
			}
		}
	}
	return run
})

func TestClaimsOfAnyRun(t *testing.T) {
	seen := map[ClaimVerdict]bool{}
	rapid.Check(t, func(t *rapid.T) {
		run := anyClaimRun.Draw(t, "run")
		found := published(newView(run))
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
				if c.Why == "" || c.Published == "" || c.Statement == "" || c.Verdict != ClaimNotTestable && c.Measured == "" {
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
		if again := published(newView(&other)); !reflect.DeepEqual(found, again) {
			t.Fatalf("in another order of trials %+v\n\nbecomes\n\n%+v", found, again)
		}
	})
	if len(seen) != 3 {
		t.Errorf("verdicts met: %v; this shows little", seen)
	}
}

// The verdict does not hang on names.
func TestClaimsDoNotReadNames(t *testing.T) {
	for _, c := range confirming {
		run := tell(t, c.stacks+"\n"+scattered(pick(c.data, false), 6))
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
			run.Trials[i].Stack, run.Trials[i].Workload = rename(run.Trials[i].Stack), rename(run.Trials[i].Workload)
		}
		if !slices.ContainsFunc(All(run), func(f Finding) bool {
			return f.Claim != nil && f.Claim.ID == c.claim && f.Claim.Verdict == ClaimConfirmed
		}) {
			t.Errorf("%s is not confirmed under other names", c.claim)
		}
	}
}

func TestJudgeRatio(t *testing.T) {
	inf := math.Inf(1)
	same := claims.Claim{Kind: claims.Ratio, Value: &claims.Value{Low: 1, High: 1}, Tolerance: 0.1}
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
		want             ClaimVerdict
	}{
		{"within", same, 1, 0.95, 1.05, false, 5, ClaimConfirmed},
		{"within, though it differs", same, 0.96, 0.95, 0.98, true, 5, ClaimConfirmed},
		{"wider", same, 1, 0.8, 1.2, false, 5, ClaimNotTestable},
		{"reaches out", same, 0.92, 0.88, 0.95, true, 5, ClaimNotTestable},
		{"outside", same, 0.8, 0.7, 0.89, true, 5, ClaimContradicted},
		{"few", same, 1, 0.99, 1.01, false, 3, ClaimNotTestable},
		{"overlaps and excludes 1", five, 3.4, 2.3, 6, true, 5, ClaimConfirmed},
		{"reaches far beyond", five, 7, 5.9, 12, true, 5, ClaimConfirmed},
		{"overlaps and holds 1", five, 3.4, 0.9, 6, true, 5, ClaimNotTestable},
		{"overlaps, not significant", five, 3.4, 2.3, 6, false, 5, ClaimNotTestable},
		{"too wide", five, 222, 5, 2427, true, 5, ClaimNotTestable},
		{"wider than the effect", gap, 0.7, 0.6, 0.99, true, 5, ClaimNotTestable},
		{"less", five, 3, 2.3, 3.9, true, 5, ClaimContradicted},
		{"more", five, 8, 7, 9, true, 5, ClaimContradicted},
		{"nothing", five, 1, 0.9, 1.1, false, 5, ClaimContradicted},
		{"gap", gap, 0.79, 0.78, 0.9, true, 5, ClaimConfirmed},
		{"gap, the other way", gap, 1.3, 1.2, 1.4, true, 5, ClaimContradicted},
		{"below", less, 0.9, 0.8, 1.01, true, 5, ClaimConfirmed},
		{"not below", less, 1.1, 1.01, 1.2, true, 5, ClaimContradicted},
		{"neither", less, 0.9, 0.8, 0.99, false, 5, ClaimNotTestable},
		{"above", above3, 4, 3.1, 5, true, 5, ClaimConfirmed},
		{"not above", above3, 2, 1.5, 2.9, true, 5, ClaimContradicted},
		{"perhaps above", above3, 3, 2, 4, true, 5, ClaimNotTestable},
	} {
		e := Effect{Ratio: c.ratio, Low: c.low, High: c.high, Differs: c.differs, P: 0.01, N: [2]int{c.n, c.n}}
		if got := judgeRatio(c.claim, e); got.verdict != c.want || got.why == "" {
			t.Errorf("%s: %s (%s), want %s", c.name, got.verdict, got.why, c.want)
		}
	}
}

func TestJudgeShare(t *testing.T) {
	c := claims.Claim{Kind: claims.Absolute, Unit: "share", Value: &claims.Value{Low: 0.1, High: 0.1}} // 8% to 12%
	for _, k := range []struct {
		low, high, coverage float64
		want                ClaimVerdict
	}{
		{0.09, 0.11, 0.97, ClaimConfirmed}, {0.09, 0.13, 0.97, ClaimNotTestable}, {0.2, 0.3, 0.97, ClaimContradicted},
		{0.01, 0.02, 0.97, ClaimContradicted}, {0.09, 0.11, 0.94, ClaimNotTestable},
	} {
		if got := judgeShare(c, stats.Interval{Low: k.low, High: k.high, Coverage: k.coverage}); got.verdict != k.want {
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
		if got := publishedText(c); got != want {
			t.Errorf("%s is published as %q, want %q", id, got, want)
		}
	}
}

func TestNolockByDefault(t *testing.T) {
	for kernel, want := range map[string]bool{
		"4.6.0": false, "5.5.19-amd64": false, "5.6.0": true, "5.10": true, "6.18.44-x": true, "10.0.1": true, "": true, "unknown": true,
	} {
		if got := newView(&result.Run{Environment: result.Environment{Kernel: kernel}}).nolockByDefault(); got != want {
			t.Errorf("%q: %t", kernel, got)
		}
	}
}

func TestCanonical(t *testing.T) {
	for _, same := range [][2]string{
		{"loop(size=1GiB, direct-io=on)", "loop(size=1GiB)"},
		{"loop(direct-io=off,size=1GiB)", "loop(size=1GiB, direct-io=off)"},
		{"/dev/sdb > ext4(mount=\"a,b\")", "/dev/sdb > ext4(mount=\"b,a\")"},
	} {
		a, errA := line.Parse(same[0])
		b, errB := line.Parse(same[1])
		if errA != nil || errB != nil {
			t.Fatal(errA, errB)
		}
		if canonical(a) != canonical(b) {
			t.Errorf("%s and %s", canonical(a), canonical(b))
		}
	}
	a, _ := line.Parse("loop(size=1GiB, direct-io=off)")
	b, _ := line.Parse("loop(size=1GiB)")
	if canonical(a) == canonical(b) {
		t.Error("direct-io=off is no default")
	}
}

func TestGroundsTellOfCPU(t *testing.T) {
	run := tell(t, `
		stack raw: /dev/nvme0n1
		stack xfs: /dev/nvme0n1 > xfs
		workload RR randread {bs: 4KiB, jobs: 4, iodepth: 8}
		RR raw 1000 1010 1020 1030
		RR xfs 1000 1010 1020 1030`)
	for i := range run.Trials {
		m := run.Trials[i].Measurement
		// 4 jobs at half of a core each for 120 s.
		m.UserCPU, m.SystemCPU, m.Read.IOs = 0.2, 0.3, 24_000_000
		if run.Trials[i].Stack == "xfs" {
			m.Read.IOs /= 2
		}
	}
	i := slices.IndexFunc(All(run), func(f Finding) bool { return f.Claim != nil && f.Claim.ID == "fs-xfs-near-raw" })
	if i < 0 {
		t.Fatal("the claim is not tested")
	}
	if why := All(run)[i].Why; !strings.Contains(why, "An I/O takes 20.0 us of fio's CPU time on xfs and 10.0 us on raw.") {
		t.Error(why)
	}
}
