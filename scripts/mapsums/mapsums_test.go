// Package mapsums keeps sums of floating point out of loops over maps: their order changes the last digits, and with
// them what a command prints of the same run.
package mapsums

import (
	"bytes"
	"encoding/json"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// listed is what go list prints of a package.
type listed struct {
	ImportPath, Dir, Export string
	GoFiles                 []string
}

// sums returns the places of a package in which a loop over a map adds to a number of floating point that outlives the
// loop.
func sums(fset *token.FileSet, files []*ast.File, info *types.Info) (places []token.Position) {
	for _, f := range files {
		ast.Inspect(f, func(n ast.Node) bool {
			loop, is := n.(*ast.RangeStmt)
			if !is || !overMap(loop, info) {
				return true
			}
			ast.Inspect(loop.Body, func(n ast.Node) bool {
				a, is := n.(*ast.AssignStmt)
				if !is {
					return true
				}
				for i, to := range a.Lhs {
					if adds(a, i) && outlives(to, loop, info) && floats(info.TypeOf(to)) {
						places = append(places, fset.Position(a.Pos()))
						break
					}
				}
				return true
			})
			return true
		})
	}
	return places
}

// overMap reports whether a loop takes the elements of a map in no order.
func overMap(loop *ast.RangeStmt, info *types.Info) bool {
	if call, is := loop.X.(*ast.CallExpr); is {
		s, is := call.Fun.(*ast.SelectorExpr)
		if !is {
			return false
		}
		f, is := info.Uses[s.Sel].(*types.Func)
		return is && f.Pkg() != nil && f.Pkg().Path() == "maps"
	}
	_, is := info.TypeOf(loop.X).Underlying().(*types.Map)
	return is
}

// adds reports whether an assignment adds to one of its left sides: x += y; x = x + y; x, n = x+y, n+1.
func adds(a *ast.AssignStmt, i int) bool {
	switch a.Tok {
	case token.ADD_ASSIGN, token.SUB_ASSIGN, token.MUL_ASSIGN, token.QUO_ASSIGN:
		return true
	case token.ASSIGN:
	default:
		return false
	}
	if len(a.Lhs) != len(a.Rhs) {
		return false
	}
	to, found := types.ExprString(a.Lhs[i]), false
	ast.Inspect(a.Rhs[i], func(n ast.Node) bool {
		sum, is := n.(*ast.BinaryExpr)
		if is && (types.ExprString(sum.X) == to || types.ExprString(sum.Y) == to) {
			found = true
		}
		return !found
	})
	return found
}

// outlives reports whether what is assigned to was declared before the loop, and is not the element of its key.
func outlives(to ast.Expr, loop *ast.RangeStmt, info *types.Info) bool {
	for {
		switch e := to.(type) {
		case *ast.IndexExpr:
			key, is := e.Index.(*ast.Ident)
			if of, named := loop.Key.(*ast.Ident); is && named && info.ObjectOf(key) == info.ObjectOf(of) {
				return false
			}
			to = e.X
		case *ast.SelectorExpr:
			to = e.X
		case *ast.StarExpr:
			to = e.X
		case *ast.ParenExpr:
			to = e.X
		case *ast.Ident:
			o := info.ObjectOf(e)
			return o != nil && (o.Pos() < loop.Pos() || o.Pos() > loop.End())
		default:
			return true
		}
	}
}

func floats(t types.Type) bool {
	b, is := t.Underlying().(*types.Basic)
	return is && b.Info()&types.IsFloat != 0
}

// packages returns those of a module that patterns name, and their dependencies, each with the file to compile against.
func packages(t *testing.T, module string, patterns ...string) (listing []listed) {
	t.Helper()
	list := []string{"list", "-export", "-deps", "-json=ImportPath,Dir,Export,GoFiles"}
	c := exec.CommandContext(t.Context(), "go", append(list, patterns...)...)
	c.Dir = filepath.Join("../..", module)
	var failed bytes.Buffer
	c.Stderr = &failed
	text, err := c.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, failed.Bytes())
	}
	for d := json.NewDecoder(bytes.NewReader(text)); d.More(); {
		var p listed
		if err := d.Decode(&p); err != nil {
			t.Fatal(err)
		}
		listing = append(listing, p)
	}
	return listing
}

// Nothing that Plimsoll prints depends on the order in which Go takes the elements of a map.
func TestNoSumDependsOnTheOrderOfAMap(t *testing.T) {
	look(t, packages(t, ".", "./..."), "plimsoll/")
	// Without those that compile a scheduler.
	light := packages(t, "kubernetes", "./command", "./evict", "./fleet", "./iofit", "./limits", "./node", "./replan",
		"./usage")
	look(t, light, "plimsoll/kubernetes/")
}

// look looks for sums in the packages whose paths begin with a prefix.
func look(t *testing.T, listing []listed, prefix string) {
	t.Helper()
	exports := map[string]string{}
	for _, p := range listing {
		exports[p.ImportPath] = p.Export
	}
	fset := token.NewFileSet()
	open := func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) }
	compiled := importer.ForCompiler(fset, "gc", open)
	for _, p := range listing {
		if !strings.HasPrefix(p.ImportPath, prefix) {
			continue
		}
		// A result of this test is kept until a directory that it has read changes.
		if _, err := os.ReadDir(p.Dir); err != nil {
			t.Fatal(err)
		}
		var files []*ast.File
		for _, name := range p.GoFiles {
			f, err := parser.ParseFile(fset, filepath.Join(p.Dir, name), nil, 0)
			if err != nil {
				t.Fatal(err)
			}
			files = append(files, f)
		}
		for _, place := range sums(fset, files, checked(t, p.ImportPath, compiled, fset, files...)) {
			t.Errorf("%s: a sum in the order of a map; loop over slices.Sorted(maps.Keys(...))", place)
		}
	}
}

// checked returns the types of a package.
func checked(t *testing.T, path string, imports types.Importer, fset *token.FileSet, files ...*ast.File) *types.Info {
	t.Helper()
	info := &types.Info{Types: map[ast.Expr]types.TypeAndValue{}, Uses: map[*ast.Ident]types.Object{},
		Defs: map[*ast.Ident]types.Object{}}
	config := types.Config{Importer: imports}
	if _, err := config.Check(path, fset, files, info); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return info
}

// Sums are found however they are written. Integers, elements of the key, and what begins in the loop are none.
func TestSumsAreFound(t *testing.T) {
	for body, want := range map[string]int{
		"for _, x := range m { s += x }":                                    1,
		"for k := range m { s = m[k] + s }":                                 1,
		"for k := range m { s, n = s*m[k], n+1 }":                           1,
		"for k := range m { r.f[0] -= m[k] }":                               1,
		"for k := range m { for range 2 { r.f[1] /= m[k] } }":               1,
		"for range m { n++; n += 2 }":                                       0,
		"for k, x := range m { m[k] += x }":                                 0,
		"for k := range m { here := 0.0; here += m[k]; n += int(here) }":    0,
		"for _, x := range r.f { s += x }":                                  0,
		"for k, x := range m { s = max(s, x); if k == \"only\" { s = x } }": 0,
	} {
		fset := token.NewFileSet()
		source := "package p\nfunc f(m map[string]float64, r struct{ f []float64 }, s float64, n int) {\n" + body + "\n}\n"
		f, err := parser.ParseFile(fset, "p.go", source, 0)
		if err != nil {
			t.Fatal(err)
		}
		if found := sums(fset, []*ast.File{f}, checked(t, "p", nil, fset, f)); len(found) != want {
			t.Errorf("%s: %d sums, and not %d", body, len(found), want)
		}
	}
}
