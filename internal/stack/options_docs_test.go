package stack

import (
	"flag"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"plimsoll/internal/stack/fsoption"
	"plimsoll/internal/testkit/hosttest"
)

var update = flag.Bool("update", false,
	"rewrite the options of mkfs and mount in docs/reference/formats/filesystem-options.md")

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
		if features, are := strings.CutPrefix(value, "a list of "); are {
			value = "a list of `" + strings.ReplaceAll(features, ", ", "`, `") + "`"
		}
		if value != "" {
			text += ": " + value
		}
		fmt.Fprintf(out, "%s- %s\n", indent, text)
	}
}

// docs/reference/formats/filesystem-options.md lists every option of mkfs and mount that is taken.
func TestDocsListTheOptionsTaken(t *testing.T) {
	var out strings.Builder
	for _, o := range []fsoption.Options{ext4Mkfs, ext4Mount, xfsMkfs, xfsMount, btrfsMkfs, btrfsMount} {
		fmt.Fprintf(&out, "\n%s:\n\n", o.Of)
		listed(&out, "", o)
	}
	hosttest.Listed(t, "../../docs/reference/formats/filesystem-options.md", "options",
		"go test ./internal/stack -run Docs -update", out.String(), *update)
}
