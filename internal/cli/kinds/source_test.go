package kinds

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"path"
	"slices"
	"strconv"
	"testing"
)

// undoes are the calls, and numbers of calls, that undo a change of a host.
var undoes = map[string][]string{
	"golang.org/x/sys/unix":            {"Unmount", "LOOP_CLR_FD", "LOOP_CTL_REMOVE", "DeleteModule"},
	"syscall":                          {"Unmount"},
	"plimsoll/internal/state/journal":  {"UnmountTree", "EndAll", "EndMarked"},
	"plimsoll/internal/host/devmapper": {"Remove"},
}

// pkg is the source of a package.
type pkg struct {
	path  string
	decls []decl
}

// decl is a function, or what else is declared at the top of a file.
type decl struct {
	name    string // "Up", "loopChange.Undo"
	at      string // file and line
	fn      *ast.FuncDecl
	uses    int                 // of what undoes
	names   map[string]struct{} // that stand in it, of whatever they are
	imports map[string]string   // of its file: paths by name
}

func (p *pkg) add(t *testing.T, file, text string) {
	t.Helper()
	set := token.NewFileSet()
	f, err := parser.ParseFile(set, file, text, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	imports := map[string]string{}
	for _, i := range f.Imports {
		at, err := strconv.Unquote(i.Path.Value)
		if err != nil {
			t.Fatal(err)
		}
		name := path.Base(at)
		if i.Name != nil {
			name = i.Name.Name
		}
		imports[name] = at
	}
	add := func(name string, node ast.Node, fn *ast.FuncDecl) {
		at := set.Position(node.Pos())
		d := decl{name: name, at: fmt.Sprintf("%s:%d", at.Filename, at.Line), fn: fn, names: map[string]struct{}{},
			imports: imports}
		d.read(p.path, node)
		p.decls = append(p.decls, d)
	}
	for _, top := range f.Decls {
		switch top := top.(type) {
		case *ast.FuncDecl:
			name := top.Name.Name
			if of := typeName(top); of != "" {
				name = of + "." + name
			}
			add(name, top, top)
		case *ast.GenDecl:
			for _, s := range top.Specs {
				if v, ok := s.(*ast.ValueSpec); ok {
					add(v.Names[0].Name, v, nil)
				}
			}
		}
	}
}

// read notes the names in a declaration, and what of it undoes.
func (d *decl) read(own string, node ast.Node) {
	qualified := map[*ast.Ident]bool{}
	ast.Inspect(node, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.SelectorExpr:
			if x, ok := n.X.(*ast.Ident); ok && d.imports[x.Name] != "" {
				qualified[n.Sel] = true
				if slices.Contains(undoes[d.imports[x.Name]], n.Sel.Name) {
					d.uses++
				}
			}
		case *ast.Ident:
			if qualified[n] || d.fn != nil && n == d.fn.Name {
				return true
			}
			d.names[n.Name] = struct{}{}
			if slices.Contains(undoes[own], n.Name) {
				d.uses++
			}
		}
		return true
	})
}

// changes returns the types that have a Change's Check and Undo.
func (p *pkg) changes() []string {
	checks, undos := map[string]bool{}, map[string]bool{}
	for _, d := range p.decls {
		if d.fn == nil || d.fn.Recv == nil {
			continue
		}
		var in []string
		for _, param := range d.fn.Type.Params.List {
			for range max(len(param.Names), 1) {
				in = append(in, types.ExprString(param.Type))
			}
		}
		switch of := typeName(d.fn); {
		case d.fn.Name.Name == "Check" && len(in) == 1 && (in[0] == "journal.Scope" || in[0] == "Scope"):
			checks[of] = true
		case d.fn.Name.Name == "Undo" && slices.Equal(in, []string{"context.Context", "string"}):
			undos[of] = true
		}
	}
	var all []string
	for of := range undos {
		if checks[of] {
			all = append(all, of)
		}
	}
	return all
}

// ofOwnNamespaces are functions that unmount in a mount namespace of their own, which ends with its process: no change
// of the host is there.
var ofOwnNamespaces = map[string][]string{"plimsoll/internal/database/loader": {"leave"}}

// undoing returns how often something in the package undoes, and which of these
// declarations are not for Undo methods of changes alone. Calls are told by
// names, so that what is only called like such a function counts as a caller.
func (p *pkg) undoing() (uses int, outside []string) {
	changes := p.changes()
	var inUndo func(d *decl, seen []string) bool
	inUndo = func(d *decl, seen []string) bool {
		if d.fn == nil {
			return false
		}
		if d.fn.Name.Name == "Undo" && slices.Contains(changes, typeName(d.fn)) {
			return true
		}
		if d.fn.Recv == nil && slices.Contains(undoes[p.path], d.fn.Name.Name) {
			return true // its callers are looked at
		}
		if slices.Contains(ofOwnNamespaces[p.path], d.fn.Name.Name) {
			return true
		}
		if ast.IsExported(d.fn.Name.Name) || slices.Contains(seen, d.name) {
			return slices.Contains(seen, d.name) // it calls itself
		}
		callers := 0
		for i := range p.decls {
			caller := &p.decls[i]
			if _, ok := caller.names[d.fn.Name.Name]; !ok || caller == d {
				continue
			}
			callers++
			if !inUndo(caller, append(slices.Clone(seen), d.name)) {
				return false
			}
		}
		return callers > 0
	}
	for i := range p.decls {
		d := &p.decls[i]
		uses += d.uses
		if d.uses > 0 && !inUndo(d, nil) {
			outside = append(outside, d.at+": "+d.name)
		}
	}
	return uses, outside
}
