package capture

import (
	"fmt"
	"testing"

	"plimsoll/internal/iotrace"
	"plimsoll/internal/iotrace/blktrace"
	"plimsoll/internal/testkit/hosttest"
)

// The verifier is asked about all that any options and devices can attach.
func TestKernelTakesThePrograms(t *testing.T) {
	hosttest.Exclusive(t)
	var devices []device
	for i := range uint32(maxDevices) {
		devices = append(
			devices,
			device{name: fmt.Sprintf("nvme%dn1", i), major: 259, minor: i, bios: i%2 == 0, stacked: true},
		)
	}
	for name, kind := range map[string][]byte{"BTF": eventsBTF, "raw": eventsRaw} {
		r := &bpfRecorder{devices: devices, options: Options{Events: func(*blktrace.Record) {}}, cgroups: newCgroups()}
		if err := r.load(kind); err != nil {
			t.Errorf("%s, every event: %+v", name, err)
		}
		_ = r.close()
	}
	for name, kind := range map[string][]byte{"BTF": programsBTF, "raw": programsRaw} {
		for _, n := range []int{1, maxDevices} {
			for _, o := range []Options{{}, {Stages: true}, {Application: true},
				{Application: true, Stages: true, Requests: func(*iotrace.IO) {}}} {
				r := &bpfRecorder{devices: devices[:n], options: o, cgroups: newCgroups()}
				if err := r.load(kind); err != nil {
					t.Errorf("%s, %d devices, %+v: %+v", name, n, o, err)
				}
				_ = r.close()
			}
		}
	}
}
