package database

import (
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"plimsoll/internal/workload"
)

func postgresqlOf(t *testing.T, text string) Server {
	t.Helper()
	var doc yaml.Node
	if err := yaml.Unmarshal([]byte(text), &doc); err != nil {
		t.Fatal(err)
	}
	server, problems := decodePostgresql(doc.Content[0])
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	return server
}

// Only a server that is asked for a method gets the option, which older ones do not know; and only io_uring needs
// containers that permit it.
func TestIOMethodOfPostgresql(t *testing.T) {
	for text, want := range map[string]struct {
		option string
		major  int
		rings  int // as a server of version 18.6 made with 300 connections
	}{
		"{fillfactor: 90}": {}, "{io_method: default}": {}, "{io_method: worker}": {"io_method=worker", 18, 0},
		"{io_method: sync}": {"io_method=sync", 18, 0}, "{io_method: io_uring}": {"io_method=io_uring", 18, 342},
	} {
		p := postgresqlOf(t, text)
		argv := p.Serve("/data").Argv
		at := slices.IndexFunc(argv, func(word string) bool { return strings.HasPrefix(word, "io_method") })
		if i := p.Image(); i.Major != want.major || i.Rings != want.rings || (at >= 0) != (want.option != "") ||
			at >= 0 && argv[at] != want.option {
			t.Errorf("%s: %+v, %q", text, i, argv)
		}
		load := p.Load("/data", Dataset{Records: 1, Fields: 1, FieldBytes: 1})
		for name, text := range load.Files {
			if strings.Contains(string(text), "io_method") {
				t.Errorf("loading depends on it: %s of %s", name, text)
			}
		}
	}
}

// What PostgreSQL 18.6 says that was built without liburing.
func TestPostgresqlWithoutIOURing(t *testing.T) {
	p := postgresqlOf(t, "{io_method: io_uring}").Failed(workload.Exit{Code: 1, Stderr: "2026-11-29 21:48:39.020 GMT " +
		"[25391] FATAL:  invalid value for parameter \"io_method\": \"io_uring\"\nHINT:  Available values: sync, worker.\n"})
	if p == nil || !strings.Contains(p.Why, "liburing") || !strings.Contains(p.Remedy, "io_method: worker") {
		t.Errorf("%v", p)
	}
}
