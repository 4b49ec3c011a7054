package main

import (
	"cmp"
	"errors"
	"os"
	"os/exec"
	"path/filepath"

	"plimsoll/evidence/budget"
	"plimsoll/evidence/curves"
	"plimsoll/evidence/falsealarms"
	"plimsoll/evidence/growth"
	"plimsoll/evidence/load"
	"plimsoll/evidence/model"
	"plimsoll/evidence/overhead"
	"plimsoll/evidence/plantofact"
	"plimsoll/evidence/provisioned"
	"plimsoll/evidence/record"
	"plimsoll/evidence/stopping"
	"plimsoll/evidence/study"
	"plimsoll/evidence/trace"
	"plimsoll/evidence/verdicts"
	"plimsoll/evidence/ycsb"
)

// bench is one measurement of plimsoll itself: a function of a package here, or benchmarks and tests of another one.
type bench struct {
	name, purpose string
	setup         string // the goal of scripts/setup.sh
	built         bool   // it needs ./plimsoll
	root          bool

	run func(args []string) error

	// Without run:
	before    func() error // makes what the tests need
	module    string       // the directory of the package's module; "" for the main one
	pkg       string
	benchmark string // pattern of Benchmark*
	times     string // of go test -benchtime
	tests     string // pattern of Test*
	lines     string // text of the lines that are shown; "" for all lines
}

// none is the pattern that no test has.
const matchesNone = "^$"

var benches = []bench{
	{name: "false-alarms", purpose: "copies of equal stacks: how many are called different, which slower ones; 20 minutes",
		setup: "demo", root: true, run: falsealarms.Run},
	{name: "verdicts", purpose: "runs whose truth is known: how often their verdicts are wrong; fails above 5%",
		setup: "build", run: verdicts.Run},
	{name: "stopping", purpose: "68 series through the stopping rule of a trial: time saved, and how often it is right",
		setup: "build", run: stopping.Run},
	{name: "study", purpose: "the stopping rule of a run, on points whose truth is known: trials saved, and how often " +
		"right",
		setup: "build", run: study.Run},
	{name: "curves", purpose: "curves with a known answer: knees and cliffs found and missed; 8 minutes",
		setup: "build", run: curves.Run},
	{name: "headroom", purpose: "headroom of a recording of four hours: its time", setup: "build",
		pkg: "./internal/headroom", benchmark: "Find", tests: matchesNone},
	{name: "model", purpose: "models of one half of the points of kept runs: how far off they are of the other half",
		setup: "build", run: model.Run},
	{name: "solve", purpose: "one prediction of a mix: its time", setup: "build",
		pkg: "./internal/model", benchmark: "Solve", tests: matchesNone},
	{name: "plan", purpose: "500 small fleets next to brute force, and large ones: how far from the bound, and the time",
		setup: "test", before: highs, pkg: "./internal/placement", benchmark: "Plan", times: "1x",
		tests: "SmallFleets|HiGHS"},
	{name: "plan-limits", purpose: "fleets with limits and with a budget of time: how far from the bound, and the time",
		setup: "build", pkg: "./internal/placement", benchmark: "Limited|Budget", times: "1x", tests: matchesNone},
	{name: "plan-to-fact", purpose: "a plan for two small hosts, and what is then measured on them; 20 minutes",
		setup: "demo", built: true, root: true, run: plantofact.Run},
	{name: "budget", purpose: "four studies of BUDGET (15m) each: what their time went on, and the verdicts",
		setup: "demo", built: true, root: true, run: budget.Run},
	{name: "spend", purpose: "the planner of a run with a budget: its time",
		setup: "build", pkg: "./internal/trial", benchmark: "Spend", tests: matchesNone},

	{name: "load", purpose: "the load generator at several rates on one CPU: how late operations begin",
		setup: "build", run: load.Run},
	{name: "ycsb", purpose: "operations and records that the load generator and YCSB ask for; needs Java 17 and Maven",
		setup: "build", run: ycsb.Run},
	{name: "clients", purpose: "the same servers driven by our clients, go-ycsb and go-tpc", setup: "build", built: true,
		root: true, before: clients, pkg: "./internal/database/loader", benchmark: "Clients", times: "1x",
		tests: matchesNone},
	{name: "drivers", purpose: "what the driver of each database adds to the binary", setup: "build",
		run: func([]string) error { return execute("evidence/driver-sizes.sh") }},
	{name: "records", purpose: "keys and values of records: their time",
		setup: "build", pkg: "./internal/database", benchmark: "Value|Key", tests: matchesNone},
	{name: "pebble", purpose: "the embedded server: operations a second",
		setup: "build", pkg: "./internal/database/pebble", benchmark: "Server", tests: matchesNone},

	{name: "overhead", purpose: "a trial next to bare fio on the same stack and job", setup: "demo", built: true,
		root: true,
		run:  overhead.Run},
	{name: "record", purpose: "each way of recording block requests, on a loop device over memory: reads lost",
		setup: "demo", root: true, run: record.Run},
	{name: "provisioned", purpose: "reads under limits of the kernel, and what headroom says of these limits: what waits",
		setup: "build", root: true, run: provisioned.Run},
	{name: "trace", purpose: "captures of many shapes, next to blkparse and btt: CPU time and memory", setup: "test",
		built: true, run: trace.Run},
	{name: "btt", purpose: "the intervals of captures next to btt's; PLIMSOLL_CAPTURES=DIRECTORY:... has captures of " +
		"yours",
		setup: "test", pkg: "./internal/iotrace/follow", benchmark: matchesNone, tests: "TestSameAsBtt|TestWhereBttIsWrong"},
	{name: "analyze", purpose: "the analysis of a capture alone: its time",
		setup: "build", pkg: "./internal/iotrace/follow", benchmark: "Analyze|ManyFiles", tests: matchesNone},
	{name: "requests", purpose: "requests of a trace as a table: its time",
		setup: "build", pkg: "./internal/iotrace/show", benchmark: "Requests", tests: matchesNone},
	{name: "watch", purpose: "fio on a loop device over memory at full rate, watched in turns: CPU time, and reads lost",
		setup: "test", root: true, pkg: "./internal/watch", benchmark: "Watch", times: "20x", tests: matchesNone},
	{name: "sample", purpose: "samples of 16 instances, a scaled-down host, two devices and the host: CPU time",
		setup: "build", root: true, pkg: "./internal/observe", benchmark: "Sample", tests: matchesNone},
	{name: "histogram", purpose: "merged histograms and their percentiles: their time",
		setup: "build", pkg: "./internal/result/hist", benchmark: "MergeBins|Percentile", tests: matchesNone},
	{name: "store", purpose: "opening a run, and listing many: their time",
		setup: "build", pkg: "./internal/result/store", benchmark: "List|Open", tests: matchesNone},
	{name: "growth",
		purpose: "runs of 10,000 trials, directories of 1,000 runs, recordings of a day: time, memory, exponents",
		setup:   "build", built: true, run: growth.Run},
	{name: "report", purpose: "the report of a run of 200 trials in Chromium: its time and size",
		setup: "test", pkg: "./internal/report", benchmark: "BrowserOpensReport", times: "9x", tests: matchesNone},

	{name: "kube", purpose: "pods on BENCH_NODES (500) simulated nodes, by IOFit and by default: pods a second, memory",
		setup: "build", before: kwok, module: "kubernetes", pkg: "./scheduler", benchmark: "Cluster|Large", times: "1x",
		tests: matchesNone, lines: "pods/s"},
	{name: "judge", purpose: "a pod and a node judged by IOFit: the time",
		setup: "build", module: "kubernetes", pkg: "./iofit", benchmark: "Judge", tests: matchesNone},
	{name: "place", purpose: "pods on two kubelets with unequal drives, by IOFit and the default scheduler: what they do",
		setup: "test", run: place},
}

// absolute makes a directory, and returns its absolute path.
func absolute(dir string) (string, error) {
	err := os.MkdirAll(dir, 0o755)
	if err != nil {
		return "", err
	}
	return filepath.Abs(dir)
}

// highs has the tests hold plans against HiGHS, if python3 has it.
func highs() error {
	if os.Getenv("HIGHS_PYTHON") == "" && exec.Command("python3", "-c", "import highspy").Run() == nil {
		err := os.Setenv("HIGHS_PYTHON", "python3")
		if err != nil {
			return err
		}
	}
	return os.Setenv("FLEETS", cmp.Or(os.Getenv("FLEETS"), "500"))
}

// clients builds the programs that are compared.
func clients() error {
	dir, err := absolute("bin/clients")
	if err == nil {
		err = execute("cp", "plimsoll", dir)
	}
	if err == nil {
		err = execute("scripts/with-go", "go", "build", "-C", "tools/clients", "-o", dir, "./go-ycsb",
			"github.com/pingcap/go-tpc/cmd/go-tpc")
	}
	return errors.Join(err, os.Setenv("PLIMSOLL_BENCH_CLIENTS", dir))
}

// kwok builds what simulates nodes.
func kwok() error {
	dir, err := absolute("bin/kube")
	if err == nil {
		err = execute("nice", "scripts/with-go", "go", "build", "-C", "kubernetes/kwok", "-ldflags", "-s -w", "-o", dir,
			"sigs.k8s.io/kwok/cmd/kwok")
	}
	return errors.Join(err, os.Setenv("PLIMSOLL_KWOK", dir+"/kwok"),
		os.Setenv("PLIMSOLL_BENCH_NODES", cmp.Or(os.Getenv("BENCH_NODES"), "500")))
}

func place([]string) error {
	err := os.Setenv("PLIMSOLL_PLACE_ROUNDS", cmp.Or(os.Getenv("PLIMSOLL_PLACE_ROUNDS"), "5"))
	if err != nil {
		return err
	}
	return execute("make", "kube-nodes", "KUBE_TEST=-v -run TestPlacedPodsAreMeasured")
}
