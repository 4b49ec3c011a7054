package experiment

import (
	"slices"
	"strings"
	"testing"

	"plimsoll/examples"
	"plimsoll/internal/result"
	"plimsoll/internal/stack"
	"plimsoll/internal/workload/kinds"
)

// paperHost is the host of a paper: what its kernel has of the memory, the processors, and the size of a drive.
type paperHost struct {
	memory int64
	cpus   int
	drive  int64
}

const gib = 1 << 30

var (
	msst17  = paperHost{memory: 62 * gib, cpus: 48, drive: 1_600_321_314_816} // PM1725 of 1.6 TB
	systor  = paperHost{memory: 62 * gib, cpus: 32, drive: 1_600_321_314_816} // XS1715 of 1.6 TB
	ipccc16 = paperHost{memory: 125 * gib, cpus: 32, drive: 3 * 960_197_124_096}
)

func atPaperScale(t *testing.T, name string) *Experiment {
	t.Helper()
	text, ok := examples.Find(name)
	if !ok {
		t.Fatalf("no experiment %s", name)
	}
	e, err := Parse(name+".yaml", text, Options{Catalog: stack.Catalog(), Kinds: kinds.All(), Scale: "paper"})
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// The experiments of databases start with all their mixes on the hosts that their figures are from.
func TestExperimentsFitThePapersHosts(t *testing.T) {
	for _, c := range []struct {
		name    string
		host    paperHost
		stacks  []string // that are on one of the host's drives
		figures string
	}{
		{"cassandra-scaling", msst17, []string{"disk"}, "6a to 6c"},
		{"cassandra-remote", msst17, []string{"local"}, "6 over fabrics"},
		{"cassandra-policies", msst17, []string{"disk"}, "table 2, 7a to 7c"},
		{"cassandra-assignment", msst17, []string{"one", "two"}, "8a to 8c"},
		{"mysql-users", systor, []string{"disk"}, "6"},
		{"cassandra-dbsize", systor, []string{"disk"}, "10"},
		{"cassandra-media", systor, []string{"nvme"}, "11, 12"},
		{"mongodb-media", systor, []string{"nvme"}, "13, 14"},
		{"mysql-media", systor, []string{"nvme"}, "7 to 9"},
		{"homogeneous", ipccc16, []string{"disk"}, "3 to 6"},
		{"heterogeneous", ipccc16, []string{"disk"}, "8 to 11"},
	} {
		e := atPaperScale(t, c.name)
		mixes := len(e.Mixes)
		leftOut := e.Overfull(result.Limits{CPUs: float64(c.host.cpus), MemoryBytes: c.host.memory})
		if len(leftOut) > 0 {
			t.Errorf("figures %s: of %d mixes of %s are left out %q", c.figures, mixes, c.name, leftOut)
		}
		for _, name := range c.stacks {
			i := slices.IndexFunc(e.Stacks, func(s Stack) bool { return s.Name == name })
			if i < 0 {
				t.Errorf("%s has no stack %s", c.name, name)
				continue
			}
			need := e.Need(e.Stacks[i])
			t.Logf("%s: %.0f GiB of room on %s, which has %.0f", c.name, float64(need)/gib, name, float64(c.host.drive)/gib)
			if files := c.host.drive / 100 * 98; need > files { // xfs keeps 2% for itself
				t.Errorf("figures %s: stack %s of %s needs %d bytes, and its drive has room for %d", c.figures, name, c.name,
					need, files)
			}
		}
	}
}

// Servers that take more memory than the host has are left out, with the reason.
func TestServersThatDoNotFitAreLeftOut(t *testing.T) {
	e := atPaperScale(t, "cassandra-scaling")
	leftOut := e.Overfull(result.Limits{CPUs: 2, MemoryBytes: 24 * gib})
	if len(leftOut) != 1 || !strings.Contains(leftOut[0], "A-4, A-5") || len(e.Mixes) != 6 || e.Mixes[0].Name != "A-1" {
		t.Errorf("left out %q, of which stay %v", leftOut, namesOf(e.Mixes, mixName))
	}
	if unknown := e.Overfull(result.Limits{}); unknown != nil {
		t.Errorf("on a host of unknown memory are left out %q", unknown)
	}
}

// What a paper does not state, and its servers do not have by default, is assumed.
func TestAssumed(t *testing.T) {
	for _, c := range []struct {
		name   string
		stated []string
		want   []string
	}{
		{"cassandra-scaling", []string{"records", "threads"}, []string{"heap", "operations"}},
		{"cassandra-scaling", []string{"heap", "records", "threads", "operations"}, nil},
		{"homogeneous", nil, []string{"field-size", "fields", "ramp", "records", "runtime", "threads", "warehouses"}},
		{"host-filesystems", nil, nil},
	} {
		if got := atPaperScale(t, c.name).Assumed(c.stated); !slices.Equal(got, c.want) {
			t.Errorf("of %s is assumed %q, want %q", c.name, got, c.want)
		}
	}
}

// A trial ends after a time or after operations.
func TestOperationsAndFixedConflict(t *testing.T) {
	const file = "name: x\nquestion: Which?\nstacks: {a: tmpfs(size=64MiB)}\nworkloads: {r: {fio: {rw: randread, " +
		"size: 1MiB}}}\noperations: 20k\n"
	o := Options{Catalog: stack.Catalog(), Kinds: kinds.All()}
	e, err := Parse("x.yaml", []byte(file), o)
	if err != nil || e.Operations != 20_000 {
		t.Fatalf("operations are %v: %v", e, err)
	}
	for text, want := range map[string]string{
		file + "fixed: true\n":                   "x.yaml:5: operations and fixed both end a trial",
		strings.Replace(file, "20k", "20MiB", 1): "a whole number of operations",
		strings.Replace(file, "20k", "0.5", 1):   "a whole number of operations",
		file + "data: shared\n":                  "x.yaml:6: data takes one of cloned, copied",
	} {
		_, err := Parse("x.yaml", []byte(text), o)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s\nis refused with %v, want %s", text, err, want)
		}
	}
}
