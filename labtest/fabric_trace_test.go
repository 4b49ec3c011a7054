package labtest

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// tracedTo is what a trace tells in JSON, as far as it matters here.
type tracedTo struct {
	Lost    uint64
	Missing []string
	Devices []struct {
		Name                         string
		Requests, Remaps, Unfinished uint64
	}
	By struct {
		Device []struct {
			Key       string
			Intervals map[string]struct{ Count uint64 }
		}
	}
}

// count is how often a device has an interval.
func (a tracedTo) count(device, interval string) uint64 {
	for _, d := range a.By.Device {
		if d.Key == device {
			return d.Intervals[interval].Count
		}
	}
	return 0
}

// traced follows I/Os from the head that they are queued at to the paths whose
// requests they become, of which this host has two.
func (f fabric) traced(t *testing.T, s space) {
	const (
		ios   = 60
		port  = "4477"
		nvmet = "/sys/kernel/config/nvmet"
	)
	// Another way to the same namespace, and both are used in turns.
	second := nvmet + "/ports/" + port
	f.target.do(t, fmt.Sprintf("mkdir %s && cd %s && echo ipv4 >addr_adrfam && echo %s >addr_trtype && echo %s "+
		">addr_traddr && echo %s >addr_trsvcid && ln -s %s/subsystems/%s subsystems/",
		second, second, s.transport, targetIP, port, nvmet, s.nqn()))
	defer f.target.do(t, fmt.Sprintf("rm %s/subsystems/* && rmdir %s", second, second))
	f.server.do(t, "modprobe nvme_"+s.transport)
	defer f.server.do(t, "nvme disconnect -n "+s.nqn()+" && modprobe -r nvme_"+s.transport)
	for _, p := range []string{s.port, port} {
		f.server.do(t,
			fmt.Sprintf("nvme connect -t %s -a %s -s %s -n %s -q %s", s.transport, targetIP, p, s.nqn(), initiatorNQN))
	}
	head := f.head(t, s)
	subsystem, _, _ := strings.Cut(strings.TrimPrefix(head, "nvme"), "n")
	f.server.until(t, "both paths are there",
		fmt.Sprintf("[ $(ls -d /sys/block/nvme%sc*n* | wc -l) = 2 ] && udevadm settle", subsystem))
	f.server.do(t, "echo round-robin >/sys/class/nvme-subsystem/nvme-subsys"+subsystem+"/iopolicy")

	fio := fmt.Sprintf("fio --name=r --filename=/dev/%s --rw=randread --bs=4k --size=8m --direct=1 --ioengine=libaio "+
		"--iodepth=4 --number_ios=%d", head, ios)
	const quiet = " 2>said || { cat said >&2; exit 1; }"
	record := "plimsoll trace record --device " + head
	for _, way := range []struct {
		name, command string
		intervals     []string // of the paths
	}{
		{"sums", record + " --json -- " + fio + quiet, []string{"Q2C", "Q2D", "D2C", "D2N", "N2C"}},
		{"capture", record + " -o bpf -- " + fio + " >/dev/null" + quiet + " && plimsoll trace analyze --json bpf",
			[]string{"Q2C", "Q2G", "Q2D", "D2C", "D2N", "N2C"}},
		{"the kernel's own tracer", record + " --way tracefs --json -- " + fio + quiet, []string{"Q2C", "Q2G", "Q2D", "D2C"}},
	} {
		t.Run(way.name, func(t *testing.T) {
			text := f.server.do(t, way.command)
			var a tracedTo
			if err := json.Unmarshal([]byte(text), &a); err != nil {
				t.Fatalf("%v: %s", err, tail(text))
			}
			all := a.count(head, "Q2C")
			if a.Lost > 0 || all < ios || len(a.Devices) != 3 {
				t.Errorf("%d lost; %d of %d I/Os were completed by %s: %+v", a.Lost, all, ios, head, a)
			}
			for _, d := range a.Devices {
				if d.Unfinished > 0 || d.Name != head && (d.Requests < ios/4 || d.Remaps != d.Requests) {
					t.Errorf("%+v", d)
				}
			}
			for _, interval := range way.intervals {
				var n uint64
				for _, d := range a.Devices {
					if d.Name != head {
						n += a.count(d.Name, interval)
					}
				}
				if n != all {
					t.Errorf("%s of %d requests are reported the paths, and %d were asked for: %+v", interval, n, all, a.By.Device)
				}
			}
		})
	}
	f.server.do(t, "rm -f said bpf.blktrace.*")
}
