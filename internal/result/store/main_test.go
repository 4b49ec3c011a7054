package store

import (
	"fmt"
	"math"
	"os"
	"strconv"
	"testing"
	"time"

	"pgregory.net/rapid"

	"plimsoll/internal/problem"
	"plimsoll/internal/result"
	"plimsoll/internal/result/hist"
)

// childEnv makes the test binary a process that saves trials until it is
// killed.
const childEnv = "PLIMSOLL_STORE_TEST_CHILD"

func TestMain(m *testing.M) {
	if dir := os.Getenv(childEnv); dir != "" {
		if os.Getenv(childEnv+"_PLANS") != "" {
			os.Exit(planUntilKilled(dir))
		}
		os.Exit(saveUntilKilled(dir))
	}
	os.Exit(m.Run())
}

// plannedRun is a run of n planned trials over two stacks.
func plannedRun(n int) result.Run {
	run := result.Run{
		Schema: result.SchemaVersion, ID: "20260512-093000-test-0001", Version: "test", Status: result.RunRunning, Seed: 7,
		Command: []string{"plimsoll", "run", "quick"}, Started: time.Date(2026, 5, 12, 9, 30, 0, 0, time.UTC),
		Experiment: result.Experiment{Name: "quick", Baseline: "ext4", Repeat: n, Source: "name: quick\n"},
		Stacks: []result.Stack{{Name: "ext4", Line: "loop(size=1GiB) > ext4"},
			{Name: "xfs", Line: "loop(size=1GiB) > xfs"}},
		Workloads: []result.Workload{{Name: "RR", Kind: "fio", Pattern: "randread"}},
	}
	for i := range n {
		run.Trials = append(run.Trials, result.Trial{
			Seq: i + 1, Block: i/2 + 1, Repeat: i/2 + 1, Stack: run.Stacks[i%2].Name, Mix: "RR", Status: result.TrialPlanned,
		})
	}
	return run
}

// done is a planned trial as it ends; every trial has numbers of its own.
func done(t result.Trial, bins int) result.Trial {
	t.Status = result.TrialDone
	t.Started = time.Date(2026, 5, 12, 9, 30, t.Seq, 123456789, time.UTC)
	t.ElapsedSeconds = 1.5 + float64(t.Seq)
	l := hist.Histogram{MeanNS: float64(t.Seq) / 3, MinNS: 1}
	packed := make([]hist.Bin, bins)
	for i := range packed {
		packed[i] = hist.Bin{NS: uint64(1000 + i*i*64 + t.Seq), Count: uint64(i*7 + t.Seq)}
		l.Count, l.MaxNS = l.Count+packed[i].Count, packed[i].NS
	}
	l.Bins = hist.Pack(packed)
	ratio := 1.0
	t.Instances = result.One(&result.Measurement{Seconds: 1,
		Operations: result.ReadsWrites(result.Operation{Count: uint64(t.Seq), Rate: float64(t.Seq) / 7,
			Latency: map[result.Stage]hist.Histogram{result.Total: l, result.Completion: l}}, result.Operation{})})
	t.Checks = []result.Honesty{{Source: result.SourceDevice, Ratio: &ratio,
		Served: []result.DeviceCounter{{Device: result.Device{Name: "loop0"}, Reads: 5}}}}
	return t
}

// saveUntilKilled goes on with the run in dir, or begins one, and prints each
// trial that the store acknowledged.
func saveUntilKilled(dir string) int {
	s, err := Open(dir)
	if err != nil {
		n, _ := strconv.Atoi(os.Getenv(childEnv + "_TRIALS"))
		s, err = Create(dir, plannedRun(n))
	}
	if err != nil {
		fmt.Println(err)
		return 1
	}
	fmt.Println("open")
	for _, t := range s.Run().Trials {
		if t.Status != result.TrialPlanned {
			continue
		}
		if err := s.SaveTrial(done(t, 200)); err != nil {
			fmt.Println(err)
			return 1
		}
		fmt.Println("saved", t.Seq)
	}
	return 0
}

// planUntilKilled goes on with the run in dir, or begins one, and plans three
// trials, saves two and withdraws the third, again and again. It prints how
// many trials there are after each step that the store acknowledged.
func planUntilKilled(dir string) int {
	s, err := Open(dir)
	if err != nil {
		s, err = Create(dir, plannedRun(0))
	}
	if err != nil {
		fmt.Println(err)
		return 1
	}
	fmt.Println("open")
	for {
		have := s.Run().Trials
		planned := 0
		for _, t := range have {
			if t.Status == result.TrialPlanned {
				planned++
			}
		}
		// What another one began is brought to its end first.
		step, after := "planned", len(have)+3
		switch {
		case planned == 0:
			err = s.Plan(plannedRun(len(have) + 3).Trials[len(have):])
		case planned == 1 && len(have)%2 == 1:
			step, after = "withdrawn", len(have)-1
			err = s.Withdraw(1)
		default:
			step, after = "saved", len(have)
			err = s.SaveTrial(done(have[len(have)-planned], 200))
		}
		if err != nil {
			fmt.Println(err)
			return 1
		}
		fmt.Println(step, after)
	}
}

// Generators of anything a run may hold.

func anyText() *rapid.Generator[string] { return rapid.StringN(0, 12, -1) }

func anyFloat() *rapid.Generator[float64] {
	return rapid.Float64().Filter(func(f float64) bool { return !math.IsNaN(f) && !math.IsInf(f, 0) })
}

func anyTime() *rapid.Generator[time.Time] {
	return rapid.Custom(func(t *rapid.T) time.Time {
		if rapid.Bool().Draw(t, "zero") {
			return time.Time{}
		}
		return time.Unix(rapid.Int64Range(0, 4e9).Draw(t, "s"), rapid.Int64Range(0, 999999999).Draw(t, "ns")).UTC()
	})
}

// some draws a nil slice or one with values: an empty one is read back as nil.
func sliceOf[T any](g *rapid.Generator[T]) *rapid.Generator[[]T] {
	return rapid.Custom(func(t *rapid.T) []T {
		s := rapid.SliceOfN(g, 0, 5).Draw(t, "slice")
		if len(s) == 0 {
			return nil
		}
		return s
	})
}

func anyLatency() *rapid.Generator[hist.Histogram] {
	return rapid.Custom(func(t *rapid.T) hist.Histogram {
		return hist.Histogram{
			Count: rapid.Uint64().Draw(t, "count"), MeanNS: anyFloat().Draw(t, "mean"),
			MinNS: rapid.Uint64().Draw(t, "min"), MaxNS: rapid.Uint64().Draw(t, "max"),
			Bins: hist.Pack(sliceOf(rapid.Custom(func(t *rapid.T) hist.Bin {
				return hist.Bin{NS: rapid.Uint64().Draw(t, "ns"), Count: rapid.Uint64().Draw(t, "n")}
			})).Draw(t, "bins")),
		}
	})
}

func anyDirection() *rapid.Generator[result.Operation] {
	return rapid.Custom(func(t *rapid.T) result.Operation {
		return result.Operation{
			Count: rapid.Uint64().Draw(t, "ios"), Bytes: rapid.Uint64().Draw(t, "bytes"),
			Rate: anyFloat().Draw(t, "iops"), BytesPerSecond: anyFloat().Draw(t, "bps"),
			Latency: map[result.Stage]hist.Histogram{result.Submission: anyLatency().Draw(t, "submission"),
				result.Completion: anyLatency().Draw(t, "completion"), result.Total: anyLatency().Draw(t, "total")},
		}
	})
}

// anyEnd ends a planned trial in any way.
func anyEnd(planned result.Trial) *rapid.Generator[result.Trial] {
	return rapid.Custom(func(t *rapid.T) result.Trial {
		end := planned
		end.Status = rapid.SampledFrom([]result.TrialStatus{result.TrialDone, result.TrialFailed,
			result.TrialSkipped}).Draw(t, "status")
		end.Started, end.ElapsedSeconds = anyTime().Draw(t, "started"), anyFloat().Draw(t, "elapsed")
		end.Artifacts = anyText().Draw(t, "artifacts")
		if rapid.Bool().Draw(t, "problem") {
			end.Problem = &problem.Problem{What: anyText().Draw(t, "what"), Why: anyText().Draw(t, "why"),
				Remedy: anyText().Draw(t, "remedy")}
		}
		if rapid.Bool().Draw(t, "measured") {
			for i := range rapid.IntRange(1, 3).Draw(t, "instances") {
				in := result.Instance{Index: i, Tenant: anyText().Draw(t, "tenant"), Workload: anyText().Draw(t, "workload")}
				if rapid.Bool().Draw(t, "alive") {
					in.Measurement = &result.Measurement{
						Seconds: anyFloat().Draw(t, "runtime"), UserCPU: anyFloat().Draw(t, "usr"), SystemCPU: anyFloat().Draw(t, "sys"),
						Operations: result.ReadsWrites(anyDirection().Draw(t, "read"), anyDirection().Draw(t, "write")),
					}
				} else {
					in.Problem = &problem.Problem{What: anyText().Draw(t, "what"), Why: "killed"}
				}
				end.Instances = append(end.Instances, in)
			}
		}
		if rapid.Bool().Draw(t, "honesty") {
			end.Checks = []result.Honesty{{
				Source: result.Source(anyText().Draw(t, "source")), Reason: anyText().Draw(t, "reason"),
				Ratio: rapid.Ptr(anyFloat(), true).Draw(t, "ratio"),
				Served: sliceOf(rapid.Custom(func(t *rapid.T) result.DeviceCounter {
					return result.DeviceCounter{Device: anyDevice().Draw(t, "device"), Reads: rapid.Uint64().Draw(t, "reads"),
						WriteBytes: rapid.Uint64().Draw(t, "written"), PerIO: anyFloat().Draw(t, "per io")}
				})).Draw(t, "served"),
			}}
		}
		if rapid.Bool().Draw(t, "traced") {
			end.Trace = &result.Trace{
				Recorder: anyText().Draw(t, "recorder"), Lost: rapid.Uint64().Draw(t, "lost"),
				Missing: sliceOf(anyText()).Draw(t, "missing"),
				Read:    rapid.Ptr(anyBreakdown(), true).Draw(t, "read parts"),
				Write:   rapid.Ptr(anyBreakdown(), true).Draw(t, "write parts"),
				Served: sliceOf(rapid.Custom(func(t *rapid.T) result.Served {
					return result.Served{Device: anyText().Draw(t, "device"), Owner: anyText().Draw(t, "owner"),
						Requests: rapid.Uint64().Draw(t, "requests")}
				})).Draw(t, "served"),
			}
		}
		end.Untraced = anyText().Draw(t, "untraced")
		return end
	})
}

// anyBreakdown has each part at most once, as all have.
func anyBreakdown() *rapid.Generator[result.Breakdown] {
	return rapid.Custom(func(t *rapid.T) result.Breakdown {
		b := result.Breakdown{
			IOs: rapid.Uint64().Draw(t, "ios"), TotalNS: anyFloat().Draw(t, "total"), ResidueNS: anyFloat().Draw(t, "residue"),
			EntryNS: anyFloat().Draw(t, "entry"), PerIO: anyFloat().Draw(t, "per io"),
		}
		for _, name := range []result.PartName{result.PartUser, result.PartKernel, result.PartBlock, result.PartDevice} {
			if rapid.Bool().Draw(t, string(name)) {
				b.Parts = append(b.Parts, result.TracePart{
					Name: name, MeanNS: anyFloat().Draw(t, "mean"), From: anyText().Draw(t, "from"),
					Latency: rapid.Ptr(anyLatency(), true).Draw(t, "latency"),
				})
			}
		}
		return b
	})
}

func anyDevice() *rapid.Generator[result.Device] {
	return rapid.Custom(func(t *rapid.T) result.Device {
		return result.Device{Name: anyText().Draw(t, "name"), MajMin: anyText().Draw(t, "majmin"),
			Role: anyText().Draw(t, "role")}
	})
}

func anyStack(name string) *rapid.Generator[result.Stack] {
	return rapid.Custom(func(t *rapid.T) result.Stack {
		return result.Stack{
			Name: name, Line: anyText().Draw(t, "line"),
			Marks: sliceOf(rapid.SampledFrom([]result.Mark{result.MarkLoop, result.MarkMemory,
				result.MarkShared})).Draw(t, "marks"),
			Devices: sliceOf(anyDevice()).Draw(t, "devices"),
			Facts: sliceOf(rapid.Custom(func(t *rapid.T) result.Fact {
				return result.Fact{Name: anyText().Draw(t, "fact"), Value: anyText().Draw(t, "value")}
			})).Draw(t, "facts"),
		}
	})
}

func anyEnvironment() *rapid.Generator[result.Environment] {
	return rapid.Custom(func(t *rapid.T) result.Environment {
		return result.Environment{
			Hostname: anyText().Draw(t, "host"), Kernel: anyText().Draw(t, "kernel"), CPUs: rapid.Int().Draw(t, "cpus"),
			MemoryBytes: rapid.Uint64().Draw(t, "memory"), Notes: sliceOf(anyText()).Draw(t, "notes"),
			Devices: sliceOf(rapid.Custom(func(t *rapid.T) result.DeviceInfo {
				return result.DeviceInfo{Name: anyText().Draw(t, "name"), SizeBytes: rapid.Uint64().Draw(t, "size"),
					Rotational: rapid.Bool().Draw(t, "rotational")}
			})).Draw(t, "devices"),
		}
	})
}
