package experiment

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/result"
)

const servers = `
name: servers
question: How many?
repeat: 4
elasticity: 20%
factors: {n: [1, 2, 4, 8]}
stacks: {disk: "loop(size=4GiB) > xfs"}
workloads:
  C: {ycsb: {workload: C, records: 200000, threads: 8, think: 5ms}}
mixes: {C-$n: {servers: {workload: C, count: $n}}}
host: {cpus: 1.5, memory: 1050MiB, read-iops: 1200}
`

// asking parses servers and has a command line say something of its host.
func asking(t *testing.T, text string, has result.Limits, flags ...string) (*Experiment, error) {
	t.Helper()
	e := parsed(t, text)
	for _, f := range flags {
		name, value, _ := strings.Cut(f, "=")
		for _, s := range Flags() {
			var err error
			switch name {
			case s.Flag:
				err = s.Set(e, value)
			case s.Without:
				err = s.SetOff(e)
			}
			if err != nil {
				return nil, err
			}
		}
	}
	e.Proportion(has)
	e.Scaled.Catalog = e.parsed.Catalog
	_, err := e.Scaled.Apply(e)
	return e, err
}

// Instances grow with processors, and their data with memory, unless the command line says how many.
func TestAHostOfTheCommandLine(t *testing.T) {
	has := result.Limits{CPUs: 3, MemoryBytes: 4200 << 20}
	for _, c := range []struct{ flags, host, mixes, plan string }{
		{"", "1.5 CPUs, 1 GiB of memory, 1200 reads/s", "C-1 C-2 C-4 C-8", "200000 records"},
		{"no-limits", "", "C-1 C-4 C-8 C-16", "400000 records"},
		{"host=memory=2100MiB", "1.5 CPUs, 2.1 GiB of memory, 1200 reads/s", "C-1 C-2 C-4 C-8", "400000 records"},
		{"host=memory=2100MiB records=200000", "1.5 CPUs, 2.1 GiB of memory, 1200 reads/s", "C-1 C-4 C-8 C-16",
			"200000 records"},
		{"no-limits instances=4", "", "C-1 C-2 C-4", "1600000 records"},
		{"host=read-iops=none,cpus=none", "1 GiB of memory", "C-1 C-4 C-8 C-16", "100000 records"},
		{"no-limits host=cpus=2 records=1000 instances=2", "2 CPUs", "C-1 C-2", "1000 records"},
	} {
		e, err := asking(t, servers, has, strings.Fields(c.flags)...)
		if err != nil {
			t.Errorf("%s: %v", c.flags, err)
			continue
		}
		host, mixes := "", []string{}
		for _, m := range e.Mixes {
			mixes = append(mixes, m.Name)
			if m.Host != nil {
				host = m.Host.String()
			}
		}
		plan, _ := e.PlanHost(has)
		if host != c.host || strings.Join(mixes, " ") != c.mixes || !strings.Contains(plan.String(), "data: "+c.plan) {
			t.Errorf("%s: in %q, %s\n%s", c.flags, host, mixes, plan)
		}
		if (e.Elasticity > 0) != (host != "") {
			t.Errorf("%s: elasticity %v in %q", c.flags, e.Elasticity, host)
		}
		if need, size := e.Need(e.Stacks[0]), loopBytes(e.Stacks[0].Line); need > size {
			t.Errorf("%s: %d of data on a device of %d", c.flags, need, size)
		}
		// A run that is resumed is made of what is stored alone.
		again := parsed(t, servers)
		if err := again.Restore(e.Stored()); err != nil {
			t.Fatal(err)
		}
		again.Scaled.Catalog = e.parsed.Catalog
		if _, err := again.Scaled.Apply(again); err != nil {
			t.Fatal(err)
		}
		if got, want := fmt.Sprint(again.ResultMixes()), fmt.Sprint(e.ResultMixes()); got != want {
			t.Errorf("%s: resumed with %s, not %s", c.flags, got, want)
		}
	}
}

// How long loading takes is what an earlier run tells, or not known.
func TestLoadingIsNoGuess(t *testing.T) {
	has := result.Limits{CPUs: 3, MemoryBytes: 4200 << 20}
	e, err := asking(t, servers, has, "no-limits")
	if err != nil {
		t.Fatal(err)
	}
	plan, _ := e.PlanHost(has)
	loaded := Loaded{plan.content + ", image sha256:1", plan.DataBytes, 3 * time.Second}
	database, _, _ := strings.Cut(plan.content, " ")
	other := Loaded{database + " x=1, 7 records", 100e6, 10 * time.Second}
	foreign := Loaded{"elsewhere x=1, 7 records", 100e6, time.Second}
	for _, c := range []struct {
		kept  []Loaded
		says  string
		takes float64
	}{
		{nil, "the time to load it once is not known", 0},
		{[]Loaded{foreign}, "is not known", 0},
		{[]Loaded{foreign, other, {database + " y, 8 records", 1, time.Hour}},
			"once, at the 10.0 MB/s of an earlier run (" + database + " x=1, 7 records)", float64(plan.DataBytes) / 10e6},
		{[]Loaded{other, loaded}, "an earlier run loaded it, and it is copied", 0},
	} {
		p := plan
		p.EstimateLoading(c.kept)
		if !strings.Contains(p.String(), c.says) || math.Abs(p.Loading.Seconds-c.takes) > 1e-6 {
			t.Errorf("%v: %v\n%s", c.kept, p.Loading, p)
		}
	}
}

// The least data is that which fills the memory before the last instance.
func TestSmallestDataThatBinds(t *testing.T) {
	p := HostPlan{Records: 1000, Instances: 11, Outgrows: 5, RoomBytes: 10 << 30, MemoryBytes: 5 << 30, DataBytes: 1 << 30}
	if got := p.Smallest(); !strings.Contains(got, "5 GiB of room: --records 500") {
		t.Errorf("says %q", got)
	}
	p.ServerBytes = 256 << 20 // of the 512 MiB that each has
	if got := p.Smallest(); !strings.Contains(got, "2.5 GiB of room: --records 250") {
		t.Errorf("with servers that need memory of their own it says %q", got)
	}
	p.Outgrows = 10
	if got := p.Smallest(); got != "" {
		t.Errorf("of what hardly binds it says %q", got)
	}
}

// What is no limit, and what the file does not go together with, is said.
func TestAHostOfTheCommandLineThatCannotBe(t *testing.T) {
	shares := strings.Replace(servers, "count: $n}", "count: $n, policy: cpu}", 1)
	alone := strings.Replace(servers, "n: [1, 2, 4, 8]", "n: [2]", 1)
	alone = strings.Replace(alone, "elasticity: 20%", "", 1)
	for _, c := range []struct{ text, flag, says string }{
		{servers, "host=some", "it takes limits, each as KEY=VALUE"},
		{servers, "host=none", "write --no-limits"},
		{servers, "host=cpus=1,2", "KEY=VALUE"},
		{servers, "host=cpus=1,cpus=2", "cpus"},
		{servers, "host=cpu=1", `"cpu"`},
		{servers, "host=cpus=0", "cpus of the host takes a number from 0.01 to 1000000"},
		{servers, "host=memory=-1", "memory of the host"},
		{servers, "host=memory=1KiB", "takes a size from 6MiB"},
		{servers, "host=read-iops={}", "read-iops of the host takes operations a second"},
		{shares, "no-limits", "--no-limits leaves none to have a share of"},
		{alone, "instances=4", "--instances 4 has no effect"},
	} {
		_, err := asking(t, c.text, result.Limits{CPUs: 3, MemoryBytes: 4200 << 20}, c.flag)
		if err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", c.flag, err)
		}
	}
}
