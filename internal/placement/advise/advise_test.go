package advise

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"plimsoll/internal/experiment"
	"plimsoll/internal/model"
	"plimsoll/internal/placement"
	"plimsoll/internal/result"
	"plimsoll/internal/stack/container"
	"plimsoll/internal/state/journal"
	"plimsoll/internal/testkit/hosttest"
	"plimsoll/internal/testkit/modeltest"
	"plimsoll/internal/testkit/runtest"
)

// every has all limits that forms can say, under names that break what does not quote them.
var allLimits = []Advice{
	{Name: "db", Class: "C", Cost: "Nothing.", Limits: result.Limits{CPUs: 1.5, CPUSet: "0-1", MemoryBytes: 805306368,
		Read:  result.Rate{OperationsPerSecond: 300, BytesPerSecond: 50_000_000},
		Write: result.Rate{OperationsPerSecond: 200, BytesPerSecond: 40_000_000}}},
	{Name: "it's $(touch /tmp/x) \"1\"\n[Service]\nExecStart=/bin/sh # ", Class: "a: b\n- c\x1b[2J", Cost: "x\nUser=root",
		Limits: result.Limits{CPUs: 0.25}},
}

var drive = Device{Path: "/dev/null", MajMin: "8:0"}

func write(t testing.TB, form string, advice []Advice, d Device) string {
	t.Helper()
	var out bytes.Buffer
	if err := Write(&out, form, advice, d); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(out.String(), "\x1b") {
		t.Errorf("%s has a terminal's codes:\n%q", form, out.String())
	}
	return out.String()
}

// services are what Compose reads of a file.
type services struct {
	Services map[string]struct {
		Labels map[string]string
		CPUs   float64 `yaml:"cpus"`
		CPUSet string
		Memory int64 `yaml:"mem_limit"`
		Swap   int64 `yaml:"memswap_limit"`
		Blkio  map[string][]struct {
			Path string
			Rate int64
		} `yaml:"blkio_config"`
	}
}

func TestComposeIsReadBack(t *testing.T) {
	var got services
	d := yaml.NewDecoder(strings.NewReader(write(t, "compose", allLimits, drive)))
	d.KnownFields(true)
	if err := d.Decode(&got); err != nil {
		t.Fatal(err)
	}
	if len(got.Services) != len(allLimits) {
		t.Fatalf("%d services", len(got.Services))
	}
	for _, a := range allLimits {
		s := got.Services[a.Name]
		rate := func(key string) int64 {
			for _, r := range s.Blkio[key] {
				if r.Path == drive.Path {
					return r.Rate
				}
			}
			return 0
		}
		back := result.Limits{CPUs: s.CPUs, CPUSet: s.CPUSet, MemoryBytes: s.Memory,
			Read:  result.Rate{OperationsPerSecond: rate("device_read_iops"), BytesPerSecond: rate("device_read_bps")},
			Write: result.Rate{OperationsPerSecond: rate("device_write_iops"), BytesPerSecond: rate("device_write_bps")}}
		if back != a.Limits || s.Swap != s.Memory || s.Labels["plimsoll.class"] != a.Class {
			t.Errorf("%q: %+v %q", a.Name, back, s.Labels)
		}
	}
}

func TestKubernetesIsReadBack(t *testing.T) {
	d := yaml.NewDecoder(strings.NewReader(write(t, "kubernetes", allLimits, Device{})))
	for _, a := range allLimits {
		var pod struct {
			Metadata struct{ Annotations map[string]string }
			Spec     struct {
				Containers []struct {
					Name      string
					Resources struct{ Limits struct{ CPU, Memory string } }
				}
			}
		}
		if err := d.Decode(&pod); err != nil {
			t.Fatal(err)
		}
		if pod.Metadata.Annotations["plimsoll.dev/class"] != a.Class || len(pod.Spec.Containers) != 1 ||
			pod.Spec.Containers[0].Name != a.Name || pod.Spec.Containers[0].Resources.Limits.CPU != number(a.Limits.CPUs) {
			t.Errorf("%+v", pod)
		}
		text := pod.Metadata.Annotations["plimsoll.dev/limits"]
		if text == "" {
			continue
		}
		// As the scheduler and the node's plugin read it.
		limits, err := experiment.ParseLimits("the pod", "{"+text+"}")
		if err != nil || limits.Read != a.Limits.Read || limits.Write != a.Limits.Write {
			t.Errorf("%q is %+v, %v", text, limits, err)
		}
	}
}

// systemd takes the settings, and no line of a name becomes one.
func TestSystemdIsReadBack(t *testing.T) {
	text := write(t, "systemd", allLimits, drive)
	var settings []string
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			settings = append(settings, line)
		}
	}
	want := []string{"[Service]", "CPUQuota=150%", "AllowedCPUs=0-1", "MemoryMax=805306368", "MemorySwapMax=0",
		"IOReadIOPSMax=/dev/null 300", "IOWriteIOPSMax=/dev/null 200", "IOReadBandwidthMax=/dev/null 50000000",
		"IOWriteBandwidthMax=/dev/null 40000000", "[Service]", "CPUQuota=25%"}
	if !slices.Equal(settings, want) {
		t.Errorf("settings\n%q, want\n%q", settings, want)
	}
	program, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Skip("no systemd-analyze here")
	}
	unit := filepath.Join(t.TempDir(), "advised.service")
	if err := os.WriteFile(unit, []byte("[Service]\nExecStart=/bin/true\n"+text), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := exec.CommandContext(t.Context(), program, "verify", unit).CombinedOutput()
	if err != nil || bytes.Contains(out, []byte(unit)) {
		t.Errorf("systemd-analyze verify: %v\n%s", err, out)
	}
}

func TestIOCostIsReadBack(t *testing.T) {
	d := drive
	d.Is = &modeltest.ThreeClasses().Drives[0]
	var commands []string
	for line := range strings.Lines(write(t, "io.cost", allLimits, d)) {
		if !strings.HasPrefix(line, "#") {
			commands = append(commands, strings.TrimSpace(line))
		}
	}
	want := []string{
		"echo '8:0 ctrl=user model=linear rbps=200000000 rseqiops=20000 rrandiops=20000 wbps=100000000 wseqiops=10000 " +
			"wrandiops=10000' > /sys/fs/cgroup/io.cost.model",
		"echo '8:0 enable=1 ctrl=auto' > /sys/fs/cgroup/io.cost.qos",
		"echo 'default 1000' > /sys/fs/cgroup/GROUP/io.weight",
		"echo 'default 100' > /sys/fs/cgroup/GROUP/io.weight",
	}
	if !slices.Equal(commands, want) {
		t.Errorf("commands\n%q, want\n%q", commands, want)
	}
}

// A shell takes each name as one word.
func TestDockerIsQuoted(t *testing.T) {
	script := strings.ReplaceAll(write(t, "docker", allLimits, drive), "docker run", "printf '%s\\n'")
	out, err := exec.CommandContext(t.Context(), "sh", "-c", script).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, word := range []string{"it's $(touch /tmp/x) \"1\"", "--cpus=0.25", "--device-read-iops=/dev/null:300"} {
		if !strings.Contains(string(out), word) {
			t.Errorf("%q is not among the words\n%s", word, out)
		}
	}
}

// An engine creates the container, and has the limits.
func TestDockerIsReadBack(t *testing.T) {
	docker, err := exec.LookPath("docker")
	if err != nil {
		t.Skip("no docker here")
	}
	hosttest.Exclusive(t)
	dir := t.TempDir()
	j, err := journal.Create(filepath.Join(dir, "state"), "advise-test")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(j.UndoAll(context.Background(), nil), j.Close()); err != nil {
			t.Error(err)
		}
	})
	root := filepath.Join(dir, "plimsoll-advise-test-vfs")
	if err := os.Mkdir(root, 0o700); err != nil {
		t.Fatal(err)
	}
	engine, err := container.Start(t.Context(), j, container.Config{Name: "test", Run: "advise-test", Driver: "vfs",
		DataRoot: root})
	if err != nil {
		t.Fatal(err)
	}
	run := func(script string) []byte {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), "sh", "-e", "-c", script)
		cmd.Env = append(os.Environ(), "DOCKER_HOST=unix://"+engine.Socket)
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("%s: %v", script, err)
		}
		return out
	}
	run("tar -C " + dir + " --files-from /dev/null -c | " + docker + " import - advised")
	script := strings.ReplaceAll(write(t, "docker", allLimits[:1], drive), "docker run", docker+" create --network none")
	run(strings.ReplaceAll(script, " IMAGE", " advised /program"))
	var got []struct {
		Config     struct{ Labels map[string]string }
		HostConfig struct {
			NanoCpus, Memory, MemorySwap int64
			CpusetCpus                   string

			BlkioDeviceReadIOps, BlkioDeviceWriteIOps, BlkioDeviceReadBps, BlkioDeviceWriteBps []struct{ Rate int64 }
		}
	}
	if err := json.Unmarshal(run(docker+" inspect db"), &got); err != nil || len(got) != 1 {
		t.Fatalf("%d containers, %v", len(got), err)
	}
	h := got[0].HostConfig
	back := result.Limits{CPUs: float64(h.NanoCpus) / 1e9, CPUSet: h.CpusetCpus, MemoryBytes: h.Memory,
		Read: result.Rate{OperationsPerSecond: h.BlkioDeviceReadIOps[0].Rate, BytesPerSecond: h.BlkioDeviceReadBps[0].Rate},
		Write: result.Rate{OperationsPerSecond: h.BlkioDeviceWriteIOps[0].Rate,
			BytesPerSecond: h.BlkioDeviceWriteBps[0].Rate}}
	if back != allLimits[0].Limits || h.MemorySwap != h.Memory || got[0].Config.Labels["plimsoll.class"] != "C" {
		t.Errorf("%+v", got)
	}
	run(docker + " rm db")
}

func TestWhatIsRefused(t *testing.T) {
	for _, c := range []struct {
		form   string
		device Device
		says   string
	}{
		{"docker", Device{}, "name that on the host where it will run"},
		{"io.cost", Device{Path: "/dev/sda"}, "name that on the host"},
		{"systemd", Device{Path: "/dev/sda 1\nUser=root"}, "without blanks"},
		{"nomad", drive, "docker, compose, systemd, kubernetes, io.cost"},
	} {
		err := Write(&bytes.Buffer{}, c.form, allLimits, c.device)
		if err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", c.form, err)
		}
	}
}

const policed = `stack disk: dir(/d) > volume
workload C ycsb {workload: C, records: 1000}
instances C disk x4 6300 6363 6237 6331.5 6268.5 reads=0.2 mean=1e+06 p99=4e+06
instances C disk x4 3300 3333 3267 3316.5 3283.5 reads=0.9 mean=1e+06 p99=6e+06 policy=mem memory-limit=100
`

func TestOfRun(t *testing.T) {
	run := runtest.Tell(t, policed)
	advice, err := OfRun(run)
	if err != nil {
		t.Fatal(err)
	}
	if len(advice) != 1 || !strings.HasSuffix(advice[0].Name, "-mem") || advice[0].Limits.MemoryBytes == 0 ||
		!strings.Contains(advice[0].Cost, "throughput 0.52 times that without, p99 1.50 times") {
		t.Errorf("%+v", advice)
	}
	if _, err := OfRun(runtest.Density(false)); err == nil || !strings.Contains(err.Error(), "policies") {
		t.Errorf("a run without limits: %v", err)
	}
}

// Limits of a model leave each class what it takes, so that it loses next to nothing by them.
func TestOfModel(t *testing.T) {
	m := modeltest.ThreeClasses()
	ask := model.Ask{
		Tenants: []model.Tenant{{Class: "reads", Count: 2, Think: -1}, {Class: "writes", Count: 1, Think: -1}},
		Host:    model.Host{CPUs: 8, MemoryBytes: 8 << 30},
	}
	advice, err := OfModel(m, ask)
	if err != nil {
		t.Fatal(err)
	}
	free, err := m.Predict(ask)
	if err != nil {
		t.Fatal(err)
	}
	for i, a := range advice {
		ask.Tenants[i].Own = a.Limits
		if a.Limits.None() || !strings.HasPrefix(a.Cost, "Predicted for ") {
			t.Errorf("%+v", a)
		}
	}
	held, err := m.Predict(ask)
	if err != nil {
		t.Fatal(err)
	}
	for i := range advice {
		if with, without := held.Tenants[i].Rate.Value, free.Tenants[i].Rate.Value; with < 0.9*without {
			t.Errorf("%s does %v of %v under %+v", advice[i].Name, with, without, advice[i].Limits)
		}
	}
	if _, err := OfModel(m, model.Ask{Tenants: []model.Tenant{{Class: "nobody", Count: 1}}}); err == nil {
		t.Error("a class that the model does not know")
	}
}

func TestOfPlan(t *testing.T) {
	m := modeltest.ThreeClasses()
	const file = `{model: m.json, hosts: {big: {count: 2, cpus: 8, memory: 8GiB}}, containers: {
		own: {class: writes, count: 1, limits: {cpus: 1, read-iops: 700}}, free: {class: reads, count: 2}}}`
	fleet, _, err := placement.Parse("fleet.yaml", []byte(file), func(string) (*model.Model, error) { return m, nil })
	if err != nil {
		t.Fatal(err)
	}
	plan, err := placement.Best(m, fleet, placement.Options{Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	advice, err := OfPlan(placement.Document{Plan: plan}, fleet, m)
	if err != nil {
		t.Fatal(err)
	}
	if len(advice) != 2 {
		t.Fatalf("%+v", advice)
	}
	for _, a := range advice {
		fleets := a.Limits == result.Limits{CPUs: 1, Read: result.Rate{OperationsPerSecond: 700}}
		if fleets != (a.Name == "own") || !strings.Contains(a.Cost, "Planned on big: ") || a.Limits.None() {
			t.Errorf("%+v", a)
		}
	}
	if _, err := OfPlan(placement.Document{}, fleet, m); err == nil {
		t.Error("no plan at all")
	}
}

// A limit on reads that a container meets with its data in memory would keep it from starting with an empty cache.
func TestReadsOfAColdStartAreNotLimited(t *testing.T) {
	for _, c := range []struct {
		name   string
		reads  model.Miss
		memory float64
		limit  int64
	}{
		{"nearly all from memory", model.Miss{Floor: 0.01}, 1 << 30, 0},
		{"half of the files in memory", model.Miss{Floor: 0.01, Scale: 1, Fits: 1 << 30, Shape: 1}, 1 << 29, 765},
		{"all of them", model.Miss{Floor: 0.01, Scale: 1, Fits: 1 << 30, Shape: 1}, 1 << 30, 0},
		{"direct I/O", model.Miss{Floor: 1}, 1 << 30, 1500},
		{"no reads", model.Miss{}, 1 << 30, 0},
	} {
		f := &model.Fitted{Params: model.Params{Reads: c.reads}}
		l, left := derive(f, 1000, c.memory)
		if l.Read.OperationsPerSecond != c.limit {
			t.Errorf("%s: %d reads/s, want %d", c.name, l.Read.OperationsPerSecond, c.limit)
		}
		if noReads := c.reads.Floor == 0 && c.reads.Scale == 0; (left == "") != (c.limit > 0 || noReads) {
			t.Errorf("%s: left is %q", c.name, left)
		}
	}
}
