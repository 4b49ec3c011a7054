package command

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"plimsoll/examples"
	"plimsoll/internal/cli/buildinfo"
	"plimsoll/internal/placement"
	"plimsoll/internal/result"
	"plimsoll/internal/result/store"
	"plimsoll/internal/testkit/modeltest"
	"plimsoll/internal/testkit/runtest"
	"plimsoll/kubernetes/fleet"
	"plimsoll/kubernetes/iofit"
)

// says runs a command line, and returns what it prints.
func says(t *testing.T, args ...string) (string, error) {
	t.Helper()
	c := Root(buildinfo.Build{Version: "test"}, nil)
	var out bytes.Buffer
	c.SetOut(&out)
	c.SetErr(&out)
	c.SetArgs(args)
	err := c.ExecuteContext(t.Context())
	return out.String(), err
}

// What a cluster is given is what --dry-run prints, and what would be wrong there is refused before it is asked.
func TestCommandLines(t *testing.T) {
	dir := t.TempDir()
	var file bytes.Buffer
	if err := modeltest.ThreeClasses().Write(&file); err != nil {
		t.Fatal(err)
	}
	path := func(name, text string) string {
		name = filepath.Join(dir, name)
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return name
	}
	modelFile := path("model.json", file.String())
	fast := path("fast.yaml", "{cpus: 8, memory: 8GiB, drives: {nvme: fast}}")

	printed, err := says(t, "fleet", "fit", "--kind", "fast", "--model", modelFile, "--host", fast, "--dry-run")
	if err != nil {
		t.Fatal(err)
	}
	var m corev1.ConfigMap
	said, made, _ := strings.Cut(printed, "---\n")
	if err := yaml.UnmarshalStrict([]byte(made), &m); err != nil {
		t.Fatal(err)
	}
	// What is printed can be pasted into a pod, and a pod with it is judged.
	k, err := iofit.ParseKind(&m)
	if err != nil {
		t.Fatal(err)
	}
	lines := regexp.MustCompile(`(?m)^    (plimsoll\.dev/.*)$`).FindAllStringSubmatch(said, -1)
	if len(lines) != 4 || !strings.Contains(said, "8 CPUs") {
		t.Fatalf("3 classes and a drive are not in %s", said)
	}
	for _, class := range lines[:3] {
		p := &corev1.Pod{}
		if err := yaml.UnmarshalStrict([]byte(class[1]+"\n"+lines[3][1]), &p.Annotations); err != nil {
			t.Fatal(err)
		}
		d, err := iofit.DemandOf(p)
		if err != nil || d.Drive != "nvme" {
			t.Fatalf("%v of %v", err, p.Annotations)
		}
		v := k.Judge(iofit.Standing{}, d)
		if v.Unknown != "" || v.Rate == 0 || !strings.Contains(class[1], "# alone, "+v.String()) {
			t.Errorf("%q, and it does %s", class[1], v)
		}
	}
	if k.Name != "fast" || m.Namespace != "plimsoll" {
		t.Fatal(printed)
	}
	// What stands on drives goes with the model, as the file has it, and is checked against the drives of the host.
	stand := path("drives.yaml", "nvme: {paths: /mnt/nvme, storage-classes: [local-fast]} # of all racks\n")
	fit := []string{"fleet", "fit", "--kind", "fast", "--model", modelFile, "--host", fast, "--dry-run", "--drives"}
	if printed, err = says(t, append(fit, stand)...); err != nil {
		t.Fatal(err)
	}
	_, made, _ = strings.Cut(printed, "---\n")
	m = corev1.ConfigMap{}
	if err := yaml.UnmarshalStrict([]byte(made), &m); err != nil {
		t.Fatal(err)
	}
	if k, err = iofit.ParseKind(&m); err != nil || k.DriveOfPath(&corev1.Node{}, "/mnt/nvme/x") != "nvme" {
		t.Errorf("%v: nothing is known of /mnt/nvme: %s", err, printed)
	}
	floppy := path("floppy.yaml", "floppy: {paths: /mnt/a}")
	if _, err := says(t, append(fit, floppy)...); err == nil || !strings.Contains(err.Error(), `no drive "floppy"`) {
		t.Error(err)
	}
	for _, wrong := range [][]string{
		append(slices.Clone(fit), filepath.Join(dir, "gone.yaml")),
		{"fleet", "fit", "--kind", "fast"}, {"fleet", "fit", t.TempDir()}, {"fleet", "fit", "--model", modelFile},
		{"fleet", "fit", "--kind", "fast", "--model", modelFile, "last"},
		{"fleet", "fit", "--kind", "a b/c", "--model", modelFile, "--dry-run"},
		{"fleet", "fit", "--kind", "fast", "--model", fast, "--dry-run"}} {
		if out, err := says(t, wrong...); err == nil {
			t.Errorf("%q: %s", wrong, out)
		}
	}
}

// Flags of a plan that are wrong are refused for that, before a cluster is asked.
func TestFlagsOfPlan(t *testing.T) {
	t.Setenv("KUBECONFIG", filepath.Join(t.TempDir(), "none"))
	for flags, want := range map[string]string{
		"--nodes a=b=c": "--nodes", "--headroom 2": "--headroom", "--objective speed": "--objective is one of",
		"--moves -1": "--moves", "--dry-run": "works with --evict only", "--evict-at-once 2": "works with --evict only",
		"--evict --evict-at-once 0": "--evict-at-once", "--evict --evict-ready -1m": "--evict-ready",
		"--evict --move-local": "copies no data",
	} {
		_, err := says(t, append([]string{"plan"}, strings.Fields(flags)...)...)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", flags, err, want)
		}
	}
}

// Who reads a kubeconfig that is none is told so.
func TestNoCluster(t *testing.T) {
	t.Setenv("KUBECONFIG", filepath.Join(t.TempDir(), "none"))
	if _, err := says(t, "plan"); err == nil || !strings.Contains(err.Error(), "--kubeconfig") {
		t.Error(err)
	}
}

// A run of a fleet has all kinds of its nodes, each with all that was measured of it.
func TestFitsOfAFleet(t *testing.T) {
	dir := t.TempDir()
	r := &fleet.Record{ID: "density-1", Namespace: "plimsoll-fleet", Experiment: "density"}
	for name, kind := range map[string]string{"a": "fast", "b": "fast", "c": "slow", "d": ""} {
		run := runtest.Density(true)
		run.ID, run.Started = name, time.Date(2026, 11, len(r.Nodes)+1, 12, 0, 0, 0, time.UTC)
		for i := range run.Trials {
			run.Trials[i].Seq = i + 1
		}
		err := store.Keep(t.Context(), filepath.Join(dir, name), *run, func(result.Trial) map[string][]byte { return nil })
		if err != nil {
			t.Fatal(err)
		}
		r.Nodes = append(r.Nodes, fleet.Node{Name: name, Kind: kind, State: fleet.Done})
	}
	if err := r.Write(dir); err != nil {
		t.Fatal(err)
	}
	// The host of the runs was scaled down: no node is so small, and what is said to be missing is what it takes.
	printed, err := says(t, "fleet", "fit", dir, "--dry-run")
	if err == nil || strings.Contains(printed, "kind: ConfigMap") || !strings.Contains(err.Error(), "1200 reads/s") {
		t.Fatalf("%v: %s", err, printed)
	}
	such := regexp.MustCompile(`such as (\{.*\})`).FindStringSubmatch(err.Error())
	if such == nil {
		t.Fatal(err)
	}
	host := filepath.Join(t.TempDir(), "node.yaml")
	if err := os.WriteFile(host, []byte(such[1]), 0o600); err != nil {
		t.Fatal(err)
	}
	printed, err = says(t, "fleet", "fit", dir, "--host", host, "--dry-run")
	for _, want := range []string{
		"a node has 2 CPUs, 24 GiB of memory. Annotate", "has no drive", "plimsoll.dev/class: C  # alone, ",
	} {
		if strings.Count(printed, want) != 2 {
			t.Errorf("%q is not said of both kinds: %s", want, printed)
		}
	}
	if strings.Count(printed, "kind: ConfigMap") != 2 || !strings.Contains(printed, "name: model-fast") ||
		!strings.Contains(printed, "name: model-slow") || err == nil ||
		!strings.Contains(err.Error(), "kubectl label node d ") {
		t.Errorf("%v: %s", err, printed)
	}
	// Whatever the record has of kinds, all are of the one that is given.
	printed, err = says(t, "fleet", "fit", "--kind", "all", dir, "--host", host, "--dry-run")
	if err != nil || strings.Count(printed, "kind: ConfigMap") != 1 || !strings.Contains(printed, "name: model-all") ||
		!strings.Contains(printed, `plimsoll.dev/measured: "2026-11-04T12:00:00Z"`) { // the last of four
		t.Errorf("%v: %s", err, printed)
	}
	r.Nodes = nil
	if err := r.Write(dir); err != nil {
		t.Fatal(err)
	}
	if _, err = says(t, "fleet", "fit", "--kind", "all", dir, "--dry-run"); err == nil {
		t.Error("a fleet without results has a model")
	}
}

// Each built-in experiment may be asked for, and its pods request what its scaled-down host has, or the command line.
func TestRequestsOfARun(t *testing.T) {
	for _, c := range []struct {
		args   []string
		cpus   float64
		memory int64
	}{
		{nil, 1.5, 1050 << 20}, {[]string{"--no-limits"}, 0, 0}, {[]string{"--host", "memory=2GiB"}, 1.5, 2 << 30},
		{[]string{"--host=cpus=none"}, 0, 1050 << 20},
		{[]string{"--no-limits", "--host=cpus=1"}, 1, 0},
	} {
		if r := recordOf(t, append([]string{"density"}, c.args...)...); r.HostCPUs != c.cpus || r.HostMemory != c.memory {
			t.Errorf("%v: %g CPUs, %d bytes", c.args, r.HostCPUs, r.HostMemory)
		}
	}
	for _, c := range [][]string{{"--keep-free=15%"}, {"--keep-free=0%"}} {
		if r := recordOf(t, append([]string{"density"}, c[0])...); !slices.Equal(r.Args, c) {
			t.Errorf("%v becomes %v", c, r.Args)
		}
	}
	for _, name := range examples.List() {
		if r := recordOf(t, name); !slices.Equal(r.Args, []string{"--keep-free=15%"}) {
			t.Errorf("it may fill nodes: %v", r.Args)
		}
		if r := recordOf(t, name); r.Experiment != name || r.File != "" || r.Parallel != 1 ||
			r.Image != "plimsoll-kubernetes:"+buildinfo.Number() {
			t.Errorf("%+v", r)
		}
	}
}

// recordOf returns what a command line of fleet run asks for.
func recordOf(t *testing.T, args ...string) *fleet.Record {
	t.Helper()
	f := &fleetRunFlags{}
	c := f.command()
	if err := c.ParseFlags(append(args, "--nodes", "a=b", "-o", filepath.Join(t.TempDir(), "out"))); err != nil {
		t.Fatal(err)
	}
	r, _, err := f.record(c, c.Flags().Args())
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// Ends of runs that others started are asked for by name.
func TestFleetCleanIsRefused(t *testing.T) {
	for _, args := range [][]string{nil, {"--all", "--run", "x"}} {
		_, err := says(t, append([]string{"fleet", "clean"}, args...)...)
		if err == nil || !strings.Contains(err.Error(), "which runs?") {
			t.Errorf("%v: %v", args, err)
		}
	}
}

// Nothing is started, and nothing is written, where the command line would do harm or say nothing.
func TestFleetRunIsRefused(t *testing.T) {
	t.Chdir(t.TempDir())
	beside := filepath.Join(t.TempDir(), "mine.yaml")
	text := "name: mine\nquestion: What?\nstacks: {here: \"dir:.\"}\nworkloads:\n  A: {fio: {file: other.fio}}\n"
	if err := os.WriteFile(beside, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		says string
		args []string
	}{
		{"which experiment, on which nodes?", nil},
		{"which experiment, on which nodes?", []string{"density"}},
		{"is another device on another node", []string{"density", "--nodes", "a=b", "--destroy", "/dev/sda"}},
		{"it is the serial of a device", []string{"density", "--nodes", "a=b", "--on", "/dev/sda"}},
		{"there is no file", []string{"nothing.yaml", "--nodes", "a=b"}},
		{"other.fio is not taken along", []string{beside, "--nodes", "a=b"}},
		{"give no other flag", []string{"--resume", "x", "--budget", "5m"}},
		{"is no run of a fleet", []string{"--resume", t.TempDir()}},
		{"it is a number of nodes", []string{"density", "--nodes", "a=b", "--each-kind", "-1"}},
		{"it is a number of nodes", []string{"density", "--nodes", "a=b", "--parallel", "0"}},
		{"is there already", []string{"density", "--nodes", "a=b", "--output", t.TempDir()}},
		{"unknown flag: --state", []string{"density", "--nodes", "a=b", "--state", "/"}},
	} {
		_, err := says(t, append([]string{"fleet", "run"}, c.args...)...)
		if err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%v: %v does not say %q", c.args, err, c.says)
		}
	}
	if left, err := os.ReadDir("."); err != nil || len(left) > 0 {
		t.Errorf("%v, %v", left, err)
	}
}

// A plan in which a pod has no node or breaks a limit is no success, with evictions or without.
func TestPlansThatLackSomethingFail(t *testing.T) {
	for want, p := range map[string]*placement.Plan{
		"":                          {},
		"not every pod has a node":  {Left: []placement.Left{{Containers: "a", Count: 1}}},
		"not every pod keeps its l": {Broken: []placement.Broken{{Containers: "a", Count: 1}}},
	} {
		err := incomplete(p)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, not %q", p, err, want)
		}
	}
}
