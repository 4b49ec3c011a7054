package operations_test

import (
	"cmp"
	"strings"
	"testing"

	"plimsoll/internal/fact"
	"plimsoll/internal/finding/operations"
	"plimsoll/internal/result"
	"plimsoll/internal/result/hist"
	"plimsoll/internal/runview"
	"plimsoll/internal/workload/ycsb"
)

// took returns an operation of which so many took so long each.
func took(name string, count, ns uint64) result.Operation {
	o := result.Operation{Name: name, Count: count, Rate: float64(count)}
	o.SetLatency(result.Total, hist.Histogram{Count: count, MeanNS: float64(ns), MinNS: ns, MaxNS: ns,
		Bins: hist.Pack([]hist.Bin{{NS: ns, Count: count}})})
	return o
}

func run(kind string, trials ...result.Trial) *result.Run {
	r := &result.Run{Workloads: []result.Workload{{Name: "mail", Kind: kind}}, Trials: trials}
	for i := range trials {
		t := &r.Trials[i]
		if _, known := r.Stack(t.Stack); !known {
			view := map[string]string{"volatile": "overlayfs(volatile)"}[t.Stack]
			r.Stacks = append(r.Stacks, result.Stack{Name: t.Stack, Line: "loop > xfs > " + cmp.Or(view, "volume")})
		}
		t.Mix, t.Status, t.BringUp, t.Block = "mail", result.TrialDone, 1, 1
	}
	return r
}

func trial(stack string, all ...result.Operation) result.Trial {
	return result.Trial{Stack: stack, Instances: []result.Instance{{Workload: "mail",
		Measurement: &result.Measurement{Seconds: 1, Operations: all}}}}
}

// Percentiles of all operations together hide which one is waited for: each has its own, and its share of the time.
func TestFind(t *testing.T) {
	v := runview.New(run("metadata",
		trial("volume", took(ycsb.Create, 1000, 1e4), took(ycsb.Fsync, 1000, 97e4), took(ycsb.Unlink, 999, 2e4)),
		trial("volatile", took(ycsb.Create, 1000, 3e4), took(ycsb.Fsync, 1000, 1e4), took(ycsb.Unlink, 1000, 1e4)),
	))
	found := operations.Find(v)
	if len(found) != 1 || found[0].Kind != fact.KindTime {
		t.Fatalf("%+v", found)
	}
	f := found[0]
	if f.Title != "Under mail, most of the time goes to create on volatile, and to fsync on volume" {
		t.Error(f.Title)
	}
	for _, says := range []string{
		"Fsync alone waits for the device, and on volatile, by volatile, not until data is safe. All else",
		"On volume, fsync takes 97% of it: p50 is 970 µs, p99 970 µs.",
	} {
		if !strings.Contains(f.Why, says) {
			t.Errorf("it says %q, and not %q", f.Why, says)
		}
	}
	var rows []string
	for _, row := range f.Section.Tables[0].Rows {
		var cells []string
		for _, c := range row.Cells {
			cells = append(cells, c.String())
		}
		rows = append(rows, strings.Join(cells, "|"))
	}
	want := "volume|create|1,000|10.0 µs|10.0 µs|1%\nvolume|fsync|1,000|970 µs|970 µs|97%\nvolume|unlink|999|20.0 µs|-|2%\n" +
		"volatile|create|1,000|30.0 µs|30.0 µs|60%\nvolatile|fsync|1,000|10.0 µs|10.0 µs|20%\nvolatile|unlink|1,000|10.0 µs|10.0 µs|20%"
	if got := strings.Join(rows, "\n"); got != want {
		t.Errorf("the table says\n%s\nand is to say\n%s", got, want)
	}
}

// Of other workloads it says nothing.
func TestFindsNothingOfBlocks(t *testing.T) {
	if found := operations.Find(runview.New(run("fio", trial("volume", took(result.Read, 100, 1e4))))); len(found) > 0 {
		t.Errorf("%+v", found)
	}
}
