package main

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"plimsoll/internal/host/hostinfo"
	"plimsoll/internal/problem"
	"plimsoll/internal/result"
)

// A report is read from the top; reasons stand beneath what they explain, a
// remedy that several items share beneath the last of them.
func TestDoctorReport(t *testing.T) {
	var out bytes.Buffer
	printDoctor(&out, hostinfo.Report{
		Environment: result.Environment{
			Hostname: "db1", OS: "Debian 12", Kernel: "6.1.0", CPUs: 4, CPUModel: "EPYC", MemoryBytes: 8 << 30,
		},
		Sections: []hostinfo.Section{
			{Name: "fio", Items: []hostinfo.Item{
				{Name: "fio", OK: hostinfo.Yes, Value: "3.33  /usr/bin/fio"},
				{Name: "libaio", OK: hostinfo.Limited, Value: "10 of 65536 requests are free", Why: "others hold them",
					Remedy: "sysctl fs.aio-max-nr=1048576"},
			}},
			{Name: "block layers", Items: []hostinfo.Item{
				{Name: "md", OK: hostinfo.No, Why: "no CONFIG_BLK_DEV_MD", Remedy: "another kernel"},
				{Name: "nvme", OK: hostinfo.No, Why: "no CONFIG_BLK_DEV_NVME", Remedy: "another kernel"},
				{Name: "nvmet", OK: hostinfo.Unknown, Why: strings.Repeat("a long reason ", 8), Remedy: "modprobe nvmet"},
			}},
		},
		Devices: []hostinfo.Device{
			{
				Path: "/dev/nvme0n1", SizeBytes: 1 << 40, Model: "Example DC", Serial: "S1", Firmware: "F1",
				Scheduler: "none", WriteCache: "write back",
				Problems: []hostinfo.Refusal{{Cause: hostinfo.CauseMounted, Why: "it is mounted on /", Remedy: "name another"}},
			},
			{Path: "/dev/sda1", SizeBytes: 1 << 30, Rotational: true, Partition: true},
		},
		Quick: hostinfo.Quick{
			Missing: problem.List{{What: "root", Why: "user 1000", Remedy: "sudo"}},
			Warnings: problem.List{{What: "trials on xfs will be skipped", Why: "no mkfs.xfs",
				Remedy: "apt-get install xfsprogs"}},
		},
	}, 80, false)
	const want = `
host
           name    db1
           system  Debian 12, Linux 6.1.0
           CPU     4 x EPYC
           memory  8 GiB
fio
  ok       fio     3.33  /usr/bin/fio
  limited  libaio  10 of 65536 requests are free
           why:    others hold them
           remedy: sysctl fs.aio-max-nr=1048576
block layers
  no       md
           why:    no CONFIG_BLK_DEV_MD
  no       nvme
           why:    no CONFIG_BLK_DEV_NVME
           remedy: another kernel
  unknown  nvmet
           why:    a long reason a long reason a long reason a long reason a
                   long reason a long reason a long reason a long reason
           remedy: modprobe nvmet
block devices
  no       /dev/nvme0n1  1 TiB, Example DC, serial S1
                   firmware F1, scheduler none, cache write back
           why:    mounted: it is mounted on /
           remedy: name another
  ok       /dev/sda1  1 GiB
plimsoll run quick
  no       cannot run
  no       root
           why:    user 1000
           remedy: sudo
  limited  trials on xfs will be skipped
           why:    no mkfs.xfs
           remedy: apt-get install xfsprogs
`
	if got := "\n" + out.String(); got != want {
		t.Errorf("got:%s\nwant:%s", got, want)
	}
}

// The exit status is the verdict on quick, in text and in JSON.
func TestDoctorExitStatus(t *testing.T) {
	var out, problems bytes.Buffer
	code := execute(t.Context(), []string{"doctor", "--json"}, &out, &problems)
	var report hostinfo.Report
	if err := json.Unmarshal(out.Bytes(), &report); err != nil {
		t.Fatalf("%v: %s%s", err, out.String(), problems.String())
	}
	want := exitHost
	if report.Quick.CanRun {
		want = exitOK
	}
	if code != want {
		t.Errorf("exit status %d with %+v, want %d", code, report.Quick, want)
	}

	// Without /proc nothing is known, least of all that this is root.
	empty := t.TempDir()
	out.Reset()
	if code := execute(t.Context(), []string{"doctor", "--path.procfs", empty}, &out, &problems); code != exitHost {
		t.Errorf("exit status %d without /proc, want %d", code, exitHost)
	}
	if !strings.Contains(out.String(), "cannot run") || strings.Contains(out.String(), "\x1b[") {
		t.Errorf("want plain text that says that quick cannot run:\n%s", out.String())
	}
	if code := execute(t.Context(), []string{"doctor", "extra"}, &out, &problems); code != exitUsage {
		t.Errorf("exit status %d with an argument, want %d", code, exitUsage)
	}
}

// What devices call themselves is theirs: some are filled in by a hypervisor, or
// by another host.
func TestDoctorIsNotSteeredByDevices(t *testing.T) {
	for _, color := range []bool{false, true} {
		var out bytes.Buffer
		printDoctor(&out, hostinfo.Report{
			Environment: result.Environment{Hostname: titled, CPUModel: titled},
			Sections: []hostinfo.Section{{Name: "x",
				Items: []hostinfo.Item{{Name: titled, OK: hostinfo.No, Value: titled, Why: titled}}}},
			Devices: []hostinfo.Device{{
				Path: titled, Model: titled, Serial: titled, Firmware: "\x1b[8m",
				Problems: []hostinfo.Refusal{{Why: titled, Remedy: titled}},
			}},
			Quick: hostinfo.Quick{Missing: problem.List{{What: titled, Why: titled}}},
		}, 100, color)
		text := out.String()
		text = painted.ReplaceAllString(text, "")
		if bad := steers.FindString(text); bad != "" || !strings.Contains(text, "owned") {
			t.Errorf("colour %v: %q is in\n%q", color, bad, text)
		}
	}
}
