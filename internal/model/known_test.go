package model_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"plimsoll/internal/model"
	"plimsoll/internal/testkit/soak"
)

const rising = `class,instances,clients,throughput,p99,reads
c,1,8,1500,9ms,0
c,2,8,2990,9ms,0
c,4,8,5800,10ms,0.01
c,6,8,8300,11ms,0.05
c,8,8,9500,13ms,0.3
`

// A row that is there twice measured nothing new.
func TestRowTwiceChangesNothing(t *testing.T) {
	twice := rising + "c,4,8,5800,10ms,0.01\n"
	ask := func(m *model.Model) model.Ask {
		return model.Ask{Tenants: []model.Tenant{{Class: "c", Count: 5, Think: -1}}, Host: m.Classes[0].Measured()}
	}
	once, again := fitTable(t, rising), fitTable(t, twice)
	a, err := once.Predict(ask(once))
	b, err2 := again.Predict(ask(again))
	if err != nil || err2 != nil || a.Rate != b.Rate || a.Tenants[0].P99 != b.Tenants[0].P99 {
		t.Errorf("%+v, %v; with a row twice %+v, %v", a.Rate, err, b.Rate, err2)
	}
}

const mixedTable = `class,instances,clients,throughput,mean,p99,cpu,cpus,mix
A,1,2,1000,2ms,6ms,1ms,4,
A,2,2,1900,2.1ms,6.3ms,1ms,4,
A,3,2,2600,2.3ms,7ms,1ms,4,
A,4,2,3100,2.6ms,8ms,1ms,4,
B,1,4,2000,2ms,4ms,0.3ms,4,
B,2,4,3900,2.05ms,4.1ms,0.3ms,4,
B,3,4,5700,2.1ms,4.2ms,0.3ms,4,
B,4,4,7200,2.2ms,4.5ms,0.3ms,4,
A,2,2,1700,2.35ms,19ms,,4,m0
B,2,4,3500,2.3ms,12ms,,4,m0
`

// The p99 of a mix is learned from mixes, and no interval of a p99 begins below what an operation takes.
func TestP99OfMixesIsLearned(t *testing.T) {
	m := fitTable(t, mixedTable)
	a, err := m.Predict(model.Ask{Tenants: []model.Tenant{
		{Class: "A", Count: 2, Think: -1}, {Class: "B", Count: 2, Think: -1}},
		Host: m.Classes[0].Measured()})
	if err != nil {
		t.Fatal(err)
	}
	for i, seen := range []float64{19e-3, 12e-3} {
		p99 := a.Tenants[i].P99
		if math.Abs(float64(p99.Value)/seen-1) > 0.15 || !(p99.Low >= 1e-4) {
			t.Errorf("%s: %+v, and %v was measured", a.Tenants[i].Class, p99, seen)
		}
	}
	alone, err := m.Predict(model.Ask{Tenants: []model.Tenant{{Class: "A", Count: 2, Think: -1}},
		Host: m.Classes[0].Measured()})
	if err != nil || math.Abs(float64(alone.Tenants[0].P99.Value)/6.3e-3-1) > 0.15 {
		t.Errorf("alone: %+v, %v", alone, err)
	}
}

// None of a class is none.
func TestNoneOfAClass(t *testing.T) {
	m := fitTable(t, mixedTable)
	all, err := m.ParseMix("A: 3, B: 0")
	if err != nil || len(all) != 1 || all[0].Class != "A" || all[0].Count != 3 {
		t.Errorf("%+v, %v", all, err)
	}
	if _, err := m.ParseMix("A: 0"); err == nil || !strings.Contains(err.Error(), "no instance") {
		t.Errorf("%v", err)
	}
}

// Of three classes of which each two were measured next to each other there is an interval, and a mark.
func TestPairsTellOfThree(t *testing.T) {
	table := "class,instances,clients,throughput,cpu,cpus,mix\n"
	for _, c := range []string{"A", "B", "C"} {
		table += c + ",1,2,1000,1ms,4,\n" + c + ",2,2,1900,1ms,4,\n" + c + ",3,2,2600,1ms,4,\n"
	}
	for _, pair := range []string{"AB", "AC", "BC"} {
		for _, c := range pair {
			table += string(c) + ",1,2,950,,4," + pair + "\n"
		}
	}
	m := fitTable(t, table)
	ask := model.Ask{Host: m.Classes[0].Measured()}
	for _, c := range []string{"A", "B", "C"} {
		ask.Tenants = append(ask.Tenants, model.Tenant{Class: c, Count: 1, Think: -1})
	}
	a, err := m.Predict(ask)
	if err != nil || !a.Rate.Told() || len(a.Unknown) > 0 ||
		!strings.Contains(strings.Join(a.Outside, ""), "never all together") {
		t.Errorf("%+v, %v", a, err)
	}
}

// A limit that no column says the demands of is a level: the rate follows it between levels, with what it is worth, and
// beyond them nothing is said.
func TestLimitsAreLevels(t *testing.T) {
	soak.WithoutRace(t)
	for key, unit := range map[string]string{"cpus": "", "own-cpus": "", "iops": "000", "read-iops": "000",
		"write-iops": "000", "bandwidth": "MB", "read-bandwidth": "MB", "write-bandwidth": "MB", "memory": "GiB"} {
		m := fitTable(t, strings.NewReplacer("KEY", key, "UNIT", unit).Replace(`class,instances,clients,throughput,KEY
c,1,32,100,1UNIT
c,1,32,200,2UNIT
c,1,32,390,4UNIT
c,1,32,720,8UNIT
`))
		f := &m.Classes[0]
		for i, want := range []float64{100, 200, 390, 720} {
			a, err := m.Predict(model.Ask{Tenants: []model.Tenant{{Class: "c", Count: 1, Think: -1, Own: f.Points[i].Own}},
				Host: f.Points[i].Host})
			if err != nil || math.Abs(float64(a.Rate.Value)/want-1) > 1e-6 || !(a.Rate.High < 1.1*a.Rate.Value) {
				t.Errorf("%s: a level that was measured: %+v, %v", key, a, err)
			}
		}
		if f.Check.Held[1].Answer.Told() == false || math.Abs(float64(f.Check.Held[1].Answer.Value)/200-1) > 0.1 {
			t.Errorf("%s: %+v", key, f.Check.Held)
		}
		if key == "memory" || key == "own-cpus" {
			continue
		}
		over, err := model.ParseOver(key + "=3" + unit + "..3" + unit)
		if err != nil {
			t.Fatal(err)
		}
		c, err := m.PredictOver(model.Ask{Tenants: []model.Tenant{{Class: "c", Count: 1, Think: -1}}, Host: f.Measured()},
			over, 0)
		if err != nil {
			t.Fatal(err)
		}
		a := c.Answers[0].Answer
		if math.Abs(float64(a.Rate.Value)/295-1) > 0.05 || !(a.Rate.Low < 295 && a.Rate.High > 295) ||
			len(a.Worth) == 0 || !(a.Worth[0].Power.Value > 0.8) {
			t.Errorf("%s: between levels: %+v", key, a)
		}
		over, _ = model.ParseOver(key + "=16" + unit + "..16" + unit)
		_, err = m.PredictOver(model.Ask{Tenants: []model.Tenant{{Class: "c", Count: 1, Think: -1}}, Host: f.Measured()},
			over, 0)
		if err == nil || !strings.Contains(err.Error(), "its rate follows them") {
			t.Errorf("%s: beyond levels: %v", key, err)
		}
	}
}

// Rates over clients follow Gunther's law where it is nearer, as over instances, and points that were given are met.
func TestClientsHaveLaws(t *testing.T) {
	truth := func(n float64) float64 { return 143 * n / (1 + 0.012*(n-1) + 0.00004*n*(n-1)) }
	table := "class,instances,clients,throughput\n"
	for _, n := range []float64{1, 4, 16, 64} {
		table += fmt.Sprintf("c,1,%g,%g\n", n, truth(n))
	}
	m := fitTable(t, table)
	for _, n := range []int{1, 2, 4, 8, 16, 32, 64, 128} {
		a, err := m.Predict(model.Ask{
			Tenants: []model.Tenant{{Class: "c", Count: 1, Clients: n}}, Host: m.Classes[0].Measured()})
		if err != nil {
			t.Fatal(err)
		}
		want, allowed := truth(float64(n)), 0.05
		if n == 128 {
			allowed = 0.25
		}
		if math.Abs(float64(a.Rate.Value)/want-1) > allowed || !(a.Rate.Low <= model.Number(want)) ||
			!(a.Rate.High >= model.Number(want)) {
			t.Errorf("%d clients: %+v, and in fact %v", n, a.Rate, want)
		}
	}
}

// The processor time that was counted at a number of clients is used there.
func TestCountedProcessorTimeIsUsedWhereItWasCounted(t *testing.T) {
	table := "class,instances,clients,throughput,cpu,cpus\n"
	cpu := func(n float64) float64 { return 1.3e-3 * math.Pow(n, 0.35) }
	rate := func(n float64) float64 { return min(n/1.5e-3, 31.5/cpu(n)) }
	for _, n := range []float64{1, 4, 16, 64, 256} {
		table += fmt.Sprintf("c,1,%g,%g,%gus,32\n", n, rate(n), 1e6*cpu(n))
	}
	m := fitTable(t, table)
	for _, n := range []int{2, 8, 32, 128} {
		a, err := m.Predict(model.Ask{
			Tenants: []model.Tenant{{Class: "c", Count: 1, Clients: n}}, Host: m.Classes[0].Measured()})
		if err != nil {
			t.Fatal(err)
		}
		if want := rate(float64(n)); math.Abs(float64(a.Rate.Value)/want-1) > 0.2 {
			t.Errorf("%d clients: %+v, and in fact %v", n, a.Rate, want)
		}
	}
}

// One class as two equal ones does the same.
func TestSplitClassesDoTheSame(t *testing.T) {
	m := fitTable(t, rising+strings.ReplaceAll(strings.SplitN(rising, "\n", 2)[1], "c,", "d,"))
	whole, err := m.Predict(model.Ask{
		Tenants: []model.Tenant{{Class: "c", Count: 5, Think: -1}}, Host: m.Classes[0].Measured()})
	if err != nil {
		t.Fatal(err)
	}
	parts, err := m.Predict(model.Ask{Tenants: []model.Tenant{{Class: "c", Count: 2, Think: -1},
		{Class: "d", Count: 3, Think: -1}}, Host: m.Classes[0].Measured()})
	if err != nil || parts.Rate != whole.Rate || parts.Tenants[0].P99 != whole.Tenants[0].P99 ||
		math.Abs(float64(parts.Tenants[0].Rate.Value/whole.Rate.Value)-0.4) > 1e-9 {
		t.Errorf("%+v as one class, %+v as two: %v", whole, parts, err)
	}
}

// What no column had is not known, and never 0: of a fit, and of a prediction.
func TestWhatNoColumnHadIsNotKnown(t *testing.T) {
	m := fitTable(t, "class,instances,clients,throughput\nc,1,8,1000\nc,2,8,1950\nc,4,8,3700\nc,6,8,5200\n")
	f := &m.Classes[0]
	for _, r := range []model.Resource{model.Processors, model.Reads, model.Writings, model.ReadBytes, model.WriteBytes} {
		if f.Counts(r) {
			t.Errorf("%s were counted by no column", r)
		}
	}
	if !math.IsNaN(float64(f.Params.CPU.Base)) || !math.IsNaN(float64(f.Params.HostCPU.Base)) || f.Params.Drive != 0 {
		t.Errorf("%+v", f.Params)
	}
	a, err := m.Predict(model.Ask{Tenants: []model.Tenant{{Class: "c", Count: 3, Think: -1}}, Host: f.Measured()})
	if err != nil || len(a.Worth)+len(a.Used) > 0 || !math.IsNaN(float64(a.Tenants[0].P99.Value)) {
		t.Errorf("%+v, %v", a, err)
	}
	if text := (model.HostKind{Host: f.Measured()}).Describe(); text != "" {
		t.Errorf("a host of which nothing is known is %q", text)
	}
}

// shortTable has two classes that are short of memory, which differ in their processor time; bytes are those of a read,
// by class, and there is no column of them for nil.
func shortTable(bytes map[string]float64) string {
	table := "class,instances,clients,throughput,reads,read-bytes,cpu,memory,cpus\n"
	for i, c := range []string{"A", "B"} {
		for n := 1; n <= 6; n++ {
			reads := max(0, 1-4/(3*float64(n)))
			column := ""
			if bytes != nil {
				column = fmt.Sprint(bytes[c] * reads)
			}
			table += fmt.Sprintf("%s,%d,4,%g,%g,%s,%dus,4GiB,8\n", c, n, 4*float64(n)/(1e-3+2e-3*reads), reads, column,
				100+20*i)
		}
	}
	return table
}

// Without bytes of reads their number says who loses memory to whom, and the answer says so; a column of bytes, which
// are means and no whole numbers, changes it.
func TestReadsAreCountedWithoutTheirBytes(t *testing.T) {
	soak.WithoutRace(t)
	predict := func(bytes map[string]float64) *model.Answer {
		t.Helper()
		m := fitTable(t, shortTable(bytes))
		a, err := m.Predict(model.Ask{Host: m.Classes[0].Measured(), Tenants: []model.Tenant{
			{Class: "A", Count: 2, Think: -1}, {Class: "B", Count: 2, Think: -1}}})
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	says := func(a *model.Answer) bool {
		return strings.Contains(strings.Join(a.Unknown, "\n"), "all reads are taken for as large. A column `read-bytes`")
	}
	without, alike := predict(nil), predict(map[string]float64{"A": 26473.11, "B": 26473.11})
	unlike := predict(map[string]float64{"A": 264731.1, "B": 26473.11})
	if !says(without) || says(alike) || says(unlike) {
		t.Errorf("%q, %q, %q", without.Unknown, alike.Unknown, unlike.Unknown)
	}
	for i := range without.Tenants {
		if math.Abs(float64(without.Memories[i]/alike.Memories[i])-1) > 1e-3 {
			t.Errorf("%v without bytes, %v with as many for each", without.Memories, alike.Memories)
		}
	}
	if !(unlike.Memories[0] > 1.2*unlike.Memories[1]) {
		t.Errorf("one that brings ten times as much has %v of memory", unlike.Memories)
	}
}

// A mix that uses more of the host than any that was measured is marked, and less sure.
func TestMixBeyondAllMixesIsMarked(t *testing.T) {
	const a, b = 310.0, 3000.0 // operations a second of an instance, which take 1.4 ms and 0.26 ms of 4 processors
	table := "class,instances,clients,throughput,cpu,cpus,mix\n"
	for n := 1; n <= 6; n++ {
		table += fmt.Sprintf("A,%d,2,%g,1.4ms,4,\n", n, a*float64(n))
	}
	for n := 1; n <= 3; n++ {
		table += fmt.Sprintf("B,%d,4,%g,0.26ms,4,\n", n, b*float64(n))
	}
	for i, mix := range [][2]float64{{1, 1}, {2, 2}, {3, 1}} {
		table += fmt.Sprintf("A,%g,2,%g,,4,m%d\nB,%g,4,%g,,4,m%d\n", mix[0], 0.99*a*mix[0], i, mix[1], 0.99*b*mix[1], i)
	}
	m := fitTable(t, table)
	predict := func(nA, nB int) *model.Answer {
		t.Helper()
		answer, err := m.Predict(model.Ask{Host: m.Classes[0].Measured(), Tenants: []model.Tenant{
			{Class: "A", Count: nA, Think: -1}, {Class: "B", Count: nB, Think: -1}}})
		if err != nil {
			t.Fatal(err)
		}
		return answer
	}
	marked := func(answer *model.Answer) bool {
		return strings.Contains(strings.Join(answer.Outside, "\n"), "all together use more of the host than any")
	}
	width := func(e model.Estimate) float64 { return math.Log(float64(e.High / e.Low)) }
	near, far := predict(1, 2), predict(4, 3)
	if marked(near) || !marked(far) {
		t.Errorf("1 and 2: %q; 4 and 3: %q", near.Outside, far.Outside)
	}
	for i := range far.Tenants {
		if !(width(far.Tenants[i].Rate) > 1.5*width(near.Tenants[i].Rate)) {
			t.Errorf("%+v, and %+v beyond", near.Tenants[i].Rate, far.Tenants[i].Rate)
		}
	}
}
