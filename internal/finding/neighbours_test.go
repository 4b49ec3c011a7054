package finding

import (
	"slices"
	"strings"
	"testing"

	"plimsoll/internal/fact"
	"plimsoll/internal/result"
)

// beside describes what other processes did during a trial of 2 s on 4 CPUs: their I/Os of 4 KiB, of total I/Os of the
// disk, and their shares of the processors' time.
type beside struct {
	stack     string
	othersIOs uint64
	cpu       float64
	steal     float64
	how       string
	names     []string
	runs      []string
	memory    bool
	total     uint64 // I/Os; 0 for 1000
}

func runBeside(neighbours ...beside) *result.Run {
	run := &result.Run{Status: result.RunComplete, Workloads: []result.Workload{{Name: "RR"}}}
	for i, b := range neighbours {
		if !slices.ContainsFunc(run.Stacks, func(s result.Stack) bool { return s.Name == b.stack }) {
			run.Stacks = append(run.Stacks, result.Stack{Name: b.stack, Line: "loop > xfs"})
		}
		if b.total == 0 {
			b.total = 1000
		}
		if b.how == "" {
			b.how = result.ByControlGroup
		}
		source := result.SourceDevice
		if b.memory {
			source = result.SourceMemory
		}
		reads := func(n uint64) result.IOCount { return result.IOCount{Reads: n, ReadBytes: n * 4096} }
		run.Trials = append(run.Trials, result.Trial{
			Seq: i + 1, Block: 1, Repeat: i + 1, Stack: b.stack, Mix: "RR", Status: result.TrialDone,
			Instances: result.One(&result.Measurement{Seconds: 2, Operations: result.ReadsWrites(result.Operation{Count: 1000, Rate: 500}, result.Operation{})}),
			Checks:    []result.Honesty{{Source: source}},
			Neighbours: &result.Neighbours{
				Disks: []result.DiskShare{{Device: "vda", How: b.how, All: reads(b.total), Own: reads(b.total - b.othersIOs),
					Others: reads(b.othersIOs), Names: b.names}},
				CPU:  &result.CPUShare{CPUs: 4, Seconds: 2, OthersSeconds: 8 * b.cpu, StealSeconds: 8 * b.steal},
				Runs: b.runs,
			},
		})
	}
	return run
}

func TestWhatIsSaidOfNeighbours(t *testing.T) {
	for _, c := range []struct {
		name   string
		trials []beside
		says   string // "" for nothing
		stacks []string
	}{
		{name: "a quiet host", trials: []beside{{stack: "a", othersIOs: 3, cpu: 0.02, steal: 0.001}, {stack: "b"}}},
		{
			name: "a neighbor on the disk", trials: []beside{{stack: "a", othersIOs: 400, names: []string{"fio"}}},
			says: "The host was not quiet: others, mostly fio, did 40% of the I/O on vda", stacks: []string{"a"},
		},
		{
			name: "who weighs more beside a slow stack",
			trials: []beside{
				{stack: "fast", total: 100_000, othersIOs: 1000, names: []string{"cp"}},
				{stack: "slow", othersIOs: 330, names: []string{"cp", "fio in /x"}},
				{stack: "slow", othersIOs: 330, names: []string{"cp"}},
			},
			says: "The host was not quiet: others, mostly cp and fio in /x, did 1% to 33% of the I/O on vda, most beside slow", stacks: []string{"slow"},
		},
		{
			name: "by counters", trials: []beside{{stack: "a", othersIOs: 200, how: result.ByCounters}},
			says: "The host was not quiet: others did at least 20% of the I/O on vda", stacks: []string{"a"},
		},
		{name: "most of next to nothing", trials: []beside{{stack: "a", total: 20, othersIOs: 15}}},
		{name: "a disk that did not answer", trials: []beside{{stack: "a", othersIOs: 900, memory: true}}},
		{
			name: "processors", trials: []beside{{stack: "a", cpu: 0.5}, {stack: "a", cpu: 0.3}},
			says: "The host was not quiet: other programs used 40% of the processors' time",
		},
		{
			name: "a crowded hypervisor", trials: []beside{{stack: "a", cpu: 0.05, steal: 0.06}},
			says: "The host was not quiet: 6% of the processors' time went to other virtual machines",
		},
		{
			name: "all at once", trials: []beside{{stack: "a", othersIOs: 100, cpu: 0.2, steal: 0.06,
				runs: []string{"quick-1"}}},
			says: "The host was not quiet: others did 10% of the I/O on vda; other programs used 20% of the processors' time, and 6% went to " +
				"other virtual machines; another run of plimsoll was under way, quick-1", stacks: []string{"a"},
		},
		{
			name: "another run", trials: []beside{{stack: "a", runs: []string{"q1"}}, {stack: "b", runs: []string{"q1", "q2"}}},
			says: "The host was not quiet: other runs of plimsoll were under way, q1 and q2",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			var found []fact.Finding
			for _, f := range All(runBeside(c.trials...)) {
				if f.Kind == fact.KindNeighbours {
					found = append(found, f)
				}
			}
			if c.says == "" {
				if len(found) > 0 {
					t.Errorf("it is said: %s", found[0].Title)
				}
				return
			}
			if len(found) != 1 || found[0].Title != c.says || found[0].Neighbours == nil ||
				!slices.Equal(found[0].Stacks, c.stacks) {
				t.Errorf("got %+v, want %q of %v", found, c.says, c.stacks)
			}
			if len(found) == 1 && !strings.Contains(found[0].Why, "quiet") {
				t.Errorf("no remedy: %s", found[0].Why)
			}
		})
	}
}

// What was measured before anybody looked, or elsewhere, says nothing.
func TestNothingIsSaidOfNeighboursThatNobodyLookedFor(t *testing.T) {
	run := runBeside(beside{stack: "a", othersIOs: 400})
	run.Trials[0].Neighbours = nil
	for _, f := range All(run) {
		if f.Kind == fact.KindNeighbours {
			t.Errorf("it is said: %s", f.Title)
		}
	}
}
