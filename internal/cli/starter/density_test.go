package starter

import (
	"bytes"
	"strings"
	"testing"

	"plimsoll/internal/experiment"
	"plimsoll/internal/result"
	"plimsoll/internal/stack"
	"plimsoll/internal/workload/kinds"
)

// The file is an experiment, whose servers are in proportion to the host, and whose data fits into its
// place: where that is smaller than the memory, the file says that memory does not bind.
func TestDensity(t *testing.T) {
	small := server()
	small.Mounts[0].FreeBytes = 2 << 30
	bare := server()
	bare.Mounts, bare.Report.Devices = nil, nil
	for _, c := range []struct {
		name     string
		host     Host
		has      result.Limits
		servers  int
		mostRoom int64
		says     []string
	}{
		{"a server", server(), result.Limits{CPUs: 3, MemoryBytes: 8 << 30}, 16, 1 << 36,
			[]string{"data: dir:/\n", "The data of about 10 of\n  # them fill the memory", "# nvme1n1: serial:S101 > xfs",
				"run with --destroy S101", "n: [1, 6, 8, 10, 12, 14, 16]", "# srv-my-data: 'dir:\"/srv/my data\"'"}},
		{"little room", small, result.Limits{CPUs: 2, MemoryBytes: 8 << 30}, 11, 2 << 30,
			[]string{"does not bind: name a place with"}},
		{"no mounts", bare, result.Limits{CPUs: 1, MemoryBytes: 1 << 30}, 5, 1 << 40, []string{"data: dir:.\n"}},
		{"many processors", server(), result.Limits{CPUs: 128, MemoryBytes: 32 << 30}, mostServers, 1 << 36, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			var out bytes.Buffer
			if err := WriteDensity(&out, c.host, c.has); err != nil {
				t.Fatal(err)
			}
			options := experiment.Options{Catalog: stack.Catalog(), Kinds: kinds.All()}
			e, err := experiment.Parse("density.yaml", out.Bytes(), options)
			if err != nil {
				t.Fatalf("%v\n%s", err, out.String())
			}
			plan, ok := e.PlanHost(c.has)
			if !ok || plan.Instances != c.servers || !plan.Limits.None() {
				t.Errorf("the plan is %+v", plan)
			}
			if plan.RoomBytes > c.mostRoom {
				t.Errorf("it takes %d bytes of %d", plan.RoomBytes, c.mostRoom)
			}
			if binds := plan.Outgrows < float64(plan.Instances); binds == strings.Contains(out.String(), "does not bind") {
				t.Errorf("the data of %v fill the memory, and it says:\n%s", plan.Outgrows, out.String())
			}
			for _, want := range c.says {
				if !strings.Contains(out.String(), want) {
					t.Errorf("without %q:\n%s", want, out.String())
				}
			}
		})
	}
}
