package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// A lab makes a target for those commands that need one, and for no others.
func TestLabNeeds(t *testing.T) {
	dir := t.TempDir()
	own := filepath.Join(dir, "own.yaml")
	if err := os.WriteFile(own, []byte(`
name: own
question: Is it found?
repeat: 1
runtime: 1s
stacks:
  there: nvmeof(transport=rdma) > ext4
workloads:
  R: {fio: {rw: randread, size: 8MiB}}
`), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		command    string
		in         []string
		transports []string
		local      bool
	}{
		{"plimsoll run local-vs-remote --budget 4m", nil, []string{"tcp", "rdma"}, true},
		{"/usr/local/bin/plimsoll run --seed 7 local-vs-remote --on serial:LAB2 --destroy LAB2", nil,
			[]string{"tcp", "rdma"}, false},
		{"plimsoll run own.yaml -q", []string{own}, []string{"rdma"}, false},
		{"plimsoll run ./own.yaml", []string{own}, []string{"rdma"}, false},
		{"plimsoll run own.yaml", nil, nil, false},
		{"plimsoll run quick", nil, nil, false},
		{"plimsoll run local-vs-remote --remote x", nil, nil, false},
		{"plimsoll run local-vs-remote --bugdet 4m", nil, nil, false},
		{"plimsoll show last", nil, nil, false},
		{"sh -c true", nil, nil, false},
	} {
		t.Run(c.command, func(t *testing.T) {
			r := labNeeds(strings.Fields(c.command), c.in)
			if r == nil {
				if c.transports != nil {
					t.Error("there would be no target")
				}
				return
			}
			var transports []string
			for _, x := range r.exports {
				transports = append(transports, x.transport)
			}
			if !slices.Equal(transports, c.transports) || r.local != c.local {
				t.Errorf("transports %q, a local drive %t", transports, r.local)
			}
			// What is run instead is a command that plimsoll takes.
			args := r.command(strings.Fields(c.command), true)
			cmd, rest, err := newRootCommand(&app{}).Find(args[1:])
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.ParseFlags(rest); err != nil {
				t.Fatalf("%q: %v", args, err)
			}
			remotes, err := cmd.Flags().GetStringArray("remote")
			if err != nil || len(remotes) != len(c.transports) {
				t.Errorf("remotes %q: %v", remotes, err)
			}
		})
	}
}

// The lab says how large files are only where the user did not, and exports one drive over each transport that the
// experiment waits for.
func TestTheLabsOwnFlags(t *testing.T) {
	for _, c := range []struct {
		given      string
		transports string
		size       string // that the lab says
	}{
		{"run local-vs-remote", "tcp rdma", emulatedSize},
		{"run local-vs-remote --size 16MiB", "tcp rdma", ""},
		{"run cassandra-remote", "tcp", emulatedSize},
		{"run cassandra-remote --records 2000 --instances 1", "tcp", ""},
	} {
		given := strings.Fields("plimsoll " + c.given)
		needs := labNeeds(given, nil)
		if needs == nil {
			t.Fatalf("%s waits for no target", c.given)
		}
		var over []string
		for _, x := range needs.exports {
			over = append(over, x.transport)
		}
		asked := needs.command(given, true)[len(given):]
		size := ""
		if at := slices.Index(asked, "--size"); at >= 0 {
			size = asked[at+1]
		}
		if strings.Join(over, " ") != c.transports || size != c.size || !slices.Contains(asked, "serial:LAB1") {
			t.Errorf("%s: over %v, asked with %v", c.given, over, asked)
		}
		if at := slices.Index(needs.command(given, false), "--size"); at >= len(given) {
			t.Errorf("%s: says a size although processors are not emulated", c.given)
		}
	}
}
