package kinds

import (
	"go/ast"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"plimsoll/internal/state/journal"
)

// TestEveryKindOfChangeIsKnownToTheCleaner holds the types of changes in the
// source against what is registered where this package is linked.
func TestEveryKindOfChangeIsKnownToTheCleaner(t *testing.T) {
	var defined, known []string
	for _, p := range sources(t) {
		for _, name := range p.changes() {
			defined = append(defined, p.path+"."+name)
		}
	}
	for _, k := range journal.Kinds() {
		at := reflect.TypeOf(k.New()).Elem()
		known = append(known, at.PkgPath()+"."+at.Name())
	}
	slices.Sort(defined)
	slices.Sort(known)
	if len(defined) < 18 {
		t.Fatalf("only %d kinds of change are found in the source: %q", len(defined), defined)
	}
	for _, name := range defined {
		if !slices.Contains(known, name) {
			t.Errorf("plimsoll clean does not know %s: have its package call journal.Register, and be linked by "+
				"internal/cli/kinds", name)
		}
	}
	for _, name := range known {
		if !slices.Contains(defined, name) {
			t.Errorf("%s is registered, and no such change is found in the source", name)
		}
	}
}

// Journals outlive programs: what older ones call a kind, newer ones do.
func TestNamesOfKindsStay(t *testing.T) {
	var names []string
	for _, k := range journal.Kinds() {
		names = append(names, k.Name)
	}
	for _, name := range []string{
		"applied", "array", "cgroup", "configdir", "configlink", "container", "controller", "dir", "drivemove", "engine",
		"file", "iocost", "logicalvolume", "loop",
		"mkfs", "module", "mount", "presence", "process", "setting", "thinpool", "volumegroup",
		"zpool",
	} {
		if !slices.Contains(names, name) {
			t.Errorf("the kind %q is gone", name)
		}
	}
}

// TestUndoingLivesInUndo finds who undoes anything outside the Undo of a change,
// where no journal tells of it.
func TestUndoingLivesInUndo(t *testing.T) {
	found := 0
	for _, p := range sources(t) {
		uses, outside := p.undoing()
		found += uses
		for _, at := range outside {
			t.Errorf("%s: an undo lives in the Undo method of a Change, or in what only such methods call", at)
		}
	}
	if found < 10 {
		t.Errorf("only %d calls that undo are found in the source: is the list of them up to date?", found)
	}
}

func TestUndoingElsewhereIsFound(t *testing.T) {
	const head = `package x
import ( "context"; "golang.org/x/sys/unix"; "plimsoll/internal/state/journal"; dm "plimsoll/internal/host/devmapper" )
type c struct{}
func (*c) Check(s journal.Scope) error { return nil }
`
	for _, test := range []struct{ name, body, outside string }{
		{"in Undo", `func (*c) Undo(ctx context.Context, mark string) error { return unix.Unmount("/x", 0) }`, ""},
		{"in what Undo calls", `func (x *c) Undo(ctx context.Context, mark string) error { return x.end() }; func (*c) end() error { return below() }
			func below() error { return dm.Remove("x") }`, ""},
		{"in a closure of Undo",
			`func (*c) Undo(ctx context.Context, mark string) error { return func() error { return journal.UnmountTree(ctx, "/x") }() }`, ""},
		{"elsewhere", `func Up() error { return unix.Unmount("/x", 0) }`, "Up"},
		{"by a name of one's own", `func Up() error { return dm.Remove("x") }`, "Up"},
		{"as a value", `var f = unix.DeleteModule`, "f"},
		{"by the number of an ioctl", `func up() int { return unix.LOOP_CLR_FD }; func Up() int { return up() }`, "up"},
		{"in what others call too", `func (*c) Undo(ctx context.Context, mark string) error { return below() }; func below() error { return unix.Unmount("/x", 0) }
			func Up() error { return below() }`, "below"},
		{"in what anybody can call",
			`func (*c) Undo(ctx context.Context, mark string) error { return Below() }; func Below() error { return unix.Unmount("/x", 0) }`, "Below"},
		{"in an Undo of no change",
			`type d struct{}; func (d) Undo(ctx context.Context, mark string) error { return unix.Unmount("/x", 0) }`, "d.Undo"},
	} {
		t.Run(test.name, func(t *testing.T) {
			uses, outside := parsed(t, "plimsoll/internal/x", head+strings.ReplaceAll(test.body, "; func", "\nfunc")).undoing()
			if uses == 0 {
				t.Error("no use is found")
			}
			if test.outside == "" && len(outside) > 0 || test.outside != "" &&
				(len(outside) != 1 || !strings.HasSuffix(outside[0], ": "+test.outside)) {
				t.Errorf("outside: %q, want %q", outside, test.outside)
			}
		})
	}
}

// sources parses what is compiled into programs of this module, by package.
func sources(t *testing.T) []*pkg {
	t.Helper()
	root, err := filepath.Abs("../../..")
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]*pkg{}
	for _, top := range []string{"cmd", "internal", "scripts"} {
		err := filepath.WalkDir(filepath.Join(root, top), func(path string, d os.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") ||
				strings.Contains(path, "/hosttest/") {
				return err
			}
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			dir, err := filepath.Rel(root, filepath.Dir(path))
			if err != nil {
				return err
			}
			p := all[dir]
			if p == nil {
				p = &pkg{path: "plimsoll/" + dir}
				all[dir] = p
			}
			p.add(t, filepath.Join(dir, filepath.Base(path)), string(text))
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	var out []*pkg
	for _, p := range all {
		out = append(out, p)
	}
	return out
}

func parsed(t *testing.T, path, text string) *pkg {
	p := &pkg{path: path}
	p.add(t, "x.go", text)
	return p
}

// typeName returns the name of a receiver's type; "" for a function.
func typeName(f *ast.FuncDecl) string {
	if f.Recv == nil || len(f.Recv.List) == 0 {
		return ""
	}
	at := f.Recv.List[0].Type
	if star, ok := at.(*ast.StarExpr); ok {
		at = star.X
	}
	if id, ok := at.(*ast.Ident); ok {
		return id.Name
	}
	return ""
}
