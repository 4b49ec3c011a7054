package labtest

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/result"
)

// atTarget is what plimsoll trace record --export prints, as far as it is looked at.
type atTarget struct {
	Lost    uint64          `json:"lost"`
	Target  []requestsThere `json:"target"`
	Devices []struct {
		Name string `json:"name"`
		NQN  string `json:"nqn"`
	} `json:"devices"`
	By struct {
		Device []requestsThere `json:"device"`
	} `json:"by"`
}

type requestsThere struct {
	Key       string `json:"key"`
	NQN       string `json:"nqn"`
	Device    string `json:"device"`
	Requests  uint64 `json:"requests"`
	Intervals map[string]struct {
		Count  uint64  `json:"count"`
		SumNS  uint64  `json:"sum_ns"`
		MeanNS float64 `json:"mean_ns"`
		P50NS  float64 `json:"p50_ns"`
	} `json:"intervals"`
}

// recordsItsRequests traces runs over both transports, while the target records its
// requests: what an initiator waits is the fabric's, the target's and its
// device's.
func (f fabric) recordsItsRequests(t *testing.T) {
	const port = "9100"
	began := time.Now()
	note := func(what string) { t.Logf("%s after %s", what, time.Since(began).Round(100*time.Millisecond)) }
	metrics := f.target.serve(t, "metrics", "plimsoll target metrics --trace --addr "+targetIP+" --port "+port)
	record := f.target.serve(t, "record",
		"plimsoll trace record --json --export "+overTCP.nqn()+" --export "+overRDMA.uuid)
	text := "name: traced\nquestion: Where is the time?\nrepeat: 1\nruntime: 1s\nseed: 1\ntrace: true\ncontrol: " +
		"false\nstacks:\n"
	for _, s := range []space{overTCP, overRDMA} {
		text += fmt.Sprintf("  %s: '%s'\n", s.transport, strings.TrimSuffix(s.source(), ")")+", metrics="+port+")")
	}
	f.server.put(t, "traced.yaml", text+"workloads:\n  M: {fio: {rw: randrw, bs: 64KiB, iodepth: 1, size: 4MiB}}\n")
	metrics.says(t, "metrics=")
	record.says(t, "^recording")
	note("the target is recorded")
	f.server.do(t, "plimsoll run traced.yaml --quiet --destroy uuid:"+overTCP.uuid+" --destroy uuid:"+overRDMA.uuid+
		" -o traced-run")
	note("the runs are over")
	var run result.Run
	var there atTarget
	parse := func(text string, into any) {
		if err := json.Unmarshal([]byte(text), into); err != nil {
			t.Fatalf("%v: %s", err, tail(text))
		}
	}
	metrics.interrupt(t)
	parse(record.interrupt(t), &there)
	parse(f.server.do(t, "cat traced-run/run.json"), &run)
	f.partsOfTheTarget(t, run)
	there.closes(t)
	note("all is looked at")
}

// served is a program that runs in a guest until it is interrupted.
type served struct {
	*guest
	name string
	wait func() (int, string)
}

// serve starts a program in the background.
func (g *guest) serve(t *testing.T, name, command string) served {
	t.Helper()
	return served{g, name, g.background(t, fmt.Sprintf("%s >%s.out 2>%s.said & echo $! >%s.pid; wait $!; cat "+
		"%s.said; true", command, name, name, name, name))}
}

// says waits until it says something.
func (s served) says(t *testing.T, what string) {
	t.Helper()
	s.until(t, s.name+" is ready", fmt.Sprintf("grep -qs '%s' %s.out %s.said", what, s.name, s.name))
}

// interrupt ends it, and gives its standard output.
func (s served) interrupt(t *testing.T) string {
	t.Helper()
	s.do(t, "kill -INT $(cat "+s.name+".pid)")
	_, said := s.wait()
	t.Logf("%s said: %s", s.name, tail(said))
	return s.do(t, "cat "+s.name+".out")
}

// partsOfTheTarget checks what the initiator tells.
func (f fabric) partsOfTheTarget(t *testing.T, run result.Run) {
	t.Helper()
	if len(run.Trials) != 2 {
		t.Errorf("%d trials", len(run.Trials))
	}
	for _, trial := range run.Trials {
		if trial.Trace == nil || trial.Trace.Read == nil || trial.Trace.Write == nil {
			t.Errorf("%s was not traced: %s, %+v", trial.Stack, trial.Untraced, trial.Problem)
			continue
		}
		missing := strings.Join(trial.Trace.Missing, "; ")
		for op, b := range map[string]*result.Breakdown{"reads": trial.Trace.Read, "writes": trial.Trace.Write} {
			parts := map[result.PartName]float64{}
			for _, p := range b.Parts {
				parts[p.Name] = p.MeanNS
			}
			t.Logf("%s, %s: %.0f ns: %v, residue %.0f", trial.Stack, op, b.TotalNS, parts, b.ResidueNS)
			for _, name := range []result.PartName{result.PartFabric, result.PartTarget, result.PartDevice} {
				fetched := name == result.PartTarget && op == "writes"
				others := name == result.PartFabric && strings.Contains(missing, "the mean of all of them")
				if (parts[name] > 0) == fetched && !others {
					t.Errorf("%s, %s: %s takes %.0f ns", trial.Stack, op, name, parts[name])
				}
			}
		}
		if !strings.Contains(missing, "fetch the data of 100%") {
			t.Errorf("%s: it does not say that the target's part of writes is not known: %s", trial.Stack, missing)
		}
	}
}

// closes checks what the target tells.
func (r atTarget) closes(t *testing.T) {
	t.Helper()
	if r.Lost > 0 {
		t.Errorf("the target lost %d events", r.Lost)
	}
	seen := map[string]bool{}
	for _, n := range r.Target {
		whole, device := n.Intervals["T"], n.Intervals["Q2C"]
		parts := n.Intervals["A2Q"].SumNS + n.Intervals["F2Q"].SumNS + device.SumNS
		if whole.Count != n.Requests || device.Count != n.Requests && n.Key != "flush" {
			t.Errorf("%s, %s: %d requests, with %d T and %d Q2C", n.Device, n.Key, n.Requests, whole.Count, device.Count)
		}
		if device.Count == whole.Count && parts != whole.SumNS {
			t.Errorf("%s, %s: T is %d ns and its parts %d", n.Device, n.Key, whole.SumNS, parts)
		}
		if fetched := n.Intervals["F2Q"].Count; n.Key == "write" && fetched == 0 || n.Key == "read" && fetched > 0 {
			t.Errorf("%s, %s: the data of %d was fetched", n.Device, n.Key, fetched)
		}
		t.Logf("%s, %s: %+v", n.Device, n.Key, n.Intervals)
		seen[n.NQN+" "+n.Key] = true
	}
	for _, s := range []space{overTCP, overRDMA} {
		for _, op := range []string{"read", "write"} {
			if !seen[s.nqn()+" "+op] {
				t.Errorf("no %s of %s was recorded", op, s.nqn())
			}
		}
	}
	// The device's own account is of these requests, and of a few that the target
	// has itself: the mean may be theirs, the median is not.
	all := map[string]requestsThere{}
	for _, d := range r.By.Device {
		all[d.Key] = d
	}
	for name, exported := range all {
		below, ok := all[strings.TrimPrefix(name, "nvmet:")]
		if !strings.HasPrefix(name, "nvmet:") {
			continue
		}
		if !ok || below.Requests < exported.Requests {
			t.Errorf("%s: %d requests, of which %d came to the device", name, exported.Requests, below.Requests)
		}
		const bins = 1.07 // what two bins of the histogram may hide
		if whole, queue, device := exported.Intervals["T"].P50NS, exported.Intervals["Q2C"].P50NS,
			below.Intervals["D2C"].P50NS; whole < queue || bins*queue < device {
			t.Errorf("%s: the medians are %.0f ns of T, %.0f of Q2C, and %.0f of D2C below it", name, whole, queue, device)
		}
	}
}
