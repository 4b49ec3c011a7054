package points

import (
	"math"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/cell"
	"plimsoll/internal/result"
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
	cells := cell.Of(&run)
	at := cell.Point{Stack: "elsewhere", Mix: "C-8"}
	if s := cells.Sample(at, "", cell.Rate); len(s) != 2 || s[0].Mean() != 2000 || s[1].Mean() != 2100 {
		t.Errorf("rates are %v", s)
	}
	for metric, want := range map[*cell.Metric]float64{&cell.P99: 100e6, &cell.MeanLatency: 28e6, &cell.DeviceReads: 0.6,
		&cell.CPUPerOp: 240e-6, &cell.PeakMemory: 8 * 7 << 30} {
		if s := cells.Sample(at, "", *metric); len(s) != 2 || s[0].Mean() < 0.999*want || s[0].Mean() > 1.001*want {
			t.Errorf("%s is %v, and not %v", metric.ID, s, want)
		}
	}
	if len(run.Mixes) != 4 || run.Mixes[3].Host.MemoryBytes != 32<<30 || run.Workloads[1].Name != "C-2" {
		t.Errorf("mixes %+v of workloads %+v", run.Mixes, run.Workloads)
	}
	clients, think, ok := Declared(run.Workloads[0].Declared)
	if !ok || clients != 8 || think != 5*time.Millisecond {
		t.Errorf("%d clients think for %s", clients, think)
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
			`points.csv:2: instances "0": it is a whole number from 1`, `points.csv:2: throughput "-5": it is a number above 0`,
			`points.csv:2: p99 "8": it is a time with its unit`, `points.csv:2: memory "64XB"`, "points.csv:3: class is empty"},
		"class,instances,clients,throughput\nC,1,8\nC,NaN,8,5\n": {"points.csv:2: wrong number of fields",
			`points.csv:3: instances "NaN"`},
		"class,instances,clients,throughput\n../C,1,8,5\n": {`points.csv:2: class "../C": a name has letters`},
		"class,instances,clients,throughput\n\"C,1,8,5\n":  {"points.csv:2: "},
	} {
		_, wrong := Read("points.csv", []byte(text))
		said := wrong.Join("\n")
		for _, w := range want {
			if !strings.Contains(said, w) {
				t.Errorf("%q: %s\nand not %s", text, said, w)
			}
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add([]byte(table))
	f.Add([]byte("class,instances,clients,throughput\nC,1,8,1e300\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		run, wrong := Read("x.csv", text)
		if len(wrong) > 0 {
			return
		}
		for _, p := range cell.Of(&run).Points() {
			if s := cell.Of(&run).Sample(p, "", cell.Rate); len(s) == 0 || !(s[0].Mean() > 0) {
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
