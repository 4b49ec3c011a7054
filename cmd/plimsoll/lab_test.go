package main

import (
	"fmt"
	"strings"
	"testing"
)

// Wrong command lines are refused before anything is started.
func TestLabArguments(t *testing.T) {
	for _, c := range []struct {
		args []string
		code int
		want []string
	}{
		{[]string{"run"}, exitUsage, []string{"which command?"}},
		{[]string{"run", "--drives", "1", "--profile", "sata-ssd", "--profile", "nwme", "--", "true"}, exitUsage,
			[]string{`"nwme"`, "--profile is given for 2 drives, and there is 1"}},
		{[]string{"run", "--size", "1MiB", "--memory", "much", "--profile", "satan-ssd", "--", "true"}, exitUsage,
			[]string{`--size "1MiB"`, `--memory "much"`, `"satan-ssd"`}},
		{[]string{"run", "--cpus", "0", "--memory", "64MiB", "--", "true"}, exitUsage, []string{"0 CPUs", "64 MiB"}},
		{[]string{"run", "--drives", "-1", "--", "true"}, exitUsage, []string{"--drives -1"}},
		{[]string{"run", "--on-target", "true", "--", "true"}, exitUsage, []string{"--with-target"}},
		{[]string{"up", "--drives", "99"}, exitUsage, []string{"99 drives"}},
		{[]string{"shell"}, exitUsage, []string{"plimsoll lab up"}},
		{[]string{"sail"}, exitUsage, []string{`"sail"`, "build, run, up"}},
		{[]string{"up"}, exitHost, []string{"plimsoll lab build"}},
		{[]string{"down"}, exitOK, nil},
		{[]string{"agent"}, exitFailure, []string{"guests of a lab"}},
	} {
		t.Run(strings.Join(c.args, " "), func(t *testing.T) {
			p := newProgram(t)
			code, _, errs := p.run(append([]string{"--state-dir", p.state, "lab"}, c.args...)...)
			if code != c.code {
				t.Errorf("ends with %d, want %d: %s", code, c.code, errs)
			}
			contains(t, errs, c.want...)
		})
	}
}

// Machines are there as asked, know the others by name, and the client has no drives.
func TestMachinesOfALab(t *testing.T) {
	for _, c := range []struct {
		o    labOptions
		want string
	}{
		{labOptions{}, "server [] 1"},
		{labOptions{target: true}, "server [target] 1, target [server] 1"},
		{labOptions{client: true}, "server [client] 1, client [server] 0"},
		{labOptions{target: true, client: true},
			"server [target client] 1, target [server client] 1, client [server target] 0"},
	} {
		c.o.memory, c.o.size, c.o.drives, c.o.given = "1GiB", "1GiB", 1, func(string) bool { return false }
		made, err := c.o.options(t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, m := range made.Machines {
			got = append(got, fmt.Sprint(m.Name, " ", m.Peers, " ", len(m.Drives)))
		}
		if strings.Join(got, ", ") != c.want {
			t.Errorf("machines are %q, want %s", got, c.want)
		}
	}
}

// Drives take the profiles in their order, and the last one is that of the rest.
func TestProfilesOfDrives(t *testing.T) {
	for _, c := range []struct {
		profiles []string
		want     string
	}{
		{nil, "none none none"}, {[]string{"nvme"}, "nvme nvme nvme"}, {[]string{"sata-ssd", "nvme"}, "sata-ssd nvme nvme"},
	} {
		o := labOptions{memory: "1GiB", size: "1GiB", drives: 3, profiles: c.profiles,
			given: func(string) bool { return false }}
		made, err := o.options(t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, d := range made.Machines[0].Drives {
			got = append(got, d.Limits.Name)
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%v: %v, want %s", c.profiles, got, c.want)
		}
	}
}
