package points

import (
	"math"
	"strings"
	"testing"

	"plimsoll/internal/result"
	"plimsoll/internal/runview"
)

const table = `class, instances, clients, throughput, think, mean, p99, reads, cpu, cpus, memory, read-iops, peak-memory
# of a paper
C, 1, 8, 1500, 5ms, 0.3ms, 0.8ms, 0,    90us,  8, 64GiB, 20000, 8GiB
C, 4, 8, 5800, 5ms, 0.4ms, 2ms,   0.01, 95us,  8, 64GiB, 20000, 8GiB
C, 8, 8, 2000, 5ms, 28ms,  100ms, 0.6,  240us, 8, 64GiB, 20000, 7GiB
C, 8, 8, 2100, 5ms, 27ms,  99ms,  0.6,  240us, 8, 64GiB, 20000, 7GiB
C, 8, 4, 1900, ,,,,,8,32GiB,,
`

func TestATableBecomesARun(t *testing.T) {
	if !Recognized([]byte(table)) {
		t.Error("it is not recognized")
	}
	run, wrong := Read("points.csv", []byte(table))
	if len(wrong) > 0 {
		t.Fatal(wrong)
	}
	cells := runview.Of(&run)
	point := result.Point{Stack: "elsewhere", Mix: "C-8-8-5ms-64GiB-20000"}
	if s := cells.Sample(point, "", runview.Rate); len(s) != 2 || s[0].Value() != 2000 || s[1].Value() != 2100 {
		t.Errorf("rates are %v", s)
	}
	for metric, want := range map[*runview.Metric]float64{&runview.P99: 100e6, &runview.MeanLatency: 28e6,
		&runview.DeviceReads: 0.6,
		&runview.CPUPerOp:    240e-6, &runview.PeakMemory: 8 * 7 << 30} {
		if s := cells.Sample(point, "", *metric); len(s) != 2 || s[0].Value() < 0.999*want || s[0].Value() > 1.001*want {
			t.Errorf("%s is %v, and not %v", metric.ID, s, want)
		}
	}
	last := run.Mixes[len(run.Mixes)-1]
	if len(run.Mixes) != 4 || last.Host.MemoryBytes != 32<<30 || len(run.Workloads) != 1 {
		t.Errorf("mixes %+v of workloads %+v", run.Mixes, run.Workloads)
	}
	if of := run.Mixes[0].Tenants[0]; of.LoadOf() != (result.Load{Clients: 8, ThinkSeconds: 0.005}) ||
		last.Tenants[0].LoadOf() != (result.Load{Clients: 4}) || last.Levels["clients"] != "4" {
		t.Errorf("clients are %+v, and %+v", of, last)
	}
}

// What a second of a point comes to is what its row says: processors are rate times processor time.
func TestSecondsAreThoseOfTheOperations(t *testing.T) {
	run, wrong := Read("points.csv", []byte(table))
	if len(wrong) > 0 {
		t.Fatal(wrong)
	}
	for i, want := range []float64{0.135, 0.551, 0.48, 0.504} {
		in := run.Trials[i].Instances[0]
		rate := in.Measurement.Operations[0].Rate
		if cpus := in.Usage.CPUSeconds / in.Usage.Seconds; math.Abs(cpus/want-1) > 1e-9 {
			t.Errorf("row %d: %v CPUs at work, not %v", i+1, cpus, want)
		}
		if done := float64(in.Measurement.Operations[0].Count) / in.Measurement.Seconds; math.Abs(done/rate-1) > 1e-6 {
			t.Errorf("row %d: %v operations in a second, at a rate of %v", i+1, done, rate)
		}
	}
}

const together = `mix,class,instances,clients,throughput,reads,cpu,p99,memory
,C,2,8,1000,0.5,100us,5ms,16GiB
,D,1,4,400,0.1,50us,2ms,16GiB
both,C,2,8,900,0.6,110us,7ms,16GiB
both,D,1,4,100,0.2,50us,3ms,16GiB
both,C,2,8,800,0.6,110us,7ms,16GiB
both,D,1,4,120,0.2,50us,3ms,16GiB
`

func TestRowsOfOneMixRanTogether(t *testing.T) {
	run, wrong := Read("mix.csv", []byte(together))
	if len(wrong) > 0 {
		t.Fatal(wrong)
	}
	if len(run.Trials) != 4 || len(run.Mixes) != 3 || len(run.Mixes[2].Tenants) != 2 {
		t.Fatalf("%d trials of %+v", len(run.Trials), run.Mixes)
	}
	cells := runview.Of(&run)
	point := result.Point{Stack: "elsewhere", Mix: "both"}
	for _, c := range []struct {
		tenant string
		metric runview.Metric
		want   []float64
	}{
		{"", runview.Rate, []float64{1000, 920}}, {"C", runview.Rate, []float64{900, 800}},
		{"D", runview.Rate, []float64{100, 120}},
		{"C", runview.CPUPerOp, []float64{110e-6, 110e-6}}, {"D", runview.P99, []float64{3e6, 3e6}},
		{"", runview.DeviceReads, []float64{(0.6*900 + 0.2*100) / 1000, (0.6*800 + 0.2*120) / 920}},
	} {
		s := cells.Sample(point, c.tenant, c.metric)
		if len(s) != 2 || math.Abs(s[0].Value()/c.want[0]-1) > 1e-4 || math.Abs(s[1].Value()/c.want[1]-1) > 1e-4 {
			t.Errorf("%s of %q is %v, not %v", c.metric.ID, c.tenant, s, c.want)
		}
	}
}

func TestAllThatIsWrongIsSaidAtOnce(t *testing.T) {
	for text, want := range map[string][]string{
		"":                                     {"points.csv:1: the file is no table"},
		"class,instances,clients,throughput\n": {"points.csv:1: there is no point below the heading"},
		"class,instances,throughputs\nC,1,5\n": {`points.csv:1: there is no column "throughputs" (did you mean "throughput"?)`,
			`points.csv:1: the column "clients" is missing`},
		"class,class,instances,clients,throughput\n": {`points.csv:1: the column "class" is there twice`},
		"class,instances,clients,throughput,p99,memory\nC,0,8,-5,8,64XB\n,1,8,5,,\n": {
			"points.csv:2: instances takes a whole number from 1", "points.csv:2: throughput takes operations a second above 0",
			"points.csv:2: p99 takes a time", "add the unit: 8ms", "points.csv:2: memory takes a size",
			"points.csv:3: class is empty"},
		"class,instances,clients,throughput\nC,1,8\nC,NaN,8,5\n": {"points.csv:2: wrong number of fields",
			`points.csv:3: instances takes a whole number from 1 to 100000, not "NaN"`},
		"class,instances,clients,throughput\n../C,1,8,5\n": {`points.csv:2: class takes a name of letters`},
		"class,instances,clients,throughput\n\"C,1,8,5\n":  {"points.csv:2: "},
		"mix,class,instances,clients,throughput,memory\nm,C,1,8,5,1GiB\nm,D,1,8,5,2GiB\nm,C,2,8,5,1GiB\n": {
			"points.csv:3: mix m has another host", "points.csv:4: mix m has other instances, clients or limits of C"},
		"mix,class,instances,clients,throughput\nm,C,1,8,5\nm,D,1,8,5\nm,C,1,8,5\n": {
			"points.csv:4: setup 2 of mix m has no row of D"},
		"mix,class,instances,clients,throughput,setup\nm,C,1,8,5,1\nm,C,1,8,5,1\n": {
			"points.csv:3: mix m has two rows of C in setup 1"},
	} {
		_, wrong := Read("points.csv", []byte(text))
		problems := wrong.Join("\n")
		for _, w := range want {
			if !strings.Contains(problems, w) {
				t.Errorf("%q: %s\nand not %s", text, problems, w)
			}
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add([]byte(table))
	f.Add([]byte(together))
	f.Add([]byte("class,instances,clients,throughput\nC,1,8,1e300\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		run, wrong := Read("x.csv", text)
		if len(wrong) > 0 {
			return
		}
		for _, p := range runview.Of(&run).Points() {
			if s := runview.Of(&run).Sample(p, "", runview.Rate); len(s) == 0 || !(s[0].Value() > 0) {
				t.Errorf("%s measured nothing", p.Mix)
			}
		}
	})
}

// A p99 without a mean is kept: the mean of clients that wait for answers is theirs over the rate, less their thinking.
func TestMeanFollowsFromLittlesLaw(t *testing.T) {
	run, wrong := Read("t.csv", []byte("class,instances,clients,throughput,think,p99\nC,2,8,1000,5ms,30ms\n"))
	if len(wrong) > 0 {
		t.Fatal(wrong)
	}
	latency, ok := run.Trials[0].Instances[0].Measurement.Operations[0].Latency[result.Total]
	if !ok || math.Abs(latency.MeanNS-11e6) > 1 || len(latency.Printed) != 1 || latency.Printed[0].NS != 30e6 {
		t.Errorf("%+v", latency)
	}
}
