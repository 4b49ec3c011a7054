package watch

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// scene is a document of two groups on a drive.
func scene(victimP99, offenderDepth, pressure float64) *Document {
	return &Document{Seconds: 1, Groups: []Group{
		{Path: "/db", Kind: Container, Name: "db", Values: Values{"pressure.io.some": pressure},
			Drives: []Use{{Device: "sda", Read: Stream{PerSecond: 200, P99: victimP99}, Depth: 0.2}}},
		{Path: "/backup", Kind: Container, Name: "backup",
			Drives: []Use{{Device: "sda", Read: Stream{PerSecond: 5000, P99: 0.004}, Depth: offenderDepth}}},
	}}
}

func kinds(all []Finding) (out []FindingKind) {
	for _, f := range all {
		out = append(out, f.Kind)
	}
	return out
}

// Who disturbs whom is told from the victim's own intervals without, and from nothing less.
func TestWhoDisturbsWhom(t *testing.T) {
	h := history{}
	for range 3 {
		if got := h.find(scene(0.001, 0, 0)); len(got) != 0 {
			t.Fatalf("alone: %+v", got)
		}
	}
	got := h.find(scene(0.004, 16, 0))
	if len(got) != 1 || got[0].Kind != Disturbs || got[0].Group != "db" || got[0].Offender != "backup" ||
		got[0].QuietP99 != 0.001 {
		t.Fatalf("disturbed: %+v", got)
	}
	for _, words := range []string{"backup disturbs db on sda", "4.00 ms", "1.00 ms", "16.0 of 16.2"} {
		if !strings.Contains(got[0].Text, words) {
			t.Errorf("%q lacks %q", got[0].Text, words)
		}
	}
	if got := h.find(scene(0.0015, 16, 0.9)); len(got) != 0 {
		t.Errorf("as fast as without: %+v", got)
	}
	if got := h.find(scene(0.004, 1, 0.9)); len(got) != 0 {
		t.Errorf("by somebody with one request at a time: %+v", got)
	}
}

// Without earlier intervals, only one that waits may be disturbed; and not one that waits for its own limit.
func TestWhoMayDisturb(t *testing.T) {
	if got := (history{}).find(scene(0.004, 16, 0.5)); !slices.Equal(kinds(got), []FindingKind{MayDisturb}) {
		t.Errorf("it waits: %+v", got)
	}
	if got := (history{}).find(scene(0.004, 16, 0)); len(got) != 0 {
		t.Errorf("it does not wait: %+v", got)
	}
	d := scene(0.004, 16, 0.5)
	d.Groups[0].Limits = []Limit{{Of: keyReadIOPS, Device: "sda", Held: 200, Used: 200}}
	if got := (history{}).find(d); !slices.Equal(kinds(got), []FindingKind{OwnLimit}) {
		t.Errorf("it waits for its own limit: %+v", got)
	}
	d = scene(0.004, 16, 0.5)
	d.Groups[0].Drives[0].Read.PerSecond = 50
	if got := (history{}).find(d); len(got) != 0 {
		t.Errorf("p99 of 50 requests is the slowest of them: %+v", got)
	}
}

// Limits in force are held against those asked for: of a group itself, and of groups above.
func TestLimitsInForceAndAskedFor(t *testing.T) {
	m := newHost(t)
	m.group("a.slice")
	m.group("a.slice/docker-" + containerID + ".scope")
	in := "sys/fs/cgroup/a.slice/docker-" + containerID + ".scope/"
	m.write("sys/fs/cgroup/a.slice/memory.max", "104857600\n")
	m.write("sys/fs/cgroup/a.slice/io.max", "8:0 rbps=max wbps=max riops=50 wiops=max\n")
	m.write(in+"cpu.max", "50000 100000\n")
	m.write(in+"io.max", "8:0 rbps=max wbps=1000000 riops=70 wiops=max\n")
	m.write(in+"memory.max", "1073741824\n")
	d := m.look(engine(t, serving(t, containerID, "db", nil, map[string]any{"NanoCpus": 1e9, "Memory": 1 << 30,
		"BlkioDeviceWriteIOps": []map[string]any{{"Path": "8:0", "Rate": 9}}})))
	g := find(t, d, "/a.slice/docker-"+containerID+".scope")
	asked := func(v float64) *float64 { return &v }
	for _, want := range []Limit{
		{Of: keyCPUs, Held: 0.5, Asked: asked(1)},
		{Of: keyMemory, Held: 104857600, Above: "/a.slice", Asked: asked(1 << 30)},
		{Of: keyReadIOPS, Device: "sda", Held: 50, Above: "/a.slice", Asked: asked(0)},
		{Of: keyWriteBandwidth, Device: "sda", Held: 1000000, Asked: asked(0)},
		{Of: keyWriteIOPS, Device: "sda", Asked: asked(9)},
	} {
		i := slices.IndexFunc(g.Limits, func(l Limit) bool { return l.Of == want.Of && l.Device == want.Device })
		if i < 0 {
			t.Errorf("no limit %+v", want)
			continue
		}
		if l := g.Limits[i]; l.Held != want.Held || l.Above != want.Above || l.Asked == nil || *l.Asked != *want.Asked {
			t.Errorf("%+v, want %+v", l, want)
		}
	}
	if got := kinds(d.Findings); !slices.Equal(got, []FindingKind{LimitLost, LimitDiffers, LimitUnasked}) {
		t.Errorf("findings %q", got)
	}
	m0 := g.Memory
	if m0 == nil || m0.Held != 1501000 || m0.Cache != 1500000 || m0.Enough != 2201000 {
		t.Errorf("memory %+v", m0)
	}
}

// With version 1, limits on devices do not hold for groups below.
func TestDeviceLimitsOfVersion1DoNotInherit(t *testing.T) {
	m := newHost(t)
	m.write("proc/self/cgroup", "2:blkio:/\n1:cpuacct:/\n")
	m.write("proc/self/mountinfo", "30 24 0:26 / /sys/fs/cgroup/blkio rw - cgroup cgroup rw,blkio\n"+
		"31 24 0:27 / /sys/fs/cgroup/cpuacct rw - cgroup cgroup rw,cpuacct\n")
	for _, at := range []string{"up", "up/low"} {
		for _, name := range []string{"read_bps", "read_iops", "write_bps", "write_iops"} {
			m.write("sys/fs/cgroup/blkio/"+at+"/blkio.throttle."+name+"_device", "")
		}
		m.write("sys/fs/cgroup/blkio/"+at+"/cgroup.procs", "1\n")
	}
	m.write("sys/fs/cgroup/blkio/up/blkio.throttle.read_iops_device", "8:0 5\n")
	d := m.look()
	if up, low := find(t, d, "/up"), find(t, d, "/up/low"); len(up.Limits) != 1 || len(low.Limits) != 0 {
		t.Errorf("%+v above %+v", up.Limits, low.Limits)
	}
}

func TestGroupsByTheirNames(t *testing.T) {
	for path, want := range map[string]string{
		"/docker/" + containerID:                                     "docker container",
		"/system.slice/docker-" + containerID + ".scope":             "docker container",
		"/kubepods.slice/x/cri-containerd-" + containerID + ".scope": "containerd container",
		"/kubepods/burstable/pod1/" + containerID:                    "containerd container",
		"/machine.slice/libpod-" + containerID + ".scope":            "podman container",
		"/machine.slice/crio-" + containerID + ".scope":              "cri-o container",
		"/mine/" + containerID:                                       " container",
		"/system.slice/ssh.service":                                  "systemd service",
		"/init.scope":                                                "systemd scope",
		"/-.slice":                                                   "systemd slice",
		"/docker-" + containerID[1:] + ".scope":                      "systemd scope",
		"/other":                                                     " group",
	} {
		if g := classify(path, true); g.Engine+" "+string(g.Kind) != want {
			t.Errorf("%s is %s %s, want %s", path, g.Engine, g.Kind, want)
		}
	}
	if g := classify("/empty", false); g.Kind != "" {
		t.Errorf("a group with no process is %s", g.Kind)
	}
}

// containerd's shims keep what tasks were created with, by a path that no rule of names knows.
func TestTasksOfContainerd(t *testing.T) {
	m := newHost(t)
	m.group("default/web")
	w, err := New(Options{Roots: m.roots, Sockets: []string{}, NoLatency: true})
	if err != nil {
		t.Fatal(err)
	}
	w.engines.systemctl, w.engines.containerd = "", filepath.Join(filepath.Dir(m.roots.Proc), "containerd")
	m.write(
		"containerd/default/web/config.json",
		`{"annotations":{"plimsoll.class":"C"},"linux":{"cgroupsPath":"/default/web",
		"resources":{"memory":{"limit":5},"cpu":{"quota":50000,"period":100000},
		"blockIO":{"throttleReadIOPSDevice":[{"major":8,"minor":0,"rate":7}]}}}}`,
	)
	m.write("containerd/default/broken/config.json", "{")
	d, err := w.Look(t.Context(), 1e7)
	if err != nil {
		t.Fatal(err)
	}
	g := find(t, d, "/default/web")
	if g.Kind != Container || g.Engine != "containerd" || g.Class != "C" || len(g.Limits) != 3 {
		t.Errorf("%+v", g)
	}
	if !strings.Contains(strings.Join(d.Unknown, "\n"), "container broken: unexpected end of JSON") {
		t.Errorf("unknown: %q", d.Unknown)
	}
}

// systemctl is asked for the properties of units, whatever their names are; one that hangs is not waited for.
func TestUnitsOfSystemd(t *testing.T) {
	program := filepath.Join(t.TempDir(), "systemctl")
	script := `#!/bin/sh
[ "$3 $4" = "-- --help.service" ] || exit 1
printf 'ControlGroup=/system.slice/a.service\nCPUQuotaPerSecUSec=1.500s\nMemoryMax=1048576\n'
printf 'IOReadIOPSMax=/dev/sdx 300\nIOReadIOPSMax=/dev/sdy 400\nIOWriteBandwidthMax=/dev/sdx 5000000\n\n'
printf 'ControlGroup=/system.slice/b.service\nCPUQuotaPerSecUSec=infinity\nMemoryMax=infinity\n'
`
	if err := os.WriteFile(program, []byte(script), 0o700); err != nil { //nolint:gosec // a program
		t.Fatal(err)
	}
	e := engines{systemctl: program, longest: longestAnswer * 60}
	got, err := e.askSystemd(t.Context(), []string{"--help.service"})
	if err != nil {
		t.Fatal(err)
	}
	a := got["/system.slice/a.service"].Limits
	for key, want := range map[limitKey]float64{{keyCPUs, ""}: 1.5, {keyMemory, ""}: 1048576,
		{keyReadIOPS, "/dev/sdx"}: 300,
		{keyReadIOPS, "/dev/sdy"}: 400, {keyWriteBandwidth, "/dev/sdx"}: 5e6} {
		if a[key] != want {
			t.Errorf("%v is %v, want %v", key, a[key], want)
		}
	}
	if b := got["/system.slice/b.service"]; b.Limits == nil || len(b.Limits) != 0 {
		t.Errorf("b has %v", b.Limits)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := e.askSystemd(ctx, []string{"--help.service"}); err == nil {
		t.Error("it was not ended")
	}
}
