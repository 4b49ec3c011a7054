// Rooms reads which package imports which, and draws it: a room is a directory below internal with all packages in it,
// and stands above every room that it imports.
//
//	go run ./scripts/rooms            prints each room, its lines without tests, and what it imports
//	go run ./scripts/rooms picture    prints docs/pictures/rooms.svg; a test fails where that is not how the imports are
package main

import (
	"bytes"
	"fmt"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
)

func main() {
	rooms, err := read(".")
	switch {
	case err != nil:
	case slices.Equal(os.Args[1:], []string{"picture"}):
		fmt.Print(draw(rooms))
	default:
		err = list(rooms)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "rooms:", err)
		os.Exit(1)
	}
}

// room is a directory below internal, or cmd or kubernetes, with all packages in it.
type room struct {
	name     string
	packages map[string]bool
	lines    int             // of Go, without tests
	imports  map[string]bool // other rooms
}

// read returns the rooms of a tree by their names. Packages for tests alone are left out.
func read(root string) (map[string]*room, error) {
	rooms := map[string]*room{}
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		within, err := filepath.Rel(root, path)
		switch {
		case err != nil:
			return err
		case entry.IsDir() && (entry.Name() == "testdata" || within == "bin" || within == "internal/testkit"):
			return filepath.SkipDir
		case entry.IsDir() || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		name := roomOf(filepath.Dir(within))
		if name == "" {
			return nil
		}
		if rooms[name] == nil {
			rooms[name] = &room{name: name, packages: map[string]bool{}, imports: map[string]bool{}}
		}
		rooms[name].packages[filepath.Dir(within)] = true
		return rooms[name].read(path)
	})
	return rooms, err
}

// roomOf returns the room that a directory of the tree is in, and "" for one that is in none.
func roomOf(dir string) string {
	first, rest, _ := strings.Cut(dir, "/")
	switch first {
	case "internal":
		first, _, _ = strings.Cut(rest, "/")
		return first
	case "cmd", "kubernetes":
		return first
	}
	return ""
}

// read adds a file's lines and imports.
func (r *room) read(path string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	r.lines += bytes.Count(text, []byte("\n"))
	file, err := parser.ParseFile(token.NewFileSet(), path, text, parser.ImportsOnly)
	if err != nil {
		return err
	}
	for _, spec := range file.Imports {
		name, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			return err
		}
		dir, ours := strings.CutPrefix(name, "plimsoll/")
		if other := roomOf(dir); ours && other != "" && other != r.name && !strings.HasPrefix(dir, "internal/testkit") {
			r.imports[other] = true
		}
	}
	return nil
}

// floors returns the rooms from the highest floor to the ground. A room is one floor above the highest that it imports;
// rooms that import one another, by whatever way, are together on one.
func floors(rooms map[string]*room) [][]string {
	reached := map[string]map[string]bool{}
	for name := range rooms {
		reached[name] = map[string]bool{}
		reach(rooms, name, reached[name])
	}
	height := map[string]int{}
	for changed := true; changed; {
		changed = false
		for _, name := range slices.Sorted(maps.Keys(rooms)) {
			for other := range reached[name] {
				floor := height[other] + 1
				if reached[other][name] {
					floor = height[other]
				}
				if height[name] < floor {
					height[name], changed = floor, true
				}
			}
		}
	}
	rows := make([][]string, 1+slices.Max(slices.Collect(maps.Values(height))))
	for _, name := range slices.Sorted(maps.Keys(rooms)) {
		floor := len(rows) - 1 - height[name]
		rows[floor] = append(rows[floor], name)
	}
	return rows
}

// reach adds the rooms that a room imports, directly or through others, to reached.
func reach(rooms map[string]*room, name string, reached map[string]bool) {
	for other := range rooms[name].imports {
		if rooms[other] != nil && !reached[other] {
			reached[other] = true
			reach(rooms, other, reached)
		}
	}
}

func list(rooms map[string]*room) error {
	table := tabwriter.NewWriter(os.Stdout, 0, 8, 2, ' ', 0)
	fmt.Fprintln(table, "floor\troom\tpackages\tlines\timports")
	packages, lines, arrows, level := 0, 0, 0, 0
	rows := floors(rooms)
	for i, floor := range rows {
		for _, name := range floor {
			r := rooms[name]
			packages, lines, arrows = packages+len(r.packages), lines+r.lines, arrows+len(r.imports)
			for _, other := range floor {
				if r.imports[other] {
					level++
				}
			}
			fmt.Fprintf(table, "%d\t%s\t%d\t%d\t%s\n", len(rows)-1-i, name, len(r.packages), r.lines,
				strings.Join(slices.Sorted(maps.Keys(r.imports)), " "))
		}
	}
	err := table.Flush()
	fmt.Printf("%d rooms on %d floors, %d packages, %d lines; %d arrows, %d of them to a room of the same floor\n",
		len(rooms), len(rows), packages, lines, arrows, level)
	return err
}
