package experiment

import (
	"strings"
	"testing"

	"plimsoll/internal/stack"
	"plimsoll/internal/stack/line"
	"plimsoll/internal/workload/kinds"
)

// joined reads an experiment whose stacks stand on several devices.
func joined(t *testing.T, stacks ...string) *Experiment {
	t.Helper()
	text := "name: joined\nquestion: q?\nrepeat: 4\nruntime: 1s\nstacks:\n"
	for i, s := range stacks {
		text += "  " + string(rune('a'+i)) + ": " + s + "\n"
	}
	text += "workloads:\n  RR: {fio: {rw: randread, size: 96MiB}}\n"
	e, err := Parse("joined.yaml", []byte(text), Options{Catalog: stack.Catalog(), Kinds: kinds.All()})
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func TestSeveralDevicesTakeThePlaceOfSources(t *testing.T) {
	on := func(text string) []line.Node {
		l, err := line.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		return l.Nodes[:1]
	}
	const (
		single = "loop(size=320MiB) > xfs"
		two    = "loop(size=256MiB) + loop(size=256MiB) > lvm-stripe > ext4"
		three  = "/dev/x + /dev/y + /dev/z > raid0"
		cold   = "loop(size=256MiB) + loop(size=256MiB, cold) > raid0"
	)
	for _, test := range []struct {
		on   string
		want []string // "" for a stack that is left out
		says []string
	}{
		{"/dev/a + serial:B", []string{"/dev/a > xfs", "/dev/a + serial:B > lvm-stripe > ext4", "", ""},
			[]string{"stack c: it stands on 3 devices, and there are 2", "stack d: cold"}},
		{"/dev/a", []string{"/dev/a > xfs", "", "", ""}, []string{"stack b: it stands on 2 devices, and there is 1"}},
		{"/dev/a + /dev/b + /dev/c + /dev/d",
			[]string{"/dev/a > xfs", "/dev/a + /dev/b > lvm-stripe > ext4", "/dev/a + /dev/b + /dev/c > raid0", ""}, nil},
		{"dir:/srv", []string{"dir:/srv", "", three, ""},
			[]string{"stack b: it stands on 2 devices, and /srv is a directory"}},
	} {
		e := joined(t, single, two, three, cold)
		leftOut, err := Scale{On: on(test.on), FileSystem: "xfs", Catalog: stack.Catalog()}.Apply(e)
		if err != nil {
			t.Fatal(err)
		}
		got := map[string]string{}
		for _, s := range e.Stacks {
			got[s.Name] = s.Line.String()
		}
		for i, want := range test.want {
			if name := string(rune('a' + i)); got[name] != want {
				t.Errorf("on %s, stack %s is %q, want %q", test.on, name, got[name], want)
			}
		}
		for _, want := range test.says {
			if !strings.Contains(strings.Join(leftOut, "\n"), want) {
				t.Errorf("on %s, what is left out does not say %q: %q", test.on, want, leftOut)
			}
		}
	}
}

func TestEveryJoinedLoopDeviceGrows(t *testing.T) {
	e := joined(t, "loop(size=256MiB) + loop(size=512MiB) > raid0 > ext4")
	before := e.Stacks[0].Line.String()
	if _, err := (Scale{Bytes: 192 << 20, Catalog: stack.Catalog()}).Apply(e); err != nil {
		t.Fatal(err)
	}
	if got := e.Stacks[0].Line.String(); got != "loop(size=512MiB) + loop(size=1GiB) > raid0 > ext4" {
		t.Errorf("%s became %s", before, got)
	}
}

func TestSpaceOfSeveralDevices(t *testing.T) {
	// What is raw needs no files of its own for each workload.
	if e := joined(t, "loop(size=64MiB) + loop(size=64MiB) > raid0"); !e.Stacks[0].Raw || e.Need(e.Stacks[0]) != 96<<20 {
		t.Errorf("raw %t, needs %d", e.Stacks[0].Raw, e.Need(e.Stacks[0]))
	}
	for text, remedy := range map[string]string{
		"loop(size=128MiB) + loop(size=40MiB) > raid0":             "loop(size=48MiB)",
		"loop(size=128MiB) + loop(size=40MiB) > raid0 > ext4":      "loop(size=65MiB)",
		"loop(size=128MiB) > thin(direct-lvm) > devicemapper":      "loop(size=171MiB)",
		"loop(size=100MiB) > ext4 > thin(loop-lvm) > devicemapper": "loop(size=171MiB)",
	} {
		_, err := Parse("x.yaml",
			[]byte("name: x\nquestion: q?\nstacks:\n  a: "+text+"\nworkloads:\n  RR: {fio: {rw: randread, size: 96MiB}}\n"),
			Options{Catalog: stack.Catalog(), Kinds: kinds.All()})
		if err == nil || !strings.Contains(err.Error(), remedy) {
			t.Errorf("%s: %v, want %s", text, err, remedy)
		}
	}
}
