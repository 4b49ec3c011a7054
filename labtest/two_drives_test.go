package labtest

import (
	"slices"
	"strings"
	"testing"

	"plimsoll/internal/image"
	"plimsoll/internal/lab"
	"plimsoll/internal/result"
	"plimsoll/internal/testkit/hosttest"
	"plimsoll/internal/testkit/imagetest"
)

// TestPapersOnTwoDrives: experiments that compare drives take each by the name of its stack, and no drive for two. In
// the place of the papers' databases are those that start in time where processors are emulated.
func TestPapersOnTwoDrives(t *testing.T) {
	hosttest.Soak(t)
	file := imagetest.Saved(t, image.In(hosttest.Kept(t, "images", "../internal/image")), "postgresql",
		"postgresql:15")
	g := start(t, lab.Machine{Name: lab.Server, Memory: 3 << 30, Drives: drives(lab.Server, 4<<30, 4<<30)})[0]
	if err := lab.Send(t.Context(), g.dir, []string{file}); err != nil {
		t.Fatal(err)
	}
	g.do(t, "plimsoll image load --quiet postgresql.tar && rm postgresql.tar")
	for _, c := range []struct {
		name, first, second string // experiment, and the stacks on the first and on the second drive
		flags               string
		changes             []string
	}{
		{"cassandra-assignment", "one", "two", "--records 2000", []string{
			"cassandra: {heap: 192MiB, memtable_heap_space: 32MiB}", "pebble: {cache: 1MiB}", "threads: 8", "threads: 2",
			"n: [2, 3]", "n: [2]", "{more: 2600MiB, less: 1800MiB}", "{more: 512MiB}", "cpus: 2", "cpus: 1"}},
		{"mysql-media", "sata", "nvme", "--only T-sata,T-nvme", []string{
			"mysql: {innodb_buffer_pool_size: 64MiB}", `postgresql: {image: "postgresql:15", shared_buffers: 32MiB}`,
			"warehouses: 2, threads: 16", "warehouses: 1, threads: 2", "cpus: 2", "cpus: 1"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			text := strings.NewReplacer(c.changes...).Replace(example(t, c.name))
			for i := 0; i < len(c.changes); i += 2 {
				if !strings.Contains(text, c.changes[i+1]) {
					t.Fatalf("the experiment has no %q any more", c.changes[i])
				}
			}
			text, _, _ = strings.Cut(text, "\nscales:")
			g.put(t, "experiment.yaml", text+"\n")
			run := "plimsoll run experiment.yaml --quiet --no-control --repeat 1 --trials 1 --runtime 2s --ramp 200ms -o " +
				c.name + " " + c.flags
			g.ends(t, 2, run+" --on "+c.first+"=serial:LAB1 --on "+c.second+"=serial:LAB1 --destroy LAB1",
				"one drive cannot be both")
			g.do(t, run+" --on "+c.first+"=serial:LAB1 --on "+c.second+
				"=serial:LAB2 --destroy LAB1=signature --destroy LAB2=signature")
			ran := g.ran(t, c.name)
			serials := map[string]string{} // of the drive at the bottom, by stack
			for _, s := range ran.Stacks {
				for _, d := range s.Devices {
					at := slices.IndexFunc(ran.Environment.Devices, func(i result.DeviceInfo) bool { return i.Name == d.Name })
					if d.Role == "bottom" && at >= 0 {
						serials[s.Name] += ran.Environment.Devices[at].Serial
					}
				}
			}
			if serials[c.first] != "LAB1" || serials[c.second] != "LAB2" {
				t.Errorf("stacks stand on %v", serials)
			}
			measured := map[string]bool{}
			for _, trial := range ran.Trials {
				if trial.Status != result.TrialDone || trial.Measured().IOs() == 0 {
					t.Errorf("%s: %s, %+v", trial.Mix, trial.Status, trial.Problem)
				}
				for _, in := range trial.Instances {
					measured[in.Stack] = true
				}
			}
			if !measured[c.first] || !measured[c.second] {
				t.Errorf("servers were measured on %v", measured)
			}
		})
	}
}
