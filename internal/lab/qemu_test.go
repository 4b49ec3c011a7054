package lab

import (
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
)

// The command lines of QEMU are kept in testdata/qemu, one argument and its
// value on a line.
func TestArguments(t *testing.T) {
	datadriven.RunTest(t, "testdata/qemu", func(t *testing.T, d *datadriven.TestData) string {
		if d.Cmd == "probe" {
			return displayed(probeArguments("/image/vmlinux", "/lab/probe-1", "kvm"))
		}
		m := Machine{CPUs: 2, Memory: 2 << 30, Name: d.Cmd}
		accel, drives, profile, root := Accelerator{}, 0, Unlimited, "/image/root.img"
		d.MaybeScanArgs(t, "accel", &accel.Name)
		d.MaybeScanArgs(t, "cpus", &m.CPUs)
		d.MaybeScanArgs(t, "threads", &accel.Threads)
		d.MaybeScanArgs(t, "drives", &drives)
		d.MaybeScanArgs(t, "profile", &profile)
		d.MaybeScanArgs(t, "peers", &m.Peers)
		d.MaybeScanArgs(t, "root", &root)
		limits, err := ParseProfile(profile)
		if err != nil {
			t.Fatal(err)
		}
		for _, serial := range Serials(m.Name, drives) {
			m.Drives = append(m.Drives, Drive{Serial: serial, Bytes: 1 << 30, Limits: limits})
		}
		return displayed(
			arguments(m, files{Root: root, Kernel: "/image/vmlinux", Initrd: "initrd", Links: ".."}, accel),
		)
	})
}

func displayed(args []string) string {
	var out strings.Builder
	for i, a := range args {
		if i > 0 && strings.HasPrefix(a, "-") {
			out.WriteByte('\n')
		} else if i > 0 {
			out.WriteByte(' ')
		}
		out.WriteString(a)
	}
	return fmt.Sprintln(out.String())
}

// What each version of QEMU says of itself, and whether its processors may have
// threads of their own.
func TestEmulationThreads(t *testing.T) {
	for version, want := range map[string]string{
		"QEMU emulator version 7.2.22 (Debian 1:7.2+dfsg-7+deb12u18+b3)\nCopyright (c) 2003-2022": "single",
		"QEMU emulator version 8.1.0\n":                         "single",
		"QEMU emulator version 9.0.50 (v9.0.0)\n":               "single",
		"QEMU emulator version 9.1.0\n":                         "multi",
		"QEMU emulator version 10.0.2 (Debian 1:10.0.2+ds-2)\n": "multi",
		"QEMU emulator version 99999999999999999999.1\n":        "single",
		"something else": "single",
		"":               "single",
	} {
		if got := emulationThreads(version); got != want {
			t.Errorf("%q: %s, want %s", version, got, want)
		}
	}
}

// Machines of older QEMU get one processor, and whoever wants more is told what that means.
func TestProcessorsThatSuit(t *testing.T) {
	old, recent, kvm := Accelerator{Name: emulation, Threads: "single"}, Accelerator{Name: emulation, Threads: "multi"},
		Accelerator{Name: "kvm"}
	if n := old.defaultCPUs(1); n != 1 {
		t.Errorf("%d processors", n)
	}
	for _, a := range []Accelerator{recent, kvm} {
		if n := a.defaultCPUs(1); n != 2 {
			t.Errorf("%s: %d processors", a.Name, n)
		}
		if a.stalls(Machine{CPUs: 4}) {
			t.Errorf("%s with %s: said to stall", a.Name, a.Threads)
		}
	}
	if old.stalls(Machine{CPUs: 1}) || !old.stalls(Machine{CPUs: 2}) {
		t.Error("one processor stalls, or two do not")
	}
}

func TestValidate(t *testing.T) {
	err := Options{Machines: []Machine{{Name: Server, CPUs: 65, Memory: 1 << 20, Drives: make([]Drive, 17)}}}.Validate()
	for _, want := range []string{"65 CPUs", "1 MiB", "17 drives"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v does not say %q", err, want)
		}
	}
}
