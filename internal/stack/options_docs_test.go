package stack

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"plimsoll/internal/stack/fsoption"
)

var update = flag.Bool("update", false, "rewrite the options of mkfs and mount in docs/stacks.md")

// listed writes options that have the same values on one line.
func listed(out *strings.Builder, indent string, o fsoption.Options) {
	names := map[string][]string{}
	for _, name := range slices.Sorted(maps.Keys(o.Known)) {
		v := o.Known[name]
		if parts, ok := v.Parts(); ok {
			fmt.Fprintf(out, "%s- `%s`, a list with commas of\n", indent, name)
			listed(out, indent+"  ", parts)
			continue
		}
		names[v.String()] = append(names[v.String()], "`"+name+"`")
	}
	for _, value := range slices.Sorted(maps.Keys(names)) {
		text := strings.Join(names[value], ", ")
		if value != "" {
			text += ": " + value
		}
		fmt.Fprintf(out, "%s- %s\n", indent, text)
	}
}

// docs/stacks.md lists every option of mkfs and mount that is taken.
func TestDocsListTheOptionsTaken(t *testing.T) {
	const file, begin, end = "../../docs/stacks.md", "<!-- options: go test ./internal/stack -run Docs -update -->\n", "<!-- end of options -->\n"
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(text), begin)
	_, after, closed := strings.Cut(rest, end)
	if !ok || !closed {
		t.Fatalf("%s has no place for the options", file)
	}
	var out strings.Builder
	for _, o := range []fsoption.Options{ext4Mkfs, ext4Mount, xfsMkfs, xfsMount, btrfsMkfs, btrfsMount} {
		fmt.Fprintf(&out, "\n%s:\n\n", o.Of)
		listed(&out, "", o)
	}
	want := before + begin + out.String() + "\n" + end + after
	if *update {
		if err := os.WriteFile(file, []byte(want), 0o644); err != nil { //nolint:gosec // it is for everybody to read
			t.Fatal(err)
		}
		return
	}
	if string(text) != want {
		t.Errorf("%s lists other options than are taken: run this test with -update", file)
	}
}
