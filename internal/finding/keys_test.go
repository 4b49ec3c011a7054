package finding

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"unicode"
)

// A reader of the JSON of findings greps the struct: each key is the name of its field in snake case, in every struct
// of facts, that of a question that is added tomorrow included.
func TestKeysAreFieldNames(t *testing.T) {
	tagged := 0
	for _, root := range []string{".", "../fact"} {
		err := filepath.WalkDir(root, func(path string, _ fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
			if err != nil {
				return err
			}
			ast.Inspect(file, func(n ast.Node) bool {
				f, is := n.(*ast.Field)
				if !is || f.Tag == nil {
					return true
				}
				tag, err := strconv.Unquote(f.Tag.Value)
				if err != nil {
					t.Errorf("%s: the tag %s: %v", path, f.Tag.Value, err)
					return true
				}
				json, has := reflect.StructTag(tag).Lookup("json")
				if !has {
					return true
				}
				key, _, _ := strings.Cut(json, ",")
				for _, name := range f.Names {
					tagged++
					if want := snakeCase(name.Name); key != "-" && key != want {
						t.Errorf("%s: %s has the key %q, not %q", path, name.Name, key, want)
					}
				}
				return true
			})
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if tagged < 300 {
		t.Errorf("only %d fields have keys: this test does not find them", tagged)
	}
}

// snakeCase writes the name of a field as a key: "P99NS" is "p99_ns", "CPUs" is "cpus".
func snakeCase(name string) string {
	var key strings.Builder
	letters := []rune(strings.NewReplacer("CPUs", "Cpus", "IOs", "Ios").Replace(name))
	for i, r := range letters {
		startsWord := i > 0 && unicode.IsUpper(r) &&
			(!unicode.IsUpper(letters[i-1]) || i+1 < len(letters) && unicode.IsLower(letters[i+1]))
		if startsWord {
			key.WriteByte('_')
		}
		key.WriteRune(unicode.ToLower(r))
	}
	return key.String()
}
