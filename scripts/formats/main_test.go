package main

import (
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the keys of docs/reference/formats as the types have them")

const begin, end = "<!-- keys: go test ./scripts/formats -update -->\n", "<!-- end of keys -->\n"

// The pages have the keys as they are written. A key that is new, renamed or gone is a change of a format: readers are
// told in changelog/unreleased, and the schema grows where a key changed its meaning or is gone.
func TestPages(t *testing.T) {
	pages, err := describe("../..")
	if err != nil {
		t.Fatal(err)
	}
	for name, keys := range pages {
		file := filepath.Join("../../docs/reference/formats", name+".md")
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		before, rest, opened := strings.Cut(string(text), begin)
		_, after, closed := strings.Cut(rest, end)
		if !opened || !closed {
			t.Errorf("%s has no place for keys, between %q and %q", file, begin, end)
			continue
		}
		want := before + begin + "\n" + keys + end + after
		if want == string(text) {
			continue
		}
		if *update {
			err := os.WriteFile(file, []byte(want), 0o644)
			if err != nil {
				t.Fatal(err)
			}
			continue
		}
		t.Errorf("%s is not what the types and their comments are: go test ./scripts/formats -update\n"+
			"keys that are gone: %q\nkeys that are new: %q", file,
			difference(keysOf(rest), keysOf(keys)), difference(keysOf(keys), keysOf(rest)))
	}
}

// keysOf returns the keys of a page, each behind its heading.
func keysOf(page string) (keys []string) {
	page, _, _ = strings.Cut(page, end)
	heading := ""
	for line := range strings.Lines(page) {
		if name, is := strings.CutPrefix(line, "### "); is || strings.HasPrefix(line, "#### ") {
			heading = strings.Trim(strings.TrimSpace(strings.TrimLeft(name, "# ")), "`")
		}
		if cells := strings.Split(line, "`"); len(cells) > 2 && cells[0] == "| " {
			keys = append(keys, heading+": "+cells[1])
		}
	}
	return keys
}

func difference(keys, known []string) []string {
	return slices.DeleteFunc(keys, func(key string) bool { return slices.Contains(known, key) })
}

func TestDescribe(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"internal/a/a.go": `package a

import (
	"time"

	other "plimsoll/internal/b"
)

// Document is what is written.
type Document struct {
	*other.Base
	Name  string ` + "`json:\"name\"`" + ` // of | it
	Since time.Duration ` + "`json:\"since_ns,omitempty\"`" + `
	// Parts are
	// what it has, nil for Name alone.
	Parts []other.Part ` + "`json:\"parts\"`" + `
	Once  struct {
		Bytes uint64 ` + "`json:\"bytes\"`" + `
	} ` + "`json:\"once\"`" + `
	By     map[other.Kind][]*other.Part ` + "`json:\"by\"`" + `
	Hidden int ` + "`json:\"-\"`" + `
	own    int
}
`,
		"internal/b/b.go": `package b

type Base struct {
	Name string ` + "`json:\"name\"`" + ` // hidden
	When Kind ` + "`json:\"when\"`" + `
}

// Part is a part.
type Part struct{ N int }

type Kind string

const (
	Early Kind = "early" // before noon
	Late  Kind = "late"
)
`,
	} {
		err := os.MkdirAll(filepath.Join(dir, filepath.Dir(name)), 0o755)
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	old := formats
	defer func() { formats = old }()
	formats = []format{{page: "x", title: "x --json", dir: "internal/a", typ: "Document"}}
	pages, err := describe(dir)
	if err != nil {
		t.Fatal(err)
	}
	const want = "### x --json\n\n| key | type | unit | meaning |\n|---|---|---|---|\n" +
		"| `when` | [`kind`](#kind) |  |  |\n" +
		"| `name` | text |  | of \\| it |\n" +
		"| `since_ns` | integer, optional | ns |  |\n" +
		"| `parts` | list of [`part`](#part) |  | `parts` are what it has, null for `name` alone. |\n" +
		"| `once` | object |  |  |\n" +
		"| `once.bytes` | integer | bytes |  |\n" +
		"| `by` | object of lists of [`part`](#part) by [`kind`](#kind) |  |  |\n\n" +
		"#### `kind`\n\n| value | meaning |\n|---|---|\n| `early` | before noon |\n| `late` |  |\n\n" +
		"#### `part`\n\n`part` is a part.\n\n| key | type | unit | meaning |\n|---|---|---|---|\n| `N` | integer |  |  |\n\n"
	if pages["x"] != want {
		t.Errorf("%s\nwant\n%s", pages["x"], want)
	}
	formats[0].typ = "Gone"
	_, err = describe(dir)
	if err == nil {
		t.Error("a type that is gone is no error")
	}
}

// Keys are of small letters, digits and underscores, so that they are found by any program.
func TestKeysAreWordsOfOneForm(t *testing.T) {
	pages, err := describe("../..")
	if err != nil {
		t.Fatal(err)
	}
	form := regexp.MustCompile(`^[a-z][a-z0-9_]*((\[\])?\.[a-z][a-z0-9_]*)*$`)
	for name, keys := range pages {
		for _, row := range regexp.MustCompile("(?m)^\\| `([^`]+)` \\|.*\\|.*\\|.*\\|$").FindAllStringSubmatch(keys, -1) {
			if !form.MatchString(row[1]) {
				t.Errorf("%s.md: the key %s", name, row[1])
			}
		}
	}
}
