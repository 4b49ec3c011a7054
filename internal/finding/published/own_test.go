package published

import (
	"slices"
	"strings"
	"testing"

	"plimsoll/internal/fact"
	"plimsoll/internal/result"
	"plimsoll/internal/runview"
	"plimsoll/internal/testkit/runtest"
)

// found are the findings on a claim in a story, whose rates stand for those of six blocks.
func found(t *testing.T, claim, workloads, data string, change func(*result.Run)) (findings []fact.Finding) {
	t.Helper()
	run := runtest.Tell(t, "stack disk: loop > xfs > volume\n"+workloads+inSixBlocks(t, data))
	if change != nil {
		change(run)
	}
	for _, f := range Find(runview.New(run)) {
		if f.Claim != nil && f.Claim.ID == claim {
			findings = append(findings, f)
		}
	}
	return findings
}

// A claim is confirmed by the paper's own mix, distribution and policy; the same numbers of others show its shape.
func TestClaimsAreJudgedByTheirOwn(t *testing.T) {
	const cassandra = "ycsb {records: 1000, database: cassandra, "
	for _, c := range []struct {
		claim, workload, policy string
		want                    fact.ClaimVerdict // "" for none
	}{
		{"cg-mem-4", "workload: A", "mem", fact.ClaimConfirmed},
		{"cg-mem-4", "workload: D, distribution: uniform", "mem", fact.ClaimConfirmed},
		{"cg-mem-4", "workload: D, distribution: gaussian", "mem", fact.ClaimConfirmed},
		{"cg-mem-4", "workload: D", "mem", fact.ClaimSameShape}, // YCSB's own D reads the latest
		{"cg-mem-4", "workload: A, distribution: uniform", "mem", fact.ClaimSameShape},
		{"cg-mem-4", "workload: C", "mem", fact.ClaimSameShape},
		{"cg-mem-4", "workload: E", "mem", fact.ClaimSameShape},
		{"cg-mem-4", "mix: {update: 1}", "mem", fact.ClaimSameShape},
		{"cg-mem-4", "workload: A", "cpu", ""},
	} {
		findings := found(t, c.claim, "workload w "+cassandra+c.workload+"}\n",
			"instances w disk x4 1000\ninstances w disk x4 530 policy="+c.policy, nil)
		switch {
		case c.want == "" && len(findings) > 0:
			t.Errorf("%s is judged with policy %s: %s", c.claim, c.policy, findings[0].Title)
		case c.want != "" && (len(findings) != 1 || findings[0].Claim.Verdict != c.want):
			t.Errorf("%s under %s: %d findings, want one that is %s", c.claim, c.workload, len(findings), c.want)
			for _, f := range findings {
				t.Error(f.Title)
			}
		}
	}
	const aAndD = "workload A " + cassandra + "workload: A}\nworkload D " + cassandra + "workload: D}\n"
	for _, f := range found(t, "cas-a-over-d", aAndD, "instances A disk x4 5000\ninstances D disk x4 4000", nil) {
		if f.Claim.Verdict != fact.ClaimSameShape {
			t.Errorf("a baseline of another distribution: %s", f.Title)
		}
	}
	all := found(t, "cg-mem-4", "workload w "+cassandra+"workload: A, distribution: uniform}\n",
		"instances w disk x4 1000\ninstances w disk x4 530 policy=mem", nil)
	if !strings.Contains(all[0].Claim.StandIn, "uniform requests in the place of zipfian ones") {
		t.Errorf("the stand-in is %q", all[0].Claim.StandIn)
	}
}

// A claim is judged once: of two hosts in the one with more memory, and of pairs by the paper's own numbers.
func TestClaimsAreJudgedOnce(t *testing.T) {
	const a = "workload A ycsb {workload: A, records: 1000, database: cassandra}\n"
	for name, data := range map[string]string{
		"two hosts": "stack other: loop > xfs > volume\nhost memory=4000\n" +
			"instances A - x4 1000 on=disk level=memory:more\n" +
			"instances A - x6 1320 on=disk,other level=memory:more\nhost memory=2000\n" +
			"instances A - x4 100 on=disk level=memory:less\ninstances A - x6 1320 on=disk,other level=memory:less",
		"hosts in the other order": "stack other: loop > xfs > volume\nhost memory=2000\n" +
			"instances A - x4 100 on=disk level=memory:less\n" +
			"instances A - x6 1320 on=disk,other level=memory:less\nhost memory=4000\n" +
			"instances A - x4 1000 on=disk level=memory:more\ninstances A - x6 1320 on=disk,other level=memory:more",
		"two pairs": "stack other: loop > xfs > volume\ninstances A - x2 100 on=disk\ninstances A - x3 1320 on=disk,other\n" +
			"instances A - x4 1000 on=disk\ninstances A - x6 1320 on=disk,other",
	} {
		findings := found(t, "pl-44das-vs-6das", a, data, nil)
		if len(findings) != 1 || findings[0].Claim.Verdict != fact.ClaimConfirmed {
			t.Errorf("%s: %d findings, want one that is confirmed", name, len(findings))
			for _, f := range findings {
				t.Error(f.ID, f.Title)
			}
		}
	}
}

// The caveat names what of a database is not the paper's: version, records, distribution, threads, heap, share, length.
func TestDatabasesUnlikeThePaper(t *testing.T) {
	caveatsOf := func(workload, data string, change func(*result.Run)) string {
		all := found(t, "cg-mem-4", workload, data, change)
		if len(all) != 1 {
			t.Fatalf("%d findings", len(all))
		}
		return strings.Join(all[0].Caveats, "\n")
	}
	version := func(v string) func(*result.Run) {
		return func(r *result.Run) {
			r.Experiment.RuntimeSeconds = 4
			for i := range r.Workloads {
				r.Workloads[i].Image = &result.Image{Name: "cassandra", Version: v}
			}
			for i := range r.Mixes {
				r.Mixes[i].Host = &result.Limits{MemoryBytes: 2 << 30}
				for j := range r.Mixes[i].Tenants {
					if r.Mixes[i].Tenants[j].Policy == "mem" {
						r.Mixes[i].Tenants[j].Limits = result.Limits{MemoryBytes: 1 << 30}
					}
				}
			}
		}
	}
	const data = "instances C disk x4 1000\ninstances C disk x4 530 policy=mem"
	text := caveatsOf("workload C ycsb {workload: C, distribution: uniform, records: 1000, threads: 8, think: 20ms, "+
		"database: {cassandra: {heap: 192MiB}}}\n", data, version("5.0.9"))
	for _, want := range []string{
		"version 5.0.9 here, 2.1 in the paper", "records 1000 here, 100 million in the paper",
		"distribution C uniform here, A zipfian, D uniform or gaussian in the paper", "threads 8 here, 16 in the paper",
		"think 20ms here, none in the paper", "heap 192MiB here, not given in the paper", "share 1/2 here, 1/8 in the paper",
		"length of a trial 4s here, 10 million operations of each server in the paper", "a scaled-down host of",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	text = caveatsOf("workload C ycsb {workload: A, records: 100000000, threads: 16, database: cassandra}\n", data,
		version("2.1.22"))
	for _, no := range []string{"version", "records", "distribution", "threads", "think"} {
		if slices.Contains(strings.Fields(text), no) {
			t.Errorf("%s differs in\n%s", no, text)
		}
	}
}
