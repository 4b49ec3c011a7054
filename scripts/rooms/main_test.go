package main

import (
	"flag"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"testing"
)

var update = flag.Bool("update", false, "write docs/pictures/rooms.svg as the imports are")

const (
	picture = "../../docs/pictures/rooms.svg"
	page    = "../../docs/contributing/architecture.md"
)

// The picture has the imports as they are, and the page's table every room.
func TestPictureAndTable(t *testing.T) {
	rooms, err := read("../..")
	if err != nil {
		t.Fatal(err)
	}
	want := draw(rooms)
	if *update {
		if err := os.WriteFile(picture, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if drawn, err := os.ReadFile(picture); err != nil || string(drawn) != want {
		t.Errorf("docs/pictures/rooms.svg is not how the imports are (%v): go test ./scripts/rooms -update", err)
	}
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	var rows []string
	for _, row := range regexp.MustCompile("(?m)^\\| `([a-z]+)` \\|").FindAllSubmatch(text, -1) {
		rows = append(rows, string(row[1]))
	}
	if have := slices.Sorted(maps.Keys(rooms)); !slices.Equal(slices.Sorted(slices.Values(rows)), have) {
		t.Errorf("docs/contributing/architecture.md has a row of each of %v, and these are the rooms: %v", rows, have)
	}
}

// No room reaches itself through others, so that each stands above all that it imports. The exception: packages of
// workload drive databases, and databases give the steps, of package workload, by which their servers run.
func TestRoomsHaveAnOrder(t *testing.T) {
	rooms, err := read("../..")
	if err != nil {
		t.Fatal(err)
	}
	reached := func(from string) map[string]bool {
		seen := map[string]bool{}
		for next := slices.Collect(maps.Keys(rooms[from].imports)); len(next) > 0; next = next[1:] {
			if r := rooms[next[0]]; r != nil && !seen[next[0]] {
				seen[next[0]] = true
				next = slices.AppendSeq(next, maps.Keys(r.imports))
			}
		}
		return seen
	}
	var circle []string
	for _, name := range slices.Sorted(maps.Keys(rooms)) {
		if reached(name)[name] {
			circle = append(circle, name)
		}
	}
	if want := []string{"database", "workload"}; !slices.Equal(circle, want) {
		t.Errorf("rooms that reach themselves through others: %q, want %q: move what one needs of the other below both",
			circle, want)
	}
}

func TestFloors(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"cmd/x/x.go": "package main\nimport _ \"plimsoll/internal/a/b\"\nimport _ \"os\"\n" +
			"import _ \"plimsoll/internal/d\"\n",
		"internal/a/b/x.go":     "package b\nimport _ \"plimsoll/internal/c\"\n",
		"internal/a/x_test.go":  "package a\nimport _ \"plimsoll/internal/d\"\n",
		"internal/c/x.go":       "package c\nimport _ \"plimsoll/internal/a\"\nimport _ \"plimsoll/internal/d\"\n",
		"internal/d/x.go":       "package d\nimport _ \"plimsoll/internal/d/e\"\n",
		"internal/testkit/x.go": "package testkit\nimport _ \"plimsoll/cmd/x\"\n",
		"scripts/y/x.go":        "package main\nimport _ \"plimsoll/internal/a\"\n",
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	rooms, err := read(dir)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := floors(rooms), [][]string{{"cmd"}, {"a", "c"}, {"d"}}; !reflect.DeepEqual(got, want) {
		t.Errorf("%v, want %v: a and c import one another", got, want)
	}
	if r := rooms["c"]; r.lines != 3 || len(r.packages) != 1 {
		t.Errorf("c has %d lines and %d packages, want 3 and 1", r.lines, len(r.packages))
	}
}
