package finding

import (
	"strings"
	"testing"

	"plimsoll/internal/result"
	"plimsoll/internal/result/hist"
)

// Stacks that were measured in the lab are named as such, and no others.
func TestTheLabIsACaveat(t *testing.T) {
	for _, marks := range [][]result.Mark{{result.MarkLab}, {result.MarkLoop, result.MarkLab}, {result.MarkLoop}, nil} {
		run := &result.Run{
			Stacks:    []result.Stack{{Name: "here", Marks: marks}},
			Workloads: []result.Workload{{Name: "RR"}},
			Trials: []result.Trial{{
				Seq: 1, Block: 1, Repeat: 1, Stack: "here", Mix: "RR", Status: result.TrialDone,
				Instances: result.One(&result.Measurement{Seconds: 60, Operations: result.ReadsWrites(result.Operation{Count: 10, Rate: 1, Latency: map[result.Stage]hist.Histogram{result.Total: {Count: 10, MaxNS: 7}}}, result.Operation{})}),
			}},
		}
		found := false
		for _, f := range All(run) {
			found = found || f.ID == "caveats/lab" && strings.HasPrefix(f.Title, "1 stack was measured in the lab")
		}
		if want := len(marks) > 0 && marks[len(marks)-1] == result.MarkLab; found != want {
			t.Errorf("with the marks %q the caveat is said: %v", marks, found)
		}
	}
}

// Numbers of a server that answers in the place of another one say so; those of the other itself do not.
func TestAStandInIsACaveat(t *testing.T) {
	for version, want := range map[string]string{
		"FerretDB, in place of MongoDB 7.0.42": "FerretDB, in place of MongoDB 7.0.42: no number of A says how fast the other one is",
		"8.0.4":                                "",
	} {
		run := &result.Run{
			Stacks:    []result.Stack{{Name: "disk"}},
			Workloads: []result.Workload{{Name: "A", Image: &result.Image{Name: "mongo:8", Version: version}}},
			Trials: []result.Trial{{
				Seq: 1, Block: 1, Repeat: 1, Stack: "disk", Mix: "A", Status: result.TrialDone,
				Instances: result.One(&result.Measurement{Seconds: 60, Operations: result.ReadsWrites(result.Operation{Count: 10, Rate: 1, Latency: map[result.Stage]hist.Histogram{result.Total: {Count: 10, MaxNS: 7}}}, result.Operation{})}),
			}},
		}
		title := ""
		for _, f := range All(run) {
			if f.ID == "caveats/stand-in" {
				title = f.Title
			}
		}
		if title != want {
			t.Errorf("of %s it says %q, want %q", version, title, want)
		}
	}
}

// Clients on another machine are a caveat, and another one where their processors were busy, by the busiest trial.
func TestClientsAreACaveat(t *testing.T) {
	load := result.Operation{Count: 10, Rate: 1, Latency: map[result.Stage]hist.Histogram{result.Total: {Count: 10, MaxNS: 7}}}
	for _, c := range []struct {
		host       string
		user       []float64 // CPUs, by trial
		from, busy string
	}{
		{"ssh://bench@c1", []float64{0.1, 0.2}, "The load of disk came from ssh://bench@c1: latencies have the network in them", ""},
		{"ssh://bench@c1", []float64{3.5, 0.2}, "The load of disk came from ssh://bench@c1: latencies have the network in them",
			"The clients were the bottleneck of disk: 95% of the 4 CPUs of ssh://bench@c1 were busy"},
		{"", []float64{3.9}, "", ""},
	} {
		run := &result.Run{Stacks: []result.Stack{{Name: "disk"}}, Workloads: []result.Workload{{Name: "A"}}}
		if c.host != "" {
			run.Experiment.Clients = &result.Clients{Host: c.host}
		}
		for i, user := range c.user {
			run.Trials = append(run.Trials, result.Trial{
				Seq: i + 1, Block: i + 1, Repeat: i + 1, Stack: "disk", Mix: "A", Status: result.TrialDone,
				Instances: result.One(&result.Measurement{Seconds: 60, Operations: result.ReadsWrites(load, result.Operation{})}),
				ClientCPU: &result.ClientCPU{CPUs: 4, Seconds: 60, User: user, System: 0.2, Steal: 0.1, IOWait: 0.1},
			})
		}
		titles := map[string]string{}
		for _, f := range All(run) {
			titles[f.ID] = f.Title
		}
		if titles["caveats/clients"] != c.from || titles["caveats/clients-saturated"] != c.busy {
			t.Errorf("%v of %q: it says %q and %q", c.user, c.host, titles["caveats/clients"],
				titles["caveats/clients-saturated"])
		}
	}
}
