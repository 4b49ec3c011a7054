package database

import (
	"fmt"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"go.yaml.in/yaml/v3"

	"plimsoll/internal/workload"
)

// What is written below the key of a database, and what becomes of it, as stories: a file for
// each.
func TestStories(t *testing.T) {
	for _, k := range All() {
		t.Run(k.Name, func(t *testing.T) { tell(t, k) })
	}
}

func tell(t *testing.T, k Kind) {
	d := Dataset{Records: 1e6, Fields: 10, FieldBytes: 100, Seed: 7}
	datadriven.RunTest(t, "testdata/"+k.Name, func(t *testing.T, c *datadriven.TestData) string {
		if c.Cmd == "failed" {
			return ended(t, k, c)
		}
		var node yaml.Node
		if err := yaml.Unmarshal([]byte(c.Input), &node); err != nil {
			t.Fatal(err)
		}
		var parameters *yaml.Node
		if len(node.Content) > 0 {
			parameters = node.Content[0]
		}
		s, problems := k.Decode(parameters)
		var out strings.Builder
		for _, p := range problems {
			fmt.Fprintf(&out, "%d: %s: %s\n", p.At.Line, p.What, p.Remedy)
		}
		if len(problems) > 0 {
			if s != nil {
				t.Error("a server with problems")
			}
			return out.String()
		}
		switch c.Cmd {
		case "parameters":
			p := s.Parameters()
			for _, k := range slices.Sorted(maps.Keys(p)) {
				fmt.Fprintf(&out, "%s %s\n", k, p[k])
			}
			fmt.Fprintln(&out, "layout", s.Layout())
			fmt.Fprintln(&out, "client", s.Client().Name)
		case "load":
			step := s.Load("/place/data", d)
			out.WriteString(strings.Join(step.Argv, " ") + "\n")
			for _, name := range slices.Sorted(maps.Keys(step.Files)) {
				fmt.Fprintf(&out, "%s\n%s", name, step.Files[name])
			}
		case "serve":
			step := s.Serve("/place/data")
			out.WriteString(strings.Join(step.Argv, " ") + "\n" + strings.Join(step.Outputs, " ") + "\n")
		default:
			t.Fatalf("unknown command %s", c.Cmd)
		}
		return out.String()
	})
}

// ended returns the problem for the way in which a server ended.
func ended(t *testing.T, k Kind, c *datadriven.TestData) string {
	x := workload.Exit{Stderr: c.Input, OOMKilled: c.HasArg("oom")}
	c.MaybeScanArgs(t, "code", &x.Code)
	c.MaybeScanArgs(t, "signal", &x.Signal)
	s, _ := k.Decode(nil)
	p := s.Failed(x)
	if p.What != k.Title {
		t.Errorf("what failed is %q", p.What)
	}
	return fmt.Sprintf("why: %s\nremedy: %s\n", p.Why, p.Remedy)
}

// Parameters read back as they are printed, and those that loading depends on, and no
// others, are in the layout.
func TestPebbleParams(t *testing.T) {
	values := map[string]string{"cache": "1GiB", "memtable": "4MiB", "sync": "false", "compression": "zstd", "bloom": "0",
		"compactions": "3", "l0stop": "20", "filesize": "16MiB"}
	if got := slices.Sorted(maps.Keys(values)); !slices.Equal(got, slices.Sorted(slices.Values(PebbleKeys()))) {
		t.Fatalf("this test knows %q", got)
	}
	for key, text := range values {
		p := PebbleDefaults()
		if err := p.Set(key, p.Get(key)); err != nil || p != PebbleDefaults() {
			t.Errorf("%s does not read its default: %v", key, err)
		}
		if err := p.Set(key, text); err != nil || p.Get(key) != text || p == PebbleDefaults() {
			t.Errorf("%s of %s is %s, %v", key, text, p.Get(key), err)
		}
		stored := key == "compression" || key == "filesize"
		if changed := PebbleLayout(p) != PebbleLayout(PebbleDefaults()); changed != stored {
			t.Errorf("%s changes the layout: %v", key, changed)
		}
	}
	p := PebbleDefaults()
	if err := p.Set("cash", "1GiB"); err == nil || !strings.Contains(err.Error(), `did you mean "cache"`) {
		t.Errorf("an unknown one: %v", err)
	}
	if p.Get("cash") != "" {
		t.Error("an unknown one has a value")
	}
}

// A layout can be a part of a file's name.
func TestPebbleLayout(t *testing.T) {
	if l := PebbleLayout(PebbleDefaults()); path.Base(l) != l || strings.ContainsAny(l, " :,") {
		t.Errorf("layout %q", l)
	}
}

func TestTable(t *testing.T) {
	for _, k := range All() {
		s, problems := k.Decode(nil)
		if len(problems) > 0 || k.Name == "" || k.Title == "" || k.Summary == "" || k.Schema == nil {
			t.Errorf("%+v: %v", k, problems)
			continue
		}
		d := Dataset{Records: 1000, Fields: 10, FieldBytes: 100}
		if need := s.NeedBytes(d, false); need < d.Bytes() || s.Image() == nil && need > 2*d.Bytes()+4<<20 {
			t.Errorf("%d bytes that are only read need %d", d.Bytes(), need)
		}
		if need := s.NeedBytes(d, true); need < 2*d.Bytes() {
			t.Errorf("%s needs %d bytes for %d", k.Name, need, d.Bytes())
		}
	}
	if All()[0].Name != "pebble" {
		t.Error("the embedded server is not the default")
	}
}

// What is told of parameters is what they are.
func TestDocumentedParameters(t *testing.T) {
	page, err := os.ReadFile("../../docs/reference/databases.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range All() {
		if !strings.Contains(string(page), "| `"+k.Name+"` | ") {
			t.Errorf("docs/reference/databases.md does not name %s", k.Name)
		}
		s, _ := k.Decode(nil)
		for key, value := range s.Parameters() {
			if row := fmt.Sprintf("| `%s` | %s |", key, value); !strings.Contains(string(page), row) {
				t.Errorf("docs/reference/databases.md has no row %q, of %s", row, k.Name)
			}
		}
	}
}
