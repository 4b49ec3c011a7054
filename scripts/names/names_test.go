// Package names holds the names of the code to nouns and verbs.
package names

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// vague are pronouns, prepositions and particles: a reader has to look up what they name.
var vague = strings.Fields(`
	at all of one ones own others more most said told there them they it its that this these those who whom what which
	where by with without into onto here so such same else each every any some none few many under over beside above
	below`)

// longest is the number of lines after which a reader no longer sees where a name was declared.
const longest = 5

// roots are the directories with Go code, from this one.
var roots = []string{"cmd", "evidence", "internal", "kubernetes", "labtest", "scripts"}

// Every name that lives longer than a few lines, of a field or of a function is a noun or a verb. Directories in
// testdata/later.txt still have vague names: a line goes once its directory has none.
func TestNamesAreNouns(t *testing.T) {
	later := lines(t, "testdata/later.txt")
	unclean := map[string]bool{}
	for _, root := range roots {
		err := filepath.WalkDir(filepath.Join("../..", root), func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || filepath.Ext(path) != ".go" {
				return err
			}
			found, err := vagueNames(path)
			if err != nil || len(found) == 0 {
				return err
			}
			dir, err := filepath.Rel("../..", filepath.Dir(path))
			unclean[dir] = true
			if !slices.Contains(later, dir) {
				t.Errorf("vague names, where a noun or a verb is wanted:\n\t%s", strings.Join(found, "\n\t"))
			}
			return err
		})
		if err != nil {
			t.Error(err)
		}
	}
	for _, dir := range later {
		if !unclean[dir] {
			t.Errorf("%s has no vague names any more: remove its line from testdata/later.txt", dir)
		}
	}
}

func TestVagueNamesAreFound(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.go")
	const text = `package x

type part struct {
	of, size int
}

func with(all []int, size int) (told int) {
	for at, one := range all {
		told += one
		println(at)



	}
	if most := size; most > 0 {
		println(most)
	}
	f := func(here int) int {
		return here




	}
	var there = f(size)
	return there + told
}
`
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	found, err := vagueNames(path)
	if err != nil {
		t.Fatal(err)
	}
	var words []string
	for _, f := range found {
		words = append(words, strings.Fields(f)[1])
	}
	if want := []string{"of", "with", "all", "told", "at", "one", "here"}; !slices.Equal(words, want) {
		t.Errorf("found %v, want %v", words, want)
	}
}

// lines returns the lines of a file that are neither empty nor comments.
func lines(t *testing.T, path string) []string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var kept []string
	for line := range strings.Lines(string(text)) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			kept = append(kept, line)
		}
	}
	return kept
}

// vagueNames returns "FILE:LINE NAME" of each vague name in a file of Go code, in its order.
func vagueNames(path string) ([]string, error) {
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, path, nil, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	var found []string
	report := func(id *ast.Ident) {
		if slices.Contains(vague, id.Name) {
			found = append(found, files.Position(id.Pos()).String()+" "+id.Name)
		}
	}
	local := func(scope ast.Node, names ...ast.Expr) {
		for _, name := range names {
			id, ok := name.(*ast.Ident)
			if ok && files.Position(scope.End()).Line-files.Position(id.Pos()).Line > longest {
				report(id)
			}
		}
	}
	var open []ast.Node // the nodes around the one that is looked at
	scope := func() ast.Node {
		for _, node := range slices.Backward(open) {
			switch node.(type) {
			case *ast.BlockStmt, *ast.IfStmt, *ast.ForStmt, *ast.RangeStmt, *ast.SwitchStmt, *ast.TypeSwitchStmt,
				*ast.CaseClause, *ast.CommClause:
				return node
			}
		}
		return file
	}
	parameters := func(body *ast.BlockStmt, lists ...*ast.FieldList) {
		for _, list := range lists {
			if list == nil || body == nil {
				continue
			}
			for _, field := range list.List {
				for _, id := range field.Names {
					local(body, id)
				}
			}
		}
	}
	ast.Inspect(file, func(node ast.Node) bool {
		if node == nil {
			open = open[:len(open)-1]
			return true
		}
		switch x := node.(type) {
		case *ast.AssignStmt:
			if x.Tok == token.DEFINE {
				local(scope(), x.Lhs...)
			}
		case *ast.RangeStmt:
			if x.Tok == token.DEFINE {
				local(x, x.Key, x.Value)
			}
		case *ast.ValueSpec:
			for _, id := range x.Names {
				local(scope(), id)
			}
		case *ast.FuncDecl:
			report(x.Name)
			parameters(x.Body, x.Type.Params, x.Type.Results)
		case *ast.FuncLit:
			parameters(x.Body, x.Type.Params, x.Type.Results)
		case *ast.StructType:
			for _, field := range x.Fields.List {
				for _, id := range field.Names {
					report(id)
				}
			}
		}
		open = append(open, node)
		return true
	})
	return found, nil
}
