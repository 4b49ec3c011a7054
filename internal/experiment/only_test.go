package experiment

import (
	"slices"
	"strings"
	"testing"

	"plimsoll/examples"
	"plimsoll/internal/stack"
	"plimsoll/internal/stack/line"
	"plimsoll/internal/workload/kinds"
)

// --only keeps what a pattern matches, and with it what that needs.
func TestOnly(t *testing.T) {
	for _, c := range []struct {
		experiment, only, stacks, mixes, workloads string
	}{
		{"host-filesystems", "xfs,randread", "raw xfs", "randread", "randread"},
		{"host-filesystems", "rand*", "raw ext4 xfs btrfs", "randread randwrite", "randread randwrite"},
		{"heterogeneous", "W-?,W-T-*", "disk", "W-1 W-T-1", "W T"},
		{"heterogeneous", "T", "disk", "T-1", "T"},
		{"homogeneous", "T-*", "disk", "T-1 T-2 T-3 T-4", "T"},
	} {
		e := builtIn(t, c.experiment)
		only, ok := flagOf("only")
		if !ok {
			t.Fatal("there is no --only")
		}
		err := only.Set(e, c.only)
		if err != nil {
			t.Fatal(err)
		}
		apply(t, e, e.Scaled)
		check := func(what string, want string, got []string) {
			if strings.Join(got, " ") != want {
				t.Errorf("%s of %s --only %s are %v, want %s", what, c.experiment, c.only, got, want)
			}
		}
		check("stacks", c.stacks, namesOf(e.Stacks, stackName))
		check("mixes", c.mixes, namesOf(e.Mixes, mixName))
		check("workloads", c.workloads, namesOf(e.Workloads, func(w Workload) string { return w.Name }))
	}
}

func flagOf(name string) (Setting, bool) {
	flags := Flags()
	i := slices.IndexFunc(flags, func(s Setting) bool { return s.Flag == name })
	if i < 0 {
		return Setting{}, false
	}
	return flags[i], true
}

// What an experiment says of a parameter is read off all that runs in it.
func TestParameter(t *testing.T) {
	e := builtIn(t, "homogeneous")
	for name, want := range map[string]string{
		"containers": "1 to 4", "threads": "4, 8", "warehouses": "1", "innodb_buffer_pool_size": "160MiB",
		"memory": "2.2 GiB",
		"cpus":   "2", "runtime": "4s", "records": "200000, 400000",
		"drives": "loop(size=12GiB, direct-io=on)", "nonsense": "",
		"limits": "none", "precondition": "files once",
	} {
		got := e.Parameter(name)
		if got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	if got := builtIn(t, "write-scaling").Parameter("jobs"); got != "1 to 64" {
		t.Errorf("jobs of write-scaling are %q", got)
	}
}

// Stacks are put on drives by name; one drive stands for no two, and none of a name that no stack has.
func TestEachStackOnItsDrive(t *testing.T) {
	text, _ := examples.Find("mysql-media")
	paper := func() *Experiment {
		e, err := Parse("x.yaml", text, Options{Catalog: stack.Catalog(), Kinds: kinds.All(), Scale: "paper"})
		if err != nil {
			t.Fatal(err)
		}
		return e
	}
	a, b, pair := node(t, "serial:A")[0], node(t, "/dev/nvme1n1")[0], node(t, "serial:C + serial:D")[0]
	e := paper()
	leftOut := apply(t, e, Scale{Each: map[string]line.Node{"sata": a, "nvme": b, "stripe": pair}})
	want := "sata: serial:A > scheduler:none > xfs > volume\n" +
		"stripe: serial:C + serial:D > lvm-stripe(stripe=64KiB) > scheduler:none > xfs > volume\n" +
		"nvme: /dev/nvme1n1 > scheduler:none > xfs > volume\n" +
		"tmpfs: tmpfs(size=272GiB) > volume"
	if got := stackLines(e); got != want || len(leftOut) > 0 || len(e.Mixes) != 4 {
		t.Errorf("stacks are\n%s\nleft out %q, mixes %v", got, leftOut, namesOf(e.Mixes, mixName))
	}
	e = builtIn(t, "cassandra-assignment")
	leftOut = apply(t, e, Scale{Each: map[string]line.Node{"one": a, "two": b}})
	if len(leftOut) > 0 || len(e.Mixes) != 8 {
		t.Errorf("of cassandra-assignment on two drives is left out %q, and left %v", leftOut, namesOf(e.Mixes, mixName))
	}
	for _, c := range []struct {
		scale Scale
		why   string
	}{
		{Scale{Each: map[string]line.Node{"sata": a, "nvme": a}}, "one drive cannot be both"},
		{Scale{Each: map[string]line.Node{"sata": a, "flash": b}}, "has no stack flash; it has sata, stripe, nvme and tmpfs"},
		{Scale{Each: map[string]line.Node{"stripe": a}}, "lvm-stripe needs a set of block devices"},
		{Scale{On: []line.Node{a}}, "--on serial:A would be one drive for several, and mysql-media compares them: sata on"},
	} {
		c.scale.Catalog = stack.Catalog()
		_, err := c.scale.Apply(paper())
		if err == nil || !strings.Contains(err.Error(), c.why) {
			t.Errorf("%v, want %q", err, c.why)
		}
	}
}
