package result

import (
	"go/ast"
	"go/parser"
	"go/token"
	"strconv"
	"testing"
)

// TestMarksHaveLetters: each mark of the source is in the table, and no two of them have one letter.
func TestMarksHaveLetters(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "result.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	marks := 0
	taken := map[string]Mark{"H": "a scaled-down host"}
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok || len(spec.Values) != 1 {
			return true
		}
		if name, ok := spec.Type.(*ast.Ident); !ok || name.Name != "Mark" {
			return true
		}
		text, err := strconv.Unquote(spec.Values[0].(*ast.BasicLit).Value)
		if err != nil {
			t.Fatal(err)
		}
		marks++
		mark := Mark(text)
		switch letter := mark.Letter(); {
		case letter == "":
			t.Errorf("%s has no letter", mark)
		case taken[letter] != "":
			t.Errorf("%s and %s are both %s", mark, taken[letter], letter)
		default:
			taken[letter] = mark
		}
		return true
	})
	if marks != len(markLetters) || marks < 7 {
		t.Errorf("%d marks in the source, %d in the table", marks, len(markLetters))
	}
	if Mark("a host of 2 CPUs").Letter() != "" {
		t.Error("a text that is no mark has a letter")
	}
}
