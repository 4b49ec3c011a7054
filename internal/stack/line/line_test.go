package line

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"pgregory.net/rapid"

	"plimsoll/internal/problem"
)

// testCatalog has the nodes of the first release, so that stories read like
// what users meet. The true catalog is internal/stack's.
func testCatalog() *Catalog {
	fs := []OptionDef{
		{Key: "mkfs", Value: Text},
		{Key: "mount", Value: Text},
	}
	size := OptionDef{Key: "size", Value: Size, Default: "1GiB"}
	required := size
	required.Required, required.Default = true, ""
	defs := []Def{
		{Name: "loop", Below: Nothing, Gives: Block, Options: []OptionDef{
			size, {Key: "direct-io", Value: OnOff, Default: "on"}, {Key: "dir", Value: Path}}},
		{Name: NameDevice, Below: Nothing, Gives: Block, Arg: "PATH"},
		{Name: "by-id", Below: Nothing, Gives: Block, Arg: "NAME"},
		{Name: "serial", Below: Nothing, Gives: Block, Arg: "SERIAL"},
		{Name: "dir", Below: Nothing, Gives: FileSystem, Arg: "PATH"},
		{Name: "tmpfs", Below: Nothing, Gives: FileSystem, Options: []OptionDef{required}},
		{Name: "ext4", Below: Block, Gives: FileSystem, Options: fs},
		{Name: "xfs", Below: Block, Gives: FileSystem, Options: fs,
			Least: 300 << 20, WhyLeast: "mkfs.xfs makes none of less than 300MiB"},
		{Name: "btrfs", Below: Block, Gives: FileSystem, Options: append(fs[:2:2], OptionDef{Key: "nodatacow", Value: Flag})},
		{
			Name:    "lvm-stripe",
			Below:   Blocks,
			Gives:   Block,
			Options: []OptionDef{{Key: "stripe", Value: Chunk, Default: "64KiB"}},
		},
		{Name: "thin", Below: FileSystem, Gives: Pool, Options: []OptionDef{{Key: "loop-lvm", Value: Flag, Required: true}}},
		{Name: "thin", Below: Block, Gives: Pool, Options: []OptionDef{{Key: "direct-lvm", Value: Flag, Required: true}}},
		{Name: "volume", Below: FileSystem, Gives: View},
	}
	for _, driver := range []string{"overlay2", "btrfs", "vfs", "fuse-overlayfs", "devicemapper", "aufs", "zfs", "overlay"} {
		defs = append(defs, Def{Name: driver, Below: FileSystem, Gives: View})
	}
	defs = append(defs, Def{Name: "devicemapper", Below: Pool, Gives: View})
	return NewCatalog(defs...)
}

func TestStories(t *testing.T) {
	datadriven.Walk(t, "testdata/stories", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			var out strings.Builder
			for text := range strings.SplitSeq(d.Input, "\n") {
				fmt.Fprintln(&out, story(t, d.Cmd, text))
			}
			return out.String()
		})
	})
}

func story(t *testing.T, command, text string) string {
	l, err := Parse(text)
	var syntax problem.List
	if errors.As(err, &syntax) {
		lines := []string{text}
		for _, p := range syntax.Within("") {
			lines = append(lines, "  "+p.String())
		}
		return strings.Join(lines, "\n")
	}
	switch command {
	case "print":
		return l.String()
	case "tree":
		var lines []string
		for _, n := range slices.Concat(l.Sources(), l.Nodes[1:]) {
			lines = append(lines, fmt.Sprintf("%d name=%s arg=%q", n.Column, n.Name, n.Arg))
			for _, o := range n.Options {
				lines = append(lines, fmt.Sprintf("    %s value=%q bare=%t", o.Key, o.Value, o.Bare))
			}
		}
		return strings.Join(lines, "\n")
	case "check":
		defs, problems := l.Resolve(testCatalog())
		lines := []string{text}
		if len(problems) == 0 {
			for i, d := range defs {
				lines = append(lines, fmt.Sprintf("  %s: a %s on %s", l.Nodes[i].Name, d.Gives, d.Below))
			}
		}
		for _, p := range problems {
			lines = append(lines, "  "+p.String())
		}
		return strings.Join(lines, "\n")
	}
	t.Fatalf("unknown command %q", command)
	return ""
}

func TestNothingAndGarbage(t *testing.T) {
	if problems := testCatalog().Check(Line{}); len(problems) != 1 {
		t.Errorf("a line without nodes has the problems %v, want one", problems)
	}
	for text, want := range map[string]string{
		"": "column 1: the stack is empty", "  ": "column 1: the stack is empty",
		"a\xff": "column 2: this is not UTF-8 text", "loop\x00": `column 5: expected "(", ">" or the end, found '\x00'`,
	} {
		if _, err := Parse(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Parse(%q) gives %v, want %s", text, err, want)
		}
	}
}

func TestCatalogRefusesTwins(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("two nodes of one name on one thing were accepted")
		}
	}()
	NewCatalog(Def{Name: "xfs", Below: Block}, Def{Name: "xfs", Below: Block})
}

func TestSetting(t *testing.T) {
	loop, _ := testCatalog().Lookup("loop", Nothing)
	l, err := Parse("loop(size=4GiB)")
	if err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string]string{"size": "4GiB", "direct-io": "on", "dir": "", "nonsense": ""} {
		if got := loop.Setting(l.Nodes[0], key); got != want {
			t.Errorf("%s is %q, want %q", key, got, want)
		}
	}
}

// anyLine draws lines that the grammar can express, sensible or not.
func anyLine() *rapid.Generator[Line] {
	name := rapid.StringMatching(`[A-Za-z0-9][A-Za-z0-9._-]{0,8}`)
	value := rapid.OneOf(
		rapid.StringMatching(`[a-z0-9=:/,()>" \\+-]{0,12}`), // what the grammar is about
		rapid.StringOfN(rapid.RuneFrom([]rune("aä=\u00a0\u2028世🚢\\\"'")), 0, 8, -1),
	)
	option := rapid.Custom(func(t *rapid.T) Option {
		o := Option{Key: name.Draw(t, "key"), Bare: rapid.Bool().Draw(t, "bare")}
		if !o.Bare {
			o.Value = value.Draw(t, "value")
		}
		return o
	})
	node := rapid.Custom(func(t *rapid.T) Node {
		n := Node{Name: name.Draw(t, "name"), Arg: value.Draw(t, "arg")}
		if rapid.Bool().Draw(t, "device") {
			n.Name, n.Arg = NameDevice, "/"+n.Arg
		}
		n.Options = rapid.SliceOfN(option, 0, 4).Draw(t, "options")
		return n
	})
	return rapid.Custom(func(t *rapid.T) Line {
		l := Line{Nodes: rapid.SliceOfN(node, 1, 5).Draw(t, "nodes")}
		l.Nodes[0].And = rapid.SliceOfN(node, 0, 3).Draw(t, "joined")
		return l
	})
}

// same reports whether two lines differ only in columns.
func equal(a, b Line) bool {
	return fmt.Sprintf("%#v", withoutColumns(a)) == fmt.Sprintf("%#v", withoutColumns(b))
}

func withoutColumns(l Line) [][3]any {
	var nodes [][3]any
	nodes = append(nodes, [3]any{len(l.Sources())})
	for _, n := range slices.Concat(l.Sources(), l.Nodes[1:]) {
		nodes = append(nodes, [3]any{n.Name, n.Arg, append([]Option{}, n.Options...)})
	}
	return nodes
}

func TestPrintedLineParsesToItself(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := anyLine().Draw(t, "line")
		text := l.String()
		back, err := Parse(text)
		if err != nil {
			t.Fatalf("%#v prints as %s, which does not parse: %v", l, text, err)
		}
		if !equal(l, back) {
			t.Fatalf("%#v prints as %s, which parses to %#v", l, text, back)
		}
		if again := back.String(); again != text {
			t.Fatalf("the canonical text %s prints as %s", text, again)
		}
	})
}

func TestColumnsPointAtNodes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := anyLine().Draw(t, "line").String()
		l, err := Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		for _, n := range slices.Concat(l.Sources(), l.Nodes[1:]) {
			if rest := string([]rune(text)[n.Column-1:]); !strings.HasPrefix(rest, n.String()) {
				t.Fatalf("node %s of %s is not at column %d", n, text, n.Column)
			}
		}
	})
}

func TestCheckNeverPanicsAndNamesColumns(t *testing.T) {
	catalog := testCatalog()
	// Real names in any order meet every kind of misplacement.
	word := rapid.SampledFrom(
		[]string{
			"loop",
			"loop(size=0)",
			"loop(size=1GiB, size=2GiB)",
			"xfs",
			"btrfs",
			"btrfs(nodatacow)",
			"volume",
			"overlay2",
			"lvm-stripe",
			"lvm-stripe(stripe=3KiB)",
			"thin",
			"thin(loop-lvm)",
			"devicemapper",
			"tmpfs",
			"dir:x",
			"dir",
			"/dev/sda",
			"xsf",
			"ext4(mount=a, b)",
		},
	)
	rapid.Check(t, func(t *rapid.T) {
		sources := strings.Join(rapid.SliceOfN(word, 1, 3).Draw(t, "sources"), " + ")
		l, err := Parse(strings.Join(append([]string{sources}, rapid.SliceOfN(word, 0, 5).Draw(t, "words")...), " > "))
		if err != nil {
			t.Fatal(err)
		}
		column := 0
		for _, p := range catalog.Check(l) {
			if p.At.Column < max(column, 1) || p.What == "" {
				t.Fatalf("problem %+v of %s is out of order or says nothing", p, l)
			}
			column = p.At.Column
		}
	})
}

// FuzzParse: what parses prints to a canonical text that parses to the same
// line; what does not parse says where. Checking never fails either way. Seeds
// are in testdata/fuzz.
func FuzzParse(f *testing.F) {
	catalog := testCatalog()
	f.Fuzz(func(t *testing.T, text string) {
		l, err := Parse(text)
		if err != nil {
			var syntax problem.List
			if !errors.As(err, &syntax) || len(syntax) == 0 {
				t.Fatalf("Parse(%q) gives the error %#v", text, err)
			}
			for _, p := range syntax {
				if p.At.Column < 1 || p.At.Column > len([]rune(text))+1 || p.What == "" {
					t.Fatalf("Parse(%q) finds %+v", text, p)
				}
			}
			return
		}
		canonical := l.String()
		back, err := Parse(canonical)
		if err != nil || !equal(l, back) || back.String() != canonical {
			t.Fatalf("%q prints as %q, which parses to %#v, %v", text, canonical, back, err)
		}
		for _, p := range catalog.Check(l) {
			if p.At.Column < 1 || p.What == "" {
				t.Fatalf("Check(%q) finds %+v", text, p)
			}
		}
	})
}
