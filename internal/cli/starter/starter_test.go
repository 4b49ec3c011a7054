package starter

import (
	"bytes"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"plimsoll/internal/experiment"
	"plimsoll/internal/host/hostinfo"
	"plimsoll/internal/result"
	"plimsoll/internal/stack"
	"plimsoll/internal/stack/line"
	"plimsoll/internal/workload/kinds"
)

func yes(name string) hostinfo.Item { return hostinfo.Item{Name: name, OK: hostinfo.Yes} }

func no(name string) hostinfo.Item {
	return hostinfo.Item{Name: name, OK: hostinfo.No, Why: "there is no " + name, Remedy: "apt-get install " + name}
}

// server is a host that can do everything.
func server() Host {
	return Host{
		File: "experiment.yaml",
		Report: hostinfo.Report{
			FileSystems: []hostinfo.FileSystem{{Name: "ext4"}, {Name: "xfs"}, {Name: "btrfs"}},
			Environment: result.Environment{Hostname: "db1.example.com"},
			Sections: []hostinfo.Section{
				{Name: "rights", Items: []hostinfo.Item{yes("root")}},
				{Name: "fio", Items: []hostinfo.Item{yes("fio"), yes("libaio")}},
				{Name: "Docker", Items: []hostinfo.Item{yes("private engines")}},
				{Name: "storage drivers of /usr/bin/dockerd 20.10", Items: []hostinfo.Item{yes("overlay2"), yes("fuse-overlayfs")}},
				{Name: "file systems", Items: []hostinfo.Item{yes("ext4"), yes("xfs"), no("btrfs")}},
				{Name: "loop devices", Items: []hostinfo.Item{yes("loop devices"), yes("direct I/O"), yes("space")}},
			},
			Devices: []hostinfo.Device{
				{Name: "nvme0n1", Path: "/dev/nvme0n1", Serial: "S100", SizeBytes: 1 << 40, Model: "Example DC",
					Problems: []hostinfo.Refusal{{Cause: hostinfo.CausePartitioned, Why: "it has partitions"},
						{Cause: hostinfo.CauseMounted, Why: "nvme0n1p1 is mounted on /"}}},
				{Name: "nvme0n1p1", Path: "/dev/nvme0n1p1", Partition: true, SizeBytes: 1 << 39},
				{Name: "nvme1n1", Path: "/dev/nvme1n1", Serial: "S101", SizeBytes: 1 << 40, Model: "Example DC"},
				{Name: "sda", Path: "/dev/sda", Serial: "twice", SizeBytes: 1 << 40},
				{Name: "sdb", Path: "/dev/sdb", Serial: "twice", SizeBytes: 1 << 40,
					Problems: []hostinfo.Refusal{{Cause: hostinfo.CauseSignature, Why: "it holds a signature of ext4"}}},
				{Name: "loop3", Path: "/dev/loop3", SizeBytes: 1 << 30},
			},
		},
		Mounts: []hostinfo.Mount{{Dir: "/", FSType: "ext4", FreeBytes: 1 << 36}, {Dir: "/srv/my data", FSType: "xfs"}},
	}
}

func written(t interface{ Fatal(...any) }, h Host) string {
	var out bytes.Buffer
	if err := Write(&out, h); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func parsed(t interface{ Fatal(...any) }, text string) *experiment.Experiment {
	e, err := experiment.Parse("experiment.yaml", []byte(text),
		experiment.Options{Catalog: stack.Catalog(), Kinds: kinds.All()})
	if err != nil {
		t.Fatal(err, "\n", text)
	}
	return e
}

func stacksOf(e *experiment.Experiment) string {
	var lines []string
	for _, s := range e.Stacks {
		lines = append(lines, s.Name+": "+s.Line.String())
	}
	return strings.Join(lines, "\n")
}

func TestServer(t *testing.T) {
	text := written(t, server())
	e := parsed(t, text)
	const want = `raw: loop(size=1GiB)
ext4: loop(size=1GiB) > ext4
xfs: loop(size=1GiB) > xfs
volume: loop(size=1GiB) > xfs > volume
overlay2: loop(size=1GiB) > xfs > overlay2
fuse-overlayfs: loop(size=1GiB) > xfs > fuse-overlayfs`
	if got := stacksOf(e); got != want || e.Baseline != "raw" || e.Name != "storage-of-db1.example.com" {
		t.Errorf("%s, baseline %s:\n%s", e.Name, e.Baseline, got)
	}
	for _, want := range []string{
		"#   sudo plimsoll run experiment.yaml --dry-run",
		"  # Not here, btrfs: there is no btrfs (apt-get install btrfs)",
		"  # nvme1n1: serial:S101    # 1 TiB, Example DC; run with --destroy S101\n  # nvme1n1-xfs: serial:S101 > xfs\n",
		"  # sdb: /dev/sdb    # 1 TiB; it holds a signature of ext4; run with --destroy /dev/sdb=signature\n",
		"  #   /dev/nvme0n1, 1 TiB, Example DC; it has partitions: nvme0n1p1 is mounted on /\n",
		"  # root-directory: dir:/    # ext4, 64 GiB free\n", `  # srv-my-data: 'dir:"/srv/my data"'    # xfs` + "\n",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in\n%s", want, text)
		}
	}
	if strings.Contains(text, "nvme0n1p1:") || strings.Contains(text, "loop3") ||
		strings.Contains(text, "--destroy S100") {
		t.Errorf("a device that must not be measured is proposed:\n%s", text)
	}
}

// Each line that is a comment can be made one of the file's own by taking its #
// away, and is right then.
func TestCommentsAreRight(t *testing.T) {
	text := written(t, server())
	e := parsed(t, text)
	tried := 0
	for commented := range strings.Lines(text) {
		stackLine := strings.HasPrefix(commented, "  # ") && strings.Contains(commented, ": ") &&
			!strings.HasPrefix(commented, "  # mine") &&
			(strings.Contains(commented, ": dir:") || strings.Contains(commented, ": 'dir:") ||
				strings.Contains(commented, ": /dev/") || strings.Contains(commented, ": serial:") ||
				strings.Contains(commented, ": {fio:"))
		if !stackLine {
			continue
		}
		tried++
		more := parsed(t, strings.Replace(text, commented, strings.Replace(commented, "# ", "", 1), 1))
		if len(more.Stacks)+len(more.Workloads) != len(e.Stacks)+len(e.Workloads)+1 {
			t.Errorf("without its #, this changes nothing: %s", commented)
		}
	}
	if tried != 2+2*3+2 {
		t.Errorf("%d comments were tried:\n%s", tried, text)
	}
}

// What a host lacks is left out, and what is left can be run.
func TestPoorHosts(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(sections map[string][]hostinfo.Item)
		stacks string
		says   []string
	}{
		{
			"no root", func(s map[string][]hostinfo.Item) { s["rights"][0] = no("root") },
			"here: dir:.\nraw: loop(size=1GiB)\next4: loop(size=1GiB) > ext4\nxfs: loop(size=1GiB) > xfs\nvolume: " +
				"loop(size=1GiB) > xfs > volume\n" +
				"overlay2: loop(size=1GiB) > xfs > overlay2\nfuse-overlayfs: loop(size=1GiB) > xfs > fuse-overlayfs",
			[]string{"Needs root.", "sudo plimsoll run"},
		},
		{
			"no Docker, and little space", func(s map[string][]hostinfo.Item) {
				s["Docker"][0], s["loop devices"][2] = no("private engines"), no("space")
			},
			"raw: loop(size=512MiB)\next4: loop(size=512MiB) > ext4\nxfs: loop(size=512MiB) > xfs",
			[]string{"# Not here, containers: there is no private engines", "size: 128MiB"},
		},
		{
			"no loop devices", func(s map[string][]hostinfo.Item) { s["loop devices"][0] = no("loop devices") },
			"here: dir:.", []string{"plimsoll run experiment.yaml"},
		},
		{
			"only ext4", func(s map[string][]hostinfo.Item) { s["file systems"][1] = no("xfs") },
			"raw: loop(size=1GiB)\next4: loop(size=1GiB) > ext4\nvolume: loop(size=1GiB) > ext4 > volume\noverlay2: " +
				"loop(size=1GiB) > ext4 > overlay2\nfuse-overlayfs: loop(size=1GiB) > ext4 > fuse-overlayfs",
			nil,
		},
		{
			"no fio", func(s map[string][]hostinfo.Item) { s["fio"][0] = no("fio") },
			"", []string{"# Nothing can be measured here yet: there is no fio: apt-get install fio"},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := server()
			sections := map[string][]hostinfo.Item{}
			for _, s := range h.Report.Sections {
				sections[s.Name] = s.Items
			}
			c.change(sections)
			text := written(t, h)
			if got := stacksOf(parsed(t, text)); c.stacks != "" && got != c.stacks {
				t.Errorf("got\n%s", got)
			}
			for _, want := range c.says {
				if !strings.Contains(text, want) {
					t.Errorf("%q is not in\n%s", want, text)
				}
			}
		})
	}
	parsed(t, written(t, Host{})) // of which nothing at all is known
}

// Names of hosts, devices and directories are other people's: whatever they are,
// the file is an experiment, and writes no device.
func TestNamesOfOthers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		any := rapid.OneOf(rapid.String(), rapid.StringMatching(`[\n\r\t"':#{}$%&*\\> a/-]{0,12}`),
			rapid.Just("x\n  evil: /dev/vda > xfs\n#"), rapid.Just("\u2028evil: /dev/vda"))
		h := server()
		h.File = any.Draw(t, "file")
		h.Report.Environment.Hostname = any.Draw(t, "host")
		for i := range h.Report.Devices {
			d := &h.Report.Devices[i]
			d.Name, d.Path, d.Serial, d.Model = any.Draw(t, "name"), "/dev/"+any.Draw(t, "path"), any.Draw(t, "serial"),
				any.Draw(t, "model")
			for p := range d.Problems {
				d.Problems[p].Why = any.Draw(t, "why")
			}
		}
		for i := range h.Mounts {
			h.Mounts[i] = hostinfo.Mount{Dir: "/" + any.Draw(t, "dir"), FSType: any.Draw(t, "type")}
		}
		h.Report.Sections[4].Items[2].Why = any.Draw(t, "reason")
		text := written(t, h)
		e := parsed(t, text)
		if len(e.Stacks) != 6 || len(e.Workloads) != 2 {
			t.Fatalf("%d stacks, %d workloads:\n%s", len(e.Stacks), len(e.Workloads), text)
		}
		for _, s := range e.Stacks {
			for _, source := range s.Line.Sources() {
				if stack.WritesDevice(line.Line{Nodes: []line.Node{source}}) {
					t.Fatalf("stack %s writes a device:\n%s", s.Name, text)
				}
			}
		}
		if strings.ContainsAny(text, "\x1b\r") {
			t.Fatalf("control characters:\n%q", text)
		}
	})
}
