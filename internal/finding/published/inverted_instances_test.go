package published

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"plimsoll/internal/fact"
	"plimsoll/internal/runview"
	"plimsoll/internal/testkit/runtest"
)

// confirmingInstances are stories about many instances that confirm a claim where the
// database is the paper's, as `confirming` are. Each rate stands for those of six blocks.
var confirmingInstances = []struct{ claim, workloads, data string }{
	{"cas-peak-n", "A",
		"instances A disk x1 {1000|6000}\ninstances A disk x2 {2000|4000}\ninstances A disk x4 {4000|3000}\n" +
			"instances A disk x6 {2500|2000}\ninstances A disk x8 {1500|1000}"},
	{"cas-disk-saturates", "A",
		"instances A disk x1 1000 reads={0.1|0.8}\ninstances A disk x2 1000 reads={0.2|0.8}\n" +
			"instances A disk x3 1000 reads={0.4|0.8}\ninstances A disk x4 1000 reads=0.8\n" +
			"instances A disk x6 1000 reads=0.8\ninstances A disk x8 1000 reads=0.8"},
	{"cas-p99-faster", "A",
		"instances A disk x1 1000 mean=1000000 p99={2000000|9000000}\n" +
			"instances A disk x8 1000 mean=3000000 p99={27000000|6000000}"},
	{"cas-a-over-d", "A uniform-D",
		"instances A disk x4 {5000|4000}\ninstances uniform-D disk x4 {4000|5000}"},
	{"cg-mem-flat", "A",
		"instances A disk x1 {2000|1000} policy=mem\ninstances A disk x4 {2000|4000} policy=mem"},
	{"cg-mem-4", "A", "instances A disk x4 {1000|530}\ninstances A disk x4 {530|1000} policy=mem"},
	{"cg-cpu-4", "A", "instances A disk x4 {1000|1130}\ninstances A disk x4 {1130|1000} policy=pin"},
	{"cg-bw-4", "A", "instances A disk x4 1000\ninstances A disk x4 {1000|500} policy=bw"},
	{"cg-mem-more-disk", "A",
		"instances A disk x4 1000 reads={0.2|0.8}\ninstances A disk x4 1000 reads={0.8|0.2} policy=mem"},
	{"cg-cpu-more-disk", "A",
		"instances A disk x4 1000 reads={0.2|0.8}\ninstances A disk x4 1000 reads={0.8|0.2} policy=pin"},
	{"cg-mem-p99", "A",
		"instances A disk x4 1000 mean=1000000 p99={9000000|2000000}\n" +
			"instances A disk x4 1000 mean=1000000 p99={6000000|9000000} policy=mem"},
	{"cg-cpumem-like-mem", "A",
		"instances A disk x4 1000 policy=mem\ninstances A disk x4 {1000|500} policy=cpu+mem"},
	{"cg-p99-worst", "A",
		"instances A disk x4 1000 mean=1000000 p99={2000000|9000000}\n" +
			"instances A disk x4 1000 mean=1000000 p99={9000000|2000000} policy=all"},
	{"hom-casr-valley", "stress-read",
		"instances stress-read disk x1 {6000|1000} reads=0.01 cache=128\ninstances stress-read disk x2 {6000|2000} reads=0.01 cache=128\n" +
			"instances stress-read disk x4 {6000|4000} reads=0.01 cache=128\ninstances stress-read disk x6 {3000|4000} reads=0.5 cache=90\n" +
			"instances stress-read disk x8 {2000|4000} reads=0.9 cache=60"},
	{"cas-nvmf-throughput", "A", "stack near: serial:S1 > xfs > volume\n" +
		"stack far: nvmeof(transport=rdma, addr=10.0.0.1, nqn=nqn.x) > xfs > volume\n" +
		"instances A near x4 1000\ninstances A far x4 {910|600}"},
	{"cas-nvmf-latency", "A", "stack near: serial:S1 > xfs > volume\n" +
		"stack far: nvmeof(transport=rdma, addr=10.0.0.1, nqn=nqn.x) > xfs > volume\n" +
		"instances A near x4 1000 mean=1000000 p99=2000000\n" +
		"instances A far x4 1000 mean={1080000|2000000} p99={2100000|4000000}"},
	{"cg-all-linear", "A", "instances A disk x4 {400|100} policy=all level=reads:250\n" +
		"instances A disk x4 {200|300} policy=all level=reads:125\n" +
		"instances A disk x4 {100|400} policy=all level=reads:60"},
	{"pl-optimum-moves", "A", "host memory=4000\ninstances A disk x2 2000 level=memory:more\n" +
		"instances A disk x4 {3000|4000} level=memory:more\ninstances A disk x6 {4000|3000} level=memory:more\n" +
		"host memory=2000\ninstances A disk x2 1900 level=memory:less\n" +
		"instances A disk x4 {3000|2000} level=memory:less\ninstances A disk x6 {2000|3000} level=memory:less"},
	{"pl-44das-vs-6das", "A", "stack other: loop > xfs > volume\n" +
		"instances A - x4 {1000|500} on=disk\ninstances A - x6 1320 on=disk,other"},
	{"pl-44das-vs-6das", "A", "stack other: loop > xfs > volume\n" +
		"instances A - x2 {1000|500} on=disk\ninstances A - x3 1320 on=disk,other"},
	{"hom-mysql-scales", "T", "instances T disk x1 {1000|4000}\ninstances T disk x2 {2000|3000}\n" +
		"instances T disk x4 {3000|2000}\ninstances T disk x8 {4000|1000}"},
	{"hom-casw-saturates", "W", "instances W disk x1 {1000|4000}\ninstances W disk x2 {2000|4000}\n" +
		"instances W disk x3 {3000|4000}\ninstances W disk x4 4000\ninstances W disk x6 4000\ninstances W disk x8 4000"},
	{"het-cas-mysql", "W T",
		"instances W disk x1 1000\ninstances T disk x1 1000\nbeside disk Wx1 Tx1 {840/500|400/1000}"},
	{"tpcc-media", "T", "instances T disk x1 1000 level=media:sata\ninstances T disk x1 {1500|700} level=media:stripe\n" +
		"instances T disk x1 {3500|900} level=media:nvme\ninstances T disk x1 {5000|800} level=media:tmpfs"},
	{"mongo-over-raid", "I E", "instances I disk x1 1000 level=media:stripe\n" +
		"instances I disk x1 {1650|600} level=media:nvme\ninstances E disk x1 1000 level=media:stripe\n" +
		"instances E disk x1 {1360|600} level=media:nvme"},
	{"tpcc-users", "T", "instances T disk x1 {1000|6000} level=users:1\ninstances T disk x1 {2000|4000} level=users:4\n" +
		"instances T disk x1 {4000|3000} level=users:10\ninstances T disk x1 {2500|2000} level=users:40\n" +
		"instances T disk x1 {1500|1000} level=users:64"},
	{"cas-dbsize", "C",
		"instances C disk x1 {1000|500} level=records:fits\ninstances C disk x1 {500|1000} level=records:outgrows"},
	{"cas-media", "C D", "instances C disk x1 1000 level=media:sata\ninstances C disk x1 {8340|500} level=media:nvme\n" +
		"instances D disk x1 1000 level=media:sata\ninstances D disk x1 {1550|600} level=media:nvme"},
	{"cas-latency-media", "C", "instances C disk x1 1000 mean=1000000 p99=2000000 level=media:sata\n" +
		"instances C disk x1 1000 mean={120000|1500000} p99={200000|3000000} level=media:nvme"},
	{"mongo-media", "I", "instances I disk x1 1000 writes=0.2 level=media:sata\n" +
		"instances I disk x1 {2000|900} writes={0.3|0.2} level=media:nvme"},
	{"het-cas-fio-rw", "W rw",
		"instances rw disk x2 {1000|536}\nbeside disk Wx2 rwx2 800/{536|1000}"},
	{"het-cas-fio-sw", "W sw",
		"instances W disk x2 1000\ninstances sw disk x2 1000\nbeside disk Wx2 swx2 {875/875|400/400}"},
	{"het-cas-fio-rr", "W rr",
		"instances W disk x2 1000\ninstances rr disk x2 1000\nbeside disk Wx2 rrx2 {875/875|400/400}"},
}

// besides are how many findings a claim gives about both sides of a mix, or with several numbers.
var besides = map[string]int{
	"het-cas-fio-sw": 2, "het-cas-fio-rr": 2, "het-cas-mysql": 2, "tpcc-media": 3, "cas-media": 2, "mongo-media": 2,
	"mongo-over-raid": 2,
}

// declaredWorkloads are those of the stories, with a database.
func declaredWorkloads(names, database string) string {
	var b strings.Builder
	for name := range strings.FieldsSeq(names) {
		switch name {
		case "rw", "rr", "sw":
			pattern := map[string]string{"rw": "randwrite", "rr": "randread", "sw": "write"}[name]
			fmt.Fprintf(&b, "workload %s %s {bs: 4KiB}\n", name, pattern)
		case "E":
			of := map[string]string{"cassandra": "mongodb"}[database]
			fmt.Fprintf(&b, "workload E ycsb {workload: E, records: 1000, database: %s}\n", cmp.Or(of, database))
		case "I":
			of := map[string]string{"cassandra": "mongodb"}[database]
			fmt.Fprintf(&b, "workload I ycsb {mix: {insert: 1}, records: 1000, database: %s}\n", cmp.Or(of, database))
		case "T":
			of := map[string]string{"cassandra": "mysql"}[database]
			fmt.Fprintf(&b, "workload T tpcc {warehouses: 1, database: %s}\n", cmp.Or(of, "postgresql"))
		case "W":
			fmt.Fprintf(&b, "workload W ycsb {mix: {update: 1}, records: 1000, database: %s}\n", database)
		case "uniform-D":
			fmt.Fprintf(&b, "workload %s ycsb {workload: D, distribution: uniform, records: 1000, database: %s}\n", name,
				database)
		default:
			fmt.Fprintf(&b, "workload %s ycsb {workload: %s, records: 1000, database: %s}\n", name, name, database)
		}
	}
	return b.String()
}

// inSixBlocks writes each rate of a story six times, a percent apart at most. Those of
// some lines differ from those of the next ones.
func inSixBlocks(t *testing.T, data string) string {
	t.Helper()
	var b strings.Builder
	for i, text := range strings.Split(data, "\n") {
		words := strings.Fields(text)
		if words[0] == "host" || words[0] == "stack" {
			b.WriteString(text + "\n")
			continue
		}
		rateColumn := 3 // of the rate
		if words[0] == "beside" || words[0] == "instances" {
			rateColumn = 4
		}
		b.WriteString(strings.Join(words[:rateColumn], " "))
		for block := range 6 {
			var rates []string
			for word := range strings.SplitSeq(words[rateColumn], "/") {
				rate, err := strconv.ParseFloat(word, 64)
				if err != nil {
					t.Fatal(err)
				}
				rates = append(rates, fmt.Sprint(rate*(1+0.002*float64((block*3+i*2)%5))))
			}
			b.WriteString(" " + strings.Join(rates, "/"))
		}
		b.WriteString(" " + strings.Join(words[rateColumn+1:], " ") + "\n")
	}
	return b.String()
}

// The data decides here too, and inverted data inverts the verdict; but the embedded
// server in the place of the paper's database shows a shape, and confirms nothing.
func TestInstancesInvertTheVerdict(t *testing.T) {
	for _, c := range confirmingInstances {
		for database, verdicts := range map[string][2]fact.ClaimVerdict{
			"cassandra": {fact.ClaimConfirmed, fact.ClaimContradicted},
			"pebble":    {fact.ClaimSameShape, fact.ClaimOtherShape},
		} {
			for i, want := range verdicts {
				story := "stack disk: loop > xfs > volume\n" + declaredWorkloads(c.workloads, database) +
					inSixBlocks(t, runtest.Pick(c.data, i == 1))
				found := 0
				for _, f := range Find(runview.New(runtest.Tell(t, story))) {
					if f.Claim == nil || f.Claim.ID != c.claim {
						continue
					}
					found++
					if f.Claim.Verdict != want || !strings.HasPrefix(strings.ToLower(f.Title), string(want)) {
						t.Errorf("%s: %s\nis %s, want %s: %s", c.claim, story, f.Claim.Verdict, want, f.Claim.Why)
					}
					if (f.Claim.StandIn != "") != (database == "pebble") {
						t.Errorf("%s by %s is by a stand-in: %q", c.claim, database, f.Claim.StandIn)
					}
				}
				if found != max(1, besides[c.claim]) {
					t.Errorf("%s: %s\ngives %d findings", c.claim, story, found)
				}
			}
		}
	}
}
