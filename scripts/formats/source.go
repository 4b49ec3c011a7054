package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// source has the packages of a tree, parsed as they are asked for.
type source struct {
	root     string
	packages map[string]*pkg // by directory
}

// pkg is what formats need of a package.
type pkg struct {
	dir       string
	name      string
	types     map[string]*declared
	values    map[string][]value // the constants of each type of text
	marshals  map[string]bool    // types that write themselves as text or JSON
	files     []*ast.File
	variables map[string]ast.Expr
}

// value is a constant.
type value struct{ text, comment string }

// declared is a type with its comment, and what its file imports.
type declared struct {
	pkg     *pkg
	name    string
	expr    ast.Expr
	comment string
	imports map[string]string // the directory of each package of ours, by its name in the file
}

// load parses the package of a directory.
func (s *source) load(dir string) (*pkg, error) {
	if p := s.packages[dir]; p != nil {
		return p, nil
	}
	p := &pkg{dir: dir, name: filepath.Base(dir), types: map[string]*declared{}, values: map[string][]value{},
		marshals: map[string]bool{}, variables: map[string]ast.Expr{}}
	names, err := filepath.Glob(filepath.Join(s.root, dir, "*.go"))
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		text, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, text, parser.ParseComments)
		if err != nil {
			return nil, err
		}
		p.add(file)
	}
	if len(p.files) == 0 {
		return nil, fmt.Errorf("%s has no Go files", dir)
	}
	s.packages[dir] = p
	return p, nil
}

// add adds what a file declares.
func (p *pkg) add(file *ast.File) {
	p.files = append(p.files, file)
	imports := map[string]string{}
	for _, spec := range file.Imports {
		path, _ := strconv.Unquote(spec.Path.Value) // the parser read it
		dir, ours := strings.CutPrefix(path, "plimsoll/")
		if !ours {
			continue
		}
		name := filepath.Base(dir)
		if spec.Name != nil {
			name = spec.Name.Name
		}
		imports[name] = dir
	}
	for _, decl := range file.Decls {
		f, is := decl.(*ast.FuncDecl)
		if is && f.Recv != nil && (f.Name.Name == "MarshalText" || f.Name.Name == "MarshalJSON") {
			p.marshals[f.Name.Name+" "+baseName(f.Recv.List[0].Type)] = true
		}
		block, is := decl.(*ast.GenDecl)
		if !is {
			continue
		}
		for _, spec := range block.Specs {
			switch spec := spec.(type) {
			case *ast.TypeSpec:
				comment := spec.Doc.Text() + spec.Comment.Text()
				if comment == "" && !block.Lparen.IsValid() {
					comment = block.Doc.Text()
				}
				p.types[spec.Name.Name] = &declared{p, spec.Name.Name, spec.Type, oneLine(comment), imports}
			case *ast.ValueSpec:
				p.addValues(spec)
			}
		}
	}
}

func (p *pkg) addValues(spec *ast.ValueSpec) {
	for i, expr := range spec.Values {
		if i < len(spec.Names) {
			p.variables[spec.Names[i].Name] = expr
		}
		literal, is := expr.(*ast.BasicLit)
		typ, named := spec.Type.(*ast.Ident)
		if is && named && literal.Kind == token.STRING {
			text, _ := strconv.Unquote(literal.Value) // the parser read it
			p.values[typ.Name] = append(p.values[typ.Name], value{text, oneLine(spec.Comment.Text())})
		}
	}
}

// baseName returns the name of a receiver's type.
func baseName(e ast.Expr) string {
	if star, is := e.(*ast.StarExpr); is {
		e = star.X
	}
	if name, is := e.(*ast.Ident); is {
		return name.Name
	}
	return ""
}

// find returns the type that an expression of a file names; nil for one that is not ours.
func (s *source) find(in *declared, e ast.Expr) (*declared, error) {
	p, name := in.pkg, ""
	switch e := e.(type) {
	case *ast.Ident:
		name = e.Name
	case *ast.SelectorExpr:
		pkg, is := e.X.(*ast.Ident)
		if !is || in.imports[pkg.Name] == "" {
			return nil, nil
		}
		var err error
		p, err = s.load(in.imports[pkg.Name])
		if err != nil {
			return nil, err
		}
		name = e.Sel.Name
	case *ast.IndexExpr:
		return s.find(in, e.X)
	}
	return p.types[name], nil
}

// oneLine returns a comment on one line, its indented lines as code.
func oneLine(text string) string {
	var words []string
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "\t") {
			line = "`" + strings.TrimSpace(line) + "`."
		}
		words = append(words, strings.Fields(line)...)
	}
	return strings.Join(words, " ")
}
